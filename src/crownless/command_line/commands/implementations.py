"""Implementations on the command line: `FILE.py:CLASS`, or a command after `--`."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from re import Pattern

import click

from crownless.command_line import options
from crownless.command_line.file_options import COMMAND
from crownless.impl import own_protocols
from crownless.impl.registry import PROTOCOLS
from crownless.oracle.conformance.conformance_request import TIMEOUT
from crownless.oracle.conformance.in_process import InProcess
from crownless.oracle.conformance.node import Implementation, NodeLimits
from crownless.oracle.conformance.out_of_process import OutOfProcess
from crownless.runtime.errors import BadInput
from crownless.spec.enumeration import Sends


class WithCommand(options.Command):
    """A command that accepts the command of a program after `--`."""

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
    n: int,
    sends: Sends,
    *,
    ignored: Pattern[str] | None = None,
    timeout: float = TIMEOUT,
) -> Iterator[Implementation]:
    """`n` nodes of a class, by its name, or of a command; `ignored` parts of packets are not compared."""
    limits = NodeLimits(seconds=timeout)
    if (node is None) == (command is None):
        said = "no implementation is given" if node is None else f"both '{node}' and a command are given"
        hint = "give either a class, such as node.py:MyNode, or a command after --, such as -- ./their-node"
        raise BadInput(said, hint=hint)
    if node is not None:
        if not own_protocols.is_own(node):
            hint = f"for a program: -- {node}"
            if node in PROTOCOLS:
                hint = f"it is a protocol: crownless check {node}"
            raise BadInput(f"expected FILE.py:CLASS, got '{node}'", hint=hint)
        kind = own_protocols.load_node(node)
        with closing(InProcess(kind, n, limits, name=node, ignored=ignored, sends=sends)) as nodes:
            yield nodes
        return
    if not command:
        raise BadInput("no command after --", hint="such as -- ./their-node")
    with closing(OutOfProcess(command, n, limits, ignored=ignored, sends=sends)) as running:
        yield running
