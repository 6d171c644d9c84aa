"""The vector-pair protocol [SES] with deletion, multicasts and failures: planted faults, and variations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from overrides import Method, changes, no_matrix, part_where, with_state
from planted import ProgramCatch, Setup, breaks, keeps, planted_in

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.protocols import ses, ses_rollback
from crownless.impl.protocols.ses import Ses
from crownless.impl.protocols.ses_delete import SesDelete
from crownless.impl.protocols.ses_multicast import SesMulticast
from crownless.impl.protocols.ses_rollback import Failure, SesRollback, depends
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
    return state._replace(buffer=part_where(machine, state.buffer, lambda m, k: m != l))


@changes("after_delivering")
def deleting(obsolete: Callable[..., bool]) -> Method:
    """`after_delivering`, where the pair of the sender j is deleted if `obsolete(i, j, pair, time, VT(M))`."""

    def after_delivering(self: SesDelete, i: int, state: ses.State, j: int, stamp: ses.Stamp) -> ses.State:
        merged = Ses.after_delivering(self, i, state, j, stamp)
        return without(self, merged, j) if obsolete(i, j, merged.buffer[j], merged.time, stamp.time) else merged

    return after_delivering


DeletesWithoutComparing = breaks(fifo=(2, 3, 5))(
    SesDelete,
    after_delivering=lambda self, i, state, j, stamp: without(self, Ses.after_delivering(self, i, state, j, stamp), j),
)
ComparesTheSendersEntry = breaks(fifo=(2, 3, 5))(SesDelete, deleting=lambda i, j, pair, own, time: pair[j] <= time[j])
#: The sender knows of what this site sent to it; not of what others did.
ComparesItsOwnEntry = breaks(causal=(3, 4, 7))(SesDelete, deleting=lambda i, j, pair, own, time: pair[i] <= time[i])


@breaks(causal=(3, 3, 5))
class DeletesEveryPairOfThePast(SesDelete):
    """Whatever the site: every pair with VT ≤ VT(M)."""

    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: ses.Stamp) -> ses.State:
        merged = Ses.after_delivering(self, i, state, j, stamp)
        known = [all(map(int.__le__, pair, stamp.time)) for pair in merged.buffer]
        return merged._replace(buffer=part_where(self, merged.buffer, lambda l, k: not known[l]))


DeletesOnSending = breaks(fifo=(2, 2, 3))(
    SesDelete, after_send=lambda self, message, before, after: without(self, after, message.receiver)
)


#: §4.2.4: before or after the merge: M brings no pair for S1, its own sender.
@keeps((3, 4, 9920))
class ComparesBeforeMerging(SesDelete):
    def after_delivering(self, i: Value, state: ses.State, j: Value, stamp: ses.Stamp) -> ses.State:
        obsolete = all(map(int.__le__, state.buffer[j], stamp.time))
        return Ses.after_delivering(self, i, without(self, state, j) if obsolete else state, j, stamp)


#: §4.2.4: deletion is a matter of size alone. Without it the buffer has no more than N − 1 pairs either.
NeverDeletes = keeps((3, 4, 9761), never_reaches=["an-obsolete-pair-is-deleted"])(
    SesDelete, after_delivering=lambda self, i, state, j, stamp: Ses.after_delivering(self, i, state, j, stamp)
)

# -- messages to several sites (§4.2.1, end) ---------------------------------------------------------------------------

CopiesKnowNothingOfEachOther = breaks(causal=(3, 2, 4))(
    SesMulticast, accompanying=lambda self, buffer, j, dest, time: buffer
)
ACopyHasItsOwnPair = breaks(delivers_all=(2, 1, 1))(
    SesMulticast, accompanying=lambda self, buffer, j, dest, time: self.with_pairs(buffer, dest, time)
)
ACopyKnowsOnlyOfThoseBefore = breaks(causal=(3, 2, 4))(
    SesMulticast,
    symmetric=False,
    accompanying=lambda self, buffer, j, dest, time: self.with_pairs(buffer, [k for k in dest if k < j], time),
)
#: The pairs of DEST instead of the buffer, not besides it.
TellsThePairsOfTheOthersOnly = breaks(fifo=(2, 2, 3))(
    SesMulticast,
    accompanying=lambda self, buffer, j, dest, time: SesMulticast.accompanying(self, no_matrix(self), j, dest, time),
)
CopiesHaveTheTimeBefore = breaks(causal=(3, 2, 4))(
    SesMulticast,
    stamped=lambda self, packet, before, after: packet.stamp._replace(
        buffer=self.accompanying(before.buffer, packet.destination, packet.message.receivers, before.time)
    ),
)
InsertsOnlyTheFirstPair = breaks(fifo=(3, 2, 3))(
    SesMulticast,
    symmetric=False,
    after_send=lambda self, message, before, after: after._replace(
        buffer=self.with_pairs(before.buffer, message.receivers[:1], after.time)
    ),
)


#: §4.2.1: how many events a broadcast counts for makes no difference, if all copies have one time.
@keeps((3, 3, 8652))
class EachCopyIsAnEvent(SesMulticast):
    """The clock advances for every copy; the time of the last is VT(M)."""

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        time = state.time
        for _ in message.receivers[1:]:
            time = self.after_event(i, time)
        return super().send(i, ses.State(time, state.buffer), message)


@breaks(causal=(3, 2, 4))
class CopiesAreEventsInARow(SesMulticast):
    """The clock advances for every copy, each has a time of its own, and covers those that went before it."""

    symmetric = False

    def send(self, i: int, state: ses.State, message: Message) -> Sequence[Step]:
        after, packets = state, []
        for j in message.receivers:
            time = self.after_event(i, after.time)
            packets.append(Packet(i, j, "message", message, ses.Stamp(time, after.buffer)))
            after = ses.State(time, self.with_pair(after.buffer, j, time))
        return [Step(after, packets, [AppEvent("send", message)])]


# -- failures (§4.3) ---------------------------------------------------------------------------------------------------


@breaks(ProgramCatch("delivers-once", SENT_BEFORE, 13, S1_CRASHES))
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


@changes("rewound")
def rewinding(change: Method) -> Method:
    """`rewound`, which gives `change(before, step)`."""
    return lambda self, i, state, failure: change(state, SesRollback.rewound(self, i, state, failure))


#: The text's "must rewind its clock", literally: what it has done stays done.
RewindsOnlyItsClock = breaks(ProgramCatch("pairs-are-of-the-past", FIG_6_MIRRORED, 9, S1_CRASHES))(
    SesRollback,
    rewinding=lambda before, step: Step(step.state._replace(site=before.site._replace(time=step.state.time))),
)
#: The clock and the deliveries are rewound, ORD_BUFF_S is not.
KeepsItsPairs = breaks(ProgramCatch("pairs-are-of-the-past", FIG_6_MIRRORED, 9, S1_CRASHES))(
    SesRollback, rewinding=lambda before, step: with_state(step, site=step.state.site._replace(buffer=before.buffer))
)
DropsNothingThatWaits = breaks(ProgramCatch("delivers-once", FIG_6, 11, S1_CRASHES))(
    SesRollback,
    rewinding=lambda before, step: with_state(
        step,
        waiting=before.waiting.union(
            event.packet for event in before.log[len(step.state.log) :] if event.packet is not None
        ),
    ),
)
#: What arrives later and depends on event N is not dropped.
ForgetsTheFailure = breaks(ProgramCatch("delivers-once", NOTHING_LOST, 12, S1_CRASHES))(
    SesRollback,
    on_packet=lambda self, i, state, packet: SesRollback.on_packet(self, i, state._replace(failure=None), packet),
)

ROWS = planted_in(globals())
