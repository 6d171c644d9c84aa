"""A check that machines are pure functions, through which all engines call a protocol.

Every engine calls a machine once for a local state and an input, and uses the answer ever after. That is right only of
a pure function. So the first calls, and every 64th of those that follow, are made twice: both must give the same,
leave the state and the packet as they were, and leave nothing behind outside local states (`outside_state`). What is
impure once in a while may slip through; what is impure from the start does not. An engine that fills tables counts
their entries instead of calls, and makes all calls of an entry twice or none (`PurityByEntry`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message
from crownless.spec.printable import some

from .outcomes import HASHABLE, Exists, Outcomes, any_message
from .outside_state import OutsideState, contents, immutable
from .twins import Difference, SetOrders, are_plainly_the_same, difference
from .wrong_machine import ARGUMENTS, NOT_GIVEN, Call, WrongMachine, shown

T = TypeVar("T")

#: So many calls are all made twice, and of those that follow one in so many (a power of two).
FIRST_CALLS = 256
EVERY = 64

HINT_ON_ORDER = "equal sets may be in different orders: take min(…) or sorted(…) of one, or keep a tuple in its place"
HINT = "an input must depend on its arguments alone, and change nothing: keep what it remembers in the local state"


class Once:
    """The inputs of a machine, each called once; raises `WrongMachine` for an answer that is none."""

    def __init__(self, machine: ProtocolMachine, outcomes: Outcomes, orders: SetOrders) -> None:
        self.machine = machine
        self._outcomes = outcomes
        self._orders = orders

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        answer = self._outcomes.steps("send", i, state, message, self.machine.send(i, state, message))
        if self._orders.kept:
            self._orders.called("send", i, state, message)
        return answer

    def deliverable(self, i: int, state: Any, packet: Packet) -> bool:
        answer = self._outcomes.truth("deliverable", i, state, packet, self.machine.deliverable(i, state, packet))
        if self._orders.kept:
            self._orders.called("deliverable", i, state, packet)
        return answer

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        answer = self._outcomes.steps("on_packet", i, state, packet, self.machine.on_packet(i, state, packet))
        if self._orders.kept:
            self._orders.called("on_packet", i, state, packet)
        return answer

    def receive(self, i: int, state: Any, sender: int | None) -> Sequence[Step]:
        answer = self._outcomes.steps("receive", i, state, sender, self.machine.receive(i, state, sender))
        if self._orders.kept:
            self._orders.called("receive", i, state, sender)
        return answer

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        answer = self._outcomes.internal(i, state, self.machine.internal(i, state))
        if self._orders.kept:
            self._orders.called("internal", i, state, NOT_GIVEN)
        return answer

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
        #: Local states and packets that differ in the order of a set alone.
        self.orders = SetOrders(self._answer, self._compare_judgements, self.same, self._refuse_order)
        self.once = Once(machine, self.outcomes, self.orders)
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

    # -- twins ---------------------------------------------------------------------------------------------------------

    def same(self, i: int, known: Any, value: Any) -> None:
        """Raises if a machine can distinguish a local state, or a packet, from the known one that it equals, for which
        it is taken.
        """
        if self._is_known:
            return
        is_packet = isinstance(value, Packet)
        one, other = (known.stamp, value.stamp) if is_packet else (known, value)
        if are_plainly_the_same(one, other) or (found := difference(one, other)) is None:
            return
        if found.of != "order":
            raise self._wrong_twins("stamp" if is_packet else "local state", i, found)
        if is_packet:
            self.orders.packet(known, value)
        else:
            self.orders.local_state(i, known, value)

    def _wrong_twins(self, what: str, i: int, found: Difference) -> WrongMachine:
        said = f"{self._kind.__name__}: a {what} of P{i + 1} equals another, for which it is taken, but is"
        _, one, other = found
        if found.of == "types":
            types = f"{type(one).__name__} and {type(other).__name__}"
            return WrongMachine(f"{said} made of other types, {types}", hint="give them a field that differs")
        hint = "give them a field that differs, or make the same of both"
        return WrongMachine(f"{said} another value, {shown(one)} and {shown(other)}", hint=hint)

    def _answer(self, method: str, i: int, state: Any, given: Any) -> Any:
        """The answer of the machine, called once."""
        arguments = (i, state) if given is NOT_GIVEN else (i, state, given)
        answer = getattr(self.machine, method)(*arguments)
        if method == "internal":
            return self.outcomes.internal(i, state, answer)
        check = self.outcomes.truth if method == "deliverable" else self.outcomes.steps
        return check(method, i, state, given, answer)

    def _compare_judgements(self, i: int, state: Any, twin: Any) -> None:
        """Raises if an invariant or a witness looks at the order of a set."""
        for kind in ("invariant", "witness"):
            predicates = self.machine.invariants if kind == "invariant" else self.machine.witnesses
            for name, holds in predicates.items():
                if bool(holds(self.machine, i, state)) != bool(holds(self.machine, i, twin)):
                    self._refuse_order(f"{kind} '{name}'", i, state, NOT_GIVEN, (twin, NOT_GIVEN))

    def _refuse_order(self, method: str, i: int, state: Any, given: Any, twins: tuple[Any, Any]) -> NoReturn:
        what, twin = ("local state", twins[0]) if twins[0] is not state else ("stamp", twins[1].stamp)
        raise Call(self._kind, method, i, state, given).wrong(
            f"looks at the order of a set: it answers otherwise for the equal {what} {shown(twin)}", HINT_ON_ORDER
        )

    # -- the canary ----------------------------------------------------------------------------------------------------

    def _skips(self) -> bool:
        self.calls += 1
        return self._is_known or (self.calls > FIRST_CALLS and self.calls % EVERY != 0)

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
