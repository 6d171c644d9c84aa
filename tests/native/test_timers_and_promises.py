"""Protocols that retransmit, such as the alternating-bit protocol in `examples/`, and promises of some properties only.

The states of that protocol are counted a second time here, without its machine and without the system.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless
from derived_protocols import Message, Outcome, Outcomes, Packet
from derived_protocols import Unordered as Derived
from second_derivations import CHANNELS, InOrder, LossyInOrder, Moves, search

import crownless as cr
from crownless.impl.own_protocols import load
from crownless.impl.protocol_validation import WrongMachine
from crownless.impl.protocols.fifo_ack import FifoAck
from crownless.impl.protocols.unordered import Unordered
from crownless.runtime.errors import BadInput
from crownless.testing import stateful

EXAMPLES = Path(__file__).parents[2] / "examples"
AlternatingBit = load(str(EXAMPLES / "alternating_bit.py"))
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


def says(run: str) -> list[str]:
    """The actions of a run as it is printed, without their numbers."""
    lines = [re.fullmatch(r" *\d+\. (.*)|(and then .*)", line) for line in run.splitlines()]
    return [found[1] or found[2] for found in lines if found]


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


class Beats(Unordered):
    """Sends packets that nothing asks for, again and again."""

    promises = "asynchronous"
    needs_channel = "lossy"
    timers = ("beat",)

    def internal(self, i: int, state: Any) -> list[tuple[str, cr.Step]]:
        return [("beat", cr.Step(state, [cr.Packet(i, 1 - i, "alive")]))]

    def on_packet(self, i: int, state: Any, packet: Any) -> Any:
        return super().on_packet(i, state, packet) if packet.message else [cr.Step(state)]


def test_a_loop_takes_each_action_that_is_possible_for_ever() -> None:
    run = cr.check(Beats, 2, 1, parameters={"copies": 1}).violations["delivers-all"].run
    assert run is not None
    assert says(run.say())[:3] == ["P1: send m1 to P2", "P2: lose m1 from P1", "and then again and again:"]
    again = [f"{p}: {deed}" for p, q in (("P1", "P2"), ("P2", "P1")) for deed in ("beat", f"receive alive from {q}")]
    assert sorted(says(run.say())[3:]) == sorted(again)
    assert len(run) == 2
    assert "loop" in cr.check(Beats, 2, 1).violations["delivers-all"].json()


@pytest.mark.parametrize(
    ("facts", "given", "line"),
    [
        (
            {},
            {"channel": "fifo"},
            r"Mine retransmits \(beat\): over a fifo channel, which loses nothing, .*; use lossy or .*",
        ),
        (
            {},
            {"channel": "unordered"},
            r"Mine retransmits \(beat\): over an unordered channel, which loses nothing, .*",
        ),
        (
            {},
            {"parameters": {"copies": 0}},
            "Mine: copies=0: too small, a packet must be able to travel; give 1 or more",
        ),
        ({"timers": "beat"}, {}, "Mine.timers = 'beat' is not a tuple of names; such as timers = .*"),
        (
            {"timers": ("tick",)},
            {},
            r"Mine\.internal .* can run forever: 'beat'.* \['tick'\] names no such step: timers = \(\"beat\",\)",
        ),
        ({"timers": ()}, {"parameters": {"copies": 2}}, "Mine has no parameter 'copies'; its parameters: none"),
        ({}, {"engine": "native"}, "Mine: --engine native: the native engine does not support timers; leave that out"),
        ({"promises": ("delivers-onse",)}, {}, "Mine.promises = 'delivers-onse' .* did you mean 'delivers-once'.*"),
        ({"promises": ()}, {}, r"Mine.promises = \(\) is not something to promise; known: asynchronous, .*"),
        ({"promises": (3,)}, {}, "Mine.promises = 3 is not something to promise; known: asynchronous, .*"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(facts: dict[str, Any], given: dict[str, Any], line: str) -> None:
    with pytest.raises(BadInput, match=line):
        cr.check(type("Mine", (Beats,), facts), 2, 1, **given)


def test_costs_of_retransmission_are_not_simulated(crownless: Crownless, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    answer = crownless("cost", "alternating_bit.py:AlternatingBit", "-m", "10")
    assert answer.code == 2
    assert "costs of retransmission (retransmit) are not simulated; use check" in answer.err


# -- promises ----------------------------------------------------------------------------------------------------------


#: Over a channel that loses: what arrives is in order, and nothing is retransmitted.
MayLose = type("MayLose", (FifoAck,), {"promises": ("fifo", "delivers-once"), "needs_channel": "lossy-fifo"})


@pytest.mark.parametrize(
    ("promises", "given", "verdict"),
    [
        ("fifo", {}, "violated"),
        (("fifo", "delivers-once"), {}, "holds"),
        (("fifo", "delivers-once"), {"first": True}, "holds"),  # the shortest violation is not one of these
        (("fifo", "delivers-all"), {}, "violated"),
        (("delivers-once",), {"orders": ("synchronous",)}, "violated"),  # what is requested is judged
        (("never-blocks",), {}, "violated"),
    ],
)
def test_what_is_promised_decides_the_verdict(promises: Any, given: dict[str, Any], verdict: str) -> None:
    result = cr.check(type("Mine", (MayLose,), {"promises": promises}), 2, 3, **given)
    assert result.verdict == verdict


def test_what_is_not_promised_is_shown_all_the_same(crownless: Crownless, tmp_path: Path) -> None:
    result = cr.check(MayLose, 2, 3)
    assert bool(result)
    assert list(result.violations) == []
    lost = result["delivers-all"]
    assert (lost.verdict, lost.property.promised) == ("violated", False)
    assert lost.run is not None
    with pytest.raises(cr.NoSuchName, match="'delivers-all' is violated, but not promised; violated: none"):
        result.violations["delivers-all"]
    shown = {line["name"]: line["promised"] for line in result.json()["properties"]}
    assert shown == {name: name not in ("delivers-all", "never-blocks") for name in shown}
    assert [line.property.name for line in result.suite().lines] == ["fifo", "delivers-once"]
    file = tmp_path / "mine.py"
    file.write_text("from test_timers_and_promises import MayLose\nclass Mine(MayLose):\n    pass\n")
    answer = crownless("check", f"{file}:Mine", "-n", "2", "-m", "3")
    assert answer.code == 0
    assert "violated, not promised" in answer.out
    assert answer.out.splitlines()[-1].endswith(
        "Mine holds within the bound, as promised; not promised, and violated: delivers-all, never-blocks"
    )


def test_a_program_completes_only_if_all_is_promised() -> None:
    program = "P1: send x to P2\nP2: receive x"
    for promises, verdict in ((("delivers-once",), "holds"), (("delivers-all", "never-blocks"), "violated")):
        kind = type("Mine", (MayLose,), {"promises": promises})
        assert cr.check(kind, program=program).verdict == verdict


class Forwards:
    """A node that delivers what arrives."""

    promises: str | tuple[str, ...] = ("delivers-once",)

    def __init__(self, process: int, processes: int, transmit: Any, deliver: Any) -> None:
        self.transmit, self.deliver = transmit, deliver

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, message)

    def on_packet(self, source: int, packet: str) -> None:
        self.deliver(packet)


def test_nodes_are_held_to_their_promises() -> None:
    result = cr.conform(Forwards, 2, 2, channel="lossy-fifo")
    assert (result.verdict, result["delivers-all"].verdict) == ("holds", "violated")
    assert cr.conform(type("Mine", (Forwards,), {"promises": ("fifo",)}), 2, 2, channel="lossy-fifo").violated == [
        "fifo"
    ]
    assert cr.conform(type("Mine", (Forwards,), {"promises": "fifo"}), 2, 2).violated == ["fifo"]
    with pytest.raises(BadInput, match="did you mean 'fifo'"):
        cr.conform(type("Mine", (Forwards,), {"promises": "fifi"}), 2, 2)
    with pytest.raises(WrongMachine, match="did you mean 'fifo'"):
        cr.conform(type("Mine", (Forwards,), {"promises": ("fifi",)}), 2, 2)


# -- in tests ----------------------------------------------------------------------------------------------------------


def failure(subject: Any, **given: Any) -> str:
    with pytest.raises(AssertionError) as error:
        stateful(subject, messages=2, processes=(2, 2), walks=100, **given).TestCase("runTest").runTest()
    return str(error.value)


def test_random_walks_find_a_run_that_never_ends_and_show_its_loop() -> None:
    said = failure(IgnoresDuplicates)
    assert said.startswith("it never terminates; never delivered: m2 at ")
    loop = says(said)[says(said).index("and then again and again:") + 1 :]
    assert 2 <= len(loop) <= 40
    assert {line.split(": ")[1].split(" from")[0] for line in loop} == {"retransmit", "receive data m1"}


class Reverses(Forwards):
    """Delivers all at once, the last first: in one order at all, which is not FIFO."""

    promises = ("fifo", "total")
    sends = "broadcast"

    def __init__(self, process: int, processes: int, transmit: Any, deliver: Any) -> None:
        super().__init__(process, processes, transmit, deliver)
        self.got: list[str] = []

    def on_send(self, to: int | tuple[int, ...], message: str) -> None:
        for q in to if isinstance(to, tuple) else (to,):
            self.transmit(q, message)

    def on_packet(self, source: int, packet: str) -> None:
        self.got.append(packet)
        if len(self.got) == 2:
            for message in reversed(self.got):
                self.deliver(message)


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


def test_each_promised_order_is_judged_in_random_walks() -> None:
    assert "fifo: violated" in failure(Reverses)
    assert failure(type("Mine", (Reverses,), {"promises": ("total", "delivers-once")}), order="fifo")


@pytest.mark.parametrize("subject", [AlternatingBit, type("Once", (Forwards,), {})])
def test_random_walks_find_nothing_where_all_that_is_promised_holds(subject: Any) -> None:
    stateful(subject, messages=2, processes=(2, 2), walks=50).TestCase("runTest").runTest()
    assert "never delivered" in failure(type("All", (Drops,), {"promises": ("delivers-all",)}))


class Drops(Forwards):
    """Delivers nothing."""

    promises = ("delivers-once",)

    def on_packet(self, source: int, packet: str) -> None:
        pass
