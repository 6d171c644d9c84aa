"""The optimal algorithm [KS98], with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from typing import Any

from overrides import Method, always, changes
from planted import Catch, Setup, breaks, keeps, planted_in

from crownless.impl.protocol import Packet
from crownless.impl.protocols import optimal
from crownless.impl.protocols.optimal import Log, Optimal, forgotten, purged

MULTICAST = Setup(sends="multicast")

Entry = tuple[int, int]
Entries = dict[Entry, frozenset[int]]
NOBODY: frozenset[int] = frozenset()


def with_log(carrier: Any, log: Log) -> Any:
    """The state or stamp with another log."""
    return carrier._replace(log=frozenset(log.items()))


def without(process: int, log: optimal.Items) -> Entries:
    """The log without one destination."""
    return {entry: left - {process} for entry, left in log}


def united(log: Log, carried: Log) -> Entries:
    """All entries; of those that both have, the destinations that both have."""
    return {entry: log.get(entry, left) & left for entry, left in {**log, **carried}.items()}


def newest(log: Log) -> Entries:
    """The latest entry of each sender."""
    return {entry: left for entry, left in log.items() if not forgotten(entry, log)}


@changes("deliverable")
def asks(holds: Method) -> Method:
    """`deliverable`, which asks `holds(j, k, clock, delivered, here)` of each entry that comes with a message from j:
    the message of k with that clock, the clock of the last one of k delivered, and whether it is for this process.
    """

    def deliverable(self: Optimal, i: int, state: optimal.State, packet: Packet) -> bool:
        return all(
            holds(packet.source, k, clock, state.delivered[k], i in left) for (k, clock), left in packet.stamp.log
        )

    return deliverable


# -- sending (SND): the clock advances, O_M is attached, Dests are dropped, the message is logged ----------------------

NeverAdvancesItsClock = breaks(fifo=(2, 3, 5))(
    Optimal, after_send=lambda self, message, before, after: after._replace(clock=before.clock)
)
AttachesNothing = breaks(fifo=(2, 2, 3))(Optimal, carried=lambda self, log, dests, j: {})
AttachesTheLogAfterSending = breaks(fifo=(2, 2, 3))(
    Optimal,
    carried=lambda self, log, dests, j: purged({entry: self.implied(left, dests) for entry, left in log.items()}),
)
AttachesOnlyWhatItsReceiverChecks = breaks(causal=(3, 3, 5))(
    Optimal, carried=lambda self, log, dests, j: purged({entry: left & {j} for entry, left in log.items()})
)
AttachesItsOwnEntry = breaks(delivers_all=(2, 1, 1))(
    Optimal,
    stamped=lambda self, packet, before, after: packet.stamp._replace(
        log=packet.stamp.log | {((packet.source, packet.stamp.clock), packet.stamp.dests)}
    ),
)
NeverLogsItsMessage = breaks(fifo=(2, 2, 3))(
    Optimal,
    after_send=lambda self, message, before, after: after._replace(
        log=after.log - {((message.sender, after.clock), frozenset(message.receivers))}
    ),
)
#: A multicast is logged for the first of its destinations only.
LogsOneDestination = breaks(fifo=(3, 2, 3), setup=MULTICAST)(
    Optimal,
    symmetric=False,
    after_send=lambda self, message, before, after: with_log(
        after, {**dict(after.log), (message.sender, after.clock): frozenset(message.receivers[:1])}
    ),
)
SendsOneCopy = breaks(delivers_all=(3, 1, 2), setup=MULTICAST)(
    Optimal,
    symmetric=False,
    send=lambda self, i, state, message: [
        step._replace(packets=step.packets[:1]) for step in Optimal.send(self, i, state, message)
    ],
)
DropsEveryDestinationOnSending = breaks(fifo=(3, 3, 4))(Optimal, implied=lambda self, left, dests: NOBODY)
KeepsOnlyTheDestinationsOfTheMessage = breaks(fifo=(3, 3, 4))(Optimal, implied=lambda self, left, dests: left & dests)
WaitsForItsLogToEmpty = breaks(never_blocks=(2, 2, 2))(
    Optimal, blocked_if=lambda self, state, message: any(left for _, left in state.log)
)

# -- delivering (RCV 1): t_m ≤ SR_j[m] for all of O_M that is for j ----------------------------------------------------

DeliversWhatArrives = breaks(fifo=(2, 2, 3), causal=(2, 2, 3))(Optimal, deliverable=always)
ChecksOnlyTheSender = breaks(Catch("causal", 3, 2, 4, MULTICAST), causal=(3, 3, 5))(
    Optimal, asks=lambda j, k, clock, delivered, here: not here or k != j or clock <= delivered
)
ChecksAllButTheSender = breaks(fifo=(2, 2, 3))(
    Optimal, asks=lambda j, k, clock, delivered, here: not here or k == j or clock <= delivered
)
ChecksEveryEntry = breaks(delivers_all=(2, 2, 3))(Optimal, asks=lambda j, k, clock, delivered, here: clock <= delivered)
AsksForMore = breaks(delivers_all=(2, 2, 3))(
    Optimal, asks=lambda j, k, clock, delivered, here: not here or clock < delivered
)
AsksForExactlyThat = breaks(delivers_all=(3, 3, 6), setup=MULTICAST)(
    Optimal, asks=lambda j, k, clock, delivered, here: not here or clock == delivered
)
#: The message must be the next of its sender, whoever those before it were for, as with vector clocks.
AsksForTheNextOfTheSender = breaks(delivers_all=(3, 2, 3))(
    Optimal,
    deliverable=lambda self, i, state, packet: (
        packet.stamp.clock == state.delivered[packet.source] + 1 and Optimal.deliverable(self, i, state, packet)
    ),
)

# -- after delivering (RCV 2, 3): SR_j[k] becomes t_k; the message is added to O_M, and the receiver dropped -----------

#: SR[k] is how many messages of k were delivered, not the clock of the last.
CountsDeliveries = breaks(delivers_all=(3, 3, 5))(
    Optimal,
    after_packet=lambda self, packet, before, after: after._replace(
        delivered=self.ops.incremented(before.delivered, packet.source)
    ),
)
#: Of a unicast nothing is left of it but that it is the latest.
NeverLogsWhatItDelivers = breaks(causal=(3, 2, 4), setup=MULTICAST)(
    keeps((3, 4, 4664))(
        Optimal,
        after_packet=lambda self, packet, before, after: with_log(
            after, purged(self.merged(dict(before.log), without(packet.destination, packet.stamp.log)))
        ),
    )
)
#: What is delivered here is taken as delivered at the sender: no message names what may be on its way there.
DropsTheSenderOnDelivery = breaks(fifo=(2, 3, 5))(
    Optimal,
    on_packet=lambda self, i, state, packet: Optimal.on_packet(
        self,
        i,
        with_log(state, without(packet.source, state.log)),
        packet._replace(stamp=with_log(packet.stamp, without(packet.source, packet.stamp.log))),
    ),
)
DropsEveryDestinationOnDelivery = breaks(Catch("causal", 3, 2, 4, MULTICAST), causal=(3, 3, 5))(
    Optimal, without_receiver=lambda self, left, i: NOBODY
)

# -- merging (RCV 4, 5): an entry that one lacks is dropped if that one has a later one of the same sender -------------

NeverMerges = breaks(Catch("causal", 3, 2, 4, MULTICAST), causal=(3, 3, 5))(
    Optimal, merged=lambda self, log, carried: dict(log)
)
ReplacesInsteadOfMerging = breaks(fifo=(2, 3, 5))(Optimal, merged=lambda self, log, carried: dict(carried))
KeepsOnlyWhatBothKnow = breaks(fifo=(2, 3, 5), delivers_all=(2, 4, 7))(
    Optimal,
    merged=lambda self, log, carried: {entry: log[entry] & left for entry, left in carried.items() if entry in log},
)


@breaks(Catch("causal", 3, 3, 6, MULTICAST), Catch("causal", 2, 4, 7))
class ForgetsWhatIsNewOfAKnownSender(Optimal):
    """What one of the two lacks is taken to be dropped if it knows of *any* message of that sender."""

    def merged(self, log: Log, carried: Log) -> Entries:
        def heard_of(entry: Entry, other: Log) -> bool:
            return any(k == entry[0] for k, _ in other)

        return {
            entry: left
            for entry, left in united(log, carried).items()
            if all(entry in known or not heard_of(entry, known) for known in (log, carried))
        }


#: Of every sender only the latest entry is kept: older ones are dropped although they have destinations left.
ForgetsByTheNewest = breaks(causal=(3, 3, 5))(
    Optimal, merged=lambda self, log, carried: newest(Optimal.merged(self, log, carried))
)
ForgetsItsOwn = breaks(fifo=(2, 3, 5), delivers_all=(2, 4, 7))(
    Optimal,
    merged=lambda self, log, carried: {
        entry: left for entry, left in Optimal.merged(self, log, carried).items() if entry in carried
    },
)

# -- variations: what only keeps the log small -------------------------------------------------------------------------

#: RCV 4 intersects destinations: what one of the two has dropped is satisfied or implied, and may stay.
MergesDestinations = keeps((3, 3, 7845), MULTICAST)(
    Optimal,
    merged=lambda self, log, carried: {
        entry: left | log.get(entry, NOBODY) | carried.get(entry, NOBODY)
        for entry, left in Optimal.merged(self, log, carried).items()
    },
)
#: SND 2 and 3 drop where the message goes as well: that makes logs small, and no order needs it.
KeepsWhatIsImplied = keeps((3, 3, 8661), MULTICAST, never_reaches=["an-entry-without-destinations-is-purged"])(
    Optimal, implied=lambda self, left, dests: left
)
#: RCV 3 drops the receiver: a process that the message makes wait there does not wait.
KeepsTheReceiver = keeps((3, 3, 7854), MULTICAST)(Optimal, without_receiver=lambda self, left, i: left)
#: RCV 4 deletes what the other must have dropped: it may stay.
ForgetsNothingInMerging = keeps((3, 3, 8409), MULTICAST)(
    Optimal, merged=lambda self, log, carried: united(log, carried)
)
#: RCV 5 keeps the latest entry of each sender though it is empty: without it others do not learn what is out of date,
#: and that is all.
KeepsNoEmptyEntries = keeps((3, 3, 6888), MULTICAST)(
    Optimal,
    carried=lambda self, log, dests, j: {
        entry: left for entry, left in Optimal.carried(self, log, dests, j).items() if left
    },
    after_packet=lambda self, packet, before, after: after._replace(
        log=frozenset(item for item in after.log if item[1])
    ),
)
#: SND 2 makes an O_M for each copy: one for all would be as safe, and not as small.
OneStampForAll = keeps((3, 3, 8541), MULTICAST)(Optimal, carried=lambda self, log, dests, j: purged(dict(log)))

ROWS = planted_in(globals())
