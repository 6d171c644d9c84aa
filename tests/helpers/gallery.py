"""The gallery of the documentation: every bundled figure and counterexample as a picture that the tool drew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from crownless.drawing.between_orders import orders_in_svg
from crownless.drawing.diagram import Diagram
from crownless.drawing.emphasis import diagram_of
from crownless.drawing.svg import in_svg
from crownless.model_check.runs.saved_runs import read_checks
from crownless.oracle.log_orders import classification as oracle
from crownless.oracle.logs.reader import subjects
from crownless.research.claims import bundled
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable
from crownless.spec import library
from crownless.spec.bibliography import references

ROOT = Path(__file__).parents[2]
PAGE, FOLDER = ROOT / "docs" / "gallery.md", ROOT / "docs" / "gallery"
#: The picture at the top of the README.
OPENING = ROOT / "docs" / "pictures" / "overtaken.svg"
#: That of the orders.
BETWEEN = ROOT / "docs" / "pictures" / "orders.svg"
HEAD = """# Gallery

Every computation and counterexample that is bundled, as `crownless show NAME --svg FILE` draws it. Where FIFO or causal
order is violated, the violation stands out; elsewhere that of synchronous order, if there is one.

"""


class Picture(NamedTuple):
    """A picture, and what is written above it."""

    name: str
    title: str
    claim: str
    diagram: Diagram
    #: The strongest orders that it keeps; of a run none are named.
    keeps: tuple[str, ...] = ()

    @property
    def svg(self) -> str:
        return in_svg(self.diagram)


def opening() -> str:
    """The picture at the top of the README."""
    (subject,) = subjects("kuper-alice-bob-carol")
    return in_svg(diagram_of(subject.computation))


def pictures() -> Iterator[Picture]:
    """The figures, then the counterexamples."""
    facts = {known["name"]: known for known in bundled.facts()}
    for name in (*library.names(), *library.counterexamples(), *library.counterexamples(".json")):
        known = facts.get(name)
        title = str(known["text"]) if known else library.comment(name) or name
        claim = str(known["claim"]) if known else ""
        if name in library.counterexamples(".json"):
            (check, *_) = read_checks(library.path(name, ".json").read_bytes(), name)
            (broken, run), *_ = check.violations()
            yield Picture(name, check.title or title, claim, run.diagram(check.title or title, broken))
            continue
        try:
            (subject,) = subjects(name)
        except BadInput:
            continue  # a program
        keeps = tuple(oracle.classify(subject).strongest)
        yield Picture(name, title, claim, diagram_of(subject.computation, title, "weakest"), keeps)


def page() -> str:
    """The page, which has all of them."""
    parts = [HEAD]
    for one in pictures():
        of_claim = f", of claim {one.claim}" if one.claim else ""
        keeps = f" The strongest order that it keeps: {' and '.join(one.keeps)}." if one.keeps else ""
        says = f"{printable(one.title).rstrip('.')}.{keeps}"
        shown = f"![{one.name} as a space-time diagram](gallery/{one.name}.svg)"
        parts.append(f"## {one.name}\n\n{says}\n\n`crownless show {one.name}`{of_claim}\n\n{shown}\n\n")
    parts.append("## Sources\n\n" + "\n".join(f"- {source}" for source in references("".join(parts))))
    return "".join(parts).rstrip() + "\n"


def rewrite_gallery() -> None:
    """Draws all anew, and removes what is no longer bundled."""
    FOLDER.mkdir(exist_ok=True)
    OPENING.parent.mkdir(exist_ok=True)
    drawn = {f"{one.name}.svg": one.svg for one in pictures()}
    for name, svg in drawn.items():
        (FOLDER / name).write_text(svg, "utf-8")
    for file in FOLDER.iterdir():
        if file.name not in drawn:
            file.unlink()
    PAGE.write_text(page(), "utf-8")
    OPENING.write_text(opening(), "utf-8")
    BETWEEN.write_text(orders_in_svg(), "utf-8")
