"""The claims of [SES] on Lamport's clocks and vector time."""

from collections.abc import Iterable, Iterator
from functools import cache

from crownless.proofs.protocols import vector_time
from crownless.research.theorems.evidence import Evidence, by_z3, each_alone, fact, found
from crownless.research.variants.for_schiper_eggli_sandoz import DeliveriesDoNotTick, NothingTicks
from crownless.spec.clocks import CLOCKS, Clock, LamportClock, VectorClock, stale_messages
from crownless.spec.computation import Computation, Event
from crownless.spec.enumeration import computations, trusted
from crownless.spec.orders import decide

from .claim import claim
from .gathering import breaks, enumerated, figure, keep, searched

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
    "By Lamport's clocks some message arrives with a smaller time than its receiver's if causal order is violated, and "
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
            "some message is late where causal order is violated",
            timed_computations(quick),
            lambda c: bool(stale_messages(c, LAMPORT)),
            where=lambda c: not decide(c, "causal").kept,
            scope=TIMED[quick],
            title="causal order is violated, and no message late",
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
    "Causal order is violated iff some message arrives where the local vector time is already at least its own.",
    {
        "a send advances the clock, as any event of its site": "proved",
        "only receives and events other than sends advance it": "refuted",
    },
    not_said={"messages to oneself, too": "refuted"},
    reading="a send is an event of its site (§2), and so a local event that advances the clock: the rules of §4.1 do "
    "not name it. Arriving is being delivered, once; a message is to other sites (§2: its reception is on any other "
    "site)",
    kind="ambiguity",
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
