"""Puts a protocol's proof to z3: what is shown for every n, and what that rests on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import z3

from crownless.impl.extra_messages import ExtraMessages
from crownless.model_check.stopping import Stopped, stop_reason

from .birman_schiper_stephenson import CBCAST
from .buffer import BUFFER
from .causal_order import CausalOrder
from .kuper import RST, RST_SENT_ALONE
from .mattern_fuenfrocken import RST_BEFORE
from .murty_garg import MURTY_GARG
from .one_by_one import refines_one_by_one
from .queues import QueueProof
from .refinement import Refinement, refines, refines_along_runs
from .sanchez_alvarez import EXTRA_MESSAGES
from .schiper_eggli_sandoz import SES, SES_DELETE
from .second_solver import asked_again
from .ses_multicast import SES_MULTICAST
from .theorem import EFFORT, Claim, Outcome, Verdict, theorem, without_each

Proof = CausalOrder | QueueProof

#: The protocols of which something is proved, by name.
PROOFS: Mapping[str, Proof] = {
    "rst": RST,
    "rst-sent-alone": RST_SENT_ALONE,
    "rst-before": RST_BEFORE,
    "ses": SES,
    "ses-delete": SES_DELETE,
    "ses-multicast": SES_MULTICAST,
    "cbcast": CBCAST,
    "extra-messages": EXTRA_MESSAGES,
    "buffer": BUFFER,
    "murty-garg": MURTY_GARG,
}

#: What may be shown of a protocol; each proof says what it means of it, or leaves it out.
SHOWN = ("safe", "optimal", "live")

#: Steps of z3 that show most claims here; see `needs`.
MOST = 100_000
#: So many ways z3 may take.
ATTEMPTS = 5

#: What is said of a protocol.
Told = Literal["proved", "refuted", "unknown", "not claimed"]


@dataclass(frozen=True)
class Put:
    """A claim that was put to z3."""

    part: str
    claim: Claim
    verdict: Verdict
    seconds: float
    #: What the second solver says, if it was asked.
    again: Outcome | None = None


@dataclass(frozen=True)
class Proved:
    """What z3 says of a protocol's proof."""

    protocol: str
    proof: Proof
    claims: tuple[Put, ...]
    #: Is there a moment of which the proof speaks, such as one at which a message with a past at its receiver is
    #: accepted, and one for each event? Else it would be of nothing.
    not_vacuous: bool
    #: Of a proof about an abstraction, or another form of the protocol: does its machine do what that does?
    refinements: tuple[Refinement, ...]
    seconds: float
    #: Why not all of it was put to z3, if it was not.
    stopped: str | None = None

    def outcome(self, shown: str) -> Told:
        """Refuted: z3 has a situation in which a step of the proof fails; that need not be one of a run. A proof about
        an abstraction that the machine does not follow says nothing of the protocol.
        """
        if shown not in self.proof.shown:
            return "not claimed"
        of_it = [put for put in self.claims if put.part in self.proof.shown[shown][1]]
        outcomes = [put.verdict.outcome for put in of_it]
        if any(put.again == "refuted" and put.verdict for put in of_it):
            return "unknown"
        if all(outcome == "proved" for outcome in outcomes) and self.not_vacuous and all(self.refinements):
            return "proved"
        return "refuted" if "refuted" in outcomes else "unknown"

    @property
    def confirmed(self) -> int | None:
        """How many of the claims the second solver proves too; None if it was not asked."""
        if all(put.again is None for put in self.claims):
            return None
        return sum(put.again == "proved" for put in self.claims)

    @property
    def failures(self) -> list[Put]:
        return [put for put in self.claims if not put.verdict]

    def json(self) -> dict[str, Any]:
        return {
            "protocol": self.protocol,
            **{shown: self.outcome(shown) for shown in SHOWN},
            "means": {shown: meaning for shown, (meaning, _) in self.proof.shown.items()},
            "processes": "any number",
            "messages": "any number",
            "of": self.proof.of,
            "assumptions": list(self.proof.assumed),
            "remark": self.proof.remark,
            "not_vacuous": self.not_vacuous,
            "abstraction_checked": [
                {
                    "processes": each.processes,
                    "messages": each.messages,
                    "states": each.states,
                    "runs": each.runs,
                    "differs": each.differs,
                }
                for each in self.refinements
            ],
            "claims": [
                {
                    "part": put.part,
                    "name": put.verdict.name,
                    "outcome": put.verdict.outcome,
                    "given": list(put.verdict.given),
                    "reason": put.verdict.reason,
                    **({} if put.again is None else {"cvc5": put.again}),
                    "seconds": round(put.seconds, 3),
                }
                for put in self.claims
            ],
            "seconds": round(self.seconds, 3),
            "stopped": self.stopped,
        }


def prove(
    protocol: str,
    proof: Proof,
    effort: int = EFFORT,
    progress: Callable[[str], None] | None = None,
    attempts: int = ATTEMPTS,
    recheck: bool = False,
) -> Proved:
    """All claims of the proof, each put to z3, that many times if it gives up; `progress` is told of each before.

    Within `interrupts.stoppable_proof` it ends where that ends, and what was not put to z3 by then is unknown.

    With `recheck` what z3 proves is put to a second solver too; raises `BadInput` if that is not installed.
    """
    started = time.monotonic()
    claims: list[Put] = []
    stopped = None
    not_vacuous, refinements = False, tuple[Refinement, ...]()
    every = [(part, claim) for part, some in proof.claims().items() for claim in some]
    try:
        for part, claim in every:
            if progress is not None:
                progress(claim.name)
            began = time.monotonic()
            verdict = theorem(*claim, effort=effort, attempts=attempts)
            again = asked_again(claim) if recheck and verdict else None
            claims.append(Put(part, claim, verdict, time.monotonic() - began, again))
        possible = [theorem(*never, effort=effort, attempts=attempts).outcome == "refuted" for never in proof.vacuity()]
        not_vacuous, refinements = all(possible), _refinements(proof, progress)
    except (Stopped, z3.Z3Exception):
        stopped = stop_reason()
        if stopped is None:
            raise
    unknown = [
        Put(part, claim, Verdict(claim.name, "unknown", tuple(claim.given), reason=stopped or ""), 0.0)
        for part, claim in every[len(claims) :]
    ]
    seconds = time.monotonic() - started
    return Proved(protocol, proof, (*claims, *unknown), not_vacuous, refinements, seconds, stopped)


#: The extra-message machine is held against what is proved of it for so many processes, messages, and thresholds.
ONE_BY_ONE = ((3, 3, 2), (3, 4, 3), (4, 2, 2))


def _refinements(proof: Proof, progress: Callable[[str], None] | None) -> tuple[Refinement, ...]:
    """Of what is not put to z3 as it is: does the machine do what is proved?"""
    if progress is not None:
        progress("does the machine do what is proved?")
    if isinstance(proof, QueueProof):
        return (
            *(refines(proof, n, messages) for n, messages in proof.refined),
            *(refines_along_runs(proof, n, messages) for n, messages in proof.refined_along_runs),
        )
    if issubclass(proof.protocol, ExtraMessages):
        return tuple(refines_one_by_one(proof.protocol, n, messages, k) for n, messages, k in ONE_BY_ONE)
    return ()


def needs(proof: Proof, effort: int = EFFORT, progress: Callable[[str], None] | None = None) -> dict[str, list[str]]:
    """Of each claim that z3 proves, the hypotheses without any one of which it does not, with a few times the steps."""
    needed = {}
    for some in proof.claims().values():
        for claim in some:
            if progress is not None:
                progress(claim.name)
            steps = next(
                (few for few in (MOST, 5 * MOST, effort) if few <= effort and theorem(*claim, effort=few)), None
            )
            if steps is not None:
                # Without one that is needed there is nothing to find, and z3 may look for long.
                verdicts = without_each(*claim, effort=2 * steps)
                needed[claim.name] = [
                    hypothesis if verdict.outcome == "refuted" else f"{hypothesis} (?)"
                    for hypothesis, verdict in verdicts.items()
                    if not verdict
                ]
    return needed
