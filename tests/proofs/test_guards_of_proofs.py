"""A protocol is optimal if its whole guard is: each conjunct holds once nothing is missing that was sent before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import z3

from crownless.impl.protocol import Packet
from crownless.impl.protocols.rst import Rst, State
from crownless.proofs.induction.any_run import ACCEPTED
from crownless.proofs.induction.causal_order import CausalOrder
from crownless.proofs.induction.proving import PROOFS
from crownless.proofs.induction.theorem import theorem
from crownless.proofs.protocols.rst import RST


class AsksForMore(Rst):
    """Its guard has several conjuncts, one of them within another, and several statements about all processes."""

    def deliverable(self, i: Any, state: State, packet: Packet) -> Any:
        guard, own = super().deliverable(i, state, packet), state.deliv[i]
        return self.ops.all_of(own >= 0, self.ops.all_of(guard, self.ops.every(lambda k: state.deliv[k] >= 0)), own < 1)


PROVED = [*(proof for proof in PROOFS.values() if isinstance(proof, CausalOrder)), replace(RST, protocol=AsksForMore)]


@pytest.mark.parametrize("proof", PROVED, ids=lambda proof: proof.protocol.__name__)
def test_the_parts_of_a_guard_that_are_shown_optimal_are_the_whole_guard(proof: CausalOrder) -> None:
    run = proof.world(proof.protocol)
    k = run.terms.any_process("k")
    parts = {claim.name: z3.ForAll([k], claim.shows) for claim in proof.claims()["optimal"]}
    assert theorem("the parts hold: the guard holds", parts, run.accepted)
    assert theorem("the guard holds: the parts hold", {ACCEPTED: run.accepted}, z3.And([*parts.values()]))


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
def test_a_guard_that_never_holds_is_not_optimal_whichever_conjunct_it_is(place: str) -> None:
    machine = type("Never", (Rst,), {"deliverable": NEVER[place]})
    claims = replace(RST, protocol=machine).claims()["optimal"]
    assert not all(theorem(*claim, effort=200_000) for claim in claims)
