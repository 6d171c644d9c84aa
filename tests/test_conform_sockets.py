"""Programs that own their sockets: verdicts as by lines, ends of answers that no timer hides, and nothing left."""

from __future__ import annotations

import re
import select
import socket
import sys
from pathlib import Path

import pytest
from command_line_runner import Crownless
from hostile_nodes import left_running

from crownless.model_check.conformance.conformance_request import Request
from crownless.model_check.conformance.conformance_result import Conformance
from crownless.model_check.conformance.conforming import conform
from crownless.model_check.conformance.node import NodeLimits
from crownless.model_check.conformance.programs import closing
from crownless.model_check.conformance.random_runs import conform_at_random
from crownless.model_check.conformance.schedules import replay
from crownless.model_check.conformance.sockets.proxies import OfStreams, framed, packets_in
from crownless.model_check.conformance.sockets.socket_nodes import SocketNodes
from crownless.model_check.conformance.sockets.speaking import Frame, speaking
from crownless.spec.errors import BadInput

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

NODES = Path(__file__).parent.parent / "examples" / "nodes" / "sockets"
DELIVERED = r"delivered (?<message>\S+)"
ADDRESSES = ["--id", "{id}", "--listen", "{listen}", "--peers", "{peers}"]
#: Long for an answer that comes in milliseconds.
SECONDS = 30.0
BEST_EFFORT = "best effort: the end of each answer is read from the operating system"

#: A node of UDP; the parts of others go before its loop.
RELAY = """
import os, socket, subprocess, sys, threading, time
def address(text): return (text.split(":")[0], int(text.split(":")[1]))
me, listen, peers = int(sys.argv[2]), address(sys.argv[4]), [address(one) for one in sys.argv[6].split(",")]
own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
def bind(): own.bind(listen)
def say(*words): print(*words, flush=True)
def transmit(to, message): own.sendto(message.encode(), peers[int(to)])
def on_send(to, message): transmit(to, message)
def on_packet(message): say("delivered", message)
def receive():
    while True: on_packet(own.recv(1 << 16).decode())
#HERE
bind()
threading.Thread(target=receive, daemon=True).start()
for line in sys.stdin:
    on_send(*line.split()[1:])
"""


def relay(folder: Path, different: str = "") -> list[str]:
    """The command of a relay in which something is different."""
    file = folder / "node.py"
    file.write_text(RELAY.replace("#HERE", different))
    return [sys.executable, "-I", "-S", str(file), *ADDRESSES]


def conformance(
    command: list[str],
    kind: str = "udp",
    *,
    seconds: float = SECONDS,
    settle: float | None = None,
    messages: int = 2,
    ignored: re.Pattern[str] | None = None,
) -> Conformance:
    """The answer at two processes; nothing that was started is left."""
    spoken = speaking(kind, DELIVERED, settle=settle)
    with closing(SocketNodes(command, spoken, 2, NodeLimits(seconds=seconds), ignored=ignored)) as nodes:
        nodes.check_start()
        channel = "fifo" if kind == "tcp" else "unordered"
        answer = conform(nodes, Request(2, messages, channel=channel, replies=0, channels=False))
        mark = nodes._guardian.mark
    assert left_running(mark) == []
    return answer


def example(name: str, *more: str) -> list[str]:
    return [sys.executable, "-I", "-S", str(NODES / name), *ADDRESSES, *more]


@pytest.mark.parametrize(
    ("name", "more", "kind", "computations", "order"),
    [("peer_udp.py", (), "udp", 7, "asynchronous"), ("peer_tcp.py", (), "tcp", 5, "causal")],
)
def test_nodes_generate_what_they_do_by_lines(
    name: str, more: tuple[str, ...], kind: str, computations: int, order: str
) -> None:
    found = conformance(example(name, *more), kind)
    assert found.verdict == "holds"
    assert found.realization is not None
    assert found.realization.computations == computations
    assert order in found.realization.equal_orders
    assert found.best_effort == BEST_EFFORT
    assert found.scope.endswith(BEST_EFFORT)
    assert found.json()["best_effort"] == BEST_EFFORT


def test_random_runs_find_what_the_wrong_node_breaks_and_it_can_be_repeated() -> None:
    right, wrong = example("peer_tcp.py"), example("peer_tcp.py", "--wrong")
    request = Request(2, 3, orders=("causal",), replies=0)
    spoken = speaking("tcp", DELIVERED)
    with closing(SocketNodes(wrong, spoken, 2, NodeLimits(seconds=SECONDS))) as nodes:
        found = conform_at_random(nodes, request, 6, seed=1)
        assert found.verdict == "violated"
        assert found.best_effort is not None
        schedule = found.schedule(found["causal"])
        assert schedule is not None
        assert not replay(nodes, schedule)
    with closing(SocketNodes(right, spoken, 2, NodeLimits(seconds=SECONDS))) as nodes:
        again = replay(nodes, schedule)
        assert again
        assert again.best_effort == BEST_EFFORT


#: Nodes that keep every message, and say so later or by other ways.
GOOD = {
    "a timer in a thread of its own": (
        "def on_packet(message): threading.Timer(0.05, say, ['delivered', message]).start()",
        False,
    ),
    "a sleep": ("def on_packet(message): time.sleep(0.05); say('delivered', message)", False),
    "a sleep before it sends": ("def on_send(*given): time.sleep(0.05); transmit(*given)", False),
    "looks every so often": (
        (
            "own.settimeout(0.01)\ndef receive():\n"
            "    while True:\n        try: on_packet(own.recv(1 << 16).decode())\n        except TimeoutError: pass"
        ),
        True,
    ),
    "a queue that is looked at every so often": (
        (
            "kept = []\ndef on_packet(message): kept.append(message)\n"
            "def look():\n    while True:\n        time.sleep(0.02)\n"
            "        while kept: say('delivered', kept.pop(0))\n"
            "threading.Thread(target=look, daemon=True).start()"
        ),
        True,
    ),
    "another process says it": (
        (
            "def on_packet(message):\n"
            "    subprocess.run([sys.executable, '-I', '-S', '-c', f'print(\"delivered\", {message!r})'])"
        ),
        False,
    ),
    "prints other lines": ("def on_packet(message): say('got', message); say('x delivered', message, 'now')", False),
    "a timer that rings much later": ("threading.Thread(target=time.sleep, args=[999], daemon=True).start()", False),
}


@pytest.mark.parametrize("what", GOOD)
def test_an_answer_is_not_taken_to_have_ended_before_it_has(what: str, tmp_path: Path) -> None:
    different, by_time = GOOD[what]
    found = conformance(relay(tmp_path, different), messages=1)
    assert [one.note for one in found.failures] == []
    assert found.verdict == "holds"
    assert found.realization is not None
    assert found.realization.computations == 2
    assert found.best_effort is not None
    assert ("ended while a timer" in found.best_effort) == by_time
    assert ("left aside" in found.best_effort) == ("later" in what)


def test_a_delay_that_is_longer_than_what_is_waited_for_is_noticed_or_left_aside(tmp_path: Path) -> None:
    delayed = relay(tmp_path, "def on_packet(message): threading.Timer(0.2, say, ['delivered', message]).start()")
    found = conformance(delayed, settle=0.05, messages=1)
    assert found.verdict != "holds"
    assert found.best_effort is not None
    assert "timers of more than 0.05 s were left aside" in found.best_effort


#: Nodes that fail: how, in which words.
BAD = {
    "busy": ("def on_packet(message):\n    while True: pass", "hangs", "given a packet from 0 it is still running"),
    "reads no lines": ("bind(); threading.Event().wait()", "hangs", "'send 1 1-2.1' it does not read it"),
    "reads no packets": ("def receive(): threading.Event().wait()", "hangs", "does not take|takes no notice"),
    "exits": ("def on_packet(message): os._exit(3)", "node-fails", "exits with code 3"),
    "invents": ("def on_packet(message): say('delivered other')", "invents", "other"),
    "floods": ("def on_send(*given):\n    while True: transmit(*given)", "floods", "more than|faster"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_node_that_fails_fails_in_the_right_way(what: str, tmp_path: Path) -> None:
    different, kind, said = BAD[what]
    found = conformance(relay(tmp_path, different), messages=1, seconds=1.0)
    assert [one.name for one in found.failures] == [kind]
    assert re.search(said, found.failures[0].note), found.failures[0].note


@pytest.mark.parametrize(
    ("different", "said"),
    [
        ("def bind(): own.bind(('127.0.0.1', 0))", "does not listen at 127.0.0.1:"),
        ("sys.exit('no such thing')", "exits with code 1; its standard error ends: no such thing"),
        ("say('delivered hello')", "before its first input it delivers hello"),
    ],
)
def test_a_program_that_does_not_start_as_it_should_is_refused(different: str, said: str, tmp_path: Path) -> None:
    with (
        closing(SocketNodes(relay(tmp_path, different), speaking("udp", DELIVERED), 2)) as nodes,
        pytest.raises(BadInput, match=said),
    ):
        nodes.check_start()


#: A node that tells all others every 0.3 s that it is there.
HEARTBEATS = (
    "def beat(number=0):\n    while True:\n        time.sleep(0.3); number += 1; say('beat', number)\n"
    "        for peer in range(len(peers)): transmit(peer, f'alive {number}')\n"
    "bind()\ndef bind(): pass\nthreading.Thread(target=beat, daemon=True).start()"
)


def test_heartbeats_that_are_named_are_set_aside(tmp_path: Path) -> None:
    found = conformance(relay(tmp_path, HEARTBEATS), messages=1, ignored=re.compile(r"(alive|beat) \d+"))
    assert [one.note for one in found.failures] == []
    assert found.verdict == "holds"
    assert found.realization is not None
    assert found.realization.computations == 2


def test_a_node_with_heartbeats_is_pointed_to_the_option(tmp_path: Path) -> None:
    nodes = SocketNodes(relay(tmp_path, HEARTBEATS), speaking("udp", DELIVERED), 2, NodeLimits(seconds=1.5))
    with closing(nodes), pytest.raises(BadInput, match="--ignore REGEX sets heartbeats aside"):
        nodes.check_start()


def test_a_heartbeat_in_a_stream_is_set_aside_between_packets() -> None:
    proxies = OfStreams(1, "line", 1 << 10, SECONDS, re.compile("alive"))
    poll = select.poll()
    proxies.watched(poll)
    with socket.create_connection(("127.0.0.1", proxies.ports[0])) as node:
        assert not read_all(proxies, poll)
        node.sendall(b"alive\n")
        assert not read_all(proxies, poll)
        node.sendall(b"alive\nm1\nalive\n")
        assert read_all(proxies, poll)
        assert [one.body for one in proxies.take_packets()] == [b"m1"]
    proxies.close()


def read_all(proxies: OfStreams, poll: select.poll) -> bool:
    """Reads what has come once something has; true if any of it counts."""
    (number, _), *_ = poll.poll(SECONDS * 1000)
    return proxies.read(number)


@pytest.mark.parametrize("frame", ["line", "length"])
def test_packets_come_out_of_a_stream_as_they_went_in(frame: Frame) -> None:
    bodies = [b"one", b"", b"three and more"]
    stream, received, found = b"".join(framed(body, frame) for body in bodies), bytearray(), []
    for k in range(len(stream)):
        received += stream[k : k + 1]
        found += packets_in(received, frame, 100)
    assert found == bodies
    assert not received


#: A node of TCP whose packets follow their lengths, and all of whose sends go by one connection a receiver.
LENGTHS = """
import socket, sys, threading
def address(text): return (text.split(":")[0], int(text.split(":")[1]))
listen, peers = address(sys.argv[4]), [address(one) for one in sys.argv[6].split(",")]
server, connections = socket.create_server(listen), {}
def receive(stream):
    while size := stream.read(4):
        print("delivered", stream.read(int.from_bytes(size, "big")).decode(), flush=True)
def accept():
    while True:
        threading.Thread(target=receive, args=[server.accept()[0].makefile("rb")], daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
for line in sys.stdin:
    _, to, message = line.split()
    if to not in connections:
        connections[to] = socket.create_connection(peers[int(to)])
    connections[to].sendall(len(message).to_bytes(4, "big") + message.encode())
"""


@pytest.mark.parametrize(("frame", "fails"), [("length", None), ("line", "not-understood")])
def test_what_a_packet_of_a_stream_is_the_frame_says(frame: str, fails: str | None, tmp_path: Path) -> None:
    (tmp_path / "node.py").write_text(LENGTHS)
    command = [sys.executable, "-I", "-S", str(tmp_path / "node.py"), *ADDRESSES]
    with closing(SocketNodes(command, speaking("tcp", DELIVERED, frame=frame), 2)) as nodes:
        found = conform(nodes, Request(2, 2, channel="fifo", replies=0, channels=False))
    assert [one.name for one in found.failures] == ([] if fails is None else [fails])
    if fails is None:
        assert found.realization is not None
        assert found.realization.computations == 5


UDP = ["--sockets", "udp", "--deliver", DELIVERED]
WRONG = {
    "the command has no {listen}": [*UDP, "--", "node", "{peers}"],
    "the command has no {peers}": [*UDP, "--", "node", "{listen}"],
    "unknown kind of sockets 'sctp'": ["--sockets", "sctp", "--deliver", "x", "--", "node"],
    "--sockets without --deliver": ["--sockets", "udp", "--", "node"],
    "--deliver has no group 'message'": ["--sockets", "udp", "--deliver", "x", "--", "node"],
    "--send has no {to}": [*UDP, "--send", "{message}", "--", "node"],
    "--frame: only with --sockets tcp": [*UDP, "--frame", "line", "--", "node"],
    "--settle without --sockets": ["--settle", "1", "--", "node"],
    "--ticks and --sockets do not go together": [*UDP, "--ticks", "1", "--", "node"],
    "--replies and --sockets do not go together": [*UDP, "--replies", "1", "--", "node"],
    "--sockets: only of a command": ["node.py:Node", *UDP],
    "none-such cannot be started": [*UDP, "--", "none-such", "{listen}", "{peers}"],
}


@pytest.mark.parametrize("said", WRONG)
def test_what_cannot_be_is_refused_in_a_line(said: str, crownless: Crownless) -> None:
    answer = crownless("conform", *WRONG[said])
    assert answer.code == 2
    assert said in answer.err


def test_elsewhere_it_is_refused(crownless: Crownless, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    answer = crownless("conform", *UDP, "--", "node", "{listen}", "{peers}")
    assert answer.code == 2
    assert "--sockets needs Linux" in answer.err


def test_the_command_says_that_it_is_best_effort(crownless: Crownless) -> None:
    answer = crownless("conform", "-n", "2", "-m", "1", "--quiet", *UDP, "--", *example("peer_udp.py"))
    assert answer.code == 0
    assert answer.out.rstrip().endswith("(best effort)")
