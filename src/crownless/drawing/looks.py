"""The looks of computations and verdicts on them, and of anything that is drawn in notebooks."""

from collections.abc import Iterator

from crownless.spec.computation import Computation
from crownless.spec.drawn import Drawn
from crownless.spec.orders import Verdict

from .diagram import Diagram
from .emphasis import diagram_of
from .excerpt import excerpt
from .svg import in_svg
from .text import draw as in_text

__all__ = ["diagrams", "in_notebooks", "in_text"]


def diagrams(drawn: Drawn, highlight: str | None) -> Iterator[Diagram]:
    """The diagram of a computation, emphasizing a violation of the order, by default of FIFO or causal order; of a
    verdict that has its computation, emphasizing its own.
    """
    if isinstance(drawn, Computation):
        yield diagram_of(drawn, highlight=highlight)
    elif isinstance(drawn, Verdict) and drawn.computation is not None:
        yield diagram_of(drawn.computation, highlight=highlight or drawn.order)


def in_notebooks(drawn: Drawn) -> dict[str, str]:
    """The first diagram, if there is one, by its media type."""
    diagram = next(drawn.diagrams(), None)
    return {} if diagram is None else {"image/svg+xml": in_svg(excerpt(diagram))}
