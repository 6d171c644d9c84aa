"""Nodes and protocols that forward, for tests of timers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from crownless.impl.own_protocols import load
from crownless.testing import stateful

EXAMPLES = Path(__file__).parents[2] / "examples"
AlternatingBit = load(str(EXAMPLES / "alternating_bit.py"))


def says(run: str) -> list[str]:
    """The actions of a run as it is printed, without their numbers."""
    lines = [re.fullmatch(r" *\d+\. (.*)|(and then .*)", line) for line in run.splitlines()]
    return [found[1] or found[2] for found in lines if found]


class Forwards:
    """A node that delivers what arrives."""

    promises: str | tuple[str, ...] = ("delivers-once",)

    def __init__(self, process: int, processes: int, transmit: Any, deliver: Any) -> None:
        self.transmit, self.deliver = transmit, deliver

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, message)

    def on_packet(self, source: int, packet: str) -> None:
        self.deliver(packet)


def failure(subject: Any, **given: Any) -> str:
    with pytest.raises(AssertionError) as error:
        stateful(subject, messages=2, processes=(2, 2), walks=100, **given).TestCase("runTest").runTest()
    return str(error.value)
