"""Verdicts on one run while its events arrive: in batches, late, twice and in any order.

*Certain* are, of each line, the events before the first one missing, each deliver after its send: no event that comes
later can come between them. After each batch an order is told as broken if the certain events break it, read as a run
in progress (`pending`). More events do not undo that. Two things can: a row that contradicts another one, or cannot
be used, so that what was certain no longer is; and a row that never comes, since messages that are not delivered on a
line with a hole do not count as sent (see `model_check.event_logs`). Therefore:

- with the first row of a run that contradicts another or cannot be used, all that was told is withdrawn, and nothing
  more is told before the run has ended;
- then the run is judged whole (`judge_run`), and what was told and does not hold of all its rows is withdrawn.

So in the end that verdict stands, of each order, that `judge_run` gives on all rows that have come.

A batch costs what is in it, however long the run is already. FIFO and causal order are decided by vector times, from
where the lines end and the first message missing on each channel. For the other orders events are judged by the spec
until they are *settled*: no message leads out of them or into them, so that no cycle can lead from later events
back to them. If more than `UNSETTLED_UP_TO` are not, that order is told when the run has ended, and this is said. The
rows themselves are kept, unread, to the end.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol

from crownless.model_check.event_logs import read_log
from crownless.spec.errors import BadInput
from crownless.spec.orders import weaker

from .answers import HOLE, JUDGED, QUARANTINE, TOLD, VERDICT, Query
from .rows import NOWHERE
from .runs import judge_run

#: What is told of live runs alone: a verdict does not stand any longer; orders will be told only in the end.
WITHDRAWN, LATER = "withdrawn", "later"
#: So many certain events that are not settled are judged by the spec after each batch.
UNSETTLED_UP_TO = 400
#: So many times the stream must have looked for more of a run, in vain and in time, before the run has ended.
LOOKS = 3

COPY = "a copy of an earlier event"

Told = dict[str, Any]
NAMES = [part.split()[0] for part in TOLD.split(", ")]


class Store(Protocol):
    """Texts by key, more of them than are to be read with each batch; a dictionary will do."""

    def get(self, key: str, /) -> str | None: ...

    def __setitem__(self, key: str, text: str, /) -> None: ...

    def values(self) -> Iterable[str]: ...

    def clear(self) -> None: ...


@dataclass
class Known:
    """What is read with each batch: it does not grow with the run, but with its processes.

    `next_up`: of each line the index of the first event that is not certain; `beyond`: past the last that has come.
    `times`: the vector time of each process. `channels`: receiver → sender → the first message missing, where it was
    sent on its line, and the last message.
    """

    told: list[str] = field(default_factory=list)
    later: list[str] = field(default_factory=list)
    harm: str | None = None
    ended: bool = False
    aside: int = 0
    next_up: dict[str, int] = field(default_factory=dict)
    beyond: dict[str, int] = field(default_factory=dict)
    times: dict[str, dict[str, int]] = field(default_factory=dict)
    channels: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    unicasts: bool = True
    #: The certain events that are not settled, as process, kind, message, receivers.
    unsettled: list[list[Any]] = field(default_factory=list)
    #: When its last event happened, if that is known; how often the stream has looked in vain, and since which start.
    latest: int | None = None
    looks: int = 0
    start: str = ""


@dataclass
class Live:
    """A run, live: what is known of it, and in stores all its rows and what is said of each message."""

    known: Known = field(default_factory=Known)
    rows: Store = field(default_factory=dict[str, str])
    messages: Store = field(default_factory=dict[str, str])

    def packed(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def unpacked(cls, text: str) -> Live:
        parts = json.loads(text)
        return cls(Known(**parts["known"]), parts["rows"], parts["messages"])


def more(live: Live, run: str, lines: Iterable[str], query: Query, *, first: int = 0) -> Iterator[Told]:
    """More events of a run have come: what that tells. `first` is the index of the first event of a line."""
    ready: list[str] = []
    for line in lines:
        if live.known.ended:
            yield _told(run, about=QUARANTINE, row=line, because="it came after the run had ended", rows=1)
            continue
        try:
            event = _event(line)
        except BadInput as problem:
            if run == NOWHERE:  # nothing can come that makes any use of it
                yield _told(run, about=QUARANTINE, row=line, because=problem.message, rows=1)
                continue
            _put_aside(live, line)
            yield from _harmed(live, run, problem.message)
            continue
        reason = _added(live, line, event, first)
        if reason == COPY:
            yield _told(run, about=QUARANTINE, row=line, because=COPY, rows=1)
        elif reason is not None:
            yield from _harmed(live, run, reason)
        elif event.place == live.known.next_up.get(event.process, first):
            ready.append(event.process)
    if live.known.harm is None and ready:
        yield from _Walk(live, run, query, first).told(ready)


def end(live: Live, run: str, query: Query) -> Iterator[Told]:
    """Nothing more comes of a run: the verdicts that are not told yet, and what is wrong with its events."""
    found = judge_run(run, live.rows.values(), query.orders, query.reading)
    for judgement in found.judgements:
        told = judgement.order in live.known.told
        if told and judgement.verdict != "broken":
            yield _told(run, about=WITHDRAWN, order=judgement.order, because=judgement.because)
        if not told or judgement.verdict != "broken":
            yield _verdict(run, *judgement)
    for text, reason in found.quarantine:
        yield _told(run, about=QUARANTINE, row=text, because=reason, rows=1)
    for hole in found.holes:
        yield _told(run, about=HOLE, because=hole)
    yield _told(None, about=JUDGED, rows=found.judged)
    live.rows.clear()
    live.messages.clear()
    live.known = Known(ended=True)


def come(known: Known, start: str, latest: int | None = None) -> None:
    """Events of a run have come, in this start of the stream; when the last of them happened, if that is known."""
    known.looks, known.start = 0, start
    known.latest = max((time for time in (known.latest, latest) if time is not None), default=None)


def looked(known: Known, start: str, late: float, patience: float) -> bool:
    """The stream looks again whether more has come of a run, and it has not. Has the run ended?

    That takes `LOOKS` looks, each in time. One is not if the stream has been started anew since the last (`start`
    names the start), or if it is late by more than `patience`: what has not come may be waiting in the source. Then
    all begins again.
    """
    known.looks = 0 if known.start != start or late > patience else known.looks + 1
    known.start = start
    return known.looks >= LOOKS


# -- rows --------------------------------------------------------------------------------------------------------------


class _Event(NamedTuple):
    """A row that can be used, as `runs` reads it."""

    process: str
    place: int
    kind: str
    message: str
    peers: tuple[str, ...]


def _event(line: str) -> _Event:
    """Raises `BadInput` if it cannot be used."""
    for _ in read_log([line]):
        pass
    fields = json.loads(line)
    kind = "deliver" if fields["kind"] == "receive" else fields["kind"]
    if kind == "internal":
        return _Event(fields["process"], fields["index"], kind, "", ())
    peer = fields.get("peer")
    peers = () if peer is None else tuple(peer) if isinstance(peer, list) else (peer,)
    return _Event(fields["process"], fields["index"], kind, str(fields["message"]), peers)


@dataclass
class _Message:
    """What the rows that have come say of a message; and what is certain of it."""

    sender: str | None = None
    receivers: list[str] = field(default_factory=list)
    sent_at: int | None = None
    come_at: list[str] = field(default_factory=list)
    #: What happened before its send, once that is certain; and where it is certainly delivered.
    stamp: dict[str, int] | None = None
    delivered: list[str] = field(default_factory=list)
    #: The lines that wait for its send; and for each receiver the next message on the channel.
    awaited: list[str] = field(default_factory=list)
    following: dict[str, str] = field(default_factory=dict)

    def add(self, event: _Event) -> str | None:
        """Another row about it: what in the rows before that contradicts, if anything does."""
        senders = {event.process} if event.kind == "send" else set(event.peers)
        if self.sender is not None and senders - {self.sender}:
            return f"{event.message} is said to be sent by {' and by '.join(sorted({self.sender, *senders}))}"
        self.sender = next(iter(senders), self.sender)
        if event.kind == "send":
            if self.sent_at is not None:
                return f"{event.message} is sent twice"
            self.sent_at, self.receivers = event.place, list(event.peers)
        elif event.process in self.come_at:
            return f"{event.process} delivers {event.message} twice"
        else:
            self.come_at.append(event.process)
        for receiver in self.come_at if self.sent_at is not None else ():
            if receiver not in self.receivers:
                return f"{receiver} delivers {event.message}, which is sent to {', '.join(sorted(self.receivers))}"
        return None


def _added(live: Live, line: str, event: _Event, first: int) -> str | None:
    """Keeps a row; says that it is a copy, or why it does not go together with the rows before."""
    known, key = live.known, _key(event.process, event.place)
    there = live.rows.get(key) if event.place < known.beyond.get(event.process, 0) else None
    if there is not None and _event(there) == event:
        return COPY
    if there is not None:
        _put_aside(live, line)
        return f"{event.process} has two events {event.place}"
    live.rows[key] = line
    known.beyond[event.process] = max(event.place + 1, known.beyond.get(event.process, 0))
    if event.place < first:
        return f"{event.process} has an event {event.place}, and events were to be counted from {first}"
    if known.harm is not None or event.kind == "internal":
        return None
    message = _message(live, event.message)
    reason = message.add(event)
    live.messages[event.message] = json.dumps(asdict(message))
    return reason


def _put_aside(live: Live, line: str) -> None:
    """Keeps a row that has no place of its own."""
    live.rows[_key("", live.known.aside)] = line
    live.known.aside += 1


def _key(process: str, place: int) -> str:
    return f"{place} {process}"


def _message(live: Live, name: str) -> _Message:
    text = live.messages.get(name)
    return _Message() if text is None else _Message(**json.loads(text))


def _harmed(live: Live, run: str, reason: str) -> Iterator[Told]:
    """A row contradicts another, or cannot be used: nothing is certain any more."""
    known = live.known
    if known.harm is None:
        for order in known.told:
            yield _told(run, about=WITHDRAWN, order=order, because=reason)
        live.messages.clear()
        live.known = Known(harm=reason, aside=known.aside, beyond=known.beyond, latest=known.latest)


# -- what is certain ---------------------------------------------------------------------------------------------------


class _Walk:
    """Along the lines, as far as is certain now; and what orders that breaks (`broken`, with witnesses as JSON)."""

    def __init__(self, live: Live, run: str, query: Query, first: int) -> None:
        self.live, self.known, self.run, self.first = live, live.known, run, first
        self.open = [order for order in query.orders if order not in ("asynchronous", *self.known.told)]
        self.messages: dict[str, _Message] = {}
        self.broken: dict[str, str] = {}
        #: The first messages found to break FIFO and causal order: one is missing where the other is delivered.
        self.overtaking: dict[str, tuple[str, str, str]] = {}

    def told(self, ready: list[str]) -> Iterator[Told]:
        """The next events of these lines have come."""
        if not self.open:
            return
        while ready:
            ready += self._along(ready.pop())
        self._overtakings()
        yield from self._judge()
        for order in self.open:
            if order in self.broken:
                self.known.told.append(order)
                yield _verdict(self.run, order, "broken", self.broken[order], None)
        for name, message in self.messages.items():
            self.live.messages[name] = json.dumps(asdict(message))

    def _along(self, process: str) -> list[str]:
        """Along one line; which others may then go on."""
        woken: list[str] = []
        while True:
            place = self.known.next_up.get(process, self.first)
            line = self.live.rows.get(_key(process, place))
            if line is None:
                return woken
            event = _event(line)
            if event.kind == "send":
                woken += self._send(event)
            elif event.kind == "deliver" and not self._deliver(event):
                return woken
            self.known.next_up[process] = place + 1
            self.known.times.setdefault(process, {})[process] = place + 1
            self.known.unsettled.append([process, event.kind, event.message, event.peers])

    def _message(self, name: str) -> _Message:
        if name not in self.messages:
            self.messages[name] = _message(self.live, name)
        return self.messages[name]

    def _send(self, event: _Event) -> list[str]:
        """Whose lines have waited for it."""
        message = self._message(event.message)
        message.stamp = {**self.known.times.get(event.process, {}), event.process: event.place}
        self.known.unicasts &= len(event.peers) == 1
        for receiver in event.peers:
            to_there = self.known.channels.setdefault(receiver, {})
            if event.process in to_there:
                self._message(to_there[event.process][_LAST]).following[receiver] = event.message
                to_there[event.process][_LAST] = event.message
            else:
                to_there[event.process] = [event.message, event.place, event.message]
        return message.awaited

    def _deliver(self, event: _Event) -> bool:
        """Not before its send is certain."""
        message = self._message(event.message)
        stamp, sender = message.stamp, message.sender
        if stamp is None or sender is None:
            message.awaited.append(event.process)
            return False
        for k, (missing, sent_at, _) in self.known.channels[event.process].items():
            if sent_at < stamp.get(k, 0):
                found = (missing, event.message, event.process)
                self.overtaking.setdefault("causal", found)
                if k == sender:
                    self.overtaking.setdefault("fifo", found)
        message.delivered.append(event.process)
        self._next_missing(sender, event.process)
        time = self.known.times.setdefault(event.process, {})
        for k, count in {**stamp, sender: stamp[sender] + 1}.items():
            time[k] = max(count, time.get(k, 0))
        if len(message.delivered) == len(message.receivers):
            message.stamp = {}
        return True

    def _next_missing(self, sender: str, receiver: str) -> None:
        """Leaves behind what is delivered at the head of a channel."""
        channel = self.known.channels[receiver][sender]
        while receiver in (head := self._message(channel[_FIRST])).delivered:
            if receiver not in head.following:
                del self.known.channels[receiver][sender]
                return
            channel[_FIRST] = head.following.pop(receiver)
            channel[_SENT_AT] = self._message(channel[_FIRST]).sent_at

    def _overtakings(self) -> None:
        """FIFO and causal order, and those that keep them too."""
        for weak in ("fifo", "causal"):
            if weak in self.overtaking:
                witness = self._overtaken(*self.overtaking[weak])
                for order in self.open:
                    if order == weak or weak in weaker(order, unicasts=self.known.unicasts):
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

    def _judge(self) -> Iterator[Told]:
        """The other orders."""
        left = [order for order in self.open if order in _BY_SPEC and order not in (*self.broken, *self.known.later)]
        if left:
            found = judge_run(self.run, _as_lines(self.known.unsettled), left, "pending")
            self.broken |= {found.order: found.witness or "" for found in found.judgements if found.verdict == "broken"}
            left = [order for order in left if order not in self.broken]
        self.known.unsettled = _unsettled(self.known.unsettled) if left else []
        if len(self.known.unsettled) > UNSETTLED_UP_TO:
            because = f"more than {UNSETTLED_UP_TO:,} events are not settled: it is told when the run has ended"
            for order in left:
                yield _told(self.run, about=LATER, order=order, because=because)
            self.known.later += left
            self.known.unsettled = []


#: Of a channel: the first message missing, where it was sent, and the last message.
_FIRST, _SENT_AT, _LAST = range(3)
_BY_SPEC = ("mailbox", "one-n", "n-n", "synchronous")


def _as_lines(events: Sequence[Sequence[Any]]) -> Iterator[str]:
    """These events as a log of their own."""
    index: defaultdict[str, int] = defaultdict(int)
    for process, kind, message, peers in events:
        peer = list(peers) if kind == "send" else None
        fields = {"process": process, "index": index[process], "kind": kind, "message": message, "peer": peer}
        yield json.dumps(fields)
        index[process] += 1


def _unsettled(events: Sequence[list[Any]]) -> list[list[Any]]:
    """The events but those of the largest beginning of all lines that no message leads out of.

    No constraint of any order leads back into such a beginning: what is in it comes first on its line, and so do its
    messages at each sender and at each receiver.
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


# -- what is told ------------------------------------------------------------------------------------------------------


def _verdict(run: str, order: str, verdict: str, witness: str | None, because: str | None) -> Told:
    return _told(run, about=VERDICT, order=order, verdict=verdict, witness=witness, because=because)


def _told(run: str | None, **said: Any) -> Told:
    return dict[str, Any].fromkeys(NAMES) | {"run": None if run == NOWHERE else run} | said
