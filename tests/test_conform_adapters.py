"""The lines of nodes are never taken for answers to other inputs, and answers that vary are no facts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Capture, Crownless
from hostile_classes import Relay
from hostile_nodes import program

import crownless as cr
from crownless.model_check.conformance.conformance_request import JUDGED
from crownless.model_check.conformance.node import Answer, Arrival, Delivers, NodeFailure, Query, Send, Transmits
from crownless.model_check.conformance.repeats import Repeats, in_rounds
from crownless.spec.computation import Message

UNAWARE = Path(__file__).parent / "unaware_adapter.py"


@pytest.fixture
def crownless(capsys: Capture) -> Crownless:
    return Crownless(capsys)


@contextmanager
def busy_machine() -> Iterator[None]:
    """Within it other programs take all the time of both cores."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()


def unaware(unknown: str, name: str) -> list[str]:
    return [sys.executable, "-I", "-S", str(UNAWARE), unknown, name]


def verdicts(found: Any) -> dict[str, str]:
    return {name: found[name].verdict for name in ("speaks-unasked", "delivers-all", *JUDGED)}


@pytest.mark.parametrize("unknown", ["ok", "silent"])
@pytest.mark.parametrize(("name", "broken"), [("Matrix", ["synchronous"]), ("OverwritingMerge", [*JUDGED])])
def test_an_adapter_that_does_not_know_replies_gets_the_same_true_verdicts_each_time(
    unknown: str, name: str, broken: list[str]
) -> None:
    with busy_machine():
        for _ in range(2):
            found = cr.conform(unaware(unknown, name), 2, 3, orders=["causal"])
            assert [order for order in JUDGED if found[order].verdict == "violated"] == broken
            assert not found.failures
            assert found.verdict == ("violated" if "causal" in broken else "holds")
            assert not found.takes_replies
            assert "replies" not in found.scope


def test_replies_that_were_left_out_are_named(crownless: Crownless) -> None:
    answer = crownless("conform", "-n", "2", "-m", "2", "--quiet", "--", *unaware("ok", "Matrix"))
    assert answer.code == 0
    assert "replies from inside deliveries: not offered, the node does not say `ok replies`" in answer.out
    found = crownless("conform", "-n", "2", "-m", "2", "--json", "--", *unaware("ok", "Matrix")).json
    assert (found["takes_replies"], found["replies"]) == (False, 0)


def test_a_surplus_answer_to_init_names_init(tmp_path: Path) -> None:
    (tmp_path / "node.py").write_text(
        "import sys\nfor line in sys.stdin:\n    print('ok\\nok' if line.startswith('init') else 'ok', flush=True)\n"
    )
    for _ in range(3):
        found = cr.conform([sys.executable, "-I", "-S", str(tmp_path / "node.py")], 2, 2)
        assert found.verdict != "holds"
        assert "init 0 2" in str(found["speaks-unasked"].note)


def test_a_surplus_line_is_speaks_unasked_after_the_input_before_it_whenever_it_comes() -> None:
    seen = []
    with busy_machine():
        for _ in range(2):
            found = cr.conform(unaware("late", "Matrix"), 2, 3)
            seen.append((verdicts(found), found["speaks-unasked"].note, str(found["speaks-unasked"].run)))
    assert seen[0] == seen[1]
    assert (found.realization, found.kept_over_fifo) == (None, None)
    verdict, note, _ = seen[0]
    assert verdict == {"speaks-unasked": "violated", **dict.fromkeys(("delivers-all", *JUDGED), "unknown")}
    assert note == "after its answer to 'send 1 1-2.3' it says 'ok' that is no part of an answer"


SHIFTED = """
def on_send(to, message):
    say("packet", to, message)
    write("ok\\n")
def ok():
    write("ok\\n")
"""


def test_no_order_is_judged_from_answers_that_are_shifted(tmp_path: Path) -> None:
    found = cr.conform(program(tmp_path, SHIFTED), 2, 2)
    assert [one.name for one in found.violations] == ["speaks-unasked"]
    assert found["speaks-unasked"].run is not None
    assert len(found["speaks-unasked"].run) == 1
    assert found.realization is None


NUMBERED = """
import sys
heard = open(sys.argv[1], "a")
replies = []
def send(to, message): print("packet", to, message)
for line in sys.stdin:
    heard.write(line)
    number, _, rest = line.rstrip().partition(" ")
    if number == "init":
        replies = []
        print("ok replies numbers", flush=True)
        continue
    word, first, last = (rest + "  ").split(" ", 2)
    if word == "reply":
        replies.append((first, last.strip()))
        continue
    if word == "send":
        send(first, last.strip())
    else:
        print("deliver", last.strip())
        if replies: send(*replies.pop(0))
    print("ok", AGAIN, flush=True)
"""


def numbered(folder: Path, again: str) -> list[str]:
    file = folder / "node.py"
    file.write_text(NUMBERED.replace("AGAIN", again))
    return [sys.executable, str(file), str(folder / "heard")]


def test_inputs_have_numbers_if_the_node_says_so(tmp_path: Path) -> None:
    found = cr.conform(numbered(tmp_path, "number"), 2, 2)
    assert found.verdict == "holds"
    assert found.takes_replies
    lines = (tmp_path / "heard").read_text().splitlines()
    assert all(line.split()[0] == "init" or line.split()[0].isdigit() for line in lines)
    assert any(line.split()[1] == "reply" for line in lines)


def test_inputs_have_numbers_in_the_json_form_too(tmp_path: Path) -> None:
    in_json = (
        "import json\n"
        "for line in sys.stdin:\n"
        "    said = json.loads(line)\n"
        "    if said['type'] == 'init':\n"
        "        say(json.dumps({'type': 'ok', 'numbers': True}))\n"
        "        continue\n"
        "    if said['type'] == 'send':\n"
        "        say(json.dumps({'type': 'packet', 'to': said['to'], 'body': said['message']}))\n"
        "    else:\n"
        "        say(json.dumps({'type': 'deliver', 'message': said['body']}))\n"
        "    say(json.dumps({'type': 'ok', 'number': said['number']}))\n"
    )
    found = cr.conform(program(tmp_path, in_json), 2, 2, form="json")
    assert (found.verdict, found.takes_replies) == ("holds", False)


@pytest.mark.parametrize(
    ("again", "kind"), [("int(number) - 1", "speaks-unasked"), ("", "not-understood"), ("int(number) + 1", "not-under")]
)
def test_an_answer_to_another_input_is_no_answer(tmp_path: Path, again: str, kind: str) -> None:
    found = cr.conform(numbered(tmp_path, again or "''"), 2, 2)
    (failure,) = found.failures
    assert failure.name.startswith(kind)
    assert "the end of the answer to input" in failure.note
    assert all(found[order].verdict == "unknown" for order in JUDGED)


def test_a_node_that_takes_replies_and_does_nothing_for_them_is_named(tmp_path: Path) -> None:
    found = cr.conform(program(tmp_path, "def deliver(message): say('deliver', message)"), 2, 2)
    assert [one.name for one in found.violations if one.name not in JUDGED] == ["not-understood"]
    assert "takes the reply 2-1.1, and transmits nothing after it delivers 1-2.1" in found["not-understood"].note


def test_a_farewell_at_the_end_of_the_input_is_no_answer(tmp_path: Path) -> None:
    farewell = "import atexit\natexit.register(lambda: say('bye'))"
    found = cr.conform(program(tmp_path, farewell), 2, 2)
    assert (found.verdict, found.best_effort) == ("holds", None)


def test_a_node_that_goes_on_after_its_input_is_judged_by_best_effort(tmp_path: Path) -> None:
    goes_on = "threading.Thread(target=time.sleep, args=(999,)).start()"
    found = cr.conform(program(tmp_path, goes_on), 2, 1, timeout=1)
    assert found.verdict == "holds"
    assert found.best_effort is not None
    assert "goes on after the end of its input" in found.best_effort


#: At the third packet of a process, and nowhere else, a coin says in which order two messages are delivered.
COIN = """
held = []
def on_init():
    global held
    held = []
def on_packet(source, body):
    held.append(body)
    if len(held) == 3:
        if os.urandom(1)[0] % 2: held.reverse()
        for one in held: deliver(one)
"""


def test_one_fair_coin_among_all_inputs_is_noticed(tmp_path: Path, crownless: Crownless) -> None:
    command = program(tmp_path, COIN)
    answer = crownless("conform", "-n", "2", "-m", "3", "--quiet", "--", *command)
    assert answer.code == 1
    assert "not-deterministic  violated" in answer.out
    assert "generates" not in answer.out
    assert "exactly" not in answer.out
    assert "broken" not in answer.out
    assert answer.out.splitlines()[-1].endswith("breaks not-deterministic")


class RarelyDrops(Relay):
    """Drops one packet in fifty."""

    random = __import__("random").Random(1)

    def on_packet(self, source: int, packet: str) -> None:
        if self.random.random() > 0.02:
            self.deliver(packet)


def test_a_node_that_rarely_drops_a_packet_is_noticed() -> None:
    for seed in range(3):
        RarelyDrops.random.seed(seed)
        assert "not-deterministic" in [one.name for one in cr.conform(RarelyDrops, 2, 3).failures]


def test_at_random_a_node_of_which_answers_vary_breaks_no_order() -> None:
    RarelyDrops.random.seed(0)
    found = cr.conform_at_random(RarelyDrops, 3, 6, runs=30)
    assert [one.name for one in found.violations] == ["not-deterministic"]


def test_the_summary_says_how_often_inputs_were_repeated_and_which_randomness_that_excludes(
    crownless: Crownless,
) -> None:
    found = cr.conform(Relay, 3, 3)
    repeats = found.repeats
    assert repeats.inputs == found.queries == len(repeats.of_input)
    assert repeats.least_of_input >= 1
    assert repeats.least_of_kind >= 20
    fewest = min(repeats.of_type.values())
    assert (1 - repeats.excluded) ** fewest == pytest.approx(1e-6)
    out = " ".join(crownless("conform", f"{__file__}:Relay", "--quiet").out.split())
    least = "once" if repeats.least_of_input == 1 else f"{repeats.least_of_input} times"
    assert f"{repeats.all:,} answers repeated by new nodes: each at least {least}" in out
    assert f"a probability of {repeats.excluded * 100:.1f} % or more at every send, or at every packet" in out


def test_each_kind_of_input_is_repeated_by_twenty_new_nodes() -> None:
    m1, m2 = Message("1→2#1", 0, (1,)), Message("2→1#1", 1, (0,))
    known: dict[Query, Answer | NodeFailure] = {
        (0, (), Send(m1)): Answer((Transmits(1, "x"),)),
        (1, (), Send(m2)): Answer((Transmits(0, "y"),)),
        (1, (), Arrival(0, "x")): Answer((Delivers("1-2.1"),)),
    }
    rounds = list(in_rounds(known, 1000))
    assert [len(keys) for keys in rounds] == [2] * 20 + [0]
    assert {keys[0][0] for keys in rounds[:20]} == {0, 1}  # of one kind, in turn
    assert sum(len(keys) for keys in in_rounds(known, 7)) == 7


def test_what_was_not_repeated_excludes_nothing() -> None:
    assert (Repeats().excluded, Repeats().least_of_input, Repeats().least_of_kind) == (1.0, 0, 0)
