"""Witnesses of broken orders, checked against the computation by the definitions."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations, pairwise, product
from typing import Any

import networkx as nx

from crownless.spec.computation import Computation
from crownless.spec.orders import UnreceivedPolicy, Verdict
from crownless.spec.witnesses import Crown, Cycle, Link, Overtaking, Unreceived, Witness


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


def from_json(c: Computation, fields: dict[str, Any]) -> Witness:
    """The witness that is written so, with all that is said in it."""

    def event(said: dict[str, Any]) -> int:
        m, q = number(c, said["message"]), c.processes.index(said["process"])
        e = c.send_event[m] if said["event"] == "send" else c.receive_events[m][q]
        assert c.process_of[e] == q
        return e

    def links(said: list[dict[str, str]]) -> tuple[Link, ...]:
        return tuple(Link(link["before"], link["after"], link["because"]) for link in said)

    if fields["kind"] == "overtaking":
        first, second, q = (
            number(c, fields["first"]),
            number(c, fields["second"]),
            c.processes.index(fields["receiver"]),
        )
        assert fields["first_received"] == (q in c.receive_events[first])
        return Overtaking(first, second, q, tuple(map(event, fields["chain"])))
    if fields["kind"] == "crown":
        messages = tuple(number(c, name) for name in fields["messages"])
        return Crown(messages, tuple((event(send), event(receive)) for send, receive in fields["links"]))
    if fields["kind"] == "cycle":
        return Cycle(links(fields["cycle"]), links(fields["derived"]))
    assert fields["kind"] == "unreceived"
    return Unreceived(number(c, fields["message"]), c.processes.index(fields["receiver"]))


def check_overtaking(c: Computation, order: str, witness: Overtaking, reading: UnreceivedPolicy) -> None:
    assert order not in ("asynchronous", "synchronous")
    first, second, q = c.messages[witness.first], c.messages[witness.second], witness.receiver
    assert witness.first != witness.second
    assert order != "fifo" or first.sender == second.sender
    assert q in c.receive_events[witness.second]
    if q in first.receivers:
        assert c.overtakes(witness.second, witness.first, q)
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
    if order == "total":
        check_disagreement(c, witness)
        return
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


def check_disagreement(c: Computation, witness: Cycle) -> None:
    """The links form a cycle of messages, each of which some process delivers before the next, or without it."""
    assert len(witness.links) >= 2
    for link, following in pairwise((*witness.links, witness.links[0])):
        assert link.after == following.before
        said = re.fullmatch(r"(\S+) delivers (\S+) (before|and not) (\S+)", link.because)
        assert said is not None
        q, m, other = c.processes.index(said[1]), number(c, said[2]), number(c, said[4])
        assert (said[2], said[4]) == (link.before, link.after)
        if said[3] == "before":
            assert c.receive_events[m][q] < c.receive_events[other][q]
        else:
            assert q in c.receive_events[m]
            assert (other, q) in c.unreceived


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
