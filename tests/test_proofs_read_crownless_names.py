"""What a machine reads as `cr.Step` is read by a proof as `Step` is; other modules stay closed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner

import crownless
import crownless as cr
from crownless import Step, delivered, sent
from crownless.command_line.prove import prove_
from crownless.impl.buffer import Buffer
from crownless.impl.buffer import State as BufferState
from crownless.impl.extra_messages import ExtraMessages
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.rst import Rst, State
from crownless.proofs.buffer import BUFFER
from crownless.proofs.extra_messages_steps import same_steps
from crownless.proofs.proving import proof_of, prove
from crownless.proofs.refusals import Refused
from crownless.proofs.step_refinement import step_claims
from crownless.proofs.symbolic_queues import UnsupportedStep
from crownless.proofs.theorem import theorem

FEW = 200_000


class ByTheModule(Rst):
    def send(self, i: Any, state: State, message: cr.Message) -> Sequence[cr.Step]:
        packet = cr.Packet(i, message.receiver, "message", message, self.stamp(state))
        return [cr.Step(self.after_sending(i, state, message.receiver), [packet], [cr.sent(message)])]

    def on_packet(self, i: Any, state: State, packet: cr.Packet) -> Sequence[cr.Step]:
        after = self.after_delivering(i, state, packet.source, packet.stamp)
        return [cr.Step(after, (), [cr.delivered(packet.message)])]


class ByName(Rst):
    def on_packet(self, i: Any, state: State, packet: cr.Packet) -> Sequence[Step]:
        after = self.after_delivering(i, state, packet.source, packet.stamp)
        return [Step(after, (), [delivered(packet.message)])]


class SendsByName(ByName):
    def send(self, i: Any, state: State, message: cr.Message) -> Sequence[Step]:
        packet = cr.Packet(i, message.receiver, "message", message, self.stamp(state))
        return [Step(self.after_sending(i, state, message.receiver), [packet], [sent(message)])]


class CountsNoSend(ByTheModule):
    """The planted fault: SENT is not incremented by a send."""

    def send(self, i: Any, state: State, message: cr.Message) -> Sequence[cr.Step]:
        packet = cr.Packet(i, message.receiver, "message", message, self.stamp(state))
        return [cr.Step(state, [packet], [cr.sent(message)])]


class DeliversUnsaid(ByTheModule):
    """The planted fault: it reports a send where it delivers."""

    def on_packet(self, i: Any, state: State, packet: cr.Packet) -> Sequence[cr.Step]:
        after = self.after_delivering(i, state, packet.source, packet.stamp)
        return [cr.Step(after, (), [cr.sent(packet.message)])]


@pytest.fixture(autouse=True)
def _not_yet_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has read no name of the package yet."""
    for name in ("Step", "Packet", "sent", "delivered", "parse"):
        monkeypatch.delitem(vars(crownless), name, raising=False)


def outcomes(machine: type[ProtocolMachine]) -> dict[str, str]:
    report = prove(machine.__name__, proof_of(machine), FEW)
    return {shown: report.outcome(shown) for shown in ("safe", "optimal", "live")}


# -- matrices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("machine", [ByTheModule, ByName, SendsByName])
def test_a_machine_that_reads_the_package_is_proved(machine: type[ProtocolMachine]) -> None:
    assert outcomes(machine) == dict.fromkeys(("safe", "optimal", "live"), "proved")


def test_a_planted_fault_in_it_is_not_proved() -> None:
    assert outcomes(CountsNoSend) == {"safe": "refuted", "optimal": "not proved", "live": "not proved"}
    with pytest.raises(Refused, match="what happens is not the deliver of the message"):
        outcomes(DeliversUnsaid)


def test_the_command_proves_a_file_that_imports_crownless_as_cr(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "import crownless as cr\nfrom crownless.impl.rst import Rst\n\n"
        "class Mine(Rst):\n"
        "    def on_packet(self, i, state, packet):\n"
        "        after = self.after_delivering(i, state, packet.source, packet.stamp)\n"
        "        return [cr.Step(after, (), [cr.delivered(packet.message)])]\n\n"
        "class Deaf(Mine):\n"
        "    def on_packet(self, i, state, packet):\n"
        "        return [cr.Step(state, (), [cr.delivered(packet.message)])]\n"
    )
    proved = CliRunner().invoke(prove_, ["mine.py:Mine"], standalone_mode=False)
    assert proved.return_value == 0
    assert proved.output.splitlines()[1].split()[:4] == ["mine.py:Mine", "proved", "proved", "proved"]
    assert CliRunner().invoke(prove_, ["mine.py:Deaf", "--effort", str(FEW)], standalone_mode=False).return_value != 0


# -- queues, and the extra-message machine -----------------------------------------------------------------------------


class PostsByTheModule(Buffer):
    def send(self, i: int, state: BufferState, message: cr.Message) -> Sequence[cr.Step]:
        return [cr.Step(self.insert(state, message), (), [cr.sent(message)])]

    def receive(self, i: int, state: BufferState, sender: int | None) -> Sequence[cr.Step]:
        if not state.input:
            return []
        message, *rest = state.input
        return [cr.Step(state._replace(input=tuple(rest)), (), [cr.delivered(message)])]


class DeliversAndKeeps(PostsByTheModule):
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


def steps_are_shown(machine: type[ProtocolMachine]) -> bool:
    return all(theorem(*claim, effort=FEW) for claim in step_claims(replace(BUFFER, protocol=machine)))


def test_a_machine_of_queues_that_reads_the_package_is_shown_and_a_planted_fault_is_not() -> None:
    assert steps_are_shown(PostsByTheModule)
    assert not steps_are_shown(DeliversAndKeeps)


def test_a_local_variable_named_like_the_module_is_no_way_around() -> None:
    with pytest.raises(UnsupportedStep, match="cr, which is neither"):
        steps_are_shown(ReadsBehindALocalName)


class ClearsByTheModule(ExtraMessages):
    def extra(self, i: int, state: Any, j: int) -> cr.Packet:
        packet = super().extra(i, state, j)
        return cr.Packet(packet.source, packet.destination, packet.kind, packet.message, packet.stamp)


class ClearsWithoutAStamp(ExtraMessages):
    def extra(self, i: int, state: Any, j: int) -> cr.Packet:
        packet = super().extra(i, state, j)
        return cr.Packet(packet.source, packet.destination, packet.kind, packet.message)


def test_an_extra_message_machine_that_reads_the_package_is_compared_and_a_planted_fault_is_seen() -> None:
    assert all(same_steps(ClearsByTheModule))
    assert not all(same_steps(ClearsWithoutAStamp))


# -- what stays closed -------------------------------------------------------------------------------------------------


def with_module(module: Any, read: Callable[[Any], Any]) -> type[ProtocolMachine]:
    """A machine that does this with a global variable `planted`."""
    globals()["planted"] = module

    class Planted(Rst):
        def stamp(self, state: State) -> Any:
            return read(state)

    return Planted


planted: Any = None


def reads_step(state: State) -> Any:
    return planted.Step(state.sent).state


def hands_it_on(state: State) -> Any:
    kept = planted
    return kept.Step(state.sent).state


def calls_the_api(state: State) -> Any:
    planted.parse("P1: send x to P2")
    return state.sent


def reads_an_unknown_name(state: State) -> Any:
    return planted.Stepp(state.sent).state


def reads_a_package(state: State) -> Any:
    return planted.impl.protocol.Step(state.sent).state


def reads_another_module(state: State) -> Any:
    return planted.islice(state.sent, 3)


def impostor(name: str, **holds: object) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(holds)
    return module


@pytest.mark.parametrize(
    ("module", "read", "because"),
    [
        (crownless, hands_it_on, "the module planted is not part"),
        (crownless, calls_the_api, "parse"),
        (crownless, reads_an_unknown_name, "the module planted has no Stepp"),
        (crownless, reads_a_package, "planted.impl is not part"),
        (__import__("itertools"), reads_another_module, "planted is not part"),
        (impostor("crownless", Step=Step), reads_step, "planted is not part"),
        (impostor("crownless.impl.x", __getattr__={"Step": Step}.get), reads_step, "the module planted has no Step"),
        (impostor("crownless.impl.x", Step=[Step].__getitem__), reads_step, "planted.Step is not part"),
    ],
)
def test_other_modules_and_what_else_the_package_has_stay_closed(
    module: ModuleType, read: Callable[[Any], Any], because: str
) -> None:
    with pytest.raises(Refused, match=because) as refused:
        outcomes(with_module(module, read))
    assert "\n" not in str(refused.value)


def test_a_name_of_the_package_that_was_replaced_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sys.modules["crownless"] is crownless
    monkeypatch.setattr(crownless, "Step", [Step].__getitem__)
    with pytest.raises(Refused, match=r"planted\.Step is not part"):
        outcomes(with_module(crownless, reads_step))
