"""[MG], replayed on the machine: who commits what when, and what goes on while a process is passive."""

from __future__ import annotations

from replay import Replay

from crownless.impl.protocol import Packet
from crownless.impl.protocols.murty_garg import MurtyGarg, State

IDLE = State(active=True, messages=(), acks=())


def kinds(packets: list[Packet]) -> list[str]:
    """What is transmitted, each packet as `ack to P2` or `message m to P1`."""
    return [
        " ".join(filter(None, (packet.kind, packet.message and packet.message.name, f"to P{packet.destination + 1}")))
        for packet in packets
    ]


# -- §3: Fig. 4(a) -----------------------------------------------------------------------------------------------------


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


# -- §4.2: who commits what when, Fig. 6 -------------------------------------------------------------------------------


def test_fig_6_type_2_is_committed_by_the_bigger_process_when_it_sends_it_back() -> None:
    story = Replay(MurtyGarg, "P1: receive\nP2: send m to P3; send e to P1\nP3: receive")
    assert kinds(story.do("P2 send m")) == ["request m to P3"]
    assert story.happened == []
    story.do("P2 send e")
    assert kinds(story.do("P3 deliver m from P2")) == ["message m to P2"], "with the same content"
    assert story.happened == ["P2 sends e", "P3 delivers m"]
    story.do("P2 receive message m from P3")
    assert story.happened == ["P2 sends e", "P3 delivers m", "P2 sends m"], "P2 orders e before m"


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
