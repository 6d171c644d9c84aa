"""`crownless list`: what there is to name."""

from __future__ import annotations

import sys
from typing import Any

import click

from crownless.impl.channels import CHANNELS
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.properties import default_orders, properties_of
from crownless.spec import library
from crownless.spec.orders import ORDERS

from .output import console, print_json, print_table, table


@click.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print every fact as JSON.")
def list_(as_json: bool) -> None:
    """List protocols with their properties, orders, channels, and the bundled programs, computations and logs."""
    facts = _facts()
    if as_json:
        print_json(facts)
        return
    out = console()
    for heading, rows in facts.items():
        out.print(heading, style="bold")
        plain = table(*rows[0]) if rows else table()
        for row in rows:
            plain.add_row(*(", ".join(value) if isinstance(value, list) else str(value) for value in row.values()))
        print_table(plain, indent="  ")
        out.print()


def _facts() -> dict[str, list[dict[str, Any]]]:
    protocols = []
    for name, kind in PROTOCOLS.items():
        summary = (sys.modules[kind.__module__].__doc__ or "").split("\n")[0]
        protocols.append(
            {
                "name": name,
                "promises": kind.promises,
                "held_to": list(default_orders(kind)),
                "needs_channel": kind.needs_channel,
                "admits": [
                    what
                    for what, admitted in (
                        ("self-sends", kind.admits_self_sends),
                        ("multicast", kind.admits_multicast),
                    )
                    if admitted
                ],
                "parameters": [f"{key}={value}" for key, value in kind.parameters.items()],
                "properties": [known.name for known in properties_of(kind(2), default_orders(kind), program=False)],
                "text": summary,
            }
        )
    figures = [{"name": name, "text": _title(library.path(name).read_text("utf-8"))} for name in library.names()]
    return {
        "protocols": protocols,
        "orders": [{"name": order.name, "demands": order.demands, "source": order.source} for order in ORDERS.values()],
        "channels": [{"name": name, "meaning": channel.meaning} for name, channel in CHANNELS.items()],
        "programs and computations": figures,
        "event logs": [{"name": f"{name}.jsonl"} for name in library.names(".jsonl")],
    }


def _title(text: str) -> str:
    return text.split("\n")[0].lstrip("# ")
