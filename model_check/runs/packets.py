"""The packets of a run as individuals: which of those in flight an action takes, also where several look alike.

A packet is identified by its link and its number among all that were transmitted there, from 1. What an action takes
follows from the content of the packet and from the place where it was (`LocalStep.place`): of equal packets at one
place, it is the first that was transmitted.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from crownless.impl.channels import Place
from crownless.impl.protocol import Packet
from crownless.model_check.system.system import LocalStep, System

#: The arrival of a packet that waits in the hold-back queue: the process does nothing yet.
ARRIVES = "receive"

#: Source and destination.
Link = tuple[Hashable, Hashable]


class PacketId(NamedTuple):
    """A packet of a run: its link, and its number there. 0: it is unknown which one it is."""

    link: Link
    number: int


@dataclass
class _InFlight:
    """A packet in flight; two of a duplicated packet. Packets with the same `content` are equal."""

    id: PacketId
    content: Hashable
    place: Place


class Flight:
    """The packets in flight in a run, those of each link in the order transmitted."""

    def __init__(self) -> None:
        self._transmitted: Counter[Link] = Counter()
        self._on: defaultdict[Link, list[_InFlight]] = defaultdict(list)

    def transmit(self, link: Link, content: Hashable) -> PacketId:
        """A further packet is transmitted."""
        self._transmitted[link] += 1
        sent = PacketId(link, self._transmitted[link])
        self._on[link].append(_InFlight(sent, content, "link"))
        return sent

    def equal(self, link: Link, content: Hashable, place: Place) -> list[PacketId]:
        """The packets of this content at this place, the first transmitted first."""
        return [one.id for one in self._on[link] if one.content == content and one.place == place]

    def take(self, taken: PacketId, place: Place, action: str, *, by_channel: bool) -> None:
        """An action takes the packet from this place: it leaves, is duplicated, or is put into the hold-back queue."""
        on_link = self._on[taken.link]
        at = next(k for k, one in enumerate(on_link) if (one.id, one.place) == (taken, place))
        if by_channel and action == "duplicate":
            on_link[at : at + 1] = [_InFlight(taken, on_link[at].content, "copy") for _ in range(2)]
        elif action == ARRIVES and not by_channel:
            on_link[at].place = "queue"
        else:
            del on_link[at]

    def on(self, link: Link) -> list[tuple[PacketId, Hashable, Place]]:
        """The packets of a link that are in flight."""
        return [(one.id, one.content, one.place) for one in self._on[link]]

    @property
    def all(self) -> Hashable:
        """All packets that are in flight."""
        return frozenset((link, tuple(self.on(link))) for link in [*self._on])


class Alike(NamedTuple):
    """Packets that look alike: of the same kind on one link, with the same message."""

    link: Link
    kind: str
    message: Hashable


class PacketTracker:
    """Follows a run of a system, step by step."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.flight = Flight()
        self._places_among: dict[PacketId, int] = {}
        self._alike: Counter[Alike] = Counter()
        self._kinds: dict[PacketId, Alike] = {}
        #: Those that look alike though it matters which of them arrives.
        self._confusable: set[Alike] = set()

    def may_take(self, step: LocalStep) -> list[PacketId]:
        """The packet that the step takes from the flight; several if nothing depends on which of these it is."""
        packet = step.action.packet
        if packet is None:
            return []
        equal = self.flight.equal(link_of(packet), self.system.number_of_packet(packet), step.place)
        return equal[:1] if self.system.channel.keeps_order else equal

    def follow(self, step: LocalStep, taken: PacketId | None = None) -> tuple[PacketId | None, list[PacketId]]:
        """The packet that the step takes, the first that it may take unless it is given, and those it transmits."""
        action = step.action
        if action.packet is not None:
            taken = taken or self.may_take(step)[0]
            self.flight.take(taken, step.place, action.name, by_channel=action.by_channel)
            self._compare(taken.link)
        return taken, list(map(self._transmit, self.system.transmitted(step), step.packets))

    def place_among_alike(self, packet: PacketId) -> int:
        """Its number among the packets that look alike, from 1; 0 if it need not be known which of them it is."""
        return self._places_among[packet] if self._kinds[packet] in self._confusable else 0

    def _transmit(self, packet: Packet, content: int) -> PacketId:
        sent = self.flight.transmit(link_of(packet), content)
        alike = self._kinds[sent] = Alike(sent.link, packet.kind, packet.message)
        self._alike[alike] += 1
        self._places_among[sent] = self._alike[alike]
        self._compare(sent.link)
        return sent

    def _compare(self, link: Link) -> None:
        """Notes which packets in flight on the link look alike, and are not interchangeable."""
        forms: defaultdict[Alike, dict[PacketId, Sequence[Hashable]]] = defaultdict(dict)
        for packet, content, place in self.flight.on(link):
            forms[self._kinds[packet]][packet] = (content, place)
        ordered = self.system.channel.keeps_order
        self._confusable.update(
            alike for alike, found in forms.items() if len(found) > 1 and (ordered or len(set(found.values())) > 1)
        )


def link_of(packet: Packet) -> Link:
    """The link of a packet."""
    return packet.source, packet.destination
