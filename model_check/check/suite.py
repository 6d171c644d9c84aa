"""The suite that `crownless check` runs without a protocol, with the expected verdict of each row.

The suite has every protocol as its paper describes it, and some outside the channel or use that the paper requires;
each row lists the properties that the check is known to violate.

Rows that must fail are as much a part of it as rows that must hold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crownless.impl.registry import PROTOCOLS
from crownless.model_check.system.request import Check

from .check_result import CheckResult


@dataclass(frozen=True)
class SuiteRow:
    """A check, and the properties that it is known to violate. If there are none, it is known to hold."""

    check: Check
    breaks: frozenset[str] = frozenset()

    def as_expected(self, result: CheckResult) -> bool | None:
        """True if it violates exactly the properties that it is known to violate; None if that is unknown."""
        if not result.violations.keys() <= self.breaks:
            return False
        if result.verdict == "unknown" or (result.ended_early and result.violations.keys() < self.breaks):
            return None
        return result.violations.keys() == self.breaks


def as_expected(rows: Sequence[SuiteRow], results: Sequence[CheckResult]) -> bool | None:
    """True if the results of the first rows are as expected, False if one is not, None if that is unknown."""
    each = [row.as_expected(result) for row, result in zip(rows, results, strict=False)]
    return False if False in each else None if None in each else True


#: The properties that protocols violate as bundled, over the channel that they need.
BREAKS: Mapping[str, str] = {
    "unordered": "fifo causal",
    "rendezvous": "delivers-all never-blocks",
    "rst-column": "causal",
}

#: The properties that protocols for FIFO channels violate over unordered channels.
BREAKS_WITHOUT_FIFO: Mapping[str, str] = {
    "isis-gc": "fifo causal delivers-once",
    "isis-gc-waits": "delivers-once",
    "kearns": "fifo causal",
    "buffer-pipelined": "fifo causal",
}


def _row(check: Check, breaks: str = "") -> SuiteRow:
    return SuiteRow(check, frozenset(breaks.split()))


def _program(protocol: str, name: str, breaks: str = "", *, crash: str | None = None) -> SuiteRow:
    return _row(Check(protocol, program=name, crash=crash), breaks)


def _self_sends(protocol: str, breaks: str = "") -> SuiteRow:
    return _row(Check(protocol, processes=2, messages=3, self_sends=True), breaks)


#: Checks that exercise rules of a protocol which its own bound does not reach: larger bounds if these take only
#: seconds, otherwise programs.
BESIDE = (
    _program("isis-gc", "ses-program-1", "causal"),
    _program("isis-gc-waits", "ses-program-1"),
    _program("ses-rollback", "rewinding", crash="P1"),
    _row(Check("murty-garg", processes=4, messages=3)),
    _row(Check("extra-messages", processes=3, messages=6)),
    _program("extra-messages", "several-extra-messages"),
)

#: Uses that a paper warns of, or makes separate claims about; then programs that show what a paper claims.
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
    _program("rendezvous", "mf-fig1", "completes"),
    _program("buffer", "mf-fig1"),
    _program("buffer-bounded", "mf-footnote-2", "completes"),
)


def own_checks(protocol: str) -> list[Check]:
    """The protocol as its paper describes it, at its own bound; and checks that exercise rules which need more."""
    return [Check(protocol), *(row.check for row in BESIDE if row.check.protocol == protocol)]


def rows() -> list[SuiteRow]:
    """Every protocol as its paper describes it, protocols for FIFO channels also without them, and special uses."""
    found = []
    for name, kind in PROTOCOLS.items():
        found.append(_row(Check(name), BREAKS.get(name, "")))
        found += [row for row in BESIDE if row.check.protocol == name]
        if kind.needs_channel == "fifo":
            found.append(_row(Check(name, channel="unordered"), BREAKS_WITHOUT_FIFO.get(name, "")))
        found += [row for row in EXTRA_CONFIGURATIONS if row.check.protocol == name]
    return found
