"""Equal values of one type that a machine can distinguish are not taken for one; sets may be in any order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from itertools import permutations
from math import copysign
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from native_engine_setup import question
from test_equal_values import Counted, Mode, OfItsOwn

from crownless.impl.free_message import FreeMessage
from crownless.impl.protocol import Packet, ProtocolMachine, Step, delivered, sent
from crownless.impl.rst import Rst
from crownless.model_check.purity import Purity
from crownless.model_check.twins import MOST_ORDERS, difference, may_have_an_order
from crownless.spec.computation import Message
from crownless.spec.errors import BadInput

ENGINES = pytest.mark.parametrize("engine", ["plain", "native"])
#: Two equal sets that go through their elements in different orders.
ONE, OTHER = frozenset([0, 8]), frozenset([8, 0])


def explored(machine: type[ProtocolMachine], engine: str, messages: int = 3) -> Any:
    both = question(machine, 3, messages)
    return both.plain() if engine == "plain" else both.native(1)


def with_mode(state: Any, mode: Any) -> Any:
    return Counted(state.sent, state.deliv, mode)


class Turns(OfItsOwn):
    """Each process may turn its mode into another that equals it."""

    modes: tuple[Any, Any] = (ONE, OTHER)

    def initial(self, i: int) -> Any:
        return Counted(*super().initial(i), self.modes[0])

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return [("turn", Step(state._replace(mode=self.modes[1])))]

    def is_lax(self, state: Any) -> bool:
        return False


class TurnsASign(Turns):
    modes = (0.0, -0.0)

    def is_lax(self, state: Any) -> bool:
        return copysign(1, state.mode) < 0


class TurnsDigits(Turns):
    modes = (Decimal("1.0"), Decimal("1.00"))

    def is_lax(self, state: Any) -> bool:
        return len(str(state.mode)) == 4


class TurnsASignLate(TurnsASign):
    """So late that few calls are made twice any more."""

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return super().internal(i, state) if sum(state.deliv) == 3 else []


class SendsTwoSigns(Rst):
    symmetric = False
    rules = {}

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [
            step._replace(packets=[packet._replace(stamp=(packet.stamp, mode)) for packet in step.packets])
            for mode in self.modes
        ]

    modes: tuple[Any, Any] = (0.0, -0.0)

    def is_lax(self, mode: Any) -> bool:
        return copysign(1, mode) < 0

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        stamp, mode = packet.stamp
        return self.is_lax(mode) or super().deliverable(i, state, packet._replace(stamp=stamp))

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return super().on_packet(i, state, packet._replace(stamp=packet.stamp[0]))


@ENGINES
@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (TurnsASign, r"a local state of P\d equals another, .* another value, -?0.0 and -?0.0; give"),
        (TurnsASignLate, r"a local state of P\d equals another, .* another value, -?0.0 and -?0.0; give"),
        (TurnsDigits, r"a local state of P\d equals .*, Decimal\('1.00?'\) and Decimal\('1.00?'\); give"),
        (SendsTwoSigns, r"a stamp of P\d equals another, .* another value, -?0.0 and -?0.0; give"),
    ],
)
def test_equal_values_that_a_machine_can_distinguish_are_refused(
    machine: type[ProtocolMachine], said: str, engine: str
) -> None:
    with pytest.raises(BadInput, match=said):
        explored(machine, engine)


class TakesTheFirst(Turns):
    def is_lax(self, state: Any) -> bool:
        return bool(next(iter(state.mode)) == 8)


class TakesTheFirstWithin(Turns):
    modes = (Mode(("a", ONE)), Mode(("a", OTHER)))  # type: ignore[arg-type]

    def is_lax(self, state: Any) -> bool:
        return bool(next(iter(state.mode.lax[1])) == 8)


class TakesTheFirstOnceItIsReady(Turns):
    """Two steps after the sets were in another order."""

    def initial(self, i: int) -> Any:
        return super().initial(i)._replace(mode=(self.modes[0], 0))

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        mode, ready = state.mode
        turned = [] if ready else [("turn", Step(state._replace(mode=(self.modes[1], 0))))]
        return [*turned, *([("get ready", Step(state._replace(mode=(mode, ready + 1))))] if ready < 2 else [])]

    def is_lax(self, state: Any) -> bool:
        return bool(state.mode[1] == 2 and next(iter(state.mode[0])) == 8)


class SendsTwoOrders(SendsTwoSigns):
    modes = (ONE, OTHER)

    def is_lax(self, mode: Any) -> bool:
        return bool(next(iter(mode)) == 8)


class SendsToASiteThatTakesTheFirst(SendsTwoOrders):
    """Only the two together show: which is first in the state and in the stamp."""

    def initial(self, i: int) -> Any:
        return with_mode(super().initial(i), ONE)

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return [step._replace(state=with_mode(step.state, state.mode)) for step in super().send(i, state, message)]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return [step._replace(state=with_mode(step.state, state.mode)) for step in super().on_packet(i, state, packet)]

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return [("turn", Step(state._replace(mode=OTHER)))]

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        lax = self.is_lax(state.mode) and self.is_lax(packet.stamp[1])
        return lax or Rst.deliverable(self, i, state, packet._replace(stamp=packet.stamp[0]))


class StatesTheFirst(Turns):
    invariants = {"begins-with-0": lambda machine, i, state: next(iter(state.mode)) == 0}


@ENGINES
@pytest.mark.parametrize(
    ("machine", "method", "known_by"),
    [
        (TakesTheFirst, "deliverable", "local state"),
        (TakesTheFirstOnceItIsReady, "deliverable", "local state"),
        (SendsTwoOrders, "deliverable", "stamp"),
        (SendsToASiteThatTakesTheFirst, "deliverable", "(local state|stamp)"),
        (StatesTheFirst, "invariant 'begins-with-0'", "local state"),
    ],
)
def test_a_machine_that_looks_at_the_order_of_a_set_is_refused(
    machine: type[ProtocolMachine], method: str, known_by: str, engine: str
) -> None:
    said = (
        rf"{method}.* at P\d looks at the order of a set: it answers otherwise for the equal {known_by} .*; equal sets"
    )
    with pytest.raises(BadInput, match=said):
        explored(machine, engine)


@ENGINES
def test_sets_in_attributes_that_are_not_compared_are_refused(engine: str) -> None:
    with pytest.raises(BadInput, match="looks at the order of a set"):
        explored(TakesTheFirstWithin, engine)


class TakesTheLeast(Turns):
    """Right: it goes through sets, and nothing that it does depends on their order."""

    def is_lax(self, state: Any) -> bool:
        return bool(min(state.mode) == 8)

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        (packet,) = step.packets
        others = [Packet(i, (i + 1 + place // 8) % 3, "empty") for place in state.mode]
        return [step._replace(packets=[packet, *others])]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return [Step(state)] if packet.kind == "empty" else super().on_packet(i, state, packet)

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return packet.kind == "empty" or super().deliverable(i, state, packet)

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        turn = super().internal(i, state)
        return [*turn, *((f"see {place}", Step(state)) for place in state.mode)]


class SendsTwoOrdersToSitesThatTakeTheLeast(SendsTwoOrders):
    def is_lax(self, mode: Any) -> bool:
        return bool(min(mode) == 8)


@pytest.mark.parametrize("machine", [Turns, TakesTheLeast, SendsTwoOrdersToSitesThatTakeTheLeast])
def test_a_machine_may_hold_sets_at_whose_order_it_does_not_look(machine: type[ProtocolMachine]) -> None:
    messages = 2 if machine is TakesTheLeast else 3
    plain, native = explored(machine, "plain", messages), explored(machine, "native", messages)
    assert plain.states == native.states
    assert "causal" not in plain.broken


class Abbreviated(NamedTuple):
    shown: int
    hidden: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Abbreviated) and self.shown == other.shown

    def __hash__(self) -> int:
        return hash(self.shown)


class Prefix(tuple[int, ...]):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prefix) and self[:1] == other[:1]

    __hash__ = tuple.__hash__


class Amount(Decimal):
    def __repr__(self) -> str:
        return "an amount"


class Folded(frozenset[str]):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Folded) and {x.lower() for x in self} == {x.lower() for x in other}

    __hash__ = frozenset.__hash__


class Held(msgspec.Struct, frozen=True):
    held: Any


@dataclass(frozen=True)
class WithCache:
    cache: Any = field(compare=False)


class Slotted:
    __slots__ = ("__dict__", "__hidden")

    def __init__(self, hidden: Any, **others: Any) -> None:
        self.__hidden = hidden
        vars(self).update(others)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Slotted)

    def __hash__(self) -> int:
        return 0


class Word(str):
    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and str.lower(self) == str.lower(other)

    __hash__ = None  # type: ignore[assignment]


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (complex(0.0, 0.0), complex(0.0, -0.0)),
        (((1, 2.5), (0.0,)), ((1, 2.5), (-0.0,))),
        (frozenset([(0.0,), 1]), frozenset([1, (-0.0,)])),
        ({"a": 0.0}, {"a": -0.0}),
        (np.float64(0.0), np.float64(-0.0)),
        (Decimal("1.0"), Decimal("1.00")),
        (range(0, 3, 2), range(0, 4, 2)),
        (NOON, NOON.astimezone(timezone(timedelta(hours=1)))),
        (Abbreviated(1, 2), Abbreviated(1, 3)),
        (((Abbreviated(1, 2),),), ((Abbreviated(1, 3),),)),
        (Prefix((1, 2)), Prefix((1,))),
        (Amount("1.0"), Amount("1.00")),
        (Folded("a"), Folded("A")),
        (Held(0.0), Held(-0.0)),
        (WithCache(np.zeros(2)), WithCache(np.ones(2))),
        (Slotted(1), Slotted(2)),
        (Slotted(1, more=1), Slotted(1)),
        (Slotted(1, more=0.0), Slotted(1, more=-0.0)),
        (Word("Yes"), Word("yes")),
        ([0.0], [-0.0]),
    ],
)
def test_values_that_differ(one: Any, other: Any) -> None:
    assert one == other
    for left, right in ((one, other), (other, one)):
        found = difference(left, right)
        assert found is not None
        assert found.of == "value"


@pytest.mark.parametrize(("one", "other"), [(1, True), ((1, (2,)), (1, (2.0,))), (frozenset([1]), frozenset([True]))])
def test_types_that_differ(one: Any, other: Any) -> None:
    found = difference(one, other)
    assert found is not None
    assert found.of == "types"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ONE, OTHER),
        ((1, (ONE,)), (1, (OTHER,))),
        (frozenset([(1, ONE)]), frozenset([(1, OTHER)])),
        ({1: 2, 3: 4}, {3: 4, 1: 2}),
        (Slotted(ONE), Slotted(OTHER)),
        (Held(ONE), Held(OTHER)),
        (Mode(ONE), Mode(OTHER)),  # type: ignore[arg-type]
    ],
)
def test_orders_that_differ(one: Any, other: Any) -> None:
    found = difference(one, other)
    assert found is not None
    assert found.of == "order"
    assert may_have_an_order(one)


@pytest.mark.parametrize(
    "make",
    [
        lambda: (1, "two", (3, None), b"5"),
        lambda: (1.5, Decimal("2.50"), Fraction(1, 3), complex(1, 2)),
        lambda: frozenset(["only"]),
        lambda: (Abbreviated(1, 2), Prefix((1, 2)), Amount("1.0"), Folded("a"), Held((0.0, {1: 2}))),
        lambda: WithCache(np.zeros(2)),
        lambda: Slotted((1, 2), more=[3]),
        lambda: (Message("x", 0, (1,)), Mode(True)),
        lambda: (len, Mode, object.__repr__),
    ],
)
def test_values_that_nothing_distinguishes(make: Any) -> None:
    assert difference(make(), make()) is None


def test_what_has_no_order() -> None:
    assert not may_have_an_order((1, (2.0, "x"), frozenset(), frozenset([(1,)])))


def test_an_object_within_itself_is_compared() -> None:
    one, other = Slotted(1), Slotted(1)
    vars(one)["itself"], vars(other)["itself"] = one, other
    assert difference(one, other) is None


class GathersColliding(ProtocolMachine):
    """Gathers numbers that share a place in small sets, in the order in which they come."""

    promises = "asynchronous"

    def initial(self, i: int) -> Any:
        return frozenset()

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return [Step(state, [Packet(i, message.receiver, "message", message)], [sent(message)])]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        assert isinstance(packet.message, FreeMessage)
        return [Step(state | {packet.message.number * 1024}, [], [delivered(packet.message)])]


def test_of_many_orders_of_one_set_some_are_compared() -> None:
    machine = GathersColliding(2)
    orders = Purity(machine).orders
    known = frozenset(k * 1024 for k in range(6))
    for order in permutations(range(6)):
        orders.local_state(0, known, frozenset(k * 1024 for k in order))
    assert len(orders._states[0, known]) == MOST_ORDERS
