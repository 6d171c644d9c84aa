"""[MF], replayed on the machines: its operations, its programs with figures, its lemmas in every run, its footnotes."""

from __future__ import annotations

import pytest
from broken_buffer import (
    FIG_1,
    AcknowledgesTwice,
    DeliversTheNewest,
    GetsAtTheFront,
    InsertsAtTheFront,
    PostsWithoutWaiting,
    WaitsAndAcknowledges,
)
from broken_buffer_variants import TWO_AND_A_THIRD, WaitsForOneAcknowledgement
from replay import (
    Replay,
    check,
    endings,
    lines_of,
    numbered,
    over,
    script,
    violations,
)

from crownless.impl.buffer import Buffer, State
from crownless.impl.buffer_bounded import BufferBounded
from crownless.impl.buffer_pipelined import BufferPipelined
from crownless.impl.channels import Fifo
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.rst import Rst
from crownless.impl.workloads import Free, Program
from crownless.model_check.search.generating import generate
from crownless.model_check.search.reachable import HistoryVariable, reachable
from crownless.model_check.system.system import LocalStep, System
from crownless.spec import enumeration, notation
from crownless.spec.computation import Message
from crownless.spec.orders import decide


def names(messages: tuple[Message, ...]) -> str:
    return "".join(message.name for message in messages)


# -- §3: a single operation, and Fig. 3 --------------------------------------------------------------------------------


def test_fig_2_a_message_is_sent_posted_got_acknowledged_and_received() -> None:
    story = Replay(Buffer, "P1: send m to P2\nP2: receive")
    assert story.do("P1 send m") == []
    assert (names(story.at("P1").output), story.at("P1").awaits) == ("m", None)
    (packet,) = story.do("P1 post")
    assert (packet.kind, packet.source, packet.destination, packet.stamp) == ("message", 0, 1, None)
    assert story.at("P1") == State((), 1, ())
    (packet,) = story.do("P2 receive message m from P1")
    assert (packet.kind, packet.source, packet.destination, packet.message) == ("ack", 1, 0, None)
    assert names(story.at("P2").input) == "m"
    assert story.can() == {"P1 receive ack from P2", "P2 deliver m"}
    story.do("P1 receive ack from P2; P2 deliver m")
    assert story.at("P1") == story.at("P2") == State((), None, ())
    assert story.happened == ["P1 sends m", "P2 delivers m"]


def test_an_output_buffer_that_waits_takes_further_messages_and_posts_none() -> None:
    story = Replay(Buffer, "P1: send x to P2; send y to P3; send z to P2\nP2:\nP3:")
    story.do("P1 send x; P1 post; P1 send y; P1 send z")
    assert (names(story.at("P1").output), story.at("P1").awaits) == ("yz", 1)
    assert story.can() == {"P2 receive message x from P1"}
    story.do("P2 receive message x from P1; P1 receive ack from P2")
    assert story.can() == {"P1 post"}
    (packet,) = story.do("P1 post")
    assert packet.message is not None
    assert packet.message.name == "y"


def test_fig_1_synchronous_communication_deadlocks_where_each_waits_for_its_own_message() -> None:
    story = Replay(WaitsAndAcknowledges, FIG_1)
    story.do("P1 send x; P1 post; P2 send y; P2 post; P1 receive message y from P2; P2 receive message x from P1")
    assert story.can() == set()
    assert story.waiting() == ["P1 at its statement 2, receive", "P2 at its statement 2, receive"]


def test_fig_3_the_buffer_protocol_does_not_deadlock_there() -> None:
    story = Replay(Buffer, FIG_1)
    story.do("P1 send x; P1 post; P2 send y; P2 post; P1 receive message y from P2; P2 receive message x from P1")
    assert {"P1 deliver y", "P2 deliver x"} < story.can()
    assert all(ending.finished for ending in endings(Buffer, Program(notation.parse(FIG_1))))


# -- §4.1: the first program, Figs. 4, 5 and 6 -------------------------------------------------------------------------


def test_fig_5_the_matrix_protocol_delays_z_at_its_receiver() -> None:
    story = Replay(Rst, script("mf-program-1"))
    story.do("P1 send x; P1 send y; P2 deliver y from P1; P2 send z")
    (z,) = story.system.refused(story.state)
    assert z.message is not None
    assert (z.message.name, z.source, z.destination) == ("z", 1, 2)
    assert z.stamp[0][2] == 1, "z depends on x, which has not yet arrived"
    assert story.can() == {"P3 deliver x from P1"}
    story.do("P3 deliver x from P1; P3 deliver z from P2")
    assert story.waiting() == []


def test_fig_6_the_buffer_protocol_delays_y_at_its_sender() -> None:
    story = Replay(Buffer, script("mf-program-1"))
    story.do("P1 send x; P1 post; P1 send y")
    assert (names(story.at("P1").output), story.at("P1").awaits) == ("y", 2)
    assert story.can() == {"P3 receive message x from P1"}, "no step of P1 or of the chain that y would begin"
    story.do("P3 receive message x from P1; P1 receive ack from P3; P1 post; P2 receive message y from P1")
    story.do("P2 deliver y; P2 send z; P2 post; P3 receive message z from P2")
    assert names(story.at("P3").input) == "xz"
    story.do("P3 deliver x; P3 deliver z")
    assert story.waiting() == []


# -- §4.2: the second program, Figs. 7 and 8 ---------------------------------------------------------------------------


def test_fig_7_overlapping_crowns_are_generated_as_the_text_says() -> None:
    story = Replay(Buffer, script("mf-program-2"))
    for first, second in (("ec", "a"), ("db", "f")):
        for process, message in zip(("P1", "P2", "P3"), first + second, strict=True):
            story.do(f"{process} send {message}")
        story.do("P1 post; P2 post; P3 post")
        for kind in (" receive message ", " receive ack "):
            story.do(*sorted(move for move in story.can() if kind in move))
    assert [names(story.at(process).input) for process in ("P1", "P2", "P3")] == ["ab", "ef", "cd"]
    story.do("P1 deliver a; P1 deliver b; P2 deliver e; P2 deliver f; P3 deliver c; P3 deliver d")
    assert story.waiting() == []


@pytest.mark.parametrize(
    ("kind", "order"), [(Rst, "causal"), (Buffer, "mailbox")], ids=["rst-causal", "buffer-mailbox"]
)
@pytest.mark.parametrize(("n", "m", "count"), [(2, 3, 14), (2, 4, 42), (3, 3, 278)])
def test_the_matrix_protocol_generates_what_is_causally_ordered_and_the_buffer_protocol_what_is_mailbox_ordered(
    kind: type[ProtocolMachine], order: str, n: int, m: int, count: int
) -> None:
    generated = {numbered(ending.computation) for ending in endings(kind, Free(n, m))}
    wanted = {numbered(lines_of(c)) for c in enumeration.computations(n, m) if decide(c, order).kept}
    assert generated == wanted
    assert len(wanted) == count


# -- §4.2: the third program -------------------------------------------------------------------------------------------


def test_the_third_program_completes_under_the_buffer_protocol_if_x_arrives_first() -> None:
    story = Replay(Buffer, script("mf-program-3"))
    story.do("P1 send x; P3 send y; P1 post; P3 post; P2 receive message x from P1; P2 receive message y from P3")
    story.do("P2 deliver x; P2 deliver y")
    assert story.waiting() == []


def test_the_third_program_blocks_under_the_buffer_protocol_if_y_arrives_first() -> None:
    story = Replay(Buffer, script("mf-program-3"))
    story.do("P1 send x; P3 send y; P1 post; P3 post; P2 receive message y from P3; P2 receive message x from P1")
    assert names(story.at("P2").input) == "yx"
    assert story.can() == {"P1 receive ack from P2", "P3 receive ack from P2"}
    assert story.waiting() == ["P2 at its statement 1, receive from P1"]


# -- §3.3: the lemmas, in every run ------------------------------------------------------------------------------------


def lemmas_broken(kind: type[ProtocolMachine], n: int, m: int) -> set[str]:
    """Which of the lemmas fail in some run.

    That one event is before another in every run in which both happen is what ≺ means. So whenever a message is got, it
    must be the first not yet got of those posted, and of those sent; and when received, the first not yet received.
    """
    broken: set[str] = set()

    def after(system: System, waiting: Waiting, step: LocalStep) -> Waiting:
        return follow(waiting, system, step, broken)

    for _ in reachable(over(kind(n), Free(n, m)), history=HistoryVariable((((),) * n,) * 3, after)):
        pass
    return broken


#: For each process messages in the order of their events: sent and not got, posted and not got, got and not received.
Waiting = tuple[tuple[tuple[Message, ...], ...], ...]


def follow(waiting: Waiting, system: System, step: LocalStep, broken: set[str]) -> Waiting:
    """The messages that wait after a step; the lemmas that it breaks are added to `broken`."""
    sent, posted, got = ([list(queue) for queue in queues] for queues in waiting)

    def leaves(queue: list[Message], message: Message, lemma: str) -> None:
        if queue[0] != message:
            broken.add(lemma)
        queue.remove(message)

    process, message = step.action.process, step.action.message
    for kind, _, observed in step.observations:
        if kind == "send":
            sent[process].append(observed)
        elif kind == "deliver":
            leaves(got[process], observed, "Lemma 4")
    posted[process] += [packet.message for packet in system.transmitted(step) if packet.message]
    if step.action.name == "receive message":
        assert message is not None
        leaves(posted[message.sender], message, "Lemma 2")
        leaves(sent[message.sender], message, "Lemma 3")
        got[process].append(message)
    return tuple(tuple(map(tuple, queues)) for queues in (sent, posted, got))


@pytest.mark.parametrize(("n", "m"), [(2, 3), (3, 3)])
def test_lemmas_2_3_and_4_hold_in_every_run(n: int, m: int) -> None:
    assert lemmas_broken(Buffer, n, m) == set()


@pytest.mark.parametrize(
    ("kind", "lemmas"),
    [
        (PostsWithoutWaiting, {"Lemma 2", "Lemma 3"}),
        (AcknowledgesTwice, {"Lemma 2", "Lemma 3"}),
        (InsertsAtTheFront, {"Lemma 3"}),
        (GetsAtTheFront, {"Lemma 4"}),
        (DeliversTheNewest, {"Lemma 4"}),
    ],
)
def test_each_lemma_falls_with_the_rule_that_its_proof_cites(kind: type[ProtocolMachine], lemmas: set[str]) -> None:
    assert lemmas_broken(kind, 2, 3) == lemmas


# -- [MF] footnote 4: posting on without waiting -----------------------------------------------------------------------


def test_all_outstanding_acknowledgements_are_awaited_before_a_message_to_another_receiver() -> None:
    assert violations(check(BufferPipelined, program=TWO_AND_A_THIRD, channel="fifo")) == {}
    assert violations(check(WaitsForOneAcknowledgement, program=TWO_AND_A_THIRD, channel="fifo")) == {"causal": 15}


def test_posting_on_generates_no_other_computation_than_waiting() -> None:
    for n, m in ((2, 4), (3, 3)):
        waiting = generate(Buffer(n), Free(n, m), Fifo).forms
        assert generate(BufferPipelined(n), Free(n, m), Fifo).forms == waiting


# -- [MF] footnote 2: too small buffers --------------------------------------------------------------------------------


def each_way(first: int, second: int) -> str:
    """Two processes that send to each other so many messages before they receive any."""

    def sends(count: int, name: str, to: str) -> str:
        return "; ".join(f"send {name}{number} to {to}" for number in range(1, count + 1))

    return f"P1: {sends(first, 'x', 'P2')}{'; receive' * second}\nP2: {sends(second, 'y', 'P1')}{'; receive' * first}"


def test_one_process_that_sends_less_is_enough_to_go_on() -> None:
    for first in (4, 5):
        assert check(BufferBounded, program=each_way(first, 3)).completes == "always"


def test_whoever_receives_what_is_there_never_deadlocks() -> None:
    for parameters in ({"output": 1, "input": 1}, {"output": 2, "input": 1}, {"output": 1, "input": 2}):
        assert check(BufferBounded, 2, 4, parameters=parameters).verdict == "holds"


def test_where_it_completes_a_program_has_the_computations_of_unlimited_buffers() -> None:
    program = Program(notation.parse(each_way(2, 2)))
    assert {ending.computation for ending in endings(BufferBounded, program)} == {
        ending.computation for ending in endings(Buffer, program)
    }
