"""Protocols of queues: what is proved of their abstractions is proved of the machines, and faults are seen in both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from faulty_queue_machines import (
    DeliversTheNewestOfASender,
)
from native_engine_setup import question
from queue_proofs import QUEUES, Idle, machine_steps_are_shown, steps_are_shown

from crownless.impl.protocol import ProtocolMachine, Step
from crownless.impl.protocols.buffer import Buffer, State
from crownless.impl.protocols.extra_messages import ExtraMessages
from crownless.model_check.check.check import run_check
from crownless.model_check.system.request import Check
from crownless.proofs.induction.queue_abstraction import StageEvent
from crownless.proofs.induction.step_refinement import step_claims
from crownless.proofs.language.symbolic_queues import UnsupportedStep
from crownless.proofs.protocols.buffer import BUFFER, Buffers
from crownless.proofs.protocols.extra_messages_steps import same_steps
from crownless.proofs.proving import PROOFS, prove
from crownless.runtime.errors import BadInput
from crownless.spec import notation
from crownless.spec.computation import Message


def test_an_abstraction_that_forgets_what_happened_before_is_seen() -> None:
    class Forgetful(Buffers):
        def delivering(self) -> StageEvent:
            delivering = super().delivering()
            return delivering._replace(after=delivering.after.also(knows=self.before.knows))

    assert not steps_are_shown(replace(BUFFER, abstraction=Forgetful))


def test_a_machine_that_does_less_than_its_abstraction_is_seen() -> None:
    assert not steps_are_shown(replace(BUFFER, protocol=Idle))


@pytest.mark.parametrize("protocol", QUEUES)
def test_every_event_is_claimed_to_keep_the_order_of_queues(protocol: str) -> None:
    names = {claim.name for claim in QUEUES[protocol].claims()["live"]}
    for event in QUEUES[protocol].abstraction().events():
        assert any(name.startswith(f"{event.name}: nothing comes ahead in ") for name in names)


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
