"""The shortest sentences about an abstraction of queues that no state has refuted (`stages_grammar`).

What is seen is kept as *patterns*: which atoms hold of some choice of things in some state. A sentence is refuted
by a pattern in which none of its literals holds. A refuted sentence is not dropped but weakened, by each literal that
holds in the pattern, up to the greatest length that is allowed; so nothing is lost with one that was too short.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

import numpy as np

from .stages_grammar import Clause, Context, Place, truths
from .stages_runs import Array, TabulatedState

#: Of a sentence in a search, so many words of 64 patterns are looked at before all of them.
FIRST_WORDS = 8
#: So many sentences are compared with all others at once.
AT_ONCE = 256


class InContext:
    """The remaining candidate sentences of a context."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.size = 2 * len(context.atoms)
        self.patterns = np.zeros((0, self.size), dtype=bool)
        #: By row, the literals of a sentence, as truth values.
        self.sentences = np.zeros((0, self.size), dtype=bool)
        self._plain = np.array([atom in context.plain for atom in context.atoms], dtype=bool).repeat(2)
        self._sizes = np.array([sum(term.size for term in atom.terms) for atom in context.atoms]).repeat(2)
        self._seen: set[bytes] = set()
        #: Of sentences that follow from others, those; and which sentences have been looked at.
        self._because: dict[bytes, frozenset[bytes]] = {}
        self._examined: set[bytes] = set()

    def new(self, situations: Iterable[TabulatedState]) -> Array:
        """The patterns of these states that were not seen before."""
        held = [truths(self.context, situation) for situation in situations]
        if not held:
            return self.patterns[:0]
        rows = np.unique(np.concatenate(held), axis=0)
        packed = [row.tobytes() for row in np.packbits(rows, axis=1)]
        fresh = [k for k, row in enumerate(packed) if row not in self._seen]
        self._seen.update(packed)
        return _with_negations(rows[fresh])

    def find(self) -> None:
        """All shortest sentences that no pattern refutes."""
        found = _Search(self.context, self.patterns, self._plain).found()
        self.sentences = _matrix(found, self.size)

    def absorb(self, patterns: Array) -> bool:
        """Weaken what one of these refutes; True if there is any."""
        self.patterns = np.concatenate([self.patterns, patterns])
        changed = False
        for pattern in patterns:
            # A sentence stands for both orders of the messages, and so does a pattern.
            both = pattern, pattern[np.array(self.context.swapped)]
            while any(self._weakened(one) for one in both):
                changed = True
        return changed

    def _weakened(self, pattern: Array) -> bool:
        """Weaken what it refutes; True if there is any."""
        refuted = ~(self.sentences & pattern).any(axis=1)
        if not refuted.any():
            return False
        weaker = self._weaker(self.sentences[refuted], pattern)
        self.sentences = self.sentences[~refuted]
        self._add(weaker)
        return True

    def _weaker(self, refuted: Array, pattern: Array) -> Array:
        """With one literal more that holds in the pattern."""
        made: set[tuple[Place, ...]] = set()
        for row in refuted:
            literals: tuple[Place, ...] = tuple(np.flatnonzero(row).tolist())
            short = len(literals) < self.context.together
            others = np.flatnonzero(pattern if short else pattern & self._plain)
            if short or (len(literals) < self.context.together_plain and self._plain[list(literals)].all()):
                made.update(
                    canonical(self.context, (*literals, int(other))) for other in others if other ^ 1 not in literals
                )
        return _matrix(sorted(made, key=lambda each: (len(each), each)), self.size)

    def _add(self, weaker: Array) -> None:
        """Those that do not follow from others by having literals more."""
        swapped = np.array(self.context.swapped)
        for size in np.unique(weaker.sum(axis=1)):
            some = weaker[weaker.sum(axis=1) == size]
            shorter = self.sentences[self.sentences.sum(axis=1) <= size]
            both = np.concatenate([shorter, shorter[:, swapped]]).astype(np.float32)
            lengths = both.sum(axis=1)
            kept = [
                ~(part.astype(np.float32) @ both.T >= lengths).any(axis=1)
                for part in (some[at : at + AT_ONCE] for at in range(0, len(some), AT_ONCE))
            ]
            self.sentences = np.concatenate([self.sentences, some[np.concatenate(kept)]])

    def forget(self, literals: Sequence[Place]) -> None:
        """It is no candidate any more."""
        (row,) = _matrix([literals], self.size)
        self.sentences = self.sentences[(self.sentences != row).any(axis=1)]

    def __len__(self) -> int:
        """How many there are, but for those that are said in another context too."""
        return sum(self.context.belongs(np.flatnonzero(row).tolist()) for row in self.sentences)

    def allows(self, situation: TabulatedState) -> bool:
        """True if every candidate holds in it."""
        signed = _with_negations(truths(self.context, situation)).astype(np.float32)
        return bool((signed @ self.sentences.T.astype(np.float32) > 0).all())

    def clauses(self) -> list[Clause]:
        """Some that all others follow from, by one literal after the other; but for those of another context."""
        self._settle()
        found = []
        for row in self.sentences:
            literals = tuple(int(place) for place in np.flatnonzero(row))
            if row.tobytes() not in self._because and self.context.belongs(literals):
                found.append(Clause(self.context, literals))
        return found

    def _settle(self) -> None:
        """Finds which sentences follow from others, and from which. A result is kept as long as those are there. The
        longest are left out first.
        """
        keys = [row.tobytes() for row in self.sentences]
        there = set(keys)
        because = {key: others for key, others in self._because.items() if key in there and others <= there}
        doubtful = (self._because.keys() - because.keys()) | (there - self._examined)
        open_ = [k for k, key in enumerate(keys) if key in doubtful]
        kept = _Following(self.sentences, np.array(self.context.swapped), [key not in because for key in keys])
        for k in sorted(
            open_, key=lambda k: (-int(self.sentences[k].sum()), -int(self._sizes[self.sentences[k]].sum()))
        ):
            used = kept.leaving_out(k)
            if used is not None:
                because[keys[k]] = frozenset(keys[other] for other in used)
        self._because, self._examined = because, there


class _Following:
    """The consequences of sentences, each for both orders of the messages."""

    def __init__(self, sentences: Array, swapped: Array, kept: Sequence[bool]) -> None:
        self._count = len(sentences)
        self._all = sentences
        self._negation = np.arange(sentences.shape[1]) ^ 1
        self._kept = np.array([*kept, *kept], dtype=bool)
        self._both = np.concatenate([sentences, sentences[:, swapped]]).astype(np.float32)
        self._compress()

    def _compress(self) -> None:
        self._places = np.flatnonzero(self._kept)
        self._rows = self._both[self._places]
        self._dropped = 0

    def leaving_out(self, k: int) -> set[int] | None:
        """Leave out this one if it follows from those that are kept; returns from which."""
        self._kept[[k, k + self._count]] = False
        used = self._used(self._all[k][self._negation])
        if used is None:
            self._kept[[k, k + self._count]] = True
            return None
        self._dropped += 2
        if self._dropped * 8 > len(self._places):
            self._compress()
        return used

    def _used(self, holds: Array) -> set[int] | None:
        """Those by which these literals cannot hold together; None if none are found."""
        used: set[int] = set()
        holds = holds.copy()
        while True:
            fails = holds[self._negation]
            left = self._rows @ (~fails).astype(np.float32)
            due = (left <= 1) & (self._rows @ holds.astype(np.float32) == 0) & self._kept[self._places]
            if not due.any():
                return None
            used.update(int(place) % self._count for place in self._places[due])
            holds |= (self._rows[due] > 0).any(axis=0) & ~fails
            if (left[due] == 0).any() or (holds & holds[self._negation]).any():
                return used


class _Search:
    """For the shortest sentences, one literal after the other."""

    def __init__(self, context: Context, patterns: Array, plain: Array) -> None:
        self.context = context
        rows = len(patterns)
        fails = np.zeros((2 * len(context.atoms), -(-rows // 64) * 64), dtype=bool)
        fails[:, :rows] = ~patterns.T
        self.fails = np.packbits(fails, axis=1).view(np.uint64)
        self.plain = plain
        self.places = np.arange(len(self.fails))

    def found(self) -> list[tuple[Place, ...]]:
        """In order of their lengths."""
        found: set[tuple[Place, ...]] = set()
        #: Of two literals: True if one of them holds always.
        self.either = np.zeros((len(self.places), len(self.places)), dtype=bool)
        self.either[self.places, self.places ^ 1] = True
        everything = np.full(self.fails.shape[1], ~np.uint64(0), dtype=np.uint64)
        self.never_fails = ~self.fails.any(axis=1)
        for length in range(1, self.context.together_plain + 1):
            plain = length > self.context.together
            for some in list(self._of(length, (), everything, plain)):
                if not any(part in found for size in range(1, length) for part in combinations(some, size)):
                    found.add(some)
                    if length == 2:
                        self.either[some[0], some[1]] = self.either[some[1], some[0]] = True
        return sorted({canonical(self.context, some) for some in found}, key=lambda each: (len(each), each))

    def _of(self, length: int, some: tuple[Place, ...], fail: Array, plain: bool) -> Iterator[tuple[Place, ...]]:
        """Those of so many literals that begin with these, which fail where `fail` says."""
        if length == 1 and not some:
            yield from ((int(place),) for place in np.flatnonzero(self.never_fails))
            return
        after = self.places > (some[-1] if some else -1)
        rest = after & ~self.never_fails & ~self.either[list(some)].any(axis=0)
        places = np.flatnonzero(rest & self.plain if plain else rest)
        if len(some) + 1 < length:
            for place in places:
                together = fail & self.fails[place]
                yield from self._of(length, (*some, int(place)), together, plain)
            return
        alive = (fail[:FIRST_WORDS] & self.fails[places, :FIRST_WORDS]).any(axis=1)
        places = places[~alive]
        for place in places[~(fail & self.fails[places]).any(axis=1)]:
            yield (*some, int(place))


def canonical(context: Context, literals: Sequence[Place]) -> tuple[Place, ...]:
    """The same sentence, whichever of the messages is called which."""
    return min(tuple(sorted(literals)), tuple(sorted(context.swapped[place] for place in literals)))


def _with_negations(held: Array) -> Array:
    """By column literals, of which atoms hold."""
    both = np.empty((len(held), 2 * held.shape[1]), dtype=bool)
    both[:, ::2], both[:, 1::2] = held, ~held
    return both


def _matrix(sentences: Sequence[Sequence[Place]], size: int) -> Array:
    rows = np.zeros((len(sentences), size), dtype=bool)
    for row, literals in zip(rows, sentences, strict=True):
        row[list(literals)] = True
    return rows
