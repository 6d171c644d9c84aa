"""`crownless conform`: the order that an external implementation keeps, over every schedule within a bound."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from crownless.command_line.endings import exit_code, say
from crownless.command_line.file_options import COMMAND, InputFile, OutputFile
from crownless.command_line.options import with_output
from crownless.command_line.output import Progress, print_json, status
from crownless.command_line.pictures import write_file
from crownless.command_line.reports import Reports, say_not_written, with_reports
from crownless.command_line.request_options import Number, with_limits, with_request
from crownless.model_check.system.exploration import Exploration
from crownless.oracle.conformance.bodies import to_ignore
from crownless.oracle.conformance.conformance_request import HowToDrive, Request
from crownless.oracle.conformance.conformance_result import Conformance
from crownless.oracle.conformance.conforming import conform, conform_at_random
from crownless.oracle.conformance.node import Implementation
from crownless.oracle.conformance.replays import replay
from crownless.oracle.conformance.schedules import read_schedule
from crownless.runtime.ending import Limits
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import as_json as json_of
from crownless.runtime.printable import some
from crownless.runtime.reading import read_bytes

from .check import how_far
from .conform_report import conclusion, print_conformance, print_replay, shown
from .implementations import WithCommand, implementation_of

#: The options that go with `--replay`; a schedule has all others.
WITH_REPLAY = ("node", "replayed", "ignore", "timeout", "as_json", "quiet")


@click.command(
    cls=WithCommand,
    everyday="processes messages orders channel replies random save_in replayed svg html max_seconds as_json",
)
@click.argument("node", metavar="FILE.py:CLASS", type=InputFile(), required=False)
@with_request(Request, "requested")
@click.option(
    "--random",
    type=Number(),
    metavar="RUNS",
    help="Run this many random schedules instead of all, for larger systems.",
)
@with_request(HowToDrive, "how", made=HowToDrive)
@click.option("--save", "save_in", type=OutputFile(), help="Write the schedule of the first violation to FILE.")
@click.option("--replay", "replayed", type=InputFile(), metavar="FILE", help="Replay the schedule in FILE.")
@with_reports
@with_limits
@with_output
@click.pass_context
def conform_(
    context: click.Context,
    /,
    node: str | None,
    requested: dict[str, Any],
    how: HowToDrive,
    random: int | None,
    save_in: str | None,
    replayed: str | None,
    reports: Reports,
    limits: Limits,
    as_json: bool,
    quiet: bool,
) -> int:
    """Which order does an external implementation keep, over every schedule within a bound?

    \b
    Examples: a class with on_send and on_packet, and a program with a line-based interface:
      crownless conform node.py:MyNode --order causal
      crownless conform -n 3 -m 3 -- ./their-node
      crownless conform -n 5 -m 20 --random 1000 -- ./their-node

    Exit codes: 0 every message is delivered and the named orders are kept (--random: no run violates them);
    1 violated; 2 bad usage; 3 unknown, e.g. for nodes with timers (which are not driven) or a --replay that diverges.
    The line protocol of programs: docs/conformance.md.
    """
    command: list[str] | None = context.meta.get(COMMAND)
    nodes = partial(implementation_of, node, command, ignored=to_ignore(how.ignore), timeout=how.timeout)
    if replayed is not None:
        return _replay(context, nodes, replayed, as_json, quiet)
    request = Request.about(node, **requested)
    with (
        nodes(request.processes, request.sends) as implementation,
        status(quiet or as_json, printed=True) as line,
        redirect_stdout(sys.stderr),  # a node's prints are not part of the answer
    ):
        if random is None:
            result = _conform(implementation, request, limits, line, quiet or as_json)
        else:

            def made(number: int, runs: int) -> None:
                line.update(f"{implementation.name}: {number:,} of {some(runs, 'random run')}")

            result = conform_at_random(implementation, request, random, limits=limits, progress=made)
    reports.write([result.suite()])
    if save_in is not None:
        drawn = sorted(shown(result), key=lambda line: line.property.name not in request.orders)
        _save(save_in, result, drawn[0].property.name if drawn else None)
    if as_json:
        print_json(result.json())
    else:
        print_conformance(result, drawings=not quiet)
    return exit_code({result.verdict})


def _replay(
    context: click.Context,
    nodes: Callable[..., AbstractContextManager[Implementation]],
    file: str,
    as_json: bool,
    quiet: bool,
) -> int:
    for option in context.command.params:
        given = context.get_parameter_source(option.name or "") is not ParameterSource.DEFAULT
        if option.name not in WITH_REPLAY and option.expose_value and given:
            raise BadInput(
                f"{'/'.join(option.opts)} and --replay: the schedule has its own",
                hint=f"leave out {'/'.join(option.opts)}",
            )
    schedule = read_schedule(read_bytes(Path(file), file), file)
    with nodes(schedule.request.processes, schedule.request.sends) as implementation, redirect_stdout(sys.stderr):
        found = replay(implementation, schedule)
    if as_json:
        print_json(found.json())
    else:
        print_replay(implementation.name, found, drawings=not quiet)
    return exit_code({found.verdict})


def _save(name: str, result: Conformance, breaks: str | None) -> None:
    schedule = None if breaks is None else result.schedule(breaks)
    if schedule is None:
        say_not_written(name, [result.suite()])
        return
    write_file("--save", name, json_of(schedule.json(), indent=2) + "\n")
    say(f"{name}: the schedule that violates {schedule.violates}; replay it: crownless conform --replay {name} …")


def _conform(
    implementation: Implementation, request: Request, limits: Limits, line: Progress, quiet: bool
) -> Conformance:
    now = implementation.name

    def on_input(search: str, inputs: int) -> None:
        nonlocal now
        now = f"{implementation.name}: {search}, {some(inputs, 'different input')}"
        line.update(now)

    def on_verdict(result: Conformance) -> None:
        if not quiet:
            say(f"with free sends, {conclusion(result)}; still searching…")

    def progress(found: Exploration, level: int) -> None:
        line.update(f"{now}: {how_far(found, level)}")

    return conform(implementation, request, limits, progress, say, on_input, on_verdict)
