"""ISIS with its garbage collection ([SES] §3): a site may forget what every other site has promised not to send it.

A site sends a request with the ids of the messages in its buffer to every other site. Each notes that these messages
must not be sent to that site any more, and acknowledges. When all have acknowledged, the site deletes the messages.

Modelling choices: "periodically" is: at any time when nothing of an earlier request is outstanding and the buffer is
not empty, and as often as the parameter `rounds` allows, which bounds the search (in a program the second site collects
once unless a parameter says otherwise). Acknowledgements carry nothing. What a site has noted it never forgets.

A finding: with this, causal order is not kept. A site may delete a message that its destination has not yet received,
and then send there without it; `ses-program-1` shows it. `isis-gc-waits` fixes that: a site acknowledges a request
only after it has received the request's messages for itself.

The text needs that "messages sent from S' to S are received in the order of emission", so FIFO channels: a packet that
is still in flight when the acknowledgement overtakes it brings a deleted message back. And it warns that a site which
receives a request must not delete on its own.
"""

from collections.abc import Sequence
from typing import NamedTuple

from crownless.impl.protocol import AppEvent, Packet, Parameter, Step
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message

from .isis import Isis


class State(NamedTuple):
    buffer: tuple[Message, ...]  #: BUFF_S, in the order of emission
    noted: tuple[frozenset[Message], ...]  #: for each site: the messages that must not be sent to it any more
    rounds: int  #: garbage collections started
    deleted: frozenset[Message]  #: messages for this site that it has deleted; the text keeps no record of them
    requested: frozenset[Message]  #: what the outstanding request names
    awaits: frozenset[int]  #: the sites that have not acknowledged it


class IsisGc(Isis):
    source = "[SES] §3"
    needs_channel = "fifo"
    bound = (3, 2)
    parameters = {
        "rounds": Parameter(
            "garbage collections that a site starts at most, to bound the search; in a program 0,1,0, …",
            lambda n: 1,
            0,
            "0 is none",
            per_process=True,
            in_programs=lambda n: tuple(int(i == 1) for i in range(n)),
        )
    }

    rules = {
        **Isis.rules,
        "a-noted-message-is-left-out": lambda machine, t: (
            t.sends and any(len(packet.stamp) < len(t.after.buffer) for packet in t.step.packets)
        ),
        "a-message-not-yet-received-is-acknowledged": lambda machine, t: (
            t.receives("request")
            and not t.before.rounds  # so that this site has deleted nothing
            and any(t.process in message.receivers and message not in t.before.buffer for message in t.packet.stamp)
        ),
        "a-message-is-deleted": lambda machine, t: t.receives("ack") and len(t.after.buffer) < len(t.before.buffer),
        "a-message-between-others-is-deleted": lambda machine, t: (
            t.receives("ack")
            and any(
                t.process != message.sender and t.process not in message.receivers
                for message in set(t.before.buffer) - set(t.after.buffer)
            )
        ),
        "a-message-not-requested-is-kept": lambda machine, t: (
            t.receives("ack") and not t.after.awaits and bool(t.after.buffer)
        ),
        "a-message-is-sent-after-a-collection": lambda machine, t: (
            t.sends and t.before.rounds > 0 and not t.before.awaits
        ),
    }

    def initial(self, i: int) -> State:  # type: ignore[override]
        return State((), tuple(frozenset() for _ in range(self.n)), 0, frozenset(), frozenset(), frozenset())

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:  # type: ignore[override]
        after = state._replace(buffer=self.inserted(state.buffer, [message]))
        packets = [Packet(i, j, "packet", message, self.sendable(after, j)) for j in message.receivers]
        return [Step(after, packets, [AppEvent("send", message)])]

    def sendable(self, state: State, j: int) -> tuple[Message, ...]:
        """BUFF_S without what must not be sent to S_j any more."""
        return tuple(message for message in state.buffer if message not in state.noted[j])

    def internal(self, i: int, state: State) -> Sequence[tuple[str, Step]]:
        """Build a request of the ids in BUFF_S and send it to every other site."""
        ids = frozenset(state.buffer)
        others = frozenset(range(self.n)) - {i}
        if state.awaits or not ids or not others or state.rounds == self.setting("rounds", i):
            return []
        packets = [Packet(i, j, "request", None, ids) for j in sorted(others)]
        return [
            ("request deletion", Step(state._replace(rounds=state.rounds + 1, requested=ids, awaits=others), packets))
        ]

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:  # type: ignore[override]
        if packet.kind == "request":
            return [
                Step(self.on_deletion_request(state, packet.source, packet.stamp), [Packet(i, packet.source, "ack")])
            ]
        if packet.kind == "ack":
            return [Step(self.acknowledged(i, state, packet.source))]
        (step,) = super().on_packet(i, state, packet)  # type: ignore[arg-type]
        return [step._replace(state=state._replace(buffer=step.state.buffer))]

    def on_deletion_request(self, state: State, j: int, ids: frozenset[Message]) -> State:
        """Note the source site along with the ids: these messages must not be sent to it any more."""
        return state._replace(noted=tuple(noted | ids if k == j else noted for k, noted in enumerate(state.noted)))

    def acknowledged(self, i: int, state: State, j: int) -> State:
        """An acknowledgement; with the last of them the messages of the request can be deleted."""
        awaits = state.awaits - {j}
        if awaits or not state.awaits:
            return state._replace(awaits=awaits)
        kept = tuple(message for message in state.buffer if message not in state.requested)
        deleted = state.deleted | self.remembered(i, state.requested)
        return state._replace(buffer=kept, deleted=deleted, requested=frozenset(), awaits=awaits)

    def remembered(self, i: int, deleted: frozenset[Message]) -> frozenset[Message]:
        """The part of deleted messages that a site remembers: none, by the text."""
        return frozenset()

    def renamed(self, state: State, renaming: Renaming) -> State:  # type: ignore[override]
        buffer, noted, rounds, deleted, requested, awaits = state
        return State(
            renaming.messages(buffer),
            renaming.vector(tuple([renaming.messages(ids) for ids in noted])),
            rounds,
            renaming.messages(deleted),
            renaming.messages(requested),
            renaming.processes(awaits),
        )


class IsisGcWaits(IsisGc):
    """The repair: a request waits until its messages for this site have been received.

    A site remembers the ids of messages deleted here, so that it knows that they were received.
    """

    rules = {
        **{name: rule for name, rule in IsisGc.rules.items() if name != "a-message-not-yet-received-is-acknowledged"},
        "a-request-waits-for-a-message": lambda machine, t: t.held_back,
        "a-request-names-a-message-deleted-here": lambda machine, t: (
            t.receives("request") and any(message in t.before.deleted for message in t.packet.stamp)
        ),
    }

    def deliverable(self, i: int, state: State, packet: Packet) -> bool:
        return packet.kind != "request" or all(
            message in state.buffer or message in state.deleted for message in packet.stamp if i in message.receivers
        )

    def remembered(self, i: int, deleted: frozenset[Message]) -> frozenset[Message]:
        return frozenset(message for message in deleted if i in message.receivers)
