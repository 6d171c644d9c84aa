"""`crownless show`: draw a run or a computation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from crownless.model_check import oracle
from crownless.model_check.diagram import draw
from crownless.model_check.runs import Run
from crownless.proofs.ledger import bundled
from crownless.spec import library
from crownless.spec.computation import Computation
from crownless.spec.errors import BadInput
from crownless.spec.witnesses import event_json

from .output import console, print_json, speaks_unicode


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--ascii", "plain", is_flag=True, help="Plain characters only.")
@click.option("--json", "as_json", is_flag=True, help="Print what would be drawn as JSON.")
def show(run: str, plain: bool, as_json: bool) -> None:
    """Draw RUN: what `check --json` printed, a computation in the papers' notation, an event log, or a bundled name."""
    unicode = not plain and speaks_unicode()
    checks = _checks(run)
    if checks is None:
        subjects = list(oracle.subjects(run))
        if as_json:
            print_json([{"run": subject.run, **_computation_json(subject.computation)} for subject in subjects])
        else:
            _draw_computations(subjects, _bundled_title(run), unicode)
            _see(run)
        return
    broken = [(facts, known) for facts in checks for known in facts["properties"] if known["run"] is not None]
    if not broken:
        raise BadInput("no property is violated there, so there is no run to draw", file=run)
    runs = [Run.from_json(facts["process_names"], known["run"]) for facts, known in broken]
    if as_json:
        print_json([{"processes": list(one.processes), "run": one.json()} for one in runs])
        return
    out = console()
    for (facts, known), one in zip(broken, runs, strict=True):
        broken_there = f"{facts['protocol']} breaks {known['name']}"
        out.print(f"{facts.get('title', broken_there)}:")
        out.print(one.draw(unicode=unicode))
        out.print(one.say())
    _see(run)


def _bundled_title(name: str) -> str | None:
    """What the bundled computation of that name is; None if it is a file, or a log."""
    if Path(name).exists() or name not in (*library.names(), *library.counterexamples()):
        return None
    counterexamples = {known["name"]: str(known["text"]) for known in bundled.facts()}
    return counterexamples.get(name) or library.comment(name)


def _see(name: str) -> None:
    """Where it is told what a counterexample is one to."""
    claims = {known["name"]: known["claim"] for known in bundled.facts()}
    if name in claims and not Path(name).exists():
        console().print(f"see: crownless claims {claims[name]}")


def _draw_computations(subjects: list[oracle.Subject], title: str | None, unicode: bool) -> None:
    out = console()
    if title is not None:
        out.print(f"{title}:")
    for subject in subjects:
        if subject.run:
            out.print(f"run {subject.run}")
        out.print(draw(subject.computation, unicode=unicode))


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


def _checks(name: str) -> list[dict[str, Any]] | None:
    """The objects that `check --json` printed into this file; None if it is something else."""
    path = library.path(name, ".json") if name in library.counterexamples(".json") else Path(name)
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
    except (OSError, UnicodeDecodeError):
        return None
    if text.lstrip().startswith("{\n"):
        mend = "give what 'check --json' printed, an event log with one object a line, or a computation"
        raise BadInput("JSON, but not the result of a check", mend=mend, file=name)
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
