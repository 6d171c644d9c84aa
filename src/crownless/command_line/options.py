"""Options that several commands share, each defined once: limits, parameters of a protocol; and shell completion."""

import re
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from crownless.impl.channels import CHANNELS
from crownless.impl.protocol import Setting
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.system.request import load_program, refuse_asynchronous
from crownless.runtime import research_parts
from crownless.runtime.ending import Limits
from crownless.runtime.errors import BadInput
from crownless.runtime.memory import memory_in_use
from crownless.spec.enumeration import SENDS, known_sends

from .file_options import InputFile
from .output import ASCII, JSON

#: Key for the flag that all options are shown.
ALL = "crownless.help_all"

#: The channels, as help texts list them.
CHANNEL_NAMES = " or ".join(", ".join(CHANNELS).rsplit(", ", 1))
#: The kinds of sends, likewise.
KINDS_OF_SENDS = " or ".join(", ".join(SENDS).rsplit(", ", 1))

#: The help of `--max-seconds`.
MAX_SECONDS = "Stop after this time and report the results so far (exit code 3)."

Run = TypeVar("Run", bound=Callable[..., Any])


class Command(click.Command):
    """A command whose help shows the everyday options; `--help-all` shows the others too.

    `everyday`: their names, as parameters of the command's function; none: all are.
    """

    def __init__(self, *arguments: Any, everyday: str = "", **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.everyday = everyday.split()
        self.params.append(
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=_show_all,
                help="Show all options, and exit.",
            )
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        everyday = [*self.everyday, "help_all"]
        shown = [
            record
            for option in self.get_params(ctx)
            if (ctx.meta.get(ALL) or not self.everyday or option.name in everyday or "--help" in option.opts)
            and (record := option.get_help_record(ctx))
        ]
        with formatter.section("Options"):
            formatter.write_dl(shown)


def _show_all(context: click.Context, _: click.Parameter, given: bool) -> None:
    if given and not context.resilient_parsing:
        context.meta[ALL] = True
        print(context.get_help())
        context.exit()


def grouped(key: str, names: str, made: Callable[..., Any], *options: Callable[[Run], Run]) -> Callable[[Run], Run]:
    """Gives a command these options, with these names as its parameters; it is called with what `made` makes of their
    values, as `key`.
    """

    def decorated(command: Run) -> Run:
        @wraps(command)
        def with_group(*arguments: Any, **given: Any) -> Any:
            value = made(**{name: given.pop(name) for name in names.split()})
            return command(*arguments, **{key: value}, **given)

        for option in reversed(options):
            with_group = option(with_group)
        return with_group  # type: ignore[return-value]  # its options are added, which no type states

    return decorated


def with_research_flags(command: str) -> Callable[[Run], Run]:
    """Gives a command the options that research adds to it; it is called with the one that is given, as `research`."""
    known = {flag.name: flag for flag in research_parts.flags(command)}

    def chosen(**given: bool) -> research_parts.Flag | None:
        return next((known[name] for name in known if given[name]), None)

    options = [click.option(f"--{flag.name}", is_flag=True, help=flag.help) for flag in known.values()]
    return grouped("research", " ".join(known), chosen, *options)


def _system(*, settings: dict[str, Setting], program: str | None = None, **given: Any) -> dict[str, Any]:
    """The options that are given, by the field names of `Check`."""
    given |= {"program": None if program is None else load_program(program), "parameters": settings}
    system = {name: value for name, value in given.items() if value is not False and value not in (None, (), {})}
    if program is not None and system.keys() & {"processes", "messages", "sends", "self_sends"}:
        hint = "leave out -n, -m, --sends and --self-sends"
        raise BadInput("a program has its own processes and messages", hint=hint)
    if "sends" in system:
        known_sends(system["sends"])
    if "orders" in system:
        refuse_asynchronous(system["orders"], "--order")
    return system


def _parsed_settings(context: click.Context, option: click.Parameter, given: Iterable[str]) -> dict[str, Setting]:
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


def _one_crash(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> str | None:
    """The value of `--crash`, which may be given once."""
    if len(given) > 1:
        raise BadInput(f"--crash {' --crash '.join(given)}: at most one process may crash", hint="give it once")
    return given[0] if given else None


def with_settings(said: str) -> Callable[[Run], Run]:
    """The option `--set`; a command is called with the values by name, as `settings`."""
    return click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", callback=_parsed_settings, help=said)


#: The options that define the system to check, by the names under which commands get them.
SYSTEM: dict[str, Callable[[Any], Any]] = {
    "processes": click.option(
        "-n", "--processes", type=int, help="Number of processes.  [default: the protocol's own, usually 3]"
    ),
    "messages": click.option(
        "-m", "--messages", type=int, help="Total number of sends.  [default: the protocol's own, usually 4]"
    ),
    "program": click.option(
        "--program", type=InputFile(), help="A program (file or bundled name) instead of the free workload."
    ),
    "channel": click.option("--channel", help=f"{CHANNEL_NAMES}.  [default: the one the protocol needs]"),
    "orders": click.option(
        "--order", "orders", multiple=True, help="Check this order (repeatable).  [see crownless list]"
    ),
    "sends": click.option("--sends", help=f"{KINDS_OF_SENDS}.  [default: the protocol's own]"),
    "self_sends": click.option("--self-sends", is_flag=True, help="Processes may also send to themselves."),
    "crash": click.option(
        "--crash", multiple=True, metavar="PROCESS", callback=_one_crash, help="A process that may crash, such as P1."
    ),
    "settings": with_settings("Set a protocol parameter; KEY=4,4,5 sets it per process."),
}


def with_system(*names: str) -> Callable[[Run], Run]:
    """Gives a command these options of `SYSTEM`, or all, as `system`: those given, by the field names of `Check`."""
    names = names or tuple(SYSTEM)
    return grouped("system", " ".join(names), _system, *(SYSTEM[name] for name in names))


def limits_of(max_seconds: float | None, max_memory: str | None) -> Limits:
    """The limits of these options."""
    if max_seconds is not None and not max_seconds >= 0:
        raise BadInput(f"--max-seconds {max_seconds}: not a number of seconds", hint="such as --max-seconds 60")
    memory = None if max_memory is None else parse_size(max_memory)
    used = memory_in_use()
    if memory is not None and memory < used:
        said = f"--max-memory: {used >> 20}M are already in use before the search starts"
        raise BadInput(said, hint=f"give {used * 2 >> 20}M or more")
    return Limits(seconds=max_seconds, memory=memory)


#: The options `--max-seconds` and `--max-memory`, as `limits`.
with_limits = grouped(
    "limits",
    "max_seconds max_memory",
    limits_of,
    click.option(
        "--max-seconds",
        type=click.FloatRange(min=0),
        help=MAX_SECONDS,
    ),
    click.option(
        "--max-memory",
        metavar="SIZE",
        help="Memory to use, such as 4G or 512M.  [default: three quarters of what is available]",
    ),
)


def _keep_json(context: click.Context, _: click.Parameter, given: bool) -> bool:
    context.meta[JSON] = given
    return given


def with_output(command: Run) -> Run:
    """Gives a command `--json`, `--quiet` and `--ascii`; it is called with the first two as `as_json` and `quiet`."""
    options = [
        click.option(
            "--json", "as_json", is_flag=True, callback=_keep_json, help="Print one JSON object with every fact."
        ),
        click.option("--quiet", is_flag=True, help="No drawings and no progress."),
        with_ascii,
    ]
    for option in reversed(options):
        command = option(command)
    return command


def with_ascii(command: Run) -> Run:
    """Gives a command `--ascii`, which `output` heeds."""

    def keep(context: click.Context, _: click.Parameter, given: bool) -> None:
        context.meta[ASCII] = given

    said = "Plain characters only, in drawings and tables."
    return click.option("--ascii", is_flag=True, expose_value=False, callback=keep, help=said)(command)


def parse_size(size: str) -> int:
    """A number of bytes, such as 4G, 512M or 1.5GiB."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([MGT])(?:i?B)?", size.strip(), re.IGNORECASE)
    if found is None or float(found[1]) < 1:
        raise BadInput(f"--max-memory {size}: not a size of 1M or more, in M, G or T", hint="such as 4G, or 512M")
    return int(float(found[1]) * (1 << {"M": 20, "G": 30, "T": 40}[found[2].upper()]))


def within(option: str, value: int, most: int, least: int = 1) -> int:
    """The value of an option; raises `BadInput` if it is not within these bounds."""
    if not least <= value <= most:
        raise BadInput(f"{option} {value}: not {least} to {most}", hint="3 is a good start")
    return value


def complete_protocol(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The bundled protocols whose names have this prefix; or else files, which may hold a protocol."""
    known = [CompletionItem(name) for name in PROTOCOLS if name.startswith(incomplete)]
    return known or [CompletionItem(incomplete, type="file")]
