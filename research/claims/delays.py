"""The longest time that [MG] Fig. 8 may withhold an acknowledgement: a bound, and a run that exceeds n t.

Packets take at most t. A message is received on arrival; its acknowledgement is sent at once, or as soon as the send
that is open at that time is acknowledged. So times bound each other, and z3 reasons about them; the bound is compared
with all runs of the protocol's own code.
"""

from collections.abc import Callable, Mapping
from functools import cache
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import z3

from crownless.impl.protocol import Packet
from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.impl.workloads import Free
from crownless.model_check.runs.runs import Run, run_of
from crownless.model_check.system.system import State
from crownless.proofs.induction.theorem import Claim
from crownless.research.theorems.evidence import ANY_NUMBER, Evidence, by_z3, fact, found

from .claim import claim
from .costs import describe, simulated
from .gathering import program, system_of

#: The longest latency of a packet, in ticks; no two events of one process happen in the same tick.
T = 100


def bound(n: int) -> int:
    """The longest time that an acknowledgement is withheld among n processes, in t."""
    return 2 * (n - 2)


# -- the bound, for every n --------------------------------------------------------------------------------------------


@cache
def bound_is_proved() -> Evidence:
    """By induction over the sender, from the smallest process up; the induction is not vacuous."""
    claims = [step(about) for about in ("a send is open", "an acknowledgement is withheld")]
    return by_z3(
        "an acknowledgement is withheld for 2(n − 2) t at most, by induction over the sender",
        claims,
        possible=[claims[0].given],
        scope=f"{ANY_NUMBER}, where an acknowledgement waits for the open send alone",
    )


def step(about: str) -> Claim:
    """For a message m: its send is open for at most 2(P(s) − 1) t, and its acknowledgement withheld for at most 2(P(r)
    − 1) t, if all messages of smaller senders are acknowledged within the same bounds. As P(r) < n, that is at most 2(n
    − 2) t.
    """
    message = z3.DeclareSort("Message")
    sender, receiver = (z3.Function(name, message, z3.IntSort()) for name in ("sender", "receiver"))
    s, r, ack, acked = (z3.Function(name, message, z3.RealSort()) for name in ("s", "r", "ack", "acked"))
    open_then = z3.Function("open then", message, message)
    k, m = z3.Consts("k m", message)
    waits = z3.And(sender(open_then(k)) == receiver(k), s(open_then(k)) <= r(k), ack(k) == acked(open_then(k)))
    smaller = z3.Implies(sender(k) < sender(m), acked(k) - s(k) <= z3.ToReal(2 * (sender(k) - 1)))
    given = {
        "messages go to smaller processes": z3.ForAll([k], z3.And(sender(k) > receiver(k), receiver(k) >= 1)),
        "packets take at most t": z3.ForAll([k], z3.And(r(k) <= s(k) + 1, acked(k) <= ack(k) + 1)),
        "an acknowledgement waits for the open send alone": z3.ForAll([k], z3.Or(ack(k) == r(k), waits)),
        "smaller senders": z3.ForAll([k], smaller),
    }
    shows = {
        "a send is open": acked(m) - s(m) <= z3.ToReal(2 * (sender(m) - 1)),
        "an acknowledgement is withheld": ack(m) - r(m) <= z3.ToReal(2 * (receiver(m) - 1)),
    }
    return Claim(about, given, shows[about])


# -- all runs of the protocol's code -----------------------------------------------------------------------------------


class Longest(NamedTuple):
    """The longest time that any acknowledgement is withheld, in t, and the number of timed states examined."""

    n: int
    messages: int
    withheld: int
    states: int


@cache
def longest(n: int, m: int, kind: Callable[..., MurtyGarg] = MurtyGarg) -> Longest:
    """Over all runs of Fig. 8 of up to m messages, in whole t: any number of events may happen within each t, but
    packets in flight when it begins arrive before it ends.

    No run takes longer: the bounds on the times of a run are sums of t, and so is their maximum.
    """
    system = system_of(kind(n), Free(n, m))
    start: tuple[State, frozenset[Packet], tuple[int, ...]] = (system.initial(), frozenset(), (0,) * n)
    found, nodes, withheld = {start}, [start], 0
    for state, late, ages in nodes:
        withheld = max(withheld, *ages)
        in_flight = frozenset(system.in_flight(state))
        after = []
        for step, target in system.moves(state):
            owing = [bool(local.acks) for local in system.local_states(target)]
            left = late - {step.action.packet} if step.action.packet is not None else late
            after.append((target, left, tuple(age if owes else 0 for age, owes in zip(ages, owing, strict=True))))
        if in_flight and not late:
            owing = [bool(local.acks) for local in system.local_states(state)]
            after.append((state, in_flight, tuple(age + owes for age, owes in zip(ages, owing, strict=True))))
        for node in after:
            if node not in found:
                found.add(node)
                nodes.append(node)
    return Longest(n, m, withheld, len(found))


# -- a run in time -----------------------------------------------------------------------------------------------------


class Timed(NamedTuple):
    """A run of a program of Fig. 8, with the times of its actions, in ticks."""

    run: Run
    times: tuple[int, ...]

    def when(self, process: str, action: str, message: str | None = None) -> int:
        """The time of the first such action."""
        return next(
            time
            for time, known in zip(self.times, self.run.actions, strict=True)
            if (known.process, known.action) == (process, action) and message in (None, known.message)
        )


def timed(text: str, sends: Mapping[str, int], delays: Mapping[str, int]) -> Timed:
    """The run in which messages are submitted at these times, and packets take these delays, all others t."""
    workload = program(text)
    system = system_of(MurtyGarg(len(workload.processes)), workload)
    agenda: list[tuple[int, int, Packet | None, str]] = [
        (time, k, None, name) for k, (name, time) in enumerate(sends.items())
    ]
    heapify(agenda)
    state, steps, times, number = system.initial(), [], [], len(agenda)
    while agenda:
        time, _, packet, name = heappop(agenda)
        step, state = next(
            (step, target)
            for step, target in system.moves(state)
            if (step.action.packet == packet and packet is not None)
            or (packet is None and step.action.message is not None and step.action.message.name == name)
        )
        steps.append(step)
        times.append(time)
        for sent in system.transmitted(step):
            number += 1
            known = sent.message.name if sent.message is not None else ""
            heappush(agenda, (time + delays.get(known, T), number, sent, known))
    return Timed(run_of(system, steps), tuple(times))


# -- the claim ---------------------------------------------------------------------------------------------------------

#: P4 receives m1 while its send of m2 is open; P3 acknowledges m2 only when m3 is acknowledged, and so on.
CHAIN = """
P1: receive
P2: send m4 to P1; receive
P3: send m3 to P2; receive
P4: send m2 to P3; receive
P5: send m1 to P4
"""


@claim(
    "MG20",
    "[MG] §6",
    "Packets that take at most t, the priority rule delays a message by less than 2t, the receive condition an "
    "acknowledgement by at most nt.",
    {
        "the receive condition withholds an acknowledgement for at most nt": "refuted",
        (
            "the receive condition withholds an acknowledgement for at most 2(n − 2) t, and the priority rule delays a "
            "message by at most 2t"
        ): "proved",
    },
    reading="n processes; the priority rule alone, without the wait until the bigger process is active; the receive "
    "condition from the receive to its acknowledgement, while other messages are in flight",
    kind="error",
)
def mg20(quick: bool) -> list[Evidence]:
    asked = timed("P1: send m to P2\nP2: receive", {"m": 0}, {})
    priority = asked.when("P1", "receive message", "m") - asked.when("P1", "send", "m")
    chain = timed(CHAIN, {"m1": 0, "m2": 0, "m3": T - 1, "m4": 2 * T - 2}, {"m1": 1})
    withheld = chain.when("P4", "receive ack") - chain.when("P4", "deliver", "m1")
    longest_runs = [longest(n, m) for n, m in ([(3, 3)] if quick else [(3, 4), (4, 3)])]
    bounds = ", ".join(f"({each.n}, {each.messages})" for each in longest_runs)
    random = simulated("murty-garg", 5, 0.1, 6 if quick else 20, messages=600, latency="constant")
    title = "P4 may acknowledge m1 only when the chain m2, m3, m4 is acknowledged"
    return [
        (
            found(title, chain.run, "counterexample-mg20")
            & fact(
                withheld > 5 * T and bound(4) <= 4,
                f"with n = 5 an acknowledgement is withheld for {withheld / T:g} t, more than 5 t; with fewer "
                "processes the bound is not more than n t",
            )
        ).refutes(),
        bound_is_proved()
        & fact(
            all(each.withheld == bound(each.n) for each in longest_runs),
            "the bound is reached, and not exceeded, in all runs of Fig. 8 in "
            f"{sum(each.states for each in longest_runs):,} states of the system and of time",
            f"Fig. 8's own code: every run up to (processes, messages) {bounds}",
        )
        & fact(priority == 2 * T, f"the priority rule adds a request and the way back, {priority / T:g} t")
        & fact(
            random.most("withheld_most") <= bound(5),
            f"in random runs of five processes ({describe([random])}, constant latencies, load 0.1) it is withheld for "
            f"{random['withheld']} t on the average, at most {random.most('withheld_most'):.2f} t",
        ),
    ]
