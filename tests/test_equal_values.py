"""Values that Python takes for equal although a machine can distinguish them are refused, not taken for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import copysign
from typing import Any, NamedTuple

import pytest
from native_engine_setup import question

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.rst import Rst
from crownless.impl.rst import State as RstState
from crownless.spec.computation import Message
from crownless.spec.errors import BadInput


class Strict(NamedTuple):
    sent: Any
    deliv: Any


class Lax(NamedTuple):
    sent: Any
    deliv: Any


class OfItsOwn(Rst):
    """Some process lets everything through once it has taken a step by itself."""

    symmetric = False
    invariants = {}
    rules = {}

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return self.is_lax(state) or super().deliverable(i, RstState(*state[:2]), packet)

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return [
            step._replace(state=type(state)(*step.state, *state[2:]))
            for step in super().send(i, RstState(*state[:2]), message)
        ]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return [
            step._replace(state=type(state)(*step.state, *state[2:]))
            for step in super().on_packet(i, RstState(*state[:2]), packet)
        ]

    def is_lax(self, state: Any) -> bool:
        raise NotImplementedError


class Relaxes(OfItsOwn):
    def initial(self, i: int) -> Any:
        return Strict(*super().initial(i))

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return [] if self.is_lax(state) else [("relax", Step(Lax(*state)))]

    def is_lax(self, state: Any) -> bool:
        return isinstance(state, Lax)


class Counted(NamedTuple):
    sent: Any
    deliv: Any
    mode: int


class RelaxesByATruth(OfItsOwn):
    def initial(self, i: int) -> Any:
        return Counted(*super().initial(i), 1)

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return [] if self.is_lax(state) else [("relax", Step(state._replace(mode=True)))]

    def is_lax(self, state: Any) -> bool:
        return state.mode is True


@dataclass(frozen=True)
class Mode:
    lax: bool = field(default=False, compare=False)


class RelaxesByWhatIsNotCompared(OfItsOwn):
    def initial(self, i: int) -> Any:
        return Counted(*super().initial(i), Mode())  # type: ignore[arg-type]

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return [] if self.is_lax(state) else [("relax", Step(state._replace(mode=Mode(True))))]

    def is_lax(self, state: Any) -> bool:
        return bool(state.mode.lax)


class TurnsASign(OfItsOwn):
    modes: tuple[Any, Any] = (0.0, -0.0)

    def initial(self, i: int) -> Any:
        return Counted(*super().initial(i), self.modes[0])

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return [("turn", Step(state._replace(mode=self.modes[1])))]

    def is_lax(self, state: Any) -> bool:
        return copysign(1, state.mode) < 0


class TurnsASignLate(TurnsASign):
    """So late that few calls are made twice any more."""

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        return super().internal(i, state) if sum(state.deliv) == 3 else []


class TurnsASet(TurnsASign):
    """Right: its sets are equal, and nothing that it does depends on their order."""

    modes = (frozenset([0, 8]), frozenset([8, 0]))

    def is_lax(self, state: Any) -> bool:
        return bool(min(state.mode) == 8)


class Normal(NamedTuple):
    stamp: Any


class Urgent(NamedTuple):
    stamp: Any


class StampsOfTwoTypes(Rst):
    symmetric = False
    rules = {}

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [
            step._replace(packets=[packet._replace(stamp=kind(packet.stamp)) for packet in step.packets])
            for kind in (Normal, Urgent)
        ]

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        plain = packet._replace(stamp=packet.stamp.stamp)
        return isinstance(packet.stamp, Urgent) or super().deliverable(i, state, plain)

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return super().on_packet(i, state, packet._replace(stamp=packet.stamp.stamp))


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (Relaxes, r"a local state of P\d equals another, .* other types, (Strict and Lax|Lax and Strict); give"),
        (RelaxesByATruth, r"a local state of P\d equals another, .* other types, (int and bool|bool and int); give"),
        (
            RelaxesByWhatIsNotCompared,
            r"at P\d gives .* state.mode is a Mode, whose field lax is not compared",
        ),
        (TurnsASign, r"a local state of P\d equals another, .* is another value, -?0.0 and -?0.0; make"),
        (TurnsASignLate, r"a local state of P\d equals another, .* is another value, -?0.0 and -?0.0; make"),
        (StampsOfTwoTypes, r"a stamp of P\d equals another, .* other types, (Normal and Urgent|Urgent and Normal)"),
    ],
)
@pytest.mark.parametrize("engine", ["plain", "native"])
def test_equal_values_of_different_types_are_refused(machine: type[ProtocolMachine], said: str, engine: str) -> None:
    both = question(machine, 3, 3)
    with pytest.raises(BadInput, match=said):
        both.plain() if engine == "plain" else both.native(1)


class CountsFromFalseAtTheLast(Rst):
    """Declared alike: the last process starts with counts that equal those of the others."""

    rules = {}

    def initial(self, i: int) -> RstState:
        sent, deliv = super().initial(i)
        return RstState(sent, (False,) * self.n if i == self.n - 1 else deliv)

    def deliv_after(self, state: RstState, j: int) -> Any:
        return tuple(count + 1 if k == j else count for k, count in enumerate(state.deliv))

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return state.deliv[0] is False or super().deliverable(i, state, packet)


class CountsWithFalseAtTheLast(Rst):
    """Likewise, from its first delivery on."""

    rules = {}

    def after_delivering(self, i: Any, state: RstState, j: Any, stamp: Any) -> RstState:
        after = super().after_delivering(i, state, j, stamp)
        return after._replace(deliv=tuple(count or False for count in after.deliv)) if i == self.n - 1 else after

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return any(count is False for count in state.deliv) or super().deliverable(i, state, packet)


@pytest.mark.parametrize("machine", [CountsFromFalseAtTheLast, CountsWithFalseAtTheLast])
def test_processes_that_are_alike_but_for_the_types_of_equal_values_share_no_tables(
    machine: type[ProtocolMachine],
) -> None:
    for reductions in ((), ("symmetry",)):
        search = question(machine, 3, 3).search(1, reductions)
        assert "causal" in search.explore().broken
        assert search.asymmetry is not None


class CountsInTruthsAtTheLast(CountsFromFalseAtTheLast):
    """A right machine, in which no process has two equal values of different types: only the last says False for 0."""

    symmetric = False

    def deliv_after(self, state: RstState, j: int) -> Any:
        return tuple(count + (k == j) or type(count)() for k, count in enumerate(state.deliv))

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return Rst.deliverable(self, i, state, packet)


def test_types_of_equal_values_may_differ_between_processes() -> None:
    both, right = question(CountsInTruthsAtTheLast, 3, 3), question(Rst, 3, 3)
    assert both.plain().states == both.native(1).states == right.plain().states


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_equal_sets_in_any_order_are_one_value(engine: str) -> None:
    both, right = question(TurnsASet, 3, 3), question(Rst, 3, 3)
    explored = both.plain() if engine == "plain" else both.native(1)
    assert explored.states == right.plain().states
    assert "causal" not in explored.broken
