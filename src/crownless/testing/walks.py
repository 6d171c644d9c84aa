"""Random walks through a driven class, smallest sizes first, before hypothesis looks for what is rarer.

A walk picks its moves at random, with a bias of its own: some let the applications send much before anything is
received, some receive last what was sent first. Thousands of walks take seconds, and most faults show in a short one.
From the shortest that fails those steps are left out without which it still does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from random import Random
from typing import NamedTuple, Protocol

from crownless.model_check.wrong_machine import WrongMachine

from .network import Move, NodeFailure

#: Walks of each size, unless said otherwise; as many more look for a shorter one once a walk has failed.
WALKS = 1_000
#: A walk of more moves is not shrunk, and a story of more lines is shown without its middle.
LONGEST_SHRUNK, LONGEST_SHOWN = 60, 40


class Walkable(Protocol):
    """What a walk drives."""

    @property
    def owed(self) -> set[tuple[str, str]]: ...

    @property
    def progress(self) -> int: ...

    def moves(self) -> list[Move]: ...

    def broken(self, order: str) -> str | None: ...

    def story(self) -> str: ...


class Taken(NamedTuple):
    """A move of a walk: which one of the moves that were like it then."""

    move: Move
    place: int


class Failure(NamedTuple):
    """A walk that shows a fault: what is wrong, how it went, and its moves; `kind` is the same for like faults."""

    kind: str
    problem: str
    story: str
    taken: tuple[Taken, ...]
    #: The exception that the driven class raised.
    error: Exception | None = None


class Walks(NamedTuple):
    """How the driven class is made (`new(processes, messages)`), and what is demanded of each walk; `most`: moves
    after which a walk is said not to end.
    """

    new: Callable[[int, int], Walkable]
    order: str
    must_deliver: bool
    most: int

    def shortest_failure(self, sizes: Iterator[tuple[int, int]], walks: int = WALKS) -> tuple[Failure, int] | None:
        """A short walk that fails, of the smallest size of which one does, and how many were made; None if none
        fails.
        """
        made = 0
        for processes, messages in sizes:
            found: Failure | None = None
            limit, walk = walks, 0
            while walk < limit:
                failure = self._walk(processes, messages, Random(f"{processes} {messages} {walk}"))
                walk += 1
                if failure is not None:
                    if found is None:
                        limit = walk + walks
                    if found is None or len(failure.taken) < len(found.taken):
                        found = failure
            made += walk
            if found is not None:
                return self._shrunk(found, processes, messages), made
        return None

    def _walk(self, processes: int, messages: int, random: Random) -> Failure | None:
        eagerness, newest_first = random.choice((0.3, 0.6, 0.9)), random.choice((0.3, 0.5, 0.8))
        faulty = random.random() / 4

        def pick(moves: Sequence[Move]) -> Move | None:
            by_kind = {kind: [move for move in moves if move.kind == kind] for kind in ("send", "step", "fault")}
            if not by_kind["send"] and not by_kind["step"]:
                return None
            if by_kind["fault"] and random.random() < faulty:
                return random.choice(by_kind["fault"])
            if by_kind["send"] and (not by_kind["step"] or random.random() < eagerness):
                return random.choice(by_kind["send"])
            steps = by_kind["step"]
            return steps[-1] if random.random() < newest_first else random.choice(steps)

        return self._driven(processes, messages, pick)

    def _again(self, processes: int, messages: int, taken: Sequence[Taken]) -> Failure | None:
        """A walk of these moves, without those that are not possible."""
        rest = iter(taken)

        def pick(moves: Sequence[Move]) -> Move | None:
            for each in rest:
                alike = [move for move in moves if move.like == each.move.like]
                if alike:
                    return alike[min(each.place, len(alike) - 1)]
            return None

        return self._driven(processes, messages, pick)

    def _driven(self, processes: int, messages: int, pick: Callable[[Sequence[Move]], Move | None]) -> Failure | None:
        """A walk of the moves that are picked, until None is; the failure that it shows, if it does."""
        taken: list[Taken] = []
        driven: Walkable | None = None

        def failure(kind: str, problem: str, error: Exception | None = None) -> Failure:
            return Failure(kind, problem, "" if driven is None else driven.story(), tuple(taken), error)

        try:
            driven = self.new(processes, messages)
            moves, progress = driven.moves(), driven.progress
            while (move := pick(moves)) is not None:
                alike = [each for each in moves if each.like == move.like]
                taken.append(Taken(move, alike.index(move)))
                move.happen()
                if driven.progress != progress and (broken := driven.broken(self.order)) is not None:
                    return failure("order", broken)
                if len(taken) > self.most:
                    return failure("for ever", "it goes on for ever")
                moves, progress = driven.moves(), driven.progress
        except (NodeFailure, WrongMachine) as error:
            return failure(type(error.__cause__ or error).__name__, str(error), error)
        if (broken := driven.broken(self.order)) is not None:
            return failure("order", broken)
        if self.must_deliver and driven.owed and not any(move.kind == "step" for move in moves):
            return failure("never delivered", never_delivered(driven.owed))
        return None

    def _shrunk(self, found: Failure, processes: int, messages: int) -> Failure:
        """The failure without moves that it does not need: one, or two together."""
        if len(found.taken) > LONGEST_SHRUNK:
            return found._replace(story=without_middle(found.story))
        for together in (1, 2, 1):
            shrinks = True
            while shrinks:
                shrinks = False
                for left_out in combinations(range(len(found.taken)), together):
                    kept = [each for k, each in enumerate(found.taken) if k not in left_out]
                    shorter = self._again(processes, messages, kept)
                    if shorter is not None and shorter.kind == found.kind and len(shorter.taken) < len(found.taken):
                        found, shrinks = shorter, True
                        break
        return found


def never_delivered(owed: set[tuple[str, str]]) -> str:
    """The messages that nobody delivers, and where they should be."""
    return f"never delivered: {', '.join(f'{message} at {receiver}' for message, receiver in sorted(owed))}"


def without_middle(story: str) -> str:
    """A long story, with its beginning and its end."""
    lines, half = story.splitlines(), LONGEST_SHOWN // 2
    if len(lines) <= LONGEST_SHOWN:
        return story
    return "\n".join([*lines[:half], f"… {len(lines) - 2 * half:,} more lines …", *lines[-half:]])
