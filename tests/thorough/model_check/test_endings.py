"""Exit codes and last lines of the command: 1 only ever says that something is violated."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from command_line_runner import Crownless

from crownless import command_line
from crownless.command_line import COMMANDS, endings
from crownless.command_line.commands import count

#: Commands that need an argument.
OF_SOMETHING = {*COMMANDS} - {"count", "list", "check", "prove", "claims", "cost", "vectors"}

#: Seconds; they only bound how long a failing test takes.
LONG = 300


def run(script: str, **options: object) -> subprocess.CompletedProcess[str]:
    """A line of a shell, in which `crownless` is this one."""
    environment = {**os.environ, "CROWNLESS": f"{sys.executable} -m crownless"}
    environment.pop(endings.TRACEBACK, None)
    environment.update({name: str(value) for name, value in options.items()})
    line = script.replace("crownless", "$CROWNLESS")
    command = ["bash", "-c", line]
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, timeout=LONG, env=environment
    )


# -- faults ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    ("fault", "code"),
    [(KeyError("x"), 70), (RecursionError(), 70), (MemoryError(), 3), (OSError(5, "failed"), 74)],
    ids=["fault", "recursion", "memory", "output"],
)
def test_no_fault_exits_as_a_violation_does(crownless: Crownless, name: str, fault: Exception, code: int) -> None:
    command = command_line.crownless.get_command(None, name)  # type: ignore[arg-type]
    arguments = ["-n", "2", "-m", "2"] if name == "count" else ["rst"] if name in OF_SOMETHING else []
    with patch.object(command, "invoke", side_effect=fault):
        answer = crownless(name, *arguments)
    assert (answer.code, answer.out, answer.err.count("\n")) == (code, "", 1)
    assert answer.err.startswith("crownless: ")


def test_an_internal_error_says_where_its_traceback_is_kept(
    crownless: Crownless, monkeypatch: pytest.MonkeyPatch
) -> None:
    for shown in (False, True):
        monkeypatch.delenv(endings.TRACEBACK, raising=False)
        if shown:
            monkeypatch.setenv(endings.TRACEBACK, "1")
        with patch.object(count, "count_computations", side_effect=KeyError("x")):
            answer = crownless("count", "-n", "2", "-m", "2")
        kept = Path(answer.err.split()[-1])
        said = "crownless: internal error: KeyError: 'x'; please report it to the developers, with "
        assert (answer.code, "Traceback" in answer.err) == (70, shown)
        assert said in answer.err if shown else answer.err.startswith(said)
        assert "KeyError: 'x'" in kept.read_text()
        assert "Traceback" in kept.read_text()
        kept.unlink()


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("crownless list >/dev/full", 74),
        ("crownless list >/dev/full 2>&1", 74),
        ("crownless check rts 2>/dev/full", 74),
        ("crownless list | head -1 >/dev/null; exit ${PIPESTATUS[0]}", 141),
        ("crownless check rts", 2),
        ("crownless classify - <&-", 2),
    ],
)
def test_output_that_cannot_be_written_has_codes_of_its_own(script: str, code: int) -> None:
    ended = run(script)
    assert ended.returncode == code, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception" not in ended.stderr


# -- input -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("crownless classify - <&-", "-: standard input is closed; give a file"),
        ("crownless classify /dev/zero", "/dev/zero: this is a device, not a file; name a text file"),
        ("crownless show /dev/urandom", "/dev/urandom: this is a device, not a file; name a text file"),
        ("crownless check rst --program /dev/zero", "/dev/zero: this is a device, not a file; name a text file"),
        ("crownless classify /proc/self/mem", "/proc/self/mem: cannot read it: "),
        ("crownless cost --seeds 1000000000000000000000", "--seeds 1000000000000000000000: too large; give 1 to "),
    ],
)
def test_input_that_cannot_be_used_is_one_line(script: str, said: str) -> None:
    ended = run(script)
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"crownless: {said}")


def test_a_pipe_is_read_when_somebody_writes_to_it(crownless: Crownless, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writes = subprocess.Popen(["bash", "-c", f"printf 'P1: send x to P2\nP2: receive x' > {pipe}"])
    assert crownless("classify", pipe).code == 0
    assert writes.wait(LONG) == 0


# -- compiled code -----------------------------------------------------------------------------------------------------


def test_what_is_compiled_is_compiled_anew_after_a_change_of_what_it_calls(tmp_path: Path) -> None:
    """Which may be in another file: Numba looks at the file of the caller alone."""
    package = tmp_path / "crownless"
    shutil.copytree(Path(command_line.__file__).parents[1], package, ignore=shutil.ignore_patterns("__pycache__"))
    called = package / "model_check/native/called.py"
    caller = package / "model_check/native/caller.py"
    called.write_text("from .compiled import compiled\n@compiled\ndef one():\n    return 1\n")
    caller.write_text(
        "from .called import one\nfrom .compiled import compiled\n@compiled\ndef two():\n    return 2 * one()\n"
    )
    command = [sys.executable, "-c", "from crownless.model_check.native.caller import two; print(two())"]

    def answer() -> str:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=LONG)
        return done.stdout

    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with patch.dict(os.environ, environment, clear=True):
        assert answer() == "2\n"
        called.write_text(called.read_text().replace("return 1", "return 7"))
        assert answer() == "14\n"


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("/dev/full", "/dev/full is not a folder; name a new folder, or one that is there"),
        ("/dev/full/x", "/dev/full is not a folder; name a new folder, or one that is there"),
        ("file/x", "file is not a folder; name a new folder, or one that is there"),
    ],
)
def test_a_folder_that_cannot_be_one_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crownless: Crownless, folder: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    code, out, err = crownless("cost", "rst", "-m", "10", "--seeds", "1", "--out", folder)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.endswith(f": {said}\n")
