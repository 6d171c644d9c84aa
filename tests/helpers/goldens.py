"""Console blocks of the documents: each `$ crownless …` and what it prints, which the tests run.

    python tests/helpers/goldens.py

writes into the documents, and into the pages of `docs/`, what the commands print now; into
`docs/protocols.md` its table from the registry, into `docs/errors_in_the_papers.md` its table from the ledger,
into `docs/gallery.md` its pictures, into `docs/options.md` the options of all commands,
and into the notebooks of `examples/` what their cells give.
Read the difference before you commit it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from crownless.command_line import main
from crownless.command_line.commands.listing import parameter_said, protocol_facts
from crownless.model_check.search.engines import COMPILES
from crownless.research.claims import bundled
from crownless.research.claims.ledger import CLAIMS, errata
from crownless.spec.bibliography import references

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```console\n\$ crownless (?P<arguments>.*)\n(?P<output>(?:.*\n)*?)```$", re.MULTILINE)
#: As many as the machine has.
_WORKERS = re.compile(r"native engine, \d+ workers?")
#: The last column of a table is seconds, or a line ends in them; they differ from run to run.
_SECONDS = re.compile(r",?\s+\d+\.\d( s)?$", re.MULTILINE)


class Block(NamedTuple):
    """One command of a document, its arguments, and the output printed below it."""

    document: str
    arguments: tuple[str, ...]
    output: str


def blocks(document: str) -> Iterator[Block]:
    """The blocks of a document that show one `crownless` command each."""
    for found in _BLOCK.finditer((ROOT / document).read_text("utf-8")):
        yield Block(document, tuple(found["arguments"].split()), found["output"])


def printed(arguments: tuple[str, ...]) -> str:
    """What the command prints, on whichever stream, in 80 columns."""
    written = io.BytesIO()
    output = io.TextIOWrapper(written, encoding="utf-8", write_through=True)
    with (
        patch.dict(os.environ, COLUMNS="80"),
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
        contextlib.suppress(SystemExit),
    ):
        main(arguments)
    return written.getvalue().decode("utf-8")


def timeless(text: str) -> str:
    """The text without what differs from run to run and from machine to machine."""
    return _SECONDS.sub("", _WORKERS.sub("native engine", text.replace(f"crownless: {COMPILES}\n", "")))


#: The table of claims that are false as printed: its name, and the document.
ERRORS = ("errors", "docs/errors_in_the_papers.md")
#: The table of protocols: its name, and the document.
PROTOCOLS = ("protocols", "docs/protocols.md")
#: A table between marks: its name, and the table.
_TABLE = r"^<!-- {name}: .*? -->\n(?P<table>.*?)^<!-- end -->$"
#: Heading of the column, and the fact in it.
_COLUMNS = {
    "protocol": "name",
    "paper": "source",
    "promises": "promises",
    "needs channel": "needs_channel",
    "for": "sends",
    "also admits": "admits",
    "parameters": "parameters",
}


def protocol_table() -> str:
    """The table of protocols, from the registry."""
    rows = [list(_COLUMNS), ["---"] * len(_COLUMNS)]
    for facts in protocol_facts():
        cells = []
        for fact in _COLUMNS.values():
            value = facts[fact]
            if isinstance(value, list):
                value = ", ".join(parameter_said(one) if isinstance(one, dict) else one for one in value)
            cells.append(str(value))
        rows.append([f"`{cells[0]}`", *cells[1:]])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def errors_table() -> str:
    """The errors, ambiguities and typos, from the ledger, with what is true instead."""
    drawn = {facts["name"] for facts in bundled.facts()}
    rows = [
        "| claim | it says | | kind | wrong as printed | true instead | to see it |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for known in errata():
        name = f"counterexample-{known['claim'].lower()}"
        see = f"show {name}" if name in drawn else f"claims {known['claim']}"
        defense = f"; *for the paper:* {known['defense']}" if known["defense"] else ""
        said = (f"{known['claim']}, {known['source']}", CLAIMS[known["claim"]].statement, known["verdict"])
        cells = (*said, known["kind"], known["wrong"] + defense, known["instead"], f"`crownless {see}`")
        rows.append(f"| {' | '.join(cells)} |")
    return "".join(f"{row}\n" for row in rows)


def source_list(document: str) -> str:
    """The sources that a document cites, one a line, from the bibliography."""
    text = re.sub(_TABLE.format(name="sources"), "", (ROOT / document).read_text("utf-8"), flags=re.M | re.S)
    return "\n" + "".join(f"- {source}\n" for source in references(text)) + "\n"


def documents_with_sources() -> list[str]:
    """The documents for users that cite a source by its key; the gallery is written as a whole."""
    pages = [ROOT / "README.md", ROOT / "proofs/README.md", *sorted((ROOT / "docs").glob("*.md"))]
    names = [str(page.relative_to(ROOT)) for page in pages if page.name != "gallery.md"]
    return [name for name in names if source_list(name).strip()]


def _marked_table(name: str, document: str) -> tuple[str, re.Match[str]]:
    text = (ROOT / document).read_text("utf-8")
    (found,) = re.finditer(_TABLE.format(name=name), text, re.MULTILINE | re.DOTALL)
    return text, found


def table_shown(name: str, document: str) -> str:
    """The table of that name, as it stands in the document now."""
    return _marked_table(name, document)[1]["table"]


def rewrite_table(table: str, name: str, document: str) -> None:
    """Puts the table into the document."""
    text, found = _marked_table(name, document)
    (ROOT / document).write_text(text[: found.start("table")] + table + text[found.end("table") :], "utf-8")


def rewrite(document: str, run: Callable[[tuple[str, ...]], str]) -> None:
    """Puts what the commands print now into the document; what differs only in seconds is left alone."""

    def block(found: re.Match[str]) -> str:
        now = run(tuple(found["arguments"].split())).replace(f"crownless: {COMPILES}\n", "")
        output = found["output"] if timeless(now) == timeless(found["output"]) else now
        return f"```console\n$ crownless {found['arguments']}\n{output}```"

    path = ROOT / document
    path.write_text(_BLOCK.sub(block, path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    from doc_pages import rewrite_pages
    from gallery import rewrite_gallery
    from notebooks import NOTEBOOKS, rewrite_notebook
    from options_page import rewrite_options
    from worked_example import with_the_example

    rewrite("README.md", printed)
    rewrite_table(protocol_table(), *PROTOCOLS)
    rewrite_table(errors_table(), *ERRORS)
    for document in documents_with_sources():
        rewrite_table(source_list(document), "sources", document)
    with with_the_example() as run:
        rewrite("CONTRIBUTING.md", run)
    rewrite_pages()
    rewrite_gallery()
    rewrite_options()
    for notebook in NOTEBOOKS:
        rewrite_notebook(notebook)
