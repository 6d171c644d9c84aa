"""Diagrams: goldens of the usual figures, and that every drawing says exactly what its computation says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from textwrap import dedent
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

import crownless as cr
from crownless.drawing.diagram import Diagram
from crownless.drawing.excerpt import excerpt
from crownless.drawing.text import in_text
from crownless.spec.computation import Computation, Event, Kind, Message
from crownless.testing import strategies

Run: TypeAlias = tuple[Computation, list[int]]
KINDS: dict[str, Kind] = {"send": "send", "receive": "receive"}


def run_of(processes: str, steps: str) -> Run:
    """A computation and its events in the order of the steps: ``P1 send x to P2 P3``, ``P2 receive x``, ``P3 act``."""
    names = processes.split()
    messages: list[Message] = []
    number_of: dict[str, int] = {}
    lines: list[list[Event]] = [[] for _ in names]
    places = []
    for step in filter(None, steps.split("; ")):
        process, verb, *rest = step.split()
        p = names.index(process)
        if verb == "send":
            number_of[rest[0]] = len(messages)
            messages.append(Message(rest[0], p, tuple(sorted(names.index(q) for q in rest[2:]))))
        places.append((p, len(lines[p])))
        lines[p].append(Event("internal", None) if verb == "act" else Event(KINDS[verb], number_of[rest[0]]))
    c = Computation(tuple(names), tuple(messages), tuple(map(tuple, lines)))
    return c, [c.first_event[p] + index for p, index in places]


def draw(
    c: Computation, order: Sequence[int] | None = None, *, unicode: bool = True, marks: Mapping[int, str] | None = None
) -> str:
    """In text, with remarks on events."""
    return in_text(Diagram(c, order, remarks=marks or {}), unicode=unicode)


def golden(text: str) -> str:
    return dedent(text).strip("\n")


VIOLATION = run_of(
    "Alice Bob Carol",
    "Alice send m1 to Carol; Alice send m2 to Bob; Bob receive m2; Bob send m3 to Carol; "
    "Carol receive m3; Carol receive m1",
)


def test_a_causal_violation_is_a_crossing_beside_the_receiver() -> None:
    c, order = VIOLATION
    assert draw(c, order, marks={order[-1]: "m3 overtook m1"}) == golden("""
        Alice       Bob         Carol
          ●─m1───────╂─────╮      ┃
          ●─m2──╮    ┃     │      ┃
          ┃     ╰─m2▶●     │      ┃
          ┃          ●─m3──┼─╮    ┃
          ┃          ┃     │ ╰─m3▶●
          ┃          ┃     ╰───m1▶●   m3 overtook m1
          ┃          ┃            ┃
    """)


def test_a_diagram_can_be_plain_ascii() -> None:
    c, order = VIOLATION
    assert draw(c, order, unicode=False) == golden("""
        Alice       Bob         Carol
          *-m1-------|-----.      |
          *-m2--.    |     :      |
          |     '-m2>*     :      |
          |          *-m3--+-.    |
          |          |     : '-m3>*
          |          |     '---m1>*
          |          |            |
    """)


def test_a_crown_of_two_messages_is_a_crossing_between_the_processes() -> None:
    assert draw(*run_of("P1 P2", "P1 send x to P2; P2 send y to P1; P1 receive y; P2 receive x")) == golden("""
        P1         P2
         ●─x────╮   ┃
         ┃   ╭──┼─y─●
         ●◀y─╯  │   ┃
         ┃      ╰─x▶●
         ┃          ┃
    """)


def test_a_multicast_branches_and_an_internal_event_is_a_dot() -> None:
    steps = "P2 send x to P1 P3 P4; P4 receive x; P4 act; P1 receive x; P3 receive x"
    assert draw(*run_of("P1 P2 P3 P4", steps)) == golden("""
        P1       P2       P3      P4
         ┃   ╭────●─x──┬───╂───╮   ┃
         ┃   │    ┃    │   ┃   ╰─x▶●
         ┃   │    ┃    │   ┃       ·
         ●◀x─╯    ┃    │   ┃       ┃
         ┃        ┃    ╰─x▶●       ┃
         ┃        ┃        ┃       ┃
    """)


def test_a_message_never_received_is_dotted_to_the_foot_and_said() -> None:
    steps = "P1 send x to P2 P3; P1 send y to P2; P2 receive y; P3 send z to P3; P3 receive z"
    c, order = run_of("P1 P2 P3", steps)
    assert draw(c, order, marks={order[0]: "lost"}) == golden("""
        P1         P2      P3
         ●─x──┬─────╂───╮   ┃       lost; x is never received by P2, P3
         ●─y──┼─╮   ┃   ┊   ┃
         ┃    ┊ ╰─y▶●   ┊   ┃
         ┃    ┊     ┃   ┊   ●─z─╮
         ┃    ┊     ┃   ┊   ●◀z─╯
         ┃    ┊     ┃   ┊   ┃
    """)


def test_an_empty_computation_is_its_process_lines() -> None:
    assert draw(Computation.of_lines(3, [], [[], [], []])) == "P1   P2   P3\n ┃    ┃    ┃"


def test_without_an_order_the_rows_follow_the_linearization() -> None:
    c, _ = VIOLATION
    assert draw(c) == draw(c, c.linearization)


def test_an_order_that_breaks_happened_before_is_our_own_mistake() -> None:
    c, order = VIOLATION
    with pytest.raises(AssertionError, match="happened-before"):
        draw(c, order[::-1])


def test_names_are_measured_in_cells_and_control_characters_are_written_out() -> None:
    messages = [Message("消息", 0, (1,)), Message("e\u0301", 0, (1,)), Message("a\nb", 1, (0,))]
    lines = [[Event("send", 0), Event("send", 1)], [Event("receive", 1), Event("receive", 0), Event("send", 2)]]
    text = draw(Computation(("P1", "进程"), tuple(messages), tuple(map(tuple, lines))), marks={0: "\x1b[31m"})
    assert text == golden(r"""
        P1                进程
         ●─消息────╮        ┃   \x1b[31m
         ●─é───────┼─╮      ┃
         ┃         │ ╰────é▶●
         ┃         ╰───消息▶●
         ┃      ╭──────a\nb─●   a\nb is never received by P1
         ┃      ┊           ┃
    """).replace("é", "e\u0301")


# -- any computation ---------------------------------------------------------------------------------------------------


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """A computation, with its events in any order that happened-before allows."""
    c = draw(strategies.computations(processes=(1, 6), messages=8, receivers=3, self_sends=True, internal=True))
    order: list[int] = []
    while left := [e for e in range(c.event_count) if e not in order]:
        order.append(draw(st.sampled_from([e for e in left if not any(c.happened_before(f, e) for f in left)])))
    return c, order


@given(runs())
def test_every_send_and_every_receive_is_drawn_once_and_on_its_process(run: Run) -> None:
    c, order = run
    text = draw(c, order)
    heading, *rows, foot = text.split("\n")
    columns = [x for x, cell in enumerate(foot) if cell == "┃"]
    assert heading.split() == list(c.processes)
    assert len(columns) == len(c.processes)
    assert [found.start() for row in rows if (found := re.search("[●·]", row))] == [
        columns[c.process_of[e]] for e in order
    ]
    for m, message in enumerate(c.messages):
        assert len(re.findall(rf"●─{message.name}─|─{message.name}─●", text)) == 1
        assert len(re.findall(rf"─{message.name}▶●|●◀{message.name}─", text)) == len(c.receive_events[m])
    assert text.count("●") == sum(event.message is not None for event in c.events)


@given(runs())
def test_every_line_into_a_receive_comes_from_the_send_of_the_same_message(run: Run) -> None:
    c, order = run
    rows = draw(c, order).split("\n")[1:]
    row_of = {e: r for r, e in enumerate(order)}
    for m, message in enumerate(c.messages):
        for receive in c.receive_events[m].values():
            r = row_of[receive]
            # From the receive back to where its line leaves the row, and up the lane to where it comes in.
            (x,) = [x for x, cell in enumerate(rows[r]) if cell in "╰╯"]
            between = rows[r][min(x, rows[r].index("●")) + 1 : max(x, rows[r].index("●"))]
            assert between.strip("─▶◀") == message.name
            r -= 1
            while rows[r][x] in "│┼":
                r -= 1
            assert rows[r][x] in "╭╮┬"
            assert r == row_of[c.send_event[m]]
            sender = rows[r].index("●")
            between = rows[r][min(x, sender) + 1 : max(x, sender)]
            assert set(between.replace(message.name, "")) <= set("─╂┼┬")


@given(st.permutations(range(6)), st.integers(0, 6))
def test_lines_from_one_process_to_another_cross_exactly_when_one_message_overtakes_the_other(
    receives: list[int], received: int
) -> None:
    receives = receives[:received]
    steps = [f"P1 send m{m} to P2" for m in range(6)] + [f"P2 receive m{m}" for m in receives]
    place = {m: receives.index(m) if m in receives else 6 for m in range(6)}
    overtakings = sum(place[m] > place[later] for m in range(6) for later in range(m + 1, 6))
    assert draw(*run_of("P1 P2", "; ".join(steps))).count("┼") == overtakings


@given(runs(), st.text(), st.text(), st.booleans(), st.data())
def test_drawing_never_raises_and_leaves_no_trailing_spaces(
    run: Run, prefix: str, mark: str, unicode: bool, data: st.DataObject
) -> None:
    c, order = run
    c = Computation(
        tuple(prefix * data.draw(st.integers(0, 2)) + name for name in c.processes),
        tuple(message._replace(name=prefix * data.draw(st.integers(0, 2)) + message.name) for message in c.messages),
        c.lines,
    )
    text = draw(c, order, unicode=unicode, marks=dict.fromkeys(order[::2], mark))
    rows = text.split("\n")
    assert len(rows) == c.event_count + 2
    assert all(row == row.rstrip() for row in rows)
    assert unicode or text.isascii()


def test_a_very_long_and_a_very_wide_computation_can_be_drawn() -> None:
    steps = [f"P1 send m{m} to P2" for m in range(200)] + [f"P2 receive m{m}" for m in reversed(range(200))]
    rows = draw(*run_of("P1 P2", "; ".join(steps))).split("\n")
    assert len(rows) == 402
    assert max(map(len, rows)) > 400


def test_of_more_than_200_messages_text_is_the_excerpt_that_pictures_are() -> None:
    steps = [f"P1 send m{m} to P2; P2 receive m{m}" for m in range(20_000)]
    c, _ = run_of("P1 P2", "; ".join(steps))
    part = excerpt(Diagram(c))
    assert str(c) == cr.draw(c) == in_text(part)
    *rows, last = str(c).split("\n")
    assert len(rows) == 402
    assert last == part.left_out == "An excerpt: 200 of 20,000 messages, those that come first."
