"""`crownless knobs`: the map of a protocol's design space."""

import sys
from contextlib import redirect_stdout
from os import cpu_count
from pathlib import Path
from typing import Any

import click

from crownless.command_line.endings import EXIT_HOLDS, EXIT_UNKNOWN, EXIT_VIOLATED, say
from crownless.command_line.file_options import OutputFile, OutputFolder
from crownless.command_line.options import Command, complete_protocol, with_output
from crownless.command_line.output import print_json, print_line, status
from crownless.command_line.pictures import write_file
from crownless.command_line.request_options import Number, with_limits, with_request
from crownless.command_line.tables import Rows
from crownless.impl.protocol import default_bound, promised_orders
from crownless.research.costs.sweeps import Where
from crownless.research.knobs.combinations import class_with_knobs, combination_named, knobs_of
from crownless.research.knobs.deciding import FAILS
from crownless.research.knobs.drawing import in_svg
from crownless.research.knobs.knob_map import Decision, KnobMap
from crownless.research.knobs.knobs_request import KnobsRequest
from crownless.research.knobs.prices import MESSAGES, PROCESSES
from crownless.research.knobs.sweeping import decide_one, knob_map, write_table
from crownless.runtime.ending import Limits, Stopped, stoppable
from crownless.runtime.errors import BadInput, unknown_name
from crownless.runtime.printable import some

from .knobs_page import page_of

ENGINES = ("plain", "spark")
#: The most finds and pairs that the report lists.
LISTED = 10
#: The headings of prices, and what they mean.
PRICES = ("control", "numbers", "kept", "work")
PRICED = (
    "control: packets beside those with the message; numbers: on a message, zeroes not counted; kept: by its sender; "
    f"averages over a simulation of {PROCESSES} processes and {MESSAGES} messages"
)


@click.command(cls=Command, everyday="processes messages workers show svg page out max_seconds as_json")
@click.argument("protocol", shell_complete=complete_protocol)
@with_request(KnobsRequest, "bound", "processes messages channel")
@click.option("--show", metavar="NAME", help="Decide only this combination, e.g. 'guard: nothing'.")
@click.option("--svg", type=OutputFile(), help="Draw the map to FILE as SVG.")
@click.option("--page", type=OutputFile(), help="Write the report to FILE as Markdown.")
@click.option(
    "--out", type=OutputFolder(), metavar="FOLDER", help="Save decisions in this folder, as Parquet, or resume."
)
@click.option("--engine", default="plain", show_default=True, help="plain (processes on this machine) or spark.")
@click.option("--workers", type=Number(), help="Number of processes.  [default: one per processor]")
@click.option("--master", help="Where Spark runs, such as local[2].  [default: all processors of this machine]")
@with_limits
@with_output
def knobs(
    protocol: str,
    bound: dict[str, Any],
    show: str | None,
    svg: str | None,
    page: str | None,
    out: Path | None,
    engine: str,
    workers: int | None,
    master: str | None,
    limits: Limits,
    as_json: bool,
    quiet: bool,
) -> int:
    """Map the design space of PROTOCOL: every combination of its choices is explored up to the bound. It is violated,
    as a shortest run shows, or holds, or is unknown if its search ended early. One that holds is proved for every n
    where that succeeds, compared with the others, and priced.

    \b
    Examples:
      crownless knobs rst-queue --svg map.svg  or rst, ses, buffer, murty-garg: minutes
      crownless knobs mine.py:Mine             your own class, with an attribute `knobs`

    Exit codes: 0 all combinations are decided, and the first, as published, holds; 1 it is violated; 2 bad usage;
    3 some are not decided.
    """
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    if master is not None and engine != "spark":
        raise BadInput("--master requires --engine spark", hint="add --engine spark")
    kind = class_with_knobs(protocol)
    knobs_of(kind)
    if show is not None:
        if out is not None or svg is not None or page is not None:
            raise BadInput("--show decides one combination", hint="leave out --out, --svg and --page")
        n, m = default_bound(kind)
        at = (bound.get("processes", n), bound.get("messages", m))
        with stoppable(limits) as part, redirect_stdout(sys.stderr):
            decision = decide_one(protocol, combination_named(kind, show), at, bound.get("channel", kind.needs_channel))
        if part.reason is not None:
            raise Stopped(part.reason)
        return _show(decision, as_json=as_json)
    maps: list[KnobMap] = []
    how_far = ""
    with status(quiet or as_json) as line:

        def progress(done: int, total: int) -> None:
            nonlocal how_far
            how_far = f"{done:,} of {some(total, 'combination')}"
            line.update(f"{protocol}: {how_far}")

        with stoppable(limits) as part, redirect_stdout(sys.stderr):  # a machine's prints are not part of the answer
            knob_map(
                protocol,
                **bound,
                where=Where(engine, workers or cpu_count() or 1, master),
                out=out,
                progress=progress,
                found=maps,
            )
    if part.reason is not None:
        kept = f"saved in {out}; the same command resumes there"
        say(f"{how_far} {'decided, none saved; --out FOLDER saves them' if out is None else kept}")
        if not maps:
            raise Stopped(part.reason)
        say(part.reason)
    (found,) = maps
    if out is not None:
        write_table(found, out)
    if svg is not None:
        write_file("--svg", svg, in_svg(found))
    if page is not None:
        write_file("--page", page, page_of(found, svg, page))
    if as_json:
        print_json(found.json())
    else:
        _print(found)
    if found.contradictions or found.published.outcome == "violated":
        return EXIT_VIOLATED
    return EXIT_UNKNOWN if found.outcomes["unknown"] else EXIT_HOLDS


def _show(decision: Decision, *, as_json: bool) -> int:
    """Prints one combination."""
    code = {"violated": EXIT_VIOLATED, "holds": EXIT_HOLDS, "unknown": EXIT_UNKNOWN}[decision.outcome]
    if as_json:
        print_json(decision.json())
        return code
    said = "; ".join(filter(None, (decision.said, decision.over)))
    print_line(f"{decision.combination.name}: {said}")
    for action in decision.run:
        print_line(f"  {action}")
    if decision.row.get("unproved"):
        print_line(f"not proved: {decision.row['unproved']}")
    if decision.row.get("stamp") is not None:
        print_line(", ".join(f"{heading} {price}" for heading, price in zip(PRICES, decision.prices, strict=True)))
    return code


def _print(found: KnobMap) -> None:
    n, m = found.bound
    orders = " and ".join(promised_orders(found.kind))
    print_line(
        f"{found.protocol}: {some(len(found.combinations), 'combination')} of {some(len(found.knobs), 'knob')}; "
        f"{orders} order; every interleaving, up to {some(n, 'process')} and {some(m, 'message')}; "
        f"{found.channel} channel"
    )
    if found.published.outcome != "holds":
        print_line(f"as published: {found.published.said}")
        for action in found.published.run:
            print_line(f"  {action}")
    _print_alone(found)
    _print_families(found)
    _print_pairs(found)
    _print_finds(found)
    for each in found.contradictions:
        print_line(f"a fault of this tool: proved and refuted: {each.combination.name}: {each.said}")
    violated = [pair for pair in found.outcomes.most_common() if pair[0] not in ("holds", "unknown")]
    counts = [
        f"{number:,} {'fails' if number == 1 else 'fail'}"
        if name == FAILS
        else f"{number:,} violate{'s' * (number == 1)} {name}"
        for name, number in violated
    ]
    print_line("; ".join([found.headline, *counts]))


def _print_alone(found: KnobMap) -> None:
    rows = Rows("knob", "alternative", "alone", "hold with it", right=("hold with it",))
    holding = {knob.name: dict.fromkeys(knob.alternatives, 0) for knob in found.knobs}
    for decision in found.holding:
        for chosen, name in decision.combination.choices.items():
            holding[chosen][name] += 1
    alone = {(knob.name, name): decision for knob, name, decision in found.alone()}
    for knob in found.knobs:
        for place, name in enumerate(knob.alternatives):
            decision = alone.get((knob.name, name), found.published)
            said = "; ".join(filter(None, (decision.said if place else "as published", decision.over)))
            rows.add_row("" if place else knob.name, name, said, f"{holding[knob.name][name]:,}")
    rows.print()
    print_line("alone: all else as published, that is, each knob at its first alternative")


def _print_families(found: KnobMap) -> None:
    if not found.families:
        return
    print_line()
    proved = ["proved"] * found.has_proofs
    right = ("combinations", *proved, "control", "numbers")
    rows = Rows("generates", *right, "cheapest", right=right)
    for family in found.families:
        cheapest = family.cheapest
        rows.add_row(
            family.generates,
            f"{len(family.decisions):,}",
            *[f"{family.proved:,}"] * found.has_proofs,
            *cheapest.prices[:2],
            cheapest.combination.name,
        )
    rows.print()
    print_line(PRICED)
    if found.alike:
        print_line(found.alike)
    if found.reached:
        print_line(found.reached)
    if len(found.holding) <= LISTED:
        print_line("combinations that hold:")
        for decision in found.holding:
            print_line(f"  {decision.combination.name}")


def _print_pairs(found: KnobMap) -> None:
    for title, pairs in (
        ("hold only together", found.only_together()),
        ("each holds alone, violated together", found.not_both()),
    ):
        if pairs:
            print_line()
            print_line(f"{title}:")
        for pair in pairs[:LISTED]:
            print_line(f"  {pair.both.combination.name}: {pair.both.said}")
        if len(pairs) > LISTED:
            print_line(f"  and {len(pairs) - LISTED:,} more")
    if found.idle:
        print_line(found.idle)


def _print_finds(found: KnobMap) -> None:
    finds = found.finds()
    if not finds:
        return
    print_line()
    n, m = found.compared_at
    print_line(f"generate all that the order admits, up to ({n}, {m}), and cost less than as published:")
    rows = Rows(*PRICES, "proved", "combination", right=PRICES)
    for each in [*finds[:LISTED], found.published]:
        rows.add_row(*each.prices, "yes" if each.proved else "no", each.combination.name)
    rows.print()
    if len(finds) > LISTED:
        print_line(f"the cheapest {LISTED} of {len(finds):,}; all in the table that --out FOLDER writes")
