"""What takes longer of the tests in `test_symbolic_runs.py`."""

from __future__ import annotations

from pathlib import Path

import pytest
from broken_protocols import BROKEN, HARMLESS
from command_line_runner import Crownless
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from symbolic_and_explored import TRIANGLE, agree, both
from tiers import slow_where

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.ses import Ses
from crownless.model_check.search.engines import admitted
from crownless.model_check.system.request import Check, ResolvedCheck, load_program
from crownless.proofs.programs.every_interleaving import CHANNELS, ORDERS
from crownless.proofs.programs.symbolic_run import protocols_on_terms, why_not_symbolic
from crownless.spec import library
from crownless.spec.notation import Script
from crownless.testing import programs

ANSWERS = (
    "P1: send a to P2; receive; send b to P3; receive\nP2: receive; send c to P1; send d to P3\n"
    "P3: receive; send e to P1; receive"
)
#: Each process waits for another before it sends: what is carried is known to none of them beforehand.
KNOT = "P1: receive; send x to P2; receive\nP2: send v to P1; receive; send y to P1; receive\nP3: send w to P2"


def is_admitted(protocol: str, program: str) -> bool:
    return isinstance(admitted(Check(protocol, program=load_program(program))), ResolvedCheck)


# -- agreement with the explorer ---------------------------------------------------------------------------------------


ON_TERMS = [
    *("unordered", "fifo-sequence", "cbcast", "kearns", "rst", "rst-before", "rst-sent-alone", "rst-column"),
    *("ses", "ses-delete", "ses-multicast"),
]

#: With few runs.
SMALL = {"mf-fig3", "ses-program-1", "kuper-program", "mg-fig1", "mf-fig1"}


@pytest.mark.parametrize("program", slow_where(lambda name: name not in SMALL, library.names()))
def test_bundled_programs_are_judged_as_the_explorer_judges_them(program: str) -> None:
    for protocol in protocols_on_terms():
        if is_admitted(protocol, program):
            for channel in CHANNELS:
                agree(*both(protocol, program, channel))


def can_be_put(kind: type[ProtocolMachine]) -> bool:
    return why_not_symbolic(kind, 3) is None


BROKEN_ON_TERMS = [row.machine for row in BROKEN if can_be_put(row.machine)]
HARMLESS_ON_TERMS = [row.machine for row in HARMLESS if can_be_put(row.machine)]
OF_MATRICES = [kind for kind in BROKEN_ON_TERMS if issubclass(kind, Rst | Ses)]


@pytest.mark.parametrize(
    ("program", "machines"),
    [(TRIANGLE, BROKEN_ON_TERMS), (KNOT, OF_MATRICES[::2]), (ANSWERS, HARMLESS_ON_TERMS[::4])],
    ids=["triangle", "knot", "answers-of-harmless-ones"],
)
def test_broken_protocols_are_judged_as_the_explorer_judges_them(
    program: str, machines: list[type[ProtocolMachine]]
) -> None:
    found = 0
    for kind in machines:
        judged, explored = both(kind, program, kind.needs_channel)
        agree(judged, explored)
        found += judged.verdict == "violated"
    assert machines[0] in HARMLESS_ON_TERMS or found > len(machines) / 3


@pytest.mark.parametrize(
    ("messages", "processes", "message"),
    [
        (61, 2, "has 61 messages: the formula would be too large for z3; give at most 60"),
        (1, 17, "has 17 processes; give at most 16"),
    ],
)
def test_a_program_too_large_for_z3_is_refused(
    crownless: Crownless, tmp_path: Path, messages: int, processes: int, message: str
) -> None:
    sends = "; ".join(f"send m{m} to P2" for m in range(messages))
    lines = [f"P1: {sends}", f"P2: {'; '.join(['receive'] * messages)}", *(f"P{p}:" for p in range(3, processes + 1))]
    program = tmp_path / "program.txt"
    program.write_text("\n".join(lines) + "\n", "utf-8")
    code, _, err = crownless("prove", "rst", "--program", str(program))
    assert (code, message in err) == (2, True), err


@settings(derandomize=True, max_examples=60)
@given(programs(receivers=2), st.sampled_from(ON_TERMS), st.sampled_from(CHANNELS), st.sampled_from([(), ORDERS]))
def test_random_programs_are_judged_as_the_explorer_judges_them(
    program: Script, protocol: str, channel: str, orders: tuple[str, ...]
) -> None:
    assume(isinstance(admitted(Check(protocol, program=program, orders=orders)), ResolvedCheck))
    agree(*both(protocol, program, channel, orders))
