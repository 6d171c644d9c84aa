"""`crownless classify --engine spark`: event logs of millions of runs, and with `--live` logs that still grow."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic as time_now
from time import sleep
from typing import TYPE_CHECKING, Any

from crownless.command_line.endings import exit_code, say
from crownless.command_line.output import print_json, print_line, status
from crownless.oracle.log_orders.monitor import OUTCOMES
from crownless.pipeline.logs.judging import LogResult, judge, judge_by_clocks, judge_one_run, read
from crownless.pipeline.logs.live import IDLE_TIMEOUT, LATER, MAX_LATENESS, WITHDRAWN, LiveLog, read_live, start, stop
from crownless.pipeline.logs.records import HOLE, JUDGED, LEFT_OUT, VERDICT, Query, Record, batch_of
from crownless.pipeline.logs.sources import is_parquet
from crownless.pipeline.session import session, spark_errors_as_bad_input, task_progress
from crownless.runtime.ending import Stopped, interrupted_by, stoppable
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable_name, some

from .classify_options import ClassifyOptions
from .classify_report import deciding, outcomes_in, print_counts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


#: At most this many rows that were left out, and holes, are shown; --out has all.
SHOWN_UP_TO = 10
#: Spark checks for new files at least this often: in seconds, and per idle timeout. Interrupts are checked, and runs
#: ended, in this interval.
POLL_INTERVAL, POLLS_A_TIMEOUT = 5.0, 5
INTERRUPT_INTERVAL = 0.2


def classify_on_spark(options: ClassifyOptions) -> int:
    """Judges a Parquet or JSON Lines log, and prints a summary; returns the exit code.

    Only a summary is printed and held here, regardless of the number of runs; `--out` has all.
    """
    dataset, out = options.files[0], None if options.out is None else str(options.out)
    if out is not None and Path(out).exists():
        raise BadInput("the folder exists already", hint="name a new folder", file=out)
    in_files = "://" not in dataset and is_parquet(dataset)  # refuses a bad dataset before Spark starts
    query = Query.of(options.chosen, options.reading, True if out else "first")
    with status(options.quiet or options.as_json) as line, stoppable(options.limits) as part:

        def show(what: str) -> None:
            line.update(what)

        show("starting Spark")
        # The rows of local Parquet files never pass through Java.
        spark = session(options.master, rows_in_java=not in_files)
        show(f"judging {dataset}")
        with (
            task_progress(spark, lambda tasks: show(f"judging {dataset}: {tasks}")),
            interrupted_by(spark.sparkContext.cancelAllJobs),
            spark_errors_as_bad_input(),
            _removed_on_failure(out),
        ):
            log = read(spark, dataset, options.log.order_by)
            if options.clocks:
                judged = judge_by_clocks(log, options.clock_entries, query.orders, query.reading)
            elif options.one_run:
                judged = judge_one_run(log, query.orders, query.reading)
            else:
                judged = judge(log, query.orders, query.reading, witnesses=query.witnesses)
            if out is None:
                judged = LogResult(judged.count, judged.records.persist())
            else:
                judged.records.write.partitionBy("record_type").parquet(out)
                judged = LogResult(judged.count, spark.read.schema(judged.records.schema).parquet(out))
            facts = _facts(dataset, judged, query, options.log.notes)
            if not options.one_run and (unnamed := judged.left_out.where("run IS NULL").count()):
                why = "any run may lack them, so no order is known to be kept"
                facts["notes"].append(f"{some(unnamed, 'row')} without a run left out; {why}")
            if out is None:
                judged.records.unpersist()
    if part.reason is not None:
        raise Stopped(part.reason)
    if not facts["rows"]["read"]:
        raise BadInput("the log is empty", hint="give events, as Parquet or JSON Lines", file=dataset)
    if options.as_json:
        print_json({"summary": facts})
    else:
        _print(facts, out)
    outcomes = deciding({order: counts["runs"] for order, counts in facts["orders"].items()}, options.orders)
    return exit_code(outcomes | {"unknown"} if facts["rows"]["left_out"] else outcomes)


@contextmanager
def _removed_on_failure(folder: str | None) -> Iterator[None]:
    """Removes a partly written folder after a failure."""
    try:
        yield
    except BaseException:
        if folder is not None and "://" not in folder:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _facts(dataset: str, judged: LogResult, query: Query, notes: Sequence[str]) -> dict[str, Any]:
    from pyspark.sql import functions as f

    account = judged.account()
    verdicts = judged.verdicts
    counts = {
        (row["order"], row["verdict"]): row["count"] for row in verdicts.groupBy("order", "verdict").count().collect()
    }
    broken = verdicts.where("verdict = 'violated'").groupBy("order")
    least = broken.agg(f.min("run").alias("run"), f.min_by("witness", "run").alias("witness"))
    first = {row["order"]: row for row in least.collect()}
    by_order: dict[str, Any] = {}
    for order in query.orders:
        found = first.get(order)
        by_order[order] = {
            "runs": {outcome: counts.get((order, outcome), 0) for outcome in OUTCOMES.values()},
            "first_violated": None if found is None else {"run": found["run"], "witness": json.loads(found["witness"])},
        }
    return {
        "file": dataset,
        "engine": "spark",
        "reading": query.reading,
        "notes": list(notes),
        "rows": {"read": account.rows, "judged": account.judged, "left_out": account.left_out},
        "orders": by_order,
        "left_out": _some_of(judged.left_out.orderBy("run", "row")),
        "holes": _some_of(judged.holes.orderBy("run", "hole")),
        "holes_found": judged.holes.count(),
    }


def _some_of(rows: "DataFrame") -> list[dict[str, Any]]:
    return [row.asDict() for row in rows.limit(SHOWN_UP_TO).collect()]


def _print(facts: dict[str, Any], out: str | None) -> None:
    rows = facts["rows"]
    print_line(
        f"{facts['file']}: {some(rows['read'], 'row')}, {rows['judged']:,} judged, {rows['left_out']:,} left out"
    )
    orders = facts["orders"].items()
    firsts = {order: each["first_violated"] for order, each in orders}
    named = {order: "" if first is None else f"run {printable_name(first['run'])}" for order, first in firsts.items()}
    each = ((order, named[order], of["runs"]) for order, of in orders)
    print_counts("order", "first that violates it", outcomes_in(of["runs"] for _, of in orders), each)
    for note in facts["notes"]:
        print_line(f"note: {note}")
    for row in facts["left_out"]:
        print_line(f"left out: {_run_prefix(row['run'])}{row['reason']}: {row['row']}")
    _print_how_many_more(rows["left_out"] - len(facts["left_out"]), "left out", out)
    for row in facts["holes"]:
        print_line(f"hole: {_run_prefix(row['run'])}{row['hole']}")
    _print_how_many_more(facts["holes_found"] - len(facts["holes"]), "holes", out)
    if out is not None:
        print_line(f"all verdicts, witnesses, rows left out, and holes: {out}")


def _run_prefix(name: str | None) -> str:
    """The prefix `run NAME: `; empty if there is no name."""
    return f"run {name}: " if name else ""


def _print_how_many_more(more: int, what: str, out: str | None) -> None:
    if more > 0:
        print_line(f"and {more:,} more {what}" + ("" if out else "; --out FOLDER has all"))


# -- logs that are still being written ---------------------------------------------------------------------------------


class _Standing:
    """Prints records, appends them to files in a folder, and keeps the verdicts that stand."""

    def __init__(self, out: Path | None, *, as_json: bool) -> None:
        self._out, self._as_json = out, as_json
        self._verdicts: dict[tuple[str | None, str | None], str] = {}

    def take(self, records: list[Record]) -> None:
        if self._out is not None:
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_to_dataset(pa.Table.from_batches([batch_of(records)]), self._out)
        for row in records:
            record_type, key = row["record_type"], (row["run"], row["order"])
            if record_type == VERDICT:
                self._verdicts[key] = row["verdict"]
            elif record_type == WITHDRAWN:
                self._verdicts.pop(key, None)
            elif record_type in (LEFT_OUT, HOLE):
                self._verdicts[None, None] = "unknown"
            if record_type != JUDGED:
                (_print_record_as_json if self._as_json else _print_record)(row)

    @property
    def exit_code(self) -> int:
        return exit_code({*self._verdicts.values()} or {"unknown"})


def classify_live(options: ClassifyOptions) -> int:
    """Reports verdicts on the runs in a folder as files are put into it, until interrupted; returns the exit code.

    `--out` is a folder to which all records are appended, as Parquet; from that of `--checkpoint` a later call resumes.
    """
    folder, idle_timeout = options.files[0], options.idle_timeout or IDLE_TIMEOUT
    standing = _Standing(options.out, as_json=options.as_json)
    with ExitStack() as stack:
        with status(options.quiet) as line:
            line.update("starting Spark")
            spark = session(options.master)
        stack.enter_context(spark_errors_as_bad_input())
        temporary = tempfile.TemporaryDirectory(prefix="crownless-", ignore_cleanup_errors=True)
        where = Path(options.checkpoint or stack.enter_context(temporary))
        where.mkdir(parents=True, exist_ok=True)
        live = LiveLog(
            standing.take, options.chosen, options.reading, idle_timeout=idle_timeout, event_time=options.event_time,
            max_lateness=MAX_LATENESS if options.max_lateness is None else options.max_lateness,
            checkpoint=where / "runs.pickle",
        )  # fmt: skip
        interval = min(POLL_INTERVAL, idle_timeout / POLLS_A_TIMEOUT)
        query = start(live, read_live(spark, folder), str(where / "spark"), interval)
        if not options.quiet:
            say(f"judging files added to {folder}; Ctrl-C to stop")
        began = time_now()
        while query.isActive and not options.limits.reached(time_now() - began):
            sleep(min(INTERRUPT_INTERVAL, interval))
            live.poll()
        stop(query)
        failed = query.exception()
        if failed is not None:
            raise failed
    return standing.exit_code


#: The columns whose keys in `--json` have other names.
_JSON_KEYS = {"record_type": "about"}


def _print_record_as_json(row: dict[str, Any]) -> None:
    facts = {_JSON_KEYS.get(name, name): value for name, value in row.items() if value is not None}
    if "witness" in facts:
        facts["witness"] = json.loads(facts["witness"])
    print_json({"update": facts}, indent=None)


def _print_record(row: dict[str, Any]) -> None:
    run = f"run {row['run']}: " if row["run"] else ""
    because = f": {row['because']}" if row["because"] else ""
    if row["record_type"] == VERDICT:
        said = f"{row['order']} {row['verdict']}{because}"
    elif row["record_type"] == WITHDRAWN:
        said = f"{row['order']}: withdrawn{because}"
    elif row["record_type"] == LATER:
        said = f"{row['order']}: reported when the run has ended{because}"
    elif row["record_type"] == LEFT_OUT:
        said = f"left out{because}: {row['row']}"
    else:
        said = f"{row['record_type']}{because}"
    print_line(f"{run}{said}")
