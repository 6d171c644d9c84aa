"""Runs of a protocol's machine that violate a property to be proved: they refute the protocol; a failed proof does not.

z3's model of a failing step is a state that may be unreachable; and a machine that cannot be compared with what is
proved may be right or wrong. So the machine itself sends a few messages, among two or three processes and in every
interleaving. If none of these runs violates anything, the proof may not fit rather than the protocol be wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.workloads import Free
from crownless.model_check.check.check import run_check
from crownless.model_check.runs.runs import Run
from crownless.model_check.system.properties import properties_of
from crownless.model_check.system.request import Check, NotApplicable
from crownless.runtime.ending import Limits
from crownless.spec.result import Result

from .proved_properties import LIVE, SAFE

#: Limits: the numbers of processes, the messages that the machine sends, and the states of a search.
PROCESSES, MAX_MESSAGES, MAX_STATES = (2, 3), 3, 100_000

#: The channels on which proofs speak: each packet arrives, once.
ASSUMED_BY_PROOFS = ("unordered", "fifo")

#: The orders to check, by the order of which *safe* speaks.
ORDERS: Mapping[str, tuple[str, ...]] = {"causal": ("fifo", "causal"), "synchronous": ("synchronous",)}
#: The property to be proved that a violation of each of these, up to a bound, refutes.
REFUTES = {"fifo": SAFE, "causal": SAFE, "synchronous": SAFE, "delivers-all": LIVE}


class Refutation(NamedTuple):
    """A shortest run with the fewest messages that violates a property, and that property."""

    run: Run
    breaks: str


@dataclass(frozen=True)
class Search(Result):
    """A search for a refuting run."""

    json_keys = "channel processes messages scope violates=refutation.breaks run=refutation.run incomplete"
    processes = PROCESSES
    messages = MAX_MESSAGES

    channel: str
    scope: str  #: the runs that were looked for
    refutation: Refutation | None = None
    #: Why not every run within the limits was explored, if so.
    incomplete: str | None = None

    @property
    def brief(self) -> str:
        """What was found, and where it was looked for."""
        found = "nothing refuted" if self.refutation is None else f"violates {self.refutation.breaks}"
        return f"{found}; {self.scope}"


def search(protocol: type[ProtocolMachine], order: str, channel: str | None = None) -> Search:
    """Looks for a run that violates this order, `causal` or `synchronous`, or does not deliver all; over the channel
    that the protocol needs, unless another is given.
    """
    channel = channel or protocol.needs_channel
    channel = channel if channel in ASSUMED_BY_PROOFS else ASSUMED_BY_PROOFS[0]
    largest = Free(max(PROCESSES), MAX_MESSAGES, sends=protocol.sends)
    found = Search(channel, f"{largest.scope}; {channel} channel")
    try:
        for messages in range(1, MAX_MESSAGES + 1):
            for n in PROCESSES:
                found = _searched(Check(protocol, n, messages, channel=found.channel, orders=ORDERS[order]), found)
                if found.refutation is not None:
                    return found
    except NotApplicable as error:
        return replace(found, incomplete=error.message)
    return found


def _searched(check: Check, before: Search) -> Search:
    decided = properties_of(check.resolve().machine, check.orders, program=False)
    chosen = replace(check, properties=tuple(known for known in decided if known.name in REFUTES))
    result = run_check(chosen, Limits(states=MAX_STATES), engine="plain")
    runs = [Refutation(each.run, name) for name, each in result.violations.items() if each.run is not None]
    shortest = min(runs, key=lambda refutation: len(refutation.run), default=None)
    return replace(before, refutation=shortest, incomplete=before.incomplete or result.exploration.stopped)
