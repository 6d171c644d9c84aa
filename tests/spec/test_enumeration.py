"""The enumeration: every computation of its bound, each exactly once, under its least linearization's names."""

from __future__ import annotations

from itertools import combinations
from math import comb, factorial

import networkx as nx
import pytest
from small_computations import Bound, Nameless, nameless

from crownless.spec.computation import Computation
from crownless.spec.enumeration import computations, receiver_sets

BOUNDS = [
    *(Bound(2, m) for m in range(5)),
    *(Bound(3, m) for m in range(4)),
    *(Bound(1, m, self_sends=True) for m in range(5)),
    *(Bound(2, m, complete=False, self_sends=self_sends) for m in range(4) for self_sends in (False, True)),
    *(Bound(3, m, complete=False) for m in range(4)),
    *(
        Bound(3, m, complete, self_sends, multicast=True)
        for m in (1, 2)
        for complete in (True, False)
        for self_sends in (True, False)
    ),
    Bound(4, 2, complete=False),
    Bound(2, 3, multicast=True, self_sends=True),
]


# -- the naive generator -----------------------------------------------------------------------------------------------

NamelessEvent = tuple[str, tuple[int, ...]]


def all_interleavings(bound: Bound) -> set[Nameless]:
    """Sends and receives in any order, one after another; what comes out more than once falls together in the set."""
    processes = range(bound.n)
    found: set[Nameless] = set()

    def go_on(lines: Nameless, sent: int, open_copies: frozenset[tuple[tuple[int, int], int]]) -> None:
        if sent == bound.m and not (bound.complete and open_copies):
            found.add(lines)
        for copy in open_copies:
            place, q = copy
            go_on(longer(lines, q, ("receive", place)), sent, open_copies - {copy})
        if sent < bound.m:
            for p in processes:
                for to in addresses(bound, p):
                    copies = {((p, len(lines[p])), q) for q in to}
                    go_on(longer(lines, p, ("send", to)), sent + 1, open_copies | copies)

    go_on(((),) * bound.n, 0, frozenset())
    return found


def longer(lines: Nameless, p: int, event: NamelessEvent) -> Nameless:
    return (*lines[:p], (*lines[p], event), *lines[p + 1 :])


def addresses(bound: Bound, p: int) -> list[tuple[int, ...]]:
    subsets = (to for size in range(1, bound.n + 1) for to in combinations(range(bound.n), size))
    return [to for to in subsets if (bound.multicast or len(to) == 1) and (bound.self_sends or p not in to)]


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_each_computation_is_generated_exactly_once(bound: Bound) -> None:
    generated = [nameless(c) for c in bound.computations()]
    assert len(set(generated)) == len(generated)
    assert set(generated) == all_interleavings(bound)


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_each_generated_computation_passes_validation(bound: Bound) -> None:
    for c in bound.computations():
        assert Computation(c.processes, c.messages, c.lines) == c
        assert len(c.messages) == bound.m
        assert c.complete or not bound.complete


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_messages_are_numbered_in_the_order_of_the_least_linearization(bound: Bound) -> None:
    for c in bound.computations():
        steps: nx.DiGraph[int] = nx.DiGraph()
        steps.add_nodes_from(range(c.event_count))
        steps.add_edges_from((e, f) for e, targets in enumerate(c.immediate_successors()) for f in targets)
        least = list(nx.lexicographical_topological_sort(steps))
        sends = [c.events[e].message for e in least if c.events[e].kind == "send"]
        assert sends == list(range(bound.m))
        assert [message.name for message in c.messages] == [f"m{k + 1}" for k in range(bound.m)]


def test_the_receivers_of_a_message_are_others_unless_self_sends_are_allowed() -> None:
    assert receiver_sets(3, 1, self_sends=False) == [(0,), (2,)]
    assert receiver_sets(3, 1, self_sends=True) == [(0,), (1,), (2,)]
    assert receiver_sets(3, 1, self_sends=False, sends="multicast") == [(0,), (2,), (0, 2)]
    assert receiver_sets(3, 1, sends="broadcast") == [(0, 2)]
    assert receiver_sets(3, 1, self_sends=True, sends="broadcast") == [(0, 1, 2)]
    assert receiver_sets(1, 0, sends="broadcast") == receiver_sets(1, 0, sends="multicast") == []
    assert len(receiver_sets(3, 1, self_sends=True, sends="multicast")) == 2**3 - 1


# -- counts ------------------------------------------------------------------------------------------------------------

#: How many computations available: n processes and 0, 1, 2, … messages.
COMPLETE = {2: (1, 2, 7, 34, 209, 1546), 3: (1, 6, 45, 416, 4581), 4: (1, 12, 150, 2120)}
INCOMPLETE = {2: (1, 4, 18, 100, 673), 3: (1, 12, 129, 1486)}


@pytest.mark.parametrize(("complete", "table"), [(True, COMPLETE), (False, INCOMPLETE)])
def test_how_many_computations_there_are(complete: bool, table: dict[int, tuple[int, ...]]) -> None:
    for n, counts in table.items():
        assert counts == tuple(sum(1 for _ in computations(n, m, complete=complete)) for m in range(len(counts)))


def test_two_processes_have_as_many_complete_computations_as_there_are_partial_permutations() -> None:
    """Of m things, by size k: choose k, choose their k images, match them. Found, not proved."""
    for m, count in enumerate(COMPLETE[2]):
        assert count == sum(comb(m, k) ** 2 * factorial(k) for k in range(m + 1))


def test_one_process_has_as_many_complete_computations_as_there_are_perfect_matchings() -> None:
    """A line of 2m events, each send matched with a later receive: the first event has 2m-1 partners, and so on."""
    for m in range(6):
        matchings = factorial(2 * m) // (2**m * factorial(m))
        assert sum(1 for _ in computations(1, m, self_sends=True)) == matchings


def test_without_messages_there_is_one_computation_and_without_receivers_none() -> None:
    assert [c.lines for c in computations(3, 0)] == [((), (), ())]
    assert list(computations(1, 1)) == []
    assert list(computations(0, 1)) == []
