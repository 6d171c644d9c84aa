"""One run whose rows come block by block, such as one larger than memory, decided by the streaming monitor.

Events may come in any order, as long as few are early: those of a process before an earlier one of it, and delivers
before their sends. Names of messages are known as long as the monitor holds the message: a name that is used again
later counts as that of another message. Of a run with holes the events before them are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from crownless.oracle.classification import FROM_ONE, Classification, LargeRun, not_decided
from crownless.oracle.event_logs import logged_run, rows_of
from crownless.oracle.logs.columns import json_line
from crownless.oracle.logs.events import Events
from crownless.oracle.logs.layout import DELIVER, INTERNAL, NO_KIND, NONE, SEND, Numbers, Rows
from crownless.oracle.logs.lost_events import Hole, first_hole, gap, missing_send
from crownless.oracle.logs.named_rows import NamedRows, by_run
from crownless.oracle.logs.reasons import ONE_A_LINE, BeforeFirst, SendersDiffer, TwoEvents, UnusableRow
from crownless.oracle.logs.rows import conflicts, read_row
from crownless.spec.errors import BadInput
from crownless.spec.orders import UnreceivedPolicy, Verdict, decide
from crownless.spec.printable import some
from crownless.spec.witnesses import Overtaking

from .monitor import COLUMN, KEPT
from .overtaking import LINES_UP_TO
from .streaming import FORGET_FROM, HOLD_UP_TO, Contradiction, StreamingMonitor

if TYPE_CHECKING:
    import pyarrow as pa

#: More events that come before an earlier one of their process are not held.
EARLY_UP_TO = 2_000_000
NAMES = "a name of a message that is used again, after the message was received, counts as that of another message"


def classified_in_blocks(
    blocks: Iterable[tuple[int, pa.Table]], file: str, orders: Sequence[str], reading: UnreceivedPolicy
) -> Classification:
    """The verdicts on the one run of these rows, each block with the number of its first line.

    Raises `BadInput` for rows of several runs, for what is no event, and for rows that contradict each other.
    """
    run = RunMonitor(file, orders, reading)
    for line, table in blocks:
        run.add(table, line)
    return run.classification()


def no_events(numbers: Rows) -> Numbers:
    """True of each row that is no event."""
    kind, peer = numbers.kind, numbers.peer
    bad: Numbers = (numbers.process < 0) | (numbers.place < 0) | (kind == NO_KIND)
    bad |= (kind != INTERNAL) & (numbers.message < 0)
    named = np.append(np.diff(numbers.first_receiver), 0)[np.maximum(peer, NONE)]
    bad |= ((kind == SEND) & (peer < 0)) | ((kind == DELIVER) & ((peer < NONE) | (named > 1)))
    return bad


class RunMonitor:
    """The streaming monitor of one run, fed with rows; it can be pickled between two blocks.

    `first_index`: that of the first event of each process; by default 0 or 1, whichever comes first.
    `at_once`: each block is decided at once, not when as many events have come as are held.
    """

    def __init__(
        self,
        file: str,
        orders: Sequence[str],
        reading: UnreceivedPolicy,
        *,
        first_index: int | None = None,
        hold_up_to: int = HOLD_UP_TO,
        forget_from: int = FORGET_FROM,
        at_once: bool = False,
    ) -> None:
        self.file, self.orders, self.reading = file, orders, reading
        self.monitor = StreamingMonitor(1, orders, reading == "pending", None, hold_up_to, forget_from)
        self.run: str | None = None
        self.number: dict[str, int] = {}
        #: Of each process the index of its next event; the least index in the log.
        self.next_index = np.zeros(0, np.int64)
        self.first_index = first_index
        self.at_once = at_once
        #: Events that came early, and their indices.
        self.early, self.early_index = Events.none(), np.zeros(0, np.int64)
        #: The messages that may still be named: names, numbers, and the sender that some row names, or NONE.
        self.names: list[str] = []
        self.named: Numbers = np.zeros(0, np.int64)
        self.sender: Numbers = np.zeros(0, np.int64)
        self.messages = self.events = self.count = 0
        self.unicasts = True
        #: What shows the violations: the events of the messages, by name.
        self.shown: dict[int, list[tuple[str, str, str, list[str]]]] = {}
        self.pairs: dict[int, list[str]] = {}
        #: The violations that only the end of the run shows; before it, messages may still come.
        self.shown_by_end: set[int] = set()

    # -- events --------------------------------------------------------------------------------------------------------

    def add(self, table: pa.Table, line: int = 1) -> None:
        """Takes these plain rows, the first of which is on that line; raises `BadInput`."""
        rows = by_run(table)
        self._one_run(rows)
        numbers = rows.numbers()
        self._refuse_no_events(rows, numbers, line)
        process = np.array([self.number.setdefault(name, len(self.number)) for name in rows.processes], np.int32)
        more = len(self.number) - len(self.next_index)
        self.next_index = np.pad(self.next_index, (0, more), constant_values=self.first_index or 0)
        least = int(numbers.place.min())
        if self.first_index is None and least <= 1:
            self.first_index = least
            self.next_index[:] = least
        self.monitor.grow(max(len(self.number), self.monitor.processes))
        about = numbers.kind != INTERNAL
        message = np.full(len(numbers.kind), NONE, np.int64)
        if about.any():
            message[about] = self._numbered(rows, numbers, about, process)
        sends = numbers.kind == SEND
        peer = np.where(sends, numbers.peer, NONE)
        counts = np.append(np.diff(numbers.first_receiver), 0)[peer]
        ends = np.cumsum(counts)
        at = np.arange(int(ends[-1])) + np.repeat(numbers.first_receiver[peer] - (ends - counts), counts)
        events = Events(
            process[numbers.process], numbers.kind, message, np.append(0, ends), process[numbers.receiver[at]]
        )
        self.messages += int(sends.sum())
        self.unicasts = self.unicasts and int(counts.max()) <= 1
        self._feed(self.early + events, np.append(self.early_index, numbers.place))

    def _one_run(self, rows: NamedRows) -> None:
        runs = [str(name) for name in rows.named["run"].names.to_pylist()]
        self.run = runs[0] if self.run is None else self.run
        other = next((name for name in runs if name != self.run), None)
        if other is not None:
            several = f"the events are of several runs, such as {self.run!r} and {other!r}"
            raise BadInput(several, hint="leave --one-run out, or give the events of one run", file=self.file)

    def _refuse_no_events(self, rows: NamedRows, numbers: Rows, line: int) -> None:
        for row in np.flatnonzero(no_events(numbers))[:1].tolist():
            try:
                read_row(line + row, json_line(rows.row(row)))
            except UnusableRow as problem:
                where = {"file": self.file, "line": line + row}
                raise BadInput(problem.message, hint=problem.hint, **where) from None
            raise AssertionError(f"row {row} is an event")

    def _numbered(self, rows: NamedRows, numbers: Rows, about: Numbers, process: Numbers) -> Numbers:
        """The numbers of the messages of these rows; refuses those of which the rows name several senders."""
        import pyarrow as pa
        import pyarrow.compute as pc

        of_block = rows.named["message"].names
        found = pc.index_in(of_block, value_set=pa.array(self.names, pa.string()))
        place = np.array(found.fill_null(NONE))
        new = np.flatnonzero(place == NONE)
        place[new] = len(self.names) + np.arange(len(new))
        self.names += of_block.take(pa.array(new)).to_pylist()
        self.named = np.append(self.named, self.count + np.arange(len(new)))
        self.sender = np.append(self.sender, np.full(len(new), NONE, np.int64))
        self.count += len(new)
        at = place[numbers.message[about]]
        kind, peer = numbers.kind[about], numbers.peer[about]
        by_peer = numbers.receiver[numbers.first_receiver[np.maximum(peer, 0)]] if len(numbers.receiver) else peer
        said = np.where(kind == SEND, process[numbers.process[about]], np.where(peer < 0, NONE, process[by_peer]))
        known = said != NONE
        before = self.sender.copy()
        self.sender[at[known]] = said[known]
        differs = np.flatnonzero(known & ((self.sender[at] != said) | ((before[at] != NONE) & (before[at] != said))))
        for k in differs[:1].tolist():
            others = before[at[k]], self.sender[at[k]]
            other = next(p for p in others if p not in (NONE, said[k]))
            names = list(self.number)
            reason = SendersDiffer(self.names[at[k]], tuple(sorted((names[other], names[said[k]]))))
            raise BadInput(reason.text, hint=reason.hint, file=self.file)
        numbered: Numbers = self.named[at]
        return numbered

    def _feed(self, events: Events, index: Numbers) -> None:
        """Feeds the events that are next on their lines; the others are kept."""
        order = np.lexsort((index, events.process))
        line, at = events.process[order], index[order]
        twice = np.flatnonzero((np.diff(line) == 0) & (np.diff(at) == 0))
        late = np.flatnonzero(at < self.next_index[line])
        for k in (*twice[:1].tolist(), *late[:1].tolist()):
            process = list(self.number)[line[k]]
            if int(at[k]) < (self.first_index or 0):
                hint = "leave --one-run out, or sort the log by index"
                raise BadInput(BeforeFirst(process, int(at[k]), self.first_index or 0).text, hint=hint, file=self.file)
            reason = TwoEvents(process, int(at[k]))
            raise BadInput(reason.text, hint=reason.hint, file=self.file)
        starts = np.searchsorted(line, np.arange(len(self.next_index)))
        # From what events count is known when one has the index 0 or 1.
        next_ones = (self.first_index is not None) & (at == self.next_index[line] + np.arange(len(line)) - starts[line])
        self.next_index += np.bincount(line[next_ones], minlength=len(self.next_index))
        taken = order[next_ones]
        if (np.diff(taken)[np.diff(line[next_ones]) == 0] > 0).all():
            taken = np.sort(taken)  # the order of the log
        taken = taken[events.kind[taken] != INTERNAL]
        self.early, self.early_index = events.some(order[~next_ones]), at[~next_ones]
        if len(self.early) > EARLY_UP_TO:
            text = f"more than {EARLY_UP_TO:,} events come before an earlier one of their process"
            raise BadInput(text, hint="sort the log, or crownless classify --engine spark --one-run", file=self.file)
        self.events += len(taken)
        self._decide(lambda: self.monitor.feed(events.some(taken), at_once=self.at_once))
        held = np.append(self.monitor.messages, self.early.message)
        kept = np.isin(self.named, held)
        self.names = [name for name, keeps in zip(self.names, kept.tolist(), strict=True) if keeps]
        self.named, self.sender = self.named[kept], self.sender[kept]

    def _decide(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Contradiction as contradiction:
            self._refuse(contradiction.events)
        for column, violation in self.monitor.violations.items():
            if column not in self.shown:
                self.shown[column] = self._by_name(violation.events)
                self.pairs[column] = [self._name(message) for message in violation.messages]

    def _name(self, message: int) -> str:
        """The name of a message that may still be named, by its number."""
        return self.names[int(np.searchsorted(self.named, message))]

    def _by_name(self, events: Events) -> list[tuple[str, str, str, list[str]]]:
        names = list(self.number)
        return [
            (names[p], "send" if sends else "deliver", self._name(message), [names[q] for q in receivers])
            for p, sends, message, receivers in events.rows()
        ]

    def _refuse(self, events: Events) -> None:
        """Raises `BadInput` with what these events contradict each other in."""
        first = next(conflicts(rows_of(self._by_name(events))), None)
        assert first is not None, "these events go together"
        raise BadInput(first.reason.text, hint=first.reason.hint, file=self.file)

    # -- verdicts ------------------------------------------------------------------------------------------------------

    def broken(self, order: str, gaps: Collection[str] = ()) -> Verdict | None:
        """The verdict on an order that the events so far break; None if they do not.

        `gaps`: processes that may have received in a hole what they are not known to receive.
        """
        column = COLUMN[order]
        if column not in self.shown:
            return None
        violation, shown = self.monitor.violations[column], self.shown[column]
        received = {(p, message) for p, kind, message, _ in shown if kind == "deliver"}
        certain = [
            (p, kind, message, [q for q in to if q not in gaps or (q, message) in received])
            for p, kind, message, to in shown
        ]
        certain = [event for event in certain if event[1] == "deliver" or event[3]]
        if not certain:
            return None
        c = logged_run("", rows_of(certain)).computation
        verdict = decide(c, order, self.reading if column in self.shown_by_end else "pending")
        if not verdict.kept:
            return verdict
        if violation.receiver is not None:  # the messages between the two sends were forgotten
            number = {message.name: m for m, message in enumerate(c.messages)}
            receiver = c.processes.index(list(self.number)[violation.receiver])
            first, second = (number.get(name, NONE) for name in self.pairs[column])
            if first != NONE and receiver in c.messages[first].receivers:
                witness = Overtaking(first, second, receiver, (c.send_event[first], c.send_event[second]))
                return Verdict(order, kept=False, witness=witness, computation=c)
        assert gaps, f"the messages that show {order} broken keep it"
        return None

    @property
    def given_up(self) -> list[str]:
        """The orders for which too much would have to be held."""
        return [order for order in self.orders if COLUMN[order] in self.monitor.given_up]

    def classification(self, lost: Sequence[Hole] = ()) -> Classification:
        """The verdicts on the whole run; `lost`: holes that the rows do not show."""
        if self.run is None:
            raise BadInput("the log is empty", hint=ONE_A_LINE, file=self.file)
        before = set(self.shown)
        self._decide(self.monitor.finish)
        self.shown_by_end = set(self.shown) - before
        cycle = self.monitor.cycle()
        if cycle:
            steps = [f"{list(self.number)[p]} receives {self._name(message)}" for p, message in cycle]
            text = f"no linearization exists: {' waits for '.join([*steps, steps[0]])}"
            raise BadInput(text, hint="correct the events, which form a cycle", file=self.file)
        holes = (*self._holes(), *lost)
        names = list(self.number)
        subject = LargeRun(
            self.file,
            self.run,
            len(names),
            self.messages,
            self.events,
            tuple((self._name(message), names[receiver]) for message, receiver in self.monitor.unreceived),
            self.unicasts,
            (*((FROM_ONE,) if self.first_index == 1 else ()), NAMES),
            holes,
        )
        return Classification(subject, self.reading, tuple(self._verdict(order, holes) for order in self.orders))

    def _holes(self) -> tuple[Hole, ...]:
        names = list(self.number)
        least = {p: int(self.early_index[self.early.process == p].min()) for p in set(self.early.process.tolist())}
        gaps = [gap(names[p], int(self.next_index[p]), index - 1) for p, index in sorted(least.items())]
        sent = {message for _, sends, message, _ in (self.early + self.monitor.waiting).rows() if sends}
        unsent = [
            missing_send(names[p], self._name(message))
            for p, sends, message, _ in self.monitor.waiting.rows()
            if not sends and message not in sent
        ]
        # Behind a gap, and after the monitor has stopped, nothing else is known to be missing.
        return (*gaps, *(() if gaps or self.monitor.has_stopped else unsent))

    def _gaps(self, holes: Sequence[Hole]) -> set[str]:
        """The processes that may have received more than what was judged."""
        names = list(self.number)
        if any(hole.is_missing_send or hole.process is None for hole in holes):
            return set(names)
        unjudged = {*self.early.process.tolist(), *self.monitor.waiting.process.tolist()}
        return {*(names[p] for p in unjudged), *(str(hole.process) for hole in holes)}

    def _verdict(self, order: str, holes: Sequence[Hole]) -> Verdict:
        outcome = self.monitor.outcomes[COLUMN[order]]
        broken = self.broken(order, self._gaps(holes) if holes else ())
        if broken is not None:
            return broken
        if holes:
            return not_decided(order, f"{first_hole(holes)}; behind holes no event is judged block by block")
        if outcome == KEPT:
            return Verdict(order, kept=True)
        if self.monitor.processes > LINES_UP_TO:
            return not_decided(order, f"a run of more than {LINES_UP_TO:,} processes is not judged block by block")
        held = f"more than {some(self.monitor.hold_up_to, 'event')} would have to be held"
        return not_decided(order, "other orders do not settle it" if order == "n-n" else held)
