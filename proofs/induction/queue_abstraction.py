"""Abstractions of protocols of queues, by the stages that their messages go through.

A protocol that keeps queues and asks what is in them is plain Python, which z3 cannot run. What is proved of it is
proved of an *abstraction*: which messages have been sent, posted, got, …, and when; a queue is what has come to one
stage and not to the next, oldest first. An abstraction is written once, in a logic that has two readings: with
`SymbolicLogic` z3 proves it for every n; with `ConcreteLogic` it runs beside the protocol's own machine, which is how
`refinement` shows, up to a bound, that the machine does what the abstraction does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import z3

from crownless.impl.protocol import AppEvent
from crownless.proofs.language.terms import Term

#: A truth: a z3 term, or a bool.
Truth = Any


class Logic(Protocol):
    """The logic in which an abstraction is written."""

    def messages(self, holds: Callable[..., Truth], *, of: int = 1) -> Truth:
        """For all messages, or all pairs of them, …"""

    def processes(self, holds: Callable[..., Truth], *, of: int = 1) -> Truth:
        """For all processes, or all pairs of them."""

    def both(self, *all_of: Truth) -> Truth:
        """All of these hold."""

    def either(self, *any_of: Truth) -> Truth:
        """Any of these holds."""

    def no(self, holds: Truth) -> Truth:
        """This does not hold."""

    def implies(self, given: Truth, holds: Truth) -> Truth:
        """If the first holds, so does the second."""

    def choose(self, given: Truth, this: Any, other: Any) -> Any:
        """The one value if it holds, else the other."""


class SymbolicLogic:
    """The logic of z3, over sorts of any number of processes and messages, unless others are given."""

    def __init__(self, process: Term = None, message: Term = None) -> None:
        self.sorts: dict[str, Term] = {
            "process": z3.DeclareSort("Process") if process is None else process,
            "message": z3.DeclareSort("Message") if message is None else message,
            "number": z3.IntSort(),
            "truth": z3.BoolSort(),
        }

    def messages(self, holds: Callable[..., Truth], *, of: int = 1) -> Term:
        return self._all("message", holds, of)

    def processes(self, holds: Callable[..., Truth], *, of: int = 1) -> Term:
        return self._all("process", holds, of)

    def both(self, *all_of: Truth) -> Term:
        return z3.And(*all_of)

    def either(self, *any_of: Truth) -> Term:
        return z3.Or(*any_of) if any_of else z3.BoolVal(False)

    def no(self, holds: Truth) -> Term:
        return z3.Not(holds)

    def implies(self, given: Truth, holds: Truth) -> Term:
        return z3.Implies(given, holds)

    def choose(self, given: Truth, this: Any, other: Any) -> Term:
        this, other = (z3.StringVal(value) if isinstance(value, str) else value for value in (this, other))
        return z3.If(given, this, other)

    def _all(self, sort: str, holds: Callable[..., Truth], of: int) -> Term:
        some = [z3.FreshConst(self.sorts[sort], sort[0]) for _ in range(of)]
        return z3.ForAll(some, holds(*some))


@dataclass
class ConcreteLogic:
    """Python's truth, over these processes and messages; more messages may come."""

    n: int
    all_messages: list[Any] = field(default_factory=list)

    def messages(self, holds: Callable[..., Truth], *, of: int = 1) -> bool:
        return all(holds(*some) for some in product(self.all_messages, repeat=of))

    def processes(self, holds: Callable[..., Truth], *, of: int = 1) -> bool:
        return all(holds(*some) for some in product(range(self.n), repeat=of))

    def both(self, *all_of: Truth) -> bool:
        return all(all_of)

    def either(self, *any_of: Truth) -> bool:
        return any(any_of)

    def no(self, holds: Truth) -> bool:
        return not holds

    def implies(self, given: Truth, holds: Truth) -> bool:
        return not given or holds

    def choose(self, given: Truth, this: Any, other: Any) -> Any:
        return this if given else other


Sort = Literal["process", "message", "number", "truth"]


class Part(NamedTuple):
    """A function that an abstraction speaks of."""

    of: tuple[Sort, ...]
    is_: Sort


class AbstractState:
    """The functions of an abstraction at one moment, by name; and the clock, which counts events."""

    def __init__(self, clock: Any, **parts: Callable[..., Any]) -> None:
        self.clock = clock
        self.__dict__.update(parts)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def then(self, **changed: Callable[..., Any]) -> AbstractState:
        """After one event."""
        return AbstractState(**{**self.__dict__, **changed, "clock": self.clock + 1})

    def also(self, **changed: Callable[..., Any]) -> AbstractState:
        """By the same event."""
        return AbstractState(**{**self.__dict__, **changed})


class Fixed(NamedTuple):
    """A function's values that an event fixes for good: for all arguments with `where`, the function is that."""

    where: Callable[..., Truth]
    is_: Callable[..., Any]


class StageEvent(NamedTuple):
    """Something that may happen: what is given when it does, what is fixed by it, and what is then."""

    name: str
    given: Mapping[str, Truth]
    after: AbstractState
    fixes: Mapping[str, Fixed] = {}
    #: What has then happened for applications.
    happens: Callable[[], Sequence[AppEvent]] = tuple


class About(NamedTuple):
    """The process that takes a step, the message that it is about, and another one."""

    process: Any
    message: Any
    another: Any


class Abstraction:
    """Base of all; `i`, `m` and `w` are the process that takes the next step, and the messages that it is about."""

    #: What changes as events happen.
    changing: ClassVar[Mapping[str, Part]]
    #: What belongs to a message, or a process, for good.
    lasting: ClassVar[Mapping[str, Part]]

    def __init__(
        self, logic: Logic, lasting: Mapping[str, Callable[..., Any]], before: AbstractState, about: About
    ) -> None:
        self.logic = logic
        self.before = before
        self.i, self.m, self.w = about
        self.__dict__.update(lasting)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def start(self) -> AbstractState:
        """Nothing has happened: no truth holds, and all else is as it may be."""

        def never(*_: object) -> Truth:
            return self.logic.either()

        parts = {
            name: never if part.is_ == "truth" else getattr(self.before, name) for name, part in self.changing.items()
        }
        return AbstractState(self.before.clock, **parts)

    def now_also(self, name: str, x: Any) -> dict[str, Callable[..., Truth]]:
        """A truth about messages or processes, which now holds of x too."""
        before = getattr(self.before, name)
        return {name: lambda y: self.logic.either(before(y), y == x)}

    def at_this_time(self, name: str, x: Any) -> dict[str, Fixed]:
        """A time of messages, of which that of x is now."""
        return {name: Fixed(lambda y: y == x, lambda y: self.before.clock)}

    def events(self) -> list[StageEvent]:
        """All that may happen to i and m."""
        raise NotImplementedError

    def events_with_another(self) -> list[StageEvent]:
        """All that may happen to i, m and w."""
        return []


def symbolic(kind: type[Abstraction], logic: SymbolicLogic | None = None) -> Abstraction:
    """The abstraction for z3: nothing is known of any of its functions."""
    logic = SymbolicLogic() if logic is None else logic
    sorts = logic.sorts

    def functions(parts: Mapping[str, Part]) -> dict[str, Term]:
        return {
            name: z3.Function(name, *map(sorts.__getitem__, part.of), sorts[part.is_]) for name, part in parts.items()
        }

    about = About(z3.Const("i", sorts["process"]), z3.Const("m", sorts["message"]), z3.Const("w", sorts["message"]))
    before = AbstractState(z3.Int("clock"), **functions(kind.changing))
    return kind(logic, functions(kind.lasting), before, about)


def can(run: Abstraction, *names: str) -> Truth:
    """True if any of these events may happen."""
    events = [event for event in (*run.events(), *run.events_with_another()) if event.name in names]
    return run.logic.either(*(run.logic.both(*event.given.values()) for event in events))


def fifo_preservation_claims(
    run: Abstraction, queue: str, inside: Callable[[AbstractState, Any, Any], Truth], at: Callable[[Any], Any]
) -> dict[str, tuple[dict[str, Truth], Truth]]:
    """Claims, one an event: what stays in a queue is not overtaken there. `inside`: state, process, message
    → True if the message is in the queue of the process. `at`: when it came there.
    """
    now, l = run.before, run.logic

    def ahead(then: AbstractState, p: Any, x: Any, y: Any) -> Truth:
        return l.both(inside(then, p, y), at(y) < at(x))

    def overtaken(after: AbstractState, p: Any, x: Any, y: Any) -> Truth:
        stays = l.both(inside(now, p, x), inside(after, p, x))
        return l.both(stays, l.no(ahead(now, p, x, y)), ahead(after, p, x, y))

    def none(after: AbstractState) -> Truth:
        return l.processes(lambda p: l.messages(lambda x, y: l.no(overtaken(after, p, x, y)), of=2))

    return {
        f"{event.name}: nothing comes ahead in {queue}": (
            {**event.given, **fixed_by(run, event)},
            none(event.after),
        )
        for event in (*run.events(), *run.events_with_another())
    }


def fixed_by(run: Abstraction, event: StageEvent) -> dict[str, Term]:
    """The values that an event fixes, as formulas."""
    logic = run.logic
    assert isinstance(logic, SymbolicLogic)
    said = {}
    for name, (where, is_) in event.fixes.items():
        some = [z3.FreshConst(logic.sorts[sort], "x") for sort in run.lasting[name].of]
        value = getattr(run, name)(*some)
        said[f"{name} is fixed"] = z3.ForAll(some, z3.Implies(where(*some), value == is_(*some)))
    return said


#: Name → what is said of a run at one moment, in a logic.
Invariants = Mapping[str, Callable[[Any, AbstractState, Logic], Truth]]
