"""Classification: the orders that a computation or a log keeps, with a witness for each that it violates.

Reads the papers' notation and JSON Lines event logs. A log with holes can show that an order is violated and cannot
show that it is kept: the verdict is then `unknown`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from crownless.drawing.diagram import Diagram
from crownless.drawing.emphasis import diagram_of
from crownless.oracle.logs.lost_events import Hole, first_hole
from crownless.oracle.logs.named_computation import NamedComputation
from crownless.oracle.logs.uncertain import CERTAIN, Uncertain, weakened
from crownless.runtime.ending import look
from crownless.runtime.errors import no_such_name
from crownless.runtime.printable import in_brackets, printable_name, some
from crownless.spec.computation import Computation
from crownless.spec.constraints import SMALLEST_UP_TO
from crownless.spec.crowns import smallest_crown
from crownless.spec.delivery_disorder import ProcessSummary
from crownless.spec.drawn import Drawn
from crownless.spec.orders import ORDERS, Outcome, UnreceivedPolicy, Verdict, decide, earned, strongest_of
from crownless.spec.result import Result, Table

if TYPE_CHECKING:
    from crownless.oracle.logs.delivery import Delivery

    from .context import Context

#: n-n compares all pairs of messages, round after round; above this number other orders decide it, or it stays unknown.
N_N_UP_TO = 1_000


@dataclass(frozen=True)
class LargeRun:
    """A large run of a log; each verdict's `computation` has only the messages that show the violation.

    `processes`, `messages` and `events` are numbers; internal events do not count.
    """

    file: str
    run: str | None
    processes: int
    messages: int
    events: int
    unreceived: tuple[tuple[str, str], ...]
    unicasts: bool
    notes: tuple[str, ...] = ()
    holes: tuple[Hole, ...] = ()
    uncertain: Uncertain = CERTAIN
    perhaps_received: tuple[tuple[str, str], ...] = ()
    by_process: tuple[ProcessSummary, ...] | None = None
    #: The events around the first violation.
    context: Context | None = None
    delivery: Delivery | None = None

    def __repr__(self) -> str:
        where = ", ".join(part for part in (self.file, self.run) if part)
        return in_brackets(f"{where or 'run'}: {some(self.messages, 'message')}")


Subject = NamedComputation | LargeRun


@dataclass(frozen=True)
class Classification(Result, Table, Drawn, Mapping[str, Verdict]):
    """The verdict on each requested order, by the order's name."""

    json_keys = """
        file=subject.file run=subject.run processes=subject.processes messages=subject.messages
        unreceived perhaps_received reading notes=subject.notes
        holes orders unknown strongest crowns=smallest_crowns by_process=subject.by_process context
        properties=subject.delivery?
        """

    subject: Subject
    reading: UnreceivedPolicy
    verdicts: tuple[Verdict, ...]

    def __getitem__(self, order: str) -> Verdict:
        for verdict in self.verdicts:
            if verdict.order == order:
                return verdict
        what = f"'{printable_name(order)}' was not requested" if order in ORDERS else f"no order {order!r}"
        raise no_such_name(what, order, self)

    def __iter__(self) -> Iterator[str]:
        return (verdict.order for verdict in self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __bool__(self) -> bool:
        """True if every order requested is kept; raises `Undecided` if that is unknown."""
        if "violated" in self.outcomes.values():
            return False
        return all(self.verdicts)

    @property
    def brief(self) -> str:
        """The number of messages, and the orders kept."""
        kept = ", ".join(self.kept) or "none"
        return f"{some(self.subject.messages, 'message')}: kept: {kept}"

    def __str__(self) -> str:
        return "\n".join(map(str, self.verdicts))

    def diagrams(self, highlight: str | None = None) -> Iterator[Diagram]:
        """The diagram of the computation, emphasizing the violation of the weakest violated order; none for a large
        run.
        """
        subject = self.subject
        if isinstance(subject, NamedComputation):
            broken = next((verdict.order for verdict in self.verdicts if verdict.shows_violation), "none")
            yield diagram_of(subject.computation, subject.run or "", highlight or broken, self.reading)

    def with_delivery(self, delivery: Delivery) -> Classification:
        """The same classification, with how a run of a complete log delivers its messages."""
        return replace(self, subject=replace(self.subject, delivery=delivery)).with_notes(*delivery.notes)

    def with_notes(self, *notes: str) -> Classification:
        """The same classification, with more notes on how the log was read."""
        return replace(self, subject=replace(self.subject, notes=(*self.subject.notes, *notes)))

    @property
    def shows_violation(self) -> bool:
        """True if there is a violation to be shown."""
        return any(verdict.shows_violation for verdict in self.verdicts)

    def rows(self) -> list[dict[str, Any]]:
        """One row per order: `order`, `verdict`, and the reason in one line."""
        return [{"order": one.order, "verdict": one.outcome, "because": one.because} for one in self.verdicts]

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """The outcome for each order."""
        return {verdict.order: verdict.outcome for verdict in self.verdicts}

    @property
    def kept(self) -> list[str]:
        """The orders that are kept."""
        return [verdict.order for verdict in self.verdicts if verdict.kept]

    @property
    def strongest(self) -> list[str]:
        """The strongest of the requested orders that are kept; none if there are holes, or reasons for uncertainty."""
        subject = self.subject
        if subject.uncertain.reasons or subject.holes:
            return []
        complete = not subject.unreceived or self.reading == "pending"
        return strongest_of(self.kept, unicasts=subject.unicasts, complete=complete)

    def crowns(self) -> dict[str, Any] | None:
        """A smallest crown and a smallest strong crown; None if the computation is too large to search for them."""
        if not isinstance(self.subject, NamedComputation) or self.subject.events > SMALLEST_UP_TO:
            return None
        c = self.subject.computation
        crown, strong = smallest_crown(c), smallest_crown(c, strong=True)
        return {
            "smallest": None if crown is None else crown.json(c),
            "smallest_strong": None if strong is None else strong.json(c),
        }

    @property
    def unreceived(self) -> list[dict[str, str]]:
        """Each message and receiver that does not receive it."""
        return [{"message": name, "receiver": receiver} for name, receiver in self.subject.unreceived]

    @property
    def perhaps_received(self) -> list[dict[str, str]]:
        """Each message and receiver that may have received it in a hole."""
        return [{"message": name, "receiver": receiver} for name, receiver in self.subject.perhaps_received]

    @property
    def holes(self) -> list[dict[str, str | None]]:
        """What the log has lost, and on whose line that shows."""
        return [{"process": hole.process, "text": hole.text} for hole in self.subject.holes]

    @property
    def context(self) -> Context | None:
        """The events around the first violation, of a large run."""
        return self.subject.context if isinstance(self.subject, LargeRun) else None

    @property
    def smallest_crowns(self) -> dict[str, Any] | None:
        """As JSON has them: see `crowns`."""
        return self.crowns()

    @property
    def orders(self) -> dict[str, Any]:
        """The outcome and the witness for each order."""
        return {verdict.order: verdict.json() for verdict in self.verdicts}

    @property
    def unknown(self) -> dict[str, str | None]:
        """Why it is unknown whether an order is kept, for each such order."""
        return {one.order: one.unknown for one in self.verdicts if one.outcome == "unknown"}


class ClassifiedRuns(Sized):
    """The verdicts on several runs or computations; `classification` has those on one in full."""

    #: Notes on all of them.
    notes: Sequence[str] = ()

    @abstractmethod
    def classification(self, number: int, /) -> Classification: ...

    def outcome(self, number: int, order: str, /) -> Outcome:
        """The outcome of an order for one of them."""
        return self.classification(number)[order].outcome

    def counts(self, order: str, /) -> Mapping[str, int]:
        """How many have each outcome of the order, by its name."""
        return Counter(self.outcome(number, order) for number in range(len(self)))

    def first_violated(self, order: str, /) -> int | None:
        """The first that violates the order."""
        return next((number for number in range(len(self)) if self.outcome(number, order) == "violated"), None)

    def delivery(self, number: int, /) -> Delivery | None:
        """How one of them delivers its messages, if it is of a complete log."""
        return self.classification(number).subject.delivery


class Classifications(list[Classification], ClassifiedRuns):
    """Verdicts on several runs or computations, all of them in full."""

    def classification(self, number: int, /) -> Classification:
        return self[number]


def classify(
    subject: NamedComputation, orders: Sequence[str] = tuple(ORDERS), reading: UnreceivedPolicy = "lost"
) -> Classification:
    """Decides each of these orders. Holes can hide violations, but never undo them."""
    return Classification(subject, reading, tuple(verdicts(subject, orders, reading)))


def verdicts(subject: NamedComputation, orders: Iterable[str], reading: UnreceivedPolicy) -> Iterator[Verdict]:
    """The verdicts, order by order."""
    c = subject.computation
    for order in orders:
        look()
        if order == "n-n" and len(c.messages) > N_N_UP_TO:
            verdict = _n_n_by_its_neighbours(c, reading)
        else:
            verdict = decide(c, order, reading)
        yield as_logged(subject, verdict, reading)


def as_logged(subject: NamedComputation, verdict: Verdict, reading: UnreceivedPolicy) -> Verdict:
    """The part of the verdict on a computation that its log supports."""
    if verdict.kept and subject.holes:
        verdict = hidden(verdict.order, subject.holes)
    verdict = weakened(verdict, subject.uncertain, subject.computation, reading)
    return earned(verdict, subject.messages, unicasts=subject.unicasts)


def classified(
    subject: NamedComputation,
    decided: Sequence[Verdict],
    reading: UnreceivedPolicy,
    orders: Iterable[str] = (),
    because: str = "",
) -> Classification:
    """The classification of the decided orders; the others are unknown, with the reason."""
    known = {verdict.order for verdict in decided}
    rest = (not_decided(order, because) for order in orders if order not in known)
    return Classification(subject, reading, (*decided, *rest))


def hidden(order: str, holes: Sequence[Hole]) -> Verdict:
    """The verdict on an order whose violations these holes may hide; no event violates asynchronous order."""
    if order == "asynchronous":
        return Verdict(order, kept=True)
    return Verdict(order, kept=False, unknown=f"not violated by what is logged; {first_hole(holes)}")


def not_decided(order: str, because: str) -> Verdict:
    """The verdict on an order that was not decided, and why."""
    return Verdict(order, kept=False, unknown=f"not decided: {because}")


def _n_n_by_its_neighbours(c: Computation, reading: UnreceivedPolicy) -> Verdict:
    """n-n holds if the next stronger order does, and is violated if a weaker one is."""
    if decide(c, "synchronous", reading).kept:
        return Verdict("n-n", kept=True, computation=c)
    for order in ("mailbox", "one-n"):
        weaker = decide(c, order, reading)
        if not weaker.kept:
            return Verdict("n-n", kept=False, witness=weaker.witness, computation=c)
    because = f"not decided for more than {N_N_UP_TO:,} messages; classify --one-run decides it for a log of one run"
    return Verdict("n-n", kept=False, unknown=because)
