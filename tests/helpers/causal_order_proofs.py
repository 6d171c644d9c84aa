"""The proofs of causal order, put to z3 of any variation of their protocols."""

from __future__ import annotations

from dataclasses import replace

from broken_extra_messages import ClearsTheRow

from crownless.impl.protocol import ProtocolMachine
from crownless.proofs.induction.causal_order import CausalOrder
from crownless.proofs.induction.theorem import ATTEMPTS
from crownless.proofs.proving import PROOFS, ProofReport, necessary_hypotheses, prove

CAUSAL = {name: proof for name, proof in PROOFS.items() if isinstance(proof, CausalOrder)}


def needed_by(protocol: str) -> dict[str, list[str]]:
    """Without what z3 says where it gives up."""
    return {
        claim: [hypothesis.removesuffix(" (?)") for hypothesis in hypotheses]
        for claim, hypotheses in necessary_hypotheses(CAUSAL[protocol]).items()
    }


#: In so many steps, or with another seed, z3 shows all claims of the protocols that are right (which is tested); of one
#: that is not right it does not search longer.
FEW, SEEDS = 200_000, 6


def proof_for(machine: type[ProtocolMachine]) -> CausalOrder | None:
    """The proof of the protocol that this is a variation of, nearest first."""
    for base in machine.__mro__:
        for proof in CAUSAL.values():
            if proof.protocol is base:
                return replace(proof, protocol=machine)
    return None


def put(machine: type[ProtocolMachine], effort: int = FEW) -> ProofReport | None:
    """What z3 says of it; None if it cannot be put to z3, as when its transitions branch on values."""
    proof = proof_for(machine)
    return (
        None
        if proof is None or not can_be_put(machine)
        else prove(machine.__name__, proof, effort, attempts=SEEDS if effort == FEW else ATTEMPTS)
    )


def can_be_put(machine: type[ProtocolMachine]) -> bool:
    if machine not in CAN_BE_PUT:
        proof = proof_for(machine)
        try:
            CAN_BE_PUT[machine] = proof is not None and machine not in NEVER_END and bool(proof.claims())
        except (TypeError, ValueError):
            CAN_BE_PUT[machine] = False
    return CAN_BE_PUT[machine]


#: What is known of that.
CAN_BE_PUT: dict[type[ProtocolMachine], bool] = {}


#: Broken so that a step does not come to an end.
NEVER_END = {ClearsTheRow}
