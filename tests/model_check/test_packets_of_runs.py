"""A packet that arrives is the one that the step took, also where several look alike: in words, drawn, and as JSON."""

from __future__ import annotations

from random import Random
from textwrap import dedent
from typing import Any

import pytest
from alike_packets import Acknowledging, AlikeToTwo, EqualFragments, Fragments, Guarded, Sent, Simulation, chatter
from hypothesis import given
from hypothesis import strategies as st
from many_outcomes import read_run

import crownless as cr
from crownless.impl.channels import CHANNELS
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.workloads import Free
from crownless.model_check.check.exports import itf
from crownless.model_check.runs.actions import ShownAction
from crownless.model_check.runs.runs import Run, run_of, shown_once
from crownless.model_check.runs.stepwise import Follower, StepwiseRun
from crownless.model_check.system.monitors import DeliveryMonitor
from crownless.model_check.system.system import System


def system_of(
    kind: type[ProtocolMachine], channel: str, n: int = 2, messages: int = 2, crash: int | None = None
) -> System:
    return System(kind(n), Free(n, messages), CHANNELS[channel], [DeliveryMonitor()], crash)


def play(kind: type[ProtocolMachine], channel: str, *script: str) -> Run:
    """The run whose actions, each in words as the last of its run, begin like these."""
    made = StepwiseRun(system_of(kind, channel))
    for words in script:
        moves = made.system.moves(made.state)
        said = [run_of(made.system, [*made.steps, step]).actions[-1].say() for step, _ in moves]
        wanted = [move for text, move in zip(said, moves, strict=True) if text == words]
        assert len(wanted) == 1, f"{words}: {said}"
        made.take(*wanted[0])
    return made.run


def violation(kind: type[cr.Protocol], name: str, **given: Any) -> Run:
    run = cr.check(kind, **given).violations[name].run
    assert isinstance(run, Run)
    return run


def golden(text: str) -> str:
    return dedent(text).strip("\n")


def test_packets_of_one_link_do_not_cross_where_one_looks_like_a_packet_to_another_process() -> None:
    run = violation(AlikeToTwo, "p3-gets-one-packet", channel="fifo")
    assert run.draw() == golden("""
        P1       P2        P3
         ●─a──╮   ┃         ┃   a is in flight to P2
         ●─b──┼───╂─────╮   ┃
         ●─a──┼───╂───╮ │   ┃
         ┃    ┊   ┃   │ ╰─b▶●   receive b from P1
         ┃    ┊   ┃   ╰───a▶●   receive a from P1
         ┃    ┊   ┃         ┃
    """)


# -- which one arrives -------------------------------------------------------------------------------------------------


def test_of_two_acknowledgements_the_one_that_violates_the_invariant_is_drawn_as_arriving() -> None:
    run = violation(Acknowledging, "the-first-ack-comes-first")
    assert run.draw() == golden("""
        P1                         P2
         ●─data m1────────╮         ┃
         ●─data m2──────╮ │         ┃
         ┃              │ ╰─data m1▶●   deliver m1 from P1
         ┃           ╭──┼────ack #1─●   ack #1 is in flight to P1
         ┃           ┊  ╰───data m2▶●   deliver m2 from P1
         ┃         ╭─┼───────ack #2─●
         ●◀ack #2──╯ ┊              ┃   receive ack #2 from P2
         ┃           ┊              ┃
    """)
    assert run.say().endswith("P1: receive ack #2 from P2")
    assert [line for line in run.say().splitlines() if len(line) > 80] == []


def test_a_single_acknowledgement_needs_no_number() -> None:
    run = play(
        *(Acknowledging, "unordered", "P1: send m1 to P2", "P2: deliver m1 from P1"),
        *("P1: receive ack from P2", "P1: send m2 to P2", "P2: deliver m2 from P1", "P1: receive ack from P2"),
    )
    assert "#" not in str(run)


def test_of_two_fragments_the_second_is_drawn_as_arriving_first() -> None:
    run = violation(Fragments, "fragment-1-comes-first")
    assert run.draw() == golden("""
        P1                                   P2
         ●─fragment m1 #1──╮                  ┃   fragment m1 #1 is in flight to P2
         ●─fragment m1 #2──┼─╮                ┃
         ┃                 ┊ ╰─fragment m1 #2▶●   receive fragment m1 #2 from P1
         ┃                 ┊                  ┃
    """)
    assert run.actions[-1].say() == "P2: receive fragment m1 #2 from P1"


def test_the_packet_is_the_same_in_pictures_json_and_traces_also_when_the_json_is_read_again() -> None:
    run = violation(Fragments, "fragment-1-comes-first")
    facts = run.json()
    assert [(one["number"], one["alike"]) for one in facts[0]["transmits"]] == [(1, 1), (2, 2)]
    assert (facts[1]["number"], facts[1]["alike"]) == (2, 2)
    again = read_run(run.processes, facts)
    assert again == run
    assert again.say() == run.say()
    assert again.draw() == run.draw()
    assert itf(run, "a run")["states"][-1]["action"] == "P2: receive fragment m1 #2 from P1"


def test_runs_that_differ_in_which_packet_arrives_are_two_runs() -> None:
    first, second = (
        play(Fragments, "unordered", "P1: send m1 to P2", f"P2: receive fragment m1 #{k} from P1") for k in (1, 2)
    )
    assert first != second
    assert [run for run, _ in shown_once([("a", first), ("b", second)])] == [first, second]


def test_equal_packets_over_an_unordered_channel_are_interchangeable_and_have_no_numbers() -> None:
    run = play(EqualFragments, "unordered", "P1: send m1 to P2", "P2: receive fragment m1 from P1")
    assert "#" not in str(run)


def test_equal_packets_over_a_fifo_channel_arrive_by_number() -> None:
    script = ("P1: send m1 to P2", "P2: receive fragment m1 #1 from P1", "P2: deliver m1 #2 from P1")
    assert play(EqualFragments, "fifo", *script).draw() == golden("""
        P1                                   P2
         ●─fragment m1 #1────╮                ┃
         ●─fragment m1 #2──╮ │                ┃
         ┃                 │ ╰─fragment m1 #1▶●   receive fragment m1 #1 from P1
         ┃                 ╰───fragment m1 #2▶●   deliver m1 #2 from P1
         ┃                                    ┃
    """)


def test_of_equal_packets_the_one_in_the_hold_back_queue_is_received() -> None:
    """It was taken for the other one, still on its link."""
    run = play(
        *(Guarded, "fifo", "P1: send m1 to P2", "P2: receive m1 #1 from P1", "P2: send m2 to P1"),
        "P2: deliver m1 #1 from P1",
    )
    assert [one.packet.number for one in run.actions if one.packet is not None] == [1, 1]
    assert run.draw().count("▶") == 1
    assert "fragment m1 #2 is in flight to P2" in run.draw()


def test_a_copy_in_the_hold_back_queue_is_received_from_there() -> None:
    run = play(
        *(Guarded, "lossy-duplicating-fifo", "P1: send m1 to P2", "P2: duplicate fragment m1 #1 from P1"),
        *("P2: receive m1 #1 from P1", "P2: send m2 to P1", "P2: deliver m1 #1 from P1"),
        "P2: deliver m1 #1 from P1",
    )
    drawn = run.diagram()
    assert [(m, e) for m, e in drawn.copies] == [(0, drawn.computation.event_count - 1)], "the last arrival is the copy"


def test_the_copy_of_a_packet_arrives_though_the_other_copy_was_lost() -> None:
    sent = ("P1: send m1 to P2", "P2: duplicate fragment m1 #1 from P1", "P2: lose fragment m1 #1 from P1")
    run = play(EqualFragments, "lossy-duplicating-fifo", *sent, "P2: receive fragment m1 #1 from P1")
    diagram = run.diagram()
    arrival = diagram.computation.events[diagram.computation.event_count - 1]
    assert (arrival.kind, arrival.message, diagram.lost) == ("receive", 0, frozenset())
    both = play(EqualFragments, "lossy-duplicating-fifo", *sent, "P2: lose fragment m1 #1 from P1").diagram()
    assert both.lost == {(0, 1)}, "lost once the last copy is"


def test_what_an_earlier_version_saved_without_numbers_is_drawn_with_the_first_of_those_that_look_alike() -> None:
    run = violation(Fragments, "fragment-1-comes-first")
    old = [dict(action) for action in run.json()]
    for action in old:
        for one in (action, *action["transmits"]):
            one.pop("number", None)
            one.pop("alike", None)
    assert [one.packet and one.packet.number for one in read_run(run.processes, old).actions] == [None, 1]


# -- what is delivered in one step -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("happened", "said"),
    [
        ([("deliver", "m1")], ""),
        ([("deliver", "m1"), ("send", "m3")], " (sends m3)"),
        ([("deliver", "m2"), ("deliver", "m1")], " (delivers m2, then m1)"),
        ([("deliver", "m1"), ("deliver", "m2")], " (delivers m1, then m2)"),
        ([("send", "m3"), ("deliver", "m1")], " (sends m3, then delivers m1)"),
        ([("deliver", "m1"), ("send", "m3"), ("deliver", "m2")], " (delivers m1, then sends m3, then delivers m2)"),
    ],
)
def test_several_deliveries_of_one_step_are_listed_in_their_order(happened: list[tuple[str, str]], said: str) -> None:
    action = ShownAction("P2", "deliver", "m1", (), None, (), tuple(happened), False)
    assert action.say() == f"P2: deliver m1{said}"


def test_a_send_that_waits_is_not_forgotten_beside_several_deliveries() -> None:
    action = ShownAction("P2", "send", "m3", ("P1",), None, (), (("deliver", "m2"), ("deliver", "m1")), False)
    assert action.say() == "P2: send m3 to P1 (delivers m2, then m1, not sent yet)"


# -- any run -----------------------------------------------------------------------------------------------------------


def random_system(seed: int, channel: str, crash: bool) -> System:
    return system_of(chatter(seed), channel, 2, 3, 0 if crash else None)


RANDOM = st.builds(Random, st.integers(0, 10**6))


def walked(system: System, random: Random, length: int) -> tuple[StepwiseRun, list[list[Sent]]]:
    """A random run, and for each action the packets that it may have taken by the simulation."""
    made, simulation, taken = StepwiseRun(system), Simulation(system), list[list[Sent]]()
    for _ in range(length):
        moves = system.moves(made.state)
        if not moves:
            break
        move = random.choice(moves)
        taken.append(simulation.follow(*move))
        made.take(*move)
    return made, taken


def sends_drawn_for_arrivals(run: Run) -> list[int | None]:
    """For each action the send from which the arrow leads that ends there, among the sends of its process, from 1."""
    diagram = run.diagram()
    c = diagram.computation
    copies = {event: m for m, event in diagram.copies}
    found: list[int | None] = []
    next_on = list(c.first_event)
    for action in run.actions:
        p = run.processes.index(action.process)
        event = next_on[p]
        arrives = c.events[event].kind == "receive"
        next_on[p] += max((arrives or event in copies) + len(action.transmits), 1)
        m = c.events[event].message if arrives else copies.get(event)
        found.append(None if m is None else 1 + sum(e < c.send_event[m] for e in sends_of(run, c.messages[m].sender)))
    return found


def sends_of(run: Run, p: int) -> list[int]:
    c = run.diagram().computation
    line = range(c.first_event[p], c.first_event[p + 1])
    return [e for e in line if c.events[e].kind == "send"]


@given(st.builds(random_system, st.integers(0, 10**6), st.sampled_from(list(CHANNELS)), st.booleans()), RANDOM)
def test_any_arrow_starts_where_the_packet_that_arrives_was_sent(system: System, random: Random) -> None:
    made, taken = walked(system, random, 14)
    run = made.run
    for action, may_be, drawn in zip(run.actions, taken, sends_drawn_for_arrivals(run), strict=True):
        if action.packet is None:
            assert not may_be
            continue
        assert action.packet.number == min(sent.number for sent in may_be), "of interchangeable ones the first"
        if drawn is not None:
            (sent,) = (one for one in may_be if one.number == action.packet.number)
            assert drawn == sent.of_sender


@given(st.builds(random_system, st.integers(0, 10**6), st.sampled_from(list(CHANNELS)), st.booleans()), RANDOM)
def test_any_run_followed_by_its_packets_leads_to_the_same_states(system: System, random: Random) -> None:
    made, _ = walked(system, random, 14)
    saved = read_run(made.run.processes, made.run.json())
    assert saved == made.run
    follower = Follower(system)
    for action in saved.actions:
        assert follower.follow(action) is not None
    assert follower.state == made.state
    assert follower.run == made.run


@given(st.builds(random_system, st.integers(0, 10**6), st.sampled_from(list(CHANNELS)), st.booleans()), RANDOM)
def test_two_moves_of_a_state_that_look_alike_take_different_packets(system: System, random: Random) -> None:
    made, _ = walked(system, random, 10)
    moves = made.system.moves(made.state)
    runs = [run_of(made.system, [*made.steps, step]) for step, _ in moves]
    said = [run.say() for run in runs]
    different = {(step.action, target) for step, target in moves}  # a crash and a lossy channel lose the same packets
    assert len(set(said)) == len(different) == len(set(map(str, runs)))


def test_a_channel_keeps_order_exactly_if_the_order_of_transmission_matters() -> None:
    for kind in CHANNELS.values():
        channel = kind(lambda packet: 0)
        orders = [channel.put(channel.empty(), packets) for packets in ([0, 1], [1, 0])]
        assert kind.keeps_order == (orders[0] != orders[1])
