"""The claims of [MF] on earlier solutions and on its own protocol that are false by the letter of a single sentence."""

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.protocols.isis import Isis
from crownless.impl.protocols.kearns import Kearns
from crownless.impl.protocols.rendezvous import Rendezvous
from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.ses import Ses
from crownless.impl.workloads import Free
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.system.properties import Property
from crownless.research.theorems.evidence import Evidence, fact
from crownless.spec.computation import Message

from .claim import claim
from .gathering import breaks, explored, in_every_state, in_some_state, keep, proved, searched, system_of
from .pairs import pairs_in

# -- §2: the space that earlier solutions need -------------------------------------------------------------------------


@claim(
    "MF30",
    "[MF] §2",
    "The solutions for point-to-point causal order presented so far need space O(n²) in all messages and processes.",
    {
        "all that §2 presents": "refuted",
        "the last two, vector pairs and the matrix": "checked",
    },
    reading="in numbers, or messages, that a message carries. §2 also presents a sender that is blocked until its "
    "message is acknowledged, which is causally ordered (MF3, MF7) and carries nothing; the whole causal history on "
    "each message, which no function of n bounds; and count vectors for one server, of n numbers",
    kind="ambiguity",
    defense="the sentence follows the description of these two",
)
def mf30(quick: bool) -> list[Evidence]:
    n, m = (3, 3) if quick else (3, 4)
    blocking = searched("rendezvous", n, m, orders=("causal",))

    def carries(kind: type[ProtocolMachine], because: str, numbers: Any, most: int) -> Evidence:
        return in_every_state(
            because,
            system_of(kind(n), Free(n, m)),
            lambda now: all(numbers(packet.stamp) <= most for packet in now.in_flight),
            where=lambda now: bool(now.in_flight),
        )

    return [
        (
            in_some_state(
                "the whole history, n = 2: m5 carries five messages, itself included, where n² is four",
                system_of(Isis(2), Free(2, 5)),
                lambda now: any(len(packet.stamp) > 4 for packet in now.in_flight),
                "counterexample-mf30",
            )
            & keep(blocking, "causal")
            & carries(Rendezvous, "a blocked sender's messages carry nothing", _count_nothing, 0)
            & carries(Kearns, "count vectors have n numbers", len, n)
        ).refutes(),
        carries(Rst, "a matrix has n² numbers", lambda stamp: sum(map(len, stamp)), n * n)
        & carries(
            Ses,
            "pairs and timestamp have n² numbers at most",
            lambda stamp: n * (1 + pairs_in(stamp.buffer)),
            n * n,
        )
        & fact(True, "", f"every interleaving of {n} processes and up to {m} messages"),
    ]


def _count_nothing(stamp: object) -> int:
    return 0 if stamp is None else 1


# -- §3.1: at once -----------------------------------------------------------------------------------------------------

AT_ONCE = "buffer[sent message is: posted at once if the output buffer is empty]"
IF_IT_MAY_GO = "buffer[sent message is: posted at once if the output buffer is empty and it may go]"


@claim(
    "MF31",
    "[MF] §3.1",
    "If the output buffer is empty, a message that is handed to it is immediately transmitted, and causal order kept.",
    {
        "also while an acknowledgement is awaited": "refuted",
        "if no acknowledgement is awaited, too": "checked",
    },
    reading="§3.2's loop dequeues a message before it waits for the acknowledgement, so the buffer may be empty while "
    "one is awaited",
    kind="ambiguity",
    defense="the crucial point, two sentences on, is that a next message is transmitted only if the one before is "
    "acknowledged; and §3.2 has it so",
)
def mf31(quick: bool) -> list[Evidence]:
    title = "m1 is transmitted, and the output buffer is empty: so is m2, and overtakes m1"
    return [
        breaks(searched(AT_ONCE, 2, 2), "fifo", title, "counterexample-mf31").refutes(),
        keep(searched(IF_IT_MAY_GO, 3, 3 if quick else 4)),
    ]


# -- §3.3: Proposition 1 with the ≺ of its proof -----------------------------------------------------------------------


class Past(NamedTuple):
    """A local state of the buffer protocol, with the sends that precede the last event of its site."""

    inner: Any
    known: frozenset[Message]
    #: For each message in one of its buffers: the sends that precede its own.
    before: frozenset[tuple[Message, frozenset[Message]]]
    delivered: frozenset[Message]
    #: True if a message was delivered before one whose send precedes its own.
    overtaken: bool


class Stamp(NamedTuple):
    known: frozenset[Message]  #: the sends that precede the transmission of the packet
    before: frozenset[Message]  #: those that precede the send of its message


class EventsOfASite(ProtocolMachine):
    """The buffer protocol with ≺ as the proof of Lemma 2 has it: the seven events of §3.2 at one site are on one line,
    and both messages and acknowledgements lead from site to site.
    """

    promises = "causal"
    sends_before_delivery = False
    invariants = {"Proposition 1": lambda machine, i, state: not state.overtaken}
    #: The packets on whose arrival the site knows what preceded their transmission.
    through: ClassVar[tuple[str, ...]] = ("message", "ack")

    def __init__(self, n: Any, *rest: Any) -> None:
        super().__init__(n, *rest)
        self.inner = Buffer(n)

    def initial(self, i: int) -> Past:
        return Past(self.inner.initial(i), frozenset(), frozenset(), frozenset(), False)

    def send(self, i: int, state: Past, message: Message) -> Sequence[Step]:
        after = state._replace(known=state.known | {message}, before=state.before | {(message, state.known)})
        return [self.stamped(after, step) for step in self.inner.send(i, state.inner, message)]

    def internal(self, i: int, state: Past) -> Sequence[tuple[str, Step]]:
        return [(name, self.stamped(state, step)) for name, step in self.inner.internal(i, state.inner)]

    def on_packet(self, i: int, state: Past, packet: Packet) -> Sequence[Step]:
        known = state.known | packet.stamp.known if packet.kind in self.through else state.known
        after = state._replace(known=known)
        if packet.message is not None:
            after = after._replace(before=after.before | {(packet.message, packet.stamp.before)})
        return [self.stamped(after, step) for step in self.inner.on_packet(i, state.inner, packet)]

    def receive(self, i: int, state: Past, sender: int | None) -> Sequence[Step]:
        return [self.received(i, state, step) for step in self.inner.receive(i, state.inner, sender)]

    def received(self, i: int, state: Past, step: Step) -> Step:
        (event,) = step.events
        before = dict(state.before)[event.message]
        missing = {message for message in before - state.delivered if message.receiver == i}
        after = Past(
            step.state,
            state.known | before | {event.message},
            state.before,
            state.delivered | {event.message},
            state.overtaken or bool(missing),
        )
        return step._replace(state=after)

    def stamped(self, state: Past, step: Step) -> Step:
        before = dict(state.before)
        packets = [
            packet._replace(stamp=Stamp(state.known, before.get(packet.message, frozenset())))
            for packet in step.packets
        ]
        return Step(state._replace(inner=step.state), packets, step.events)


class ThroughAcknowledgements(EventsOfASite):
    """≺ of the application's messages, from sends to receives, and of acknowledgements."""

    through = ("ack",)


class ThroughMessages(EventsOfASite):
    """≺ of the application's messages alone, from sends to receives."""

    through = ()


@cache
def proposition_1(kind: type[EventsOfASite], m: int) -> CheckResult:
    """Proposition 1 in every interleaving of three processes."""
    properties = (Property("Proposition 1", "always", "Proposition 1"),)
    return explored(kind(3), Free(3, m), orders=("asynchronous",), properties=properties)


@claim(
    "MF29",
    "[MF] §3.3, Proposition 1",
    "If s^m ≺ s^m' and one process receives both m and m', then r^m ≺ r^m'.",
    {
        "≺ runs through all events of §3.2 at a site, as in Lemma 2: p^x ≺ g^x ≺ a^x ≺ p^y": "refuted",
        "≺ runs through sends and receives, and acknowledgements": "refuted",
        "≺ runs through the application's sends and receives, as §1 has it": "proved",
    },
    reading="§1 has the events of a process in one order, and §3.2 has post, get and acknowledge among the events at "
    "its site. Then the first message of the chain in case (a) may be one that was sent before m and posted after, or "
    "an acknowledgement. That the protocol is safe (MF12) does not rest on it",
    kind="ambiguity",
    defense="§1 defines ≺ by messages of the application; the events of its buffers come with §3.2",
)
def mf29(quick: bool) -> list[Evidence]:
    everything, acknowledged = proposition_1(EventsOfASite, 3), proposition_1(ThroughAcknowledgements, 3)
    by_post = "m1 is posted after the send of m2, and got before that of m3: s^m2 ≺ p^m1 ≺ g^m1 ≺ s^m3"
    by_ack = "m1 is got and acknowledged after the send of m2, which m3 overtakes: s^m2 ≺ g^m1 ≺ a^m1 ≺ s^m3"
    return [
        breaks(everything, "Proposition 1", by_post, "counterexample-mf29").refutes(),
        breaks(acknowledged, "Proposition 1", by_ack, "counterexample-mf29-acknowledgement").refutes(),
        proved("buffer", "safe") & keep(proposition_1(ThroughMessages, 3), "Proposition 1"),
    ]
