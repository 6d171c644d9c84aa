"""Implementations on the command line: `FILE.py:CLASS`, or a command after `--`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import click

from crownless.impl import own_protocols
from crownless.model_check.conformance.bodies import to_ignore
from crownless.model_check.conformance.in_process import InProcess
from crownless.model_check.conformance.line_forms import FORMS, known_form
from crownless.model_check.conformance.node import Implementation, NodeLimits
from crownless.model_check.conformance.out_of_process import OutOfProcess, closing
from crownless.model_check.conformance.sockets.socket_nodes import SocketNodes
from crownless.model_check.conformance.sockets.speaking import Speaking
from crownless.spec.enumeration import known_sends
from crownless.spec.errors import BadInput

from . import options
from .file_options import COMMAND

Verb = TypeVar("Verb", bound=Callable[..., Any])


class Ways(NamedTuple):
    """The options that say how nodes are spoken to."""

    form: str | None
    prefix: str | None
    ignore: str | None
    timeout: float

    @property
    def of_command(self) -> dict[str, str | None]:
        """Those that only a command has, by their names."""
        return {"--form": self.form, "--prefix": self.prefix}


def with_ways(verb: Verb) -> Verb:
    """Gives a verb these options; it is called with them as `ways`."""

    @click.option("--form", help="Lines of COMMAND: plain, json or maelstrom.  [default: plain]")
    @click.option("--prefix", help="COMMAND's own lines begin with this; all others are ignored.")
    @click.option("--ignore", metavar="REGEX", help="What makes no difference in packets, such as time stamps.")
    @click.option(
        "--timeout", type=click.FloatRange(min=0.01), default=5.0, show_default=True, help="Seconds for an answer."
    )
    @wraps(verb)
    def with_them(
        *arguments: Any, form: str | None, prefix: str | None, ignore: str | None, timeout: float, **options: Any
    ) -> Any:
        return verb(*arguments, ways=Ways(form, prefix, ignore, timeout), **options)

    return with_them  # type: ignore[return-value]  # its options are added, which no type states


class WithCommand(options.Verb):
    """A verb after whose `--` there may be the command of a program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            ctx.meta[COMMAND] = args[args.index("--") + 1 :]
            args = args[: args.index("--")]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        (subject,) = (one.make_metavar(ctx) for one in self.params if isinstance(one, click.Argument))
        return ["[OPTIONS]", f"[{subject.strip('[]')} | -- COMMAND...]"]


@contextmanager
def implementation_of(
    node: str | None,
    command: list[str] | None,
    ways: Ways,
    n: int,
    sends: str,
    spoken: Speaking | None = None,
) -> Iterator[Implementation]:
    """`n` nodes of a class, by its name, or of a command; `spoken`: of one that owns its sockets. Raises `BadInput`."""
    limits, ignored = NodeLimits(seconds=ways.timeout), to_ignore(ways.ignore)
    if (node is None) == (command is None):
        said = "no implementation is named" if node is None else f"'{node}' and a command: one implementation at a time"
        hint = "give a class, such as node.py:MyNode, or a command after --, such as -- ./their-node"
        raise BadInput(said, hint=hint)
    if node is not None:
        for option, value in ways.of_command.items():
            if value is not None:
                raise BadInput(f"{option}: only of a command after --", hint="leave it out")
        if not own_protocols.is_own(node):
            hint = f"give its class, such as node.py:MyNode, or if it is a program: -- {node}"
            raise BadInput(f"'{node}' is no class of a file", hint=hint)
        yield InProcess(own_protocols.load_node(node), n, limits, name=node, ignored=ignored)
        return
    assert command is not None
    if not command:
        raise BadInput("there is no command after --", hint="such as -- ./their-node")
    if spoken is not None:
        with closing(SocketNodes(command, spoken, n, limits, ignored=ignored)) as nodes:
            nodes.check_start()
            yield nodes
        return
    chosen, prefix = known_form(ways.form or FORMS[0]), ways.prefix or ""
    way = known_sends(sends)
    with closing(OutOfProcess(command, n, limits, form=chosen, prefix=prefix, ignored=ignored, sends=way)) as running:
        running.check_start()
        yield running
