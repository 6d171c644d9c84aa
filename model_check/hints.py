"""Hints at what is often forgotten in a protocol of one's own: application events, and several receivers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from crownless.impl.registry import is_bundled
from crownless.spec.printable import printable_name

from .properties import DELIVERS_ONCE, DELIVERS_SOMETHING, NEVER_BLOCKS

if TYPE_CHECKING:
    from .check_result import CheckResult
    from .runs import Run


#: A send event that no step has in so many states is one that the protocol lacks.
STATES_LOOKED_AT = 1_000


def hints(result: CheckResult) -> Iterator[str]:
    """What a protocol of the user's own seems to lack, a line each."""
    if is_bundled(type(result.machine)) or result.exploration.stopped:
        return
    violations, found = result.violations, result.exploration
    if NEVER_BLOCKS.name in violations and "send" in found.actions and not _is_ever_sent(result):
        yield (
            "no message is ever sent, as the application sees it: list cr.sent(message) in the events of the step that "
            "sends it"
        )
    if DELIVERS_SOMETHING.name not in found.reached and "send" in found.actions:
        yield (
            "nothing is ever delivered: list cr.delivered(message) in the events of the step with which an application "
            "gets a message"
        )
    misdelivered = violations.get(DELIVERS_ONCE.name)
    if misdelivered is not None and misdelivered.run is not None:
        yield from _elsewhere(misdelivered.run)


def _is_ever_sent(result: CheckResult) -> bool:
    """True if a step has a send event, of those in the nearest states."""
    return any(
        seen.kind == "send"
        for reached in islice(result.states(), STATES_LOOKED_AT)
        for step, _ in reached.moves
        for seen in step.observations
    )


def _elsewhere(run: Run) -> Iterator[str]:
    """A message that is delivered where it is not addressed to."""
    receivers = {action.message: action.to for action in run.actions if action.action == "send"}
    for action in run.actions:
        for kind, message in action.happened:
            to = receivers.get(message, ())
            if kind == "deliver" and to and action.process not in to:
                name, where, others = printable_name(message), printable_name(action.process), ", ".join(to)
                yield (
                    f"{name} is for {others} and is delivered at {where}: if messages have several receivers, say so "
                    'in the class: sends = "broadcast", or "multicast"'
                )
                return
