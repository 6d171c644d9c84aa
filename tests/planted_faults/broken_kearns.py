"""Message-count vectors [MF] §2, with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from overrides import LOST, TWICE, Method, Override, after_packet, always, changes, entries_where, no_vector, vector_sum
from planted import ProgramCatch, Setup, breaks, keeps, planted_in

from crownless.impl.protocols.kearns import Kearns
from crownless.research.variants.for_mattern_fuenfrocken import KearnsInTurn

#: The third client hears of a from one who has only heard of it.
A_CHAIN_OF_CLIENTS = """
P1: receive; receive
P2: send a to P1; send b to P3
P3: receive; send c to P4
P4: receive; send d to P1
"""

#: After a and b the server has added 1 and 2, as many as e says there are.
THREE_AND_ONE_THAT_INFORMS = """
P1: receive; receive; receive; receive
P2: send a to P1; send b to P1; send c to P1; send d to P3
P3: receive; send e to P1
"""


@changes("on_packet")
def at_clients(after: Method) -> Override:
    """`on_packet`, which leads at clients to `after(self, packet, before, after)`."""
    return after_packet(
        lambda self, packet, before, usual: (
            usual if packet.destination == self.server else after(self, packet, before, usual)
        )
    )


@changes("on_packet")
def at_the_server(after: Method) -> Override:
    """`on_packet`, which leads at the server to `after(self, packet, before, after)`."""
    return after_packet(
        lambda self, packet, before, usual: (
            after(self, packet, before, usual) if packet.destination == self.server else usual
        )
    )


@changes("deliverable")
def server_requires(holds: Method) -> Method:
    """`deliverable`, for which the server asks `holds(is_sender, known, carried)` of each entry."""
    return lambda self, i, state, packet: (
        i != self.server or self.ops.every(lambda k: holds(k == packet.source, state[k], packet.stamp[k]))
    )


# -- a client sends: it increments its own entry before a message to the server, and attaches the vector ---------------

NeverCountsItsSends = breaks(causal=(3, 3, 5))(Kearns, after_sending=lambda self, i, state, j: state)
CountsSendsToClients = breaks(delivers_all=(3, 2, 4))(
    Kearns, after_sending=lambda self, i, state, j: self.ops.incremented(state, i)
)
CountsOnlySendsToClients = breaks(delivers_all=(3, 2, 4))(
    Kearns,
    after_sending=lambda self, i, state, j: self.ops.vector(
        lambda k: state[k] + self.ops.one_if(k == i, j != self.server)
    ),
)
CountsAtTheServersEntry = breaks(delivers_all=(2, 1, 2))(
    Kearns, after_sending=lambda self, i, state, j: Kearns.after_sending(self, self.server, state, j)
)
#: The vector does not count the message itself, and the server never learns of a client's last one.
CountsAfterAttaching = breaks(delivers_all=(3, 3, 6))(Kearns, stamped=lambda self, packet, before, after: before)
#: To the server: what the client knows of others does not travel.
AttachesOnlyItsOwnCount = breaks(causal=(3, 3, 5))(
    Kearns,
    stamped=lambda self, packet, before, after: entries_where(
        self, after, lambda k: k == packet.source or packet.destination != self.server
    ),
)
WaitsForTheServer = breaks(ProgramCatch("completes", "P1: receive; receive\nP2: send a to P1; send b to P1", 2))(
    Kearns, blocked_if=lambda self, state, message: message.receiver == self.server and state[message.sender]
)

# -- a client receives: it takes the maximum ---------------------------------------------------------------------------

ClientsLearnNothing = breaks(causal=(3, 3, 5))(Kearns, at_clients=lambda self, packet, before, after: before)
ClientsTakeTheVectorOver = breaks(causal=(3, 4, 7))(Kearns, at_clients=lambda self, packet, before, after: packet.stamp)
ClientsAdd = breaks(delivers_all=(3, 4, 8))(
    Kearns, at_clients=lambda self, packet, before, after: vector_sum(self, before, packet.stamp)
)
#: No indirect knowledge, though causality is transitive. With two clients knowledge is never indirect: what one hears
#: of is its own count or the other's.
ClientsLearnOfTheSenderAlone = breaks(ProgramCatch("causal", A_CHAIN_OF_CLIENTS, 7))(
    keeps((3, 3, 655))(
        Kearns,
        at_clients=lambda self, packet, before, after: self.after_delivering(
            before, entries_where(self, packet.stamp, lambda k: k == packet.source)
        ),
    )
)
ClientsDelayToo = breaks(delivers_all=(3, 2, 4))(
    Kearns, deliverable=lambda self, i, state, packet: Kearns.deliverable(self, self.server, state, packet)
)

# -- the server delays a message from i if V_s[j] < V_m[j] for some j ≠ i ----------------------------------------------

ServerDelaysNothing = breaks(causal=(3, 3, 5))(Kearns, deliverable=always)
#: j = i too: the message is counted in its own vector, and waits for itself.
ServerChecksTheSender = breaks(delivers_all=(2, 1, 2))(
    Kearns, server_requires=lambda is_sender, known, carried: carried <= known
)
ServerLetsOneBeMissing = breaks(causal=(3, 3, 5))(
    Kearns, server_requires=lambda is_sender, known, carried: is_sender or carried <= known + 1
)
ServerAsksForExactlyAsMany = breaks(delivers_all=(3, 2, 4))(
    Kearns, server_requires=lambda is_sender, known, carried: is_sender or carried == known
)
ServerDropsWhatIsEarly = breaks(delivers_all=(3, 3, 6))(Kearns, **LOST)
ServerConsumesTwice = breaks(delivers_once=(2, 1, 2))(Kearns, on_packet=TWICE)
ServerLearnsNothing = breaks(delivers_all=(3, 3, 6))(Kearns, at_the_server=lambda self, packet, before, after: before)
ServerTakesTheVectorOver = breaks(delivers_all=(3, 4, 8))(
    Kearns, at_the_server=lambda self, packet, before, after: packet.stamp
)
ServerAdds = breaks(ProgramCatch("causal", THREE_AND_ONE_THAT_INFORMS, 9))(
    Kearns, at_the_server=lambda self, packet, before, after: vector_sum(self, before, packet.stamp)
)

# -- variations --------------------------------------------------------------------------------------------------------

#: Over FIFO channels the server's maximum is an increment for the sender: of the others it knows as much as the
#: message, or it would not consume it.
ServerCounts = keeps((3, 3, 689))(
    Kearns, at_the_server=lambda self, packet, before, after: self.ops.incremented(before, packet.source)
)
#: j ≠ i leaves the sender out, which only FIFO channels excuse; over them the sender's next message is the next,
#: whether the server checks it or not. To wait for exactly one more of the sender, as in the matrix protocol further
#: down, the server needs no channel but the unordered.
ServerAsksTheSenderForOneMore = keeps((3, 3, 759), Setup("unordered"))(keeps((3, 3, 689))(KearnsInTurn))
#: The server's own messages carry no knowledge: the text has vectors taken from 'another client' alone, and needs no
#: more. All that the server could mention it has itself consumed, and it delays no message for that.
ServerTellsNothing = keeps((3, 3, 583))(
    Kearns, stamped=lambda self, packet, before, after: no_vector(self) if packet.source == self.server else after
)

ROWS = planted_in(globals())
