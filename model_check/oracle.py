"""The oracle: which orders a computation that somebody else made keeps, which not, and why not.

Reads the papers' notation and JSON Lines event logs. A log with holes can show that an order is broken and cannot
show that it is kept: the verdict is then `unknown`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from crownless.spec import library, notation
from crownless.spec.computation import Computation
from crownless.spec.constraints import SMALLEST_UP_TO
from crownless.spec.crowns import smallest_crown
from crownless.spec.errors import BadInput
from crownless.spec.notation import ReceiveStatement
from crownless.spec.orders import ORDERS, Reading, Verdict, decide, strongest
from crownless.spec.printable import printable_name
from crownless.spec.reading import read_text

from .event_logs import Hole, read_log

#: n-n compares every two messages, round after round; beyond so many its verdict comes from other orders, or is open.
N_N_UP_TO = 1_000
LOG_SUFFIXES = (".jsonl", ".ndjson", ".json", ".log")


@dataclass(frozen=True)
class Subject:
    """A computation to be classified: from which file and run, what is missing from it, and what was assumed."""

    file: str
    run: str | None
    computation: Computation
    holes: tuple[Hole, ...] = ()
    notes: tuple[str, ...] = ()


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
        return strongest(kept, self.subject.computation, self.reading)

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
            "notes": list(self.subject.notes),
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
    return classified(subject, list(decisions(subject, orders, reading)), reading)


#: An order's verdict, and why it is unknown, or None.
Decision = tuple[Verdict, str | None]


def decisions(subject: Subject, orders: Iterable[str], reading: Reading) -> Iterator[Decision]:
    """The orders, one after the other."""
    c = subject.computation
    for order in orders:
        verdict: Verdict | None
        why = None
        if order == "n-n" and len(c.messages) > N_N_UP_TO:
            verdict = _n_n_by_its_neighbours(c, reading)
            if verdict is None:
                why = f"not decided for more than {N_N_UP_TO:,} messages"
                verdict = Verdict(order, kept=True)
        else:
            verdict = decide(c, order, reading)
        if verdict.kept and subject.holes:
            why = "nothing in the log breaks it, but the log has holes"
        yield verdict, why


def classified(
    subject: Subject, decided: Sequence[Decision], reading: Reading, orders: Iterable[str] = (), because: str = ""
) -> Classification:
    """What was decided; of those of the orders that were not, it is unknown, and because of what."""
    known = {verdict.order for verdict, _ in decided}
    rest = ((Verdict(order, kept=True), f"not decided: {because}") for order in orders if order not in known)
    every = [*decided, *rest]
    unknown = {verdict.order: why for verdict, why in every if why is not None}
    return Classification(subject, reading, tuple(verdict for verdict, _ in every), unknown)


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
    """What is in a file (`-`: standard input) or the bundled file of that name: one computation, or a log's runs."""
    path = _path(name)
    if path is not None and path.suffix in (".parquet", ".pq"):
        raise BadInput("Parquet logs cannot be read yet", mend="give the log as JSON Lines", file=name)
    content = read_text(path, name)
    if (path is not None and path.suffix in LOG_SUFFIXES) or content.lstrip().startswith("{"):
        for logged in read_log(content.splitlines(), name):
            notes = ("indices were taken to count from 1: no event of this run has index 0",) if logged.from_one else ()
            yield Subject(name, logged.run, logged.computation, logged.holes, notes)
    else:
        script = notation.parse(content, name)
        unnamed = any(isinstance(part, ReceiveStatement) and part.message is None for _, part in script.walk())
        try:
            yield Subject(name, None, notation.to_computation(script))
        except BadInput as error:
            if not unnamed:
                raise
            mend = f"{error.mend}; if it is a program: crownless check PROTOCOL --program {name}"
            raise BadInput(error.message, mend=mend, file=error.file, line=error.line, column=error.column) from None


def _path(name: str) -> Path | None:
    """Where to read; None is standard input."""
    if name == "-":
        return None
    path = Path(name)
    if library.is_file_name(name):
        return path
    if name in (*library.names(), *library.counterexamples()):
        return library.path(name)
    if name.removesuffix(".jsonl") in library.names(".jsonl"):
        return library.path(name.removesuffix(".jsonl"), ".jsonl")
    if name in library.counterexamples(".json"):
        mend = f"crownless show {name}"
        raise BadInput(f"{name} is a run of a protocol, not a computation alone", mend=mend)
    if "/" not in name and "." not in name:
        known = ", ".join(library.names())
        raise BadInput(
            f"no file and no bundled computation is called '{printable_name(name)}'", mend=f"bundled: {known}"
        )
    return path
