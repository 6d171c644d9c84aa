"""The options `--junit`, `--sarif` and `--itf` of verbs that find violations: reports for other tools, as files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from crownless.model_check.exports import Suite, itf, junit, sarif
from crownless.spec.errors import BadInput
from crownless.spec.printable import as_json

from .endings import say

Verb = TypeVar("Verb", bound=Callable[..., Any])


class Reports(NamedTuple):
    """The files that are to be written; None: not."""

    junit: str | None = None
    sarif: str | None = None
    itf: str | None = None

    def write(self, suites: Sequence[Suite]) -> None:
        """Writes them; without a violation there is no trace to write, which is said."""
        if self.junit is not None:
            _write("--junit", self.junit, junit(suites))
        if self.sarif is not None:
            _write("--sarif", self.sarif, as_json(sarif(suites), indent=2) + "\n")
        if self.itf is not None:
            shown = [
                (suite.subject, line, line.run) for suite in suites for line in suite.lines if line.run is not None
            ]
            if not shown:
                say(f"{self.itf} is not written: there is no violating run")
                return
            subject, line, run = shown[0]
            trace = itf(run, f"{subject} breaks {line.name}")
            _write("--itf", self.itf, as_json(trace, indent=1) + "\n")


def with_reports(verb: Verb) -> Verb:
    """Gives a verb `--junit`, `--sarif` and `--itf`; it is called with them as `reports`."""

    @click.option("--junit", metavar="FILE", help="Also write the verdicts to FILE as JUnit has them.")
    @click.option("--sarif", metavar="FILE", help="Also write the violations to FILE as SARIF has them.")
    @click.option("--itf", metavar="FILE", help="Also write the first violating run to FILE as a trace in ITF.")
    @wraps(verb)
    def reporting(*arguments: Any, junit: str | None, sarif: str | None, itf: str | None, **options: Any) -> Any:
        return verb(*arguments, reports=Reports(junit, sarif, itf), **options)

    return reporting  # type: ignore[return-value]  # its options are added, which no type states


def _write(option: str, name: str, text: str) -> None:
    try:
        Path(name).write_text(text, "utf-8")
    except OSError as error:
        raise BadInput(f"{option} {name}: {error.strerror}", hint="name a file that can be written") from None
