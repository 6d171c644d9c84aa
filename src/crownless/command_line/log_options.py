"""The options for reading event logs, the same for every command that reads them."""

import click

from crownless.oracle.logs.formats import FORMATS, Format, LogOptions, read_mapping
from crownless.oracle.logs.named_computation import NamedComputation
from crownless.oracle.logs.reader import subjects
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable_name

from .file_options import InputFile
from .options import grouped

#: At most this many runs are named if one must be chosen.
RUNS_NAMED = 3


def _log_options(
    form: Format | None,
    columns: tuple[str, ...],
    kinds: tuple[str, ...],
    pattern: str | None,
    order_by: str | None,
    mapping: str | None,
) -> LogOptions:
    known = read_mapping(mapping) if mapping is not None else LogOptions()
    given = _pairs("--column", "NAME=THEIRS", "message=msg_id", columns)
    theirs = {name: of for name, of in known.columns.items() if name != "index" or order_by is None}
    return LogOptions(
        form,
        {**theirs, **given},
        {**known.kinds, **_pairs("--kind", "THEIRS=KIND", "recv=deliver", kinds)},
        pattern,
        order_by=order_by or (None if "index" in given else known.order_by),
    )


#: These options, as `log`.
with_log_options = grouped(
    "log",
    "form columns kinds pattern order_by mapping",
    _log_options,
    click.option(
        "--format",
        "form",
        type=click.Choice(FORMATS),
        help="Log format, if the file name does not show it (needed for CSV on stdin).",
    ),
    click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="NAME=THEIRS",
        help="Rename a column: --column message=msg_id (repeatable).",
    ),
    click.option(
        "--kind",
        "kinds",
        multiple=True,
        metavar="THEIRS=KIND",
        help="Rename a kind of event: --kind recv=deliver (repeatable).",
    ),
    click.option(
        "--order-by",
        metavar="COLUMN",
        help="Order each process's events by this column (numbers or ISO 8601 times) or by 'line', instead of 'index'.",
    ),
    click.option(
        "--mapping",
        type=InputFile(),
        metavar="FILE",
        help="TOML or JSON file with 'order_by' and the tables 'columns' and 'kinds'.",
    ),
    click.option(
        "--pattern",
        metavar="REGEX",
        help="For ShiViz logs: how an event's text names its message (groups send, to, deliver, from).",
    ),
)
#: The option `--run`, as `chosen`.
with_run = click.option("--run", "chosen", metavar="NAME", help="Which run to draw, if the log has several.")


def _pairs(option: str, form: str, example: str, given: tuple[str, ...]) -> dict[str, str]:
    """The pairs given by a repeatable option of this form, keyed by their first part."""
    pairs: dict[str, str] = {}
    for one in given:
        first, equals, second = one.rpartition("=") if option == "--kind" else one.partition("=")
        if not first or not second or not equals:
            raise BadInput(f"{option} {printable_name(one)} is not {form}", hint=f"such as {option} {example}")
        if pairs.setdefault(first, second) != second:
            both = f"{printable_name(pairs[first])} and {printable_name(second)}"
            raise BadInput(f"{option}: '{printable_name(first)}' is mapped to both {both}", hint="name each once")
    return pairs


def chosen_runs(name: str, log: LogOptions, run: str | None) -> list[NamedComputation]:
    """The computation or the runs of a log in the file of that name; with `run`, only the run of that name."""
    found = list(subjects(name, log))
    if run is None:
        return found
    chosen = [one for one in found if (one.run or "") == run]
    if not chosen:
        names = [printable_name(one.run) for one in found if one.run]
        more = f" and {len(names) - RUNS_NAMED:,} more" if len(names) > RUNS_NAMED else ""
        hint = f"it has {', '.join(names[:RUNS_NAMED])}{more}" if names else "leave it out: this is one computation"
        raise BadInput(f"it has no run '{printable_name(run)}'", hint=hint, file=name)
    return chosen
