"""The optimal algorithm of Kshemkalyani & Singhal [KS98], which [SA] cites as the yardstick for the size of messages.

LOG_j holds entries that may still delay a delivery: (i, c, Dests), the c-th message of i, not known to be delivered,
nor to be delivered in order, at Dests. An entry loses a destination as soon as the message is delivered there, or a
message that depends on it is sent there. An entry without destinations is kept until a purge finds a later one of its
sender: it informs others that older entries of that sender are out of date.

Modelling choices: a sender purges its log before it enters the new message, so that its own last entry stays until the
next purge. Clocks count a process's messages, multicasts once. LOG starts without the entries (i, 0, ∅) of the printed
algorithm: an absent sender means that nothing is known about it. Self-sends are excluded.

Written from the published algorithm in our own words; none of the five papers prints it.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.impl.rules import waits
from crownless.spec.computation import Message

#: (sender, clock) → the destinations at which the message may still be undelivered.
Log = Mapping[tuple[int, int], frozenset[int]]

#: The items of a log, since a state must be hashable.
Items = frozenset[tuple[tuple[int, int], frozenset[int]]]


class State(NamedTuple):
    clock: int  #: messages sent
    delivered: Value  #: SR: by sender, the clock of the last message delivered
    log: Items  #: LOG


class Stamp(NamedTuple):
    clock: int
    dests: frozenset[int]
    log: Items  #: O_M


class Optimal(ProtocolMachine):
    source = "[KS98]"
    promises = "causal"
    admits_multicast = True
    symmetric = True

    rules = {
        **waits(lambda machine, t: (t.before.delivered, awaited(machine.n, t.process, t.packet.stamp.log))),
        "a-destination-is-dropped-as-a-later-message-goes-there": lambda machine, t: (
            t.sends and any(left & frozenset(t.message.receivers) for _, left in t.before.log)
        ),
        "an-entry-without-destinations-is-purged": lambda machine, t: (
            t.sends and not dict(t.before.log).keys() <= dict(t.after.log).keys()
        ),
        "a-destination-is-dropped-as-the-message-is-delivered-there": lambda machine, t: (
            t.received and any(t.process in left for _, left in t.packet.stamp.log)
        ),
        "of-two-entries-the-common-destinations-are-kept": lambda machine, t: (
            t.received
            and any(left != dict(t.packet.stamp.log).get(entry, left) - {t.process} for entry, left in t.before.log)
        ),
        "an-entry-that-the-sender-dropped-is-dropped": lambda machine, t: (
            t.received
            and any(
                entry not in dict(t.packet.stamp.log) and forgotten(entry, dict(t.packet.stamp.log))
                for entry, _ in t.before.log
            )
        ),
        "an-entry-that-was-dropped-here-is-not-taken": lambda machine, t: (
            t.received
            and any(
                entry not in dict(t.before.log) and forgotten(entry, dict(t.before.log))
                for entry, _ in t.packet.stamp.log
            )
        ),
    }

    def initial(self, i: int) -> State:
        return State(0, self.ops.vector(lambda k: 0), frozenset())

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        clock, dests = state.clock + 1, frozenset(message.receivers)
        log = dict(state.log)
        packets = [
            Packet(i, j, "message", message, Stamp(clock, dests, frozenset(self.carried(log, dests, j).items())))
            for j in message.receivers
        ]
        kept = purged({entry: self.implied(left, dests) for entry, left in log.items()})
        kept[i, clock] = dests
        return [Step(State(clock, state.delivered, frozenset(kept.items())), packets, [AppEvent("send", message)])]

    def implied(self, left: frozenset[int], dests: frozenset[int]) -> frozenset[int]:
        """Destinations less those of a message sent now: its own delivery there implies the earlier one."""
        return left - dests

    def carried(self, log: Log, dests: frozenset[int], j: int) -> dict[tuple[int, int], frozenset[int]]:
        """O_M for the copy to j: as the log after sending, but that j itself still has to wait for what is logged."""
        return purged({entry: self.implied(left, dests) | (left & {j}) for entry, left in log.items()})

    def deliverable(self, i: int, state: State, packet: Packet) -> bool:
        """All messages for i in O_M are delivered."""
        return all(clock <= state.delivered[k] for (k, clock), left in packet.stamp.log if i in left)

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        stamp: Stamp = packet.stamp
        delivered = self.ops.vector(lambda k: stamp.clock if k == packet.source else state.delivered[k])
        carried = dict(stamp.log)
        carried[packet.source, stamp.clock] = stamp.dests
        carried = {entry: self.without_receiver(left, i) for entry, left in carried.items()}
        log = purged(self.merged(dict(state.log), carried))
        return [Step(State(state.clock, delivered, frozenset(log.items())), (), [AppEvent("deliver", packet.message)])]

    def without_receiver(self, left: frozenset[int], i: int) -> frozenset[int]:
        """The message is delivered at i: no other message need make i wait for it."""
        return left - {i}

    def merged(self, log: Log, carried: Log) -> dict[tuple[int, int], frozenset[int]]:
        """Entries that both know remain if both have them; entries that one has dropped, knowing later ones, are
        dropped.
        """
        result = {entry: left for entry, left in log.items() if entry in carried or not forgotten(entry, carried)}
        for entry, left in carried.items():
            if entry in log:
                result[entry] = log[entry] & left
            elif not forgotten(entry, log):
                result[entry] = left
        return result

    def renamed(self, state: State, renaming: Renaming) -> State:
        return State(state.clock, renaming.vector(state.delivered), self.renamed_log(state.log, renaming))

    def renamed_stamp(self, kind: str, stamp: Stamp, renaming: Renaming) -> Stamp:
        return Stamp(stamp.clock, renaming.processes(stamp.dests), self.renamed_log(stamp.log, renaming))

    def renamed_log(self, log: Items, renaming: Renaming) -> Items:
        return frozenset([((renaming.image[k], clock), renaming.processes(left)) for (k, clock), left in log])


def forgotten(entry: tuple[int, int], log: Log) -> bool:
    """True if this log, which lacks the entry, had it and dropped it: it knows of a later one of that sender."""
    return any(k == entry[0] and clock > entry[1] for k, clock in log)


def purged(log: Log) -> dict[tuple[int, int], frozenset[int]]:
    """Without the entries that have no destinations left and are not the latest of their sender."""
    return {entry: left for entry, left in log.items() if left or not forgotten(entry, log)}


def awaited(n: int, i: int, log: Items) -> list[int]:
    """For each process, the clock of its last message for i in a log; 0: none."""
    return [max((clock for (sender, clock), left in log if sender == k and i in left), default=0) for k in range(n)]
