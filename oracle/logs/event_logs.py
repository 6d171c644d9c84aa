"""Event logs: JSON Lines, one event a line, read into computations.

    {"run": "a", "process": "P1", "index": 0, "kind": "send", "message": "x", "peer": "P2"}
    {"run": "a", "process": "P2", "index": 0, "kind": "deliver", "message": "x", "peer": "P1"}

`index` counts a process's events within a run, from 0 (or from 1, where 1 is the least index in the whole run). `kind`
is send, deliver (receive is a synonym) or internal. `peer` is the receiver of a send, or the list of its receivers; at
a deliver it is the sender, and may be left out. `run` may be left out. Names and runs that are integers are read as
their digits; null is as good as absent. Any further key is ignored; so is `clock`, a vector clock, which `logs.clocked`
and `pipeline.logs` read. The lines of a run may come in any order, and runs may be interleaved.

A log may have lost events. What shows it is called a hole: indices missing on a process's line, or a deliver whose send
is not in the log. With a hole no order can be said to be kept. A violation among the events that are there stands all
the same, since more events only add to happened-before and to what an order demands, provided that the computation says
nothing that a lost event could take back. So only what is certain goes into it:

- a deliver without its send becomes an internal event;
- a message that is not delivered at a receiver whose line has a hole may have been delivered in the hole, so it does
  not count as sent to that receiver; a send that has no receiver left becomes an internal event.

A missing send is a hole in its sender's line too: in a gap there or, where there is none, after the last event logged.
If no deliver of the message names the sender, that goes for every process that might be it. All other lines are taken
to end where the log ends: a message not delivered there counts as not received.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from crownless.runtime.ending import looked_at
from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation, Cyclic, Event, Message

from .lines import row_of, rows_of_lines
from .lost_events import Hole, gap, missing_send, quarantined_rows
from .reasons import Reason, reason_of
from .rows import Row, by_run, conflicts, refuse

NOTHING: Mapping[str, Collection[str | None]] = MappingProxyType({})


@dataclass(frozen=True)
class LoggedRun:
    """One run of a log: what is certain of its computation. With a hole, there was more.

    `perhaps_received`: each message and receiver that may have delivered it in a hole, or not at all, by name.
    """

    run: str
    computation: Computation
    holes: tuple[Hole, ...]
    perhaps_received: tuple[tuple[str, str], ...] = ()
    #: No event has index 0, and so they were taken to count from 1.
    from_one: bool = False
    #: All indices are higher than the number of events.
    like_time_stamps: bool = False
    #: For each event of the computation its line in the log.
    event_lines: tuple[int, ...] = field(default=(), compare=False)


def read_log(lines: Iterable[str], file: str | None = None, processes: Sequence[str] = ()) -> Iterator[LoggedRun]:
    """The runs of a log in order of first appearance; raises `BadInput` with the file and the line.

    All lines are read before the first run is given, since runs may be interleaved. The processes of a run are those it
    names and `processes`, in natural order (P2 before P10); its messages are numbered in order of sending, as the
    linearization has it.
    """
    yield from logged_runs(by_run(rows_of_lines(lines, file), file), file, processes)


def logged_runs(
    runs: Mapping[str, list[Row]],
    file: str | None = None,
    processes: Sequence[str] = (),
    torn: Mapping[str, Collection[str | None]] = NOTHING,
    leave_out: Callable[[list[Row], Reason], None] | None = None,
) -> Iterator[LoggedRun]:
    """The same of the rows of each run. `torn`: by run the processes that have further, unusable rows; `leave_out`
    gets all rows of a run that is impossible, with the reason.
    """
    for run, rows in runs.items():
        try:
            logged = logged_run(run, rows, torn.get(run, ()), processes)
        except BadInput as problem:
            if leave_out is None:
                raise problem.at(file=file) from None
            leave_out(rows, reason_of(problem))
            continue
        yield logged


def rows_of(events: Iterable[Sequence[Any]]) -> list[Row]:
    """The rows of these events, by process, kind, message and peers, those of each process in order."""
    index: Counter[str] = Counter()
    rows = []
    for line, (process, kind, message, peers) in enumerate(events, 1):
        fields = {"process": process, "index": index[process], "kind": kind, "message": message}
        rows.append(row_of(line, {**fields, "peer": list(peers) if kind == "send" else next(iter(peers), None)}))
        index[process] += 1
    return rows


# -- one run -----------------------------------------------------------------------------------------------------------


def logged_run(
    run: str, rows: list[Row], quarantined: Collection[str | None] = (), processes: Sequence[str] = ()
) -> LoggedRun:
    """The run of these rows; raises `BadInput` with the lines if some contradict each other.

    `quarantined`: the processes that have further, unusable rows; None if a row may be of any. `processes`: some
    that take part, also without events.
    """
    certain = certain_rows(rows, quarantined, processes)
    try:
        computation = _computation(certain.lines)
    except Cyclic as problem:
        raise _cyclic_run(run, problem, certain.lines) from None
    perhaps, like_time_stamps = certain.perhaps_received, min(row.index for row in rows) > len(rows)
    event_lines = tuple(row.line for line in certain.lines.values() for row in line)
    return LoggedRun(run, computation, certain.holes, perhaps, counts_from_one(rows), like_time_stamps, event_lines)


class CertainRows(NamedTuple):
    """What is certain of a run with holes: its rows by process, and what may have been received in a hole, by name."""

    lines: dict[str, list[Row]]
    holes: tuple[Hole, ...]
    perhaps_received: tuple[tuple[str, str], ...]


def certain_rows(
    rows: list[Row], quarantined: Collection[str | None] = (), processes: Sequence[str] = ()
) -> CertainRows:
    """What is certain of these rows, as `logged_run` has them; raises `BadInput` if some contradict each other."""
    refuse(conflicts(rows))
    lines = lines_of_processes(rows, processes)
    sends = {row.message: row for row in rows if row.kind == "send"}
    delivered = [row for row in rows if row.kind == "deliver"]
    senders = {row.message: name for row in delivered for name in row.peers}
    senders |= {message: send.process for message, send in sends.items()}
    delivers = {(row.message, row.process) for row in delivered}
    holes, torn = _holes(lines, sends, senders, delivers, quarantined)
    if not holes:
        return CertainRows(lines, (), ())
    copies = [(message, name) for message, send in sends.items() for name in send.peers]
    perhaps = {copy for copy in copies if copy not in delivers and copy[1] in torn}

    def certain(row: Row) -> Row:
        if row.kind == "send":
            peers = tuple(name for name in row.peers if (row.message, name) not in perhaps)
            return row if peers == row.peers else replace(row, peers=peers) if peers else row.as_internal()
        return row.as_internal() if row.kind == "deliver" and row.message not in sends else row

    of_lines = {process: list(map(certain, line)) for process, line in lines.items()}
    return CertainRows(of_lines, holes, in_natural_order(perhaps))


def _cyclic_run(run: str, problem: Cyclic, lines: Mapping[str, list[Row]]) -> BadInput:
    """The cycle with the line of each of its events, and what is to be done about a log of other runs too."""
    of_process = list(lines.values())
    rows = [of_process[p][place] for p, place in problem.places]
    steps = [step + f" (line {row.line})" * bool(row.line) for step, row in zip(problem.steps, rows, strict=True)]
    said = Cyclic(steps, problem.places).message
    if not run:
        return BadInput(said, hint=problem.hint)
    hint = f"{problem.hint}: correct these lines, or leave run {run} out to have the others judged"
    return BadInput(f"run {run}: {said}", hint=hint)


def lines_of_processes(rows: list[Row], processes: Iterable[str] = ()) -> dict[str, list[Row]]:
    """The events of each process that the rows name, and of `processes`, in natural order, by index."""
    names = {name for row in rows for name in (row.process, *row.peers)} | {*processes}
    lines: dict[str, list[Row]] = {name: [] for name in sorted(names, key=natural)}
    for row in looked_at(sorted(rows, key=lambda row: row.index)):
        lines[row.process].append(row)
    return lines


def counts_from_one(rows: Iterable[Row]) -> bool:
    """True if no event has index 0, and one has 1: they are taken to count from 1."""
    return min(row.index for row in rows) == 1


def rows_and_gaps(lines: Mapping[str, list[Row]]) -> Iterator[tuple[Row, Hole | None]]:
    """Line after line each row, with the gap before it if events are missing there."""
    first = 1 if counts_from_one(row for line in lines.values() for row in line) else 0
    for process, line in lines.items():
        expected = first
        for row in looked_at(line):
            yield row, gap(process, expected, row.index - 1) if row.index > expected else None
            expected = row.index + 1


def _holes(
    lines: Mapping[str, list[Row]],
    sends: Mapping[str, Row],
    senders: Mapping[str, str],
    delivers: Container[tuple[str, str]],
    quarantined: Collection[str | None],
) -> tuple[tuple[Hole, ...], set[str]]:
    """The holes, line after line, and last the processes with unusable rows; and those on whose lines an event is
    missing, or may be.
    """
    holes: list[Hole] = []
    torn: set[str] = set()
    for row, missing in rows_and_gaps(lines):
        if missing is not None:
            torn.add(row.process)
            holes.append(missing)
        if row.kind == "deliver" and row.message not in sends:
            holes.append(missing_send(row.process, row.message))
            # Whoever delivers its own message has sent it earlier on its line, so not after the end of it.
            known = row.message in senders
            torn |= {senders[row.message]} if known else {p for p in lines if (row.message, p) not in delivers}
    holes += [quarantined_rows(name) for name in sorted(quarantined, key=lambda name: natural(name or ""))]
    torn |= set(lines) if None in quarantined else {name for name in quarantined if name is not None}
    return tuple(holes), torn


def _computation(lines: Mapping[str, list[Row]]) -> Computation:
    """The computation of these rows; every event that is of no message is internal."""
    number_of = {name: p for p, name in enumerate(lines)}
    sends = {row.message: row for line in lines.values() for row in line if row.kind == "send"}

    def numbered(names: Iterable[str]) -> Computation:
        messages = [
            Message(name, number_of[sends[name].process], tuple(sorted(number_of[q] for q in sends[name].peers)))
            for name in names
        ]
        events = {("send", message.name): Event("send", m) for m, message in enumerate(messages)}
        events |= {("deliver", message.name): Event("receive", m) for m, message in enumerate(messages)}
        internal = Event("internal", None)
        as_events = (tuple(events.get((row.kind, row.message), internal) for row in line) for line in lines.values())
        return Computation(tuple(lines), tuple(messages), tuple(as_events))

    # The order of sending is known only with happened-before: the file may have the lines in any order.
    c = numbered(sends)
    in_order = (c.events[e] for e in c.linearization)
    return numbered(c.messages[m].name for kind, m in in_order if kind == "send" and m is not None)


def in_natural_order(copies: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Messages and receivers, receiver by receiver."""
    return tuple(sorted(copies, key=lambda copy: (natural(copy[1]), natural(copy[0]))))


def natural(name: str) -> tuple[object, ...]:
    """P2 before P10: runs of digits compare by value (by length, then digit by digit), ties by the name itself."""
    parts = re.split("([0-9]+)", name)
    digits = (part.lstrip("0") if k % 2 else "" for k, part in enumerate(parts))
    return tuple((len(d), d) if k % 2 else parts[k] for k, d in enumerate(digits)), name
