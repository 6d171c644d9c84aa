"""A canary for machines that are not pure: all engines call a protocol through it.

Every engine calls a machine once for a local state and an input, and uses the answer ever after. That is right only of
a pure function. So the first calls, and every 64th of those that follow, are made twice: both must give the same,
leave the state and the packet as they were, and leave nothing behind outside local states (`outside_state`). What is
impure once in a while may slip through; what is impure from the start does not. An engine that fills tables counts
their entries instead of calls, and makes all calls of an entry twice or none (`PurityByEntry`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message
from crownless.spec.errors import BadInput

from .outside_state import PLAIN, OutsideState, contents, immutable

#: So many calls are all made twice, and of those that follow one in so many (a power of two).
FIRST_CALLS = 256
EVERY = 64

HINT = "an input must depend on its arguments alone, and change nothing: keep what it remembers in the local state"

#: Names of the arguments after the process, as messages name them.
ARGUMENTS = {
    "send": ("state", "message"),
    "accepts": ("state", "packet"),
    "arrive": ("state", "packet"),
    "receive": ("state", "sender"),
    "internal": ("state",),
}


class Purity:
    """The inputs of a machine, and its invariants, witnesses and renamings; raises `BadInput` if one is not pure."""

    def __init__(self, machine: ProtocolMachine) -> None:
        self.machine = machine
        self._name = type(machine).__name__
        #: How many calls could be skipped so far, made once or twice.
        self.calls = 0
        self._outside = OutsideState(machine)

    # -- the inputs ----------------------------------------------------------------------------------------------------

    def initial(self, i: int) -> Any:
        return self._twice("initial", i, self.machine.initial, (i,), _as_it_is)

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        if self._skips():
            return self.machine.send(i, state, message)
        return self._twice("send", i, self.machine.send, (i, state, message), list)  # type: ignore[no-any-return]

    def accepts(self, i: int, state: Any, packet: Packet) -> Any:
        if self._skips():
            return self.machine.accepts(i, state, packet)
        return self._twice("accepts", i, self.machine.accepts, (i, state, packet), bool)

    def arrive(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        if self._skips():
            return self.machine.arrive(i, state, packet)
        return self._twice("arrive", i, self.machine.arrive, (i, state, packet), list)  # type: ignore[no-any-return]

    def receive(self, i: int, state: Any, sender: int | None) -> Sequence[Step]:
        if self._skips():
            return self.machine.receive(i, state, sender)
        return self._twice("receive", i, self.machine.receive, (i, state, sender), list)  # type: ignore[no-any-return]

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        if self._skips():
            return self.machine.internal(i, state)
        return self._twice("internal", i, self.machine.internal, (i, state), list)  # type: ignore[no-any-return]

    def agree(self, states: Mapping[int, Any], crashed: int) -> Any | None:
        return self._twice("agree", None, self.machine.agree, (states, crashed), _as_it_is)

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
        arguments = (self.machine, i, state)
        return self._twice(f"{kind} {name}", i, predicate, arguments, bool)  # type: ignore[no-any-return]

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        if self._skips():
            return self.machine.renamed(state, renaming)
        return self._twice("renamed", None, self.machine.renamed, (state, renaming), _as_it_is)

    def renamed_packet(self, packet: Packet, renaming: Renaming) -> Packet:
        if packet.stamp is None or self._skips():
            return self.machine.renamed_packet(packet, renaming)
        arguments = (packet, renaming)
        return self._twice("renamed_stamp", None, self.machine.renamed_packet, arguments, _as_it_is)  # type: ignore[no-any-return]

    def unhashable(self, what: str, i: int, error: TypeError) -> BadInput:
        """What to raise where a state or packet cannot be looked up."""
        return BadInput(
            f"{self._name}: a {what} of P{i + 1} cannot be compared and counted: {error}",
            mend="build local states and packets of tuples, frozensets and named tuples of them",
        )

    def same_type(self, what: str, i: int, known: Any, value: Any) -> None:
        """Raises unless a value that equals a known one, for which it is taken, is made of the same types too.

        Whether it is one type in another is looked at as often as calls are made twice.
        """
        if type(known) is not type(value) or (self._looks_closely() and types_of(known) != types_of(value)):
            raise BadInput(
                f"{self._name}: a {what} of P{i + 1} equals another, for which it is taken, but is made of other types"
                f"{_told_apart(types_of(known), types_of(value))}",
                mend="give them a field that differs",
            )

    def _looks_closely(self) -> bool:
        return self.calls <= FIRST_CALLS or self.calls % EVERY == 0

    # -- the canary ----------------------------------------------------------------------------------------------------

    def _skips(self) -> bool:
        self.calls += 1
        return self.calls > FIRST_CALLS and self.calls % EVERY != 0

    def _twice(
        self,
        method: str,
        i: int | None,
        call: Callable[..., Any],
        arguments: tuple[Any, ...],
        whole: Callable[[Any], Any],
    ) -> Any:
        """What a call gives, made twice; `whole` makes a value of what may be an iterator."""
        given = [(k, contents(value)) for k, value in enumerate(arguments) if self._may_change(value)]
        first = whole(call(*arguments))
        for k, before in given:
            if contents(arguments[k]) != before:
                self._impure(method, i, f"it changes the {_argument(method, k)} that it is given")
        self._left_behind(method, i)
        second = whole(call(*arguments))
        difference = _difference(method, first, second)
        if difference is not None:
            given_same = " and ".join(ARGUMENTS.get(method, ("arguments",)))
            self._impure(method, i, f"it first {difference} for the same {given_same}")
        return first

    def _may_change(self, value: Any) -> bool:
        return not (value is self.machine or type(value) is Renaming or immutable(value))

    def _left_behind(self, method: str, i: int | None) -> None:
        """Raises if what is outside local states is not what it was."""
        change = self._outside.changed()
        if change is not None:
            self._impure(method, i, change)

    def _impure(self, method: str, i: int | None, what: str) -> NoReturn:
        at = "" if i is None else f"at P{i + 1} "
        called = f"{self._name}.{method}" if method.isidentifier() else f"{method} of {self._name}"
        raise BadInput(f"{called} is not a pure function: {at}{what}", mend=HINT)


class PurityByEntry(Purity):
    """Likewise, for an engine that makes its calls to fill in the entries of tables."""

    def __init__(self, machine: ProtocolMachine) -> None:
        super().__init__(machine)
        #: True while an entry is filled in of which all calls are made twice.
        self.doubles = True

    def inputs_of(self, entry: int) -> Inputs:
        """The inputs by which to fill in the entry of that number: this canary, or the machine itself."""
        self.doubles = self.calls < FIRST_CALLS or not entry % EVERY
        return self if self.doubles else self.machine

    def _skips(self) -> bool:
        self.calls += 1
        return not self.doubles

    def _looks_closely(self) -> bool:
        return self.doubles


#: What has the inputs of a machine.
Inputs = Purity | ProtocolMachine


def types_of(value: Any) -> Any:
    """The types of which a value is made, place by place; of a set, how often there is which."""
    if type(value) in PLAIN:
        return type(value)
    if isinstance(value, tuple):
        return (type(value), tuple([types_of(part) for part in value]))
    if isinstance(value, frozenset):
        return (type(value), frozenset(Counter(map(types_of, value)).items()))
    return (type(value), contents(value))


def _told_apart(one: Any, other: Any) -> str:
    """The first types that differ, in words; nothing where they are in a set, or within a value."""
    kinds = [types if isinstance(types, type) else types[0] for types in (one, other)]
    if kinds[0] is not kinds[1]:
        return f", {kinds[0].__name__} and {kinds[1].__name__}"
    parts = [() if isinstance(types, type) else types[1] for types in (one, other)]
    if not all(isinstance(each, tuple) for each in parts):
        return ""
    return next((_told_apart(*pair) for pair in zip(*parts, strict=True) if pair[0] != pair[1]), "")


#: The inputs that yield steps.
OF_STEPS = ("send", "arrive", "receive", "internal")


def _as_it_is(value: Any) -> Any:
    return value


def _argument(method: str, k: int) -> str:
    if method == "agree":
        return "states"
    if method in ("renamed", "renamed_stamp"):
        return "state" if method == "renamed" else "stamp"
    return "state" if method not in ARGUMENTS else ARGUMENTS[method][k - 1]


def _difference(method: str, first: Any, second: Any) -> str | None:
    """What tells the answers of two calls apart; None if nothing does."""
    if method not in OF_STEPS:
        if first == second:
            return None
        if isinstance(first, bool):
            return f"said {first} and then {second}"
        return "gave one value and then another"
    if len(first) != len(second):
        return f"gave {len(first)} step{'s' * (len(first) != 1)} and then {len(second)}"
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
