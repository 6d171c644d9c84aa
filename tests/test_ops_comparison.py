"""What z3 checks is what runs: the operations on terms and on integers agree, and a fault in either shows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest
import z3
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from crownless.command_line.prove import prove_
from crownless.impl.ops import Integers, Ops
from crownless.proofs.causal_order import CausalOrder
from crownless.proofs.comprehensions import eliminate_lambdas
from crownless.proofs.ground import finite_sort, ground_over
from crownless.proofs.ops_comparison import EVERY, PROGRAMS, SIZES, Given, Program, compare_ops, run_on_terms
from crownless.proofs.proving import PROOFS, ProofReport, trusted
from crownless.proofs.symbols import Symbol, SymbolicOps
from crownless.proofs.terms import Term, Terms


def test_every_operation_is_compared() -> None:
    operations = {name for name, value in vars(Ops).items() if callable(value) and not name.startswith("_")}
    assert PROGRAMS.keys() == operations


def test_every_operator_of_a_symbol_is_compared() -> None:
    """Each is used by some program: with it left out, the comparison fails."""
    operators = ["add", "radd", "sub", "rsub", "mul", "rmul", "neg", "lt", "le", "gt", "ge", "eq", "ne", "getitem"]
    refused = ["bool", "iter", "len", "contains", "hash", "index", "int"]
    internal = "init repr"
    own = {name.strip("_") for name in vars(Symbol) if name.startswith("__") and callable(getattr(Symbol, name))}
    assert own - set(internal.split()) == {*operators, *refused}


@pytest.mark.parametrize(
    "operator", ["add", "radd", "sub", "rsub", "mul", "neg", "lt", "le", "gt", "ge", "eq", "ne", "getitem"]
)
def test_a_program_uses_each_operator(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(Symbol, f"__{operator}__", fails)
    with pytest.raises(ZeroDivisionError):
        compare_ops.__wrapped__()


def test_integers_and_terms_agree() -> None:
    compared = compare_ops()
    assert compared.differences == ()
    assert compared.compared > 1_000


@pytest.mark.slow
def test_integers_and_terms_agree_on_more() -> None:
    assert compare_ops(together=729, some=10, seed=1).differences == ()


@given(st.lists(st.booleans(), min_size=1, max_size=9))
def test_every_holds_if_no_process_is_an_exception(holds: list[bool]) -> None:
    assert Integers(len(holds)).every(lambda k: holds[k]) == (False not in holds)


@given(st.data(), st.integers(1, 9))
def test_the_maximum_of_two_matrices_has_the_greater_of_each_two_entries(data: Any, n: int) -> None:
    row = st.tuples(*[st.integers()] * n)
    x, y = data.draw(st.tuples(*[row] * n)), data.draw(st.tuples(*[row] * n))
    greater = Integers(n).maximum(x, y)
    assert [len(row) for row in greater] == [n] * n
    for k, l in product(range(n), repeat=2):
        assert greater[k][l] in (x[k][l], y[k][l])
        assert greater[k][l] >= x[k][l]
        assert greater[k][l] >= y[k][l]


@settings(max_examples=40)
@given(st.data(), st.integers(1, 5), st.sampled_from(EVERY))
def test_integers_and_terms_agree_on_numbers_of_any_size_also_as_z3_evaluates_terms(
    data: Any, n: int, drawn: Any
) -> None:
    _, (takes, program) = drawn
    number, process = st.integers(-(2**70), 2**70), st.integers(0, n - 1)
    vector = st.tuples(*[number] * n)
    kinds = {"i": process, "p": number, "a": vector, "x": st.tuples(*[vector] * n)}
    kinds |= {other: kinds[one] for one, other in zip("ipax", "jqby", strict=True)}
    values = {one: data.draw(kinds[one], one) for one in takes if one in kinds}
    everyone = {"s": tuple(range(n))} if "s" in takes else {}
    on_integers = program(Integers(n), Given(**values, **everyone))
    assert run_on_terms(program, takes)(n, values) == on_integers
    assert evaluated_by_z3(program, takes, n, values) == on_integers


def evaluated_by_z3(program: Program, takes: str, n: int, values: Mapping[str, Any]) -> Any:
    """What the program gives on terms, over a sort of n processes, where all that it is given is a number."""
    sort, processes = finite_sort(f"{n} processes", [f"process {k} of {n}" for k in range(n)])

    def term(value: Any) -> Term:
        if not isinstance(value, tuple):
            return z3.IntVal(value)
        array = z3.K(sort, term(value[0]))
        for process, entry in zip(processes, value, strict=True):
            array = z3.Store(array, process, term(entry))
        return array

    def value(term: Term) -> Any:
        if term.sort_kind() == z3.Z3_ARRAY_SORT:
            return tuple(value(term[process]) for process in processes)
        if z3.is_bool(term):
            term = ground_over(eliminate_lambdas(term), {sort: processes})
        found = z3.simplify(term)
        return found.as_long() if z3.is_int_value(found) else {"True": True, "False": False}[str(found)]

    given = {one: Symbol(processes[values[one]] if one in "ij" else term(values[one])) for one in values}
    everyone = {"s": tuple(map(Symbol, processes))} if "s" in takes else {}
    return value(program(SymbolicOps(Terms(sort)), Given(**given, **everyone))._term)


# -- faults ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Saturates(Integers):
    def incremented(self, array: Any, *place: int) -> Any:
        return _each(super().incremented(array, *place), lambda value: min(value, 127))


class WrapsAround(Integers):
    def incremented(self, array: Any, *place: int) -> Any:
        return _each(super().incremented(array, *place), lambda value: (value + 2**63) % 2**64 - 2**63)


class Truncates(Integers):
    def maximum(self, a: Any, b: Any) -> Any:
        return _each(super().maximum(a, b), lambda value: int(float(value)))


class TakesTheMinimum(Integers):
    def maximum(self, a: Any, b: Any) -> Any:
        return _each(super().maximum(_each(a, lambda value: -value), _each(b, lambda value: -value)), lambda v: -v)


class MaximumIsNotNegative(Integers):
    def maximum(self, a: Any, b: Any) -> Any:
        return _each(super().maximum(a, b), lambda value: max(value, 0))


class SwapsTheAxes(Integers):
    def matrix(self, entry: Callable[[int, int], int]) -> Any:
        return super().matrix(lambda k, l: entry(l, k))


class LeavesTheLastProcessOut(Integers):
    def every(self, holds: Callable[[int], bool]) -> bool:
        return all(holds(k) for k in range(self.n - 1))


class IncrementsTheNext(Integers):
    def incremented(self, array: Any, *place: int) -> Any:
        return super().incremented(array, *[(k + 1) % self.n for k in place])


class SwapsThePlace(Integers):
    def incremented(self, array: Any, *place: int) -> Any:
        return super().incremented(array, *reversed(place))


class AnyOf(Integers):
    def all_of(self, *conditions: bool) -> bool:
        return any(conditions)


class OneUnless(Integers):
    def one_if(self, *conditions: bool) -> int:
        return 1 - super().one_if(*conditions)


class OnlyTheFirst(Integers):
    def indicator(self, k: int, some: Any) -> int:
        return int(k in tuple(some)[:1])


class TermsSaturate(Terms):
    def incremented(self, array: Any, *place: Any) -> Any:
        k, *within = place
        if within:
            return super().incremented(array, *place)
        return z3.Store(array, k, z3.If(array[k] >= 255, 255, array[k] + 1))


class TermsIncrementByTwo(Terms):
    def incremented(self, array: Any, *place: Any) -> Any:
        return super().incremented(super().incremented(array, *place), *place)


class TermsAreOffByOne(Terms):
    """One more, where they are equal."""

    def maximum(self, a: Any, b: Any) -> Any:
        greater = super().maximum(a, b)
        return greater if a.sort() != z3.IntSort() else greater + z3.If(a == b, 1, 0)


class TermsSwapTheAxes(Terms):
    def matrix(self, entry: Callable[[Any, Any], Any]) -> Any:
        return super().matrix(lambda k, l: entry(l, k))


class TermsSwapThePlace(Terms):
    def incremented(self, array: Any, *place: Any) -> Any:
        return super().incremented(array, *reversed(place))


class TermsHoldForSome(Terms):
    def every(self, holds: Callable[[Any], Any]) -> Any:
        k = z3.FreshConst(self.process, "k")
        return z3.Not(z3.ForAll([k], z3.Not(holds(k))))


class TermsForgetACondition(Terms):
    def one_if(self, *conditions: Any) -> Any:
        return super().one_if(*conditions[:1])


class TermsForgetThatAllHold(Terms):
    def all_of(self, *conditions: Any) -> Any:
        return super().all_of(*conditions[-1:])


class TermsAreAmongNobody(Terms):
    def indicator(self, k: Any, some: Any) -> Any:
        return z3.IntVal(0)


class TermsReadTheFirst(Terms):
    def vector(self, entry: Callable[[Any], Any]) -> Any:
        first = z3.FreshConst(self.process, "first")
        return super().vector(lambda k: z3.substitute(entry(first), (first, k)) + z3.If(entry(k) > 200, 1, 0))


def _each(value: Any, change: Callable[[int], int]) -> Any:
    return tuple(_each(part, change) for part in value) if isinstance(value, tuple) else change(value)


#: Each with the operation that is to show it.
OF_INTEGERS = {
    Saturates: "incremented", WrapsAround: "incremented", Truncates: "maximum", TakesTheMinimum: "maximum",
    MaximumIsNotNegative: "maximum", SwapsTheAxes: "matrix", LeavesTheLastProcessOut: "every",
    IncrementsTheNext: "incremented", SwapsThePlace: "incremented", AnyOf: "all_of", OneUnless: "one_if",
    OnlyTheFirst: "indicator",
}  # fmt: skip
OF_TERMS = {
    TermsSaturate: "incremented", TermsIncrementByTwo: "incremented", TermsAreOffByOne: "maximum",
    TermsSwapTheAxes: "matrix", TermsSwapThePlace: "incremented", TermsHoldForSome: "every",
    TermsForgetACondition: "one_if", TermsForgetThatAllHold: "all_of", TermsAreAmongNobody: "indicator",
    TermsReadTheFirst: "vector",
}  # fmt: skip


@pytest.mark.parametrize("faulty", OF_INTEGERS, ids=lambda kind: kind.__name__)
def test_a_fault_in_the_integers_shows(faulty: type[Integers]) -> None:
    found = compare_ops.__wrapped__(integers=faulty).differences
    assert any(difference.startswith(OF_INTEGERS[faulty]) for difference in found)


@pytest.mark.parametrize("faulty", OF_TERMS, ids=lambda kind: kind.__name__)
def test_a_fault_in_the_terms_shows(faulty: type[Terms]) -> None:
    found = compare_ops.__wrapped__(terms=faulty).differences
    assert any(difference.startswith(OF_TERMS[faulty]) for difference in found)


# -- faults at a single place ------------------------------------------------------------------------------------------


def changed(value: Any, place: Sequence[int], change: Callable[[int], int]) -> Any:
    """The number, vector or matrix with another entry at that place."""
    if not place:
        return change(value)
    k, *within = place
    return (*value[:k], changed(value[k], within, change), *value[k + 1 :])


def entry_at(value: Any, place: Sequence[int]) -> Any:
    return entry_at(value[place[0]], place[1:]) if place else value


@dataclass(frozen=True)
class AtOnePlace(Integers):
    """A fault of one operation at one process, pair of processes, or place in what it is given."""

    operation: str
    fault: str
    place: tuple[int, ...]

    def _changed(self, operation: str, value: Any, **faults: Callable[[int], int]) -> Any:
        dimensions = 0 if isinstance(value, int) else 1 if isinstance(value[0], int) else 2
        if operation != self.operation or dimensions != len(self.place) or self.fault not in faults:
            return value
        return changed(value, self.place, faults[self.fault])

    def vector(self, entry: Callable[[int], int]) -> Any:
        right, following = super().vector(entry), [(k + 1) % self.n for k in self.place]
        return self._changed("vector", right, one_more=lambda value: value + 1, next=lambda _: entry(*following))

    def matrix(self, entry: Callable[[int, int], int]) -> Any:
        right, following = super().matrix(entry), [(k + 1) % self.n for k in self.place]
        return self._changed("matrix", right, one_more=lambda value: value + 1, next=lambda _: entry(*following))

    def every(self, holds: Callable[[int], bool]) -> bool:
        return all(self._conditions("every", [holds(k) for k in range(self.n)]))

    def all_of(self, *conditions: bool) -> bool:
        return super().all_of(*self._conditions("all_of", conditions))

    def one_if(self, *conditions: bool) -> int:
        return super().one_if(*self._conditions("one_if", conditions))

    def _conditions(self, operation: str, conditions: Sequence[bool]) -> Iterator[bool]:
        for at, holds in enumerate(conditions):
            if operation != self.operation or (at,) != self.place:
                yield holds
            elif self.fault == "negated":
                yield not holds

    def maximum(self, a: Any, b: Any) -> Any:
        def chosen(choose: Callable[[int, int], int]) -> Callable[[int], int]:
            return lambda _: choose(entry_at(a, self.place), entry_at(b, self.place))

        return self._changed(
            "maximum",
            super().maximum(a, b),
            one_more=lambda value: value + 1,
            first=chosen(lambda one, _: one),
            second=chosen(lambda _, other: other),
            minimum=chosen(min),
        )

    def incremented(self, array: Any, *place: int) -> Any:
        right = super().incremented(array, *place)
        if place != self.place:
            return self._changed("incremented", right, one_more=lambda value: value + 1)
        return self._changed("incremented", right, left_out=lambda value: value - 1, twice=lambda value: value + 1)

    def indicator(self, k: int, some: Collection[int]) -> int:
        if self.operation != "indicator":
            return super().indicator(k, some)
        if self.fault == "overlooked":
            return super().indicator(k, [one for at, one in enumerate(some) if (at,) != self.place])
        return int(self.fault == "there") if (k,) == self.place else super().indicator(k, some)


#: Of each operation the dimensions of its places, and the faults at each.
FAULTS = {
    "vector": ((1,), ("one_more", "next")),
    "matrix": ((2,), ("one_more", "next")),
    "every": ((1,), ("left_out", "negated")),
    "all_of": ((1,), ("left_out", "negated")),
    "one_if": ((1,), ("left_out", "negated")),
    "maximum": ((1, 2), ("one_more", "first", "second", "minimum")),
    "incremented": ((1, 2), ("one_more", "left_out", "twice")),
    "indicator": ((1,), ("missing", "there", "overlooked")),
}


@pytest.mark.parametrize(
    ("operation", "dimensions", "fault"),
    [(name, of, fault) for name, (dimensions, faults) in FAULTS.items() for of in dimensions for fault in faults],
)
def test_a_fault_at_any_one_place_shows(operation: str, dimensions: int, fault: str) -> None:
    of_matrices = dimensions == 2
    programs = tuple(row for row in EVERY if row[0] == operation and of_matrices == ("x" in row[1][0]))
    for place in product(range(9), repeat=dimensions):
        sizes = range(max(2, max(place) + 1), SIZES.stop)

        def faulty(n: int, place: tuple[int, ...] = place) -> Integers:
            return AtOnePlace(n, operation, fault, place)

        assert compare_ops.__wrapped__(faulty, programs=programs, sizes=sizes).differences, place


class OneProcessTooMany(Integers):
    """Of three receivers or more process 5 is said to be one in any case."""

    def indicator(self, k: int, some: Collection[int]) -> int:
        return 1 if len(some) > 2 and k == 5 else super().indicator(k, some)


class TwoProcessesForgotten(Integers):
    """If the condition fails at processes 2 and 7 alone, it is said to hold for all."""

    def every(self, holds: Callable[[int], bool]) -> bool:
        failing = {k for k in range(self.n) if not holds(k)}
        return not failing or failing == {2, 7}


class LessOfOneAtTheEnd(Integers):
    """At process 8 the smaller of two numbers, if the greater is 1."""

    def maximum(self, a: Any, b: Any) -> Any:
        right = super().maximum(a, b)
        if self.n < 9 or isinstance(a, int) or not isinstance(a[0], int) or right[8] != 1:
            return right
        return (*right[:8], min(a[8], b[8]))


@pytest.mark.parametrize("faulty", [OneProcessTooMany, TwoProcessesForgotten, LessOfOneAtTheEnd])
def test_a_fault_for_some_receivers_pairs_or_values_shows(faulty: type[Integers]) -> None:
    assert compare_ops.__wrapped__(faulty).differences


def test_faults_are_planted_in_every_operation() -> None:
    assert FAULTS.keys() == PROGRAMS.keys()


def first_three_rows(ops: Integers, a: Any, b: Any) -> Any:
    """The maximum, in which the rows of a from the fourth on stay as they are."""
    if isinstance(a, int):
        return max(a, b)
    return tuple(
        first_three_rows(ops, one, other) if k < 3 else one for k, (one, other) in enumerate(zip(a, b, strict=True))
    )


def first_three_processes(ops: Integers, holds: Callable[[int], bool]) -> bool:
    return all(holds(k) for k in range(min(ops.n, 3)))


@pytest.mark.parametrize(("operation", "faulty"), [("maximum", first_three_rows), ("every", first_three_processes)])
def test_nothing_is_proved_where_an_operation_stops_at_the_third_process(
    operation: str, faulty: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    compare_ops.cache_clear()
    with monkeypatch.context() as planted:
        planted.setattr(Integers, operation, faulty)
        result = CliRunner().invoke(prove_, ["rst"], standalone_mode=False)
    compare_ops.cache_clear()
    assert result.return_value == 3
    assert f"rst: z3 sees other arithmetic than runs: {operation} of 4 processes" in result.output
    assert "proved" not in result.output.partition("Trusted")[0].replace("not proved", "")


def test_where_they_differ_nothing_is_proved() -> None:
    proved = ProofReport("rst", PROOFS["rst"], (), True, (), 0.0)
    assert proved.outcome("safe") == "proved"
    assert ProofReport("rst", PROOFS["rst"], (), True, (), 0.0, ("they differ",)).outcome("safe") == "unknown"


def test_what_a_proof_rests_on_is_named() -> None:
    for proof in PROOFS.values():
        assert any("z3" in thing for thing in trusted(proof))
        assert any("compared on" in thing for thing in trusted(proof)) == isinstance(proof, CausalOrder)
