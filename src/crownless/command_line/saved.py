"""Files that hold what `check --json` printed, as distinct from computations and logs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from crownless.spec import library
from crownless.spec.errors import BadInput
from crownless.spec.reading import read_text

if TYPE_CHECKING:
    from crownless.model_check.saved_runs import SavedCheck

#: So many bytes distinguish the result of a check from a computation and a log.
PEEKED = 1 << 16
#: How an answer of `--json` begins.
BEGINS_AN_ANSWER = re.compile(rb'\{\s*"crownless"\s*:')


def saved_checks(name: str) -> list[SavedCheck] | None:
    """The objects that `check --json` printed into this file; None if it is something else."""
    path = library.path(name, ".json") if name in library.counterexamples(".json") else Path(name)
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            start = file.read(PEEKED).removeprefix(b"\xef\xbb\xbf").lstrip()
    except (OSError, ValueError):
        return None
    of_a_check = start.startswith(b"[") or BEGINS_AN_ANSWER.match(start) is not None
    if not of_a_check and start.startswith((b"{\n", b"{\r")):
        hint = "give what 'check --json' printed, an event log with one object a line, or a computation"
        raise BadInput("JSON, but not the result of a check", hint=hint, file=name)
    if not of_a_check:
        return None
    from crownless.model_check.saved_runs import read_checks  # its schemas are made when it is imported

    return read_checks(read_text(path, name).encode(), name)
