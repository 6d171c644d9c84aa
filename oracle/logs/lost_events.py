"""Holes: evidence that a log has lost events."""

from collections.abc import Sequence
from typing import NamedTuple

from crownless.runtime.printable import some


class Hole(NamedTuple):
    """Evidence that the log has lost events, and the process on whose line it shows (None: any process)."""

    process: str | None
    text: str
    is_missing_send: bool = False


def gap(process: str, first: int, last: int) -> Hole:
    """Events `first` to `last` of a process are missing from the log."""
    lost = f"event {first} is" if first == last else f"events {first} to {last} are"
    return Hole(process, f"{process}: {lost} missing")


def missing_send(process: str, message: str) -> Hole:
    """A process delivers a message whose send is missing from the log."""
    return Hole(process, f"{process} delivers {message}, whose send is not in the log", is_missing_send=True)


def quarantined_rows(process: str | None) -> Hole:
    """Rows of a process cannot be used; without a process, a row of any may be among them."""
    return Hole(process, f"{process or 'any process'}: rows left out")


def first_hole(holes: Sequence[Hole]) -> str:
    """The first of the holes, and the number of others."""
    more = f", and {some(len(holes) - 1, 'more hole')}" if len(holes) > 1 else ""
    return holes[0].text + more
