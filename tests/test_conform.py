"""`crownless conform`: verdicts on nodes, the figures that they share with protocols, the command and the interface."""

from __future__ import annotations

import json
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless
from hostile_classes import Relay

import crownless as cr
from crownless.impl import own_protocols
from crownless.impl.protocol import Packet, ProtocolMachine
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.conformance.conformance_request import JUDGED, Request
from crownless.model_check.conformance.conforming import conform
from crownless.model_check.conformance.in_process import InProcess
from crownless.spec.computation import Message
from crownless.spec.errors import BadInput

NODES = Path(__file__).parent.parent / "examples" / "nodes" / "python"
CAUSAL = str(NODES / "causal.py")


class OfProtocol:
    """A node that runs the machine of a protocol, with a hold-back queue of its own."""

    machine: type[ProtocolMachine]

    def __init__(self, process: int, processes: int, transmit: Any, deliver: Any) -> None:
        self.me, self.transmit, self.deliver = process, transmit, deliver
        self.protocol = self.machine(processes)
        self.state = self.protocol.initial(process)
        self.waiting: list[Packet] = []
        self.sends = [0] * processes

    def on_send(self, to: int, message: str) -> None:
        self.take(self.protocol.send(self.me, self.state, Message(message, self.me, (to,))))

    def on_packet(self, source: int, packet: Packet) -> None:
        self.waiting.append(packet)
        while ready := [held for held in self.waiting if self.protocol.deliverable(self.me, self.state, held)]:
            self.waiting.remove(ready[0])
            self.take(self.protocol.on_packet(self.me, self.state, ready[0]))

    def take(self, steps: Any) -> None:
        (step,) = steps
        self.state = step.state
        for packet in step.packets:
            self.transmit(packet.destination, packet)
        for event in step.events:
            if event.kind == "deliver":
                self.deliver(event.message.name)


def of_protocol(name: str) -> type:
    return type(name.replace("-", "_"), (OfProtocol,), {"machine": PROTOCOLS[name]})


@pytest.mark.parametrize(
    ("name", "order", "computations"),
    [("unordered", "asynchronous", 416), ("fifo-sequence", "fifo", 284), ("rst", "causal", 278)],
)
def test_nodes_generate_what_their_protocol_generates(name: str, order: str, computations: int) -> None:
    found = cr.conform(of_protocol(name), 3, 3, replies=0)
    assert found.realization is not None
    assert (found.realization.computations, found.generates_exactly) == (computations, order)
    assert found.verdict == "holds"


def test_a_relay_breaks_all_orders_by_shortest_runs() -> None:
    found = cr.conform(Relay, 3, 3)
    assert found.kept == ["asynchronous"]
    runs = {name: found[name].run for name in JUDGED}
    assert {name: run and len(run) for name, run in runs.items()} == {
        "fifo": 3,
        "causal": 3,
        "mailbox": 3,
        "one-n": 3,
        "n-n": 3,
        "synchronous": 2,
    }
    assert found.kept_over_fifo == ["fifo"]
    assert found.verdict == "holds"
    assert cr.conform(Relay, 2, 2, orders=["fifo"]).verdict == "violated"


@pytest.mark.parametrize(
    ("name", "order", "computations"),
    [("unordered", "asynchronous", 4581), ("fifo-sequence", "fifo", 2280), ("rst", "causal", 2136)],
)
@pytest.mark.thorough
def test_and_with_four_messages(name: str, order: str, computations: int) -> None:
    found = cr.conform(of_protocol(name), 3, 4, replies=0)
    assert found.realization is not None
    assert (found.realization.computations, found.generates_exactly) == (computations, order)
    assert found.verdict == "holds"


def test_only_replies_from_inside_a_delivery_show_a_clock_that_is_set_after_it() -> None:
    assert cr.conform(f"{CAUSAL}:ClockAfterCallback", 3, 3, orders=["causal"], replies=0)
    found = cr.conform(f"{CAUSAL}:ClockAfterCallback", 3, 3, orders=["causal"])
    assert found.verdict == "violated"
    assert found["causal"].search == "replies from inside deliveries"
    assert [found[name].verdict for name in JUDGED] == ["holds", *["violated"] * 5]
    assert found.kept_over_fifo == ["fifo"]


def test_what_is_not_delivered_is_named() -> None:
    found = cr.conform(f"{CAUSAL}:BroadcastClocks", 3, 2)
    assert found.verdict == "violated"
    assert found["delivers-all"].note == "never delivered: m2 at P3"


class Fails(Relay):
    def on_packet(self, source: int, packet: str) -> None:
        raise KeyError(packet)


def test_beyond_a_failure_no_delivery_is_judged() -> None:
    found = cr.conform(Fails, 2, 2)
    assert [one.name for one in found.failures] == ["node-fails"]
    assert "KeyError" in found["node-fails"].note
    assert found["node-fails"].run is not None
    assert len(found["node-fails"].run) == 2
    assert found["delivers-all"].verdict == "unknown"
    assert found.verdict == "violated"


class FailsAtTheSecond(Relay):
    """Delivers the first packet, and fails at the next one."""

    full = False

    def on_packet(self, source: int, packet: str) -> None:
        assert not self.full
        self.full = True
        self.deliver(packet)


class FailsAtTheThird(Relay):
    """Delivers two packets, and fails at the next one."""

    packets = 0

    def on_packet(self, source: int, packet: str) -> None:
        self.packets += 1
        assert self.packets < 3
        self.deliver(packet)


@pytest.mark.parametrize(
    ("kind", "processes", "channel", "kept", "shown"),
    [
        (FailsAtTheSecond, 2, "unordered", [], "fifo"),
        (FailsAtTheThird, 2, "unordered", [], "fifo"),
        (FailsAtTheThird, 3, "fifo", ["fifo"], "causal"),
    ],
)
def test_a_run_that_breaks_an_order_breaks_the_stronger_ones_though_a_node_fails(
    kind: type, processes: int, channel: str, kept: list[str], shown: str
) -> None:
    found = cr.conform(kind, processes, 3, channel=channel, replies=0)
    assert [one.name for one in found.failures] == ["node-fails"]
    assert [name for name in JUDGED if found[name].verdict == "violated"] == [n for n in JUDGED if n not in kept]
    for name in ("mailbox", "one-n", "n-n"):
        assert found[name].run == found[shown].run is not None
        assert found[name].note == f"the run that breaks {shown} order, which is weaker"
    assert [found[name].verdict for name in kept] == ["unknown"] * len(kept)


def test_of_broadcasts_a_run_that_breaks_causal_order_says_nothing_of_one_n() -> None:
    class Broadcasts(FailsAtTheSecond):
        def on_send(self, to: Any, message: str) -> None:
            for receiver in to:
                self.transmit(receiver, message)

    found = cr.conform(Broadcasts, 3, 2, channel="fifo", sends="broadcast", replies=0)
    verdicts = {name: found[name].verdict for name in JUDGED}
    broken = ("causal", "mailbox", "n-n", "synchronous")
    assert verdicts == {name: "violated" if name in broken else "unknown" for name in JUDGED}


class Doubts(Relay):
    """Delivers the wrong one once in a while."""

    calls = 0

    def on_packet(self, source: int, packet: str) -> None:
        Doubts.calls += 1
        if Doubts.calls % 7:
            self.deliver(packet)


def test_a_node_that_counts_all_its_calls_is_not_deterministic() -> None:
    assert [one.name for one in cr.conform(Doubts, 2, 2).failures] == ["not-deterministic"]


def test_a_program_is_driven_by_lines(crownless: Crownless) -> None:
    command = [sys.executable, str(NODES / "adapter.py"), "causal.py:Matrix"]
    assert cr.conform(command, 2, 2, orders=["causal"])
    answer = crownless("conform", "-n", "2", "-m", "2", "--json", "--order", "causal", "--", *command)
    assert answer.code == 0
    facts = answer.json
    assert facts["verdict"] == "holds"
    assert facts["orders"]["synchronous"]["verdict"] == "violated"
    assert [action["action"] for action in facts["orders"]["synchronous"]["run"]] == ["send", "send"]
    assert facts["generates"]["equals"] == "causal"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no implementation is named; give a class, such as node.py:MyNode"),
        (["./their-node"], "'./their-node' is no class of a file; give its class"),
        ([f"{CAUSAL}:Matrix", "--", "true"], "one implementation at a time"),
        (["--"], "there is no command after --"),
        (["--", "/nonexistent"], "/nonexistent cannot be started: No such file or directory"),
        ([f"{CAUSAL}:Matrx"], "did you mean 'Matrix'?"),
        ([f"{CAUSAL}:Matrix", "--order", "casual"], "did you mean 'causal'?"),
        ([f"{CAUSAL}:Matrix", "--channel", "fofi"], "did you mean 'fifo'?"),
        ([f"{CAUSAL}:Matrix", "--sends", "unicorn"], "did you mean 'unicast'?"),
        ([f"{CAUSAL}:Matrix", "--form", "json"], "--form: only of a command after --"),
        (["--form", "jsn", "--", "true"], "did you mean 'json'?"),
        ([f"{CAUSAL}:Matrix", "-n", "1"], "-n/--processes 1: not 2 to 16"),
        ([f"{CAUSAL}:Matrix", "-m", "0"], "-m/--messages 0: not 1 to 64"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_line(crownless: Crownless, arguments: list[str], said: str) -> None:
    answer = crownless("conform", *arguments)
    assert answer.code == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1


def test_a_class_without_methods_is_refused() -> None:
    with pytest.raises(BadInput, match="object has no method on_send"):
        conform(InProcess(object, 2), Request(2, 2))


def test_a_replayed_run_is_drawn_into_files(crownless: Crownless, tmp_path: Path) -> None:
    file, svg, html = (str(tmp_path / name) for name in ("schedule.json", "run.svg", "run.html"))
    wrong = f"{CAUSAL}:OnePass"
    assert crownless("conform", wrong, "--order", "causal", "--save", file).code == 1
    assert crownless("conform", wrong, "--replay", file, "--svg", svg, "--html", html).code == 1
    assert all("OnePass breaks" in Path(name).read_text("utf-8") for name in (svg, html))


def test_a_schedule_is_saved_and_replayed(crownless: Crownless, tmp_path: Path) -> None:
    file = str(tmp_path / "schedule.json")
    answer = crownless("conform", f"{CAUSAL}:OnePass", "-n", "2", "--quiet", "--save", file)
    assert answer.code == 1
    assert f"{file}: the schedule that breaks delivers-all" in answer.err
    again = crownless("conform", f"{CAUSAL}:OnePass", "--replay", file)
    assert again.code == 1
    assert "OnePass still breaks delivers-all by this schedule" in again.out
    assert "4. P2: deliver m1 from P1" in again.out
    right = crownless("conform", f"{CAUSAL}:Matrix", "--replay", file)
    assert right.code == 0
    assert "at step 4, at P2: deliver m1 and deliver m2; before: deliver m1" in right.out
    drawn = crownless("show", file)
    assert (drawn.code, drawn.out.split(":\n", 1)[1] in again.out) == (0, True)
    assert crownless("show", file, "--svg", str(tmp_path / "run.svg")).code == 0
    program = crownless(
        "conform", "--replay", file, "--json", "--", sys.executable, str(NODES / "adapter.py"), "causal.py:OnePass"
    )
    assert program.code == 1
    assert (program.json["broken"], program.json["differs"]) == (["delivers-all"], None)


@pytest.mark.parametrize(
    ("name", "breaks"),
    [
        ("ClockAfterCallback", "causal"),
        ("OwnColumn", "causal"),
        ("OverwritingMerge", "fifo"),
        ("StampBeforeIncrement", "fifo"),
    ],
)
def test_a_replayed_schedule_breaks_what_it_broke(name: str, breaks: str) -> None:
    request = Request(3, 3, orders=(breaks,), channels=False)
    found = conform(InProcess(own_protocols.load_node(f"{CAUSAL}:{name}"), 3), request)
    schedule = found.schedule(found[breaks])
    assert schedule is not None
    again = cr.replay(f"{CAUSAL}:{name}", schedule.json())
    assert not again
    assert again.run == found[breaks].run
    assert (again.differs, breaks in again.broken) == (None, True)
    assert cr.replay(f"{CAUSAL}:Matrix", schedule.json())


def test_what_conform_prints_as_json_is_drawn(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    for options in ([], ["--random", "50"]):
        found = crownless("conform", f"{CAUSAL}:OnePass", "-n", "3", "-m", "3", "--json", *options)
        file.write_text(found.out, "utf-8")
        drawn = crownless("show", str(file))
        assert drawn.code == 0
        assert f"{CAUSAL}:OnePass breaks delivers-all:\nP1" in drawn.out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"transmits": []},
            "step 3 takes packet 2 from P1, which no step before transmits; write the schedule once mo",
        ),
        ({"transmits": [{"kind": "message", "message": "m1", "to": "P7"}]}, "step 1 names 'P7'"),
        ({"happens": ["send"]}, "step 1: 'send' is nothing that happens; such as 'deliver m1'"),
        ({"action": "sleep"}, "step 1 is 'sleep', and takes no packet"),
    ],
)
def test_a_schedule_that_cannot_be_drawn_is_refused(
    crownless: Crownless, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    found = cr.conform(Relay, 2, 2, orders=["fifo"], replies=0)
    schedule = found.schedule(found["fifo"])
    assert schedule is not None
    saved = schedule.json()
    saved["schedule"]["steps"][0] |= change
    file = tmp_path / "schedule.json"
    file.write_text(json.dumps(saved))
    answer = crownless("show", str(file))
    assert (answer.code, said in answer.err, answer.err.count("\n")) == (2, True, 1), answer.err


def test_a_schedule_becomes_a_test(crownless: Crownless, tmp_path: Path) -> None:
    answer = crownless("conform", f"{CAUSAL}:StampBeforeIncrement", "-n", "2", "--order", "fifo", "--as-test")
    namespace: dict[str, Any] = {}
    exec(compile(answer.out, "test_fifo.py", "exec"), namespace)
    with pytest.raises(AssertionError):
        namespace["test_fifo"]()
    namespace["SCHEDULE"]["steps"].pop()
    namespace["test_fifo"]()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", "missing required field schedule"),
        ("[", "not JSON"),
        ('{"schedule": {"processes": "2"}}', "expected int, got str, at $.schedule.processes"),
    ],
)
def test_a_damaged_schedule_is_refused(crownless: Crownless, tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "schedule.json"
    file.write_text(content)
    answer = crownless("conform", f"{CAUSAL}:Matrix", "--replay", str(file))
    assert (answer.code, said in answer.err, answer.err.count("\n")) == (2, True, 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"processes": 99}, "it has 99 processes"),
        ({"channel": "tube"}, "channel"),
        ({"sends": "none"}, "kind of sends"),
        ({"steps": [{"process": "P9", "action": "send"}]}, "step 1 names 'P9'"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(change: dict[str, Any], said: str) -> None:
    found = cr.conform(Relay, 2, 2, orders=["fifo"], replies=0)
    schedule = found.schedule(found["fifo"])
    assert schedule is not None
    given = schedule.json()["schedule"] | change
    with pytest.raises(BadInput, match=said):
        cr.replay(Relay, given)


RELAY = """
import sys

for line in sys.stdin:
    word, _, rest = line.rstrip().partition(" ")
    if word == "send":
        to, message = rest.split()
        print("packet", to, message)
    elif word == "packet":
        print("deliver", rest.split()[1])
    if word != "reply":
        print("ok", flush=True)
"""


def test_a_program_that_does_not_say_that_it_takes_replies_is_judged_by_free_sends_alone(crownless: Crownless) -> None:
    answer = crownless("conform", "-n", "2", "-m", "2", "--quiet", "--", sys.executable, "-c", RELAY)
    assert answer.code == 0
    assert "replies from inside deliveries: not offered, the node does not say `ok replies`" in answer.out
    assert "replies from inside deliveries: up to" not in answer.out


def test_a_program_that_does_not_start_is_bad_input(crownless: Crownless) -> None:
    answer = crownless("conform", "--", sys.executable, "-c", "import sys; sys.exit('no such thing')")
    assert answer.code == 2
    assert "does not start: given 'init 0 3' it exits with code 1" in answer.err
    assert "no such thing" in answer.err


class PlainPacket:
    """An object without equality."""

    def __init__(self, message: str) -> None:
        self.message = message


class Wraps(Relay):
    def on_send(self, to: int, message: str) -> None:
        self.transmit(to, PlainPacket(message))

    def on_packet(self, source: int, packet: Any) -> None:
        self.deliver(packet.message)


def test_packets_may_be_objects_without_equality() -> None:
    assert conform(InProcess(Wraps, 2), Request(2, 2, channels=False)).verdict == "holds"


class ToAll:
    """Broadcasts, and delivers its own messages too."""

    def __init__(self, process: int, processes: int, transmit: Any, deliver: Any) -> None:
        self.transmit, self.deliver = transmit, deliver

    def on_send(self, to: tuple[int, ...], message: str) -> None:
        for q in to:
            self.transmit(q, message)

    def on_packet(self, source: int, packet: str) -> None:
        self.deliver(packet)


def test_broadcasts_have_several_receivers_and_may_have_the_sender_among_them() -> None:
    found = conform(InProcess(ToAll, 3), Request(3, 2, sends="broadcast", channels=False))
    assert found.verdict == "holds"
    assert set(found.strongest) <= set(found.kept)
    own = Request(2, 1, sends="broadcast", self_sends=True, channels=False)
    assert conform(InProcess(ToAll, 2), own).verdict == "holds"


class DeliversItsOwn(Relay):
    def on_send(self, to: int, message: str) -> None:
        self.deliver(message)
        super().on_send(to, message)


def test_who_delivers_its_own_messages_is_pointed_to_the_option() -> None:
    found = conform(InProcess(DeliversItsOwn, 2), Request(2, 1))
    assert [one.name for one in found.failures] == ["invents"]
    assert "if applications deliver their own messages too, say so: --self-sends" in found["invents"].note
    assert found["synchronous"].verdict == "unknown"
    assert found.kept == ["asynchronous"]


def test_what_is_unknown_is_neither_true_nor_false() -> None:
    found = cr.conform(Relay, 3, 3, max_seconds=0)
    assert found.verdict == "unknown"
    with pytest.raises(cr.Undecided):
        assert found
    with pytest.raises(cr.NoSuchName, match="did you mean 'causal'"):
        found["casual"]


def test_a_protocol_that_was_copied_can_still_be_proved_and_checked() -> None:
    deepcopy(PROTOCOLS["rst"](2))
    assert "__slotnames__" in vars(PROTOCOLS["rst"])  # which copying leaves behind in a class
    assert cr.check("rst", 2, 2)
    assert cr.prove("rst")


class Twice(Relay):
    def on_packet(self, source: int, packet: str) -> None:
        self.deliver(packet)
        self.deliver(packet)


class Guesses(Relay):
    """Delivers the message that comes next on the channel, too."""

    def on_packet(self, source: int, packet: str) -> None:
        channel, number = packet.split(".")
        self.deliver(f"{channel}.{int(number) + 1}")


@pytest.mark.parametrize(("kind", "said"), [(Twice, "P2 delivers m1 a second time"), (Guesses, "before it is sent")])
def test_what_is_delivered_twice_or_too_early_is_named(kind: type, said: str) -> None:
    found = conform(InProcess(kind, 2), Request(2, 2, channels=False))["delivers-once"]
    assert found.verdict == "violated"
    assert said in found.note
