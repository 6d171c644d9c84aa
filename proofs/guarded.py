"""A protocol's own machine, run for any number of processes on symbols, in a language without branches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.model_check.machine_calls import Call
from crownless.spec.computation import Message

from .refusals import Refusals, Refused, refuse
from .symbols import AnyNumber, SymbolicOps, in_terms, is_truth, symbolic
from .terms import Terms
from .transition_language import fixed_machine, only_the_language

Machine = TypeVar("Machine", bound=ProtocolMachine)

#: These take a message in; who else has it they cannot ask but by `ops.indicator`.
_TAKE_IN = ("deliverable", "on_packet")


def for_every_n(protocol: type[Machine], terms: Terms) -> Machine:
    """The protocol for any number of processes: given terms, its methods give terms. Raises `Refused` where it does
    something that z3 would not see, at once or, where it depends on what it is given, when it is called.
    """
    guarded: Any = Guarded(protocol, terms)
    i, j = terms.any_process("i"), terms.any_process("j")
    state = guarded.initial(i)
    for step in guarded.send(i, state, Message("m", i, (j,))):
        for packet in step.packets:
            guarded.deliverable(j, state, packet)
            guarded.on_packet(j, state, packet)
    guarded.receive(i, state, None)
    guarded.receive(i, state, j)
    guarded.internal(i, state)
    return cast(Machine, guarded)


class Guarded:
    """A machine whose every method runs on symbols."""

    def __init__(self, protocol: type[ProtocolMachine], terms: Terms) -> None:
        self.ops = terms
        self._protocol = protocol
        self._run("__init__", lambda: fixed_machine(protocol))
        self._machine = self._run("__init__", lambda: protocol(cast(Any, AnyNumber()), SymbolicOps(terms)))

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._machine, name)
        if not callable(attribute):
            return attribute

        def method(*given: Any) -> Any:
            values = [symbolic(value, loops=name not in _TAKE_IN) for value in given]
            return in_terms(self._run(name, lambda: _checked(name, attribute(*values)), monitored=True))

        return method

    def refused(self, method: str, reason: str, hint: str = "") -> Refused:
        """The error for something that one of its methods gives."""
        return Refused(f"{Call(self._protocol, method).subject}: {reason}", hint=hint)

    def _run(self, method: str, does: Callable[[], Any], monitored: bool = False) -> Any:
        """Its value; whatever goes wrong in it is reported in one line with its name and place."""
        with Refusals() as refusals:
            try:
                if not monitored:
                    result = does()
                else:
                    with only_the_language():
                        result = does()
            except Exception as error:  # the machine is somebody else's: anything may be wrong with it
                if refusals.first is None:
                    kind = type(error).__name__
                    reason = str(error).splitlines()[0] if str(error) else "without a word"
                    raise self.refused(method, f"fails when it runs on terms: {kind}: {reason}") from error
            if refusals.first is not None:
                raise self.refused(method, refusals.first.message, refusals.first.hint) from refusals.first
        return result


def _checked(method: str, result: Any) -> Any:
    """Steps that are steps, and a guard that gives a truth."""
    if method == "deliverable" and not isinstance(result, bool) and not is_truth(result):
        refuse("gives no truth value", "return a comparison of values, self.ops.every(…) or self.ops.all_of(…)")
    if method not in ("send", "on_packet"):
        return result
    if not isinstance(result, list | tuple):
        refuse("does not give a list of steps", "return [Step(…)]")
    for step in result:
        if not isinstance(step, Step) or not (_all(step.packets, Packet) and _all(step.events, AppEvent)):
            refuse("gives something that is not a step of packets and events", "return [Step(state, packets, events)]")
    return result


def _all(some: object, of: type) -> bool:
    return isinstance(some, list | tuple) and all(isinstance(one, of) for one in some)
