"""Evidence: what was established, how far that reaches, and how, as a value. Parts are put together with `&`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from crownless.model_check.runs.runs import Run
from crownless.model_check.search.realizing import lines_in_notation
from crownless.proofs.language.terms import Term
from crownless.spec.computation import Computation

from .theorem import ATTEMPTS, EFFORT, Claim, theorem, vacuous

#: proved: z3 shows it for any number of messages; checked: everything up to a bound was examined; measured: a quantity;
#: refuted: a smallest counterexample is shown; repaired: refuted as printed, and the nearest true statement holds; and
#: open: not decided yet, or what it rested on fails.
Verdict = Literal["proved", "checked", "measured", "refuted", "repaired", "open"]


#: What parts of evidence make together: the verdict that comes last here.
_TOGETHER: tuple[Verdict, ...] = ("checked", "proved", "measured", "refuted", "open")


class Shown(NamedTuple):
    """A run or a computation that shows something, to be drawn: a counterexample, or a witness."""

    title: str
    what: Run | Computation
    #: The name under which it is bundled, if it is: what is found must then be what the file has.
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
    #: How far it reaches: processes, messages, channel, what was assumed.
    scope: str
    #: What was done and found, with figures.
    because: str
    shown: tuple[Shown, ...] = ()
    #: The verdict of what it shows, if it does.
    verdict: Verdict = "checked"

    def __and__(self, other: Evidence) -> Evidence:
        return together([self, other])

    def refutes(self) -> Evidence:
        """The same, as evidence that a reading is false."""
        return replace(self, verdict="refuted")

    def beside(self) -> Evidence:
        """The same, beside what decides the verdict, which it does not raise."""
        return replace(self, verdict="checked")

    def saying(self, because: str, scope: str | None = None) -> Evidence:
        """The same, in other words."""
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
    """The texts, each of their clauses once."""
    return "; ".join(dict.fromkeys(clause for text in texts if text for clause in text.split("; ")))


# -- single facts ------------------------------------------------------------------------------------------------------


def fact(holds: bool, because: str, scope: str = "", *shown: Shown) -> Evidence:
    """Something that was computed for a claim."""
    return Evidence(holds, scope, because, shown)


def measured(holds: bool, because: str, scope: str = "") -> Evidence:
    """A quantity of simulations."""
    return Evidence(holds, scope, because, verdict="measured")


def found(title: str, what: Run | Computation | None, bundled: str | None = None, scope: str = "") -> Evidence:
    """A run or a computation that shows something, as its title says; it must have been found."""
    if what is None:
        return Evidence(False, scope, f"not found: {title}")
    size = f"{len(what.actions)} actions" if isinstance(what, Run) else f"{len(what.messages)} messages"
    return Evidence(True, scope, f"{title} ({size})", (Shown(title, what, bundled),))


def none_found(title: str, what: Run | Computation | None, because: str, scope: str = "") -> Evidence:
    """What would be against a claim; it must not have been found."""
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
    """z3 proves the claims. It has a model of all that is given in each of `possible`, so that the claims are about
    something, and something against one of each group of claims in `refuted`, which lack what the claims rest on.
    """
    bites = all(map(_any_refuted, refuted)) and all(vacuous("given", given).outcome == "refuted" for given in possible)
    proves = bites and all(theorem(*claim, attempts=ATTEMPTS) for claim in claims)
    return Evidence(proves, scope, f"z3: {because}", verdict="proved")


#: Steps in which z3 sees at once what is against some claims.
A_FEW_STEPS = 100_000


def _any_refuted(claims: Iterable[Claim]) -> bool:
    """True if z3 has something against one of them, which it sees at once of some; if not, it is to try harder."""
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
    """The claims without each of their hypotheses in turn."""
    return [
        [claim._replace(given={other: term for other, term in claim.given.items() if other != name})]
        for claim in claims
        for name in claim.given
    ]
