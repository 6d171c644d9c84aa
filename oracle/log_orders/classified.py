"""A log of any size, classified: the verdicts by the monitor, and each violation shown by the few messages it takes.

Small runs are worded, and their smallest witnesses found, by the procedures of the spec; so is every run that the
monitor leaves undecided, such as one with holes. Of a large run only the messages that show a violation are made into a
computation, on which the spec finds the same order violated: what a part of a run breaks, the run breaks.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np
import pyarrow as pa

from crownless.oracle.logs.columns import rows_of_table
from crownless.oracle.logs.delivery import Delivery
from crownless.oracle.logs.event_logs import logged_run, logged_runs, natural, rows_of
from crownless.oracle.logs.formats import BY_ROW, LogOptions, Numbering, Progress
from crownless.oracle.logs.layout import COPIES, EVENTS, MESSAGES, NONE, SEND, Numbers, Rows, Run
from crownless.oracle.logs.named_computation import FROM_ONE, NO_INDEX
from crownless.oracle.logs.named_rows import NamedRows, are_names, by_run
from crownless.oracle.logs.reader import named_run
from crownless.oracle.logs.skipped import Quarantine
from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation
from crownless.spec.constraints import SMALLEST_UP_TO
from crownless.spec.delivery_disorder import Disorder, ProcessSummary
from crownless.spec.orders import Outcome, UnreceivedPolicy, Verdict, decide, earned, nothing_to_judge

from .classification import Classification, ClassifiedRuns, LargeRun, classify, hidden, not_decided
from .context import Context, context
from .disorder import CAUSAL_FROM, DELIVERIES, FIFO_FROM
from .holes import CertainColumns, certain_columns
from .monitor import ASYNCHRONOUS, BROKEN, COLUMN, COLUMNS, KEPT, NOTHING, OUTCOMES, UNDECIDED, Monitor
from .whole_runs import WholeRun, without_monitor

_NUMBER = {outcome: number for number, outcome in OUTCOMES.items()}


@dataclass
class ClassifiedLog(ClassifiedRuns):
    """The verdicts on every run of a log; `classification` has those on one in full."""

    file: str
    rows: NamedRows
    orders: Sequence[str]
    reading: UnreceivedPolicy
    monitor: Monitor
    #: For each run and order of `orders` KEPT, BROKEN, NOTHING or UNDECIDED, which is unknown.
    outcomes: Numbers
    #: For each run whether it is well-formed, so that the monitor decides it.
    is_regular: Numbers
    #: How the rows are numbered for a reader of the log.
    numbering: Numbering = BY_ROW
    #: The runs that the spec has decided; and of large runs with holes what is certain, as a log of its own.
    by_spec: dict[int, Classification] = field(default_factory=dict)
    with_holes: "dict[int, tuple[ClassifiedLog, CertainColumns]]" = field(default_factory=dict)
    #: Processes that take part in each run, also without events; of a complete log how each run delivers its messages.
    processes: Sequence[str] = ()
    deliveries: Mapping[str, Delivery] = field(default_factory=dict)
    quarantine: Quarantine | None = None
    #: Notes on each run.
    notes: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.outcomes)

    @property
    def by_monitor(self) -> Numbers:
        """For each run whether the monitor has decided every order."""
        decided: Numbers = self.is_regular & (self.outcomes != UNDECIDED).all(axis=1)
        return decided & (not without_monitor(self.orders))

    def name(self, number: int) -> str:
        return str(self.rows.named["run"].names[number].as_py())

    def outcome(self, number: int, order: str) -> Outcome:
        """The verdict on one run in a word."""
        return OUTCOMES[int(self.outcomes[number, self.orders.index(order)])]

    def counts(self, order: str) -> dict[str, int]:
        """How many runs have each outcome of the order, by its name."""
        column = self.outcomes[:, self.orders.index(order)]
        return {outcome: int((column == number).sum()) for number, outcome in OUTCOMES.items()}

    def first_violated(self, order: str) -> int | None:
        """The first run that violates the order."""
        broken = np.flatnonzero(self.outcomes[:, self.orders.index(order)] == BROKEN)
        return int(broken[0]) if len(broken) else None

    def delivery(self, number: int) -> Delivery | None:
        """How one run delivers its messages, if the log is complete."""
        return self.deliveries.get(self.name(number))

    def classification(self, number: int) -> Classification:
        """The verdicts on one run, with witnesses."""
        found, delivery = self._classification(number).with_notes(*self.notes), self.delivery(number)
        return found if delivery is None else found.with_delivery(delivery)

    def _classification(self, number: int) -> Classification:
        if number in self.with_holes:
            return self._with_holes(number)
        if number not in self.by_spec:
            if self._is_large(number):
                return self._of_large_run(number)
            self.by_spec[number] = self._decided_by_spec(number)
        return self.by_spec[number]

    def decide_by_procedures(self, number: int) -> None:
        """Decides the orders without a monitor for a well-formed run, unless it is too large for their procedures."""
        whole = self._whole(number)
        for order in without_monitor(self.orders):
            verdict = whole.verdict(order)
            self.outcomes[number, self.orders.index(order)] = _NUMBER[verdict.outcome]

    def _whole(self, number: int) -> WholeRun:
        rows = self.rows.table(int(self.rows.first[number]), int(self.rows.first[number + 1]))
        whole = WholeRun(self.file, self.reading)
        whole.add(rows)
        return whole

    def decide_irregular(self, number: int) -> None:
        """Decides a run that is not well-formed; raises `BadInput` if its rows contradict each other."""
        rows = self.rows.of_run(number) if self._is_large(number) else None
        certain = None if rows is None else certain_columns(rows, self._torn(number))
        if rows is not None and certain is not None:
            processes = tuple({*self.processes, *certain.processes})
            part = decided(rows, certain.rows, self.file, self.orders, self.reading, self.numbering, processes)
            if part.is_regular[0]:
                part.decide_by_procedures(0)
                self.with_holes[number] = part, certain
                self.outcomes[number] = np.where(part.outcomes[0] == BROKEN, BROKEN, UNDECIDED)
                is_asynchronous = np.array([order == "asynchronous" for order in self.orders])
                self.outcomes[number, is_asynchronous] = KEPT if certain.messages else NOTHING
                return
        found = self._decided_by_spec(number)
        self.outcomes[number] = [_NUMBER[found[order].outcome] for order in self.orders]
        self.by_spec[number] = found

    def _is_large(self, number: int) -> bool:
        return int(self.rows.first[number + 1] - self.rows.first[number]) > SMALLEST_UP_TO

    def _torn(self, number: int) -> Collection[str | None]:
        """The processes of a run that have rows in quarantine."""
        return () if self.quarantine is None else self.quarantine.processes.get(self.name(number), ())

    def _decided_by_spec(self, number: int) -> Classification:
        table = self.rows.table(int(self.rows.first[number]), int(self.rows.first[number + 1]))
        of_run = {self.name(number): list(rows_of_table(table, self.file, count(1)))}
        torn = {self.name(number): self._torn(number)}
        (logged,) = logged_runs(of_run, self.file, self.processes, torn)
        found = classify(named_run(self.file, logged), self.orders, self.reading)
        for order, verdict in found.items():
            known = int(self.outcomes[number, self.orders.index(order)])
            assert known == UNDECIDED or OUTCOMES[known] == verdict.outcome, f"{self.name(number)}: {order}"
        return found

    def _with_holes(self, number: int) -> Classification:
        part, certain = self.with_holes[number]
        found = part.classification(0)
        assert isinstance(found.subject, LargeRun), "the part is as large as the run"
        subject = replace(
            found.subject, messages=certain.messages, holes=certain.holes, perhaps_received=certain.perhaps_received,
            notes=(*found.subject.notes, *[NO_INDEX] * certain.like_time_stamps),
        )  # fmt: skip
        verdicts = (
            earned(hidden(one.order, certain.holes), certain.messages, unicasts=subject.unicasts)
            if one.kept or one.is_empty
            else one
            for one in found.verdicts
        )
        return replace(found, subject=subject, verdicts=tuple(verdicts))

    def _of_large_run(self, number: int) -> Classification:
        broken = np.zeros((1, COLUMNS), np.bool_)
        for order, outcome in zip(self.orders, self.outcomes[number].tolist(), strict=True):
            if order in COLUMN:
                broken[0, COLUMN[order]] = outcome == BROKEN
        whole = self._whole(number) if without_monitor(self.orders) else None
        shown = {order: rows for _, order, rows in self.monitor.violations(np.array([number]), broken)}
        verdicts: list[Verdict] = []
        for order, outcome in zip(self.orders, self.outcomes[number].tolist(), strict=True):
            if order not in COLUMN and whole is not None:
                verdicts.append(whole.verdict(order))
            elif outcome == BROKEN:
                verdict = decide(self._computation(shown[order]), order, self.reading)
                assert not verdict.kept, f"{self.name(number)}: the messages that show {order} broken keep it"
                verdicts.append(verdict)
            elif outcome == KEPT:
                verdicts.append(Verdict(order, kept=True))
            elif outcome == NOTHING:
                verdicts.append(nothing_to_judge(order))
            else:
                verdicts.append(not_decided(order, "its constraints do not fit in memory"))
        return Classification(self._large_run(number, shown), self.reading, tuple(verdicts))

    def _context(self, number: int, run: Run, shown: Mapping[str, list[int]]) -> Context:
        """The events around the first violation of the first order that is violated."""
        rows, first = next(iter(shown.values())), int(self.rows.first[number])
        messages = np.unique(run.message[run.event[np.array(rows) - first]])
        events = context(run, self.monitor.processes(), messages, self.rows, first, self.numbering)
        return Context(tuple(order for order, of in shown.items() if of == rows), self.numbering.by, events)

    def _by_process(self, number: int) -> tuple[ProcessSummary, ...]:
        figures, run = self.monitor.disorder(number).tolist(), self.monitor.lay_out(number)
        found = [
            ProcessSummary(
                self.rows.processes[process],
                int(run.length[line]),
                row[DELIVERIES],
                Disorder(*row[FIFO_FROM:CAUSAL_FROM]),
                Disorder(*row[CAUSAL_FROM:]),
            )
            for line, (process, row) in enumerate(zip(self.monitor.processes().tolist(), figures, strict=True))
        ]
        named = {one.process for one in found}
        found += [ProcessSummary(name, 0, 0, Disorder(), Disorder()) for name in self.processes if name not in named]
        return tuple(sorted(found, key=lambda one: natural(one.process)))

    def _large_run(self, number: int, shown: Mapping[str, list[int]]) -> LargeRun:
        run, rows, names = self.monitor.lay_out(number), self.monitor.rows, self.rows.processes
        never = np.flatnonzero(run.deliver[: run.sizes[COPIES]] == NONE)
        sends = rows.first[number] + run.row[run.send[run.of_copy[never]]]
        receivers = self.monitor.processes()[run.receiver[never]]
        unreceived = tuple(
            (self._message(message), names[receiver])
            for message, receiver in zip(rows.message[sends].tolist(), receivers.tolist(), strict=True)
        )
        from_one = int(self.rows.index[self.rows.first[number] : self.rows.first[number + 1]].min()) == 1
        by_process = self._by_process(number)
        return LargeRun(
            self.file,
            self.name(number),
            len(by_process),
            int(run.sizes[MESSAGES]),
            int(run.sizes[EVENTS]),
            unreceived,
            bool(run.sizes[COPIES] == run.sizes[MESSAGES]),
            (FROM_ONE,) if from_one else (),
            by_process=by_process,
            context=self._context(number, run, shown) if shown else None,
        )

    def _message(self, message: int) -> str:
        return str(self.rows.named["message"].names[message].as_py())

    def _computation(self, events: Sequence[int]) -> Computation:
        """The computation of these events alone, given by their rows."""
        rows, names = self.monitor.rows, self.rows.processes
        found = []
        for row in events:
            is_send, peer = rows.kind[row] == SEND, int(rows.peer[row])
            receivers = rows.receiver[rows.first_receiver[peer] : rows.first_receiver[peer + 1]] if is_send else ()
            process, message = names[rows.process[row]], self._message(rows.message[row])
            found.append((process, "send" if is_send else "deliver", message, [names[q] for q in receivers]))
        return logged_run("", rows_of(found)).computation


def classified(
    table: pa.Table,
    file: str,
    orders: Sequence[str],
    reading: UnreceivedPolicy,
    options: LogOptions,
    numbering: Numbering = BY_ROW,
    progress: Progress | None = None,
    lines: Sequence[int] | None = None,
) -> ClassifiedLog | None:
    """The log of these rows, classified; None if some contradict each other. `options`: how they were read; `lines`:
    where they are in the log.
    """
    rows = by_run(table)
    if lines is not None:
        rows.place = np.array(lines) if rows.place is None else np.array(lines)[rows.place]
    count = len(rows.index)
    report = None if progress is None else lambda n: progress("decided", n, count, "events")
    log = decided(rows, rows.numbers(), file, orders, reading, numbering, options.processes, report)
    log.quarantine, log.notes = options.quarantine, options.notes
    if log.quarantine is not None:
        log.is_regular &= [not log._torn(number) for number in range(len(log))]
        log.outcomes[~log.is_regular] = UNDECIDED
    for number in np.flatnonzero(log.is_regular).tolist() if without_monitor(orders) else ():
        log.decide_by_procedures(number)
    irregular = np.flatnonzero(~log.is_regular).tolist()
    for done, number in enumerate(irregular):
        if progress is not None:
            progress("decided", done, len(irregular), "runs with holes or other gaps")
        try:
            log.decide_irregular(number)
        except BadInput:  # of which all lines together say where it is
            return None
    return log


def decided(
    rows: NamedRows,
    numbers: Rows,
    file: str,
    orders: Sequence[str],
    reading: UnreceivedPolicy,
    numbering: Numbering,
    processes: Sequence[str] = (),
    report: Callable[[int], None] | None = None,
) -> ClassifiedLog:
    """The log of these rows, which are these numbers, as far as the monitor decides it."""
    monitor = Monitor(numbers, reading == "pending")
    outcomes = monitor.outcomes(orders, report)
    outcomes[~are_names(rows.named["run"].names, empty=True)] = UNDECIDED
    is_regular = outcomes[:, ASYNCHRONOUS] != UNDECIDED
    asked = np.full((len(outcomes), len(orders)), UNDECIDED, np.int8)
    for k, order in enumerate(orders):
        if order in COLUMN:
            asked[:, k] = outcomes[:, COLUMN[order]]
    return ClassifiedLog(file, rows, orders, reading, monitor, asked, is_regular, numbering, processes=processes)
