"""[MF], replayed on the machines: its operations, a figure, a footnote, and the earlier realizations of §2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from replay import Replay, check, script, violations

from crownless.impl.channels import Fifo
from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.protocols.buffer import Buffer, State
from crownless.impl.protocols.buffer_pipelined import BufferPipelined
from crownless.impl.protocols.cbcast import Cbcast
from crownless.impl.protocols.fifo_ack import FifoAck
from crownless.impl.protocols.fifo_sequence import FifoSequence
from crownless.impl.protocols.kearns import Kearns
from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.rst_before import RstBefore
from crownless.impl.protocols.rst_variants import RstColumn
from crownless.impl.workloads import Free
from crownless.model_check.search.generating import generate
from crownless.spec.computation import Message


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


# -- §4.1: the first program, Figs. 4, 5 and 6 -------------------------------------------------------------------------


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


# -- [MF] footnote 4: posting on without waiting -----------------------------------------------------------------------


def test_posting_on_generates_no_other_computation_than_waiting() -> None:
    for n, m in ((2, 4), (3, 3)):
        waiting = generate(Buffer(n), Free(n, m), Fifo).forms
        assert generate(BufferPipelined(n), Free(n, m), Fifo).forms == waiting


def counts(kind: type[ProtocolMachine], n: int, m: int, channel: str = "unordered") -> tuple[int, int, int, int]:
    found = check(kind, n, m, channel=channel).exploration
    return found.states, found.transitions, found.depth, found.terminal_states


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


# -- the matrix protocol as [MF] describes it --------------------------------------------------------------------------


def test_a_message_out_of_causal_order_is_easily_detected_and_remains_in_a_buffer() -> None:
    story = Replay(RstBefore, script("mf-program-1"))
    story.do("P1 send x; P1 send y; P2 deliver y from P1; P2 send z")
    (z,) = story.system.refused(story.state)
    assert z.stamp == ((0, 1, 1), (0, 0, 1), (0, 0, 0)), "z names x, y and itself"
    assert story.can() == {"P3 deliver x from P1"}
    story.do("P3 deliver x from P1; P3 deliver z from P2")
    assert story.at("P3") == ((0, 1, 1), (0, 0, 1), (0, 0, 0))


# -- causal broadcast --------------------------------------------------------------------------------------------------


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
