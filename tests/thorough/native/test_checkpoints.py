"""Checkpoints: a search in parts finds what one search finds; what is damaged or of another check is refused."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from command_line_runner import Crownless
from native_engine_setup import question, reported

from crownless.model_check.check.check import run_check
from crownless.model_check.check.suite import rows
from crownless.model_check.native.checkpoints import CHECKPOINT, FORMAT, Checkpoint, checkpoint_in, header_in, locked
from crownless.model_check.native.saved_requests import check_of, request_of
from crownless.model_check.search.engines import admitted
from crownless.model_check.system.request import Check, ResolvedCheck, load_program
from crownless.runtime import ending
from crownless.runtime.ending import Limits
from crownless.runtime.errors import BadInput

PROGRAM = "P1: send x to P3; send y to P2\nP2: receive; send z to P3\nP3: receive from P2; receive from P1\n"
ROOT = Path(__file__).parents[3]
OTHER = "repeat the original check, or start anew with --checkpoint and another directory"


def facts(out: str) -> dict[str, Any]:
    """All that a check says in JSON, except the seconds."""
    (found,) = json.loads(out)["checks"]
    assert isinstance(found, dict)
    assert found.pop("seconds") >= 0
    return found


def go_on(directory: Path) -> str:
    name = shlex.quote(str(directory))
    return f"crownless: saved in {name}; resume with: crownless check --resume {name}\n"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A checkpoint of `rst -n 3 -m 3`."""
    directory = tmp_path / "saved"
    assert run_check(Check("rst", 3, 3), Limits(states=100), workers=2, checkpoint=directory).saved == directory
    return directory


# -- the same answers --------------------------------------------------------------------------------------------------

#: Graded and not, blocked programs, several channels, with symmetry reduction and without.
SEARCHES: tuple[tuple[str, int | None, int | None, dict[str, Any], bool], ...] = (
    ("rst", 3, 3, {"channel": "fifo"}, False),
    ("rendezvous", 3, 2, {}, False),
    ("buffer", 3, 2, {"channel": "fifo"}, True),
    ("unordered", 3, 3, {"orders": ("n-n", "synchronous"), "channel": "lossy"}, True),
    ("murty-garg", None, None, {"program": load_program("mf-fig8")}, False),
)


@pytest.mark.parametrize(("protocol", "n", "m", "options", "symmetry"), SEARCHES, ids=lambda value: str(value)[:30])
def test_a_search_in_parts_finds_what_one_search_finds(
    tmp_path: Path, protocol: str, n: int | None, m: int | None, options: dict[str, Any], symmetry: bool
) -> None:
    both = question(protocol, n, m, **options)
    expected = both.native(symmetry=symmetry)
    for k, stops in enumerate(([1], [expected.states // 3, 2 * expected.states // 3])):
        directory = tmp_path / str(k)
        for part, states in enumerate(stops):
            with checkpoint_in(directory, {}, resume=part > 0) as checkpoint:
                limits = Limits(states=states)
                stopped = both.native(1 + part % 2, symmetry=symmetry, limits=limits, checkpoint=checkpoint)
                assert stopped.stopped == f"state limit of {states:,} reached"
        with checkpoint_in(directory, {}, resume=True) as checkpoint:
            found = both.native(2, symmetry=symmetry, checkpoint=checkpoint)
        assert reported(found) == reported(expected)
        assert found.levels == expected.levels


@pytest.mark.parametrize(
    "arguments",
    [
        "kearns -m 3 --channel fifo",
        "unordered -n 3 -m 3 --clock vector-times --self-sends --reduce symmetry",
        "buffer-bounded -m 2 --set output=2 --channel lossy",
        "murty-garg --program mf-program-3",
        "isis -n 3 -m 3 --crash P2",
    ],
)
def test_the_command_line_goes_on_with_the_saved_check(arguments: str, crownless: Crownless, tmp_path: Path) -> None:
    command = ["check", *arguments.split(), "--json"]
    code, out, _ = crownless(*command, "--workers", "2")
    whole = facts(out)
    directory = tmp_path / "a new one" / "it's"
    stop = whole["states"] // 2
    stopped, out, err = crownless(*command, "--checkpoint", directory, "--workers", "1", "--max-states", stop)
    assert (stopped, err) == (code or 3, go_on(directory))
    assert facts(out)["states"] < whole["states"]
    resumed, out, err = crownless("check", "--resume", directory, "--json", "--workers", "2")
    assert (resumed, facts(out), err) == (code, whole, "")
    assert not directory.exists()


def test_a_search_that_ended_at_the_first_violation_resumes_in_its_level(crownless: Crownless, tmp_path: Path) -> None:
    command, saved = ("check", "unordered", "-n", "2", "-m", "3", "--json"), tmp_path / "saved"
    first, whole = (facts(crownless(*command, "--engine", "native", *more).out) for more in (["--first"], []))
    assert facts(crownless(*command, "--first", "--checkpoint", saved).out) == first
    for more, expected in ((["--first"], first), (["--first"], first), ([], whole)):
        resumed = crownless("check", "--resume", saved, "--json", *more)
        assert (resumed.code, facts(resumed.out)) == (1, expected)
    assert not saved.exists()


def test_a_protocol_of_ones_own_is_named_again(crownless: Crownless, tmp_path: Path) -> None:
    command = ("check", f"{ROOT / 'examples/total_order/sequencer.py'}:Sequencer", "-n", "2", "-m", "2")
    saved = tmp_path / "saved"
    stopped, _, err = crownless(*command, "--checkpoint", saved, "--max-states", "9")
    again = f"the same command, with --resume {saved} in place of --checkpoint"
    assert (stopped, err) == (3, f"crownless: saved in {saved}; resume with: {again}\n")
    stopped, _, err = crownless(*command, "--resume", saved, "--max-states", "20")
    assert (stopped, err) == (3, f"crownless: saved in {saved}; resume with: the same command\n")
    stopped, _, err = crownless(*command, "--resume", saved, "--max-memory", "1T", "--max-states", "30")
    assert (stopped, "--max-memory" in err) == (3, False)
    with patch.object(ending, "memory_in_use", side_effect=[0] + [2 << 30] * 1000):
        stopped, _, err = crownless(*command, "--resume", saved, "--max-memory", "1G")
    assert stopped == 3
    assert f"saved in {saved}; give a larger --max-memory, and resume with: the same command\n" in err
    assert "before it was resumed" not in crownless(*command).out
    code, out, err = crownless(*command, "--resume", saved)
    assert (code, err) == (0, "")
    assert " s of it before it was resumed\n" in out
    assert not saved.exists()


#: A search in a process of its own that saves every level; the arguments are the directory and the level to wait at.
HELPERS = Path(__file__).parents[2] / "helpers"
SEARCH = """
import os, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from native_engine_setup import question
from crownless.model_check.native.checkpoints import checkpoint_in
from crownless.runtime.ending import stoppable, Limits

def progress(found, level):
    if level == 4:
        print("ready", flush=True)
        time.sleep(0.05 if sys.argv[3] == "interrupted" else 60)

limits = Limits()
with stoppable(limits, time.monotonic), checkpoint_in(Path(sys.argv[2]), {}, resume=False, every=0) as checkpoint:
    print(question("rst", 3, 3, "fifo").search(2).explore(limits, progress=progress, checkpoint=checkpoint).stopped)
"""


@pytest.mark.parametrize("how", ["killed", "interrupted"])
def test_a_search_that_is_killed_or_interrupted_goes_on(how: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", SEARCH, str(HELPERS), str(tmp_path / "saved"), how]
    # Another seed than ours: nothing depends on the order of sets.
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGKILL if how == "killed" else signal.SIGINT)
        out, _ = process.communicate(timeout=120)
    assert (process.returncode, out.endswith("interrupted\n")) in [(-signal.SIGKILL, False), (0, True)]
    both = question("rst", 3, 3, "fifo")
    with checkpoint_in(tmp_path / "saved", {}, resume=True) as checkpoint:
        assert checkpoint.saved is not None
        assert checkpoint.saved[0].level == 4
        assert reported(both.native(checkpoint=checkpoint)) == reported(both.plain())


def test_every_level_can_be_saved_and_only_the_last_is_kept(tmp_path: Path) -> None:
    both = question("rst", 3, 3)
    (tmp_path / "checkpoint.partial").touch()  # of a search that was killed while it saved
    with checkpoint_in(tmp_path, {}, resume=False, every=0) as checkpoint:
        assert reported(both.native(checkpoint=checkpoint)) == reported(both.plain())
        assert [path.name for path in tmp_path.iterdir()] == [CHECKPOINT]
        checkpoint.remove()
    assert not tmp_path.exists()


def test_a_saved_request_names_the_whole_check() -> None:
    others = [
        Check("buffer-bounded", parameters={"output": 2}, clocks=("vector-times", "lamport-times")),
        Check("isis-gc", 2, 3, parameters={"rounds": (1, 0)}),
        Check("unordered", 2, 3, channel="lossy", orders=("n-n", "fifo"), sends="broadcast", self_sends=True),
    ]
    for check in [*others, *(row.check for row in rows() if isinstance(admitted(row.check, "native"), ResolvedCheck))]:
        request = json.loads(json.dumps(request_of(check.resolve(), ["symmetry"])))
        again, reductions = check_of(request)
        assert json.loads(json.dumps(request_of(again.resolve(), reductions))) == request


# -- what is refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("-m 4", "messages 3, not 4"),
        ("ses -m 3 --channel fifo", "protocol rst, not ses; channel unordered, not fifo"),
        ("--sends unicast --self-sends", "self_sends no, not yes"),
        ("--order causal", "orders fifo,causal, not causal"),
        ("--reduce symmetry", "reductions none, not symmetry"),
        ("--crash P2", "crash none, not P2"),
        ("rst --program mf-fig1", "processes 3, not 2; messages 3, not 2; program none, not mf-fig1; sends"),
    ],
)
def test_another_check_is_refused(arguments: str, message: str, saved: Path, crownless: Crownless) -> None:
    code, out, err = crownless("check", *arguments.split(), "--resume", saved)
    assert (code, out) == (2, "")
    assert err.startswith(f"crownless: --resume {saved}: saved by a different check: {message}")
    assert err.endswith(f"; {OTHER}\n")
    assert err.count("\n") == 1


def test_a_program_is_the_same_by_its_statements(tmp_path: Path, crownless: Crownless) -> None:
    program, saved = tmp_path / "mine.txt", tmp_path / "saved"
    program.write_text(PROGRAM, "utf-8")
    stop = ["--max-states", "3"]
    assert crownless("check", "rst", "--program", program, "--checkpoint", saved, *stop)[0] == 3
    program.write_text(PROGRAM.replace(" from P2", ""), "utf-8")
    code, _, err = crownless("check", "rst", "--program", program, "--resume", saved)
    assert code == 2
    assert f"saved by a different check: program {program} with other statements; " in err
    code, _, err = crownless("check", "--resume", saved, "-n", "3")
    message = f"the saved check runs the program {program}; leave out -n, -m, --sends and --self-sends"
    assert (code, err) == (2, f"crownless: --resume {saved}: {message}\n")
    program.write_text(PROGRAM.replace("; ", " ;  ") + "# a comment\n", "utf-8")
    assert crownless("check", "rst", "--program", program, "--resume", saved, *stop)[::2] == (3, go_on(saved))
    program.unlink()
    assert crownless("check", "--resume", saved)[0] != 2
    assert not saved.exists()


def test_a_damaged_checkpoint_is_refused(saved: Path, crownless: Crownless) -> None:
    path = saved / CHECKPOINT
    whole = path.read_bytes()
    middle = whole[: len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 4]) + whole[len(whole) // 2 + 1 :]
    message = (
        f"crownless: --resume {saved}: {CHECKPOINT}: damaged; start anew with --checkpoint and another directory\n"
    )
    for content in (b"", whole[:-1], whole[: len(whole) // 2], middle, b"[1]"):
        path.write_bytes(content)
        for arguments in (["rst", "-n", "3", "-m", "3"], []):
            assert crownless("check", *arguments, "--resume", saved) == (2, "", message)
    path.unlink()
    assert "no checkpoint there" in crownless("check", "--resume", saved)[2]


def test_a_checkpoint_of_another_version_or_code_is_refused(
    saved: Path, crownless: Crownless, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = request_of(Check("rst", 3, 3).resolve(), [])
    with pytest.raises(BadInput, match="the code of crownless or of the protocol has changed since"):
        Checkpoint(saved, {**request, "code": "other"}, resume=True)
    monkeypatch.setattr("crownless.model_check.native.checkpoints.FORMAT", "crownless 0.0.9, checkpoint 5")
    code, _, err = crownless("check", "--resume", saved)
    assert code == 2
    assert "written by another version; use that version, or start anew" in err


def test_tables_that_other_code_fills_otherwise_are_refused(tmp_path: Path) -> None:
    for k, (then, now) in enumerate((("rst", "ses"), ("unordered", "buffer"), ("buffer", "rst"))):
        with checkpoint_in(tmp_path / str(k), {}, resume=False) as checkpoint:
            question(then, 3, 3).native(limits=Limits(states=100), checkpoint=checkpoint)
        with (
            checkpoint_in(tmp_path / str(k), {}, resume=True) as checkpoint,
            pytest.raises(BadInput, match="the protocol's code has changed since"),
        ):
            question(now, 3, 3).native(checkpoint=checkpoint)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--checkpoint x", "--checkpoint needs exactly one protocol; name one protocol"),
        ("rst ses --resume x", "--resume needs exactly one protocol; name one protocol"),
        (
            "ses-rollback --crash P1 --checkpoint x",
            (
                "--checkpoint: the plain explorer cannot save its search: the native engine does not support agreement "
                "of survivors; leave out --checkpoint"
            ),
        ),
        (
            "rst --checkpoint x --resume x",
            ("--checkpoint: a resumed search is saved further in the directory of --resume; leave out --checkpoint"),
        ),
        (
            "rst --resume x",
            (
                "--resume x: no checkpoint there; start with --checkpoint; a check that came to its end, or was killed "
                "at once, leaves none"
            ),
        ),
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
        ("rst --checkpoint ", "--checkpoint: the directory name is empty; name one"),
    ],
)
def test_a_search_that_cannot_be_saved_is_refused_in_one_line(
    arguments: str, message: str, crownless: Crownless, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.npy").touch()
    assert crownless("check", *arguments.split(" ")) == (2, "", f"crownless: {message}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.npy"]


def test_one_search_saves_to_a_directory(saved: Path, crownless: Crownless) -> None:
    message = f"already holds a checkpoint; resume it with --resume {saved}, or name another directory"
    expected = (2, "", f"crownless: --checkpoint {saved}: {message}\n")
    assert crownless("check", "rst", "-m", "3", "--checkpoint", saved) == expected
    (saved / "notes.txt").touch()
    assert crownless("check", "rst", "-m", "3", "--resume", saved)[0] == 0
    assert [path.name for path in saved.iterdir()] == ["notes.txt"]


def test_a_search_that_cannot_save_goes_on(tmp_path: Path) -> None:
    both, reports, sync = question("rst", 3, 3), list[str](), os.fsync
    calls: list[int] = []

    def full(file: int) -> None:
        """A disk that is full from the third file on."""
        calls.append(file)
        if len(calls) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(file)

    with (
        checkpoint_in(tmp_path, {}, resume=False, every=0, report=reports.append) as checkpoint,
        patch.object(os, "fsync", full),
    ):
        assert reported(both.native(checkpoint=checkpoint)) == reported(both.plain())
    why = "No space left on device; the search continues without saving, and what was saved before stays"
    assert reports == [f"cannot save to {tmp_path}: {why}"]
    assert header_in(tmp_path, "native")["search"]["level"] == 1


@pytest.mark.parametrize("resume", [False, True])
def test_a_second_search_in_the_same_directory_is_refused(saved: Path, tmp_path: Path, *, resume: bool) -> None:
    directory = saved if resume else tmp_path / "new"
    with locked(saved, "") if resume else checkpoint_in(directory, {}, resume=False):
        for option in ("--checkpoint", "--resume"):
            where = re.escape(f"{option} {directory}: another search is saving there; wait until")
            with pytest.raises(BadInput, match=where), checkpoint_in(directory, {}, resume=option == "--resume"):
                pass
    assert resume == directory.exists()


def test_the_lock_of_a_killed_search_is_gone(saved: Path, crownless: Crownless) -> None:
    code = "import sys, time; from pathlib import Path; from crownless.model_check.native.checkpoints import locked\n"
    code += "with locked(Path(sys.argv[1]), ''): print(flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", code, str(saved)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        busy = crownless("check", "--resume", saved)
        assert (busy.code, "another search is saving there" in busy.err) == (2, True)
        other.kill()
    assert crownless("check", "--resume", saved).code == 0


@pytest.mark.parametrize(
    "header",
    [
        b"", b"[]", b"{", b"\xff", b"3", b'{"format": 1}', b'{"format": "x"}',
        *[json.dumps({"format": FORMAT, "engine": "native", "request": request, "search": search}).encode()
          for request, search in (({}, {}), ([], {}), ({"protocol": 1}, None), ({"protocol": "rst"}, []))],
    ],
)  # fmt: skip
def test_a_whole_archive_with_a_malformed_header_is_refused(saved: Path, crownless: Crownless, header: bytes) -> None:
    with np.load(saved / CHECKPOINT) as arrays:
        others = {name: arrays[name] for name in arrays.files if name != "header"}
    np.savez(saved / CHECKPOINT, **others, header=np.frombuffer(header, np.uint8))
    for command in (["check", "--resume", saved], ["check", "rst", "-m", "3", "--resume", saved]):
        code, out, err = crownless(*command)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith(f"crownless: --resume {saved}: ")


@pytest.mark.parametrize("changed", ["search", "arrays"])
def test_a_header_without_what_a_search_saves_is_refused(saved: Path, crownless: Crownless, changed: str) -> None:
    with np.load(saved / CHECKPOINT) as arrays:
        kept = {name: arrays[name] for name in arrays.files}
    if changed == "search":
        header = json.loads(kept["header"].tobytes())
        kept["header"] = np.frombuffer(json.dumps({**header, "search": {"level": "x"}}).encode(), np.uint8)
    else:
        kept = {"header": kept["header"]}
    np.savez(saved / CHECKPOINT, **kept)
    code, out, err = crownless("check", "--resume", saved)
    expected = (
        f"crownless: --resume {saved}: {CHECKPOINT}: damaged; start anew with --checkpoint and another directory\n"
    )
    assert (code, out, err) == (2, "", expected)
