"""Hostile inputs: none ends in a traceback, a wrong exit code, a hang, or raw control characters on the terminal.

`fuzz_inputs.py` makes them; ``python tests/fuzz_inputs.py`` runs 100,000 of each reader.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest
from fuzz_inputs import READERS, fuzz, prepared
from fuzz_mutations import DEEP, OTHERS, Mutator
from fuzz_readers import Reader
from fuzz_verdicts import Input, run, wrong_with

from crownless.command_line import output
from crownless.model_check import runs
from crownless.model_check.logs import classified, clocked, file_blocks, files, itf, large_run, otlp, shiviz
from crownless.spec.diagrams import diagram

INPUTS, BATCH = 2_000, 250


def test_every_reader_is_fuzzed() -> None:
    assert READERS.keys() == {
        "computations", "programs", "show", "logs", "csv logs", "table logs", "compressed logs", "logs without names",
        "shiviz logs", "otlp logs", "itf traces", "clocked logs", "one-run logs", "settings", "arguments",
    }  # fmt: skip


@pytest.mark.parametrize("first", range(0, INPUTS, BATCH))
@pytest.mark.parametrize("name", READERS)
def test_no_hostile_input_does_harm(name: str, first: int) -> None:
    assert fuzz(READERS[name], first, BATCH) == []


# -- the fuzzer itself -------------------------------------------------------------------------------------------------


def test_an_input_follows_from_its_number(tmp_path: Path) -> None:
    made = []
    for place in ("one", "other"):
        directory = tmp_path / place
        directory.mkdir()
        reader = READERS["show"]()
        reader.prepare(directory)
        reader.make(Mutator("show 7"), directory)
        made.append((directory / "run.json").read_bytes())
    assert made[0] == made[1]


def test_an_input_does_not_depend_on_those_before() -> None:
    def made(number: int) -> Any:
        return Mutator(f"any {number}").tree({"a": [[], {}], "b": []})

    alone = [repr(made(number)) for number in range(2_000)]
    assert [repr(made(number)) for number in range(2_000)] == alone
    assert OTHERS == (None, True, False, [], {}, [[]], {"": {}}, [None] * 3, DEEP)


@pytest.mark.parametrize(
    ("code", "out", "err"),
    [
        (1, "all is well", ""),
        (70, "", "crownless: an internal error\n"),
        ("KeyError at x.py:1: 'y'", "", ""),
        (2, "", "crownless: one\ncrownless: two\n"),
        (2, "", ""),
        (0, "P\x1b[31m1", ""),
        (0, "P\u202e1", ""),
        (3, "", "Traceback (most recent call last)\n"),
    ],
)
def test_what_is_wrong_is_seen(code: int | str, out: str, err: str) -> None:
    assert wrong_with(code, out, err, Input([], violated=("violated",))) is not None


def test_names_printed_raw_are_found() -> None:
    with (
        patch.object(runs, "printable_name", str),
        patch.object(diagram, "printable_name", str),
        patch.object(diagram, "printable_line", str),
        patch.object(output, "printable_line", str),
        patch.object(output, "printable_lines", str),
    ):
        assert any("prints" in finding for finding in fuzz(READERS["show"], 0, 300))


@pytest.mark.parametrize("name", ["csv logs", "table logs", "compressed logs"])
def test_an_error_in_the_reading_of_columns_is_found(name: str) -> None:
    prepared(READERS[name])
    with patch.object(files, "check_columns", side_effect=KeyError("planted")):
        assert any("KeyError" in finding for finding in fuzz(READERS[name], 0, 60))


@pytest.mark.parametrize(
    ("name", "module", "function"),
    [
        ("shiviz logs", shiviz, "immediate_causes"),
        ("otlp logs", otlp, "with_receivers"),
        ("itf traces", itf, "with_receivers"),
        ("clocked logs", clocked, "immediate_causes"),
        ("one-run logs", large_run, "by_run"),
        ("one-run logs", file_blocks, "as_plain_rows"),
    ],
)
def test_an_error_in_the_reading_of_another_format_is_found(name: str, module: ModuleType, function: str) -> None:
    prepared(READERS[name])
    with patch.object(module, function, side_effect=KeyError("planted")):
        assert any("KeyError" in finding for finding in fuzz(READERS[name], 0, 60))


def test_logs_that_the_monitor_decides_are_among_them() -> None:
    prepared(READERS["table logs"])
    with patch.object(classified, "classified", side_effect=KeyError("planted")):
        assert any("KeyError" in finding for finding in fuzz(READERS["table logs"], 0, 100))


class Harmful(Reader):
    """Does harm by the number of its input; only the first and the last do none."""

    name = "harmful"

    def sound(self, directory: Path) -> Iterator[Input]:
        yield Input(["list"])

    def make(self, random: Mutator, directory: Path) -> Input:
        harm: list[Callable[[], object]] = [
            lambda: None,
            lambda: signal.Signals[""],
            lambda: (directory / "stray").touch(),
            lambda: None,
        ]
        number = next(
            number for number in range(len(harm)) if Mutator(f"harmful {number}").getstate() == random.getstate()
        )
        return Input([], call=harm[number])

    def cleanup(self, directory: Path) -> None:
        (directory / "stray").unlink(missing_ok=True)


def test_each_kind_of_harm_is_found_and_the_next_input_runs() -> None:
    assert [finding.split(":")[:2] for finding in fuzz(Harmful, 0, 4)] == [
        ["harmful 1", " KeyError at enum.py"],
        ["harmful 2", " leaves files behind"],
    ]


# -- what it found, and what was reported ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'[{"protocol": "p", "process_names": ' + b"9" * 5_000 + b', "properties": []}]',
        b'[{"protocol": "p", "process_names": [NaN], "properties": []}]',
        b'[{"protocol": "p", "process_names": ["P\\ud800"], "properties": []}]',
        b'[{"protocol": "p", "process_names": ["P1"], "properties": [{"name": "x", "run": [{}]}]}]',
        b'[{"protocol": "p", "process_names": {}, "properties": []}]',
        b'[{"protocol": 3, "protocol": "p", "process_names": ["P1", "P1"], "properties": [{"name": "x", "run": []}]}]',
        b"[\x00]",
        b"\xff\xfe[\x00",
        b"\xef\xbb\xbf[{}]",
        b"[]garbage",
    ],
    ids=lambda content: repr(content[:12]),
)
def test_json_that_is_no_run_is_refused_in_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(content)
    given = Input(["show", str(tmp_path / "run.json")])
    code, out, err = run(given)
    assert wrong_with(code, out, err, given) is None
    assert (code, out) == (2, "")


@pytest.mark.parametrize("name", ["/dev/zero", "x" * 300, "a\nb", "\x1b[31m.txt", "\udcff.txt", ".", "nowhere/x"])
@pytest.mark.parametrize("verb", [["classify"], ["show"], ["check", "rst", "--program"]])
def test_a_file_that_cannot_be_read_is_said_to_be_one(verb: list[str], name: str) -> None:
    given = Input([*verb, name])
    code, out, err = run(given)
    assert wrong_with(code, out, err, given) is None
    assert (code, out) == (2, "")
    assert "write" not in err.replace("write one line", "")
