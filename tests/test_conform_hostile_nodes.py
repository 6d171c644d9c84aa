"""Programs that hang, crash, flood, lie or go on: each ends in the right failure at a shortest run, and is gone."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile_nodes import left_running, program

from crownless.model_check.conformance.conformance_request import Request
from crownless.model_check.conformance.conformance_result import Conformance
from crownless.model_check.conformance.conforming import conform
from crownless.model_check.conformance.line_forms import FormName
from crownless.model_check.conformance.node import NodeLimits
from crownless.model_check.conformance.out_of_process import OutOfProcess, closing

#: Quick, but long enough for any machine that starts a program at all; nothing that answers takes as long.
SECONDS = 1.0


def conformance(
    command: list[str], request: Request | None = None, form: FormName = "plain", **limits: float
) -> Conformance:
    """The answer; nothing that was started is left."""
    most = NodeLimits(**{"seconds": SECONDS, **limits})  # type: ignore[arg-type]
    with closing(OutOfProcess(command, 2, most, form=form)) as programs:
        answer = conform(programs, request or Request(2, 2))
        mark = programs._guardian.mark
    assert left_running(mark) == []
    return answer


#: What is different, how it fails, in which words, and the number of actions of a shortest run.
HOSTILE = {
    "hangs at a message": ("def on_send(to, message): time.sleep(999)", "hangs", r"'send 1 1-2\.1'.*not answered", 1),
    "hangs at a packet": ("def on_packet(source, body): time.sleep(999)", "hangs", r"'packet 0 1-2\.1'.*not answ", 2),
    "says half a line and hangs": (
        "def on_send(to, message): write('packet 1 hal'); time.sleep(999)",
        "hangs",
        r"send 1 1-2\.1.*after 0 outputs and the unfinished line 'packet 1 hal'",
        1,
    ),
    "says outputs and hangs": (
        "def on_send(to, message): say('packet', to, 1); time.sleep(999)",
        "hangs",
        "has not answered for 1 s after 1 output;",
        1,
    ),
    "reads nothing": ("time.sleep(999)", "hangs", "given 'init 0 2' it has not answered", 1),
    "closes its output": (
        "def on_packet(source, body): os.close(1); time.sleep(999)",
        "hangs",
        "has closed its output and goes on running",
        2,
    ),
    "says half a line and exits": (
        "def on_send(to, message): write('packet 1 hal'); os._exit(0)",
        "node-fails",
        r"'send 1 1-2\.1' it exits with code 0 in the middle of the line 'packet 1 hal'$",
        1,
    ),
    "segfaults": (
        "def on_packet(source, body): ctypes.string_at(0)",
        "node-fails",
        r"given 'packet 0 1-2\.1' it is ended by SIGSEGV",
        2,
    ),
    "is ended by a signal without a name": (
        "def on_packet(source, body): os.kill(os.getpid(), 40)",
        "node-fails",
        "is ended by signal 40",
        2,
    ),
    "exits": ("def on_packet(source, body): os._exit(0)", "node-fails", "exits with code 0$", 2),
    "exits at once": ("sys.exit(0)", "node-fails", "given 'init 0 2' it exits with code 0$", 1),
    "raises": (
        "def on_packet(source, body): raise ValueError('of no use')",
        "node-fails",
        "exits with code 1; its standard error ends: .*ValueError: of no use$",
        2,
    ),
    "floods": (
        "def on_send(to, message):\n    while True: say('packet', to, 1)",
        "floods",
        r"'send 1 1-2\.1' it gives more than 1,000 outputs to one input",
        1,
    ),
    "floods with long lines": (
        "def on_send(to, message):\n    while True: say('packet', to, 'x' * (1 << 19))",
        "floods",
        "gives outputs of more than 4,194,304 bytes to one input",
        1,
    ),
    "never ends a line": (
        "def on_send(to, message):\n    while True: write('x' * 9999)",
        "floods",
        "says a line of more than 1,048,576 bytes, which begins 'xxx",
        1,
    ),
    "floods its standard error": (
        "def on_send(to, message):\n    while True: os.write(2, b'oh ' * 999)",
        "hangs",
        r"has not answered.*; its standard error ends: .*oh oh",
        1,
    ),
    "prints what it likes": (
        "def on_send(to, message): say('sending', message); say('packet', to, message)",
        "not-understood",
        r"'send 1 1-2\.1' it says 'sending 1-2\.1'; a line begins with packet, deliver, queued, sent or ok",
        1,
    ),
    "says garbage": (
        "def on_send(to, message): write(bytes([0, 255, 254, 7, 10]))",
        "not-understood",
        r"says b'\\x00\\xff\\xfe\\x07', which is no UTF-8",
        1,
    ),
    "sends to less than nobody": (
        "def on_send(to, message): say('packet -1', message)",
        "not-understood",
        "says 'packet -1 1-2.1'; `packet` needs the number of a process",
        1,
    ),
    "answers packets for ever": (
        "def on_packet(source, body): say('packet', source, body)",
        "floods",
        r"packets are answered by packets without end: .* P\d has had 200 inputs",
        2,
    ),
    "rolls dice before it delivers": (
        "def on_packet(source, body):\n    for _ in range(os.urandom(1)[0]): deliver(body)",
        "not-deterministic",
        "after the same inputs it gave first",
        2,
    ),
    "remembers what was before init": (
        (
            "count = 0\ndef on_send(to, message):\n    global count\n    count += 1\n"
            "    say('packet', to, message, count)\n"
            "def on_packet(source, body): deliver(body.split()[0])"
        ),
        "not-deterministic",
        "output 1 was first a packet to P",
        None,
    ),
    "answers init with more": (
        "def on_init(): say('packet 0 hello')",
        "speaks-unasked",
        "answers `init` with more than 'ok'",
        1,
    ),
    "speaks before init": (
        "say('node ready')",
        "speaks-unasked|not-understood",
        "says 'node ready'",
        1,
    ),
    "speaks after its answer": (
        "def ok(): write('ok\\npacket 0 more\\n')",
        "speaks-unasked",
        "says 'packet 0 more'",
        1,
    ),
    "speaks half a line after its answer": (
        "def ok(): write('ok\\npack')",
        "speaks-unasked|not-understood",
        "says 'pack",
        1,
    ),
    "answers twice": ("def ok(): write('ok\\nok\\n')", "speaks-unasked", "that is no part of an answer", 1),
    "speaks when it likes": (
        (
            "def later():\n"
            "    while True: time.sleep(0.001); say('packet 0 tick')\n"
            "def on_init(): threading.Thread(target=later, daemon=True).start()"
        ),
        "speaks-unasked|not-deterministic",
        "tick|answers `init` with more than 'ok'",
        1,
    ),
    "sends what it has not queued": (
        "def on_packet(source, body): say('sent', f'{me + 1}-{source + 1}.1'); deliver(body)",
        "delivers-once",
        "",
        2,
    ),
    "sends twice": (
        "def on_send(to, message): say('packet', to, message); say('sent', message)",
        "delivers-once",
        "",
        1,
    ),
    "starts a child that goes on": (
        "subprocess.Popen(['sleep', '999'])\ndef on_packet(source, body): os._exit(3)",
        "node-fails",
        "exits with code 3",
        2,
    ),
    "starts a child in a session of its own": (
        (
            "subprocess.Popen(['sleep', '999'], start_new_session=True, stdout=2)\n"
            "def on_packet(source, body): os._exit(3)"
        ),
        "node-fails",
        "exits with code 3",
        2,
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_program_ends_in_the_failure_that_it_is(name: str, tmp_path: Path) -> None:
    different, kind, said, actions = HOSTILE[name]
    answer = conformance(program(tmp_path, different))
    assert answer.verdict == "violated"
    assert answer.unconfirmed is None
    first = answer.violations[0]
    assert re.fullmatch(kind, first.name), first
    assert re.search(said, first.note, re.DOTALL), first.note
    assert len(first.note) < 600
    assert first.run is not None
    assert actions is None or len(first.run) == actions


#: The same that is wrong in the JSON form.
IN_JSON = {
    "no JSON": ("def ok(): say('ok')", "not-understood", "says 'ok'; no JSON: ", 1),
    "no object": ("def ok(): say('[1]')", "not-understood", r"says '\[1\]'; an object's type is packet, deliver,", 1),
    "no type": ("def ok(): say('{}')", "not-understood", "says '{}'; an object's type is packet, deliver,", 1),
    "no number": (
        """def ok(): say('{"type": "packet", "to": true, "body": 1}')""",
        "not-understood",
        "a packet is",
        1,
    ),
    "nothing in JSON": (
        """def ok(): say('{"type": "packet", "to": 1, "body": NaN}')""",
        "not-understood",
        "no JSON: NaN is no number",
        1,
    ),
    "a long number": (
        (
            "for line in sys.stdin:\n"
            """    if 'send' in line: say('{"type": "packet", "to": ' + '9' * 3000 + ', "body": 1}')\n"""
            """    say('{"type": "ok"}')"""
        ),
        "invents",
        "transmits to process 9+…9+, and there are 0 to 1$",
        1,
    ),
    "too deep": (
        """def ok(): say('{"type": "packet", "to": 1, "body": ' + '[' * 99999 + ']' * 99999 + '}')""",
        "not-understood",
        "no JSON: ",
        1,
    ),
}


@pytest.mark.parametrize("name", IN_JSON)
def test_and_in_the_json_form(name: str, tmp_path: Path) -> None:
    different, kind, said, actions = IN_JSON[name]
    first = conformance(program(tmp_path, different), form="json").violations[0]
    assert first.name == kind
    assert re.search(said, first.note), first.note
    assert first.run is not None
    assert len(first.run) == actions


def test_a_body_in_json_comes_as_it_was_sent(tmp_path: Path) -> None:
    deep = (
        "import json\nBODY = [1, 1.0, '\\ud800\\u2028é', None, {'a': [True]}, 10**40]\n"
        "for _ in range(300): BODY = [BODY]\n"
        "for line in sys.stdin:\n"
        "    said = json.loads(line)\n"
        "    if said['type'] == 'send':\n"
        "        say(json.dumps({'type': 'packet', 'to': said['to'], 'body': [said['message'], BODY]}))\n"
        "    elif said['type'] == 'packet':\n"
        "        assert said['body'][1] == BODY\n"
        "        say(json.dumps({'type': 'deliver', 'message': said['body'][0]}))\n"
        "    say(json.dumps({'type': 'ok'}))\n"
    )
    answer = conformance(program(tmp_path, deep), Request(2, 2, replies=0), form="json")
    assert answer.failures == []
    assert answer.verdict == "holds"


@pytest.mark.parametrize(
    "different",
    [
        "subprocess.Popen(['sleep', '999'])",
        "subprocess.Popen(['sleep', '999'], start_new_session=True, stdin=0, stdout=2)",
        (
            "if os.fork() == 0:\n    os.setsid()\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "    os.close(0), os.close(1), os.close(2)\n    while True: time.sleep(1)"
        ),
    ],
)
def test_children_of_nodes_that_answer_are_ended(different: str, tmp_path: Path) -> None:
    answer = conformance(program(tmp_path, different), Request(2, 1))
    assert answer.failures == []


def test_nothing_outlives_a_harness_that_is_killed(tmp_path: Path) -> None:
    child = "subprocess.Popen(['sleep', '999'], start_new_session=True, stdout=2)\n"
    command = program(tmp_path, f"{child}def on_packet(source, body): time.sleep(999)")
    harness = tmp_path / "harness.py"
    harness.write_text(
        "from crownless.model_check.conformance.conformance_request import Request\n"
        "from crownless.model_check.conformance.conforming import conform\n"
        "from crownless.model_check.conformance.node import NodeLimits\n"
        "from crownless.model_check.conformance.out_of_process import OutOfProcess\n"
        f"nodes = OutOfProcess({command!r}, 2, NodeLimits(seconds=999))\n"
        "print(nodes._guardian.mark, flush=True)\n"
        "conform(nodes, Request(2, 2))\n"
    )
    with subprocess.Popen([sys.executable, str(harness)], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        mark = running.stdout.readline().strip()
        assert mark
        assert until(lambda: len(left_running(mark)) >= 4)
        running.kill()
    assert until(lambda: left_running(mark) == [])


def until(holds: Callable[[], bool]) -> bool:
    """Does it hold within a minute?"""
    end = time.monotonic() + 60
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_with_a_prefix_other_lines_are_the_nodes_own_affair(tmp_path: Path) -> None:
    prefixed = (
        "def write(data): out.write(b'@ log\\n@@' + data.encode() + b'@x' + b'y' * 70000 + b'\\n'), out.flush()\n"
        "def say(*words): write(' '.join(map(str, words)) + '\\n')\n"
    )
    command = program(tmp_path, prefixed)
    with closing(OutOfProcess(command, 2, NodeLimits(seconds=SECONDS), prefix="@@")) as programs:
        answer = conform(programs, Request(2, 2))
    assert answer.failures == []
    assert answer["delivers-all"].verdict == "holds"
