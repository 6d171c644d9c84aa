"""Nodes and the packets between them, driven step by step: the possible next moves, and the effects of one.

The explorer makes every move; here one is made at a time, and the nodes get no other input.
"""

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Literal, NamedTuple

from crownless.impl.channels import Place
from crownless.impl.protocol import Packet, Step
from crownless.impl.workloads import PendingSend
from crownless.model_check.runs.runs import wrong_event
from crownless.model_check.runs.stepwise import StepwiseRun
from crownless.model_check.system.properties import DELIVERS_ONCE
from crownless.model_check.system.system import Action, LocalStep, State, System, action_of_arrival
from crownless.spec.computation import Computation, Message
from crownless.spec.orders import decide
from crownless.spec.recorder import Recorder

from .node import NodeFailure
from .node_machine import Failed, NodeMachine, pending_in


class Move(NamedTuple):
    """A possible next step: an application sends, a packet is received, a process takes a step of its own, or the
    channel loses or duplicates a packet. Similar moves of other runs have the same `like`. `plainer`: the `like` of a
    simpler move that usually has the same effect.
    """

    kind: Literal["send", "step", "fault"]
    like: Hashable
    happen: Callable[[], None]
    plainer: Hashable = None


class WrongNode(AssertionError):
    """A node did something that no node may, or raised an exception; the text says which, and where in the user's
    files.

    `breaks`: the property that this violates.
    """

    def __init__(self, breaks: str, said: str) -> None:
        super().__init__(said)
        self.breaks = breaks


def root_of(error: Exception | None) -> BaseException | None:
    """The exception behind a failure: the user's own, if there is one."""
    return None if error is None else error.__cause__ or error


class Network(StepwiseRun):
    """The nodes of a system, and the packets in flight between them. `delivers_once`: that is promised, so that any
    other delivery is a fault.
    """

    def __init__(self, system: System, *, delivers_once: bool = True) -> None:
        super().__init__(system)
        self.delivers_once = delivers_once
        assert isinstance(system.machine, NodeMachine)
        self.machine = system.machine
        self._names = system.workload.processes
        self._recorder = Recorder(self._names)
        #: A number that changes when the order may have been violated.
        self.progress = 0
        #: The names of the messages, as they are submitted.
        self._called: dict[Message, str] = {}
        #: The first send of each message, and its first delivery at each process.
        self._sent: set[Message] = set()
        self._delivered: set[tuple[Message, int]] = set()

    def moves(self) -> list[Move]:
        """All possible next moves: new sends, arrivals, steps of processes, and faults of the channel."""
        system, machine = self.system, self.machine
        states, position = system.local_states(self.state), system.position(self.state)
        moves = []
        for pending in system.workload.pending_sends(position):
            p, message, _ = pending
            like = (p, message.receivers)
            send = partial(self._send, pending, partial(machine.send_now, p, states[p], message))
            moves.append(Move("send", ("send", *like), send))
            if machine.may_keep(states[p]):
                keep = partial(self._send, pending, partial(machine.keep, states[p], message))
                moves.append(Move("send", ("keep", *like), keep, plainer=("send", *like)))
        for p, state in enumerate(states):
            for name in machine.own_steps(state):
                moves.append(Move("step", (name, p), partial(self._own, p, state, name)))
        arrivals = system.channel.arrivals(self.state[system.n])
        for packet, (_, after, _, _, place) in zip(system.in_flight(self.state), arrivals, strict=True):
            arrive = partial(self._arrive, packet, states[packet.destination], after, place)
            moves.append(Move("step", ("receive", packet.source, packet.destination), arrive))
        for step, target in system.faults(self.state):
            lost = step.action.packet
            assert lost is not None
            fault = (step.action.name, lost.source, lost.destination)
            moves.append(Move("fault", fault, partial(self.take, step, target)))
        return moves

    @property
    def owed(self) -> set[tuple[str, str]]:
        """Submitted and not delivered: (message, receiver)."""
        owed = self.system.undelivered(self.monitor_state, self.state)
        return {(self._called[message], self._names[q]) for message, q in owed}

    @property
    def pending(self) -> str | None:
        """The first timer, thread or task that a node has pending, in words."""
        return pending_in(self.system.local_states(self.state))

    @property
    def delivers(self) -> bool:
        """True if a message was delivered."""
        return bool(self._delivered)

    @property
    def computation(self) -> Computation:
        """The events that the applications saw so far, except deliveries of unsent messages and repeated ones."""
        return self._recorder.computation

    def violation(self, order: str) -> str | None:
        """How the events so far violate the order; None if it can still be kept."""
        verdict = decide(self.computation, order, "pending")
        return None if verdict.kept else str(verdict)

    def story(self) -> str:
        """The computation that the applications saw, then all that has happened, in words."""
        return f"\n{self.computation}\n{self.run.say()}"

    # -- moves ---------------------------------------------------------------------------------------------------------

    def _send(self, pending: PendingSend, outcome: Callable[[], Step]) -> None:
        p, message, position = pending
        self._called[message] = f"m{len(self._called) + 1}"
        self._make(Action(p, "send", message, None), outcome(), self.state[self.system.n], position)

    def _own(self, p: int, state: Any, name: str) -> None:
        self._make(Action(p, name, None, None), self.machine.own_step(p, state, name), self.state[self.system.n])

    def _arrive(self, packet: Packet, state: Any, after: Any, place: Place) -> None:
        (outcome,) = self.machine.on_packet(packet.destination, state, packet)
        self._make(action_of_arrival(packet.destination, packet, outcome), outcome, after, place=place)

    def _make(self, action: Action, outcome: Step, flight: Any, position: Any = None, *, place: Place = "link") -> None:
        if position is None:
            position = self.system.position(self.state)
        self.take(*self.system.move(self.state, action, outcome, flight, position, place))

    def take(self, step: LocalStep, target: State) -> None:
        super().take(step, target)
        p = step.action.process
        name = self._names[p]
        state = self.system.state_after(step)
        if isinstance(state, Failed):
            raise WrongNode(state.kind, f"{name}: {state.said}") from self._cause(p, state)
        for kind, _, message in step.observations:
            self.progress += kind != "hand"
            if kind == "send" and message in self._called:
                self._sent.add(message)
                self._recorder.send(name, self._called[message], to=[self._names[q] for q in message.receivers])
            elif kind == "deliver" and message in self._sent and (message, p) not in self._delivered:
                self._delivered.add((message, p))
                self._recorder.deliver(name, self._called[message])
        if self.delivers_once and DELIVERS_ONCE.name in self.violated:
            raise WrongNode(DELIVERS_ONCE.name, wrong_event(self.run))

    def _cause(self, p: int, failed: Failed) -> BaseException | None:
        """The node's own exception."""
        try:
            self.machine.answer(p, failed.history)
        except NodeFailure as failure:
            return failure.__cause__
        return None
