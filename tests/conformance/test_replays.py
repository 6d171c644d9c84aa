"""The replay of schedules: still violated, no longer, or diverged, which decides nothing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless
from relays import Numbers, Relay, program

import crownless as cr
from crownless.oracle.conformance.replays import Replay
from crownless.runtime.errors import Undecided


class Mute(Relay):
    """Transmits nothing."""

    def on_send(self, to: int, message: str) -> None:
        pass


class Once(Relay):
    """Transmits its first message alone."""

    def on_send(self, to: int, message: str) -> None:
        if message.endswith(".1"):
            self.transmit(to, message)


class Crashes(Relay):
    def on_packet(self, source: int, packet: str) -> None:
        raise ValueError("at a packet")


class Drops(Relay):
    """Delivers nothing at the first packet of a link."""

    def on_packet(self, source: int, packet: str) -> None:
        if not packet.endswith(".1"):
            self.deliver(packet)


class Twice(Drops):
    """Sends each packet twice, and drops both."""

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, message)
        self.transmit(to, message)


class Waits(Relay):
    async def on_packet(self, source: int, packet: str) -> None:
        await asyncio.sleep(0.01)
        self.deliver(packet)


def schedule(node: Any, breaks: str, **options: Any) -> dict[str, Any]:
    found = cr.conform(node, 2, 2, **{"replies": 0, **options}).schedule(breaks)
    assert found is not None
    return found.json()


OVERTAKES = schedule(Relay, "fifo", orders=["fifo"])
STEP_3 = "the schedule has 'P2: deliver m2 from P1', packet 2 on this link"


@pytest.mark.parametrize(
    ("node", "packets", "violated"), [(Mute, "0 packets", ("delivers-all",)), (Once, "1 packet", ())]
)
def test_a_schedule_that_the_node_does_not_follow_has_diverged_there(
    node: type, packets: str, violated: tuple[str, ...], crownless: Crownless, tmp_path: Path
) -> None:
    undecided = f"diverged at step 3: {STEP_3}, and P1 has transmitted {packets} to P2"
    again = cr.replay(node, OVERTAKES)
    assert (again.verdict, again.undecided, again.violated) == ("unknown", undecided, violated)
    with pytest.raises(Undecided, match="diverged at step 3"):
        bool(again)
    file = tmp_path / "schedule.json"
    file.write_text(json.dumps(OVERTAKES), "utf-8")
    answer = crownless("conform", f"{__file__}:{node.__name__}", "--replay", str(file))
    assert answer.code == 3
    assert f"unknown whether it still violates fifo: {undecided}" in answer.out.replace("\n  ", " ")
    said = crownless("conform", f"{__file__}:{node.__name__}", "--replay", str(file), "--json").json
    assert (said["verdict"], said["still_violated"], said["undecided"]) == ("unknown", None, undecided)


def test_a_node_that_follows_to_the_end_decides(crownless: Crownless, tmp_path: Path) -> None:
    assert cr.replay(Numbers, OVERTAKES)
    assert cr.replay(Numbers, OVERTAKES).undecided is None
    again = cr.replay(Relay, OVERTAKES)
    assert (bool(again), again.verdict, again.undecided) == (False, "violated", None)
    file = tmp_path / "schedule.json"
    file.write_text(json.dumps(OVERTAKES), "utf-8")
    path = Path(__file__).parents[1] / "planted_faults" / "relays.py"
    for name, code, said in (("Numbers", 0, "no longer violates fifo"), ("Relay", 1, "still violates fifo")):
        answer = crownless("conform", f"{path}:{name}", "--replay", str(file))
        assert (answer.code, f"{name} {said} by this schedule" in answer.out) == (code, True)


class Silent(Relay):
    """Delivers nothing."""

    def on_packet(self, source: int, packet: str) -> None:
        pass


class SecondOnly(Relay):
    """Delivers the packets of the second process alone."""

    def on_packet(self, source: int, packet: str) -> None:
        if source == 1:
            self.deliver(packet)


class TwoParts(Relay):
    """Sends a message in two packets, and delivers it at the second."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.first: set[str] = set()

    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, message)
        self.transmit(to, message)

    def on_packet(self, source: int, packet: str) -> None:
        if packet in self.first:
            self.deliver(packet)
        self.first.add(packet)


class NewestFirst(Numbers):
    """Waits for all messages of its sender, and then delivers the newest first."""

    def on_packet(self, source: int, packet: Any) -> None:
        number, message = packet
        self.held[source, number] = message
        if len(self.held) == 2:
            for key in sorted(self.held, reverse=True):
                self.deliver(self.held[key])


class DeliversTwice(Relay):
    def on_packet(self, source: int, packet: str) -> None:
        self.deliver(packet)
        self.deliver(packet)


@pytest.mark.parametrize(
    ("node", "wrong", "breaks", "undecided"),
    [
        (Silent, Relay, "fifo", "diverged at step 3: P2 never delivers m2, as it does in the schedule"),
        (SecondOnly, Relay, "fifo", "diverged at step 3: P2 never delivers m2, as it does in the schedule"),
        (
            Silent,
            DeliversTwice,
            "delivers-once",
            "diverged at step 2: P2 never delivers m1, as it does in the schedule",
        ),
        (
            TwoParts,
            Relay,
            "fifo",
            f"diverged at step 3: {STEP_3}, which P1 transmits at step 1, and in the schedule at step 2",
        ),
    ],
)
def test_an_event_that_no_longer_happens_and_another_packet_decide_nothing(
    node: type, wrong: type, breaks: str, undecided: str, crownless: Crownless, tmp_path: Path
) -> None:
    saved = schedule(wrong, breaks, orders=["fifo"])
    again = cr.replay(node, saved)
    assert (again.verdict, again.undecided) == ("unknown", undecided)
    file = tmp_path / "schedule.json"
    file.write_text(json.dumps(saved), "utf-8")
    assert crownless("conform", f"{__file__}:{node.__name__}", "--replay", str(file)).code == 3


def test_a_node_that_waits_is_judged_when_it_has_delivered() -> None:
    again = cr.replay(NewestFirst, OVERTAKES)
    assert (again.verdict, len(again.run)) == ("violated", 4)
    again = cr.replay(Numbers, OVERTAKES)
    assert (again.verdict, again.run.actions[-1].happened) == ("holds", (("deliver", "m1"), ("deliver", "m2")))
    assert cr.replay(Relay, schedule(DeliversTwice, "delivers-once")).verdict == "holds"


def test_a_message_that_was_queued_may_be_sent_now(tmp_path: Path) -> None:
    command = program(tmp_path, "def on_send(to, message): say('queued', message)")
    found = cr.conform(command, 2, 1).schedule("never-blocks")
    assert found is not None
    again = cr.replay(Relay, found.json())
    assert (again.verdict, again.differs) == ("holds", "step 1, at P1: send m1; before: nothing")


def test_a_node_that_fails_on_the_way_decides_nothing() -> None:
    again = cr.replay(Crashes, OVERTAKES)
    assert (again.verdict, again.violated) == ("unknown", ("node-fails",))
    assert again.undecided is not None
    assert again.undecided.startswith("P2 has failed: node-fails: ")


def test_a_run_that_goes_on_after_the_schedule_does_not_show_that_all_is_delivered() -> None:
    lost = schedule(Drops, "delivers-all")
    again = cr.replay(Twice, lost)
    said = "diverged after the last step: 1 packet in flight, whose arrivals the schedule does not have"
    assert (again.verdict, again.undecided) == ("unknown", said)
    assert cr.replay(Relay, lost)
    assert cr.replay(Drops, lost).verdict == "violated"


def test_a_node_with_a_timer_pending_decides_nothing() -> None:
    again = cr.replay(Waits, OVERTAKES)
    assert again.verdict == "unknown"
    assert again.undecided is not None
    assert again.undecided.startswith("a timer is pending: Waits.on_packet (")
    assert cr.replay(Waits, schedule(Drops, "delivers-all")).verdict == "unknown"


class Answers(Relay):
    """Answers each packet by a packet."""

    def on_packet(self, source: int, packet: str) -> None:
        self.transmit(source, packet)


class Counts(Relay):
    """Counts over all nodes of the class."""

    number = 0

    def on_send(self, to: int, message: str) -> None:
        Counts.number += 1
        self.transmit(to, (Counts.number, message))

    def on_packet(self, source: int, packet: Any) -> None:
        self.deliver(packet[1])


@pytest.mark.parametrize(("node", "breaks"), [(Answers, "floods"), (Counts, "not-deterministic")])
def test_a_failure_that_needs_more_than_the_schedule_is_still_found(node: type, breaks: str) -> None:
    saved = schedule(node, breaks)
    assert cr.replay(node, saved).verdict == "violated"
    assert cr.replay(Relay, saved).verdict == "holds"


@pytest.mark.parametrize(
    ("different", "breaks"),
    [
        ("def on_send(to, message): say('queued', message)", "never-blocks"),
        ("def ok(): write('ok\\nok\\n')", "speaks-unasked"),
    ],
)
def test_a_program_still_violates_by_its_own_schedule(different: str, breaks: str, tmp_path: Path) -> None:
    command = program(tmp_path, different)
    found = cr.conform(command, 2, 1, replies=0).schedule(breaks)
    assert found is not None
    assert cr.replay(command, found.json()).verdict == "violated"


def test_the_words_of_a_replay_that_diverged_are_those_of_its_verdict() -> None:
    again = cr.replay(Mute, OVERTAKES)
    assert isinstance(again, Replay)
    assert not again.shows_violation
    assert str(again).startswith("unknown whether it still violates fifo: diverged at step 3: ")
    assert "unknown whether" in repr(again)
