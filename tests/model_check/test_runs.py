"""Runs in words, as JSON and drawn: goldens of the usual cases, and that any run at all can be shown."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crownless.impl.channels import CHANNELS
from crownless.impl.registry import PROTOCOLS
from crownless.impl.workloads import Free, Program, Workload
from crownless.model_check.runs.runs import Run, run_of
from crownless.model_check.runs.saved_runs import read_checks
from crownless.model_check.system.monitors import DeliveryMonitor
from crownless.model_check.system.system import LocalStep, System
from crownless.runtime.errors import BadInput
from crownless.spec import notation
from crownless.testing import schedules


def play(protocol: str, channel: str, workload: int | str, *script: str) -> Run:
    """The run whose actions, in words, are these; the workload is a number of messages of 3 processes, or a program."""
    work: Workload = Free(3, workload) if isinstance(workload, int) else Program(notation.parse(workload))
    n = len(work.processes)
    system = System(PROTOCOLS[protocol](n), work, CHANNELS[channel], [DeliveryMonitor()])
    state, steps = system.initial(), list[LocalStep]()
    for words in script:
        said = {
            run_of(system, [*steps, step]).actions[-1].say(): (step, target) for step, target in system.moves(state)
        }
        assert words in said, f"{words}: not among {list(said)}"
        step, state = said[words]
        steps.append(step)
    return run_of(system, steps)


def golden(text: str) -> str:
    return dedent(text).strip("\n")


# -- goldens -----------------------------------------------------------------------------------------------------------


BUFFERED = (
    "P1: send m1 to P2",
    "P1: send m2 to P2",
    "P1: post",
    "P2: receive message m1 from P1",
    "P1: receive ack from P2",
    "P1: post",
    "P2: deliver m1",
    "P2: receive message m2 from P1",
    "P2: deliver m2",
)


def test_a_run_of_the_buffers_shows_what_waits_and_the_acknowledgements() -> None:
    run = play("buffer", "unordered", "P1: send m1 to P2; send m2 to P2\nP2: receive; receive", *BUFFERED)
    assert run.draw() == golden("""
        P1             P2
         ·              ┃   send m1 to P2
         ·              ┃   send m2 to P2
         ●─m1─────╮     ┃   post
         ┃        ╰──m1▶●   receive message m1 from P1
         ┃     ╭────ack─●
         ●◀ack─╯        ┃   receive ack from P2
         ●─m2─────╮     ┃   post
         ┃        │     ·   deliver m1
         ┃        ╰──m2▶●   receive message m2 from P1
         ┃     ╭────ack─●   ack is in flight to P1
         ┃     ┊        ·   deliver m2
         ┃     ┊        ┃
    """)
    assert run.switches == 3


CROWN = ["P1: send m1 to P2", "P2: send m2 to P1"]
RELAYED = [
    "P1: send m1 to P2",
    "P1: send m2 to P3",
    "P3: deliver m2 from P1",
    "P3: send m3 to P2",
    "P2: deliver m3 from P3",
]


@pytest.mark.parametrize(
    ("script", "properties", "said"),
    [
        (
            CROWN,
            ["synchronous", "delivers-all"],
            """
            synchronous: violated, no linearization exists: these constraints form a cycle
              P1 receives m2 (still to come) → P2 sends m2: m2 is to take one instant
              P2 sends m2 → P2 receives m1 (still to come): happened before
              P2 receives m1 (still to come) → P1 sends m1: m1 is to take one instant
              P1 sends m1 → P1 receives m2 (still to come): happened before
            """,
        ),
        (
            RELAYED,
            ["n-n", "mailbox"],  # by the same message
            """
            n-n: violated, P2 receives m3 and not m1, which was sent earlier
              P1 sends m1 → P1 sends m2 → P3 receives m2 → P3 sends m3
            """,
        ),
        (RELAYED, ["n-n", "causal"], ""),
        (RELAYED, ["delivers-all"], ""),
        (RELAYED[:1], ["n-n"], ""),
    ],
)
def test_why_a_run_violates_an_order_is_said_unless_the_drawing_shows_it(
    script: list[str], properties: list[str], said: str
) -> None:
    run = play("unordered", "fifo", 3, *script)
    assert "\n".join(run.why(*properties)) == golden(said)
    assert str(run).endswith(run.say())
    assert str(replace(run, breaks=properties[0])).endswith("\n".join([run.say(), *run.why(properties[0])]))


def test_a_loss_is_shown_where_the_message_would_have_arrived() -> None:
    run = play(
        *("unordered", "lossy", 3),
        "P1: send m1 to P2",
        "P1: send m2 to P3",
        "P2: lose m1 from P1",
        "P3: deliver m2 from P1",
    )
    assert run.draw() == golden("""
        P1         P2       P3
         ●─m1──╮    ┃        ┃   m1 is lost on the way to P2
         ●─m2──┼────╂───╮    ┃
         ┃     ┊    ·   │    ┃   lose m1 from P1
         ┃     ┊    ┃   ╰─m2▶●   deliver m2 from P1
         ┃     ┊    ┃        ┃
    """)
    assert [action.by_channel for action in run.actions] == [False, False, True, False]
    assert run.switches == 1


def test_a_copy_is_drawn_once_and_said_twice() -> None:
    run = play(
        *("unordered", "duplicating", 1),
        "P1: send m1 to P2",
        "P2: duplicate m1 from P1",
        "P2: deliver m1 from P1",
        "P2: deliver m1 from P1",
    )
    assert run.draw() == golden("""
        P1         P2   P3
         ●─m1──╮    ┃    ┃
         ┃     │    ·    ┃   duplicate m1 from P1
         ┃     ╰─m1▶●    ┃   deliver m1 from P1
         ┃          ·    ┃   deliver m1 from P1
         ┃          ┃    ┃
    """)


def test_a_message_that_waits_in_the_hold_back_queue_is_received_first_and_delivered_later() -> None:
    run = play(
        *("rst", "fifo", 3),
        "P1: send m1 to P2",
        "P1: send m2 to P3",
        "P3: deliver m2 from P1",
        "P3: send m3 to P2",
        "P2: receive m3 from P3",
        "P2: deliver m1 from P1",
        "P2: deliver m3 from P3",
    )
    assert run.draw() == golden("""
        P1         P2           P3
         ●─m1──╮    ┃            ┃
         ●─m2──┼────╂───────╮    ┃
         ┃     │    ┃       ╰─m2▶●   deliver m2 from P1
         ┃     │    ┃    ╭────m3─●
         ┃     │    ●◀m3─╯       ┃   receive m3 from P3
         ┃     ╰─m1▶●            ┃   deliver m1 from P1
         ┃          ·            ┃   deliver m3 from P3
         ┃          ┃            ┃
    """)


def test_a_request_is_answered_by_the_message_and_that_by_an_acknowledgement() -> None:
    run = play(
        *("murty-garg", "unordered", "P1: send m1 to P2\nP2: receive"),
        "P1: send m1 to P2 (not sent yet)",
        "P2: deliver m1 from P1",
        "P1: receive message m1 from P2 (sends m1)",
        "P2: receive ack from P1",
    )
    assert run.draw() == golden("""
        P1                           P2
         ●─request m1────╮            ┃   (not sent yet)
         ┃               ╰─request m1▶●   deliver m1 from P1
         ┃            ╭────────────m1─●
         ●◀m1─────────╯               ┃   receive message m1 from P2 (sends m1)
         ●─ack───────────╮            ┃
         ┃               ╰────────ack▶●   receive ack from P1
         ┃                            ┃
    """)


def test_a_send_that_waits_for_an_acknowledgement_is_shown_when_it_happens() -> None:
    run = play(
        *("murty-garg", "fifo", "P1: receive; receive\nP2: send m1 to P1; send m2 to P1"),
        "P2: send m1 to P1",
        "P2: send m2 to P1 (not sent yet)",
        "P1: deliver m1 from P2",
        "P2: receive ack from P1 (sends m2)",
        "P1: deliver m2 from P2",
        "P2: receive ack from P1",
    )
    assert run.draw(unicode=False) == golden("""
        P1             P2
         |     .-----m1-*
         |     :        o   send m2 to P1 (not sent yet)
         *<m1--'        |   deliver m1 from P2
         *-ack----.     |
         |        '-ack>*   receive ack from P1 (sends m2)
         |     .-----m2-*
         *<m2--'        |   deliver m2 from P2
         *-ack----.     |
         |        '-ack>*   receive ack from P1
         |              |
    """)


def test_a_multicast_is_one_action_and_an_arrow_to_each_receiver() -> None:
    run = play(
        *("unordered", "unordered", "Alice: send hello to Bob, Carol\nBob: receive\nCarol: receive"),
        "Alice: send hello to Bob, Carol",
        "Carol: deliver hello from Alice",
    )
    assert run.draw() == golden("""
        Alice             Bob        Carol
          ●─hello──┬───────╂───╮       ┃   hello is in flight to Bob
          ┃        ┊       ┃   ╰─hello▶●   deliver hello from Alice
          ┃        ┊       ┃           ┃
    """)


# -- words and names ---------------------------------------------------------------------------------------------------


def test_messages_are_numbered_as_they_are_submitted_or_named_as_the_program_names_them() -> None:
    free = play("unordered", "unordered", 2, "P3: send m1 to P1", "P2: send m2 to P1", "P1: deliver m2 from P2")
    assert sorted(free.names.values()) == ["m1", "m2"]
    program = play(
        "unordered", "unordered", "A: send tea to B\nB: receive", "A: send tea to B", "B: deliver tea from A"
    )
    assert list(program.names.values()) == ["tea"]


def test_actions_are_numbered_from_one_in_columns() -> None:
    run = play("unordered", "unordered", 1, "P1: send m1 to P2", "P2: deliver m1 from P1")
    assert run.say() == "  1. P1: send m1 to P2\n  2. P2: deliver m1 from P1"
    assert Run(("P1",), ()).say() == ""


def test_an_empty_run_is_its_process_lines() -> None:
    assert Run(("P1", "P2"), ()).draw() == "P1   P2\n ┃    ┃"
    assert Run(("P1", "P2"), ()).switches == 0


# -- JSON --------------------------------------------------------------------------------------------------------------


def test_the_json_of_a_run_has_a_fact_for_all_that_its_words_say() -> None:
    run = play(
        *("murty-garg", "lossy", 1), "P1: send m1 to P2 (not sent yet)", "P2: deliver m1 from P1", "P1: lose m1 from P2"
    )
    assert run.json() == [
        {
            "process": "P1",
            "action": "send",
            "message": "m1",
            "to": ["P2"],
            "transmits": [{"kind": "request", "message": "m1", "to": "P2", "control": True, "number": 1}],
            "happens": [],
        },
        {
            "process": "P2",
            "action": "deliver",
            "message": "m1",
            "from": "P1",
            "packet": "request",
            "number": 1,
            "transmits": [{"kind": "message", "message": "m1", "to": "P1", "number": 1}],
            "happens": [{"event": "deliver", "message": "m1"}],
        },
        {
            "process": "P1",
            "action": "lose",
            "message": "m1",
            "from": "P2",
            "packet": "message",
            "number": 1,
            "transmits": [],
            "happens": [],
            "by_channel": True,
        },
    ]


def read_run(processes: Sequence[str], actions: Sequence[Any]) -> Run:
    """The run of a check whose JSON has these actions."""
    check = {"protocol": "p", "process_names": processes, "properties": [{"name": "fifo", "run": actions}]}
    ((_, run),) = read_checks(json.dumps([check]).encode(), "a run")[0].violations()
    return run


GOOD: dict[str, Any] = {
    "process": "P1",
    "action": "send",
    "message": "m1",
    "to": ["P2"],
    "transmits": [{"kind": "message", "message": "m1", "to": "P2"}],
    "happens": [{"event": "send", "message": "m1"}],
}


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        *(
            ({key: value for key, value in GOOD.items() if key != missing}, rf"missing required field {missing}, at")
            for missing in ("process", "action", "transmits", "happens")
        ),
        (5, r"expected object, got int, at \$"),
        ({**GOOD, "happens": [3]}, r"expected object, got int, at \$"),
        ({**GOOD, "transmits": [{"kind": "message", "message": 5, "to": "P2"}]}, "got int"),
        ({**GOOD, "process": "P3"}, "the run names an unknown process P3; known: P1, P2"),
        ({**GOOD, "to": ["P2", "P3"]}, "the run names an unknown process P3"),
        ({**GOOD, "transmits": [{"kind": "ack", "message": None, "to": "P3"}]}, "the run names an unknown process P3"),
        ({**GOOD, "action": "deliver", "from": "P3", "packet": "message"}, "the run names an unknown process P3"),
    ],
)
def test_an_action_that_cannot_be_used_is_refused(facts: Any, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read_run(["P1", "P2"], [facts])


# -- any run -----------------------------------------------------------------------------------------------------------

PROGRAMS = (
    "Alice: send m1 to Carol; send m2 to Bob\nBob: receive; send m3 to Carol\nCarol: receive; receive",
    "P1: send x to P2; receive from P2\nP2: send y to P1; receive x",
)


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """A run of any protocol over any channel, from the beginning to anywhere."""
    kind = PROTOCOLS[draw(st.sampled_from(list(PROTOCOLS)))]
    workload: Workload
    if draw(st.booleans()):
        workload = Program(notation.parse(draw(st.sampled_from(PROGRAMS))))
    else:
        multicast = kind.admits_multicast and draw(st.booleans())
        n, messages = draw(st.integers(2, 3 if multicast else 4)), draw(st.integers(1, 3 if multicast else 5))
        self_sends = kind.admits_self_sends and draw(st.booleans())
        workload = Free(n, messages, self_sends=self_sends, sends="multicast" if multicast else "unicast")
    return draw(schedules(kind, channel=draw(st.sampled_from(list(CHANNELS))), workload=workload))


@given(runs())
def test_any_run_comes_back_from_its_json(run: Run) -> None:
    assert read_run(run.processes, run.json()) == run


@given(runs())
def test_any_run_is_said_in_a_line_for_each_action(run: Run) -> None:
    lines = run.say().splitlines()
    assert len(lines) == len(run.actions)
    for number, (line, action) in enumerate(zip(lines, run.actions, strict=True), 1):
        assert line.startswith(f"{number:3}. {action.process}: {action.action}")
        deliveries = [message for kind, message in action.happened if kind == "deliver"]
        if len(deliveries) > 1:
            assert re.search(", then .*".join(deliveries), line)
            continue
        for kind, message in action.happened:
            assert (f"{kind}s {message}" in line) != ((kind, message) == (action.action, action.message))


@given(runs())
def test_any_run_can_be_drawn_with_an_arrow_from_each_packet_and_a_remark_for_each_action(run: Run) -> None:
    drawn, plain = run.draw(), run.draw(unicode=False)
    assert plain.isascii()
    rows = drawn.splitlines()
    assert len(rows) == len(plain.splitlines())
    transmitted = sum(len(action.transmits) for action in run.actions)
    arrived = sum(row.count("▶") + row.count("◀") for row in rows)
    # A row has one event: the departure of a packet, or of several alike, an arrival, or an action without either.
    departures = sum(len({packet.label for packet in action.transmits}) for action in run.actions)
    assert departures + arrived <= len(rows) - 2 <= transmitted + len(run.actions)
    assert arrived <= transmitted
    for action in run.actions:
        if action.action != "send":
            assert any(action.say().split(": ", 1)[1] in row for row in rows)
