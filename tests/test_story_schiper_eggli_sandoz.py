"""[SES], replayed on the machines: its figures, what every site knows at each step, and what a failure does.

Also what the text does not say. Its garbage collection for ISIS does not keep causal order (§3); the proof of liveness
takes the n-th event of a site for a message to S, which it need not be (§4.2.5); and neither does the number MIN(S) of
§4.3 mean what the text says, nor need the survivors agree only once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from broken_isis import TheAskedSiteDeletesToo
from broken_ses import InsertsOnlyItsOwnEntry
from broken_ses_variants import FIG_6, FIG_6_MIRRORED, NOTHING_LOST, SENT_BEFORE
from replay import Ending, Lines, Recorder, Replay, check, computation_of, endings, over, violations

from crownless.impl import ses_rollback
from crownless.impl.channels import channel_named
from crownless.impl.isis import Isis
from crownless.impl.isis_gc import IsisGc, IsisGcWaits
from crownless.impl.ops import Value
from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.ses import Ses, State
from crownless.impl.ses_delete import SesDelete
from crownless.impl.ses_multicast import SesMulticast
from crownless.impl.ses_rollback import Failure, SesRollback, depends
from crownless.impl.unordered import Unordered
from crownless.impl.workloads import Free, Program
from crownless.model_check.check import run_check
from crownless.model_check.explorer import explore
from crownless.model_check.monitors import DeliveryMonitor
from crownless.model_check.properties import DELIVERS_ALL, NEVER_BLOCKS, properties_of
from crownless.model_check.reachable import reachable
from crownless.model_check.request import Check
from crownless.model_check.system import LocalStep, System
from crownless.model_check.system import State as GlobalState
from crownless.spec import library, notation

#: Fig. 1 as a program.
PROGRAM_1 = library.path("ses-program-1").read_text(encoding="utf-8")


def names(packet: Packet) -> list[str]:
    """The messages that a packet of ISIS carries, in order."""
    return [message.name for message in packet.stamp]


def buff(story: Replay, site: str) -> list[str]:
    """BUFF_S."""
    return [message.name for message in story.at(site).buffer]


def pairs(buffer: Any) -> dict[str, tuple[int, ...]]:
    """ORD_BUFF_S: site → time vector."""
    return {f"S{k + 1}": tuple(pair) for k, pair in enumerate(buffer) if any(pair)}


def everything(kind: type[ProtocolMachine], n: int, m: int, crash: str | None = None) -> System:
    """Any site may send to any other, m messages in all; the computation so far is remembered."""
    return over(kind(n), Free(n, m), crash=crash, monitors=(Recorder(n),))


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
    for move in ("S1 send M1", "S1 send Mx", "S2 deliver Mx from S1", "S2 send M2"):
        story.do(move)
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
    for move in DELETED_TOO_EARLY[:-1]:
        story.do(move)
    assert buff(story, "S2") == [], "all have acknowledged, S3 among them, which M1 is for and has not reached"
    (m2,) = story.do(DELETED_TOO_EARLY[-1])
    assert names(m2) == ["M2"]
    story.do("S3 deliver M2 from S2")
    story.do("S3 deliver M1 from S1")
    assert story.happened[-2:] == ["S3 delivers M2", "S3 delivers M1"]


def test_three_messages_and_one_site_that_collects_once_are_enough_to_break_it() -> None:
    once = {"rounds": (1, 0, 0)}
    assert violations(check(IsisGc, 3, 3, channel="fifo", parameters=once)) == {"causal": 10}
    assert violations(check(IsisGcWaits, 3, 3, channel="fifo", parameters=once)) == {}
    assert violations(check(IsisGc, 3, 2, channel="fifo", parameters=once)) == {}


def test_if_a_site_acknowledges_only_what_has_reached_it_the_garbage_collection_keeps_causal_order() -> None:
    assert violations(check(IsisGcWaits, program=PROGRAM_1, channel="fifo")) == {}
    story = Replay(IsisGcWaits, PROGRAM_1, channel="fifo")
    for move in DELETED_TOO_EARLY[:5]:
        story.do(move)
    story.do("S3 receive from S2")
    assert "S3 receive request from S2" not in story.can(), "it waits in the hold-back queue"
    assert buff(story, "S2") == ["M1", "Mx"]
    story.do("S3 deliver M1 from S1")
    story.do("S3 receive request from S2")
    story.do("S2 receive ack from S1")
    story.do("S2 receive ack from S3")
    assert buff(story, "S2") == []


@pytest.mark.parametrize("kind", [IsisGc, IsisGcWaits])
def test_the_garbage_collection_needs_messages_received_in_the_order_of_emission(kind: type[IsisGc]) -> None:
    assert violations(check(kind, 2, 2, channel="fifo")) == {}
    assert violations(check(kind, 2, 2))["delivers-once"] == 7


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
    for move in ("P1 send x", "P1 send y", "P2 deliver x from P1", "P3 deliver y from P1"):
        story.do(move)
    (x_y_z,) = story.do("P1 send z")
    assert names(x_y_z) == ["x", "y", "z"]
    story.do("P3 request deletion")
    story.do("P2 receive request from P3")
    story.do("P2 deliver z from P1")
    assert story.happened.count("P2 delivers x") == times


# -- §2: replicated data -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [SesMulticast, Isis])
def test_fig_2_every_site_sees_the_writes_in_one_order(kind: type[ProtocolMachine]) -> None:
    text = library.path("ses-fig2").read_text(encoding="utf-8")
    for k in range(1, 5):
        text = text.replace(f"receive W{k}", "receive")
    found = {ending.computation for ending in endings(kind, Program(notation.parse(text)))}
    assert found
    for lines in found:
        writes = [[name for _, name in line if name.startswith("W")] for line in lines]
        assert writes == [["W1", "W2", "W3", "W4"]] * 3


def test_fig_2_with_the_token_and_no_protocol_they_may_not() -> None:
    copies = """
    S1: send W1 to S2; send w1 to S3; send token to S2
    S2: receive W1; receive token; send W2 to S3
    S3: receive; receive
    """
    assert violations(check(Unordered, program=copies))["causal"] == 7
    assert violations(check(Ses, program=copies)) == {}


@pytest.mark.parametrize("kind", [SesMulticast, Isis])
def test_two_tokens_are_two_orders_and_causal_order_lets_two_sites_see_them_interleaved_differently(
    kind: type[ProtocolMachine],
) -> None:
    text = library.path("ses-fig2-two-tokens").read_text(encoding="utf-8")
    assert violations(check(kind, program=text)) == {}


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


@pytest.mark.parametrize(("n", "m"), [(2, 3), (3, 3), (4, 3)])
def test_a_buffer_has_at_most_n_minus_1_pairs_and_they_are_of_the_past(n: int, m: int) -> None:
    sizes = set()
    for now in reachable(everything(Ses, n, m)):
        for i, local in enumerate(now.locals):
            held = pairs(local.buffer)
            sizes.add(len(held))
            assert f"S{i + 1}" not in held
            assert all(vt[k] <= local.time[k] for vt in held.values() for k in range(n)), "Lemma 2"
    assert max(sizes) == n - 1


def test_every_bundled_program_keeps_the_bound_on_the_pairs() -> None:
    for name in ("ses-fig5", "ses-fig6", "ses-program-1", "kuper-program"):
        script = notation.load(library.path(name))
        for ending in endings(Ses, Program(script)):
            assert all(len(pairs(local.buffer)) < len(script.processes) for local in ending.locals)


def test_a_message_that_overtakes_carries_knowledge_of_the_one_it_overtook_so_that_no_channel_need_be_fifo() -> None:
    story = Replay(Ses, "S1: send M1 to S2; send M2 to S2\nS2: receive; receive")
    story.do("S1 send M1")
    (m2,) = story.do("S1 send M2")
    assert pairs(m2.stamp.buffer) == {"S2": (1, 0)}
    assert story.can() == {"S2 deliver M1 from S1"}
    for channel in ("unordered", "fifo"):
        for n, m in ((2, 4), (3, 3)):
            assert violations(check(Ses, n, m, channel=channel)) == {}


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
    story.do("S1 send M1")
    story.do("S3 deliver M1 from S1")
    assert story.at("S3").time == (1, 0, 1, 0)


def test_fig_5_m6_may_arrive_first_and_waits_for_both() -> None:
    story = Replay(Ses, FIG_5)
    for move in ("S1 send M1", "S1 send M2", "S1 send M3", "S2 deliver M2 from S1", "S2 send M4", "S2 send M5"):
        story.do(move)
    for move in ("S4 deliver M3 from S1", "S4 deliver M5 from S2"):
        story.do(move)
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
    for move in ("S1 send x", "S2 deliver x from S1", "S2 send M1", "S2 send M"):
        story.do(move)
    (m,) = story.system.refused(story.state)
    assert pairs(m.stamp.buffer) == {"S3": (1, 2, 0)}, "the first event of S1 is SEND(x), and x is for S2"
    assert story.at("S3").time == (0, 0, 0)


def test_it_is_if_a_pair_has_only_the_entry_of_the_sender() -> None:
    assert waits_without_a_message(InsertsOnlyItsOwnEntry, 3, 3) is None
    assert waits_without_a_message(InsertsOnlyItsOwnEntry, 4, 3) is None


# -- §4.3, Fig. 6: a failure -------------------------------------------------------------------------------------------

#: Fig. 6, but that S3 goes on and another site hears from it.
FIG_6_AND_ON = """
S1: send M1 to S2; send M2 to S3
S2: receive; receive; receive; receive
S3: receive; send M3 to S2; send M4 to S2; send M5 to S4; receive
S4: receive; send M6 to S2
"""


class Failing(Replay):
    """A run in which S1 may crash."""

    def __init__(self, kind: type[ProtocolMachine], program: str) -> None:
        super().__init__(kind, program, crash="S1")


def fails(kind: type[ProtocolMachine], program: str) -> dict[str, int]:
    """What breaks if S1 may crash: property → length of the run shown.

    Receives that nothing is left for do not count, so a program may have some to spare.
    """
    script = notation.parse(program)
    decided = properties_of(kind(len(script.processes)), ("causal",), program=False)
    properties = tuple(known for known in decided if known != NEVER_BLOCKS)
    request = Check(kind, program=script, channel="unordered", orders=("causal",), crash="S1", properties=properties)
    return violations(run_check(request))


#: S1 crashes after it has sent M1, which is lost, and M2, which is not.
FAILURE = ["S1 send M1", "S1 send M2", "S1 crash", "S2 lose M1 from S1", "S3 deliver M2 from S1"]


def test_fig_6_m3_waits_for_m1_for_ever_and_all_other_messages_pile_up_behind_it() -> None:
    story = Failing(Ses, FIG_6_AND_ON)
    for move in (*FAILURE, "S3 send M3", "S3 send M4"):
        story.do(move)
    assert [packet.message.name for packet in story.system.refused(story.state) if packet.message] == ["M3", "M4"]
    (m3, _) = story.system.refused(story.state)
    assert pairs(m3.stamp.buffer)["S2"] == (1, 0, 0, 0), "the pair (S2, VT(M1))"
    story.do("S3 send M5")
    assert story.can() == {"S4 deliver M5 from S3"}


def test_fig_6_any_site_that_has_heard_from_s3_is_cut_off_from_s2_too() -> None:
    story = Failing(Ses, FIG_6_AND_ON)
    for move in (*FAILURE, "S3 send M3", "S3 send M4", "S3 send M5", "S4 deliver M5 from S3", "S4 send M6"):
        story.do(move)
    assert len(story.system.refused(story.state)) == 3
    assert story.can() == set()


def test_fig_6_causal_order_survives_the_failure_and_liveness_does_not() -> None:
    figure = library.path("ses-fig6").read_text(encoding="utf-8")
    assert fails(Ses, figure) == fails(SesDelete, figure) == {"delivers-all": 6}
    assert fails(Isis, figure) == fails(SesRollback, FIG_6) == {}
    stuck = ("S2 at its statement 1, receive",)  # and S3 at its end: M3 was sent
    assert stuck in check(Ses, program=figure, crash="S1").exploration.blocked
    assert stuck not in check(Isis, program=figure, crash="S1").exploration.blocked


def test_with_any_three_messages_isis_resists_to_a_crash_and_the_pairs_do_not() -> None:
    assert violations(check(Isis, 3, 3, crash="P1")) == {}
    assert violations(check(Ses, 3, 3, crash="P1")) == {"delivers-all": 6}
    assert violations(check(Ses, 3, 2, crash="P1")) == {}


def test_fig_6_in_isis_m3_cannot_arrive_before_m1_which_comes_with_it() -> None:
    story = Failing(Isis, FIG_6)
    for move in FAILURE:
        story.do(move)
    (m3,) = story.do("S3 send M3")
    assert names(m3) == ["M1", "M2", "M3"]
    story.do("S2 deliver M3 from S3")
    assert story.happened[-2:] == ["S2 delivers M1", "S2 delivers M3"]


# -- §4.3: the survivors agree, and rewind -----------------------------------------------------------------------------


def test_fig_6_s2_finds_the_event_all_agree_on_it_and_s3_rewinds() -> None:
    story = Failing(SesRollback, FIG_6)
    machine = story.machine
    assert isinstance(machine, SesRollback)
    for move in ("S1 send M1", "S1 send M2", "S1 crash", "S2 lose M1 from S1", "S3 receive message M2 from S1"):
        story.do(move)
    story.do("S3 deliver M2")
    before = story.at("S3").log[-1].before
    story.do("S3 send M3")
    assert "S2 agree" not in story.can()
    story.do("S2 receive message M3 from S3")
    survivors = {1: story.at("S2"), 2: story.at("S3")}
    assert [machine.minimum(i, state, 0) for i, state in survivors.items()] == [1, None]
    failure = machine.agree(survivors, 0)
    assert failure == Failure(site=0, event=1), "N is 1: the failure is after event 0"
    assert [machine.must_rewind(state.time, failure) for state in survivors.values()] == [False, True]
    assert [depends(packet, failure) for packet in story.at("S2").waiting] == [True]
    story.do("S2 agree")
    story.do("S2 receive agreed from S2")
    assert story.at("S2") == ses_rollback.State(survivors[1].site, frozenset(), (), failure), "M3 is dropped"
    story.do("S3 receive agreed from S3")
    assert story.at("S3") == ses_rollback.State(before, frozenset(), (), failure)
    assert before == State((0, 0, 0), ((0, 0, 0),) * 3), "a state preceding delivery of message M2"
    assert story.happened[-2:] == ["S3 unsends M3", "S3 orphans M2"]
    assert story.can() == set()


def test_after_the_rewind_s3_can_communicate_with_s2_again() -> None:
    story = Failing(SesRollback, FIG_6_AND_ON)
    for move in ("S1 send M1", "S1 send M2", "S1 crash", "S2 lose M1 from S1", "S3 receive message M2 from S1"):
        story.do(move)
    for move in ("S3 deliver M2", "S3 send M3", "S2 receive message M3 from S3", "S2 agree"):
        story.do(move)
    assert story.can() == {"S2 receive agreed from S2"}, "nothing else happens until all have rewound"
    for move in ("S2 receive agreed from S2", "S3 receive agreed from S3", "S4 receive agreed from S4"):
        story.do(move)
    for move in ("S3 send M4", "S2 receive message M4 from S3", "S2 deliver M4"):
        story.do(move)
    assert story.happened[-2:] == ["S3 sends M4", "S2 delivers M4"]


def test_after_the_rewind_nobody_is_blocked() -> None:
    for program in (FIG_6, FIG_6_MIRRORED, FIG_6_AND_ON, SENT_BEFORE, DELIVERED_BEFORE, NOTHING_LOST, ONCE_MORE):
        assert fails(SesRollback, program) == {}
    assert violations(check(SesRollback, 3, 3, crash="P1")) == {}


#: Fig. 6, but that S3 may deliver M2 and then W, which has nothing to do with S1.
DELIVERED_BEFORE = """
S1: send M1 to S2; send M2 to S3
S2: send W to S3; receive; receive; receive
S3: receive; receive; send M3 to S2; receive; receive; receive
"""


class NeverAgrees(SesRollback):
    def agree(self, states: Mapping[int, ses_rollback.State], crashed: int) -> Failure | None:
        return None


class AsksOnlyTheFirst(SesRollback):
    """The smallest survivor decides alone."""

    def agree(self, states: Mapping[int, ses_rollback.State], crashed: int) -> Failure | None:
        first = min(states)
        return super().agree({first: states[first]}, crashed)


class ReadsItsOwnEntry(SesRollback):
    """VT_jk of the survivor itself for VT_jk[i]."""

    def minimum(self, i: int, state: ses_rollback.State, crashed: int) -> int | None:
        return super().minimum(i, state, i)


class RewindsOnlyBeyondTheEvent(SesRollback):
    """VT(S)[i] > N for VT(S)[i] > N − 1."""

    def must_rewind(self, time: Value, failure: Failure) -> bool:
        return bool(time[failure.site] > failure.event)


class NobodyRewinds(SesRollback):
    """What waits and depends on event N is dropped, and that is all."""

    def must_rewind(self, time: Value, failure: Failure) -> bool:
        return False


class OnlyTheOneWithEvidenceRewinds(SesRollback):
    """A site rewinds only if a message waits at it."""

    def rewound(self, i: int, state: ses_rollback.State, failure: Failure) -> Step:
        return super().rewound(i, state, failure) if state.waiting else Step(state._replace(failure=failure))


class ForgetsWhatItUndid(SesRollback):
    """A delivery that is undone and does not depend on event N is not repeated."""

    def rewound(self, i: int, state: ses_rollback.State, failure: Failure) -> Step:
        step = super().rewound(i, state, failure)
        return step._replace(state=step.state._replace(waiting=step.state.waiting & state.waiting))


class DropsAllThatWaits(SesRollback):
    """Also what does not depend on event N."""

    def rewound(self, i: int, state: ses_rollback.State, failure: Failure) -> Step:
        step = super().rewound(i, state, failure)
        return step._replace(state=step.state._replace(waiting=frozenset()))


@pytest.mark.parametrize(
    ("kind", "program", "actions"),
    [
        (NeverAgrees, FIG_6, 8),
        (AsksOnlyTheFirst, FIG_6_MIRRORED, 8),
        (ReadsItsOwnEntry, FIG_6, 8),
        (NobodyRewinds, FIG_6, 11),
        (OnlyTheOneWithEvidenceRewinds, FIG_6, 11),
        (RewindsOnlyBeyondTheEvent, NOTHING_LOST, 11),
        (DropsAllThatWaits, SENT_BEFORE, 13),
        (ForgetsWhatItUndid, DELIVERED_BEFORE, 14),
    ],
)
def test_every_step_of_the_treatment_is_needed_for_all_to_be_delivered(
    kind: type[SesRollback], program: str, actions: int
) -> None:
    assert fails(kind, program) == {"delivers-all": actions}
    assert fails(SesRollback, program) == {}


# -- §4.3: is one application enough? ----------------------------------------------------------------------------------

#: Z, which waits for M1, may still be in flight when Q informs S3 of P. Then N is 3, and Z depends on event 2 only.
ONCE_MORE = """
S1: send M1 to S2; send M2 to S3; send P to S3; send Q to S3
S2: receive; receive
S3: receive; send Z to S2; receive; receive; receive; receive
"""


class AgreesOnlyOnce(SesRollback):
    def agree(self, states: Mapping[int, ses_rollback.State], crashed: int) -> Failure | None:
        return None if any(state.failure for state in states.values()) else super().agree(states, crashed)


class AgreesOnceOnAllPairs(AgreesOnlyOnce):
    """Evidence is any pair (S, VT) with VT[i] > VT(S)[i] that a survivor has: in its buffer, or with what waits."""

    def agree(self, states: Mapping[int, ses_rollback.State], crashed: int) -> Failure | None:
        if any(state.failure for state in states.values()):
            return None
        held = [state.buffer for state in states.values()]
        held += [packet.stamp.buffer for state in states.values() for packet in state.waiting]
        reports = [(buffer[j][crashed], states[j].time[crashed]) for buffer in held for j in states]
        events = [event for event, at_s in reports if event > at_s]
        return Failure(crashed, min(events)) if events else None


class AgreesOnTheLatest(SesRollback):
    """The maximum of MIN(S) over the survivors."""

    def agree(self, states: Mapping[int, ses_rollback.State], crashed: int) -> Failure | None:
        minima = [self.minimum(i, state, crashed) for i, state in states.items()]
        return Failure(crashed, max(event for event in minima if event)) if any(minima) else None


class WhenNothingIsUnderWay(System):
    """The survivors do not confer before everything for them has arrived."""

    def _agree(self, moves: list[tuple[LocalStep, GlobalState]], state: GlobalState) -> None:
        if all(packet.destination == self.may_crash for packet in self.in_flight(state)):
            super()._agree(moves, state)


def test_agreeing_once_is_not_enough() -> None:
    assert fails(AgreesOnlyOnce, ONCE_MORE) == {"delivers-all": 15}
    for program in (FIG_6, FIG_6_MIRRORED, FIG_6_AND_ON, SENT_BEFORE, DELIVERED_BEFORE, NOTHING_LOST):
        assert fails(AgreesOnlyOnce, program) == {}


def once_more(kind: type[SesRollback]) -> Failing:
    """As far as the first agreement: N is 3, and then Z arrives."""
    story = Failing(kind, ONCE_MORE)
    for move in ("S1 send M1", "S1 send M2", "S3 receive message M2 from S1", "S3 deliver M2", "S3 send Z"):
        story.do(move)
    for move in ("S1 send P", "S1 send Q", "S1 crash", "S2 lose M1 from S1", "S3 lose P from S1"):
        story.do(move)
    story.do("S3 receive message Q from S1")
    assert kind(3).agree({1: story.at("S2"), 2: story.at("S3")}, 0) == Failure(0, 3)
    for move in ("S2 agree", "S2 receive agreed from S2", "S3 receive agreed from S3"):
        story.do(move)
    assert story.at("S3").time == (2, 0, 2), "it need not rewind, and Z is not dropped"
    story.do("S2 receive message Z from S3")
    return story


def test_agreeing_once_leaves_z_waiting_for_m1_and_agreeing_again_does_not() -> None:
    story = once_more(AgreesOnlyOnce)
    (z,) = story.at("S2").waiting
    assert z.stamp.buffer[1] == (1, 0, 0)
    assert story.can() == set()
    story = once_more(SesRollback)
    for move in ("S2 agree", "S2 receive agreed from S2", "S3 receive agreed from S3"):
        story.do(move)
    assert story.happened[-2:] == ["S3 unsends Z", "S3 orphans M2"]
    assert story.at("S2").waiting == frozenset()


@pytest.mark.slow
def test_five_messages_are_the_fewest_that_show_it_among_three_sites() -> None:
    assert len(Program(notation.parse(ONCE_MORE)).all_messages) == 5
    request = Check(AgreesOnlyOnce, 3, 4, orders=("asynchronous",), crash="P1", properties=(DELIVERS_ALL,))
    assert run_check(request)["delivers-all"].verdict == "holds"


def once_when_nothing_is_in_flight(kind: type[SesRollback], program: str) -> dict[str, int]:
    """What is violated then."""
    workload = Program(notation.parse(program))
    system = WhenNothingIsUnderWay(kind(3), workload, channel_named("unordered"), [DeliveryMonitor()], 0)
    found = explore(system, [DELIVERS_ALL])
    assert found.graded, "no run goes on for ever"
    return found.broken


def test_agreeing_once_is_not_enough_even_if_nothing_is_in_flight_for_z_may_still_be_sent() -> None:
    assert once_when_nothing_is_in_flight(AgreesOnlyOnce, ONCE_MORE) == {"delivers-all": 15}
    story = Failing(AgreesOnlyOnce, ONCE_MORE)
    for move in ("S1 send M1", "S1 send M2", "S3 receive message M2 from S1", "S3 deliver M2", "S1 send P"):
        story.do(move)
    for move in ("S1 send Q", "S1 crash", "S2 lose M1 from S1", "S3 lose P from S1", "S3 receive message Q from S1"):
        story.do(move)
    assert story.system.in_flight(story.state) == []
    for move in ("S2 agree", "S2 receive agreed from S2", "S3 receive agreed from S3"):
        story.do(move)
    assert pairs(story.at("S3").buffer) == {"S2": (1, 0, 0)}, "no message waits, but a pair is there that names M1"
    story.do("S3 send Z")
    story.do("S2 receive message Z from S3")
    assert story.can() == set()


def test_agreeing_once_is_enough_if_nothing_is_in_flight_and_every_pair_of_a_survivor_is_evidence() -> None:
    for program in (ONCE_MORE, FIG_6, FIG_6_MIRRORED, SENT_BEFORE, DELIVERED_BEFORE, NOTHING_LOST):
        assert once_when_nothing_is_in_flight(AgreesOnceOnAllPairs, program) == {}


def test_that_all_take_the_minimum_matters_only_if_they_agree_once() -> None:
    story = Failing(AgreesOnTheLatest, ONCE_MORE)
    for move in ("S1 send M1", "S1 send M2", "S3 receive message M2 from S1", "S3 deliver M2", "S3 send Z"):
        story.do(move)
    for move in ("S1 send P", "S1 send Q", "S1 crash", "S3 receive message Q from S1", "S2 receive message Z from S3"):
        story.do(move)
    survivors = {1: story.at("S2"), 2: story.at("S3")}
    assert SesRollback(3).agree(survivors, 0) == Failure(0, 1)
    assert AgreesOnTheLatest(3).agree(survivors, 0) == Failure(0, 3)
    for program in (FIG_6, FIG_6_MIRRORED, FIG_6_AND_ON, SENT_BEFORE, DELIVERED_BEFORE, NOTHING_LOST, ONCE_MORE):
        assert fails(AgreesOnTheLatest, program) == {}


# -- §4.3: what MIN(S) says --------------------------------------------------------------------------------------------


def test_min_is_not_the_oldest_event_never_delivered_since_a_pair_names_the_youngest() -> None:
    story = Failing(SesRollback, "S1: send L to S2; send M to S2; send X to S2\nS2: receive; receive; receive")
    for move in ("S1 send L", "S1 send M", "S1 send X", "S1 crash", "S2 lose L from S1", "S2 lose M from S1"):
        story.do(move)
    story.do("S2 receive message X from S1")
    assert SesRollback(2).minimum(1, story.at("S2"), 0) == 2, "L was event 1; its pair is discarded"


def rewinds_after(kind: type[SesRollback], n: int, m: int, *, arrived: bool, delivered: bool) -> int | None:
    """In how many actions do the survivors agree, though nothing was lost? None: never.

    `arrived`: nothing is in flight between survivors or to them; `delivered`: all that they got of S1 is delivered.
    """
    system = everything(kind, n, m, crash="P1")
    for now in reachable(system, allowed=lambda _, step: step.action.name not in ("lose", "agree")):
        if now.may("agree"):
            flight = [packet for packet in now.in_flight if packet.destination]
            waits = [packet for local in now.locals[1:] for packet in local.waiting if not packet.source]
            if not (arrived and flight) and not (delivered and (waits or any(not p.source for p in flight))):
                return now.depth + 1
    return None


@pytest.mark.parametrize(
    ("arrived", "delivered", "shortest"),
    [
        (False, False, {(2, 1): None, (2, 2): 5}),
        (True, False, {(2, 1): None, (2, 2): 6}),
        (False, True, {(2, 3): None, (3, 2): None, (3, 3): 8}),
        (True, True, {(2, 3): None, (3, 2): None, (3, 3): 9}),
    ],
    ids=["late", "arrived", "delivered", "arrived-and-delivered"],
)
def test_the_evidence_is_also_there_when_nothing_was_lost(
    arrived: bool, delivered: bool, shortest: dict[tuple[int, int], int | None]
) -> None:
    found = {(n, m): rewinds_after(SesRollback, n, m, arrived=arrived, delivered=delivered) for n, m in shortest}
    assert found == shortest


def test_a_message_that_was_delivered_as_it_should_is_undone_since_two_others_crossed() -> None:
    story = Failing(SesRollback, NOTHING_LOST)
    for move in ("S1 send M1", "S3 receive message M1 from S1", "S3 deliver M1", "S3 send M2", "S3 send M3"):
        story.do(move)
    for move in ("S2 receive message M3 from S3", "S2 receive message M2 from S3", "S1 crash"):
        story.do(move)
    assert story.can() == {"S2 deliver M2", "S2 agree"}, "all that S2 waits for has arrived"
    assert SesRollback(3).minimum(1, story.at("S2"), 0) == 1, "the number of SEND(M1), which is for S3 and delivered"
    for move in ("S2 agree", "S2 receive agreed from S2", "S3 receive agreed from S3"):
        story.do(move)
    assert story.happened[-3:] == ["S3 unsends M3", "S3 unsends M2", "S3 orphans M1"]


class ExactEvidence(SesRollback, InsertsOnlyItsOwnEntry):  # type: ignore[misc]
    """Pairs with the sender's entry alone."""


def test_with_the_senders_entry_alone_the_evidence_is_of_messages_of_s1_to_this_site() -> None:
    for program in (FIG_6, FIG_6_MIRRORED, FIG_6_AND_ON, SENT_BEFORE, DELIVERED_BEFORE, NOTHING_LOST, ONCE_MORE):
        assert fails(ExactEvidence, program) == {}
    assert rewinds_after(ExactEvidence, 3, 3, arrived=False, delivered=False) == 5
    assert rewinds_after(ExactEvidence, 3, 3, arrived=False, delivered=True) is None


class TakesEveryPairForEvidence(SesRollback):
    """P for P_k: pairs of what is delivered long since, too."""

    def minimum(self, i: int, state: ses_rollback.State, crashed: int) -> int | None:
        return super().minimum(i, state._replace(site=self.beginning(i)), crashed)

    def beginning(self, i: int) -> State:
        return Ses(self.n).initial(i)


class ReadsTheTimesOfTheMessages(SesRollback):
    """VT(M_j)[i] for VT_j[i]: what the sender of the waiting message knew."""

    def minimum(self, i: int, state: ses_rollback.State, crashed: int) -> int | None:
        times = [packet.stamp.time[crashed] for packet in state.waiting]
        return min((event for event in times if event > state.time[crashed]), default=None)


@pytest.mark.parametrize("kind", [TakesEveryPairForEvidence, ReadsTheTimesOfTheMessages])
def test_to_rewind_without_need_breaks_no_order_and_leaves_nothing_undelivered(kind: type[SesRollback]) -> None:
    for program in (FIG_6, FIG_6_MIRRORED, FIG_6_AND_ON, SENT_BEFORE, DELIVERED_BEFORE, NOTHING_LOST, ONCE_MORE):
        assert fails(kind, program) == {}
