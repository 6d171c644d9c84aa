"""The lines of a log as they stand in its file, to be shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from crownless.spec.printable import as_json
from crownless.spec.reading import as_text

from .files import Format
from .rows import Row

#: More characters of a line are not shown.
LENGTH_SHOWN = 300


@dataclass(frozen=True)
class Source:
    """The text of a file, line by line, where each row is a line; the first one may name the columns."""

    lines: Sequence[str] = ()
    by: Literal["line", "row"] = "line"
    heading: bool = False

    @classmethod
    def of(
        cls, content: bytes, form: Format, name: str, columns: Mapping[str, str] | None, lines: Sequence[str]
    ) -> Source:
        """Of a file of this content; `lines`: its rows as JSON, with a blank one for a heading."""
        heading = form == "csv"
        by: Literal["line", "row"] = "line"
        if form != "jsonl" or columns:
            from .context import numbering  # which loads numpy

            by = numbering(content, form, len(lines) - heading).by
        return cls(as_text(content, name).split("\n") if by == "line" else (), by, heading)

    def shown(self, row: Row) -> str:
        """The row as it stands in the file, with its number; as JSON where it is no line of it."""
        if not self.lines:
            event = {key: value for key, value in row.json().items() if key != "run"}
            return f"{self.by} {row.line - self.heading}: {as_json(event)}"
        return self._line(row.line)

    @property
    def heading_shown(self) -> str:
        """The line with the names of the columns; empty if there is none."""
        return self._line(1) if self.heading and self.lines else ""

    def _line(self, number: int) -> str:
        text = self.lines[number - 1].strip().replace("\t", "  ")
        return f"line {number}: {text[:LENGTH_SHOWN]}{'…' * (len(text) > LENGTH_SHOWN)}"


#: Of a log whose lines are not known.
NO_LINES = Source()
