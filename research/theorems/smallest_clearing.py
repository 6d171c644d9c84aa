"""The smallest runs of [SA] §3 in which one extra message at a time leaves a matrix too full, found by z3.

A matrix is represented by its set of non-zero entries, which depends only on those of earlier matrices. Which messages
are deliverable is left out, so `unsat` covers more runs than there are; runs that z3 finds are run on the protocol's
own code.

Smaller: fewer processes, then fewer application messages, then fewer deliveries. A matrix of n processes has at most (n
− 1)² entries, since its process's own column is empty; so with three, k = 4 is never exceeded.
"""

import z3

from crownless.proofs.language.terms import Term

from .bounded import Linearized, exactly


class Clearings(Linearized):
    """All runs with these numbers of sends and deliveries, up to the names of processes. An event that brings a matrix
    to k entries, more than n, clears one column; the last event, at the first process, leaves more than k.

    Excluded, since a run with fewer events suffices: events not in the past of the last one, and deliveries that bring
    no new entry.
    """

    def __init__(self, n: int, k: int, sends: int, deliveries: int) -> None:
        super().__init__(n, sends + deliveries, z3.SolverFor("QF_FD"), effort=2_000_000_000)  # some minutes
        self.k = k
        self.entries = [(x, y) for x in range(n) for y in range(n) if x != y]
        self.to = [[z3.Bool(f"to {e} {q}") for q in range(n)] for e in self.places]
        self.add(exactly(self.sends, sends))
        self._receivers()
        self._only_the_past_of_the_last()
        matrices = {(p, *entry): z3.BoolVal(False) for p in range(n) for entry in self.entries}
        self.stamps: list[dict[tuple[int, int], Term]] = []
        for e in self.places:
            matrices = self._after(e, matrices)
        self.add(self.at[-1][0], z3.AtLeast(*(matrices[0, x, y] for x, y in self.entries), k + 1))

    def _receivers(self) -> None:
        for e in self.places:
            self.add(z3.Implies(self.sends[e], exactly(self.to[e], 1)))
            for q in range(self.n):
                self.add(z3.Implies(self.to[e][q], z3.And(self.sends[e], z3.Not(self.at[e][q]))))
        for (a, b), goes in self.goes.items():
            self.add(*(z3.Implies(goes, self.at[b][q] == self.to[a][q]) for q in range(self.n)))

    def _only_the_past_of_the_last(self) -> None:
        """Each such run occurs once: the other processes are in the order in which they first act."""
        for e in self.places[:-1]:
            self.add(z3.Or([self.linked[e, b] for b in self.places[e + 1 :]]))
            for p in range(2, self.n):
                self.add(z3.Implies(self.at[e][p], z3.Or([self.at[g][p - 1] for g in range(e)])))

    def _after(self, e: int, before: dict[tuple[int, int, int], Term]) -> dict[tuple[int, int, int], Term]:
        """The matrices after the event at this place."""
        stamp = {entry: z3.Bool(f"stamp {e} {entry}") for entry in self.entries}
        carried = {entry: z3.Bool(f"carried {e} {entry}") for entry in self.entries}
        raw = {entry: z3.Bool(f"raw {e} {entry}") for entry in self.entries}
        news = []
        for entry in self.entries:
            brought = [z3.And(self.goes[a, e], self.stamps[a][entry]) for a in range(e)]
            self.add(carried[entry] == z3.Or(brought))
            for p in range(self.n):
                old, here, own_column = before[(p, *entry)], self.at[e][p], entry[1] == p
                delivers, sends = z3.And(here, z3.Not(self.sends[e])), z3.And(here, self.sends[e])
                self.add(z3.Implies(sends, stamp[entry] == old))
                self.add(z3.Implies(delivers, raw[entry] == (False if own_column else z3.Or(old, carried[entry]))))
                cleared = z3.If(self.to[e][entry[1]], entry[0] == p, old)
                self.add(z3.Implies(sends, raw[entry] == cleared))
                news += [] if own_column else [z3.And(here, carried[entry], z3.Not(old))]
        self.stamps.append(stamp)
        self.add(z3.Or(self.sends[e], *news))
        left = self._cleared_once(e, raw)
        after = {}
        for p in range(self.n):
            for entry in self.entries:
                now = z3.If(self.at[e][p], left[entry], before[(p, *entry)])
                after[(p, *entry)] = self.named(f"matrix {e} {p} {entry}", now)
        return after

    def _cleared_once(self, e: int, raw: dict[tuple[int, int], Term]) -> dict[tuple[int, int], Term]:
        """With at least k entries, a column with the most of them is cleared, except for the entry of the extra
        message.
        """
        chosen = [z3.Bool(f"chosen {e} {y}") for y in range(self.n)]
        too_many = z3.AtLeast(*raw.values(), self.k)
        at_least = {
            (y, size): z3.AtLeast(*(raw[x, y] for x in range(self.n) if x != y), size)
            for y in range(self.n)
            for size in range(1, self.n)
        }
        self.add(z3.If(too_many, exactly(chosen, 1), z3.Not(z3.Or(chosen))))
        for y in range(self.n):
            for other, size in at_least:
                self.add(z3.Implies(z3.And(chosen[y], at_least[other, size]), at_least[y, size]))
        left = {}
        for x, y in self.entries:
            left[x, y] = self.named(f"left {e} {x} {y}", z3.If(chosen[y], self.at[e][x], raw[x, y]))
        return left
