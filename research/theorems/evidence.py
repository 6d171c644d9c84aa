"""Evidence as a value: what was established, its scope, and the method. Parts are combined with `&`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from crownless.model_check.runs.runs import Run
from crownless.model_check.search.realizing import lines_in_notation
from crownless.proofs.induction.theorem import ATTEMPTS, Claim, theorem, vacuous
from crownless.proofs.language.proof_request import EFFORT
from crownless.proofs.language.terms import Term
from crownless.spec.computation import Computation

#: proved: z3 shows it for any number of messages; checked: everything up to a bound was examined; measured: a quantity;
#: refuted: a smallest counterexample is shown; repaired: refuted as printed, and the nearest true statement holds; and
#: open: not decided yet, or its basis fails.
Verdict = Literal["proved", "checked", "measured", "refuted", "repaired", "open"]


#: Combined evidence has the verdict that comes last here.
_TOGETHER: tuple[Verdict, ...] = ("checked", "proved", "measured", "refuted", "open")


class Shown(NamedTuple):
    """A run or computation to be drawn: a counterexample or a witness."""

    title: str
    what: Run | Computation
    #: Its bundled name, if it is bundled: the file must then contain what was found.
    bundled: str | None = None

    def json(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"title": self.title, "bundled": self.bundled}
        if isinstance(self.what, Run):
            return {**facts, "processes": list(self.what.processes), "run": self.what.json()}
        return {**facts, "computation": lines_in_notation(self.what)}


@dataclass(frozen=True)
class Evidence:
    """The recomputed evidence for a reading of a claim, or a part of it."""

    shows: bool
    #: The scope: processes, messages, channel, assumptions.
    scope: str
    #: What was done and found, with figures.
    because: str
    shown: tuple[Shown, ...] = ()
    #: The verdict if it shows its statement.
    verdict: Verdict = "checked"

    def __and__(self, other: Evidence) -> Evidence:
        return together([self, other])

    def refutes(self) -> Evidence:
        """The same, as evidence that a reading is false."""
        return replace(self, verdict="refuted")

    def beside(self) -> Evidence:
        """The same, as a supplement that does not raise the verdict."""
        return replace(self, verdict="checked")

    def saying(self, because: str, scope: str | None = None) -> Evidence:
        """The same, worded differently."""
        return replace(self, because=because, scope=self.scope if scope is None else scope)


def together(parts: Iterable[Evidence]) -> Evidence:
    """All of these parts: they show something if each of them does."""
    every = list(parts)
    return Evidence(
        all(part.shows for part in every),
        _joined(part.scope for part in every),
        _joined(part.because for part in every),
        tuple(dict.fromkeys(shown for part in every for shown in part.shown)),
        max((part.verdict for part in every), key=_TOGETHER.index),
    )


def _joined(texts: Iterable[str]) -> str:
    """The texts joined, without duplicate clauses."""
    return "; ".join(dict.fromkeys(clause for text in texts if text for clause in text.split("; ")))


# -- single facts ------------------------------------------------------------------------------------------------------


def fact(holds: bool, because: str, scope: str = "", *shown: Shown) -> Evidence:
    """A fact computed for a claim."""
    return Evidence(holds, scope, because, shown)


def measured(holds: bool, because: str, scope: str = "") -> Evidence:
    """A quantity measured in simulations."""
    return Evidence(holds, scope, because, verdict="measured")


def found(title: str, what: Run | Computation | None, bundled: str | None = None, scope: str = "") -> Evidence:
    """A run or computation that shows what its title says; it must have been found."""
    if what is None:
        return Evidence(False, scope, f"not found: {title}")
    size = f"{len(what.actions)} actions" if isinstance(what, Run) else f"{len(what.messages)} messages"
    return Evidence(True, scope, f"{title} ({size})", (Shown(title, what, bundled),))


def none_found(title: str, what: Run | Computation | None, because: str, scope: str = "") -> Evidence:
    """A counterexample to a claim; it must not have been found."""
    return Evidence(what is None, scope, because, () if what is None else (Shown(title, what),))


# -- claims put to z3 --------------------------------------------------------------------------------------------------

ANY_NUMBER = "any number of processes and messages"


def by_z3(
    because: str,
    claims: Iterable[Claim],
    *,
    possible: Iterable[Mapping[str, Term]] = (),
    refuted: Iterable[Iterable[Claim]] = (),
    scope: str = ANY_NUMBER,
) -> Evidence:
    """z3 proves the claims. It has a model of the hypotheses in each of `possible`, so the claims are not vacuous, and
    a countermodel for each group of claims in `refuted`, which lack an essential hypothesis.
    """
    bites = all(map(_any_refuted, refuted)) and all(vacuous("given", given).outcome == "refuted" for given in possible)
    proves = bites and all(theorem(*claim, attempts=ATTEMPTS) for claim in claims)
    return Evidence(proves, scope, f"z3: {because}", verdict="proved")


#: Steps within which z3 finds easy countermodels.
A_FEW_STEPS = 100_000


def _any_refuted(claims: Iterable[Claim]) -> bool:
    """True if z3 has a countermodel to one of the claims; easy ones are tried first, then all with more effort."""
    every = list(claims)
    return any(
        theorem(*claim, effort=effort, attempts=ATTEMPTS).outcome == "refuted"
        for effort in (A_FEW_STEPS, EFFORT)
        for claim in every
    )


def each_alone(claims: Iterable[Claim]) -> list[list[Claim]]:
    """Groups of one claim, each of which is to be refuted."""
    return [[claim] for claim in claims]


def lacking_each(*claims: Claim) -> list[list[Claim]]:
    """The claims with each of their hypotheses left out in turn."""
    return [[claim.without(name)] for claim in claims for name in claim.given]
