"""`crownless conform`: verdicts on nodes, the figures that they share with protocols, the command and the interface."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless
from judged_orders import CAUSAL, JUDGED
from relays import Relay, program

import crownless as cr
from crownless.command_line.commands.conform_report import conclusion
from crownless.oracle.conformance.conformance_request import WITH_REPLIES, Request
from crownless.oracle.conformance.conforming import conform
from crownless.oracle.conformance.in_process import InProcess
from crownless.runtime.ending import Limits
from crownless.runtime.errors import BadInput


class FailsAtOnce(Relay):
    """Fails at the packet of this number."""

    fails_at, packets = 1, 0

    def on_packet(self, source: int, packet: str) -> None:
        self.packets += 1
        if self.packets == self.fails_at:
            raise KeyError(packet)
        self.deliver(packet)


class FailsAtTheSecond(FailsAtOnce):
    fails_at = 2


class FailsAtTheThird(FailsAtOnce):
    fails_at = 3


def test_beyond_a_failure_no_delivery_is_judged() -> None:
    found = cr.conform(FailsAtOnce, 2, 2)
    assert [line.property.name for line in found.failures] == ["node-fails"]
    assert "KeyError" in found["node-fails"].note
    assert len(found["node-fails"].run or ()) == 2
    assert (found["delivers-all"].verdict, found.verdict) == ("unknown", "violated")


@pytest.mark.parametrize(
    ("kind", "processes", "channel", "kept", "shown"),
    [(FailsAtTheSecond, 2, "unordered", [], "fifo"), (FailsAtTheThird, 3, "fifo", ["fifo"], "causal")],
)
def test_a_run_that_breaks_an_order_breaks_the_stronger_ones_though_a_node_fails(
    kind: type, processes: int, channel: str, kept: list[str], shown: str
) -> None:
    found = cr.conform(kind, processes, 3, channel=channel, replies=0)
    assert [name for name in JUDGED if found[name].verdict == "violated"] == [n for n in JUDGED if n not in kept]
    for name in ("mailbox", "one-n", "n-n"):
        assert found[name].run == found[shown].run is not None
        assert found[name].note == f"the run that violates {shown} order, which is weaker"
    assert [found[name].verdict for name in kept] == ["unknown"] * len(kept)


def test_of_broadcasts_a_run_that_breaks_causal_order_says_nothing_of_one_n() -> None:
    found = cr.conform(FailsAtTheSecond, 3, 2, channel="fifo", sends="broadcast", replies=0)
    broken = ("causal", "mailbox", "n-n", "synchronous")
    assert [name for name in JUDGED if found[name].verdict == "violated"] == [n for n in JUDGED if n in broken]


def test_broadcasts_have_several_receivers_and_may_have_the_sender_among_them() -> None:
    assert cr.conform(Relay, 3, 2, sends="broadcast").verdict == "holds"
    assert cr.conform(Relay, 2, 1, sends="broadcast", self_sends=True).verdict == "holds"


class DeliversItsOwn(Relay):
    def on_send(self, to: int, message: str) -> None:
        self.deliver(message)
        super().on_send(to, message)


def test_who_delivers_its_own_messages_is_pointed_to_the_option() -> None:
    found = cr.conform(DeliversItsOwn, 2, 1)
    assert [line.property.name for line in found.failures] == ["invents"]
    assert "if senders deliver their own broadcasts: --sends broadcast-to-all, or sends=" in found["invents"].note
    assert (found["synchronous"].verdict, found.kept) == ("unknown", ["asynchronous"])


def test_a_class_or_the_request_says_that_they_do() -> None:
    said = type("SaysSo", (DeliversItsOwn,), {"sends": "broadcast-to-all", "on_packet": lambda self, *_: None})
    for found in (cr.conform(said, 2, 1), cr.conform(said, 2, 1, sends="broadcast", self_sends=True)):
        assert not found.failures
        assert found["delivers-all"].verdict == "violated"
        assert (found.json()["sends"], found.json()["self_sends"]) == ("broadcast", True)
    assert cr.conform(Relay, 2, 1, sends="broadcast-to-all").verdict == "holds"


@pytest.mark.parametrize(
    ("sends", "receivers"), [("unicast", int), ("multicast", tuple), ("broadcast", tuple), ("broadcast-to-all", tuple)]
)
def test_a_node_gets_one_receiver_of_unicasts_and_a_tuple_of_all_others(sends: Any, receivers: type) -> None:
    class Notes(Relay):
        def on_send(self, to: Any, message: str) -> None:
            assert isinstance(to, receivers), to
            super().on_send(to, message)

    assert not cr.conform(Notes, 2, 1, sends=sends).failures


class Guesses(Relay):
    """Delivers the message that comes next on the channel."""

    def on_packet(self, source: int, packet: str) -> None:
        channel, number = packet.split(".")
        self.deliver(f"{channel}.{int(number) + 1}")


def test_what_is_delivered_too_early_is_named() -> None:
    found = cr.conform(Guesses, 2, 2)["delivers-once"]
    assert found.verdict == "violated"
    assert "before it is sent" in found.note


# -- what is counted ---------------------------------------------------------------------------------------------------


class Rendezvous(Relay):
    """Delivers nothing before its own message is acknowledged: two that send to each other wait for ever."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.waiting: list[Any] = []

    def on_send(self, to: int, message: str) -> None:
        self.waiting.append((to, message))
        if len(self.waiting) == 1:
            self.transmit(to, message)

    def on_packet(self, source: int, packet: str) -> None:
        if packet == "ack":
            self.waiting.pop(0)
            if self.waiting:
                self.transmit(*self.waiting[0])
        elif not self.waiting:
            self.deliver(packet)
            self.transmit(source, "ack")


def test_an_order_that_is_broken_by_runs_that_cannot_be_completed_is_said_to_be(crownless: Crownless) -> None:
    answer = crownless("conform", f"{__file__}:Rendezvous", "-n", "2", "-m", "2", "--quiet")
    assert "synchronous  violated" in answer.out
    assert "generates 4 complete computations (2 messages, all delivered), exactly those of synchronous" in answer.out
    assert "runs that cannot be completed, which are not counted, violate synchronous" in answer.out


def test_an_order_that_is_the_same_as_a_weaker_one_within_the_bound_is_named(crownless: Crownless) -> None:
    arguments = ["conform", f"{CAUSAL}:Matrix", "-n", "2", "-m", "2", "--replies", "0", "--order"]
    said = "within this bound causal is the same as fifo order; -n 3 -m 3 distinguishes them"
    assert said in crownless(*arguments, "causal", "--quiet").out
    same = crownless(*arguments, "causal", "--json").json["same_orders"]
    assert same == [{"order": "causal", "weaker": ["fifo"], "processes": 3, "messages": 3}]
    assert "is the same as" not in crownless(*arguments, "fifo", "--quiet").out


# -- limits and progress -----------------------------------------------------------------------------------------------


def test_what_is_unknown_is_neither_true_nor_false() -> None:
    found = cr.conform(Relay, 3, 3, max_seconds=0)
    assert (found.verdict, found.ended_by) == ("unknown", "time limit of 0 s reached")
    with pytest.raises(cr.Undecided):
        assert found
    with pytest.raises(cr.NoSuchName, match="did you mean 'causal'"):
        found["casual"]


def test_a_limit_is_looked_at_before_each_input() -> None:
    inputs: list[int] = []

    class Late(Limits):
        def reached(self, seconds: float) -> str | None:
            return "enough inputs" if len(inputs) > 30 else None

    def on_input(search: str, number: int) -> None:
        inputs.append(number)

    found = conform(InProcess(Relay, 3), Request(3, 3, replies=0), Late(), on_input=on_input)
    assert (found.verdict, found.ended_by) == ("unknown", "enough inputs")
    assert found.queries < 40


def test_a_limit_in_the_search_with_replies_leaves_the_verdict_on_free_sends() -> None:
    replies: list[str] = []

    class EndsThere(Limits):
        def after(self, seconds: float) -> Limits:
            return Limits(seconds=0.0) if replies else self

    def on_input(search: str, _: int) -> None:
        replies.extend([search] * (search == WITH_REPLIES))

    request = Request(2, 2, channel="fifo", orders=("fifo",))
    found = conform(InProcess(Relay, 2), request, EndsThere(), on_input=on_input)
    assert found.verdict == "unknown"
    said = "Relay: unknown: time limit of 0 s reached; free sends keep fifo order; with replies it is undecided"
    assert conclusion(found) == said


@pytest.mark.parametrize("orders", [(), ("fifo",)])
def test_a_limit_while_answers_are_repeated_leaves_what_was_found(orders: tuple[str, ...]) -> None:
    repeats: list[str] = []

    class EndsThere(Limits):
        def after(self, seconds: float) -> Limits:
            return self

        def over(self, seconds: float) -> str | None:
            return "enough" if repeats else None

    def on_input(search: str, _: int) -> None:
        repeats.extend([search] * (search == "answers repeated by new nodes"))

    found = conform(InProcess(Relay, 2), Request(2, 2, orders=orders), EndsThere(), on_input=on_input)
    assert (found.verdict, found.ended_by) == ("violated" if orders else "unknown", "enough")
    assert len(found["fifo"].run or ()) == 3


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_summary_has_what_is_known(crownless: Crownless) -> None:
    answer = crownless("conform", f"{__file__}:Relay", "-n", "2", "-m", "2", "--quiet", "--order", "asynchronous")
    assert answer.code == 0
    out = " ".join(answer.out.split())
    assert "generates 7 complete computations (2 messages, all delivered), exactly those of asynchronous order" in out
    assert "if the real channel keeps the order of packets, like TCP: --channel fifo" in out
    assert "answers repeated by new nodes: each at least" in out
    assert "% or more per input (error < 1e-6)" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "no implementation is given; give either a class, such as node.py:MyNode"),
        (["./their-node"], "expected FILE.py:CLASS, got './their-node'; for a program: -- ./their-node"),
        ([f"{CAUSAL}:Matrix", "--", "true"], "a command are given"),
        (["--"], "no command after --"),
        (["--", "/nonexistent"], "/nonexistent cannot be started: No such file or directory"),
        ([f"{CAUSAL}:Matrx"], "did you mean 'Matrix'?"),
        ([f"{CAUSAL}:Matrix", "--order", "casual"], "did you mean 'causal'?"),
        ([f"{CAUSAL}:Matrix", "--channel", "fofi"], "did you mean 'fifo'?"),
        ([f"{CAUSAL}:Matrix", "--sends", "unicorn"], "did you mean 'unicast'?"),
        ([f"{CAUSAL}:Matrix", "-n", "1"], "1 process has no other process to send to"),
        ([f"{CAUSAL}:Matrix", "-m", "0"], "-m/--messages 0: too small; give 1 to 64"),
        ([f"{CAUSAL}:Matrix", "--replay", "x", "-n", "2"], "-n/--processes and --replay: the schedule has its own"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_line(crownless: Crownless, arguments: list[str], said: str) -> None:
    answer = crownless("conform", *arguments)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert said in answer.err


def test_the_verdicts_are_written_as_junit_has_them(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    answer = crownless("conform", f"{__file__}:Relay", "-n", "2", "-m", "2", "--order", "fifo", "--junit", str(file))
    assert answer.code == 1
    assert 'failures="1"' in file.read_text("utf-8")


# -- schedules ---------------------------------------------------------------------------------------------------------


def test_a_schedule_is_saved_drawn_and_replayed(crownless: Crownless, tmp_path: Path) -> None:
    file = str(tmp_path / "schedule.json")
    answer = crownless("conform", f"{CAUSAL}:OnePass", "-n", "2", "--quiet", "--save", file)
    assert answer.code == 1
    assert f"{file}: the schedule that violates delivers-all" in answer.err
    again = crownless("conform", f"{CAUSAL}:OnePass", "--replay", file)
    assert again.code == 1
    assert "OnePass still violates delivers-all by this schedule" in again.out
    assert "4. P2: deliver m1 from P1" in again.out
    right = crownless("conform", f"{CAUSAL}:Matrix", "--replay", file)
    assert right.code == 0
    assert "at step 4, at P2: deliver m1 and deliver m2; before: deliver m1" in right.out
    drawn = crownless("show", file)
    assert (drawn.code, drawn.out.split(":\n", 1)[1] in again.out) == (0, True)
    saved = crownless("conform", f"{CAUSAL}:OnePass", "--replay", file, "--json").json
    assert (saved["violated"], saved["differs"]) == (["delivers-all"], None)


class LosesTheRest(Relay):
    """Delivers only as many packets as there are processes."""

    def on_packet(self, source: int, packet: Any) -> None:
        self.n -= 1
        if self.n >= 0:
            self.deliver(packet)


def test_the_schedule_of_a_named_order_is_saved_before_another(crownless: Crownless, tmp_path: Path) -> None:
    command = ("conform", f"{__file__}:LosesTheRest", "-n", "2", "--quiet", "--save", str(tmp_path / "schedule.json"))
    assert "the schedule that violates fifo" in crownless(*command, "--order", "fifo").err
    assert "the schedule that violates delivers-all" in crownless(*command).err


def test_why_no_schedule_is_saved_depends_on_the_verdict(crownless: Crownless, tmp_path: Path) -> None:
    file, options = str(tmp_path / "schedule.json"), ("-n", "2", "-m", "2", "--replies", "0", "--quiet")
    kept = crownless("conform", f"{CAUSAL}:Matrix", *options, "--order", "causal", "--save", file)
    assert kept.err.endswith(f"{file} is not written: no required property is violated\n")
    unknown = crownless("conform", f"{CAUSAL}:Matrix", *options, "--max-seconds", "0", "--save", file)
    assert unknown.err.endswith(f"{file} is not written: no run was found that violates a required property\n")


class OldestFirst:
    """Holds a message until all earlier ones of its sender are there, and then delivers them all."""

    def __init__(self, process: int, processes: int, transmit: Any, deliver: Any) -> None:
        self.transmit, self.deliver = transmit, deliver
        self.sent: dict[int, int] = {}
        self.next: dict[int, int] = {}
        self.held: dict[tuple[int, int], Any] = {}

    def on_send(self, to: int, message: Any) -> None:
        self.sent[to] = self.sent.get(to, 0) + 1
        self.transmit(to, (self.sent[to], message))

    def on_packet(self, source: int, packet: Any) -> None:
        self.held[source, packet[0]] = packet[1]
        batch, number = [], self.next.get(source, 1)
        while (source, number) in self.held:
            batch.append(self.held.pop((source, number)))
            number += 1
        self.next[source] = number
        for message in self.in_order(batch):
            self.deliver(message)

    def in_order(self, batch: list[Any]) -> list[Any]:
        return batch


class NewestFirst(OldestFirst):
    """The same, except for the order of what it delivers at once."""

    def in_order(self, batch: list[Any]) -> list[Any]:
        return batch[::-1]


def test_the_order_of_the_deliveries_of_one_step_is_drawn_said_and_saved(crownless: Crownless, tmp_path: Path) -> None:
    file = str(tmp_path / "schedule.json")
    newest = crownless(*("conform", f"{__file__}:NewestFirst", "-n", "2", "-m", "2", "--order", "fifo", "--save", file))
    assert newest.code == 1
    words = "deliver m1 from P1 (delivers m2, then m1)"
    assert f"●   {words}" in newest.out
    assert f"4. P2: {words}" in newest.out
    oldest = crownless("conform", f"{__file__}:OldestFirst", "--replay", file)
    assert "P2: deliver m1 from P1 (delivers m1, then m2)" in oldest.out
    assert words not in oldest.out
    facts = crownless("conform", f"{__file__}:OldestFirst", "--replay", file, "--json").json["run"][-1]
    assert [one["message"] for one in facts["happens"]] == ["m1", "m2"]
    assert words in crownless("show", file).out


class AcknowledgesInTurn:
    """Receivers acknowledge by a number; a sender fails if the second acknowledgement comes first."""

    def __init__(self, process: int, processes: int, transmit: Any, deliver: Any) -> None:
        self.transmit, self.deliver, self.had = transmit, deliver, 0

    def on_send(self, to: int, message: Any) -> None:
        self.transmit(to, ("data", message))

    def on_packet(self, source: int, packet: Any) -> None:
        kind, content = packet
        if kind == "data":
            self.deliver(content)
            self.had += 1
            self.transmit(source, ("ack", self.had))
        elif content == 2:
            raise ValueError("the second came first")


def test_the_packet_at_which_a_node_fails_is_the_one_that_arrives(crownless: Crownless, tmp_path: Path) -> None:
    file = str(tmp_path / "schedule.json")
    command = ("conform", f"{__file__}:AcknowledgesInTurn")
    found = crownless(*command, "-n", "2", "-m", "2", "--replies", "0", "--save", file)
    assert "5. P1: receive packet #2 from P2" in found.out
    assert "packet #1 is in flight to P1" in found.out
    again = crownless(*command, "--replay", file)
    assert "still violates node-fails" in again.out
    assert "5. P1: receive packet #2 from P2" in again.out
    assert "5. P1: receive packet #2 from P2" in crownless("show", file).out


def test_what_conform_prints_as_json_is_drawn(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "found.json"
    for options in ([], ["--random", "50"]):
        found = crownless("conform", f"{CAUSAL}:OnePass", "-n", "2", "-m", "3", "--json", *options)
        file.write_text(found.out, "utf-8")
        drawn = crownless("show", str(file))
        assert drawn.code == 0
        assert f"{CAUSAL}:OnePass violates delivers-all:\nP1" in drawn.out


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "missing required field schedule"),
        ({"processes": "2"}, "expected int, got str, at $.schedule.request.processes"),
        ({"processes": 99}, "it has 99 processes"),
        ({"channel": "tube"}, "unknown channel 'tube'"),
        ({"sends": "none"}, "invalid enum value 'none'"),
        (
            {"steps": [{"process": "P9", "action": "send", "transmits": [], "happens": []}]},
            "names an unknown process P9",
        ),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(
    crownless: Crownless, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    schedule = cr.conform(Relay, 2, 2, orders=["fifo"], replies=0).schedule("fifo")
    assert schedule is not None
    saved = schedule.json()["schedule"]
    saved = saved | change if "steps" in change else saved | {"request": saved["request"] | change}
    content = {"schedule": saved} if change else {}
    file = tmp_path / "schedule.json"
    file.write_text(json.dumps(content))
    answer = crownless("conform", f"{__file__}:Relay", "--replay", str(file))
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert said in answer.err
    with pytest.raises(BadInput, match=said.split(" '")[0].replace("$", r"\$")):
        cr.replay(Relay, content)


def test_a_program_is_taken_through_a_schedule(tmp_path: Path) -> None:
    schedule = cr.conform(Relay, 2, 2, orders=["fifo"], replies=0).schedule("fifo")
    assert schedule is not None
    again = cr.replay(program(tmp_path), schedule.json())
    assert (bool(again), again.differs, "fifo" in again.violated) == (False, None, True)
