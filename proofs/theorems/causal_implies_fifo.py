"""Causal order implies FIFO order, in any computation of any number of processes and messages ([MF] §1).

The two definitions, of events and a relation ≺ between them of which nothing is known: that ≺ is happened-before is not
needed. Sends and receives are functions of a message (and of the receiver, if it has several); what is not received is
lost (it breaks nothing), or pending (it comes last of all).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import z3

from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.terms import Term

Unreceived = Literal["lost", "pending"]


class Orders:
    """Any computation; the definitions of causal and of FIFO order as formulas."""

    def __init__(self, unreceived: Unreceived) -> None:
        self.unreceived = unreceived
        self.message, self.process, event = map(z3.DeclareSort, ("Message", "Process", "Event"))
        truth = z3.BoolSort()
        self.sender = z3.Function("sender", self.message, self.process)
        self.send = z3.Function("send", self.message, event)
        self.receive = z3.Function("receive", self.message, self.process, event)
        self.to = z3.Function("to", self.message, self.process, truth)
        self.received = z3.Function("received", self.message, self.process, truth)
        self.before = z3.Function("before", event, event, truth)

    def _in_order(self, x: Term, y: Term, p: Term) -> Term:
        """At p, y is not received before x."""
        follows = self.before(self.receive(x, p), self.receive(y, p))
        if self.unreceived == "lost":
            return z3.Implies(z3.And(self.received(x, p), self.received(y, p)), follows)
        return z3.Implies(self.received(y, p), z3.And(self.received(x, p), follows))

    def _ordered(self, x: Term, y: Term, p: Term) -> Term:
        return z3.And(self.to(x, p), self.to(y, p), self.before(self.send(x), self.send(y)))

    def causal(self) -> Term:
        """(r ~ r') ∧ (s ≺ s') ⇒ r ≺ r'."""
        return self._all(lambda x, y, p: z3.Implies(self._ordered(x, y, p), self._in_order(x, y, p)))

    def fifo(self) -> Term:
        """(s ~ s') ∧ (r ~ r') ∧ (s ≺ s') ⇒ r ≺ r'."""
        return self._all(
            lambda x, y, p: z3.Implies(
                z3.And(self.sender(x) == self.sender(y), self._ordered(x, y, p)), self._in_order(x, y, p)
            )
        )

    def _all(self, holds: Callable[[Term, Term, Term], Term]) -> Term:
        x, y, p = z3.Const("x", self.message), z3.Const("y", self.message), z3.Const("p", self.process)
        return z3.ForAll([x, y, p], holds(x, y, p))


def inclusion(unreceived: Unreceived) -> Claim:
    """Causal order implies FIFO order."""
    orders = Orders(unreceived)
    return Claim("causal order implies FIFO order", {"causal order": orders.causal()}, orders.fifo())


def converse(unreceived: Unreceived) -> Claim:
    """FIFO order implies causal order: to be refuted."""
    orders = Orders(unreceived)
    return Claim("FIFO order implies causal order", {"FIFO order": orders.fifo()}, orders.causal())
