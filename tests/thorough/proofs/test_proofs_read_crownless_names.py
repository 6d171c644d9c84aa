"""What a machine reads as `cr.Step` a proof reads as `Step`; what else a module has stays closed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import crownless
import crownless as cr
from crownless.command_line.commands.prove import prove_
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.protocols.buffer import State as BufferState
from crownless.impl.protocols.extra_messages import ExtraMessages
from crownless.impl.protocols.rst import Rst
from crownless.proofs.induction.proved_properties import SHOWN
from crownless.proofs.induction.step_refinement import step_claims
from crownless.proofs.induction.theorem import theorem
from crownless.proofs.language.refusals import Refused
from crownless.proofs.language.symbolic_queues import UnsupportedStep
from crownless.proofs.protocols.buffer import BUFFER
from crownless.proofs.protocols.extra_messages_steps import same_steps
from crownless.proofs.proving import proof_of, prove

FEW = 200_000


@pytest.fixture(autouse=True)
def _not_yet_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has read no name of the package yet."""
    for name in ("Step", "Packet", "sent", "delivered", "parse"):
        monkeypatch.delitem(vars(crownless), name, raising=False)


def outcomes(machine: type[ProtocolMachine]) -> dict[str, str]:
    report = prove(machine.__name__, proof_of(machine), FEW)
    return {shown: report.outcome(shown) for shown in SHOWN}


MINE = """\
import crownless as cr
from crownless.impl.protocols.rst import Rst

class Mine(Rst):
    def send(self, i, state, message):
        packet = cr.Packet(i, message.receiver, "message", message, self.stamp(state))
        return [cr.Step(self.after_sending(i, state, message.receiver), [packet], [cr.sent(message)])]

    def on_packet(self, i, state, packet):
        after = self.after_delivering(i, state, packet.source, packet.stamp)
        return [cr.Step(after, (), [cr.delivered(packet.message)])]

class Deaf(Mine):
    def on_packet(self, i, state, packet):
        return [cr.Step(state, (), [cr.delivered(packet.message)])]
"""


def test_the_command_proves_a_file_that_imports_crownless_as_cr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    proved = CliRunner().invoke(prove_, ["mine.py:Mine"], standalone_mode=False)
    assert proved.return_value == 0
    assert proved.output.splitlines()[1].split()[:4] == ["mine.py:Mine", "proved", "proved", "proved"]
    assert CliRunner().invoke(prove_, ["mine.py:Deaf", "--effort", str(FEW)], standalone_mode=False).return_value != 0


class PostsByTheModule(Buffer):
    def receive(self, i: int, state: BufferState, sender: int | None) -> Sequence[cr.Step]:
        if not state.input:
            return []
        message, *rest = state.input
        return [cr.Step(state._replace(input=tuple(rest)), (), [cr.delivered(message)])]


class DeliversAndKeeps(Buffer):
    """The planted fault: what is delivered stays in the queue."""

    def receive(self, i: int, state: BufferState, sender: int | None) -> Sequence[cr.Step]:
        if not state.input:
            return []
        message, *_ = state.input
        return [cr.Step(state, (), [cr.delivered(message)])]


class ReadsBehindALocalName(Buffer):
    """The planted fault: a local variable with the module's name has what a queue is made of read."""

    def may_post(self, state: BufferState) -> bool:
        cr: Any = state.output
        return super().may_post(state) and not cr.pieces


def test_the_package_is_read_by_machines_of_queues() -> None:
    def steps_are_shown(machine: type[ProtocolMachine]) -> bool:
        return all(theorem(*claim, effort=FEW) for claim in step_claims(replace(BUFFER, protocol=machine)))

    assert steps_are_shown(PostsByTheModule)
    assert not steps_are_shown(DeliversAndKeeps)
    with pytest.raises(UnsupportedStep, match="reads pieces of a queue"):
        steps_are_shown(ReadsBehindALocalName)


class ClearsByTheModule(ExtraMessages):
    def extra(self, i: int, state: Any, j: int) -> cr.Packet:
        packet = super().extra(i, state, j)
        return cr.Packet(packet.source, packet.destination, packet.kind, packet.message, packet.stamp)


class ClearsWithoutAStamp(ExtraMessages):
    def extra(self, i: int, state: Any, j: int) -> cr.Packet:
        packet = super().extra(i, state, j)
        return cr.Packet(packet.source, packet.destination, packet.kind, packet.message)


def test_the_package_is_read_by_extra_message_machines() -> None:
    assert all(same_steps(ClearsByTheModule))
    assert not all(same_steps(ClearsWithoutAStamp))


def hands_it_on(_: object) -> Any:
    kept = cr
    return kept.Step


@pytest.mark.parametrize(
    ("made", "because"),
    [
        (hands_it_on, "the module cr is not part"),
        (lambda state: cr.parse("P1: send x to P2"), "parse"),
        (lambda state: cr.Stepp(state.sent).state, "the module cr has no Stepp"),
        (lambda state: cr.impl.protocol.Step(state.sent).state, "cr.impl is not part"),
        (lambda state: itertools.islice(state.sent, 3), "itertools.islice is not part"),
    ],
)
def test_other_modules_and_what_else_the_package_has_stay_closed(made: Any, because: str) -> None:
    machine = type("Planted", (Rst,), {"stamp": lambda self, state: made(state)})
    with pytest.raises(Refused, match=because) as refused:
        outcomes(machine)
    assert "\n" not in str(refused.value)


def satisfied(self: Any, state: Any, packet: Any) -> Any:
    return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][packet.destination])


class CallsAFunctionNamedLikeItsMethod(Rst):
    def satisfied(self, state: Any, packet: Any) -> Any:
        return satisfied(self, state, packet)

    def deliverable(self, i: Any, state: Any, packet: cr.Packet) -> Any:
        return self.satisfied(state, packet)


def test_a_function_is_not_taken_for_the_method_of_its_name() -> None:
    assert outcomes(CallsAFunctionNamedLikeItsMethod) == dict.fromkeys(SHOWN, "proved")
