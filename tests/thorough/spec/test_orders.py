"""The orders on every small computation: two deciders that agree, and counts known otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations, product
from math import comb

import pytest
from small_computations import (
    INCOMPLETE,
    Bound,
    Decided,
    Nameless,
    acyclic_after_one_round,
    computation,
    decide_all,
    nameless,
    time_reversed,
)
from witness_checks import check_witness

from crownless.spec import by_search
from crownless.spec.enumeration import computations
from crownless.spec.notation import of_computation, parse, to_computation
from crownless.spec.orders import ORDERS, decide, keeps, kept_at, kept_orders, strongest, telling, weaker

COMPLETE = [*(Bound(2, m) for m in range(5)), *(Bound(3, m) for m in range(1, 5)), *(Bound(4, m) for m in (2, 3))]

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


@pytest.fixture(scope="module", params=BOUNDS, ids=str)
def decided(request: pytest.FixtureRequest) -> Decided:
    """Pytest runs all tests of one bound after another, so that each bound is decided once."""
    bound: Bound = request.param
    return decide_all(bound)


COMPLETE_UNICASTS = pytest.mark.parametrize(
    "decided", [bound for bound in BOUNDS if bound.complete and bound.unicasts], indirect=True, ids=str
)


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
        for order, search in (("fifo", by_search.fifo), ("causal", by_search.causal)):
            at = [frozenset({q}) for q in range(decided.bound.n)]
            kept_there = [kept_at(c, order, places) for places in at]
            assert kept_there == [search(c, pending=False, at=places) for places in at]
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
            assert verdict.json(c)["verdict"] == ("kept" if verdict.kept else "violated")


def test_every_witness_is_genuine(decided: Decided) -> None:
    for c, verdicts in decided.rows:
        for verdict in verdicts.values():
            check_witness(c, verdict, decided.bound.reading)


def test_the_strongest_orders_kept_say_it_all(decided: Decided) -> None:
    for c, verdicts in decided.rows:
        names = {order for order, verdict in verdicts.items() if verdict.kept}
        unicasts = all(len(message.receivers) == 1 for message in c.messages)
        found, about = strongest(names, c), {*telling(unicasts=unicasts)}
        assert names - about == set(ORDERS) - about
        assert about & {*found}.union(*(weaker(order, unicasts=unicasts) for order in found)) == names & about
        if len(found) > 1:
            assert found == ["mailbox", "one-n"] or ({*found} & {"one-n", "total"} and not unicasts)


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


@COMPLETE_UNICASTS
def test_mailbox_and_one_n_coincide_on_complete_computations(decided: Decided) -> None:
    for _, verdicts in decided.rows:
        assert verdicts["mailbox"].kept == verdicts["one-n"].kept


@COMPLETE_UNICASTS
def test_one_round_of_constraints_is_enough_for_n_n_on_small_complete_computations(decided: Decided) -> None:
    for c, verdicts in decided.rows:
        assert acyclic_after_one_round(c) == verdicts["n-n"].kept


# -- counts ------------------------------------------------------------------------------------------------------------


COUNTS = {
    (2, 1): (2, 2, 2, 2, 2, 2, 2, 2),
    (2, 2): (7, 5, 5, 5, 5, 5, 4, 7),
    (2, 3): (34, 14, 14, 14, 14, 14, 8, 34),
    (2, 4): (209, 42, 42, 42, 42, 42, 16, 209),
    (3, 3): (416, 284, 278, 278, 278, 278, 216, 416),
    (3, 4): (4581, 2280, 2136, 2136, 2136, 2130, 1296, 4581),
    (4, 3): (2120, 1688, 1664, 1664, 1664, 1664, 1440, 2120),
}


@pytest.mark.parametrize("decided", [Bound(n, m) for n, m in COUNTS], indirect=True, ids=str)
def test_how_many_complete_computations_keep_each_order(decided: Decided) -> None:
    counts = tuple(sum(verdicts[order].kept for _, verdicts in decided.rows) for order in ORDERS)
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
    swapped = {order: order for order in ORDERS} | {"mailbox": "one-n", "one-n": "mailbox"}
    table = decided.kept()
    for c, _ in decided.rows:
        assert table[nameless(time_reversed(c))] == {swapped[order] for order in table[nameless(c)]}


def test_internal_events_count_for_no_order() -> None:
    c = to_computation(parse("P1: send m to P1; ...; receive m"))
    assert [event.kind for event in c.lines[0]] == ["send", "internal", "receive"]
    assert all(decide(c, order).kept and keeps(c, order) for order in ORDERS)
