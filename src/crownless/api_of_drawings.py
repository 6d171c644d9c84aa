"""Drawings, of `import crownless as cr`; what it needs is imported when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from . import arguments

if TYPE_CHECKING:
    from .api import ComputationLike
    from .model_check.check_result import CheckResult
    from .model_check.runs import Run

#: The forms of a drawing.
Form = Literal["text", "svg", "html"]


@arguments.speaks_of_arguments
def draw(
    thing: ComputationLike | Run | CheckResult,
    *,
    form: Form = "text",
    unicode: bool = True,
    highlight: str | None = None,
) -> str:
    """A space-time diagram, time flowing down, of a computation or a run; of a check's result, of every violation.

    `form`: text, or the source of an SVG picture (of a result's first violation) or of an HTML page. In these, what
    breaks the order `highlight` stands out: 'none' is nothing, and without it FIFO and causal order, or what a result
    violates. Of more than 200 messages they draw an excerpt. `unicode`: False for text in plain ASCII.
    Raises `BadInput` if there is no such form or order, or a result shows no violation that could be drawn.
    """
    from .api import named
    from .model_check.check_result import CheckResult
    from .model_check.runs import Run
    from .spec.diagrams.emphasis import diagram_of
    from .spec.diagrams.excerpt import excerpt
    from .spec.diagrams.page import in_html
    from .spec.diagrams.svg import in_svg
    from .spec.diagrams.text import draw as draw_computation
    from .spec.errors import BadInput, unknown_name
    from .spec.orders import order_named

    if form not in get_args(Form):
        raise unknown_name("form", form, get_args(Form))
    if highlight is not None and highlight != "none":
        order_named(highlight)
    if form == "text":
        if isinstance(thing, Run):
            return thing.draw(unicode=unicode)
        if isinstance(thing, CheckResult):
            return "\n".join(f"{', '.join(names)}:\n{run.draw(unicode=unicode)}" for run, names in thing.shown_runs())
        return draw_computation(named("thing", thing).computation, unicode=unicode)
    if isinstance(thing, Run):
        diagrams, title = [thing.diagram("", highlight)], "A run"
    elif isinstance(thing, CheckResult):
        diagrams, title = [*thing.diagrams()], f"{thing.protocol}: {thing.verdict}"
        if not diagrams:
            raise BadInput(f"{thing.protocol} shows no violation, so there is no run to draw")
    else:
        one = named("thing", thing)
        diagrams, title = [diagram_of(one.computation, one.run or "", highlight)], one.run or "A computation"
    parts = [excerpt(diagram) for diagram in diagrams]
    return in_svg(parts[0]) if form == "svg" else in_html(parts, title)
