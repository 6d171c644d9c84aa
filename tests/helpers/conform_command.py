"""`conform` of a command that is a node."""

from __future__ import annotations

from typing import Any

import crownless as cr


def conform(command: list[str], processes: int = 2, messages: int = 2, **options: Any) -> Any:
    return cr.conform(command, processes, messages, **options)
