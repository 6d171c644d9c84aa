"""Diagrams of computations that show which messages violate an order."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Literal

from crownless.spec.computation import Computation
from crownless.spec.orders import UnreceivedPolicy, Verdict, decide
from crownless.spec.witnesses import Crown, Cycle, Overtaking, Unreceived, Witness, messages_of

from .diagram import Diagram, Emphasis

#: The orders whose violation is shown by default: an application would notice it.
NOTICED = ("fifo", "causal")
#: The orders whose violation is a few messages, which can be seen at once.
SEEN = (*NOTICED, "synchronous")
#: What became of messages that are not received.
UNRECEIVED: dict[UnreceivedPolicy, str] = {"lost": "is never received by", "pending": "is not yet received by"}

Highlight = Literal["none", "weakest"] | str  # or an order


def diagram_of(
    c: Computation, title: str = "", highlight: Highlight | None = None, reading: UnreceivedPolicy = "lost"
) -> Diagram:
    """The diagram of a computation, emphasizing a violation of the order `highlight`, by default FIFO or causal order.

    'weakest': a violation of these or, failing that, of synchronous order; 'none': no emphasis.
    Raises `BadInput` if there is no order of that name.
    """
    named = {None: NOTICED, "weakest": SEEN, "none": ()}
    orders = named[highlight] if highlight in named else (str(highlight),)
    verdicts = (decide(c, order, reading) for order in orders)
    emphasis = next((one for verdict in verdicts if (one := emphasis_of(c, verdict)) is not None), None)
    return Diagram(c, title=title, unreceived=UNRECEIVED[reading], emphasis=emphasis)


def emphasis_of(c: Computation, verdict: Verdict) -> Emphasis | None:
    """The emphasis on the witness of a broken order; None if it is kept."""
    witness = verdict.witness
    if witness is None:
        return None
    messages, legs = frozenset(_messages(witness, c)), frozenset(_legs(witness, c))
    constraints = tuple(witness.details(c)) if isinstance(witness, Cycle) else ()
    headline = "these constraints form a cycle" if constraints else witness.headline(c)
    return Emphasis(f"not {verdict.order}: {headline}", messages, tuple(_pairs(witness, c)), legs, constraints)


def _messages(witness: Witness, c: Computation) -> set[int]:
    if isinstance(witness, Cycle):
        return {m for e in witness.events if (m := c.events[e].message) is not None}
    return messages_of(witness, c) or set()


def _legs(witness: Witness, c: Computation) -> set[tuple[int, int]]:
    """The messages of a witness with the receivers on which it rests."""

    def received(events: Iterable[int]) -> set[tuple[int, int]]:
        return {
            (event.message, c.process_of[e])
            for e in events
            if (event := c.events[e]).kind == "receive" and event.message is not None
        }

    if isinstance(witness, Overtaking):
        legs = {(witness.first, witness.receiver), (witness.second, witness.receiver), *received(witness.chain)}
        return _with_sent(c, {witness.first}, {(m, q) for m, q in legs if q in c.messages[m].receivers})
    if isinstance(witness, Unreceived):
        return {(witness.message, witness.receiver)}
    on_it = witness.events if isinstance(witness, Cycle) else (e for link in witness.links for e in link)
    return _with_sent(c, _messages(witness, c), received(on_it))


def _with_sent(c: Computation, messages: set[int], legs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """These legs, and all legs of the messages without any among them."""
    only_sent = messages - {m for m, _ in legs}
    return legs | {(m, q) for m in only_sent for q in c.messages[m].receivers}


def _pairs(witness: Witness, c: Computation) -> list[tuple[int, int]]:
    if isinstance(witness, Crown):
        return [*witness.links]
    if not isinstance(witness, Overtaking):
        return []
    receives = [c.receive_events[m].get(witness.receiver) for m in (witness.second, witness.first)]
    both = [e for e in receives if e is not None]
    return [*pairwise(witness.chain), *pairwise(both)]
