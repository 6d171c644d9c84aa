"""The command line, run in this process."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from crownless.command_line import main
from crownless.model_check.search.engines import COMPILES

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
