"""The arguments that the constructor of a node takes: those of four that it names, or the first ones."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import NamedTuple

from crownless.spec.errors import BadInput

#: The arguments of a node's constructor, in this order, and other names for them.
ARGUMENTS = {
    "process": ("process", "pid", "id", "node_id", "rank", "index", "me", "i"),
    "processes": ("processes", "n", "size", "num_nodes", "num_processes"),
    "transmit": ("transmit", "send_packet", "network", "unicast"),
    "deliver": ("deliver", "on_deliver", "callback"),
}


class Arguments(NamedTuple):
    """The arguments that are given by position, and those that are given by the constructor's names for them."""

    positional: tuple[str, ...] = ()
    named: Mapping[str, str] = {}

    def has(self, name: str) -> bool:
        """Is this one of the four given?"""
        return name in self.positional or name in self.named.values()


def arguments_of(kind: type) -> Arguments:
    """The arguments for the constructor of this class."""
    if not any("__init__" in vars(base) or "__new__" in vars(base) for base in kind.__mro__[:-1]):
        return Arguments()
    try:
        parameters = list(inspect.signature(kind).parameters.values())
    except (TypeError, ValueError):
        return Arguments(tuple(ARGUMENTS))
    kinds = {one.kind for one in parameters}
    by_name = {one.name: _known(one.name) for one in parameters if one.kind is one.KEYWORD_ONLY}
    named = {name: known for name, known in by_name.items() if known is not None}
    positional = _positional(kind, parameters)
    if inspect.Parameter.VAR_KEYWORD in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        given = {*positional, *named.values()}
        if len(positional) != len(ARGUMENTS):
            named |= {name: name for name in ARGUMENTS if name not in given}
    return Arguments(positional, named)


def _positional(kind: type, parameters: list[inspect.Parameter]) -> tuple[str, ...]:
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return tuple(ARGUMENTS)
    taken = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    known = [_known(one.name) for one in taken]
    if all(known) and len(set(known)) == len(known):
        return tuple(name for name in known if name)
    needed = [one for one in taken if one.default is one.empty]
    if len(needed) > len(ARGUMENTS):
        hint = f"it takes {', '.join(ARGUMENTS)}, or the first of them"
        raise BadInput(f"{kind.__name__}.__init__ takes {len(needed)} arguments", hint=hint)
    return tuple(ARGUMENTS)[: max(len(needed), min(len(taken), len(ARGUMENTS)))]


def _known(name: str) -> str | None:
    return next((known for known, others in ARGUMENTS.items() if name in others), None)
