"""Clearing can go on while a matrix has n entries or more, for any number n of processes ([SA] §3).

The own column is empty, so that the entries are in n - 1 columns, of which one has two: *pigeonhole*. Clearing it, by
the protocol's own update, leaves one entry in it and all others as they are: so there are fewer. Sums over columns are
taken one column after the other, by induction: at the start, a step, and the end.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import z3

from crownless.impl.extra_messages import ExtraMessages, State
from crownless.impl.variants.for_matrices import ClearsTheWholeColumn
from crownless.proofs.induction.evidence import Evidence, by_z3, lacking_each
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.terms import Term
from crownless.proofs.protocols.extra_messages import WithExtraMessages

#: The entries of a column, before and after another one is cleared; those of all columns before this one.
SIZE, SIZE_AFTER, TOTAL, TOTAL_AFTER = (
    z3.Function(name, z3.IntSort(), z3.IntSort()) for name in ("size", "size-after", "total", "total-after")
)
J, N, OWN, CLEARED = z3.Ints("j n own cleared")

Hypotheses = dict[str, Term]


def _adds_up(total: z3.FuncDeclRef, size: z3.FuncDeclRef) -> Hypotheses:
    """The total of the columns up to j, by that of the columns before j."""
    return {f"{total.name()} adds up": total(J + 1) == total(J) + size(J)}


def pigeonhole() -> list[Claim]:
    """Columns with at most one entry, one of them empty, have fewer entries than there are columns."""

    def few(j: Term) -> Hypotheses:
        return {"few entries so far": TOTAL(j) <= j - z3.If(j > OWN, 1, 0)}

    start = {"none so far": TOTAL(0) == 0, "the own column is one of them": OWN >= 0}
    step = {
        **few(J),
        **_adds_up(TOTAL, SIZE),
        "no column has two entries": SIZE(J) <= 1,
        "the own column is empty": z3.Implies(J == OWN, SIZE(J) == 0),
    }
    end = {**few(N), "the own column is one of them": OWN < N}
    return [
        Claim("few entries: at the start", start, z3.And(*few(z3.IntVal(0)).values())),
        Claim("few entries: one more column", step, z3.And(*few(J + 1).values())),
        Claim("fewer than n entries", end, TOTAL(N) < N),
    ]


def fewer_when_cleared() -> list[Claim]:
    """If a column of two or more keeps one, and the others keep theirs, there are fewer."""

    def lost(j: Term) -> Hypotheses:
        return {"lost so far": TOTAL_AFTER(j) == TOTAL(j) + z3.If(j > CLEARED, 1 - SIZE(CLEARED), 0)}

    start = {"none so far": z3.And(TOTAL(0) == 0, TOTAL_AFTER(0) == 0), "it is one of the columns": CLEARED >= 0}
    step = {
        **lost(J),
        **_adds_up(TOTAL, SIZE),
        **_adds_up(TOTAL_AFTER, SIZE_AFTER),
        "one entry is left": SIZE_AFTER(CLEARED) == 1,
        "the others keep theirs": z3.Implies(J != CLEARED, SIZE_AFTER(J) == SIZE(J)),
    }
    end = {**lost(N), "it is one of the columns": CLEARED < N, "it has two entries or more": SIZE(CLEARED) >= 2}
    return [
        Claim("lost: at the start", start, z3.And(*lost(z3.IntVal(0)).values())),
        Claim("lost: one more column", step, z3.And(*lost(J + 1).values())),
        Claim("fewer than before", end, TOTAL_AFTER(N) < TOTAL(N)),
    ]


def leaves_one(protocol: type[ExtraMessages] = ExtraMessages) -> list[Claim]:
    """The entry (k, l) after clearing column j, by the protocol's update."""
    run = WithExtraMessages(protocol)
    machine: Any = run.machine
    i, j, k, l = map(run.terms.any_process, "ijkl")
    before = run.terms.any_matrix("before")
    after = machine.after_sending(i, State(before, run.terms.any_vector("DELIV")), j).matrix
    counts = {"entries count messages": before[k][j] >= 0}
    return [
        Claim("one entry is left in the column", counts, (after[k][j] > 0) == (k == i)),
        Claim("the other columns are as they were", {"another column": l != j}, after[k][l] == before[k][l]),
    ]


@cache
def clearing_goes_on() -> Evidence:
    """Each hypothesis is possible and needed, and it is not so if no entry were left."""
    claims = [*pigeonhole(), *fewer_when_cleared(), *leaves_one()]
    return by_z3(
        "of n entries or more, own column empty, two are in one column, and clearing it leaves one there, and fewer in "
        "all",
        claims,
        possible=[claim.given for claim in claims],
        refuted=[*lacking_each(*claims), leaves_one(ClearsTheWholeColumn)[:1]],
        scope="clearing can go on until fewer than n entries are left: any number of processes (z3, of the update)",
    )
