"""Abstractions of protocols of queues, by the stages of their messages.

A protocol that keeps queues and branches on their contents is plain Python, which z3 cannot run. The proof is about an
*abstraction*: which messages have been sent, posted, got, …, and when; a queue holds the messages that have reached one
stage and not the next, oldest first. The machine's steps are shown to be those of the abstraction (`step_refinement`);
`MachineView` maps a state of the abstraction to one of the machine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

import z3

from crownless.impl.protocol import AppEvent
from crownless.proofs.language.terms import Term, for_all_of

#: A truth value: a z3 term, or a bool.
Truth = Any


class SymbolicLogic:
    """The logic of z3, over sorts of arbitrary size unless others are given."""

    def __init__(self, process: Term = None, message: Term = None) -> None:
        self.sorts: dict[str, Term] = {
            "process": z3.DeclareSort("Process") if process is None else process,
            "message": z3.DeclareSort("Message") if message is None else message,
            "number": z3.IntSort(),
            "truth": z3.BoolSort(),
        }

    def messages(self, holds: Callable[..., Truth], *, of: int = 1) -> Term:
        return for_all_of(self.sorts["message"], holds, of)

    def processes(self, holds: Callable[..., Truth], *, of: int = 1) -> Term:
        return for_all_of(self.sorts["process"], holds, of)

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


class PlainLogic:
    """Python's own truth values: evaluates a condition written for z3 on one computation."""

    def both(self, *all_of: Truth) -> bool:
        """True if all of these hold."""
        return all(all_of)

    def either(self, *any_of: Truth) -> bool:
        """True if any of these holds."""
        return any(any_of)

    def no(self, holds: Truth) -> bool:
        """True if this does not hold."""
        return not holds

    def implies(self, given: Truth, holds: Truth) -> bool:
        """True if the second holds wherever the first does."""
        return not given or holds


Logic = SymbolicLogic | PlainLogic

Sort = Literal["process", "message", "number", "truth"]


class Part(NamedTuple):
    """A function of an abstraction."""

    of: tuple[Sort, ...]
    is_: Sort


def parts(of: Sort, is_: Sort, *names: str) -> dict[str, Part]:
    """Functions of one argument, by name."""
    return {name: Part((of,), is_) for name in names}


class AbstractState:
    """The functions of an abstraction in one state, by name; and the clock, which counts events."""

    def __init__(self, clock: Any, **parts: Callable[..., Any]) -> None:
        self.clock = clock
        self.__dict__.update(parts)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def then(self, **changed: Callable[..., Any]) -> "AbstractState":
        """The state after one event."""
        return AbstractState(**{**self.__dict__, **changed, "clock": self.clock + 1})

    def also(self, **changed: Callable[..., Any]) -> "AbstractState":
        """A further change by the same event."""
        return AbstractState(**{**self.__dict__, **changed})


class Fixed(NamedTuple):
    """Values that an event fixes permanently: for all arguments with `where`, the function is that."""

    where: Callable[..., Truth]
    is_: Callable[..., Any]


class StageEvent(NamedTuple):
    """A possible event: its hypotheses, the values that it fixes, and the state after it."""

    name: str
    given: Mapping[str, Truth]
    after: AbstractState
    fixes: Mapping[str, Fixed] = {}
    #: The application events that it reports.
    happens: Callable[[], Sequence[AppEvent]] = tuple


class Abstraction:
    """Base of all abstractions: nothing is known of their functions. `i`, `m` and `w` are the process that takes the
    next step, the message of the step, and another message.
    """

    #: The functions that events change.
    changing: ClassVar[Mapping[str, Part]]
    #: The fixed attributes of a message or a process.
    lasting: ClassVar[Mapping[str, Part]]

    def __init__(self, logic: SymbolicLogic | None = None) -> None:
        self.logic = logic = SymbolicLogic() if logic is None else logic
        self.before = AbstractState(z3.Int("clock"), **self._functions(self.changing))
        process, message = logic.sorts["process"], logic.sorts["message"]
        self.i, self.m, self.w = z3.Const("i", process), z3.Const("m", message), z3.Const("w", message)
        self.__dict__.update(self._functions(self.lasting))

    def _functions(self, parts: Mapping[str, Part]) -> dict[str, Term]:
        sorts = self.logic.sorts
        return {
            name: z3.Function(name, *map(sorts.__getitem__, part.of), sorts[part.is_]) for name, part in parts.items()
        }

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def start(self) -> AbstractState:
        """The initial state: no predicate holds, and all other functions are arbitrary."""

        def never(*_: object) -> Truth:
            return self.logic.either()

        parts = {
            name: never if part.is_ == "truth" else getattr(self.before, name) for name, part in self.changing.items()
        }
        return AbstractState(self.before.clock, **parts)

    def now_also(self, name: str, x: Any) -> dict[str, Callable[..., Truth]]:
        """A predicate on messages or processes, made true of x as well."""
        before = getattr(self.before, name)
        return {name: lambda y: self.logic.either(before(y), y == x)}

    def at_this_time(self, name: str, x: Any) -> dict[str, Fixed]:
        """The times of messages, with that of x set to now."""
        return {name: Fixed(lambda y: y == x, lambda y: self.before.clock)}

    def events(self) -> list[StageEvent]:
        """All possible events of i, m and w."""
        raise NotImplementedError


def can(run: Abstraction, *names: str) -> Truth:
    """True if any of these events may happen."""
    events = [event for event in run.events() if event.name in names]
    return run.logic.either(*(run.logic.both(*event.given.values()) for event in events))


def fifo_preservation_claims(
    run: Abstraction, queue: str, inside: Callable[[AbstractState, Any, Any], Truth], at: Callable[[Any], Any]
) -> dict[str, tuple[dict[str, Truth], Truth]]:
    """Claims, one per event: a message waiting in a queue is not overtaken there. `inside`: state, process, message →
    True if the message is in the queue of the process. `at`: when it entered.
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
        for event in run.events()
    }


def fixed_by(run: Abstraction, event: StageEvent) -> dict[str, Term]:
    """The values that an event fixes, as formulas."""
    said = {}
    for name, (where, is_) in event.fixes.items():
        some = [z3.FreshConst(run.logic.sorts[sort], "x") for sort in run.lasting[name].of]
        value = getattr(run, name)(*some)
        said[f"{name} is fixed"] = z3.ForAll(some, z3.Implies(where(*some), value == is_(*some)))
    return said


#: Name → a statement about one state of a run, in a logic.
Invariants = Mapping[str, Callable[[Any, AbstractState, SymbolicLogic], Truth]]


# -- a machine's local states and packets, as functions of a state of its abstraction ----------------------------------

#: Abstraction, state, process, message → True if it is inside
Inside = Callable[[Any, AbstractState, Any, Any], Truth]


def _itself(run: Abstraction, x: Any) -> Any:
    return x


@dataclass(frozen=True)
class QueueField:
    """A queue of the messages that are inside, first come first."""

    inside: Inside
    #: When a message entered the queue.
    at: Callable[[Any, Any], Any]
    #: The queue element that represents a message.
    element: Callable[[Any, Any], Any] = _itself


@dataclass(frozen=True)
class FlagField:
    """A boolean."""

    holds: Callable[[Any, AbstractState, Any], Truth]


@dataclass(frozen=True)
class OptionField:
    """A process, or None."""

    there: Callable[[Any, AbstractState, Any], Truth]
    value: Callable[[Any, AbstractState, Any], Any]


@dataclass(frozen=True)
class PacketKind:
    """The packets of one kind: one for each message that has such a packet in flight."""

    in_flight: Callable[[Any, AbstractState, Any], Truth]
    source: Callable[[Any, Any], Any]
    destination: Callable[[Any, Any], Any]
    #: True if it carries the message. Otherwise it is empty.
    carries: bool = True


@dataclass(frozen=True)
class MachineView:
    """The machine's local state, field by field, and its packets, kind by kind; and the events of each input."""

    state: Callable[..., Any]
    fields: Mapping[str, QueueField | FlagField | OptionField]
    packets: Mapping[str, PacketKind]
    #: True if a message has not been submitted yet.
    fresh: Callable[[Any, AbstractState, Any], Truth]
    #: The possible events of submitting a message; likewise of an application's request for one, and of an internal
    #: step.
    on_send: Sequence[str] = ()
    on_receive: Sequence[str] = ()
    on_internal: Sequence[str] = ()
    #: The possible events of receiving a packet of each kind.
    on_packet: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<view of {', '.join(self.fields)}>"
