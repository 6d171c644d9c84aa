"""Event logs: JSON Lines, one event a line, read into computations.

    {"run": "a", "process": "P1", "index": 0, "kind": "send", "message": "x", "peer": "P2"}
    {"run": "a", "process": "P2", "index": 0, "kind": "deliver", "message": "x", "peer": "P1"}

`index` counts a process's events within a run, from 0 (or from 1, where 1 is the least index in the whole run). `kind`
is send, deliver (receive is a synonym) or internal. `peer` is the receiver of a send, or the list of its receivers; at
a deliver it is the sender, and may be left out. `run` may be left out. Names and runs that are integers are read as
their digits; null is as good as absent. Any further key is ignored; so is `clock`, a vector clock, which `logs.clocked`
and `pipeline.logs` read. The lines of a run may come in any order, and runs may be interleaved.

A log may have lost events. What shows it is called a hole: indices missing on a process's line, or a deliver whose send
is not in the log. With a hole no order can be said to be kept. A violation among the events that are there stands all
the same, since more events only add to happened-before and to what an order demands, provided that the computation says
nothing that a lost event could take back. So only what is certain goes into it:

- a deliver without its send becomes an internal event;
- a message that is not delivered at a receiver whose line has a hole may have been delivered in the hole, so it does
  not count as sent to that receiver; a send that has no receiver left becomes an internal event.

A missing send is a hole in its sender's line too: in a gap there or, where there is none, after the last event logged.
If no deliver of the message names the sender, that goes for every process that might be it. All other lines are taken
to end where the log ends: a message not delivered there counts as not received.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeGuard, TypeVar

from crownless.spec.computation import Computation, Cyclic, Event, Message
from crownless.spec.errors import BadInput, unknown_name
from crownless.spec.printable import printable_name

Key = TypeVar("Key", bound=Hashable)

#: No process has more events than this.
MOST_INDEX = (1 << 63) - 1
KINDS = ("send", "deliver", "receive", "internal")

MEANING = {
    "process": "the name of the event's process, a string",
    "index": "the event's number on its process, an integer counted from 0",
    "kind": "one of " + ", ".join(KINDS),
    "message": "the message's name, a string or an integer, or add --match if the log has none",
    "run": "the run's name, a string or an integer",
}

#: The same of logs that name no messages.
PAYLOAD = "the payload, a string or an integer, or leave it out"
SENDER = "the sender, a string, since messages have no names"

#: What is said of a file that holds its events in one JSON value, such as a list that was printed over many lines.
ONE_DOCUMENT = "a log has one JSON object a line; this file is one JSON document over several lines"
ONE_A_LINE = "write each event on one line, as jq -c '.[]' does with a list"


@dataclass(frozen=True)
class Gap:
    """Events `first` to `last` of a process are missing from the log."""

    process: str
    first: int
    last: int

    @property
    def text(self) -> str:
        lost = f"event {self.first} is" if self.first == self.last else f"events {self.first} to {self.last} are"
        return f"{self.process}: {lost} missing"


@dataclass(frozen=True)
class MissingSend:
    """A process delivers a message whose send is missing from the log."""

    process: str
    message: str

    @property
    def text(self) -> str:
        return f"{self.process} delivers {self.message}, whose send is not in the log"


#: What shows that the log has lost events, and the process on whose line it shows.
Hole = Gap | MissingSend


@dataclass(frozen=True)
class LoggedRun:
    """One run of a log: what is certain of its computation. With a hole, there was more."""

    run: str
    computation: Computation
    holes: tuple[Hole, ...]
    #: No event has index 0, and so they were taken to count from 1.
    from_one: bool = False


def read_log(lines: Iterable[str], file: str | None = None, places: Iterable[int] | None = None) -> Iterator[LoggedRun]:
    """The runs of a log in order of first appearance; raises `BadInput` with the file and the line.

    All lines are read before the first run is given, since runs may be interleaved. The processes of a run are those it
    names, in natural order (P2 before P10); its messages are numbered in order of sending, as the linearization has it.
    `places`: of each line the number that it has in the file, if it is not the first, the second, and so on; 0 is none.
    """
    for run, rows in rows_by_run(lines, file, places=places).items():
        try:
            logged = _logged_run(run, rows)
        except BadInput as problem:
            raise problem.at(file=file) from None
        yield logged


def rows_by_run(
    lines: Iterable[str], file: str | None = None, *, named: bool = True, places: Iterable[int] | None = None
) -> dict[str, list[Row]]:
    """The usable rows of each run of a log; raises `BadInput` with the file and the line.

    `named`: `message` is the name of the message, unique within the run. Otherwise it is a payload, which may be left
    out, and a deliver must name its sender. `places`: as of `read_log`.
    """
    runs: dict[str, list[Row]] = {}
    rest = iter(lines)
    for number, text in zip(count(1) if places is None else places, rest, strict=False):
        if not text.strip():
            continue
        try:
            row = _row(number, text, named)
        except BadInput as problem:
            if not runs and _is_one_document([text, *rest]):
                raise BadInput(ONE_DOCUMENT, hint=ONE_A_LINE, file=file) from None
            raise problem.at(file=file, line=number) from None
        runs.setdefault(row.run, []).append(row)
    if not runs:
        raise BadInput("the log is empty", hint="give one event a line, as a JSON object", file=file)
    return runs


def lines_of(events: Iterable[Sequence[Any]]) -> Iterator[str]:
    """A log of these events, by process, kind, message and receivers, those of each process in order."""
    index: Counter[str] = Counter()
    for process, kind, message, receivers in events:
        peer = list(receivers) if kind == "send" else None
        yield json.dumps({"process": process, "index": index[process], "kind": kind, "message": message, "peer": peer})
        index[process] += 1


def _is_one_document(lines: list[str]) -> bool:
    """True if the lines are one JSON value together, and the first alone is none."""
    try:
        json.loads("\n".join(lines))
        json.loads(lines[0])
    except json.JSONDecodeError as problem:
        return len(lines) > 1 and problem.doc == lines[0]
    except (ValueError, RecursionError):
        return False
    return False


# -- one line ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """One event as logged; `peers` are the receivers of a send, or the sender if a deliver names it.

    `message` is the name of a message, or its payload; empty if there is none.
    """

    line: int
    run: str
    process: str
    index: int
    kind: str
    message: str
    peers: tuple[str, ...]

    def json(self) -> dict[str, Any]:
        """The event as in a line of a log, without what is left out."""
        peer = self.peers[0] if len(self.peers) == 1 else list(self.peers)
        fields = {"run": self.run, "process": self.process, "index": self.index, "kind": self.kind}
        fields |= {"message": self.message, "peer": peer}
        return {key: value for key, value in fields.items() if value not in ("", [])}


def _row(line: int, text: str, named: bool) -> Row:
    hint = "give one event a line, as a JSON object"
    try:
        fields = json.loads(text)
    except json.JSONDecodeError as problem:
        raise BadInput(f"not JSON: {problem.msg}", hint=hint, column=problem.colno) from None
    except (ValueError, RecursionError):
        raise BadInput("not JSON that can be read: a number too long or a nesting too deep", hint=hint) from None
    if not isinstance(fields, dict):
        raise BadInput(f"{_say_value(fields)} is not an event", hint=hint)
    process = _name(fields, "process")
    index = fields.get("index")
    if type(index) is not int:
        raise _unusable("index", index)
    if not 0 <= index <= MOST_INDEX:
        said = str(index) if index < 0 else f"more than {MOST_INDEX:,}"
        raise BadInput(f"'index' is {said}", hint="count the events of a process from 0")
    kind = _name(fields, "kind")
    if kind not in KINDS:
        raise unknown_kind(kind)
    run = "" if fields.get("run") in (None, "") else _name(fields, "run", integers=True)
    if kind == "internal":
        return Row(line, run, process, index, kind, "", ())
    if named:
        message = _name(fields, "message", integers=True)
    elif fields.get("message") is None:
        message = ""
    else:
        message = _name(fields, "message", integers=True, meaning=PAYLOAD)
    if kind == "send":
        return Row(line, run, process, index, kind, message, _receivers(process, message, fields.get("peer")))
    sender = fields.get("peer")
    if not _is_name(sender) and (sender is not None or not named):
        raise _unusable("peer", sender, "the sender, a string, or leave it out" if named else SENDER)
    return Row(line, run, process, index, "deliver", message, () if sender is None else (sender,))


def unknown_kind(kind: str, known: Iterable[str] = KINDS) -> BadInput:
    """A kind of event that is none, unless the log calls one so."""
    problem = unknown_name("kind", kind, known)
    called = f"if the log calls one of them so: --kind {printable_name(kind)}=THAT"
    return BadInput(problem.message, hint=f"{problem.hint}; {called}")


def _receivers(process: str, message: str, peer: object) -> tuple[str, ...]:
    message = message or "a message"
    receivers = peer if isinstance(peer, list) else [peer]
    if not receivers:
        raise BadInput(f"{process} sends {message} to nobody", hint="name a receiver in 'peer'")
    named: set[str] = set()
    for receiver in receivers:
        if not _is_name(receiver):
            raise _unusable("peer", receiver, "the receiver, a string, or a list of receivers")
        if receiver in named:
            raise BadInput(f"{process} sends {message} to {receiver} twice", hint="name each receiver once in 'peer'")
        named.add(receiver)
    return tuple(receivers)


def _name(fields: Mapping[str, object], key: str, integers: bool = False, meaning: str = "") -> str:
    value = fields.get(key)
    if _is_name(value) or (integers and type(value) is int):
        return str(value)
    raise _unusable(key, value, meaning)


def _is_name(value: object) -> TypeGuard[str]:
    """Names are printed on terminals and in diagrams: none is empty, none holds control characters."""
    return isinstance(value, str) and value != "" and value.isprintable()


def _unusable(key: str, value: object, meaning: str = "") -> BadInput:
    said = f"'{key}' is missing" if value is None else f"'{key}' cannot be {_say_value(value)}"
    return BadInput(said, hint=f"give {meaning or MEANING[key]}")


def _say_value(value: object) -> str:
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    said = json.dumps(value)
    return said if len(said) <= 40 else said[:39] + "…"


# -- one run -----------------------------------------------------------------------------------------------------------


def _logged_run(run: str, rows: list[Row]) -> LoggedRun:
    lines = lines_of_processes(rows)
    hint = "give each message of a run a name of its own"
    sent = [row for row in rows if row.kind == "send"]
    sends = _once(sent, lambda row: row.message, "{0.message} is sent twice", hint)
    delivered = [row for row in rows if row.kind == "deliver"]
    delivers = _once(delivered, lambda row: (row.message, row.process), "{0.process} delivers {0.message} twice", hint)
    senders = _senders(sends, delivered)
    holes, torn = _holes(lines, sends, senders, delivers)
    receivers = {
        message: [name for name in send.peers if (message, name) in delivers or name not in torn]
        for message, send in sends.items()
    }
    try:
        computation = _computation(lines, sends, {m: names for m, names in receivers.items() if names})
    except Cyclic as problem:
        raise _cyclic_run(run, problem, lines) from None
    return LoggedRun(run, computation, holes, from_one=counts_from_one(rows))


def _cyclic_run(run: str, problem: Cyclic, lines: Mapping[str, list[Row]]) -> BadInput:
    """The cycle with the line of each of its events, and what is to be done about a log of other runs too."""
    of_process = list(lines.values())
    rows = [of_process[p][place] for p, place in problem.places]
    steps = [step + f" (line {row.line})" * bool(row.line) for step, row in zip(problem.steps, rows, strict=True)]
    said = Cyclic(steps, problem.places).message
    if not run:
        return BadInput(said, hint=problem.hint)
    hint = f"{problem.hint}: correct these lines, or leave run {run} out to have the others judged"
    return BadInput(f"run {run}: {said}", hint=hint)


def lines_of_processes(rows: list[Row]) -> dict[str, list[Row]]:
    """The events of each process that the rows name, in natural order, by index; two with the same are refused."""
    hint = "number the events of a process 0, 1, 2, … and distinguish runs by 'run'"
    _once(rows, lambda row: (row.process, row.index), "{0.process} has two events {0.index}", hint)
    names = {name for row in rows for name in (row.process, *row.peers)}
    lines: dict[str, list[Row]] = {name: [] for name in sorted(names, key=natural)}
    for row in sorted(rows, key=lambda row: row.index):
        lines[row.process].append(row)
    return lines


def counts_from_one(rows: Iterable[Row]) -> bool:
    """True if no event has index 0, and one has 1: they are taken to count from 1."""
    return min(row.index for row in rows) == 1


def rows_and_gaps(lines: Mapping[str, list[Row]]) -> Iterator[tuple[Row, Gap | None]]:
    """Line after line each row, with the gap before it if events are missing there."""
    first = 1 if counts_from_one(row for line in lines.values() for row in line) else 0
    for process, line in lines.items():
        expected = first
        for row in line:
            yield row, Gap(process, expected, row.index - 1) if row.index > expected else None
            expected = row.index + 1


def _once(rows: Iterable[Row], key: Callable[[Row], Key], problem: str, hint: str) -> dict[Key, Row]:
    """The rows by key; `problem` says, of the second row with a key, what is wrong."""
    by_key: dict[Key, Row] = {}
    for row in rows:
        earlier = by_key.setdefault(key(row), row)
        if earlier is not row:
            raise BadInput(f"{problem.format(row)}: lines {earlier.line} and {row.line}", hint=hint, line=row.line)
    return by_key


def _senders(sends: Mapping[str, Row], delivered: Iterable[Row]) -> dict[str, str]:
    """The sender of each message, by its send or else by a deliver that names the sender; all must agree."""
    witnesses = {message: (send.process, send.line) for message, send in sends.items()}
    for row in delivered:
        does = f"{row.process} delivers {row.message}"
        send = sends.get(row.message)
        if send and row.process not in send.peers:
            raise BadInput(
                f"{does}, which {send.process} sends to {', '.join(send.peers)} on line {send.line}",
                hint=f"name {row.process} in the 'peer' of the send",
                line=row.line,
            )
        for named in row.peers:
            sender, line = witnesses.setdefault(row.message, (named, row.line))
            if named != sender:
                raise BadInput(
                    f"{does} from {named}, but by line {line} {sender} sends it",
                    hint="correct the 'peer' of the deliver, or leave it out",
                    line=row.line,
                )
    return {message: sender for message, (sender, _) in witnesses.items()}


def _holes(
    lines: Mapping[str, list[Row]],
    sends: Mapping[str, Row],
    senders: Mapping[str, str],
    delivers: Container[tuple[str, str]],
) -> tuple[tuple[Hole, ...], set[str]]:
    """The holes, line after line; and the processes on whose lines an event is missing, or may be."""
    holes: list[Hole] = []
    torn: set[str] = set()
    for row, gap in rows_and_gaps(lines):
        if gap is not None:
            torn.add(row.process)
            holes.append(gap)
        if row.kind == "deliver" and row.message not in sends:
            holes.append(MissingSend(row.process, row.message))
            # Whoever delivers its own message has sent it earlier on its line, so not after the end of it.
            known = row.message in senders
            torn |= {senders[row.message]} if known else {p for p in lines if (row.message, p) not in delivers}
    return tuple(holes), torn


def _computation(
    lines: Mapping[str, list[Row]], sends: Mapping[str, Row], receivers: Mapping[str, list[str]]
) -> Computation:
    """The computation of the messages that have receivers; every other event is internal."""
    number_of = {name: p for p, name in enumerate(lines)}

    def numbered(names: Iterable[str]) -> Computation:
        messages = [
            Message(name, number_of[sends[name].process], tuple(sorted(number_of[q] for q in receivers[name])))
            for name in names
        ]
        events = {("send", message.name): Event("send", m) for m, message in enumerate(messages)}
        events |= {("deliver", message.name): Event("receive", m) for m, message in enumerate(messages)}
        internal = Event("internal", None)
        as_events = (tuple(events.get((row.kind, row.message), internal) for row in line) for line in lines.values())
        return Computation(tuple(lines), tuple(messages), tuple(as_events))

    # The order of sending is known only with happened-before: the file may have the lines in any order.
    c = numbered(receivers)
    in_order = (c.events[e] for e in c.linearization)
    return numbered(c.messages[m].name for kind, m in in_order if kind == "send" and m is not None)


def natural(name: str) -> tuple[object, ...]:
    """P2 before P10: runs of digits compare by value (by length, then digit by digit), ties by the name itself."""
    parts = re.split("([0-9]+)", name)
    digits = (part.lstrip("0") if k % 2 else "" for k, part in enumerate(parts))
    return tuple((len(d), d) if k % 2 else parts[k] for k, d in enumerate(digits)), name
