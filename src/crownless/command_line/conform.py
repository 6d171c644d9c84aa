"""`crownless conform`: which order somebody else's implementation keeps, over every schedule within a bound."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path

import click
from click.core import ParameterSource

from crownless.model_check.conformance.conformance_request import Request
from crownless.model_check.conformance.conformance_result import Conformance
from crownless.model_check.conformance.conforming import conform
from crownless.model_check.conformance.maelstrom_form import possible
from crownless.model_check.conformance.node import Implementation
from crownless.model_check.conformance.random_runs import NOT_BROKEN, RandomConformance, conform_at_random
from crownless.model_check.conformance.schedules import Schedule, read_schedule, replay
from crownless.model_check.conformance.schedules import as_test as as_test_of
from crownless.model_check.exploration import Exploration
from crownless.model_check.request import MOST_MESSAGES, MOST_PROCESSES
from crownless.runtime.ending import Limits
from crownless.spec.enumeration import known_sends
from crownless.spec.errors import BadInput
from crownless.spec.printable import as_json as json_of
from crownless.spec.printable import some
from crownless.spec.reading import read_bytes

from .check import EXITS, how_far
from .conform_report import conclusion, print_conformance, print_replay, shown
from .conform_sockets import Sockets, with_sockets
from .endings import say
from .file_options import COMMAND, InputFile, OutputFile
from .implementations import Ways, WithCommand, implementation_of, with_ways
from .options import with_limits, with_output, within
from .output import EXIT_HOLDS, EXIT_VIOLATED, print_drawing, print_json, shown_progress
from .pictures import write_diagrams, write_file
from .reports import Reports, with_reports

#: The options that say what is searched.
OF_SEARCHES = {
    "processes": "-n/--processes",
    "messages": "-m/--messages",
    "orders": "--order",
    "channel": "--channel",
    "sends": "--sends",
    "self_sends": "--self-sends",
    "replies": "--replies",
    "ticks": "--ticks",
    "restarts": "--restarts",
    "random": "--random",
    "seed": "--seed",
    "save_in": "--save",
    "junit": "--junit",
    "sarif": "--sarif",
    "itf": "--itf",
}


@click.command(
    cls=WithCommand,
    everyday="processes messages orders channel replies random form save_in replayed as_test max_seconds as_json",
)
@click.argument("node", metavar="FILE.py:CLASS", type=InputFile(), required=False)
@click.option("-n", "--processes", type=int, default=3, show_default=True, help="How many processes.")
@click.option("-m", "--messages", type=int, default=3, show_default=True, help="How many sends in all.")
@click.option("--order", "orders", multiple=True, help="It is said to keep this order (repeatable).")
@click.option("--channel", help="unordered, fifo, lossy or duplicating.  [default: unordered; fifo with --sockets tcp]")
@click.option("--sends", default="unicast", show_default=True, help="unicast, multicast or broadcast.")
@click.option("--self-sends", is_flag=True, help="Processes may also send to themselves.")
@click.option(
    "--replies",
    type=click.IntRange(min=0),
    metavar="M",
    help="Also send from inside deliveries, up to M messages; 0: never.  [default: 3, or as many as -m]",
)
@click.option(
    "--ticks", type=click.IntRange(min=0), default=0, help="How often time passes at each process.  [default: 0]"
)
@click.option(
    "--restarts",
    type=click.IntRange(min=0),
    default=0,
    help="How often each process may crash, and start again with what it kept.  [default: 0]",
)
@click.option(
    "--random",
    type=click.IntRange(min=1),
    metavar="RUNS",
    help="So many random runs, for more processes and messages than every schedule can be tried of.",
)
@click.option("--seed", type=click.IntRange(min=0), help="By which --random chooses.  [default: 0]")
@with_ways
@with_sockets
@click.option("--save", "save_in", type=OutputFile(), help="Write the schedule of the first violation to FILE.")
@click.option(
    "--replay", "replayed", type=InputFile(), metavar="FILE", help="Only the schedule in FILE: is it still broken?"
)
@click.option("--as-test", is_flag=True, help="Print the first violation, or that of --replay, as a test for pytest.")
@with_reports
@with_limits
@with_output
@click.pass_context
def conform_(
    context: click.Context,
    node: str | None,
    processes: int,
    messages: int,
    orders: tuple[str, ...],
    channel: str | None,
    sends: str,
    self_sends: bool,
    replies: int | None,
    ticks: int,
    restarts: int,
    random: int | None,
    seed: int | None,
    ways: Ways,
    sockets: Sockets,
    save_in: str | None,
    replayed: str | None,
    as_test: bool,
    reports: Reports,
    limits: Limits,
    as_json: bool,
    quiet: bool,
) -> int:
    """Which order does somebody else's implementation keep, over every schedule within a bound?

    \b
    Examples: a class with on_send and on_packet, and a program that speaks lines:
      crownless conform node.py:MyNode --order causal
      crownless conform -n 3 -m 3 -- ./their-node
      crownless conform --sockets udp --deliver 'got (?<message>.+)' -- \\
          ./their-peer --id {id} --listen {listen} --peers {peers}
      crownless conform -n 5 -m 20 --random 1000 -- ./their-node

    Exit codes: 0 every message is delivered, and the orders named are kept (--random: no run breaks them); 1 not so;
    2 bad usage; 3 unknown.
    What a program says and hears: docs/conformance.md.
    """
    command: list[str] | None = context.meta.get(COMMAND)
    own = {"--replies": replies, "--ticks": ticks, "--restarts": restarts, **ways.of_command}
    spoken = sockets.speaking({**own, "--as-test": as_test}, of_command=node is None and command is not None)
    if spoken is not None:
        replies = 0
    request = Request(
        processes=within("-n/--processes", processes, MOST_PROCESSES, least=2 - self_sends),
        messages=within("-m/--messages", messages, MOST_MESSAGES),
        channel=channel or ("fifo" if spoken is not None and spoken.kind == "tcp" else "unordered"),
        orders=orders,
        sends=known_sends(sends),
        self_sends=self_sends,
        replies=replies,
        ticks=ticks,
        restarts=restarts,
    )
    if ways.form == "maelstrom":
        request = possible(request)
    if seed is not None and random is None:
        raise BadInput("--seed without --random: every schedule is tried", hint="add --random 1000")
    if replayed is not None:
        _only_of_searches(context)
        schedule = read_schedule(read_bytes(Path(replayed), replayed), replayed)
        nodes = implementation_of(node, command, ways, schedule.processes, schedule.sends, spoken)
        with nodes as implementation, redirect_stdout(sys.stderr):
            found = replay(implementation, schedule)
        if as_test:
            print_drawing(as_test_of(schedule, _for_python(node, command), found.run, _for_replay(ways)))
        elif as_json:
            print_json(found.json())
        else:
            print_replay(implementation.name, found, drawings=not quiet)
        if reports.svg is not None or reports.html is not None:
            write_diagrams(reports.svg, reports.html, list(found.diagrams()), f"{implementation.name} by {replayed}")
        return EXIT_HOLDS if found else EXIT_VIOLATED
    answer: Conformance | RandomConformance
    nodes = implementation_of(node, command, ways, processes, sends, spoken)
    with nodes as implementation:
        if random is None:
            answer = _conform(implementation, request, limits, quiet or as_json)
        else:
            answer = _at_random(implementation, request, random, seed or 0, limits, quiet or as_json)
    reports.write([answer.suite()])
    first = next(iter(shown(answer)), None)
    schedule_found = None if first is None else answer.schedule(first)
    if save_in is not None:
        _save(save_in, schedule_found)
    if as_test:
        if first is None or first.run is None or schedule_found is None:
            raise BadInput("--as-test: nothing is violated", hint="name an order that it does not keep: --order")
        print_drawing(as_test_of(schedule_found, _for_python(node, command), first.run, _for_replay(ways)))
    elif as_json:
        print_json(answer.json())
    else:
        print_conformance(answer, drawings=not quiet)
    return EXIT_HOLDS if answer.verdict == NOT_BROKEN else EXITS[answer.verdict]


def _only_of_searches(context: click.Context) -> None:
    """Refuses the options that a schedule has already."""
    for name, option in OF_SEARCHES.items():
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            raise BadInput(f"{option} and --replay: the schedule has its own", hint=f"leave out {option}")


def _save(name: str, schedule: Schedule | None) -> None:
    if schedule is None:
        say(f"{name} is not written: nothing is violated")
        return
    write_file("--save", name, json_of(schedule.json(), indent=2) + "\n")
    say(f"{name}: the schedule that breaks {schedule.breaks}; again: crownless conform --replay {name} …")


def _for_python(node: str | None, command: list[str] | None) -> str:
    """The implementation as `cr.replay` takes it."""
    return repr(node if command is None else command)


def _for_replay(ways: Ways) -> str:
    """The options that `cr.replay` needs, too."""
    options = {"form": ways.form, "prefix": ways.prefix, "ignore": ways.ignore}
    return "".join(f", {name}={value!r}" for name, value in options.items() if value)


def _conform(implementation: Implementation, request: Request, limits: Limits, quiet: bool) -> Conformance:
    with shown_progress(quiet) as line, redirect_stdout(sys.stderr):  # what a node prints is no answer
        now = implementation.name

        def on_input(search: str, inputs: int) -> None:
            nonlocal now
            if line is not None:
                now = f"{implementation.name}: {search}, {some(inputs, 'different input')}"
                line.update(now)

        def on_verdict(answer: Conformance) -> None:
            if not quiet:
                say(f"with free sends, {conclusion(answer)}; still searching…")

        def progress(found: Exploration, level: int) -> None:
            if line is not None:
                line.update(f"{now}: {how_far(found, level)}")

        return conform(implementation, request, limits, progress, say, on_input, on_verdict)


def _at_random(
    implementation: Implementation, request: Request, runs: int, seed: int, limits: Limits, quiet: bool
) -> RandomConformance:
    with shown_progress(quiet) as line, redirect_stdout(sys.stderr):

        def progress(made: int, runs: int) -> None:
            if line is not None:
                line.update(f"{implementation.name}: {made:,} of {some(runs, 'random run')}")

        return conform_at_random(implementation, request, runs, seed, limits, progress)
