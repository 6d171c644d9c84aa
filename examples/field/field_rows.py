"""The rows of the field report: what `row.toml` says of an implementation, and `verdict.json` of its last run."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

FIELD = Path(__file__).parent
Kind = TypeVar("Kind")
#: What the last run of a row found: the keys of `verdict.json`.
Verdict = dict[str, Any]


class BadRow(Exception):
    """A row that cannot be read or run: one line says what is wrong, and where."""


@dataclass(frozen=True)
class Violation:
    """What is wrong with an implementation, and what was tried to repair it.

    `what` is the order or delivery property that is violated, `at` the place in their code, as FILE:LINE, `bug` the
    kind of mistake, `fixed` the verdict with the fix ("" if none was tried), `reproduce` a program of ours that shows
    the violation without crownless, and `shows` what it prints.
    """

    what: str
    at: str
    cause: str
    bug: str
    fix: str
    fixed: str
    reproduce: str
    shows: str


@dataclass(frozen=True)
class Row:
    """A public implementation, what it promises in its own words, and how it is driven.

    `run` is the node as conform takes it, in which `{checkout}` is the folder of their code; `built` says in a
    sentence how a compiled node comes about ("" if nothing is compiled), which is then the program `./node`.
    """

    folder: str
    name: str
    repository: str
    commit: str
    language: str
    what: str
    use: str
    promise: str
    promise_at: str
    order: str
    options: str
    processes: int
    messages: int
    run: str
    drives: str
    replaced: str
    built: str = ""
    violation: Violation | None = None

    @property
    def path(self) -> Path:
        """The folder of the row: its adapter, what it says, and its last verdict."""
        return FIELD / self.folder

    @property
    def verdict(self) -> Verdict | None:
        """What the last run found, as field_report.py wrote it; None before the first."""
        file = self.path / "verdict.json"
        return dict(json.loads(file.read_text("utf-8"))) if file.exists() else None


@dataclass(frozen=True)
class LogRow:
    """A public collection of traces: how it is classified, what was found, and what cannot be known."""

    folder: str
    name: str
    repository: str
    commit: str
    files: list[str]
    what: str
    records: str
    command: str
    verdict: str
    unknown: str
    needs: str
    convert: str = ""
    options: str = ""
    shown: str = ""


def rows() -> list[Row]:
    """The implementations, by the names of their folders.

    Raises:
        BadRow: a row lacks something, or has something that no row has.
    """
    return [_read(file, Row) for file in sorted(FIELD.glob("*/row.toml"))]


def log_rows() -> list[LogRow]:
    """The collections of traces, by the names of their folders.

    Raises:
        BadRow: as of `rows`.
    """
    return [_read(file, LogRow) for file in sorted(FIELD.glob("logs/*/row.toml"))]


def source(row: Row | LogRow, place: str) -> str:
    """A link to FILE, FILE:LINE or FILE:FIRST-LAST of the code of a row, at its commit, as Markdown."""
    file, _, lines = place.partition(":")
    anchor = f"#L{lines}".replace("-", "-L") if lines else ""
    kind = "blob" if "." in Path(file).name or lines else "tree"
    return f"[{place}]({row.repository}/{kind}/{row.commit}/{quote(file)}{anchor})"


def _read(file: Path, kind: type[Kind]) -> Kind:
    try:
        values = tomllib.loads(file.read_text("utf-8"))
        if kind is Row and "violation" in values:
            values["violation"] = _made(Violation, values["violation"])
        return _made(kind, values | {"folder": file.parent.name})
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise BadRow(f"{file}: {error}") from None


def _made(kind: type[Kind], values: dict[str, Any]) -> Kind:
    if unknown := set(values) - {field.name for field in fields(kind)}:  # type: ignore[arg-type]
        raise TypeError(f"nothing is called {', '.join(sorted(unknown))}")
    return kind(**values)
