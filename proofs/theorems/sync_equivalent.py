"""SYNC of [MG] §2.2 is equivalent to a linearization in which each receive follows its send at once."""

from functools import cache

import z3

from crownless.proofs.induction.evidence import Evidence, by_z3
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.terms import Term

from .synchronous import SORTED_IN_WORDS, InTime


def linearization_claims(c: InTime) -> list[Claim]:
    """From a linearization in which each receive follows its send at once to the T of SYNC, and back."""
    place = z3.Function("place", c.event, z3.IntSort())
    rank = z3.Function("rank", c.message, z3.IntSort())

    def in_line(m: Term) -> Term:
        return place(c.receive(m)) == place(c.send(m)) + 1

    def at_send(m: Term) -> Term:
        return z3.And(c.time(c.send(m)) == place(c.send(m)), c.time(c.receive(m)) == place(c.send(m)))

    def sorted_by_time(m: Term, k: Term) -> Term:
        return z3.And(
            z3.Implies(c.time(c.send(m)) < c.time(c.send(k)), rank(m) < rank(k)),
            z3.Implies(rank(m) == rank(k), m == k),
        )

    def placed(m: Term) -> Term:
        return z3.And(place(c.send(m)) == 2 * rank(m), place(c.receive(m)) == 2 * rank(m) + 1)

    linearization = {
        "≺ is kept": c.events(lambda e, f: z3.Implies(c.precedes(e, f), place(e) < place(f))),
        "no two events are at one place": c.events(lambda e, f: z3.Implies(place(e) == place(f), e == f)),
        "each receive follows its send": c.messages(in_line, of=1),
    }
    places = {"messages are sorted by T": c.messages(sorted_by_time), "places of sorted ones": c.messages(placed, of=1)}
    of_messages = {**c.happened_before(), **c.only_messages()}
    times = {"T is the place of the send": c.messages(at_send, of=1)}
    return [
        Claim("a linearization gives SYNC", {**of_messages, **linearization, **times}, z3.And(*c.sync().values())),
        Claim("SYNC gives a linearization", {**of_messages, **c.sync(), **places}, z3.And(*linearization.values())),
    ]


@cache
def linearizations() -> Evidence:
    """[MG] §2.2: SYNC is equivalent to such a linearization; not if receives need not follow at once."""
    c = InTime()
    claims = linearization_claims(c)
    return by_z3(
        "the place of its send is a time for both events of a message; and messages sorted by T give a linearization",
        claims,
        possible=[{**claim.given, **c.two_sends_in_order()} for claim in claims],
        refuted=[[claims[0].without("each receive follows its send")]],
        scope=f"any number of processes and messages, none to oneself; {SORTED_IN_WORDS}",
    )
