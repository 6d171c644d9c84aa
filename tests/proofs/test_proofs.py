"""Proofs: z3 runs the protocols' own code; what it shows, on what hypotheses, and that it can fail."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest
import z3
from broken_rst import DeliversWhatArrives, NeverCountsDeliveries, NeverCountsTheDeliveredAsSent

from crownless.impl.protocols.rst import Rst
from crownless.proofs.induction.proved_properties import WAITS
from crownless.proofs.induction.second_solver import as_smt_lib, recheck_with_cvc5
from crownless.proofs.induction.theorem import Claim, theorem, vacuous, without_each
from crownless.proofs.language.arrays import eliminate_lambdas
from crownless.proofs.language.terms import Terms
from crownless.proofs.protocols.rst import RST
from crownless.research.theorems.deliv_is_redundant import GUARD, INVARIANT, TO_ANOTHER, claims
from crownless.runtime.errors import BadInput

INITIALLY, SENDING, DELIVERING, READING = claims()


# -- The theorem, and what it rests on


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.name)
def test_deliv_is_redundant_for_every_number_of_processes(claim: Claim) -> None:
    assert theorem(*claim).outcome == "proved"


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.name)
def test_no_claim_is_vacuous(claim: Claim) -> None:
    assert vacuous(claim.name, claim.given).outcome == "refuted"


@pytest.mark.parametrize(
    ("claim", "mattered"),
    [(INITIALLY, []), (SENDING, [INVARIANT, TO_ANOTHER]), (DELIVERING, [INVARIANT, GUARD]), (READING, [INVARIANT])],
    ids=lambda value: value.name if isinstance(value, Claim) else "",
)
def test_every_hypothesis_mattered(claim: Claim, mattered: list[str]) -> None:
    dropped = without_each(*claim)
    assert {name: verdict.outcome for name, verdict in dropped.items()} == dict.fromkeys(mattered, "refuted")
    for name, verdict in dropped.items():
        assert set(verdict.given) == set(claim.given) - {name}


def test_a_hypothesis_that_is_not_needed_is_reported_as_such() -> None:
    terms = Terms()
    not_from_itself = {"the sender is not i": terms.any_process("i") != terms.any_process("j")}
    dropped = without_each("kept by delivering", {**DELIVERING.given, **not_from_itself}, DELIVERING.shows)
    assert {name: verdict.outcome for name, verdict in dropped.items()} == {
        INVARIANT: "refuted",
        GUARD: "refuted",
        "the sender is not i": "proved",
    }


@pytest.mark.parametrize("protocol", [DeliversWhatArrives, NeverCountsDeliveries, NeverCountsTheDeliveredAsSent])
def test_a_broken_protocol_is_refuted(protocol: type[Rst]) -> None:
    verdicts = {claim.name: theorem(*claim) for claim in claims(protocol)}
    assert [name for name, verdict in verdicts.items() if not verdict] == ["kept by delivering"]
    assert verdicts["kept by delivering"].outcome == "refuted"


# -- What must not count as success


def test_unknown_is_not_success_and_says_why() -> None:
    verdict = theorem(*DELIVERING, effort=1)
    assert verdict.outcome == "unknown"
    assert "resource limit" in verdict.reason
    assert not verdict
    assert not theorem("refuted", {}, z3.BoolVal(False))


def test_contradictory_hypotheses_are_found_out() -> None:
    x = z3.Int("x")
    given = {"small": x < 0, "great": x > 0}
    assert theorem("anything", given, z3.BoolVal(False))
    assert vacuous("anything", given).outcome == "proved"


#: Guards with a conjunct that never holds.
NEVER: dict[str, Any] = {
    "first": lambda self, i, state, packet: self.ops.all_of(
        state.deliv[i] < state.deliv[i], Rst.deliverable(self, i, state, packet)
    ),
    "last": lambda self, i, state, packet: self.ops.all_of(
        Rst.deliverable(self, i, state, packet), state.deliv[i] < state.deliv[i]
    ),
    "within": lambda self, i, state, packet: self.ops.all_of(
        state.deliv[i] >= 0, self.ops.all_of(state.deliv[i] >= 0, state.deliv[i] < state.deliv[i]), True
    ),
    "of anybody": lambda self, i, state, packet: self.ops.all_of(
        Rst.deliverable(self, i, state, packet), self.ops.every(lambda k: state.deliv[k] < state.deliv[k])
    ),
}


@pytest.mark.parametrize("place", NEVER)
def test_a_guard_that_never_holds_waits_for_something_else_whichever_conjunct_it_is(place: str) -> None:
    machine = type("Never", (Rst,), {"deliverable": NEVER[place]})
    claims = replace(RST, protocol=machine).claims()[WAITS]
    assert not all(theorem(*claim, effort=200_000) for claim in claims)


# -- cvc5 --------------------------------------------------------------------------------------------------------------


PLACES = z3.DeclareSort("Place")
A, K, L = z3.Array("a", PLACES, z3.IntSort()), z3.Const("k", PLACES), z3.Const("l", PLACES)


def test_a_comprehension_is_read_out() -> None:
    twice = z3.Lambda([K], A[K] + A[K])
    assert eliminate_lambdas(twice[L] == 2).eq(A[L] + A[L] == 2)
    assert eliminate_lambdas(z3.Store(twice, K, 1)[L] == 2).eq(z3.If(L == K, z3.IntVal(1), A[L] + A[L]) == 2)
    entry_by_entry = eliminate_lambdas(twice == A)
    assert z3.is_quantifier(entry_by_entry)
    assert "lambda" not in as_smt_lib(Claim("twice", {"is": twice == A}, A[L] == 0))


def test_cvc5_distinguishes_what_is_true_from_what_is_not() -> None:
    twice = {"is": z3.Lambda([K], A[K] + A[K]) == A}
    assert recheck_with_cvc5(Claim("twice", twice, A[L] == 0)) == "proved"
    assert recheck_with_cvc5(Claim("twice", twice, A[L] == 1)) != "proved"
    assert recheck_with_cvc5(Claim("one", {"is": A[K] == 1}, A[L] == 1)) == "refuted"


def test_all_and_one_of_nothing_are_read() -> None:
    given = {"all": z3.And(), "none": z3.Not(z3.Or())}
    assert recheck_with_cvc5(Claim("true", given, z3.And(z3.BoolVal(True)))) == "proved"
    assert recheck_with_cvc5(Claim("false", given, z3.Or())) == "refuted"


def test_without_cvc5_the_fix_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvc5", None)
    with pytest.raises(BadInput, match="cvc5") as raised:
        recheck_with_cvc5(Claim("nothing", {}, z3.BoolVal(True)))
    assert "pip install" in str(raised.value.hint)
