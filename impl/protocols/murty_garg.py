"""The algorithm of Murty & Garg [MG] Fig. 8: synchronous ordering by priority, send condition and receive condition.

A message to a smaller process is sent and committed by its sender when the sender is active; the receiver commits it
on receipt and acknowledges it as soon as it is itself active. A message to a bigger process is first requested: the
request carries the message, and the bigger process sends it back with the same content. The bigger process commits it
as it sends it back, the smaller one as it receives it (§4.2.1, type 2).

Modelling choices: each box of Fig. 8 is one step. The application events are the commits: a process's *send* of a type
2 message happens when its bigger partner's copy comes back, after the partner has delivered it. "[A]ssuming that a
process cannot send a message to itself" (§4.2.1). The text knows no programs: in one, a box that delivers waits until
the application is ready to receive, and an acknowledgement with it, if a queued request is next.

A finding: the third box of Fig. 8 is printed Receive(<ack, P_i, P_j>) at P_i; by the notation of the other boxes it
must be <ack, P_j, P_i>, and is read so.
"""

from collections.abc import Sequence
from typing import NamedTuple

from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.spec import invariants
from crownless.spec.computation import Message


class State(NamedTuple):
    active: bool  #: state of Fig. 8: active (no send unacknowledged) or passive
    messages: tuple[Message, ...]  #: messageQueue: sends that wait for the last acknowledgement
    acks: tuple[int, ...]  #: ackQueue: processes whose message is not yet acknowledged


class MurtyGarg(ProtocolMachine):
    source = "[MG] §4"
    promises = "synchronous"
    control_kinds = frozenset({"request"})
    sends_before_delivery = False

    invariants = {
        "nothing-queued-while-active": lambda machine, i, state: invariants.queued_only_while_passive(
            state.active, state.messages, state.acks
        ),
        "acknowledges-only-bigger-processes": lambda machine, i, state: invariants.all_bigger(i, state.acks),
    }
    witnesses = {
        "a-send-waits-for-an-acknowledgement": lambda machine, i, state: bool(state.messages),
        "an-acknowledgement-is-withheld": lambda machine, i, state: bool(state.acks),
    }

    rules = {
        "a-message-to-a-smaller-process-is-sent-at-once": lambda machine, t: t.sends and t.transmits("message") > 0,
        "a-request-goes-to-a-bigger-process": lambda machine, t: t.sends and t.transmits("request") > 0,
        "a-request-is-answered-at-once": lambda machine, t: t.receives("request") and t.transmits("message") > 0,
        "a-request-waits": lambda machine, t: t.receives("request") and not t.transmits("message"),
        "a-message-comes-back-to-its-sender": lambda machine, t: (
            t.receives("message") and t.message.sender == t.process
        ),
        "a-message-is-acknowledged-at-once": lambda machine, t: t.receives("message") and t.transmits("ack") > 0,
        "a-waiting-message-is-sent-on-an-acknowledgement": lambda machine, t: (
            t.receives("ack") and t.transmits("message") > 0
        ),
        "a-withheld-acknowledgement-is-sent": lambda machine, t: t.receives("ack") and t.transmits("ack") > 0,
        "a-withheld-acknowledgement-and-a-waiting-message-are-sent-in-one-step": lambda machine, t: (
            t.receives("ack") and t.transmits("ack") > 0 and t.transmits("message") > 0
        ),
        "several-withheld-acknowledgements-are-sent": lambda machine, t: t.receives("ack") and t.transmits("ack") > 1,
    }

    def initial(self, i: int) -> State:
        """The initial state of every process is active (§4.3)."""
        return State(True, (), ())

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        """SendIntent of the message's own sender: priority rule PR (Fig. 8)."""
        if self.must_request(i, message.receiver):
            return [Step(state, [Packet(i, message.receiver, "request", message)])]
        return [self.send_to_smaller(i, state, message)]

    def must_request(self, i: int, j: int) -> bool:
        """PR: a message to a bigger process is requested, not sent (§4.2.1)."""
        return i < j

    def send_to_smaller(self, i: int, state: State, message: Message) -> Step:
        """SendIntent, bigger to smaller: commit and send if active, else wait for the acknowledgement (SP, §4.3.1)."""
        if self.may_send(state):
            return self.commit_and_send(i, state._replace(active=False), message)
        return Step(state._replace(messages=(*state.messages, message)))

    def may_send(self, state: State) -> bool:
        return state.active

    def commit_and_send(self, i: int, state: State, message: Message) -> Step:
        partner = message.receiver if message.sender == i else message.sender
        return Step(state, [Packet(i, partner, "message", message)], [self.commit(i, message)])

    def commit(self, i: int, message: Message) -> AppEvent:
        return AppEvent("send" if message.sender == i else "deliver", message)

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        if packet.kind == "ack":
            return [self.acknowledged(i, state)]
        if packet.kind == "request":  # Receive of a message from a smaller process: PR
            return [self.send_to_smaller(i, state, packet.message)]
        return [self.commit_and_acknowledge(i, state, packet.source, packet.message)]

    def commit_and_acknowledge(self, i: int, state: State, j: int, message: Message) -> Step:
        """Receive of a message from a bigger process: commit; acknowledge if active, else queue (RP, §4.3.2)."""
        committed = [self.commit(i, message)]
        if self.may_acknowledge(state):
            return Step(state, [Packet(i, j, "ack")], committed)
        return Step(state._replace(acks=(*state.acks, j)), (), committed)

    def may_acknowledge(self, state: State) -> bool:
        return state.active

    def acknowledged(self, i: int, state: State) -> Step:
        """Receive of an acknowledgement: active again, send queued acks, then the next queued message (Fig. 8)."""
        acks = [Packet(i, j, "ack") for j in state.acks]
        active = State(True, state.messages, ())
        if not state.messages:
            return Step(active, acks)
        message, *rest = state.messages
        sent = self.commit_and_send(i, State(False, tuple(rest), ()), message)
        return Step(sent.state, [*acks, *sent.packets], sent.events)

    def renamed(self, state: State, renaming: Renaming) -> State:
        """Printed although the priorities rank the processes, to show that they do."""
        return State(state.active, renaming.messages(state.messages), renaming.processes(state.acks))
