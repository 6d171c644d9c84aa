"""The check of declared symmetry: each process's transitions are compared with those of process 0.

Processes that share tables are held as process 0 would see them. What a table number stands for at process p is its
*image*: the cell or packet of process 0 with every name shifted. The tables are right for all processes if

- images are as distinct as the numbers are;
- process p starts in the image of the cell in which process 0 starts, and breaks and meets there what process 0 does;
- of every entry that is used, process p does with the images what process 0 does, and gets the images of the outcomes.

For the last, each input of an entry is given to all processes. Symmetry reduction relies on all renamings in place of
the shifts alone, so each orbit of entries is compared under all of them.

Of very large tables a sample is compared: the first entries, and then one in so many, by their number. What is compared
thus follows from the order in which the entries were filled in, which a checkpoint keeps. Images are made where they
are first needed.

Where something differs, `NotSymmetric` says what, and the search starts again without sharing anything.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from crownless.impl.protocol import AppEvent, Packet, Step, Transition
from crownless.impl.protocol_validation import WrongMachine
from crownless.impl.renaming import Renaming
from crownless.impl.workloads import Free, Position
from crownless.model_check.machine_calls import MachineCalls
from crownless.model_check.values import same_values
from crownless.spec.computation import Message

from .frames import Comparison

#: The first entries are all compared, up to this many comparisons; of those that follow one in EVERY is.
FIRST_COMPARISONS = 10_000
EVERY = 16
#: So many renamed values of each kind are remembered, for each renaming.
REMEMBERED = 10_000

T = TypeVar("T")


class NotSymmetric(Exception):
    """A protocol that declares its processes alike distinguishes them; the argument says where it was seen."""


class Outcome(NamedTuple):
    """A tabulated outcome at process 0, in numbers of the tables; only an internal step has a name."""

    name: str
    after: int
    #: (number of the packet, its destination)
    packets: Sequence[tuple[int, int]]
    events: Sequence[AppEvent]


class Alike:
    """The images of cells and packets, and the comparisons of entries."""

    def __init__(
        self,
        calls: MachineCalls,
        evaluate: Callable[[int, Any], int] | None,
        workload: Free,
        cells: Sequence[tuple[int, Any, Position]],
        packets: Sequence[Packet],
        shifts: Sequence[Renaming],
        comparisons: Sequence[Comparison],
    ) -> None:
        self._calls = calls
        #: What a process breaks and meets in a local state, as bits; None if there is nothing of the kind.
        self._evaluate = evaluate
        self._workload = workload
        self._cells, self._tabulated = cells, packets
        self._shifts = shifts
        self._comparisons = comparisons
        self._first_entries = FIRST_COMPARISONS // max(1, len(comparisons))
        #: True while an entry is filled in that is compared.
        self._compares = True
        #: Entries so far, and those of them that were compared.
        self.entries = self.compared = 0
        #: [number][process]: the local state there, the packet to there; None: not made yet.
        self._locals: list[list[Any] | None] = []
        self._packets: list[list[Packet] | None] = []
        #: The images of each local state at process 0, by its key.
        self._of_local: dict[Hashable, list[Any]] = {}
        #: [number][renaming that fixes process 0]: what they become.
        self.cell_frames: list[Sequence[int]] = []
        self.packet_frames: list[Sequence[int]] = []
        #: [process]: the key of its local state → the key of that at process 0.
        self._known_locals: list[dict[Hashable, Hashable]] = [{} for _ in shifts]
        #: The number of each packet, by the key of the packet as it really is.
        self._real_packets: dict[Hashable, int] = {}
        self._compared: set[tuple[int, int]] = set()
        #: [place among the comparisons]: what was renamed lately whose rules are examined.
        self._renamed_locals: list[dict[Any, Any]] = [{} for _ in comparisons]
        self._renamed_packets: list[dict[Packet, Packet]] = [{} for _ in comparisons]

    def begins(self, entry: int) -> bool:
        """The entry of that number, from 1 on, is filled in now; returns whether it is compared."""
        self.entries = entry
        self._compares = entry <= self._first_entries or not entry % EVERY
        self.compared += self._compares
        return self._compares

    # -- images --------------------------------------------------------------------------------------------------------

    def new_cell(self, number: int, local: Any, seen: int) -> None:
        """A cell that got the next number; `seen` is what process 0 breaks and meets there."""
        self._locals.append(self._images_of_local(local, seen) if self._compares else None)

    def _local(self, cell: int, process: int) -> Any:
        """The local state of which the cell is the one at process 0."""
        images = self._locals[cell]
        if images is None:
            local = self._cells[cell][1]
            seen = 0 if self._evaluate is None else self._evaluate(0, local)
            images = self._locals[cell] = self._images_of_local(local, seen)
        return images[process]

    def _images_of_local(self, local: Any, seen: int) -> list[Any]:
        key = self._calls.key(0, local)
        images = self._of_local.get(key)
        if images is None:
            images = self._of_local[key] = [local]
            for process, shift in enumerate(self._shifts[1:], 1):
                image = self.renamed(local, shift)
                if self._known_locals[process].setdefault(self._calls.key(process, image), key) != key:
                    raise NotSymmetric("its `renamed` makes one local state of two")
                images.append(image)
            if self._evaluate is not None:
                self._evaluate_all(images, seen)
        return images

    def _evaluate_all(self, images: Sequence[Any], seen: int) -> None:
        assert self._evaluate is not None
        for process, image in enumerate(images[1:], 1):
            try:
                same = self._evaluate(process, image) == seen
            except WrongMachine as error:
                raise self._fails(process, error) from error
            if not same:
                (name, *_) = sorted(self._said_of(0, images[0]) ^ self._said_of(process, image))
                raise NotSymmetric(f"`{name}` says of process {process + 1} what it does not say of process 1")

    def _said_of(self, process: int, local: Any) -> set[str]:
        return {*self._calls.invariants_broken(process, local), *self._calls.witnesses_met(process, local)}

    def new_packet(self, number: int, packet: Packet) -> None:
        """A packet, to process 0, that got the next number."""
        self._packets.append(self._images_of_packet(number, packet) if self._compares else None)

    def _packet(self, number: int, process: int) -> Packet:
        """The packet to that process of which this is the one to process 0."""
        images = self._packets[number]
        if images is None:
            images = self._packets[number] = self._images_of_packet(number, self._tabulated[number])
        return images[process]

    def _images_of_packet(self, number: int, packet: Packet) -> list[Packet]:
        images = [packet, *(self.renamed_packet(packet, shift) for shift in self._shifts[1:])]
        for image in images:
            if self._real_packets.setdefault(self._calls.key_of_packet(image), number) != number:
                raise NotSymmetric("its `renamed_stamp` makes one packet of two")
        return images

    def number_of(self, packet: Packet, number: Callable[[Packet], int]) -> int:
        """The number of a packet as process 0 sends it; `number` gives that of a packet to process 0."""
        key = self._calls.key_of_packet(packet)
        known = self._real_packets.get(key)
        if known is None:
            known = number(self.seen_by_process_0(packet))
            if self._real_packets.setdefault(key, known) != known:
                raise NotSymmetric("its `renamed_stamp`, there and back, gives another packet")
        if self._compares and not same_values(self._packet(known, packet.destination), packet):
            raise NotSymmetric("its `renamed_stamp`, there and back, gives another packet")
        return known

    def seen_by_process_0(self, packet: Packet) -> Packet:
        """The packet to process 0 of which this is the image."""
        return self.renamed_packet(packet, self._shifts[-packet.destination]) if packet.destination else packet

    def renamed(self, local: Any, renaming: Renaming) -> Any:
        return self._calls.renamed(local, renaming)

    def renamed_packet(self, packet: Packet, renaming: Renaming) -> Packet:
        return self._calls.renamed_packet(packet, renaming)

    def images_of(self, transition: Transition) -> Iterator[Transition]:
        """The transitions at the other processes, or after a renaming, for which one at process 0 stands."""
        _, before, action, message, packet, step = transition
        for place, (process, renaming, _) in enumerate(self._comparisons):
            yield Transition(
                process,
                self._local_after(place, before),
                action,
                None if message is None else renaming.message(message),
                None if packet is None else self._packet_after(place, packet),
                None if step is None else self._step_after(place, step),
            )

    def _step_after(self, place: int, step: Step) -> Step:
        message = self._comparisons[place].renaming.message
        return Step(
            self._local_after(place, step.state),
            [self._packet_after(place, packet) for packet in step.packets],
            [AppEvent(event.kind, message(event.message)) for event in step.events],
        )

    def _local_after(self, place: int, local: Any) -> Any:
        """The local state after the renaming at that place among those by which entries are compared."""
        return self._once(self._renamed_locals[place], self.renamed, local, place)

    def _packet_after(self, place: int, packet: Packet) -> Packet:
        return self._once(self._renamed_packets[place], self.renamed_packet, packet, place)

    def _once(self, known: dict[T, T], rename: Callable[[T, Renaming], T], value: T, place: int) -> T:
        image = known.get(value)
        if image is None:
            if len(known) >= REMEMBERED:
                known.clear()
            image = known[value] = rename(value, self._comparisons[place].renaming)
        return image

    # -- comparisons ---------------------------------------------------------------------------------------------------

    def initial(self, locals_: Sequence[Any]) -> None:
        """Compares the local states in which the processes start."""
        for process, renaming, _ in self._comparisons:
            if not same_values(self.renamed(locals_[0], renaming), locals_[process]):
                raise NotSymmetric(self._differs(process, "starts otherwise"))

    def own(self, cell: int, sends: Sequence[tuple[Message, Sequence[Outcome]]], *own: Sequence[Outcome]) -> None:
        """Compares what a process does that takes no packet in: of each message that it may send, then its internal
        steps and what it gives its application, unless it has neither.
        """
        if self._known(cell, -1):
            return
        calls = self._calls
        for comparison in self._comparisons:
            process, renaming, frames = comparison
            local = self._local(self.cell_frames[cell][frames[0]] if frames[0] else cell, process)
            try:
                sent = [list(calls.send(process, local, renaming.message(message))) for message, _ in sends]
                named = list(calls.internal(process, local)) if own else []
                given = list(calls.receive(process, local, None)) if own else []
            except WrongMachine as error:
                raise self._fails(process, error) from error
            for steps, (_, outcomes) in zip(sent, sends, strict=True):
                if not self._same(comparison, outcomes, steps):
                    raise NotSymmetric(self._differs(process, "sends a message otherwise"))
            if own:
                if not self._same(comparison, own[0], [step for _, step in named], [name for name, _ in named]):
                    raise NotSymmetric(self._differs(process, "takes other steps by itself"))
                if not self._same(comparison, own[1], given):
                    raise NotSymmetric(self._differs(process, "gives its application other messages"))

    def arrival(self, cell: int, packet: int, outcomes: Sequence[Outcome] | None) -> None:
        """Compares what becomes of a packet that reaches a process; None: it is refused."""
        if self._known(cell, packet):
            return
        calls = self._calls
        for comparison in self._comparisons:
            process, _, frames = comparison
            frame = frames[0]
            local = self._local(self.cell_frames[cell][frame] if frame else cell, process)
            value = self._packet(self.packet_frames[packet][frame] if frame else packet, process)
            try:
                accepted = calls.deliverable(process, local, value)
                steps = list(calls.on_packet(process, local, value)) if accepted and outcomes is not None else []
            except WrongMachine as error:
                raise self._fails(process, error) from error
            if accepted != (outcomes is not None):
                does, other = ("accepts", "refuses") if accepted else ("refuses", "accepts")
                if process:
                    raise NotSymmetric(f"process {process + 1} {does} a packet that process 1 {other}")
                raise NotSymmetric("process 1 accepts a packet by the names in it")
            if outcomes is not None and not self._same(comparison, outcomes, steps):
                raise NotSymmetric(self._differs(process, "takes a packet in otherwise"))

    def _known(self, cell: int, packet: int) -> bool:
        """True if an entry of the same orbit has been compared. With shifts alone each entry is compared once."""
        if not self.cell_frames:
            return False
        if (cell, packet) in self._compared:
            return True
        packets = self.packet_frames[packet] if packet >= 0 else (-1,) * len(self.cell_frames[cell])
        self._compared.update(zip(self.cell_frames[cell], packets, strict=True))
        return False

    def _same(
        self,
        comparison: Comparison,
        outcomes: Sequence[Outcome],
        steps: Sequence[Step],
        names: Sequence[str] | None = None,
    ) -> bool:
        """True if the steps are the images of the outcomes, in any order."""
        if len(outcomes) != len(steps):
            return False
        if len(steps) <= 1:
            return not steps or (
                (names is None or names[0] == outcomes[0].name) and self._is_image(comparison, outcomes[0], steps[0])
            )
        left = list(zip(names or [""] * len(steps), steps, strict=True))
        for outcome in outcomes:
            for place, (name, step) in enumerate(left):
                if name == outcome.name and self._is_image(comparison, outcome, step):
                    del left[place]
                    break
            else:
                return False
        return True

    def _is_image(self, comparison: Comparison, outcome: Outcome, step: Step) -> bool:
        process, renaming, frames = comparison
        _, after, packets, events = outcome
        frame = frames[0]
        if not same_values(self._local(self.cell_frames[after][frame] if frame else after, process), step.state):
            return False
        if len(step.packets) != len(packets) or len(step.events) != len(events):
            return False
        if packets:
            image = renaming.image
            expected = tuple(
                self._packet(self.packet_frames[number][frames[to]] if frames[to] else number, image[to])
                for number, to in packets
            )
            found = tuple(step.packets)
            # The order of packets on different links has no effect.
            in_one_order = (tuple(sorted(packets, key=_link)) for packets in (expected, found))
            if not same_values(expected, found) and not same_values(*in_one_order):
                return False
        for event, known in zip(step.events, events, strict=True):
            if event.kind != known.kind or event.message != renaming.message(known.message):
                return False
        return True

    @staticmethod
    def _fails(process: int, error: WrongMachine) -> NotSymmetric:
        return NotSymmetric(f"process {process + 1} fails where process 1 does not: {error.message}")

    @staticmethod
    def _differs(process: int, what: str) -> str:
        if process:
            return f"process {process + 1} {what} than process 1"
        return f"process 1 {what} if the others are renamed"


def _link(packet: Packet) -> tuple[int, int]:
    return packet.source, packet.destination
