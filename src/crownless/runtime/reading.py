"""Text from a file, standard input or a pipe; and untrusted JSON, read by a schema.

A schema is a type that msgspec knows, usually a `msgspec.Struct`: values have exactly these types, numbers are in
range, keys that the schema does not name are ignored, and the last one counts if a key is given twice.
"""

import re
import sys
from pathlib import Path
from typing import TypeVar

from .errors import BadInput

T = TypeVar("T")

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
        raise BadInput("standard input is closed", hint="give a file, or open standard input", file=name)
    if path is not None and path.name in ENDLESS and path.is_char_device():
        raise BadInput("this is a device, not a file", hint="name a text file or a log", file=name)
    try:
        return sys.stdin.buffer.read() if path is None else path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read it: {error.strerror}", hint="name a text file or a log", file=name) from error


def decode_json(content: bytes, schema: type[T], *, file: str, hint: str) -> T:
    """The value of JSON text by its schema; raises `BadInput` with line and column, or JSON path, of the error."""
    import msgspec  # few commands read JSON

    content = content.removeprefix(b"\xef\xbb\xbf")  # a byte order mark
    try:
        try:
            return msgspec.json.decode(content, type=schema)
        except msgspec.ValidationError as error:
            msgspec.json.decode(content)  # text that is not JSON is refused first
            raise BadInput(_in_words(str(error)), hint=hint, file=file) from None
    except msgspec.DecodeError as error:
        raise _malformed(content, str(error), hint).at(file=file) from None
    except UnicodeDecodeError:
        raise BadInput("this is not UTF-8", hint="save the file as UTF-8 text", file=file) from None
    except RecursionError:
        raise BadInput("not JSON that can be read: nested too deeply", hint=hint, file=file) from None


def _malformed(content: bytes, error: str, hint: str) -> BadInput:
    """Adds the place: ``JSON is malformed: invalid character (byte 5)``."""
    found = re.fullmatch(r"(?:JSON is malformed: )?(.*) \(byte (\d+)\)", error)
    if found is None:
        problem = "it ends too early, or holds half a surrogate pair" if "truncated" in error else error
        return BadInput(f"not JSON: {problem}", hint=hint, line=content.count(b"\n") + 1)
    before = content[: int(found[2])]
    line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
    return BadInput(f"not JSON: {found[1]}", hint=hint, line=line, column=column)


def _in_words(error: str) -> str:
    """``Expected `int`, got `str` - at `$.a[0]` `` → ``expected int, got str, at $.a[0]``."""
    problem, _, path = error.replace("`", "").partition(" - at ")
    return problem[:1].lower() + problem[1:] + (f", at {path}" if path else "")
