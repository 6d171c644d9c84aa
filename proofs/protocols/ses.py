"""The vector-pair protocol realises causal order, for every n, with deletion of obsolete pairs and without ([SES]).

Why it works: vector time determines what is known, and what happened before (§4.1, Lemma 1). Of every message that a
site knows of, it keeps a pair for its receiver with a time at least as late, unless the message is known to be
delivered; and so does every message that carries its sender's pairs. So the guard asks the receiver to have reached the
time of all that was sent to it before, hence to know of it; and a site knows of no message to itself but by delivering
it.

For optimality the pairs must not ask for more: each entry of a pair is that of a message to this receiver.
"""

from __future__ import annotations

import z3

from crownless.impl.ses import Ses
from crownless.impl.ses_delete import SesDelete
from crownless.proofs.induction.any_run import AnyRun
from crownless.proofs.induction.causal_order import KNOWN_IS_SENT, CausalOrder, Invariants
from crownless.proofs.language.terms import Term


def _covers(run: AnyRun, pairs: Term, x: Term) -> Term:
    """True if, among these pairs, one for the receiver of x is as late as x."""
    return run.processes(lambda k: run.stamp(x).time[k] <= pairs[run.receiver(x)][k])


def _covered_by(run: AnyRun, x: Term, l: Term, k: Term, entry: Term) -> Term:
    """True if x is a message to l whose time has this entry for k."""
    return z3.And(run.receiver(x) == l, entry <= run.stamp(x).time[k])


INVARIANTS: Invariants = {
    **KNOWN_IS_SENT,
    "no message is to its sender": lambda run, now: run.messages(
        lambda x: z3.Implies(now.sent(x), run.sender(x) != run.receiver(x))
    ),
    "times are not negative": lambda run, now: run.processes(lambda p, k: now.local(p).time[k] >= 0, of=2),
    "nobody is ahead of a site's own time": lambda run, now: z3.And(
        run.processes(lambda p, k: now.local(p).time[k] <= now.local(k).time[k], of=2),
        run.messages(
            lambda m: run.processes(lambda k: z3.Implies(now.sent(m), run.stamp(m).time[k] <= now.local(k).time[k]))
        ),
    ),
    "time determines what is known": lambda run, now: run.processes(
        lambda p: run.messages(
            lambda x: z3.Implies(
                now.sent(x),
                now.knows(p, x) == (run.stamp(x).time[run.sender(x)] <= now.local(p).time[run.sender(x)]),
            )
        )
    ),
    "time determines what happened before": lambda run, now: run.messages(
        lambda x, m: z3.Implies(
            z3.And(now.sent(m), now.sent(x), x != m),
            run.precedes(x, m) == (run.stamp(x).time[run.sender(x)] <= run.stamp(m).time[run.sender(x)]),
        ),
        of=2,
    ),
    "what is known is not later": lambda run, now: z3.And(
        run.processes(
            lambda p, k: run.messages(
                lambda x: z3.Implies(now.knows(p, x), run.stamp(x).time[k] <= now.local(p).time[k])
            ),
            of=2,
        ),
        run.messages(
            lambda x, m: run.processes(
                lambda k: z3.Implies(
                    z3.And(now.sent(m), run.precedes(x, m)), run.stamp(x).time[k] <= run.stamp(m).time[k]
                )
            ),
            of=2,
        ),
    ),
    "a site knows of messages to itself by delivering them": lambda run, now: run.messages(
        lambda x: z3.Implies(now.sent(x), now.knows(run.receiver(x), x) == now.delivered(x))
    ),
    "what its sender delivered before is delivered": lambda run, now: run.messages(
        lambda x, m: z3.Implies(
            z3.And(now.sent(m), run.precedes(x, m), run.receiver(x) == run.sender(m)), now.delivered(x)
        ),
        of=2,
    ),
    "a site has a pair for what it knows": lambda run, now: run.processes(
        lambda p: run.messages(
            lambda x: z3.Implies(now.knows(p, x), z3.Or(now.delivered(x), _covers(run, now.local(p).buffer, x)))
        )
    ),
    "a message has a pair for what happened before": lambda run, now: run.messages(
        lambda x, m: z3.Implies(
            z3.And(now.sent(m), run.precedes(x, m)), z3.Or(now.delivered(x), _covers(run, run.stamp(m).buffer, x))
        ),
        of=2,
    ),
    "a site's pairs are those of messages that it knows": lambda run, now: run.processes(
        lambda p, l, k: z3.Implies(
            now.local(p).buffer[l][k] > 0,
            z3.And(
                now.knows(p, now.witness(p, l, k)),
                _covered_by(run, now.witness(p, l, k), l, k, now.local(p).buffer[l][k]),
            ),
        ),
        of=3,
    ),
    "a message's pairs are those of messages before": lambda run, now: run.messages(
        lambda m: run.processes(
            lambda l, k: z3.Implies(
                z3.And(now.sent(m), run.stamp(m).buffer[l][k] > 0),
                z3.And(
                    run.precedes(run.witness(m, l, k), m),
                    _covered_by(run, run.witness(m, l, k), l, k, run.stamp(m).buffer[l][k]),
                ),
            ),
            of=2,
        )
    ),
}

SAFE_BY = (
    "what is known or delivered is sent",
    "time determines what is known",
    "a site knows of messages to itself by delivering them",
    "a message has a pair for what happened before",
)
OPTIMAL_BY = (
    "what is known or delivered is sent",
    "times are not negative",
    "what is known is not later",
    "a site knows of messages to itself by delivering them",
    "a message's pairs are those of messages before",
)
KEPT_BY = {
    "time determines what is known": (
        "what is known or delivered is sent",
        "nobody is ahead of a site's own time",
        "time determines what happened before",
    ),
    "a site has a pair for what it knows": (
        "what is known or delivered is sent",
        "no message is to its sender",
        "time determines what is known",
        "time determines what happened before",
        "a site knows of messages to itself by delivering them",
        "what its sender delivered before is delivered",
        "a message has a pair for what happened before",
    ),
    "a site's pairs are those of messages that it knows": ("a message's pairs are those of messages before",),
}


def _brings(run: AnyRun, l: Term, k: Term) -> Term:
    """Merging takes the greater entry."""
    return run.stamp(run.m).buffer[l][k] > run.before.local(run.i).buffer[l][k]


def by_pairs(protocol: type[Ses]) -> CausalOrder:
    """The proof for the protocol or a variant: what is missing is the message whose time the pair has."""
    return CausalOrder(
        protocol,
        INVARIANTS,
        SAFE_BY,
        OPTIMAL_BY,
        lambda run, k: run.witness(run.m, run.i, k),
        KEPT_BY,
        _brings,
    )


SES, SES_DELETE = by_pairs(Ses), by_pairs(SesDelete)
