"""What discovery must not find of a protocol that breaks."""

from __future__ import annotations

from crownless.impl.protocol import ProtocolMachine
from crownless.research.discovery.discovery import discover


def nothing_follows(machine: type[ProtocolMachine]) -> bool:
    """`discover` itself fails if what it proves does not happen in a simulated run."""
    found = discover(machine, anyway=True)
    return found.overtakes and found.safe == "refuted" and found.needed == () and found.inductive > 0
