"""Bodies of packets, compared by what they are made of, but for what is to be ignored, such as time stamps.

In process a body is any Python value, given to nodes as a copy; out of process it is text.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from copy import deepcopy
from re import Pattern
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any
from weakref import WeakValueDictionary

from crownless.spec.errors import BadInput
from crownless.spec.printable import printable

#: Values that cannot change, and whose repr says all of them.
_PLAIN = (str, bytes, int, float, complex, bool, type(None), type(...))


class Body:
    """The body of a packet, as it was when it was transmitted. Bodies that are made of the same are one object."""

    __slots__ = ("__weakref__", "_hash", "_key", "_value")

    _key: Hashable
    _hash: int
    _value: Any

    def __new__(cls, value: Any, ignored: Pattern[str] | None = None) -> Body:
        """`ignored`: what makes no difference in the `repr` of a value."""
        key = canonical(value) if ignored is None else ("but for", ignored, ignored.sub("", repr(value)))
        known = _BODIES.get(key)
        if known is None:
            known = super().__new__(cls)
            known._value = value if type(value) in _PLAIN else deepcopy(value)
            known._key = key
            known._hash = hash(key)
            _BODIES[key] = known
        return known

    def copy(self) -> Any:
        """The value; what can change is a copy of its own."""
        return self._value if type(self._value) in _PLAIN else deepcopy(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Body) and self._hash == other._hash and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return repr(self._value)


class TextBody:
    """A text that is compared without what is to be ignored in it."""

    __slots__ = ("_key", "_text")

    def __init__(self, text: str, ignored: Pattern[str]) -> None:
        self._text = text
        self._key = ignored.sub("", text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextBody) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return repr(self._text)


def to_ignore(pattern: str | None) -> Pattern[str] | None:
    """What is to be ignored in bodies. Raises `BadInput` for what is no regular expression."""
    if pattern is None:
        return None
    try:
        return re.compile(pattern)
    except re.error as error:
        hint = r"such as '\d+\.\d+' for time stamps"
        raise BadInput(
            f"what to ignore, '{printable(pattern)}', is no regular expression: {error}", hint=hint
        ) from None


#: The bodies there are, by what they are made of.
_BODIES: WeakValueDictionary[Hashable, Body] = WeakValueDictionary()


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
