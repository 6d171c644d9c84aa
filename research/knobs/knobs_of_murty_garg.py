"""Murty & Garg's algorithm as independent choices.

The first alternatives are those of [MG] Fig. 8; others are those of [MG] §1 (the sender waits), §4.1 (commit at the
acknowledgement) and §4.3 (the conditions SP and RP by the letter), and what an implementer may try or get wrong.
Requests, messages and acknowledgements are those of `protocols/murty_garg.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from crownless.impl.protocol import Packet, Step
from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message


class State(NamedTuple):
    awaits: tuple[int, ...]  #: the receivers of messages sent and not acknowledged, the oldest first; active: none
    messages: tuple[Message, ...]  #: messageQueue: sends that wait for an acknowledgement
    acks: tuple[int, ...]  #: ackQueue: processes whose message is not yet acknowledged
    uncommitted: tuple[Message, ...]  #: messages sent and not yet committed


class Receipt(NamedTuple):
    """How a process takes a message now."""

    received: bool  #: it is received and committed; otherwise it waits outside
    acknowledged: bool  #: it is acknowledged as well; otherwise that waits


class MurtyGargByKnobs(MurtyGarg):
    """Murty & Garg's algorithm in methods, with the alternatives of each."""

    invariants = {}
    rules = {}
    witnesses = {}

    def initial(self, i: int) -> State:  # type: ignore[override]
        return State((), (), (), ())

    # -- sending -------------------------------------------------------------------------------------------------------

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:  # type: ignore[override]
        if self.must_request(i, message.receiver):
            return [Step(state, [Packet(i, message.receiver, "request", message)])]
        return [self.sent_or_queued(i, state, message)]

    def must_request(self, i: int, j: int) -> bool:
        """PR: True if process i requests its messages to process j, which then sends them back."""
        return i < j

    def sent_or_queued(self, i: int, state: State, message: Message) -> Step:
        """SP: the message, the process's own or a requested one, is sent now or waits for an acknowledgement."""
        if self.may_be_sent(i, state.awaits, message):
            return self.sent(i, state, message)
        return Step(state._replace(messages=self.queued(i, state.messages, message)))

    def may_be_sent(self, i: int, awaits: tuple[int, ...], message: Message) -> bool:
        """True if the message may be sent while these acknowledgements are outstanding."""
        return not awaits

    def queued(self, i: int, messages: tuple[Message, ...], message: Message) -> tuple[Message, ...]:
        """The message queue with one more."""
        return (*messages, message)

    def sent(self, i: int, state: State, message: Message) -> Step:
        j = _partner(i, message)
        packets, committed = [Packet(i, j, "message", message)], [self.commit(i, message)]
        if self.is_acknowledged(message.sender == i):
            state = state._replace(awaits=(*state.awaits, j))
            if message.sender == i and self.sender_commits_on("acknowledgement"):
                return Step(state._replace(uncommitted=(*state.uncommitted, message)), packets)
        return Step(state, packets, committed)

    def is_acknowledged(self, own: bool) -> bool:
        """True if this message is acknowledged, and its sender waits for that. `own`: the sender was not asked for
        it.
        """
        return True

    def sender_commits_on(self, event: str) -> bool:
        """True if a process commits its own message on this event: `sending` or, by §4.1, its `acknowledgement`."""
        return event == "sending"

    # -- receiving -----------------------------------------------------------------------------------------------------

    def deliverable(self, i: int, state: State, packet: Packet) -> bool:
        return packet.kind != "message" or self.message_is(state).received

    def message_is(self, state: State) -> Receipt:
        """RP: how a message that arrives in this state is taken."""
        return Receipt(True, not state.awaits)

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:  # type: ignore[override]
        message, j = packet.message, packet.source
        if packet.kind == "ack":
            return [self.on_acknowledgement(i, state, j)]
        if packet.kind == "request":
            return [self.sent_or_queued(i, state, message)]
        committed = [self.commit(i, message)]
        if not self.is_acknowledged(message.sender == j):
            return [Step(state, (), committed)]
        if self.message_is(state).acknowledged:
            return [Step(state, [Packet(i, j, "ack")], committed)]
        return [Step(state._replace(acks=(*state.acks, j)), (), committed)]

    # -- an acknowledgement --------------------------------------------------------------------------------------------

    def on_acknowledgement(self, i: int, state: State, j: int) -> Step:
        """The process is active again: it sends acknowledgements that wait, and messages that may be sent now."""
        done = next((message for message in state.uncommitted if message.receiver == j), None)
        events = [] if done is None else [self.commit(i, done)]
        uncommitted = tuple(message for message in state.uncommitted if message != done)
        state = state._replace(awaits=self.acknowledgement_ends(state.awaits, j), uncommitted=uncommitted)
        acknowledges = self.message_is(state).acknowledged
        packets: list[Packet] = []
        while state.messages and self.may_be_sent(i, state.awaits, state.messages[0]):
            step = self.sent(i, state._replace(messages=state.messages[1:]), state.messages[0])
            state, packets, events = step.state, [*packets, *step.packets], [*events, *step.events]
        if acknowledges or self.message_is(state).acknowledged:
            acks = [Packet(i, k, "ack") for k in state.acks]
            return Step(state._replace(acks=()), self.leaving(acks, packets), events)
        return Step(state, packets, events)

    def acknowledgement_ends(self, awaits: tuple[int, ...], j: int) -> tuple[int, ...]:
        """The acknowledgements still outstanding after one from process j."""
        return ()

    def leaving(self, acks: list[Packet], messages: list[Packet]) -> list[Packet]:
        """The packets of one step, in the order in which they are transmitted."""
        return [*acks, *messages]

    def renamed(self, state: State, renaming: Renaming) -> State:  # type: ignore[override]
        awaits, messages, acks, uncommitted = state
        return State(
            renaming.processes(awaits),
            renaming.messages(messages),
            renaming.processes(acks),
            renaming.messages(uncommitted),
        )

    # -- the alternatives ----------------------------------------------------------------------------------------------

    knobs: ClassVar[Mapping[str, Mapping[str, Callable[..., Any]]]] = {
        "must_request": {
            "to a bigger process": lambda self, i, j: i < j,
            "to a smaller process": lambda self, i, j: i > j,
            "never": lambda self, i, j: False,
            "always": lambda self, i, j: True,
            "to the next in a ring": lambda self, i, j: (2 * ((j - i) % self.n), i) < (self.n, j),
        },
        "may_be_sent": {
            "while active": lambda self, i, awaits, message: not awaits,
            "while active, or to the process awaited": lambda self, i, awaits, message: all(
                k == _partner(i, message) for k in awaits
            ),
            "while active, or if requested": lambda self, i, awaits, message: not awaits or message.sender != i,
            "always": lambda self, i, awaits, message: True,
        },
        "message_is": {
            "acknowledged when active": lambda self, state: Receipt(True, not state.awaits),
            "acknowledged when active and no message waits": lambda self, state: Receipt(
                True, not state.awaits and not state.messages
            ),
            "acknowledged at once": lambda self, state: Receipt(True, True),
            "received when active": lambda self, state: Receipt(not state.awaits, True),
        },
        "acknowledgement_ends": {
            "the passive state": lambda self, awaits, j: (),
            "one wait for its process": lambda self, awaits, j: _without_one(awaits, j),
        },
        "queued": {
            "behind the others": lambda self, i, messages, message: (*messages, message),
            "requests before own messages": lambda self, i, messages, message: tuple(
                sorted([*messages, message], key=lambda each: each.sender == i)
            ),
        },
        "is_acknowledged": {
            "every message": lambda self, own: True,
            "only what was not requested": lambda self, own: own,
        },
        "sender_commits_on": {
            "sending": lambda self, event: event == "sending",
            "acknowledgement": lambda self, event: event == "acknowledgement",
        },
        "leaving": {
            "acknowledgements, then messages": lambda self, acks, messages: [*acks, *messages],
            "messages, then acknowledgements": lambda self, acks, messages: [*messages, *acks],
        },
    }


def _partner(i: int, message: Message) -> int:
    """The process to which process i sends the message: its receiver, or its sender, who requested it."""
    return message.receiver if message.sender == i else message.sender


def _without_one(processes: tuple[int, ...], j: int) -> tuple[int, ...]:
    """The processes without the first j, if there is one."""
    place = processes.index(j) if j in processes else len(processes)
    return processes[:place] + processes[place + 1 :]
