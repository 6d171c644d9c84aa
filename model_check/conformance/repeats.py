"""Repetitions of answers by new nodes: which ones, how often, and the randomness that they exclude."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

from crownless.spec.printable import in_brackets, some

from .node import Answer, Arrival, NodeFailure, Query, Send, Transmits, name_for_nodes

#: So often the answers to inputs of each kind are repeated, by as many new nodes: a fair coin is missed by all of them
#: with a probability of 2 ** -20, which is less than that.
ROUNDS, MISSED = 20, 1e-6


def in_rounds(known: Mapping[Query, Answer | NodeFailure], most: int) -> Iterator[list[Query]]:
    """The queries to repeat, at most so many: in each of the first rounds one of each kind, and then all others. What
    fails comes once of each kind, since it ends its node; a hang takes all the time there is.
    """
    kinds: dict[Hashable, list[Query]] = {}
    for key, answer in known.items():
        if isinstance(answer, Answer) or answer.kind in ("node-fails", "invents", "not-understood"):
            kinds.setdefault(kind_of(key, answer), []).append(key)
    for number in range(ROUNDS):
        again = [next(islice(cycle(keys), number, None)) for kind, keys in kinds.items() if _may_repeat(kind, number)]
        yield again[:most]
        most -= len(again[:most])
    yield [key for kind, keys in kinds.items() if _may_repeat(kind, ROUNDS) for key in keys[ROUNDS:]][:most]


def _may_repeat(kind: Hashable, number: int) -> bool:
    return number == 0 or not isinstance(kind, str)


def kind_of(key: Query, answer: Answer | NodeFailure) -> Hashable:
    """What inputs have in common that differ in the names of processes and messages, and in what is in packets: their
    history and their outputs, with processes and messages numbered as they come.
    """
    if isinstance(answer, NodeFailure):
        return answer.kind
    process, history, given = key
    numbers: dict[Hashable, int] = {process: 0}

    def number(name: Hashable) -> int:
        return numbers.setdefault(name, len(numbers))

    parts: list[Hashable] = []
    for one in (*history, given):
        parts.append(type(one).__name__)
        sends = [one.message, *one.replies] if isinstance(one, Send) else one.replies
        parts += [number(name) for each in sends for name in (*each.receivers, name_for_nodes(each))]
        parts += [number(one.source)] if isinstance(one, Arrival) else []
    for output in answer.outputs:
        parts += [type(output).__name__, number(output.to if isinstance(output, Transmits) else output.message)]
    return tuple(parts)


@dataclass
class Repeats:
    """How often answers were repeated by new nodes, and compared. `inputs`: how many different ones there were."""

    inputs: int = 0
    of_input: Counter[Query] = field(default_factory=Counter)
    of_kind: Counter[Hashable] = field(default_factory=Counter)
    #: Of sends, arrivals, and so on.
    of_type: Counter[type] = field(default_factory=Counter)

    def __repr__(self) -> str:
        return in_brackets(some(self.all, "repeated answer"))

    def note(self, key: Query, answer: Answer | NodeFailure) -> None:
        """One answer was repeated."""
        self.of_input[key] += 1
        self.of_kind[kind_of(key, answer)] += 1
        self.of_type[type(key[2])] += 1

    @property
    def all(self) -> int:
        """How many answers were repeated."""
        return self.of_input.total()

    @property
    def least_of_input(self) -> int:
        """How often each input was repeated at least."""
        return min(self.of_input.values()) if 0 < self.inputs == len(self.of_input) else 0

    @property
    def least_of_kind(self) -> int:
        """The same for each kind of inputs that do not fail."""
        return min((number for kind, number in self.of_kind.items() if not isinstance(kind, str)), default=0)

    @property
    def excluded(self) -> float:
        """The least probability with which a node would have been noticed, but for one chance in a million, that
        answers otherwise with this probability at every input of one type.
        """
        return 1 - MISSED ** (1 / min(self.of_type.values())) if self.of_type else 1.0

    def __str__(self) -> str:
        least = self.least_of_input
        each = f"each at least {'once' if least == 1 else f'{least} times'}" if least else "a sample"
        if self.least_of_kind >= ROUNDS:
            each += f", each of {some(len(self.of_kind), 'kind')} of inputs at least {self.least_of_kind} times"
        random = f"{max(self.excluded * 100, 0.1):.1f} %"
        return (
            f"{some(self.all, 'answer')} repeated by new nodes: {each}; a node that answers otherwise with a "
            f"probability of {random} or more at every send, or at every packet, is noticed, but for one chance in a "
            "million"
        )

    def json(self) -> dict[str, Any]:
        return {
            "answers": self.all,
            "least_of_input": self.least_of_input,
            "kinds": len(self.of_kind),
            "least_of_kind": self.least_of_kind,
            "excluded_probability": self.excluded,
        }
