"""Witnesses of many runs at once: the spec makes one for each shape of a violation, which then only gets its names.

The monitor tells the few messages that show a violation. What it looks like without the names (which process sends and
delivers which of them, in which order) is its shape; of those there are few, however many runs break an order. The
processes of a shape are in the natural order of their names, as `model_check.event_logs` has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from crownless.model_check.event_logs import logged_run, natural, rows_of
from crownless.spec.orders import UnreceivedPolicy, decide
from crownless.spec.printable import as_json

from .layout import Numbers
from .monitor import BROKEN, COLUMN, Monitor
from .named_rows import NamedRows
from .violations import END, ENTRIES, MESSAGES_WRITTEN, SHAPE, Written, room_for, write_violations

#: Runs whose violations are written down at a time.
AT_A_TIME = 4096
#: So many shapes are known at a time, of no more numbers each.
MOST_SHAPES, MOST_NUMBERS = 1 << 14, 64
#: What stands in a shape's witness for the names of its processes and messages.
_PROCESS, _MESSAGE = "⟨P{}⟩", "⟨m{}⟩"
_PLACE = re.compile("⟨([Pm])([0-9]+)⟩")
#: A name that is the same in JSON.
_PLAIN = re.compile(r"[ !#-\[\]-~]*")

_ORDER = {column: order for order, column in COLUMN.items()}


class WitnessOfRun(NamedTuple):
    """What shows that a run, by its number, breaks an order: as JSON."""

    run: int
    order: str
    witness: str


@dataclass
class WitnessesByShape:
    """Makes the witnesses of violations that a monitor has found, run by run."""

    rows: NamedRows
    monitor: Monitor

    def of(self, runs: Numbers, outcomes: Numbers, orders: Sequence[str]) -> Iterator[WitnessOfRun]:
        """For these runs, which are well-formed, of each order that the outcomes call broken a witness.

        `outcomes`: for each of these runs a row, with a column for each of the orders.
        """
        if not len(runs):
            return
        broken = np.zeros((len(runs), len(COLUMN)), np.bool_)
        broken[:, [COLUMN[order] for order in orders]] = outcomes == BROKEN
        processes = self.rows.processes
        rank = np.empty(len(processes), np.int32)
        rank[sorted(range(len(processes)), key=lambda p: natural(processes[p]))] = np.arange(len(processes))
        named = [_in_json(name) for name in processes]
        monitor, done = self.monitor, 0
        written = room_for(monitor.loops().run, min(AT_A_TIME, len(runs)))
        while done < len(runs):
            part = slice(done, done + AT_A_TIME)
            more = write_violations(
                runs[part], broken[part], monitor.rows, monitor.loops(), monitor.pending, rank, written
            )
            yield from self._filled(written, named)
            if not more:
                monitor.grow()
            done += more

    def _filled(self, written: Written, processes: Sequence[str]) -> Iterator[WitnessOfRun]:
        """The witnesses of the violations that are written down."""
        count, messages = int(written.sizes[ENTRIES]), int(written.sizes[MESSAGES_WRITTEN])
        if not count:
            return
        names = self.rows.named["message"].names.take(written.message[:messages]).to_pylist()
        shapes, width = written.shape[: int(written.sizes[SHAPE])].tobytes(), written.shape.itemsize
        process, pending = written.process, self.monitor.pending
        for (run, order, shape, line, message), (_, _, end, *_) in pairwise(written.entry[: count + 1].tolist()):
            witness_of = _known_witness_of if end - shape <= MOST_NUMBERS else _witness_of
            texts, places = witness_of(shapes[width * shape : width * end], order, pending)
            said = [texts[0]]
            for (is_process, k), text in zip(places, texts[1:], strict=True):
                said.append(processes[process[line + k]] if is_process else _in_json(names[message + k]))
                said.append(text)
            yield WitnessOfRun(run, _ORDER[order], "".join(said))


def _witness_of(shape: bytes, order: int, pending: bool) -> tuple[list[str], list[tuple[bool, int]]]:
    """The spec's witness of a shape: the texts between the names, and for each name if it is a process, and which."""
    reading: UnreceivedPolicy = "pending" if pending else "lost"
    assert shape, f"no message shows {_ORDER[order]} broken"
    events = _events(np.frombuffer(shape, np.int32).tolist())
    c = logged_run("", rows_of(events)).computation
    verdict = decide(c, _ORDER[order], reading)
    assert verdict.witness is not None, f"the messages that show {_ORDER[order]} broken keep it: {events}"
    pieces = _PLACE.split(as_json(verdict.witness.json(c)))
    return pieces[::3], [(kind == "P", int(k)) for kind, k in zip(pieces[1::3], pieces[2::3], strict=True)]


_known_witness_of = lru_cache(MOST_SHAPES)(_witness_of)


def _events(shape: Sequence[int]) -> list[tuple[str, str, str, list[str]]]:
    """The events of a shape, with what stands for the names."""
    found: list[tuple[str, str, str, list[str]]] = []
    line = 0
    for number in shape:
        if number == END:
            line += 1
            continue
        k, what = divmod(number, 3)
        if what == 2:
            found[-1][3].append(_PROCESS.format(k))
        else:
            found.append((_PROCESS.format(line), ("send", "deliver")[what], _MESSAGE.format(k), []))
    return found


def _in_json(name: str) -> str:
    """A name within a text of JSON."""
    return name if _PLAIN.fullmatch(name) else as_json(name)[1:-1]
