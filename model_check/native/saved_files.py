"""Access to the files of a saved directory, which are untrusted: regular files of that directory, and no others.

No symbolic link is followed, no pipe or device is waited for, and a new file is never one that was there before.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

#: The header that NumPy writes for arrays as they are saved here: rows of words, or one number or mark each.
_HEADER = re.compile(rb"\{'descr': '([^']+)', 'fortran_order': False, 'shape': \((\d{1,15}),(?: (\d{1,15}))?\), \} *\n")
_MAGIC = b"\x93NUMPY\x01\x00"


def open_regular(directory: Path, name: str) -> BufferedReader:
    """Opens a regular file of the directory for reading; raises OSError for all else."""
    if os.sep in name or name in ("", ".", "..") or "\0" in name:
        raise OSError(f"{name!r} is not a name of a file")
    opened = os.open(directory / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise OSError(f"{name} is not a regular file")
    return open(opened, "rb")


def create(directory: Path, name: str) -> BinaryIO:
    """Opens a new file of the directory for writing; what had its name is replaced, not written through."""
    path = directory / name
    path.unlink(missing_ok=True)
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    return os.fdopen(opened, "wb")


def digest_of_file(file: BufferedReader) -> str:
    """The SHA-256 of an open file, from its beginning."""
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


def map_array(file: BufferedReader, dtype: Any, dimensions: int) -> Any:
    """The array in an open file that NumPy wrote, read where it is needed; what is written to it stays in memory.

    Raises ValueError if the file does not hold an array of just this type and number of dimensions.
    """
    file.seek(0)
    start = file.read(len(_MAGIC) + 2)
    header = file.read(int.from_bytes(start[-2:], "little")) if start.startswith(_MAGIC) else b""
    found = _HEADER.fullmatch(header)
    if found is None or found[1].decode("latin-1") != np.dtype(dtype).str:
        raise ValueError("not an array of the expected type")
    shape = tuple(int(size) for size in found.groups()[1:] if size is not None)
    size = np.dtype(dtype).itemsize
    for length in shape:
        size *= length
    offset = file.tell()
    if len(shape) != dimensions or os.fstat(file.fileno()).st_size != offset + size:
        raise ValueError("not an array of the expected shape")
    if not size:
        return np.zeros(shape, dtype)
    return np.asarray(np.memmap(file, dtype, mode="c", offset=offset, shape=shape))
