"""Protocols that retransmit, such as the alternating-bit protocol in `examples/`, and promises of some properties only.

The states of that protocol are counted a second time here, without its machine and without the system.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless
from forwarding_nodes import EXAMPLES, Forwards, failure, says

import crownless as cr
from crownless.impl.protocol_validation import WrongMachine
from crownless.impl.protocols.fifo_ack import FifoAck
from crownless.impl.protocols.unordered import Unordered
from crownless.runtime.errors import BadInput


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


def test_each_promised_order_is_judged_in_random_walks() -> None:
    assert "fifo: violated" in failure(Reverses)
    assert failure(type("Mine", (Reverses,), {"promises": ("total", "delivers-once")}), orders="fifo")
