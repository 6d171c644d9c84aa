"""Channels keep to their contracts: what may arrive, in which order, how often, and what the channel does by itself.

Packets are plain ints here, and ``packet % LINKS`` is the link that a packet travels on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crownless.impl.channels import CHANNELS, Channel, Fault, Flight, channel_named
from crownless.spec.errors import BadInput

LINKS = 3

#: What is put at once, again and again; few distinct packets, so that equal ones meet in flight.
batches = st.lists(st.lists(st.integers(0, 8), max_size=3), max_size=5)
#: Which of the possible arrivals happens next.
choices = st.lists(st.integers(0, 30), max_size=20)


class Arrival(NamedTuple):
    """The parts of an arrival, by name."""

    packet: int
    taken: Flight
    waiting: Flight | None
    behind: tuple[int, ...]


def channel(name: str) -> Channel:
    return CHANNELS[name](lambda packet: packet % LINKS)


def put_all(under_test: Channel, puts: Iterable[Sequence[int]]) -> Flight:
    flight = under_test.empty()
    for packets in puts:
        flight = under_test.put(flight, packets)
    return flight


def packets_of(puts: Iterable[Sequence[int]]) -> list[int]:
    return list(chain.from_iterable(puts))


def arrivals(under_test: Channel, flight: Flight) -> list[Arrival]:
    return [Arrival(*arrival) for arrival in under_test.arrivals(flight)]


def faults(under_test: Channel, flight: Flight) -> list[Fault]:
    return list(under_test.faults(flight))


def drain(under_test: Channel, flight: Flight, picks: Sequence[int] = ()) -> list[int]:
    """The packets in the order in which they are taken in, with these choices and then always the first arrival."""
    taken = []
    later = iter(picks)
    while possible := arrivals(under_test, flight):
        arrival = possible[next(later, 0) % len(possible)]
        taken.append(arrival.packet)
        flight = arrival.taken
    assert flight == under_test.empty()
    return taken


def by_link(packets: Iterable[int]) -> dict[int, list[int]]:
    links: dict[int, list[int]] = {}
    for packet in packets:
        links.setdefault(packet % LINKS, []).append(packet)
    return links


# -- all channels ------------------------------------------------------------------------------------------------------


def test_a_channel_is_found_by_its_name() -> None:
    assert list(CHANNELS) == ["unordered", "fifo", "lossy", "duplicating"]
    assert all(channel_named(name) is kind for name, kind in CHANNELS.items())


def test_an_unknown_channel_is_reported_with_the_nearest_name() -> None:
    with pytest.raises(BadInput) as caught:
        channel_named("fifi")
    assert (
        str(caught.value) == "unknown channel 'fifi'; did you mean 'fifo'? known: unordered, fifo, lossy, duplicating"
    )


def test_only_the_lossy_channel_is_not_reliable() -> None:
    assert [name for name, kind in CHANNELS.items() if not kind.reliable] == ["lossy"]


@pytest.mark.parametrize("name", CHANNELS)
def test_nothing_arrives_from_an_empty_channel_and_nothing_goes_wrong_there(name: str) -> None:
    empty = channel(name).empty()
    assert arrivals(channel(name), empty) == []
    assert faults(channel(name), empty) == []
    assert channel(name).put(empty, []) == empty


@pytest.mark.parametrize("name", CHANNELS)
@given(puts=batches, picks=choices)
def test_flights_are_hashable_and_each_possibility_is_listed_once(
    name: str, puts: list[list[int]], picks: list[int]
) -> None:
    under_test = channel(name)
    flight = put_all(under_test, puts)
    for pick in picks:
        outcomes: list[Arrival | Fault] = [*arrivals(under_test, flight), *faults(under_test, flight)]
        assert len(set(outcomes)) == len(outcomes)
        if not outcomes:
            break
        outcome = outcomes[pick % len(outcomes)]
        flight = outcome.taken if isinstance(outcome, Arrival) else outcome.flight
        hash(flight)


@pytest.mark.parametrize("name", CHANNELS)
@given(packets=st.lists(st.integers(0, 8), max_size=6), cut=st.integers(0, 6))
def test_packets_put_together_or_one_after_the_other_make_one_flight(name: str, packets: list[int], cut: int) -> None:
    under_test = channel(name)
    assert put_all(under_test, [packets[:cut], packets[cut:]]) == put_all(under_test, [packets])


@pytest.mark.parametrize("name", ["unordered", "fifo", "lossy"])
@given(puts=batches, picks=choices)
def test_without_faults_every_packet_arrives_once(name: str, puts: list[list[int]], picks: list[int]) -> None:
    under_test = channel(name)
    assert Counter(drain(under_test, put_all(under_test, puts), picks)) == Counter(packets_of(puts))


@pytest.mark.parametrize("name", ["unordered", "fifo"])
@given(puts=batches, picks=choices)
def test_a_perfect_channel_does_nothing_by_itself(name: str, puts: list[list[int]], picks: list[int]) -> None:
    under_test = channel(name)
    flight = put_all(under_test, puts)
    for pick in picks:
        assert faults(under_test, flight) == []
        if possible := arrivals(under_test, flight):
            flight = possible[pick % len(possible)].taken


# -- unordered ---------------------------------------------------------------------------------------------------------


@given(batches, choices)
def test_an_unordered_channel_is_a_multiset(puts: list[list[int]], picks: list[int]) -> None:
    under_test = channel("unordered")
    flight, model = put_all(under_test, puts), Counter(packets_of(puts))
    for pick in picks:
        possible = arrivals(under_test, flight)
        assert sorted(arrival.packet for arrival in possible) == sorted(model)
        assert all(arrival.waiting is None and arrival.behind == () for arrival in possible)
        if not possible:
            break
        packet, flight, *_ = possible[pick % len(possible)]
        model = model - Counter([packet])
        assert flight == under_test.put(under_test.empty(), list(model.elements()))


@given(st.lists(st.integers(0, 8), max_size=6).flatmap(lambda x: st.tuples(st.just(x), st.permutations(x))))
def test_over_an_unordered_channel_flights_that_differ_in_order_only_are_equal(
    orders: tuple[list[int], list[int]],
) -> None:
    one, other = orders
    assert put_all(channel("unordered"), [one]) == put_all(channel("unordered"), [other])


@given(st.lists(st.integers(0, 8), max_size=5).flatmap(lambda x: st.tuples(st.just(x), st.permutations(x))))
def test_an_unordered_channel_allows_every_order(orders: tuple[list[int], list[int]]) -> None:
    put, wanted = orders
    under_test = channel("unordered")
    flight = put_all(under_test, [put])
    for packet in wanted:
        (flight,) = [arrival.taken for arrival in arrivals(under_test, flight) if arrival.packet == packet]
    assert flight == under_test.empty()


# -- fifo --------------------------------------------------------------------------------------------------------------


@given(batches, choices)
def test_a_fifo_channel_is_a_queue_and_a_hold_back_queue_on_each_link(puts: list[list[int]], picks: list[int]) -> None:
    under_test = channel("fifo")
    flight = put_all(under_test, puts)
    queues, rooms = by_link(packets_of(puts)), dict[int, list[int]]()
    for pick in picks:
        expected: list[tuple[int, bool, tuple[int, ...]]] = []  # packet, from the channel, behind
        for link, queue in sorted(queues.items()):
            expected.append((queue[0], True, tuple(rooms.get(link, ()))))
        for _, room in sorted(rooms.items()):
            expected += [(packet, False, tuple(room[:place])) for place, packet in enumerate(room)]
        possible = arrivals(under_test, flight)
        assert [(a.packet, a.waiting is not None, a.behind) for a in possible] == expected
        if not possible:
            break
        chosen = pick % len(possible)
        arrival = possible[chosen]
        link = arrival.packet % LINKS
        to_the_room = arrival.waiting is not None and pick >= 15
        flight = arrival.waiting if to_the_room else arrival.taken
        source = queues if arrival.waiting is not None else rooms
        del source[link][0 if arrival.waiting is not None else len(arrival.behind)]
        if not source[link]:
            del source[link]
        if to_the_room:
            rooms.setdefault(link, []).append(arrival.packet)


@given(batches, choices)
def test_over_a_fifo_channel_a_process_that_overtakes_nothing_sees_each_link_in_the_order_sent(
    puts: list[list[int]], picks: list[int]
) -> None:
    under_test = channel("fifo")
    flight, seen = put_all(under_test, puts), []
    later = iter(picks)
    while possible := [arrival for arrival in arrivals(under_test, flight) if not arrival.behind]:
        pick = next(later, 0)
        arrival = possible[pick % len(possible)]
        if arrival.waiting is not None and pick % 2:
            flight = arrival.waiting
        else:
            seen.append(arrival.packet)
            flight = arrival.taken
    assert flight == under_test.empty()
    assert by_link(seen) == by_link(packets_of(puts))


@given(batches)
def test_the_hold_back_queue_keeps_the_order_of_its_link(puts: list[list[int]]) -> None:
    under_test = channel("fifo")
    flight = put_all(under_test, puts)
    while waiting := [arrival.waiting for arrival in arrivals(under_test, flight) if arrival.waiting is not None]:
        flight = waiting[-1]
    in_room = arrivals(under_test, flight)
    assert all(arrival.waiting is None for arrival in in_room)
    assert by_link(arrival.packet for arrival in in_room) == by_link(packets_of(puts))
    for arrival in in_room:
        assert list(arrival.behind) == by_link(packets_of(puts))[arrival.packet % LINKS][: len(arrival.behind)]


@given(st.lists(st.integers(0, 8), max_size=6), st.lists(st.integers(0, 8), max_size=6))
def test_over_a_fifo_channel_flights_are_equal_exactly_if_every_link_is(one: list[int], other: list[int]) -> None:
    under_test = channel("fifo")
    equal = put_all(under_test, [one]) == put_all(under_test, [other])
    assert equal == (by_link(one) == by_link(other))


# -- lossy -------------------------------------------------------------------------------------------------------------


@given(batches, choices)
def test_a_lossy_channel_loses_any_packet_and_does_nothing_else(puts: list[list[int]], picks: list[int]) -> None:
    under_test = channel("lossy")
    flight, left = put_all(under_test, puts), Counter(packets_of(puts))
    for pick in picks:
        assert flight == put_all(under_test, [list(left.elements())])
        possible, lost = arrivals(under_test, flight), faults(under_test, flight)
        assert lost == [Fault("lose", arrival.packet, arrival.taken) for arrival in possible]
        assert sorted(arrival.packet for arrival in possible) == sorted(left)
        if not possible:
            break
        fault = lost[pick % len(lost)]
        flight = fault.flight
        left = left - Counter([fault.packet])


def test_a_lossy_channel_may_lose_everything() -> None:
    under_test = channel("lossy")
    flight = under_test.put(under_test.empty(), [1, 1, 2])
    for _ in range(3):
        flight = faults(under_test, flight)[0].flight
    assert flight == under_test.empty()


# -- duplicating -------------------------------------------------------------------------------------------------------


@given(batches, st.lists(st.tuples(st.booleans(), st.integers(0, 30)), max_size=30))
def test_over_a_duplicating_channel_each_packet_arrives_once_or_twice(
    puts: list[list[int]], picks: list[tuple[bool, int]]
) -> None:
    under_test = channel("duplicating")
    flight, put, seen = put_all(under_test, puts), Counter(packets_of(puts)), Counter[int]()
    duplicated = Counter[int]()
    for duplicates, pick in picks:
        possible, repeated = arrivals(under_test, flight), faults(under_test, flight)
        if duplicates and repeated:
            fault = repeated[pick % len(repeated)]
            assert fault.name == "duplicate"
            duplicated[fault.packet] += 1
            flight = fault.flight
        elif possible:
            arrival = possible[pick % len(possible)]
            seen[arrival.packet] += 1
            flight = arrival.taken
    seen.update(drain(under_test, flight))
    assert seen == put + duplicated
    assert all(put[packet] <= seen[packet] <= 2 * put[packet] for packet in put)


@given(st.lists(st.integers(0, 8), max_size=6))
def test_a_packet_that_was_duplicated_is_not_duplicated_again(packets: list[int]) -> None:
    under_test = channel("duplicating")
    flight = put_all(under_test, [packets])
    for _ in packets:
        flight = faults(under_test, flight)[0].flight
    assert faults(under_test, flight) == []
    assert Counter(drain(under_test, flight)) == Counter(packets + packets)


@given(batches)
def test_a_duplicating_channel_need_not_duplicate(puts: list[list[int]]) -> None:
    under_test = channel("duplicating")
    fresh_only = put_all(under_test, puts)
    assert sorted(drain(under_test, fresh_only)) == sorted(packets_of(puts))
