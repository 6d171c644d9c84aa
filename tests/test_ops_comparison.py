"""What z3 checks is what runs: the operations on terms and on integers agree, and a fault in either shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import z3
from hypothesis import given, settings
from hypothesis import strategies as st

from crownless.impl.ops import Integers, Ops
from crownless.proofs.causal_order import CausalOrder
from crownless.proofs.ops_comparison import OPERATORS, PROGRAMS, Given, OnTerms, compare_ops
from crownless.proofs.proving import PROOFS, ProofReport, trusted
from crownless.proofs.symbols import Symbol
from crownless.proofs.terms import Terms


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
    assert compare_ops(together=729, some=30, processes=4, seed=1).differences == ()


EVERY = [*(each for some in PROGRAMS.values() for each in some), *OPERATORS]


@settings(max_examples=40, deadline=None)
@given(
    st.data(), st.integers(1, 5), st.sampled_from([*(each for some in PROGRAMS.values() for each in some), *OPERATORS])
)
def test_integers_and_terms_agree_on_numbers_of_any_size(data: Any, n: int, drawn: Any) -> None:
    takes, program = drawn
    number, process = st.integers(-(2**70), 2**70), st.integers(0, n - 1)
    vector = st.tuples(*[number] * n)
    kinds = {"i": process, "p": number, "a": vector, "x": st.tuples(*[vector] * n)}
    kinds |= {other: kinds[one] for one, other in zip("ipax", "jqby", strict=True)}
    values = {one: data.draw(kinds[one], one) for one in takes}
    chosen = [values.pop(one) for one in takes if one in "ij"]
    on_integers = program(
        Integers(n), Given(**dict(zip([k for k in takes if k in "ij"], chosen, strict=True)), **values)
    )
    assert OnTerms(n, Terms).program(program, takes, chosen)(values, on_integers)


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


def test_where_they_differ_nothing_is_proved() -> None:
    proved = ProofReport("rst", PROOFS["rst"], (), True, (), 0.0)
    assert proved.outcome("safe") == "proved"
    assert ProofReport("rst", PROOFS["rst"], (), True, (), 0.0, ("they differ",)).outcome("safe") == "unknown"


def test_what_a_proof_rests_on_is_named() -> None:
    for proof in PROOFS.values():
        assert any("z3" in thing for thing in trusted(proof))
        assert any("compared on" in thing for thing in trusted(proof)) == isinstance(proof, CausalOrder)
