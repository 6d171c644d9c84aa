"""A theorem, put to z3: proved, refuted with a model, or unknown with z3's reason. Unknown is never success.

z3 looks for a state that satisfies the hypotheses and not the conclusion. Effort is bounded by z3's own count of its
steps (`rlimit`), not by time, so that a verdict does not depend on the computer.

A model that refutes a step of an induction is a state, not a run: it may be unreachable.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import z3

from crownless.proofs.language.ground import Things, said_of
from crownless.proofs.language.proof_request import EFFORT
from crownless.proofs.language.terms import Term
from crownless.proofs.language.z3_query import model_of
from crownless.runtime.printable import in_brackets

#: Attempts per query where z3 gives up.
ATTEMPTS = 5


Outcome = Literal["proved", "refuted", "unknown"]


class Claim(NamedTuple):
    """A claim to put to z3: `theorem(*claim)`."""

    name: str
    given: Mapping[str, Term]  #: the hypotheses, by name
    shows: Term

    def __repr__(self) -> str:
        return in_brackets(f"claim {self.name}")

    def without(self, *hypotheses: str) -> "Claim":
        """The claim without these hypotheses."""
        return self._replace(given={name: term for name, term in self.given.items() if name not in hypotheses})


@dataclass(frozen=True)
class Verdict:
    """z3's verdict on a claim; true only if it is proved."""

    name: str
    outcome: Outcome
    given: tuple[str, ...]  #: the names of the hypotheses: all assumptions about the constants
    model: Term = None  #: if refuted: a state in which the hypotheses hold and the claim fails
    reason: str = ""  #: if unknown: why, in z3's words

    def __repr__(self) -> str:
        return in_brackets(f"{self.name}: {self.outcome}")

    def __bool__(self) -> bool:
        return self.outcome == "proved"


def theorem(name: str, given: Mapping[str, Term], shows: Term, effort: int = EFFORT, attempts: int = 1) -> Verdict:
    """Puts to z3 that `shows` follows from the hypotheses, for all values of their constants.

    Where z3 gives up the query is repeated with another seed, up to `attempts` times, each with the same number of
    steps.
    """
    model, reason = model_of([*given.values(), z3.Not(shows)], effort, attempts)
    if reason:
        return Verdict(name, "unknown", tuple(given), reason=reason)
    if model is not None:
        return Verdict(name, "refuted", tuple(given), model=model)
    return Verdict(name, "proved", tuple(given))


def without_each(name: str, given: Mapping[str, Term], shows: Term, effort: int = EFFORT) -> dict[str, Verdict]:
    """For each hypothesis the verdict without it: refuted if it mattered, proved if it was not needed."""
    claims = {dropped: Claim(f"{name}, without: {dropped}", given, shows).without(dropped) for dropped in given}
    return {dropped: theorem(*claim, effort=effort) for dropped, claim in claims.items()}


def vacuous(name: str, given: Mapping[str, Term]) -> Verdict:
    """Puts to z3 that the hypotheses contradict each other. To be refuted: the model is a state that they describe."""
    return theorem(f"{name}, vacuously", given, z3.BoolVal(False), attempts=ATTEMPTS)


def never(now: Mapping[str, Term], happenings: Mapping[str, Mapping[str, Term]], things: Things) -> list[Claim]:
    """None of these can happen in any state of this size: each to be refuted, otherwise a proof may be vacuous."""
    said = said_of(things)
    return [
        Claim(name, {each: said(holds) for each, holds in {**now, **given}.items()}, z3.BoolVal(False))
        for name, given in happenings.items()
    ]
