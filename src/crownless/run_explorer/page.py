"""The page of the run explorer: one file, which needs no server and no network."""

from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import Any

from crownless.drawing import geometry
from crownless.drawing.page import as_data, document, page_file
from crownless.drawing.style import style_sheet
from crownless.drawing.svg import legend
from crownless.oracle.conformance.node import FAILURES
from crownless.runtime.printable import some
from crownless.spec.orders import ORDERS

#: The scripts, in their order on the page.
SCRIPTS = ("space.js", "words.js", "witness.js", "drawing.js", "saving.js", "running.js", "panels.js", "page.js")
#: The style of an event whose action violates a property.
BREAKS = {".events .ring": "fill:none;stroke:{shown};stroke-width:2.5;stroke-dasharray:3 2"}


def explorer_page(
    space: dict[str, Any], title: str, start: Sequence[int] = (), *, shows: str = "", session: str = ""
) -> str:
    """The page for a state space, as in `StateSpace.as_data`; it begins with the run of these choices. `shows`: what
    that run shows, unless a user requested it. `session`: that of the server from which it requests further states, if
    it is served.
    """
    limited = space["beyond"] and not session
    left_out = f"; only {some(space['states'], 'state')} are on this page" if limited else ""
    scope = f"{space['scope']}{left_out}"
    body = Template(_file("page.html")).substitute(title=escape(title), scope=escape(scope), legend=legend())
    layout = {
        "row": geometry.ROW,
        "column": geometry.COLUMN,
        "farthest": geometry.FARTHEST,
        "columns": geometry.COLUMNS,
        "radius": geometry.RADIUS,
        "margin": geometry.MARGIN,
        "character": geometry.CHARACTER,
        "stub": geometry.STUB,
        "stubDown": geometry.STUB_DOWN,
        "loop": geometry.LOOP,
        "clearance": geometry.CLEARANCE,
        "bends": geometry.BENDS,
    }
    facts = {
        **space,
        "start": list(start),
        "shows": shows,
        "session": session,
        "id": sha256(f"{title}\n{space['scope']}\n{space['channel']}\n{space['properties']}".encode()).hexdigest()[:8],
        "layout": layout,
        "version": version("crownless"),
        "orders": list(ORDERS),
        "failures": list(FAILURES),
    }
    return document(
        title,
        [_file("page.css"), *(style_sheet(scope, BREAKS) for scope in ("diagram", "legend"))],
        [body, f'<script id="space" type="application/json">{as_data(facts)}</script>'],
        ["\n".join([page_file("tables.js"), *map(_file, SCRIPTS)])],
        connects="'self'" if session else "'none'",
    )


def _file(name: str) -> str:
    return files("crownless.run_explorer").joinpath(name).read_text("utf-8")
