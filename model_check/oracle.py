"""The oracle: which orders a computation that somebody else made keeps, which not, and why not.

Reads the papers' notation and JSON Lines event logs. A log with holes can show that an order is broken and cannot
show that it is kept: the verdict is then `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from crownless.spec import library, notation
from crownless.spec.computation import Computation
from crownless.spec.crowns import smallest_crown
from crownless.spec.errors import BadInput
from crownless.spec.orders import ORDERS, Reading, Verdict, decide, strongest

from .event_logs import Hole, read_log

LOG_SUFFIXES = (".jsonl", ".ndjson", ".json", ".log")


@dataclass(frozen=True)
class Subject:
    """A computation to be classified: from which file and run, and what is missing from it."""

    file: str
    run: str | None
    computation: Computation
    holes: tuple[Hole, ...] = ()


@dataclass(frozen=True)
class Classification:
    """The verdict on each order asked for."""

    subject: Subject
    reading: Reading
    verdicts: tuple[Verdict, ...]

    def outcome(self, verdict: Verdict) -> Literal["kept", "broken", "unknown"]:
        """Holes can hide what breaks an order, and never what keeps it broken."""
        if not verdict.kept:
            return "broken"
        return "unknown" if self.subject.holes else "kept"

    def outcomes(self) -> list[str]:
        return [self.outcome(verdict) for verdict in self.verdicts]

    def strongest(self) -> list[str]:
        """The strongest orders kept, of those asked for; none while there are holes."""
        kept = [verdict.order for verdict in self.verdicts if self.outcome(verdict) == "kept"]
        return strongest(kept, self.subject.computation)

    def json(self) -> dict[str, Any]:
        c = self.subject.computation
        crown, strong = smallest_crown(c), smallest_crown(c, strong=True)
        return {
            "file": self.subject.file,
            "run": self.subject.run,
            "processes": len(c.processes),
            "messages": len(c.messages),
            "unreceived": [{"message": c.messages[m].name, "receiver": c.processes[q]} for m, q in c.unreceived],
            "reading": self.reading,
            "holes": [{"process": hole.process, "text": hole.text} for hole in self.subject.holes],
            "orders": {
                verdict.order: {**verdict.json(c), "verdict": self.outcome(verdict)} for verdict in self.verdicts
            },
            "strongest": self.strongest(),
            "crowns": {
                "smallest": None if crown is None else crown.json(c),
                "smallest_strong": None if strong is None else strong.json(c),
            },
        }


def classify(subject: Subject, orders: Sequence[str] = tuple(ORDERS), reading: Reading = "lost") -> Classification:
    """Decides each of these orders."""
    verdicts = tuple(decide(subject.computation, order, reading) for order in orders)
    return Classification(subject, reading, verdicts)


def subjects(name: str) -> Iterator[Subject]:
    """What is in a file, or in the bundled file of that name: one computation, or the runs of a log."""
    path = Path(name)
    if not path.exists():
        if name in library.names():
            path = library.path(name)
        elif name.removesuffix(".jsonl") in library.names(".jsonl"):
            path = library.path(name.removesuffix(".jsonl"), ".jsonl")
        elif "/" not in name and "." not in name:
            known = ", ".join(library.names())
            raise BadInput(f"no file and no bundled computation is called '{name}'", mend=f"bundled: {known}")
    if path.suffix in (".parquet", ".pq"):
        raise BadInput("Parquet logs cannot be read yet", mend="give the log as JSON Lines", file=name)
    if path.suffix in LOG_SUFFIXES or _looks_like_a_log(path):
        for logged in read_log(_lines(path, name), name):
            yield Subject(name, logged.run, logged.computation, logged.holes)
    else:
        script = notation.load(path)
        yield Subject(name, None, notation.to_computation(script))


def _lines(path: Path, name: str) -> Iterator[str]:
    number = 0
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except OSError as error:
        raise BadInput(f"cannot read it: {error.strerror}", mend="name a log file", file=name) from error
    except UnicodeDecodeError as error:
        raise BadInput("this is not UTF-8", mend="save the log as UTF-8 text", file=name, line=number) from error


def _looks_like_a_log(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return next((line.strip() for line in file if line.strip()), b"").startswith(b"{")
    except OSError:
        return False  # the reader of the notation will say what is wrong
