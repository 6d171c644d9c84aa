"""The arithmetic of transition functions, named so that one source both runs on integers and is proved by z3.

A protocol of vectors and matrices builds them with `vector` and `matrix` from a comprehension over processes, reads
them by subscript (``sent[k][l]``), changes them with `incremented` and `maximum`, and tests them with `every`,
`all_of`, `one_if` and `indicator`. With `Integers` these are tuples of ints. With z3 terms (`proofs`) the same source
becomes a formula over any number of processes, which is why a transition must not branch (`if`, `and`, `max`) on a
value: z3 cannot see a Python branch.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Protocol

#: A number in a transition: an int, or a z3 term. Likewise a process index.
Value = Any


class Ops(Protocol):
    """The operations of transitions on values."""

    def vector(self, entry: Callable[[Value], Value]) -> Value:
        """The vector whose k-th entry is ``entry(k)``, for every process k."""

    def matrix(self, entry: Callable[[Value, Value], Value]) -> Value:
        """The matrix whose entry at row k, column l is ``entry(k, l)``."""

    def every(self, holds: Callable[[Value], Value]) -> Value:
        """For all processes k: ``holds(k)``."""

    def all_of(self, *conditions: Value) -> Value:
        """All the conditions hold."""

    def maximum(self, a: Value, b: Value) -> Value:
        """The greater of two numbers; of two vectors or two matrices, entry by entry."""

    def incremented(self, array: Value, *place: Value) -> Value:
        """The vector with its entry at `place`, or the matrix with that at row and column, greater by one."""

    def one_if(self, *conditions: Value) -> Value:
        """1 if all the conditions hold, otherwise 0."""

    def indicator(self, k: Value, some: Any) -> Value:
        """1 if the process k is one of those, such as the receivers of a message, otherwise 0."""


@dataclass(frozen=True)
class Integers:
    """Plain ints and tuples, for a system of `n` processes."""

    n: int

    def vector(self, entry: Callable[[int], int]) -> tuple[int, ...]:
        return tuple([entry(k) for k in range(self.n)])

    def matrix(self, entry: Callable[[int, int], int]) -> tuple[tuple[int, ...], ...]:
        processes = range(self.n)
        return tuple([tuple([entry(k, l) for l in processes]) for k in processes])

    def every(self, holds: Callable[[int], bool]) -> bool:
        return all(map(holds, range(self.n)))

    def all_of(self, *conditions: bool) -> bool:
        return all(conditions)

    def maximum(self, a: Any, b: Any) -> Any:
        if isinstance(a, int):
            return max(a, b)
        if isinstance(a[0], int):
            return tuple(map(max, a, b))
        return tuple([tuple(map(max, row, other)) for row, other in zip(a, b, strict=True)])

    def incremented(self, array: Any, *place: int) -> Any:
        k, *within = place
        return (*array[:k], self.incremented(array[k], *within) if within else array[k] + 1, *array[k + 1 :])

    def one_if(self, *conditions: bool) -> int:
        return int(all(conditions))

    def indicator(self, k: int, some: Collection[int]) -> int:
        return int(k in some)
