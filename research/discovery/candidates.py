"""Candidate invariants not refuted so far, and a minimal set from which the others follow."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from .numeric_states import NumericState
from .templates import (
    LEAST,
    MOST,
    Array,
    Bound,
    Clause,
    Context,
    Literal,
    Number,
    NumericStates,
    OnNumericStates,
    Process,
    Vocabulary,
    contexts,
)

#: For two numbers of some processes: the greatest amount by which the first may exceed the second.
General = dict[tuple[Number, Number], int]

#: No bound.
NONE = 99


@dataclass
class Bounds:
    """The candidate bounds under some conditions, each as tight as the observed states allow."""

    given: tuple[Literal, ...]
    less: Array
    more: Array
    by: Array
    #: The weakest bound that is kept.
    loosest: int
    seen: bool = False

    def absorb(self, on: OnNumericStates, numbers: Array) -> bool:
        """Weaken or drop candidates that are false in these states; True if anything changed."""
        rows = on.all_hold(self.given)
        if not rows.any():
            return False
        self.seen = True
        values = numbers[:, rows]
        before = self.by.copy()
        for start in range(0, len(self.by), 512):
            part = slice(start, start + 512)
            most = (values[self.less[part]] - values[self.more[part]]).max(axis=1)
            self.by[part] = np.maximum(self.by[part], most)
        if (self.by == before).all():
            return False
        self.keep(self.by <= self.loosest)
        return True

    def keep(self, which: Array) -> None:
        self.less, self.more, self.by = self.less[which], self.more[which], self.by[which]


class InContext:
    """The candidates about some variables. A literal is identified by its place in `literals`, its negation by the next
    or the previous place; a disjunction by the sum of 2 to the power of each of its literals.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.bounds = []
        for given, pairs in context.bounds():
            less, more = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
            loosest = MOST if len(given) == len(context.messages) else 0
            self.bounds.append(Bounds(given, less, more, np.full(len(pairs), LEAST), loosest))
        self.literals = [literal._replace(holds=sign) for literal in context.relations for sign in (True, False)]
        self.place = {literal: k for k, literal in enumerate(self.literals)}
        self.disjunctions: dict[int, Array] = {}
        for size in range(1, context.together + 1):
            some = [[self.place[literal] for literal in each] for each in context.disjunctions() if len(each) == size]
            self.disjunctions[size] = np.array(some, dtype=np.int64).reshape(-1, size)
        #: Disjunctions that always hold, by the meaning of =.
        self.always: list[int] = []
        self.changed = True
        self._basis: list[Clause] = []
        #: The disjunctions that imply the others.
        self.essential: list[int] = []

    def __len__(self) -> int:
        """The number of candidates; a bound that could be tighter counts as one."""
        return sum(len(each.by) for each in self.bounds) + sum(map(len, self.disjunctions.values()))

    def absorb(self, some: NumericStates) -> bool:
        on = OnNumericStates(some, self.context)
        numbers = np.array([on.number(number) for number in self.context.numbers], dtype=np.int32)
        changed = [each.absorb(on, numbers) for each in self.bounds]
        if self.literals:
            fails = np.array([np.packbits(~on.holds(literal)) for literal in self.literals])
            for size, each in self.disjunctions.items():
                if len(each):
                    holds = ~np.bitwise_and.reduce(fails[each], axis=1).any(axis=1)
                    changed.append(not holds.all())
                    self.disjunctions[size] = each[holds]
        self.changed |= any(changed)
        return any(changed)

    def mask(self, literals: Iterable[Literal]) -> int:
        return sum(1 << self.place[literal] for literal in literals)

    def of_mask(self, mask: int) -> list[Literal]:
        return [literal for k, literal in enumerate(self.literals) if mask >> k & 1]

    def minimal(self) -> list[int]:
        """The disjunctions without a part that is itself a candidate, shortest first."""
        kept: list[int] = []
        for some in self.disjunctions.values():
            shorter = list(kept)
            for places in some:
                mask = sum(1 << int(place) for place in places)
                if not any(other & mask == other for other in shorter):
                    kept.append(mask)
        return kept

    def basis(self, general: General, said: Sequence[Sequence[Literal]]) -> list[Clause]:
        """Candidates that imply all others, also given those about fewer things: bounds in general, disjunctions."""
        if self.changed:
            known = [*self.always, *self._instances(said)]
            self.essential = _essential(self.minimal(), known)
            self._basis = [as_clause(self.of_mask(each), self.context) for each in self.essential]
            self._basis += _bounds_basis(self, [*self.essential, *known], general)
            self.changed = False
        return self._basis

    def _instances(self, said: Sequence[Sequence[Literal]]) -> list[int]:
        """The instances of a statement about one message, one for each of several messages."""
        if len(self.context.messages) < 2:
            return []
        processes = list(
            dict.fromkeys(thing for literal in self.literals for thing in literal.of if isinstance(thing, Process))
        )
        found = set()
        for literals in said:
            for message, process in product(self.context.messages, processes):
                of_these: dict[str | Process, str | Process] = {"x": message, Process("p"): process}
                of_these |= {Process("x", role): Process(message, role) for role in ("sender", "receiver")}
                renamed = [
                    literal._replace(of=tuple(of_these.get(thing, thing) for thing in literal.of))
                    for literal in literals
                ]
                if all(literal in self.place for literal in renamed):
                    found.add(self.mask(set(renamed)))
        return sorted(found)


class Candidates:
    """Candidate invariants: all sentences of the grammar that hold in all states seen so far."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.parts = [InContext(context) for context in contexts(vocabulary)]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def absorb(self, situations: Iterable[NumericState]) -> bool:
        """Weaken or drop candidates that are false in one of these states; True if anything changed."""
        alike = defaultdict(list)
        for situation in situations:
            alike[situation.n, len(situation.sender)].append(situation)
        changed = False
        for some in alike.values():
            arrays = NumericStates(self.vocabulary, some)
            for part in self.parts:
                changed |= part.absorb(arrays)
        return changed

    def settle(self, always: Callable[[Context, Clause], bool]) -> None:
        """After the first states: drop the candidates about conditions that never occurred, and separate those that
        always hold.
        """
        for part in self.parts:
            part.bounds = [each for each in part.bounds if each.seen]
            part.always = [
                each for each in part.minimal() if always(part.context, as_clause(part.of_mask(each), part.context))
            ]
            part.changed = True

    def forget(self, clause: Clause, context: Context) -> None:
        """Drop this candidate, and with it every looser bound."""
        part = next(part for part in self.parts if part.context is context)
        part.changed = True
        if isinstance(clause.then, Bound):
            less, more = context.numbers.index(clause.then.less), context.numbers.index(clause.then.more)
            for each in part.bounds:
                if each.given == clause.given:
                    each.keep((each.less != less) | (each.more != more))
        else:
            literals = (*(literal.negated for literal in clause.given), clause.then)
            places = sorted(part.place[literal] for literal in literals)
            some = part.disjunctions[len(places)]
            part.disjunctions[len(places)] = some[~(np.sort(some, axis=1) == places).all(axis=1)]

    def basis(self) -> list[tuple[Context, list[Clause]]]:
        """By context, candidates that imply all others."""
        general: General = {}
        found = []
        said: list[list[Literal]] = []
        changed = False
        for part in self.parts:
            part.changed |= changed
            changed |= part.changed
            found.append((part.context, part.basis(general, said)))
            said += [part.of_mask(each) for each in part.essential]
            fewest = [each for each in part.bounds if len(each.given) == len(part.context.messages)]
            general |= {
                (part.context.numbers[a], part.context.numbers[b]): int(by)
                for each in fewest
                for a, b, by in zip(each.less, each.more, each.by, strict=True)
            }
        return found


def as_clause(literals: Collection[Literal], context: Context) -> Clause:
    """The conclusion is the literal not among the hypotheses; preferably a positive one that says most."""
    order = {literal.relation: k for k, literal in enumerate(context.relations)}
    telling = ("precedes", "knows", "delivered", "is its number", "sent", "same message", "same process")

    def rank(literal: Literal) -> tuple[bool, int, int, str]:
        return (
            not literal.holds,
            literal.relation not in ("knows", "delivered", "is its number"),
            telling.index(literal.relation),
            str(literal),
        )

    then = min(literals, key=rank)
    given = sorted(
        (literal.negated for literal in literals if literal != then),
        key=lambda literal: (order[literal.relation], str(literal)),
    )
    return Clause(tuple(given), then)


_EVEN = int("01" * 64, 2)


def _negated(mask: int) -> int:
    """The negations of these literals."""
    return (mask & _EVEN) << 1 | mask >> 1 & _EVEN


def _propagated(holds: int, disjunctions: Iterable[int]) -> int | None:
    """The consequences of these literals, one at a time; None if they are contradictory."""
    rest = list(disjunctions)
    while True:
        fails, waiting, before = _negated(holds), [], holds
        if fails & holds:
            return None
        for each in rest:
            if not each & holds:
                left = each & ~fails
                if not left:
                    return None
                if left & (left - 1):
                    waiting.append(each)
                else:
                    holds |= left
                    fails = _negated(holds)
        if holds == before:
            return None if fails & holds else holds
        rest = waiting


def _essential(disjunctions: list[int], always: list[int]) -> list[int]:
    """The disjunctions without those implied by the others; the longest are dropped first."""
    kept = [each for each in disjunctions if each not in always]
    for each in sorted(kept, key=lambda each: each.bit_count(), reverse=True):
        others = [other for other in kept if other != each]
        if _propagated(_negated(each), [*always, *others]) is None:
            kept = others
    return kept


def _bounds_basis(part: InContext, disjunctions: Sequence[int], general: General) -> list[Clause]:
    """Bounds that imply all others by addition, and by those under weaker conditions."""
    context = part.context
    size = len(context.numbers)
    cost = np.array([_cost(number) for number in context.numbers])
    ground = np.full((size, size), NONE, dtype=np.int16)
    np.fill_diagonal(ground, 0)
    if general:
        for a, b, key in _in_general(context):
            ground[a, b] = general.get(key, NONE)
    found: list[Clause] = []
    merged: list[tuple[int, Array]] = []
    for each in sorted(part.bounds, key=lambda each: len(each.given)):
        mine = part.mask(each.given) if part.literals else 0
        holds = _propagated(mine, disjunctions)
        if holds is None or not len(each.by):
            continue
        known = ground.copy()
        for given, matrix in merged:
            if given & holds == given:
                known = np.minimum(known, matrix)
        known = _closed(known)
        images = _images(context, each.given)
        order = np.lexsort((each.by, cost[each.less] + cost[each.more]))
        kept = []
        for place in order:
            a, b, by = each.less[place], each.more[place], each.by[place]
            if known[a, b] > by:
                kept.append((a, b, by))
                for image in images:
                    c, d = image[a], image[b]
                    if known[c, d] > by:
                        known = np.minimum(known, np.minimum(known[:, c, None] + (by + known[d, None, :]), NONE))
        if (np.diag(known) < 0).any():
            continue  # impossible
        for a, b, by in kept:
            by_way = known[a] + known[:, b]
            aside = (known[a] + known[:, a] > 0) & (known[b] + known[:, b] > 0)
            if not (by_way[aside] <= by).any():
                found.append(Clause(each.given, Bound(context.numbers[a], context.numbers[b], int(by))))
        merged.append((mine, known))
    return found


@cache
def _images(context: Context, given: tuple[Literal, ...]) -> Array:
    """For each choice of other processes for the variables without hypotheses, the new places of the numbers; the
    identity comes first.
    """
    places = {number: k for k, number in enumerate(context.numbers)}
    fixed = {process.of for literal in given for process in literal.of if isinstance(process, Process)}
    free = [Process(name) for name in context.processes if name not in fixed]
    all_processes = list(dict.fromkeys(process for number in context.numbers for process in _places(number)))
    ways = sorted(product(all_processes, repeat=len(free)), key=lambda way: list(way) != free)
    renamings = [dict(zip(free, way, strict=True)) for way in ways]
    return np.array([[places[_renamed(number, to)] for number in context.numbers] for to in renamings])


def _closed(matrix: Array) -> Array:
    for k in range(len(matrix)):
        matrix = np.minimum(matrix, matrix[:, k, None] + matrix[k, None, :])
    return np.minimum(matrix, NONE)


def _cost(number: Number) -> int:
    """The cost of mentioning a number: of two equal ones the simpler is used."""
    kinds = ("zero", "number", "count", "local", "stamp")
    places = (number.of, *number.at)
    return 4 * len(number.at) + kinds.index(number.kind) + sum(isinstance(p, Process) and bool(p.role) for p in places)


@cache
def _in_general(context: Context) -> list[tuple[int, int, tuple[Number, Number]]]:
    """For each pair of numbers that a context of fewer messages may bound: the pair, with the variables of that
    context.
    """
    found = []
    for (a, less), (b, more) in product(enumerate(context.numbers), repeat=2):
        messages = {of for number in (less, more) for of in _messages(number)}
        for message in messages or {""}:
            its = [Process(message, role) for role in ("sender", "receiver")]
            names = {place: Process("x", place.role) for place in its}
            free = [Process(name) for name in ("pk" if len(context.messages) > 1 else "pkl")]
            for place in (*_places(less), *_places(more)):
                if place not in names and free:
                    names[place] = free.pop(0)
            if a != b and len(messages) <= 1 and all(place in names for place in (*_places(less), *_places(more))):
                found.append((a, b, (_renamed(less, names, "x"), _renamed(more, names, "x"))))
    return found


def _places(number: Number) -> list[Process]:
    return [place for place in (number.of, *number.at) if isinstance(place, Process)]


def _messages(number: Number) -> list[str]:
    return [number.of] if number.kind in ("number", "stamp") and isinstance(number.of, str) else []


def _renamed(number: Number, names: Mapping[Process, Process], message: str = "") -> Number:
    of = names.get(number.of, number.of) if isinstance(number.of, Process) else number.of
    if message and _messages(number):
        of = message
    return number._replace(of=of, at=tuple(names.get(place, place) for place in number.at))
