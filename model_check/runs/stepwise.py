"""Runs of a system made step by step: by random choices, or by following a saved run."""

from collections.abc import Hashable, Iterable
from copy import deepcopy
from dataclasses import replace

from crownless.model_check.system.system import LocalStep, MonitorState, Move, State, System

from .actions import ShownAction
from .packets import PacketId, PacketTracker
from .runs import Run, run_of


class StepwiseRun:
    """A run that is extended step by step, with the properties that it violates on the way."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.state: State = system.initial()
        self.monitor_state = system.initial_monitor_state()
        self.steps: list[LocalStep] = []
        self.violated: list[str] = []
        #: The states and monitor states from the initial ones on.
        self.visited: list[tuple[State, MonitorState]] = [(self.state, self.monitor_state)]

    def take(self, step: LocalStep, target: State) -> None:
        """Extends the run by one of the moves of its last state."""
        self.monitor_state, violated = self.system.evaluate(self.monitor_state, step)
        self.violated += violated
        self.state = target
        self.steps.append(step)
        self.visited.append((self.state, self.monitor_state))

    @property
    def run(self) -> Run:
        """The whole run so far."""
        return self._run([])

    def _run(self, further: list[LocalStep]) -> Run:
        return run_of(self.system, [*self.steps, *further], end=self.state)


class Follower(StepwiseRun):
    """Follows a saved run, of the same system or of a similar one. A packet is identified by its link and its number
    there: its content may be different now. In a loop it has no number, and is any that fits."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self._number = {name: p for p, name in enumerate(system.workload.processes)}
        self._packets = PacketTracker(system)

    def follow(self, wanted: ShownAction, *, exactly: bool = True) -> LocalStep | None:
        """Takes the first of the steps of that action, if there is one. Unless `exactly`, its outcome may differ."""
        moves = self.moves_of(wanted, exactly=exactly)
        if not moves:
            return None
        self.take_as(wanted, moves[0])
        return moves[0][0]

    def moves_of(self, wanted: ShownAction, *, exactly: bool = True) -> list[Move]:
        """The moves of that action: several if the run does not record which outcome it had. Unless `exactly`, those
        with another outcome if there are no others.
        """
        alike = [move for move in self.system.moves(self.state) if self._is(move[0], wanted)]
        same = [move for move in alike if _as_wanted(self._run([move[0]]).actions[-1], wanted)]
        different = {(step.outcome, target): (step, target) for step, target in same}
        if same or exactly:
            return list(different.values())
        return [move for move in alike if _is_sent(move[0].observations) == _is_sent(wanted.happened)] or alike

    def take_as(self, wanted: ShownAction, move: Move) -> None:
        """Takes one of the moves of that action."""
        packet = self._packet(wanted)
        self._packets.follow(move[0], packet if packet and packet.number else None)
        self.take(*move)

    def copy(self) -> "Follower":
        """The same run so far, to be extended in another way."""
        other = Follower(self.system)
        other.state, other.monitor_state = self.state, self.monitor_state
        other.steps, other.violated, other.visited = [*self.steps], [*self.violated], [*self.visited]
        other._packets = deepcopy(self._packets, {id(self.system): self.system})
        return other

    @property
    def situation(self) -> Hashable:
        """Equal for two runs of the same length if the same actions can follow, and violate the same properties."""
        return len(self.steps), self.state, self.monitor_state, self._packets.flight.all

    def _packet(self, wanted: ShownAction) -> PacketId | None:
        """The packet that the wanted action takes."""
        packet = wanted.packet
        if packet is None:
            return None
        return PacketId((self._number[packet.source], self._number[packet.destination]), packet.number)

    def _is(self, step: LocalStep, wanted: ShownAction) -> bool:
        """True if the step has the input of that action."""
        action = step.action
        if (action.process, action.by_channel) != (self._number[wanted.process], wanted.by_channel):
            return False
        packet = self._packet(wanted)
        if packet is not None:
            named = not action.by_channel or action.name == wanted.action
            may_take = self._packets.may_take(step)
            known = packet in may_take if packet.number else any(one.link == packet.link for one in may_take)
            return known and named
        if action.packet is not None or action.name != wanted.action:
            return False
        if action.name != "send" or action.message is None:
            return True
        to = tuple(sorted(self._number[name] for name in wanted.to))
        return action.message.receivers == to


def _as_wanted(action: ShownAction, wanted: ShownAction) -> bool:
    """True if they are the same but for the numbers of packets: which packet it is was compared before. An outcome that
    is not recorded may be any.
    """
    if not wanted.outcome:
        action = replace(action, outcome=0)
    return _without_numbers(action) == _without_numbers(wanted)


def _is_sent(events: Iterable[tuple[object, ...]]) -> bool:
    """True if a message is sent now: neither queued, nor kept by the application."""
    return any(kind == "send" for kind, *_ in events)


def _without_numbers(action: ShownAction) -> ShownAction:
    packet = None if action.packet is None else replace(action.packet, number=0)
    return replace(action, packet=packet, transmits=tuple(replace(one, number=0) for one in action.transmits))
