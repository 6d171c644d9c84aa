"""Space-time diagrams on one self-contained HTML page, with the local variables at an event beside each.

Names are data, never markup or code; the page's own policy admits nothing but its own script and styles.
"""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from crownless.runtime.printable import printable

from .diagram import Diagram
from .style import colours_of_pages
from .svg import in_svg
from .words import event_in_words

ASIDE = (
    "<aside class='variables' aria-live='polite'><p class='quiet'>Point at an event, or move with <kbd>Tab</kbd> and "
    "the arrow keys, to see here what happens there.</p></aside>"
)

#: Hidden where the whole diagram is in view.
TO_VIOLATION = "<button type='button' hidden>Show the violation</button>"


def in_html(diagrams: Sequence[Diagram], title: str) -> str:
    """The page, with all the diagrams, one below the other."""
    drawn = [in_svg(diagram, focusable=True) for diagram in diagrams]
    facts = [
        {"processes": diagram.process_names, "events": [_fact(diagram, event) for event in diagram.by_row]}
        for diagram in diagrams
    ]
    body = [
        f"<h1>{escape(printable(title))}</h1>",
        *map(_beside_its_aside, diagrams, drawn),
        f'<script id="facts" type="application/json">{as_data(facts)}</script>',
    ]
    return document(title, [page_file("page.css")], body, [f"{page_file('tables.js')}\n{page_file('page.js')}"])


def _beside_its_aside(diagram: Diagram, svg: str) -> str:
    shows = diagram.emphasis is not None and bool(diagram.emphasis.messages)
    return f"<div class='diagram'><div>{TO_VIOLATION if shows else ''}<figure>{svg}</figure></div>{ASIDE}</div>"


def document(
    title: str, styles: Sequence[str], body: Sequence[str], scripts: Sequence[str], *, connects: str = "'none'"
) -> str:
    """A self-contained page in the common style: its policy admits only these styles and scripts, the styles of its
    pictures, and connections to `connects`.
    """
    styles = [f"{colours_of_pages()}\n{page_file('base.css')}", *styles]
    of_pictures = [found for part in body for found in re.findall(r"<style>(.*?)</style>", part, re.DOTALL)]
    policy = (
        f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes([*styles, *of_pictures])}; "
        f"connect-src {connects}; base-uri 'none'; form-action 'none'"
    )
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(printable(title))}</title>",
        *(f"<style>{style}</style>" for style in styles),
        *body,
        *(f"<script>{script}</script>" for script in scripts),
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def as_data(value: Any) -> str:
    """JSON that is safe inside a script element."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _fact(diagram: Diagram, event: int) -> dict[str, Any]:
    """The facts of an event."""
    variables = [
        {
            "name": printable(variable.name),
            "rows": [[printable(cell) for cell in row] for row in variable.rows],
            "changed": sorted(variable.changed),
        }
        for variable in diagram.variables.get(event, ())
    ]
    return {
        "words": event_in_words(diagram, event),
        "process": diagram.process_names[diagram.computation.process_of[event]],
        "variables": variables,
    }


def page_file(name: str) -> str:
    """A style sheet or a script embedded in pages."""
    return files("crownless.drawing").joinpath(name).read_text("utf-8")


def _hashes(texts: Sequence[str]) -> str:
    """The sources of a policy that admit these texts."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in dict.fromkeys(texts))
    return " ".join(f"'sha256-{digest}'" for digest in digests)
