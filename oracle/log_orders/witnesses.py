"""Witnesses of many runs: the spec makes one for each shape of a violation, which then only gets its names.

The monitor names the few messages that show a violation. Their events without the names (which process sends and
delivers which of them, in which order) are its shape; there are few shapes, however many runs break an order. The
processes of a shape are in the natural order of their names, as `oracle.event_logs` has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from crownless.oracle.event_logs import logged_run, natural, rows_of
from crownless.oracle.logs.layout import INTERNAL, SEND, Numbers
from crownless.oracle.logs.named_rows import NamedRows
from crownless.spec.orders import UnreceivedPolicy, decide
from crownless.spec.printable import as_json

from .monitor import BROKEN, Monitor

#: So many shapes are known at a time, of no more events each.
MOST_SHAPES, MOST_EVENTS = 1 << 14, 32
#: What stands in a shape's witness for the names of its processes and messages.
_PROCESS, _MESSAGE = "⟨P{}⟩", "⟨m{}⟩"
_PLACE = re.compile("⟨([Pm])([0-9]+)⟩")
#: A name that is the same in JSON.
_PLAIN = re.compile(r"[ !#-\[\]-~]*")

#: Events line after line: the number of the process, whether it sends, the number of the message, and the receivers.
Shape = tuple[tuple[int, bool, int, tuple[int, ...]], ...]


class WitnessOfRun(NamedTuple):
    """What shows that a run, by its number, breaks an order: as JSON."""

    run: int
    order: str
    witness: str


class _Shown(NamedTuple):
    """The messages that show a violation: their shape, and the names of its processes and messages in JSON."""

    shape: Shape
    processes: list[str]
    messages: list[str]


@dataclass
class WitnessesByShape:
    """Makes the witnesses of violations that a monitor has found, run by run."""

    rows: NamedRows
    monitor: Monitor
    #: The processes in natural order; and of each its place there.
    _in_order: list[int] = field(init=False)
    _rank: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        processes = self.rows.processes
        self._in_order = sorted(range(len(processes)), key=lambda p: natural(processes[p]))
        self._rank = {p: place for place, p in enumerate(self._in_order)}

    def of(self, runs: Numbers, outcomes: Numbers, orders: Sequence[str]) -> Iterator[WitnessOfRun]:
        """For these runs, which are well-formed, of each order that the outcomes call broken a witness.

        `outcomes`: for each of these runs a row, with a column for each of the orders.
        """
        for run, found in zip(runs.tolist(), outcomes, strict=True):
            known: dict[tuple[int, ...], _Shown] = {}
            for order, outcome in zip(orders, found.tolist(), strict=True):
                if outcome == BROKEN:
                    sends = tuple(self.monitor.witness(run, order))
                    if sends not in known:  # which show other orders broken, too
                        known[sends] = self._shown(run, sends)
                    yield WitnessOfRun(run, order, _filled(known[sends], order, self.monitor.pending))

    def _shown(self, run: int, sends: Sequence[int]) -> _Shown:
        """The messages of these sends of a run, given by their rows."""
        rows, rank = self.monitor.rows, self._rank
        first, past = int(rows.first[run]), int(rows.first[run + 1])
        about = np.isin(rows.message[first:past], rows.message[list(sends)]) & (rows.kind[first:past] != INTERNAL)
        events = []
        for row in (first + np.flatnonzero(about)).tolist():
            peer, is_send = int(rows.peer[row]), bool(rows.kind[row] == SEND)
            to = rows.receiver[rows.first_receiver[peer] : rows.first_receiver[peer + 1]].tolist() if is_send else []
            events.append((rank[int(rows.process[row])], int(rows.place[row]), is_send, int(rows.message[row]), to))
        events.sort()
        ranks = sorted({place for place, *_ in events} | {rank[q] for *_, to in events for q in to})
        line = {place: k for k, place in enumerate(ranks)}
        number = {m: k for k, m in enumerate(m for _, _, is_send, m, _ in events if is_send)}
        shape = tuple(
            (line[place], is_send, number[m], tuple(line[rank[q]] for q in to)) for place, _, is_send, m, to in events
        )
        names = self.rows.named["message"].names
        return _Shown(
            shape,
            [_in_json(self.rows.processes[self._in_order[place]]) for place in ranks],
            [_in_json(str(names[m].as_py())) for m in number],
        )


def _filled(shown: _Shown, order: str, pending: bool) -> str:
    """The witness of these messages as JSON."""
    witness_of = _known_witness_of if len(shown.shape) <= MOST_EVENTS else _witness_of
    texts, places = witness_of(shown.shape, order, pending)
    said = [texts[0]]
    for (is_process, k), text in zip(places, texts[1:], strict=True):
        said += (shown.processes[k] if is_process else shown.messages[k], text)
    return "".join(said)


def _witness_of(shape: Shape, order: str, pending: bool) -> tuple[list[str], list[tuple[bool, int]]]:
    """The spec's witness of a shape: the texts between the names, and for each name if it is a process, and which."""
    reading: UnreceivedPolicy = "pending" if pending else "lost"
    assert shape, f"no message shows {order} broken"
    events = [
        (_PROCESS.format(p), "send" if sends else "deliver", _MESSAGE.format(m), [_PROCESS.format(q) for q in to])
        for p, sends, m, to in shape
    ]
    c = logged_run("", rows_of(events)).computation
    verdict = decide(c, order, reading)
    assert verdict.witness is not None, f"the messages that show {order} broken keep it: {events}"
    pieces = _PLACE.split(as_json(verdict.witness.json(c)))
    return pieces[::3], [(kind == "P", int(k)) for kind, k in zip(pieces[1::3], pieces[2::3], strict=True)]


_known_witness_of = lru_cache(MOST_SHAPES)(_witness_of)


def _in_json(name: str) -> str:
    """A name within a text of JSON."""
    return name if _PLAIN.fullmatch(name) else as_json(name)[1:-1]
