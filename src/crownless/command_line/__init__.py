"""The command line: one file a verb. Names, keys and exit codes are what others script against."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from difflib import get_close_matches

import click

from crownless.spec.errors import BadInput

from .check import check
from .claims import claims
from .classify import classify
from .cost import cost
from .count import count
from .listing import list_
from .output import EXIT_BAD_INPUT, EXIT_BROKEN_PIPE, EXIT_HOLDS, EXIT_INTERRUPTED, say
from .prove import prove_
from .realize import realize
from .show import show


class Verbs(click.Group):
    """A group that suggests the nearest verb."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            known = self.list_commands(ctx)
            nearest = get_close_matches(args[0], known, n=1)
            suggestion = f"did you mean '{nearest[0]}'? " if nearest else ""
            raise BadInput(f"unknown verb '{args[0]}'", mend=f"{suggestion}known: {', '.join(known)}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
@click.version_option(package_name="crownless")
@click.pass_context
def crownless(context: click.Context) -> None:
    """Message order in distributed systems: is it kept, by whom, and why not?

    Exit codes: 0 holds (classify: every order asked for is kept), 1 violated, 2 bad usage or input, 3 unknown.
    """
    if context.invoked_subcommand is None:
        print(context.get_help())


for verb in (check, claims, classify, cost, count, realize, prove_, show, list_):
    crownless.add_command(verb)


def main(arguments: Sequence[str] | None = None) -> None:
    """The `crownless` command; always ends by `sys.exit`."""
    if sys.stdout is None or sys.stderr is None:
        if sys.stderr is not None:
            print("crownless: standard output is closed", file=sys.stderr)
        sys.exit(EXIT_BAD_INPUT)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # an arrow that cannot be shown is no reason to die
    try:
        code = crownless.main(args=None if arguments is None else list(arguments), standalone_mode=False)
        sys.stdout.flush()
    except BadInput as error:
        say(str(error))
        code = EXIT_BAD_INPUT
    except click.UsageError as error:
        where = f" ({error.ctx.command_path} --help)" if error.ctx is not None else ""
        say(f"{' '.join(error.format_message().split())}{where}")
        code = EXIT_BAD_INPUT
    except (click.Abort, KeyboardInterrupt):
        say("interrupted")
        code = EXIT_INTERRUPTED
    except OSError as error:
        say(f"cannot write the answer: {error.strerror}")
        code = EXIT_BAD_INPUT
    except SystemExit:  # click's way of saying that the reader of our output has gone, as `head` does
        code = EXIT_BROKEN_PIPE
    sys.exit(code or EXIT_HOLDS)
