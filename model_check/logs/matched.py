"""Verdicts on logs that name no messages: the orders that some matching of their sends and delivers keeps.

`forced`      every matching that is a computation keeps the order;
`possible`    some keeps it, and some breaks it;
`impossible`  none keeps it: shown by a minimal part of the log in which none does;
`unknown`     the log has holes, or a limit was reached.

`matching` says why the matching in order decides it. A part of a log is what is left without some copies of that
matching; with a copy go its deliver, and its send unless other copies need that. If some matching of the whole keeps
an order, so does the same one of each part.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from crownless.model_check import oracle
from crownless.model_check.classified_runs import Classifications, ClassifiedRuns
from crownless.model_check.event_logs import rows_by_run
from crownless.model_check.oracle import FROM_ONE
from crownless.spec.computation import Computation
from crownless.spec.errors import BadInput
from crownless.spec.orders import UnreceivedPolicy, Verdict

from .classify_file import LogRequest, classify_content
from .columns import OPTIONAL_WITHOUT_NAMES
from .files import CONVERTED
from .lost_events import first_hole
from .matching import Copy, Matching, match, name_of
from .minimal import Copy as NumberedCopy
from .minimal import minimal_violation
from .rows import Row
from .source import NO_LINES, Source

MatchOutcome = Literal["forced", "possible", "impossible", "unknown"]
MATCH_OUTCOMES: tuple[MatchOutcome, ...] = ("forced", "possible", "impossible", "unknown")

NOT_COUNTED = "so it is not certain which send is the first, the second, and so on"
CYCLE = "matched in any way, a message is delivered before it is sent"
NO_OTHER = "no other matching is a computation"
BY_ANOTHER = "kept in the order of sending, broken by another matching"
NO_ROOM = "the matching in order keeps it; there is no room to find out whether each does"


@dataclass(frozen=True)
class MatchVerdict:
    """Whether the log can be matched so that an order is kept; if not, the copies of a minimal part that shows it.

    `details` says step by step why no matching of that part keeps the order.
    """

    order: str
    outcome: MatchOutcome
    because: str = ""
    copies: tuple[Copy, ...] = ()
    details: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[Row, ...]:
        """The events of the minimal part, in the order of the log; of a send only the receivers that count."""
        receivers: dict[int, list[str]] = {}
        for copy in self.copies:
            receivers.setdefault(copy.send.line, []).append(copy.receiver)
        rows = {copy.send.line: replace(copy.send, peers=tuple(receivers[copy.send.line])) for copy in self.copies}
        rows |= {copy.deliver.line: copy.deliver for copy in self.copies if copy.deliver is not None}
        return tuple(rows[line] for line in sorted(rows))

    def json(self) -> dict[str, Any]:
        return {
            "verdict": self.outcome,
            "because": self.because,
            "lines": [{"line": row.line, "event": row.json()} for row in self.lines],
            "details": list(self.details),
        }


@dataclass(frozen=True)
class MatchedRun:
    """The verdicts on one run; `computation` is the matching in order of a run that is small enough to be drawn."""

    file: str
    matching: Matching
    reading: UnreceivedPolicy
    verdicts: tuple[MatchVerdict, ...]
    computation: Computation | None = None
    source: Source = NO_LINES

    @property
    def processes(self) -> int:
        return len({name for row in self.matching.rows for name in (row.process, *row.peers)})

    def number(self, kind: str) -> int:
        """The number of events of this kind."""
        return sum(row.kind == kind for row in self.matching.rows)

    @property
    def notes(self) -> tuple[str, ...]:
        return (FROM_ONE,) if self.matching.from_one else ()

    def json(self) -> dict[str, Any]:
        matching = self.matching
        copies = sorted(matching.copies, key=lambda copy: (copy.send.line, copy.deliver.line if copy.deliver else 0))
        return {
            "file": self.file,
            "run": matching.run,
            "processes": self.processes,
            "sends": self.number("send"),
            "delivers": self.number("deliver"),
            "unreceived": matching.unreceived,
            "reading": self.reading,
            "notes": list(self.notes),
            "holes": [{"process": hole.process, "text": hole.text} for hole in matching.holes],
            "orders": {verdict.order: verdict.json() for verdict in self.verdicts},
            "matching": [
                {
                    "send": copy.send.line,
                    "receiver": copy.receiver,
                    "deliver": None if copy.deliver is None else copy.deliver.line,
                }
                for copy in copies
            ],
            "other_matching": None if matching.other is None else matching.other.json(),
        }


@dataclass
class MatchedLog:
    """The verdicts on each run of a log; `run` has those on one in full."""

    file: str
    orders: Sequence[str]
    reading: UnreceivedPolicy
    matchings: list[Matching]
    source: Source = NO_LINES
    #: The matchings in order, classified, and the number there of each run that has one.
    in_order: ClassifiedRuns = field(default_factory=Classifications)
    place: dict[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.matchings)

    def outcome(self, number: int, order: str) -> MatchOutcome:
        """The verdict on one run in a word."""
        matching = self.matchings[number]
        if number not in self.place:
            return "unknown" if matching.holes else "impossible"
        return _outcome(matching, order, self.in_order.outcome(self.place[number], order))

    def counts(self, order: str) -> Mapping[MatchOutcome, int]:
        """The number of runs with each verdict."""
        return Counter(self.outcome(number, order) for number in range(len(self)))

    def first_impossible(self, order: str) -> int | None:
        """The first run for which the order is impossible."""
        return next((number for number in range(len(self)) if self.outcome(number, order) == "impossible"), None)

    def run(self, number: int) -> MatchedRun:
        """The verdicts on one run, with what shows that an order is impossible."""
        matching = self.matchings[number]
        if number not in self.place:
            return MatchedRun(
                self.file, matching, self.reading, tuple(self._without_computation(matching)), source=self.source
            )
        found = self.in_order.classification(self.place[number])
        known: list[tuple[Computation, list[NumberedCopy]]] = []
        verdicts = [self._verdict(matching, order, found[order], known) for order in self.orders]
        c = found.subject.computation if isinstance(found.subject, oracle.NamedComputation) else None
        return MatchedRun(self.file, matching, self.reading, tuple(verdicts), c, self.source)

    def _without_computation(self, matching: Matching) -> list[MatchVerdict]:
        if matching.holes:
            because = f"{first_hole(matching.holes)}; {NOT_COUNTED}"
            return [MatchVerdict(order, "unknown", because) for order in self.orders]
        details = (_say_cycle(matching.cycle),)
        return [MatchVerdict(order, "impossible", CYCLE, matching.cycle, details) for order in self.orders]

    def _verdict(
        self, matching: Matching, order: str, in_order: Verdict, known: list[tuple[Computation, list[NumberedCopy]]]
    ) -> MatchVerdict:
        outcome = _outcome(matching, order, in_order.outcome)
        if outcome != "impossible":
            return MatchVerdict(order, outcome, _because(matching, order, in_order))
        c = in_order.computation
        assert c is not None
        numbers, broken = minimal_violation(in_order, self.reading, [copies for of, copies in known if of is c])
        known.append((c, numbers))
        by_name = {(name_of(copy.send), copy.receiver): copy for copy in matching.copies}
        copies = tuple(by_name[c.messages[m].name, c.processes[q]] for m, q in numbers)
        assert broken.witness is not None
        assert broken.computation is not None
        return MatchVerdict(order, outcome, broken.because, copies, tuple(broken.witness.details(broken.computation)))


def _outcome(matching: Matching, order: str, in_order: str) -> MatchOutcome:
    """The verdict, by the one on the matching in order: another one breaks FIFO order, and all that demand it."""
    if in_order == "broken":
        return "impossible"
    if in_order == "unknown":
        return "unknown"
    if order == "asynchronous":
        return "forced"
    if not matching.settled:
        return "unknown"
    return "forced" if matching.other is None else "possible"


def _because(matching: Matching, order: str, in_order: Verdict) -> str:
    if in_order.unknown is not None:
        return in_order.unknown
    if order == "asynchronous":
        return ""
    if not matching.settled:
        return NO_ROOM
    return NO_OTHER if matching.other is None else BY_ANOTHER


def _say_cycle(cycle: tuple[Copy, ...]) -> str:
    """Each copy is delivered before the one before it in the cycle is sent."""
    steps = [
        f"{copy.receiver} delivers {name_of(copy.send)} → {copy.receiver} sends {name_of(earlier.send)}"
        for copy, earlier in zip(cycle, (cycle[-1], *cycle[:-1]), strict=True)
    ]
    first = cycle[-1]
    return " → ".join([*reversed(steps), f"{first.receiver} delivers {name_of(first.send)}"])


def matched(request: LogRequest) -> MatchedLog:
    """The log of the requested file, each run matched."""
    name, columns, kinds = request.name, request.columns, request.kinds
    content, form = oracle.content_of(name, request.form)
    if form is None:
        hint = "leave --match out: messages of a computation have names"
        raise BadInput("this is no event log", hint=hint, file=name)
    if form in CONVERTED:
        raise BadInput(f"--match does not go with --format {form}", hint="leave --match out", file=name)
    lines = oracle.lines_of(content, form, name, columns, OPTIONAL_WITHOUT_NAMES, kinds)
    source = Source.of(content, form, name, columns, lines)
    return matched_lines(lines, name, request.orders, request.reading, request.around_monitor, source)


def matched_lines(
    lines: Iterable[str],
    name: str,
    orders: Sequence[str],
    reading: UnreceivedPolicy,
    around_monitor: Callable[[], AbstractContextManager[None]] = nullcontext,
    source: Source | None = None,
) -> MatchedLog:
    """The same of the lines of a log, as JSON; `source` has them as they are in the file."""
    matchings = []
    for run, rows in rows_by_run(lines, name, named=False).items():
        try:
            matchings.append(match(run, rows))
        except BadInput as problem:
            raise problem.at(file=name) from None
    log = MatchedLog(name, orders, reading, matchings, source or NO_LINES)
    usable = [number for number, one in enumerate(matchings) if not one.holes and not one.cycle]
    if usable:
        named = (json.dumps(row, ensure_ascii=False) for number in usable for row in matchings[number].named_rows())
        request = LogRequest(name, orders, reading, around_monitor=around_monitor)
        found = classify_content("\n".join(named).encode(), "jsonl", request)
        log.in_order = (
            Classifications(oracle.classify(one, orders, reading) for one in found)
            if isinstance(found, Iterator)
            else found
        )
        log.place = {number: place for place, number in enumerate(usable)}
    return log
