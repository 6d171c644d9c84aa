"""The local machine, interned and tabulated: filled by Python, looked up by the kernels.

A *cell* is the state of a process: the local state of its protocol and the position of its application. Cells and
packets are numbered as they first occur, and each local transition is computed once, by the protocol's own Python.

Processes that differ only by name share their tables: then a cell is held as process 0 would see it, with every name
shifted, and a packet as its destination would see it if that were process 0. Only packets need be renamed for that.
With symmetry reduction the renamings that leave process 0 in place are tabulated too.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from crownless.impl.protocol import Packet, ProtocolMachine, Step, Transition, name_of_arrival
from crownless.impl.workloads import Free, Position, Workload
from crownless.model_check.system.machine_calls import MachineCalls
from crownless.model_check.system.rules import Exercised
from crownless.model_check.system.system import CRASHED
from crownless.spec.computation import Message

from . import kernels
from .columns import Column, Map
from .monitor_states import MonitorStates
from .ranks import Ranks
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
        #: The number of the entry that is filled in now.
        self._entry = 0
        self.workload = workload
        self.monitor_states = monitor_states
        self.n = n = machine.n
        self.shared = shared
        self._channel = channel
        self._may_crash = may_crash
        self.ranks = Ranks()
        #: True if a packet may go to the hold-back queue.
        self._waits = False
        #: The rules exercised so far.
        self.exercised = Exercised(self.calls, self._images if shared else None)
        self._invariants, self._witnesses, self._rules = invariants, witnesses, rules
        base, own = ProtocolMachine, type(machine)
        self._takes_own_steps = own.internal is not base.internal or own.receive is not base.receive
        self._choosy = not workload.takes_anything
        self.renamings = renamings = Renamings(n, symmetric=symmetric)
        self._shifts, self.frames = renamings.shifts, renamings.fixing_0
        self.cells: list[tuple[int, Any, Position]] = []
        self.packets: list[Packet] = []
        #: The common values of processes that share the tables, and whether they share them.
        self.alike = Alike(self.calls, renamings, self._evaluate) if shared else None
        #: [number][renaming that leaves process 0 in place]: the renamed cells and packets.
        self.cell_frames: list[Sequence[int]] = []
        self.packet_frames: list[Sequence[int]] = []
        self._cell_numbers: dict[CellKey, int] = {}
        self._packet_numbers: dict[Hashable, int] = {}
        self.actions: list[str] = list(CHANNEL_ACTIONS)
        self._action_numbers: dict[str, int] = {name: k for k, name in enumerate(self.actions)}
        self._codes: dict[tuple[Any, ...], int] = {}
        self._cells = Column(kernels.CELL_COLUMNS)
        self._outcomes = Column(kernels.OUTCOME_COLUMNS, np.int32)
        self._seen: list[int] = []
        #: Of what cells the own outcomes are known since `arrays`: where they start, how many they are, and the rules
        #: that the refused sends exercise.
        self._own: list[tuple[int, int, int, int]] = []
        self.cell_renamed = Column()
        self.source, self.packet_renamed = Column(), Column()
        self.arrivals = Map()
        self.emitted, self.code_at = Column(), Column()
        self.code_at.extend([0] * n)
        #: The computed misses, in order: they determine all numbers.
        self.log: list[Any] = []
        #: The maximum numbers of internal outcomes of a cell, of outcomes of an arrival, and of packets in a step.
        self.most_own = self.most_of_arrival = self.most_emitted = 0
        start = workload.start()
        locals_ = [self.calls.initial(i) for i in range(n)]
        if self.alike is not None:
            self.alike.initial(locals_)
            self.initial = [self.cell(0, locals_[0], start)] * n
        else:
            self.initial = [self.cell(i, local, start) for i, local in enumerate(locals_)]
        for cell in self.initial:
            self.ranks.start(cell)

    def frame_of(self, process: int) -> int:
        """The process that represents this one in the tables."""
        return 0 if self.shared else process

    # -- numbering -----------------------------------------------------------------------------------------------------

    def cell(self, process: int, local: Any, position: Position) -> int:
        """The number of a cell of this process of the tables."""
        key = self._key(process, local, position)
        number = self._cell_numbers.get(key)
        if number is None:
            number = self._new_cell(key, local)
            if len(self.frames) > 1:
                self._close_cells(number)
        return number

    def _key(self, process: int, local: Any, position: Position) -> CellKey:
        return process, local if local is CRASHED else self.calls.key(local), position

    def _new_cell(self, key: CellKey, local: Any) -> int:
        process, _, position = key
        number = self._cell_numbers[key] = len(self.cells)
        self.cells.append((process, local, position))
        made = sum(position) if self.workload.takes_anything else 0
        if local is CRASHED:
            seen, flags = 0, kernels.FINISHED | kernels.CRASHED
        else:
            seen = self._evaluate(process, local)
            flags = kernels.READY_TO_RECEIVE * self.workload.ready_to_receive(position, process)
            flags |= kernels.FINISHED * self.workload.at_end(position, process)
        self._seen.append(seen)
        self._cells.append([made, flags, seen, number, 0, -1, 0])
        self.cell_renamed.extend([number] * len(self.frames))
        if self.alike is not None:
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

    def _close_cells(self, number: int) -> None:
        """Numbers all renamings of the cell."""
        _, local, position = self.cells[number]
        assert isinstance(self.workload, Free)
        assert self.alike is not None
        images = [number]
        for renaming in self.frames[1:]:
            of_image = self.alike.renamed(local, renaming)
            key = (0, self.calls.key(of_image), self.workload.renamed(position, renaming))
            image = self._cell_numbers.get(key)
            images.append(self._new_cell(key, of_image) if image is None else image)
        self._close(number, images, self.cell_renamed, self.cell_frames)
        for image in images:
            if self._seen[image] != self._seen[number]:
                raise NotSymmetric("what it says of a local state of process 1 depends on the names of the others")
            self._cells[image, kernels.ORBIT] = min(images)

    def _close(self, number: int, images: list[int], renamed: Column, known: list[Sequence[int]]) -> None:
        """Enters what all images can be renamed to; they must be new, and renaming one after the other one renaming."""
        frames = len(self.frames)
        rows: dict[int, list[int]] = {}
        for by, image in enumerate(images):
            row = [images[then] for then in self.renamings.composed[by]]
            if image < number or rows.setdefault(image, row) != row:
                raise NotSymmetric("its `renamed` and `renamed_stamp` are no renamings: two do not make one")
        for image, row in sorted(rows.items()):
            assert image == len(known), "images are numbered one after the other"
            known.append(row)
            renamed[image * frames : (image + 1) * frames] = row

    def known_cell(self, process: int, local: Any, position: Position) -> int:
        """The number of a process's cell, given as in `system.System`; -1 if it has not occurred."""
        position = self.workload.alone(position, process)
        if self.alike is not None and process:
            assert isinstance(self.workload, Free)
            local = self.alike.seen_by_process_0(process, local)
            position = self.workload.renamed(position, self._shifts[-process])
        return self._cell_numbers.get(self._key(self.frame_of(process), local, position), -1)

    def known_packet(self, packet: Packet) -> int:
        """The number of a packet, likewise."""
        if self.alike is not None and packet.destination:
            packet = self.alike.renamed_packet(packet, self._shifts[-packet.destination])
        return self._packet_numbers.get(self.calls.key_of_packet(packet), -1)

    def packet(self, packet: Packet) -> int:
        """The number of a packet, as held in the tables."""
        key = self.calls.key_of_packet(packet)
        number = self._packet_numbers.get(key)
        if number is None:
            number = self._new_packet(packet, key)
            if len(self.frames) > 1:
                assert self.alike is not None
                images = [number]
                for renaming in self.frames[1:]:
                    other = self.alike.renamed_packet(packet, renaming)
                    key = self.calls.key_of_packet(other)
                    image = self._packet_numbers.get(key)
                    images.append(self._new_packet(other, key) if image is None else image)
                self._close(number, images, self.packet_renamed, self.packet_frames)
        return number

    def _new_packet(self, packet: Packet, key: Hashable) -> int:
        number = self._packet_numbers[key] = len(self.packets)
        self.packets.append(packet)
        if self._channel == kernels.LOSSY:
            self.ranks.by_channel((packet.kind,), ())
        elif self._channel == kernels.DUPLICATING:
            self.ranks.by_channel((packet.kind,), (packet.kind, packet.kind))
        self.source.append((packet.source - packet.destination) % self.n)
        self.packet_renamed.extend([number] * len(self.frames))
        if self.alike is not None:
            self.alike.new_packet(packet)
        return number

    def _action(self, name: str) -> int:
        number = self._action_numbers.get(name)
        if number is None:
            number = self._action_numbers[name] = len(self.actions)
            self.actions.append(name)
        return number

    def _code(self, process: int, observations: Sequence[tuple[str, Message]]) -> int:
        """The number of the events that monitors observe at the process in this place; 0: none."""
        if not observations:
            return 0
        key = (process, *observations)
        number = self._codes.get(key)
        if number is None:
            number = self._codes[key] = len(self._codes) + 1
            for p in range(self.n):
                if self.shared:
                    shift = self._shifts[p]
                    events = [(kind, p, shift.message(message)) for kind, message in observations]
                elif p == process:
                    events = [(kind, p, message) for kind, message in observations]
                else:
                    events = []
                self.code_at.append(self.monitor_states.code(events))
        return number

    # -- local transitions ---------------------------------------------------------------------------------------------

    def fill(self, misses: Any) -> None:
        """Computes the missing entries."""
        self.log.append(misses)
        kinds = misses >> np.uint64(62)
        keys = misses & np.uint64((1 << 62) - 1)
        for cell in (keys[kinds == kernels.MISS_OWN] >> np.uint64(32)).tolist():
            self._fill_own(cell)
        missing = keys[kinds == kernels.MISS_ARRIVAL]
        if len(missing):
            values = [self._arrival(key >> 32, key & 0xFFFFFFFF) for key in missing.tolist()]
            self.arrivals.enter(missing, np.array(values, np.int64))
        self.monitor_states.fill(keys[kinds == kernels.MISS_MONITOR_STATE])
        self.monitor_states.rename(keys[kinds == kernels.MISS_RENAMED_MONITOR_STATE], self.renamings.all)

    def _begin_entry(self) -> Alike | None:
        """The comparison of the next entry, if there is one."""
        self._entry += 1
        alike = self.alike
        return alike if alike is not None and alike.begins(self._entry) else None

    def _fill_own(self, cell: int) -> None:
        process, local, position = self.cells[cell]
        start = len(self._outcomes)
        if local is CRASHED:
            self._own.append((cell, start, 0, 0))
            return
        alike = self._begin_entry()
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
            self._outcomes.append([after, kernels.CRASHES, 0, self._action("crash"), len(self.emitted), 0, 0, 0])
        self._own.append((cell, start, len(self._outcomes) - start, refused))
        self.most_own = max(self.most_own, len(self._outcomes) - start)
        if alike is not None:
            alike.own(local, sends, internal, given)

    def _arrival(self, cell: int, number: int) -> int:
        process, local, position = self.cells[cell]
        packet = self.packets[number]
        start = len(self._outcomes)
        if local is CRASHED:
            return start << 21
        alike = self._begin_entry()
        accepted = self.calls.deliverable(process, local, packet)
        if not accepted or self.exercised.awaits_release:
            frames = self.packet_frames[number] if len(self.frames) > 1 else (number,)
            self.exercised.guard(process, local, packet, accepted=accepted, known_as=self.packets[min(frames)])
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
        self.most_of_arrival = max(self.most_of_arrival, count)
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
        flags = 0 if hands is None else kernels.HANDS
        for event in step.events:
            if event.kind == "deliver":
                flags |= kernels.DELIVERED
                if self._choosy:
                    position = self.workload.delivered(position, process, event.message)
                    if position is None:
                        return
        after = self.cell(process, step.state, position)
        emitted, kinds = [], []
        for sent in step.packets:
            number = self.packet(sent) if self.alike is None else self.alike.number_of(sent, self.packet)
            emitted.append((number, sent.destination))
            kinds.append(sent.kind)
        exercised = 0
        if self.exercised.left:
            given = (event.message for event in step.events if (name, event.kind) == ("deliver", "deliver"))
            message = hands or next(given, None) if packet is None else packet.message
            exercised = self._exercised_by(Transition(process, local, name, message, packet, step))
        self.ranks.step(cell, after, () if packet is None else (packet.kind,), tuple(kinds))
        if len(self.frames) > 1:
            self.ranks.same(self.cell_frames[after])
        code = self._code(process, step.events if hands is None else (("hand", hands), *step.events))
        rules = (exercised & (1 << kernels.LOW_BITS) - 1, exercised >> kernels.LOW_BITS)
        self._outcomes.append([after, flags, code, self._action(name), len(self.emitted), len(emitted), *rules])
        self.emitted.extend([number << kernels.PROCESS_BITS | (to - process) % self.n for number, to in emitted])
        self.most_emitted = max(self.most_emitted, len(emitted))

    def _exercised_by(self, transition: Transition) -> int:
        """The rules that count once this transition is taken, as bits."""
        exercised = 0
        for rule in self.exercised.by(transition):
            exercised |= self._rules[rule]
        return exercised

    def _images(self, transition: Transition) -> Iterator[Transition]:
        assert self.alike is not None
        return self.alike.images_of(transition)

    def arrays(self) -> kernels.Tables:
        """The tables in the form that kernels read; later entries do not change these."""
        cells = self._cells.array
        if self._own:
            filled = np.array(self._own)
            cells[filled[:, 0], kernels.OWN_START] = filled[:, 1]
            cells[filled[:, 0], kernels.OWN_COUNT] = filled[:, 2]
            cells[filled[:, 0], kernels.REFUSED] = filled[:, 3]
            self._own.clear()
        return kernels.Tables(
            cells,
            self.cell_renamed.array,
            self.source.array,
            self.packet_renamed.array,
            self.arrivals.table,
            self._outcomes.array,
            self.emitted.array,
            self.code_at.array,
        )

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
        return [len(self.cells), len(self.packets), len(self._outcomes), len(self._codes), len(self.monitor_states)]

    def seen(self, cell: int) -> int:
        """The properties that a cell violates, and the witnesses that it satisfies, as bits."""
        return self._seen[cell]
