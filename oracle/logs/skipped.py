"""The rows that `--skip-bad` leaves out of a log: rows that are not events or contradict each other."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crownless.runtime.errors import BadInput

from .reasons import Copy, Reason, ReasonKind
from .rows import Row, by_run, is_name, without_conflicts


@dataclass
class Quarantine:
    """The rows left out, each with its number and the reason; and what may be missing from the runs because of them."""

    rows: list[tuple[int, Reason]] = field(default_factory=list)
    #: By run, the processes whose events may be missing; None: any.
    processes: dict[str, set[str | None]] = field(default_factory=dict)
    #: The processes of rows that may be of any run.
    of_any_run: set[str | None] = field(default_factory=set)

    def add(self, line: int, fields: Mapping[str, Any], reason: Reason) -> None:
        """Leaves out a row that is not an event, with these fields."""
        run, process = fields.get("run"), fields.get("process")
        known = "" if run in (None, "") and fields else str(run) if type(run) is int or is_name(run) else None
        torn = self.of_any_run if known is None else self.processes.setdefault(known, set())
        torn.add(process if is_name(process) else None)
        self.rows.append((line, reason))

    def without_conflicts(self, run: str, rows: list[Row], but: Collection[ReasonKind] = ()) -> list[Row]:
        """The rows of a run without those that contradict each other in other ways than these."""
        left, conflicts = without_conflicts(rows, but)
        torn = self.processes.setdefault(run, set())
        torn |= {row.process for row, reason, _ in conflicts if reason.kind is not Copy}
        self.rows += [(row.line, reason) for row, reason, _ in conflicts]
        return left

    def usable(self, rows: Iterable[Row], file: str, but: Collection[ReasonKind] = ()) -> dict[str, list[Row]]:
        """The same of each run. Each may lack the rows that name no run.

        Raises `BadInput` if no row is left.
        """
        runs: dict[str, list[Row]] = {}
        for row in rows:
            runs.setdefault(row.run, []).append(row)
        usable = {run: left for run, of_run in runs.items() if (left := self.without_conflicts(run, of_run, but))}
        for run in usable:
            self.processes[run] |= self.of_any_run
        if not usable and self.rows:
            line, reason = self.rows[0]
            problem = f"none of its lines is usable; the first one: {reason.text}"
            raise BadInput(problem, hint=reason.hint, file=file, line=line)
        return usable or by_run((), file)

    def add_run(self, rows: Sequence[Row], reason: Reason) -> None:
        """Leaves out all rows of a run."""
        self.rows += [(row.line, reason) for row in rows]
