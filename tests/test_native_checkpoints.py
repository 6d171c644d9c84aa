"""A search of the native engine that is stopped, interrupted or killed goes on; what is damaged is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from native_engine_setup import Question, question, reported

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.registry import PROTOCOLS
from crownless.impl.rst import Rst
from crownless.model_check.native.checkpoints import CHECKPOINT, Checkpoint
from crownless.model_check.native.saved_directories import MANIFEST
from crownless.model_check.request import load_program
from crownless.runtime.ending import INTERRUPTED, Limits
from crownless.spec.computation import Message
from crownless.spec.errors import BadInput

HERE = Path(__file__).parent


# -- checkpoints -------------------------------------------------------------------------------------------------------

#: What is saved: graded and not, with blocked programs, over every channel, with every reduction.
SAVED: tuple[tuple[str, int | None, int | None, dict[str, Any], tuple[str, ...]], ...] = (
    ("rst", 3, 3, {}, ()),
    ("rst", 3, 3, {"channel": "fifo"}, ()),
    ("rendezvous", 3, 2, {}, ()),
    ("murty-garg", 2, 2, {"channel": "duplicating"}, ()),
    ("buffer", 3, 2, {"channel": "fifo"}, ("symmetry",)),
    ("isis", 3, 3, {}, ("order",)),
    ("unordered", 3, 3, {"orders": ("n-n", "synchronous"), "channel": "lossy"}, ("symmetry",)),
    ("unordered", 3, 4, {"channel": "fifo"}, ("symmetry", "order")),
    ("murty-garg", None, None, {"program": load_program("mf-fig8")}, ()),
)


def saved(directory: Path, *, resume: bool, ask: str = "this", save_every: float | None = None) -> Checkpoint:
    return Checkpoint(directory, {"ask": ask}, resume=resume, save_every=save_every)


@pytest.mark.parametrize(
    ("protocol", "n", "m", "facts", "reductions"), SAVED, ids=lambda value: str(value)[:40] if value else "none"
)
def test_a_search_that_is_stopped_and_goes_on_finds_the_same(
    tmp_path: Path, protocol: str, n: int | None, m: int | None, facts: dict[str, Any], reductions: tuple[str, ...]
) -> None:
    both = question(protocol, n, m, **facts)
    expected = both.native(reductions=reductions)
    quarter = expected.states // 4
    for k, stops in enumerate(((1,), (quarter,), (1, 2 * quarter), (quarter, 2 * quarter, 3 * quarter))):
        directory = tmp_path / str(k)
        for hop, states in enumerate(stops):
            checkpoint = saved(directory, resume=hop > 0)
            part = both.native(1 + hop % 2, reductions, limits=Limits(states=states), checkpoint=checkpoint)
            assert part.stopped == f"{states} states are reached"
        found = both.native(1 + len(stops) % 2, reductions, checkpoint=saved(directory, resume=True))
        assert reported(found) == reported(expected), stops
        assert found.levels == expected.levels


def test_what_is_saved_after_every_level_can_be_gone_on_from(tmp_path: Path) -> None:
    both = question("rst", 3, 3, "fifo")
    expected = both.native()
    assert reported(both.native(checkpoint=saved(tmp_path, resume=False, save_every=0))) == reported(expected)
    # That left the last level but one, and now each is saved once more.
    assert reported(both.native(2, checkpoint=saved(tmp_path, resume=True, save_every=0))) == reported(expected)
    assert len(list(tmp_path.glob("*.npy"))) == len(manifest_in(tmp_path)["files"])


def times_of_saves(directory: Path, *, of_a_level: float, of_a_save: float, save_every: float | None) -> list[float]:
    """When a search of 9 levels saves itself, if each level and each save takes so many seconds."""
    times = [0.0]
    saves = list[float]()

    class Timed(Checkpoint):
        @property
        def is_due(self) -> bool:
            times[0] += of_a_level
            return super().is_due

        def _write(self, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
            super()._write(facts, arrays)
            saves.append(times[0])
            times[0] += of_a_save

    checkpoint = Timed(directory, {}, resume=False, save_every=save_every, clock=lambda: times[0])
    assert len(question("rst", 3, 4).native(checkpoint=checkpoint).levels) == 10  # the last one is empty
    return saves


@pytest.mark.parametrize("of_a_level", [0.5, 1, 5, 24])
def test_a_search_is_first_saved_after_a_few_seconds(tmp_path: Path, of_a_level: float) -> None:
    first, *_ = times_of_saves(tmp_path, of_a_level=of_a_level, of_a_save=0.1, save_every=None)
    assert first < 2 + of_a_level


@pytest.mark.parametrize("of_a_save", [0.001, 0.2, 2])
def test_saving_takes_a_twenty_fifth_of_the_time_at_most(tmp_path: Path, of_a_save: float) -> None:
    saves = times_of_saves(tmp_path, of_a_level=4, of_a_save=of_a_save, save_every=None)
    assert all(later - earlier >= 25 * of_a_save for earlier, later in pairwise(saves))
    assert len(saves) >= (2 if of_a_save < 1 else 1)


def test_a_search_is_saved_as_often_as_is_asked(tmp_path: Path) -> None:
    assert times_of_saves(tmp_path / "each", of_a_level=4, of_a_save=0, save_every=0) == [4 * k for k in range(1, 10)]
    assert times_of_saves(tmp_path / "60", of_a_level=20, of_a_save=0, save_every=60) == [60, 120, 180]


def test_what_a_limit_of_time_stops_can_be_gone_on_from(tmp_path: Path) -> None:
    both = question("rst", 3, 3)
    found = both.native(limits=Limits(seconds=0), checkpoint=saved(tmp_path, resume=False))
    assert (found.stopped, found.states) == ("0 seconds are over", 1)
    again = both.native(limits=Limits(memory=1), checkpoint=saved(tmp_path, resume=True))
    assert again.stopped == "0 MiB of memory are used"
    assert reported(both.native(checkpoint=saved(tmp_path, resume=True))) == reported(both.native())


def manifest_in(directory: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((directory / MANIFEST).read_text("utf-8"))
    return manifest


@pytest.fixture
def stopped(tmp_path: Path) -> tuple[Question, Path]:
    """A search stopped half way, and where it is saved."""
    both = question("rst", 3, 3, "fifo")
    both.native(2, limits=Limits(states=500), checkpoint=saved(tmp_path / "saved", resume=False))
    return both, tmp_path / "saved"


def refused(directory: Path, *said: str, ask: str = "this") -> None:
    """A checkpoint there is refused, in one line that says this."""
    with pytest.raises(BadInput) as error:
        saved(directory, resume=True, ask=ask)
    line = str(error.value)
    assert "\n" not in line
    for part in (str(directory), *said):
        assert part in line


def test_a_damaged_file_is_refused_by_its_name(stopped: tuple[Question, Path]) -> None:
    both, directory = stopped
    files = sorted(directory.glob("*.npy"))
    assert len(files) >= 5
    for file in files:
        whole = file.read_bytes()
        for damaged in (
            whole[:-1],
            whole[: len(whole) // 2],
            b"",
            whole + b"\0",
            *(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in (0, 9, len(whole) // 2, len(whole) - 1)),
        ):
            file.write_bytes(damaged)
            refused(directory, file.name, "damaged or missing", "start anew")
        file.unlink()
        refused(directory, file.name, "damaged or missing", "start anew")
        file.write_bytes(whole)
    assert reported(both.native(checkpoint=saved(directory, resume=True))) == reported(both.plain())


def test_a_damaged_manifest_is_refused(stopped: tuple[Question, Path]) -> None:
    _, directory = stopped
    file = directory / MANIFEST
    whole = file.read_text("utf-8")
    facts = json.loads(whole)
    states, keep = facts["facts"]["result"]["states"], facts["facts"]["keep"]
    for damaged in (
        "",
        whole[:-2],
        whole[: len(whole) // 2],
        "[]",
        "null",
        "7",
        "{}",
        '"' * 9,
        whole.replace(f'"states": {states}', f'"states": {states + 1}'),
        whole.replace('"level": ', '"level": 1'),
        whole.replace(f'"keep": {json.dumps(keep)}', f'"keep": {json.dumps(not keep)}'),
        json.dumps({**facts, "files": {}}),
        json.dumps({name: value for name, value in facts.items() if name != "facts"}),
    ):
        assert damaged != whole
        file.write_text(damaged, "utf-8")
        refused(directory, MANIFEST, "damaged", "start anew")
    file.write_bytes(b"\xff\xfe" + whole.encode())
    refused(directory, MANIFEST, "damaged")
    file.unlink()
    refused(directory, "no checkpoint there")
    refused(directory / "nowhere", "no checkpoint there")
    file.mkdir()
    refused(directory)


def test_every_byte_of_a_manifest_counts(stopped: tuple[Question, Path]) -> None:
    _, directory = stopped
    file = directory / MANIFEST
    whole = file.read_bytes()
    said = json.loads(whole)
    for at in range(0, len(whole), 11):
        damaged = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        file.write_bytes(damaged)
        try:
            if json.loads(damaged) == said:
                continue  # a space of another kind
        except ValueError:
            pass
        refused(directory)


def test_a_checkpoint_of_another_question_or_format_is_refused(stopped: tuple[Question, Path]) -> None:
    both, directory = stopped
    refused(directory, "is of another check: ask ", "this", "that", "request the same check as then", ask="that")
    with patch.object(Checkpoint, "kind", replace(CHECKPOINT, format="crownless checkpoint 0")):
        refused(directory, "written by another version", "crownless checkpoint 3")
    assert reported(both.native(checkpoint=saved(directory, resume=True))) == reported(both.plain())


class SaysMore(Rst):
    """As if its text had been changed: every message comes with a second packet."""

    rules = {}  # those of the protocol read a stamp that the second packet has not

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        more = Packet(i, message.receiver, "more")
        return [step._replace(packets=[*step.packets, more]) for step in super().send(i, state, message)]

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return packet.message is None or super().deliverable(i, state, packet)

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return [Step(state)] if packet.message is None else super().on_packet(i, state, packet)


class SaysNothing(Rst):
    """As if its text had been changed: nothing is sent at all, so that there is less to number."""

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return []


@pytest.mark.parametrize("kind", [SaysMore, SaysNothing, PROTOCOLS["unordered"], PROTOCOLS["buffer"]])
@pytest.mark.parametrize("reductions", [(), ("symmetry",)], ids=str)
def test_what_was_saved_of_a_protocol_that_has_changed_since_is_refused(
    tmp_path: Path, kind: type[ProtocolMachine], reductions: tuple[str, ...]
) -> None:
    both, other = question("rst", 3, 3, "fifo"), question(kind, 3, 3, "fifo")
    for k, (then, now) in enumerate(((both, other), (other, both))):
        directory = tmp_path / str(k)
        then.native(1, reductions, limits=Limits(states=20), checkpoint=saved(directory, resume=False))
        if directory.exists():  # where nothing is sent there is nothing to stop
            with pytest.raises(BadInput, match="the protocol's code is not what it was then") as error:
                now.native(1, reductions, checkpoint=saved(directory, resume=True))
            assert str(directory) in str(error.value)


def test_a_directory_that_is_taken_is_refused(stopped: tuple[Question, Path], tmp_path: Path) -> None:
    _, directory = stopped
    with pytest.raises(BadInput, match="holds a checkpoint already"):
        saved(directory, resume=False)
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(BadInput, match="not a directory"):
        saved(file, resume=False)
    with pytest.raises(BadInput):
        saved(file, resume=True)


def test_what_an_interrupted_write_leaves_does_no_harm(stopped: tuple[Question, Path]) -> None:
    both, directory = stopped
    whole = (directory / MANIFEST).read_bytes()
    (directory / f"{MANIFEST}.partial").write_bytes(whole[:100])
    known = {path.name for path in directory.glob("*.npy")}
    for name in known:
        later = name.replace("-1-", "-2-")
        assert later != name
        (directory / later).write_bytes((directory / name).read_bytes()[:50])
    part = both.native(limits=Limits(states=900), checkpoint=saved(directory, resume=True))
    assert part.stopped
    files = {entry["file"] for entry in manifest_in(directory)["files"].values()}
    assert {path.name for path in directory.iterdir()} == {MANIFEST, *files}
    assert reported(both.native(2, checkpoint=saved(directory, resume=True))) == reported(both.plain())


# -- processes that end ------------------------------------------------------------------------------------------------


#: A search in a process of its own: where the tests are, the directory, and what becomes of it.
SEARCHES = """
import os, signal, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from native_engine_setup import question
from crownless.model_check.native.checkpoints import Checkpoint
from crownless.runtime.ending import interrupted, watching

directory, what, protocol = Path(sys.argv[2]), sys.argv[3], sys.argv[4]
made = question(protocol, 3, 3, "fifo").search(2)
synced = [0]

def sync(file, fsync=os.fsync):
    fsync(file)
    synced[0] += 1
    if what == f"killed in file {synced[0]}":
        os.kill(os.getpid(), signal.SIGKILL)

def progress(found, level):
    if level < 3 or what.startswith("killed in file"):
        return
    print("ready", flush=True)
    while not interrupted():
        time.sleep(0.01)

os.fsync = sync
with watching():
    found = made.explore(
        progress=progress, checkpoint=Checkpoint(directory, {"ask": "this"}, resume=False, save_every=0)
    )
print(found.stopped, found.states)
"""


@contextmanager
def searching(directory: Path, what: str, protocol: str = "rst") -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", SEARCHES, str(HERE), str(directory), what, protocol]
    # Another seed than ours: nothing depends on the order of sets.
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize(
    "file", [9, pytest.param(17, marks=pytest.mark.slow), pytest.param(18, marks=pytest.mark.slow)]
)
def test_a_search_that_is_killed_while_it_saves_goes_on_from_what_it_saved_before(tmp_path: Path, file: int) -> None:
    with searching(tmp_path, f"killed in file {file}") as process:
        assert process.wait(120) == -signal.SIGKILL
    found = question("rst", 3, 3, "fifo").native(checkpoint=saved(tmp_path, resume=True))
    assert reported(found) == reported(question("rst", 3, 3, "fifo").plain())


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_any_search_that_is_killed_goes_on(tmp_path: Path, protocol: str) -> None:
    n, m = 3, 3
    if protocol.startswith("isis-gc"):
        pytest.skip("it has more states than a test should search")
    with searching(tmp_path, "killed", protocol) as process:
        assert line_of(process) == "ready"
        process.kill()
        process.wait(120)
    found = question(protocol, n, m, "fifo").native(checkpoint=saved(tmp_path, resume=True))
    assert reported(found) == reported(question(protocol, n, m, "fifo").native())


def test_a_search_that_is_interrupted_ends_by_itself_and_goes_on(tmp_path: Path) -> None:
    with searching(tmp_path, "interrupted") as process:
        assert line_of(process) == "ready"
        process.send_signal(signal.SIGINT)
        stop, states = line_of(process).split()
        assert process.wait(120) == 0
    assert stop == INTERRUPTED
    expected = question("rst", 3, 3, "fifo").plain()
    assert 1 < int(states) < expected.states
    found = question("rst", 3, 3, "fifo").native(checkpoint=saved(tmp_path, resume=True))
    assert reported(found) == reported(expected)
