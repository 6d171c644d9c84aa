"""Puts a protocol's proof to z3: what is safe, optimal and live for every n, and what that rests on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from .birman_schiper_stephenson import CBCAST
from .causal_order import CausalOrder
from .kuper import RST, RST_SENT_ALONE
from .mattern_fuenfrocken import RST_BEFORE
from .sanchez_alvarez import EXTRA_MESSAGES
from .schiper_eggli_sandoz import SES, SES_DELETE
from .ses_multicast import SES_MULTICAST
from .theorem import EFFORT, Claim, Verdict, theorem, without_each

#: The protocols that are proved to realise causal order, by name.
PROOFS: Mapping[str, CausalOrder] = {
    "rst": RST,
    "rst-sent-alone": RST_SENT_ALONE,
    "rst-before": RST_BEFORE,
    "ses": SES,
    "ses-delete": SES_DELETE,
    "ses-multicast": SES_MULTICAST,
    "cbcast": CBCAST,
    "extra-messages": EXTRA_MESSAGES,
}

#: What is shown of a protocol: what that means, and which parts of its proof it takes.
SHOWN: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "safe": (
        "a message is delivered after all that was sent to its receiver causally before it",
        ("invariants", "safe"),
    ),
    "optimal": (
        "it waits only while one of those is missing: nothing that keeps causal order delivers it sooner",
        ("invariants", "optimal"),
    ),
    "live": (
        "of the messages under way the earliest is accepted, so that each is delivered in the end",
        ("invariants", "optimal", "live"),
    ),
}

#: Steps of z3 that show most claims here; see `needs`.
MOST = 100_000
#: So many ways z3 may take.
ATTEMPTS = 5

Outcome = Literal["proved", "refuted", "unknown"]


@dataclass(frozen=True)
class Put:
    """A claim that was put to z3."""

    part: str
    verdict: Verdict
    seconds: float


@dataclass(frozen=True)
class Proved:
    """What z3 says of a protocol's proof."""

    protocol: str
    claims: tuple[Put, ...]
    #: Is there a moment at which a message with a past at its receiver is accepted? Else it would all be of nothing.
    not_vacuous: bool
    seconds: float

    def outcome(self, shown: str) -> Outcome:
        """Refuted: z3 has a situation in which a step of the proof fails; that need not be one of a run."""
        outcomes = [put.verdict.outcome for put in self.claims if put.part in SHOWN[shown][1]]
        if all(outcome == "proved" for outcome in outcomes) and self.not_vacuous:
            return "proved"
        return "refuted" if "refuted" in outcomes else "unknown"

    @property
    def failures(self) -> list[Put]:
        return [put for put in self.claims if not put.verdict]

    def json(self) -> dict[str, Any]:
        return {
            "protocol": self.protocol,
            **{shown: self.outcome(shown) for shown in SHOWN},
            "processes": "any number",
            "messages": "any number",
            "assumptions": list(PROOFS[self.protocol].assumed) if self.protocol in PROOFS else [],
            "remark": PROOFS[self.protocol].remark if self.protocol in PROOFS else "",
            "not_vacuous": self.not_vacuous,
            "claims": [
                {
                    "part": put.part,
                    "name": put.verdict.name,
                    "outcome": put.verdict.outcome,
                    "given": list(put.verdict.given),
                    "reason": put.verdict.reason,
                    "seconds": round(put.seconds, 3),
                }
                for put in self.claims
            ],
            "seconds": round(self.seconds, 3),
        }


def prove(
    protocol: str,
    proof: CausalOrder,
    effort: int = EFFORT,
    progress: Callable[[Claim], None] | None = None,
    attempts: int = ATTEMPTS,
) -> Proved:
    """All claims of the proof, each put to z3, that many times if it gives up; `progress` is told of each before."""
    started = time.monotonic()
    claims = []
    for part, some in proof.claims().items():
        for claim in some:
            if progress is not None:
                progress(claim)
            began = time.monotonic()
            claims.append(Put(part, theorem(*claim, effort=effort, attempts=attempts), time.monotonic() - began))
    not_vacuous = theorem(*proof.vacuity(), effort=effort, attempts=attempts).outcome == "refuted"
    return Proved(protocol, tuple(claims), not_vacuous, time.monotonic() - started)


def needs(
    proof: CausalOrder, effort: int = EFFORT, progress: Callable[[Claim], None] | None = None
) -> dict[str, list[str]]:
    """Of each claim that z3 proves, the hypotheses without any one of which it does not, with a few times the steps."""
    needed = {}
    for some in proof.claims().values():
        for claim in some:
            if progress is not None:
                progress(claim)
            steps = next(
                (few for few in (MOST, 5 * MOST, effort) if few <= effort and theorem(*claim, effort=few)), None
            )
            if steps is not None:
                # Without one that is needed there is nothing to find, and z3 may look for long.
                verdicts = without_each(*claim, effort=2 * steps)
                needed[claim.name] = [hypothesis for hypothesis, verdict in verdicts.items() if not verdict]
    return needed
