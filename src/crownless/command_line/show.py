"""`crownless show`: draw a run or a computation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from crownless.model_check import oracle
from crownless.model_check.diagram import draw
from crownless.model_check.runs import Run
from crownless.spec.errors import BadInput

from .output import console, speaks_unicode


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--ascii", "plain", is_flag=True, help="Plain characters only.")
def show(run: str, plain: bool) -> None:
    """Draw RUN: what `check --json` printed, a computation in the papers' notation, an event log, or a bundled name."""
    out = console()
    unicode = not plain and speaks_unicode()
    checks = _checks(run)
    if checks is None:
        for subject in oracle.subjects(run):
            if subject.run:
                out.print(f"run {subject.run}")
            out.print(draw(subject.computation, unicode=unicode))
        return
    drawn = 0
    for facts in checks:
        for known in facts["properties"]:
            if known["run"] is not None:
                shown = Run.from_json(facts["process_names"], known["run"])
                out.print(f"{facts['protocol']} breaks {known['name']}:")
                out.print(shown.draw(unicode=unicode))
                out.print(shown.say())
                drawn += 1
    if not drawn:
        raise BadInput("no property is violated there, so there is no run to draw", file=run)


def _checks(name: str) -> list[dict[str, Any]] | None:
    """The objects that `check --json` printed into this file; None if it is something else."""
    path = Path(name)
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
    except (OSError, UnicodeDecodeError):
        return None
    if not text.lstrip().startswith("["):
        return None
    try:
        checks = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInput(
            f"not JSON: {error.msg}", mend="give what 'check --json' printed", file=name, line=error.lineno
        ) from error
    for facts in checks:
        if not isinstance(facts, dict) or not {"protocol", "process_names", "properties"} <= facts.keys():
            raise BadInput("not the result of a check", mend="give what 'check --json' printed", file=name)
    return list(checks)
