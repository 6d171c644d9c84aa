"""An answer of another shape than a proof reads is refused in one line, with the method that gives it and its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from crownless.impl.buffer import Buffer
from crownless.impl.extra_messages import ExtraMessages
from crownless.impl.murty_garg import MurtyGarg
from crownless.impl.protocol import ProtocolMachine
from crownless.model_check.check import run_check
from crownless.model_check.request import Check
from crownless.proofs.proving import PROOFS, prove
from crownless.spec.errors import BadInput


class ColumnsInTuples(ExtraMessages):
    def columns_to_clear(self, i: int, state: Any) -> Any:
        return [(j,) for j in range(self.n) if any(row[j] for row in state.matrix)]


class FullColumnsInTuples(ExtraMessages):
    """Of columns that no run of a few processes and messages has."""

    def columns_to_clear(self, i: int, state: Any) -> Any:
        sizes = [sum(1 for row in state.matrix if row[j]) for j in range(self.n)]
        if max(sizes) < 2 or sum(sizes) < self.setting("k", i):
            return []
        most = [j for j in range(self.n) if sizes[j] == max(sizes)]
        return [(j,) for j in most] if all(row[most[0]] for row in state.matrix) else most


class ColumnsOnce(ExtraMessages):
    """What it gives is true, though it be empty, so that it sends nothing."""

    def columns_to_clear(self, i: int, state: Any) -> Any:
        return (j for j in super().columns_to_clear(i, state))


class ColumnsOfNobody(ExtraMessages):
    def columns_to_clear(self, i: int, state: Any) -> list[int]:
        return [99]


class NoEntries(ExtraMessages):
    def entries(self, matrix: Any) -> Any:
        return None


class EntriesInPairs(ExtraMessages):
    def column(self, state: Any, j: int) -> Any:
        return ((0, 1),)


class FlatMatrix(ExtraMessages):
    def matrix_of(self, entries: Any) -> Any:
        return (0, 0)


class NoMatrix(ExtraMessages):
    def matrix_of(self, entries: Any) -> Any:
        return None


class PairForAPacket(ExtraMessages):
    def extra(self, i: int, state: Any, j: int) -> Any:
        return (i, j)


class StatesAlone(ExtraMessages):
    def clearings(self, i: int, state: Any) -> Any:
        return [state.matrix]


class PairForAStep(Buffer):
    def on_packet(self, i: int, state: Any, packet: Any) -> Any:
        return [(state, ())]


class NumberForAStep(Buffer):
    def receive(self, i: int, state: Any, sender: int | None) -> Any:
        return [0]


class NumbersForNamedSteps(Buffer):
    def internal(self, i: int, state: Any) -> Any:
        return [0]


class NameForAStep(MurtyGarg):
    def send(self, i: int, state: Any, message: Any) -> Any:
        return ["send"]


WRONG: Sequence[tuple[str, type[ProtocolMachine], str]] = [
    ("extra-messages", ColumnsInTuples, "columns_to_clear"),
    ("extra-messages", FullColumnsInTuples, "columns_to_clear"),
    ("extra-messages", ColumnsOnce, "columns_to_clear"),
    ("extra-messages", ColumnsOfNobody, "columns_to_clear"),
    ("extra-messages", NoEntries, "entries"),
    ("extra-messages", EntriesInPairs, "column"),
    ("extra-messages", FlatMatrix, "matrix_of"),
    ("extra-messages", NoMatrix, "matrix_of"),
    ("extra-messages", PairForAPacket, "extra"),
    ("extra-messages", StatesAlone, "clearings"),
    ("buffer", PairForAStep, "on_packet"),
    ("buffer", NumberForAStep, "receive"),
    ("buffer", NumbersForNamedSteps, "internal"),
    ("murty-garg", NameForAStep, "send"),
]


@pytest.mark.parametrize(("protocol", "machine", "method"), WRONG, ids=lambda value: getattr(value, "__name__", ""))
def test_an_answer_of_another_shape_is_refused_with_its_place(
    protocol: str, machine: type[ProtocolMachine], method: str
) -> None:
    with pytest.raises(BadInput) as refused:
        prove(machine.__name__, replace(PROOFS[protocol], protocol=machine), effort=1, attempts=1)
    assert re.match(
        rf"{machine.__name__}\.{method} \(\S*test_proofs_of_wrong_answers\.py:\d+\) returns", str(refused.value)
    )
    assert "\n" not in str(refused.value)


class NoColumns(ExtraMessages):
    def columns_to_clear(self, i: int, state: Any) -> Any:
        return 5


class ColumnsInFractions(ExtraMessages):
    def columns_to_clear(self, i: int, state: Any) -> Any:
        return [1.0]


@pytest.mark.parametrize("engine", ["plain", "native"])
@pytest.mark.parametrize(
    ("machine", "answer"),
    [
        (ColumnsOfNobody, "[99]"),
        (ColumnsInFractions, "[1.0]"),
        (NoColumns, "5"),
        (ColumnsOnce, "<generator object "),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_columns_to_clear_that_are_no_processes_are_refused_where_they_enter(
    machine: type[ProtocolMachine], answer: str, engine: str
) -> None:
    with pytest.raises(BadInput) as refused:
        run_check(Check(machine, 3, 2), engine=engine)
    assert re.fullmatch(
        rf"{machine.__name__}\.columns_to_clear \(\S*test_proofs_of_wrong_answers\.py:\d+\) returns "
        rf"{re.escape(answer)}.*, not a list of columns; name a column by its process, 0 to 2",
        str(refused.value),
    )


class FailsInAPart(ExtraMessages):
    def after_sending(self, i: Any, state: Any, j: Any) -> Any:
        return state.matrix.no_such_attribute


class BranchesInAPart(ExtraMessages):
    def satisfied(self, i: Any, state: Any, matrix: Any) -> Any:
        return True if state.deliv[i] > 3 else super().satisfied(i, state, matrix)


class ReceivesNothing(ExtraMessages):
    def on_packet(self, i: int, state: Any, packet: Any) -> Any:
        return []


@pytest.mark.parametrize(
    ("machine", "method"),
    [(FailsInAPart, "send"), (BranchesInAPart, "deliverable"), (ReceivesNothing, "on_packet")],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_refusal_names_the_class_of_the_user_and_its_place(machine: type[ProtocolMachine], method: str) -> None:
    with pytest.raises(BadInput) as refused:
        replace(PROOFS["extra-messages"], protocol=machine).claims()
    place = r"\S*test_proofs_of_wrong_answers\.py:\d+"
    assert re.match(rf"{machine.__name__}\.{method} \({place}\): ", str(refused.value))
    assert "(line " not in str(refused.value)


class StateIsAMatrix(ExtraMessages):
    def after_sending(self, i: Any, state: Any, j: Any) -> Any:
        return state.matrix


def test_a_state_of_another_form_is_refused() -> None:
    with pytest.raises(BadInput, match="the state changes in its form"):
        prove("StateIsAMatrix", replace(PROOFS["extra-messages"], protocol=StateIsAMatrix), effort=1, attempts=1)
