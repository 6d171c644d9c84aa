"""The number of messages to which each protocol is explored in a given time, by either engine.

    python benchmarks/reach.py [--seconds 10] [PROTOCOL ...]
    python benchmarks/reach.py --orders [--seconds 10] [PROTOCOL ...]

Three processes by default, over the channel that the protocol needs; the native engine on all processors, without
reductions and with all that apply to the protocol. A search counts if it ends within the time, tables included; each
runs in this process, after a small one that loads the compiled code.

With `--orders`: by the native engine, for each of the orders, and how often a state occurs, once for each state
of the monitor that watches the order.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable
from typing import NamedTuple

import click
from rich.console import Console
from rich.table import Table

from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check.check import run_check
from crownless.model_check.search.engines import REDUCTIONS, admitted
from crownless.model_check.system.request import Check, ResolvedCheck
from crownless.runtime.ending import Limits
from crownless.spec.orders import ORDERS


class Reach(NamedTuple):
    """The most messages with which a search ends in time; its states, nodes and seconds."""

    messages: int = 0
    states: int = 0
    nodes: int = 0
    seconds: float = 0.0


def reach(protocol: str, n: int, seconds: float, engine: str, reductions: tuple[str, ...], *orders: str) -> Reach:
    """How far a search gets in that time."""
    best = Reach()
    for messages in range(1, 64):
        check = Check(protocol, n, messages, orders=orders)
        found = run_check(check, Limits(seconds=seconds), engine=engine, reductions=reductions).exploration
        gc.collect()
        if found.stopped or found.seconds > seconds:
            break
        best = Reach(messages, found.states, found.nodes, found.seconds)
    return best


def print_orders(console: Console, protocols: Iterable[str], n: int, seconds: float) -> None:
    """The table for each order."""
    table = Table(box=None, pad_edge=False, title=f"Messages within {seconds:g} s, {n} processes", title_justify="left")
    for heading in ("protocol", "order", "messages", "states", "nodes a state", "seconds"):
        table.add_column(heading, justify="left" if heading in ("protocol", "order") else "right")
    for protocol in protocols:
        for order in ORDERS:
            found = reach(protocol, n, seconds, "native", (), order)
            nodes = found.nodes / max(1, found.states)
            counts = f"{found.messages}", f"{found.states:,}", f"{nodes:.2f}", f"{found.seconds:.2f}"
            table.add_row(protocol, order, *counts)
    console.print(table)


@click.command()
@click.argument("protocols", nargs=-1)
@click.option("--seconds", default=10.0, show_default=True, help="For each search.")
@click.option("-n", "n", default=3, show_default=True, help="Processes.")
@click.option("--orders", "by_order", is_flag=True, help="One row for each order.")
def main(protocols: tuple[str, ...], seconds: float, n: int, *, by_order: bool) -> None:
    """Print the table."""
    run_check(Check("rst", 2, 2))
    console = Console(width=120)
    if by_order:
        print_orders(console, protocols or PROTOCOLS, n, seconds)
        return
    table = Table(box=None, pad_edge=False, title=f"Messages within {seconds:g} s, {n} processes", title_justify="left")
    for heading in ("protocol", "plain", "native", "reduced", "deeper", "states", "reductions"):
        table.add_column(heading, justify="left" if heading in ("protocol", "reductions") else "right")
    for protocol in protocols or PROTOCOLS:
        small = Check(protocol, n, 1)
        applicable = tuple(name for name in REDUCTIONS if isinstance(admitted(small, None, (name,)), ResolvedCheck))
        plain = reach(protocol, n, seconds, "plain", ())
        native = reach(protocol, n, seconds, "native", ())
        reduced = reach(protocol, n, seconds, "native", applicable) if applicable else native
        most = max(native, reduced)
        table.add_row(
            protocol,
            str(plain.messages),
            str(native.messages),
            str(reduced.messages) if applicable else "",
            f"{most.messages - plain.messages:+}",
            f"{most.states:,}",
            ", ".join(applicable),
        )
        console.print(f"[dim]{protocol}: {plain} {native} {reduced}[/dim]", highlight=False)
    console.print(table)


if __name__ == "__main__":
    main()
