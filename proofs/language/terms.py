"""z3 terms as the values of a protocol, so that its own transitions hold for any number of processes at once.

A process is a constant of an uninterpreted sort, so nothing is known of the processes except that there is at least
one, and which of them are equal: a result of z3 holds for every n, also for infinitely many. A number is an unbounded
integer (possibly negative, unless a hypothesis says otherwise), a vector an array from processes to numbers, a matrix
an array of rows.

A transition must not branch on a value, since z3's ``==`` yields a term, which Python takes for false: the theorem
would be about another protocol. So a machine is never given terms themselves, but `symbols`, which refuse to be
branched on.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import z3

from crownless.impl.ops import Value

#: A z3 expression; z3 comes without types.
Term = Any


def is_array(term: Term) -> bool:
    """True if it is an array, including one built by a comprehension; z3's own `is_array` is False for a lambda."""
    return bool(term.sort_kind() == z3.Z3_ARRAY_SORT)


@dataclass(frozen=True)
class Terms:
    """An `impl.ops.Ops` over z3 terms; `process` is the sort of the processes.

    A finite sort of n processes instead gives the system of n processes.
    """

    process: Term = field(default_factory=lambda: z3.DeclareSort("Process"))

    def vector(self, entry: Callable[[Term], Value]) -> Term:
        k = self._fresh("k")
        return z3.Lambda([k], as_term(entry(k)))

    def matrix(self, entry: Callable[[Term, Term], Value]) -> Term:
        """A vector of rows, so that ``sent[k][l]`` reads an entry."""
        k, l = self._fresh("k"), self._fresh("l")
        return z3.Lambda([k], z3.Lambda([l], as_term(entry(k, l))))

    def every(self, holds: Callable[[Term], Value]) -> Term:
        k = self._fresh("k")
        return z3.ForAll([k], as_term(holds(k)))

    def all_of(self, *conditions: Value) -> Term:
        return z3.And(*map(as_term, conditions))

    def maximum(self, a: Value, b: Value) -> Term:
        a, b = as_term(a), as_term(b)
        if is_array(a):
            k = self._fresh("k")
            return z3.Lambda([k], self.maximum(a[k], b[k]))
        return z3.If(a >= b, a, b)

    def incremented(self, array: Value, *place: Value) -> Term:
        k, *within = place
        return z3.Store(array, k, self.incremented(array[k], *within) if within else array[k] + 1)

    def one_if(self, *conditions: Value) -> Term:
        return z3.If(z3.And(*map(as_term, conditions)), z3.IntVal(1), z3.IntVal(0))

    def indicator(self, k: Value, some: Any) -> Term:
        return self.one_if(z3.Or([k == one for one in some]))

    def any_process(self, name: str) -> Term:
        """An arbitrary process; the same name denotes the same process. Likewise the next two."""
        return z3.Const(name, self.process)

    def any_vector(self, name: str) -> Term:
        return z3.Array(name, self.process, z3.IntSort())

    def any_matrix(self, name: str) -> Term:
        return z3.Array(name, self.process, z3.ArraySort(self.process, z3.IntSort()))

    def _fresh(self, prefix: str) -> Term:
        """A process to bind: no other binder's, otherwise a nested one would capture it."""
        return z3.FreshConst(self.process, prefix)


def for_all_of(sort: Term, holds: Callable[..., Term], of: int) -> Term:
    """The formula holds for all elements of the sort, or for all tuples of that many."""
    some = [z3.FreshConst(sort, "x") for _ in range(of)]
    return z3.ForAll(some, holds(*some))


def like(value: tuple[Any, ...], parts: Iterable[Any]) -> Any:
    """A tuple, or named tuple, of the type of this one, with these parts."""
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)


def as_term(value: Value) -> Term:
    """The value as a term; transitions also use plain numbers and truth values."""
    if isinstance(value, bool):
        return z3.BoolVal(value)
    return z3.IntVal(value) if isinstance(value, int) else value
