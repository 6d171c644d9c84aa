"""Declarations about a log, which its lines do not hold: that nothing is missing from it, and its processes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crownless.spec.errors import BadInput
from crownless.spec.printable import printable_name

from .rows import is_name


@dataclass(frozen=True)
class Declared:
    """`complete`: no event is missing; `processes`: some that take part in each run, also without events."""

    complete: bool = False
    processes: tuple[str, ...] = ()

    @classmethod
    def of(cls, *, complete: bool = False, processes: Iterable[str] = ()) -> Declared:
        """The same of what somebody wrote; raises `BadInput` for what is no name."""
        named = tuple(dict.fromkeys(processes))
        for name in named:
            if not is_name(name):
                problem = f"--process '{printable_name(name)}' is no name of a process"
                raise BadInput(problem, hint="give a text that shows, as the log has it in 'process'")
        return cls(complete, named)

    def refuse(self, of: str, name: str) -> None:
        """Raises `BadInput` where nothing of the kind can be said."""
        given = "--complete" if self.complete else "--process" if self.processes else ""
        if given:
            raise BadInput(f"{given} does not go with {of}", hint="leave it out: it is said of event logs", file=name)


#: Of a log of which nothing is said.
NOTHING = Declared()
