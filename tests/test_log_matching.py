"""Logs without names of messages: the verdicts are those of all matchings, one by one, on every small log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import permutations, product
from pathlib import Path
from random import Random

import pytest
from command_line_runner import Crownless
from doc_pages import page
from log_rows import random_computation
from small_computations import CHAIN

from crownless.model_check.logs import classify_file
from crownless.model_check.logs.classify_file import LogRequest
from crownless.model_check.logs.matching import Copy, MatchedLog, MatchedRun, MatchVerdict, match, matched_rows
from crownless.model_check.logs.rows import rows_of_lines
from crownless.runtime.memory import collector_off
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.enumeration import Sends, computations
from crownless.spec.errors import BadInput
from crownless.spec.orders import UnreceivedPolicy, decide

READINGS: tuple[UnreceivedPolicy, ...] = ("lost", "pending")

#: One event: its process, its kind, its payload (empty: none) and its peers.
Anonymous = tuple[str, str, str, tuple[str, ...]]
#: A log without names: the events of each process in order, one process after the other.
Log = tuple[Anonymous, ...]


def without_names(c: Computation, payloads: Sequence[str] = ()) -> Log:
    """The computation as a log, in which messages have payloads at most."""
    events = []
    for p, line in enumerate(c.lines):
        for event in line:
            assert event.message is not None
            message = c.messages[event.message]
            peers = message.receivers if event.kind == "send" else (message.sender,)
            payload = payloads[event.message] if payloads else ""
            kind = "send" if event.kind == "send" else "deliver"
            events.append((c.processes[p], kind, payload, tuple(c.processes[q] for q in peers)))
    return tuple(events)


def lines_of(log: Log, run: str = "") -> list[str]:
    place: dict[str, int] = {}
    lines = []
    for process, kind, payload, peers in log:
        index = place.setdefault(process, 0)
        place[process] += 1
        event = {"run": run, "process": process, "index": index, "kind": kind, "message": payload, "peer": peers}
        if kind == "deliver":
            event["peer"] = peers[0]
        lines.append(json.dumps({key: value for key, value in event.items() if value != ""}))
    return lines


# -- all matchings, one by one -----------------------------------------------------------------------------------------


def all_matchings(log: Log) -> Iterator[Computation]:
    """Every computation that this log may be of: each deliver of a send to it, with its payload, and of no other's."""
    names = sorted({name for process, _, _, peers in log for name in (process, *peers)})
    sends = [k for k, event in enumerate(log) if event[1] == "send"]
    groups: dict[tuple[str, str, str], list[int]] = {}
    for k, (process, kind, payload, peers) in enumerate(log):
        if kind == "deliver":
            groups.setdefault((peers[0], process, payload), []).append(k)
    choices = []
    for (sender, receiver, payload), delivers in groups.items():
        of = [k for k in sends if log[k][0] == sender and log[k][2] == payload and receiver in log[k][3]]
        choices.append([dict(zip(delivers, some, strict=True)) for some in permutations(of, len(delivers))])
    number = {k: m for m, k in enumerate(sends)}
    messages = [
        Message(f"m{m}", names.index(log[k][0]), tuple(sorted(names.index(q) for q in log[k][3])))
        for k, m in number.items()
    ]
    for chosen in product(*choices):
        of_deliver = {k: send for group in chosen for k, send in group.items()}
        lines = tuple(
            tuple(
                Event("send", number[k]) if kind == "send" else Event("receive", number[of_deliver[k]])
                for k, (process, kind, _, _) in enumerate(log)
                if process == name
            )
            for name in names
        )
        try:
            yield Computation(tuple(names), tuple(messages), lines)
        except BadInput:  # it is cyclic
            continue


@cache
def by_all_matchings(log: Log, reading: UnreceivedPolicy) -> dict[str, str]:
    """The verdicts by definition."""
    found = [{order: decide(c, order, reading).kept for order in CHAIN} for c in all_matchings(log)]
    return {
        order: "impossible"
        if not any(kept[order] for kept in found)
        else "forced"
        if all(kept[order] for kept in found)
        else "possible"
        for order in CHAIN
    }


def has_missing_sends(log: Log) -> bool:
    sent = [(process, q, payload) for process, kind, payload, peers in log if kind == "send" for q in peers]
    delivered = [(peers[0], process, payload) for process, kind, payload, peers in log if kind == "deliver"]
    return any(delivered.count(one) > sent.count(one) for one in delivered)


# -- comparison --------------------------------------------------------------------------------------------------------


def judged(logs: Sequence[Log], reading: UnreceivedPolicy) -> MatchedLog:
    lines = [line for number, log in enumerate(logs) for line in lines_of(log, f"r{number}")]
    return matched_lines(lines, reading)


def matched_lines(lines: Sequence[str], reading: UnreceivedPolicy = "lost") -> MatchedLog:
    return matched_rows(rows_of_lines(lines, "log", named=False), LogRequest("log", CHAIN, reading))


def agree(logs: Sequence[Log], reading: UnreceivedPolicy, *, parts: bool = True) -> set[str]:
    """The verdicts on these logs are those of all matchings, and so are those on the parts that are shown; which
    verdicts there were.
    """
    seen: set[str] = set()
    for start in range(0, len(logs), 400):
        some = logs[start : start + 400]
        found = judged(some, reading)
        for number, log in enumerate(some):
            run = found.run(number)
            outcomes = {verdict.order: verdict.outcome for verdict in run.verdicts}
            if has_missing_sends(log):
                assert set(outcomes.values()) == {"unknown"}, log
                continue
            seen |= set(outcomes.values())
            assert outcomes == by_all_matchings(log, reading), (log, reading)
            assert outcomes == {order: found.outcome(number, order) for order in CHAIN}
            if parts:
                for verdict in run.verdicts:
                    if verdict.outcome == "impossible":
                        is_minimal(verdict.copies, verdict.order, reading)
            if "possible" in outcomes.values():
                breaks_orders(log, run, reading)
    return seen


def part(copies: Sequence[Copy]) -> Log:
    """The log that has these copies alone."""
    verdict = MatchVerdict("fifo", "impossible", copies=tuple(copies))
    rows = sorted(verdict.lines, key=lambda row: (row.process, row.index))
    return tuple((row.process, row.kind, row.message, row.peers) for row in rows)


def is_minimal(copies: Sequence[Copy], order: str, reading: UnreceivedPolicy) -> None:
    """The order is impossible of these copies, and of none that one less leaves."""
    assert copies
    assert by_all_matchings(part(copies), reading)[order] == "impossible"
    for copy in copies:
        rest = [one for one in copies if one != copy]
        assert by_all_matchings(part(rest), reading)[order] != "impossible", (copies, copy)


def breaks_orders(log: Log, run: MatchedRun, reading: UnreceivedPolicy) -> None:
    """The other matching that is shown is a computation that breaks every order but asynchronous."""
    other = run.matching.other
    assert other is not None
    place = {row.line: (row.process, row.index) for row in run.matching.rows}
    given = {copy.deliver.line: copy.send.line for copy in run.matching.copies if copy.deliver is not None}
    given[other.deliver.line] = other.send.line
    if other.exchanged is not None:
        given[other.exchanged.line] = other.in_order.line
    wanted = {place[deliver]: place[send] for deliver, send in given.items()}
    found = [c for c in all_matchings(log) if places(c) == wanted]
    assert found
    for c in found:
        assert not any(decide(c, order, reading).kept for order in CHAIN if order != "asynchronous")


def places(c: Computation) -> dict[tuple[str, int], tuple[str, int]]:
    """Of each receive the send, by process and index."""

    def place(e: int) -> tuple[str, int]:
        p = c.process_of[e]
        return c.processes[p], e - c.first_event[p]

    return {place(e): place(c.send_event[m]) for m, one in enumerate(c.receive_events) for e in one.values()}


def all_logs(n: int, m: int, payloads: int, *, self_sends: bool = False, sends: Sends = "unicast") -> list[Log]:
    """Every computation of that size without its names, each log once: without payloads, or with all of so many."""
    logs: dict[Log, None] = {}
    for c in computations(n, m, complete=False, self_sends=self_sends, sends=sends):
        for given in product("ab"[:payloads], repeat=m) if payloads else [()]:
            logs[without_names(c, given)] = None
    return list(logs)


BOUNDS: list[tuple[int, int, int, bool, Sends]] = [
    (2, 2, 2, True, "unicast"),
    (2, 3, 2, False, "unicast"),
    (3, 2, 0, False, "multicast"),
]
#: What takes up to a minute each.
LARGER_BOUNDS: list[tuple[int, int, int, bool, Sends]] = [
    (3, 3, 0, False, "unicast"),
    (3, 2, 2, False, "multicast"),
    (2, 4, 2, False, "unicast"),
    (2, 4, 0, True, "unicast"),
    (3, 3, 2, False, "unicast"),
    (4, 3, 0, False, "unicast"),
]


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(
    ("n", "m", "payloads", "self_sends", "sends"),
    [*BOUNDS, *(pytest.param(*bound, marks=pytest.mark.thorough) for bound in LARGER_BOUNDS)],
)
def test_every_small_log_has_the_verdicts_of_all_its_matchings(
    n: int, m: int, payloads: int, self_sends: bool, sends: Sends, reading: UnreceivedPolicy
) -> None:
    logs = all_logs(n, m, payloads, self_sends=self_sends, sends=sends)
    assert {"forced", "impossible"} <= agree(logs, reading)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("payloads", [("",), ("a", "b")])
def test_every_small_log_of_any_events_has_the_verdicts_of_all_its_matchings(
    payloads: tuple[str, ...], reading: UnreceivedPolicy
) -> None:
    """Also of logs that are no computation's, since all matchings are cyclic or a send is missing."""
    logs = []
    for first, second in ((2, 2), (1, 3), (2, 3)) if payloads == ("",) else ((2, 2), (1, 3)):
        each = [list(product(("send", "deliver"), payloads)) for _ in range(first + second)]
        for events in product(*each):
            on_p = [("P", kind, payload, ("Q",)) for kind, payload in events[:first]]
            on_q = [("Q", kind, payload, ("P",)) for kind, payload in events[first:]]
            logs.append((*on_p, *on_q))
    assert "impossible" in agree(logs, reading)
    assert any(not has_missing_sends(log) and not list(all_matchings(log)) for log in logs)


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("several", [0.0, 0.5])
def test_random_logs_have_the_verdicts_of_all_their_matchings(reading: UnreceivedPolicy, several: float) -> None:
    chance = Random(f"{reading} {several}")
    logs = []
    for _ in range(120):
        c = random_computation(chance, chance.randint(2, 4), 5, disorder=0.3, loss=0.1, several=several)
        payloads = chance.choice([[], [chance.choice("abc") for _ in range(5)]])
        logs.append(without_names(c, payloads))
    assert agree(logs, reading) == {"forced", "possible", "impossible"}


@pytest.mark.parametrize("reading", READINGS)
def test_the_monitor_of_large_logs_gives_the_same_verdicts(
    reading: UnreceivedPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classify_file, "SMALL_UP_TO", 10)
    logs = [*all_logs(2, 3, 2)[::7], *all_logs(3, 3, 0)[::11]]
    assert agree(logs, reading) == {"forced", "possible", "impossible"}


# -- larger runs -------------------------------------------------------------------------------------------------------


def large(disorder: float, messages: int = 700, loss: float = 0.0, seed: int = 5) -> Log:
    c = random_computation(Random(seed), 5, messages, disorder=disorder, loss=loss, several=0.0)
    return without_names(c)


@pytest.mark.parametrize("small_up_to", [10, 5_000])
@pytest.mark.parametrize("reading", READINGS)
def test_what_shows_of_a_large_run_that_an_order_is_impossible_is_minimal(
    reading: UnreceivedPolicy, small_up_to: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classify_file, "SMALL_UP_TO", small_up_to)
    found = set()
    for seed in range(3):
        run = judged([large(0.02, loss=0.001, seed=seed)], reading).run(0)
        for verdict in run.verdicts:
            found.add(verdict.outcome)
            if verdict.outcome == "impossible":
                assert len(verdict.copies) <= 12
                is_minimal(verdict.copies, verdict.order, reading)
    assert "impossible" in found


def stop_and_wait(rounds: int, clients: int = 1) -> Log:
    """Each client sends a request when it has had the answer to the one before."""
    names = [f"C{k}" for k in range(clients)]
    requests = [
        event
        for name in names
        for _ in range(rounds)
        for event in ((name, "send", "", ("S",)), (name, "deliver", "", ("S",)))
    ]
    answers = [
        event
        for _ in range(rounds)
        for name in names
        for event in (("S", "deliver", "", (name,)), ("S", "send", "", (name,)))
    ]
    return (*requests, *answers)


def test_who_waits_for_answers_leaves_no_choice() -> None:
    run = judged([stop_and_wait(300, clients=3)], "lost").run(0)
    assert {verdict.order: verdict.outcome for verdict in run.verdicts} == dict.fromkeys(CHAIN, "forced")


# -- the rows ----------------------------------------------------------------------------------------------------------


def event(process: str, index: int, kind: str, peer: object = None, message: object = None, **more: object) -> str:
    fields = {"process": process, "index": index, "kind": kind, "message": message, "peer": peer, **more}
    return json.dumps({key: value for key, value in fields.items() if value is not None})


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            [event("P", 0, "deliver")],
            "log:1: 'peer' is missing; give the sender, a string, since",
        ),
        ([event("P", 0, "deliver", ["Q"])], "log:1: 'peer' cannot be a list; give the sender"),
        ([event("P", 0, "send")], "log:1: 'peer' is missing; give the receiver"),
        ([event("P", 0, "send", ["Q", "Q"])], "log:1: P sends a message to Q twice"),
        ([event("P", 0, "send", [])], "log:1: P sends a message to nobody"),
        ([event("P", 0, "send", "Q", 1.5)], "log:1: 'message' cannot be 1.5; give the payload"),
        ([event("P", 0, "send", "Q"), event("P", 0, "send", "Q")], "log:2: P has two events 0, one a copy"),
        ([event("P", 0, "send", "Q"), event("P", 0, "internal")], "log:2: P has two events 0: lines 1 and 2"),
        (
            [event("P", 0, "send", "Q", "a"), event("P", 1, "send", "Q"), event("Q", 0, "deliver", "P", "a")],
            "log:2: P sends to Q without a payload, which others from P to Q have; give 'message' in all lines",
        ),
        (
            [event("P", 0, "send", "Q", "a"), event("Q", 0, "deliver", "P", "a"), event("Q", 1, "deliver", "P")],
            "log:3: Q delivers from P without a payload",
        ),
        ([""], "log: the log is empty"),
    ],
)
def test_a_bad_line_is_refused(lines: list[str], said: str) -> None:
    with pytest.raises(BadInput) as refused:
        matched_lines(lines)
    assert str(refused.value).startswith(said)


def test_payloads_count_only_where_both_ends_have_them() -> None:
    sends = [event("P", 0, "send", "Q", "a"), event("P", 1, "send", "Q", "b")]
    unnamed = match("", [*rows_of_lines([*sends, event("Q", 0, "deliver", "P")], named=False)])
    assert [(copy.send.index, copy.deliver is None) for copy in unnamed.copies] == [(0, False), (1, True)]
    named = match("", [*rows_of_lines([*sends, event("Q", 0, "deliver", "P", "b")], named=False)])
    assert {(copy.send.index, copy.deliver is None) for copy in named.copies} == {(0, True), (1, False)}


def test_holes_leave_every_order_unknown() -> None:
    lines = [event("P", 0, "send", "Q"), event("P", 2, "send", "Q"), event("Q", 0, "deliver", "P")]
    lines += [event("Q", 1, "deliver", "P"), event("Q", 2, "deliver", "P")]
    run = matched_lines(lines).run(0)
    assert {verdict.outcome for verdict in run.verdicts} == {"unknown"}
    assert [hole.text for hole in run.matching.holes] == [
        "P: event 1 is missing",
        "Q delivers 3 messages from P, of which 2 are sent in the log",
    ]


def test_the_lines_may_come_in_any_order_and_runs_may_be_interleaved() -> None:
    logs = [without_names(c) for c in computations(2, 2, complete=False)]
    lines = [line for number, log in enumerate(logs) for line in lines_of(log, f"r{number}")]
    Random(3).shuffle(lines)
    shuffled = matched_lines(lines)
    outcomes = {
        one.run: [shuffled.outcome(number, order) for order in CHAIN] for number, one in enumerate(shuffled.matchings)
    }
    in_order = judged(logs, "lost")
    for number in range(len(logs)):
        assert outcomes[f"r{number}"] == [in_order.outcome(number, order) for order in CHAIN]


# -- the command -------------------------------------------------------------------------------------------------------


def written(folder: Path, lines: Sequence[str], name: str = "log.jsonl") -> str:
    (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return str(folder / name)


KEPT_FIFO = [event("P", 0, "send", "Q"), event("P", 1, "send", "Q"), event("Q", 0, "deliver", "P")]
OVERTAKEN = [
    event("P", 0, "send", "Q", "a"),
    event("P", 1, "send", "Q", "b"),
    event("Q", 0, "deliver", "P", "b"),
    event("Q", 1, "deliver", "P", "a"),
]


def test_exit_codes(crownless: Crownless, tmp_path: Path) -> None:
    log = written(tmp_path, KEPT_FIFO)
    assert crownless("classify", "--match", log, "--order", "fifo").code == 0
    assert crownless("classify", "--match", log, "--order", "synchronous").code == 1
    assert crownless("classify", "--match", log, "--unreceived", "pending").code == 0
    assert crownless("classify", "--match", written(tmp_path, OVERTAKEN), "--order", "asynchronous").code == 0
    assert crownless("classify", "--match", written(tmp_path, OVERTAKEN)).code == 1
    assert crownless("classify", "--match", written(tmp_path, OVERTAKEN[1:])).code == 3
    assert crownless("classify", "--match", written(tmp_path, [event("P", 0, "deliver")])).code == 2
    assert crownless("classify", "--match", "mf-fig8").code == 2
    assert crownless("classify", "--match", "--engine", "spark", log).code == 2
    assert crownless("classify", log).code == 2


def test_what_is_printed(crownless: Crownless, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    printed = crownless("classify", "--match", written(tmp_path, OVERTAKEN), "--quiet").out
    assert "forced: asynchronous; impossible: fifo" in printed
    assert "Q receives b@2 before a@1" in printed
    for line in range(1, 5):
        assert f"  line {line}: {{" in printed
    printed = crownless("classify", "--match", written(tmp_path, KEPT_FIFO)).out
    assert "another matching: line 3 delivers line 2, and line 1 is not received" in printed
    assert "not received: 1 message; read as lost for good" in printed


def test_of_several_receivers_those_that_count_are_named(
    crownless: Crownless, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    to_both = {**json.loads(OVERTAKEN[0]), "peer": ["Q", "R"]}
    log = written(tmp_path, [json.dumps(to_both), *OVERTAKEN[1:]])
    printed = crownless("classify", "--match", log, "--quiet", "--unreceived", "pending").out
    assert "    of its receivers Q alone\n" in printed


def test_json(crownless: Crownless, tmp_path: Path) -> None:
    facts = crownless("classify", "--match", written(tmp_path, OVERTAKEN), "--json").json
    assert facts["matching"] == [
        {"send": 1, "receiver": "Q", "deliver": 4},
        {"send": 2, "receiver": "Q", "deliver": 3},
    ]
    fifo = facts["orders"]["fifo"]
    assert fifo["verdict"] == "impossible"
    assert [one["line"] for one in fifo["lines"]] == [1, 2, 3, 4]
    assert fifo["lines"][0]["event"] == json.loads(OVERTAKEN[0])
    facts = crownless("classify", "--match", written(tmp_path, KEPT_FIFO), "--json").json
    assert facts["other_matching"] == [{"send": 2, "deliver": 3}, {"send": 1, "deliver": None}]


def test_many_runs_are_summed_up(crownless: Crownless, tmp_path: Path) -> None:
    logs = [without_names(c) for c in computations(2, 2, complete=False)]
    log = written(tmp_path, [line for number, one in enumerate(logs) for line in lines_of(one, f"r{number}")])
    answer = crownless("classify", "--match", log)
    assert answer.code == 1
    assert f"{len(logs)} runs; --json has each of them" in answer.out
    assert len(crownless("classify", "--match", log, "--json").json["matched"]) == len(logs)


def test_a_file_without_the_column_of_messages(crownless: Crownless, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    events = [json.loads(line) for line in KEPT_FIFO]
    columns = {key: [one[key] for one in events] for key in ("process", "index", "kind", "peer")}
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    pq.write_table(pa.table({**columns, "message": pa.nulls(3)}), tmp_path / "null.parquet")
    cells = [",".join(map(str, one)) for one in zip(*columns.values(), strict=True)]
    written(tmp_path, [",".join(columns), *cells], "log.csv")
    expected = crownless("classify", "--match", written(tmp_path, KEPT_FIFO), "--json").json["orders"]
    for name in ("log.parquet", "null.parquet", "log.csv"):
        answer = crownless("classify", "--match", str(tmp_path / name), "--json")
        assert answer.json["orders"]["fifo"]["verdict"] == expected["fifo"]["verdict"] == "possible"
        assert crownless("classify", str(tmp_path / name)).code == 2
    lines = crownless("classify", "--match", str(tmp_path / "log.csv"), "--json").json["matching"]
    assert [one["send"] for one in lines] == [2, 3]  # the first line has the names of columns


def test_the_example_is_the_one_on_the_page(crownless: Crownless) -> None:
    example = Path(__file__).parent.parent / "examples" / "no_names.jsonl"
    assert f'```json title="{example.name}"\n{example.read_text("utf-8")}```' in page("event_logs").read_text("utf-8")
    facts = crownless("classify", "--match", str(example), "--json").json
    assert [one["verdict"] for one in facts["orders"].values()] == ["forced", "possible", *["impossible"] * 5]


@pytest.mark.parametrize("output", ["--json", "--quiet"])
def test_a_limit_leaves_it_unknown(crownless: Crownless, tmp_path: Path, output: str) -> None:
    log = written(tmp_path, lines_of(stop_and_wait(3_000)))
    # The limit may be noticed anywhere: not in what hypothesis has called by the collector, where it would be lost.
    with collector_off():
        answer = crownless("classify", "--match", log, "--max-seconds", "0", output)
    assert answer.code == 3
    assert "0 seconds are over" in answer.err
