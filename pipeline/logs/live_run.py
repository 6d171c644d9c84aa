"""Verdicts on one run while its events arrive: in batches, late, twice and in any order.

The *certain* events of a line are those before the first missing one, each deliver after its send: no later event can
come between them. After each batch an order is reported as broken if the certain events break it, read as a run in
progress (`pending`). Further certain events do not undo this. Two things can: a row that contradicts another or is
unusable, after which no event is certain; and a row that never arrives, since messages not delivered on a line with a
hole do not count as sent (see `model_check.event_logs`). Therefore:

- at the first contradicting or unusable row of a run, all its reported verdicts are withdrawn, and there are no more
  reports before the run has ended;
- then the run is judged whole (`judge_run`), and a reported verdict that does not hold of all its rows is withdrawn.

So in the end the verdict on each order is that of `judge_run` on all rows that have arrived.

The cost of a batch depends on its own size, not on the length of the run. FIFO and causal order are decided by vector
times, from the ends of the lines and the first message missing on each channel. For the other orders the spec checks
the events until they are *settled*: no message leads out of them or into them, so no cycle can lead from later events
back to them. If more than `UNSETTLED_UP_TO` events are unsettled, the order is reported only when the run has ended,
and a record says so. The rows themselves are kept, unread, to the end.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol

from crownless.model_check.event_logs import lines_of, read_log
from crownless.spec.errors import BadInput
from crownless.spec.orders import weaker

from .records import HOLE, JUDGED, QUARANTINE, RECORD_SCHEMA, VERDICT, Query
from .rows import UNKNOWN_RUN
from .runs import judge_run

#: Record types of live runs only: a verdict is withdrawn; an order will be reported when the run has ended.
WITHDRAWN, LATER = "withdrawn", "later"
#: The spec checks at most this many unsettled certain events after each batch.
UNSETTLED_UP_TO = 400
#: A run has ended after this many punctual polls in a row without new events.
POLLS_TO_END = 3

COPY = "a copy of an earlier event"

Record = dict[str, Any]
RECORD_FIELDS = [part.split()[0] for part in RECORD_SCHEMA.split(", ")]


class Store(Protocol):
    """Texts by key, of which a batch reads only a few; a dictionary is one."""

    def get(self, key: str, /) -> str | None: ...

    def __setitem__(self, key: str, text: str, /) -> None: ...

    def values(self) -> Iterable[str]: ...

    def clear(self) -> None: ...


@dataclass
class RunState:
    """The state that each batch reads; it grows with the processes of the run, not with its length.

    `next_up`: of each line the index of the first event that is not certain; `beyond`: past its last row.
    `times`: the vector time of each process. `channels`: receiver → sender → the first message missing, where it was
    sent on its line, and the last message.
    """

    reported: list[str] = field(default_factory=list)
    deferred: list[str] = field(default_factory=list)
    invalid_because: str | None = None
    ended: bool = False
    unplaced: int = 0
    next_up: dict[str, int] = field(default_factory=dict)
    beyond: dict[str, int] = field(default_factory=dict)
    times: dict[str, dict[str, int]] = field(default_factory=dict)
    channels: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    unicasts: bool = True
    #: The unsettled certain events, as process, kind, message, receivers.
    unsettled: list[list[Any]] = field(default_factory=list)
    #: The time of its last event, if known; the number of polls without new events; the start of the stream they belong
    #: to.
    latest: int | None = None
    polls: int = 0
    start: str = ""


@dataclass
class LiveRun:
    """A live run: its state, and in stores all its rows and the facts about each message."""

    state: RunState = field(default_factory=RunState)
    rows: Store = field(default_factory=dict[str, str])
    messages: Store = field(default_factory=dict[str, str])

    def packed(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def unpacked(cls, text: str) -> LiveRun:
        parts = json.loads(text)
        return cls(RunState(**parts["state"]), parts["rows"], parts["messages"])


def add_events(live: LiveRun, run: str, lines: Iterable[str], query: Query, *, first: int = 0) -> Iterator[Record]:
    """Adds events of a run; yields the new records. `first` is the index of the first event of a line."""
    ready: list[str] = []
    for line in lines:
        if live.state.ended:
            yield _record(run, record_type=QUARANTINE, row=line, because="it came after the run had ended", rows=1)
            continue
        try:
            event = _event(line)
        except BadInput as problem:
            if run == UNKNOWN_RUN:  # no later row can make it usable
                yield _record(run, record_type=QUARANTINE, row=line, because=problem.message, rows=1)
                continue
            _keep_unplaced(live, line)
            yield from _invalidate(live, run, problem.message)
            continue
        reason = _add_row(live, line, event, first)
        if reason == COPY:
            yield _record(run, record_type=QUARANTINE, row=line, because=COPY, rows=1)
        elif reason is not None:
            yield from _invalidate(live, run, reason)
        elif event.place == live.state.next_up.get(event.process, first):
            ready.append(event.process)
    if live.state.invalid_because is None and ready:
        yield from _CertainEvents(live, run, query, first).records(ready)


def end_run(live: LiveRun, run: str, query: Query) -> Iterator[Record]:
    """Ends a run; yields the remaining verdicts and the data-quality records."""
    found = judge_run(run, live.rows.values(), query.orders, query.reading)
    for order_verdict in found.order_verdicts:
        reported = order_verdict.order in live.state.reported
        if reported and order_verdict.verdict != "broken":
            yield _record(run, record_type=WITHDRAWN, order=order_verdict.order, because=order_verdict.because)
        if not reported or order_verdict.verdict != "broken":
            yield _verdict(run, *order_verdict)
    for text, reason in found.quarantine:
        yield _record(run, record_type=QUARANTINE, row=text, because=reason, rows=1)
    for hole in found.holes:
        yield _record(run, record_type=HOLE, because=hole)
    yield _record(None, record_type=JUDGED, rows=found.judged)
    live.rows.clear()
    live.messages.clear()
    live.state = RunState(ended=True)


def on_batch(state: RunState, start: str, latest: int | None = None) -> None:
    """Notes that events of a run have arrived in this start of the stream; `latest`: the time of the last, if known."""
    state.polls, state.start = 0, start
    state.latest = max((time for time in (state.latest, latest) if time is not None), default=None)


def on_poll(state: RunState, start: str, overdue: float, idle_timeout: float) -> bool:
    """Notes a poll without new events; true if the run has ended.

    A run ends after `POLLS_TO_END` punctual polls. A poll is not punctual if the stream has restarted since the last
    one (`start` names the start), or if it is overdue by more than `idle_timeout`: events may be waiting in the source.
    Then counting begins again.
    """
    state.polls = 0 if state.start != start or overdue > idle_timeout else state.polls + 1
    state.start = start
    return state.polls >= POLLS_TO_END


# -- rows --------------------------------------------------------------------------------------------------------------


class _LogEvent(NamedTuple):
    """A usable row, read as in `runs`."""

    process: str
    place: int
    kind: str
    message: str
    peers: tuple[str, ...]


def _event(line: str) -> _LogEvent:
    """The event of a row; raises `BadInput` if the row is unusable."""
    for _ in read_log([line]):
        pass
    fields = json.loads(line)
    kind = "deliver" if fields["kind"] == "receive" else fields["kind"]
    if kind == "internal":
        return _LogEvent(fields["process"], fields["index"], kind, "", ())
    peer = fields.get("peer")
    peers = () if peer is None else tuple(peer) if isinstance(peer, list) else (peer,)
    return _LogEvent(fields["process"], fields["index"], kind, str(fields["message"]), peers)


@dataclass
class _Message:
    """The facts about a message in the rows so far; and which of them are certain."""

    sender: str | None = None
    receivers: list[str] = field(default_factory=list)
    sent_at: int | None = None
    delivery_rows: list[str] = field(default_factory=list)
    #: The vector time of its send, once certain; and the receivers whose delivers are certain.
    stamp: dict[str, int] | None = None
    delivered: list[str] = field(default_factory=list)
    #: The lines that wait for its send; and for each receiver the next message of the channel.
    awaited: list[str] = field(default_factory=list)
    following: dict[str, str] = field(default_factory=dict)

    def add(self, event: _LogEvent) -> str | None:
        """Adds a row about the message; the reason if it contradicts the rows before, else None."""
        senders = {event.process} if event.kind == "send" else set(event.peers)
        if self.sender is not None and senders - {self.sender}:
            return f"{event.message} is said to be sent by {' and by '.join(sorted({self.sender, *senders}))}"
        self.sender = next(iter(senders), self.sender)
        if event.kind == "send":
            if self.sent_at is not None:
                return f"{event.message} is sent twice"
            self.sent_at, self.receivers = event.place, list(event.peers)
        elif event.process in self.delivery_rows:
            return f"{event.process} delivers {event.message} twice"
        else:
            self.delivery_rows.append(event.process)
        for receiver in self.delivery_rows if self.sent_at is not None else ():
            if receiver not in self.receivers:
                return f"{receiver} delivers {event.message}, which is sent to {', '.join(sorted(self.receivers))}"
        return None


def _add_row(live: LiveRun, line: str, event: _LogEvent, first: int) -> str | None:
    """Keeps a row; returns COPY, or the reason why it contradicts the rows before, else None."""
    state, key = live.state, _key(event.process, event.place)
    there = live.rows.get(key) if event.place < state.beyond.get(event.process, 0) else None
    if there is not None and _event(there) == event:
        return COPY
    if there is not None:
        _keep_unplaced(live, line)
        return f"{event.process} has two events {event.place}"
    live.rows[key] = line
    state.beyond[event.process] = max(event.place + 1, state.beyond.get(event.process, 0))
    if event.place < first:
        return f"{event.process} has an event {event.place}, but events count from {first}"
    if state.invalid_because is not None or event.kind == "internal":
        return None
    message = _message(live, event.message)
    reason = message.add(event)
    live.messages[event.message] = json.dumps(asdict(message))
    return reason


def _keep_unplaced(live: LiveRun, line: str) -> None:
    """Keeps a row that has no valid place."""
    live.rows[_key("", live.state.unplaced)] = line
    live.state.unplaced += 1


def _key(process: str, place: int) -> str:
    return f"{place} {process}"


def _message(live: LiveRun, name: str) -> _Message:
    text = live.messages.get(name)
    return _Message() if text is None else _Message(**json.loads(text))


def _invalidate(live: LiveRun, run: str, reason: str) -> Iterator[Record]:
    """Withdraws all reported verdicts: after a contradicting or unusable row no event is certain."""
    state = live.state
    if state.invalid_because is None:
        for order in state.reported:
            yield _record(run, record_type=WITHDRAWN, order=order, because=reason)
        live.messages.clear()
        live.state = RunState(invalid_because=reason, unplaced=state.unplaced, beyond=state.beyond, latest=state.latest)


# -- certain events ----------------------------------------------------------------------------------------------------


class _CertainEvents:
    """A walk along the certain events of the lines; `broken` has the orders that they break, with witnesses as JSON."""

    def __init__(self, live: LiveRun, run: str, query: Query, first: int) -> None:
        self.live, self.state, self.run, self.first = live, live.state, run, first
        self.open = [order for order in query.orders if order not in ("asynchronous", *self.state.reported)]
        self.messages: dict[str, _Message] = {}
        self.broken: dict[str, str] = {}
        #: The first messages found to break FIFO and causal order: one is missing at the delivery of the other.
        self.overtaking: dict[str, tuple[str, str, str]] = {}

    def records(self, ready: list[str]) -> Iterator[Record]:
        """Walks along these lines, whose next events have arrived; yields the new records."""
        if not self.open:
            return
        while ready:
            ready += self._advance(ready.pop())
        self._overtakings()
        yield from self._check_by_spec()
        for order in self.open:
            if order in self.broken:
                self.state.reported.append(order)
                yield _verdict(self.run, order, "broken", self.broken[order], None)
        for name, message in self.messages.items():
            self.live.messages[name] = json.dumps(asdict(message))

    def _advance(self, process: str) -> list[str]:
        """Walks along one line; returns the lines that can be resumed."""
        resumable: list[str] = []
        while True:
            place = self.state.next_up.get(process, self.first)
            line = self.live.rows.get(_key(process, place))
            if line is None:
                return resumable
            event = _event(line)
            if event.kind == "send":
                resumable += self._send(event)
            elif event.kind == "deliver" and not self._deliver(event):
                return resumable
            self.state.next_up[process] = place + 1
            self.state.times.setdefault(process, {})[process] = place + 1
            self.state.unsettled.append([process, event.kind, event.message, event.peers])

    def _message(self, name: str) -> _Message:
        if name not in self.messages:
            self.messages[name] = _message(self.live, name)
        return self.messages[name]

    def _send(self, event: _LogEvent) -> list[str]:
        """Notes a send; returns the lines that waited for it."""
        message = self._message(event.message)
        message.stamp = {**self.state.times.get(event.process, {}), event.process: event.place}
        self.state.unicasts &= len(event.peers) == 1
        for receiver in event.peers:
            to_there = self.state.channels.setdefault(receiver, {})
            if event.process in to_there:
                self._message(to_there[event.process][_LAST]).following[receiver] = event.message
                to_there[event.process][_LAST] = event.message
            else:
                to_there[event.process] = [event.message, event.place, event.message]
        return message.awaited

    def _deliver(self, event: _LogEvent) -> bool:
        """Notes a deliver; false if its send is not certain yet."""
        message = self._message(event.message)
        stamp, sender = message.stamp, message.sender
        if stamp is None or sender is None:
            message.awaited.append(event.process)
            return False
        for k, (missing, sent_at, _) in self.state.channels[event.process].items():
            if sent_at < stamp.get(k, 0):
                found = (missing, event.message, event.process)
                self.overtaking.setdefault("causal", found)
                if k == sender:
                    self.overtaking.setdefault("fifo", found)
        message.delivered.append(event.process)
        self._next_missing(sender, event.process)
        time = self.state.times.setdefault(event.process, {})
        for k, count in {**stamp, sender: stamp[sender] + 1}.items():
            time[k] = max(count, time.get(k, 0))
        if len(message.delivered) == len(message.receivers):
            message.stamp = {}
        return True

    def _next_missing(self, sender: str, receiver: str) -> None:
        """Removes delivered messages from the head of a channel."""
        channel = self.state.channels[receiver][sender]
        while receiver in (head := self._message(channel[_FIRST])).delivered:
            if receiver not in head.following:
                del self.state.channels[receiver][sender]
                return
            channel[_FIRST] = head.following.pop(receiver)
            channel[_SENT_AT] = self._message(channel[_FIRST]).sent_at

    def _overtakings(self) -> None:
        """Notes broken FIFO and causal order, and the stronger orders."""
        for weak in ("fifo", "causal"):
            if weak in self.overtaking:
                witness = self._overtaken(*self.overtaking[weak])
                for order in self.open:
                    if order == weak or weak in weaker(order, unicasts=self.state.unicasts):
                        self.broken.setdefault(order, witness)

    def _overtaken(self, first: str, second: str, receiver: str) -> str:
        witness = {
            "kind": "overtaking",
            "first": first,
            "second": second,
            "receiver": receiver,
            "first_received": receiver in self._message(first).delivered,
        }
        return json.dumps(witness, ensure_ascii=False)

    def _check_by_spec(self) -> Iterator[Record]:
        """Checks the other orders by the spec."""
        left = [order for order in self.open if order in _BY_SPEC and order not in (*self.broken, *self.state.deferred)]
        if left:
            found = judge_run(self.run, lines_of(self.state.unsettled), left, "pending")
            self.broken |= {
                found.order: found.witness or "" for found in found.order_verdicts if found.verdict == "broken"
            }
            left = [order for order in left if order not in self.broken]
        self.state.unsettled = _unsettled(self.state.unsettled) if left else []
        if len(self.state.unsettled) > UNSETTLED_UP_TO:
            because = f"more than {UNSETTLED_UP_TO:,} events are not settled: reported when the run has ended"
            for order in left:
                yield _record(self.run, record_type=LATER, order=order, because=because)
            self.state.deferred += left
            self.state.unsettled = []


#: Of a channel: the first message missing, where it was sent, and the last message.
_FIRST, _SENT_AT, _LAST = range(3)
_BY_SPEC = ("mailbox", "one-n", "n-n", "synchronous")


def _unsettled(events: Sequence[list[Any]]) -> list[list[Any]]:
    """The events outside the largest prefix of all lines that no message leaves.

    No constraint of any order leads back into such a prefix: its events come first on their lines, and its messages
    come first at each sender and each receiver.
    """
    lines: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    at: dict[tuple[str, str], list[tuple[str, int]]] = defaultdict(list)
    missing: dict[str, int] = {}
    for process, kind, message, peers in events:
        if kind == "send":
            missing[message] = len(peers)
        elif kind == "deliver":
            missing[message] -= 1
        at[kind, message].append((process, len(lines[process])))
        lines[process].append((kind, message))
    ends = {process: len(line) for process, line in lines.items()}
    out = [place for message, n in missing.items() if n for place in at["send", message]]
    while out:
        process, place = out.pop()
        for kind, message in lines[process][place : ends[process]]:
            if kind != "internal":
                out += at["deliver" if kind == "send" else "send", message]
        ends[process] = min(place, ends[process])
    index: defaultdict[str, int] = defaultdict(int)
    left = []
    for event in events:
        if index[event[0]] >= ends[event[0]]:
            left.append(event)
        index[event[0]] += 1
    return left


# -- records -----------------------------------------------------------------------------------------------------------


def _verdict(run: str, order: str, verdict: str, witness: str | None, because: str | None) -> Record:
    return _record(run, record_type=VERDICT, order=order, verdict=verdict, witness=witness, because=because)


def _record(run: str | None, **fields: Any) -> Record:
    return dict[str, Any].fromkeys(RECORD_FIELDS) | {"run": None if run == UNKNOWN_RUN else run} | fields
