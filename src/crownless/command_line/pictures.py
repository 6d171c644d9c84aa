"""Diagrams as files: one as SVG, or all of them on one HTML page."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

from crownless.spec.diagrams.diagram import Diagram
from crownless.spec.diagrams.excerpt import excerpt
from crownless.spec.printable import printable_name

from .endings import say
from .file_options import cannot_be_written


def write_diagrams(svg: str | None, html: str | None, diagrams: Sequence[Diagram], title: str) -> None:
    """Writes the files that are named; of a large computation an excerpt, which is said."""
    from crownless.spec.diagrams.page import in_html
    from crownless.spec.diagrams.svg import in_svg

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
    """Writes the file that an option names; raises `BadInput` if that cannot be done. An earlier one is kept then."""
    try:
        path, content = Path(name), text.encode()
        target = Path(os.path.realpath(path))
        is_device = path.exists() and not path.is_file()
        if is_device or not os.access(target.parent, os.W_OK):  # there can be no second file beside it
            path.write_bytes(content)
        else:
            _replace(target, content)
    except (OSError, ValueError) as error:
        raise cannot_be_written(option, name, error) from None


def _replace(path: Path, content: bytes) -> None:
    """Puts a new file in the place of one that may be there, with the same permissions, once it is complete."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name[:40]}.", delete=False) as file:
        unfinished = Path(file.name)
        try:
            file.write(content)
            file.flush()
            os.chmod(unfinished, stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask())
            os.replace(unfinished, path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise


def _umask() -> int:
    """The permissions that new files do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
