"""The reach of the buffer protocol: computations that no run generates, for any number of processes ([MF] §4.2).

Why: what one process sends first is got first (Lemma 3); and what one process receives first was got first, since an
input buffer is a queue. So the times at which messages are got grow along the sends of a line, and along its receives.
A computation in which they would have to grow around a cycle cannot be generated, whatever else happens in the run.
This is the text's own proof of Fig. 8, for any such cycle.

The same times show that whatever is generated is in mailbox order. Put an edge between two sends wherever the one must
come first: one process sends both, or receives the one message before it sends the other, or receives the one message
before the other. Each edge into a message that is got comes from one that was got earlier. So no cycle contains a
message that is got; among the others all edges lead along the line of one sender. That finitely many sends without a
cycle can be sorted is argued.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise

import z3

from crownless.proofs.induction.quantified import for_all
from crownless.proofs.induction.queue_abstraction import Invariants
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.terms import Term
from crownless.proofs.protocols.buffer_lemmas import BuffersInTime, in_time
from crownless.spec.computation import Computation

from .computation import NEVER, Hypotheses
from .evidence import Evidence, by_z3, lacking_each
from .synchronous import SORTED_IN_WORDS

ANY_RUN = "any number of processes and messages, self-sends included, any channel that loses nothing"

THEN_SENDS = "what a process receives was got before what it then sends"

#: What the lemmas of [MF] §3.3 leave open: the order of a message's own stages.
STAGES: Invariants = for_all(
    {
        "a message is got after it is sent": lambda run, now, l, x: l.implies(
            now.got(x), run.sent_at(x) < run.got_at(x)
        ),
        "a message is received after it is got": lambda run, now, l, x: l.implies(
            now.delivered(x), run.got_at(x) < run.delivered_at(x)
        ),
    }
)


class Reached(BuffersInTime):
    """A state of a run, with what is observed of its computation."""

    def invariants(self) -> Hypotheses:
        every = {**in_time().invariants, **STAGES}
        return {name: holds(self, self.before, self.logic) for name, holds in every.items()}

    def sent_first(self, x: Term, y: Term) -> Term:
        """One process sends x before y."""
        now = self.before
        return z3.And(now.sent(x), now.sent(y), self.sender(x) == self.sender(y), self.sent_at(x) < self.sent_at(y))

    def received_first(self, x: Term, y: Term) -> Term:
        """One process receives x, and y, which is sent to it too, later or not at all."""
        now = self.before
        to_one = z3.And(now.delivered(x), now.sent(y), x != y, self.receiver(x) == self.receiver(y))
        return z3.And(to_one, z3.Implies(now.delivered(y), self.delivered_at(x) < self.delivered_at(y)))

    def received_before_sending(self, x: Term, y: Term) -> Term:
        """One process receives x, and then sends y."""
        now = self.before
        return z3.And(
            now.delivered(x), now.sent(y), self.receiver(x) == self.sender(y), self.delivered_at(x) < self.sent_at(y)
        )

    def got_first(self, x: Term, y: Term) -> Term:
        """If y is got, then x was got before it."""
        now = self.before
        return z3.Implies(now.got(y), z3.And(now.got(x), self.got_at(x) < self.got_at(y)))

    @property
    def edges(self) -> dict[str, Callable[[Term, Term], Term]]:
        """Why the send of one message must come before that of another."""
        return {
            "what one process sends first is got first": self.sent_first,
            "what one process receives first was got first": self.received_first,
            THEN_SENDS: self.received_before_sending,
        }

    def lemmas(self) -> Hypotheses:
        """Each edge leads to a message that is got later, or not got; and what is received is got."""

        def lemma(edge: Callable[[Term, Term], Term]) -> Term:
            return self.logic.messages(lambda x, y: z3.Implies(edge(x, y), self.got_first(x, y)), of=2)

        now = self.before
        got = self.logic.messages(lambda x: z3.Implies(now.delivered(x), now.got(x)))
        return {**{name: lemma(edge) for name, edge in self.edges.items()}, "what is received is got": got}


def lemma_claims() -> list[Claim]:
    """The order of stages is kept, and the lemmas follow from the invariants."""
    proof = replace(in_time(), abstraction=Reached, invariants={**in_time().invariants, **STAGES})
    kept = [claim for claim in proof.claims()["invariants"] if claim.name.partition(":")[0] in STAGES]
    run = Reached()
    return [*kept, *(Claim(name, run.invariants(), lemma) for name, lemma in run.lemmas().items())]


def never_generated(c: Computation) -> Claim:
    """No run has the messages of this computation, each sent and received in its order, whatever else it has."""
    run = Reached()
    messages = [z3.Const(message.name, run.logic.sorts["message"]) for message in c.messages]
    lemmas = {name: lemma for name, lemma in run.lemmas().items() if name != THEN_SENDS}
    return Claim("it is never generated", {**lemmas, **dict(_orders(run, c, messages))}, NEVER)


def _orders(run: Reached, c: Computation, messages: list[Term]) -> Iterator[tuple[str, Term]]:
    """The order of the sends on each line, and that of the receives."""
    for line in c.lines:
        for kind, first in (("send", run.sent_first), ("receive", run.received_first)):
            of_kind = [event.message for event in line if event.kind == kind and event.message is not None]
            for one, other in pairwise(of_kind):
                name = f"{kind} {c.messages[one].name} before {c.messages[other].name}"
                yield name, first(messages[one], messages[other])


@cache
def lemmas_on_gets() -> Evidence:
    return by_z3(
        "the times at which messages are got grow along the sends of a line, and along its receives",
        lemma_claims(),
        scope=ANY_RUN,
    )


def out_of_reach(c: Computation, name: str) -> Evidence:
    """Each hypothesis is needed: without one of the orders, or one of the lemmas, the cycle is open."""
    claim = never_generated(c)
    because = (
        f"no run generates {name}, whatever other processes and messages it has: its messages would be got in a cycle"
    )
    return by_z3(because, [claim], refuted=lacking_each(claim), scope=ANY_RUN) & lemmas_on_gets()


@cache
def within_mailbox_order() -> Evidence:
    """No cycle of sends contains a message that is got: the time of getting is a rank along all edges."""
    run = Reached()
    x, y = run.m, run.w
    into_one_got = {
        "y is got": run.before.got(y),
        "an edge leads from x to y": z3.Or(*(edge(x, y) for edge in run.edges.values())),
    }
    earlier = z3.And(run.before.got(x), run.got_at(x) < run.got_at(y))
    not_got = {
        "y is not got": z3.Not(run.before.got(y)),
        "an edge leads from y to x": z3.Or(*(edge(y, x) for edge in run.edges.values())),
    }
    along = z3.And(z3.Not(run.before.got(x)), run.sent_first(y, x))
    claims = [
        Claim("an edge into a message that is got", {**run.lemmas(), **into_one_got}, earlier),
        Claim("an edge out of one that is not got", {**run.lemmas(), **not_got}, along),
    ]
    return (
        by_z3(
            "wherever one send must come before another, its message is got before the other, if that is got; from a "
            "message that is not got edges lead only along its sender's line",
            claims,
            possible=[claim.given for claim in claims],
            scope=f"{ANY_RUN}; {SORTED_IN_WORDS}",
        )
        & lemmas_on_gets()
    )
