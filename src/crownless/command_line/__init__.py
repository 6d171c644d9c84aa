"""The command line: one file per command. Names, keys and exit codes are stable, since scripts rely on them.

A command is imported when it is used, since some of their libraries take long to import.
"""

import io
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module

import click

from crownless.runtime import research_parts
from crownless.runtime.ending import INTERRUPTED, Stopped, watching
from crownless.runtime.errors import BadInput
from crownless.runtime.research_parts import Entry

from .endings import EXIT_BAD_INPUT, EXIT_BROKEN_PIPE, EXIT_HOLDS, EXIT_INTERRUPTED, EXIT_UNKNOWN, code_of, flush, say

_HERE = f"{__name__}.commands"
_CORE = {
    "check": Entry(f"{_HERE}.check", "check", "Explore every interleaving of a protocol within a bound."),
    "classify": Entry(f"{_HERE}.classify", "classify", "Decide which orders computations and event logs keep."),
    "conform": Entry(f"{_HERE}.conform", "conform_", "Drive an external implementation through every schedule."),
    "count": Entry(f"{_HERE}.count", "count", "Count the complete computations in each order."),
    "explore": Entry(f"{_HERE}.explore", "explore", "Step through runs on an interactive page."),
    "list": Entry(f"{_HERE}.listing", "list_", "List protocols, orders, properties, channels and programs."),
    "new": Entry(f"{_HERE}.new", "new", "Write a template: a protocol, or an adapter for conform."),
    "prove": Entry(f"{_HERE}.prove", "prove_", "Prove a protocol's order for any number of processes."),
    "realize": Entry(f"{_HERE}.realize", "realize", "Find which computations a protocol can generate."),
    "show": Entry(f"{_HERE}.show", "show", "Draw a run or a computation."),
    "vectors": Entry(f"{_HERE}.vectors", "vectors", "Write test vectors for other implementations."),
}
COMMANDS = dict(sorted((_CORE | research_parts.commands()).items()))

#: The commands in the order in which the help lists them.
SECTIONS = {
    "Everyday": ("check", "classify", "conform", "show", "explore", "new", "list"),
    "Research": ("claims", "prove", "realize", "knobs", "count", "cost", "vectors"),
}


class Commands(click.Group):
    """A group that imports a command when it is used, and suggests the nearest one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        known = COMMANDS[cmd_name]
        command = getattr(import_module(known.module), known.name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, names in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, COMMANDS[name].does) for name in names if name in COMMANDS])

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except Stopped as ended:
            from .output import JSON, print_json  # which needs what it prints

            if ctx.meta.get(JSON):
                print_json({"stopped": str(ended)})
            say(f"{ended}; no results yet")
            return EXIT_INTERRUPTED if str(ended) == INTERRUPTED else EXIT_UNKNOWN
        except KeyboardInterrupt as error:  # click would print an empty line
            raise click.Abort from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            nearest = get_close_matches(args[0], COMMANDS, n=1)
            suggestion = f"did you mean '{nearest[0]}'? " if nearest else ""
            raise BadInput(f"unknown command '{args[0]}'", hint=f"{suggestion}known: {', '.join(COMMANDS)}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(package_name="crownless")
@click.pass_context
def crownless(context: click.Context) -> None:
    """Check message ordering (FIFO, causal, synchronous ...) in protocols, implementations and logs.

    \b
    Examples:
      crownless check                  every protocol, with the expected verdicts
      crownless check rst -n 3 -m 4    one protocol, over every interleaving
      crownless classify log.jsonl     which orders does a log keep?

    Exit codes: 0 holds (check without a protocol: all as expected), 1 violated, 2 bad usage or input, 3 unknown (limit
    reached, or interrupted), 70 internal error, 74 output could not be written, 130 interrupted with nothing to report,
    141 output pipe closed. More: docs/command_line.md.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> None:
    """The `crownless` command; always ends by `sys.exit`."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # an arrow that cannot be shown is no reason to die
        code = _run(arguments)
        flush()
    except SystemExit as ended:  # click completes a shell's word, or says that our reader has gone, as `head` does
        code = EXIT_BROKEN_PIPE if ended.code else EXIT_HOLDS
    except click.Abort:
        code = code_of(KeyboardInterrupt())
    except (Exception, KeyboardInterrupt) as error:
        code = code_of(error)
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        with watching():
            code = crownless.main(
                args=None if arguments is None else list(arguments), prog_name="crownless", standalone_mode=False
            )
    except BadInput as error:
        say(str(error))
        return EXIT_BAD_INPUT
    except click.UsageError as error:
        where = f" ({error.ctx.command_path} --help)" if error.ctx is not None else ""
        say(f"{error.format_message()}{where}")
        return EXIT_BAD_INPUT
    return code or EXIT_HOLDS
