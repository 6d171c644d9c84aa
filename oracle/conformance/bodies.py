"""Packet bodies, compared by content, without ignored parts such as timestamps."""

import re
from collections.abc import Hashable
from copy import deepcopy
from re import Pattern
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable

#: Immutable types whose repr is complete.
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type(...))


class Body:
    """A value as it was at transmission. Bodies with the same key are equal."""

    __slots__ = ("_hash", "_key", "_value")

    def __init__(self, value: Any, key: Hashable) -> None:
        self._value = deepcopy(value)
        self._key = key
        self._hash = hash(key)

    def copy(self) -> Any:
        """The value, as a copy of its own."""
        return deepcopy(self._value)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Body) and self._hash == other._hash and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return str(self._value)

    def __repr__(self) -> str:
        return repr(self._value)


def text_body(text: str, ignored: Pattern[str] | None) -> Hashable:
    """The body of a packet that is text."""
    return text if ignored is None else Body(text, ignored.sub("", text))


def value_body(value: Any, ignored: Pattern[str] | None) -> Body:
    """The packet body for any Python value; ignored parts of its `repr` are not compared."""
    return Body(value, canonical(value) if ignored is None else ignored.sub("", repr(value)))


def to_ignore(pattern: str | None) -> Pattern[str] | None:
    """The regular expression for ignored parts of bodies; raises `BadInput` if it is invalid."""
    if pattern is None:
        return None
    try:
        return re.compile(pattern)
    except re.error as error:
        said = f"the expression to ignore, '{printable(pattern)}', is not a regular expression: {error}"
        raise BadInput(said, hint=r"such as '\d+\.\d+' for timestamps") from None


def canonical(value: Any, inside: tuple[int, ...] = ()) -> Hashable:
    """A key equal to that of any value of the same types and parts: 1, 1.0 and True differ. Sets have no order; the
    order of a dictionary counts, since a node can see it.

    Raises `TypeError` for values that do not expose their parts, such as sockets.
    """
    kind = type(value)
    if kind in _PLAIN:
        return kind.__name__, repr(value)
    if isinstance(value, type | FunctionType | BuiltinFunctionType | ModuleType):
        return kind.__name__, getattr(value, "__module__", ""), getattr(value, "__qualname__", value.__name__)
    if id(value) in inside:
        return "itself", inside.index(id(value))
    inside = (*inside, id(value))
    if kind in (list, tuple):
        return kind.__name__, *(canonical(part, inside) for part in value)
    if kind in (set, frozenset):
        return kind.__name__, frozenset(canonical(part, inside) for part in value)
    if kind is dict:
        return kind.__name__, *((canonical(key, inside), canonical(part, inside)) for key, part in value.items())
    made = value.__reduce_ex__(4)  # as `copy` and `pickle` take it apart
    if isinstance(made, str):
        return kind.__name__, kind.__module__, made
    parts = [list(part) if hasattr(part, "__next__") else part for part in made]
    return kind.__name__, *(canonical(part, inside) for part in parts)
