"""Receiving in one total order implies causal order, for any number of sites and messages ([SES] §1, §2).

The total order is one of all events that extends →, as in [Lam78]; sites receive messages in the order of their sends
in it. A broadcast has several receives.
"""

from functools import cache
from typing import get_args

import z3

from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.terms import Term

from .computation import Hypotheses
from .evidence import Evidence, by_z3, lacking_each
from .synchronous import Orders, Unreceived


class TotallyOrdered(Orders):
    """A computation, with a relation that orders its events."""

    def __init__(self, unreceived: Unreceived) -> None:
        super().__init__(unreceived)
        event = self.send.range()
        self.earlier = z3.Function("earlier", event, event, z3.BoolSort())

    def linear(self) -> Term:
        """The relation is a total order of the events."""
        e, f, g = z3.Consts("e f g", self.send.range())
        path = z3.Implies(z3.And(self.earlier(e, f), self.earlier(f, g)), self.earlier(e, g))
        one_way = z3.Xor(self.earlier(e, f), self.earlier(f, e))
        return z3.ForAll([e, f, g], z3.And(path, z3.If(e == f, z3.Not(self.earlier(e, f)), one_way)))

    def extends(self) -> Term:
        e, f = z3.Consts("e f", self.send.range())
        return z3.ForAll([e, f], z3.Implies(self.before(e, f), self.earlier(e, f)))

    def received_by_it(self) -> Term:
        """Of two messages to one site, the one whose send is earlier is received first."""

        def in_order(x: Term, y: Term, p: Term) -> Term:
            both = z3.And(self.to(x, p), self.to(y, p), self.earlier(self.send(x), self.send(y)))
            return z3.Implies(both, self._in_order(x, y, p))

        return self._all(in_order)

    def given(self) -> Hypotheses:
        return {"the order extends →": self.extends(), "sites receive by the order": self.received_by_it()}


def inclusion(unreceived: Unreceived) -> Claim:
    """Receiving in a total order that extends → implies causal order."""
    c = TotallyOrdered(unreceived)
    return Claim("receiving in a total order implies causal order", c.given(), c.causal())


@cache
def causal_follows_from_total() -> Evidence:
    """By the definitions; both hypotheses are necessary, and a linear order satisfies them."""
    policies = get_args(Unreceived)
    claims = [inclusion(policy) for policy in policies]
    linear = [
        {**claim.given, "it is linear": TotallyOrdered(policy).linear()}
        for claim, policy in zip(claims, policies, strict=True)
    ]
    return by_z3(
        "if sites receive by one total order of all events that extends →, causal order holds, by the definitions",
        claims,
        possible=linear,
        refuted=lacking_each(*claims),
        scope="any number of sites, messages and receivers; of the definitions",
    )
