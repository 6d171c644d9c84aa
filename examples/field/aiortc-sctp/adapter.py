"""Drives RTCDataChannel and RTCSctpTransport, as after their handshake: the checkout's path is in CHECKOUT."""

import asyncio
import os
import sys
from importlib import import_module
from types import ModuleType, SimpleNamespace
from unittest import mock

sys.modules["aiortc"] = package = ModuleType("aiortc")  # without audio, video and encryption
package.__path__ = [os.environ["CHECKOUT"] + "/src/aiortc"]
sys.modules["aiortc.rtcdtlstransport"] = mock.MagicMock()

rtcdatachannel, rtcsctptransport = map(import_module, ("aiortc.rtcdatachannel", "aiortc.rtcsctptransport"))
rtcsctptransport.USERDATA_MAX_LENGTH = 4  # of 1200, so that a message has two fragments
rtcsctptransport.random32 = lambda: 1  # the tag and the first number, instead of random ones
NO_TIMER = SimpleNamespace(call_later=lambda delay, callback: mock.Mock())  # nothing is lost, so none has to expire


class Node:
    def __init__(self, process, processes, transmit, deliver):
        self.channels = {}
        for other in range(processes):
            if other == process:
                continue

            async def send(data, other=other):
                transmit(other, data)

            role = "controlling" if process < other else "controlled"
            dtls = SimpleNamespace(state="connected", transport=SimpleNamespace(role=role), _send_data=send)
            sctp = rtcsctptransport.RTCSctpTransport(dtls)
            sctp._loop, sctp._remote_port, sctp._remote_verification_tag = NO_TIMER, sctp.port, 1
            sctp._last_received_tsn, sctp._ssthresh = 0, sctp._advertised_rwnd
            parameters = rtcdatachannel.RTCDataChannelParameters(label="chat", negotiated=True, id=0)
            channel = rtcdatachannel.RTCDataChannel(sctp, parameters)
            channel.on("message", deliver)
            sctp._set_state(sctp.State.ESTABLISHED)
            self.channels[other] = channel

    async def on_send(self, to, message):
        self.channels[to].send(message)
        await asyncio.sleep(0)  # it sends in a task of its own

    async def on_packet(self, source, packet):
        await self.channels[source].transport._handle_data(packet)
        await asyncio.sleep(0)
