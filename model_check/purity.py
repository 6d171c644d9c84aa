"""A check that machines are pure functions, through which all engines call a protocol.

Every engine calls a machine once for a local state and an input, and uses the answer ever after. That is right only of
a pure function. So the first calls, and every 64th of those that follow, are made twice: both must give the same,
leave the state and the packet as they were, and leave nothing behind outside local states (`outside_state`). What is
impure once in a while may slip through; what is impure from the start does not. An engine that fills tables counts
their entries instead of calls, and makes all calls of an entry twice or none (`PurityByEntry`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message
from crownless.spec.printable import some

from .outcomes import HASHABLE, Exists, Outcomes, any_message
from .outside_state import PLAIN, OutsideState, contents, immutable
from .wrong_machine import ARGUMENTS, NOT_GIVEN, Call, WrongMachine

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
        self.outcomes = Outcomes(machine, exists)
        self.once = Once(machine, self.outcomes)
        self._kind = type(machine)
        #: How many calls could be skipped so far, made once or twice.
        self.calls = 0
        self._outside = OutsideState(machine)

    # -- the inputs ----------------------------------------------------------------------------------------------------

    def initial(self, i: int) -> Any:
        state = self._twice("initial", (i,), self.machine.initial, _as_it_is)
        self.outcomes.hashable_value("local state", state, Call(self._kind, "initial", i))
        return state

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        if self._skips():
            return self.once.send(i, state, message)
        return self._steps_twice("send", (i, state, message), self.once.send)

    def deliverable(self, i: int, state: Any, packet: Packet) -> bool:
        if self._skips():
            return self.once.deliverable(i, state, packet)
        return self._twice("deliverable", (i, state, packet), self.once.deliverable, bool)  # type: ignore[no-any-return]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        if self._skips():
            return self.once.on_packet(i, state, packet)
        return self._steps_twice("on_packet", (i, state, packet), self.once.on_packet)

    def receive(self, i: int, state: Any, sender: int | None) -> Sequence[Step]:
        if self._skips():
            return self.once.receive(i, state, sender)
        return self._steps_twice("receive", (i, state, sender), self.once.receive)

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        if self._skips():
            return self.once.internal(i, state)
        return self._steps_twice("internal", (i, state), self.once.internal)

    def agree(self, states: Mapping[int, Any], crashed: int) -> Any | None:
        return self._twice("agree", (states, crashed), self.machine.agree, _as_it_is)

    def _steps_twice(self, method: str, arguments: tuple[Any, ...], call: Callable[..., T]) -> T:
        steps: T = self._twice(method, arguments, call, _as_it_is)
        i, state, *given = arguments
        self.outcomes.hashable(method, i, state, given[0] if given else NOT_GIVEN, steps)
        return steps

    # -- what is said of local states ----------------------------------------------------------------------------------

    def invariants_broken(self, i: int, state: Any) -> tuple[str, ...]:
        """The names of the invariants that this local state breaks."""
        predicates = self.machine.invariants
        if not predicates:
            return ()
        if self._skips():
            return tuple([name for name, holds in predicates.items() if not holds(self.machine, i, state)])
        return tuple([name for name in predicates if not self._holds("invariant", name, predicates[name], i, state)])

    def witnesses_met(self, i: int, state: Any) -> tuple[str, ...]:
        """The names of the witnesses that this local state is."""
        predicates = self.machine.witnesses
        if not predicates:
            return ()
        if self._skips():
            return tuple([name for name, holds in predicates.items() if holds(self.machine, i, state)])
        return tuple([name for name in predicates if self._holds("witness", name, predicates[name], i, state)])

    def _holds(self, kind: str, name: str, predicate: Callable[[Any, int, Any], bool], i: int, state: Any) -> bool:
        method = f"{kind} '{name}'"

        def holds(*arguments: Any) -> bool:
            return self.outcomes.truth(method, i, state, NOT_GIVEN, predicate(*arguments))

        return self._twice(method, (self.machine, i, state), holds, bool)  # type: ignore[no-any-return]

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        if self._skips():
            return self.machine.renamed(state, renaming)
        return self._twice("renamed", (state, renaming), self.machine.renamed, _as_it_is)

    def renamed_packet(self, packet: Packet, renaming: Renaming) -> Packet:
        if packet.stamp is None or self._skips():
            return self.machine.renamed_packet(packet, renaming)
        arguments = (packet, renaming)
        return self._twice("renamed_stamp", arguments, self.machine.renamed_packet, _as_it_is)  # type: ignore[no-any-return]

    def unhashable(self, what: str, i: int, error: TypeError) -> WrongMachine:
        """The error where a state or packet cannot be looked up."""
        return WrongMachine(
            f"{self._kind.__name__}: a {what} of P{i + 1} cannot be compared and counted: {error}", hint=HASHABLE
        )

    def same_type(self, what: str, i: int, known: Any, value: Any) -> None:
        """Raises unless a value that equals a known one, for which it is taken, is made of the same types too.

        Whether it is one type in another is looked at as often as calls are made twice.
        """
        if type(known) is not type(value) or (self._looks_closely() and types_of(known) != types_of(value)):
            raise WrongMachine(
                f"{self._kind.__name__}: a {what} of P{i + 1} equals another, for which it is taken, but is made of "
                f"other types{_differing_types(types_of(known), types_of(value))}",
                hint="give them a field that differs",
            )

    def _looks_closely(self) -> bool:
        return self.calls <= FIRST_CALLS or self.calls % EVERY == 0

    # -- the canary ----------------------------------------------------------------------------------------------------

    def _skips(self) -> bool:
        self.calls += 1
        return self.calls > FIRST_CALLS and self.calls % EVERY != 0

    def _twice(
        self, method: str, arguments: tuple[Any, ...], call: Callable[..., Any], whole: Callable[[Any], Any]
    ) -> Any:
        """The answer of a call, made twice; `whole` turns a possible iterator into a value."""
        given = [(k, contents(value)) for k, value in enumerate(arguments) if self._may_change(value)]
        first = whole(call(*arguments))
        for k, before in given:
            if contents(arguments[k]) != before:
                left = (*arguments[:k], NOT_GIVEN, *arguments[k + 1 :])
                self._impure(method, left, f"it changes the {_argument(method, k)} that it is given")
        self._left_behind(method, arguments)
        second = whole(call(*arguments))
        difference = _difference(method, first, second)
        if difference is not None:
            given_same = " and ".join(_after_the_process(method) or ("arguments",))
            self._impure(method, arguments, f"it first {difference} for the same {given_same}")
        return first

    def _may_change(self, value: Any) -> bool:
        return not (value is self.machine or type(value) is Renaming or immutable(value))

    def _left_behind(self, method: str, arguments: tuple[Any, ...]) -> None:
        """Raises if what is outside local states is not what it was."""
        change = self._outside.changed()
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
        self.doubles = True

    def inputs_of(self, entry: int) -> Inputs:
        """The inputs by which to fill in the entry of that number: this canary, or each called once."""
        self.doubles = self.calls < FIRST_CALLS or not entry % EVERY
        return self if self.doubles else self.once

    def _skips(self) -> bool:
        self.calls += 1
        return not self.doubles

    def _looks_closely(self) -> bool:
        return self.doubles


#: What has the inputs of a machine.
Inputs = Purity | Once


def types_of(value: Any) -> Any:
    """The types of which a value is made, place by place; of a set, how often there is which."""
    if type(value) in PLAIN:
        return type(value)
    if isinstance(value, tuple):
        return (type(value), tuple([types_of(part) for part in value]))
    if isinstance(value, frozenset):
        return (type(value), frozenset(Counter(map(types_of, value)).items()))
    return (type(value), contents(value))


def _differing_types(one: Any, other: Any) -> str:
    """The first types that differ, in words; nothing where they are in a set, or within a value."""
    kinds = [types if isinstance(types, type) else types[0] for types in (one, other)]
    if kinds[0] is not kinds[1]:
        return f", {kinds[0].__name__} and {kinds[1].__name__}"
    parts = [() if isinstance(types, type) else types[1] for types in (one, other)]
    if not all(isinstance(each, tuple) for each in parts):
        return ""
    return next((_differing_types(*pair) for pair in zip(*parts, strict=True) if pair[0] != pair[1]), "")


#: The inputs that yield steps.
OF_STEPS = ("send", "on_packet", "receive", "internal")


def _as_it_is(value: Any) -> Any:
    return value


def _after_the_process(method: str) -> tuple[str, ...]:
    """Names of the arguments after the process, as messages name them."""
    roles = ARGUMENTS.get(method, ())
    return roles[1:] if roles[:1] == ("i",) else ()


def _argument(method: str, k: int) -> str:
    if method == "renamed_stamp":
        return "stamp"
    return ARGUMENTS[method][k] if method in ARGUMENTS else "state"


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
        return f"gave one value and then another{_without_equality(first)}"
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
            return f"gave one state and then another{_without_equality(one.state)}"
        if tuple(one.packets) != tuple(other.packets):
            return "gave some packets and then others"
        if tuple(one.events) != tuple(other.events):
            return "gave some application events and then others"
    return None


def _without_equality(value: Any) -> str:
    """Said where values of a type differ because no two of it are equal."""
    *bases, _ = type(value).__mro__
    has_equality = any("__eq__" in vars(base) for base in bases)
    return "" if has_equality else f" ({type(value).__name__} has no __eq__, so that no two are equal)"
