"""[SES] §4.3, replayed on the machines: whether one agreement is enough, and what MIN(S) says.

The number MIN(S) does not mean what the text says, nor need the survivors agree only once.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from broken_ses import InsertsOnlyItsOwnEntry
from broken_ses_variants import FIG_6, FIG_6_MIRRORED, NOTHING_LOST, SENT_BEFORE
from schiper_eggli_sandoz_setup import (
    DELIVERED_BEFORE,
    FIG_6_AND_ON,
    ONCE_MORE,
    Failing,
    everything,
    fails,
    pairs,
)

from crownless.impl import ses_rollback
from crownless.impl.channels import channel_named
from crownless.impl.ses import Ses, State
from crownless.impl.ses_rollback import Failure, SesRollback
from crownless.impl.variants.for_schiper_eggli_sandoz import AgreesOnlyOnce
from crownless.impl.workloads import Program
from crownless.model_check.search.explorer import explore
from crownless.model_check.search.reachable import reachable
from crownless.model_check.system.monitors import DeliveryMonitor
from crownless.model_check.system.properties import DELIVERS_ALL
from crownless.model_check.system.system import LocalStep, System
from crownless.model_check.system.system import State as GlobalState
from crownless.spec import notation

# -- §4.3: is one application enough? ----------------------------------------------------------------------------------


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
    story.do("S1 send M1; S1 send M2; S3 receive message M2 from S1; S3 deliver M2; S1 send P; S1 send Q; S1 crash")
    story.do("S2 lose M1 from S1; S3 lose P from S1; S3 receive message Q from S1")
    assert story.system.in_flight(story.state) == []
    story.do("S2 agree; S2 receive agreed from S2; S3 receive agreed from S3")
    assert pairs(story.at("S3").buffer) == {"S2": (1, 0, 0)}, "no message waits, but a pair is there that names M1"
    story.do("S3 send Z; S2 receive message Z from S3")
    assert story.can() == set()


def test_agreeing_once_is_enough_if_nothing_is_in_flight_and_every_pair_of_a_survivor_is_evidence() -> None:
    for program in (ONCE_MORE, FIG_6, FIG_6_MIRRORED, SENT_BEFORE, DELIVERED_BEFORE, NOTHING_LOST):
        assert once_when_nothing_is_in_flight(AgreesOnceOnAllPairs, program) == {}


def test_that_all_take_the_minimum_matters_only_if_they_agree_once() -> None:
    story = Failing(AgreesOnTheLatest, ONCE_MORE)
    story.do("S1 send M1; S1 send M2; S3 receive message M2 from S1; S3 deliver M2; S3 send Z; S1 send P; S1 send Q")
    story.do("S1 crash; S3 receive message Q from S1; S2 receive message Z from S3")
    survivors = {1: story.at("S2"), 2: story.at("S3")}
    assert SesRollback(3).agree(survivors, 0) == Failure(0, 1)
    assert AgreesOnTheLatest(3).agree(survivors, 0) == Failure(0, 3)
    for program in (FIG_6, FIG_6_MIRRORED, FIG_6_AND_ON, SENT_BEFORE, DELIVERED_BEFORE, NOTHING_LOST, ONCE_MORE):
        assert fails(AgreesOnTheLatest, program) == {}


# -- §4.3: what MIN(S) says --------------------------------------------------------------------------------------------


def test_min_is_not_the_oldest_event_never_delivered_since_a_pair_names_the_youngest() -> None:
    story = Failing(SesRollback, "S1: send L to S2; send M to S2; send X to S2\nS2: receive; receive; receive")
    story.do("S1 send L; S1 send M; S1 send X; S1 crash; S2 lose L from S1; S2 lose M from S1")
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


def test_a_message_that_was_delivered_as_it_should_is_undone_since_two_others_crossed() -> None:
    story = Failing(SesRollback, NOTHING_LOST)
    story.do("S1 send M1; S3 receive message M1 from S1; S3 deliver M1; S3 send M2; S3 send M3")
    story.do("S2 receive message M3 from S3; S2 receive message M2 from S3; S1 crash")
    assert story.can() == {"S2 deliver M2", "S2 agree"}, "all that S2 waits for has arrived"
    assert SesRollback(3).minimum(1, story.at("S2"), 0) == 1, "the number of SEND(M1), which is for S3 and delivered"
    story.do("S2 agree; S2 receive agreed from S2; S3 receive agreed from S3")
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
