"""The contract of values: the types allowed in local states and stamps, and the key of each value in tables.

They are None, bool, int, float, str, bytes, members of an Enum, and tuples, named tuples, frozensets, frozen
dataclasses and frozen mappings of these. Anything else, and nan, is refused, with its path. Two values have one key
only if no machine can distinguish them: 1 and True have different keys, and so have 0.0 and -0.0, or a tuple and a
named tuple.
"""

import dataclasses
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping, MutableSet
from enum import Enum
from operator import is_
from typing import Any

from crownless.spec.computation import Message

#: Types whose values are their own keys.
PLAIN = frozenset({type(None), int, str, bytes})

ALLOWED = "build local states and packets of numbers, strings, tuples, frozensets and named tuples of them"
NESTED = "keep what can grow in one tuple, not in tuples within tuples"
_INSTEAD = (
    ((list, deque, bytearray), "use a tuple"),
    ((MutableSet,), "use a frozenset"),
    ((MutableMapping,), "use a tuple of pairs, or a frozenset of them"),
)


class Refused(Exception):
    """A machine's answer cannot be used, such as a value with a part that the contract does not allow."""

    def __init__(self, problem: str, hint: str) -> None:
        self.problem, self.hint = problem, hint
        #: The path of the part, in which ``{}`` stands for the whole.
        self.path = "{}"

    def within(self, path: str) -> "Refused":
        """The same, for a whole that has the part at this path, such as ``{}.queue``."""
        self.path = self.path.replace("{}", path)
        return self

    def said(self, whole: str) -> str:
        """The problem, such as ``state.queue[2] is a list``."""
        return f"{self.path.replace('{}', whole)} {self.problem}"


def key_of(value: Any) -> Hashable:
    """The key of a value; raises `Refused` if the contract does not allow it."""
    try:
        return _key(value)
    except RecursionError:
        raise Refused("is nested too deeply", NESTED) from None


def _key(value: Any) -> Hashable:
    kind = type(value)
    if kind in PLAIN or isinstance(value, Message):
        return value  # type: ignore[no-any-return]
    if isinstance(value, tuple):
        if PLAIN.issuperset(map(type, value)):
            return value if kind is tuple else (kind, value)
        names = getattr(kind, "_fields", None)
        keys = _keys(value, lambda k: f"{{}}[{k}]" if names is None else f"{{}}.{names[k]}")
        same: tuple[Hashable, ...] = value if all(map(is_, keys, value)) else keys  # takes no memory of its own
        return same if kind is tuple else (kind, same)
    if kind is bool or isinstance(value, Enum):
        return kind, value
    if kind is float:
        if value != value:
            raise Refused("is nan, which is not equal to itself", "use None")
        return kind, value.hex()
    if isinstance(value, frozenset):
        return kind, frozenset(_keys(value, lambda _: "an element of {}"))
    if dataclasses.is_dataclass(kind):
        if not kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            raise Refused(f"is {with_article(kind)}, which can change", "declare it @dataclass(frozen=True)")
        fields = [field.name for field in dataclasses.fields(kind)]
        return kind, _keys([getattr(value, name) for name in fields], lambda k: f"{{}}.{fields[k]}")
    if isinstance(value, Mapping) and isinstance(value, Hashable) and not isinstance(value, MutableMapping):
        keys, known = _keys(value, lambda _: "a key of {}"), list(value)
        return kind, frozenset(zip(keys, _keys(value.values(), lambda k: f"{{}}[{known[k]!r}]"), strict=True))
    raise Refused(
        f"is {with_article(kind)}", next((hint for kinds, hint in _INSTEAD if isinstance(value, kinds)), ALLOWED)
    )


def _keys(parts: Iterable[Any], path: Callable[[int], str]) -> tuple[Hashable, ...]:
    """The keys of the parts of a value; `path` gives the path of the part with a number."""
    keys = []
    for k, part in enumerate(parts):
        try:
            keys.append(_key(part))
        except Refused as refused:
            raise refused.within(path(k)) from None
    return tuple(keys)


def with_article(kind: type) -> str:
    """The name of a type: ``a list``, ``an int64``."""
    return f"{'an' if kind.__name__[0] in 'aeiouAEIOU' else 'a'} {kind.__name__}"


def same_values(one: Any, other: Any) -> bool:
    """True if no machine can distinguish the values."""
    return one is other or (bool(one == other) and key_of(one) == key_of(other))


class Interner:
    """Numbers values 0, 1, 2, … as they first occur, after these ones, all different."""

    def __init__(self, first: Iterable[Any] = ()) -> None:
        self.values: list[Any] = list(first)
        self._numbers: dict[Hashable, int] = {value: number for number, value in enumerate(self.values)}

    def number(self, value: Any, key: Hashable = None) -> int:
        """The number of this value, by its key if it is not its own."""
        key = value if key is None else key
        number = self._numbers.setdefault(key, len(self.values))
        if number == len(self.values):
            self.values.append(value)
        return number
