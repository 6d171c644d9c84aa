"""`crownless claims`: every claim of the five texts, with its verdict, scope and evidence, recomputed."""

from __future__ import annotations

from collections import Counter

import click

from crownless.model_check.limits import Limits
from crownless.model_check.runs import Run
from crownless.proofs.interrupts import stoppable_proof
from crownless.proofs.ledger.claims import VERDICTS, Shown
from crownless.proofs.ledger.ledger import Finding, entries_named, recompute
from crownless.spec.diagram import draw

from .endings import EXIT_HOLDS, EXIT_UNKNOWN, EXIT_VIOLATED, say
from .options import with_limits
from .output import console, ended_with_nothing, print_json, print_table, some, speaks_unicode, status, table


@click.command()
@click.argument("claims", nargs=-1, metavar="[ID]...")
@click.option("--quick", is_flag=True, help="Smaller bounds: all claims in a minute or two.")
@click.option("--draw", "drawn", is_flag=True, help="Draw the runs and computations that show something.")
@with_limits
@click.option("--json", "as_json", is_flag=True, help="Print every fact as JSON.")
def claims(claims: tuple[str, ...], quick: bool, drawn: bool, limits: Limits, as_json: bool) -> int:
    """Recompute the verdict of every claim of the five texts, of the claims named, or of a text (MF SES MG KU SA).

    proved: z3 shows it for any number of messages; checked: nothing within the scope breaks it; measured: a quantity;
    refuted: a smallest counterexample is shown; repaired: refuted as printed, and the nearest true statement holds;
    open: not decided yet.

    What refutes a claim is bundled, and drawn by `crownless show`; it must be what is found.

    Exit codes: 0 every verdict is as recorded, and what is bundled is found, 1 one is not, 3 a limit was reached or it
    was interrupted: not all were looked into.
    """
    entries = entries_named(claims)
    findings = []
    with status(as_json) as line, stoppable_proof(limits) as part:
        for finding in recompute(
            entries, quick=quick, progress=lambda entry: line.update(f"{entry.id}: {entry.statement}") if line else None
        ):
            findings.append(finding)
    if part.reason is not None and not findings:
        return ended_with_nothing(part)
    if as_json:
        print_json([finding.json() for finding in findings])
    else:
        _print(findings, drawn)
    if part.reason is not None:
        left_out = [entry.id for entry in entries[len(findings) :]]
        say(f"{part.reason}; not looked into: {', '.join(left_out)}")
    if not all(finding.as_recorded for finding in findings):
        return EXIT_VIOLATED
    return EXIT_HOLDS if part.reason is None else EXIT_UNKNOWN


def _print(findings: list[Finding], drawn: bool) -> None:
    if len(findings) == 1 or drawn:
        for finding in findings:
            _print_one(finding, drawn)
    else:
        rows = table("claim", "source", "verdict", "scope", right=("seconds",))
        for finding in findings:
            verdict = finding.evidence.verdict
            recorded = finding.entry.recorded
            told = verdict if verdict == recorded else f"{verdict}, recorded: {recorded}"
            rows.add_row(finding.entry.id, finding.entry.source, told, finding.evidence.scope, f"{finding.seconds:.1f}")
        print_table(rows)
    counts = Counter(finding.evidence.verdict for finding in findings)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    print(f"{some(len(findings), 'claim')}: {told}")
    for finding in findings:
        recorded, found = finding.entry.recorded, finding.evidence.verdict
        if recorded != found:
            print(f"{finding.entry.id}: the ledger has {recorded}, the evidence says {found}")
        for name in finding.unlike_bundled:
            print(f"{finding.entry.id}: {name}, as it is bundled, is not what was found")


def _print_one(finding: Finding, drawn: bool) -> None:
    entry, evidence = finding.entry, finding.evidence
    print(f"{entry.id} {entry.source}: {entry.statement}")
    if entry.reading:
        print(f"  reading: {entry.reading}")
    print(f"  {evidence.verdict}: {evidence.because}")
    print(f"  scope: {evidence.scope}")
    for reading in evidence.readings:
        print(f"  {'read as' if reading.said else 'not said'}: {reading.text}: {reading.verdict}")
    for shown in evidence.shown:
        _show(shown)
    print()


def _show(shown: Shown) -> None:
    out, unicode = console(), speaks_unicode()
    print(f"  {shown.title}:")
    if shown.bundled is not None:
        print(f"  drawn by: crownless show {shown.bundled}")
    if isinstance(shown.what, Run):
        out.print(shown.what.draw(unicode=unicode))
        out.print(shown.what.say())
    else:
        out.print(draw(shown.what, unicode=unicode))
