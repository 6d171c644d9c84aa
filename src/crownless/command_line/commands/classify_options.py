"""The options of `crownless classify`, each a field of one value, and those that exclude each other."""

# ruff: noqa: RUF009  (the fields of the options are made by a function)
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import click

from crownless.command_line.endings import say
from crownless.command_line.file_options import OutputFolder, output_folder
from crownless.oracle.log_orders.classify_file import How, LogRequest
from crownless.oracle.logs.formats import BY_LINE, LogOptions, Progress
from crownless.oracle.logs.skipped import Quarantine
from crownless.runtime.ending import Limits
from crownless.runtime.errors import BadInput
from crownless.spec import orders as spec
from crownless.spec.orders import UnreceivedPolicy

#: Options that require another one.
NEEDS = {
    "--master": "--engine spark",
    "--live": "--engine spark",
    "--checkpoint": "--live",
    "--idle-timeout": "--live",
    "--event-time": "--live",
    "--max-lateness": "--event-time",
    "--processes": "--clocks",
}
_DECLARED = ("--complete", "--process", "--skip-bad")
#: Options that exclude each other: with Spark, and without.
NOT_ON_SPARK = {
    "--engine spark": ("--by-process", "--format", "--column", "--pattern", "--kind", "--match", *_DECLARED),
    "--one-run": ("--clocks", "--live", "--order-by"),
    "--clocks": ("--live", "--order-by"),
    "--live": ("--order-by",),
}
NOT_BESIDE = {
    "--one-run": ("--clocks", "--match", "--out", "--by-process", "--pattern", *_DECLARED),
    "--clocks": ("--match", "--format", "--column", "--pattern", "--order-by", *_DECLARED),
    "--out": ("--complete", "--skip-bad"),
    "--match": ("--pattern", *_DECLARED),
}


def option(*names: str, **how: Any) -> Any:
    """A field of `ClassifyOptions` that is an option of the command."""
    default = how.get("default", () if how.get("multiple") else False if how.get("is_flag") else None)
    return field(default=default, metadata={"option": click.option(*names, **how)})


@dataclass(frozen=True)
class ClassifyOptions:
    """The arguments and options of the command, as they were given."""

    files: tuple[str, ...]
    log: LogOptions
    limits: Limits
    as_json: bool
    quiet: bool
    orders: tuple[str, ...] = option(
        "--order", "orders", multiple=True, help="Decide only this order (repeatable).  [default: all]"
    )
    reading: UnreceivedPolicy = option(
        "--unreceived",
        "reading",
        type=click.Choice(["lost", "pending"]),
        default="lost",
        show_default=True,
        help="Treat messages that are not received as lost, or as still in flight.",
    )
    complete: bool = option(
        "--complete",
        is_flag=True,
        help="The log is complete: also decide delivers-once and delivers-all.",
    )
    skip_bad: bool = option(
        "--skip-bad",
        is_flag=True,
        help="Leave out lines that are unusable or contradict each other, and report how many (exit code 3).",
    )
    takes_part: tuple[str, ...] = option(
        "--process", "takes_part", multiple=True, metavar="NAME", help="A process that may have no events (repeatable)."
    )
    by_process: bool = option(
        "--by-process", is_flag=True, help="Also print how far the deliveries of each process are out of order."
    )
    match: bool = option(
        "--match",
        is_flag=True,
        help="For event logs without message names: match deliveries with sends, in sending order.",
    )
    out: Path | None = option(
        "--out",
        type=OutputFolder(),
        metavar="FOLDER",
        help="Write all verdicts, witnesses and holes to this new folder, as Parquet.",
    )
    engine: str = option(
        "--engine",
        type=click.Choice(["plain", "spark"]),
        default="plain",
        show_default=True,
        help="spark: one dataset of event logs, Parquet or JSON Lines, of any size.",
    )
    one_run: bool = option(
        "--one-run",
        is_flag=True,
        help="The log holds one run, possibly larger than memory; it is read in blocks.",
    )
    clocks: bool = option("--clocks", is_flag=True, help="Compare the log with its vector clocks.")
    processes: str | None = option(
        "--processes",
        help="With --clocks: process names for vector-clock positions, e.g. P1,P2.  [default: the names, in order]",
    )
    master: str | None = option("--master", help="With --engine spark: where Spark runs, such as local[2].")
    live: bool = option(
        "--live", is_flag=True, help="With --engine spark: FILE is a folder to which files are being added."
    )
    checkpoint: str | None = option(
        "--checkpoint",
        metavar="DIR",
        callback=output_folder,
        help="With --live: save progress in this folder, or resume from it.",
    )
    idle_timeout: float | None = option(
        "--idle-timeout",
        type=click.FloatRange(min=0, min_open=True),
        help="With --live: seconds without events after which a run ends.",
    )
    event_time: str | None = option(
        "--event-time",
        help="With --live: end runs by the timestamps in this column instead of the machine's clock.",
    )
    max_lateness: float | None = option(
        "--max-lateness",
        type=click.FloatRange(min=0),
        help="With --event-time: how many seconds late an event may be.",
    )

    @property
    def chosen(self) -> tuple[str, ...]:
        """The orders to decide, from the weakest to the strongest."""
        return spec.chosen(self.orders)

    @property
    def how(self) -> How:
        return "one-run" if self.one_run else "clocks" if self.clocks else "match" if self.match else "runs"

    @property
    def clock_entries(self) -> tuple[str, ...]:
        """The processes whose entries clocks have, if they are named."""
        return tuple(self.processes.split(",")) if self.processes else ()

    def request(self, name: str, progress: Progress | None = None) -> LogRequest:
        """The request to classify the file of that name by the plain engine."""
        log = replace(
            self.log,
            complete=self.complete,
            processes=tuple(dict.fromkeys(self.takes_part)),
            quarantine=Quarantine() if self.skip_bad else None,
        )
        around = nullcontext if self.quiet else _compiling()
        return LogRequest(name, self.chosen, self.reading, self.how, log, self.clock_entries, around, progress)

    def check(self) -> None:
        """Raises `BadInput` for options that do not go together."""
        for order in self.orders:
            spec.order_named(order)
        values = {f"--{one.name.replace('_', '-')}": getattr(self, one.name) for one in fields(self)}
        values["--process"] = self.takes_part
        given = {name for name, value in values.items() if value not in (None, False, ())}
        given |= {*self.log.given.values(), *["--engine spark"] * (self.engine == "spark")}
        for name, needed in NEEDS.items():
            if name in given and needed not in given:
                raise BadInput(f"{name} requires {needed}", hint=f"add {needed}, or leave {name} out")
        for name, others in (NOT_ON_SPARK if self.engine == "spark" else NOT_BESIDE).items():
            if name in given and (clash := [other for other in others if other in given]):
                raise BadInput(f"{clash[0]} cannot be combined with {name}", hint="leave one of them out")
        if self.engine == "spark" and self.log.order_by == BY_LINE:
            hint = "name a column; Spark does not keep the order of lines"
            raise BadInput("--order-by line cannot be combined with --engine spark", hint=hint)
        if self.complete and self.reading == "pending":
            hint = "leave one of them out: in a complete log nothing is still in flight"
            raise BadInput("--complete cannot be combined with --unreceived pending", hint=hint)
        for name in ("--engine spark", "--out"):
            if name in given and len(self.files) != 1:
                raise BadInput(
                    f"{name} takes one log", hint="put the files into one folder, or run the command for each"
                )
        if self.out is not None and self.engine == "plain":
            from crownless.pipeline.logs.records import refuse_taken

            refuse_taken(self.out)


def with_classify_options(command: Any) -> Any:
    """Gives the command the options that `ClassifyOptions` declares."""
    for one in reversed(fields(ClassifyOptions)):
        if "option" in one.metadata:
            command = one.metadata["option"](command)
    return command


def _compiling() -> Callable[[], AbstractContextManager[None]]:
    """Returns a context that reports a compilation, once."""
    from crownless.model_check.search.engines import COMPILES, LONG_TO_COMPILE_FOR_LOGS, compiling

    return partial(compiling, cache(partial(say, COMPILES)), LONG_TO_COMPILE_FOR_LOGS)
