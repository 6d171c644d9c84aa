"""Any run of a protocol of multicasts, for any number of receivers (`any_run`).

`send` iterates over the receivers of a message in a comprehension, which would not end for a set of unknown size. Here
it runs on `Receivers`: one, two or three arbitrary processes, two in both orders; `copies` checks that neither the
resulting state nor the packet for one of them depends on their number or order.

Then one packet represents all, for any number, since `branch_free` admits nothing that could distinguish four receivers
from three. There, a list is derived from another entry by entry, uniformly (comprehensions have no condition, and carry
nothing from one entry to the next), or concatenated from lists; it is never sliced, measured, compared, or indexed. So

- a packet for the receiver r is ``e(r)``, with one expression ``e`` for all of them, whatever their number;
- the number of packets is a sum of powers of the number N of receivers, with no negative coefficient: 1 for N = 1
  leaves one power with coefficient one, and 2 for N = 2 the first power. So there are N for every N;
- a list can be unpacked only if its length is the same for N = 1, 2 and 3, hence for every N; so nothing else, and no
  state, comes from a list of receivers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import z3

from crownless.impl.protocol import Packet, Step
from crownless.proofs.language.symbols import AnyReceivers, Symbol
from crownless.proofs.language.terms import Term, Terms, is_array
from crownless.spec.computation import Message

from .any_run import CAUSAL_PAST, AnyRun, leaves, rebuilt, same_shape, sent

ASSUMED = (
    "each message is sent once, to any set of other processes, and delivered to each of them at most once",
    "a copy is what its sender put on the channel; it may take any time, overtake others, and be lost",
    CAUSAL_PAST,
    "live: whatever stays deliverable is eventually delivered, and nothing is lost",
)

#: Loops are run for at most this many receivers; two of them in both orders.
MOST = 3


@dataclass(frozen=True)
class Receivers:
    """A set of processes of any size: a few arbitrary members, and a membership predicate."""

    some: tuple[Term, ...]
    has: Callable[[Term], Term]

    def __iter__(self) -> Iterator[Term]:
        return iter(self.some)

    def as_symbols(self, loops: bool) -> AnyReceivers:
        """The form that a machine is given."""
        return AnyReceivers(tuple(map(Symbol, self.some)), self.has, loops)


class AnyMulticast(AnyRun):
    """A run in which messages go to sets of processes; i takes the next step, with its copy of the message m."""

    #: True if there are only broadcasts, each to all other processes.
    broadcasts = False

    ends = 1

    def _address(self) -> None:
        self._to = z3.Function("to", self.message, self.terms.process, z3.BoolSort())

    def _first_stamp(self, p: Term, initial: Any) -> Any:
        return copies(self.machine, self.terms, p, initial, lambda k: k != p)[1](p).stamp

    def to(self, x: Term, p: Term) -> Term:
        return self._to(x, p)

    def channel(self, sender: Term, x: Term) -> tuple[Term, ...]:
        return (sender,)

    def copy(self, p: Term) -> tuple[Term, ...]:
        return (p,)

    def each_delivery(self, holds: Callable[..., Term]) -> Term:
        return self.processes(holds)

    def packet(self, m: Term) -> Packet:
        """The copy of a message for i; it learns who else has one only through `ops.indicator`."""
        sender = self.sender(m)
        receivers: Any = Receivers((), lambda k: self.to(m, k))
        return Packet(sender, self.i, "message", Message("m", sender, receivers), self.stamp(m, self.i))

    def _sending(self) -> tuple[Step, Term, Term]:
        i, m = self.i, self.m
        step, packet = copies(self.machine, self.terms, i, self.before.local(i), lambda k: self.to(m, k))
        same_shape(self.machine, "send", self.stamp(m, i), packet(i).stamp, "the stamp")
        others = self.processes(lambda k: self.to(m, k) == (k != i)) if self.broadcasts else z3.Not(self.to(m, i))
        return step, others, self.processes(lambda j: self._same(self.stamp(m, j), packet(j).stamp))

    def _brought(self, l: Term, k: Term) -> Term:
        return z3.If(self.to(self.m, l), self.m, super()._brought(l, k))

    def _same(self, one: Any, other: Any) -> Term:
        """True if these values are equal, entry by entry. Comprehensions are eliminated before z3 sees them."""
        return z3.And([self._same_term(a, b) for a, b in zip(leaves(one), leaves(other), strict=True)])

    def _same_term(self, a: Term, b: Term) -> Term:
        if not is_array(a):
            return a == b
        return self.processes(lambda k: self._same_term(a[k], z3.simplify(b[k])))


def copies(
    machine: Any, terms: Terms, i: Term, state: Any, to: Callable[[Term], Term]
) -> tuple[Step, Callable[[Term], Packet]]:
    """The step of process i when it sends to these processes, and the packet for each; raises `Refused` unless each
    packet is built independently of the order and number of the others.
    """
    some = [z3.FreshConst(terms.process, "receiver") for _ in range(MOST)]
    k, l = z3.FreshConst(terms.process, "k"), z3.FreshConst(terms.process, "l")

    def sending(receivers: tuple[Term, ...]) -> Step:
        those: Any = Receivers(receivers, to)
        return sent(machine, i, state, Message("m", i, those))

    alone = sending((some[0],))
    after, (one,) = _read(alone.state, k, l), alone.packets
    stamp = _read(one.stamp, k, l)
    for receivers in (tuple(some[:1]), tuple(some[:2]), tuple(some[1::-1]), tuple(some)):
        step = sending(receivers)
        for each in step.packets:
            same_shape(machine, "send", one.stamp, each.stamp, "the stamp")
        unlike = list(zip(after, _read(step.state, k, l), strict=True))
        for each in step.packets:
            own = [z3.simplify(z3.substitute(term, (some[0], each.destination))) for term in stamp]
            unlike += zip(own, _read(each.stamp, k, l), strict=True)
        if not all(a.eq(b) for a, b in unlike):
            raise machine.refused("send", "a loop over the receivers of a message shows in a state or a stamp")
    if any(not term.eq(z3.substitute(term, (receiver, k))) for term in after for receiver in some):
        raise machine.refused("send", "the state after a message to several processes depends on one of them")

    def packet(j: Term) -> Packet:
        stamp = rebuilt(one.stamp, (z3.substitute(term, (some[0], j)) for term in leaves(one.stamp)))
        return one._replace(destination=j, stamp=stamp)

    return alone, packet


def _read(value: Any, k: Term, l: Term) -> list[Term]:
    """An arbitrary entry of each of its vectors and matrices, so that terms can be compared."""
    return [z3.simplify(_entry(leaf, [k, l])) for leaf in leaves(value)]


def _entry(leaf: Term, places: list[Term]) -> Term:
    return _entry(leaf[places[0]], places[1:]) if is_array(leaf) else leaf
