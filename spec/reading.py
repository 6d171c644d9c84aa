"""Text from a file, standard input or a pipe; endless input, and a pipe without a writer, are refused."""

from __future__ import annotations

import os
import shlex
import stat
import sys
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import IO

from .errors import BadInput

#: Seconds until somebody must have begun to write to a named pipe.
PATIENCE = 5.0
#: Read at a time: in between a signal has its turn.
BLOCK = 1 << 20


def read_text(path: Path | None, name: str) -> str:
    """The UTF-8 text in a file, or, without a path, from standard input; raises `BadInput`, which names it `name`."""
    return as_text(read_bytes(path, name), name)


def as_text(content: bytes, name: str) -> str:
    """The UTF-8 text in these bytes; raises `BadInput`, which names them `name`."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput("this is not UTF-8", hint="save the file as UTF-8 text", file=name, line=line) from None


def read_bytes(path: Path | None, name: str, report: Callable[[int], None] | None = None) -> bytes:
    """What is in a file or, without a path, comes from standard input; raises `BadInput`, which names it `name`.

    `report` gets the number of bytes that are read so far, now and then.
    """
    try:
        if path is None:
            if sys.stdin is None:
                raise BadInput("standard input is closed", hint="give a file, or something to read", file=name)
            _refuse_devices(sys.stdin.fileno(), name)
            return _all_of(sys.stdin.buffer, b"", report)
        # Opening a named pipe without a writer would block for ever.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with open(file, "rb", buffering=0) as opened:
            _refuse_devices(file, name)
            before = os.fstat(file)
            first = _first_of_a_pipe(file, name) if stat.S_ISFIFO(before.st_mode) else b""
            os.set_blocking(file, True)
            content = _all_of(opened, first, report)
            after = os.fstat(file)
            if stat.S_ISREG(before.st_mode) and _version(before) != _version(after):
                hint = f"give a copy of it: cp {shlex.quote(name)} COPY"
                raise BadInput("it changed while it was read", hint=hint, file=name)
            return content
    except OSError as error:
        raise BadInput(f"cannot read it: {error.strerror}", hint="name a text file or a log", file=name) from error


def _all_of(opened: IO[bytes], first: bytes, report: Callable[[int], None] | None) -> bytes:
    content = BytesIO()
    content.write(first)
    while block := opened.read(BLOCK):
        content.write(block)
        if report is not None:
            report(content.tell())
    return content.getvalue()


def _version(known: os.stat_result) -> tuple[int, int]:
    return known.st_size, known.st_mtime_ns


def _refuse_devices(file: int, name: str) -> None:
    """Refuses devices without an end: all but terminals, and the empty one."""
    known = os.fstat(file)
    if stat.S_ISCHR(known.st_mode) and (os.isatty(file) or known.st_rdev == os.stat(os.devnull).st_rdev):
        return
    if stat.S_ISCHR(known.st_mode) or stat.S_ISBLK(known.st_mode):
        raise BadInput("this is a device, not a file", hint="name a text file or a log", file=name)


def _first_of_a_pipe(file: int, name: str) -> bytes:
    """The first bytes of a pipe; until somebody writes to it, it reads as ended."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            first = os.read(file, BLOCK)
        except BlockingIOError:
            return b""  # somebody has opened it, and has not written yet
        if first:
            return first
        time.sleep(0.05)
    raise BadInput("this is a pipe without a writer", hint="name a text file or a log", file=name)
