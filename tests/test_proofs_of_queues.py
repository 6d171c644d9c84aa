"""Protocols of queues: their abstractions are proved, their machines do what these do, and faults are seen in both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from broken_protocols import BROKEN
from broken_tables import USUAL

from crownless.impl.buffer import Buffer
from crownless.impl.murty_garg import MurtyGarg
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import PROTOCOLS
from crownless.proofs.buffer import BUFFER, Buffers
from crownless.proofs.murty_garg import MURTY_GARG, Priorities
from crownless.proofs.proving import prove
from crownless.proofs.queues import QueueProof
from crownless.proofs.refinement import refines
from crownless.proofs.stages import Abstraction, StageEvent
from crownless.proofs.theorem import Claim, theorem

PROOFS = {"buffer": BUFFER, "murty-garg": MURTY_GARG}


@pytest.mark.parametrize("protocol", PROOFS)
def test_it_is_proved_for_every_n(protocol: str) -> None:
    proof = PROOFS[protocol]
    assert proof.protocol is PROTOCOLS[protocol]
    proved = prove(protocol, proof)
    assert proved.failures == []
    assert proved.not_vacuous
    assert all(proved.refinements)
    assert (proved.outcome("safe"), proved.outcome("live")) == ("proved", "proved")
    assert proved.outcome("optimal") == "not claimed"


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "states"), [("buffer", 24364), ("murty-garg", 2491)])
def test_the_machine_does_what_the_abstraction_does_at_three_processes_and_messages(protocol: str, states: int) -> None:
    refinement = refines(PROOFS[protocol], 3, 3)
    assert refinement.differs is None
    assert refinement.states == states


#: Of the variations that break a rule of the text, those that only a third message at three processes tells apart.
FAULTY = [
    row.machine
    for row in BROKEN
    if issubclass(row.machine, Buffer | MurtyGarg)
    and not row.machine.parameters
    and any(catch.setup == USUAL and catch.processes + catch.messages <= 5 for catch in row.catches)
]


@pytest.mark.parametrize("machine", FAULTY, ids=lambda machine: machine.__name__)
def test_a_fault_of_the_machine_is_none_of_the_abstraction(machine: type[ProtocolMachine]) -> None:
    proof = BUFFER if issubclass(machine, Buffer) else MURTY_GARG
    faulty = replace(proof, protocol=machine)
    assert not all(refines(faulty, n, messages) for n, messages in proof.refined)


def mutants(kind: type[Abstraction], names: dict[str, list[str]]) -> list[Any]:
    """Abstractions in which an event (by its method) may happen without one thing that is given."""
    return [
        pytest.param(kind, event, given, id=f"{event}, without: {given}") for event in names for given in names[event]
    ]


GIVEN = [
    *mutants(
        Buffers,
        {
            "posting": ["m is the oldest in i's output buffer", "i awaits no acknowledgement"],
            "getting": ["m is under way to i"],
            "acknowledging": ["m's acknowledgement is under way to i"],
            "delivering": ["m is the oldest in i's input buffer"],
        },
    ),
    *mutants(
        Priorities,
        {
            "asking": [],
            "going_on": ["m's acknowledgement is under way to i", "nothing waits to be sent"],
            "going_on_with_the_next": ["m's acknowledgement is under way to i"],
        },
    ),
]


@pytest.mark.parametrize(("kind", "event", "given"), GIVEN)
def test_what_is_given_of_an_event_is_needed(kind: type[Abstraction], event: str, given: str) -> None:
    def without(self: Abstraction) -> StageEvent:
        happens: Callable[[Abstraction], StageEvent] = getattr(kind, event)
        known = happens(self)
        assert given in known.given
        return known._replace(given={name: holds for name, holds in known.given.items() if name != given})

    proof = BUFFER if kind is Buffers else MURTY_GARG
    assert not shown(replace(proof, abstraction=type("Mutant", (kind,), {event: without})))


def shown(proof: QueueProof) -> bool:
    claims: list[Claim] = [claim for some in proof.claims().values() for claim in some]
    return all(theorem(*claim, effort=200_000) for claim in claims)


@pytest.mark.parametrize("rule", ["SP", "RP"])
def test_without_the_send_or_the_receive_condition_lines_are_not_in_order(rule: str) -> None:
    """Who is passive sends (SP) or acknowledges (RP) all the same."""

    class Hasty(Priorities):
        def events(self) -> list[StageEvent]:
            hasty = self.taking(passive=False) if rule == "SP" else self.receiving(passive=False)
            anyhow = {name: holds for name, holds in hasty.given.items() if name != "i is active"}
            return [*super().events(), hasty._replace(given=anyhow)]

    assert not shown(replace(MURTY_GARG, abstraction=Hasty))
