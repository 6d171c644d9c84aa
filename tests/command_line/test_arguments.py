"""What is given from Python and cannot be used is refused in one line."""

from __future__ import annotations

import re

import pytest

import crownless as cr

#: Each call, and the line that refuses it.
REFUSED = """
cr.check(3)
    int is not a protocol; derive its class from crownless.Protocol
cr.check("rst", 3.5)
    `processes` 3.5: not a whole number; give 1 to 16
cr.check("rst", True)
    `processes` True: not a whole number; give 1 to 16
cr.check("rst", 17)
    `processes` 17: too large; give 1 to 16
cr.check("rst", 3, 65)
    `messages` 65: too large; give 1 to 64
cr.check("rst", orders=[1])
    `orders` [1]: not a list of names; give strings, such as orders=["…"], or one
cr.check("rst", clocks=3)
    `clocks` 3: not a list of names; give strings, such as clocks=["…"], or one
cr.check("rst", reductions=3)
    `reductions` 3: not a list of names; give strings, such as reductions=["…"], or one
cr.check("rst", parameters=3)
    `parameters` 3: not a dictionary; such as parameters={"k": 3}
cr.check("rst", parameters={"k": "x"})
    `parameters["k"]` 'x': not a whole number; give one, or a tuple of one for each process
cr.check("rst", program=3)
    `program` 3: not a program; give its name, its file, its text, or what cr.program made of a text
cr.check("rst", 2, program="mf-fig1")
    `program`: a program brings its own processes and messages; leave out `processes`, `messages`, `sends` and `self_sends`
cr.check("rst", workers=0)
    `workers` 0: too small; give 1 to 64
cr.check("rst", max_seconds=float("nan"))
    `max_seconds` nan: not a number of seconds; give 0 or more, or None for no limit
cr.check("rst", max_seconds=-1)
    `max_seconds` -1: too small; give 0 or more, or None for no limit
cr.check("rst", max_states=0)
    `max_states` 0: too small; give 1 or more
cr.check("rst", max_memory=1.5)
    `max_memory` 1.5: not a whole number; give 1 or more
cr.check("rst", checkpoint="a", resume="b")
    --checkpoint: a resumed search is saved further in the directory of --resume; leave out --checkpoint
cr.realize("rst", crash="P1")
    the computations of a protocol are of the free workload, without crashes; leave out the program or the crash
cr.count(9, 1)
    `processes` 9: too large; give 1 to 8
cr.prove("rst", effort=0)
    `effort` 0: too small; give 1 or more
cr.classify(None)
    `computation` None: not a computation; give a text, or what cr.parse, cr.read_log or a cr.Recorder has
cr.classify("P1: send x to P2\nP2:", unreceived="zz")
    unknown policy for unreceived messages 'zz'; known: lost, pending
cr.draw(3)
    `thing` 3: not a computation; give a text, or what cr.parse, cr.read_log or a cr.Recorder has
cr.read_log("a.txt", format="xml")
    unknown format 'xml'; known: csv, parquet, arrow, otlp, itf, jsonl, shiviz
cr.read_log(["{}"], pattern="x")
    lines are of JSON; give `format` and `pattern` with a file
cr.Recorder([3])
    a process is called 3, which is not a string; give str(…)
cr.Recorder().send("A", "m", to=2)
    a process is called 2, which is not a string; give str(…)
cr.Recorder().deliver("A", 1)
    a message is called 1, which is not a string; give str(…)
""".strip()  # noqa: E501  # each is one line, however long


@pytest.mark.parametrize(("call", "line"), re.findall(r"^(cr\..*)\n    (.*)$", REFUSED, re.MULTILINE))
def test_what_cannot_be_used_is_refused_in_a_line(call: str, line: str) -> None:
    with pytest.raises(cr.BadInput) as refused:
        eval(call, {"cr": cr})
    assert str(refused.value) == line


def test_numbers_of_other_kinds_are_taken() -> None:
    class Number:
        def __index__(self) -> int:
            return 2

    assert cr.check("unordered", Number(), Number()).exploration.states == 17  # type: ignore[arg-type]
    assert cr.count(2, 2).counts == cr.count(Number(), Number()).counts  # type: ignore[arg-type]
