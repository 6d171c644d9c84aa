"""What is proved of an abstraction is proved of the machine, step by step; no planted fault is proved with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import pytest
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

from crownless.command_line.prove import prove_
from crownless.impl.buffer import Buffer, State
from crownless.impl.extra_messages import ExtraMessages
from crownless.impl.protocol import ProtocolMachine, Step
from crownless.impl.registry import PROTOCOLS
from crownless.proofs import proving
from crownless.proofs.buffer import BUFFER
from crownless.proofs.extra_messages_steps import same_steps
from crownless.proofs.lockstep import matches
from crownless.proofs.murty_garg import MURTY_GARG
from crownless.proofs.proving import PROOFS, ProofReport, prove
from crownless.proofs.queues import QueueProof
from crownless.proofs.refusals import failures_refused
from crownless.proofs.step_refinement import step_claims
from crownless.proofs.symbolic_queues import UnsupportedStep
from crownless.proofs.theorem import theorem
from crownless.spec import notation
from crownless.spec.computation import Message
from crownless.spec.errors import BadInput

QUEUES = {"buffer": BUFFER, "murty-garg": MURTY_GARG}
OF_QUEUES = [fault for fault in FAULTS if fault.protocol in QUEUES]
OF_MATRICES = [fault for fault in FAULTS if fault.protocol == "extra-messages"]


def by_name(fault: Fault) -> str:
    return fault.machine.__name__


def steps_are_shown(proof: QueueProof) -> bool:
    try:
        return all(theorem(*claim, effort=200_000) for claim in step_claims(proof))
    except UnsupportedStep:
        return False


@pytest.mark.parametrize("protocol", QUEUES)
def test_each_step_of_the_machine_is_one_of_the_abstraction_for_queues_of_any_content(protocol: str) -> None:
    assert steps_are_shown(QUEUES[protocol])


@pytest.mark.parametrize("fault", OF_QUEUES, ids=by_name)
def test_the_steps_of_a_faulty_machine_are_not_shown(fault: Fault) -> None:
    assert not steps_are_shown(replace(QUEUES[fault.protocol], protocol=fault.machine))


@pytest.mark.parametrize("fault", OF_QUEUES, ids=by_name)
def test_a_fault_within_the_bound_is_seen_beside_the_machine_that_is_proved(fault: Fault) -> None:
    reference = PROTOCOLS[fault.protocol]
    bounds = QUEUES[fault.protocol].bounds
    if fault.seen_at is None or not any(fault.seen_at[0] <= n and fault.seen_at[1] <= m for n, m in bounds):
        assert all(matches(fault.machine, reference, *bound, self_sends=False) for bound in bounds)
    else:
        assert not matches(fault.machine, reference, *fault.seen_at, self_sends=False)


@pytest.mark.parametrize("protocol", QUEUES)
def test_the_bounds_are_those_of_check_at_least(protocol: str) -> None:
    n, m = PROTOCOLS[protocol].bound
    assert any(n <= processes and m <= messages for processes, messages in QUEUES[protocol].bounds)
    assert all(
        matches(PROTOCOLS[protocol], PROTOCOLS[protocol], *bound, self_sends=False) for bound in ((2, 3), (3, 2))
    )


def test_each_step_of_the_extra_message_machine_is_what_is_proved() -> None:
    compared = same_steps(ExtraMessages)
    assert all(compared)
    assert [(each.processes, each.any_length) for each in compared] == [(2, True), (3, True), (4, True)]


@pytest.mark.parametrize("fault", OF_MATRICES, ids=by_name)
def test_a_faulty_extra_message_machine_takes_other_steps_or_looks_at_what_it_counts(fault: Fault) -> None:
    try:
        machine: Any = fault.machine
        assert not all(same_steps(machine))
    except UnsupportedStep:
        pass


def proved_with(protocol: str, machine: type[ProtocolMachine]) -> ProofReport:
    proof: Any = PROOFS[protocol]
    return prove(protocol, replace(proof, protocol=machine))


def test_a_fault_beyond_the_bound_is_proved_of_the_abstraction_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    proved = proved_with("murty-garg", AcknowledgesTwoAtMost)
    assert proved.outcome("safe") == proved.outcome("live") == "proved of the abstraction"
    assert not proved.covers_machine
    facts = proved.json()
    assert facts["of"] == "an abstraction; machine up to 2×3, 3×2, 3×4, 4×3"
    assert "any number" not in (facts["processes"], facts["messages"])
    monkeypatch.setattr("crownless.command_line.prove.prove", lambda *_, **__: proved)
    shown = CliRunner().invoke(prove_, ["murty-garg"], standalone_mode=False)
    assert shown.return_value == 3
    assert "its steps are not shown for queues of any content: a step uses getitem of a queue" in shown.output


def test_a_fault_within_the_bound_leaves_it_unknown_of_the_machine() -> None:
    proved = proved_with("buffer", ClearsItsOutputAtFour)
    assert proved.outcome("safe") == proved.outcome("live") == "unknown"
    assert proved.of == "an abstraction; not its machine"


def test_an_encoding_that_caps_what_it_counts_is_not_proved_of_the_machine() -> None:
    proved = proved_with("extra-messages", EncodesNothingBeyondThree)
    assert proved.outcome("safe") == "proved of the abstraction"
    assert proved.unsupported is not None


# -- what gets around symbolic queues is refused -----------------------------------------------------------------------

SEEN: list[str] = []
LAST = 3


def length_of(queue: Sequence[Message]) -> int:
    return sum(1 for _ in queue)


class CountsTheRest(Buffer):
    def receive(self, i: int, state: State, sender: int | None) -> Sequence[Step]:
        _, *rest = state.input or (None,)
        return super().receive(i, state, sender) if not rest[2:] else []


class AsksAHelper(Buffer):
    def may_post(self, state: State) -> bool:
        return super().may_post(state) and length_of(state.output) < 3


class Remembers(Buffer):
    def may_post(self, state: State) -> bool:
        SEEN.append("once more")
        return super().may_post(state)


class CountsOnItself(Buffer):
    calls = 0

    def may_post(self, state: State) -> bool:
        self.calls = self.calls + 1
        return super().may_post(state)


class LooksAtPlaces(Buffer):
    def may_post(self, state: State) -> bool:
        return super().may_post(state) and state.output is not state.input


class Catches(Buffer):
    def may_post(self, state: State) -> bool:
        try:
            return super().may_post(state) and not state.output[3]
        except IndexError:
            return super().may_post(state)


class AsksForOneProcess(Buffer):
    def may_post(self, state: State) -> bool:
        return super().may_post(state) or state.awaits == LAST


class AsksEachElement(Buffer):
    def may_post(self, state: State) -> bool:
        return bool(super().may_post(state) and [bool(m.sender == m.receiver) for m in state.output])


def test_a_program_that_asks_for_a_sender_breaks_the_order_of_a_machine_that_is_not_shown() -> None:
    program = notation.parse("P1: send a to P3; send b to P3\nP2: send x to P3\nP3: receive from P1; receive from P1")
    assert "fifo" in question(DeliversTheNewestOfASender, program=program).plain().broken
    assert "fifo" not in question(Buffer, program=program).plain().broken
    assert not steps_are_shown(replace(BUFFER, protocol=DeliversTheNewestOfASender))


# Each of these takes in no sixth message; it counts by something that it reaches by name, behind the symbolic queues.


def are_five(queue: Any) -> bool:
    return isinstance(queue, tuple) and len(queue) == 5


class Looks:
    are_five = staticmethod(are_five)


class LooksItself(NamedTuple):
    queue: Any

    def are_five(self) -> bool:
        return are_five(self.queue)


class LooksAsAMachine(Buffer):
    are_five = staticmethod(are_five)


LOOKS = (are_five,)
KIND, SHOWN = "{0.__class__.__name__}", "{0}"
MODULE = ModuleType("looks")
MODULE.inner = ModuleType("looks.inner")  # type: ignore[attr-defined]
MODULE.inner.are_five = are_five
MODULE.are_five = are_five  # type: ignore[attr-defined]


class CountsByAClass(Buffer):
    def get(self, state: State, message: Message) -> State:
        return state if Looks.are_five(state.input) else super().get(state, message)


class CountsByAMachine(Buffer):
    def get(self, state: State, message: Message) -> State:
        return state if LooksAsAMachine.are_five(state.input) else super().get(state, message)


class CountsByANamedTuple(Buffer):
    def get(self, state: State, message: Message) -> State:
        return state if LooksItself(state.input).are_five() else super().get(state, message)


class CountsByATuple(Buffer):
    def get(self, state: State, message: Message) -> State:
        return state if LOOKS[0](state.input) else super().get(state, message)


class CountsByAModuleWithin(Buffer):
    def get(self, state: State, message: Message) -> State:
        return state if MODULE.inner.are_five(state.input) else super().get(state, message)


class CountsByAModuleWithAName(Buffer):
    def get(self, state: State, message: Message) -> State:
        module = MODULE
        return state if module.are_five(state.input) else super().get(state, message)


class CountsByItsAttributes(Buffer):
    kind: ClassVar[Any] = type
    size: ClassVar[Any] = len

    def get(self, state: State, message: Message) -> State:
        if self.kind(state.input) == tuple and self.size(state.input) == 5:  # noqa: E721
            return state
        return super().get(state, message)


class CountsByAFact(Buffer):
    source: ClassVar[Any] = type
    bound: ClassVar[Any] = len

    def get(self, state: State, message: Message) -> State:
        if self.source(state.input) == tuple and self.bound(state.input) == 5:  # noqa: E721
            return state
        return super().get(state, message)


class CountsInAText(Buffer):
    def get(self, state: State, message: Message) -> State:
        if KIND.format(state.input) == "tuple" and SHOWN.format(state.input).count("Message(") == 5:
            return state
        return super().get(state, message)


class LooksWhetherItIsCompiledAnew(Buffer):
    def get(self, state: State, message: Message) -> State:
        return super().get(state, message) if "outer" in f"{self.insert}" else state


class HasAMetaclass(type):
    def __call__(cls, n: Any, *given: Any) -> Any:
        made = super().__call__(n, *given)
        if isinstance(n, int):
            made.__class__ = CountsByAClass
        return made


class IsMadeAnother(Buffer, metaclass=HasAMetaclass):
    pass


def is_wrapped(self: Any, state: State, message: Message) -> State:
    return state if len(state.input) == 5 else Buffer.get(self, state, message)


is_wrapped.__wrapped__ = Buffer.get  # type: ignore[attr-defined]


class ShowsAnotherSource(Buffer):
    get = is_wrapped


BEHIND = [
    CountsByAClass,
    CountsByAMachine,
    CountsByANamedTuple,
    CountsByATuple,
    CountsByAModuleWithin,
    CountsByAModuleWithAName,
    CountsByItsAttributes,
    CountsByAFact,
    CountsInAText,
    LooksWhetherItIsCompiledAnew,
    IsMadeAnother,
    ShowsAnotherSource,
]


@pytest.mark.parametrize("machine", BEHIND, ids=lambda machine: machine.__name__)
def test_what_looks_behind_a_queue_takes_in_no_sixth_message(machine: type[Buffer]) -> None:
    messages = tuple(Message(f"1→2#{number}", 0, (1,)) for number in range(1, 7))
    full = State((), None, messages[:5])
    assert Buffer(2).get(full, messages[5]).input == messages
    assert machine(2).get(full, messages[5]) == full


@pytest.mark.parametrize(
    "machine",
    [
        *BEHIND,
        CountsTheRest,
        AsksAHelper,
        Remembers,
        CountsOnItself,
        LooksAtPlaces,
        Catches,
        AsksForOneProcess,
        AsksEachElement,
    ],
    ids=lambda machine: machine.__name__,
)
def test_what_could_distinguish_one_queue_from_a_longer_one_is_refused(machine: type[ProtocolMachine]) -> None:
    with pytest.raises(UnsupportedStep):
        step_claims(replace(BUFFER, protocol=machine))


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

    assert steps_are_shown(replace(BUFFER, protocol=Rewritten))


def test_proofs_of_queues_name_the_machine_they_are_compared_with() -> None:
    assert {name for name, proof in proving.PROOFS.items() if isinstance(proof, QueueProof)} == set(QUEUES)
    assert all(proof.reference is PROTOCOLS[name] is proof.protocol for name, proof in QUEUES.items())


# -- machines that fail ------------------------------------------------------------------------------------------------


class FailsAtTheThird(Buffer):
    def get(self, state: State, message: Message) -> State:
        if len(state.input) == 2:
            raise KeyError("third")
        return super().get(state, message)


class GivesNoSteps(Buffer):
    def receive(self, i: int, state: State, sender: int | None) -> Any:
        return None


class CallsItself(Buffer):
    def may_post(self, state: State) -> bool:
        return self.may_post(state)


class HasNoMethod(Buffer):
    on_packet: Any = None


class FailsToClear(ExtraMessages):
    def columns_to_clear(self, i: int, state: Any) -> Any:
        raise ZeroDivisionError


@pytest.mark.parametrize("machine", [FailsAtTheThird, GivesNoSteps, CallsItself, FailsToClear])
def test_a_machine_that_fails_is_refused_in_one_line(machine: type[ProtocolMachine]) -> None:
    name = "buffer" if issubclass(machine, Buffer) else "extra-messages"
    says = rf"^{machine.__name__}(: its code fails|\.\w+ (fails at P1|\(.*\) at P1 returns None))"
    with pytest.raises(BadInput, match=says) as refused:
        prove(machine.__name__, replace(PROOFS[name], protocol=machine), effort=1_000, attempts=1)
    assert "\n" not in str(refused.value)


def test_a_machine_without_a_method_is_refused_before_its_steps_are_read() -> None:
    with pytest.raises(BadInput, match=r"^HasNoMethod\.on_packet = None is not a method; write a function"):
        prove("HasNoMethod", replace(PROOFS["buffer"], protocol=HasNoMethod), effort=1_000, attempts=1)


def test_what_fails_beside_the_machine_is_no_refusal() -> None:
    with pytest.raises(ZeroDivisionError), failures_refused(Buffer):
        raise ZeroDivisionError
