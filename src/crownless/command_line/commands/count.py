"""`crownless count`: the number of complete computations in each order."""

import click

from crownless.command_line.endings import EXIT_HOLDS, EXIT_UNKNOWN
from crownless.command_line.options import Command, with_limits, with_output
from crownless.command_line.output import print_json, print_line, status
from crownless.command_line.tables import Rows
from crownless.model_check.search.counting import MAX_MESSAGES, MAX_PROCESSES
from crownless.model_check.search.counting import count as count_computations
from crownless.runtime.ending import Limits
from crownless.spec.orders import ORDERS


@click.command(cls=Command)
@click.option("-n", "--processes", type=int, required=True, help=f"Number of processes, at most {MAX_PROCESSES}.")
@click.option("-m", "--messages", type=int, required=True, help=f"Number of messages, at most {MAX_MESSAGES}.")
@click.option("--self-sends", is_flag=True, help="Processes may also send to themselves.")
@with_limits
@with_output
def count(processes: int, messages: int, self_sends: bool, limits: Limits, as_json: bool, quiet: bool) -> int:
    """Count complete computations: labelled processes, messages up to renaming, every message received.

    \b
    Example:
      crownless count -n 3 -m 4

    Exit codes: 0 all are counted, 2 bad usage, 3 a limit was reached or it was interrupted: counts are lower bounds.
    """
    with status(quiet or as_json) as line:

        def progress(number: int) -> None:
            line.update(f"{number:,} computations")

        found = count_computations(processes, messages, self_sends=self_sends, limits=limits, progress=progress)
    code = EXIT_HOLDS if found.stopped is None else EXIT_UNKNOWN
    if as_json:
        print_json(found.json())
        return code
    rows = Rows("order", "computations", "demands", right=("computations",))
    for name, number in found.counts.items():
        rows.add_row(name, f"{number:,}", ORDERS[name].demands)
    rows.print()
    if found.stopped is not None:
        print_line(f"unknown: at least this many, not all are counted: {found.stopped}")
    return code
