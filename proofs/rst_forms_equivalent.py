"""The two forms of the matrix protocol, increment before ([MF] §2) or after sending ([Kup]), are one, for every n.

The two run side by side, each by its own code: in every step SENT_i is M_i, the message carries one more in the one
form at its own place, and one form accepts it just when the other does. What is assumed, beside the equality before
the step, is what `rst` proves of every run in which nobody sends to himself: such a message would be delivered in
the one form, and never in the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from crownless.impl.protocol import Packet, Step
from crownless.impl.rst import Rst, State
from crownless.impl.rst_before import RstBefore
from crownless.spec.computation import Message

from .any_run import AnyRun
from .branch_free import for_every_n
from .deliv_is_redundant import INVARIANT as COLUMN
from .deliv_is_redundant import deliv_equals_sent_column
from .rst import RST
from .terms import Term, Terms
from .theorem import Claim

SAME = "SENT_i is M_i"
ONE_MORE = "m carries one more in the one form, at its own place"
NOT_DELIVERED = "DELIV_i counts no more than came before m on its channel"
ACCEPTED = "i accepts m, in the form of [Kup]"


def claims(after: type[Rst] = Rst, before: type[RstBefore] = RstBefore) -> tuple[Claim, ...]:
    """That the two forms keep in step. Process `i`, with the matrix `sent` and the vector `deliv`, sends to `j`, or
    delivers from `j` what carries the `stamp`, or that and one more.
    """
    terms = Terms()
    late, early = for_every_n(after, terms), for_every_n(before, terms)
    i, j = terms.any_process("i"), terms.any_process("j")
    sent, matrix, stamp = terms.any_matrix("sent"), terms.any_matrix("matrix"), terms.any_matrix("stamp")
    also = terms.any_matrix("stamp of the one form")
    state = State(sent, terms.any_vector("deliv"))
    message = Message("m", i, (j,))

    def equal(one: Term, other: Term) -> Term:
        k, l = terms.any_process("k"), terms.any_process("l")
        return z3.ForAll([k, l], one[k][l] == other[k][l])

    same = {SAME: equal(sent, matrix)}
    sends, sends_also = _only(late.send(i, state, message)), _only(early.send(i, matrix, message))
    got, got_also = (Packet(j, i, "message", Message("m", j, (i,)), each) for each in (stamp, also))
    deliverable, accepts_also = late.deliverable(i, state, got), early.deliverable(i, matrix, got_also)
    delivers, delivers_also = _only(late.on_packet(i, state, got)), _only(early.on_packet(i, matrix, got_also))
    known = {
        **same,
        COLUMN: deliv_equals_sent_column(late, i, state),
        ONE_MORE: equal(also, terms.incremented(stamp, j, i)),
        NOT_DELIVERED: state.deliv[j] <= stamp[j][i],
    }
    return (
        Claim(f"{SAME}: at the start", {}, equal(late.initial(i).sent, early.initial(i))),
        Claim(f"{SAME}: kept by sending", same, equal(sends.state.sent, sends_also.state)),
        Claim(
            ONE_MORE,
            same,
            equal(sends_also.packets[0].stamp, terms.incremented(sends.packets[0].stamp, i, j)),
        ),
        Claim("one form accepts m if the other does", known, deliverable == accepts_also),
        Claim(
            f"{SAME}: kept by delivering",
            {**known, ACCEPTED: deliverable},
            equal(delivers.state.sent, delivers_also.state),
        ),
        _not_delivered(),
    )


def _not_delivered() -> Claim:
    """What `claims` assumes of a message in flight is so in every run."""
    run = AnyRun(Rst)
    by = ("a stamp counts those before on its channel", "DELIV counts what is delivered")
    given = {name: RST.invariants[name](run, run.before) for name in by}
    sender = run.sender(run.m)
    shows = run.before.local(run.i).deliv[sender] <= run.stamp(run.m)[sender][run.i]
    return Claim(NOT_DELIVERED, {**given, **run.in_flight}, shows)


def _only(steps: Sequence[Step]) -> Step:
    """The protocol leaves no choice."""
    (step,) = steps
    return step
