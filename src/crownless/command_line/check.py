"""`crownless check`: does a protocol keep its order, deliver everything, never block?"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import click
from rich.text import Text

from crownless.model_check.checking import Check, CheckResult, PropertyResult, all_protocols, load_program, run_check
from crownless.model_check.explorer import Exploration, Limits
from crownless.spec.errors import BadInput, unknown_name

from .output import (
    EXIT_HOLDS,
    EXIT_UNKNOWN,
    EXIT_VIOLATED,
    STYLES,
    console,
    print_json,
    print_table,
    some,
    speaks_unicode,
    status,
    table,
)

ENGINES = ("plain",)
EXITS = {"holds": EXIT_HOLDS, "violated": EXIT_VIOLATED, "unknown": EXIT_UNKNOWN}


@click.command()
@click.argument("protocols", nargs=-1, metavar="[PROTOCOL]...")
@click.option("-n", "--processes", type=int, help="How many processes.  [default: 3]")
@click.option("-m", "--messages", type=int, help="How many sends in all.  [default: 3, and 4 for all protocols]")
@click.option("--program", help="A program (file or bundled name) instead of the free workload.")
@click.option("--channel", default="unordered", show_default=True, help="unordered, fifo, lossy or duplicating.")
@click.option("--order", "orders", multiple=True, help="Hold it to this order (repeatable). Default: see list.")
@click.option("--self-sends", is_flag=True, help="Processes may also send to themselves.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A parameter of the protocol.")
@click.option("--engine", default="plain", show_default=True, help="What explores: plain.")
@click.option("--max-states", type=click.IntRange(min=1), help="Give up after so many states (unknown).")
@click.option(
    "--max-seconds",
    type=click.FloatRange(min=0),
    help="End the search after so many seconds (unknown); telling a violation found by then may take as long again.",
)
@click.option("--json", "as_json", is_flag=True, help="Print every fact as JSON.")
@click.option("--quiet", is_flag=True, help="No drawings and no progress.")
def check(
    protocols: tuple[str, ...],
    processes: int | None,
    messages: int | None,
    program: str | None,
    channel: str,
    orders: tuple[str, ...],
    self_sends: bool,
    settings: tuple[str, ...],
    engine: str,
    max_states: int | None,
    max_seconds: float | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Explore every interleaving within a bound; without PROTOCOL: of all protocols.

    A violation is shown by a shortest run, of those one with the fewest switches between processes. FIFO and causal
    order are cheap to watch, and so is synchronous; mailbox, one-n and n-n multiply the states that are searched.
    """
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    if program is not None and (processes is not None or messages is not None or self_sends):
        raise BadInput("a program brings its own processes and messages", mend="leave out -n, -m and --self-sends")
    if max_seconds is not None and not max_seconds >= 0:
        raise BadInput(f"--max-seconds {max_seconds}: not a number of seconds", mend="such as --max-seconds 60")
    script, program_name = load_program(program) if program is not None else (None, None)
    checks = [
        Check(
            protocol=name,
            processes=processes if processes is not None else 3,
            messages=messages if messages is not None else (3 if protocols else 4),
            program=script,
            program_name=program_name,
            channel=channel,
            orders=orders,
            self_sends=self_sends,
            parameters=_parameters(settings),
        )
        for name in protocols or all_protocols()
    ]
    results = []
    with status(quiet or as_json) as line:
        for one in checks:

            def progress(found: Exploration, level: int, name: str = one.protocol) -> None:
                if line is not None:
                    rate = found.states / found.seconds if found.seconds else 0
                    line.update(f"{name}: level {level}, {found.states:,} states, {rate:,.0f} states/s")

            results.append(run_check(one, Limits(max_states, max_seconds), progress))
            if results[-1].exploration.stopped == "interrupted":
                break
    left_out = [one.protocol for one in checks[len(results) :]]
    if left_out:
        print(f"crownless: interrupted; not checked: {', '.join(left_out)}", file=sys.stderr)
    if as_json:
        print_json([result.json() for result in results])
    else:
        _print(results, drawings=not quiet and bool(protocols))
    verdicts = {result.verdict for result in results} | ({"unknown"} if left_out else set())
    worst = next(verdict for verdict in ("violated", "unknown", "holds") if verdict in verdicts)
    return EXITS[worst]


def _parameters(settings: Iterable[str]) -> dict[str, int]:
    parameters = {}
    for setting in settings:
        key, _, value = setting.partition("=")
        try:
            parameters[key] = int(value)
        except ValueError:
            raise BadInput(f"--set {setting}: not a KEY=VALUE with a whole number", mend="such as --set k=4") from None
    return parameters


def _print(results: list[CheckResult], *, drawings: bool) -> None:
    out = console()
    rows = table("protocol", "property", "kind", "verdict", right=("states", "transitions", "depth", "seconds"))
    for result in results:
        if drawings:
            _draw(result)
        found = result.exploration
        facts = (f"{found.states:,}", f"{found.transitions:,}", str(found.depth), f"{found.seconds:.1f}")
        name = result.check.protocol
        for line in result.properties:
            verdict = Text(line.verdict, style=STYLES[line.verdict])
            note = _note(line)
            if note:
                verdict.append(f" ({note})", style="")
            rows.add_row(name, line.property.name, line.property.kind, verdict, *facts)
            name, facts = "", ("", "", "", "")
    for scope in dict.fromkeys(result.scope for result in results):
        out.print(scope)
    print_table(rows)


def _note(line: PropertyResult) -> str:
    length = f"shortest run: {some(len(line.run.actions), 'action')}" if line.run is not None else ""
    return "; ".join(part for part in (length, line.note) if part)


def _draw(result: CheckResult) -> None:
    """Each run once, with all the properties that it breaks."""
    out = console()
    shown: dict[tuple[object, ...], list[PropertyResult]] = {}
    for line in result.properties:
        if line.run is not None:
            shown.setdefault(line.run.actions, []).append(line)
    for lines in shown.values():
        run = lines[0].run
        assert run is not None
        out.print(f"{result.check.protocol} breaks {', '.join(line.property.name for line in lines)}:")
        for line in lines:
            out.print(f"  {line.property.meaning}")
        out.print()
        out.print(run.draw(unicode=speaks_unicode()))
        out.print(run.say())
        out.print()
