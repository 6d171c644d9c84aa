"""Text from a file, standard input or a pipe."""

import sys
from pathlib import Path

from .errors import BadInput

#: Devices that can be read without an end.
ENDLESS = ("zero", "full", "random", "urandom")


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


def read_bytes(path: Path | None, name: str) -> bytes:
    """The content of a file or, without a path, of standard input; raises `BadInput`, which names it `name`."""
    if path is None and sys.stdin is None:
        raise BadInput("standard input is closed", hint="give a file, or something to read", file=name)
    if path is not None and path.name in ENDLESS and path.is_char_device():
        raise BadInput("this is a device, not a file", hint="name a text file or a log", file=name)
    try:
        return sys.stdin.buffer.read() if path is None else path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read it: {error.strerror}", hint="name a text file or a log", file=name) from error
