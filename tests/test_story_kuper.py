"""[Kup], "causal unicast", replayed on the machine of `impl.rst`: Alice, Bob and Carol, matrix by matrix, to the end.

"Giving Alice, Bob, and Carol the creative names P1, P2, and P3": they keep their own names here, in that order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from broken_rst import ChecksEveryColumn
from replay import Replay, check, computation_of, endings, violations

from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.rst import Rst, State
from crownless.impl.unordered import Unordered
from crownless.impl.workloads import Program
from crownless.model_check.check import run_check
from crownless.model_check.request import Check
from crownless.spec import library, notation
from crownless.spec.computation import Message

#: What the three do, whatever the order in which Carol gets her messages.
STORY = library.path("kuper-program").read_text(encoding="utf-8")

NOTHING_DELIVERED = (0, 0, 0)
NOBODY_SENT = ((0, 0, 0), (0, 0, 0), (0, 0, 0))
#: "One message was sent from P1 to P3": m1.
M1 = ((0, 0, 1), (0, 0, 0), (0, 0, 0))
#: The matrix of Bob after the second of his three steps, before he merges what came with m2.
M2 = ((0, 1, 0), (0, 0, 0), (0, 0, 0))
M1_AND_M2 = ((0, 1, 1), (0, 0, 0), (0, 0, 0))
ALL_THREE = ((0, 1, 1), (0, 0, 1), (0, 0, 0))


def alice_sends() -> Replay:
    """The story as far as both of Alice's messages go into the ether."""
    story = Replay(Rst, STORY)
    story.do("Alice send m1")
    story.do("Alice send m2")
    return story


def bob_sends() -> Replay:
    """The story as far as Bob's fateful message to Carol."""
    story = alice_sends()
    story.do("Bob deliver m2 from Alice")
    story.do("Bob send m3")
    return story


def test_the_bundled_program_shows_every_matrix_of_the_run() -> None:
    story, carried = Replay(Rst, STORY), dict[str, Any]()
    shown = re.findall(r"^# (\w+) (send|deliver) (m\d) +carries (\S+) +SENT (\S+) +DELIV (\d+)$", STORY, re.MULTILINE)
    assert len(shown) == 6
    for process, action, message, stamp, sent, deliv in shown:
        if action == "send":
            (packet,) = story.do(f"{process} send {message}")
            carried[message] = packet
        else:
            story.do(f"{process} deliver {message} from {story.processes[carried[message].source]}")
        state = story.at(process)
        rows = ["/".join("".join(map(str, row)) for row in matrix) for matrix in (carried[message].stamp, state.sent)]
        assert [*rows, "".join(map(str, state.deliv))] == [stamp, sent, deliv]
    assert story.can() == set()


# -- the run, section by section ---------------------------------------------------------------------------------------


def test_getting_started_the_matrix_and_the_vector_are_filled_up_with_zeroes() -> None:
    story = Replay(Rst, STORY)
    for process in ("Alice", "Bob", "Carol"):
        assert story.at(process) == State(sent=NOBODY_SENT, deliv=NOTHING_DELIVERED)
    assert story.can() == {"Alice send m1"}


def test_sending_alice_attaches_her_matrix_as_it_was_before_the_increment() -> None:
    story = Replay(Rst, STORY)
    (m1,) = story.do("Alice send m1")
    assert m1.stamp == NOBODY_SENT
    assert story.at("Alice") == State(M1, NOTHING_DELIVERED)
    (m2,) = story.do("Alice send m2")
    assert m2.stamp == M1
    assert story.at("Alice") == State(M1_AND_M2, NOTHING_DELIVERED)


def test_delivering_bob_cares_only_about_his_own_column_and_delivers_m2() -> None:
    story = alice_sends()
    assert story.at("Bob") == State(NOBODY_SENT, NOTHING_DELIVERED)
    (m2,) = [packet for packet in story.system.in_flight(story.state) if packet.message and packet.message.name == "m2"]
    assert [row[1] for row in m2.stamp] == [0, 0, 0]
    assert story.system.refused(story.state) == []
    assert story.can() == {"Bob deliver m2 from Alice", "Carol deliver m1 from Alice"}


def test_after_delivering_bob_counts_counts_and_merges() -> None:
    story = alice_sends()
    before = story.at("Bob")
    assert story.machine.after_delivering(1, before, 0, NOBODY_SENT) == State(M2, (1, 0, 0))  # type: ignore[attr-defined]
    story.do("Bob deliver m2 from Alice")
    assert story.at("Bob") == State(M1_AND_M2, (1, 0, 0))
    assert story.at("Bob").sent == story.at("Alice").sent == M1_AND_M2
    assert story.at("Alice").deliv == NOTHING_DELIVERED


def test_bobs_fateful_message_carries_what_he_knows_and_he_counts_it() -> None:
    story = alice_sends()
    story.do("Bob deliver m2 from Alice")
    (m3,) = story.do("Bob send m3")
    assert m3.stamp == M1_AND_M2
    assert story.at("Bob") == State(ALL_THREE, (1, 0, 0))
    assert story.at("Alice") == State(M1_AND_M2, NOTHING_DELIVERED)
    assert story.at("Carol") == State(NOBODY_SENT, NOTHING_DELIVERED)


def test_m3_is_undeliverable_because_of_the_entry_from_alice_to_carol() -> None:
    story = bob_sends()
    (m3,) = story.system.refused(story.state)
    assert m3.message is not None
    assert m3.message.name == "m3"
    assert m3.stamp == M1_AND_M2
    assert [row[2] for row in m3.stamp] == [1, 0, 0], "one message, sent by P1 and destined for P3"
    assert story.at("Carol") == State(NOBODY_SENT, NOTHING_DELIVERED)
    assert story.can() == {"Carol deliver m1 from Alice"}


def test_then_m1_shows_up_is_delivered_and_m3_has_become_deliverable() -> None:
    story = bob_sends()
    (m1,) = [packet for packet in story.system.in_flight(story.state) if packet.message and packet.message.name == "m1"]
    assert m1.stamp == NOBODY_SENT, "so that Carol may deliver it, and merging it is a no-op"
    story.do("Carol deliver m1 from Alice")
    assert story.at("Carol") == State(M1, (1, 0, 0))
    assert story.system.refused(story.state) == []
    (m3,) = story.system.in_flight(story.state)
    assert [row[2] for row in m3.stamp] == [1, 0, 0] == list(story.at("Carol").deliv)
    story.do("Carol deliver m3 from Bob")
    assert story.at("Carol") == State(ALL_THREE, (1, 1, 0))


def test_at_the_end_bob_and_carol_agree_and_alice_is_ignorant_of_m3() -> None:
    story = bob_sends()
    story.do("Carol deliver m1 from Alice")
    story.do("Carol deliver m3 from Bob")
    assert story.can() == set()
    assert story.waiting() == []
    assert story.at("Bob").sent == story.at("Carol").sent == ALL_THREE
    assert story.at("Alice").sent == M1_AND_M2
    assert [story.at(process).deliv for process in ("Alice", "Bob", "Carol")] == [(0, 0, 0), (1, 0, 0), (1, 1, 0)]
    assert story.happened == [
        "Alice sends m1",
        "Alice sends m2",
        "Bob delivers m2",
        "Bob sends m3",
        "Carol delivers m1",
        "Carol delivers m3",
    ]


def test_over_fifo_channels_m3_sits_in_the_hold_back_queue_until_m1_is_delivered() -> None:
    story = Replay(Rst, STORY, channel="fifo")
    for move in ("Alice send m1", "Alice send m2", "Bob deliver m2 from Alice", "Bob send m3"):
        story.do(move)
    before = story.at("Carol")
    story.do("Carol receive m3 from Bob")
    assert story.at("Carol") == before
    assert story.can() == {"Carol deliver m1 from Alice"}
    story.do("Carol deliver m1 from Alice")
    story.do("Carol deliver m3 from Bob")
    assert story.at("Carol") == State(ALL_THREE, (1, 1, 0))


def test_the_matrix_of_the_introduction_counts_who_sent_how_many_to_whom() -> None:
    story = Replay(Rst, "P1: send a to P3; receive; receive\nP2: send b to P1; send c to P1\nP3:")
    for move in ("P1 send a", "P2 send b", "P2 send c", "P1 deliver b from P2", "P1 deliver c from P2"):
        story.do(move)
    assert story.at("P1").sent == ((0, 0, 1), (2, 0, 0), (0, 0, 0))
    assert story.at("P1").deliv == (0, 2, 0)


def test_the_vector_of_the_introduction_counts_how_many_were_delivered_from_whom() -> None:
    story = Replay(Rst, "P1: receive; receive; receive\nP2: send a to P1; send b to P1\nP3: send c to P1")
    for move in ("P2 send a", "P2 send b", "P3 send c"):
        story.do(move)
    for move in ("P1 deliver a from P2", "P1 deliver c from P3", "P1 deliver b from P2"):
        story.do(move)
    assert story.at("P1").deliv == (0, 2, 1)


# -- every order of things ---------------------------------------------------------------------------------------------


def test_without_a_protocol_carol_may_get_m3_first_and_with_it_she_never_does() -> None:
    confused = computation_of(notation.load(library.path("kuper-alice-bob-carol")))
    causal = computation_of(notation.load(library.path("kuper-alice-bob-carol-causal")))
    program = Program(notation.parse(STORY))
    assert {ending.computation for ending in endings(Unordered, program)} == {confused, causal}
    assert {ending.computation for ending in endings(Rst, program)} == {causal}


def test_every_run_ends_with_the_same_matrices() -> None:
    (ending,) = endings(Rst, Program(notation.parse(STORY)))
    assert ending.finished
    assert ending.locals == [State(M1_AND_M2, (0, 0, 0)), State(ALL_THREE, (1, 0, 0)), State(ALL_THREE, (1, 1, 0))]


def test_a_carol_who_insists_on_m3_first_waits_for_ever() -> None:
    script = notation.load(library.path("kuper-alice-bob-carol"))
    result = run_check(Check("rst", program=script))
    assert violations(result) == {"completes": 4}
    (ending,) = endings(Rst, Program(script))
    assert ending.waiting == ["Carol at its statement 1, receive m3"]


# -- caveats -----------------------------------------------------------------------------------------------------------


def test_if_m1_is_lost_m3_languishes_undelivered() -> None:
    story = Replay(Rst, STORY, channel="lossy")
    for move in ("Alice send m1", "Alice send m2", "Carol lose m1 from Alice", "Bob deliver m2 from Alice"):
        story.do(move)
    story.do("Bob send m3")
    assert story.can() == {"Carol lose m3 from Bob"}
    assert story.waiting() == ["Carol at its statement 1, receive"]


def test_with_loss_the_protocol_is_still_safe_and_not_live() -> None:
    for m in (2, 3):
        result = run_check(Check("rst", 3, m, channel="lossy"))
        assert violations(result) == {"delivers-all": 2}


# -- broadcast ---------------------------------------------------------------------------------------------------------


def test_a_causal_broadcasts_condition_makes_bob_wait_for_ever_for_m1() -> None:
    story = Replay(ChecksEveryColumn, STORY)
    story.do("Alice send m1")
    story.do("Alice send m2")
    story.do("Carol deliver m1 from Alice")
    (m2,) = story.system.refused(story.state)
    assert (m2.source, m2.destination) == (0, 1)
    assert story.can() == set()


def test_a_causal_broadcasts_condition_poses_no_problem_for_safety() -> None:
    assert violations(check(ChecksEveryColumn, 3, 4)) == {"delivers-all": 3}


class Broadcast(Rst):
    """The protocol for messages to several: every receiver counts the message for all of its receivers."""

    admits_multicast = True

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        after = state
        for j in message.receivers:
            after = self.after_sending(i, after, j)
        packets = [Packet(i, j, "message", message, self.stamp(state)) for j in message.receivers]
        return [Step(after, packets, [AppEvent("send", message)])]

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        assert packet.message is not None
        after = step.state
        for j in packet.message.receivers:
            if j != i:
                after = self.after_sending(packet.source, after, j)
        return [step._replace(state=after)]


A_QUESTION_AND_AN_ANSWER = """
P1: send a to P2, P3; receive
P2: receive; send b to P1, P3
P3: receive; receive
"""
TWO_AT_ONCE_AND_A_THIRD = """
P1: send a to P2, P3; receive; receive
P2: send b to P1, P3; receive; receive
P3: receive; send c to P1, P2; receive
"""


@pytest.mark.parametrize("program", [A_QUESTION_AND_AN_ANSWER, TWO_AT_ONCE_AND_A_THIRD])
def test_had_all_messages_been_broadcast_everyones_matrices_would_agree(program: str) -> None:
    assert violations(check(Broadcast, program=program)) == {}
    ends = list(endings(Broadcast, Program(notation.parse(program))))
    assert ends
    for ending in ends:
        assert len({state.sent for state in ending.locals}) == 1
