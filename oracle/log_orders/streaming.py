"""The monitor of one run whose events come bit by bit: it holds the events that may still matter, not the run.

`StreamingMonitor` is fed events in any order. An event counts once the previous one of its process has come, and a
deliver once its send has. A violation by the counted events, read as a run in progress, is final: no later event undoes
it. The held events are decided like a run in memory (`monitor`); for FIFO and causal order the times of processes and
of messages in flight are kept. An event is *settled* for another order when it can be walked under its constraints
without any event that waits for a message in flight: no later event can lead to it. A message is forgotten once all its
events are settled for all orders: no future violation involves it.

The constraints of n-n follow from each other, so that any message in flight may add some to earlier events. n-n forgets
only messages sent and received before everything still in flight; if too much would have to be held, it is decided only
as far as other orders settle it.
"""

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from crownless.oracle.logs.layout import (
    COPIES,
    DELIVER,
    EVENTS,
    INTERNAL,
    MESSAGES,
    NONE,
    Events,
    Numbers,
    Rows,
    Run,
    lay_out,
)
from crownless.oracle.logs.layout import read_only as views_of
from crownless.spec.orders import weaker

from .monitor import (
    ASYNCHRONOUS,
    BROKEN,
    CAUSAL,
    COLUMN,
    COLUMNS,
    FIFO,
    KEPT,
    MAILBOX,
    N_N,
    ONE_N,
    SYNCHRONOUS,
    TOTAL,
    UNDECIDED,
    Loops,
    columns_of,
    constrain,
    decide,
    loops,
    mark,
    shown_by,
)
from .overtaking import LINES_UP_TO, channels, overtakings
from .settling import in_happened_before, settle, settle_before_all_others

#: The most events held; orders that need more are left undecided.
HOLD_UP_TO = 2_000_000
#: The same for n-n order.
ONE_QUEUE_UP_TO = 200_000
#: With fewer held events nothing is forgotten.
FORGET_FROM = 1 << 16
#: Initial room for times in flight, in entries.
ENTRIES = 1 << 12

#: The orders decided by walks, stronger ones first.
_CONSTRAINED = (SYNCHRONOUS, MAILBOX, ONE_N)


class Contradiction(Exception):
    """Events contradict each other: a message is sent twice, or delivered at a process that is not its receiver."""

    def __init__(self, events: Events) -> None:
        super().__init__("events contradict each other")
        self.events = events


class TakenPlace(Exception):
    """An event has the same place on its process as an earlier one, or a place before the first."""

    def __init__(self, process: int, place: int) -> None:
        super().__init__(f"a second event {place} of process {process}")
        self.process, self.place = process, place


class Violation(NamedTuple):
    """These events show that an order is violated.

    `overtakes`: two messages and a receiver, if the second overtaking the first there shows the violation. Events of
    the messages that link the two sends by happened-before are included if they are held.
    """

    events: Events
    overtakes: tuple[int, int, int] | None


class StreamingMonitor:
    """The monitor of a run of up to `overtaking.LINES_UP_TO` processes, whose number may grow.

    Messages unreceived at the end are `pending`, or lost. `first`: the place of the first event of each process; by
    default 0 or 1, whichever comes first.
    """

    def __init__(
        self,
        orders: Collection[str] = tuple(COLUMN),
        *,
        pending: bool = False,
        first: int | None = None,
        hold_up_to: int = HOLD_UP_TO,
        forget_from: int = FORGET_FROM,
    ) -> None:
        self.pending, self.first, self.hold_up_to, self.forget_from = pending, first, hold_up_to, forget_from
        #: By column: BROKEN as soon as that is certain; after `finish` KEPT if the last step decided so.
        self.outcomes = [UNDECIDED] * COLUMNS
        #: The evidence of each violation, by column.
        self.violations: dict[int, Violation] = {}
        #: Events that wait for earlier ones of their process, for sends, or in a cycle for each other; and those held,
        #: in an order that happened-before allows.
        self.waiting, self.held = Events.none(), Events.none()
        #: The orders given up, since they needed too many held events; true if nothing more is decided.
        self.given_up: set[int] = set()
        self.has_stopped = False
        #: At the end, each message and receiver that does not receive it.
        self.unreceived: list[tuple[int, int]] = []
        #: True if each message has one receiver.
        self.unicasts = True
        #: The orders that events are held for.
        self._open = {*np.flatnonzero(columns_of(orders)).tolist()} - {ASYNCHRONOUS}
        if N_N in self._open:
            self._open |= {*_CONSTRAINED}
        if self._open & {*_CONSTRAINED}:
            self._open |= {FIFO, CAUSAL}
        #: By process the place of the next event; by pair of processes how many *held* events it knows; and the same
        #: of each message in flight.
        self._next = np.zeros(0, np.int64)
        self._times = np.zeros((0, 0), np.int32)
        self._stamps = np.zeros((0, 0), np.int32)

    def feed(self, events: Events, processes: int, *, at_once: bool = True) -> None:
        """Takes these events, of `processes` processes so far, and decides about them: if not `at_once`, when as many
        have come as are held. Raises `Contradiction` or `TakenPlace`.
        """
        if processes > LINES_UP_TO:
            self._stop()
        if self.has_stopped:
            return
        more = processes - len(self._next)
        self._next = np.pad(self._next, (0, more), constant_values=self.first or 0)
        self._times = np.pad(self._times, ((0, more), (0, more)))
        self._stamps = np.pad(self._stamps, ((0, 0), (0, more)))
        if self.first is None and len(events) and events.place.min() <= 1:
            self.first = int(events.place.min())
            self._next[:] = self.first
        receivers = np.where(events.kind == DELIVER, 0, np.diff(events.first_peer))
        self.unicasts = self.unicasts and int(receivers.max(initial=0)) <= 1
        self.waiting += events
        if at_once or len(self.waiting) >= len(self.held):
            self._decide(ended=False)

    def finish(self) -> None:
        """Decides the open orders: no more events come. A run in which some events wait forever stays undecided."""
        if not self.has_stopped:
            self._decide(ended=True)
        if self.has_stopped:
            return
        if len(self.waiting):
            self.outcomes = [UNDECIDED] * COLUMNS
        else:
            self.outcomes[ASYNCHRONOUS] = KEPT  # no event waits: each delivery came after its send
            if self.outcomes[SYNCHRONOUS] == KEPT:
                self.outcomes[N_N] = KEPT

    def gaps(self) -> list[tuple[int, int, int]]:
        """Gaps before waiting events: the process, and the first and last missing place."""
        order, line, due = self._in_turn()
        place = self.waiting.place[order]
        early = np.flatnonzero(place > due)
        processes, firsts = np.unique(line[early], return_index=True)
        at = early[firsts]
        return list(zip(processes.tolist(), due[at].tolist(), (place[at] - 1).tolist(), strict=True))

    def cycle(self) -> list[tuple[int, int]]:
        """Delivers that wait for each other in a cycle, each for the next, as (process, message); or none."""
        order, line, _ = self._in_turn()
        events, is_next = self.waiting.some(order), self.waiting.place[order] == self._next[line]
        sender = {message: p for p, sends, message, _ in events.rows() if sends}
        heads = {p: message for p, _, message, _ in events.some(np.flatnonzero(is_next)).rows()}
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

    @property
    def messages(self) -> Numbers:
        """The messages of events that are held, or wait, in order."""
        messages: Numbers = np.unique(np.append(self.held.message, self.waiting.message))
        return messages

    # -- one step ------------------------------------------------------------------------------------------------------

    def _decide(self, *, ended: bool) -> None:
        fed = len(self.held)
        self._admit()
        if len(self.held) > fed or ended:
            held = self._laid_out()
            run = held.run
            if self._open:
                held = self._find_overtakings(held, fed)
                outcome = self._decided(held, self.pending or not ended)
                self._find_violations(held, self.pending or not ended, outcome)
                if ended:
                    for column in self._open:
                        self.outcomes[column] = outcome[column]
            if ended:
                copies = np.flatnonzero(run.deliver[: run.sizes[COPIES]] == NONE)
                messages = self._messages_of(run, run.of_copy[copies])
                self.unreceived = list(zip(messages.tolist(), run.receiver[copies].tolist(), strict=True))
            elif len(self.held) > self.forget_from:
                self._forget(held)
        if not ended:
            self._give_up_if_too_many()

    def _in_turn(self) -> tuple[Numbers, Numbers, Numbers]:
        """The waiting events, by process and place: their numbers, their processes, and the place that each would have
        if nothing were missing before it.
        """
        order = np.lexsort((self.waiting.place, self.waiting.process))
        line = self.waiting.process[order]
        return order, line, self._next[line] + np.arange(len(line)) - np.searchsorted(line, line)

    def _admit(self) -> None:
        """Adds the events that wait for no other to the held ones, in an order that happened-before allows."""
        order, line, due = self._in_turn()
        place = self.waiting.place[order]
        for k in np.flatnonzero(place < due)[:1].tolist():
            raise TakenPlace(int(line[k]), int(place[k]))
        if self.first is None:
            return
        ready = order[place == due]
        if (np.diff(ready)[np.diff(line[place == due]) == 0] > 0).all():
            ready = np.sort(ready)  # the order of the log
        known = len(self.held)
        events = self.held + self.waiting.some(ready)
        messages, number = np.unique(events.message, return_inverse=True)
        order, n = np.empty(len(events), np.int64), len(self._next)
        count = in_happened_before(
            events.process, events.kind, number, order, np.zeros(len(events), np.int64),
            np.full((3, n), NONE, np.int64), np.empty(n, np.int64), np.zeros(len(messages), np.bool_),
            np.full(len(messages), NONE, np.int64),
        )  # fmt: skip
        taken = ready[order[known:count] - known]
        self._next += np.bincount(self.waiting.process[taken], minlength=n)
        self.held = events.some(order[:count][events.kind[order[:count]] != INTERNAL])
        self.waiting = self.waiting.some(np.delete(np.arange(len(self.waiting)), taken))

    def _laid_out(self) -> Loops:
        """The held events as a run, whose lines are the processes in order, each starting with an internal event."""
        held, n = self.held, len(self._next)
        order = np.argsort(held.process, kind="stable")
        line = held.process[order]
        place = np.empty(len(held), np.int64)
        place[order] = 1 + np.arange(len(held)) - np.searchsorted(line, line)
        peer = np.where(np.diff(held.first_peer) > 0, np.arange(len(held)), NONE)
        _, message = np.unique(held.message, return_inverse=True)

        def behind(first: Any, column: Numbers, of: type[Any]) -> Numbers:
            return np.concatenate([np.broadcast_to(first, n), column]).astype(of)

        rows = Rows(
            np.array([0, n + len(held)], np.int64),
            behind(np.arange(n), held.process, np.int32),
            behind(0, place, np.int64),
            behind(INTERNAL, held.kind, np.int8),
            behind(NONE, message, np.int32),
            behind(NONE, peer, np.int32),
            held.first_peer.astype(np.int32),
            held.peer,
        )
        rows = views_of(rows)
        found = loops(rows, n, max(ENTRIES, 2 * self._stamps.size))
        if not lay_out(0, rows, found.run, found.names):
            raise Contradiction(held)
        return found

    def _messages_of(self, run: Run, messages: Numbers) -> Numbers:
        """The numbers of these messages of the run in the events."""
        found: Numbers = self.held.message[run.row[run.send[messages]] - len(self._next)]
        return found

    def _find_overtakings(self, held: Loops, fed: int) -> Loops:
        """Searches for overtaking messages; the first `fed` held events were searched before."""
        run, n = held.run, len(self._next)
        order = run.order[:fed]
        delivered = np.bincount(run.message[order[run.copy[order] != NONE]], minlength=len(run.send))
        copies = np.diff(run.first_copy, append=0)[: run.sizes[MESSAGES]]
        in_flight = copies - delivered[: len(copies)]
        known = np.sort(run.message[order[run.copy[order] == NONE]])
        known = known[in_flight[known] > 0]
        while True:
            by, slots = held.channels, len(self._stamps)
            by.times[: n * n] = self._times.ravel()
            by.stamps[: self._stamps.size] = self._stamps.ravel()
            by.in_flight[: len(copies)] = in_flight
            by.slot[known[:slots]] = np.arange(slots)
            by.slots[0] = slots
            held.found[:] = [NONE if column in self._open else 0 for column in (FIFO, FIFO, CAUSAL, CAUSAL)]
            if overtakings(run, by, fed, held.found):
                break
            held = held._replace(channels=channels(run, n, 2 * len(by.stamps)))
        if CAUSAL in self._open and held.found[2] == NONE:
            self._times = by.times[: n * n].reshape(n, n).copy()
            self._stamps = by.stamps[: len(by.stamps) // n * n].reshape(-1, n)[by.slot[_lacking(run)]]
        else:
            self._times[:], self._stamps = 0, self._stamps[:0]
        return held

    def _decided(self, held: Loops, pending: bool) -> list[int]:
        """For each order KEPT or BROKEN by the held events, or UNDECIDED, as are orders that are no longer open."""
        asked = np.array([column in self._open for column in range(COLUMNS)], np.bool_)
        outcome = np.full(COLUMNS, UNDECIDED, np.int8)
        decide(held, pending, self.unicasts, asked, outcome)
        return [one if asked[column] else UNDECIDED for column, one in enumerate(outcome.tolist())]

    def _find_violations(self, held: Loops, pending: bool, outcome: Sequence[int]) -> None:
        if N_N in self._open and outcome[N_N] == UNDECIDED:
            self._give_up({N_N})
        run, found = held.run, held.found
        for column in sorted(self._open):
            if outcome[column] != BROKEN:
                continue
            at, overtakes = int(shown_by(column, found, self.unicasts)), None
            mark(column, at, held, pending)
            shown = np.flatnonzero(held.graph.shows[: run.sizes[MESSAGES]])
            if at != NONE:
                pair = run.of_copy[found[at : at + 2]]
                first, second = self._messages_of(run, pair).tolist()
                overtakes = (first, second, int(run.receiver[found[at]]))
                shown = np.union1d(shown, pair)
            events = np.flatnonzero(np.isin(self.held.message, self._messages_of(run, shown)))
            self.violations[column] = Violation(self.held.some(events), overtakes)
        for order, column in COLUMN.items():
            if column in self.given_up and column not in self.violations:
                below = weaker(order, unicasts=self.unicasts)
                shows = [one for name, one in COLUMN.items() if name in below and one in self.violations]
                if shows:
                    self.violations[column] = self.violations[shows[0]]
        for column in self.violations:
            self.outcomes[column] = BROKEN
        self._open -= self.violations.keys()

    # -- memory --------------------------------------------------------------------------------------------------------

    def _forget(self, held: Loops) -> None:
        """Forgets the messages that are settled for all open orders."""
        run, constraints = held.run, held.graph
        messages, events = int(run.sizes[MESSAGES]), int(run.sizes[EVENTS])
        settled = np.ones(events, np.bool_)
        for column in _CONSTRAINED:
            if column in self._open:
                constrain(run, constraints, column, self.pending)
                settle(run, constraints, False, settled)
        if TOTAL in self._open and not self.unicasts:
            constrain(run, constraints, TOTAL, self.pending)
            settle(run, constraints, True, settled)
        if N_N in self._open:
            settled[run.send[_lacking(run)]] = False
            settle_before_all_others(run, constraints, settled)
        keeps_it = np.zeros(messages, np.bool_)
        keeps_it[run.message[:events][~settled]] = True
        keeps_it[_lacking(run)] = True
        if keeps_it.all():
            return
        n = len(self._next)
        kept = keeps_it[run.message[:events]]
        before = np.append(0, np.cumsum(kept))
        starts = run.begin[:n]
        self._times = (before[starts + self._times] - before[starts]).astype(np.int32)
        self._stamps = (before[starts + self._stamps] - before[starts]).astype(np.int32)
        self.held = self.held.some(np.flatnonzero(kept[run.event[n : n + events]]))

    def _give_up_if_too_many(self) -> None:
        """Gives up orders for which too many events would have to be held."""
        steps = (({N_N}, min(ONE_QUEUE_UP_TO, self.hold_up_to)), ({*_CONSTRAINED, TOTAL}, self.hold_up_to))
        for orders, most in (*steps, ({FIFO, CAUSAL}, self.hold_up_to)):
            if self._open & orders and len(self.held) + len(self.waiting) > most:
                self._give_up(orders)
                self._forget(self._laid_out())
        if len(self.held) + len(self.waiting) > self.hold_up_to:
            self._stop()

    def _stop(self) -> None:
        """Stops deciding."""
        self.has_stopped = True
        self._give_up({*self._open})

    def _give_up(self, orders: Collection[int]) -> None:
        self.given_up |= self._open.intersection(orders)
        self._open.difference_update(orders)


def _lacking(run: Run) -> Numbers:
    """The messages that have not been delivered by all their receivers."""
    copies = run.sizes[COPIES]
    return np.unique(run.of_copy[:copies][run.deliver[:copies] == NONE])
