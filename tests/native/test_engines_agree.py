"""The native engine finds what the plain explorer finds of a few random machines; the thorough tests have more."""

from __future__ import annotations

import pytest
from engines_compared import asked, found


@pytest.mark.parametrize("seed", range(2_000, 2_016))
def test_the_engines_find_the_same(seed: int) -> None:
    check = asked(seed)
    _, shown = expected = found(check, "plain")
    assert found(check, "native", workers=1 + seed % 2) == expected
    if check.crash is None and check.resolve().machine.symmetric:
        assert found(check, "native", reductions=["symmetry"])[1] == shown
