"""Where a proof fails there is a situation against it; and where the protocol is broken, a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import broken_cbcast
import broken_matrix_variants
import broken_rst
import broken_ses
import broken_ses_variants
import pytest
from click.testing import CliRunner
from test_proofs_of_causal_order import CAUSAL, put

from crownless.command_line.prove import prove_
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.rst import Rst
from crownless.proofs.induction.causal_order import CausalOrder
from crownless.proofs.induction.replay import MOST_MESSAGES, Replayed, Sending, few_messages, replayed

#: A broken protocol, and how many actions a shortest run has that shows it.
BROKEN = [
    (broken_rst.AttachesNothing, 3),
    (broken_rst.NeverMerges, 5),
    (broken_rst.AsksForMore, 1),
    (broken_matrix_variants.DelaysNothing, 3),
    (broken_ses.DeliversWhatArrives, 3),
    (broken_ses.NeverInsertsAPair, 3),
    (broken_cbcast.AsksOnlyTheSender, 4),
    (broken_ses_variants.TellsThePairsOfTheOthersOnly, 3),
]


@pytest.mark.parametrize(("machine", "actions"), BROKEN, ids=lambda value: getattr(value, "__name__", None))
def test_a_broken_protocol_has_a_run_that_shows_it(machine: type[ProtocolMachine], actions: int) -> None:
    found = replay_of(machine)
    assert found.run is not None
    assert len(found.run.actions) == actions
    assert found.same_messages
    used = {action.message for action in found.run.actions if action.action == "send"}
    assert len(used) <= sum(found.sent.values())


@pytest.mark.parametrize(("several", "counts"), [(False, [1, 5, 10]), (True, [2, 10, 30])])
def test_systems_of_a_few_messages_are_looked_at_once_up_to_names(several: bool, counts: list[int]) -> None:
    systems = [list(few_messages(total, several=several)) for total in (1, 2, 3)]
    assert [len(each) for each in systems] == counts
    assert ((0, (1,)), (0, (1,))) in systems[1]


def replay_of(machine: type[ProtocolMachine]) -> Replayed:
    proved = put(machine)
    assert proved is not None
    assert proved.failures
    assert isinstance(proved.proof, CausalOrder)
    return replayed(proved.proof, [(each.verdict.name, each.verdict.model) for each in proved.failures])


def test_only_the_messages_same_messages_are_sent() -> None:
    workload = Sending(3, Counter({(0, (1,)): 2, (2, (0,)): 1}))
    assert workload.messages == 3
    position = workload.start()
    assert {(pending.process, pending.message.receiver) for pending in workload.pending_sends(position)} == {
        (0, 1),
        (2, 0),
    }
    (to_p1,) = [pending for pending in workload.pending_sends(position) if pending.process == 2]
    assert {pending.process for pending in workload.pending_sends(to_p1.after)} == {0}


def test_a_proof_that_lacks_an_invariant_has_a_situation_and_no_run() -> None:
    lacking = {
        name: holds for name, holds in CAUSAL["rst"].invariants.items() if name != "a sender counts what it sent"
    }
    proof = replace(CAUSAL["rst"], invariants=lacking)
    name = "SENT counts what is known: kept by sending"
    found = replayed(proof, [(name, None)])
    assert found.claim == name
    assert found.run is None
    assert sum(found.sent.values()) <= MOST_MESSAGES


class Hasty(Rst):
    """Delivers whatever comes."""

    def deliverable(self, i: object, state: object, packet: object) -> object:
        return True


def test_a_refutation_prints_its_run_first_and_only_what_it_rests_on() -> None:
    name = f"{__name__}:Hasty"
    result = CliRunner().invoke(prove_, [name, "--effort", "100000"], standalone_mode=False)
    assert result.return_value == 1
    first, *_ = result.output.splitlines()
    assert first.startswith(f"{name}: safe is refuted: a message is delivered after all")
    assert result.output.index("P2: deliver m2 from P1") < result.output.index("seconds")
    assert f"{name}: not proved: safe" in result.output
    for beside in ("Assumed", "Trusted", ": unknown:", "resource limit", "raise --effort", "vacuous"):
        assert beside not in result.output


def test_assumptions_of_a_proof_are_printed_beside_the_refutation_of_another() -> None:
    arguments = [f"{__name__}:Hasty", "rst", "--effort", "100000"]
    result = CliRunner().invoke(prove_, arguments, standalone_mode=False)
    assert "safe is refuted" in result.output
    assert "Assumed:" in result.output
    assert "Trusted:" in result.output
