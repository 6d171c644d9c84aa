"""The values that proved code may reach by name beside its arguments: only such as are the same in every run.

One whitelist for all proofs that run or read a machine's code. Allowed are

- constants: None, truth values, ints, texts, and tuples and frozensets of them, each of exactly that type;
- named tuples as Python makes them, whose generated methods nobody has replaced;
- where each function is read when it is called (`transition_language`): functions without attributes of their own,
  with defaults that are allowed; machines; what a named tuple or a machine defines, if that is allowed too.

Refused is all else: Python's own functions and types (that a type like `zip` is called is not reported to a profiler),
modules, lists and dictionaries, objects of other classes, metaclasses, and classes that define how their objects are
made.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step, delivered, sent
from crownless.spec.computation import Message

from .code_of_machines import OF_CLASSES, OF_TUPLES

#: Facts of a machine that hold code which is not read, or differ between runs: no transition that is proved reads them.
UNREAD = frozenset({"invariants", "rules", "witnesses", "parameters", "settings", "setting"})

#: Methods that a property would give anew each time.
_METHODS = {name for name, value in vars(ProtocolMachine).items() if isinstance(value, FunctionType)}
_GENERATED = ("__new__", "_make", "_replace", "_asdict", "__repr__", "__getnewargs__")


def why_not_fixed(value: object) -> str | None:
    """Why code whose functions are read when they are called may not reach this value; None: it may. Empty: the value
    itself is of no kind that is allowed.
    """
    return _Reach().why_not(value)


def why_not_fixed_machine(kind: type[ProtocolMachine]) -> str | None:
    """Likewise of a machine."""
    return _Reach().why_not_class(kind)


def why_not_constant(value: object) -> str | None:
    """Likewise where functions are not read: constants, named tuples that define nothing, `sent` and `delivered`."""
    return _Reach(functions=False).why_not(value)


class _Reach:
    def __init__(self, functions: bool = True) -> None:
        self.functions = functions
        #: Functions and classes that are being looked at, or were.
        self.seen: set[int] = set()

    def why_not(self, value: Any) -> str | None:
        if value is None or type(value) in (bool, int, str, bytes):
            return None
        if type(value) in (tuple, frozenset):
            return self._first(value)
        if isinstance(value, tuple) and hasattr(type(value), "_fields"):
            return self.why_not(type(value)) or self._first(tuple.__iter__(value))
        if isinstance(value, FunctionType):
            return self._why_not_function(value) if self.functions else None if value in (sent, delivered) else ""
        if isinstance(value, type):
            if hasattr(value, "_fields"):
                return self._once(value, self._why_not_named_tuple)
            if self.functions and value in (super, tuple, list):
                return None
            if self.functions and issubclass(value, ProtocolMachine):
                return self.why_not_class(value)
        return ""

    def why_not_class(self, machine: type[ProtocolMachine]) -> str | None:
        for kind in machine.__mro__:
            if kind not in ProtocolMachine.__mro__ and (why := self._once(kind, self._why_not_part)) is not None:
                return why
        return None

    def _first(self, values: Any) -> str | None:
        return next((why for each in values if (why := self.why_not(each)) is not None), None)

    def _once(self, kind: type, why_not: Callable[[type], str | None]) -> str | None:
        if id(kind) in self.seen:
            return None
        self.seen.add(id(kind))
        return why_not(kind)

    def _why_not_function(self, function: FunctionType) -> str | None:
        if id(function) in self.seen:
            return None
        self.seen.add(id(function))
        if vars(function):
            return f"the function {function.__name__} has attributes of its own"
        return self._first((*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()))

    def _why_not_part(self, kind: type) -> str | None:
        """Of a machine, or what it derives from."""
        if type(kind) is not type:
            return f"{kind.__name__} has a metaclass, which makes its machines"
        for name, value in vars(kind).items():
            if name in ("n", "ops", "settings"):
                return f"{kind.__name__} defines {name}, which a machine is given"
            if name in OF_CLASSES or name in UNREAD:
                continue
            if name.startswith("__") and name.endswith("__"):
                return f"{kind.__name__} defines {name}: a machine is made and read as ProtocolMachine has it"
            if (
                name in _METHODS
                and not callable(value)
                and not isinstance(value, property | staticmethod | classmethod)
            ):
                return f"{kind.__name__}.{name} is not a method"
            if isinstance(value, property) and name in _METHODS:
                return f"{kind.__name__}.{name} gives what is called, and may give something else each time"
            if (why := self._why_not_member(kind, name, value)) is not None:
                return why
        return None

    def _why_not_member(self, kind: type, name: str, value: object) -> str | None:
        if type(value) in (staticmethod, classmethod):
            value = value.__func__  # type: ignore[attr-defined]
        elif type(value) is property and value.fset is None and value.fdel is None:
            value = value.fget
        why = self.why_not(value)
        return why if why is None else why or f"{kind.__name__}.{name} is neither a method nor a constant"

    def _why_not_named_tuple(self, kind: type) -> str | None:
        if type(kind) is not type or kind.__mro__[1:] != (tuple, object) or not _is_generated(kind):
            return f"{kind.__name__} is not a named tuple as Python makes them"
        why = self._first(kind.__new__.__defaults__ or ())
        if why is not None:
            return why or f"{kind.__name__} has a default that can change"
        if kind in (Message, Packet, AppEvent, Step):
            return None
        for name, value in vars(kind).items():
            if name in OF_TUPLES or name in _GENERATED or name in kind._fields:  # type: ignore[attr-defined]
                continue
            if name.startswith("__") or not self.functions:
                return f"{kind.__name__} defines {name}"
            if (why := self._why_not_member(kind, name, value)) is not None:
                return why
        return None


@cache
def _twin(fields: tuple[str, ...]) -> type:
    return namedtuple("Twin", fields)


def _is_generated(kind: Any) -> bool:
    """True if the methods and fields of a named tuple are those that Python generates."""
    fields = kind._fields
    if type(fields) is not tuple or not all(type(name) is str and name.isidentifier() for name in fields):
        return False
    members, twin = vars(kind), vars(_twin(fields))
    same = all(name in members and _code_of(members[name]) == _code_of(twin[name]) for name in _GENERATED)
    makes = same and kind.__new__.__globals__.get("_tuple_new") is tuple.__new__
    return makes and all(type(members.get(name)) is type(twin[name]) for name in fields)


def _code_of(member: Any) -> Any:
    """Of which nothing depends on the name of the tuple."""
    return getattr(getattr(member, "__func__", member), "__code__", None)
