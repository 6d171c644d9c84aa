"""Variants of protocols: a protocol with named pieces overridden, and what is known of it.

`variant` makes one. `fault` and `breaks` say which rule of the text it breaks, and which property at which bound shows
that; `harmless` and `keeps` say that a check notices nothing. A variant of a few expressions is written as overrides:

    DeliversInAnyOrder = fault(
        FifoSequence,
        "[MG] §2: a message waits for those before it",
        Catch("fifo", 2, 2, 3),
        deliverable=lambda self, i, state, packet: True,
    )

and a longer one as a class:

    @breaks("[MG] §2: a message waits for those before it", Catch("fifo", 2, 2, 3))
    class DeliversInAnyOrder(FifoSequence):
        ...

`variants_in(globals())`, as the last line of a module, names its variants after the variables, and returns the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

from crownless.spec.enumeration import Sends

from ..protocol import ProtocolMachine, Setting

Machine = type[ProtocolMachine]
M = TypeVar("M", bound=Machine)


class Setup(NamedTuple):
    """The scope of a check, where it is not the unordered channel and the protocol's own workload."""

    channel: str = "unordered"
    sends: Sends | None = None
    crash: str | None = None
    parameters: Mapping[str, Setting] = {}


USUAL = Setup()


class Catch(NamedTuple):
    """A property that a fault breaks: the smallest bound that shows it, and the actions of a shortest such run."""

    property: str
    processes: int
    messages: int
    actions: int
    setup: Setup = USUAL


class ProgramCatch(NamedTuple):
    """A property that a fault breaks in a program, since the free workload takes whatever is delivered."""

    property: str
    program: str
    actions: int
    setup: Setup = USUAL


class Fault(NamedTuple):
    """A machine with a fault, the rule of the text that it breaks, and what catches it: first what names the fault."""

    machine: Machine
    rule: str
    catches: tuple[Catch | ProgramCatch, ...]


class Harmless(NamedTuple):
    """A variant that keeps what its protocol promises at a bound, and what that says about the text."""

    machine: Machine
    finding: str
    processes: int
    messages: int
    states: int
    setup: Setup = USUAL
    #: Situations of the protocol that the variant does not know.
    never_reaches: frozenset[str] = frozenset()


#: What is known of each variant; kept beside the classes, since proofs read their attributes.
_KNOWN: dict[Machine, Fault | Harmless] = {}


def variant(base: Machine, name: str = "", **overrides: Any) -> Machine:
    """The protocol with these methods and facts overridden; each must be one that it has."""
    unknown = [piece for piece in overrides if not hasattr(base, piece)]
    assert not unknown, f"{base.__name__} has no {', '.join(unknown)} to override"
    for piece, value in overrides.items():
        if isinstance(value, FunctionType) and value.__name__ == "<lambda>":
            value.__name__ = piece
    return type(name or base.__name__, (base,), {"__doc__": base.__doc__, **overrides})


def breaks(rule: str, *catches: Catch | ProgramCatch) -> Callable[[M], M]:
    """The class breaks this rule of its text, which these properties show."""

    def known(machine: M) -> M:
        _KNOWN[machine] = Fault(machine, rule, catches)
        return machine

    return known


def fault(base: Machine, rule: str, *catches: Catch | ProgramCatch, **overrides: Any) -> Machine:
    """A variant that breaks this rule of the text, which these properties show."""
    return breaks(rule, *catches)(variant(base, **overrides))


def keeps(
    finding: str,
    processes: int,
    messages: int,
    states: int,
    setup: Setup = USUAL,
    never_reaches: frozenset[str] = frozenset(),
) -> Callable[[M], M]:
    """The class keeps every property at this bound, with as many states."""

    def known(machine: M) -> M:
        _KNOWN[machine] = Harmless(machine, finding, processes, messages, states, setup, never_reaches)
        return machine

    return known


def harmless(
    base: Machine,
    finding: str,
    processes: int,
    messages: int,
    states: int,
    setup: Setup = USUAL,
    never_reaches: frozenset[str] = frozenset(),
    **overrides: Any,
) -> Machine:
    """A variant that keeps every property at this bound, with as many states."""
    return keeps(finding, processes, messages, states, setup, never_reaches)(variant(base, **overrides))


def variants_in(module: Mapping[str, Any]) -> tuple[Fault | Harmless, ...]:
    """The variants that a module makes, named after its variables, in the order in which they stand there."""
    rows = []
    for name, value in list(module.items()):
        if isinstance(value, type) and (row := _KNOWN.get(value)) and value.__module__ in (__name__, module["__name__"]):
            value.__name__ = value.__qualname__ = name
            value.__module__ = module["__name__"]
            rows.append(row)
    return tuple(rows)
