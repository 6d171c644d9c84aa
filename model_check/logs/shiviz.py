"""Logs of ShiViz and GoVector: a text that a regular expression with named groups takes apart, with vector clocks.

The groups `host`, `clock` and `event` say what an event is; `clock` is a JSON object of hosts and numbers. A log may
begin with two lines as ShiViz has them: the expression, and the one that separates executions, or nothing. An
execution is a run; the group `trace` of the separator before it is its name.

**Named messages.** With the expressions `send` and `deliver`, whose group `message` is found in the text of an event,
an event is a send, a deliver or internal. The clock of a deliver must know the send. Clocks that show more than these
messages do (another layer's messages, events that are not logged) leave unknown whether causal order and all that imply
it are kept: happened-before is more than the named messages say. FIFO order depends on each line alone.

**Inferred messages.** Without them, each immediate cause of an event (`vector_clocks`) is the send of a message that
the event delivers. Such a message is real. Others are not seen: a message that is not received, and a message whose
send the receiver knew of already, as all that break FIFO or causal order have. Hence

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
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from crownless.spec.errors import BadInput
from crownless.spec.printable import printable_name, some
from crownless.spec.reading import as_text

from .clocked_messages import add_named_messages
from .converted import ConvertedLog, few
from .patterns import GOVECTOR, Patterns, compiled, is_parser, stoppable_matching
from .rows import Row
from .uncertain import Uncertain, Unordered, all_but
from .vector_clocks import Causes, ClockedEvent, EventId, clock_problem, immediate_causes, lines_by_host, name_of

INFERRED = "inferred from clocks: messages that come late, or never, are not seen"
TO_NOBODY = "a message without a named receiver is not delivered in the log"
#: Lines of text that belong to no event: so many are shown.
SKIPPED_UP_TO = 3
_SEVERAL_RUNS = "if the log has several executions, give --delimiter; if it has several layers, log one of them"
_SEVERAL_LAYERS = "if the log has several layers, have --send and --deliver match the events of one of them"
_SEPARATORS = re.compile(r"\s*[,;]\s*")


class _Execution(NamedTuple):
    run: str
    start: int
    end: int


def read_shiviz(content: bytes, name: str, patterns: Patterns, complete: bool = False) -> ConvertedLog:
    """The log in this content; raises `BadInput`. `complete`: as of `convert`."""
    with stoppable_matching():
        return _read(content, name, patterns, complete)


def _read(content: bytes, name: str, patterns: Patterns, complete: bool) -> ConvertedLog:
    text = as_text(content, name).replace("\r\n", "\n")
    if not text.strip():
        raise BadInput("the log is empty", hint="give the text of a ShiViz log")
    parser, delimiter, start = _expressions(text, patterns)
    named = _message_patterns(patterns)
    if complete and not named:
        hint = "name the messages: --send and --deliver"
        raise BadInput("--complete: messages inferred from clocks do not show what is delivered", hint=hint)
    line_ends = [found.start() for found in re.finditer("\n", text)]

    def line_at(position: int) -> int:
        return bisect_right(line_ends, position - 1) + 1

    log = ConvertedLog([])
    skipped: list[tuple[int, str]] = []
    for run, first, past in _executions(text, start, delimiter, line_at):
        events, end = [], first
        others: list[tuple[int, str]] = []
        for found in parser.finditer(text, first, past):
            others += _lines(text, end, found.start(), line_at)
            end = found.end()
            events.append(_event(found, line_at(found.start())))
        others += _lines(text, end, past, line_at)
        if events:
            before = len(log.events)
            _convert(log, run, events, named, complete)
            others = _without_lost_events(log, run, before, events, others)
        skipped += others
    if not log.events:
        hint = r"give it as --pattern, such as '(?<host>\S*) (?<clock>{.*})\n(?<event>.*)'"
        raise BadInput("no text matches the expression for events", hint=hint)
    if skipped:
        note = f"{some(len(skipped), 'line')} of text skipped, as part of no event: {_first_lines(skipped)}"
        for run in dict.fromkeys(event.run for event in log.events):
            log.note(run, note)
    return log


def _expressions(text: str, patterns: Patterns) -> tuple[re.Pattern[str], re.Pattern[str] | None, int]:
    """For events and between executions, and where the text begins."""
    parser, delimiter, start = patterns.pattern, patterns.delimiter, 0
    in_first = in_second = False
    first, _, rest = text.partition("\n")
    if is_parser(first):
        second, _, _ = rest.partition("\n")
        start = min(len(first) + len(second) + 2, len(text))
        if parser is None:
            parser, in_first = first, True
        if delimiter is None and second.strip():
            delimiter, in_second = second, True
    required = ("host", "clock", "event")
    events = compiled(
        GOVECTOR if parser is None else parser,
        "the first line" if in_first else "--pattern",
        required,
        1 if in_first else None,
    )
    if not delimiter:
        return events, None, start
    return (
        events,
        compiled(delimiter, "the second line" if in_second else "--delimiter", (), 2 if in_second else None),
        start,
    )


def _message_patterns(patterns: Patterns) -> dict[str, re.Pattern[str]]:
    """The expressions for sends and delivers; empty if messages are to be inferred."""
    if patterns.send is None and patterns.deliver is None:
        return {}
    if patterns.send is None or patterns.deliver is None:
        given, other = ("--send", "--deliver") if patterns.deliver is None else ("--deliver", "--send")
        hint = "such as --send 'send (?<message>\\S+)' --deliver 'receive (?<message>\\S+)'"
        raise BadInput(f"{given} without {other}", hint=hint)
    return {
        "send": compiled(patterns.send, "--send", ("message",)),
        "deliver": compiled(patterns.deliver, "--deliver", ("message",)),
    }


def _executions(
    text: str, start: int, delimiter: re.Pattern[str] | None, line_at: Callable[[int], int]
) -> Iterator[_Execution]:
    """The runs: parts of the text between separators, those that are blank left out."""
    if delimiter is None:
        yield _Execution("", start, len(text))
        return
    parts: list[tuple[str, int, int]] = []
    label, begin = "", start
    for found in delimiter.finditer(text, start):
        parts.append((label, begin, found.start()))
        label = (found.groupdict().get("trace") or "").strip()
        begin = found.end()
    parts.append((label, begin, len(text)))
    number, taken = 0, dict[str, int]()
    for name, begin, end in parts:
        if not text[begin:end].strip():
            continue
        number += 1
        run, line = name or str(number), line_at(begin)
        if run in taken:
            problem = f"two executions are called {printable_name(run)}: lines {taken[run]} and {line}"
            raise BadInput(problem, hint="have the group 'trace' of --delimiter name them apart", line=line)
        taken[run] = line
        yield _Execution(run, begin, end)


def _lines(text: str, start: int, end: int, line_at: Callable[[int], int]) -> Iterator[tuple[int, str]]:
    """The lines between two places that are not blank, each with its number."""
    part = text[start:end]
    if not part.strip():
        return
    first = line_at(start)
    for number, line in enumerate(part.split("\n"), start=first):
        if line.strip():
            yield number, line.strip()


def _first_lines(lines: Sequence[tuple[int, str]]) -> str:
    shown = ", ".join(f"line {line}: '{printable_name(text)}'" for line, text in lines[:SKIPPED_UP_TO])
    return shown + (", …" if len(lines) > SKIPPED_UP_TO else "")


def _without_lost_events(
    log: ConvertedLog, run: str, before: int, events: Sequence[ClockedEvent], others: Sequence[tuple[int, str]]
) -> list[tuple[int, str]]:
    """The lines that belong to no event, but for those with a clock that cannot be read. These are events of the run
    that are lost: holes in the lines of their hosts, or of all hosts where they do not begin with one. The rows of the
    run are those from `before` on.
    """
    hosts = "|".join(sorted((re.escape(host) for host in {event.host for event in events}), key=len, reverse=True))
    has_clock = re.compile(rf'(?:{hosts})\s*\{{|.*"(?:{hosts})"\s*:')
    lost = [(line, text) for line, text in others if has_clock.match(text)]
    if not lost:
        return list(others)
    of_host = Counter(re.split(r"[\s{]", text, maxsplit=1)[0] for _, text in lost)
    numbers: dict[str, list[int]] = {}
    for event in events:
        numbers.setdefault(event.host, []).append(event.number)
    of_none = sum(count for host, count in of_host.items() if host not in numbers)
    last = {row.process: row.index for row in sorted(log.events[before:], key=lambda row: row.index)}
    for host, logged in numbers.items():
        # Those that no gap in the numbers shows may have come after all others.
        unseen = of_host[host] + of_none - (max(logged) - len(logged))
        if unseen > 0:
            log.events.append(Row(lost[-1][0], run, host, last[host] + unseen + 1, "internal"))
    log.note(run, f"{some(len(lost), 'line')} with a clock that cannot be read, of lost events: {_first_lines(lost)}")
    return [(line, text) for line, text in others if not has_clock.match(text)]


def _event(found: re.Match[str], line: int) -> ClockedEvent:
    host, clock = found["host"] or "", found["clock"] or ""
    if not host or not host.isprintable():
        problem = "an event has no host" if not host else "the name of a host cannot be printed"
        raise BadInput(problem, hint="have the group 'host' match a name", line=line)

    def entries(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(pairs)) < len(pairs):
            raise BadInput("the clock names a host twice", hint="give each host one entry", line=line)
        return dict(pairs)

    try:
        value = json.loads(clock, object_pairs_hook=entries)
    except BadInput:
        raise
    except (ValueError, RecursionError):
        hint = 'have the group \'clock\' match a JSON object, such as {"a": 1, "b": 2}'
        raise BadInput(f"the clock {printable_name(clock)} is not JSON", hint=hint, line=line) from None
    if (wrong := clock_problem(host, value)) is not None:
        hint = 'a clock has whole numbers, such as {"a": 1, "b": 2}; a host\'s own counts its events from 1'
        raise BadInput(wrong, hint=hint, line=line)
    return ClockedEvent(line, host, {p: k for p, k in value.items() if k}, found["event"] or "")


def _convert(
    log: ConvertedLog, run: str, events: Sequence[ClockedEvent], named: dict[str, re.Pattern[str]], complete: bool
) -> None:
    """Adds the events of a run to the log, with notes on them."""
    if all(event.number != 1 for event in events):
        hint = "a host's own entry numbers its events from 1: give the log from its beginning on"
        raise BadInput("no host's event 1 is in the log" + f" of {run}" * bool(run), hint=hint, line=events[0].line)
    lines = lines_by_host(events, _SEVERAL_RUNS)
    causes = immediate_causes(lines)
    if named:
        _convert_named(log, run, lines, causes, named, complete)
    else:
        _convert_inferred(log, run, lines, causes)


# -- inferred messages -------------------------------------------------------------------------------------------------


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
    log.note(run, "messages are inferred from clocks, and named by sender and event: --send and --deliver name them")
    if several_sent:
        log.note(run, f"{few(several_sent, 'event')} sent to several hosts, taken for one message to all of them")
    if several_received:
        log.note(run, f"{few(several_received, 'event')} received from several hosts, in an order that is not logged")
    log.uncertain[run] = Uncertain(all_but(["asynchronous"], INFERRED), tuple(unordered))


# -- named messages ----------------------------------------------------------------------------------------------------


def _convert_named(
    log: ConvertedLog,
    run: str,
    lines: dict[str, list[ClockedEvent]],
    causes: dict[EventId, Causes],
    named: dict[str, re.Pattern[str]],
    complete: bool,
) -> None:
    rows, to_nobody = add_named_messages(
        log, run, lines, causes, lambda event: _message(event, named), _SEVERAL_LAYERS, complete=complete
    )
    if to_nobody:
        log.uncertain[run] = Uncertain({**log.uncertain[run].reasons, **all_but(["asynchronous"], TO_NOBODY)})
        what = few(to_nobody, "message")
        log.note(run, f"{what} neither delivered nor sent to a named host, and left out; name it by a group 'to'")
    for kind in ("send", "deliver"):
        if not any(row.kind == kind for row in rows) and not (kind == "send" and to_nobody):
            log.note(run, f"no event matches --{kind}")


def _message(event: ClockedEvent, named: dict[str, re.Pattern[str]]) -> tuple[str, str, tuple[str, ...]]:
    """The kind of an event, its message and its peers, by its text."""
    matches = {kind: found for kind, pattern in named.items() if (found := pattern.search(event.text)) is not None}
    if len(matches) > 1:
        hint = "have each event match one of them at most"
        raise BadInput(f"an event of {event.host} matches --send and --deliver", hint=hint, line=event.line)
    for kind, found in matches.items():
        groups = found.groupdict()
        message = (groups["message"] or "").strip()
        if not message:
            hint = "have its group 'message' match the name of the message"
            raise BadInput(
                f"an event of {event.host} matches --{kind}, and names no message", hint=hint, line=event.line
            )
        peer = (groups.get("to" if kind == "send" else "from") or groups.get("process") or "").strip()
        if kind == "send":
            return kind, message, tuple(part for part in _SEPARATORS.split(peer) if part)
        return kind, message, (peer,) if peer else ()
    return "internal", "", ()
