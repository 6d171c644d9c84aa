"""The run explorer draws as `show` draws, and what breaks an order stands out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from alike_packets import AlikeToTwo
from browser import needs_chromium, one_browser, opened  # noqa: F401
from explorer_pages import RUNS, effect, page_of, space_of, violation
from svg_reading import Seen

import crownless as cr
from crownless.drawing.emphasis import emphasis_of
from crownless.drawing.svg import in_svg
from crownless.model_check.runs.run_diagrams import computation_of_run
from crownless.model_check.runs.runs import run_of
from crownless.model_check.system.request import Check
from crownless.run_explorer.state_space import StateSpace
from crownless.run_explorer.subjects import choices_of
from crownless.spec import notation
from crownless.spec.computation import Computation, project
from crownless.spec.orders import decide


@needs_chromium
@pytest.mark.parametrize(("protocol", "n", "m", "name", "given"), RUNS)
def test_a_run_is_said_and_drawn_as_everywhere(
    tmp_path: Path, protocol: str, n: int, m: int, name: str, given: dict[str, Any]
) -> None:
    run = violation(protocol, n, m, name, **given)
    channel = {"channel": given["channel"]} if "channel" in given else {}
    space = space_of(protocol, n, m, **channel)
    choices = choices_of(space, run)
    shown_space = StateSpace(space.check, requested=(name,))
    with opened(page_of(tmp_path, shown_space, choices)) as shown:
        said = [text.split(" violates ")[0].rstrip("↑↓ ") for text in shown.locator("#run li").all_inner_texts()]
        assert [line.strip() for line in said] == [action.say() for action in run.actions]
        drawn = Seen(shown.locator("#diagram").evaluate("element => new XMLSerializer().serializeToString(element)"))
    wanted = Seen(in_svg(run.diagram(breaks=name)))
    if wanted.arrow_kinds()["arrow"]:  # else no packet is drawn
        assert [arrow.name for arrow in drawn.arrows if "shown" in arrow.kinds], "what breaks it stands out"
    down = drawn.rows()[0] - wanted.rows()[0] if wanted.rows() else 0
    assert drawn.columns == wanted.columns
    assert [row - down for row in drawn.rows()] == wanted.rows()

    def arrows(seen: Seen, shift: float) -> list[tuple[str, list[tuple[float, float]]]]:
        ends = [(arrow.name, [arrow.points[0], arrow.points[-1]]) for arrow in seen.arrows]
        return sorted((name, [(round(x), round(y - shift)) for x, y in points]) for name, points in ends)

    assert arrows(drawn, down) == arrows(wanted, 0)
    for kind in ("lost", "copy", "control", "open", "waits", "shown", "dim"):
        assert bool(drawn.arrow_kinds()[kind]) == bool(wanted.arrow_kinds()[kind]), kind
    samples = 1 if wanted.kinds()["chain"] else 0  # in the legend
    assert drawn.kinds()["chain"] == wanted.kinds()["chain"] - samples


@needs_chromium
def test_packets_of_one_link_do_not_cross_on_a_page(tmp_path: Path) -> None:
    run = violation(AlikeToTwo, 3, 1, "p3-gets-one-packet", channel="fifo")
    space = space_of(AlikeToTwo, 3, 1, channel="fifo")
    with opened(page_of(tmp_path, space, choices_of(space, run))) as shown:
        drawn = Seen(shown.locator("#diagram").evaluate("element => new XMLSerializer().serializeToString(element)"))
    to_p3 = [arrow.points for arrow in drawn.arrows if abs(arrow.points[-1][0] - drawn.columns[2]) < 20]
    rows = sorted((points[0][1], points[-1][1]) for points in to_p3)
    assert len(rows) == 2
    assert rows[0][1] < rows[1][1]


def walks(data: dict[str, Any], name: str, count: int) -> Iterator[list[int]]:
    """Random runs, each up to where it breaks a property for the first time."""
    random = Random(0)
    found = 0
    while found < count:
        node, choices, violated = 0, [], 0
        while data["moves"][node] and name not in effect(data, violated):
            choices.append(random.randrange(len(data["moves"][node]) // 3))
            _, node, violated = data["moves"][node][3 * choices[-1] : 3 * choices[-1] + 3]
        if name in effect(data, violated):
            found += 1
            yield choices


@needs_chromium
@pytest.mark.parametrize(
    ("protocol", "n", "m", "order"),
    [
        ("unordered", 3, 3, "fifo"),
        ("fifo-sequence", 3, 4, "causal"),
        ("fifo-sequence", 4, 3, "synchronous"),
        ("ses-multicast", 3, 3, "synchronous"),
    ],
)
def test_the_messages_that_stand_out_show_the_violation(
    tmp_path: Path, protocol: str, n: int, m: int, order: str
) -> None:
    """Alone they break the order, too, and there are as few of them as in the witness of the specification."""
    space = space_of(protocol, n, m)
    data = space.as_data()
    with opened(page_of(tmp_path, space)) as shown:
        for choices in walks(data, order, 30):
            found = shown.evaluate(
                "([choices, order]) => { const found = emphasisOf(space, replay(space, choices), order);"
                "return found && { says: found.says, messages: [...found.messages] } }",
                [choices, order],
            )
            steps, node = [], 0
            for choice in choices:
                steps.append(space.step(node, choice))
                node = data["moves"][node][3 * choice + 1]
            c = computation_of_run(run_of(space.system, steps))
            assert c is not None
            names = [message.name for message in c.messages]
            verdict = decide(c, order, "pending")
            assert found is not None
            shown_messages = [names.index(name) for name in found["messages"]]
            emphasis = emphasis_of(c, verdict)
            assert emphasis is not None
            if order == "synchronous":
                assert is_crown(c, shown_messages)
                assert verdict.witness is not None
                assert len(shown_messages) <= len(emphasis.messages)
            else:
                assert not decide(project(c, shown_messages), order, "pending").kept
                assert len(shown_messages) == len(emphasis.messages), (found, emphasis.says)


def is_crown(c: Computation, messages: list[int]) -> bool:
    """True if the send of each is before a receive of the next, in a cycle; one still to come is after its process's
    events.
    """

    def leads(one: int, other: int) -> bool:
        send = c.send_event[one]
        for q in c.messages[other].receivers:
            receive = c.receive_events[other].get(q)
            line = range(c.first_event[q], c.first_event[q + 1]) if receive is None else [receive]
            if any(e == send or c.happened_before(send, e) for e in line):
                return True
        return c.happened_before(send, c.send_event[other])

    return len(set(messages)) == len(messages) > 1 and all(
        leads(one, other) for one, other in zip(messages, [*messages[1:], messages[0]], strict=True)
    )


#: The least distance of the middle of an event from an arrow that does not begin or end there.
CLEARANCE = """() => {
    const far = (one, other) => Math.hypot(one.x - other.x, one.y - other.y);
    const events = [...document.querySelectorAll("#diagram .events circle")]
        .map((one) => ({ x: +one.getAttribute("cx"), y: +one.getAttribute("cy") }));
    return Math.min(...[...document.querySelectorAll("#diagram .arrow path")].flatMap((path) => {
        const points = [...Array(200).keys()].map((k) => path.getPointAtLength(k * path.getTotalLength() / 199));
        const others = events.filter((event) => far(points[0], event) > 1 && far(points[199], event) > 1);
        return others.map((event) => Math.min(...points.map((point) => far(point, event))));
    }));
}"""


@needs_chromium
def test_arrows_stay_away_from_the_events_of_others(tmp_path: Path) -> None:
    script = notation.of_computation(cr.parse("P: send a to Q; send b to R\nQ: receive a\nR: receive b"))
    space = StateSpace(Check(protocol="unordered", program=script).resolve())
    with opened(page_of(tmp_path, space)) as shown:
        for words in ("send a", "send b", "deliver a", "deliver b"):
            shown.locator("#moves button", has_text=words).first.click()
        assert shown.locator("#diagram .arrow").count() == 2
        assert shown.evaluate(CLEARANCE) > 6
