"""What was asked of a search, as it is saved: enough to ask it again, and to tell it from another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from crownless.impl.workloads import Free
from crownless.model_check.asking import Asked, Check, sends_of
from crownless.spec import library, notation
from crownless.spec.notation import Script

from .compiled import HAVE_NUMBA


def question_of(check: Check, asked: Asked, reductions: Sequence[str]) -> dict[str, Any]:
    """All that determines a search, defaults filled in, and how to ask it again. Not the number of workers: a search
    may go on with another.
    """
    free = isinstance(asked.workload, Free)
    return {
        "protocol": check.protocol,
        "processes": len(asked.workload.processes),
        "messages": asked.workload.messages,
        "program": None if check.program is None else _told_of_program(check.program, check.program_name),
        "channel": asked.channel_name,
        "orders": asked.orders,
        "sends": sends_of(check, type(asked.machine)) if free else None,
        "self_sends": check.self_sends,
        "parameters": dict(asked.machine.settings),
        "clocks": tuple(dict.fromkeys(check.clocks)),
        "reductions": list(reductions),
        # Without it ghosts have numbers of their own.
        "numba": HAVE_NUMBA,
    }


def check_of(asked: dict[str, Any]) -> tuple[Check, tuple[str, ...]]:
    """The check of a question (`question_of`), and its reductions."""
    check = Check(
        asked["protocol"],
        channel=asked["channel"],
        orders=tuple(asked["orders"]),
        parameters={
            name: tuple(value) if isinstance(value, list) else value for name, value in asked["parameters"].items()
        },
        clocks=tuple(asked["clocks"]),
    )
    known = asked["program"]
    if known is None:
        free = {name: asked[name] for name in ("processes", "messages", "sends", "self_sends")}
        return replace(check, **free), tuple(asked["reductions"])
    path = library.path(known["name"]) if known["file"] is None else Path(known["file"])
    return replace(check, program=notation.load(path), program_name=known["name"]), tuple(asked["reductions"])


def _told_of_program(script: Script, name: str | None) -> dict[str, Any]:
    """Its name, where it is, and what it says: comments and spaces left aside."""
    bundled = name in library.names() and script.file == str(library.path(name))
    lines = zip(script.processes, script.statements, strict=True)
    says = "\n".join(f"{process}: {'; '.join(map(str, statements))}" for process, statements in lines)
    return {
        "name": name,
        "file": None if bundled or script.file is None else str(Path(script.file).resolve()),
        "sha256": hashlib.sha256(says.encode()).hexdigest(),
    }


def differences(then: dict[str, Any], now: dict[str, Any]) -> Iterable[str]:
    """In what two questions differ, in words. Two programs are the same if they say the same, wherever they are."""
    for key in dict.fromkeys([*now, *then]):
        before, after = then.get(key), now.get(key)
        if key == "program" and before is not None and after is not None:
            if before["sha256"] == after["sha256"]:
                continue
            if before["name"] == after["name"]:
                yield f"program {before['name']} as it was then, and it has changed"
                continue
        if before != after:
            yield f"{key} {_told(before)}, not {_told(after)}"


def _told(value: Any) -> str:
    if isinstance(value, dict) and "sha256" in value:
        return str(value["name"])
    if isinstance(value, dict):
        return _told([f"{name}={_told(one)}" for name, one in value.items()])
    if isinstance(value, list):
        return ",".join(map(_told, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
