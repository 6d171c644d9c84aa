"""The proof of a protocol by z3: the claims shown for every n, their assumptions, and what they rest on."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import z3

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocol_validation import check_class, machine_errors
from crownless.impl.protocols.extra_messages import ExtraMessages
from crownless.impl.registry import qualified_name_of
from crownless.proofs.induction.causal_order import CausalOrder
from crownless.proofs.induction.proved_properties import SHOWN, assumptions_used, in_words
from crownless.proofs.induction.queues import QueueProof
from crownless.proofs.induction.replay import REFUTES, Refutation, Search, search
from crownless.proofs.induction.second_solver import recheck_with_cvc5
from crownless.proofs.induction.step_refinement import Compared, step_claims
from crownless.proofs.induction.theorem import ATTEMPTS, Claim, Outcome, Verdict, theorem, without_each
from crownless.proofs.language.proof_request import EFFORT
from crownless.proofs.language.symbolic_queues import UnsupportedStep
from crownless.proofs.protocols.buffer import BUFFER
from crownless.proofs.protocols.cbcast import CBCAST
from crownless.proofs.protocols.extra_messages import EXTRA_MESSAGES
from crownless.proofs.protocols.extra_messages_steps import same_steps
from crownless.proofs.protocols.murty_garg import MURTY_GARG
from crownless.proofs.protocols.rst import RST, RST_BEFORE, RST_SENT_ALONE
from crownless.proofs.protocols.ses import SES, SES_DELETE
from crownless.proofs.protocols.ses_multicast import SES_MULTICAST
from crownless.runtime.ending import Stopped, stop_reason
from crownless.runtime.errors import BadInput, unknown_name
from crownless.runtime.printable import printable, some
from crownless.spec.result import Result

Proof = CausalOrder | QueueProof

#: Protocols with a proof, by name.
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


def proof_of(protocol: type[ProtocolMachine]) -> Proof:
    """The proof of a protocol: the one that its class brings as `proof_of`, or that of the protocol it is derived from,
    applied to its own code. Raises `BadInput` if there is none, or if the class is not a valid protocol.
    """
    check_class(protocol)
    brought: Callable[[], Proof | None] = getattr(protocol, "proof_of", lambda: None)
    if own := brought():
        return own
    for kind in protocol.__mro__:
        for proof in PROOFS.values():
            if proof.protocol is kind:
                return proof if kind is protocol else replace(proof, protocol=protocol)
    name = qualified_name_of(protocol)
    hint = f"crownless check {name} explores all runs up to a bound; there are proofs of: {', '.join(PROOFS)}"
    raise BadInput(f"{name}: neither it nor any of its base classes has a proof", hint=hint)


#: z3 steps that suffice for most claims here; see `necessary_hypotheses`.
MOST = 100_000

#: The part of a proof that compares the machine's own steps with the proved ones.
STEPS = "steps"

#: *Not proved*: z3 has a state in which a claim fails, or the machine's steps are not shown to be the proved ones.
PartOutcome = Literal["proved", "refuted", "not proved", "unknown", "not claimed"]


@dataclass(frozen=True)
class Obligation(Result):
    """A claim that was put to z3."""

    json_keys = "part name=verdict.name outcome given=verdict.given reason=verdict.reason cvc5=again? seconds"

    part: str
    claim: Claim
    verdict: Verdict
    seconds: float
    #: The second solver's verdict, if it was run.
    again: Outcome | None = None

    @property
    def brief(self) -> str:
        """The claim, and z3's answer."""
        return f"{self.claim.name}: {self.verdict.outcome}"

    @property
    def outcome(self) -> PartOutcome:
        """What is known of the claim: a state in which it fails need not be reachable."""
        return "not proved" if self.verdict.outcome == "refuted" else self.verdict.outcome


@dataclass(frozen=True)
class ProofReport(Result):
    """z3's verdicts on a protocol's proof."""

    json_keys = """
        means follows processes messages of covers_machine machine_unsupported=unsupported assumptions=assumed trusted
        remark=proof.remark not_vacuous machine_compared=compared claims search seconds stopped
        """

    protocol: str
    proof: Proof
    claims: tuple[Obligation, ...]
    #: True if z3 finds a state that the proof is about: one in which a message with a past at its receiver is
    #: deliverable, and one for each event. Otherwise the proof may be vacuous.
    not_vacuous: bool
    #: For a proof about another form of the protocol: how the machine was compared with it.
    compared: tuple[Compared, ...]
    seconds: float
    #: Why the machine's steps could not be compared with the proved ones, if so. Nothing is put to z3 then.
    unsupported: str | None = None
    #: Why not all claims were put to z3, if so.
    stopped: str | None = None
    #: The search for a run that violates what is not proved; None if all is proved, or if it was stopped.
    search: Search | None = None

    @property
    def brief(self) -> str:
        """What is proved, and how many claims were put to z3."""
        outcomes = ", ".join(f"{in_words(shown)}: {self.outcome(shown)}" for shown in SHOWN)
        return f"{self.protocol}: {outcomes}; {some(len(self.claims), 'claim')}"

    def __str__(self) -> str:
        shown = [f"{in_words(name)}: {self.outcome(name)}: {known.means}" for name, known in self.proof.shown.items()]
        claims = [f"  {put.part}: {put.claim.name}: {put.verdict.outcome}" for put in self.claims]
        of = printable(f"{self.protocol}, of {self.of}; processes: {self.processes}; messages: {self.messages}")
        stopped = [f"not all was put to z3: {self.stopped}"] if self.stopped else []
        differs = [f"not proved: {self.differs}"] if self.differs else []
        assumed = ["assumed:", *(f"- {assumption}" for assumption in self.assumed)] if self.assumed else []
        return "\n".join([of, *shown, *differs, *stopped, *(["claims:", *claims] if claims else []), *assumed])

    def outcome(self, shown: str) -> PartOutcome:
        """Refuted: a run of the machine violates it. Not proved: z3 has a state in which a step of the proof fails,
        which need not be reachable; or the machine's steps are not shown to be the proved ones.
        """
        if shown not in SHOWN:
            raise unknown_name("property", shown, SHOWN)
        if shown not in self.proof.shown:
            return "not claimed"
        if self.refutation is not None and REFUTES[self.refutation.breaks] == shown:
            return "refuted"
        of_it = [put for put in self.claims if put.part in (*self.proof.shown[shown].parts, STEPS)]
        outcomes = {put.verdict.outcome for put in of_it}
        if self.differs is not None or "refuted" in outcomes:
            return "not proved"
        doubted = any(put.again == "refuted" for put in of_it)
        return "proved" if outcomes == {"proved"} and self.not_vacuous and not doubted else "unknown"

    @property
    def proved(self) -> list[str]:
        """The properties that are proved of the machine."""
        return [shown for shown in SHOWN if self.outcome(shown) == "proved"]

    @property
    def refuted(self) -> list[str]:
        """The properties that a run of the machine violates; they need neither z3 nor assumptions."""
        return [shown for shown in SHOWN if self.outcome(shown) == "refuted"]

    @property
    def refutation(self) -> Refutation | None:
        """Where a proof fails: a run of the machine that violates what was to be shown."""
        return None if self.search is None else self.search.refutation

    @property
    def assumed(self) -> list[str]:
        """The assumptions about the environment that the proved properties use."""
        return assumptions_used(self.proof.assumed, self.proved)

    @property
    def trusted(self) -> tuple[str, ...]:
        """The trusted base of what is proved, besides those assumptions."""
        return trusted(self.proof) if self.proved else ()

    @property
    def differs(self) -> str | None:
        """Why the proof is not about this machine, if so."""
        if self.unsupported is not None:
            return f"its steps cannot be compared with what is proved: {self.unsupported}"
        differs = next((each.differs for each in self.compared if not each), None)
        return None if differs is None else f"the machine does something else than what is proved: {differs}"

    @property
    def covers_machine(self) -> bool:
        """True if the proof covers the machine's own steps, in any state."""
        return self.differs is None and all(put.verdict for put in self.claims if put.part == STEPS)

    @property
    def of(self) -> str:
        """The subject of the proof, and its relation to the machine."""
        return f"{self.proof.of}; machine {self.processes} processes" if self.compared else self.proof.of

    @property
    def processes(self) -> str:
        """The number of processes for which the machine is proved."""
        if not self.proved:
            return "nowhere"
        return f"up to {max(each.processes for each in self.compared)}" if self.compared else "any number"

    @property
    def messages(self) -> str:
        """The number of messages for which the machine is proved."""
        return "any number" if self.proved else "nowhere"

    @property
    def confirmed(self) -> int | None:
        """The number of claims that the second solver also proves; None if it was not run."""
        if all(put.again is None for put in self.claims):
            return None
        return sum(put.again == "proved" for put in self.claims)

    @property
    def failures(self) -> list[Obligation]:
        return [put for put in self.claims if not put.verdict]

    @property
    def means(self) -> dict[str, str]:
        """What each property means."""
        return {shown: known.means for shown, known in self.proof.shown.items()}

    @property
    def follows(self) -> dict[str, str]:
        """What follows from each property beyond it."""
        return {shown: known.follows for shown, known in self.proof.shown.items() if known.follows}

    def json(self) -> dict[str, Any]:
        """What is proved of each property, and the proof."""
        outcomes = {shown: self.outcome(shown) for shown in SHOWN}
        return {"protocol": self.protocol, **outcomes, **super().json()}


def prove(
    protocol: str,
    proof: Proof,
    effort: int = EFFORT,
    progress: Callable[[str], None] | None = None,
    attempts: int = ATTEMPTS,
    recheck: bool = False,
    channel: str | None = None,
) -> ProofReport:
    """All claims of the proof, each put to z3 with this many attempts if it gives up; `progress` is called with each
    name first. If something is not proved, a refuting run is searched for, over the channel if one is given.

    Ends early within `stoppable`; claims not put to z3 by then are unknown.

    With `recheck`, claims that z3 proves are also put to a second solver; raises `BadInput` if that is not installed.
    """
    check_class(proof.protocol)
    with machine_errors(proof.protocol):
        report = _put_to_z3(protocol, proof, effort, progress, attempts, recheck)
        if report.stopped is not None or (report.covers_machine and not report.failures):
            return report
        try:
            return replace(report, search=search(proof.protocol, proof.order, channel))
        except (Stopped, z3.Z3Exception):
            return replace(report, stopped=_why_stopped())


def _put_to_z3(
    protocol: str,
    proof: Proof,
    effort: int,
    progress: Callable[[str], None] | None,
    attempts: int,
    recheck: bool,
) -> ProofReport:
    started = time.monotonic()
    claims: list[Obligation] = []
    stopped, not_vacuous = None, False
    every, compared, unsupported = _claims(proof)
    try:
        for part, claim in every:
            if progress is not None:
                progress(claim.name)
            began = time.monotonic()
            verdict = theorem(*claim, effort=effort, attempts=attempts)
            again = recheck_with_cvc5(claim) if recheck and verdict else None
            claims.append(Obligation(part, claim, verdict, time.monotonic() - began, again))
        never = proof.vacuity() if every else []
        not_vacuous = bool(never) and all(
            theorem(*each, effort=effort, attempts=attempts).outcome == "refuted" for each in never
        )
    except (Stopped, z3.Z3Exception):
        stopped = _why_stopped()
    claims += [
        Obligation(part, claim, Verdict(claim.name, "unknown", tuple(claim.given), reason=stopped or ""), 0.0)
        for part, claim in every[len(claims) :]
    ]
    seconds = time.monotonic() - started
    return ProofReport(protocol, proof, tuple(claims), not_vacuous, compared, seconds, unsupported, stopped)


def _claims(proof: Proof) -> tuple[list[tuple[str, Claim]], tuple[Compared, ...], str | None]:
    """The claims to put to z3, each with its part of the proof; how the machine's steps were compared with the proved
    ones, or why they cannot be. There are no claims if they cannot be, or differ: they would be about another protocol.
    """
    parts, compared = dict(proof.claims()), tuple[Compared, ...]()
    try:
        if isinstance(proof, QueueProof):
            parts[STEPS] = step_claims(proof)
        elif issubclass(proof.protocol, ExtraMessages):
            compared = same_steps(proof.protocol)
    except UnsupportedStep as unsupported:
        return [], (), str(unsupported)
    about_it = parts if all(compared) else {}
    return [(part, claim) for part, some in about_it.items() for claim in some], compared, None


def _why_stopped() -> str:
    """Why the search was stopped; raises the current exception again if it was not."""
    reason = stop_reason()
    if reason is None:
        raise
    return reason


def trusted(proof: Proof) -> tuple[str, ...]:
    """The trusted base of a proof, besides its assumptions about the environment."""
    z3_itself = "z3, and Python with its integers"
    if not isinstance(proof, CausalOrder):
        return (z3_itself,)
    return (
        z3_itself,
        "a machine's arithmetic agrees on integers and on z3's terms: tests compare every operation",
        "its source is what runs: it is read to check that no step branches, counts, or reads more than its arguments",
    )


def necessary_hypotheses(
    proof: Proof, effort: int = EFFORT, progress: Callable[[str], None] | None = None
) -> dict[str, list[str]]:
    """For each claim proved by z3, the hypotheses each needed for it; z3 gets a few times the steps."""
    needed = {}
    for claims in proof.claims().values():
        for claim in claims:
            if progress is not None:
                progress(claim.name)
            steps = next(
                (few for few in (MOST, 5 * MOST, effort) if few <= effort and theorem(*claim, effort=few)), None
            )
            if steps is not None:
                # Without a needed hypothesis there is no proof to find, and z3 may search for long.
                verdicts = without_each(*claim, effort=2 * steps)
                needed[claim.name] = [
                    hypothesis if verdict.outcome == "refuted" else f"{hypothesis} (?)"
                    for hypothesis, verdict in verdicts.items()
                    if not verdict
                ]
    return needed
