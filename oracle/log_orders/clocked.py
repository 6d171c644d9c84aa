"""Logs in JSON Lines whose events carry a vector clock (`clock`): the messages are compared with the clocks.

A clock is the number of events of each process known after the event, itself included: an object from processes to
numbers, or an array with an entry for each process. Happened-before in the clocks but not in the messages is handled as
in `shiviz`.
"""

import json
from collections.abc import Mapping, Sequence

from crownless.oracle.logs import vector_clocks
from crownless.oracle.logs.converted import ConvertedLog
from crownless.oracle.logs.event_logs import counts_from_one, natural
from crownless.oracle.logs.formats import LogOptions
from crownless.oracle.logs.lines import rows_of_lines
from crownless.oracle.logs.rows import Row, by_run
from crownless.runtime.errors import BadInput
from crownless.runtime.reading import as_text

_OTHER_CLOCKS = "the clocks count other events than these lines"
_HINT = 'give {"P1": 2, "P2": 1}, or [2, 1] with an entry for each process'


def read_clocked(
    content: bytes, name: str, processes: Sequence[str] = (), kinds: Mapping[str, str] | None = None
) -> ConvertedLog:
    """The log in this content; array entries belong to these processes, or else to all of a run, P2 before P10.

    Raises `BadInput` if it is not a log, if clocks contradict each other, or if a clock does not know the send of the
    message that its event delivers.
    """
    lines = as_text(content, name).split("\n")
    log = ConvertedLog()
    for run, rows in by_run(rows_of_lines(lines, name, LogOptions(kinds=kinds or {})), name).items():
        try:
            _add_run(log, run, rows, lines, processes)
        except BadInput as problem:
            raise problem.at(file=name) from None
    return log


def _add_run(log: ConvertedLog, run: str, rows: list[Row], lines: Sequence[str], processes: Sequence[str]) -> None:
    named = list(processes) or sorted({name for row in rows for name in (row.process, *row.peers)}, key=natural)
    first = int(counts_from_one(rows))
    events = [_clocked(row, lines[row.line - 1], named, first) for row in rows]
    by_line = {row.line: row for row in rows}

    def meaning(event: vector_clocks.ClockedEvent) -> vector_clocks.Meaning:
        row = by_line[event.line]
        return row.kind, row.message, row.peers

    by_host = vector_clocks.lines_by_host(events, "distinguish runs by 'run'")
    vector_clocks.add_named_messages(log, run, by_host, vector_clocks.immediate_causes(by_host), meaning, _OTHER_CLOCKS)


def _clocked(row: Row, text: str, named: Sequence[str], first: int) -> vector_clocks.ClockedEvent:
    clock = json.loads(text).get("clock")
    if clock is None:
        raise BadInput("'clock' is missing", hint=_HINT, line=row.line)
    if isinstance(clock, list):
        if len(clock) != len(named):
            problem = f"the clock has {len(clock)} entries, for {len(named)} processes"
            raise BadInput(problem, hint=f"they are {', '.join(named)}; name others with --processes", line=row.line)
        clock = dict(zip(named, clock, strict=True))
    if (wrong := vector_clocks.clock_problem(row.process, clock)) is not None:
        raise BadInput(wrong, hint=_HINT, line=row.line)
    number = row.index - first + 1
    if clock[row.process] != number:
        problem = (
            f"the clock of {row.process}'s event {row.index} counts {clock[row.process]} events of it, not {number}"
        )
        raise BadInput(problem, hint="a clock counts the events of its process, this one included", line=row.line)
    return vector_clocks.ClockedEvent(row.line, row.process, {p: k for p, k in clock.items() if k}, "")
