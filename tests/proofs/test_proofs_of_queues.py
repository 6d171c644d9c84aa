"""Protocols of queues: what is proved of their abstractions is proved of the machines, and faults are seen in both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from broken_protocols import BROKEN
from click.testing import CliRunner
from faulty_queue_machines import (
    FAULTS,
    AcknowledgesTwoAtMost,
    ClearsItsOutputAtFour,
    DeliversTheNewestOfASender,
    EncodesNothingBeyondThree,
    Fault,
)
from native_engine_setup import question
from planted import USUAL

from crownless.command_line.commands.prove import prove_
from crownless.impl.protocol import ProtocolMachine, Step
from crownless.impl.protocols.buffer import Buffer, State
from crownless.impl.protocols.extra_messages import ExtraMessages
from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check.check import run_check
from crownless.model_check.system.request import Check
from crownless.proofs.induction.proved_properties import WAITS
from crownless.proofs.induction.queue_abstraction import Abstraction, Part, StageEvent
from crownless.proofs.induction.queues import QueueProof
from crownless.proofs.induction.step_refinement import step_claims
from crownless.proofs.induction.theorem import Claim, theorem
from crownless.proofs.language.symbolic_queues import UnsupportedStep
from crownless.proofs.protocols.buffer import BUFFER, Buffers
from crownless.proofs.protocols.extra_messages_steps import same_steps
from crownless.proofs.protocols.murty_garg import MURTY_GARG, Priorities
from crownless.proofs.proving import PROOFS, ProofReport, prove
from crownless.runtime.errors import BadInput
from crownless.spec import notation
from crownless.spec.computation import Message

QUEUES = {name: proof for name, proof in PROOFS.items() if isinstance(proof, QueueProof)}


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
    # The steps that z3 needs differ with what it was asked before: up to 200,000 for the last of these.
    assert any(theorem(*claim, effort=2_000_000).outcome == "refuted" for claim in live)


@pytest.mark.parametrize("protocol", QUEUES)
def test_an_axiom_by_which_nothing_happens_is_vacuous(protocol: str) -> None:
    proof = QUEUES[protocol]
    stage = "posted" if protocol == "buffer" else "out"
    never = {"nothing goes": lambda run, now, l: l.messages(lambda x: l.no(getattr(now, stage)(x)))}
    assert not prove(protocol, replace(proof, axioms={**proof.axioms, **never})).not_vacuous


class Idle(Buffer):
    """Delivers nothing."""

    def receive(self, i: int, state: State, sender: int | None) -> Sequence[Step]:
        return []


def test_a_machine_that_does_less_than_its_abstraction_is_seen() -> None:
    assert not steps_are_shown(replace(BUFFER, protocol=Idle))


@pytest.mark.parametrize("protocol", QUEUES)
def test_every_event_is_claimed_to_keep_the_order_of_queues(protocol: str) -> None:
    names = {claim.name for claim in QUEUES[protocol].claims()["live"]}
    for event in QUEUES[protocol].abstraction().events():
        assert any(name.startswith(f"{event.name}: nothing comes ahead in ") for name in names)


# -- steps of the machines ---------------------------------------------------------------------------------------------


def machine_steps_are_shown(machine: type[ProtocolMachine]) -> bool:
    (proof,) = [proof for proof in QUEUES.values() if issubclass(machine, proof.protocol)]
    return steps_are_shown(replace(proof, protocol=machine))


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


def test_a_program_that_asks_for_a_sender_breaks_the_order_of_a_machine_that_is_not_shown() -> None:
    program = notation.parse("P1: send a to P3; send b to P3\nP2: send x to P3\nP3: receive from P1; receive from P1")
    assert "fifo" in question(DeliversTheNewestOfASender, program=program).plain().violated
    assert "fifo" not in question(Buffer, program=program).plain().violated


def test_a_variation_that_does_the_same_is_shown() -> None:
    """So not everything is refused that is written in another way."""

    class Rewritten(Buffer):
        def receive(self, i: int, state: State, sender: int | None) -> Sequence[Step]:
            if state.input:
                _, *rest = state.input
                return [
                    step._replace(state=state._replace(input=tuple(rest))) for step in super().receive(i, state, sender)
                ]
            return ()

    assert machine_steps_are_shown(Rewritten)


# -- what gets around symbolic queues is refused -----------------------------------------------------------------------

SEEN: list[str] = []
LAST = 3


def length_of(queue: Sequence[Message]) -> int:
    return sum(1 for _ in queue)


def catches(self: Any, state: State) -> bool:
    try:
        return Buffer.may_post(self, state) and not state.output[3]
    except IndexError:
        return Buffer.may_post(self, state)


class CountsTheRest(Buffer):
    def receive(self, i: int, state: State, sender: int | None) -> Sequence[Step]:
        _, *rest = state.input or (None,)
        return super().receive(i, state, sender) if not rest[2:] else []


class CountsOnItself(Buffer):
    calls = 0

    def may_post(self, state: State) -> bool:
        self.calls = self.calls + 1
        return super().may_post(state)


MAY_POST: dict[str, Any] = {
    "a helper counts": lambda self, state: Buffer.may_post(self, state) and length_of(state.output) < 3,
    "something outside grows": lambda self, state: SEEN.append("once more") or Buffer.may_post(self, state),  # type: ignore[func-returns-value]
    "places are compared": lambda self, state: Buffer.may_post(self, state) and state.output is not state.input,
    "a refusal is caught": catches,
    "one process is asked for": lambda self, state: Buffer.may_post(self, state) or state.awaits == LAST,
    "each element is asked": lambda self, state: (
        Buffer.may_post(self, state) and [bool(m.sender == m.receiver) for m in state.output]
    ),
}

# Each of these takes in no sixth message; it counts by something that it reaches by name, behind the symbolic queues.


def are_five(queue: Any) -> bool:
    return isinstance(queue, tuple) and len(queue) == 5


LOOKS = (are_five,)
KIND, SHOWN = "{0.__class__.__name__}", "{0}"


def in_a_text(queue: Any) -> bool:
    return KIND.format(queue) == "tuple" and SHOWN.format(queue).count("Message(") == 5


class CountsByItsAttributes(Buffer):
    kind: ClassVar[Any] = type
    size: ClassVar[Any] = len

    def get(self, state: State, message: Message) -> State:
        if self.kind(state.input) == tuple and self.size(state.input) == 5:  # noqa: E721
            return state
        return super().get(state, message)


def counting(name: str, counts: Any) -> type[ProtocolMachine]:
    get = lambda self, state, message: state if self.counts(state.input) else Buffer.get(self, state, message)  # noqa: E731
    return type(name, (Buffer,), {"counts": counts, "get": get})


BEHIND: list[Any] = [
    counting("a tuple", lambda self, queue: LOOKS[0](queue)),
    counting("a text", lambda self, queue: in_a_text(queue)),
    CountsByItsAttributes,
]


@pytest.mark.parametrize("machine", BEHIND, ids=lambda machine: machine.__name__)
def test_what_looks_behind_a_queue_takes_in_no_sixth_message(machine: Any) -> None:
    messages = tuple(Message(f"1→2#{number}", 0, (1,)) for number in range(1, 7))
    full = State((), None, messages[:5])
    assert Buffer(2).get(full, messages[5]).input == messages
    assert machine(2).get(full, messages[5]) == full


@pytest.mark.parametrize(
    "machine",
    [
        *BEHIND,
        *(type(name, (Buffer,), {"may_post": may_post}) for name, may_post in MAY_POST.items()),
        CountsTheRest,
        CountsOnItself,
    ],
    ids=lambda machine: machine.__name__,
)
def test_what_could_distinguish_one_queue_from_a_longer_one_is_refused(machine: type[ProtocolMachine]) -> None:
    with pytest.raises(UnsupportedStep):
        step_claims(replace(QUEUES["buffer"], protocol=machine))


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


@pytest.mark.parametrize(
    "answers",
    [
        {"entries": lambda self, matrix: None},
        {"column": lambda self, state, j: ((0, 1),)},
        {"matrix_of": lambda self, entries: (0, 0)},
        {"matrix_of": lambda self, entries: None},
        {"extra": lambda self, i, state, j: (i, j)},
        {"clearings": lambda self, i, state: [state.matrix]},
    ],
)
def test_an_extra_message_machine_that_answers_in_another_shape_differs(answers: Any) -> None:
    with suppress(UnsupportedStep, BadInput):
        assert not all(same_steps(type("Wrong", (ExtraMessages,), answers)))


@pytest.mark.parametrize(("protocol", "method", "answer", "says"), WRONG)
def test_what_cannot_be_judged_is_refused_in_one_line(protocol: str, method: str, answer: Any, says: str) -> None:
    wrong = type("Wrong", (PROTOCOLS[protocol],), {"__module__": __name__, method: answer})
    with pytest.raises(BadInput, match=says) as refused:
        prove("Wrong", replace(PROOFS[protocol], protocol=wrong), effort=1, attempts=1)
    assert re.match(r"Wrong(\.\w+:? |: | fails: )", str(refused.value))
    assert "\n" not in str(refused.value)


def test_a_machine_without_a_method_is_refused_before_its_steps_are_read() -> None:
    lacking = type("Lacking", (Buffer,), {"on_packet": None})
    with pytest.raises(BadInput, match=r"^Lacking\.on_packet = None is not a method; write a function"):
        prove("Lacking", replace(PROOFS["buffer"], protocol=lacking), effort=1_000, attempts=1)


@pytest.mark.parametrize("engine", ["plain", "native"])
@pytest.mark.parametrize(("answer", "shown"), [([99], "[99]"), ([1.0], "[1.0]"), (5, "5")])
def test_columns_to_clear_that_are_no_processes_are_refused_where_they_enter(
    answer: Any, shown: str, engine: str
) -> None:
    wrong = type("Wrong", (ExtraMessages,), {"columns_to_clear": lambda self, i, state: answer})
    with pytest.raises(BadInput) as refused:
        run_check(Check(wrong, 3, 2), engine=engine)
    assert re.match(
        rf"Wrong\.columns_to_clear .*returns {re.escape(shown)}, not a list of columns; name a column by its process, ",
        str(refused.value),
    )
