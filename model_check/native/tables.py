"""The local machine, interned and tabulated: filled by Python, looked up by the kernels.

A *cell* is the state of a process: the local state of its protocol and the position of its application. Cells and
packets are numbered as they first occur, and each local transition is computed once, by the protocol's own Python.

Processes that differ only by name share their tables: then a cell is held as process 0 would see it, with every name
shifted, and a packet as its destination would see it if that were process 0. Only packets need be renamed for that.
With symmetry reduction the renamings that leave process 0 in place are tabulated too.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from crownless.impl.protocol import Packet, ProtocolMachine, Step, Transition, name_of_arrival
from crownless.impl.workloads import Free, Position, Workload
from crownless.model_check.system.machine_calls import MachineCalls
from crownless.model_check.system.rules import Exercised
from crownless.model_check.system.system import CRASHED
from crownless.model_check.system.values import Interner
from crownless.spec.computation import Message

from . import kernels
from .columns import Column, Map, distinct
from .monitor_states import MonitorStates
from .ranks import Ranks
from .sites import Sites
from .symmetry import Alike, NotSymmetric, Renamings

#: Where an action is the channel's own, or waiting: they come first among the names of actions.
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
        self.calls = MachineCalls(machine, workload.has)
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
        self._choosy = not workload.takes_anything
        self.renamings = renamings = Renamings(n, shared=shared, symmetric=symmetric)
        self._shifts, self.frames = renamings.shifts, renamings.fixing_0
        self._frames_at = np.array(renamings.frame_fixing_0)
        self._images_of = np.array([renaming.image for renaming in self.frames])
        self.constants = kernels.SearchConstants(
            n,
            channel,
            workload.messages if workload.takes_anything else 1 << 40,
            workload.takes_anything,
            self._takes_own_steps or may_crash is not None,
            False,
            np.array(renamings.permutations, np.int64),
            np.array(renamings.frame, np.int64),
            -1 if may_crash is None else may_crash,
        )
        self.sites = Sites(channel, renamings.then if symmetric else [[0]])
        self.cells: list[tuple[int, Any, Position]] = []
        self.packets: list[Packet] = []
        #: The common values of processes that share the tables, and whether they share them.
        self.alike = Alike(self.calls, renamings, self._evaluate) if shared else None
        #: The rules exercised so far.
        self.exercised = Exercised(self.calls, None if self.alike is None else self.alike.images_of)
        #: Of each cell and packet: the first of its renamings that leave process 0 in place.
        self._orbits: list[int] = []
        self._packet_orbits: list[int] = []
        self._cell_numbers: dict[CellKey, int] = {}
        self._packet_numbers: dict[Hashable, int] = {}
        self._actions = Interner(CHANNEL_ACTIONS)
        self.actions: list[str] = self._actions.values
        self._codes: dict[tuple[Any, ...], int] = {(): 0}
        self._renamed_positions: dict[tuple[Position, int], Position] = {}
        self._cells = Column(kernels.CELL_COLUMNS)
        self._outcomes = Column(kernels.OUTCOME_COLUMNS, np.int32)
        self._seen: list[int] = []
        #: By the kind of miss: what was computed, by the least of its renamings.
        self._known: dict[int, set[int]] = {kernels.MISS_OWN: set(), kernels.MISS_ARRIVAL: set()}
        self.cell_renamed, self.packet_renamed, self.code_renamed = Column(), Column(), Column()
        self.source = Column()
        self.arrivals = Map()
        self.emitted, self.code_at = Column(), Column()
        self.code_at.extend([0] * n)
        self.code_renamed.extend([0] * len(self.frames))
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
        key = self._key(process, local, position)
        number = self._cell_numbers.get(key)
        if number is None:
            number = self._new_cell(key, local, len(self.cells))
            others = (self._renamed_cell(local, position, frame) for frame in range(1, len(self.frames)))
            self._close(number, others, self._cell_numbers, self._new_cell, self.cell_renamed)
        return number

    def _renamed_cell(self, local: Any, position: Position, frame: int) -> tuple[CellKey, Any]:
        """A cell as it is after a renaming that leaves process 0 in place."""
        renaming = self.frames[frame]
        renamed = self._renamed_positions.get((position, frame))
        if renamed is None:
            assert isinstance(self.workload, Free)
            renamed = self._renamed_positions[position, frame] = self.workload.renamed(position, renaming)
        image = self.calls.renamed(local, renaming)
        return (0, self.calls.key(image), renamed), image

    def _key(self, process: int, local: Any, position: Position) -> CellKey:
        return process, local if local is CRASHED else self.calls.key(local), position

    def _new_cell(self, key: CellKey, local: Any, orbit: int) -> int:
        """Numbers a cell; `orbit`: the number of the first of its renamings."""
        process, _, position = key
        number = self._cell_numbers[key] = len(self.cells)
        self.cells.append((process, local, position))
        self._orbits.append(orbit)
        made = sum(position) if self.workload.takes_anything else 0
        if local is CRASHED:
            seen, flags = 0, kernels.FINISHED | kernels.CRASHED
        else:
            known = self.alike is not None and not self.alike.compares and orbit < number
            seen = self._seen[orbit] if known else self._evaluate(process, local)
            flags = kernels.READY_TO_RECEIVE * self.workload.ready_to_receive(position, process)
            flags |= kernels.FINISHED * self.workload.at_end(position, process)
        self._seen.append(seen)
        if self._seen[orbit] != seen:
            raise NotSymmetric("what it says of a local state of P1 depends on the names of the others")
        self._cells.append([made, flags, process, 0, -1, 0])
        if self.alike is not None and orbit == number:
            self.alike.new_cell(local, seen)
        return number

    def _evaluate(self, process: int, local: Any) -> int:
        """The properties that a local state violates, and the witnesses that it satisfies, as bits."""
        seen = 0
        for name in self.calls.invariants_broken(process, local):
            seen |= self._invariants[name]
        for name in self.calls.witnesses_met(process, local):
            seen |= self._witnesses[name]
        return seen

    def _close(
        self,
        number: int,
        others: Iterable[tuple[Any, Any]],
        numbers: dict[Any, int],
        new: Callable[[Any, Any, int], int],
        renamed: Column,
    ) -> None:
        """Numbers all renamings of what is new, given by keys and values; enters what each is renamed to."""
        if len(self.frames) == 1:
            renamed.append(number)
            return
        images = [number]
        for key, other in others:
            image = numbers.get(key)
            images.append(new(key, other, number) if image is None else image)
        rows: dict[int, Sequence[int]] = {}
        for image, follow in zip(images, self.renamings.composed, strict=True):
            row = follow(images)
            if image < number or rows.setdefault(image, row) != row:
                raise NotSymmetric("its `renamed` and `renamed_stamp` are no renamings: two do not make one")
        for image, row in rows.items():
            assert image * len(row) == len(renamed), "images are numbered one after the other"
            renamed.extend(row)

    def known_site(self, process: int, local: Any, position: Position, packets: Iterable[tuple[Packet, bool]]) -> int:
        """The number of a process's site, given as in `system.System`, in order, with the marks of the packets in
        flight to it; -1 if its cell or a packet has not occurred.
        """
        shift = self._shifts[-process] if self.alike is not None else None
        position = self.workload.alone(position, process)
        if shift is not None:
            assert isinstance(self.workload, Free)
            local, position = self.calls.renamed(local, shift), self.workload.renamed(position, shift)
        cell = self._cell_numbers.get(self._key(0 if self.shared else process, local, position), -1)
        slots = []
        for packet, marked in packets:
            seen = packet if shift is None else self.calls.renamed_packet(packet, shift)
            number = self._packet_numbers.get(self.calls.key_of_packet(seen), -1)
            if number < 0:
                return -1
            slots.append(number << 1 | marked)
        return -1 if cell < 0 else self.sites.number(cell, slots, self._local())

    def packet(self, packet: Packet) -> int:
        """The number of a packet, as held in the tables."""
        key = self.calls.key_of_packet(packet)
        number = self._packet_numbers.get(key)
        if number is None:
            number = self._new_packet(key, packet, len(self.packets))
            others = (self.calls.renamed_packet(packet, renaming) for renaming in self.frames[1:])
            images = ((self.calls.key_of_packet(other), other) for other in others)
            self._close(number, images, self._packet_numbers, self._new_packet, self.packet_renamed)
        return number

    def _new_packet(self, key: Hashable, packet: Packet, orbit: int) -> int:
        number = self._packet_numbers[key] = len(self.packets)
        self.packets.append(packet)
        self._packet_orbits.append(orbit)
        if self._channel == kernels.LOSSY:
            self.ranks.by_channel((packet.kind,), ())
        elif self._channel == kernels.DUPLICATING:
            self.ranks.by_channel((packet.kind,), (packet.kind, packet.kind))
        self.source.append((packet.source - packet.destination) % self.n)
        if self.alike is not None and orbit == number:
            self.alike.new_packet(packet)
        return number

    def _code(self, process: int, observations: Sequence[tuple[str, Message]]) -> int:
        """The number of the events that monitors observe at the process in this place; 0: none."""
        key = (process, *observations) if observations else ()
        number = self._codes.get(key)
        if number is None:
            number = self._new_code(key, observations, len(self._codes))
            others = (
                [(kind, renaming.message(message)) for kind, message in observations] for renaming in self.frames[1:]
            )
            images = (((process, *other), other) for other in others)
            self._close(number, images, self._codes, self._new_code, self.code_renamed)
        return number

    def _new_code(self, key: tuple[Any, ...], observations: Sequence[tuple[str, Message]], _orbit: int) -> int:
        number = self._codes[key] = len(self._codes)
        for p in range(self.n):
            events = []
            if self.shared:
                events = [(kind, p, self._shifts[p].message(message)) for kind, message in observations]
            elif p == key[0]:
                events = [(kind, p, message) for kind, message in observations]
            self.code_at.append(self.monitor_states.code(events))
        return number

    # -- local transitions ---------------------------------------------------------------------------------------------

    def fill(self, misses: Any) -> None:
        """Computes the missing entries."""
        self.log.append(misses)
        kinds = misses >> np.uint64(62)
        keys = misses & np.uint64((1 << 62) - 1)
        self.sites.send_to(keys[kinds == kernels.MISS_SENT_TO], self._local())
        listed = keys[kinds == kernels.MISS_MOVES]
        self.sites.list_moves(listed, self.constants, self._local, self._fill_local, self._most_moves)
        self.monitor_states.fill(keys[kinds == kernels.MISS_MONITOR_STATE])
        self.monitor_states.rename(keys[kinds == kernels.MISS_RENAMED_MONITOR_STATE], self.renamings.all)

    def _most_moves(self, slots: int) -> int:
        return self._most_own + slots * (self._most_of_arrival + 3)

    def _fill_local(self, misses: Any) -> None:
        """Computes missing local transitions."""
        kinds = misses >> np.uint64(62)
        keys = misses & np.uint64((1 << 62) - 1)
        outcomes, emitted = len(self._outcomes), len(self.emitted)
        own = [self._fill_own(key >> 32) for key in self._least(keys[kinds == kernels.MISS_OWN], kernels.MISS_OWN)]
        arrivals = self._least(keys[kinds == kernels.MISS_ARRIVAL], kernels.MISS_ARRIVAL)
        values = [self._arrival(key >> 32, key & 0xFFFFFFFF) for key in arrivals]
        self._enter(outcomes, emitted, own, arrivals, values)

    def _renamed_keys(self, keys: Any, kind: int) -> Any:
        """[key, frame]: the keys (cell · 2³² + packet), in each renaming that leaves process 0 in place."""
        frames = np.arange(len(self.frames))
        renamed = self.cell_renamed.array[(keys >> 32)[:, np.newaxis] * len(frames) + frames] << 32
        if kind == kernels.MISS_ARRIVAL:
            renamed |= self.packet_renamed.array[(keys & 0xFFFFFFFF)[:, np.newaxis] * len(frames) + frames]
        return renamed

    def _least(self, keys: Any, kind: int) -> list[int]:
        """The least renaming of each key, without duplicates and without those computed before."""
        known = self._known[kind]
        least = distinct(self._renamed_keys(keys.astype(np.int64), kind).min(axis=1)).tolist()
        new = [key for key in least if key not in known]
        known.update(new)
        return new

    def _enter(self, start: int, emits_start: int, own: list[Any], arrivals: list[int], values: list[int]) -> None:
        """Enters what was computed, with the outcomes and emitted packets from these on, and all renamings of it."""
        frames = np.arange(len(self.frames))
        outcomes = self._outcomes.array[start : len(self._outcomes)].copy()
        emitted = self.emitted.array[emits_start : len(self.emitted)].copy()
        starts = frames * len(outcomes)
        if own:
            cells, own_starts, counts, refused = np.array(own).T[:, :, np.newaxis]
            renamed = self._renamed_keys(cells[:, 0] << 32, kernels.MISS_OWN) >> 32
            filled = np.stack(np.broadcast_arrays(own_starts + starts, counts, refused), axis=-1)
            self._cells[renamed, kernels.OWN_START :] = filled
        if arrivals:
            renamed = self._renamed_keys(np.array(arrivals), kernels.MISS_ARRIVAL)
            entries = np.array(values)[:, np.newaxis] + (starts << 21)
            self.arrivals.enter(renamed.ravel().astype(np.uint64), entries.ravel())
        packets, to = emitted >> kernels.DISTANCE_BITS, emitted & kernels.DISTANCE
        for frame in frames[1:]:
            after = outcomes.copy()
            after[:, kernels.TO_CELL] = self.cell_renamed.array[outcomes[:, kernels.TO_CELL] * len(frames) + frame]
            after[:, kernels.CODE] = self.code_renamed.array[outcomes[:, kernels.CODE] * len(frames) + frame]
            after[:, kernels.EMITS_START] += frame * len(emitted)
            self._outcomes.add(after)
            of_packet = self._frames_at[frame, to]
            images = self.packet_renamed.array[packets * len(frames) + of_packet]
            self.emitted.add(images << kernels.DISTANCE_BITS | self._images_of[frame, to])

    def _fill_own(self, cell: int) -> tuple[int, int, int, int]:
        """Computes a cell's own outcomes; returns it, their start and number, the rules that refused sends exercise."""
        process, local, position = self.cells[cell]
        start = len(self._outcomes)
        if local is CRASHED:
            return cell, start, 0, 0
        alike = self.alike if self.alike is not None and self.alike.begins() else None
        sends: list[tuple[Message, Sequence[Step]]] = []
        internal: Sequence[tuple[str, Step]] = ()
        given: Sequence[Step] = ()
        refused = 0
        for pending in self.workload.pending_sends(position, process):
            message = pending.message
            steps = self.calls.send(process, local, message)
            if not steps and self.exercised.left:
                refused |= self._exercised_by(Transition(process, local, "send", message))
            sends.append((message, steps))
            for step in steps:
                self._outcome(cell, process, local, "send", step, pending.after, hands=message)
        if self._takes_own_steps:
            internal = self.calls.internal_that_ends(process, local)
            for name, step in internal:
                self._outcome(cell, process, local, name, step, position)
            if self.workload.ready_to_receive(position, process):
                given = self.calls.receive(process, local, self.workload.wanted_sender(position, process))
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
        if alike is not None:
            alike.own(local, sends, internal, given)
        return cell, start, len(self._outcomes) - start, refused

    def _arrival(self, cell: int, number: int) -> int:
        process, local, position = self.cells[cell]
        packet = self.packets[number]
        start = len(self._outcomes)
        if local is CRASHED:
            return start << 21
        alike = self.alike if self.alike is not None and self.alike.begins() else None
        accepted = self.calls.deliverable(process, local, packet)
        if not accepted or self.exercised.awaits_release:
            known_as = self.packets[self._packet_orbits[number]]
            self.exercised.guard(process, local, packet, accepted=accepted, known_as=known_as)
        steps: Sequence[Step] | None = None
        if accepted:
            steps = self.calls.on_packet(process, local, packet)
            of_kind, delivery = name_of_arrival(packet), ("deliver", packet.message)
            for step in steps:
                name = "deliver" if delivery in step.events else of_kind
                self._outcome(cell, process, local, name, step, position, packet=packet)
        if alike is not None:
            alike.arrival(local, packet, steps)
        count = len(self._outcomes) - start
        if self._channel == kernels.FIFO and not count:
            self._waits = True
        self._most_of_arrival = max(self._most_of_arrival, count)
        return start << 21 | count << 1 | accepted

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
                if self._choosy:
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
        self.ranks.step(self._orbits[cell], self._orbits[after], taken, tuple([sent.kind for sent in step.packets]))
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
            self.cell_renamed.array,
            self.packet_renamed.array,
            len(self.frames),
            self._channel,
            self.sites.bits,
        )

    def arrays(self) -> kernels.Tables:
        """The tables in the form that kernels read; later entries do not change these."""
        return self.sites.arrays(self._outcomes.array, self.emitted.array, self.code_at.array)

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
        kinds = self.cells, self.packets, self.sites, self._outcomes, self._codes, self.monitor_states
        return [len(kind) for kind in kinds]

    def seen(self, cell: int) -> int:
        """The properties that a cell violates, and the witnesses that it satisfies, as bits."""
        return self._seen[cell]
