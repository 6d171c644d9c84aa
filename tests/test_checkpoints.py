"""Checkpoints, through the command line: what is found in parts is what one search finds; nothing damaged or foreign is
gone on with.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from crownless.command_line import main
from crownless.model_check import check as checking
from crownless.model_check.check import run_check
from crownless.model_check.engines import COMPILES, why_not_applicable
from crownless.model_check.native import saved_requests
from crownless.model_check.native.checkpoints import CHECKPOINT, Checkpoint, checkpoint_in
from crownless.model_check.native.saved_directories import MANIFEST, manifest_in
from crownless.model_check.native.saved_requests import check_of, request_of
from crownless.model_check.request import Check
from crownless.model_check.suite import checks as suite
from crownless.runtime.ending import Limits, Stopped

Run = Callable[..., tuple[int, str, str]]

PROGRAM = "P1: send x to P3; send y to P2\nP2: receive; send z to P3\nP3: receive from P2; receive from P1\n"


@pytest.fixture
def crownless(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `crownless` in this process: its exit code, what it printed, and what it said."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as exit_:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert isinstance(exit_.value.code, int)
        return exit_.value.code, printed.out, printed.err.replace(f"crownless: {COMPILES}\n", "")

    return run


def facts(out: str) -> dict[str, Any]:
    """All that a check says in JSON, but for how long it took."""
    (found,) = json.loads(out)["checks"]
    assert isinstance(found, dict)
    assert found.pop("seconds") >= 0
    return found


def go_on(directory: Path) -> str:
    name = shlex.quote(str(directory))
    return f"crownless: saved in {name}; go on with: crownless check --resume {name}\n"


def level(directory: Path) -> int:
    """The level that is saved; -1: none."""
    path = directory / MANIFEST
    return json.loads(path.read_text("utf-8"))["facts"]["level"] if path.exists() else -1


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A checkpoint of `rst -n 3 -m 3`."""
    directory = tmp_path / "saved"
    assert run_check(Check("rst", 3, 3), Limits(states=100), workers=2, checkpoint=directory).saved == directory
    return directory


# -- the same answers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        "rst -n 3 -m 4",
        "kearns -m 3 --channel fifo",  # all rows are kept: its space is not graded
        "ses -n 4 -m 4 --reduce all",
        "unordered -n 3 -m 3 --clock vector-times --self-sends",  # breaks causal order
        "buffer-bounded -m 2 --set output=2 --channel lossy",
        "murty-garg --program mf-program-3",
    ],
)
def test_a_search_in_parts_finds_what_one_search_finds(arguments: str, crownless: Run, tmp_path: Path) -> None:
    command = ["check", *arguments.split(), "--json"]
    code, out, _ = crownless(*command, "--workers", "2")
    whole = facts(out)
    directory = tmp_path / "a new one" / "of ours"
    stopped, out, err = crownless(
        *command, "--checkpoint", directory, "--workers", "1", "--max-states", whole["states"] // 3
    )
    assert (stopped, err) == (code or 3, go_on(directory))
    assert facts(out)["states"] < whole["states"]
    stopped, out, err = crownless(
        *command, "--resume", directory, "--workers", "3", "--max-states", whole["states"] * 2 // 3
    )
    assert (stopped, err) == (code or 3, go_on(directory))
    assert whole["states"] // 3 < facts(out)["states"] < whole["states"]
    resumed, out, err = crownless("check", "--resume", directory, "--json", "--workers", "2")
    assert (resumed, facts(out), err) == (code, whole, "")
    assert not directory.exists()


def process(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "crownless", *arguments, "--save-every", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(reached: int, directory: Path) -> None:
    until = time.monotonic() + 60
    while level(directory) < reached:
        assert time.monotonic() < until, "it does not get there"
        time.sleep(0.01)


def test_a_killed_search_goes_on(crownless: Run, tmp_path: Path) -> None:
    arguments = ["rst", "-n", "3", "-m", "6"]
    directory = tmp_path / "saved"
    with process("check", *arguments, "--checkpoint", str(directory), "--workers", "1") as search_:
        wait_for(7, directory)
        search_.kill()
    assert search_.returncode == -signal.SIGKILL
    assert level(directory) < 12
    with process("check", "--resume", str(directory)) as search_:
        wait_for(8, directory)
        search_.kill()
    assert search_.returncode == -signal.SIGKILL
    _, out, err = crownless("check", "--resume", directory, "--json", "--workers", "2")
    assert err == ""
    _, whole, _ = crownless("check", *arguments, "--json", "--workers", "2")
    assert facts(out) == facts(whole)
    assert not directory.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--save-every", "1"), "--save-every: the search is not saved; leave out --save-every"),
        (("--save-every", "nan", "--checkpoint", "new"), "--save-every nan: not a number of seconds; such as 60"),
    ],
)
def test_an_interval_that_says_nothing_is_refused(
    crownless: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert crownless("check", "rst", "-m", "2", *arguments) == (2, "", f"crownless: {message}\n")
    assert not list(tmp_path.iterdir())


def test_ctrl_c_leaves_a_checkpoint(crownless: Run, tmp_path: Path) -> None:
    arguments = ["ses", "-n", "3", "-m", "5"]
    directory = tmp_path / "it's"
    with process("check", *arguments, "--checkpoint", str(directory), "--json", "--workers", "2") as search_:
        wait_for(6, directory)
        search_.send_signal(signal.SIGINT)
        out, err = search_.communicate()
    assert (search_.returncode, err.replace(f"crownless: {COMPILES}\n", "")) == (3, go_on(directory))
    assert "interrupted" in facts(out)["scope"]
    code, out, err = crownless("check", *arguments, "--resume", directory, "--json", "--workers", "1")
    assert (code, err) == (0, "")
    _, whole, _ = crownless("check", *arguments, "--json", "--workers", "1")
    assert facts(out) == facts(whole)


def test_ctrl_c_while_a_run_to_show_is_looked_for_reports_what_is_saved(
    crownless: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    arguments = ["check", "unordered", "-m", "3"]
    directory = tmp_path / "saved"
    with patch.object(checking, "shortest_run", side_effect=Stopped("interrupted")):
        code, out, err = crownless(*arguments, "--checkpoint", directory)
        assert (code, err) == (1, "")
        assert "the search for one to show ended early: interrupted" in out
        assert not directory.exists()
        code, out, err = crownless(*arguments, "--checkpoint", directory, "--save-every", "0")
        assert (code, err) == (1, go_on(directory))
    assert crownless("check", "--resume", directory)[0] == 1
    assert not directory.exists()


def test_seconds_are_of_all_parts(saved: Path) -> None:
    path = saved / MANIFEST
    manifest = json.loads(path.read_text("utf-8"))
    manifest["facts"]["result"]["seconds"] = 1000.0
    checkpoint = Checkpoint(saved, manifest["question"], resume=True)
    assert checkpoint.saved is not None
    checkpoint.save(manifest["facts"], checkpoint.saved[1])
    found = run_check(Check("rst", 3, 3), resume=saved)
    assert 1000 < found.seconds < 1060
    assert 1000 < found.exploration.seconds < found.seconds


def test_what_is_saved_names_the_whole_check(tmp_path: Path) -> None:
    others = [
        Check("buffer-bounded", parameters={"output": 2}, clocks=("vector-times", "lamport-times")),
        Check("isis-gc", 2, 3, parameters={"rounds": (1, 0)}),
        Check("unordered", 2, 3, channel="lossy", orders=("n-n", "fifo"), sends="broadcast", self_sends=True),
    ]
    for k, check in enumerate([*others, *(one for one in suite() if why_not_applicable(one, engine="native") is None)]):
        directory = tmp_path / str(k)
        question = request_of(check.resolve(), ["symmetry"])
        checkpoint = Checkpoint(directory, question, resume=False)
        checkpoint.save({}, {})
        again, reductions = check_of(manifest_in(directory, CHECKPOINT)["question"])
        assert request_of(again.resolve(), reductions) == question
        assert again.resolve().orders == check.resolve().orders
        assert again.resolve().clocks == check.resolve().clocks


# -- what is refused ---------------------------------------------------------------------------------------------------

OTHER = "request the same check as then, or start anew with --checkpoint and another directory"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("rst", "messages 3, not 4"),
        ("-m 4", "messages 3, not 4"),
        ("ses -m 3 --channel fifo", "protocol rst, not ses; channel unordered, not fifo"),
        ("--sends unicast --self-sends", "self_sends no, not yes"),
        ("--order causal", "orders fifo,causal, not causal"),
        ("--clock vector-times", "clocks none, not vector-times"),
        ("--reduce all", "reductions none, not symmetry,order"),
        ("rst --program mf-fig1", "processes 3, not 2; messages 3, not 2; program none, not mf-fig1; sends"),
        (
            "buffer-bounded -m 3 --set output=2",
            "protocol rst, not buffer-bounded; parameters none, not output=2,input=1",
        ),
    ],
)
def test_another_check_is_refused(arguments: str, message: str, saved: Path, crownless: Run) -> None:
    code, out, err = crownless("check", *arguments.split(), "--resume", saved)
    assert (code, out) == (2, "")
    assert err.startswith(f"crownless: --resume {saved}: is of another check: {message}")
    assert err.endswith(f"; {OTHER}\n")
    assert err.count("\n") == 1
    assert level(saved) >= 0


def test_what_is_the_same_by_default_is_the_same_check(saved: Path, crownless: Run) -> None:
    assert crownless("check", "rst", "-m", "3", "--resume", saved, "--order", "fifo", "--order", "causal")[0] == 0


def test_a_program_is_held_to_what_it_says(tmp_path: Path, crownless: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "mine.txt"
    program.write_text(PROGRAM, "utf-8")
    stop = ["--max-states", "3"]
    assert crownless("check", "rst", "--program", "mine.txt", "--checkpoint", "saved", *stop)[0] == 3
    monkeypatch.chdir("/")
    saved = tmp_path / "saved"
    program.write_text(PROGRAM.replace("; ", " ;  ") + "# a comment\n", "utf-8")
    assert crownless("check", "--resume", saved, *stop)[::2] == (3, go_on(saved))
    program.write_text(PROGRAM.replace(" from P2", ""), "utf-8")
    changed = f"crownless: --resume {saved}: is of another check: program mine.txt as it was then, and it has changed; "
    assert crownless("check", "--resume", saved)[::2] == (2, f"{changed}{OTHER}\n")
    code, _, err = crownless("check", "--resume", saved, "-n", "3")
    message = "is of another check: of the program mine.txt; leave out -n, -m, --sends and --self-sends"
    assert (code, err) == (2, f"crownless: --resume {saved}: {message}\n")
    program.unlink()
    assert crownless("check", "--resume", saved)[::2] == (
        2,
        f"crownless: {program}: cannot read it: No such file or directory; name a text file or a log\n",
    )
    (tmp_path / "moved.txt").write_text(PROGRAM, "utf-8")
    assert crownless("check", "rst", "--program", tmp_path / "moved.txt", "--resume", saved)[0] != 2
    assert not saved.exists()


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def put(path: Path, old: str, new: str) -> None:
    content = path.read_text("utf-8")
    assert old in content
    path.write_text(content.replace(old, new, 1), "utf-8")


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a missing manifest": (lambda d: (d / MANIFEST).unlink(), "no checkpoint there"),
    "an empty manifest": (lambda d: (d / MANIFEST).write_text(""), "manifest.json: damaged"),
    "a manifest cut short": (lambda d: cut(d / MANIFEST), "manifest.json: damaged"),
    "a manifest of something else": (lambda d: (d / MANIFEST).write_text("[1]"), "manifest.json: damaged"),
    "a flipped bit in the manifest": (lambda d: flip(d / MANIFEST, 900), "manifest.json: damaged"),
    "another count": (lambda d: put(d / MANIFEST, '"states": ', '"states": 1'), "manifest.json: damaged"),
    "another format": (
        lambda d: put(d / MANIFEST, CHECKPOINT.format, "crownless checkpoint 0"),
        "written by another version (crownless 0.1.0, crownless checkpoint 0)",
    ),
    "another version": (
        lambda d: put(d / MANIFEST, '"version": "0.1.0"', '"version": "0.0.9"'),
        "written by another version (crownless 0.0.9, crownless checkpoint 3)",
    ),
    "a flipped bit": (lambda d: flip(next(d.glob("*-level-1.npy")), -3), "part-1-level-1.npy: damaged or missing"),
    "a file cut short": (lambda d: cut(d / "part-1-log.npy"), "part-1-log.npy: damaged or missing"),
    "a missing file": (lambda d: (d / "part-1-level-0.npy").unlink(), "part-1-level-0.npy: damaged or missing"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_refused(damage: str, saved: Path, crownless: Run) -> None:
    do, message = DAMAGES[damage]
    do(saved)
    before = sorted(path.name for path in saved.iterdir())
    for arguments in (["rst", "-n", "3", "-m", "3"], []):
        code, out, err = crownless("check", *arguments, "--resume", saved)
        assert (code, out) == (2, "")
        assert err.startswith(f"crownless: --resume {saved}: {message}; ")
        assert err.count("\n") == 1
    assert sorted(path.name for path in saved.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--checkpoint x", "--checkpoint: one check is saved, not several; name one protocol"),
        ("rst ses --checkpoint x", "--checkpoint: one check is saved, not several; name one protocol"),
        ("rst ses --resume x", "--resume: one check is saved, not several; name one protocol"),
        (
            "rst --engine plain --checkpoint x",
            "--checkpoint: the plain explorer does not save itself; {leave}",
        ),
        (
            "rst --crash P1 --checkpoint x",
            "--checkpoint: the plain explorer does not save itself: the native engine knows no crashes; {leave}",
        ),
        (
            "rst --checkpoint x --resume x",
            "--checkpoint: a resumed search is saved further in the directory of --resume; {leave}",
        ),
        (
            "rst --resume x",
            (
                "--resume x: no checkpoint there; start with --checkpoint; "
                "a check that came to its end, or was killed at once, leaves none"
            ),
        ),
        (
            "--resume x",
            (
                "--resume x: no checkpoint there; start with --checkpoint; "
                "a check that came to its end, or was killed at once, leaves none"
            ),
        ),
        ("rst -n 0 --checkpoint x", "-n/--processes 0: nothing to explore; give 1 to 16 processes"),
        (
            "rst --checkpoint /dev/null",
            "--checkpoint /dev/null: not a directory; name a new directory, or an empty one",
        ),
        (
            "rst --checkpoint /dev/null/x",
            "--checkpoint /dev/null/x: cannot be written: Not a directory; name a directory that can be written",
        ),
        (
            "rst --checkpoint .",
            "--checkpoint .: holds other files, such as mine.npy; name a new directory, or an empty one",
        ),
    ],
)
def test_what_cannot_be_saved_is_refused_in_one_line(
    arguments: str, message: str, crownless: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.npy").touch()
    message = message.replace("{leave}", "leave out --checkpoint")
    assert crownless("check", *arguments.split()) == (2, "", f"crownless: {message}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.npy"]


def test_no_directory_has_no_name(crownless: Run) -> None:
    message = "crownless: --checkpoint, --resume: the name of the directory is empty; name one\n"
    assert crownless("check", "rst", "--checkpoint", "") == (2, "", message)


def test_a_checkpoint_is_not_overwritten(saved: Path, crownless: Run) -> None:
    message = f"holds a checkpoint already; go on with it by --resume {saved}, or name another directory"
    expected = (2, "", f"crownless: --checkpoint {saved}: {message}\n")
    assert crownless("check", "rst", "-m", "3", "--checkpoint", saved) == expected


def test_two_searches_do_not_save_to_one_directory(saved: Path, crownless: Run) -> None:
    check = Check("rst", 3, 3)
    with checkpoint_in(saved, request_of(check.resolve(), []), resume=True):
        message = "another search is saving there; wait for its end, or name another"
        expected = (2, "", f"crownless: --resume {saved}: {message}\n")
        assert crownless("check", "rst", "-m", "3", "--resume", saved) == expected
    assert crownless("check", "rst", "-m", "3", "--resume", saved)[0] == 0


# -- the directory -----------------------------------------------------------------------------------------------------


def test_of_a_finished_search_nothing_is_left_but_what_was_there(crownless: Run, tmp_path: Path) -> None:
    directory = tmp_path / "there"
    directory.mkdir()
    (directory / "part-9-log.npy").touch()  # of a search that was killed before it had saved itself
    assert crownless("check", "rst", "-m", "3", "--checkpoint", directory, "--save-every", "0")[::2] == (0, "")
    assert not list(directory.iterdir())
    code, _, err = crownless("check", "rst", "-m", "3", "--checkpoint", directory, "--max-states", "100")
    assert (code, err) == (3, go_on(directory))
    (directory / "notes.txt").touch()
    assert crownless("check", "--resume", directory)[::2] == (0, "")
    assert [path.name for path in directory.iterdir()] == ["notes.txt"]


def failing_from(number: int) -> Callable[[int], None]:
    """A disk that is full from the so-manieth file on."""
    left = [number]
    sync = os.fsync

    def fsync(file: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(file)

    return fsync


def test_a_search_that_cannot_save_goes_on(crownless: Run, tmp_path: Path) -> None:
    directory = tmp_path / "full"
    saving = ("--checkpoint", directory, "--save-every", "0")
    with patch.object(os, "fsync", failing_from(1)):
        code, out, err = crownless("check", "rst", "-m", "3", *saving, "--workers", "1", "--json")
    assert code == 0
    message = (
        f"cannot save to {directory}/part-1-level-0.npy: No space left on device; the search goes on without saving"
    )
    assert err == f"crownless: {message}\n"
    assert facts(out) == facts(crownless("check", "rst", "-m", "3", "--workers", "1", "--json")[1])
    assert not directory.exists()


def test_what_was_saved_stays_if_saving_fails(crownless: Run, tmp_path: Path) -> None:
    directory = tmp_path / "full"
    files = 5  # log, level, which are new; the manifest; the directory
    saving = ("--checkpoint", directory, "--save-every", "0")
    with patch.object(os, "fsync", failing_from(3 * files + 3)):
        code, _, err = crownless("check", "rst", "-m", "3", *saving, "--workers", "1", "--max-states", "300")
    assert code == 3
    message = (
        f"cannot save to {directory}/{MANIFEST}.partial: No space left on device; the search goes on without saving"
    )
    assert err == f"crownless: {message}, and what was saved before stays\n{go_on(directory)}"
    assert sorted(path.name for path in directory.iterdir()) == [
        MANIFEST,
        "part-3-level-0.npy",
        "part-3-level-new-0.npy",
        "part-3-log.npy",
    ]
    _, out, err = crownless("check", "--resume", directory, "--json", "--workers", "2")
    assert err == ""
    assert facts(out) == facts(crownless("check", "rst", "-m", "3", "--workers", "2", "--json")[1])


def test_monitors_and_kernels_are_part_of_what_is_saved(saved: Path, crownless: Run) -> None:
    with patch.object(saved_requests, "_package_digest", lambda: "other code"):
        code, out, err = crownless("check", "--resume", saved)
    assert (code, out) == (2, "")
    assert "crownless, or the protocol, as its code was then, and it has changed" in err
    assert crownless("check", "--resume", saved)[0] == 0


def test_the_digest_of_the_code_covers_it() -> None:
    folders = {file.parent.name for file in saved_requests.code_files()}
    assert {"spec", "impl", "model_check", "native", "exploration"} <= folders
    names = {file.name for file in saved_requests.code_files()}
    assert {"monitors.py", "mask_kernels.py", "full_kernels.py", "clocks.py", "rst.py", "levels.py"} <= names
