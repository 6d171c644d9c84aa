"""The options with which verbs that find violations write reports, traces and diagrams of them to files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import click

from crownless.model_check.check.exports import Suite, itf, junit, sarif
from crownless.model_check.runs.runs import diagrams_of_violations
from crownless.runtime.printable import as_json

from .endings import say
from .file_options import OutputFile
from .pictures import write_diagrams, write_file

Verb = TypeVar("Verb", bound=Callable[..., Any])


class Reports(NamedTuple):
    """The files to write; None: not requested."""

    junit: str | None = None
    sarif: str | None = None
    itf: str | None = None
    svg: str | None = None
    html: str | None = None

    def write(self, suites: Sequence[Suite]) -> None:
        """Writes them; without a violation there is no trace to write, which is reported."""
        if self.junit is not None:
            write_file("--junit", self.junit, junit(suites))
        if self.sarif is not None:
            write_file("--sarif", self.sarif, as_json(sarif(suites), indent=2) + "\n")
        shown = [
            (suite.subject, line.property.name, line.run)
            for suite in suites
            for line in suite.lines
            if line.run is not None
        ]
        if not shown:
            certain = all(line.verdict == "holds" for suite in suites for line in suite.lines)
            why = "there is no violating run" if certain else "no violating run was found"
            for name in filter(None, (self.itf, self.svg, self.html)):
                say(f"{name} is not written: {why}")
            return
        if self.itf is not None:
            subject, broken, run = shown[0]
            trace = itf(run, f"{subject} breaks {broken}")
            write_file("--itf", self.itf, as_json(trace, indent=1) + "\n")
        if self.svg is not None or self.html is not None:
            titles = dict.fromkeys(subject for subject, _, _ in shown)
            found = ((suite.subject, [(line.property.name, line.run) for line in suite.lines]) for suite in suites)
            diagrams = [one for subject, runs in found for one in diagrams_of_violations(subject, runs)]
            write_diagrams(self.svg, self.html, diagrams, f"Violations: {', '.join(titles)}")


def with_reports(verb: Verb) -> Verb:
    """Gives a verb these options; it is called with them as `reports`."""

    @click.option("--junit", type=OutputFile(), help="Also write the verdicts to FILE as JUnit has them.")
    @click.option("--sarif", type=OutputFile(), help="Also write the violations to FILE as SARIF has them.")
    @click.option("--itf", type=OutputFile(), help="Also write the first violating run to FILE as a trace in ITF.")
    @click.option("--svg", type=OutputFile(), help="Also draw the first violating run as SVG, into FILE.")
    @click.option("--html", type=OutputFile(), help="Also draw every violating run on one HTML page, FILE.")
    @wraps(verb)
    def reporting(*arguments: Any, **options: Any) -> Any:
        reports = Reports(**{name: options.pop(name) for name in Reports._fields})
        return verb(*arguments, reports=reports, **options)

    return reporting  # type: ignore[return-value]  # its options are added, which no type states
