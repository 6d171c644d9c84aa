"""Options that several verbs share, each defined once: limits, parameters of a protocol."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

import click

from crownless.impl.protocol import Setting
from crownless.runtime.ending import Limits
from crownless.runtime.memory import memory_in_use
from crownless.spec.errors import BadInput

from .output import ASCII

Verb = TypeVar("Verb", bound=Callable[..., Any])


def with_limits(verb: Verb) -> Verb:
    """Gives a verb `--max-seconds` and `--max-memory`; it is called with both as `limits`."""

    @click.option(
        "--max-seconds",
        type=click.FloatRange(min=0),
        help="End after so many seconds, with what is known by then (exit code 3).",
    )
    @click.option(
        "--max-memory",
        metavar="SIZE",
        help="End at so much memory, such as 4G or 512M.  [default: three quarters of what is available]",
    )
    @wraps(verb)
    def limited(*arguments: Any, max_seconds: float | None, max_memory: str | None, **options: Any) -> Any:
        return verb(*arguments, limits=limits_of(max_seconds, max_memory), **options)

    return limited  # type: ignore[return-value]  # its options are added, which no type states


def with_output(verb: Verb) -> Verb:
    """Gives a verb `--json`, `--quiet` and `--ascii`; it is called with the first two as `as_json` and `quiet`."""
    options = [
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object with every fact."),
        click.option("--quiet", is_flag=True, help="No drawings and no progress."),
        with_ascii,
    ]
    for option in reversed(options):
        verb = option(verb)
    return verb


def with_ascii(verb: Verb) -> Verb:
    """Gives a verb `--ascii`, which `output` knows of."""

    def keep(context: click.Context, _: click.Parameter, given: bool) -> None:
        context.meta[ASCII] = given

    said = "Plain characters only, in drawings and tables."
    return click.option("--ascii", is_flag=True, expose_value=False, callback=keep, help=said)(verb)


def limits_of(max_seconds: float | None, max_memory: str | None) -> Limits:
    """The limits of these options."""
    if max_seconds is not None and not max_seconds >= 0:
        raise BadInput(f"--max-seconds {max_seconds}: not a number of seconds", hint="such as --max-seconds 60")
    memory = None if max_memory is None else parse_size(max_memory)
    used = memory_in_use()
    if memory is not None and memory < used:
        said = f"--max-memory: {used >> 20}M are in use before the search begins"
        raise BadInput(said, hint=f"give {used * 2 >> 20}M or more")
    return Limits(seconds=max_seconds, memory=memory)


def parse_size(size: str) -> int:
    """A number of bytes, such as 4G, 512M or 1.5GiB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([MGT])(?:i?B)?", size.strip(), re.IGNORECASE)
    if found is None or float(found[1]) < 1:
        raise BadInput(f"--max-memory {size}: not a size of 1M or more, in M, G or T", hint="such as 4G, or 512M")
    return int(float(found[1]) * (1 << {"M": 20, "G": 30, "T": 40}[found[2].upper()]))


def parse_settings(settings: Iterable[str]) -> dict[str, Setting]:
    """The values of `--set`: a number, or several separated by commas, one for each process."""
    parameters: dict[str, Setting] = {}
    for setting in settings:
        key, _, value = setting.partition("=")
        try:
            numbers = tuple(int(number) for number in value.split(","))
        except ValueError:
            hint = f"such as --set {key or 'KEY'}=4, or {key or 'KEY'}=4,4,5 for each process"
            raise BadInput(f"--set {setting}: not a KEY=VALUE with whole numbers", hint=hint) from None
        if key in parameters:
            raise BadInput(f"--set {setting}: {key} is set twice", hint="give it once")
        parameters[key] = numbers if len(numbers) > 1 else numbers[0]
    return parameters


def within(option: str, value: int, most: int, least: int = 1) -> int:
    """The value of an option; raises `BadInput` if it is not within these bounds."""
    if not least <= value <= most:
        raise BadInput(f"{option} {value}: not {least} to {most}", hint="3 is a good start")
    return value
