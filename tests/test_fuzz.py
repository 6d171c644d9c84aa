"""Hostile inputs: none ends in a traceback, a wrong exit code, a hang, or raw control characters on the terminal.

`fuzz_inputs.py` makes them; ``python tests/fuzz_inputs.py`` runs 100,000 of each reader.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import patch

import fuzz_inputs
import pytest
from fuzz_inputs import READERS, Input, Mutator, Reader, fuzz, fuzz_here, run, wrong_with

from crownless.command_line import output
from crownless.model_check import diagram, runs
from crownless.model_check.native import saved_directories

TEXTS = ("computations", "programs", "show", "logs", "settings", "arguments")
SAVED = ("checkpoints", "levels", "costs")


def test_every_reader_is_fuzzed() -> None:
    assert {*TEXTS, *SAVED} == READERS.keys()


@pytest.mark.parametrize("name", TEXTS)
def test_no_hostile_text_does_harm(name: str) -> None:
    assert fuzz_here(name, 0, 2_000) == []


@pytest.mark.parametrize("name", SAVED)
def test_nothing_forged_on_disk_does_harm(name: str) -> None:
    assert fuzz(name, 0, 200) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SAVED)
def test_no_more_forgeries_do_harm(name: str) -> None:
    assert fuzz(name, 200, 1_800) == []


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
        patch.object(output, "printable_lines", str),
    ):
        assert any("prints" in finding for finding in fuzz_here("show", 0, 300))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # of files that a hang leaves open
def test_files_that_are_no_files_are_found() -> None:
    def follow(directory: Path, name: str) -> Any:
        return (directory / name).open("rb")

    with patch.object(saved_directories, "open_regular", follow), patch.object(fuzz_inputs, "SECONDS", 1):
        assert any("more than 1 seconds" in finding for finding in fuzz_here("checkpoints", 0, 200))


class Slow(Reader):
    """Loops for ever."""

    name = "slow"

    def make(self, random: Mutator, directory: Path) -> Input:
        def loop() -> None:
            while True:
                pass

        return Input([], call=loop)


def test_a_hang_is_found(tmp_path: Path) -> None:
    with patch.object(fuzz_inputs, "SECONDS", 1):
        assert fuzz_inputs.one(Slow(), 0, tmp_path) == "more than 1 seconds"


# -- what it found, and was told of ------------------------------------------------------------------------------------


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
