"""Machines whose packets look alike, and a second derivation of which of them a step takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

import crownless as cr
from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.model_check.system.system import LocalStep, State, System
from crownless.spec.computation import Message


class Acks(NamedTuple):
    """What a process has had: messages, and the second acknowledgement before the first."""

    had: int = 0
    swapped: bool = False


class Acknowledging(cr.Protocol):
    """Receivers acknowledge, by packets that differ in their stamps alone."""

    promises = "asynchronous"
    bound = (2, 2)
    invariants = {"the-first-ack-comes-first": lambda self, i, state: not state.swapped}

    def initial(self, i: int) -> Acks:
        return Acks()

    def send(self, i: int, state: Acks, message: Message) -> Sequence[Step]:
        return [cr.Step(state, [cr.Packet(i, message.receiver, "data", message)], [cr.sent(message)])]

    def on_packet(self, i: int, state: Acks, packet: Packet) -> Sequence[Step]:
        if packet.kind == "data":
            ack = cr.Packet(i, packet.source, "ack", None, state.had + 1)
            return [cr.Step(state._replace(had=state.had + 1), [ack], [cr.delivered(packet.message)])]
        return [cr.Step(state._replace(swapped=packet.stamp == 2, had=0))]


class Fragments(cr.Protocol):
    """A message goes out in two fragments, by stamps 1 and 2, and is delivered once both are there."""

    promises = "asynchronous"
    bound = (2, 1)
    invariants = {"fragment-1-comes-first": lambda self, i, state: state[:1] != (2,)}
    stamps: tuple[int, int] = (1, 2)

    def initial(self, i: int) -> tuple[int, ...]:
        return ()

    def send(self, i: int, state: tuple[int, ...], message: Message) -> Sequence[Step]:
        out = [cr.Packet(i, message.receiver, "fragment", message, stamp) for stamp in self.stamps]
        return [cr.Step(state, out, [cr.sent(message)])]

    def on_packet(self, i: int, state: tuple[int, ...], packet: Packet) -> Sequence[Step]:
        return [cr.Step((*state, packet.stamp), [], [cr.delivered(packet.message)] if state else [])]


class EqualFragments(Fragments):
    """The same without stamps that tell them apart."""

    stamps = (0, 0)
    invariants = {}


class Guarded(Fragments):
    """Equal fragments that are held back until the process has sent something itself."""

    stamps = (0, 0)
    invariants = {}
    bound = (2, 2)

    def send(self, i: int, state: tuple[int, ...], message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [step._replace(state=(*state, 7))]

    def deliverable(self, i: int, state: tuple[int, ...], packet: Packet) -> bool:
        return 7 in state


class Chatter(ProtocolMachine):
    """Transmits, holds back and answers at random, as its seed determines, by packets most of which look alike."""

    promises = "asynchronous"
    seed = 0

    def chance(self, *situation: object) -> Random:
        return Random(repr((self.seed, situation)))

    def initial(self, i: int) -> int:
        return 0

    def packets(self, i: int, to: int, message: Any, chance: Random) -> list[Packet]:
        alike = sorted((chance.choice("aab"), chance.random() < 0.5) for _ in range(chance.choice((1, 2, 2, 3))))
        stamps: list[Any] = [None, 1, 1, (1, 2)]
        return [Packet(i, to, kind, message if carries else None, chance.choice(stamps)) for kind, carries in alike]

    def send(self, i: int, state: int, message: Message) -> Sequence[Step]:
        out = self.packets(i, message.receiver, message, self.chance("send", i, state))
        return [Step((state + 1) % 3, out, [cr.sent(message)])]

    def deliverable(self, i: int, state: int, packet: Packet) -> bool:
        return self.chance("guard", i, state, packet.source, packet.kind).random() < 0.7

    def on_packet(self, i: int, state: int, packet: Packet) -> Sequence[Step]:
        chance = self.chance("packet", i, state, packet.kind, packet.stamp)
        out = self.packets(i, packet.source, packet.message, chance) if chance.random() < 0.3 else []
        return [Step(chance.randrange(3), out)]


def chatter(seed: int) -> type[Chatter]:
    return type(f"Chatter{seed}", (Chatter,), {"seed": seed})


class Sent(NamedTuple):
    """A packet that was transmitted: its number on its link, and its number among all of its sender."""

    packet: Packet
    number: int
    of_sender: int


class Simulation:
    """The packets of a run, each by itself: (which, whether it is in a hold-back queue or a copy). The step that is
    taken is not consulted but for its action: what it took is whatever leads to the flight afterwards.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        #: More than one if the flight does not show which of two copies is in the hold-back queue.
        self.possible: list[list[tuple[Sent, bool, bool]]] = [[]]
        self.on_link: Counter[tuple[int, int]] = Counter()
        self.by_sender: Counter[int] = Counter()

    def follow(self, step: LocalStep, target: State) -> list[Sent]:
        """The packets that the step may have taken, the first transmitted first; and the first was."""
        takes = step.action.packet is not None
        outcomes = [each for one in self.possible for each in (self._outcomes(step, one) if takes else [(None, one)])]
        new = [self._sent(packet) for packet in self.system.transmitted(step)]
        wanted = self.system.flight(target)
        results = [(taken, [*after, *((sent, False, False) for sent in new)]) for taken, after in outcomes]
        fits = [(taken, after) for taken, after in results if self._is(after, wanted)]
        assert fits, "the simulation follows every step"
        first = min((taken.number for taken, _ in fits if taken is not None), default=None)
        self.possible = []
        for taken, after in fits:
            if (taken is None or taken.number == first) and after not in self.possible:
                self.possible.append(after)
        return list(dict.fromkeys(taken for taken, _ in fits if taken is not None))

    def _outcomes(
        self, step: LocalStep, in_flight: list[tuple[Sent, bool, bool]]
    ) -> Iterator[tuple[Sent, list[tuple[Sent, bool, bool]]]]:
        """What the flight may be after each packet with this content is taken."""
        action = step.action
        fifo = type(self.system.channel).__name__.lower().endswith("fifo")
        for k, (sent, queued, copy) in enumerate(in_flight):
            if sent.packet != action.packet:
                continue
            before, after = in_flight[:k], in_flight[k + 1 :]
            first = not any(_link(one.packet) == _link(sent.packet) and not waits for one, waits, _ in before)
            if fifo and not queued and not first:
                continue
            if action.by_channel and action.name == "duplicate":
                if not queued and not copy:
                    yield sent, [*before, (sent, False, True), (sent, False, True), *after]
            elif action.name == "receive" and not action.by_channel:
                if not queued:
                    yield sent, [*before, *after, (sent, True, copy)]
            elif not (action.by_channel and fifo and queued):
                yield sent, [*before, *after]

    def _is(self, model: list[tuple[Sent, bool, bool]], wanted: list[tuple[Packet, bool]]) -> bool:
        """True if these are the packets of that flight: in any order, or in this order on each link."""
        fifo = type(self.system.channel).__name__.lower().endswith("fifo")
        if not fifo:
            return Counter((sent.packet, copy) for sent, _, copy in model) == Counter(wanted)
        links = {_link(sent.packet) for sent, *_ in model} | {_link(packet) for packet, _ in wanted}
        ordered = sorted(model, key=lambda each: each[1])  # the hold-back queue comes last
        marked = [(sent.packet, queued or copy) for sent, queued, copy in ordered]
        return all(
            [each for each in marked if _link(each[0]) == link] == [each for each in wanted if _link(each[0]) == link]
            for link in links
        )

    def _sent(self, packet: Packet) -> Sent:
        self.on_link[_link(packet)] += 1
        self.by_sender[packet.source] += 1
        return Sent(packet, self.on_link[_link(packet)], self.by_sender[packet.source])


def _link(packet: Packet) -> tuple[int, int]:
    return packet.source, packet.destination


class AlikeToTwo(cr.Protocol):
    """P1 transmits a to P2, then b and a to P3; P3 counts its packets."""

    promises = "asynchronous"
    bound = (3, 1)
    invariants = {"p3-gets-one-packet": lambda self, i, state: state < 2}

    def initial(self, i: int) -> int:
        return 0

    def send(self, i: int, state: int, message: cr.Message) -> list[cr.Step]:
        packets = [cr.Packet(i, to, kind) for kind, to in (("a", 1), ("b", 2), ("a", 2))]
        return [cr.Step(state, packets, [cr.sent(message)])] if i == 0 else []

    def on_packet(self, i: int, state: int, packet: cr.Packet) -> list[cr.Step]:
        return [cr.Step(state + 1)]
