"""What `check` and `prove` find of each planted fault, and the page that says so."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from planted_faults import FAULTS, Fault

from crownless.impl import registry
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.asking import Check
from crownless.model_check.checking import CheckResult, run_check
from crownless.model_check.limits import Limits
from crownless.proofs.proving import PROOFS, prove
from crownless.spec.errors import BadInput

#: One line a fault: what was found of it.
FINDINGS = Path(__file__).parent / "planted_faults.csv"
PAGE = Path(__file__).parents[1] / "docs" / "planted_faults.md"

#: Bounds beyond the default one, in the order in which they are tried: processes, messages.
FURTHER = ((2, 5), (3, 5), (4, 3), (2, 6))

#: No more is explored at one bound; the same on every machine.
ENOUGH = Limits(states=150_000)

#: Steps that z3 may take for a claim; it shows those of the protocols that are right in fewer.
EFFORT = 200_000

#: What a violation denies of a proof.
DENIES = {
    "fifo": "safe",
    "causal": "safe",
    "synchronous": "safe",
    "delivers-all": "live",
    "never-blocks": "live",
}


class Finding(NamedTuple):
    """What was found of a fault."""

    protocol: str
    part: str
    fault: str
    #: At the default bound: the properties violated, each with the length of a shortest run; or why it is refused.
    default: str
    #: The first of the bounds tried beyond the default one at which it is seen; empty where the default one shows it.
    seen_at: str
    #: Where nothing was seen: the bounds beyond the default one that were explored whole.
    unseen_at: str
    #: What `prove` says: an outcome for each thing that is shown, or `refused`; empty where the protocol has no proof.
    proof: str

    @property
    def key(self) -> tuple[str, str, str]:
        return self.protocol, self.part, self.fault

    @property
    def seen(self) -> bool:
        """True if the default bound shows it."""
        return bool(self.default)

    @property
    def violated(self) -> frozenset[str]:
        """The properties violated at some bound."""
        found = self.default or self.seen_at.partition(": ")[2]
        if found.startswith("refused"):
            return frozenset()
        return frozenset(part.split()[0] for part in found.split("; ") if part)

    @property
    def proved(self) -> frozenset[str]:
        """What `prove` says is proved of the machine."""
        said = [part.partition(" ") for part in self.proof.split("; ")]
        return frozenset(shown for shown, _, outcome in said if outcome == "proved")

    @property
    def proved_although_violated(self) -> frozenset[str]:
        """What `prove` says is proved of the machine, and a run denies."""
        return self.proved & {DENIES.get(name, "") for name in self.violated}


def key_of(fault: Fault) -> tuple[str, str, str]:
    return fault.protocol, fault.part, fault.name


# -- check -------------------------------------------------------------------------------------------------------------


def check(
    machine: type[ProtocolMachine], bound: tuple[int, int] | None, engine: str, limits: Limits = ENOUGH
) -> CheckResult:
    """One check of a machine that is in no registry; `bound`: processes and messages, or the default one."""
    name = machine.__name__
    n, m = bound or (None, None)
    with patch.object(registry, "PROTOCOLS", {**PROTOCOLS, name: machine}):
        return run_check(Check(name, n, m), limits, engine=engine, workers=1)


def violations(result: CheckResult) -> str:
    """The properties violated, each with the length of a shortest run."""
    return "; ".join(
        f"{known.property.name} {len(known.run.actions) if known.run else '?'}"
        for known in result.properties
        if known.verdict == "violated"
    )


def exploration_of(
    machine: type[ProtocolMachine], bound: tuple[int, int] | None, engine: str, states: int = 400_000
) -> dict[str, Any]:
    """What an engine finds at a bound, in what all engines must agree on."""
    try:
        result = check(machine, bound, engine, Limits(states=states))
    except BadInput:
        return {"refused": True}  # at which process it is met first depends on the engine
    found = result.exploration
    verdicts = {known.property.name: known.verdict for known in result.properties}
    if found.stopped:  # engines stop at different states
        return {"stopped": True}
    return {
        "counts": (found.states, found.transitions, found.depth, found.terminal_states),
        "verdicts": verdicts,
        "lengths": violations(result),
    }


def small_bound(fault: Fault) -> tuple[int, int]:
    """A bound that both engines explore in a moment, with the channel and messages of the protocol."""
    return (2, 2) if fault.protocol.startswith("isis-gc") else (3, 2)


# -- findings ----------------------------------------------------------------------------------------------------------


def finding(fault: Fault) -> Finding:
    """At the default bound, and as far beyond as it takes to see it."""
    return Finding(*key_of(fault), *_found_by_check(fault.machine), _found_by_proof(fault))


def _found_by_check(machine: type[ProtocolMachine]) -> tuple[str, str, str]:
    try:
        result = check(machine, None, "native")
    except BadInput as error:
        return f"refused: {error.message}", "", ""
    if said := violations(result):
        return said, "", ""
    whole: list[str] = []
    for n, m in FURTHER:
        result = check(machine, (n, m), "native")
        if said := violations(result):
            return "", f"({n}, {m}): {said}", ""
        whole += [f"({n}, {m})"] * (result.exploration.stopped is None)
    return "", "", " ".join(whole) or f"the first {ENOUGH.states:,} states of each"


def _found_by_proof(fault: Fault) -> str:
    if fault.protocol not in PROOFS:
        return ""
    proof = replace(PROOFS[fault.protocol], protocol=fault.machine)
    try:
        proved = prove(fault.machine.__name__, proof, EFFORT, attempts=1)
    except BadInput:
        return "refused"
    return "; ".join(f"{shown} {proved.outcome(shown)}" for shown in proof.shown)


@cache
def read() -> dict[tuple[str, str, str], Finding]:
    """The findings on file."""
    with FINDINGS.open(encoding="utf-8", newline="") as file:
        rows = [Finding(*row) for row in csv.reader(file)][1:]
    return {row.key: row for row in rows}


# -- the page ----------------------------------------------------------------------------------------------------------


HEAD = """# Planted faults

Faults planted in every part of every protocol, one at a time (`tests/planted_faults.py`), and what `check` and `prove`
find of each. `python tests/planted_faults.py` writes this page; the tests recompute what it says.

Of {faults} faults the default bound of `check` shows {seen}, a larger bound {later} more. Of the other {unseen} no
property notices anything at the bounds tried, which are listed; some change nothing that anybody could notice. Nothing
that a run denies is `proved`: what is planted from outside is refused where `prove` reads the code, so that tables of
their own tell what it says of faults written into the code (`tests/unsound_proof_machines.py`,
`tests/faulty_queue_machines.py`, and all that `tests/broken_protocols.py` has).

| protocol | faults | seen at the default bound | at a larger one | not seen | `prove`: refused | not proved | proved |
| --- | --- | --- | --- | --- | --- | --- | --- |
"""

UNSEEN_HEAD = """
## Not seen at the default bound

| protocol | part | fault | seen at | not seen at | `prove` |
| --- | --- | --- | --- | --- | --- |
"""

PARTS_HEAD = """
## By part

| part | faults | seen at the default bound |
| --- | --- | --- |
"""


def page(found: Iterable[Finding]) -> str:
    """The findings as a page: counts, the faults that the default bound does not show, counts by part."""
    rows = list(found)
    later = sum(bool(row.seen_at) for row in rows)
    seen = sum(row.seen for row in rows)
    text = HEAD.format(faults=len(rows), seen=seen, later=later, unseen=len(rows) - seen - later)
    for protocol in PROTOCOLS:
        text += _line(f"`{protocol}`", *_counts([row for row in rows if row.protocol == protocol]))
    text += UNSEEN_HEAD
    for row in rows:
        if not row.seen:
            text += _line(f"`{row.protocol}`", row.part, row.fault, row.seen_at, row.unseen_at, row.proof)
    text += PARTS_HEAD
    for part, count in Counter(row.part.partition(":")[0] for row in rows).items():
        text += _line(part, count, sum(row.seen for row in rows if row.part.partition(":")[0] == part))
    return text


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"


def _counts(rows: Sequence[Finding]) -> list[int | str]:
    later = sum(bool(row.seen_at) for row in rows)
    seen = sum(row.seen for row in rows)
    counts: list[int | str] = [len(rows), seen, later, len(rows) - seen - later]
    if not any(row.proof for row in rows):
        return [*counts, "", "", ""]
    refused = sum(row.proof == "refused" for row in rows)
    proved = sum("safe" in row.proved for row in rows)
    return [*counts, refused, len(rows) - refused - proved, proved]


def write(faults: Sequence[Fault] = FAULTS) -> int:
    """Finds it all out, on every processor, and writes the page; what is on file of an earlier call is kept."""
    done = read() if FINDINGS.exists() else {}
    missing = [number for number, fault in enumerate(faults) if key_of(fault) not in done]
    with ProcessPoolExecutor() as pool, FINDINGS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Finding._fields)
        found = pool.map(_numbered, missing)
        for number, fault in enumerate(faults):
            writer.writerow(done.get(key_of(fault)) or next(found))
            file.flush()
            print(f"{number + 1} of {len(faults)}: {fault.machine.__name__}", file=sys.stderr)
    read.cache_clear()
    PAGE.write_text(page(read().values()), encoding="utf-8")
    return 0


def _numbered(number: int) -> Finding:
    return finding(FAULTS[number])
