"""What the tests of `test_proofs_of_causal_order.py` in several tiers share."""

from __future__ import annotations

from crownless.proofs.induction.causal_order import CausalOrder
from crownless.proofs.proving import PROOFS, necessary_hypotheses

CAUSAL = {name: proof for name, proof in PROOFS.items() if isinstance(proof, CausalOrder)}


def needed_by(protocol: str) -> dict[str, list[str]]:
    """Without what z3 says where it gives up."""
    return {
        claim: [hypothesis.removesuffix(" (?)") for hypothesis in hypotheses]
        for claim, hypotheses in necessary_hypotheses(CAUSAL[protocol]).items()
    }
