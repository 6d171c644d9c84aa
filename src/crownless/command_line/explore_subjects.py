"""The subjects of `crownless explore`: a protocol, nodes, a run of either, a computation, or a log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from crownless.impl import own_protocols
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check.request import MOST_MESSAGES, MOST_PROCESSES, Check, load_program
from crownless.model_check.runs.saved_runs import SavedCheck
from crownless.oracle.conformance.conformance_request import Request
from crownless.oracle.conformance.schedules import read_schedule
from crownless.oracle.logs.reader import subjects
from crownless.run_explorer.subjects import Explored, of_check, of_computation, of_nodes, of_saved_run
from crownless.spec import library
from crownless.spec.enumeration import known_sends
from crownless.spec.errors import BadInput
from crownless.spec.printable import printable_name
from crownless.spec.reading import read_bytes

from .implementations import implementation_of
from .options import parse_settings, within
from .saved import saved_checks

#: Options that nodes have no use for, and those that a schedule brings.
OF_PROTOCOLS = ("program", "crash", "settings")
OF_SCHEDULES = ("processes", "messages", "channel", "sends", "self_sends")
#: Options that a program leaves no room for.
OF_FREE_SENDS = ("processes", "messages", "sends", "self_sends")
REPLAYED = "give what 'check --json' printed of a protocol, or what 'conform --save' wrote of nodes"


@contextmanager
def explored_subject(
    name: str | None,
    command: list[str] | None,
    given: dict[str, Any],
) -> Iterator[Explored]:
    """The subject of that name, or of a command after `--`; programs are ended with the block. Raises `BadInput`."""
    settings = {option: value for option, value in given.items() if value not in (None, ()) and value is not False}
    if name is None and command is None:
        hint = "give a protocol, a class such as node.py:MyNode, a command after --, or a file with a run"
        raise BadInput("there is nothing to explore", hint=hint)
    if name is None or command is not None or _is_of_nodes(name):
        with _of_nodes(name, command, settings) as explored:
            yield explored
    elif "replay" in settings:
        yield _replayed(name, settings)
    else:
        yield _subject(name, settings)


def _is_of_nodes(name: str) -> bool:
    """True of a class of nodes, which is imported."""
    try:
        if own_protocols.is_own(name):
            own_protocols.load(name)
    except BadInput:
        own_protocols.load_protocol_or_node(name)
        return True
    return False


@contextmanager
def _of_nodes(name: str | None, command: list[str] | None, settings: dict[str, Any]) -> Iterator[Explored]:
    _refuse({option: settings[option] for option in OF_PROTOCOLS if option in settings}, "only of a protocol")
    schedule = None
    if "replay" in settings:
        file = settings["replay"]
        _refuse({option: settings[option] for option in OF_SCHEDULES if option in settings}, "the schedule has its own")
        schedule = read_schedule(read_bytes(Path(file), file), file)
        request = schedule.request
    else:
        self_sends = settings.get("self_sends", False)
        request = Request(
            within("-n/--processes", settings.get("processes", 3), MOST_PROCESSES, least=2 - self_sends),
            within("-m/--messages", settings.get("messages", 3), MOST_MESSAGES),
            settings.get("channel", "unordered"),
            sends=known_sends(settings.get("sends", "unicast")),
            self_sends=self_sends,
        )
    request = replace(request, orders=settings.get("orders", ()))
    with implementation_of(name, command, request.processes, request.sends) as implementation:
        yield of_nodes(implementation, request, schedule)


def _replayed(name: str, settings: dict[str, Any]) -> Explored:
    """A protocol, beginning with a run that was saved of it."""
    file = settings.pop("replay")
    _refuse(settings, "the saved run brings its check with it")
    if not _is_protocol(name):
        raise BadInput(f"--replay: {printable_name(name)} is no protocol and no class of nodes", hint=REPLAYED)
    checks = saved_checks(file)
    if checks is None:
        read_bytes(Path(file), file)
        raise BadInput("there is no run in it", hint=REPLAYED, file=file)
    own = [check for check in checks if check.protocol == name] or checks
    return _explored_run(own, file, name)


def _explored_run(checks: list[SavedCheck], file: str, protocol: str | None = None) -> Explored:
    """The first run in a file."""
    violations = [(check, found, known) for check in checks for known, found in check.violations()]
    if not violations:
        raise BadInput("no property is violated there, so there is no run to explore", file=file)
    try:
        return of_saved_run(*violations[0], protocol)
    except BadInput as error:
        raise error.at(file=file) from None


def _subject(name: str, settings: dict[str, Any]) -> Explored:
    checks = None if _is_protocol(name) else saved_checks(name)
    if checks is not None:
        _refuse(settings, "a saved run brings its check with it")
        return _explored_run(checks, name)
    if _is_computation(name):
        _refuse(settings, "a computation has its own processes and messages")
        one, *others = subjects(name)
        if others:
            raise BadInput(f"it has {len(others) + 1:,} runs, and a page shows one", hint="cut out one", file=name)
        return of_computation(one.computation, one.run or printable_name(name))
    program = settings.get("program")
    if program is not None:
        _refuse(
            {option: settings[option] for option in OF_FREE_SENDS if option in settings}, "a program brings its own"
        )
    return of_check(
        Check(
            protocol=name,
            processes=settings.get("processes"),
            messages=settings.get("messages"),
            program=None if program is None else load_program(program),
            channel=settings.get("channel"),
            orders=tuple(settings.get("orders", ())),
            sends=settings.get("sends"),
            self_sends=settings.get("self_sends", False),
            parameters=parse_settings(settings.get("settings", ())),
            crash=settings.get("crash"),
        )
    )


def _is_protocol(name: str) -> bool:
    """True of the name of a protocol, `file.py:Class` or `package.module:Class`."""
    return name in PROTOCOLS or ".py" in name or ":" in name


def _is_computation(name: str) -> bool:
    """True of a file, which is no protocol, a bundled name, or standard input."""
    is_file = name == "-" or "/" in name or "." in name or library.is_file_name(name)
    return not _is_protocol(name) and (is_file or name in _bundled())


def _bundled() -> tuple[str, ...]:
    return (*library.names(), *library.names(".jsonl"), *library.counterexamples(), *library.counterexamples(".json"))


def _refuse(settings: dict[str, Any], why: str) -> None:
    for option in settings:
        raise BadInput(f"--{option.replace('_', '-')}: {why}", hint="leave it out")
