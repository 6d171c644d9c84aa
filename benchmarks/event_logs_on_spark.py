"""Verdicts on a log of ten million events on Spark: processor time, on two processors of this machine.

    python benchmarks/event_logs_on_spark.py [--events 10000000] [--shuffled] [--rows] [--witnesses]

The log is made first, in a separate step: Parquet, all columns strings but the index, runs of 100 events of six
processes. Of these 60 % are synchronous; in 37 % messages are delivered in the order of sending, across senders (so
crowns may occur, but no message is overtaken); in 3 % in any order. It is then judged in a separate process.

The figure is the processor time of that process and of all that it starts, the Java side and the Python workers
included, in two parts: until a session has run a query, and from there until all verdicts are counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import psutil

from crownless.model_check.native.compiled import compiled

RUN_OF, PROCESSES = 50, 6
FILES, ROW_GROUP = 4, 500_000


@compiled
def make(seed: int, runs: int, columns: Any, in_flight: Any, places: Any) -> None:
    """Fills the columns run, process, index, kind, message, peer with random runs."""
    np.random.seed(seed)
    row = 0
    for run in range(runs):
        kind = np.random.random()
        for p in range(PROCESSES):
            places[p] = 0
        sent, unreceived = 0, 0
        while sent < RUN_OF or unreceived:
            if sent < RUN_OF and (not unreceived or (kind >= 0.6 and np.random.random() < 0.5)):
                p = np.random.randint(PROCESSES)
                q = (p + 1 + np.random.randint(PROCESSES - 1)) % PROCESSES
                message, is_deliver = sent, 0
                in_flight[unreceived, 0], in_flight[unreceived, 1], in_flight[unreceived, 2] = sent, p, q
                sent += 1
                unreceived += 1
            else:
                k = np.random.randint(unreceived) if kind >= 0.97 else 0
                message, q, p = in_flight[k, 0], in_flight[k, 1], in_flight[k, 2]
                is_deliver = 1
                unreceived -= 1
                for later in range(k, unreceived):
                    for part in range(3):
                        in_flight[later, part] = in_flight[later + 1, part]
            columns[0, row], columns[1, row], columns[2, row] = run, p, places[p]
            columns[3, row], columns[4, row], columns[5, row] = is_deliver, message, q
            places[p] += 1
            row += 1


def write(directory: Path, events: int, *, shuffled: bool) -> int:
    """Writes a log of about this many events; `shuffled`: rows in random order within a file. Returns their number."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    runs = events // (2 * RUN_OF) // FILES
    names = [f"P{p + 1}" for p in range(PROCESSES)]
    for file in range(FILES):
        columns = np.zeros((6, 2 * RUN_OF * runs), np.int64)
        make(file, runs, columns, np.zeros((RUN_OF + 1, 3), np.int64), np.zeros(PROCESSES, np.int64))
        if shuffled:
            columns = columns[:, np.random.default_rng(file).permutation(columns.shape[1])]

        def text(column: np.ndarray[Any, Any], names: list[str]) -> Any:
            codes = pa.array(column.astype(np.int32))
            return pa.DictionaryArray.from_arrays(codes, pa.array(names)).cast(pa.string())

        table = pa.table(
            {
                "run": text(columns[0], [f"run-{file * runs + run}" for run in range(runs)]),
                "process": text(columns[1], names),
                "index": pa.array(columns[2]),
                "kind": text(columns[3], ["send", "deliver"]),
                "message": text(columns[4], [f"m{m + 1}" for m in range(RUN_OF)]),
                "peer": text(columns[5], names),
            }
        )
        pq.write_table(table, directory / f"part-{file}.parquet", row_group_size=ROW_GROUP)
    return 2 * RUN_OF * runs * FILES


def processor_time() -> dict[str, float]:
    """User and system seconds of this process and its descendants, by the name of the program."""
    this = psutil.Process()
    used: dict[str, float] = {}
    for process in (this, *this.children(recursive=True)):
        try:
            times, name = process.cpu_times(), process.name()
        except psutil.Error:
            continue
        used[name] = used.get(name, 0) + times.user + times.system + times.children_user + times.children_system
    return used


def measure(path: str, *, by_rows: bool, witnesses: bool) -> dict[str, Any]:
    """Judges the log once, in this process."""
    from pyspark.sql import functions as f

    from crownless.pipeline.logs.judging import judge, judge_parquet, read
    from crownless.pipeline.session import session

    spark = session("local[2]", rows_in_java=by_rows, spark_sql_shuffle_partitions="4")
    spark.range(10).count()
    before, began = processor_time(), time.perf_counter()
    orders = ("causal", "synchronous")
    log = (
        judge(read(spark, path), orders, witnesses=witnesses)
        if by_rows
        else judge_parquet(spark, path, orders, witnesses=witnesses)
    )
    counted = log.records.groupBy("record_type", "order", "verdict").agg(
        f.count("*").alias("n"), f.sum("rows").alias("rows")
    )
    found = [row.asDict() for row in counted.collect()]
    seconds = time.perf_counter() - began
    return {"before": before, "after": processor_time(), "seconds": seconds, "found": found}


@click.command()
@click.option("--events", default=10_000_000, show_default=True)
@click.option("--shuffled", is_flag=True, help="The rows of each file in random order.")
@click.option("--rows", "by_rows", is_flag=True, help="Read the log by Spark, as any DataFrame.")
@click.option("--witnesses", is_flag=True, help="Find the witness of every broken order, too.")
@click.option("--repeat", default=1, show_default=True)
@click.option("--measure", "path", hidden=True)
def main(events: int, shuffled: bool, by_rows: bool, witnesses: bool, repeat: int, path: str | None) -> None:
    """Print the figures."""
    if path is not None:
        print(json.dumps(measure(path, by_rows=by_rows, witnesses=witnesses)))
        return
    with tempfile.TemporaryDirectory(prefix="crownless-log-") as directory:
        began = time.process_time()
        made = write(Path(directory), events, shuffled=shuffled)
        print(f"{made:,} events made in {time.process_time() - began:.1f} s of processor time, not counted below")
        options = ["--rows"] * by_rows + ["--witnesses"] * witnesses
        command = [sys.executable, __file__, "--measure", directory, *options]
        for _ in range(repeat):
            load = psutil.getloadavg()[0]
            answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            figures = json.loads(answer.splitlines()[-1])
            report(figures, made, load)


def report(figures: dict[str, Any], made: int, load: float) -> None:
    before, after = figures["before"], figures["after"]
    parts = ", ".join(f"{name} {after[name] - before.get(name, 0):.1f}" for name in sorted(after))
    net = sum(after.values()) - sum(before.values())
    print(
        f"session {sum(before.values()):.1f} s, judging {net:.1f} s of processor time ({parts}), together "
        f"{sum(after.values()):.1f}; {figures['seconds']:.1f} s by the clock; load before it {load:.1f}"
    )

    def found(record_type: str) -> list[dict[str, Any]]:
        return [row for row in figures["found"] if row["record_type"] == record_type]

    judged = sum(row["rows"] for row in found("judged"))
    for row in sorted(found("verdict"), key=lambda row: (row["order"], row["verdict"])):
        print(f"  {row['order']}: {row['n']:,} runs {row['verdict']}")
    assert judged == made, f"{judged:,} rows judged of {made:,}"


if __name__ == "__main__":
    main()
