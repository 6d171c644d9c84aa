"""Evidence for claims of [Kup] and [SA]: protocols compared by their guards, and a run shown action by action."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import z3

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.protocols.rst import Rst, State
from crownless.impl.workloads import Free, Workload
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.runs.runs import Run, run_of
from crownless.model_check.runs.stepwise import StepwiseRun
from crownless.model_check.search.reachable import Reached
from crownless.model_check.system.system import System
from crownless.proofs.language.branch_free import for_every_n
from crownless.proofs.language.terms import Term, Terms, for_all_of
from crownless.research.theorems.evidence import Evidence
from crownless.research.variants.for_matrices import changed
from crownless.spec.computation import Message

from .gathering import explored, in_every_state, system_of


@cache
def check_changes(n: int, m: int, *names: str) -> CheckResult:
    """Checks every interleaving of the matrix protocol with these changes."""
    return explored(changed(n, *names), Free(n, m))


def scripted_run(system: System, script: Sequence[tuple[int, str, str]]) -> tuple[Run, list[tuple[Any, ...]]]:
    """The run of these (process, action, message), as far as possible; and for each action the stamps of the packets
    that it transmits or receives, and the local state after it.
    """
    run, seen = StepwiseRun(system), []
    for process, action, name in script:
        moves = [
            (step, target)
            for step, target in system.moves(run.state)
            if (step.action.process, step.action.name) == (process, action)
            and step.action.message is not None
            and step.action.message.name == name
        ]
        if len(moves) != 1:
            break
        ((step, target),) = moves
        run.take(step, target)
        packets = system.transmitted(step) or [packet for packet in [step.action.packet] if packet is not None]
        seen.append((*(packet.stamp for packet in packets), system.local_states(target)[process]))
    return run_of(system, run.steps), seen


# -- the guard of the matrix protocol ----------------------------------------------------------------------------------


class AnyStamp:
    """Process i of any system, its deliveries, and two matrices that a message may carry."""

    def __init__(self) -> None:
        self.terms = terms = Terms()
        self.i, self.j, self.deliv = terms.any_process("i"), terms.any_process("j"), terms.any_vector("deliv")
        self.one, self.other = terms.any_matrix("one"), terms.any_matrix("other")

    def deliverable(self, matrix: Term) -> Term:
        """The guard of the matrix protocol, by its own code."""
        packet = Packet(self.j, self.i, "message", Message("m", self.j, (self.i,)), matrix)
        state = State(self.terms.any_matrix("sent"), self.deliv)
        return for_every_n(Rst, self.terms).deliverable(self.i, state, packet)

    def constraints(self, matrix: Term, *, but_zeroes: bool = False) -> Term:
        """Every φ_kl of the matrix: if this is P_l, then DELIV[k] ≥ M[k, l]."""

        def constraint(k: Term, l: Term) -> Term:
            stated = z3.And(self.i == l, matrix[k][l] > 0) if but_zeroes else self.i == l
            return z3.Implies(stated, self.deliv[k] >= matrix[k][l])

        return self.every(constraint, 2)

    def every(self, holds: Callable[..., Term], of: int = 1) -> Term:
        return for_all_of(self.terms.process, holds, of)


# -- two protocols in lockstep -----------------------------------------------------------------------------------------


class Both(NamedTuple):
    decides: object
    watches: Any


class LockstepProduct(ProtocolMachine):
    """A deciding protocol in lockstep with another one that sees the same application messages.

    The other protocol has a single step for each input, and sends no packets except the messages.
    """

    promises = "causal"

    def __init__(self, decides: ProtocolMachine, watches: ProtocolMachine) -> None:
        super().__init__(decides.n)
        self.decides, self.watches = decides, watches

    def initial(self, i: int) -> Both:
        return Both(self.decides.initial(i), self.watches.initial(i))

    def send(self, i: int, state: Both, message: Message) -> Sequence[Step]:
        (other,) = self.watches.send(i, state.watches, message)
        stamps = {packet.destination: packet.stamp for packet in other.packets}
        return [self._beside(step, other.state, stamps) for step in self.decides.send(i, state.decides, message)]

    def deliverable(self, i: int, state: Both, packet: Packet) -> bool:
        return bool(self.decides.deliverable(i, state.decides, packet._replace(stamp=packet.stamp[0])))

    def watcher_accepts(self, i: int, state: Both, packet: Packet) -> bool:
        return bool(self.watches.deliverable(i, state.watches, packet._replace(stamp=packet.stamp[1])))

    def on_packet(self, i: int, state: Both, packet: Packet) -> Sequence[Step]:
        after = state.watches
        if packet.message is not None:
            (other,) = self.watches.on_packet(i, state.watches, packet._replace(stamp=packet.stamp[1]))
            after = other.state
        steps = self.decides.on_packet(i, state.decides, packet._replace(stamp=packet.stamp[0]))
        return [self._beside(step, after, {}) for step in steps]

    def _beside(self, step: Step, other: object, stamps: Mapping[int, object]) -> Step:
        packets = [
            packet._replace(stamp=(packet.stamp, stamps.get(packet.destination) if packet.message else None))
            for packet in step.packets
        ]
        return Step(Both(step.state, other), packets, step.events)


def guards_in(now: Reached) -> set[tuple[bool, bool]]:
    """For every message in flight: whether the one protocol would deliver it, and whether the other would."""
    machine, locals_ = now.system.machine, now.locals
    assert isinstance(machine, LockstepProduct)
    arrivals = [(p.destination, locals_[p.destination], p) for p in now.in_flight if p.message is not None]
    return {(machine.deliverable(*at), machine.watcher_accepts(*at)) for at in arrivals}


def same_guard(decides: ProtocolMachine, watches: ProtocolMachine, workload: Workload) -> Evidence:
    """In every state both protocols would deliver the same messages in flight."""
    return in_every_state(
        f"the same guard as {type(watches).__name__}",
        system_of(LockstepProduct(decides, watches), workload),
        lambda now: all(one == other for one, other in guards_in(now)),
    )
