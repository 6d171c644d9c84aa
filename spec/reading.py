"""Reads files that may hold anything: text, and JSON by a schema. Whatever is wrong with one is a `BadInput`.

A schema is a type that msgspec knows, mostly a `msgspec.Struct`: values have just these types, numbers are in range,
keys that the schema does not name are ignored, and of a key given twice the last counts.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

from .errors import BadInput

T = TypeVar("T")

#: Larger inputs are refused: this is also where an endless one, such as a device, comes to its end.
MOST_BYTES = 1 << 30
_CHUNK = 1 << 20
_BOM = b"\xef\xbb\xbf"


def exists(path: Path) -> bool:
    """True if there is something of that name; of a name that no file can have, false."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def read_bytes(path: Path | None, file: str, *, mend: str = "name a text file") -> bytes:
    """All bytes of a text; `path` None is standard input. `file` is its name in errors."""
    try:
        if path is not None:
            with path.open("rb") as opened:
                return b"".join(_chunks(opened, file))
        if sys.stdin is None:
            raise BadInput("standard input is closed", mend="name a file", file=file)
        return b"".join(_chunks(sys.stdin.buffer, file))
    except OSError as error:
        raise BadInput(f"cannot read it: {error.strerror}", mend=mend, file=file) from None
    except BadInput:
        raise
    except ValueError:
        raise BadInput("cannot read it: it is closed, or no file has such a name", mend=mend, file=file) from None


def _chunks(opened: BinaryIO, file: str) -> Iterator[bytes]:
    size = 0
    while chunk := opened.read(_CHUNK):
        size += len(chunk)
        if b"\0" in chunk:
            raise BadInput("this is not text: it holds a NUL byte", mend="name a text file", file=file)
        if size > MOST_BYTES:
            raise BadInput(f"more than {MOST_BYTES >> 30} GiB", mend="use --engine spark for a log as large", file=file)
        yield chunk


def read_text(path: Path | None, file: str, *, mend: str = "name a text file") -> str:
    """A file of UTF-8 text, without its byte order mark."""
    content = read_bytes(path, file, mend=mend)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput("this is not UTF-8", mend="save the file as UTF-8 text", file=file, line=line) from None


def decode_json(content: bytes, schema: type[T], *, file: str, mend: str) -> T:
    """What JSON says, by its schema; raises `BadInput` with the line and column, or the JSON path, of what is wrong."""
    import msgspec  # by far not every verb reads JSON

    content = content.removeprefix(_BOM)
    try:
        try:
            return msgspec.json.decode(content, type=schema)
        except msgspec.ValidationError as error:
            msgspec.json.decode(content)  # what is not JSON at all is first said to be none
            raise BadInput(_in_words(str(error)), mend=mend, file=file) from None
    except msgspec.DecodeError as error:
        raise _malformed(content, str(error), mend).at(file=file) from None
    except UnicodeDecodeError:
        raise BadInput("this is not UTF-8", mend="save the file as UTF-8 text", file=file) from None
    except RecursionError:
        raise BadInput("not JSON that can be read: nested too deeply", mend=mend, file=file) from None


def _malformed(content: bytes, error: str, mend: str) -> BadInput:
    """Says where: ``JSON is malformed: invalid character (byte 5)``."""
    found = re.fullmatch(r"(?:JSON is malformed: )?(.*) \(byte (\d+)\)", error)
    if found is None:
        problem = "it ends too early, or holds half a surrogate pair" if "truncated" in error else error
        return BadInput(f"not JSON: {problem}", mend=mend, line=content.count(b"\n") + 1)
    before = content[: int(found[2])]
    line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
    return BadInput(f"not JSON: {found[1]}", mend=mend, line=line, column=column)


def _in_words(error: str) -> str:
    """``Expected `int`, got `str` - at `$.a[0]` `` → ``expected int, got str, at $.a[0]``."""
    problem, _, path = error.replace("`", "").partition(" - at ")
    return problem[:1].lower() + problem[1:] + (f", at {path}" if path else "")
