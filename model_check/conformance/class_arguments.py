"""The arguments that the constructor of a node takes: those of four that it names."""

from __future__ import annotations

import inspect
from typing import NamedTuple

from crownless.spec.errors import BadInput

#: The arguments of a node's constructor, in this order.
ARGUMENTS = ("process", "processes", "transmit", "deliver")


class Arguments(NamedTuple):
    """The arguments that are given by position, and those that are given by name."""

    positional: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """True if this one of the four is given."""
        return name in (*self.positional, *self.named)


def arguments_of(kind: type) -> Arguments:
    """The arguments for the constructor of this class: all four for `*args`, otherwise those that it names.

    Raises `BadInput` if it needs another one.
    """
    if not any("__init__" in vars(base) or "__new__" in vars(base) for base in kind.__mro__[:-1]):
        return Arguments()
    parameters = list(inspect.signature(kind).parameters.values())
    kinds = {one.kind for one in parameters}
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return Arguments(positional=ARGUMENTS)
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return Arguments(named=ARGUMENTS)
    for one in parameters:
        if one.name not in ARGUMENTS and one.default is one.empty:
            hint = f"a node takes {', '.join(ARGUMENTS)}, by these names, or some of them; others need a default"
            raise BadInput(f"{kind.__name__}.__init__ takes '{one.name}', which is no argument of a node", hint=hint)
    return Arguments(named=tuple(one.name for one in parameters if one.name in ARGUMENTS))
