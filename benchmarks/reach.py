"""The number of messages to which each protocol is explored in a given time, by either engine.

    python benchmarks/reach.py [--seconds 10] [PROTOCOL ...]

Three processes by default, over the channel that the protocol needs; the native engine on all processors, without
reductions and with all that apply to the protocol. A search counts if it ends within the time, tables included; each
runs in this process, after a small one that loads the compiled code.
"""

from __future__ import annotations

import gc

import click
from rich.console import Console
from rich.table import Table

from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check.check import run_check
from crownless.model_check.check.request import Check, ResolvedCheck
from crownless.model_check.search.engines import REDUCTIONS, admitted
from crownless.runtime.ending import Limits


def reach(protocol: str, n: int, seconds: float, engine: str, reductions: tuple[str, ...]) -> tuple[int, int, float]:
    """The most messages with which a search ends in time; its states and seconds."""
    best = (0, 0, 0.0)
    for messages in range(1, 64):
        check = Check(protocol, n, messages)
        found = run_check(check, Limits(seconds=seconds), engine=engine, reductions=reductions).exploration
        gc.collect()
        if found.stopped or found.seconds > seconds:
            break
        best = (messages, found.states, found.seconds)
    return best


@click.command()
@click.argument("protocols", nargs=-1)
@click.option("--seconds", default=10.0, show_default=True, help="For each search.")
@click.option("-n", "n", default=3, show_default=True, help="Processes.")
def main(protocols: tuple[str, ...], seconds: float, n: int) -> None:
    """Print the table."""
    table = Table(box=None, pad_edge=False, title=f"Messages within {seconds:g} s, {n} processes", title_justify="left")
    for heading in ("protocol", "plain", "native", "reduced", "deeper", "states", "reductions"):
        table.add_column(heading, justify="left" if heading in ("protocol", "reductions") else "right")
    run_check(Check("rst", 2, 2))
    console = Console(width=120)
    for protocol in protocols or PROTOCOLS:
        small = Check(protocol, n, 1)
        applicable = tuple(name for name in REDUCTIONS if isinstance(admitted(small, None, (name,)), ResolvedCheck))
        plain = reach(protocol, n, seconds, "plain", ())
        native = reach(protocol, n, seconds, "native", ())
        reduced = reach(protocol, n, seconds, "native", applicable) if applicable else native
        most = max(native, reduced)
        table.add_row(
            protocol,
            str(plain[0]),
            str(native[0]),
            str(reduced[0]) if applicable else "",
            f"{most[0] - plain[0]:+}",
            f"{most[1]:,}",
            ", ".join(applicable),
        )
        console.print(f"[dim]{protocol}: {plain} {native} {reduced}[/dim]", highlight=False)
    console.print(table)


if __name__ == "__main__":
    main()
