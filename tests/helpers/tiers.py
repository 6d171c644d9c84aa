"""Cases that are left to `pytest -m slow`, of tests whose other cases CI runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def slow_where(is_slow: Callable[[Any], bool], cases: Iterable[Any]) -> list[Any]:
    """The cases for `parametrize`; those for which `is_slow` is true are marked slow."""
    return [slow(case) if is_slow(case) else case for case in cases]


def slow(case: Any) -> Any:
    """One case for `parametrize`, a value or a tuple of values, left to `pytest -m slow`."""
    values = case if type(case) is tuple else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)
