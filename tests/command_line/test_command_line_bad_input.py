"""Bad input, of any command or from Python, is one line that says what to do."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line_runner import Crownless

import crownless as cr
from crownless.command_line.commands.listing import LONG_SECTIONS, SECTIONS
from crownless.impl.channels import CHANNELS
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.system.request import protocols_supporting
from crownless.spec import library
from crownless.spec.orders import ORDERS

PROTOCOL_NAMES, ORDER_NAMES, COMPUTATIONS = (", ".join(names) for names in (PROTOCOLS, ORDERS, library.names()))
SECTION_NAMES = ", ".join((*SECTIONS, *LONG_SECTIONS))
SELF_SENDS = f"leave out --self-sends, or name the protocols: {protocols_supporting('self_sends')}"
MULTICAST = f"leave out --sends, or name the protocols: {protocols_supporting('multicast')}"
COPIES = f"send copies, or name the protocols: {protocols_supporting('multicast')}"


#: Each command, and the line that refuses it.
REFUSED = f"""
chek
    unknown command 'chek'; did you mean 'check'? known: check, claims, classify, conform, cost, count, explore, knobs, list, new, prove, realize, show, vectors
prove rts
    unknown protocol 'rts'; did you mean 'rst'? known: {PROTOCOL_NAMES}
list foo
    unknown section or protocol 'foo'; known: {SECTION_NAMES}, {PROTOCOL_NAMES}
check rts
    unknown protocol 'rts'; did you mean 'rst'? known: {PROTOCOL_NAMES}
check rst --order casual
    unknown order 'casual'; did you mean 'causal'? known: {ORDER_NAMES}
check rst --channel fif
    unknown channel 'fif'; did you mean 'fifo'? known: {", ".join(CHANNELS)}
check rst --engine tlc
    unknown engine 'tlc'; known: native, plain, spark
check rst --reduce order
    unknown reduction 'order'; known: symmetry, all
check rst --engine plain --reduce symmetry
    --engine plain: the plain engine has no reductions; leave out --engine or --reduce
check rst --engine plain --workers 2
    --engine plain: the plain engine has no workers; leave out --engine or --workers
check --engine plain --workers 2
    --engine plain: the plain engine has no workers; leave out --engine or --workers
check ses-rollback --engine native --crash P1
    ses-rollback: --engine native: the native engine does not support agreement of survivors; leave that out
check kearns --reduce symmetry
    kearns does not admit --reduce symmetry: it does not treat all processes alike; leave that out
check rst --max-memory 4
    --max-memory 4: not a size of 1M or more, in M, G or T; such as 4G, or 512M
check rst --max-memory 0G
    --max-memory 0G: not a size of 1M or more, in M, G or T; such as 4G, or 512M
check rst -n 0
    -n/--processes 0: too small; give 1 to 16
check rst -n -1
    -n/--processes -1: too small; give 1 to 16
check rst -n 1000000000
    -n/--processes 1000000000: too large; give 1 to 16
check rst -n two
    -n/--processes two: not a whole number; give one, such as 3
check rst --workers 65
    --workers 65: too large; give 1 to 64
check rst -m 0
    -m/--messages 0: too small; give 1 to 64
check rst -m 1000000000
    -m/--messages 1000000000: too large; give 1 to 64
check rst -n 1
    1 process has no other process to send to; use two processes or more, or --self-sends
check rst --set k=4
    rst has no parameter 'k'; its parameters: none
check extra-messages --set k=0
    extra-messages: k=0: too small, an empty matrix has 0 non-zero entries; give 1 or more
check extra-messages --set k=4,0,4
    extra-messages: k=4,0,4: too small, an empty matrix has 0 non-zero entries; give 1 or more
check extra-messages --set k=4,5
    extra-messages: k=4,5: 2 values for 3 processes; give one per process, or one for all
check buffer-bounded --set input=0
    buffer-bounded: input=0: too small, a full buffer takes nothing in; give 1 or more
check buffer-bounded --set output=1,2,3
    buffer-bounded: output=1,2,3: it is one for all processes; give one number, such as output=1
check kearns --set server=4
    kearns: server=4: too large for 3 processes; give 1 to 3
check kearns --order mailbox
    kearns orders the deliveries at one process only, which mailbox order does not constrain; request fifo or causal
check ses --crash P9
    unknown process to crash 'P9'; did you mean 'P3'? known: P1, P2, P3
check ses --crash P1 --crash P2
    --crash P1 --crash P2: at most one process may crash; give it once
check rst --sends multicast
    rst has no messages to several processes; {MULTICAST}
check rst --sends some
    unknown kind of sends 'some'; known: unicast, multicast, broadcast, broadcast-to-all
check rst --program ses-fig2
    rst has no messages to several processes, and W1 is one; {COPIES}
check rst --clock lamport
    unknown clock 'lamport'; did you mean 'lamport-times'? known: lamport-times, vector-times
check rst --set k
    --set k: not a KEY=VALUE with whole numbers; such as --set k=4, or k=4,4,5 for one value per process
check extra-messages --set k=3 --set k=4
    --set k=4: k is set twice; give it once
check rst --order asynchronous
    --order asynchronous: a violation of it also violates delivers-once, which is always checked; name another order
check murty-garg --self-sends
    murty-garg excludes messages to oneself; {SELF_SENDS}
check rst --program mf-program-1 -n 4
    a program has its own processes and messages; leave out -n, -m, --sends and --self-sends
count -n 0 -m 3
    -n/--processes 0: too small; give 1 to 8
count -n 3 -m 1000000000
    -m/--messages 1000000000: too large; give 1 to 8
show nope
    there is no file or bundled computation 'nope'; bundled: {COMPUTATIONS}; counterexamples: crownless list counterexamples
classify gone.txt
    gone.txt: cannot read it: No such file or directory; name a text file or a log
classify gone.parquet
    gone.parquet: cannot read it: No such file or directory; name a text file or a log
""".strip()  # noqa: E501  # each is one line, however long


@pytest.mark.parametrize(("arguments", "line"), re.findall(r"^(\w.*)\n    (.*)$", REFUSED, re.MULTILINE))
def test_bad_usage_is_one_line_that_says_what_to_do(crownless: Crownless, arguments: str, line: str) -> None:
    answer = crownless(*arguments.split())
    assert (answer.code, answer.out, answer.err) == (2, "", f"crownless: {line}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        "check rst --bogus",
        "count -n 3",
        "classify",
    ],
)
def test_what_the_option_parser_refuses_is_one_line_too(crownless: Crownless, arguments: str) -> None:
    answer = crownless(*arguments.split())
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("crownless: ")
    assert answer.err.count("\n") == 1
    assert "--help" in answer.err


def test_a_text_that_is_no_computation_is_refused_with_file_and_line(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "bad.txt"
    file.write_text("P1: receive x; send y to P2\nP2: receive y; send x to P1\n")
    answer = crownless("classify", str(file))
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert answer.err.startswith(f"crownless: {file}:2:5: the computation is cyclic")


def test_show_prints_what_it_would_draw_as_json(crownless: Crownless, tmp_path: Path) -> None:
    (shown,) = crownless("show", "mg-fig4a", "--json").json["computations"]
    assert [event["event"] for event in shown["lines"][0]] == ["send", "receive"]
    file = tmp_path / "checks.json"
    file.write_text(crownless("check", "unordered", "--order", "fifo", "--json").out)
    (shown,) = crownless("show", str(file), "--json").json["runs"]
    assert shown["processes"] == ["P1", "P2", "P3"]
    assert shown["run"] == json.loads(file.read_text())["checks"][0]["properties"][0]["run"]


def test_show_refuses_what_is_no_run(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "no.json"
    file.write_text("[1, 2]")
    answer = crownless("show", str(file))
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    file.write_text("[1,")
    assert crownless("show", str(file)).err.startswith(f"crownless: {file}:1: not JSON")


# -- from Python -------------------------------------------------------------------------------------------------------


#: Each call, and the line that refuses it.
REFUSED_IN_PYTHON = """
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
    `parameters["k"]` 'x': not a whole number; give one, or a tuple with one per process
cr.check("rst", program=3)
    `program` 3: not a program; give its name, its file, its text, or what cr.program made of a text
cr.check("rst", 2, program="mf-fig1")
    a program has its own processes and messages; leave out -n, -m, --sends and --self-sends
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
    in-memory lines must be JSON; give `format` and `pattern` with a file
cr.Recorder([3])
    the process name 3 is not a string; give str(…)
cr.Recorder().send("A", "m", to=2)
    the process name 2 is not a string; give str(…)
cr.Recorder().deliver("A", 1)
    the message name 1 is not a string; give str(…)
""".strip()  # each is one line, however long


@pytest.mark.parametrize(("call", "line"), re.findall(r"^(cr\..*)\n    (.*)$", REFUSED_IN_PYTHON, re.MULTILINE))
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
