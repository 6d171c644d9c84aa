"""Random walks: runs with each step chosen at random among the possible ones.

Each walk has its own bias: some let the applications send much before anything is received, some receive the first
sends last. Thousands of walks take seconds, and most faults show in a short one. A failing walk is shrunk by removing
steps while it still fails.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from random import Random
from typing import Generic, NamedTuple, Protocol, TypeVar

from crownless.impl.protocol_validation import WrongMachine

from .network import Move, WrongNode

#: The default number of walks of each size; after a failure, as many more look for a shorter one.
WALKS = 1_000
#: A run that takes this many steps is reported as not ending.
MAX_STEPS = 1_000
#: A story with more lines is shown without its middle.
LONGEST_SHOWN = 40
#: The number of steps spent on shrinking a walk.
STEPS_TO_SHRINK = 50_000
#: The kind of failure of a run that does not end.
FOR_EVER = "for ever"


class Walkable(Protocol):
    """The interface of a class that a walk can drive."""

    @property
    def owed(self) -> set[tuple[str, str]]: ...

    @property
    def progress(self) -> int: ...

    @property
    def pending(self) -> str | None: ...

    @property
    def delivers(self) -> bool: ...

    def moves(self) -> list[Move]: ...

    def violation(self, order: str) -> str | None: ...

    def story(self) -> str: ...


Driven = TypeVar("Driven", bound=Walkable)


class Taken(NamedTuple):
    """A move of a walk: its number among the similar moves at that point."""

    move: Move
    place: int


class Failure(NamedTuple):
    """The fault that a walk shows: the problem, the story, and the moves; `kind` is the same for similar faults."""

    kind: str
    problem: str
    story: str
    taken: tuple[Taken, ...]
    #: The exception that the driven class raised.
    error: Exception | None = None


class Walk(NamedTuple, Generic[Driven]):
    """A finished walk: the driven object, and a fault if any; None if the object could not be made."""

    driven: Driven | None
    taken: tuple[Taken, ...]
    failure: Failure | None = None


class Walks(NamedTuple, Generic[Driven]):
    """How the driven class is made (`new(processes, messages)`), and the requirements on each walk. `order`: the order
    to keep, if any. `must_deliver`: all messages sent must be delivered at the end. `most`: steps after which a run is
    reported as not ending; if the driven class `retransmits`, only one in which something is not delivered.
    """

    new: Callable[[int, int], Driven]
    order: str | None
    must_deliver: bool
    most: int = MAX_STEPS
    retransmits: bool = False

    def shortest_failure(
        self, sizes: Iterator[tuple[int, int]], walks: int = WALKS, on_walk: Callable[[Driven], None] = lambda _: None
    ) -> tuple[Failure, int] | None:
        """A short failing walk of the smallest failing size, and the number of walks made; None if none fails.
        `on_walk` gets the driven object of each walk.
        """
        made = 0
        for processes, messages in sizes:
            found: Failure | None = None
            limit, walk = walks, 0
            while walk < limit:
                driven, _, failure = self.walk(processes, messages, Random(f"{processes} {messages} {walk}"))
                if driven is not None:
                    on_walk(driven)
                walk += 1
                if failure is not None:
                    limit = walk + walks if found is None else limit
                    found = min((failure, found or failure), key=lambda one: len(one.taken))
            made += walk
            if found is not None:
                return self.shrunk(found, processes, messages), made
        return None

    def walk(self, processes: int, messages: int, random: Random) -> Walk[Driven]:
        """One walk."""
        eagerness, newest_first = random.choice((0.3, 0.6, 0.9)), random.choice((0.3, 0.5, 0.8))
        faulty = random.random() / 4

        def pick(moves: Sequence[Move]) -> Move | None:
            sends, steps, faults = ([one for one in moves if one.kind == kind] for kind in ("send", "step", "fault"))
            if not sends and not steps:
                return None
            if faults and random.random() < faulty:
                return random.choice(faults)
            if sends and (not steps or random.random() < eagerness):
                return random.choice(sends)
            return steps[-1] if random.random() < newest_first else random.choice(steps)

        return self._driven(processes, messages, pick)

    def again(self, processes: int, messages: int, taken: Iterable[Taken]) -> Walk[Driven]:
        """A walk of these moves, without impossible ones."""
        rest = iter(taken)

        def pick(moves: Sequence[Move]) -> Move | None:
            for each in rest:
                alike = [move for move in moves if move.like == each.move.like]
                if alike:
                    return alike[min(each.place, len(alike) - 1)]
            return None

        return self._driven(processes, messages, pick)

    def _driven(self, processes: int, messages: int, pick: Callable[[Sequence[Move]], Move | None]) -> Walk[Driven]:
        """A walk of picked moves, until None is picked."""
        taken: list[Taken] = []
        driven: Driven | None = None

        def failure(kind: str, problem: str, error: Exception | None = None) -> Walk[Driven]:
            story = "" if driven is None else driven.story()
            return Walk(driven, tuple(taken), Failure(kind, problem, story, tuple(taken), error))

        try:
            driven = self.new(processes, messages)
            moves, progress = driven.moves(), driven.progress
            while (move := pick(moves)) is not None:
                alike = [each for each in moves if each.like == move.like]
                taken.append(Taken(move, alike.index(move)))
                move.happen()
                violated = driven.violation(self.order) if self.order and driven.progress != progress else None
                if violated is not None:
                    return failure("order", violated)
                if len(taken) > self.most:
                    if self.retransmits and not (self.must_deliver and driven.owed):
                        break
                    return failure(FOR_EVER, goes_on_for_ever(driven.owed))
                moves, progress = driven.moves(), driven.progress
        except (WrongNode, WrongMachine) as error:
            breaks = error.breaks if isinstance(error, WrongNode) else type(error).__name__
            return failure(type(error.__cause__).__name__ if error.__cause__ else breaks, str(error), error)
        if self.order is not None and (violated := driven.violation(self.order)) is not None:
            return failure("order", violated)
        ends = driven.pending is None and not any(move.kind == "step" for move in moves)
        if self.must_deliver and driven.owed and ends:
            return failure("never delivered", never_delivered(driven.owed))
        return Walk(driven, tuple(taken))

    def shrunk(self, found: Failure, processes: int, messages: int) -> Failure:
        """The failure without unnecessary moves: first runs of consecutive moves, then single ones or any two; and with
        plainer moves where they suffice. Walks that do not end are returned unchanged.
        """
        left = 0 if found.kind == FOR_EVER else STEPS_TO_SHRINK
        candidates = _shorter(found.taken)
        while left > 0 and (moves := next(candidates, None)) is not None:
            left -= len(moves)
            other = self.again(processes, messages, moves).failure
            if other is not None and other.kind == found.kind and _cost(other.taken) < _cost(found.taken):
                found, candidates = other, _shorter(other.taken)
        return found if len(found.taken) <= LONGEST_SHOWN else found._replace(story=without_middle(found.story))


def _cost(taken: Sequence[Taken]) -> tuple[int, int]:
    return len(taken), sum(each.move.plainer is not None for each in taken)


def _shorter(taken: Sequence[Taken]) -> Iterator[Sequence[Taken]]:
    """The same moves without some of them, and with a plainer one in place of another, there or later."""
    together = len(taken) // 2
    while together:
        for k in range(0, len(taken), together):
            yield [*taken[:k], *taken[k + together :]]
        together //= 2
    for k, each in enumerate(taken):
        if each.move.plainer is not None:
            plainer = Taken(each.move._replace(like=each.move.plainer, plainer=None), 0)
            for later in range(k, len(taken)):
                yield [*taken[:k], *taken[k + 1 : later + 1], plainer, *taken[later + 1 :]]
    for one, other in combinations(range(len(taken)), 2):
        yield [each for k, each in enumerate(taken) if k not in (one, other)]


def never_delivered(owed: set[tuple[str, str]]) -> str:
    """The undelivered messages, and where they should be delivered."""
    return f"never delivered: {', '.join(f'{message} at {receiver}' for message, receiver in sorted(owed))}"


def goes_on_for_ever(owed: set[tuple[str, str]]) -> str:
    """The failure of a run that does not end, with the messages that it does not deliver."""
    return f"it never terminates{'; ' * bool(owed)}{never_delivered(owed) if owed else ''}"


def without_middle(story: str) -> str:
    """A long story, with its beginning and its end."""
    lines, half = story.splitlines(), LONGEST_SHOWN // 2
    if len(lines) <= LONGEST_SHOWN:
        return story
    return "\n".join([*lines[:half], f"… {len(lines) - 2 * half:,} more lines …", *lines[-half:]])
