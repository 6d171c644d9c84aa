"""[Kup], "causal unicast", replayed on the machine of `impl.rst`: Alice, Bob and Carol, matrix by matrix, to the end.

"Giving Alice, Bob, and Carol the creative names P1, P2, and P3": they keep their own names here, in that order.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from broken_rst import ChecksEveryColumn
from replay import Replay, check, computation_of, endings, violations

from crownless.impl.rst import Rst, State
from crownless.impl.unordered import Unordered
from crownless.impl.variants.for_matrices import BroadcastingAndCountingAll
from crownless.impl.workloads import Program
from crownless.model_check.check.check import run_check
from crownless.model_check.check.request import Check
from crownless.spec import library, notation

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


def test_the_run_section_by_section() -> None:
    """The matrices that go with it are those of the bundled program, above."""
    story = Replay(Rst, STORY)
    assert {story.at(process) for process in story.processes} == {State(NOBODY_SENT, NOTHING_DELIVERED)}
    assert story.can() == {"Alice send m1"}
    story.do("Alice send m1; Alice send m2")
    assert story.can() == {"Bob deliver m2 from Alice", "Carol deliver m1 from Alice"}
    before = story.at("Bob")
    assert story.machine.after_delivering(1, before, 0, NOBODY_SENT) == State(M2, (1, 0, 0))  # type: ignore[attr-defined]
    story.do("Bob deliver m2 from Alice; Bob send m3")
    (m3,) = story.system.refused(story.state)
    assert [row[2] for row in m3.stamp] == [1, 0, 0], "one message, sent by P1 and destined for P3"
    assert story.can() == {"Carol deliver m1 from Alice"}
    story.do("Carol deliver m1 from Alice")
    assert list(story.at("Carol").deliv) == [1, 0, 0]
    assert story.system.refused(story.state) == []
    story.do("Carol deliver m3 from Bob")
    assert story.waiting() == []
    assert story.at("Bob").sent == story.at("Carol").sent == ALL_THREE
    assert story.at("Alice").sent == M1_AND_M2, "Alice is ignorant of m3"


def test_over_fifo_channels_m3_sits_in_the_hold_back_queue_until_m1_is_delivered() -> None:
    story = Replay(Rst, STORY, channel="fifo")
    story.do("Alice send m1; Alice send m2; Bob deliver m2 from Alice; Bob send m3")
    before = story.at("Carol")
    story.do("Carol receive m3 from Bob")
    assert story.at("Carol") == before
    assert story.can() == {"Carol deliver m1 from Alice"}
    story.do("Carol deliver m1 from Alice; Carol deliver m3 from Bob")
    assert story.at("Carol") == State(ALL_THREE, (1, 1, 0))


def test_the_matrix_of_the_introduction_counts_who_sent_how_many_to_whom() -> None:
    story = Replay(Rst, "P1: send a to P3; receive; receive\nP2: send b to P1; send c to P1\nP3:")
    story.do("P1 send a; P2 send b; P2 send c; P1 deliver b from P2; P1 deliver c from P2")
    assert story.at("P1").sent == ((0, 0, 1), (2, 0, 0), (0, 0, 0))
    assert story.at("P1").deliv == (0, 2, 0)


def test_the_vector_of_the_introduction_counts_how_many_were_delivered_from_whom() -> None:
    story = Replay(Rst, "P1: receive; receive; receive\nP2: send a to P1; send b to P1\nP3: send c to P1")
    story.do("P2 send a; P2 send b; P3 send c; P1 deliver a from P2; P1 deliver c from P3; P1 deliver b from P2")
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
    story.do("Alice send m1; Alice send m2; Carol lose m1 from Alice; Bob deliver m2 from Alice; Bob send m3")
    assert story.can() == {"Carol lose m3 from Bob"}
    assert story.waiting() == ["Carol at its statement 1, receive"]


# -- broadcast ---------------------------------------------------------------------------------------------------------


def test_a_causal_broadcasts_condition_makes_bob_wait_for_ever_for_m1() -> None:
    story = Replay(ChecksEveryColumn, STORY)
    story.do("Alice send m1; Alice send m2; Carol deliver m1 from Alice")
    (m2,) = story.system.refused(story.state)
    assert (m2.source, m2.destination) == (0, 1)
    assert story.can() == set()


def test_a_causal_broadcasts_condition_poses_no_problem_for_safety() -> None:
    assert violations(check(ChecksEveryColumn, 3, 4)) == {"delivers-all": 3}


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
    assert violations(check(BroadcastingAndCountingAll, program=program)) == {}
    ends = list(endings(BroadcastingAndCountingAll, Program(notation.parse(program))))
    assert ends
    for ending in ends:
        assert len({state.sent for state in ending.locals}) == 1
