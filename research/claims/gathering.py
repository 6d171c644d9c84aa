"""Evidence of each kind: proofs, checks, searches for runs, programs, and enumerations. Each knows its own scope.

A check or a proof that many claims rest on is computed once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from crownless.impl.protocol import ProtocolMachine, Setting
from crownless.impl.workloads import Program, Workload
from crownless.model_check.check.check import run_check
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.search.reachable import Reached, reachable, shortest_run_to
from crownless.model_check.search.realizing import Realization, realize
from crownless.model_check.system.properties import NEVER_BLOCKS, NOTHING_DELIVERED, properties_of
from crownless.model_check.system.request import Check, load_program
from crownless.model_check.system.system import System
from crownless.proofs.induction.proved_properties import SHOWN, in_words
from crownless.proofs.induction.queues import QueueProof
from crownless.proofs.proving import PROOFS, ProofReport, prove
from crownless.research.theorems.evidence import ANY_NUMBER, Evidence, Shown, found
from crownless.spec import library, notation
from crownless.spec.computation import Computation

T = TypeVar("T")


def figure(name: str) -> Computation:
    """A bundled computation."""
    return notation.to_computation(notation.load(library.path(name)))


# -- proofs ------------------------------------------------------------------------------------------------------------

OF_STAGES = (
    f"{ANY_NUMBER}, any reliable channel; of the stages of a message, of which each step of the machine is shown to be "
    "one"
)

#: For liveness: z3 shows that the head can proceed; that every message eventually does is an unchecked induction.
BY_FAIRNESS_IN_WORDS = "z3 shows who can go on; that therefore each does at last (fairness, and induction) is in words"


@cache
def proof_of(protocol: str) -> ProofReport:
    """The report on z3's proof of a protocol for every n."""
    return prove(protocol, PROOFS[protocol])


def proved(protocol: str | ProofReport, *shown: str, scope: str = "") -> Evidence:
    """z3 shows these properties of a protocol: by default all three."""
    report = proof_of(protocol) if isinstance(protocol, str) else protocol
    if isinstance(report.proof, QueueProof):
        reach = scope or OF_STAGES
        of = "the stages of a message; each step of the machine is one, and each is one of the machine"
    else:
        reach, of = scope or f"{ANY_NUMBER}, any channel, none to oneself", "the protocol's own code"
    if "live" in (shown or SHOWN):
        reach = f"{reach}; {BY_FAIRNESS_IN_WORDS}"
    names = ", ".join(map(in_words, shown or SHOWN))
    because = f"z3 shows of {report.protocol}: {names}; by {len(report.claims)} claims of {of}"
    return Evidence(all(report.outcome(part) == "proved" for part in shown or SHOWN), reach, because, verdict="proved")


# -- checks ------------------------------------------------------------------------------------------------------------


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
    """Every interleaving of a machine that need not be registered; the default channel is the one it needs."""
    return run_check(Check(machine, workload=workload, orders=orders, **settings), engine="plain")


def ended(
    machine: ProtocolMachine,
    workload: Workload,
    *,
    crash: str | None = None,
    orders: tuple[str, ...] = ("fifo", "causal"),
) -> CheckResult:
    """Every interleaving of a program in which receives without a message left for them need not complete."""
    decided = properties_of(machine, orders, program=False, crash=crash is not None)
    properties = tuple(known for known in decided if known.kind != "sometimes" and known != NEVER_BLOCKS)
    return explored(machine, workload, orders=orders, crash=crash, properties=properties)


def system_of(machine: ProtocolMachine, workload: Workload, **settings: Any) -> System:
    """The transition system of such a machine, with these settings of a `Check` and no order to check."""
    return Check(machine, workload=workload, orders=("asynchronous",), **settings).resolve().system()


def program(text: str, name: str = "") -> Program:
    """A program written in a claim."""
    return Program(replace(notation.parse(text), name=name) if name else notation.parse(text))


def holds(result: CheckResult, *properties: str) -> bool:
    """True if these properties hold over every interleaving of the check; by default all that were judged."""
    verdicts = {each.property.name: each.verdict for each in result.properties}
    assert set(properties) <= verdicts.keys(), f"not judged: {set(properties) - verdicts.keys()}"
    return result.exploration.stopped is None and all(
        verdicts[name] == "holds" for name in properties or judged(result)
    )


def violates_none(result: CheckResult, *properties: str) -> bool:
    """True if no run violates these properties; also where no run delivers a message, so that `holds` is false."""
    lines = [result[name] for name in properties or judged(result)]
    return result.exploration.stopped is None and all(
        line.verdict == "holds" or line.note == NOTHING_DELIVERED for line in lines
    )


def judged(result: CheckResult) -> list[str]:
    """The judged properties that must hold in every run."""
    return [each.property.name for each in result.properties if each.property.kind != "sometimes"]


def safe(result: CheckResult) -> bool:
    """True if no run violates FIFO or causal order, or delivers twice; `live` is false where none delivers."""
    return violates_none(result, "fifo", "causal", "delivers-once")


def live(result: CheckResult) -> bool:
    """True if everything is delivered and no process is blocked; for a program: if every run completes."""
    return holds(result, *(each.property.name for each in result.properties if each.property.kind == "live"))


def keep(results: CheckResult | Sequence[CheckResult], *properties: str) -> Evidence:
    """Every interleaving of the checks satisfies these properties, by default all that were judged; in one check at
    least that says something, since messages are delivered.
    """
    every = [results] if isinstance(results, CheckResult) else list(results)
    broken = [
        Shown(f"breaks {name}", run)
        for result in every
        for name in properties or judged(result)
        if (run := result[name].run) is not None
    ]
    names = dict.fromkeys(name for result in every for name in properties or judged(result))
    machines = dict.fromkeys(result.protocol for result in every)
    because = f"{', '.join(machines)}: {', '.join(names)} in {states(*every)}"
    kept = all(violates_none(result, *properties) for result in every) and any(
        holds(result, *properties) for result in every
    )
    return Evidence(kept, within(*every), because, tuple(broken[:1]))


def breaks(result: CheckResult, name: str, title: str, bundled: str | None = None) -> Evidence:
    """A shortest run of a check violates the property."""
    return found(title, result[name].run, bundled, within(result))


def ends(results: CheckResult | Sequence[CheckResult], completes: str, title: str = "") -> Evidence:
    """Runs of a program complete: always, sometimes, or never; a run that does not is shown with the title."""
    every = [results] if isinstance(results, CheckResult) else list(results)
    shown = [Shown(title, run) for result in every if title and (run := result["completes"].run) is not None]
    machines = ", ".join(result.protocol for result in every)
    because = f"{machines}: the program {completes} completes, in {states(*every)}"
    return Evidence(all(result.completes == completes for result in every), within(*every), because, tuple(shown[:1]))


def within(*results: CheckResult) -> str:
    """The scope of checks, in brief; `CheckResult.scope` gives the details of each."""
    bounds = []
    for result in results:
        if isinstance(result.workload, Program):
            bound = f"program {result.workload.name}".rstrip()
        else:
            bound = f"{len(result.workload.processes)} processes, up to {result.workload.messages} messages"
        crash = f", {result.check.crash} may crash" if result.check.crash else ""
        bounds.append(f"every interleaving of {bound}, {result.channel} channel{crash}")
    return "; ".join(dict.fromkeys(bounds))


def states(*results: CheckResult) -> str:
    """The number of states explored, as text."""
    return f"{sum(result.exploration.states for result in results):,} states"


@cache
def realized(protocol: str, n: int, m: int, *, self_sends: bool = False) -> Realization:
    """The order that a protocol realizes exactly."""
    return realize(Check(protocol, n, m, self_sends=self_sends))


def generates(protocol: str, order: str, *bounds: tuple[int, int], self_sends: bool = False) -> Evidence:
    """Up to each bound a protocol generates exactly the computations of an order."""
    answers = [realized(protocol, n, m, self_sends=self_sends) for n, m in bounds]
    count = sum(answer.computations for answer in answers)
    scope = "; ".join(f"every computation of {n} processes and up to {m} messages" for n, m in bounds)
    because = f"{protocol} generates all {count:,} computations of {order} order, and no others"
    return Evidence(all(order in answer.equal_orders for answer in answers), scope, because)


# -- every state, every computation ------------------------------------------------------------------------------------


def in_every_state(
    because: str,
    system: System,
    always: Callable[[Reached], bool],
    *,
    where: Callable[[Reached], bool] = lambda now: True,
    title: str = "a state in which it fails",
    **scope: Any,
) -> Evidence:
    """A predicate holds in every reachable state of a system to which it applies; there must be such states. `scope` as
    in `Walk`.
    """
    cases = count = 0
    fails = False
    for now in reachable(system, **scope):
        count += 1
        if where(now):
            cases += 1
            fails |= not always(now)
    run = shortest_run_to(system, lambda now: where(now) and not always(now), **scope) if fails else None
    shown = () if run is None else (Shown(title, run),)
    in_some = "" if cases == count else f"{cases:,} of "
    return Evidence(not fails and cases > 0, "", f"{because}, in {in_some}{count:,} states", shown)


def in_some_state(
    title: str,
    system: System,
    wanted: Callable[[Reached], bool],
    bundled: str | None = None,
    **scope: Any,
) -> Evidence:
    """A shortest run leads to a state that satisfies the predicate. `scope` as in `Walk`."""
    return found(title, shortest_run_to(system, wanted, **scope), bundled)


def enumerated(
    because: str,
    items: Iterable[T],
    always: Callable[[T], bool],
    *,
    where: Callable[[T], bool] = lambda item: True,
    scope: str = "",
    title: str = "a computation in which it fails",
) -> Evidence:
    """A predicate holds of all items to which it applies; there must be some. The first failure is shown."""
    cases = count = 0
    failing = None
    for item in items:
        count += 1
        if where(item):
            cases += 1
            if not always(item):
                failing = failing or item
    shown = (Shown(title, failing),) if isinstance(failing, Computation) else ()
    in_some = "all" if cases == count else f"{cases:,} of"
    return Evidence(failing is None and cases > 0, scope, f"{because} ({in_some} {count:,})", shown)
