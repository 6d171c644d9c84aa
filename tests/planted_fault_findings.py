"""What `check` and `prove` find of each planted fault."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any, Literal, NamedTuple

from fault_searches import check_of, of_the_right_machine, searches_of
from fault_strikes import strikes_in
from planted_faults import FINDINGS, Fault, Key, candidates, key_of

from crownless.impl.protocol import ProtocolMachine
from crownless.model_check.check_result import CheckResult
from crownless.model_check.request import Check
from crownless.proofs.proving import PROOFS, prove
from crownless.runtime.ending import Limits
from crownless.spec.errors import BadInput

#: Steps that z3 may take for a claim; it shows those of the protocols that are right in fewer.
EFFORT = 200_000

#: What a violation denies of a proof.
DENIES = {
    "fifo": "safe",
    "causal": "safe",
    "synchronous": "safe",
    "delivers-all": "live",
    "never-blocks": "live",
    "completes": "live",
}


#: What shows a fault: the default bound, a larger one, a program, a rule that is never exercised, or nothing.
Where = Literal["default", "bound", "program", "rule", "unnoticed"]


class Finding(NamedTuple):
    """What was found of a fault. What the protocol itself breaks in the same search is no sign of the fault."""

    protocol: str
    part: str
    fault: str
    #: A small run in which it makes a step that the right machine does not make.
    strikes_in: str
    #: At the default bound: the properties violated, each with the length of a shortest run; or why it is refused.
    default: str
    #: The first of the searches beyond the default bound in which it is seen; empty where the default one shows it.
    seen_at: str
    #: Where no property shows it: the first search in which a rule is never exercised that otherwise is.
    never_exercised: str
    #: Where no property shows it: the searches that were explored whole.
    unseen_at: str
    #: What `prove` says: an outcome for each thing that is shown, or `refused`; empty where the protocol has no proof.
    proof: str

    @property
    def key(self) -> Key:
        return self.protocol, self.part, self.fault

    @property
    def where(self) -> Where:
        """What shows it first."""
        if self.default:
            return "default"
        if self.seen_at:
            return "bound" if self.seen_at.startswith("(") else "program"
        return "rule" if self.never_exercised else "unnoticed"

    @property
    def kind_of_part(self) -> str:
        """The part, without the name of a component."""
        return self.part.partition(":")[0]

    @property
    def violated(self) -> frozenset[str]:
        """The properties violated in some search."""
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


# -- both engines ------------------------------------------------------------------------------------------------------


def exploration_of(
    machine: type[ProtocolMachine], bound: tuple[int, int] | None, engine: str, states: int = 400_000
) -> dict[str, Any]:
    """What an engine finds at a bound, in what all engines must agree on."""
    n, m = bound or (None, None)
    try:
        result = check_of(machine, Check("", n, m), engine, Limits(states=states))
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


def violations(result: CheckResult, right: CheckResult | None = None) -> str:
    """The properties violated that the right machine keeps, each with the length of a shortest run."""
    return "; ".join(
        f"{known.property.name} {len(known.run.actions) if known.run else '?'}"
        for known in result.properties
        if known.verdict == "violated"
        and (right is None or _keeps(right, known.property.name, len(known.run.actions) if known.run else None))
    )


def _keeps(right: CheckResult, name: str, length: int | None) -> bool:
    """True if all runs of the right machine up to that length are explored, and none breaks the property."""
    verdicts = {known.property.name: known.verdict for known in right.properties}
    explored = right.exploration.stopped is None or (length is not None and length < right.exploration.depth)
    return explored and verdicts[name] != "violated"


def finding(fault: Fault) -> Finding:
    """At the default bound, and as far beyond as it takes to see it."""
    strikes = strikes_in(fault.protocol, fault.machine) or ""
    return Finding(*key_of(fault), strikes, *found_by_check(fault), _found_by_proof(fault))


def found_by_check(fault: Fault) -> tuple[str, str, str, str]:
    """Where it is seen: at the default bound, in which search beyond, by which rule; where it is not."""
    default = of_the_right_machine(fault.protocol, None)
    try:
        result = check_of(fault.machine, Check(fault.protocol))
    except BadInput as error:
        return f"refused: {error.message}", "", "", ""
    if said := violations(result, default):
        return said, "", "", ""
    never = _never_exercised("the default bound", result, default)
    bounds, programs = [], 0
    for number, search in enumerate(searches_of(fault.protocol)):
        right = of_the_right_machine(fault.protocol, number)
        result = check_of(fault.machine, search.check)
        if said := violations(result, right):
            return "", f"{search.name}: {said}", "", ""
        never = never or _never_exercised(search.name, result, right)
        if result.exploration.stopped is None:
            programs += search.is_program
            bounds += [] if search.is_program else [search.name]
    return "", "", never, ", ".join([*bounds, f"{programs} programs"])


def _never_exercised(name: str, result: CheckResult, right: CheckResult) -> str:
    """The rules that the right machine exercises in a search, and this one does not; nothing if it was cut short."""
    rules = [rule for rule in result.never_exercised if rule not in right.never_exercised]
    if not rules or result.exploration.stopped or right.exploration.stopped:
        return ""
    return f"{name}: {'; '.join(rules)}"


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
def read() -> dict[Key, Finding]:
    """The findings on file."""
    with FINDINGS.open(encoding="utf-8", newline="") as file:
        rows = [Finding(*row) for row in islice(csv.reader(file), 1, None)]
    return {row.key: row for row in rows}


def planted() -> Iterator[Fault]:
    """The candidates that change something, found out anew."""
    return (fault for fault in candidates() if strikes_in(fault.protocol, fault.machine))


def write() -> int:
    """Finds it all out, on every processor, and writes the page; what is on file of an earlier call is kept."""
    from planted_fault_page import PAGE, page

    done = read() if FINDINGS.exists() else {}
    faults = list(planted())
    missing = [key_of(fault) for fault in faults if key_of(fault) not in done]
    with ProcessPoolExecutor() as pool, FINDINGS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Finding._fields)
        found = pool.map(_by_key, missing)
        for number, fault in enumerate(faults):
            writer.writerow(done.get(key_of(fault)) or next(found))
            file.flush()
            print(f"{number + 1} of {len(faults)}: {fault.machine.__name__}", file=sys.stderr)
    read.cache_clear()
    PAGE.write_text(page(read().values()), encoding="utf-8")
    return 0


def _by_key(key: Key) -> Finding:
    return finding(next(fault for fault in candidates() if key_of(fault) == key))
