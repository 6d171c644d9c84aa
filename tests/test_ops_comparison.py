"""What z3 checks is what runs: the operations on terms and on integers agree, and a fault in either shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import z3
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from crownless.command_line.prove import prove_
from crownless.impl.ops import Integers, Ops
from crownless.proofs.induction.causal_order import CausalOrder
from crownless.proofs.induction.proving import PROOFS, trusted
from crownless.proofs.language.comprehensions import eliminate_lambdas
from crownless.proofs.language.ground import finite_sort, ground_over
from crownless.proofs.language.ops_comparison import EVERY, PROGRAMS, Given, Program, compare_ops, run_on_terms
from crownless.proofs.language.symbols import Symbol, SymbolicOps
from crownless.proofs.language.terms import Term, Terms


def test_every_operation_and_operator_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each operator is used by some program: with it left out, the comparison fails."""
    operations = {name for name, value in vars(Ops).items() if callable(value) and not name.startswith("_")}
    assert PROGRAMS.keys() == operations
    operators = ["add", "radd", "sub", "rsub", "mul", "rmul", "neg", "lt", "le", "gt", "ge", "eq", "ne", "getitem"]
    refused = ["bool", "iter", "len", "contains", "hash", "index", "int"]
    own = {name.strip("_") for name in vars(Symbol) if name.startswith("__") and callable(getattr(Symbol, name))}
    assert own - {"init", "repr"} == {*operators, *refused}

    def fails(*_: object) -> Any:
        raise ZeroDivisionError

    for operator in operators:
        with monkeypatch.context() as planted:
            planted.setattr(Symbol, f"__{operator}__", fails)
            with pytest.raises(ZeroDivisionError):
                compare_ops.__wrapped__()


def test_integers_and_terms_agree() -> None:
    compared = compare_ops()
    assert compared.differences == ()
    assert compared.compared > 1_000


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


def _each(value: Any, change: Callable[[int], int]) -> Any:
    return tuple(_each(part, change) for part in value) if isinstance(value, tuple) else change(value)


def _indicator_at(place: int) -> Any:
    return lambda self, k, some: 1 if k == place else Integers.indicator(self, k, some)


def _every_but(place: int) -> Any:
    return lambda self, holds: all(holds(k) for k in range(self.n) if k != place)


def _one_row_of_a(self: Any, a: Any, b: Any, place: int) -> Any:
    """The maximum, in which an entry or row of a stays as it is."""
    right = Integers.maximum(self, a, b)
    return (*right[:place], a[place], *right[place + 1 :]) if isinstance(a, tuple) and place < self.n else right


#: An operation, and what it does instead.
FAULTS: list[tuple[str, Any]] = [
    ("incremented", lambda self, array, *place: _each(
        Integers.incremented(self, array, *place), lambda v: min(v, 127)
    )),
    ("incremented", lambda self, array, *place: _each(
        Integers.incremented(self, array, *place), lambda v: (v + 2**63) % 2**64 - 2**63
    )),
    ("incremented", lambda self, array, *place: Integers.incremented(self, array, *[(k + 1) % self.n for k in place])),
    ("incremented", lambda self, array, *place: Integers.incremented(self, array, *reversed(place))),
    ("maximum", lambda self, a, b: _each(Integers.maximum(self, a, b), lambda v: int(float(v)))),
    ("maximum", lambda self, a, b: _each(Integers.maximum(self, a, b), lambda v: max(v, 0))),
    ("maximum", lambda self, a, b: b),
    ("matrix", lambda self, entry: Integers.matrix(self, lambda k, l: entry(l, k))),
    ("vector", lambda self, entry: Integers.vector(self, lambda k: entry((k + 1) % self.n))),
    ("all_of", lambda self, *conditions: any(conditions)),
    ("all_of", lambda self, *conditions: all(conditions[-1:])),
    ("one_if", lambda self, *conditions: 1 - int(all(conditions))),
    ("one_if", lambda self, *conditions: int(all(conditions[:1]))),
    ("indicator", lambda self, k, some: int(k in tuple(some)[:1])),
    *(("every", _every_but(place)) for place in range(5)),
    *(("indicator", _indicator_at(place)) for place in range(5)),
    *(("maximum", lambda self, a, b, place=place: _one_row_of_a(self, a, b, place)) for place in range(5)),
]  # fmt: skip

FAULTS_OF_TERMS: list[tuple[str, Any]] = [
    ("incremented", lambda self, array, k, *within: (
        Terms.incremented(self, array, k, *within)
        if within
        else z3.Store(array, k, z3.If(array[k] >= 255, 255, array[k] + 1))
    )),
    ("incremented", lambda self, array, *place: Terms.incremented(
        self, Terms.incremented(self, array, *place), *place
    )),
    ("incremented", lambda self, array, *place: Terms.incremented(self, array, *reversed(place))),
    ("maximum", lambda self, a, b: (
        Terms.maximum(self, a, b) if a.sort() != z3.IntSort() else z3.If(a == b, a + 1, Terms.maximum(self, a, b))
    )),
    ("matrix", lambda self, entry: Terms.matrix(self, lambda k, l: entry(l, k))),
    ("every", lambda self, holds: z3.Not(Terms.every(self, lambda k: z3.Not(holds(k))))),
    ("one_if", lambda self, *conditions: Terms.one_if(self, *conditions[:1])),
    ("all_of", lambda self, *conditions: Terms.all_of(self, *conditions[-1:])),
    ("indicator", lambda self, k, some: z3.IntVal(0)),
    ("vector", lambda self, entry: Terms.vector(self, lambda k: entry(k) + z3.If(entry(k) > 200, 1, 0))),
]  # fmt: skip


@pytest.mark.parametrize(("base", "operation", "does"), [
    *((Integers, *fault) for fault in FAULTS), *((Terms, *fault) for fault in FAULTS_OF_TERMS)
])  # fmt: skip
def test_a_fault_in_an_operation_shows(base: type, operation: str, does: Any) -> None:
    faulty: Any = type("Faulty", (base,), {operation: does})
    found = compare_ops.__wrapped__(**{"integers" if base is Integers else "terms": faulty}).differences
    assert any(difference.startswith(operation) for difference in found)


def test_faults_are_planted_in_every_operation() -> None:
    assert {operation for operation, _ in FAULTS} == {operation for operation, _ in FAULTS_OF_TERMS} | {"every"}
    assert {operation for operation, _ in FAULTS} == PROGRAMS.keys()


def test_nothing_is_proved_where_an_operation_stops_at_the_third_process(monkeypatch: pytest.MonkeyPatch) -> None:
    compare_ops.cache_clear()
    with monkeypatch.context() as planted:
        planted.setattr(Integers, "every", lambda self, holds: all(holds(k) for k in range(min(self.n, 3))))
        result = CliRunner().invoke(prove_, ["rst"], standalone_mode=False)
    compare_ops.cache_clear()
    assert result.return_value == 3
    assert "rst: z3 sees other arithmetic than runs: every of 4 processes" in result.output
    assert "proved" not in result.output.partition("Trusted")[0].replace("not proved", "")


def test_what_a_proof_rests_on_is_named() -> None:
    for proof in PROOFS.values():
        assert any("z3" in thing for thing in trusted(proof))
        assert any("compared on" in thing for thing in trusted(proof)) == isinstance(proof, CausalOrder)
