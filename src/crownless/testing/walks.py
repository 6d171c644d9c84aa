"""Random walks through a driven class, smallest sizes first, before hypothesis looks for what is rarer.

A walk picks its moves at random, with a bias of its own: some let the applications send much before anything is
received, some receive last what was sent first. Thousands of walks take seconds, and most faults show in a short one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Protocol

from .network import Move

#: Walks of each size, and how many more look for a shorter one once a walk has failed.
WALKS, MORE_WALKS = 1_000, 1_000


class Walkable(Protocol):
    """What a walk drives."""

    @property
    def owed(self) -> set[tuple[str, str]]: ...

    @property
    def progress(self) -> int: ...

    def moves(self) -> list[Move]: ...

    def broken(self, order: str) -> str | None: ...

    def story(self) -> str: ...


class Failure(Exception):
    """A walk that shows a fault: what is wrong, how it went, and its number of moves."""

    def __init__(self, problem: str, story: str, moves: int) -> None:
        super().__init__(problem)
        self.problem, self.story, self.moves = problem, story, moves


def shortest_failure(
    new: Callable[[int, int], Walkable], order: str, sizes: Iterator[tuple[int, int]], must_deliver: bool, most: int
) -> tuple[Failure, int] | None:
    """A short walk that fails, of the smallest size of which one does, and how many were made; None if none fails.

    `new(processes, messages)` makes what is driven. `most`: moves after which a walk is said not to end.
    """
    made = 0
    for processes, messages in sizes:
        found: Failure | None = None
        walks = WALKS
        walk = 0
        while walk < walks:
            failure = _walk(
                new(processes, messages), order, must_deliver, most, Random(f"{processes} {messages} {walk}")
            )
            walk += 1
            if failure is not None:
                if found is None:
                    walks = walk + MORE_WALKS
                if found is None or failure.moves < found.moves:
                    found = failure
        made += walk
        if found is not None:
            return found, made
    return None


def _walk(driven: Walkable, order: str, must_deliver: bool, most: int, random: Random) -> Failure | None:
    eagerness, newest_first = random.choice((0.3, 0.6, 0.9)), random.choice((0.3, 0.5, 0.8))
    faulty = random.random() / 4
    made = 0
    progress = driven.progress
    try:
        while moves := driven.moves():
            by_kind = {kind: [move for move in moves if move.kind == kind] for kind in ("send", "step", "fault")}
            if not by_kind["send"] and not by_kind["step"]:
                break
            if by_kind["fault"] and random.random() < faulty:
                move = random.choice(by_kind["fault"])
            elif by_kind["send"] and (not by_kind["step"] or random.random() < eagerness):
                move = random.choice(by_kind["send"])
            else:
                steps = by_kind["step"]
                move = steps[-1] if random.random() < newest_first else random.choice(steps)
            move.happen()
            made += 1
            if driven.progress != progress and (broken := driven.broken(order)) is not None:
                return Failure(broken, driven.story(), made)
            progress = driven.progress
            if made > most:
                return Failure("it goes on for ever", driven.story(), made)
    except AssertionError as error:
        return Failure(str(error), "", made)
    if must_deliver and driven.owed:
        owed = ", ".join(f"{message} at {receiver}" for message, receiver in sorted(driven.owed))
        return Failure(f"never delivered: {owed}", driven.story(), made)
    broken = driven.broken(order)
    return None if broken is None else Failure(broken, driven.story(), made)
