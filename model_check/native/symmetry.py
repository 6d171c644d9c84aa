"""Renamings of processes, and the check that processes declared alike are alike.

Processes that share tables are held as process 0 would see them, with every name shifted; symmetry reduction relies on
all renamings. Both are correct if a process acts on renamed values as process 0 acts on the originals, renamed. So each
input of a table entry is renamed in every way in which the entry is used, and the outcomes are compared.

A sample is compared: the first entries, and then one in `EVERY`, by their number, which a checkpoint keeps. On a
difference, `NotSymmetric` describes it, and the search starts again without sharing.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import permutations
from math import factorial
from operator import itemgetter
from random import Random
from typing import Any

from crownless.impl.protocol import AppEvent, Packet, Step, Transition
from crownless.impl.protocol_validation import WrongMachine
from crownless.impl.renaming import Renaming
from crownless.model_check.system.machine_calls import MachineCalls
from crownless.spec.computation import Message

#: The first entries are all compared, renamed ones included, or the first computed ones; after them one in `EVERY` is.
FIRST_ENTRIES, LEAST_FIRST = 500, 100
EVERY = 64
#: The maximum number of renamings under which an entry is compared.
MAX_COMPARED = 120
#: With at most this many renamings that leave process 0 in place, they give table entries without symmetry reduction.
MAX_FRAMES = 24
#: At most this many renamed values are remembered.
REMEMBERED = 20_000

#: Steps, or if they are internal, their names and these; None: the packet is refused.
Steps = Sequence[Step] | Sequence[tuple[str, Step]] | None


class NotSymmetric(Exception):
    """A protocol that declares its processes alike distinguishes them; the argument describes the difference seen."""


class Renamings:
    """Renamings of n processes: shifts, by which they share tables; those that leave process 0 in place, which
    derive most table entries from a few; and, with symmetry reduction (`symmetric`), all.
    """

    def __init__(self, n: int, *, shared: bool, symmetric: bool) -> None:
        self.shifts = [Renaming(tuple((k + i) % n for k in range(n))) for i in range(n)]
        derives = symmetric or (shared and factorial(n - 1) <= MAX_FRAMES)
        frames = [(0, *image) for image in permutations(range(1, n))] if derives else [tuple(range(n))]
        #: The renamings that leave process 0 in place.
        self.frames = [Renaming(image) for image in frames]
        number = {image: k for k, image in enumerate(frames)}
        #: [frame, frame]: the one after the other.
        self.then = [[number[tuple(b[k] for k in a)] for b in frames] for a in frames]
        #: Of each frame: from the images of a value under all frames, those of its own image.
        self.composed: list[Any] = [itemgetter(*numbers) for numbers in self.then] if len(frames) > 1 else [tuple]

        def frames_of(image: tuple[int, ...]) -> list[int]:
            """For each process the frame of its cells and packets."""
            return [number[tuple((image[(k + p) % n] - image[p]) % n for k in range(n))] for p in range(n)]

        every = list(permutations(range(n))) if derives else [tuple(range(n))]
        images = every if symmetric else [tuple(range(n))]
        #: [permutation]: where each process goes, then the process that comes to each place.
        self.permutations = [(*image, *(image.index(place) for place in range(n))) for image in images]
        self.all = [Renaming(image) for image in images]
        #: [permutation, or frame][process]: its own frame then.
        self.frames_by_permutation = [frames_of(image) for image in images]
        self.frames_by_frame = [frames_of(image) for image in frames]
        #: Renamings that generate all others that are used, with their inverses.
        exchange = [Renaming((0, 2, 1, *range(3, n)))] if derives and n > 2 else []
        self.there_and_back = [(renaming, Renaming(renaming.inverse)) for renaming in [*self.shifts[1:], *exchange]]
        #: The renamings that take a transition of process 0 to another that it stands for.
        self.of_transitions = [Renaming(image) for image in every][1:] if derives else self.shifts[1:]


class Alike:
    """The common values of processes that share tables, and the comparison of each of them with process 0."""

    def __init__(self, calls: MachineCalls, renamings: Renamings, evaluate: Callable[[int, Any], int]) -> None:
        self._calls = calls
        self._renamings = renamings
        #: The properties that a process violates and meets in a local state, as bits.
        self._evaluate = evaluate
        self.compares = True
        self._first = max(LEAST_FIRST, FIRST_ENTRIES // len(renamings.frames))
        #: The number of entries so far, and of those that were compared.
        self.entries = self.compared = 0
        #: The number of each packet, by the key of the packet as it really is.
        self._real_packets: dict[Hashable, int] = {}
        self._renamed = lru_cache(REMEMBERED)(calls.renamed)
        self._renamed_packet = lru_cache(REMEMBERED)(calls.renamed_packet)

    def begins(self) -> bool:
        """The next entry is filled in now; returns whether it is compared."""
        self.entries += 1
        self.compares = self.entries <= self._first or not self.entries % EVERY
        self.compared += self.compares
        return self.compares

    @property
    def _others(self) -> Sequence[Renaming]:
        """The renamings under which this entry is compared: all, but for a sample if they are very many."""
        every = self._renamings.of_transitions
        return every if len(every) <= MAX_COMPARED else Random(self.entries).sample(every, MAX_COMPARED)

    # -- values --------------------------------------------------------------------------------------------------------

    def new_cell(self, local: Any, seen: int) -> None:
        """Enters a new local state; `seen`: the properties that process 0 violates and meets there."""
        if self.compares:
            self._there_and_back(local, self._renamed, "`renamed`")
            self._compare_predicates(local, seen)

    def new_packet(self, packet: Packet) -> None:
        """Enters a new packet, to process 0."""
        if self.compares:
            self._there_and_back(packet, self._renamed_packet, "`renamed_stamp`")

    def _there_and_back(self, value: Any, rename: Callable[[Any, Renaming], Any], name: str) -> None:
        for renaming, inverse in self._renamings.there_and_back:
            back = rename(rename(value, renaming), inverse)
            if not self._calls.same_values(value, back):
                raise NotSymmetric(f"its {name} is not undone by the inverse renaming")

    def _compare_predicates(self, local: Any, seen: int) -> None:
        for renaming in self._others:
            process, image = renaming.image[0], self._renamed(local, renaming)
            with _failing(f"its methods on local states fail at P{process + 1}"):
                same = self._evaluate(process, image) == seen
            if not same:
                (name, *_) = sorted(self._said_of(0, local) ^ self._said_of(process, image))
                raise NotSymmetric(f"`{name}` holds at only one of P1 and P{process + 1}, in local states alike")

    def _said_of(self, process: int, local: Any) -> set[str]:
        return {*self._calls.invariants_violated(process, local), *self._calls.witnesses_met(process, local)}

    def number_of(self, packet: Packet, number: Callable[[Packet], int]) -> int:
        """The number of a packet as process 0 sends it; `number` gives that of a packet to process 0."""
        key = self._calls.key_of_packet(packet)
        known = self._real_packets.get(key)
        if known is None:
            destination = packet.destination
            seen = self._calls.renamed_packet(packet, self._renamings.shifts[-destination]) if destination else packet
            known = self._real_packets[key] = number(seen)
        return known

    def images_of(self, transition: Transition) -> Iterator[Transition]:
        """The transitions at other processes, or after a renaming, that one at process 0 stands for."""
        _, before, action, message, packet, step = transition
        for renaming in self._renamings.of_transitions:
            yield Transition(
                renaming.image[0],
                self._renamed(before, renaming),
                action,
                self._image(message, renaming),
                self._image(packet, renaming),
                None if step is None else self._renamed_step(step, renaming),
            )

    def _renamed_step(self, step: Step, renaming: Renaming) -> Step:
        return Step(
            self._renamed(step.state, renaming),
            [self._renamed_packet(packet, renaming) for packet in step.packets],
            [AppEvent(event.kind, renaming.message(event.message)) for event in step.events],
        )

    # -- comparisons ---------------------------------------------------------------------------------------------------

    def initial(self, locals_: Sequence[Any]) -> None:
        """Compares the local states in which the processes start."""
        for renaming in self._others:
            process = renaming.image[0]
            if not self._calls.same_values(self._renamed(locals_[0], renaming), locals_[process]):
                raise NotSymmetric(_differs(process, "starts"))

    def compare(self, local: Any, steps: Steps, does: str, call: Callable[..., Steps], *given: Any) -> None:
        """Compares the steps of process 0 in a local state, and on what is `given` (a message or a packet), with those
        that `call` gives for other processes: they must be the renamed ones, in any order.
        """
        for renaming in self._others:
            process, there = renaming.image[0], self._renamed(local, renaming)
            with _failing(f"P{process + 1} fails where P1 does not"):
                others = call(process, there, *(self._image(value, renaming) for value in given))
            if (steps is None) != (others is None):
                accepts = ("accepts", "refuses") if steps is None else ("refuses", "accepts")
                if process:
                    raise NotSymmetric(f"P{process + 1} {accepts[0]} a packet that P1 {accepts[1]}")
                raise NotSymmetric("whether P1 accepts a packet depends on the names of the others")
            left = [_named(other) for other in others or ()]
            for name, step in map(_named, steps or ()):
                image = self._renamed_step(step, renaming)
                same = [k for k, (named, other) in enumerate(left) if named == name and self._same(image, other)]
                if not same:
                    raise NotSymmetric(_differs(process, does))
                del left[same[0]]
            if left:
                raise NotSymmetric(_differs(process, does))

    def _image(self, value: Message | Packet | None, renaming: Renaming) -> Any:
        if isinstance(value, Packet):
            return self._renamed_packet(value, renaming)
        return None if value is None else renaming.message(value)

    def _same(self, one: Step, other: Step) -> bool:
        """True if two steps are the same. The order of packets on different links has no effect."""
        links = [sorted(step.packets, key=lambda packet: (packet.source, packet.destination)) for step in (one, other)]
        same = self._calls.same_values
        return (
            same(one.state, other.state)
            and same(tuple(links[0]), tuple(links[1]))
            and list(one.events) == list(other.events)
        )


def _named(step: Step | tuple[str, Step]) -> tuple[str, Step]:
    return ("", step) if isinstance(step, Step) else step


@contextmanager
def _failing(what: str) -> Iterator[None]:
    """Within it an error of the machine counts as a difference between processes."""
    try:
        yield
    except WrongMachine as error:
        raise NotSymmetric(f"{what}: {error.message}") from error


def _differs(process: int, does: str) -> str:
    return f"P{process + 1} {does} differently {'from P1' if process else 'if the others are renamed'}"
