"""The knobs of the matrix protocol, a few of them or all."""

from __future__ import annotations

from typing import Any

import crownless as cr
from crownless.impl.registry import protocol_named
from crownless.model_check.system.request import Check
from crownless.research.knobs.knob_map import KnobMap
from crownless.research.knobs.knobs_of_rst import RstByKnobs
from crownless.research.knobs.same_behavior import behavior_of


def few(*knobs: str) -> type[RstByKnobs]:
    """The matrix protocol with these knobs only."""
    return type("Few", (RstByKnobs,), {"knobs": {name: RstByKnobs.knobs[name] for name in knobs}})


def map_of_rst() -> KnobMap:
    """By those knobs of the matrix protocol by which it becomes that of [MF] §2."""
    return cr.knobs(few("sender_counts", "delivered", "guard", "receiver_counts"), 3, 3)


def named(found: KnobMap, name: str) -> Any:
    return next(each for each in found.decisions.values() if each.combination.name == name)


def behavior(name: str, n: int = 3, m: int = 3) -> str | None:
    return behavior_of(Check(protocol_named(name), n, m).resolve().system())
