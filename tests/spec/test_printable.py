"""Names reach the terminal only escaped, whichever command prints them; JSON has them exactly."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Input, run_hostile, wrong_with
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

import crownless as cr
from crownless.drawing.text import draw
from crownless.impl.protocol import Packet, Parameter, ProtocolMachine, Step
from crownless.impl.protocols.unordered import Unordered
from crownless.runtime.printable import (
    LONGEST_LINE,
    LONGEST_NAME,
    as_json,
    is_shown,
    printable,
    printable_line,
    printable_name,
)
from crownless.spec.computation import Computation, Event, Message

HOSTILE = (
    "\x1b[31mred",
    "\x1b]0;title\x07",
    "\u202eabc\u202c",
    "a\nb",
    "a\r\x08b",
    "zero\u200bwidth\ufeff",
    "\u3164\u2800",
    "\x9b2J",
    "[bold red]x[/]",
    ":smile: {0} %s",
    "漢字" * 20,
    "e\u0301\u0301",
    "x" * 5_000,
)


@given(st.text())
def test_what_is_printed_is_shown_as_itself(text: str) -> None:
    for shown in (printable(text), printable_name(text), printable_line(text)):
        assert all(map(is_shown, shown))
        assert "\n" not in shown
    assert len(printable_name(text)) <= LONGEST_NAME


@given(st.text(st.characters(codec="utf-8")))
def test_json_is_exact_and_shown_as_itself(text: str) -> None:
    for ascii_only in (False, True):
        said = as_json({text: [text]}, indent=1, ascii_only=ascii_only)
        assert json.loads(said) == {text: [text]}
        assert all(is_shown(character) or character == "\n" for character in said)
        assert said.isascii() or not ascii_only


def test_what_every_terminal_shows_stays_and_long_names_are_cut() -> None:
    for name in ("P1", "Zoë", "приём", "漢字", "मराठी", "\U0001f600", "[red]", "a b", "\\n"):
        assert printable(name) == printable_name(name) == name
    assert printable_name("x" * 61) == "x" * 59 + "…"


def test_a_line_is_cut_by_its_length_as_printed_and_no_escape_is_cut_in_two() -> None:
    for text in (
        "a" * 5_000,
        "\x1b" * 1_999,
        "\u202e" * 400 + "end",
        "x" * 1_499 + "\udcad" * 500,
        "\U000e0100" * 9_999,
    ):
        line = printable_line(text)
        assert len(line) <= LONGEST_LINE
        assert " … " in line
        assert printable(line) == line
        assert {*re.findall(r"\\.", line)} <= {r"\x", r"\u", r"\U"}
        assert not re.search(r"\\(x.?|u.{0,3}|U.{0,7})( |$)", line)
    assert printable_line("\x1b" * 500) == r"\x1b" * 500


def test_wide_names_keep_the_drawing_aligned() -> None:
    c = Computation(("漢字漢字", "P2"), (Message("漢", 0, (1,)),), ((Event("send", 0),), (Event("receive", 0),)))
    rows = draw(c).splitlines()
    second = cell_len(rows[1][: rows[1].rindex("┃")])
    assert second == cell_len(rows[2][: rows[2].rindex("●")])
    assert second == cell_len(rows[3][: rows[3].rindex("┃")])


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_no_verb_prints_a_name_raw(name: str, tmp_path: Path) -> None:
    packet = {"kind": name, "message": name, "to": name}
    action = {"process": name, "action": name, "message": name, "to": [name], "transmits": [packet], "from": name}
    action = {**action, "packet": name, "happens": [{"event": name, "message": name}]}
    check = {"protocol": name, "process_names": [name], "properties": [{"name": name, "run": [action]}]}
    (tmp_path / "run.json").write_text(json.dumps([check]), "utf-8")
    row = {"run": "r", "process": "P1", "index": 0, "kind": "send", "message": "x", "peer": "P2"}
    commands = [["show", "run.json"], ["show", "run.json", "--json"], ["show", "run.json", "--ascii"]]
    for key in ("run", "process", "message", "peer", "kind"):
        (tmp_path / f"{key}.jsonl").write_text(json.dumps({**row, key: name}), "utf-8")
        commands += [["classify", f"{key}.jsonl"], ["classify", f"{key}.jsonl", "--json"], ["show", f"{key}.jsonl"]]
    for text in (f"{name}: send x to P2\nP2:", f"P1: send {name} to P2\nP2: receive {name}", name):
        (tmp_path / f"{len(commands)}.txt").write_text(text, "utf-8")
        bounds = ["--engine", "plain", "--max-states", "9"]
        commands += [
            ["classify", f"{len(commands)}.txt"],
            ["check", "unordered", "--program", f"{len(commands)}.txt", *bounds],
        ]
    commands = [[str(tmp_path / word) if (tmp_path / word).is_file() else word for word in words] for words in commands]
    commands += [
        [name],
        ["check", name],
        ["check", "rst", "--program", name],
        *(["check", "rst", f"--{option}", name] for option in ("set", "order", "channel", "clock", "crash", "engine")),
        *(["check", "rst", f"--{option}", name] for option in ("resume", "sends", "reduce", "max-memory", "master")),
        ["classify", name],
        ["classify", "mf-fig1", "--order", name],
        ["show", name],
        ["realize", name],
        ["realize", "rst", "--set", name],
        ["prove", name],
        ["claims", name],
        ["cost", name],
        ["cost", "--workload", name],
        ["count", "-n", name, "-m", "1"],
    ]
    for words in commands:
        code, out, err = run_hostile(Input(words))
        assert wrong_with(code, out, err, Input(words, frozenset({0, 3}), ("violated",))) is None, words


def hostile_machine(name: str) -> type[ProtocolMachine]:
    """Breaks an invariant, and has a witness, a rule, a parameter and packets of that name."""

    class Named(Unordered):
        symmetric = False
        invariants = {f"{name} is kept": lambda machine, i, state: False}
        witnesses = {f"{name} is met": lambda machine, i, state: False}
        rules = {f"{name} is used": lambda machine, transition: False}
        parameters = {f"k{name}": Parameter(name, lambda n: 1, 1, name)}
        remark = f"with {name}"

        def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
            return [
                step._replace(packets=[packet._replace(kind=name) for packet in step.packets])
                for step in super().send(i, state, message)
            ]

    Named.__name__ = name
    return Named


class Misnamed(Unordered):
    def on_packet(self, i: int, state: Any, packet: Packet) -> Any:
        return None


def said_from_python(name: str) -> list[str]:
    """What results and errors say of what has this name, all that is no plain datum."""
    checked = cr.check(hostile_machine(name), processes=2, messages=2)
    sends, receives = (Event("send", 0), Event("send", 1)), (Event("receive", 1), Event("receive", 0))
    messages = (Message(f"{name}1", 0, (1,)), Message(f"{name}2", 0, (1,)))
    classified = cr.classify(Computation((f"P{name}", f"Q{name}"), messages, (sends, receives)))
    realized = cr.realize(hostile_machine(name), processes=2, messages=2)
    results = [checked, *(checked[each] for each in checked), classified, *classified.values(), realized]
    said = [text for result in results for text in (str(result), repr(result))]
    misnamed = type(name, (Misnamed,), {})
    calls: list[Callable[[], Any]] = [
        lambda: cr.check(misnamed, processes=2, messages=2),
        lambda: cr.check(name),
        lambda: cr.check("rst", channel=name),
    ]
    for call in calls:
        with pytest.raises(cr.BadInput) as error:
            call()
        said.append(str(error.value))
    return [*said, *(verdict.because for verdict in classified.values())]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_no_result_and_no_error_says_a_name_raw(name: str) -> None:
    for text, usual in zip(said_from_python(name), said_from_python("usual"), strict=True):
        assert text.count("\n") == usual.count("\n"), text
        assert all(map(is_shown, text.replace("\n", ""))), text


def test_json_output_has_names_exactly(tmp_path: Path) -> None:
    for name in HOSTILE:
        action = {"process": name, "action": "send", "message": name, "to": [name], "transmits": [], "happens": []}
        check = {"protocol": "p", "process_names": [name], "properties": [{"name": "x", "run": [action]}]}
        (tmp_path / "run.json").write_text(json.dumps([check]), "utf-8")
        _, out, _ = run_hostile(Input(["show", str(tmp_path / "run.json"), "--json"]))
        assert json.loads(out)["runs"] == [{"processes": [name], "violates": ["x"], "run": [action]}]
