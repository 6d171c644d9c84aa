"""The subjects of `crownless explore`: a protocol, nodes, a run of either, a computation, or a log."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from crownless.command_line.log_options import chosen_runs
from crownless.impl import own_protocols
from crownless.impl.registry import PROTOCOLS, is_in_brackets
from crownless.model_check.runs.saved_runs import SavedCheck
from crownless.model_check.system.request import Check
from crownless.oracle.conformance.conformance_request import Request
from crownless.oracle.conformance.schedules import read_schedule
from crownless.oracle.logs.formats import LogOptions
from crownless.run_explorer.subjects import Explored, of_check, of_computation, of_nodes, of_saved_run
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable_name
from crownless.runtime.reading import read_bytes
from crownless.spec import library

from .implementations import implementation_of
from .saved import saved_checks

#: Options that do not apply to nodes; and options that a schedule determines.
OF_PROTOCOLS = ("program", "crash", "parameters")
OF_SCHEDULES = ("processes", "messages", "channel", "sends", "self_sends")
REPLAYED = "give the output of 'check --json' for a protocol, or of 'conform --save' for nodes"


@contextmanager
def explored_subject(
    name: str | None,
    command: list[str] | None,
    system: dict[str, Any],
    replay: str | None,
    log: LogOptions,
    chosen: str | None,
) -> Iterator[Explored]:
    """The subject of that name, or of a command after `--`, with the options of `with_system`; programs end with the
    block. `log`, `chosen`: how an event log is read, and its run. Raises `BadInput`.
    """
    if name is None and command is None:
        hint = "give a protocol, a class such as node.py:MyNode, a command after --, or a file with a run"
        raise BadInput("there is nothing to explore", hint=hint)
    is_protocol = name in PROTOCOLS or (name is not None and (own_protocols.is_own(name) or is_in_brackets(name)))
    if (is_protocol or command is not None) and (log.given or chosen is not None):
        option = next(iter(log.given.values()), "--run")
        raise BadInput(f"{option} works only with an event log", hint="leave it out")
    if name is None or command is not None or _is_of_nodes(name):
        with _of_nodes(name, command, system, replay) as explored:
            yield explored
        return
    checks = None if is_protocol or log.given else saved_checks(name)
    if replay is not None:
        _refuse(system, "the saved run has its own check")
        _refuse_run(chosen)
        if not is_protocol:
            raise BadInput(f"--replay: {printable_name(name)} is neither a protocol nor a node class", hint=REPLAYED)
        yield _replayed(name, replay)
    elif checks is not None:
        _refuse(system, "a saved run has its own check")
        _refuse_run(chosen)
        yield _first_run(checks, name)
    elif not is_protocol and (log.given or _is_computation(name)):
        _refuse(system, "a computation has its own processes and messages")
        one, *others = chosen_runs(name, log, chosen)
        if others:
            named = f"choose one with --run NAME, such as --run {printable_name(one.run or '')}"
            raise BadInput(f"it has {len(others) + 1:,} runs", hint=named, file=name)
        try:
            explored = of_computation(one)
        except BadInput as error:
            raise error.at(file=name) from None
        yield explored
    else:
        yield of_check(Check(protocol=name, **system))


def _refuse_run(chosen: str | None) -> None:
    if chosen is not None:
        raise BadInput("--run works only with an event log", hint="leave it out")


def _is_of_nodes(name: str) -> bool:
    """True of a class of nodes, which is imported."""
    try:
        if own_protocols.is_own(name) and not is_in_brackets(name):
            own_protocols.load(name)
    except BadInput:
        own_protocols.load_protocol_or_node(name)
        return True
    return False


@contextmanager
def _of_nodes(
    name: str | None, command: list[str] | None, system: dict[str, Any], replay: str | None
) -> Iterator[Explored]:
    _refuse(system.keys() & OF_PROTOCOLS, "works only with a protocol")
    schedule = None
    if replay is not None:
        _refuse(system.keys() & OF_SCHEDULES, "the schedule has its own")
        schedule = read_schedule(read_bytes(Path(replay), replay), replay)
        request = replace(schedule.request, orders=system.get("orders", ()))
    else:
        request = Request.about(name, **system)
    with implementation_of(name, command, request.processes, request.sends) as implementation:
        yield of_nodes(implementation, request, schedule)


def _replayed(name: str, file: str) -> Explored:
    """A protocol, beginning with one of its saved runs."""
    checks = saved_checks(file)
    if checks is None:
        read_bytes(Path(file), file)
        raise BadInput("it contains no run", hint=REPLAYED, file=file)
    return _first_run([check for check in checks if check.protocol == name] or checks, file, name)


def _first_run(checks: list[SavedCheck], file: str, protocol: str | None = None) -> Explored:
    """The first run in a file."""
    violations = [(check, found, known) for check in checks for known, found in check.violations()]
    if not violations:
        raise BadInput("no property is violated in it, so there is no run to explore", file=file)
    try:
        return of_saved_run(*violations[0], protocol)
    except BadInput as error:
        raise error.at(file=file) from None


def _is_computation(name: str) -> bool:
    """True of a file, a bundled name, or standard input."""
    return name == "-" or "/" in name or "." in name or library.located(name) is not None


def _refuse(options: Iterable[str], why: str) -> None:
    for option in sorted(options):
        raise BadInput(f"--{option.replace('_', '-')}: {why}", hint="leave it out")
