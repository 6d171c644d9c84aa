"""The nodes of an implementation, joined by a channel, and driven step by step through one run.

What a node does is decided as in an exhaustive search (`node_machine`); here one of the things that may happen next is
chosen at a time, and only that one is put to a node.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from crownless.impl.channels import Channel
from crownless.impl.protocol import Packet, Step
from crownless.impl.workloads import Free, PendingSend
from crownless.model_check.monitors import Observation
from crownless.model_check.properties import DELIVERS_ONCE
from crownless.model_check.runs import Run, run_of
from crownless.model_check.system import Action, LocalStep, action_of_arrival
from crownless.spec.computation import Computation, Message
from crownless.spec.errors import BadInput
from crownless.spec.orders import decide
from crownless.spec.recorder import Recorder

from .node import NodeFailure, name_for_nodes
from .node_machine import Failed, NodeMachine, Works
from .queries import Queries


class Move(NamedTuple):
    """Something that may happen next: an application sends, a packet is received or a process takes a step of its own,
    or the channel loses or duplicates a packet. Moves of another run have the same `like` if they are alike.
    `plainer`: the `like` of a move in whose place this one is more than is mostly needed.
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
    """The nodes, and the packets in flight between them.

    `workload`: who may send what to whom. `replies`: applications may also send from inside deliveries. `ticks`: how
    often time passes at each process; `restarts`: how often each may crash and start again.
    """

    def __init__(
        self,
        queries: Queries,
        workload: Free,
        channel: type[Channel],
        *,
        replies: bool = False,
        ticks: int = 0,
        restarts: int = 0,
    ) -> None:
        self.workload = workload
        self._names = workload.processes
        n = len(self._names)
        self.machine = NodeMachine(n, queries, (), replies=replies, ticks=ticks, restarts=restarts)
        self._states: list[Any] = [self.machine.initial(p) for p in range(n)]
        self._position = workload.start()
        self._packets: list[Packet] = []
        self._channel = channel(lambda packet: self._packets[packet].source * n + self._packets[packet].destination)
        self._flight = self._channel.empty()
        self._recorder = Recorder(self._names)
        self._steps: list[LocalStep] = []
        self._happened = 0
        self._submitted = 0
        self._sent: set[Message] = set()
        #: What was submitted and is not delivered: (message, receiver).
        self.owed: set[tuple[str, str]] = set()

    @property
    def progress(self) -> int:
        """A number that changes when the order may have been broken."""
        return self._happened

    def moves(self) -> list[Move]:
        """All that may happen next: new sends, arrivals, steps of processes, and faults of the channel."""
        moves = []
        for pending in self.workload.pending_sends(self._position):
            like = (pending.process, pending.message.receivers)
            moves.append(Move("send", ("send", *like), partial(self._send, pending)))
            if self.machine.may_keep(self._states[pending.process]):
                moves.append(Move("send", ("keep", *like), partial(self._keep, pending), ("send", *like)))
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
        return run_of(self, self._steps, keep_names=True, end=())

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

    def transmitted(self, step: LocalStep) -> list[Packet]:
        """The packets that a step puts on the channel."""
        return [self._packets[number] for number in step.packets]

    def local_states(self, _: Any) -> Sequence[Works | Failed]:
        """The state of each node at the end."""
        return self._states

    def states_at_start(self) -> Sequence[Any]:
        """None are known that anybody would look at."""
        return ()

    def state_after(self, _: LocalStep) -> Any:
        """Likewise."""
        return None

    def _link(self, packet: int) -> tuple[int, int]:
        return self._packets[packet].source, self._packets[packet].destination

    def _send(self, pending: PendingSend) -> None:
        p, message = pending.process, self._submit(pending)
        self._take(p, Action(p, "send", message, None), self.machine.send_now(p, self._states[p], message))

    def _keep(self, pending: PendingSend) -> None:
        p, message = pending.process, self._submit(pending)
        self._take(p, Action(p, "send", message, None), self.machine.keep(self._states[p], message))

    def _submit(self, pending: PendingSend) -> Message:
        """The next message; messages are called m1, m2, … as they are submitted."""
        self._position = pending.after
        self._submitted += 1
        message = Message(f"m{self._submitted}", pending.process, pending.message.receivers)
        self.machine.messages[name_for_nodes(message)] = message
        self.owed |= {(message.name, self._names[q]) for q in message.receivers}
        return message

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
        self._states[p] = step.state
        first = len(self._packets)
        self._packets += step.packets
        numbers = tuple(range(first, len(self._packets)))
        observations = tuple(Observation(event.kind, p, event.message) for event in step.events)
        self._steps.append(LocalStep(action, -1, numbers, observations))
        if isinstance(step.state, Failed):
            raise WrongNode(step.state.kind, f"{name}: {step.state.said}") from self._cause(p, step.state)
        for number in numbers:
            self._flight = self._channel.put(self._flight, (number,))
        for kind, message in step.events:
            self._happened += 1
            called = message.name
            if kind == "send":
                self._sent.add(message)
                self._recorder.send(name, called, to=[self._names[q] for q in message.receivers])
            elif (called, name) in self.owed and message in self._sent:
                self.owed.discard((called, name))
                self._recorder.deliver(name, called)
            else:
                place = self.machine.place_of_delivery(p, step.state, message)
                why = "a second time" if message in self._sent else "before it is sent"
                raise WrongNode(DELIVERS_ONCE.name, f"{name}: {place or name}: delivers {called} {why}")

    def _cause(self, p: int, failed: Failed) -> BaseException | None:
        """The exception of the node's own."""
        try:
            self.machine.query(p, failed.history[:-1], failed.history[-1])
        except NodeFailure as failure:
            return failure.__cause__
        return None
