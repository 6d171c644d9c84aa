"""The options of a command that a request declares, each given as its kind requires."""

import math
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from crownless.impl.protocol import Setting
from crownless.model_check.system.request import Check, load_program, refuse_asynchronous
from crownless.runtime.errors import BadInput
from crownless.runtime.memory import bytes_of, memory_in_use
from crownless.runtime.requests import Declared, Limited, Option, declared

from .file_options import InputFile, keep_output, option_of
from .options import Run, grouped

#: Where the context keeps the directories in which a command works.
FOLDERS = __name__


def with_request(request: type, key: str, names: str = "", made: Callable[..., Any] = dict) -> Callable[[Run], Run]:
    """Gives a command the options that the request declares, or those of these names; it is called with what `made`
    makes of those that are given, as `key`.
    """
    options = [one for one in declared(request) if one.option.flags and (not names or one.name in names.split())]
    each = map(_on_command_line, options)
    return grouped(key, " ".join(one.name for one in options), made, *each, only_given=True)


def with_system(names: str = "") -> Callable[[Run], Run]:
    """Gives a command the options of `Check`, or those of these names, as `system`: those given, by their names."""
    return with_request(Check, "system", names)


def _on_command_line(one: Declared) -> Callable[[Run], Run]:
    """The option, as click has it."""
    option = one.option
    how = {"help": option.means, "metavar": option.metavar, **_KINDS[option.kind](option)}
    if option.kind in ("names", "orders"):
        how["help"] = re.sub(r"\.(?=  \[|$)", " (repeatable).", option.means, count=1)
    elif isinstance(one.default, str | float | int) and one.default is not False and "[default:" not in option.means:
        how["help"] += f"  [default: {one.default}]"
    return click.option(*option.flags, one.name, required=one.required, **how)


# -- kinds of options --------------------------------------------------------------------------------------------------


class Number(click.types.IntParamType):
    """A whole number within bounds."""

    name = "integer"

    def __init__(self, least: float = 1, most: int | None = None) -> None:
        self.least, self.most = int(least), most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:
            raise _refused(param, value, "not a whole number", f"give one, such as {max(self.least, 3)}") from None
        if number < self.least or (self.most is not None and number > self.most):
            hint = f"give {self.least} or more" if self.most is None else f"give {self.least} to {self.most}"
            raise _refused(param, value, f"too {'small' if number < self.least else 'large'}", hint)
        return number


class Seconds(click.types.FloatParamType):
    """A number of seconds."""

    name = "seconds"

    def __init__(self, least: float) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not seconds >= self.least:
            raise _refused(param, value, "not a number of seconds", "such as 60")
        return seconds


class Size(click.types.IntParamType):
    """A number of bytes, such as 4G, which is more than is in use."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        memory, used = bytes_of(str(value)), memory_in_use()
        if memory is None:
            raise _refused(param, value, "not a size of 1M or more, in M, G or T", "such as 4G, or 512M")
        if memory < used:
            said = f"{option_of(param)}: {used >> 20}M are already in use before the search starts"
            raise BadInput(said, hint=f"give {used * 2 >> 20}M or more")
        return memory


def _refused(param: click.Parameter | None, value: Any, problem: str, hint: str) -> BadInput:
    flags = "/".join(param.opts) if param is not None else ""
    return BadInput(f"{flags} {value}: {problem}", hint=hint)


def _settings(context: click.Context, param: click.Parameter, given: Iterable[str]) -> dict[str, Setting]:
    """The values of `--set`: a number, or several separated by commas, one for each process."""
    parameters: dict[str, Setting] = {}
    for setting in given:
        key, _, value = setting.partition("=")
        try:
            numbers = tuple(int(number) for number in value.split(","))
        except ValueError:
            hint = f"such as --set {key or 'KEY'}=4, or {key or 'KEY'}=4,4,5 for one value per process"
            raise BadInput(f"--set {setting}: not a KEY=VALUE with whole numbers", hint=hint) from None
        if key in parameters:
            raise BadInput(f"--set {setting}: {key} is set twice", hint="give it once")
        parameters[key] = numbers if len(numbers) > 1 else numbers[0]
    return parameters


def _orders(context: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    refuse_asynchronous(given, option_of(param))
    return given


def _one_process(context: click.Context, param: click.Parameter, given: tuple[str, ...]) -> str | None:
    if len(given) > 1:
        each = " ".join(f"{option_of(param)} {name}" for name in given)
        raise BadInput(f"{each}: at most one process may crash", hint="give it once")
    return given[0] if given else None


def _folder(context: click.Context, param: click.Parameter, name: str | None) -> Path | None:
    """A directory in which a command works: no output has the same name."""
    if name is None:
        return None
    if not name:
        raise BadInput(f"{option_of(param)}: the directory name is empty", hint="name one")
    folders: set[str] = context.meta.setdefault(FOLDERS, set())
    if os.path.realpath(name) not in folders:  # that of two options is refused by what works in it
        keep_output(context, option_of(param), name)
        folders.add(os.path.realpath(name))
    return Path(name)


def _program(context: click.Context, param: click.Parameter, name: str | None) -> Any:
    return None if name is None or context.resilient_parsing else load_program(name)


#: What click is to know of an option of each kind; objects are for Python only.
_KINDS: dict[str, Callable[[Option], dict[str, Any]]] = {
    "flag": lambda option: {"is_flag": True},
    "folder": lambda option: {"callback": _folder},
    "name": lambda option: {},
    "names": lambda option: {"multiple": True},
    "number": lambda option: {"type": Number(option.least, option.most)},
    "orders": lambda option: {"multiple": True, "callback": _orders},
    "process": lambda option: {"multiple": True, "callback": _one_process},
    "program": lambda option: {"type": InputFile(), "callback": _program},
    "seconds": lambda option: {"type": Seconds(option.least)},
    "settings": lambda option: {"multiple": True, "callback": _settings},
    "size": lambda option: {"type": Size()},
}


def with_settings(said: str) -> Callable[[Run], Run]:
    """The option `--set`; a command is called with the values by name, as `settings`."""
    return click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", callback=_settings, help=said)


#: The options `--max-seconds` and `--max-memory`, as `limits`.
with_limits = with_request(Limited, "limits", made=lambda **given: Limited(**given).limits)
