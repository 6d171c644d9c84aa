"""Machines that declare their processes alike and treat them differently: in one method, at one process or message.

Each differs from its protocol by one rule that names a process, ranks processes or renames them wrongly. The plain
explorer, which shares nothing between processes, says what holds of it; the native engine must say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from overrides import restamped

from crownless.impl.protocol import AppEvent, ProtocolMachine, Step, delivered
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.protocols.isis import Isis
from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.ses import Ses
from crownless.impl.variant import variant

M = TypeVar("M", bound=type[ProtocolMachine])


def at(process: int, base: M, method: str, does: Callable[..., Any]) -> M:
    """The protocol with a method that does something else at one process; -1: the last."""
    usual = getattr(base, method)

    def differs(self: Any, i: int, *arguments: Any) -> Any:
        return (does if i == process % self.n else usual)(self, i, *arguments)

    overrides: dict[str, Any] = {method: differs}
    return variant(base, **overrides)


def steps_at(process: int, base: M, method: str, then: Callable[[Any, Sequence[Step]], Any]) -> M:
    """The protocol with other outcomes of a method at one process."""
    usual = getattr(base, method)
    return at(process, base, method, lambda self, i, *arguments: then(self, usual(self, i, *arguments)))


def accepts(*_: Any) -> bool:
    return True


def again(step: Step) -> list[AppEvent]:
    return [delivered(event.message) for event in step.events for _ in range(2)]


LastAcceptsAll = at(-1, Rst, "deliverable", accepts)
ThirdMessageOfTheSecond = variant(
    Rst,
    deliverable=lambda self, i, s, packet: (
        (packet.source, i, packet.stamp[1][0]) == (1, 0, 2) or Rst.deliverable(self, i, s, packet)
    ),
)

#: Every machine of this file, by the way in which it treats processes differently; at 3 processes, and with so many
#: messages.
ASYMMETRIC: dict[str, tuple[type[ProtocolMachine], int]] = {
    "the-last-accepts-all": (LastAcceptsAll, 3),
    "one-message-of-the-second-is-let-through": (ThirdMessageOfTheSecond, 4),
    "the-second-does-not-count": (at(1, Rst, "after_sending", lambda self, i, state, j: state), 3),
    "the-last-stamps-zeroes": (
        steps_at(2, Rst, "send", lambda self, steps: restamped(steps, lambda packet: self.initial(0).sent)),
        3,
    ),
    "the-second-delivers-twice": (
        steps_at(1, Rst, "on_packet", lambda self, steps: [step._replace(events=again(step)) for step in steps]),
        3,
    ),
    "stamps-stay-under-one-shift": (
        variant(
            Rst,
            renamed_stamp=lambda self, kind, stamp, renaming: (
                stamp if renaming.image == (2, 0, 1) else Rst.renamed_stamp(self, kind, stamp, renaming)
            ),
        ),
        3,
    ),
    "the-second-starts-late": (
        at(
            1,
            Ses,
            "initial",
            lambda self, i: Ses.initial(self, i)._replace(time=self.ops.vector(lambda k: int(k == 1))),
        ),
        3,
    ),
    "the-buffer-is-not-renamed": (
        variant(Ses, renamed=lambda self, s, renaming: s._replace(time=renaming.vector(s.time))),
        3,
    ),
    "the-last-awaits-nothing": (
        at(-1, Buffer, "internal", lambda self, i, s: Buffer.internal(self, i, s._replace(awaits=None))),
        3,
    ),
    "the-second-takes-the-newest": (
        at(1, Buffer, "receive", lambda self, i, s, q: Buffer.receive(self, i, s._replace(input=s.input[::-1]), q)),
        3,
    ),
    "the-awaited-is-forgotten-by-renaming": (
        variant(
            Buffer,
            renamed=lambda self, s, renaming: Buffer.renamed(self, s, renaming)._replace(
                awaits=None if s.awaits is None else 0
            ),
        ),
        3,
    ),
    "a-witness-of-the-second": (
        variant(Isis, witnesses={"knows-something": lambda machine, i, state: i == 1 and bool(state.buffer)}),
        3,
    ),
}
