"""The few of many inductive clauses that safety rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Clause = TypeVar("Clause")


class Needed(Generic[Clause]):
    """`core(stage, clause, given)`: those of what is given that show that the clause holds at this stage, the start or
    a step; None if they do not show it. `safe(given)`: True if these show safety.
    """

    def __init__(
        self,
        stages: int,
        core: Callable[[int, Clause, Sequence[Clause]], list[Clause] | None],
        safe: Callable[[Sequence[Clause]], bool],
        report: Callable[[str], None],
    ) -> None:
        self.stages, self.core, self.safe, self.report = stages, core, safe, report

    def kept_by(self, clause: Clause, given: Sequence[Clause]) -> list[Clause] | None:
        """Those of what is given that are used to show that it holds at the start and is kept; None if it is not."""
        used: list[Clause] = []
        for stage in range(self.stages):
            because = self.core(stage, clause, given)
            if because is None:
                return None
            used += [each for each in because if each not in used]
        return used

    def closed(self, some: Sequence[Clause], given: Sequence[Clause]) -> list[Clause]:
        """With all that is used to show that they are kept."""
        closed, waiting = list(some), list(some)
        while waiting:
            self.report(f"{len(closed)} invariants are needed, {len(waiting)} of them to be shown")
            clause = waiting.pop(0)
            if self.kept_by(clause, closed) is None:
                for each in self.kept_by(clause, given) or []:
                    if each not in closed:
                        closed.append(each)
                        waiting.append(each)
        return closed

    def irreducible(self, some: Sequence[Clause]) -> list[Clause]:
        """Without any of them that can be left out, as long as the rest keeps itself and shows safety."""
        needed, before = list(some), len(some) + 1
        while len(needed) < before:
            before = len(needed)
            for clause in needed[::-1]:
                self.report(f"{len(needed)} invariants are enough")
                fewer = [each for each in needed if each != clause]
                if self.safe(fewer) and all(self.kept_by(each, fewer) is not None for each in fewer):
                    needed = fewer
        return needed
