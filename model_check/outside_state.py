"""State that the code of a machine could keep outside local states, and whether it is as it was at first.

That is the attributes of the machine, of all its classes (mixins too) and of the helper classes that its code names;
the module variables that its functions name, what they close over, their defaults and their own attributes. Functions
and classes are followed from there, except those of the standard library, of other installed packages, and of crownless
beside the modules of the machine's classes. Not seen: what is kept in files, in iterators, in modules that no name
leads to, in variables that no function names (set by `globals()`), in members of an enumeration, in the code of a
function, in the counts of a `functools.cache`, or within objects of Python's own or of other packages but for
containers and arrays, such as an event of `threading`, context variables, random numbers or the environment.
"""

from __future__ import annotations

import sys
import sysconfig
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from enum import Enum
from functools import cached_property, partial
from operator import attrgetter, is_
from types import CellType, CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

from crownless.impl.ops import Integers
from crownless.impl.protocol import ProtocolMachine

#: Values that cannot change.
PLAIN = frozenset({int, bool, str, bytes, float, complex, type(None), type(...)})


class _Names(NamedTuple):
    """Names that code can set (variables, attributes, parameters with a default), with their first values."""

    #: What messages call one of them.
    called: Callable[[str], str]
    #: What they stand for now.
    read: Callable[[], Mapping[str, Any]]
    first: dict[str, Any]
    #: None: all that there are, new ones too.
    only: frozenset[str] | None = None

    def changed(self) -> str | None:
        """The first of them that stands for something else now, as messages say it."""
        now = self.read()
        for name in sorted({*self.first, *now} if self.only is None else self.only):
            if (name in self.first) != (name in now):
                return f"it sets {self.called(name)}"
            if name in now and now[name] is not self.first[name]:
                return f"it changes {self.called(name)}"
        return None


class _Mutable(NamedTuple):
    """A value that can change, and what it consisted of at first."""

    called: str
    value: Any
    inside: Any

    def changed(self) -> bool:
        value, inside = self.value, self.inside
        return bool((value if type(inside) in _COPIED else _inside(value)) != inside)


class OutsideState:
    """All that the machine's code could keep outside local states, as it was when this was made."""

    def __init__(self, machine: ProtocolMachine) -> None:
        self._reach = _Reach(machine)
        self._note_values()

    def _note_values(self) -> None:
        """Notes all values, to see at once that none is another."""
        reach = self._reach
        self._owners = [(owner, list(vars(owner).values())) for owner in reach.owners]
        self._bare = [function for function in reach.functions if not vars(function)]
        self._defaults = [(read, list(map(read, reach.functions))) for read in _OF_DEFAULTS]
        self._contents = list(map(_in_cell, reach.cells))
        self._variables = [
            (known, len(known), names, [known[name] for name in names])
            for _, known, named in reach.variables.values()
            for names in [[name for name in named if name in known]]
        ]

    def changed(self) -> str | None:
        """The change to it in the words of messages; None: no change."""
        if self._is_the_same():
            return None
        changes = (names.changed() for names in self._reach.names)
        if (change := next((change for change in changes if change is not None), None)) is not None:
            return change
        for mutable in self._reach.mutable:
            if mutable.changed():
                return f"it changes {mutable.called}"
        self._note_values()  # what was set is none of that: a cached property, or a variable that no function names
        return None

    def _is_the_same(self) -> bool:
        """True if all names stand for the very same objects, and nothing changed within them."""
        for owner, values in self._owners:
            if not are_the_same(vars(owner).values(), values):
                return False
        for variables, length, names, values in self._variables:
            if len(variables) != length or not all(map(is_, map(variables.get, names), values)):
                return False
        functions, cells = self._reach.functions, self._reach.cells
        if any(map(vars, self._bare)):
            return False
        for read, values in self._defaults:
            if not all(map(is_, map(read, functions), values)):
                return False
        if not all(map(is_, map(_in_cell, cells), self._contents)):
            return False
        return not any(map(_Mutable.changed, self._reach.mutable))


def _in_cell(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _NO_VALUE


_NO_VALUE: Any = object()
#: What `copy` and `pickle` set in a class when they first take an object of it apart.
_COPIED_BY = "__slotnames__"
_OF_DEFAULTS = (attrgetter("__defaults__"), attrgetter("__kwdefaults__"))


class _Reach:
    """The places where a machine's code could keep something."""

    def __init__(self, machine: ProtocolMachine) -> None:
        bases = [base for base in type(machine).__mro__ if base is not object]
        modules = {base.__module__ for base in bases if base is not ProtocolMachine}
        self._modules = {module for module in modules if _root(module) not in sys.stdlib_module_names}
        self._packages = set(map(_root, self._modules)) - {"crownless"}
        self._seen: dict[int, Any] = {}
        #: What has attributes.
        self.owners: list[Any] = []
        self._owned: set[int] = set()
        self.functions: list[FunctionType] = []
        self.cells: list[CellType] = []
        #: Of each module, by the id of its variables: what messages call it, its variables, and those that are named.
        self.variables: dict[int, tuple[str, dict[str, Any], set[str]]] = {}
        self.names: list[_Names] = []
        self.mutable: list[_Mutable] = []
        cached = [name for base in bases for name, value in vars(base).items() if isinstance(value, cached_property)]
        self._seen[id(machine)] = machine
        self._look_at_attributes(machine, "self", cached)
        for base in bases:
            self._seen[id(base)] = base
            self._look_at_attributes(base, base.__name__)
        # All functions are known by now, so that all names are.
        for module, known, named in self.variables.values():
            first = {name: known[name] for name in named if name in known}
            self.names.append(_Names(_of_module(module), partial(dict, known), first, frozenset(named)))

    def _look_at_attributes(self, owner: Any, called: str, without: Collection[str] = ()) -> None:
        for name, value in self._look_at_names_of(owner, called, without).items():
            if name not in _OF_CLASSES:
                self._look_at(value, f"{called}.{name}", own=True)

    def _look_at_names_of(self, owner: Any, called: str, without: Collection[str] = ()) -> dict[str, Any]:
        """Looks at the attributes, but not at their values."""

        def read() -> dict[str, Any]:
            return {name: value for name, value in vars(owner).items() if name not in without and name != _COPIED_BY}

        self.owners.append(owner)
        self._owned.add(id(owner))
        self.names.append(_Names(lambda name: f"{called}.{name}", read, read()))
        return self.names[-1].first

    def _look_at_names(self, names: _Names) -> None:
        self.names.append(names)
        for name, value in names.first.items():
            self._look_at(value, names.called(name))

    def _look_at(self, value: Any, called: str, *, own: bool = False) -> None:
        """Looks at a value, and at where it leads to; `own`: it is an attribute."""
        if id(value) in self._seen or immutable(value):
            return
        self._seen[id(value)] = value
        if isinstance(value, FunctionType):
            if not self._is_foreign(value.__globals__.get("__name__")):
                self._look_at_function(value)
            elif hasattr(value, "__wrapped__"):
                self._look_at_names_of(value, value.__qualname__)
                for part in (value.__wrapped__, *getattr(value, "registry", {}).values()):  # of `singledispatch`
                    self._look_at(part, called)
        elif isinstance(value, type):
            self._look_at_class(value)
        elif isinstance(value, ModuleType):
            return  # which of its variables are named its users say
        elif parts := _parts_of_code(value):
            for part in parts:
                self._look_at(part, called)
        elif callable(value) or hasattr(value, "__get__"):
            if not self._is_foreign(type(value).__module__) and hasattr(value, "__dict__"):
                self._look_at_attributes(value, called)
                self._look_at_class(type(value))
        elif own or self._is_looked_into(value):
            self.mutable.append(_Mutable(called, value, _inside(value)))
            self._look_at_class(type(value))
            for part in _parts(value):
                if callable(part):
                    self._look_at(part, called)

    def _is_looked_into(self, value: Any) -> bool:
        known = isinstance(value, _CONTAINERS) or hasattr(value, "tobytes")
        return known or not self._is_foreign(type(value).__module__)

    def _look_at_class(self, kind: type) -> None:
        for base in kind.__mro__:
            if id(base) in self._owned or issubclass(base, Enum):
                continue
            if not self._is_foreign(base.__module__):
                self._look_at_attributes(base, base.__name__)
            elif _root(base.__module__) == "crownless":
                self._look_at_names_of(base, base.__name__)

    def _look_at_function(self, function: FunctionType) -> None:
        self.functions.append(function)
        code, name = function.__code__, function.__qualname__
        if vars(function):
            self.owners.append(function)
        attributes = vars(function)
        self._look_at_names(_Names(lambda of: f"{name}.{of}", lambda: attributes, dict(attributes)))
        positional = code.co_varnames[: code.co_argcount]

        def defaults() -> dict[str, Any]:
            last = function.__defaults__ or ()
            of_last = zip(positional[len(positional) - len(last) :], last, strict=False)
            return {**dict(of_last), **(function.__kwdefaults__ or {})}

        def closure() -> dict[str, Any]:
            cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
            return {of: value for of, cell in cells if (value := _in_cell(cell)) is not _NO_VALUE}

        self.cells += function.__closure__ or ()
        self._look_at_names(_Names(lambda of: f"the default of `{of}` in {name}", defaults, defaults()))
        self._look_at_names(_Names(lambda of: f"the variable `{of}` around {name}", closure, closure()))
        self._look_at_variables(function.__module__, function.__globals__, set(_names_in(code)))

    def _look_at_variables(self, module: str, known: dict[str, Any], named: set[str]) -> None:
        """Looks at those variables of a module that a function names."""
        _, _, all_named = self.variables.setdefault(id(known), (module, known, set()))
        for name in sorted(named - all_named):
            all_named.add(name)
            if name in known:
                self._look_at(known[name], _of_module(module)(name))
        for name in named:
            value = known.get(name)
            if isinstance(value, ModuleType) and vars(value) is not known and not self._is_foreign(value.__name__):
                within = named - self.variables.get(id(vars(value)), ("", {}, set()))[2]
                if within:
                    self._look_at_variables(value.__name__, vars(value), within)

    def _is_foreign(self, module: str | None) -> bool:
        """True of code that is not looked at: another package's."""
        if module is None or module in self._modules:
            return module is None
        root = _root(module)
        if root == "crownless" or root in sys.stdlib_module_names:
            return True
        if root in self._packages:
            return False
        file = getattr(sys.modules.get(module), "__file__", None)
        return file is not None and file.startswith(_INSTALLED)


def _root(module: str) -> str:
    return module.partition(".")[0]


def _of_module(module: str) -> Callable[[str], str]:
    return lambda name: f"the variable {name} of the module {module}"


#: Attributes that Python gives classes, whose values are not compared.
_OF_CLASSES = frozenset({"__annotations__", "__orig_bases__", "__parameters__", "_field_defaults"})
#: Where packages are installed.
_INSTALLED = tuple({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _parts_of_code(value: Any) -> list[Any]:
    """The functions, and what is bound to them, of which something callable or a descriptor is made."""
    if isinstance(value, staticmethod | classmethod):
        return [value.__func__]
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, property):
        return [value.fget, value.fset, value.fdel]
    if isinstance(value, cached_property):
        return [value.func]
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if callable(value) and isinstance(getattr(value, "__wrapped__", None), FunctionType):  # of `functools.cache`
        return [value.__wrapped__]
    return []


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, list | tuple | set | frozenset | deque) else []


# -- values ------------------------------------------------------------------------------------------------------------

#: Types whose values are compared wherever they are met.
_CONTAINERS = (Mapping, list, tuple, set, frozenset, deque, bytearray, SimpleNamespace)
#: What is copied at once where nothing within can change.
_COPIED = (dict, list, set)


def immutable(value: Any) -> bool:
    """True if it is made of tuples, frozen sets and plain values alone."""
    kind = type(value)
    if kind in PLAIN:
        return True
    if isinstance(value, tuple | frozenset):
        if kind.__dictoffset__:
            return False
        return PLAIN.issuperset(map(type, value)) or all(map(immutable, value))
    return isinstance(value, Integers | Enum)


def are_the_same(values: Collection[Any], others: Collection[Any]) -> bool:
    """True if these are the very same objects, in the same order."""
    return len(values) == len(others) and all(map(is_, values, others))


def _inside(value: Any) -> Any:
    """The parts of a value, to be compared with its later parts."""
    if type(value) in _COPIED and all(map(_is_fixed, _parts(value))):
        return value.copy()  # is made and compared at once
    return contents(value)


def _is_fixed(part: Any) -> bool:
    if isinstance(part, tuple) and not type(part).__dictoffset__:
        return all(map(_is_fixed, part))
    return immutable(part) or callable(part)


def contents(value: Any, inside: tuple[int, ...] = ()) -> Any:
    """A copy that can be compared with a later one: equal if nothing has changed within it."""
    if immutable(value):
        return value
    if id(value) in inside:
        return ("itself", inside.index(id(value)))
    inside = (*inside, id(value))
    kind = type(value)
    parts: list[Any] = [kind]
    if isinstance(value, Mapping):
        parts += [(contents(key, inside), contents(part, inside)) for key, part in value.items()]
    elif isinstance(value, set | frozenset | list | tuple | bytearray | deque):
        parts += [contents(part, inside) for part in value]
    elif hasattr(value, "tobytes"):
        parts.append(value.tobytes())
    elif isinstance(value, type | ModuleType) or callable(value):
        return (kind, id(value))
    for slot in (name for base in kind.__mro__ for name in slots_of(base)):
        if hasattr(value, slot):
            parts.append((slot, contents(getattr(value, slot), inside)))
    if hasattr(value, "__dict__"):
        parts += [
            (name, contents(part, inside))
            for name, part in vars(value).items()
            if not isinstance(getattr(kind, name, None), cached_property)
        ]
    return tuple(parts)


def slots_of(base: type) -> Iterable[str]:
    """The attributes that a class keeps in slots, by the names that `getattr` takes."""
    slots = vars(base).get("__slots__", ())
    within = f"_{base.__name__.lstrip('_')}"
    return [
        f"{within}{slot}" if slot.startswith("__") and not slot.endswith("__") else slot
        for slot in ([slots] if isinstance(slots, str) else slots)
    ]
