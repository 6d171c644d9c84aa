"""The contract of values: the types allowed in local states and stamps, and the key of each value in tables.

They are None, bool, int, float, str, bytes, members of an Enum, and tuples, named tuples, frozensets, frozen
dataclasses and frozen mappings of these. Anything else, and nan, is refused, with its path. Two values have one key
only if no machine can distinguish them: 1 and True have different keys, and so have 0.0 and -0.0, or a tuple and a
named tuple.
"""

import dataclasses
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping, MutableSet, Sequence
from copy import copy
from enum import Enum
from operator import is_
from types import MappingProxyType
from typing import Any, NamedTuple

from crownless.runtime.printable import with_article
from crownless.spec.computation import Message

#: Types whose values are their own keys.
PLAIN = frozenset({type(None), int, str, bytes})

ALLOWED = "build local states and packets of numbers, strings, tuples, frozensets and named tuples of them"
NESTED = "keep what can grow in one tuple, not in tuples within tuples"
_INSTEAD = (
    ((list, deque, bytearray), "use a tuple"),
    ((MutableSet,), "use a frozenset"),
    ((MutableMapping, MappingProxyType), "use a tuple of pairs, or a frozenset of them"),
)
#: Mappings whose contents may change, though a view of a dictionary can be hashed from Python 3.12 on.
_MAY_CHANGE = (MutableMapping, MappingProxyType)


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


class NotRebuilt(Exception):
    """A mapping cannot be built from its items: its class takes other arguments than a dictionary."""


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
    if isinstance(value, tuple) and PLAIN.issuperset(map(type, value)):
        return value if kind is tuple else (kind, value)
    if kind is bool or isinstance(value, Enum):
        return kind, value
    if kind is float:
        if value != value:
            raise Refused("is nan, which is not equal to itself", "use None")
        return kind, value.hex()
    structure = structure_of(value)
    return structure.key(value, _keys(structure.parts(value), structure.path(value)))


class Structure(NamedTuple):
    """How the values of some types consist of parts."""

    parts: Callable[[Any], Sequence[Any]]
    #: The path of the part with a number, such as ``{}.queue``.
    path: Callable[[Any], Callable[[int], str]]
    #: The key of a value, from those of its parts.
    key: Callable[[Any, tuple[Hashable, ...]], Hashable]
    #: A value of the same type with other parts.
    rebuilt: Callable[[Any, Sequence[Any]], Any]


def structure_of(value: Any) -> Structure:
    """The structure of a value that is not plain; raises `Refused` if the contract does not allow it."""
    kind = type(value)
    if isinstance(value, tuple):
        return TUPLE
    if isinstance(value, frozenset):
        return _SET
    if dataclasses.is_dataclass(kind):
        if not kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            raise Refused(f"is {with_article(kind.__name__)}, which can change", "declare it @dataclass(frozen=True)")
        return _DATACLASS
    if isinstance(value, Mapping) and isinstance(value, Hashable) and not isinstance(value, _MAY_CHANGE):
        return MAPPING
    hint = next((hint for kinds, hint in _INSTEAD if isinstance(value, kinds)), ALLOWED)
    raise Refused(f"is {with_article(kind.__name__)}", hint)


def _path_in_tuple(value: Any) -> Callable[[int], str]:
    names = getattr(type(value), "_fields", None)
    return lambda k: f"{{}}[{k}]" if names is None else f"{{}}.{names[k]}"


def _key_of_tuple(value: Any, keys: tuple[Hashable, ...]) -> Hashable:
    same = value if all(map(is_, keys, value)) else keys  # takes no memory of its own
    return same if type(value) is tuple else (type(value), same)


def _fields_of(value: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(value)]


def _rebuilt_dataclass(value: Any, parts: Sequence[Any]) -> Any:
    rebuilt = copy(value)
    for name, part in zip(_fields_of(value), parts, strict=True):
        object.__setattr__(rebuilt, name, part)
    return rebuilt


def _path_in_mapping(value: Any) -> Callable[[int], str]:
    known = list(value)
    return lambda k: "a key of {}" if k < len(known) else f"{{}}[{known[k - len(known)]!r}]"


def _pairs(parts: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    """The keys and values of a mapping, from its parts."""
    return zip(parts[: len(parts) // 2], parts[len(parts) // 2 :], strict=True)


def _rebuilt_mapping(value: Any, items: dict[Any, Any]) -> Any:
    try:
        rebuilt = type(value)(items)
        if dict(rebuilt) == items:
            return rebuilt
    except Exception:  # of any kind: it is the mapping's own code
        pass
    raise NotRebuilt


TUPLE = Structure(
    parts=lambda value: value,
    path=_path_in_tuple,
    key=_key_of_tuple,
    rebuilt=lambda value, parts: tuple.__new__(type(value), parts),
)
_SET = Structure(
    parts=list,
    path=lambda value: lambda k: "an element of {}",
    key=lambda value, keys: (type(value), frozenset(keys)),
    rebuilt=lambda value, parts: frozenset.__new__(type(value), parts),
)
_DATACLASS = Structure(
    parts=lambda value: [getattr(value, name) for name in _fields_of(value)],
    path=lambda value: lambda k: f"{{}}.{_fields_of(value)[k]}",
    key=lambda value, keys: (type(value), keys),
    rebuilt=_rebuilt_dataclass,
)
MAPPING = Structure(
    parts=lambda value: [*value, *value.values()],
    path=_path_in_mapping,
    key=lambda value, keys: (type(value), frozenset(_pairs(keys))),
    rebuilt=lambda value, parts: _rebuilt_mapping(value, dict(_pairs(parts))),
)
#: No value of the contract is a list; answers of machines are.
LIST = TUPLE._replace(rebuilt=lambda _, parts: list(parts))


def _keys(parts: Iterable[Any], path: Callable[[int], str]) -> tuple[Hashable, ...]:
    """The keys of the parts of a value; `path` gives the path of the part with a number."""
    keys = []
    for k, part in enumerate(parts):
        try:
            keys.append(_key(part))
        except Refused as refused:
            raise refused.within(path(k)) from None
    return tuple(keys)


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
