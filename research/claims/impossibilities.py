"""The claims of [MG] that no protocol of a given class realizes synchronous order."""

from functools import cache

from crownless.impl.workloads import Free, Program, Workload
from crownless.model_check.search.generating import computation_of, form_of
from crownless.model_check.search.reachable import reachable
from crownless.research.theorems.evidence import Evidence, fact, found, together
from crownless.research.theorems.impossible_protocols import (
    NOT_ASKED,
    no_bounded_receives,
    no_bounded_sends,
    no_symmetric_protocol,
)
from crownless.research.variants.for_murty_garg import AcknowledgesAtOnce, PlacedAfterwards, ReceiversAsk, SendsAtOnce
from crownless.spec.notation import parse, to_computation
from crownless.spec.orders import decide

from .claim import ambiguity, claim, slip_of_print
from .fig_8 import first_run_that_breaks
from .gathering import ended, enumerated, explored, keep, program, proved, system_of

REALIZES = (
    "realizes: keeps the order, and every message that is wanted is eventually sent and delivered (Abstract: "
    "deadlock-free; else a protocol that never sends would do)"
)
DECIDES_ONLINE = (
    "decisions rest on what happened before, through control messages too, and are made as things happen: a commit "
    "does not choose its place among earlier events afterwards"
)


@claim(
    "MG4",
    "[MG] §3, Theorem 3, part 1",
    "No protocol that treats the processes alike realizes synchronous order.",
    "proved",
    reading=f"{REALIZES}; alike: in the same state each does the same, messages and packets named as one's own and the "
    "other's; nothing is left to chance, or chance decides alike",
)
def mg4(quick: bool) -> Evidence:
    crossing = to_computation(parse("P1: send m1 to P2; receive m2\nP2: send m2 to P1; receive m1"))
    fails = fact(not decide(crossing, "synchronous").kept, "")
    return no_symmetric_protocol() & found("two crossing messages, sent first by both", crossing) & fails


#: A process that sends first, with its message late; its predecessor goes on and sends to its successor.
RING_CUT_SHORT = """
P1: send m1 to P2; receive m3
P2: receive next; receive m1
P3: send m3 to P1; send next to P2
"""


@claim(
    "MG5",
    "[MG] §3, Theorem 3",
    "No protocol that completes each receive in bounded time realizes synchronous order.",
    {
        "packets go between two processes only for a message between them, its sender's first": "proved",
        (
            "if receivers may ask unprompted, also those that have nothing for them, as assumption 1 may be read: "
            "polls would do, where a process commits nothing while it waits for the answer"
        ): "refuted",
        (
            "if the place of a send among what came meanwhile could be chosen afterwards, as §4.1 may be read: the "
            "receiver's clock would do"
        ): "refuted",
    },
    reading="printed as part 3 of the theorem, proved as part 2; realizes, as for MG4: everything wanted is sent and "
    "delivered; there are three processes or more; only the two ends "
    f"of a message exchange packets for it, and {NOT_ASKED}: its sender's packet is the first, and with it the receive "
    f"begins. So a request by the sender is no way out; {DECIDES_ONLINE}",
    kind="ambiguity",
    defense="§3 assumes without loss of generality that the first packet is the sender's",
)
@ambiguity(
    "the proof says that a send with an empty past cannot be delayed; Fig. 8 delays the commit of one",
    "where the past is empty, the first packet of a message, which stands for it (§3), is not delayed; the claim is "
    "proved without this",
)
@slip_of_print("§3: bounded receives complete by t1 + δt", "by t0 + δt, where t0 is the time of the arrival")
def mg5(quick: bool) -> list[Evidence]:
    ring = to_computation(parse(RING_CUT_SHORT))
    at_once = first_run_that_breaks("synchronous", AcknowledgesAtOnce, 3, 3)
    by_the_letter = (
        no_bounded_receives()
        & found("a process that sends first, and its message late: not synchronous", ring)
        & fact(not decide(ring, "synchronous").kept, "")
        & found("Fig. 8 with acknowledgements at once", at_once)
    )
    asking = together(_polls(workload) for workload in _polled(quick))
    return [by_the_letter, asking.refutes(), _placed_afterwards(3, 3 if quick else 4).refutes()]


def _polled(quick: bool) -> list[Workload]:
    """The messages of the ring, and those of the run with P1's late and P3's next one to P2 ([MG] Fig. 4(b))."""
    ring = program("P1: send m1 to P2; receive\nP2: send m2 to P3; receive\nP3: send m3 to P1; receive", "a ring")
    plain = RING_CUT_SHORT.replace("receive m3", "receive").replace("receive next; receive m1", "receive; receive")
    return [ring] if quick else [ring, program(plain, "a ring cut short"), Free(2, 3), Free(3, 3)]


@cache
def _polls(workload: Workload) -> Evidence:
    """Synchronous order is kept, and each message is committed in the step of its arrival; polls may be in vain."""
    machine = ReceiversAsk(len(workload.processes))
    check = ended if isinstance(workload, Program) else explored
    result = check(machine, workload, orders=("synchronous",))
    at_once, in_vain = True, False
    for now in result.states():
        for step, _ in now.moves:
            packet = step.action.packet
            at_once &= packet is None or packet.message is None or packet.message in step.delivered
            in_vain |= packet is not None and packet.kind == "none"
    return keep(result) & fact(
        at_once and in_vain,
        "where receivers ask unprompted, also those that have nothing for them, messages are committed on arrival",
    )


@cache
def _placed_afterwards(n: int, m: int) -> Evidence:
    """For all complete runs, lines in order of places: synchronous, each send placed in time."""
    forms, in_time = set(), True
    for now in reachable(system_of(PlacedAfterwards(n), Free(n, m))):
        local = now.locals
        if not now.in_flight and all(one.unplaced is None for one in local):
            in_time &= all(PlacedAfterwards.in_time(one) for one in local)
            placed = [sorted((place, what, x) for what, x, place in one.line if what != "wants") for one in local]
            forms.add(form_of(tuple(tuple((what, message) for _, what, message in line) for line in placed)))
    return enumerated(
        f"where sends are placed afterwards computations of {n} processes and {m} messages are synchronous",
        [computation_of(form) for form in forms if form is not None],
        lambda c: decide(c, "synchronous").kept,
    ) & fact(in_time and len(forms) > 200, "each send is placed after its request and before its acknowledgement")


@claim(
    "MG6",
    "[MG] §3, Theorem 3",
    "No protocol that completes each send in bounded time realizes synchronous order.",
    {
        "a send begins when the process wants it": "proved",
        (
            "the protocol chooses when a send begins; the definition of bounded sends leaves this open: Fig. 8 "
            "commits each send in one step, with which it may begin"
        ): "refuted",
    },
    reading="printed as part 2 of the theorem, proved as part 3; realizes, as for MG4: everything wanted is sent and "
    "delivered; the time of a send is bounded from when the process wants it, as in the printed proof; "
    f"{DECIDES_ONLINE}",
    kind="ambiguity",
)
@slip_of_print("the proof has P4 commit r3 with the past {s1, s4}; parts 2 and 3 are swapped in it", "P4 commits r4")
def mg6(quick: bool) -> list[Evidence]:
    at_once = first_run_that_breaks("synchronous", SendsAtOnce, 2, 2)
    return [
        no_bounded_sends() & found("Fig. 8 with sends at once", at_once),
        proved("murty-garg", "safe", "live").refutes(),
    ]
