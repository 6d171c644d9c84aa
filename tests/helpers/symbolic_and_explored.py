"""One program judged by symbolic runs and by the explorer."""

from __future__ import annotations

from crownless.impl.protocol import ProtocolMachine
from crownless.model_check.check.check import run_check
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.system.request import Check, load_program
from crownless.proofs.programs.every_interleaving import ProgramVerdict, judge
from crownless.spec import library, notation
from crownless.spec.notation import Script

TRIANGLE = "P1: send x to P3; send y to P2\nP2: receive; send z to P3\nP3: receive; receive"


def both(
    kind: type[ProtocolMachine] | str, program: str | Script, channel: str = "unordered", orders: tuple[str, ...] = ()
) -> tuple[ProgramVerdict, CheckResult]:
    """What z3 and what the explorer say of a program, or of one given by its text or by the name of a bundled one."""
    if isinstance(program, str):
        program = load_program(program) if program in library.names() else notation.parse(program)
    check = Check(kind, program=program, channel=channel, orders=orders)
    return judge(check), run_check(check, engine="plain")


def agree(judged: ProgramVerdict, explored: CheckResult) -> None:
    """Each property that both decide has one verdict; and over unordered channels shortest runs are of one length."""
    of_explorer = {result.property: result for result in explored.properties}
    assert {found.property.name for found in judged.properties} | set(judged.not_asked) == {p.name for p in of_explorer}
    for found in judged.properties:
        result = of_explorer[found.property]
        assert not found.gave_up
        assert found.verdict == result.verdict, found.property.name
        if found.verdict == "violated":
            assert found.run is not None
            assert result.run is not None
            assert found.shortest
            if judged.channel == "unordered":
                assert len(found.run.actions) == len(result.run.actions), found.property.name
    assert judged.completes == explored.completes
    elsewhere = {result.property.name for result in explored.properties if result.verdict == "violated"}
    assert judged.verdict == explored.verdict or (elsewhere and elsewhere <= set(judged.not_asked))
