"""A minimal part of a computation that breaks an order: without any one of its copies it keeps the order.

A copy is a message for one receiver: its send and its receive there, or its send alone. What a part of a computation
breaks, the computation breaks, for every order; so a minimal part is found by taking copies away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from crownless.model_check.oracle import NamedComputation, verdicts
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.orders import UnreceivedPolicy, Verdict
from crownless.spec.witnesses import Crown, Overtaking, Unreceived, Witness

#: A message and one of its receivers.
Copy = tuple[int, int]


def all_copies(c: Computation) -> list[Copy]:
    """All copies, in the order in which the messages are numbered."""
    return [(m, q) for m, message in enumerate(c.messages) for q in message.receivers]


def of_copies(c: Computation, copies: Iterable[Copy]) -> Computation:
    """The computation of these copies alone: a message is for their receivers, and other events are left out."""
    receivers: dict[int, list[int]] = {}
    for m, q in sorted(set(copies)):
        receivers.setdefault(m, []).append(q)
    number = {m: k for k, m in enumerate(receivers)}
    messages = [Message(c.messages[m].name, c.messages[m].sender, tuple(named)) for m, named in receivers.items()]
    lines = (
        tuple(
            Event(event.kind, number[event.message])
            for event in line
            if event.message in number and (event.kind == "send" or q in receivers[event.message])
        )
        for q, line in enumerate(c.lines)
    )
    return Computation(c.processes, tuple(messages), tuple(lines))


def minimal_violation(
    broken: Verdict, reading: UnreceivedPolicy, known: Sequence[Sequence[Copy]] = ()
) -> tuple[list[Copy], Verdict]:
    """Copies of which each is needed for the order to be broken, and the verdict on these alone.

    `known`: minimal violations of other orders, which may break this one too.
    """
    c, witness = broken.computation, broken.witness
    assert c is not None
    assert witness is not None, f"{broken.order} is not broken"

    def verdict(copies: Sequence[Copy]) -> Verdict:
        (found,) = verdicts(NamedComputation("", None, of_copies(c, copies)), [broken.order], reading)
        return found

    def breaks(copies: Sequence[Copy]) -> bool:
        return verdict(copies).outcome == "broken"

    shown = _copies_in(witness, c)
    enough = min((copies for copies in (*known, shown) if breaks(copies)), key=len, default=all_copies(c))
    copies = _minimal(breaks, list(enough))
    return copies, verdict(copies)


def _minimal(breaks: Callable[[Sequence[Copy]], bool], copies: list[Copy]) -> list[Copy]:
    """A minimal part of copies that break the order, among the first ones: the last of it is found by bisection, then
    the last but one, and so on.
    """
    needed: list[Copy] = []
    while not breaks(needed):
        least, most = 1, len(copies)
        while least < most:
            middle = (least + most) // 2
            if breaks([*copies[:middle], *needed]):
                most = middle
            else:
                least = middle + 1
        needed.append(copies[most - 1])
        del copies[most - 1 :]
    # Of many messages n-n order may be unknown, so that bisection can go past copies that are not needed.
    for copy in list(needed):
        rest = [one for one in needed if one != copy]
        if breaks(rest):
            needed = rest
    return sorted(needed)


def _copies_in(witness: Witness, c: Computation) -> list[Copy]:
    """The copies of the messages that a witness names by number."""
    if isinstance(witness, Overtaking):
        messages = {witness.first, witness.second, *(c.events[e].message for e in witness.chain)}
    elif isinstance(witness, Crown):
        messages = set(witness.messages)
    elif isinstance(witness, Unreceived):
        messages = {witness.message}
    else:
        return []
    return [copy for copy in all_copies(c) if copy[0] in messages]
