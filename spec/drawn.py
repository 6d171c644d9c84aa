"""Objects with diagrams: notebooks show the first one beside the text, and `cr.draw` draws all of them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crownless.spec.diagrams.diagram import Diagram


class Drawn:
    """An object with diagrams. `titled`: each of its diagrams has a title above it, even in text."""

    titled = False

    def diagrams(self, highlight: str | None = None) -> "Iterator[Diagram]":
        """All its diagrams. A violation of the order `highlight` stands out; by default the object's own violation,
        with 'none' nothing.
        """
        raise NotImplementedError

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """The forms for notebooks, by their media types: text, and a diagram if there is one."""
        from crownless.spec.diagrams.excerpt import excerpt  # which needs what is drawn
        from crownless.spec.diagrams.svg import in_svg

        diagram = next(self.diagrams(), None)
        drawn = {} if diagram is None else {"image/svg+xml": in_svg(excerpt(diagram))}
        return {"text/plain": str(self), **drawn}
