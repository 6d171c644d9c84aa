"""The matrix protocol of Raynal, Schiper & Toueg [RST91], as described by Kuper [Kup] ("causal unicast").

Every process keeps SENT, how many messages it thinks each process has sent to each other, and DELIV, how many it has
itself delivered from each. SENT travels on every message; the receiver delays a message until it has delivered all
that its SENT records.

Modelling choices: sending and incrementing are one step, and so are delivering and the three updates after it (the
text orders them, and nothing happens at the process in between). SENT and DELIV are kept both, although DELIV is
redundant (the invariant `deliv-equals-sent-column` says so).

A finding: the text does not exclude self-sends, so they can be tried, and they block it. Such a message is counted in
SENT_i[i, i] when sent and again when delivered; one sent after that waits for a message that is never sent.
"""

from collections.abc import Sequence
from typing import NamedTuple

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.impl.rules import column, entries, merges, waits
from crownless.spec.computation import Message


class State(NamedTuple):
    sent: Value  #: n × n messages: row sender, column receiver
    deliv: Value  #: n messages: by sender


class Rst(ProtocolMachine):
    source = "[Kup], [RST91]"
    promises = "causal"
    admits_self_sends = True  # the text does not exclude them; the explorer shows what they do
    symmetric = True

    invariants = {
        "deliv-equals-sent-column": lambda machine, i, state: machine.ops.every(
            lambda k: state.deliv[k] == state.sent[k][i]
        ),
    }

    rules = {
        **waits(lambda machine, t: (t.before.deliv, column(t.packet.stamp, t.process))),
        **merges(lambda machine, t: (entries(t.before.sent), entries(t.packet.stamp))),
    }

    def initial(self, i: int) -> State:
        """No message has been sent or delivered: "filled up with zeroes" ([Kup], Getting started)."""
        return State(self.ops.matrix(lambda k, l: 0), self.ops.vector(lambda k: 0))

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        """Attach the current SENT_i, then increment SENT_i[i, j] ([Kup], Sending messages)."""
        packet = Packet(i, message.receiver, "message", message, self.stamp(state))
        return [Step(self.after_sending(i, state, message.receiver), [packet], [AppEvent("send", message)])]

    def stamp(self, state: State) -> Value:
        return state.sent

    def after_sending(self, i: Value, state: State, j: Value) -> State:
        return State(self.ops.incremented(state.sent, i, j), state.deliv)

    def deliverable(self, i: int, state: State, packet: Packet) -> Value:
        """For all k: DELIV_i[k] ≥ SENT_m[k, i] ([Kup], Delivering messages (or not))."""
        return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][i])

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:
        """Deliver the message, then update DELIV_i and SENT_i ([Kup], After delivering a message)."""
        after = self.after_delivering(i, state, packet.source, packet.stamp)
        return [Step(after, (), [AppEvent("deliver", packet.message)])]

    def after_delivering(self, i: Value, state: State, j: Value, stamp: Value) -> State:
        """Increment DELIV_i[j]; increment SENT_i[j, i]; take the maximum of SENT_i and SENT_m, entry by entry."""
        sent = self.ops.maximum(self.ops.incremented(state.sent, j, i), stamp)
        return State(sent, self.deliv_after(state, j))

    def deliv_after(self, state: State, j: Value) -> Value:
        return self.ops.incremented(state.deliv, j)

    def renamed(self, state: State, renaming: Renaming) -> State:
        return State(renaming.matrix(state.sent), renaming.vector(state.deliv))

    def renamed_stamp(self, kind: str, stamp: Value, renaming: Renaming) -> Value:
        return renaming.matrix(stamp)
