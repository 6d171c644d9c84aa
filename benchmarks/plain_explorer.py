"""The plain explorer: states a second and bytes a state.

    python benchmarks/plain_explorer.py [--repeat 5]

Each case runs in a process of its own, several times, in turn with the others, so that other load on the machine
affects all of them. Memory is the growth of the resident set over the search. The last column is the rate as a ratio to
that of a loop that only puts tuples into a dictionary, in the same process: it compares across machines.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time

import click
from rich.console import Console
from rich.table import Table

from crownless.model_check.check.check import run_check
from crownless.model_check.system.request import Check

CASES = (
    ("rst", 3, 4, "unordered"),
    ("rst", 3, 5, "unordered"),
    ("rst", 3, 6, "unordered"),
    ("rst", 3, 5, "fifo"),
    ("unordered", 3, 5, "unordered"),
    ("buffer", 3, 4, "unordered"),
    ("murty-garg", 3, 5, "unordered"),
)


def measure(protocol: str, n: int, m: int, channel: str) -> dict[str, float]:
    """One search, in this process."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = run_check(Check(protocol, n, m, channel=channel), engine="plain").exploration
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    plain: dict[tuple[int, ...], int] = {}
    for number in range(found.states):
        plain[(number, number + 1, number + 2, number + 3, number + 4)] = number
    loop = time.perf_counter() - started
    return {
        "states": found.states,
        "transitions": found.transitions,
        "rate": found.states / found.seconds,
        "ratio": loop / found.seconds,
        "bytes": (after - before) * 1024 / found.states,
    }


@click.command()
@click.option("--repeat", default=3, show_default=True, type=click.IntRange(min=1), help="Runs of each case.")
@click.option("--one", nargs=4, type=str, hidden=True, help="PROTOCOL N M CHANNEL: one run, as JSON.")
def main(repeat: int, one: tuple[str, str, str, str] | None) -> None:
    """Print the table."""
    if one is not None:
        protocol, n, m, channel = one
        print(json.dumps(measure(protocol, int(n), int(m), channel)))
        return
    runs: dict[tuple[str, int, int, str], list[dict[str, float]]] = {case: [] for case in CASES}
    for _ in range(repeat):
        for case in CASES:
            command = [sys.executable, __file__, "--one", *map(str, case)]
            runs[case].append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    table = Table(box=None, pad_edge=False)
    for heading in ("protocol", "n", "m", "channel", "states", "transitions"):
        table.add_column(heading, justify="left" if heading in ("protocol", "channel") else "right")
    for heading in ("states/s: min", "median", "max", "bytes/state", "ratio to dict loop"):
        table.add_column(heading, justify="right")
    for case, found in runs.items():
        rates = [run["rate"] for run in found]
        table.add_row(
            case[0],
            str(case[1]),
            str(case[2]),
            case[3],
            f"{found[0]['states']:,.0f}",
            f"{found[0]['transitions']:,.0f}",
            f"{min(rates):,.0f}",
            f"{statistics.median(rates):,.0f}",
            f"{max(rates):,.0f}",
            f"{statistics.median(run['bytes'] for run in found):,.0f}",
            f"{statistics.median(run['ratio'] for run in found):.4f}",
        )
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
