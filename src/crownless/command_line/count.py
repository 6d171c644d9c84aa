"""`crownless count`: how many complete computations are there in each order?"""

from __future__ import annotations

import click

from crownless.model_check.counting import count as count_computations
from crownless.spec.orders import ORDERS

from .output import print_json, print_table, status, table


@click.command()
@click.option("-n", "--processes", type=int, required=True, help="How many processes.")
@click.option("-m", "--messages", type=int, required=True, help="How many messages.")
@click.option("--self-sends", is_flag=True, help="Processes may also send to themselves.")
@click.option("--json", "as_json", is_flag=True, help="Print every fact as JSON.")
def count(processes: int, messages: int, self_sends: bool, as_json: bool) -> None:
    """Count complete computations: labelled processes, messages up to renaming, every message received."""
    with status(as_json) as line:

        def progress(number: int) -> None:
            if line is not None:
                line.update(f"{number:,} computations")

        found = count_computations(processes, messages, self_sends=self_sends, progress=progress)
    if as_json:
        print_json(found.json())
        return
    rows = table("order", "computations", "demands")
    rows.columns[1].justify = "right"
    for name, number in found.counts.items():
        rows.add_row(name, f"{number:,}", ORDERS[name].demands)
    print_table(rows)
