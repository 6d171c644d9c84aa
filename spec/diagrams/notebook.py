"""Diagrams in notebooks, which show an object in the richest form that it offers."""

from .diagram import Diagram
from .excerpt import excerpt
from .svg import in_svg


def mimebundle(text: str, diagram: Diagram | None) -> dict[str, str]:
    """The forms in which an object is shown, by their media types: text, and a diagram if there is one."""
    drawn = {} if diagram is None else {"image/svg+xml": in_svg(excerpt(diagram))}
    return {"text/plain": text, **drawn}
