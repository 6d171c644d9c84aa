"""Drives ProcessMatrix of causal_ordering.py, as its simulate_Matrix does: the checkout's path is in CHECKOUT."""

import os
import sys

sys.path.insert(0, os.environ["CHECKOUT"])

from causal_ordering import ProcessMatrix


class Node:
    sends = "broadcast"

    def __init__(self, process, processes, transmit, deliver):
        self.transmit, self.deliver, self.handed_over = transmit, deliver, 0
        self.matrix = ProcessMatrix(process, processes)

    def on_send(self, to, message):
        sent = self.matrix.send_message(message)
        for receiver in to:
            self.transmit(receiver, sent)

    def on_packet(self, source, packet):
        self.matrix.receive_message(packet)
        while self.handed_over < len(self.matrix.delivered):
            self.handed_over += 1
            self.deliver(self.matrix.delivered[self.handed_over - 1].content)
