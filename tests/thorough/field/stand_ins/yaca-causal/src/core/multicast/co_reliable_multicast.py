"""The interface of CausalOrderedReliableMulticast, and a body of ours: counts of deliveries."""

import json
import socket
from collections import Counter
from typing import Any


class CausalOrderedReliableMulticast:
    def __init__(self, address: str, port: int, identifier: str, channel: Any, view: Any, configuration: Any) -> None:
        self.identifier, self.channel, self.address = identifier, channel, (address, port)
        self._udp_sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.counts, self.held = Counter[str](), list[dict[str, Any]]()

    def send(self, message: Any, sign: bool = True) -> None:
        datagram = {"sender": self.identifier, "stamp": dict(self.counts), "data": json.dumps(message.content)}
        self._udp_sock.sendto(json.dumps(datagram).encode(), self.address)
        self.deliver(datagram)

    def deliver(self, datagram: dict[str, Any]) -> None:
        self.counts[datagram["sender"]] += 1
        self.channel.queue.append(datagram["data"])

    def _receive_pb_message(self, data: str, addr: str) -> None:
        self.held.append(json.loads(data))
        while ready := [one for one in self.held if all(self.counts[k] >= n for k, n in one["stamp"].items())]:
            self.held.remove(ready[0])
            self.deliver(ready[0])
