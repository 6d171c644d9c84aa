"""The contract of values: what local states and stamps are made of.

They are None, bool, int, float, str, bytes, members of an Enum, and tuples, named tuples, frozensets, frozen
dataclasses and frozen mappings of these. Each value is checked once, where it enters a table; engines then know it by
what it equals. Equal values of different types, such as 1 and True, or 0.0 and -0.0, are refused where they meet: a
machine could distinguish them. Not-a-number is refused, since it does not equal itself. What equality a user's own
subclass of `tuple` or `frozenset` has is not examined.
"""

from __future__ import annotations

import dataclasses
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from enum import Enum
from typing import Any, NamedTuple

#: Types whose values are equal only if they are the same.
PLAIN = frozenset({type(None), bool, int, str, bytes})

ALLOWED = "build local states and packets of numbers, strings, tuples, frozensets and named tuples of them"
_INSTEAD = (
    ((list, deque, bytearray), "use a tuple"),
    ((set,), "use a frozenset"),
    ((MutableMapping,), "use a tuple of pairs, or a frozenset of them"),
)


class Refused(NamedTuple):
    """A part of a value that the contract does not allow."""

    #: ``state.queue[2] is a list``
    problem: str
    hint: str


def refused_part(value: Any, path: str) -> Refused | None:
    """The first part of the value that the contract does not allow; `path` is the name of the whole."""
    try:
        return _refused_part(value, path)
    except RecursionError:
        hint = "keep what can grow in one tuple, not in tuples within tuples"
        return Refused(f"{path} is nested too deeply", hint)


def _refused_part(value: Any, path: str) -> Refused | None:
    kind = type(value)
    if kind in PLAIN or isinstance(value, Enum):
        return None
    if kind is float:
        return Refused(f"{path} is not a number (nan)", "use None in its place") if math.isnan(value) else None
    if isinstance(value, tuple):
        if PLAIN.issuperset(map(type, value)):
            return None
        names = getattr(value, "_fields", None)
        paths = [f"{path}.{name}" for name in names] if names else [f"{path}[{k}]" for k in range(len(value))]
        return _first_refused(zip(value, paths, strict=True))
    if isinstance(value, frozenset):
        return _first_refused((part, f"an element of {path}") for part in value)
    if dataclasses.is_dataclass(kind):
        return _of_dataclass(value, path)
    if isinstance(value, Mapping) and not isinstance(value, MutableMapping):
        keys = ((key, f"a key of {path}") for key in value)
        return _first_refused(keys) or _first_refused((part, f"{path}[{key!r}]") for key, part in value.items())
    hint = next((hint for kinds, hint in _INSTEAD if isinstance(value, kinds)), ALLOWED)
    return Refused(f"{path} is {_a(kind)}", hint)


def _a(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'aeiouAEIOU' else 'a'} {kind.__name__}"


def _first_refused(parts: Iterable[tuple[Any, str]]) -> Refused | None:
    return next((refused for part, path in parts if (refused := _refused_part(part, path)) is not None), None)


def _of_dataclass(value: Any, path: str) -> Refused | None:
    kind = type(value)
    if not kind.__dataclass_params__.frozen:
        return Refused(f"{path} is {_a(kind)}, which can change", "declare it @dataclass(frozen=True)")
    for field in dataclasses.fields(kind):
        if not field.compare or not kind.__dataclass_params__.eq:
            problem = f"{path} is {_a(kind)}, whose field {field.name} is not compared"
            return Refused(problem, "have equality compare all fields")
    return _first_refused((getattr(value, field.name), f"{path}.{field.name}") for field in dataclasses.fields(kind))


def distinguishable_parts(one: Any, other: Any) -> tuple[Any, Any] | None:
    """The first parts by which a machine could distinguish two equal values; None: there are none."""
    if one is other:
        return None
    kind = type(one)
    if kind is not type(other):
        return one, other
    if kind in PLAIN:
        return None
    if kind is float:
        return None if math.copysign(1, one) == math.copysign(1, other) else (one, other)
    for part, of_other in _pairs(one, other):
        if part is not of_other and (found := distinguishable_parts(part, of_other)) is not None:
            return found
    return None


def _pairs(one: Any, other: Any) -> Iterator[tuple[Any, Any]]:
    """Equal parts of two equal values of one type."""
    if isinstance(one, tuple):
        yield from zip(one, other, strict=False)
    elif isinstance(one, frozenset | Mapping):
        equal = {part: part for part in other}
        yield from ((part, equal[part]) for part in one)
        if isinstance(one, Mapping):
            yield from ((part, other[key]) for key, part in one.items())
    elif dataclasses.is_dataclass(one):
        yield from ((getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one))
