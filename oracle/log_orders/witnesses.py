"""Witnesses of many runs: the spec makes one for each shape of a violation; then only the names are filled in.

The monitor names the few messages that show a violation. Their events without the names (which process sends and
delivers which of them, in which order) are its shape; there are few shapes, however many runs violate an order. The
processes of a shape are in the natural order of their names, as in `oracle.logs.event_logs`.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from crownless.oracle.logs.event_logs import logged_run, natural, rows_of
from crownless.oracle.logs.layout import SEND, Numbers
from crownless.oracle.logs.named_rows import NamedRows
from crownless.runtime.printable import as_json
from crownless.spec.orders import UnreceivedPolicy, decide

from .monitor import BROKEN, COLUMN, COLUMNS, Monitor

#: The most shapes known at a time, and the most events of each.
MAX_SHAPES, MAX_EVENTS = 1 << 14, 32
#: Placeholders in a shape's witness for the names of its processes and messages.
_PROCESS, _MESSAGE = "⟨P{}⟩", "⟨m{}⟩"
_PLACE = re.compile("⟨([Pm])([0-9]+)⟩")
#: A name that is the same in JSON.
_PLAIN = re.compile(r"[ !#-\[\]-~]*")

#: Events line after line: the number of the process, whether it sends, the number of the message, and the receivers.
Shape = tuple[tuple[int, bool, int, tuple[int, ...]], ...]


class WitnessOfRun(NamedTuple):
    """The witness, as JSON, that a run (by number) violates an order."""

    run: int
    order: str
    witness: str


class _Shown(NamedTuple):
    """The messages that show a violation: their shape, and the names of its processes and messages in JSON."""

    shape: Shape
    processes: list[str]
    messages: list[str]


class WitnessesByShape:
    """Makes the witnesses of a monitor's violations, run by run."""

    def __init__(self, rows: NamedRows, monitor: Monitor) -> None:
        self.rows, self.monitor = rows, monitor
        #: The processes in natural order; the place of each there; the places of those that a peer names.
        in_order = sorted(range(len(rows.processes)), key=lambda p: natural(rows.processes[p]))
        self._processes = [_in_json(rows.processes[p]) for p in in_order]
        self._rank = np.argsort(in_order)
        of = monitor.rows
        self._peers = [ranks.tolist() for ranks in np.split(self._rank[of.receiver], of.first_receiver[1:-1])]

    def of(self, runs: Numbers, outcomes: Numbers, orders: Sequence[str]) -> Iterator[WitnessOfRun]:
        """For these well-formed runs, a witness for each order that the outcomes call violated.

        `outcomes`: for each of these runs a row, with a column for each of the orders, all of which the loops know.
        """
        broken = np.zeros((len(runs), COLUMNS), np.bool_)
        broken[:, [COLUMN[order] for order in orders]] = outcomes == BROKEN
        known, shown = list[int](), _Shown((), [], [])
        for run, order, events in self.monitor.violations(runs, broken):
            if events != known:  # the same events may show violations of several orders
                known, shown = events, self._shown(events)
            yield WitnessOfRun(run, order, _filled(shown, order, self.monitor.pending))

    def _shown(self, events: list[int]) -> _Shown:
        """The messages of these events, given by their rows line after line."""
        rows = self.monitor.rows
        columns = (self._rank[rows.process[events]], rows.kind[events], rows.message[events], rows.peer[events])
        in_order = sorted(zip(*(column.tolist() for column in columns), strict=True), key=itemgetter(0))
        sends = [(m, peer) for _, kind, m, peer in in_order if kind == SEND]
        ranks = sorted({rank for rank, *_ in in_order}.union(*(self._peers[peer] for _, peer in sends)))
        line = {rank: k for k, rank in enumerate(ranks)}
        number = {m: k for k, (m, _) in enumerate(sends)}
        shape = tuple(
            (line[rank], kind == SEND, number[m], tuple(line[q] for q in self._peers[peer]) if kind == SEND else ())
            for rank, kind, m, peer in in_order
        )
        names = self.rows.named["message"].names
        return _Shown(shape, [self._processes[rank] for rank in ranks], [_in_json(str(names[m])) for m in number])


def _filled(shown: _Shown, order: str, pending: bool) -> str:
    """The witness of these messages as JSON."""
    witness_of = _known_witness_of if len(shown.shape) <= MAX_EVENTS else _witness_of
    texts, places = witness_of(shown.shape, order, pending)
    said = [texts[0]]
    for (is_process, k), text in zip(places, texts[1:], strict=True):
        said += (shown.processes[k] if is_process else shown.messages[k], text)
    return "".join(said)


def _witness_of(shape: Shape, order: str, pending: bool) -> tuple[list[str], list[tuple[bool, int]]]:
    """The spec's witness of a shape: the texts between the names, and whether each name is a process, and which."""
    reading: UnreceivedPolicy = "pending" if pending else "lost"
    events = [
        (_PROCESS.format(p), "send" if sends else "deliver", _MESSAGE.format(m), [_PROCESS.format(q) for q in to])
        for p, sends, m, to in shape
    ]
    c = logged_run("", rows_of(events)).computation
    verdict = decide(c, order, reading)
    assert verdict.witness is not None, f"the messages that show {order} broken keep it: {events}"
    pieces = _PLACE.split(as_json(verdict.witness.json(c)))
    return pieces[::3], [(kind == "P", int(k)) for kind, k in zip(pieces[1::3], pieces[2::3], strict=True)]


_known_witness_of = lru_cache(MAX_SHAPES)(_witness_of)


def _in_json(name: str) -> str:
    """A name within a text of JSON."""
    return name if _PLAIN.fullmatch(name) else as_json(name)[1:-1]
