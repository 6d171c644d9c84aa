"""Logical clocks as monitors: each process carries one, and a message that arrives stale by it is reported."""

from typing import Any

from crownless.impl.renaming import Renaming
from crownless.spec.clocks import Clock

from .monitors import Monitor, MonitorState, Observation


class Clocks(Monitor):
    """Reports a message that arrives at a process whose time is already greater than its stamp (`spec.clocks`).

    Monitor state: the time of each process, and the stamps of the messages that are not yet received everywhere, with
    their remaining receivers.
    """

    def __init__(self, n: int, clock: Clock) -> None:
        self.n = n
        self.clock = clock
        self.watches = (clock.name,)

    def initial(self) -> MonitorState:
        return (self.clock.start(self.n),) * self.n, frozenset()

    def encode(self, observation: Observation) -> Observation | None:
        return None if observation.kind == "hand" else observation

    def observe(self, monitor_state: Any, code: Observation) -> tuple[MonitorState, tuple[str, ...]]:
        kind, p, message = code
        times, open_copies = monitor_state
        if kind == "send":
            time = self.clock.after_event(times[p], p)
            return (self._at(times, p, time), open_copies | {(message, q, time) for q in message.receivers}), ()
        copy = next((copy for copy in open_copies if copy[:2] == (message, p)), None)
        if copy is None:
            return monitor_state, ()  # `DeliveryMonitor` reports second deliveries
        stamp = copy[2]
        late = (self.clock.name,) if self.clock.is_stale(stamp, times[p]) else ()
        return (self._at(times, p, self.clock.after_receiving(times[p], p, stamp)), open_copies - {copy}), late

    def renamed(self, monitor_state: Any, renaming: Renaming) -> MonitorState:
        times, open_copies = monitor_state
        return (
            renaming.vector([_renamed(time, renaming) for time in times]),
            frozenset((renaming.message(m), renaming.image[q], _renamed(time, renaming)) for m, q, time in open_copies),
        )

    @staticmethod
    def _at(times: tuple[Any, ...], p: int, time: Any) -> tuple[Any, ...]:
        return (*times[:p], time, *times[p + 1 :])


def _renamed(time: Any, renaming: Renaming) -> Any:
    """A vector has an entry for each process; a number does not depend on process names."""
    return renaming.vector(time) if isinstance(time, tuple) else time
