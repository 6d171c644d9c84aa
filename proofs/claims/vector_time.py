"""The claims of [SES] on Lamport's clocks and vector time, and the remarks that its proof rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise

from crownless.impl.protocols.ses import Ses
from crownless.impl.variants.for_schiper_eggli_sandoz import DeliveriesDoNotTick, NothingTicks
from crownless.impl.workloads import Free
from crownless.model_check.search.reachable import Reached
from crownless.proofs.induction.evidence import Evidence, by_z3, each_alone, fact, found
from crownless.proofs.protocols import vector_time
from crownless.proofs.protocols.ses import SES
from crownless.spec.clocks import CLOCKS, Clock, LamportClock, VectorClock, stale_messages
from crownless.spec.computation import Computation, Event
from crownless.spec.enumeration import computations, trusted
from crownless.spec.orders import decide

from . import pairs
from .claim import claim
from .evidence import breaks, enumerated, figure, in_some_state, keep, proved, searched, system_of
from .failures import NOTHING_FOR_ONESELF, events, first_run, remembering

# -- computations ------------------------------------------------------------------------------------------------------


def timed_computations(quick: bool) -> Iterator[Computation]:
    """The computations used to check clocks, without duplicates: of unicasts and local events, and of multicasts."""
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

    A local event is encoded as a message that is never received, from its process to the first other one.
    """
    for c in computations(n, m, complete=False):
        if all(q == (c.messages[number].sender == 0) for number, q in c.unreceived):
            received = [m for m, receives in enumerate(c.receive_events) if receives]
            number = {m: k for k, m in enumerate(received)}
            lines = tuple(
                tuple(
                    Event(e.kind, number[e.message]) if e.message in number else Event("internal", None) for e in line
                )
                for line in c.lines
            )
            yield trusted(c.processes, tuple(c.messages[m] for m in received), lines)


def kept_and_late(clock: Clock, some: Iterable[Computation]) -> Computation | None:
    """The first computation in which causal order is kept and a message is late."""
    return next((c for c in some if decide(c, "causal").kept and stale_messages(c, clock)), None)


class SendsDoNotTick(VectorClock):
    """A send leaves the clock unchanged unless there are other local events."""

    def after_event(self, time: tuple[int, ...], p: int) -> tuple[int, ...]:
        return time


@cache
def vector_time_by_z3() -> Evidence:
    """Vector time in full, by one entry, and Proposition 2, by induction on the run; not for clocks without ticks."""
    variants = [vector_time.kept_claims(clock) for clock in (DeliveriesDoNotTick, NothingTicks)]
    return by_z3(
        f"{len(vector_time.claims())} claims by induction on the run, of the clock's own code: an event happened "
        "before another iff its time is at most the other's, iff its own site's entry is; and a message is late where "
        "it arrives iff one that was sent causally after it is delivered there already. Not of clocks that sends or "
        "deliveries do not advance",
        vector_time.claims(),
        refuted=[*variants, *each_alone(vector_time.vacuity())],
        scope="any number of sites and events: local ones, sends to any set of other sites, deliveries in any order",
    )


# -- the claims --------------------------------------------------------------------------------------------------------

LAMPORT, VECTOR = LamportClock(), VectorClock()


@claim(
    "SES5",
    "[SES] §4.1, Proposition 1, Fig. 3",
    "By Lamport's clocks some message arrives with a smaller time than its receiver's if causal order is broken, and "
    "also in some computations in which it is kept.",
    "checked",
    reading="of messages that do arrive; every send, delivery and local event advances the clock",
)
def ses5(quick: bool) -> Evidence:
    bounds = [(n, m) for m in (1, 2, 3) for n in (2, 3)]
    smallest = kept_and_late(LAMPORT, (c for n, m in bounds for c in computations(n, m)))
    fig_3 = figure("ses-fig3")
    worn = searched("ses", 3, 3, clocks=tuple(CLOCKS))
    return (
        enumerated(
            "some message is late where causal order is broken",
            timed_computations(quick),
            lambda c: bool(stale_messages(c, LAMPORT)),
            where=lambda c: not decide(c, "causal").kept,
            scope=TIMED[quick],
            title="causal order is broken, and no message late",
        )
        & found("Fig. 3, with the fewest messages: causal, and a message arrives late", smallest)
        & fact(decide(fig_3, "causal").kept and bool(stale_messages(fig_3, LAMPORT)), "Fig. 3 is such a computation")
        & keep(worn, "causal")
        & breaks(worn, "lamport-times", "so is a run of the vector-pair protocol")
    )


@claim(
    "SES6",
    "[SES] §4.1",
    "Of two different events one happened before the other iff its vector time is at most the other's.",
    "proved",
    reading="sends, deliveries and local events all advance the clock (SES8); what the text writes < is ≤ in every "
    "entry. E1 and E2 are two events: an event's time is at most its own",
)
def ses6(quick: bool) -> Evidence:
    return vector_time_by_z3()


@claim(
    "SES7",
    "[SES] §4.1, Lemma 1",
    "An event of a site happened before any other event whose time has at least its entry for that site.",
    "proved",
    reading="E1 and E2 are two events, since nothing happens before itself; every event advances the clock (SES8)",
)
def ses7(quick: bool) -> Evidence:
    return vector_time_by_z3()


@claim(
    "SES8",
    "[SES] §4.1, Proposition 2",
    "Causal order is broken iff some message arrives where the local vector time is already at least its own.",
    {
        "a send advances the clock, as any event of its site": "proved",
        "only receives and events other than sends advance it": "refuted",
    },
    not_said={"messages to oneself, too": "refuted"},
    reading="a send is an event of its site (§2), and so a local event that advances the clock: the rules of §4.1 do "
    "not name it. Arriving is being delivered, once; a message is to other sites (§2: its reception is on any other "
    "site)",
)
def ses8(quick: bool) -> list[Evidence]:
    to_himself = kept_and_late(VECTOR, computations(1, 1, self_sends=True))
    silent = kept_and_late(SendsDoNotTick(), computations(2, 1))
    without = searched("unordered", 3, 3, clocks=tuple(CLOCKS))
    return [
        vector_time_by_z3()
        & keep(searched("ses", 3, 3, clocks=tuple(CLOCKS)), "causal", "vector-times")
        & breaks(without, "vector-times", "without a protocol a message arrives late"),
        found("if sends did not advance the clock: causal order is kept, and m1 is late", silent).refutes(),
        found("to oneself: causal order is kept, and m1 is late", to_himself).refutes(),
    ]


@claim(
    "SES20",
    "[SES] §4.2",
    "The times in a site's buffer are not bounded: their entries grow with the number of events.",
    "proved",
    reading="of the algorithm as it is. That an algorithm to bound them 'is an open problem' is a question; the "
    "buffers of [MF] do without times (MF12)",
)
def ses20(quick: bool) -> Evidence:
    return pairs.entries_count_events()


@claim(
    "SES22",
    "[SES] §4.2.5, Remark 1",
    "If M1 and M2 go to one site S, and next after SEND(M1) on a way to SEND(M2) is an event of M1's sender, then M2 "
    "is accompanied by a pair for S whose time is at least M1's.",
    {"while M1 is not delivered, as the remark supposes": "proved", "M1 delivered or not": "refuted"},
    reading="'we will suppose message M1 has not yet been delivered' is said where the other case is left out, that "
    "the next event is the delivery of M1; it is supposed all through the proof. After that delivery a way may lead "
    f"through S, which keeps no pair for itself; {NOTHING_FOR_ONESELF}",
)
def ses22(quick: bool) -> list[Evidence]:
    def without_pair(now: Reached) -> bool:
        return any(
            kind == then == "send"
            and packet.destination == sent.receiver
            and packet.stamp.buffer[sent.receiver][i] < number < packet.stamp.time[i]
            for i in range(3)
            for number, ((kind, sent), (then, _)) in enumerate(pairwise(events(now, i)), 1)
            for packet in now.in_flight
        )

    invariant = "a message has a pair for what happened before"
    run = first_run(remembering(Ses, Free(3, 4)), without_pair)
    title = "M1 is m1, M2 is m4: the way leads through P2, and m4 comes back to it without a pair"
    return [
        proved("ses", "safe")
        & fact(invariant in SES.safe_by, f"which rests on this: {invariant}, unless that is delivered"),
        found(title, run, "counterexample-ses22").refutes(),
    ]


@claim(
    "SES23",
    "[SES] §4.2.5, Remark 2",
    "A site other than M1's sender S_i has a time whose entry for S_i is at least that of M1 only if it has received a "
    "message M with SEND(M1) → SEND(M).",
    {
        "by the letter": "refuted",
        "M1 itself, or such a message, as §4.2.1 has it": "proved",
        "at a site that has not received M1, as the proof has it": "proved",
    },
    reading="'the only way for any other site S'', S' may be where M1 goes; and no event happened before itself",
)
def ses23(quick: bool) -> list[Evidence]:
    of_m1 = in_some_state(
        "P2 has received m1 alone, and its time has m1's entry",
        system_of(Ses(2), Free(2, 1)),
        lambda now: now.locals[1].time[0] >= 1,
        "counterexample-ses23",
    )
    learnt = by_z3(
        "where a time has an event's entry at another site, the message of that event is received there, or one that "
        "was sent causally after it",
        [vector_time.remark_2()],
    )
    repaired = vector_time_by_z3() & learnt
    return [(fact(True, "", "2 sites, 1 message") & of_m1).refutes(), repaired, repaired]
