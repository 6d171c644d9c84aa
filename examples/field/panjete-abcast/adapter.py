"""Drives schedule_action of abcast.py, as emit does, without its threads: the checkout's path is in CHECKOUT."""

import os
import sys

sys.path.insert(0, os.environ["CHECKOUT"])

from abcast import abcast_system


class Node:
    sends = "broadcast-to-all"

    def __init__(self, process, processes, transmit, deliver):
        self.number, self.everyone, self.transmit, self.deliver = process + 1, range(processes), transmit, deliver
        self.system, self.handed_over = abcast_system(processes), 0
        self.node = self.system.nodes[self.number]
        self.stamps = {}  # of each own message: the stamps that have come back, and the own one before

    def on_send(self, to, message):
        self.stamps[message] = [self.node.local_timestamp]
        for receiver in self.everyone:
            self.transmit(receiver, ("rec_broadcast", message, 0))

    def on_packet(self, source, packet):
        action, message, stamp = packet
        if action == "stamp":
            self.stamps[message].append(stamp)
            if len(self.stamps[message]) > len(self.everyone):
                for receiver in self.everyone:
                    self.transmit(receiver, ("host_sends_validation", message, max(self.stamps[message])))
            return
        stamp = self.system.schedule_action(self.number, action, 0, message, stamp)
        if action == "rec_broadcast":
            self.transmit(source, ("stamp", message, stamp))
        while self.handed_over < len(self.node.delivered_messages):
            self.handed_over += 1
            self.deliver(self.node.delivered_messages[self.handed_over - 1][1])
