"""`crownless list`: what there is to name."""

from __future__ import annotations

import sys
from typing import Any

import click

from crownless.impl.channels import CHANNELS
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.properties import DELIVERS_ONCE, default_orders, properties_of
from crownless.proofs.ledger import bundled
from crownless.spec import library, notation
from crownless.spec.clocks import CLOCKS
from crownless.spec.notation import ReceiveStatement
from crownless.spec.orders import ORDERS

from .output import console, print_json, print_table, table

#: Columns that would make a table too wide; what they name has a table of its own.
ONLY_JSON = {("protocols", "held_to"), ("protocols", "properties"), ("protocols", "bound")}


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
        plain = table(*(key for key in rows[0] if (heading, key) not in ONLY_JSON))
        for row in rows:
            row = {key: value for key, value in row.items() if (heading, key) not in ONLY_JSON}
            plain.add_row(*(_cell(value) for value in row.values()))
        print_table(plain, indent="  ")
        out.print()


def protocol_facts() -> list[dict[str, Any]]:
    """Every protocol with what its class says of it, as the table of the README and `list` have it."""
    return [
        {
            "name": name,
            "source": kind.source,
            "promises": kind.promises + (" (at the server)" if kind(3).ordered_at is not None else ""),
            "needs_channel": kind.needs_channel,
            "sends": kind.sends,
            "admits": [
                what
                for what, admitted in (
                    ("self-sends", kind.admits_self_sends),
                    ("multicast", kind.admits_multicast and kind.sends == "unicast"),
                    ("unicast", kind.sends != "unicast"),
                )
                if admitted
            ],
            "parameters": [
                {
                    "name": key,
                    "default": known.default(kind.bound[0]),
                    "least": known.least,
                    "per_process": known.per_process,
                    "meaning": known.meaning,
                }
                for key, known in kind.parameters.items()
            ],
            "bound": "×".join(map(str, kind.bound)),
            "held_to": list(default_orders(kind)),
            "properties": [known.name for known in properties_of(kind(3), default_orders(kind), program=False)],
            "text": _summary(kind.__doc__ or sys.modules[kind.__module__].__doc__ or ""),
        }
        for name, kind in PROTOCOLS.items()
    ]


def _facts() -> dict[str, list[dict[str, Any]]]:
    figures = [_figure(name) for name in (*library.names(), *library.exercises())]
    return {
        "protocols": protocol_facts(),
        "orders": [{"name": order.name, "demands": order.demands, "source": order.source} for order in ORDERS.values()],
        "properties": _properties(),
        "channels": [{"name": name, "meaning": channel.meaning} for name, channel in CHANNELS.items()],
        "clocks": [{"name": clock.name, "source": clock.source} for clock in CLOCKS.values()],
        "programs and computations": figures,
        "counterexamples": bundled.facts(),
        "event logs": [{"name": f"{name}.jsonl"} for name in library.names(".jsonl")],
    }


def _properties() -> list[dict[str, Any]]:
    """Every property that is decided of some protocol, orders apart, and of which."""
    found: dict[str, dict[str, Any]] = {}
    for name, kind in PROTOCOLS.items():
        for program in (False, True):
            for known in properties_of(kind(3), (), program=program):
                row = {"name": known.name, "kind": known.kind, "meaning": known.meaning, "protocols": []}
                protocols = found.setdefault(known.name, row)["protocols"]
                if name not in protocols:
                    protocols.append(name)
    early = [name for name, kind in PROTOCOLS.items() if not kind.sends_before_delivery]
    found[DELIVERS_ONCE.name]["meaning"] += f" (of {', '.join(early)}: before an application has handed it over)"
    for row in found.values():
        if len(row["protocols"]) == len(PROTOCOLS):
            row["protocols"] = ["all"]
    return list(found.values())


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(parameter_said(one) if isinstance(one, dict) else str(one) for one in value)
    return str(value)


def parameter_said(facts: dict[str, Any]) -> str:
    """A parameter in a line of text; the default is for the protocol's own bound."""
    each = ", or one for each process" if facts["per_process"] else ""
    return f"{facts['name']}={facts['default']} ({facts['meaning']}{each})"


def _summary(doc: str) -> str:
    """The first sentence of a docstring."""
    return library.SENTENCE.split(" ".join(doc.split("\n\n")[0].split()))[0].rstrip(".")


def _figure(name: str) -> dict[str, Any]:
    """A bundled text: what it is, and the first sentence of its comment."""
    script = notation.load(library.path(name))
    receives = [
        statement for line in script.statements for statement in line if isinstance(statement, ReceiveStatement)
    ]
    named = all(receive.message is not None for receive in receives)
    return {
        "name": name,
        "kind": "computation" if named else "program",
        "processes": len(script.processes),
        "text": library.comment(name),
    }
