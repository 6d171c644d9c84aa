"""The material of evidence: checks, programs and proofs, each computed once for all claims that rest on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from crownless.impl.protocol import ProtocolMachine, Setting
from crownless.impl.workloads import Program, Workload
from crownless.model_check.check import run_check
from crownless.model_check.check_result import CheckResult
from crownless.model_check.request import Check, load_program
from crownless.model_check.runs import Run
from crownless.model_check.system import System
from crownless.proofs.proving import PROOFS, SHOWN, ProofReport, prove
from crownless.proofs.queues import QueueProof
from crownless.proofs.terms import Term
from crownless.proofs.theorem import ATTEMPTS, EFFORT, Claim, theorem, vacuous
from crownless.spec.computation import Computation
from crownless.spec.enumeration import computations
from crownless.spec.library import path
from crownless.spec.notation import load, to_computation


def searched(
    protocol: str, n: int, m: int, *, parameters: Mapping[str, Setting] | None = None, **settings: Any
) -> CheckResult:
    """The check of a protocol in the free workload, with these settings of a `Check`."""
    return _searched(protocol, n, m, tuple(sorted((parameters or {}).items())), tuple(sorted(settings.items())))


@cache
def _searched(
    protocol: str, n: int, m: int, parameters: tuple[tuple[str, Setting], ...], settings: tuple[tuple[str, Any], ...]
) -> CheckResult:
    return run_check(Check(protocol, n, m, parameters=dict(parameters), **dict(settings)))


@cache
def ran(protocol: str, program: str, orders: tuple[str, ...] = ()) -> CheckResult:
    """The check of a protocol on a bundled program."""
    return run_check(Check(protocol, program=load_program(program), orders=orders))


def explored(
    machine: ProtocolMachine, workload: Workload, *, orders: tuple[str, ...] = ("fifo", "causal"), **settings: Any
) -> CheckResult:
    """Every interleaving of a machine that need not be registered, by default over the channel it needs."""
    return run_check(Check(machine, workload=workload, orders=orders, **settings), engine="plain")


def system_of(machine: ProtocolMachine, workload: Workload, **settings: Any) -> System:
    """The transition system of such a machine, with these settings of a `Check` and no order to judge."""
    return Check(machine, workload=workload, orders=("asynchronous",), **settings).resolve().system()


def safe(result: CheckResult) -> bool:
    """True if FIFO and causal order are kept, and nothing is delivered twice."""
    return holds(result, "fifo", "causal", "delivers-once")


def live(result: CheckResult) -> bool:
    """True if all is delivered and nobody is blocked; in a program: if every run completes."""
    return holds(result, *(each.property.name for each in result.properties if each.property.kind == "live"))


def holds(result: CheckResult, *properties: str) -> bool:
    """True if these properties hold, over every interleaving of the check; by default all that were judged."""
    verdicts = {each.property.name: each.verdict for each in result.properties}
    assert set(properties) <= verdicts.keys(), f"not judged: {set(properties) - verdicts.keys()}"
    asked = properties or [each.property.name for each in result.properties if each.property.kind != "sometimes"]
    return result.exploration.stopped is None and all(verdicts[name] == "holds" for name in asked)


def broken_by(result: CheckResult, name: str) -> Run | None:
    """A shortest run that breaks the property; None if none does."""
    return result[name].run


def up_to(n: int, m: int) -> Iterator[Computation]:
    """Every complete computation of at most so many processes and messages, up to the names of messages."""
    for processes in range(1, n + 1):
        for messages in range(m + 1):
            yield from computations(processes, messages)


def all_proved(claims: Iterable[Claim]) -> bool:
    """True if z3 proves each of them."""
    return all(theorem(*claim, attempts=ATTEMPTS) for claim in claims)


def all_refuted(claims: Iterable[Claim]) -> bool:
    """True if z3 has something against each of them."""
    return all(theorem(*claim, attempts=ATTEMPTS).outcome == "refuted" for claim in claims)


#: Steps in which z3 sees at once what is against some claims.
A_FEW_STEPS = 100_000


def any_refuted(claims: Iterable[Claim]) -> bool:
    """True if z3 has something against one of them, which it sees at once of some; if not, it is to try harder."""
    every = list(claims)
    return any(
        theorem(*claim, effort=effort, attempts=ATTEMPTS).outcome == "refuted"
        for effort in (A_FEW_STEPS, EFFORT)
        for claim in every
    )


def proved_by_its_rules(
    claims: Iterable[Claim], variants: Iterable[Iterable[Claim]], vacuity: Iterable[Claim] = ()
) -> bool:
    """True if z3 proves the claims, has something against them for each variant of the rules that they rest on, and
    against each claim that their hypotheses cannot be met.
    """
    return all(map(any_refuted, variants)) and all_refuted(vacuity) and all_proved(claims)


def not_vacuous(given: Mapping[str, Term], situation: Term | None = None) -> bool:
    """True if z3 has a model of the hypotheses, with such a state in it."""
    also = {} if situation is None else {"situation": situation}
    return vacuous("a situation", {**given, **also}).outcome == "refuted"


@cache
def proof_of(protocol: str) -> ProofReport:
    """The report of z3's proof of a protocol for every n.

    Where z3 shows it of each step of the machine, random runs of both would add nothing to a claim: `crownless prove`
    has them.
    """
    proof = PROOFS[protocol]
    return prove(protocol, replace(proof, refined_along_runs=()) if isinstance(proof, QueueProof) else proof)


def is_proved(protocol: str, *shown: str) -> bool:
    """True if z3 shows this of it: safe, optimal, live; by default all three."""
    return all(proof_of(protocol).outcome(each) == "proved" for each in shown or SHOWN)


def refinement_scope(protocol: str) -> str:
    """How far a protocol of queues is shown to do what is proved of its abstraction, in words."""
    proved = proof_of(protocol)
    summary = "; ".join(each.scope for each in proved.refinements)
    states = f"{summary}; {sum(each.states for each in proved.refinements):,} states"
    if proved.covers_machine:
        return f"of which each step of the machine is one, and each is one of the machine (z3; besides {states})"
    return f"which the machine does and nothing else ({states})"


#: Of what is live: z3 shows that the first one goes on; that each does at last is an induction that nothing checks.
BY_FAIRNESS_IN_WORDS = "z3 shows who can go on; that therefore each does at last (fairness, and induction) is in words"


def figure(name: str) -> Computation:
    """A bundled computation."""
    return to_computation(load(path(name)))


def length(run: Run | None) -> str:
    """How many actions a run takes."""
    return "none" if run is None else str(len(run.actions))


def within(*results: CheckResult) -> str:
    """How far checks reach, in few words; each says more of itself (`CheckResult.scope`)."""
    bounds = []
    for result in results:
        if isinstance(result.workload, Program):
            bound = f"program {result.workload.name}"
        else:
            bound = f"{len(result.workload.processes)} processes, up to {result.workload.messages} messages"
        bounds.append(f"{bound}, {result.channel} channel")
    return "every interleaving: " + "; ".join(dict.fromkeys(bounds))


def states(*results: CheckResult) -> str:
    """How many states that took, in words."""
    return f"{sum(result.exploration.states for result in results):,} states"
