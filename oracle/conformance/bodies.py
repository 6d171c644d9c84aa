"""Bodies of packets, compared by what they are made of, but for what is to be ignored, such as time stamps."""

from __future__ import annotations

import re
from collections.abc import Hashable
from copy import deepcopy
from re import Pattern
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable

#: Values that cannot change, and whose repr says all of them.
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type(...))


class Body:
    """A value as it was when it was transmitted. Bodies with the same key are equal."""

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
    """The body of a packet that is any value of Python; of what is ignored in its `repr` no difference is made."""
    return Body(value, canonical(value) if ignored is None else ignored.sub("", repr(value)))


def to_ignore(pattern: str | None) -> Pattern[str] | None:
    """The regular expression for what is ignored in bodies; raises `BadInput` if it is none."""
    if pattern is None:
        return None
    try:
        return re.compile(pattern)
    except re.error as error:
        said = f"what to ignore, '{printable(pattern)}', is no regular expression: {error}"
        raise BadInput(said, hint=r"such as '\d+\.\d+' for time stamps") from None


def canonical(value: Any, inside: tuple[int, ...] = ()) -> Hashable:
    """A key equal to that of any value of the same types and parts: 1, 1.0 and True differ. Sets have no order; the
    order of a dictionary counts, since a node can see it.

    Raises `TypeError` where a value does not say what it is made of, as a socket does not.
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
