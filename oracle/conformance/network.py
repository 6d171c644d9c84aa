"""Nodes and the packets between them, taken step by step: what may happen next, and what comes of one of these moves.

The explorer makes every move; here one is made at a time, and the nodes are given nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from crownless.impl.channels import Channel, channel_named
from crownless.impl.protocol import Packet, Step
from crownless.impl.workloads import Free, PendingSend
from crownless.model_check.runs.runs import Run, run_of
from crownless.model_check.system.monitors import Observation
from crownless.model_check.system.properties import DELIVERS_ONCE
from crownless.model_check.system.system import Action, LocalStep, action_of_arrival
from crownless.spec.computation import Computation, Message
from crownless.spec.errors import BadInput
from crownless.spec.orders import decide
from crownless.spec.recorder import Recorder

from .answers import Answers
from .conformance_request import Request
from .node import Arrival, NodeFailure, Query, name_for_nodes
from .node_machine import Failed, NodeMachine, Works


class Move(NamedTuple):
    """A possible next step: an application sends, a packet is received or a process takes a step of its own, or the
    channel loses or duplicates a packet. Moves of another run have the same `like` if they are alike. `plainer`: the
    `like` of a move that mostly does as well.
    """

    kind: Literal["send", "step", "fault"]
    like: Hashable
    happen: Callable[[], None]
    plainer: Hashable = None


class WrongNode(AssertionError):
    """A node did what no node may, or raised an exception; the text says which, and where in the user's files.

    `breaks`: the property that this breaks.
    """

    def __init__(self, breaks: str, said: str) -> None:
        super().__init__(said)
        self.breaks = breaks


def root_of(error: Exception | None) -> BaseException | None:
    """The exception behind a failure, which is the user's own where there is one."""
    return None if error is None else error.__cause__ or error


class Network:
    """The nodes, and the packets in flight between them, within the bounds of a request."""

    def __init__(self, answers: Answers, request: Request, channel: type[Channel] | None = None) -> None:
        n = request.processes
        self.workload = Free(n, request.messages, self_sends=request.self_sends, sends=request.sends)
        self._names = self.workload.processes
        self.machine = NodeMachine(
            n,
            answers,
            (),
            replies=bool(request.messages_with_replies),
            ticks=request.ticks,
            restarts=request.restarts,
        )
        self._states: list[Any] = [self.machine.initial(p) for p in range(n)]
        self._position = self.workload.start()
        self._packets: list[Packet] = []
        kind = channel or channel_named(request.channel)
        self._channel = kind(lambda number: self._packets[number].source * n + self._packets[number].destination)
        self._flight = self._channel.empty()
        self._recorder = Recorder(self._names)
        self._steps: list[LocalStep] = []
        #: A number that changes when the order may have been broken.
        self.progress = 0
        #: What messages are called, as they are submitted, and those whose send event has happened.
        self._called: dict[Message, str] = {}
        self._sent: set[Message] = set()
        #: Submitted and not delivered: (message, receiver).
        self.owed: set[tuple[str, str]] = set()
        #: The first packet that was answered by packets, as the query of a node.
        self.first_answered_by_packets: Query | None = None

    def moves(self) -> list[Move]:
        """All that may happen next: new sends, arrivals, steps of processes, and faults of the channel."""
        moves = []
        for pending in self.workload.pending_sends(self._position):
            like = (pending.process, pending.message.receivers)
            moves.append(Move("send", ("send", *like), partial(self._send, pending)))
            if self.machine.may_keep(self._states[pending.process]):
                keep = partial(self._send, pending, keep=True)
                moves.append(Move("send", ("keep", *like), keep, plainer=("send", *like)))
        for p, state in enumerate(self._states):
            for name in self.machine.own_steps(state):
                moves.append(Move("step", (name, p), partial(self._own, p, name)))
        for packet, after, *_ in self._channel.arrivals(self._flight):
            moves.append(Move("step", ("receive", *self._link(packet)), partial(self._arrive, packet, after)))
        for name, packet, after in self._channel.faults(self._flight):
            moves.append(Move("fault", (name, *self._link(packet)), partial(self._fault, name, packet, after)))
        return moves

    @property
    def computation(self) -> Computation:
        """The events that the applications saw so far. Raises `BadInput` after a delivery of what was not sent."""
        return self._recorder.computation

    @property
    def run(self) -> Run:
        """All that has happened."""
        return run_of(self, self._steps, keep_names=False, end=())

    def broken(self, order: str) -> str | None:
        """The way in which the events so far break the order; None if it can still be kept."""
        verdict = decide(self.computation, order, "pending")
        return None if verdict.kept else str(verdict)

    def story(self) -> str:
        """All that has happened, in words, after the computation that the applications saw."""
        try:
            seen = f"\n{self.computation}"
        except BadInput:
            seen = ""
        return f"{seen}\n{self.run.say()}"

    # -- as a run has it -----------------------------------------------------------------------------------------------

    def transmitted(self, step: LocalStep) -> list[Packet]:
        """The packets that a step puts on the channel."""
        return [self._packets[number] for number in step.packets]

    def local_states(self, _: Any) -> Sequence[Works | Failed]:
        """The state of each node at the end."""
        return self._states

    def states_at_start(self) -> Sequence[Any]:
        """None are shown."""
        return ()

    def state_after(self, step: LocalStep) -> Any:
        """The state of a node after its step."""
        return None

    # -- moves ---------------------------------------------------------------------------------------------------------

    def _link(self, packet: int) -> tuple[int, int]:
        return self._packets[packet].source, self._packets[packet].destination

    def _send(self, pending: PendingSend, *, keep: bool = False) -> None:
        p, message, self._position = pending
        self.machine.messages[name_for_nodes(message)] = message
        self._called[message] = f"m{len(self._called) + 1}"
        self.owed |= {(self._called[message], self._names[q]) for q in message.receivers}
        state = self._states[p]
        step = self.machine.keep(state, message) if keep else self.machine.send_now(p, state, message)
        self._take(p, Action(p, "send", message, None), step)

    def _own(self, p: int, name: str) -> None:
        self._take(p, Action(p, name, None, None), self.machine.own_step(p, self._states[p], name))

    def _arrive(self, number: int, after: Any) -> None:
        packet, self._flight = self._packets[number], after
        p = packet.destination
        (step,) = self.machine.on_packet(p, self._states[p], packet)
        self._take(p, action_of_arrival(p, packet, step), step)

    def _fault(self, name: str, number: int, after: Any) -> None:
        packet, self._flight = self._packets[number], after
        self._steps.append(LocalStep(Action(packet.destination, name, packet.message, packet, by_channel=True), -1))

    def _take(self, p: int, action: Action, step: Step) -> None:
        """What a node did: its packets are in flight now, and its events have happened."""
        name = self._names[p]
        self._states[p] = state = step.state
        first = len(self._packets)
        self._packets += step.packets
        numbers = tuple(range(first, len(self._packets)))
        observations = tuple(Observation(event.kind, p, event.message) for event in step.events)
        self._steps.append(LocalStep(action, -1, numbers, observations))
        if isinstance(state, Failed):
            raise WrongNode(state.kind, f"{name}: {state.said}") from self._cause(p, state)
        if numbers and self.first_answered_by_packets is None and isinstance(state.history[-1], Arrival):
            self.first_answered_by_packets = p, state.history
        for number in numbers:
            self._flight = self._channel.put(self._flight, (number,))
        for kind, message in step.events:
            self.progress += 1
            called = self._called[message]
            if kind == "send":
                self._sent.add(message)
                self._recorder.send(name, called, to=[self._names[q] for q in message.receivers])
            elif (called, name) in self.owed and message in self._sent:
                self.owed.discard((called, name))
                self._recorder.deliver(name, called)
            else:
                why = "a second time" if message in self._sent else "before it is sent"
                raise WrongNode(DELIVERS_ONCE.name, f"{name}: delivers {called} {why}")

    def _cause(self, p: int, failed: Failed) -> BaseException | None:
        """The exception of the node's own."""
        try:
            self.machine.answer(p, failed.history)
        except NodeFailure as failure:
            return failure.__cause__
        return None
