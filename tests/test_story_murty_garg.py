"""[MG], replayed on the machine: who commits what when, how Fig. 4(a) ends, and what goes on while a process is
passive.

Also what the text does not say: a process's sends need not be committed in the order in which it intended them; and the
algorithm can generate every synchronous computation (within the bounds searched).
"""

from __future__ import annotations

from typing import Any

import pytest
from broken_buffer import FIG_1, WaitsAndAcknowledges
from broken_murty_garg import Blocks
from replay import Lines, Replay, check, endings, lines_of, numbered, over, violations

from crownless.impl.murty_garg import MurtyGarg, State
from crownless.impl.protocol import Packet, ProtocolMachine
from crownless.impl.workloads import Free, Program
from crownless.model_check.check.check import run_check
from crownless.model_check.check.request import Check
from crownless.model_check.search.reachable import reachable
from crownless.model_check.system.system import System
from crownless.spec import library, notation
from crownless.spec.enumeration import computations
from crownless.spec.orders import synchronous

IDLE = State(active=True, messages=(), acks=())


def kinds(packets: list[Packet]) -> list[str]:
    """What is transmitted, each packet as `ack to P2` or `message m to P1`."""
    return [
        " ".join(filter(None, (packet.kind, packet.message and packet.message.name, f"to P{packet.destination + 1}")))
        for packet in packets
    ]


def everything(kind: type[ProtocolMachine], n: int, m: int, channel: str = "unordered") -> System:
    """Any process may send to any other, m messages in all."""
    return over(kind(n), Free(n, m), channel)


# -- §3: Fig. 4(a) -----------------------------------------------------------------------------------------------------

#: (s1 ≺ r2 and r1 ≺ s2), and (s2 ≺ r1 and r2 ≺ s1): "the only possible synchronous message orderings".
M1_FIRST: Lines = ((("send", "m1"), ("receive", "m2")), (("receive", "m1"), ("send", "m2")))
M2_FIRST: Lines = ((("receive", "m2"), ("send", "m1")), (("send", "m2"), ("receive", "m1")))


def test_fig_4a_two_intents_at_once_end_synchronous_whichever_way_they_interleave() -> None:
    script = notation.load(library.path("mg-fig4a"))
    assert violations(run_check(Check("murty-garg", program=script))) == {}
    (ending,) = endings(MurtyGarg, Program(script))
    assert ending.computation == M2_FIRST, "the ranks decide: the bigger process sends first"
    assert ending.finished
    assert ending.locals == [IDLE, IDLE]


def test_fig_4a_the_other_order_comes_about_if_the_request_arrives_before_the_bigger_process_intends_to_send() -> None:
    found = {ending.computation for ending in endings(MurtyGarg, Free(2, 2))}
    named = [
        tuple(
            tuple((kind, message.replace("1→2#1", "m1").replace("2→1#1", "m2")) for kind, message in line) for line in c
        )
        for c in found
    ]
    assert {c for c in named if "#" not in str(c)} == {M1_FIRST, M2_FIRST}


def test_fig_4a_move_by_move() -> None:
    story = Replay(MurtyGarg, "P1: send m1 to P2; receive\nP2: send m2 to P1; receive")
    assert kinds(story.do("P1 send m1")) == ["request m1 to P2"]
    assert kinds(story.do("P2 send m2")) == ["message m2 to P1"]
    assert story.at("P1") == IDLE, "a request makes nobody passive"
    assert story.at("P2") == State(active=False, messages=(), acks=())
    assert story.happened == ["P2 sends m2"]
    assert story.do("P2 receive request m1 from P1") == []
    assert [message.name for message in story.at("P2").messages] == ["m1"], "a request waits while P2 is passive"
    assert kinds(story.do("P1 deliver m2 from P2")) == ["ack to P2"]
    assert story.happened == ["P2 sends m2", "P1 delivers m2"]
    assert kinds(story.do("P2 receive ack from P1")) == ["message m1 to P1"]
    assert story.at("P2") == State(active=False, messages=(), acks=()), "passive again"
    assert kinds(story.do("P1 receive message m1 from P2")) == ["ack to P2"]
    story.do("P2 receive ack from P1")
    assert story.happened == ["P2 sends m2", "P1 delivers m2", "P2 delivers m1", "P1 sends m1"]
    assert story.at("P1") == story.at("P2") == IDLE


# -- §1: more than blocking --------------------------------------------------------------------------------------------


def test_the_informal_algorithm_deadlocks_on_two_intents_at_once_and_this_one_does_not() -> None:
    assert violations(check(WaitsAndAcknowledges, program=FIG_1)) == {"completes": 6}
    assert violations(check(MurtyGarg, program=FIG_1)) == {}


def test_a_passive_process_goes_on_receiving_asking_and_taking_requests() -> None:
    story = Replay(
        MurtyGarg,
        "P1: send d to P2; receive\nP2: send a to P1; send e to P3; receive; receive\nP3: send b to P2; receive",
    )
    story.do("P2 send a")
    assert not story.at("P2").active
    assert kinds(story.do("P2 send e")) == ["request e to P3"], "it sends the request"
    story.do("P3 send b")
    assert story.do("P2 deliver b from P3") == [], "it receives, and owes the acknowledgement"
    story.do("P1 send d")
    assert story.do("P2 receive request d from P1") == [], "it takes a request, and lets it wait"
    assert story.at("P2").acks == (2,)
    assert [message.name for message in story.at("P2").messages] == ["d"]
    assert story.happened == ["P2 sends a", "P3 sends b", "P2 delivers b"]
    story.do("P1 deliver a from P2")
    assert kinds(story.do("P2 receive ack from P1")) == ["ack to P3", "message d to P1"]
    assert story.happened[3:] == ["P1 delivers a", "P2 delivers d"]


def test_every_state_of_the_blocking_algorithm_is_one_of_this_and_not_conversely() -> None:
    def reached(kind: type[ProtocolMachine]) -> set[Any]:
        system = everything(kind, 3, 3)
        return {
            (tuple(now.locals), tuple(sorted(map(repr, now.in_flight))), system.position(now.state))
            for now in reachable(system)
        }

    blocking, ours = reached(Blocks), reached(MurtyGarg)
    assert blocking < ours
    assert (len(blocking), len(ours)) == (1376, 2491)


# -- §4.2: who commits what when, Fig. 6 -------------------------------------------------------------------------------


def test_fig_6_type_1_is_committed_at_the_send_and_at_the_receive() -> None:
    story = Replay(MurtyGarg, "P1: receive\nP2: send m to P1")
    assert kinds(story.do("P2 send m")) == ["message m to P1"]
    assert story.happened == ["P2 sends m"]
    assert kinds(story.do("P1 deliver m from P2")) == ["ack to P2"]
    assert story.happened == ["P2 sends m", "P1 delivers m"]


def test_fig_6_type_2_is_committed_by_the_bigger_process_when_it_sends_it_back() -> None:
    story = Replay(MurtyGarg, "P1: receive\nP2: send m to P3; send e to P1\nP3: receive")
    assert kinds(story.do("P2 send m")) == ["request m to P3"]
    assert story.happened == []
    story.do("P2 send e")
    assert kinds(story.do("P3 deliver m from P2")) == ["message m to P2"], "with the same content"
    assert story.happened == ["P2 sends e", "P3 delivers m"]
    story.do("P2 receive message m from P3")
    assert story.happened == ["P2 sends e", "P3 delivers m", "P2 sends m"], "P2 orders e before m"


def test_every_message_is_committed_at_a_send_and_a_receive_from_the_bigger_to_the_smaller_process() -> None:
    system = everything(MurtyGarg, 3, 3)
    commits = 0
    for now in reachable(system):
        for step, _ in now.moves:
            committed = {(o.process, o.message) for o in step.observations if o.kind != "hand"}
            sent = {(p.source, p.message) for p in system.transmitted(step) if p.kind == "message"}
            received = {(p.destination, p.message) for p in (step.action.packet,) if p and p.kind == "message"}
            assert committed == sent | received
            assert all(p.source > p.destination for p in system.transmitted(step) if p.kind == "message")
            commits += len(committed)
    assert commits > 1000


# -- §4.3: acknowledgements, Fig. 7 ------------------------------------------------------------------------------------


def test_fig_7_the_receiver_acknowledges_once_its_own_last_send_is_acknowledged() -> None:
    story = Replay(MurtyGarg, "P1: receive; receive\nP2: send g to P1; receive\nP3: send e to P2; send h to P1")
    story.do("P2 send g; P3 send e")
    assert story.do("P2 deliver e from P3") == []
    assert story.at("P2") == State(active=False, messages=(), acks=(2,))
    assert story.do("P3 send h") == [], "SP: P3 is passive until e is acknowledged"
    assert [message.name for message in story.at("P3").messages] == ["h"]
    assert kinds(story.do("P1 deliver g from P2")) == ["ack to P2"]
    assert kinds(story.do("P2 receive ack from P1")) == ["ack to P3"], "RP"
    assert story.at("P2") == IDLE
    assert kinds(story.do("P3 receive ack from P2")) == ["message h to P1"]
    assert story.happened == ["P2 sends g", "P3 sends e", "P2 delivers e", "P1 delivers g", "P3 sends h"]


def test_a_process_is_passive_exactly_while_one_message_of_its_own_is_not_acknowledged() -> None:
    for now in reachable(everything(MurtyGarg, 3, 3)):
        local, in_flight = now.locals, now.in_flight
        for i in range(3):
            open_sends = sum(packet.kind == "message" and packet.source == i for packet in in_flight)
            open_sends += sum(packet.kind == "ack" and packet.destination == i for packet in in_flight)
            open_sends += sum(owner.acks.count(i) for owner in local)
            assert open_sends == (0 if local[i].active else 1)


def test_the_smallest_process_is_always_active() -> None:
    assert all(now.locals[0].active for now in reachable(everything(MurtyGarg, 3, 3)))


@pytest.mark.parametrize(
    ("program", "control"), [("P1: receive\nP2: send m to P1", 1), ("P1: send m to P2\nP2: receive", 2)]
)
def test_a_message_costs_one_control_message_to_a_smaller_process_and_two_to_a_bigger(
    program: str, control: int
) -> None:
    story = Replay(MurtyGarg, program)
    transmitted = []
    while story.can():
        (move,) = story.can()
        transmitted += story.do(move)
    assert sum(packet.kind != "message" for packet in transmitted) == control
    assert sum(packet.kind == "message" for packet in transmitted) == 1


# -- what the text does not say: how much it can generate --------------------------------------------------------------


@pytest.mark.parametrize(("n", "m", "count"), [(2, 2, 4), (2, 3, 8), (3, 2, 36), (3, 3, 216)])
def test_the_algorithm_generates_every_synchronous_computation_and_no_other(n: int, m: int, count: int) -> None:
    generated = {numbered(ending.computation) for ending in endings(MurtyGarg, Free(n, m))}
    wanted = {numbered(lines_of(c)) for c in computations(n, m) if synchronous(c).kept}
    assert generated == wanted
    assert len(wanted) == count
