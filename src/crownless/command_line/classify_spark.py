"""`crownless classify --engine spark`: event logs of millions of runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crownless.pipeline.logs.judging import Judged, judge, judge_parquet, read
from crownless.pipeline.session import session
from crownless.spec.errors import BadInput
from crownless.spec.orders import ORDERS, Reading

from .output import (
    EXIT_HOLDS,
    EXIT_UNKNOWN,
    EXIT_VIOLATED,
    console,
    print_json,
    print_table,
    some,
    status,
    table,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: So many of what is odd, and of what is broken, are shown; --out has all.
SHOWN_UP_TO = 10


def classify_on_spark(
    dataset: str,
    *,
    orders: Sequence[str] = (),
    reading: Reading = "lost",
    master: str | None = None,
    out: str | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> int:
    """Judges a Parquet or JSON Lines log, run by run, and prints a summary; the exit code.

    `out`: a folder for all verdicts, witnesses, quarantined rows and holes, as Parquet. Only a summary is printed and
    held here, however many runs there are.
    """
    if out is not None and Path(out).exists():
        raise BadInput("it is there already", mend="name a folder that is not", file=out)
    with status(quiet or as_json) as line:
        if line is not None:
            line.update("starting Spark")
        # The rows of Parquet files that are here never pass through Java.
        here = _is_parquet_here(dataset)
        spark = session(master, rows_in_java=not here)
        if line is not None:
            line.update(f"judging {dataset}")
        if here:
            judged = judge_parquet(spark, dataset, orders, reading)
        else:
            judged = judge(read(spark, dataset), orders, reading)
        if out is None:
            judged = Judged(judged.events, judged.everything.persist())
        else:
            judged.everything.write.partitionBy("about").parquet(out)
            judged = Judged(judged.events, spark.read.schema(judged.everything.schema).parquet(out))
        facts = _facts(dataset, judged, reading, tuple(name for name in ORDERS if not orders or name in orders))
        if out is None:
            judged.everything.unpersist()
    if as_json:
        print_json(facts)
    else:
        _print(facts, out)
    outcomes = {outcome for counts in facts["orders"].values() for outcome, n in counts["runs"].items() if n}
    odd = facts["rows"]["quarantined"] > 0
    return EXIT_VIOLATED if "broken" in outcomes else EXIT_UNKNOWN if "unknown" in outcomes or odd else EXIT_HOLDS


def _is_parquet_here(dataset: str) -> bool:
    if "://" in dataset:
        return False
    path = Path(dataset)
    return any(path.rglob("*.parquet")) if path.is_dir() else path.exists() and dataset.endswith(".parquet")


def _facts(dataset: str, judged: Judged, reading: Reading, orders: Sequence[str]) -> dict[str, Any]:
    from pyspark.sql import functions as f

    account = judged.account()
    verdicts = judged.verdicts
    counts = {
        (row["order"], row["verdict"]): row["count"] for row in verdicts.groupBy("order", "verdict").count().collect()
    }
    broken = verdicts.where("verdict = 'broken'").groupBy("order")
    least = broken.agg(f.min("run").alias("run"), f.min_by("witness", "run").alias("witness"))
    first = {row["order"]: row for row in least.collect()}
    told: dict[str, Any] = {}
    for order in orders:
        found = first.get(order)
        told[order] = {
            "runs": {outcome: counts.get((order, outcome), 0) for outcome in ("kept", "broken", "unknown")},
            "first_broken": None if found is None else {"run": found["run"], "witness": json.loads(found["witness"])},
        }
    return {
        "file": dataset,
        "engine": "spark",
        "reading": reading,
        "rows": {"read": account.rows, "judged": account.judged, "quarantined": account.quarantined},
        "orders": told,
        "quarantine": _some_of(judged.quarantine.orderBy("run", "row")),
        "holes": _some_of(judged.holes.orderBy("run", "hole")),
    }


def _some_of(rows: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict() for row in islice(rows.limit(SHOWN_UP_TO).collect(), SHOWN_UP_TO)]


def _print(facts: dict[str, Any], out: str | None) -> None:
    to = console()
    rows = facts["rows"]
    to.print(f"{facts['file']}: {some(rows['read'], 'row')}, {rows['judged']:,} judged, {rows['quarantined']:,} not")
    shown = table("order", "first that breaks it", right=("kept", "broken", "unknown"))
    for order, told in facts["orders"].items():
        first = told["first_broken"]
        where = "" if first is None else f"run {first['run']}"
        shown.add_row(order, where, *(f"{told['runs'][kind]:,}" for kind in ("kept", "broken", "unknown")))
    print_table(shown)
    for row in facts["quarantine"]:
        to.print(f"quarantine: {'' if row['run'] is None else 'run ' + row['run'] + ': '}{row['reason']}: {row['row']}")
    for row in facts["holes"]:
        to.print(f"hole: run {row['run']}: {row['hole']}")
    if out is not None:
        to.print(f"all verdicts, witnesses, quarantined rows and holes: {out}")
