"""The way of `crownless check rst` from the command to the first state: short, and the request is resolved once."""

from __future__ import annotations

import sys
from collections import Counter
from types import CodeType, FrameType
from typing import Any

from command_line_runner import Crownless

import crownless
from crownless.command_line import crownless as command
from crownless.impl.protocol_validation import check_class
from crownless.model_check.system.request import Check
from crownless.model_check.system.system import System

#: The most functions that are called, constructors included, and their files.
FUNCTIONS, FILES = 68, 27
#: Those of the command line, of the request and of the search; the others belong to what these set up, such as the
#: machine, the channel, the monitors and the limits.
FOLDERS = ("command_line", "model_check/check", "model_check/search")
FUNCTIONS_HERE, FILES_HERE = 27, 8


def called_before_the_first_state(run: Crownless, *arguments: str) -> Counter[CodeType]:
    """Each function of this package, and how often it is called. A comprehension belongs to its function."""
    calls: Counter[CodeType] = Counter()
    callback = command.get_command(None, arguments[0]).callback  # type: ignore[arg-type, union-attr]
    first, last = callback.__code__, System.initial.__code__  # type: ignore[union-attr]

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or last in calls or (not calls and code is not first):
            return
        is_function = code.co_name.isidentifier() or code.co_name == "<lambda>"
        if is_function and code.co_filename.startswith(crownless.__path__[0]):
            calls[code] += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        run(*arguments)
    finally:
        sys.setprofile(before)
    assert last in calls
    return calls


def test_the_way_of_a_check_is_short_and_resolves_the_request_once(crownless: Crownless) -> None:
    crownless("check", "rst", "-n", "2", "-m", "1")  # imports all that it calls
    calls = called_before_the_first_state(crownless, "check", "rst")
    here = [code for code in calls if any(f"/{folder}/" in code.co_filename for folder in FOLDERS)]
    assert calls[Check.resolve.__code__] == calls[check_class.__code__] == 1
    assert len(calls) <= FUNCTIONS
    assert len({code.co_filename for code in calls}) <= FILES
    assert len(here) <= FUNCTIONS_HERE
    assert len({code.co_filename for code in here}) <= FILES_HERE
