"""The exact counts of an exploration, as they are pinned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from crownless.spec.enumeration import Sends


class Counts(NamedTuple):
    states: int
    transitions: int
    depth: int
    terminal: int


class Pin(NamedTuple):
    """One exploration; `broken`: property → the actions of a shortest run that breaks it."""

    protocol: str
    channel: str
    n: int
    m: int
    counts: Counts
    broken: dict[str, int]
    #: None: as the protocol has it.
    sends: Sends | None = None
    settings: Mapping[str, int | tuple[int, ...]] = {}
    crash: str | None = None
    slow: bool = False
