"""What a machine declares of itself is checked before it is used: that its processes are alike."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from asymmetric_machines import ASYMMETRIC, LastAcceptsAll, ThirdMessageOfTheSecond
from in_order import bound
from native_engine_setup import question, reported

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.rst import Rst
from crownless.impl.registry import PROTOCOLS
from crownless.impl.variant import variant
from crownless.model_check.check.check import run_check
from crownless.model_check.native import symmetry
from crownless.model_check.native.checkpoints import checkpoint_in
from crownless.model_check.system.exploration import Exploration
from crownless.model_check.system.request import Check
from crownless.runtime.ending import Limits

NAMED = pytest.mark.parametrize("name", ASYMMETRIC)


@cache
def by_the_plain_engine(name: str) -> Exploration:
    return question(*_scope(name)).plain()


def _scope(name: str) -> tuple[type[ProtocolMachine], int, int]:
    machine, messages = ASYMMETRIC[name]
    return machine, 3, messages


@NAMED
@pytest.mark.parametrize("reduced", [False, True])
def test_processes_that_differ_share_no_tables(name: str, reduced: bool) -> None:
    search = question(*_scope(name)).search(symmetry=reduced)
    found = search.explore()
    assert search.asymmetry is not None
    assert reported(found) == reported(by_the_plain_engine(name))


@pytest.mark.parametrize("protocol", [name for name, kind in PROTOCOLS.items() if kind.symmetric])
def test_nothing_is_said_to_differ_in_a_protocol_that_is_symmetric(protocol: str) -> None:
    """Each entry is compared: outcome for outcome, under all renamings."""
    for sends in ("unicast", "multicast") if PROTOCOLS[protocol].admits_multicast else (None,):
        both = question(protocol, *bound(protocol, 3, 2), sends=sends)
        for reduced in (False, True):
            with patch.object(symmetry, "FIRST_ENTRIES", 1 << 20):
                search = both.search(symmetry=reduced)
                search.explore()
            assert search.asymmetry is None
            assert search.symmetry.compared == search.symmetry.entries


@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize(("receiver", "sender"), list(permutations(range(4), 2)))
def test_any_pair_of_processes_that_differs_is_seen(receiver: int, sender: int, reduced: bool) -> None:
    """Entries that are given by renaming others are compared too."""

    def deliverable(self: Any, i: int, state: Any, packet: Any) -> bool:
        fresh = state == self.initial(i)
        return (i, packet.source, fresh) == (receiver, sender, True) or Rst.deliverable(self, i, state, packet)

    for n in range(max(receiver, sender, 2) + 1, 5):
        both = question(variant(Rst, deliverable=deliverable), n, 2)
        search = both.search(symmetry=reduced)
        found = search.explore()
        assert search.asymmetry is not None
        assert reported(found) == reported(both.plain())


def test_the_scope_says_how_processes_differ() -> None:
    because = "P3 accepts a packet that P1 refuses"
    for reductions in ((), ("symmetry",)):
        result = run_check(Check(LastAcceptsAll, 3, 3), engine="native", workers=1, reductions=reductions)
        assert result.verdict == "violated"
        assert result.scope.endswith(f"declared symmetric, but {because}, so symmetry is not used")
        assert result.json()["symmetry"] == {
            "declared": True, "found": False, "because": because, "entries": None, "compared": None
        }  # fmt: skip
        assert result.json()["reductions"] == []


def test_what_was_seen_to_differ_is_saved(tmp_path: Path) -> None:
    for machine, states, seen in ((LastAcceptsAll, 3_000, True), (ThirdMessageOfTheSecond, 100, False)):
        both, directory = question(machine, 3, 4), tmp_path / str(states)
        with checkpoint_in(directory, {}, resume=False) as saving:
            early = both.search()
            early.explore(Limits(states=states), checkpoint=saving)
            assert (early.asymmetry is not None) == seen
        with checkpoint_in(directory, {}, resume=True) as saving:
            search = both.search()
            assert reported(search.explore(checkpoint=saving)) == reported(both.plain())
            assert search.asymmetry is not None


@pytest.mark.parametrize(
    ("fact", "name", "predicate"),
    [
        ("invariants", "little-is-delivered", lambda machine, i, state: i != 1 or sum(state.deliv) < 2),
        ("invariants", "second-has-nothing-of-the-last", lambda machine, i, state: (i, state.deliv[-1]) != (1, 1)),
        ("witnesses", "second-has-one-of-the-last", lambda machine, i, state: (i, state.deliv[-1]) == (1, 1)),
        ("invariants", "nothing-of-the-first", lambda machine, i, state: state.deliv[0] == 0),
        ("witnesses", "of-a-greater-one", lambda machine, i, s: any(s.deliv[k] for k in range(i, machine.n))),
    ],
)
def test_a_predicate_that_names_processes_is_seen_to_differ(fact: str, name: str, predicate: Any) -> None:
    overrides: dict[str, Any] = {fact: {name: predicate}}
    both = question(variant(Rst, **overrides), 3, 3)
    search = both.search()
    assert reported(search.explore()) == reported(both.plain())
    assert f"`{name}`" in str(search.asymmetry)


# -- samples of large tables -------------------------------------------------------------------------------------------


def test_of_large_tables_a_sample_is_compared_also_where_a_search_goes_on(tmp_path: Path) -> None:
    both = question("optimal", 3, 4)
    whole = both.search()
    expected = reported(whole.explore())
    entries, first = whole.symmetry.entries, symmetry.FIRST_ENTRIES // 2  # each is renamed once
    assert whole.symmetry.compared == first + entries // symmetry.EVERY - first // symmetry.EVERY < entries
    with checkpoint_in(tmp_path / "saved", {}, resume=False) as saving:
        both.search().explore(Limits(states=3_000), checkpoint=saving)
    with checkpoint_in(tmp_path / "saved", {}, resume=True) as saving:
        search = both.search()
        assert reported(search.explore(checkpoint=saving)) == expected
    assert search.symmetry == whole.symmetry
