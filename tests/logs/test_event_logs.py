"""Event logs: what is read of a good one, what is said of a bad one, and what stands when events are lost."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import log_files
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from log_files import by_the_monitor, classified, rows_of  # noqa: F401

from crownless.oracle.logs.event_logs import LoggedRun, read_log
from crownless.oracle.logs.lost_events import gap
from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation
from crownless.testing import computations


def event(process: Any, index: Any, kind: Any, message: Any = None, peer: Any = None, **more: Any) -> str:
    return json.dumps(log_files.event(process, index, kind, message, peer, **more))


def read(*lines: str) -> LoggedRun:
    (run,) = read_log(lines)
    return run


def in_words(c: Computation) -> list[str]:
    """The events, line after line."""
    return [c.say(e) for e in range(c.event_count)]


def receivers(c: Computation) -> dict[str, list[str]]:
    return {message.name: [c.processes[q] for q in message.receivers] for message in c.messages}


# -- good logs ---------------------------------------------------------------------------------------------------------


def test_a_log_of_one_run_is_one_computation_without_holes() -> None:
    run = read(
        event("P1", 0, "send", "x", "P2"),
        event("P2", 0, "deliver", "x", "P1"),
        event("P2", 1, "internal"),
        event("P2", 2, "send", "y", ["P1", "P3"]),
        event("P3", 0, "receive", "y"),
    )
    assert (run.run, run.holes) == ("", ())
    assert run.computation.processes == ("P1", "P2", "P3")
    assert in_words(run.computation) == [
        "P1 sends x",
        "P2 receives x",
        "internal event at P2",
        "P2 sends y",
        "P3 receives y",
    ]
    assert receivers(run.computation) == {"x": ["P2"], "y": ["P1", "P3"]}
    assert run.computation.unreceived == ((1, 0),)


def test_interleaved_runs_are_separated_and_come_in_order_of_first_appearance() -> None:
    names = [("b", "P2"), (7, "P3"), ("b", "P2"), ("7", "P3")]
    sends = [event("P1", 0, "send", "x", name, run=run) for run, name in names[:2]]
    delivers = [event(name, 0, "deliver", "x", run=run) for run, name in names[2:]]
    runs = list(read_log([*sends, *delivers]))
    assert [run.run for run in runs] == ["b", "7"]
    assert [in_words(run.computation)[1] for run in runs] == ["P2 receives x", "P3 receives x"]


def test_blank_lines_further_keys_nulls_and_integer_names_are_accepted() -> None:
    run = read(
        "",
        '{"process": "P1", "index": 0, "kind": "send", "message": 5, "peer": "P2", "run": null, "clock": [1, 0]}\n',
        "  \n",
        '{"process": "P2", "index": 0, "kind": "deliver", "message": "5", "peer": null, "at": "noon"}\n',
    )
    assert in_words(run.computation) == ["P1 sends 5", "P2 receives 5"]
    assert run.holes == ()


def test_a_run_in_which_1_is_the_least_index_counts_from_1() -> None:
    assert read(event("P1", 1, "send", "x", "P2"), event("P2", 1, "deliver", "x")).holes == ()
    assert read(event("P1", 0, "send", "x", "P2"), event("P2", 1, "deliver", "x")).holes == (gap("P2", 0, 0),)
    assert read(event("P1", 2, "send", "x", "P2")).holes == (gap("P1", 0, 1),)


# -- holes -------------------------------------------------------------------------------------------------------------


def test_a_message_that_may_have_been_delivered_in_a_gap_does_not_count_as_sent_there() -> None:
    run = read(
        event("P1", 0, "send", "x", ["P2", "P3", "P4"]),
        event("P1", 1, "send", "y", "P2"),
        event("P2", 2, "internal"),
        event("P2", 6, "internal"),
        event("P4", 0, "deliver", "x"),
    )
    assert run.holes == (gap("P2", 0, 1), gap("P2", 3, 5))
    assert in_words(run.computation) == [
        "P1 sends x",
        "internal event at P1",
        "internal event at P2",
        "internal event at P2",
        "P4 receives x",
    ]
    assert receivers(run.computation) == {"x": ["P3", "P4"]}
    assert [run.computation.processes[q] for _, q in run.computation.unreceived] == ["P3"]
    assert run.perhaps_received == (("x", "P2"), ("y", "P2"))


#: The events of a run, in an order in which they may happen.
LOGS = computations(messages=7, receivers=2, self_sends=True).filter(lambda c: c.event_count > 0).map(rows_of)


def read_rows(rows: Iterable[dict[str, object]]) -> LoggedRun:
    return read(*(json.dumps(row) for row in rows))


@given(LOGS, st.randoms(use_true_random=False))
def test_a_whole_log_has_no_holes_and_reads_the_same_in_any_order(
    rows: list[dict[str, object]], random: Random
) -> None:
    run = read_rows(rows)
    assert run.holes == ()
    assert run.computation.event_count == len(rows)
    assert read_rows(random.sample(rows, len(rows))) == run


@given(LOGS, st.data())
def test_what_is_read_of_a_log_with_losses_is_certain(rows: list[dict[str, object]], data: st.DataObject) -> None:
    kept = data.draw(st.lists(st.sampled_from(rows), min_size=1, unique_by=id))
    # With every first event lost the log looks as if it counted from 1, which is accepted.
    assume(any(row["index"] == 0 for row in kept))
    lost = [row for row in rows if row not in kept]
    whole, part = read_rows(rows).computation, read_rows(kept).computation

    in_whole = []
    for process in part.processes:
        first = whole.first_event[whole.processes.index(process)]
        in_whole += [
            first + index for index in sorted(int(str(row["index"])) for row in kept if row["process"] == process)
        ]
    for e in range(part.event_count):
        for f in range(part.event_count):
            assert not part.happened_before(e, f) or whole.happened_before(in_whole[e], in_whole[f])

    all_receivers = receivers(whole)
    assert all(set(to) <= set(all_receivers[message]) for message, to in receivers(part).items())
    truly_unreceived = {(whole.messages[m].name, whole.processes[q]) for m, q in whole.unreceived}
    delivered = {row["message"] for row in kept if row["kind"] == "deliver"}
    for m, q in part.unreceived:
        process = part.processes[q]
        if (part.messages[m].name, process) not in truly_unreceived:
            # Only a loss that nothing shows can be taken for the end of the line.
            last = max((int(str(row["index"])) for row in kept if row["process"] == process), default=-1)
            lost_there = [row for row in lost if row["process"] == process]
            assert all(int(str(row["index"])) > last for row in lost_there)
            assert not any(row["kind"] == "send" and row["message"] in delivered for row in lost_there)


# -- bad logs ----------------------------------------------------------------------------------------------------------

OBJECT = "give one event per line, as a JSON object"
NOT_JSON = f"{OBJECT}, as jq -c '.[]' does with a list; classify --skip-bad leaves out truncated lines"
PROCESS = "give the name of the event's process, a string"
INDEX = "give the event's number on its process, an integer counted from 0, or a timestamp by --order-by"
HIDDEN = 'no name holds "\\n", which does not show'
KINDS = "send, deliver, receive, internal"
MESSAGE = "give the message's name, a string or an integer, or add --match if the log has none"
RECEIVER = "give the receiver, a string, or a list of receivers; if no send names one: --column peer=-"
OWN_INDEX = "number the events of a process 0, 1, 2, …, or --order-by another column; distinguish runs by 'run'"
ONCE = "give each event once, and distinguish runs by 'run'; classify --skip-bad leaves out copies"
EACH = (
    "--column process=THAT --order-by THAT --column kind=THAT --column message=THAT --column peer=THAT "
    "(or peer=-, if sends do not name receivers)"
)
IF_TWICE = "if the system really does this: classify --complete; otherwise give each message of a run its own name"
OWN_NAME = "give each message of a run its own name"
CORRECT = "the 'peer' of a deliver is the sender: correct it, or leave it out"
IN_QUOTES = "not JSON: Expecting property name enclosed in double quotes"
TOO_MUCH = "not JSON: a number is too long, or the nesting too deep"
CYCLIC = "the computation is cyclic: P1 receives x (line 1) → P1 sends x (line 2) → P1 receives x (line 1)"

SEND = event("P1", 0, "send", "x", "P2")
DELIVER = event("P2", 0, "deliver", "x", "P1")
SENDERS = "2: the sender of x is given as P1 and by P3: lines 1 and 2"


def sends(message: object = None, peer: object = None) -> list[str]:
    return [event("P1", 0, "send", message, peer)]


#: Lines, the error after the name of the file, and its hint.
BAD: list[tuple[list[str], str, str]] = [
    ([SEND, '{"process": P2}', DELIVER], "2:13: not JSON: Expecting value", NOT_JSON),
    (["", "[", SEND, ",", DELIVER, "]"], "2:2: not JSON: Expecting value", NOT_JSON),
    ([SEND, "{", "}"], f"2:2: {IN_QUOTES}", NOT_JSON),
    (["[" * 100_000], f"1: {TOO_MUCH}", NOT_JSON),
    (["9" * 10_000], f"1: {TOO_MUCH}", NOT_JSON),
    ([SEND, "", "[]"], "3: a list is not an event", OBJECT),
    ([SEND, "", f"{DELIVER} {{}}"], "3:80: not JSON: Extra data", NOT_JSON),
    ([event("P1", 1.0, "internal")], "1: 'index' cannot be 1.0", INDEX),
    (["17"], "1: 17 is not an event", OBJECT),
    (
        ["{}"],
        "1: 'process', 'index', 'kind', 'message' and 'peer' are missing",
        f"it has no columns; map them with {EACH}",
    ),
    ([event(3, 0, "internal")], "1: 'process' cannot be 3", PROCESS),
    ([event("a\nb", 0, "internal")], "1: 'process' cannot be \"a\\nb\"", f"{PROCESS}; {HIDDEN}"),
    ([event("P1", None, "internal")], "1: 'index' is missing", INDEX),
    ([event("P1", "7", "internal")], "1: 'index' cannot be \"7\"", INDEX),
    ([event("P1", True, "internal")], "1: 'index' cannot be true", INDEX),
    ([event("P1", -1, "internal")], "1: 'index' is -1", "count the events of a process from 0"),
    ([event("P1", 0, None)], "1: 'kind' is missing", f"give one of {KINDS}"),
    (
        [event("P1", 0, "sned")],
        "1: unknown kind 'sned'",
        f"known: {KINDS}; map it with --kind sned=send, or =deliver or =internal",
    ),
    (sends(), "1: 'message' is missing", MESSAGE),
    (sends({"id": 1}, "P2"), "1: 'message' cannot be an object", MESSAGE),
    (sends("\n" + "x" * 99), f"1: 'message' cannot be \"\\n{'x' * 36}…", f"{MESSAGE}; {HIDDEN}"),
    ([event("P1", 0, "internal", run=0.5)], "1: 'run' cannot be 0.5", "give the run's name, a string or an integer"),
    (sends("x"), "1: 'peer' is missing", RECEIVER),
    (sends("x", ["P2", 3]), "1: 'peer' cannot be 3", RECEIVER),
    (sends("x", []), "1: P1 sends x without a receiver", "name a receiver in 'peer'"),
    (sends("x", ["P2"] * 2), "1: P1 sends x to P2 twice", "name each receiver once in 'peer'"),
    ([event("P2", 0, "deliver", "x", [])], "1: 'peer' cannot be a list", "give the sender, a string, or leave it out"),
    ([SEND, DELIVER, event("P1", 0, "internal")], "3: P1 has two events 0: lines 1 and 3", OWN_INDEX),
    ([SEND, DELIVER, SEND], "3: P1 has two events 0, one a copy of the other: lines 1 and 3", ONCE),
    ([SEND, event("P2", 0, "send", "x", "P1")], "2: x is sent twice: lines 1 and 2", OWN_NAME),
    ([SEND, DELIVER, event("P2", 1, "deliver", "x")], "3: P2 delivers x twice: lines 2 and 3", IF_TWICE),
    (
        [event("P3", 0, "deliver", "x"), *sends("x", ["P2", "P4"])],
        "1: P3 delivers x, which is sent to P2, P4: lines 1 and 2",
        "name P3 in the 'peer' of the send",
    ),
    ([SEND, event("P2", 0, "deliver", "x", "P3")], SENDERS, CORRECT),
    ([event("P2", 0, "deliver", "x", "P3"), event("P4", 0, "deliver", "x", "P1")], SENDERS, CORRECT),
    (
        [event("P1", 0, "deliver", "x"), event("P1", 1, "send", "x", "P1")],
        CYCLIC,
        "no message can be received before it is sent",
    ),
]


@pytest.mark.parametrize(("lines", "said", "hint"), BAD)
@pytest.mark.usefixtures("by_the_monitor")
def test_an_error_says_where_what_and_how_to_fix_it_in_small_logs_and_in_large_ones(
    tmp_path: Path, lines: list[str], said: str, hint: str
) -> None:
    expected = f"some.jsonl:{'' if said[0].isdigit() else ' '}{said}; {hint}"
    with pytest.raises(BadInput) as problem:
        list(read_log(lines, "some.jsonl"))
    assert str(problem.value) == expected
    file = tmp_path / "some.jsonl"
    file.write_text("\n".join(lines))
    with pytest.raises(BadInput) as problem:
        classified(str(file))
    assert str(problem.value) == f"{tmp_path}/{expected}"


def test_a_cyclic_run_is_named() -> None:
    lines = [
        event("P1", 0, "send", "x", "P2", run="good"),
        event("P1", 0, "deliver", "x", run="bad"),
        event("P1", 1, "send", "x", "P1", run="bad"),
    ]
    with pytest.raises(BadInput) as problem:
        list(read_log(lines, "some.jsonl"))
    assert str(problem.value).startswith("some.jsonl: run bad: the computation is cyclic: ")
    assert "leave run bad out to have the others judged" in problem.value.hint


def around(n: int, first: int = 0) -> list[str]:
    """Each of n processes receives the message of the one before it, acts, and sends its own to the next."""
    lines = []
    for p in range(n):
        lines.append(event(f"P{p}", first, "deliver", f"m{p}"))
        lines.append(event(f"P{p}", first + 1, "internal"))
        lines.append(event(f"P{p}", first + 2, "send", f"m{(p + 1) % n}", f"P{(p + 1) % n}"))
    return lines


def test_of_a_long_cycle_the_first_steps_are_said_and_of_several_a_short_one() -> None:
    with pytest.raises(BadInput) as problem:
        list(read_log(around(50)))
    assert problem.value.message.count(" → ") == 8
    assert problem.value.message.endswith("P3 sends m4 (line 12) → … (100 events)")
    # P1 also sends to P0, which receives that first: a cycle of two messages.
    shorter = [event("P1", 13, "send", "back", "P0"), event("P0", 9, "deliver", "back")]
    with pytest.raises(BadInput) as problem:
        list(read_log([*around(50, 10), *shorter]))
    assert problem.value.message.count(" → ") == 4
