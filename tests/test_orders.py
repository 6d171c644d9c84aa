"""The seven orders: two deciders that agree, inclusions that hold and are strict, counts, symmetries, and witnesses
that are genuine.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import combinations, pairwise, permutations, product
from math import comb
from types import FrameType
from typing import NamedTuple

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crownless import testing
from crownless.spec import orders
from crownless.spec.bibliography import BIBLIOGRAPHY
from crownless.spec.by_search import keeps
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.enumeration import Sends, computations
from crownless.spec.errors import BadInput
from crownless.spec.notation import of_computation, parse, to_computation
from crownless.spec.orders import (
    ORDERS,
    UnreceivedPolicy,
    Verdict,
    decide,
    kept_at,
    kept_orders,
    order_named,
    strongest,
    weaker,
)
from crownless.spec.witnesses import Crown, Cycle, Overtaking, Unreceived, say

CHAIN = ("asynchronous", "fifo", "causal", "mailbox", "one-n", "n-n", "synchronous")


class Bound(NamedTuple):
    """Every computation of n processes and m messages, of one kind, and how unreceived messages are read."""

    n: int
    m: int
    complete: bool = True
    self_sends: bool = False
    multicast: bool = False
    reading: UnreceivedPolicy = "lost"

    @property
    def unicasts(self) -> bool:
        return not self.multicast

    def computations(self) -> Iterator[Computation]:
        return computations(
            self.n,
            self.m,
            complete=self.complete,
            self_sends=self.self_sends,
            sends="multicast" if self.multicast else "unicast",
        )

    def __str__(self) -> str:
        flags = [] if self.complete else ["incomplete", self.reading]
        flags.extend(flag for flag in ("self_sends", "multicast") if getattr(self, flag))
        return "-".join([f"{self.n},{self.m}", *flags])


COMPLETE = [*(Bound(2, m) for m in range(5)), *(Bound(3, m) for m in range(1, 5)), *(Bound(4, m) for m in (2, 3))]
INCOMPLETE = [
    Bound(n, m, complete=False, reading=reading)
    for n, m in ((2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (3, 3))
    for reading in ("lost", "pending")
]
WITH_SELF_SENDS = [
    *(Bound(2, m, self_sends=True) for m in (1, 2, 3, 4)),
    Bound(2, 3, complete=False, self_sends=True, reading="lost"),
    Bound(2, 3, complete=False, self_sends=True, reading="pending"),
]
MULTICASTS = [
    Bound(3, 2, complete=False, self_sends=True, multicast=True, reading="lost"),
    Bound(3, 2, complete=False, self_sends=True, multicast=True, reading="pending"),
]
BOUNDS = [*COMPLETE, *INCOMPLETE, *WITH_SELF_SENDS, *MULTICASTS]


class Decided(NamedTuple):
    """A bound's computations, each with its seven verdicts."""

    bound: Bound
    rows: tuple[tuple[Computation, dict[str, Verdict]], ...]

    def kept(self) -> dict[Nameless, frozenset[str]]:
        """For each computation the orders it keeps."""
        return {
            nameless(c): frozenset(order for order, verdict in verdicts.items() if verdict.kept)
            for c, verdicts in self.rows
        }


def decide_all(bound: Bound) -> Decided:
    return Decided(
        bound, tuple((c, {order: decide(c, order, bound.reading) for order in CHAIN}) for c in bound.computations())
    )


@pytest.fixture(scope="module", params=BOUNDS, ids=str)
def decided(request: pytest.FixtureRequest) -> Decided:
    """Pytest runs all tests of one bound after another, so that each bound is decided once."""
    bound: Bound = request.param
    return decide_all(bound)


COMPLETE_UNICASTS = pytest.mark.parametrize(
    "decided", [bound for bound in BOUNDS if bound.complete and bound.unicasts], indirect=True, ids=str
)

#: Lines in which a send names its receivers and a receive the place of its send: the same for all names of messages.
Nameless = tuple[tuple[tuple[str, tuple[int, ...]], ...], ...]


def nameless(c: Computation) -> Nameless:
    place = [(c.process_of[send], send - c.first_event[c.process_of[send]]) for send in c.send_event]
    return tuple(
        tuple(
            (kind, c.messages[message].receivers if kind == "send" else place[message])
            for kind, message in line
            if message is not None
        )
        for line in c.lines
    )


def computation(text: str) -> Computation:
    return to_computation(parse(text))


def kept(c: Computation, reading: UnreceivedPolicy = "lost") -> set[str]:
    return {order for order in CHAIN if decide(c, order, reading).kept}


# -- on every small computation ----------------------------------------------------------------------------------------


def test_the_graph_procedure_agrees_with_the_search(decided: Decided) -> None:
    pending = decided.bound.reading == "pending"
    for c, verdicts in decided.rows:
        for order, verdict in verdicts.items():
            assert verdict.kept == keeps(c, order, pending=pending), (order, of_computation(c).print())


def test_a_computation_that_keeps_an_order_keeps_the_weaker_ones(decided: Decided) -> None:
    for names in set(decided.kept().values()):
        for order in names:
            assert weaker(order, unicasts=decided.bound.unicasts) <= names


def test_the_orders_kept_are_those_decided_one_by_one(decided: Decided) -> None:
    for c, verdicts in decided.rows:
        names = {order for order, verdict in verdicts.items() if verdict.kept}
        assert kept_orders(c, decided.bound.reading) == names


def test_orders_of_the_deliveries_at_some_processes_are_those_of_the_search(decided: Decided) -> None:
    for c, verdicts in decided.rows:
        for order in ("fifo", "causal"):
            at = [frozenset({q}) for q in range(decided.bound.n)]
            kept_there = [kept_at(c, order, places) for places in at]
            assert kept_there == [keeps(c, order, at=places) for places in at]
            assert all(kept_there) == verdicts[order].kept


def test_an_overtaking_at_one_process_is_none_of_another() -> None:
    c = computation("P1: send x to P2; send y to P2; send z to P3\nP2: receive y; receive x\nP3: receive z")
    for order in ("fifo", "causal"):
        assert [kept_at(c, order, frozenset({q})) for q in range(3)] == [True, False, True]


def test_a_verdict_has_a_witness_exactly_when_the_order_is_broken(decided: Decided) -> None:
    for c, verdicts in decided.rows:
        for order, verdict in verdicts.items():
            assert verdict.order == order
            assert verdict.kept == (verdict.witness is None)
            assert verdict.json(c)["verdict"] == ("kept" if verdict.kept else "broken")


def test_every_witness_is_genuine(decided: Decided) -> None:
    for c, verdicts in decided.rows:
        for verdict in verdicts.values():
            check_witness(c, verdict, decided.bound.reading)


def test_the_strongest_orders_kept_say_it_all(decided: Decided) -> None:
    for c, verdicts in decided.rows:
        names = {order for order, verdict in verdicts.items() if verdict.kept}
        unicasts = all(len(message.receivers) == 1 for message in c.messages)
        found = strongest(names, c)
        assert set(found) | {name for order in found for name in weaker(order, unicasts=unicasts)} == names
        if len(found) > 1:
            assert found == ["mailbox", "one-n"] or (found[1:] == ["one-n"] and not unicasts)


def test_the_orders_do_not_depend_on_which_process_is_which(decided: Decided) -> None:
    """A rotation and a swap of two generate all renamings."""
    table = decided.kept()
    n = decided.bound.n
    rotation, swap = [(p + 1) % n for p in range(n)], [1, 0, *range(2, n)]
    for lines, names in table.items():
        assert table[renamed(lines, rotation)] == table[renamed(lines, swap)] == names


def renamed(lines: Nameless, renaming: Sequence[int]) -> Nameless:
    new: dict[int, list[tuple[str, tuple[int, ...]]]] = {}
    for p, line in enumerate(lines):
        new[renaming[p]] = [
            (kind, tuple(sorted(renaming[q] for q in given)) if kind == "send" else (renaming[given[0]], given[1]))
            for kind, given in line
        ]
    return tuple(tuple(new[p]) for p in range(len(lines)))


# -- the chain ---------------------------------------------------------------------------------------------------------


def test_the_orders_are_listed_from_the_weakest_to_the_strongest() -> None:
    assert tuple(ORDERS) == CHAIN
    for k, order in enumerate(CHAIN):
        assert weaker(order) == set(CHAIN[:k])


def test_with_multicasts_one_n_implies_only_fifo() -> None:
    assert weaker("one-n", unicasts=False) == {"asynchronous", "fifo"}
    assert weaker("mailbox", unicasts=False) == {"asynchronous", "fifo", "causal"}
    assert weaker("n-n", unicasts=False) == {"asynchronous", "fifo", "causal", "mailbox", "one-n"}


def smallest(
    keeping: str, breaking: str, *, complete: bool = True, self_sends: bool = False, sends: Sends = "unicast"
) -> str:
    """The first computation, by messages and then by processes, that keeps the one order and breaks the other.

    Among unicasts m messages connect at most m + 1 processes, and what breaks an order is connected.
    """
    for m in range(1, 5):
        for n in range(1, m + 2):
            for c in computations(n, m, complete=complete, self_sends=self_sends, sends=sends):
                if ORDERS[breaking].procedure(c, pending=False) is None:
                    continue
                if ORDERS[keeping].procedure(c, pending=False) is None:
                    return of_computation(c).print()
    raise AssertionError("there is none of up to four messages")


def test_the_smallest_asynchronous_computation_that_is_not_fifo() -> None:
    assert smallest("asynchronous", "fifo").splitlines() == [
        "P1: send m1 to P2; send m2 to P2",
        "P2: receive m2; receive m1",
    ]


def test_the_smallest_fifo_computation_that_is_not_causal_is_a_triangle() -> None:
    """[MF] Fig. 4, with P2 and P3 exchanged."""
    assert smallest("fifo", "causal").splitlines() == [
        "P1: send m1 to P2; send m2 to P3",
        "P2: receive m3; receive m1",
        "P3: receive m2; send m3 to P2",
    ]


def test_the_smallest_causal_computation_that_is_not_mailbox_has_two_senders_and_two_receivers() -> None:
    """[DFLL23]'s example: each sender sends to both receivers, and each receiver takes another one's message first."""
    assert smallest("causal", "mailbox").splitlines() == [
        "P1: send m1 to P2; send m2 to P3",
        "P2: receive m4; receive m1",
        "P3: receive m2; receive m3",
        "P4: send m3 to P3; send m4 to P2",
    ]


def test_three_processes_need_more_than_five_messages_to_be_causal_and_not_mailbox() -> None:
    """Six are enough: [MF] Fig. 8, whose nested crowns the buffer protocol cannot generate."""
    for c in computations(3, 5):
        if not len(c.lines[0]) >= len(c.lines[1]) >= len(c.lines[2]):
            continue  # the same with its processes renamed is not passed over
        witness = decide(c, "mailbox").witness
        assert witness is None or isinstance(witness, Overtaking), "an overtaking breaks causal order"
    fig8 = computation(
        """\
        P1: send e to P2; send d to P3; receive b; receive a
        P2: send c to P3; send b to P1; receive f; receive e
        P3: send a to P1; send f to P2; receive d; receive c"""
    )
    assert kept(fig8) == {"asynchronous", "fifo", "causal"}


def test_two_processes_that_send_to_themselves_can_be_causal_and_not_mailbox() -> None:
    assert smallest("causal", "mailbox", self_sends=True).splitlines() == [
        "P1: send m1 to P1; send m2 to P2; receive m4; receive m1",
        "P2: send m3 to P2; send m4 to P1; receive m2; receive m3",
    ]


def test_the_smallest_mailbox_computation_that_is_not_one_n_leaves_a_message_unreceived() -> None:
    assert smallest("mailbox", "one-n", complete=False).splitlines() == [
        "P1: send m1 to P2; send m2 to P3",
        "P2:",
        "P3: receive m2",
    ]


def test_the_smallest_one_n_computation_that_is_not_n_n() -> None:
    """Of complete ones. m1 is sent before m2, so received before it, so before m4 is sent, which is received before m3,
    so sent before it; yet m3 is sent before m1 is received.
    """
    assert smallest("one-n", "n-n").splitlines() == [
        "P1: send m1 to P2; send m2 to P3; receive m4; receive m3",
        "P2: send m3 to P1; receive m1",
        "P3: receive m2; send m4 to P1",
    ]


def test_the_smallest_n_n_computation_that_is_not_synchronous_is_two_messages_that_cross() -> None:
    assert smallest("n-n", "synchronous").splitlines() == [
        "P1: send m1 to P2; receive m2",
        "P2: send m2 to P1; receive m1",
    ]


@COMPLETE_UNICASTS
def test_mailbox_and_one_n_coincide_on_complete_computations(decided: Decided) -> None:
    for _, verdicts in decided.rows:
        assert verdicts["mailbox"].kept == verdicts["one-n"].kept


def test_with_multicasts_one_n_does_not_imply_causal_order() -> None:
    """Two senders' copies are received crosswise: m1 waits for P3 in P1's queue, behind nothing."""
    first = smallest("one-n", "causal", sends="multicast")
    assert first == smallest("one-n", "mailbox", sends="multicast")
    assert first.splitlines() == [
        "P1: send m1 to P2, P3",
        "P2: receive m1; send m2 to P3",
        "P3: receive m2; receive m1",
    ]


def test_one_round_of_constraints_is_not_enough_for_n_n() -> None:
    """u is received before v, so sent before it, so n is received before m; x is sent before y, so received before it,
    so m is sent before n: each of the two is one round, and that they contradict each other takes another.
    """
    c = computation(
        """\
        P1: send m to P3; receive x; receive n; send u to P2
        P2: receive y; send n to P1; receive u; receive v
        P3: send x to P1; send y to P2; send v to P2; receive m"""
    )
    assert acyclic_after_one_round(c)
    assert not keeps(c, "n-n")
    verdict = decide(c, "n-n")
    assert isinstance(verdict.witness, Cycle)
    assert verdict.witness.derived
    check_witness(c, verdict, "lost")


@COMPLETE_UNICASTS
def test_one_round_of_constraints_is_enough_for_n_n_on_small_complete_computations(decided: Decided) -> None:
    for c, verdicts in decided.rows:
        assert acyclic_after_one_round(c) == verdicts["n-n"].kept


def acyclic_after_one_round(c: Computation) -> bool:
    """Sends and receives forced into the order that happened-before gives to the other end, and no further."""
    graph: nx.DiGraph[int] = nx.DiGraph((e, f) for e, targets in enumerate(c.immediate_successors()) for f in targets)
    for m, other in permutations(range(len(c.messages)), 2):
        ends = (c.send_event[m], c.send_event[other]), (receive_of(c, m), receive_of(c, other))
        for (e, f), edge in (ends, ends[::-1]):
            if c.happened_before(e, f):
                graph.add_edge(*edge)
    return nx.is_directed_acyclic_graph(graph)


def receive_of(c: Computation, m: int) -> int:
    return c.receive_events[m][c.messages[m].receiver]


# -- incomplete computations -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bound",
    [
        *(bound for bound in INCOMPLETE if bound.reading == "pending"),
        Bound(2, 3, complete=False, self_sends=True, reading="pending"),
        Bound(3, 2, complete=False, multicast=True, reading="pending"),
    ],
    ids=str,
)
def test_pending_is_kept_exactly_when_some_completion_keeps_the_order(bound: Bound) -> None:
    complete = decide_all(bound._replace(complete=True)).kept()
    for c in bound.computations():
        by_some = frozenset[str]().union(*(complete[nameless(completed)] for completed in completions(c)))
        assert kept(c, "pending") == by_some


def completions(c: Computation) -> Iterator[Computation]:
    """Every computation in which the messages not received yet are received, at the ends of the lines."""
    to_come = [[Event("receive", m) for m, q in c.unreceived if q == p] for p in range(len(c.lines))]
    for ends in product(*(list(permutations(events)) for events in to_come)):
        lines = (line + end for line, end in zip(c.lines, ends, strict=True))
        yield Computation(c.processes, c.messages, tuple(lines))


@pytest.mark.parametrize(
    "bound",
    [Bound(3, 2, complete=False), Bound(2, 3, complete=False), Bound(3, 2, complete=False, multicast=True)],
    ids=str,
)
def test_the_readings_differ_for_one_n_n_n_and_synchronous_only(bound: Bound) -> None:
    differ = set()
    for c in bound.computations():
        lost, pending = kept(c, "lost"), kept(c, "pending")
        assert lost <= pending
        differ |= pending - lost
    assert differ == ({"synchronous"} if bound.n == 2 else {"one-n", "n-n", "synchronous"})


def test_the_readings_agree_on_complete_computations() -> None:
    for bound in (Bound(3, 3), Bound(2, 3, self_sends=True), Bound(3, 2, multicast=True)):
        for c in bound.computations():
            assert kept(c, "lost") == kept(c, "pending")


def test_a_lost_message_forbids_to_receive_what_is_queued_behind_it() -> None:
    same_receiver = computation("P1: send x to P2; send y to P2\nP2: receive y")
    assert kept(same_receiver) == kept(same_receiver, "pending") == {"asynchronous"}
    other_receiver = computation("P1: send x to P2; send y to P3\nP2:\nP3: receive y")
    assert kept(other_receiver) == {"asynchronous", "fifo", "causal", "mailbox"}
    assert kept(other_receiver, "pending") == set(CHAIN)
    last = computation("P1: send x to P2; send y to P2\nP2: receive x")
    assert kept(last) == set(CHAIN) - {"synchronous"}
    assert kept(last, "pending") == set(CHAIN)


def test_the_witness_against_a_multicast_received_in_part_is_genuine() -> None:
    """P3 receives x and y in order: it is P2's copy that y may not come before, under one-n."""
    c = computation("P1: send x to P2, P3; send y to P3\nP2:\nP3: receive x; receive y")
    verdict = decide(c, "one-n")
    assert not verdict.kept
    check_witness(c, verdict, "lost")


def test_the_witness_against_a_synchrony_to_come_is_a_circle_through_several_messages() -> None:
    c = computation("P1: send x to P2; receive y\nP2: send y to P1")
    verdict = decide(c, "synchronous", "pending")
    assert not verdict.kept
    check_witness(c, verdict, "pending")


# -- counts ------------------------------------------------------------------------------------------------------------

COUNTS = {
    (2, 1): (2, 2, 2, 2, 2, 2, 2),
    (2, 2): (7, 5, 5, 5, 5, 5, 4),
    (2, 3): (34, 14, 14, 14, 14, 14, 8),
    (2, 4): (209, 42, 42, 42, 42, 42, 16),
    (3, 3): (416, 284, 278, 278, 278, 278, 216),
    (3, 4): (4581, 2280, 2136, 2136, 2136, 2130, 1296),
    (4, 3): (2120, 1688, 1664, 1664, 1664, 1664, 1440),
}


@pytest.mark.parametrize("decided", [Bound(n, m) for n, m in COUNTS], indirect=True, ids=str)
def test_how_many_complete_computations_keep_each_order(decided: Decided) -> None:
    counts = tuple(sum(verdicts[order].kept for _, verdicts in decided.rows) for order in CHAIN)
    assert counts == COUNTS[decided.bound[:2]]


@pytest.mark.parametrize("m", range(6))
def test_fifo_computations_of_two_processes_are_pairs_of_lattice_paths_that_do_not_cross(m: int) -> None:
    """Their number is Catalan's, C(m+1).

    Each process's line is a lattice path from the origin: a step up for an event of a message from P1 to P2 (a send on
    P1's line, a receive on P2's), a step to the right for one from P2 to P1. Both end where there are as many ups and
    rights as messages of either direction. FIFO means that the k-th up of one path and of the other are one message,
    and so are the k-th rights: nothing else needs recording. The computation is acyclic iff for no message x to P2 and
    y to P1 P1 receives y before it sends x, and P2 receives x before it sends y; that is, iff no cell (column y, row x)
    lies above P1's path and below P2's: iff P1's path never goes below P2's.
    """
    as_paths = {
        tuple("".join("UR"[(kind == "send") != (p == 0)] for kind, _ in line) for p, line in enumerate(c.lines))
        for c in computations(2, m)
        if decide(c, "fifo").kept
    }
    assert len(as_paths) == sum(decide(c, "fifo").kept for c in computations(2, m))
    assert as_paths == {
        (one, two)
        for ups in range(m + 1)
        for one, two in product(lattice_paths(ups, m - ups), repeat=2)
        if all(above >= below for above, below in zip(heights(one), heights(two), strict=True))
    }
    assert len(as_paths) == comb(2 * (m + 1), m + 1) // (m + 2)


def lattice_paths(ups: int, rights: int) -> list[str]:
    places = range(ups + rights)
    return ["".join("U" if place in chosen else "R" for place in places) for chosen in combinations(places, ups)]


def heights(path: str) -> list[int]:
    """How high the path runs over each column."""
    return [path[:place].count("U") for place, step in enumerate(path) if step == "R"]


@pytest.mark.parametrize("decided", COMPLETE, indirect=True, ids=str)
def test_synchronous_computations_are_words_of_messages_up_to_commuting_neighbours(decided: Decided) -> None:
    """Messages without a common process commute; how many such words there are follows from Cartier and Foata.

    Of n ≤ 5 processes at most two messages commute: with a letters and b pairs of letters that commute, words of
    length m number w(m) = a w(m-1) - b w(m-2).
    """
    letters = list(permutations(range(decided.bound.n), 2))
    a, b = len(letters), sum(not set(x) & set(y) for x, y in combinations(letters, 2))
    before, words = 0, 1
    for _ in range(decided.bound.m):
        before, words = words, a * words - b * before
    assert words == sum(verdicts["synchronous"].kept for _, verdicts in decided.rows)


# -- time reversed -----------------------------------------------------------------------------------------------------


@COMPLETE_UNICASTS
def test_reversing_time_swaps_mailbox_and_one_n_and_keeps_the_other_orders(decided: Decided) -> None:
    """Causal order is kept: the first step of a chain that overtakes is, reversed, a message overtaken by a chain."""
    swapped = {order: order for order in CHAIN} | {"mailbox": "one-n", "one-n": "mailbox"}
    table = decided.kept()
    for c, _ in decided.rows:
        assert table[nameless(time_reversed(c))] == {swapped[order] for order in table[nameless(c)]}


def time_reversed(c: Computation) -> Computation:
    lines = (
        tuple(Event("receive" if event.kind == "send" else "send", event.message) for event in reversed(line))
        for line in c.lines
    )
    messages = [Message(message.name, message.receiver, (message.sender,)) for message in c.messages]
    return Computation.of_lines(len(c.lines), messages, lines)


# -- larger computations -----------------------------------------------------------------------------------------------


#: Up to five processes; sends, receives of any open copy and internal events, in an order that happened-before allows.
_larger = partial(testing.computations, processes=(2, 5), messages=7, receivers=2, self_sends=True, internal=True)
LARGER = _larger() | _larger(complete=True)


@settings(max_examples=300, deadline=None)
@given(LARGER, st.sampled_from(["lost", "pending"]))
def test_on_larger_computations_the_procedures_agree_and_their_witnesses_are_genuine(
    c: Computation, reading: UnreceivedPolicy
) -> None:
    for order in CHAIN:
        verdict = decide(c, order, reading)
        assert verdict.kept == keeps(c, order, pending=reading == "pending"), order
        check_witness(c, verdict, reading)


# -- witnesses are genuine ---------------------------------------------------------------------------------------------


def check_witness(c: Computation, verdict: Verdict, reading: UnreceivedPolicy) -> None:
    """Holds the witness to the computation; smallness is another matter."""
    witness = verdict.witness
    if isinstance(witness, Overtaking):
        check_overtaking(c, verdict.order, witness, reading)
    elif isinstance(witness, Crown):
        assert verdict.order == "synchronous"
        check_crown(c, witness)
    elif isinstance(witness, Cycle):
        check_cycle(c, verdict.order, witness, pending=reading == "pending")
    elif isinstance(witness, Unreceived):
        assert (verdict.order, reading) == ("synchronous", "lost")
        assert (witness.message, witness.receiver) in c.unreceived


def check_overtaking(c: Computation, order: str, witness: Overtaking, reading: UnreceivedPolicy) -> None:
    assert order not in ("asynchronous", "synchronous")
    first, second, q = c.messages[witness.first], c.messages[witness.second], witness.receiver
    assert witness.first != witness.second
    assert order != "fifo" or first.sender == second.sender
    received = c.receive_events[witness.second][q]
    if q in first.receivers:
        assert c.receive_events[witness.first].get(q, received + 1) > received
    else:
        assert order == "one-n"
        assert reading == "lost"
        assert first.sender == second.sender
        assert any(m == witness.first for m, _ in c.unreceived)
    assert witness.chain[0] == c.send_event[witness.first]
    assert witness.chain[-1] == c.send_event[witness.second]
    steps = chain_steps(c)
    assert all(steps.has_edge(e, f) and c.happened_before(e, f) for e, f in pairwise(witness.chain))
    assert len(witness.chain) == nx.shortest_path_length(steps, witness.chain[0], witness.chain[-1]) + 1


def chain_steps(c: Computation) -> nx.DiGraph[int]:
    """A chain goes to any later event of the line, or with a message."""
    steps: nx.DiGraph[int] = nx.DiGraph()
    steps.add_nodes_from(range(c.event_count))
    for p, line in enumerate(c.lines):
        steps.add_edges_from(combinations(range(c.first_event[p], c.first_event[p] + len(line)), 2))
    for send, receives in zip(c.send_event, c.receive_events, strict=True):
        steps.add_edges_from((send, receive) for receive in receives.values())
    return steps


def check_crown(c: Computation, witness: Crown) -> None:
    assert len(set(witness.messages)) == witness.size == len(witness.links) >= 2
    following = (*witness.messages[1:], witness.messages[0])
    for m, other, (send, receive) in zip(witness.messages, following, witness.links, strict=True):
        assert send == c.send_event[m]
        assert receive in c.receive_events[other].values()
        assert c.happened_before(send, receive)


#: An event by its number, or a receive to come: message and receiver.
Node = int | tuple[int, int]


def check_cycle(c: Computation, order: str, witness: Cycle, *, pending: bool) -> None:
    """The links form a cycle, each is true, and what is derived follows from the links listed before it."""
    known = happened_before_graph(c, pending=pending)
    by_words = {words(c, node): node for node in known if isinstance(node, tuple) or c.events[node].kind != "internal"}
    happened_before = known.copy()
    for link in (*witness.derived, *witness.links):
        edge = by_words[link.before], by_words[link.after]
        if link.because == "happened before":
            assert nx.has_path(happened_before, *edge)
        else:
            said = next((rule, match) for rule in RULES if (match := re.fullmatch(rule, link.because)))
            orders_of_rule, check = RULES[said[0]]
            assert order in orders_of_rule
            assert check(c, known, edge, *said[1].groups()), link
            if link in witness.derived:
                known.add_edge(*edge)
    assert all(link.after == following.before for link, following in pairwise((*witness.links, witness.links[0])))
    assert any(link.because != "happened before" for link in witness.links)
    through = {message_of(c, by_words[link.before]) for link in witness.links}
    assert len(through) >= 2, "a message cannot be in its own way"


def message_of(c: Computation, node: Node) -> int | None:
    return c.events[node].message if isinstance(node, int) else node[0]


def words(c: Computation, node: Node) -> str:
    if isinstance(node, int):
        return c.say(node)
    return f"{c.processes[node[1]]} receives {c.messages[node[0]].name} (still to come)"


def happened_before_graph(c: Computation, *, pending: bool) -> nx.DiGraph[Node]:
    graph: nx.DiGraph[Node] = nx.DiGraph()
    graph.add_nodes_from(range(c.event_count))
    for p, line in enumerate(c.lines):
        graph.add_edges_from(pairwise(range(c.first_event[p], c.first_event[p] + len(line))))
    for send, receives in zip(c.send_event, c.receive_events, strict=True):
        graph.add_edges_from((send, receive) for receive in receives.values())
    for m, q in c.unreceived if pending else ():
        graph.add_edge(c.send_event[m], (m, q))
        graph.add_edges_from((e, (m, q)) for e in range(c.first_event[q], c.first_event[q + 1]))
    return graph


def number(c: Computation, name: str) -> int:
    (m,) = (m for m, message in enumerate(c.messages) if message.name == name)
    return m


def receives(c: Computation, known: nx.DiGraph[Node], m: int) -> dict[int, Node]:
    """Receiver → receive event of m, those to come included if they count."""
    to_come = {node[1]: node for node in known if isinstance(node, tuple) and node[0] == m}
    return {**to_come, **c.receive_events[m]}


Edge = tuple[Node, Node]


def sends_of(c: Computation, m: int, other: int) -> Edge:
    return c.send_event[m], c.send_event[other]


def receives_first(c: Computation, known: nx.DiGraph[Node], edge: Edge, at: str, first: str, second: str) -> bool:
    m, other, q = number(c, first), number(c, second), c.processes.index(at)
    return edge == sends_of(c, m, other) and c.receive_events[m][q] < c.receive_events[other][q]


def receives_only(c: Computation, known: nx.DiGraph[Node], edge: Edge, at: str, first: str, second: str) -> bool:
    m, other, q = number(c, first), number(c, second), c.processes.index(at)
    return edge == sends_of(c, m, other) and q in c.receive_events[m] and (other, q) in c.unreceived


def sends_first(c: Computation, known: nx.DiGraph[Node], edge: Edge, at: str, first: str, second: str) -> bool:
    m, other, p = number(c, first), number(c, second), c.processes.index(at)
    return (
        edge in product(receives(c, known, m).values(), receives(c, known, other).values())
        and c.messages[m].sender == c.messages[other].sender == p
        and c.send_event[m] < c.send_event[other]
    )


def is_received(c: Computation, known: nx.DiGraph[Node], edge: Edge, first: str, second: str, at: str) -> bool:
    m, other, q = number(c, first), number(c, second), c.processes.index(at)
    return edge == sends_of(c, m, other) and bool(c.receive_events[m]) and (other, q) in c.unreceived


def sent_before(c: Computation, known: nx.DiGraph[Node], edge: Edge, first: str, second: str) -> bool:
    m, other = number(c, first), number(c, second)
    ends = product(receives(c, known, m).values(), receives(c, known, other).values())
    return edge in ends and nx.has_path(known, *sends_of(c, m, other))


def received_before(c: Computation, known: nx.DiGraph[Node], edge: Edge, first: str, second: str) -> bool:
    m, other = number(c, first), number(c, second)
    ends = product(receives(c, known, m).values(), receives(c, known, other).values())
    return edge == sends_of(c, m, other) and any(nx.has_path(known, r, s) for r, s in ends)


def one_instant(c: Computation, known: nx.DiGraph[Node], edge: Edge, name: str) -> bool:
    m = number(c, name)
    receive, send = edge
    return receive in receives(c, known, m).values() and send == c.send_event[m]


#: What a forced link says → the orders that force it, and how it is checked.
RULES: dict[str, tuple[tuple[str, ...], Callable[..., bool]]] = {
    r"(\w+) receives (\w+) before (\w+)": (("mailbox",), receives_first),
    r"(\w+) receives (\w+) and not (\w+)": (("mailbox",), receives_only),
    r"(\w+) sends (\w+) before (\w+)": (("one-n",), sends_first),
    r"(\w+) is received, (\w+) is not by (\w+)": (("one-n", "n-n"), is_received),
    r"(\w+) must be sent before (\w+)": (("n-n",), sent_before),
    r"(\w+) must be received before (\w+)": (("n-n",), received_before),
    r"(\w+) is to take one instant": (("synchronous",), one_instant),
}


# -- witnesses are small -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [Bound(3, 4), Bound(4, 3), Bound(2, 4), Bound(3, 3, complete=False)], ids=str)
def test_an_overtaking_has_the_shortest_chain_of_all_that_break_the_order(bound: Bound) -> None:
    for c in bound.computations():
        for order in ("fifo", "causal"):
            witness = decide(c, order).witness
            if witness is not None:
                assert isinstance(witness, Overtaking)
                shortest = min(overtaking_chains(c, same_sender=order == "fifo"))
                assert len(witness.chain) == shortest, of_computation(c).print()


def overtaking_chains(c: Computation, *, same_sender: bool) -> Iterator[int]:
    """The lengths of the shortest chains from send to send, for all pairs received in the wrong order."""
    lengths = dict(nx.all_pairs_shortest_path_length(chain_steps(c)))
    for (m, first), (other, second) in permutations(enumerate(c.messages), 2):
        if same_sender and first.sender != second.sender:
            continue
        for q, received in c.receive_events[other].items():
            if q in first.receivers and c.receive_events[m].get(q, received + 1) > received:
                length = lengths[c.send_event[m]].get(c.send_event[other])
                if length is not None:
                    yield length + 1


def test_a_circle_leaves_out_messages_that_it_can_do_without() -> None:
    """P2 receives m5 between m4 and m1, which adds nothing to the four messages of [DFLL23]."""
    at_receiver = computation(
        """\
        P1: send m1 to P2; send m2 to P3
        P2: receive m4; receive m5; receive m1
        P3: send m5 to P2; receive m2; receive m3
        P4: send m3 to P3; send m4 to P2"""
    )
    at_sender = time_reversed(at_receiver)
    for c, order in ((at_receiver, "mailbox"), (at_sender, "one-n")):
        witness = decide(c, order).witness
        assert isinstance(witness, Cycle)
        assert not any("m5" in link.before + link.because + link.after for link in witness.links)


@pytest.mark.parametrize(
    "bound",
    [
        Bound(2, 4, self_sends=True),
        Bound(3, 2, multicast=True),
        Bound(3, 2, complete=False, multicast=True, reading="pending"),
        Bound(2, 3, self_sends=True, multicast=True),
    ],
    ids=str,
)
def test_a_circle_is_the_smallest_by_forced_links_and_messages(bound: Bound) -> None:
    for c in bound.computations():
        for order in ("mailbox", "one-n"):
            check_circle_is_smallest(c, order, bound.reading)


def test_a_circle_stays_the_smallest_when_any_fifth_message_is_added() -> None:
    for c in with_one_more_message(computation(MAILBOX_BROKEN)):
        check_circle_is_smallest(c, "mailbox")
        check_circle_is_smallest(time_reversed(c), "one-n")


def with_one_more_message(c: Computation) -> Iterator[Computation]:
    new = len(c.messages)
    for sender, receiver in permutations(range(len(c.lines)), 2):
        messages = [*c.messages, Message(f"m{new + 1}", sender, (receiver,))]
        for i, j in product(range(len(c.lines[sender]) + 1), range(len(c.lines[receiver]) + 1)):
            lines = [list(line) for line in c.lines]
            lines[sender].insert(i, Event("send", new))
            lines[receiver].insert(j, Event("receive", new))
            with suppress(BadInput):  # a cycle
                yield Computation.of_lines(len(lines), messages, lines)


def check_circle_is_smallest(c: Computation, order: str, reading: UnreceivedPolicy = "lost") -> None:
    witness = decide(c, order, reading).witness
    if isinstance(witness, Cycle):
        pending = reading == "pending"
        assert circle_size(c, witness, pending=pending) == smallest_circle(c, order, pending=pending)


def circle_size(c: Computation, witness: Cycle, *, pending: bool) -> float:
    """How many links are forced, and how many messages the others lead through."""
    graph = weighed(happened_before_graph(c, pending=pending), c)
    by_words = {words(c, node): node for node in graph}
    size = 0.0
    for link in witness.links:
        if link.because == "happened before":
            size += nx.dijkstra_path_length(graph, by_words[link.before], by_words[link.after])
        else:
            size += 1
    return size


def smallest_circle(c: Computation, order: str, *, pending: bool) -> float:
    """Among all constraints of the order: for every pair of messages to one receiver, or from one sender."""
    happened_before = happened_before_graph(c, pending=pending)
    forced: set[Edge] = set()
    for m, other in permutations(range(len(c.messages)), 2):
        ours, theirs = receives(c, happened_before, m), receives(c, happened_before, other)
        if order == "mailbox":
            for q in set(c.receive_events[m]) & set(c.messages[other].receivers):
                received = c.receive_events[m][q]
                if c.receive_events[other].get(q, received + 1) > received:
                    forced.add(sends_of(c, m, other))
        elif c.messages[m].sender == c.messages[other].sender and c.send_event[m] < c.send_event[other]:
            forced.update(product(ours.values(), theirs.values()))
    graph = weighed(happened_before, c)
    for e, f in forced:
        if not graph.has_edge(e, f):
            graph.add_edge(e, f, weight=1)
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph))
    return min(lengths[f][e] + 1 for e, f in forced if e in lengths[f])


def weighed(graph: nx.DiGraph[Node], c: Computation) -> nx.DiGraph[Node]:
    """Steps along a line cost nothing, messages one, those to come included."""
    copy: nx.DiGraph[Node] = nx.DiGraph()
    for e, f in graph.edges:
        on_one_line = isinstance(e, int) and isinstance(f, int) and c.process_of[e] == c.process_of[f]
        copy.add_edge(e, f, weight=0 if on_one_line else 1)
    return copy


# -- at the scale of logs ----------------------------------------------------------------------------------------------

FIFO_BROKEN = "P1: send x to P2; send y to P2\nP2: receive y; receive x\nP3:\nP4:"
CAUSAL_BROKEN = "P1: send x to P3; send y to P2\nP2: receive y; send z to P3\nP3: receive z; receive x\nP4:"
MAILBOX_BROKEN = """\
P1: send m1 to P2; send m2 to P3
P2: receive m4; receive m1
P3: receive m2; receive m3
P4: send m3 to P3; send m4 to P2"""
CROWN = "P1: send x to P2; receive y\nP2: send y to P1; receive x\nP3:\nP4:"

LINEAR = ("fifo", "causal", "mailbox", "one-n", "synchronous")


@cache
def long_computation(middle: str = "P1:\nP2:\nP3:\nP4:", *, messages: int = 10_000, queue: int = 0) -> Computation:
    """Four processes and random messages before and after the middle, each received when `queue` more are sent."""
    chance = random.Random(0)
    original = computation(middle)
    all_messages: list[Message] = []
    lines: list[list[Event]] = [[] for _ in original.lines]

    def exchange(count: int) -> None:
        unreceived: list[int] = []
        for _ in range(count):
            sender, receiver = chance.sample(range(len(lines)), 2)
            lines[sender].append(Event("send", len(all_messages)))
            unreceived.append(len(all_messages))
            all_messages.append(Message(f"x{len(all_messages)}", sender, (receiver,)))
            receive_oldest(unreceived, leaving=queue)
        receive_oldest(unreceived, leaving=0)

    def receive_oldest(unreceived: list[int], leaving: int) -> None:
        while len(unreceived) > leaving:
            m = unreceived.pop(0)
            lines[all_messages[m].receiver].append(Event("receive", m))

    exchange(messages // 2)
    for line, events in zip(lines, original.lines, strict=True):
        line.extend(Event(kind, len(all_messages) + (m or 0)) for kind, m in events)
    all_messages.extend(original.messages)
    exchange(messages - messages // 2)
    return Computation.of_lines(len(lines), all_messages, lines)


@contextmanager
def calls_at_most(limit: int) -> Iterator[None]:
    """Gives up a procedure that takes more than linear time, which would go on for minutes: by calls, not by clock."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")
        if calls > limit:
            sys.setprofile(None)
            raise AssertionError(f"more than {limit} calls")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("order", LINEAR)
def test_twenty_thousand_events_are_decided(order: str) -> None:
    c = long_computation()
    assert c.event_count == 20_000
    with calls_at_most(200 * c.event_count):
        assert decide(c, order).kept


@pytest.mark.parametrize("order", LINEAR[:4])
def test_twenty_thousand_events_with_long_queues_are_decided(order: str) -> None:
    c = long_computation(queue=50)
    with calls_at_most(200 * c.event_count):
        assert decide(c, order).kept


BROKEN_AMONG_MANY = pytest.mark.parametrize(
    ("order", "middle"),
    [
        pytest.param("fifo", FIFO_BROKEN, id="fifo"),
        pytest.param("causal", CAUSAL_BROKEN, id="causal"),
        pytest.param("mailbox", MAILBOX_BROKEN, id="mailbox"),
        pytest.param("one-n", MAILBOX_BROKEN, id="one-n"),
        pytest.param("synchronous", CROWN, id="synchronous"),
        pytest.param("synchronous", CAUSAL_BROKEN, id="synchronous-by-overtaking"),
    ],
)


@BROKEN_AMONG_MANY
def test_among_twenty_thousand_events_a_broken_order_is_found(order: str, middle: str) -> None:
    c = long_computation(middle)
    with calls_at_most(200 * c.event_count):
        verdict = decide(c, order)
    assert verdict.witness is not None
    printed = verdict.witness.headline(c) + " ".join(verdict.witness.details(c))
    assert set(re.findall(r"\b(?:m\d|x\d*|y|z)\b", printed)) <= {
        message.name for message in computation(middle).messages
    }


@BROKEN_AMONG_MANY
@pytest.mark.parametrize("reading", ["lost", "pending"])
def test_in_long_computations_too_a_witness_is_genuine(order: str, middle: str, reading: UnreceivedPolicy) -> None:
    c = long_computation(middle, messages=600)
    verdict = decide(c, order, reading)
    assert not verdict.kept
    check_witness(c, verdict, reading)


@pytest.mark.parametrize(
    ("order", "middle"),
    [
        pytest.param("one-n", "P1: send m to P2; send y to P3\nP2:\nP3: receive y\nP4:", id="one-n"),
        pytest.param(
            "mailbox",
            "P1: send m to P2; send y to P3\nP2: receive z\nP3: receive y; receive v\nP4: send v to P3; send z to P2",
            id="mailbox",
        ),
        pytest.param("synchronous", "P1: send m to P2; receive y\nP2: send y to P1\nP3:\nP4:", id="crossing"),
        pytest.param(
            "synchronous",
            "P1: send m to P2; send y to P3; receive z\nP2: send z to P1\nP3: receive y\nP4:",
            id="crossing-another",
        ),
        pytest.param("synchronous", "P1: send m to P1; send y to P1; receive m\nP2:\nP3:\nP4:", id="self-sends"),
    ],
)
@pytest.mark.parametrize("reading", ["lost", "pending"])
@pytest.mark.parametrize("messages", [0, 600])
def test_in_short_and_long_incomplete_computations_a_witness_is_genuine(
    order: str, middle: str, reading: UnreceivedPolicy, messages: int
) -> None:
    c = long_computation(middle, messages=messages)
    check_witness(c, decide(c, order, reading), reading)


@pytest.mark.parametrize("order", ["causal", "synchronous"])
def test_an_overtaking_across_a_conversation_of_twenty_thousand_events_is_found(order: str) -> None:
    """x is sent before P1 and P3 talk, z after, and P2 receives z first."""
    talk = 10_000
    messages = [Message("x", 0, (1,)), Message("z", 2, (1,))]
    lines = [[Event("send", 0)], [Event("receive", 1), Event("receive", 0)], []]
    for k in range(talk):
        sender, receiver = (0, 2) if k % 2 == 0 else (2, 0)
        lines[sender].append(Event("send", len(messages)))
        lines[receiver].append(Event("receive", len(messages)))
        messages.append(Message(f"y{k}", sender, (receiver,)))
    lines[2].append(Event("send", 1))
    c = Computation.of_lines(3, messages, lines)
    with calls_at_most(200 * c.event_count):
        witness = decide(c, order).witness
    if isinstance(witness, Overtaking):
        assert [c.say(e) for e in witness.chain] == ["P1 sends x", "P1 sends y0", "P3 receives y0", "P3 sends z"]
    else:
        assert isinstance(witness, Crown)
        check_crown(c, witness)


# -- names, verdicts and words -----------------------------------------------------------------------------------------


def test_each_order_has_a_function_of_its_name() -> None:
    crossing = computation("P1: send x to P2; receive y\nP2: send y to P1; receive x")
    for order in CHAIN:
        function: Callable[[Computation, UnreceivedPolicy], Verdict] = getattr(orders, order.replace("-", "_"))
        assert function(crossing, "lost") == decide(crossing, order)
        assert function(crossing, "pending") == decide(crossing, order, "pending")


def test_an_unknown_order_is_reported_with_the_nearest_name() -> None:
    known = "known: asynchronous, fifo, causal, mailbox, one-n, n-n, synchronous"
    with pytest.raises(BadInput) as caught:
        order_named("casual")
    assert str(caught.value) == f"unknown order 'casual'; did you mean 'causal'? {known}"
    with pytest.raises(BadInput, match="unknown order 'zzz'; known"):
        decide(computation("P1:"), "zzz")


def test_every_order_says_what_it_demands_and_cites_its_source() -> None:
    for order in ORDERS.values():
        keys = set(re.findall(r"\[(\w+)\]", order.source))
        assert order.demands
        assert keys
        assert keys <= set(BIBLIOGRAPHY)


@pytest.mark.parametrize(
    ("order", "text", "line"),
    [
        (
            "fifo",
            "P1: send x to P2; send y to P2\nP2: receive y; receive x",
            "P2 receives y before x, which was sent earlier: P1 sends x → P1 sends y",
        ),
        (
            "causal",
            CAUSAL_BROKEN,
            "P3 receives z before x, which was sent earlier: P1 sends x → P1 sends y → P2 receives y → P2 sends z",
        ),
        (
            "causal",
            "P1: send x to P2; send y to P2\nP2: receive y",
            "P2 receives y and not x, which was sent earlier: P1 sends x → P1 sends y",
        ),
        (
            "mailbox",
            MAILBOX_BROKEN,
            (
                "no linearization will do, for these events go round in a circle: P1 sends m1 → P1 sends m2: happened "
                "before; P1 sends m2 → P4 sends m3: P3 receives m2 before m3; P4 sends m3 → P4 sends m4: happened "
                "before; P4 sends m4 → P1 sends m1: P2 receives m4 before m1"
            ),
        ),
        ("synchronous", CROWN, "crown of size 2: P1 sends x → P1 receives y; P2 sends y → P2 receives x"),
        ("synchronous", "P1: send x to P2\nP2:", "x is never received by P2"),
        ("synchronous", "P1: send x to P1; send y to P1; receive x", "y is never received by P1"),
    ],
)
def test_a_witness_is_printed_in_one_line(order: str, text: str, line: str) -> None:
    c = computation(text)
    witness = decide(c, order).witness
    assert witness is not None
    assert say(witness, c) == line


def test_a_verdict_is_printed_in_json_with_names_for_numbers() -> None:
    c = computation("P1: send x to P2; send y to P2\nP2: receive y")
    assert decide(c, "asynchronous").json(c) == {"verdict": "kept", "witness": None}
    assert decide(c, "fifo").json(c) == {
        "verdict": "broken",
        "witness": {
            "kind": "overtaking",
            "first": "x",
            "second": "y",
            "receiver": "P2",
            "first_received": False,
            "chain": [
                {"process": "P1", "event": "send", "message": "x"},
                {"process": "P1", "event": "send", "message": "y"},
            ],
        },
    }
    assert decide(computation("P1: send x to P2\nP2:"), "synchronous").json(c)["witness"] == {
        "kind": "unreceived",
        "message": "x",
        "receiver": "P2",
    }
    crossing = computation(CROWN)
    assert decide(crossing, "synchronous").json(crossing)["witness"] == {
        "kind": "crown",
        "messages": ["x", "y"],
        "links": [
            [{"process": p, "event": "send", "message": s}, {"process": p, "event": "receive", "message": r}]
            for p, s, r in (("P1", "x", "y"), ("P2", "y", "x"))
        ],
    }
    circle = computation(MAILBOX_BROKEN)
    witness = decide(circle, "mailbox").json(circle)["witness"]
    assert (witness["kind"], len(witness["cycle"]), witness["derived"]) == ("cycle", 4, [])
    assert witness["cycle"][1] == {
        "before": "P1 sends m2",
        "after": "P4 sends m3",
        "because": "P3 receives m2 before m3",
    }
