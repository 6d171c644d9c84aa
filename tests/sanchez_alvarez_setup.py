"""What the tests that replay [SA] share."""

from __future__ import annotations

from replay import over

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.workloads import Free
from crownless.model_check.system import System
from crownless.spec.enumeration import Sends

#: A k that no matrix of three or four processes reaches.
NEVER = 100


def everything(machine: ProtocolMachine, m: int, sends: Sends = "unicast") -> System:
    """Any process may send to any other, m messages in all."""
    return over(machine, Free(machine.n, m, sends=sends))
