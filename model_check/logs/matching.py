"""Logs that name no messages: which deliver is of which send.

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
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from crownless.model_check.event_logs import counts_from_one, lines_of_processes, refuse, rows_and_gaps
from crownless.spec.errors import BadInput
from crownless.spec.printable import some

from .lost_events import Gap
from .rows import Row, at_one_place

#: Entries of vector times, of processes and of messages in flight, while another matching is looked for; if there would
#: be more, it stays open whether there is one.
ROOM = 1 << 26


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
    #: Another matching that is acyclic, if there is one; `settled`: it is known whether there is one.
    other: Other | None = None
    settled: bool = True

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
    return Matching(run, rows, copies, cycle=walk.cycle(), other=walk.other, settled=walk.settled)


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
        self.settled = True
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
        if (len(self._sent) + len(self._times)) * len(self.lines) > ROOM:
            self.settled = self._looking = False

    def cycle(self) -> tuple[Copy, ...]:
        """Copies that wait for each other in a cycle, if the walk did not come to the end of all lines."""
        stuck = next((process for process, at in self.at.items() if at < len(self.lines[process])), None)
        found: dict[str, Copy] = {}
        while stuck is not None and stuck not in found:
            found[stuck] = self.copy_of[self.lines[stuck][self.at[stuck]].line]
            stuck = found[stuck].send.process
        processes = list(found)
        return tuple(found.values())[processes.index(stuck) :] if stuck is not None else ()
