"""The options with which commands that find violations write reports, traces and diagrams of them to files."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import click

from crownless.model_check.check.check_result import Suite
from crownless.model_check.check.exports import itf, junit, sarif
from crownless.model_check.runs.runs import diagrams_of_violations
from crownless.runtime.printable import as_json

from .endings import say
from .file_options import OutputFile
from .options import grouped
from .pictures import write_diagrams, write_file


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
            for name in filter(None, (self.itf, self.svg, self.html)):
                say_not_written(name, suites)
            return
        if self.itf is not None:
            subject, violated, run = shown[0]
            trace = itf(run, f"{subject} violates {violated}")
            write_file("--itf", self.itf, as_json(trace, indent=1) + "\n")
        if self.svg is not None or self.html is not None:
            titles = dict.fromkeys(subject for subject, _, _ in shown)
            found = ((suite.subject, [(line.property.name, line.run) for line in suite.lines]) for suite in suites)
            diagrams = [one for subject, runs in found for one in diagrams_of_violations(subject, runs)]
            write_diagrams(self.svg, self.html, diagrams, f"Violations: {', '.join(titles)}")


def say_not_written(name: str, suites: Iterable[Suite]) -> None:
    """Reports why a file of violating runs is not written: there are none, or none were found."""
    certain = all(line.verdict == "holds" for suite in suites for line in suite.lines)
    said = "no required property is violated" if certain else "no run was found that violates a required property"
    say(f"{name} is not written: {said}")


#: The options of `Reports`, as `reports`.
with_reports = grouped(
    "reports",
    " ".join(Reports._fields),
    Reports,
    click.option("--junit", type=OutputFile(), help="Also write a JUnit XML report to FILE."),
    click.option("--sarif", type=OutputFile(), help="Also write a SARIF report of the violations to FILE."),
    click.option("--itf", type=OutputFile(), help="Also write the first violating run to FILE as an ITF trace."),
    click.option("--svg", type=OutputFile(), help="Also draw the first violating run to FILE as SVG."),
    click.option("--html", type=OutputFile(), help="Also draw all violating runs to FILE as one HTML page."),
)
