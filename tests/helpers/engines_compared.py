"""Checks of random machines, and what each engine finds of them."""

from __future__ import annotations

from random import Random
from typing import Any
from unittest.mock import patch

from native_engine_setup import reported
from random_machines import random_machine

from crownless.model_check.check import check as checking
from crownless.model_check.check.check import run_check
from crownless.model_check.search.engines import NATIVE_CHANNELS
from crownless.model_check.system.request import Check

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
