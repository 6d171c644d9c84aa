"""`crownless explore`: runs made step by step, on a page in the browser."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from crownless.impl import own_protocols
from crownless.impl.registry import PROTOCOLS
from crownless.model_check import oracle
from crownless.model_check.conformance.conformance_request import Request
from crownless.model_check.conformance.in_process import InProcess
from crownless.model_check.conformance.schedules import read_schedule
from crownless.model_check.limits import Limits
from crownless.model_check.request import MOST_MESSAGES, MOST_PROCESSES, Check, load_program
from crownless.model_check.run_explorer.page import explorer_page
from crownless.model_check.run_explorer.server import ExplorerServer
from crownless.model_check.run_explorer.state_space import NODES
from crownless.model_check.run_explorer.subjects import Explored, of_check, of_computation, of_nodes, of_saved_run
from crownless.spec import library
from crownless.spec.enumeration import known_sends
from crownless.spec.errors import BadInput
from crownless.spec.printable import printable_name, some
from crownless.spec.reading import read_bytes

from .completion import complete_protocol
from .endings import say
from .imports import import_protocols
from .options import parse_settings, with_limits, with_output, within
from .output import EXIT_HOLDS, EXIT_UNKNOWN, print_json, status
from .pictures import write_file
from .saved import saved_checks

#: Options that nodes have no use for, and those that a schedule brings.
OF_PROTOCOLS = ("program", "crash", "settings")
OF_SCHEDULES = ("processes", "messages", "channel", "sends", "self_sends")
#: Options that a program leaves no room for.
OF_FREE_SENDS = ("processes", "messages", "sends", "self_sends")


@click.command()
@click.argument("subject", metavar="PROTOCOL|NODE|RUN", shell_complete=complete_protocol)
@click.option("--html", metavar="FILE", help="Write the page into FILE.")
@click.option("--serve", is_flag=True, help="Serve the page on this machine alone, with every state, until Ctrl-C.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port to serve it on.  [default: any]")
@click.option("-n", "--processes", type=int, help="How many processes.  [default: the protocol's own, mostly 3]")
@click.option("-m", "--messages", type=int, help="How many sends in all.  [default: the protocol's own, mostly 4]")
@click.option("--program", help="A program (file or bundled name) instead of the free workload.")
@click.option("--channel", help="unordered, fifo, lossy or duplicating.  [default: the one the protocol needs]")
@click.option("--order", "orders", multiple=True, help="Show this order (repeatable).  [default: all]")
@click.option("--sends", help="unicast, multicast or broadcast.  [default: what the protocol is for]")
@click.option("--self-sends", is_flag=True, help="Processes may also send to themselves.")
@click.option("--crash", metavar="PROCESS", help="This process may crash, such as P1.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A parameter, or KEY=4,4,5.")
@click.option("--replay", metavar="FILE", help="Of a NODE: begin with the schedule that 'conform --save' wrote.")
@click.option(
    "--max-states",
    type=click.IntRange(min=1),
    default=NODES,
    show_default=True,
    help="The page has so many states, the nearest to the beginning.",
)
@with_limits
@with_output
def explore(
    subject: str,
    html: str | None,
    serve: bool,
    port: int,
    max_states: int,
    limits: Limits,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Write a page on which the runs of PROTOCOL are made step by step: what can happen, and what it breaks.

    NODE is a class with on_send and on_packet (`node.py:MyNode`), as for `conform`. RUN is what `check --json`,
    `conform --json` or `conform --save` wrote, a computation, an event log or a bundled name: the page begins with the
    run, or has every linearization of the computation.

    \b
    Examples:
      crownless explore rst --html rst.html
      crownless explore unordered -n 2 -m 2 --html unordered.html
      crownless explore mf-fig8 --html fig8.html
      crownless explore node.py:MyNode --replay schedule.json --html node.html
      crownless explore buffer -n 4 --serve

    Exit codes: 0 every state is on the page, 2 bad usage, 3 some are not.
    """
    if html is None and not as_json and not serve:
        raise BadInput("there is no file to write the page to", hint="add --html page.html, or --serve")
    if serve and (html is not None or as_json):
        raise BadInput("--serve: the page is served or written", hint="leave --html and --json out")
    if port and not serve:
        raise BadInput("--port: nothing is served", hint="add --serve")
    explored = _subject(subject, limits, given, as_json)
    if serve:
        return _serve(explored, port)
    with status(quiet or as_json) as line:

        def progress(states: int) -> None:
            if line is not None:
                line.update(some(states, "state"))

        data = explored.space.as_data(max_states, limits, progress)
    if as_json:
        print_json({"space": {**data, "start": explored.start}})
    if html is not None:
        write_file("--html", html, explorer_page(data, explored.title, explored.start))
        if not quiet and not as_json:
            say(f"{printable_name(html)}: {some(len(data['moves']), 'state')}; open it in a browser")
    if data["beyond"]:
        full = f"the page is full with {some(len(data['moves']), 'state')}, the nearest to the beginning"
        say(f"{data['stopped'] or full}; runs that lead to others end there: choose fewer processes or messages")
        return EXIT_UNKNOWN
    return EXIT_HOLDS


def _serve(explored: Explored, port: int) -> int:
    """Until it is interrupted."""
    with ExplorerServer(explored, port) as server, suppress(KeyboardInterrupt):
        say(f"{server.address} has the page; Ctrl-C ends this")
        server.serve_forever()
    return EXIT_HOLDS


def _subject(name: str, limits: Limits, given: dict[str, Any], as_json: bool) -> Explored:
    settings = {option: value for option, value in given.items() if value not in (None, ()) and value is not False}
    checks = None if _is_protocol(name) else saved_checks(name)
    replayed = given["replay"]
    if replayed is not None and not own_protocols.is_own(name):
        hint = "give the class of the nodes, such as node.py:MyNode"
        raise BadInput(f"--replay: {printable_name(name)} is no class of nodes", hint=hint)
    if checks is not None:
        _refuse(settings, "a saved run brings its check with it")
        violations = [(check, run, known) for check in checks for known, run in check.violations()]
        if not violations:
            raise BadInput("no property is violated there, so there is no run to explore", file=name)
        try:
            return of_saved_run(*violations[0])
        except BadInput as error:
            raise error.at(file=name) from None
    if not _is_protocol(name) and ("/" in name or "." in name or library.is_file_name(name) or name in _bundled()):
        _refuse(settings, "a computation has its own processes and messages")
        first, *others = oracle.subjects(name)
        if others:
            hint = "give a file with one run alone"
            raise BadInput(f"it has {len(others) + 1} runs, and a page shows one", hint=hint, file=name)
        return of_computation(first.computation, first.run or printable_name(name))
    try:
        import_protocols((name,), limits, {"space": None} if as_json else None)
    except BadInput:
        if not own_protocols.is_own(name):
            raise
        return _of_nodes(own_protocols.load_protocol_or_node(name), name, settings)
    if replayed is not None:
        raise BadInput(f"--replay: {printable_name(name)} is a protocol, not a class of nodes", hint="leave it out")
    program = given["program"]
    if program is not None:
        _refuse(
            {option: settings[option] for option in OF_FREE_SENDS if option in settings}, "a program brings its own"
        )
    return of_check(
        Check(
            protocol=name,
            processes=given["processes"],
            messages=given["messages"],
            program=None if program is None else load_program(program),
            channel=given["channel"],
            orders=tuple(given["orders"]),
            sends=given["sends"],
            self_sends=given["self_sends"],
            parameters=parse_settings(given["settings"]),
            crash=given["crash"],
        )
    )


def _of_nodes(nodes: type, name: str, settings: dict[str, Any]) -> Explored:
    _refuse({option: settings[option] for option in OF_PROTOCOLS if option in settings}, "only of a protocol")
    schedule = None
    if "replay" in settings:
        file = settings["replay"]
        of_search = {option: settings[option] for option in OF_SCHEDULES if option in settings}
        _refuse(of_search, "the schedule has its own")
        schedule = read_schedule(read_bytes(Path(file), file), file)
        request = Request(
            schedule.processes,
            schedule.messages,
            schedule.channel,
            sends=known_sends(schedule.sends),
            self_sends=schedule.self_sends,
            ticks=schedule.ticks,
            restarts=schedule.restarts,
        )
    else:
        request = Request(
            within(
                "-n/--processes",
                settings.get("processes", 3),
                MOST_PROCESSES,
                least=2 - settings.get("self_sends", False),
            ),
            within("-m/--messages", settings.get("messages", 3), MOST_MESSAGES),
            settings.get("channel", "unordered"),
            sends=known_sends(settings.get("sends", "unicast")),
            self_sends=settings.get("self_sends", False),
        )
    request = replace(request, orders=settings.get("orders", ()))
    with redirect_stdout(sys.stderr):
        return of_nodes(InProcess(nodes, request.processes, name=name), request, schedule)


def _is_protocol(name: str) -> bool:
    """True of the name of a protocol, `file.py:Class` or `package.module:Class`."""
    return name in PROTOCOLS or ".py" in name or ":" in name


def _bundled() -> tuple[str, ...]:
    return (*library.names(), *library.names(".jsonl"), *library.counterexamples(), *library.counterexamples(".json"))


def _refuse(settings: dict[str, Any], why: str) -> None:
    for option in settings:
        raise BadInput(f"--{option.replace('_', '-')}: {why}", hint="leave it out")
