"""What takes longer of the tests in `test_unsound_proof_machines.py`."""

from __future__ import annotations

import broken_cbcast
import broken_matrix_variants
import broken_rst
import broken_ses
import broken_ses_variants
import pytest
from causal_order_proofs import FEW, SEEDS, proof_for, put
from click.testing import CliRunner
from proofs_and_runs import broken, run
from unsound_proof_machines import TABLE, AcceptsAll, DeletesTheWrongWay, Planted

from crownless.command_line.commands.prove import prove_
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.rst import Rst
from crownless.proofs.proving import prove
from crownless.runtime.errors import BadInput


@pytest.mark.parametrize("planted", TABLE, ids=lambda planted: planted.machine.__name__)
def test_a_proof_says_no_more_than_is_true(planted: Planted) -> None:
    proof = proof_for(planted.machine)
    assert proof is not None
    if planted.says == "refused":
        with pytest.raises(BadInput, match=planted.machine.__name__) as refused:
            prove(planted.machine.__name__, proof, FEW, attempts=1)
        assert planted.because in str(refused.value)
        assert "\n" not in str(refused.value)
    else:
        proved = prove(planted.machine.__name__, proof, FEW, attempts=SEEDS)
        assert {shown: proved.outcome(shown) for shown in planted.says} == planted.says


@pytest.mark.parametrize(
    "planted", [row for row in TABLE if row.breaks is not None], ids=lambda planted: planted.machine.__name__
)
def test_what_is_planted_breaks_a_run(planted: Planted) -> None:
    assert planted.breaks is not None
    name, n, messages = planted.breaks
    assert name in broken(planted.machine, n, messages)


def test_the_command_exits_with_1_only_where_a_run_breaks_the_order() -> None:
    code, output = run(AcceptsAll)
    assert code == 1
    assert "safe is refuted: a message is delivered after all" in output
    assert "by this run of its code alone" in output


def test_the_command_exits_with_3_where_a_step_is_not_proved() -> None:
    code, output = run(DeletesTheWrongWay)
    assert code == 3
    assert "refuted" not in output.replace("nothing is refuted", "")
    assert "not proved" in output
    assert "nothing is refuted" in output


# -- runs that show it -------------------------------------------------------------------------------------------------


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
