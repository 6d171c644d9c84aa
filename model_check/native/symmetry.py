"""The check of declared symmetry: each process's transitions are compared with those of process 0.

Processes that share tables are held as process 0 would see them. What a table number stands for at process p is its
*image*: the cell or packet of process 0 with every name shifted. The tables are right for all processes if

- images are as distinct as the numbers are;
- process p starts in the image of the cell in which process 0 starts, and breaks and meets there what process 0 does;
- of every entry that is used, process p does with the images what process 0 does, and gets the images of the outcomes.

For the last, each input of an entry is given to all processes. Symmetry reduction relies on all renamings in place of
the shifts alone, so each orbit of entries is compared under all of them. A protocol that is parametric in the names of
its processes (`crownless.impl.parametric`) treats them alike by construction: only those of its predicates on local
states that are not parametric are compared, and what becomes of values that are longer than was seen.

Of very large tables a sample is compared: the first entries, and then one in so many, by their number. What is compared
thus follows from the order in which the entries were filled in, which a checkpoint keeps. Images are made where they
are first needed.

Where something differs, `NotSymmetric` says what, and the search starts again without sharing anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from crownless.impl.parametric import Parametric
from crownless.impl.protocol import AppEvent, Packet, Step, Transition
from crownless.impl.renaming import Renaming
from crownless.impl.workloads import Free, Position
from crownless.model_check.purity import Inputs, Purity
from crownless.model_check.values import distinguishable_parts
from crownless.spec.computation import Message
from crownless.spec.errors import BadInput
from crownless.spec.printable import error_line

from .frames import Comparison

#: So many entries are all compared, and of those that follow one in so many.
FIRST_ENTRIES = 10_000
EVERY = 16
#: So many renamed values of each kind are remembered, for each renaming.
REMEMBERED = 10_000

#: What no local state is.
NOWHERE: Any = object()

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
        canary: Purity,
        evaluate: Callable[[int, Any], int] | None,
        workload: Free,
        cells: Sequence[tuple[int, Any, Position]],
        packets: Sequence[Packet],
        shifts: Sequence[Renaming],
        comparisons: Sequence[Comparison],
        *,
        parametric: Parametric | None,
    ) -> None:
        self._canary = canary
        #: What a process breaks and meets in a local state, as bits; None if there is nothing of the kind.
        self._evaluate = evaluate
        #: By what the entry is filled in that is filled in now.
        self.inputs: Inputs = canary
        self._workload = workload
        self._cells, self._tabulated = cells, packets
        self._shifts = shifts
        self._comparisons = comparisons
        #: Of which values it is known that what the processes do need not be compared; None: of none any more.
        self._alike_by_construction = parametric
        #: True while an entry is filled in that is compared.
        self._compares = True
        #: Entries so far, and those of them that were compared.
        self.entries = self.compared = 0
        #: [number][process]: the local state there, the packet to there; None: not made yet.
        self._locals: list[list[Any] | None] = []
        self._packets: list[list[Packet] | None] = []
        #: The images of each local state at process 0.
        self._of_local: dict[Any, list[Any]] = {}
        #: [number][renaming that fixes process 0]: what they become.
        self.cell_frames: list[Sequence[int]] = []
        self.packet_frames: list[Sequence[int]] = []
        #: [process]: its local state → that at process 0.
        self._known_locals: list[dict[Any, Any]] = [{} for _ in shifts]
        #: The number of each packet, as it really is, and the packet as it was first met.
        self.real_packets: dict[Packet, tuple[int, Packet]] = {}
        self._compared: set[tuple[int, int]] = set()
        #: [place among the comparisons]: what was renamed lately whose rules are examined.
        self._renamed_locals: list[dict[Any, Any]] = [{} for _ in comparisons]
        self._renamed_packets: list[dict[Packet, Packet]] = [{} for _ in comparisons]

    @property
    def parametric(self) -> bool:
        """True if what the processes do need not be compared."""
        return self._alike_by_construction is not None

    def begins(self, entry: int, inputs: Inputs) -> bool:
        """The entry of that number, from 1 on, is filled in by these inputs now; returns whether it is compared."""
        self.inputs = inputs
        self.entries = entry
        if self._alike_by_construction is not None:
            return False
        self._compares = entry <= FIRST_ENTRIES or not entry % EVERY
        self.compared += self._compares
        return self._compares

    # -- images --------------------------------------------------------------------------------------------------------

    def new_cell(self, number: int, local: Any, seen: int) -> None:
        """A cell that got the next number; `seen` is what process 0 breaks and meets there."""
        known = self._known_of(local, number, len(self._tabulated))
        if known is None:
            self._locals.append(self._images_of_local(local, seen) if self._compares else None)
        elif known.unlike:
            self._evaluate_all([local, *(self.renamed(local, shift) for shift in self._shifts[1:])], seen)

    def _known_of(self, value: Any, cells: int, packets: int) -> Parametric | None:
        """The facts known of the machine, while they are known of every value that is met; so many were met before."""
        known = self._alike_by_construction
        if known is not None and not known.covers(value):
            # From here on entries are compared; images of what there is are made where they are needed.
            known = self._alike_by_construction = None
            self._locals += [None] * cells
            self._packets += [None] * packets
        return known

    def _local(self, cell: int, process: int) -> Any:
        """The local state of which the cell is the one at process 0."""
        images = self._locals[cell]
        if images is None:
            local = self._cells[cell][1]
            seen = 0 if self._evaluate is None else self._evaluate(0, local)
            images = self._locals[cell] = self._images_of_local(local, seen)
        return images[process]

    def _images_of_local(self, local: Any, seen: int) -> list[Any]:
        images = self._of_local.get(local)
        if images is None:
            images = self._of_local[local] = [local]
            for process, shift in enumerate(self._shifts[1:], 1):
                image = self.renamed(local, shift)
                if self._known_as(self._known_locals[process], image, local) is not local:
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
            except BadInput:
                raise
            except Exception as error:
                failure = f"what it says of local states fails at process {process + 1}: {error_line(error)}"
                raise NotSymmetric(failure) from error
            if not same:
                (name, *_) = sorted(self._said_of(0, images[0]) ^ self._said_of(process, image))
                raise NotSymmetric(f"`{name}` says of process {process + 1} what it does not say of process 1")

    def _said_of(self, process: int, local: Any) -> set[str]:
        return {*self._canary.invariants_broken(process, local), *self._canary.witnesses_met(process, local)}

    def new_packet(self, number: int, packet: Packet) -> None:
        """A packet, to process 0, that got the next number."""
        if self._known_of(packet.stamp, len(self._cells), number) is None:
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
            if self._known_as(self.real_packets, image, (number, image))[0] != number:
                raise NotSymmetric("its `renamed_stamp` makes one packet of two")
        return images

    @staticmethod
    def _known_as(known: dict[Any, T], image: Any, now: T) -> T:
        """The value under which an image is known, or else `now`."""
        try:
            return known.setdefault(image, now)
        except TypeError as error:
            raise NotSymmetric(f"what is renamed cannot be looked up: {error}") from error

    def number_of(self, packet: Packet, number: Callable[[Packet], int]) -> int:
        """The number of a packet as process 0 sends it; `number` gives that of a packet to process 0."""
        destination = packet.destination
        if self._alike_by_construction is not None:
            if destination:
                packet = self.inputs.renamed_packet(packet, self._shifts[-destination])
            return number(packet)
        known = self.real_packets.get(packet)
        if known is not None:
            number_of, first = known
            if distinguishable_parts(first.stamp, packet.stamp) is not None or (
                self._compares and not self._are_alike(self._packet(number_of, destination), packet)
            ):
                raise NotSymmetric("a packet equals another, for which it would be taken, and can be distinguished")
            return number_of
        now = number(self.renamed_packet(packet, self._shifts[-destination]) if destination else packet)
        if self.real_packets.setdefault(packet, (now, packet))[0] != now or (
            self._compares and not self._are_alike(self._packet(now, destination), packet)
        ):
            raise NotSymmetric("its `renamed_stamp`, there and back, gives another packet")
        return now

    def seen_by_process_0(self, process: int, local: Any) -> Any:
        """The local state at process 0 of which this is the image at a process; one that does not occur if none is."""
        if self.parametric:
            return self.inputs.renamed(local, self._shifts[-process])
        found = self._known_locals[process].get(local, NOWHERE)
        if found is NOWHERE and self.compared < self.entries:
            return self.renamed(local, self._shifts[-process])
        return found

    def known_packet(self, packet: Packet, number: Callable[[Packet], int]) -> int:
        """The number of a packet that occurs; `number` gives that of one to process 0."""
        if not self.parametric:
            known, _ = self.real_packets.get(packet, (-1, None))
            if known >= 0 or self.compared == self.entries:
                return known
        return number(self.renamed_packet(packet, self._shifts[-packet.destination]))

    def renamed(self, local: Any, renaming: Renaming) -> Any:
        return self.inputs.renamed(local, renaming)

    def renamed_packet(self, packet: Packet, renaming: Renaming) -> Packet:
        return self.inputs.renamed_packet(packet, renaming)

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
            if not self._are_alike(self.renamed(locals_[0], renaming), locals_[process]):
                raise NotSymmetric(self._differs(process, "starts otherwise"))

    def own(self, cell: int, sends: Sequence[tuple[Message, Sequence[Outcome]]], *own: Sequence[Outcome]) -> None:
        """Compares what a process does that takes no packet in: of each message that it may send, then its internal
        steps and what it gives its application, unless it has neither.
        """
        if self._known(cell, -1):
            return
        inputs = self.inputs
        for comparison in self._comparisons:
            process, renaming, frames = comparison
            local = self._local(self.cell_frames[cell][frames[0]] if frames[0] else cell, process)
            try:
                sent = [list(inputs.send(process, local, renaming.message(message))) for message, _ in sends]
                named = list(inputs.internal(process, local)) if own else []
                given = list(inputs.receive(process, local, None)) if own else []
            except BadInput:
                raise
            except Exception as error:
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
        inputs = self.inputs
        for comparison in self._comparisons:
            process, _, frames = comparison
            frame = frames[0]
            local = self._local(self.cell_frames[cell][frame] if frame else cell, process)
            value = self._packet(self.packet_frames[packet][frame] if frame else packet, process)
            try:
                accepted = bool(inputs.deliverable(process, local, value))
                steps = list(inputs.on_packet(process, local, value)) if accepted and outcomes is not None else []
            except BadInput:
                raise
            except Exception as error:
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
        if not self._are_alike(self._local(self.cell_frames[after][frame] if frame else after, process), step.state):
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
            if not self._are_alike(expected, found) and not self._are_alike(*in_one_order):
                return False
        for event, known in zip(step.events, events, strict=True):
            if event.kind != known.kind or event.message != renaming.message(known.message):
                return False
        return True

    @staticmethod
    def _are_alike(one: Any, other: Any) -> bool:
        """True if they are equal, and no process can distinguish them."""
        return bool(one == other) and distinguishable_parts(one, other) is None

    @staticmethod
    def _fails(process: int, error: Exception) -> NotSymmetric:
        return NotSymmetric(f"process {process + 1} fails where process 1 does not: {error_line(error)}")

    @staticmethod
    def _differs(process: int, what: str) -> str:
        if process:
            return f"process {process + 1} {what} than process 1"
        return f"process 1 {what} if the others are renamed"


def _link(packet: Packet) -> tuple[int, int]:
    return packet.source, packet.destination
