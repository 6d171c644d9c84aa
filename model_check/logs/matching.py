"""Logs that name no messages: which deliver is of which send, and which orders some matching of them keeps.

A *class* is all sends from one process to another, and the delivers there, with one payload (or without payloads). A
*matching* gives each deliver of a class a send of its own there; it is possible if what results is a computation, that
is, acyclic. The matching *in order* gives the first deliver of each class the first send, the second one the second,
and so on. It decides everything:

- Its happened-before is contained in that of each other matching. For among the sends that another one gives to the
  first k delivers of a class there is the k-th or a later one, so that the k-th send happened before the k-th deliver
  there, too. So if any matching is acyclic, this one is.
- Whatever keeps FIFO order is the matching in order: on each channel the delivers are then of the first sends, in the
  order sent. Every order but asynchronous demands FIFO order. So some matching keeps an order iff this one keeps it.
- Another matching is acyclic iff, somewhere in a class, the k-th deliver did not happen before the (k+1)-th send. For
  every other matching can be changed, step by step and with ever less happened-before, into one in which the k-th
  deliver is of the (k+1)-th send and all else is in order: the (k+1)-th deliver, if there is one, is of the k-th send,
  which else is not received. (These steps are the Bruhat order of permutations.) That one adds nothing to the
  happened-before in order but the step from the (k+1)-th send to the k-th deliver.

A message to several has a copy for each receiver, which belongs to that channel.

Of a run an order is *forced* (every matching keeps it), *possible* (some keeps it, some breaks it), *impossible* (none
keeps it: shown by a minimal part of the log in which none does) or *unknown* (the log has holes). A part of a log is
what is left without some copies of the matching in order; with a copy go its deliver, and its send unless other copies
need that. If some matching of the whole keeps an order, so does the same one of each part.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from crownless.model_check import oracle
from crownless.model_check.classified_runs import Classifications, ClassifiedRuns
from crownless.model_check.event_logs import counts_from_one, lines_of_processes, rows_and_gaps
from crownless.spec.computation import Computation
from crownless.spec.errors import BadInput
from crownless.spec.orders import UnreceivedPolicy, Verdict
from crownless.spec.printable import some

from .classify_file import LogRequest, classify_content
from .formats import CONVERTED, content_of
from .lost_events import Gap, first_hole
from .minimal import Copy as NumberedCopy
from .minimal import minimal_violation
from .rows import Row, at_one_place, by_run, refuse
from .tables import rows_in

MatchOutcome = Literal["forced", "possible", "impossible", "unknown"]
MATCH_OUTCOMES: tuple[MatchOutcome, ...] = ("forced", "possible", "impossible", "unknown")

NOT_COUNTED = "so it is not certain which send is the first, the second, and so on"
CYCLE = "matched in any way, a message is delivered before it is sent"
NO_OTHER = "no other matching is a computation"
BY_ANOTHER = "kept in the order of sending, broken by another matching"


class Copy(NamedTuple):
    """A message for one receiver: its send, and its deliver there, if it has one."""

    send: Row
    receiver: str
    deliver: Row | None


@dataclass(frozen=True)
class MissingSends:
    """A process delivers more from another one than that has sent to it."""

    process: str
    sender: str
    payload: str
    delivered: int
    sent: int

    @property
    def text(self) -> str:
        of_payload = f" with payload {self.payload}" if self.payload else ""
        delivered = f"{some(self.delivered, 'message')} from {self.sender}{of_payload}"
        return f"{self.process} delivers {delivered}, of which {self.sent} are sent in the log"


@dataclass(frozen=True)
class Other:
    """What differs from the matching in order in another one: `deliver` is of `send`, not of `in_order`.

    `exchanged` is of `in_order` then; None: that is not received.
    """

    deliver: Row
    send: Row
    in_order: Row
    exchanged: Row | None

    @property
    def text(self) -> str:
        rest = f"line {self.in_order.line} is not received"
        if self.exchanged is not None:
            rest = f"line {self.exchanged.line} delivers line {self.in_order.line}"
        return f"line {self.deliver.line} delivers line {self.send.line}, and {rest}"

    def json(self) -> list[dict[str, int | None]]:
        exchanged = None if self.exchanged is None else self.exchanged.line
        return [
            {"send": self.send.line, "deliver": self.deliver.line},
            {"send": self.in_order.line, "deliver": exchanged},
        ]


@dataclass
class Matching:
    """The matching in order of one run, and whether there are others; with holes there is none that is certain."""

    run: str
    rows: list[Row]
    copies: list[Copy] = field(default_factory=list)
    holes: tuple[Gap | MissingSends, ...] = ()
    #: Copies of which each is sent after the next is delivered, and the last after the first: no matching is acyclic.
    cycle: tuple[Copy, ...] = ()
    #: Another matching that is acyclic, if there is one.
    other: Other | None = None

    @property
    def from_one(self) -> bool:
        return counts_from_one(self.rows)

    @property
    def unreceived(self) -> int:
        """The number of copies that are not received, in any matching."""
        return sum(copy.deliver is None for copy in self.copies)

    def named_rows(self) -> Iterator[dict[str, Any]]:
        """The rows as a log has them that names messages."""
        name = {copy.deliver.line: name_of(copy.send) for copy in self.copies if copy.deliver is not None}
        for row in self.rows:
            if row.kind == "internal":
                yield row.json()
            else:
                yield {**row.json(), "message": name_of(row) if row.kind == "send" else name[row.line]}


def name_of(send: Row) -> str:
    """A name for a message that has none: its payload, and the line of its send."""
    return f"{send.message}@{send.line}"


class _Class(NamedTuple):
    sends: list[Row]
    delivers: list[Row]


def match(run: str, rows: list[Row]) -> Matching:
    """Matches the delivers of a run with its sends in order; raises `BadInput` for rows that contradict each other."""
    refuse(at_one_place(rows))
    lines = lines_of_processes(rows)
    classes = _classes(lines)
    gaps = [gap for _, gap in rows_and_gaps(lines) if gap is not None]
    missing = [
        MissingSends(receiver, sender, payload, len(one.delivers), len(one.sends))
        for (sender, receiver, payload), one in classes.items()
        if len(one.delivers) > len(one.sends)
    ]
    if gaps or missing:
        return Matching(run, rows, holes=(*gaps, *missing))
    copies = [
        Copy(send, receiver, one.delivers[k] if k < len(one.delivers) else None)
        for (_, receiver, _), one in classes.items()
        for k, send in enumerate(one.sends)
    ]
    walk = _Walk(lines, copies, classes)
    walk.walk()
    return Matching(run, rows, copies, cycle=walk.cycle(), other=walk.other)


def _classes(lines: Mapping[str, list[Row]]) -> dict[tuple[str, str, str], _Class]:
    """The classes by sender, receiver and payload, each in the order of its lines."""
    channels: dict[tuple[str, str], _Class] = {}
    for process, line in lines.items():
        for row in line:
            for peer in row.peers:
                if row.kind == "send":
                    channels.setdefault((process, peer), _Class([], [])).sends.append(row)
                else:
                    channels.setdefault((peer, process), _Class([], [])).delivers.append(row)
    classes: dict[tuple[str, str, str], _Class] = {}
    for (sender, receiver), channel in channels.items():
        by_payload = _has_payloads(sender, receiver, channel)
        for kind, rows in zip(("sends", "delivers"), channel, strict=True):
            for row in rows:
                key = (sender, receiver, row.message if by_payload else "")
                getattr(classes.setdefault(key, _Class([], [])), kind).append(row)
    return classes


def _has_payloads(sender: str, receiver: str, channel: _Class) -> bool:
    """True if the sends and the delivers of a channel have payloads; refused if only some of them have."""
    if not all(any(row.message for row in rows) for rows in channel):
        return False
    for row in (*channel.sends, *channel.delivers):
        if not row.message:
            does = f"sends to {receiver}" if row.kind == "send" else f"delivers from {sender}"
            raise BadInput(
                f"{row.process} {does} without a payload, which others from {sender} to {receiver} have",
                hint="give 'message' in all lines about two processes, or in none",
                line=row.line,
            )
    return True


class _Follows(NamedTuple):
    """A send that follows another one of its class, whose deliver is `deliver`; the next deliver is `exchanged`."""

    receiver: str
    deliver: Row
    in_order: Row
    exchanged: Row | None


class _Walk:
    """A walk along all lines, each deliver after its send, with the vector times of the events on the way.

    An entry of a vector time is how many events of that process happened before.
    """

    def __init__(
        self, lines: Mapping[str, list[Row]], copies: list[Copy], classes: Mapping[tuple[str, str, str], _Class]
    ) -> None:
        self.lines = lines
        self.at = dict.fromkeys(lines, 0)
        self.copy_of = {copy.deliver.line: copy for copy in copies if copy.deliver is not None}
        self.other: Other | None = None
        self._done: set[int] = set()
        self._follows: dict[int, list[_Follows]] = {}
        for (_, receiver, _), one in classes.items():
            for k, deliver in enumerate(one.delivers[: len(one.sends) - 1]):
                exchanged = one.delivers[k + 1] if k + 1 < len(one.delivers) else None
                follows = _Follows(receiver, deliver, one.sends[k], exchanged)
                self._follows.setdefault(one.sends[k + 1].line, []).append(follows)
        # Without two sends of a class no deliver could be of another send.
        self._looking = bool(self._follows)
        self._number = {process: p for p, process in enumerate(lines)}
        self._place = {row.line: place for line in lines.values() for place, row in enumerate(line)}
        self._times: dict[str, Any] = {}
        self._sent: dict[int, tuple[Any, int]] = {}
        self._to_deliver: dict[int, int] = {}
        for copy in self.copy_of.values():
            self._to_deliver[copy.send.line] = self._to_deliver.get(copy.send.line, 0) + 1

    def walk(self) -> None:
        waiting: dict[int, list[str]] = {}  # processes, by the line of the send that they wait for
        ready = list(self.lines)
        while ready:
            process = ready.pop()
            line = self.lines[process]
            while self.at[process] < len(line):
                row = line[self.at[process]]
                copy = self.copy_of.get(row.line)
                if copy is not None and copy.send.line not in self._done:
                    waiting.setdefault(copy.send.line, []).append(process)
                    break
                self.at[process] += 1
                if self._looking:
                    self._step(process, row, copy)
                if row.kind == "send":
                    self._done.add(row.line)
                    ready += waiting.pop(row.line, ())

    def _step(self, process: str, row: Row, copy: Copy | None) -> None:
        if process not in self._times:
            self._times[process] = np.zeros(len(self.lines), np.int32)
        time = self._times[process]
        time[self._number[process]] = self.at[process]
        if copy is not None:
            sent, rest = self._sent.pop(copy.send.line)
            np.maximum(time, sent, out=time)
            if rest > 1:
                self._sent[copy.send.line] = (sent, rest - 1)
        elif row.kind == "send":
            for one in self._follows.get(row.line, ()):
                if time[self._number[one.receiver]] <= self._place[one.deliver.line]:
                    self.other = Other(one.deliver, row, one.in_order, one.exchanged)
                    self._looking = False
                    return
            if row.line in self._to_deliver:
                self._sent[row.line] = (time.copy(), self._to_deliver[row.line])

    def cycle(self) -> tuple[Copy, ...]:
        """Copies that wait for each other in a cycle, if the walk did not come to the end of all lines."""
        stuck = next((process for process, at in self.at.items() if at < len(self.lines[process])), None)
        found: dict[str, Copy] = {}
        while stuck is not None and stuck not in found:
            found[stuck] = self.copy_of[self.lines[stuck][self.at[stuck]].line]
            stuck = found[stuck].send.process
        processes = list(found)
        return tuple(found.values())[processes.index(stuck) :] if stuck is not None else ()


# -- verdicts ---------------------------------------------------------------------------------------------------------


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

    @property
    def processes(self) -> int:
        return len({name for row in self.matching.rows for name in (row.process, *row.peers)})

    def number(self, kind: str) -> int:
        """The number of events of this kind."""
        return sum(row.kind == kind for row in self.matching.rows)

    @property
    def notes(self) -> tuple[str, ...]:
        return (oracle.FROM_ONE,) if self.matching.from_one else ()

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
            return MatchedRun(self.file, matching, self.reading, tuple(self._without_computation(matching)))
        found = self.in_order.classification(self.place[number])
        known: list[tuple[Computation, list[NumberedCopy]]] = []
        verdicts = [self._verdict(matching, order, found[order], known) for order in self.orders]
        c = found.subject.computation if isinstance(found.subject, oracle.NamedComputation) else None
        return MatchedRun(self.file, matching, self.reading, tuple(verdicts), c)

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
    return "forced" if matching.other is None else "possible"


def _because(matching: Matching, order: str, in_order: Verdict) -> str:
    if in_order.unknown is not None:
        return in_order.unknown
    if order == "asynchronous":
        return ""
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
    name, options = request.name, request.options
    content, form = content_of(name, options)
    if form is None:
        hint = "leave --match out: messages of a computation have names"
        raise BadInput("this is no event log", hint=hint, file=name)
    if form in CONVERTED:
        raise BadInput(f"--match does not go with --format {form}", hint="leave --match out", file=name)
    return matched_rows(rows_in(content, form, name, options, named=False), request)


def matched_rows(rows: Iterable[Row], request: LogRequest) -> MatchedLog:
    """The same of the rows of a log."""
    name, orders, reading = request.name, request.orders, request.reading
    matchings = []
    for run, of_run in by_run(rows, name).items():
        try:
            matchings.append(match(run, of_run))
        except BadInput as problem:
            raise problem.at(file=name) from None
    log = MatchedLog(name, orders, reading, matchings)
    usable = [number for number, one in enumerate(matchings) if not one.holes and not one.cycle]
    if usable:
        named = (json.dumps(row, ensure_ascii=False) for number in usable for row in matchings[number].named_rows())
        in_order = LogRequest(name, orders, reading, around_monitor=request.around_monitor)
        found = classify_content("\n".join(named).encode(), "jsonl", in_order)
        log.in_order = (
            Classifications(oracle.classify(one, orders, reading) for one in found)
            if isinstance(found, Iterator)
            else found
        )
        log.place = {number: place for place, number in enumerate(usable)}
    return log
