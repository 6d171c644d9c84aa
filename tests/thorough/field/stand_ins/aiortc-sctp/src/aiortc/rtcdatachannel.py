"""The interface of RTCDataChannel, and a body of ours."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

RTCDataChannelParameters = SimpleNamespace


class RTCDataChannel:
    def __init__(self, transport: Any, parameters: SimpleNamespace) -> None:
        self.transport, self.parameters, self.tasks = transport, parameters, set[Any]()

    def on(self, event: str, handler: Callable[[str], None]) -> None:
        self.transport.on_message = handler

    def send(self, text: str) -> None:
        packet = f"{self.transport.numbered} {text}".encode()
        self.transport.numbered += 1
        self.tasks.add(asyncio.ensure_future(self.transport.transport._send_data(packet)))
