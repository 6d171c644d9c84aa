"""State spaces and logs with a verdict that is unknown."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from crownless.oracle.conformance.conformance_request import Request
from crownless.oracle.conformance.in_process import InProcess
from crownless.oracle.logs.reader import subjects
from crownless.run_explorer.state_space import StateSpace
from crownless.run_explorer.subjects import of_computation, of_nodes

TIMER = "a timer is pending: LateNode.on_packet"
HOLE = "not violated by what is logged; a: event 1 is missing"


class LateNode:
    """Delivers at once, and sets a timer that delivers nothing."""

    def __init__(self, transmit: Any, deliver: Any) -> None:
        self.transmit, self.deliver = transmit, deliver

    async def on_send(self, to: int, message: str) -> None:
        self.transmit(to, message)

    async def on_packet(self, source: int, packet: str) -> None:
        self.deliver(packet)
        asyncio.get_running_loop().call_later(1.0, print)


class Silent(LateNode):
    async def on_packet(self, source: int, packet: str) -> None:
        pass


def nodes(kind: type, messages: int = 1) -> StateSpace:
    return of_nodes(InProcess(kind, 2), Request(2, messages)).space


def tied(folder: Path) -> StateSpace:
    """The page of spans: a sends x and y at the same time, and then z; b delivers y, x, and c z alone."""

    def span(name: str, kind: int, start: int, cause: str = "") -> dict[str, Any]:
        links = [{"traceId": "1", "spanId": cause}] if cause else []
        return {"traceId": "1", "spanId": name, "kind": kind, "startTimeUnixNano": str(start), "links": links}

    services = {
        "a": [span("x", 4, 10), span("y", 4, 10), span("z", 4, 20)],
        "b": [span("1", 5, 30, "y"), span("2", 5, 40, "x")],
        "c": [span("3", 5, 30, "z")],
    }
    content = [
        {
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": name}}]},
            "scopeSpans": [{"spans": each}],
        }
        for name, each in services.items()
    ]
    file = folder / "spans.json"
    file.write_text(json.dumps({"resourceSpans": content}), "utf-8")
    (named,) = subjects(str(file))
    return of_computation(named).space


def log(folder: Path, index: int) -> StateSpace:
    """The page of a log of two messages; with index 2 of the second send, it has a hole."""
    events = [("a", 0, "send", "x"), ("a", index, "send", "y"), ("b", 0, "deliver", "x"), ("b", 1, "deliver", "y")]
    rows = [
        {"process": p, "index": k, "kind": kind, "message": m} | ({"peer": "b"} if kind == "send" else {})
        for p, k, kind, m in events
    ]
    file = folder / "log.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    (named,) = subjects(str(file))
    return of_computation(named).space
