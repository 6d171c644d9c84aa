"""The messages that a vector-pair message waits for, in any run of any number of sites ([SES] §4.2.5, liveness).

M waits at S with the pair (S, VT). A message to S is *missing* if it was sent causally before M and is not delivered.
If k is the number of its send event at its sender S_i, then VT(S)[i] < k ≤ VT[i]; and messages of one site have
different numbers. So the missing messages are at most as many as such pairs (i, k), and these are as many as the sum of
the positive VT[i] − VT(S)[i]: this last step, counting, is argued, not put to z3.
"""

from collections.abc import Callable
from functools import cache

import z3

from crownless.impl.protocols.ses import Ses
from crownless.proofs.induction.any_run import AnyRun, SymbolicState
from crownless.proofs.induction.quantified import induction
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.terms import Term
from crownless.proofs.protocols.ses import INVARIANTS, time_of

from .evidence import Evidence, by_z3, lacking_each

#: The invariants of the protocol's proof that the bound rests on.
BY = (
    "time determines what is known",
    "a site knows of messages to itself by delivering them",
    "a message has a pair for what happened before",
)
COUNTED_IN_WORDS = "that so the messages are at most as many as the sum is counted in words"


def number(run: AnyRun, x: Term) -> Term:
    """The number of the message's send event at its site."""
    return time_of(run, x)[run.sender(x)]


def _missing(run: AnyRun, x: Term) -> Term:
    """The message was sent to i, causally before m, and is not delivered."""
    now = run.before
    return z3.And(now.sent(x), run.precedes(x, run.m), run.receiver(x) == run.i, z3.Not(now.delivered(x)))


def bound_claim() -> Claim:
    """VT(S)[i] < k ≤ VT[i] for each missing message, where m is in flight to S."""
    run = AnyRun(Ses)
    x = z3.Const("x", run.message)
    sender = run.sender(x)
    pair, time = run.stamp(run.m).buffer[run.i], run.before.local(run.i).time
    given = {name: INVARIANTS[name](run, run.before) for name in BY}
    given |= {**run.in_flight, "x is missing": _missing(run, x)}
    return Claim(
        "a missing message is numbered", given, z3.And(time[sender] < number(run, x), number(run, x) <= pair[sender])
    )


def numbers_differ(run: AnyRun) -> Callable[[SymbolicState], Term]:
    """Different messages of one site have different numbers."""

    def differ(now: SymbolicState) -> Term:
        def apart(x: Term, y: Term) -> Term:
            two = z3.And(now.sent(x), now.sent(y), x != y, run.sender(x) == run.sender(y))
            return z3.Implies(two, number(run, x) != number(run, y))

        return run.messages(apart, of=2)

    return differ


def numbering_claims() -> list[Claim]:
    """By induction on the run."""
    run = AnyRun(Ses)
    ahead = "nobody is ahead of a site's own time"
    return induction(
        run, "messages of a site differ in number", numbers_differ(run), {ahead: INVARIANTS[ahead](run, run.before)}
    )


@cache
def at_most_the_sum() -> Evidence:
    """The invariants are those of the protocol's proof; each hypothesis of the bound is needed."""
    bound = bound_claim()
    return by_z3(
        "a message that is sent to S causally before M and is missing has a number k at its site S_i with VT(S)[i] < k "
        "≤ VT[i], and the messages of a site differ in their numbers",
        [bound, *numbering_claims()],
        refuted=lacking_each(bound),
        scope=f"any number of sites and messages, any channel, none to oneself; {COUNTED_IN_WORDS}",
    )
