"""The values on which a machine runs in a proof: z3 terms that refuse operations which z3 reads differently.

z3's own expressions are unsafe in a protocol: ``if k == j`` is silently false, ``~holds`` and ``%`` differ from
Python's, and sets of them go by identity. A `Symbol` has only the operators that mean the same on integers and on
terms; all others raise. The same applies to the attributes of a message.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import z3

from crownless.impl.ops import Ops
from crownless.spec.computation import Message

from .refusals import refuse
from .terms import Term, as_term, is_array


def _on_numbers(operation: Callable[[Term, Term], Term]) -> Callable[[Symbol, object], Symbol]:
    """The operator of a symbol and another value, both as numbers."""
    return lambda self, other: Symbol(operation(_number(self), _number(other)))


class Symbol:
    """A number, a truth value, a process, a vector or a matrix of any run."""

    __slots__ = ("_term",)

    def __init__(self, term: Term) -> None:
        self._term = term

    def __repr__(self) -> str:
        return "a value"

    # -- arithmetic: numbers, and truth values as numbers, as in Python ------------------------------------------------

    __add__ = _on_numbers(operator.add)
    __radd__ = _on_numbers(lambda a, b: b + a)
    __sub__ = _on_numbers(operator.sub)
    __rsub__ = _on_numbers(lambda a, b: b - a)
    __mul__ = _on_numbers(operator.mul)
    __rmul__ = _on_numbers(lambda a, b: b * a)

    def __neg__(self) -> Symbol:
        return Symbol(-_number(self))

    # -- comparison ----------------------------------------------------------------------------------------------------

    __lt__ = _on_numbers(operator.lt)
    __le__ = _on_numbers(operator.le)
    __gt__ = _on_numbers(operator.gt)
    __ge__ = _on_numbers(operator.ge)

    def __eq__(self, other: object) -> Any:
        this, that = _pair(self, other)
        return Symbol(this == that)

    def __ne__(self, other: object) -> Any:
        this, that = _pair(self, other)
        return Symbol(z3.Not(this == that) if is_array(self._term) else this != that)

    def __getitem__(self, place: object) -> Symbol:
        term = self._term
        if not is_array(term):
            refuse("a subscript of what is neither a vector nor a matrix")
        return Symbol(term[_process(place, term.sort().domain())])

    # -- all else ------------------------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        refuse("asks whether a value is true: z3 cannot see a Python branch")

    def __iter__(self) -> Iterator[Any]:
        refuse("iterates over a vector whose length is not fixed")

    def __len__(self) -> int:
        refuse("reads the length of a vector, which is the number of processes: what is proved is of any number")

    def __contains__(self, _: object) -> bool:
        refuse("looks for an entry in a vector by a Python branch")

    def __hash__(self) -> int:
        refuse("puts a value into a set or a dictionary, which cannot know whether it is there")

    def __index__(self) -> int:
        refuse("uses an unknown value as a Python integer")

    __int__ = __index__


class AnyNumber:
    """The number of processes: a result for every n must not depend on it."""

    def _refused(self, *_: object) -> Any:
        refuse("reads the number of processes: what is proved is of any number")

    __neg__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __index__ = __int__ = __bool__ = _refused
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __floordiv__ = __mod__ = _refused


class AnyReceivers:
    """The receivers of a multicast message, as its sender sees them: to be iterated in a comprehension. Where `loops`
    is false, as for a process that receives the message, only `ops.indicator` accepts them.
    """

    __slots__ = ("_has", "_some", "loops")

    def __init__(self, some: tuple[Symbol, ...], has: Callable[[Term], Term], loops: bool) -> None:
        self._some, self._has, self.loops = some, has, loops

    def __iter__(self) -> Iterator[Symbol]:
        if not self.loops:
            refuse("loops over the receivers of a message that it takes in, who are any set of processes")
        return iter(self._some)

    def _refused(self, *_: object) -> Any:
        refuse("asks who or how many the receivers are: what is proved is of any set of them")

    __getitem__ = __len__ = __contains__ = __bool__ = __reversed__ = __hash__ = __eq__ = __ne__ = _refused
    __add__ = __radd__ = __mul__ = __rmul__ = __lt__ = __le__ = __gt__ = __ge__ = _refused


class AnyMessage:
    """A message: its sender and receivers may be used, its name may not."""

    __slots__ = ("_message", "receivers", "sender")
    readable = frozenset({"name", "sender", "receiver", "receivers"})

    def __init__(self, message: Message, sender: Any, receivers: Any) -> None:
        self._message, self.sender, self.receivers = message, sender, receivers

    @property
    def receiver(self) -> Any:
        """The only receiver of a unicast message."""
        if isinstance(self.receivers, AnyReceivers):
            refuse("asks for the one receiver of a message to several")
        (receiver,) = self.receivers
        return receiver

    @property
    def name(self) -> str:
        refuse("reads the name of a message, which means nothing")

    def _refused(self, *_: object) -> Any:
        refuse("compares messages, or keeps one: z3 sees vectors and matrices only")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __iter__ = __getitem__ = __len__ = _refused


@dataclass(frozen=True)
class SymbolicOps(Ops):
    """The operations of `terms.Terms` on symbols."""

    _terms: Any
    readable: ClassVar[frozenset[str]] = frozenset(name for name in vars(Ops) if not name.startswith("_"))

    def vector(self, entry: Callable[[Any], Any]) -> Symbol:
        return Symbol(self._terms.vector(lambda k: _value(entry(Symbol(k)))))

    def matrix(self, entry: Callable[[Any, Any], Any]) -> Symbol:
        return Symbol(self._terms.matrix(lambda k, l: _value(entry(Symbol(k), Symbol(l)))))

    def every(self, holds: Callable[[Any], Any]) -> Symbol:
        return Symbol(self._terms.every(lambda k: _truth(holds(Symbol(k)))))

    def all_of(self, *conditions: Any) -> Symbol:
        return Symbol(self._terms.all_of(*map(_truth, conditions)))

    def maximum(self, a: Any, b: Any) -> Symbol:
        if isinstance(a, Symbol) and is_array(a._term):
            if not isinstance(b, Symbol) or b._term.sort() != a._term.sort():
                refuse("the maximum of a vector or matrix and something of another shape")
            return Symbol(self._terms.maximum(a._term, b._term))
        return Symbol(self._terms.maximum(_number(a), _number(b)))

    def incremented(self, array: Any, *place: Any) -> Symbol:
        entry = array
        for k in place:
            refused = "increments a value that is neither a vector nor a matrix"
            entry = entry[k] if isinstance(entry, Symbol) else refuse(refused)
        if not place or is_array(entry._term):
            refuse("increments a row, not an entry")
        _number(entry)
        return Symbol(self._terms.incremented(array._term, *[k._term for k in place]))

    def one_if(self, *conditions: Any) -> Symbol:
        return Symbol(self._terms.one_if(*map(_truth, conditions)))

    def indicator(self, k: Any, some: Any) -> Symbol:
        process = _process(k, self._terms.process)
        if isinstance(some, AnyReceivers):
            return Symbol(self._terms.one_if(some._has(process)))
        if not isinstance(some, tuple | list):
            refuse("ops.among of what is not a set of processes")
        return Symbol(self._terms.indicator(process, [_process(one, self._terms.process) for one in some]))


# -- there and back ----------------------------------------------------------------------------------------------------


def symbolic(value: Any, loops: bool = True) -> Any:
    """The value with its terms as symbols, and its messages as ones without readable names."""
    if z3.is_expr(value):
        return Symbol(value)
    if isinstance(value, Message):
        receivers = symbolic(value.receivers, loops)
        return AnyMessage(value, symbolic(value.sender), receivers)
    if hasattr(value, "as_symbols"):
        return value.as_symbols(loops)
    return _rebuilt(value, lambda part: symbolic(part, loops))


def in_terms(value: Any) -> Any:
    """The value with its symbols as terms again."""
    if isinstance(value, Symbol):
        return value._term
    if isinstance(value, AnyMessage):
        return value._message
    return _rebuilt(value, in_terms)


def _rebuilt(value: Any, part: Callable[[Any], Any]) -> Any:
    if isinstance(value, tuple | list):
        parts = [part(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _number(value: object) -> Term:
    """The value as a number; Python counts a truth value as 0 or 1."""
    if isinstance(value, int):
        return z3.IntVal(int(value))
    if isinstance(value, Symbol):
        if z3.is_bool(value._term):
            return z3.If(value._term, z3.IntVal(1), z3.IntVal(0))
        if z3.is_int(value._term):
            return value._term
        return refuse("computes with a process, a vector or a matrix as if it were a number")
    noun = "None" if value is None else f"something of the type {type(value).__name__}"
    return refuse(f"computes with a value and {noun}")


def _truth(value: object) -> Term:
    if isinstance(value, bool):
        return as_term(value)
    if isinstance(value, Symbol) and z3.is_bool(value._term):
        return value._term
    return refuse("takes a number, or something else, for a condition")


def _value(value: object) -> Term:
    """The type of an entry of a vector or matrix: a number or a truth value."""
    if isinstance(value, bool) or is_truth(value):
        return _truth(value)
    return _number(value)


def _process(value: object, sort: Term) -> Term:
    if isinstance(value, Symbol) and value._term.sort() == sort:
        return value._term
    return refuse("names a process by a number, or by something else that is not a process")


def is_truth(value: object) -> bool:
    """True if it is a truth value of any run."""
    return isinstance(value, Symbol) and bool(z3.is_bool(value._term))


def _pair(one: Symbol, other: object) -> tuple[Term, Term]:
    if isinstance(other, Symbol) and one._term.sort() == other._term.sort():
        return one._term, other._term
    return _number(one), _number(other)
