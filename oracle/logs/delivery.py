"""The deliveries of a run of a complete log, and what is wrong with them."""

from dataclasses import dataclass
from typing import Any, Literal

from crownless.model_check.system.properties import DELIVERS_ALL, DELIVERS_ONCE

from . import reasons

#: The properties that are decided for a run of a complete log.
PROPERTIES = (DELIVERS_ONCE.name, DELIVERS_ALL.name)
LEFT_OUT = (
    "orders are judged without the deliveries that violate delivers-once; of several by one process the first counts"
)
#: The most lines of one violation that are named in a sentence.
LINES_UP_TO = 10


@dataclass(frozen=True)
class DeliveryViolation:
    """A violation by one process and one message: the property, and the lines of the log that show it.

    `process` is None for a message without a named receiver that is delivered nowhere; `by`: the unit of the numbers.
    """

    violates: str
    reason: reasons.Reason
    message: str
    process: str | None
    lines: tuple[int, ...]
    by: Literal["line", "row"] = "line"

    @property
    def text(self) -> str:
        *rest, last = [f"{line:,}" for line in self.lines[:LINES_UP_TO]]
        if len(self.lines) > LINES_UP_TO:
            rest, last = [*rest, last], f"{len(self.lines) - LINES_UP_TO:,} more"
        where = f"{self.by}s {', '.join(rest)} and {last}" if rest else f"{self.by} {last}"
        return f"{self.reason.text}: {where}"

    def json(self) -> dict[str, Any]:
        return {
            "reason": self.reason.kind.name,
            "message": self.message,
            "process": self.process,
            f"{self.by}s": list(self.lines),
            "text": self.text,
        }


@dataclass(frozen=True)
class Delivery:
    """How a run of a complete log delivers its messages: all violations of `PROPERTIES`."""

    violations: tuple[DeliveryViolation, ...] = ()
    #: The properties that cannot be known to hold: rows were left out, or the log does not name receivers.
    not_known: tuple[str, ...] = ()
    #: True if no message is sent: the properties have nothing to judge.
    is_empty: bool = False

    def of(self, name: str) -> tuple[DeliveryViolation, ...]:
        """The violations of the property of that name."""
        return tuple(one for one in self.violations if one.violates == name)

    def outcome(self, name: str) -> Literal["violated", "unknown", "nothing", "holds"]:
        """The verdict on the property of that name."""
        if self.of(name):
            return "violated"
        return "unknown" if name in self.not_known else "nothing" if self.is_empty else "holds"

    @property
    def violated(self) -> list[str]:
        """The names of the properties that are violated."""
        return [name for name in PROPERTIES if self.of(name)]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how the orders were judged."""
        return (LEFT_OUT,) if self.of(DELIVERS_ONCE.name) else ()

    def json(self) -> dict[str, Any]:
        return {
            name: {"verdict": self.outcome(name), "violations": [one.json() for one in self.of(name)]}
            for name in PROPERTIES
        }
