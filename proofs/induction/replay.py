"""Runs of a protocol's machine that violate a property to be proved: they refute the protocol; a failed proof does not.

z3's model of a failing step is a state that may be unreachable. So the machine itself sends a few messages, among two
or three processes and in every interleaving. If none of these runs violates anything, the proof may lack an invariant
rather than the protocol be wrong.
"""

from typing import NamedTuple

from crownless.impl.channels import Unordered
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.workloads import Free
from crownless.model_check.check.check import run_check
from crownless.model_check.check.request import Check
from crownless.model_check.runs.runs import Run
from crownless.model_check.system.properties import properties_of
from crownless.runtime.ending import Limits

#: Limits: the messages that the machine sends, and the states of a search.
MAX_MESSAGES, MAX_STATES = 3, 100_000

ORDERS = ("fifo", "causal")
#: The properties to be proved, up to a bound.
BREAKS = (*ORDERS, "delivers-all")


class Refutation(NamedTuple):
    """A shortest run with the fewest messages that violates a property, and that property."""

    run: Run
    breaks: str


def refutation(protocol: type[ProtocolMachine]) -> Refutation | None:
    """A run that violates FIFO or causal order, or does not deliver all; None if there is none within the limits."""
    for messages in range(1, MAX_MESSAGES + 1):
        for n in (2, 3):
            found = _violation(protocol(n), Free(n, messages, sends=protocol.sends))
            if found is not None:
                return found
    return None


def _violation(machine: ProtocolMachine, workload: Free) -> Refutation | None:
    properties = tuple(known for known in properties_of(machine, ORDERS, program=False) if known.name in BREAKS)
    check = Check(machine, workload=workload, channel=Unordered, orders=ORDERS, properties=properties)
    found = run_check(check, Limits(states=MAX_STATES), engine="plain")
    runs = [Refutation(each.run, name) for name, each in found.violations.items() if each.run is not None]
    return min(runs, key=lambda shown: len(shown.run), default=None)
