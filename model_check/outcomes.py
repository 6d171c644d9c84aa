"""Validation of the answers of a machine: lists of steps with packets and events that can exist.

Each answer is looked at once, where it enters a table; `WrongMachine` says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, get_args, get_type_hints

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.spec.computation import Message
from crownless.spec.printable import printable

from .wrong_machine import NOT_GIVEN, Call, shown

#: Says of a message whether an application can send it.
Exists = Callable[[Message], bool]

#: The kinds of events.
EVENTS: tuple[str, ...] = get_args(get_type_hints(AppEvent)["kind"])

#: How the actions begin that are no internal steps.
ACTIONS = ("send", "deliver", "receive", "lose", "duplicate", "crash", "agree")

#: The types of what is listed.
LISTS = frozenset({list, tuple})

A_STEP = "Step(state, packets, events)"
A_LIST, OR_NOTHING = "return a list", ", or [] for nothing"


def any_message(message: Message) -> bool:
    """True of every message: the check where nothing is known of the sends of applications."""
    return True


class Outcomes:
    """The answers of one machine."""

    def __init__(self, machine: ProtocolMachine, exists: Exists) -> None:
        self._kind = type(machine)
        self._n = machine.n
        self._exists = exists
        #: Messages that an application can send, as far as they have been met.
        self._known: set[Message] = set()
        #: Names of internal steps with which nothing is wrong.
        self._names: set[str] = set()

    def steps(self, method: str, i: int, state: Any, given: Any, answer: Any) -> Sequence[Step]:
        """The steps that an input gave; raises `WrongMachine` if they are none."""
        if not self._are_fine(i, answer):
            call = Call(self._kind, method, i, state, given)
            if not isinstance(answer, list | tuple) or isinstance(answer, Step):
                raise call.wrong(f"returns {_a(answer)}, not a list of steps", f"{A_LIST}: [{A_STEP}]{OR_NOTHING}")
            for step in answer:
                self._check_step(call, step)
        return answer  # type: ignore[no-any-return]

    def internal(self, i: int, state: Any, answer: Any) -> Sequence[tuple[str, Step]]:
        """The named steps that a process can take by itself, likewise."""
        if not isinstance(answer, list | tuple) or isinstance(answer, Step):
            problem = f"returns {_a(answer)}, not a list of steps"
            raise Call(self._kind, "internal", i, state).wrong(problem, f'{A_LIST}: [("name", {A_STEP})]{OR_NOTHING}')
        for named in answer:
            if not isinstance(named, tuple) or len(named) != 2 or not isinstance(named[0], str):
                raise Call(self._kind, "internal", i, state).wrong(
                    f"returns {_a(named)} in its list, not a pair of a name and a Step",
                    f'return pairs such as ("post", {A_STEP})',
                )
            if named[0] not in self._names:
                self._check_name(Call(self._kind, "internal", i, state), named[0])
                self._names.add(named[0])
        if answer:
            self.steps("internal", i, state, NOT_GIVEN, [step for _, step in answer])
        return answer

    def truth(self, method: str, i: int, state: Any, given: Any, answer: Any) -> bool:
        """The truth value of an answer."""
        if answer is None:
            call = Call(self._kind, method, i, state, given)
            raise call.wrong("returns None, which is not an answer", "return True or False")
        if answer is True or answer is False:
            return bool(answer)
        if isinstance(answer, str | bytes):  # of which all are true but the empty one
            call = Call(self._kind, method, i, state, given)
            raise call.wrong(f"returns {_a(answer)}, which is neither True nor False", "return True or False")
        try:
            return bool(answer)
        except Exception as error:  # of any kind: it is the value's own code
            call = Call(self._kind, method, i, state, given)
            said = f"{type(error).__name__}: {shown(error, str)}"
            raise call.wrong(
                f"returns {_a(answer)}, which has no truth value ({said})", "return True or False"
            ) from None

    # -- steps ---------------------------------------------------------------------------------------------------------

    def _are_fine(self, i: int, steps: Any) -> bool:
        """True of steps with which nothing is wrong at first sight, as of nearly all."""
        if type(steps) not in LISTS:
            return False
        n, known = self._n, self._known
        try:
            for step in steps:
                if type(step) is not Step:
                    return False
                _, packets, events = step
                if type(packets) not in LISTS or type(events) not in LISTS:
                    return False
                for packet in packets:
                    if type(packet) is not Packet:
                        return False
                    source, destination, kind, message, _ = packet
                    if source != i or type(destination) is not int or not 0 <= destination < n:
                        return False
                    if type(kind) is not str or not (message is None or isinstance(message, Message)):
                        return False
                for event in events:
                    if type(event) is not AppEvent or event[1] not in known or event[0] not in EVENTS:
                        return False
        except TypeError:  # a message that cannot be looked up
            return False
        return True

    def _check_step(self, call: Call, step: Any) -> None:
        """Raises `WrongMachine` for the first thing that is wrong with a step."""
        if not isinstance(step, Step):
            raise call.wrong(f"returns {_a(step)} in its list, not a Step", f"return [{A_STEP}]")
        packets: Any = step.packets
        events: Any = step.events
        if not isinstance(packets, list | tuple) or isinstance(packets, Packet):
            problem = f"returns a Step whose packets are {_a(packets)}, not a list"
            raise call.wrong(problem, "give Step a list of packets, such as [packet], or ()")
        for packet in packets:
            self._check_packet(call, packet)
        if not isinstance(events, list | tuple) or isinstance(events, AppEvent):
            problem = f"returns a Step whose events are {_a(events)}, not a list"
            raise call.wrong(problem, "give Step a list, such as [delivered(message)], or ()")
        for event in events:
            self._check_event(call, event)

    def _check_name(self, call: Call, name: str) -> None:
        """Raises `WrongMachine` for a name of an internal step that a run could not be read by."""
        if not name.strip() or printable(name) != name:
            problem = f"names a step {shown(name, ascii)}, which cannot be printed as it is"
            raise call.wrong(problem, "name it in characters that are shown, on one line")
        word = name.split()[0].lower()
        if word in ACTIONS:
            problem = f"names a step {shown(name)}, which reads as an action of the engine's own"
            raise call.wrong(problem, f"begin it with another word than {', '.join(ACTIONS[:-1])} or {ACTIONS[-1]}")

    def _check_packet(self, call: Call, packet: Any) -> None:
        if not isinstance(packet, Packet):
            hint = "transmit Packet(source, destination, kind, message, stamp)"
            raise call.wrong(f"transmits {_a(packet)}, not a Packet", hint)
        by_number = f"name a process by its number, 0 to {self._n - 1}"
        for place, called in ((packet.destination, "to"), (packet.source, "from")):
            if not hasattr(type(place), "__index__"):
                raise call.wrong(f"transmits a packet {called} {shown(place)}, which is not a process", by_number)
            if not 0 <= place < self._n:
                problem = f"transmits a packet {called} process {place}, and there are 0 to {self._n - 1}"
                raise call.wrong(problem, by_number)
        if packet.source != call.process:
            hint = "a process transmits under its own name: Packet(i, …); who sent the message, the message says"
            raise call.wrong(f"transmits a packet whose source is P{packet.source + 1}", hint)
        if not isinstance(packet.kind, str) or not isinstance(packet.message, Message | None):
            problem = f"transmits a packet of kind {shown(packet.kind)} with the message {shown(packet.message)}"
            hint = "a packet's kind is a string, and its message the Message that send was given, or None"
            raise call.wrong(problem, hint)

    def _check_event(self, call: Call, event: Any) -> None:
        if not isinstance(event, AppEvent):
            hint = "give Step events such as sent(message) or delivered(message)"
            raise call.wrong(f"says that {_a(event)} happened, which is not an AppEvent", hint)
        kind, message = event
        if kind not in EVENTS:
            nearest = get_close_matches(str(kind), EVENTS, n=1, cutoff=0.3)
            hint = f"did you mean '{nearest[0]}'? " if nearest else ""
            problem = f"says that {shown(kind)} happened, which is not a kind of event"
            raise call.wrong(problem, f"{hint}known: {', '.join(EVENTS)}")
        if not isinstance(message, Message) or not self._exists(message):
            name = message.name if isinstance(message, Message) else message
            hint = "name the very message that send was given, or that a packet carries"
            raise call.wrong(f"says '{kind}' of {shown(name)}, a message that no application sends", hint)
        self._known.add(message)


def _a(value: Any) -> str:
    """A value by its type, in words."""
    name, text = type(value).__name__, shown(value)
    if isinstance(value, Step | Packet | AppEvent | Message) or text.startswith("<"):
        return f"a {name}"
    return text if value is None or text.startswith(name) else f"the {name} {text}"
