"""[SES] §4.3, replayed on the machines: Fig. 6, where a site fails, and the survivors agree and rewind."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from broken_ses_variants import FIG_6, FIG_6_MIRRORED, NOTHING_LOST, SENT_BEFORE
from replay import check, violations
from schiper_eggli_sandoz_setup import DELIVERED_BEFORE, FIG_6_AND_ON, ONCE_MORE, Failing, fails, names, pairs

from crownless.impl import ses_rollback
from crownless.impl.isis import Isis
from crownless.impl.protocol import Packet, Step
from crownless.impl.ses import Ses, State
from crownless.impl.ses_delete import SesDelete
from crownless.impl.ses_rollback import Failure, SesRollback, depends
from crownless.impl.variants import variant
from crownless.spec import library

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


def test_after_the_rewind_nobody_is_blocked() -> None:
    for program in (FIG_6, FIG_6_MIRRORED, FIG_6_AND_ON, SENT_BEFORE, DELIVERED_BEFORE, NOTHING_LOST, ONCE_MORE):
        assert fails(SesRollback, program) == {}
    assert violations(check(SesRollback, 3, 3, crash="P1")) == {}


class AsksOnlyTheFirst(SesRollback):
    """The smallest survivor decides alone."""

    def agree(self, states: Mapping[int, ses_rollback.State], crashed: int) -> Failure | None:
        return super().agree({min(states): states[min(states)]}, crashed)


def _rewound(
    self: SesRollback, i: int, state: ses_rollback.State, failure: Failure, waiting: frozenset[Packet]
) -> Step:
    """The step, after which only some of what would wait does."""
    step = SesRollback.rewound(self, i, state, failure)
    return step._replace(state=step.state._replace(waiting=step.state.waiting & waiting))


#: Each lacks a step of the treatment.
NeverAgrees = variant(SesRollback, agree=lambda self, states, crashed: None)
#: VT_jk of the survivor itself for VT_jk[i].
ReadsItsOwnEntry = variant(SesRollback, minimum=lambda self, i, state, crashed: SesRollback.minimum(self, i, state, i))
#: VT(S)[i] > N for VT(S)[i] > N − 1.
RewindsOnlyBeyondTheEvent = variant(
    SesRollback, must_rewind=lambda self, time, failure: bool(time[failure.site] > failure.event)
)
#: What waits and depends on event N is dropped, and that is all.
NobodyRewinds = variant(SesRollback, must_rewind=lambda self, time, failure: False)
#: A site rewinds only if a message waits at it.
OnlyTheOneWithEvidenceRewinds = variant(
    SesRollback,
    rewound=lambda self, i, state, failure: (
        SesRollback.rewound(self, i, state, failure) if state.waiting else Step(state._replace(failure=failure))
    ),
)
#: A delivery that is undone and does not depend on event N is not repeated.
ForgetsWhatItUndid = variant(
    SesRollback, rewound=lambda self, i, state, failure: _rewound(self, i, state, failure, state.waiting)
)
#: Also what does not depend on event N.
DropsAllThatWaits = variant(
    SesRollback, rewound=lambda self, i, state, failure: _rewound(self, i, state, failure, frozenset())
)


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
