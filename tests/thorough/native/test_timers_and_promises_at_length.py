"""What takes longer of the tests in `test_timers_and_promises.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from command_line_runner import Crownless
from derived_protocols import Message, Outcome, Outcomes, Packet
from derived_protocols import Unordered as Derived
from forwarding_nodes import EXAMPLES, AlternatingBit, Forwards, failure, says
from second_derivations import CHANNELS, InOrder, LossyInOrder, Moves, search

import crownless as cr
from crownless.impl.own_protocols import load
from crownless.testing import stateful

IgnoresDuplicates = load(f"{EXAMPLES}/alternating_bit_wrong.py:IgnoresDuplicates")

#: With one message on its way, not a queue.
ONE_AFTER_ANOTHER = [
    "P1: send m1 to P2",
    "P1: send m2 to P2",
    "P2: deliver m1 from P1",
    "P1: lose ack from P2",
    "and then again and again:",
    "P1: retransmit",
    "P2: receive data m1 from P1",
]


# -- timers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("example", "code", "shown"),
    [
        ("alternating_bit.py:AlternatingBit", 0, []),
        ("alternating_bit_wrong.py:IgnoresDuplicates", 1, ONE_AFTER_ANOTHER),
        (
            "alternating_bit_wrong.py:TakesAnyAcknowledgement",
            1,
            [
                "P1: send m1 to P2",
                "P1: send m2 to P2",
                "P1: retransmit",
                "P2: deliver m1 #1 from P1",
                "P2: receive data m1 #2 from P1",
                "P1: receive ack #1 from P2",
                "P1: receive ack #2 from P2",
                "P2: lose data m2 from P1",
            ],
        ),
    ],
)
def test_an_example_is_right_or_shows_its_bug(
    crownless: Crownless, example: str, code: int, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    answer = crownless("check", example)
    assert answer.code == code
    assert says(answer.out) == shown
    said = " ".join(answer.out.split())
    assert (
        "copies=2; retransmit: at any time; a packet that equals 2 in flight is lost at once; fair: an action" in said
    )


@pytest.mark.parametrize(("channel", "copies"), [("lossy-fifo", 1), ("lossy-fifo", 3), ("lossy-duplicating-fifo", 1)])
def test_the_alternating_bit_protocol_delivers_all_whatever_the_bound(channel: str, copies: int) -> None:
    result = cr.check(AlternatingBit, 2, 2, channel=channel, parameters={"copies": copies})
    assert result.verdict == "holds"
    assert result["delivers-all"].verdict == "holds"


class AlternatingBitAgain(Derived):
    """[BSW69]: (the messages to each that are not acknowledged, their bits, the bits expected of each)."""

    def start(self, i: int) -> Any:
        return ((),) * self.n, self.zeroes, self.zeroes

    def send(self, i: int, local: Any, m: Message) -> Outcomes:
        waiting, bits, expected = local
        [j] = m.to
        queue = (*waiting[j], m)
        yield Outcome((replaced(waiting, j, queue), bits, expected), [] if waiting[j] else [(i, j, m, bits[j])])

    def own(self, i: int, local: Any) -> Outcomes:
        for j, queue in enumerate(local[0]):
            if queue:
                yield Outcome(local, [(i, j, queue[0], local[1][j])])

    def take(self, i: int, local: Any, packet: Packet) -> Outcomes:
        j, _, what, bit = packet
        waiting, bits, expected = local
        if what != "ack":
            new = bit == expected[j]
            after = (waiting, bits, replaced(expected, j, 1 - bit) if new else expected)
            yield Outcome(after, [(i, j, "ack", bit)], [what] if new else [])
        elif waiting[j] and bit == bits[j]:
            rest = waiting[j][1:]
            after = (replaced(waiting, j, rest), replaced(bits, j, 1 - bit), expected)
            yield Outcome(after, [(i, j, rest[0], 1 - bit)] if rest else [])
        else:
            yield Outcome(local)


def replaced(vector: Sequence[Any], k: int, value: Any) -> tuple[Any, ...]:
    return tuple(value if place == k else each for place, each in enumerate(vector))


def at_most(copies: int) -> type[InOrder]:
    """A channel that loses, keeps order, and loses what equals so many in flight at once."""

    class Bounded(LossyInOrder):
        def put(self, flight: Any, packets: list[int]) -> Any:
            for packet in packets:
                queue, room = dict(flight).get(self.link(packet), ((), ()))
                if (*queue, *room).count(packet) < copies:
                    flight = super().put(flight, [packet])
            return flight

    return Bounded


@pytest.mark.parametrize(("messages", "copies"), [(1, 1), (2, 1), (2, 2), (3, 1)])
def test_its_states_are_counted_a_second_time(messages: int, copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CHANNELS, "bounded", at_most(copies))
    counted = search(Moves(AlternatingBitAgain(2), "bounded", messages)).counts
    found = cr.check(AlternatingBit, 2, messages, parameters={"copies": copies}).exploration
    # A timer whose packet is lost at once is a move to the same state there, and none here.
    assert (found.states, found.depth, found.terminal_states) == (counted.states, counted.depth, counted.terminal)
    assert found.transitions < counted.transitions


def test_random_walks_find_a_run_that_never_ends_and_show_its_loop() -> None:
    said = failure(IgnoresDuplicates)
    assert said.startswith("it never terminates; never delivered: m2 at ")
    loop = says(said)[says(said).index("and then again and again:") + 1 :]
    assert 2 <= len(loop) <= 40
    assert {line.split(": ")[1].split(" from")[0] for line in loop} == {"retransmit", "receive data m1"}


class Twice(Forwards):
    """Delivers each message twice, and promises only FIFO order."""

    promises = ("fifo",)

    def on_packet(self, source: int, packet: str) -> None:
        self.deliver(packet)
        self.deliver(packet)


def test_a_second_delivery_hides_no_other_fault_if_it_may_happen() -> None:
    found = cr.conform_at_random(Twice, 2, 2, runs=50)
    assert (found.violated, len(found["delivers-once"].run or ())) == (["fifo"], 2)
    kept = cr.conform_at_random(Twice, 2, 2, channel="fifo", runs=50)
    assert (kept.verdict, kept["delivers-once"].verdict) == ("holds", "violated")
    assert "fifo: violated" in failure(Twice)
    stateful(Twice, messages=2, processes=(2, 2), walks=50, channel="fifo").TestCase("runTest").runTest()
    assert "a second time" in failure(type("Mine", (Twice,), {"promises": ("delivers-once",)}), channel="fifo")


@pytest.mark.parametrize("subject", [AlternatingBit, type("Once", (Forwards,), {})])
def test_random_walks_find_nothing_where_all_that_is_promised_holds(subject: Any) -> None:
    stateful(subject, messages=2, processes=(2, 2), walks=50).TestCase("runTest").runTest()
    assert "never delivered" in failure(type("All", (Drops,), {"promises": ("delivers-all",)}))


class Drops(Forwards):
    """Delivers nothing."""

    promises = ("delivers-once",)

    def on_packet(self, source: int, packet: str) -> None:
        pass
