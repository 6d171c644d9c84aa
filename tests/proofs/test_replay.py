"""Where a protocol is broken, not only a step of its proof fails: there is a run."""

from __future__ import annotations

from dataclasses import replace

import broken_cbcast
import broken_matrix_variants
import broken_rst
import broken_ses
import broken_ses_variants
import pytest
from click.testing import CliRunner
from test_proofs_of_causal_order import CAUSAL, put

from crownless.command_line.verbs.prove import prove_
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.rst import Rst
from crownless.proofs.induction.proving import prove

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
    proved = put(machine)
    assert proved is not None
    assert proved.failures
    assert proved.refutation is not None
    assert len(proved.refutation.run.actions) == actions


def test_a_proof_that_lacks_an_invariant_is_not_refuted() -> None:
    lacking = {
        name: holds for name, holds in CAUSAL["rst"].invariants.items() if name != "a sender counts what it sent"
    }
    proved = prove("rst", replace(CAUSAL["rst"], invariants=lacking), 100_000, attempts=1)
    assert "SENT counts what is known: kept by sending" in {put.claim.name for put in proved.failures}
    assert proved.refutation is None
    assert proved.refuted == []


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
