"""Hints at what is often forgotten in a protocol of one's own: application events, and several receivers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from crownless.impl.protocol import ProtocolMachine, is_arrival
from crownless.impl.registry import is_bundled
from crownless.model_check.system.properties import DELIVERS_ONCE, DELIVERS_SOMETHING, NEVER_BLOCKS
from crownless.spec.printable import printable_name

if TYPE_CHECKING:
    from crownless.model_check.runs.runs import Run

    from .check_result import CheckResult


#: In so many states a send event is looked for.
STATES_LOOKED_AT = 1_000


def hints(result: CheckResult) -> Iterator[str]:
    """What a protocol of the user's own seems to lack, a line each."""
    if is_bundled(type(result.machine)) or result.exploration.stopped:
        return
    violations, found = result.violations, result.exploration
    delivers = DELIVERS_SOMETHING.name in found.reached and DELIVERS_ONCE.name not in violations
    if NEVER_BLOCKS.name in violations and "send" in found.actions and not delivers and not _is_ever_sent(result):
        yield (
            "no message is ever sent, as the application sees it: list cr.sent(message) in the events of the step that "
            "sends it"
        )
    if DELIVERS_SOMETHING.name not in found.reached and any(map(is_arrival, found.actions)):
        yield (
            "nothing is ever delivered: list cr.delivered(message) in the events of the step with which an application "
            "gets a message"
        )
    misdelivered = violations.get(DELIVERS_ONCE.name)
    if misdelivered is not None and misdelivered.run is not None:
        yield from _elsewhere(misdelivered.run, result.machine)


def _is_ever_sent(result: CheckResult) -> bool:
    """True if a step has a send event, of those in the nearest states; also if there are more states than those."""
    looked_at = 0
    for reached in islice(result.states(), STATES_LOOKED_AT):
        looked_at += 1
        if any(seen.kind == "send" for step, _ in reached.moves for seen in step.observations):
            return True
    return looked_at == STATES_LOOKED_AT


def _elsewhere(run: Run, machine: ProtocolMachine) -> Iterator[str]:
    """A message that is delivered where it is not addressed to."""
    addressed = {action.message: (action.process, action.to) for action in run.actions if action.action == "send"}
    for action in run.actions:
        for kind, message in action.happened:
            sender, to = addressed.get(message, (None, ()))
            if kind != "deliver" or not to or action.process in to:
                continue
            if machine.sends == "unicast":
                fix = 'if messages have several receivers, say so in the class: sends = "broadcast", or "multicast"'
            elif action.process == sender and machine.admits_self_sends:
                fix = "if senders deliver their own messages, give --self-sends"
            elif action.process == sender:
                fix = (
                    "if senders deliver their own messages, say so in the class: admits_self_sends = True; and give "
                    "--self-sends"
                )
            else:
                fix = "deliver a message only at message.receivers"
            name, others = printable_name(message), ", ".join(map(printable_name, to))
            yield f"{name} is for {others} and is delivered at {printable_name(action.process)}: {fix}"
            return
