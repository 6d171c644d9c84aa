"""Elimination of arrays from terms: vectors and matrices, built by `terms` with z3's lambdas, become entries.

An entry of a lambda is its body, one of a store is the stored value or the previous one, and two arrays are equal if
all entries are. The result contains functions, integers, quantifiers, and entries of given arrays, for solvers and
searches that know nothing else.
"""

from collections.abc import Sequence

import z3

from .terms import Term, is_array


class Eliminator:
    """Eliminates arrays, with memoization."""

    def __init__(self) -> None:
        #: By z3's number of a term; z3 reuses it once the term is freed.
        self._known: dict[int, tuple[Term, Term]] = {}

    def eliminated(self, term: Term) -> Term:
        """An equivalent term without lambdas and stores, if it is no array."""
        key = term.get_id()
        if key not in self._known:
            self._known[key] = term, self._eliminated(term)
        return self._known[key][1]

    def _eliminated(self, term: Term) -> Term:
        if z3.is_var(term) or (is_array(term) and not z3.is_select(term)):
            return term
        if z3.is_quantifier(term):
            return self._quantified(term)
        if z3.is_select(term):
            return self.entry(term.arg(0), self.eliminated(term.arg(1)))
        if z3.is_eq(term) and is_array(term.arg(0)):
            return self._equal(*term.children())
        parts = [self.eliminated(part) for part in term.children()]
        if z3.is_and(term):
            return z3.And(parts) if parts else z3.BoolVal(True)  # SMT-LIB has no empty "and"
        if z3.is_or(term):
            return z3.Or(parts) if parts else z3.BoolVal(False)
        return term.decl()(*parts) if parts else term

    def _quantified(self, term: Term) -> Term:
        variables = [z3.FreshConst(term.var_sort(k), "x") for k in range(term.num_vars())]

        def about(part: Term) -> Term:
            # z3 numbers variables from the innermost.
            return self.eliminated(z3.substitute_vars(part, *reversed(variables)))

        patterns = [
            z3.MultiPattern(*map(about, some.children())) for some in map(term.pattern, range(term.num_patterns()))
        ]
        quantified = z3.ForAll if term.is_forall() else z3.Exists
        return quantified(variables, about(term.body()), patterns=patterns)

    def _equal(self, a: Term, b: Term) -> Term:
        k = z3.FreshConst(a.sort().domain(), "k")
        one, other = self.entry(a, k), self.entry(b, k)
        same = self._equal(one, other) if is_array(one) else self.eliminated(one) == self.eliminated(other)
        return z3.ForAll([k], same)

    def entry(self, array: Term, place: Term) -> Term:
        """The entry of the array at these indices; if that is an array, with its lambdas."""
        if z3.is_quantifier(array):
            return self._value(z3.substitute_vars(array.body(), place))
        if z3.is_app_of(array, z3.Z3_OP_ITE):
            condition, this, other = array.children()
            return z3.If(self.eliminated(condition), self.entry(this, place), self.entry(other, place))
        if z3.is_store(array):
            before, written, value = array.children()
            return z3.If(place == self.eliminated(written), self._value(value), self.entry(before, place))
        if z3.is_select(array):
            row = self.entry(array.arg(0), self.eliminated(array.arg(1)))
            return self.given(row[place]) if z3.is_select(row) else self.entry(row, place)
        return self.given(self.eliminated(array)[place])

    def given(self, entry: Term) -> Term:
        """An entry of an array about which nothing is known."""
        return entry

    def _value(self, term: Term) -> Term:
        return term if is_array(term) else self.eliminated(term)

    def agree(self, a: Term, b: Term, places: Sequence[Term]) -> list[Term]:
        """Two values have the same entries at these places."""
        if not is_array(a):
            return [self.eliminated(a) == self.eliminated(b)]
        return [same for place in places for same in self.agree(a[place], b[place], places)]


def eliminate_lambdas(term: Term) -> Term:
    """An equivalent formula without comprehensions."""
    return Eliminator().eliminated(term)
