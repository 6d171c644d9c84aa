"""The rows of event logs, and those of a run that contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeGuard

from crownless.runtime.ending import looked_at
from crownless.runtime.errors import BadInput

from . import reasons
from .reasons import Reason, ReasonKind

#: The kind of a row that could not be read.
UNREADABLE = "?"
#: The columns of a log; others are ignored.
COLUMNS = ("run", "process", "index", "kind", "message", "peer")


@dataclass(frozen=True, slots=True)
class Row:
    """One event as logged; `peers` are the receivers of a send, or the sender if a deliver names it.

    `message` is the name of a message, or its payload; empty if there is none. For an unreadable row the kind is
    `UNREADABLE`, and only its run and its `text` are known.
    """

    line: int
    run: str
    process: str
    index: int
    kind: str
    message: str = ""
    peers: tuple[str, ...] = ()
    text: str | None = None

    def json(self) -> dict[str, Any]:
        """The event as in a line of a log, without missing fields."""
        peer = self.peers[0] if len(self.peers) == 1 else list(self.peers)
        fields = {"run": self.run, "process": self.process, "index": self.index, "kind": self.kind}
        fields |= {"message": self.message, "peer": peer}
        return {key: value for key, value in fields.items() if value not in ("", [])}

    def as_internal(self) -> Row:
        """The row as an event that neither sends nor delivers."""
        return replace(self, kind="internal", message="", peers=())


def is_name(value: object) -> TypeGuard[str]:
    """True of a name: it is printed on terminals and in diagrams, so it is not empty and has no control characters."""
    return isinstance(value, str) and value != "" and value.isprintable()


def by_run(rows: Iterable[Row], file: str | None = None) -> dict[str, list[Row]]:
    """The rows of each run, in order of first appearance; raises `BadInput` if there are none."""
    runs: dict[str, list[Row]] = {}
    for row in looked_at(rows):
        runs.setdefault(row.run, []).append(row)
    if not runs:
        raise reasons.empty_log(file)
    return runs


class Conflict(NamedTuple):
    """An unusable row, the reason, and another row: they cannot both be true."""

    row: Row
    reason: Reason
    other: Row


def refuse(found: Iterable[Conflict]) -> None:
    """Raises `BadInput` with the first of these conflicts, if any, and both lines."""
    for row, reason, other in found:
        one, two = sorted((row.line, other.line))
        raise BadInput(f"{reason.text}: lines {one} and {two}", hint=reason.hint, line=row.line)


def conflicts(rows: Iterable[Row]) -> Iterator[Conflict]:
    """The rows of a run that contradict others, each once, with the reason; for copies, all but the first.

    The first conflict yielded is the first that a reader of the log would notice: its row is the later of two.
    """
    found = set[int]()
    for conflict in all_conflicts(list(rows)):
        if id(conflict.row) not in found:
            found.add(id(conflict.row))
            yield conflict


def without_conflicts(rows: Sequence[Row], but: Collection[ReasonKind] = ()) -> tuple[list[Row], list[Conflict]]:
    """The rows without those that contradict others, and the latter, as `conflicts` has them; conflicts of some kinds
    are no reason.
    """
    found: dict[int, Conflict] = {}
    for conflict in all_conflicts(list(rows)):
        if conflict.reason.kind not in but:
            found.setdefault(id(conflict.row), conflict)
    return [row for row in rows if id(row) not in found], list(found.values())


def all_conflicts(rows: list[Row]) -> Iterator[Conflict]:
    """As `conflicts`; a row may come again, with a further reason."""
    copies: set[int] = set()
    for conflict in at_one_place(rows):
        if conflict.reason.kind is reasons.Copy:
            copies.add(id(conflict.row))
        yield conflict
    rest = [row for row in rows if row.kind != "internal" and id(row) not in copies]
    sends, delivers = ([row for row in rest if row.kind == kind] for kind in ("send", "deliver"))
    for same in _groups(sends, lambda row: row.message):
        yield from _all_of(same, reasons.SentTwice(same[0].message))
    for same in _groups(delivers, lambda row: (row.message, row.process)):
        yield from _all_of(same, reasons.DeliveredTwice(same[0].process, same[0].message))
    disagreements = map(_disagreement, looked_at(_groups((*sends, *delivers), lambda row: row.message)))
    for found in sorted(filter(None, disagreements), key=lambda found: found[0].row.line):
        yield from found


def at_one_place(rows: Iterable[Row]) -> Iterator[Conflict]:
    """The contradictions between two events of a process with the same index."""
    different: list[list[Row]] = []
    for same in looked_at(_groups(rows, lambda row: (row.process, row.index))):
        first: dict[Row, Row] = {}
        for row in same:
            known = first.setdefault(replace(row, line=0), row)
            if known is not row:
                yield Conflict(row, reasons.Copy(row.process, row.index), known)
        different.append(list(first.values()))
    for same in different:
        if len(same) > 1:
            yield from _all_of(same, reasons.TwoEvents(same[0].process, same[0].index))


def _groups(rows: Iterable[Row], key: Callable[[Row], Hashable]) -> list[list[Row]]:
    """The groups of several rows with the same key, by the line of the second one."""
    by_key: dict[Hashable, list[Row]] = {}
    for row in looked_at(rows):
        by_key.setdefault(key(row), []).append(row)
    return sorted((same for same in by_key.values() if len(same) > 1), key=lambda same: same[1].line)


def _all_of(same: Sequence[Row], reason: Reason) -> list[Conflict]:
    first, second, *rest = same
    return [Conflict(second, reason, first), *(Conflict(row, reason, second) for row in (first, *rest))]


def _disagreement(rows: Sequence[Row]) -> list[Conflict]:
    """The conflict of a deliver with another of these rows about its message (sends first), and then that of each row;
    none if they agree.
    """
    message, sends = rows[0].message, [row for row in rows if row.kind == "send"]
    senders = [(row, name) for row in rows for name in ((row.process,) if row.kind == "send" else row.peers)]
    names = sorted({name for _, name in senders})
    receivers = {name for row in sends for name in row.peers}
    elsewhere = [row for row in rows if row.kind == "deliver" and row.process not in receivers] if sends else []
    if len(names) > 1:
        other, sender = senders[0]
        row = next(row for row, name in senders if name != sender)
        reason = reasons.SendersDiffer(message, tuple(names))
    elif elsewhere:
        row, other = min(elsewhere, key=lambda row: row.process), sends[0]
        reason = reasons.NotAReceiver(row.process, message, tuple(sorted(receivers)))
    else:
        return []
    return [Conflict(row, reason, other), *_all_of([row, other, *rows], reason)]
