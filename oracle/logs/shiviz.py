"""Logs of ShiViz and GoVector: a text that a regular expression with named groups takes apart, with vector clocks.

A log may begin with two lines as ShiViz has them: the expression for an event, and the one that separates executions,
or nothing; else it is read as GoVector writes it. The groups `host`, `clock` and `event` say what an event is; `clock`
is a JSON object of hosts and numbers. An execution is a run; the group `trace` of the separator before it is its name.

**Named messages.** With a pattern, whose groups `send` and `deliver` are found in the text of an event, an event is a
send, a deliver or internal. The clock of a deliver must know the send. Clocks that show more than these messages do
(another layer's messages, events that are not logged) leave unknown whether causal order and all that imply it are
kept: happened-before is more than the named messages say. FIFO order depends on each line alone.

**Inferred messages.** Without a pattern, each immediate cause of an event (`vector_clocks`) is the send of a message
that the event delivers. Such a message is real. Others are not seen: a message that is not received, and a message
whose send the receiver knew of already, as all that break FIFO or causal order have. Hence

- `asynchronous` is kept, as clocks that contradict each other are refused;
- FIFO and causal order are never broken by inferred messages, and that says nothing: all orders but `asynchronous`
  imply FIFO order, and so none of them is ever said to be kept;
- mailbox, one-n, n-n and synchronous order are broken if the inferred messages break them, as an order that some of
  the messages of a run break is broken by all of them.

An event with one clock may have received several messages, or sent several. Their order is not in the log. Those
received are written as delivers one after the other, then the send. The immediate causes of a host's two events are
never the same event, and so all receivers of an event's messages are distinct: they are taken for one message to
several. Both are `unordered` for `uncertain`: a violation stands only if it takes one message of each such event, as
then it follows whether they were one message or several, and in whatever order.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from crownless.oracle.log_orders.uncertain import Uncertain, Unordered, all_but
from crownless.spec.errors import BadInput
from crownless.spec.printable import printable_name, some
from crownless.spec.reading import as_text

from .clocked_messages import add_named_messages
from .converted import ConvertedLog, few
from .formats import LogOptions
from .patterns import compiled
from .rows import Row
from .vector_clocks import Causes, ClockedEvent, EventId, clock_problem, immediate_causes, lines_by_host, name_of

#: An event as GoVector writes it; ShiViz's default.
GOVECTOR = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)"
INFERRED = "inferred from clocks: messages that come late, or never, are not seen"
TO_NOBODY = "a message without a named receiver is not delivered in the log"
LOST = "a line with a clock that cannot be read was skipped: events may be missing"
#: At most this many lines of text that belong to no event are shown.
SKIPPED_UP_TO = 3
_SEVERAL_RUNS = "if the log has several executions, separate them by an expression in its second line, as ShiViz does"
_SEVERAL_LAYERS = "if the log has several layers, have --pattern match the events of one of them"
_SEPARATORS = re.compile(r"\s*[,;]\s*")

Lines = list[tuple[int, str]]


def read(content: bytes, name: str, options: LogOptions) -> ConvertedLog:
    """The log in this content; raises `BadInput`."""
    text = as_text(content, name).replace("\r\n", "\n")
    if not text.strip():
        raise BadInput("the log is empty", hint="give the text of a ShiViz log")
    parser, delimiter, start = _expressions(text)
    pattern = None if options.pattern is None else compiled(options.pattern, "--pattern", ("send", "deliver"))
    if options.complete and pattern is None:
        problem = "--complete: messages inferred from clocks do not show what is delivered"
        raise BadInput(problem, hint="name the messages by --pattern")
    line_ends = [found.start() for found in re.finditer("\n", text)]

    def line_at(position: int) -> int:
        return bisect_right(line_ends, position - 1) + 1

    log = ConvertedLog()
    skipped: Lines = []
    for run, first, past in _executions(text, start, delimiter, line_at):
        events, end, others = list[ClockedEvent](), first, Lines()
        for found in parser.finditer(text, first, past):
            others += _lines(text, end, found.start(), line_at)
            end = found.end()
            events.append(_event(found, line_at(found.start())))
        others += _lines(text, end, past, line_at)
        if events:
            _convert(log, run, events, pattern, options.complete)
            _add_lost_events(log, run, events, others)
        skipped += others
    if not log.events:
        hint = "begin the log with the expression for an event, as ShiViz does, or give it as GoVector writes it"
        raise BadInput("no text matches the expression for events", hint=hint)
    if skipped:
        note = f"{some(len(skipped), 'line')} of text skipped, as part of no event: {_first_lines(skipped)}"
        for run in dict.fromkeys(event.run for event in log.events):
            log.note(run, note)
    return log


def _expressions(text: str) -> tuple[re.Pattern[str], re.Pattern[str] | None, int]:
    """For events and between executions, and where the text begins."""
    first, _, rest = text.partition("\n")
    if "(?<host>" not in first and "(?P<host>" not in first:
        return compiled(GOVECTOR, "the default"), None, 0
    second, _, _ = rest.partition("\n")
    events = compiled(first, "the first line", ("host", "clock", "event"), 1)
    delimiter = compiled(second, "the second line", (), 2) if second.strip() else None
    return events, delimiter, min(len(first) + len(second) + 2, len(text))


def _executions(
    text: str, start: int, delimiter: re.Pattern[str] | None, line_at: Callable[[int], int]
) -> Iterator[tuple[str, int, int]]:
    """The runs, by name: parts of the text between separators, those that are blank left out."""
    if delimiter is None:
        yield "", start, len(text)
        return
    separators = list(delimiter.finditer(text, start))
    labels = ["", *((found.groupdict().get("trace") or "").strip() for found in separators)]
    begins = [start, *(found.end() for found in separators)]
    ends = [*(found.start() for found in separators), len(text)]
    number, taken = 0, dict[str, int]()
    for label, begin, end in zip(labels, begins, ends, strict=True):
        if not text[begin:end].strip():
            continue
        number += 1
        run, line = label or str(number), line_at(begin)
        if run in taken:
            problem = f"two executions are called {printable_name(run)}: lines {taken[run]} and {line}"
            raise BadInput(problem, hint="have the group 'trace' of the second line name them apart", line=line)
        taken[run] = line
        yield run, begin, end


def _lines(text: str, start: int, end: int, line_at: Callable[[int], int]) -> Lines:
    """The lines between two places that are not blank, each with its number."""
    numbered = enumerate(text[start:end].split("\n"), start=line_at(start))
    return [(number, line.strip()) for number, line in numbered if line.strip()]


def _first_lines(lines: Sequence[tuple[int, str]]) -> str:
    shown = ", ".join(f"line {line}: '{printable_name(text)}'" for line, text in lines[:SKIPPED_UP_TO])
    return shown + (", …" if len(lines) > SKIPPED_UP_TO else "")


def _add_lost_events(log: ConvertedLog, run: str, events: Sequence[ClockedEvent], others: Lines) -> None:
    """Adds a hole at the end of the lines of hosts with a clock that cannot be read, such as one that was cut off.

    Where a line begins with no host, that may be any.
    """
    last = {event.host: event.number for event in sorted(events, key=lambda event: event.number)}
    hosts = "|".join(map(re.escape, last))
    has_clock = re.compile(rf'(?:({hosts})\s*\{{|.*"(?:{hosts})"\s*:)')
    lost = {found[1] for _, text in others if (found := has_clock.match(text))}
    for host, number in last.items() if lost else ():
        if host in lost or None in lost:
            end = max(number - 1, *(row.index for row in log.events if (row.run, row.process) == (run, host)))
            log.events.append(Row(others[-1][0], run, host, end + 2, "internal"))
    if lost:
        log.note(run, LOST)


def _event(found: re.Match[str], line: int) -> ClockedEvent:
    host, clock = found["host"] or "", found["clock"] or ""
    if not host or not host.isprintable():
        problem = "an event has no host" if not host else "the name of a host cannot be printed"
        raise BadInput(problem, hint="have the group 'host' match a name", line=line)
    try:
        value = json.loads(clock)
    except (ValueError, RecursionError):
        hint = 'have the group \'clock\' match a JSON object, such as {"a": 1, "b": 2}'
        raise BadInput(f"the clock {printable_name(clock)} is not JSON", hint=hint, line=line) from None
    if (wrong := clock_problem(host, value)) is not None:
        hint = 'a clock has whole numbers, such as {"a": 1, "b": 2}; a host\'s own counts its events from 1'
        raise BadInput(wrong, hint=hint, line=line)
    return ClockedEvent(line, host, {p: k for p, k in value.items() if k}, found["event"] or "")


def _convert(
    log: ConvertedLog, run: str, events: Sequence[ClockedEvent], pattern: re.Pattern[str] | None, complete: bool
) -> None:
    """Adds the events of a run to the log, with notes on them."""
    if all(event.number != 1 for event in events):
        hint = "a host's own entry numbers its events from 1: give the log from its beginning on"
        raise BadInput("no host's event 1 is in the log" + f" of {run}" * bool(run), hint=hint, line=events[0].line)
    lines = lines_by_host(events, _SEVERAL_RUNS)
    causes = immediate_causes(lines)
    if pattern is None:
        _convert_inferred(log, run, lines, causes)
        return
    rows = add_named_messages(
        log, run, lines, causes, lambda event: _message(event, pattern), _SEVERAL_LAYERS, complete=complete
    )
    if to_nobody := [row.message for row in log.to_nobody.get(run, ())]:
        log.doubt(run, all_but(["asynchronous"], TO_NOBODY))
        what = few(to_nobody, "message")
        log.note(run, f"{what} neither delivered nor sent to a named host, and left out; name it by a group 'to'")
    for kind in ("send", "deliver"):
        if not any(row.kind == kind for row in rows):
            log.note(run, f"no event matches the group '{kind}' of --pattern")


def _message(event: ClockedEvent, pattern: re.Pattern[str]) -> tuple[str, str, tuple[str, ...]]:
    """The kind of an event, its message and its peers, by its text."""
    found = pattern.search(event.text)
    groups = {} if found is None else {name: (text or "").strip() for name, text in found.groupdict().items()}
    if groups.get("send") and groups.get("deliver"):
        hint = "separate the two by |, so that an event matches one of them at most"
        raise BadInput(f"an event of {event.host} is both a send and a deliver", hint=hint, line=event.line)
    if message := groups.get("send"):
        return "send", message, tuple(part for part in _SEPARATORS.split(groups.get("to", "")) if part)
    if message := groups.get("deliver"):
        return "deliver", message, (sender,) if (sender := groups.get("from")) else ()
    return "internal", "", ()


def _convert_inferred(
    log: ConvertedLog, run: str, lines: dict[str, list[ClockedEvent]], causes: dict[EventId, Causes]
) -> None:
    receivers: dict[EventId, dict[str, None]] = {}
    for (host, _), found in causes.items():
        for cause in found.logged:
            receivers.setdefault(cause, {})[host] = None
    unordered: list[Unordered] = []
    several_sent: list[str] = []
    several_received: list[str] = []
    for host, line in lines.items():
        more = 0  # rows than events, so far
        for event in line:
            found = causes[event.id]
            rows: list[tuple[str, str, tuple[str, ...]]] = [
                ("deliver", name_of(cause), (cause[0],)) for cause in (*found.logged, *found.missing)
            ]
            if to := receivers.get(event.id):
                rows.append(("send", name_of(event.id), tuple(to)))
            if len(found.logged) > 1:
                several_received.append(name_of(event.id))
                unordered.append([frozenset({(name_of(cause), host)}) for cause in found.logged])
            if to and len(to) > 1:
                several_sent.append(name_of(event.id))
                unordered.append([frozenset({(name_of(event.id), receiver)}) for receiver in to])
            first = event.number - 1 + more
            log.events += [
                Row(event.line, run, host, first + k, kind, message, peers)
                for k, (kind, message, peers) in enumerate(rows)
            ] or [Row(event.line, run, host, first, "internal")]
            more += max(len(rows) - 1, 0)
    log.note(run, "messages are inferred from clocks, and named by sender and event: --pattern names them")
    if several_sent:
        log.note(run, f"{few(several_sent, 'event')} sent to several hosts, taken for one message to all of them")
    if several_received:
        log.note(run, f"{few(several_received, 'event')} received from several hosts, in an order that is not logged")
    log.uncertain[run] = Uncertain(all_but(["asynchronous"], INFERRED), tuple(unordered))
