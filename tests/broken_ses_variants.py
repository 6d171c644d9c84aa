"""The vector-pair protocol with deletion, multicasts and failures: with one planted fault each, and variations."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from crownless.impl import ses, ses_rollback
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.ses import Stamp
from crownless.impl.ses_delete import SesDelete
from crownless.impl.ses_multicast import SesMulticast
from crownless.impl.ses_rollback import Failure, SesRollback, depends
from crownless.impl.variants import ProgramCatch, Setup, breaks, changed, keeps, restamped, variants_in
from crownless.spec.computation import Message

#: Fig. 6 and its mirror image, where the lost message is for S3. Receives to spare, for deliveries that are repeated.
FIG_6 = """
S1: send M1 to S2; send M2 to S3
S2: receive; receive; receive
S3: receive; send M3 to S2; receive; receive
"""

FIG_6_MIRRORED = """
S1: send M1 to S3; send M2 to S2
S2: receive; send M3 to S3; receive; receive
S3: receive; receive; receive
"""

#: Fig. 6, but that S3 has sent V to S2 before.
SENT_BEFORE = """
S1: send M1 to S2; send M2 to S3
S2: receive; receive; receive; receive
S3: send V to S2; receive; send M3 to S2; receive; receive
"""

#: Nothing of S1 is lost; M2 may be late.
NOTHING_LOST = """
S1: send M1 to S3
S2: receive; receive; receive
S3: receive; send M2 to S2; send M3 to S2; receive
"""

S1_CRASHES = Setup(crash="S1")

# -- deletion of obsolete pairs (§4.2.4) -------------------------------------------------------------------------------


def without(machine: SesDelete, state: ses.State, l: Value) -> ses.State:
    """The state without the pair for S_l."""
    kept = machine.ops.matrix(lambda m, k: state.buffer[m][k] * machine.ops.one_if(m != l))
    return state._replace(buffer=kept)


def before_deletion(machine: SesDelete, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
    """The state after delivering, with nothing deleted."""
    return super(SesDelete, machine).after_delivering(i, state, j, stamp)


@breaks("[SES] §4.2.4: the pair (S1, VT) is compared with VT(M) before it is deleted", fifo=(2, 3, 5))
class DeletesWithoutComparing(SesDelete):
    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        return without(self, before_deletion(self, i, state, j, stamp), j)


@breaks("[SES] §4.2.4: compared with VT(M), not with VT(S2), which Lemma 2 puts above every pair", fifo=(2, 3, 5))
class DeletesWhatItsOwnTimeHasPassed(SesDelete):
    """VT ≤ VT(S2), the receiver's own time, for VT ≤ VT(M): by Lemma 2 that is always so."""

    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        merged = before_deletion(self, i, state, j, stamp)
        obsolete = self.ops.every(lambda k: merged.buffer[j][k] <= merged.time[k])
        return without(self, merged, j) if obsolete else merged


@breaks("[SES] §4.2.4: VT ≤ VT(M) in all entries", fifo=(2, 3, 5))
class ComparesTheSendersEntry(SesDelete):
    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        merged = before_deletion(self, i, state, j, stamp)
        return without(self, merged, j) if merged.buffer[j][j] <= stamp.time[j] else merged


@breaks("[SES] §4.2.4: VT ≤ VT(M) in all entries, for a pair may also stand for messages of others", causal=(3, 4, 7))
class ComparesItsOwnEntry(SesDelete):
    """Does the sender know of what this site sent to it? Not: of what others did."""

    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        merged = before_deletion(self, i, state, j, stamp)
        return without(self, merged, j) if merged.buffer[j][i] <= stamp.time[i] else merged


@breaks("[SES] §4.2.4: the pair of the sender S1; what S1 knows says nothing of others", causal=(3, 3, 5))
class DeletesEveryPairOfThePast(SesDelete):
    """Whatever the site: every pair with VT ≤ VT(M)."""

    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        merged = before_deletion(self, i, state, j, stamp)
        known = [all(entry <= stamp.time[k] for k, entry in enumerate(pair)) for pair in merged.buffer]
        kept = self.ops.matrix(lambda l, k: merged.buffer[l][k] * self.ops.one_if(not known[l]))
        return merged._replace(buffer=kept)


DeletesOnSending = breaks("[SES] §4.2.4: deleted when a message is delivered", fifo=(2, 2, 3))(
    SesDelete,
    send=lambda self, i, state, message: changed(
        SesDelete.send(self, i, state, message), lambda after: without(self, after, message.receiver)
    ),
)


@breaks("[SES] §4.2.4: VT ≤ VT(M), not the converse", fifo=(2, 3, 5))
class ComparesTheWrongWay(SesDelete):
    """VT ≥ VT(M), the sender's own entry left aside, in which VT(M) is always the greater."""

    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        merged = before_deletion(self, i, state, j, stamp)
        obsolete = self.ops.every(lambda k: k == j or merged.buffer[j][k] >= stamp.time[k])
        return without(self, merged, j) if obsolete else merged


@keeps("[SES] §4.2.4: before or after the merge: M brings no pair for S1, its own sender.", (3, 4, 9920))
class ComparesBeforeMerging(SesDelete):
    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        obsolete = self.ops.every(lambda k: state.buffer[j][k] <= stamp.time[k])
        return before_deletion(self, i, without(self, state, j) if obsolete else state, j, stamp)


NeverDeletes = keeps(
    "[SES] §4.2.4: deletion is a matter of size alone. Without it the buffer has no more than N − 1 pairs either.",
    (3, 4, 9761),
    never_reaches=frozenset({"an-obsolete-pair-is-deleted"}),
)(SesDelete, after_delivering=lambda self, i, state, j, stamp: before_deletion(self, i, state, j, stamp))

# -- messages to several sites (§4.2.1, end) ---------------------------------------------------------------------------

CopiesKnowNothingOfEachOther = breaks(
    "[SES] §4.2.1, end: M is accompanied by the pairs (S', VT(M)) of DEST", causal=(3, 2, 4)
)(SesMulticast, accompanying=lambda self, buffer, j, dest, time: buffer)

ACopyHasItsOwnPair = breaks("[SES] §4.2.1, end: S' ≠ S", delivers_all=(2, 1, 1))(
    SesMulticast, accompanying=lambda self, buffer, j, dest, time: self.with_pairs(buffer, dest, time)
)

OneBufferForAllCopies = breaks(
    "[SES] §4.2.1, end: S' ≠ S, so that the copy for S has room for the older pair of S", fifo=(2, 2, 3)
)(
    SesMulticast,
    accompanying=lambda self, buffer, j, dest, time: self.with_pairs(buffer, dest, time),
    deliverable=lambda self, i, state, packet: (
        packet.stamp.buffer[i] == packet.stamp.time or SesMulticast.deliverable(self, i, state, packet)
    ),
)

ACopyKnowsOnlyOfThoseBefore = breaks(
    "[SES] §4.2.1, end: of all S' in DEST, not only of those served already", causal=(3, 2, 4)
)(
    SesMulticast,
    symmetric=False,
    accompanying=lambda self, buffer, j, dest, time: self.with_pairs(buffer, [k for k in dest if k < j], time),
)


@breaks("[SES] §4.2.1, end: these pairs are in the accompanying buffer, besides what else it has", fifo=(2, 2, 3))
class TellsThePairsOfTheOthersOnly(SesMulticast):
    """The pairs of DEST instead of the buffer, not besides it."""

    def accompanying(self, buffer: Value, j: int, dest: Collection[int], time: Value) -> Value:
        return super().accompanying(self.ops.matrix(lambda l, k: 0), j, dest, time)


CopiesHaveTheTimeBefore = breaks("[SES] §4.2.1, end: the pairs have the time VT(M)", causal=(3, 2, 4))(
    SesMulticast,
    send=lambda self, i, state, message: restamped(
        SesMulticast.send(self, i, state, message),
        lambda packet: packet.stamp._replace(
            buffer=self.accompanying(state.buffer, packet.destination, message.receivers, state.time)
        ),
    ),
)


@breaks("[SES] §4.2.1: after the sending, the pair of every S in DEST is inserted", fifo=(3, 2, 3))
class InsertsOnlyTheFirstPair(SesMulticast):
    symmetric = False

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        time = step.state.time
        return [step._replace(state=ses.State(time, self.with_pairs(state.buffer, message.receivers[:1], time)))]


@keeps(
    "[SES] §4.2.1, end: how many events a broadcast counts for makes no difference, if all copies have one time.",
    (3, 3, 8652),
)
class EachCopyIsAnEvent(SesMulticast):
    """The clock advances for every copy; the time of the last is VT(M)."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        time = state.time
        for _ in message.receivers[1:]:
            time = self.after_event(i, time)
        return super().send(i, ses.State(time, state.buffer), message)


@breaks("[SES] §4.2.1, end: one broadcast, not a row of messages", causal=(3, 2, 4))
class CopiesAreEventsInARow(SesMulticast):
    """The clock advances for every copy, each has a time of its own, and covers those that went before it."""

    symmetric = False

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        after, packets = state, []
        for j in message.receivers:
            time = self.after_event(i, after.time)
            packets.append(Packet(i, j, "message", message, Stamp(time, after.buffer)))
            after = ses.State(time, self.with_pair(after.buffer, j, time))
        return [Step(after, packets, [AppEvent("send", message)])]


# -- failures (§4.3): rewinding ----------------------------------------------------------------------------------------


@breaks(
    "[SES] §4.3: rewind as far as VT(S)[i] > N − 1, and no farther",
    ProgramCatch("delivers-once", SENT_BEFORE, 13, S1_CRASHES),
)
class RewindsToTheBeginning(SesRollback):
    def rewound(self, i: int, state: ses_rollback.State, failure: Failure) -> Step:
        if not self.must_rewind(state.time, failure):
            return super().rewound(i, state, failure)
        site, waiting, undone = state.site, set(state.waiting), []
        for event in reversed(state.log):
            site = event.before
            if event.packet is None:
                undone.append(AppEvent("unsend", event.message))
            else:
                waiting.add(event.packet)
                undone.append(AppEvent("orphan" if depends(event.packet, failure) else "undeliver", event.message))
        left = frozenset(packet for packet in waiting if not depends(packet, failure))
        return Step(ses_rollback.State(site, left, (), failure), (), undone)


@breaks(
    "[SES] §4.3: a rollback mechanism, for the pairs name what was undone (as does the application)",
    ProgramCatch("pairs-are-of-the-past", FIG_6_MIRRORED, 9, S1_CRASHES),
)
class RewindsOnlyItsClock(SesRollback):
    """The text's "must rewind its clock", literally: what it has done stays done."""

    def rewound(self, i: int, state: ses_rollback.State, failure: Failure) -> Step:
        step = super().rewound(i, state, failure)
        site = state.site._replace(time=step.state.time)
        return Step(step.state._replace(site=site), (), ())


@breaks(
    "[SES] §4.3: a state preceding the delivery, its buffer included",
    ProgramCatch("pairs-are-of-the-past", FIG_6_MIRRORED, 9, S1_CRASHES),
)
class KeepsItsPairs(SesRollback):
    """The clock and the deliveries are rewound, ORD_BUFF_S is not."""

    def rewound(self, i: int, state: ses_rollback.State, failure: Failure) -> Step:
        step = super().rewound(i, state, failure)
        return step._replace(state=step.state._replace(site=step.state.site._replace(buffer=state.buffer)))


# -- failures: what is dropped -----------------------------------------------------------------------------------------


@breaks(
    "[SES] §4.3: what depends on event N was never sent, and does not wait any more",
    ProgramCatch("delivers-once", FIG_6, 11, S1_CRASHES),
)
class DropsNothingThatWaits(SesRollback):
    def rewound(self, i: int, state: ses_rollback.State, failure: Failure) -> Step:
        step = super().rewound(i, state, failure)
        undone = {event.packet for event in state.log[len(step.state.log) :]} - {None}
        return step._replace(state=step.state._replace(waiting=state.waiting | frozenset(undone)))


@breaks(
    "[SES] §4.3: what depends on event N was never sent, and may still arrive",
    ProgramCatch("delivers-once", NOTHING_LOST, 12, S1_CRASHES),
)
class ForgetsTheFailure(SesRollback):
    """What arrives later and depends on event N is not dropped."""

    def on_packet(self, i: int, state: ses_rollback.State, packet: Packet) -> Sequence[Step]:  # type: ignore[override]
        return super().on_packet(i, state._replace(failure=None), packet)


ROWS = variants_in(globals())
