"""The findings of a search by any engine, and how it reports its progress."""

from collections.abc import Callable
from dataclasses import dataclass, field

from crownless.runtime.printable import in_brackets, some

from .properties import NEVER_BLOCKS


@dataclass
class Exploration:
    """The findings of a search. Counts are of distinct global states; `nodes` counts them with their monitor states.

    `violated`: property → the length of a shortest run that violates it. `reached`: the `sometimes` properties seen.
    `blocked`: for a program, where incomplete runs end: what each unfinished process waits for.
    `blocked_at`: in the free workload, process → the length of a shortest run that ends where it cannot send more.
    `senders`: the processes whose protocol accepts a send in some state; others cannot be blocked.
    `stopped`: why the search is not complete, or None if it is.
    """

    states: int = 0
    transitions: int = 0
    depth: int = 0
    terminal_states: int = 0
    nodes: int = 0
    seconds: float = 0.0
    graded: bool = True
    violated: dict[str, int] = field(default_factory=dict)
    reached: set[str] = field(default_factory=set)
    blocked: set[tuple[str, ...]] = field(default_factory=set)
    blocked_at: dict[int, int] = field(default_factory=dict)
    senders: set[int] = field(default_factory=set)
    stopped: str | None = None
    #: The number of new states in each level.
    levels: list[int] = field(default_factory=list)
    #: True if it is known that no run returns to a state, as in a graded space.
    acyclic: bool = False
    #: Action coverage: how often each action is enabled, by name, summed over distinct states.
    actions: dict[str, int] = field(default_factory=dict)

    def note_blocked(self, *, at_end: bool = False) -> None:
        """Adds the violation of `never-blocks`, once a process that was blocked is known to be a sender; at the end of
        the search also if no process is one.
        """
        judged = self.senders or (self.blocked_at if at_end else ())
        lengths = [length for process, length in self.blocked_at.items() if process in judged]
        if lengths:
            self.violated[NEVER_BLOCKS.name] = min([*lengths, self.violated.get(NEVER_BLOCKS.name, lengths[0])])

    def __repr__(self) -> str:
        violated = f", violates {', '.join(self.violated)}" if self.violated else ""
        stopped = f", {self.stopped}" if self.stopped else ""
        return in_brackets(f"{some(self.states, 'state')}, {some(self.transitions, 'transition')}{violated}{stopped}")


#: Why a search for one violation ended.
FIRST_VIOLATION = "only the first violation was requested"

Progress = Callable[[Exploration, int], None]
