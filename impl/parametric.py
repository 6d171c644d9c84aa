"""Which machines treat all processes alike by construction: those that are parametric in the processes' names.

A machine of vectors and matrices that computes through `ops` alone can be run on values of which nothing is known but
their *sort*: a process, a number, a truth value, a vector, a matrix. Processes can be compared with each other and be
used as subscripts, nothing else; no value can be asked whether it is true. If every input runs on such values, and
gives a state of the very shape in which it started, each input has one path, made of operations that commute with
every renaming of the processes. What holds of one process then holds of all, in every reachable state.

That rests on the code being unable to look behind a sort, so the code itself is read too: whatever could tell an
opaque value from a number (`type`, `is`, `try`, another module's function), or keep something between two calls, is
refused. All that is refused may still be symmetric: it must be compared process by process.

The predicates on local states, of a machine that is parametric, are read and run likewise, each by itself.
"""

from __future__ import annotations

import builtins
import dis
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any, NoReturn

from crownless.spec.computation import Message

from .ops import Integers
from .protocol import Happened, Packet, ProtocolMachine, Step


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Built-in names that tell nothing of an opaque value but what its own operations tell, which refuse.
HARMLESS = _words(
    "all any bool dict enumerate frozenset int len list map max min range reversed set sorted sum super tuple zip"
)

#: Instructions that look at what an object is, keep something, or hide that a value refused.
REFUSED = _words(
    """IS_OP STORE_ATTR DELETE_ATTR STORE_GLOBAL DELETE_GLOBAL STORE_SUBSCR STORE_SLICE DELETE_SUBSCR IMPORT_NAME
    IMPORT_FROM IMPORT_STAR LOAD_BUILD_CLASS PUSH_EXC_INFO BEFORE_WITH BEFORE_ASYNC_WITH SETUP_WITH LOAD_SPECIAL
    LOAD_NAME STORE_NAME LOAD_LOCALS MATCH_CLASS MATCH_MAPPING MATCH_SEQUENCE MATCH_KEYS"""
)

#: What a class has from Python, and what a named tuple has.
OF_CLASSES = _words(
    """__module__ __doc__ __annotations__ __annotate__ __annotate_func__ __annotations_cache__ __qualname__ __dict__
    __weakref__ __orig_bases__ __parameters__ __firstlineno__ __static_attributes__
    __abstractmethods__ _abc_impl"""
)
OF_TUPLES = OF_CLASSES | _words(
    """__new__ __slots__ __repr__ __getnewargs__ __match_args__ __replace__ _fields _field_defaults _field_types _make
    _replace _asdict"""
)

#: Attributes of a machine's class that describe it, and are no part of what it does.
FACTS = frozenset(ProtocolMachine.__annotations__) | {"ordered_at", "remark"}

#: Those that hold code which is not read; and what is set, which is given to the run as it is.
UNREAD = frozenset({"constants", "invariants", "rules", "witnesses", "parameters", "settings", "ordered_at", "remark"})


class NotParametric(Exception):
    """Why a machine is not seen to be parametric."""


def is_parametric(machine: ProtocolMachine) -> bool:
    """True if the machine treats all processes alike by construction, for messages with one receiver each."""
    return why_not_parametric(machine) is None


def why_not_parametric(machine: ProtocolMachine) -> str | None:
    """Why that is not seen; None if it is."""
    try:
        _read(machine)
        _run(type(machine), machine)
    except NotParametric as reason:
        return str(reason)
    except Exception as error:
        return f"it does not run on opaque values: {type(error).__name__}: {error}"
    return None


def predicates_not_parametric(machine: ProtocolMachine) -> frozenset[str]:
    """The names of the invariants and witnesses of a parametric machine that are not seen to be parametric too."""
    found = [machine.invariants, machine.witnesses]
    bases = [vars(base) for base in type(machine).__mro__]
    if any(type(base.get(name, {})) is not dict for base in bases for name in ("invariants", "witnesses")):
        return frozenset(name for predicates in found for name in predicates)
    return frozenset(
        name
        for predicates in found
        for name, holds in predicates.items()
        if not _is_parametric_predicate(machine, holds)
    )


def _is_parametric_predicate(machine: ProtocolMachine, holds: Any) -> bool:
    try:
        if not isinstance(holds, FunctionType):
            raise NotParametric("it is no function")
        _read_function(holds, {Step, Packet, Happened, Message})
        i: Any = _Process()
        opaque = _opaque(type(machine), machine)
        _expect(type(holds(opaque, i, _fresh(_shape(opaque.initial(i))))) in (_Truth, bool))
    except Exception:
        return False
    return True


# -- reading the code --------------------------------------------------------------------------------------------------


def _read(machine: ProtocolMachine) -> None:
    kind = type(machine)
    if set(vars(machine)) != {"n", "settings", "ops"} or type(machine.ops) is not Integers:
        raise NotParametric("the machine has attributes of its own")
    seen: set[Any] = {Step, Packet, Happened, Message}
    for base in kind.__mro__[: kind.__mro__.index(ProtocolMachine)]:
        if not issubclass(base, ProtocolMachine):
            raise NotParametric(f"{base.__name__} is no machine")
        for name, value in vars(base).items():
            if name in FACTS or name in OF_CLASSES:
                continue
            if name.startswith("__") or name in ("renamed_packet", "agree", "setting"):
                raise NotParametric(f"it defines {name}")
            if isinstance(value, FunctionType):
                _read_function(value, seen)
            elif not _is_plain(value):
                raise NotParametric(f"its attribute {name} may change")


def _read_function(function: FunctionType, seen: set[Any]) -> None:
    if function in seen:
        return
    seen.add(function)
    if any(name != "__class__" for name in function.__code__.co_freevars):
        raise NotParametric(f"{function.__name__} is a closure")
    if not all(map(_is_plain, (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()))):
        raise NotParametric(f"{function.__name__} has a default that may change")
    for code in _nested(function.__code__):
        for instruction in dis.get_instructions(code):
            name, argument = instruction.opname, instruction.argval
            if name in REFUSED:
                raise NotParametric(f"{code.co_name} uses {name}")
            if name == "LOAD_GLOBAL":
                _read_global(function, str(argument), seen)
            elif ("_ATTR" in name or name == "LOAD_METHOD") and (str(argument).startswith("__") or argument in UNREAD):
                raise NotParametric(f"{code.co_name} reads {argument}")


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _read_global(function: FunctionType, name: str, seen: set[Any]) -> None:
    if name not in function.__globals__:
        if name not in HARMLESS or not hasattr(builtins, name):
            raise NotParametric(f"{function.__name__} uses {name}")
        return
    value = function.__globals__[name]
    if _is_plain(value):
        return
    if isinstance(value, FunctionType):
        _read_function(value, seen)
    elif isinstance(value, type) and issubclass(value, tuple) and value.__mro__[1:] == (tuple, object):
        if value not in seen:
            seen.add(value)
            _read_tuple(value, seen)
    else:
        raise NotParametric(f"{function.__name__} uses {name}")


def _read_tuple(kind: type, seen: set[Any]) -> None:
    """A named tuple: its fields, and functions of its own."""
    fields = getattr(kind, "_fields", None)
    if fields is None:
        raise NotParametric(f"{kind.__name__} is no named tuple")
    for name, value in vars(kind).items():
        if name in OF_TUPLES or name in fields:
            continue
        made = value.fget if isinstance(value, property) else value
        if name.startswith("__") or not isinstance(made, FunctionType):
            raise NotParametric(f"{kind.__name__} defines {name}")
        _read_function(made, seen)


def _is_plain(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, str)


# -- values of which only the sort is known ----------------------------------------------------------------------------


def _refuse(self: Any, *others: Any) -> NoReturn:
    raise NotParametric("it asks something of a value that is not the same for all processes")


class _Opaque:
    """Refuses every operation; the sorts admit some."""

    def __init_subclass__(cls) -> None:
        # Python takes the hash from a class that compares.
        cls.__hash__ = _refuse  # type: ignore[method-assign]


ARITHMETIC = _words("add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor")
for _name in ARITHMETIC | _words(
    """bool len iter next contains getitem call index int float complex str repr format bytes hash eq ne lt le gt ge
    getattr neg pos abs invert round trunc floor ceil reversed length_hint enter exit dir sizeof reduce reduce_ex"""
):
    setattr(_Opaque, f"__{_name}__", _refuse)
for _name in ARITHMETIC:
    setattr(_Opaque, f"__r{_name}__", _refuse)


class _Truth(_Opaque):
    """Whether something holds."""


class _Process(_Opaque):
    def _compared(self, other: Any) -> _Truth:
        return _Truth() if type(other) is _Process else _refuse(self)

    __eq__ = __ne__ = _compared  # type: ignore[assignment]


class _Number(_Opaque):
    def _another(self, *others: Any) -> _Number:
        return _Number() if all(map(_is_number, others)) else _refuse(self)

    def _compared(self, other: Any) -> _Truth:
        return _Truth() if _is_number(other) else _refuse(self)

    __neg__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _another
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared  # type: ignore[assignment]


class _Vector(_Opaque):
    def __getitem__(self, k: Any) -> _Number:
        return _Number() if type(k) is _Process else _refuse(self)


class _Matrix(_Opaque):
    def __getitem__(self, k: Any) -> _Vector:
        return _Vector() if type(k) is _Process else _refuse(self)


def _is_number(value: Any) -> bool:
    return type(value) in (_Number, int)


def _expect(*conditions: bool) -> None:
    if not all(conditions):
        _refuse(None)


class _Ops:
    """An `impl.ops.Ops` over sorts: it runs every comprehension once."""

    def vector(self, entry: Callable[[Any], Any]) -> _Vector:
        _expect(_is_number(entry(_Process())))
        return _Vector()

    def matrix(self, entry: Callable[[Any, Any], Any]) -> _Matrix:
        _expect(_is_number(entry(_Process(), _Process())))
        return _Matrix()

    def every(self, holds: Callable[[Any], Any]) -> _Truth:
        return self.all_of(holds(_Process()))

    def all_of(self, *conditions: Any) -> _Truth:
        _expect(*(type(condition) in (_Truth, bool) for condition in conditions))
        return _Truth()

    def maximum(self, a: Any, b: Any) -> Any:
        if _is_number(a) and _is_number(b):
            return _Number()
        _expect(type(a) is type(b), type(a) in (_Vector, _Matrix))
        return type(a)()

    def incremented(self, array: Any, *place: Any) -> Any:
        _expect(all(type(k) is _Process for k in place), type(array) is {1: _Vector, 2: _Matrix}.get(len(place)))
        return type(array)()

    def one_if(self, *conditions: Any) -> _Number:
        self.all_of(*conditions)
        return _Number()

    def among(self, k: Any, some: Any) -> _Number:
        _expect(type(k) is _Process, type(some) is tuple and all(type(l) is _Process for l in some))
        return _Number()


# -- running the machine -----------------------------------------------------------------------------------------------


def _opaque(kind: type[ProtocolMachine], machine: ProtocolMachine) -> ProtocolMachine:
    """The machine for processes of which nothing is known, with its settings."""
    settings = {name: machine.setting(name) for name in machine.parameters}
    _expect(all(type(value) is int for value in (*settings.values(), *machine.settings.values())))
    return kind(_Opaque(), _Ops(), settings)


def _run(kind: type[ProtocolMachine], machine: ProtocolMachine) -> None:
    """Runs every input in a state, and on packets, of which only the shape is known."""
    opaque = _opaque(kind, machine)
    i: Any = _Process()
    shape = _shape(opaque.initial(i))
    #: (kind, does it carry a message) → the shape of the stamp.
    packets: dict[tuple[str, bool], Any] = {}
    done: set[tuple[str, bool]] = set()

    def check(steps: Any, message: Message | None) -> None:
        _expect(type(steps) in (list, tuple))
        for step in steps:
            _expect(type(step) is Step, _shape(step.state) == shape)
            for packet in step.packets:
                _expect(type(packet) is Packet, type(packet.source) is _Process, type(packet.destination) is _Process)
                _expect(type(packet.kind) is str, packet.message is None or packet.message is message)
                stamp = _shape(packet.stamp)
                _expect(packets.setdefault((packet.kind, packet.message is not None), stamp) == stamp)
            for event in step.events:
                _expect(type(event) is Happened, type(event.kind) is str, event.message is message is not None)

    def message() -> Message:
        return Message(_Opaque(), _Process(), (_Process(),))  # type: ignore[arg-type]

    sent = message()
    check(opaque.send(i, _fresh(shape), sent), sent)
    check(opaque.receive(i, _fresh(shape), None), None)
    for name, step in opaque.internal(i, _fresh(shape)):
        _expect(type(name) is str)
        check([step], None)
    while done != packets.keys():
        for arriving in packets.keys() - done:
            done.add(arriving)
            carried = message() if arriving[1] else None
            packet = Packet(_Process(), i, arriving[0], carried, _fresh(packets[arriving]))
            _expect(type(opaque.accepts(i, _fresh(shape), packet)) in (_Truth, bool))
            check(opaque.arrive(i, _fresh(shape), packet), carried)
    state = _fresh(shape)
    _is_renamed(state, opaque.renamed(state, _Renaming()))  # type: ignore[arg-type]
    for (name, _), of_stamp in packets.items():
        stamp = _fresh(of_stamp)
        if stamp is not None:
            _is_renamed(stamp, opaque.renamed_stamp(name, stamp, _Renaming()))  # type: ignore[arg-type]


def _shape(value: Any) -> Any:
    """Of what sorts a value is made; a number in it may be any."""
    if type(value) is int:
        return _Number
    if type(value) in (_Process, _Number, _Vector, _Matrix):
        return type(value)
    if isinstance(value, tuple) and (type(value) is tuple or hasattr(value, "_fields")):
        return (type(value), tuple(map(_shape, value)))
    if value is None or type(value) in (bool, str):
        return ("always", value)
    raise NotParametric("a state or stamp is not made of processes, numbers, vectors and matrices")


def _fresh(shape: Any) -> Any:
    """A value of that shape of which nothing else is known."""
    if isinstance(shape, type):
        return shape()
    kind, parts = shape
    if kind == "always":
        return parts
    return tuple(map(_fresh, parts)) if kind is tuple else kind(*map(_fresh, parts))


class _Image:
    """A value renamed."""

    def __init__(self, of: Any) -> None:
        self.of = of


class _Renaming:
    """A renaming of which nothing is known."""

    def __init__(self) -> None:
        self.image = self

    def __getitem__(self, process: Any) -> _Image:
        return self._renamed(process, _Process)

    def process(self, process: Any) -> _Image:
        return self._renamed(process, _Process)

    def vector(self, vector: Any) -> _Image:
        return self._renamed(vector, _Vector)

    def matrix(self, matrix: Any) -> _Image:
        return self._renamed(matrix, _Matrix)

    def _renamed(self, value: Any, sort: type) -> _Image:
        _expect(type(value) is sort)
        return _Image(value)


def _is_renamed(value: Any, image: Any) -> None:
    """Raises unless every part of the value is renamed as its sort is."""
    if type(value) in (_Process, _Vector, _Matrix):
        _expect(type(image) is _Image, getattr(image, "of", None) is value)
    elif type(value) is _Number:
        _expect(image is value)
    elif isinstance(value, tuple):
        _expect(type(image) is type(value), len(image) == len(value))
        for part, other in zip(value, image, strict=True):
            _is_renamed(part, other)
    else:
        _expect(type(image) is type(value), image == value)
