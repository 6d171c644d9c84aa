"""Logs without names of messages: the verdicts are those of all matchings, one by one, on every small log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from pathlib import Path
from random import Random

import log_files
import pytest
from command_line_runner import Crownless
from doc_pages import page
from log_files import in_both_ways  # noqa: F401
from log_rows import KEPT_BY_UNICASTS, random_computation

from crownless.oracle.log_orders.classification import Classification, classify
from crownless.oracle.log_orders.matching import NO_OTHER, OTHER_MAY_KEEP, matched
from crownless.oracle.logs.formats import LogOptions
from crownless.oracle.logs.lines import rows_of_lines
from crownless.oracle.logs.reader import converted_runs
from crownless.oracle.logs.rows import by_run
from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.enumeration import Sends, computations
from crownless.spec.orders import ORDERS, UnreceivedPolicy, decide

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


def has_missing_sends(log: Log) -> bool:
    sent = [(process, q, payload) for process, kind, payload, peers in log if kind == "send" for q in peers]
    delivered = [(peers[0], process, payload) for process, kind, payload, peers in log if kind == "deliver"]
    return any(delivered.count(one) > sent.count(one) for one in delivered)


# -- comparison --------------------------------------------------------------------------------------------------------


def judged(lines: Sequence[str], reading: UnreceivedPolicy = "lost") -> list[Classification]:
    log = matched(by_run(rows_of_lines(lines, "log", LogOptions(unnamed=True)), "log"), "log")
    return [classify(one, tuple(ORDERS), reading) for one in converted_runs(log, "log")]


#: The verdicts on a log with holes.
NOTHING_BUT_ASYNCHRONOUS = {order: "kept" if order == "asynchronous" else "unknown" for order in ORDERS}
#: The same without a message to judge.
NOTHING_AT_ALL = NOTHING_BUT_ASYNCHRONOUS | {"asynchronous": "nothing"}


def agree(logs: Sequence[Log], reading: UnreceivedPolicy) -> set[str]:
    """An order is kept if some matching keeps it, and the note says whether each does; which cases there were."""
    seen: set[str] = set()
    for log in logs:
        kept = [{order: decide(c, order, reading).kept for order in ORDERS} for c in all_matchings(log)]
        if has_missing_sends(log):
            (found,) = judged(lines_of(log), reading)
            assert found.outcomes == (NOTHING_BUT_ASYNCHRONOUS if found.subject.messages else NOTHING_AT_ALL), log
        elif not kept:
            seen.add("cyclic")
            with pytest.raises(BadInput, match="the computation is cyclic"):
                judged(lines_of(log), reading)
        else:
            (found,) = judged(lines_of(log), reading)
            expected = {order: "kept" if any(one[order] for one in kept) else "violated" for order in ORDERS}
            if found["total"].outcome == "unknown":
                assert len(kept) > 1
                assert found["total"].unknown == OTHER_MAY_KEEP
                expected["total"] = "unknown"
                seen.add("total perhaps")
            if found.subject.unicasts:
                assert all(one["total"] for one in kept)
                expected["total"] = "nothing"
            assert found.outcomes == expected, (log, reading)
            if expected["fifo"] == "kept":
                forced = all(one["fifo"] for one in kept)
                assert (NO_OTHER in found.subject.notes) == forced, log
                seen.add("forced" if forced else "possible")
            else:
                seen.add("impossible")
    return seen


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
    assert "forced" in agree(all_logs(n, m, payloads, self_sends=self_sends, sends=sends), reading)


@pytest.mark.parametrize("payloads", [("",), ("a", "b")])
def test_every_small_log_of_any_events_has_the_verdicts_of_all_its_matchings(payloads: tuple[str, ...]) -> None:
    """Also of logs that are no computation's, since all matchings are cyclic or a send is missing."""
    logs = []
    for first, second in ((2, 2), (1, 3), (2, 3)) if payloads == ("",) else ((2, 2), (1, 3)):
        each = [list(product(("send", "deliver"), payloads)) for _ in range(first + second)]
        for events in product(*each):
            on_p = [("P", kind, payload, ("Q",)) for kind, payload in events[:first]]
            on_q = [("Q", kind, payload, ("P",)) for kind, payload in events[first:]]
            logs.append((*on_p, *on_q))
    assert {"cyclic", "forced"} <= agree(logs, "lost")


@pytest.mark.parametrize("several", [0.0, 0.5])
def test_random_logs_have_the_verdicts_of_all_their_matchings(several: float) -> None:
    chance = Random(f"{several}")
    logs = []
    for _ in range(120):
        c = random_computation(chance, chance.randint(2, 4), 5, disorder=0.3, loss=0.1, several=several)
        logs.append(without_names(c, chance.choice([[], [chance.choice("abc") for _ in range(5)]])))
    assert agree(logs, "lost") - {"total perhaps"} == {"forced", "possible", "impossible"}


def test_who_waits_for_answers_leaves_no_choice() -> None:
    names = [f"C{k}" for k in range(3)]
    ask = {name: [(name, "send", "", ("S",)), (name, "deliver", "", ("S",))] for name in names}
    answer = {name: [("S", "deliver", "", (name,)), ("S", "send", "", (name,))] for name in names}
    log = [event for of in (ask, answer) for _ in range(100) for name in names for event in of[name]]
    (found,) = judged(lines_of(tuple(log)))
    assert found.outcomes == KEPT_BY_UNICASTS
    assert NO_OTHER in found.subject.notes


# -- the rows ----------------------------------------------------------------------------------------------------------


def event(process: str, index: int, kind: str, peer: object = None, message: object = None) -> str:
    return json.dumps(log_files.event(process, index, kind, message, peer))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([event("P", 0, "deliver")], "log:1: 'peer' is missing; give the sender, a string, since"),
        ([event("P", 0, "deliver", ["Q"])], "log:1: 'peer' cannot be a list; give the sender"),
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
    ],
)
def test_a_bad_line_is_refused(lines: list[str], said: str) -> None:
    with pytest.raises(BadInput) as refused:
        judged(lines)
    assert str(refused.value).startswith(said)


KEPT_FIFO = [event("P", 0, "send", "Q"), event("P", 1, "send", "Q"), event("Q", 0, "deliver", "P")]
OVERTAKEN = [
    event("P", 0, "send", "Q", "a"),
    event("P", 1, "send", "Q", "b"),
    event("Q", 0, "deliver", "P", "b"),
    event("Q", 1, "deliver", "P", "a"),
]


def test_payloads_count_only_where_both_ends_have_them() -> None:
    sends = [event("P", 0, "send", "Q", "a"), event("P", 1, "send", "Q", "b")]
    (unnamed,) = judged([*sends, event("Q", 0, "deliver", "P")])
    assert unnamed.subject.unreceived == (("b@2", "Q"),)
    (named,) = judged([*sends, event("Q", 0, "deliver", "P", "b")])
    assert named.subject.unreceived == (("a@1", "Q"),)


# -- the command -------------------------------------------------------------------------------------------------------


def written(folder: Path, lines: Sequence[str]) -> str:
    return log_files.written(folder, [json.loads(line) for line in lines])


@pytest.mark.usefixtures("in_both_ways")
def test_exit_codes_and_notes(crownless: Crownless, tmp_path: Path) -> None:
    log = written(tmp_path, KEPT_FIFO)
    assert crownless("classify", "--match", log, "--order", "fifo").code == 0
    assert crownless("classify", "--match", log, "--order", "synchronous").code == 1
    answer = crownless("classify", "--match", log, "--unreceived", "pending", "--json")
    assert answer.code == 0
    other = "another matching, which violates fifo: line 3 delivers line 2, and line 1 is not received"
    assert other in answer.json["notes"]
    assert crownless("classify", log).code == 2
    answer = crownless("classify", "--match", written(tmp_path, OVERTAKEN), "--json")
    assert answer.code == 1
    kept = [order for order, found in answer.json["orders"].items() if found["verdict"] == "kept"]
    assert kept == ["asynchronous"]
    assert answer.json["orders"]["fifo"]["witness"]["first"] == "a@1"
    assert crownless("classify", "--match", written(tmp_path, OVERTAKEN[1:])).code == 3
    assert crownless("classify", "--match", written(tmp_path, [event("P", 0, "deliver")])).code == 2
    assert crownless("classify", "--match", "mf-fig8").code == 2


def test_of_many_runs_a_note_says_how_many_it_concerns(crownless: Crownless, tmp_path: Path) -> None:
    runs = [json.loads(line) | {"run": run} for run in range(12) for line in (OVERTAKEN, KEPT_FIFO)[run == 3]]
    out = " ".join(crownless("classify", "--match", log_files.written(tmp_path, runs), "--quiet").out.split())
    assert f"{NO_OTHER} (11 runs)" in out
    assert "line 15 delivers line 14, and line 13 is not received (1 run)" in out
    assert "violated in every matching note" in out  # of all runs


def test_a_log_too_large_to_be_drawn_is_not_referred_to_show_which_cannot_read_it(
    crownless: Crownless, tmp_path: Path
) -> None:
    lines = [event("P", k, "send", "Q") for k in range(21)] + [event("Q", k, "deliver", "P") for k in range(21)]
    assert "not drawn: more than 40 events\n" in crownless("classify", "--match", written(tmp_path, lines)).out


def test_an_empty_input_is_called_empty(crownless: Crownless, tmp_path: Path) -> None:
    (tmp_path / "nothing").write_text("\n")
    answer = crownless("classify", "--match", "--order-by", "line", str(tmp_path / "nothing"))
    assert answer.code == 2
    assert "the input is empty" in answer.err


def test_the_example_is_the_one_on_the_page(crownless: Crownless) -> None:
    example = Path(__file__).parents[2] / "examples" / "no_names.jsonl"
    assert f'```json title="{example.name}"\n{example.read_text("utf-8")}```' in page("event_logs").read_text("utf-8")
    facts = crownless("classify", "--match", str(example), "--json").json
    assert [one["verdict"] for one in facts["orders"].values()] == ["kept", "kept", *["violated"] * 5, "nothing"]
