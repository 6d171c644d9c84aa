"""A threshold of n or more bounds the non-zero entries of a matrix, for any number of processes n ([SA] §3).

The own column of a process is zero. So of n entries or more two are in one of the other n − 1 columns, and clearing
that column, but for one entry, leaves fewer. A process with a threshold k ≥ n therefore never has to stop at k entries:
it clears columns until there are fewer than k. A matrix is seen here by the number of entries in each of its columns;
sums over columns are put to z3 as their definition by recursion, and what is shown of them is an induction along the
columns: its base and its step. That the own column is zero, and that clearing leaves one entry, is shown of the
protocol's own updates; its choice of a column, which is plain Python, is compared with this up to a bound (SA6).
"""

from collections.abc import Callable
from functools import cache

import z3

from crownless.impl.protocols.extra_messages import State
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.branch_free import for_every_n
from crownless.proofs.language.terms import Term, Terms
from crownless.proofs.protocols.extra_messages import OneMessagePerStep

from .computation import Hypotheses
from .evidence import Evidence, by_z3, lacking_each

Column = Callable[[Term], Term]
ANY_SIZE = "any number of processes n, any threshold k ≥ n; of the numbers of entries in each column"


class Columns:
    """The numbers of entries in the columns 0 to n − 1 of a process's matrix, and their sums."""

    def __init__(self) -> None:
        number = z3.IntSort()
        self.n, self.own, self.k, self.j, self.l = z3.Ints("n own k j l")
        self.entries = z3.Function("entries", number, number)
        #: The sums over the first columns: before and after column j is cleared but for one entry.
        self.sum, self.cleared_sum = (z3.Function(name, number, number) for name in ("sum", "cleared sum"))

    def cleared(self, l: Term) -> Term:
        return z3.If(l == self.j, z3.IntVal(1), self.entries(l))

    def of(self, total: Column, entries: Column) -> Hypotheses:
        """The recursion that defines the sum at l."""
        l = self.l
        return {"a sum grows by one column": total(l + 1) == total(l) + entries(l)}

    @property
    def a_column(self) -> Hypotheses:
        return {"l is a column": z3.And(self.l >= 0, self.l < self.n)}

    def at_most(self, l: Term) -> Term:
        """The first l columns have at most one entry each, the own one none."""
        return self.sum(l) <= l - z3.If(self.own < l, 1, 0)

    def less(self, l: Term) -> Term:
        """Clearing column j leaves one entry there, and all in other columns."""
        return self.cleared_sum(l) == self.sum(l) + z3.If(self.j < l, 1 - self.entries(self.j), 0)


def pigeonhole_claims() -> list[Claim]:
    """If no column has two entries, there are fewer than n."""
    c = Columns()
    l = c.l
    few = {"no column has two": c.entries(l) <= 1, "the own column is zero": c.entries(c.own) == 0}
    own = {"the own column is one of n": z3.And(c.own >= 0, c.own < c.n)}
    start = {"an empty sum is 0": c.sum(0) == 0, **own}
    step = {**c.of(c.sum, c.entries), **few, "so far": c.at_most(l)}
    return [
        Claim("no columns", start, c.at_most(z3.IntVal(0))),
        Claim("one column more", step, c.at_most(l + 1)),
        Claim("all columns", {**own, "so far": c.at_most(c.n)}, c.sum(c.n) < c.n),
    ]


def clearing_claims() -> list[Claim]:
    """Clearing a column of two or more leaves fewer entries; of any, at most one more."""
    c = Columns()
    l, j = c.l, c.j
    start = {"an empty sum is 0": z3.And(c.sum(0) == 0, c.cleared_sum(0) == 0), "j is a column": j >= 0}
    both = z3.And(*c.of(c.sum, c.entries).values(), *c.of(c.cleared_sum, c.cleared).values())
    whole = {"all columns": c.less(c.n), "j is one of n": j < c.n}
    return [
        Claim("no columns are cleared", start, c.less(z3.IntVal(0))),
        Claim("one column more is cleared", {"sums grow by one column": both, "so far": c.less(l)}, c.less(l + 1)),
        Claim("fewer entries", {**whole, "column j has two": c.entries(j) >= 2}, c.cleared_sum(c.n) < c.sum(c.n)),
    ]


def update_claims(protocol: type[OneMessagePerStep] = OneMessagePerStep) -> list[Claim]:
    """By the protocol's own code: the own column stays zero, and a cleared column keeps one entry; others stay."""
    terms = Terms()
    machine, (i, j, k, l) = for_every_n(protocol, terms), map(terms.any_process, "ijkl")
    before = State(terms.any_matrix("before"), terms.any_vector("deliv"))
    cleared = machine.after_sending(i, before, j).matrix
    merged = machine.after_delivering(i, before, j, terms.any_matrix("carried")).matrix
    given = {"the own column is zero": before.matrix[k][i] == 0, "to another": i != j}
    positive = {"entries are not negative": before.matrix[i][j] >= 0}
    return [
        Claim("the own column at the start", {}, machine.initial(i).matrix[k][i] == 0),
        Claim("the own column after a message", given, cleared[k][i] == 0),
        Claim("the own column after a delivery", {}, merged[k][i] == 0),
        Claim("the own entry stays", positive, cleared[i][j] > 0),
        Claim("the others of its column go", {"another row": k != i}, cleared[k][j] == 0),
        Claim("other columns stay", {"another column": l != j}, cleared[k][l] == before.matrix[k][l]),
    ]


@cache
def fewer_than_the_threshold() -> Evidence:
    """Each hypothesis is needed."""
    pigeonhole, clearing, updates = pigeonhole_claims(), clearing_claims(), update_claims()
    return by_z3(
        "of n entries or more in n − 1 columns two are in one, by induction along the columns, and clearing it leaves "
        "fewer; so clearing goes on until there are fewer than k, if k ≥ n",
        [*pigeonhole, *clearing, *updates],
        refuted=lacking_each(*pigeonhole, *clearing, *updates),
        scope=ANY_SIZE,
    )
