"""`crownless knobs`: the map of a protocol's design space."""

import sys
from contextlib import redirect_stdout
from os import cpu_count
from pathlib import Path

import click

from crownless.command_line.endings import EXIT_HOLDS, EXIT_UNKNOWN, EXIT_VIOLATED, say
from crownless.command_line.file_options import OutputFile, OutputFolder
from crownless.command_line.options import CHANNEL_NAMES, Verb, complete_protocol, with_limits, with_output
from crownless.command_line.output import print_json, print_line, status
from crownless.command_line.pictures import write_file
from crownless.command_line.tables import Rows
from crownless.impl.protocol import promised_orders
from crownless.impl.variants.knobs import class_with_knobs, knobs_of
from crownless.pipeline.knobs import knob_map, write_table
from crownless.pipeline.sweeps import Where
from crownless.proofs.knobs.drawing import in_svg
from crownless.proofs.knobs.knob_map import Decision, KnobMap
from crownless.runtime.ending import Limits, Stopped, stoppable
from crownless.runtime.errors import BadInput, unknown_name
from crownless.runtime.printable import some

from .knobs_page import page_of

ENGINES = ("plain", "spark")
#: The most finds and pairs that the report lists.
LISTED = 10


@click.command(cls=Verb, everyday="processes messages show svg page out max_seconds as_json")
@click.argument("protocol", shell_complete=complete_protocol)
@click.option("-n", "--processes", type=click.IntRange(2), help="How many processes, at most.  [default: its own]")
@click.option("-m", "--messages", type=click.IntRange(1), help="How many messages, at most.  [default: its own]")
@click.option("--channel", help=f"{CHANNEL_NAMES}.  [default: the one the protocol needs]")
@click.option("--show", metavar="NAME", help="One combination, by its name, such as 'guard: nothing'.")
@click.option("--svg", type=OutputFile(), help="Draw the map.")
@click.option("--page", type=OutputFile(), help="Write the report as a page, in Markdown.")
@click.option("--out", type=OutputFolder(), help="A folder of Parquet, to save decisions and resume.")
@click.option("--engine", default="plain", show_default=True, help="plain (processes on this machine) or spark.")
@click.option("--workers", type=click.IntRange(1), help="How many processes.  [default: one per processor]")
@click.option("--master", help="Where Spark runs, such as local[2].  [default: all processors of this machine]")
@with_limits
@with_output
def knobs(
    protocol: str,
    processes: int | None,
    messages: int | None,
    channel: str | None,
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
    """Map the design space of PROTOCOL: every combination of its choices is refuted by a shortest run, or explored up
    to the bound, proved for every n where that succeeds, compared with the others, and priced.

    \b
    Examples:
      crownless knobs rst --svg map.svg       the matrix protocol taken apart
      crownless knobs mine.py:Mine            your own class, with an attribute `knobs`

    Exit codes: 0 all combinations are decided, and the first, as published, is right; 1 it is wrong; 2 bad usage; 3
    some are not decided.
    """
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    if master is not None and engine != "spark":
        raise BadInput("--master without Spark", hint="add --engine spark")
    names = {knob.name for knob in knobs_of(class_with_knobs(protocol))}
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
                processes=processes,
                messages=messages,
                channel=channel,
                where=Where(engine, workers or cpu_count() or 1, master),
                out=out,
                progress=progress,
                found=maps,
            )
    if part.reason is not None:
        kept = f"kept in {out}; the same command goes on from there"
        say(f"{how_far} {'decided, none kept; with --out FOLDER they are' if out is None else kept}")
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
    elif show is not None:
        _show(found, show, names)
    else:
        _print(found)
    if found.contradictions or found.published.outcome == "violated":
        return EXIT_VIOLATED
    return EXIT_UNKNOWN if found.outcomes["unknown"] else EXIT_HOLDS


def _show(found: KnobMap, name: str, names: set[str]) -> None:
    """Prints one combination."""
    for decision in found.decisions.values():
        if decision.combination.name == name:
            print_line(f"{name}: {decision.said}")
            for action in decision.run:
                print_line(f"  {action}")
            return
    wrong = [each.partition(":")[0].strip() for each in name.split(",") if each.partition(":")[0].strip() not in names]
    if wrong:
        raise unknown_name("knob", wrong[0], names)
    hint = "name the alternatives that are not the first, in the order of the table: knob: alternative, knob: …"
    raise BadInput(f"--show {name}: no such combination", hint=hint)


def _print(found: KnobMap) -> None:
    n, m = found.bound
    orders = " and ".join(promised_orders(found.kind))
    print_line(
        f"{found.protocol}: {some(len(found.combinations), 'combination')} of {some(len(found.knobs), 'knob')}; "
        f"{orders} order; every interleaving, up to {some(n, 'process')} and {some(m, 'message')}; "
        f"{found.channel} channel"
    )
    _print_alone(found)
    _print_families(found)
    _print_pairs(found)
    _print_finds(found)
    for each in found.contradictions:
        print_line(f"a fault of this tool: proved and refuted: {each.combination.name}: {each.said}")
    counts = [f"{number:,} violate {name}" for name, number in found.outcomes.most_common() if name != "right"]
    print_line("; ".join([found.headline, *[each for each in counts if "unknown" not in each]]))


def _print_alone(found: KnobMap) -> None:
    rows = Rows("knob", "alternative", "alone", "right", right=("right",))
    right = {knob.name: dict.fromkeys(knob.alternatives, 0) for knob in found.knobs}
    for decision in found.right:
        for chosen, name in decision.combination.choices.items():
            right[chosen][name] += 1
    alone = {(knob.name, name): decision for knob, name, decision in found.alone()}
    for knob in found.knobs:
        for place, name in enumerate(knob.alternatives):
            decision = alone.get((knob.name, name), found.published)
            said = decision.said if place else "as published"
            rows.add_row("" if place else knob.name, name, said, f"{right[knob.name][name]:,}")
    rows.print()
    print_line("alone: all else as published; right: in how many right combinations it is")


def _print_families(found: KnobMap) -> None:
    if not found.families:
        return
    print_line()
    n, m = found.compared_at
    right = ("combinations", "proved", "control", "numbers")
    rows = Rows(f"generates, up to ({n}, {m})", *right, "cheapest", right=right)
    for family in found.families:
        cheapest = family.cheapest
        rows.add_row(
            family.generates,
            f"{len(family.decisions):,}",
            f"{family.proved:,}",
            *_price(cheapest)[:2],
            cheapest.combination.name,
        )
    rows.print()
    sizes = [len(island) for island in found.islands]
    print_line(
        f"by single steps, the right ones form {some(len(sizes), 'island')}, of {', '.join(map(str, sizes[:LISTED]))}"
        + (" …" if len(sizes) > LISTED else "")
    )


def _print_pairs(found: KnobMap) -> None:
    for title, pairs in (
        ("right only together", found.only_together()),
        ("each right alone, wrong together", found.not_both()),
    ):
        if pairs:
            print_line()
            print_line(f"{title}:")
        for pair in pairs[:LISTED]:
            print_line(f"  {pair.both.combination.name}: {pair.both.said}")
        if len(pairs) > LISTED:
            print_line(f"  and {len(pairs) - LISTED:,} more")
    idle = found.never_matter()
    if idle:
        print_line(f"never matter, however the others stand: {', '.join(knob.name for knob in idle)}")


def _print_finds(found: KnobMap) -> None:
    finds = found.finds()
    if not finds:
        return
    print_line()
    print_line("generate all that the order admits, and cost less than as published:")
    prices = ("control", "numbers", "kept", "work")
    rows = Rows(*prices, "proved", "combination", right=prices)
    for each in [*finds[:LISTED], found.published]:
        rows.add_row(*_price(each), "yes" if each.proved else "no", each.combination.name)
    rows.print()
    print_line("control: packets beside the message; numbers: on a message; kept: by its sender; none of them zero")
    if len(finds) > LISTED:
        print_line(f"the cheapest {LISTED} of {len(finds):,}; all in the table that --out FOLDER writes")


def _price(decision: Decision) -> list[str]:
    return [f"{decision.row[name]:g}" for name in ("control", "stamp", "state", "work")]
