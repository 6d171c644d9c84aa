"""The nodes of a foreign implementation as a protocol machine, so that the same explorer drives them.

The local state of a process is its node's history: all inputs so far. A failed node stays in a state that says how it
failed; no order is judged beyond it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

from crownless.impl.channels import Channel
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step, delivered, sent
from crownless.impl.workloads import Free
from crownless.model_check.system.properties import Property
from crownless.model_check.system.request import Check, ResolvedCheck
from crownless.runtime.printable import listed, shown, some
from crownless.spec.computation import Message

from .answers import Answers
from .conformance_request import Request
from .node import (
    FAILURES,
    Answer,
    Arrival,
    Delivers,
    History,
    Input,
    NodeFailure,
    Queues,
    Restart,
    Send,
    Sends,
    Tick,
    Transmits,
    left_pending,
    name_for_nodes,
)

#: The kind of packets that a node transmits when given a message to send, and the kind of all others.
OF_A_MESSAGE, OTHER = "message", "packet"
#: The step in which an application sends a message that it has kept for a reply, without a delivery.
UNPROMPTED = "unprompted reply"
TICK, RESTART = "tick", "restart"


class Works(NamedTuple):
    """The local state of a working node: all its inputs so far."""

    history: History = ()
    #: The message that the application will send from inside the next delivery.
    reply: Message | None = None
    ticks: int = 0
    restarts: int = 0
    #: The timer, thread or task that is left pending, in words.
    pending: str | None = None

    def __repr__(self) -> str:
        return f"<works, after {some(len(self.history), 'input')}>"


class Failed(NamedTuple):
    """The local state of a failed node: how it failed, and its inputs up to that one."""

    kind: str
    said: str
    history: History


class NodeMachine(ProtocolMachine):
    """The nodes of one implementation, whose answers come from `answer`."""

    promises: ClassVar[str] = "asynchronous"
    admits_self_sends: ClassVar[bool] = True
    admits_multicast: ClassVar[bool] = True
    #: Answers are repeated where needed, and never change.
    is_known_to_be_pure: ClassVar[bool] = True
    #: Local states are input histories, not variables to show.
    shows_variables: ClassVar[bool] = False

    def __init__(
        self,
        n: int,
        answer: Callable[[int, History], Answer],
        messages: Iterable[Message],
        *,
        replies: bool = False,
        ticks: int = 0,
        restarts: int = 0,
    ) -> None:
        """`answer`: a process's answer to the last of its inputs; raises `NodeFailure`. `messages`: all that
        applications can send. `replies`: they may also send from inside a delivery. `ticks`: the ticks at each process;
        `restarts`: the maximum crashes and restarts of each.
        """
        super().__init__(n)
        self.answer = answer
        self.messages = {name_for_nodes(message): message for message in messages}
        self.replies = replies
        self.ticks = ticks
        self.restarts = restarts

    def initial(self, i: int) -> Works:
        return Works()

    def send(self, i: int, state: Works | Failed, message: Message) -> Sequence[Step]:
        if isinstance(state, Failed):
            return ()
        steps = [self.send_now(i, state, message)]
        return [*steps, self.keep(state, message)] if self.may_keep(state) else steps

    def send_now(self, i: int, state: Works, message: Message) -> Step:
        """The application sends."""
        return self._step(i, state, Send(message))

    def may_keep(self, state: Works | Failed) -> bool:
        """True if the application may keep a message, to send it from inside the next delivery."""
        return self.replies and isinstance(state, Works) and state.reply is None

    def keep(self, state: Works, message: Message) -> Step:
        """The application keeps it."""
        return Step(state._replace(reply=message))

    def on_packet(self, i: int, state: Works | Failed, packet: Packet) -> Sequence[Step]:
        if isinstance(state, Failed):
            return [Step(state)]
        return [self._step(i, state, Arrival(packet.source, packet.stamp))]

    def internal(self, i: int, state: Works | Failed) -> Sequence[tuple[str, Step]]:
        return [(name, self.own_step(i, state, name)) for name in self.own_steps(state)]

    def own_steps(self, state: Works | Failed) -> list[str]:
        """The names of the steps that a process may take by itself."""
        if isinstance(state, Failed):
            return []
        possible = {
            UNPROMPTED: state.reply is not None,
            TICK: state.ticks < self.ticks,
            RESTART: state.restarts < self.restarts,
        }
        return [name for name, now in possible.items() if now]

    def own_step(self, i: int, state: Works | Failed, name: str) -> Step:
        """The step of that name."""
        assert isinstance(state, Works)
        if name == TICK:
            return self._step(i, state._replace(ticks=state.ticks + 1), Tick())
        if name == RESTART:
            return self._step(i, state._replace(restarts=state.restarts + 1), Restart())
        assert state.reply is not None
        return self._step(i, state._replace(reply=None), Send(state.reply))

    def _step(self, i: int, state: Works, given: Input) -> Step:
        """The step given by the node's answer."""
        replying = given if state.reply is None else replace(given, reply=state.reply)
        try:
            answer = self.answer(i, (*state.history, replying))
            step = self._outcome(i, replying, answer)
        except NodeFailure as failure:
            happened = [sent(given.message)] if isinstance(given, Send) else []
            return Step(Failed(failure.kind, failure.said, (*state.history, replying)), (), happened)
        replied = state.reply is not None and any(event == ("send", state.reply) for event in step.events)
        history = (*state.history, replying if replied else given)
        after = state._replace(history=history, reply=None if replied else state.reply, pending=left_pending(answer))
        return step._replace(state=after)

    def _outcome(self, i: int, given: Input, answer: Answer) -> Step:
        """The packets and events of an answer. Raises `NodeFailure` if such an event is impossible."""
        events: list[AppEvent] = []
        packets: list[Packet] = []
        queued = {output.message for output in answer if isinstance(output, Queues)}
        reply = given.reply
        about: Message | None = None

        def submitted(message: Message) -> None:
            nonlocal about
            about = message
            if name_for_nodes(message) not in queued:
                events.append(sent(message))

        if isinstance(given, Send):
            submitted(given.message)
        for output in answer:
            if isinstance(output, Transmits):
                packets.append(self._packet(i, about, output))
            elif isinstance(output, Sends):
                events.append(sent(self._own(i, output.message)))
            elif isinstance(output, Delivers):
                events.append(delivered(self._addressed(i, output.message)))
                if reply is not None:
                    submitted(reply)
                    reply = None
        return Step(None, packets, events)

    def _packet(self, i: int, about: Message | None, output: Transmits) -> Packet:
        if not 0 <= output.to < self.n:
            raise NodeFailure("invents", f"transmits to process {shown(output.to)}, and there are 0 to {self.n - 1}")
        carries = about if about is not None and output.to in about.receivers else None
        return Packet(i, output.to, OTHER if carries is None else OF_A_MESSAGE, carries, output.body)

    def _own(self, i: int, name: str) -> Message:
        message = self._known("sends", name)
        if message.sender != i:
            raise NodeFailure("invents", f"says that it sends {name}, which is P{message.sender + 1}'s")
        return message

    def _addressed(self, i: int, name: str) -> Message:
        message = self._known("delivers", name)
        if i not in message.receivers:
            to = listed(f"P{q + 1}" for q in message.receivers)
            hint = "" if len(message.receivers) > 1 else "; if every message is for all processes: --sends broadcast"
            if i == message.sender:
                hint = (
                    '; if senders deliver their own broadcasts: --sends broadcast-to-all, or sends="broadcast-to-all"'
                )
            raise NodeFailure("invents", f"delivers {name}, which is for {to}{hint}")
        return message

    def _known(self, deed: str, name: str) -> Message:
        message = self.messages.get(name)
        if message is None:
            raise NodeFailure("invents", f"{deed} {shown(name)}, which no application sends")
        return message


def pending_in(local_states: Iterable[Any]) -> str | None:
    """The first timer, thread or task that these nodes have pending, in words. With one, a run does not end there."""
    return next((state.pending for state in local_states if isinstance(state, Works) and state.pending), None)


def _does_not_fail(kind: str, machine: Any, i: int, state: Works | Failed) -> bool:
    return not isinstance(state, Failed) or state.kind != kind


NodeMachine.invariants = {kind: partial(_does_not_fail, kind) for kind in FAILURES}


def check_of_nodes(
    answers: Answers,
    request: Request,
    orders: tuple[str, ...],
    *,
    replies: bool = False,
    only: tuple[Property, ...] = (),
) -> Check:
    """A check of nodes with freely sending applications, within the bounds of the request."""
    claimed = request.orders[-1] if request.orders else "asynchronous"
    free = Free(request.processes, request.messages, self_sends=request.self_sends, sends=request.sends)
    facts = {
        "promises": claimed,
        "not_tried": answers.nodes.not_tried,
        "__module__": __name__,
        "__doc__": NodeMachine.__doc__,
    }
    kind: type[NodeMachine] = type(answers.nodes.name, (NodeMachine,), facts)
    machine = kind(
        request.processes,
        answers,
        free.universe(),
        replies=replies and answers.nodes.takes_replies,
        ticks=request.ticks,
        restarts=request.restarts,
    )
    return Check(machine, channel=request.channel, orders=orders, workload=free, properties=only)


def check_of_walks(answers: Answers, request: Request, channel: type[Channel] | None = None) -> ResolvedCheck:
    """The check of nodes driven step by step: no order is monitored. `channel` replaces the requested one."""
    replies = bool(request.messages_with_replies)
    check = check_of_nodes(answers, request, ("asynchronous",), replies=replies)
    return replace(check, channel=channel or request.channel).resolve()
