"""A run of a protocol's machine that breaks what was to be proved: it refutes the protocol, where a proof only fails.

z3's model of a step that fails is a state, to which perhaps no run leads. So the machine itself sends a few messages,
among two or three processes and in every interleaving. If none of these runs breaks anything, it may be the proof that
lacks an invariant, not the protocol that is broken.
"""

from __future__ import annotations

from typing import NamedTuple

from crownless.impl.channels import Unordered
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.workloads import Free
from crownless.model_check.check.check import run_check
from crownless.model_check.check.request import Check
from crownless.model_check.runs.runs import Run
from crownless.model_check.system.properties import properties_of
from crownless.runtime.ending import Limits

#: The machine sends up to so many messages, and a search for a run ends beyond so many states.
MOST_MESSAGES, MOST_STATES = 3, 100_000

ORDERS = ("fifo", "causal")
#: What is to be proved, up to a bound.
BREAKS = (*ORDERS, "delivers-all")


class Refutation(NamedTuple):
    """A shortest run of the fewest messages that breaks something, and the property that it breaks."""

    run: Run
    breaks: str


def refutation(protocol: type[ProtocolMachine]) -> Refutation | None:
    """A run that breaks FIFO or causal order, or does not deliver all; None if none of so few messages does."""
    for messages in range(1, MOST_MESSAGES + 1):
        for n in (2, 3):
            found = _violation(protocol(n), Free(n, messages, sends=protocol.sends))
            if found is not None:
                return found
    return None


def _violation(machine: ProtocolMachine, workload: Free) -> Refutation | None:
    properties = tuple(known for known in properties_of(machine, ORDERS, program=False) if known.name in BREAKS)
    check = Check(machine, workload=workload, channel=Unordered, orders=ORDERS, properties=properties)
    found = run_check(check, Limits(states=MOST_STATES), engine="plain")
    runs = [Refutation(each.run, name) for name, each in found.violations.items() if each.run is not None]
    return min(runs, key=lambda shown: len(shown.run), default=None)
