"""The rows of the tables of broken protocols."""

from __future__ import annotations

from typing import NamedTuple

from crownless.impl.protocol import ProtocolMachine


class Catch(NamedTuple):
    """A property that the fault breaks: the smallest bound that shows it, and the actions of a shortest such run."""

    property: str
    processes: int
    messages: int
    actions: int


class Broken(NamedTuple):
    """A machine with a fault, the rule of the text that it breaks, and what catches it: first what names the fault."""

    machine: type[ProtocolMachine]
    rule: str
    catches: tuple[Catch, ...]


class BrokenProgram(NamedTuple):
    """A machine whose fault only a program shows, since the free workload takes whatever is delivered."""

    machine: type[ProtocolMachine]
    rule: str
    program: str
    property: str
    actions: int


class Harmless(NamedTuple):
    """A variation that keeps what its protocol promises at a bound, and what that says about the text."""

    machine: type[ProtocolMachine]
    finding: str
    processes: int
    messages: int
    states: int
    channel: str = "unordered"
    #: Situations of the protocol that the variation does not know.
    never_reaches: frozenset[str] = frozenset()
