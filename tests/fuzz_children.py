"""Runs hostile inputs in forked children, and ends a child whose input hangs.

A hang is distinguished from a machine that is slow or stalled by what the child did: the processor time that its input
used, and how long all its threads were asleep. Time in which the child waits for a processor or a disk counts as
neither.
"""

from __future__ import annotations

import atexit
import faulthandler
import json
import mmap
import os
import shutil
import signal
import struct
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TextIO

import psutil
from fuzz_mutations import Mutator
from fuzz_readers import Reader
from fuzz_verdicts import contents, run, wrong_with

#: Seconds of processor time, or asleep, that one input may take.
SECONDS = 20
#: Bytes by which a child may grow.
MEMORY = 2 << 30
#: A search for findings ends with so many, and says so.
MOST_FINDINGS = 20
#: Seconds between two looks at a child.
INTERVAL = 0.05
#: How a child ends that has run all its inputs; nothing that it runs ends so.
THROUGH = 86


@dataclass
class Ran:
    """So many inputs were run, with what was found: each finding begins with the reader's name and the number."""

    inputs: int = 0
    cpu_seconds: float = 0.0
    findings: list[str] = field(default_factory=list)


class Prepared:
    """A reader with its directory, in which its inputs are made one after the other; removed when this process ends."""

    def __init__(self, kind: Callable[[], Reader]) -> None:
        self.reader = kind()
        memory = Path("/dev/shm")  # no disk is waited for
        there = memory if os.access(memory, os.W_OK) else None
        self.directory = Path(tempfile.mkdtemp(prefix="fuzz-", dir=there))
        atexit.register(shutil.rmtree, self.directory, ignore_errors=True)
        self.reader.prepare(self.directory)
        self._read_what_is_sound()

    def _read_what_is_sound(self) -> None:
        """Sound inputs are read; and children need not import again what that imports here."""
        codes = []
        for given in self.reader.sound(self.directory):
            code, out, err = run(given)
            wrong = wrong_with(code, out, err, given)
            assert wrong is None, f"{self.reader.name}: a sound input: {wrong}"
            codes.append(code)
            self.reader.cleanup(self.directory)
        assert codes.count(2) < len(codes) / 2, f"{self.reader.name}: sound inputs are refused: {err}"


_prepared: dict[Callable[[], Reader], Prepared] = {}


def prepared(kind: Callable[[], Reader]) -> Prepared:
    """The reader, made ready once for each process."""
    if kind not in _prepared:
        _prepared[kind] = Prepared(kind)
    return _prepared[kind]


def one(reader: Reader, number: int, directory: Path) -> str | None:
    """Runs an input here, with the directory as working directory; what was wrong."""
    given = reader.make(Mutator(f"{reader.name} {number}"), directory)
    names = {*os.listdir(directory)}
    before = None if given.untouched is None else contents(given.untouched)
    code, out, err = run(given)
    wrong = wrong_with(code, out, err, given)
    if wrong is None and (more := {*os.listdir(directory)} - names):
        wrong = f"leaves files behind: {sorted(more)}"
    if wrong is None and given.untouched is not None and code == 2 and contents(given.untouched) != before:
        wrong = "what was saved is no longer what it was"
    try:
        reader.cleanup(directory)
    except AssertionError as error:
        wrong = str(error)
    return wrong


def fuzz(kind: Callable[[], Reader], first: int, inputs: int) -> Ran:
    """Runs so many inputs; one that ends or hangs its child is a finding, and another child goes on behind it."""
    ready = prepared(kind)
    ran = Ran()
    at, end = first, first + inputs
    while at < end and len(ran.findings) < MOST_FINDINGS:
        at = _run_child(ready, at, end, ran)
    ran.inputs = at - first
    return ran


def _run_child(ready: Prepared, first: int, end: int, ran: Ran) -> int:
    """Runs inputs in one child until it is through, or ended; the number that follows the last input that was run."""
    ready.reader.cleanup(ready.directory)
    with mmap.mmap(-1, 8) as place, tempfile.TemporaryFile("w+") as found, tempfile.TemporaryFile("w+b") as stacks:
        place[:] = struct.pack("q", first)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which are idle here
            pid = os.fork()
        if pid == 0:
            _be_child(ready, first, end, MOST_FINDINGS - len(ran.findings), place, found, stacks)
        watchdog = Watchdog(pid, first)
        ended_for: str | None = None
        while True:
            done, status, used = os.wait4(pid, os.WNOHANG)
            if done:
                break
            if ended_for is None and (ended_for := watchdog.why_to_end(*struct.unpack("q", place[:]))):
                os.kill(pid, signal.SIGABRT)  # its stack is a part of the finding
                time.sleep(10 * INTERVAL)
                os.kill(pid, signal.SIGKILL)
            time.sleep(INTERVAL / 5)
        ran.cpu_seconds += used.ru_utime + used.ru_stime
        found.seek(0)
        ran.findings += [json.loads(line) for line in found]
        (at,) = struct.unpack("q", place[:])
        code = os.waitstatus_to_exitcode(status)
        if code == THROUGH:
            return int(at)
        stacks.seek(0)
        stack = " ".join(stacks.read().decode("utf-8", "replace").split())[:2_000]
        why = ended_for or (f"the process ended with {code}" if code else "the process ended before it was through")
        ran.findings.append(f"{ready.reader.name} {at}: {why}: {stack}")
        return int(at) + 1


def _be_child(
    ready: Prepared, first: int, end: int, most: int, place: mmap.mmap, found: TextIO, stacks: BinaryIO
) -> None:
    """Runs the inputs and ends the process, telling its parent where it is and what it found."""
    code = 1
    try:
        faulthandler.enable(stacks, all_threads=True)
        os.chdir(ready.directory)
        parent, findings = os.getppid(), 0
        for number in range(first, end):
            place[:] = struct.pack("q", number)
            wrong = one(ready.reader, number, ready.directory)
            if wrong is not None:
                found.write(json.dumps(f"{ready.reader.name} {number}: {wrong}") + "\n")
                found.flush()
                findings += 1
            place[:] = struct.pack("q", number + 1)
            if findings >= most or os.getppid() != parent:  # nobody waits for more
                break
        code = THROUGH
    except BaseException:
        stacks.write(traceback.format_exc().encode("utf-8", "backslashreplace"))
        stacks.flush()
    finally:
        os._exit(code)


class Watchdog:
    """Watches a child: why it must be ended, if it must."""

    def __init__(self, pid: int, number: int) -> None:
        self.process = psutil.Process(pid)
        self.number = number
        self.memory = self.process.memory_info().rss
        self.looked = time.monotonic()
        self.used_before = self.used = self._cpu_seconds()
        self.asleep = 0.0

    def why_to_end(self, number: int) -> str | None:
        """Says so where the input takes too long, or too much memory."""
        now = time.monotonic()
        if now - self.looked < INTERVAL:
            return None
        # When this process itself did not run, nobody knows what the child did meanwhile.
        passed, self.looked = min(now - self.looked, 2 * INTERVAL), now
        try:
            used, grown, sleeps = self._cpu_seconds(), self.process.memory_info().rss - self.memory, self._sleeps()
        except psutil.Error:
            return None
        if number != self.number:
            self.number, self.used_before, self.asleep = number, used, 0.0
        elif sleeps and used == self.used:
            self.asleep += passed
        self.used = used
        if used - self.used_before > SECONDS:
            return f"more than {SECONDS} seconds of processor time"
        if self.asleep > SECONDS:
            return f"more than {SECONDS} seconds asleep"
        if grown > MEMORY:
            return f"{grown >> 20} MiB of memory"
        return None

    def _cpu_seconds(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def _sleeps(self) -> bool:
        """True if no thread of the child runs, or waits for a processor or a disk."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        if not tasks.is_dir():
            return bool(self.process.status() == psutil.STATUS_SLEEPING)
        try:
            stats = [(task / "stat").read_text("utf-8", "replace") for task in tasks.iterdir()]
        except OSError:  # one has just ended
            return False
        return all(stat.rpartition(")")[2].split()[0] == "S" for stat in stats)
