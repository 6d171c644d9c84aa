"""The functions of `import crownless as cr` on protocols: each answers a request, whose options are its arguments.

Invalid input raises `BadInput`, whose text is one line: the problem, and a hint. Where it mentions an option of the
command line, it means the argument of that name.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crownless.model_check.check.check_request import CheckRequest
from crownless.model_check.search.counting import Count, CountRequest
from crownless.model_check.system.request import Check
from crownless.proofs.language.proof_request import EFFORT, ProofRequest
from crownless.runtime.requests import Limited

from .arguments import answers

if TYPE_CHECKING:
    from crownless.model_check.check.check_result import CheckResult
    from crownless.model_check.search.reachable import Reached
    from crownless.model_check.search.realizing import Realization
    from crownless.proofs.proving import ProofReport


@dataclass(frozen=True)
class RealizeRequest(Limited, Check):
    """The arguments of `realize`."""


@answers(CheckRequest)
def check(request: CheckRequest) -> CheckResult:
    """Whether a protocol keeps its order, delivers everything and never blocks, over every interleaving.

    >>> check("unordered", 2, 2, orders=["fifo"]).violations["fifo"].run.switches
    1

    The result is true if all holds; `.violations` has, by the name of the property, a shortest `.run` that can be
    printed; `.scope` describes the scope of the verdict. Without limits the search ends when every state is explored.
    In the free workload any process may send to any other while fewer than `messages` messages were sent. At the limit
    of memory a search by the native engine goes on with its levels on disk, if that helps.

    The logger `crownless` gets a warning for each violation found while a long search goes on, and for a declared
    symmetry that is found false.

    Raises `BadInput` if the request cannot be checked.
    """
    from crownless.model_check.check.check import run_check
    from crownless.model_check.search.engines import COMPILES, compiling

    log = logger()
    result = run_check(
        request,
        report=log.warning,
        on_violation=log.warning,
        around_native=lambda: compiling(lambda: log.info(COMPILES)),
        **request.arguments,
    )
    if result.engine.asymmetry is not None:
        log.warning("%s: declared symmetric, but %s", result.protocol, result.engine.asymmetry)
    return result


@answers(Check)
def states(request: Check) -> Iterator[Reached]:
    """Every reachable state, the nearest first: its `locals`, the packets `in_flight`, its `depth` in actions, and the
    possible `moves`.
    """
    from crownless.model_check.search.reachable import reachable

    return reachable(request.resolve().system())


@answers(RealizeRequest)
def realize(request: RealizeRequest) -> Realization:
    """The complete computations that a protocol can generate, and the order they equal (`.equals`), or computations
    `missing` from an order, or `extra`. It is about the free workload without crashes.
    """
    from crownless.model_check.search import realizing

    return realizing.realize(request, limits=request.limits)


@answers(CountRequest)
def count(request: CountRequest) -> Count:
    """The number of complete computations in each order (`.counts`): processes are distinguished, messages only by
    their events.
    """
    from crownless.model_check.search import counting

    return counting.count(request)


@answers(ProofRequest)
def prove(request: ProofRequest) -> ProofReport:
    """Proofs by z3 about a protocol, for any number of processes and messages.

    A class derived from a protocol with a proof is checked against that proof; it is not proved if its steps are not
    those of which the proof speaks. Raises `BadInput` if there is no such proof.
    """
    from crownless.proofs.proving import proof_of, prove

    asked = Check(request.protocol)
    return prove(asked.name, proof_of(asked.kind), request.effort or EFFORT)


def logger() -> logging.Logger:
    """The logger for reports while a function of the package is running."""
    return logging.getLogger("crownless")
