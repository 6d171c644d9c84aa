"""Logs without names of messages: the verdicts are those of all matchings, one by one, on every small log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import log_files
import pytest
from command_line_runner import Crownless
from doc_pages import page
from log_files import in_both_ways  # noqa: F401
from log_rows import KEPT_BY_UNICASTS
from logs_without_names import (
    agree,
    event,
    judged,
    lines_of,
)

from crownless.oracle.log_orders.matching import NO_OTHER
from crownless.runtime.errors import BadInput


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


def test_who_waits_for_answers_leaves_no_choice() -> None:
    names = [f"C{k}" for k in range(3)]
    ask = {name: [(name, "send", "", ("S",)), (name, "deliver", "", ("S",))] for name in names}
    answer = {name: [("S", "deliver", "", (name,)), ("S", "send", "", (name,))] for name in names}
    log = [event for of in (ask, answer) for _ in range(100) for name in names for event in of[name]]
    (found,) = judged(lines_of(tuple(log)))
    assert found.outcomes == KEPT_BY_UNICASTS
    assert NO_OTHER in found.subject.notes


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
