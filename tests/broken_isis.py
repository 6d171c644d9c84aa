"""ISIS and its garbage collections, with one planted fault each, and variations that look like faults and are none."""

from __future__ import annotations

from collections.abc import Sequence

from crownless.impl import isis, isis_gc
from crownless.impl.isis import Isis
from crownless.impl.isis_gc import IsisGc, IsisGcWaits
from crownless.impl.protocol import AppEvent, Packet, Step
from crownless.impl.variants import Catch, ProgramCatch, Setup, breaks, changed, keeps, restamped, variants_in
from crownless.spec import library
from crownless.spec.computation import Message

#: Only P1, only P2 collects garbage, and once.
P1_COLLECTS = Setup(channel="fifo", parameters={"rounds": (1, 0, 0)})

P2_COLLECTS = Setup(channel="fifo", parameters={"rounds": (0, 1, 0)})

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

# -- sending -----------------------------------------------------------------------------------------------------------


BuildsThePacketBeforeInserting = breaks(
    "[SES] §3: M is first inserted into BUFF_S, the packet is then built", delivers_all=(2, 1, 2)
)(Isis, send=lambda self, i, state, message: restamped(Isis.send(self, i, state, message), lambda packet: state.buffer))


SendsTheMessageAlone = breaks("[SES] §3: all the messages in BUFF_S", fifo=(2, 2, 3))(
    Isis, send=lambda self, i, state, message: restamped(Isis.send(self, i, state, message), lambda packet: (message,))
)


@breaks(
    "[SES] §3: every message received, not only every message sent",
    Catch("causal", 3, 3, 5),
    Catch("causal", 3, 2, 4, Setup(sends="multicast")),
)
class SendsOnlyItsOwnMessages(Isis):
    def send(self, i: int, state: isis.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        own = tuple(m for m in step.state.buffer if m.sender == i)
        return [step._replace(packets=[packet._replace(stamp=own) for packet in step.packets])]


SendsOnlyWhatIsForTheReceiver = breaks(
    "[SES] §3: all the messages, for other sites too: M1 comes to S3 over S2", causal=(3, 3, 5)
)(
    Isis,
    send=lambda self, i, state, message: restamped(
        Isis.send(self, i, state, message),
        lambda packet: tuple(m for m in packet.stamp if packet.destination in m.receivers),
    ),
)


SendsOnlyWhatIsForOthers = breaks(
    "[SES] §3: all the messages, those for the receiver too: M1 is carried over both paths", fifo=(2, 2, 3)
)(
    Isis,
    send=lambda self, i, state, message: restamped(
        Isis.send(self, i, state, message),
        lambda packet: tuple(m for m in packet.stamp if m == message or packet.destination not in m.receivers),
    ),
)


NeverInsertsWhatItSends = breaks("[SES] §3: every message sent by S is in BUFF_S", fifo=(2, 2, 3))(
    Isis,
    send=lambda self, i, state, message: [step._replace(state=state) for step in Isis.send(self, i, state, message)],
)


@breaks("[SES] §3: a message stays in BUFF_S, whoever has got it", fifo=(2, 3, 4), delivers_once=(2, 3, 5))
class EmptiesTheBufferOnSending(Isis):
    """What has gone with one message does not go with the next."""

    def send(self, i: int, state: isis.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [step._replace(state=isis.State((message,)))]


WaitsForAnAnswer = breaks("[SES] §3: nothing delays a message", never_blocks=(2, 3, 4))(
    Isis,
    send=lambda self, i, state, message: (
        [] if any(m.sender == i for m in state.buffer) else Isis.send(self, i, state, message)
    ),
)

# -- arrival -----------------------------------------------------------------------------------------------------------

IgnoresNothing = breaks("[SES] §3: what is already in BUFF_S' is ignored", delivers_once=(2, 2, 4))(
    Isis,
    on_packet=lambda self, i, state, packet: changed(
        Isis.on_packet(self, i, isis.State(()), packet), lambda after: isis.State((*state.buffer, *after.buffer))
    ),
)


@breaks("[SES] §3: (1) what is new is inserted in BUFF_S'", delivers_once=(2, 2, 4), causal=(3, 3, 5))
class NeverInsertsWhatArrives(Isis):
    def on_packet(self, i: int, state: isis.State, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        return [step._replace(state=state)]


@breaks("[SES] §3: (1) inserted, what is for others too", causal=(3, 3, 5))
class InsertsOnlyWhatItDelivers(Isis):
    def on_packet(self, i: int, state: isis.State, packet: Packet) -> Sequence[Step]:
        mine = tuple(message for message in packet.stamp if i in message.receivers)
        return super().on_packet(i, state, packet._replace(stamp=mine))


@breaks("[SES] §3: every message in P is inserted", delivers_once=(2, 2, 4), causal=(3, 3, 5))
class InsertsOnlyTheMessageOfThePacket(Isis):
    """What comes along is delivered, and not inserted."""

    def on_packet(self, i: int, state: isis.State, packet: Packet) -> Sequence[Step]:
        assert packet.message is not None
        (step,) = super().on_packet(i, state, packet)
        new = [packet.message] if packet.message not in state.buffer else []
        return [step._replace(state=isis.State(self.inserted(state.buffer, new)))]


@breaks("[SES] §3: (2) every message in P is delivered whose destination is S'", delivers_all=(2, 2, 4), fifo=(2, 2, 3))
class DeliversOnlyTheMessageOfThePacket(Isis):
    """What comes along is inserted, and not delivered; when its own packet arrives it is known already."""

    def on_packet(self, i: int, state: isis.State, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        return [step._replace(events=[event for event in step.events if event.message == packet.message])]


@breaks("[SES] §3: (2) delivered in the correct order", fifo=(2, 2, 3))
class DeliversFromTheEnd(Isis):
    def on_packet(self, i: int, state: isis.State, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        return [step._replace(events=list(reversed(step.events)))]


InsertsAtTheFront = breaks("[SES] §3: BUFF_S is in the order of emission", fifo=(2, 2, 3))(
    Isis, inserted=lambda self, buffer, messages: (*messages, *buffer)
)


@breaks("[SES] §3: (2) of which S' is the destination", delivers_once=(3, 2, 3))
class DeliversWhatIsForOthers(Isis):
    """All that is new, but for what the site has sent itself."""

    def on_packet(self, i: int, state: isis.State, packet: Packet) -> Sequence[Step]:
        new = [message for message in packet.stamp if message not in state.buffer]
        delivered = [AppEvent("deliver", message) for message in new if i != message.sender]
        return [Step(isis.State(self.inserted(state.buffer, new)), (), delivered)]


@breaks("[SES] §3: (1) inserted, what is delivered too, or it is not recognized", delivers_once=(2, 2, 4))
class NeverInsertsWhatIsForItself(Isis):
    """A site need not report what it has received; but it may receive it again."""

    def on_packet(self, i: int, state: isis.State, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        kept = tuple(message for message in step.state.buffer if message.receivers != (i,))
        return [step._replace(state=isis.State(kept))]


# -- variations --------------------------------------------------------------------------------------------------------


LeavesOutWhatIsKnownToBeReceived = keeps(
    "[SES] §3: transmission of M_x is not necessary, in general: no site need know of a message that was for "
    "the sender of the packet alone.",
    (3, 3, 1400),
)(
    Isis,
    send=lambda self, i, state, message: restamped(
        Isis.send(self, i, state, message), lambda packet: tuple(m for m in packet.stamp if m.receivers != (i,))
    ),
)


LeavesOutWhatTheReceiverSent = keeps("[SES] §3: nor need a site hear of what it has sent itself.", (3, 3, 1400))(
    Isis,
    send=lambda self, i, state, message: restamped(
        Isis.send(self, i, state, message),
        lambda packet: tuple(m for m in packet.stamp if m.sender != packet.destination),
    ),
)


# -- garbage collection ------------------------------------------------------------------------------------------------

DeletesAtOnce = breaks(
    "[SES] §3: deleted when every site has acknowledged", delivers_once=(2, 2, 5), setup=Setup(channel="fifo")
)(
    IsisGc,
    internal=lambda self, i, state: [
        (name, step._replace(state=step.state._replace(buffer=(), requested=frozenset(), awaits=frozenset())))
        for name, step in IsisGc.internal(self, i, state)
    ],
)


@breaks("[SES] §3: an acknowledgement from every site", ProgramCatch("delivers-once", A_BYSTANDER, 7, P1_COLLECTS))
class DeletesAfterOneAcknowledgement(IsisGc):
    def acknowledged(self, i: int, state: isis_gc.State, j: int) -> isis_gc.State:
        return super().acknowledged(i, state._replace(awaits=state.awaits & {j}), j)


@breaks(
    "[SES] §3: the messages identified in P are deleted, no others",
    delivers_once=(2, 3, 9),
    setup=Setup(channel="fifo", parameters={"rounds": (1, 0)}),
)
class DeletesAllItHasThen(IsisGc):
    """With the last acknowledgement it deletes the whole buffer, and not only what the request named."""

    def acknowledged(self, i: int, state: isis_gc.State, j: int) -> isis_gc.State:
        after = super().acknowledged(i, state, j)
        return after if after.awaits or not state.awaits else after._replace(buffer=())


NeverNotes = breaks(
    "[SES] §3: S' notes the ids: these messages must not be sent to S any more",
    delivers_once=(2, 2, 7),
    setup=Setup(channel="fifo"),
)(IsisGc, on_deletion_request=lambda self, state, j, ids: state)

NotesForEverybody = breaks(
    "[SES] §3: not sent to S any more; to others it is", ProgramCatch("causal", FIG_1, 7, P1_COLLECTS)
)(
    IsisGc,
    on_deletion_request=lambda self, state, j, ids: state._replace(noted=tuple(noted | ids for noted in state.noted)),
)


@breaks(
    "[SES] §3: the protocol initialized by S does not allow S' to delete",
    delivers_once=(2, 2, 6),
    setup=Setup(channel="fifo"),
)
class TheAskedSiteDeletesToo(IsisGc):
    def on_deletion_request(self, state: isis_gc.State, j: int, ids: frozenset[Message]) -> isis_gc.State:
        after = super().on_deletion_request(state, j, ids)
        return after._replace(buffer=tuple(message for message in after.buffer if message not in ids))


NotesOnlyWhatItKnows = breaks(
    "[SES] §3: all the identifiers are noted, of messages that have not come yet too",
    ProgramCatch("delivers-once", REQUESTED_TOO_EARLY, 11, P1_COLLECTS),
)(
    IsisGc,
    on_deletion_request=lambda self, state, j, ids: IsisGc.on_deletion_request(
        self, state, j, ids & frozenset(state.buffer)
    ),
)


@breaks(
    "[SES] §3: not any more: what a later request names comes in addition",
    delivers_once=(2, 3, 12),
    setup=Setup(channel="fifo", parameters={"rounds": (2, 0)}),
)
class ForgetsEarlierNotes(IsisGc):
    """Of a site's requests only the last is noted."""

    def on_deletion_request(self, state: isis_gc.State, j: int, ids: frozenset[Message]) -> isis_gc.State:
        return super().on_deletion_request(
            state._replace(noted=tuple(frozenset() if k == j else noted for k, noted in enumerate(state.noted))), j, ids
        )


@keeps(
    "[SES] §3: a garbage collection that never ends, so that nothing is ever deleted, breaks no order and delivers "
    "everything. Only that the situation is never reached shows it.",
    (2, 2, 220),
    Setup(channel="fifo"),
    never_reaches=NOT_WITHOUT_DELETING.union(
        [
            "a-message-is-deleted",
            "a-message-is-sent-after-a-collection",
            "a-message-not-requested-is-kept",
            "a-message-not-yet-received-is-acknowledged",
        ]
    ),
)
class NeverAcknowledges(IsisGc):
    def on_packet(self, i: int, state: isis_gc.State, packet: Packet) -> Sequence[Step]:  # type: ignore[override]
        (step,) = super().on_packet(i, state, packet)
        return [step if packet.kind == "packet" else step._replace(packets=())]


AsksAgainBeforeAllHaveAnswered = breaks(
    "[SES] §3: an acknowledgement is of the one request outstanding",
    delivers_once=(2, 3, 10),
    setup=Setup(channel="fifo", parameters={"rounds": (2, 0)}),
)(IsisGc, internal=lambda self, i, state: IsisGc.internal(self, i, state._replace(awaits=frozenset())))

# -- garbage collection, repaired --------------------------------------------------------------------------------------

WaitsForNothing = breaks(
    "[SES] §3, repaired: an acknowledgement waits for what the request names and is for this site",
    ProgramCatch("causal", FIG_1, 10, P2_COLLECTS),
)(IsisGcWaits, deliverable=lambda self, i, state, packet: True)


@breaks("[SES] §3, repaired: all of it must have been received", ProgramCatch("causal", TWO_BEFORE, 12, P2_COLLECTS))
class WaitsForOneOfThem(IsisGcWaits):
    def deliverable(self, i: int, state: isis_gc.State, packet: Packet) -> bool:
        if packet.kind != "request":
            return True
        mine = [message for message in packet.stamp if i in message.receivers]
        return not mine or any(message in (*state.buffer, *state.deleted) for message in mine)


WaitsForAllMessages = keeps(
    "[SES] §3, repaired: a request must wait for no more than what is for this site. A site never hears "
    "of a message between two others, and nothing is deleted; which again no order and no liveness notices.",
    (3, 1, 361),
    Setup(channel="fifo"),
    never_reaches=NOT_WITHOUT_DELETING.union(
        [
            "a-message-already-known-is-ignored",
            "a-message-is-deleted",
            "a-message-is-sent-after-a-collection",
            "a-message-not-requested-is-kept",
            "a-noted-message-is-left-out",
            "a-packet-carries-messages-of-others",
            "a-request-names-a-message-deleted-here",
            "releases",
        ]
    ),
)(
    IsisGcWaits,
    deliverable=lambda self, i, state, packet: (
        packet.kind != "request" or all(m in state.buffer or m in state.deleted for m in packet.stamp)
    ),
)

ForgetsWhatItDeleted = keeps(
    "[SES] §3, repaired: without a memory of what it deleted, a site never acknowledges a later request for it; "
    "which again nothing notices.",
    (2, 3, 2768),
    Setup(channel="fifo"),
    never_reaches=NOT_WITHOUT_DELETING.union(["a-request-names-a-message-deleted-here"]),
)(IsisGcWaits, remembered=lambda self, i, deleted: frozenset())

ROWS = variants_in(globals())
