"""What a proof cannot judge is refused, in one line: a machine that does it is neither proved nor refuted."""

from __future__ import annotations

from typing import NoReturn

from crownless.spec.errors import BadInput

HINT = "a proof runs the transitions on terms of z3: compute with self.ops (every, all_of, maximum, one_if, among)"


class Refused(BadInput, TypeError):
    """The machine does something that z3 would not see, or not see rightly."""


class Refusals:
    """The refusals of one call into a machine: the first one counts even if the machine catches it."""

    #: Those of the calls that are in progress, innermost last.
    open: list[Refusals] = []

    def __init__(self) -> None:
        self.first: Refused | None = None

    def __enter__(self) -> Refusals:
        Refusals.open.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        Refusals.open.remove(self)


def refuse(reason: str, hint: str = HINT) -> NoReturn:
    """Raises `Refused`, and notes it for the call in progress."""
    refused = Refused(reason, mend=hint)
    for refusals in Refusals.open[-1:]:
        refusals.first = refusals.first or refused
    raise refused
