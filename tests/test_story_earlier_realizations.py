"""[MF] §2, "Earlier Realizations of Causal Order", replayed on the machines; and what [Kup] says about two of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from broken_fifo import WaitsOnEachChannel
from replay import (
    Replay,
    check,
    computations,
    figure,
    never_reached,
    over,
    script,
    violations,
)

from crownless.impl.cbcast import Cbcast
from crownless.impl.fifo_ack import FifoAck
from crownless.impl.fifo_sequence import FifoSequence
from crownless.impl.kearns import Kearns
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.rendezvous import Rendezvous
from crownless.impl.rst import Rst
from crownless.impl.rst_before import RstBefore
from crownless.impl.rst_variants import RstColumn
from crownless.impl.workloads import Free
from crownless.model_check.check.check import run_check
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.check.request import Check
from crownless.model_check.search.reachable import reachable
from crownless.model_check.search.realizing import Realization, lines_in_notation, realize
from crownless.spec.computation import Message


def on(protocol: str, program: str) -> CheckResult:
    return run_check(Check(protocol, program=script(program)))


def counts(kind: type[ProtocolMachine], n: int, m: int, channel: str = "unordered") -> tuple[int, int, int, int]:
    found = check(kind, n, m, channel=channel).exploration
    return found.states, found.transitions, found.depth, found.terminal_states


def generated(kind: type[ProtocolMachine], n: int, m: int) -> Realization:
    """What a machine can generate."""
    return realize(Check(kind, n, m))


def states(kind: type[ProtocolMachine], n: int, m: int, channel: str = "unordered") -> Iterator[tuple[Any, list[Any]]]:
    """Every state of the free workload: how many messages are sent on each channel, and the local states."""
    system = over(kind(n), Free(n, m), channel)
    for now in reachable(system):
        yield system.position(now.state), now.locals


# -- FIFO order: sequence numbers --------------------------------------------------------------------------------------


def test_sequence_numbers_delay_what_arrives_too_early_until_all_lower_numbers_have_arrived() -> None:
    story = Replay(FifoSequence, "P1: send x to P2; send y to P3; send z to P2\nP2: receive; receive\nP3: receive")
    stamps = [packet.stamp for x in "xyz" for packet in story.do(f"P1 send {x}")]
    assert stamps == [1, 1, 2], "each channel has numbers of its own"
    assert story.can() == {"P2 deliver x from P1", "P3 deliver y from P1"}
    (z,) = story.system.refused(story.state)
    assert (z.destination, z.stamp) == (1, 2)
    story.do("P2 deliver x from P1; P2 deliver z from P1")


# -- FIFO order: the sender is blocked until an acknowledgement --------------------------------------------------------


def test_a_sender_is_blocked_until_the_acknowledgement_and_delivers_meanwhile() -> None:
    story = Replay(FifoAck, "P1: send x to P2; receive; send z to P3\nP2: send y to P1; receive\nP3: receive")
    story.do("P1 send x; P2 send y; P1 deliver y from P2")
    assert story.can() == {"P2 deliver x from P1", "P2 receive ack from P1"}, "P1 cannot send z"
    (acknowledgement,) = story.do("P2 deliver x from P1")
    assert (acknowledgement.kind, acknowledgement.destination, acknowledgement.stamp) == ("ack", 0, None)
    story.do("P1 receive ack from P2")
    (z,) = story.do("P1 send z")
    assert z.stamp is None, "no number travels"


@pytest.mark.parametrize(("n", "m"), [(2, 4), (3, 3), (4, 2)])
def test_blocking_the_sends_alone_keeps_causal_order_and_more_and_blocks_for_no_longer_than_a_while(
    n: int, m: int
) -> None:
    result = check(FifoAck, n, m, orders=("fifo", "causal", "mailbox", "one-n"))
    assert violations(result) == {}
    assert never_reached(result) == set()


def test_blocking_works_also_where_it_is_not_synchronous() -> None:
    """The text gives a narrower reason: "computations with synchronous communications are always causally ordered"."""
    assert computations(FifoAck, "mf-fig1") == {figure("mf-fig3")}
    assert violations(check(FifoAck, program=script("mf-fig1"), orders=("synchronous",))) == {"synchronous": 2}
    assert violations(check(FifoAck, program=script("mf-fig1"), orders=("causal", "mailbox"))) == {}


def test_two_who_send_twice_before_they_receive_are_causally_ordered_and_out_of_reach_of_blocked_senders() -> None:
    answer = realize(Check("fifo-ack", 2, 4))
    assert (answer.computations, answer.orders["causal"].computations) == (41, 42)
    missing = answer.orders["causal"].missing
    assert missing is not None
    assert lines_in_notation(missing) == [
        "P1: send m1 to P2; send m2 to P2; receive m3; receive m4",
        "P2: send m3 to P1; send m4 to P1; receive m1; receive m2",
    ]


def test_blocked_senders_generate_what_one_queue_for_all_cannot() -> None:
    program = """
    P1: send m1 to P2; send m2 to P3; receive m4; receive m3
    P2: send m3 to P1; receive m1
    P3: receive m2; send m4 to P1
    """
    result = check(FifoAck, program=program, orders=("mailbox", "one-n", "n-n"))
    assert violations(result) == {"n-n": 8}
    assert result.completes == "always"


def test_fifo_order_needs_only_sends_to_the_same_process_blocked_and_then_causal_order_is_lost() -> None:
    assert violations(check(WaitsOnEachChannel, 3, 3, orders=("fifo", "causal"))) == {"causal": 5}
    assert violations(check(WaitsOnEachChannel, 2, 4, orders=("fifo", "causal"))) == {}


# -- synchronous communication: wait and acknowledge -------------------------------------------------------------------


def test_fig_1_each_waits_for_the_delivery_of_its_own_message_before_it_accepts_the_other() -> None:
    story = Replay(Rendezvous, script("mf-fig1"))
    story.do("P1 send x; P2 send y")
    assert story.can() == set()
    assert {packet.message.name for packet in story.system.refused(story.state) if packet.message} == {"x", "y"}
    assert story.waiting() == ["P1 at its statement 2, receive", "P2 at its statement 2, receive"]


class SendsAtTheBeginning(Rendezvous):
    """The send event is the beginning of the wait, not its end."""

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return [step._replace(events=[AppEvent("send", message)]) for step in super().send(i, state, message)]

    def acknowledged(self, state: Any, j: int) -> Step:
        return super().acknowledged(state, j)._replace(events=())


def test_whether_the_send_event_is_the_beginning_or_the_end_of_the_wait_makes_no_difference() -> None:
    first, second = generated(SendsAtTheBeginning, 3, 3), generated(Rendezvous, 3, 3)
    assert first.found.forms == second.found.forms
    assert first.computations == second.computations == 216


# -- one server: message-count vectors ---------------------------------------------------------------------------------

A_CLIENT_INFORMS_ANOTHER = """
P1: receive; receive
P2: send a to P1; send b to P3
P3: receive; send c to P1
"""


def test_a_client_counts_before_it_sends_to_the_server_and_not_before_it_sends_to_others() -> None:
    story = Replay(Kearns, A_CLIENT_INFORMS_ANOTHER, channel="fifo")
    (a,) = story.do("P2 send a")
    (b,) = story.do("P2 send b")
    assert (a.stamp, b.stamp) == ((0, 1, 0), (0, 1, 0))
    story.do("P3 deliver b from P2")
    assert story.at("P3") == (0, 1, 0), "P3 knows of a, which it has not seen"
    (c,) = story.do("P3 send c")
    assert c.stamp == (0, 1, 1)


def test_the_server_delays_a_message_while_that_of_another_client_is_missing() -> None:
    story = Replay(Kearns, A_CLIENT_INFORMS_ANOTHER, channel="fifo")
    story.do("P2 send a; P2 send b; P3 deliver b from P2; P3 send c; P1 receive c from P3")
    assert story.at("P1") == (0, 0, 0), "c is not consumed, and nothing learnt from it"
    assert story.can() == {"P1 deliver a from P2"}
    story.do("P1 deliver a from P2; P1 deliver c from P3")
    assert story.at("P1") == (0, 1, 1)


def test_the_servers_condition_does_not_look_at_the_sender() -> None:
    story = Replay(Kearns, "P1: receive; receive\nP2: send a to P1; send b to P1")
    story.do("P2 send a")
    (b,) = story.do("P2 send b")
    assert b.stamp == (0, 2)
    story.do("P1 deliver b from P2")
    assert story.at("P1") == (0, 2), "the server knows of a, and has not heard it"
    assert story.can() == {"P1 deliver a from P2"}


class KearnsJudgedEverywhere(Kearns):
    """The protocol, checked for causal order at the clients too."""

    @property
    def ordered_at(self) -> None:  # type: ignore[override]
        return None


def test_among_clients_causal_order_is_not_promised_and_not_kept() -> None:
    assert violations(check(KearnsJudgedEverywhere, 3, 3, channel="fifo")) == {"causal": 5}
    extra = realize(Check("kearns", 3, 3)).orders["causal"].extra
    assert extra is not None
    assert lines_in_notation(extra) == [
        "P1: send m1 to P2; send m2 to P3",
        "P2: receive m3; receive m1",
        "P3: receive m2; send m3 to P2",
    ]


@pytest.mark.parametrize("channel", ["fifo", "unordered"])
def test_a_vector_is_what_a_process_knows_of_the_number_of_messages_sent_to_the_server_so_far(channel: str) -> None:
    n, m = 3, 3
    channels = Free(n, m).channels
    known_of_others = 0
    for position, vectors in states(Kearns, n, m, channel):
        for j in range(1, n):
            sent = position[channels.index((j, (0,)))]
            assert vectors[j][j] == sent
            assert all(vector[j] <= sent for vector in vectors)
            known_of_others += any(vectors[i][j] for i in range(1, n) if i != j)
    assert known_of_others


# -- every process a server: from vectors to matrices ------------------------------------------------------------------


class EveryProcessAServer(ProtocolMachine):
    """Each process is taken "to be such a server": n vectors of length n at each process and in each message."""

    promises = "causal"
    needs_channel = "fifo"

    def __init__(self, n: int, *more: Any, **settings: Any) -> None:
        super().__init__(n, *more, **settings)
        self.servers = [Kearns(n, parameters={"server": s + 1}) for s in range(n)]

    def initial(self, i: int) -> Any:
        return tuple(server.initial(i) for server in self.servers)

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        j = message.receiver
        after = tuple(server.after_sending(i, v, j) for server, v in zip(self.servers, state, strict=True))
        return [Step(after, [Packet(i, j, "message", message, after)], [AppEvent("send", message)])]

    def deliverable(self, i: int, state: Any, packet: Packet) -> Value:
        return self.servers[i].deliverable(i, state[i], packet._replace(stamp=packet.stamp[i]))

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        assert packet.message is not None
        pairs = zip(self.servers, state, packet.stamp, strict=True)
        after = tuple(server.after_delivering(v, stamp) for server, v, stamp in pairs)
        return [Step(after, (), [AppEvent("deliver", packet.message)])]


@pytest.mark.parametrize(("n", "m"), [(2, 3), (3, 2), (3, 3)])
def test_with_every_process_a_server_all_messages_are_delivered_in_causal_order_and_it_is_the_matrix_protocol(
    n: int, m: int
) -> None:
    assert violations(check(EveryProcessAServer, n, m, channel="fifo")) == {}
    assert counts(EveryProcessAServer, n, m, "fifo") == counts(RstBefore, n, m, "fifo") == counts(Rst, n, m, "fifo")


def test_with_every_process_a_server_the_sender_is_still_left_out() -> None:
    assert violations(check(EveryProcessAServer, 3, 3)) == {"fifo": 3, "causal": 3}
    assert violations(check(RstBefore, 3, 3)) == {}


# -- the matrix protocol as [MF] describes it --------------------------------------------------------------------------


def test_a_message_out_of_causal_order_is_easily_detected_and_remains_in_a_buffer() -> None:
    story = Replay(RstBefore, script("mf-program-1"))
    story.do("P1 send x; P1 send y; P2 deliver y from P1; P2 send z")
    (z,) = story.system.refused(story.state)
    assert z.stamp == ((0, 1, 1), (0, 0, 1), (0, 0, 0)), "z names x, y and itself"
    assert story.can() == {"P3 deliver x from P1"}
    story.do("P3 deliver x from P1; P3 deliver z from P2")
    assert story.at("P3") == ((0, 1, 1), (0, 0, 1), (0, 0, 0))


def test_a_message_to_oneself_is_counted_as_received_from_its_own_sending_on() -> None:
    story = Replay(RstBefore, "P1: send x to P1; receive")
    (x,) = story.do("P1 send x")
    assert x.stamp == story.at("P1") == ((1,),), "one is to be one more than one"
    assert story.can() == set()
    first = Replay(Rst, "P1: send x to P1; receive; send y to P1; receive")
    first.do("P1 send x; P1 deliver x from P1; P1 send y")
    assert first.can() == set(), "incremented after sending, the first is delivered and the second is not"


# -- causal broadcast --------------------------------------------------------------------------------------------------


def test_broadcasts_are_delivered_in_causal_order_and_exactly_that() -> None:
    answer = realize(Check("cbcast", 3, 3))
    assert answer.equal_orders == ["causal"]
    assert (answer.computations, answer.orders["mailbox"].computations) == (101, 99)


@pytest.mark.parametrize("sends", ["unicast", "multicast"])
def test_with_messages_to_fewer_than_all_vectors_are_safe_and_not_live(sends: Any) -> None:
    for m in (2, 3):
        assert violations(check(Cbcast, 3, m, sends=sends)) == {"delivers-all": 3}
    assert violations(check(Cbcast, 2, 4, sends=sends)) == {}, "of two, one other is all others"


STORY = """
Alice: send m1 to Carol; send m2 to Bob
Bob: receive; send m3 to Carol
Carol: receive; receive
"""


def test_bob_queues_m2_up_and_waits_for_ever_for_m1() -> None:
    story = Replay(Cbcast, STORY)
    story.do("Alice send m1")
    (m2,) = story.do("Alice send m2")
    assert m2.stamp == (2, 0, 0)
    story.do("Carol deliver m1 from Alice")
    assert story.can() == set()
    assert story.system.refused(story.state) == [m2]
    assert story.waiting() == ["Bob at its statement 1, receive", "Carol at its statement 2, receive"]


# -- one column --------------------------------------------------------------------------------------------------------


def test_the_run_that_is_drawn_can_be_made_and_carol_gets_m3_first() -> None:
    story = Replay(RstColumn, STORY)
    (m1,) = story.do("Alice send m1")
    (m2,) = story.do("Alice send m2")
    assert (m1.stamp, m2.stamp) == ((0, 0, 0), (0, 0, 0)), "of m1, m2 says nothing, since Bob will not look at it"
    assert story.at("Alice").sent == ((0, 1, 1), (0, 0, 0), (0, 0, 0))
    story.do("Bob deliver m2 from Alice")
    assert story.at("Bob").sent == ((0, 1, 0), (0, 0, 0), (0, 0, 0)), "Bob does not hear of m1"
    (m3,) = story.do("Bob send m3")
    assert m3.stamp == (0, 0, 0)
    story.do("Carol deliver m3 from Bob; Carol deliver m1 from Alice")
    assert story.happened[-2:] == ["Carol delivers m3", "Carol delivers m1"]
    assert story.waiting() == []


def test_the_shortest_run_is_that_of_alice_bob_and_carol() -> None:
    (causal,) = [known for known in check(RstColumn, 3, 3).properties if known.property.name == "causal"]
    assert causal.run is not None
    actions = [(action.process, action.action, action.message) for action in causal.run.actions]
    alice, bob, carol = actions[0][0], actions[3][0], actions[4][0]
    assert {alice, bob, carol} == set(causal.run.processes)
    assert actions == [
        (alice, "send", "m1"),
        (alice, "send", "m2"),
        (bob, "deliver", "m2"),
        (bob, "send", "m3"),
        (carol, "deliver", "m3"),
    ]


@pytest.mark.parametrize(("n", "m"), [(2, 3), (3, 3), (3, 4)])
def test_one_column_is_the_protocol_of_sequence_numbers(n: int, m: int) -> None:
    assert counts(RstColumn, n, m) == counts(FifoSequence, n, m)


def test_one_column_realizes_fifo_order_and_exactly_that() -> None:
    answer = realize(Check("rst-column", 3, 3))
    assert answer.equal_orders == ["fifo"]
    assert answer.found.forms == realize(Check("fifo-sequence", 3, 3)).found.forms


def test_of_the_column_that_travels_only_the_senders_own_entry_is_ever_more_than_zero() -> None:
    for _, locals_ in states(RstColumn, 3, 3):
        for i, state in enumerate(locals_):
            assert all(state.sent[k][j] == 0 for k in range(3) for j in range(3) if i not in (k, j))
    assert any(state.sent[0][2] for _, locals_ in states(Rst, 3, 3) for state in locals_[1:2])
