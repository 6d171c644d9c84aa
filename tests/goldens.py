"""Console blocks of the documents: each `$ crownless …` and what it prints, which the tests run.

    python tests/goldens.py

writes into README.md and CONTRIBUTING.md what the commands print now; read the difference before you commit it.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from crownless.command_line import main

ROOT = Path(__file__).parent.parent
DOCUMENTS = ("README.md", "CONTRIBUTING.md")
_BLOCK = re.compile(r"^```console\n\$ crownless (?P<arguments>.*)\n(?P<output>(?:.*\n)*?)```$", re.MULTILINE)
#: The last column of a table is seconds, which differ from run to run.
_SECONDS = re.compile(r"\s+\d+\.\d$", re.MULTILINE)


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
    """What the command prints, on whichever stream."""
    written = io.BytesIO()
    output = io.TextIOWrapper(written, encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), contextlib.suppress(SystemExit):
        main(arguments)
    return written.getvalue().decode("utf-8")


def timeless(text: str) -> str:
    """The text without what differs from run to run."""
    return _SECONDS.sub("", text)


def rewrite(document: str, run: Callable[[tuple[str, ...]], str]) -> None:
    """Puts what the commands print now into the document; what differs only in seconds is left alone."""

    def block(found: re.Match[str]) -> str:
        now = run(tuple(found["arguments"].split()))
        output = found["output"] if timeless(now) == timeless(found["output"]) else now
        return f"```console\n$ crownless {found['arguments']}\n{output}```"

    path = ROOT / document
    path.write_text(_BLOCK.sub(block, path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    from test_contributing import with_the_example

    rewrite("README.md", printed)
    with with_the_example() as run:
        rewrite("CONTRIBUTING.md", run)
