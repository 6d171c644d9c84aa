"""Files that hold runs: what `check --json`, `conform --json` or `conform --save` wrote, not computations and logs."""

import re
from pathlib import Path
from typing import Any

from crownless.model_check.runs.saved_runs import SavedCheck, read_checks
from crownless.oracle.logs.formats import format_in
from crownless.runtime.errors import BadInput
from crownless.runtime.reading import decode_json, read_text
from crownless.spec import library

#: The number of bytes that suffice to distinguish a run from a computation or a log.
PEEKED = 1 << 16
#: The beginning of an answer of `--json`.
BEGINS_AN_ANSWER = re.compile(rb'\{\s*"crownless"\s*:')
HINT = "give the output of 'check --json', 'conform --json' or 'conform --save'"


def saved_checks(name: str) -> list[SavedCheck] | None:
    """The checks in a file, with the runs that they found; None if it is something else."""
    path = library.located(name) or Path(name)
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            start = file.read(PEEKED).removeprefix(b"\xef\xbb\xbf").lstrip()
    except (OSError, ValueError):
        return None
    of_a_check = start.startswith(b"[") or BEGINS_AN_ANSWER.match(start) is not None
    if not of_a_check and start.startswith((b"{\n", b"{\r")) and format_in(start) == "jsonl":
        hint = "give the output of 'check --json', an event log with one object per line, or a computation"
        raise BadInput("this JSON is not the result of a check", hint=hint, file=name)
    if not of_a_check:
        return None
    return _read(read_text(path, name).encode(), name)


def _read(content: bytes, file: str) -> list[SavedCheck]:
    from crownless.oracle.conformance.schedules import read_conformance, read_schedule  # it takes a while to import

    if content.lstrip().startswith(b"["):
        return read_checks(content, file)
    holds = decode_json(content, dict[str, Any], file=file, hint=HINT)
    if "schedule" in holds:
        return [read_schedule(content, file).saved()]
    if "implementation" in holds:
        return [read_conformance(content, file)]
    if "checks" not in holds:
        raise BadInput("it contains no run", hint=HINT, file=file)
    return read_checks(content, file)
