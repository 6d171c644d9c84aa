"""Verdicts on a log of ten million events on Spark, beside the plain command on the same rows: processor time.

    python benchmarks/event_logs_on_spark.py [--events 10000000] [--broken] [--shuffled] [--rows] [--no-witnesses]

The log is made first, in a separate step: Parquet, all columns strings but the index, runs of 100 events of six
processes. Of these 60 % are synchronous; in 37 % messages are delivered in the order of sending, across senders (so
crowns may occur, but no message is overtaken); in 3 % in any order, and with `--broken` in all runs. Causal and
synchronous order are decided, with a witness of each violation, and all of it is written as Parquet: on Spark in a
process of its own, on two processors of this machine, and by `crownless classify --out`.

The figure is the processor time of a process and of all that it starts, the Java side and the Python workers included.
Of Spark there are three parts: until a session has judged a log of one run, from there until all is written, and the
same once more in the same session, when Java has compiled what it runs.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import click
import numpy as np
import psutil

from crownless.model_check.native.compiled import compiled

RUN_OF, PROCESSES = 50, 6
FILES, ROW_GROUP = 4, 500_000
#: The same rows in several files for Spark, and in one.
PARTS, WHOLE = "parts", "whole.parquet"
#: The first run alone.
ONE_RUN = "one-run.parquet"
#: What is written of them.
SPARK, SPARK_AGAIN, SPARK_ONE_RUN, PLAIN = "spark", "spark-again", "spark-one-run", "plain"
ORDERS = ("causal", "synchronous")


@compiled
def make(seed: int, runs: int, broken: bool, columns: Any, in_flight: Any, places: Any) -> None:
    """Fills the columns run, process, index, kind, message, peer with random runs."""
    np.random.seed(seed)
    row = 0
    for run in range(runs):
        kind = 1.0 if broken else np.random.random()
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


def write(directory: Path, events: int, *, shuffled: bool, broken: bool) -> int:
    """Writes a log of about this many events; `shuffled`: rows in random order within a file. Returns their number."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    runs = events // (2 * RUN_OF) // FILES
    (directory / PARTS).mkdir()
    whole = None
    names = [f"P{p + 1}" for p in range(PROCESSES)]
    for file in range(FILES):
        columns = np.zeros((6, 2 * RUN_OF * runs), np.int64)
        make(file, runs, broken, columns, np.zeros((RUN_OF + 1, 3), np.int64), np.zeros(PROCESSES, np.int64))
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
        pq.write_table(table, directory / PARTS / f"part-{file}.parquet", row_group_size=ROW_GROUP)
        whole = pq.ParquetWriter(directory / WHOLE, table.schema) if whole is None else whole
        whole.write_table(table, row_group_size=ROW_GROUP)
        if file == 0:
            pq.write_table(table.filter(pc.equal(table["run"], "run-0")), directory / ONE_RUN)
    if whole is not None:
        whole.close()
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


def measure(folder: Path, *, by_rows: bool, witnesses: bool) -> dict[str, Any]:
    """Judges the log of one run once, and then the log twice, in this process."""
    from crownless.pipeline.logs.judging import judge, read
    from crownless.pipeline.session import session

    def judged(log: str, out: str) -> None:
        path = str(folder / log)
        events = spark.read.parquet(path) if by_rows else read(spark, path)
        found = judge(events, ORDERS, witnesses=witnesses)
        found.records.write.partitionBy("record_type").parquet(str(folder / out))

    spark = session("local[2]", rows_in_java=by_rows, spark_sql_shuffle_partitions="4")
    judged(ONE_RUN, SPARK_ONE_RUN)
    before, began = processor_time(), time.perf_counter()
    judged(PARTS, SPARK)
    after, seconds = processor_time(), time.perf_counter() - began
    judged(PARTS, SPARK_AGAIN)
    return {"before": before, "after": after, "again": processor_time(), "seconds": seconds}


def plain(folder: Path) -> float:
    """The processor time of the plain command on the same rows."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    orders = [word for order in ORDERS for word in ("--order", order)]
    command = ["classify", str(folder / WHOLE), *orders, "--out", str(folder / PLAIN)]
    subprocess.run([sys.executable, "-m", "crownless", *command], stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@click.command()
@click.option("--events", default=10_000_000, show_default=True)
@click.option("--broken", is_flag=True, help="The messages of every run are delivered in any order.")
@click.option("--shuffled", is_flag=True, help="The rows of each file in random order.")
@click.option("--rows", "by_rows", is_flag=True, help="Read the log by Spark, as any DataFrame.")
@click.option("--witnesses/--no-witnesses", default=True, help="A witness of every broken order.")
@click.option("--repeat", default=1, show_default=True)
@click.option("--measure", "path", hidden=True, type=click.Path(path_type=Path))
def main(
    events: int, broken: bool, shuffled: bool, by_rows: bool, witnesses: bool, repeat: int, path: Path | None
) -> None:
    """Print the figures."""
    if path is not None:
        print(json.dumps(measure(path, by_rows=by_rows, witnesses=witnesses)))
        return
    with tempfile.TemporaryDirectory(prefix="crownless-log-") as directory:
        folder, began = Path(directory), time.process_time()
        made = write(folder, events, shuffled=shuffled, broken=broken)
        print(f"{made:,} events made in {time.process_time() - began:.1f} s of processor time, not counted below")
        options = ["--rows"] * by_rows + ["--no-witnesses"] * (not witnesses)
        command = [sys.executable, __file__, "--measure", directory, *options]
        for _ in range(repeat):
            for out in (SPARK, SPARK_AGAIN, SPARK_ONE_RUN, PLAIN):
                shutil.rmtree(folder / out, ignore_errors=True)
            load = psutil.getloadavg()[0]
            answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            net, again = report(json.loads(answer.splitlines()[-1]), load)
            verdicts = counted(folder / SPARK, made)
            if witnesses:
                alone = plain(folder)
                ratios = f"{net / alone:.2f} times as long besides the session, and again {again / alone:.2f} times"
                print(f"plain {alone:.1f} s: judging on Spark takes {ratios}")
                assert counted(folder / PLAIN, made) == verdicts
        for (order, verdict), runs in sorted(verdicts.items()):
            print(f"  {order}: {runs:,} runs {verdict}")


def report(figures: dict[str, Any], load: float) -> tuple[float, float]:
    """Prints the figures of Spark; returns the seconds without the session, of the first time and of the second."""
    before, after = figures["before"], figures["after"]
    parts = ", ".join(f"{name} {after[name] - before.get(name, 0):.1f}" for name in sorted(after))
    net = float(sum(after.values()) - sum(before.values()))
    print(
        f"session {sum(before.values()):.1f} s, judging {net:.1f} s of processor time ({parts}), together "
        f"{sum(after.values()):.1f}; {figures['seconds']:.1f} s by the clock; load before it {load:.1f}"
    )
    again = float(sum(figures["again"].values()) - sum(after.values()))
    print(f"judging again {again:.1f} s")
    return net, again


def counted(out: Path, made: int) -> Counter[tuple[str, str]]:
    """The number of runs by order and verdict; of each row that was made there is a judgement."""
    import pyarrow.parquet as pq

    judged = sum(pq.read_table(out / "record_type=judged")["rows"].to_pylist())
    assert judged == made, f"{judged:,} rows judged of {made:,}"
    found = pq.read_table(out / "record_type=verdict", columns=["order", "verdict"])
    return Counter(zip(found["order"].to_pylist(), found["verdict"].to_pylist(), strict=True))


if __name__ == "__main__":
    main()
