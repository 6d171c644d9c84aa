"""Spans of OpenTelemetry as OTLP has them in JSON: one object, or one a line.

A producer span is a send and a consumer span delivers: the messages of the producers that it links to, or of its
parent. A producer with several consumers sends one message to several processes, a consumer with several producers
delivers each of their messages. A process is a `service.name`, with its `service.instance.id` where there is one.

The file is one run, whatever traces its spans are of. Time stamps say nothing between processes, whose clocks differ.
Nothing but time stamps says how the spans of one process follow each other: they are ordered by the times at which they
start, as one clock has them, and a note says so. Where two start at the same time, and neither is the other's parent,
and where one span delivers several messages, the order is not known, and verdicts that depend on it are unknown
(`uncertain`).

A consumer span whose producer is not in the file shows a hole. A producer span without a consumer was sent to nobody
knows whom: no order but asynchronous can be said to be kept then. Spans of other kinds are counted in a note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from crownless.spec.errors import BadInput
from crownless.spec.printable import printable_name
from crownless.spec.reading import as_text

from .converted import ConvertedLog, few, once_each, with_receivers
from .json_places import lines_of_objects, values_in
from .reasons import MOST_INDEX
from .rows import Row
from .uncertain import Uncertain, Unordered, all_but

KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
PRODUCER, CONSUMER = KINDS.index("PRODUCER"), KINDS.index("CONSUMER")
TO_NOBODY = "a message without a consumer span in the file was sent to an unknown process"
SAME_TIME = "some spans of a process start at the same time, or deliver several messages: their order is unknown"
_WHAT = "OTLP in JSON: an object with 'resourceSpans', or one a line"
_PATH = ("resourceSpans", "scopeSpans", "spans")
_AGAIN = "a second delivery of a message is not distinguished: keep one consumer span of each message and process"

#: The trace and the span.
SpanId = tuple[str, str]


class Span(NamedTuple):
    """A producer or consumer span; `causes` are the parent, if there is one, and all links."""

    line: int
    kind: int
    process: str
    id: SpanId
    parent: SpanId | None
    links: tuple[SpanId, ...]
    start: int
    message: str

    @property
    def said(self) -> str:
        return printable_name(self.id[1])


def read_otlp(content: bytes, name: str, complete: bool = False) -> ConvertedLog:
    """The log in this content; raises `BadInput`. `complete`: as of `convert`."""
    text = as_text(content, name)
    if not text.strip():
        raise BadInput("the log is empty", hint=f"give {_WHAT}")
    kinds: dict[SpanId, tuple[int, str]] = {}
    others: Counter[str] = Counter()
    spans: list[Span] = []
    for line, resource, fields in _spans(text):
        kind = _kind(fields, line)
        id_ = (_id(fields, "traceId", line), _id(fields, "spanId", line))
        if kind in (PRODUCER, CONSUMER):
            if id_ in kinds:
                hint = "give each span once"
                raise BadInput(f"the span {printable_name(id_[1])} comes twice", hint=hint, line=line)
            spans.append(_span(fields, kind, id_, _process(resource, line), line))
        else:
            others[KINDS[kind].lower()] += 1
        kinds.setdefault(id_, (kind, spans[-1].process if kind in (PRODUCER, CONSUMER) else ""))
    if not spans:
        seen = f": {_counted(others)}" if others else ""
        raise BadInput(f"no span is of a producer or a consumer{seen}", hint="only these say who sent what to whom")
    log = ConvertedLog([])
    _convert(log, spans, kinds, complete)
    log.note("", "events of a process are ordered by the start times of its spans, as one clock has them")
    if others:
        log.note("", f"spans of other kinds are not used: {_counted(others)}")
    return log


def _counted(others: Counter[str]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in others.items())


def _convert(log: ConvertedLog, spans: list[Span], kinds: Mapping[SpanId, tuple[int, str]], complete: bool) -> None:
    names = _message_names(spans)
    lines: dict[str, list[Span]] = {}
    for span in spans:
        lines.setdefault(span.process, []).append(span)
    rows: list[Row] = []
    nested: list[str] = []
    without: list[str] = []
    tied: list[list[Row]] = []
    for process, line in lines.items():
        line.sort(key=lambda span: (span.start, span.kind == PRODUCER))
        index = 0
        for _, same_start in groupby(line, key=lambda span: span.start):
            together = list(same_start)
            at_once: list[Row] = []
            for span in together:
                if span.kind == PRODUCER:
                    found = [("send", names[span.id], "")]
                elif _within_delivery(span, kinds):
                    nested.append(span.said)
                    continue
                else:
                    found = [("deliver", message, sender) for message, sender in _delivered(span, names, kinds)]
                    if not span.links and span.parent is None:
                        without.append(span.said)
                if complete and ("deliver", f"{span.id[1]}?", "") in found:
                    problem = f"--complete: the span {span.said} leads to no producer, so what it delivers is not known"
                    raise BadInput(problem, hint="leave --complete out, or give the span a link", line=span.line)
                for kind, message, sender in found:
                    peers = (sender,) if sender else ()
                    at_once.append(Row(span.line, "", process, index, kind, message, peers))
                    index += 1
            rows += at_once
            by_parent = len(together) == 2 and together[1].parent == together[0].id
            if len(at_once) > 1 and not (by_parent and len(at_once) == 2):
                tied.append(at_once)
    once_each(rows, _AGAIN, ("send",) if complete else ("send", "deliver"))
    rows, log.to_nobody = with_receivers(rows)
    receivers = {row.message: row.peers for row in rows if row.kind == "send"}
    log.events += rows
    reasons: dict[str, str] = {}
    if tied:
        reasons |= all_but(["asynchronous"], SAME_TIME)
        at = few(dict.fromkeys(f"{row.process} {row.kind}s {row.message}" for group in tied for row in group), "event")
        log.note("", f"{at} whose order is unknown: the spans start at the same time, or are one")
    if log.to_nobody:
        messages = [event.message for event in log.to_nobody[""]]
        reasons |= all_but(["asynchronous"], TO_NOBODY)
        log.note("", f"{few(messages, 'producer span')} without a consumer span, left out")
    if nested:
        log.note("", f"{few(nested, 'consumer span')} within another one of the same process, not taken for a delivery")
    if without:
        log.note("", f"{few(without, 'consumer span')} with neither parent nor link: their messages are unknown")
    log.uncertain[""] = Uncertain(reasons, tuple(_unordered(group, receivers) for group in tied))


def _unordered(group: list[Row], receivers: Mapping[str, tuple[str, ...]]) -> Unordered:
    """Each event by the copies that it sends or delivers."""
    return [
        frozenset(
            (row.message, q) for q in ((row.process,) if row.kind == "deliver" else receivers.get(row.message, ()))
        )
        for row in group
    ]


def _within_delivery(span: Span, kinds: Mapping[SpanId, tuple[int, str]]) -> bool:
    """True of a consumer span that goes on with what another one of its process delivers."""
    to_producers = any(kinds.get(link, (0, ""))[0] == PRODUCER for link in span.links)
    return not to_producers and span.parent is not None and kinds.get(span.parent) == (CONSUMER, span.process)


def _delivered(
    span: Span, names: Mapping[SpanId, str], kinds: Mapping[SpanId, tuple[int, str]]
) -> Iterator[tuple[str, str]]:
    """The messages that a consumer span delivers, each with its sender where that is known."""
    causes = list(dict.fromkeys((*span.links, *(() if span.parent is None else (span.parent,)))))
    producers = [cause for cause in causes if kinds.get(cause, (0, ""))[0] == PRODUCER]
    missing = [link for link in span.links if link not in kinds]
    if not producers and not missing:
        missing = [span.parent if span.parent is not None and span.parent not in kinds else span.id]
    for cause in producers:
        yield names[cause], kinds[cause][1]
    for cause in missing:
        yield f"{cause[1]}?", ""


def _message_names(spans: list[Span]) -> dict[SpanId, str]:
    """A message is called by its `messaging.message.id`, or else by its span; where that is not unique, by both ids."""
    producers = [span for span in spans if span.kind == PRODUCER]
    given = Counter(span.message for span in producers)
    called = {span.id: span.message if span.message and given[span.message] == 1 else span.id[1] for span in producers}
    count = Counter(called.values())
    return {id_: name if count[name] == 1 else "/".join(id_) for id_, name in called.items()}


# -- one span ----------------------------------------------------------------------------------------------------------


def _spans(text: str) -> Iterator[tuple[int, Mapping[str, Any], Mapping[str, Any]]]:
    """Each span with its line, and its resource."""
    values = values_in(text, _WHAT)
    places = iter(lines_of_objects(text, _PATH))
    for value in values:
        if not isinstance(value, dict) or not any(str(key).startswith("resource") for key in value):
            raise BadInput("this is not OTLP: there is no 'resourceSpans'", hint=f"give {_WHAT}")
        for resource_spans in _objects(value, "resourceSpans"):
            resource = resource_spans.get("resource")
            for scope_spans in _objects(resource_spans, "scopeSpans"):
                for span in _objects(scope_spans, "spans"):
                    line = next(places, None)
                    if line is None:
                        raise BadInput("a key comes twice in one object", hint="give each key once")
                    yield line, resource if isinstance(resource, dict) else {}, span


def _objects(value: Mapping[str, Any], key: str, line: int | None = None) -> list[dict[str, Any]]:
    found = value.get(key)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise BadInput(f"'{key}' is no list of objects", hint=f"give {_WHAT}", line=line)
    return found


def _kind(fields: Mapping[str, Any], line: int) -> int:
    kind = fields.get("kind", 0)
    if isinstance(kind, str) and kind.removeprefix("SPAN_KIND_") in KINDS:
        return KINDS.index(kind.removeprefix("SPAN_KIND_"))
    if type(kind) is int and 0 <= kind < len(KINDS):
        return kind
    hint = "a number from 0 to 5, or a name such as SPAN_KIND_PRODUCER"
    raise BadInput("the 'kind' of a span is unknown", hint=hint, line=line)


def _id(fields: Mapping[str, Any], key: str, line: int) -> str:
    value = fields.get(key)
    if not isinstance(value, str) or not value or not value.isprintable():
        raise BadInput(f"a span has no '{key}' that can be used", hint="give it in hexadecimal digits", line=line)
    return value.lower()


def _span(fields: Mapping[str, Any], kind: int, id_: SpanId, process: str, line: int) -> Span:
    start = fields.get("startTimeUnixNano")
    if isinstance(start, str) and start.isascii() and start.isdecimal() and len(start) < 20:
        start = int(start)
    if type(start) is not int or not 0 < start <= MOST_INDEX:
        hint = "give 'startTimeUnixNano' in nanoseconds: spans of one process are ordered by it"
        raise BadInput(f"the span {printable_name(id_[1])} has no start time", hint=hint, line=line)
    parent = (id_[0], _id(fields, "parentSpanId", line)) if fields.get("parentSpanId") else None
    links = tuple(
        dict.fromkeys((_id(one, "traceId", line), _id(one, "spanId", line)) for one in _objects(fields, "links", line))
    )
    message = _attribute(fields, "messaging.message.id")
    return Span(line, kind, process, id_, parent, links, start, message if message.isprintable() else "")


def _process(resource: Mapping[str, Any], line: int) -> str:
    service, instance = _attribute(resource, "service.name"), _attribute(resource, "service.instance.id")
    if not service:
        hint = "set OTEL_SERVICE_NAME, or give the resource the attribute 'service.name'"
        raise BadInput("the resource of a span has no 'service.name'", hint=hint, line=line)
    return f"{service}/{instance}" if instance else service


def _attribute(of: Mapping[str, Any], key: str) -> str:
    """The attribute of that name if it is a text; else nothing."""
    attributes = of.get("attributes")
    for one in attributes if isinstance(attributes, list) else ():
        if isinstance(one, dict) and one.get("key") == key and isinstance(one.get("value"), dict):
            value = one["value"].get("stringValue", one["value"].get("intValue"))
            return str(value) if isinstance(value, str) or type(value) is int else ""
    return ""
