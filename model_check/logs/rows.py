"""The rows of event logs: one line read as an event, and the rows of a run that contradict each other."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

from .reasons import (
    KINDS,
    MOST_INDEX,
    BadField,
    BadIndex,
    Copy,
    DeliveredTwice,
    MissingField,
    NoReceiver,
    NotAnObject,
    NotAReceiver,
    NotJson,
    Reason,
    ReceiverTwice,
    SendersDiffer,
    SentTwice,
    TwoEvents,
    UnknownKind,
    UnreadableJson,
    UnusableRow,
)

MEANING = {
    "process": "the name of the event's process, a string",
    "index": "the event's number on its process, an integer counted from 0",
    "kind": "one of " + ", ".join(KINDS),
    "message": "the message's name, a string or an integer, or add --match if the log has none",
    "run": "the run's name, a string or an integer",
}
RECEIVERS = "the receiver, a string, or a list of receivers"
SENDER = "the sender, a string, or leave it out"

#: The same of logs that name no messages.
PAYLOAD = "the payload, a string or an integer, or leave it out"
SENDER_OF_UNNAMED = "the sender, a string, since messages have no names"


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
    message: str = ""
    peers: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """The event as in a line of a log, without what is left out."""
        peer = self.peers[0] if len(self.peers) == 1 else list(self.peers)
        fields = {"run": self.run, "process": self.process, "index": self.index, "kind": self.kind}
        fields |= {"message": self.message, "peer": peer}
        return {key: value for key, value in fields.items() if value not in ("", [])}

    @property
    def event(self) -> tuple[str, str, int, str, str, tuple[str, ...]]:
        """All but the line: two rows of the same event are copies."""
        return self.run, self.process, self.index, self.kind, self.message, self.peers


# -- one line ----------------------------------------------------------------------------------------------------------


def read_row(line: int, text: str, *, named: bool = True) -> Row:
    """The event in a line of JSON, which has this number; raises `UnusableRow`. `named`: as of `row_of`."""
    try:
        fields = json.loads(text)
    except json.JSONDecodeError as problem:
        raise UnusableRow(NotJson(problem.msg), column=problem.colno) from None
    except (ValueError, RecursionError):
        raise UnusableRow(UnreadableJson()) from None
    if not isinstance(fields, dict):
        raise UnusableRow(NotAnObject(_in_words(fields)))
    return row_of(line, fields, named=named)


def row_of(line: int, fields: Mapping[str, object], *, named: bool = True) -> Row:
    """The event with these fields, on the line of this number; raises `UnusableRow`.

    `named`: `message` is the name of the message. Otherwise it is a payload, which may be left out, and a deliver must
    name its sender.
    """
    process = _name(fields, "process")
    index = fields.get("index")
    if type(index) is not int:
        raise _unusable("index", index)
    if not 0 <= index <= MOST_INDEX:
        raise UnusableRow(BadIndex(index))
    kind = _name(fields, "kind")
    if kind not in KINDS:
        raise UnusableRow(UnknownKind(kind))
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
    if not is_name(sender) and (sender is not None or not named):
        raise _unusable("peer", sender, SENDER if named else SENDER_OF_UNNAMED)
    return Row(line, run, process, index, "deliver", message, () if sender is None else (sender,))


def process_of(text: str) -> str | None:
    """The process named in a line that is otherwise unusable; None if there is no name."""
    process = (object_in(text) or {}).get("process")
    return process if is_name(process) else None


def object_in(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object in a line; None if there is anything else."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def is_name(value: object) -> TypeGuard[str]:
    """Names are printed on terminals and in diagrams: none is empty, none holds control characters."""
    return isinstance(value, str) and value != "" and value.isprintable()


def _receivers(process: str, message: str, peer: object) -> tuple[str, ...]:
    receivers = peer if isinstance(peer, list) else [peer]
    if not receivers:
        raise UnusableRow(NoReceiver(process, message))
    named: set[str] = set()
    for receiver in receivers:
        if not is_name(receiver):
            raise _unusable("peer", receiver, RECEIVERS)
        if receiver in named:
            raise UnusableRow(ReceiverTwice(process, message, receiver))
        named.add(receiver)
    return tuple(receivers)


def _name(fields: Mapping[str, object], key: str, integers: bool = False, meaning: str = "") -> str:
    value = fields.get(key)
    if is_name(value) or (integers and type(value) is int):
        return str(value)
    raise _unusable(key, value, meaning)


def _unusable(key: str, value: object, meaning: str = "") -> UnusableRow:
    meaning = meaning or MEANING[key]
    text = value if isinstance(value, str) else ""
    hidden = next((character for character in text if not character.isprintable()), None)
    if hidden is not None:
        meaning = f"{meaning}; no name holds {json.dumps(hidden)}, which does not show"
    return UnusableRow(MissingField(key, meaning) if value is None else BadField(key, _in_words(value), meaning))


def _in_words(value: object) -> str:
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:39] + "…"


# -- the rows of a run -------------------------------------------------------------------------------------------------


class Conflict(NamedTuple):
    """A row that cannot be used, and the rows of which not all can be true, this one among them."""

    row: Row
    reason: Reason
    rows: Sequence[Row]

    @property
    def other(self) -> Row:
        """The first of the other rows."""
        return next(row for row in self.rows if row is not self.row)


def conflicts(rows: Iterable[Row]) -> Iterator[Conflict]:
    """The rows of a run that contradict others, each once, with the reason; of copies all but the first.

    The first one given is the first that a reader of the log notices: its row is the later of two.
    """
    rows, found = list(rows), set[int]()
    for conflict in all_conflicts(rows):
        if id(conflict.row) not in found:
            found.add(id(conflict.row))
            yield conflict


def at_one_place(rows: Iterable[Row]) -> Iterator[Conflict]:
    """Of the contradictions those between two events of a process with the same index."""
    groups = _groups(rows, lambda row: (row.process, row.index))
    different: list[list[Row]] = []
    for same in groups:
        first: dict[Hashable, Row] = {}
        for row in same:
            known = first.setdefault(row.event, row)
            if known is not row:
                yield Conflict(row, Copy(row.process, row.index), (known, row))
        different.append(list(first.values()))
    for same in different:
        if len(same) > 1:
            yield from _all_of(same, TwoEvents(same[0].process, same[0].index))


def all_conflicts(rows: list[Row]) -> Iterator[Conflict]:
    """As `conflicts`; a row may come again, with a further reason."""
    copies: set[int] = set()
    for conflict in at_one_place(rows):
        if isinstance(conflict.reason, Copy):
            copies.add(id(conflict.row))
        yield conflict
    sends = [row for row in rows if row.kind == "send" and id(row) not in copies]
    delivers = [row for row in rows if row.kind == "deliver" and id(row) not in copies]
    for same in _groups(sends, lambda row: row.message):
        yield from _all_of(same, SentTwice(same[0].message))
    for same in _groups(delivers, lambda row: (row.message, row.process)):
        yield from _all_of(same, DeliveredTwice(same[0].process, same[0].message))
    about = (_disagreement(same) for same in _groups((*sends, *delivers), lambda row: row.message))
    for first in sorted((one for one in about if one is not None), key=lambda one: one.row.line):
        yield first
        yield from (Conflict(row, first.reason, first.rows) for row in first.rows)


def _groups(rows: Iterable[Row], key: Callable[[Row], Hashable]) -> list[list[Row]]:
    """The rows with the same key, if they are several, by the line of the second one."""
    by_key: dict[Hashable, list[Row]] = {}
    for row in rows:
        by_key.setdefault(key(row), []).append(row)
    return sorted((same for same in by_key.values() if len(same) > 1), key=lambda same: same[1].line)


def _all_of(same: Sequence[Row], reason: Reason) -> Iterator[Conflict]:
    first, second, *rest = same
    return (Conflict(row, reason, same) for row in (second, first, *rest))


def _disagreement(rows: Sequence[Row]) -> Conflict | None:
    """The deliver that disagrees with another row about its message, whose rows these are, sends first; or None."""
    message = rows[0].message
    senders = [(row, name) for row in rows for name in ((row.process,) if row.kind == "send" else row.peers)]
    names = {name for _, name in senders}
    if len(names) > 1:
        (known, sender), *others = senders
        row = next(row for row, name in others if name != sender)
        return _between(row, known, rows, SendersDiffer(message, tuple(sorted(names))))
    sends = [row for row in rows if row.kind == "send"]
    receivers = {name for row in sends for name in row.peers}
    elsewhere = [row for row in rows if row.kind == "deliver" and row.process not in receivers] if sends else []
    if not elsewhere:
        return None
    row = min(elsewhere, key=lambda row: row.process)
    return _between(row, sends[0], rows, NotAReceiver(row.process, message, tuple(sorted(receivers))))


def _between(row: Row, other: Row, rows: Sequence[Row], reason: Reason) -> Conflict:
    return Conflict(row, reason, (other, row, *(one for one in rows if one is not row and one is not other)))
