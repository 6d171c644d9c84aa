"""The orders, one row each: definitions, sources, and how a computation is checked against them.

From the weakest to the strongest, each contained in the one before as long as all messages are unicasts ([CMT96];
[DFLL23]):

asynchronous ⊋ fifo ⊋ causal ⊋ mailbox ⊇ one-n ⊋ n-n ⊋ synchronous

Mailbox and one-n coincide on complete computations of unicasts ([DFLL23]; the tests enumerate it) and differ on
incomplete ones. With multicasts one-n is no longer contained in mailbox, nor in causal order: two senders' copies may
be received crosswise. Beside them stands total order, which every computation of unicasts keeps.

**Existential.** Mailbox, one-n and n-n require that *some* linearization of the computation behaves as if messages went
through one queue per receiver, one queue per sender, or a single queue. They are properties of the partial order. They
do not say whether a given total order (wall-clock times, a broadcast's order numbers) obeys such a queue.

**Incomplete computations.** A message sent and not received is read in one of two ways.

`lost`     It never will be received, as in [DFLL23], which defines these so. FIFO, causal order and mailbox then
           forbid to receive a message whose predecessor (to the same receiver) is unreceived; one-n and n-n forbid it
           whoever the predecessor's receiver is; synchronous order forbids unreceived messages altogether.
`pending`  It may still be received: an order is kept iff some completion keeps it. This is how the explorer reads a
           run in progress. It differs from `lost` for one-n, n-n and synchronous only.

**Multicasts.** [DFLL23] has unicasts only. A multicast is read here as its copies, sent in one event: FIFO, causal
order and mailbox look at each receiver by itself; one-n and n-n order every copy of one message against every copy of
another, and demand nothing among copies of one message; synchronous demands one instant for the send and all its
receives.

**Total order** says of messages with several receivers that these agree: all deliver in one common order (total order
broadcast, atomic broadcast), be it the order of the sends or not. Mailbox order implies it, since all deliver as the
messages are sent in one linearization; and it is causal and total order at once, of broadcasts to all and of broadcasts
to all others (the tests enumerate it).

**Internal events** do not count: no order depends on them, not even synchronous order of a message to oneself.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, Protocol, get_args

from crownless.runtime.errors import BadInput, Undecided, unknown_name
from crownless.runtime.printable import in_brackets, printable

from . import by_graph, by_search
from .by_graph import Procedure
from .by_search import Definition
from .computation import Computation
from .drawn import Drawn
from .witnesses import Witness

UnreceivedPolicy = Literal["lost", "pending"]


class Relation(IntEnum):
    """What an order adds to happened-before, such that it is violated iff both together have a cycle. By these numbers
    compiled loops know an order, in logs and in the explorer.
    """

    NOTHING = 0
    #: Overtaken messages before those that overtake them: of one sender, and of any.
    OVERTAKEN_OF_ONE_SENDER = 1
    OVERTAKEN = 2
    #: Sends to one receiver in the order of its receives.
    SENDS_AS_RECEIVED = 3
    #: Receives of one sender's messages in the order of their sends.
    RECEIVES_AS_SENT = 4
    #: Both, of all messages, until nothing new follows.
    ONE_QUEUE = 5
    #: The send and the receives of a message at one instant.
    INSTANTS = 6
    #: Messages in the order of each receiver's receives, apart from happened-before.
    RECEIVED = 7


@dataclass(frozen=True)
class Order:
    """One order. All that lists, numbers or decides orders does so by these rows; one without a monitor and a relation
    is decided everywhere by its procedure, on the whole computation.
    """

    name: str
    #: The definition in one sentence, and where it is from.
    demands: str
    source: str
    #: The definition by search, for small computations; and the procedure by graph, which shows why.
    definition: Definition
    procedure: Procedure
    #: What watches it step by step in the explorer: constraints on points, or each process's deliveries.
    monitor: Literal["points", "deliveries"] | None = None
    #: By what large logs, and the monitor of points, decide it.
    relation: Relation | None = None
    #: The next weaker orders, which it implies; and stronger ones that imply it, if their rows do not say so.
    implies: tuple[str, ...] = ("asynchronous",)
    implied_by: tuple[str, ...] = ()
    #: True if it is defined of the deliveries at one process alone: a protocol may promise it of some processes.
    at_one_receiver: bool = False
    #: True if it says something only of messages with several receivers.
    of_several: bool = False


Outcome = Literal["kept", "violated", "unknown", "nothing"]
#: Why there is nothing to judge: for any order, and for one that says something of messages with several receivers.
NO_MESSAGE, NONE_OF_SEVERAL = "there is no message to judge", "no message has several receivers"


@dataclass(frozen=True)
class Verdict(Drawn):
    """Whether a computation keeps an order; if not, the witness shows why.

    `kept` is True only if that is certain; `unknown` is the reason if it is not known, or, with `is_empty`, if there is
    nothing to judge. A verdict is true if the order is kept; any that is neither kept nor violated raises `Undecided`
    as a truth value.
    """

    order: str
    kept: bool
    witness: Witness | None = None
    unknown: str | None = None
    computation: Computation | None = field(default=None, compare=False, repr=False)
    is_empty: bool = False

    def __bool__(self) -> bool:
        if self.unknown is not None:
            raise Undecided(f"{self!r} is neither true nor false: look at its outcome")
        return self.kept

    def __repr__(self) -> str:
        return in_brackets(f"{self.order}: {self._in_a_line}")

    def __str__(self) -> str:
        if self.witness is None or self.computation is None:
            return f"{self.order}: {self._in_a_line}"
        details = map(printable, self.witness.details(self.computation))
        return "\n  ".join([f"{self.order}: {self._in_a_line}", *details])

    @property
    def shows_violation(self) -> bool:
        """True if there is a violation to be shown."""
        return self.outcome == "violated"

    @property
    def outcome(self) -> Outcome:
        """The outcome in one word."""
        if self.unknown is not None:
            return "nothing" if self.is_empty else "unknown"
        return "kept" if self.kept else "violated"

    @property
    def because(self) -> str:
        """Why it is violated or unknown, in a line that is safe to print."""
        if self.witness is None or self.computation is None:
            return printable(self.unknown or "")
        return printable(self.witness.headline(self.computation))

    @property
    def _in_a_line(self) -> str:
        outcome = in_words(self.outcome)
        return f"{outcome}, {self.because}" if self.because else outcome

    def json(self, c: Computation | None = None) -> dict[str, Any]:
        """The outcome and the witness, as the command line prints them, without the name of the computation."""
        c = self.computation if c is None else c
        return {
            "verdict": self.outcome,
            "witness": None if self.witness is None or c is None else self.witness.json(c),
        }


def in_words(outcome: Outcome) -> str:
    """An outcome in words."""
    return "nothing to judge" if outcome == "nothing" else outcome


def nothing_to_judge(order: str) -> Verdict:
    """The verdict on an order of no message at all, or of none that it says something of."""
    because = NONE_OF_SEVERAL if is_of_several(order) else NO_MESSAGE
    return Verdict(order, kept=False, unknown=because, is_empty=True)


def earned(verdict: Verdict, messages: int, *, unicasts: bool) -> Verdict:
    """The verdict on a record of that many messages: an order is not kept by none at all, nor, if each message has one
    receiver, is one that says nothing of these.
    """
    is_empty = not messages or (unicasts and is_of_several(verdict.order))
    return nothing_to_judge(verdict.order) if verdict.kept and is_empty else verdict


#: The orders, from the weakest to the strongest, as far as they contain each other.
_ROWS = (
    Order(
        "asynchronous",
        "no message is received before it is sent",
        "[CMT96], [DFLL23]",
        by_search.asynchronous,
        by_graph.asynchronous,
        relation=Relation.NOTHING,
        implies=(),
    ),
    Order(
        "fifo",
        "two messages from one process to another are received in the order sent",
        "[MF] §1, [MG] §2.2; [DFLL23] where incomplete",
        by_search.fifo,
        by_graph.fifo,
        "points",
        Relation.OVERTAKEN_OF_ONE_SENDER,
        at_one_receiver=True,
    ),
    Order(
        "causal",
        "two messages to one process are received in the order sent, if one send happened before the other",
        "[MF] §1, [SES] §2, [MG] §2.2; [DFLL23] where incomplete",
        by_search.causal,
        by_graph.causal,
        "points",
        Relation.OVERTAKEN,
        implies=("fifo",),
        at_one_receiver=True,
    ),
    Order(
        "mailbox",
        "some linearization has all messages to one process received in the order sent (one queue per receiver)",
        "[DFLL23]",
        by_search.mailbox,
        by_graph.mailbox,
        "points",
        Relation.SENDS_AS_RECEIVED,
        implies=("causal",),
    ),
    Order(
        "one-n",
        "some linearization has all messages from one process received in the order sent (one queue per sender)",
        "[DFLL23]",
        by_search.one_n,
        by_graph.one_n,
        "points",
        Relation.RECEIVES_AS_SENT,
        implies=("fifo",),
    ),
    Order(
        "n-n",
        "some linearization has all messages received in the order sent (one queue for all)",
        "[DFLL23]",
        by_search.n_n,
        by_graph.n_n,
        "points",
        Relation.ONE_QUEUE,
        implies=("mailbox", "one-n"),
    ),
    Order(
        "synchronous",
        "some linearization has each send followed at once by its receives, internal events aside; "
        "equivalently there is no crown",
        "[CMT96], [MG] §2.2 and Theorem 2; [DFLL23] where incomplete",
        by_search.synchronous,
        by_graph.synchronous,
        "points",
        Relation.INSTANTS,
        implies=("n-n",),
    ),
    Order(
        "total",
        "all processes deliver messages in one common order (total order broadcast, also called atomic broadcast)",
        "[DSU04] §2, gap-free uniform total order",
        by_search.total,
        by_graph.total,
        "deliveries",
        Relation.RECEIVED,
        implied_by=("mailbox",),
        of_several=True,
    ),
)
ORDERS = MappingProxyType({order.name: order for order in _ROWS})


def order_named(name: str) -> Order:
    """The order of that name; raises `BadInput` with the nearest name otherwise."""
    if name not in ORDERS:
        raise unknown_name("order", name, ORDERS)
    return ORDERS[name]


def chosen(names: Iterable[str] = ()) -> tuple[str, ...]:
    """These orders, by default all, as `ORDERS` has them; raises `BadInput` for a name that is none."""
    wanted = {order_named(name).name for name in names} or ORDERS.keys()
    return tuple(name for name in ORDERS if name in wanted)


def is_of_several(name: str) -> bool:
    """True if this is an order that says something only of messages with several receivers."""
    return name in ORDERS and ORDERS[name].of_several


def telling(*, unicasts: bool) -> tuple[str, ...]:
    """The orders that say something of messages with one receiver each, or with several."""
    return tuple(order.name for order in ORDERS.values() if not (unicasts and order.of_several))


def refuse_where_all_keep(orders: Iterable[str], *, unicasts: bool) -> None:
    """Raises `BadInput` if an order is requested of messages with one receiver each that says nothing of them."""
    for order in orders:
        if unicasts and order_named(order).of_several:
            hint = 'such as sends = "broadcast-to-all", or request another order'
            raise BadInput(f"{order} order is decided only for messages with several receivers", hint=hint)


def decide(c: Computation, order: str, reading: UnreceivedPolicy = "lost") -> Verdict:
    """The verdict on this order; unreceived messages are `lost` or `pending`."""
    if reading not in (policies := get_args(UnreceivedPolicy)):
        raise unknown_name("policy for unreceived messages", str(reading), policies)
    witness = order_named(order).procedure(c, pending=reading == "pending")
    return Verdict(order, witness is None, witness, computation=c)


def keeps(c: Computation, order: str, *, pending: bool = False) -> bool:
    """True if the computation keeps the order, by its definition: slow, for small computations."""
    return order_named(order).definition(c, pending=pending)


@cache
def implied(order: str, *, unicasts: bool = True) -> tuple[str, ...]:
    """The next weaker orders, which this one implies."""
    others = tuple(weak.name for weak in ORDERS.values() if order in weak.implied_by)
    return ORDERS[order].implies + others + (("mailbox",) if order == "one-n" and unicasts else ())


@cache
def weaker(order: str, *, unicasts: bool = True) -> frozenset[str]:
    """The orders that this one implies."""
    direct = implied(order, unicasts=unicasts)
    return frozenset(direct).union(*(weaker(name, unicasts=unicasts) for name in direct))


def kept_orders(c: Computation, reading: UnreceivedPolicy = "lost") -> frozenset[str]:
    """The orders that the computation keeps; each is decided only if it keeps all weaker ones."""
    known = {name: True for name in ORDERS if name not in telling(unicasts=c.unicasts)}

    def is_kept(order: str) -> bool:
        if order not in known:
            known[order] = all(map(is_kept, implied(order, unicasts=c.unicasts))) and decide(c, order, reading).kept
        return known[order]

    return frozenset(filter(is_kept, ORDERS))


def kept_at(c: Computation, order: str, places: frozenset[int]) -> bool:
    """True if the deliveries at these processes alone keep FIFO or causal order."""
    assert ORDERS[order].at_one_receiver
    return not any(
        c.happened_before(c.send_event[first], c.send_event[second]) and c.overtakes(second, first, q)
        for first, message in enumerate(c.messages)
        for second, later in enumerate(c.messages)
        if order == "causal" or message.sender == later.sender
        for q in places.intersection(message.receivers, later.receivers)
    )


def strongest(kept: Iterable[str], c: Computation, reading: UnreceivedPolicy = "lost") -> list[str]:
    """The kept orders of the computation that no other kept one implies.

    This is a single one, except mailbox and one-n where they coincide, and with multicasts one-n or total order beside
    another.
    """
    return strongest_of(kept, unicasts=c.unicasts, complete=c.complete or reading == "pending")


def strongest_of(kept: Iterable[str], *, unicasts: bool, complete: bool) -> list[str]:
    """The same, given whether each message has one receiver, and whether all are received, or still may be."""
    names = {*kept}.intersection(telling(unicasts=unicasts))
    top = names.difference(*(weaker(name, unicasts=unicasts) for name in names))
    if top == {"one-n"} and unicasts and complete:
        top = {"mailbox", "one-n"}  # on (completions to) complete computations of unicasts the two coincide
    return [name for name in ORDERS if name in top]


class Predicate(Protocol):
    """An order as an adjective: ``causal(c)`` is the verdict on c."""

    def __call__(self, c: Computation, reading: UnreceivedPolicy = "lost") -> Verdict: ...


def _adjective(order: str) -> Predicate:
    def predicate(c: Computation, reading: UnreceivedPolicy = "lost") -> Verdict:
        return decide(c, order, reading)

    predicate.__doc__ = f"Is the computation {order}? {ORDERS[order].demands.capitalize()} ({ORDERS[order].source})."
    return predicate


asynchronous = _adjective("asynchronous")
fifo = _adjective("fifo")
causal = _adjective("causal")
mailbox = _adjective("mailbox")
one_n = _adjective("one-n")
n_n = _adjective("n-n")
synchronous = _adjective("synchronous")
total = _adjective("total")
