"""Programs written for Maelstrom: right and wrong ones, hostile ones, and what Maelstrom has no word for."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command_line_runner import Crownless
from hostile_nodes import left_running

from crownless.model_check.conformance.conformance_request import Request
from crownless.model_check.conformance.conformance_result import Conformance
from crownless.model_check.conformance.conforming import conform
from crownless.model_check.conformance.maelstrom_form import MaelstromForm, possible
from crownless.model_check.conformance.node import Arrival, NodeLimits, Restart, Send, Tick
from crownless.model_check.conformance.out_of_process import OutOfProcess, closing
from crownless.spec.computation import Message
from crownless.spec.enumeration import Sends
from crownless.spec.errors import BadInput

NODES = Path(__file__).parent.parent / "examples" / "nodes" / "maelstrom"

#: A node that delivers each packet as it comes, and lists what it has; what hostile ones do goes before its loop.
RELAY = """
import json, sys, time
me, others, got = "", [], []
def write(text): print(text, flush=True)
def say(dest, **body): write(json.dumps({"src": me, "dest": dest, "body": body}))
def reply(to, body, **more): say(to, type=body["type"] + "_ok", in_reply_to=body["msg_id"], **more)
def on_init(body): reply("c0", body)
def on_topology(body): reply("c0", body)
def on_send(body):
    for to in [body["to"]] if isinstance(body["to"], str) else body["to"]:
        say(to, type="packet", message=body["message"])
    reply("c1", body)
def on_broadcast(body):
    got.append(body["message"])
    for to in others: say(to, type="packet", message=body["message"])
    reply("c1", body)
def on_packet(body):
    got.append(body["message"])
    if isinstance(body["message"], str): say("c1", type="deliver", message=body["message"])
def on_read(body): reply("c2", body, messages=got)
def on_echo(body): reply("c2", body, echo=body["echo"])
#HERE
for line in sys.stdin:
    body = json.loads(line)["body"]
    if body["type"] == "init": me, others = body["node_id"], [q for q in body["node_ids"] if q != body["node_id"]]
    globals()["on_" + body["type"]](body)
"""


def conformance(
    folder: Path, different: str = "", request: Request | None = None, n: int = 2, seconds: float = 5.0
) -> Conformance:
    """The answer on a relay in which something is different; nothing that was started is left."""
    file = folder / "node.py"
    file.write_text(RELAY.replace("#HERE", different))
    asked = possible(request or Request(n, 2, channels=False))
    command = [sys.executable, "-I", "-S", str(file)]
    limits = NodeLimits(seconds=seconds)
    with closing(OutOfProcess(command, n, limits, form="maelstrom", sends=asked.sends)) as programs:
        programs.check_start()
        answer = conform(programs, asked)
        mark = programs._guardian.mark
    assert left_running(mark) == []
    return answer


@pytest.mark.parametrize(("options", "code"), [([], 0), (["--wrong"], 1)])
def test_a_program_is_driven_without_an_adapter(crownless: Crownless, options: list[str], code: int) -> None:
    command = [sys.executable, str(NODES / "fifo.py"), *options]
    bound = ["-n", "2", "-m", "2", "--order", "fifo", "--form", "maelstrom", "--json"]
    answer = crownless("conform", *bound, "--", *command)
    assert answer.code == code
    assert answer.json["generates"]["equals"] == ("asynchronous" if options else "fifo")
    assert answer.json["orders"]["fifo"]["verdict"] == ("violated" if options else "holds")


def test_deliveries_of_the_broadcast_workload_are_read(crownless: Crownless) -> None:
    command = [sys.executable, str(NODES / "broadcast.py")]
    given = ["-n", "2", "-m", "2", "--form", "maelstrom", "--sends", "broadcast"]
    answer = crownless("conform", *given, "--self-sends", "--json", "--", *command)
    assert answer.code == 0
    assert answer.json["orders"]["fifo"]["verdict"] == "violated"
    assert len(answer.json["orders"]["fifo"]["run"]) == 3
    without = crownless("conform", *given, "--", *command)
    assert without.code == 1
    assert "--self-sends" in without.out


def test_the_examples_are_short() -> None:
    for file in NODES.iterdir():
        assert len(file.read_text("utf-8").splitlines()) < 60


@pytest.mark.parametrize("sends", ["unicast", "multicast", "broadcast"])
def test_a_relay_generates_what_a_relay_of_lines_generates(sends: Sends, tmp_path: Path) -> None:
    own = sends == "broadcast"
    found = conformance(tmp_path, "", Request(2, 2, sends=sends, self_sends=own, channels=False))
    assert found.verdict == "holds"
    assert found.realization is not None
    assert found.realization.computations == 7
    assert found["fifo"].verdict == "violated"


#: What is different, how it fails, in which words.
HOSTILE = {
    "never replies to echo": ("def on_echo(body): pass", "hangs", "the reply to the request that follows"),
    "garbage": ("def on_packet(body): write('hello')", "not-understood", "no JSON"),
    "no envelope": ("def on_packet(body): write('{}')", "not-understood", "a message is"),
    "no bytes of text": (
        "def on_packet(body): sys.stdout.buffer.write(b'\\xff\\n'), sys.stdout.flush()",
        "not-understood",
        "no UTF-8",
    ),
    "to nowhere": ("def on_packet(body): say('x1')", "not-understood", "dest is a node"),
    "to a node that is not there": ("def on_packet(body): say('n7')", "invents", "transmits to process 6"),
    "to a service": ("def on_packet(body): say('lin-kv', type='read')", "not-understood", "lin-kv, are not offered"),
    "for another": (
        'def on_packet(body): write(\'{"src": "n9", "dest": "n1", "body": {}}\')',
        "not-understood",
        "its src is not n",
    ),
    "replies to nothing": ("def on_packet(body): say('c1', in_reply_to=99)", "not-understood", "replies to no request"),
    "replies twice": ("def on_send(body): reply('c1', body), reply('c1', body)", "not-understood", "a second time"),
    "another reply": (
        "def on_send(body): say('c1', type='x', in_reply_to=body['msg_id'])",
        "not-understood",
        "send_ok",
    ),
    "tells a client something": ("def on_packet(body): say('c1', type='x')", "not-understood", "a client gets"),
    "refuses": (
        "def on_send(body): say('c1', type='error', code=11, text='not now', in_reply_to=body['msg_id'])",
        "node-fails",
        "replies to `send` with error 11: 'not now'",
    ),
    "refuses the end for another reason": (
        "def on_echo(body): say('c2', type='error' if got else 'echo_ok', code=13, in_reply_to=body['msg_id'])",
        "node-fails",
        "replies to `echo` with error 13",
    ),
    "says nothing to init": ("def on_init(body): pass", "not-understood", "before init_ok"),
    "sends at init": ("def on_init(body): reply('c0', body), say('n1')", "speaks-unasked", "more than 'init_ok'"),
    "speaks later": ("def on_echo(body): reply('c2', body), say('n1')", "speaks-unasked", "no part of an answer"),
    "floods": ("def on_packet(body):\n    for _ in range(2000): say('n1')", "floods", "more than 1,000 outputs"),
    "delivers what nobody sent": ("def on_packet(body): say('c1', type='deliver', message=7)", "invents", "'7'"),
    "exits": ("def on_packet(body): sys.exit(3)", "node-fails", "exits with code 3"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_programs_fail_by_name(name: str, tmp_path: Path) -> None:
    different, kind, words = HOSTILE[name]
    found = conformance(tmp_path, different, seconds=1.0 if kind == "hangs" else 5.0)
    assert kind in [one.name for one in found.failures]
    assert words in found[kind].note


@pytest.mark.parametrize(
    ("different", "words"),
    [
        ("def on_read(body): reply('c2', body)", "the reply to `read` is"),
        ("def on_read(body): reply('c2', body, messages=got), got.clear()", "there is no longer"),
        ("def on_read(body): reply('c2', body, messages=[[{}]] if got else [])", "which no application sends"),
    ],
)
def test_lists_that_cannot_be_are_no_deliveries(different: str, words: str, tmp_path: Path) -> None:
    request = Request(2, 2, sends="broadcast", self_sends=True, channels=False)
    found = conformance(tmp_path, different, request)
    assert any(words in one.note for one in found.failures)


def test_who_lists_a_message_twice_delivers_it_twice(tmp_path: Path) -> None:
    request = Request(2, 1, sends="broadcast", self_sends=True, channels=False)
    found = conformance(tmp_path, "def on_packet(body): got.extend([body['message']] * 2)", request)
    assert found["delivers-once"].verdict == "violated"


def test_a_node_need_know_neither_of_the_requests_that_end_answers(tmp_path: Path) -> None:
    not_known = "def on_{0}(body): say('c2', type='error', code=10, in_reply_to=body['msg_id'])\n"
    assert conformance(tmp_path, not_known.format("echo")).verdict == "holds"
    delivers = "def on_packet(body): say('c1', type='deliver', message=body['message'])\n"
    different = not_known.format("read") + not_known.format("topology") + delivers
    assert conformance(tmp_path, different, Request(2, 2, sends="broadcast", channels=False)).verdict == "holds"


def test_a_reply_to_a_client_may_come_after_later_inputs(tmp_path: Path) -> None:
    late = (
        "late = []\ndef on_send(body):\n"
        "    say(body['to'], type='packet', message=body['message']), late.append(body)\n"
    )
    later = "    if late: reply('c1', late.pop())\n"
    assert conformance(tmp_path, f"{late}    if len(late) > 1: reply('c1', late.pop(0))\n").verdict == "holds"
    found = conformance(tmp_path, f"{late}def on_echo(body):\n    reply('c2', body)\n{later}")
    assert [one.name for one in found.failures] == ["speaks-unasked"]


def test_a_program_is_started_anew_where_its_inputs_are_others(tmp_path: Path) -> None:
    """A node that is given `init` twice would keep what it had."""
    twice = (
        "seen = []\ndef on_init(body):\n    seen.append(1)\n    reply('c0', body) if len(seen) == 1 else sys.exit(9)\n"
    )
    assert conformance(tmp_path, twice).verdict == "holds"


def test_what_is_written_is_as_maelstrom_has_it() -> None:
    form = MaelstromForm()
    first, end = map(json.loads, form.init(0, 2).splitlines())
    body = {"type": "init", "msg_id": 1, "node_id": "n1", "node_ids": ["n1", "n2"]}
    assert first == {"src": "c0", "dest": "n1", "body": body}
    assert end["body"].keys() == {"type", "msg_id", "echo"}
    first, _ = map(json.loads, form.given(Send(Message("1→2#1", 0, (1,)))).splitlines())
    assert first["body"] == {"type": "send", "msg_id": 3, "to": "n2", "message": "1-2.1"}
    first, _ = map(json.loads, form.given(Arrival(1, '{"msg_id":7,"in_reply_to":6}')).splitlines())
    assert first == {"src": "n2", "dest": "n1", "body": {"msg_id": 7, "in_reply_to": 6}}


def test_messages_have_the_same_number_at_every_node() -> None:
    forms = MaelstromForm(sends="broadcast")
    nodes = [forms.of_one_node() for _ in range(2)]
    _, topology, read = map(json.loads, nodes[0].init(0, 3).splitlines())
    assert topology["body"]["topology"] == {"n1": ["n2", "n3"], "n2": ["n1", "n3"], "n3": ["n1", "n2"]}
    assert read["body"] == {"type": "read", "msg_id": 3}
    nodes[1].init(1, 3)
    numbers = []
    for node, name in ((0, "a"), (1, "b"), (0, "b")):
        said = nodes[node].given(Send(Message(name, node, (2,)))).splitlines()[0]
        numbers.append(json.loads(said)["body"]["message"])
    assert numbers == [1, 2, 2]


@pytest.mark.parametrize("given", [Tick(), Restart(), Arrival(0, "{}", (Message("m", 0, (1,)),))])
def test_inputs_that_maelstrom_does_not_have_are_refused(given: Tick | Restart | Arrival) -> None:
    with pytest.raises(BadInput, match="--form maelstrom"):
        MaelstromForm().given(given)


@pytest.mark.parametrize("option", ["--ticks", "--restarts", "--replies"])
def test_and_so_are_their_options(option: str, crownless: Crownless) -> None:
    answer = crownless("conform", "--form", "maelstrom", option, "1", "--", "true")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert f"{option} with --form maelstrom" in answer.err
