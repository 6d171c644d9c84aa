"""Witnesses of broken orders are genuine, on larger computations too, and as small as can be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import permutations, product

import networkx as nx
import pytest
from small_computations import MAILBOX_BROKEN, Bound, computation, time_reversed
from witness_checks import Edge, Node, chain_steps, happened_before_graph, receives, sends_of, words

from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.notation import of_computation
from crownless.spec.orders import UnreceivedPolicy, decide
from crownless.spec.witnesses import Cycle, Overtaking

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
        for q in first.receivers:
            if c.overtakes(other, m, q):
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
            if any(c.overtakes(m, other, q) for q in c.messages[other].receivers):
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
