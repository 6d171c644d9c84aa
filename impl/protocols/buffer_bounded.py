"""The buffer protocol with bounded buffers ([MF] footnote 2), whose capacities are parameters.

Buffers that are too small "in a concrete implementation may cause enqueues to block and thus give rise to deadlocks".
A send blocks while the output buffer is full; a message that finds the input buffer full waits outside it,
unacknowledged.

Modelling choices: the message that is posted and not yet acknowledged has left the output buffer (§3.2 dequeues it)
and counts for neither capacity. A message is acknowledged when it has been put into the input buffer ("after the
insertion of m into the receiver's input buffer has been acknowledged", §3.1), although §3.2 prints the acknowledgement
first. In the free workload every process goes on receiving, so that no deadlock is possible there; programs show it
(`mf-footnote-2`).
"""

from collections.abc import Sequence

from crownless.impl.protocol import Packet, Parameter, Step
from crownless.spec.computation import Message

from .buffer import Buffer, State


class BufferBounded(Buffer):
    source = "[MF] footnote 2"
    parameters = {
        "output": Parameter("messages that an output buffer holds", lambda n: 1, 1, "a full buffer blocks every send"),
        "input": Parameter("messages that an input buffer holds", lambda n: 1, 1, "a full buffer takes nothing in"),
    }

    invariants = {
        **Buffer.invariants,
        "capacities-are-kept": lambda machine, i, state: (
            len(state.output) <= machine.setting("output") and len(state.input) <= machine.setting("input")
        ),
    }
    witnesses = {
        "an-output-buffer-is-full": lambda machine, i, state: len(state.output) == machine.setting("output"),
        "an-input-buffer-is-full": lambda machine, i, state: len(state.input) == machine.setting("input"),
    }

    rules = {
        **{name: rule for name, rule in Buffer.rules.items() if name != "a-message-is-taken-in-behind-another"},
        "a-full-output-buffer-blocks-a-send": lambda machine, t: t.action == "send" and t.refused,
        "a-full-input-buffer-takes-nothing-in": lambda machine, t: t.held_back,
    }

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        return super().send(i, state, message) if len(state.output) < self.setting("output") else []

    def deliverable(self, i: int, state: State, packet: Packet) -> bool:
        return packet.kind == "ack" or len(state.input) < self.setting("input")
