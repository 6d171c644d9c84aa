"""[MG] Theorem 3 by z3: impossibility for all protocols, whatever their states, views, packets and times.

A protocol is a set of unknown functions. They take the wishes and arrivals of a process, so it decides by the past
alone (assumption 2 of [MG] §3); only the two ends of a message exchange packets for it (assumption 1), so nothing else
arrives in the runs below. Every protocol of a class has a run that is not synchronous, or in which something is never
delivered; the hypotheses describe that run, and SYNC.

Argued only in words, as the reason why any protocol of the class has these runs: processes that are not named want
nothing, and transmit nothing, since by assumption 1 two processes exchange packets only for a message between them. So
no packet reaches a process before another one has begun to send to it, and it transmits the first packet of its own
message at some time, or it never would, alone. Bounded receives need this: where receivers may ask unprompted, there is
such a protocol (`research.variants.for_murty_garg.ReceiversAsk`). And a receiver that is done with a message transmits
nothing more for it ((c) in the proof of Theorem 3).
"""

from functools import cache

import z3

from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.terms import Term

from .computation import NEVER, Hypotheses
from .evidence import Evidence, by_z3, lacking_each

ANY_PROTOCOL = "any deterministic protocol, as functions of which nothing is known"
NOT_ASKED = (
    "two processes exchange packets only for a message between them (assumption 1 of §3), so that nobody is asked "
    "before he wants to send"
)
ARGUED = "that each protocol of the class is such functions, and has the runs that z3 is asked about, is argued"
BEGINS = "so is that a process to which nothing comes then begins its send at some time"

# -- part 1: symmetric protocols ---------------------------------------------------------------------------------------

STATE, PACKETS = z3.DeclareSort("State"), z3.DeclareSort("Packets")


class TwoProcesses:
    """Two processes that want to send to each other, run in lockstep: packets of one round arrive in the next."""

    def __init__(self) -> None:
        self.start = [z3.Const(f"start {p}", STATE) for p in range(2)]
        self.next = [z3.Function(f"next {p}", STATE, PACKETS, STATE) for p in range(2)]
        #: The packets transmitted from a state, possibly none.
        self.packets = [z3.Function(f"packets {p}", STATE, PACKETS) for p in range(2)]
        #: In a state in which both messages are committed: True if the own send was first.
        self.own_first = [z3.Function(f"own first {p}", STATE, z3.BoolSort()) for p in range(2)]
        #: The states of a round, and those of the next one.
        self.now = [z3.Const(f"now {p}", STATE) for p in range(2)]
        self.then = [self.next[p](self.now[p], self.packets[1 - p](self.now[1 - p])) for p in range(2)]

    def symmetric(self) -> Hypotheses:
        s, a = z3.Const("s", STATE), z3.Const("a", PACKETS)
        return {
            "both begin alike": self.start[0] == self.start[1],
            "both step alike": z3.ForAll([s, a], self.next[0](s, a) == self.next[1](s, a)),
            "both transmit alike": z3.ForAll([s], self.packets[0](s) == self.packets[1](s)),
            "both commit alike": z3.ForAll([s], self.own_first[0](s) == self.own_first[1](s)),
        }

    def alike(self) -> Hypotheses:
        return {"alike in this round": self.now[0] == self.now[1]}

    def synchronous(self) -> Hypotheses:
        """In this round both messages are committed, in the order of the times of SYNC."""
        times = z3.Reals("T(m0) T(m1)")
        orders = [
            z3.If(self.own_first[p](self.now[p]), times[p] < times[1 - p], times[1 - p] < times[p]) for p in range(2)
        ]
        return {"SYNC": z3.And(orders)}


def symmetric_claims() -> list[Claim]:
    """By induction on rounds the two are alike; then their commits are not synchronous."""
    two = TwoProcesses()
    given = two.symmetric()
    return [
        Claim("two processes begin alike", given, two.start[0] == two.start[1]),
        Claim("two processes stay alike", {**given, **two.alike()}, two.then[0] == two.then[1]),
        Claim("alike is not synchronous", {**given, **two.alike(), **two.synchronous()}, NEVER),
    ]


@cache
def no_symmetric_protocol() -> Evidence:
    """In addition, symmetric processes may be alike; without symmetry two that are alike so far may well be
    synchronous.
    """
    two = TwoProcesses()
    return by_z3(
        "two processes that want to send to each other and run in lockstep begin alike and stay alike, whatever the "
        "protocol's states and packets are, and what they have then committed is not synchronous",
        symmetric_claims(),
        possible=[{**two.symmetric(), **two.alike()}, {**two.alike(), **two.synchronous()}],
        scope=f"{ANY_PROTOCOL}, of two processes; of more, where nothing comes from those that want nothing "
        f"(assumption 1 of §3); in the run two send; {ARGUED}",
    )


# -- parts 2 and 3: bounded delays -------------------------------------------------------------------------------------

RUN, MESSAGE, PROCESS, TIME = z3.IntSort(), z3.IntSort(), z3.IntSort(), z3.RealSort()
#: When a process commits a message, as its sender or receiver: its place on the process's line.
COMMIT = z3.Function("commit", RUN, PROCESS, MESSAGE, TIME)
#: When the first packet of a message arrives at its receiver.
ARRIVAL = z3.Function("arrival", RUN, MESSAGE, TIME)
#: The T of SYNC, of a message.
T = z3.Function("T", RUN, MESSAGE, TIME)
#: The bound on a send, or on a receive.
DELTA = z3.Real("delta")


def in_line(run: int, process: int, *messages: int) -> Term:
    """SYNC on one line: the times of its messages are in commit order."""
    a, b = messages
    first = COMMIT(run, process, a) < COMMIT(run, process, b)
    return z3.If(first, T(run, a) < T(run, b), T(run, b) < T(run, a))


def bounded_sends_claim() -> Claim:
    """Two processes want to send to each other at time 0, and packets take longer than the bound on a send."""
    run, two = 0, range(2)
    given = {
        "bounded sends": z3.And([COMMIT(run, p, p) <= DELTA for p in two]),
        "the packets take longer": z3.And([ARRIVAL(run, p) > DELTA for p in two]),
        "a receive is not before an arrival": z3.And([COMMIT(run, 1 - p, p) >= ARRIVAL(run, p) for p in two]),
        "SYNC": z3.And([in_line(run, p, p, 1 - p) for p in two]),
    }
    return Claim("no bounded sends", given, NEVER)


RING = 3
#: The message from the predecessor of p to its successor, in the run in which p's own message is late.
NEXT = RING

VIEW, PACKET = z3.DeclareSort("View"), z3.DeclareSort("Packet")
#: The view of a process that wants its message at time 0, and has received nothing.
WANTS = z3.Function("wants", PROCESS, VIEW)
FIRST_PACKET = z3.Function("first packet", VIEW, PACKET)
HEARS = z3.Function("hears", VIEW, PACKET, TIME, VIEW)
#: At the commit of a receive in this view: True if the own send is already committed.
OWN_FIRST = z3.Function("own first", VIEW, z3.BoolSort())
#: When the first other packet arrives at a process.
SECOND = z3.Function("second arrival", RUN, PROCESS, TIME)
ARRIVED = z3.Real("A")


def before(p: int) -> int:
    return (p - 1) % RING


def after(p: int) -> int:
    return (p + 1) % RING


def bounded_receives_claim() -> Claim:
    """Each of three processes in a ring wants to send to the next one at time 0. Besides that run, RING, there is one
    run for each process p, numbered p: p sees the same until it has committed the receive, but its own message is late,
    and its predecessor goes on and sends NEXT to its successor.
    """
    ring = range(RING)
    seen = [(run, p) for p in ring for run in (RING, p)]  #: the runs in which p sees the same
    views = {(run, p): HEARS(WANTS(p), FIRST_PACKET(WANTS(before(p))), ARRIVAL(run, before(p))) for run, p in seen}
    own_is_first = {(run, p): COMMIT(run, p, p) < COMMIT(run, p, before(p)) for run, p in seen}
    given = {
        "bounded receives": z3.And(
            [COMMIT(run, p, before(p)) <= ARRIVAL(run, before(p)) + DELTA for run, p in seen]
            + [COMMIT(p, after(p), NEXT) <= ARRIVAL(p, NEXT) + DELTA for p in ring]
        ),
        "a receive is not before an arrival": z3.And([COMMIT(p, after(p), p) >= ARRIVAL(p, p) for p in ring]),
        "decided by the view": z3.And(
            [
                z3.Implies(COMMIT(run, p, before(p)) < SECOND(run, p), OWN_FIRST(view) == own_is_first[run, p])
                for (run, p), view in views.items()
            ]
        ),
        "the first packets arrive at one time": z3.And([ARRIVAL(run, before(p)) == ARRIVED for run, p in seen]),
        "other packets take longer": z3.And([SECOND(run, p) > ARRIVED + DELTA for run, p in seen]),
        "p's message is late": z3.And([ARRIVAL(p, p) > ARRIVAL(p, NEXT) + DELTA for p in ring]),
        "NEXT is wanted afterwards": z3.And(
            [COMMIT(p, before(p), before(p)) < COMMIT(p, before(p), NEXT) for p in ring]
        ),
        "SYNC on the ring": z3.And([in_line(RING, p, p, before(p)) for p in ring]),
        "SYNC where p's message is late": z3.And(
            [
                z3.And(
                    in_line(p, p, p, before(p)), in_line(p, before(p), before(p), NEXT), in_line(p, after(p), NEXT, p)
                )
                for p in ring
            ]
        ),
    }
    return Claim("no bounded receives", given, NEVER)


@cache
def no_bounded_sends() -> Evidence:
    return _needs_all(
        bounded_sends_claim(),
        "two processes want to send to each other, and packets take longer than a send may: both have committed their "
        "sends before anything arrives, so both receives come after, a crown, however they are delayed",
        "any protocol, deterministic or not, of two processes or more, in which a send begins when the process wants "
        "it, as times of commits and arrivals; in the run two send; that every such protocol has this run is argued",
    )


@cache
def no_bounded_receives() -> Evidence:
    return _needs_all(
        bounded_receives_claim(),
        "each of three processes in a ring sends to the next one and takes in what comes first; it puts its own "
        "message before that or after. Not all can put it after. One that puts it before cannot distinguish this from "
        "a run where its message is late and the other's next one overtakes it. Not all four runs are synchronous, "
        "whatever is decided by what was seen",
        f"{ANY_PROTOCOL}, of three processes or more, where {NOT_ASKED}; in the runs three send; {ARGUED}; {BEGINS}",
    )


def _needs_all(claim: Claim, because: str, scope: str) -> Evidence:
    """The hypotheses contradict each other, and no longer do so if any one is left out."""
    possible = [{**rest.given, "there is a bound": DELTA > 0} for (rest,) in lacking_each(claim)]
    return by_z3(f"{because} (with a model without any one of the hypotheses)", [claim], possible=possible, scope=scope)


# -- [SES] §4.3: messages that carry others ----------------------------------------------------------------------------


@cache
def m2_tells_of_m1() -> Evidence:
    """S1 dies, and of all it sent M2 alone arrives: if S2 delivers M1, its content can be read from M2's packet."""
    content, packet = z3.DeclareSort("Content"), z3.DeclareSort("Packet")
    sent, arrived = z3.Function("M2's packet", content, packet), z3.Function("what S2 delivers", content, content)
    look = z3.Function("what S2 makes of what came from S1", packet, content)
    c, d = z3.Consts("c d", content)
    given = {
        "survivors see of S1 only what M2 brings": z3.ForAll([c], arrived(c) == look(sent(c))),
        "S2 delivers M1": z3.ForAll([c], arrived(c) == c),
    }
    claim = Claim("M2 tells of M1", given, z3.ForAll([c, d], z3.Implies(sent(c) == sent(d), c == d)))
    because = "where M1 itself does not arrive, and S2 delivers it, it can be read from what M2 brings"
    scope = (
        "any deterministic protocol, modeled as functions of M1's content, the rest of the run fixed; that each "
        "protocol is such functions is argued; nothing but M2 ever comes from the dead site S1"
    )
    return by_z3(because, [claim], refuted=lacking_each(claim), scope=scope)
