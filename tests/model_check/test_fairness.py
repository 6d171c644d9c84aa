"""Strong fairness: fair components of small random graphs, found a second time by trying every set of nodes; and the
lassos of protocols that starve although every action keeps being taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crownless as cr
from crownless.model_check.check.check import run_check
from crownless.model_check.search.fairness import OPTIONAL, Component, Edge, FairGraph, round_trip
from crownless.model_check.system.request import Check
from crownless.runtime.ending import Limits

# -- graphs ------------------------------------------------------------------------------------------------------------

NODES, ACTIONS = 6, 4


@st.composite
def graphs(draw: st.DrawFn) -> FairGraph:
    """A graph of up to six nodes and four actions, of which some are arrivals of one of two packets."""
    nodes = draw(st.integers(1, NODES))
    arrives = draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=ACTIONS, max_size=ACTIONS))
    target, packet = st.integers(0, nodes - 1), st.sampled_from([-1, 0, 1])
    taken = st.tuples(target, st.integers(0, ACTIONS - 1), st.just(-1))
    edge = st.one_of(taken, st.tuples(target, st.just(OPTIONAL), packet)).map(Edge._make)
    return FairGraph([draw(st.lists(edge, max_size=4)) for _ in range(nodes)], arrives)


def fair_sets(graph: FairGraph) -> Iterator[frozenset[int]]:
    """Every set of nodes through all of which a fair run can go round, from the definition: with some set of packets
    that may be lost, the nodes reach one another, each action that is possible is taken, and each packet lost arrives.
    """
    lossy = range(-1, 2)
    for size in range(1, len(graph.edges) + 1):
        for nodes in map(frozenset, combinations(range(len(graph.edges)), size)):
            possible = {e.action for node in nodes for e in graph.edges[node]} - {OPTIONAL}
            for lost in ({-1, *some} for k in range(3) for some in combinations(lossy[1:], k)):
                inside = [(n, e) for n in nodes for e in graph.edges[n] if e.target in nodes and e.loses in lost]
                taken = {e.action for _, e in inside}
                arriving = {graph.arrives[action] for action in taken - {OPTIONAL}}
                whole = nx.DiGraph((node, e.target) for node, e in inside)
                goes_round = set(whole) == nodes and nx.is_strongly_connected(whole)
                if goes_round and possible <= taken and all(e.loses in {-1, *arriving} for _, e in inside):
                    yield nodes
                    break


@given(graphs())
def test_fair_components_are_the_largest_sets_in_which_a_fair_run_goes_round(graph: FairGraph) -> None:
    found = [part.nodes for part in graph.fair_components(range(len(graph.edges)))]
    every = list(fair_sets(graph))
    assert set(found) == {some for some in every if not any(some < other for other in every)}
    assert len(set(found)) == len(found)


@given(graphs())
def test_fewer_actions_are_fair_too_and_the_loop_takes_each(graph: FairGraph) -> None:
    for part in graph.fair_components(range(len(graph.edges))):
        few = graph.with_few_actions(part)
        assert few.taken <= part.taken
        assert few.nodes <= part.nodes
        assert any(few.nodes <= some for some in fair_sets(graph))
        assert spared(graph, few) == []
        walked = round_trip(few)
        here = [few.start, *(edge.target for _, edge in walked)]
        assert [node for node, _ in walked] == here[:-1]
        assert here[-1] == few.start
        assert {edge.action for _, edge in walked} - {OPTIONAL} == few.taken


def spared(graph: FairGraph, part: Component) -> list[int]:
    """The actions of the component that a fair run within it need not take."""
    within = [some for some in fair_sets(graph) if some <= part.nodes]
    return [
        action
        for action in part.taken
        if any(all(edge.action != action for node in some for edge in graph.edges[node]) for some in within)
    ]


# -- protocols ---------------------------------------------------------------------------------------------------------


class Bits(NamedTuple):
    a: int = 1
    b: int = 1


class AtOnce(cr.Protocol):
    """Delivers each message as it arrives."""

    promises: ClassVar[str | tuple[str, ...]] = ("delivers-all", "never-blocks")

    def initial(self, i: int) -> Any:
        return ()

    def send(self, i: int, state: Any, message: cr.Message) -> list[cr.Step]:
        return [cr.Step(state, [cr.Packet(i, message.receiver, "data", message)], [cr.sent(message)])]

    def on_packet(self, i: int, state: Any, packet: cr.Packet) -> list[cr.Step]:
        assert packet.message is not None
        return [cr.Step(state, [], [cr.delivered(packet.message)])]


class Toggles(AtOnce):
    """Receives only where both bits are 0; each is flipped again and again, and need not be 0 when the other is."""

    promises = ("delivers-once", "delivers-all", "never-blocks")
    bound = (2, 1)

    def initial(self, i: int) -> Bits:
        return Bits()

    def internal(self, i: int, state: Bits) -> list[tuple[str, cr.Step]]:
        return [("a", cr.Step(state._replace(a=1 - state.a))), ("b", cr.Step(state._replace(b=1 - state.b)))]

    def deliverable(self, i: int, state: Bits, packet: cr.Packet) -> bool:
        return state == (0, 0)


class OneToggle(Toggles):
    """Has one bit: it is 0 again and again."""

    def internal(self, i: int, state: Bits) -> list[tuple[str, cr.Step]]:
        return [("flip", cr.Step(Bits(1 - state.a, 1 - state.a)))]


class Chooses(OneToggle):
    """One step has two outcomes: which one is no matter of fairness."""

    def internal(self, i: int, state: Bits) -> list[tuple[str, cr.Step]]:
        return [("flip", cr.Step(Bits(0, 0))), ("flip", cr.Step(Bits(1, 1)))]


class TwoSteps(OneToggle):
    """Two steps are two actions: each is taken."""

    def internal(self, i: int, state: Bits) -> list[tuple[str, cr.Step]]:
        return [("down", cr.Step(Bits(0, 0))), ("up", cr.Step(Bits(1, 1)))]


@pytest.mark.parametrize(
    ("kind", "verdict"), [(Toggles, "violated"), (OneToggle, "holds"), (Chooses, "violated"), (TwoSteps, "holds")]
)
def test_an_action_that_is_possible_again_and_again_is_taken_and_nothing_more(kind: type, verdict: str) -> None:
    found = cr.check(kind)
    assert found["delivers-all"].verdict == verdict
    assert found["never-blocks"].note == "in every fair run"
    if kind is Toggles:
        run = found["delivers-all"].run
        assert run is not None
        assert {action.say() for action in run.loop} == {"P1: a", "P1: b", "P2: a", "P2: b"}


class Starves(AtOnce):
    """Sends a beat for ever, and each message again until it is acknowledged; a beat may always come first."""

    promises = ("delivers-once", "delivers-all", "never-blocks")
    needs_channel = "lossy-fifo"
    timers = ("beat", "retransmit")
    control_kinds = frozenset({"beat", "ack"})
    bound = (2, 1)
    answers = True

    def initial(self, i: int) -> Any:
        return frozenset(), frozenset()

    def send(self, i: int, state: Any, m: cr.Message) -> list[cr.Step]:
        return [cr.Step((state[0] | {m}, state[1]), [cr.Packet(i, m.receiver, "data", m)], [cr.sent(m)])]

    def internal(self, i: int, state: Any) -> list[tuple[str, cr.Step]]:
        again = [("retransmit", cr.Step(state, [cr.Packet(i, m.receiver, "data", m)])) for m in state[0]]
        return [("beat", cr.Step(state, [cr.Packet(i, 1 - i, "beat")])), *again]

    def on_packet(self, i: int, state: Any, packet: cr.Packet) -> list[cr.Step]:
        waiting, seen = state
        if packet.kind == "beat":
            return [cr.Step(state)]
        if packet.kind == "ack":
            return [cr.Step((waiting - {packet.message}, seen))]
        acks = [cr.Packet(i, packet.source, "ack", packet.message)]
        delivers = [] if packet.message in seen or not self.answers else [cr.delivered(packet.message)]
        return [cr.Step((waiting, seen | {packet.message}), acks, delivers)]


@pytest.mark.parametrize("channel", ["lossy", "lossy-fifo"])
def test_a_packet_that_is_lost_again_and_again_arrives_again_and_again(channel: str) -> None:
    found = cr.check(Starves, channel=channel, parameters={"copies": 1})
    assert {line.property.name for line in found.properties if line.verdict == "violated"} == set()
    never = cr.check(type("Never", (Starves,), {"answers": False}), channel=channel, parameters={"copies": 1})
    assert "delivers-all" in never.violations


def test_a_lasso_needs_no_loss_where_one_without_is_fair() -> None:
    run = (
        cr.check(type("Never", (Starves,), {"answers": False}), parameters={"copies": 1}).violations["delivers-all"].run
    )
    assert run is not None
    assert all(action.action != "lose" for action in run.loop)


@pytest.mark.parametrize(
    ("answers", "expected"), [(True, ("holds", "holds", "always")), (False, ("violated", "unknown", "never"))]
)
def test_a_program_of_a_protocol_that_never_rests_can_complete_exactly_if_some_run_does(
    answers: bool, expected: tuple[str, str, str]
) -> None:
    kind = type("Beats", (Starves,), {"answers": answers})
    found = cr.check(kind, program="P1: send x to P2\nP2: receive x", parameters={"copies": 1})
    assert (found["completes"].verdict, found["can-complete"].verdict, found.completes) == expected


# -- a sender that is blocked ------------------------------------------------------------------------------------------


class StopAndWait(AtOnce):
    """P1 waits for an acknowledgement that never comes; the others send as they like."""

    promises = ("never-blocks",)
    bound = (2, 2)
    waiting: tuple[int, ...] = (0,)

    def initial(self, i: int) -> bool:
        return False

    def send(self, i: int, state: bool, m: cr.Message) -> list[cr.Step]:
        return [] if state else [step._replace(state=i in self.waiting) for step in super().send(i, state, m)]


def test_a_sender_that_is_blocked_for_ever_is_found_while_others_may_send() -> None:
    blocked = cr.check(StopAndWait)["never-blocks"]
    assert (blocked.verdict, len(blocked.run or ())) == ("violated", 2)
    assert "P1 can send no more" in blocked.note
    assert cr.check(type("Free", (StopAndWait,), {"waiting": ()}))["never-blocks"].verdict == "holds"


def test_a_process_that_never_sends_is_not_named_beside_one_that_is_blocked() -> None:
    class Alone(StopAndWait):
        def send(self, i: int, state: bool, m: cr.Message) -> list[cr.Step]:
            return super().send(i, state, m) if i == 0 else []

    blocked = cr.check(Alone)["never-blocks"]
    assert blocked.verdict == "violated"
    assert "P1 can send no more" in blocked.note
    assert "P2" not in blocked.note


def test_a_process_that_never_sends_is_not_blocked() -> None:
    class OnlyP1(StopAndWait):
        waiting = ()

        def send(self, i: int, state: bool, m: cr.Message) -> list[cr.Step]:
            return super().send(i, state, m) if i == 0 else []

    class Nobody(OnlyP1):
        def send(self, i: int, state: bool, m: cr.Message) -> list[cr.Step]:
            return []

    class Toggles(OnlyP1):
        def internal(self, i: int, state: bool) -> list[tuple[str, cr.Step]]:
            return [("toggle", cr.Step(not state))]

    class NobodyToggles(Nobody, Toggles):
        pass

    found = cr.check(OnlyP1)["never-blocks"]
    assert (found.verdict, found.note) == ("holds", "P2 accepts no send in any state, so it is not judged")
    for engine in ("plain", "native"):
        silent = cr.check(Nobody, engine=engine)["never-blocks"]
        assert (silent.verdict, len(silent.run or ())) == ("violated", 0)
        assert cr.check(OnlyP1, crash="P1", engine=engine)["never-blocks"].verdict == "holds"
    assert cr.check(NobodyToggles)["never-blocks"].verdict == "violated"
    assert cr.check(Toggles, crash="P1")["never-blocks"].verdict == "holds"


def test_a_sender_that_others_keep_blocked_is_found_in_a_run_that_never_ends() -> None:
    class Pings(StopAndWait):
        """P2 tells P1 again and again that it may send, then that it may not; P1 never looks in between."""

        needs_channel = "lossy"
        timers = ("ping",)
        bound = (2, 1)

        def initial(self, i: int) -> bool:
            return i == 0

        def internal(self, i: int, state: bool) -> list[tuple[str, cr.Step]]:
            return [("ping", cr.Step(state, [cr.Packet(1, 0, "ping")]))] if i == 1 else []

        def on_packet(self, i: int, state: bool, packet: cr.Packet) -> list[cr.Step]:
            if packet.kind != "ping":
                return super().on_packet(i, state, packet)
            return [cr.Step(True), cr.Step(False)]

    found = cr.check(Pings, parameters={"copies": 1})["never-blocks"]
    assert found.verdict == "violated"
    assert found.run is not None
    assert found.run.loop


def test_a_saved_search_resumes_where_processes_were_blocked(tmp_path: Path) -> None:
    first = run_check(Check("rendezvous", 3, 3), Limits(states=400), checkpoint=tmp_path / "saved")
    assert first.exploration.blocked_at
    assert first.saved is not None
    resumed = run_check(Check("rendezvous", 3, 3), resume=tmp_path / "saved")
    whole = run_check(Check("rendezvous", 3, 3), engine="native")
    assert resumed.exploration.blocked_at == whole.exploration.blocked_at
    assert resumed.exploration.violated == whole.exploration.violated


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_both_engines_find_the_blocked_sender(engine: str) -> None:
    found = cr.check(StopAndWait, 3, 3, engine=engine)
    assert found.exploration.senders == {0, 1, 2}
    assert found.exploration.blocked_at[0] == found.exploration.violated["never-blocks"] == 2
    program = cr.check(StopAndWait, program="P1: send x to P2\nP2: receive x", engine=engine)
    assert program["can-complete"].verdict == "holds"
