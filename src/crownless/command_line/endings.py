"""The ends of the command: exit codes, and messages where it ends without an answer.

It imports little, so that failures while the rest is imported end in the same way.
"""

import errno
import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Collection
from typing import TextIO

from crownless.runtime.printable import error_line, printable_line

EXIT_HOLDS, EXIT_VIOLATED, EXIT_BAD_INPUT, EXIT_UNKNOWN = 0, 1, 2, 3
#: Numbered as in `sysexits.h`: an internal error; failed input or output, such as an answer that cannot be written.
EXIT_INTERNAL_ERROR, EXIT_CANNOT_WRITE = 70, 74
#: The shells' codes for a program ended by Ctrl-C, and for one whose output pipe is closed.
EXIT_INTERRUPTED, EXIT_BROKEN_PIPE = 130, 141

_VIOLATED = frozenset({"violated", "refuted"})
_UNDECIDED = frozenset({"unknown", "nothing", "not proved"})

#: If set in the environment, the whole traceback of an internal error is printed.
TRACEBACK = "CROWNLESS_TRACEBACK"


def exit_code(verdicts: Collection[str]) -> int:
    """The exit code for these verdicts: a violation counts most, then an undecided verdict."""
    if not _VIOLATED.isdisjoint(verdicts):
        return EXIT_VIOLATED
    return EXIT_HOLDS if _UNDECIDED.isdisjoint(verdicts) else EXIT_UNKNOWN


def say(line: str) -> None:
    """Prints a line on standard error; control characters in names are escaped."""
    print(f"crownless: {printable_line(line)}", file=sys.stderr, flush=True)


def flush() -> None:
    """Flushes the output."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def code_of(error: BaseException) -> int:
    """Reports the exception in a line and returns its exit code, which is never that of a violation."""
    try:
        code = _said(error)
        flush()
    except OSError as problem:
        code = EXIT_BROKEN_PIPE if problem.errno == errno.EPIPE else EXIT_CANNOT_WRITE
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            _give_up_on(stream)
    return code


def _said(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt):
        say("interrupted")
        return EXIT_INTERRUPTED
    if isinstance(error, MemoryError):
        say("out of memory before any result; use a smaller bound")
        return EXIT_UNKNOWN
    if isinstance(error, OSError):
        return _said_of_input_and_output(error)
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    say(f"internal error: {error_line(error)[:200]}; please report it to the developers, with {_kept(error)}")
    return EXIT_INTERNAL_ERROR


def _said_of_input_and_output(error: OSError) -> int:
    if error.errno == errno.EPIPE:
        return EXIT_BROKEN_PIPE
    if error.filename is not None:
        say(f"{os.fsdecode(error.filename)}: {error.strerror}; check that it exists and is accessible")
        return EXIT_CANNOT_WRITE
    say(f"cannot write the answer: {error.strerror or error}; is the disk full?")
    return EXIT_CANNOT_WRITE


def _kept(error: BaseException) -> str:
    """Where to find the traceback, in words."""
    lines = [f"crownless {' '.join(sys.argv[1:])}\n", f"Python {sys.version}, {platform.platform()}\n\n"]
    lines += traceback.format_exception(error)
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="crownless-", suffix=".txt", delete=False, encoding="utf-8", errors="backslashreplace"
        ) as file:
            file.writelines(lines)
    except OSError:
        return f"what it prints with {TRACEBACK}=1 in the environment"
    return file.name


def _give_up_on(stream: TextIO) -> None:
    """Keeps Python from flushing an unwritable stream again at exit, which would change the exit code."""
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
