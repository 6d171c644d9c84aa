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
        """The forms for notebooks."""
        from crownless.spec.diagrams.notebook import mimebundle  # which needs what is drawn

        return mimebundle(str(self), next(self.diagrams(), None))
