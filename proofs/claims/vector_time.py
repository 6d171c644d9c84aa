"""Evidence for the claims of [SES]: clocks on computations, tokens, shortest runs to states, and steps put to z3."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations, product

import z3

from crownless.impl.protocol import Packet, ProtocolMachine
from crownless.impl.ses import Ses, Stamp, State
from crownless.impl.ses_rollback import Failure
from crownless.impl.variants.for_schiper_eggli_sandoz import DeliveriesDoNotTick, NothingTicks
from crownless.impl.workloads import Workload
from crownless.model_check.runs.runs import Run, run_of
from crownless.model_check.search.reachable import Reached, shortest_path
from crownless.model_check.system.monitors import History
from crownless.model_check.system.system import AGREED, LocalStep, System
from crownless.proofs.induction.any_run import AnyRun
from crownless.proofs.induction.evidence import Evidence, by_z3, each_alone
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.branch_free import for_every_n
from crownless.proofs.language.terms import Term, Terms
from crownless.proofs.protocols import vector_time
from crownless.proofs.protocols.ses import INVARIANTS
from crownless.spec.clocks import Clock, VectorClock, stale_messages
from crownless.spec.computation import Computation, Event, Message, topological_order
from crownless.spec.enumeration import computations, trusted
from crownless.spec.orders import decide

from .evidence import system_of

# -- computations ------------------------------------------------------------------------------------------------------


def timed_computations(quick: bool) -> Iterator[Computation]:
    """Computations on which clocks are tried, each once: of unicasts and local events, and of multicasts."""
    for n, counts in ((3, range(1, 4)), (2, (4,))) if quick else ((4, range(1, 4)), (3, (4,)), (2, (5,))):
        for m in counts:
            yield from with_local_events(n, m)
    for c in computations(3, 2 if quick else 3, sends="multicast"):
        if any(len(message.receivers) > 1 for message in c.messages):
            yield c


TIMED = {
    True: "every computation of 3 sites with up to 3 unicasts and local events, of 2 with 4, of 3 with 2 multicasts",
    False: "every computation of 4 sites with up to 3 unicasts and local events, of 3 with 4, of 2 with 5, of 3 with 3 "
    "multicasts",
}


def with_local_events(n: int, m: int) -> Iterator[Computation]:
    """Every computation of n processes with m unicasts and local events.

    A local event is made of a message that is never received, of those of one process to the first other.
    """
    for c in computations(n, m, complete=False):
        if all(q == (c.messages[number].sender == 0) for number, q in c.unreceived):
            yield _without_unreceived(c)


def _without_unreceived(c: Computation) -> Computation:
    received = [m for m, receives in enumerate(c.receive_events) if receives]
    number = {m: k for k, m in enumerate(received)}
    lines = tuple(
        tuple(Event(e.kind, number[e.message]) if e.message in number else Event("internal", None) for e in line)
        for line in c.lines
    )
    return trusted(c.processes, tuple(c.messages[m] for m in received), lines)


def kept_and_late(clock: Clock, some: Iterable[Computation]) -> Computation | None:
    """The first in which causal order is kept and a message is late."""
    return next((c for c in some if decide(c, "causal").kept and stale_messages(c, clock)), None)


class SendsDoNotTick(VectorClock):
    """A send, where there are no other local events, leaves the clock as it is."""

    def after_event(self, time: tuple[int, ...], p: int) -> tuple[int, ...]:
        return time


@cache
def vector_time_by_z3() -> Evidence:
    """Vector time in full, by one entry, and Proposition 2, by induction on the run; not of clocks that do not tick."""
    variants = [vector_time.induction(clock) for clock in (DeliveriesDoNotTick, NothingTicks)]
    return by_z3(
        f"{len(vector_time.claims())} claims by induction on the run, of the clock's own code: an event happened "
        "before "
        "another iff its time is at most the other's, iff its own site's entry is; and a message is late where it "
        "arrives iff one that was sent causally after it is delivered there already. Not of clocks that sends or "
        "deliveries do not advance",
        vector_time.claims(),
        refuted=[*variants, *each_alone(vector_time.vacuity())],
        scope="any number of sites and events: local ones, sends to any set of other sites, deliveries in any order",
    )


# -- one token ---------------------------------------------------------------------------------------------------------


def one_order(lines: Iterable[tuple[str, ...]]) -> bool:
    """True if these see the same updates in the same order, as far as they have got."""
    longest = max(lines := list(lines), key=len)
    return all(line == longest[: len(line)] for line in lines)


def token_computations(n: int, m: int) -> Iterator[Computation]:
    """Every computation of so many messages in which one token, first at P1, goes about, and who has it may write: send
    an update to all others.
    """
    for plan in product(("write", *range(n)), repeat=m):
        yield from _by_plan(n, plan)


def _by_plan(n: int, plan: Sequence[str | int]) -> Iterator[Computation]:
    """A plan says, in order, what is sent by who has the token: an update, or the token and to whom."""
    messages: list[Message] = []
    fixed: list[list[Event]] = [[] for _ in range(n)]
    holder = 0
    for number, what in enumerate(plan):
        if what == holder:
            return
        to = tuple(p for p in range(n) if p != holder) if isinstance(what, str) else (what,)
        messages.append(Message(f"{'W' if isinstance(what, str) else 'T'}{number + 1}", holder, to))
        fixed[holder].append(Event("send", number))
        if isinstance(what, int):
            fixed[what].append(Event("receive", number))
            holder = what
    writes = [number for number, what in enumerate(plan) if isinstance(what, str)]
    free = [[Event("receive", number) for number in writes if messages[number].sender != p] for p in range(n)]
    for lines in product(*[list(_merged(own, some)) for own, some in zip(fixed, free, strict=True)]):
        c = trusted(tuple(f"P{p + 1}" for p in range(n)), tuple(messages), lines)
        if topological_order(c.immediate_successors()) is not None:
            yield c


def _merged(fixed: Sequence[Event], free: Sequence[Event]) -> Iterator[tuple[Event, ...]]:
    """Every line of these events that has the fixed ones in their order."""
    for line in permutations([*fixed, *free]):
        if [event for event in line if event in fixed] == list(fixed):
            yield line


def updates_seen(c: Computation, prefix: str = "W") -> list[tuple[str, ...]]:
    """The updates in the order in which each process makes or receives them, by the first letter of their names."""
    named = [[c.messages[event.message].name for event in line if event.message is not None] for line in c.lines]
    return [tuple(name for name in line if name[0] in prefix) for line in named]


# -- machines in no registry -------------------------------------------------------------------------------------------


def remembering(kind: type[ProtocolMachine], workload: Workload, crash: str | None = None) -> System:
    """The system, with a monitor that remembers the computation."""
    machine = kind(len(workload.processes))
    return system_of(machine, workload, crash=crash, monitors=(History(machine.n, "causal"),))


def events(now: Reached, p: int) -> Sequence[tuple[str, Message]]:
    """The events of a process so far, as (`send` or `receive`, message), in a system that is `remembering`."""
    line: Sequence[tuple[str, Message]] = now.monitor_state[1][p]
    return line


def updates(now: Reached, p: int) -> tuple[str, ...]:
    """The updates in the order in which the process makes or receives them."""
    return tuple(message.name for _, message in events(now, p) if message.name.startswith("W"))


def first_run(
    system: System,
    there: Callable[[Reached], bool],
    *,
    only: Mapping[str, Callable[[Reached], bool]] | None = None,
    then: str | None = None,
) -> Run | None:
    """A shortest run to such a state; None if there is none.

    `only`: some actions, and in which states alone they happen. `then`: an action that is shown at the end, with
    what all survivors learn by it.
    """
    ends: list[Reached] = []

    def wanted(now: Reached) -> bool:
        if there(now):
            ends.append(now)
        return bool(ends)

    def allowed(now: Reached, step: LocalStep) -> bool:
        happens = (only or {}).get(step.action.name)
        return happens is None or happens(now)

    steps = shortest_path(system, wanted, monitored=True, allowed=allowed)
    if steps is None:
        return None
    shown = [*steps, *([] if then is None else _with_what_is_learnt(ends[0], then))]
    return run_of(system, shown)


def _with_what_is_learnt(now: Reached, then: str) -> list[LocalStep]:
    step, state = next(move for move in now.moves if move[0].action.name == then)
    steps = [step]
    while (moves := now.system.moves(state)) and moves[0][0].action.name == f"receive {AGREED}":
        step, state = moves[0]
        steps.append(step)
    return steps


# -- states ------------------------------------------------------------------------------------------------------------


def missing(now: Reached) -> Iterator[tuple[list[int], int, Packet]]:
    """Of each message that waits: the sites i with VT(S)[i] < VT[i] in its pair, S, and the packet."""
    for packet in now.system.refused(now.state):
        s = packet.destination
        time = now.locals[s].time
        yield [i for i, event in enumerate(packet.stamp.buffer[s]) if event > time[i]], s, packet


def numbers_a_message_for(now: Reached, s: int, packet: Packet, i: int) -> bool:
    """True if event VT[i] of site i, VT being the pair for S, is the emission of a message for S."""
    kind, message = events(now, i)[packet.stamp.buffer[s][i] - 1]
    return kind == "send" and s in message.receivers


def all_of_the_first_is_delivered(now: Reached) -> bool:
    """P1 has crashed, and the others have delivered all that it sent to them."""
    flight = [packet for packet in now.in_flight if packet.destination]
    waiting = [packet for local in now.locals[1:] for packet in local.waiting]
    return all(packet.source for packet in (*flight, *waiting))


def never(now: Reached) -> bool:
    """In no state."""
    return False


def somebody_waits_for_ever(now: Reached) -> bool:
    """Nothing can happen any more, and a message waits at a survivor of P1."""
    return not now.moves and any(local.waiting for local in now.locals[1:])


def is_at_rest(now: Reached) -> bool:
    """Nothing is in flight to a survivor of P1, and none has anything that it might deliver."""
    deliverable = [now.system.machine.receive(i, local, None) for i, local in enumerate(now.locals) if i]
    return not any(deliverable) and not any(packet.destination for packet in now.in_flight)


def agreed_event(now: Reached) -> int:
    """The number on which the survivors of P1 would agree now."""
    survivors = {i: local for i, local in enumerate(now.locals) if i}
    failure = now.system.machine.agree(survivors, 0)
    assert isinstance(failure, Failure)
    return failure.event


def oldest_undelivered(now: Reached) -> int | None:
    """The number of P1's first event that is the emission of a message which its receiver has not delivered."""
    return next(
        (
            number
            for number, (kind, message) in enumerate(events(now, 0), 1)
            if kind == "send" and ("receive", message) not in events(now, message.receiver)
        ),
        None,
    )


def programs_of_five(places: Iterable[int]) -> Iterator[str]:
    """Programs in which S1 sends four messages, to S2 and S3 in any way, and S3 one to S2, after so many deliveries.

    There are receives to spare, for deliveries that are repeated.
    """
    for place in places:
        for receivers in product(("S2", "S3"), repeat=4):
            sends = "; ".join(f"send M{number} to {receiver}" for number, receiver in enumerate(receivers, 1))
            before, after = "receive; " * place, "; receive" * 5
            yield f"S1: {sends}\nS2: receive{after}\nS3: {before}send Z to S2{after}"


# -- single steps, put to z3 -------------------------------------------------------------------------------------------

FOR_EVERY_N = "any number of sites and messages, any channel; unicasts, none to oneself"
_OF_PAIRS = (
    "what is known or delivered is sent",
    "times are not negative",
    "what is known is not later",
    "a site's pairs are those of messages that it knows",
)


@cache
def lemma_2(protocol: type[Ses]) -> Evidence:
    """The invariants of the proof imply that every pair of a site is of its past."""
    run = AnyRun(protocol)
    given = {name: INVARIANTS[name](run, run.before) for name in _OF_PAIRS}
    past = run.processes(lambda p, l, k: run.before.local(p).buffer[l][k] <= run.before.local(p).time[k], of=3)
    because = f"Lemma 2 follows from what the proof of {protocol.__name__} keeps by induction: a pair's entries are "
    return by_z3(f"{because}those of messages that the site knows", [Claim("Lemma 2", given, past)], scope=FOR_EVERY_N)


@cache
def no_pair_for_itself(protocol: type[Ses]) -> Evidence:
    """By induction: a site has no pair for itself, so that it has fewer pairs than there are sites."""
    run = _Site(protocol)
    none = run.row_is_zero(run.state)
    claims = [
        Claim("at the start", {}, run.row_is_zero(run.machine.initial(run.i))),
        Claim("kept by sending", {"none before": none, "to another": run.i != run.j}, run.row_is_zero(run.sent)),
        Claim("kept by delivering", {"none before": none}, run.row_is_zero(run.delivered)),
    ]
    return by_z3("a site has no pair for itself, so N − 1 at most", claims, scope=FOR_EVERY_N)


@cache
def older_pair_says_nothing_more(protocol: type[Ses]) -> Evidence:
    """Given Lemma 2, a discarded pair is at most the one that takes its place."""
    run = _Site(protocol)
    past = run.machine.ops.every(lambda k: run.state.buffer[run.j][k] <= run.state.time[k])
    shows = run.machine.ops.every(lambda k: run.state.buffer[run.j][k] <= run.sent.buffer[run.j][k])
    claim = Claim("the older pair", {"Lemma 2": past}, shows)
    return by_z3("by Lemma 2 the older pair asks for nothing that the new one does not", [claim], scope=FOR_EVERY_N)


@cache
def merged_pair_says_the_same(protocol: type[Ses]) -> Evidence:
    """A time is at least the merged pair for another site iff it is at least either of the two."""
    run = _Site(protocol)
    time, l = run.terms.any_vector("time"), run.terms.any_process("l")

    def passed(pair: Term) -> Term:
        return run.machine.ops.every(lambda k: pair[k] <= time[k])

    both = z3.And(passed(run.state.buffer[l]), passed(run.stamp.buffer[l]))
    given = {"for another site": l != run.i, "times are not negative": run.machine.ops.every(lambda k: time[k] >= 0)}
    merged = run.machine.merged(run.i, run.state.buffer, run.stamp.buffer)
    claim = Claim("the supremum", given, passed(merged[l]) == both)
    return by_z3("a time has passed the merged pair iff it has passed both", [claim], scope=FOR_EVERY_N)


class _Site:
    """Any site i of any number, in any state; and the states after it has sent to j, and after it has delivered."""

    def __init__(self, protocol: type[Ses]) -> None:
        self.terms = terms = Terms()
        self.machine = machine = for_every_n(protocol, terms)
        self.i, self.j = terms.any_process("i"), terms.any_process("j")
        self.state = State(terms.any_vector("time"), terms.any_matrix("buffer"))
        self.stamp = Stamp(terms.any_vector("stamped"), terms.any_matrix("carried"))
        (sending,) = machine.send(self.i, self.state, Message("m", self.i, (self.j,)))
        self.sent: State = sending.state
        self.delivered: State = machine.after_delivering(self.i, self.state, self.j, self.stamp)

    def row_is_zero(self, state: State) -> Term:
        return self.machine.ops.every(lambda k: state.buffer[self.i][k] == 0)
