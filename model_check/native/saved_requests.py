"""The request of a search, as it is saved: enough to repeat it, and to distinguish it from another."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import crownless
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import PROTOCOLS, qualified_name_of
from crownless.impl.workloads import Free
from crownless.model_check.check.request import Check, ResolvedCheck
from crownless.spec import notation
from crownless.spec.errors import BadInput
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
        "program": None if check.program is None else {"name": check.program.name, "text": _text(check.program)},
        "channel": check.channel_name,
        "orders": check.orders,
        "sends": workload.sends if isinstance(workload, Free) else None,
        "self_sends": isinstance(workload, Free) and workload.self_sends,
        "parameters": dict(check.machine.settings),
        "clocks": tuple(clock.name for clock in check.clocks),
        "reductions": list(reductions),
        "code": code_digest(type(check.machine)),
    }


def _text(program: Script) -> str:
    """Its statements, without comments."""
    lines = zip(program.processes, program.statements, strict=True)
    return "\n".join(f"{process}: {'; '.join(map(str, statements))}" for process, statements in lines)


def check_of(request: dict[str, Any], where: str = "the saved check") -> tuple[Check, tuple[str, ...]]:
    """The check of a saved request (`request_of`), and its reductions; raises `BadInput`, beginning with `where`."""
    name = request["protocol"]
    if name not in PROTOCOLS:  # a file is no place to name code to be run
        named = f"crownless check {shlex.quote(name)} {where}"
        raise BadInput(
            f"{where}: the saved search is of {printable_name(name)}, a protocol of one's own, whose code is not run "
            "because a saved file names it",
            hint=f"name the protocol again, with the options of that check: {printable(named)}",
        )
    values = request["parameters"].items()
    check = Check(
        name,
        channel=request["channel"],
        orders=tuple(request["orders"]),
        parameters={key: tuple(value) if isinstance(value, list) else value for key, value in values},
        clocks=tuple(request["clocks"]),
    )
    program = request["program"]
    if program is None:
        kept = {key: request[key] for key in ("processes", "messages", "sends", "self_sends")}
        check = replace(check, **kept)
    else:
        check = replace(check, program=replace(notation.parse(program["text"]), name=program["name"]))
    return check, tuple(request["reductions"])


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
    """Of the files of this package that a search depends on."""
    digest = hashlib.sha256()
    package = Path(crownless.__path__[0])
    for folder in ("spec", "impl", "model_check", "pipeline/exploration"):
        for file in sorted((package / folder).resolve().rglob("*.py")):
            digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def differences(then: dict[str, Any], now: dict[str, Any]) -> Iterable[str]:
    """The differences between two requests, in words. Programs with the same statements are the same, in any file."""
    for key, after in now.items():
        before = then.get(key)
        if key == "program" and before and after:
            if before["text"] != after["text"]:
                old, new = before["name"], after["name"]
                yield f"program {old} with other statements" if old == new else f"program {old}, not {new}"
        elif key == "code" and before != after:
            yield "crownless, or the protocol, as its code was then, and it has changed"
        elif before != after:
            yield f"{key} {_rendered(before)}, not {_rendered(after)}"


def _rendered(value: Any) -> str:
    if isinstance(value, dict) and "text" in value:
        return str(value["name"])
    if isinstance(value, dict):
        return _rendered([f"{name}={_rendered(one)}" for name, one in value.items()])
    if isinstance(value, list):
        return ",".join(map(_rendered, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
