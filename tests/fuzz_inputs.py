"""Hostile inputs for everything that crownless reads, and what must not come of them.

    python tests/fuzz_inputs.py --log fuzz.jsonl       # 100,000 inputs a reader; what the log has is not run again
    python tests/fuzz_inputs.py show logs --inputs 500 # some readers, fewer inputs
    python tests/fuzz_inputs.py show --first 1234 --keep /tmp/x   # the files of one input, and its command

An input follows from its reader's name and its number alone, so what is found is found again. The inputs run in forked
children: one that crashes, hangs or grows without end is a finding too, and the next child goes on behind it.
`test_fuzz.py` runs 2,000 of each.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz_children import MOST_FINDINGS, Ran, fuzz
from fuzz_cost_tables import CostTables
from fuzz_log_formats import ClockedLogs, ItfTraces, OneRunLogs, OtlpLogs, ShivizLogs
from fuzz_logs import CompressedFiles, LogFiles, TableFiles
from fuzz_mutations import Mutator
from fuzz_readers import Arguments, Computations, Logs, LogsWithoutNames, Programs, Reader, Settings, Shown

INPUTS = 100_000
#: Inputs of one child, and of one line in the log.
BATCH = 1_000

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
        CostTables,
    )
}


class Log:
    """Lines of JSON, one for each batch that is through."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        lines = path.read_text("utf-8").splitlines() if path is not None and path.exists() else []
        self.batches: dict[tuple[str, int, int], dict[str, Any]] = {}
        for row in map(json.loads, lines):
            self.batches[row["reader"], row["first"], row["inputs"]] = row

    def ran(self, name: str, first: int, inputs: int) -> Ran | None:
        """What this batch found when it ran."""
        row = self.batches.get((name, first, inputs))
        return None if row is None else Ran(inputs, row["cpu_seconds"], row["findings"])

    def add(self, name: str, first: int, ran: Ran) -> None:
        if self.path is not None:
            row = {"reader": name, "first": first, "inputs": ran.inputs, "cpu_seconds": round(ran.cpu_seconds, 2)}
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**row, "findings": ran.findings}) + "\n")


def run_all(name: str, first: int, inputs: int, log: Log) -> Ran:
    """Runs so many inputs of a reader, a batch at a time, but for those in the log."""
    total = Ran()
    for at in range(first, first + inputs, BATCH):
        size = min(BATCH, first + inputs - at)
        ran = log.ran(name, at, size)
        if ran is None:
            ran = fuzz(READERS[name], at, size)
            log.add(name, at, ran)
        total.inputs += ran.inputs
        total.cpu_seconds += ran.cpu_seconds
        total.findings += ran.findings
        if len(total.findings) >= MOST_FINDINGS:
            break
    return total


def keep(name: str, number: int, directory: Path) -> None:
    """Makes one input in a new directory, and prints its command."""
    directory.mkdir()
    reader = READERS[name]()
    reader.prepare(directory)
    print(reader.make(Mutator(f"{name} {number}"), directory).arguments)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", metavar="READER", help=f"{', '.join(READERS)}; default: all")
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--inputs", type=int, default=INPUTS, help=f"how many of each reader  [default: {INPUTS:,}]")
    parser.add_argument("--log", type=Path, help="add what was run, and what was found, to this file; go on behind it")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="only make the first input, in this new directory")
    given = parser.parse_args()
    names = given.readers or list(READERS)
    if unknown := [name for name in names if name not in READERS]:
        parser.error(f"unknown reader {unknown[0]!r}; known: {', '.join(READERS)}")
    if given.keep is not None:
        keep(names[0], given.first, given.keep)
        return 0
    log = Log(given.log)
    failed = False
    for name in names:
        started = time.monotonic()
        ran = run_all(name, given.first, given.inputs, log)
        took = f"{ran.cpu_seconds:.0f} s of processor time, {time.monotonic() - started:.0f} s"
        early = "" if ran.inputs == given.inputs else f" of {given.inputs:,}: ended by so many findings"
        print(f"{name}: {ran.inputs:,} inputs{early}, {len(ran.findings)} findings, {took}", flush=True)
        for finding in ran.findings:
            print(f"  {finding.encode('unicode_escape').decode()}", flush=True)
        failed = failed or bool(ran.findings)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
