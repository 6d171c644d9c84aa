"""Programs that speak lines: their forms, replies and numbers; answers that shift or vary; and each way to fail."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

import pytest
from command_line_runner import Crownless
from conform_command import conform
from relays import JSON_PROGRAM, Relay, program

import crownless as cr
from crownless.oracle.conformance.line_forms import End, JsonForm, PlainForm
from crownless.oracle.conformance.node import Arrival, Delivers, Queues, Send, Sends, Transmits
from crownless.spec.computation import Message

NODES = Path(__file__).parents[2] / "examples" / "nodes"
ADAPTER = [sys.executable, str(NODES / "python" / "adapter.py")]


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        ("sys.exit('no such thing')", "given 'init 0 3' it exits with code 1; its standard error ends: no"),
        ("os.execv('/nonexistent', ['x'])", "No such file"),
    ],
)
def test_a_program_that_does_not_start_is_bad_input(crownless: Crownless, tmp_path: Path, ends: str, said: str) -> None:
    answer = crownless("conform", "--", *program(tmp_path, ends))
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert said in answer.err


def test_a_program_that_does_not_start_in_words_is_no_program_in_json(tmp_path: Path) -> None:
    found = conform(program(tmp_path, "def on_init(): sys.exit('no such key')"), messages=1)
    assert found["node-fails"].note == "given 'init 0 2' it exits with code 1; its standard error ends: no such key"


def test_a_program_that_never_answers_init_hangs_whatever_time_there_is(tmp_path: Path) -> None:
    found = conform(program(tmp_path, "time.sleep(999)"), messages=1, timeout=0.2, max_seconds=1)
    assert (found.verdict, list(found.violations)) == ("violated", ["hangs"])
    assert "given 'init 0 2' it has not answered" in found["hangs"].note


def test_a_body_in_json_comes_as_it_was_sent(tmp_path: Path) -> None:
    deep = (
        "BODY = [1, 1.0, '\\ud800\\u2028é', None, {'a': [True]}, 10**40]\n"
        "for _ in range(300): BODY = [BODY]\n"
        "def on_send(said): say(type='packet', to=said['to'], body=[said['message'], BODY])\n"
        "def on_packet(said):\n"
        "    assert said['body'][1] == BODY\n"
        "    say(type='deliver', message=said['body'][0])\n"
    )
    assert conform(program(tmp_path, deep, JSON_PROGRAM)).verdict == "holds"


MESSAGE = Message("1→2#1", 0, (1,))


def test_both_forms_say_the_same() -> None:
    for one, plain, in_json in (
        (Send(MESSAGE), "send 1 1-2.1", {"type": "send", "to": 1, "message": "1-2.1"}),
        (Arrival(0, "x"), "packet 0 x", {"type": "packet", "from": 0, "body": "x"}),
    ):
        assert PlainForm().given(one) == [plain]
        body = Arrival(0, '"x"') if isinstance(one, Arrival) else one
        assert json.loads(JsonForm().given(body)[0]) == in_json
    for line, said_in_json, outputs in (
        ("packet 1 x", {"type": "packet", "to": 1, "body": "x"}, None),
        ("deliver m", {"type": "deliver", "message": "m"}, [Delivers("m")]),
        ("queued m", {"type": "queued", "message": "m"}, [Queues("m")]),
        ("sent m", {"type": "sent", "message": "m"}, [Sends("m")]),
        ("ok", {"type": "ok"}, [End()]),
        ("ok replies", {"type": "ok", "replies": True}, [End(replies=True)]),
    ):
        for said in (PlainForm().outputs(line), JsonForm().outputs(json.dumps(said_in_json))):
            assert said == outputs or isinstance(said[0], Transmits)


def test_no_order_is_judged_from_answers_that_are_shifted(tmp_path: Path) -> None:
    shifted = "def on_send(to, message): say('packet', to, message), write('ok\\n')"
    found = conform(program(tmp_path, shifted))
    assert list(found.violations) == ["speaks-unasked"]
    assert len(found["speaks-unasked"].run or ()) == 1


class Rolls(Relay):
    """Answers otherwise each time."""

    random = Random(0)

    def on_packet(self, source: int, packet: str) -> None:
        for _ in range(self.random.randrange(5)):
            self.deliver(packet)


def test_that_answers_vary_is_said_once() -> None:
    assert cr.conform(Rolls, 3, 3, replies=0)["not-deterministic"].note.count("after the same inputs") == 1
