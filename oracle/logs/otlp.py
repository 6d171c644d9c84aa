"""Spans of OpenTelemetry as OTLP has them in JSON: one object, or one a line.

A producer span is a send and a consumer span delivers: the messages of the producers that it links to, or of its
parent. A producer with several consumers sends one message to several processes, a consumer with several producers
delivers each of their messages. A process is a `service.name`, with its `service.instance.id` where there is one.

The file is one run, whatever traces its spans are of. Time stamps say nothing between processes, whose clocks differ.
Nothing but time stamps says how the spans of one process follow each other: they are ordered by the times at which they
start, as one clock has them, and a note says so. Where two start at the same time, and neither is the other's parent,
and where one span delivers several messages, the order is not known, and verdicts that depend on it are unknown
(`uncertain`).

A consumer span whose producer is not in the file shows a hole. A producer span without a consumer was sent to an
unknown process: no order but asynchronous can be said to be kept then. Spans of other kinds are counted in a note.
Numbers of events are those of the spans, from 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from crownless.oracle.log_orders.uncertain import Uncertain, Unordered, all_but
from crownless.spec.errors import BadInput
from crownless.spec.json_reader import decode_json
from crownless.spec.printable import printable_name

from .converted import ConvertedLog, few, once_each
from .formats import LogOptions
from .rows import Row

KINDS = ("UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER")
PRODUCER, CONSUMER = KINDS.index("PRODUCER"), KINDS.index("CONSUMER")
TO_NOBODY = "a message without a consumer span in the file was sent to an unknown process"
SAME_TIME = "some spans of a process start at the same time, or deliver several messages: their order is unknown"
_HINT = "give OTLP in JSON: an object with 'resourceSpans', or one a line"
_AGAIN = "a second delivery of a message is not distinguished: keep one consumer span of each message and process"

#: The trace and the span.
SpanId = tuple[str, str]


# -- OTLP in JSON ------------------------------------------------------------------------------------------------------


class _Attributes(msgspec.Struct):
    attributes: list[dict[str, Any]] = []

    def text(self, key: str) -> str:
        """The attribute of that name if it is a text or a whole number; else nothing."""
        value = next((one.get("value") for one in self.attributes if one.get("key") == key), None)
        found = value.get("stringValue", value.get("intValue")) if isinstance(value, dict) else None
        text = str(found) if isinstance(found, str) or type(found) is int else ""
        return text if text.isprintable() else ""


class _Id(_Attributes, kw_only=True):
    trace_id: str = msgspec.field(name="traceId")
    span_id: str = msgspec.field(name="spanId")

    @property
    def id(self) -> SpanId:
        return self.trace_id.lower(), self.span_id.lower()


class _Span(_Id, kw_only=True):
    parent_id: str = msgspec.field(name="parentSpanId", default="")
    given_kind: int | str = msgspec.field(name="kind", default=0)
    started: int | str = msgspec.field(name="startTimeUnixNano", default=0)
    given_links: list[_Id] = msgspec.field(name="links", default_factory=list)

    @property
    def kind(self) -> int:
        names = {f"SPAN_KIND_{name}": kind for kind, name in enumerate(KINDS)}
        kind = names.get(self.given_kind, -1) if isinstance(self.given_kind, str) else self.given_kind
        if not 0 <= kind < len(KINDS):
            hint = "a number from 0 to 5, or a name such as SPAN_KIND_PRODUCER"
            raise BadInput("the 'kind' of a span is unknown", hint=hint)
        return kind

    @property
    def start(self) -> int:
        digits = str(self.started)
        return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 20 else 0

    @property
    def parent(self) -> SpanId | None:
        return (self.id[0], self.parent_id.lower()) if self.parent_id else None

    @property
    def links(self) -> list[SpanId]:
        return list(dict.fromkeys(link.id for link in self.given_links))


class _ScopeSpans(msgspec.Struct):
    spans: list[_Span] = []


class _ResourceSpans(msgspec.Struct):
    resource: _Attributes = msgspec.field(default_factory=_Attributes)
    scopes: list[_ScopeSpans] = msgspec.field(name="scopeSpans", default_factory=list)


class _Traces(msgspec.Struct):
    resources: list[_ResourceSpans] = msgspec.field(name="resourceSpans", default_factory=list)


def _spans(content: bytes, name: str) -> Iterator[tuple[_Attributes, _Span]]:
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
            for of in traces.resources:
                yield from ((of.resource, span) for scope in of.scopes for span in scope.spans)


# -- producers and consumers -------------------------------------------------------------------------------------------


class Span(NamedTuple):
    """A producer or consumer span, its number in the file, and its process."""

    number: int
    process: str
    span: _Span

    @property
    def id(self) -> SpanId:
        return self.span.id

    @property
    def said(self) -> str:
        return printable_name(self.id[1])


#: The kind and the process of each span.
Kinds = Mapping[SpanId, tuple[int, str]]


def read(content: bytes, name: str, options: LogOptions) -> ConvertedLog:
    """The log in this content; raises `BadInput`."""
    kinds: dict[SpanId, tuple[int, str]] = {}
    others: Counter[str] = Counter()
    spans: list[Span] = []
    for number, (resource, span) in enumerate(_spans(content, name), 1):
        try:
            kind, process = span.kind, ""
            if kind in (PRODUCER, CONSUMER):
                process = _process(resource)
                if span.id in kinds:
                    raise BadInput("it comes twice", hint="give each span once")
                if not span.start:
                    hint = "give 'startTimeUnixNano' in nanoseconds: spans of one process are ordered by it"
                    raise BadInput("it has no start time", hint=hint)
                spans.append(Span(number, process, span))
            else:
                others[KINDS[kind].lower()] += 1
        except BadInput as problem:
            which = f"span {number} ({printable_name(span.span_id)})"
            raise BadInput(f"{which}: {problem.message}", hint=problem.hint) from None
        kinds.setdefault(span.id, (kind, process))
    counted = ", ".join(f"{count:,} {kind}" for kind, count in others.items())
    if not spans:
        seen = f": {counted}" if others else ""
        raise BadInput(f"no span is of a producer or a consumer{seen}", hint="only these say who sent what to whom")
    log = ConvertedLog()
    _convert(log, spans, kinds, options.complete)
    log.note("", "events of a process are ordered by the start times of its spans, as one clock has them")
    if others:
        log.note("", f"spans of other kinds are not used: {counted}")
    return log


def _process(resource: _Attributes) -> str:
    service, instance = resource.text("service.name"), resource.text("service.instance.id")
    if not service:
        hint = "set OTEL_SERVICE_NAME, or give the resource the attribute 'service.name'"
        raise BadInput("its resource has no 'service.name'", hint=hint)
    return f"{service}/{instance}" if instance else service


def _convert(log: ConvertedLog, spans: list[Span], kinds: Kinds, complete: bool) -> None:
    names = _message_names([one.span for one in spans if one.span.kind == PRODUCER])
    by_process: dict[str, list[Span]] = {}
    for one in spans:
        by_process.setdefault(one.process, []).append(one)
    rows: list[Row] = []
    nested: list[str] = []
    without: list[str] = []
    tied: list[list[Row]] = []
    for process, line in by_process.items():
        line.sort(key=lambda one: (one.span.start, one.span.kind == PRODUCER))
        index = 0
        for _, same_start in groupby(line, key=lambda one: one.span.start):
            together = list(same_start)
            at_once: list[Row] = []
            for one in together:
                span = one.span
                if span.kind == PRODUCER:
                    found = [("send", names[span.id], "")]
                elif _within_delivery(one, kinds):
                    nested.append(one.said)
                    continue
                else:
                    found = [("deliver", message, sender) for message, sender in _delivered(span, names, kinds)]
                    if not span.links and span.parent is None:
                        without.append(one.said)
                if complete and ("deliver", f"{span.id[1]}?", "") in found:
                    problem = f"--complete: the span {one.said} leads to no producer, so what it delivers is not known"
                    raise BadInput(problem, hint="leave --complete out, or give the span a link")
                for kind, message, sender in found:
                    peers = (sender,) if sender else ()
                    at_once.append(Row(one.number, "", process, index, kind, message, peers))
                    index += 1
            rows += at_once
            by_parent = len(together) == 2 and together[1].span.parent == together[0].id
            if len(at_once) > 1 and not (by_parent and len(at_once) == 2):
                tied.append(at_once)
    once_each(rows, _AGAIN, complete=complete, by="span")
    log.add_with_receivers(rows)
    receivers = {row.message: row.peers for row in log.events if row.kind == "send"}
    log.uncertain[""] = Uncertain(unordered=tuple(_unordered(group, receivers) for group in tied))
    if tied:
        log.doubt("", all_but(["asynchronous"], SAME_TIME))
        at = few(dict.fromkeys(f"{row.process} {row.kind}s {row.message}" for group in tied for row in group), "event")
        log.note("", f"{at} whose order is unknown: the spans start at the same time, or are one")
    if log.to_nobody:
        log.doubt("", all_but(["asynchronous"], TO_NOBODY))
        messages = [event.message for event in log.to_nobody[""]]
        log.note("", f"{few(messages, 'producer span')} without a consumer span, left out")
    if nested:
        log.note("", f"{few(nested, 'consumer span')} within another one of the same process, not taken for a delivery")
    if without:
        log.note("", f"{few(without, 'consumer span')} with neither parent nor link: their messages are unknown")


def _unordered(group: list[Row], receivers: Mapping[str, tuple[str, ...]]) -> Unordered:
    """Each event by the copies that it sends or delivers."""
    return [
        frozenset(
            (row.message, q) for q in ((row.process,) if row.kind == "deliver" else receivers.get(row.message, ()))
        )
        for row in group
    ]


def _within_delivery(one: Span, kinds: Kinds) -> bool:
    """True of a consumer span that goes on with what another one of its process delivers."""
    to_producers = any(kinds.get(link, (0, ""))[0] == PRODUCER for link in one.span.links)
    parent = one.span.parent
    return not to_producers and parent is not None and kinds.get(parent) == (CONSUMER, one.process)


def _delivered(span: _Span, names: Mapping[SpanId, str], kinds: Kinds) -> Iterator[tuple[str, str]]:
    """The messages that a consumer span delivers, each with its sender where that is known."""
    causes = dict.fromkeys((*span.links, *(() if span.parent is None else (span.parent,))))
    producers = [cause for cause in causes if kinds.get(cause, (0, ""))[0] == PRODUCER]
    missing = [link for link in span.links if link not in kinds]
    if not producers and not missing:
        missing = [span.parent if span.parent is not None and span.parent not in kinds else span.id]
    for cause in producers:
        yield names[cause], kinds[cause][1]
    for cause in missing:
        yield f"{cause[1]}?", ""


def _message_names(producers: list[_Span]) -> dict[SpanId, str]:
    """A message is called by its `messaging.message.id`, or else by its span; where that is not unique, by both ids."""
    given = {span.id: span.text("messaging.message.id") for span in producers}
    times = Counter(given.values())
    called = {id_: name if name and times[name] == 1 else id_[1] for id_, name in given.items()}
    count = Counter(called.values())
    return {id_: name if count[name] == 1 else "/".join(id_) for id_, name in called.items()}
