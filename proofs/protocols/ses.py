"""The vector-pair protocol realizes causal order, for every n, with deletion of obsolete pairs and without ([SES]).

Why it works: vector time determines what is known, and what happened before (§4.1, Lemma 1). For every message that a
site knows, it keeps a pair for the receiver with a time at least as late, unless the message is known to be delivered;
and so does every message that carries its sender's pairs. So the guard requires the receiver to have reached the time
of all messages sent to it before, hence to know them; and a site knows a message to itself only by delivering it.

The pairs must not require more: each entry of a pair is that of a message to this receiver.
"""

import z3

from crownless.impl.protocols.ses import Ses
from crownless.impl.protocols.ses_delete import SesDelete
from crownless.proofs.induction.any_multicast import AnyMulticast
from crownless.proofs.induction.any_run import AnyRun
from crownless.proofs.induction.causal_order import KNOWN_IS_SENT, CausalOrder, Invariants
from crownless.proofs.induction.quantified import for_all
from crownless.proofs.language.terms import Term


def time_of(run: AnyRun, x: Term) -> Term:
    """VT(x), equal on all copies."""
    several = isinstance(run, AnyMulticast)
    return (run.stamp(x, run.sender(x)) if several else run.stamp(x)).time


def covers(run: AnyRun, pairs: Term, x: Term, j: Term) -> Term:
    """True if one of these pairs is for j and as late as x."""
    return run.processes(lambda k: time_of(run, x)[k] <= pairs[j][k])


def covered_by(run: AnyRun, x: Term, l: Term, k: Term, entry: Term) -> Term:
    """True if x is a message to l and its time has this entry for k."""
    return z3.And(run.to(x, l), entry <= time_of(run, x)[k])


#: Facts about sites, messages and vector time, for unicasts and multicasts.
OF_TIME: Invariants = {
    **KNOWN_IS_SENT,
    **for_all(
        {
            "no message is to its sender": lambda run, now, x: z3.Implies(
                now.sent(x), z3.Not(run.to(x, run.sender(x)))
            ),
            "times are not negative": lambda run, now, p, k: now.local(p).time[k] >= 0,
            "nobody is ahead of a site's own time": (
                lambda run, now, p, k: now.local(p).time[k] <= now.local(k).time[k],
                lambda run, now, m, k: z3.Implies(now.sent(m), time_of(run, m)[k] <= now.local(k).time[k]),
            ),
            "time determines what is known": lambda run, now, p, x: z3.Implies(
                now.sent(x),
                now.knows(p, x) == (time_of(run, x)[run.sender(x)] <= now.local(p).time[run.sender(x)]),
            ),
            "time determines what happened before": lambda run, now, x, m: z3.Implies(
                z3.And(now.sent(m), now.sent(x), x != m),
                run.precedes(x, m) == (time_of(run, x)[run.sender(x)] <= time_of(run, m)[run.sender(x)]),
            ),
            "what is known is not later": (
                lambda run, now, p, k, x: z3.Implies(now.knows(p, x), time_of(run, x)[k] <= now.local(p).time[k]),
                lambda run, now, x, m, k: z3.Implies(
                    z3.And(now.sent(m), run.precedes(x, m)), time_of(run, x)[k] <= time_of(run, m)[k]
                ),
            ),
            "a site's pairs are those of messages that it knows": lambda run, now, p, l, k: z3.Implies(
                now.local(p).buffer[l][k] > 0,
                z3.And(
                    now.knows(p, now.witness(p, l, k)),
                    covered_by(run, now.witness(p, l, k), l, k, now.local(p).buffer[l][k]),
                ),
            ),
        }
    ),
}

INVARIANTS: Invariants = {
    **OF_TIME,
    **for_all(
        {
            "a site knows of messages to itself by delivering them": lambda run, now, x: z3.Implies(
                now.sent(x), now.knows(run.receiver(x), x) == now.delivered(x)
            ),
            "what its sender delivered before is delivered": lambda run, now, x, m: z3.Implies(
                z3.And(now.sent(m), run.precedes(x, m), run.receiver(x) == run.sender(m)), now.delivered(x)
            ),
            "a site has a pair for what it knows": lambda run, now, p, x: z3.Implies(
                now.knows(p, x), z3.Or(now.delivered(x), covers(run, now.local(p).buffer, x, run.receiver(x)))
            ),
            "a message has a pair for what happened before": lambda run, now, x, m: z3.Implies(
                z3.And(now.sent(m), run.precedes(x, m)),
                z3.Or(now.delivered(x), covers(run, run.stamp(m).buffer, x, run.receiver(x))),
            ),
            "a message's pairs are those of messages before": lambda run, now, m, l, k: z3.Implies(
                z3.And(now.sent(m), run.stamp(m).buffer[l][k] > 0),
                z3.And(
                    run.precedes(run.witness(m, l, k), m),
                    covered_by(run, run.witness(m, l, k), l, k, run.stamp(m).buffer[l][k]),
                ),
            ),
        }
    ),
}

SAFE_BY = (
    "what is known or delivered is sent",
    "time determines what is known",
    "a site knows of messages to itself by delivering them",
    "a message has a pair for what happened before",
)
WAITS_BY = (
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


def by_pairs(protocol: type[Ses]) -> CausalOrder:
    """The proof of the protocol or a variant: the missing message is the one whose time the pair has."""
    return CausalOrder(
        protocol,
        INVARIANTS,
        SAFE_BY,
        WAITS_BY,
        lambda run, k: run.witness(run.m, run.i, k),
        KEPT_BY,
        lambda run, l, k: run.stamp(run.m).buffer[l][k] > run.before.local(run.i).buffer[l][k],  # merging takes it
    )


SES, SES_DELETE = by_pairs(Ses), by_pairs(SesDelete)
