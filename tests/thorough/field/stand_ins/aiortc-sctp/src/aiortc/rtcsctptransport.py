"""The interface of RTCSctpTransport, and a body of ours: datagrams are numbered."""

import enum
from collections.abc import Callable
from typing import Any


class RTCSctpTransport:
    State = enum.Enum("State", "ESTABLISHED")

    def __init__(self, transport: Any, port: int = 5000) -> None:
        self.transport, self.port = transport, port
        self._advertised_rwnd = self.numbered = self.next = 0
        self.held: dict[int, str] = {}
        self.on_message: Callable[[str], None] = print

    def _set_state(self, state: State) -> None:
        assert state is self.State.ESTABLISHED

    async def _handle_data(self, data: bytes) -> None:
        number, text = data.decode().split(" ", 1)
        self.held[int(number)] = text
        while self.next in self.held:
            self.on_message(self.held.pop(self.next))
            self.next += 1
