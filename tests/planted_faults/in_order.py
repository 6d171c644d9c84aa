"""All renamings of processes, and bounds that no protocol has too many states for."""

from __future__ import annotations

from itertools import permutations

from crownless.impl.renaming import Renaming


def bound(protocol: str, n: int, messages: int, channel: str = "unordered") -> tuple[int, int]:
    """The bound itself, or a smaller one for protocols of which there would be too many states."""
    if not protocol.startswith("isis-gc"):
        return n, messages
    return (2, 1) if channel == "duplicating" else (2, 2)


def all_renamings(n: int) -> list[Renaming]:
    return [Renaming(image) for image in permutations(range(n))]
