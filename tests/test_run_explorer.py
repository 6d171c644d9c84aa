"""The run explorer's data, and its page in a browser: it says what the engine says, and draws as `show` draws."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest
from browser import CHROMIUM, needs_chromium, opened
from command_line_runner import Capture, Crownless
from playwright.sync_api import Page
from svg_reading import Seen

import crownless as cr
from crownless.impl import own_protocols
from crownless.impl.registry import PROTOCOLS
from crownless.impl.unordered import Unordered
from crownless.model_check.conformance.conformance_request import Request
from crownless.model_check.conformance.conforming import conform
from crownless.model_check.conformance.in_process import InProcess
from crownless.model_check.conformance.schedules import Schedule, ScheduledStep
from crownless.model_check.limits import Limits
from crownless.model_check.local_variables import variables_of
from crownless.model_check.named_numbers import comparisons
from crownless.model_check.request import Check
from crownless.model_check.run_diagrams import computation_of_run
from crownless.model_check.run_explorer import state_space
from crownless.model_check.run_explorer.page import explorer_page
from crownless.model_check.run_explorer.server import ExplorerServer
from crownless.model_check.run_explorer.state_space import BEYOND, StateSpace
from crownless.model_check.run_explorer.subjects import choices_of, of_check, of_computation, of_nodes
from crownless.model_check.runs import Run, run_of
from crownless.spec import notation
from crownless.spec.computation import Computation, project
from crownless.spec.diagrams.emphasis import emphasis_of
from crownless.spec.diagrams.svg import in_svg
from crownless.spec.orders import ORDERS, decide

CAUSAL = str(Path(__file__).parent.parent / "examples" / "nodes" / "python" / "causal.py")


@pytest.fixture
def crownless(capsys: Capture) -> Crownless:
    return Crownless(capsys)


def space_of(protocol: Any, processes: int, messages: int, **given: Any) -> StateSpace:
    return of_check(Check(protocol=protocol, processes=processes, messages=messages, **given)).space


def page_of(folder: Path, space: StateSpace, start: list[int] | None = None, **given: Any) -> Path:
    file = folder / "page.html"
    file.write_text(explorer_page(space.as_data(start=start or (), **given), "a page", start or []), "utf-8")
    return file


def effect(data: dict[str, Any], number: int) -> set[str]:
    """The properties that a move breaks, or a run by ending, by the number that the data have for it."""
    return {data["properties"][k][0] for k in data["effects"][number]}


def broken_by(data: dict[str, Any], choices: Iterable[int]) -> set[str]:
    """The properties that a run breaks, also by ending."""
    node, broken = 0, set()
    for choice in choices:
        _, node, number = data["moves"][node][3 * choice : 3 * choice + 3]
        broken |= effect(data, number)
    return broken | effect(data, data["ends"].get(str(node), 0))


# -- data --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["unordered", "rst", "rst-column", "ses", "buffer", "murty-garg", "optimal"])
def test_the_states_and_moves_are_those_of_the_engine(protocol: str) -> None:
    check = Check(protocol=protocol, processes=3, messages=2)
    counted = cr.check(protocol, 3, 2).exploration
    space = of_check(check).space
    data = space.as_data()
    states = {space._nodes[node][0] for node in range(len(data["moves"]))}
    assert len(states) == counted.states
    assert not data["beyond"]
    seen: dict[Any, int] = {}
    for node, flat in enumerate(data["moves"]):
        seen[space._nodes[node][0]] = len(flat) // 3
    assert sum(seen.values()) == counted.transitions


@pytest.mark.parametrize(("protocol", "m"), [("unordered", 2), ("rst-column", 3), ("fifo-sequence", 3), ("isis", 2)])
def test_a_shortest_path_that_breaks_a_property_is_as_long_as_the_engines_run(protocol: str, m: int) -> None:
    space = space_of(protocol, 3, m)
    data = space.as_data()
    result = cr.check(protocol, 3, m, orders=[name for name, _ in data["properties"] if name in ORDERS])
    depth = {0: 0}
    first: dict[str, int] = {}
    for node, flat in enumerate(data["moves"]):
        for k in range(0, len(flat), 3):
            _, after, broken = flat[k : k + 3]
            depth.setdefault(after, depth[node] + 1)
            for name in effect(data, broken):
                first.setdefault(name, depth[node] + 1)
    wanted = {name: len(line.run) for name, line in result.violations.items() if line.run is not None}
    assert first == wanted
    assert wanted or protocol == "rst"


def test_the_runs_that_lead_further_end_where_the_page_ends() -> None:
    data = space_of("unordered", 3, 3).as_data(50)
    assert data["beyond"]
    assert len(data["moves"]) == 50
    followers = [after for flat in data["moves"] for after in flat[1::3]]
    assert BEYOND in followers
    assert max(followers) < 50


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_every_protocol_has_a_page(protocol: str) -> None:
    space = space_of(protocol, 3, 2)
    data = space.as_data(400)
    json.dumps(data)
    assert len(data["moves"]) > 10
    assert all(after < len(data["moves"]) for flat in data["moves"] for after in flat[1::3])


@pytest.mark.parametrize(
    ("protocol", "said"),
    [
        ("rst", ["deliv[P1] = 0 ≥ stamp[P1][P2] = 1: no"]),
        ("ses", ["stamp.buffer[P2][P1] = 1 ≤ time[P1] = 0: no"]),
        ("fifo-sequence", ["stamp = 2 ≤ delivered[P1] + 1 = 1: no"]),
    ],
)
def test_a_guard_says_with_which_numbers_it_fails(protocol: str, said: list[str]) -> None:
    assert said in space_of(protocol, 2, 2).as_data()["guards"].values()


def test_a_guard_that_compares_no_numbers_says_nothing() -> None:
    class Odd(cr.Protocol):
        promises = "asynchronous"

        def initial(self, i: int) -> frozenset[int]:
            return frozenset()

        def send(self, i: int, state: Any, message: cr.Message) -> list[cr.Step]:
            return []

        def deliverable(self, i: int, state: Any, packet: cr.Packet) -> bool:
            raise ValueError("it cannot be run on such numbers")

    assert comparisons(Odd(2), 0, frozenset(), cr.Packet(0, 1, "message", None, 3), ["P1", "P2"]) == []


def test_variables_are_matrices_rows_and_values() -> None:
    shown = variables_of({"a": 1, "b": frozenset({2, 1})}, str)
    assert [str(each) for each in shown] == ["state = {a: 1, b: {1, 2}}"]
    assert [str(each) for each in variables_of(((1, 2), (3, 4)), str)] == ["state = 1 2 / 3 4"]
    assert [str(each) for each in variables_of(None, str)] == ["state = –"]


# -- the page ----------------------------------------------------------------------------------------------------------


@contextmanager
def explored(folder: Path, protocol: Any, n: int, m: int, **given: Any) -> Iterator[Page]:
    with opened(page_of(folder, space_of(protocol, n, m, **given))) as shown:
        yield shown


def violation(protocol: str, n: int, m: int, name: str, **given: Any) -> Run:
    run = cr.check(protocol, n, m, **given).violations[name].run
    assert isinstance(run, Run)
    return run


@needs_chromium
def test_a_run_is_played_to_a_violation_and_back_and_its_address_leads_there_again(tmp_path: Path) -> None:
    file = page_of(tmp_path, space_of("unordered", 2, 2))
    with opened(file) as shown:
        for words in ("P1: send m1 to P2", "P1: send m2 to P2", "P2: deliver m2 from P1"):
            shown.locator("#moves button", has_text=words).first.click()
        assert "breaks fifo" in shown.locator("#run li").nth(2).inner_text()
        assert shown.locator("#orders .broken").all_inner_texts()[0] == "✗ fifo"
        assert shown.locator("#diagram .ring").count() == 1
        address = shown.url
        shown.keyboard.press("ArrowLeft")
        assert shown.locator("#orders .broken").count() == 0
        assert shown.locator("#run li").count() == 2
        shown.keyboard.press("ArrowRight")
        assert shown.locator("#run li").count() == 3
        shown.keyboard.press("Home")
        assert shown.locator("#run li").count() == 0
        shown.keyboard.press("1")
        assert shown.locator("#run li").count() == 1
    with opened(address) as shown:
        assert shown.locator("#run li").count() == 3
        assert "breaks fifo" in shown.locator("#run li").nth(2).inner_text()


@needs_chromium
def test_one_click_leads_to_the_shortest_violation_or_says_that_there_is_none(tmp_path: Path) -> None:
    with explored(tmp_path, "rst-column", 3, 3) as shown:
        shown.locator("#orders button", has_text="causal").click()
        assert shown.locator("#said").inner_text() == "A shortest run that breaks causal: 5 actions."
        assert shown.locator("#run li").count() == 5
        shown.locator("#orders button", has_text="fifo").click()
        assert shown.locator("#said").inner_text() == "No run breaks fifo."


@needs_chromium
def test_the_shortest_violation_is_found_also_where_a_longer_run_was_looked_at_before(tmp_path: Path) -> None:
    space = space_of("unordered", 3, 3)
    run = violation("unordered", 3, 3, "causal", channel="fifo")  # five actions, all of which unordered can do
    start = choices_of(space, run)
    with opened(page_of(tmp_path, space, start)) as shown:
        assert shown.locator("#run li").count() == 5
        shown.locator("#orders button", has_text="causal").click()
        assert shown.locator("#said").inner_text() == "A shortest run that breaks causal: 3 actions."


@pytest.mark.parametrize("limits", [Limits(seconds=0.0), None])
def test_no_move_leads_to_a_state_that_is_not_on_the_page(limits: Limits | None, monkeypatch: Any) -> None:
    monkeypatch.setattr(state_space, "MOVES", 200)
    data = space_of("unordered", 3, 3).as_data(10_000, limits)
    assert data["beyond"]
    followers = {after for flat in data["moves"] for after in flat[1::3]}
    assert BEYOND in followers or not data["moves"]
    assert max(followers, default=-1) < len(data["moves"])


@needs_chromium
def test_what_is_held_back_says_why(tmp_path: Path) -> None:
    with explored(tmp_path, "rst", 2, 2) as shown:
        for _ in range(2):
            shown.locator("#moves button", has_text="to P2").first.click()
        held = shown.locator("#flight > li").nth(1).inner_text()
        assert held.split("\n") == ["m2 from P1 to P2, held back", "deliv[P1] = 0 ≥ stamp[P1][P2] = 1: no"]
        assert shown.locator("#locals mark").all_inner_texts() == ["2"]


@needs_chromium
def test_an_action_can_happen_earlier_or_later_and_what_that_makes_is_said(tmp_path: Path) -> None:
    with explored(tmp_path, "unordered", 2, 2) as shown:
        for words in ("P1: send m1 to P2", "P2: send m2 to P1", "P2: deliver m1 from P1"):
            shown.locator("#moves button", has_text=words).first.click()
        later = shown.get_by_role("button", name="later: P1: send m1 to P2")
        later.click()
        assert shown.locator("#said").inner_text().startswith("The same computation")
        assert shown.locator("#run li").first.inner_text().startswith("P2: send m1 to P1")
        shown.get_by_role("button", name="later: P1: send m2 to P2").click()
        assert shown.locator("#said").inner_text().startswith("Not possible")
        shown.get_by_role("button", name="earlier: P2: deliver m2").click()
        assert shown.locator("#said").inner_text().startswith("Not possible")


@needs_chromium
def test_an_event_can_be_dragged(tmp_path: Path) -> None:
    with explored(tmp_path, "unordered", 2, 2) as shown:
        for words in ("P1: send m1 to P2", "P2: send m2 to P1"):
            shown.locator("#moves button", has_text=words).first.click()
        event = shown.locator("#diagram .events g").first.bounding_box()
        assert event is not None
        shown.mouse.move(event["x"] + 4, event["y"] + 4)
        shown.mouse.down()
        shown.mouse.move(event["x"] + 4, event["y"] + 32, steps=4)
        shown.mouse.up()
        assert shown.locator("#said").inner_text().startswith("The same computation")


RUNS = [
    ("rst-column", 3, 3, "causal", {}),
    ("rendezvous", 3, 2, "delivers-all", {"channel": "lossy"}),
    ("unordered", 2, 1, "delivers-once", {"channel": "duplicating"}),
    ("buffer", 3, 2, "synchronous", {"orders": ["synchronous"]}),
    ("murty-garg", 2, 2, "delivers-all", {"channel": "lossy"}),
    ("isis", 3, 3, "synchronous", {"orders": ["synchronous"]}),
]


@needs_chromium
@pytest.mark.parametrize(("protocol", "n", "m", "name", "given"), RUNS)
def test_a_run_is_said_and_drawn_as_everywhere(
    tmp_path: Path, protocol: str, n: int, m: int, name: str, given: dict[str, Any]
) -> None:
    run = violation(protocol, n, m, name, **given)
    channel = {"channel": given["channel"]} if "channel" in given else {}
    space = space_of(protocol, n, m, **channel)
    choices = choices_of(space, run)
    with opened(page_of(tmp_path, space_of(protocol, n, m, **channel), choices)) as shown:
        said = [text.split(" breaks ")[0].rstrip("↑↓ ") for text in shown.locator("#run li").all_inner_texts()]
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


def walks(data: dict[str, Any], name: str, count: int) -> Iterator[list[int]]:
    """Random runs, each up to where it breaks a property for the first time."""
    random = Random(0)
    found = 0
    while found < count:
        node, choices, broken = 0, [], 0
        while data["moves"][node] and name not in effect(data, broken):
            choices.append(random.randrange(len(data["moves"][node]) // 3))
            _, node, broken = data["moves"][node][3 * choices[-1] : 3 * choices[-1] + 3]
        if name in effect(data, broken):
            found += 1
            yield choices


@needs_chromium
@pytest.mark.parametrize(
    ("protocol", "n", "m", "order", "given"),
    [
        ("unordered", 3, 4, "fifo", {}),
        ("unordered", 3, 4, "causal", {}),
        ("fifo-sequence", 3, 4, "causal", {}),
        ("unordered", 3, 4, "synchronous", {}),
        ("fifo-sequence", 4, 3, "synchronous", {}),
        ("ses-multicast", 3, 3, "synchronous", {}),
    ],
)
def test_the_messages_that_stand_out_show_the_violation(
    tmp_path: Path, protocol: str, n: int, m: int, order: str, given: dict[str, Any]
) -> None:
    """Alone they break the order, too, and there are as few of them as in the witness of the specification."""
    space = space_of(protocol, n, m, **given)
    data = space.as_data()
    with opened(page_of(tmp_path, space_of(protocol, n, m, **given))) as shown:
        for choices in walks(data, order, 60):
            found = shown.evaluate(
                "([choices, order]) => { const found = emphasisOf(space, replay(space, choices), order);"
                "return found && { says: found.says, messages: [...found.messages] } }",
                [choices, order],
            )
            steps, node = [], 0
            for choice in choices:
                steps.append(space.step(node, choice))
                node = data["moves"][node][3 * choice + 1]
            c = computation_of_run(run_of(space.system, steps, keep_names=False))
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


@needs_chromium
@pytest.mark.parametrize(("protocol", "n", "m", "name", "given"), RUNS[:3])
def test_what_the_page_saves_can_be_read_again(
    tmp_path: Path, crownless: Crownless, protocol: str, n: int, m: int, name: str, given: dict[str, Any]
) -> None:
    run = violation(protocol, n, m, name, **given)
    space = space_of(protocol, n, m, **given)
    with opened(page_of(tmp_path, space_of(protocol, n, m, **given), choices_of(space, run))) as shown:
        saved = {kind: download(shown, kind, tmp_path) for kind in ("json", "itf", "shiviz", "test")}
    answer = json.loads(saved["json"].read_text())["checks"][0]
    assert name in [known["name"] for known in answer["properties"]]
    assert answer["properties"][0]["run"] == run.json()
    again = crownless("explore", str(saved["json"]), "--json").json["space"]
    assert name in broken_by(again, again["start"])
    assert crownless("show", str(saved["json"])).code == 0
    with pytest.raises(AssertionError, match=f"{protocol} breaks"):
        the_test_in(saved["test"])()
    if name != "causal":
        return
    assert crownless("classify", str(saved["itf"]), "--json").json["orders"]["causal"]["verdict"] == "broken"
    named = ["--send", r"send (?<message>\S+) to (?<to>\S+)", "--deliver", r"deliver (?<message>\S+) from (?<from>\S+)"]
    orders = crownless("classify", str(saved["shiviz"]), *named, "--json").json["orders"]
    assert orders["causal"]["verdict"] == "broken"


@needs_chromium
def test_a_saved_test_of_a_right_protocol_passes(tmp_path: Path) -> None:
    with explored(tmp_path, "rst", 3, 3) as shown:
        for _ in range(5):
            shown.keyboard.press("1")
        the_test_in(download(shown, "test", tmp_path))()


@needs_chromium
def test_a_saved_test_of_a_computation_says_what_it_breaks(tmp_path: Path) -> None:
    c = cr.parse("P1: send a to P2; send b to P2\nP2: receive b; receive a")
    odd = Computation(("10.0.0.1:80", '"x" </script>'), c.messages, c.lines)
    explored = of_computation(odd, "odd")
    with opened(page_of(tmp_path, explored.space)) as shown:
        assert shown.locator("#diagram .name").all_text_contents() == list(odd.processes)
        shown.locator("#orders button", has_text="fifo").click()
        written = download(shown, "test", tmp_path)
        assert "P2: receive b" in written.read_text()
        the_test_in(written)()


def download(shown: Page, kind: str, folder: Path) -> Path:
    """What the page saves."""
    with shown.expect_download() as download:
        shown.locator(f"#{kind}").click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    return file


def the_test_in(file: Path) -> Callable[[], None]:
    """The test that a page has saved."""
    known: dict[str, Any] = {}
    exec(file.read_text(), known)
    found = [function for name, function in known.items() if name.startswith("test_")]
    assert len(found) == 1
    return found[0]  # type: ignore[no-any-return]


@needs_chromium
@pytest.mark.parametrize(("n", "m", "most"), [(3, 4, 40_000), (12, 3, 300)])
def test_few_and_many_processes_have_a_page(tmp_path: Path, n: int, m: int, most: int) -> None:
    with opened(page_of(tmp_path, space_of("rst", n, m), nodes=most)) as shown:
        assert shown.locator("#diagram .name").count() == n
        shown.keyboard.press("1")
        shown.keyboard.press("2")
        assert shown.locator("#run li").count() == 2


@needs_chromium
@pytest.mark.parametrize("channel", ["unordered", "lossy", "duplicating"])
def test_a_guard_is_explained_over_every_channel(tmp_path: Path, channel: str) -> None:
    with explored(tmp_path, "rst", 2, 2, channel=channel) as shown:
        for _ in range(2):
            shown.locator("#moves button", has_text="P1: send").first.click()
        held = shown.locator("#flight > li").nth(1)
        assert "held back" in held.inner_text()
        assert held.locator(".bad").all_inner_texts() == ["deliv[P1] = 0 ≥ stamp[P1][P2] = 1: no"]


@needs_chromium
def test_what_has_arrived_over_a_fifo_channel_is_in_the_hold_back_queue(tmp_path: Path) -> None:
    with explored(tmp_path, "ses", 3, 3, channel="fifo") as shown:
        for words in (
            "P1: send m1 to P3",
            "P1: send m2 to P2",
            "P2: deliver m2",
            "P2: send m3 to P3",
            "P3: receive m3",
        ):
            shown.locator("#moves button", has_text=words).first.click()
        flight = shown.locator("#flight > li").all_inner_texts()
        assert flight[0] == "m1 from P1 to P3"
        assert flight[1].startswith("m3 from P2 to P3, in the hold-back queue, held back")


@needs_chromium
def test_the_comparison_that_fails_is_marked_wherever_it_stands(tmp_path: Path) -> None:
    with explored(tmp_path, "cbcast", 3, 3) as shown:
        for words in ("P1: send m1", "P2: deliver m1", "P2: send m2"):
            shown.locator("#moves button", has_text=words).first.click()
        failing = shown.locator("#flight .bad").all_inner_texts()
        assert failing == ["stamp[P1] = 1 ≤ state[P1] + 0 = 0: no"]
        assert "yes" in shown.locator("#flight").inner_text()


@needs_chromium
def test_more_properties_than_a_number_has_bits_are_told_apart(tmp_path: Path) -> None:
    class Many(Unordered):
        """The last of many invariants is false after the first send."""

        def initial(self, i: int) -> Any:
            return 0

        def send(self, i: int, state: Any, message: cr.Message) -> list[cr.Step]:
            return [step._replace(state=state + 1) for step in super().send(i, state, message)]

        invariants: ClassVar = {
            **{f"holds-{k}": lambda machine, i, state: True for k in range(60)},
            "nothing-is-sent": lambda machine, i, state: state == 0,
        }

    with explored(tmp_path, Many, 2, 1) as shown:
        shown.locator("#properties button", has_text="nothing-is-sent").click()
        assert shown.locator("#said").inner_text() == "A shortest run that breaks nothing-is-sent: 1 action."
        assert shown.locator("#properties .broken").all_inner_texts() == ["✗ nothing-is-sent"]


@needs_chromium
def test_the_keyboard_alone_makes_a_run_and_keeps_its_place(tmp_path: Path) -> None:
    with explored(tmp_path, "unordered", 2, 3) as shown:
        shown.locator("#moves button").first.focus()
        for done in range(1, 4):
            shown.keyboard.press("Enter")
            assert shown.locator("#run li").count() == done
            assert shown.evaluate("document.activeElement.closest('#moves') !== null")
        for words in ("fifo: kept so far", "later: P1: send m1 to P2"):
            shown.get_by_role("button", name=words).first.focus()
            shown.keyboard.press("Enter")
            assert shown.evaluate("document.activeElement !== document.body")


@needs_chromium
def test_what_an_action_breaks_is_said_to_who_listens(tmp_path: Path) -> None:
    with explored(tmp_path, "unordered", 2, 2) as shown:
        for words in ("P1: send m1 to P2", "P1: send m2 to P2", "P2: deliver m2 from P1"):
            shown.locator("#moves button", has_text=words).first.click()
        status = shown.get_by_role("status").inner_text()
        assert status.startswith("P2: deliver m2 from P1. This breaks fifo, causal")
        assert "not fifo: P2 receives m2 and not m1, which was sent earlier" in status


@needs_chromium
def test_an_event_lands_where_it_is_dragged_also_if_actions_have_several_rows(tmp_path: Path) -> None:
    with explored(tmp_path, "fifo-ack", 2, 3) as shown:
        for words in ("P1: send m1 to P2", "P2: deliver m1", "P2: send m2 to P1", "P1: deliver m2"):
            shown.locator("#moves button", has_text=words).first.click()
        places = [
            int(each)
            for each in shown.locator("#diagram .events > g").evaluate_all("all => all.map(one => one.dataset.place)")
        ]
        assert len(places) > len(set(places))
        rows = shown.locator("#diagram .events > g")
        shown.evaluate("move = (from, to) => { window.moved = [from, to]; }")
        start, end = rows.nth(len(places) - 1).bounding_box(), rows.nth(1).bounding_box()
        assert start is not None
        assert end is not None
        shown.mouse.move(start["x"] + 4, start["y"] + 4)
        shown.mouse.down()
        shown.mouse.move(start["x"] + 4, end["y"] + 4, steps=3)
        shown.mouse.up()
        assert shown.evaluate("window.moved") == [places[-1], places[1]]


@needs_chromium
def test_an_action_that_leads_beyond_the_page_is_not_called_impossible(tmp_path: Path) -> None:
    file = page_of(tmp_path, space_of("unordered", 3, 4), nodes=60)
    with opened(file) as shown:
        for words in ("P1: send m1 to P2", "P1: send m2 to P2", "P1: send m3 to P3"):
            shown.locator("#moves button", has_text=words).first.click()
        shown.evaluate("act(() => move(2, 0))")
        assert "Not possible" not in shown.locator("#said").inner_text()


def test_a_page_always_has_the_run_with_which_it_begins() -> None:
    run = violation("rst-column", 3, 4, "causal")
    space = space_of("rst-column", 3, 4)
    start = choices_of(space_of("rst-column", 3, 4), run)
    data = space.as_data(30, start=start)
    assert len(data["moves"]) < 40
    assert "causal" in broken_by(data, start)


@needs_chromium
def test_the_browsers_own_back_leads_back_and_an_address_of_another_page_is_refused(tmp_path: Path) -> None:
    file = page_of(tmp_path, space_of("unordered", 2, 2))
    with opened(file) as shown:
        shown.keyboard.press("1")
        shown.keyboard.press("1")
        address = shown.url
        shown.go_back()
        assert shown.locator("#run li").count() == 1
    other = tmp_path / "other.html"
    other.write_text(explorer_page(space_of("rst", 3, 2).as_data(), "another page"), "utf-8")
    with opened(other.as_uri() + "#" + address.split("#")[1]) as shown:
        assert shown.locator("#said").inner_text() == "The run in the address is of another page."
        assert shown.locator("#run li").count() == 0
    with opened(f"{file.as_uri()}#run=abc") as shown:
        assert "no run that can be read" in shown.locator("#said").inner_text()


@needs_chromium
def test_names_are_inert(tmp_path: Path) -> None:
    class Odd(cr.Protocol):
        """Sends packets of a kind that is no kind."""

        promises = "asynchronous"

        def initial(self, i: int) -> tuple[str, ...]:
            return ("</script><img src=x onerror=alert(1)>",)

        def send(self, i: int, state: Any, message: cr.Message) -> list[cr.Step]:
            packet = cr.Packet(i, message.receivers[0], "<b>&lt;", message, None)
            return [cr.Step(state, [packet], [cr.AppEvent("send", message)])]

        def on_packet(self, i: int, state: Any, packet: cr.Packet) -> list[cr.Step]:
            return [cr.Step(state, (), [cr.AppEvent("deliver", packet.message)])]

    with explored(tmp_path, Odd, 2, 1) as shown:
        shown.keyboard.press("1")
        assert "<b>&lt; m1" in shown.locator("#flight").inner_text()
        assert "</script><img src=x onerror=alert(1)>" in shown.locator("#locals").inner_text()
        assert shown.locator("img, b").count() == 0


@needs_chromium
def test_an_address_that_is_none_of_the_page_is_said(tmp_path: Path) -> None:
    file = page_of(tmp_path, space_of("unordered", 2, 1))
    with opened(f"{file.as_uri()}#run=0.99") as shown:
        assert "goes further than this page" in shown.locator("#said").inner_text()
        assert shown.locator("#run li").count() == 1


def test_the_orders_on_the_page_are_those_of_the_computation() -> None:
    """Of every run to its end, by the definitions."""
    space = space_of("unordered", 2, 3)
    data = space.as_data()

    def runs(node: int, broken: set[str], events: list[tuple[int, str, int]]) -> Iterator[tuple[set[str], Any]]:
        flat = data["moves"][node]
        if not flat:
            yield broken, events
        for k in range(0, len(flat), 3):
            step, after, breaks = flat[k : k + 3]
            process, _, _, _, _, _, happened, *_ = data["steps"][step]
            further = [(process, kind, message) for kind, message in happened]
            yield from runs(after, broken | effect(data, breaks), events + further)

    counted = 0
    for broken, events in runs(0, set(), []):
        senders = {message: process for process, kind, message in events if kind == "send"}
        lines = [
            "; ".join(
                f"send m{m} to P{2 - senders[m]}" if kind == "send" else f"receive m{m}"
                for p, kind, m in events if p == process
            )
            for process in range(2)
        ]  # fmt: skip
        c = cr.parse(f"P1: {lines[0]}\nP2: {lines[1]}")
        for order in ("fifo", "causal", "mailbox", "one-n", "n-n", "synchronous"):
            assert decide(c, order).kept == (order not in broken), (order, lines)
        counted += 1
    assert counted > 100


# -- implementations ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "breaks"), [("BroadcastClocks", "delivers-all"), ("OwnColumn", "causal")])
def test_the_schedule_of_a_violation_is_where_the_page_of_its_nodes_begins(name: str, breaks: str) -> None:
    nodes = InProcess(own_protocols.load_node(f"{CAUSAL}:{name}"), 3)
    found = conform(nodes, Request(channels=False, orders=(breaks,) if breaks in ORDERS else ()))
    schedule = found.schedule(found[breaks])
    assert schedule is not None
    bounds = Request(schedule.processes, schedule.messages)
    explored = of_nodes(nodes, bounds, schedule)
    data = explored.space.as_data()
    assert breaks in broken_by(data, explored.start)
    right = of_nodes(InProcess(own_protocols.load_node(f"{CAUSAL}:Matrix"), 3), bounds, schedule)
    assert len(right.start) == len(schedule.steps)


def test_a_schedule_that_nodes_cannot_follow_is_said() -> None:
    nodes = InProcess(own_protocols.load_node(f"{CAUSAL}:Matrix"), 2)
    step = ScheduledStep("P2", "receive", "m1", source="P1", number=1)
    schedule = Schedule("nodes", "fifo", 2, 1, "unordered", "unicast", False, 0, [step])
    with pytest.raises(cr.BadInput, match="step 1 of the schedule: there is no packet 1 from P1 to P2"):
        of_nodes(nodes, Request(2, 1), schedule)


def test_the_failures_of_nodes_are_on_the_page(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "node.py"
    file.write_text(
        "class Node:\n"
        "    def __init__(self, process, processes, transmit, deliver):\n"
        "        self.transmit = transmit\n"
        "    def on_send(self, to, message):\n"
        "        self.transmit(to, message)\n"
        "    def on_packet(self, source, packet):\n"
        "        print(1 / 0)\n"
    )
    space = crownless("explore", f"{file}", "-n", "2", "-m", "1", "--json").json["space"]
    broken = [effect(space, number) for flat in space["moves"] for number in flat[2::3]]
    assert sum("node-fails" in names for names in broken) == 2


# -- the command -------------------------------------------------------------------------------------------------------


def test_a_saved_run_a_computation_and_a_protocol_are_explored(crownless: Crownless, tmp_path: Path) -> None:
    saved, page = tmp_path / "runs.json", tmp_path / "page.html"
    saved.write_text(crownless("check", "unordered", "-n", "2", "-m", "2", "--json").out, "utf-8")
    for subject in ([str(saved)], ["mf-fig8"], ["rst", "-n", "2", "-m", "2"]):
        answer = crownless("explore", *subject, "--html", str(page))
        assert (answer.code, answer.out) == (0, ""), answer.err
        assert answer.err.endswith("open it in a browser\n")
        assert page.read_text("utf-8").startswith("<!doctype html>")
    start = crownless("explore", str(saved), "--json").json["space"]["start"]
    assert len(start) == 3


def test_a_run_of_a_protocol_of_ones_own_is_explored_where_the_protocol_is_named(
    crownless: Crownless, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "from crownless.impl.unordered import Unordered\n\nclass Mine(Unordered):\n    promises = 'causal'\n"
    )
    Path("runs.json").write_text(crownless("check", "mine.py:Mine", "-n", "2", "-m", "2", "--json").out)
    refused = crownless("explore", "runs.json", "--json")
    assert (refused.code, refused.out) == (2, "")
    assert "crownless explore mine.py:Mine --replay FILE" in refused.err
    space = crownless("explore", "mine.py:Mine", "--replay", "runs.json", "--json").json["space"]
    assert {"fifo", "causal"} <= broken_by(space, space["start"])


def test_runs_of_implementations_are_explored_without_their_code(crownless: Crownless, tmp_path: Path) -> None:
    saved, schedule = tmp_path / "found.json", tmp_path / "schedule.json"
    node = f"{CAUSAL}:OwnColumn"
    found = crownless("conform", node, "--order", "causal", "--json", "--save", str(schedule))
    saved.write_text(found.out, "utf-8")
    for file in (saved, schedule):
        space = crownless("explore", str(file), "--json").json["space"]
        assert "causal" in broken_by(space, space["start"])
    program = ["--", sys.executable, str(Path(CAUSAL).parent / "adapter.py"), "causal.py:OwnColumn"]
    spaces = [
        crownless("explore", "--replay", str(schedule), "--json", *nodes).json["space"] for nodes in ([node], program)
    ]
    assert [(len(space["start"]), len(space["moves"])) for space in spaces] == [(5, len(spaces[0]["moves"]))] * 2
    assert crownless("explore", "counterexample-mf5", "--json").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("rst", "there is no file to write the page to; add --html page.html, or --serve"),
        ("mf-fig8 -n 3 --html x.html", "--processes: a computation has its own processes and messages; leave it out"),
        ("rst --program kuper-program -n 3 --html x.html", "--processes: a program brings its own; leave it out"),
        ("gone.txt --html x.html", "gone.txt: cannot read it: No such file or directory"),
        ("nosuch --html x.html", "unknown protocol 'nosuch'"),
        ("rst -n 0 --html x.html", "-n/--processes 0"),
        ("--html x.html", "there is nothing to explore; give a protocol, a class such as node.py:MyNode, a command"),
        ("rst --replay gone.json --html x.html", "gone.json: there is no run in it; give what 'check --json' printed"),
        ("mf-fig8 --replay gone.json --html x.html", "--replay: mf-fig8 is no protocol and no class of nodes"),
        ("rst --replay gone.json -n 3 --html x.html", "--processes: the saved run brings its check with it; leave it"),
        ("rst --form json --html x.html", "--form: only of nodes; leave it out"),
        ("rst --html x.html -- ./their-node", "'rst' and a command: one implementation at a time"),
        (f"{CAUSAL}:Matrix --crash P1 --html x.html", "--crash: only of a protocol; leave it out"),
        (f"{CAUSAL}:Matrix -n 1 --html x.html", "-n/--processes 1: not 2 to 16"),
        (f"{CAUSAL}:Matrix --replay s.json -m 2 --html x.html", "--messages: the schedule has its own; leave it out"),
        (f"{CAUSAL}:Matrx --html x.html", f"did you mean 'Matrix'? its protocols and nodes: {CAUSAL}:Matrix"),
        ("rst --serve --html x.html", "--serve: the page is served or written; leave --html and --json out"),
        ("rst --port 80 --html x.html", "--port: nothing is served; add --serve"),
        ("rst -n 2 -m 2 --html /none/x.html", "--html /none/x.html: No such file or directory"),
    ],
)
def test_what_cannot_be_explored_is_said(crownless: Crownless, arguments: str, said: str) -> None:
    answer = crownless("explore", *arguments.split())
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_a_page_that_has_not_all_states_says_so(crownless: Crownless, tmp_path: Path) -> None:
    answer = crownless("explore", "rst", "--max-states", "100", "--html", str(tmp_path / "page.html"), "--quiet")
    assert answer.code == 3
    assert "the page is full with 100 states" in answer.err


def test_chromium_is_here_or_its_absence_is_said() -> None:
    assert CHROMIUM is not None or "apt-get install chromium" in needs_chromium.mark.kwargs["reason"]


# -- served ------------------------------------------------------------------------------------------------------------


@contextmanager
def served(protocol: str, n: int, m: int, **given: Any) -> Iterator[ExplorerServer]:
    with ExplorerServer(of_check(Check(protocol, n, m, **given))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@needs_chromium
def test_a_served_page_goes_on_where_its_states_end() -> None:
    with served("buffer", 4, 4) as server:
        with opened(server.address) as shown:
            for done in range(1, 16):
                shown.keyboard.press("1")
                shown.locator(f"#run li:nth-child({done})").wait_for()
            address = shown.url
            said = shown.locator("#run").inner_text()
        with opened(address) as shown:
            shown.locator("#run li:nth-child(15)").wait_for()
            assert shown.locator("#run").inner_text() == said


@needs_chromium
def test_a_served_page_has_the_engine_search_for_the_shortest_violation() -> None:
    with served("unordered", 4, 5, channel="fifo") as server, opened(server.address) as shown:
        shown.locator("#orders button", has_text="causal").click()
        shown.locator("#run li:nth-child(5)").wait_for()
        assert shown.locator("#said").inner_text() == "A shortest run that breaks causal: 5 actions."
        shown.locator("#orders button", has_text="fifo").click()
        shown.get_by_text("No run breaks fifo.").wait_for()


@needs_chromium
def test_a_page_of_a_server_that_has_ended_shows_nothing_of_another() -> None:
    with served("unordered", 3, 5) as server, opened(server.address) as shown:
        server.session = "another"
        shown.evaluate("go([0, 0, 0, 0, 0]).catch(error => announce(error.message))")
        shown.get_by_text("reload it").wait_for()


def test_it_is_served_to_this_machine_alone_and_knows_its_nodes() -> None:
    with served("unordered", 2, 2) as server:

        def status(path: str, host: str | None = None, **headers: str) -> int:
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
            connection.request("GET", path, headers=headers if host is None else {"Host": host})
            return connection.getresponse().status

        assert server.address.startswith("http://127.0.0.1:")
        assert status("/") == 200
        assert status("/", "elsewhere.example") == 403
        assert status("/", Origin="http://elsewhere.example") == 403
        assert status("/", Origin=server.address.rstrip("/")) == 200
        session = f"session={server.session}"
        assert status(f"/more?node=1&steps=0&{session}") == 200
        queries = ("", "node=-1", "node=x", "node=999999")
        assert {status(f"/more?{query}&{session}") for query in queries} == {400}
        assert status("/etc/passwd") == 404
        with pytest.raises(cr.BadInput, match=f"port {server.server_port}: Address already in use"):
            ExplorerServer(server.explored, server.server_port)


def test_serving_ends_with_an_interrupt() -> None:
    command = [sys.executable, "-m", "crownless", "explore", "unordered", "-n", "2", "-m", "2", "--serve"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as serving:
        assert serving.stderr is not None
        assert "has the page" in serving.stderr.readline()
        serving.send_signal(signal.SIGINT)
        assert serving.wait(30) == 0
        assert serving.stderr.read() == ""
