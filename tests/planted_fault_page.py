"""The page of what is found of planted faults, `docs/planted_faults.md`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from fault_programs import programs
from planted_fault_findings import Finding
from planted_faults import Key, candidates

from crownless.impl.registry import PROTOCOLS
from crownless.spec.notation import Script

PAGE = Path(__file__).parents[1] / "docs" / "planted_faults.md"

HEAD = """# Planted faults

Faults planted in every part of every protocol, one at a time (`tests/planted_faults.py`), and what `check` and `prove`
find of each. `python tests/planted_faults.py` writes this page; the tests recompute what it says. Each fault has a row
in `tests/planted_faults.csv`: in which search it is seen first, by which properties, and in how many actions.

The operators (`tests/fault_operators.py`) make {candidates} machines. The {faults} that change some step of a small run
(`SAMPLES` in `tests/fault_strikes.py`) are faults; the others do there, step for step, what the right machine does, and
are left out. Of the faults the default bound of `check` shows {default}, a larger bound {bound} more, a program
{program} more. The other {unseen} break no property in any search: of {rule}, `check` says that a rule is never
exercised which the right machine exercises; {unnoticed} change nothing that a property is about, and a table says why.
A property that the protocol itself does not keep, in the same search, shows nothing of a fault.

Nothing that a run denies is `proved`: what is planted from outside is refused where `prove` reads the code, so that
tables of their own report what it says of faults written into the code (`tests/unsound_proof_machines.py`,
`tests/faulty_queue_machines.py`, and all that `tests/broken_protocols.py` has).

| protocol | faults | default bound | larger | program | rule | not noticed | `prove`: refused | not proved | proved |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""

RULES_HEAD = """
## Seen by a rule that is never exercised

No property is broken at these bounds and in so many programs, but a rule that the right machine exercises is not.

| protocol | part | fault | never exercised | explored |
| --- | --- | --- | --- | --- |
"""

UNNOTICED_HEAD = """
## Not noticed

These make steps that the right machine does not make, and break no property at these bounds and in so many programs.

| protocol | part | fault | a different step in | explored | why |
| --- | --- | --- | --- | --- | --- |
"""

PARTS_HEAD = """
## By part

| part | faults | seen at the default bound | later | by a rule | not noticed |
| --- | --- | --- | --- | --- | --- |
"""

PROGRAMS_HEAD = """
## The programs

Those that are named above and not bundled (`tests/fault_programs.py`).
"""


def page(found: Iterable[Finding]) -> str:
    """The findings as a page: counts, the faults that no property shows, counts by part, programs."""
    rows = list(found)
    counts = _counts(rows)
    text = HEAD.format(
        candidates=len(candidates()),
        faults=len(rows),
        unseen=counts["rule"] + counts["unnoticed"],
        **{where: counts[where] for where in ("default", "bound", "program", "rule", "unnoticed")},
    )
    for protocol in PROTOCOLS:
        text += _line(f"`{protocol}`", *_numbers([row for row in rows if row.protocol == protocol]))
    text += RULES_HEAD
    for row in rows:
        if row.where == "rule":
            text += _line(f"`{row.protocol}`", row.part, row.fault, row.never_exercised, row.unseen_at)
    text += UNNOTICED_HEAD
    for row in rows:
        if row.where == "unnoticed":
            text += _line(f"`{row.protocol}`", row.part, row.fault, row.strikes_in, row.unseen_at, reason_for(row.key))
    text += PARTS_HEAD
    for part in dict.fromkeys(row.kind_of_part for row in rows):
        of = _counts([row for row in rows if row.kind_of_part == part])
        text += _line(part, of.total(), of["default"], of["bound"] + of["program"], of["rule"], of["unnoticed"])
    return (
        text + PROGRAMS_HEAD + "".join(f"\n`{name}`\n\n```\n{script.print()}\n```\n" for name, script in _named(rows))
    )


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"


def _counts(rows: Iterable[Finding]) -> Counter[str]:
    return Counter(row.where for row in rows)


def _numbers(rows: Sequence[Finding]) -> list[int | str]:
    counts = _counts(rows)
    numbers: list[int | str] = [len(rows)]
    numbers += [counts[where] for where in ("default", "bound", "program", "rule", "unnoticed")]
    if not any(row.proof for row in rows):
        return [*numbers, "", "", ""]
    refused = sum(row.proof == "refused" for row in rows)
    proved = sum("safe" in row.proved for row in rows)
    return [*numbers, refused, len(rows) - refused - proved, proved]


def _named(rows: Sequence[Finding]) -> Iterator[tuple[str, Script]]:
    """The programs that the page names, in order."""
    names = {row.strikes_in.partition(" with ")[0] for row in rows if row.where == "unnoticed"}
    names |= {row.never_exercised.partition(": ")[0].partition(" with ")[0] for row in rows}
    known = programs() | programs(broadcast=True) | programs("of several") | programs("by sender")
    return ((name, script) for name, script in known.items() if name in names)


# -- why a fault breaks no property ------------------------------------------------------------------------------------


class Reason(NamedTuple):
    """Why these faults of these protocols break no property."""

    protocols: tuple[str, ...]
    #: How the names of the faults begin.
    faults: tuple[str, ...]
    why: str


REASONS: tuple[Reason, ...] = (
    Reason(
        ("isis", "isis-gc", "isis-gc-waits"),
        ("send sends its packets twice",),
        "what the second packet brings is in the buffer already; it is deleted there only after an acknowledgement of "
        "the sender, which on a FIFO link comes behind both",
    ),
    Reason(
        ("cbcast", "rst-before"),
        ("send sends its packets twice",),
        "the guard asks for exactly one more than is delivered: the second packet waits in the channel for ever",
    ),
    Reason(
        ("ses-rollback",),
        ("on_packet says unsend twice", "on_packet says orphan twice"),
        "the monitors take an event that is undone twice for one that is undone once",
    ),
    Reason(
        ("isis-gc", "isis-gc-waits"),
        ("on_packet leaves requested as it was",),
        "what a request named is read at its last acknowledgement alone, and the next request overwrites it before",
    ),
)


def reasons_for(key: Key) -> list[Reason]:
    """All that say why this fault breaks no property."""
    protocol, _, fault = key
    return [reason for reason in REASONS if protocol in reason.protocols and fault.startswith(reason.faults)]


def reason_for(key: Key) -> str:
    """Why this fault breaks no property."""
    (reason,) = reasons_for(key)
    return reason.why
