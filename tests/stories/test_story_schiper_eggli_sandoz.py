"""[SES], replayed on the machines: its figures, what every site knows at each step, and the failure of a site."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from broken_ses_variants import FIG_6, FIG_6_MIRRORED, NOTHING_LOST, SENT_BEFORE
from overrides import with_state
from replay import Ending, Replay, endings, violations

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.protocols import ses_rollback
from crownless.impl.protocols.isis import Isis
from crownless.impl.protocols.ses import Ses, State
from crownless.impl.protocols.ses_delete import SesDelete
from crownless.impl.protocols.ses_rollback import Failure, SesRollback, depends
from crownless.impl.variant import variant
from crownless.impl.workloads import Program
from crownless.model_check.check.check import run_check
from crownless.model_check.system.properties import NEVER_BLOCKS, properties_of
from crownless.model_check.system.request import Check
from crownless.research.variants.for_schiper_eggli_sandoz import AgreesOnlyOnce
from crownless.spec import library, notation

#: Fig. 1 as a program.
PROGRAM_1 = library.path("ses-program-1").read_text(encoding="utf-8")


def buff(story: Replay, site: str) -> list[str]:
    """BUFF_S."""
    return [message.name for message in story.at(site).buffer]


# -- §1 and §3, Fig. 1: ISIS -------------------------------------------------------------------------------------------


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


def names(packet: Packet) -> list[str]:
    """The messages that a packet of ISIS carries, in order."""
    return [message.name for message in packet.stamp]


def pairs(buffer: Any) -> dict[str, tuple[int, ...]]:
    """ORD_BUFF_S: site → time vector."""
    return {f"S{k + 1}": tuple(pair) for k, pair in enumerate(buffer) if any(pair)}


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


#: Fig. 6, but that S3 may deliver M2 and then W, which has nothing to do with S1.
DELIVERED_BEFORE = """
S1: send M1 to S2; send M2 to S3
S2: send W to S3; receive; receive; receive
S3: receive; receive; send M3 to S2; receive; receive; receive
"""

#: Z, which waits for M1, may still be in flight when Q informs S3 of P. Then N is 3, and Z depends on event 2 only.
ONCE_MORE = """
S1: send M1 to S2; send M2 to S3; send P to S3; send Q to S3
S2: receive; receive
S3: receive; send Z to S2; receive; receive; receive; receive
"""


# -- §4.3, Fig. 6: a failure -------------------------------------------------------------------------------------------


#: S1 crashes after it has sent M1, which is lost, and M2, which is not.
FAILURE = ["S1 send M1", "S1 send M2", "S1 crash", "S2 lose M1 from S1", "S3 deliver M2 from S1"]


def test_fig_6_m3_waits_for_m1_for_ever_and_all_other_messages_pile_up_behind_it() -> None:
    story = Failing(Ses, FIG_6_AND_ON)
    story.do(*FAILURE, "S3 send M3", "S3 send M4")
    assert [packet.message.name for packet in story.system.refused(story.state) if packet.message] == ["M3", "M4"]
    (m3, _) = story.system.refused(story.state)
    assert pairs(m3.stamp.buffer)["S2"] == (1, 0, 0, 0), "the pair (S2, VT(M1))"
    story.do("S3 send M5")
    assert story.can() == {"S4 deliver M5 from S3"}


def test_fig_6_any_site_that_has_heard_from_s3_is_cut_off_from_s2_too() -> None:
    story = Failing(Ses, FIG_6_AND_ON)
    story.do(*FAILURE, "S3 send M3", "S3 send M4", "S3 send M5", "S4 deliver M5 from S3", "S4 send M6")
    assert len(story.system.refused(story.state)) == 3
    assert story.can() == set()


def test_fig_6_in_isis_m3_cannot_arrive_before_m1_which_comes_with_it() -> None:
    story = Failing(Isis, FIG_6)
    story.do(*FAILURE)
    (m3,) = story.do("S3 send M3")
    assert names(m3) == ["M1", "M2", "M3"]
    story.do("S2 deliver M3 from S3")
    assert story.happened[-2:] == ["S2 delivers M1", "S2 delivers M3"]


# -- §4.3: the survivors agree, and rewind -----------------------------------------------------------------------------


def test_fig_6_s2_finds_the_event_all_agree_on_it_and_s3_rewinds() -> None:
    story = Failing(SesRollback, FIG_6)
    machine = story.machine
    assert isinstance(machine, SesRollback)
    story.do("S1 send M1; S1 send M2; S1 crash; S2 lose M1 from S1; S3 receive message M2 from S1; S3 deliver M2")
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
    story.do("S2 agree; S2 receive agreed from S2")
    assert story.at("S2") == ses_rollback.State(survivors[1].site, frozenset(), (), failure), "M3 is dropped"
    story.do("S3 receive agreed from S3")
    assert story.at("S3") == ses_rollback.State(before, frozenset(), (), failure)
    assert before == State((0, 0, 0), ((0, 0, 0),) * 3), "a state preceding delivery of message M2"
    assert story.happened[-2:] == ["S3 unsends M3", "S3 orphans M2"]
    assert story.can() == set()


def test_after_the_rewind_s3_can_communicate_with_s2_again() -> None:
    story = Failing(SesRollback, FIG_6_AND_ON)
    story.do("S1 send M1; S1 send M2; S1 crash; S2 lose M1 from S1; S3 receive message M2 from S1; S3 deliver M2")
    story.do("S3 send M3; S2 receive message M3 from S3; S2 agree")
    assert story.can() == {"S2 receive agreed from S2"}, "nothing else happens until all have rewound"
    story.do("S2 receive agreed from S2; S3 receive agreed from S3; S4 receive agreed from S4; S3 send M4")
    story.do("S2 receive message M4 from S3; S2 deliver M4")
    assert story.happened[-2:] == ["S3 sends M4", "S2 delivers M4"]


def needed(**lacks: Any) -> type[SesRollback]:
    """The treatment, which lacks a step."""
    return variant(SesRollback, **lacks)


def waiting_afterwards(left: Callable[[ses_rollback.State], frozenset[Packet]]) -> Any:
    """`rewound`, after which of what would wait only that does which is left."""

    def rewound(self: SesRollback, i: int, state: ses_rollback.State, failure: Failure) -> Step:
        step = SesRollback.rewound(self, i, state, failure)
        return with_state(step, waiting=step.state.waiting & left(state))

    return rewound


@pytest.mark.parametrize(
    ("kind", "program", "actions"),
    [
        (needed(agree=lambda self, states, crashed: None), FIG_6, 8),
        # The smallest survivor decides alone.
        (
            needed(agree=lambda self, states, crashed: SesRollback.agree(self, dict([min(states.items())]), crashed)),
            FIG_6_MIRRORED,
            8,
        ),
        # VT_jk of the survivor itself for VT_jk[i].
        (needed(minimum=lambda self, i, state, crashed: SesRollback.minimum(self, i, state, i)), FIG_6, 8),
        # What waits and depends on event N is dropped, and that is all.
        (needed(must_rewind=lambda self, time, failure: False), FIG_6, 11),
        # A site rewinds only if a message waits at it.
        (
            needed(
                rewound=lambda self, i, state, failure: (
                    SesRollback.rewound(self, i, state, failure)
                    if state.waiting
                    else Step(state._replace(failure=failure))
                )
            ),
            FIG_6,
            11,
        ),
        # VT(S)[i] > N for VT(S)[i] > N − 1.
        (needed(must_rewind=lambda self, time, failure: time[failure.site] > failure.event), NOTHING_LOST, 11),
        # Also what does not depend on event N is dropped.
        (needed(rewound=waiting_afterwards(lambda state: frozenset())), SENT_BEFORE, 13),
        # A delivery that is undone and does not depend on event N is not repeated.
        (needed(rewound=waiting_afterwards(lambda state: state.waiting)), DELIVERED_BEFORE, 14),
    ],
)
def test_every_step_of_the_treatment_is_needed_for_all_to_be_delivered(
    kind: type[SesRollback], program: str, actions: int
) -> None:
    assert fails(kind, program) == {"delivers-all": actions}
    assert fails(SesRollback, program) == {}


# -- §4.3: is one application enough? ----------------------------------------------------------------------------------


def once_more(kind: type[SesRollback]) -> Failing:
    """As far as the first agreement: N is 3, and then Z arrives."""
    story = Failing(kind, ONCE_MORE)
    story.do("S1 send M1; S1 send M2; S3 receive message M2 from S1; S3 deliver M2; S3 send Z; S1 send P; S1 send Q")
    story.do("S1 crash; S2 lose M1 from S1; S3 lose P from S1; S3 receive message Q from S1")
    assert kind(3).agree({1: story.at("S2"), 2: story.at("S3")}, 0) == Failure(0, 3)
    story.do("S2 agree; S2 receive agreed from S2; S3 receive agreed from S3")
    assert story.at("S3").time == (2, 0, 2), "it need not rewind, and Z is not dropped"
    story.do("S2 receive message Z from S3")
    return story


def test_agreeing_once_leaves_z_waiting_for_m1_and_agreeing_again_does_not() -> None:
    story = once_more(AgreesOnlyOnce)
    (z,) = story.at("S2").waiting
    assert z.stamp.buffer[1] == (1, 0, 0)
    assert story.can() == set()
    story = once_more(SesRollback)
    story.do("S2 agree; S2 receive agreed from S2; S3 receive agreed from S3")
    assert story.happened[-2:] == ["S3 unsends Z", "S3 orphans M2"]
    assert story.at("S2").waiting == frozenset()
