"""One run read block by block, for example because it is larger than memory, decided by the streaming monitor.

Events may come in any order, as long as few are early: before an earlier event of their process, or delivers before
their sends. Message names are known while the monitor holds the message: a name reused later counts as another message.
In a run with holes the events before the holes are judged.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np
import pyarrow as pa

from crownless.oracle.logs.columns import json_line
from crownless.oracle.logs.event_logs import in_natural_order, logged_run, rows_of
from crownless.oracle.logs.layout import INTERNAL, NONE, SEND, Events, Rows, no_events
from crownless.oracle.logs.lines import read_row
from crownless.oracle.logs.lost_events import Hole, first_hole, gap, missing_send
from crownless.oracle.logs.named_computation import FROM_ONE
from crownless.oracle.logs.named_rows import NamedRows, by_run
from crownless.oracle.logs.reasons import BeforeFirst, TwoEvents, UnusableRow, empty_log
from crownless.oracle.logs.rows import conflicts
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import some
from crownless.spec.orders import UnreceivedPolicy, Verdict, decide, earned
from crownless.spec.witnesses import Overtaking

from .classification import Classification, LargeRun, hidden, not_decided
from .monitor import COLUMN, KEPT, NOTHING
from .overtaking import LINES_UP_TO
from .streaming import FORGET_FROM, HOLD_UP_TO, Contradiction, StreamingMonitor, TakenPlace
from .whole_runs import WholeRun, without_monitor

#: Messages and receivers, by name.
Copies = tuple[tuple[str, str], ...]
NAMES = "a name of a message that is used again, after the message was received, counts as that of another message"


def classified_in_blocks(
    blocks: Iterable[tuple[int, pa.Table]], file: str, orders: Sequence[str], reading: UnreceivedPolicy
) -> Classification:
    """The verdicts on the one run of these rows, each block with the number of its first line.

    Raises `BadInput` for rows of several runs, rows that are not events, and rows that contradict each other.
    """
    run = RunMonitor(file, orders, reading)
    for line, table in blocks:
        run.add(table, line)
    return run.classification()


class RunMonitor:
    """The streaming monitor of one run, fed with rows; it can be pickled between two blocks.

    `first_index`: that of the first event of each process; by default 0 or 1, whichever comes first.
    `at_once`: each block is decided at once, not only when as many events have come as are held.
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
        self.file, self.orders, self.reading, self.at_once = file, orders, reading, at_once
        self.monitor = StreamingMonitor(
            orders, pending=reading == "pending", first=first_index, hold_up_to=hold_up_to, forget_from=forget_from
        )
        self.run: str | None = None
        self.processes: dict[str, int] = {}
        #: The messages that may still be named, and the number of all so far.
        self.named: dict[str, int] = {}
        self.count = self.sent = self.events = 0
        #: The evidence of violations: the events of the messages, and the overtaking pair, by name.
        self.shown: dict[int, list[tuple[str, str, str, list[str]]]] = {}
        self.pairs: dict[int, tuple[str, str, str]] = {}
        #: Violations that show only at the end of the run; before it, messages may still come.
        self.shown_by_end: set[int] = set()
        #: The whole run, for orders without a monitor.
        self.whole = WholeRun(file, reading) if without_monitor(orders) else None

    # -- events --------------------------------------------------------------------------------------------------------

    def add(self, table: pa.Table, line: int = 1) -> None:
        """Takes these plain rows, the first on that line; raises `BadInput`."""
        rows = by_run(table)
        self._one_run(rows)
        numbers = rows.numbers()
        self._refuse_no_events(rows, numbers, line)
        if self.whole is not None:
            self.whole.add(table)
        process = np.array([self.processes.setdefault(name, len(self.processes)) for name in rows.processes], np.int32)
        message = np.full(len(numbers.kind), NONE, np.int64)
        about = numbers.kind != INTERNAL
        if about.any():
            names = rows.named["message"].names.to_pylist()
            of_block = np.array([self.named.setdefault(name, self.count + k) for k, name in enumerate(names)])
            self.count += len(names)
            message[about] = of_block[numbers.message[about]]
        peer = np.where(about, numbers.peer, NONE)
        counts = np.append(np.diff(numbers.first_receiver), 0)[peer]
        ends = np.cumsum(counts)
        at = np.arange(int(ends[-1])) + np.repeat(numbers.first_receiver[peer] - (ends - counts), counts)
        self.sent += int((numbers.kind == SEND).sum())
        self.events += int(about.sum())
        peers = process[numbers.receiver[at]]
        of_process = process[numbers.process]
        events = Events(of_process, numbers.place, numbers.kind, message, np.append(0, ends), peers)
        self._decide(lambda: self.monitor.feed(events, len(self.processes), at_once=self.at_once))
        held = set(self.monitor.messages.tolist())
        self.named = {name: number for name, number in self.named.items() if number in held}

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

    def _decide(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Contradiction as contradiction:
            first = next(conflicts(rows_of(self._by_name(contradiction.events))), None)
            assert first is not None, "these events go together"
            raise BadInput(first.reason.text, hint=first.reason.hint, file=self.file) from None
        except TakenPlace as taken:
            process, first_index = self._process(taken.process), self.monitor.first or 0
            if taken.place < first_index:
                hint = "leave --one-run out, or sort the log by index"
                before = BeforeFirst(process, taken.place, first_index)
                raise BadInput(before.text, hint=hint, file=self.file) from None
            reason = TwoEvents(process, taken.place)
            raise BadInput(reason.text, hint=reason.hint, file=self.file) from None
        for column, violation in self.monitor.violations.items():
            if column not in self.shown:
                self.shown[column] = self._by_name(violation.events)
                if violation.overtakes is not None:
                    one, other = self._names(violation.overtakes[:2])
                    self.pairs[column] = one, other, self._process(violation.overtakes[2])

    def _process(self, process: int) -> str:
        return list(self.processes)[process]

    def _names(self, messages: Sequence[int]) -> list[str]:
        """The names of messages that may still be named."""
        named = {number: name for name, number in self.named.items()}
        return [named[message] for message in messages]

    def _by_name(self, events: Events) -> list[tuple[str, str, str, list[str]]]:
        events = events.some(np.flatnonzero(events.kind != INTERNAL))
        names, messages = list(self.processes), self._names(events.message.tolist())
        return [
            (names[p], "send" if sends else "deliver", message, [names[q] for q in peers])
            for (p, sends, _, peers), message in zip(events.rows(), messages, strict=True)
        ]

    # -- verdicts ------------------------------------------------------------------------------------------------------

    def broken(self, order: str, gaps: Collection[str] = ()) -> Verdict | None:
        """The verdict on an order that the events so far violate; None if they do not.

        `gaps`: processes that may have received further messages in a hole.
        """
        column = COLUMN.get(order)
        if column is None or column not in self.shown:
            return None
        shown = self.shown[column]
        received = {(p, message) for p, kind, message, _ in shown if kind == "deliver"}
        certain = [
            (p, kind, message, [q for q in to if q not in gaps or kind == "deliver" or (q, message) in received])
            for p, kind, message, to in shown
        ]
        certain = [event for event in certain if event[1] == "deliver" or event[3]]
        if not certain:
            return None
        c = logged_run("", rows_of(certain)).computation
        verdict = decide(c, order, self.reading if column in self.shown_by_end else "pending")
        if not verdict.kept:
            return verdict
        pair = self.pairs.get(column)
        if pair is not None:  # the messages between the two sends were forgotten
            number = {message.name: m for m, message in enumerate(c.messages)}
            first, second, receiver = number.get(pair[0]), number.get(pair[1]), c.processes.index(pair[2])
            if first is not None and second is not None and receiver in c.messages[first].receivers:
                witness = Overtaking(first, second, receiver, (c.send_event[first], c.send_event[second]))
                return Verdict(order, kept=False, witness=witness, computation=c)
        assert gaps, f"the messages that show {order} broken keep it"
        return None

    @property
    def given_up(self) -> list[str]:
        """The orders that would need too many held events."""
        return [order for order in self.orders if COLUMN.get(order) in self.monitor.given_up]

    def classification(self, lost: Sequence[Hole] = ()) -> Classification:
        """The verdicts on the whole run; `lost`: holes that the rows do not show."""
        if self.run is None:
            raise empty_log(self.file)
        before = set(self.shown)
        self._decide(self.monitor.finish)
        self.shown_by_end = set(self.shown) - before
        cycle = self.monitor.cycle()
        if cycle:
            receives = zip((p for p, _ in cycle), self._names([message for _, message in cycle]), strict=True)
            steps = [f"{self._process(p)} receives {name}" for p, name in receives]
            text = f"no linearization exists: {' waits for '.join([*steps, steps[0]])}"
            raise BadInput(text, hint="correct the events, which form a cycle", file=self.file)
        holes = (*self._holes(), *lost)
        unreceived, perhaps = self._unreceived(holes)
        notes = (FROM_ONE, NAMES) if self.monitor.first == 1 else (NAMES,)
        subject = LargeRun(
            self.file,
            self.run,
            len(self.processes),
            self.sent,
            self.events,
            unreceived,
            self.monitor.unicasts,
            notes,
            holes,
            perhaps_received=perhaps,
        )
        return Classification(subject, self.reading, tuple(self._verdict(order, holes) for order in self.orders))

    def _holes(self) -> tuple[Hole, ...]:
        if self.monitor.has_stopped:  # waiting events may have come later
            return ()
        gaps = tuple(gap(self._process(p), first, last) for p, first, last in self.monitor.gaps())
        waiting = self._by_name(self.monitor.waiting)
        sent = {message for _, kind, message, _ in waiting if kind == "send"}
        unsent = (missing_send(p, name) for p, kind, name, _ in waiting if kind == "deliver" and name not in sent)
        return gaps or tuple(unsent)  # after a gap no other hole is certain

    def _unreceived(self, holes: Sequence[Hole]) -> tuple[Copies, Copies]:
        """Each message and receiver that does not receive it; and those that may have received it in a hole. Events
        behind a hole are not judged, and yet logged: what they deliver is received.
        """
        held = self.monitor.unreceived
        names = self._names([message for message, _ in held])
        copies = [(name, self._process(receiver)) for name, (_, receiver) in zip(names, held, strict=True)]
        behind = self._by_name(self.monitor.waiting) if holes else []
        copies += [(message, q) for _, kind, message, to in behind if kind == "send" for q in to]
        later = {(message, p) for p, kind, message, _ in behind if kind == "deliver"}
        sent = {*self._names(np.unique(self.monitor.held.message).tolist())}
        sent |= {message for _, kind, message, _ in behind if kind == "send"}
        anywhere = any(hole.process is None for hole in holes) or any(message not in sent for message, _ in later)
        torn = {*self.processes} if anywhere else {hole.process for hole in holes}
        missing = [copy for copy in copies if copy not in later]
        perhaps = in_natural_order(copy for copy in missing if copy[1] in torn)
        return tuple(copy for copy in missing if copy[1] not in torn), perhaps

    def _gaps(self, holes: Sequence[Hole]) -> set[str]:
        """The processes that may have received more messages than were judged."""
        if any(hole.is_missing_send or hole.process is None for hole in holes):
            return set(self.processes)
        waiting = {self._process(p) for p in self.monitor.waiting.process.tolist()}
        return waiting | {str(hole.process) for hole in holes}

    def _earned(self, verdict: Verdict) -> Verdict:
        return earned(verdict, self.sent, unicasts=self.monitor.unicasts)

    def _verdict(self, order: str, holes: Sequence[Hole]) -> Verdict:
        if order not in COLUMN:
            assert self.whole is not None, "the run is held whole for such orders"
            verdict = self.whole.verdict(order)
            return self._earned(hidden(order, holes)) if holes and (verdict.kept or verdict.is_empty) else verdict
        outcome = self.monitor.outcomes[COLUMN[order]]
        broken = self.broken(order, self._gaps(holes) if holes else ())
        if broken is not None:
            return broken
        if holes and order == "asynchronous":
            return self._earned(hidden(order, holes))
        if holes:
            return not_decided(order, f"{first_hole(holes)}; behind holes no event is judged block by block")
        if outcome in (KEPT, NOTHING):
            return self._earned(Verdict(order, kept=True))
        if len(self.processes) > LINES_UP_TO:
            return not_decided(order, f"a run of more than {LINES_UP_TO:,} processes is not judged block by block")
        if order == "n-n":
            return not_decided(order, "other orders do not settle it")
        if order in self.given_up:
            return not_decided(order, f"more than {some(self.monitor.hold_up_to, 'event')} would have to be held")
        return not_decided(order, "no step of the monitor decided it")
