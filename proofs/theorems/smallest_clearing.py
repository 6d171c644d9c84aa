"""The smallest runs of [SA] §3 in which one extra message at a time leaves a matrix too full, found by z3.

Here a matrix is which of its entries are not zero: that much of it follows from the same of the matrices before. Which
messages may be delivered yet is left out, so that `unsat` holds of more runs than there are; what z3 finds is run on
the protocol's own code.

Smaller is of fewer processes, then of fewer messages of the application, then of fewer deliveries. A matrix of n
processes has at most (n − 1)² entries, its process's own column being empty; so with three, k = 4 is never exceeded.
"""

from __future__ import annotations

from itertools import combinations

import z3

from crownless.proofs.language.terms import Term
from crownless.proofs.language.z3_query import ask, reason_for_giving_up

from .bounded import BoundedSearchGaveUp

#: z3 steps allowed to one query: some minutes.
EFFORT = 2_000_000_000


class Clearings:
    """All runs of so many sends and deliveries, in least linearizations, up to the names of processes. An event that
    brings a matrix to k entries, more than n, clears one column; the last event, at the first process, leaves more than
    k.

    Left out, as a run with fewer events does as well: what is not in the past of the last event, and deliveries that
    bring no new entry.
    """

    def __init__(self, n: int, k: int, sends: int, deliveries: int) -> None:
        self.n, self.k, self.length = n, k, sends + deliveries
        self.solver = z3.SolverFor("QF_FD")
        self.solver.set(rlimit=EFFORT)
        self.entries = [(x, y) for x in range(n) for y in range(n) if x != y]
        self.at = [[z3.Bool(f"at {e} {p}") for p in range(n)] for e in self.places]
        self.sends = [z3.Bool(f"sends {e}") for e in self.places]
        self.to = [[z3.Bool(f"to {e} {q}") for q in range(n)] for e in self.places]
        #: The message sent at the first place is delivered at the second.
        self.goes = {(a, b): z3.Bool(f"goes {a} {b}") for a, b in combinations(self.places, 2)}
        self.solver.add(_exactly(self.sends, sends))
        self._match()
        self._only_the_past_of_the_last()
        matrices = {(p, *entry): z3.BoolVal(False) for p in range(n) for entry in self.entries}
        self.stamps: list[dict[tuple[int, int], Term]] = []
        for e in self.places:
            matrices = self._after(e, matrices)
        self.solver.add(self.at[-1][0], z3.AtLeast(*(matrices[0, x, y] for x, y in self.entries), k + 1))

    @property
    def places(self) -> range:
        return range(self.length)

    def _match(self) -> None:
        for e in self.places:
            into = [self.goes[a, e] for a in range(e)]
            out = [self.goes[e, b] for b in self.places[e + 1 :]]
            self.solver.add(_exactly(self.at[e], 1), *([z3.AtMost(*out, 1)] if out else []))
            self.solver.add(z3.Implies(self.sends[e], _exactly(self.to[e], 1)))
            self.solver.add(z3.Implies(z3.Not(self.sends[e]), _exactly(into, 1)) if into else self.sends[e])
            for q in range(self.n):
                self.solver.add(z3.Implies(self.to[e][q], z3.And(self.sends[e], z3.Not(self.at[e][q]))))
        for (a, b), goes in self.goes.items():
            self.solver.add(z3.Implies(goes, z3.And(self.sends[a], z3.Not(self.sends[b]))))
            self.solver.add(*(z3.Implies(goes, self.at[b][q] == self.to[a][q]) for q in range(self.n)))

    def _only_the_past_of_the_last(self) -> None:
        """And each such run once: in normal form, the other processes in the order in which they first act."""
        linked = {}
        for a, b in self.goes:
            linked[a, b] = z3.Bool(f"linked {a} {b}")
            at_one = [z3.And(self.at[a][p], self.at[b][p]) for p in range(self.n)]
            self.solver.add(linked[a, b] == z3.Or(self.goes[a, b], *at_one))
        for a, b in self.goes:
            greater = z3.Or([z3.And(self.at[a][p], self.at[b][q]) for p in range(self.n) for q in range(p)])
            self.solver.add(z3.Implies(greater, z3.Or([linked[g, b] for g in range(a, b)])))
        for e in self.places[:-1]:
            self.solver.add(z3.Or([linked[e, b] for b in self.places[e + 1 :]]))
            for p in range(2, self.n):
                self.solver.add(z3.Implies(self.at[e][p], z3.Or([self.at[g][p - 1] for g in range(e)])))

    def _after(self, e: int, before: dict[tuple[int, int, int], Term]) -> dict[tuple[int, int, int], Term]:
        """The matrices after the event at this place."""
        stamp = {entry: z3.Bool(f"stamp {e} {entry}") for entry in self.entries}
        carried = {entry: z3.Bool(f"carried {e} {entry}") for entry in self.entries}
        raw = {entry: z3.Bool(f"raw {e} {entry}") for entry in self.entries}
        news = []
        for entry in self.entries:
            brought = [z3.And(self.goes[a, e], self.stamps[a][entry]) for a in range(e)]
            self.solver.add(carried[entry] == z3.Or(brought))
            for p in range(self.n):
                old, here, own_column = before[(p, *entry)], self.at[e][p], entry[1] == p
                delivers, sends = z3.And(here, z3.Not(self.sends[e])), z3.And(here, self.sends[e])
                self.solver.add(z3.Implies(sends, stamp[entry] == old))
                self.solver.add(
                    z3.Implies(delivers, raw[entry] == (False if own_column else z3.Or(old, carried[entry])))
                )
                cleared = z3.If(self.to[e][entry[1]], entry[0] == p, old)
                self.solver.add(z3.Implies(sends, raw[entry] == cleared))
                news += [] if own_column else [z3.And(here, carried[entry], z3.Not(old))]
        self.stamps.append(stamp)
        self.solver.add(z3.Or(self.sends[e], *news))
        left = self._cleared_once(e, raw)
        after = {}
        for p in range(self.n):
            for entry in self.entries:
                after[(p, *entry)] = z3.Bool(f"matrix {e} {p} {entry}")
                self.solver.add(after[(p, *entry)] == z3.If(self.at[e][p], left[entry], before[(p, *entry)]))
        return after

    def _cleared_once(self, e: int, raw: dict[tuple[int, int], Term]) -> dict[tuple[int, int], Term]:
        """With k entries or more, a column with most of them is cleared, but for the entry of the extra message."""
        chosen = [z3.Bool(f"chosen {e} {y}") for y in range(self.n)]
        too_many = z3.AtLeast(*raw.values(), self.k)
        at_least = {
            (y, size): z3.AtLeast(*(raw[x, y] for x in range(self.n) if x != y), size)
            for y in range(self.n)
            for size in range(1, self.n)
        }
        self.solver.add(z3.If(too_many, _exactly(chosen, 1), z3.Not(z3.Or(chosen))))
        for y in range(self.n):
            for other, size in at_least:
                self.solver.add(z3.Implies(z3.And(chosen[y], at_least[other, size]), at_least[y, size]))
        left = {}
        for x, y in self.entries:
            left[x, y] = z3.Bool(f"left {e} {x} {y}")
            self.solver.add(left[x, y] == z3.If(chosen[y], self.at[e][x], raw[x, y]))
        return left

    def program(self) -> str | None:
        """The program of one; None if there is none. Which of several depends on z3."""
        answer = ask(self.solver)
        if answer == z3.unknown:
            raise BoundedSearchGaveUp(reason_for_giving_up(self.solver.reason_unknown()))
        if answer == z3.unsat:
            return None
        model = self.solver.model()
        lines: list[list[str]] = [[] for _ in range(self.n)]
        count = 0
        for e in self.places:
            p = next(p for p in range(self.n) if z3.is_true(model.eval(self.at[e][p], model_completion=True)))
            to = [q for q in range(self.n) if z3.is_true(model.eval(self.to[e][q], model_completion=True))]
            sends = z3.is_true(model.eval(self.sends[e], model_completion=True))
            count += sends
            lines[p].append(f"send m{count} to P{to[0] + 1}" if sends else "receive")
        return "\n".join(f"P{p}: " + "; ".join(line) for p, line in enumerate(lines, 1))


def _exactly(terms: list[Term], count: int) -> Term:
    return z3.PbEq([(term, 1) for term in terms], count)
