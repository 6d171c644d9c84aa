"""Verdicts on logs in memory and from files, beside Arrow reading the same file; on one processor.

    python benchmarks/logs.py [--events 1000000] [--repeat 5]

Three kinds of logs: in `kept` every message is delivered at once, so that all orders are kept; in `global` messages are
delivered in the order of all sends, which breaks synchronous order alone; in `any` one of those in flight is delivered,
whichever, which breaks every order at once. Each is one run of 8 or 64 processes, or many runs of 40 events; up to 50
messages are in flight. Figures are medians, with the least and the greatest, in millions of events a second of
processor time; compilation does not count.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import click
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet

from crownless.oracle.log_orders.monitor import Monitor
from crownless.oracle.logs.formats import LogOptions
from crownless.oracle.logs.named_rows import by_run
from crownless.oracle.logs.tables import read_table
from crownless.spec.orders import ORDERS

IN_FLIGHT = 50
KINDS = ("kept", "global", "any")
SHAPES = {"1 run, 8 processes": (1, 8), "1 run, 64 processes": (1, 64), "runs of 40 events": (40, 6)}


def log(kind: str, events: int, runs_of: int, n: int) -> list[dict[str, Any]]:
    """A log of so many events: one run, or runs of so many events."""
    chance, found = Random(1), []
    a_run = events if runs_of == 1 else runs_of
    for run in range(events // a_run):
        index = [0] * n
        flying: list[tuple[str, int, int]] = []
        for step in range(a_run):
            if not flying or (kind != "kept" and len(flying) < IN_FLIGHT and chance.random() < 0.5):
                p, q = chance.sample(range(n), 2)
                event, message, peer = "send", f"m{step}", q
                flying.append((message, p, q))
            else:
                message, peer, p = flying.pop(chance.randrange(len(flying)) if kind == "any" else 0)
                event = "deliver"
            names = {"process": f"P{p}", "index": index[p], "kind": event, "message": message, "peer": f"P{peer}"}
            found.append({"run": f"run-{run}", **names})
            index[p] += 1
    return found


def seconds(function: Callable[[], Any], repeat: int) -> list[float]:
    """The seconds of each of so many calls, after one that does not count."""
    function()
    taken = []
    for _ in range(repeat):
        began = time.process_time()
        function()
        taken.append(time.process_time() - began)
    return taken


def a_second(events: int, taken: list[float]) -> str:
    speeds = [events / one / 1e6 for one in taken]
    return f"{statistics.median(speeds):6.1f} ({min(speeds):.1f} to {max(speeds):.1f})"


@click.command()
@click.option("--events", default=1_000_000, show_default=True)
@click.option("--repeat", default=5, show_default=True)
def main(events: int, repeat: int) -> None:
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    pa.set_cpu_count(1)
    print(f"{events:,} events, one processor; millions of events a second: median (least to greatest) of {repeat}")
    with tempfile.TemporaryDirectory() as folder:
        for shape, (runs_of, n) in SHAPES.items():
            for kind in KINDS:
                print(f"\n{shape}, {kind}")
                measure(Path(folder), log(kind, events, runs_of, n), events, repeat)


def measure(folder: Path, found: list[dict[str, Any]], events: int, repeat: int) -> None:
    lines, parquet = folder / "log.jsonl", folder / "log.parquet"
    lines.write_text("".join(json.dumps(event) + "\n" for event in found))
    table = pa.Table.from_pylist(found)
    pa.parquet.write_table(table, parquet)
    contents = {"jsonl": lines.read_bytes(), "parquet": parquet.read_bytes()}
    schema = pa.schema([(name, pa.int64() if name == "index" else pa.string()) for name in table.schema.names])
    parsed = pa.json.ParseOptions(explicit_schema=schema)
    options = pa.json.ReadOptions(use_threads=False, block_size=1 << 24)
    arrow = {
        "jsonl": lambda: pa.json.read_json(pa.BufferReader(contents["jsonl"]), options, parsed),
        "parquet": lambda: pa.parquet.ParquetFile(pa.BufferReader(contents["parquet"])).read(use_threads=False),
    }
    numbers = by_run(table_of(contents, "jsonl")).numbers()
    for name, orders in (("fifo and causal", ("fifo", "causal")), ("all", tuple(ORDERS))):
        taken = seconds(partial(Monitor(numbers).outcomes, orders), repeat)
        print(f"  in memory, {name:16}   {a_second(events, taken)}")
    for form in ("parquet", "jsonl"):
        alone = seconds(arrow[form], repeat)
        print(f"  {form:8} Arrow alone         {a_second(events, alone)}")
        for name, orders in (("causal", ("causal",)), ("all", tuple(ORDERS))):
            taken = seconds(partial(outcomes_of, contents, form, orders), repeat)
            ratio = statistics.median(taken) / statistics.median(alone)
            print(f"  {form:8} {name:16}    {a_second(events, taken)}   {ratio:.1f} times Arrow alone")


def outcomes_of(contents: dict[str, bytes], form: str, orders: tuple[str, ...]) -> Any:
    return Monitor(by_run(table_of(contents, form)).numbers()).outcomes(orders)


def table_of(contents: dict[str, bytes], form: Any) -> pa.Table:
    return read_table(contents[form], form, f"log.{form}", LogOptions())


if __name__ == "__main__":
    main()
