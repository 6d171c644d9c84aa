"""Protocols are proved to realise causal order for every n; and no proof goes through of one that does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
import z3
from broken_protocols import BROKEN, HARMLESS
from causal_order_proofs import CAUSAL, FEW, SEEDS, can_be_put, needed_by, proof_for, put
from planted import USUAL, Fault
from tiers import slow_where

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.extra_messages import ExtraMessages
from crownless.impl.registry import PROTOCOLS
from crownless.proofs import proving
from crownless.proofs.induction.any_run import ACCEPTED, TO_ANOTHER
from crownless.proofs.induction.causal_order import CausalOrder
from crownless.proofs.induction.proved_properties import SHOWN
from crownless.proofs.induction.theorem import Verdict, theorem
from crownless.proofs.language.proof_request import EFFORT
from crownless.proofs.proving import PROOFS, prove

#: What a fault breaks up to a bound, and what therefore cannot be proved beyond it. Not here: that each message is
#: delivered once, which the proofs assume.
DENIES = {"fifo": "safe", "causal": "safe", "delivers-all": "live", "never-blocks": "live"}

#: What looks like a fault and is none, as z3 shows for every n. The proofs of other harmless ones do not go through,
#: since they count otherwise, or keep pairs that require more.
HARMLESS_FOR_EVERY_N = {
    "MergesBeforeIncrementing",
    "MergesAllButItsOwnColumn",
    "ComparesTheSenderForAtMostOneMore",
    "IncrementsOnDelivery",
    "MergesNotItsOwnColumn",
    "NeverTicksOnDelivering",
    "MaximumBeforeTicking",
    "MergesWithTheOlderPair",
    "NeverDeletes",
    "CountsTheDelivery",
    "AsksTheSenderForAtMostOneMore",
}


@pytest.mark.parametrize("protocol", CAUSAL)
def test_a_protocol_is_proved_for_every_n(protocol: str) -> None:
    assert CAUSAL[protocol].protocol is PROTOCOLS[protocol]
    proved = prove(protocol, CAUSAL[protocol])
    assert proved.failures == []
    assert proved.not_vacuous
    assert {shown: proved.outcome(shown) for shown in SHOWN} == dict.fromkeys(SHOWN, "proved")


FAULTY = [
    row
    for row in BROKEN
    if proof_for(row.machine) is not None
    and any(catch.setup == USUAL and catch.property in DENIES for catch in row.catches)
]


@pytest.mark.parametrize("protocol", PROOFS)
def test_what_is_right_is_proved_in_a_few_steps(protocol: str) -> None:
    """Else that a broken protocol is not proved in as many would say nothing."""
    claims = [claim for some in PROOFS[protocol].claims().values() for claim in some]
    assert [claim.name for claim in claims if not theorem(*claim, effort=FEW, attempts=SEEDS)] == []


#: The modules whose faults are put to z3 always: of matrices, pairs and clocks.
QUICK = {"broken_rst", "broken_ses", "broken_cbcast"}


@pytest.mark.parametrize(
    "row", slow_where(lambda row: row.machine.__module__ not in QUICK, FAULTY), ids=lambda row: row.machine.__name__
)
def test_no_proof_goes_through_of_a_protocol_that_breaks(row: Fault) -> None:
    proof = proof_for(row.machine)
    if proof is None or not can_be_put(row.machine):
        pytest.skip("it cannot be put to z3: it branches on values, say")
    caught = {catch.property for catch in row.catches if catch.setup == USUAL}
    for shown in {DENIES[name] for name in caught & DENIES.keys()}:
        # What z3 shows of all claims may still be of something else than the machine.
        if verdicts := if_all_are_shown(proof, shown):
            with patch.object(proving, "theorem", remembering(verdicts)):
                proved = put(row.machine)
            assert proved is not None
            assert proved.outcome(shown) != "proved"


def if_all_are_shown(proof: CausalOrder, shown: str) -> dict[str, Verdict]:
    """What z3 says of each claim on which that rests; nothing, if it does not show one of them."""
    claims, verdicts = proof.claims(), {}
    for part in proof.shown[shown].parts:
        for claim in claims[part]:
            verdicts[claim.name] = theorem(*claim, effort=FEW, attempts=SEEDS)
            if not verdicts[claim.name]:
                return {}
    return verdicts


def remembering(verdicts: dict[str, Verdict]) -> Callable[..., Verdict]:
    """`theorem`, where these claims are not put to z3 again, and of the others only whether they can be refuted."""

    def remembered(name: str, given: Any, shows: Any, **effort: int) -> Verdict:
        if name in verdicts:
            return verdicts[name]
        return theorem(name, given, shows, **effort) if z3.is_false(shows) else Verdict(name, "unknown", tuple(given))

    return remembered


def test_many_faults_can_be_put_to_z3() -> None:
    assert sum(can_be_put(row.machine) for row in FAULTY) > 35


@pytest.mark.parametrize(
    "machine",
    [row.machine for row in HARMLESS if row.machine.__name__ in HARMLESS_FOR_EVERY_N],
    ids=lambda m: m.__name__,
)
def test_what_is_harmless_up_to_a_bound_is_so_for_every_n(machine: type[ProtocolMachine]) -> None:
    proved = put(machine, EFFORT)
    assert proved is not None
    assert proved.failures == []
    assert proved.not_vacuous


def test_what_the_proofs_need_is_reported() -> None:
    needed = needed_by("rst")
    assert needed["safe"] == [
        "what is known or delivered is sent",
        "a stamp counts what happened before",
        "DELIV counts what is delivered",
        "m is in flight to i",
        ACCEPTED,
    ]
    own_column = "DELIV is the own column of SENT"
    assert needed[f"{own_column}: kept by sending"] == [own_column, TO_ANOTHER]
    assert needed[f"{own_column}: kept by delivering"] == [own_column, ACCEPTED]


def test_a_guard_that_never_holds_proves_nothing() -> None:
    class NeverDelivers(CAUSAL["rst"].protocol):  # type: ignore[misc]
        def deliverable(self, i: object, state: object, packet: object) -> object:
            return False

    proved = prove("never delivers", replace(CAUSAL["rst"], protocol=NeverDelivers), FEW, attempts=SEEDS)
    assert not proved.not_vacuous
    assert proved.outcome("safe") == "unknown"
    assert proved.outcome("live") == "refuted"


def test_vacuity_is_a_situation_of_three_processes() -> None:
    for proof in CAUSAL.values():
        for never in proof.vacuity():
            verdict = theorem(*never)
            assert verdict.outcome == "refuted"
            assert verdict.model is not None


@pytest.mark.parametrize(
    "machine",
    [row.machine for row in BROKEN if issubclass(row.machine, ExtraMessages) and row not in FAULTY],
    ids=lambda machine: machine.__name__,
)
def test_a_fault_in_the_extra_messages_is_seen_by_z3_or_by_comparison_with_the_machine(
    machine: type[ProtocolMachine],
) -> None:
    proved = put(machine)
    assert proved is None or "proved" not in (proved.outcome("safe"), proved.outcome("live"))
