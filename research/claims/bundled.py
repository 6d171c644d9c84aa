"""The counterexamples bundled as files, compared with those that the ledger finds.

`write(entry, evidence)` regenerates the files of a claim; a file is never written by hand.
"""

import json
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from crownless.model_check.runs.runs import Run
from crownless.research.theorems.evidence import Evidence, Shown
from crownless.spec import library, notation

from .claim import Entry

if TYPE_CHECKING:
    from crownless.model_check.runs.saved_runs import SavedCheck

WIDTH = 118


def run(name: str) -> Run:
    """A bundled run."""
    (check,) = _checks(name)
    ((_, found),) = check.violations()
    return found


def _checks(name: str) -> "list[SavedCheck]":
    from crownless.model_check.runs.saved_runs import read_checks  # its schemas are built on import

    return read_checks(library.path(name, ".json").read_bytes(), name)


def facts() -> list[dict[str, Any]]:
    """For every bundled counterexample: its name, its kind, the claim that it belongs to, and its title."""
    runs = [
        {"name": name, "kind": "run", "claim": check.claim, "text": check.title}
        for name in library.counterexamples(".json")
        for check in _checks(name)
    ]
    return sorted([*map(_facts_of_computation, library.counterexamples()), *runs], key=lambda known: known["name"])


def _facts_of_computation(name: str) -> dict[str, Any]:
    comments = [line[2:] for line in library.path(name).read_text("utf-8").splitlines() if line[0] == "#"]
    summary = " ".join(comments[:-1])
    title = summary.partition(": ")[2].removesuffix(".")
    return {"name": name, "kind": "computation", "claim": summary.split()[1].rstrip(","), "text": title}


def program_of(run: Run) -> str:
    """The program of the run: what each process submits, and where it receives a delivery, in order."""
    lines: dict[str, list[str]] = {process: [] for process in run.processes}
    for action in run.actions:
        if action.action == "send":
            lines[action.process].append(f"send {action.message} to {', '.join(action.to)}")
        elif action.action == "deliver":
            lines[action.process].append("receive")
    return "\n".join(f"{process}: {'; '.join(parts)}" for process, parts in lines.items())


def is_as_found(entry: Entry, shown: Shown) -> bool:
    """True if the bundled file contains exactly this computation or run."""
    assert shown.bundled is not None
    if shown.bundled not in library.counterexamples(suffix_of(shown)):
        return False
    return library.path(shown.bundled, suffix_of(shown)).read_text("utf-8") == text_of(entry, shown)


def suffix_of(shown: Shown) -> str:
    return ".json" if isinstance(shown.what, Run) else ".txt"


def text_of(entry: Entry, shown: Shown) -> str:
    """The content of the file: a run in the format of `crownless check --json` for a violation, or the notation."""
    if isinstance(shown.what, Run):
        return _json_of(entry, shown.title, shown.what)
    summary = f"To {entry.id}, {entry.source}: {shown.title}."
    comments = [*wrap(summary, WIDTH), f"Not from the text: found by 'crownless claims {entry.id}'."]
    return "".join(f"# {line}\n" for line in comments) + notation.of_computation(shown.what).print() + "\n"


def _json_of(entry: Entry, title: str, run: Run) -> str:
    """One line per action, with the keys of `crownless check --json`."""
    head = {"claim": entry.id, "source": entry.source, "title": title, "protocol": entry.id}
    actions = ",\n  ".join(json.dumps(action, ensure_ascii=False) for action in run.json())
    processes = json.dumps(list(run.processes), ensure_ascii=False)
    return (
        "[{"
        + "".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)},\n  " for key, value in head.items())
        + f'"process_names": {processes},\n  "properties": [{{"name": "the claim", "run": [\n  {actions}\n  ]}}]}}]\n'
    )


def write(entry: Entry, evidence: Evidence) -> list[str]:
    """Writes the files of the computations and runs shown; returns their names."""
    names = []
    for shown in evidence.shown:
        if shown.bundled is not None:
            (library.COUNTEREXAMPLES / f"{shown.bundled}{suffix_of(shown)}").write_text(text_of(entry, shown), "utf-8")
            names.append(shown.bundled)
    return names
