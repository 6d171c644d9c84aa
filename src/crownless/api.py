"""The functions of `import crownless as cr`; each imports what it needs when it is called.

Invalid input raises `BadInput`, whose text is one line: the problem, and a hint. Where it mentions an option of the
command line, it means the argument of that name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from crownless.runtime.errors import BadInput, unknown_name
from crownless.runtime.printable import printable
from crownless.spec.computation import Computation
from crownless.spec.drawn import Drawn
from crownless.spec.notation import Script
from crownless.spec.orders import UnreceivedPolicy, order_named, telling
from crownless.spec.recorder import Recorder

from . import arguments
from .spec import notation

if TYPE_CHECKING:
    from crownless.impl.protocol import Protocol
    from crownless.oracle.log_orders.classification import Classification
    from crownless.oracle.logs.formats import Format
    from crownless.oracle.logs.named_computation import NamedComputation

    #: A protocol: its name (`rst`, `hub.py:Hub`, `package.module:Class`), its class, or a machine.
    ProtocolLike = str | type[Protocol] | Protocol
    #: A program: a bundled name, a file, or its text.
    ProgramLike = str | Path | Script
    #: An object that can be classified or drawn.
    ComputationLike = str | Computation | NamedComputation | Recorder

#: The forms of a drawing.
DrawingForm = Literal["text", "svg", "html"]

# -- computations and logs ---------------------------------------------------------------------------------------------


def parse(text: str) -> Computation:
    """The computation described by a text in the papers' notation, one line per process.

    >>> parse("Alice: send x to Bob\\nBob: receive x").complete
    True

    Raises `BadInput`, with line and column, if the text is invalid.
    """
    return notation.to_computation(notation.parse(text))


def program(text: str, name: str | None = None) -> Script:
    """A program in the same notation, where a receive may accept any message; `name` is its name in reports."""
    return replace(notation.parse(text), name=name)


def read_log(
    file: str | os.PathLike[str] | Iterable[str],
    *,
    format: Format | None = None,  # noqa: A002  # as the option is called
    columns: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    pattern: str | None = None,
    order_by: str | None = None,
) -> list[NamedComputation]:
    """The runs of an event log: a file, `-` for standard input, a bundled name, or lines of JSON.

    Each has its `computation`, and the `holes` in the log. `format`: needed if the file name does not show it;
    `columns`: the log's names of columns, `{"message": "msg_id"}`; `kinds`: its names of kinds of events,
    `{"recv": "deliver"}`; `pattern`: the expression that finds messages in a ShiViz log; `order_by`: the column of
    numbers or times that orders each process's events, or `line`, instead of `index`; all as for `crownless classify`.
    Raises `BadInput` with the invalid line.
    """
    from crownless.oracle.logs.formats import FORMATS, LogOptions
    from crownless.oracle.logs.reader import runs_in, subjects

    if format is not None and format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    options = LogOptions(format, dict(columns or {}), dict(kinds or {}), pattern, order_by=order_by)
    if isinstance(file, str | os.PathLike):
        return list(subjects(os.fspath(file), options))
    if hasattr(file, "columns"):
        hint = "write it first, as by log.to_parquet('log.parquet'), and give the name of the file"
        raise BadInput("read_log takes a path or JSON lines, not a DataFrame", hint=hint)
    if format is not None or pattern is not None:
        raise BadInput("in-memory lines must be JSON", hint="give `format` and `pattern` with a file")
    return list(runs_in("\n".join(file).encode(), "jsonl", "", options))


def classify(
    computation: ComputationLike, orders: Iterable[str] = (), *, unreceived: UnreceivedPolicy = "lost"
) -> Classification:
    """The verdict on each order: of those named, or of all, total order only if a message has several receivers.

    `classify(c)["causal"]` is that on causal order.

    A verdict is `kept` or has a `witness`, and is true if the order is kept; it is unknown, and then neither true nor
    false, where a log has holes that could hide a violation. `.strongest` names the strongest orders kept.

    `computation`: one that was parsed, read from a log or recorded, or its text. `unreceived`: unreceived messages are
    `lost`, or `pending` (then an order is kept if some completion keeps it).
    """
    from crownless.oracle.log_orders import classification as oracle

    names = [order_named(name).name for name in arguments.names("orders", orders)]
    subject = named("computation", computation)
    return oracle.classify(subject, names or telling(unicasts=subject.unicasts), unreceived)


def named(name: str, given: ComputationLike) -> NamedComputation:
    from crownless.oracle.logs.named_computation import NamedComputation

    if isinstance(given, NamedComputation):
        return given
    computation = parse(given) if isinstance(given, str) else given
    if isinstance(computation, Recorder):
        computation = computation.computation
    hint = "give a text, or what cr.parse, cr.read_log or a cr.Recorder has"
    return NamedComputation("", None, arguments.instance(name, computation, Computation, "computation", hint))


# -- drawings ----------------------------------------------------------------------------------------------------------


def draw(
    thing: ComputationLike | Drawn,
    *,
    form: DrawingForm = "text",
    unicode: bool = True,
    highlight: str | None = None,
) -> str:
    """A space-time diagram, time flowing down, of a computation, a run, a verdict, a classification or anything else
    that notebooks draw; for a result of `check` or `conform`, of every violation.

    `form`: text, or the source of an SVG picture (of a result's first violation) or of an HTML page. These highlight
    violations of the order `highlight`, or nothing if it is 'none'; default: FIFO and causal order, or the properties
    that a result violates. Over 200 messages, only an excerpt is drawn. `unicode`: False for text in plain ASCII.
    Raises `BadInput` if there is no such form or order, or there is nothing to draw, such as no violation.
    """
    from crownless.drawing.excerpt import excerpt
    from crownless.drawing.page import in_html
    from crownless.drawing.svg import in_svg
    from crownless.drawing.text import in_text

    if form not in get_args(DrawingForm):
        raise unknown_name("form", form, get_args(DrawingForm))
    if highlight is not None and highlight != "none":
        order_named(highlight)
    drawn = thing if isinstance(thing, Drawn) else named("thing", thing)
    diagrams = [excerpt(diagram) for diagram in drawn.diagrams(highlight)]
    if not diagrams:
        hint = "give a computation, or a result that shows a violation"
        raise BadInput(f"there is nothing to draw in {drawn!r}", hint=hint)
    if form == "text":
        titles = [f"{printable(each.title)}:\n" if drawn.titled else "" for each in diagrams]
        drawings = [in_text(each, unicode=unicode) for each in diagrams]
        return "\n".join(f"{title}{drawing}" for title, drawing in zip(titles, drawings, strict=True))
    return in_svg(diagrams[0]) if form == "svg" else in_html(diagrams, diagrams[0].title or "A space-time diagram")
