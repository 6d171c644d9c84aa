"""[SES], replayed on the machines: its figures, and what every site knows at each step.

Also what the text does not say. Its garbage collection for ISIS does not keep causal order (§3), and the proof of
liveness takes the n-th event of a site for a message to S, which it need not be (§4.2.5).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from broken_isis import TheAskedSiteDeletesToo
from broken_ses import InsertsOnlyItsOwnEntry
from replay import Ending, Lines, Replay, check, computation_of, endings, violations
from schiper_eggli_sandoz_setup import everything, names, pairs

from crownless.impl.isis import Isis
from crownless.impl.isis_gc import IsisGc, IsisGcWaits
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.ses import Ses
from crownless.impl.ses_delete import SesDelete
from crownless.impl.ses_multicast import SesMulticast
from crownless.impl.unordered import Unordered
from crownless.impl.workloads import Program
from crownless.model_check.search.reachable import reachable
from crownless.model_check.system.system import System
from crownless.spec import library, notation

#: Fig. 1 as a program.
PROGRAM_1 = library.path("ses-program-1").read_text(encoding="utf-8")


def buff(story: Replay, site: str) -> list[str]:
    """BUFF_S."""
    return [message.name for message in story.at(site).buffer]


def refusals(system: System) -> Iterator[bool]:
    """For every state: is there a packet that may not be taken in yet?"""
    for now in reachable(system):
        yield bool(system.refused(now.state))


# -- §1 and §3, Fig. 1: ISIS -------------------------------------------------------------------------------------------


def test_fig_1_without_a_protocol_s3_may_get_m2_before_m1_and_under_either_protocol_it_never_does() -> None:
    program = Program(notation.parse(PROGRAM_1))
    violation = computation_of(notation.load(library.path("ses-fig1")))
    causal = (*violation[:2], violation[2][::-1])
    assert {ending.computation for ending in endings(Unordered, program)} == {violation, causal}
    for kind in (Isis, Ses, SesDelete, SesMulticast):
        assert {ending.computation for ending in endings(kind, program)} == {causal}, kind.__name__


def test_fig_1_the_packet_from_s1_to_s2_contains_m1_and_mx_and_that_from_s2_to_s3_m1_mx_and_m2() -> None:
    story = Replay(Isis, PROGRAM_1)
    (m1,) = story.do("S1 send M1")
    (mx,) = story.do("S1 send Mx")
    assert (names(m1), names(mx)) == (["M1"], ["M1", "Mx"])
    assert buff(story, "S1") == ["M1", "Mx"]
    story.do("S2 deliver Mx from S1")
    assert buff(story, "S2") == ["M1", "Mx"], "it knows M1, which it does not receive"
    (m2,) = story.do("S2 send M2")
    assert names(m2) == ["M1", "Mx", "M2"]
    assert buff(story, "S1") == ["M1", "Mx"]
    assert buff(story, "S3") == []


def test_fig_1_m1_is_carried_over_two_paths_and_the_second_to_arrive_is_ignored() -> None:
    story = Replay(Isis, PROGRAM_1)
    story.do("S1 send M1; S1 send Mx; S2 deliver Mx from S1; S2 send M2")
    assert story.can() == {"S3 deliver M1 from S1", "S3 deliver M2 from S2"}
    story.do("S3 deliver M2 from S2")
    assert story.happened[-2:] == ["S3 delivers M1", "S3 delivers M2"], "both at once, in the correct order"
    assert buff(story, "S3") == ["M1", "Mx", "M2"]
    happened = list(story.happened)
    story.do("S3 receive packet M1 from S1")
    assert story.happened == happened
    assert buff(story, "S3") == ["M1", "Mx", "M2"]
    assert story.can() == set()


def test_in_isis_nothing_ever_waits() -> None:
    for n, m in ((2, 3), (3, 3)):
        assert not any(refusals(everything(Isis, n, m)))
    assert any(refusals(everything(Ses, 2, 2)))


# -- §3: the garbage collection of ISIS --------------------------------------------------------------------------------


#: What happens when S2 deletes M1 before S3 has received it.
DELETED_TOO_EARLY = [
    "S1 send M1",
    "S1 send Mx",
    "S2 deliver Mx from S1",
    "S2 request deletion",
    "S1 receive request from S2",
    "S3 receive request from S2",
    "S2 receive ack from S1",
    "S2 receive ack from S3",
    "S2 send M2",
]


def test_as_printed_the_garbage_collection_breaks_causal_order_in_ten_actions() -> None:
    assert violations(check(IsisGc, program=PROGRAM_1, channel="fifo")) == {"causal": 10}
    story = Replay(IsisGc, PROGRAM_1, channel="fifo")
    story.do(*DELETED_TOO_EARLY[:-1])
    assert buff(story, "S2") == [], "all have acknowledged, S3 among them, which M1 is for and has not reached"
    (m2,) = story.do(DELETED_TOO_EARLY[-1])
    assert names(m2) == ["M2"]
    story.do("S3 deliver M2 from S2; S3 deliver M1 from S1")
    assert story.happened[-2:] == ["S3 delivers M2", "S3 delivers M1"]


def test_if_a_site_acknowledges_only_what_has_reached_it_the_garbage_collection_keeps_causal_order() -> None:
    assert violations(check(IsisGcWaits, program=PROGRAM_1, channel="fifo")) == {}
    story = Replay(IsisGcWaits, PROGRAM_1, channel="fifo")
    story.do(*DELETED_TOO_EARLY[:5], "S3 receive from S2")
    assert "S3 receive request from S2" not in story.can(), "it waits in the hold-back queue"
    assert buff(story, "S2") == ["M1", "Mx"]
    story.do("S3 deliver M1 from S1; S3 receive request from S2; S2 receive ack from S1; S2 receive ack from S3")
    assert buff(story, "S2") == []


#: "Some message M identified in P could still be on the way to S', sent by another site S''": x; P3, P2 and P1.
STILL_ON_THE_WAY = """
P1: send x to P2; send y to P3; send z to P2
P2: receive; receive; receive
P3: receive
"""


@pytest.mark.parametrize(("kind", "times"), [(IsisGc, 1), (TheAskedSiteDeletesToo, 2)])
def test_a_requested_site_that_deletes_does_not_recognize_the_replica_that_is_still_on_its_way(
    kind: type[IsisGc], times: int
) -> None:
    story = Replay(kind, STILL_ON_THE_WAY, channel="fifo")
    story.do("P1 send x; P1 send y; P2 deliver x from P1; P3 deliver y from P1")
    (x_y_z,) = story.do("P1 send z")
    assert names(x_y_z) == ["x", "y", "z"]
    story.do("P3 request deletion; P2 receive request from P3; P2 deliver z from P1")
    assert story.happened.count("P2 delivers x") == times


# -- §2: replicated data -----------------------------------------------------------------------------------------------


def test_fig_2_with_the_token_and_no_protocol_they_may_not() -> None:
    copies = """
    S1: send W1 to S2; send w1 to S3; send token to S2
    S2: receive W1; receive token; send W2 to S3
    S3: receive; receive
    """
    assert violations(check(Unordered, program=copies))["causal"] == 7
    assert violations(check(Ses, program=copies)) == {}


# -- §4.2, Fig. 1 again: the pairs -------------------------------------------------------------------------------------


def test_fig_1_with_pairs_m2_waits_at_s3_until_its_time_has_passed_that_of_m1() -> None:
    story = Replay(Ses, PROGRAM_1)
    (m1,) = story.do("S1 send M1")
    assert (m1.stamp.time, pairs(m1.stamp.buffer)) == ((1, 0, 0), {}), "this pair was not sent with M1"
    assert pairs(story.at("S1").buffer) == {"S3": (1, 0, 0)}
    (mx,) = story.do("S1 send Mx")
    assert (mx.stamp.time, pairs(mx.stamp.buffer)) == ((2, 0, 0), {"S3": (1, 0, 0)})
    assert pairs(story.at("S1").buffer) == {"S2": (2, 0, 0), "S3": (1, 0, 0)}
    story.do("S2 deliver Mx from S1")
    assert (story.at("S2").time, pairs(story.at("S2").buffer)) == ((2, 1, 0), {"S3": (1, 0, 0)})
    (m2,) = story.do("S2 send M2")
    assert (m2.stamp.time, pairs(m2.stamp.buffer)) == ((2, 2, 0), {"S3": (1, 0, 0)})
    assert pairs(story.at("S2").buffer) == {"S3": (2, 2, 0)}, "the older pair is discarded"
    assert story.system.refused(story.state) == [m2]
    assert story.can() == {"S3 deliver M1 from S1"}
    story.do("S3 deliver M1 from S1")
    assert (story.at("S3").time, pairs(story.at("S3").buffer)) == ((1, 0, 1), {})
    story.do("S3 deliver M2 from S2")
    assert (story.at("S3").time, pairs(story.at("S3").buffer)) == ((2, 2, 2), {}), "a pair for itself is not introduced"


def test_a_message_that_overtakes_carries_knowledge_of_the_one_it_overtook_so_that_no_channel_need_be_fifo() -> None:
    story = Replay(Ses, "S1: send M1 to S2; send M2 to S2\nS2: receive; receive")
    story.do("S1 send M1")
    (m2,) = story.do("S1 send M2")
    assert pairs(m2.stamp.buffer) == {"S2": (1, 0)}
    assert story.can() == {"S2 deliver M1 from S1"}


# -- §4.2.3, Fig. 5 ----------------------------------------------------------------------------------------------------


#: Fig. 5 with S3 and S4 open for what comes.
FIG_5 = """
S1: send M1 to S3; send M2 to S2; send M3 to S4
S2: receive; send M4 to S3; send M5 to S4
S3: receive; receive; receive
S4: receive; receive; send M6 to S3
"""


@pytest.mark.parametrize("kind", [Ses, SesDelete, Isis])
def test_fig_5_s3_gets_m1_m4_m6_and_s4_gets_m3_and_m5_in_the_order_of_arrival(kind: type[ProtocolMachine]) -> None:
    found: list[Ending] = list(endings(kind, Program(notation.parse(FIG_5))))
    assert all(ending.finished for ending in found)
    assert {tuple(name for _, name in ending.computation[2]) for ending in found} == {("M1", "M4", "M6")}
    assert {tuple(name for kind, name in ending.computation[3] if kind == "receive") for ending in found} == {
        ("M3", "M5"),
        ("M5", "M3"),
    }


def test_fig_5_the_time_of_s3_at_the_first_delivery_is_the_vector_of_the_figure() -> None:
    story = Replay(Ses, FIG_5)
    story.do("S1 send M1; S3 deliver M1 from S1")
    assert story.at("S3").time == (1, 0, 1, 0)


def test_fig_5_m6_may_arrive_first_and_waits_for_both() -> None:
    story = Replay(Ses, FIG_5)
    story.do("S1 send M1; S1 send M2; S1 send M3; S2 deliver M2 from S1; S2 send M4; S2 send M5; S4 deliver M3 from S1")
    story.do("S4 deliver M5 from S2")
    (m6,) = story.do("S4 send M6")
    assert pairs(m6.stamp.buffer) == {"S2": (2, 0, 0, 0), "S3": (2, 2, 0, 0)}, "one pair for M1 and M4"
    assert story.can() == {"S3 deliver M1 from S1"}
    story.do("S3 deliver M1 from S1")
    assert story.can() == {"S3 deliver M4 from S2"}
    story.do("S3 deliver M4 from S2")
    assert story.can() == {"S3 deliver M6 from S4"}


# -- §4.2.5: the proof of liveness -------------------------------------------------------------------------------------


def waits_without_a_message(kind: type[Ses], n: int, m: int) -> int | None:
    """In how many actions can a message wait at S, VT(S)[i] < VT[i], and event VT[i] of S_i is no emission for S?"""
    system = everything(kind, n, m)
    for now in reachable(system, monitored=True):
        lines: Lines = now.monitor_state[1]
        for packet in system.refused(now.state):
            s = packet.destination
            for i, event in enumerate(packet.stamp.buffer[s]):
                if event > now.locals[s].time[i] and not is_for(lines[i][event - 1], s):
                    return now.depth
    return None


def is_for(event: tuple[str, str], s: int) -> bool:
    """Is the event the emission of a message for S? In the free workload a message is called by its channel."""
    kind, name = event
    return kind == "send" and name.partition("→")[2].startswith(f"{s + 1}#")


def test_the_nth_event_of_site_i_need_not_be_the_emission_of_a_message_for_s_as_the_proof_of_liveness_says() -> None:
    assert waits_without_a_message(Ses, 2, 4) is None
    assert waits_without_a_message(Ses, 3, 2) is None
    assert waits_without_a_message(Ses, 3, 3) == 4
    story = Replay(Ses, "S1: send x to S2\nS2: receive; send M1 to S3; send M to S3\nS3: receive; receive")
    story.do("S1 send x; S2 deliver x from S1; S2 send M1; S2 send M")
    (m,) = story.system.refused(story.state)
    assert pairs(m.stamp.buffer) == {"S3": (1, 2, 0)}, "the first event of S1 is SEND(x), and x is for S2"
    assert story.at("S3").time == (0, 0, 0)


def test_it_is_if_a_pair_has_only_the_entry_of_the_sender() -> None:
    assert waits_without_a_message(InsertsOnlyItsOwnEntry, 3, 3) is None
    assert waits_without_a_message(InsertsOnlyItsOwnEntry, 4, 3) is None
