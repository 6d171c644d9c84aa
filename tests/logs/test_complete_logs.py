"""`--complete` and `--process`: what a system did to messages, of a log that is said to lack nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command_line_runner import Answer, Crownless
from log_files import PATTERN, Row, in_both_ways, state, trace, written  # noqa: F401

from crownless.oracle.logs.delivery import LEFT_OUT, PROPERTIES

EXAMPLES = Path(__file__).parents[2] / "examples" / "logs"
#: The reason, the message, the process, and the lines.
Violation = tuple[str, str, str | None, tuple[int, ...]]


def log_of(*events: tuple[str, str, str, Sequence[str] | str | None], run: str | None = None) -> list[Row]:
    """The rows of these events, by process, kind, message and peers."""
    index: dict[str, int] = {}
    rows = []
    for process, kind, message, peer in events:
        row = {"process": process, "index": index.get(process, 0), "kind": kind, "message": message, "peer": peer}
        rows.append(row if run is None else {"run": run, **row})
        index[process] = index.get(process, 0) + 1
    return rows


def violations(facts: Any, name: str, by: str = "lines") -> list[Violation]:
    assert list(facts["properties"]) == list(PROPERTIES) == ["delivers-once", "delivers-all"]
    found = facts["properties"][name]
    assert found["verdict"] == ("violated" if found["violations"] else "holds")
    return [(one["reason"], one["message"], one["process"], tuple(one[by])) for one in found["violations"]]


def verdicts(facts: Any) -> dict[str, str]:
    return {order: found["verdict"] for order, found in facts["orders"].items()}


GOOD = log_of(
    ("web", "send", "a", ["billing", "stock"]), ("billing", "deliver", "a", "web"), ("stock", "deliver", "a", None)
)
#: `a` is delivered twice, `ghost` never sent, `c` sent to another one; `b` is not delivered at stock.
BAD = log_of(
    ("web", "send", "a", "billing"),
    ("web", "send", "b", ["billing", "stock"]),
    ("billing", "deliver", "a", "web"),
    ("billing", "deliver", "b", "web"),
    ("billing", "deliver", "a", "web"),
    ("billing", "deliver", "ghost", None),
    ("web", "send", "c", "billing"),
    ("billing", "deliver", "c", None),
    ("stock", "deliver", "c", None),
)
ONCE: list[Violation] = [
    ("DeliveredTwice", "a", "billing", (3, 5)),
    ("NeverSent", "ghost", "billing", (6,)),
    ("NotAReceiver", "c", "stock", (7, 9)),
]
ALL: list[Violation] = [("NeverDelivered", "b", "stock", (2,))]


# -- complete logs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".arrow"])
@pytest.mark.usefixtures("in_both_ways")
def test_what_the_system_did_to_messages_is_reported_in_every_format(
    crownless: Crownless, tmp_path: Path, suffix: str
) -> None:
    answer = crownless("classify", "--complete", written(tmp_path, BAD, suffix), "--order", "fifo", "--json")
    assert answer.code == 1
    facts = answer.json
    assert verdicts(facts) == {"fifo": "kept"}
    assert facts["holes"] == []
    assert LEFT_OUT in facts["notes"]
    in_file = {".csv": 1}.get(suffix, 0)  # its line of column names
    by = "lines" if suffix in (".jsonl", ".csv") else "rows"
    moved = [(*one[:3], tuple(line + in_file for line in one[3])) for one in ONCE + ALL]
    assert violations(facts, "delivers-once", by) + violations(facts, "delivers-all", by) == moved


def test_they_are_printed_with_the_lines_and_named_in_the_conclusion(crownless: Crownless, tmp_path: Path) -> None:
    answer = crownless("classify", "--complete", written(tmp_path, BAD), "--order", "fifo", "--quiet")
    assert answer.code == 1
    assert "keeps fifo (strongest: fifo); violates delivers-once, delivers-all\n" in answer.out
    assert (
        "delivers-once: violated\n"
        "  billing delivers a twice: lines 3 and 5\n"
        "  billing delivers ghost, which was never sent: line 6\n"
        "  stock delivers c, which is sent to billing: lines 7 and 9\n"
        "delivers-all: violated\n"
        "  stock never delivers b, which web sends to it: line 2\n"
    ) in answer.out
    assert "see --unreceived" not in answer.out


def test_a_log_in_which_all_is_delivered_once_has_the_usual_verdicts(crownless: Crownless, tmp_path: Path) -> None:
    log = written(tmp_path, GOOD)
    usual, complete = crownless("classify", log, "--json"), crownless("classify", "--complete", log, "--json")
    assert (usual.code, complete.code) == (0, 0)
    held = {name: {"verdict": "holds", "violations": []} for name in PROPERTIES}
    assert complete.json == {**usual.json, "properties": held}
    assert "delivers-once: holds\ndelivers-all: holds\n" in crownless("classify", "--complete", log).out


def faulty(chance: Random) -> tuple[list[Row], list[Row], set[Violation], set[Violation]]:
    """A log with faults, the same with internal events for wrong deliveries, and what violates each property."""
    names = [f"P{p}" for p in range(1, chance.randint(2, 4) + 1)]
    events: list[tuple[str, str, str, Sequence[str] | None]] = []
    sent: dict[str, tuple[list[str], int]] = {}
    delivers: dict[tuple[str, str], tuple[int, ...]] = {}
    for line in range(1, chance.randint(5, 30)):
        message, process = f"m{len(sent)}", chance.choice(names)
        if not sent or chance.random() < 0.4:
            sent[message] = chance.sample(names, chance.choice([1, 1, 2])), line
            events.append((process, "send", message, sent[message][0]))
        else:
            message = chance.choice([*sent, *(message for message in sent if process in sent[message][0]), "ghost"])
            delivers[message, process] = (*delivers.get((message, process), ()), line)
            events.append((process, "deliver", message, None))
    once, out = set[Violation](), set[int]()
    for (message, process), lines in delivers.items():
        out |= {*lines[1:]}
        if message == "ghost" or process not in sent[message][0]:
            out |= {*lines}
            kind, shown = ("NeverSent", lines) if message == "ghost" else ("NotAReceiver", (sent[message][1], *lines))
            once.add((kind, message, process, shown))
        if len(lines) > 1:
            once.add(("DeliveredTwice", message, process, lines))
    copies = ((message, q, line) for message, (receivers, line) in sent.items() for q in receivers)
    missing = {("NeverDelivered", m, q, (line,)) for m, q, line in copies if (m, q) not in delivers}
    rows = log_of(*events)
    internal: Row = {"kind": "internal", "message": None, "peer": None}
    judged = [{**row, **internal} if line in out else row for line, row in enumerate(rows, 1)]
    return rows, judged, once, set[Violation](missing)


@pytest.mark.usefixtures("in_both_ways")
def test_planted_faults_are_found_and_nothing_else(crownless: Crownless, tmp_path: Path) -> None:
    kinds = set[str]()
    for seed in range(25):
        rows, judged, once, missing = faulty(Random(seed))
        facts = crownless("classify", "--complete", written(tmp_path, rows), "--json").json
        assert set(violations(facts, "delivers-once")) == once
        assert set(violations(facts, "delivers-all")) == missing
        kinds |= {reason for reason, *_ in once | missing}
        assert verdicts(facts) == verdicts(crownless("classify", written(tmp_path, judged), "--json").json)
    assert kinds == {"DeliveredTwice", "NeverSent", "NotAReceiver", "NeverDelivered"}


def test_events_may_stand_in_any_order_and_the_first_delivery_counts(crownless: Crownless, tmp_path: Path) -> None:
    rows = log_of(
        ("P1", "send", "x", "P2"),
        ("P1", "send", "y", "P2"),
        ("P2", "deliver", "x", None),
        ("P2", "deliver", "y", None),
        ("P2", "deliver", "x", None),
    )
    facts = crownless("classify", "--complete", written(tmp_path, rows[::-1]), "--json").json
    assert verdicts(facts)["fifo"] == "kept"
    assert violations(facts, "delivers-once") == [("DeliveredTwice", "x", "P2", (1, 3))]


def test_of_many_runs_a_table_counts_those_that_violate_a_property(crownless: Crownless, tmp_path: Path) -> None:
    sends, delivers = ("P1", "send", "x", "P2"), ("P2", "deliver", "x", None)
    runs = [[sends, delivers, delivers] if run == 3 else [sends] if run > 9 else [sends, delivers] for run in range(12)]
    log = written(tmp_path, [row for k, run in enumerate(runs) for row in log_of(*run, run=f"r{k}")])
    answer = crownless("classify", "--complete", log, "--order", "fifo")
    assert answer.code == 1
    table = [line.split() for line in answer.out.splitlines() if line.startswith("delivers-")]
    assert [(*line[:1], *line[-3:]) for line in table[:2]] == [
        ("delivers-once", "11", "1", "0"),
        ("delivers-all", "10", "2", "0"),
    ]
    assert "P2 delivers x twice" in answer.out
    assert "P2 never delivers x" in answer.out
    each = crownless("classify", "--complete", log, "--json").json["classifications"]
    assert [one["run"] for one in each if violations(one, "delivers-all")] == ["r10", "r11"]


def test_a_large_run_is_reported_by_its_lines_too(crownless: Crownless, tmp_path: Path) -> None:
    events: list[tuple[str, str, str, str | None]] = []
    for k in range(3_000):
        events += [("P1", "send", f"m{k}", "P2"), ("P2", "deliver", f"m{k}", None)]
    del events[5_001]
    events.insert(4_000, ("P2", "deliver", "m7", None))
    log = written(tmp_path, log_of(*events))
    answer = crownless("classify", "--complete", "--process", "P3", log, "--order", "fifo", "--json")
    facts = answer.json
    assert answer.code == 1
    assert violations(facts, "delivers-once") == [("DeliveredTwice", "m7", "P2", (16, 4_001))]
    assert violations(facts, "delivers-all") == [("NeverDelivered", "m2500", "P2", (5_002,))]
    assert facts["processes"] == 3
    assert [one["process"] for one in facts["by_process"]] == ["P1", "P2", "P3"]
    assert facts["by_process"][2]["events"] == 0


# -- logs of other tools -----------------------------------------------------------------------------------------------


SHIVIZ = ("--pattern", PATTERN)


def shiviz(*last: str) -> str:
    """Of the example, with these further events."""
    return (EXAMPLES / "events.shiviz").read_text("utf-8").rstrip("\n") + "\n" + "".join(f"{line}\n" for line in last)


def otlp(change: Callable[[dict[str, Any]], list[dict[str, Any]]]) -> str:
    """The example with other spans: each is replaced by those that `change` makes of it."""
    lines = []
    for line in (EXAMPLES / "events.otlp").read_text("utf-8").splitlines():
        value = json.loads(line)
        for resource in value["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                scope["spans"] = [one for span in scope["spans"] for one in change(span)]
        lines.append(json.dumps(value))
    return "\n".join(lines) + "\n"


def run(crownless: Crownless, folder: Path, name: str, text: str, *options: str) -> Answer:
    (folder / name).write_text(text, "utf-8")
    return crownless("classify", "--complete", str(folder / name), "--json", *options)


DELIVER, SEND = "00f067aa0ba902b9", "00f067aa0ba902b8"


def twice(span: dict[str, Any]) -> list[dict[str, Any]]:
    later = str(int(span["startTimeUnixNano"]) + 10**12)
    again = {**span, "spanId": "00000000000000aa", "startTimeUnixNano": later}
    return [span, again] if span["spanId"] == DELIVER else [span]


OTHER_TOOLS: list[tuple[str, str, list[Violation], list[Violation]]] = [
    ("a.shiviz", shiviz(), [], []),
    (
        "a.shiviz",
        shiviz(
            'billing {"billing": 3, "stock": 2, "web": 2}', "INFO receive order-1 from web",
            'billing {"billing": 4, "stock": 2, "web": 2}', "INFO receive ghost from web",
            'web {"web": 3}', "INFO send last to billing", 'web {"web": 4}', "INFO send lost to stock,audit",
        ),
        [("DeliveredTwice", "order-1", "billing", (13, 15)), ("NeverSent", "ghost", "billing", (17,))],
        [
            ("NeverDelivered", "last", "billing", (19,)), ("NeverDelivered", "lost", "stock", (21,)),
            ("NeverDelivered", "lost", "audit", (21,)),
        ],
    ),
    ("a.otlp", otlp(lambda span: [span]), [], []),
    ("a.otlp", otlp(twice), [("DeliveredTwice", "order-1-stock", "stock", (4, 5))], []),
    (
        "a.otlp",
        otlp(lambda span: [span] * (span["spanId"] != DELIVER)),
        [], [("NeverDeliveredAnywhere", "order-1-stock", None, (2,))],
    ),
    ("a.otlp", otlp(lambda span: [span] * (span["spanId"] != SEND)), [("NeverSent", f"{SEND}?", "stock", (3,))], []),
    (
        "a.itf",
        trace(
            state("web", "send", "a", "billing"), state("billing", "deliver", "a", "web"),
            state("web", "send", "c", "stock"), state("billing", "deliver", "a", "web"),
            state("billing", "deliver", "b", None),
        ),
        [("DeliveredTwice", "a", "billing", (2, 4)), ("NeverSent", "b", "billing", (5,))],
        [("NeverDelivered", "c", "stock", (3,))],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "once", "missing"), OTHER_TOOLS)
@pytest.mark.usefixtures("in_both_ways")
def test_logs_of_other_tools(
    crownless: Crownless, tmp_path: Path, name: str, text: str, once: list[Violation], missing: list[Violation]
) -> None:
    by = "lines" if name == "a.shiviz" else "rows"
    facts = run(crownless, tmp_path, name, text, *(SHIVIZ if name == "a.shiviz" else ())).json
    assert violations(facts, "delivers-once", by) == once
    assert violations(facts, "delivers-all", by) == missing


def test_a_shiviz_message_to_nobody_is_never_delivered(crownless: Crownless, tmp_path: Path) -> None:
    options = ("--pattern", r"send (?<send>\S+)|receive (?<deliver>\S+)")
    lost = shiviz('web {"web": 3}', "INFO send last to billing")
    answer = run(crownless, tmp_path, "a.shiviz", lost, *options)
    assert answer.code == 1
    assert violations(answer.json, "delivers-all") == [("NeverDeliveredAnywhere", "last", None, (15,))]
    assert "last, which web sends, is never delivered: line 15" in answer.out


# -- processes without events ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".arrow"])
@pytest.mark.parametrize("complete", [[], ["--complete"]])
def test_declared_processes_count(crownless: Crownless, tmp_path: Path, suffix: str, complete: list[str]) -> None:
    log = written(tmp_path, GOOD, suffix)
    usual = crownless("classify", *complete, log, "--json").json
    facts = crownless(
        "classify", *complete, log, "--process", "web", "--process", "audit", "--process", "audit", "--json"
    ).json
    assert (usual["processes"], facts["processes"]) == (3, 4)
    assert [one["process"] for one in facts["by_process"]] == ["audit", "billing", "stock", "web"]
    assert verdicts(facts) == verdicts(usual)


@pytest.mark.parametrize("file", ["events.shiviz", "events.otlp", "events.itf.json"])
def test_declared_processes_count_in_logs_of_other_tools(crownless: Crownless, file: str) -> None:
    options = SHIVIZ if file == "events.shiviz" else ()
    facts = crownless("classify", str(EXAMPLES / file), "--process", "audit", "--json", *options).json
    assert facts["processes"] == 4


# -- what cannot be said -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        f"{option} {other}"
        for option in ("--complete", "--process P1")
        for other in ("--match", "--one-run", "--clocks", "--engine spark", "--engine spark --live")
    ]
    + ["--complete --unreceived pending", "--complete --out new"],
)
def test_options_that_do_not_go_together(crownless: Crownless, tmp_path: Path, options: str) -> None:
    answer = crownless("classify", written(tmp_path, GOOD), *options.split())
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"crownless: {options.split()[0]} cannot be combined with --")
    assert "; leave one of them out" in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("option", [["--complete"], ["--process", "P4"]])
def test_neither_is_said_of_a_computation(crownless: Crownless, option: list[str]) -> None:
    answer = crownless("classify", "mf-fig8", *option)
    assert answer.code == 2
    assert answer.err == f"crownless: mf-fig8: {option[0]} cannot be combined with a computation; leave it out\n"


REFUSED = {
    "a gap": ([*GOOD, {**GOOD[1], "index": 2, "message": "b"}], "the log is not complete: billing: event 1 is missing"),
    "two senders": ([*GOOD, {**GOOD[1], "index": 1, "peer": "stock"}], "the sender of a is given as stock and by web"),
    "a cycle": (
        log_of(
            ("P1", "deliver", "x", None),
            ("P1", "send", "y", "P2"),
            ("P2", "deliver", "y", None),
            ("P2", "send", "x", "P1"),
        ),
        "the computation is cyclic",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.usefixtures("in_both_ways")
def test_what_contradicts_itself_is_refused_all_the_same(crownless: Crownless, tmp_path: Path, case: str) -> None:
    rows, line = REFUSED[case]
    log = written(tmp_path, rows)
    answer = crownless("classify", "--complete", log)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"crownless: {log}")
    assert line in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "text", "options", "line"),
    [
        ("a.shiviz", shiviz(), (), "messages inferred from clocks do not show what is delivered; describe how"),
        (
            "a.shiviz",
            shiviz('billing {"billing": 3, "stock": 3, "web": 2}', "INFO idle"),
            SHIVIZ,
            "the log is not complete: the clock of billing knows event 3 of stock",
        ),
        (
            "a.otlp",
            otlp(lambda span: [{**span, "parentSpanId": "", "links": []}]),
            (),
            "has no link to a producer, so its message is unknown",
        ),
        ("a.itf", trace(state("web", "send", "a", "billing"), loop=0), (), "the trace never ends"),
        (
            "a.itf",
            trace(state("web", "send", "a", "billing"), *[state("billing", "deliver", "a", "web")] * 2),
            (),
            "state 3: billing delivers a here and in the previous state; a step that is no event of a process must",
        ),
    ],
)
def test_logs_of_other_tools_that_leave_deliveries_open(
    crownless: Crownless, tmp_path: Path, name: str, text: str, options: Sequence[str], line: str
) -> None:
    answer = run(crownless, tmp_path, name, text, *options)
    assert (answer.code, answer.out) == (2, "")
    assert line in answer.err
    assert answer.err.count("\n") == 1
