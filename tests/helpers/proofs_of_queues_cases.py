"""What the tests of `test_proofs_of_queues.py` in several tiers share."""

from __future__ import annotations

from dataclasses import replace

from crownless.impl.protocol import ProtocolMachine
from crownless.proofs.induction.queues import QueueProof
from crownless.proofs.induction.step_refinement import step_claims
from crownless.proofs.induction.theorem import Claim, theorem
from crownless.proofs.language.symbolic_queues import UnsupportedStep
from crownless.proofs.proving import PROOFS

QUEUES = {name: proof for name, proof in PROOFS.items() if isinstance(proof, QueueProof)}


def steps_are_shown(proof: QueueProof) -> bool:
    try:
        return all(theorem(*claim, effort=200_000) for claim in step_claims(proof))
    except UnsupportedStep:
        return False


def shown(proof: QueueProof) -> bool:
    claims: list[Claim] = [claim for some in proof.claims().values() for claim in some]
    return all(theorem(*claim, effort=200_000) for claim in claims)


# -- steps of the machines ---------------------------------------------------------------------------------------------


def machine_steps_are_shown(machine: type[ProtocolMachine]) -> bool:
    (proof,) = [proof for proof in QUEUES.values() if issubclass(machine, proof.protocol)]
    return steps_are_shown(replace(proof, protocol=machine))
