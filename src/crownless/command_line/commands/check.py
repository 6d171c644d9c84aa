"""`crownless check`: a protocol's order, delivery and progress, over every interleaving within a bound."""

import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from crownless.command_line.endings import EXIT_HOLDS, EXIT_UNKNOWN, EXIT_VIOLATED, exit_code, say
from crownless.command_line.file_options import InputFile
from crownless.command_line.options import Command, complete_protocol, with_output
from crownless.command_line.output import Progress, print_json, status
from crownless.command_line.reports import Reports, with_reports
from crownless.command_line.request_options import with_request, with_system
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check.check import run_check
from crownless.model_check.check.check_request import HowToSearch
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.check.suite import SuiteRow, as_expected, own_checks
from crownless.model_check.check.suite import rows as suite_rows
from crownless.model_check.search.engines import COMPILES, RemoteEngine, admitted, compiling
from crownless.model_check.system.exploration import Exploration
from crownless.model_check.system.request import Check, NotApplicable, ResolvedCheck
from crownless.runtime.ending import INTERRUPTED, Stopped
from crownless.runtime.errors import BadInput
from crownless.runtime.memory import memory_in_use
from crownless.spec.notation import Script

from .check_overview import Overview
from .check_report import print_check, print_runs


@click.command(
    cls=Command, everyday="processes messages program channel orders parameters first max_seconds svg html as_json"
)
@click.argument("protocols", nargs=-1, metavar="[PROTOCOL]...", type=InputFile(), shell_complete=complete_protocol)
@with_system()
@with_request(HowToSearch, "search", made=HowToSearch)
@click.option("--master", help="With --engine spark: where Spark runs, such as local[4].")
@with_reports
@with_output
def check(
    protocols: tuple[str, ...],
    system: dict[str, Any],
    search: HowToSearch,
    master: str | None,
    reports: Reports,
    as_json: bool,
    quiet: bool,
) -> int:
    """Check every interleaving within a bound; each violation comes with a shortest run.

    \b
    Examples:
      crownless check                        every protocol, with the expected verdicts
      crownless check rst -n 3 -m 5          one protocol at a larger bound
      crownless check unordered --first      only the shortest violation

    Exit codes: 0 holds, or all as expected; 1 violated, or not as expected; 2 bad usage; 3 unknown.
    More on reductions, engines and saved searches: docs/command_line.md.
    """
    _refuse_contradictions(protocols, search, master)
    with redirect_stdout(sys.stderr):  # what a user's code prints is not part of the answer
        if search.resume is not None and not protocols:
            saved, search = _saved(Path(search.resume), system, search)
            checks, suite, some_not_run = [saved.resolve()], None, False
        else:
            checks, suite, some_not_run = _checks(protocols, system, search)
    if search.engine == "spark":
        search = replace(search, elsewhere=_on_spark(master, search.workers))
    run: Callable[..., CheckResult] = partial(
        run_check,
        **search.arguments,
        report=say,
        on_violation=None if quiet or suite is not None else say,
        around_native=nullcontext if quiet else lambda: compiling(lambda: say(COMPILES)),
    )
    overview = None if len(checks) == 1 or as_json else Overview(checks, suite)
    results: list[CheckResult] = []
    with status(quiet or as_json) as line:
        if overview is not None:
            overview.print_headings(line)
        for one in checks:
            line.update(f"{one.protocol}: starting Spark" if search.elsewhere is not None else one.protocol)
            try:
                with redirect_stdout(sys.stderr):
                    result = run(one, progress=partial(_show_progress, line, one.protocol))
            except Stopped:
                break
            results.append(result)
            if overview is not None:
                overview.print_row(result, line)
            if result.interrupted:
                break
    if not results or results[-1].saved is not None:
        full = bool(results) and search.limits.memory_is_why(results[-1].exploration.stopped)
        _say_saved(search, checks[-1], full=full)
    if not results:
        raise Stopped(INTERRUPTED)
    left_out = [one.protocol for one in checks[len(results) :]]
    if left_out:
        say(f"interrupted; not checked: {', '.join(left_out)}")
    reports.write([result.suite() for result in results])
    if as_json:
        _print_json(results, suite)
    elif overview is None:
        print_check(results[0], drawings=not quiet)
    else:
        for result in results if protocols and not quiet else ():
            print_runs(result)
        overview.print_conclusion()
    if suite is not None:
        expected = as_expected(suite, results)
        return EXIT_VIOLATED if expected is False else EXIT_UNKNOWN if expected is None or left_out else EXIT_HOLDS
    verdicts = {result.verdict for result in results}
    return exit_code(verdicts | {"unknown"} if left_out or some_not_run else verdicts)


def _print_json(results: Sequence[CheckResult], suite: Sequence[SuiteRow] | None) -> None:
    """Prints the JSON of each check; for a suite also the expected violations, and whether they match."""
    facts = [result.json() for result in results]
    for row, result, each in zip(suite or (), results, facts, strict=False):
        each |= {"expected": sorted(row.breaks), "as_expected": row.as_expected(result)}
    print_json({"checks": facts})


def _show_progress(line: Progress, name: str, found: Exploration, level: int) -> None:
    line.update(f"{name}: {how_far(found, level)}")


def how_far(found: Exploration, level: int) -> str:
    """The state of a search, in a line."""
    memory = f"{memory_in_use() / (1 << 20):,.0f} MiB in use"
    if level < 0:
        return f"{found.states:,} states; looking for runs that never end, {-level:,} states, {memory}"
    rate = found.states / found.seconds if found.seconds else 0
    return f"level {level}, {found.states:,} states, {rate:,.0f} states/s, {memory}"


# -- the checks to make ------------------------------------------------------------------------------------------------


def _checks(
    protocols: tuple[str, ...], given: dict[str, Any], search: HowToSearch
) -> tuple[list[ResolvedCheck], list[SuiteRow] | None, bool]:
    """The requested checks; their rows, if the suite is requested; and whether a named protocol is not checked. If
    several are requested, any that does not apply is named on standard error, with the reason.
    """
    suite, some_not_run = None, False
    engine = search.engine, search.reductions, search.workers
    if given or search.checkpoint or search.resume:
        requests = [[Check(protocol=name, **given)] for name in protocols or PROTOCOLS]
    elif protocols:
        requests = [own_checks(name) for name in protocols]
    else:
        suite = suite_rows()
        requests = [[row.check] for row in suite]
    answers: list[tuple[Check, ResolvedCheck | NotApplicable]] = []
    for first, *beside in requests:
        answers.append((first, admitted(first, *engine)))
        if isinstance(answers[-1][1], ResolvedCheck):
            answers += [(one, admitted(one, *engine)) for one in beside]
        else:
            some_not_run = bool(protocols)
    refused = [(one, why) for one, why in answers if isinstance(why, NotApplicable)]
    if refused and protocols and (len(answers) == 1 or not (search.engine or search.reductions)):
        raise refused[0][1]
    differ = len({(one.program, one.crash) for one, _ in answers}) > 1
    by_reason: dict[str, dict[str, None]] = {}
    for one, why in refused:
        by_reason.setdefault(why.reason, {})[one.name + (_over(one) if differ else "")] = None
    for reason, names in by_reason.items():
        say(f"not run, {reason}: {', '.join(names)}")
    checks = [one for _, one in answers if isinstance(one, ResolvedCheck)]
    if not checks:
        raise BadInput("no bundled protocol supports these options", hint="name one to see why")
    if suite is not None:
        suite = [row for row, (_, one) in zip(suite, answers, strict=True) if isinstance(one, ResolvedCheck)]
    return checks, suite, some_not_run


def _over(check: Check) -> str:
    """The settings of a check, apart from its protocol."""
    program = check.program.name if isinstance(check.program, Script) else check.program
    return f" on {program}" if program else " with --crash" if check.crash else ""


# -- saved searches, and Spark -----------------------------------------------------------------------------------------


def _refuse_contradictions(protocols: tuple[str, ...], search: HowToSearch, master: str | None) -> None:
    """Raises `BadInput` if these options exclude each other: where a search runs, and where it is saved or resumed."""
    if master is not None and search.engine != "spark":
        raise BadInput("--master requires --engine spark", hint="leave it out, or add --engine spark")
    option = "--resume" if search.checkpoint is None else "--checkpoint"
    saved = search.checkpoint or search.resume
    if saved and (len(protocols) > 1 or (search.resume is None and not protocols)):
        raise BadInput(f"{option} needs exactly one protocol", hint="name one protocol")


def _on_spark(master: str | None, workers: int | None) -> RemoteEngine:
    """The place where the engine `spark` runs."""
    from crownless.pipeline.exploration import OnSpark  # it needs an extra that others do not

    return OnSpark(master=master, partitions=workers)


def _saved(directory: Path, given: dict[str, Any], search: HowToSearch) -> tuple[Check, HowToSearch]:
    """The check saved there, and how it is searched, except where options override them."""
    from crownless.model_check.native.checkpoints import header_in  # it takes a while to import
    from crownless.model_check.native.saved_requests import check_of

    header = header_in(directory, "spark" if search.engine == "spark" else "native")
    saved, reduced = check_of(header["request"], f"--resume {directory}")
    if isinstance(saved.program, Script) and given.keys() & {"processes", "messages", "sends", "self_sends"}:
        raise BadInput(
            f"--resume {directory}: the saved check runs the program {saved.program.name}",
            hint="leave out -n, -m, --sends and --self-sends",
        )
    parameters = {**saved.parameters, **given.get("parameters", {})}
    check = replace(saved, **{**given, "parameters": parameters})
    return check, replace(search, reductions=search.reductions or reduced)


def _say_saved(search: HowToSearch, check: ResolvedCheck, *, full: bool) -> None:
    """Says in which directory a search is saved, if it is, and how to resume it; `full`: it needs more memory."""
    from crownless.model_check.native.checkpoints import CHECKPOINT

    directory = search.resume or search.checkpoint
    if directory is not None and (Path(directory) / CHECKPOINT).exists():
        name = shlex.quote(str(directory))
        on_spark = "--engine spark " if search.engine == "spark" else ""
        again = f"crownless check {on_spark}--resume {name}"
        if check.protocol not in PROTOCOLS:
            again = "the same command" + (
                f", with --resume {name} in place of --checkpoint" if not search.resume else ""
            )
        say(f"saved in {name}; {'give a larger --max-memory, and ' * full}resume with: {again}")
