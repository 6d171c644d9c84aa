"""Holes: what shows that a log has lost events, and the verdict on an order that they leave unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from crownless.spec.printable import some


@dataclass(frozen=True)
class Gap:
    """Events `first` to `last` of a process are missing from the log."""

    process: str
    first: int
    last: int

    @property
    def text(self) -> str:
        lost = f"event {self.first} is" if self.first == self.last else f"events {self.first} to {self.last} are"
        return f"{self.process}: {lost} missing"


@dataclass(frozen=True)
class MissingSend:
    """A process delivers a message whose send is missing from the log."""

    process: str
    message: str

    @property
    def text(self) -> str:
        return f"{self.process} delivers {self.message}, whose send is not in the log"


@dataclass(frozen=True)
class QuarantinedRows:
    """Rows of a process cannot be used; without a process, a row of any may be among them."""

    process: str | None

    @property
    def text(self) -> str:
        return f"{self.process or 'any process'}: rows of it are in quarantine"


#: What shows that the log has lost events, and the process on whose line it shows.
Hole = Gap | MissingSend | QuarantinedRows


class _HasText(Protocol):
    @property
    def text(self) -> str: ...


def not_broken(holes: Sequence[_HasText]) -> str:
    """Why an order is unknown that is not broken by what is logged."""
    return f"not broken by what is logged; {first_hole(holes)}"


def first_hole(holes: Sequence[_HasText]) -> str:
    """The first of the holes, and how many more there are."""
    more = f", and {some(len(holes) - 1, 'more hole')}" if len(holes) > 1 else ""
    return holes[0].text + more
