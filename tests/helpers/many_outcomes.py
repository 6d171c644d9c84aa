"""Machines whose actions have several outcomes, and the runs that are saved of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from alike_packets import Chatter

from crownless.impl.protocol import Packet, Step, sent
from crownless.model_check.runs.runs import Run
from crownless.model_check.runs.saved_runs import read_checks
from crownless.spec.computation import Message

COIN = """
import crownless as cr

class Coin(cr.Protocol):
    promises = "asynchronous"
    bound = (2, 1)
    sides = ("tails", "heads")
    invariants = {"never-heads": lambda self, i, s: s != "heads", "never-tails": lambda self, i, s: s != "tails"}

    def initial(self, i):
        return "new"

    def send(self, i, s, m):
        return [cr.Step(x, [cr.Packet(i, m.receiver, "data", m)], [cr.sent(m)]) for x in self.sides]

    def on_packet(self, i, s, p):
        return [cr.Step(s, [], [cr.delivered(p.message)])]

class OtherCoin(Coin):
    sides = ("heads", "tails")

class Stamped(Coin):
    invariants = {"never-done": lambda self, i, s: s != "done"}

    def send(self, i, s, m):
        return [cr.Step(s, [cr.Packet(i, m.receiver, "data", m, k)], [cr.sent(m)]) for k in (2, 1)]

    def on_packet(self, i, s, p):
        return [cr.Step("done", [], [cr.delivered(p.message)])] if p.stamp == 1 else [cr.Step("no")]

class Fork(Coin):
    sides = ("new",)
    invariants = {"never-far-right": lambda self, i, s: s != "far right"}

    def internal(self, i, s):
        if s == "new":
            return [("turn", cr.Step("left")), ("turn", cr.Step("right"))]
        return [("go", cr.Step("far right"))] if s == "right" else []

class Spinning(Coin):
    sides = (0,)
    promises = ("delivers-all",)
    invariants = {}

    def initial(self, i):
        return 0

    def internal(self, i, s):
        return [("spin", cr.Step((s + k) % 3)) for k in (1, 2)]

    def deliverable(self, i, s, p):
        return False
"""


class ManyOutcomes(Chatter):
    """Chatters, with one to three outcomes of each action; several have the same packets, or none."""

    def outcomes(self, i: int, to: int, message: Any, events: Sequence[Any], *situation: object) -> list[Step]:
        chance = self.chance("outcomes", i, *situation)
        packets = self.packets(i, to, message, chance)
        return [
            Step(
                chance.randrange(3), packets if chance.random() < 0.7 else self.packets(i, to, message, chance), events
            )
            for _ in range(chance.randint(1, 3))
        ]

    def send(self, i: int, state: int, message: Message) -> Sequence[Step]:
        return self.outcomes(i, message.receiver, message, [sent(message)], "send", state)

    def on_packet(self, i: int, state: int, packet: Packet) -> Sequence[Step]:
        situation = "packet", state, packet.kind, packet.stamp
        if self.chance(i, *situation).random() < 0.3:
            return self.outcomes(i, packet.source, packet.message, [], *situation)
        chance = self.chance(i, "silent", *situation)
        return [Step(chance.randrange(3)) for _ in range(chance.randint(1, 3))]

    def internal(self, i: int, state: int) -> Sequence[tuple[str, Step]]:
        chance = self.chance("internal", i, state)
        return [(chance.choice("xy"), Step(chance.randrange(3))) for _ in range(chance.randint(0, 3))]


def many_outcomes(seed: int) -> type[ManyOutcomes]:
    return type(f"ManyOutcomes{seed}", (ManyOutcomes,), {"seed": seed})


def read_run(processes: Sequence[str], actions: Sequence[Any], loop: Sequence[Any] = ()) -> Run:
    """The run of a check whose JSON has these actions."""
    violated = {"name": "fifo", "run": actions, "loop": loop}
    check = {"protocol": "p", "process_names": processes, "properties": [violated]}
    ((_, run),) = read_checks(json.dumps([check]).encode(), "a run")[0].violations()
    return run


def without_outcomes(facts: Any) -> Any:
    """The same JSON as an earlier version wrote it."""
    if isinstance(facts, dict):
        return {key: without_outcomes(value) for key, value in facts.items() if key != "outcome"}
    return [without_outcomes(each) for each in facts] if isinstance(facts, list) else facts
