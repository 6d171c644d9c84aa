"""The options of `crownless check` and `cr.check`: what is checked, and how it is searched."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from crownless.model_check.search.engines import MAX_WORKERS, RemoteEngine
from crownless.model_check.system.exploration import Exploration
from crownless.model_check.system.request import Check
from crownless.runtime.requests import Limited, option


@dataclass(frozen=True, kw_only=True)
class HowToSearch(Limited):
    """How a check is searched: by which engine, until when, and where the search is saved."""

    first: bool = field(
        default=False,
        metadata=option(
            "Stop at the shortest violation; properties that no run of its length violates stay unknown.",
            "flag",
            "--first",
        ),
    )
    engine: str | None = field(
        default=None,
        metadata=option(
            "plain, native or spark.  [default: plain for small searches, native for others]", "name", "--engine"
        ),
    )
    reductions: Sequence[str] = field(
        default=(),
        metadata=option(
            "symmetry (merge states that differ only in names) or all.", "names", "--reduce", metavar="REDUCTION"
        ),
    )
    workers: int | None = field(
        default=None,
        metadata=option(
            "Threads of the native engine, or partitions on Spark.  [default: one per processor]",
            "number",
            "--workers",
            most=MAX_WORKERS,
        ),
    )
    max_states: int | None = field(
        default=None, metadata=option("Stop after this many states.", "number", "--max-states")
    )
    checkpoint: str | os.PathLike[str] | None = field(
        default=None,
        metadata=option("Save the search in this new or empty directory.", "folder", "--checkpoint", metavar="DIR"),
    )
    resume: str | os.PathLike[str] | None = field(
        default=None, metadata=option("Resume the search saved in this directory.", "folder", "--resume", metavar="DIR")
    )
    elsewhere: RemoteEngine | None = field(
        default=None, metadata=option("Where the engine spark runs, such as `OnSpark()`.")
    )
    progress: Callable[[Exploration, int], None] | None = field(
        default=None, metadata=option("Is called with the findings so far and the level.")
    )

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of `run_check`: the limits, and every other option by its name."""
        names = [one.name for one in fields(HowToSearch) if not one.name.startswith("max_")]
        return {"limits": self.limits, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class CheckRequest(HowToSearch, Check):
    """What is checked, and how it is searched."""
