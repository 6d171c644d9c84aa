"""The counts of explorations, pinned, and derived a second time from the texts alone.

`explore` runs the machines of `impl` in the system of `model_check`. The second derivation below uses neither: each
protocol is written again as its text prints it, with the channel beside it, and its states are counted with a set. The
protocol that is none has closed formulas besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import comb
from typing import Any

import pytest
from pinned_counts import Counts, Pin

from crownless.model_check.exploration import Exploration
from crownless.model_check.explorer import explore
from crownless.model_check.request import Check

PINS = (
    Pin("unordered", "unordered", 2, 2, Counts(17, 24, 4, 3), {"fifo": 3, "causal": 3}),
    Pin("unordered", "unordered", 2, 3, Counts(49, 96, 6, 4), {"fifo": 3, "causal": 3}),
    Pin("unordered", "unordered", 3, 2, Counts(97, 168, 4, 21), {"fifo": 3, "causal": 3}),
    Pin("unordered", "unordered", 3, 3, Counts(545, 1344, 6, 56), {"fifo": 3, "causal": 3}),
    Pin("unordered", "fifo", 2, 2, Counts(15, 20, 4, 3), {}),
    Pin("unordered", "fifo", 2, 3, Counts(35, 60, 6, 4), {}),
    Pin("unordered", "fifo", 3, 2, Counts(91, 156, 4, 21), {}),
    Pin("unordered", "fifo", 3, 3, Counts(455, 1092, 6, 56), {"causal": 5}),
    Pin("unordered", "lossy", 2, 2, Counts(17, 38, 4, 3), {"fifo": 3, "causal": 3, "delivers-all": 2}),
    Pin("unordered", "lossy", 2, 3, Counts(49, 158, 6, 4), {"fifo": 3, "causal": 3, "delivers-all": 2}),
    Pin("unordered", "lossy", 3, 2, Counts(97, 258, 4, 21), {"fifo": 3, "causal": 3, "delivers-all": 2}),
    Pin("unordered", "duplicating", 2, 2, Counts(57, 122, 6, 3), {"fifo": 3, "causal": 3, "delivers-once": 4}),
    Pin("unordered", "duplicating", 2, 3, Counts(313, 986, 9, 4), {"fifo": 3, "causal": 3, "delivers-once": 4}),
    Pin("unordered", "duplicating", 3, 2, Counts(361, 846, 6, 21), {"fifo": 3, "causal": 3, "delivers-once": 4}),
    Pin("rst", "unordered", 2, 2, Counts(17, 22, 4, 3), {}),
    Pin("rst", "unordered", 2, 3, Counts(49, 80, 6, 4), {}),
    Pin("rst", "unordered", 3, 2, Counts(121, 180, 4, 30), {}),
    Pin("rst", "unordered", 3, 3, Counts(983, 1878, 6, 134), {}),
    Pin("rst", "unordered", 3, 4, Counts(7370, 16722, 8, 519), {}),
    Pin("rst", "unordered", 3, 5, Counts(52274, 135228, 10, 1722), {}),
    Pin("rst", "fifo", 2, 2, Counts(17, 22, 4, 3), {}),
    Pin("rst", "fifo", 2, 3, Counts(49, 80, 6, 4), {}),
    Pin("rst", "fifo", 3, 2, Counts(121, 180, 4, 30), {}),
    Pin("rst", "fifo", 3, 3, Counts(995, 1896, 6, 134), {}),
    Pin("rst", "lossy", 2, 2, Counts(32, 50, 4, 10), {"delivers-all": 2}),
    Pin("rst", "lossy", 2, 3, Counts(122, 266, 6, 20), {"delivers-all": 2}),
    Pin("rst", "lossy", 3, 2, Counts(238, 414, 4, 93), {"delivers-all": 2}),
    Pin("rst", "duplicating", 2, 2, Counts(100, 158, 8, 14), {"delivers-once": 4}),
    Pin("rst", "duplicating", 2, 3, Counts(860, 1888, 12, 42), {"delivers-once": 4, "fifo": 7, "causal": 7}),
    Pin("rst", "duplicating", 3, 2, Counts(793, 1320, 8, 138), {"delivers-once": 4}),
    Pin("buffer", "unordered", 2, 2, Counts(77, 146, 10, 3), {}),
    Pin("buffer", "unordered", 2, 3, Counts(295, 730, 15, 4), {}),
    Pin("buffer", "unordered", 3, 2, Counts(649, 1368, 10, 21), {}),
    Pin("buffer", "unordered", 3, 3, Counts(7321, 21378, 15, 56), {}),
    Pin("buffer", "fifo", 2, 2, Counts(81, 148, 10, 3), {}),
    Pin("buffer", "fifo", 2, 3, Counts(321, 756, 15, 4), {}),
    Pin("buffer", "fifo", 3, 2, Counts(661, 1374, 10, 21), {}),
    Pin("buffer", "lossy", 2, 2, Counts(121, 274, 10, 10), {"delivers-all": 3}),
    Pin("buffer", "lossy", 2, 3, Counts(515, 1482, 15, 20), {"delivers-all": 3}),
    Pin("buffer", "lossy", 3, 2, Counts(1084, 2700, 10, 81), {"delivers-all": 3}),
    Pin("buffer", "duplicating", 2, 2, Counts(3283, 12644, 20, 3), {"delivers-once": 7}),
    Pin(
        "buffer",
        "duplicating",
        2,
        3,
        Counts(93821, 457338, 30, 4),
        {"delivers-once": 7, "fifo": 13, "causal": 13},
        slow=True,
    ),
    Pin("buffer", "duplicating", 3, 2, Counts(33445, 139236, 20, 21), {"delivers-once": 7}, slow=True),
    Pin("murty-garg", "unordered", 2, 2, Counts(39, 56, 8, 3), {}),
    Pin("murty-garg", "unordered", 2, 3, Counts(171, 307, 12, 4), {}),
    Pin("murty-garg", "unordered", 3, 2, Counts(270, 454, 8, 21), {}),
    Pin("murty-garg", "unordered", 3, 3, Counts(2491, 5552, 12, 56), {}),
    Pin("murty-garg", "fifo", 2, 2, Counts(35, 47, 8, 3), {}),
    Pin("murty-garg", "fifo", 2, 3, Counts(115, 187, 12, 4), {}),
    Pin("murty-garg", "fifo", 3, 2, Counts(258, 427, 8, 21), {}),
    Pin("murty-garg", "lossy", 2, 2, Counts(52, 106, 6, 11), {"delivers-all": 2, "never-blocks": 2}),
    Pin("murty-garg", "lossy", 2, 3, Counts(234, 618, 9, 33), {"delivers-all": 2, "never-blocks": 2}),
    Pin("murty-garg", "lossy", 3, 2, Counts(393, 918, 6, 85), {"delivers-all": 2, "never-blocks": 2}),
    Pin("murty-garg", "duplicating", 2, 2, Counts(4848, 17894, 32, 3), {"delivers-once": 4}),
    Pin(
        "murty-garg",
        "duplicating",
        2,
        3,
        Counts(158657, 778944, 48, 4),
        {"delivers-once": 4, "synchronous": 8},
        slow=True,
    ),
    Pin("murty-garg", "duplicating", 3, 2, Counts(65338, 280416, 32, 21), {"delivers-once": 4}, slow=True),
)


def explored(protocol: str, channel: str, n: int, m: int) -> Exploration:
    check = Check(protocol, n, m, channel=channel, sends="unicast").resolve()
    return explore(check.system(), check.properties())


def parameter(pin: Pin, *, slow_from: int = 60_000) -> Any:
    """A pin for pytest: slow where it says so, or from so many states on."""
    slow = pin.slow or pin.counts.states >= slow_from
    name = f"{pin.protocol}-{pin.channel}-{pin.n}-{pin.m}"
    return pytest.param(pin, id=name, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("pin", [parameter(pin) for pin in PINS])
def test_an_exploration_has_the_pinned_counts_and_shortest_violations(pin: Pin) -> None:
    found = explored(pin.protocol, pin.channel, pin.n, pin.m)
    assert found.stopped is None
    assert Counts(found.states, found.transitions, found.depth, found.terminal_states) == pin.counts
    assert found.broken == pin.broken


# -- closed formulas for no protocol at all ----------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "m"), [(2, 2), (2, 3), (3, 2), (3, 3)])
@pytest.mark.parametrize(
    ("channel", "states_of_k_messages"),
    [
        # Any subset of the messages sent is still in flight; a message lost or delivered is gone.
        ("unordered", lambda k, channels: 2**k * comb(k + channels - 1, channels - 1)),
        ("lossy", lambda k, channels: 2**k * comb(k + channels - 1, channels - 1)),
        # It is in flight, or doubled with two or one copy left, or gone.
        ("duplicating", lambda k, channels: 4**k * comb(k + channels - 1, channels - 1)),
        # Each channel has sent some and delivered some: 2 × channels piles that add up to k.
        ("fifo", lambda k, channels: comb(k + 2 * channels - 1, 2 * channels - 1)),
    ],
)
def test_the_states_of_no_protocol_are_those_of_its_channels(
    channel: str, states_of_k_messages: Callable[[int, int], int], n: int, m: int
) -> None:
    channels = n * (n - 1)
    found = explored("unordered", channel, n, m)
    assert found.states == sum(states_of_k_messages(k, channels) for k in range(m + 1))
    assert found.terminal_states == comb(m + channels - 1, channels - 1)


# -- the protocols once more, from their texts -------------------------------------------------------------------------

#: A packet, by whatever distinguishes it from others; its first two entries are where it comes from and where it goes.
Packet = tuple[Any, ...]


class Net:
    """A channel as a tuple of packets in the order transmitted (for copies: packet and whether it may be doubled)."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def put(self, flight: tuple[Any, ...], packets: Iterable[Packet]) -> tuple[Any, ...]:
        if self.kind == "duplicating":
            return tuple(sorted([*flight, *((packet, True) for packet in packets)], key=repr))
        if self.kind == "fifo":
            return tuple(sorted([*flight, *packets], key=lambda packet: packet[:2]))  # stable: one queue a link
        return tuple(sorted([*flight, *packets], key=repr))

    def arrivals(self, flight: tuple[Any, ...]) -> Iterator[tuple[Packet, tuple[Any, ...]]]:
        """Each packet that can arrive, and what is then left."""
        seen = set()
        for place, packet in enumerate(flight):
            known = packet[:2] if self.kind == "fifo" else packet
            if known not in seen:
                seen.add(known)
                yield packet[0] if self.kind == "duplicating" else packet, flight[:place] + flight[place + 1 :]

    def faults(self, flight: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        """What is left after each fault of the channel."""
        if self.kind == "lossy":
            for _, rest in self.arrivals(flight):
                yield rest
        if self.kind == "duplicating":
            for packet, whole in set(flight):
                if whole:
                    others = list(flight)
                    others.remove((packet, True))
                    yield tuple(sorted([*others, (packet, False), (packet, False)], key=repr))


class Text:
    """A protocol as printed: handlers that change `self.local[i]`, put packets into `self.out`, or say no."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.local: list[Any] = [self.start() for _ in range(n)]
        self.out: list[Packet] = []

    def start(self) -> Any:
        raise NotImplementedError

    def send(self, i: int, j: int, number: int) -> None:
        raise NotImplementedError

    def take(self, packet: Packet) -> bool:
        """A packet arrives; False: it is not taken in yet."""
        raise NotImplementedError

    def spontaneous(self, i: int) -> list[Callable[[], None]]:
        """What process i, its buffers and its application can do of themselves."""
        return []


def changed(row: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*row[:place], value, *row[place + 1 :])


class MatrixProtocol(Text):
    """[Kup]: (SENT_i, DELIV_i)."""

    def start(self) -> Any:
        return ((0,) * self.n,) * self.n, (0,) * self.n

    def send(self, i: int, j: int, number: int) -> None:
        sent, deliv = self.local[i]
        self.out.append((i, j, number, sent))
        self.local[i] = (changed(sent, i, changed(sent[i], j, sent[i][j] + 1)), deliv)

    def take(self, packet: Packet) -> bool:
        j, i, _, sent_m = packet
        sent, deliv = self.local[i]
        for k in range(self.n):
            if not deliv[k] >= sent_m[k][i]:
                return False
        deliv = changed(deliv, j, deliv[j] + 1)
        sent = changed(sent, j, changed(sent[j], i, sent[j][i] + 1))
        merged = tuple(tuple(map(max, row, row_m)) for row, row_m in zip(sent, sent_m, strict=True))
        self.local[i] = (merged, deliv)
        return True


class BufferProtocol(Text):
    """[MF] §3.2: (OB_i, from whose input buffer its loop waits for an acknowledgement, IB_i)."""

    def start(self) -> Any:
        return (), None, ()

    def send(self, i: int, j: int, number: int) -> None:
        output, waits, input_ = self.local[i]
        self.local[i] = ((*output, (i, j, number)), waits, input_)

    def take(self, packet: Packet) -> bool:
        i, j, what = packet
        output, waits, input_ = self.local[j]
        if what == "ack":
            self.local[j] = (output, None if waits == i else waits, input_)
        else:
            self.out.append((j, i, "ack"))
            self.local[j] = (output, waits, (*input_, (i, j, what)))
        return True

    def spontaneous(self, i: int) -> list[Callable[[], None]]:
        output, waits, input_ = self.local[i]

        def post() -> None:
            self.out.append(output[0])
            self.local[i] = (output[1:], output[0][1], input_)

        def deliver() -> None:
            self.local[i] = (output, waits, input_[1:])

        return [post] * (bool(output) and waits is None) + [deliver] * bool(input_)


class Fig8(Text):
    """[MG] Fig. 8, line by line: (messageQueue, ackQueue, state).

    A message ⟨m, P_i, P_j⟩ is (its own sender and receiver, its number): what travels back is the same content.
    """

    def start(self) -> Any:
        return (), (), "active"

    def send(self, i: int, j: int, number: int) -> None:
        self.send_intent((i, j, number), i, j)

    def send_intent(self, m: Any, i: int, j: int) -> None:
        message_queue, ack_queue, state = self.local[i]
        if i < j:
            self.out.append((i, j, "message", m))
        elif state == "active":
            self.local[i] = (message_queue, ack_queue, "passive")
            self.out.append((i, j, "message", m))
        else:
            self.local[i] = ((*message_queue, (m, j)), ack_queue, state)

    def take(self, packet: Packet) -> bool:
        j, i, what = packet[:3]
        if what == "ack":
            self.receive_ack(i)
        elif i > j:
            self.send_intent(packet[3], i, j)
        else:
            message_queue, ack_queue, state = self.local[i]
            if state == "active":
                self.out.append((i, j, "ack"))
            else:
                self.local[i] = (message_queue, (*ack_queue, j), state)
        return True

    def receive_ack(self, i: int) -> None:
        message_queue, ack_queue, state = self.local[i]
        state = "active"
        while ack_queue:
            self.out.append((i, ack_queue[0], "ack"))
            ack_queue = ack_queue[1:]
        if message_queue:
            state = "passive"
            m, j = message_queue[0]
            message_queue = message_queue[1:]
            self.out.append((i, j, "message", m))
        self.local[i] = (message_queue, ack_queue, state)


class NoProtocol(Text):
    """A message is delivered when it arrives."""

    def start(self) -> Any:
        return ()

    def send(self, i: int, j: int, number: int) -> None:
        self.out.append((i, j, number))

    def take(self, packet: Packet) -> bool:
        return True


TEXTS: dict[str, type[Text]] = {
    "unordered": NoProtocol,
    "rst": MatrixProtocol,
    "buffer": BufferProtocol,
    "murty-garg": Fig8,
}


def counted(text: Text, channel: str, m: int) -> Counts:
    """All states that a protocol as printed can reach if any process may send to any other, m messages in all."""
    net, n = Net(channel), text.n

    def after(state: Any) -> Iterator[Any]:
        local, flight, sent = state

        def outcome(act: Callable[[], object], rest: Any = flight, sent: Any = sent) -> Any:
            text.local, text.out = list(local), []
            return None if act() is False else (tuple(text.local), net.put(rest, text.out), sent)

        if sum(map(sum, sent)) < m:
            for i in range(n):
                for j in range(n):
                    if i != j:
                        number = sent[i][j] + 1
                        handed = changed(sent, i, changed(sent[i], j, number))
                        yield outcome(partial(text.send, i, j, number), sent=handed)
        for packet, rest in net.arrivals(flight):
            yield outcome(partial(text.take, packet), rest)
        for rest in net.faults(flight):
            yield local, rest, sent
        for i in range(n):
            text.local = list(local)
            for act in text.spontaneous(i):
                yield outcome(act)

    start = (tuple(text.local), (), ((0,) * n,) * n)
    known, level = {start}, [start]
    depth = transitions = terminal = 0
    while level:
        following = []
        for state in level:
            targets = [target for target in after(state) if target is not None]
            transitions += len(targets)
            terminal += not targets
            for target in targets:
                if target not in known:
                    known.add(target)
                    following.append(target)
        depth += bool(following)
        level = following
    return Counts(len(known), transitions, depth, terminal)


@pytest.mark.parametrize(
    "pin",
    [
        parameter(pin, slow_from=10_000)
        for pin in PINS
        # Over FIFO channels a refused packet goes to a hold-back queue, of which the texts do not speak.
        if (pin.protocol, pin.channel) != ("rst", "fifo") and pin.counts.states < 60_000
    ],
)
def test_the_protocols_as_printed_have_the_pinned_counts(pin: Pin) -> None:
    assert counted(TEXTS[pin.protocol](pin.n), pin.channel, pin.m) == pin.counts
