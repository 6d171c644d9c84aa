"""Files named by options and arguments; outputs that cannot be written or would overwrite an input are refused early.

Each parameter that names a file has a type of this module, which compares it with those before it.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable_name

#: Keys for the files that a command line names, and for its command after `--`.
FILES, COMMAND = "crownless.files", "crownless.command"


class NamedFile(NamedTuple):
    """A file named on the command line, as an input or by an option for an output."""

    path: str
    named: str
    written: bool


class OutputFile(click.types.StringParamType):
    """A file to write."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name, option = os.fsdecode(value), option_of(param)
        if name == "-":
            raise BadInput(f"{option} cannot write to standard output", hint="name a file")
        path = Path(name)
        if not name:
            raise BadInput(f"{option}: the name is empty", hint="give a name")
        if path.is_dir():
            raise cannot_be_written(option, name, "Is a directory")
        if not path.parent.is_dir():
            raise cannot_be_written(option, name, "no such folder")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise cannot_be_written(option, name, "Permission denied")
        keep_output(ctx, option, name)
        return name

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


class OutputFolder(click.Path):
    """A folder to write to."""

    name = "folder"

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        option, name = option_of(param), os.fsdecode(value)
        if not name:
            raise BadInput(f"{option}: the name is empty", hint="give a name")
        path = Path(name)
        nearest = next(folder for folder in (path, *path.parents) if folder.exists())
        if not nearest.is_dir():
            hint = "name a new folder, or one that is there"
            raise BadInput(f"{option} {printable_name(name)}: {nearest} is not a folder", hint=hint)
        if not os.access(nearest, os.W_OK):
            raise cannot_be_written(option, name, "Permission denied")
        keep_output(ctx, option, name)
        return path


class InputFile(click.types.StringParamType):
    """A file to read: its name, `file.py:Class`, a bundled name, or a protocol."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        name = str(value)
        file = name.rpartition(":")[0] if ".py:" in name else name
        if os.path.exists(file):
            _keep(ctx, NamedFile(file, printable_name(name), written=False))
        return name


def option_of(param: click.Parameter | None) -> str:
    """The name of the parameter: `--svg`."""
    return "FILE" if param is None or isinstance(param, click.Argument) else max(param.opts, key=len)


def output_folder(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """A callback for options that name a directory in which a command works: no output has the same name."""
    if name:
        keep_output(context, option_of(parameter), name)
    return name


def keep_output(context: click.Context | None, option: str, name: str) -> None:
    """Records the option's output file; raises `BadInput` if it is also an input, or another option's file."""
    _keep(context, NamedFile(name, f"{option} {printable_name(name)}", written=True))


def cannot_be_written(option: str, name: str, error: OSError | ValueError | str) -> BadInput:
    """The error for an option's file that cannot be written."""
    why = error.strerror if isinstance(error, OSError) else str(error)
    return BadInput(f"{option} {printable_name(name)}: {why}", hint="name a file that can be written")


def _keep(context: click.Context | None, file: NamedFile) -> None:
    if context is None or context.resilient_parsing:
        return
    known: list[NamedFile] = context.meta.setdefault(FILES, [])
    of_command = [NamedFile(word, printable_name(word), written=False) for word in context.meta.get(COMMAND, ())]
    for other in (*known, *of_command):
        if not (file.written or other.written) or file.path == os.devnull:
            continue
        if os.path.realpath(file.path) != os.path.realpath(other.path):
            continue
        if file.written and other.written:
            raise BadInput(f"{other.named} and {file.named} are the same file", hint="give each its own file")
        output, read = (file, other) if file.written else (other, file)
        raise BadInput(f"{output.named} would overwrite its input {read.named}", hint="name another file")
    known.append(file)
