"""What takes longer of the tests in `test_conform_programs.py`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest
from command_line_runner import Crownless
from conform_command import conform
from hypothesis import given
from hypothesis import strategies as st
from relays import JSON_PROGRAM, Relay, program

import crownless as cr
from crownless.oracle.conformance.conformance_request import Request
from crownless.oracle.conformance.line_forms import JsonForm, PlainForm
from crownless.oracle.conformance.maelstrom_form import MaelstromForm
from crownless.oracle.conformance.node import NodeFailure

#: The orders that are judged of unicasts.
JUDGED = Request().judged


# -- forms, replies, numbers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["plain", "JSON"])
def test_the_form_of_lines_is_recognised(form: str, tmp_path: Path) -> None:
    command = program(tmp_path) if form == "plain" else program(tmp_path, text=JSON_PROGRAM)
    found = conform(command)
    assert (found.verdict, found.takes_replies) == ("holds", form == "plain")
    assert found["fifo"].run is not None
    assert len(found["fifo"].run) == 3
    assert found.realization.computations == 7
    assert found.repeats.least_of_input >= 1
    assert found.repeats.least_of_kind >= 20


NO_REPLIES = "plain_ok = None\ndef ok(): say('ok')"


def test_a_program_that_does_not_take_replies_is_judged_by_free_sends(crownless: Crownless, tmp_path: Path) -> None:
    command = program(tmp_path, NO_REPLIES)
    answer = crownless("conform", "-n", "2", "-m", "2", "--quiet", "--", *command)
    assert answer.code == 0
    assert "replies from inside deliveries: not offered, since the node does not answer `ok replies`" in answer.out
    found = conform(command, messages=1)
    assert (found.takes_replies, found.json()["replies"], "replies" in found.scope) == (False, 0, False)


def test_a_node_that_takes_replies_and_does_nothing_for_them_is_named(tmp_path: Path) -> None:
    found = conform(program(tmp_path, "def deliver(message): say('deliver', message)"))
    assert [one.property.name for one in found.failures] == ["not-understood"]
    assert "takes the reply 2-1.2, and transmits nothing after it delivers 1-2.1" in found["not-understood"].note


KEYS = ["type", "to", "body", "message", "src", "dest", "in_reply_to"]


@given(
    st.one_of(
        st.text(),
        st.builds(" ".join, st.lists(st.sampled_from(["packet", "deliver", "ok", "1", "-1", "", "9" * 5000]))),
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.text()),
            lambda parts: st.one_of(st.lists(parts), st.dictionaries(st.sampled_from(KEYS), parts)),
        ).map(json.dumps),
    )
)
def test_any_line_is_understood_or_a_failure(line: str) -> None:
    for form in (PlainForm(), JsonForm(), MaelstromForm()):
        form.init(0, 2)
        kind = ""
        try:
            form.outputs(line)
        except NodeFailure as failure:
            kind = failure.kind
        assert kind in ("", "not-understood")


# -- answers that shift or vary ----------------------------------------------------------------------------------------


#: After each second send there is an `ok` too many, a moment later.
LATE = """
sends = 0
def on_init():
    global sends
    sends = 0
def on_send(to, message):
    global sends
    sends += 1
    say("packet", to, message)
def ok():
    say("ok")
    if word == "send" and sends == 2: time.sleep(0.003), write("ok\\n")
"""


def test_a_line_too_many_is_named_after_its_input_whenever_it_comes(tmp_path: Path) -> None:
    found = conform(program(tmp_path, LATE), messages=3)
    assert (
        found["speaks-unasked"].note == "after its answer to 'send 1 1-2.2' it says 'ok' that is not part of an answer"
    )
    assert [found[name].verdict for name in ("delivers-all", *JUDGED)] == ["unknown"] * (1 + len(JUDGED))
    assert found.realization is None


def test_a_farewell_is_no_answer_and_who_goes_on_is_judged_by_best_effort(tmp_path: Path) -> None:
    found = conform(program(tmp_path, "import atexit\natexit.register(lambda: say('bye'))"), messages=1)
    assert (found.verdict, found.best_effort) == ("holds", None)
    found = conform(
        program(tmp_path, "threading.Thread(target=time.sleep, args=(999,)).start()"), messages=1, timeout=1.0
    )
    assert found.verdict == "holds"
    assert "keeps running after the end of its input" in str(found.best_effort)


#: At the third packet of a process, and nowhere else, a coin says in which order messages are delivered.
COIN = """
held = []
def on_init(): held.clear()
def on_packet(source, body):
    held.append(body)
    if len(held) == 3:
        if os.urandom(1)[0] % 2: held.reverse()
        for one in held: deliver(one)
"""


def test_one_fair_coin_among_all_inputs_is_noticed(tmp_path: Path, crownless: Crownless) -> None:
    answer = crownless("conform", "-n", "2", "-m", "3", "--replies", "0", "--quiet", "--", *program(tmp_path, COIN))
    assert answer.code == 1
    assert "not-deterministic   violated" in answer.out
    assert not re.search("generates|exactly|broken", answer.out)
    assert answer.out.splitlines()[-1].endswith("violates not-deterministic")


class RarelyDrops(Relay):
    """Drops one packet in fifty."""

    random = Random(1)

    def on_packet(self, source: int, packet: str) -> None:
        if self.random.random() > 0.02:
            self.deliver(packet)


def test_a_node_that_rarely_drops_a_packet_is_noticed() -> None:
    for seed in range(3):
        RarelyDrops.random.seed(seed)
        assert "not-deterministic" in cr.conform(RarelyDrops, 2, 3).violations
    assert list(cr.conform_at_random(RarelyDrops, 3, 6, runs=30).violations) == ["not-deterministic"]


# -- the ways to fail --------------------------------------------------------------------------------------------------

#: What is different, how it fails, in which words, and the number of actions of a shortest run.
FAILING = {
    "hangs": ("def on_packet(source, body): time.sleep(999)", "hangs", r"'packet 0 1-2\.1'.*not answ", 2),
    "half a line, and hangs": (
        "def on_send(to, message): write('packet 1 hal'); time.sleep(999)",
        "hangs",
        r"send 1 1-2\.1.*after 0 outputs and the unfinished line 'packet 1 hal'",
        1,
    ),
    "closes its output": (
        "def on_packet(source, body): os.close(1); time.sleep(999)",
        "hangs",
        "closed its output and keeps running",
        2,
    ),
    "closes its output after its last answer": (
        "def ok(): say('ok'), word == 'packet' and os.close(1)",
        "hangs",
        "given 'packet . .-..[012]' it has closed its output and keeps running",
        2,
    ),
    "ends after its last answer": (
        "def ok(): say('ok'), word == 'packet' and os._exit(0)",
        "node-fails",
        "given 'packet . .-..[012]' it exits with code 0",
        2,
    ),
    "half a line, and exits": (
        "def on_send(to, message): write('packet 1 hal'); os._exit(0)",
        "node-fails",
        r"'send 1 1-2\.1' it exits with code 0 in the middle of the line 'packet 1 hal'$",
        1,
    ),
    "segfaults": ("def on_packet(source, body): ctypes.string_at(0)", "node-fails", "it is ended by SIGSEGV", 2),
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
    "never ends a line": (
        "def on_send(to, message):\n    while True: write('x' * 9999)",
        "floods",
        "says more than 4,194,304 bytes to one input",
        1,
    ),
    "prints what it likes": (
        "def on_send(to, message): say('sending', message); say('packet', to, message)",
        "not-understood",
        r"'send 1 1-2\.1' it says 'sending 1-2\.1'; a line begins with packet, deliver, queued, sent or ok",
        1,
    ),
    "no text": (
        "def on_send(to, message): write(bytes([0, 255, 254, 7, 10]))",
        "not-understood",
        r"says b'\\x00\\xff\\xfe\\x07', which is not UTF-8",
        1,
    ),
    "to no process": (
        "def on_send(to, message): say('packet -1', message)",
        "not-understood",
        "says 'packet -1 1-2.1'; `packet` needs the number of a process",
        1,
    ),
    "remembers what was before init": (
        (
            "count = 0\ndef on_send(to, message):\n    global count\n    count += 1\n"
            "    say('packet', to, message, count)\ndef on_packet(source, body): deliver(body.split()[0])"
        ),
        "not-deterministic",
        "it gave first a packet to P",
        None,
    ),
    "answers init with more": ("def on_init(): say('packet 0 hello')", "speaks-unasked", "`init` with more than", 1),
    "speaks before init": ("say('node ready')", "speaks-unasked|not-understood", "says 'node ready'", 1),
    "answers twice": ("def ok(): write('ok\\nok\\n')", "speaks-unasked", "that is not part of an answer", 1),
    "sends what it has not queued": (
        "def on_packet(source, body): say('sent', '2-1.2' if me else '1-2.1'); deliver(body)",
        "delivers-once",
        "",
        2,
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_program_ends_in_the_failure_that_it_is(name: str, tmp_path: Path) -> None:
    different, kind, said, actions = FAILING[name]
    found = conform(program(tmp_path, different), timeout=0.4 if kind == "hangs" else 5.0)
    assert found.verdict == "violated"
    assert found.unconfirmed is None
    first = next(iter(found.violations.values()))
    assert re.fullmatch(kind, first.property.name), first
    assert re.search(said, first.note, re.DOTALL), first.note
    assert len(first.note) < 600
    assert first.run is not None
    assert actions is None or len(first.run) == actions
    assert str(found)
    json.dumps(found.json())


@pytest.mark.parametrize(
    ("different", "kind", "said"),
    [
        ("def on_send(said): print('[1]', flush=True)", "not-understood", "an object's type is packet, deliver,"),
        ("def on_send(said): say(type='packet', to=True, body=1)", "not-understood", "a packet is"),
        ("def on_send(said): say(type='packet', to=1, body=float('nan'))", "not-understood", "NaN is not a number"),
        ("def on_send(said): print('[' * 99999, flush=True)", "not-understood", "no JSON: "),
        ("def on_send(said): say(type='packet', to=10**300, body=1)", "invents", "transmits to process 10+…0+, and"),
    ],
)
def test_and_in_the_json_form(different: str, kind: str, said: str, tmp_path: Path) -> None:
    found = conform(program(tmp_path, different, JSON_PROGRAM))
    assert [one.property.name for one in found.failures] == [kind]
    assert re.search(said, found[kind].note), found[kind].note
