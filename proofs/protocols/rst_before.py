"""The matrix protocol in its increment-before form realises causal order, for every n ([MF] §2).

The same counts as in `rst`, kept elsewhere: M_i counts what i knows of; its own column, what is delivered to i; and
an attached matrix counts, beside what happened before, the message itself.
"""

from __future__ import annotations

import z3

from crownless.impl.rst_before import RstBefore
from crownless.proofs.induction.any_run import AnyRun
from crownless.proofs.language.terms import Term

from .rst import Counts, by_counts


def _without_itself(run: AnyRun, m: Term, k: Term, l: Term) -> Term:
    own = z3.And(k == run.sender(m), l == run.receiver(m))
    return run.stamp(m)[k][l] - z3.If(own, 1, 0)


RST_BEFORE = by_counts(
    RstBefore,
    Counts(
        lambda now, p, k, l: now.local(p)[k][l],
        lambda now, p, k: now.local(p)[k][p],
        _without_itself,
    ),
)
