"""Channels: how packets travel, and how they may be lost or duplicated.

A channel is a pure data structure: an immutable *flight* (the packets in flight) and functions on it. Packets are
opaque integers here; `link` is the directed link (source to destination) a packet travels on.

A packet that has reached its destination and is not deliverable yet waits in the hold-back queue. Over an unordered
channel the hold-back queue and the channel are one set, and a packet simply stays where it is. Over a FIFO channel a
packet at the head of its link is either received or moved to the hold-back queue, so that those behind it can reach the
process; from there it is received whenever the protocol accepts it.
"""

from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

from crownless.runtime.errors import unknown_name

#: The packets in flight; hashable, and equal whenever the same packets may still arrive in the same ways.
Flight = Any

#: Where a packet in flight is: on its link as transmitted, on its link as a copy that the channel made, or in the
#: hold-back queue of its destination. Of equal packets at one place, the first transmitted leaves it first.
Place = Literal["link", "copy", "queue"]

#: A packet that can reach its destination now: (the packet; the flight once it is received; the flight once it waits in
#: the hold-back queue instead, or None if a packet that is not received stays as it is; packets that reached the
#: destination earlier and must not be overtaken unless the protocol refuses them; its place). A plain tuple: a search
#: makes millions of them.
Arrival = tuple[int, Flight, Flight | None, tuple[int, ...], Place]


class Fault(NamedTuple):
    """An action of the channel itself on a packet: the action's name, the packet, the flight afterwards, its place."""

    name: str
    packet: int
    flight: Flight
    place: Place = "link"


class Channel:
    """Base of all channels."""

    #: One sentence for tables and verdicts.
    meaning: str
    #: True if every packet eventually arrives.
    reliable = True
    #: True if the order in which a link's packets were transmitted determines which of them arrives.
    keeps_order = False

    def __init__(self, link: Callable[[int], int]) -> None:
        self.link = link

    def empty(self) -> Flight:
        """The empty flight."""
        raise NotImplementedError

    def put(self, flight: Flight, packets: Sequence[int]) -> Flight:
        """The flight after transmitting these packets, in this order."""
        raise NotImplementedError

    def arrivals(self, flight: Flight) -> Iterable[Arrival]:
        """The packets that can reach their destination now, one entry per distinct possibility."""
        raise NotImplementedError

    def contents(self, flight: Flight) -> list[tuple[int, bool]]:
        """Every packet in a flight, in order for each link; and whether it is in the hold-back queue, or a copy."""
        raise NotImplementedError

    def losses(self, flight: Flight) -> Iterable[tuple[int, Flight, Place]]:
        """The packets that have not reached their destination yet and could be lost, the flight afterwards, and the
        place of the packet.
        """
        return [(packet, rest, place) for packet, rest, _, _, place in self.arrivals(flight)]

    def faults(self, flight: Flight) -> Iterable[Fault]:
        """The steps of the channel itself."""
        return ()


class Unordered(Channel):
    """Reliable; packets arrive in any order."""

    meaning = "every packet arrives once, in any order"

    def empty(self) -> Flight:
        return ()

    def put(self, flight: Flight, packets: Sequence[int]) -> Flight:
        if not packets:
            return flight
        return tuple(sorted((*flight, *packets)))

    def contents(self, flight: Flight) -> list[tuple[int, bool]]:
        return [(packet, False) for packet in flight]

    def arrivals(self, flight: Flight) -> Iterable[Arrival]:
        return [(packet, rest, None, (), "link") for packet, rest in _each(flight)]


class Fifo(Channel):
    """Reliable; packets on one link arrive in the order transmitted, and leave the hold-back queue in that order too.

    A packet in the hold-back queue is overtaken by a later one of its link only while the protocol refuses it (and not
    because the application is not ready to receive). A flight is (links, hold-back queue), both with a queue per link.
    """

    meaning = "every packet arrives once; those on one link in the order sent"
    keeps_order = True

    def empty(self) -> Flight:
        return ((), ())

    def put(self, flight: Flight, packets: Sequence[int]) -> Flight:
        queues, room = flight
        for packet in packets:
            queues = self._append(queues, packet)
        return (queues, room)

    def arrivals(self, flight: Flight) -> Iterable[Arrival]:
        queues, room = flight
        rooms = {self.link(queue[0]): queue for queue in room}
        for queue in queues:
            head = queue[0]
            shorter = _without(queues, queue, 0)
            behind = rooms.get(self.link(head), ())
            yield head, (shorter, room), (shorter, self._append(room, head)), behind, "link"
        for queue in room:
            for place, packet in enumerate(queue):
                yield packet, (queues, _without(room, queue, place)), None, queue[:place], "queue"

    def contents(self, flight: Flight) -> list[tuple[int, bool]]:
        queues, room = flight
        under_way = [(packet, False) for queue in queues for packet in queue]
        return under_way + [(packet, True) for queue in room for packet in queue]

    def losses(self, flight: Flight) -> Iterable[tuple[int, Flight, Place]]:
        """The first packet of each link; packets in the hold-back queue cannot be lost."""
        queues, room = flight
        return [(queue[0], (_without(queues, queue, 0), room), "link") for queue in queues]

    def _append(self, queues: tuple[tuple[int, ...], ...], packet: int) -> tuple[tuple[int, ...], ...]:
        by_link = {self.link(queue[0]): queue for queue in queues}
        link = self.link(packet)
        by_link[link] = (*by_link.get(link, ()), packet)
        return tuple(by_link[link] for link in sorted(by_link))


def _without(queues: tuple[tuple[int, ...], ...], queue: tuple[int, ...], place: int) -> tuple[tuple[int, ...], ...]:
    """The queues without the packet at that place of one of them; an empty queue is dropped."""
    rest = queue[:place] + queue[place + 1 :]
    return tuple(rest if q is queue else q for q in queues if q is not queue or rest)


class Losing(Channel):
    """Any packet that has not reached its destination may be lost."""

    reliable = False

    def faults(self, flight: Flight) -> Iterable[Fault]:
        for packet, rest, place in self.losses(flight):
            yield Fault("lose", packet, rest, place)


class Lossy(Losing, Unordered):
    """Unordered, and any packet in flight may be lost."""

    meaning = "packets arrive in any order; any packet may be lost, any number of them"


class LossyFifo(Losing, Fifo):
    """FIFO, and any packet may be lost when it is the first of its link: a loss further back is such a loss later."""

    meaning = "packets on one link arrive in the order sent; any packet may be lost, any number of them"


class Duplicating(Channel):
    """Unordered, and any packet may be duplicated, once. A flight is (packets as transmitted, copies)."""

    meaning = "packets arrive in any order, each once or twice"

    def empty(self) -> Flight:
        return ((), ())

    def put(self, flight: Flight, packets: Sequence[int]) -> Flight:
        if not packets:
            return flight
        return (tuple(sorted((*flight[0], *packets))), flight[1])

    def contents(self, flight: Flight) -> list[tuple[int, bool]]:
        fresh, copies = flight
        return [(packet, False) for packet in fresh] + [(packet, True) for packet in copies]

    def arrivals(self, flight: Flight) -> Iterable[Arrival]:
        fresh, copies = flight
        for packet, rest in _each(fresh):
            yield packet, (rest, copies), None, (), "link"
        for packet, rest in _each(copies):
            yield packet, (fresh, rest), None, (), "copy"

    def faults(self, flight: Flight) -> Iterable[Fault]:
        fresh, copies = flight
        for packet, rest in _each(fresh):
            yield Fault("duplicate", packet, (rest, _with(_with(copies, packet), packet)))


class LossyDuplicatingFifo(Losing, Fifo):
    """FIFO; the first packet of a link may be lost, or duplicated, once: its copies are then the first of the link.

    A flight is (links, hold-back queue, copies on the links).
    """

    meaning = "packets on one link arrive in the order sent, each once, twice or not at all"

    def empty(self) -> Flight:
        return (*super().empty(), ())

    def put(self, flight: Flight, packets: Sequence[int]) -> Flight:
        return (*super().put(flight[:2], packets), flight[2])

    def arrivals(self, flight: Flight) -> Iterable[Arrival]:
        copies = flight[2]
        for packet, taken, waiting, behind, place in super().arrivals(flight[:2]):
            if waiting is None:  # it leaves the hold-back queue
                yield packet, (*taken, copies), None, behind, place
            else:
                rest = _less(copies, packet)
                yield packet, (*taken, rest), (*waiting, rest), behind, _first_of(packet, copies)

    def contents(self, flight: Flight) -> list[tuple[int, bool]]:
        queues, room, copies = flight
        under_way = [(packet, place < copies.count(packet)) for queue in queues for place, packet in enumerate(queue)]
        return under_way + [(packet, True) for queue in room for packet in queue]

    def losses(self, flight: Flight) -> Iterable[tuple[int, Flight, Place]]:
        copies = flight[2]
        return [
            (packet, (*rest, _less(copies, packet)), _first_of(packet, copies))
            for packet, rest, _ in super().losses(flight[:2])
        ]

    def faults(self, flight: Flight) -> Iterable[Fault]:
        yield from super().faults(flight)
        queues, room, copies = flight
        for queue in queues:
            packet = queue[0]
            if packet not in copies:
                longer = tuple((packet, *queue) if each is queue else each for each in queues)
                yield Fault("duplicate", packet, (longer, room, _with(_with(copies, packet), packet)))


def _each(packets: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
    """Each distinct packet of a sorted tuple, with the others."""
    return [
        (packet, packets[:place] + packets[place + 1 :])
        for place, packet in enumerate(packets)
        if not place or packets[place - 1] != packet
    ]


def _with(packets: tuple[int, ...], packet: int) -> tuple[int, ...]:
    larger = list(packets)
    insort(larger, packet)
    return tuple(larger)


def _first_of(packet: int, copies: tuple[int, ...]) -> Place:
    """The place of the first packet of a link: copies of it are before equal packets."""
    return "copy" if packet in copies else "link"


def _less(packets: tuple[int, ...], packet: int) -> tuple[int, ...]:
    """The packets without one of this number, if there is one."""
    place = packets.index(packet) if packet in packets else len(packets)
    return packets[:place] + packets[place + 1 :]


CHANNELS: dict[str, type[Channel]] = {
    "unordered": Unordered,
    "fifo": Fifo,
    "lossy": Lossy,
    "duplicating": Duplicating,
    "lossy-fifo": LossyFifo,
    "lossy-duplicating-fifo": LossyDuplicatingFifo,
}


def channel_named(name: str) -> type[Channel]:
    """The channel of that name; raises `BadInput` with the nearest name otherwise."""
    if name not in CHANNELS:
        raise unknown_name("channel", name, CHANNELS)
    return CHANNELS[name]


def name_of_channel(channel: type[Channel]) -> str:
    """The channel's name in reports: that of the class, unless it is one of those here."""
    return next((name for name, known in CHANNELS.items() if known is channel), channel.__name__)
