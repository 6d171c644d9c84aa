"""The optimal algorithm, with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Sequence

from broken_tables import Broken, BrokenProgram, Catch, Harmless, Setup

from crownless.impl import optimal
from crownless.impl.optimal import Log, Optimal, forgotten, purged
from crownless.impl.protocol import Packet, Step
from crownless.spec.computation import Message

State = optimal.State
Entries = dict[tuple[int, int], frozenset[int]]
NOBODY: frozenset[int] = frozenset()

# -- sending -----------------------------------------------------------------------------------------------------------


class NeverAdvancesItsClock(Optimal):
    """Every message of a process is its first."""

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        return [step._replace(state=step.state._replace(clock=state.clock)) for step in super().send(i, state, message)]


class AttachesNothing(Optimal):
    def carried(self, log: Log, dests: frozenset[int], j: int) -> Entries:
        return {}


class AttachesTheLogAfterSending(Optimal):
    """O_M is the log as it is after sending: the receiver itself need not wait for anything."""

    def carried(self, log: Log, dests: frozenset[int], j: int) -> Entries:
        return purged({entry: self.implied(left, dests) for entry, left in log.items()})


class AttachesOnlyWhatItsReceiverChecks(Optimal):
    """Of each entry no other destination than the receiver travels; what it would pass on does not."""

    def carried(self, log: Log, dests: frozenset[int], j: int) -> Entries:
        return purged({entry: left & {j} for entry, left in log.items()})


class MakesEverybodyWait(Optimal):
    """O_M names the receiver of the copy in every entry, as if all that is logged had been sent to it."""

    def carried(self, log: Log, dests: frozenset[int], j: int) -> Entries:
        return {entry: left | {j} for entry, left in super().carried(log, dests, j).items()}


class AttachesItsOwnEntry(Optimal):
    """The message waits for itself: it is logged before the log is attached."""

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [
            step._replace(
                packets=[
                    packet._replace(
                        stamp=packet.stamp._replace(
                            log=packet.stamp.log | {((i, packet.stamp.clock), frozenset(message.receivers))}
                        )
                    )
                    for packet in step.packets
                ]
            )
        ]


class NeverLogsItsMessage(Optimal):
    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        return [
            step._replace(
                state=step.state._replace(
                    log=frozenset(item for item in step.state.log if item[0] != (i, step.state.clock))
                )
            )
            for step in super().send(i, state, message)
        ]


class LogsOneDestination(Optimal):
    """A multicast is logged for the first of its destinations only."""

    symmetric = False

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        log = dict(step.state.log)
        log[i, step.state.clock] = frozenset(message.receivers[:1])
        return [step._replace(state=step.state._replace(log=frozenset(log.items())))]


class SendsOneCopy(Optimal):
    """A message to several is sent to the first of them."""

    symmetric = False

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        return [step._replace(packets=step.packets[:1]) for step in super().send(i, state, message)]


class DropsEveryDestinationOnSending(Optimal):
    """What a message depends on is taken to be implied wherever it was sent, not only where the message goes."""

    def implied(self, left: frozenset[int], dests: frozenset[int]) -> frozenset[int]:
        return NOBODY


class KeepsOnlyTheDestinationsOfTheMessage(Optimal):
    """Dests ∩ M.Dests for Dests \\ M.Dests."""

    def implied(self, left: frozenset[int], dests: frozenset[int]) -> frozenset[int]:
        return left & dests


class WaitsForItsLogToEmpty(Optimal):
    """Sends only while its log says that nothing is in flight."""

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        return [] if any(left for _, left in state.log) else super().send(i, state, message)


# -- delivering --------------------------------------------------------------------------------------------------------


class DeliversWhatArrives(Optimal):
    def deliverable(self, i: int, state: State, packet: Packet) -> bool:
        return True


class ChecksOnlyTheSender(Optimal):
    def deliverable(self, i: int, state: State, packet: Packet) -> bool:
        return all(
            clock <= state.delivered[k] for (k, clock), left in packet.stamp.log if i in left and k == packet.source
        )


class ChecksAllButTheSender(Optimal):
    def deliverable(self, i: int, state: State, packet: Packet) -> bool:
        return all(
            clock <= state.delivered[k] for (k, clock), left in packet.stamp.log if i in left and k != packet.source
        )


class ChecksEveryEntry(Optimal):
    """Waits for all that is logged, whoever it is for."""

    def deliverable(self, i: int, state: State, packet: Packet) -> bool:
        return all(clock <= state.delivered[k] for (k, clock), _ in packet.stamp.log)


class AsksForMore(Optimal):
    def deliverable(self, i: int, state: State, packet: Packet) -> bool:
        return all(clock < state.delivered[k] for (k, clock), left in packet.stamp.log if i in left)


class AsksForExactlyThat(Optimal):
    def deliverable(self, i: int, state: State, packet: Packet) -> bool:
        return all(clock == state.delivered[k] for (k, clock), left in packet.stamp.log if i in left)


class AsksForTheNextOfTheSender(Optimal):
    """The message must be the next of its sender, whoever those before it were for, as with vector clocks."""

    def deliverable(self, i: int, state: State, packet: Packet) -> bool:
        return packet.stamp.clock == state.delivered[packet.source] + 1 and super().deliverable(i, state, packet)


# -- after delivering --------------------------------------------------------------------------------------------------


class NeverRecordsDeliveries(Optimal):
    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        return [
            step._replace(state=step.state._replace(delivered=state.delivered))
            for step in super().on_packet(i, state, packet)
        ]


class CountsDeliveries(Optimal):
    """SR[k] is how many messages of k were delivered, not the clock of the last."""

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        counted = self.ops.vector(lambda k: state.delivered[k] + self.ops.one_if(k == packet.source))
        return [
            step._replace(state=step.state._replace(delivered=counted)) for step in super().on_packet(i, state, packet)
        ]


class NeverLogsWhatItDelivers(Optimal):
    """The entry of the delivered message itself is not added to what it carried."""

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        carried = {entry: self.without_receiver(left, i) for entry, left in packet.stamp.log}
        log = purged(self.merged(dict(state.log), carried))
        return [step._replace(state=step.state._replace(log=frozenset(log.items())))]


class DropsTheSenderOnDelivery(Optimal):
    """What is delivered here is taken as delivered at the sender: no message names what may be on its way there."""

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        without = [(entry, left - {packet.source}) for entry, left in packet.stamp.log]
        known = [(entry, left - {packet.source}) for entry, left in state.log]
        stamp = packet.stamp._replace(log=frozenset(without))
        return super().on_packet(i, state._replace(log=frozenset(known)), packet._replace(stamp=stamp))


class DropsEveryDestinationOnDelivery(Optimal):
    """The destinations of a delivered message, and of all that it carries, are forgotten, not only the receiver."""

    def without_receiver(self, left: frozenset[int], i: int) -> frozenset[int]:
        return NOBODY


# -- merging -----------------------------------------------------------------------------------------------------------


class NeverMerges(Optimal):
    """Keeps its log as it was."""

    def merged(self, log: Log, carried: Log) -> Entries:
        return dict(log)


class ReplacesInsteadOfMerging(Optimal):
    """The log becomes what the message carried."""

    def merged(self, log: Log, carried: Log) -> Entries:
        return dict(carried)


class KeepsOnlyWhatBothKnow(Optimal):
    """What one of the two lacks is taken to be dropped, whether or not it ever knew of it."""

    def merged(self, log: Log, carried: Log) -> Entries:
        return {entry: log[entry] & left for entry, left in carried.items() if entry in log}


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


class ForgetsByTheNewest(Optimal):
    """Of every sender only the latest entry is kept: older ones are dropped although they have destinations left."""

    def merged(self, log: Log, carried: Log) -> Entries:
        both = super().merged(log, carried)
        return {entry: left for entry, left in both.items() if not forgotten(entry, both)}


class ForgetsItsOwn(Optimal):
    """What the message does not carry is dropped from the log without checking whether its sender ever knew it."""

    def merged(self, log: Log, carried: Log) -> Entries:
        return {entry: left for entry, left in super().merged(log, carried).items() if entry in carried}


class MergesDestinations(Optimal):
    """Dests ∪ Dests for Dests ∩ Dests: what one of the two has dropped comes back."""

    def merged(self, log: Log, carried: Log) -> Entries:
        both = super().merged(log, carried)
        return {entry: left | log.get(entry, NOBODY) | carried.get(entry, NOBODY) for entry, left in both.items()}


# -- variations: what only keeps the log small -------------------------------------------------------------------------


class KeepsWhatIsImplied(Optimal):
    """No destination is dropped because a message is sent there."""

    def implied(self, left: frozenset[int], dests: frozenset[int]) -> frozenset[int]:
        return left


class KeepsTheReceiver(Optimal):
    """Where a message is delivered is not dropped from its entry."""

    def without_receiver(self, left: frozenset[int], i: int) -> frozenset[int]:
        return left


class ForgetsNothingInMerging(Optimal):
    """The log and what is carried are united, entry by entry."""

    def merged(self, log: Log, carried: Log) -> Entries:
        both = {**carried, **log}
        return {entry: left & carried.get(entry, left) for entry, left in both.items()}


class KeepsNoEmptyEntries(Optimal):
    """An entry without destinations is dropped though it is the latest of its sender."""

    def carried(self, log: Log, dests: frozenset[int], j: int) -> Entries:
        return {entry: left for entry, left in super().carried(log, dests, j).items() if left}

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        return [step._replace(state=step.state._replace(log=frozenset(item for item in step.state.log if item[1])))]


class OneStampForAll(Optimal):
    """Every copy of a multicast makes every receiver of it wait: one O_M for all."""

    def carried(self, log: Log, dests: frozenset[int], j: int) -> Entries:
        return purged(dict(log))


# -- the tables --------------------------------------------------------------------------------------------------------

MULTICAST = Setup(sends="multicast")

BROKEN = (
    Broken(NeverAdvancesItsClock, "[KS98] SND 1: clock_j is incremented", (Catch("fifo", 2, 3, 5),)),
    Broken(SendsOneCopy, "[KS98] SND 2: for all d in M.Dests", (Catch("delivers-all", 3, 1, 2, MULTICAST),)),
    Broken(AttachesNothing, "[KS98] SND 2: O_M is attached", (Catch("fifo", 2, 2, 3),)),
    Broken(
        AttachesTheLogAfterSending,
        "[KS98] SND 2: Dests less M.Dests, but for the receiver of this copy",
        (Catch("fifo", 2, 2, 3),),
    ),
    Broken(
        AttachesOnlyWhatItsReceiverChecks,
        "[KS98] SND 2: destinations to which M does not go are propagated",
        (Catch("causal", 3, 3, 5),),
    ),
    Broken(
        MakesEverybodyWait,
        "[KS98] SND 2: the receiver of a copy is put back only where it was a destination",
        (Catch("delivers-all", 2, 2, 3),),
    ),
    Broken(
        AttachesItsOwnEntry,
        "[KS98] SND 4: the message itself is logged after its copies are sent",
        (Catch("delivers-all", 2, 1, 1),),
    ),
    Broken(
        DropsEveryDestinationOnSending,
        "[KS98] SND 3: Dests less M.Dests, and no others",
        (Catch("fifo", 3, 3, 4),),
    ),
    Broken(
        KeepsOnlyTheDestinationsOfTheMessage,
        "[KS98] SND 3: less M.Dests, not those alone",
        (Catch("fifo", 3, 3, 4),),
    ),
    Broken(
        NeverLogsItsMessage,
        "[KS98] SND 4: (j, clock_j, Dests) is added to the log",
        (Catch("fifo", 2, 2, 3),),
    ),
    Broken(
        LogsOneDestination,
        "[KS98] SND 4: with all its destinations",
        (Catch("fifo", 3, 2, 3, MULTICAST),),
    ),
    Broken(WaitsForItsLogToEmpty, "[KS98] SND: nothing delays a send", (Catch("never-blocks", 2, 3, 4),)),
    Broken(
        DeliversWhatArrives,
        "[KS98] RCV 1: wait until t_m ≤ SR_j[m]",
        (Catch("fifo", 2, 2, 3), Catch("causal", 2, 2, 3)),
    ),
    Broken(
        ChecksOnlyTheSender,
        "[KS98] RCV 1: for all of O_M, not only the sender's",
        (Catch("causal", 3, 3, 5), Catch("causal", 3, 2, 4, MULTICAST)),
    ),
    Broken(ChecksAllButTheSender, "[KS98] RCV 1: for all of O_M, the sender's too", (Catch("fifo", 2, 2, 3),)),
    Broken(ChecksEveryEntry, "[KS98] RCV 1: if j is among its destinations", (Catch("delivers-all", 2, 2, 3),)),
    Broken(AsksForMore, "[KS98] RCV 1: t_m ≤ SR_j[m], not <", (Catch("delivers-all", 2, 2, 3),)),
    Broken(
        AsksForExactlyThat,
        "[KS98] RCV 1: t_m ≤ SR_j[m], not =",
        (Catch("delivers-all", 3, 3, 6, MULTICAST),),
    ),
    Broken(
        AsksForTheNextOfTheSender,
        "[KS98] RCV 1: clocks count a process's messages, of which others get some",
        (Catch("delivers-all", 3, 2, 3),),
    ),
    Broken(NeverRecordsDeliveries, "[KS98] RCV 2: SR_j[k] becomes t_k", (Catch("delivers-all", 2, 2, 3),)),
    Broken(CountsDeliveries, "[KS98] RCV 2: SR_j[k] becomes t_k, not one more", (Catch("delivers-all", 3, 3, 5),)),
    Broken(
        NeverLogsWhatItDelivers,
        "[KS98] RCV 3: (k, t_k, Dests) is added to O_M",
        (Catch("causal", 3, 2, 4, MULTICAST),),
    ),
    Broken(
        DropsEveryDestinationOnDelivery,
        "[KS98] RCV 3: Dests less j, and no others",
        (Catch("causal", 3, 3, 5), Catch("causal", 3, 2, 4, MULTICAST)),
    ),
    Broken(DropsTheSenderOnDelivery, "[KS98] RCV 3: less the receiver, not the sender", (Catch("fifo", 2, 3, 5),)),
    Broken(
        NeverMerges,
        "[KS98] RCV 4: LOG_j takes in O_M",
        (Catch("causal", 3, 3, 5), Catch("causal", 3, 2, 4, MULTICAST)),
    ),
    Broken(ReplacesInsteadOfMerging, "[KS98] RCV 4: LOG_j keeps what it has", (Catch("fifo", 2, 3, 5),)),
    Broken(
        KeepsOnlyWhatBothKnow,
        "[KS98] RCV 4: what one of the two lacks is marked only if it has a later one of that sender",
        (Catch("fifo", 2, 3, 5), Catch("delivers-all", 2, 4, 7)),
    ),
    Broken(
        ForgetsItsOwn,
        "[KS98] RCV 4: what O_M lacks is marked only if O_M has a later one of that sender",
        (Catch("fifo", 2, 3, 5), Catch("delivers-all", 2, 4, 7)),
    ),
    Broken(
        ForgetsWhatIsNewOfAKnownSender,
        "[KS98] RCV 4: a later one of that sender, not any",
        (Catch("causal", 3, 3, 6, MULTICAST), Catch("causal", 2, 4, 7)),
    ),
    Broken(
        ForgetsByTheNewest,
        "[KS98] RCV 5: of the older entries those are purged that have no destinations left",
        (Catch("causal", 3, 3, 5),),
    ),
)

BROKEN_PROGRAMS: tuple[BrokenProgram, ...] = ()

HARMLESS = (
    Harmless(
        KeepsWhatIsImplied,
        "[KS98] SND 2 and 3 drop where the message goes as well: that makes logs small, and no order needs it.",
        3,
        3,
        8661,
        MULTICAST,
        never_reaches=frozenset({"an-entry-without-destinations-is-purged"}),
    ),
    Harmless(
        OneStampForAll,
        "[KS98] SND 2 makes an O_M for each copy: one for all would be as safe, and not as small.",
        3,
        3,
        8541,
        MULTICAST,
    ),
    Harmless(
        KeepsTheReceiver,
        "[KS98] RCV 3 drops the receiver: a process that the message makes wait there does not wait.",
        3,
        3,
        7854,
        MULTICAST,
    ),
    Harmless(
        MergesDestinations,
        "[KS98] RCV 4 intersects destinations: what one of the two has dropped is satisfied or implied, and may stay.",
        3,
        3,
        7845,
        MULTICAST,
    ),
    Harmless(
        ForgetsNothingInMerging,
        "[KS98] RCV 4 deletes what the other must have dropped: it may stay.",
        3,
        3,
        8409,
        MULTICAST,
    ),
    Harmless(
        KeepsNoEmptyEntries,
        "[KS98] RCV 5 keeps the latest entry of each sender though it is empty: without it others do not learn what is "
        "out of date, and that is all.",
        3,
        3,
        6888,
        MULTICAST,
    ),
    Harmless(
        NeverLogsWhatItDelivers,
        "[KS98] RCV 3 adds the delivered message: of a unicast nothing is left of it but that it is the latest.",
        3,
        4,
        4664,
    ),
)
