"""Options that commands share: everyday ones and others, groups of them, those of output; and shell completion."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from crownless.impl.registry import PROTOCOLS
from crownless.runtime import research_parts
from crownless.runtime.errors import BadInput

from .output import ASCII, JSON

#: Key for the flag that all options are shown.
ALL = "crownless.help_all"

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
            if isinstance(option, click.Option)
            and (ctx.meta.get(ALL) or not self.everyday or option.name in everyday or "--help" in option.opts)
            and (record := option.get_help_record(ctx))
        ]
        with formatter.section("Options"):
            formatter.write_dl(shown)


def _show_all(context: click.Context, _: click.Parameter, given: bool) -> None:
    if given and not context.resilient_parsing:
        context.meta[ALL] = True
        print(context.get_help())
        context.exit()


def grouped(
    key: str, names: str, made: Callable[..., Any], *options: Callable[[Run], Run], only_given: bool = False
) -> Callable[[Run], Run]:
    """Gives a command these options, with these names as its parameters; it is called with what `made` makes of their
    values, or of those that are given, as `key`.
    """

    def decorated(command: Run) -> Run:
        @wraps(command)
        def with_group(*arguments: Any, **given: Any) -> Any:
            values = {name: given.pop(name) for name in names.split()}
            if only_given:
                values = {
                    name: value for name, value in values.items() if value is not False and value not in (None, (), {})
                }
            return command(*arguments, **{key: made(**values)}, **given)

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


def within(option: str, value: int, most: int, least: int = 1) -> int:
    """The value of an option; raises `BadInput` if it is not within these bounds."""
    if not least <= value <= most:
        raise BadInput(f"{option} {value}: not {least} to {most}", hint="3 is a good start")
    return value


def complete_protocol(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The bundled protocols whose names have this prefix; or else files, which may hold a protocol."""
    known = [CompletionItem(name) for name in PROTOCOLS if name.startswith(incomplete)]
    return known or [CompletionItem(incomplete, type="file")]
