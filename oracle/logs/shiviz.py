"""Logs of ShiViz and GoVector: text with vector clocks, parsed by a regular expression with named groups.

As in ShiViz, a log may begin with two lines: the expression for an event, and the one that separates executions, or
nothing; otherwise it is read in GoVector's format, or in ShiVector's if it begins with a text and ends with a clock.
The groups `host`, `clock` and `event` describe an event; `clock` is a JSON object from hosts to numbers. An execution
is a run, named by the group `trace` of the separator before it.

**Named messages.** With a pattern, whose groups `send` and `deliver` match in the text of an event, an event is a send,
a deliver or internal. The clock of a deliver must know the send. If the clocks show more than these messages (another
layer's messages, unlogged events), causal order and all that imply it cannot be reported as kept: happened-before
contains more than the named messages explain. FIFO order depends on each line alone.

**Inferred messages.** Without a pattern, each immediate cause of an event (`vector_clocks`) is the send of a message
that the event delivers. Such a message is real. Others are invisible: unreceived messages, and messages whose send the
receiver already knew, which include all that violate FIFO or causal order. Hence

- `asynchronous` is kept, as contradictory clocks are rejected;
- FIFO and causal order are never violated by inferred messages, which proves nothing: all orders but `asynchronous`
  imply FIFO order, so none of them is ever reported as kept;
- mailbox, one-n, n-n and synchronous order are violated if the inferred messages violate them, as an order that some of
  a run's messages violate is violated by all of them.

An event with one clock may have received or sent several messages. Their order is not in the log. The received ones are
written as successive delivers, then the send. Two events of a host never have the same immediate cause, so all
receivers of an event's messages are distinct: they are treated as one message to several. Both are `unordered` for
`uncertain`: a violation stands only if it uses one message of each such event, since it then holds for one message or
several, in any order.
"""

import json
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable_name, some
from crownless.runtime.reading import as_text

from . import vector_clocks
from .converted import ConvertedLog, few
from .formats import LogOptions
from .rows import Row
from .uncertain import Unordered, all_but
from .vector_clocks import Causes, ClockedEvent, EventId, Meaning

#: GoVector's form of an event; ShiViz's default.
GOVECTOR = r"(?<host>\S*) (?<clock>{.*})[ \t]*\n(?<event>.*)"
#: The form of ShiVector, an older library: the text comes first.
SHIVECTOR = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})"
INFERRED = "inferred from clocks: messages that arrive late or never are not seen"
#: The most lines of text outside events that are shown.
SKIPPED_UP_TO = 3
_SEVERAL_RUNS = "if the log has several executions, separate them by an expression in its second line, as ShiViz does"
_SEVERAL_LAYERS = "if the log has several layers, have --pattern match the events of one of them"
_CLOCK_LINE = re.compile(r"\S* \{.*\}\s*")
_SEPARATORS = re.compile(r"\s*[,;]\s*")

Lines = list[tuple[int, str]]


def read(content: bytes, name: str, options: LogOptions) -> ConvertedLog:
    """The log in this content; raises `BadInput`."""
    text = as_text(content, name).replace("\r\n", "\n")
    if not text.strip():
        raise BadInput("the log is empty", hint="give the text of a ShiViz log")
    parser, delimiter, start = _expressions(text)
    pattern = None if options.pattern is None else _compiled(options.pattern, "--pattern", ("send", "deliver"))
    if options.complete and pattern is None:
        problem = "--complete: messages inferred from clocks do not show what is delivered"
        raise BadInput(problem, hint="describe how messages are named with --pattern")
    line_ends = [found.start() for found in re.finditer("\n", text)]

    def line_at(position: int) -> int:
        return bisect_right(line_ends, position - 1) + 1

    def lines(begin: int, end: int) -> Lines:
        numbered = enumerate(text[begin:end].split("\n"), line_at(begin))
        return [(number, line.strip()) for number, line in numbered if line.strip()]

    log, begins = ConvertedLog(), dict[str, int]()
    skipped: Lines = []
    for run, first, past in _executions(text, start, delimiter):
        events, end, others = list[ClockedEvent](), first, Lines()
        for found in parser.finditer(text, first, past):
            others += lines(end, found.start())
            end = found.end()
            events.append(_event(found, line_at(found.start())))
        others += lines(end, past)
        known, line = begins.setdefault(run, line_at(first)), line_at(first)
        if known != line:
            problem = f"two executions have the name {printable_name(run)}: lines {known} and {line}"
            raise BadInput(problem, hint="make the group 'trace' of the second line distinguish them", line=line)
        if events:
            _convert(log, run, events, pattern, options.complete)
            _add_lost_events(log, run, events, others)
        skipped += others
    if not log.events:
        hint = "begin the log with ShiViz's two fields: a line with the expression for an event, and one for executions"
        raise BadInput("no text matches the expression for events", hint=hint)
    for run in begins if skipped else ():
        log.note(run, f"{some(len(skipped), 'line')} left out, not part of any event: {_first_lines(skipped)}")
    return log


def _expressions(text: str) -> tuple[re.Pattern[str], re.Pattern[str] | None, int]:
    """The expressions for events and between executions, and where the text begins."""
    first, _, rest = text.partition("\n")
    if "(?<host>" not in first and "(?P<host>" not in first:
        clocks = [bool(_CLOCK_LINE.fullmatch(line)) for line in text.splitlines() if line.strip()]
        text_first = not clocks[0] and clocks[1:2] == [True] and clocks[-1]
        return _compiled(SHIVECTOR if text_first else GOVECTOR, "the default"), None, 0
    second, _, _ = rest.partition("\n")
    events = _compiled(first, "the first line", ("host", "clock", "event"), 1)
    delimiter = _compiled(second, "the second line", (), 2) if second.strip() else None
    return events, delimiter, min(len(first) + len(second) + 2, len(text))


def _compiled(text: str, what: str, required: Iterable[str] = (), line: int | None = None) -> re.Pattern[str]:
    """The regular expression, with groups named as in JavaScript or Python; raises `BadInput`, calling it `what`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = re.compile(re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", text), re.MULTILINE)
    except (re.error, RecursionError, OverflowError) as error:
        hint = r"such as (?<host>\S*), in the syntax that JavaScript and Python share"
        raise BadInput(f"{what} is not a regular expression: {error}", hint=hint, line=line) from None
    for name in required:
        if name not in found.groupindex:
            raise BadInput(f"{what} has no group '{name}'", hint=f"add a named group: (?<{name}>…)", line=line)
    return found


def _executions(text: str, start: int, delimiter: re.Pattern[str] | None) -> Iterator[tuple[str, int, int]]:
    """The runs, by name: the non-blank parts of the text between separators."""
    label, begin, number = "", start, 0
    for found in (*(() if delimiter is None else delimiter.finditer(text, start)), None):
        end = len(text) if found is None else found.start()
        if text[begin:end].strip():
            number += 1
            yield label or (str(number) if delimiter else ""), begin, end
        if found is not None:
            label, begin = (found.groupdict().get("trace") or "").strip(), found.end()


def _first_lines(lines: Sequence[tuple[int, str]]) -> str:
    shown = ", ".join(f"line {line}: '{printable_name(text)}'" for line, text in lines[:SKIPPED_UP_TO])
    return shown + (", …" if len(lines) > SKIPPED_UP_TO else "")


def _add_lost_events(log: ConvertedLog, run: str, events: Sequence[ClockedEvent], others: Lines) -> None:
    """Notes the lines with an unreadable clock, such as one that was cut off: each is a lost event.

    If the line gives its number, which is missing before a later event of the host, the hole shows already. Otherwise
    there is one at the end of the host's line, or of all lines if the line begins with no host.
    """
    logged: dict[str, set[int]] = {}
    for event in events:
        logged.setdefault(event.host, set()).add(event.number)
    hosts = "|".join(map(re.escape, logged))
    has_clock = re.compile(rf'(?:(?P<host>{hosts})\s*\{{|.*"(?:{hosts})"\s*:)')
    lost, torn = Lines(), set[str]()
    for number, text in others:
        if found := has_clock.match(text):
            lost.append((number, text))
            host = found["host"]
            own = re.search(rf'"{re.escape(host)}"\s*:\s*([0-9]+)', text) if host else None
            known = logged.get(host, set())
            if own is None or int(own[1]) in known or int(own[1]) > max(known):
                torn |= {host} if host else {*logged}
    for host in torn:
        end = max(max(logged[host]) - 1, *(row.index for row in log.events if (row.run, row.process) == (run, host)))
        log.events.append(Row(lost[-1][0], run, host, end + 2, "internal"))
    if lost:
        log.note(run, f"{some(len(lost), 'line')} with a clock that cannot be read: {_first_lines(lost)}")


def _event(found: re.Match[str], line: int) -> ClockedEvent:
    host, clock = found["host"] or "", found["clock"] or ""
    if not host or not host.isprintable():
        problem = "an event has no host" if not host else "the name of a host cannot be printed"
        raise BadInput(problem, hint="make the group 'host' match a name", line=line)
    hint = 'a clock is a JSON object, such as {"a": 1, "b": 2}; a host\'s own entry counts its events from 1'
    try:
        value = json.loads(clock.replace('\\"', '"'))  # a string of TLA+, as in ShiViz's example of TLC
    except (ValueError, RecursionError):
        raise BadInput(f"the clock {printable_name(clock)} is not JSON", hint=hint, line=line) from None
    if (wrong := vector_clocks.clock_problem(host, value)) is not None:
        raise BadInput(wrong, hint=hint, line=line)
    return ClockedEvent(line, host, {p: k for p, k in value.items() if k}, found["event"] or "")


def _convert(
    log: ConvertedLog, run: str, events: Sequence[ClockedEvent], pattern: re.Pattern[str] | None, complete: bool
) -> None:
    """Adds the events of a run to the log, with notes on them."""
    if all(event.number != 1 for event in events):
        hint = "a host's own entry numbers its events from 1: give the log from its beginning"
        raise BadInput("no host's event 1 is in the log" + f" of {run}" * bool(run), hint=hint, line=events[0].line)
    lines = vector_clocks.lines_by_host(events, _SEVERAL_RUNS)
    causes = vector_clocks.immediate_causes(lines)
    if pattern is None:
        _add_inferred_messages(log, run, lines, causes)
        return

    def meaning(event: ClockedEvent) -> Meaning:
        return _message(event, pattern)

    kinds = vector_clocks.add_named_messages(log, run, lines, causes, meaning, _SEVERAL_LAYERS, complete=complete)
    for kind in ("send", "deliver"):
        if kind not in kinds:
            log.note(run, f"no event matches the group '{kind}' of --pattern")


def _message(event: ClockedEvent, pattern: re.Pattern[str]) -> Meaning:
    """The kind of an event, its message and its peers, by its text."""
    found = pattern.search(event.text)
    groups = {} if found is None else {name: (text or "").strip() for name, text in found.groupdict().items()}
    if groups.get("send") and groups.get("deliver"):
        hint = "separate the two by |, so that an event matches at most one of them"
        raise BadInput(f"an event of {event.host} is both a send and a deliver", hint=hint, line=event.line)
    if message := groups.get("send"):
        return "send", message, tuple(part for part in _SEPARATORS.split(groups.get("to", "")) if part)
    if message := groups.get("deliver"):
        return "deliver", message, (sender,) if (sender := groups.get("from")) else ()
    return "internal", "", ()


def _add_inferred_messages(
    log: ConvertedLog, run: str, lines: Mapping[str, list[ClockedEvent]], causes: Mapping[EventId, Causes]
) -> None:
    receivers: dict[EventId, dict[str, None]] = {}
    for (host, _), found in causes.items():
        for cause in found.logged:
            receivers.setdefault(cause, {})[host] = None

    def meanings(event: ClockedEvent) -> list[Meaning]:
        found, to = causes[event.id], tuple(receivers.get(event.id, ()))
        several = vector_clocks.received((*found.logged, *found.missing))
        return several + [("send", vector_clocks.name_of(event.id), to)] * bool(to) or [("internal", "", ())]

    log.events += vector_clocks.rows_of_events(run, lines, meanings)
    log.note(run, "messages are inferred from clocks, and named by sender and event: --pattern names them")
    several_sent = {event: to for event, to in receivers.items() if len(to) > 1}
    several_received = {event: found.logged for event, found in causes.items() if len(found.logged) > 1}
    unordered: list[Unordered] = [
        [frozenset({(vector_clocks.name_of(event), receiver)}) for receiver in to] for event, to in several_sent.items()
    ]
    unordered += [
        [frozenset({(vector_clocks.name_of(cause), host)}) for cause in logged]
        for (host, _), logged in several_received.items()
    ]
    for events, what in (
        (several_sent, "sent to several hosts, taken for one message to all of them"),
        (several_received, "received from several hosts, in an order that is not logged"),
    ):
        if events:
            log.note(run, f"{few([*map(vector_clocks.name_of, events)], 'event')} {what}")
    log.doubt(run, all_but(["asynchronous"], INFERRED), unordered)
