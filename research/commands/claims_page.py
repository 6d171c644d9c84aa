"""The ledger as an HTML page: every claim with its verdict, its scope, and drawings of its evidence."""

from collections.abc import Iterator, Sequence
from html import escape

from crownless.drawing.diagram import Diagram
from crownless.drawing.emphasis import diagram_of
from crownless.drawing.excerpt import excerpt
from crownless.drawing.page import document
from crownless.drawing.svg import in_svg
from crownless.model_check.runs.runs import Run
from crownless.research.claims.ledger import Finding, summary
from crownless.research.theorems.evidence import Shown
from crownless.runtime.printable import printable

TITLE = "The claims of the five papers"
STYLE = """
body { max-width: 70rem }
table { width: 100% }
th, td { border-bottom: 1px solid var(--edge); padding: .25rem .6rem .25rem 0; text-align: left; vertical-align: top }
section { border-top: 1px solid var(--edge); margin-top: 1.5rem }
dt { font-weight: 600; margin-top: .4rem }
dd { margin-left: 1.2rem }
figure { margin: 1rem 0; overflow: auto }
"""


def claims_in_html(findings: Sequence[Finding]) -> str:
    """The page: a table of all recomputed claims, then a section for each."""
    rows = [
        f'<tr><td><a href="#{_text(finding.entry.id)}">{_text(finding.entry.id)}</a></td>'
        f"<td>{_text(finding.entry.source)}</td><td>{_text(finding.verdict)}</td>"
        f"<td>{_text(finding.entry.statement)}</td></tr>"
        for finding in findings
    ]
    body = [
        f"<h1>{TITLE}</h1>",
        f"<p>{_text(summary(findings))}</p>",
        "<table><thead><tr><th>claim</th><th>source</th><th>verdict</th><th>statement</th></tr></thead><tbody>",
        *rows,
        "</tbody></table>",
        *(part for finding in findings for part in _section(finding)),
    ]
    return document(TITLE, [STYLE], body, [])


def _section(finding: Finding) -> Iterator[str]:
    entry, evidence = finding.entry, finding.evidence
    heading = f"{entry.id}: {entry.statement}"
    yield f'<section id="{_text(entry.id)}"><h2>{_text(heading)}</h2><dl>'
    facts = finding.facts
    if finding.verdict != entry.recorded:
        facts.append(("recorded", entry.recorded))
    yield from (f"<dt>{_text(name)}</dt><dd>{_text(said)}</dd>" for name, said in facts)
    yield "</dl>"
    yield from (f"<figure>{in_svg(excerpt(_diagram(shown)))}</figure>" for shown in evidence.shown)
    yield "</section>"


def _diagram(shown: Shown) -> Diagram:
    if isinstance(shown.what, Run):
        return shown.what.diagram(shown.title)
    return diagram_of(shown.what, shown.title, "weakest")


def _text(text: str) -> str:
    return escape(printable(text))
