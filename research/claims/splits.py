"""Enumerated computations with control messages ([MG] §4.2): the conditions on them, and their crowns."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations, product
from typing import Any

from crownless.proofs.induction.queue_abstraction import PlainLogic
from crownless.research.theorems.conditions import Conditions
from crownless.spec.computation import Computation, project
from crownless.spec.enumeration import computations
from crownless.spec.library import is_control


@dataclass(frozen=True)
class Split(Conditions):
    """A computation with application messages ([MG]'s ℰ) and control messages (ℰᶜ)."""

    whole: Computation
    own: tuple[int, ...]  #: the application's messages
    logic = PlainLogic()

    def precedes(self, e: int, f: int) -> bool:
        return e < f and self.whole.process_of[e] == self.whole.process_of[f]

    def leads(self, e: int, f: int) -> bool:
        return self.whole.happened_before(e, f)

    def process(self, e: int) -> int:
        return self.whole.process_of[e]

    def send(self, m: int) -> int:
        return self.whole.send_event[m]

    def receive(self, m: int) -> int:
        return self.whole.receive_events[m][self.whole.messages[m].receiver]

    def messages(self, holds: Callable[..., bool], of: int = 2) -> bool:
        return all(holds(*some) for some in product(self.own, repeat=of))

    def events(self, holds: Callable[..., bool], of: int = 2) -> bool:
        return all(holds(*some) for some in product(range(self.whole.event_count), repeat=of))

    def some_message(self, holds: Callable[[int], bool]) -> bool:
        return any(map(holds, self.own))

    def is_message(self, e: int, f: int) -> bool:
        return any((e, f) == (self.send(m), self.receive(m)) for m in self.own)

    @cached_property
    def application(self) -> Computation:
        """The application's view of the computation."""
        return project(self.whole, self.own)

    def leads_within_own_as_printed(self, e: int, f: int) -> bool:
        """[MG]'s →_ℰ by the letter: e ⇝ f, or e ≺ f, or e ≺ s1 and r1 →_ℰ f."""
        return (
            self.is_message(e, f)
            or self.precedes(e, f)
            or any(
                self.precedes(e, self.send(m)) and self.leads_within_own_as_printed(self.receive(m), f)
                for m in self.own
            )
        )

    def leads_within_own(self, e: int, f: int) -> bool:
        """→_ℰ with 'before or the same' for ≺ s1 and for r1 →."""
        return self.precedes(e, f) or any(
            (e == self.send(m) or self.precedes(e, self.send(m)))
            and (self.receive(m) == f or self.leads_within_own(self.receive(m), f))
            for m in self.own
        )

    def chain_leads(self, e: int, f: int) -> bool:
        """True if a chain of events whose first message, if any, is the application's leads from e to f."""
        c = self.whole
        successors = c.immediate_successors()
        line = [x for x in range(e, c.event_count) if c.process_of[x] == c.process_of[e]]
        if f in line[1:]:
            return True
        reached = [self.receive(m) for m in self.own if self.send(m) in line]
        for event in reached:
            reached += [after for after in successors[event] if after not in reached]
        return f in reached

    def own_pairs(self) -> Iterator[tuple[int, int]]:
        """Every ordered pair of events of the application's messages."""
        return permutations([event for m in self.own for event in (self.send(m), self.receive(m))], 2)

    def crown_sizes(self, before: Callable[[int, int], Any]) -> list[int]:
        """The sizes of all crowns among the application's messages by a relation: ≺ (strong crowns), ↦, →_ℰ."""
        links = {(a, b) for a, b in permutations(self.own, 2) if before(self.send(a), self.receive(b))}
        return [
            size
            for size in range(2, len(self.own) + 1)
            for circle in permutations(self.own, size)
            if circle[0] == min(circle)
            and all(pair in links for pair in zip(circle, (*circle[1:], circle[0]), strict=True))
        ]

    def answers_only(self) -> bool:
        """True if each control message acknowledges, after its receive, a different message of the application."""
        answered = set[int]()
        for c, control in enumerate(self.whole.messages):
            if c in self.own:
                continue
            answers = [
                m
                for m in self.own
                if (self.whole.messages[m].sender, self.whole.messages[m].receiver)
                == (control.receiver, control.sender)
                and self.precedes(self.receive(m), self.send(c))
                and m not in answered
            ]
            if not answers:
                return False
            answered.add(answers[0])
        return True


def splits(n: int, m: int) -> Iterator[Split]:
    """Every complete computation of n processes and m messages, at least two of which are the application's."""
    for whole in computations(n, m):
        for size in range(2, m + 1):
            for own in combinations(range(m), size):
                yield Split(whole, own)


def splits_up_to(*bounds: tuple[int, int]) -> list[Split]:
    """All splits of n processes and at most m messages, for each bound (n, m); smallest first."""
    every = [split for n, m in bounds for messages in range(2, m + 1) for split in splits(n, messages)]
    return sorted(every, key=lambda split: (len(split.whole.messages), len(split.whole.processes)))


def split_by_names(whole: Computation) -> Split:
    """The split whose control messages are named c1, c2, …"""
    return Split(whole, tuple(m for m, message in enumerate(whole.messages) if not is_control(message)))
