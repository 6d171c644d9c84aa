"""Classes from outside this package, protocols and nodes: `file.py:Class`, `package.module:Class`, entry points.

A package registers its protocols under the entry-point group `crownless.protocols`; they are then known by the names
that it gives them.
"""

import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from weakref import WeakKeyDictionary

from crownless.runtime.errors import BadInput
from crownless.runtime.printable import error_line, with_article

from .protocol import ProtocolMachine
from .user_frames import place_of_error

GROUP = "crownless.protocols"

#: The name by which each of them was loaded.
_names: WeakKeyDictionary[type[ProtocolMachine], str] = WeakKeyDictionary()


def is_own(name: str) -> bool:
    """True if this names a user's class, not a protocol of the registry."""
    return ":" in name or name.endswith(".py")


def load(name: str) -> type[ProtocolMachine]:
    """The protocol class of `file.py:Class` or `package.module:Class`. The class may be left out if there is only one.

    Raises `BadInput` if there is no such file, module or class, if it is no protocol, or if it cannot be imported.
    """
    kind = _class_of(name, PROTOCOL)
    call(kind, f"{_parts(name)[0]}:{kind.__qualname__}")
    return kind


def load_node(name: str) -> type:
    """The class of nodes of `file.py:Class` or `package.module:Class` (`oracle.conformance`), likewise."""
    return _class_of(name, NODE)


def load_protocol_or_node(name: str) -> type:
    """The class of a protocol or of nodes, likewise."""
    return _class_of(name, EITHER)


def call(kind: type[ProtocolMachine], name: str) -> None:
    """Reports call it by this name, by which it is found again; its first name stays."""
    _names.setdefault(kind, name)


def name_when_loaded(kind: type[ProtocolMachine]) -> str | None:
    """The name by which it was loaded; None if it was not loaded here."""
    return _names.get(kind)


@cache
def registered() -> dict[str, EntryPoint]:
    """The protocols that installed packages register, by name; nothing distinguishes those of the same name."""
    return {point.name: point for point in entry_points(group=GROUP)}


def load_registered(name: str) -> type[ProtocolMachine]:
    """The protocol that an installed package registers under this name."""
    point = registered()[name]
    with _imported(f"{name} ({point.value})"):
        found = point.load()
    kind = _checked(found, name, PROTOCOL)
    call(kind, name)
    return kind


def class_nearby(name: str) -> str | None:
    """`file.py:Class` if a Python file in the current folder defines a class of that name; none is imported."""
    if not name.isidentifier():
        return None
    definition = re.compile(rf"^class {name}\b", re.MULTILINE)
    for file in sorted(Path().glob("*.py")):
        with suppress(OSError, ValueError):
            if definition.search(file.read_text(encoding="utf-8")):
                return f"{file}:{name}"
    return None


# -- modules -----------------------------------------------------------------------------------------------------------


def _of_file(path: Path) -> ModuleType:
    if not path.is_file():
        problem = "a directory, not a file" if path.is_dir() else "no such file"
        raise BadInput(f"{path}: {problem}", hint="give a Python file and the class in it, such as hub.py:Hub")
    return _loaded(path.resolve(), str(path))


@cache
def _loaded(path: Path, called: str) -> ModuleType:
    """The module of a file, imported once; modules beside it can be imported by it."""
    name = path.stem
    if name in sys.modules or not name.isidentifier() or importlib.util.find_spec(name) is not None:
        name = f"crownless_own_{abs(hash(path))}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadInput(f"{called}: not a Python file", hint="its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    try:
        with _imported(called):
            spec.loader.exec_module(module)
    except BadInput:
        del sys.modules[name]
        raise
    return module


def _of_module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise BadInput(f"'{name}' is not a module", hint="name a protocol as file.py:Class or package.module:Class")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` does
    with _imported(name):
        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
                hint = "run it where the module can be imported, or give a file, such as hub.py:Hub"
                raise BadInput(f"there is no module {error.name}", hint=hint) from None
            raise


@contextmanager
def _imported(called: str) -> Iterator[None]:
    """Wraps an import of a user's code: exceptions are reported in a line, and its prints are no part of the answer."""
    try:
        with redirect_stdout(sys.stderr):
            yield
    except BadInput:
        raise
    except (Exception, SystemExit) as error:
        raise _cannot_be_imported(called, error) from error


def _cannot_be_imported(called: str, error: BaseException) -> BadInput:
    """The line on an error in a user's file, with its place."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return BadInput(f"{error.msg}", hint="correct it", file=error.filename, line=error.lineno, column=error.offset)
    return BadInput(f"{place_of_error(error) or called}: it cannot be imported: {error_line(error)}", hint="correct it")


# -- classes -----------------------------------------------------------------------------------------------------------


class _Sought(NamedTuple):
    """A kind of class to look for: its name in messages, a test for it, hints, and the command for it."""

    called: str
    several: str
    is_one: Callable[[type], bool]
    hint: str
    begin: str
    command: str = ""


PROTOCOL = _Sought(
    "protocol",
    "protocols",
    lambda kind: issubclass(kind, ProtocolMachine),
    "derive a class from crownless.Protocol",
    "begin with: crownless new {}",
    "check",
)
NODE = _Sought(
    "node",
    "nodes",
    lambda kind: callable(getattr(kind, "on_send", None)) and callable(getattr(kind, "on_packet", None)),
    "a node's class has on_send(to, message) and on_packet(source, packet)",
    "a node's class has on_send(to, message) and on_packet(source, packet)",
    "conform",
)

EITHER = _Sought(
    "protocol or node",
    "protocols and nodes",
    lambda kind: PROTOCOL.is_one(kind) or NODE.is_one(kind),
    f"{PROTOCOL.hint}, or give one with on_send(to, message) and on_packet(source, packet)",
    PROTOCOL.begin,
)


def _parts(name: str) -> tuple[str, str]:
    """The file or module, and the class, if it is named."""
    where, _, wanted = name.rpartition(":") if ":" in name else (name, "", "")
    return where, wanted


def _class_of(name: str, sought: _Sought) -> type:
    where, wanted = _parts(name)
    module = _of_file(Path(where)) if where.endswith(".py") or "/" in where else _of_module(where)
    return _class_in(module, where, wanted, sought)


def _class_in(module: ModuleType, where: str, wanted: str, sought: _Sought) -> type:
    classes = _classes(module, sought)
    known = ", ".join(f"{where}:{name}" for name in classes) or f"none; {sought.begin.format(where)}"
    if not wanted:
        if len(classes) == 1:
            return next(iter(classes.values()))
        if not classes:
            begin = sought.begin.format(where)
            hints = [_command_hint(f"{where}:{name}", kind) for name, kind in _classes(module).items()]
            raise BadInput(f"{where} has no {sought.called}", hint=next(filter(None, hints), begin))
        raise BadInput(f"{where} has {len(classes)} {sought.several}", hint=f"name one: {known}")
    found: object = module
    for part in wanted.split("."):
        found = getattr(found, part, None)
    if found is None:
        nearest = get_close_matches(wanted, classes, n=1, cutoff=0.5)
        suggestion = f"did you mean '{nearest[0]}'? " if nearest else ""
        raise BadInput(f"{where} has no class '{wanted}'", hint=f"{suggestion}its {sought.several}: {known}")
    return _checked(found, f"{where}:{wanted}", sought)


def _classes(module: ModuleType, sought: _Sought | None = None) -> dict[str, type]:
    """The classes that a module defines, of that kind or of any."""
    return {
        name: kind
        for name, kind in vars(module).items()
        if inspect.isclass(kind) and kind.__module__ == module.__name__ and (sought is None or sought.is_one(kind))
    }


def _command_hint(name: str, found: object) -> str:
    """A hint at the command that takes this class, or nothing."""
    for known in (PROTOCOL, NODE):
        if inspect.isclass(found) and known.is_one(found):
            return f"{name} is a {known.called}: crownless {known.command} {name}"
    return ""


def _checked(found: object, name: str, sought: _Sought) -> type:
    if inspect.isclass(found) and sought.is_one(found):
        return found
    what = f"the class {found.__name__}" if inspect.isclass(found) else with_article(type(found).__name__)
    hint = _command_hint(name, found) or sought.hint
    raise BadInput(f"{name} is {what}, which is not a {sought.called}", hint=hint)
