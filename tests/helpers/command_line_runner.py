"""The command line, run in this process; and what must not come of a hostile input."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from crownless.command_line import main
from crownless.model_check.search.engines import COMPILES
from crownless.runtime.printable import is_shown

Capture = pytest.CaptureFixture[str]


class Answer(NamedTuple):
    """A command's exit code, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Crownless:
    """Runs `crownless` in this process."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture

    def __call__(self, *arguments: object) -> Answer:
        with pytest.raises(SystemExit) as exit_:
            main([str(argument) for argument in arguments])
        printed = self.capture.readouterr()
        assert isinstance(exit_.value.code, int)
        return Answer(exit_.value.code, printed.out, printed.err.replace(f"crownless: {COMPILES}\n", ""))


@dataclass(frozen=True)
class Input:
    """Arguments of the command, and which exit codes are right beside 2."""

    arguments: list[str]
    allowed: frozenset[int] = frozenset({0, 3})
    #: 1 is right if the output says one of these.
    violated: tuple[str, ...] = ()


def run_hostile(given: Input) -> tuple[int | str, str, str]:
    """The exit code (or what was raised), stdout and stderr."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = streams
    code: int | str
    try:
        main(given.arguments)
        code = "main returned"
    except SystemExit as exit_:
        code = exit_.code if isinstance(exit_.code, int) else repr(exit_.code)
    except BaseException as error:
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        place = f"{Path(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno}" if where is not None else ""
        code = f"{type(error).__name__} at {place}: {str(error)[:200]}"
    finally:
        sys.stdout, sys.stderr = before
    out, err = (stream.buffer.getvalue().decode("utf-8", "backslashreplace") for stream in streams)
    return code, out, err


def wrong_with(code: int | str, out: str, err: str, given: Input) -> str | None:
    """What must not have come of an input; None if all is well."""
    if isinstance(code, str):
        return code
    if code not in given.allowed | {1, 2}:
        return f"exit code {code}: {err[-300:]}"
    if code == 1 and not any(word in out for word in given.violated):
        return f"exit code 1, and nothing is violated: {err[-300:]}"
    if "Traceback" in err:
        return f"a traceback: {err[-300:]}"
    *notes, last = err.splitlines() or [""]
    is_one_line = last.startswith("crownless: ") and all(note.startswith("crownless: not run, ") for note in notes)
    if code == 2 and not (is_one_line and err.endswith("\n")):
        return f"not one line: {err[:300]!r}"
    if code == 2 and len(err) > 5_000:
        return f"a line of {len(err)} characters"
    for character in {*out, *err} - {"\n"}:
        if not is_shown(character):
            return f"prints {character!r}"
    return None
