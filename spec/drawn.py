"""Things that have diagrams: notebooks show the first one beside their text, and `cr.draw` draws all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crownless.spec.diagrams.diagram import Diagram


class Drawn:
    """Such a thing. `titled`: in text, too, each of its diagrams has its title above it."""

    titled = False

    def diagrams(self, highlight: str | None = None) -> Iterator[Diagram]:
        """A diagram for each picture that there is of it. What breaks the order `highlight` stands out; without it,
        what the thing itself says to be broken, and with 'none' nothing.
        """
        raise NotImplementedError

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """In notebooks."""
        from crownless.spec.diagrams.notebook import mimebundle  # which needs what is drawn

        return mimebundle(str(self), next(self.diagrams(), None))
