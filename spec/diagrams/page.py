"""Space-time diagrams on one HTML page, which needs nothing else: beside each are the local variables at an event.

Names are data, never markup or code; the page's own policy admits nothing but its own script and styles.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

from crownless.spec.printable import printable

from .diagram import Diagram
from .svg import event_in_words, in_svg

ASIDE = (
    "<aside aria-live='polite'><p class='quiet'>Point at an event, or move with <kbd>Tab</kbd> and the arrow keys: "
    "what happens there is said here.</p></aside>"
)


def in_html(diagrams: Sequence[Diagram], title: str) -> str:
    """The page, with all the diagrams, one below the other."""
    script, style = _file("page.js"), _file("page.css")
    drawn = [in_svg(diagram, focusable=True) for diagram in diagrams]
    styles = [style, *(found for svg in drawn for found in re.findall(r"<style>(.*?)</style>", svg, re.DOTALL))]
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {' '.join(dict.fromkeys(map(_hash, styles)))}; "
        "base-uri 'none'; form-action 'none'"
    )
    facts = [[_fact(diagram, event) for event in diagram.linearization] for diagram in diagrams]
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(printable(title))}</title>",
        f"<style>{style}</style>",
        f"<h1>{escape(printable(title))}</h1>",
        *(f"<div class='diagram'><figure>{svg}</figure>{ASIDE}</div>" for svg in drawn),
        f'<script id="facts" type="application/json">{_as_data(facts)}</script>',
        f"<script>{script}</script>",
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _fact(diagram: Diagram, event: int) -> dict[str, Any]:
    """What is said of an event."""
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


def _as_data(value: Any) -> str:
    """JSON that ends no script element."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _file(name: str) -> str:
    return files("crownless.spec.diagrams").joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
