"""Evidence about programs and their computations, and about delays and losses in every run."""

from functools import cache
from typing import Any

from crownless.impl.channels import channel_named
from crownless.impl.registry import protocol_named
from crownless.impl.workloads import Free, Program
from crownless.model_check.check.check import run_check
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.search.generating import Form, form_of, generate
from crownless.model_check.search.reachable import HistoryVariable, Reached, reachable
from crownless.model_check.system.request import Check, load_program
from crownless.model_check.system.system import LocalStep, System
from crownless.research.theorems.evidence import Evidence, fact
from crownless.spec import notation
from crownless.spec.computation import Computation, Message
from crownless.spec.crowns import crowns
from crownless.spec.enumeration import computations

from .gathering import figure, in_every_state, program, system_of

# -- delays and losses -------------------------------------------------------------------------------------------------


def bundled_system(protocol: str, name: str) -> System:
    """A bundled program under a protocol, over the channel that the protocol needs."""
    workload = Program(load_program(name))
    return system_of(protocol_named(protocol)(len(workload.processes)), workload)


def _arrivals_too(system: System, arrived: tuple[str, ...], step: LocalStep) -> tuple[str, ...]:
    if step.action.name == "receive message" and step.action.message is not None:
        return (*arrived, step.action.message.name)
    return arrived


#: The order in which messages enter input buffers.
ARRIVALS = HistoryVariable((), _arrivals_too)


def in_flight(now: Reached) -> set[str]:
    """The names of messages in flight, or arrived and refused."""
    return {packet.message.name for packet in now.in_flight if packet.message is not None}


def refused(now: Reached) -> set[str]:
    """The names of messages that have arrived and must wait."""
    return {packet.message.name for packet in now.system.refused(now.state) if packet.message is not None}


def delays_z_at_its_receiver() -> Evidence:
    system = bundled_system("rst", "mf-program-1")
    waits = in_every_state(
        "matrix protocol: z waits at P3 exactly while x is in flight",
        system,
        lambda now: ("z" in refused(now)) == ("x" in in_flight(now)),
        where=lambda now: "z" in in_flight(now),
    )
    together = any({"x", "y"} <= in_flight(now) for now in reachable(system))
    held_back = any("z" in refused(now) for now in reachable(system))
    return waits & fact(together and held_back, "x and y are in flight together")


def delays_y_at_its_sender() -> Evidence:
    system = bundled_system("buffer", "mf-program-1")
    waits = any(
        "x" in in_flight(now) and "y" in {message.name for message in now.locals[0].output} for now in reachable(system)
    )
    return in_every_state(
        "buffer protocol: y is never in flight before x is got, and nothing that arrives waits",
        system,
        lambda now: not {"x", "y"} <= in_flight(now) and not refused(now),
    ) & fact(waits, "y waits in P1's output buffer while x is in flight")


def _losses_too(system: System, remembered: Any, step: LocalStep) -> Any:
    lost, owed = remembered
    packet = step.action.packet
    if step.action.name == "lose" and packet is not None:
        way = (packet.source, packet.destination) if packet.message else (packet.destination, packet.source)
        return ((*way, packet.message) if lost is None else "more"), owed
    for kind, _, message in step.observations:
        owed = owed | {message} if kind == "hand" else owed - {message} if kind == "deliver" else owed
    return lost, owed


#: What was lost: (sender, receiver, message), or `more` than one packet; and the undelivered messages.
LOSSES = HistoryVariable((None, frozenset()), _losses_too)


def stuck_after_a_loss(protocol: str, end: str, n: int, m: int) -> Evidence:
    """Other messages that stay undelivered after the loss of one packet share its sender or its receiver."""
    place = ("sender", "receiver").index(end)

    def others(now: Reached) -> list[Message]:
        lost, owed = now.history
        return [x for x in owed if x != lost[2]] if lost not in (None, "more") else []

    return in_every_state(
        f"{protocol}: after one loss all that is stuck has the same {end}",
        system_of(protocol_named(protocol)(n), Free(n, m), channel="lossy"),
        lambda now: all(getattr(x, end) == now.history[0][place] for x in others(now)),
        where=lambda now: bool(others(now)) and now.system.may_end(now.moves),
        history=LOSSES,
    )


# -- programs ----------------------------------------------------------------------------------------------------------


@cache
def on(protocol: str, text: str, name: str, settings: tuple[tuple[str, int], ...] = ()) -> CheckResult:
    """The check of a protocol on a program given here, under that name."""
    check = Check(protocol, program=program(text, name).script, orders=("causal",), parameters=dict(settings))
    return run_check(check, engine="plain")


@cache
def outcomes(protocol: str, name: str, text: str = "") -> frozenset[Form]:
    """All outcomes of a bundled program, or of the given one."""
    workload = Program(notation.parse(text) if text else load_program(name))
    kind = protocol_named(protocol)
    reached = generate(kind(len(workload.processes)), workload, channel_named(kind.needs_channel))
    events = sum(map(len, workload.statements))
    return frozenset(form for form in reached.forms if sum(map(len, form)) == events)


def becomes(protocol: str, name: str, because: str, forms: set[Form] | frozenset[Form]) -> Evidence:
    """The computations of a bundled program are exactly these."""
    return fact(outcomes(protocol, name) == forms, because)


def form(c: Computation) -> Form:
    """A computation without the names of its messages."""
    lines = tuple(
        tuple(("send" if e.kind == "send" else "receive", c.messages[e.message]) for e in line if e.message is not None)
        for line in c.lines
    )
    formed = form_of(lines)
    assert formed is not None, "complete computations only"
    return formed


def plain_programs(n: int, m: int, *, complete: bool = True, self_sends: bool = False) -> list[str]:
    """Every program of plain receives that some computation of n processes and m messages completes."""
    every = computations(n, m, complete=complete, self_sends=self_sends)
    return list(dict.fromkeys(map(plain_program, every)))


def plain_program(c: Computation) -> str:
    """The program of the computation; messages are named by their sender and statement."""
    lines = []
    for p, line in enumerate(c.lines):
        statements: list[str] = []
        for event in line:
            sends = event.kind == "send" and event.message is not None
            to = c.processes[c.messages[event.message].receiver] if sends else ""  # type: ignore[index]
            statements.append(f"send m{p + 1}.{len(statements) + 1} to {to}" if sends else "receive")
        lines.append(f"{c.processes[p]}: {'; '.join(statements)}")
    return "\n".join(lines)


def three_crowns(name: str) -> str | None:
    """How two three-message strong crowns of a figure that share no message relate: `overlapping` (on every process
    their events alternate, ABAB), `nested` (ABBA); None if neither.
    """
    c = figure(name)
    of_three = [set(crown.messages) for crown in crowns(c, strong=True) if len(crown.messages) == 3]
    for one in of_three:
        for other in of_three:
            patterns = {
                "".join("A" if e.message in one else "B" for e in line if e.message is not None) for line in c.lines
            }
            if not one & other and patterns in ({"ABAB"}, {"ABBA"}):
                return "overlapping" if patterns == {"ABAB"} else "nested"
    return None
