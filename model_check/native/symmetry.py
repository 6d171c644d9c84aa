"""Whether processes are as alike as their protocol declares: what each does is compared with what process 0 does.

Processes that share tables are held as process 0 would see them. What a table number stands for at process p is its
*image*: the cell or packet of process 0 with every name shifted. The tables are right for all processes if

- images are as distinct as the numbers are;
- process p starts in the image of the cell in which process 0 starts, and breaks and meets there what process 0 does;
- of every entry that is used, process p does with the images what process 0 does, and gets the images of the outcomes.

For the last, each input of an entry is given to all processes. Symmetry reduction relies on all renamings in place of
the shifts alone, so each orbit of entries is compared under all of them. A protocol that is parametric in the names of
its processes (`crownless.impl.parametric`) treats them alike by construction: only what it says of local states is
compared.

Where something differs, `NotSymmetric` says what, and the search starts again without sharing anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from crownless.impl.protocol import Happened, Packet, Step
from crownless.impl.renaming import Renaming
from crownless.impl.workloads import Free, Position
from crownless.model_check.purity import Purity
from crownless.spec.computation import Message
from crownless.spec.errors import BadInput


class NotSymmetric(Exception):
    """A protocol that declares its processes alike tells them apart; the argument says where it was seen."""


class Outcome(NamedTuple):
    """A tabulated outcome at process 0, in numbers of the tables; only an internal step has a name."""

    name: str
    after: int
    #: (number of the packet, its destination)
    packets: Sequence[tuple[int, int]]
    events: Sequence[Happened]


class Comparison(NamedTuple):
    """A renaming under which entries are compared: process 0 becomes `process`."""

    process: int
    renaming: Renaming
    #: For the process at each place: the renaming, fixing process 0, by which its cells and packets are renamed.
    frames: Sequence[int]


class Alike:
    """The images of cells and packets, and the comparisons of entries."""

    def __init__(
        self,
        inputs: Purity,
        workload: Free,
        shifts: Sequence[Renaming],
        comparisons: Sequence[Comparison],
        *,
        parametric: bool,
    ) -> None:
        self._inputs = inputs
        self._workload = workload
        self._shifts = shifts
        self._comparisons = comparisons
        #: Need what the processes do not be compared?
        self.parametric = parametric
        self._judges = bool(inputs.machine.invariants or inputs.machine.witnesses)
        #: [number][process]: the local state there, the packet to there.
        self._locals: list[list[Any]] = []
        self._packets: list[list[Packet]] = []
        #: [number][renaming that fixes process 0]: what they become.
        self.cell_frames: list[Sequence[int]] = []
        self.packet_frames: list[Sequence[int]] = []
        #: (process, its local state, the position as process 0 sees it) → the number.
        self._known_locals: dict[tuple[int, Any, Position], int] = {}
        #: The number of each packet, as it really is.
        self.real_packets: dict[Packet, int] = {}
        self._compared: set[tuple[int, int]] = set()

    # -- images --------------------------------------------------------------------------------------------------------

    def new_cell(self, number: int, local: Any, position: Position, judged: tuple[tuple[str, ...], ...]) -> None:
        """A cell that got the next number; `judged` is what process 0 breaks and meets there."""
        if self.parametric and not self._judges:
            return
        rename = self._inputs.machine.renamed if self.parametric else self.renamed
        images = [local]
        for p, shift in enumerate(self._shifts[1:], 1):
            image = rename(local, shift)
            if not self.parametric:
                images.append(image)
                key = (p, image, position)
                if self._numbered(self._known_locals, key, number) != number:
                    raise NotSymmetric("its `renamed` makes one local state of two")
            if self._judges and (here := self._judged(p, image)) != judged:
                (name, *_) = sorted({*here[0], *here[1]} ^ {*judged[0], *judged[1]})
                raise NotSymmetric(f"`{name}` says of process {p + 1} what it does not say of process 1")
        self._locals.append(images)

    def _judged(self, p: int, local: Any) -> tuple[tuple[str, ...], ...]:
        try:
            return self._inputs.invariants_broken(p, local), self._inputs.witnesses_met(p, local)
        except BadInput:
            raise
        except Exception as error:
            raise NotSymmetric(f"what it says of local states fails at process {p + 1}: {_of(error)}") from error

    def new_packet(self, number: int, packet: Packet) -> None:
        """A packet, to process 0, that got the next number."""
        if self.parametric:
            return
        images = [packet, *(self.renamed_packet(packet, shift) for shift in self._shifts[1:])]
        for image in images:
            if self._numbered(self.real_packets, image, number) != number:
                raise NotSymmetric("its `renamed_stamp` makes one packet of two")
        self._packets.append(images)

    @staticmethod
    def _numbered(known: dict[Any, int], image: Any, number: int) -> int:
        """The number that an image had already, or has now."""
        try:
            return known.setdefault(image, number)
        except TypeError as error:
            raise NotSymmetric(f"what is renamed cannot be looked up: {error}") from error

    def number_of(self, packet: Packet, number: Callable[[Packet], int]) -> int:
        """The number of a packet as process 0 sends it; `number` gives that of a packet to process 0."""
        known = self.real_packets.get(packet)
        if known is not None:
            return known
        known = number(self.renamed_packet(packet, self._shifts[-packet.destination]) if packet.destination else packet)
        if self.real_packets.setdefault(packet, known) != known:
            raise NotSymmetric("its `renamed_stamp`, there and back, gives another packet")
        if not self.parametric and self._packets[known][packet.destination] != packet:
            raise NotSymmetric("its `renamed_stamp`, there and back, gives another packet")
        return known

    def known_cell(self, process: int, local: Any, position: Position) -> int:
        """The number of the cell whose image at a process this is; -1 if there is none."""
        position = self._workload.renamed(position, self._shifts[-process])
        return self._known_locals.get((process, local, position), -1)

    def renamed(self, local: Any, renaming: Renaming) -> Any:
        return self._image("renamed", self._inputs.renamed, local, renaming)

    def renamed_packet(self, packet: Packet, renaming: Renaming) -> Packet:
        image: Packet = self._image("renamed_stamp", self._inputs.renamed_packet, packet, renaming)
        return image

    def _image(self, method: str, rename: Callable[[Any, Renaming], Any], value: Any, renaming: Renaming) -> Any:
        try:
            image = rename(value, renaming)
        except BadInput:
            raise
        except Exception as error:
            raise NotSymmetric(f"its `{method}` cannot rename what it meets: {_of(error)}") from error
        return image

    # -- comparisons ---------------------------------------------------------------------------------------------------

    def initial(self, locals_: Sequence[Any]) -> None:
        """Compares the local states in which the processes start."""
        for process, renaming, _ in self._comparisons:
            if self.renamed(locals_[0], renaming) != locals_[process]:
                raise NotSymmetric(self._differs(process, "starts otherwise"))

    def own(self, cell: int, sends: Sequence[tuple[Message, Sequence[Outcome]]], *own: Sequence[Outcome]) -> None:
        """Compares what a process does that takes no packet in: of each message that it may send, then its internal
        steps and what it gives its application, unless it has neither.
        """
        if self.parametric or self._known(cell, -1):
            return
        for comparison in self._comparisons:
            process, renaming, frames = comparison
            local = self._locals[self.cell_frames[cell][frames[0]] if frames[0] else cell][process]
            for message, outcomes in sends:
                steps = self._made(process, self._inputs.send, local, renaming.message(message))
                if not self._same(comparison, outcomes, steps):
                    raise NotSymmetric(self._differs(process, "sends a message otherwise"))
            if own:
                named = self._made(process, self._inputs.internal, local)
                names, steps = [name for name, _ in named], [step for _, step in named]
                if not self._same(comparison, own[0], steps, names):
                    raise NotSymmetric(self._differs(process, "takes other steps by itself"))
                if not self._same(comparison, own[1], self._made(process, self._inputs.receive, local, None)):
                    raise NotSymmetric(self._differs(process, "gives its application other messages"))

    def arrival(self, cell: int, packet: int, outcomes: Sequence[Outcome] | None) -> None:
        """Compares what becomes of a packet that reaches a process; None: it is refused."""
        if self.parametric or self._known(cell, packet):
            return
        for comparison in self._comparisons:
            process, _, frames = comparison
            frame = frames[0]
            local = self._locals[self.cell_frames[cell][frame] if frame else cell][process]
            value = self._packets[self.packet_frames[packet][frame] if frame else packet][process]
            accepted = self._asked(process, self._inputs.accepts, local, value)
            if accepted != (outcomes is not None):
                does, other = ("accepts", "refuses") if accepted else ("refuses", "accepts")
                if process:
                    raise NotSymmetric(f"process {process + 1} {does} a packet that process 1 {other}")
                raise NotSymmetric("process 1 accepts a packet by the names in it")
            if outcomes is not None:
                steps = self._made(process, self._inputs.arrive, local, value)
                if not self._same(comparison, outcomes, steps):
                    raise NotSymmetric(self._differs(process, "takes a packet in otherwise"))

    def _known(self, cell: int, packet: int) -> bool:
        """Has an entry of the same orbit been compared? With shifts alone each entry is asked about once."""
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
        """Are the steps the images of the outcomes, in whatever order?"""
        if len(outcomes) != len(steps):
            return False
        if names is None and len(steps) == 1:
            return self._is_image(comparison, outcomes[0], steps[0])
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
        if self._locals[self.cell_frames[after][frame] if frame else after][process] != step.state:
            return False
        if len(step.packets) != len(packets) or len(step.events) != len(events):
            return False
        if packets:
            image = renaming.image
            expected = [
                self._packets[self.packet_frames[number][frames[to]] if frames[to] else number][image[to]]
                for number, to in packets
            ]
            found = list(step.packets)
            # Nobody can tell in which order packets travel on different links.
            if expected != found and sorted(expected, key=_link) != sorted(found, key=_link):
                return False
        return all(
            event.kind == known.kind and event.message == renaming.message(known.message)
            for event, known in zip(step.events, events, strict=True)
        )

    def _made(self, process: int, made: Callable[..., Any], *arguments: Any) -> list[Any]:
        try:
            return list(made(process, *arguments))
        except BadInput:
            raise
        except Exception as error:
            raise NotSymmetric(f"process {process + 1} fails where process 1 does not: {_of(error)}") from error

    def _asked(self, process: int, guard: Callable[..., Any], local: Any, packet: Packet) -> bool:
        try:
            return bool(guard(process, local, packet))
        except BadInput:
            raise
        except Exception as error:
            raise NotSymmetric(f"process {process + 1} fails where process 1 does not: {_of(error)}") from error

    @staticmethod
    def _differs(process: int, what: str) -> str:
        if process:
            return f"process {process + 1} {what} than process 1"
        return f"process 1 {what} if the others are renamed"


def _link(packet: Packet) -> tuple[int, int]:
    return packet.source, packet.destination


def _of(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
