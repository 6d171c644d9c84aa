"""Automatic discovery of the invariants of an abstraction of queues, for every n (`proofs.queues`).

Of the proof that stands in the files only the abstraction is taken, and what it is to show. Candidates are made of
the signatures of its functions (`stages_grammar`). Random runs of it leave the shortest that may hold
(`stages_candidates`), Houdini those that every event keeps (`stages_houdini`). If what is called safe follows, the few
that this rests on are put to z3 again, of any number of processes and messages, as the invariants of a proof.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb
from random import Random
from typing import Any

import numpy as np
import z3

from crownless.proofs.queues import QueueProof
from crownless.proofs.stages import Invariants
from crownless.proofs.terms import Term
from crownless.proofs.theorem import ATTEMPTS, theorem

from .discovery import SEED, Discovered
from .needed import Needed
from .query import STEPS
from .stages_candidates import InContext
from .stages_grammar import Clause, Context, Progress, contexts
from .stages_houdini import MESSAGES, PROCESSES, Houdini, Induction
from .stages_runs import TabulatedState, simulated

#: Simulated runs: how many processes and messages, how many runs.
RUNS = ((2, 3, 40), (2, 4, 40), (3, 5, 60), (3, 7, 20), (4, 6, 20))


@dataclass(frozen=True)
class DiscoveredOfStages(Discovered):
    """The invariants found of an abstraction of queues; optimality and liveness are not examined."""

    #: What safe means, and what is assumed.
    means: str
    assumed: tuple[str, ...]

    def json(self) -> dict[str, Any]:
        unasked = ("optimal", "live", "needed_for_optimal", "assumed")
        facts = {name: value for name, value in super().json().items() if name not in unasked}
        return {**facts, "assumptions": list(self.assumed), "inductive_among": [PROCESSES, MESSAGES]}

    def lines(self) -> list[str]:
        lines = [self.summary, f"{self.protocol}: {self.remark}"]
        if self.safe != "refuted":
            lines.append(
                f"{self.survived:,} of these are the shortest that survive {self.situations:,} states of "
                f"{self.runs} simulated runs; {self.inductive:,}, some of them weakened, are kept by every event among "
                f"{PROCESSES} processes and {MESSAGES} messages, which follow from {self.independent}"
            )
        if self.given_up:
            lines.append(f"{self.given_up} were dropped since z3 gave up")
        if self.needed:
            scope = (
                "shown by z3 for any number" if self.confirmed else "not shown for any number: z3 gives up, or refutes"
            )
            lines += [
                f"safe, by these, none of which can be left out; {scope} of processes and messages:",
                *(f"- {line}" for line in self.needed),
            ]
        return [*lines, f"safe: {self.means}"]

    @property
    def summary(self) -> str:
        if self.safe == "refuted":
            return f"{self.protocol}: a simulated run of its abstraction is not safe"
        found = f"{self.protocol}: invariants are looked for among {self.candidates:,} sentences"
        return (
            f"{found}; that it is safe {'follows' if self.safe == 'proved' else 'does not follow from what is found'}"
        )


def discover_of_stages(
    protocol: str, proof: QueueProof, effort: int = STEPS, progress: Progress | None = None, *, anyway: bool = False
) -> DiscoveredOfStages:
    """Look for invariants of the proof's abstraction; `effort`: z3's steps for one query. `anyway`: also if a simulated
    run of it is not safe.
    """
    return _Discovery(proof, effort, progress or (lambda line: None)).found(protocol, anyway)


class _Discovery:
    def __init__(self, proof: QueueProof, effort: int, report: Progress) -> None:
        self.proof, self.effort, self.report = proof, effort, report
        self.contexts = contexts(proof.abstraction)
        self.induction = Induction(proof, self.contexts, effort)
        self.few = Needed(len(self.induction.events), self.induction.core, self._is_safe, report)

    def found(self, protocol: str, anyway: bool) -> DiscoveredOfStages:
        started = time.monotonic()
        situations, runs, breaks = self._simulate(anyway)
        candidates = [InContext(context) for context in self.contexts]
        houdini = Houdini(self.induction, candidates, self.report)
        kept: list[Clause] = []
        needed: list[Clause] = []
        survived, confirmed = 0, False
        if anyway or not breaks:
            for part in candidates:
                self.report(f"sentences about {', '.join(part.context.names)}")
                part.absorb(np.random.default_rng(SEED).permutation(part.new(situations)))
                part.find()
            survived = _count(candidates)
            kept = houdini.kept()
            safe = self._safe(kept)
            if safe is not None:
                needed = self.few.irreducible(self.few.closed(safe, kept))
                confirmed = self._confirmed(needed)
        assert not (confirmed and breaks), "what is proved does not happen"
        return DiscoveredOfStages(
            protocol=protocol,
            candidates=sum(map(_sentences, self.contexts)),
            survived=survived,
            inductive=_count(candidates) if kept else 0,
            runs=runs,
            situations=len(situations),
            overtakes=breaks,
            independent=len(kept),
            given_up=houdini.given_up,
            safe="refuted" if breaks else "proved" if confirmed else "unknown",
            optimal="unknown",
            live="unknown",
            needed=tuple(map(str, needed)),
            needed_for_optimal=(),
            confirmed=confirmed,
            remark=self.proof.remark,
            seconds=time.monotonic() - started,
            means=self.proof.follows["safe"][0],
            assumed=tuple(self.proof.assumed),
        )

    def _simulate(self, anyway: bool) -> tuple[list[TabulatedState], int, bool]:
        """The states of random runs, how many runs, and whether one of them is not safe."""
        random, found, runs, breaks = Random(SEED), [], 0, False
        for n, messages, some in RUNS:
            for _ in range(some):
                self.report(f"simulated runs of {n} processes and {messages} messages")
                run = list(simulated(self.proof, n, messages, random))
                found += [situation for situation, _ in run]
                breaks |= any(wrong for _, wrong in run)
                runs += 1
                if breaks and not anyway:
                    return found, runs, True
        return found, runs, breaks

    # -- what follows --------------------------------------------------------------------------------------------------

    def _unsafe(self) -> list[Term]:
        """Of each claim that makes up what is called safe, that it fails."""
        few = self.induction.few
        _, follows = self.proof.follows["safe"]
        return [few.ground_over(z3.And(*given.values(), z3.Not(shows))) for given, shows in follows(few.run).values()]

    def _safe(self, given: Sequence[Clause]) -> list[Clause] | None:
        """Those of what is given that safety takes; None if it does not follow."""
        used: list[Clause] = []
        for unsafe in self._unsafe():
            because = self.induction.query.least(unsafe, given)
            if because is None:
                return None
            used += [clause for clause in because if clause not in used]
        return used

    def _is_safe(self, given: Sequence[Clause]) -> bool:
        return all(self.induction.query.core(unsafe, given) is not None for unsafe in self._unsafe())

    # -- for any number ------------------------------------------------------------------------------------------------

    def _confirmed(self, needed: Sequence[Clause]) -> bool:
        """True if z3 shows the same of any number of processes and messages, with nothing instantiated for it."""
        invariants: Invariants = {str(clause): _of_all(clause) for clause in needed}
        used = {str(clause): list(map(str, self.few.kept_by(clause, needed) or needed)) for clause in needed}
        claims = replace(self.proof, invariants=invariants, kept_by=used).claims()
        for part in ("invariants", "safe"):
            for claim in claims[part]:
                self.report(f"any number: {claim.name}")
                if not theorem(*claim, effort=self.effort, attempts=ATTEMPTS):
                    return False
        return True


def _of_all(clause: Clause) -> Any:
    """The clause as an invariant."""
    return lambda run, now, l: clause.of_all(run, now)


def _count(candidates: Sequence[InContext]) -> int:
    """How many sentences there are, each in the context of its variables."""
    return sum(len(part) for part in candidates)


def _sentences(context: Context) -> int:
    """How many sentences are looked through: of these variables or fewer, in either order of the messages."""
    atoms, plain = len(context.atoms), len(context.plain)
    some: int = sum(comb(atoms, size) * 2**size for size in range(1, context.together + 1))
    more: int = sum(comb(plain, size) * 2**size for size in range(context.together + 1, context.together_plain + 1))
    return some + more
