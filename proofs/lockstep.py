"""A machine compared with a reference, local transition by local transition, in all states up to a bound.

Where the steps of a machine are not shown for queues of any content, those of the protocol's own machine may be. The
search of the native engine calls a machine once for each local transition that it comes to; here each call is answered
by the reference, and the machine must answer the same. No process shares the tables of another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.workloads import Free
from crownless.model_check.monitors import monitors_of
from crownless.model_check.native.search import NativeSearch
from crownless.spec.computation import Message

from .refinement import Refinement


def matches(
    protocol: type[ProtocolMachine], reference: type[ProtocolMachine], n: int, messages: int, *, self_sends: bool
) -> Refinement:
    """Compares them in all states of n processes and so many messages."""
    facts = {"sends_before_delivery": reference.sends_before_delivery}
    differences: list[str] = []
    machine = type(_Lockstep.__name__, (_Lockstep,), facts)(protocol(n), reference(n), differences.append)
    workload = Free(n, messages, self_sends=self_sends)
    search = NativeSearch(machine, workload, "unordered", monitors_of(machine, ()), [], shared=False)
    found = search.explore()
    assert found.stopped is None
    return Refinement(n, messages, found.states, found.transitions, None, next(iter(differences), None))


class _Lockstep(ProtocolMachine):
    """The reference, with the machine beside it."""

    promises = "asynchronous"

    def __init__(self, machine: ProtocolMachine, reference: ProtocolMachine, note: Callable[[str], None]) -> None:
        super().__init__(reference.n)
        self.machine, self.reference = machine, reference
        #: Called with each call that the machine answers otherwise.
        self._note = note

    def initial(self, i: int) -> Any:
        return self._same(f"P{i + 1} at the start", lambda of: of.initial(i))

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        about = f"P{i + 1} sends {message.name} in {state}"
        steps: Sequence[Step] = self._same(about, lambda of: of.send(i, state, message), _steps)
        return steps

    def deliverable(self, i: int, state: Any, packet: Packet) -> bool:
        return bool(
            self._same(f"P{i + 1} is sent {packet} in {state}", lambda of: of.deliverable(i, state, packet), bool)
        )

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        about = f"P{i + 1} receives {packet} in {state}"
        steps: Sequence[Step] = self._same(about, lambda of: of.on_packet(i, state, packet), _steps)
        return steps

    def receive(self, i: int, state: Any, sender: int | None) -> Sequence[Step]:
        """Of any process, and of each: a program may ask for either, wherever the search asks for one."""
        answers: dict[int | None, Sequence[Step]] = {}
        for wanted in (None, *range(self.n)):
            about = f"P{i + 1} requests a message of {'any process' if wanted is None else f'P{wanted + 1}'} in {state}"
            answers[wanted] = self._same(about, partial(_received, i, state, wanted), _steps)
        return answers[sender]

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        about = f"P{i + 1} takes a step of its own in {state}"

        def seen(steps: Sequence[tuple[str, Step]]) -> list[Any]:
            return _steps([step for _, step in steps])

        steps: Sequence[tuple[str, Step]] = self._same(about, lambda of: of.internal(i, state), seen)
        return steps

    def _same(
        self, about: str, answer: Callable[[ProtocolMachine], Any], seen: Callable[[Any], Any] = lambda answer: answer
    ) -> Any:
        """The answer of the reference implementation."""
        expected = answer(self.reference)
        try:
            same = seen(answer(self.machine)) == seen(expected)
        except (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            about, same = f"{about}: {type(error).__name__}", False
        if not same:
            self._note(about)
        return expected


def _received(i: int, state: Any, sender: int | None, of: ProtocolMachine) -> Sequence[Step]:
    return of.receive(i, state, sender)


def _steps(steps: Sequence[Step]) -> list[Any]:
    """Outcomes in any order; the packets of one too."""
    return sorted(((step.state, sorted(map(repr, step.packets)), list(step.events)) for step in steps), key=repr)
