"""Channels keep to their contracts: each is compared with a model, two lists of packets in the order transmitted.

Packets are plain ints here, and ``packet % LINKS`` is the link that a packet travels on.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crownless.impl.channels import CHANNELS, Channel, Flight, channel_named
from crownless.runtime.errors import BadInput

LINKS = 3

#: What is put at once, with few distinct packets, so that equal ones meet in flight; or which possibility happens next.
STEPS = st.lists(st.lists(st.integers(0, 8), max_size=3) | st.integers(0, 30), max_size=25)


class Model(NamedTuple):
    """The packets in flight, and those in the hold-back queue, or copies."""

    fresh: tuple[Any, ...] = ()
    marked: tuple[int, ...] = ()

    def without(self, place: int) -> Model:
        return self._replace(fresh=self.fresh[:place] + self.fresh[place + 1 :])

    def without_marked(self, place: int) -> Model:
        return self._replace(marked=self.marked[:place] + self.marked[place + 1 :])


class Possibility(NamedTuple):
    """Something that may happen: an arrival, or a step of the channel itself."""

    name: str
    packet: int
    behind: tuple[int, ...]
    after: Any  #: the model, or the flight
    place: str = "link"


def expected(name: str, model: Model) -> Iterator[Possibility]:
    """All that may happen, each possibility as often as there are packets for it."""
    fresh, marked = model
    if name == "lossy-duplicating-fifo":
        yield from expected_of_queues(model)
        return
    if name in ("fifo", "lossy-fifo"):
        for place, packet in enumerate(fresh):
            if all(other % LINKS != packet % LINKS for other in fresh[:place]):
                behind, rest = on_link(marked, packet), model.without(place)
                yield Possibility("arrive", packet, behind, rest)
                yield Possibility("wait", packet, (), rest._replace(marked=(*marked, packet)))
                if name == "lossy-fifo":
                    yield Possibility("lose", packet, (), rest)
        for place, packet in enumerate(marked):
            yield Possibility("arrive", packet, on_link(marked[:place], packet), model.without_marked(place), "queue")
        return
    for place, packet in enumerate(fresh):
        yield Possibility("arrive", packet, (), model.without(place))
        if name == "lossy":
            yield Possibility("lose", packet, (), model.without(place))
        if name == "duplicating":
            yield Possibility("duplicate", packet, (), Model(model.without(place).fresh, (*marked, packet, packet)))
    for place, packet in enumerate(marked):
        yield Possibility("arrive", packet, (), model.without_marked(place), "copy")


def expected_of_queues(model: Model) -> Iterator[Possibility]:
    """The same over FIFO links that lose and duplicate, where a copy is written as (packet, "copy") in the queue."""
    queued, room = model
    for place, each in enumerate(queued):
        packet = number_of(each)
        if any(number_of(other) % LINKS == packet % LINKS for other in queued[:place]):
            continue
        rest, where = model.without(place), "link" if each == packet else "copy"
        yield Possibility("arrive", packet, on_link(room, packet), rest, where)
        yield Possibility("wait", packet, (), rest._replace(marked=(*room, packet)), where)
        yield Possibility("lose", packet, (), rest, where)
        if each == packet:
            twice = (*queued[:place], (packet, "copy"), (packet, "copy"), *queued[place + 1 :])
            yield Possibility("duplicate", packet, (), model._replace(fresh=twice))
    for place, packet in enumerate(room):
        yield Possibility("arrive", packet, on_link(room[:place], packet), model.without_marked(place), "queue")


def number_of(queued: Any) -> int:
    return int(queued[0] if isinstance(queued, tuple) else queued)


def offered(channel: Channel, flight: Flight) -> Iterator[Possibility]:
    """All that the channel says may happen."""
    for packet, taken, waiting, behind, place in channel.arrivals(flight):
        yield Possibility("arrive", packet, tuple(behind), taken, place)
        if waiting is not None:
            yield Possibility("wait", packet, (), waiting, place)
    for name, packet, after, place in channel.faults(flight):
        yield Possibility(name, packet, (), after, place)


def on_link(packets: tuple[Any, ...], packet: int) -> tuple[Any, ...]:
    return tuple(other for other in packets if number_of(other) % LINKS == packet % LINKS)


def meaning(name: str, model: Model) -> Hashable:
    """Equal exactly for models that no process can distinguish."""
    parts = (model.fresh, model.marked)
    if name.endswith("fifo"):
        return tuple(on_link(part, link) for part in parts for link in range(LINKS))
    return tuple(tuple(sorted(part)) for part in parts)


def read(channel: Channel, flight: Flight) -> Model:
    contents = channel.contents(flight)
    if isinstance(channel, CHANNELS["lossy-duplicating-fifo"]):
        on_links = sum(map(len, flight[0]))
        queued = tuple((packet, "copy") if mark else packet for packet, mark in contents[:on_links])
        return Model(queued, tuple(packet for packet, _ in contents[on_links:]))
    fresh, marked = ([packet for packet, mark in contents if mark is which] for which in (False, True))
    return Model(tuple(fresh), tuple(marked))


@pytest.mark.parametrize("name", CHANNELS)
@given(steps=STEPS)
def test_a_channel_offers_what_its_model_does(name: str, steps: list[list[int] | int]) -> None:
    channel = CHANNELS[name](lambda packet: packet % LINKS)
    flight, model = channel.empty(), Model()
    flights: dict[Hashable, Flight] = {meaning(name, model): flight}
    for step in steps:
        known = {
            (name_, packet, behind, place, meaning(name, after)): after
            for name_, packet, behind, after, place in expected(name, model)
        }
        possible = [*offered(channel, flight)]
        keys = [(p.name, p.packet, p.behind, p.place, meaning(name, read(channel, p.after))) for p in possible]
        assert len(set(keys)) == len(keys)
        assert set(keys) == set(known)
        if not isinstance(step, int):
            flight, model = channel.put(flight, step), model._replace(fresh=(*model.fresh, *step))
        elif possible:
            chosen = step % len(possible)
            flight, model = possible[chosen].after, known[keys[chosen]]
        assert flights.setdefault(meaning(name, model), flight) == flight
    assert len(set(flights.values())) == len(flights)


def test_what_is_lost_by_a_crash_has_not_reached_its_process() -> None:
    for name in CHANNELS:
        channel = CHANNELS[name](lambda packet: packet % LINKS)
        flight = channel.put(channel.empty(), [1, 4, 2])
        lost = {packet: meaning(name, read(channel, rest)) for packet, rest, _ in channel.losses(flight)}
        assert lost.keys() == ({1, 2} if name.endswith("fifo") else {1, 2, 4})
        assert lost[1] == meaning(name, Model((4, 2)))


def test_a_channel_is_found_by_its_name() -> None:
    assert list(CHANNELS) == ["unordered", "fifo", "lossy", "duplicating", "lossy-fifo", "lossy-duplicating-fifo"]
    assert all(channel_named(name) is kind for name, kind in CHANNELS.items())
    assert [name for name, kind in CHANNELS.items() if not kind.reliable] == [
        *("lossy", "lossy-fifo", "lossy-duplicating-fifo")
    ]
    with pytest.raises(BadInput) as caught:
        channel_named("fifi")
    known = "unordered, fifo, lossy, duplicating, lossy-fifo, lossy-duplicating-fifo"
    assert str(caught.value) == f"unknown channel 'fifi'; did you mean 'fifo'? known: {known}"
