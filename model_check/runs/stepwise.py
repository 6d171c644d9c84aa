"""Runs of a system made step by step: by random choices, or by following a saved run."""

from crownless.model_check.system.system import LocalStep, State, System

from .runs import Links, Run, ShownAction, run_of


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
        self._links = Links()
        self._wanted_links: Links = Links()

    def follow(self, wanted: ShownAction, *, exactly: bool = True) -> LocalStep | None:
        """Takes the step of that action, if possible. Unless `exactly`, its outcome may differ."""
        number = 0
        if wanted.packet is not None:
            number = wanted.packet.number or self._wanted_links.taken(wanted.packet, wanted.action)
        alike = [move for move in self.system.moves(self.state) if self._is(move[0], wanted, number)]
        same = [move for move in alike if self._run([move[0]]).actions[-1] == wanted]
        if not same and (exactly or not alike):
            return None
        step, target = (same or alike)[0]
        for packet in wanted.transmits:
            self._wanted_links.transmitted(packet)
        if step.action.packet is not None:
            self._links.taken(step.action.packet, step.action.name)
        for sent in self.system.transmitted(step):
            self._links.transmitted(sent)
        self.take(step, target)
        return step

    def _is(self, step: LocalStep, wanted: ShownAction, number: int) -> bool:
        """True if the step has the input of that action."""
        action = step.action
        if (action.process, action.by_channel) != (self._number[wanted.process], wanted.by_channel):
            return False
        if wanted.packet is not None:
            packet = self._links.packet(self._number[wanted.packet.source], action.process, number)
            named = not action.by_channel or action.name == wanted.action
            return packet is not None and action.packet == packet and named
        if action.packet is not None or action.name != wanted.action:
            return False
        if action.name != "send" or action.message is None:
            return True
        to = tuple(sorted(self._number[name] for name in wanted.to))
        kept = [any(kind == "send" for kind, *_ in events) for events in (step.observations, wanted.happened)]
        return action.message.receivers == to and kept[0] == kept[1]
