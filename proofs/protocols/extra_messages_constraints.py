"""Consequences of the constraints of the extra-message protocol, in any state of any run ([SA] §3 and §4).

The runs are those of the proof of causal order (`extra_messages`): any process may send an extra message at any time,
so every threshold is covered. A matrix M has the constraints DELIV_q[k] ≥ M[k, q], at each process q. All claims are
for any number of processes and messages, unless finite sorts are given, e.g. to find a state of three.

- *clearing* (§3): sending m to j sets column j to zero except for the number of m. "This can be done safely because the
  delivery of m will imply the satisfaction of the constraints": a delivered message's constraints stay satisfied.
- *Lemma 2*: the constraints after a step imply those before it.
- *Lemma 3*: those after a delivery imply those that the message carried, from the delivery on.
- *Proposition 5*: a message whose number DELIV has not reached is not delivered.
- *Theorem 6*, a step: a constraint that is not met counts a message that was sent before, and is not delivered.
"""

from collections.abc import Callable
from typing import Any

import z3

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.extra_messages import ExtraMessages, State
from crownless.proofs.induction.any_run import SymbolicState
from crownless.proofs.induction.quantified import induction
from crownless.proofs.induction.theorem import Claim, never
from crownless.proofs.language.terms import Term

from .extra_messages import EXTRA_MESSAGES, WithExtraMessages

CARRIED = "what a delivered message carried for its receiver is satisfied there"
COUNTS = "DELIV counts what is delivered"


def _carried_is_satisfied(run: WithExtraMessages, now: SymbolicState) -> Term:
    def satisfied(m: Term, k: Term) -> Term:
        return run.stamp(m)[k][run.receiver(m)] <= now.local(run.receiver(m)).deliv[k]

    return run.messages(lambda m: run.processes(lambda k: z3.Implies(now.delivered(m), satisfied(m, k))))


def _of_the_proof(run: WithExtraMessages, *names: str) -> dict[str, Term]:
    """Invariants of the proof of causal order, which `crownless prove extra-messages` shows."""
    return {name: EXTRA_MESSAGES.invariants[name](run, run.before) for name in names}


class _Clearing:
    """Matrices of process i in a state of a run, before and after it sends m to j; earlier or later states; a process
    q.
    """

    def __init__(self, protocol: type[ProtocolMachine], **sorts: Any) -> None:
        self.run = run = WithExtraMessages(protocol, **sorts)
        self.m, self.i, self.j = run.m, run.sender(run.m), run.receiver(run.m)
        self.q = run.terms.any_process("q")
        self.one = run.terms.any_matrix("before the send")
        nothing_delivered = run.terms.any_vector("DELIV of the sender")
        self.two = run.machine.after_sending(self.i, State(self.one, nothing_delivered), self.j).matrix

    def satisfied(self, matrix: Term) -> Term:
        """True if process q satisfies the constraints of the matrix now."""
        deliv = self.run.before.local(self.q).deliv
        return self.run.processes(lambda k: matrix[k][self.q] <= deliv[k])

    @property
    def given(self) -> dict[str, Term]:
        """Both kinds of message carry column j unchanged; their number is the successor of the one that i stores."""
        column = self.run.processes(lambda k: self.run.stamp(self.m)[k][self.j] == self.one[k][self.j])
        number = self.run.number(self.m) == self.one[self.i][self.j] + 1
        return {"m carries column j as it was": column, "m has the next number": number}


def _attached(protocol: type[ProtocolMachine], **sorts: Any) -> list[Claim]:
    """`_Clearing.given` holds when i sends m, whichever kind of message it is."""
    run = WithExtraMessages(protocol, **sorts)
    i, m = run.i, run.m
    j, matrix = run.receiver(m), run.before.local(i).matrix
    column = run.processes(lambda k: run.stamp(m)[k][j] == matrix[k][j])
    attached = z3.And(column, run.number(m) == matrix[i][j] + 1)
    counted = _of_the_proof(run, "a sender counts what it sent")
    return [
        Claim(f"{event.name}: m carries column j, and has the next number", {**counted, **event.given}, attached)
        for event in run.events()
        if event.sends
    ]


def carried_claims(protocol: type[ProtocolMachine] = ExtraMessages, **sorts: Any) -> list[Claim]:
    """`CARRIED`, by induction on the run."""
    run = WithExtraMessages(protocol, **sorts)
    return induction(run, CARRIED, lambda now: _carried_is_satisfied(run, now))


def clearing_claims(protocol: type[ProtocolMachine] = ExtraMessages, **sorts: Any) -> list[Claim]:
    """§3, and Lemma 2 for the sending of an application message or an extra one."""
    claims = carried_claims(protocol, **sorts)
    claims += _attached(protocol, **sorts)
    at = _Clearing(protocol, **sorts)
    given = {
        **at.given,
        **_of_the_proof(at.run, COUNTS),
        CARRIED: _carried_is_satisfied(at.run, at.run.before),
        "m is sent": at.run.before.sent(at.m),
        "the new constraints hold": at.satisfied(at.two),
    }
    claims.append(Claim("from the send on the new constraints imply the old", given, at.satisfied(at.one)))
    given = {
        "m has the next number": at.given["m has the next number"],
        **_of_the_proof(at.run, "DELIV counts no more than there are"),
        "m is not sent yet": at.run.number(at.m) > at.run.before.count(at.i, at.j),
        "about its receiver": at.q == at.j,
    }
    claims.append(Claim("before the send the new constraints do not hold", given, z3.Not(at.satisfied(at.two))))
    return claims


def delivery_claims(protocol: type[ProtocolMachine] = ExtraMessages, **sorts: Any) -> list[Claim]:
    """Lemma 2 for a delivery, and Lemma 3."""
    run, carried = WithExtraMessages(protocol, **sorts), carried_claims(protocol, **sorts)
    machine = run.machine
    i, m, now, q = run.i, run.m, run.before, run.terms.any_process("q")
    after = machine.after_delivering(i, now.local(i), run.sender(m), run.stamp(m)).matrix
    at_any_time = run.terms.any_vector("DELIV at any time")

    def satisfied(matrix: Term, deliv: Term) -> Term:
        return run.processes(lambda k: matrix[k][q] <= deliv[k])

    def own_column_is_zero(moment: SymbolicState) -> Term:
        return run.processes(lambda p, k: moment.local(p).matrix[k][p] == 0, of=2)

    own = {"the own column is zero": own_column_is_zero(now)}
    claims = [*carried, *induction(run, "the own column is zero", own_column_is_zero)]
    held = {"the new constraints hold": satisfied(after, at_any_time)}
    claims.append(
        Claim(
            "the constraints after a delivery imply those before",
            {**own, **held},
            satisfied(now.local(i).matrix, at_any_time),
        )
    )
    later = now.local(q).deliv
    given = {
        CARRIED: _carried_is_satisfied(run, now),
        "m is delivered to i": z3.And(run.receiver(m) == i, now.delivered(m)),
        "the constraints after the delivery hold": satisfied(
            machine.after_delivering(
                i, State(run.terms.any_matrix("at the delivery"), later), run.sender(m), run.stamp(m)
            ).matrix,
            later,
        ),
    }
    claims.append(
        Claim(
            "from the delivery on the constraints after it imply those that m carried",
            given,
            satisfied(run.stamp(m), later),
        )
    )
    return claims


def number_claim(protocol: type[ProtocolMachine] = ExtraMessages, *, by_receiver: bool = True, **sorts: Any) -> Claim:
    """Proposition 5: if DELIV_j[i] < n, message n from P_i to P_j has not been delivered. It does not follow for the
    sender's DELIV_i[j].
    """
    run = WithExtraMessages(protocol, **sorts)
    m, now = run.m, run.before
    names = (COUNTS, "what is known or delivered is sent")
    here, there = (run.receiver(m), run.sender(m)) if by_receiver else (run.sender(m), run.receiver(m))
    given = {
        **_of_the_proof(run, *names),
        "DELIV is less than its number": now.local(here).deliv[there] < run.number(m),
    }
    return Claim("Proposition 5", given, z3.Not(now.delivered(m)))


def unmet_claim(protocol: type[ProtocolMachine] = ExtraMessages, **sorts: Any) -> Claim:
    """The step of Theorem 6: if a message m to P_i carries n for P_k, and DELIV_i[k] < n, then message n from P_k to
    P_i was sent before m, and is not delivered.
    """
    run = WithExtraMessages(protocol, **sorts)
    m, now, k = run.m, run.before, run.terms.any_process("k")
    i, n = run.receiver(run.m), run.stamp(run.m)[k][run.receiver(run.m)]
    missing = run.numbered(k, i, n)
    names = (
        "there is a message of each number",
        "no stamp counts more than there are",
        "a stamp's entries happened before",
        COUNTS,
        "DELIV counts no more than there are",
    )
    unmet = {"m is sent": now.sent(m), "it carries n for P_k": now.local(i).deliv[k] < n}
    shows = z3.And(now.sent(missing), run.precedes(missing, m), z3.Not(now.delivered(missing)))
    return Claim("the step of Theorem 6", {**_of_the_proof(run, *names), **unmet}, shows)


def vacuity(claims_of: Callable[..., list[Claim]]) -> list[Claim]:
    """Among three processes and three messages, no state satisfies a claim's hypotheses and all invariants of the
    proof; each to be refuted by such a state.
    """
    run, things = EXTRA_MESSAGES.of_three()
    now = {name: holds(run, run.before) for name, holds in EXTRA_MESSAGES.invariants.items()}
    # No channel has a number above the third, so a statement about all numbers is one about these.
    few = {"three messages": run.processes(lambda k, l: run.before.count(k, l) <= 3, of=2)}
    given = {
        f"{claim.name}: never": {f"given: {name}": holds for name, holds in claim.given.items()}
        for claim in claims_of(terms=run.terms, message=run.message)
    }
    return never({**few, **now}, given, things)
