"""A computation to be classified: its file and run, its missing events, and how it was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from crownless.drawing.diagram import Diagram
from crownless.drawing.emphasis import diagram_of
from crownless.runtime.printable import in_brackets, printable, some
from crownless.spec.computation import Computation
from crownless.spec.delivery_disorder import ProcessSummary, summaries
from crownless.spec.drawn import Drawn

from .delivery import Delivery
from .lost_events import Hole
from .uncertain import CERTAIN, Uncertain

NO_INDEX = (
    "'index' looks like a timestamp, not like the numbers 0, 1, 2, … of each process's events; to order by it, name "
    "its column: --order-by THAT"
)
FROM_ONE = "indices were taken to count from 1: no event of this run has index 0"


@dataclass(frozen=True)
class NamedComputation(Drawn):
    """A computation to be classified, with its file and run, its missing events, and the assumptions made."""

    file: str
    run: str | None
    computation: Computation
    holes: tuple[Hole, ...] = ()
    notes: tuple[str, ...] = ()
    uncertain: Uncertain = CERTAIN
    #: Names of messages and receivers that may have delivered them in a hole.
    perhaps_received: tuple[tuple[str, str], ...] = ()
    #: For a run of a complete log, how it delivers its messages.
    delivery: Delivery | None = None
    #: For each event of a log its line.
    event_lines: tuple[int, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        where = ", ".join(part for part in (self.file, self.run) if part)
        lacks = f", {some(len(self.holes), 'hole')}" if self.holes else ""
        return in_brackets(f"{where or 'computation'}: {some(self.messages, 'message')}{lacks}")

    def __str__(self) -> str:
        return "\n".join([str(self.computation), *(printable(hole.text) for hole in self.holes)])

    def diagrams(self, highlight: str | None = None) -> Iterator[Diagram]:
        """The diagram of the computation, with the name of its run."""
        yield diagram_of(self.computation, self.run or "", highlight)

    @property
    def processes(self) -> int:
        return len(self.computation.processes)

    @property
    def messages(self) -> int:
        """The number of messages sent, including those that only a hole may have delivered."""
        return len({*(m.name for m in self.computation.messages), *(name for name, _ in self.perhaps_received)})

    @property
    def events(self) -> int:
        return self.computation.event_count

    @property
    def unreceived(self) -> tuple[tuple[str, str], ...]:
        """Each message and receiver that does not receive it, by name."""
        c = self.computation
        return tuple((c.messages[m].name, c.processes[q]) for m, q in c.unreceived)

    @property
    def unicasts(self) -> bool:
        """True if each message has one receiver."""
        return self.computation.unicasts

    @property
    def recorded_order(self) -> Sequence[int]:
        """All events in the order of the log's lines, as far as happened-before allows it; without a log, in any order
        that it allows.
        """
        c = self.computation
        return c.linearization_by(self.event_lines) if self.event_lines else c.linearization

    @property
    def by_process(self) -> tuple[ProcessSummary, ...] | None:
        """Each process, and how far its deliveries are out of order; None if the computation is too large."""
        return summaries(self.computation)
