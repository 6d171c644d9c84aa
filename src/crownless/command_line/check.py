"""`crownless check`: does a protocol keep its order, deliver everything, never block?"""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from crownless.impl.registry import PROTOCOLS
from crownless.impl.workloads import Free, Program
from crownless.model_check.check import run_check
from crownless.model_check.check_result import CheckResult, PropertyResult, told
from crownless.model_check.engines import (
    MOST_WORKERS,
    Elsewhere,
    compiling,
    reductions_named,
    why_not_applicable,
)
from crownless.model_check.exploration import Exploration
from crownless.model_check.limits import Limits, memory_in_use
from crownless.model_check.properties import COMPLETES, DELIVERS_ALL, DELIVERS_ONCE, NEVER_BLOCKS
from crownless.model_check.request import Check, load_program
from crownless.model_check.stopping import Stopped
from crownless.model_check.suite import checks as suite
from crownless.model_check.suite import own_checks
from crownless.spec.clocks import CLOCKS
from crownless.spec.enumeration import SENDS
from crownless.spec.errors import BadInput, unknown_name
from crownless.spec.orders import ORDERS
from crownless.spec.printable import printable, printable_name

from .endings import say
from .options import parse_settings, with_limits
from .output import (
    EXIT_HOLDS,
    EXIT_UNKNOWN,
    EXIT_VIOLATED,
    STYLES,
    console,
    print_json,
    print_line,
    print_table,
    some,
    speaks_unicode,
    status,
    table,
)

#: Told where it is so: once, as it is kept on disk, beside the program or in the user's cache, if that can be written.
COMPILES = "crownless: compiling a part of the engine for this machine, once: up to half a minute"
EXITS = {"holds": EXIT_HOLDS, "violated": EXIT_VIOLATED, "unknown": EXIT_UNKNOWN}


@click.command()
@click.argument("protocols", nargs=-1, metavar="[PROTOCOL]...")
@click.option("-n", "--processes", type=int, help="How many processes.  [default: the protocol's own, mostly 3]")
@click.option("-m", "--messages", type=int, help="How many sends in all.  [default: the protocol's own, mostly 4]")
@click.option("--program", help="A program (file or bundled name) instead of the free workload.")
@click.option("--channel", help="unordered, fifo, lossy or duplicating.  [default: the one the protocol needs]")
@click.option("--order", "orders", multiple=True, help="Hold it to this order (repeatable). Default: see list.")
@click.option("--clock", "clocks", multiple=True, help="Report messages that are late by this clock; see list.")
@click.option("--sends", help="unicast, multicast or broadcast.  [default: what the protocol is for]")
@click.option("--self-sends", is_flag=True, help="Processes may also send to themselves.")
@click.option("--crash", "crashes", metavar="PROCESS", multiple=True, help="This process may crash (one at most).")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A parameter, or KEY=4,4,5; see list.",
)
@click.option("--engine", help="What explores: native, plain or spark.  [default: native, but with --crash]")
@click.option(
    "--master", help="Where Spark runs, such as local[4].  [default: all of this machine, or as spark-submit says]"
)
@click.option(
    "--reduce",
    "reductions",
    multiple=True,
    metavar="REDUCTION",
    help="Leave out what tells nothing new: symmetry, order, or all (both). See above.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, MOST_WORKERS),
    help="Threads of the native engine, or owners of rows on Spark.  [default: one for each processor]",
)
@click.option("--max-states", type=click.IntRange(min=1), help="Give up after so many states (unknown).")
@with_limits
@click.option(
    "--checkpoint", metavar="DIR", help="Save the search in this directory, a new or an empty one. See above."
)
@click.option("--resume", metavar="DIR", help="Go on with the search saved in this directory. See above.")
@click.option("--json", "as_json", is_flag=True, help="Print every fact as JSON.")
@click.option("--quiet", is_flag=True, help="No drawings and no progress.")
def check(
    protocols: tuple[str, ...],
    processes: int | None,
    messages: int | None,
    program: str | None,
    channel: str | None,
    orders: tuple[str, ...],
    clocks: tuple[str, ...],
    sends: str | None,
    self_sends: bool,
    crashes: tuple[str, ...],
    settings: tuple[str, ...],
    engine: str | None,
    master: str | None,
    reductions: tuple[str, ...],
    workers: int | None,
    max_states: int | None,
    limits: Limits,
    checkpoint: str | None,
    resume: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Explore every interleaving within a bound; without PROTOCOL: of all protocols.

    A violation is shown by a shortest run, of those one with the fewest switches between processes. FIFO and causal
    order are cheap to watch, and so is synchronous; mailbox, one-n and n-n multiply the states that are searched.

    Several protocols make one table, a row each. Without PROTOCOL and without a workload of your own, each is checked
    as its text has it, and some also where they are known to break; protocols that do not admit what you ask for are
    left out.

    --reduce symmetry looks at states once that differ by the names of the processes alone. It is valid for every
    property, in the free workload, where a protocol treats all processes alike. --reduce order explores a step that
    puts no packet on a channel and takes no message from an application, such as most deliveries, only just before its
    process takes one that does, or at the end. It is valid in the free workload, over an unordered or fifo channel, for
    protocols that take no delivery back and deliver nothing before it is sent, and for fifo and causal order, which one
    delivery breaks with what happened before it; not for the other orders, and for clocks that is not shown. Neither is
    valid with --crash. Counts are then of what is left.

    --checkpoint saves the search of one protocol, by the native engine or on Spark, between two levels: every now
    and then, and where Ctrl-C or a limit ends it early; so it can go on even after its process was killed. --resume
    DIR goes on with it and saves it further: by the same command, or without PROTOCOL and options, which are saved
    too, but for --engine spark, --master, limits and --workers; these last may differ. What is found is what one
    search finds. Once a check has come to its end nothing is left to go on with: the saved files are removed, and
    so is the directory if it was made for them.

    --engine spark has Spark's executors do the native engine's search: where a level's rows are too many for one
    machine's memory. On a cluster it needs --checkpoint, a directory on a file system that all executors share. The run
    that shows a violation, and runs that never end, are looked for on this machine, by what the search has found.
    """
    reductions = reductions_named(reductions, engine)
    limits = replace(limits, states=max_states)
    if program is not None and (processes is not None or messages is not None or self_sends or sends is not None):
        raise BadInput(
            "a program brings its own processes and messages", mend="leave out -n, -m, --sends and --self-sends"
        )
    if sends is not None and sends not in SENDS:
        raise unknown_name("kind of sends", sends, SENDS)
    if "asynchronous" in orders:
        raise BadInput(
            "--order asynchronous: what breaks it fails delivers-once, which is always checked",
            mend="ask for another order",
        )
    if len(crashes) > 1:
        raise BadInput(f"--crash {' --crash '.join(crashes)}: one process at most may crash", mend="name one")
    if checkpoint is not None or resume is not None:
        _one_directory(checkpoint, resume)
        if len(protocols) > 1 or (resume is None and not protocols):
            raise BadInput(
                f"{'--checkpoint' if resume is None else '--resume'}: one check is saved, not several",
                mend="name one protocol",
            )
    given: dict[str, Any] = {
        "processes": processes,
        "messages": messages,
        "program": None if program is None else load_program(program),
        "channel": channel,
        "orders": orders,
        "sends": sends,
        "self_sends": self_sends,
        "parameters": parse_settings(settings),
        "clocks": clocks,
        "crash": next(iter(crashes), None),
    }
    given = {name: value for name, value in given.items() if value not in (None, (), {}) and value is not False}
    if resume is not None and not protocols:
        saved, reductions = _saved(Path(resume), given, reductions, engine)
        checks = [saved]
    else:
        checks = [Check(protocol=name, **given) for name in protocols or PROTOCOLS]
        if not given and checkpoint is None and resume is None:
            checks = [one for name in protocols for one in _own_checks(name, engine, reductions)] or checks
    if not protocols and resume is None:
        asks_nothing = all(one == Check(one.protocol) for one in checks)
        checks = suite() if asks_nothing else checks
        checks = _admitted(checks, engine, reductions)
    elif len(checks) > 1 and (engine or reductions):
        checks = _admitted(checks, engine, reductions)
    elsewhere = _on_spark(engine, master, workers)
    results = []
    with status(quiet or as_json) as line, nullcontext() if quiet or engine == "plain" else compiling(_say_compiling):
        for one in checks:

            def progress(found: Exploration, level: int, name: str = one.name) -> None:
                if line is not None:
                    line.update(f"{name}: {how_far(found, level)}")

            if line is not None and elsewhere is not None:
                line.update(f"{one.name}: starting Spark")
            try:
                result = run_check(
                    one,
                    limits,
                    progress,
                    engine=engine,
                    reductions=reductions,
                    workers=workers,
                    checkpoint=None if checkpoint is None else Path(checkpoint),
                    resume=None if resume is None else Path(resume),
                    tell=say,
                    elsewhere=elsewhere,
                )
            except Stopped:
                break
            except KeyboardInterrupt:  # a second one, which does not wait, or one while a run to show is looked for
                _say_saved(checkpoint or resume, engine)
                raise
            results.append(result)
            if results[-1].interrupted:
                break
    if not results:
        _say_saved(checkpoint or resume, engine)
        raise KeyboardInterrupt
    left_out = [one.name for one in checks[len(results) :]]
    if left_out:
        say(f"interrupted; not checked: {', '.join(left_out)}")
    if results and results[-1].saved is not None:
        _say_saved(checkpoint or resume, engine)
    if as_json:
        print_json([result.json() for result in results])
    elif len(checks) == 1:
        _print(results[0], drawings=not quiet)
    elif results:
        if not quiet and protocols:
            for result in results:
                _draw(result)
        _print_overview(results)
    not_asked = [name for name in protocols if name not in {one.name for one in checks}]
    verdicts = {result.verdict for result in results} | ({"unknown"} if left_out or not_asked else set())
    worst = next(verdict for verdict in ("violated", "unknown", "holds") if verdict in verdicts)
    return EXITS[worst]


def _own_checks(protocol: str, engine: str | None, reductions: tuple[str, ...]) -> list[Check]:
    """What is checked where a protocol is named and nothing else; one check alone, if even that cannot be run so."""
    first, *beside = own_checks(protocol)
    return [first] if why_not_applicable(first, engine, reductions) is not None else [first, *beside]


def _say_compiling() -> None:
    print(COMPILES, file=sys.stderr)


def _on_spark(engine: str | None, master: str | None, workers: int | None) -> Elsewhere | None:
    """Where the engine `spark` runs; None if another is asked for."""
    if engine != "spark":
        if master is not None:
            raise BadInput("--master: only of --engine spark", mend="leave it out, or use --engine spark")
        return None
    from crownless.pipeline.exploration.search import (
        OnSpark,
    )  # it takes a while to import, and needs what others do not

    return OnSpark(master=master, partitions=workers)


def _one_directory(checkpoint: str | None, resume: str | None) -> None:
    if checkpoint is not None and resume is not None:
        raise BadInput(
            "--checkpoint and --resume: a search that goes on is saved further in the same directory",
            mend="leave out --checkpoint",
        )
    if not (checkpoint or resume):
        raise BadInput("--checkpoint, --resume: the name of the directory is empty", mend="name one")


def _saved(
    directory: Path, given: dict[str, Any], reductions: tuple[str, ...], engine: str | None
) -> tuple[Check, tuple[str, ...]]:
    """The check that is saved there, and its reductions, but for what is given in their place."""
    from crownless.model_check.native.checkpoints import CHECKPOINT  # it takes a while to import
    from crownless.model_check.native.questions import check_of
    from crownless.model_check.native.saved_directories import manifest_in

    if engine == "spark":
        from crownless.pipeline.exploration.manifest import LEVELS

        manifest = manifest_in(directory, LEVELS)
    else:
        manifest = manifest_in(directory, CHECKPOINT)
    saved, reduced = check_of(manifest["question"], f"--resume {directory}")
    if saved.program is not None and given.keys() & {"processes", "messages", "sends", "self_sends"}:
        raise BadInput(
            f"--resume {directory}: is of another check: of the program {saved.program.name}",
            mend="leave out -n, -m, --sends and --self-sends",
        )
    parameters = {**saved.parameters, **given.get("parameters", {})}
    return replace(saved, **{**given, "parameters": parameters}), reductions or reduced


def _say_saved(directory: str | None, engine: str | None) -> None:
    """Where a search is saved, if it is."""
    from crownless.model_check.native.saved_directories import MANIFEST

    if directory is not None and (Path(directory) / MANIFEST).exists():
        name = shlex.quote(directory)
        on_spark = "--engine spark " if engine == "spark" else ""
        say(f"saved in {name}; go on with: crownless check {on_spark}--resume {name}")


def how_far(found: Exploration, level: int) -> str:
    """What a search has come to, in a line."""
    memory = f"{memory_in_use() / (1 << 20):,.0f} MiB in use"
    if level < 0:
        return f"{found.states:,} states; looking for runs that never end, {-level:,} states, {memory}"
    rate = found.states / found.seconds if found.seconds else 0
    return f"level {level}, {found.states:,} states, {rate:,.0f} states/s, {memory}"


def _admitted(checks: list[Check], engine: str | None, reductions: tuple[str, ...]) -> list[Check]:
    """Those that can be asked; says on standard error which cannot, and why."""
    admitted = []
    refused: dict[str, list[str]] = {}
    differ = len({(one.program, one.crash) for one in checks}) > 1
    for one in checks:
        why = why_not_applicable(one, engine, reductions)
        if why is None:
            admitted.append(one)
        else:
            refused.setdefault(why.reason, []).append(one.name + (_over(one) if differ else ""))
    for reason, protocols in refused.items():
        say(f"not run, {reason}: {', '.join(dict.fromkeys(protocols))}")
    if not admitted:
        raise BadInput("no protocol admits this", mend="name one to be told why")
    return admitted


def _over(check: Check) -> str:
    """What is special about a check, beside its protocol."""
    return f" on {check.program.name}" if check.program else " with --crash" if check.crash else ""


def _print(result: CheckResult, *, drawings: bool) -> None:
    """One check: its runs, what it covers, and a line for each property."""
    rows = table("protocol", "property", "kind", "verdict", right=("states", "transitions", "depth", "seconds"))
    if drawings:
        _draw(result)
    found = result.exploration
    facts = (f"{found.states:,}", f"{found.transitions:,}", str(found.depth), f"{result.seconds:.1f}")
    name = result.protocol
    for line in result.properties:
        never = line.property.name in result.never_exercised
        verdict = Text("never exercised" if never else line.verdict, style=STYLES[line.verdict])
        note = _note(line)
        if note:
            verdict.append(printable(f" ({note})"), style="")
        rows.add_row(name, line.property.name, line.property.kind, verdict, *facts)
        name, facts = "", ("", "", "", "")
    if result.verdict == "holds" and result.never_exercised:
        rows.add_row("", "verdict", "", _verdict(result, result.never_exercised))
    print_line(result.scope)
    print_table(rows)
    print_line(_coverage(result))
    _print_completion(result)


def _verdict(result: CheckResult, never_exercised: Collection[str]) -> Text:
    """The verdict, and how much of the protocol it says nothing of."""
    if result.verdict != "holds" or not never_exercised:
        return Text(result.verdict, style=STYLES[result.verdict])
    return Text(f"holds, but {some(len(never_exercised), 'rule')} never exercised", style=STYLES["unknown"])


def _never_exercised(result: CheckResult, results: list[CheckResult]) -> list[str]:
    """The rules that this check did not exercise, nor any other here of the same protocol over the same channel."""
    beside = [one for one in results if (one.protocol, one.channel) == (result.protocol, result.channel)]
    return [name for name in result.never_exercised if not any(one.exercised.get(name) for one in beside)]


def _coverage(result: CheckResult) -> str:
    """How often each action is enabled; which rules of the protocol never came to it."""
    said = " · ".join(f"{name} {count:,}" for name, count in result.actions.items()) or "none"
    if result.never:
        said += f"; never{' so far' if result.exploration.stopped else ''}: {', '.join(result.never)}"
    return f"actions: {said}"


def _print_completion(result: CheckResult) -> None:
    """Of a program: does it come to its end, and where does it block?"""
    if result.completes is None:
        return
    out = console()
    out.print(f"completes: {result.completes}")
    for waits in sorted(result.exploration.blocked):
        out.print(f"  blocks with {'; '.join(waits) or 'a send that never happens'}")


#: The columns of the overview that are properties; a protocol's own invariants and witnesses are summed up.
SHOWN = (*(order for order in ORDERS if order != "asynchronous"), *(known.name for known in (
    DELIVERS_ONCE, DELIVERS_ALL, NEVER_BLOCKS, COMPLETES
)))  # fmt: skip


def _print_overview(results: list[CheckResult]) -> None:
    """Several checks: a row each, a column for each property that any of them is held to."""
    decided = {line.property.name for result in results for line in result.properties}
    columns = [name for name in SHOWN if name in decided]
    clocks = [name for name in CLOCKS if name in decided]
    columns += clocks
    rows = table("protocol", "checked over", "verdict", *columns, "invariants", right=("states", "depth", "seconds"))
    never = [_never_exercised(result, results) for result in results]
    for result, never_exercised in zip(results, never, strict=True):
        lines = {line.property.name: line for line in result.properties}
        own = [line for line in result.properties if line.property.name in result.machine.invariants]
        found = result.exploration
        rows.add_row(
            result.protocol,
            where(result),
            _verdict(result, never_exercised),
            *(_cell([lines[name]] if name in lines else [], result) for name in columns),
            _cell(own, result),
            f"{found.states:,}",
            str(found.depth),
            f"{result.seconds:.1f}",
        )
    out = console()
    out.print(f"every interleaving within the bound; {_engines(results)}. A number: the actions of a shortest run")
    out.print(
        "that breaks the property (`crownless check PROTOCOL` shows it). Blank: the protocol is not held to that."
    )
    if COMPLETES.name in columns:
        out.print("A program that is not always completed is so sometimes or never.")
    print_table(rows)
    for result, never_exercised in zip(results, never, strict=True):
        if result.verdict == "holds" and never_exercised:
            out.print(f"{result.protocol}, {where(result)}: never exercised: {', '.join(never_exercised)}")
    stopped = [result for result in results if result.exploration.stopped]
    for result in stopped:
        out.print(f"{result.protocol}: search ended early: {result.exploration.stopped}")


def _engines(results: list[CheckResult]) -> str:
    """What explored most of them, and what the others."""
    (most, _), *others = Counter(str(result.engine) for result in results).most_common()
    return "; ".join([most, *(f"{some(count, 'row')}: {engine}" for engine, count in others)])


def _cell(lines: list[PropertyResult], result: CheckResult) -> Text:
    if not lines:
        return Text("")
    worst = next(verdict for verdict in ("violated", "unknown", "holds") if any(x.verdict == verdict for x in lines))
    if worst != "violated":
        return Text(worst, style=STYLES[worst])
    shown = [len(line.run.actions) for line in lines if line.run is not None]
    shortest = min(shown) if shown else "violated"
    often = f"{result.completes} " if lines[0].property.name == COMPLETES.name else ""
    return Text(f"{often}{shortest}", style=STYLES["violated"])


def where(result: CheckResult) -> str:
    """Bound or program, channel and what else is not as usual, in a few words."""
    workload = result.workload
    parts = [f"{len(workload.processes)}×{workload.messages}"]
    if isinstance(workload, Program):
        parts = [printable_name(workload.name)]
    elif isinstance(workload, Free):
        parts += [f"{workload.sends}s"] * (workload.sends != "unicast") + ["self-sends"] * workload.self_sends
    parts.append(result.channel)
    if result.machine.ordered_at is not None:
        parts.append(f"orders at {', '.join(workload.processes[i] for i in result.machine.ordered_at)}")
    parts += [f"{key}={told(value)}" for key, value in result.machine.settings.items()]
    if result.check.crashes is not None:
        parts.append(f"{result.check.crashes} may crash")
    return ", ".join(parts)


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
        out.print(f"{result.protocol} breaks {', '.join(line.property.name for line in lines)}:")
        for line in lines:
            out.print(f"  {line.property.meaning}")
        out.print()
        out.print(run.draw(unicode=speaks_unicode()))
        out.print(run.say())
        out.print()
