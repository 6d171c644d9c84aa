"""What the tests of `test_discovery.py` in several tiers share."""

from __future__ import annotations

import pytest

from crownless.impl.protocol import ProtocolMachine
from crownless.research.discovery.discovery import Discovered, discover


@pytest.fixture(scope="module")
def found() -> Discovered:
    """What is found of `rst`: once for all tests."""
    return discover("rst")


def nothing_follows(machine: type[ProtocolMachine]) -> bool:
    """`discover` itself fails if what it proves does not happen in a simulated run."""
    found = discover(machine, anyway=True)
    return found.overtakes and found.safe == "refuted" and found.needed == () and found.inductive > 0
