"""`crownless count`: how many complete computations are there in each order?"""

from __future__ import annotations

import click

from crownless.model_check.counting import count as count_computations
from crownless.model_check.limits import Limits
from crownless.spec.orders import ORDERS

from .options import with_limits
from .output import EXIT_HOLDS, EXIT_UNKNOWN, print_json, print_table, status, table


@click.command()
@click.option("-n", "--processes", type=int, required=True, help="How many processes.")
@click.option("-m", "--messages", type=int, required=True, help="How many messages.")
@click.option("--self-sends", is_flag=True, help="Processes may also send to themselves.")
@with_limits
@click.option("--json", "as_json", is_flag=True, help="Print every fact as JSON.")
def count(processes: int, messages: int, self_sends: bool, limits: Limits, as_json: bool) -> int:
    """Count complete computations: labelled processes, messages up to renaming, every message received.

    Exit codes: 0 all are counted, 2 bad usage, 3 a limit was reached or it was interrupted: the counts are the least.
    """
    with status(as_json) as line:

        def progress(number: int) -> None:
            if line is not None:
                line.update(f"{number:,} computations")

        found = count_computations(processes, messages, self_sends=self_sends, limits=limits, progress=progress)
    code = EXIT_HOLDS if found.stopped is None else EXIT_UNKNOWN
    if as_json:
        print_json(found.json())
        return code
    rows = table("order", "computations", "demands")
    rows.columns[1].justify = "right"
    for name, number in found.counts.items():
        rows.add_row(name, f"{number:,}", ORDERS[name].demands)
    print_table(rows)
    if found.stopped is not None:
        print(f"unknown: these at least are there, not all are counted: {found.stopped}")
    return code
