"""`crownless show`: a drawing of a run or a computation."""

from itertools import zip_longest
from pathlib import Path
from typing import Any

import click

from crownless.command_line.file_options import InputFile, OutputFile
from crownless.command_line.log_options import chosen_runs, with_log_options, with_run
from crownless.command_line.options import Command, with_ascii
from crownless.command_line.output import print_drawing, print_json, print_line, speaks_unicode
from crownless.command_line.pictures import write_diagrams
from crownless.drawing.emphasis import diagram_of
from crownless.drawing.text import in_text
from crownless.model_check.runs.run_diagrams import variables_after
from crownless.model_check.runs.runs import Run, shown_once
from crownless.model_check.runs.saved_runs import SavedCheck
from crownless.oracle.logs.formats import LogOptions
from crownless.oracle.logs.named_computation import NamedComputation
from crownless.runtime import research_parts
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable, printable_name
from crownless.spec import library
from crownless.spec.computation import Computation
from crownless.spec.orders import order_named
from crownless.spec.witnesses import event_json

from .saved import saved_checks


@click.command(cls=Command, everyday="svg html highlight variables chosen as_json")
@click.argument("run", metavar="RUN", type=InputFile())
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with what would be drawn.")
@click.option("--svg", type=OutputFile(), help="Draw to FILE as SVG instead of text.")
@click.option("--html", type=OutputFile(), help="Draw to FILE as one HTML page instead of text.")
@click.option(
    "--highlight",
    metavar="ORDER",
    help="In SVG and HTML, highlight a violation of ORDER, or 'none'.  [default: FIFO or causal order]",
)
@click.option("--variables", is_flag=True, help="For runs, also print the local variables after each action.")
@click.option(
    "--protocol",
    metavar="FILE.py:CLASS",
    help="With --variables: the class that the run is from, if it is not a bundled protocol.",
)
@with_run
@with_log_options
@with_ascii
def show(
    run: str,
    as_json: bool,
    svg: str | None,
    html: str | None,
    highlight: str | None,
    variables: bool,
    protocol: str | None,
    chosen: str | None,
    log: LogOptions,
) -> None:
    """Draw RUN: the output of `check --json`, `conform --json` or `conform --save`, a computation in the papers'
    notation, an event log, or a bundled name.

    \b
    Examples:
      crownless show mf-fig8
      crownless show mf-fig8 --svg fig8.svg --highlight synchronous
      crownless show log.csv --column message=msg_id --run friday
      crownless check unordered --json > runs.json; crownless show runs.json
    """
    unicode = speaks_unicode()
    to_files = svg is not None or html is not None
    if highlight is not None:
        if not to_files:
            raise BadInput("--highlight does not apply to text drawings", hint="add --svg FILE or --html FILE")
        if highlight != "none":
            order_named(highlight)
    if protocol is not None and not variables:
        raise BadInput("--protocol requires --variables", hint="add --variables")
    checks = None if log.given else saved_checks(run)
    if checks is None:
        if variables:
            raise BadInput(
                "--variables does not apply to computations, which have none", hint="give the output of 'check --json'"
            )
        subjects = chosen_runs(run, log, chosen)
        if as_json:
            facts = [{"run": subject.run, **_computation_json(subject.computation)} for subject in subjects]
            print_json({"computations": facts})
        if to_files:
            title = _bundled_title(run) or Path(run).name
            diagrams = [diagram_of(subject.computation, subject.run or title, highlight) for subject in subjects]
            write_diagrams(svg, html, diagrams, printable_name(run))
        elif not as_json:
            _draw_computations(subjects, _bundled_title(run), unicode)
            _see(run)
        return
    if chosen is not None:
        raise BadInput("--run works only with an event log", hint="leave it out")
    try:
        violations = [(check, check.violations()) for check in checks]
    except BadInput as error:
        raise error.at(file=run) from None
    if not any(found for _, found in violations):
        raise BadInput("no property is violated in it, so there is no run to draw", file=run)
    if to_files or variables:  # before equal runs are shown as one, since the outcomes become known
        violations = [
            (check, [(name, _with_variables(check, one, run, variables, protocol)) for name, one in found])
            for check, found in violations
        ]
    violated = [(check, one, names) for check, found in violations for one, names in shown_once(found)]
    if as_json:
        print_json({"runs": [_run_json(one, names) for _, one, names in violated]})
    if to_files:
        drawn = [one.diagram(_title_of_run(check, names), highlight or names[0]) for check, one, names in violated]
        write_diagrams(svg, html, drawn, printable_name(run))
    if to_files or as_json:
        return
    for check, one, names in violated:
        print_line(f"{_title_of_run(check, names)}:")
        print_drawing(one.draw(unicode=unicode))
        for line, after in zip_longest(one.say().splitlines(), variables_after(one) if variables else (), fillvalue=()):
            print_drawing(str(line))
            for variable in after:
                print_drawing(printable(f"       {variable}"))
    _see(run)


def _run_json(run: Run, violates: list[str]) -> dict[str, Any]:
    """A run, and of one that never ends also the loop."""
    return {"processes": list(run.processes), "violates": violates, "run": run.json(), **run.loop_json()}


def _with_variables(check: SavedCheck, one: Run, file: str, required: bool, protocol: str | None) -> Run:
    """The run with its local states, if it can be replayed."""
    from crownless.run_explorer.subjects import with_variables

    try:
        return with_variables(check, one, protocol)
    except BadInput as error:
        if required:
            raise error.at(file=file) from None
        return one


def _bundled_title(name: str) -> str | None:
    """The description of the bundled computation of that name; None if it is a file, or a log."""
    if library.is_file_name(name) or name not in (*library.names(), *library.counterexamples()):
        return None
    if name not in library.counterexamples():
        return library.comment(name)
    counterexamples = {known["name"]: str(known["text"]) for known in research_parts.section("counterexamples")}
    return counterexamples.get(name) or library.comment(name)


def _title_of_run(check: SavedCheck, names: list[str]) -> str:
    return check.title or f"{check.protocol} violates {', '.join(names)}"


def _see(name: str) -> None:
    """Where to find which claim a counterexample refutes."""
    if name not in (*library.counterexamples(), *library.counterexamples(".json")):
        return
    claims = {known["name"]: known["claim"] for known in research_parts.section("counterexamples")}
    if name in claims and not library.is_file_name(name):
        print_line(f"see: crownless claims {claims[name]}")


def _draw_computations(subjects: list[NamedComputation], title: str | None, unicode: bool) -> None:
    if title is not None:
        print_line(f"{title}:")
    for subject in subjects:
        if subject.run:
            print_line(f"run {printable_name(subject.run)}")
        print_drawing(in_text(diagram_of(subject.computation), unicode=unicode))


def _computation_json(c: Computation) -> dict[str, Any]:
    """The lines of a computation, event by event."""
    return {
        "processes": list(c.processes),
        "messages": [
            {"name": m.name, "sender": c.processes[m.sender], "receivers": [c.processes[q] for q in m.receivers]}
            for m in c.messages
        ],
        "lines": [
            [event_json(c, e) for e in range(c.first_event[p], c.first_event[p + 1])] for p in range(len(c.processes))
        ],
    }
