"""A sweep of 1,000 simulations on Spark: processor load.

    python benchmarks/cost_on_spark.py [--master local[2]] [--simulations 1000]

Prints the processor time of the workers and the Java side, and its fraction of all processors' time, from the first
task to the last result, without the start of Spark; on a busy machine also the fraction of the time that other programs
left over.
"""

from __future__ import annotations

import argparse
import time

import psutil

from crownless.pipeline.session import session
from crownless.research.costs.experiment import combinations
from crownless.research.costs.sweeping import sweep


def processor_times() -> tuple[float, float]:
    """Processor time in seconds: of all processes under this one, Java and Python workers; and of the whole machine."""
    ours = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        ours += times.user + times.system
    machine = psutil.cpu_times()
    return ours, machine.user + machine.system + machine.nice


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--simulations", type=int, default=1000)
    options = parser.parse_args()
    spark = session(options.master, rows_in_java=False)
    processors = spark.sparkContext.defaultParallelism
    protocols = ("rst", "ses", "optimal", "buffer", "murty-garg")
    seeds = -(-options.simulations // (2 * len(protocols)))
    experiments = combinations(protocols, processes=(4, 12), loads=(0.05,), seeds=seeds, messages=500)
    experiments = experiments[: options.simulations]
    sweep(combinations(("rst",), seeds=2 * processors, messages=20), engine="spark")  # starts the workers
    before, machine_before, began = *processor_times(), time.perf_counter()
    rows = sweep(experiments, engine="spark")
    seconds = time.perf_counter() - began
    after, machine_after = processor_times()
    ours, others = after - before, (machine_after - machine_before) - (after - before)
    print(f"{len(rows):,} simulations in {seconds:.1f} s on {processors} processors: {ours:.1f} s of processor time")
    left = share(ours, others, processors, seconds)
    print(f"utilisation {ours / (processors * seconds):.0%}; of what others left over {left:.0%}")
    spark.stop()


def share(ours: float, others: float, processors: int, seconds: float) -> float:
    """Our part of the processor time that other processes did not take."""
    return ours / max(ours, processors * seconds - others)


if __name__ == "__main__":
    main()
