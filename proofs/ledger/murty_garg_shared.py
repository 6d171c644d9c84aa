"""Definitions that the claims of [MG] share: bounds, and how their scope is printed."""

from __future__ import annotations

from crownless.model_check.runs import Run
from crownless.spec.computation import Computation

from .claims import Shown

ANY_NUMBER = "any number of processes and messages"
FOR_EVERY_N = (
    "any number of processes and messages, any reliable channel; of the stages of a message, of which each step "
    "of the machine is shown to be one"
)


def bound_of(quick: bool) -> tuple[int, int]:
    """Processes and messages of the computations that are enumerated."""
    return (3, 3) if quick else (3, 4)


def computations_up_to(n: int, m: int) -> str:
    return f"every complete computation of up to {n} processes and {m} messages, none to oneself"


def shown(title: str, what: Run | Computation | None, bundled: str | None = None) -> tuple[Shown, ...]:
    return () if what is None else (Shown(title, what, bundled),)


def length(run: Run | None) -> str:
    return "none" if run is None else str(len(run.actions))


CHANNELS = ("unordered", "fifo")


def free_bounds(quick: bool) -> list[tuple[int, int]]:
    return [(3, 4), (4, 3)] if quick else [(3, 5), (4, 4)]


SILENCE = "a process whose send is not acknowledged transmits nothing, and → goes through messages and acknowledgements"
LEFT_TO_THE_FULL_RUN = "the bundled counterexample is verified; that none is smaller is left to the full run"
