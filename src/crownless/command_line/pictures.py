"""Diagrams as files: one as SVG, or all of them on one HTML page."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from crownless.drawing.diagram import Diagram
from crownless.drawing.excerpt import excerpt
from crownless.runtime.printable import printable_name

from .endings import say
from .file_options import cannot_be_written


def write_diagrams(svg: str | None, html: str | None, diagrams: Sequence[Diagram], title: str) -> None:
    """Writes the named files; of a large computation only an excerpt, and reports that."""
    from crownless.drawing.page import in_html
    from crownless.drawing.svg import in_svg

    drawn = [excerpt(diagram) for diagram in diagrams]
    for part in [part for part in (drawn if html is not None else drawn[:1]) if part.left_out]:
        say(f"{part.title}: {part.left_out}" if part.title else part.left_out)
    if svg is not None:
        write_file("--svg", svg, in_svg(drawn[0]))
        if len(drawn) > 1:
            say(f"{printable_name(svg)} has the first of {len(drawn)} diagrams; --html FILE has all of them on a page")
    if html is not None:
        write_file("--html", html, in_html(drawn, title))


def write_file(option: str, name: str, text: str) -> None:
    """Writes an option's file, once its content is complete; raises `BadInput` if it cannot be written."""
    path = Path(os.path.realpath(name))
    try:
        if path.exists() and not path.is_file():  # a device
            path.write_text(text, "utf-8")
            return
        unfinished = path.with_name(f".{path.name[:40]}.{os.getpid()}")
        try:
            unfinished.write_text(text, "utf-8")
            if path.exists():
                shutil.copymode(path, unfinished)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise cannot_be_written(option, name, error) from None
