"""Machines that do at random what a faulty protocol may do."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message


class RandomMachine(ProtocolMachine):
    """Delivers, holds back, drops and doubles messages as a table says that its seed determines.

    A local state is a mood and the messages held.
    """

    promises = "asynchronous"
    seed = 0

    def chance(self, *situation: object) -> Random:
        return Random(repr((self.seed, situation)))

    def initial(self, i: int) -> tuple[int, tuple[Message, ...]]:
        return 0, ()

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        (mood, held), chance = state, self.chance("send", i, state[0])
        if mood and chance.random() < 0.4:
            return []
        packets, events = [Packet(i, message.receiver, "message", message)], [AppEvent("send", message)]
        moods = {chance.choice((mood, 0, 1)) for _ in range(chance.choice((1, 1, 2)))}
        return [Step((after, held), packets, events) for after in sorted(moods)]

    def deliverable(self, i: int, state: Any, packet: Packet) -> bool:
        return self.chance("guard", i, state[0], packet.source).random() < 0.85

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        (mood, held), chance = state, self.chance("packet", i, state[0], packet.source)
        message, after = packet.message, chance.choice((mood, 0, 1))
        delivers = [AppEvent("deliver", message)]
        outcomes = {
            "deliver": Step((after, held), (), delivers),
            "hold": Step((after, (*held, message))),
            "drop": Step((after, held)),
            "double": Step((after, (*held, message)), (), delivers),
        }
        likely = ("deliver",) * 10 + ("hold",) * 5 + ("double",) * 3 + ("drop",)
        ways = {chance.choice(likely) for _ in range(chance.choice((1, 2)))}
        return [outcomes[way] for way in sorted(ways)]

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        mood, held = state
        if not held:
            return []
        place = self.chance("release", i, mood).choice((0, -1))
        rest = held[1:] if place == 0 else held[:-1]
        return [("release", Step((mood, rest), (), [AppEvent("deliver", held[place])]))]


class SymmetricRandomMachine(RandomMachine):
    """The same for processes that differ by their names alone: the table knows no names."""

    symmetric = True

    def chance(self, *situation: Any) -> Random:
        what, _, mood, *_ = situation
        return super().chance(what, mood)

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        mood, held = state
        return mood, tuple(map(renaming.message, held))

    def renamed_stamp(self, kind: str, stamp: Any, renaming: Renaming) -> Any:
        return stamp


def random_machine(seed: int, *, symmetric: bool = False) -> type[RandomMachine]:
    kind = SymmetricRandomMachine if symmetric else RandomMachine
    return type(f"{kind.__name__}{seed}", (kind,), {"seed": seed})
