"""Logs of other tools: ShiViz and GoVector, OTLP spans, ITF traces; no verdict on them says more than the log shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command_line_runner import Crownless
from log_files import PATTERN, resource_spans, span, trace
from log_files import state as act

from crownless.oracle.classification import Classification, NamedComputation, classify
from crownless.oracle.event_logs import read_log
from crownless.oracle.log_orders import classify_file as opening
from crownless.oracle.log_orders.classify_file import LogRequest, classify_file
from crownless.oracle.log_orders.uncertain import ORDER_NOT_LOGGED, Uncertain, weakened
from crownless.oracle.logs.formats import Format, LogOptions
from crownless.oracle.logs.reader import convert, converted_runs, subjects
from crownless.spec.errors import BadInput
from crownless.spec.orders import ORDERS, UnreceivedPolicy, decide

EXAMPLES = Path(__file__).parent.parent / "examples" / "logs"
READINGS: tuple[UnreceivedPolicy, ...] = ("lost", "pending")


def every(path: Path) -> list[Classification]:
    found = classify_file(LogRequest(str(path), tuple(ORDERS), "lost"))
    if isinstance(found, Iterator):
        return [classify(one, tuple(ORDERS), "lost") for one in found]
    return [found.classification(number) for number in range(len(found))]


def of_text(text: str, form: Format, pattern: str | None = None, **columns: str) -> list[Classification]:
    log = convert(text.encode(), form, "log", LogOptions(form, columns, {}, pattern))
    return [classify(one) for one in converted_runs(log, "log")]


def refused(text: str, form: Format, pattern: str | None = None) -> str:
    with pytest.raises(BadInput) as error:
        of_text(text, form, pattern)
    assert error.value.hint
    return str(error.value)


def outcomes(found: Classification, *orders: str) -> set[str]:
    return {found[order].outcome for order in orders or ORDERS}


def test_without_a_pattern_messages_are_inferred_from_clocks(crownless: Crownless) -> None:
    (found,) = every(EXAMPLES / "events.shiviz")
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


def test_executions_are_runs_named_by_trace() -> None:
    one = shiviz_log(*PING)
    expressions = "(?<host>\\S*) (?<clock>{.*})\\n(?<event>.*)\n^=== (?<trace>.*) ===$\n"
    text = f"{expressions}{one}=== first ===\n{one}=== second ===\n\n"
    assert [found.subject.run for found in of_text(text, "shiviz")] == ["1", "first"]
    twice = text.replace("second", "first") + one
    assert "two executions are called first" in refused(twice, "shiviz")
    assert "separate them by an expression" in refused(one + one, "shiviz")


def test_text_that_is_no_event_is_counted_and_shown(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "log.shiviz"
    junk = "".join(f"panic {k}\n" for k in range(5))
    file.write_text(shiviz_log(PING[0]) + junk + shiviz_log(PING[1]) + "the end\n")
    note = "6 lines of text skipped, as part of no event: line 3: 'panic 0', line 4: 'panic 1', line 5: 'panic 2', …"
    assert note in crownless("classify", str(file), "--json").json["notes"]
    assert "6 lines of text skipped" in " ".join(crownless("classify", str(file)).out.split())


#: All is well, but that b's last delivery may be seen or not.
ORDERED = (
    ("a", {"a": 1}, "send m to b"),
    ("a", {"a": 2}, "send n to b"),
    ("b", {"a": 1, "b": 1}, "receive m from a"),
    ("b", {"a": 2, "b": 2}, "receive n from a"),
)


@pytest.mark.parametrize(("number", "hole"), [(1, "b: event 0 is missing"), (2, "b: event 1 is missing")])
def test_a_line_with_a_clock_that_cannot_be_read_is_one_hole_and_leaves_all_unknown(number: int, hole: str) -> None:
    (found,) = of_text(shiviz_log(*ORDERED).replace(f'"b": {number}}}', f'"b": {number}'), "shiviz", PATTERN)
    assert outcomes(found) == {"unknown"}
    assert [one.text for one in found.subject.holes] == [hole]
    line = f'line {3 + 2 * number}: \'b {{"a": {number}, "b": {number}\''
    assert f"1 line with a clock that cannot be read: {line}" in found.subject.notes


def test_other_json_is_text_and_a_clock_of_no_host_may_be_of_any() -> None:
    (found,) = of_text(shiviz_log(*ORDERED) + '{"amount": 2}\n', "shiviz", PATTERN)
    assert outcomes(found) == {"kept"}
    (found,) = of_text(shiviz_log(*ORDERED) + '{"a": 2, "b": 3}\n', "shiviz", PATTERN)
    assert [one.process for one in found.subject.holes] == ["a", "b"]


def test_a_gap_in_the_clock_of_a_host_is_a_hole() -> None:
    (found,) = of_text(shiviz_log(*ORDERED[:2], ORDERED[3]), "shiviz", PATTERN)
    assert outcomes(found) == {"unknown"}
    assert [hole.text for hole in found.subject.holes] == ["b: event 0 is missing"]


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ((("a", {"a": 1}, ""), ("a", {"a": 1}, "")), "a has two events 1: lines 1 and 3"),
        ((("a", {"a": 1, "b": 1}, ""), ("a", {"a": 2}, "")), "log:3: the clock of a's event 2 lacks b:1"),
        ((("a", {"a": 1, "b": 1}, ""), ("b", {"b": 1, "a": 1}, "")), "know of each other: lines 1 and 3"),
        (
            (("a", {"a": 1, "c": 1}, ""), ("b", {"b": 1, "a": 1}, ""), ("c", {"c": 1}, "")),
            "log:3: the clock of b's event 1 lacks c:1",
        ),
        ((("a", {"b": 1}, ""),), "log:1: the clock has no entry of a"),
        ((("a", {"a": 0}, ""),), "log:1: the clock has no entry of a"),
        ((("a", {"a": -1}, ""),), "the entry of a in the clock is no whole number"),
        ((("a", {"a": 1 << 63}, ""),), "the entry of a in the clock is no whole number"),
        ((("a", {"a": 2}, ""), ("b", {"b": 2, "a": 2}, "")), "no host's event 1 is in the log"),
    ],
)
def test_clocks_that_contradict_each_other_are_refused(events: Any, problem: str) -> None:
    assert problem in refused(shiviz_log(*events), "shiviz")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the log is empty"),
        ("hello\n", "no text matches"),
        ("a {1}\nx\n", "log:1: the clock {1} is not JSON"),
        ('a {"a": 1.5}\nx\n', "no whole number"),
        ('a {"a": true}\nx\n', "no whole number"),
        ('a {"a": ' + "9" * 5000 + "}\nx\n", "not JSON"),
        ("a {" + '"a":{' * 5000 + "}\nx\n", "not JSON"),
        (' {"a": 1}\nx\n', "an event has no host"),
        ("(?<host>a\n\nb\n", "log:1: the first line is no regular expression"),
        ("(?<host>a)\n\nb\n", "log:1: the first line has no group 'clock'"),
        ("(?<host>)(?<clock>)(?<event>)\n(\nb\n", "log:2: the second line is no regular expression"),
        ("(?<host>)(?<clock>)(?<event>)\n\nb\n", "an event has no host"),
    ],
)
def test_texts_that_cannot_be_read_are_refused(text: str, problem: str) -> None:
    assert problem in refused(text, "shiviz")


# -- ShiViz: named messages --------------------------------------------------------------------------------------------


def test_named_messages_have_the_usual_verdicts() -> None:
    (found,) = of_text(shiviz_log(*PING), "shiviz", PATTERN)
    assert outcomes(found) == {"kept"}
    assert found.subject.notes == ()
    without_peers = r"send (?<send>\S+)|receive (?<deliver>\S+)"
    assert outcomes(of_text(shiviz_log(*PING), "shiviz", without_peers)[0]) == {"kept"}


def test_a_message_to_nobody_known_leaves_all_open() -> None:
    log = shiviz_log(*PING, ("a", {"a": 2}, "send n"))
    (found,) = of_text(log, "shiviz", r"send (?<send>\S+)|receive (?<deliver>\S+)")
    assert found["asynchronous"].kept
    assert outcomes(found, *list(ORDERS)[1:]) == {"unknown"}
    assert any("1 message (n)" in note for note in found.subject.notes)


def test_clocks_that_know_more_than_the_messages_leave_causal_order_open() -> None:
    log = shiviz_log(*PING, ("b", {"b": 2, "a": 1}, "tick"), ("a", {"a": 2, "b": 2}, "tock"))
    (found,) = of_text(log, "shiviz", PATTERN)
    assert found["fifo"].kept
    assert outcomes(found, "causal", "mailbox", "synchronous") == {"unknown"}
    assert any("a:2" in note for note in found.subject.notes)


def test_clocks_and_lines_that_contradict_the_messages_are_refused() -> None:
    unknown_send = shiviz_log(PING[0], ("b", {"b": 1}, "receive m from a"))
    assert "does not know its send on line 1" in refused(unknown_send, "shiviz", PATTERN)
    layers = shiviz_log(PING[0], ("a", {"a": 2}, "send m to b"))
    line = refused(layers, "shiviz", PATTERN)
    assert "a sends m twice: lines 1 and 3" in line
    assert "several layers" in line
    assert "is both a send and a deliver" in refused(shiviz_log(*PING), "shiviz", "(?<send>m)(?<deliver>.*)")
    assert "--pattern has no group 'deliver'" in refused(shiviz_log(*PING), "shiviz", "(?<send>m)")
    assert "--pattern is no regular expression" in refused(shiviz_log(*PING), "shiviz", "(")


def test_events_that_others_know_and_the_log_lacks_are_holes() -> None:
    log = shiviz_log(*PING, ("b", {"b": 2, "a": 1, "c": 4}, "tick"))
    for patterns in (None, PATTERN):
        (found,) = of_text(log, "shiviz", patterns)
        assert [hole.text for hole in found.subject.holes] == ["b delivers c:4, whose send is not in the log"]
        assert "kept" not in outcomes(found)
    gap = shiviz_log(*PING, ("b", {"b": 3, "a": 1}, "tick"))
    (found,) = of_text(gap, "shiviz", PATTERN)
    assert [hole.text for hole in found.subject.holes] == ["b: event 1 is missing"]


# -- ShiViz: inferred messages -----------------------------------------------------------------------------------------


class Simulated:
    """A random run as it happened, message by message, and the log of it with one clock an event.

    An event receives up to two messages, in any order, and then sends up to two.
    """

    def __init__(self, seed: int, hosts: int = 4, steps: int = 14) -> None:
        chance = Random(seed)
        self.true: list[dict[str, Any]] = []
        self.events: list[tuple[str, dict[str, int], str]] = []
        names = "abcd"[:hosts]
        clocks: dict[str, dict[str, int]] = {name: {} for name in names}
        index = dict.fromkeys(names, 0)
        flying: list[tuple[str, str, str, dict[str, int]]] = []

        def happens(host: str, kind: str, message: str, peer: Any) -> None:
            fields = {"process": host, "index": index[host], "kind": kind, "message": message, "peer": peer}
            self.true.append(fields)
            index[host] += 1

        for step in range(steps):
            host = chance.choice(names)
            clock = clocks[host]
            clock[host] = clock.get(host, 0) + 1
            coming = [one for one in flying if one[2] == host]
            chance.shuffle(coming)
            received = coming[: chance.choice([0, 1, 1, 1, 2])]
            for one in received:
                flying.remove(one)
                happens(host, "deliver", one[0], one[1])
                clock |= {p: max(clock.get(p, 0), k) for p, k in one[3].items()}
            sent = chance.sample([name for name in names if name != host], chance.choice([0, 1, 1, 1, 2]))
            if len(sent) == 2 and chance.random() < 0.5:
                happens(host, "send", f"m{step}", sent)
                flying += [(f"m{step}", host, to, dict(clock)) for to in sent]
            else:
                for to in sent:
                    happens(host, "send", f"m{step}{to}", to)
                    flying.append((f"m{step}{to}", host, to, dict(clock)))
            if not received and not sent:
                happens(host, "internal", "", None)
            self.events.append((host, dict(clock), f"step {step}"))

    def broken(self, reading: UnreceivedPolicy) -> set[str]:
        (run,) = read_log(json.dumps(event) for event in self.true)
        return {order for order in ORDERS if not decide(run.computation, order, reading).kept}


def unsound(seeds: range, loss: float) -> tuple[int, int]:
    """How many verdicts on inferred messages are wrong of the run as it happened, and how many are `broken`."""
    wrong = violations = 0
    for seed in seeds:
        run, chance = Simulated(seed), Random(seed)
        events = [event for event in run.events if chance.random() >= loss]
        if all(clock[host] != 1 for host, clock, _ in events):
            continue
        for reading in READINGS:
            log = convert(shiviz_log(*events).encode(), "shiviz", "log")
            (found,) = (classify(one, tuple(ORDERS), reading) for one in converted_runs(log, "log"))
            assert set(found.kept) <= {"asynchronous"}
            broken = {order for order, outcome in found.outcomes.items() if outcome == "broken"}
            violations += len(broken)
            wrong += len(broken - run.broken(reading))
    return wrong, violations


@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_an_order_broken_by_inferred_messages_is_broken_by_the_true_ones(loss: float) -> None:
    wrong, violations = unsound(range(200), loss)
    assert wrong == 0
    assert violations > 20


#: Taken as one message, what a sends breaks synchronous order: but c may have it, then b's, and b has it at last.
SENT_AT_ONCE = shiviz_log(
    ("a", {"a": 1}, "to b and c"),
    ("b", {"b": 1}, "to c"),
    ("b", {"b": 2, "a": 1}, "from a"),
    ("c", {"c": 1, "a": 1}, "from a"),
    ("c", {"c": 2, "a": 1, "b": 1}, "from b"),
)
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


@pytest.mark.parametrize(("log", "order"), [(SENT_AT_ONCE, "synchronous"), (RECEIVED_AT_ONCE, "mailbox")])
def test_a_violation_by_the_order_within_one_event_is_unknown(log: str, order: str) -> None:
    (found,) = of_text(log, "shiviz")
    assert found[order].because == ORDER_NOT_LOGGED
    assert any("1 event (" in note for note in found.subject.notes)


def test_causes_that_another_cause_knows_of_are_no_messages() -> None:
    chain = (("a", {"a": 1}, ""), ("b", {"a": 1, "b": 1}, ""), ("c", {"a": 1, "b": 1, "c": 1}, ""))
    assert of_text(shiviz_log(*chain), "shiviz")[0].subject.messages == 2
    (found,) = of_text(shiviz_log(chain[0], chain[2]), "shiviz")
    assert found.subject.messages == 0  # as what b's event knows is not in the log
    assert [hole.process for hole in found.subject.holes] == ["c"]


def test_a_crown_of_inferred_messages_is_broken_for_certain() -> None:
    crown = shiviz_log(
        ("a", {"a": 1}, "send"),
        ("b", {"b": 1}, "send"),
        ("a", {"a": 2, "b": 1}, "receive"),
        ("b", {"b": 2, "a": 1}, "receive"),
    )
    (found,) = of_text(crown, "shiviz")
    assert found["synchronous"].outcome == "broken"
    assert outcomes(found, "fifo", "causal", "mailbox", "one-n", "n-n") == {"unknown"}


def test_of_many_runs_the_notes_are_printed_too(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "log.shiviz"
    head = "(?<host>\\S*) (?<clock>{.*})\\n(?<event>.*)\n^===$\n"
    file.write_text(head + "===\n".join([shiviz_log(*PING)] * 12) + "panic\n")
    answer = crownless("classify", str(file))
    assert "12 computations" in answer.out
    assert "note: 1 line of text skipped" in answer.out


def test_large_logs_have_the_same_verdicts_from_the_monitor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "log.shiviz"
    broken = 0
    for seed in range(10):
        file.write_text(shiviz_log(*Simulated(seed, steps=30).events))
        small = every(file)
        with monkeypatch.context() as patch:
            patch.setattr(opening, "SMALL_UP_TO", 5)
            large = every(file)
        assert [one.outcomes for one in large] == [one.outcomes for one in small]
        assert [one.subject.notes for one in large] == [one.subject.notes for one in small]
        broken += sum(outcome == "broken" for one in large for outcome in one.outcomes.values())
    assert broken > 5


# -- OTLP --------------------------------------------------------------------------------------------------------------


P1 = span("1", 4, "1")


def test_spans_are_joined_by_parents_and_links_and_kinds_are_numbers_or_names() -> None:
    (found,) = of_text(
        resource_spans(
            a=[span("1", 4, "10"), span("2", "SPAN_KIND_PRODUCER", 20), span("9", 3, 5)],
            b=[span("3", 5, "1", parent="1"), span("4", "SPAN_KIND_CONSUMER", "2", links=("2",))],
        ),
        "otlp",
    )
    assert outcomes(found) == {"kept"}
    assert any("1 client" in note for note in found.subject.notes)
    assert any("start times" in note for note in found.subject.notes)


def test_times_order_the_spans_of_one_process_and_nothing_else() -> None:
    log = {"a": [span("1", 4, "10"), span("2", 4, "20")], "b": [span("3", 5, "2", "1"), span("4", 5, "1", "2")]}
    (found,) = of_text(resource_spans(**log), "otlp")
    assert found["asynchronous"].kept  # though b's clock is earlier throughout
    assert found["fifo"].outcome == "broken"


def test_spans_that_start_at_the_same_time_leave_verdicts_open() -> None:
    log = {"a": [span("1", 4, "10"), span("2", 4, "10")], "b": [span("3", 5, "2", "1"), span("4", 5, "1", "2")]}
    (found,) = of_text(resource_spans(**log), "otlp")
    assert found["fifo"].because == ORDER_NOT_LOGGED
    assert found["asynchronous"].kept
    assert "kept" not in outcomes(found, *list(ORDERS)[1:])
    assert any("2 events" in note for note in found.subject.notes)


def test_a_span_starts_before_its_children() -> None:
    parts = {"a": [span("1", 4, 1)], "b": [span("3", 4, 5, "2"), span("2", 5, 5, "1")], "c": [span("4", 5, 1, "3")]}
    (found,) = of_text(resource_spans(**parts), "otlp")
    assert outcomes(found) == {"kept"}


def test_a_batch_is_several_deliveries_and_several_consumers_are_several_receivers() -> None:
    batch = resource_spans(
        a=[span("1", 4, "1"), span("2", 4, "2")], b=[span("3", 5, "1", links=("1", "2"))], c=[span("4", 5, "1", "1")]
    )
    (found,) = of_text(batch, "otlp")
    assert isinstance(found.subject, NamedComputation)
    assert sorted(message.receivers for message in found.subject.computation.messages) == [(1,), (1, 2)]
    assert found["fifo"].outcome == "unknown"


def test_consumers_without_a_producer_are_holes_and_producers_without_a_consumer_leave_all_open() -> None:
    (found,) = of_text(
        resource_spans(a=[span("1", 4, "1")], b=[span("2", 5, "1", "1"), span("3", 5, "2", "gone")]), "otlp"
    )
    assert [hole.text for hole in found.subject.holes] == ["b delivers gone?, whose send is not in the log"]
    assert "kept" not in outcomes(found)
    (found,) = of_text(resource_spans(b=[span("3", 5, "2")]), "otlp")
    assert found.subject.holes
    (found,) = of_text(resource_spans(a=[span("1", 4, "1"), span("5", 4, "2")], b=[span("2", 5, "1", "1")]), "otlp")
    assert found["asynchronous"].kept
    assert outcomes(found, *list(ORDERS)[1:]) == {"unknown"}
    nested = resource_spans(a=[span("1", 4, "1")], b=[span("2", 5, "1", "1"), span("3", 5, "2", "2")])
    (found,) = of_text(nested, "otlp")
    assert outcomes(found) == {"kept"}
    assert any("within another" in note for note in found.subject.notes)


def test_messages_are_called_by_their_ids_if_these_are_unique() -> None:
    def sent(*ids: str) -> set[str]:
        attributes = [[{"key": "messaging.message.id", "value": {"stringValue": id_}}] for id_ in ids]
        a = [span(f"p{k}", 4, k + 1, attributes=value) for k, value in enumerate(attributes)]
        (found,) = of_text(resource_spans(a=a, b=[span(f"c{k}", 5, k + 1, f"p{k}") for k in range(len(ids))]), "otlp")
        assert isinstance(found.subject, NamedComputation)
        return {message.name for message in found.subject.computation.messages}

    assert sent("x", "y") == {"x", "y"}
    assert sent("x", "x") == {"p0", "p1"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "log:1: not JSON"),
        ("[]", "expected object, got array"),
        ("{}", "no span is of a producer or a consumer"),
        ('{"resourceSpans": 1}', "expected array, got int, at $.resourceSpans"),
        ('{"resourceSpans": []}', "no span is of a producer or a consumer"),
        ('{"resourceSpans": []}\n{\n', "log:2: not JSON"),
        ("[" * 100_000, "nested too deeply"),
        (resource_spans(a=[span("1", 3, 1)]), "no span is of a producer or a consumer: 1 client"),
        (resource_spans(a=[span("1", 7, 1)]), "span 1 (1): the 'kind' of a span is unknown"),
        (resource_spans(a=[span("1", 4, "0")]), "has no start time"),
        (resource_spans(a=[span("1", 4, None)]), "expected int | str, got null"),
        (resource_spans(a=[span("1", 4, "9" * 40)]), "has no start time"),
        (resource_spans(a=[span("1", 4, 1), span("1", 4, 2)]), "span 2 (1): it comes twice"),
        (
            resource_spans(a=[span("1", 4, 1)], b=[span("2", 5, 1, "1"), span("3", 5, 2, "1")]),
            "b delivers 1 twice: spans 2 and 3",
        ),
        (resource_spans(a=[span("1", 4, 1)]).replace("service.name", "x"), "no 'service.name'"),
        (
            resource_spans(a=[span("1", 5, 1, "2"), span("3", 4, 2)], b=[span("4", 5, 1, "3"), span("2", 4, 2)]),
            "cyclic",
        ),
    ],
)
def test_spans_that_cannot_be_read_are_refused(text: str, problem: str) -> None:
    assert problem in refused(text, "otlp")


# -- ITF ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("silent", "note"), [(1, "1 state of 3 without an event"), (2, "2 states of 4 without an event")]
)
def test_states_that_say_no_event_are_counted(silent: int, note: str) -> None:
    (found,) = of_text(trace(*[{"event": None}] * silent, SENT, DELIVERED), "itf")
    assert any(one.startswith(note) for one in found.subject.notes)


SENT, DELIVERED = act("a", "send", "m", "b"), act("b", "deliver", "m", "a")


def test_a_state_is_an_event_a_variant_or_nothing() -> None:
    variant = {"event": {"tag": "Receive", "value": {"process": "b", "message": "m"}}}
    for states in (
        (SENT, DELIVERED),
        ({"x": 1}, SENT, {"event": {"kind": "none"}}, variant),
        ({"event": {"tag": "None", "value": {"tag": "UNIT", "value": {"#tup": []}}}}, SENT, DELIVERED),
        (act("a", "send", "m"), DELIVERED),
    ):
        (found,) = of_text(trace(*states), "itf")
        assert outcomes(found) == {"kept"}
        assert found.subject.messages == 1


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


def test_a_lasso_and_messages_to_nobody_known_leave_all_open() -> None:
    (found,) = of_text(trace(SENT, DELIVERED, loop=0), "itf")
    assert outcomes(found) == {"unknown"}
    (found,) = of_text(trace(SENT, DELIVERED, act("a", "send", "n")), "itf")
    assert outcomes(found, *list(ORDERS)[1:]) == {"unknown"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "log:1: not JSON"),
        ("{}", "object missing required field states"),
        ("[1]", "expected object, got array"),
        ("{\n'a'", "log:2:1: not JSON"),
        (trace(), "no state of 0 says which event"),
        (trace({"x": 1}), "no state of 1 says which event"),
        (trace(SENT, SENT), "a sends m twice: states 1 and 2"),
        (trace(act("a", "sent", "m", "b")), "state 1: unknown kind 'sent'; known: send,"),
        (trace(act("", "send", "m", "b")), "the 'process' of an event is missing"),
        (trace(act("a", "send", None, "b")), "the 'message' of an event is missing"),
        (trace(act("a", "send", {"#unserializable": "x"}, "b")), "cannot be a name"),
        (trace(act("a", "send", "m\n", "b")), "no name that can be printed"),
        (trace(SENT, act("b", "deliver", "m", ["a"])), "the 'peer' of a deliver is no process"),
        (trace({"event": {"process": "a", "message": "m"}}), "an event has no 'kind'"),
        (trace(DELIVERED, act("b", "send", "m2", "a"), act("a", "deliver", "m2"), SENT), "cyclic"),
    ],
)
def test_traces_that_cannot_be_read_are_refused(text: str, problem: str) -> None:
    assert problem in refused(text, "itf")


def test_an_uncertain_verdict_is_weakened_and_others_stay() -> None:
    (found,) = subjects(str(EXAMPLES / "events.itf.json"))
    assert found.uncertain == Uncertain()
    causal, fifo = classify(found)["causal"], classify(found)["fifo"]
    assert weakened(causal, Uncertain({"causal": "x"}), None, "lost") is causal  # a violation stands
    assert weakened(fifo, Uncertain({"causal": "x"}), None, "lost") is fifo
    assert weakened(fifo, Uncertain({"fifo": "x"}), None, "lost").unknown == "x"
    both = Uncertain({}, ([frozenset({("order-1", "billing")}), frozenset({("reserved", "billing")})],))
    assert weakened(causal, both, None, "lost").unknown == ORDER_NOT_LOGGED
    one = Uncertain({}, ([frozenset({("order-1", "billing")}), frozenset({("other", "billing")})],))
    assert weakened(causal, one, None, "lost").outcome == "broken"
