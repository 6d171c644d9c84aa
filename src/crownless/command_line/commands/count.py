"""`crownless count`: the number of complete computations in each order."""

import click

from crownless.command_line.endings import EXIT_HOLDS, EXIT_UNKNOWN
from crownless.command_line.options import Command, with_output
from crownless.command_line.output import print_json, print_line, status
from crownless.command_line.request_options import with_request
from crownless.command_line.tables import Rows
from crownless.model_check.search.counting import CountRequest
from crownless.model_check.search.counting import count as count_computations
from crownless.spec.orders import ORDERS


@click.command(cls=Command)
@with_request(CountRequest, "request", made=CountRequest)
@with_output
def count(request: CountRequest, as_json: bool, quiet: bool) -> int:
    """Count complete computations: labelled processes, messages up to renaming, every message received.

    \b
    Example:
      crownless count -n 3 -m 4

    Exit codes: 0 all are counted, 2 bad usage, 3 a limit was reached or it was interrupted: counts are lower bounds.
    """
    with status(quiet or as_json) as line:

        def progress(number: int) -> None:
            line.update(f"{number:,} computations")

        found = count_computations(request, progress)
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
