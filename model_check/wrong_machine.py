"""Messages on a machine whose code is wrong: one line with class, method, process, input and local state.

Engines do not wrap the calls that they make. Where a search fails, the traceback is read: its outermost frame that runs
a method of the machine's class, or one of its predicates, is the call that failed, and the frames from there on that
are not crownless's, Python's or an installed package's are the user's own.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

from crownless.impl.protocol import Packet, Parameter, ProtocolMachine, Transition, WrongAnswer
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message
from crownless.spec.errors import BadInput

#: Longer values and error texts are shortened to so many characters.
LONGEST_VALUE, LONGEST_ERROR = 72, 120

#: The inputs of a machine and its renamings, with their arguments.
ARGUMENTS = {
    "initial": ("i",),
    "send": ("i", "state", "message"),
    "deliverable": ("i", "state", "packet"),
    "on_packet": ("i", "state", "packet"),
    "receive": ("i", "state", "sender"),
    "internal": ("i", "state"),
    "agree": ("states", "crashed"),
    "renamed": ("state", "renaming"),
    "renamed_stamp": ("kind", "stamp", "renaming"),
}
#: What a machine's predicates are called in messages, by the attribute that names them.
PREDICATES = {"invariants": "invariant", "witnesses": "witness", "rules": "rule"}
#: Their arguments.
OF_PREDICATES = {
    "invariant": ("machine", "i", "state"),
    "witness": ("machine", "i", "state"),
    "rule": ("machine", "transition"),
}

ANSWERS_EVERYWHERE = "a method must have an answer in every local state that can occur"


class WrongMachine(BadInput):
    """The code of a protocol's class is wrong: no search can go on with it."""


class NotGiven:
    """The value of an argument that a call does not have, or of which nothing is known."""


NOT_GIVEN = NotGiven()


class Call(NamedTuple):
    """A call of a machine's method or predicate, as messages describe it; `given` is a message, a packet, …"""

    kind: type
    method: str
    process: int | None = None
    state: Any = NOT_GIVEN
    given: Any = NOT_GIVEN

    @property
    def named(self) -> str:
        """The method or predicate: ``Hub.send``, ``rule 'waits' of Hub``."""
        name = self.kind.__name__
        return f"{name}.{self.method}" if self.method.isidentifier() else f"{self.method} of {name}"

    @property
    def at(self) -> str:
        """The process, if it is one: `` at P1``."""
        return "" if self.process is None else f" at P{self.process + 1}"

    @property
    def where(self) -> str:
        """The place where the user wrote the method, or the class that inherits it: `` (hub.py:12)``."""
        owner = next((base for base in self.kind.__mro__ if self.method in vars(base)), self.kind)
        code = code_of(vars(owner).get(self.method))
        if code is not None and _is_users(self.kind, owner.__module__, code.co_filename):
            return f" ({place(code.co_filename, code.co_firstlineno)})"
        for base in self.kind.__mro__:
            with suppress(OSError, TypeError):  # its source is not found
                file, line = inspect.getfile(base), inspect.getsourcelines(base)[1]
                if _is_users(self.kind, base.__module__, file):
                    return f" ({place(file, line)})"
        return ""

    @property
    def subject(self) -> str:
        """The method, where it is written, and the process: ``Hub.send (hub.py:12) at P1``."""
        return f"{self.named}{self.where}{self.at}"

    @property
    def arguments(self) -> str:
        """The arguments of the call: ``given the message 1→2#1 in the local state (0, 0)``."""
        if isinstance(self.given, Transition):
            return f", given the step '{self.given.action}' from the local state {shown(self.given.before)}"
        given = "" if self.given is NOT_GIVEN else f" given {described(self.given)}"
        state = "" if self.state is NOT_GIVEN else f" in the local state {shown(self.state)}"
        return f",{given}{state}" if given or state else ""

    def wrong(self, problem: str, hint: str) -> WrongMachine:
        """The error to raise where what the call gave cannot be used."""
        return WrongMachine(f"{self.subject} {problem}{self.arguments}", hint=hint)


def described(value: Any) -> str:
    """An input in words."""
    if isinstance(value, Packet):
        carried = "" if value.message is None else f" of {_name_of(value.message)}"
        stamp = "" if value.stamp is None else f", stamp {shown(value.stamp)},"
        return f"the packet '{shown(value.kind, str)}'{carried} from {_process(value.source)}{stamp}"
    if isinstance(value, Message):
        return f"the message {_name_of(value)}"
    if isinstance(value, Renaming):
        return f"the renaming {', '.join(f'P{i + 1}→P{j + 1}' for i, j in enumerate(value.image))}"
    return "a request for any message" if value is None else f"a request for a message from {_process(value)}"


def _name_of(message: Any) -> str:
    return shown(message.name, str) if isinstance(message, Message) else shown(message)


def _process(i: Any) -> str:
    return f"P{i + 1}" if isinstance(i, int) else shown(i)


def shown(value: Any, show: Callable[[Any], str] = repr) -> str:
    """A value on one line, shortened in the middle if it is long."""
    try:
        text = show(value)
    except Exception as error:  # of any kind: it is the user's own code
        return f"<a {type(value).__name__} of which {show.__name__} fails: {type(error).__name__}>"
    return shortened(_AT_AN_ADDRESS.sub(r"<\1>", text), LONGEST_VALUE)


#: How Python shows an object that says nothing of itself.
_AT_AN_ADDRESS = re.compile(r"<(?:[\w.<>]+\.)?(\w+) object at 0x[0-9a-f]+>")


def shortened(text: str, longest: int) -> str:
    """The text on one line, without its middle if it is longer."""
    line = " ".join(text.split())
    half = longest // 2
    return line if len(line) <= longest else f"{line[: longest - half - 1]}…{line[-half:]}"


# -- code --------------------------------------------------------------------------------------------------------------


def code_of(value: Any) -> CodeType | None:
    """The code of a function, method, property or partial, behind what `functools.wraps` put around it."""
    for name in ("__func__", "fget", "func"):
        value = getattr(value, name, value)
    code = getattr(inspect.unwrap(value), "__code__", None) if callable(value) else None
    return code if isinstance(code, CodeType) else None


def _named_code(kind: type) -> dict[CodeType, str]:
    """The code of all that engines call, and what messages call it."""
    bases = [base for base in reversed(kind.__mro__) if base not in (object, ProtocolMachine)]
    called = [(name, value) for base in bases for name, value in vars(base).items()]
    for attribute, word in PREDICATES.items():
        called += [(f"{word} '{name}'", predicate) for name, predicate in _items(kind, attribute)]
    for name, parameter in _items(kind, "parameters"):
        called += [(f"parameter '{name}'", part) for part in parameter if isinstance(parameter, Parameter)]
    return {code: name for name, value in called if (code := code_of(value)) is not None}


def _items(kind: type, attribute: str) -> Iterable[tuple[Any, Any]]:
    known = getattr(kind, attribute, None)
    return known.items() if isinstance(known, Mapping) else ()


def place(file: str, line: int | None) -> str:
    """A line of code, with its file as it is seen from the working directory."""
    relative = os.path.relpath(file) if os.path.isabs(file) else file
    return f"{file if relative.startswith(os.pardir) else relative}:{line}"


INSTALLED = tuple(os.path.realpath(path) for name in ("purelib", "platlib") if (path := sysconfig.get_path(name)))


def _is_users(kind: type, module: str | None, file: str) -> bool:
    """True of the user's own code, which may be an installed package that the machine's class is of."""
    root = (module or "").partition(".")[0]
    if root == "crownless" or root in sys.stdlib_module_names - {"__main__"}:
        return False
    packages = {base.__module__.partition(".")[0] for base in kind.__mro__}
    return root in packages or not os.path.realpath(file).startswith(INSTALLED)


# -- what failed -------------------------------------------------------------------------------------------------------


@contextmanager
def machine_errors(kind: type) -> Iterator[None]:
    """Within it an exception that comes out of the machine's own code is raised as `WrongMachine`."""
    try:
        yield
    except (BadInput, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit too, which no machine may raise
        wrong = None if isinstance(error, MemoryError) else wrong_machine(kind, error)
        if wrong is None:
            raise
        raise wrong from None


def wrong_machine(kind: type, error: BaseException) -> WrongMachine | None:
    """The message on a failure in the machine's own code; None if it is elsewhere, or the protocol is bundled."""
    if kind.__module__.partition(".")[0] == "crownless":
        return None
    if isinstance(error, WrongAnswer):
        return Call(kind, error.method).wrong(f"returns {shown(error.answer)}, not {error.noun}", error.hint)
    frames = list(_frames(error.__traceback__))
    if not frames:
        return None
    if isinstance(error, NotImplementedError) and (missing := _missing(kind, frames[-1][0])) is not None:
        return missing
    named = _named_code(kind)
    first = next((k for k, (frame, _) in enumerate(frames) if frame.f_code in named), None)
    if first is None:
        if not isinstance(error, RecursionError):
            return None
        hint = "keep what can grow in one tuple, not in tuples within tuples"
        return WrongMachine(f"{kind.__name__}: a local state or a packet is nested too deeply", hint=hint)
    users = [at for at in frames[first:] if _is_users(kind, at[0].f_globals.get("__name__"), at[0].f_code.co_filename)]
    call = _call(kind, named, frames[first][0])
    where = _innermost(users) if users else "in code that it inherits"
    hint = "nothing in a machine may end the process" if isinstance(error, SystemExit) else _hint(kind, call)
    return WrongMachine(f"{call.named} fails{call.at}: {shown_error(error)} ({where}){call.arguments}", hint=hint)


def _hint(kind: type, call: Call) -> str:
    """The hint; a predicate that is inherited may be of states of another shape."""
    for attribute, called in PREDICATES.items():
        if call.method.startswith(f"{called} '"):
            name = call.method[len(called) + 2 : -1]
            owner = next((base for base in kind.__mro__ if name in (vars(base).get(attribute) or ())), kind)
            if owner is not kind:
                return (
                    f"{owner.__name__} has it; for states of another shape give the class its own: {attribute} = {{}}"
                )
            return f"a predicate must have an answer for every {'step' if called == 'rule' else 'local state'}"
    if call.method in ARGUMENTS:
        return ANSWERS_EVERYWHERE
    if call.method == "__init__":
        return f"it is called as {kind.__name__}(n, parameters={{…}})"
    return "it must have a value for every number of processes, and for every parameter"


def shown_error(error: BaseException) -> str:
    """An exception on one line, shortened in the middle if it is long."""
    text = shortened(shown(error, str), LONGEST_ERROR)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    """Each frame with the line it is at, the outermost first."""
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


def _innermost(users: Sequence[tuple[FrameType, int]]) -> str:
    frame, line = users[-1]
    return f"{place(frame.f_code.co_filename, line)} in {frame.f_code.co_name}"


def _missing(kind: type, frame: FrameType) -> WrongMachine | None:
    """The message on a missing method that was needed only now."""
    for name in ARGUMENTS:
        if frame.f_code is code_of(vars(ProtocolMachine).get(name)):
            return missing_method(kind, name)
    return None


def missing_method(kind: type, name: str) -> WrongMachine:
    """The message on a missing method."""
    if name.startswith("renamed"):
        of = "local state" if name == "renamed" else "packet's stamp"
        return WrongMachine(
            f"{kind.__name__} has no method {name}, and says symmetric = True",
            hint=f"write {name}({', '.join(('self', *ARGUMENTS[name]))}), which renames the processes in a {of}, "
            "or leave out symmetric",
        )
    gives = "the local state at the start" if name == "initial" else "a list of steps"
    return WrongMachine(
        f"{kind.__name__} has no method {name}",
        hint=f"write {name}({', '.join(('self', *ARGUMENTS[name]))}), which returns {gives}",
    )


# -- the call that a frame runs ----------------------------------------------------------------------------------------


def _call(kind: type, named: dict[CodeType, str], frame: FrameType) -> Call:
    """The call that a frame runs. Engines make calls from `purity`, which keeps what it is given; elsewhere the
    frame's own arguments are read.
    """
    method = named[frame.f_code]
    roles = ARGUMENTS.get(method) or OF_PREDICATES.get(method.partition(" ")[0])
    if roles is None:
        return Call(kind, method)
    caller = frame.f_back
    while caller is not None and caller.f_code.co_name.startswith("<"):
        caller = caller.f_back
    known = caller.f_locals if caller is not None and caller.f_globals.get("__name__") == _PURITY else {}
    if "arguments" in known:
        values = dict(zip(roles, known["arguments"], strict=False))
    elif "i" in known and "state" in known:
        values = {role: known[role] for role in roles if role in known}
    else:
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount][method in ARGUMENTS :]
        values = {
            role: frame.f_locals[name] for role, name in zip(roles, names, strict=False) if name in frame.f_locals
        }
    given = next(
        (values[role] for role in ("message", "packet", "sender", "renaming", "transition") if role in values),
        NOT_GIVEN,
    )
    process = values.get("i", given.process if isinstance(given, Transition) else None)
    return Call(kind, method, process if isinstance(process, int) else None, values.get("state", NOT_GIVEN), given)


_PURITY = f"{__name__.rpartition('.')[0]}.purity"
