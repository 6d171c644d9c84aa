"""Parts of the native engine one by one: packed rows, tables, and the ranks that show a space to be graded."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_order import bound
from native_engine_setup import Question, question

from crownless.impl.registry import PROTOCOLS
from crownless.model_check.native import kernels
from crownless.model_check.native.columns import Map
from crownless.model_check.native.ranks import Ranks
from crownless.model_check.native.row_set import Incoming, RowSet, hashes_of
from crownless.model_check.search.engines import NATIVE_CHANNELS
from crownless.model_check.search.reachable import reachable

quickly = settings(max_examples=60, deadline=None, derandomize=True, database=None)


# -- rows --------------------------------------------------------------------------------------------------------------


def test_rows_with_one_hash_are_told_apart() -> None:
    rows = np.array(((0, 1, 2), (1, 1, 2), (0, 2, 1), (0, 1, 2)), np.int32)
    row_set, tallies = RowSet(2), np.zeros(2, np.int64)
    row_set.insert(Incoming(rows, np.full(4, 7 << 40, np.uint64), np.zeros(0, np.uint32)), 0, tallies)
    assert (row_set.used, tallies.tolist()) == (3, [2, 0]), "nodes, and states"


def test_an_owner_gets_its_share_of_rows_whose_place_in_its_table_is_anywhere() -> None:
    rows = np.arange(40_000, dtype=np.int32).reshape(-1, 4)
    hashes = hashes_of(rows)
    owners = kernels.owner_of(hashes, 3)
    assert owners.max() == 2
    for owner in range(3):
        share = hashes[owners == owner] >> np.uint64(60)
        assert 3000 < len(share) < 3700
        assert len(set(share.tolist())) == 16


# -- tables ------------------------------------------------------------------------------------------------------------


#: Keys of which many are near each other, as they are in a search.
KEYS = st.builds(
    lambda major, minor: major << 32 | minor, st.integers(0, 40) | st.integers(0, 2**30), st.integers(0, 60)
)


@given(st.lists(st.lists(st.tuples(KEYS, st.integers(0, 2**62)), max_size=300), max_size=6))
@quickly
def test_a_map_is_a_dictionary(batches: list[list[tuple[int, int]]]) -> None:
    made, expected = Map(), dict[int, int]()
    for batch in batches:
        entries = dict(batch)
        expected |= entries
        made.enter(np.array(list(entries), np.uint64), np.array(list(entries.values()), np.int64))
        assert len(made) == len(expected)
    keys = [*expected, *(key + 1 for key in expected), 0, 7 << 32]
    assert made.values(np.array(keys, np.uint64)).tolist() == [expected.get(key, -1) for key in keys]


# -- ranks -------------------------------------------------------------------------------------------------------------


def ranks(*steps: tuple[int, int, str, str]) -> bool:
    """Is there a rank? Each step: cell before, cell after, kinds of packets taken in and sent out, a letter each."""
    made = Ranks()
    made.start(0)
    for before, after, consumed, emitted in steps:
        made.step(before, after, tuple(consumed), tuple(emitted))
    return made.graded


def test_a_space_is_graded_if_all_ways_to_a_cell_are_of_one_length() -> None:
    assert ranks((0, 1, "", ""), (0, 2, "", ""), (1, 3, "", ""), (2, 3, "", ""))
    assert not ranks((0, 1, "", ""), (0, 2, "", ""), (1, 2, "", ""))
    assert not ranks((0, 0, "", ""))
    assert not ranks((0, 1, "", ""), (1, 0, "", ""))


def test_packets_carry_what_their_kind_is_worth() -> None:
    # To send an a is one step and to take it in another, after which all is as before.
    assert not ranks((0, 0, "", "a"), (0, 0, "a", ""))
    assert ranks((0, 1, "", "a"), (1, 2, "a", ""), (0, 3, "", "b"), (3, 2, "b", ""))
    assert ranks((0, 1, "a", ""), (0, 2, "", ""), (2, 1, "", ""))
    assert not ranks((0, 1, "a", ""), (0, 2, "", ""), (2, 1, "", ""), (1, 3, "a", ""), (1, 3, "", ""))
    # Two unknowns, and the third equation contradicts the first two.
    both = ((0, 1, "ab", ""), (0, 2, "", ""), (2, 1, "", ""), (0, 3, "a", ""), (2, 3, "b", ""))
    assert ranks(*both)
    assert ranks(*both, (1, 4, "a", ""), (1, 5, "b", ""), (5, 6, "", ""))
    assert not ranks(*both, (1, 4, "a", ""), (1, 5, "b", ""), (5, 4, "", ""), (4, 7, "b", ""), (5, 7, "aa", ""))


def test_a_row_set_that_cannot_grow_has_no_room_for_more_rows() -> None:
    """Another thread may put rows into it afterwards."""
    row_set = RowSet(1)
    room, row_set.is_new = len(row_set.rows), Mock(resize=Mock(side_effect=MemoryError))
    with pytest.raises(MemoryError):
        row_set.make_room(room + 1)
    assert len(row_set.rows) == room


def test_the_channel_says_its_part() -> None:
    made = Ranks()
    made.start(0)
    made.by_channel(("a",), ())  # a is lost: it is worth minus one
    made.step(0, 1, ("a",), ())
    made.step(0, 2, (), ())
    assert made.graded
    made.step(2, 1, (), ())
    assert not made.graded
    twice = Ranks()
    twice.start(0)
    twice.by_channel(("a",), ("a", "a"))
    twice.step(0, 1, ("a",), ())
    assert twice.graded
    twice.step(0, 1, (), ())
    assert not twice.graded


@pytest.mark.parametrize("channel", NATIVE_CHANNELS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_space_is_said_to_be_graded_or_without_cycles_only_if_it_is(protocol: str, channel: str) -> None:
    both = question(protocol, *bound(protocol, 2, 2, channel), channel)
    plain, made = both.plain(), both.search()
    found = made.explore()
    assert plain.graded or not made.tables.graded
    assert found.acyclic or not made.tables.graded
    assert made.tables.graded or protocol not in ("rst", "ses", "unordered", "fifo-sequence") or channel != "unordered"
    if found.acyclic:
        assert networkx.is_directed_acyclic_graph(graph_of(both))


def graph_of(both: Question) -> networkx.DiGraph[Any]:
    """The states, and which leads to which."""
    graph: networkx.DiGraph[Any] = networkx.DiGraph()
    for now in reachable(both.system()):
        graph.add_node(now.state)
        graph.add_edges_from((now.state, target) for _, target in now.moves)
    return graph
