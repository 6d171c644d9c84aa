"""Answers of a check of conformance: findings, how certain they are, and how far they reach."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from crownless.model_check.check_result import Outcome
from crownless.model_check.exports import Suite, VerdictLine
from crownless.model_check.properties import NEVER_BLOCKS
from crownless.model_check.runs import Run, diagrams_of_violations
from crownless.spec.diagrams.diagram import Diagram
from crownless.spec.drawn import Drawn
from crownless.spec.errors import Undecided
from crownless.spec.printable import in_brackets, printable

from .conformance_request import DELIVERY, Request
from .node import FAILURES
from .queries import Queries
from .repeats import Repeats
from .schedules import Schedule, replay, schedule_of


@dataclass(frozen=True, repr=False)
class Finding(Drawn):
    """The verdict on one order or property, a shortest run that breaks it, and the search that found it."""

    name: str
    verdict: Outcome
    meaning: str = ""
    run: Run | None = None
    #: Which search it is of, in words, and how far that reached.
    search: str = ""
    note: str = ""

    def __repr__(self) -> str:
        return in_brackets(f"{self.name}: {self.verdict}")

    def __str__(self) -> str:
        return printable(f"{self.name}: {self.verdict}: {self.meaning}{self.note and '; '}{self.note}")

    def diagrams(self, highlight: str | None = None) -> Iterator[Diagram]:
        """The diagram of the run that shows a violation, if there is one."""
        if self.run is not None:
            yield self.run.diagram(self.name, highlight or self.name)

    def json(self) -> dict[str, Any]:
        run = None if self.run is None else self.run.json()
        return {"name": self.name, "verdict": self.verdict, "run": run, "search": self.search, "note": self.note}


@dataclass(repr=False)
class Answer(Drawn):
    """The answer of a check of conformance. As a truth value: is nothing violated of what is demanded? An unknown
    verdict has none, and raises `Undecided`.
    """

    titled = True
    #: The properties of deliveries that are decided.
    delivery: ClassVar[tuple[str, ...]] = DELIVERY

    name: str
    request: Request
    #: How many different inputs nodes were given, and which of the answers new nodes repeated.
    queries: int = 0
    repeats: Repeats = field(default_factory=Repeats)
    seconds: float = 0.0
    #: Why a violation is not certain, such as that nodes which were made anew answered otherwise.
    unconfirmed: str | None = None
    #: Why not all searches or runs were made to their end.
    ended_early: str | None = None
    #: Why the answers may not be all that the nodes say.
    best_effort: str | None = None
    #: False if the program does not say that it takes replies, so that none from inside deliveries were offered.
    takes_replies: bool = True

    @abstractmethod
    def __getitem__(self, name: str) -> Finding:
        """The verdict on an order, on a property of deliveries, or on a way to fail; raises `NoSuchName`, a `KeyError`,
        if that is none of them.
        """

    @property
    @abstractmethod
    def verdict(self) -> str:
        """On failures, deliveries, and the requested orders together."""

    @property
    @abstractmethod
    def violations(self) -> list[Finding]:
        """All that is violated: failures first, then deliveries, then orders."""

    @property
    @abstractmethod
    def scope(self) -> str:
        """In words, how far the verdict reaches."""

    def scope_of(self, parts: Iterable[str]) -> str:
        """The scope of these parts, with what is common to all checks."""
        return "; ".join([*parts, *self.request.own_steps, *([self.best_effort] if self.best_effort else [])])

    def __bool__(self) -> bool:
        if self.verdict == "unknown":
            raise Undecided(f"{self!r} is neither true nor false: compare its verdict")
        return self.verdict != "violated"

    @property
    def shows_violation(self) -> bool:
        """True if there is a violation to be shown."""
        return self.verdict == "violated"

    def diagrams(self, highlight: str | None = None) -> Iterator[Diagram]:
        """A diagram for each run that shows a violation."""
        return diagrams_of_violations(self.name, [(one.name, one.run) for one in self.violations], highlight)

    @property
    def wanted(self) -> list[Finding]:
        """The findings that decide: on failures, on deliveries, and on the requested orders."""
        return [self[name] for name in (*FAILURES, *self.delivery, *self.request.orders) if name != "asynchronous"]

    def suite(self) -> Suite:
        """These findings, for other tools."""
        lines = [VerdictLine(one.name, one.verdict, one.meaning, one.note, one.run) for one in self.wanted]
        return Suite(self.name, lines, self.seconds)

    def schedule(self, one: Finding) -> Schedule | None:
        """The schedule of a violation, which can be saved and repeated; None if it has no run."""
        return None if one.run is None else schedule_of(self.name, one.name, one.run, self.request)

    def json(self) -> dict[str, Any]:
        request = self.request
        return {
            "implementation": self.name,
            "processes": request.processes,
            "messages": request.messages,
            "channel": request.channel,
            "sends": request.sends,
            "self_sends": request.self_sends,
            "replies": request.messages_with_replies,
            "ticks": request.ticks,
            "restarts": request.restarts,
            "verdict": self.verdict,
            "unconfirmed": self.unconfirmed,
            "ended_early": self.ended_early,
            "best_effort": self.best_effort,
            "takes_replies": self.takes_replies,
            "queries": self.queries,
            "compared": self.repeats.all,
            "repeats": self.repeats.json(),
            "seconds": round(self.seconds, 3),
            "scope": self.scope,
        }


def unconfirmed(violations: Iterable[Finding], queries: Queries, request: Request) -> str | None:
    """What differs where nodes that are made anew are taken through the runs that show violations; None: nothing."""
    for one in violations:
        for process, state in enumerate(() if one.run is None else one.run.local_states):
            differs = queries.confirmed(process, state.history)
            if differs is not None:
                return f"{one.name}: P{process + 1}: {differs.said}"
        if queries.uses_states and one.run is not None and one.name != NEVER_BLOCKS.name:
            schedule = schedule_of(queries.implementation.name, one.name, one.run, request)
            if replay(queries.implementation, schedule):
                return f"{one.name}: nodes that are given all inputs, and no state, do not break it"
    return None
