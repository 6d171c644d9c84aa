"""The proofs of protocols of queues, and the variations that break a rule of the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from broken_protocols import BROKEN
from planted import USUAL

from crownless.impl.protocol import ProtocolMachine, Step
from crownless.impl.protocols.buffer import Buffer, State
from crownless.impl.protocols.murty_garg import MurtyGarg
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


def machine_steps_are_shown(machine: type[ProtocolMachine]) -> bool:
    (proof,) = [proof for proof in QUEUES.values() if issubclass(machine, proof.protocol)]
    return steps_are_shown(replace(proof, protocol=machine))


#: The variations that break a rule of the text.
FAULTY = [
    row.machine
    for row in BROKEN
    if issubclass(row.machine, Buffer | MurtyGarg)
    and not row.machine.parameters
    and any(catch.setup == USUAL for catch in row.catches)
]


class Idle(Buffer):
    """Delivers nothing."""

    def receive(self, i: int, state: State, sender: int | None) -> Sequence[Step]:
        return []
