"""Runs of a system made step by step: by random choices, or by following a saved run."""

from dataclasses import replace

from crownless.model_check.system.system import LocalStep, State, System

from .packets import PacketId, PacketTracker
from .runs import Run, ShownAction, run_of


class StepwiseRun:
    """A run that is extended step by step, with the properties that it violates on the way."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.state: State = system.initial()
        self.monitor_state = system.initial_monitor_state()
        self.steps: list[LocalStep] = []
        self.broken: list[str] = []

    def take(self, step: LocalStep, target: State) -> None:
        """Extends the run by one of the moves of its last state."""
        self.monitor_state, broken = self.system.evaluate(self.monitor_state, step)
        self.broken += broken
        self.state = target
        self.steps.append(step)

    @property
    def run(self) -> Run:
        """The whole run so far."""
        return self._run([])

    def _run(self, further: list[LocalStep]) -> Run:
        return run_of(self.system, [*self.steps, *further], end=self.state)


class Follower(StepwiseRun):
    """Follows a saved run, of the same system or of a similar one. A packet is identified by its link and its number
    there: its content may be different now."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self._number = {name: p for p, name in enumerate(system.workload.processes)}
        self._packets = PacketTracker(system)

    def follow(self, wanted: ShownAction, *, exactly: bool = True) -> LocalStep | None:
        """Takes the step of that action, if possible. Unless `exactly`, its outcome may differ."""
        alike = [move for move in self.system.moves(self.state) if self._is(move[0], wanted)]
        same = [move for move in alike if _as_wanted(self._run([move[0]]).actions[-1], wanted)]
        if not same and (exactly or not alike):
            return None
        step, target = (same or alike)[0]
        self._packets.follow(step, self._packet(wanted))
        self.take(step, target)
        return step

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
            return packet in self._packets.may_take(step) and named
        if action.packet is not None or action.name != wanted.action:
            return False
        if action.name != "send" or action.message is None:
            return True
        to = tuple(sorted(self._number[name] for name in wanted.to))
        kept = [any(kind == "send" for kind, *_ in events) for events in (step.observations, wanted.happened)]
        return action.message.receivers == to and kept[0] == kept[1]


def _as_wanted(action: ShownAction, wanted: ShownAction) -> bool:
    """True if they are the same but for the numbers of packets: which packet it is was compared before."""
    return _without_numbers(action) == _without_numbers(wanted)


def _without_numbers(action: ShownAction) -> ShownAction:
    packet = None if action.packet is None else replace(action.packet, number=0)
    return replace(action, packet=packet, transmits=tuple(replace(one, number=0) for one in action.transmits))
