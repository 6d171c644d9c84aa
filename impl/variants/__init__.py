"""Variants of protocols: a protocol with named pieces overridden, and what is known about it.

`variant` makes one. `breaks` says which rule of the text it breaks, and which property shows that, with the smallest
processes and messages, and the actions of a shortest run; `keeps` says that a check notices nothing. Both take a class:

    @breaks("[MG] §2: a message waits for those before it", fifo=(2, 2, 3))
    class DeliversInAnyOrder(FifoSequence): ...

or, for a variant of a few expressions, a protocol and what is overridden:

    DeliversInAnyOrder = breaks("[MG] §2: a message waits for those before it", fifo=(2, 2, 3))(
        FifoSequence, deliverable=lambda self, i, state, packet: True
    )

`variants_in(globals())`, as the last line of a module, names its variants after the variables, and returns the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, cast

from crownless.impl.protocol import Packet, ProtocolMachine, Setting, Step
from crownless.spec.enumeration import Sends

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
    catches: tuple[Catch, ...]
    in_programs: tuple[ProgramCatch, ...]


class Harmless(NamedTuple):
    """A variant that keeps what its protocol promises at a bound, and what that says about the text."""

    machine: Machine
    finding: str
    processes: int
    messages: int
    states: int
    setup: Setup
    #: Situations of the protocol that the variant does not know.
    never_reaches: frozenset[str]


#: What is known of each variant; kept beside the classes, since proofs read their attributes.
_KNOWN: dict[Machine, list[Fault | Harmless]] = {}


def variant(base: M, name: str = "", **overrides: Any) -> M:
    """The protocol with these methods and facts overridden; each must be one that it has."""
    unknown = [piece for piece in overrides if not hasattr(base, piece)]
    assert not unknown, f"{base.__name__} has no {', '.join(unknown)} to override"
    for piece, value in overrides.items():
        if isinstance(value, FunctionType) and value.__name__ == "<lambda>":
            value.__name__ = piece
    return cast("M", type(name or base.__name__, (base,), {"__doc__": base.__doc__, **overrides}))


@dataclass(frozen=True)
class Known:
    """What is known of a variant, which it is called with: a class, or a protocol and what is overridden."""

    row: type[Fault] | type[Harmless]
    facts: tuple[Any, ...]

    def __call__(self, machine: M, **overrides: Any) -> M:
        made = variant(machine, **overrides) if overrides else machine
        _KNOWN.setdefault(made, []).append(self.row(made, *self.facts))
        return made


def breaks(
    rule: str, *catches: Catch | ProgramCatch, setup: Setup = USUAL, **properties: tuple[int, int, int]
) -> Known:
    """The variant breaks this rule of its text.

    :param properties: what shows it, `delivers_all=(processes, messages, actions)`; checked over `setup`.
    :param catches: what shows it in a program, or over another setup.
    """
    shown = [Catch(name.replace("_", "-"), *least, setup) for name, least in properties.items()]
    programs = [catch for catch in catches if isinstance(catch, ProgramCatch)]
    others = [catch for catch in catches if isinstance(catch, Catch)]
    return Known(Fault, (rule, (*shown, *others), tuple(programs)))


def keeps(
    finding: str, explored: tuple[int, int, int], setup: Setup = USUAL, never_reaches: frozenset[str] = frozenset()
) -> Known:
    """The variant keeps every property.

    :param explored: at how many processes and messages, and how many states it has there.
    """
    return Known(Harmless, (finding, *explored, setup, never_reaches))


# -- steps of a protocol, with something changed -----------------------------------------------------------------------


def restamped(steps: Sequence[Step], stamp: Callable[[Packet], Any]) -> list[Step]:
    """The steps, in which each packet carries another stamp."""
    return [step._replace(packets=[packet._replace(stamp=stamp(packet)) for packet in step.packets]) for step in steps]


def changed(steps: Sequence[Step], state: Callable[[Any], Any]) -> list[Step]:
    """The steps, which lead to another local state."""
    return [step._replace(state=state(step.state)) for step in steps]


def twice(steps: Sequence[Step]) -> list[Step]:
    """The steps, in which all application events happen twice."""
    return [step._replace(events=[*step.events, *step.events]) for step in steps]


# -- the variants of a module ------------------------------------------------------------------------------------------


def variants_in(module: Mapping[str, Any]) -> tuple[Fault | Harmless, ...]:
    """The variants that a module makes, named after its variables, in the order in which they stand there."""
    rows: list[Fault | Harmless] = []
    for name, value in module.items():
        if isinstance(value, type) and value in _KNOWN and value.__module__ in (__name__, module["__name__"]):
            value.__name__ = value.__qualname__ = name
            value.__module__ = module["__name__"]
            rows += _KNOWN[value]
    return tuple(rows)
