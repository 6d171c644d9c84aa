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

The cost of a batch depends on its own size and on what is held of the run, not on its length. The certain events are
fed to the monitor (`model_check.logs.streaming`), which forgets what is settled. If it has to hold more than
`HELD_UP_TO` events for an order, that order is reported only when the run has ended, and a record says so. The rows
themselves are kept, unread, to the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from crownless.model_check.logs.reasons import (
    AfterEnd,
    BeforeFirst,
    Copy,
    DeliveredTwice,
    NotAReceiver,
    Reason,
    SendersDiffer,
    SentTwice,
    TwoEvents,
    UnusableRow,
)
from crownless.model_check.logs.rows import Row, read_row

from .records import HOLE, JUDGED, QUARANTINE, RECORD_SCHEMA, VERDICT, Query
from .rows import UNKNOWN_RUN
from .runs import judge_run
from .witnesses import witness

#: Record types of live runs only: a verdict is withdrawn; an order will be reported when the run has ended.
WITHDRAWN, LATER = "withdrawn", "later"
#: The monitor of a live run holds at most this many events.
HELD_UP_TO = 50_000
#: A run has ended after this many punctual polls in a row without new events.
POLLS_TO_END = 3

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
    """The state that each batch reads; its size is not that of the run, but of its processes and of
    what is in flight.

    `next_up`: of each line the index of the first event that is not certain; `beyond`: past its last row.
    `processes`: their names, by their numbers in the state of the `monitor`; `named`: those of messages that it holds;
    `messages`: how many have a number.
    """

    reported: list[str] = field(default_factory=list)
    deferred: list[str] = field(default_factory=list)
    invalid_because: str | None = None
    ended: bool = False
    unplaced: int = 0
    next_up: dict[str, int] = field(default_factory=dict)
    beyond: dict[str, int] = field(default_factory=dict)
    processes: list[str] = field(default_factory=list)
    messages: int = 0
    named: dict[str, str] = field(default_factory=dict)
    monitor: dict[str, Any] | None = None
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
            yield _record(run, record_type=QUARANTINE, row=line, because=AfterEnd().text, rows=1)
            continue
        try:
            event = read_row(0, line)
        except UnusableRow as unusable:
            if run == UNKNOWN_RUN:  # no later row can make it usable
                yield _record(run, record_type=QUARANTINE, row=line, because=unusable.reason.text, rows=1)
                continue
            _keep_unplaced(live, line)
            yield from _invalidate(live, run, unusable.reason)
            continue
        reason = _add_row(live, line, event, first)
        if reason is not None and reason.kind is Copy:
            yield _record(run, record_type=QUARANTINE, row=line, because=reason.text, rows=1)
        elif reason is not None:
            yield from _invalidate(live, run, reason)
        elif event.index == live.state.next_up.get(event.process, first):
            ready.append(event.process)
    if live.state.invalid_because is None and ready:
        yield from _violations(live, run, query, _certain_events(live, ready, first))


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
        yield _record(run, record_type=QUARANTINE, row=text, because=reason.text, rows=1)
    for hole in found.holes:
        yield _record(run, record_type=HOLE, because=hole.text)
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


@dataclass
class _Message:
    """The facts about a message in the rows so far, and its number."""

    number: int = -1
    sender: str | None = None
    receivers: list[str] = field(default_factory=list)
    sent_at: int | None = None
    delivery_rows: list[str] = field(default_factory=list)

    def add(self, event: Row) -> Reason | None:
        """Adds a row about the message; the reason if it contradicts the rows before, else None."""
        senders = {event.process} if event.kind == "send" else set(event.peers)
        if event.kind == "send" and self.sent_at is not None:
            return SentTwice(event.message)
        if event.kind == "deliver" and event.process in self.delivery_rows:
            return DeliveredTwice(event.process, event.message)
        if self.sender is not None and senders - {self.sender}:
            return SendersDiffer(event.message, tuple(sorted({self.sender, *senders})))
        self.sender = next(iter(senders), self.sender)
        if event.kind == "send":
            self.sent_at, self.receivers = event.index, list(event.peers)
        else:
            self.delivery_rows.append(event.process)
        elsewhere = set(self.delivery_rows) - set(self.receivers) if self.sent_at is not None else ()
        if elsewhere:
            return NotAReceiver(min(elsewhere), event.message, tuple(sorted(self.receivers)))
        return None


def _add_row(live: LiveRun, line: str, event: Row, first: int) -> Reason | None:
    """Keeps a row, unless it is a copy; returns the reason why it cannot be used with the rows before, else None."""
    state, key = live.state, _key(event.process, event.index)
    there = live.rows.get(key) if event.index < state.beyond.get(event.process, 0) else None
    if there is not None and read_row(0, there) == event:
        return Copy(event.process, event.index)
    if there is not None:
        _keep_unplaced(live, line)
        return TwoEvents(event.process, event.index)
    live.rows[key] = line
    state.beyond[event.process] = max(event.index + 1, state.beyond.get(event.process, 0))
    if event.index < first:
        return BeforeFirst(event.process, event.index, first)
    if state.invalid_because is not None or event.kind == "internal":
        return None
    message = _message(live, event.message)
    if message.number < 0:
        message.number = state.messages
        state.messages += 1
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


def _invalidate(live: LiveRun, run: str, reason: Reason) -> Iterator[Record]:
    """Withdraws all reported verdicts: after a contradicting or unusable row no event is certain."""
    state = live.state
    if state.invalid_because is None:
        for order in state.reported:
            yield _record(run, record_type=WITHDRAWN, order=order, because=reason.text)
        live.messages.clear()
        live.state = RunState(
            invalid_because=reason.text, unplaced=state.unplaced, beyond=state.beyond, latest=state.latest
        )


# -- certain events ----------------------------------------------------------------------------------------------------


def _certain_events(live: LiveRun, ready: Iterable[str], first: int) -> Iterator[Row]:
    """The events of these lines, whose next ones have arrived, up to the first that is missing."""
    for process in ready:
        place = live.state.next_up.get(process, first)
        while (line := live.rows.get(_key(process, place))) is not None:
            yield read_row(0, line)
            place += 1
        live.state.next_up[process] = place


def _violations(live: LiveRun, run: str, query: Query, events: Iterable[Row]) -> Iterator[Record]:
    """Feeds these events to the monitor; yields the new records."""
    from crownless.model_check.logs.events import Events  # which loads what is compiled
    from crownless.model_check.logs.monitor import BROKEN, COLUMN
    from crownless.model_check.logs.streaming import StreamingMonitor

    state = live.state
    left = [order for order in query.orders if order not in ("asynchronous", *state.reported)]
    if not left:
        return
    number = {name: p for p, name in enumerate(state.processes)}
    rows: list[tuple[int, bool, int, list[int]]] = []
    for event in events:
        if event.kind != "internal":
            sends, message = event.kind == "send", _message(live, event.message).number
            process, *receivers = (
                number.setdefault(name, len(number)) for name in (event.process, *(event.peers if sends else ()))
            )
            rows.append((process, sends, message, receivers))
            state.named[str(message)] = event.message
    if not rows:
        return
    state.processes = list(number)
    if state.monitor is None:
        monitor = StreamingMonitor(
            len(number), query.orders, query.reading == "pending", None, HELD_UP_TO, forget_from=0
        )
    else:
        monitor = StreamingMonitor.restored(state.monitor, len(number))
    monitor.feed(Events.of_rows(rows))
    for order in left:
        if monitor.outcomes[COLUMN[order]] == BROKEN:
            messages, receiver, shown = monitor.violations[COLUMN[order]]
            named = [
                (
                    state.processes[p],
                    "send" if sends else "deliver",
                    state.named[str(message)],
                    [state.processes[q] for q in to],
                )
                for p, sends, message, to in shown.rows()
            ]
            at = None if receiver is None else state.processes[receiver]
            state.reported.append(order)
            shows = witness(order, named, [state.named[str(m)] for m in messages], at, "pending")
            yield _verdict(run, order, "broken", shows, None)
    known = (*state.reported, *state.deferred)
    given_up = [order for order in left if COLUMN[order] in monitor.given_up and order not in known]
    for order in given_up:
        because = f"more than {HELD_UP_TO:,} events are not settled: reported when the run has ended"
        yield _record(run, record_type=LATER, order=order, because=because)
    state.deferred += given_up
    state.monitor = monitor.state()
    state.named = {str(message): state.named[str(message)] for message in monitor.messages.tolist()}


# -- records -----------------------------------------------------------------------------------------------------------


def _verdict(run: str, order: str, verdict: str, witness: str | None, because: str | None) -> Record:
    return _record(run, record_type=VERDICT, order=order, verdict=verdict, witness=witness, because=because)


def _record(run: str | None, **fields: Any) -> Record:
    return dict[str, Any].fromkeys(RECORD_FIELDS) | {"run": None if run == UNKNOWN_RUN else run} | fields
