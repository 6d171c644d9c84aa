"""What `check` and `prove` find of each planted fault, and the page that says so."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from planted_faults import FAULTS, Fault

from crownless.impl import registry
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.asking import Check
from crownless.model_check.checking import CheckResult, run_check
from crownless.model_check.limits import Limits
from crownless.spec.errors import BadInput

#: One line a fault: what was found of it.
FINDINGS = Path(__file__).parent / "planted_faults.csv"
PAGE = Path(__file__).parents[1] / "docs" / "planted_faults.md"

#: Bounds beyond the default one, in the order in which they are tried: processes, messages.
FURTHER = ((2, 5), (4, 3), (3, 5), (4, 4), (2, 6), (3, 6), (2, 10))

#: No more is explored at one bound.
ENOUGH = Limits(states=400_000, seconds=120)

SEEN, UNSEEN, REFUSED = "seen", "not seen", "refused"


class Finding(NamedTuple):
    """What was found of a fault."""

    protocol: str
    part: str
    fault: str
    #: At the default bound: the properties violated, each with the length of a shortest run; or why it was refused.
    default: str
    #: The smallest bound tried beyond the default one at which it is seen; empty where the default one shows it.
    seen_at: str
    #: The bounds up to which nothing was seen, if nothing was.
    unseen_up_to: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.protocol, self.part, self.fault


def check(
    machine: type[ProtocolMachine],
    n: int | None = None,
    m: int | None = None,
    *,
    engine: str,
    limits: Limits | None = ENOUGH,
) -> CheckResult:
    """One check of a machine that is in no registry."""
    name = machine.__name__
    with patch.object(registry, "PROTOCOLS", {**PROTOCOLS, name: machine}):
        return run_check(Check(name, n, m), limits, engine=engine, workers=1)


def verdicts(result: CheckResult) -> str:
    """The properties violated, each with the length of a shortest run."""
    return "; ".join(
        f"{known.property.name} {len(known.run.actions) if known.run else '?'}"
        for known in result.properties
        if known.verdict == "violated"
    )


def found(machine: type[ProtocolMachine], n: int | None = None, m: int | None = None, engine: str = "native") -> str:
    """What a check finds: violations, nothing, or why it is refused."""
    try:
        return verdicts(check(machine, n, m, engine=engine))
    except BadInput as error:
        return f"refused: {error.message}"


def finding(fault: Fault) -> Finding:
    """At the default bound, and as far beyond as it takes to see it."""
    default = found(fault.machine)
    if default:
        return Finding(*key_of(fault), default, "", "")
    tried: list[str] = []
    for n, m in FURTHER:
        result = check(fault.machine, n, m, engine="native")
        if said := verdicts(result):
            return Finding(*key_of(fault), "", f"{n} processes, {m} messages: {said}", "")
        if result.exploration.stopped is None:
            tried.append(f"({n}, {m})")
    return Finding(*key_of(fault), "", "", " ".join(tried))


def key_of(fault: Fault) -> tuple[str, str, str]:
    return fault.protocol, fault.part, fault.name


def read() -> dict[tuple[str, str, str], Finding]:
    """The findings on file."""
    with FINDINGS.open(encoding="utf-8", newline="") as file:
        rows = [Finding(*row) for row in csv.reader(file)][1:]
    return {row.key: row for row in rows}


def write_findings(rows: Iterable[Finding]) -> None:
    with FINDINGS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Finding._fields)
        for row in rows:
            writer.writerow(row)
            file.flush()


def write(faults: Sequence[Fault] = FAULTS) -> int:
    write_findings(map(finding, faults))
    return 0
