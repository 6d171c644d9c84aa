"""What each fault of a protocol is caught by, and that by definition."""

from __future__ import annotations

from broken_protocols import BROKEN

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check.check_result import CheckResult
from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.orders import keeps as keeps_by_search

CATCHES = [(row.machine, catch) for row in BROKEN for catch in row.catches]


def original(kind: type[ProtocolMachine]) -> type[ProtocolMachine]:
    """The protocol that this is a variation of."""
    return next(base for base in kind.__mro__ if base in PROTOCOLS.values())


def keeps_by_definition(result: CheckResult, order: str) -> bool:
    """Does the run shown for an order keep it after all? Sends to come are put at the end of their lines."""
    (run,) = [known.run for known in result.properties if known.property.name == order]
    assert run is not None
    number = {process: p for p, process in enumerate(run.processes)}
    messages = [
        Message(action.message or "", number[action.process], tuple(number[q] for q in action.to))
        for action in run.actions
        if action.action == "send"
    ]
    names = [message.name for message in messages]
    lines: list[list[Event]] = [[] for _ in run.processes]
    for action in run.actions:
        for kind, name in action.happened:
            event = Event("send" if kind == "send" else "receive", names.index(name))
            lines[number[action.process]].append(event)
    for m, message in enumerate(messages):
        if Event("send", m) not in lines[message.sender]:
            lines[message.sender].append(Event("send", m))
    try:
        c = Computation.of_lines(len(lines), messages, lines)
    except BadInput:
        return False  # a circle of lines and messages
    return keeps_by_search(c, order, pending=True)
