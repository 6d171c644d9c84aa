"""Any run of a protocol whose messages go to several processes, of any number of them (`any_run`).

`send` goes through the receivers of a message in a Python loop, which has no end for a set of unknown size. Here it
runs on `Receivers`, which a loop finds to be one, two or three processes of which nothing is known, in every order; and
`copies` sees to it that neither the state afterwards nor the packet for one of them depends on how many there are, and
in which order. Then one packet speaks for all. (A loop that counts to four before it does harm would not be seen.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import z3

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.spec.computation import Message

from .any_run import ACCEPTED, CAUSAL_PAST, AnyRun, Event, Moment, functions, leaves, sent
from .terms import Term, Terms, is_array

ASSUMED = (
    "each message is sent once, to any set of other processes, and delivered to each of them at most once",
    "a copy is what its sender put on the channel; it may take any time, overtake others, and be lost",
    CAUSAL_PAST,
    "live: what can be delivered from some moment on is delivered at last, and nothing is lost",
)

#: A loop is run over so many receivers, and fewer, in every order.
MOST = 3

TO_OTHERS = "m is not to its sender"
TO_ALL_OTHERS = "m is to all others"


@dataclass(frozen=True)
class Receivers:
    """A set of processes of any size: by subscript, is it one of them? A loop finds a few, of which nothing is known;
    how many there are cannot be asked.
    """

    some: tuple[Term, ...]
    has: Callable[[Term], Term]

    def __iter__(self) -> Iterator[Term]:
        return iter(self.some)

    def __getitem__(self, k: Any) -> Term:
        if not z3.is_expr(k):
            raise TypeError("a transition asks for one receiver by its place: what is proved is of sets")
        return self.has(k)

    def __contains__(self, k: object) -> bool:
        raise TypeError("a transition asks who is a receiver: z3 cannot see a Python branch; use ops.among")


class AnyMulticast(AnyRun):
    """A run in which messages are to sets of processes; i takes the next step, with its copy of the message m."""

    #: If broadcasts only: each is to all others.
    broadcasts = False

    def _declare(self) -> None:
        process, message, truth, number = self.terms.process, self.message, z3.BoolSort(), z3.IntSort()
        self._to = z3.Function("to", message, process, truth)
        #: 1, 2, … for the messages of one process.
        self.number = z3.Function("number", message, number)
        #: The message of that number of a process.
        self.numbered = z3.Function("numbered", process, number, message)
        p = self.terms.any_process("p")
        initial = self.machine.initial(p)
        _, packet = copies(self.machine, self.terms, p, initial, lambda k: k != p)
        #: On the copy of a message for a process.
        self.stamp = functions("stamp", packet(p).stamp, message, process)
        self.before = Moment(
            functions("local", initial, process),
            z3.Function("sent", message, truth),
            z3.Function("delivered", message, process, truth),
            z3.Function("knows", process, message, truth),
            z3.Function("count", process, number),
            z3.Function("witness", process, process, process, message),
        )

    def to(self, x: Term, p: Term) -> Term:
        return self._to(x, p)

    def arrived(self, now: Moment, x: Term, p: Term) -> Term:
        return now.delivered(x, p)

    def each_delivery(self, holds: Callable[..., Term]) -> Term:
        return self.processes(holds)

    def all_numbered(self, now: Moment) -> Term:
        k, number = self.terms.any_process("k"), z3.Int("number")
        x = self.numbered(k, number)
        is_it = z3.And(now.sent(x), self.sender(x) == k, self.number(x) == number)
        there = z3.Implies(z3.And(number >= 1, number <= now.count(k)), is_it)
        return z3.ForAll([k, number], there, patterns=[x])

    def packet(self, m: Term) -> Packet:
        """The copy of a message for i; who else has one it cannot ask but by `ops.among`."""
        sender = self.sender(m)
        receivers: Any = Receivers((), lambda k: self.to(m, k))
        return Packet(sender, self.i, "message", Message("m", sender, receivers), self.stamp(m, self.i))

    @property
    def start(self) -> Moment:
        no = z3.BoolVal(False)
        return replace(super().start, delivered=lambda x, p: no, count=lambda k: z3.IntVal(0))

    def sending(self) -> Event:
        """Process i sends the message m. From then on it is the witness of its receivers' rows."""
        i, m, before = self.i, self.m, self.before
        step, packet = copies(self.machine, self.terms, i, before.local(i), lambda k: self.to(m, k))
        others = self.processes(lambda k: self.to(m, k) == (k != i)) if self.broadcasts else z3.Not(self.to(m, i))
        given = {
            "i sends m, for the first time": z3.And(self.sender(m) == i, z3.Not(before.sent(m))),
            TO_ALL_OTHERS if self.broadcasts else TO_OTHERS: others,
            "each copy carries what i attaches": self.processes(
                lambda j: self._same(self.stamp(m, j), packet(j).stamp)
            ),
            "m has the next number of its sender": z3.And(
                self.number(m) == before.count(i) + 1, self.numbered(i, self.number(m)) == m
            ),
            "before m happened what i knows of": self.messages(lambda x: self.precedes(x, m) == before.knows(i, x)),
            "m has the witnesses of i": self.processes(
                lambda l, k: self.witness(m, l, k) == before.witness(i, l, k), of=2
            ),
        }
        after = replace(
            self._stepped(step),
            sent=lambda x: z3.Or(before.sent(x), x == m),
            knows=lambda p, x: z3.Or(before.knows(p, x), z3.And(p == i, x == m)),
            count=lambda k: before.count(k) + z3.If(k == i, 1, 0),
            witness=lambda p, l, k: z3.If(z3.And(p == i, self.to(m, l)), m, before.witness(p, l, k)),
        )
        return Event("sending", given, after, sends=True)

    def delivering(self, takes: Callable[[Term, Term], Term] | None = None) -> Event:
        i, m, before = self.i, self.m, self.before
        unicast = super().delivering()

        def witness(p: Term, l: Term, k: Term) -> Term:
            if takes is None:
                return before.witness(p, l, k)
            brought = z3.If(self.to(m, l), m, self.witness(m, l, k))
            return z3.If(z3.And(p == i, takes(l, k)), brought, before.witness(p, l, k))

        after = replace(
            unicast.after,
            delivered=lambda x, p: z3.Or(before.delivered(x, p), z3.And(x == m, p == i)),
            witness=witness,
        )
        return Event("delivering", {**self.under_way, ACCEPTED: self.accepted}, after)

    def _same(self, one: Any, other: Any) -> Term:
        """Are these values equal, entry by entry? What is built by a comprehension is read before z3 sees it."""
        return z3.And([self._same_term(a, b) for a, b in zip(leaves(one), leaves(other), strict=True)])

    def _same_term(self, a: Term, b: Term) -> Term:
        if not is_array(a):
            return a == b
        return self.processes(lambda k: self._same_term(a[k], z3.simplify(b[k])))


def copies(
    machine: ProtocolMachine, terms: Terms, i: Term, state: Any, to: Callable[[Term], Term]
) -> tuple[Step, Callable[[Term], Packet]]:
    """What process i does when it sends to these processes, and the packet for each; raises `TypeError` if the packets
    are not made each for itself, in whatever order, however many there are.
    """
    some = [z3.FreshConst(terms.process, "receiver") for _ in range(MOST)]
    k, l = z3.FreshConst(terms.process, "k"), z3.FreshConst(terms.process, "l")

    def sending(receivers: tuple[Term, ...]) -> Step:
        those: Any = Receivers(receivers, to)
        return sent(machine, i, state, Message("m", i, those))

    alone = sending((some[0],))
    after, (one,) = _read(alone.state, k, l), alone.packets
    stamp = _read(one.stamp, k, l)
    for receivers in (order for size in range(1, MOST + 1) for order in permutations(some, size)):
        step = sending(receivers)
        unlike = list(zip(after, _read(step.state, k, l), strict=True))
        for each in step.packets:
            own = [z3.simplify(z3.substitute(term, (some[0], each.destination))) for term in stamp]
            unlike += zip(own, _read(each.stamp, k, l), strict=True)
        if not all(a.eq(b) for a, b in unlike):
            raise TypeError("a loop over the receivers of a message leaves its trace in a state or a stamp")
    if any(not term.eq(z3.substitute(term, (receiver, k))) for term in after for receiver in some):
        raise TypeError("the state after a message to several processes tells of one of them")

    def packet(j: Term) -> Packet:
        return one._replace(destination=j, stamp=_substituted(one.stamp, some[0], j))

    return alone, packet


def _read(value: Any, k: Term, l: Term) -> list[Term]:
    """Any entry of each of its vectors and matrices, so that terms can be compared."""
    return [z3.simplify(_entry(leaf, [k, l])) for leaf in leaves(value)]


def _entry(leaf: Term, places: list[Term]) -> Term:
    return _entry(leaf[places[0]], places[1:]) if is_array(leaf) else leaf


def _substituted(value: Any, this: Term, that: Term) -> Any:
    if isinstance(value, tuple):
        parts = [_substituted(part, this, that) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return z3.substitute(value, (this, that))
