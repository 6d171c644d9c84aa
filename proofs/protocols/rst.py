"""The matrix protocol realizes causal order, for every n and any number of messages ([Kup], [RST91]).

Why it works: SENT_i counts the messages that i knows. On each channel those are the first ones, since a process that
knows a message knows all that its sender sent before; so a count determines them, and the stamp of m the sends that
happened before m's. DELIV_i counts the delivered messages of each process, which are those sent to i that i knows. So
the guard requires exactly what causal order requires.
"""

from collections.abc import Callable
from typing import NamedTuple

import z3

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.rst_before import RstBefore
from crownless.impl.protocols.rst_variants import RstSentAlone
from crownless.proofs.induction.any_run import AnyRun, SymbolicState
from crownless.proofs.induction.causal_order import OF_CHANNELS, CausalOrder, Invariants
from crownless.proofs.induction.quantified import for_all
from crownless.proofs.language.terms import Term


class Counts(NamedTuple):
    """The counts in the states and stamps of a protocol of matrices."""

    #: state, process p, k, l → the number of messages from k to l that p knows.
    known: Callable[[SymbolicState, Term, Term, Term], Term]
    #: state, process p, k → the number of messages from k delivered to p.
    delivered: Callable[[SymbolicState, Term, Term], Term]
    #: run, message m, k, l → the number of messages from k to l that happened before m, by m's stamp.
    carried: Callable[[AnyRun, Term, Term, Term], Term]


def counting(at: Counts) -> Invariants:
    """The invariants of a protocol that counts messages."""

    def of_channel(run: AnyRun, x: Term) -> tuple[Term, Term]:
        return run.sender(x), run.receiver(x)

    kept: dict[str, Callable[..., Term]] = {
        "a sender counts what it sent": lambda run, now, k, l: at.known(now, k, k, l) == now.count(k, l),
        "nobody counts more than there are": lambda run, now, p, k, l: at.known(now, p, k, l) <= now.count(k, l),
        "no stamp counts more than there are": lambda run, now, m, k, l: z3.Implies(
            now.sent(m), at.carried(run, m, k, l) <= now.count(k, l)
        ),
        "SENT counts what is known": lambda run, now, p, x: z3.Implies(
            now.sent(x), now.knows(p, x) == (run.number(x) <= at.known(now, p, *of_channel(run, x)))
        ),
        "a stamp counts what happened before": lambda run, now, x, m: z3.Implies(
            z3.And(now.sent(m), now.sent(x)),
            run.precedes(x, m) == (run.number(x) <= at.carried(run, m, *of_channel(run, x))),
        ),
        "a stamp counts those before on its channel": lambda run, now, m: z3.Implies(
            now.sent(m), at.carried(run, m, *of_channel(run, m)) == run.number(m) - 1
        ),
        "DELIV is the own column of SENT": lambda run, now, p, k: z3.And(
            at.delivered(now, p, k) == at.known(now, p, k, p), at.delivered(now, p, k) >= 0
        ),
        "DELIV counts what is delivered": lambda run, now, x: z3.Implies(
            now.sent(x), now.delivered(x) == (run.number(x) <= at.delivered(now, run.receiver(x), run.sender(x)))
        ),
    }
    return {**OF_CHANNELS, **for_all(kept)}


SAFE_BY = (
    "what is known or delivered is sent",
    "a stamp counts what happened before",
    "DELIV counts what is delivered",
)
WAITS_BY = (
    "there is a message of each number",
    "no stamp counts more than there are",
    "a stamp counts what happened before",
    "a stamp counts those before on its channel",
    "DELIV is the own column of SENT",
    "DELIV counts what is delivered",
)


def by_counts(protocol: type[ProtocolMachine], at: Counts) -> CausalOrder:
    """The proof of a protocol of matrices: the missing message is the last one that the stamp counts."""
    return CausalOrder(
        protocol,
        counting(at),
        SAFE_BY,
        WAITS_BY,
        lambda run, k: run.numbered(k, run.i, at.carried(run, run.m, k, run.i)),
    )


RST = by_counts(
    Rst,
    Counts(
        lambda now, p, k, l: now.local(p).sent[k][l],
        lambda now, p, k: now.local(p).deliv[k],
        lambda run, m, k, l: run.stamp(m)[k][l],
    ),
)
RST_SENT_ALONE = by_counts(
    RstSentAlone,
    Counts(
        lambda now, p, k, l: now.local(p).sent[k][l],
        lambda now, p, k: now.local(p).sent[k][p],
        lambda run, m, k, l: run.stamp(m)[k][l],
    ),
)


def _without_itself(run: AnyRun, m: Term, k: Term, l: Term) -> Term:
    own = z3.And(k == run.sender(m), l == run.receiver(m))
    return run.stamp(m)[k][l] - z3.If(own, 1, 0)


#: [MF] §2: M_i counts what i knows; its own column, the messages delivered to i; and an attached matrix counts what
#: happened before and the message itself.
RST_BEFORE = by_counts(
    RstBefore,
    Counts(lambda now, p, k, l: now.local(p)[k][l], lambda now, p, k: now.local(p)[k][p], _without_itself),
)
