"""[Kup], "causal unicast", on the machine of `impl.protocols.rst`: Alice, Bob and Carol, matrix by matrix, to the end.

"Giving Alice, Bob, and Carol the creative names P1, P2, and P3": they keep their own names here, in that order.
"""

from __future__ import annotations

import re
from typing import Any

from replay import Replay, computation_of, endings, violations

from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.workloads import Program
from crownless.model_check.check.check import run_check
from crownless.model_check.system.request import Check
from crownless.spec import library, notation

#: What the three do, whatever the order in which Carol gets her messages.
STORY = library.path("kuper-program").read_text(encoding="utf-8")


def test_the_bundled_program_shows_every_matrix_of_the_run() -> None:
    story, carried = Replay(Rst, STORY), dict[str, Any]()
    shown = re.findall(r"^# (\w+) (send|deliver) (m\d) +carries (\S+) +SENT (\S+) +DELIV (\d+)$", STORY, re.MULTILINE)
    assert len(shown) == 6
    for process, action, message, stamp, sent, deliv in shown:
        if action == "send":
            (packet,) = story.do(f"{process} send {message}")
            carried[message] = packet
        else:
            story.do(f"{process} deliver {message} from {story.processes[carried[message].source]}")
        state = story.at(process)
        rows = ["/".join("".join(map(str, row)) for row in matrix) for matrix in (carried[message].stamp, state.sent)]
        assert [*rows, "".join(map(str, state.deliv))] == [stamp, sent, deliv]
    assert story.can() == set()


# -- the run, section by section ---------------------------------------------------------------------------------------


def test_the_matrix_of_the_introduction_counts_who_sent_how_many_to_whom() -> None:
    story = Replay(Rst, "P1: send a to P3; receive; receive\nP2: send b to P1; send c to P1\nP3:")
    story.do("P1 send a; P2 send b; P2 send c; P1 deliver b from P2; P1 deliver c from P2")
    assert story.at("P1").sent == ((0, 0, 1), (2, 0, 0), (0, 0, 0))
    assert story.at("P1").deliv == (0, 2, 0)


def test_the_vector_of_the_introduction_counts_how_many_were_delivered_from_whom() -> None:
    story = Replay(Rst, "P1: receive; receive; receive\nP2: send a to P1; send b to P1\nP3: send c to P1")
    story.do("P2 send a; P2 send b; P3 send c; P1 deliver a from P2; P1 deliver c from P3; P1 deliver b from P2")
    assert story.at("P1").deliv == (0, 2, 1)


# -- every order of things ---------------------------------------------------------------------------------------------


def test_without_a_protocol_carol_may_get_m3_first_and_with_it_she_never_does() -> None:
    confused = computation_of(notation.load(library.path("kuper-alice-bob-carol")))
    causal = computation_of(notation.load(library.path("kuper-alice-bob-carol-causal")))
    program = Program(notation.parse(STORY))
    assert {ending.computation for ending in endings(Unordered, program)} == {confused, causal}
    assert {ending.computation for ending in endings(Rst, program)} == {causal}


def test_a_carol_who_insists_on_m3_first_waits_for_ever() -> None:
    script = notation.load(library.path("kuper-alice-bob-carol"))
    result = run_check(Check("rst", program=script))
    assert violations(result) == {"completes": 4}
    (ending,) = endings(Rst, Program(script))
    assert ending.waiting == ["Carol at its statement 1, receive m3"]
