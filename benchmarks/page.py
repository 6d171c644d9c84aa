"""The page of benchmarks, docs/benchmarks.md: what each benchmark prints on this machine, below its command.

    python benchmarks/page.py [--repeat 5] [--only WORD ...] [--tlc tla2tools.jar]

It takes about half an hour. With `--only`, the benchmarks whose heading has one of these words are run, and the others
keep what the page says. SPIN is needed for its rows, and a `tla2tools.jar` for TLC's.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import click

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
LIBRARIES = ("numba", "numpy", "pyspark")


class Benchmark(NamedTuple):
    """One section of the page: what is measured, and the command that measures it."""

    heading: str
    meaning: str
    command: str


BENCHMARKS = (
    Benchmark(
        "The native engine beside SPIN",
        "The same states of `rst`, n processes and m messages, by every engine: medians of {repeat} "
        "interleaved runs, each in its own process, on an idle machine. SPIN searches depth-first and checks no "
        "property; our engines check all properties of the protocol in the same search. SPIN's seconds are processor "
        "time, those of the others wall-clock time. *SPIN* is compiled with the flags that were fastest here, *-O3 "
        "alone* with no others; *no table* is the memory of SPIN without its hash table. *Start-up* is not part of "
        "the seconds. *Python* and *monitors*: the percentage of processor time in which Python tabulates "
        "local transitions, and compiled code those of the monitors; the rest is the search itself.",
        "benchmarks/native_engine.py --long --repeat {repeat}",
    ),
    Benchmark(
        "Symmetry reduction",
        "Large searches with two workers; one run each. All 13 properties of `rst` are checked.",
        "benchmarks/native_engine.py --reduced",
    ),
    Benchmark(
        "Each of the orders",
        "The largest number of messages with which a search ends within five seconds, and the number of nodes per "
        "state: a node is a state together with the state of the monitor that watches the order.",
        "benchmarks/reach.py --orders --seconds 5 rst buffer murty-garg",
    ),
    Benchmark(
        "The same search on Spark",
        "Processor seconds of all processes that take part, beside those of the native engine in memory: in all, and "
        "of the search alone, without starting Spark.",
        "benchmarks/exploration_on_spark.py -n 3 -m 9",
    ),
)


def machine() -> str:
    """This machine, and the versions of what the figures depend on."""
    facts = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", facts.read_text()) if facts.exists() else []
    processor = f"{names[0]}, " if names else ""
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return f"{processor}{os.cpu_count()} processors; Python {platform.python_version()}, {libraries}"


def section(benchmark: Benchmark, repeat: int, tlc: Path | None) -> str:
    """Runs a benchmark; returns its section."""
    command = benchmark.command.format(repeat=repeat)
    arguments = command.split()
    if tlc is not None and "--long" in command:
        arguments += ["--tlc", str(tlc.resolve())]
        command += f" --tlc {tlc.name}"
    click.echo(f"python {command} …", err=True)
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    printed = "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())
    meaning = benchmark.meaning.format(repeat=repeat)
    return (
        f"## {benchmark.heading}\n\n{meaning}\n\n*{date.today().isoformat()}; {machine()}.*\n\n"
        f"```\n$ python {command}\n{printed}\n```\n"
    )


@click.command()
@click.option("--repeat", default=5, show_default=True, type=click.IntRange(min=1), help="Runs of each search.")
@click.option("--only", multiple=True, help="Run the benchmarks whose heading has this word.")
@click.option("--tlc", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="A tla2tools.jar.")
def main(repeat: int, only: tuple[str, ...], tlc: Path | None) -> None:
    """Write docs/benchmarks.md."""
    old = PAGE.read_text("utf-8") if PAGE.exists() else ""
    known = dict(re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", old))
    sections = []
    for benchmark in BENCHMARKS:
        if benchmark.heading in known and only and not any(word.lower() in benchmark.heading.lower() for word in only):
            sections.append(f"## {benchmark.heading}\n{known[benchmark.heading].rstrip()}\n")
        else:
            sections.append(section(benchmark, repeat, tlc))
    intro = (
        "# Benchmarks\n\nThe output of each benchmark, below the machine on which it ran. `python benchmarks/page.py "
        "--tlc tla2tools.jar` runs them all and writes this page; without `--tlc` it has no rows of TLC. How the "
        "engine works: [the native engine](engine.md).\n"
    )
    PAGE.write_text("\n".join([intro, *sections]), "utf-8")


if __name__ == "__main__":
    main()
