"""What takes longer of the tests in `test_proofs.py`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import z3
from broken_rst import NeverMerges
from tiers import slow_where

from crownless.impl.protocol import Packet
from crownless.impl.protocols.rst import Rst, State
from crownless.proofs.induction.any_run import ACCEPTED
from crownless.proofs.induction.causal_order import CausalOrder
from crownless.proofs.induction.proved_properties import WAITS
from crownless.proofs.induction.second_solver import recheck_with_cvc5
from crownless.proofs.induction.theorem import theorem
from crownless.proofs.protocols.rst import RST
from crownless.proofs.proving import PROOFS, prove

# -- guards ------------------------------------------------------------------------------------------------------------


class AsksForMore(Rst):
    """Its guard has several conjuncts, one of them within another, and several statements about all processes."""

    def deliverable(self, i: Any, state: State, packet: Packet) -> Any:
        guard, own = super().deliverable(i, state, packet), state.deliv[i]
        return self.ops.all_of(own >= 0, self.ops.all_of(guard, self.ops.every(lambda k: state.deliv[k] >= 0)), own < 1)


PROVED = [*(proof for proof in PROOFS.values() if isinstance(proof, CausalOrder)), replace(RST, protocol=AsksForMore)]


@pytest.mark.parametrize("proof", PROVED, ids=lambda proof: proof.protocol.__name__)
def test_the_parts_of_a_guard_that_are_shown_to_wait_only_for_causes_are_the_whole_guard(proof: CausalOrder) -> None:
    run = proof.world(proof.protocol)
    k = run.terms.any_process("k")
    parts = {claim.name: z3.ForAll([k], claim.shows) for claim in proof.claims()[WAITS]}
    assert theorem("the parts hold: the guard holds", parts, run.accepted)
    assert theorem("the guard holds: the parts hold", {ACCEPTED: run.accepted}, z3.And([*parts.values()]))


QUICK = ("rst", "ses", "cbcast", "extra-messages")


@pytest.mark.parametrize("protocol", slow_where(lambda name: name not in QUICK, PROOFS))
def test_what_z3_proves_cvc5_proves(protocol: str) -> None:
    proved = prove(protocol, PROOFS[protocol], recheck=True)
    assert [put.verdict.name for put in proved.claims if put.again != "proved"] == []
    assert proved.confirmed == len(proved.claims)


def test_of_a_broken_protocol_cvc5_proves_no_more_than_z3() -> None:
    broken = prove("broken", replace(PROOFS["rst"], protocol=NeverMerges), 100_000, attempts=1)
    assert broken.failures != []
    assert all(recheck_with_cvc5(put.claim, 20_000) != "proved" for put in broken.failures)
