"""What the tests of `test_conform_programs.py` in several tiers share."""

from __future__ import annotations

from typing import Any

import crownless as cr


def conform(command: list[str], processes: int = 2, messages: int = 2, **options: Any) -> Any:
    return cr.conform(command, processes, messages, **options)
