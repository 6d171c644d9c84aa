"""The optimal algorithm, with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Sequence

from crownless.impl import optimal
from crownless.impl.optimal import Log, Optimal, forgotten, purged
from crownless.impl.protocol import Packet, Step
from crownless.impl.variants import Catch, Setup, breaks, changed, keeps, restamped, variants_in
from crownless.spec.computation import Message

MULTICAST = Setup(sends="multicast")

State = optimal.State
Entries = dict[tuple[int, int], frozenset[int]]
NOBODY: frozenset[int] = frozenset()

# -- sending -----------------------------------------------------------------------------------------------------------

NeverAdvancesItsClock = breaks("[KS98] SND 1: clock_j is incremented", fifo=(2, 3, 5))(
    Optimal,
    send=lambda self, i, state, message: [
        step._replace(state=step.state._replace(clock=state.clock)) for step in Optimal.send(self, i, state, message)
    ],
)

AttachesNothing = breaks("[KS98] SND 2: O_M is attached", fifo=(2, 2, 3))(
    Optimal, carried=lambda self, log, dests, j: {}
)

AttachesTheLogAfterSending = breaks(
    "[KS98] SND 2: Dests less M.Dests, but for the receiver of this copy", fifo=(2, 2, 3)
)(
    Optimal,
    carried=lambda self, log, dests, j: purged({entry: self.implied(left, dests) for entry, left in log.items()}),
)

AttachesOnlyWhatItsReceiverChecks = breaks(
    "[KS98] SND 2: destinations to which M does not go are propagated", causal=(3, 3, 5)
)(Optimal, carried=lambda self, log, dests, j: purged({entry: left & {j} for entry, left in log.items()}))


@breaks("[KS98] SND 2: the receiver of a copy is put back only where it was a destination", delivers_all=(2, 2, 3))
class MakesEverybodyWait(Optimal):
    """O_M names the receiver of the copy in every entry, as if all that is logged had been sent to it."""

    def carried(self, log: Log, dests: frozenset[int], j: int) -> Entries:
        return {entry: left | {j} for entry, left in super().carried(log, dests, j).items()}


AttachesItsOwnEntry = breaks(
    "[KS98] SND 4: the message itself is logged after its copies are sent", delivers_all=(2, 1, 1)
)(
    Optimal,
    send=lambda self, i, state, message: restamped(
        Optimal.send(self, i, state, message),
        lambda packet: packet.stamp._replace(
            log=packet.stamp.log | {((i, packet.stamp.clock), frozenset(message.receivers))}
        ),
    ),
)


NeverLogsItsMessage = breaks("[KS98] SND 4: (j, clock_j, Dests) is added to the log", fifo=(2, 2, 3))(
    Optimal,
    send=lambda self, i, state, message: changed(
        Optimal.send(self, i, state, message),
        lambda after: after._replace(log=frozenset(item for item in after.log if item[0] != (i, after.clock))),
    ),
)


@breaks("[KS98] SND 4: with all its destinations", fifo=(3, 2, 3), setup=MULTICAST)
class LogsOneDestination(Optimal):
    """A multicast is logged for the first of its destinations only."""

    symmetric = False

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        log = dict(step.state.log)
        log[i, step.state.clock] = frozenset(message.receivers[:1])
        return [step._replace(state=step.state._replace(log=frozenset(log.items())))]


SendsOneCopy = breaks("[KS98] SND 2: for all d in M.Dests", delivers_all=(3, 1, 2), setup=MULTICAST)(
    Optimal,
    symmetric=False,
    send=lambda self, i, state, message: [
        step._replace(packets=step.packets[:1]) for step in Optimal.send(self, i, state, message)
    ],
)

DropsEveryDestinationOnSending = breaks("[KS98] SND 3: Dests less M.Dests, and no others", fifo=(3, 3, 4))(
    Optimal, implied=lambda self, left, dests: NOBODY
)

KeepsOnlyTheDestinationsOfTheMessage = breaks("[KS98] SND 3: less M.Dests, not those alone", fifo=(3, 3, 4))(
    Optimal, implied=lambda self, left, dests: left & dests
)

WaitsForItsLogToEmpty = breaks("[KS98] SND: nothing delays a send", never_blocks=(2, 3, 4))(
    Optimal,
    send=lambda self, i, state, message: (
        [] if any(left for _, left in state.log) else Optimal.send(self, i, state, message)
    ),
)

# -- delivering --------------------------------------------------------------------------------------------------------

DeliversWhatArrives = breaks("[KS98] RCV 1: wait until t_m ≤ SR_j[m]", fifo=(2, 2, 3), causal=(2, 2, 3))(
    Optimal, deliverable=lambda self, i, state, packet: True
)

ChecksOnlyTheSender = breaks(
    "[KS98] RCV 1: for all of O_M, not only the sender's", Catch("causal", 3, 3, 5), Catch("causal", 3, 2, 4, MULTICAST)
)(
    Optimal,
    deliverable=lambda self, i, state, packet: all(
        (clock <= state.delivered[k] for (k, clock), left in packet.stamp.log if i in left and k == packet.source)
    ),
)

ChecksAllButTheSender = breaks("[KS98] RCV 1: for all of O_M, the sender's too", fifo=(2, 2, 3))(
    Optimal,
    deliverable=lambda self, i, state, packet: all(
        (clock <= state.delivered[k] for (k, clock), left in packet.stamp.log if i in left and k != packet.source)
    ),
)

ChecksEveryEntry = breaks("[KS98] RCV 1: if j is among its destinations", delivers_all=(2, 2, 3))(
    Optimal,
    deliverable=lambda self, i, state, packet: all(clock <= state.delivered[k] for (k, clock), _ in packet.stamp.log),
)


@breaks("[KS98] RCV 1: t_m ≤ SR_j[m], not <", delivers_all=(2, 2, 3))
class AsksForMore(Optimal):
    def deliverable(self, i: int, state: State, packet: Packet) -> bool:
        return all(clock < state.delivered[k] for (k, clock), left in packet.stamp.log if i in left)


@breaks("[KS98] RCV 1: t_m ≤ SR_j[m], not =", delivers_all=(3, 3, 6), setup=MULTICAST)
class AsksForExactlyThat(Optimal):
    def deliverable(self, i: int, state: State, packet: Packet) -> bool:
        return all(clock == state.delivered[k] for (k, clock), left in packet.stamp.log if i in left)


@breaks("[KS98] RCV 1: clocks count a process's messages, of which others get some", delivers_all=(3, 2, 3))
class AsksForTheNextOfTheSender(Optimal):
    """The message must be the next of its sender, whoever those before it were for, as with vector clocks."""

    def deliverable(self, i: int, state: State, packet: Packet) -> bool:
        return packet.stamp.clock == state.delivered[packet.source] + 1 and super().deliverable(i, state, packet)


# -- after delivering --------------------------------------------------------------------------------------------------

NeverRecordsDeliveries = breaks("[KS98] RCV 2: SR_j[k] becomes t_k", delivers_all=(2, 2, 3))(
    Optimal,
    on_packet=lambda self, i, state, packet: changed(
        Optimal.on_packet(self, i, state, packet), lambda after: after._replace(delivered=state.delivered)
    ),
)


@breaks("[KS98] RCV 2: SR_j[k] becomes t_k, not one more", delivers_all=(3, 3, 5))
class CountsDeliveries(Optimal):
    """SR[k] is how many messages of k were delivered, not the clock of the last."""

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        counted = self.ops.vector(lambda k: state.delivered[k] + self.ops.one_if(k == packet.source))
        return [
            step._replace(state=step.state._replace(delivered=counted)) for step in super().on_packet(i, state, packet)
        ]


@breaks("[KS98] RCV 3: (k, t_k, Dests) is added to O_M", causal=(3, 2, 4), setup=MULTICAST)
@keeps(
    "[KS98] RCV 3 adds the delivered message: of a unicast nothing is left of it but that it is the latest.",
    (3, 4, 4664),
)
class NeverLogsWhatItDelivers(Optimal):
    """The entry of the delivered message itself is not added to what it carried."""

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        carried = {entry: self.without_receiver(left, i) for entry, left in packet.stamp.log}
        log = purged(self.merged(dict(state.log), carried))
        return [step._replace(state=step.state._replace(log=frozenset(log.items())))]


@breaks("[KS98] RCV 3: less the receiver, not the sender", fifo=(2, 3, 5))
class DropsTheSenderOnDelivery(Optimal):
    """What is delivered here is taken as delivered at the sender: no message names what may be on its way there."""

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        without = [(entry, left - {packet.source}) for entry, left in packet.stamp.log]
        known = [(entry, left - {packet.source}) for entry, left in state.log]
        stamp = packet.stamp._replace(log=frozenset(without))
        return super().on_packet(i, state._replace(log=frozenset(known)), packet._replace(stamp=stamp))


DropsEveryDestinationOnDelivery = breaks(
    "[KS98] RCV 3: Dests less j, and no others", Catch("causal", 3, 3, 5), Catch("causal", 3, 2, 4, MULTICAST)
)(Optimal, without_receiver=lambda self, left, i: NOBODY)

# -- merging -----------------------------------------------------------------------------------------------------------

NeverMerges = breaks("[KS98] RCV 4: LOG_j takes in O_M", Catch("causal", 3, 3, 5), Catch("causal", 3, 2, 4, MULTICAST))(
    Optimal, merged=lambda self, log, carried: dict(log)
)

ReplacesInsteadOfMerging = breaks("[KS98] RCV 4: LOG_j keeps what it has", fifo=(2, 3, 5))(
    Optimal, merged=lambda self, log, carried: dict(carried)
)

KeepsOnlyWhatBothKnow = breaks(
    "[KS98] RCV 4: what one of the two lacks is marked only if it has a later one of that sender",
    fifo=(2, 3, 5),
    delivers_all=(2, 4, 7),
)(
    Optimal,
    merged=lambda self, log, carried: {entry: log[entry] & left for entry, left in carried.items() if entry in log},
)


@breaks(
    "[KS98] RCV 4: a later one of that sender, not any", Catch("causal", 3, 3, 6, MULTICAST), Catch("causal", 2, 4, 7)
)
class ForgetsWhatIsNewOfAKnownSender(Optimal):
    """What one of the two lacks is taken to be dropped if it knows of *any* message of that sender."""

    def merged(self, log: Log, carried: Log) -> Entries:
        def heard_of(entry: tuple[int, int], other: Log) -> bool:
            return any(k == entry[0] for k, _ in other)

        result = {entry: left for entry, left in log.items() if entry in carried or not heard_of(entry, carried)}
        for entry, left in carried.items():
            if entry in log:
                result[entry] = log[entry] & left
            elif not heard_of(entry, log):
                result[entry] = left
        return result


@breaks("[KS98] RCV 5: of the older entries those are purged that have no destinations left", causal=(3, 3, 5))
class ForgetsByTheNewest(Optimal):
    """Of every sender only the latest entry is kept: older ones are dropped although they have destinations left."""

    def merged(self, log: Log, carried: Log) -> Entries:
        both = super().merged(log, carried)
        return {entry: left for entry, left in both.items() if not forgotten(entry, both)}


ForgetsItsOwn = breaks(
    "[KS98] RCV 4: what O_M lacks is marked only if O_M has a later one of that sender",
    fifo=(2, 3, 5),
    delivers_all=(2, 4, 7),
)(
    Optimal,
    merged=lambda self, log, carried: {
        entry: left for entry, left in Optimal.merged(self, log, carried).items() if entry in carried
    },
)

MergesDestinations = keeps(
    "[KS98] RCV 4 intersects destinations: what one of the two has dropped is satisfied or implied, and may stay.",
    (3, 3, 7845),
    MULTICAST,
)(
    Optimal,
    merged=lambda self, log, carried: {
        entry: left | log.get(entry, NOBODY) | carried.get(entry, NOBODY)
        for entry, left in Optimal.merged(self, log, carried).items()
    },
)

# -- variations: what only keeps the log small -------------------------------------------------------------------------

KeepsWhatIsImplied = keeps(
    "[KS98] SND 2 and 3 drop where the message goes as well: that makes logs small, and no order needs it.",
    (3, 3, 8661),
    MULTICAST,
    never_reaches=frozenset({"an-entry-without-destinations-is-purged"}),
)(Optimal, implied=lambda self, left, dests: left)

KeepsTheReceiver = keeps(
    "[KS98] RCV 3 drops the receiver: a process that the message makes wait there does not wait.",
    (3, 3, 7854),
    MULTICAST,
)(Optimal, without_receiver=lambda self, left, i: left)


@keeps("[KS98] RCV 4 deletes what the other must have dropped: it may stay.", (3, 3, 8409), MULTICAST)
class ForgetsNothingInMerging(Optimal):
    """The log and what is carried are united, entry by entry."""

    def merged(self, log: Log, carried: Log) -> Entries:
        both = {**carried, **log}
        return {entry: left & carried.get(entry, left) for entry, left in both.items()}


KeepsNoEmptyEntries = keeps(
    "[KS98] RCV 5 keeps the latest entry of each sender though it is empty: without it others do not learn what is "
    "out of date, and that is all.",
    (3, 3, 6888),
    MULTICAST,
)(
    Optimal,
    carried=lambda self, log, dests, j: {
        entry: left for entry, left in Optimal.carried(self, log, dests, j).items() if left
    },
    on_packet=lambda self, i, state, packet: [
        step._replace(state=step.state._replace(log=frozenset(item for item in step.state.log if item[1])))
        for step in Optimal.on_packet(self, i, state, packet)
    ],
)

OneStampForAll = keeps(
    "[KS98] SND 2 makes an O_M for each copy: one for all would be as safe, and not as small.", (3, 3, 8541), MULTICAST
)(Optimal, carried=lambda self, log, dests, j: purged(dict(log)))

ROWS = variants_in(globals())
