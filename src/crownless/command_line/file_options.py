"""Files that options and arguments name: no output replaces an input, or another output.

Each parameter that names a file has a type of this module, which compares it with those before it. So what cannot be
written is refused before any work is done.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from crownless.impl import own_protocols
from crownless.impl.registry import PROTOCOLS
from crownless.spec.errors import BadInput
from crownless.spec.printable import printable_name

#: Where the files are kept that a command names, and the command after `--` that it has.
FILES, COMMAND = "crownless.files", "crownless.command"
#: The file that standard input comes from, if it is one.
STDIN = "/dev/stdin"


class NamedFile(NamedTuple):
    """A file that a command names, and how: as an input, or by an option for an output."""

    path: Path
    named: str
    written: bool


class OutputFile(click.types.StringParamType):
    """A file to write."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name, option = os.fsdecode(value), option_of(param)
        _refuse_no_name(option, name)
        if name == "-":
            raise BadInput(f"{option} -: this goes to a file, not to standard output", hint="name a file")
        _refuse_unwritable(option, name)
        keep_output(ctx, option, name)
        return name

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


class OutputFolder(click.Path):
    """A folder to write to. Its name must be text: Arrow, Spark and web pages take no other."""

    name = "folder"

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        option = option_of(param)
        _refuse_no_name(option, os.fsdecode(value))
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        try:
            str(path).encode("utf-8")
        except UnicodeEncodeError:
            raise BadInput(f"{option} {path}: the name is not UTF-8", hint="name another folder") from None
        _refuse_unusable(path, option)
        keep_output(ctx, option, str(path))
        return path


class InputFile(click.types.StringParamType):
    """A file to read: its name, `file.py:Class`, `package.module:Class`, a bundled name, or a protocol."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name = str(value)
        named = "standard input" if name == "-" else printable_name(name)
        _keep(ctx, [NamedFile(path, named, written=False) for path in self.paths(name)])
        return name

    def paths(self, name: str) -> list[Path]:
        """The files that it may mean."""
        if name in PROTOCOLS:
            return []
        return [Path(STDIN if name == "-" else name), *_paths_of_class(name)]


class InputClass(InputFile):
    """The same where there is no class of another name than `file.py:Class`, such as that of a protocol."""

    def paths(self, name: str) -> list[Path]:
        return _paths_of_class(name)


def option_of(param: click.Parameter | None) -> str:
    """What the parameter is called: `--svg`."""
    return "FILE" if param is None or isinstance(param, click.Argument) else max(param.opts, key=len)


def output_folder(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """A callback for options that name a directory in which a verb works: no output has the same name."""
    if name:
        keep_output(context, option_of(parameter), name)
    return name


def keep_output(context: click.Context | None, option: str, name: str) -> None:
    """Notes that the option's file is written; raises `BadInput` if it is an input, or another option's, too."""
    _keep(context, [NamedFile(Path(name), f"{option} {printable_name(name)}", written=True)])


def cannot_be_written(option: str, name: str, error: OSError | ValueError) -> BadInput:
    """The refusal of an option's file that cannot be written."""
    why = error.strerror if isinstance(error, OSError) else str(error)
    return BadInput(f"{option} {printable_name(name)}: {why}", hint="name a file that can be written")


def _keep(context: click.Context | None, files: list[NamedFile]) -> None:
    if context is None or context.resilient_parsing:
        return
    known: list[NamedFile] = context.meta.setdefault(FILES, [])
    of_command = [NamedFile(Path(word), printable_name(word), written=False) for word in context.meta.get(COMMAND, ())]
    for file in files:
        if file.written and _is_standard_output(file.path):
            raise BadInput(f"{file.named} is the file that standard output goes to", hint="name another file")
        for other in (*known, *of_command):
            if file.written and other.written and _same_name(file.path, other.path):
                raise BadInput(f"{other.named} and {file.named} are the same file", hint="give each a file of its own")
            if file.written != other.written and _same_file(file.path, other.path):
                output, read = (file, other) if file.written else (other, file)
                raise BadInput(f"{output.named} would overwrite its input {read.named}", hint="name another file")
    known += files


def _same_file(one: Path, other: Path) -> bool:
    """True if both are one file that is there; a device, such as `/dev/null`, is none."""
    try:
        return os.path.samefile(one, other) and not stat.S_ISCHR(one.stat().st_mode)
    except (OSError, ValueError):
        return False


def _is_standard_output(path: Path) -> bool:
    """True if standard output was redirected into that file."""
    try:
        there, output = path.stat(), os.fstat(1)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(output.st_mode) and os.path.samestat(there, output)


def _same_name(one: Path, other: Path) -> bool:
    """The same of files that may not be there yet."""
    return _same_file(one, other) or (not one.exists() and os.path.realpath(one) == os.path.realpath(other))


def _paths_of_class(name: str) -> list[Path]:
    """The files that a class of somebody's own may be in."""
    if not own_protocols.is_own(name):
        return []
    file = name.rpartition(":")[0] or name
    module = Path(*file.split("."))
    folders = dict.fromkeys((".", *sys.path))
    of_module = (
        Path(folder) / each for folder in folders for each in (module.with_suffix(".py"), module / "__init__.py")
    )
    return [Path(file), *of_module]


def _refuse_no_name(option: str, name: str) -> None:
    if not name:
        raise BadInput(f"{option}: the name is empty", hint="give a name")


def _refuse_unwritable(option: str, name: str) -> None:
    """Raises `BadInput` if this is a directory, or cannot be made or written where it is to be."""
    path = Path(name)
    try:
        if path.is_dir():
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISDIR(os.stat(path.parent).st_mode):
            raise OSError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, ValueError) as error:
        raise cannot_be_written(option, name, error) from None


def _refuse_unusable(path: Path, option: str) -> None:
    """Raises `BadInput` if this is no folder, and none can be made there."""
    nearest = path
    while True:
        try:
            nearest.lstat()
            break
        except (FileNotFoundError, NotADirectoryError):
            nearest = nearest.parent
        except OSError as error:
            raise BadInput(f"{option} {path}: {error.strerror}", hint="name another folder") from None
    if not nearest.is_dir():
        raise BadInput(f"{option} {path}: {nearest} is not a folder", hint="name a new folder, or one that is there")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise BadInput(f"{option} {path}: nothing can be written to {nearest}", hint="name another folder")
