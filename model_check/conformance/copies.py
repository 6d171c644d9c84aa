"""Values that a copy of a node shares with its original though they can change, by way of functions and methods."""

from __future__ import annotations

from collections import deque
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any

from .port import Port

#: So many parts of a node are looked at.
MOST = 10_000


def shares_with_copies(node: Any) -> str | None:
    """A function within the node that has variables of its own, or a method such as `list.append` of one list, in
    words; None if there is none."""
    seen: set[int] = set()
    waiting = [node]
    while waiting and len(seen) < MOST:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, Port | type | str | bytes | int | float):
            continue
        seen.add(id(value))
        if isinstance(value, FunctionType) and value.__closure__:
            return f"the function {value.__qualname__}, which has variables of its own"
        if isinstance(value, BuiltinMethodType) and not isinstance(value.__self__, ModuleType | type | None):
            return f"the method {value.__qualname__} of an object"
        waiting += _parts(value)
    return None


def _parts(value: Any) -> list[Any]:
    if isinstance(value, MethodType):
        return [value.__self__]
    if isinstance(value, FunctionType):
        return []
    parts = list(getattr(value, "__dict__", {}).values())
    for base in type(value).__mro__:
        slots = vars(base).get("__slots__", ())
        parts += [getattr(value, name, None) for name in ([slots] if isinstance(slots, str) else slots)]
    if isinstance(value, dict):
        return [*parts, *value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset | deque):
        return [*parts, *value]
    return parts
