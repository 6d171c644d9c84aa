"""Hostile inputs for everything that crownless reads, and what must not come of them.

    python tests/fuzz_inputs.py show logs --inputs 5000           # some readers; without names all
    python tests/fuzz_inputs.py show --first 1234 --inputs 1      # one input

An input follows from its reader's name and its number alone, so what is found is found again. `test_fuzz.py` runs 2,000
of each.
"""

from __future__ import annotations

import argparse
import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from pathlib import Path

from fuzz_logs import (
    ClockedLogs,
    CompressedFiles,
    ItfTraces,
    LogFiles,
    Logs,
    LogsWithoutNames,
    OneRunLogs,
    OtlpLogs,
    ShivizLogs,
    TableFiles,
)
from fuzz_mutations import Mutator
from fuzz_readers import Arguments, Computations, Programs, Reader, Settings, Shown
from fuzz_verdicts import run, wrong_with

from crownless.model_check.logs import classify_file

INPUTS = 100_000

READERS: dict[str, Callable[[], Reader]] = {
    kind.name: kind
    for kind in (
        Computations,
        Programs,
        Shown,
        Logs,
        LogFiles,
        TableFiles,
        CompressedFiles,
        LogsWithoutNames,
        ShivizLogs,
        OtlpLogs,
        ItfTraces,
        ClockedLogs,
        OneRunLogs,
        Settings,
        Arguments,
    )
}


@cache
def prepared(kind: Callable[[], Reader]) -> tuple[Reader, Path]:
    """The reader, and the directory in which its inputs are made one after the other; its sound inputs are read."""
    reader = kind()
    memory = Path("/dev/shm")  # no disk is waited for
    directory = Path(tempfile.mkdtemp(prefix="fuzz-", dir=memory if os.access(memory, os.W_OK) else None))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    reader.prepare(directory)
    codes = []
    for given in reader.sound(directory):
        code, out, err = run(given)
        wrong = wrong_with(code, out, err, given)
        assert wrong is None, f"{reader.name}: a sound input: {wrong}"
        codes.append(code)
        reader.cleanup(directory)
    assert codes.count(2) < len(codes) / 2, f"{reader.name}: sound inputs are refused: {err}"
    return reader, directory


def problem_with(reader: Reader, number: int, directory: Path) -> str | None:
    """Runs an input, with the directory as working directory; what was wrong."""
    given = reader.make(Mutator(f"{reader.name} {number}"), directory)
    names = {*os.listdir(directory)}
    code, out, err = run(given)
    wrong = wrong_with(code, out, err, given)
    if wrong is None and (more := {*os.listdir(directory)} - names):
        wrong = f"leaves files behind: {sorted(more)}"
    reader.cleanup(directory)
    return wrong


def fuzz(kind: Callable[[], Reader], first: int, inputs: int) -> list[str]:
    """Runs so many inputs; each finding begins with the reader's name and the number of its input."""
    few = classify_file.SMALL_UP_TO  # readers of logs try both sides of it
    reader, directory = prepared(kind)
    try:
        with chdir(directory):
            found = {number: problem_with(reader, number, directory) for number in range(first, first + inputs)}
    finally:
        classify_file.SMALL_UP_TO = few
    return [f"{reader.name} {number}: {wrong}" for number, wrong in found.items() if wrong is not None]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", metavar="READER", help=f"{', '.join(READERS)}; default: all")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--inputs", type=int, default=INPUTS, help=f"how many of each reader  [default: {INPUTS:,}]")
    given = parser.parse_args()
    names = given.readers or list(READERS)
    if unknown := [name for name in names if name not in READERS]:
        parser.error(f"unknown reader {unknown[0]!r}; known: {', '.join(READERS)}")
    failed = False
    for name in names:
        findings = fuzz(READERS[name], given.first, given.inputs)
        print(f"{name}: {given.inputs:,} inputs, {len(findings)} findings", flush=True)
        for finding in findings:
            print(f"  {finding.encode('unicode_escape').decode()}", flush=True)
        failed = failed or bool(findings)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
