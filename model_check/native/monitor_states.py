"""The monitor states of a search, numbered, and the steps of the monitors, tabulated.

`PlainMonitorStates` runs any monitors unchanged. `MaskMonitorStates` replaces the monitors of nearly every check (of
deliveries, of FIFO and causal order, and of synchronous order) and makes their steps on bit masks, compiled.
`PairedMonitorStates` pairs the states of two of these.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import accumulate
from types import ModuleType
from typing import Any

import numpy as np

from crownless.impl.renaming import Renaming
from crownless.impl.workloads import Workload
from crownless.model_check.system.monitors import DeliveryMonitor, FifoAndCausal, Monitor, Observation
from crownless.model_check.system.open_points import OpenPoints
from crownless.model_check.system.values import Interner
from crownless.spec.computation import Message

from . import kernels, mask_kernels, point_kernels
from .columns import Column, Map, distinct
from .pool import Sequences

#: The number of steps computed at a time, and the words of memory that they may use meanwhile.
BATCH = 1 << 14
ROOM = 1 << 22
#: With more possible copies of messages, masks of all are longer than sets of those that occur.
MAX_COPIES = 1 << 10

#: An application event: kind, process, message.
StepEvents = Sequence[tuple[str, int, Message]]


#: The maximum number of properties that monitors report.
MAX_MONITORED = 16


class Unforeseen(Exception):
    """A protocol reports an event that the compiled monitors do not support."""


class MonitorStates:
    """Base: monitor states by number, 0 being that of the empty run; codes by number, 0 being nothing to observe."""

    #: True if events at different processes lead to one monitor state in either order, wherever both orders are runs.
    commute = False

    def __init__(self) -> None:
        self.steps = Map()
        self.renamed = Map()

    def __len__(self) -> int:
        raise NotImplementedError

    def code(self, events: StepEvents) -> int:
        """The number of the events that monitors observe in one step."""
        raise NotImplementedError

    def fill(self, keys: Any) -> None:
        """Computes missing steps (monitor state · 2³² + code)."""
        raise NotImplementedError

    def rename(self, keys: Any, renamings: Sequence[Renaming]) -> None:
        """Computes missing renamings (monitor state · 2³² + number of the renaming)."""
        raise NotImplementedError

    def owed(self) -> Any:
        """See `kernels.MonitorTables`."""
        raise NotImplementedError

    def arrays(self) -> kernels.MonitorTables:
        """The tables in the form that kernels read. Later entries may be in them or not."""
        return kernels.MonitorTables(self.steps.table, self.owed(), self.renamed.table)


class PlainMonitorStates(MonitorStates):
    """Any monitors."""

    def __init__(self, monitors: Sequence[Monitor], bit: dict[str, int], may_crash: int | None = None) -> None:
        super().__init__()
        self.monitors = monitors
        self._may_crash = may_crash
        self._bit = bit
        self._monitor_states, self._codes = Interner(), Interner()
        self._owed = Column()
        self._owed_of = cache(self._owed_by_state)
        self.code(())
        self._number(tuple(monitor.initial() for monitor in monitors))

    def __len__(self) -> int:
        return len(self._owed)

    def _number(self, monitor_state: tuple[Any, ...]) -> int:
        number = self._monitor_states.number(monitor_state)
        if number == len(self):
            self._owed.append(self._owed_of(monitor_state[0]))
        return number

    def _owed_by_state(self, first: Any) -> int:
        """The owed events, by the state of the first monitor; none unless that is the monitor of deliveries."""
        owed, deliveries = 0, self.monitors[0]
        if isinstance(deliveries, DeliveryMonitor):
            for message, receiver in deliveries.undelivered(first):
                owed |= (1 if message.sender == self._may_crash else 1 | 1 << 16) << receiver
            for message in deliveries.unsent(first):
                owed |= 1 << (32 + message.sender)
        return owed

    def code(self, events: StepEvents) -> int:
        observations = [Observation(kind, process, message) for kind, process, message in events]  # type: ignore[arg-type]
        parts = ((k, part) for k, monitor in enumerate(self.monitors) for part in monitor.encode_all(observations))
        return self._codes.number(tuple(parts))

    def fill(self, keys: Any) -> None:
        values = []
        for key in keys.tolist():
            after = list(self._monitor_states.values[key >> 32])
            violated = 0
            for k, code in self._codes.values[key & 0xFFFFFFFF]:
                after[k], names = self.monitors[k].observe(after[k], code)
                for name in names:
                    violated |= self._bit[name]
            values.append(self._number(tuple(after)) << 16 | violated)
        self.steps.enter(keys, np.array(values, np.int64))

    def rename(self, keys: Any, renamings: Sequence[Renaming]) -> None:
        values = []
        for key in keys.tolist():
            renaming = renamings[key & 0xFFFFFFFF]
            parts = zip(self.monitors, self._monitor_states.values[key >> 32], strict=True)
            values.append(
                self._number(tuple(monitor.renamed(monitor_state, renaming) for monitor, monitor_state in parts))
            )
        self.renamed.enter(keys, np.array(values, np.int64))

    def owed(self) -> Any:
        return self._owed.array


class MaskMonitorStates(MonitorStates):
    """Monitor states with compiled steps, by `mask_kernels` or `point_kernels`: each a stretch of a pool of words."""

    commute = True
    KINDS = {"hand": mask_kernels.HAND, "send": mask_kernels.SEND, "deliver": mask_kernels.DELIVER}

    def __init__(self, workload: Workload, universe: mask_kernels.Universe, module: ModuleType) -> None:
        super().__init__()
        self._universe, self._kernels = universe, module
        self.messages = {message: m for m, message in enumerate(workload.universe())}
        head, entry = module.sizes(universe)
        #: The words of the largest monitor state while it is computed. That of the empty run is all zeroes.
        self._most_words = head + entry * (workload.messages + 1)
        self._some = max(1, min(BATCH, ROOM // self._most_words))
        self._codes = Interner()
        self._starts, self._kinds, self._whose, self._what = Column(), Column(), Column(), Column()
        self._starts.append(0)
        self.code(())
        self._permuted: tuple[Any, Any, Any] | None = None
        self._sequences = Sequences()
        self._owed = Column()
        self._owed.append(0)
        self._sequences.room(1, head).offset[1] = head
        self._sequences.numbers(1)

    def __len__(self) -> int:
        return len(self._sequences)

    def code(self, events: StepEvents) -> int:
        for kind, process, message in events:
            if kind not in self.KINDS or message not in self.messages or (kind == "send" and process != message.sender):
                raise Unforeseen
        key = tuple(event for event in events if self.KINDS[event[0]] in self._kernels.HEEDED)
        number = self._codes.number(key)
        if number == len(self._starts) - 1:
            self._kinds.extend(self.KINDS[kind] for kind, _, _ in key)
            self._whose.extend(process for _, process, _ in key)
            self._what.extend(self.messages[message] for _, _, message in key)
            self._starts.append(len(self._kinds))
        return number

    def fill(self, keys: Any) -> None:
        events = (self._starts.array, self._kinds.array, self._whose.array, self._what.array)
        self._enter(self.steps, keys, self._kernels.observe, *events)

    def rename(self, keys: Any, renamings: Sequence[Renaming]) -> None:
        if not len(keys):
            return
        if self._permuted is None:
            copies_in_order = [(message, q) for message in self.messages for q in message.receivers]
            number = {copy: c for c, copy in enumerate(copies_in_order)}
            images = np.array([renaming.image for renaming in renamings], np.int64)
            messages = [[self.messages[r.message(message)] for message in self.messages] for r in renamings]
            copies = [[number[r.message(m), r.image[q]] for m, q in copies_in_order] for r in renamings]
            self._permuted = images, np.array(copies, np.int64), np.array(messages, np.int64)
        self._enter(self.renamed, keys, self._kernels.rename, *self._permuted)

    def _enter(self, table: Map, keys: Any, kernel: Callable[..., None], *arguments: Any) -> None:
        """Enters the values that the kernel gives for the keys."""
        for start in range(0, len(keys), self._some):
            some = keys[start : start + self._some]
            violated, known = np.zeros(len(some), np.int64), len(self)
            room = self._sequences.room(self._some, self._most_words)
            kernel(some, violated, self._sequences.pool, room, self._universe, *arguments)
            if (violated < 0).any():
                raise Unforeseen
            after = self._sequences.numbers(len(some))
            if self._kernels is mask_kernels:
                self._owed.add(np.zeros(len(self) - known, np.int64))
                mask_kernels.note_owed(known, len(self), self._sequences.pool, self._universe, self._owed.array)
            table.enter(some, after << 16 | violated if table is self.steps else after)

    def owed(self) -> Any:
        return self._owed.array


class PairedMonitorStates(MonitorStates):
    """The occurring pairs of monitor states, each numbered by itself. The first ones give the owed deliveries."""

    def __init__(self, first: MonitorStates, second: MonitorStates) -> None:
        super().__init__()
        self.commute = first.commute and second.commute
        self._parts = (first, second)
        self._sequences = Sequences()
        self._codes, self._code_numbers = (Column(), Column()), Interner()
        self._owed = Column()
        self.code(())
        self._numbers(np.zeros((1, 2), np.uint64))

    def __len__(self) -> int:
        return len(self._owed)

    def code(self, events: StepEvents) -> int:
        key = self._parts[0].code(events), self._parts[1].code(events)
        number = self._code_numbers.number(key)
        if number == len(self._codes[0]):
            for column, code in zip(self._codes, key, strict=True):
                column.append(code)
        return number

    def fill(self, keys: Any) -> None:
        after, violated = [], np.zeros(len(keys), np.int64)
        for part, monitor_states, codes in zip(self._parts, self._members(keys), self._codes, strict=True):
            code = codes.array[keys & np.uint64(0xFFFFFFFF)]
            values = _looked_up(part.steps, monitor_states << 32 | code, part.fill)
            # An event that one of the two ignores leaves its monitor state unchanged.
            values = np.where(code == 0, monitor_states << 16, values)
            after.append(values >> 16)
            violated |= values & 0xFFFF
        self.steps.enter(keys, self._numbers(np.stack(after, axis=1)) << 16 | violated)

    def rename(self, keys: Any, renamings: Sequence[Renaming]) -> None:
        after = []
        for part, monitor_states in zip(self._parts, self._members(keys), strict=True):
            wanted = monitor_states << 32 | (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
            after.append(_looked_up(part.renamed, wanted, partial(part.rename, renamings=renamings)))
        self.renamed.enter(keys, self._numbers(np.stack(after, axis=1)))

    def _members(self, keys: Any) -> Any:
        """The first and the second monitor states of pairs (pair · 2³² + …)."""
        pairs = self._sequences.pool.content[: 2 * len(self)].reshape(-1, 2)
        return pairs[keys >> np.uint64(32)].astype(np.int64).T

    def _numbers(self, pairs: Any) -> Any:
        """The numbers of pairs, new ones included."""
        room, known = self._sequences.room(len(pairs), 2), len(self._owed)
        room.content[: 2 * len(pairs)], room.offset[: len(pairs) + 1] = pairs.ravel(), 2 * np.arange(len(pairs) + 1)
        numbers = self._sequences.numbers(len(pairs))
        first = self._sequences.firsts(known, len(self._sequences)).astype(np.int64)
        self._owed.add(self._parts[0].owed()[first])
        return numbers

    def owed(self) -> Any:
        return self._owed.array


def _looked_up(known: Map, keys: Any, fill: Callable[[Any], None]) -> Any:
    """The values of keys; missing ones are computed first."""
    keys = keys.astype(np.uint64)
    missing = distinct(keys[(known.values(keys) < 0) & (keys & np.uint64(0xFFFFFFFF) != 0)])
    if len(missing):
        fill(missing)
    return known.values(keys)


def monitor_states_for(
    monitors: Sequence[Monitor], workload: Workload, bit: dict[str, int], may_crash: int | None, *, plain: bool = False
) -> MonitorStates:
    """The fastest implementation for these monitors, or if `plain`, one for all events."""
    deliveries, *others = monitors
    assert isinstance(deliveries, DeliveryMonitor)
    orders = next((monitor for monitor in others if isinstance(monitor, FifoAndCausal)), None)
    by_points = [monitor for monitor in others if isinstance(monitor, OpenPoints) and _fits(monitor, workload)]
    rest = [monitor for monitor in others if monitor is not orders and monitor not in by_points]
    copies = accumulate(len(message.receivers) for message in workload.universe())
    if plain or any(count > MAX_COPIES for count in copies):
        return PlainMonitorStates(monitors, bit, may_crash)
    universe = universe_of(workload, deliveries, orders, bit, may_crash)
    states: MonitorStates = MaskMonitorStates(workload, universe, mask_kernels)
    for monitor in by_points:
        states = PairedMonitorStates(states, _by_points(monitor, workload, universe, bit))
    return PairedMonitorStates(states, PlainMonitorStates(rest, bit, may_crash)) if rest else states


def _fits(monitor: OpenPoints, workload: Workload) -> bool:
    """True if the points of all messages that are sent in a run fit into one set."""
    points = monitor.points_of(max((len(message.receivers) for message in workload.universe()), default=0))
    return workload.messages * points <= point_kernels.MAX_POINTS


def _by_points(
    monitor: OpenPoints, workload: Workload, universe: mask_kernels.Universe, bit: dict[str, int]
) -> MonitorStates:
    head, entry = point_kernels.sizes(universe)
    rows = np.zeros((2, head + entry * (workload.messages + 1)), np.int64)
    of_order = universe._replace(order=monitor.order, violated=bit[monitor.watches[0]], rows=rows)
    return MaskMonitorStates(workload, of_order, point_kernels)


def universe_of(
    workload: Workload,
    deliveries: DeliveryMonitor,
    orders: FifoAndCausal | None,
    bit: dict[str, int],
    may_crash: int | None,
) -> mask_kernels.Universe:
    """The messages in the form that kernels read."""
    n, messages = len(workload.processes), list(workload.universe())
    copies = [(message, q) for message in messages for q in message.receivers]
    words = (len(copies) + 63) >> 6
    to_receiver, from_sender = (np.zeros((n, words), np.uint64) for _ in range(2))
    for c, (message, q) in enumerate(copies):
        to_receiver[q, c >> 6] |= np.uint64(1 << (c & 63))
        from_sender[message.sender, c >> 6] |= np.uint64(1 << (c & 63))
    return mask_kernels.Universe(
        n,
        words,
        (len(messages) + 63) >> 6,
        np.cumsum([0, *(len(message.receivers) for message in messages)]),
        np.array([q for _, q in copies], np.int64),
        np.array([message.sender for message in messages], np.int64),
        to_receiver,
        from_sender,
        ~np.zeros(words, np.uint64) if may_crash is None else ~from_sender[may_crash],
        np.array([orders is not None and p in orders.at for p in range(n)]),
        orders is not None,
        deliveries.sends_before_delivery,
        bit.get("fifo", 0),
        bit.get("causal", 0),
    )
