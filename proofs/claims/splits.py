"""Computations with control messages ([MG] §4.2), and the conditions on them, by their definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, permutations

from crownless.spec.computation import Computation, project
from crownless.spec.enumeration import computations
from crownless.spec.library import is_control
from crownless.spec.orders import decide


@dataclass(frozen=True)
class Split:
    """A computation whose messages are in part the application's ([MG]'s ℰ), the others control messages (ℰᶜ)."""

    whole: Computation
    own: tuple[int, ...]  #: the application's messages

    def precedes(self, e: int, f: int) -> bool:
        """[MG]'s ≺: on one line."""
        return e < f and self.whole.process_of[e] == self.whole.process_of[f]

    def leads(self, e: int, f: int) -> bool:
        """[MG]'s →: also through control messages."""
        return self.whole.happened_before(e, f)

    @property
    def send(self) -> tuple[int, ...]:
        return self.whole.send_event

    @cached_property
    def receive(self) -> tuple[int, ...]:
        return tuple(
            receives[m.receiver] for m, receives in zip(self.whole.messages, self.whole.receive_events, strict=True)
        )

    def pairs(self) -> Iterator[tuple[int, int]]:
        return permutations(self.own, 2)

    @cached_property
    def application(self) -> Computation:
        """The application's view of it."""
        return project(self.whole, self.own)

    def maps_to(self, e: int, f: int) -> bool:
        """[MG]'s ↦, read so that it holds what §4.2 needs: → whose first message, if any, is the application's."""
        return self.precedes(e, f) or any(
            (e == self.send[m] or self.precedes(e, self.send[m]))
            and (self.receive[m] == f or self.leads(self.receive[m], f))
            for m in self.own
        )

    def maps_to_as_printed(self, e: int, f: int) -> bool:
        """[MG]'s ↦ by the letter: ≺ and → leave out the event itself."""
        later = any(self.precedes(e, self.send[m]) and self.leads(self.receive[m], f) for m in self.own)
        return self.is_message(e, f) or self.precedes(e, f) or later

    def is_message(self, e: int, f: int) -> bool:
        """[MG]'s ⇝, of the application's messages."""
        return any((e, f) == (self.send[m], self.receive[m]) for m in self.own)

    def lemma_1_as_printed(self, e: int, f: int) -> bool:
        """The conclusion of [MG] Lemma 1 for e and f: e ≺ f, or e ≺ s1 and r1 → f, or e ⇝ g and g → f."""
        through_later = any(self.precedes(e, self.send[m]) and self.leads(self.receive[m], f) for m in self.own)
        through_own = any(e == self.send[m] and self.leads(self.receive[m], f) for m in self.own)
        return self.precedes(e, f) or through_later or through_own

    def leads_within_own_as_printed(self, e: int, f: int) -> bool:
        """[MG]'s →_ℰ by the letter: e ⇝ f, or e ≺ f, or e ≺ s1 and r1 →_ℰ f."""
        return (
            self.is_message(e, f)
            or self.precedes(e, f)
            or any(
                self.precedes(e, self.send[m]) and self.leads_within_own_as_printed(self.receive[m], f)
                for m in self.own
            )
        )

    def chain_leads(self, e: int, f: int) -> bool:
        """True if a chain of events leads from e to f whose first message, if any, is the application's."""
        c = self.whole
        successors = c.immediate_successors()
        line = [x for x in range(e, c.event_count) if c.process_of[x] == c.process_of[e]]
        if f in line[1:]:
            return True
        reached = [self.receive[m] for m in self.own if self.send[m] in line]
        for event in reached:
            reached += [after for after in successors[event] if after not in reached]
        return f in reached

    def ranked(self) -> bool:
        """PR: the application's messages go from bigger to smaller processes."""
        return all(self.whole.messages[m].sender > self.whole.messages[m].receiver for m in self.own)

    def send_condition(self) -> bool:
        """SC."""
        return all(
            self.leads(self.receive[a], self.receive[b])
            for a, b in self.pairs()
            if self.precedes(self.send[a], self.send[b])
        )

    def receive_condition(self) -> bool:
        """RC."""
        return not any(
            self.precedes(self.send[a], self.receive[b]) and self.leads(self.receive[b], self.receive[a])
            for a, b in self.pairs()
        )

    def strong_receive_condition(self) -> bool:
        """RC made strong enough: if s1 ≺ r2, what follows from r2 at another process follows from r1 too."""
        return all(
            self.leads(self.receive[a], f)
            for a, b in self.pairs()
            if self.precedes(self.send[a], self.receive[b])
            for f in range(self.whole.event_count)
            if self.leads(self.receive[b], f) and not self.precedes(self.receive[b], f)
        )

    def crown_sizes(self, before: Callable[[int, int], bool]) -> list[int]:
        """The sizes of all crowns among the application's messages by a relation: ≺ (strong crowns), ↦, →_ℰ."""
        links = {(a, b) for a, b in self.pairs() if before(self.send[a], self.receive[b])}
        return [
            size
            for size in range(2, len(self.own) + 1)
            for circle in permutations(self.own, size)
            if circle[0] == min(circle)
            and all(pair in links for pair in zip(circle, (*circle[1:], circle[0]), strict=True))
        ]


def splits(n: int, m: int) -> Iterator[Split]:
    """Every complete computation of n processes and m messages, two or more of which are the application's."""
    for whole in computations(n, m):
        for size in range(2, m + 1):
            for own in combinations(range(m), size):
                yield Split(whole, own)


def split_up_to(*bounds: tuple[int, int]) -> Iterator[Split]:
    """All of them, for each number of processes up to so many messages."""
    for n, m in bounds:
        for messages in range(2, m + 1):
            yield from splits(n, messages)


def split_by_names(whole: Computation) -> Split:
    """The split whose control messages are those called c1, c2, …"""
    return Split(whole, tuple(m for m, message in enumerate(whole.messages) if not is_control(message)))


def answers_only(split: Split) -> bool:
    """True if every control message is an acknowledgement: the only one from receiver to sender, after a receive."""
    whole, answered = split.whole, set[int]()
    for c, control in enumerate(whole.messages):
        if c in split.own:
            continue
        (to,) = control.receivers
        asked = [
            m
            for m in split.own
            if (whole.messages[m].sender, whole.messages[m].receivers) == (to, (control.sender,))
            and split.precedes(split.receive[m], split.send[c])
            and m not in answered
        ]
        if not asked:
            return False
        answered.add(asked[0])
    return True


# -- all of them, up to a bound ----------------------------------------------------------------------------------------


def split_bounds(quick: bool) -> list[tuple[int, int]]:
    return [(2, 4), (3, 3)] if quick else [(2, 5), (3, 4)]


def splits_told(quick: bool) -> str:
    """How far the computations with control messages reach, in words."""
    summary = ", ".join(f"({n}, {m})" for n, m in split_bounds(quick))
    return (
        f"every complete computation up to (processes, messages) {summary}, each part of the messages as control ones"
    )


@dataclass
class Splits:
    """Findings on Lemmas 1 to 4 and Theorem 6, in every computation with control messages."""

    looked_at: int = 0
    chains_differ: int = 0  #: pairs where ↦ by chains is not what Lemma 1 says, repaired
    lemma_1: int = 0  #: pairs that break Lemma 1 by the letter, ↦ as it is printed
    lemma_1_of_chains: int = 0  #: pairs of ↦ by chains that Lemma 1 by the letter leaves out
    #: The smallest whose application's part is not synchronous, and has no crown by ↦ or →_ℰ as printed.
    crownless: Computation | None = None
    outside: int = 0  #: crowns by →_ℰ as printed, and none by ↦ as printed
    lemma_2: int = 0  #: pairs that break Lemma 2
    pairs: int = 0  #: pairs to which it applies
    lemma_3: int = 0
    with_conditions: int = 0  #: computations with SC, RC and a crown
    lemma_4: int = 0
    theorem_6: int = 0
    repaired: int = 0  #: with SC, RC⁺ and PR, and not synchronous
    ranked: int = 0  #: with SC, RC⁺ and PR

    def add(self, split: Split) -> None:
        """Counts what one computation shows."""
        self.looked_at += 1
        synchronous = decide(split.application, "synchronous").kept
        if len(split.whole.messages) <= FEW:
            self._add_to_lemma_1(split)
            printed, within_own = map(split.crown_sizes, (split.maps_to_as_printed, split.leads_within_own_as_printed))
            self.outside += bool(set(within_own) - set(printed))
            if not (synchronous or printed or within_own):
                self.crownless = min(self.crownless or split.whole, split.whole, key=_size)
        if not split.send_condition():
            return
        applies, breaks = against_lemma_2(split)
        self.pairs, self.lemma_2 = self.pairs + applies, self.lemma_2 + breaks
        if split.strong_receive_condition() and split.ranked():
            self.ranked += 1
            self.repaired += not synchronous
        weak = split.crown_sizes(split.maps_to) if split.receive_condition() else []
        if not weak:
            return
        strong = split.crown_sizes(split.precedes)
        self.with_conditions += 1
        self.lemma_3 += 2 in weak and 2 not in strong
        self.lemma_4 += not strong or min(strong) > min(weak)
        self.theorem_6 += split.ranked() and not synchronous

    def _add_to_lemma_1(self, split: Split) -> None:
        chains, by_letter, of_chains = against_lemma_1(split)
        self.chains_differ += chains
        self.lemma_1 += by_letter
        self.lemma_1_of_chains += of_chains


def _size(c: Computation) -> tuple[int, int]:
    return len(c.messages), len(c.processes)


@cache
def all_splits(quick: bool) -> Splits:
    found = Splits()
    for split in split_up_to(*split_bounds(quick)):
        found.add(split)
    return found


#: Up to so many messages each pair of events is looked at.
FEW = 3


def against_lemma_1(split: Split) -> tuple[int, int, int]:
    """Numbers of pairs of events: those that ↦ by chains relates otherwise than `Split.maps_to`, those that break
    Lemma 1 by the letter, and those of ↦ by chains that it leaves out.
    """
    chains_differ = by_letter = of_chains = 0
    events = [event for m in split.own for event in (split.send[m], split.receive[m])]
    for e, f in permutations(events, 2):
        chain = split.chain_leads(e, f)
        chains_differ += chain != split.maps_to(e, f)
        left_out = not split.is_message(e, f) and not split.lemma_1_as_printed(e, f)
        by_letter += split.maps_to_as_printed(e, f) and left_out
        of_chains += chain and left_out
    return chains_differ, by_letter, of_chains


def against_lemma_2(split: Split) -> tuple[int, int]:
    """To how many pairs of messages Lemma 2 applies, and how many break it."""
    applies = [(a, b) for a, b in split.pairs() if split.maps_to(split.send[a], split.receive[b])]
    breaks = [
        (a, b)
        for a, b in applies
        if not split.leads(split.receive[a], split.receive[b]) and not split.precedes(split.send[a], split.receive[b])
    ]
    return len(applies), len(breaks)
