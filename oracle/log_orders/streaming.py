"""The monitor of one run whose events come bit by bit: it holds the events that may still matter, not the run.

`StreamingMonitor` is fed events, those of each process in order. A deliver counts once its send has come. What counts,
read as a run in progress, shows a violation for good: no later event undoes it. FIFO and causal order are decided in
one pass as of a run in memory (`overtaking`), which keeps the times of processes and of messages in flight. For each
other order that is not broken yet, the events held are walked under its constraints (`constraints`). An event is
*settled* when it can be walked without any event that waits for a message in flight: no later event can lead to it. A
message is forgotten once all its events are settled for all orders: no violation still to come involves it.

The constraints of n-n follow from each other, so that any message in flight may add some to earlier events. For it
nothing is forgotten but what was sent and received before all that is still in flight; if too much would have to be
held, it is decided as far as other orders settle it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from crownless.oracle.logs.events import Events
from crownless.oracle.logs.layout import (
    COPIES,
    EVENTS,
    INTERNAL,
    MESSAGES,
    NONE,
    SEND,
    Numbers,
    Rows,
    Run,
    lay_out,
    read_only,
    room,
)

from .constraints import Graph, begin, behind_an_unreceived_one, graph
from .monitor import (
    ASYNCHRONOUS,
    BROKEN,
    CAUSAL,
    COLUMN,
    FIFO,
    KEPT,
    MAILBOX,
    N_N,
    ONE_N,
    SYNCHRONOUS,
    UNDECIDED,
    constrain,
    keeps,
    keeps_one_queue,
    show,
    show_overtaking,
)
from .one_queue import queue
from .overtaking import LINES_UP_TO, channels, overtakings
from .settling import in_happened_before, settle, settle_before_all_others

#: If more events than these would have to be held, the orders that need them are left undecided.
HOLD_UP_TO = 2_000_000
#: The same for n-n order.
ONE_QUEUE_UP_TO = 200_000
#: With fewer events nothing is forgotten.
FORGET_FROM = 1 << 16
#: Room for times in flight at first, in entries.
ENTRIES = 1 << 12

#: No messages.
NOBODY = np.empty(0, np.int64)
#: The orders that are walked for, stronger ones first.
_CONSTRAINED = (SYNCHRONOUS, MAILBOX, ONE_N)


class Contradiction(Exception):
    """Some of these events contradict each other: a message is sent twice, or delivered where it is not sent to."""

    def __init__(self, events: Events) -> None:
        super().__init__("events contradict each other")
        self.events = events


class Violation(NamedTuple):
    """These messages show that an order is broken; with a `receiver`, the second overtakes the first there."""

    messages: tuple[int, ...]
    receiver: int | None
    #: Their events so far; and those of the messages by which the send of the first happened before that of the
    #: second, if they are held.
    events: Events


@dataclass
class StreamingMonitor:
    """The monitor of a run of so many processes, at most `overtaking.LINES_UP_TO`.

    What is not received in the end is `pending`, or lost. `lengths`: how many events each process has in all, if that
    is known.
    """

    processes: int
    orders: Collection[str] = tuple(COLUMN)
    pending: bool = False
    lengths: Numbers | None = None
    hold_up_to: int = HOLD_UP_TO
    forget_from: int = FORGET_FROM
    #: For each order as in `monitor.COLUMN` BROKEN as soon as that is certain; KEPT or UNDECIDED after `finish`.
    outcomes: list[int] = field(default_factory=lambda: [UNDECIDED] * len(COLUMN))
    #: What shows each violation, by order.
    violations: dict[int, Violation] = field(default_factory=dict)
    #: The most events held at once.
    most_held: int = 0
    #: Events that wait for sends that have not come, or in a cycle for each other.
    waiting: Events = field(default_factory=Events.none)
    #: The orders that nothing more is held for, since it would have been too much.
    given_up: set[int] = field(default_factory=set)
    #: In the end, each message and receiver that does not receive it.
    unreceived: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        #: The orders that events are held for.
        self._open = {COLUMN[order] for order in self.orders} - {ASYNCHRONOUS}
        if N_N in self._open:
            self._open |= {*_CONSTRAINED}
        if self._open & {*_CONSTRAINED}:
            self._open |= {FIFO, CAUSAL}
        self._asked = frozenset(self._open)
        #: The events held, in an order that happened-before allows; of all events so far those of each process.
        self._held = Events.none()
        known = self.processes if self.processes <= LINES_UP_TO else 0
        self._counts = np.zeros(known, np.int64)
        #: By process and process how many events *held* it knows; and the same of each message in flight.
        self._times = np.zeros((known, known), np.int32)
        self._stamps = np.zeros((0, known), np.int32)
        self._unicasts = True
        #: True if nothing more is decided.
        self.has_stopped = False
        self._refuse_too_many_processes()

    def feed(self, events: Events, *, at_once: bool = True) -> None:
        """Takes these events, and decides about them: if not `at_once`, when as many have come as are held."""
        if self.has_stopped:
            return
        self.waiting += events
        self.most_held = max(self.most_held, len(self._held) + len(self.waiting))
        if at_once or len(self.waiting) >= len(self._held):
            self._decide(ended=False, at_once=at_once)

    def finish(self) -> None:
        """Decides what is open: no more events come. Nothing is decided of a run in which some wait for ever."""
        if not self.has_stopped:
            self._decide(ended=True)
        if self.has_stopped:
            return
        if len(self.waiting):
            self.outcomes = [UNDECIDED] * len(COLUMN)
        else:
            for column in {ASYNCHRONOUS, *self._open}:
                self.outcomes[column] = KEPT
            if self.outcomes[SYNCHRONOUS] == KEPT:
                self.outcomes[N_N] = KEPT

    def cycle(self) -> list[tuple[int, int]]:
        """Delivers that wait in a cycle for each other, each for the next, as (process, message); or none."""
        events = self.waiting
        sender: dict[int, int] = {}
        heads: dict[int, int] = {}
        for p, kind, message in zip(
            *(column.tolist() for column in (events.process, events.kind, events.message)), strict=True
        ):
            heads.setdefault(p, message)
            if kind == SEND:
                sender[message] = p
        checked: set[int] = set()
        for start in heads:
            path: list[int] = []
            process: int | None = start
            while process in heads and process not in checked:
                checked.add(process)
                path.append(process)
                process = sender.get(heads[process])
            if process in path:
                return [(p, heads[p]) for p in path[path.index(process) :]]
        return []

    def grow(self, processes: int) -> None:
        """There are so many processes now, not fewer than before."""
        more = processes - self.processes
        self.processes = processes
        self._refuse_too_many_processes()
        if self.has_stopped:
            return
        self._counts = np.pad(self._counts, (0, more))
        self._times = np.pad(self._times, ((0, more), (0, more)))
        self._stamps = np.pad(self._stamps, ((0, 0), (0, more)))

    @property
    def messages(self) -> Numbers:
        """The messages of events that are held, or wait, in order."""
        messages: Numbers = np.unique(np.append(self._held.message, self.waiting.message))
        return messages

    # -- one step ------------------------------------------------------------------------------------------------------

    def _decide(self, *, ended: bool, at_once: bool = True) -> None:
        fed = len(self._held)
        self._admit()
        if len(self._held) == fed and not ended:
            self._give_up_if_too_many()
            return
        run = self._laid_out()
        constraints = graph(run)
        self._find_overtakings(run, constraints, fed)
        if not ended:
            constraints.to_come[: run.sizes[MESSAGES]] = self._to_come(run)
        forget = not ended and len(self._held) > self.forget_from
        self._walk(run, constraints, ended, ended or at_once or forget)
        if ended:
            copies = np.flatnonzero(run.deliver[: run.sizes[COPIES]] == NONE)
            rows = run.row[run.send[run.of_copy[copies]]] - self.processes
            self.unreceived = list(zip(self._held.message[rows].tolist(), run.receiver[copies].tolist(), strict=True))
        if forget:
            self._forget(run, constraints)
        if not ended:
            self._give_up_if_too_many()

    def _admit(self) -> None:
        """Adds to the events held those that waited for nothing else, in an order that happened-before allows."""
        known = len(self._held)
        events = self._held + self.waiting
        messages, number = np.unique(events.message, return_inverse=True)
        order, n = np.empty(len(events), np.int64), self.processes
        count = in_happened_before(
            events.process, events.kind, number, order, np.zeros(len(events), np.int64),
            np.full((3, n), NONE, np.int64), np.empty(n, np.int64), np.zeros(len(messages), np.bool_),
            np.full(len(messages), NONE, np.int64),
        )  # fmt: skip
        waits = np.ones(len(events), np.bool_)
        waits[order[:count]] = False
        self._held, self.waiting = events.some(order[:count]), events.some(np.flatnonzero(waits))
        self._counts += np.bincount(self._held.process[known:], minlength=n)
        receivers = np.diff(self._held.first_receiver)[known:]
        self._unicasts = self._unicasts and int(receivers.max(initial=0)) <= 1

    def _laid_out(self) -> Run:
        """The events held as a run, whose lines are the processes in their order."""
        held, n = self._held, self.processes
        order = np.argsort(held.process, kind="stable")
        starts = np.searchsorted(held.process[order], np.arange(n))
        place = np.empty(len(held), np.int64)
        place[order] = 1 + np.arange(len(held)) - starts[held.process[order]]
        sends = held.kind == SEND
        peer = np.full(len(held), NONE, np.int32)
        peer[sends] = np.arange(int(sends.sum()), dtype=np.int32)
        _, message = np.unique(held.message, return_inverse=True)

        def behind(first: Any, column: Numbers) -> Numbers:
            """The column of an internal event at each process, and of these events."""
            return np.concatenate([np.broadcast_to(np.asarray(first, column.dtype), n), column])

        rows = Rows(
            np.array([0, n + len(held)], np.int64),
            behind(np.arange(n), held.process),
            behind(0, place),
            behind(INTERNAL, held.kind),
            behind(NONE, message.astype(np.int32)),
            behind(NONE, peer),
            np.append(0, np.cumsum(np.diff(held.first_receiver)[sends])).astype(np.int32),
            held.receiver,
        )
        rows = read_only(rows)
        run, names = room(rows)
        if not lay_out(0, rows, run, names):
            raise Contradiction(self._held)
        return run

    def _find_overtakings(self, run: Run, constraints: Graph, fed: int) -> None:
        if not self._open & {FIFO, CAUSAL}:
            return
        n, entries = self.processes, max(ENTRIES, 2 * self._stamps.size)
        order = run.order[:fed]
        delivered = np.bincount(run.message[order[run.copy[order] != NONE]], minlength=len(run.send))
        copies = np.diff(run.first_copy, append=0)[: run.sizes[MESSAGES]]
        in_flight = copies - delivered[: len(copies)]
        known = np.sort(run.message[order[run.copy[order] == NONE]])
        known = known[in_flight[known] > 0]
        while True:
            by, slots = channels(run, n, entries), len(self._stamps)
            by.times[: n * n] = self._times.ravel()
            by.stamps[: self._stamps.size] = self._stamps.ravel()
            by.in_flight[: len(copies)] = in_flight
            by.slot[known[:slots]] = np.arange(slots)
            found = np.array([NONE if column in self._open else 0 for column in (FIFO, FIFO, CAUSAL, CAUSAL)], np.int32)
            by.slots[0] = slots
            if overtakings(run, by, fed, found):
                break
            entries *= 2
        if CAUSAL in self._open and found[2] == NONE:
            self._times = by.times[: n * n].reshape(n, n).copy()
            slot = by.slot[self._lacking(run)]
            self._stamps = by.stamps[: len(by.stamps) // n * n].reshape(-1, n)[slot]
        else:
            self._times[:], self._stamps = 0, self._stamps[:0]
        for column, overtaken, overtaking in ((FIFO, *found[:2].tolist()), (CAUSAL, *found[2:].tolist())):
            if column in self._open and overtaken != NONE:
                chain = np.zeros(len(run.send), np.bool_)
                show_overtaking(run, constraints, overtaken, overtaking, chain)
                pair = run.of_copy[[overtaken, overtaking]]
                self._close(column, run, pair, int(run.receiver[overtaken]), np.flatnonzero(chain))

    def _walk(self, run: Run, constraints: Graph, ended: bool, one_queue: bool) -> None:
        """Walks for each open order, n-n if `one_queue`; what may still be received counts as pending."""
        pending = self.pending or not ended
        for column in _CONSTRAINED:
            if column not in self._open:
                continue
            if not self.pending and self._is_broken_by_loss(column, run, constraints):
                self._show(column, run, constraints, False)
            elif not keeps(run, constraints, column, pending):
                self._show(column, run, constraints, pending)
            elif column == SYNCHRONOUS and pending:  # so are the others
                return
        if one_queue and N_N in self._open:
            is_one_queue = keeps_one_queue(run, constraints, queue(run), pending)
            if is_one_queue == NONE:
                self._give_up({N_N})
            elif not is_one_queue:
                self._show(N_N, run, constraints, pending)

    def _is_broken_by_loss(self, column: int, run: Run, constraints: Graph) -> bool:
        """True if an order has no place for what is lost for certain."""
        if column == SYNCHRONOUS:
            return not constraints.to_come[self._lacking(run)].all()
        begin(run, constraints, False)
        return column == ONE_N and behind_an_unreceived_one(run, constraints) != NONE

    def _show(self, column: int, run: Run, constraints: Graph, pending: bool) -> None:
        shows = np.zeros(len(run.send), np.bool_)
        show(column, run, constraints, queue(run), pending, shows)
        self._close(column, run, np.flatnonzero(shows))

    def _close(
        self, column: int, run: Run, messages: Numbers, receiver: int | None = None, chain: Numbers = NOBODY
    ) -> None:
        """Notes that these messages of the run show a violation of an order, hence of the stronger ones."""
        broken = {column}
        if column == CAUSAL:
            broken |= {MAILBOX, N_N, SYNCHRONOUS} | ({ONE_N} if self._unicasts else set())
        elif column in (MAILBOX, ONE_N):
            broken |= {N_N, SYNCHRONOUS}
        named = self._held.message[run.row[run.send[messages]] - self.processes]
        all_named = self._held.message[run.row[run.send[np.append(messages, chain)]] - self.processes]
        events = self._held.some(np.flatnonzero(np.isin(self._held.message, all_named)))
        for stronger in broken:
            if self.outcomes[stronger] == UNDECIDED and stronger in self._asked:
                self.outcomes[stronger] = BROKEN
                self.violations[stronger] = Violation(tuple(named.tolist()), receiver, events)
        self._open -= broken

    def _lacking(self, run: Run) -> Numbers:
        """The messages that have not been delivered by all their receivers."""
        copies = run.sizes[COPIES]
        return np.unique(run.of_copy[:copies][run.deliver[:copies] == NONE])

    # -- memory --------------------------------------------------------------------------------------------------------

    def _to_come(self, run: Run) -> Numbers:
        """Of each message whether more of it may be received."""
        ended = np.zeros(self.processes, np.bool_) if self.lengths is None else self._counts >= self.lengths
        copies = run.sizes[COPIES]
        still = (run.deliver[:copies] == NONE) & ~ended[run.receiver[:copies]]
        to_come = np.zeros(run.sizes[MESSAGES], np.bool_)
        to_come[run.of_copy[:copies][still]] = True
        return to_come

    def _forget(self, run: Run, constraints: Graph) -> None:
        """Forgets the messages that are settled for all open orders."""
        messages, events = int(run.sizes[MESSAGES]), int(run.sizes[EVENTS])
        constraints.to_come[:messages] = self._to_come(run)
        settled = np.ones(events, np.bool_)
        for column in _CONSTRAINED:
            if column in self._open:
                constrain(run, constraints, column, self.pending)
                settle(run, constraints, settled)
        if N_N in self._open:
            settled[run.send[self._lacking(run)]] = False
            settle_before_all_others(run, constraints, settled)
        keeps_it = np.zeros(messages, np.bool_)
        keeps_it[run.message[:events][~settled]] = True
        keeps_it[self._lacking(run)] = True
        if keeps_it.all():
            return
        kept = keeps_it[run.message[:events]]
        before = np.append(0, np.cumsum(kept))
        starts = run.begin[: self.processes]
        self._times = (before[starts + self._times] - before[starts]).astype(np.int32)
        self._stamps = (before[starts + self._stamps] - before[starts]).astype(np.int32)
        held = run.event[self.processes : self.processes + events]
        self._held = self._held.some(np.flatnonzero(kept[held]))

    def _give_up_if_too_many(self) -> None:
        """Gives up orders for which too many events would have to be held."""
        steps = (({N_N}, min(ONE_QUEUE_UP_TO, self.hold_up_to)), ({*_CONSTRAINED}, self.hold_up_to))
        for orders, most in (*steps, ({FIFO, CAUSAL}, self.hold_up_to)):
            if self._open & orders and len(self._held) + len(self.waiting) > most:
                self._give_up(orders)
                run = self._laid_out()
                self._forget(run, graph(run))
        if len(self._held) + len(self.waiting) > self.hold_up_to:
            self._stop()

    def _refuse_too_many_processes(self) -> None:
        if self.processes > LINES_UP_TO:
            self._stop()

    def _stop(self) -> None:
        """Nothing more is decided."""
        self.has_stopped = True
        self._give_up(self._asked)

    def _give_up(self, orders: Collection[int]) -> None:
        self.given_up |= self._open.intersection(orders)
        self._open.difference_update(orders)
