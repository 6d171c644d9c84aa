"""The suite that `crownless check` runs without a protocol, with the expected verdict of each row.

That is every protocol as its text has it, and where it is known to need the channel or the use that its text asks for;
beside each check the properties that it is known to break.

A row that must fail is as much a part of it as one that must hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from crownless.impl.registry import PROTOCOLS

from .check_result import CheckResult
from .request import Check, load_program


@dataclass(frozen=True)
class SuiteRow:
    """A check, and the properties that it is known to break. If there are none, it is known to hold."""

    check: Check
    breaks: frozenset[str] = frozenset()

    def as_expected(self, result: CheckResult) -> bool | None:
        """True if it breaks what it is known to break, and nothing else; None if that is unknown."""
        if not result.violations.keys() <= self.breaks:
            return False
        if result.verdict == "unknown" or (result.ended_early and result.violations.keys() < self.breaks):
            return None
        return result.violations.keys() == self.breaks


#: What protocols break as they are bundled, over the channel that they need.
BREAKS: Mapping[str, str] = {
    "unordered": "fifo causal",
    "rendezvous": "delivers-all never-blocks",
    "rst-column": "causal",
}

#: What those protocols break over unordered channels that need FIFO channels.
BREAKS_WITHOUT_FIFO: Mapping[str, str] = {
    "isis-gc": "fifo causal delivers-once",
    "isis-gc-waits": "delivers-once",
    "kearns": "fifo causal",
    "buffer-pipelined": "fifo causal",
}


def _row(check: Check, breaks: str = "") -> SuiteRow:
    return SuiteRow(check, frozenset(breaks.split()))


def _program(protocol: str, name: str, breaks: str = "", *, crash: str | None = None) -> SuiteRow:
    return _row(Check(protocol, program=load_program(name), crash=crash), breaks)


def _self_sends(protocol: str, breaks: str = "") -> SuiteRow:
    return _row(Check(protocol, processes=2, messages=3, self_sends=True), breaks)


#: Uses that a text warns of, or for which it claims something of its own.
EXTRA_CONFIGURATIONS = (
    _row(Check("cbcast", sends="unicast"), "delivers-all"),
    _row(Check("ses", crash="P1"), "delivers-all"),
    _row(Check("isis", crash="P1")),
    _row(Check("ses-rollback", crash="P1")),
    _self_sends("rst", "deliv-equals-sent-column delivers-all"),
    _self_sends("rst-before", "causal delivers-all"),
    _self_sends("rst-sent-alone", "fifo causal"),
    _self_sends("buffer"),
    _row(Check("extra-messages", parameters={"k": 3})),
)


def own_checks(protocol: str) -> list[Check]:
    """The protocol as its text has it, at its own bound; and beside that what exercises rules that need more."""
    return [row.check for row in _own(protocol)]


def _own(protocol: str) -> list[SuiteRow]:
    beside = [row for row in _beside() if row.check.protocol == protocol]
    return [_row(Check(protocol), BREAKS.get(protocol, "")), *beside]


@cache
def _beside() -> list[SuiteRow]:
    """Larger bounds, where they take seconds, otherwise programs."""
    return [
        _program("isis-gc", "ses-program-1", "causal"),
        _program("isis-gc-waits", "ses-program-1"),
        _program("ses-rollback", "rewinding", crash="P1"),
        _row(Check("murty-garg", processes=4, messages=3)),
        _row(Check("extra-messages", processes=3, messages=6)),
        _program("extra-messages", "several-extra-messages"),
    ]


@cache
def _programs() -> list[SuiteRow]:
    """Programs that show what a text claims of them."""
    return [
        _program("rendezvous", "mf-fig1", "completes"),
        _program("buffer", "mf-fig1"),
        _program("buffer-bounded", "mf-footnote-2", "completes"),
    ]


def rows() -> list[SuiteRow]:
    """Every protocol as its text has it, those that need FIFO channels also without them, and the special uses."""
    found = []
    for name, kind in PROTOCOLS.items():
        found += _own(name)
        if kind.needs_channel == "fifo":
            found.append(_row(Check(name, channel="unordered"), BREAKS_WITHOUT_FIFO.get(name, "")))
        found += [row for row in (*EXTRA_CONFIGURATIONS, *_programs()) if row.check.protocol == name]
    return found


def checks() -> list[Check]:
    """The checks of all rows."""
    return [row.check for row in rows()]
