"""Packets that look alike, in the run explorer: what it says, draws, offers and saves is about the one taken."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from alike_packets import Acknowledging, EqualFragments, Fragments, Guarded, chatter
from browser import needs_chromium, one_browser, opened  # noqa: F401
from explorer_pages import choose, download, explored, page_of, space_of, violation
from many_outcomes import many_outcomes
from svg_reading import Seen

from crownless.drawing.svg import in_svg
from crownless.impl.channels import CHANNELS
from crownless.model_check.runs.runs import run_of
from crownless.model_check.system.system import LocalStep
from crownless.run_explorer.state_space import StateSpace
from crownless.run_explorer.subjects import choices_of

#: A run in words and as JSON, and for each place in it the moves and what is in flight, as the page has them.
SAYS = """(choices) => {
    const moments = replay(space, choices), said = (one) => say(space, one.action);
    return { says: moments.slice(1).map(said), run: JSON.parse(asJson(space, moments)).checks[0].properties[0].run };
}"""


def arrows(text: str) -> list[tuple[str, list[tuple[float, int]]]]:
    """The arrows of a drawing: the name of each, and where it starts and ends, by column and row."""
    seen = Seen(text)
    rows = seen.rows()
    ends = [(arrow.name, [arrow.points[0], arrow.points[-1]]) for arrow in seen.arrows]

    def row(y: float) -> int:
        return sum(one < y - 1 for one in rows)

    return sorted((name, [(round(x), row(y)) for x, y in points]) for name, points in ends)


def random_run(space: StateSpace, random: Random, length: int) -> tuple[list[int], list[LocalStep]]:
    """The choices of a random run, and its steps."""
    node, choices, steps = 0, list[int](), list[LocalStep]()
    while len(choices) < length and (flat := space.moves(node)[0]):
        choices.append(random.randrange(len(flat) // 3))
        steps.append(space.step(node, choices[-1]))
        node = flat[3 * choices[-1] + 1]
    return choices, steps


@needs_chromium
@pytest.mark.parametrize("channel", CHANNELS)
def test_any_run_is_said_saved_and_drawn_as_everywhere(tmp_path: Path, channel: str) -> None:
    random = Random(channel)
    for machine in (chatter(0), chatter(1), many_outcomes(3)):
        space = space_of(machine, 2, 3, channel=channel, orders=("fifo",))
        runs = [random_run(space, random, 12) for _ in range(4)]
        with opened(page_of(tmp_path, space, runs[0][0], nodes=4000)) as shown:
            for choices, steps in runs:
                said: dict[str, Any] = shown.evaluate(SAYS, choices)
                run = run_of(space.system, steps[: len(said["says"])])  # the rest may be beyond the page
                assert said["says"] == [action.say() for action in run.actions]
                assert said["run"] == run.json()
            drawn = shown.locator("#diagram").evaluate("element => new XMLSerializer().serializeToString(element)")
        assert arrows(drawn) == arrows(in_svg(run_of(space.system, runs[0][1]).diagram()))


@needs_chromium
def test_the_moves_and_what_is_in_flight_say_which_packet(tmp_path: Path) -> None:
    with explored(tmp_path, Acknowledging, 2, 2) as shown:
        choose(shown, "P1: send m1 to P2", "P1: send m2 to P2", "P2: deliver m1", "P2: deliver m2")
        moves = [text.split(" violates")[0] for text in shown.locator("#moves button").all_inner_texts()]
        assert moves == ["P1: receive ack #1 from P2", "P1: receive ack #2 from P2"]
        assert shown.locator("#flight > li").all_inner_texts() == ["ack #1 from P2 to P1", "ack #2 from P2 to P1"]
        choose(shown, "P1: receive ack #2 from P2")
        assert "action 5" in shown.locator("#properties").inner_text()
        assert shown.locator("#flight > li").all_inner_texts() == ["ack #1 from P2 to P1"]


@needs_chromium
def test_equal_packets_of_a_fifo_link_are_received_in_their_order(tmp_path: Path) -> None:
    with explored(tmp_path, EqualFragments, 2, 1, channel="fifo") as shown:
        choose(shown, "P1: send m1 to P2")
        flight = shown.locator("#flight > li").all_inner_texts()
        assert flight == ["fragment m1 #1 from P1 to P2", "fragment m1 #2 from P1 to P2, cannot be received yet"]
    with explored(tmp_path, Guarded, 2, 2, channel="fifo") as shown:
        choose(shown, "P1: send m1 to P2", "P2: receive m1 #1 from P1", "P2: send m2 to P1", "P2: deliver m1 #1")
        assert shown.locator("#flight > li").first.inner_text() == "fragment m1 #2 from P1 to P2"


@needs_chromium
def test_an_arrival_that_is_moved_is_still_that_of_the_same_packet(tmp_path: Path) -> None:
    with explored(tmp_path, Fragments, 2, 2) as shown:
        choose(shown, "P1: send m1 to P2", "P1: send m2 to P2", "P2: receive fragment m1 #2")
        shown.evaluate("act(() => move(2, 1))")
        assert shown.locator("#run li").nth(1).inner_text().startswith("P2: receive fragment m1 #2 from P1")
    with explored(tmp_path, Acknowledging, 2, 2) as shown:
        choose(
            shown, "P1: send m1 to P2", "P1: send m2 to P2", "P2: deliver m1", "P2: deliver m2", "P1: receive ack #2"
        )
        shown.evaluate("act(() => move(4, 3))")  # the first acknowledgement could arrive there
        assert "Not possible" in shown.locator("#said").inner_text()


@needs_chromium
def test_a_saved_run_begins_with_the_packet_that_arrived(tmp_path: Path, crownless: Any) -> None:
    run = violation(Fragments, 2, 1, "fragment-1-comes-first")
    space = space_of(Fragments, 2, 1)
    with opened(page_of(tmp_path, space, choices_of(space, run))) as shown:
        assert shown.locator("#run li").nth(1).inner_text().startswith("P2: receive fragment m1 #2 from P1")
        saved = download(shown, "json", tmp_path)
    properties = json.loads(saved.read_text())["checks"][0]["properties"]
    assert [one["run"] for one in properties if one["name"] == "fragment-1-comes-first"] == [run.json()]
    assert "receive fragment m1 #2 from P1" in crownless("show", str(saved)).out
