"""`crownless realize`: the complete computations that a protocol can generate, and the order they form."""

import sys
from contextlib import redirect_stdout
from typing import Any

import click

from crownless.command_line.endings import EXIT_HOLDS, EXIT_UNKNOWN, EXIT_VIOLATED
from crownless.command_line.options import Command, complete_protocol, with_output
from crownless.command_line.output import print_drawing, print_json, print_line, speaks_unicode, status
from crownless.command_line.request_options import with_limits, with_system
from crownless.command_line.tables import Rows
from crownless.drawing.text import draw
from crownless.model_check.search import realizing
from crownless.model_check.search.generating import possible
from crownless.model_check.search.realizing import Realization, because, lines_in_notation
from crownless.model_check.system.request import Check
from crownless.runtime.ending import Limits
from crownless.runtime.printable import listed, some
from crownless.spec.computation import Computation


@click.command(cls=Command, everyday="processes messages channel parameters sends max_seconds as_json")
@click.argument("protocol", shell_complete=complete_protocol)
@with_system("processes messages channel parameters sends self_sends")
@with_limits
@with_output
def realize(
    protocol: str,
    system: dict[str, Any],
    limits: Limits,
    as_json: bool,
    quiet: bool,
) -> int:
    """Which complete computations can PROTOCOL generate, over every interleaving? Do they make up one of the orders?

    \b
    Example:
      crownless realize murty-garg -n 3 -m 3

    Exit codes: 0 all of them keep the order that the protocol promises, 1 some violate it, or there are none, 2 bad
    usage, 3 a limit was reached first.
    """
    with status(quiet or as_json) as line:

        def progress(said: str) -> None:
            line.update(f"{protocol}: {said}")

        with redirect_stdout(sys.stderr):  # a machine's prints are not part of the answer
            answer = realizing.realize(Check(protocol, **system), limits=limits, progress=progress)
    if as_json:
        print_json(answer.json())
    else:
        _print(answer, drawings=not quiet)
    if answer.violated_by is not None or answer.generates_nothing:
        return EXIT_VIOLATED
    return EXIT_UNKNOWN if answer.stopped else EXIT_HOLDS


def _print(answer: Realization, *, drawings: bool) -> None:
    print_line(answer.scope)
    at_bound = some(answer.messages, "message")
    least = "at least " if answer.stopped else ""
    facts = f"{answer.found.states:,} states, {answer.seconds:.1f} s"
    print_line(f"generated: {least}{some(answer.computations, 'computation')} of {at_bound}; {facts}")
    if not answer.generates_nothing:
        _print_orders(answer)
        if drawings:
            _draw(answer)
    if answer.impossible:
        print_line(f"and {answer.impossible:,} times a cycle of messages, each received before it is sent")
    if answer.found.misdelivers:
        print_line("left out: runs that deliver a message twice or to a wrong receiver; see crownless check")
    print_line(_conclusion(answer))


def _print_orders(answer: Realization) -> None:
    headings = ("order", "computations", "generated", "contained", "missing", "extra")
    rows = Rows(*headings, right=("computations", "generated"))
    for name, one in answer.orders.items():
        open_ = bool(answer.stopped)
        contained = "no" if one.extra else "?" if open_ else "yes"
        number = "?" if open_ else f"{one.computations:,}"
        found = [_smallest(one.missing, open_), _smallest(one.extra, open_)]
        rows.add_row(name, number, f"{one.generated:,}", contained, *found)
    rows.print()


def _smallest(c: Computation | None, unknown: bool) -> str:
    return f"from {some(len(c.messages), 'message')} on" if c is not None else "?" if unknown else "none"


def _draw(answer: Realization) -> None:
    name, promises = answer.shown_missing, answer.promises
    missing = None if name is None else answer.orders[name].missing
    if missing is not None:
        _draw_one(f"missing: a smallest {name} computation that {answer.check.protocol} never generates", missing)
    extra = answer.violated_by or answer.orders[promises].extra
    if extra is not None:
        why = because(extra, promises)
        _draw_one(f"extra: a smallest computation that is generated and is not {promises}: {why}", extra)


def _draw_one(heading: str, c: Computation) -> None:
    print_line()
    print_line(f"{heading}:")
    print_line()
    print_drawing(draw(c, unicode=speaks_unicode()) if possible(c) else "\n".join(lines_in_notation(c)))


def _conclusion(answer: Realization) -> str:
    if answer.stopped:
        return f"unknown: {answer.stopped}"
    if answer.generates_nothing:
        return f"within {answer.bound}: generates no complete computation, so nothing is compared with any order"
    if answer.equal_orders:
        first, *others = answer.equal_orders
        return f"within {answer.bound}: exactly {first}" + (f" (= {', '.join(others)})" if others else "")
    parts = [f"within {answer.bound}: no order exactly"]
    around, within = answer.strongest(answer.contained_in), answer.strongest(answer.contains)
    parts.append(f"strictly inside {listed(around)}" if around else "inside none")
    if within:
        parts.append(f"all of {listed(within)}")
    return "; ".join(parts)
