"""Drives CausalOrderedReliableMulticast without UDP and signatures: the checkout's path is in CHECKOUT."""

import os
import sys
from importlib import import_module
from types import SimpleNamespace
from unittest import mock

sys.path.insert(0, os.environ["CHECKOUT"])
for name in ("nacl", "nacl.signing", "nacl.exceptions"):
    sys.modules.setdefault(name, mock.MagicMock())

Channel = import_module("src.core.utils.channel").Channel
Message = import_module("src.protocol.base").Message
Multicast = import_module("src.core.multicast.co_reliable_multicast").CausalOrderedReliableMulticast


class Node:
    sends = "broadcast-to-all"

    def __init__(self, process, processes, transmit, deliver):
        self.process, self.processes, self.transmit, self.deliver = process, processes, transmit, deliver
        self.channel = Channel()
        view = SimpleNamespace(
            servers=[f"server {server}" for server in range(processes)],
            sk=None,
            identifier=f"server {process}",
            check_if_server_is_suspended=lambda identifier: False,
        )
        configuration = SimpleNamespace(get_heartbeat_interval=lambda: 1)
        with mock.patch("socket.socket"):
            self.multicast = Multicast("224.1.1.1", 0, view.identifier, self.channel, view, configuration)
        self.multicast._udp_sock.sendto = self.on_written
        self.multicast._send_nack = lambda messages, address: None  # nothing is lost

    def on_written(self, data, address):
        for other in range(self.processes):
            if other != self.process:  # the own copy would be dropped
                self.transmit(other, data)

    def on_send(self, to, message):
        self.multicast.send(Message.initFromData("chat", {"text": message}), sign=False)
        self.hand_over()

    def on_packet(self, source, packet):
        self.multicast._receive_pb_message(packet.decode(), f"address of {source}")
        self.hand_over()

    def hand_over(self):
        while not self.channel.is_empty():
            message = Message.initFromJSON(self.channel.consume())
            message.decode()
            self.deliver(message.content["text"])
