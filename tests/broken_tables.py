"""The rows of the tables of broken protocols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from crownless.impl.protocol import ProtocolMachine, Setting
from crownless.spec.enumeration import Sends


class Setup(NamedTuple):
    """What a check is made over, where that is not the unordered channel and the protocol's own workload."""

    channel: str = "unordered"
    sends: Sends | None = None
    crash: str | None = None
    parameters: Mapping[str, Setting] = {}


USUAL = Setup()


class Catch(NamedTuple):
    """A property that the fault breaks: the smallest bound that shows it, and the actions of a shortest such run."""

    property: str
    processes: int
    messages: int
    actions: int
    setup: Setup = USUAL


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
    setup: Setup = USUAL


class Harmless(NamedTuple):
    """A variation that keeps what its protocol promises at a bound, and what that says about the text."""

    machine: type[ProtocolMachine]
    finding: str
    processes: int
    messages: int
    states: int
    setup: Setup = USUAL
    #: Situations of the protocol that the variation does not know.
    never_reaches: frozenset[str] = frozenset()
