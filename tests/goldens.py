"""Console blocks of the documents: each `$ crownless …` and what it prints, which the tests run.

    python tests/goldens.py

writes into the documents what the commands print now, and the README's table of protocols from the
registry; read the difference before you commit it.
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
from crownless.command_line.check import COMPILES
from crownless.command_line.listing import parameter_said, protocol_facts

ROOT = Path(__file__).parent.parent
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "proofs/README.md")
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
    return _SECONDS.sub("", _WORKERS.sub("native engine", text.replace(f"{COMPILES}\n", "")))


_TABLE = re.compile(r"^<!-- protocols: .*? -->\n(?P<table>.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
#: Heading of the column, and the fact in it.
_COLUMNS = {
    "protocol": "name",
    "text": "source",
    "promises": "promises",
    "needs channel": "needs_channel",
    "for": "sends",
    "also admits": "admits",
    "parameters": "parameters",
}


def protocol_table() -> str:
    """The README's table of protocols, from the registry."""
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


def table_shown() -> str:
    """What stands in the README now."""
    (found,) = _TABLE.finditer((ROOT / "README.md").read_text("utf-8"))
    return found["table"]


def rewrite_table() -> None:
    """Puts the registry's facts into the README."""
    path = ROOT / "README.md"
    text = path.read_text("utf-8")
    (found,) = _TABLE.finditer(text)
    path.write_text(text[: found.start("table")] + protocol_table() + text[found.end("table") :], "utf-8")


def rewrite(document: str, run: Callable[[tuple[str, ...]], str]) -> None:
    """Puts what the commands print now into the document; what differs only in seconds is left alone."""

    def block(found: re.Match[str]) -> str:
        now = run(tuple(found["arguments"].split())).replace(f"{COMPILES}\n", "")
        output = found["output"] if timeless(now) == timeless(found["output"]) else now
        return f"```console\n$ crownless {found['arguments']}\n{output}```"

    path = ROOT / document
    path.write_text(_BLOCK.sub(block, path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    from test_contributing import with_the_example

    rewrite("README.md", printed)
    rewrite_table()
    with with_the_example() as run:
        rewrite("CONTRIBUTING.md", run)
