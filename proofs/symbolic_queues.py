"""Queues of any content, on which a machine's own step runs for z3.

A queue is a sequence of pieces: single elements, and stretches of any number of elements, oldest first. A step may ask
whether a queue is empty, take its oldest element, append to it, and do one thing for each of its elements. All else
raises `UnsupportedStep`: length, index, slice, comparison, membership, order. So a step cannot distinguish a longer
queue from a shorter one but by its end, and what is shown of it is shown of every length. Processes and messages are
symbols: they can be compared with each other, processes by size only where the protocol ranks them, and with no
constant; so no step can single one out. `any_queue_machine` makes a machine's own code run on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import z3

from crownless.impl.protocol_validation import WrongMachine
from crownless.spec.printable import error_line

from .terms import Term


class UnsupportedStep(Exception):
    """The step does something that is not shown for queues of any content; says what."""


def _refusing(*names: str) -> dict[str, Callable[..., Any]]:
    def refuse(name: str) -> Callable[..., Any]:
        def method(self: Any, *_: object, **__: object) -> Any:
            raise UnsupportedStep(f"a step uses {name.strip('_')} of {self.noun}")

        return method

    return {name: refuse(name) for name in names}


_ARITHMETIC = ("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__mod__", "__rmod__", "__neg__")
_ORDER = ("__lt__", "__le__", "__gt__", "__ge__")
_SHOWING = ("__repr__", "__str__", "__format__", "__hash__", "__int__", "__index__", "__float__")
_CONTAINING = ("__len__", "__iter__", "__getitem__", "__contains__", "__reversed__", "__call__")


class Opaque:
    """Base of values of which most may not be asked."""

    noun = "a value"

    def __getattr__(self, name: str) -> Any:
        raise UnsupportedStep(f"a step reads {name} of {type(self).noun}")


for _name, _method in _refusing(*_ARITHMETIC, *_ORDER, *_SHOWING, *_CONTAINING, "__bool__", "__eq__", "__ne__").items():
    setattr(Opaque, _name, _method)


class NumberOfProcesses(Opaque):
    """Nothing may be asked of it."""

    noun = "the number of processes"


@dataclass
class Path:
    """One way through a step: how its questions were answered."""

    answers: list[bool]
    #: How long a rank is, if processes have one.
    rank: Callable[[Term], Term] | None
    conditions: list[Term] = field(default_factory=list)
    #: The oldest elements, as messages, of the queues that were found not to be empty.
    oldest: list[Term] = field(default_factory=list)
    asked: int = 0
    #: Within a comprehension over a queue nothing may be asked: there are any number of elements.
    within_queue: bool = False

    def decide(self, yes: Sequence[Term], no: Sequence[Term]) -> bool:
        if self.within_queue:
            raise UnsupportedStep("a step asks something of each element of a queue")
        if self.asked == len(self.answers):
            self.answers.append(True)
        answer = self.answers[self.asked]
        self.asked += 1
        self.conditions += yes if answer else no
        return answer

    def holds(self, term: Term) -> bool:
        return self.decide([term], [z3.Not(term)])


#: Paths of one step; a step with more is refused.
MOST_PATHS = 200


def every_path(step: Callable[[Path], Any], rank: Callable[[Term], Term] | None) -> list[tuple[Path, Any]]:
    """All ways through a step, and what it yields on each."""
    found: list[tuple[Path, Any]] = []
    answers: list[bool] | None = []
    while answers is not None:
        path = Path(answers, rank)
        try:
            found.append((path, step(path)))
        except WrongMachine:
            raise
        except (AssertionError, AttributeError, IndexError, KeyError, NameError, TypeError, ValueError) as error:
            raise UnsupportedStep(f"a step raises {error_line(error)}") from error
        if len(found) > MOST_PATHS:
            raise UnsupportedStep(f"a step has more than {MOST_PATHS} ways through")
        answers = list(path.answers)
        while answers and not answers[-1]:
            answers.pop()
        answers = [*answers[:-1], False] if answers else None
    return found


class Truth(Opaque):
    """A truth: Python's `if` takes both ways, one after the other."""

    noun = "a truth"

    def __init__(self, term: Term, path: Path) -> None:
        self.term, self.path = term, path

    def __bool__(self) -> bool:
        return self.path.holds(self.term)


class _Symbol(Opaque):
    def __init__(self, term: Term, path: Path) -> None:
        self.term, self.path = term, path

    def _same(self, other: object) -> Truth | bool:
        if other is None:
            return False
        if type(other) is not type(self):
            raise UnsupportedStep(f"a step compares {self.noun} with something else")
        return Truth(self.term == other.term, self.path)

    def __eq__(self, other: object) -> Any:
        return self._same(other)

    def __ne__(self, other: object) -> Any:
        same = self._same(other)
        return Truth(z3.Not(same.term), self.path) if isinstance(same, Truth) else True

    __hash__ = None  # type: ignore[assignment]


class ProcessSymbol(_Symbol):
    noun = "a process"

    def _rank(self, other: object) -> tuple[Term, Term]:
        if self.path.rank is None:
            raise UnsupportedStep("a step compares processes by size")
        if not isinstance(other, ProcessSymbol):
            raise UnsupportedStep("a step compares a process with something else")
        return self.path.rank(self.term), self.path.rank(other.term)

    def __lt__(self, other: object) -> Truth:
        mine, its = self._rank(other)
        return Truth(mine < its, self.path)

    def __gt__(self, other: object) -> Truth:
        mine, its = self._rank(other)
        return Truth(mine > its, self.path)

    def __le__(self, other: object) -> Truth:
        mine, its = self._rank(other)
        return Truth(mine <= its, self.path)

    def __ge__(self, other: object) -> Truth:
        mine, its = self._rank(other)
        return Truth(mine >= its, self.path)


class MessageSymbol(_Symbol):
    noun = "a message"

    def __init__(self, term: Term, path: Path, sender: ProcessSymbol, receiver: ProcessSymbol) -> None:
        super().__init__(term, path)
        self.sender, self.receiver = sender, receiver


class Stretch(NamedTuple):
    """Any number of elements: those messages that are inside, by the time at which each came."""

    inside: Callable[[Term], Term]
    at: Callable[[Term], Term]
    #: The element that stands for a message.
    element: Callable[[Term], Any]

    def without(self, message: Term) -> Stretch:
        return self._replace(inside=lambda x: z3.And(self.inside(x), x != message))


class One(NamedTuple):
    """A single element."""

    value: Any


class Queue(Opaque):
    """Pieces, oldest first."""

    noun = "a queue"

    def __init__(self, pieces: Iterable[Stretch | One], path: Path, message: Term) -> None:
        self.pieces, self.path, self.message = list(pieces), path, message

    def __bool__(self) -> bool:
        """Splits off the oldest element, if there is one."""
        while self.pieces:
            first = self.pieces[0]
            if isinstance(first, One):
                return True
            oldest, x = z3.FreshConst(self.message, "oldest"), z3.FreshConst(self.message, "x")
            is_oldest = z3.ForAll([x], z3.Implies(first.inside(x), first.at(oldest) <= first.at(x)))
            empty = z3.ForAll([x], z3.Not(first.inside(x)))
            if self.path.decide([first.inside(oldest), is_oldest], [empty]):
                self.path.oldest.append(oldest)
                self.pieces[:1] = [One(first.element(oldest)), first.without(oldest)]
                return True
            del self.pieces[0]
        return False

    def without_oldest(self) -> tuple[Any, Queue]:
        if not self:
            raise UnsupportedStep("a step takes the oldest element of a queue that may be empty")
        first, *rest = self.pieces
        assert isinstance(first, One)
        return first.value, Queue(rest, self.path, self.message)
