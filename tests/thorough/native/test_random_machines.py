"""The native engine finds what the plain explorer finds of 2,000 random machines, and runs as short to show it."""

from __future__ import annotations

from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from native_engine_setup import reported
from random_machines import random_machine
from tiers import slow_where

from crownless.model_check.check import check as checking
from crownless.model_check.check.check import run_check
from crownless.model_check.search.engines import NATIVE_CHANNELS
from crownless.model_check.system.request import Check

MACHINES = 2_000
BATCH = 100
ORDERS = (
    ("fifo", "causal"),
    ("mailbox",),
    ("one-n",),
    ("n-n",),
    ("synchronous",),
    ("causal", "n-n"),
    ("asynchronous",),
)


def asked(seed: int) -> Check:
    """A random machine, under some bound, over some channel, with some orders; of one in three a process may crash."""
    chance = Random(f"setup {seed}")
    channel, orders = chance.choice(NATIVE_CHANNELS), chance.choice(ORDERS)
    n, m = chance.choice(((2, 2), (3, 2), (2, 2 if channel == "duplicating" else 3)))
    machine = random_machine(seed, symmetric=chance.random() < 0.5)
    return Check(machine, n, m, channel=channel, orders=orders, crash=chance.choice((None, None, "P1")))


def found(check: Check, engine: str, **settings: Any) -> tuple[dict[str, Any], dict[str, tuple[str, int]]]:
    """What the search finds; and for each property the verdict, and the length of the run that shows it."""
    with patch.object(checking, "FEW_STATES", 1):  # every run is looked for among the rows kept
        result = run_check(check, engine=engine, **settings)
    assert result.engine.asymmetry is None
    return reported(result.exploration), {
        known.property.name: (known.verdict, 0 if known.run is None else len(known.run.actions))
        for known in result.properties
    }


@pytest.mark.parametrize("first", slow_where(lambda first: first > 0, range(0, MACHINES, BATCH)))
def test_the_engines_find_the_same_of_random_machines(first: int) -> None:
    violated = set[str]()
    for seed in range(first, first + BATCH):
        check = asked(seed)
        _, shown = expected = found(check, "plain")
        assert found(check, "native", workers=1 + seed % 2) == expected, seed
        if check.crash is None and check.resolve().machine.symmetric:
            assert found(check, "native", reductions=["symmetry"])[1] == shown, seed
        violated |= {name for name, (verdict, _) in shown.items() if verdict == "violated"}
    assert violated >= {"fifo", "causal", "mailbox", "one-n", "n-n", "synchronous", "delivers-all", "never-blocks"}
