"""Objects that can be drawn: as text, in notebooks, and by `cr.draw`.

How they look is not a matter of the specification: `crownless.drawing` decides it, and is imported when one is drawn.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any


class Drawn:
    """An object with diagrams. `titled`: each of its diagrams has a title above it, even in text."""

    titled = False

    def diagrams(self, highlight: str | None = None) -> Iterator[Any]:
        """All its diagrams (`crownless.drawing.diagram.Diagram`). A violation of the order `highlight` stands out; by
        default the object's own violation, with 'none' nothing.
        """
        return iter(drawing().diagrams(self, highlight))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """The forms for notebooks, by their media types: text, and a diagram if there is one."""
        return {"text/plain": str(self), **drawing().in_notebooks(self)}


def drawing() -> Any:
    """The module with the looks of these objects."""
    return import_module("crownless.drawing.looks")
