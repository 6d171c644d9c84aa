"""Diagrams as SVG: that each shows exactly what its computation says, whatever the names are."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest
from command_line_runner import Crownless
from hypothesis import given
from hypothesis import strategies as st
from log_rows import random_computation
from relays import Relay
from svg_reading import Seen

import crownless as cr
from crownless.drawing import geometry
from crownless.drawing.diagram import Diagram, Emphasis, Wait
from crownless.drawing.emphasis import diagram_of
from crownless.drawing.excerpt import MESSAGES, excerpt
from crownless.drawing.geometry import Geometry
from crownless.drawing.labels import places
from crownless.drawing.style import COLOURS, RULES
from crownless.drawing.svg import in_svg
from crownless.drawing.widths import width
from crownless.model_check.runs.runs import Run as ProtocolRun
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.orders import ORDERS, decide, telling
from crownless.testing import strategies

TRIANGLE = """
Alice: send m1 to Carol; send m2 to Bob
Bob: receive m2; send m3 to Carol
Carol: receive m3; receive m1
"""
#: Causally ordered, and not by one queue.
QUEUED = """
P1: send m1 to P2; send m2 to P3; receive m4; receive m3
P2: send m3 to P1; receive m1
P3: receive m2; send m4 to P1
"""


def sizes(processes: int, messages: int) -> Computation:
    """A computation in which the next process sends to the one after it, of so many messages."""
    lines: list[list[Event]] = [[] for _ in range(processes)]
    sent = []
    for m in range(messages):
        p, q = m * 7 % processes, (m * 7 + 1 + m % (processes - 1)) % processes
        sent.append(Message(f"m{m + 1}", p, (q,)))
        lines[p].append(Event("send", m))
        lines[q].append(Event("receive", m))
    return Computation.of_lines(processes, sent, lines)


def crowded(processes: int, messages: int, several: float = 0, name: str = "m") -> Computation:
    """Random messages, of which any that is on its way may arrive next; some are never received."""
    c = random_computation(random.Random(0), processes, messages, disorder=1, loss=0.1, several=several, at_once=0.6)
    named = tuple(message._replace(name=f"{name}{k}") for k, message in enumerate(c.messages, 1))
    return Computation(c.processes, named, c.lines)


def broadcasts(processes: int) -> Computation:
    """Each process receives what all others broadcast in an order of its own."""
    lines: list[list[Event]] = [[] for _ in range(processes)]
    sent = [Message(f"m{k}", p := k % processes, tuple(q for q in range(processes) if q != p)) for k in range(MESSAGES)]
    for k, message in enumerate(sent):
        lines[message.sender].append(Event("send", k))
    for q, line in enumerate(lines):
        others = [Event("receive", k) for k, message in enumerate(sent) if message.sender != q]
        random.Random(q).shuffle(others)
        line += others
    return Computation.of_lines(processes, sent, lines)


@given(strategies.computations(processes=(1, 5), messages=7, receivers=2, self_sends=True, internal=True))
def test_the_arrows_are_the_messages_and_lead_down_from_event_to_event(c: Computation) -> None:
    seen = Seen(in_svg(diagram_of(c)))
    # What does not arrive is one sign for several receivers on one side.
    drawn = Counter[str]()
    for arrow in seen.arrows:
        name, _, several = arrow.name.partition(" ×")
        drawn[name] += int(several or 1)
    assert drawn == Counter(message.name for message in c.messages for _ in message.receivers)
    for arrow in seen.arrows:
        start, end = arrow.points[0], arrow.points[-1]
        downs = [y for _, y in arrow.points]
        assert downs == sorted(downs), "an arrow never leads up"
        assert start in seen.circles
        assert (end in seen.circles) == ("open" not in arrow.kinds)
    received = sum(len(receives) for receives in c.receive_events)
    assert sum("open" not in arrow.kinds for arrow in seen.arrows) == received
    assert len(seen.circles) == c.event_count
    assert len(set(seen.circles)) == c.event_count, "no two events are at one place"


@given(strategies.computations(processes=(2, 4), messages=6, receivers=1))
def test_two_messages_between_neighbours_cross_exactly_where_one_overtakes_the_other(c: Computation) -> None:
    seen = Seen(in_svg(diagram_of(c)))
    arrows = {arrow.name: arrow for arrow in seen.arrows}
    for a, one in enumerate(c.messages):
        for b, other in enumerate(c.messages[:a]):
            q = one.receiver
            neighbours = abs(one.sender - q) == 1
            if one[1:] != other[1:] or not neighbours or not (c.receive_events[a] and c.receive_events[b]):
                continue
            first, second = arrows[one.name].points, arrows[other.name].points
            crosses = (first[0][1] < second[0][1]) != (first[-1][1] < second[-1][1])
            sent_before = c.send_event[a] < c.send_event[b]
            assert crosses == (sent_before != (c.receive_events[a][q] < c.receive_events[b][q]))


def touched(svg: str) -> int:
    """How often an arrow runs through an event of a process between."""
    seen = Seen(svg)
    return sum(
        abs(arrow.at(x) - y) < geometry.RADIUS + 1
        for arrow in seen.arrows
        for x, y in seen.circles
        if min(arrow.points[0][0], arrow.points[-1][0]) < x < max(arrow.points[0][0], arrow.points[-1][0])
    )


@pytest.mark.parametrize("c", [sizes(6, 60), crowded(12, 60)])
def test_arrows_bend_around_the_events_of_others(c: Computation) -> None:
    assert touched(in_svg(diagram_of(c, highlight="none"))) == 0


def covered(c: Computation) -> Counter[str]:
    """How many names of messages lie on an event, on a sign of what does not arrive, on another name, or outside."""
    drawing = Geometry(diagram_of(c))
    signs = [(curve.x1, curve.y1) for arrow, curve, *_ in drawing.arrows if not arrow.received]
    events = [(drawing.x_of(e), drawing.y_of(e)) for e in range(c.event_count)]
    boxes: list[tuple[float, float, float, float]] = []
    found: Counter[str] = Counter()
    for arrow, place in zip(drawing.arrows, places(drawing), strict=True):
        if place is None:
            continue
        (x, y), half = place, width(arrow.label) / 2
        found["names"] += 1
        found["on an event"] += any(abs(x - a) < half and abs(y - b) < 6.5 for a, b in events)
        found["on a sign"] += any(abs(x - a) < half + 3 and abs(y - b) < 9 for a, b in signs)
        found["outside"] += x < half or x + half > drawing.right + 20 or y + 6 > drawing.foot + 12
        found["outside"] += y - 6 < drawing.first_row - 18
        found["on a name"] += any(abs(x - a) < half + b / 2 - 2 and abs(y - z) < 10 for a, z, b, _ in boxes)
        boxes.append((x, y, 2 * half, 0))
    return found


@pytest.mark.parametrize(("processes", "messages"), [(2, 20), (6, 50), (12, 200)])
@pytest.mark.parametrize("name", ["m", "message-"])
def test_names_of_messages_cover_no_event_and_no_other_name(processes: int, messages: int, name: str) -> None:
    found = covered(crowded(processes, messages, several=0.6, name=name))
    assert found["names"] > messages / 2
    assert found["on an event"] == found["on a sign"] == found["outside"] == 0
    assert found["on a name"] <= found["names"] * 0.04


@given(strategies.computations(processes=(1, 4), messages=4, receivers=3, self_sends=True))
def test_names_of_small_computations_cover_no_event_sign_or_name(c: Computation) -> None:
    assert set(+covered(c)) <= {"names"}


def test_what_does_not_arrive_is_one_sign_if_it_is_alike_and_signs_of_one_send_keep_apart() -> None:
    c = Computation.of_lines(5, [Message("m", 0, (0, 1, 2, 3, 4))], [[Event("send", 0)], [], [], [], []])
    drawn = Geometry(Diagram(c, lost=frozenset({(0, 3), (0, 4)}))).arrows
    assert [(arrow.label, arrow.receivers) for arrow in drawn] == [("m", (0,)), ("m ×2", (1, 2)), ("m ×2", (3, 4))]
    ends = [(arrow.curve.x1, arrow.curve.y1) for arrow in drawn]
    assert all(abs(a - x) + abs(b - y) > 10 for k, (a, b) in enumerate(ends) for x, y in ends[:k])
    assert "m to P4, P5" in Seen(in_svg(Diagram(c, lost=frozenset({(0, 3), (0, 4)})))).titles()


def test_a_message_with_many_receivers_is_named_once_and_what_is_shown_beside_its_arrow() -> None:
    c = cr.parse(
        "P1: send a to P2, P3, P4, P5, P6; send b to P2, P3, P4, P5, P6\nP2: receive b; receive a\n"
        + "\n".join(f"P{p}: receive a; receive b" for p in (3, 4, 5, 6))
    )
    drawn = Geometry(diagram_of(c)).arrows
    assert sorted(arrow.label for arrow in drawn if arrow.label) == ["a", "a", "b", "b"]
    assert {(arrow.arrow.message, arrow.receivers) for arrow in drawn if arrow.shown} == {(0, (1,)), (1, (1,))}


@pytest.mark.parametrize("order", ["causal", "n-n", "synchronous"])
def test_of_a_multicast_only_the_arrows_of_the_witness_stand_out(order: str) -> None:
    c = cr.parse(
        "P1: send a to P2, P3, P4; send b to P2, P3, P4; receive c; receive d\n"
        "P2: receive b; receive a; send c to P1, P4\n"
        "P3: send d to P1, P4; receive a; receive b\nP4: receive a; receive d; receive b; receive c"
    )
    diagram = diagram_of(c, highlight=order)
    assert diagram.emphasis is not None
    assert diagram.emphasis.legs is not None
    shown = sum("shown" in arrow.kinds for arrow in Seen(in_svg(diagram)).arrows)
    assert shown == len(diagram.emphasis.legs) < len(diagram.arrows)
    assert {m for m, _ in diagram.emphasis.legs} <= diagram.emphasis.messages


def test_wide_names_do_not_meet() -> None:
    names = ("WAREHOUSE-MANAGEMENT", "PAYMENT-GATEWAY-MAIN", "处理器" * 6, "👨‍👩‍👧‍👦" * 3)
    c = Computation(names, (Message("m", 0, (1,)),), ((Event("send", 0),), (Event("receive", 0),), (), ()))
    seen = Seen(in_svg(diagram_of(c, "WMWM " * 40)))
    # The advance widths of DejaVu Sans Bold at 13 pixels; the others take a square each.
    halves = [(12 * 11.1 + 8 * 9) / 2, (13 * 11 + 7 * 9) / 2, 18 * 13 / 2, 3 * 16 / 2]
    assert seen.columns[0] > halves[0]
    for k in range(3):
        assert seen.columns[k + 1] - seen.columns[k] > halves[k] + halves[k + 1]
    titles = [line for line in seen.words if line.startswith("WM")]
    assert len(titles) > 1
    assert max(map(len, titles)) * 12 < float(seen.root.attrib["width"])


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, as the Web Content Accessibility Guidelines define it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_every_part_stands_off_from_the_page(theme: int) -> None:
    for rule in RULES.values():
        for name in re.findall(r"stroke:{(\w+)}|fill:{(\w+)}", rule):
            colour = "".join(name)
            if colour != "page":
                assert contrast(COLOURS[colour][theme], COLOURS["page"][theme]) >= 3, colour


def test_remarks_are_short_and_the_events_have_them_in_full() -> None:
    receivers = tuple(range(1, 12))
    c = Computation.of_lines(12, [Message("m", 0, receivers)], [[Event("send", 0)], *([] for _ in receivers)])
    seen = Seen(in_svg(diagram_of(c)))
    assert seen.words["m is never received by P2, P3 and 9 others"] == 1
    assert any(
        title.endswith("(m is never received by P2, P3, P4, P5, P6, P7, P8, P9, P10, P11, P12)")
        for title in seen.titles()
    )
    many = Computation.of_lines(
        12,
        [Message(f"message-{p}", p, tuple(q for q in range(12) if q != p)) for p in range(12)],
        [[Event("send", p)] for p in range(12)],
    )
    assert float(Seen(in_svg(diagram_of(many))).root.attrib["width"]) < 3000


def test_the_name_is_short_and_the_description_says_what_is_held_back() -> None:
    lines = [[Event("send", 0), Event("send", 1)], [Event("receive", 1), Event("receive", 0), Event("internal", None)]]
    c = Computation.of_lines(2, [Message("m1", 0, (1,)), Message("m2", 0, (1,))], lines)
    root = Seen(
        in_svg(Diagram(c, title="a run", waits=(Wait("m2", 2, 4),), emphasis=Emphasis("not fifo", frozenset({0}))))
    ).root
    (name,), (words,) = ([e.text for e in root if e.tag.endswith(tag)] for tag in ("title", "desc"))
    assert root.attrib["aria-labelledby"].endswith("-title")
    assert root.attrib["aria-describedby"].endswith("-desc")
    assert name == "a run: not fifo"
    assert words is not None
    assert "P2 receives m2 (m2 is held back until it is delivered)" in words


def test_the_legend_says_internal_event_only_where_there_is_one() -> None:
    lines = [[Event("send", 0), Event("internal", None)], [Event("receive", 0), Event("internal", None)]]
    c = Computation.of_lines(2, [Message("m", 0, (1,))], lines)
    drawn = in_svg(Diagram(c, crashes=frozenset({1}), copies=((0, 3),)))
    assert "internal event" not in Seen(drawn).words
    assert drawn.count('r="4"') == 0, "what is received once more is as large as what is received"
    assert Seen(in_svg(Diagram(c))).words["internal event"] == 1


def test_the_witness_stands_out_and_the_rest_is_dimmed() -> None:
    c = cr.parse(TRIANGLE + "Dora: send d to Bob\n")
    seen = Seen(in_svg(diagram_of(c)))
    assert {arrow.name: "shown" in arrow.kinds for arrow in seen.arrows} == {
        "m1": True, "m2": True, "m3": True, "d": False,
    }  # fmt: skip
    assert {arrow.name for arrow in seen.arrows if "dim" in arrow.kinds} == {"d"}
    assert seen.words["not causal: Carol receives m3 before m1, which was sent earlier"] == 1
    # On Alice's line from m1 to m2, on Bob's from m2 to m3, and on Carol's; and a sample in the legend.
    assert seen.kinds()["chain"] == 3 + 1


@pytest.mark.parametrize("order", [order for order in telling(unicasts=True) if order != "asynchronous"])
def test_what_breaks_each_order_can_be_seen(order: str) -> None:
    broken = {"fifo": "P1: send x to P2; send y to P2\nP2: receive y; receive x"}.get(order, TRIANGLE)
    diagram = diagram_of(cr.parse(broken), highlight=order)
    assert diagram.emphasis is not None
    assert diagram.emphasis.says.startswith(f"not {order}: ")
    assert diagram.emphasis.messages


def test_the_constraints_that_form_a_cycle_are_written_above_the_picture() -> None:
    c = cr.parse(QUEUED)
    picture = in_svg(diagram_of(c, highlight="n-n"))
    for constraint in str(decide(c, "n-n")).splitlines()[1:]:
        assert Seen(picture).words[constraint.strip()] == 1
    assert "P2 sends m3 → P2 receives m1: happened before." in picture  # for screen readers


def test_lost_doubled_held_back_undone_and_crashed_are_seen_by_shape() -> None:
    messages = [Message(name, 0, (1,)) for name in ("kept", "gone", "ack", "taken back")]
    lines = [
        [*(Event("send", m) for m in range(4)), Event("internal", None)],
        [Event("receive", 0), Event("internal", None), Event("internal", None), Event("receive", 2)],
    ]
    c = Computation.of_lines(2, messages, lines)
    plain = Seen(in_svg(Diagram(c))).kinds()
    drawn = Diagram(
        c,
        lost=frozenset({(1, 1)}),
        control=frozenset({2}),
        silent=frozenset({7}),
        copies=((0, 6),),
        crashes=frozenset({4}),
        undone=frozenset({3}),
        waits=(Wait("kept", 5, 6),),
    )
    kinds = Seen(in_svg(drawn)).kinds()
    for kind in ("lost", "control", "copy", "crash", "undone", "waits", "gone"):
        assert kinds[kind] > plain[kind] == 0, kind
    legend = Seen(in_svg(drawn)).words
    for said in ("lost", "control packet", "duplicate", "crash", "send rolled back"):
        assert legend[said] == 1, said


def test_the_runs_of_protocols_show_packets_waits_and_copies() -> None:
    doubled = cr.check("unordered", 2, 1, channel="duplicating").violations["delivers-once"].run
    assert isinstance(doubled, ProtocolRun)
    kinds = Seen(in_svg(doubled.diagram("", "delivers-once"))).kinds()
    assert kinds["copy"] == 2, "the copy, and its sample"
    lossy = cr.check("rendezvous", 3, 2, channel="lossy").violations["delivers-all"].run
    assert isinstance(lossy, ProtocolRun)
    assert Seen(in_svg(lossy.diagram("", "delivers-all"))).kinds()["cross"] == 2
    isis = cr.check("isis", 3, 3, orders=["synchronous"]).violations["synchronous"].run
    assert isinstance(isis, ProtocolRun)


def test_the_same_diagram_makes_the_same_bytes_and_another_one_other_ids() -> None:
    one, other = diagram_of(cr.parse(TRIANGLE)), diagram_of(cr.parse(TRIANGLE.replace("m1", "x")))
    assert in_svg(one) == in_svg(diagram_of(cr.parse(TRIANGLE)))
    first, second = Seen(in_svg(one)).ids(), Seen(in_svg(other)).ids()
    assert not set(first) & set(second)
    (prefix,) = {re.match(r"d[0-9a-f]{10}", name)[0] for name in first}  # type: ignore[index]
    assert f"#{prefix} " in in_svg(one)


HOSTILE = ["<script>alert(1)</script>", "]]>", "&lt;", "\"'>", "a\u202eb", "x\x1b[31m", "</style>", "\ue000id\ue000"]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_and_nothing_else(name: str) -> None:
    c = Computation((name, "P2"), (Message(name, 0, (1,)),), ((Event("send", 0),), (Event("receive", 0),)))
    plain = Computation(("P1", "P2"), (Message("m", 0, (1,)),), ((Event("send", 0),), (Event("receive", 0),)))
    drawn, expected = Seen(in_svg(diagram_of(c, name))), Seen(in_svg(diagram_of(plain, "t")))
    assert [element.tag for element in drawn.root.iter()] == [element.tag for element in expected.root.iter()]
    assert drawn.ids()[0].startswith("d")
    assert not any("\x1b" in text or "\u202e" in text for text in drawn.words)
    page = cr.draw(c, form="html")
    assert page.count("<script") == 2


def test_two_hundred_messages_fit_and_more_make_an_excerpt_that_says_so() -> None:
    assert excerpt(diagram_of(sizes(12, MESSAGES))).left_out == ""
    assert len(in_svg(diagram_of(sizes(12, MESSAGES)))) < 200_000
    large = diagram_of(sizes(12, MESSAGES + 40))
    part = excerpt(large)
    assert part.left_out.startswith("An excerpt: 200 of 240 messages")
    assert len(part.computation.messages) == MESSAGES
    assert part.left_out.split()[0] in " ".join(Seen(in_svg(part)).words)


def test_an_excerpt_has_no_more_arrows_events_and_processes_than_can_be_read_and_says_so() -> None:
    part = excerpt(diagram_of(broadcasts(40)))
    assert part.left_out == "An excerpt: 13 of 200 messages and 30 of 40 processes, those nearest to the violation."
    assert len(part.arrows) <= 400
    quiet = [[Event("send", 0), *[Event("internal", None)] * 2000], [Event("receive", 0)]]
    part = excerpt(diagram_of(Computation.of_lines(2, [Message("m", 0, (1,))], quiet)))
    assert part.left_out == "An excerpt: 800 of 2,002 events, those that come first."
    assert part.computation.event_count == 800


@given(strategies.computations(processes=(2, 4), messages=5, receivers=3), st.sampled_from(list(ORDERS)))
def test_each_arrow_that_stands_out_is_of_a_message_to_that_process(c: Computation, order: str) -> None:
    emphasis = diagram_of(c, highlight=order).emphasis
    if emphasis is not None:
        assert emphasis.legs
        assert all(m in emphasis.messages and q in c.messages[m].receivers for m, q in emphasis.legs)


def test_an_excerpt_has_what_breaks_the_order_and_what_is_near() -> None:
    c = sizes(5, 300)
    swapped = [list(line) for line in c.lines]
    at = next(k for k, (one, other) in enumerate(zip(swapped[2], swapped[2][1:], strict=False)) if k > 60
              and one.kind == other.kind == "receive")  # fmt: skip
    swapped[2][at], swapped[2][at + 1] = swapped[2][at + 1], swapped[2][at]
    emphasis = Emphasis("these two", frozenset(e.message for e in swapped[2][at : at + 2] if e.message is not None))
    part = excerpt(Diagram(Computation(c.processes, c.messages, tuple(map(tuple, swapped))), emphasis=emphasis), 20)
    assert part.emphasis is not None
    names = {part.computation.messages[m].name for m in part.emphasis.messages}
    assert names == {c.messages[m].name for m in emphasis.messages}
    numbers = sorted(int(message.name[1:]) for message in part.computation.messages)
    assert numbers[-1] - numbers[0] < 120
    assert "nearest to the violation" in part.left_out


def test_local_variables_are_said_at_each_event_with_what_changed() -> None:
    run = cr.check("rst-column", 3, 4).violations["causal"].run
    assert isinstance(run, ProtocolRun)
    titles = Seen(in_svg(run.diagram())).titles()
    assert any(title.endswith("sent = 0 1* 0 / 0 0 0 / 0 0 0\ndeliv = 0 0 0") for title in titles)
    assert any("deliv = 1* 0 0" in title for title in titles)


@pytest.mark.parametrize(
    "thing",
    [
        cr.parse(TRIANGLE),
        cr.classify(TRIANGLE),
        cr.classify(TRIANGLE)["causal"],
        cr.check("unordered", 2, 2),
        cr.check("unordered", 2, 2)["fifo"],
        cr.check("unordered", 2, 2)["fifo"].run,
        cr.read_log("kuper-alice-bob-carol")[0],
        cr.conform(Relay, 2, 2),
        cr.conform(Relay, 2, 2)["fifo"],
        cr.conform_at_random(Relay, 2, 3, runs=50, orders=["fifo"]),
    ],
    ids=lambda thing: type(thing).__name__,
)
def test_notebooks_show_the_picture_and_the_text(thing: object) -> None:
    shown = thing._repr_mimebundle_(include=None, exclude=None)  # type: ignore[attr-defined]
    assert shown["text/plain"] == str(thing)
    assert Seen(shown["image/svg+xml"]).arrows
    assert cr.draw(thing, form="svg") == shown["image/svg+xml"]  # type: ignore[arg-type]
    assert "●" in cr.draw(thing)  # type: ignore[arg-type]
    assert "<svg" in cr.draw(thing, form="html")  # type: ignore[arg-type]


def test_what_has_nothing_to_draw_is_text_in_notebooks() -> None:
    assert set(cr.check("rst", 2, 2)._repr_mimebundle_()) == {"text/plain"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("show mf-fig8 --svg /none/x.svg", "crownless: --svg /none/x.svg: no such folder; name a file"),
        ("show mf-fig8 --highlight causal", "crownless: --highlight does not apply to text drawings; add --svg"),
        (
            "show mf-fig8 --variables",
            "crownless: --variables does not apply to computations, which have none; give the output of 'check --json'",
        ),
        ("show mf-fig8 --svg x.svg --highlight casual", "crownless: unknown order 'casual'; did you mean 'causal'?"),
    ],
)
def test_what_cannot_be_drawn_is_said(crownless: Crownless, arguments: str, said: str) -> None:
    answer = crownless(*arguments.split())
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(said)


def test_a_check_draws_its_violations_and_says_where_there_are_none(crownless: Crownless, tmp_path: Path) -> None:
    svg, html = tmp_path / "picture.svg", tmp_path / "page.html"
    drawn = ("--svg", str(svg), "--html", str(html), "--quiet")
    answer = crownless("check", "unordered", "-n", "2", "-m", "2", *drawn)
    assert (answer.code, answer.err) == (1, "")
    assert Seen(svg.read_text("utf-8")).words["unordered violates fifo, causal"] == 1
    assert "unordered violates fifo, causal" in html.read_text("utf-8")
    svg.unlink()
    answer = crownless("check", "fifo-ack", "-n", "2", "-m", "2", *drawn)
    assert "is not written: no required property is violated" in answer.err
    assert not svg.exists()


def test_a_form_that_there_is_not_is_bad_input() -> None:
    with pytest.raises(cr.BadInput, match="unknown form 'png'"):
        cr.draw(TRIANGLE, form="png")  # type: ignore[arg-type]
    with pytest.raises(cr.BadInput, match="there is nothing to draw in <rst: holds"):
        cr.draw(cr.check("rst", 2, 2), form="svg")


@pytest.fixture
def saved(crownless: Crownless, tmp_path: Path) -> Path:
    """What a check printed."""
    file = tmp_path / "runs.json"
    file.write_text(crownless("check", "rst-column", "-n", "3", "-m", "3", "--json").out, "utf-8")
    return file


def test_the_local_variables_of_a_saved_run_are_known_again(crownless: Crownless, tmp_path: Path, saved: Path) -> None:
    said = crownless("show", str(saved), "--variables").out.splitlines()
    last = said.index("  5. P2: deliver m3 from P3")
    assert said[last + 1 :] == ["       sent = 0 0 0 / 0 0 0 / 0 1* 0", "       deliv = 0 0 1*"]
    svg = tmp_path / "picture.svg"
    assert crownless("show", str(saved), "--svg", str(svg)).code == 0
    assert any("deliv = 0 0 1*" in title for title in Seen(svg.read_text("utf-8")).titles())


def test_a_saved_run_starts_nobodys_code(crownless: Crownless, tmp_path: Path, saved: Path) -> None:
    """A file of runs is data, also where it names a file of Python."""
    planted = tmp_path / "planted.py"
    planted.write_text(f"open({str(tmp_path / 'started')!r}, 'w')\nclass X: pass\n", "utf-8")
    saved.write_text(saved.read_text("utf-8").replace('"rst-column"', f'"{planted}:X"'), "utf-8")
    for command, *options in (("show", "--variables"), ("explore", "--html", str(tmp_path / "page.html"))):
        answer = crownless(command, str(saved), *options)
        assert (answer.code, answer.out) == (2, "")
        assert "which made the run, is not loaded; name it: " in answer.err
    assert crownless("show", str(saved), "--svg", str(tmp_path / "picture.svg")).code == 0
    assert not (tmp_path / "started").exists()


def test_the_local_variables_of_a_run_of_ones_own_class_are_known_if_it_is_named(
    crownless: Crownless, tmp_path: Path
) -> None:
    hub, saved = f"{tmp_path / 'hub.py'}:Hub", tmp_path / "runs.json"
    crownless("new", str(tmp_path / "hub.py"))
    saved.write_text(crownless("check", hub, "--json").out, "utf-8")
    said = crownless("show", str(saved), "--variables", "--protocol", hub)
    assert said.out.splitlines()[-3:] == [
        "  5. P2: deliver m3 from P3",
        "       sent = 0 0 0",
        "       delivered = 0 0 1*",
    ]
    assert crownless("show", str(saved), "--protocol", hub).code == 2


def test_an_excerpt_has_all_messages_of_the_violation() -> None:
    """Also if one of them goes to more processes than are drawn."""
    others = [f"P{k}" for k in range(4, 40)]
    text = "\n".join(
        [
            f"P1: send a to P2, P3, {', '.join(others)}",
            "P2: receive a; receive b",
            "P3: receive b; receive a",
            *(f"{name}: receive a" for name in others),
            "P40: send b to P2, P3",
        ]
    )
    part = excerpt(diagram_of(cr.parse(text), highlight="mailbox"))
    assert part.left_out
    assert {message.name for message in part.computation.messages} == {"a", "b"}
    assert part.emphasis is not None
    assert len(part.emphasis.messages) == 2
