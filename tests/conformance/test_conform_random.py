"""`conform --random`: random runs beyond what every schedule can be tried of, made shorter, saved and replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless
from relays import Relay

import crownless as cr
from crownless.runtime.errors import Undecided

NODES = Path(__file__).parents[2] / "examples" / "nodes" / "python"
CAUSAL = str(NODES / "causal.py")
#: What each wrong node of the examples breaks, and the actions of a run without steps that it does not need.
BREAKS = {
    "StampBeforeIncrement": ("causal", 3),
    "OnePass": ("delivers-all", 4),
    "BroadcastClocks": ("delivers-all", 4),
    "OverwritingMerge": ("causal", 7),
    "OwnColumn": ("causal", 9),
    "ClockAfterCallback": ("causal", 5),
}


def by_chance(node: Any, **options: Any) -> Any:
    return cr.conform_at_random(node, **{"processes": 4, "messages": 12, "runs": 100, **options})


@pytest.mark.parametrize("name", BREAKS)
def test_random_runs_catch_each_wrong_node(name: str) -> None:
    breaks, at_most = BREAKS[name]
    found = by_chance(f"{CAUSAL}:{name}", orders=["causal"])
    assert found.verdict == "violated"
    assert not found
    run = found[breaks].run
    assert run is not None
    assert len(run) <= at_most
    assert found.unconfirmed is None


def test_what_no_run_breaks_is_not_said_to_be_kept() -> None:
    found = by_chance(f"{CAUSAL}:Matrix", orders=["causal"])
    assert found
    assert found.verdict == "holds"
    assert found["causal"].verdict == "unknown"
    assert found["causal"].note == "no run of 100 breaks it"
    assert found["synchronous"].verdict == "violated"
    assert "100 random runs" in found.scope


class Twice(Relay):
    def on_packet(self, source: int, packet: str) -> None:
        super().on_packet(source, packet)
        if packet == "1-2.2":
            self.deliver(packet)


class Fails(Relay):
    def on_packet(self, source: int, packet: str) -> None:
        if packet == "1-2.2":
            raise KeyError(packet)
        super().on_packet(source, packet)


class Answers(Relay):
    """Packets follow each other without end."""

    def on_packet(self, source: int, packet: str) -> None:
        self.transmit(source, packet)


@pytest.mark.parametrize(
    ("kind", "breaks", "said"),
    [
        (Twice, "delivers-once", " a second time"),
        (Fails, "node-fails", "KeyError"),
        (Answers, "floods", "packets are answered by packets without end"),
    ],
)
def test_a_failure_is_named(kind: type, breaks: str, said: str) -> None:
    found = by_chance(kind, runs=20, replies=0)
    assert next(iter(found.violations)) == breaks
    assert said in found[breaks].note
    assert found[breaks].run is not None


def test_runs_are_chosen_by_the_seed() -> None:
    def shown(seed: int) -> str:
        return str(by_chance(Relay, runs=3, seed=seed)["fifo"].run)

    assert shown(1) == shown(1)
    assert len({shown(seed) for seed in range(6)}) > 1


def test_messages_may_have_several_receivers() -> None:
    found = by_chance(Relay, sends="multicast", runs=30)
    assert found["fifo"].verdict == "violated"
    assert found["delivers-all"].verdict == "unknown"


def test_an_end_before_all_runs_were_made_is_unknown() -> None:
    found = by_chance(f"{CAUSAL}:Matrix", runs=10**6, max_seconds=0.5)
    assert found.verdict == "unknown"
    assert 0 < found.made < 10**6
    with pytest.raises(Undecided):
        bool(found)


def test_the_command_says_it_is_a_sample(crownless: Crownless) -> None:
    node = f"{CAUSAL}:Matrix"
    answer = crownless("conform", node, "-n", "4", "-m", "9", "--random", "20", "--order", "causal")
    assert answer.code == 0
    said = "keeps causal order and delivers everything in all of 20 random runs: a sample of all runs"
    assert said in " ".join(answer.out.split())
    facts = crownless("conform", node, "-n", "4", "-m", "9", "--random", "20", "--json").json
    assert (facts["verdict"], facts["runs"]) == ("not broken", 20)


class AnswersTheSecond(Relay):
    """Packets follow each other without end once there are two messages."""

    def on_packet(self, source: int, packet: str) -> None:
        if packet.endswith(".1"):
            self.deliver(packet)
        else:
            self.transmit(source, packet)


def test_a_run_without_end_is_not_drawn(crownless: Crownless) -> None:
    node = f"{__file__}:AnswersTheSecond"
    answer = crownless("conform", node, "-n", "2", "-m", "2", "--random", "3", "--replies", "0")
    assert answer.code == 1
    assert "too many to be drawn; --json has them" in " ".join(answer.out.split())
    assert len(answer.out.splitlines()) < 60
