"""Whoever brings a wrong machine gets one line that names class, method, process, input and local state."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import wrong_machines
from wrong_machines import MACHINES, Beats, Right, Ticks

from crownless.impl.protocol import Packet, ProtocolMachine
from crownless.impl.registry import PROTOCOLS
from crownless.impl.rst import Rst
from crownless.model_check.check import run_check
from crownless.model_check.class_facts import check_class
from crownless.model_check.native.search import NativeSearch
from crownless.model_check.own_steps import what_grows
from crownless.model_check.reachable import reachable
from crownless.model_check.realizing import realize
from crownless.model_check.request import Check
from crownless.model_check.simulation.simulation import Experiment, simulate_machine
from crownless.model_check.wrong_machine import WrongMachine, shortened
from crownless.proofs.programs.every_interleaving import judge
from crownless.proofs.proving import proof_of, prove
from crownless.spec.errors import BadInput
from crownless.spec.notation import parse

#: Seconds after which a process hangs.
LONG = 300
ENGINES = pytest.mark.parametrize("engine", ["plain", "native"])
#: What is said of each machine: the whole line, in which the places in the machines' file are mine.py:N.
LINES = dict(
    re.findall(r"^(\w+)\n    (.+)$", Path(__file__).with_name("wrong_machines.txt").read_text("utf-8"), re.MULTILINE)
)
#: Wrong only where processes are renamed.
BY_RENAMING = ("FailsInRenamed", "HasNoRenamedStamp")
#: Wrong only where local states are judged.
BY_JUDGING = ("FailsInAnInvariant", "FailsInAWitness", "InheritsAnInvariant", "InvariantGivesNothing")
WRONG = pytest.mark.parametrize("name", MACHINES)


MINE = """\
from crownless.impl.unordered import Unordered

def first(names):
    return names[0]

class Mine(Unordered):
    def deliverable(self, i, state, packet):
        return self.is_next(state, packet)

    def is_next(self, state, packet):
        return max((packet,), key=lambda each: first(state))
"""


def said(error: pytest.ExceptionInfo[WrongMachine]) -> str:
    line = str(error.value)
    assert "\n" not in line
    return re.sub(r"[^\s(]*wrong_machines\.py:\d+", "mine.py:N", line)


@WRONG
def test_what_is_said_of_a_wrong_machine(name: str) -> None:
    with pytest.raises(WrongMachine) as error:
        run_check(Check(MACHINES[name], 3, 2), engine="native" if name in BY_RENAMING else "plain")
    assert said(error) == LINES[name]
    assert isinstance(error.value, BadInput)


@WRONG
def test_the_native_engine_says_the_same_of_the_first_input_that_it_meets(name: str) -> None:
    with pytest.raises(WrongMachine) as error:
        run_check(Check(MACHINES[name], 3, 2), engine="native", workers=1)
    assert in_general(said(error)) == in_general(LINES[name])


def in_general(line: str) -> str:
    """The line without what depends on the order in which inputs are met: who, and the values."""
    return re.sub(r"P\d|\d→\d#\d", "…", line)


@pytest.mark.parametrize("name", [name for name in MACHINES if name not in BY_RENAMING + BY_JUDGING])
def test_realize_says_the_same(name: str) -> None:
    with pytest.raises(WrongMachine) as error:
        realize(Check(MACHINES[name], 3, 2))
    assert said(error) == LINES[name]


def test_every_line_is_of_a_machine() -> None:
    assert LINES.keys() == MACHINES.keys()


@ENGINES
def test_nothing_is_said_of_the_right_machine(engine: str) -> None:
    assert run_check(Check(Right, 3, 2), engine=engine)["delivers-all"].verdict == "holds"


def test_nothing_is_said_of_the_bundled_protocols() -> None:
    for kind in PROTOCOLS.values():
        check_class(kind)


@pytest.mark.parametrize("mistake", ["promises", "needs_channel", "bound", "parameters", "invariants"])
def test_facts_are_looked_at_before_any_is_used(mistake: str) -> None:
    """Also of an instance, and where the request would be refused by another fact."""
    kind: Any = type("Mistaken", (Right,), {mistake: 7})
    with pytest.raises(WrongMachine, match=rf"Mistaken\.{mistake} = 7 is no"):
        Check(kind(3), self_sends=True).resolve()


# -- elsewhere ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Ticks, Beats])
def test_a_simulation_comes_to_an_end_where_internal_steps_do_not(kind: type[ProtocolMachine]) -> None:
    with pytest.raises(WrongMachine, match=rf"{kind.__name__}\.internal .* at P\d can go on for ever: in 1,000 steps"):
        simulate_machine(kind(3), Experiment("", 3, messages=10))


def test_a_simulation_says_what_is_wrong() -> None:
    with pytest.raises(
        WrongMachine, match=r"FailsInAHelper\.send fails at P3: KeyError: 2 \(.*\), given the message \d"
    ):
        simulate_machine(wrong_machines.FailsInAHelper(3), Experiment("", 3, messages=10))


def test_states_of_a_wrong_machine_are_not_gone_through() -> None:
    with pytest.raises(WrongMachine, match=r"FailsInArrive\.on_packet fails at P2: AttributeError"):
        list(reachable(Check(wrong_machines.FailsInArrive, 3, 2).resolve().system()))


class FailsInAProof(Rst):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return state.nothing


def test_a_program_is_not_put_to_z3_with_a_wrong_machine() -> None:
    script = parse("P1: send x to P2\nP2: receive")
    with pytest.raises(
        WrongMachine, match=r"FailsInAProof\.deliverable fails at P2: AttributeError.*, given the packet"
    ):
        judge(Check(FailsInAProof, program=script))


def test_no_proof_is_of_a_class_that_says_what_cannot_be() -> None:
    kind: Any = type("Misspelt", (Rst,), {"promises": "casual"})
    with pytest.raises(WrongMachine, match=r"Misspelt\.promises = 'casual' is not an order; did you mean 'causal'"):
        prove("misspelt", proof_of(kind))


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_the_command_line_prints_the_line_alone(tmp_path: Path, engine: str) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    command = [sys.executable, "-m", "crownless", "check", "mine.py:Mine", "-n", "2", "-m", "1", "--engine", engine]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert re.fullmatch(
        r"crownless: Mine\.deliverable fails at P\d: IndexError: tuple index out of range "
        r"\(mine\.py:4 in first\), given the packet 'message' of "
        r"\d→\d#1 from P\d in the local state \(\); a method must have an answer in every local state that can occur\n",
        ran.stderr,
    )


def test_an_error_in_a_callback_is_not_the_machines() -> None:
    def progress(*_: Any) -> None:
        raise LookupError("of the callback")

    with pytest.raises(LookupError):
        run_check(Check(Right, 3, 2), progress=progress, engine="plain")


def test_an_error_in_crownless_is_not_the_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NativeSearch, "_search_or_start_over", lambda _: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        run_check(Check(Right, 3, 2), engine="native")
    with pytest.raises(ZeroDivisionError):
        run_check(Check("rst", 3, 2), engine="native")


def test_of_values_the_part_is_named_that_grows() -> None:
    assert what_grows((0, ("a", 1)), (0, ("a", 5))) == ("its local state[1][1]", 1, 5)
    assert what_grows(wrong_machines.State(0, ()), wrong_machines.State(0, ("m",))) == ("seen", (), ("m",))
    assert what_grows(1, 2) == ("its local state", 1, 2)
    assert what_grows((1,), (1,)) is None


def test_long_values_are_shortened_in_the_middle() -> None:
    assert shortened("x" * 50 + "y" * 50, 11) == "xxxxx…yyyyy"
    assert shortened("a  b\nc", 11) == "a b c"
