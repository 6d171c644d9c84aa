"""The parts of the native engine one by one: rows, tables, monitor states, ranks, rooms that grow, and checkpoints."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_order import bound
from native_engine_setup import Question, question, reported, same_verdicts, small_rounds

from crownless.impl.channels import CHANNELS
from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.registry import PROTOCOLS
from crownless.impl.renaming import Renaming
from crownless.impl.rst import Rst
from crownless.impl.workloads import Free
from crownless.model_check.exploration import Exploration
from crownless.model_check.limits import Limits
from crownless.model_check.monitors import Monitor, monitors_for
from crownless.model_check.native import kernels, levels_in_memory, row_set_kernels
from crownless.model_check.native.checkpoints import CHECKPOINT, Checkpoint
from crownless.model_check.native.columns import Column, Map
from crownless.model_check.native.layout import WORD, layout
from crownless.model_check.native.levels_in_memory import LevelsInMemory
from crownless.model_check.native.monitor_states import (
    MonitorStates,
    PlainMonitorStates,
    Unforeseen,
    monitor_states_for,
)
from crownless.model_check.native.ranks import Ranks
from crownless.model_check.native.saved_directories import MANIFEST
from crownless.model_check.native.search import NativeSearch
from crownless.model_check.native.workers import Worker
from crownless.model_check.reachable import reachable
from crownless.model_check.request import load_program
from crownless.model_check.stopping import INTERRUPTED
from crownless.spec.computation import Message
from crownless.spec.enumeration import Sends
from crownless.spec.errors import BadInput

HERE = Path(__file__).parent

quickly = settings(max_examples=60, deadline=None, derandomize=True, database=None)

# -- rows --------------------------------------------------------------------------------------------------------------

#: How many processes, slots, monitor states, cells and packets.
SIZES = st.tuples(
    st.integers(1, 16), st.integers(0, 70), st.integers(1, 1 << 33), st.integers(1, 1 << 31), st.integers(1, 1 << 28)
)


@given(SIZES)
@quickly
def test_no_field_of_a_row_straddles_two_words_or_overlaps_another(sizes: tuple[int, ...]) -> None:
    n, slots, monitor_states, cells, packets = sizes
    made = layout(n, slots, monitor_states=monitor_states, cells=cells, packets=packets)
    assert len(made.word) == len(made.shift) == len(made.mask) == 1 + n + slots
    taken = [0] * made.words
    for word, shift, mask in zip(made.word.tolist(), made.shift.tolist(), made.mask.tolist(), strict=True):
        bits = mask << shift
        assert bits < 1 << WORD
        assert not taken[word] & bits
        taken[word] |= bits
    assert all(taken) or not any(made.mask.tolist())
    assert made.mask[0] >= monitor_states - 1
    assert all(mask >= cells - 1 for mask in made.mask[1 : 1 + n].tolist())
    # A slot is ((packet · 16 + destination) · 2 + mark) + 1.
    greatest = (((packets - 1) * 16 + 15) * 2 + 1) + 1
    assert all(mask >= greatest for mask in made.mask[1 + n :].tolist())
    monitor_state_bits = made.monitor_state_bits.tolist()
    assert monitor_state_bits[made.word[0]] == int(made.mask[0]) << int(made.shift[0])
    assert sum(map(bool, monitor_state_bits)) == bool(made.mask[0])


@given(SIZES, st.tuples(st.integers(0, 9), *[st.integers(1, 1000)] * 3), st.integers(0, 2**32))
@quickly
def test_what_is_packed_is_unpacked_and_what_is_laid_out_anew_is_the_same(
    sizes: tuple[int, ...], more: tuple[int, ...], seed: int
) -> None:
    n, slots, monitor_states, cells, packets = sizes
    before = layout(n, slots, monitor_states=monitor_states, cells=cells, packets=packets)
    after = layout(
        n, slots + more[0], monitor_states=monitor_states * more[1], cells=cells * more[2], packets=packets * more[3]
    )
    chance = random.Random(seed)
    count = 5
    rows, repacked = np.zeros((count, before.words), np.uint64), np.zeros((count, after.words), np.uint64)
    rows[:] = 2**64 - 1  # whatever was there
    numbers = np.array([[chance.randint(0, mask) for mask in before.mask.tolist()] for _ in range(count)], np.int64)
    read = np.zeros(len(before.word), np.int64)
    for k in range(count):
        kernels.pack(numbers[k], before, rows[k])
        kernels.unpack(rows[k], before, read)
        assert read.tolist() == numbers[k].tolist()
    row_set_kernels.repack(rows, count, before, after, repacked, np.zeros(len(after.word), np.int64))
    longer = np.zeros(len(after.word), np.int64)
    for k in range(count):
        kernels.unpack(repacked[k], after, longer)
        assert longer.tolist() == numbers[k].tolist() + [0] * more[0]


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
    for key in keys:
        assert kernels.look_up(made.table, key >> 32, key & 0xFFFFFFFF) == expected.get(key, -1)


def test_a_map_grows() -> None:
    made, expected = Map(), dict[int, int]()
    size = len(made.table)
    chance = random.Random(1)
    while len(expected) < 5 * size:
        entries = {chance.randrange(2**61): chance.randrange(2**62) for _ in range(1000)}
        expected |= entries
        made.enter(np.array(list(entries), np.uint64), np.array(list(entries.values()), np.int64))
        assert 2 * len(made) <= len(made.table)
    assert len(made) == len(expected)
    assert len(made.table) > 8 * size
    for key, value in expected.items():
        assert kernels.look_up(made.table, key >> 32, key & 0xFFFFFFFF) == value


def test_columns_grow() -> None:
    column, rows = Column(), Column(3)
    for k in range(5000):
        column.append(k * k)
        rows.extend([[k, -k, 1]])
        assert len(column) == len(rows) == k + 1
        if k % 700 == 0:
            assert (column[k], rows[k, 1]) == (k * k, -k)
    column[4999] = 7
    rows[0, 2] = 9
    assert (len(column), column[3], column[4999]) == (5000, 9, 7)
    assert (len(rows), rows[4998, 1], rows[0, 2], rows[1, 2]) == (5000, -4998, 9, 1)
    assert column.array[:5000].tolist() == [k * k for k in range(4999)] + [7]
    assert rows.array[:5000, 0].tolist() == list(range(5000))


# -- monitor states
# ------------------------------------------------------------------------------------------------------------

NAMES = ("delivers-once", "fifo", "causal", "synchronous")
BIT = {name: 1 << k for k, name in enumerate(NAMES)}


class Both:
    """Two ways to hold the monitor states of the same monitors, driven side by side."""

    def __init__(self, workload: Free, monitors: Callable[[], Sequence[Monitor]]) -> None:
        self.parts: tuple[MonitorStates, MonitorStates] = (
            PlainMonitorStates(monitors(), BIT),
            monitor_states_for(monitors(), workload, BIT),
        )
        assert not isinstance(self.parts[1], PlainMonitorStates)
        n = len(workload.processes)
        self.renamings = [Renaming(image) for image in permutations(range(n))]
        #: Which monitor state of the one is which of the other.
        self.same: tuple[dict[int, int], dict[int, int]] = ({0: 0}, {0: 0})
        self.check((0, 0))

    def check(self, pair: tuple[int, int]) -> tuple[int, int]:
        """The two are the same, and the same as ever; and report the same of what is owed."""
        assert self.same[0].setdefault(pair[0], pair[1]) == pair[1]
        assert self.same[1].setdefault(pair[1], pair[0]) == pair[0]
        plain, mask = (int(part.owed()[monitor_state]) for part, monitor_state in zip(self.parts, pair, strict=True))
        assert plain == mask
        return pair

    def observe(self, pair: tuple[int, int], observed: Sequence[tuple[str, int, Message]]) -> tuple[int, int]:
        values = []
        for part, monitor_state in zip(self.parts, pair, strict=True):
            code = part.code(observed)
            if not code:  # nothing to observe
                values.append(monitor_state << 16)
                continue
            if kernels.look_up(part.steps.table, monitor_state, code) < 0:
                part.fill(np.array([monitor_state << 32 | code], np.uint64))
            values.append(int(kernels.look_up(part.steps.table, monitor_state, code)))
        assert values[0] & 0xFFFF == values[1] & 0xFFFF
        return self.check((values[0] >> 16, values[1] >> 16))

    def rename(self, pair: tuple[int, int], by: int) -> tuple[int, int]:
        after = []
        for part, monitor_state in zip(self.parts, pair, strict=True):
            part.rename(np.array([monitor_state << 32 | by], np.uint64), self.renamings)
            after.append(int(kernels.look_up(part.renamed.table, monitor_state, by)))
        return self.check((after[0], after[1]))


def happenings(
    chance: random.Random, workload: Free, length: int, *, wild: bool, early: bool = False
) -> Iterator[list[tuple[str, int, Message]]]:
    """What may happen in the free workload, step by step; `wild`: and what only faulty protocols let happen; `early`:
    and deliveries before the send.
    """
    position = workload.start()
    handed: list[Message] = []
    owed: list[tuple[Message, int]] = []
    for _ in range(length):
        pending_sends = workload.pending_sends(position)
        if pending_sends and (not owed or chance.random() < 0.55):
            _, message, position = chance.choice(pending_sends)
            hand, send = ("hand", message.sender, message), ("send", message.sender, message)
            if wild and chance.random() < 0.3:
                handed.append(message)
                yield [hand]
            else:
                yield [hand, send]
            owed += [(message, q) for q in message.receivers]
        elif handed and chance.random() < 0.5:
            message = handed.pop(chance.randrange(len(handed)))
            yield [("send", message.sender, message)]
        elif owed:
            copies = [owed.pop(chance.randrange(len(owed)))]
            more = [copy for copy in owed if copy[1] == copies[0][1]]
            if more and chance.random() < 0.2:  # several in one step
                copies += more
                owed = [copy for copy in owed if copy not in more]
            if not early:
                unsent = [copy for copy in copies if copy[0] in handed]
                owed += unsent
                copies = [copy for copy in copies if copy not in unsent]
            if copies:
                yield [("deliver", q, message) for message, q in copies]


@pytest.mark.parametrize(
    ("orders", "first"),
    [
        ((), True),
        ((), False),
        (("fifo", "causal"), True),
        (("fifo", "causal", "synchronous"), True),
        (("synchronous",), False),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("n", "m", "sends", "self_sends"),
    [
        (1, 3, "unicast", True),
        (2, 2, "unicast", False),
        (2, 9, "unicast", True),
        (3, 4, "unicast", False),
        (3, 3, "multicast", False),
        (3, 2, "multicast", True),
        (4, 3, "broadcast", False),
        (4, 8, "unicast", False),  # 96 copies: two words
        (4, 4, "multicast", True),  # 512 copies, 240 messages
    ],
    ids=str,
)
def test_monitor_states_on_bit_masks_are_those_of_the_monitors(
    n: int, m: int, sends: Sends, self_sends: bool, orders: tuple[str, ...], first: bool
) -> None:
    workload = Free(n, m, self_sends=self_sends, sends=sends)
    both = Both(workload, lambda: monitors_for(n, orders, sends_before_delivery=first))
    for wild in (False, True):
        chance = random.Random(f"{n} {m} {sends} {self_sends} {orders} {wild}")
        for _ in range(8 if n == 4 else 25):
            monitor_states = [(0, 0)]
            for step in happenings(chance, workload, 4 * m, wild=wild, early=wild and not first):
                monitor_states.append(both.observe(monitor_states[-1], step))
                assert both.observe(monitor_states[-2], step) == monitor_states[-1]
            for _ in range(6 if n > 1 else 0):
                monitor_state, by = chance.choice(monitor_states), chance.randrange(1, len(both.renamings))
                image = both.rename(monitor_state, by)
                inverse = both.renamings.index(Renaming(both.renamings[by].inverse))
                assert both.rename(image, inverse) == monitor_state
    assert len(both.same[0]) == len(both.same[1]) > 2 * m


@pytest.mark.parametrize(
    ("lines", "foreseen"),
    [
        (("hand 0", "send 0", "deliver 1"), (True, False)),
        (("hand 0", "deliver 1", "send 0"), (False,)),
        (("deliver 1",), ()),
        (("hand 0", "send 0", "deliver 1", "deliver 1"), ()),
        (("hand 0", "send 0", "deliver 0"), ()),
        (("hand 0", "send 0", "send 0"), ()),
    ],
)
def test_what_faulty_protocols_alone_let_happen_is_left_to_the_plain_monitors(
    lines: tuple[str, ...], foreseen: tuple[bool, ...]
) -> None:
    workload = Free(2, 1)
    (_, message, _), *_ = workload.pending_sends(workload.start())
    events = [(kind, int(process), message) for kind, process in map(str.split, lines)]
    for first in (True, False):
        orders = ("causal",) if first else ()
        monitor_states = monitor_states_for(monitors_for(2, orders, sends_before_delivery=first), workload, BIT)
        with nullcontext() if first in foreseen else pytest.raises(Unforeseen):
            monitor_states.fill(np.array([monitor_states.code(events)], np.uint64))


@pytest.mark.parametrize("server", [0, 1])
def test_monitor_states_on_bit_masks_judge_where_the_monitor_does(server: int) -> None:
    workload = Free(3, 4)
    at = frozenset({server})
    both = Both(workload, lambda: monitors_for(3, ("fifo", "causal"), sends_before_delivery=True, at=at))
    chance = random.Random(server)
    for _ in range(60):
        monitor_state = (0, 0)
        for step in happenings(chance, workload, 12, wild=False):
            monitor_state = both.observe(monitor_state, step)
    assert len(both.same[0]) > 100


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


def test_the_channel_and_cells_of_other_names_say_their_part() -> None:
    made = Ranks()
    made.start(0)
    made.by_channel(("a",), ())  # a is lost: it is worth minus one
    made.step(0, 1, ("a",), ())
    made.step(0, 2, (), ())
    made.same([2, 3])
    assert made.graded
    made.step(3, 1, (), ())
    assert not made.graded
    twice = Ranks()
    twice.start(0)
    twice.by_channel(("a",), ("a", "a"))
    twice.step(0, 1, ("a",), ())
    twice.step(0, 2, (), (), adds=False)
    assert twice.graded
    twice.step(2, 1, (), ())
    assert not twice.graded


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_space_is_said_to_be_graded_or_without_circles_only_if_it_is(protocol: str, channel: str) -> None:
    both = question(protocol, *bound(protocol, 2, 2, channel), channel)
    plain, made = both.plain(), both.search()
    found = made.explore()
    assert plain.graded or not made.tables.graded
    assert found.acyclic or not made.tables.graded
    if found.acyclic:
        assert networkx.is_directed_acyclic_graph(graph_of(both))
    if both.admits("order"):
        assert not both.native(reductions=("order",)).acyclic or found.acyclic


def graph_of(both: Question) -> networkx.DiGraph[Any]:
    """The states, and which leads to which."""
    graph: networkx.DiGraph[Any] = networkx.DiGraph()
    for now in reachable(both.system()):
        graph.add_node(now.state)
        graph.add_edges_from((now.state, target) for _, target in now.moves)
    return graph


def test_most_spaces_are_found_to_be_graded() -> None:
    graded = {name for name in PROTOCOLS if _is_graded(question(name, 2, 2, "unordered"))}
    assert len(graded) > len(PROTOCOLS) // 2
    assert {"rst", "ses", "unordered", "fifo-sequence"} <= graded


def _is_graded(both: Question) -> bool:
    made = both.search()
    made.explore()
    return bool(made.tables.graded)


# -- rooms that grow ---------------------------------------------------------------------------------------------------

#: Graded and not, over all channels, with buffers and without, with monitor states of all kinds, a program.
SAMPLE: tuple[tuple[str, int, int, dict[str, Any]], ...] = (
    ("rst", 3, 2, {}),
    ("rst", 3, 2, {"channel": "fifo"}),
    ("unordered", 2, 3, {"channel": "lossy"}),
    ("fifo-ack", 2, 2, {"channel": "duplicating"}),
    ("rendezvous", 3, 2, {}),
    ("murty-garg", 3, 2, {}),
    ("buffer", 2, 2, {"channel": "fifo"}),
    ("isis", 3, 2, {"sends": "multicast"}),
    ("unordered", 3, 2, {"orders": ("n-n", "synchronous")}),
)


@pytest.mark.parametrize(("protocol", "n", "m", "facts"), SAMPLE, ids=str)
def test_rounds_and_shares_of_a_few_rows_change_nothing(protocol: str, n: int, m: int, facts: dict[str, Any]) -> None:
    both = question(protocol, n, m, **facts)
    plain, full = both.plain(), {}
    for reductions in ((), ("symmetry",), ("order",), ("symmetry", "order")):
        if both.admits(*reductions):
            full[reductions] = reported(both.native(reductions=reductions))
    assert full[()] == reported(plain)
    for block, share, workers in ((1, 1, 1), (4, 8, 2), (3, 2, 3), (1000, 1, 2)):
        for reductions, expected in full.items():
            with small_rounds(block, share):
                assert reported(both.native(workers, reductions)) == expected, (block, share, workers, reductions)


class Widened(LevelsInMemory):
    """Counts how often rows are laid out anew."""

    times = 0

    def _widen(self) -> None:
        self.times += 1
        super()._widen()


class Narrow(NativeSearch):
    """Its rows have room for what there is, and no more."""

    levels: Widened

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options, levels=Widened)

    def layout(self, slots: int) -> kernels.Layout:
        monitor_states, cells, packets = len(self.monitor_states), len(self.tables.cells), len(self.tables.packets)
        return layout(self.n, slots, monitor_states=monitor_states, cells=cells, packets=max(1, packets))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("protocol", "n", "m", "facts"), SAMPLE, ids=str)
def test_rows_that_must_be_widened_often_change_nothing(
    protocol: str, n: int, m: int, facts: dict[str, Any], workers: int
) -> None:
    both = question(protocol, n, m, **facts)
    for reductions in ((), ("symmetry",), ("symmetry", "order")):
        if both.admits(*reductions):
            expected = both.native(workers, reductions)
            with patch("native_engine_setup.NativeSearch", Narrow), patch.object(levels_in_memory, "BLOCK", 7):
                made = both.search(workers, reductions)
                assert isinstance(made, Narrow)
                assert reported(made.explore()) == reported(expected)
                assert made.levels.times > 2


class Cramped(Worker):
    """Has room for one row that a process makes of another."""

    made: list[Cramped] = []

    def __init__(self, owners: int, *, sleeps: bool) -> None:
        super().__init__(owners, sleeps=sleeps)
        self.reached = 1
        self.made.append(self)


@pytest.mark.parametrize("channel", ["unordered", "fifo"])
@pytest.mark.parametrize("protocol", ["unordered", "buffer", "isis"])
def test_little_room_for_what_one_process_makes_of_a_row_changes_nothing(protocol: str, channel: str) -> None:
    both = question(protocol, 3, 2, channel)
    for reductions in (("order",), ("symmetry", "order")):
        expected = both.native(reductions=reductions)
        Cramped.made.clear()
        with patch.object(levels_in_memory, "Worker", Cramped):
            assert reported(both.native(2, reductions)) == reported(expected)
        assert max(worker.reached for worker in Cramped.made) > 1


class Counts(LevelsInMemory):
    """Counts the successors that it makes, and the rounds in which Python had something to work out meanwhile."""

    made = overlapping = 0

    def _take_stock(self) -> Any:
        self.made += sum(int(worker.filled.sum()) for worker in self.worker_buffers)
        return super()._take_stock()

    def _round(self, todo: list[Any], misses: Any) -> tuple[list[Any], Any]:
        self.overlapping += len(misses) > 0
        return super()._round(todo, misses)


@pytest.mark.parametrize("protocol", ["rst", "buffer", "rendezvous", "murty-garg", "unordered"])
def test_moves_that_sleep_are_counted_and_not_made(protocol: str) -> None:
    both = question(protocol, 3, 3)
    expected = reported(both.plain())
    made = []
    for sleeps in (True, False):
        with patch("native_engine_setup.NativeSearch", COUNTING), patch.object(NativeSearch, "commutes", sleeps):
            searched = both.search()
            assert isinstance(searched.levels, Counts)
            assert reported(searched.explore()) == expected
            made.append(searched.levels.made)
    assert made[0] < 0.9 * made[1]


#: A search whose levels count.
COUNTING = partial(NativeSearch, levels=Counts)


class PutsAllToSleep(Counts):
    """Takes what sleeps in any way that a row is reached for what sleeps in all."""

    def _take_in(self, w: int) -> None:
        super()._take_in(w)
        self.next[w].asleep[:] |= 0b111


def test_what_sleeps_matters() -> None:
    both = question("rst", 3, 3)
    with patch("native_engine_setup.NativeSearch", partial(NativeSearch, levels=PutsAllToSleep)):
        assert reported(both.native()) != reported(both.plain())


def test_python_works_out_what_is_missing_while_the_workers_go_on() -> None:
    both = question("rst", 3, 4)
    with patch("native_engine_setup.NativeSearch", COUNTING), small_rounds(64, 1 << 10):
        searched = both.search(2)
        assert isinstance(searched.levels, Counts)
        assert reported(searched.explore()) == reported(both.plain())
        assert searched.levels.overlapping > 10


# -- checkpoints -------------------------------------------------------------------------------------------------------

#: What is saved: graded and not, with blocked programs, over every channel, with every reduction.
SAVED: tuple[tuple[str, int | None, int | None, dict[str, Any], tuple[str, ...]], ...] = (
    ("rst", 3, 3, {}, ()),
    ("rst", 3, 3, {"channel": "fifo"}, ()),
    ("rendezvous", 3, 2, {}, ()),
    ("murty-garg", 2, 2, {"channel": "duplicating"}, ()),
    ("buffer", 3, 2, {"channel": "fifo"}, ("symmetry",)),
    ("isis", 3, 3, {}, ("order",)),
    ("unordered", 3, 3, {"orders": ("n-n", "synchronous"), "channel": "lossy"}, ("symmetry",)),
    ("unordered", 3, 4, {"channel": "fifo"}, ("symmetry", "order")),
    ("murty-garg", None, None, {"program": load_program("mf-fig8")}, ()),
)


def saved(directory: Path, *, resume: bool, ask: str = "this") -> Checkpoint:
    return Checkpoint(directory, {"ask": ask}, resume=resume)


@pytest.mark.parametrize(
    ("protocol", "n", "m", "facts", "reductions"), SAVED, ids=lambda value: str(value)[:40] if value else "none"
)
def test_a_search_that_is_stopped_and_goes_on_finds_the_same(
    tmp_path: Path, protocol: str, n: int | None, m: int | None, facts: dict[str, Any], reductions: tuple[str, ...]
) -> None:
    both = question(protocol, n, m, **facts)
    expected = both.native(reductions=reductions)
    quarter = expected.states // 4
    for k, stops in enumerate(((1,), (quarter,), (1, 2 * quarter), (quarter, 2 * quarter, 3 * quarter))):
        directory = tmp_path / str(k)
        for hop, states in enumerate(stops):
            checkpoint = saved(directory, resume=hop > 0)
            part = both.native(1 + hop % 2, reductions, limits=Limits(states=states), checkpoint=checkpoint)
            assert part.stopped == f"{states} states are reached"
        found = both.native(1 + len(stops) % 2, reductions, checkpoint=saved(directory, resume=True))
        assert reported(found) == reported(expected), stops
        assert found.levels == expected.levels


def test_what_is_saved_after_every_level_can_be_gone_on_from(tmp_path: Path) -> None:
    both = question("rst", 3, 3, "fifo")
    expected = both.native()
    with patch.object(levels_in_memory, "SAVE_EVERY", -1e9):
        assert reported(both.native(checkpoint=saved(tmp_path, resume=False))) == reported(expected)
        # That left the last level but one, and now each is saved once more.
        assert reported(both.native(2, checkpoint=saved(tmp_path, resume=True))) == reported(expected)
    assert len(list(tmp_path.glob("*.npy"))) == len(manifest_in(tmp_path)["files"])


def test_what_a_limit_of_time_stops_can_be_gone_on_from(tmp_path: Path) -> None:
    both = question("rst", 3, 3)
    found = both.native(limits=Limits(seconds=0), checkpoint=saved(tmp_path, resume=False))
    assert (found.stopped, found.states) == ("0 seconds are over", 1)
    again = both.native(limits=Limits(memory=1), checkpoint=saved(tmp_path, resume=True))
    assert again.stopped == "0 MiB of memory are used"
    assert reported(both.native(checkpoint=saved(tmp_path, resume=True))) == reported(both.native())


def manifest_in(directory: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((directory / MANIFEST).read_text("utf-8"))
    return manifest


@pytest.fixture
def stopped(tmp_path: Path) -> tuple[Question, Path]:
    """A search stopped half way, and where it is saved."""
    both = question("rst", 3, 3, "fifo")
    both.native(2, limits=Limits(states=500), checkpoint=saved(tmp_path / "saved", resume=False))
    return both, tmp_path / "saved"


def refused(directory: Path, *said: str, ask: str = "this") -> None:
    """A checkpoint there is refused, in one line that says this."""
    with pytest.raises(BadInput) as error:
        saved(directory, resume=True, ask=ask)
    line = str(error.value)
    assert "\n" not in line
    for part in (str(directory), *said):
        assert part in line


def test_a_damaged_file_is_refused_by_its_name(stopped: tuple[Question, Path]) -> None:
    both, directory = stopped
    files = sorted(directory.glob("*.npy"))
    assert len(files) >= 5
    for file in files:
        whole = file.read_bytes()
        for damaged in (
            whole[:-1],
            whole[: len(whole) // 2],
            b"",
            whole + b"\0",
            *(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in (0, 9, len(whole) // 2, len(whole) - 1)),
        ):
            file.write_bytes(damaged)
            refused(directory, file.name, "damaged or missing", "start anew")
        file.unlink()
        refused(directory, file.name, "damaged or missing", "start anew")
        file.write_bytes(whole)
    assert reported(both.native(checkpoint=saved(directory, resume=True))) == reported(both.plain())


def test_a_damaged_manifest_is_refused(stopped: tuple[Question, Path]) -> None:
    _, directory = stopped
    file = directory / MANIFEST
    whole = file.read_text("utf-8")
    facts = json.loads(whole)
    states, keep = facts["facts"]["result"]["states"], facts["facts"]["keep"]
    for damaged in (
        "",
        whole[:-2],
        whole[: len(whole) // 2],
        "[]",
        "null",
        "7",
        "{}",
        '"' * 9,
        "[" * 100_000,
        whole.replace(f'"states": {states}', f'"states": {states + 1}'),
        whole.replace('"level": ', '"level": 1'),
        whole.replace(f'"keep": {json.dumps(keep)}', f'"keep": {json.dumps(not keep)}'),
        json.dumps({**facts, "files": {}}),
        json.dumps({name: value for name, value in facts.items() if name != "facts"}),
    ):
        assert damaged != whole
        file.write_text(damaged, "utf-8")
        refused(directory, MANIFEST, "damaged", "start anew")
    file.write_bytes(b"\xff\xfe" + whole.encode())
    refused(directory, MANIFEST, "damaged")
    file.unlink()
    refused(directory, "no checkpoint there")
    refused(directory / "nowhere", "no checkpoint there")
    file.mkdir()
    refused(directory)


def test_every_byte_of_a_manifest_counts(stopped: tuple[Question, Path]) -> None:
    _, directory = stopped
    file = directory / MANIFEST
    whole = file.read_bytes()
    said = json.loads(whole)
    for at in range(0, len(whole), 11):
        damaged = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        file.write_bytes(damaged)
        try:
            if json.loads(damaged) == said:
                continue  # a space of another kind
        except ValueError:
            pass
        refused(directory)


def test_a_checkpoint_of_another_question_or_format_is_refused(stopped: tuple[Question, Path]) -> None:
    both, directory = stopped
    refused(directory, "is of another check: ask ", "this", "that", "request the same check as then", ask="that")
    with patch.object(Checkpoint, "kind", replace(CHECKPOINT, format="crownless checkpoint 0")):
        refused(directory, "written by another version", "crownless checkpoint 3")
    assert reported(both.native(checkpoint=saved(directory, resume=True))) == reported(both.plain())


class SaysMore(Rst):
    """As if its text had been changed: every message comes with a second packet."""

    rules = {}  # those of the protocol read a stamp that the second packet has not

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        more = Packet(i, message.receiver, "more")
        return [step._replace(packets=[*step.packets, more]) for step in super().send(i, state, message)]

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return packet.message is None or super().deliverable(i, state, packet)

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return [Step(state)] if packet.message is None else super().on_packet(i, state, packet)


class SaysNothing(Rst):
    """As if its text had been changed: nothing is sent at all, so that there is less to number."""

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return []


@pytest.mark.parametrize("kind", [SaysMore, SaysNothing, PROTOCOLS["unordered"], PROTOCOLS["buffer"]])
@pytest.mark.parametrize("reductions", [(), ("symmetry",)], ids=str)
def test_what_was_saved_of_a_protocol_that_has_changed_since_is_refused(
    tmp_path: Path, kind: type[ProtocolMachine], reductions: tuple[str, ...]
) -> None:
    both, other = question("rst", 3, 3, "fifo"), question(kind, 3, 3, "fifo")
    for k, (then, now) in enumerate(((both, other), (other, both))):
        directory = tmp_path / str(k)
        then.native(1, reductions, limits=Limits(states=20), checkpoint=saved(directory, resume=False))
        if directory.exists():  # where nothing is sent there is nothing to stop
            with pytest.raises(BadInput, match="the protocol's code is not what it was then") as error:
                now.native(1, reductions, checkpoint=saved(directory, resume=True))
            assert str(directory) in str(error.value)


def test_a_directory_that_is_taken_is_refused(stopped: tuple[Question, Path], tmp_path: Path) -> None:
    _, directory = stopped
    with pytest.raises(BadInput, match="holds a checkpoint already"):
        saved(directory, resume=False)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(BadInput, match="not a directory"):
        saved(file, resume=False)
    with pytest.raises(BadInput):
        saved(file, resume=True)


def test_what_an_interrupted_write_leaves_does_no_harm(stopped: tuple[Question, Path]) -> None:
    both, directory = stopped
    whole = (directory / MANIFEST).read_bytes()
    (directory / f"{MANIFEST}.partial").write_bytes(whole[:100])
    known = {path.name for path in directory.glob("*.npy")}
    for name in known:
        later = name.replace("-1-", "-2-")
        assert later != name
        (directory / later).write_bytes((directory / name).read_bytes()[:50])
    part = both.native(limits=Limits(states=900), checkpoint=saved(directory, resume=True))
    assert part.stopped
    files = {entry["file"] for entry in manifest_in(directory)["files"].values()}
    assert {path.name for path in directory.iterdir()} == {MANIFEST, *files}
    assert reported(both.native(2, checkpoint=saved(directory, resume=True))) == reported(both.plain())


# -- processes that end ------------------------------------------------------------------------------------------------

#: A search in a process of its own: where the tests are, the directory, and what becomes of it.
SEARCHES = """
import os, signal, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from native_engine_setup import question
from crownless.model_check.native import checkpoints, levels_in_memory
from crownless.model_check.native.checkpoints import Checkpoint

levels_in_memory.SAVE_EVERY = -1e9
directory, what, protocol = Path(sys.argv[2]), sys.argv[3], sys.argv[4]
made = question(protocol, 3, 3, "fifo").search(2)
synced = [0]

def sync(file, fsync=os.fsync):
    fsync(file)
    synced[0] += 1
    if what == f"killed in file {synced[0]}":
        os.kill(os.getpid(), signal.SIGKILL)

def progress(found, level):
    if level < 3 or what.startswith("killed in file"):
        return
    print("ready", flush=True)
    while not made.asked_to_end():
        time.sleep(0.01)

os.fsync = sync
found = made.explore(progress=progress, checkpoint=Checkpoint(directory, {"ask": "this"}, resume=False))
print(found.stopped, found.states)
"""


@contextmanager
def searching(directory: Path, what: str, protocol: str = "rst") -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", SEARCHES, str(HERE), str(directory), what, protocol]
    # Another seed than ours: nothing depends on the order of sets.
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize(
    "file", [9, pytest.param(17, marks=pytest.mark.slow), pytest.param(18, marks=pytest.mark.slow)]
)
def test_a_search_that_is_killed_while_it_saves_goes_on_from_what_it_saved_before(tmp_path: Path, file: int) -> None:
    with searching(tmp_path, f"killed in file {file}") as process:
        assert process.wait(120) == -signal.SIGKILL
    found = question("rst", 3, 3, "fifo").native(checkpoint=saved(tmp_path, resume=True))
    assert reported(found) == reported(question("rst", 3, 3, "fifo").plain())


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_any_search_that_is_killed_goes_on(tmp_path: Path, protocol: str) -> None:
    n, m = 3, 3
    if protocol.startswith("isis-gc"):
        pytest.skip("it has more states than a test should search")
    with searching(tmp_path, "killed", protocol) as process:
        assert line_of(process) == "ready"
        process.kill()
        process.wait(120)
    found = question(protocol, n, m, "fifo").native(checkpoint=saved(tmp_path, resume=True))
    assert reported(found) == reported(question(protocol, n, m, "fifo").native())


def test_a_search_that_is_interrupted_ends_by_itself_and_goes_on(tmp_path: Path) -> None:
    with searching(tmp_path, "interrupted") as process:
        assert line_of(process) == "ready"
        process.send_signal(signal.SIGINT)
        stop, states = line_of(process).split()
        assert process.wait(120) == 0
    assert stop == INTERRUPTED
    expected = question("rst", 3, 3, "fifo").plain()
    assert 1 < int(states) < expected.states
    found = question("rst", 3, 3, "fifo").native(checkpoint=saved(tmp_path, resume=True))
    assert reported(found) == reported(expected)


@contextmanager
def interrupting(at: int, times: int) -> Iterator[Callable[[Exploration, int], None]]:
    """Progress that interrupts the search at a level, so many times at once; what Ctrl-C does is as before then."""

    def progress(found: Exploration, level: int) -> None:
        if level == at:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    yield progress
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_ends_a_search_once_and_pressed_again_ends_it_at_once(tmp_path: Path) -> None:
    both = question("rst", 3, 3)
    with interrupting(4, 1) as progress:
        found = both.search().explore(progress=progress, checkpoint=saved(tmp_path / "once", resume=False))
    assert found.stopped == INTERRUPTED
    assert sum(found.levels[:4]) < found.states < 983
    assert reported(both.native(checkpoint=saved(tmp_path / "once", resume=True))) == reported(both.plain())
    with interrupting(4, 2) as progress, pytest.raises(KeyboardInterrupt):
        both.search().explore(progress=progress)
    assert same_verdicts(both.plain(), both.native(), lengths=True)
