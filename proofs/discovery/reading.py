"""Elimination of arrays from terms: each entry is expanded down to the entries of the given variables.

A vector that a step has made is a lambda or a store, and z3 has a theory of these. But where only single entries are
asked for none is needed: an entry of a lambda is its body, one of a store is the value stored or that of before, and
one of a variable of which nothing is known is a function of whose variable it is, and of the place.
"""

from __future__ import annotations

from collections.abc import Sequence

import z3

from crownless.proofs.language.terms import Term, is_array


class Reader:
    """Works entries out, and remembers what it has worked out."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Term, Term]] = {}
        self._functions: dict[tuple[str, int], Term] = {}

    def read(self, term: Term) -> Term:
        """The same without arrays, if it is no array."""
        key = term.get_id()
        if key not in self._known:
            self._known[key] = term, self._read(term)
        return self._known[key][1]

    def _read(self, term: Term) -> Term:
        if z3.is_var(term) or (is_array(term) and not z3.is_select(term)):
            return term
        if z3.is_quantifier(term):
            some = [z3.FreshConst(term.var_sort(k), term.var_name(k)) for k in range(term.num_vars())]
            body = self.read(z3.substitute_vars(term.body(), *reversed(some)))
            return z3.ForAll(some, body) if term.is_forall() else z3.Exists(some, body)
        if z3.is_select(term):
            return self._entry(self.read(term.arg(0)), self.read(term.arg(1)))
        if not term.num_args():
            return term
        parts = [self.read(part) for part in term.children()]
        if z3.is_and(term):
            return z3.And(parts)
        if z3.is_or(term):
            return z3.Or(parts)
        return term.decl()(*parts)

    def _entry(self, array: Term, place: Term) -> Term:
        if z3.is_quantifier(array):
            return self.read(z3.substitute_vars(array.body(), place))
        if z3.is_app_of(array, z3.Z3_OP_ITE):
            condition, this, other = array.children()
            return z3.If(self.read(condition), self._entry(this, place), self._entry(other, place))
        if z3.is_store(array):
            before, written, value = array.children()
            return z3.If(place == written, self.read(value), self._entry(before, place))
        entry = array[place]
        return entry if is_array(entry) else self._given(entry)

    def _given(self, entry: Term) -> Term:
        """An entry of what nothing is known of."""
        places: list[Term] = []
        while z3.is_select(entry):
            places.insert(0, entry.arg(1))
            entry = entry.arg(0)
        of = [*entry.children(), *places]
        key = entry.decl().name(), len(places)
        if key not in self._functions:
            sorts = [thing.sort() for thing in of]
            self._functions[key] = z3.Function(f"{key[0]} at", *sorts, z3.IntSort())
        return self._functions[key](*of)

    def agree(self, a: Term, b: Term, places: Sequence[Term]) -> list[Term]:
        """That two values have the same entries at these places."""
        if not is_array(a):
            return [self.read(a) == self.read(b)]
        return [same for place in places for same in self.agree(a[place], b[place], places)]
