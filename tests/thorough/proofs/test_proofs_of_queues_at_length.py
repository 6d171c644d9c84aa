"""What takes longer of the tests in `test_proofs_of_queues.py`."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner
from faulty_queue_machines import (
    FAULTS,
    AcknowledgesTwoAtMost,
    ClearsItsOutputAtFour,
    EncodesNothingBeyondThree,
    Fault,
)
from queue_proofs import FAULTY, QUEUES, machine_steps_are_shown, shown, steps_are_shown
from tiers import slow_where

from crownless.command_line.commands.prove import prove_
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.protocols.extra_messages import ExtraMessages
from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.impl.registry import PROTOCOLS
from crownless.proofs.induction.proved_properties import WAITS
from crownless.proofs.induction.queue_abstraction import Abstraction, Part, StageEvent
from crownless.proofs.induction.queues import QueueProof
from crownless.proofs.induction.theorem import theorem
from crownless.proofs.language.symbolic_queues import UnsupportedStep
from crownless.proofs.protocols.buffer import BUFFER, Buffers
from crownless.proofs.protocols.extra_messages_steps import same_steps
from crownless.proofs.protocols.murty_garg import MURTY_GARG, Priorities
from crownless.proofs.proving import PROOFS, ProofReport, prove
from crownless.runtime.errors import BadInput


@pytest.mark.parametrize("protocol", QUEUES)
def test_it_is_proved_for_every_n(protocol: str) -> None:
    proof = QUEUES[protocol]
    assert proof.protocol is PROTOCOLS[protocol]
    proved = prove(protocol, proof)
    assert proved.failures == []
    assert proved.not_vacuous
    assert proved.covers_machine
    assert (proved.outcome("safe"), proved.outcome("live")) == ("proved", "proved")
    assert proved.outcome(WAITS) == "not claimed"


@pytest.mark.parametrize(
    "machine", slow_where(lambda machine: issubclass(machine, MurtyGarg), FAULTY), ids=lambda machine: machine.__name__
)
def test_a_fault_of_the_machine_is_none_of_the_abstraction(machine: type[ProtocolMachine]) -> None:
    proof = BUFFER if issubclass(machine, Buffer) else MURTY_GARG
    assert not steps_are_shown(replace(proof, protocol=machine))


def rules() -> list[Any]:
    """Each thing that is given of an event, of both abstractions."""
    return [
        pytest.param(
            kind,
            event.name,
            given,
            id=f"{kind.__name__}, {event.name}, without: {given}",
            marks=[pytest.mark.slow] * (kind is Priorities),
        )
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


@pytest.mark.parametrize("rule", ["SP", "RP"])
def test_without_the_send_or_the_receive_condition_lines_are_not_in_order(rule: str) -> None:
    """Who is passive sends (SP) or acknowledges (RP) all the same."""

    class Hasty(Priorities):
        def events(self) -> list[StageEvent]:
            hasty = self.taking(passive=False) if rule == "SP" else self.receiving(passive=False)
            anyhow = {name: holds for name, holds in hasty.given.items() if name != "i is active"}
            return [*super().events(), hasty._replace(given=anyhow)]

    assert not shown(replace(MURTY_GARG, abstraction=Hasty))


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
    # The steps that z3 needs differ with what it was asked before: up to 200,000 for the last of these.
    assert any(theorem(*claim, effort=2_000_000).outcome == "refuted" for claim in live)


@pytest.mark.parametrize("protocol", QUEUES)
def test_an_axiom_by_which_nothing_happens_is_vacuous(protocol: str) -> None:
    proof = QUEUES[protocol]
    stage = "posted" if protocol == "buffer" else "out"
    never = {"nothing goes": lambda run, now, l: l.messages(lambda x: l.no(getattr(now, stage)(x)))}
    assert not prove(protocol, replace(proof, axioms={**proof.axioms, **never})).not_vacuous


@pytest.mark.parametrize("protocol", QUEUES)
def test_each_step_of_the_machine_is_one_of_the_abstraction_for_queues_of_any_content(protocol: str) -> None:
    assert machine_steps_are_shown(PROTOCOLS[protocol])


def test_each_step_of_the_extra_message_machine_is_what_is_proved() -> None:
    compared = same_steps(ExtraMessages)
    assert all(compared)
    assert [each.processes for each in compared] == [2, 3, 4]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.machine.__name__)
def test_the_steps_of_a_faulty_machine_are_not_shown(fault: Fault) -> None:
    machine: Any = fault.machine
    if fault.protocol in QUEUES:
        assert not machine_steps_are_shown(machine)
        return
    with suppress(UnsupportedStep):
        assert not all(same_steps(machine))


def proved_with(protocol: str, machine: type[ProtocolMachine]) -> ProofReport:
    proof: Any = PROOFS[protocol]
    return prove(protocol, replace(proof, protocol=machine))


@pytest.mark.parametrize(
    ("protocol", "machine"),
    [
        ("murty-garg", AcknowledgesTwoAtMost),
        ("buffer", ClearsItsOutputAtFour),
        ("extra-messages", EncodesNothingBeyondThree),
    ],
)
def test_a_machine_that_cannot_be_compared_with_what_is_proved_is_not_proved(protocol: str, machine: Any) -> None:
    """Each is wrong only after more messages than are tried, or among more processes."""
    proved = proved_with(protocol, machine)
    assert proved.outcome("safe") == proved.outcome("live") == "not proved"
    assert not proved.covers_machine
    assert proved.unsupported is not None
    assert "any number" not in (proved.json()["processes"], proved.json()["messages"])
    assert (proved.claims, proved.json()["assumptions"], proved.json()["trusted"]) == ((), [], [])
    assert proved.search is not None
    assert (proved.search.refutation, proved.search.incomplete) == (None, None)


def test_the_command_says_why_steps_are_not_shown() -> None:
    shown = CliRunner().invoke(
        prove_, [f"{AcknowledgesTwoAtMost.__module__}:AcknowledgesTwoAtMost"], standalone_mode=False
    )
    assert shown.return_value == 3
    assert "its steps cannot be compared with what is proved: a step uses getitem of a queue" in shown.output


# -- machines that fail, or answer in another shape --------------------------------------------------------------------


def columns_in_tuples(self: Any, i: int, state: Any) -> Any:
    return [(j,) for j in range(self.n) if any(row[j] for row in state.matrix)]


def full_columns_in_tuples(self: Any, i: int, state: Any) -> Any:
    """Of columns that no run of a few processes and messages has."""
    sizes = [sum(1 for row in state.matrix if row[j]) for j in range(self.n)]
    if max(sizes) < 2 or sum(sizes) < self.setting("k", i):
        return []
    most = [j for j in range(self.n) if sizes[j] == max(sizes)]
    return [(j,) for j in most] if all(row[most[0]] for row in state.matrix) else most


def fails_to_clear(self: Any, i: int, state: Any) -> Any:
    raise ZeroDivisionError


#: A protocol, a method of it, what it gives instead, and what is said of that.
WRONG: list[tuple[str, str, Any, str]] = [
    ("extra-messages", "columns_to_clear", columns_in_tuples, "returns"),
    ("extra-messages", "columns_to_clear", full_columns_in_tuples, "returns"),
    ("extra-messages", "columns_to_clear", lambda self, i, state: (j for j in range(self.n)), "returns"),
    ("extra-messages", "columns_to_clear", lambda self, i, state: [99], "returns"),
    ("extra-messages", "columns_to_clear", fails_to_clear, "fails at P1"),
    ("extra-messages", "after_sending", lambda self, i, state, j: state.matrix, "changes in its form"),
    ("extra-messages", "after_sending", lambda self, i, state, j: state.matrix.no_such, "no_such"),
    ("extra-messages", "on_packet", lambda self, i, state, packet: [], "0 steps"),
    ("buffer", "on_packet", lambda self, i, state, packet: [(state, ())], "returns"),
    ("buffer", "receive", lambda self, i, state, sender: [0], "returns"),
    ("buffer", "receive", lambda self, i, state, sender: None, "returns None"),
    ("buffer", "internal", lambda self, i, state: [0], "returns"),
    ("buffer", "may_post", lambda self, state: self.may_post(state), "fails"),
    ("murty-garg", "send", lambda self, i, state, message: ["send"], "returns"),
]


@pytest.mark.parametrize(("protocol", "method", "answer", "says"), WRONG)
def test_what_cannot_be_judged_is_refused_in_one_line(protocol: str, method: str, answer: Any, says: str) -> None:
    wrong = type("Wrong", (PROTOCOLS[protocol],), {"__module__": __name__, method: answer})
    with pytest.raises(BadInput, match=says) as refused:
        prove("Wrong", replace(PROOFS[protocol], protocol=wrong), effort=1, attempts=1)
    assert re.match(r"Wrong(\.\w+:? |: | fails: )", str(refused.value))
    assert "\n" not in str(refused.value)
