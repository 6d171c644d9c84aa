"""Drawings, of `import crownless as cr`; what it needs is imported when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from . import arguments

if TYPE_CHECKING:
    from crownless.spec.drawn import Drawn

    from .api import ComputationLike

#: The forms of a drawing.
Form = Literal["text", "svg", "html"]


@arguments.speaks_of_arguments
def draw(
    thing: ComputationLike | Drawn,
    *,
    form: Form = "text",
    unicode: bool = True,
    highlight: str | None = None,
) -> str:
    """A space-time diagram, time flowing down, of a computation, a run, a verdict, a classification or whatever else
    notebooks show so; of the result of a check or of `conform`, of every violation.

    `form`: text, or the source of an SVG picture (of a result's first violation) or of an HTML page. In these, what
    breaks the order `highlight` stands out: 'none' is nothing, and without it FIFO and causal order, or what a result
    violates. Of more than 200 messages an excerpt is drawn. `unicode`: False for text in plain ASCII.
    Raises `BadInput` if there is no such form or order, or there is nothing to draw, such as no violation.
    """
    from crownless.spec.diagrams.excerpt import excerpt
    from crownless.spec.diagrams.page import in_html
    from crownless.spec.diagrams.svg import in_svg
    from crownless.spec.diagrams.text import in_text
    from crownless.spec.drawn import Drawn
    from crownless.spec.errors import BadInput, unknown_name
    from crownless.spec.orders import order_named
    from crownless.spec.printable import printable

    from .api import named

    if form not in get_args(Form):
        raise unknown_name("form", form, get_args(Form))
    if highlight is not None and highlight != "none":
        order_named(highlight)
    drawn = thing if isinstance(thing, Drawn) else named("thing", thing)
    diagrams = [excerpt(diagram) for diagram in drawn.diagrams(highlight)]
    if not diagrams:
        hint = "give a computation, or a result that shows a violation"
        raise BadInput(f"there is nothing to draw in {drawn!r}", hint=hint)
    if form == "text":
        titles = [f"{printable(each.title)}:\n" if drawn.titled else "" for each in diagrams]
        drawings = [in_text(each, unicode=unicode) for each in diagrams]
        return "\n".join(f"{title}{drawing}" for title, drawing in zip(titles, drawings, strict=True))
    return in_svg(diagrams[0]) if form == "svg" else in_html(diagrams, diagrams[0].title or "A space-time diagram")
