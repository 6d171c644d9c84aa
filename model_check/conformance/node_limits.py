"""Limits on what a node may take for one answer, and in one run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NodeLimits:
    """For one input: seconds, outputs, bytes of a line, and of all lines. For one run: inputs of one node."""

    seconds: float = 5.0
    outputs: int = 1000
    line: int = 1 << 20
    answer: int = 1 << 22
    inputs: int = 200
