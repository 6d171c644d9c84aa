"""The reasons why a row of a log is unusable: a table of kinds, each with one sentence and one hint."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from crownless.runtime.errors import BadInput, nearest
from crownless.runtime.printable import printable_name

#: The highest allowed index.
MAX_INDEX = (1 << 63) - 1
KINDS = ("send", "deliver", "receive", "internal")
#: The most columns of a file that are named.
MAX_NAMED = 20

CUT_OFF = "classify --skip-bad leaves out truncated lines"
ONE_A_LINE = "give one event per line, as a JSON object"
OWN_INDEX = "number the events of a process 0, 1, 2, …, or --order-by another column; distinguish runs by 'run'"
OWN_NAME = "give each message of a run its own name"
ORDERING = "a whole number, a decimal or an ISO 8601 time (all with a zone, or all without)"
FROM_0 = "count the events of a process from 0"

Fact = str | int | tuple[str, ...]


@dataclass(frozen=True)
class ReasonKind:
    """A kind of reason: its sentence and its hint, with numbered placeholders for its facts.

    Called with the facts, it returns the reason; `between` joins the names of a fact with several.
    """

    name: str
    text: str
    hint: str = ""
    between: str = ", "

    def __call__(self, *facts: Fact) -> "Reason":
        return Reason(self, facts)


@dataclass(frozen=True)
class Reason:
    """Why a row is unusable: the problem (`text`) and how to fix it (`hint`)."""

    kind: ReasonKind
    facts: tuple[Fact, ...]

    @property
    def text(self) -> str:
        return self._filled(self.kind.text)

    @property
    def hint(self) -> str:
        return self._filled(self.kind.hint)

    def _filled(self, pattern: str) -> str:
        return pattern.format(*(self.kind.between.join(one) if isinstance(one, tuple) else one for one in self.facts))


class UnusableRow(BadInput):
    """A row is not an event, for this reason."""

    def __init__(self, reason: Reason, *, column: int | None = None) -> None:
        super().__init__(reason.text, hint=reason.hint, column=column)
        self.reason = reason


def reason_of(problem: BadInput) -> Reason:
    """The reason in an error about a row."""
    return problem.reason if isinstance(problem, UnusableRow) else Cyclic(problem.message)


#: Reasons in a single row.
NotJson = ReasonKind("NotJson", "not JSON: {0}", f"{ONE_A_LINE}, as jq -c '.[]' does with a list; {CUT_OFF}")
NotAnObject = ReasonKind("NotAnObject", "{0} is not an event", ONE_A_LINE)
MissingField = ReasonKind("MissingField", "'{0}' is missing", "give {1}")
MissingFields = ReasonKind("MissingFields", "{0} missing", "{1}")
BadField = ReasonKind("BadField", "'{0}' cannot be {1}", "give {2}")
NegativeIndex = ReasonKind("NegativeIndex", "'index' is {0}", FROM_0)
LargeIndex = ReasonKind("LargeIndex", f"'index' is more than {MAX_INDEX:,}", FROM_0)
UnknownKind = ReasonKind("UnknownKind", "unknown kind '{0}'", "{1}")
NoReceiver = ReasonKind("NoReceiver", "{0} sends {1} without a receiver", "name a receiver in 'peer'")
ReceiverTwice = ReasonKind("ReceiverTwice", "{0} sends {1} to {2} twice", "name each receiver once in 'peer'")
OtherCells = ReasonKind("OtherCells", "it has {0} cells, not {1}", "give each line a cell for each column")
ByClock = ReasonKind("ByClock", "{0}")

#: Reasons among rows of one run.
ONCE = "give each event once, and distinguish runs by 'run'; classify --skip-bad leaves out copies"
IF_TWICE = "if the system really does this: classify --complete; otherwise give each message of a run its own name"
Copy = ReasonKind("Copy", "{0} has two events {1}, one a copy of the other", ONCE)
TwoEvents = ReasonKind("TwoEvents", "{0} has two events {1}", OWN_INDEX)
SentTwice = ReasonKind("SentTwice", "{0} is sent twice", OWN_NAME)
DeliveredTwice = ReasonKind("DeliveredTwice", "{0} delivers {1} twice", IF_TWICE)
CORRECT = "the 'peer' of a deliver is the sender: correct it, or leave it out"
SendersDiffer = ReasonKind("SendersDiffer", "the sender of {0} is given as {1}", CORRECT, " and by ")
NotAReceiver = ReasonKind(
    "NotAReceiver", "{0} delivers {1}, which is sent to {2}", "name {0} in the 'peer' of the send"
)
#: A cycle of rows, in words, on no single line.
Cyclic = ReasonKind("Cyclic", "{0}")

#: Reasons in a complete log, where the system is at fault, not the log.
NeverSent = ReasonKind("NeverSent", "{0} delivers {1}, which was never sent")
NeverDelivered = ReasonKind("NeverDelivered", "{2} never delivers {1}, which {0} sends to it")
NeverDeliveredAnywhere = ReasonKind("NeverDeliveredAnywhere", "{1}, which {0} sends, is never delivered")

#: Reasons in a run that is in progress, or read block by block.
BeforeFirst = ReasonKind("BeforeFirst", "{0} has an event {1}, but events count from {2}")
AfterEnd = ReasonKind("AfterEnd", "it arrived after the run had ended")


def empty_log(file: str | None) -> BadInput:
    """The error for a log without events, in any format."""
    return BadInput("the log is empty", hint="give at least one event", file=file)


def unknown_kind(kind: str) -> Reason:
    """The reason for a row whose kind is not known, with the option that says which one it is."""
    meant = nearest(kind, KINDS) or "send"
    say = f"--kind {printable_name(kind)}={meant}"
    others = " or =".join(one for one in KINDS if one not in (meant, "receive"))
    return UnknownKind(printable_name(kind), f"known: {', '.join(KINDS)}; map it with {say}, or ={others}")


def by_another(column: str) -> str:
    """The hint for a column of that name in the file that has no indices."""
    return f"number the events of a process 0, 1, 2, …, or order them by it: --order-by {printable_name(column)}"


def missing_columns(missing: Sequence[str], has: Sequence[str], used: Collection[str] = ()) -> tuple[str, str]:
    """Which columns are missing, as the subject of a sentence, and the hint how to say what the file calls them; those
    `used` are not among the suggestions.
    """
    *rest, last = [f"'{name}'" for name in missing]
    options, free = [], [one for one in has if one not in missing and one not in used]
    guesses = [nearest(name, free) for name in missing]
    for name, guess in zip(missing, guesses, strict=True):
        near = guess if guesses.count(guess) == 1 and (name != "index" or "index" in str(guess).casefold()) else None
        option = "--order-by " if name == "index" and near is None else f"--column {name}="
        options.append(option + ("THAT" if near is None else printable_name(near)))
    shown = ", ".join(f"'{printable_name(name)}'" for name in has[:MAX_NAMED]) or "no columns"
    more = f" and {len(has) - MAX_NAMED:,} more" if len(has) > MAX_NAMED else ""
    hint = f"it has {shown}{more}; map them with {' '.join(options)}"
    hint += " (or peer=-, if sends do not name receivers)" * ("--column peer=THAT" in options)
    return f"{', '.join(rest)} and {last} are" if rest else f"{last} is", hint


KINDS_OF_REASONS = [kind for kind in list(globals().values()) if isinstance(kind, ReasonKind)]
