"""The oracle: which orders a computation that somebody else made keeps, which not, and why not.

Reads the papers' notation and JSON Lines event logs. A log with holes can show that an order is broken and cannot
show that it is kept: the verdict is then `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from crownless.spec import library, notation
from crownless.spec.computation import Computation
from crownless.spec.constraints import SMALLEST_UP_TO
from crownless.spec.crowns import smallest_crown
from crownless.spec.errors import BadInput
from crownless.spec.orders import ORDERS, Reading, Verdict, decide, strongest

from .event_logs import Hole, read_log

#: n-n compares every two messages, round after round; beyond so many its verdict comes from other orders, or is open.
N_N_UP_TO = 2_000
LOG_SUFFIXES = (".jsonl", ".ndjson", ".json", ".log")


@dataclass(frozen=True)
class Subject:
    """A computation to be classified: from which file and run, and what is missing from it."""

    file: str
    run: str | None
    computation: Computation
    holes: tuple[Hole, ...] = ()


Outcome = Literal["kept", "broken", "unknown"]


@dataclass(frozen=True)
class Classification:
    """The outcome for each order asked for: the verdict, or, where it is unknown, why."""

    subject: Subject
    reading: Reading
    verdicts: tuple[Verdict, ...]
    unknown: Mapping[str, str]

    def outcome(self, verdict: Verdict) -> Outcome:
        return "unknown" if verdict.order in self.unknown else "kept" if verdict.kept else "broken"

    def outcomes(self) -> dict[str, Outcome]:
        return {verdict.order: self.outcome(verdict) for verdict in self.verdicts}

    def strongest(self) -> list[str]:
        """The strongest orders kept, of those asked for; none while there are holes."""
        kept = [order for order, outcome in self.outcomes().items() if outcome == "kept"]
        return strongest(kept, self.subject.computation)

    def crowns(self) -> dict[str, Any] | None:
        """A smallest crown and a smallest strong crown; None where the computation is too large to look for them."""
        c = self.subject.computation
        if c.event_count > SMALLEST_UP_TO:
            return None
        crown, strong = smallest_crown(c), smallest_crown(c, strong=True)
        return {
            "smallest": None if crown is None else crown.json(c),
            "smallest_strong": None if strong is None else strong.json(c),
        }

    def json(self) -> dict[str, Any]:
        c = self.subject.computation
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
            "unknown": dict(self.unknown),
            "strongest": self.strongest(),
            "crowns": self.crowns(),
        }


def classify(subject: Subject, orders: Sequence[str] = tuple(ORDERS), reading: Reading = "lost") -> Classification:
    """Decides each of these orders. Holes can hide what breaks an order, and never undo it."""
    c = subject.computation
    verdicts: list[Verdict] = []
    unknown: dict[str, str] = {}
    for order in orders:
        if order == "n-n" and len(c.messages) > N_N_UP_TO:
            verdict = _n_n_by_its_neighbours(c, reading)
            if verdict is None:
                unknown[order] = f"not decided for more than {N_N_UP_TO:,} messages"
                verdict = Verdict(order, kept=True)
        else:
            verdict = decide(c, order, reading)
        if verdict.kept and subject.holes:
            unknown[order] = "nothing in the log breaks it, but the log has holes"
        verdicts.append(verdict)
    return Classification(subject, reading, tuple(verdicts), unknown)


def _n_n_by_its_neighbours(c: Computation, reading: Reading) -> Verdict | None:
    """n-n holds if the next stronger order does, and is broken if a weaker one is."""
    if decide(c, "synchronous", reading).kept:
        return Verdict("n-n", kept=True)
    for order in ("mailbox", "one-n"):
        weaker = decide(c, order, reading)
        if not weaker.kept:
            return Verdict("n-n", kept=False, witness=weaker.witness)
    return None


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
