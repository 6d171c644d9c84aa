"""The native engine finds what the plain explorer finds of 50 random machines, of 2,000 with `-m slow`."""

from __future__ import annotations

import pytest
from engines_compared import asked, found
from tiers import slow_where

MACHINES = 2_000
BATCH = 50


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
