"""Computations with control messages ([MG] §4.2), and the conditions on them, by their definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations

from crownless.spec.computation import Computation, project
from crownless.spec.enumeration import computations
from crownless.spec.library import is_control


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
