"""Protocols of queues: their abstractions are proved, their machines do what these do, and faults are seen in both."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from broken_protocols import BROKEN
from planted import USUAL

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.impl.registry import PROTOCOLS
from crownless.proofs.induction.proving import prove
from crownless.proofs.induction.queue_abstraction import Abstraction, Part, StageEvent
from crownless.proofs.induction.queues import QueueProof
from crownless.proofs.induction.step_refinement import step_claims
from crownless.proofs.induction.theorem import Claim, theorem
from crownless.proofs.language.symbolic_queues import UnsupportedStep
from crownless.proofs.protocols.buffer import BUFFER, Buffers
from crownless.proofs.protocols.murty_garg import MURTY_GARG, Priorities

PROOFS = {"buffer": BUFFER, "murty-garg": MURTY_GARG}


@pytest.mark.parametrize("protocol", PROOFS)
def test_it_is_proved_for_every_n(protocol: str) -> None:
    proof = PROOFS[protocol]
    assert proof.protocol is PROTOCOLS[protocol]
    proved = prove(protocol, proof)
    assert proved.failures == []
    assert proved.not_vacuous
    assert proved.covers_machine
    assert (proved.outcome("safe"), proved.outcome("live")) == ("proved", "proved")
    assert proved.outcome("optimal") == "not claimed"


#: The variations that break a rule of the text.
FAULTY = [
    row.machine
    for row in BROKEN
    if issubclass(row.machine, Buffer | MurtyGarg)
    and not row.machine.parameters
    and any(catch.setup == USUAL for catch in row.catches)
]


@pytest.mark.parametrize("machine", FAULTY, ids=lambda machine: machine.__name__)
def test_a_fault_of_the_machine_is_none_of_the_abstraction(machine: type[ProtocolMachine]) -> None:
    proof = BUFFER if issubclass(machine, Buffer) else MURTY_GARG
    assert not steps_are_shown(replace(proof, protocol=machine))


def steps_are_shown(proof: QueueProof) -> bool:
    try:
        return all(theorem(*claim, effort=200_000) for claim in step_claims(proof))
    except UnsupportedStep:
        return False


def rules() -> list[Any]:
    """Each thing that is given of an event, of both abstractions."""
    return [
        pytest.param(kind, event.name, given, id=f"{kind.__name__}, {event.name}, without: {given}")
        for kind in (Buffers, Priorities)
        for event in kind().events()
        for given in event.given
    ]


@pytest.mark.parametrize(("kind", "event", "given"), rules())
def test_a_rule_that_is_left_out_is_seen(kind: type[Abstraction], event: str, given: str) -> None:
    """By the proof; or, where the same would be sent, taken or received again, by the machine, which does not."""

    class Mutant(kind):  # type: ignore[misc, valid-type]
        def events(self) -> list[StageEvent]:
            return [
                each._replace(
                    given={name: holds for name, holds in each.given.items() if (each.name, name) != (event, given)}
                )
                for each in super().events()
            ]

    proof = replace(BUFFER if kind is Buffers else MURTY_GARG, abstraction=Mutant)
    assert not steps_are_shown(proof) or not shown(proof)


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


def test_an_abstraction_that_forgets_what_happened_before_is_seen() -> None:
    class Forgetful(Buffers):
        def delivering(self) -> StageEvent:
            delivering = super().delivering()
            return delivering._replace(after=delivering.after.also(knows=self.before.knows))

    assert not steps_are_shown(replace(BUFFER, abstraction=Forgetful))


@pytest.mark.parametrize(
    ("proof", "event"),
    [(BUFFER, "get"), (BUFFER, "deliver"), (MURTY_GARG, "receive"), (MURTY_GARG, "send"), (MURTY_GARG, "go on")],
)
def test_an_event_that_may_not_happen_when_it_must_is_not_live(proof: QueueProof, event: str) -> None:
    """As if there were one more condition, of which nothing is known."""

    class Reluctant(proof.abstraction):  # type: ignore[name-defined, misc]
        changing = {**proof.abstraction.changing, "willing": Part(("process",), "truth")}

        def events(self) -> list[StageEvent]:
            willing = {"i is willing": self.before.willing(self.i)}
            return [
                each._replace(given={**each.given, **willing}) if each.name == event else each
                for each in super().events()
            ]

    reluctant = replace(proof, abstraction=Reluctant)
    live = reluctant.claims()["live"]
    assert any(theorem(*claim, effort=200_000).outcome == "refuted" for claim in live)


@pytest.mark.parametrize("protocol", PROOFS)
def test_an_axiom_by_which_nothing_happens_is_vacuous(protocol: str) -> None:
    proof = PROOFS[protocol]
    stage = "posted" if protocol == "buffer" else "out"
    never = {"nothing goes": lambda run, now, l: l.messages(lambda x: l.no(getattr(now, stage)(x)))}
    assert not prove(protocol, replace(proof, axioms={**proof.axioms, **never})).not_vacuous


def test_a_machine_that_does_less_than_its_abstraction_is_seen() -> None:
    idle = type("Idle", (Buffer,), {"receive": lambda self, i, state, sender: []})
    assert not steps_are_shown(replace(BUFFER, protocol=idle))


@pytest.mark.parametrize("protocol", PROOFS)
def test_every_event_is_claimed_to_keep_the_order_of_queues(protocol: str) -> None:
    names = {claim.name for claim in PROOFS[protocol].claims()["live"]}
    for event in PROOFS[protocol].abstraction().events():
        assert any(name.startswith(f"{event.name}: nothing comes ahead in ") for name in names)
