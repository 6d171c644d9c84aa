"""`crownless explore`: a browser page for stepping through runs."""

import time
from contextlib import ExitStack
from typing import Any

import click

from crownless.command_line.endings import EXIT_HOLDS, EXIT_UNKNOWN, say
from crownless.command_line.file_options import COMMAND, InputFile, OutputFile
from crownless.command_line.log_options import with_log_options, with_run
from crownless.command_line.options import complete_protocol, with_output
from crownless.command_line.output import print_json, status
from crownless.command_line.pictures import write_file
from crownless.command_line.request_options import Number, with_limits, with_system
from crownless.oracle.logs.formats import LogOptions
from crownless.run_explorer.first_run import first_run
from crownless.run_explorer.page import explorer_page
from crownless.run_explorer.server import ExplorerServer
from crownless.run_explorer.state_space import NODES
from crownless.run_explorer.subjects import Explored
from crownless.runtime.ending import Limits, stoppable
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable_name, some

from .explore_subjects import explored_subject
from .implementations import WithCommand


@click.command(
    cls=WithCommand, everyday="html serve processes messages program channel parameters replay max_seconds as_json"
)
@click.argument(
    "subject", metavar="PROTOCOL|NODE|RUN", type=InputFile(), required=False, shell_complete=complete_protocol
)
@click.option("--html", type=OutputFile(), help="Write the page to FILE.")
@click.option("--serve", is_flag=True, help="Serve the page, with every state, on this machine only, until Ctrl-C.")
@with_system()
@click.option(
    "--replay",
    type=InputFile(),
    metavar="FILE",
    help="Start from a run saved by 'check --json' (PROTOCOL) or 'conform --save' (NODE).",
)
@click.option(
    "--max-states",
    type=Number(),
    default=NODES,
    show_default=True,
    help="At most this many states on the page, those nearest to the start.",
)
@with_run
@with_log_options
@with_limits
@with_output
@click.pass_context
def explore(
    context: click.Context,
    /,
    subject: str | None,
    html: str | None,
    serve: bool,
    replay: str | None,
    max_states: int,
    system: dict[str, Any],
    chosen: str | None,
    log: LogOptions,
    limits: Limits,
    as_json: bool,
    quiet: bool,
) -> int:
    """Write an interactive page for stepping through the runs of PROTOCOL.

    NODE is a class such as `node.py:MyNode`, and COMMAND a program, both as for `conform`. RUN is a file with a run, a
    computation or an event log, or a bundled name.

    \b
    Examples:
      crownless explore rst --html rst.html
      crownless explore mf-fig8 --html fig8.html
      crownless explore -n 3 -m 2 --html their.html -- ./their-node
      crownless explore buffer -n 4 --serve

    Exit codes: 0 every state is on the page, 2 bad usage, 3 some are not. More: docs/diagrams.md.
    """
    if html is None and not as_json and not serve:
        raise BadInput("no output is chosen for the page", hint="add --html page.html, or --serve")
    if serve and (html is not None or as_json):
        raise BadInput("--serve cannot be combined with --html or --json", hint="leave --html and --json out")
    command: list[str] | None = context.meta.get(COMMAND)
    with ExitStack() as stack:
        with status(quiet or as_json) as line:
            line.update(f"reading {subject or 'the nodes'}")
            explored = stack.enter_context(explored_subject(subject, command, system, replay, log, chosen))
        if serve:
            return _serve(explored)
        with status(quiet or as_json) as line:

            def progress(states: int) -> None:
                line.update(some(states, "state"))

            began = time.monotonic()
            start, shows = explored.start, explored.shows
            data = explored.space.as_data(max_states, limits, progress, start=start)
            if not start:
                line.update("choosing a run to begin with")
                start, shows = first_run(explored.space, data, limits.after(time.monotonic() - began))
    if as_json:
        print_json({"space": {**data, "start": start}})
    if html is not None:
        write_file("--html", html, explorer_page(data, explored.title, start, shows=shows))
        if not quiet and not as_json:
            say(f"{printable_name(html)}: {some(data['states'], 'state')}; open it in a browser")
    if data["beyond"]:
        full = f"the page holds the {some(data['states'], 'state')} nearest to the start"
        hint = "use fewer processes or messages, or --serve to compute the rest"
        say(f"{data['stopped'] or full}; runs beyond the page's states stop there; {hint}")
        return EXIT_UNKNOWN
    return EXIT_HOLDS


def _serve(explored: Explored) -> int:
    """Serves the page until interrupted."""
    with stoppable(), ExplorerServer(explored) as server:
        say(f"Serving at {server.address} (Ctrl-C to stop)")
        server.serve_forever()
    return EXIT_HOLDS
