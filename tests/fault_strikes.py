"""Where the steps of a faulty machine are others than those of the right one: compared call by call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import fault_operators as plant
from fault_searches import check_of, searches_of

from crownless.impl.ops import Integers
from crownless.impl.protocol import ProtocolMachine, Step
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.reachable import reachable
from crownless.model_check.request import Check
from crownless.model_check.system import System
from crownless.spec.errors import BadInput

Machine = type[ProtocolMachine]

#: The methods that yield steps.
STEPS = ("send", "on_packet", "receive", "internal")

#: The programs in which calls are noted: each has few states, and each part of a protocol its turn.
SAMPLES = (
    *("one-way-12", "one-way-21", "ping-pong-12", "exchange-12", "relay-123", "relay-321", "two-to-one-123"),
    *("busy-receiver-123", "busy-receiver-321", "late-cause-213", "late-cause-132", "late-cause-321"),
    *("triangle-123", "triangle-132", "triangle-213", "triangle-231", "triangle-312", "triangle-321"),
)

#: Of each sample so many states.
FIRST_STATES = 700


class Call(NamedTuple):
    """A call of the right machine in one of the samples, and what it answered."""

    #: The name of the sample.
    sample: str
    n: int
    settings: tuple[tuple[str, Any], ...]
    method: str
    arguments: tuple[Any, ...]
    answer: Any
    #: The operations that it computed with.
    operations: frozenset[str]


def comparable(method: str, answer: Any) -> Any:
    """An answer as a value that equals those that mean the same: outcomes are alternatives, in no order."""
    if method == "deliverable":
        return bool(answer)
    if method == "internal":
        return frozenset((label, _plain(step)) for label, step in answer)
    return frozenset(map(_plain, answer)) if method in STEPS else answer


def _plain(step: Step) -> tuple[Any, ...]:
    return step.state, tuple(step.packets), tuple(step.events)


# -- in samples --------------------------------------------------------------------------------------------------------


@cache
def calls_of(protocol: str) -> tuple[Call, ...]:
    """Each call that the harness makes of the right machine in a sample, once."""
    base = PROTOCOLS[protocol]
    found: dict[tuple[Any, ...], Call] = {}
    for name, check in samples_of(protocol):
        for call in _calls(base, name, check):
            found.setdefault((call.n, call.settings, call.method, call.arguments), call)
    return tuple(found.values())


def samples_of(protocol: str) -> Iterator[tuple[str, Check]]:
    """Two processes and two messages, programs, and a crash where survivors roll back."""
    yield "(2, 2)", Check(protocol, 2, 2)
    for search in searches_of(protocol):
        program = search.name.partition(" with ")[0].removesuffix("-to-all")
        if program in SAMPLES and "rounds" not in search.check.parameters:
            yield search
        if search.name == "(3, 2) with a crash of P1":
            yield search


def _calls(base: Machine, name: str, check: Check) -> Iterator[Call]:
    resolved = check.resolve()
    noted: list[Call] = []
    names: set[str] = set()

    class Monitored(Integers):
        def __getattribute__(self, name: str) -> Any:
            names.add(name)
            return super().__getattribute__(name)

    n = resolved.machine.n
    settings = tuple(resolved.machine.settings.items())
    right = base(n, Monitored(n), dict(settings))

    def noting(method: str) -> Any:
        def call(self: Any, *arguments: Any) -> Any:
            names.clear()
            answer = getattr(right, method)(*arguments)
            noted.append(Call(name, n, settings, method, arguments, answer, frozenset(names)))
            return answer

        return call

    methods = (*plant.overridden(base, *STEPS), "deliverable")
    machine = plant.subclass(base, "noted", {method: noting(method) for method in methods})(n, None, dict(settings))
    system = System(machine, resolved.workload, resolved.channel, [], resolved.crash)
    for _ in islice(reachable(system), FIRST_STATES):
        pass
    return iter(noted)


def strikes_in(protocol: str, machine: Machine) -> str | None:
    """The first sample in which some step of the machine is not the right one's; None if there is none."""
    machines: dict[tuple[Any, ...], ProtocolMachine] = {}
    for call in calls_of(protocol):
        key = call.n, call.settings
        if key not in machines:
            machines[key] = machine(call.n, parameters=dict(call.settings))
        if comparable(call.method, getattr(machines[key], call.method)(*call.arguments)) != comparable(
            call.method, call.answer
        ):
            return call.sample
    return None


# -- everywhere --------------------------------------------------------------------------------------------------------


class OtherStep(BadInput):
    """A machine does what the right one does not: a `BadInput`, as others are said to be the machine's mistakes."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(f"another step is made by {machine.__name__}")
        self.machine = machine


def compared(base: Machine, others: Sequence[Machine]) -> Machine:
    """The right machine, which raises `OtherStep` at the first step that one of the others makes otherwise."""

    def initialize(self: Any, *given: Any, **named: Any) -> None:
        base.__init__(self, *given, **named)
        self.right, self.others = base(*given, **named), tuple(other(*given, **named) for other in others)

    def comparing(method: str) -> Any:
        def call(self: Any, *arguments: Any) -> Any:
            answer = getattr(self.right, method)(*arguments)
            for other in self.others:
                if comparable(method, getattr(other, method)(*arguments)) != comparable(method, answer):
                    raise OtherStep(type(other))
            return answer

        return call

    own = plant.overridden(base, *STEPS, "agree")
    methods = {method: comparing(method) for method in ("initial", "deliverable", *own)}
    return plant.subclass(base, "compared", {"__init__": initialize, "symmetric": False, **methods})


def other_steps(protocol: str, machines: Sequence[Machine]) -> dict[str, str]:
    """The machines that make a step that is not the right one's at the default bound or in any search, by name; where.

    As long as no step is another the states reached are the same, so that the right machine's are compared.
    """
    found: dict[str, str] = {}
    searches: Sequence[tuple[str, Check]] = [("the default bound", Check(protocol)), *searches_of(protocol)]
    for name, check in searches:
        while True:
            left = [machine for machine in machines if machine.__name__ not in found]
            try:
                check_of(compared(PROTOCOLS[protocol], left), check)
            except OtherStep as error:
                found[error.machine.__name__] = name
            else:
                break
    return found
