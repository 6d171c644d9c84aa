"""The arguments that the constructor of a node takes: those of four that it names."""

from __future__ import annotations

import inspect
from typing import NamedTuple

from crownless.spec.errors import BadInput

#: The arguments of a node's constructor, in this order.
ARGUMENTS = ("process", "processes", "transmit", "deliver")


class Arguments(NamedTuple):
    """The arguments given by position, and those given by name."""

    positional: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """True if this one of the four is given."""
        return name in (*self.positional, *self.named)


def arguments_of(kind: type) -> Arguments:
    """The arguments for the constructor: those of the four that it names, or all for `*args` or `**kwargs`.

    Raises `BadInput` if it cannot be called with them.
    """
    if not any("__init__" in vars(base) or "__new__" in vars(base) for base in kind.__mro__[:-1]):
        return Arguments()
    try:
        signature = inspect.signature(kind)
    except ValueError:  # of a class that Python inherits from C, such as `dict`
        return Arguments()
    kinds = {one.kind for one in signature.parameters.values()}
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        arguments = Arguments(positional=ARGUMENTS)
    elif inspect.Parameter.VAR_KEYWORD in kinds:
        arguments = Arguments(named=ARGUMENTS)
    else:
        arguments = Arguments(named=tuple(name for name in ARGUMENTS if name in signature.parameters))
    try:
        signature.bind(*arguments.positional, **dict.fromkeys(arguments.named))
    except TypeError as error:
        hint = f"a node takes {', '.join(ARGUMENTS)}, by these names, or some of them; others need a default"
        raise BadInput(f"{kind.__name__}.__init__: {error}", hint=hint) from None
    return arguments
