"""The vector-pair protocol with deletion, multicasts and failures: with one planted fault each, and variations."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from broken_tables import Broken, BrokenProgram, Catch, Harmless, Setup

from crownless.impl import ses, ses_rollback
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.ses import Stamp
from crownless.impl.ses_delete import SesDelete
from crownless.impl.ses_multicast import SesMulticast
from crownless.impl.ses_rollback import Failure, SesRollback, depends
from crownless.spec.computation import Message

# -- deletion of obsolete pairs (§4.2.4) -------------------------------------------------------------------------------


def without(machine: SesDelete, state: ses.State, l: Value) -> ses.State:
    """The state without the pair for S_l."""
    kept = machine.ops.matrix(lambda m, k: state.buffer[m][k] * machine.ops.one_if(m != l))
    return state._replace(buffer=kept)


def before_deletion(machine: SesDelete, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
    """The state after delivering, with nothing deleted."""
    return super(SesDelete, machine).after_delivering(i, state, j, stamp)


class DeletesWithoutComparing(SesDelete):
    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        return without(self, before_deletion(self, i, state, j, stamp), j)


class DeletesWhatItsOwnTimeHasPassed(SesDelete):
    """VT ≤ VT(S2), the receiver's own time, for VT ≤ VT(M): by Lemma 2 that is always so."""

    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        merged = before_deletion(self, i, state, j, stamp)
        obsolete = self.ops.every(lambda k: merged.buffer[j][k] <= merged.time[k])
        return without(self, merged, j) if obsolete else merged


class ComparesTheSendersEntry(SesDelete):
    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        merged = before_deletion(self, i, state, j, stamp)
        return without(self, merged, j) if merged.buffer[j][j] <= stamp.time[j] else merged


class ComparesItsOwnEntry(SesDelete):
    """Does the sender know of what this site sent to it? Not: of what others did."""

    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        merged = before_deletion(self, i, state, j, stamp)
        return without(self, merged, j) if merged.buffer[j][i] <= stamp.time[i] else merged


class DeletesEveryPairOfThePast(SesDelete):
    """Whatever the site: every pair with VT ≤ VT(M)."""

    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        merged = before_deletion(self, i, state, j, stamp)
        known = [all(entry <= stamp.time[k] for k, entry in enumerate(pair)) for pair in merged.buffer]
        kept = self.ops.matrix(lambda l, k: merged.buffer[l][k] * self.ops.one_if(not known[l]))
        return merged._replace(buffer=kept)


class DeletesOnSending(SesDelete):
    """The pair of the receiver has gone with the message, and then is deleted."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [step._replace(state=without(self, step.state, message.receiver))]


class ComparesTheWrongWay(SesDelete):
    """VT ≥ VT(M), the sender's own entry left aside, in which VT(M) is always the greater."""

    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        merged = before_deletion(self, i, state, j, stamp)
        obsolete = self.ops.every(lambda k: k == j or merged.buffer[j][k] >= stamp.time[k])
        return without(self, merged, j) if obsolete else merged


class ComparesBeforeMerging(SesDelete):
    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        obsolete = self.ops.every(lambda k: state.buffer[j][k] <= stamp.time[k])
        return before_deletion(self, i, without(self, state, j) if obsolete else state, j, stamp)


class NeverDeletes(SesDelete):
    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: Stamp) -> ses.State:
        return before_deletion(self, i, state, j, stamp)


# -- messages to several sites (§4.2.1, end) ---------------------------------------------------------------------------


class CopiesKnowNothingOfEachOther(SesMulticast):
    def accompanying(self, buffer: Value, j: int, dest: Collection[int], time: Value) -> Value:
        return buffer


class ACopyHasItsOwnPair(SesMulticast):
    """S' = S too."""

    def accompanying(self, buffer: Value, j: int, dest: Collection[int], time: Value) -> Value:
        return self.with_pairs(buffer, dest, time)


class OneBufferForAllCopies(SesMulticast):
    """All copies carry all pairs of DEST, and a site disregards its own if it is of the very message."""

    def accompanying(self, buffer: Value, j: int, dest: Collection[int], time: Value) -> Value:
        return self.with_pairs(buffer, dest, time)

    def deliverable(self, i: int, state: ses.State, packet: Packet) -> Value:
        return packet.stamp.buffer[i] == packet.stamp.time or super().deliverable(i, state, packet)


class ACopyKnowsOnlyOfThoseBefore(SesMulticast):
    """A multicast as a row of unicasts: each copy carries the pairs of those sent before it."""

    symmetric = False

    def accompanying(self, buffer: Value, j: int, dest: Collection[int], time: Value) -> Value:
        return self.with_pairs(buffer, [k for k in dest if k < j], time)


class TellsThePairsOfTheOthersOnly(SesMulticast):
    """The pairs of DEST instead of the buffer, not besides it."""

    def accompanying(self, buffer: Value, j: int, dest: Collection[int], time: Value) -> Value:
        return super().accompanying(self.ops.matrix(lambda l, k: 0), j, dest, time)


class CopiesHaveTheTimeBefore(SesMulticast):
    """The pairs that accompany a copy have the time before the event SEND(M)."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        packets = [
            packet._replace(
                stamp=packet.stamp._replace(
                    buffer=self.accompanying(state.buffer, packet.destination, message.receivers, state.time)
                )
            )
            for packet in step.packets
        ]
        return [step._replace(packets=packets)]


class InsertsOnlyTheFirstPair(SesMulticast):
    symmetric = False

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        time = step.state.time
        return [step._replace(state=ses.State(time, self.with_pairs(state.buffer, message.receivers[:1], time)))]


class EachCopyIsAnEvent(SesMulticast):
    """The clock advances for every copy; the time of the last is VT(M)."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        time = state.time
        for _ in message.receivers[1:]:
            time = self.after_event(i, time)
        return super().send(i, ses.State(time, state.buffer), message)


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


class RewindsOnlyItsClock(SesRollback):
    """The text's "must rewind its clock", literally: what it has done stays done."""

    def rewound(self, i: int, state: ses_rollback.State, failure: Failure) -> Step:
        step = super().rewound(i, state, failure)
        site = state.site._replace(time=step.state.time)
        return Step(step.state._replace(site=site), (), ())


class KeepsItsPairs(SesRollback):
    """The clock and the deliveries are rewound, ORD_BUFF_S is not."""

    def rewound(self, i: int, state: ses_rollback.State, failure: Failure) -> Step:
        step = super().rewound(i, state, failure)
        return step._replace(state=step.state._replace(site=step.state.site._replace(buffer=state.buffer)))


# -- failures: what is dropped -----------------------------------------------------------------------------------------


class DropsNothingThatWaits(SesRollback):
    def rewound(self, i: int, state: ses_rollback.State, failure: Failure) -> Step:
        step = super().rewound(i, state, failure)
        undone = {event.packet for event in state.log[len(step.state.log) :]} - {None}
        return step._replace(state=step.state._replace(waiting=state.waiting | frozenset(undone)))


class ForgetsTheFailure(SesRollback):
    """What arrives later and depends on event N is not dropped."""

    def on_packet(self, i: int, state: ses_rollback.State, packet: Packet) -> Sequence[Step]:  # type: ignore[override]
        return super().on_packet(i, state._replace(failure=None), packet)


# -- the tables --------------------------------------------------------------------------------------------------------

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

BROKEN = (
    Broken(
        DeletesWithoutComparing,
        "[SES] §4.2.4: the pair (S1, VT) is compared with VT(M) before it is deleted",
        (Catch("fifo", 2, 3, 5),),
    ),
    Broken(
        DeletesWhatItsOwnTimeHasPassed,
        "[SES] §4.2.4: compared with VT(M), not with VT(S2), which Lemma 2 puts above every pair",
        (Catch("fifo", 2, 3, 5),),
    ),
    Broken(ComparesTheSendersEntry, "[SES] §4.2.4: VT ≤ VT(M) in all entries", (Catch("fifo", 2, 3, 5),)),
    Broken(
        ComparesItsOwnEntry,
        "[SES] §4.2.4: VT ≤ VT(M) in all entries, for a pair may also stand for messages of others",
        (Catch("causal", 3, 4, 7),),
    ),
    Broken(
        ComparesTheWrongWay,
        "[SES] §4.2.4: VT ≤ VT(M), not the converse",
        (Catch("fifo", 2, 3, 5),),
    ),
    Broken(
        DeletesEveryPairOfThePast,
        "[SES] §4.2.4: the pair of the sender S1; what S1 knows says nothing of others",
        (Catch("causal", 3, 3, 5),),
    ),
    Broken(DeletesOnSending, "[SES] §4.2.4: deleted when a message is delivered", (Catch("fifo", 2, 2, 3),)),
    Broken(
        CopiesKnowNothingOfEachOther,
        "[SES] §4.2.1, end: M is accompanied by the pairs (S', VT(M)) of DEST",
        (Catch("causal", 3, 2, 4),),
    ),
    Broken(
        ACopyKnowsOnlyOfThoseBefore,
        "[SES] §4.2.1, end: of all S' in DEST, not only of those served already",
        (Catch("causal", 3, 2, 4),),
    ),
    Broken(
        CopiesAreEventsInARow,
        "[SES] §4.2.1, end: one broadcast, not a row of messages",
        (Catch("causal", 3, 2, 4),),
    ),
    Broken(ACopyHasItsOwnPair, "[SES] §4.2.1, end: S' ≠ S", (Catch("delivers-all", 2, 1, 1),)),
    Broken(
        OneBufferForAllCopies,
        "[SES] §4.2.1, end: S' ≠ S, so that the copy for S has room for the older pair of S",
        (Catch("fifo", 2, 2, 3),),
    ),
    Broken(
        TellsThePairsOfTheOthersOnly,
        "[SES] §4.2.1, end: these pairs are in the accompanying buffer, besides what else it has",
        (Catch("fifo", 2, 2, 3),),
    ),
    Broken(
        CopiesHaveTheTimeBefore,
        "[SES] §4.2.1, end: the pairs have the time VT(M)",
        (Catch("causal", 3, 2, 4),),
    ),
    Broken(
        InsertsOnlyTheFirstPair,
        "[SES] §4.2.1: after the sending, the pair of every S in DEST is inserted",
        (Catch("fifo", 3, 2, 3),),
    ),
)

BROKEN_PROGRAMS = (
    BrokenProgram(
        RewindsOnlyItsClock,
        "[SES] §4.3: a rollback mechanism, for the pairs name what was undone (as does the application)",
        FIG_6_MIRRORED,
        "pairs-are-of-the-past",
        9,
        S1_CRASHES,
    ),
    BrokenProgram(
        KeepsItsPairs,
        "[SES] §4.3: a state preceding the delivery, its buffer included",
        FIG_6_MIRRORED,
        "pairs-are-of-the-past",
        9,
        S1_CRASHES,
    ),
    BrokenProgram(
        RewindsToTheBeginning,
        "[SES] §4.3: rewind as far as VT(S)[i] > N − 1, and no farther",
        SENT_BEFORE,
        "delivers-once",
        13,
        S1_CRASHES,
    ),
    BrokenProgram(
        DropsNothingThatWaits,
        "[SES] §4.3: what depends on event N was never sent, and does not wait any more",
        FIG_6,
        "delivers-once",
        11,
        S1_CRASHES,
    ),
    BrokenProgram(
        ForgetsTheFailure,
        "[SES] §4.3: what depends on event N was never sent, and may still arrive",
        NOTHING_LOST,
        "delivers-once",
        12,
        S1_CRASHES,
    ),
)

HARMLESS = (
    Harmless(
        ComparesBeforeMerging,
        "[SES] §4.2.4: before or after the merge: M brings no pair for S1, its own sender.",
        3,
        4,
        9920,
    ),
    Harmless(
        NeverDeletes,
        "[SES] §4.2.4: deletion is a matter of size alone. Without it the buffer has no more than N − 1 pairs either.",
        3,
        4,
        9761,
        never_reaches=frozenset({"an-obsolete-pair-is-deleted"}),
    ),
    Harmless(
        EachCopyIsAnEvent,
        "[SES] §4.2.1, end: how many events a broadcast counts for makes no difference, if all copies have one time.",
        3,
        3,
        8652,
    ),
)
