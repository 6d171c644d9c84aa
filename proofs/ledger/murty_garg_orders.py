"""The claims of [MG] §2 and §3: orders, crowns, and impossibility."""

from __future__ import annotations

from itertools import pairwise, permutations

from crownless.impl.murty_garg import MurtyGarg
from crownless.impl.registry import PROTOCOLS
from crownless.spec.computation import Computation
from crownless.spec.crowns import crowns, smallest_crown
from crownless.spec.orders import decide

from .claims import Evidence, Reading, Text, unless
from .evidence import BY_FAIRNESS_IN_WORDS, figure, is_proved, up_to
from .fig_8_variants import AcknowledgesAtOnce, SendsAtOnce, first_run_that_breaks
from .impossibility_cases import crossing, lockstep, placed_afterwards, ring_cut_short
from .impossible_protocols import (
    no_bounded_receives_is_proved,
    no_bounded_sends_is_proved,
    no_symmetric_protocol_is_proved,
)
from .murty_garg_shared import ANY_NUMBER, bound_of, computations_up_to, length, shown
from .polling import POLLED, polled, workloads
from .synchronous_theorems import strong_crown_is_proved, theorem_1_is_proved, theorem_2_is_proved

TEXT = Text()


# -- computations and crowns -------------------------------------------------------------------------------------------


@TEXT.claim(
    "MG1",
    "[MG] §2.2, Theorem 1",
    "Synchronous computations are causally ordered, and these are FIFO.",
    "proved",
    reading="⊆, not strict: that each is outside the next one is seen by enumeration",
)
def mg1(quick: bool) -> Evidence:
    n, m = bound_of(quick)
    kept = dict.fromkeys(("synchronous", "causal", "fifo"), 0)
    looked_at = differ = 0
    for c in up_to(n, m):
        holds_of_it = {
            "synchronous": has_timestamps(c),
            "causal": not any(overtakes(c, a, b, causally=True) for a, b in permutations(range(len(c.messages)), 2)),
            "fifo": not any(overtakes(c, a, b, causally=False) for a, b in permutations(range(len(c.messages)), 2)),
        }
        looked_at += 1
        differ += any(holds_of_it[order] != decide(c, order).kept for order in kept)
        if list(holds_of_it.values()) != sorted(holds_of_it.values()):
            return Evidence("refuted", computations_up_to(n, m), "one is outside", shown("outside the chain", c))
        kept = {order: kept[order] + holds_of_it[order] for order in kept}
    counts = [*kept.values(), looked_at]
    strict = counts == sorted(set(counts))
    because = (
        "z3 shows both inclusions from the definitions; for the first one, that → lies within the pairs that SYNC puts "
        "in time or in one message, since these hold ≺ and ⇝ and are transitive. By enumeration: "
        + " ⊂ ".join(f"{count:,} {order}" for order, count in kept.items())
        + f" ⊂ {looked_at:,}, each by its definition here and by graph"
    )
    scope = f"{ANY_NUMBER}, none to oneself (z3); that → is the least such relation is its definition"
    fails = not theorem_1_is_proved() or differ > 0 or not strict
    return Evidence(unless(fails, "proved"), f"{scope}; {computations_up_to(n, m)}", because)


def overtakes(c: Computation, first: int, second: int, *, causally: bool) -> bool:
    """True if the second is received before the first at one process, though sent after it (FIFO: by one process)."""
    s1, s2 = c.send_event[first], c.send_event[second]
    received = [c.receive_events[m][c.messages[m].receiver] for m in (first, second)]
    at_one_process = c.messages[first].receiver == c.messages[second].receiver
    sent_later = c.happened_before(s1, s2) and (causally or c.process_of[s1] == c.process_of[s2])
    return sent_later and at_one_process and received[1] < received[0]


def has_timestamps(c: Computation) -> bool:
    """SYNC: True if messages can be numbered so that numbers grow along every line, hence with distinct numbers."""
    lines = [[event.message for event in line if event.message is not None] for line in c.lines]
    in_line = {pair for line in lines for pair in pairwise(line)}
    return any(all(times[a] < times[b] for a, b in in_line) for times in permutations(range(len(c.messages))))


@TEXT.claim(
    "MG2",
    "[MG] §2.3, Theorem 2",
    "A computation is synchronous if and only if it has no crown.",
    "proved",
    reading="k ≥ 2: the chain of the definition begins s0 → r1, and with one message there is no r1 (s0 → r0 would "
    "make every message a crown); pairs with different indices are different messages",
)
def mg2(quick: bool) -> Evidence:
    n, m = bound_of(quick)
    looked_at, synchronous, differ = 0, 0, 0
    for c in up_to(n, m):
        looked_at += 1
        in_time = has_timestamps(c)
        synchronous += in_time
        differ += in_time != (next(crowns(c), None) is None)
    holds = theorem_2_is_proved() and not differ and 0 < synchronous < looked_at
    because = (
        "z3 shows both directions, along a crown by induction, and from sorted messages; of "
        f"{looked_at:,} computations the {synchronous:,} with timestamps are those without crowns"
    )
    scope = (
        f"{ANY_NUMBER}, none to oneself (z3); that finitely many messages without a cycle can be sorted is argued; "
        f"{computations_up_to(n, m)}"
    )
    return Evidence(unless(not holds, "proved"), scope, because)


@TEXT.claim("MG3", "[MG] §2.3", "Every strong crown is a crown; some crowns are not strong.", "proved")
def mg3(quick: bool) -> Evidence:
    n, m = bound_of(quick)
    weak_ones: list[Computation] = []
    strong_ones = 0
    for c in up_to(n, m):
        weak = {crown.messages for crown in crowns(c)}
        strong = {crown.messages for crown in crowns(c, strong=True)}
        strong_ones += len(strong)
        if not strong <= weak:
            return Evidence("refuted", computations_up_to(n, m), "found one", shown("strong, and no crown", c))
        weak_ones += [c] * bool(weak - strong)
    fails = not weak_ones or not strong_ones
    least = min(weak_ones, key=lambda c: (len(c.messages), len(c.processes)), default=None)
    fig3a = figure("mg-fig3a")
    drawn = smallest_crown(fig3a) is not None and smallest_crown(fig3a, strong=True) is None
    because = (
        "z3 shows it of crowns of any size, since ≺ lies within →, and refutes the converse, which Fig. 3(a) does too; "
        f"all {strong_ones:,} strong crowns are crowns; {len(weak_ones):,} computations have one that is not strong"
    )
    witnesses = shown("smallest computation with a crown that is not strong", least) + shown(
        "one that is causally ordered", fig3a
    )
    verdict = unless(fails or not drawn or not strong_crown_is_proved(), "proved")
    return Evidence(verdict, f"{ANY_NUMBER} (z3); {computations_up_to(n, m)}", because, witnesses)


# -- impossibilities ---------------------------------------------------------------------------------------------------

REALISES = (
    "realises: keeps the order, and every message that is wanted is sent and delivered in the end (Abstract: "
    "deadlock-free; else a protocol that never sends would do)"
)
DECIDES_ONLINE = (
    "decisions rest on what happened before, through control messages too, and are made as things happen: a commit "
    "does not choose its place among earlier events afterwards"
)
ANY_PROTOCOL = "any deterministic protocol, as functions of which nothing is known (z3)"
NOT_ASKED = (
    "two processes exchange packets only for a message between them (assumption 1 of §3), so that nobody is asked "
    "before he wants to send"
)
ARGUED = "that each protocol of the class is such functions, and has the runs that z3 is asked about, is argued"
BEGINS = "so is that a process to which nothing comes then begins its send at some time"


@TEXT.claim(
    "MG4",
    "[MG] §3, Theorem 3, part 1",
    "No protocol that treats the processes alike realises synchronous order.",
    "proved",
    reading=f"{REALISES}; alike: in the same state each does the same, messages and packets named as one's own and the "
    "other's; nothing is left to chance, or chance decides alike",
)
def mg4(quick: bool) -> Evidence:
    symmetric = {name: kind for name, kind in PROTOCOLS.items() if kind.symmetric}
    runs = {name: lockstep(kind(2)) for name, kind in symmetric.items()}
    ends = [c for run in runs.values() for c in run.ends]
    stay_alike = all(run.alike and run.ends for run in runs.values())
    synchronous = any(decide(c, "synchronous").kept and c.messages for c in ends)
    fails = not no_symmetric_protocol_is_proved() or not stay_alike or synchronous or lockstep(MurtyGarg(2)).alike
    blocked = sum(any(not c.messages for c in run.ends) for run in runs.values())
    because = (
        "two processes want to send to each other and run in lockstep: z3 shows that they begin alike and stay alike, "
        "whatever the protocol's states and packets are, and that what they have then committed is not synchronous. "
        f"So do {len(runs)} symmetric protocols here: {len(runs) - blocked} end in the crown, {blocked} in a deadlock; "
        "Fig. 8 does not stay alike"
    )
    return Evidence(
        unless(fails, "proved"),
        f"{ANY_PROTOCOL}, of two processes; of more, where nothing comes from those that want nothing (assumption 1 of "
        f"§3); in the run two send; {ARGUED}",
        because,
        shown("two crossing messages, sent first by both: what is alike and delivered", crossing()),
    )


@TEXT.claim(
    "MG5",
    "[MG] §3, Theorem 3",
    "No protocol that is done with each receive in bounded time realises synchronous order.",
    "proved",
    reading="printed as part 3 of the theorem, proved as part 2; realises, as for MG4: everything wanted is sent and "
    "delivered; there are three processes or more; only the two ends "
    f"of a message exchange packets for it, and {NOT_ASKED}: its sender's packet is the first, and with it the receive "
    f"begins. So a request by the sender is no way out; {DECIDES_ONLINE}. The printed argument also takes it that a "
    "send with an empty past cannot be put off, which Fig. 8 does: not used here",
)
def mg5(quick: bool) -> Evidence:
    run = first_run_that_breaks("synchronous", AcknowledgesAtOnce, 3, 3)
    n, m = 3, 3 if quick else 4
    placed, in_time = placed_afterwards(n, m)
    afterwards = in_time and all(decide(c, "synchronous").kept for c in placed) and len(placed) > 200
    asking = [polled(workload) for workload in workloads(quick)]
    readings = [
        Reading("by the letter", unless(run is None or not no_bounded_receives_is_proved(), "proved")),
        Reading(
            "if receivers may ask unprompted, also those that have nothing for them, as assumption 1 may be read: "
            "polls would do, where a process commits nothing while it waits for the answer",
            unless(not all(each.refutes for each in asking), "refuted"),
        ),
        Reading(
            "if the place of a send among what came meanwhile could be chosen afterwards, as §4.1 may be read: the "
            f"receiver's clock would do ({len(placed):,} computations of {n} processes and {m} messages)",
            unless(not afterwards, "refuted"),
        ),
    ]
    because = (
        "each of three processes in a ring sends to the next one and takes in what comes first; it puts its own "
        "message before that or after. Not all can put it after. One that puts it before cannot distinguish this "
        "from a run where its message is late and the other's next one overtakes it. z3 shows that not all four runs "
        "are synchronous, whatever is decided by what was seen, and has a model without any one of the hypotheses. "
        f"Fig. 8, if it acknowledged at once, breaks the order after {length(run)} actions. "
        "Where receivers ask unprompted, "
        "each message is committed on arrival, synchronous order is kept, and everything is delivered in every fair "
        f"run, in {sum(each.states for each in asking):,} states ({POLLED[quick]})"
    )
    figures = shown("a process that sends first, and its message late: not synchronous", ring_cut_short(0))
    return Evidence(
        readings,
        f"{ANY_PROTOCOL}, of three processes or more, where {NOT_ASKED}; in the runs three send; {ARGUED}; {BEGINS}",
        because,
        figures + shown("Fig. 8 with acknowledgements at once", run),
    )


@TEXT.claim(
    "MG6",
    "[MG] §3, Theorem 3",
    "No protocol that is done with each send in bounded time realises synchronous order.",
    "proved",
    reading="printed as part 2 of the theorem, proved as part 3; realises, as for MG4: everything wanted is sent and "
    "delivered; the time of a send is bounded from when the process wants it, as in the printed proof; "
    f"{DECIDES_ONLINE}",
)
def mg6(quick: bool) -> Evidence:
    run = first_run_that_breaks("synchronous", SendsAtOnce, 2, 2)
    readings = [
        Reading(
            "a send begins when the process wants it", unless(run is None or not no_bounded_sends_is_proved(), "proved")
        ),
        Reading(
            "the protocol chooses when a send begins, of which the definition of bounded sends says nothing: Fig. 8 "
            "commits each send in one step, with which it may begin",
            unless(not is_proved("murty-garg", "safe", "live"), "refuted"),
        ),
    ]
    because = (
        "two processes want to send to each other, and packets take longer than a send may: both have committed their "
        "sends before anything arrives, so both receives come after, a crown, however they are delayed (z3, with a "
        "model without any one of the hypotheses). Fig. 8, were it to send at once, breaks the order after "
        f"{length(run)} actions of 2 messages. As it is it is safe and live for every n (MG17)"
    )
    scope = (
        "any protocol, deterministic or not, of two processes or more, in which a send begins when the process wants "
        "it (z3, of the times of commits and arrivals alone); in the run two send; that every such protocol has this "
        f"run is argued; of Fig. 8: {BY_FAIRNESS_IN_WORDS}"
    )
    return Evidence(readings, scope, because, shown("Fig. 8 with sends at once", run))
