"""The search on Spark beside the native engine's: processor time, of all processes that take part.

    python benchmarks/exploration_on_spark.py [--protocol rst] [-n 3] [-m 9] [--cores 2] [--repeat 1]

Each search runs in a new process, after a small one that loads what is compiled. The figure is the time of all
processors, user and system: of the native engine's one process; of the driver, its Java and all Python workers. *All*
is from the start of the process to the end of the search; *search* leaves out the start-up: for Spark, the start of the
session. States, transitions, nodes and depth must be equal.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from typing import Any

import click
import psutil
from rich.console import Console
from rich.table import Table

NATIVE, SPARK = "native", "spark"
COUNTS = ("states", "transitions", "nodes", "depth")


def processor_seconds() -> dict[str, float]:
    """Processor seconds of this process and its descendants, by name; an ended one counts for its parent."""
    me = psutil.Process()
    spent: dict[str, float] = {}
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
            name = "driver" if process == me else "Java" if "java" in process.name() else "Python workers"
        except psutil.NoSuchProcess:
            continue
        seconds = times.user + times.system + times.children_user + times.children_system
        spent[name] = spent.get(name, 0.0) + seconds
    return spent


def measure(engine: str, protocol: str, n: int, m: int, cores: int) -> dict[str, Any]:
    """One search in this process."""
    from crownless.model_check.check.check import run_check
    from crownless.model_check.system.request import Check

    if engine == NATIVE:
        run_check(Check(protocol, 2, 2), workers=cores)
        before, began = processor_seconds(), time.perf_counter()
        found = run_check(Check(protocol, n, m), engine="native", workers=cores).exploration
    else:
        from crownless.pipeline.exploration import OnSpark
        from crownless.pipeline.session import session

        spark = session(f"local[{cores}]", rows_in_java=False)
        run_check(Check(protocol, 2, 2), engine="spark", elsewhere=OnSpark(spark))
        before, began = processor_seconds(), time.perf_counter()
        checked = run_check(Check(protocol, n, m), progress=_show_progress, engine="spark", elsewhere=OnSpark(spark))
        found = checked.exploration
    seconds, after = time.perf_counter() - began, processor_seconds()
    assert found.stopped is None
    return {
        **{name: getattr(found, name) for name in COUNTS},
        "seconds": seconds,
        "all": sum(after.values()),
        "search": sum(after.values()) - sum(before.values()),
        "by": after,
    }


def _show_progress(found: Any, level: int) -> None:
    print(f"\rlevel {level}, {found.states:,} states  ", end="", file=sys.stderr)


@click.command()
@click.option("--protocol", default="rst", show_default=True)
@click.option("-n", "n", default=3, show_default=True, help="Processes.")
@click.option("-m", "m", default=9, show_default=True, help="Messages.")
@click.option("--cores", default=2, show_default=True, help="Threads of the native engine, and of local[…].")
@click.option("--repeat", default=1, show_default=True, type=click.IntRange(min=1))
@click.option("--one", hidden=True, help="ENGINE: one search, as JSON.")
def main(protocol: str, n: int, m: int, cores: int, repeat: int, one: str | None) -> None:
    """Print the table."""
    if one is not None:
        print(json.dumps(measure(one, protocol, n, m, cores)))
        return
    runs: dict[str, list[dict[str, Any]]] = {NATIVE: [], SPARK: []}
    for _ in range(repeat):
        for engine, several in runs.items():
            load = psutil.getloadavg()[0]
            options = ["--protocol", protocol, "-n", str(n), "-m", str(m), "--cores", str(cores), "--one", engine]
            done = subprocess.run([sys.executable, __file__, *options], check=True, stdout=subprocess.PIPE, text=True)
            several.append(json.loads(done.stdout.splitlines()[-1]))
            click.echo(f"{engine}: {several[-1]}; load before it {load:.1f}", err=True)
    counts = {tuple(run[name] for name in COUNTS) for several in runs.values() for run in several}
    if len(counts) > 1:
        raise SystemExit(f"error: the engines count differently: {counts}")
    table = Table(box=None, pad_edge=False, title=f"{protocol} {n}×{m}, {cores} cores", title_justify="left")
    table.add_column("engine")
    for heading in ("states", "CPU s, all", "search", "÷ native, all", "search", "wall s"):
        table.add_column(heading, justify="right")
    middle = {
        engine: {what: statistics.median(run[what] for run in several) for what in ("all", "search", "seconds")}
        for engine, several in runs.items()
    }
    for engine, of in middle.items():
        table.add_row(
            engine,
            f"{runs[engine][0]['states']:,}",
            *(f"{of[what]:,.1f}" for what in ("all", "search")),
            *(f"{of[what] / middle[NATIVE][what]:.2f}" for what in ("all", "search")),
            f"{of['seconds']:,.1f}",
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
