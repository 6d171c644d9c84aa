"""The material of evidence: checks, programs and proofs, each computed once for all claims that rest on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from crownless.impl.protocol import ProtocolMachine, Setting
from crownless.impl.workloads import Program, Workload
from crownless.model_check.check import run_check
from crownless.model_check.check_result import CheckResult
from crownless.model_check.monitors import Monitor
from crownless.model_check.properties import Property
from crownless.model_check.request import Check, load_program
from crownless.model_check.runs import Run
from crownless.model_check.system import System
from crownless.proofs.proving import PROOFS, SHOWN, ProofReport, prove
from crownless.proofs.queues import QueueProof
from crownless.spec.computation import Computation
from crownless.spec.enumeration import Sends, computations
from crownless.spec.library import path
from crownless.spec.notation import load, to_computation


def searched(
    protocol: str,
    n: int,
    m: int,
    *,
    channel: str | None = None,
    orders: tuple[str, ...] = (),
    sends: Sends | None = None,
    self_sends: bool = False,
    crash: str | None = None,
    parameters: Mapping[str, Setting] | None = None,
    clocks: tuple[str, ...] = (),
) -> CheckResult:
    """The check of a protocol in the free workload; see `crownless check`."""
    settings = tuple(sorted((parameters or {}).items()))
    return _searched(protocol, n, m, channel, orders, sends, self_sends, crash, settings, clocks)


@cache
def _searched(
    protocol: str,
    n: int,
    m: int,
    channel: str | None,
    orders: tuple[str, ...],
    sends: Sends | None,
    self_sends: bool,
    crash: str | None,
    settings: tuple[tuple[str, Setting], ...],
    clocks: tuple[str, ...],
) -> CheckResult:
    check = Check(
        protocol,
        n,
        m,
        channel=channel,
        orders=orders,
        sends=sends,
        self_sends=self_sends,
        crash=crash,
        parameters=dict(settings),
        clocks=clocks,
    )
    return run_check(check)


@cache
def ran(protocol: str, program: str, channel: str | None = None, orders: tuple[str, ...] = ()) -> CheckResult:
    """The check of a protocol on a bundled program."""
    return run_check(Check(protocol, program=load_program(program), channel=channel, orders=orders))


def explored(
    machine: ProtocolMachine,
    workload: Workload,
    *,
    channel: str | None = None,
    orders: tuple[str, ...] = ("fifo", "causal"),
    crash: str | None = None,
    monitors: tuple[Monitor, ...] = (),
    properties: tuple[Property, ...] = (),
) -> CheckResult:
    """Every interleaving of a machine that need not be registered, by default over the channel it needs."""
    check = Check(
        machine,
        workload=workload,
        channel=channel,
        orders=orders,
        crash=crash,
        monitors=monitors,
        properties=properties,
    )
    return run_check(check, engine="plain")


def system_of(
    machine: ProtocolMachine,
    workload: Workload,
    *,
    channel: str | None = None,
    crash: str | None = None,
    monitors: tuple[Monitor, ...] = (),
) -> System:
    """The transition system of such a machine, with these monitors and no order to judge."""
    orders = ("asynchronous",)
    check = Check(machine, workload=workload, channel=channel, orders=orders, crash=crash, monitors=monitors)
    return check.resolve().system()


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
