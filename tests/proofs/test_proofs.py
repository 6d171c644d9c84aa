"""Proofs: z3 runs the protocols' own code; what it shows, on what hypotheses, and that it can fail."""

from __future__ import annotations

import pytest
import z3
from broken_rst import DeliversWhatArrives, NeverCountsDeliveries, NeverCountsTheDeliveredAsSent

from crownless.impl.protocols.rst import Rst
from crownless.proofs.induction.theorem import Claim, theorem, vacuous, without_each
from crownless.proofs.language.terms import Terms
from crownless.proofs.theorems.deliv_is_redundant import GUARD, INVARIANT, TO_ANOTHER, claims

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
