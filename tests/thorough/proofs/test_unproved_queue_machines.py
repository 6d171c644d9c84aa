"""`prove` of machines of queues that are not shown to be the proved ones: not proved, and refuted if a run is found."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import pytest
from command_line_runner import Crownless
from faulty_queue_machines import FAULTS
from queue_proofs import FAULTY, Idle
from tiers import slow

import crownless as cr
from crownless.impl.protocol import ProtocolMachine
from crownless.proofs.induction import replay
from crownless.proofs.language.refusals import Refused
from crownless.proofs.protocols.buffer import BUFFER
from crownless.proofs.proving import STEPS, proof_of, prove
from crownless.research.knobs.combinations import class_with_knobs, combination_named
from crownless.research.knobs.deciding import NOT_REFINED, proved

#: Variants of the protocols of queues, what `prove` says of *safe* and *live*, and the channel of the search for a run.
VARIANTS = {
    "buffer[next may go: always]": ("refuted", "not proved", "unordered"),
    "buffer[acknowledged on: nothing]": ("not proved", "refuted", "unordered"),
    "buffer[next may go: with none outstanding from another receiver]": ("refuted", "not proved", "unordered"),
    "buffer[next delivered: the newest]": ("refuted", "not proved", "unordered"),
    "murty-garg[must request: never]": ("refuted", "not proved", "unordered"),
    "murty-garg[must request: always]": ("refuted", "not proved", "unordered"),
    "murty-garg[message is: received when active]": ("not proved", "not proved", "unordered"),
    "buffer-pipelined": ("not proved", "not proved", "fifo"),
    "buffer-bounded": ("not proved", "not proved", "unordered"),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_of_a_protocol_of_queues_is_not_proved_but_refuted_by_a_run_if_there_is_one(name: str) -> None:
    report = cr.prove(name)
    safe, live, channel = VARIANTS[name]
    assert (report.outcome("safe"), report.outcome("live")) == (safe, live)
    assert report.search is not None
    assert report.search.channel == channel
    assert (report.refutation is not None) == ("refuted" in (safe, live))
    assert (report.json()["search"]["violates"] is not None) == ("refuted" in (safe, live))
    assert report.assumed == [], "nothing is proved, so nothing is assumed"


@pytest.mark.parametrize(
    "machine", [*map(slow, FAULTY), *(fault.machine for fault in FAULTS)], ids=lambda machine: machine.__name__
)
def test_nothing_is_proved_of_a_machine_with_a_fault(machine: type[ProtocolMachine]) -> None:
    """It is refused, or not proved."""
    with suppress(Refused):
        assert prove(machine.__name__, proof_of(machine), 200_000, attempts=1).proved == []


def test_steps_that_are_not_shown_make_the_result_not_proved() -> None:
    report = prove("idle", replace(BUFFER, protocol=Idle), 200_000, attempts=1)
    assert {put.part for put in report.failures} == {STEPS}
    assert (report.outcome("safe"), report.outcome("live")) == ("not proved", "refuted")


def test_a_variant_that_is_not_proved_prints_the_reason_and_no_assumption(crownless: Crownless) -> None:
    answer = crownless("prove", "buffer-pipelined")
    assert answer.code == 3
    assert "not proved: its steps cannot be compared with what is proved: its local states are not" in answer.out
    scope = "(3 processes, up to 3 messages, any process to any other; fifo channel)"
    assert f"every run keeps the order and delivers everything {scope}" in answer.out
    for beside in ("Assumed", "Trusted", "any number", "abstraction"):
        assert beside not in answer.out
    broken = crownless("prove", "murty-garg[must request: never]")
    assert broken.code == 1
    assert "safe is refuted: every message can be drawn as a point" in broken.out


def test_a_search_that_is_not_finished_says_so(crownless: Crownless, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "MAX_STATES", 20)
    answer = crownless("prove", "buffer-bounded")
    assert answer.code == 3
    assert "nothing is refuted, but not every run was explored: state limit of 20 reached" in answer.out
    assert "every run keeps the order" not in answer.out


def test_a_map_over_fifo_channels_does_not_call_refuted_what_a_faster_packet_refutes() -> None:
    """[MF] footnote 4: right over FIFO channels, up to the bound, and over no others."""
    of = combination_named(class_with_knobs("buffer"), "next may go: with none outstanding from another receiver")
    said = {channel: proved(of, channel) for channel in ("fifo", "unordered")}
    assert (said["fifo"]["safe"], said["unordered"]["safe"]) == ("not proved", "refuted")
    assert {row["unproved"] for row in said.values()} == {NOT_REFINED}
