"""The monitor of any one order, which remembers no more than it must.

From mailbox order on, an order is kept iff some constraints on the *points* of a computation have no cycle
(`spec.constraints`). The points of a message are its send and its receives; of synchronous order it is a single point.
Besides happened-before,

* mailbox order constrains the sends of messages to one process as their receives, those to come after the others,
* one-n order the receives of messages from one process as their sends,
* n-n order both, of any two messages: whenever sends are constrained so are the receives, and vice versa.

FIFO and causal order are kept iff no message is received before one whose send came before its own, for FIFO order at
the same process. `FifoAndCausal` watches both in less room, where no message is received before it is sent.

A message is *open* from when it is handed over until nothing of it is to come. Only points of open messages, and what
these come before, can ever come after something new. So it suffices to know the open points before each open point, and
before the last event of each process. Of FIFO and causal order messages that are no longer open are known, too, as long
as an open point is before them; of n-n order, where a constraint on receives is one on sends, too, as long as a point
of an open message is before them, or of another message that is known for this reason.

A monitor state is a row of numbers; this code runs on lists, and compiled on arrays (`native.point_kernels`):

    the number of known messages, or -1 once the order is violated;
    for each known message, in order of their numbers: its number; what is to come (bit 0 its send, bit k its k-th
    receive);
    for each process the points before its last event, and for each point the points before it, as bits;
    for each process another set: up to mailbox order, the sends of what it has received, for one-n order, the receives
    of what it has sent, and what is before these (for FIFO order, at the same process).

Of FIFO and causal order a receive has a second point, before which is what was in that set when it happened.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message
from crownless.spec.orders import ORDERS, Relation

from .monitors import Monitor, MonitorState, Observation

#: The orders that it watches; here they are numbers, those of their relations.
WATCHED = tuple(order.name for order in ORDERS.values() if order.monitor == "points")
FIFO, CAUSAL = int(Relation.OVERTAKEN_OF_ONE_SENDER), int(Relation.OVERTAKEN)
MAILBOX, ONE_N, N_N = int(Relation.SENDS_AS_RECEIVED), int(Relation.RECEIVES_AS_SENT), int(Relation.ONE_QUEUE)
SYNCHRONOUS = int(Relation.INSTANTS)
HAND, SEND = -1, 0
#: Steps that a monitor remembers, as it is asked for the same ones again and again.
MAX_KEPT = 1 << 16


def points_of(m: int, order: int, first: Any) -> int:
    """How many points the message has."""
    copies = first[m + 1] - first[m]
    return 1 if order == SYNCHRONOUS else 1 + 2 * copies if order <= CAUSAL else 1 + copies


def entry_of(row: Any, m: int, order: int, first: Any) -> tuple[int, int]:
    """The place of a message among the known ones, whether it is there or not, and its first point."""
    i, point = 0, 0
    while i < row[0] and row[1 + 2 * i] < m:
        point += points_of(row[1 + 2 * i], order, first)
        i += 1
    return i, point


def begin(row: Any, length: int, n: int, order: int, m: int, first: Any) -> int:
    """Enters a message, all of it to come. Returns the length of the row."""
    i, point = entry_of(row, m, order, first)
    count, start = points_of(m, order, first), 1 + 2 * row[0]
    place = start + n + point
    for w in range(length - 1, start - 1, -1):
        row[w + 2 if w < place else w + 2 + count] = row[w] & (1 << point) - 1 | row[w] >> point << point + count
    for w in range(start - 1, 2 * i, -1):
        row[w + 2] = row[w]
    for k in range(count):
        row[place + 2 + k] = 1 << point if 0 < k <= first[m + 1] - first[m] else 0
    row[0] += 1
    row[1 + 2 * i] = m
    row[2 + 2 * i] = (2 << first[m + 1] - first[m]) - 1
    return length + 2 + count


def end(row: Any, length: int, n: int, order: int, i: int, point: int, first: Any) -> int:
    """Forgets the i-th known message, whose first point this is. Returns the length of the row."""
    count, start = points_of(row[1 + 2 * i], order, first), 1 + 2 * row[0]
    place = start + n + point
    for w in range(3 + 2 * i, start):
        row[w - 2] = row[w]
    for w in range(start, length):
        bits = row[w] & (1 << point) - 1 | row[w] >> point + count << point
        if w < place:
            row[w - 2] = bits
        elif w >= place + count:
            row[w - 2 - count] = bits
    row[0] -= 1
    return length - 2 - count


def happen(
    row: Any, length: int, n: int, order: int, process: int, m: int, event: int, sender: Any, receiver: Any, first: Any
) -> int:
    """The message is handed over (-1), sent (0) or received by its `event`-th receiver, at this process. Returns the
    length of the row.
    """
    if row[0] < 0:
        return length
    if event == HAND:
        length = begin(row, length, n, order, m, first)
        close(row, length, n, order, sender, receiver, first)
        return length
    i, point = entry_of(row, m, order, first)
    if i == row[0] or row[1 + 2 * i] != m or not row[2 + 2 * i] >> event & 1:
        return length  # it happens again, or was never handed over: `DeliveryMonitor` reports it
    if order == SYNCHRONOUS and row[2 + 2 * i] & 1 and event != SEND and process == sender[m]:
        row[0] = -1  # it is received before it is sent, by the same process
        return 1
    row[2 + 2 * i] ^= 1 << event
    line, send = 1 + 2 * row[0] + process, 1 + 2 * row[0] + n + point
    own, copies = length - n + process, first[m + 1] - first[m]
    if order == SYNCHRONOUS:
        row[line] |= row[send] | 1 << point
    else:
        row[line] |= row[send + event] | 1 << point + event
    if order <= CAUSAL and event != SEND:
        row[send + copies + event] |= row[own]
    if order <= MAILBOX and event != SEND:
        row[own] |= 1 << point
    if order == ONE_N and event == SEND:
        row[own] |= (1 << copies) - 1 << point + 1
    if close(row, length, n, order, sender, receiver, first):
        row[0] = -1
        return 1
    if order <= CAUSAL or order == N_N:
        return forget(row, length, n, order, first)
    return length if row[2 + 2 * i] else end(row, length, n, order, i, point, first)


def join(row: Any, place: int, bits: int) -> bool:
    """Adds to a set; returns whether it had not all of them."""
    more: bool = bits & ~row[place] != 0
    if more:
        row[place] |= bits
    return more


def close(row: Any, length: int, n: int, order: int, sender: Any, receiver: Any, first: Any) -> bool:
    """Adds all that follows; returns whether the order is violated."""
    more = True
    while more:
        more = expect(row, length, n, order, sender, receiver, first)
        for place in range(1 + 2 * row[0], length):
            more |= follow(row, place, length, n, order, sender, first)
    return violates(row, length, n, order, first)


def expect(row: Any, length: int, n: int, order: int, sender: Any, receiver: Any, first: Any) -> bool:
    """Puts what is to come after the last events of its processes, and under the constraints of the order."""
    start, others, point, more = 1 + 2 * row[0], length - n, 0, False
    for i in range(row[0]):
        m = row[1 + 2 * i]
        send, copies = start + n + point, first[m + 1] - first[m]
        for event in range(1 + copies):
            if row[2 + 2 * i] >> event & 1:
                process = sender[m] if event == SEND else receiver[first[m] + event - 1]
                if order == SYNCHRONOUS:
                    more |= join(row, send, row[start + process] & ~(1 << point))
                else:
                    more |= join(row, send + event, row[start + process])
                if order == MAILBOX and event != SEND:
                    more |= join(row, send, row[others + process])
                for k in range(1, 1 + copies if order == ONE_N and event == SEND else 1):
                    more |= join(row, send + k, row[others + process])
                if order <= CAUSAL and event != SEND:
                    more |= join(row, send + copies + event, row[others + process])
        if order == N_N:
            more |= mirror(row, i, point, send, first)
        point += points_of(m, order, first)
    return more


def follow(row: Any, place: int, length: int, n: int, order: int, sender: Any, first: Any) -> bool:
    """Adds what is before the points that are before this place."""
    start, more = 1 + 2 * row[0], False
    for k in range(length - start - 2 * n):
        if row[place] >> k & 1:
            before = row[start + n + k]
            if order == FIFO and is_of_receives(row, place, length, n, first):
                before &= sends_beside(row, k, sender, first)
            more |= join(row, place, before)
    return more


def violates(row: Any, length: int, n: int, order: int, first: Any) -> bool:
    """True if there is a cycle, or a message is received after one whose send came later."""
    violated: bool = False
    start, point = 1 + 2 * row[0], 0
    for i in range(row[0]):
        m = row[1 + 2 * i]
        count, copies = points_of(m, order, first), first[m + 1] - first[m]
        for k in range(count):
            at = point if k > copies and order <= CAUSAL else point + k
            violated |= row[start + n + point + k] >> at & 1 != 0
        point += count
    return violated


def is_of_receives(row: Any, place: int, length: int, n: int, first: Any) -> bool:
    """True if the set in this place is of what a process has received, or had when one receive happened."""
    point: int = place - 1 - 2 * row[0] - n
    if point < 0 or place >= length - n:
        return point >= 0
    i, send = message_of(row, point, FIFO, first)
    copies: int = first[row[1 + 2 * i] + 1] - first[row[1 + 2 * i]]
    return point - send > copies


def sends_beside(row: Any, point: int, sender: Any, first: Any) -> int:
    """The sends by the process that sends the message with this point."""
    process = sender[row[1 + 2 * message_of(row, point, FIFO, first)[0]]]
    sends, send = 0, 0
    for i in range(row[0]):
        m = row[1 + 2 * i]
        if sender[m] == process:
            sends |= 1 << send
        send += points_of(m, FIFO, first)
    return sends


def message_of(row: Any, point: int, order: int, first: Any) -> tuple[int, int]:
    """The place of the message with this point among the known ones, and its first point."""
    i, send = 0, 0
    while send + points_of(row[1 + 2 * i], order, first) <= point:
        send += points_of(row[1 + 2 * i], order, first)
        i += 1
    return i, send


def mirror(row: Any, i: int, point: int, send: int, first: Any) -> bool:
    """Constrains the send of the i-th known message as its receives, and these as that."""
    more = False
    m = row[1 + 2 * i]
    other = 0
    for j in range(row[0]):
        copies = first[row[1 + 2 * j] + 1] - first[row[1 + 2 * j]]
        receives = (1 << copies) - 1 << other + 1
        if j != i:
            for k in range(1, 1 + first[m + 1] - first[m]):
                if row[send + k] & receives:
                    more |= join(row, send, 1 << other)
                if row[send] >> other & 1:
                    more |= join(row, send + k, receives)
        other += 1 + copies
    return more


def forget(row: Any, length: int, n: int, order: int, first: Any) -> int:
    """Forgets the messages that nothing new can come before. Returns the length of the row."""
    points, i, point = unsettled(row, n, order, first), row[0], length - 1 - 2 * row[0] - 2 * n
    while i:
        i -= 1
        count = points_of(row[1 + 2 * i], order, first)
        point -= count
        if not row[2 + 2 * i] and not has_before(row, n, point, count, points):
            length = end(row, length, n, order, i, point, first)
            points = points & (1 << point) - 1 | points >> point + count << point
    return length


def unsettled(row: Any, n: int, order: int, first: Any) -> int:
    """The open points; of n-n order also the points of each message that has any of these before it, and so on: a
    constraint on its receives is one on its send, too, so that something new may come before what its send is before.
    """
    points, more = 0, True
    while more:
        more, point = False, 0
        for i in range(row[0]):
            count = points_of(row[1 + 2 * i], order, first)
            if order <= CAUSAL:
                points |= (row[2 + 2 * i] & 1) << point  # only a send to come can still be after something new
            elif not points >> point & 1 and (row[2 + 2 * i] or has_before(row, n, point, count, points)):
                points |= (1 << count) - 1 << point
                more = True
            point += count
    return points


def has_before(row: Any, n: int, point: int, count: int, points: int) -> bool:
    """True if any of these points is before one of the `count` points from `point` on."""
    found: bool = False
    for k in range(count):
        found |= row[1 + 2 * row[0] + n + point + k] & points != 0
    return found


def rename(
    row: Any, length: int, n: int, order: int, first: Any, image: Any, messages: Any, copies: Any, after: Any
) -> None:
    """Writes to `after` the same with process p called ``image[p]``, and messages and their copies renamed likewise."""
    after[0] = row[0]
    if row[0] < 0:
        return
    start = 1 + 2 * row[0]
    points = length - start - 2 * n
    for i in range(row[0]):
        m, place = row[1 + 2 * i], 0
        for j in range(row[0]):
            place += messages[row[1 + 2 * j]] < messages[m]
        after[1 + 2 * place] = messages[m]
        after[2 + 2 * place] = row[2 + 2 * i] & 1
        for c in range(first[m], first[m + 1]):
            if row[2 + 2 * i] >> 1 + c - first[m] & 1:
                after[2 + 2 * place] |= 2 << copies[c] - first[messages[m]]
    for w in range(start, length):
        after[w] = 0
    for w in range(start, length):
        to = w
        if w < start + n:
            to = start + image[w - start]
        elif w < start + n + points:
            to = start + n + renamed_point(row, w - start - n, order, first, messages, copies, after)
        else:
            to = length - n + image[w - length + n]
        for k in range(points):
            if row[w] >> k & 1:
                after[to] |= 1 << renamed_point(row, k, order, first, messages, copies, after)


def renamed_point(row: Any, point: int, order: int, first: Any, messages: Any, copies: Any, after: Any) -> int:
    """The number of a point after the renaming."""
    i, before = message_of(row, point, order, first)
    m, k = row[1 + 2 * i], point - before
    renamed: int = entry_of(after, messages[m], order, first)[1]
    if k:
        many = first[m + 1] - first[m]
        c, second = first[m] + (k - 1) % many, (k - 1) // many
        renamed += 1 + second * many + copies[c] - first[messages[m]]
    return renamed


#: What is compiled for the native engine, those first that others call.
COMPILED = (
    points_of,
    entry_of,
    message_of,
    is_of_receives,
    sends_beside,
    begin,
    end,
    join,
    mirror,
    expect,
    follow,
    violates,
    close,
    has_before,
    unsettled,
    forget,
    happen,
    renamed_point,
    rename,
)


class OpenPoints(Monitor):
    """One of these orders, in the reading `pending`: it is violated as soon as no completion keeps it.

    Events may come in any order, even a delivery before its send (Murty & Garg). Then a violation may be reported only
    once the send has happened, as a process may yet choose among several.
    """

    def __init__(self, n: int, order: str) -> None:
        relation = ORDERS[order].relation
        assert relation is not None, "such an order has a relation"
        self.n, self.order, self.watches = n, int(relation), (order,)
        self._numbers: dict[Message, int] = {}
        self._messages: list[Message] = []
        self._sender: list[int] = []
        self._receiver: list[int] = []
        self._first = [0]
        self._after = lru_cache(maxsize=MAX_KEPT)(self._observe)

    def points_of(self, copies: int) -> int:
        """How many points a message with this many receivers has."""
        return points_of(0, self.order, (0, copies))

    def initial(self) -> MonitorState:
        return (0,) * (1 + 2 * self.n)

    def encode(self, observation: Observation) -> tuple[int, int, int] | None:
        """(process, number of the message, which event)."""
        kind, process, message = observation
        m = self._number(message)
        if kind == "hand":
            return process, m, HAND
        if kind == "send":
            return process, m, SEND
        return (process, m, 1 + message.receivers.index(process)) if process in message.receivers else None

    def observe(self, monitor_state: Any, code: tuple[int, int, int]) -> tuple[MonitorState, tuple[str, ...]]:
        return self._after(monitor_state, *code)

    def _observe(self, row: Sequence[int], process: int, m: int, event: int) -> tuple[MonitorState, tuple[str, ...]]:
        copies = self._first[m + 1] - self._first[m]
        after = [*row, *[0] * (3 + 2 * copies)]
        where = self._sender, self._receiver, self._first
        length = happen(after, len(row), self.n, self.order, process, m, event, *where)
        return tuple(after[:length]), self.watches if after[0] < 0 else ()

    def renamed(self, monitor_state: Any, renaming: Renaming) -> MonitorState:
        row, first = monitor_state, self._first
        messages: dict[int, int] = {}
        copies: dict[int, int] = {}
        for m in row[1 : 1 + 2 * row[0] : 2]:
            message = renaming.message(self._messages[m])
            messages[m] = self._number(message)
            for c in range(first[m], first[m + 1]):
                copies[c] = first[messages[m]] + message.receivers.index(renaming.image[self._receiver[c]])
        after = list(row)
        rename(row, len(row), self.n, self.order, first, renaming.image, messages, copies, after)
        return tuple(after)

    def _number(self, message: Message) -> int:
        number = self._numbers.setdefault(message, len(self._messages))
        if number == len(self._messages):
            self._messages.append(message)
            self._sender.append(message.sender)
            self._receiver += message.receivers
            self._first.append(len(self._receiver))
        return number
