"""`crownless claims`: every claim of the five papers, with its verdict, scope and evidence, recomputed."""

import click

from crownless.command_line.endings import EXIT_HOLDS, EXIT_UNKNOWN, EXIT_VIOLATED, say
from crownless.command_line.file_options import OutputFile
from crownless.command_line.options import Command, with_output
from crownless.command_line.output import print_drawing, print_json, print_line, print_run, speaks_unicode, status
from crownless.command_line.pictures import write_file
from crownless.command_line.request_options import with_limits
from crownless.command_line.tables import Rows
from crownless.drawing.text import draw
from crownless.model_check.runs.runs import Run
from crownless.research.claims.ledger import Finding, entries_named, recompute, summary
from crownless.research.theorems.evidence import Shown
from crownless.runtime.ending import Limits, Stopped, stoppable
from crownless.spec.bibliography import PAPERS

from .claims_page import claims_in_html

_PAPERS = "".join(f"  {prefix:4} {text}\n" for prefix, text in PAPERS.items())


@click.command(
    cls=Command,
    everyday="quick drawn html max_seconds as_json",
    epilog=f"\b\nThe papers (crownless list sources):\n{_PAPERS}",
)
@click.argument("claims", nargs=-1, metavar="[ID | WORDS]...")
@click.option("--quick", is_flag=True, help="Smaller bounds: all claims in a minute or two.")
@click.option("--draw", "drawn", is_flag=True, help="Print claims in full, with drawings, even if there are several.")
@click.option("--html", type=OutputFile(), help="Also write everything, with drawings, to FILE as one HTML page.")
@with_limits
@with_output
def claims(
    claims: tuple[str, ...], quick: bool, drawn: bool, html: str | None, limits: Limits, as_json: bool, quiet: bool
) -> int:
    """Recompute the verdict of every claim in the five papers, or of those named, in one paper, or containing WORDS.

    \b
    Examples:
      crownless list claims               all claims with their sentences, at once
      crownless list claims "§4.1"        those of a section, or with the quoted words
      crownless claims --quick            all claims recomputed, at smaller bounds
      crownless claims MG14               one claim, with its counterexample

    Exit codes: 0 every verdict is as recorded, and each bundled counterexample is found again; 1 one is not; 3 a limit
    was reached or it was interrupted. What the verdicts mean: docs/command_line.md.
    """
    entries = entries_named(claims)
    findings = []
    with status(quiet or as_json) as line, stoppable(limits) as part:
        for finding in recompute(
            entries, quick=quick, progress=lambda entry: line.update(f"{entry.id}: {entry.statement}")
        ):
            findings.append(finding)
    if part.reason is not None and not findings:
        raise Stopped(part.reason)
    if as_json:
        print_json({"claims": [finding.json() for finding in findings]})
    else:
        _print(findings, drawn and not quiet)
    if html is not None:
        write_file("--html", html, claims_in_html(findings))
    if part.reason is not None:
        left_out = [entry.id for entry in entries[len(findings) :]]
        say(f"{part.reason}; not checked: {', '.join(left_out)}")
    if not all(finding.as_recorded for finding in findings):
        return EXIT_VIOLATED
    return EXIT_HOLDS if part.reason is None else EXIT_UNKNOWN


def _print(findings: list[Finding], drawn: bool) -> None:
    if len(findings) == 1 or drawn:
        for finding in findings:
            _print_one(finding)
    else:
        rows = Rows("claim", "source", "verdict", "scope", right=("seconds",))
        for finding in findings:
            verdict = finding.verdict
            recorded = finding.entry.recorded
            shown = verdict if verdict == recorded else f"{verdict}, recorded: {recorded}"
            rows.add_row(
                finding.entry.id, finding.entry.source, shown, finding.evidence.scope, f"{finding.seconds:.1f}"
            )
        rows.print()
        print_line(
            "statements: crownless list claims; one in full: crownless claims ID; papers: crownless list sources"
        )
    print_line(summary(findings))
    for finding in findings:
        recorded, found = finding.entry.recorded, finding.verdict
        if recorded != found:
            print_line(f"{finding.entry.id}: the ledger has {recorded}, the evidence says {found}")
        for name in finding.unlike_bundled:
            print_line(f"{finding.entry.id}: {name}, as it is bundled, differs from what was found")


def _print_one(finding: Finding) -> None:
    print_line(f"{finding.entry.id}: {finding.entry.statement}")
    for name, text in finding.facts:
        print_line(f"  {name}: {text}")
    for shown in finding.evidence.shown:
        _show(shown)
    print_line()


def _show(shown: Shown) -> None:
    print_line(f"  {shown.title}:")
    if shown.bundled is not None:
        print_line(f"  drawn by: crownless show {shown.bundled}")
    if isinstance(shown.what, Run):
        print_run(shown.what)
    else:
        print_drawing(draw(shown.what, unicode=speaks_unicode()))
