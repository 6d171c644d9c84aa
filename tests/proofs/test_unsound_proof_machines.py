"""`prove` says no more of a machine than is true, and where it is broken there is a run that shows it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from causal_order_proofs import CAUSAL
from proofs_and_runs import broken, run
from unsound_proof_machines import TABLE, DeletesTheWrongWay, NumbersTheCopies, TrustsP2ByBranch

from crownless.impl.protocol import Packet, ProtocolMachine
from crownless.impl.protocols.rst import Rst
from crownless.proofs.language.refusals import Refused
from crownless.proofs.proving import prove
from crownless.runtime.errors import BadInput


def test_a_machine_that_trusts_a_name_is_refused_by_checks_too() -> None:
    (trusting,) = [row.machine for row in TABLE if row.machine.__name__ == "TrustsAName"]
    with pytest.raises(BadInput, match=r"TrustsAName\.deliverable .* depends on the names of messages"):
        broken(trusting, 2, 2)


def test_the_fourth_receiver_shows_with_five_processes_and_not_before() -> None:
    assert "delivers-all" in broken(NumbersTheCopies, 5, 1)
    assert broken(NumbersTheCopies, 4, 1) == set()


def test_what_is_right_and_not_proved_breaks_no_run() -> None:
    assert broken(DeletesTheWrongWay, 3, 3) == set()


def test_the_command_says_in_one_line_what_it_refuses() -> None:
    with pytest.raises(Refused) as refused:
        run(TrustsP2ByBranch)
    line = str(refused.value)
    assert re.match(r"TrustsP2ByBranch\.deliverable: <lambda> \(\S*unsound_proof_machines\.py:\d+\): ", line)
    assert "\n" not in line


class Loops(Rst):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        while True:
            return True


class CallsAFunctionThatLoops(Rst):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return its_length(state.sent)


def its_length(some: Any) -> int:
    return len(some)


@pytest.mark.parametrize(
    ("machine", "where"),
    [
        (Loops, r"Loops\.deliverable \(\S*:\d+\): a while loop"),
        (CallsAFunctionThatLoops, r"CallsAFunctionThatLoops\.deliverable: its_length \(\S*:\d+\): len "),
    ],
)
def test_a_refusal_has_one_location(machine: type[ProtocolMachine], where: str) -> None:
    with pytest.raises(Refused, match=where) as refused:
        run(machine)
    assert str(refused.value).count(".py:") == 1


def test_a_proof_that_lacks_an_invariant_is_not_refuted() -> None:
    lacking = {
        name: holds for name, holds in CAUSAL["rst"].invariants.items() if name != "a sender counts what it sent"
    }
    proved = prove("rst", replace(CAUSAL["rst"], invariants=lacking), 100_000, attempts=1)
    assert "SENT counts what is known: kept by sending" in {put.claim.name for put in proved.failures}
    assert proved.refutation is None
    assert proved.refuted == []
