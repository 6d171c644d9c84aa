"""The reasons why a row of a log is unusable: a table of kinds, each with its one sentence and its hint."""

from __future__ import annotations

from dataclasses import dataclass

from crownless.spec.errors import BadInput

#: No process has more events than this.
MOST_INDEX = (1 << 63) - 1
KINDS = ("send", "deliver", "receive", "internal")

ONE_A_LINE = "give one event a line, as a JSON object"
OWN_INDEX = "number the events of a process 0, 1, 2, … and distinguish runs by 'run'"
OWN_NAME = "give each message of a run a name of its own"
FROM_0 = "count the events of a process from 0"

Fact = str | int | tuple[str, ...]


@dataclass(frozen=True)
class ReasonKind:
    """A kind of reason: the names of its facts, and its sentence and hint, in which they stand by name.

    Called with its facts, it is the reason; of several names as one fact `between` stands between two.
    """

    name: str
    facts: str
    text: str
    hint: str = ""
    between: str = ", "

    def __call__(self, *facts: Fact) -> Reason:
        return Reason(self, facts)


@dataclass(frozen=True)
class Reason:
    """Why a row is unusable: `text` says it, `hint` how to fix it."""

    kind: ReasonKind
    facts: tuple[Fact, ...]

    def __post_init__(self) -> None:
        assert len(self.facts) == len(self.kind.facts.split()), self

    @property
    def text(self) -> str:
        return self._filled(self.kind.text)

    @property
    def hint(self) -> str:
        return self._filled(self.kind.hint)

    def _filled(self, pattern: str) -> str:
        facts = [self.kind.between.join(fact) if isinstance(fact, tuple) else fact for fact in self.facts]
        return pattern.format_map(dict(zip(self.kind.facts.split(), facts, strict=True)))


class UnusableRow(BadInput):
    """A row that is no event, for this reason."""

    def __init__(self, reason: Reason, *, column: int | None = None) -> None:
        super().__init__(reason.text, hint=reason.hint, column=column)
        self.reason = reason


#: Of a row alone.
NotJson = ReasonKind("NotJson", "problem", "not JSON: {problem}", ONE_A_LINE)
NotAnObject = ReasonKind("NotAnObject", "value", "{value} is not an event", ONE_A_LINE)
MissingField = ReasonKind("MissingField", "key meaning", "'{key}' is missing", "give {meaning}")
BadField = ReasonKind("BadField", "key value meaning", "'{key}' cannot be {value}", "give {meaning}")
NegativeIndex = ReasonKind("NegativeIndex", "index", "'index' is {index}", FROM_0)
LargeIndex = ReasonKind("LargeIndex", "", f"'index' is more than {MOST_INDEX:,}", FROM_0)
UnknownKind = ReasonKind(
    "UnknownKind", "kind", "unknown kind '{kind}'",
    f"known: {', '.join(KINDS)}; if the log calls one of them so: --kind {{kind}}=THAT",
)  # fmt: skip
NoReceiver = ReasonKind(
    "NoReceiver", "process message", "{process} sends {message} to nobody", "name a receiver in 'peer'"
)
ReceiverTwice = ReasonKind(
    "ReceiverTwice", "process message receiver", "{process} sends {message} to {receiver} twice",
    "name each receiver once in 'peer'",
)  # fmt: skip
ByClock = ReasonKind("ByClock", "problem", "{problem}")

#: Of rows of one run.
Copy = ReasonKind(
    "Copy", "process index", "{process} has two events {index}, one a copy of the other",
    "give each event once, and distinguish runs by 'run'",
)  # fmt: skip
TwoEvents = ReasonKind("TwoEvents", "process index", "{process} has two events {index}", OWN_INDEX)
SentTwice = ReasonKind("SentTwice", "message", "{message} is sent twice", OWN_NAME)
DeliveredTwice = ReasonKind("DeliveredTwice", "process message", "{process} delivers {message} twice", OWN_NAME)
SendersDiffer = ReasonKind(
    "SendersDiffer", "message senders", "{message} is said to be sent by {senders}",
    "correct the 'peer' of the deliver, or leave it out", " and by ",
)  # fmt: skip
NotAReceiver = ReasonKind(
    "NotAReceiver", "process message receivers", "{process} delivers {message}, which is sent to {receivers}",
    "name {process} in the 'peer' of the send",
)  # fmt: skip
#: The rows form a cycle, in words; they are on no single line.
Cyclic = ReasonKind("Cyclic", "problem", "{problem}")

#: Of a complete log, in which the system is at fault, not the log.
NeverSent = ReasonKind("NeverSent", "process message", "{process} delivers {message}, which nobody has sent")
NeverDelivered = ReasonKind(
    "NeverDelivered", "process message receiver", "{receiver} never delivers {message}, which {process} sends to it"
)
NeverDeliveredAnywhere = ReasonKind(
    "NeverDeliveredAnywhere", "process message", "{message}, which {process} sends, is never delivered"
)

#: Of a run that is still going on, or read block by block.
BeforeFirst = ReasonKind(
    "BeforeFirst", "process index first", "{process} has an event {index}, but events count from {first}"
)
AfterEnd = ReasonKind("AfterEnd", "", "it came after the run had ended")

KINDS_OF_REASONS = [kind for kind in list(globals().values()) if isinstance(kind, ReasonKind)]
