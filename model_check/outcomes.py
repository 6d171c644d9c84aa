"""Whether what a machine's inputs give are outcomes: steps of packets and events that there can be.

Each answer is looked at once, where it enters a table; `WrongMachine` says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn, get_args, get_type_hints

from crownless.impl.protocol import Happened, Packet, ProtocolMachine, Step
from crownless.spec.computation import Message

from .wrong_machine import NOT_GIVEN, Call, shown

#: Says of a message whether an application can send it.
Exists = Callable[[Message], bool]

#: The kinds of events.
EVENTS: tuple[str, ...] = get_args(get_type_hints(Happened)["kind"])

A_STEP = "Step(state, packets, events)"
HASHABLE = "build local states and packets of tuples, frozensets and named tuples of them"


def any_message(message: Message) -> bool:
    """Where nothing is known of what applications send."""
    return True


class Outcomes:
    """The answers of one machine."""

    def __init__(self, machine: ProtocolMachine, exists: Exists) -> None:
        self._kind = type(machine)
        self._n = machine.n
        self._exists = exists
        #: Messages that an application can send, as far as they have been met.
        self._known: set[Message] = set()

    def steps(self, method: str, i: int, state: Any, given: Any, answer: Any) -> Sequence[Step]:
        """The steps that an input gave; raises `WrongMachine` if they are none."""
        if not isinstance(answer, list | tuple) or type(answer) is Step:
            self._no_steps(Call(self._kind, method, i, state, given), answer)
        for step in answer:
            self._step(method, i, state, given, step)
        return answer

    def internal(self, i: int, state: Any, answer: Any) -> Sequence[tuple[str, Step]]:
        """The named steps that a process can take by itself, likewise."""
        if not isinstance(answer, list | tuple) or type(answer) is Step:
            self._no_steps(Call(self._kind, "internal", i, state), answer)
        for named in answer:
            if type(named) is Step or not isinstance(named, tuple) or len(named) != 2 or type(named[0]) is not str:
                raise Call(self._kind, "internal", i, state).wrong(
                    f"returns {_a(named)} in its list, not a pair of a name and a Step",
                    f'return pairs such as ("post", {A_STEP})',
                )
            self._step("internal", i, state, NOT_GIVEN, named[1])
        return answer

    def truth(self, method: str, i: int, state: Any, given: Any, answer: Any) -> bool:
        """The truth value of an answer."""
        if answer is None:
            call = Call(self._kind, method, i, state, given)
            raise call.wrong("returns None, which is no answer", "return True or False")
        if answer is True or answer is False:
            return bool(answer)
        try:
            return bool(answer)
        except Exception as error:  # of any kind: it is the value's own code
            call = Call(self._kind, method, i, state, given)
            said = f"{type(error).__name__}: {shown(error, str)}"
            raise call.wrong(
                f"returns {_a(answer)}, which has no truth value ({said})", "return True or False"
            ) from None

    def hashable(self, method: str, i: int, state: Any, given: Any, answer: Any) -> None:
        """Raises `WrongMachine` if a local state or a packet of these steps cannot be looked up."""
        for step in answer:
            _, (after, packets, _) = ("", step) if type(step) is Step else step
            for what, value in (("local state", after), *(("packet", packet) for packet in packets)):
                self.hashable_value(what, value, Call(self._kind, method, i, state, given))

    def hashable_value(self, what: str, value: Any, call: Call) -> None:
        """Raises `WrongMachine` if a value cannot be looked up."""
        try:
            hash(value)
        except TypeError as error:
            raise call.wrong(
                f"gives a {what} that cannot be compared and counted, {shown(value)} ({error})", HASHABLE
            ) from None

    # -- one step ------------------------------------------------------------------------------------------------------

    def _step(self, method: str, i: int, state: Any, given: Any, step: Any) -> None:
        if type(step) is not Step and not isinstance(step, Step):
            self._fails(method, i, state, given, f"returns {_a(step)} in its list, not a Step", f"return [{A_STEP}]")
        packets: Any = step.packets
        events: Any = step.events
        if packets:
            if type(packets) is Packet or not isinstance(packets, list | tuple):
                what = f"returns a Step whose packets are {_a(packets)}, not a list"
                self._fails(method, i, state, given, what, "give Step a list of packets, such as [packet]")
            for packet in packets:
                if type(packet) is not Packet and not isinstance(packet, Packet):
                    what = f"transmits {_a(packet)}, not a Packet"
                    self._fails(
                        method, i, state, given, what, "transmit Packet(source, destination, kind, message, stamp)"
                    )
                source, destination, kind, message, _ = packet
                if source != i or type(destination) is not int or not 0 <= destination < self._n:
                    self._address(method, i, state, given, packet)
                if type(kind) is not str or not (message is None or type(message) is Message):
                    self._fails(
                        method, i, state, given,
                        f"transmits a packet of kind {shown(kind)} with the message {shown(message)}",
                        "a packet's kind is a string, and its message the Message that send was given, or None",
                    )  # fmt: skip
        elif packets is None:
            self._fails(method, i, state, given, "returns a Step whose packets are None", "leave them out, or give ()")
        if events:
            if type(events) is Happened or not isinstance(events, list | tuple):
                what = f"returns a Step whose events are {_a(events)}, not a list"
                self._fails(method, i, state, given, what, 'give Step a list, such as [Happened("deliver", message)]')
            for event in events:
                if type(event) is not Happened and not isinstance(event, Happened):
                    what = f"says that {_a(event)} happened, which is no Happened"
                    self._fails(method, i, state, given, what, 'give Step events such as Happened("deliver", message)')
                if event.kind not in EVENTS or self._is_new(event.message):
                    self._event(method, i, state, given, event)
        elif events is None:
            self._fails(method, i, state, given, "returns a Step whose events are None", "leave them out, or give ()")

    def _address(self, method: str, i: int, state: Any, given: Any, packet: Packet) -> None:
        for place, called in ((packet.destination, "to"), (packet.source, "from")):
            if not hasattr(type(place), "__index__"):
                what = f"transmits a packet {called} {shown(place)}, which is no process"
                self._fails(method, i, state, given, what, f"name a process by its number, 0 to {self._n - 1}")
            if not 0 <= place < self._n:
                what = f"transmits a packet {called} process {place}, and there are 0 to {self._n - 1}"
                self._fails(method, i, state, given, what, f"name a process by its number, 0 to {self._n - 1}")
        if packet.source != i:
            what = f"transmits a packet whose source is P{packet.source + 1}"
            hint = "a process transmits under its own name: Packet(i, …); who sent the message, the message says"
            self._fails(method, i, state, given, what, hint)

    def _is_new(self, message: Any) -> bool:
        try:
            return type(message) is not Message or message not in self._known
        except TypeError:  # it is made of what cannot be looked up
            return True

    def _event(self, method: str, i: int, state: Any, given: Any, event: Happened) -> None:
        kind, message = event
        if kind not in EVENTS:
            nearest = get_close_matches(str(kind), EVENTS, n=1, cutoff=0.3)
            hint = f"did you mean '{nearest[0]}'? " if nearest else ""
            what = f"says that {shown(kind)} happened, which is no kind of event"
            self._fails(method, i, state, given, what, f"{hint}known: {', '.join(EVENTS)}")
        if type(message) is not Message or not self._exists(message):
            name = message.name if type(message) is Message else message
            to = f" from P{message.sender + 1}" if type(message) is Message and type(message.sender) is int else ""
            what = f"says '{kind}' of {shown(name)}{to}, a message that no application sends"
            hint = "name the very message that send was given, or that a packet carries"
            self._fails(method, i, state, given, what, hint)
        self._known.add(message)

    def _no_steps(self, call: Call, answer: Any) -> NoReturn:
        hint = f"return a list: [{A_STEP}], or [] for nothing"
        if call.method == "internal":
            hint = f'return a list: [("name", {A_STEP})], or [] for nothing'
        raise call.wrong(f"returns {_a(answer)}, not a list of steps", hint)

    def _fails(self, method: str, i: int, state: Any, given: Any, problem: str, hint: str) -> NoReturn:
        raise Call(self._kind, method, i, state, given).wrong(problem, hint)


def _a(value: Any) -> str:
    """A value by its type, in words."""
    name, text = type(value).__name__, shown(value)
    if isinstance(value, Step | Packet | Happened | Message) or text.startswith("<"):
        return f"a {name}"
    return text if value is None or text.startswith(name) else f"the {name} {text}"
