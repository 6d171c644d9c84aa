"""A reader of the code of a machine that is to run on opaque values: refuses code that could look behind them.

That is whatever could distinguish an opaque value from a number (`type`, `is`, `try`, another module's function), or
keep something between two calls.
"""

from __future__ import annotations

import builtins
import dis
import sys
from collections import namedtuple
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from crownless.impl.ops import Integers
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step, checked_columns
from crownless.spec.computation import Message


class NotParametric(Exception):
    """Why a machine is not seen to be parametric."""


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Built-in names that show of an opaque value only what its own operations show, which refuse.
HARMLESS = words(
    "all any bool dict enumerate frozenset int len list map max min range reversed set sorted sum super tuple zip"
)

#: Instructions that look at what an object is, keep something, or hide that a value refused.
REFUSED = words(
    """STORE_ATTR DELETE_ATTR STORE_GLOBAL DELETE_GLOBAL STORE_SUBSCR STORE_SLICE DELETE_SUBSCR IMPORT_NAME
    IMPORT_FROM IMPORT_STAR LOAD_BUILD_CLASS PUSH_EXC_INFO BEFORE_WITH BEFORE_ASYNC_WITH SETUP_WITH LOAD_SPECIAL
    LOAD_NAME STORE_NAME LOAD_LOCALS MATCH_CLASS MATCH_MAPPING MATCH_SEQUENCE MATCH_KEYS
    FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE"""
)

#: Methods of strings that examine their arguments.
FORMATS = words("format format_map")

#: How attributes begin that lead from a generator, function or error to frames, and so to all of Python.
OF_FRAMES = ("gi_", "cr_", "ag_", "f_", "co_", "tb_")

#: What a class has from Python, and what a named tuple has.
OF_CLASSES = words(
    """__module__ __doc__ __annotations__ __annotate__ __annotate_func__ __annotations_cache__ __qualname__ __dict__
    __weakref__ __orig_bases__ __parameters__ __firstlineno__ __static_attributes__ __slotnames__
    __abstractmethods__ _abc_impl"""
)
OF_TUPLES = OF_CLASSES | words("__slots__ __match_args__ _fields _field_defaults _field_types")
MADE_FOR_TUPLES = words("__new__ __repr__ __getnewargs__ __replace__ _make _replace _asdict")

#: Attributes of a machine's class that describe it, and are no part of what it does.
FACTS = frozenset(ProtocolMachine.__annotations__) | {"ordered_at", "remark"}

#: Those that hold code which is not read; and what is set, which is given to the run as it is.
UNREAD = frozenset({"constants", "invariants", "rules", "witnesses", "parameters", "settings", "ordered_at", "remark"})


def read_machine(machine: ProtocolMachine) -> None:
    kind = type(machine)
    if set(vars(machine)) != {"n", "settings", "ops"} or type(machine.ops) is not Integers:
        raise NotParametric("the machine has attributes of its own")
    seen: set[Any] = {Step, Packet, AppEvent, Message, checked_columns}
    for base in kind.__mro__:
        if base in (ProtocolMachine, object):
            continue
        if not issubclass(base, ProtocolMachine) or type(base) is not type:
            raise NotParametric(f"{base.__name__} is not a machine, or no plain class")
        for name, value in vars(base).items():
            if name in UNREAD or name in OF_CLASSES or (name in FACTS and _is_plain(value)):
                continue
            if name in FACTS or name.startswith("__") or name in ("renamed_packet", "agree", "setting"):
                raise NotParametric(f"it defines {name}")
            if isinstance(value, FunctionType):
                read_function(value, seen)
            elif not _is_plain(value):
                raise NotParametric(f"its attribute {name} may change")


def read_function(function: FunctionType, seen: set[Any]) -> None:
    if function in seen:
        return
    seen.add(function)
    if any(name != "__class__" for name in function.__code__.co_freevars):
        raise NotParametric(f"{function.__name__} is a closure")
    if vars(function):
        raise NotParametric(f"{function.__name__} has attributes of its own")
    if not all(map(_is_plain, (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()))):
        raise NotParametric(f"{function.__name__} has a default that may change")
    for code in _nested(function.__code__):
        of_none, module = False, None
        for instruction in dis.get_instructions(code):
            name, argument = instruction.opname, instruction.argval
            if name in REFUSED or (name == "IS_OP" and (not of_none or instruction.is_jump_target)):
                raise NotParametric(f"{code.co_name} uses {name}")
            of_none = name == "LOAD_CONST" and argument is None
            if name == "STORE_DEREF" and argument in code.co_freevars:
                raise NotParametric(f"{code.co_name} sets {argument}")
            if module is not None:
                read = name in ("LOAD_ATTR", "LOAD_METHOD") and not str(argument).startswith("_")
                if not read or not holds_name(module, str(argument)):
                    raise NotParametric(f"{code.co_name} uses the module {module.__name__}")
                _read_value(function, str(argument), vars(module)[argument], seen)
                module = None
            elif name == "LOAD_GLOBAL":
                module = _read_global(function, str(argument), seen)
            elif ("_ATTR" in name or name == "LOAD_METHOD") and (
                str(argument).startswith(("__", *OF_FRAMES)) or argument in UNREAD or argument in FORMATS
            ):
                raise NotParametric(f"{code.co_name} reads {argument}")


def holds_name(module: ModuleType, name: str) -> bool:
    """True if the module itself holds the name, so that code which reads it calls no `__getattr__` of the module.

    The package crownless imports each of its names when it is first read; it is read here.
    """
    if module is sys.modules.get("crownless"):
        getattr(module, name, None)
    return name in vars(module)


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _read_global(function: FunctionType, name: str, seen: set[Any]) -> ModuleType | None:
    """A module is returned: what is read of it counts."""
    if name not in function.__globals__:
        if name not in HARMLESS or not hasattr(builtins, name):
            raise NotParametric(f"{function.__name__} uses {name}")
        return None
    value = function.__globals__[name]
    if isinstance(value, ModuleType):
        return value
    _read_value(function, name, value, seen)
    return None


def _read_value(function: FunctionType, name: str, value: Any, seen: set[Any]) -> None:
    if isinstance(value, FunctionType):
        read_function(value, seen)
    elif isinstance(value, type) and issubclass(value, tuple) and value.__mro__[1:] == (tuple, object):
        if value not in seen:
            seen.add(value)
            _read_tuple(value, seen)
    elif not _is_plain(value):
        raise NotParametric(f"{function.__name__} uses {name}")


def _read_tuple(kind: type, seen: set[Any]) -> None:
    """A named tuple as it is made: its fields, and functions of its own."""
    fields = getattr(kind, "_fields", None)
    if type(kind) is not type or type(fields) is not tuple:
        raise NotParametric(f"{kind.__name__} is not a named tuple")
    as_made = vars(namedtuple(kind.__name__, fields))
    for name, value in vars(kind).items():
        if name in OF_TUPLES:
            continue
        if name in fields or name in MADE_FOR_TUPLES:
            if not _is_as_made(value, as_made.get(name)):
                raise NotParametric(f"{kind.__name__} defines {name}")
            continue
        made = value.fget if isinstance(value, property) else value
        if name.startswith("__") or not isinstance(made, FunctionType):
            raise NotParametric(f"{kind.__name__} defines {name}")
        read_function(made, seen)


def _is_as_made(value: Any, other: Any) -> bool:
    """True if it is what Python makes of a named tuple with these fields."""
    if type(value) is not type(other):
        return False
    if isinstance(value, classmethod | staticmethod):
        value, other = value.__func__, other.__func__
    if isinstance(value, FunctionType):
        code, expected = value.__code__, other.__code__
        same = (code.co_code, code.co_names, code.co_consts) == (
            expected.co_code,
            expected.co_names,
            expected.co_consts,
        )
        return same and not vars(value) and value.__globals__.get("_tuple_new", tuple.__new__) == tuple.__new__
    return hasattr(value, "__reduce__") and value.__reduce__()[1][:1] == other.__reduce__()[1][:1]


def _is_plain(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, str)
