"""`prove` says no more of a machine than is true, whatever is planted in it."""

from __future__ import annotations

import re
import warnings

import pytest
from click.testing import CliRunner
from test_proofs_of_causal_order import FEW, SEEDS, proof_for
from unsound_proof_machines import TABLE, AcceptsAll, DeletesTheWrongWay, NumbersTheCopies, Planted, TrustsP2ByBranch

from crownless.command_line.verbs.prove import prove_
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.workloads import Free
from crownless.model_check.check.request import Check
from crownless.model_check.search.explorer import explore
from crownless.proofs.induction.proving import prove
from crownless.proofs.language.refusals import Refused
from crownless.runtime.ending import Limits
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


def broken(kind: type[ProtocolMachine], n: int, messages: int) -> set[str]:
    workload = Free(n, messages, sends=kind.sends)
    check = Check(kind(n), workload=workload, channel="unordered", orders=("fifo", "causal")).resolve()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        return set(explore(check.system(), check.properties, Limits(states=50_000)).broken)


def test_the_fourth_receiver_shows_with_five_processes_and_not_before() -> None:
    assert "delivers-all" in broken(NumbersTheCopies, 5, 1)
    assert broken(NumbersTheCopies, 4, 1) == set()


def test_what_is_right_and_not_proved_breaks_no_run() -> None:
    assert broken(DeletesTheWrongWay, 3, 3) == set()


def run(machine: type[ProtocolMachine]) -> tuple[int, str]:
    name = f"{machine.__module__}:{machine.__name__}"
    result = CliRunner().invoke(prove_, [name, "--effort", "200000"], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value, result.output


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


def test_the_command_says_in_one_line_what_it_refuses() -> None:
    with pytest.raises(Refused) as refused:
        run(TrustsP2ByBranch)
    line = str(refused.value)
    assert re.match(r"TrustsP2ByBranch\.deliverable \(\S*unsound_proof_machines\.py:\d+\): ", line)
    assert "\n" not in line
