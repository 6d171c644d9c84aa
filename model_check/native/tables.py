"""The local machine, interned and tabulated: filled by Python, looked up by the kernels.

A *cell* is the state of a process: the local state of its protocol and the position of its application. Cells and
packets are numbered as they first occur, and each local transition is computed once, by the protocol's own Python.

Processes that differ only by name share their tables: then a cell is held as process 0 would see it, with every name
shifted, and a packet as its destination would see it if that were process 0. Only packets need be renamed for that.
With symmetry reduction the renamings that leave process 0 in place are tabulated too.
"""

from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from crownless.impl.protocol import Packet, ProtocolMachine, Step, Transition, name_of_arrival
from crownless.impl.renaming import Renaming
from crownless.impl.workloads import Free, Position, Workload
from crownless.model_check.system.machine_calls import MachineCalls
from crownless.model_check.system.rules import Exercised
from crownless.model_check.system.system import CRASHED
from crownless.model_check.system.values import Interner
from crownless.spec.computation import Message

from . import kernels
from .columns import Column, Map, distinct
from .monitor_states import MonitorStates
from .numbering import Numbering
from .ranks import Ranks
from .sites import Sites
from .symmetry import Alike, NotSymmetric, Renamings

#: The names of the channel's actions, in the order of `kernels.WAIT`, …: the first names of all.
CHANNEL_ACTIONS = ("receive", "lose", "duplicate")

#: A process of the tables, the key of its local state, and its application's position.
CellKey = tuple[int, Hashable, Position]


class Tables:
    """All known facts of the local machines; their invariants and witnesses come with their bits."""

    def __init__(
        self,
        machine: ProtocolMachine,
        workload: Workload,
        monitor_states: MonitorStates,
        invariants: dict[str, int],
        witnesses: dict[str, int],
        rules: dict[str, int],
        *,
        channel: int,
        shared: bool,
        symmetric: bool,
        may_crash: int | None = None,
    ) -> None:
        self.calls = MachineCalls(machine, workload.has, in_order=channel == kernels.FIFO)
        self.workload = workload
        self.monitor_states = monitor_states
        self.n = n = machine.n
        self.shared = shared
        self._channel = channel
        self._may_crash = may_crash
        self.ranks = Ranks()
        #: True if a packet may go to the hold-back queue.
        self._waits = False
        self._invariants, self._witnesses, self._rules = invariants, witnesses, rules
        base, own = ProtocolMachine, type(machine)
        self._takes_own_steps = own.internal is not base.internal or own.receive is not base.receive
        self._app_selects = not workload.takes_anything
        self.renamings = renamings = Renamings(n, shared=shared, symmetric=symmetric)
        self._shifts, self.frames = renamings.shifts, renamings.frames
        self._frames_at = np.array(renamings.frames_by_frame)
        self._images_of = np.array([renaming.image for renaming in self.frames])
        self.constants = kernels.SearchConstants(
            n,
            workload.messages if workload.takes_anything else 1 << 40,
            workload.takes_anything,
            self._takes_own_steps or may_crash is not None,
            False,
            np.array(renamings.permutations, np.int64),
            np.array(renamings.frames_by_permutation, np.int64),
            -1 if may_crash is None else may_crash,
        )
        self.sites = Sites(channel, renamings.then if symmetric else [[0]])
        self.cells: list[tuple[int, Any, Position]] = []
        self.packets: list[Packet] = []
        #: The common values of processes that share the tables, and whether they share them.
        self.alike = Alike(self.calls, renamings, self._evaluate) if shared else None
        #: The rules exercised so far.
        self.exercised = Exercised(self.calls, None if self.alike is None else self.alike.images_of)
        self._cell_numbers = Numbering(renamings, self._new_cell)
        self._packet_numbers = Numbering(renamings, self._new_packet)
        self._codes = Numbering(renamings, self._new_code)
        self._renamed_position = cache(workload.renamed) if isinstance(workload, Free) else None
        self._actions = Interner(CHANNEL_ACTIONS)
        self.actions: list[str] = self._actions.values
        self._cells = Column(kernels.CELL_COLUMNS)
        self._outcomes = Column(kernels.OUTCOME_COLUMNS, np.int32)
        self._seen: list[int] = []
        self.source = Column()
        self.arrivals = Map()
        self.emitted, self.code_at = Column(), Column()
        self._code(0, ())
        #: The computed misses, in order: they determine all numbers.
        self.log: list[Any] = []
        #: The maximum numbers of internal outcomes of a cell, and of outcomes of an arrival.
        self._most_own = self._most_of_arrival = 0
        start = workload.start()
        locals_ = [self.calls.initial(i) for i in range(n)]
        if self.alike is not None:
            self.alike.initial(locals_)
            self.initial = [self.cell(0, locals_[0], start)] * n
        else:
            self.initial = [self.cell(i, local, start) for i, local in enumerate(locals_)]
        for cell in self.initial:
            self.ranks.start(cell)
        self.initial_sites = [self.sites.number(cell, (), self._local()) for cell in self.initial]

    # -- numbering -----------------------------------------------------------------------------------------------------

    def cell(self, process: int, local: Any, position: Position) -> int:
        """The number of a cell of this process of the tables."""

        def renamed(renaming: Renaming) -> tuple[CellKey, Any]:
            assert self._renamed_position is not None
            image, there = self.calls.renamed(local, renaming), self._renamed_position(position, renaming)
            return self._key(0, image, there), (0, image, there)

        return self._cell_numbers.number(self._key(process, local, position), (process, local, position), renamed)

    def _key(self, process: int, local: Any, position: Position) -> CellKey:
        return process, local if local is CRASHED else self.calls.key(local), position

    def _new_cell(self, cell: tuple[int, Any, Position], first: int) -> None:
        process, local, position = cell
        is_first = first == len(self.cells)
        self.cells.append(cell)
        made = sum(position) if self.workload.takes_anything else 0
        if local is CRASHED:
            seen, flags = 0, kernels.FINISHED | kernels.CRASHED
        else:
            known = self.alike is not None and not self.alike.compares and not is_first
            seen = self._seen[first] if known else self._evaluate(process, local)
            flags = kernels.READY_TO_RECEIVE * self.workload.ready_to_receive(position, process)
            flags |= kernels.FINISHED * self.workload.at_end(position, process)
        self._seen.append(seen)
        if self._seen[first] != seen:
            raise NotSymmetric("what holds in a local state of P1 depends on the names of the others")
        self._cells.append([made, flags, process, 0, -1, 0])
        if self.alike is not None and is_first:
            self.alike.new_cell(local, seen)

    def _evaluate(self, process: int, local: Any) -> int:
        """The properties that a local state violates, and the witnesses that it satisfies, as bits."""
        seen = 0
        for name in self.calls.invariants_violated(process, local):
            seen |= self._invariants[name]
        for name in self.calls.witnesses_met(process, local):
            seen |= self._witnesses[name]
        return seen

    def known_site(self, process: int, local: Any, position: Position, packets: Iterable[tuple[Packet, bool]]) -> int:
        """The number of the site with this local state, position and packets in flight, in order, with their marks; -1
        if its cell or a packet has not occurred.
        """
        shift = self._shifts[-process] if self.alike is not None else None
        position = self.workload.alone(position, process)
        if shift is not None:
            assert self._renamed_position is not None
            local, position = self.calls.renamed(local, shift), self._renamed_position(position, shift)
        cell = self._cell_numbers.known(self._key(0 if self.shared else process, local, position))
        slots = []
        for packet, marked in packets:
            seen = packet if shift is None else self.calls.renamed_packet(packet, shift)
            number = self._packet_numbers.known(self.calls.key_of_packet(seen))
            if number < 0:
                return -1
            slots.append(number << 1 | marked)
        return -1 if cell < 0 else self.sites.number(cell, slots, self._local())

    def packet(self, packet: Packet) -> int:
        """The number of a packet, as held in the tables."""

        def renamed(renaming: Renaming) -> tuple[Hashable, Packet]:
            image = self.calls.renamed_packet(packet, renaming)
            return self.calls.key_of_packet(image), image

        return self._packet_numbers.number(self.calls.key_of_packet(packet), packet, renamed)

    def _new_packet(self, packet: Packet, first: int) -> None:
        is_first = first == len(self.packets)
        self.packets.append(packet)
        if self._channel == kernels.LOSSY:
            self.ranks.by_channel((packet.kind,), ())
        elif self._channel == kernels.DUPLICATING:
            self.ranks.by_channel((packet.kind,), (packet.kind, packet.kind))
        self.source.append((packet.source - packet.destination) % self.n)
        if self.alike is not None and is_first:
            self.alike.new_packet(packet)

    def _code(self, process: int, observations: Sequence[tuple[str, Message]]) -> int:
        """The number of the events that monitors observe in a step of this process; 0: none."""

        def renamed(renaming: Renaming) -> tuple[Hashable, Any]:
            others = [(kind, renaming.message(message)) for kind, message in observations]
            return (process, *others) if others else (), (process, others)

        key = (process, *observations) if observations else ()
        return self._codes.number(key, (process, observations), renamed)

    def _new_code(self, code: tuple[int, Sequence[tuple[str, Message]]], _first: int) -> None:
        process, observations = code
        for p in range(self.n):
            events = []
            if self.shared:
                events = [(kind, p, self._shifts[p].message(message)) for kind, message in observations]
            elif p == process:
                events = [(kind, p, message) for kind, message in observations]
            self.code_at.append(self.monitor_states.code(events))

    # -- local transitions ---------------------------------------------------------------------------------------------

    def fill(self, misses: Any) -> None:
        """Computes the missing entries."""
        self.log.append(misses)
        kinds, keys = misses >> np.uint64(62), misses & np.uint64((1 << 62) - 1)
        self.sites.send_to(keys[kinds == kernels.MISS_SENT_TO], self._local())
        listed = keys[kinds == kernels.MISS_MOVES]
        self.sites.list_moves(listed, self.constants, self._local, self._fill_local, self._most_moves)
        self.monitor_states.fill(keys[kinds == kernels.MISS_MONITOR_STATE])
        self.monitor_states.rename(keys[kinds == kernels.MISS_RENAMED_MONITOR_STATE], self.renamings.all)

    def _most_moves(self, slots: int) -> int:
        return self._most_own + slots * (self._most_of_arrival + 3)

    def _fill_local(self, misses: Any) -> None:
        """Computes missing local transitions."""
        kinds, keys = misses >> np.uint64(62), (misses & np.uint64((1 << 62) - 1)).astype(np.int64)
        outcomes, emitted = len(self._outcomes), len(self.emitted)
        # Of the renamings of an entry the least is computed, once.
        cells = distinct(self._renamed_cells(keys[kinds == kernels.MISS_OWN] >> 32).min(axis=1))
        arrivals = distinct(self._renamed_arrivals(keys[kinds == kernels.MISS_ARRIVAL]).min(axis=1))
        own = [self._fill_own(cell) for cell in cells.tolist()]
        values = [self._arrival(key >> 32, key & 0xFFFFFFFF) for key in arrivals.tolist()]
        self._enter(outcomes, emitted, cells, own, arrivals, values)

    def _renamed_cells(self, cells: Any) -> Any:
        """[cell, renaming]: the cells, renamed."""
        return self._cell_numbers.after(cells[:, np.newaxis], np.arange(len(self.frames)))

    def _renamed_arrivals(self, keys: Any) -> Any:
        """[key, renaming]: the keys (cell · 2³² + packet), renamed."""
        packets = keys[:, np.newaxis] & 0xFFFFFFFF
        return self._renamed_cells(keys >> 32) << 32 | self._packet_numbers.after(packets, np.arange(len(self.frames)))

    def _enter(
        self, start: int, emits_start: int, cells: Any, own: list[Any], arrivals: Any, values: list[int]
    ) -> None:
        """Enters what was computed, with the outcomes and emitted packets from these on, and all renamings of it."""
        frames = np.arange(len(self.frames))
        outcomes = self._outcomes.array[start : len(self._outcomes)].copy()
        emitted = self.emitted.array[emits_start : len(self.emitted)].copy()
        starts = frames * len(outcomes)
        if own:
            own_starts, counts, refused = np.array(own).T[:, :, np.newaxis]
            filled = np.stack(np.broadcast_arrays(own_starts + starts, counts, refused), axis=-1)
            self._cells[self._renamed_cells(cells), kernels.OWN_START :] = filled
        if values:
            entries = np.array(values)[:, np.newaxis] + (starts << 21)
            self.arrivals.enter(self._renamed_arrivals(arrivals).ravel().astype(np.uint64), entries.ravel())
        packets, to = emitted >> kernels.DISTANCE_BITS, emitted & kernels.DISTANCE
        for frame in frames[1:]:
            after = outcomes.copy()
            after[:, kernels.TO_CELL] = self._cell_numbers.after(outcomes[:, kernels.TO_CELL], frame)
            after[:, kernels.CODE] = self._codes.after(outcomes[:, kernels.CODE], frame)
            after[:, kernels.EMITS_START] += frame * len(emitted)
            self._outcomes.add(after)
            images = self._packet_numbers.after(packets, self._frames_at[frame, to])
            self.emitted.add(images << kernels.DISTANCE_BITS | self._images_of[frame, to])

    def _fill_own(self, cell: int) -> tuple[int, int, int]:
        """Computes a cell's own outcomes; returns their start and number, and the rules that refused sends exercise."""
        process, local, position = self.cells[cell]
        start = len(self._outcomes)
        if local is CRASHED:
            return start, 0, 0
        alike, calls, refused = self._comparison(), self.calls, 0
        for pending in self.workload.pending_sends(position, process):
            message = pending.message
            steps = calls.send(process, local, message)
            if not steps and self.exercised.left:
                refused |= self._exercised_by(Transition(process, local, "send", message))
            if alike is not None:
                alike.compare(local, steps, "sends a message", calls.send, message)
            for step in steps:
                self._outcome(cell, process, local, "send", step, pending.after, hands=message)
        if self._takes_own_steps:
            internal = calls.internal_that_ends(process, local)
            if alike is not None:
                alike.compare(local, internal, "takes internal steps", calls.internal)
            for name, step in internal:
                self._outcome(cell, process, local, name, step, position)
            if self.workload.ready_to_receive(position, process):
                given = calls.receive(process, local, self.workload.wanted_sender(position, process))
                if alike is not None:
                    alike.compare(local, given, "gives its application messages", calls.receive, None)
                if not given:
                    self.exercised.add(Transition(process, local, "deliver"))
                for step in given:
                    self._outcome(cell, process, local, "deliver", step, position)
        if process == self._may_crash:
            after = self.cell(process, CRASHED, position)
            self._outcomes.append(
                [after, kernels.CRASHES, 0, self._actions.number("crash"), len(self.emitted), 0, 0, 0]
            )
        self._most_own = max(self._most_own, len(self._outcomes) - start)
        return start, len(self._outcomes) - start, refused

    def _arrival(self, cell: int, number: int) -> int:
        process, local, position = self.cells[cell]
        packet = self.packets[number]
        start = len(self._outcomes)
        if local is CRASHED:
            return start << 21
        alike = self._comparison()
        steps = self._steps_on(process, local, packet)
        accepted = steps is not None
        if not accepted or self.exercised.awaits_release:
            known_as = self.packets[self._packet_numbers.first[number]]
            self.exercised.guard(process, local, packet, accepted=accepted, known_as=known_as)
        if alike is not None:
            alike.compare(local, steps, "handles a packet", self._steps_on, packet)
        of_kind, delivery = name_of_arrival(packet), ("deliver", packet.message)
        for step in steps or ():
            name = "deliver" if delivery in step.events else of_kind
            self._outcome(cell, process, local, name, step, position, packet=packet)
        count = len(self._outcomes) - start
        if self._channel == kernels.FIFO and not count:
            self._waits = True
        self._most_of_arrival = max(self._most_of_arrival, count)
        return start << 21 | count << 1 | accepted

    def _steps_on(self, process: int, local: Any, packet: Packet) -> Sequence[Step] | None:
        """The steps on the arrival of a packet; None if it is refused."""
        if not self.calls.deliverable(process, local, packet):
            return None
        return self.calls.on_packet(process, local, packet)

    def _comparison(self) -> Alike | None:
        """What compares the entry that is filled in now, if it is in the sample."""
        return self.alike if self.alike is not None and self.alike.begins() else None

    def _outcome(
        self,
        cell: int,
        process: int,
        local: Any,
        name: str,
        step: Step,
        position: Position,
        *,
        packet: Packet | None = None,
        hands: Message | None = None,
    ) -> None:
        """Tabulates an outcome, unless it delivers a message that the application does not want now."""
        flags = 0 if hands is None else kernels.SENDS_MESSAGE
        for event in step.events:
            if event.kind == "deliver":
                flags |= kernels.DELIVERED
                if self._app_selects:
                    position = self.workload.delivered(position, process, event.message)
                    if position is None:
                        return
        after = self.cell(process, step.state, position)
        emitted = []
        for sent in step.packets:
            number = self.packet(sent) if self.alike is None else self.alike.number_of(sent, self.packet)
            emitted.append((number, sent.destination))
        seen = self._seen[after]
        if self.exercised.left:
            given = (event.message for event in step.events if (name, event.kind) == ("deliver", "deliver"))
            message = hands or next(given, None) if packet is None else packet.message
            seen |= self._exercised_by(Transition(process, local, name, message, packet, step))
        taken = () if packet is None else (packet.kind,)
        first = self._cell_numbers.first
        self.ranks.step(first[cell], first[after], taken, tuple([sent.kind for sent in step.packets]))
        code = self._code(process, step.events if hands is None else (("hand", hands), *step.events))
        parts = (seen & (1 << kernels.LOW_BITS) - 1, seen >> kernels.LOW_BITS)
        self._outcomes.append([after, flags, code, self._actions.number(name), len(self.emitted), len(emitted), *parts])
        self.emitted.extend([number << kernels.DISTANCE_BITS | (to - process) % self.n for number, to in emitted])

    def _exercised_by(self, transition: Transition) -> int:
        """The rules that count once this transition is taken, as bits."""
        return sum([self._rules[rule] for rule in self.exercised.by(transition)])

    def _local(self) -> kernels.LocalTables:
        return kernels.LocalTables(
            self._cells.array,
            self.source.array,
            self.arrivals.table,
            self._outcomes.array,
            self.emitted.array,
            self._cell_numbers.renamed.array,
            self._packet_numbers.renamed.array,
            len(self.frames),
            self._channel,
            self.sites.bits,
        )

    def arrays(self) -> kernels.SiteTables:
        """The tables in the form that kernels read; unchanged until the next call."""
        return self.sites.arrays(self._outcomes.array, self.emitted.array, self.code_at.array)

    @property
    def senders(self) -> set[int]:
        """The processes whose protocol accepts a send in some state."""
        return set(range(self.n)) if self.shared and self.sites.senders else self.sites.senders

    @property
    def graded(self) -> bool:
        """True if every action so far adds one to a rank; a way through the hold-back queue takes a step more, and a
        crash leads to one state from many.
        """
        return self.ranks.graded and not self._waits and self._may_crash is None

    @property
    def acyclic(self) -> bool:
        """True if no run can come back to a state. Twice the rank, and one for each packet in the hold-back queue,
        always grows; a process crashes once, and then its packets in flight become fewer.
        """
        return self.ranks.graded

    def sizes(self) -> list[int]:
        """The count of numbers of each kind: the same for tables filled by the same code in the same order."""
        kinds = self.cells, self.packets, self.sites, self._outcomes, self._codes.first, self.monitor_states
        return [len(kind) for kind in kinds]

    def seen(self, cell: int) -> int:
        """The properties that a cell violates, and the witnesses that it satisfies, as bits."""
        return self._seen[cell]
