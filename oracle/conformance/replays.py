"""The replay of a schedule with the same implementation or another one, and its verdict.

If the nodes no longer follow the schedule, the replay has diverged, and decides nothing. That is so if

- a step of the schedule cannot be taken;
- a packet of that number is another one: it is transmitted at another step than in the schedule;
- a message that the schedule sends or delivers is not sent or delivered, although no order is violated. It may only be
  late, since the nodes wait for others. So packets in flight arrive first.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from crownless.drawing.diagram import Diagram
from crownless.model_check.check.check_result import Outcome
from crownless.model_check.runs.actions import ShownAction, ShownPacket
from crownless.model_check.runs.run_diagrams import computation_of_run
from crownless.model_check.runs.runs import Run
from crownless.model_check.runs.stepwise import Follower
from crownless.model_check.search.explorer import live_properties_violated
from crownless.model_check.system.properties import DELIVERS_ONCE
from crownless.runtime.ending import watching
from crownless.runtime.errors import Undecided
from crownless.runtime.printable import printable, some
from crownless.spec.drawn import Drawn
from crownless.spec.orders import ORDERS, decide
from crownless.spec.result import Result

from .answers import Answers
from .conformance_request import DELIVERY
from .conforming import packets_are_endless
from .node import VARYING, Implementation
from .node_machine import TICK, Failed, check_of_nodes, pending_in
from .schedules import Schedule

#: The properties that a run violates by what it sends and delivers.
SAFETY = (*ORDERS, DELIVERS_ONCE.name)


@dataclass(frozen=True, repr=False)
class Replay(Result, Drawn):
    """The result of replaying a schedule: the run as far as it could be followed, and its violations.

    True if the run no longer violates the property that the schedule violates; an unknown verdict raises `Undecided` as
    a truth value. `differs`: the first step with another outcome than in the schedule, in words; None if there is none.
    """

    json_keys = "violates=schedule.violates verdict still_violated violated differs undecided best_effort run"

    schedule: Schedule
    run: Run
    violated: tuple[str, ...]
    differs: str | None
    #: Why the run does not decide whether the property still is violated, such as the step that the nodes do not take.
    undecided: str | None = None
    #: Why the answers may not include all of the nodes' output.
    best_effort: str | None = None

    def __bool__(self) -> bool:
        if self.verdict == "unknown":
            raise Undecided(f"{self.conclusion}: compare its verdict")
        return self.verdict == "holds"

    @property
    def verdict(self) -> Outcome:
        """`violated`: the run still violates the property of the schedule; `holds`: it no longer does."""
        if self.schedule.violates in self.violated:
            return "violated"
        return "holds" if self.undecided is None else "unknown"

    @property
    def still_violated(self) -> bool | None:
        """The verdict as a truth value; None if it is unknown."""
        return None if self.verdict == "unknown" else self.verdict == "violated"

    @property
    def brief(self) -> str:
        """The verdict in words."""
        return f"replay: {self.conclusion}"

    @property
    def conclusion(self) -> str:
        """The verdict in words."""
        name = self.schedule.violates
        if self.verdict == "unknown":
            return printable(f"unknown whether it still violates {name}: {self.undecided}")
        return printable(f"{'still' if self.verdict == 'violated' else 'no longer'} violates {name}")

    def __str__(self) -> str:
        differs = "" if self.differs is None else f"; differs at {self.differs}"
        return f"{self.conclusion}{printable(differs)}\n\n{self.run}"

    def diagrams(self, highlight: str | None = None) -> Iterator[Diagram]:
        """The diagram of the run."""
        still = f"{self.schedule.implementation} violates {self.schedule.violates}" if self.shows_violation else ""
        yield self.run.diagram(still, highlight or self.schedule.violates)

    @property
    def shows_violation(self) -> bool:
        """True if there is a violation to be shown."""
        return self.verdict == "violated"


@watching()
def replay(implementation: Implementation, schedule: Schedule) -> Replay:
    """Takes an implementation through a schedule, as far as it can be followed."""
    answers = Answers(implementation)
    if schedule.violates == "floods":
        packets_are_endless(answers, schedule.request)
    found = _followed(answers, schedule)
    while schedule.violates in VARYING and answers.settle():
        found = _followed(answers, schedule)
    return found


def _followed(answers: Answers, schedule: Schedule) -> Replay:
    """The replay of a schedule by these answers."""
    check = check_of_nodes(answers, schedule.request, (), replies=schedule.replies).resolve()
    follower = Follower(check.system())
    differs = diverged = None
    for k, wanted in enumerate(schedule.actions, 1):
        other = _other_packet(follower.run.actions, schedule.actions, wanted)
        if other is not None or follower.follow(wanted, exactly=False) is None:
            diverged = f"diverged at step {k}: {other or _cannot_be_taken(follower, wanted)}"
            break
        differs = differs or _difference(k, follower.run.actions[-1], wanted)
    if diverged is None and schedule.violates in SAFETY:
        _complete(follower, schedule)
    undecided = diverged or _undecided_at_end(follower, schedule)
    return Replay(schedule, follower.run, _violated_by(follower), differs, undecided, answers.nodes.best_effort)


def _difference(k: int, now: ShownAction, before: ShownAction) -> str | None:
    """How the outcome of a step differs from that in the schedule, in words."""
    if now.happened == before.happened:
        return None
    said = [" and ".join(map(" ".join, one.happened)) or "nothing" for one in (now, before)]
    return f"step {k}, at {now.process}: {said[0]}; before: {said[1]}"


def _cannot_be_taken(follower: Follower, wanted: ShownAction) -> str:
    """The step that the schedule has, and why the nodes do not take it."""
    run, packet = follower.run, wanted.packet
    if (failure := _failure(follower)) is not None:
        return f"the schedule has '{wanted.say()}', and {failure}"
    if packet is None:
        return f"the schedule has '{wanted.say()}', and {wanted.process} cannot take that step"
    link = packet.source, packet.destination
    sent = sum((one.source, one.destination) == link for action in run.actions for one in action.transmits)
    number = f", packet {packet.number} on this link" if packet.number else ""
    transmitted = f"{packet.source} has transmitted {some(sent, 'packet')} to {packet.destination}"
    why = transmitted if sent < packet.number else f"{transmitted}, and this one cannot arrive now"
    return f"the schedule has '{wanted.say()}'{number}, and {why}"


def _other_packet(now: Sequence[ShownAction], before: Sequence[ShownAction], wanted: ShownAction) -> str | None:
    """Why the packet of that number is another one than in the schedule; None if it is the same, or none yet."""
    packet = wanted.packet
    if packet is None or not packet.number:
        return None
    steps = [_transmitting_step(actions, packet) for actions in (now, before)]
    if None in steps or steps[0] == steps[1]:
        return None
    said = f"packet {packet.number} on this link, which {packet.source} transmits"
    return f"the schedule has '{wanted.say()}', {said} at step {steps[0]}, and in the schedule at step {steps[1]}"


def _transmitting_step(actions: Sequence[ShownAction], packet: ShownPacket) -> int | None:
    """The number of the step that transmits the packet."""
    link = packet.source, packet.destination
    sent = [
        k for k, action in enumerate(actions, 1) for one in action.transmits if (one.source, one.destination) == link
    ]
    return sent[packet.number - 1] if packet.number <= len(sent) else None


def _complete(follower: Follower, schedule: Schedule) -> None:
    """Lets packets in flight arrive, and then time pass, as long as an event of the schedule is missing."""
    while _missing(follower, schedule) and not _is_decided(follower, schedule.violates):
        moves = [move for move in follower.system.moves(follower.state) if not move[0].action.by_channel]
        arrivals = [move for move in moves if move[0].action.packet is not None]
        ticks = [move for move in moves if move[0].action.name == TICK]
        if not arrivals and not ticks:
            return
        follower.take(*(arrivals or ticks)[0])


def _is_decided(follower: Follower, breaks: str) -> bool:
    """True if the run violates this order or `delivers-once`, or a node has failed."""
    return (
        breaks in _orders_violated(follower, [breaks]) or breaks in follower.violated or _failure(follower) is not None
    )


def _missing(follower: Follower, schedule: Schedule) -> str | None:
    """The first send or delivery of the schedule that the run does not have, in words; None if it has all."""
    now = {(action.process, event) for action in follower.run.actions for event in action.happened}
    for k, action in enumerate(schedule.actions, 1):
        for kind, message in action.happened:
            if (action.process, (kind, message)) not in now:
                return f"diverged at step {k}: {action.process} never {kind}s {message}, as it does in the schedule"
    return None


def _failure(follower: Follower) -> str | None:
    """The first node that has failed, and how, in words."""
    names, states = follower.system.workload.processes, follower.system.local_states(follower.state)
    failures = ((name, one) for name, one in zip(names, states, strict=True) if isinstance(one, Failed))
    return next((f"{name} has failed: {one.kind}: {one.said}" for name, one in failures), None)


def _undecided_at_end(follower: Follower, schedule: Schedule) -> str | None:
    """Why a run that followed the whole schedule does not show that it no longer violates the property; None if it
    does.
    """
    system, state, breaks = follower.system, follower.state, schedule.violates
    if (failure := _failure(follower)) is not None:
        return failure
    moves = system.moves(state)
    if not system.may_end(moves) and breaks in live_properties_violated(system, state, follower.monitor_state, moves):
        left = some(len(system.in_flight(state)), "packet")
        return f"diverged after the last step: {left} in flight, whose arrivals the schedule does not have"
    pending = pending_in(system.local_states(state))
    return pending or (_missing(follower, schedule) if breaks in SAFETY else None)


def _violated_by(follower: Follower) -> tuple[str, ...]:
    """All that the run violates: failures, delivery properties, and orders."""
    system, state = follower.system, follower.state
    states, moves = system.local_states(state), system.moves(state)
    failures = [local.kind for local in states if isinstance(local, Failed)]
    found = [*failures, *follower.violated]
    if not failures and system.may_end(moves) and pending_in(states) is None:
        live = live_properties_violated(system, state, follower.monitor_state, moves)
        found += [name for name in DELIVERY if name in live]
    return tuple(dict.fromkeys([*found, *_orders_violated(follower, ORDERS)]))


def _orders_violated(follower: Follower, orders: Iterable[str]) -> list[str]:
    c = computation_of_run(follower.run)
    return [] if c is None else [name for name in orders if name in ORDERS and not decide(c, name, "pending").kept]
