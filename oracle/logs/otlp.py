"""OpenTelemetry spans in OTLP JSON: one object, or one per line.

A producer span is a send. A consumer span delivers the messages of the producers that it links to, or of its parent. A
producer with several consumers sends one message to several processes; a consumer with several producers delivers each
of their messages. A process is a `service.name`, with its `service.instance.id` if present.

The file is one run, whatever the traces of its spans. Timestamps are not compared between processes, whose clocks
differ. Within a process only timestamps order the spans: by start time on one clock, as a note says. If two start at
the same time, and neither is the other's parent, or if one span delivers several messages, the order is unknown, and so
are the verdicts that depend on it (`uncertain`).

A consumer span whose producer is not in the file shows a hole. A producer span without a consumer sends to an unknown
process: then only asynchronous order can be reported as kept. The same goes for a message that a process does not
consume, although it consumes others of its topic (`messaging.destination.name`; without one, of its producer). Spans
of other kinds are counted in a note. Events have the numbers of their spans, from 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable_name
from crownless.runtime.reading import decode_json

from .converted import ConvertedLog, few
from .formats import LogOptions
from .rows import Row
from .uncertain import Unordered, all_but

KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
PRODUCER, CONSUMER = KINDS.index("PRODUCER"), KINDS.index("CONSUMER")
SAME_TIME = "some spans of a process start at the same time, or deliver several messages: their order is unknown"
_HINT = "give OTLP in JSON: an object with 'resourceSpans', or one a line"
_AGAIN = "--complete reports this as a violation; or keep one consumer span of each message and process"

#: The trace and the span.
SpanId = tuple[str, str]


# -- OTLP in JSON ------------------------------------------------------------------------------------------------------


class _Attributes(msgspec.Struct):
    attributes: list[dict[str, Any]] = []

    def text(self, key: str) -> str:
        """The attribute of that name if it is a text or a whole number; otherwise empty."""
        value = next((one.get("value") for one in self.attributes if one.get("key") == key), None)
        found = value.get("stringValue", value.get("intValue")) if isinstance(value, dict) else None
        text = str(found) if isinstance(found, str) or type(found) is int else ""
        return text if text.isprintable() else ""


class _Given(_Attributes, kw_only=True, rename="camel"):
    """A span, or a link to one."""

    trace_id: str
    span_id: str
    parent_span_id: str = ""
    kind: int | str = 0
    start_time_unix_nano: int | str = 0
    links: list[_Given] = []


class _ScopeSpans(msgspec.Struct):
    spans: list[_Given] = []


class _ResourceSpans(msgspec.Struct, rename="camel"):
    resource: _Attributes = msgspec.field(default_factory=_Attributes)
    scope_spans: list[_ScopeSpans] = []


class _Traces(msgspec.Struct, rename="camel"):
    resource_spans: list[_ResourceSpans] = []


def _given(content: bytes, name: str) -> Iterator[tuple[_Attributes, _Given]]:
    """Each span with its resource."""
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    one_a_line = next((line.rstrip().endswith(b"}") for line in lines if line.strip()), False)
    for number, text in enumerate(lines if one_a_line else [content], 1):
        if text.strip() or not one_a_line:
            try:
                traces = decode_json(text, _Traces, file=name, hint=_HINT)
            except BadInput as error:
                line = number if one_a_line else error.line
                raise BadInput(error.message, hint=_HINT, line=line, column=error.column) from None
            for of in traces.resource_spans:
                yield from ((of.resource, span) for scope in of.scope_spans for span in scope.spans)


# -- producers and consumers -------------------------------------------------------------------------------------------


class Span(NamedTuple):
    """A span, by its number in the file; for a producer or consumer, its process, and the message and the topic that it
    names.
    """

    number: int
    id: SpanId
    kind: int
    parent: SpanId | None
    links: list[SpanId]
    process: str = ""
    start: int = 0
    message: str = ""
    topic: str = ""

    @property
    def said(self) -> str:
        return printable_name(self.id[1])


Spans = Mapping[SpanId, Span]


def _span(number: int, resource: _Attributes, given: _Given, known: Spans) -> Span:
    """A span as given; raises `BadInput` if it is unusable."""
    names = {f"SPAN_KIND_{name}": kind for kind, name in enumerate(KINDS)}
    kind = names.get(given.kind, -1) if isinstance(given.kind, str) else given.kind
    if not 0 <= kind < len(KINDS):
        raise BadInput("the 'kind' of a span is unknown", hint="give 0 to 5, or a name such as SPAN_KIND_PRODUCER")
    trace = given.trace_id.lower()
    parent = (trace, given.parent_span_id.lower()) if given.parent_span_id else None
    links = list(dict.fromkeys((link.trace_id.lower(), link.span_id.lower()) for link in given.links))
    span = Span(number, (trace, given.span_id.lower()), kind, parent, links)
    if kind not in (PRODUCER, CONSUMER):
        return span
    service, instance = resource.text("service.name"), resource.text("service.instance.id")
    if not service:
        hint = "set OTEL_SERVICE_NAME, or give the resource the attribute 'service.name'"
        raise BadInput("its resource has no 'service.name'", hint=hint)
    if span.id in known:
        raise BadInput("it occurs twice", hint="give each span once")
    digits = str(given.start_time_unix_nano)
    start = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 20 else 0
    if not start:
        hint = "give 'startTimeUnixNano' in nanoseconds: spans of one process are ordered by it"
        raise BadInput("it has no start time", hint=hint)
    process = f"{service}/{instance}" if instance else service
    message, topic = given.text("messaging.message.id"), given.text("messaging.destination.name")
    return span._replace(process=process, start=start, message=message, topic=topic)


def read(content: bytes, name: str, options: LogOptions) -> ConvertedLog:
    """The log in this content; raises `BadInput`."""
    spans: dict[SpanId, Span] = {}
    for number, (resource, given) in enumerate(_given(content, name), 1):
        try:
            span = _span(number, resource, given, spans)
        except BadInput as problem:
            which = f"span {number} ({printable_name(given.span_id)})"
            raise BadInput(f"{which}: {problem.message}", hint=problem.hint) from None
        spans.setdefault(span.id, span)
    others = Counter(KINDS[span.kind].lower() for span in spans.values() if span.kind not in (PRODUCER, CONSUMER))
    counted = ", ".join(f"{count:,} {kind}" for kind, count in others.items())
    if others.total() == len(spans):
        seen = f": {counted}" if others else ""
        raise BadInput(f"no span has kind producer or consumer{seen}", hint="only these show who sent what to whom")
    log = ConvertedLog()
    _convert(log, spans, options.complete)
    log.note("", "events of a process are ordered by the start times of its spans, as one clock has them")
    if others:
        log.note("", f"spans of other kinds are not used: {counted}")
    return log


def _convert(log: ConvertedLog, spans: Spans, complete: bool) -> None:
    names = _message_names([span for span in spans.values() if span.kind == PRODUCER])
    by_process: dict[str, list[Span]] = {}
    for span in spans.values():
        if span.process:
            by_process.setdefault(span.process, []).append(span)
    rows: list[Row] = []
    nested: list[str] = []
    without: list[str] = []
    tied: list[list[Row]] = []
    for process, line in by_process.items():
        line.sort(key=lambda span: (span.start, span.kind == PRODUCER))
        index = 0
        for _, same_start in groupby(line, key=lambda span: span.start):
            together = list(same_start)
            at_once: list[Row] = []
            for span in together:
                if span.kind == PRODUCER:
                    at_once.append(Row(span.number, "", process, index + len(at_once), "send", names[span.id]))
                    continue
                delivered = _delivered(span, spans)
                if not delivered:
                    nested.append(span.said)
                if span.id in delivered:
                    without.append(span.said)
                for cause in delivered:
                    message, sender = (
                        names.get(cause, f"{cause[1]}?"),
                        (spans[cause].process,) if cause in names else (),
                    )
                    at_once.append(Row(span.number, "", process, index + len(at_once), "deliver", message, sender))
            index += len(at_once)
            rows += at_once
            by_parent = len(together) == 2 and together[1].parent == together[0].id
            if len(at_once) > 1 and not (by_parent and len(at_once) == 2):
                tied.append(at_once)
    if complete and without:
        problem = f"--complete: the span {without[0]} has no link to a producer, so its message is unknown"
        raise BadInput(problem, hint="leave --complete out, or give the span a link")
    topics = {names[span.id]: span.topic for span in spans.values() if span.id in names and span.topic}
    log.add("", rows, _AGAIN, complete=complete, by="span", topics=topics)
    receivers = {row.message: row.peers for row in log.events if row.kind == "send"}
    if tied:
        log.doubt("", all_but(["asynchronous"], SAME_TIME), [_unordered(group, receivers) for group in tied])
        at = few(dict.fromkeys(f"{row.process} {row.kind}s {row.message}" for group in tied for row in group), "event")
        log.note("", f"{at} whose order is unknown: the spans start at the same time, or are one")
    if nested:
        log.note("", f"{few(nested, 'consumer span')} within another one of the same process, not taken for a delivery")
    if without:
        log.note("", f"{few(without, 'consumer span')} that leads to no producer: the message is unknown")


def _unordered(group: list[Row], receivers: Mapping[str, tuple[str, ...]]) -> Unordered:
    """Each event, given by the copies that it sends or delivers."""
    return [
        frozenset(
            (row.message, q) for q in ((row.process,) if row.kind == "deliver" else receivers.get(row.message, ()))
        )
        for row in group
    ]


def _delivered(span: Span, spans: Spans) -> list[SpanId]:
    """The producers whose messages a consumer span delivers, including spans not in the file; its own id if they are
    unknown. Empty if it continues the delivery of another span of its process.
    """
    causes = dict.fromkeys((*span.links, *(() if span.parent is None else (span.parent,))))
    producers = [cause for cause in causes if cause in spans and spans[cause].kind == PRODUCER]
    parent = spans.get(span.parent) if span.parent is not None else None
    if parent is not None and (parent.kind, parent.process) == (CONSUMER, span.process) and not producers:
        return []
    missing = [link for link in span.links if link not in spans]
    if not producers and not missing:
        missing = [span.parent if span.parent is not None and parent is None else span.id]
    return [*producers, *missing]


def _message_names(producers: list[Span]) -> dict[SpanId, str]:
    """A message is named by its `messaging.message.id`, or else by its span; if that is not unique, by both ids."""
    times = Counter(span.message for span in producers)
    called = {span.id: span.message if span.message and times[span.message] == 1 else span.id[1] for span in producers}
    count = Counter(called.values())
    return {id_: name if count[name] == 1 else "/".join(id_) for id_, name in called.items()}
