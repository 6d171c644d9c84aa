"""What a machine declares of itself is checked before it is used: that its processes are alike, and that it is pure."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from asymmetric_machines import (
    ASYMMETRIC,
    InvariantOfTheLast,
    LastAcceptsAll,
    Row,
    ThirdMessageOfTheSecond,
    Unnumbered,
    WitnessOfTheFirst,
)
from impure_machines import IMPURE, Caches, Strict
from impure_machines import Row as ImpureRow
from native_engine_setup import question, reported, same_verdicts

from crownless.impl.buffer import Buffer
from crownless.impl.extra_messages import ExtraMessages
from crownless.impl.isis import Isis
from crownless.impl.opaque import NotParametric
from crownless.impl.optimal import Optimal
from crownless.impl.parametric import Parametric, parametric, seen_parametric
from crownless.impl.protocol import Packet, ProtocolMachine
from crownless.impl.registry import PROTOCOLS
from crownless.impl.rst import Rst
from crownless.model_check.check import run_check
from crownless.model_check.check_result import CheckResult
from crownless.model_check.exploration import Exploration
from crownless.model_check.native import search as search_module
from crownless.model_check.native import symmetry
from crownless.model_check.native.checkpoints import checkpoint_in
from crownless.model_check.native.saved_requests import request_of
from crownless.model_check.request import Check
from crownless.runtime.ending import Limits
from crownless.spec.computation import Message
from crownless.spec.errors import BadInput

ROWS = pytest.mark.parametrize("row", ASYMMETRIC, ids=lambda row: row.machine.__name__)


@cache
def by_the_plain_engine(row: Row) -> Exploration:
    return question(row.machine, row.processes, row.messages).plain()


@ROWS
@pytest.mark.parametrize("workers", [1, 2])
def test_the_native_engine_says_of_processes_that_differ_what_the_plain_one_says(row: Row, workers: int) -> None:
    both = question(row.machine, row.processes, row.messages)
    search = both.search(workers)
    assert reported(search.explore()) == reported(by_the_plain_engine(row))
    assert search.asymmetry is not None


@ROWS
@pytest.mark.parametrize("reductions", [("symmetry",), ("symmetry", "order")], ids="-".join)
def test_symmetry_reduction_of_processes_that_differ_is_dropped(row: Row, reductions: tuple[str, ...]) -> None:
    both = question(row.machine, row.processes, row.messages)
    if not both.admits(*reductions):
        pytest.skip("order reduction is not admitted")
    search = both.search(1, reductions)
    assert same_verdicts(by_the_plain_engine(row), search.explore(), lengths="order" not in reductions)
    assert search.asymmetry is not None


@pytest.mark.parametrize("protocol", [name for name, kind in PROTOCOLS.items() if kind.symmetric])
def test_nothing_is_said_to_differ_in_a_protocol_that_is_symmetric(protocol: str) -> None:
    both = question(protocol, 3, 2)
    for reductions in ((), ("symmetry",)):
        search = both.search(1, reductions)
        search.explore()
        assert search.asymmetry is None


@ROWS
def test_no_machine_that_distinguishes_processes_is_parametric(row: Row) -> None:
    seen = parametric(row.machine(3), 4)
    if row.machine not in (WitnessOfTheFirst, InvariantOfTheLast):
        assert seen is None
    elif seen is not None:
        assert seen.unlike


def test_the_protocols_that_are_parametric() -> None:
    seen = {name: parametric(kind(3), 4) for name, kind in PROTOCOLS.items()}
    assert {name for name, known in seen.items() if known == Parametric(None, frozenset())} == {
        "unordered", "fifo-sequence", "fifo-ack", "rendezvous", "cbcast", "rst", "rst-before", "rst-sent-alone",
        "rst-column", "ses", "ses-delete", "ses-multicast",
    }  # fmt: skip
    with_queues = {name for name, known in seen.items() if known == Parametric(4, frozenset())}
    assert with_queues == {"buffer", "buffer-pipelined", "buffer-bounded"}


def checked(machine: type[ProtocolMachine], n: int, messages: int, **options: Any) -> CheckResult:
    return run_check(Check(machine, n, messages), engine="native", workers=1, **options)


def test_the_scope_says_how_processes_differ() -> None:
    result = checked(LastAcceptsAll, 3, 3)
    assert result.verdict == "violated"
    assert result.scope.endswith(
        "declared symmetric, but process 3 accepts a packet that process 1 refuses, so each process has its own tables"
        ", and symmetry reduces nothing"
    )
    because = "process 3 accepts a packet that process 1 refuses"
    not_shared = {"parametric": None, "entries": None, "compared": None}
    assert result.json()["symmetry"] == {"declared": True, "found": False, "because": because, **not_shared}
    reduced = checked(LastAcceptsAll, 3, 3, reductions=["symmetry"])
    assert reduced.verdict == "violated"
    assert reduced.json()["reductions"] == []
    assert "so each process has its own tables" in reduced.scope
    shortest = [[len(r.run.actions) for r in one.properties if r.run is not None] for one in (result, reduced)]
    assert shortest[0] == shortest[1] == [3, 3, 4]


def test_what_was_seen_to_differ_is_saved(tmp_path: Path) -> None:
    both = question(LastAcceptsAll, 3, 4)
    whole = both.search()
    expected = reported(whole.explore())
    about = request_of(both.check, ())
    with checkpoint_in(tmp_path / "saved", about, resume=False) as saving:
        both.search().explore(Limits(states=3_000), checkpoint=saving)
    with checkpoint_in(tmp_path / "saved", about, resume=True) as saving:
        search = both.search()
        found = search.explore(checkpoint=saving)
    assert reported(found) == expected
    assert search.asymmetry == whole.asymmetry


def test_a_search_that_was_saved_before_processes_differed_starts_again(tmp_path: Path) -> None:
    both = question(ThirdMessageOfTheSecond, 3, 4)
    about = request_of(both.check, ())
    with checkpoint_in(tmp_path / "saved", about, resume=False) as saving:
        early = both.search()
        early.explore(Limits(states=100), checkpoint=saving)
        assert early.asymmetry is None
    with checkpoint_in(tmp_path / "saved", about, resume=True) as saving:
        search = both.search()
        assert reported(search.explore(checkpoint=saving)) == reported(both.plain())
        assert search.asymmetry is not None


# -- what need not be compared -----------------------------------------------------------------------------------------


class SaysOtherwiseOfTheSecond(Rst):
    invariants = {
        **Rst.invariants,
        "little-is-delivered": lambda machine, i, state: i != 1 or sum(state.deliv) < 2,
    }


class SubscriptOfTheFirst(Rst):
    invariants = {"nothing-of-the-first": lambda machine, i, state: state.deliv[0] == 0}


class RanksInAWitness(Rst):
    witnesses = {"a-greater-one-sent": lambda machine, i, state: any(state.deliv[k] for k in range(i, machine.n))}


@pytest.mark.parametrize("machine", [SaysOtherwiseOfTheSecond, SubscriptOfTheFirst, RanksInAWitness])
def test_a_predicate_that_names_processes_is_compared_where_the_protocol_is_parametric(
    machine: type[ProtocolMachine],
) -> None:
    (name,) = {*machine.invariants, *machine.witnesses} - Rst.invariants.keys()
    assert parametric(machine(3), 4) == Parametric(None, frozenset({name}))
    both = question(machine, 3, 3)
    search = both.search()
    assert reported(search.explore()) == reported(both.plain())
    assert f"`{name}`" in str(search.asymmetry)


def test_a_parametric_protocol_is_said_to_be_one() -> None:
    result = checked(Rst, 3, 3)
    said = result.json()["symmetry"]
    assert (said["found"], said["parametric"], said["compared"]) == (True, True, 0)
    assert said["entries"] > 0
    assert "compared" not in result.scope


class DropsTheThird(Buffer):
    """The last process loses what it is sent while it holds two messages."""

    def get(self, state: Any, message: Message) -> Any:
        lost = len(state.input) == 2 and message.receiver == self.n - 1
        return state if lost else super().get(state, message)


@pytest.mark.parametrize("reductions", [(), ("symmetry",)], ids=["none", "symmetry"])
@pytest.mark.parametrize("machine", [Buffer, DropsTheThird])
@pytest.mark.parametrize("longest", [0, 1, 2])
def test_values_longer_than_was_seen_are_compared(
    machine: type[ProtocolMachine], longest: int, reductions: tuple[str, ...]
) -> None:
    both = question(machine, 3, 3)
    with patch.object(search_module, "parametric", lambda machine, _: parametric(machine, longest)):
        search = both.search(1, reductions)
        found = search.explore()
    assert same_verdicts(both.plain(), found, lengths=True)
    assert (search.asymmetry is not None) == (machine is DropsTheThird)
    assert not search.symmetry.parametric
    assert search.asymmetry is not None or 0 < search.symmetry.compared < search.symmetry.entries


def test_where_everything_is_compared_the_scope_does_not_say_so() -> None:
    result = checked(Isis, 3, 3)
    said = result.json()["symmetry"]
    assert said["compared"] == said["entries"] > 0
    assert "compared" not in result.scope


@pytest.mark.parametrize("machine", [ExtraMessages, Isis, Optimal])
@pytest.mark.parametrize("reductions", [(), ("symmetry",)])
def test_of_large_tables_a_sample_is_compared_and_the_scope_says_how_large(
    machine: type[ProtocolMachine], reductions: tuple[str, ...]
) -> None:
    whole = checked(machine, 3, 3, reductions=reductions)
    with patch.object(symmetry, "FIRST_ENTRIES", 20):
        sample = checked(machine, 3, 3, reductions=reductions)
    said = sample.json()["symmetry"]
    compared, entries = said["compared"], said["entries"]
    assert compared == 20 + entries // symmetry.EVERY - 20 // symmetry.EVERY
    assert entries == whole.json()["symmetry"]["entries"]
    assert sample.scope.endswith(
        f"; processes are declared alike: {compared:,} of {entries:,} local transitions compared"
    )
    assert reported(sample.exploration) == reported(whole.exploration)


@ROWS
def test_a_difference_is_seen_in_a_sample_of_large_tables(row: Row) -> None:
    both = question(row.machine, row.processes, row.messages)
    with patch.object(symmetry, "FIRST_ENTRIES", 0):
        search = both.search()
        found = search.explore()
    if row.machine is Unnumbered:  # it has 77 entries, of which those that differ are not in the sample
        assert search.symmetry.is_a_sample
    else:
        assert search.asymmetry is not None
        assert reported(found) == reported(by_the_plain_engine(row))


def test_a_search_that_goes_on_compares_the_same_sample(tmp_path: Path) -> None:
    both = question("optimal", 3, 4)
    about = request_of(both.check, ())
    with patch.object(symmetry, "FIRST_ENTRIES", 20):
        whole = both.search()
        expected = reported(whole.explore())
        with checkpoint_in(tmp_path / "saved", about, resume=False) as saving:
            both.search().explore(Limits(states=3_000), checkpoint=saving)
        with checkpoint_in(tmp_path / "saved", about, resume=True) as saving:
            search = both.search()
            found = search.explore(checkpoint=saving)
    assert reported(found) == expected
    assert search.symmetry == whole.symmetry
    assert search.symmetry.is_a_sample


# -- impure machines ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", IMPURE, ids=lambda row: row.machine.__name__)
@pytest.mark.parametrize("engine", ["plain", "native", "native-2", "symmetry"])
def test_an_impure_machine_is_refused_in_a_line_that_names_the_method(row: ImpureRow, engine: str) -> None:
    if (row.by_renaming and engine == "plain") or (not row.machine.symmetric and engine == "symmetry"):
        pytest.skip("this engine does not check that of it")
    if issubclass(row.machine, Strict):
        row.machine.forget()
    both = question(row.machine, 3, 3)
    workers, reductions = 2 if engine == "native-2" else 1, ("symmetry",) if engine == "symmetry" else ()
    explore = both.plain if engine == "plain" else partial(both.native, workers, reductions)
    with pytest.raises(BadInput, match=row.said) as raised:
        explore()
    assert "\n" not in str(raised.value)
    assert raised.value.hint


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_a_machine_may_cache_what_it_computes(engine: str) -> None:
    both = question(Caches, 3, 2)
    assert reported(getattr(both, engine)()) == reported(question("rst", 3, 2).plain())


def test_why_a_machine_is_not_parametric_is_said() -> None:
    with pytest.raises(NotParametric, match="a value that differs between processes"):
        seen_parametric(LastAcceptsAll(3), 4)


KIND = "{0.__class__.__name__}"


class AcceptsWhatIsNoInteger(Rst):
    """Asks a text, which reads attributes of what it shows."""

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return KIND.format(i) != "int" or super().deliverable(i, state, packet)


def test_a_text_that_reads_attributes_is_refused() -> None:
    with pytest.raises(NotParametric, match="format"):
        seen_parametric(AcceptsWhatIsNoInteger(3), 4)
