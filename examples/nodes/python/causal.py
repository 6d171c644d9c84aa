"""Causal order by matrices of numbers of messages (Raynal, Schiper & Toueg), and six ways to get it wrong.

crownless conform examples/nodes/python/causal.py:Matrix --order causal
crownless conform examples/nodes/python/causal.py:ClockAfterCallback --order causal
"""


class Matrix:
    """sent[k][j]: the messages that k has sent to j, as far as is known here; delivered[k]: those of k, here."""

    def __init__(self, process, processes, transmit, deliver):
        self.me, self.n = process, processes
        self.transmit, self.deliver = transmit, deliver
        self.sent = [[0] * processes for _ in range(processes)]
        self.delivered = [0] * processes
        self.waiting = []

    def on_send(self, to, message):
        self.transmit(to, (message, [list(row) for row in self.sent]))
        self.sent[self.me][to] += 1

    def on_packet(self, source, packet):
        self.waiting.append((source, *packet))
        while (ready := next(filter(self.is_ready, self.waiting), None)) is not None:
            self.waiting.remove(ready)
            self.take(*ready)

    def is_ready(self, held):
        _, _, stamp = held
        return all(self.delivered[k] >= stamp[k][self.me] for k in range(self.n))

    def take(self, source, message, stamp):
        self.update(source, stamp)
        self.deliver(message)

    def update(self, source, stamp):
        self.delivered[source] += 1
        self.sent = [list(map(max, known, new)) for known, new in zip(self.sent, stamp, strict=True)]
        self.sent[source][self.me] = max(self.sent[source][self.me], stamp[source][self.me] + 1)


class BroadcastClocks(Matrix):
    """Wrong: vector clocks that count broadcasts, used for messages to one process. Some are never delivered."""

    def __init__(self, process, processes, transmit, deliver):
        super().__init__(process, processes, transmit, deliver)
        self.sends = 0

    def on_send(self, to, message):
        self.sends += 1
        stamp = list(self.delivered)
        stamp[self.me] = self.sends
        self.transmit(to, (message, stamp))

    def is_ready(self, held):
        source, _, stamp = held
        others = (k for k in range(self.n) if k not in (source, self.me))
        return stamp[source] == self.delivered[source] + 1 and all(stamp[k] <= self.delivered[k] for k in others)

    def update(self, source, stamp):
        self.delivered[source] += 1


class OwnColumn(Matrix):
    """Wrong: only the column of the receiver travels, so that nobody learns of messages to third processes."""

    def on_send(self, to, message):
        column = [[row[j] if j == to else 0 for j in range(self.n)] for row in self.sent]
        self.transmit(to, (message, column))
        self.sent[self.me][to] += 1


class OverwritingMerge(Matrix):
    """Wrong: takes over the matrix that has come, instead of the greater of both."""

    def update(self, source, stamp):
        self.delivered[source] += 1
        self.sent = stamp
        self.sent[source][self.me] += 1


class OnePass(Matrix):
    """Wrong: looks once at each message that waits; one that the next delivery would let through waits on."""

    def on_packet(self, source, packet):
        self.waiting.append((source, *packet))
        for held in sorted(self.waiting, key=lambda held: held[0] != source):
            if self.is_ready(held):
                self.waiting.remove(held)
                self.take(*held)


class StampBeforeIncrement(Matrix):
    """Wrong: the receiver counts the message itself in its stamp, and the sender has not counted it yet."""

    def is_ready(self, held):
        source, _, stamp = held
        return all(stamp[k][self.me] <= self.delivered[k] + (k == source) for k in range(self.n))


class ClockAfterCallback(Matrix):
    """Wrong: the application is called before the clocks are set, and may send from there."""

    def take(self, source, message, stamp):
        self.deliver(message)
        self.update(source, stamp)
