"""The one public error for bad input: the problem, its place, and a hint."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from .printable import printable, printable_name


class BadInput(ValueError):
    """Input from the user cannot be used. Printed as one line; the command line exits with 2.

    ``hint`` says what to do; ``file``, ``line`` and ``column`` (counted from 1) say where.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.message = message
        self.hint = hint
        self.file = file
        self.line = line
        self.column = column
        super().__init__(message)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        return printable((f"{place}: " if place else "") + self.message + (f"; {self.hint}" if self.hint else ""))

    def at(self, *, file: str | None = None, line: int | None = None, column: int | None = None) -> "BadInput":
        """The same error, with missing places filled in."""
        return BadInput(
            self.message,
            hint=self.hint,
            file=self.file if self.file is not None else file,
            line=self.line if self.line is not None else line,
            column=self.column if self.column is not None else column,
        )


def install_hint(extra: str) -> str:
    """How to install an extra of crownless, which is installed from a clone."""
    return f"in a clone of crownless: pip install '.[{extra}]'"


class Undecided(ArithmeticError):
    """A verdict that is unknown was used as a truth value; compare its `verdict` or `outcome`."""


class NoSuchName(KeyError):
    """A result has no such name. The text lists the names that exist."""

    def __str__(self) -> str:
        return str(self.args[0])  # a `KeyError` shows the representation


def no_such_name(message: str, name: object, known: Iterable[str]) -> NoSuchName:
    """The error for a name that a result lacks, with the nearest name and all that it has."""
    names = list(known)
    nearest = _nearest(name, names) if isinstance(name, str) else ""
    return NoSuchName(f"{message}; {nearest}known: {', '.join(names)}")


def unknown_name(kind: str, name: object, known: Iterable[str]) -> BadInput:
    """The error for an unknown protocol, order, channel, …, with the nearest name and all known ones."""
    names, name = list(known), str(name)
    return BadInput(
        f"unknown {kind} '{printable_name(name)}'", hint=f"{_nearest(name, names)}known: {', '.join(names)}"
    )


def nearest(name: str, names: Sequence[str]) -> str | None:
    """The nearest name, by case or else by spelling; None if none is near."""
    near = [known for known in names if known.casefold() == name.casefold()]
    near = near or get_close_matches(name, names, n=1, cutoff=0.5)
    return near[0] if near else None


def _nearest(name: str, names: list[str]) -> str:
    """The nearest name, as a question; empty if none is near."""
    near = nearest(name, names)
    return f"did you mean '{near}'? " if near is not None else ""
