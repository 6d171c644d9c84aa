"""The request of a search, as it is saved: enough to repeat it, and to distinguish it from another."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

import crownless
from crownless.impl.own_protocols import is_own, registered
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import PROTOCOLS, qualified_name_of
from crownless.impl.workloads import Free
from crownless.model_check.request import Check, ResolvedCheck
from crownless.spec import library, notation
from crownless.spec.enumeration import Sends
from crownless.spec.errors import BadInput, unknown_name
from crownless.spec.notation import Script
from crownless.spec.printable import printable, printable_name


def request_of(check: ResolvedCheck, reductions: Sequence[str]) -> dict[str, Any]:
    """All that determines a search, defaults filled in, and how to request it again. Not the number of workers: a
    search may go on with another.
    """
    workload = check.workload
    return {
        "protocol": qualified_name_of(type(check.machine)),
        "processes": len(workload.processes),
        "messages": workload.messages,
        "program": None if check.program is None else _saved_program(check.program),
        "channel": check.channel_name,
        "orders": check.orders,
        "sends": workload.sends if isinstance(workload, Free) else None,
        "self_sends": isinstance(workload, Free) and workload.self_sends,
        "parameters": dict(check.machine.settings),
        "clocks": tuple(clock.name for clock in check.clocks),
        "reductions": list(reductions),
        "code": code_digest(type(check.machine)),
    }


class SavedProgram(msgspec.Struct):
    """A program: its bundled name, or its file."""

    name: str | None
    file: str | None
    sha256: str


class SavedRequest(msgspec.Struct):
    """The result of `request_of`, read back."""

    protocol: str
    processes: int
    messages: int
    program: SavedProgram | None
    channel: str
    orders: list[str]
    sends: Sends | None
    self_sends: bool
    parameters: dict[str, int | list[int]]
    clocks: list[str]
    reductions: list[Literal["symmetry", "order"]]


def check_of(request: dict[str, Any], where: str = "the saved check") -> tuple[Check, tuple[str, ...]]:
    """The check of a saved request (`request_of`), and its reductions; raises `BadInput`, beginning with `where`."""
    saved = msgspec.convert(request, SavedRequest)
    if saved.protocol not in PROTOCOLS:  # a file is no place to name code to be run
        if is_own(saved.protocol) or saved.protocol in registered():
            named = f"crownless check {shlex.quote(saved.protocol)} {where}"
            name = printable_name(saved.protocol)
            raise BadInput(
                f"{where}: the saved search is of {name}, a protocol of one's own, whose code is not run because a "
                "saved file names it",
                hint=f"name the protocol again, with the options of that check: {printable(named)}",
            )
        raise unknown_name("protocol", saved.protocol, PROTOCOLS)
    check = Check(
        saved.protocol,
        channel=saved.channel,
        orders=tuple(saved.orders),
        parameters={
            name: tuple(value) if isinstance(value, list) else value for name, value in saved.parameters.items()
        },
        clocks=tuple(saved.clocks),
    )
    known = saved.program
    if known is None:
        check = replace(
            check,
            processes=saved.processes,
            messages=saved.messages,
            sends=saved.sends,
            self_sends=saved.self_sends,
        )
        return check, tuple(saved.reductions)
    if known.file is None and known.name is None:
        raise BadInput(f"{where}: its program stands in no file", hint="name the program again")
    path = library.path(str(known.name)) if known.file is None else Path(known.file)
    if library.is_file_name(str(path)) and not path.is_file():
        raise BadInput(f"{where}: its program is not a file", hint="start anew with --checkpoint and another directory")
    return replace(check, program=replace(notation.load(path), name=known.name)), tuple(saved.reductions)


def code_digest(machine: type[ProtocolMachine]) -> str:
    """Of the code that a search runs: specification, protocols, monitors, engines, kernels; and of the machine's own
    files, where these are elsewhere.
    """
    digest = hashlib.sha256(_package_digest().encode())
    for kind in machine.__mro__:
        file = getattr(sys.modules[kind.__module__], "__file__", None)
        if file is not None and not kind.__module__.startswith("crownless."):
            digest.update(Path(file).read_bytes())
    return digest.hexdigest()


@cache
def _package_digest() -> str:
    digest = hashlib.sha256()
    for file in code_files():
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def code_files() -> list[Path]:
    """The files of this package that a search depends on."""
    package = Path(crownless.__path__[0])
    folders = [(package / name).resolve() for name in ("spec", "impl", "model_check", "pipeline/exploration")]
    return [file for folder in folders for file in sorted(folder.rglob("*.py"))]


def _saved_program(script: Script) -> dict[str, Any]:
    """Its name, where it is, and what it says: comments and spaces left aside."""
    name = script.name
    bundled = name in library.names() and script.file == str(library.path(name))
    lines = zip(script.processes, script.statements, strict=True)
    says = "\n".join(f"{process}: {'; '.join(map(str, statements))}" for process, statements in lines)
    file = None if bundled or script.file is None else str(Path(script.file).resolve())
    return {"name": name, "file": file, "sha256": hashlib.sha256(says.encode()).hexdigest()}


def differences(then: dict[str, Any], now: dict[str, Any]) -> Iterable[str]:
    """The differences between two requests, in words. Programs with the same statements are the same, in any file."""
    for key in dict.fromkeys([*now, *then]):
        before, after = then.get(key), now.get(key)
        if key == "program" and isinstance(before, dict) and isinstance(after, dict):
            if before.get("sha256") == after.get("sha256"):
                continue
            if before.get("name") == after.get("name"):
                yield f"program {before.get('name')} as it was then, and it has changed"
                continue
        if key == "code" and before != after:
            yield "crownless, or the protocol, as its code was then, and it has changed"
        elif before != after:
            yield f"{key} {_rendered(before)}, not {_rendered(after)}"


def _rendered(value: Any) -> str:
    if isinstance(value, dict) and "sha256" in value:
        return str(value.get("name"))
    if isinstance(value, dict):
        return _rendered([f"{name}={_rendered(one)}" for name, one in value.items()])
    if isinstance(value, list):
        return ",".join(map(_rendered, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
