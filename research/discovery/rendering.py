"""Rendering of clauses in the notation of the code, with matching pairs joined."""

from collections.abc import Sequence

from .templates import Bound, Clause, Context, Literal, Number, Process, Vocabulary


class ClauseRenderer:
    """Renders clauses with the names of a protocol's variables."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def sentences(self, context: Context, clauses: Sequence[Clause]) -> list[str]:
        """The sentences: bounds both ways become an equation, implications both ways an equivalence."""
        rest, found = list(clauses), []
        while rest:
            clause = rest.pop(0)
            said = None
            for other in rest:
                said = self._equation(clause, other) or self._equivalence(clause, other)
                if said is not None:
                    rest.remove(other)
                    break
            given, then = said if said is not None else (clause.given, self.of(clause.then))
            found.append(self._sentence(context, given, then))
        return found

    def _sentence(self, context: Context, given: Sequence[Literal], then: str) -> str:
        said = f"{' ∧ '.join(self.of(literal) for literal in given)} ⇒ {then}" if given else then
        words = "".join(letter if letter.isalnum() else " " for letter in said.replace("_", " ")).split()
        names = [name for name in (*context.processes, *context.messages) if name in words]
        return f"for all {', '.join(names)}: {said}" if names else said

    def _equation(self, a: Clause, b: Clause) -> tuple[Sequence[Literal], str] | None:
        if not (isinstance(a.then, Bound) and isinstance(b.then, Bound) and a.given == b.given):
            return None
        if (a.then.less, a.then.more) != (b.then.more, b.then.less) or a.then.by != -b.then.by:
            return None
        first = a.then if a.then.by >= 0 else b.then
        return a.given, f"{self.number(first.less)} = {self._more(first)}"

    def _equivalence(self, a: Clause, b: Clause) -> tuple[Sequence[Literal], str] | None:
        """Joins two clauses where one hypothesis is negated, or where hypothesis and conclusion are swapped."""
        here = [literal for literal in a.given if literal not in b.given]
        there = [literal for literal in b.given if literal not in a.given]
        if len(here) != 1 or len(there) != 1:
            return None
        (this,), (other,) = here, there
        both = [literal for literal in a.given if literal != this]
        if isinstance(a.then, Bound) and isinstance(b.then, Bound):
            opposite = (a.then.less, a.then.more, a.then.by) == (b.then.more, b.then.less, -1 - b.then.by)
            if this != other.negated or not opposite:
                return None
            holds, then = (this, a.then) if this.holds else (other, b.then)
            return both, _in_brackets(f"{self.of(holds)} ⇔ {self.of(then)}", both)
        if a.then == other and b.then == this:
            return both, _in_brackets(f"{self.of(this)} ⇔ {self.of(other)}", both)
        return None

    def of(self, said: Literal | Bound) -> str:
        if isinstance(said, Bound):
            return self._bound(said)
        things = [str(thing) for thing in said.of]
        if said.relation.startswith("same"):
            return f"{things[0]} {'=' if said.holds else '≠'} {things[1]}"
        if said.relation == "is its number":
            (x,) = things
            positive = f"numbered(sender({x}), receiver({x}), number({x})) = {x}"
            return positive if said.holds else positive.replace(" = ", " ≠ ")
        return f"{'' if said.holds else '¬'}{said.relation}({', '.join(things)})"

    def _bound(self, bound: Bound) -> str:
        if bound.by == -1:
            return f"{self.number(bound.less)} < {self.number(bound.more)}"
        return f"{self.number(bound.less)} ≤ {self._more(bound)}"

    def _more(self, bound: Bound) -> str:
        return self.number(bound.more) + (f" + {bound.by}" if bound.by else "")

    def number(self, number: Number) -> str:
        if number.kind == "zero":
            return "0"
        if number.kind == "number":
            return f"number({number.of})"
        if number.kind == "count":
            return f"count({', '.join(map(str, number.at))})"
        leaves = self.vocabulary.local if number.kind == "local" else self.vocabulary.stamp
        of = f"{{{number.of}}}" if isinstance(number.of, Process) and number.of.role else number.of
        return f"{leaves[number.leaf].name}_{of}" + "".join(f"[{place}]" for place in number.at)


def _in_brackets(said: str, given: Sequence[Literal]) -> str:
    return f"({said})" if given else said
