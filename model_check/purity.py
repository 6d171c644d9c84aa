"""A check that machines are pure functions, through which all engines call a protocol.

Every engine calls a machine once for a local state and an input, and uses the answer ever after. That is right only of
a pure function. So the first calls, and every 64th of those that follow, are made twice: both must give the same, and
leave the attributes of the machine and of its class as they were. An engine that fills tables counts their entries
instead of calls, and makes all calls of an entry twice or none (`PurityByEntry`). Memory in module variables, closures
and files, clocks and random numbers are not looked for: the tool trusts that a machine has none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn, TypeVar

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message
from crownless.spec.printable import some

from .outcomes import Exists, Outcomes, any_message
from .values import PLAIN, distinguishable_parts, refused_part
from .wrong_machine import ARGUMENTS, NOT_GIVEN, Call, WrongMachine, shown

T = TypeVar("T")

#: So many calls are all made twice, and of those that follow one in so many (a power of two).
FIRST_CALLS = 256
EVERY = 64

HINT = "an input must depend on its arguments alone, and change nothing: keep what it remembers in the local state"


class Once:
    """The inputs of a machine, each called once; raises `WrongMachine` for an answer that is none."""

    def __init__(self, machine: ProtocolMachine, outcomes: Outcomes) -> None:
        self.machine = machine
        self._outcomes = outcomes

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return self._outcomes.steps("send", i, state, message, self.machine.send(i, state, message))

    def deliverable(self, i: int, state: Any, packet: Packet) -> bool:
        return self._outcomes.truth("deliverable", i, state, packet, self.machine.deliverable(i, state, packet))

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return self._outcomes.steps("on_packet", i, state, packet, self.machine.on_packet(i, state, packet))

    def receive(self, i: int, state: Any, sender: int | None) -> Sequence[Step]:
        return self._outcomes.steps("receive", i, state, sender, self.machine.receive(i, state, sender))

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return self._outcomes.internal(i, state, self.machine.internal(i, state))

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        return self.machine.renamed(state, renaming)

    def renamed_packet(self, packet: Packet, renaming: Renaming) -> Packet:
        return self.machine.renamed_packet(packet, renaming)


class Purity:
    """The inputs of a machine, and its invariants, witnesses and renamings; raises `WrongMachine` if one is not pure,
    or gives what is no answer. `exists` says of a message whether an application can send it.
    """

    def __init__(self, machine: ProtocolMachine, exists: Exists = any_message) -> None:
        self.machine = machine
        self._is_known = type(machine).is_known_to_be_pure
        self.outcomes = Outcomes(machine, exists)
        self.once = Once(machine, self.outcomes)
        self._kind = type(machine)
        #: How many calls could be skipped so far, made once or twice.
        self.calls = 0
        self._attributes = Attributes(machine)

    # -- the inputs ----------------------------------------------------------------------------------------------------

    def initial(self, i: int) -> Any:
        return self._twice("initial", (i,), self.machine.initial)

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return self._call(self.once.send, i, state, message)

    def deliverable(self, i: int, state: Any, packet: Packet) -> bool:
        return self._call(self.once.deliverable, i, state, packet)

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return self._call(self.once.on_packet, i, state, packet)

    def receive(self, i: int, state: Any, sender: int | None) -> Sequence[Step]:
        return self._call(self.once.receive, i, state, sender)

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return self._call(self.once.internal, i, state)

    def agree(self, states: Mapping[int, Any], crashed: int) -> Any | None:
        return self._twice("agree", (states, crashed), self.machine.agree)

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        return self._call(self.once.renamed, state, renaming)

    def renamed_packet(self, packet: Packet, renaming: Renaming) -> Packet:
        if packet.stamp is None or self._skips():
            return self.machine.renamed_packet(packet, renaming)
        return self._twice("renamed_stamp", (packet, renaming), self.machine.renamed_packet)

    def _call(self, call: Callable[..., T], *arguments: Any) -> T:
        return call(*arguments) if self._skips() else self._twice(call.__name__, arguments, call)

    # -- predicates on local states ------------------------------------------------------------------------------------

    def invariants_broken(self, i: int, state: Any) -> tuple[str, ...]:
        """The names of the invariants that this local state breaks."""
        judged = self._judged("invariant", self.machine.invariants, i, state)
        return tuple([name for name, holds in judged if not holds])

    def witnesses_met(self, i: int, state: Any) -> tuple[str, ...]:
        """The names of the witnesses that this local state is."""
        return tuple([name for name, holds in self._judged("witness", self.machine.witnesses, i, state) if holds])

    def _judged(self, kind: str, predicates: Mapping[str, Any], i: int, state: Any) -> list[tuple[str, bool]]:
        if predicates and self._skips():
            return [(name, bool(holds(self.machine, i, state))) for name, holds in predicates.items()]
        return [(name, self._holds(kind, name, holds, i, state)) for name, holds in predicates.items()]

    def _holds(self, kind: str, name: str, predicate: Callable[[Any, int, Any], bool], i: int, state: Any) -> bool:
        method = f"{kind} '{name}'"

        def holds(*arguments: Any) -> bool:
            return self.outcomes.truth(method, i, state, NOT_GIVEN, predicate(*arguments))

        return self._twice(method, (self.machine, i, state), holds)

    # -- values that enter a table -------------------------------------------------------------------------------------

    def new(self, i: int, value: Any) -> None:
        """Raises if a local state, or a packet, that was not met before is not of values that a table may hold."""
        if self._is_known:
            return
        whole, path = (value.stamp, "stamp") if isinstance(value, Packet) else (value, "state")
        refused = refused_part(whole, path)
        if refused is not None:
            raise WrongMachine(f"{self._kind.__name__} at P{i + 1}: {refused.problem}", hint=refused.hint)

    def same(self, i: int, known: Any, value: Any) -> None:
        """Raises if a machine can distinguish a local state, or a packet, from the known one that it equals, for which
        it is taken.
        """
        if self._is_known:
            return
        is_packet = isinstance(value, Packet)
        one, other = (known.stamp, value.stamp) if is_packet else (known, value)
        if (found := distinguishable_parts(one, other)) is None:
            return
        what = "stamp" if is_packet else "local state"
        said = f"{self._kind.__name__}: a {what} of P{i + 1} equals another, for which it is taken, but is"
        first, second = found
        if type(first) is type(second):
            raise WrongMachine(f"{said} another value, {shown(first)} and {shown(second)}", hint="make both the same")
        types = f"{type(first).__name__} and {type(second).__name__}"
        raise WrongMachine(f"{said} made of other types, {types}", hint="give them a field that differs")

    # -- the canary ----------------------------------------------------------------------------------------------------

    def _skips(self) -> bool:
        self.calls += 1
        return self._is_known or (self.calls > FIRST_CALLS and self.calls % EVERY != 0)

    def _twice(self, method: str, arguments: tuple[Any, ...], call: Callable[..., T]) -> T:
        """The answer of a call, made twice."""
        first = call(*arguments)
        for what, part, value in () if self._is_known else _values_in(method, first):
            refused = refused_part(value, part)
            if refused is not None:
                problem = f"gives a {what} where {refused.problem}"
                raise _call(self._kind, method, arguments).wrong(problem, refused.hint)
        self._left_behind(method, arguments)
        second = call(*arguments)
        difference = _difference(method, first, second)
        if difference is not None:
            given_same = " and ".join(_after_the_process(method) or ("arguments",))
            self._impure(method, arguments, f"it first {difference} for the same {given_same}")
        return first

    def _left_behind(self, method: str, arguments: tuple[Any, ...]) -> None:
        """Raises if the attributes of the machine are not what they were."""
        change = self._attributes.changed()
        if change is not None:
            self._impure(method, arguments, change)

    def _impure(self, method: str, arguments: tuple[Any, ...], what: str) -> NoReturn:
        call = _call(self._kind, method, arguments)
        at = "" if call.process is None else f"at P{call.process + 1} "
        said = f"{call.named} is not a pure function: {at}{what}{call.where}{call.arguments}"
        raise WrongMachine(said, hint=HINT)


class PurityByEntry(Purity):
    """Likewise, for an engine that makes its calls to fill in the entries of tables."""

    def __init__(self, machine: ProtocolMachine, exists: Exists = any_message) -> None:
        super().__init__(machine, exists)
        #: True while an entry is filled in of which all calls are made twice.
        self.doubles = not self._is_known

    def inputs_of(self, entry: int) -> Inputs:
        """The inputs by which to fill in the entry of that number: this canary, or each called once."""
        self.doubles = not self._is_known and (self.calls < FIRST_CALLS or not entry % EVERY)
        return self if self.doubles else self.once

    def _skips(self) -> bool:
        self.calls += 1
        return not self.doubles


#: What has the inputs of a machine.
Inputs = Purity | Once


#: The inputs that yield steps.
OF_STEPS = ("send", "on_packet", "receive", "internal")


def _values_in(method: str, answer: Any) -> Iterator[tuple[str, str, Any]]:
    """The local states and stamps in an answer: what messages call the whole, and the part; and the value."""
    if method == "initial":
        yield "local state", "state", answer
    for step in answer if method in OF_STEPS else ():
        _, (after, packets, _) = ("", step) if type(step) is Step else step
        yield "local state", "state", after
        yield from (("packet", "stamp", packet.stamp) for packet in packets)


def _after_the_process(method: str) -> tuple[str, ...]:
    """Names of the arguments after the process, as messages name them."""
    roles = ARGUMENTS.get(method, ())
    return roles[1:] if roles[:1] == ("i",) else ()


def _call(kind: type, method: str, arguments: tuple[Any, ...]) -> Call:
    """The call, in words."""
    known = dict(zip(ARGUMENTS.get(method, ("machine", "i", "state")), arguments, strict=False))
    given = next((known[name] for name in ("message", "packet", "sender") if name in known), NOT_GIVEN)
    return Call(kind, method, known.get("i"), known.get("state", NOT_GIVEN), given)


def _difference(method: str, first: Any, second: Any) -> str | None:
    """The difference between the answers of two calls; None if there is none."""
    if method not in OF_STEPS:
        if first == second:
            return None
        if isinstance(first, bool):
            return f"said {first} and then {second}"
        return "gave one value and then another"
    if len(first) != len(second):
        return f"gave {some(len(first), 'step')} and then {len(second)}"
    for one, other in zip(first, second, strict=True):
        (name, one), (name_then, other) = (
            (("", one) if isinstance(one, Step) else one),
            (("", other) if isinstance(other, Step) else other),
        )
        if name != name_then:
            return f"named a step {name!r} and then {name_then!r}"
        if one.state != other.state:
            return "gave one state and then another"
        if tuple(one.packets) != tuple(other.packets):
            return "gave some packets and then others"
        if tuple(one.events) != tuple(other.events):
            return "gave some application events and then others"
    return None


class Attributes:
    """The attributes of a machine and of its classes, as they were when this was made."""

    def __init__(self, machine: ProtocolMachine) -> None:
        bases = [base for base in type(machine).__mro__ if base.__module__.partition(".")[0] != "crownless"]
        self._owners = [("self", machine), *((base.__name__, base) for base in bases if base is not object)]
        self._cached = {name for base in bases for name, value in vars(base).items() if _is_cached(value)}
        self._first = self._now()

    def changed(self) -> str | None:
        """The first change, in the words of messages; None: no change."""
        now = self._now()
        if now == self._first:
            return None
        name = next(name for name in sorted({*now, *self._first}) if now.get(name) != self._first.get(name))
        return f"it {'changes' if name in now and name in self._first else 'sets'} {name}"

    def _now(self) -> dict[str, Any]:
        return {
            f"{called}.{name}": _copy(value)
            for called, owner in self._owners
            for name, value in vars(owner).items()
            if name not in self._cached and not name.startswith("__")
        }


def _is_cached(value: Any) -> bool:
    return isinstance(value, cached_property)


def _copy(value: Any) -> Any:
    """A copy of a container, to be compared with a later one; the identity of any other object."""
    if isinstance(value, list | tuple | deque):
        return [_copy(part) for part in value]
    if isinstance(value, dict):
        return [(_copy(key), _copy(part)) for key, part in value.items()]
    if isinstance(value, set):
        return frozenset(value)
    return (type(value), value) if type(value) in PLAIN else id(value)
