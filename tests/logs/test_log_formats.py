"""Logs of other tools: ShiViz and GoVector, OTLP spans, ITF traces; no verdict on them says more than the log shows."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from command_line_runner import Crownless
from log_files import PATTERN, classified, resource_spans, span, trace
from log_files import state as act
from log_rows import random_computation

from crownless.oracle.log_orders import classify_file as opening
from crownless.oracle.log_orders.classification import Classification, classify
from crownless.oracle.logs.formats import Format, LogOptions
from crownless.oracle.logs.named_computation import NamedComputation
from crownless.oracle.logs.reader import convert, converted_runs
from crownless.oracle.logs.uncertain import ORDER_NOT_LOGGED
from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation
from crownless.spec.orders import ORDERS, UnreceivedPolicy, decide

EXAMPLES = Path(__file__).parents[2] / "examples" / "logs"
READINGS: tuple[UnreceivedPolicy, ...] = ("lost", "pending")


def of_text(text: str, form: Format, pattern: str | None = None, **columns: str) -> list[Classification]:
    log = convert(text.encode(), form, "log", LogOptions(form, columns, {}, pattern))
    return [classify(one) for one in converted_runs(log, "log")]


def refused(text: str, form: Format, pattern: str | None = None) -> str:
    with pytest.raises(BadInput) as error:
        of_text(text, form, pattern)
    assert error.value.hint
    return str(error.value)


class Case(NamedTuple):
    """A log, the outcomes by order (`*`: of all others), and its holes and a part of a note, if there are any."""

    text: str
    outcomes: str
    holes: str = ""
    note: str = ""
    pattern: str | None = PATTERN
    messages: int | None = None


def agrees(case: Case, form: Format) -> Classification:
    (found,) = of_text(case.text, form, case.pattern if form == "shiviz" else None)
    named = dict(part.split("=") for part in case.outcomes.split())
    assert found.outcomes == {order: named.get(order, named.get("*", found.outcomes[order])) for order in ORDERS}
    assert [hole.text for hole in found.subject.holes] == case.holes.split("; ") * bool(case.holes)
    assert any(case.note in note for note in (*found.subject.notes, ""))
    assert case.messages in (None, found.subject.messages)
    return found


def test_without_a_pattern_messages_are_inferred_from_clocks(crownless: Crownless) -> None:
    (found,) = classified(str(EXAMPLES / "events.shiviz"))
    assert found.subject.messages == 2  # the one that comes late is not seen
    assert found.outcomes == {order: "kept" if order == "asynchronous" else "unknown" for order in ORDERS}
    assert found["causal"].because.startswith("inferred from clocks")
    assert found.strongest == []
    answer = crownless("classify", str(EXAMPLES / "events.shiviz"), "--json")
    assert answer.code == 3
    assert any("inferred from clocks" in note for note in answer.json["notes"])


# -- ShiViz: the text --------------------------------------------------------------------------------------------------


def shiviz_log(*events: tuple[str, dict[str, int], str]) -> str:
    return "".join(f"{host} {json.dumps(clock)}\n{text}\n" for host, clock, text in events)


PING = (("a", {"a": 1}, "send m to b"), ("b", {"b": 1, "a": 1}, "receive m from a"))


def test_expressions_are_taken_from_the_first_lines_or_are_those_of_govector() -> None:
    plain = shiviz_log(*PING)
    for text in (plain, "(?<host>\\S*) (?<clock>{.*})\\n(?<event>.*)\n\n" + plain, plain.replace("\n", "\r\n")):
        (found,) = of_text(text, "shiviz")
        assert found.subject.messages == 1
        assert len(found.subject.notes) == 1  # no text is skipped
    moved = 'at 7: a {"a": 1} | go\nat 9: b {"a": 1, "b": 1} | went\n'
    for group in ("(?<", "(?P<"):
        first = rf"at {group}time>\d+): {group}host>\w+) {group}clock>\{{.*\}}) \| {group}event>.*)"
        assert of_text(f"{first}\n\n{moved}", "shiviz")[0].subject.messages == 1


def test_shivectors_form_has_the_text_above_the_clock() -> None:
    above = "".join(f"{text}\n{host} {json.dumps(clock)} \n" for host, clock, text in PING)  # as it writes them
    (found,) = of_text(above, "shiviz", PATTERN)
    assert (found.subject.messages, found.subject.notes) == (1, ())
    begun = "panic\n" + shiviz_log(*PING)  # a text first, but none after which a clock ends the log
    (found,) = of_text(begun, "shiviz", PATTERN)
    assert [note[:15] for note in found.subject.notes] == ["1 line left out"]


def test_clocks_may_be_strings_of_tla() -> None:
    escaped = shiviz_log(*PING).replace('"', '\\"')
    assert of_text(escaped, "shiviz", PATTERN)[0].subject.messages == 1


def test_executions_are_runs_named_by_trace() -> None:
    one = shiviz_log(*PING)
    expressions = "(?<host>\\S*) (?<clock>{.*})\\n(?<event>.*)\n^=== (?<trace>.*) ===$\n"
    text = f"{expressions}{one}=== first ===\n{one}=== second ===\n\n"
    assert [found.subject.run for found in of_text(text, "shiviz")] == ["1", "first"]
    twice = text.replace("second", "first") + one
    assert "two executions have the name first" in refused(twice, "shiviz")
    assert "separate them by an expression" in refused(one + one, "shiviz")


def test_text_that_is_no_event_is_counted_and_shown(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "log.shiviz"
    junk = "".join(f"panic {k}\n" for k in range(5))
    file.write_text(shiviz_log(PING[0]) + junk + shiviz_log(PING[1]) + "the end\n")
    note = "6 lines left out, not part of any event: line 3: 'panic 0', line 4: 'panic 1', line 5: 'panic 2', …"
    assert note in crownless("classify", str(file), "--json").json["notes"]
    assert "6 lines left out" in " ".join(crownless("classify", str(file)).out.split())


#: All is well, but that b's last delivery may be seen or not.
ORDERED = (
    ("a", {"a": 1}, "send m to b"),
    ("a", {"a": 2}, "send n to b"),
    ("b", {"a": 1, "b": 1}, "receive m from a"),
    ("b", {"a": 2, "b": 2}, "receive n from a"),
)


# -- ShiViz: named messages --------------------------------------------------------------------------------------------


def test_clocks_and_lines_that_contradict_the_messages_are_refused() -> None:
    unknown_send = shiviz_log(PING[0], ("b", {"b": 1}, "receive m from a"))
    assert "does not know its send on line 1" in refused(unknown_send, "shiviz", PATTERN)
    layers = shiviz_log(PING[0], ("a", {"a": 2}, "send m to b"))
    line = refused(layers, "shiviz", PATTERN)
    assert "a sends m twice: lines 1 and 3" in line
    assert "several layers" in line
    assert "is both a send and a deliver" in refused(shiviz_log(*PING), "shiviz", "(?<send>m)(?<deliver>.*)")
    assert "--pattern has no group 'deliver'" in refused(shiviz_log(*PING), "shiviz", "(?<send>m)")
    assert "--pattern is not a regular expression" in refused(shiviz_log(*PING), "shiviz", "(")


# -- ShiViz: inferred messages -----------------------------------------------------------------------------------------


def merged(c: Computation, chance: Random) -> list[tuple[str, dict[str, int], str]]:
    """The log of a run with one clock an event: it receives up to two messages, in any order, then sends up to two."""
    number = dict[int, int]()  # of the logged event, from 1 on its host
    for p, line in enumerate(c.lines):
        last, kinds = 0, ["send", "receive"]
        for e, event in enumerate(line, c.first_event[p]):
            begins = kinds.count(event.kind) == 2 or (kinds[-1], event.kind) == ("send", "receive")
            last, kinds = (last + 1, []) if begins or chance.random() < 0.5 or not last else (last, kinds)
            kinds.append(event.kind)
            number[e] = last
    logged = dict[tuple[str, int], dict[str, int]]()
    for e in c.linearization:
        known = [f for f in range(c.event_count) if f == e or c.happened_before(f, e)]
        clock = {c.processes[c.process_of[f]]: number[f] for f in known}
        logged[c.processes[c.process_of[e]], number[e]] = clock
    return [(host, clock, "step") for (host, _), clock in logged.items()]


@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_an_order_broken_by_inferred_messages_is_broken_by_the_true_ones(loss: float) -> None:
    violations = 0
    for seed in range(200):
        chance = Random(seed)
        c = random_computation(chance, 4, 8, disorder=1, loss=0.1, several=0.3)
        events = [event for event in merged(c, chance) if chance.random() >= loss]
        if all(clock[host] != 1 for host, clock, _ in events):
            continue
        log = convert(shiviz_log(*events).encode(), "shiviz", "log")
        (subject,) = converted_runs(log, "log")
        for reading in READINGS:
            found = classify(subject, tuple(ORDERS), reading)
            assert set(found.kept) <= {"asynchronous"}
            broken = [order for order, outcome in found.outcomes.items() if outcome == "violated"]
            assert not [order for order in broken if decide(c, order, reading).kept]
            violations += len(broken)
    assert violations > 20


#: Taken as one message, what a sends violates synchronous order: but c may have it, then b's, and b has it at last.
SENT_AT_ONCE = shiviz_log(
    ("a", {"a": 1}, "to b and c"),
    ("b", {"b": 1}, "to c"),
    ("b", {"b": 2, "a": 1}, "from a"),
    ("c", {"c": 1, "a": 1}, "from a"),
    ("c", {"c": 2, "a": 1, "b": 1}, "from b"),
)
#: The same at other hosts, of which a crown is no matter.
APART = (("d", {"d": 1}, "to e and f"), ("e", {"e": 1, "d": 1}, "from d"), ("f", {"f": 1, "d": 1}, "from d"))
#: If c receives from a first, queues at c and d contradict each other; if from b first, they do not.
RECEIVED_AT_ONCE = shiviz_log(
    ("a", {"a": 1}, "to d"),
    ("a", {"a": 2}, "to c"),
    ("b", {"b": 1}, "to c"),
    ("b", {"b": 2}, "to d"),
    ("c", {"c": 1, "a": 2, "b": 1}, "from a and b"),
    ("d", {"d": 1, "b": 2}, "from b"),
    ("d", {"d": 2, "b": 2, "a": 1}, "from a"),
)
CROWN = shiviz_log(
    ("a", {"a": 1}, "send"),
    ("b", {"b": 1}, "send"),
    ("a", {"a": 2, "b": 1}, "receive"),
    ("b", {"b": 2, "a": 1}, "receive"),
)
CHAIN = [("a", {"a": 1}, ""), ("b", {"a": 1, "b": 1}, ""), ("c", {"a": 1, "b": 1, "c": 1}, "")]
WITHOUT_PEERS = r"send (?<send>\S+)|receive (?<deliver>\S+)"
KNOWS_MORE = shiviz_log(*PING, ("b", {"b": 2, "a": 1}, "tick"), ("a", {"a": 2, "b": 2}, "tock"))
KNOWS_LOST = shiviz_log(*PING, ("b", {"b": 2, "a": 1, "c": 4}, "tick"))
NO_SEND, FIRST_OF_B, SECOND_OF_B = (
    "b delivers c:4, whose send is not in the log",
    "b: event 0 is missing",
    "b: event 1 is missing",
)
ONLY_FIRST = "asynchronous=kept *=unknown"
#: Each order that says something of messages with one receiver each is kept.
KEPT_BY_UNICASTS = "*=kept total=nothing"
#: The same of a log without a send.
NOT_EVEN_FIRST = "asynchronous=nothing *=unknown"


def cut_off(number: int) -> str:
    return shiviz_log(*ORDERED).replace(f'"b": {number}}}', f'"b": {number}')


def cut_note(number: int) -> str:
    line = 3 + 2 * number
    return f'1 line with a clock that cannot be read: line {line}: \'b {{"a": {number}, "b": {number}\''


SHIVIZ = {
    "named messages": Case(shiviz_log(*PING), KEPT_BY_UNICASTS),
    "messages without peers": Case(shiviz_log(*PING), KEPT_BY_UNICASTS, pattern=WITHOUT_PEERS),
    "all is well": Case(shiviz_log(*ORDERED), KEPT_BY_UNICASTS),
    "other JSON is text": Case(shiviz_log(*ORDERED) + '{"amount": 2}\n', KEPT_BY_UNICASTS),
    "a clock that is cut off": Case(cut_off(1), ONLY_FIRST, FIRST_OF_B, cut_note(1)),
    "the last clock is cut off": Case(cut_off(2), ONLY_FIRST, SECOND_OF_B, cut_note(2)),
    "a clock of no host": Case(
        shiviz_log(*ORDERED) + '{"a": 2, "b": 3}\n', ONLY_FIRST, "a: event 2 is missing; b: event 2 is missing"
    ),
    "a gap in the clock of a host": Case(shiviz_log(*ORDERED[:2], ORDERED[3]), ONLY_FIRST, FIRST_OF_B),
    "a message to nobody known": Case(
        shiviz_log(*PING, ("a", {"a": 2}, "send n")), ONLY_FIRST, note="1 message (n)", pattern=WITHOUT_PEERS
    ),
    "clocks that know more": Case(KNOWS_MORE, "asynchronous=kept fifo=kept *=unknown", note="a:2"),
    "an event that is not logged": Case(KNOWS_LOST, ONLY_FIRST, NO_SEND),
    "the same without names": Case(KNOWS_LOST, ONLY_FIRST, NO_SEND, pattern=None),
    "a gap after an event": Case(shiviz_log(*PING, ("b", {"b": 3, "a": 1}, "tick")), ONLY_FIRST, SECOND_OF_B),
    "several sent at once": Case(SENT_AT_ONCE, "synchronous=unknown", note="1 event (", pattern=None),
    "several received at once": Case(RECEIVED_AT_ONCE, "mailbox=unknown", note="1 event (", pattern=None),
    "causes that another cause knows of": Case(shiviz_log(*CHAIN), ONLY_FIRST, pattern=None, messages=2),
    "a cause that is not logged knows of others": Case(
        shiviz_log(CHAIN[0], CHAIN[2]), NOT_EVEN_FIRST, "c delivers b:1, whose send is not in the log", pattern=None
    ),
    "several sent at once, and a crown elsewhere": Case(
        f"{CROWN}{shiviz_log(*APART)}",
        "asynchronous=kept synchronous=violated *=unknown",
        note="1 event (",
        pattern=None,
    ),
    "a crown for certain": Case(CROWN, "asynchronous=kept synchronous=violated *=unknown", pattern=None),
}  # fmt: skip


def test_of_many_runs_the_notes_are_printed_too(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "log.shiviz"
    head = "(?<host>\\S*) (?<clock>{.*})\\n(?<event>.*)\n^===$\n"
    file.write_text(head + "===\n".join([shiviz_log(*PING)] * 12) + "panic\n")
    answer = crownless("classify", str(file))
    assert "12 computations" in answer.out
    assert "note: 1 line left out" in answer.out


def test_large_logs_have_the_same_verdicts_from_the_monitor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, chance, broken = tmp_path / "log.shiviz", Random(1), 0
    for _ in range(10):
        c = random_computation(chance, 4, 15, disorder=1, loss=0.1, several=0.3)
        file.write_text(shiviz_log(*merged(c, chance)))
        small = classified(str(file))
        with monkeypatch.context() as patch:
            patch.setattr(opening, "SMALL_UP_TO", 5)
            large = classified(str(file))
        assert [one.outcomes for one in large] == [one.outcomes for one in small]
        assert [one.subject.notes for one in large] == [one.subject.notes for one in small]
        broken += sum(outcome == "violated" for one in large for outcome in one.outcomes.values())
    assert broken > 5


# -- OTLP --------------------------------------------------------------------------------------------------------------


def spans(a: list[Any], b: list[Any], **more: list[Any]) -> str:
    return resource_spans(a=a, b=b, **more)


ONE, TWO = span("1", 4, "10"), span("2", 4, "20")
REVERSED = [span("3", 5, "2", "1"), span("4", 5, "1", "2")]
OTLP = {
    "parents and links, kinds by number and name": Case(
        spans(
            [ONE, span("2", "SPAN_KIND_PRODUCER", 20), span("9", 3, 5)],
            [span("3", 5, "1", parent="1"), span("4", "SPAN_KIND_CONSUMER", "2", links=("2",))],
        ),
        KEPT_BY_UNICASTS,
        note="1 client",
    ),
    "times order the spans of one process, and nothing else": Case(
        spans([ONE, TWO], REVERSED), "asynchronous=kept fifo=violated", note="start times"
    ),
    "spans that start at the same time": Case(spans([ONE, span("2", 4, "10")], REVERSED), ONLY_FIRST, note="2 events"),
    "a span starts before its children": Case(
        spans([span("1", 4, 1)], [span("3", 4, 5, "2"), span("2", 5, 5, "1")], c=[span("4", 5, 1, "3")]),
        KEPT_BY_UNICASTS,
    ),
    "a batch, and several receivers": Case(
        spans([ONE, TWO], [span("3", 5, "1", links=("1", "2"))], c=[span("4", 5, "1", "1")]), "fifo=unknown", messages=2
    ),
    "a consumer without its producer": Case(
        spans([ONE], [span("2", 5, "1", "1"), span("3", 5, "2", "gone")]),
        ONLY_FIRST,
        "b delivers gone?, whose send is not in the log",
    ),
    "a consumer with neither parent nor link": Case(
        resource_spans(b=[span("3", 5, "2")]),
        NOT_EVEN_FIRST,
        "b delivers 3?, whose send is not in the log",
        "1 consumer",
    ),
    "a producer without a consumer": Case(spans([ONE, span("5", 4, "20")], [span("2", 5, "1", "1")]), ONLY_FIRST),
    "a consumer within another one": Case(
        spans([ONE], [span("2", 5, "1", "1"), span("3", 5, "2", "2")]), KEPT_BY_UNICASTS, note="within another"
    ),
}


def test_messages_are_called_by_their_ids_if_these_are_unique() -> None:
    def sent(*ids: str) -> set[str]:
        attributes = [[{"key": "messaging.message.id", "value": {"stringValue": id_}}] for id_ in ids]
        a = [span(f"p{k}", 4, k + 1, attributes=value) for k, value in enumerate(attributes)]
        (found,) = of_text(resource_spans(a=a, b=[span(f"c{k}", 5, k + 1, f"p{k}") for k in range(len(ids))]), "otlp")
        assert isinstance(found.subject, NamedComputation)
        return {message.name for message in found.subject.computation.messages}

    assert sent("x", "y") == {"x", "y"}
    assert sent("x", "x") == {"p0", "p1"}


# -- ITF ---------------------------------------------------------------------------------------------------------------


SENT, DELIVERED = act("a", "send", "m", "b"), act("b", "deliver", "m", "a")
VARIANT = {"event": {"tag": "Receive", "value": {"process": "b", "message": "m"}}}
UNIT = {"event": {"tag": "None", "value": {"tag": "UNIT", "value": {"#tup": []}}}}
ITF = {
    "a state without an event": Case(
        trace({"event": None}, SENT, DELIVERED), KEPT_BY_UNICASTS, note="1 state of 3 without an"
    ),
    "two of them": Case(
        trace({}, {"event": None}, SENT, DELIVERED), KEPT_BY_UNICASTS, note="2 states of 4 without an event"
    ),
    "a variant": Case(trace({"x": 1}, SENT, {"event": {"kind": "none"}}, VARIANT), KEPT_BY_UNICASTS, messages=1),
    "the empty variant": Case(trace(UNIT, SENT, DELIVERED), KEPT_BY_UNICASTS),
    "a send without a peer": Case(trace(act("a", "send", "m"), DELIVERED), KEPT_BY_UNICASTS, messages=1),
    "a message to nobody known": Case(trace(SENT, DELIVERED, act("a", "send", "n")), ONLY_FIRST, note="1 message (n)"),
    "a lasso": Case(trace(SENT, DELIVERED, loop=0), "*=unknown"),
}


def test_values_of_tla_are_names_and_columns_say_where_they_are() -> None:
    def net(kind: str, process: int, peer: Any) -> dict[str, Any]:
        last = {"by": {"#bigint": str(process)}, "what": kind, "id": {"#tup": [1, "x"]}, "other": peer}
        return {"net": {"last": last}}

    columns: Any = {
        "process": "net.last.by",
        "kind": "net.last.what",
        "message": "net.last.id",
        "peer": "net.last.other",
    }
    states = trace(net("send", 1, {"#set": [2, {"#bigint": "3"}]}), net("deliver", 2, 1), net("deliver", 3, 1))
    (found,) = of_text(states, "itf", **columns)
    assert isinstance(found.subject, NamedComputation)
    assert found.subject.computation.processes == ("1", "2", "3")
    assert [message.name for message in found.subject.computation.messages] == ['<<1, "x">>']


# -- all three ---------------------------------------------------------------------------------------------------------

CASES: dict[Format, dict[str, Case]] = {"shiviz": SHIVIZ, "otlp": OTLP, "itf": ITF}
#: Events of ShiViz whose clocks contradict each other.
CONTRADICTING: list[tuple[Any, str]] = [
    ((("a", {"a": 1}, ""), ("a", {"a": 1}, "")), "a has two events 1: lines 1 and 3"),
    ((("a", {"a": 1, "b": 1}, ""), ("a", {"a": 2}, "")), "log:3: the clock of a's event 2 lacks b:1"),
    ((("a", {"a": 1, "b": 1}, ""), ("b", {"b": 1, "a": 1}, "")), "know of each other: lines 1 and 3"),
    (
        (("a", {"a": 1, "c": 1}, ""), ("b", {"b": 1, "a": 1}, ""), ("c", {"c": 1}, "")),
        "log:3: the clock of b's event 1 lacks c:1",
    ),
    ((("a", {"b": 1}, ""),), "log:1: the clock has no entry of a"),
    ((("a", {"a": 0}, ""),), "log:1: the clock has no entry of a"),
    ((("a", {"a": -1}, ""),), "the entry of a in the clock is not a whole number"),
    ((("a", {"a": 1 << 63}, ""),), "the entry of a in the clock is not a whole number"),
    ((("a", {"a": 2}, ""), ("b", {"b": 2, "a": 2}, "")), "no host's event 1 is in the log"),
]
REFUSED: dict[Format, list[tuple[str, str]]] = {
    "shiviz": [
        *((shiviz_log(*events), problem) for events, problem in CONTRADICTING),
        ("", "the log is empty"),
        ("hello\n", "no text matches"),
        ("a {1}\nx\n", "log:1: the clock {1} is not JSON"),
        ('a {"a": 1.5}\nx\n', "not a whole number"),
        ('a {"a": true}\nx\n', "not a whole number"),
        ('a {"a": ' + "9" * 5000 + "}\nx\n", "not JSON"),
        ("a {" + '"a":{' * 5000 + "}\nx\n", "not JSON"),
        (' {"a": 1}\nx\n', "an event has no host"),
        ("(?<host>a\n\nb\n", "log:1: the first line is not a regular expression"),
        ("(?<host>a)\n\nb\n", "log:1: the first line has no group 'clock'"),
        ("(?<host>)(?<clock>)(?<event>)\n(\nb\n", "log:2: the second line is not a regular expression"),
        ("(?<host>)(?<clock>)(?<event>)\n\nb\n", "an event has no host"),
    ],
    "otlp": [
        ("", "log:1: not JSON"),
        ("[]", "expected object, got array"),
        ("{}", "no span has kind producer or consumer"),
        ('{"resourceSpans": 1}', "expected array, got int, at $.resourceSpans"),
        ('{"resourceSpans": []}', "no span has kind producer or consumer"),
        ('{"resourceSpans": []}\n{\n', "log:2: not JSON"),
        ("[" * 100_000, "nested too deeply"),
        (resource_spans(a=[span("1", 3, 1)]), "no span has kind producer or consumer: 1 client"),
        (resource_spans(a=[span("1", 7, 1)]), "span 1 (1): the 'kind' of a span is unknown"),
        (resource_spans(a=[span("1", 4, "0")]), "has no start time"),
        (resource_spans(a=[span("1", 4, None)]), "expected int | str, got null"),
        (resource_spans(a=[span("1", 4, "9" * 40)]), "has no start time"),
        (resource_spans(a=[span("1", 4, 1), span("1", 4, 2)]), "span 2 (1): it occurs twice"),
        (
            resource_spans(a=[span("1", 4, 1)], b=[span("2", 5, 1, "1"), span("3", 5, 2, "1")]),
            "b delivers 1 twice: spans 2 and 3; --complete reports this as a violation",
        ),
        (resource_spans(a=[span("1", 4, 1)]).replace("service.name", "x"), "no 'service.name'"),
        (
            resource_spans(a=[span("1", 5, 1, "2"), span("3", 4, 2)], b=[span("4", 5, 1, "3"), span("2", 4, 2)]),
            "cyclic",
        ),
    ],
    "itf": [
        ("", "log:1: not JSON"),
        ("{}", "object missing required field states"),
        ("[1]", "expected object, got array"),
        ("{\n'a'", "log:2:1: not JSON"),
        (trace(), "none of 0 states records the event"),
        (trace({"x": 1}), "none of 1 states records the event"),
        (trace(SENT, SENT), "a sends m twice: states 1 and 2"),
        (trace(act("a", "sent", "m", "b")), "state 1: unknown kind 'sent'; known: send,"),
        (trace(act("", "send", "m", "b")), "the 'process' of an event is missing"),
        (trace(act("a", "send", None, "b")), "the 'message' of an event is missing"),
        (trace(act("a", "send", {"#unserializable": "x"}, "b")), "cannot be a name"),
        (trace(act("a", "send", "m\n", "b")), "not a printable name"),
        (trace(SENT, act("b", "deliver", "m", ["a"])), "the 'peer' of a deliver is not a process"),
        (trace({"event": {"process": "a", "message": "m"}}), "an event has no 'kind'"),
        (trace(DELIVERED, act("b", "send", "m2", "a"), act("a", "deliver", "m2"), SENT), "cyclic"),
    ],
}


@pytest.mark.parametrize(("form", "name"), [(form, name) for form, cases in CASES.items() for name in cases])
def test_logs_say_no_more_than_they_show(form: Format, name: str) -> None:
    found = agrees(CASES[form][name], form)
    if name.endswith("at once"):
        assert ORDER_NOT_LOGGED in {verdict.because for verdict in found.values()}


@pytest.mark.parametrize(("form", "text", "problem"), [(form, *row) for form, rows in REFUSED.items() for row in rows])
def test_what_cannot_be_read_or_contradicts_itself_is_refused(form: Format, text: str, problem: str) -> None:
    assert problem in refused(text, form)
