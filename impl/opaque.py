"""Opaque values, known only by their sort: a process, a number, a truth value, a vector, a matrix, a message.

Processes can be compared and be used as subscripts, numbers be added and compared, messages be compared for equality;
every other operation raises `NotParametric`. A truth value may be read: the code that reads it is run once
for each answer (`on_every_path`).
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, NoReturn

from crownless.spec.computation import Message

#: So many ways through one input are all tried.
MOST_PATHS = 64


class NotParametric(Exception):
    """Why a machine is not seen to be parametric."""


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def expect(*conditions: bool) -> None:
    """Raises unless all of them hold."""
    if not all(conditions):
        refuse()


def refuse(*_: Any) -> NoReturn:
    raise NotParametric("it applies an operation to a value that differs between processes")


# -- paths -------------------------------------------------------------------------------------------------------------


class _Path:
    """The answers given on one way through an input: those to be given first, and True to each later question."""

    def __init__(self, answers: list[bool]) -> None:
        self.answers = answers
        self._given = 0

    def answer(self) -> bool:
        if self._given == len(self.answers):
            self.answers.append(True)
        self._given += 1
        return self.answers[self._given - 1]


_path = _Path([])


def on_every_path(run: Callable[[], None]) -> None:
    """Runs it once for every combination of the truth values that it reads."""
    global _path
    answers: list[bool] = []
    for _ in range(MOST_PATHS):
        _path = _Path(answers)
        run()
        while answers and not answers[-1]:
            answers.pop()
        if not answers:
            return
        answers[-1] = False
    raise NotParametric("there are too many ways through one input")


# -- sorts -------------------------------------------------------------------------------------------------------------


class Opaque:
    """Refuses every operation; the sorts admit some."""

    def __init_subclass__(cls) -> None:
        # Python takes the hash from a class that compares.
        cls.__hash__ = refuse  # type: ignore[method-assign, assignment]


ARITHMETIC = words("add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor")
for _name in ARITHMETIC | words(
    """bool len iter next contains getitem call index int float complex str repr format bytes hash eq ne lt le gt ge
    getattr neg pos abs invert round trunc floor ceil reversed length_hint enter exit dir sizeof reduce reduce_ex"""
):
    setattr(Opaque, f"__{_name}__", refuse)
for _name in ARITHMETIC:
    setattr(Opaque, f"__r{_name}__", refuse)


class Truth(Opaque):
    """Whether something holds."""

    def __init__(self) -> None:
        self._known: bool | None = None

    def __bool__(self) -> bool:
        if self._known is None:
            self._known = _path.answer()
        return self._known


class Process(Opaque):
    def __eq__(self, other: object) -> Any:
        if other is None:
            return False
        return Truth() if type(other) is Process else refuse()

    def __ne__(self, other: object) -> Any:
        return True if other is None else self == other


class Number(Opaque):
    def _another(self, *others: Any) -> Number:
        return Number() if all(map(is_number, others)) else refuse()

    def _compared(self, other: Any) -> Truth:
        return Truth() if is_number(other) else refuse()

    def __bool__(self) -> bool:
        return bool(self != 0)

    __neg__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _another
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared  # type: ignore[assignment]


class Vector(Opaque):
    def __getitem__(self, k: Any) -> Number:
        return Number() if type(k) is Process else refuse()


class Matrix(Opaque):
    def __getitem__(self, k: Any) -> Vector:
        return Vector() if type(k) is Process else refuse()


class OpaqueMessage(Message):
    """A message with one receiver; it differs from others by its name, of which nothing is known."""

    def _compared(self, other: Any) -> Any:
        if other is None or other is self:
            return None
        return Truth() if type(other) is OpaqueMessage else refuse()

    def __eq__(self, other: object) -> Any:
        compared = self._compared(other)
        return other is self if compared is None else compared

    def __ne__(self, other: object) -> Any:
        compared = self._compared(other)
        return other is not self if compared is None else compared

    __hash__ = __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __mul__ = __rmul__ = refuse
    _replace = _make = _asdict = count = index = refuse  # type: ignore[assignment]


def message() -> OpaqueMessage:
    return OpaqueMessage(Opaque(), Process(), (Process(),))  # type: ignore[arg-type]


def is_number(value: Any) -> bool:
    return type(value) in (Number, int)


# -- computing with them -----------------------------------------------------------------------------------------------


class OpaqueOps(Opaque):
    """An `impl.ops.Ops` over sorts: it runs every comprehension once.

    A comprehension stands for as many calls as there are processes, one after the other: nothing that it can reach may
    be used up or filled by them.
    """

    def vector(self, entry: Callable[[Any], Any]) -> Vector:
        _expect_the_same_at_every_call(entry)
        expect(is_number(entry(Process())))
        return Vector()

    def matrix(self, entry: Callable[[Any, Any], Any]) -> Matrix:
        _expect_the_same_at_every_call(entry)
        expect(is_number(entry(Process(), Process())))
        return Matrix()

    def every(self, holds: Callable[[Any], Any]) -> Truth:
        _expect_the_same_at_every_call(holds)
        return self.all_of(holds(Process()))

    def all_of(self, *conditions: Any) -> Truth:
        expect(*(type(condition) in (Truth, bool) for condition in conditions))
        return Truth()

    def maximum(self, a: Any, b: Any) -> Any:
        if is_number(a) and is_number(b):
            return Number()
        expect(type(a) is type(b), type(a) in (Vector, Matrix))
        return type(a)()

    def incremented(self, array: Any, *place: Any) -> Any:
        expect(all(type(k) is Process for k in place), type(array) is {1: Vector, 2: Matrix}.get(len(place)))
        return type(array)()

    def one_if(self, *conditions: Any) -> Number:
        self.all_of(*conditions)
        return Number()

    def indicator(self, k: Any, some: Any) -> Number:
        expect(type(k) is Process, type(some) is tuple and all(type(l) is Process for l in some))
        return Number()


#: What has nothing that a call could change, by its type.
_CONSTANT = (Opaque, OpaqueMessage, str, int, type(None))


def _expect_the_same_at_every_call(function: Any) -> None:
    if not _is_constant(function):
        raise NotParametric("a comprehension over processes may change what it is made of")


def _is_constant(value: Any) -> bool:
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return all(map(_is_constant, (*cells, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())))
    if isinstance(value, MethodType):
        return _is_constant(value.__func__) and _is_constant(value.__self__)
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    # A machine sets no attributes: its code is read.
    return isinstance(value, _CONSTANT) or isinstance(getattr(value, "ops", None), OpaqueOps)
