"""What z3 proves cvc5 proves too, and what is false neither does."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
import z3
from broken_rst import NeverMerges

from crownless.proofs.induction.proving import PROOFS, prove
from crownless.proofs.induction.second_solver import as_smt_lib, recheck_with_cvc5
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.arrays import eliminate_lambdas
from crownless.runtime.errors import BadInput

PLACES = z3.DeclareSort("Place")
A, K, L = z3.Array("a", PLACES, z3.IntSort()), z3.Const("k", PLACES), z3.Const("l", PLACES)


QUICK = ("rst", "ses", "cbcast", "extra-messages")


@pytest.mark.parametrize(
    "protocol", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in PROOFS]
)
def test_what_z3_proves_cvc5_proves(protocol: str) -> None:
    proved = prove(protocol, PROOFS[protocol], recheck=True)
    assert [put.verdict.name for put in proved.claims if put.again != "proved"] == []
    assert proved.confirmed == len(proved.claims)


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


def test_of_a_broken_protocol_cvc5_proves_no_more_than_z3() -> None:
    broken = prove("broken", replace(PROOFS["rst"], protocol=NeverMerges), 100_000, attempts=1)
    assert broken.failures != []
    assert all(recheck_with_cvc5(put.claim, 20_000) != "proved" for put in broken.failures)


def test_without_cvc5_the_fix_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvc5", None)
    with pytest.raises(BadInput, match="cvc5") as raised:
        recheck_with_cvc5(Claim("nothing", {}, z3.BoolVal(True)))
    assert "pip install" in str(raised.value.hint)
