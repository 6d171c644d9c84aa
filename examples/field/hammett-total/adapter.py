"""Drives client.py, whose server is replaced by FIFO links: the checkout's path is in CHECKOUT."""

import os
from contextlib import suppress
from types import SimpleNamespace
from unittest import mock

with open(os.environ["CHECKOUT"] + "/client.py") as file:
    CLIENT = compile(file.read(), "client.py", "exec")


class Node:
    sends = "broadcast-to-all"

    def __init__(self, process, processes, transmit, deliver):
        self.processes, self.transmit, self.deliver = processes, transmit, deliver
        self.socket = SimpleNamespace(connect=lambda address: None, send=self.on_written)
        self.client = {"print": self.on_printed}
        with (
            mock.patch("socket.socket", return_value=self.socket),
            mock.patch("socket.gethostbyname", return_value="localhost"),
            mock.patch("threading.Thread", mock.Mock()),
            mock.patch("os.getpid", return_value=process),
        ):
            exec(CLIENT, self.client)  # it connects; its thread, which would receive, does not start
        self.client["n_processes"] = str(processes)

    def on_written(self, data):
        for receiver in range(self.processes):  # the server sends to all, with the number of processes behind
            self.transmit(receiver, data.decode() + f"n {self.processes}\n")

    def on_printed(self, text):
        _, message = text.removeprefix("[DELIVERING] ").strip("()").replace("'", "").split(", ")
        self.deliver(message)

    def on_send(self, to, message):
        self.client["client_send"](message)

    def on_packet(self, source, packet):
        received = [packet.encode()]
        self.socket.recv = lambda size: received.pop()
        with suppress(IndexError):  # it would wait for more
            self.client["client_receive"]()
