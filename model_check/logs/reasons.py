"""The reasons why a row of a log is unusable, each with its one sentence, and how to fix it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from crownless.spec.errors import BadInput, unknown_name
from crownless.spec.printable import printable_name

#: No process has more events than this.
MOST_INDEX = (1 << 63) - 1
KINDS = ("send", "deliver", "receive", "internal")

ONE_A_LINE = "give one event a line, as a JSON object"
OWN_INDEX = "number the events of a process 0, 1, 2, … and distinguish runs by 'run'"
OWN_NAME = "give each message of a run a name of its own"


@dataclass(frozen=True)
class Reason:
    """Why a row is unusable: `text` says it, `hint` how to fix it.

    Most reasons say both in a pattern, in which their facts stand by name.
    """

    TEXT: ClassVar[str]
    HINT: ClassVar[str] = ""

    @property
    def text(self) -> str:
        return self.TEXT.format_map(asdict(self))

    @property
    def hint(self) -> str:
        return self.HINT.format_map(asdict(self))

    def json(self) -> str:
        """The reason with its facts; `reason_in` reads it."""
        return json.dumps({"reason": type(self).__name__, **asdict(self)})


def reason_in(text: str) -> Reason:
    """The reason in the JSON of `Reason.json`."""
    facts: dict[str, Any] = json.loads(text)
    kind = _KINDS_OF_REASONS[facts.pop("reason")]
    return kind(**{name: tuple(fact) if isinstance(fact, list) else fact for name, fact in facts.items()})


def unknown_kind(kind: str, known: Iterable[str] = KINDS) -> BadInput:
    """A kind of event that is none, unless the log calls one so."""
    problem = unknown_name("kind", kind, known)
    called = f"if the log calls one of them so: --kind {printable_name(kind)}=THAT"
    return BadInput(problem.message, hint=f"{problem.hint}; {called}")


class UnusableRow(BadInput):
    """A row that is no event, for this reason."""

    def __init__(self, reason: Reason, *, column: int | None = None) -> None:
        super().__init__(reason.text, hint=reason.hint, column=column)
        self.reason = reason


# -- of a row alone ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NotJson(Reason):
    """The line is not JSON."""

    TEXT = "not JSON: {problem}"
    HINT = ONE_A_LINE

    problem: str


@dataclass(frozen=True)
class UnreadableJson(Reason):
    """The line is JSON that Python does not read."""

    TEXT = "not JSON that can be read: a number too long or a nesting too deep"
    HINT = ONE_A_LINE


@dataclass(frozen=True)
class NotAnObject(Reason):
    """The line is JSON and no object; `value` in words."""

    TEXT = "{value} is not an event"
    HINT = ONE_A_LINE

    value: str


@dataclass(frozen=True)
class MissingField(Reason):
    """A field that an event has is missing; `meaning` says what it holds."""

    TEXT = "'{key}' is missing"
    HINT = "give {meaning}"

    key: str
    meaning: str


@dataclass(frozen=True)
class BadField(Reason):
    """A field has a value that it cannot have, in words; `meaning` says what it holds."""

    TEXT = "'{key}' cannot be {value}"
    HINT = "give {meaning}"

    key: str
    value: str
    meaning: str


@dataclass(frozen=True)
class BadIndex(Reason):
    """An index is negative or too large."""

    HINT = "count the events of a process from 0"

    index: int

    @property
    def text(self) -> str:
        return f"'index' is {self.index if self.index < 0 else f'more than {MOST_INDEX:,}'}"


@dataclass(frozen=True)
class UnknownKind(Reason):
    """An event is of no kind that events have."""

    kind: str

    @property
    def text(self) -> str:
        return unknown_kind(self.kind).message

    @property
    def hint(self) -> str:
        return unknown_kind(self.kind).hint


@dataclass(frozen=True)
class NoReceiver(Reason):
    """A send names no receiver."""

    HINT = "name a receiver in 'peer'"

    process: str
    message: str

    @property
    def text(self) -> str:
        return f"{self.process} sends {self.message or 'a message'} to nobody"


@dataclass(frozen=True)
class ReceiverTwice(Reason):
    """A send names a receiver twice."""

    HINT = "name each receiver once in 'peer'"

    process: str
    message: str
    receiver: str

    @property
    def text(self) -> str:
        return f"{self.process} sends {self.message or 'a message'} to {self.receiver} twice"


@dataclass(frozen=True)
class ByClock(Reason):
    """The vector clock of an event cannot be used."""

    TEXT = "{problem}"

    problem: str


# -- of rows of one run ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Copy(Reason):
    """The row repeats another one."""

    TEXT = "{process} has two events {index}, one a copy of the other"
    HINT = "give each event once, and distinguish runs by 'run'"

    process: str
    index: int


@dataclass(frozen=True)
class TwoEvents(Reason):
    """Two different events have the same place."""

    TEXT = "{process} has two events {index}"
    HINT = OWN_INDEX

    process: str
    index: int


@dataclass(frozen=True)
class SentTwice(Reason):
    """Two events send the message."""

    TEXT = "{message} is sent twice"
    HINT = OWN_NAME

    message: str


@dataclass(frozen=True)
class DeliveredTwice(Reason):
    """Two events of one process deliver the message."""

    TEXT = "{process} delivers {message} twice"
    HINT = OWN_NAME

    process: str
    message: str


@dataclass(frozen=True)
class SendersDiffer(Reason):
    """The rows about the message name these senders."""

    HINT = "correct the 'peer' of the deliver, or leave it out"

    message: str
    senders: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{self.message} is said to be sent by {' and by '.join(self.senders)}"


@dataclass(frozen=True)
class NotAReceiver(Reason):
    """A process delivers the message, which is sent to others."""

    HINT = "name {process} in the 'peer' of the send"

    process: str
    message: str
    receivers: tuple[str, ...]

    @property
    def text(self) -> str:
        return f"{self.process} delivers {self.message}, which is sent to {', '.join(self.receivers)}"


@dataclass(frozen=True)
class Cyclic(Reason):
    """The rows of a run form a cycle, in words; they are on no single line."""

    TEXT = "{problem}"

    problem: str


# -- of a run of a complete log, in which they are the system's doing --------------------------------------------------


@dataclass(frozen=True)
class NeverSent(Reason):
    """A process delivers a message that nobody has sent."""

    TEXT = "{process} delivers {message}, which nobody has sent"

    process: str
    message: str


@dataclass(frozen=True)
class NeverDelivered(Reason):
    """A message is not delivered at a receiver; None if the send names none, and nobody delivers it."""

    process: str
    message: str
    receiver: str | None

    @property
    def text(self) -> str:
        if self.receiver is None:
            return f"{self.message}, which {self.process} sends, is never delivered"
        return f"{self.receiver} never delivers {self.message}, which {self.process} sends to it"


# -- of a run that is still going on, or read block by block -----------------------------------------------------------


@dataclass(frozen=True)
class BeforeFirst(Reason):
    """The event is before the first one of its process, which has the index `first`."""

    TEXT = "{process} has an event {index}, but events count from {first}"

    process: str
    index: int
    first: int


@dataclass(frozen=True)
class AfterEnd(Reason):
    """The event came after its run had been judged."""

    TEXT = "it came after the run had ended"


_KINDS_OF_REASONS = {kind.__name__: kind for kind in Reason.__subclasses__()}
