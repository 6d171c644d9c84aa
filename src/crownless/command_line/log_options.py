"""The options by which event logs are read, the same for every verb that reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, NamedTuple, TypeVar, get_args

import click

from crownless.model_check import oracle
from crownless.model_check.logs.columns import TYPES
from crownless.model_check.logs.files import Format
from crownless.model_check.logs.kinds import check_kinds
from crownless.model_check.logs.patterns import Patterns
from crownless.spec.errors import BadInput, unknown_name
from crownless.spec.printable import printable_name

Verb = TypeVar("Verb", bound=Callable[..., Any])

#: Of more runs only the first ones are named where one is to be chosen.
RUNS_NAMED = 3


class LogOptions(NamedTuple):
    """These options as they were given; `columns` and `kinds` by the names that are crownless's own, and the log's."""

    form: Format | None
    columns: Mapping[str, str]
    kinds: Mapping[str, str]
    patterns: Patterns

    @property
    def named(self) -> dict[str, bool]:
        """Which of them were given, by their names; `--kind` is not among them."""
        return {
            "--format": self.form is not None,
            "--column": bool(self.columns),
            **dict.fromkeys(self.patterns.given, True),
        }

    @property
    def given(self) -> list[str]:
        """The names of those that were given."""
        return [name for name, given in {**self.named, "--kind": bool(self.kinds)}.items() if given]

    def runs(self, name: str, run: str | None) -> list[oracle.NamedComputation]:
        """The computation or the runs of a log in the file of that name; with `run` the one that is called so."""
        found = list(oracle.subjects(name, self.form, self.columns, self.patterns, self.kinds))
        if run is None:
            return found
        chosen = [one for one in found if (one.run or "") == run]
        if not chosen:
            raise BadInput(f"there is no run '{printable_name(run)}' in it", hint=_runs_in(found), file=name)
        return chosen

    def one_run(self, name: str, run: str | None) -> oracle.NamedComputation:
        """The same where there must be one alone."""
        first, *others = self.runs(name, run)
        if others:
            hint = f"add --run NAME: {_runs_in([first, *others])}"
            raise BadInput(f"it has {len(others) + 1:,} runs, and a page shows one", hint=hint, file=name)
        return first


def _runs_in(found: list[oracle.NamedComputation]) -> str:
    """The first runs, or that none has a name."""
    names = [printable_name(one.run) for one in found if one.run]
    more = f" and {len(names) - RUNS_NAMED:,} more" if len(names) > RUNS_NAMED else ""
    return f"it has {', '.join(names[:RUNS_NAMED])}{more}" if names else "leave it out: this is one computation"


def with_log_options(verb: Verb) -> Verb:
    """Gives a verb these options; it is called with them as `log`."""

    @click.option(
        "--format",
        "form_of_log",
        type=click.Choice(get_args(Format)),
        help="The format of the logs, where their names do not say it, as of standard input.",
    )
    @click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="NAME=THEIRS",
        help="What a log calls a column, such as message=msg_id (repeatable).",
    )
    @click.option(
        "--kind",
        "kinds",
        multiple=True,
        metavar="THEIRS=KIND",
        help="What a log calls a kind of event, such as recv=deliver (repeatable).",
    )
    @click.option("--pattern", metavar="REGEX", help="Of ShiViz logs: an event, with the groups host, clock and event.")
    @click.option(
        "--delimiter", metavar="REGEX", help="Of ShiViz logs: what separates runs; its group trace names them."
    )
    @click.option("--send", metavar="REGEX", help="Of ShiViz logs: a send in an event's text, with the group message.")
    @click.option("--deliver", metavar="REGEX", help="Of ShiViz logs: the same of a deliver.")
    @wraps(verb)
    def with_them(
        *arguments: Any,
        form_of_log: Format | None,
        columns: tuple[str, ...],
        kinds: tuple[str, ...],
        pattern: str | None,
        delimiter: str | None,
        send: str | None,
        deliver: str | None,
        **options: Any,
    ) -> Any:
        patterns = Patterns(pattern, delimiter, send, deliver)
        return verb(*arguments, log=LogOptions(form_of_log, _columns(columns), _kinds(kinds), patterns), **options)

    return with_them  # type: ignore[return-value]  # its options are added, which no type states


def with_run(verb: Verb) -> Verb:
    """Gives a verb `--run`; it is called with its value as `chosen`."""
    return click.option("--run", "chosen", metavar="NAME", help="Of a log with several runs: this one.")(verb)


def _columns(given: tuple[str, ...]) -> dict[str, str]:
    """What a log calls its columns, from `NAME=THEIRS`."""
    columns: dict[str, str] = {}
    for one in given:
        name, equals, theirs = one.partition("=")
        if not equals or not theirs:
            raise BadInput(f"--column {printable_name(one)} is not NAME=THEIRS", hint="such as --column message=msg_id")
        if name not in TYPES:
            raise unknown_name("column", name, TYPES)
        columns[name] = theirs
    return columns


def _kinds(given: tuple[str, ...]) -> dict[str, str]:
    """What a log calls kinds of events, from `THEIRS=KIND`."""
    kinds: dict[str, str] = {}
    for one in given:
        theirs, equals, kind = one.rpartition("=")
        if not equals or not theirs:
            raise BadInput(f"--kind {printable_name(one)} is not THEIRS=KIND", hint="such as --kind recv=deliver")
        if kinds.get(theirs, kind) != kind:
            both = f"{printable_name(kinds[theirs])} and {printable_name(kind)}"
            raise BadInput(f"--kind: '{printable_name(theirs)}' is to be {both}", hint="name each kind once")
        kinds[theirs] = kind
    check_kinds(kinds)
    return kinds
