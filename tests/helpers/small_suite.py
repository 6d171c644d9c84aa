"""The suite of the first screen with few protocols."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from crownless.model_check.check.suite import SuiteRow, rows


def few(*protocols: str) -> list[SuiteRow]:
    """The first row of each of these protocols."""
    return [next(row for row in rows() if row.check.protocol == name) for name in protocols]


def suite_of(*protocols: str) -> Any:
    chosen = few(*protocols)
    return patch("crownless.command_line.commands.check.suite_rows", lambda: chosen)
