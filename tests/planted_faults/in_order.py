"""One order for values that Python does not order: packets, states, sets."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from crownless.impl.renaming import Renaming


def key(value: Any) -> str:
    """Equal exactly for equal values made of tuples, frozen sets and plain values."""
    if isinstance(value, frozenset):
        return "{" + ",".join(sorted(map(key, value))) + "}"
    if isinstance(value, tuple):
        return type(value).__name__ + "(" + ",".join(map(key, value)) + ")"
    return repr(value)


def bound(protocol: str, n: int, messages: int, channel: str = "unordered") -> tuple[int, int]:
    """The bound itself, or a smaller one for protocols of which there would be too many states."""
    if not protocol.startswith("isis-gc"):
        return n, messages
    return (2, 1) if channel == "duplicating" else (2, 2)


def all_renamings(n: int) -> list[Renaming]:
    return [Renaming(image) for image in permutations(range(n))]
