"""The request of a search, as it is saved: enough to repeat it, and to distinguish it from another."""

import hashlib
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.system.request import Check, ResolvedCheck
from crownless.runtime.errors import BadInput
from crownless.runtime.printable import printable, printable_name
from crownless.spec import notation


def request_of(check: ResolvedCheck, reductions: Sequence[str]) -> dict[str, Any]:
    """All that determines a search, with defaults filled in, and how to request it again. The number of workers is not
    included: a search may resume with another. A program is its statements, without comments.
    """
    program = check.program
    lines = [] if program is None else zip(program.processes, program.statements, strict=True)
    request = check.json() | {
        "orders": check.orders,
        "clocks": tuple(clock.name for clock in check.clocks),
        "reductions": list(reductions),
        "statements": "\n".join(f"{process}: {'; '.join(map(str, statements))}" for process, statements in lines),
        "code": code_digest(type(check.machine)),
    }
    return {key: value for key, value in request.items() if key != "process_names"}


class SavedRequest(msgspec.Struct):
    """What `check_of` reads of a saved request."""

    protocol: str
    processes: int
    messages: int
    program: str | None
    channel: str
    sends: str | None
    self_sends: bool
    crash: str | None
    parameters: dict[str, int | list[int]]
    orders: list[str]
    clocks: list[str]
    reductions: list[str]
    statements: str


def check_of(request: dict[str, Any], where: str = "the saved check") -> tuple[Check, tuple[str, ...]]:
    """The check of a saved request (`request_of`), and its reductions; raises `BadInput`, beginning with `where`."""
    try:
        msgspec.convert(request, SavedRequest)
    except msgspec.ValidationError as error:
        raise BadInput(f"{where}: the saved request is damaged: {error}", hint="start the check anew") from None
    name = request["protocol"]
    if name not in PROTOCOLS:  # a saved file must not name code to run
        named = f"crownless check {shlex.quote(name)} {where}"
        raise BadInput(
            f"{where}: the saved search checks {printable_name(name)}, and a saved file cannot name code to run",
            hint=f"name the protocol again, with the options of that check: {printable(named)}",
        )
    values = request["parameters"].items()
    check = Check(
        name,
        channel=request["channel"],
        orders=tuple(request["orders"]),
        parameters={key: tuple(value) if isinstance(value, list) else value for key, value in values},
        clocks=tuple(request["clocks"]),
        crash=request["crash"],
    )
    if request["program"] is None:
        bound = {key: request[key] for key in ("processes", "messages", "sends", "self_sends")}
        return replace(check, **bound), tuple(request["reductions"])
    program = replace(notation.parse(request["statements"]), name=request["program"])
    return replace(check, program=program), tuple(request["reductions"])


def code_digest(machine: type[ProtocolMachine]) -> str:
    """A digest of the code that a search runs: specification, protocols, monitors, engines, kernels; and the machine's
    own files, if these are elsewhere.
    """
    package = Path(str(files("crownless")))
    folders = ("spec", "impl", "model_check")
    code = [file for folder in folders for file in sorted((package / folder).resolve().rglob("*.py"))]
    for kind in machine.__mro__:
        file = getattr(sys.modules[kind.__module__], "__file__", None)
        if file is not None and not kind.__module__.startswith("crownless."):
            code.append(Path(file))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in code)).hexdigest()


def differences(then: dict[str, Any], now: dict[str, Any]) -> Iterable[str]:
    """The differences between two requests, in words. Programs with the same statements are the same, in any file."""
    same_program = then.get("statements", "") == now.get("statements") != ""
    for key, after in now.items():
        before = then.get(key)
        if before == after or (key == "program" and same_program):
            continue
        if key == "code":
            yield "the code of crownless or of the protocol has changed since"
        elif key != "statements":
            yield f"{key} {_rendered(before)}, not {_rendered(after)}"
        elif then.get("program") == now["program"]:
            yield f"program {now['program']} with other statements"


def _rendered(value: Any) -> str:
    if isinstance(value, dict):
        return _rendered([f"{name}={_rendered(one)}" for name, one in value.items()])
    if isinstance(value, list):
        return ",".join(map(_rendered, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
