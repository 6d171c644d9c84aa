"""A log of any size, classified: the verdicts by the monitor, and each violation shown by the few messages it takes.

Small runs are worded, and their smallest witnesses found, by the procedures of the spec; so is every run that the
monitor leaves undecided, such as one with holes. Of a large run only the messages that show a violation are made into a
computation, on which the spec finds the same order broken: what a part of a run breaks, the run breaks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from crownless.oracle.classification import (
    FROM_ONE,
    Classification,
    ClassifiedRuns,
    LargeRun,
    classify,
    hidden,
    not_decided,
)
from crownless.oracle.event_logs import LoggedRun, in_natural_order, logged_run, natural, read_log, rows_of
from crownless.oracle.logs.columns import json_line
from crownless.oracle.logs.formats import BY_ROW, Numbering, Progress
from crownless.oracle.logs.layout import COPIES, EVENTS, INTERNAL, LINES, MESSAGES, NONE, SEND, Numbers
from crownless.oracle.logs.lost_events import Hole, gap, missing_send
from crownless.oracle.logs.named_rows import NamedRows, are_names, by_run
from crownless.oracle.logs.reader import named_run
from crownless.spec.computation import Computation
from crownless.spec.constraints import SMALLEST_UP_TO
from crownless.spec.delivery_disorder import Disorder, ProcessSummary
from crownless.spec.errors import BadInput
from crownless.spec.orders import Outcome, UnreceivedPolicy, Verdict, decide

from .context import Context, context
from .disorder import CAUSAL_FROM, DELIVERIES, FIFO_FROM
from .holes import Certain, certain_of
from .monitor import ASYNCHRONOUS, BROKEN, COLUMN, KEPT, OUTCOMES, UNDECIDED, Monitor

if TYPE_CHECKING:
    import pyarrow as pa

    from .complete import Delivery


@dataclass
class ClassifiedLog(ClassifiedRuns):
    """The verdicts on every run of a log; `classification` has those on one in full."""

    file: str
    rows: NamedRows
    orders: Sequence[str]
    reading: UnreceivedPolicy
    monitor: Monitor
    #: For each run and order of `orders` KEPT, BROKEN or UNDECIDED, which is unknown.
    outcomes: Numbers
    #: For each run whether the monitor has decided every order.
    by_monitor: Numbers
    #: How the rows are numbered for a reader of the log.
    numbering: Numbering = BY_ROW
    #: The runs that the spec has decided; and of large runs with holes what is certain, and its monitor.
    by_spec: dict[int, Classification] = field(default_factory=dict)
    with_holes: dict[int, tuple[Monitor, Certain]] = field(default_factory=dict)
    #: Processes that take part in each run, also without events; of a complete log how each run delivers its messages.
    processes: Sequence[str] = ()
    deliveries: Mapping[str, Delivery] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.outcomes)

    def name(self, number: int) -> str:
        return str(self.rows.named["run"].names[number].as_py())

    def outcome(self, number: int, order: str) -> Outcome:
        """The verdict on one run in a word."""
        return OUTCOMES[int(self.outcomes[number, self.orders.index(order)])]

    def counts(self, order: str) -> dict[str, int]:
        """How many runs keep the order, break it, or leave it unknown."""
        column = self.outcomes[:, self.orders.index(order)]
        return {outcome: int((column == number).sum()) for number, outcome in OUTCOMES.items()}

    def first_broken(self, order: str) -> int | None:
        """The first run that breaks the order."""
        broken = np.flatnonzero(self.outcomes[:, self.orders.index(order)] == BROKEN)
        return int(broken[0]) if len(broken) else None

    def delivery(self, number: int) -> Delivery | None:
        """How one run delivers its messages, if the log is complete."""
        return self.deliveries.get(self.name(number))

    def classification(self, number: int) -> Classification:
        """The verdicts on one run, with witnesses."""
        found, delivery = self._classification(number), self.delivery(number)
        return found if delivery is None else found.with_delivery(delivery)

    def _classification(self, number: int) -> Classification:
        if number not in self.by_spec:
            if self._is_large(number):
                return self._of_large_run(number)
            self.by_spec[number] = self._decided_by_spec(number)
        return self.by_spec[number]

    def _is_large(self, number: int) -> bool:
        return int(self.rows.first[number + 1] - self.rows.first[number]) > SMALLEST_UP_TO

    def decide_irregular(self, number: int) -> None:
        """Decides a run that is not well-formed; raises `BadInput` if its rows contradict each other."""
        certain = certain_of(self.monitor.rows, number) if self._is_large(number) else None
        if certain is not None:
            monitor = Monitor(certain.rows, self.monitor.pending)
            outcomes = monitor.outcomes(self.orders)
            if outcomes[0, ASYNCHRONOUS] != UNDECIDED:
                self.with_holes[number] = monitor, certain
                decided = outcomes[0, [COLUMN[order] for order in self.orders]]
                self.outcomes[number] = np.where(decided == BROKEN, BROKEN, UNDECIDED)
                return
        found = self._decided_by_spec(number)
        of = {outcome: number for number, outcome in OUTCOMES.items()}
        self.outcomes[number] = [of[found[order].outcome] for order in self.orders]
        self.by_spec[number] = found

    def _decided_by_spec(self, number: int) -> Classification:
        first, past = int(self.rows.first[number]), int(self.rows.first[number + 1])
        logged = self._logged(range(first, past))
        found = classify(named_run(self.file, replace(logged, run=self.name(number))), self.orders, self.reading)
        for order, verdict in found.items():
            known = int(self.outcomes[number, self.orders.index(order)])
            assert known == UNDECIDED or OUTCOMES[known] == verdict.outcome, f"{self.name(number)}: {order}"
        return found

    def _logged(self, rows: Sequence[int]) -> LoggedRun:
        lines = [json_line(self.rows.row(row)) for row in rows]
        (logged,) = read_log(lines, self.file, processes=self.processes)
        return logged

    def _holes(self, number: int, certain: Certain) -> tuple[Hole, ...]:
        """Line after line, as `oracle.event_logs` has them."""
        names, first = self.rows.processes, int(self.rows.first[number])
        found: list[tuple[int, int, Hole]] = [(p, at, gap(names[p], at, past)) for p, at, past in certain.gaps.tolist()]
        for row in certain.unsent.tolist():
            p, message = int(certain.rows.process[row]), str(self.rows.named["message"].name(first + row))
            found.append((p, int(self.rows.index[first + row]), missing_send(names[p], message)))
        return tuple(hole for _, _, hole in sorted(found, key=lambda one: (natural(names[one[0]]), one[1])))

    def _perhaps_received(self, certain: Certain) -> tuple[tuple[str, str], ...]:
        names = self.rows.processes
        return in_natural_order((self._message(m), names[q]) for m, q in certain.perhaps_received.tolist())

    def _of_large_run(self, number: int) -> Classification:
        monitor, certain = self.with_holes.get(number, (self.monitor, None))
        at, holes = (number, ()) if certain is None else (0, self._holes(number, certain))
        verdicts: list[Verdict] = []
        shown: dict[tuple[int, ...], list[str]] = {}
        for order, outcome in zip(self.orders, self.outcomes[number].tolist(), strict=True):
            if outcome == BROKEN:
                sends = monitor.witness(at, order)
                shown.setdefault(tuple(sends), []).append(order)
                c = self._shown(monitor, at, sends)
                verdict = decide(c, order, self.reading)
                assert not verdict.kept, f"{self.name(number)}: the messages that show {order} broken keep it"
                verdicts.append(verdict)
            elif outcome == KEPT:
                verdicts.append(Verdict(order, kept=True))
            elif holes:
                verdicts.append(hidden(order, holes))
            else:
                verdicts.append(not_decided(order, "there is no room for its constraints"))
        around = self._context(number, monitor, at, shown) if shown else None
        subject = self._large_run(number, monitor, at, around)
        if certain is not None:
            of_holes = np.setdiff1d(certain.perhaps_received[:, 0], monitor.rows.message[monitor.rows.kind == SEND])
            subject = replace(
                subject,
                messages=subject.messages + len(of_holes),
                holes=holes,
                perhaps_received=self._perhaps_received(certain),
            )
        return Classification(subject, self.reading, tuple(verdicts))

    def _context(self, number: int, monitor: Monitor, at: int, shown: dict[tuple[int, ...], list[str]]) -> Context:
        """The events around the first violation of the first order that is broken, by the sends that show each."""
        run, sends = monitor.lay_out(at), next(iter(shown))
        messages = run.message[run.event[np.array(sends) - int(monitor.rows.first[at])]].tolist()
        start = int(self.rows.first[number])
        events = context(run, monitor.processes(), messages, self.rows, start, self.numbering)
        return Context(tuple(shown[sends]), self.numbering.by, events)

    def _by_process(self, monitor: Monitor, at: int) -> tuple[ProcessSummary, ...]:
        figures, run = monitor.disorder(at).tolist(), monitor.lay_out(at)
        found = [
            ProcessSummary(
                self.rows.processes[process],
                int(run.length[line]),
                row[DELIVERIES],
                Disorder(*row[FIFO_FROM:CAUSAL_FROM]),
                Disorder(*row[CAUSAL_FROM:]),
            )
            for line, (process, row) in enumerate(zip(monitor.processes().tolist(), figures, strict=True))
        ]
        found += [ProcessSummary(name, 0, 0, Disorder(), Disorder()) for name in self._silent(monitor)]
        return tuple(sorted(found, key=lambda one: natural(one.process)))

    def _silent(self, monitor: Monitor) -> list[str]:
        """The processes that are declared, and that no row of the run names."""
        named = {self.rows.processes[process] for process in monitor.processes().tolist()}
        return [name for name in self.processes if name not in named]

    def _large_run(self, number: int, monitor: Monitor, at: int, around: Context | None) -> LargeRun:
        run, rows = monitor.lay_out(at), monitor.rows
        never = np.flatnonzero(run.deliver[: run.sizes[COPIES]] == NONE)
        sends = rows.first[at] + run.row[run.send[run.of_copy[never]]]
        receivers = monitor.processes()[run.receiver[never]]
        unreceived = tuple(
            (self._message(message), self.rows.processes[receiver])
            for message, receiver in zip(rows.message[sends].tolist(), receivers.tolist(), strict=True)
        )
        from_one = int(self.rows.index[self.rows.first[number] : self.rows.first[number + 1]].min()) == 1
        return LargeRun(
            self.file,
            self.name(number),
            int(run.sizes[LINES]) + len(self._silent(monitor)),
            int(run.sizes[MESSAGES]),
            int(run.sizes[EVENTS]),
            unreceived,
            bool(run.sizes[COPIES] == run.sizes[MESSAGES]),
            (FROM_ONE,) if from_one else (),
            by_process=self._by_process(monitor, at),
            context=around,
        )

    def _message(self, message: int) -> str:
        return str(self.rows.named["message"].names[message].as_py())

    def _shown(self, monitor: Monitor, number: int, sends: Sequence[int]) -> Computation:
        """The computation of these messages alone, given by the rows of their sends."""
        rows, names = monitor.rows, self.rows.processes
        first, past = int(rows.first[number]), int(rows.first[number + 1])
        about = np.isin(rows.message[first:past], rows.message[list(sends)]) & (rows.kind[first:past] != INTERNAL)
        events = []
        for row in sorted((first + np.flatnonzero(about)).tolist(), key=lambda row: int(rows.place[row])):
            process, message, peer = names[rows.process[row]], self._message(rows.message[row]), int(rows.peer[row])
            if rows.kind[row] == SEND:
                receivers = rows.receiver[rows.first_receiver[peer] : rows.first_receiver[peer + 1]]
                events.append((process, "send", message, [names[q] for q in receivers]))
            else:
                events.append((process, "deliver", message, []))
        return logged_run("", rows_of(events)).computation


def classified(
    table: pa.Table,
    file: str,
    orders: Sequence[str],
    reading: UnreceivedPolicy,
    numbering: Numbering = BY_ROW,
    progress: Progress | None = None,
    processes: Sequence[str] = (),
) -> ClassifiedLog | None:
    """The log of these rows, classified; None if some contradict each other. `processes`: some that take part in each
    run, also without events.
    """
    rows = by_run(table)
    monitor = Monitor(rows.numbers(), reading == "pending")
    count = len(rows.index)
    outcomes = monitor.outcomes(orders, None if progress is None else lambda n: progress("decided", n, count, "events"))
    outcomes[~are_names(rows.named["run"].names, empty=True)] = UNDECIDED
    asked = outcomes[:, [COLUMN[order] for order in orders]]
    by_monitor = (asked != UNDECIDED).all(axis=1) & (outcomes[:, ASYNCHRONOUS] != UNDECIDED)
    log = ClassifiedLog(file, rows, orders, reading, monitor, asked, by_monitor, numbering, processes=processes)
    irregular = np.flatnonzero(outcomes[:, ASYNCHRONOUS] == UNDECIDED).tolist()
    for done, number in enumerate(irregular):
        if progress is not None:
            progress("decided", done, len(irregular), "runs with holes or other gaps")
        try:
            log.decide_irregular(number)
        except BadInput:  # of which all lines together say where it is
            return None
    return log
