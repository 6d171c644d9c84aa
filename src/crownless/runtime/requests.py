"""Requests: options declared once, as fields of a class, with what each means.

    @dataclass(frozen=True)
    class Check:
        crash: str | None = field(default=None, metadata=option("A process that may crash.", "process", "--crash"))

The command line makes its options from the fields (`command_line/request_options.py`), and the Python functions their
arguments, with documentation (`arguments.py`).
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, NamedTuple

from .ending import Limits
from .memory import bytes_of

#: What the value of an option is. `number`: a whole one; `settings`: numbers by name; `orders`: names of orders to
#: check; `process`: a name, given once; `object`: anything, only from Python; `objects`: several.
Kind = Literal[
    "flag",
    "folder",
    "name",
    "names",
    "number",
    "object",
    "objects",
    "orders",
    "process",
    "program",
    "seconds",
    "settings",
    "size",
]


class Option(NamedTuple):
    """An option: what it means, and its names on the command line; without any it is an argument in Python only.

    `least`, `most`: the bounds of a number. `metavar`: how usage shows its value.
    """

    means: str
    kind: Kind
    flags: tuple[str, ...]
    least: float = 1
    most: int | None = None
    metavar: str | None = None


class Declared(NamedTuple):
    """An option as a field of a request."""

    name: str
    option: Option
    default: Any  #: `MISSING` if it has none

    @property
    def required(self) -> bool:
        return self.default is MISSING


def option(means: str, kind: Kind = "object", *flags: str, **more: Any) -> Mapping[str, Option]:
    """The metadata of a field that is an option; `more`: what else `Option` has."""
    return {"option": Option(means, kind, flags, **more)}


def declared(request: type) -> list[Declared]:
    """The options that a request has, those that are given by name alone after the others, and limits last."""
    limits = {one.name for one in fields(Limited)}
    each = []
    for one in sorted(fields(request), key=lambda one: (one.kw_only, one.name in limits)):
        if "option" in one.metadata:
            default = one.default if one.default_factory is MISSING else one.default_factory()
            each.append(Declared(one.name, one.metadata["option"], default))
    return each


@dataclass(frozen=True, kw_only=True)
class Limited:
    """A request that ends early at limits, with the results so far."""

    max_seconds: float | None = field(
        default=None,
        metadata=option(
            "Stop after this time and report the results so far; what is open is unknown.",
            "seconds",
            "--max-seconds",
            least=0,
        ),
    )
    max_memory: int | str | None = field(
        default=None,
        metadata=option(
            "Memory to use, such as 4G or 512M.  [default: three quarters of what is available]",
            "size",
            "--max-memory",
            metavar="SIZE",
        ),
    )

    @property
    def limits(self) -> Limits:
        """The limits, also of states, if it has `max_states`."""
        memory = bytes_of(self.max_memory) if isinstance(self.max_memory, str) else self.max_memory
        return Limits(getattr(self, "max_states", None), self.max_seconds, memory)
