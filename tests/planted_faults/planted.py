"""How a fault is planted: a protocol with pieces overridden, and what is known of the machine.

    DeliversInAnyOrder = breaks(fifo=(2, 2, 3))(FifoSequence, deliverable=always)

The name says which rule of the protocol's text is broken. `breaks` says which properties show that, each with the
smallest processes and messages and the actions of a shortest run; `keeps` says that a check does not notice the
variation, and a comment what that says about the text. Both take a protocol and what is overridden, by the name of a
method or by a keyword that says what changes in one (`stamped=…` for `send`, see `overrides`), or decorate a class.
`planted_in(globals())`, as the last line of a table, names its machines after the variables, and returns the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from overrides import CHANGES, Override

from crownless.impl.protocol import ProtocolMachine, Setting
from crownless.impl.variant import variant
from crownless.spec.enumeration import Sends

Machine = type[ProtocolMachine]
M = TypeVar("M", bound=Machine)


# -- what is known of a machine ----------------------------------------------------------------------------------------


class Setup(NamedTuple):
    """The scope of a check; by default it has the channel that the protocol needs, and its own workload."""

    channel: str = ""
    sends: Sends | None = None
    crash: str | None = None
    parameters: Mapping[str, Setting] = {}


#: The channel that the protocol needs; the unordered one.
ITS_OWN, USUAL = Setup(), Setup("unordered")


class Catch(NamedTuple):
    """A property that a fault breaks: the smallest bound that shows it, and the actions of a shortest such run."""

    property: str
    processes: int
    messages: int
    actions: int
    setup: Setup = ITS_OWN


class ProgramCatch(NamedTuple):
    """A property that a fault breaks in a program, since the free workload takes whatever is delivered."""

    property: str
    program: str
    actions: int
    setup: Setup = ITS_OWN


class Fault(NamedTuple):
    """A machine with a fault, and what catches it: first what names the fault."""

    machine: Machine
    catches: tuple[Catch, ...]
    in_programs: tuple[ProgramCatch, ...]


class Harmless(NamedTuple):
    """A variation that keeps what its protocol promises at a bound."""

    machine: Machine
    processes: int
    messages: int
    states: int
    setup: Setup
    #: Situations of the protocol that the variant does not know.
    never_reaches: frozenset[str]


#: What is known of each machine; kept beside the classes, since proofs read their attributes.
_KNOWN: dict[Machine, list[Fault | Harmless]] = {}


@dataclass(frozen=True)
class Known:
    """What is known of a machine, which it is called with: a class, or a protocol and what is overridden."""

    row: type[Fault] | type[Harmless]
    facts: tuple[Any, ...]

    def __call__(self, machine: M, **overrides: Any) -> M:
        pieces: dict[str, Any] = {}
        for name, piece in overrides.items():
            method, make = CHANGES.get(name, (name, lambda piece: piece))
            change = make(piece)
            pieces[method] = change.of(machine) if isinstance(change, Override) else change
        planted_here = machine in _KNOWN or machine.__module__.startswith("broken_")
        made = machine if planted_here and not pieces else variant(machine, **pieces)
        _KNOWN.setdefault(made, []).append(self.row(made, *(_over(machine.needs_channel, fact) for fact in self.facts)))
        return made


def _over(channel: str, fact: Any) -> Any:
    """The fact, of a check over this channel where it names none."""
    if isinstance(fact, Setup):
        return fact if fact.channel else fact._replace(channel=channel)
    if isinstance(fact, Catch | ProgramCatch):
        return fact._replace(setup=_over(channel, fact.setup))
    return tuple(_over(channel, each) for each in fact) if type(fact) is tuple else fact


def breaks(*catches: Catch | ProgramCatch, setup: Setup = ITS_OWN, **properties: tuple[int, int, int]) -> Known:
    """The machine breaks a rule of its text.

    :param properties: what shows it, `delivers_all=(processes, messages, actions)`; checked over `setup`.
    :param catches: what shows it in a program, or over another setup.
    """
    shown = [Catch(name.replace("_", "-"), *least, setup) for name, least in properties.items()]
    programs = [catch for catch in catches if isinstance(catch, ProgramCatch)]
    others = [catch for catch in catches if isinstance(catch, Catch)]
    return Known(Fault, ((*shown, *others), tuple(programs)))


def keeps(explored: tuple[int, int, int], setup: Setup = ITS_OWN, never_reaches: Sequence[str] = ()) -> Known:
    """The machine keeps every property.

    :param explored: at how many processes and messages, and how many states it has there.
    """
    return Known(Harmless, (*explored, setup, frozenset(never_reaches)))


def planted_in(table: Mapping[str, Any]) -> tuple[Fault | Harmless, ...]:
    """The machines of a table, named after its variables, in the order in which they stand there."""
    rows: list[Fault | Harmless] = []
    for name, value in table.items():
        if isinstance(value, type) and value in _KNOWN and value.__module__ in (variant.__module__, table["__name__"]):
            value.__name__ = value.__qualname__ = name
            value.__module__ = table["__name__"]
            rows += _KNOWN[value]
    return tuple(rows)
