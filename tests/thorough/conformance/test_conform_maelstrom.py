"""Programs written for Maelstrom: right and wrong ones, hostile ones, and what Maelstrom has no word for."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless
from relays import MAELSTROM_PROGRAM, program

import crownless as cr
from crownless.impl.free_message import FreeMessage
from crownless.oracle.conformance.maelstrom_form import MaelstromForm
from crownless.oracle.conformance.node import Arrival, Send
from crownless.spec.computation import Message
from crownless.spec.enumeration import Sends

NODES = Path(__file__).parents[3] / "examples" / "nodes" / "maelstrom"


def conform(folder: Path, different: str = "", messages: int = 2, **options: Any) -> Any:
    """The result for a relay in which something is different."""
    command = program(folder, different, MAELSTROM_PROGRAM)
    return cr.conform(command, 2, messages, **options)


@pytest.mark.parametrize(("options", "code"), [([], 0), (["--wrong"], 1)])
def test_a_program_is_driven_without_an_adapter(crownless: Crownless, options: list[str], code: int) -> None:
    command = [sys.executable, str(NODES / "fifo.py"), *options]
    bound = ["-n", "2", "-m", "2", "--order", "fifo", "--json"]
    answer = crownless("conform", *bound, "--", *command)
    assert answer.code == code
    assert answer.json["generates"]["equals"] == ("asynchronous" if options else "fifo")
    assert answer.json["orders"]["fifo"]["verdict"] == ("violated" if options else "kept")


def test_deliveries_of_the_broadcast_workload_are_read(crownless: Crownless) -> None:
    command = [sys.executable, str(NODES / "broadcast.py")]
    given = ["-n", "2"]
    answer = crownless("conform", *given, "-m", "2", "--sends", "broadcast-to-all", "--json", "--", *command)
    assert answer.code == 0
    assert answer.json["orders"]["fifo"]["verdict"] == "violated"
    assert len(answer.json["orders"]["fifo"]["run"]) == 3
    without = crownless("conform", *given, "-m", "1", "--sends", "broadcast", "--", *command)
    assert without.code == 1
    assert "--sends broadcast-to-all" in without.out


@pytest.mark.parametrize("sends", ["multicast", "broadcast"])
def test_a_relay_generates_what_a_relay_of_lines_generates(sends: Sends, tmp_path: Path) -> None:
    found = conform(tmp_path, sends=sends, self_sends=sends == "broadcast")
    assert found.verdict == "holds"
    assert found.realization.computations == 7
    assert found["fifo"].verdict == "violated"


#: What is different, how it fails, in which words.
HOSTILE = [
    ("def on_echo(body): pass", "hangs", "the reply to the request that follows"),
    ("def on_packet(body): write('hello')", "not-understood", "no JSON"),
    ("def on_packet(body): write('{}')", "not-understood", "a message is"),
    ("def on_packet(body): say('x1')", "not-understood", "dest is a node"),
    ("def on_packet(body): say('n7')", "invents", "transmits to process 6"),
    ("def on_packet(body): say('lin-kv', type='read')", "not-understood", "lin-kv, are not offered"),
    ('def on_packet(body): write(\'{"src": "n9", "dest": "n1", "body": {}}\')', "not-understood", "its src is not n"),
    ("def on_packet(body): say('c1', in_reply_to=99)", "not-understood", "replies to no request"),
    ("def on_send(body): reply('c1', body), reply('c1', body)", "not-understood", "a second time"),
    ("def on_send(body): say('c1', type='x', in_reply_to=body['msg_id'])", "not-understood", "send_ok"),
    ("def on_packet(body): say('c1', type='x')", "not-understood", "a client gets"),
    (
        "def on_send(body): say('c1', type='error', code=11, text='not now', in_reply_to=body['msg_id'])",
        "node-fails",
        "replies to `send` with error 11: 'not now'",
    ),
    (
        "def on_echo(body): say('c2', type='error' if got else 'echo_ok', code=13, in_reply_to=body['msg_id'])",
        "node-fails",
        "replies to `echo` with error 13",
    ),
    ("def on_init(body): pass", "not-understood", "before init_ok"),
    ("def on_init(body): reply('c0', body), say('n1')", "speaks-unasked", "more than 'init_ok'"),
    ("def on_echo(body): reply('c2', body), say('n1')", "speaks-unasked", "not part of an answer"),
    ("def on_packet(body): say('c1', type='deliver', message=7)", "invents", "'7'"),
]


@pytest.mark.parametrize(("different", "kind", "words"), HOSTILE)
def test_hostile_programs_fail_by_name(different: str, kind: str, words: str, tmp_path: Path) -> None:
    found = conform(tmp_path, different, 1, timeout=0.7 if kind == "hangs" else 5.0)
    assert kind in [one.property.name for one in found.failures]
    assert words in found[kind].note


POLLS = """
import json, select, sys
while select.select([sys.stdin], [], [])[0] and (line := sys.stdin.readline()):
    message = json.loads(line)
    body = {"type": message["body"]["type"] + "_ok", "in_reply_to": message["body"]["msg_id"]}
    print(json.dumps({"src": message["dest"], "dest": message["src"], "body": body}), flush=True)
"""


def test_a_program_that_polls_a_buffered_input_is_not_said_to_hold_its_output(tmp_path: Path) -> None:
    (tmp_path / "polls.py").write_text(POLLS, "utf-8")
    found = cr.conform([sys.executable, str(tmp_path / "polls.py")], 2, 1, timeout=0.7)
    assert "its input may be buffered: `select` and `poll` do not see" in found["hangs"].note
    assert "flushed" not in found["hangs"].note
    (tmp_path / "mute.py").write_text("import sys\nfor line in sys.stdin: pass", "utf-8")
    found = cr.conform([sys.executable, str(tmp_path / "mute.py")], 2, 1, timeout=0.7)
    assert found["hangs"].note.endswith("its output may not be flushed")


@pytest.mark.parametrize(
    ("different", "words"),
    [
        ("def on_read(body): reply('c2', body)", "the reply to `read` is"),
        ("def on_read(body): reply('c2', body, messages=got), got.clear()", "there is no longer"),
        ("def on_read(body): reply('c2', body, messages=[[{}]] if got else [])", "which no application sends"),
    ],
)
def test_lists_that_cannot_be_are_no_deliveries(different: str, words: str, tmp_path: Path) -> None:
    found = conform(tmp_path, different, sends="broadcast", self_sends=True)
    assert any(words in one.note for one in found.failures)


def test_who_lists_a_message_twice_delivers_it_twice(tmp_path: Path) -> None:
    twice = "def on_packet(body): got.extend([body['message']] * 2)"
    found = conform(tmp_path, twice, 1, sends="broadcast", self_sends=True)
    assert found["delivers-once"].verdict == "violated"


def test_a_node_need_know_neither_of_the_requests_that_end_answers(tmp_path: Path) -> None:
    not_known = "def on_{0}(body): say('c2', type='error', code=10, in_reply_to=body['msg_id'])\n"
    assert conform(tmp_path, not_known.format("echo"), 1).verdict == "holds"
    delivers = "def on_packet(body): say('c1', type='deliver', message=body['message'])\n"
    different = not_known.format("read") + not_known.format("topology") + delivers
    assert conform(tmp_path, different, 1, sends="broadcast").verdict == "holds"


def test_a_reply_to_a_client_may_come_after_later_inputs(tmp_path: Path) -> None:
    late = (
        "late = []\ndef on_send(body):\n"
        "    say(body['to'], type='packet', message=body['message']), late.append(body)\n"
    )
    later = "    if late: reply('c1', late.pop())\n"
    assert conform(tmp_path, f"{late}    if len(late) > 1: reply('c1', late.pop(0))\n").verdict == "holds"
    found = conform(tmp_path, f"{late}def on_echo(body):\n    reply('c2', body)\n{later}")
    assert [one.property.name for one in found.failures] == ["speaks-unasked"]


def test_a_program_is_started_anew_where_its_inputs_are_others(tmp_path: Path) -> None:
    """A node that is given `init` twice would keep what it had."""
    twice = (
        "seen = []\ndef on_init(body):\n    seen.append(1)\n    reply('c0', body) if len(seen) == 1 else sys.exit(9)\n"
    )
    assert conform(tmp_path, twice, 1).verdict == "holds"


def test_what_is_written_is_as_maelstrom_has_it() -> None:
    form = MaelstromForm()
    first, end = map(json.loads, form.init(0, 2))
    body = {"type": "init", "msg_id": 1, "node_id": "n1", "node_ids": ["n1", "n2"]}
    assert first == {"src": "c0", "dest": "n1", "body": body}
    assert end["body"].keys() == {"type", "msg_id", "echo"}
    first, _ = map(json.loads, form.given(Send(Message("1→2#1", 0, (1,)))))
    assert first["body"] == {"type": "send", "msg_id": 3, "to": "n2", "message": "1-2.1"}
    first, _ = map(json.loads, form.given(Arrival(1, '{"msg_id":7,"in_reply_to":6}')))
    assert first == {"src": "n2", "dest": "n1", "body": {"msg_id": 7, "in_reply_to": 6}}


def test_messages_have_the_same_number_at_every_node() -> None:
    forms = MaelstromForm(sends="broadcast")
    nodes = [forms.of_one_node() for _ in range(2)]
    _, topology, read = map(json.loads, nodes[0].init(0, 3))
    assert topology["body"]["topology"] == {"n1": ["n2", "n3"], "n2": ["n1", "n3"], "n3": ["n1", "n2"]}
    assert read["body"] == {"type": "read", "msg_id": 3}
    nodes[1].init(1, 3)
    numbers = []
    for node, message in (
        (0, FreeMessage(0, (1, 2), 1)),
        (1, FreeMessage(1, (0, 2), 1)),
        (1, FreeMessage(0, (1, 2), 1)),
    ):
        said = nodes[node].given(Send(message))[0]
        numbers.append(json.loads(said)["body"]["message"])
    assert numbers == [4, 8, 4]


@pytest.mark.parametrize("option", ["--ticks", "--restarts"])
def test_inputs_that_maelstrom_does_not_have_are_refused(option: str, crownless: Crownless) -> None:
    answer = crownless("conform", option, "1", "--", sys.executable, str(NODES / "fifo.py"))
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "Maelstrom has no messages for them" in answer.err
