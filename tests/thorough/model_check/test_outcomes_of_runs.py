"""A saved run records which outcome each action had: replayed, it has the states in which it was found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command_line_runner import Crownless
from hypothesis import example, given
from hypothesis import strategies as st
from many_outcomes import COIN, many_outcomes, read_run, without_outcomes

import crownless as cr
from crownless.impl.channels import CHANNELS
from crownless.impl.protocol import Packet, Step
from crownless.impl.workloads import Free
from crownless.model_check.runs.actions import ShownAction
from crownless.model_check.runs.runs import Run
from crownless.model_check.runs.stepwise import Follower, StepwiseRun
from crownless.model_check.search.following import followed
from crownless.model_check.system.monitors import DeliveryMonitor
from crownless.model_check.system.system import System
from crownless.runtime.errors import BadInput
from crownless.spec.computation import Message


@pytest.fixture
def coins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the machines, in the working directory."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "coins.py"
    file.write_text(COIN, "utf-8")
    return file


def saved(crownless: Crownless, name: str, *, recorded: bool = True) -> dict[str, Any]:
    """The check of a machine, which is also saved as `runs.json`, as an earlier version did unless `recorded`."""
    facts: dict[str, Any] = crownless("check", f"coins.py:{name}", "--json").json
    facts = facts if recorded else without_outcomes(facts)
    Path("runs.json").write_text(json.dumps(facts), "utf-8")
    return {one["name"]: one for one in facts["checks"][0]["properties"]}


def shown_with_variables(crownless: Crownless, name: str) -> str:
    answer = crownless("show", "runs.json", "--variables", "--protocol", f"coins.py:{name}")
    assert answer.code == 0, answer.err
    return answer.out


RECORDED = pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "of an earlier version"])


@RECORDED
def test_the_coin_that_is_heads_is_shown_as_heads(crownless: Crownless, coins: Path, recorded: bool) -> None:
    """Each violation has its own run, though both send m1."""
    saved(crownless, "Coin", recorded=recorded)
    heads, tails = shown_with_variables(crownless, "Coin").split("violates ")[1:]
    assert (heads.startswith("never-heads:"), "state = heads*" in heads) == (True, True)
    assert (tails.startswith("never-tails:"), "state = tails*" in tails) == (True, True)


@RECORDED
@pytest.mark.parametrize(
    ("name", "violated", "state"),
    [("Stamped", "never-done", "state = done*"), ("Fork", "never-far-right", "state = far right*")],
)
def test_the_outcome_is_one_after_which_the_rest_of_the_run_can_happen(
    crownless: Crownless, coins: Path, name: str, violated: str, state: str, recorded: bool
) -> None:
    """Of two packets that differ in their stamps, and of two internal steps of one name."""
    actions = saved(crownless, name, recorded=recorded)[violated]["run"]
    assert [one.get("outcome") for one in actions] == [2 if recorded else None, None]
    shown = shown_with_variables(crownless, name).split("violates ")
    assert state in next(each for each in shown if each.startswith(violated))


@RECORDED
@pytest.mark.parametrize(("name", "violated"), [("Coin", "never-heads"), ("Stamped", "never-done"), ("Fork", "never-")])
def test_the_explorer_begins_with_a_run_that_violates_the_property(
    crownless: Crownless, coins: Path, name: str, violated: str, recorded: bool
) -> None:
    saved(crownless, name, recorded=recorded)
    space = crownless("explore", f"coins.py:{name}", "--replay", "runs.json", "--json").json["space"]
    node, broken = 0, set[str]()
    for choice in space["start"]:
        _, after, effect = space["moves"][node][3 * choice : 3 * choice + 3]
        broken |= {space["properties"][k][0] for k in space["effects"][effect]}
        node = after
    assert any(each.startswith(violated) for each in broken)


@RECORDED
def test_the_loop_of_a_saved_run_is_followed_back_to_its_begin(
    crownless: Crownless, coins: Path, recorded: bool
) -> None:
    line = saved(crownless, "Spinning", recorded=recorded)["delivers-all"]
    assert {one.get("outcome") for one in line["loop"]} <= ({1, 2} if recorded else {None})
    assert "and then again and again:" in shown_with_variables(crownless, "Spinning")
    assert crownless("show", "runs.json", "--json").json["runs"][0]["loop"] == line["loop"]


def test_a_run_of_another_version_with_its_outcomes_in_another_order_is_refused(
    crownless: Crownless, coins: Path
) -> None:
    saved(crownless, "Coin")
    answer = crownless("show", "runs.json", "--variables", "--protocol", "coins.py:OtherCoin")
    assert (answer.code, answer.out) == (2, "")
    assert "the run does not violate never-heads there; was it saved by another version" in answer.err


def test_a_run_that_goes_on_after_its_violation_is_followed() -> None:
    """As the explorer saves it."""
    system = System(Moves(2), Free(2, 1), CHANNELS["fifo"], [DeliveryMonitor()])
    made = StepwiseRun(system)
    for _ in range(3):
        made.take(*system.moves(made.state)[-1])
    run = replace(made.run, breaks="never-moves")
    assert followed(system, run).visited == made.visited


class Moves(cr.Protocol):
    """It violates its invariant by its first step, and not by the next."""

    promises = "asynchronous"
    invariants = {"never-moves": lambda self, i, s: s != 1}

    def initial(self, i: int) -> int:
        return 0

    def send(self, i: int, s: int, m: Message) -> Sequence[Step]:
        return []

    def internal(self, i: int, s: int) -> Sequence[tuple[str, Step]]:
        return [("move", cr.Step(s + 1))] if s < 2 else []

    def on_packet(self, i: int, s: int, p: Packet) -> Sequence[Step]:
        return []


# -- any run -----------------------------------------------------------------------------------------------------------


def random_system(seed: int, channel: str, crash: bool) -> System:
    machine = many_outcomes(seed)(2)
    return System(machine, Free(2, 2), CHANNELS[channel], [DeliveryMonitor()], 0 if crash else None)


SYSTEMS = st.builds(random_system, st.integers(0, 10**6), st.sampled_from(list(CHANNELS)), st.booleans())
RANDOM = st.builds(Random, st.integers(0, 10**6))


def walked(system: System, random: Random, length: int) -> StepwiseRun:
    made = StepwiseRun(system)
    for _ in range(length):
        moves = system.moves(made.state)
        if moves:
            made.take(*random.choice(moves))
    return made


@given(SYSTEMS, RANDOM)
def test_following_any_saved_run_leads_to_the_same_states(system: System, random: Random) -> None:
    made = walked(system, random, 10)
    run = read_run(made.run.processes, made.run.json())
    follower = Follower(system)
    for action in run.actions:
        assert len(follower.moves_of(action)) == 1, "what is recorded leaves no choice"
        follower.follow(action)
    assert follower.visited == made.visited
    assert followed(system, replace(run, breaks=None)).visited == made.visited


@given(SYSTEMS, RANDOM)
@example(random_system(8074, "lossy", True), Random(537660))  # by other outcomes two packets are equal
def test_any_run_of_an_earlier_version_can_be_followed_to_its_end(system: System, random: Random) -> None:
    made = walked(system, random, 8)
    run = replace(read_run(made.run.processes, without_outcomes(made.run.json())), breaks=None)
    again = followed(system, run).run
    if [action.outcome for action in again.actions] == [action.outcome for action in made.run.actions]:
        assert again == made.run
    assert [as_recorded(*pair) for pair in zip(again.actions, made.run.actions, strict=True)] == plain(made.run)


def as_recorded(now: ShownAction, then: ShownAction) -> ShownAction:
    """The action without its outcome. By other outcomes packets may be equal: of these the run may take any."""
    if now.packet is not None and then.packet is not None and not now.packet.alike:
        now = replace(now, packet=replace(now.packet, number=then.packet.number))
    return replace(now, outcome=0)


def plain(run: Run) -> list[ShownAction]:
    return [replace(action, outcome=0) for action in run.actions]


@given(SYSTEMS, RANDOM)
def test_an_outcome_that_there_is_not_cannot_happen(system: System, random: Random) -> None:
    run = walked(system, random, 6).run
    if run.actions:
        wrong = (*run.actions[:-1], replace(run.actions[-1], outcome=9))
        with pytest.raises(BadInput, match=f"action {len(run)} of the run"):
            followed(system, replace(run, actions=wrong))
