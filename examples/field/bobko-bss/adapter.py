"""Drives producer and consume_packet of src/main.py without RabbitMQ: the checkout's path is in CHECKOUT."""

import os
import sys
from contextlib import suppress
from importlib.util import module_from_spec, spec_from_file_location
from types import SimpleNamespace
from unittest import mock

SPEC = spec_from_file_location("main", os.environ["CHECKOUT"] + "/src/main.py")
sys.modules.setdefault("pika", mock.MagicMock())  # the client of RabbitMQ: they import it, and name a class of it


class SentOneMessageError(Exception):
    """Ends their loop, which sends for ever, where it would sleep."""


class Node:
    sends = "broadcast-to-all"

    def __init__(self, process, processes, transmit, deliver):
        self.process, self.processes, self.transmit = process, processes, transmit
        self.main = module_from_spec(SPEC)  # its state is global, so each node has a module of its own
        SPEC.loader.exec_module(self.main)
        self.main.client_id = process
        self.main.vector_clock = self.main.np.repeat(0, process + 1)  # as setup_consumer_channel does
        self.main.producer_started = True
        self.encode = self.main.encode_packet
        self.main.msg_delivered = lambda message: deliver(message[self.main.MSG_JSON_KEY])

    def on_send(self, to, message):
        sleep = mock.Mock(side_effect=[None, SentOneMessageError])
        with (
            mock.patch.object(self.main, "encode_packet", lambda text, clock: self.encode(message, clock)),
            mock.patch.object(self.main, "time", SimpleNamespace(sleep=sleep)),
            suppress(SentOneMessageError),
        ):
            self.main.producer(SimpleNamespace(basic_publish=self.publish))

    def publish(self, exchange, routing_key, body):
        for other in range(self.processes):
            if other != self.process:  # the own copy would be skipped
                self.transmit(other, body)

    def on_packet(self, source, packet):
        self.main.consume_packet(None, None, None, packet.encode())
