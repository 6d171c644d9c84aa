"""The longest time that [MG] Fig. 8 may withhold an acknowledgement: a bound, and the fewest processes that exceed n t.

Packets take at most t. A message is received where it arrives; its acknowledgement is sent at once, or as soon as the
send is acknowledged that was open then. So times are bounded by each other, and z3 reasons about them; the runs it
finds are run again in time on the protocol's own code, and the bound is compared with all runs of that code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import z3

from crownless.impl.murty_garg import MurtyGarg
from crownless.impl.protocol import Packet
from crownless.impl.workloads import Free
from crownless.model_check.system.system import State
from crownless.proofs.induction.evidence import ANY_NUMBER, Evidence, by_z3
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.terms import Term
from crownless.proofs.language.z3_query import ask

from .evidence import system_of
from .fig_8 import Timed, timed

#: The most that a packet takes, in ticks; at one process no two things happen in the same tick.
T = 100


def bound(n: int) -> int:
    """The most that an acknowledgement is withheld among n processes, in t."""
    return 2 * (n - 2)


# -- the bound, for every n --------------------------------------------------------------------------------------------


@cache
def bound_is_proved() -> Evidence:
    """By induction over the sender, from the smallest process on; and there is something that it is about."""
    claims = [step(about) for about in ("a send is open", "an acknowledgement is withheld")]
    return by_z3(
        "an acknowledgement is withheld for 2(n − 2) t at most, by induction over the sender",
        claims,
        possible=[claims[0].given],
        scope=f"{ANY_NUMBER}, where an acknowledgement waits for the open send alone",
    )


def step(about: str) -> Claim:
    """Of a message m: its send is open for at most 2(P(s) − 1) t, its acknowledgement withheld for 2(P(r) − 1) t, if
    all messages of smaller senders are acknowledged in as much time as that. As P(r) < n, that is 2(n − 2) t at most.
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


# -- the run that exceeds n t ------------------------------------------------------------------------------------------


class Slowest(NamedTuple):
    """A run in which an acknowledgement is withheld for so many ticks, found by z3 and run on the protocol's code."""

    run: Timed
    withheld: int
    by_z3: int


@cache
def slowest(n: int, m: int) -> Slowest | None:
    """With m messages among n processes, all to smaller ones: the longest that the first to be asked about, m1, may
    wait for its acknowledgement to be sent; None if it is never withheld for more than n t.
    """
    times = z3.Optimize()
    sender, receiver, s, r, ack, acked = (
        [z3.Int(f"{name} {k}") for k in range(m)] for name in ("sender", "receiver", "s", "r", "ack", "acked")
    )
    for k in range(m):
        times.add(receiver[k] >= 1, receiver[k] < sender[k], sender[k] <= n, s[k] >= 0)
        times.add(s[k] < r[k], r[k] <= s[k] + T, r[k] <= ack[k], ack[k] < acked[k], acked[k] <= ack[k] + T)
        waits = [(_open(l, k, sender, receiver, s, r, acked), ack[k] == acked[l]) for l in range(m) if l != k]
        active = z3.Not(z3.Or([is_open for is_open, _ in waits]))
        times.add(z3.Or(z3.And(active, ack[k] == r[k]), *(z3.And(*each) for each in waits)))
        for l in range(k):
            times.add(z3.Implies(sender[k] == sender[l], z3.Or(acked[k] <= s[l], acked[l] <= s[k])))
            times.add(z3.Implies(receiver[k] == receiver[l], r[k] != r[l]))
    times.add(ack[0] - r[0] > n * T)
    times.maximize(ack[0] - r[0])
    times.minimize(z3.Sum(s + r))
    if ask(times) != z3.sat:
        return None
    model = times.model()

    def value(term: Term) -> int:
        return int(model.eval(term, model_completion=True).as_long())

    names = {k: f"m{place}" for place, k in enumerate(sorted(range(m), key=lambda k: (k > 0, value(s[k]))), 1)}
    lines: list[list[tuple[int, str]]] = [[] for _ in range(n)]
    for k, name in names.items():
        lines[value(sender[k]) - 1].append((value(s[k]), f"send {name} to P{value(receiver[k])}"))
        lines[value(receiver[k]) - 1].append((value(r[k]), "receive"))
    program = "\n".join(f"P{p}: " + "; ".join(text for _, text in sorted(line)) for p, line in enumerate(lines, 1))
    handed = {names[k]: value(s[k]) for k in sorted(range(m), key=lambda k: value(s[k]))}
    delays = {names[k]: value(r[k]) - value(s[k]) for k in range(m)}
    run = timed(program, handed, delays, T)
    at = f"P{value(receiver[0])}"
    came = run.when(at, "deliver", names[0])
    sent = next(
        time
        for time, action in zip(run.times, run.run.actions, strict=True)
        if time >= came and any((p.kind, p.destination) == ("ack", f"P{value(sender[0])}") for p in action.transmits)
    )
    return Slowest(run, sent - came, value(ack[0]) - value(r[0]))


def _open(
    l: int, k: int, sender: list[Term], receiver: list[Term], s: list[Term], r: list[Term], acked: list[Term]
) -> Term:
    """When message k is received the send of message l by its receiver is not yet acknowledged."""
    return z3.And(sender[l] == receiver[k], s[l] < r[k], r[k] < acked[l])


# -- all runs of the protocol's code -----------------------------------------------------------------------------------


class Longest(NamedTuple):
    """The most that any acknowledgement is withheld, in t, and in how many states of the system and of time."""

    n: int
    messages: int
    withheld: int
    states: int


@cache
def longest(n: int, m: int, kind: Callable[..., MurtyGarg] = MurtyGarg) -> Longest:
    """Over all runs of Fig. 8 of up to m messages, in whole t: in each t any number of things may happen, but what was
    in flight when it began arrives before it ends.

    That is the greatest there is: what bounds the times of a run are sums of t, so that the longest of them is one.
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
