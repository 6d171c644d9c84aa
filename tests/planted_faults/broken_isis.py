"""ISIS and its garbage collections [SES] §3, with one planted fault each, and variations that are none."""

from __future__ import annotations

from collections.abc import Callable

from overrides import Override, always, changed, changes, stamped, with_state
from planted import Catch, ProgramCatch, Setup, breaks, keeps, planted_in

from crownless.impl.protocol import AppEvent, Packet
from crownless.impl.protocols import isis
from crownless.impl.protocols.isis import Isis
from crownless.impl.protocols.isis_gc import IsisGc, IsisGcWaits
from crownless.research.variants import for_schiper_eggli_sandoz
from crownless.spec import library
from crownless.spec.computation import Message

#: P1 collects garbage once or twice, of two processes.
ONCE, AGAIN = (Setup(parameters={"rounds": (rounds, 0)}) for rounds in (1, 2))

#: Only P1, only P2 collects garbage, and once.
P1_COLLECTS = Setup(parameters={"rounds": (1, 0, 0)})

P2_COLLECTS = Setup(parameters={"rounds": (0, 1, 0)})

#: Fig. 1 as a program; the same with two messages that S3 must get first.
FIG_1 = library.path("ses-program-1").read_text(encoding="utf-8")

TWO_BEFORE = """
S1: send M1 to S3; send M2 to S3; send Mx to S2
S2: receive; send M3 to S3
S3: receive; receive; receive
"""

#: P1 may ask P2 about x before P2 knows x; it is ready to receive once more than there is to receive.
REQUESTED_TOO_EARLY = """
P1: receive; receive; receive
P2: receive; send z to P1
P3: send x to P1; send y to P2
"""

#: P3 has nothing to do but to get the request; P1 is ready to receive once more than there is to receive.
A_BYSTANDER = """
P1: receive; receive; receive
P2: send x to P1; send y to P1
P3:
"""

#: Where nothing is ever deleted, these situations of two processes and messages are not reached.
NOT_WITHOUT_DELETING = frozenset(
    [
        "a-message-between-others-is-deleted",
        "a-message-comes-with-a-later-one",
        "a-message-comes-with-that-of-another",
        "a-packet-delivers-several",
        "a-site-knows-a-message-of-others",
    ]
)

# -- sending: a message is inserted into BUFF_S, and all that is in BUFF_S sent ----------------------------------------


@changes("send")
def only(goes_along: Callable[[int, Packet, Message], bool]) -> Override:
    """`send`, of which a packet from i has those messages of BUFF_S for which `goes_along(i, packet, message)`."""
    return stamped(
        lambda self, packet, before, after: tuple(
            message for message in packet.stamp if goes_along(packet.source, packet, message)
        )
    )


BuildsThePacketBeforeInserting = breaks(delivers_all=(2, 1, 2))(
    Isis, stamped=lambda self, packet, before, after: before.buffer
)
SendsTheMessageAlone = breaks(fifo=(2, 2, 3))(Isis, only=lambda i, packet, message: message == packet.message)
#: Every message sent, and not every message received.
SendsOnlyItsOwnMessages = breaks(Catch("causal", 3, 2, 4, Setup(sends="multicast")), causal=(3, 3, 5))(
    Isis, only=lambda i, packet, message: message.sender == i
)
NeverInsertsWhatItSends = breaks(fifo=(2, 2, 3))(Isis, after_send=lambda self, message, before, after: before)
#: What has gone with one message does not go with the next.
EmptiesTheBufferOnSending = breaks(fifo=(2, 3, 4), delivers_once=(2, 3, 5))(
    Isis, after_send=lambda self, message, before, after: isis.State((message,))
)
WaitsForAnAnswer = breaks(never_blocks=(2, 2, 2))(
    Isis, blocked_if=lambda self, state, message: any(m.sender == message.sender for m in state.buffer)
)
#: Transmission of M_x is not necessary, in general: no site need know of a message that was for the sender of the
#: packet alone.
LeavesOutWhatIsKnownToBeReceived = keeps((3, 3, 1400))(Isis, only=lambda i, packet, message: message.receivers != (i,))
#: Nor need a site hear of what it has sent itself.
LeavesOutWhatTheReceiverSent = keeps((3, 3, 1400))(
    Isis, only=lambda i, packet, message: message.sender != packet.destination
)

# -- arrival: what is new is inserted in BUFF_S', and delivered if S' is its destination -------------------------------

IgnoresNothing = breaks(delivers_once=(2, 2, 4))(
    Isis,
    on_packet=lambda self, i, state, packet: changed(
        Isis.on_packet(self, i, isis.State(()), packet), lambda after: isis.State((*state.buffer, *after.buffer))
    ),
)
NeverInsertsWhatArrives = breaks(delivers_once=(2, 2, 4), causal=(3, 3, 5))(
    Isis, after_packet=lambda self, packet, before, after: before
)
#: What comes along is delivered, and not inserted.
InsertsOnlyTheMessageOfThePacket = breaks(delivers_once=(2, 2, 4), causal=(3, 3, 5))(
    Isis,
    after_packet=lambda self, packet, before, after: isis.State(
        tuple(m for m in after.buffer if m in before.buffer or m == packet.message)
    ),
)
#: What comes along is inserted, and not delivered; when its own packet arrives it is known already.
DeliversOnlyTheMessageOfThePacket = breaks(delivers_all=(2, 2, 4), fifo=(2, 2, 3))(
    Isis,
    each_step=lambda packet, step: step._replace(
        events=[event for event in step.events if event.message == packet.message]
    ),
)
InsertsAtTheFront = breaks(fifo=(2, 2, 3))(Isis, inserted=lambda self, buffer, messages: (*messages, *buffer))
#: All that is new, but for what the site has sent itself.
DeliversWhatIsForOthers = breaks(delivers_once=(3, 2, 3))(
    Isis,
    on_packet=lambda self, i, state, packet: [
        step._replace(events=[AppEvent("deliver", m) for m in packet.stamp if m not in state.buffer and m.sender != i])
        for step in Isis.on_packet(self, i, state, packet)
    ],
)
#: A site need not report what it has received; but it may receive it again.
NeverInsertsWhatIsForItself = breaks(delivers_once=(2, 2, 4))(
    Isis,
    after_packet=lambda self, packet, before, after: isis.State(
        tuple(m for m in after.buffer if m.receivers != (packet.destination,))
    ),
)

# -- garbage collection ------------------------------------------------------------------------------------------------

#: It does not wait until every site has acknowledged.
DeletesAtOnce = breaks(delivers_once=(2, 2, 5))(
    IsisGc, each_internal=lambda state, step: with_state(step, buffer=(), requested=frozenset(), awaits=frozenset())
)
DeletesAfterOneAcknowledgement = breaks(ProgramCatch("delivers-once", A_BYSTANDER, 7, P1_COLLECTS))(
    IsisGc,
    acknowledged=lambda self, i, state, j: IsisGc.acknowledged(self, i, state._replace(awaits=state.awaits & {j}), j),
)
#: With the last acknowledgement it deletes the whole buffer, and not only what the request named.
DeletesAllItHasThen = breaks(delivers_once=(2, 3, 9), setup=ONCE)(
    IsisGc,
    acknowledged=lambda self, i, state, j: IsisGc.acknowledged(
        self, i, state._replace(buffer=() if state.awaits == {j} else state.buffer), j
    ),
)
NeverNotes = breaks(delivers_once=(2, 2, 7))(IsisGc, on_deletion_request=lambda self, state, j, ids: state)
NotesForEverybody = breaks(ProgramCatch("causal", FIG_1, 7, P1_COLLECTS))(
    IsisGc,
    on_deletion_request=lambda self, state, j, ids: state._replace(noted=tuple(noted | ids for noted in state.noted)),
)
#: The protocol initialized by S does not allow S' to delete.
TheAskedSiteDeletesToo = breaks(delivers_once=(2, 2, 6))(for_schiper_eggli_sandoz.TheAskedSiteDeletesToo)
#: All the identifiers must be noted, of messages that have not come yet too.
NotesOnlyWhatItKnows = breaks(ProgramCatch("delivers-once", REQUESTED_TOO_EARLY, 11, P1_COLLECTS))(
    IsisGc,
    on_deletion_request=lambda self, state, j, ids: IsisGc.on_deletion_request(
        self, state, j, ids & frozenset(state.buffer)
    ),
)
#: Of a site's requests only the last is noted.
ForgetsEarlierNotes = breaks(delivers_once=(2, 3, 12), setup=AGAIN)(
    IsisGc,
    on_deletion_request=lambda self, state, j, ids: state._replace(
        noted=tuple(ids if k == j else noted for k, noted in enumerate(state.noted))
    ),
)
#: A garbage collection that never ends, so that nothing is ever deleted, breaks no order and delivers everything. Only
#: that the situation is never reached shows it.
NeverAcknowledges = keeps(
    (2, 2, 220),
    never_reaches=[
        *NOT_WITHOUT_DELETING,
        "a-message-is-deleted",
        "a-message-is-sent-after-a-collection",
        "a-message-not-requested-is-kept",
        "a-message-not-yet-received-is-acknowledged",
    ],
)(IsisGc, each_step=lambda packet, step: step if packet.kind == "packet" else step._replace(packets=()))
#: An acknowledgement is of the one request outstanding.
AsksAgainBeforeAllHaveAnswered = breaks(delivers_once=(2, 3, 10), setup=AGAIN)(
    IsisGc, internal=lambda self, i, state: IsisGc.internal(self, i, state._replace(awaits=frozenset()))
)

# -- garbage collection, repaired: a request waits for what it names and is for this site ------------------------------

WaitsForNothing = breaks(ProgramCatch("causal", FIG_1, 10, P2_COLLECTS))(IsisGcWaits, deliverable=always)
WaitsForOneOfThem = breaks(ProgramCatch("causal", TWO_BEFORE, 12, P2_COLLECTS))(
    IsisGcWaits,
    deliverable=lambda self, i, state, packet: (
        IsisGcWaits.deliverable(self, i, state, packet)
        or any(i in m.receivers for m in packet.stamp if m in (*state.buffer, *state.deleted))
    ),
)
#: A request must wait for no more than what is for this site. A site never hears of a message between two others, and
#: nothing is deleted; which again no order and no liveness notices.
WaitsForAllMessages = keeps(
    (3, 1, 361),
    never_reaches=[
        *NOT_WITHOUT_DELETING,
        "a-message-already-known-is-ignored",
        "a-message-is-deleted",
        "a-message-is-sent-after-a-collection",
        "a-message-not-requested-is-kept",
        "a-noted-message-is-left-out",
        "a-packet-carries-messages-of-others",
        "a-request-names-a-message-deleted-here",
        "releases",
    ],
)(
    IsisGcWaits,
    deliverable=lambda self, i, state, packet: (
        packet.kind != "request" or all(m in state.buffer or m in state.deleted for m in packet.stamp)
    ),
)
#: Without a memory of what it deleted, a site never acknowledges a later request for it; which again nothing notices.
ForgetsWhatItDeleted = keeps(
    (2, 3, 2768), never_reaches=[*NOT_WITHOUT_DELETING, "a-request-names-a-message-deleted-here"]
)(IsisGcWaits, remembered=lambda self, i, deleted: frozenset())

ROWS = planted_in(globals())
