"""The claims of Murty & Garg [MG] on synchronous order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, permutations

from crownless.impl.murty_garg import MurtyGarg
from crownless.impl.registry import PROTOCOLS
from crownless.impl.workloads import Free
from crownless.model_check.reachable import reachable
from crownless.model_check.realizing import realize
from crownless.model_check.request import Check
from crownless.model_check.runs import Run
from crownless.spec.computation import Computation
from crownless.spec.crowns import crowns, smallest_crown
from crownless.spec.orders import decide
from crownless.spec.printable import some

from . import any_split, bundled, crowns_of_any_size, fig_8_variants
from . import cost_evidence as simulations
from . import monitored_machines as machines
from . import proof_evidence as put_to_z3
from . import smallest_delay as delays
from . import smallest_synchronous as search
from .claim import Evidence, claim, drawn
from .evidence import (
    BY_FAIRNESS_IN_WORDS,
    broken_by,
    explored,
    figure,
    holds,
    is_proved,
    length,
    ran,
    refinement_scope,
    searched,
    states,
    system_of,
    up_to,
    within,
)
from .fig_8_variants import AcknowledgesAtOnce, SendsAtOnce, commits, first_run_that_breaks
from .impossibility_cases import crossing, lockstep, placed_afterwards, ring_cut_short
from .impossible_protocols import (
    no_bounded_receives_is_proved,
    no_bounded_sends_is_proved,
    no_symmetric_protocol_is_proved,
)
from .monitored_machines import MonitoredBlocking, NeverAcknowledges, monitored
from .murty_garg_theorem_7 import four_lemmas, theorem_7_is_proved
from .polling import POLLED, polled, workloads
from .splits import FEW, Split, all_splits, answers_only, split_by_names, splits_told
from .synchronous_theorems import strong_crown_is_proved, theorem_1_is_proved, theorem_2_is_proved

ANY_NUMBER = "any number of processes and messages"
FOR_EVERY_N = (
    "any number of processes and messages, any reliable channel; of the stages of a message, of which each step "
    "of the machine is shown to be one"
)


def bound_of(quick: bool) -> tuple[int, int]:
    """Processes and messages of the computations that are enumerated."""
    return (3, 3) if quick else (3, 4)


def computations_up_to(n: int, m: int) -> str:
    return f"every complete computation of up to {n} processes and {m} messages, none to oneself"


CHANNELS = ("unordered", "fifo")


def free_bounds(quick: bool) -> list[tuple[int, int]]:
    return [(3, 4), (4, 3)] if quick else [(3, 5), (4, 4)]


SILENCE = "a process whose send is not acknowledged transmits nothing, and → goes through messages and acknowledgements"
LEFT_TO_THE_FULL_RUN = "the bundled counterexample is verified; that none is smaller is left to the full run"


# -- computations and crowns -------------------------------------------------------------------------------------------


@claim(
    "MG1",
    "[MG] §2.2, Theorem 1",
    "Synchronous computations are causally ordered, and these are FIFO.",
    "proved",
    reading="⊆, not strict: that each is outside the next one is seen by enumeration",
)
def mg1(quick: bool) -> Evidence:
    n, m = bound_of(quick)
    kept = dict.fromkeys(("synchronous", "causal", "fifo"), 0)
    looked_at, differ, outside = 0, 0, None
    for c in up_to(n, m):
        holds_of_it = {
            "synchronous": has_timestamps(c),
            "causal": not any(overtakes(c, a, b, causally=True) for a, b in permutations(range(len(c.messages)), 2)),
            "fifo": not any(overtakes(c, a, b, causally=False) for a, b in permutations(range(len(c.messages)), 2)),
        }
        looked_at += 1
        differ += any(holds_of_it[order] != decide(c, order).kept for order in kept)
        outside = c if list(holds_of_it.values()) != sorted(holds_of_it.values()) else outside
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
    shows = theorem_1_is_proved() and not differ and strict and outside is None
    return Evidence(shows, f"{scope}; {computations_up_to(n, m)}", because, drawn("outside the chain", outside))


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


@claim(
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
    return Evidence(holds, scope, because)


@claim("MG3", "[MG] §2.3", "Every strong crown is a crown; some crowns are not strong.", "proved")
def mg3(quick: bool) -> Evidence:
    n, m = bound_of(quick)
    weak_ones: list[Computation] = []
    strong_ones, no_crown = 0, None
    for c in up_to(n, m):
        weak = {crown.messages for crown in crowns(c)}
        strong = {crown.messages for crown in crowns(c, strong=True)}
        strong_ones += len(strong)
        no_crown = c if not strong <= weak else no_crown
        weak_ones += [c] * bool(weak - strong)
    fails = not weak_ones or not strong_ones or no_crown is not None
    least = min(weak_ones, key=lambda c: (len(c.messages), len(c.processes)), default=None)
    fig3a = figure("mg-fig3a")
    weak_only = smallest_crown(fig3a) is not None and smallest_crown(fig3a, strong=True) is None
    because = (
        "z3 shows it of crowns of any size, since ≺ lies within →, and refutes the converse, which Fig. 3(a) does too; "
        f"all {strong_ones:,} strong crowns are crowns; {len(weak_ones):,} computations have one that is not strong"
    )
    witnesses = drawn("strong, and no crown", no_crown)
    witnesses += drawn("smallest computation with a crown that is not strong", least) + drawn(
        "one that is causally ordered", fig3a
    )
    verdict = not fails and weak_only and strong_crown_is_proved()
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


@claim(
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
        not fails,
        f"{ANY_PROTOCOL}, of two processes; of more, where nothing comes from those that want nothing (assumption 1 of "
        f"§3); in the run two send; {ARGUED}",
        because,
        drawn("two crossing messages, sent first by both: what is alike and delivered", crossing()),
    )


@claim(
    "MG5",
    "[MG] §3, Theorem 3",
    "No protocol that is done with each receive in bounded time realises synchronous order.",
    {
        "by the letter": "proved",
        (
            "if receivers may ask unprompted, also those that have nothing for them, as assumption 1 may be read: "
            "polls would do, where a process commits nothing while it waits for the answer"
        ): "refuted",
        (
            "if the place of a send among what came meanwhile could be chosen afterwards, as §4.1 may be read: the "
            "receiver's clock would do"
        ): "refuted",
    },
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
    shows = (run is not None and no_bounded_receives_is_proved(), all(each.refutes for each in asking), afterwards)
    because = (
        "each of three processes in a ring sends to the next one and takes in what comes first; it puts its own "
        "message before that or after. Not all can put it after. One that puts it before cannot distinguish this "
        "from a run where its message is late and the other's next one overtakes it. z3 shows that not all four runs "
        "are synchronous, whatever is decided by what was seen, and has a model without any one of the hypotheses. "
        f"Fig. 8, if it acknowledged at once, breaks the order after {length(run)} actions. "
        "Where receivers ask unprompted, "
        "each message is committed on arrival, synchronous order is kept, and everything is delivered in every fair "
        f"run, in {sum(each.states for each in asking):,} states ({POLLED[quick]}). Where sends are placed afterwards, "
        f"all {len(placed):,} computations of {n} processes and {m} messages are synchronous"
    )
    figures = drawn("a process that sends first, and its message late: not synchronous", ring_cut_short(0))
    return Evidence(
        shows,
        f"{ANY_PROTOCOL}, of three processes or more, where {NOT_ASKED}; in the runs three send; {ARGUED}; {BEGINS}",
        because,
        figures + drawn("Fig. 8 with acknowledgements at once", run),
    )


@claim(
    "MG6",
    "[MG] §3, Theorem 3",
    "No protocol that is done with each send in bounded time realises synchronous order.",
    {
        "a send begins when the process wants it": "proved",
        (
            "the protocol chooses when a send begins, of which the definition of bounded sends says nothing: Fig. 8 "
            "commits each send in one step, with which it may begin"
        ): "refuted",
    },
    reading="printed as part 2 of the theorem, proved as part 3; realises, as for MG4: everything wanted is sent and "
    "delivered; the time of a send is bounded from when the process wants it, as in the printed proof; "
    f"{DECIDES_ONLINE}",
)
def mg6(quick: bool) -> Evidence:
    run = first_run_that_breaks("synchronous", SendsAtOnce, 2, 2)
    shows = (run is not None and no_bounded_sends_is_proved(), is_proved("murty-garg", "safe", "live"))
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
    return Evidence(shows, scope, because, drawn("Fig. 8 with sends at once", run))


# -- the conditions, and what implements them --------------------------------------------------------------------------


@claim(
    "MG7",
    "[MG] §4.2.1",
    "Under the priority rule every message is committed as one from a bigger to a smaller process.",
    "proved",
    reading="of Fig. 8, which implements the rule, and of the packets with which the two processes commit a message; "
    "what the application asked for may go either way",
)
def mg7(quick: bool) -> Evidence:
    bounds = [(3, 3)] if quick else [(3, 4), (4, 3)]
    counts = [commits(n, m) for n, m in bounds]
    asked, sent = (sum(getattr(each, kind) for each in counts) for kind in ("asked", "sent"))
    fails = any(each.wrong for each in counts) or not asked or not sent
    fails = fails or not put_to_z3.commits_go_downhill() or not is_proved("murty-garg", "safe")
    summary = ", ".join(f"{n} processes and {m} messages" for n, m in bounds)
    because = (
        f"z3, of the stages that messages go through, {refinement_scope('murty-garg')}: in each event what a process "
        "commits is just what it transmits to a smaller process, or receives from a bigger one; not so without "
        f"priorities. In every step of every state, up to {summary}, all {asked + sent:,} commits, {asked:,} of them "
        "of messages that the application sends to a bigger process, are made so; and no such packet goes without"
    )
    return Evidence(not fails, FOR_EVERY_N, because)


@claim("MG8", "[MG] §4.3.1, Theorem 4", "The send protocol implies the send condition.", "proved")
def mg8(quick: bool) -> Evidence:
    watch = machines.monitored(machines.MonitoredMurtyGarg, 3, 3)
    fails = not any_split.theorem_4_is_proved() or not holds(watch, "SC")
    because = f"z3 shows it of the formulas; the condition holds at every receive of Fig. 8, in {states(watch)}"
    return Evidence(not fails, f"{ANY_NUMBER}, each message acknowledged; Fig. 8: (3, 3)", because)


@claim(
    "MG9",
    "[MG] §4.3.2, Theorem 5",
    "Given the send protocol, the receive protocol implies the receive condition.",
    {
        "RP by its words and its formula, as Fig. 8 has it, where → goes through requests too": "refuted",
        "by the formula of RP alone, s1 ≺ r2 ⇒ s1.ack ≺ r2.ack, and not by its words": "refuted",
        f"RP by its words, as the printed proof needs it: {SILENCE}": "proved",
    },
    reading="RP is its words and its formula together. By its words a process acknowledges only while it is active, "
    "by the formula alone the claim is false too. → goes through control messages (§4.2.3), and §6 counts requests "
    f"among them. True if {SILENCE}",
)
def mg9(quick: bool) -> Evidence:
    by_formula = machines.monitored(machines.MonitoredByTheLetter, 4, 4)
    request = breaks_rc_by_asking(quick)
    without = machines.monitored(machines.MonitoredAcknowledgements, 3 if quick else 4, 3)
    formula = broken_by(by_formula, "RC")
    sizes = [] if quick else BELOW_FOUR_AND_FOUR
    smaller = [machines.monitored(machines.MonitoredByTheLetter, n, m) for n, m in sizes]
    as_small = formula is not None and all(holds(each, "RC") for each in smaller)
    repaired = any_split.theorem_5_is_proved() and holds(without, "SC", "RC", "RC+")
    shows = (request is not None, as_small, repaired)
    because = (
        f"Fig. 8 sends requests while passive ({length(request)} actions). The formula of RP alone also lets a passive "
        "process acknowledge what it received before its send, which its words exclude "
        f"({length(formula)} actions of 4 processes and 4 messages). z3 shows the condition where {SILENCE}, of "
        f"any number of either; so does Fig. 8 without its requests, in {states(without)}"
    )
    figures = drawn("Fig. 8: s(m1) ≺ r(m3), and r(m3) → r(m1)", request, "counterexample-mg9")
    title = "SP and the formula of RP hold: s(m3) ≺ r(m2), and r(m2) → r(m3)"
    figures += drawn(title, formula, "counterexample-mg9-formula")
    smallest = (
        LEFT_TO_THE_FULL_RUN
        if quick
        else (
            f"by requests none has fewer packets (of five, among up to {search.FIVE_AMONG} processes), or as many "
            "among fewer processes; by the formula none has fewer messages, or as many among fewer processes"
        )
    )
    return Evidence(shows, f"{ANY_NUMBER}; {smallest}", because, figures)


#: Processes and messages of every smaller system: with fewer messages than four, or not among four processes.
BELOW_FOUR_AND_FOUR = [(2, 1), (4, 2), (6, 3), (3, 4)]


def breaks_rc_by_asking(quick: bool) -> Run | None:
    """A shortest run of Fig. 8 that breaks RC, of the smallest program that z3 finds; if quick, of the bundled one."""
    if quick:
        program = bundled.program_of(bundled.run("counterexample-mg9"))
    else:
        packets = search.against_theorem_5_by_requests()
        if packets is None:
            return None
        program = search.program_of_fig_8(packets)
    return broken_by(machines.monitored(machines.MonitoredMurtyGarg, 4, 5, program), "RC")


@claim(
    "MG10",
    "[MG] §4.2 and §5.1, Lemma 1",
    "If e ↦ f, and not by one message, then e ≺ f, or e ≺ s1 and r1 → f for some message, or e ⇝ g → f.",
    {
        "Lemma 1 by the letter, of ↦ as printed": "proved",
        "Lemma 1 of ↦ as §5 needs it, any chain of → that leaves e's process, if it does, by a message of ℰ": "refuted",
        "Lemma 1 of that ↦, with 'before or the same' for ≺ s1 and for r1 →": "checked",
        "§4.2: a computation is synchronous if and only if it has no crown by →_ℰ as printed": "refuted",
        "§4.2, 'easy to see': who has a crown restricted to ℰ, by →_ℰ as printed, has one by ↦ as printed": "proved",
        (
            "§4.2, 'easy to see', where a crown restricted to ℰ is one of the computation of ℰ alone, as the words "
            "beside →_ℰ have it ('the causality chain is formed by the events in ℰ')"
        ): "refuted",
    },
    reading="by the letter it only repeats the definition of ↦ in §4.2. What is false is there: → leaves out the event "
    "itself, so that neither →_ℰ nor ↦ as printed has the chain s1 ≺ s2 ⇝ r2, and two messages that overtake each "
    "other have no crown by either",
)
def mg10(quick: bool) -> Evidence:
    splits = all_splits(quick)
    by_letter = any_split.lemma_1(as_printed=True) == "proved" and not splits.lemma_1
    of_chains = any_split.lemma_1(as_printed=False) == "refuted" and splits.lemma_1_of_chains > 0
    inclusion = any_split.maps_to_holds_what_is_printed() and not splits.outside
    smallest = "none" if splits.crownless is None else f"{len(splits.crownless.messages)} messages"
    no_crown = splits.crownless is not None
    shows = (by_letter, of_chains, splits.chains_differ == 0, no_crown, inclusion, no_crown)
    because = (
        "z3 shows the lemma by the letter without any knowledge of → and ≺: the definition of ↦ has the same cases. "
        f"The application's part of a computation of {smallest} is not synchronous, though it has no crown by →_ℰ or ↦ "
        "as printed. With 'before or the same' the decomposition is ↦ exactly, pair by pair, in "
        f"computations of up to {FEW} messages (of {splits.looked_at:,}); as printed it misses "
        f"{splits.lemma_1_of_chains:,} pairs there"
    )
    figures = drawn(
        "not synchronous, and without a crown by →_ℰ or ↦ as §4.2 prints them", splits.crownless, "counterexample-mg10"
    )
    scope = f"the lemma: {ANY_NUMBER}; the other readings: {splits_told(quick)}"
    return Evidence(shows, scope, because, figures)


@claim(
    "MG11",
    "[MG] §5.1, Lemma 2",
    "Under the send condition, s1 ↦ r2 implies r1 → r2 or s1 ≺ r2.",
    {"↦ as printed": "proved", "↦ as §5 needs it": "proved"},
    not_said={"of one message, as s1 ↦ r1": "refuted"},
    reading="↦ as printed, or as §5 needs it (MG10), which is wider",
)
def mg11(quick: bool) -> Evidence:
    splits = all_splits(quick)
    proved = any_split.lemma_2() == "proved" and splits.lemma_2 == 0 and splits.pairs > 0
    inclusion = any_split.maps_to_holds_what_is_printed()
    shows = (proved and inclusion, proved, any_split.lemma_2(distinct=False) == "refuted")
    because = f"z3 shows it, and has a model where the messages are one; no counterexample in {splits.pairs:,} pairs"
    return Evidence(shows, f"{ANY_NUMBER}; {splits_told(quick)}", because)


@claim(
    "MG12",
    "[MG] §5.1, Lemma 3",
    "Under the send and receive conditions, who has no strong crown of size 2 has no crown of size 2.",
    {"↦ as printed": "proved", "↦ as §5 needs it": "proved"},
    reading="crowns by ↦ as printed, or as §5 needs it (MG10), which is wider; of two distinct messages (MG2)",
)
def mg12(quick: bool) -> Evidence:
    splits = all_splits(quick)
    proved = any_split.lemma_3_is_proved() and splits.lemma_3 == 0 and splits.with_conditions > 0
    inclusion = any_split.maps_to_holds_what_is_printed()
    shows = (proved and inclusion, proved)
    because = (
        "z3 shows that every such crown is strong itself; no counterexample in "
        f"{splits.with_conditions:,} computations with both conditions and a crown"
    )
    return Evidence(shows, f"{ANY_NUMBER}; {splits_told(quick)}", because)


STRONG_RC = "what follows from r2 at another process follows from r1 too, wherever s1 ≺ r2"
GAP = (
    "the printed step takes s0 ≺ r1 and r1 → r2 for s0 ↦ r2, also where the chain from r1 starts with a control message"
)


@claim(
    "MG13",
    "[MG] §5.1, Lemma 4",
    "Under the send and receive conditions, a crown of size k implies a strong one of size k or less.",
    {
        "crowns by ↦ as printed": "refuted",
        "crowns by ↦ as §5 needs it (MG10)": "refuted",
        f"either, with more than RC: {STRONG_RC}": "proved",
    },
    reading=f"AC, as printed, is RC; crowns of two or more distinct messages (MG2). False as printed: {GAP}",
)
def mg13(quick: bool) -> Evidence:
    splits, counterexample = all_splits(quick), counterexample_to("mg13", search.against_lemma_4, quick)
    if counterexample is None:
        return Evidence(False, splits_told(quick), "there is none of the size that is recorded, or there is a smaller")
    printed, chains = map(counterexample.crown_sizes, (counterexample.maps_to_as_printed, counterexample.maps_to))
    conditions = counterexample.send_condition() and counterexample.receive_condition() and counterexample.ranked()
    refuted = conditions and not counterexample.crown_sizes(counterexample.precedes) and not splits.lemma_4
    holds = crowns_of_any_size.lemma_4_is_proved() and any_split.maps_to_holds_what_is_printed()
    holds &= not counterexample.strong_receive_condition()
    shows = (refuted and bool(printed), refuted and bool(chains), holds)
    because = (
        f"a computation of {size_of(counterexample)} has SC, RC and PR, which the lemma does not even ask for, crowns "
        f"of sizes {printed} by ↦ as printed, and no strong one; by enumeration {splits.lemma_4 or 'none'} among "
        f"{splits.with_conditions:,} others. With the stronger condition z3 shows it of crowns of any size, by "
        "induction on the size: a crown of two is strong, and from a larger one that is not a message can be left out. "
        "The computation of MG14, whose control message is an acknowledgement, is another one of that size"
    )
    scope = (
        f"{ANY_NUMBER} (z3, by induction on the size of the crown); {splits_told(quick)}; by ↦ as printed, with PR or "
        f"without, {none_smaller(quick)}"
    )
    figures = drawn(
        "SC, RC and PR hold, c1 is a control message; a crown m1, m2, m3 by ↦, and no strong crown",
        counterexample.whole,
        "counterexample-mg13",
    )
    return Evidence(shows, scope, because, figures)


def counterexample_to(name: str, find: Callable[[], Computation | None], quick: bool) -> Split | None:
    """The smallest, as z3 finds it; if quick, the bundled one."""
    smallest = bundled.computation(f"counterexample-{name}") if quick else find()
    return None if smallest is None else split_by_names(smallest)


def size_of(split: Split) -> str:
    control = len(split.whole.messages) - len(split.own)
    summary = f"{some(control, 'control message')}"
    return f"{len(split.whole.processes)} processes, {len(split.own)} messages and {summary}"


def none_smaller(quick: bool) -> str:
    """How far z3 has looked for a smaller one, in words."""
    return (
        LEFT_TO_THE_FULL_RUN
        if quick
        else ("z3: none has fewer messages, control messages included, or as many among fewer processes")
    )


@claim(
    "MG14",
    "[MG] §5.1, Theorem 6",
    "Whatever satisfies the send condition, the receive condition and the priority rule is synchronous.",
    {
        "as printed, also where all control messages are acknowledgements": "refuted",
        f"with more than RC: {STRONG_RC}; which Fig. 8 has, as {SILENCE}": "proved",
    },
    reading="AC, as printed, is RC. Control messages as §3 and §4.3 have them are acknowledgements",
)
def mg14(quick: bool) -> Evidence:
    splits, counterexample = all_splits(quick), counterexample_to("mg14", search.against_theorem_6, quick)
    if counterexample is None:
        return Evidence(False, splits_told(quick), "there is none of the size that is recorded, or there is a smaller")
    watch = machines.monitored(machines.MonitoredAcknowledgements, 3 if quick else 4, 3)
    refuted = (
        counterexample.send_condition()
        and counterexample.receive_condition()
        and counterexample.ranked()
        and answers_only(counterexample)
        and not decide(counterexample.application, "synchronous").kept
        and not splits.theorem_6
    )
    of_fig_8 = any_split.theorem_5_is_proved() and holds(watch, "SC", "RC+", "PR")
    repaired = crowns_of_any_size.theorem_6_is_proved() and of_fig_8 and not splits.repaired and splits.ranked > 0
    repaired &= not counterexample.strong_receive_condition()
    shows = (refuted, repaired)
    because = (
        f"a computation of {size_of(counterexample)}, an acknowledgement, has all three and is not synchronous; it has "
        f"no strong crown. By enumeration {splits.theorem_6 or 'none'} smaller. With "
        "the stronger condition z3 shows that there is no crown of any size: by Lemma 4 (MG13) there would be a strong "
        "one, along which processes would grow until it comes round; so by Theorem 2 it is synchronous. None of "
        f"{splits.ranked:,} computations breaks it; Fig. 8 has it in all {states(watch)}"
    )
    scope = (
        f"{ANY_NUMBER} (z3, by induction on the size of the crown, and along it); that finitely many messages without "
        f"a circle can be sorted is argued (MG2); {splits_told(quick)}; {none_smaller(quick)}"
    )
    figures = drawn("SC, RC and PR hold, c1 acknowledges m3", counterexample.whole, "counterexample-mg14")
    figures += drawn(
        "what the application sees of it: a crown", counterexample.application, "counterexample-mg14-application"
    )
    return Evidence(shows, scope, because, figures)


@claim(
    "MG15",
    "[MG] §5.1, Theorem 7",
    "Whatever satisfies the send protocol and the receive protocol is synchronous.",
    "proved",
    reading="by their formulas alone, in any order and without priorities, so also by their words; every message is "
    "received and acknowledged, as §4.3 has it. The printed proof rests on Lemma 4, which is false as printed (MG13)",
)
def mg15(quick: bool) -> Evidence:
    bounds = [(2, 4), (3, 3)] if quick else [(3, 4), (4, 3), (4, 4)]
    looked_at = [c for n, m in bounds for c in machines.quiet_computations(machines.ByTheLetter, n, m)]
    ranked_bound = (4, 3) if quick else (4, 5)
    ranked = machines.quiet_computations(machines.ByTheLetterWithRanks, *ranked_bound)
    crown = next((c for c in [*looked_at, *ranked] if not decide(c, "synchronous").kept), None)
    fails = crown is not None or len(looked_at) < 200 or len(ranked) < 200 or not theorem_7_is_proved()
    lemmas = "; ".join(lemma.name for lemma in four_lemmas())
    because = (
        f"z3, with b for the receive of an acknowledgement: {lemmas}. So links between messages along their lines make "
        "no cycle, except through a receive that a link comes into and the next goes out of; there the message can be "
        "left out, by induction on the size of the cycle. Without cycles messages can be sorted, and their ranks are "
        f"the times of SYNC. None of {len(looked_at):,} computations without priorities, and {len(ranked):,} with "
        "them, of systems that have the two formulas and nothing else, has a crown"
    )
    summary = ", ".join(map(str, [*bounds, ranked_bound]))
    scope = (
        f"{ANY_NUMBER}, each message acknowledged, none to oneself (z3, by induction on the size of the cycle, and "
        "along it); that finitely many messages without a cycle can be sorted is argued; every run of such systems, "
        f"(processes, messages) up to {summary}, the last with priorities"
    )
    return Evidence(not fails, scope, because, drawn("a crown", crown))


NO_CROWN_IN_WORDS = "z3 shows that each line is in the order of the points; that there is then no crown is in words"


# -- the algorithm -----------------------------------------------------------------------------------------------------


@claim(
    "MG16",
    "[MG] §5.2, Theorem 8",
    "Every process that wants to send a message is able to in the end.",
    {
        "by the words of RP, as Fig. 8 has them": "proved",
        "by the formulas of SP, RP and PR alone: nothing need ever be acknowledged": "refuted",
    },
    reading="of Fig. 8, which implements SP, RP and PR: by RP's words a process acknowledges what it received when it "
    "is active, which their formulas alone do not ask for. Applications take what comes",
)
def mg16(quick: bool) -> Evidence:
    results = [searched("murty-garg", n, m, channel=channel) for n, m in free_bounds(quick) for channel in CHANNELS]
    fails = not all(holds(result, "never-blocks", "delivers-all") for result in results)
    fails = fails or not is_proved("murty-garg", "live") or not all_states_have_the_smallest_active(3, 3)
    because = (
        "z3: a passive process waits for what is in flight, or for a smaller passive one, which on going on "
        f"acknowledges all that it owes; shown of the stages of a message, {refinement_scope('murty-garg')}. Every "
        f"send happens and every message is delivered, in {states(*results)}; the smallest process, on which the "
        "induction rests, is active in all"
    )
    silent = broken_by(explored(NeverAcknowledges(2), Free(2, 2), orders=("asynchronous",)), "never-blocks")
    shows = (not fails, silent is not None)
    figures = drawn("SP, RP and PR hold by their formulas, nothing is acknowledged, and P2 may not send again", silent)
    return Evidence(shows, f"{FOR_EVERY_N}; {BY_FAIRNESS_IN_WORDS}", because, figures)


def all_states_have_the_smallest_active(n: int, m: int) -> bool:
    return all(now.locals[0].active for now in reachable(system_of(MurtyGarg(n), Free(n, m))))


@claim(
    "MG17",
    "[MG] §4.3, Fig. 8",
    "The algorithm of Fig. 8 is safe and live.",
    {"Fig. 8 as drawn": "proved", "§4.1: likewise if a send is committed at its acknowledgement": "refuted"},
    not_said={
        (
            "likewise if a send is where the application wants it: not even FIFO, and over FIFO channels not even "
            "causal"
        ): "refuted",
        "a process's sends keep the order in which it wanted them": "refuted",
        "its sends to one receiver do, over FIFO channels": "checked",
    },
    reading="the third box, printed for an acknowledgement <ack, i, j> at i, is for one from j. A message is sent and "
    "received where Fig. 8 commits it; the text is silent on the order in which a process wanted its sends",
)
def mg17(quick: bool) -> Evidence:
    results = [searched("murty-garg", n, m, channel=channel) for n, m in free_bounds(quick) for channel in CHANNELS]
    good = all(holds(result) for result in results) and is_proved("murty-garg", "safe", "live")
    at_ack = first_run_that_breaks("synchronous", fig_8_variants.CommitsAtAcknowledgement, 3, 3)
    wanted = [
        first_run_that_breaks("fifo", fig_8_variants.SendsWhenWanted, 2, 2),
        first_run_that_breaks("causal", fig_8_variants.SendsWhenWanted, 3, 3, "fifo"),
    ]
    any_order = [first_run_that_breaks("in-order", MurtyGarg, 3, 2, channel) for channel in CHANNELS]
    to_one = first_run_that_breaks("in-order-to-one", MurtyGarg, 2, 2)
    bound = (3, 3 if quick else 4)
    fifo = first_run_that_breaks("in-order-to-one", MurtyGarg, *bound, "fifo")
    shows = (good, at_ack is not None, None not in wanted, None not in any_order and to_one is not None, fifo is None)
    because = (
        "z3 shows it safe and live for every n, of the stages of a message; it keeps synchronous order and delivers "
        f"everything in {states(*results)}. Commits at acknowledgements break the order after {length(at_ack)} actions "
        f"of 3 messages. With sends where they are wanted FIFO order is broken after {length(wanted[0])} actions of 2 "
        f"processes and 2 messages, and over FIFO channels causal order after {length(wanted[1])} of 3 and 3. Intents "
        f"are overtaken after {length(any_order[0])} actions, over FIFO channels after {length(any_order[1])}, to one "
        f"receiver after {length(to_one)}, to one receiver over FIFO channels never ({bound[0]} processes, "
        f"{bound[1]} messages)"
    )
    figures = drawn("P2 wants m1 before m2, and sends m2 first", any_order[0], "counterexample-mg17")
    figures += drawn(
        "two sends to one receiver overtake each other; a send happens when the bigger process's copy is back",
        to_one,
        "counterexample-mg17-one-receiver",
    )
    figures += drawn(
        "not synchronous, if sends are committed at the acknowledgement", at_ack, "counterexample-mg17-commit"
    )
    figures += drawn(
        "over FIFO channels, not causally ordered, if sends are where they are wanted: P1 wants m1 before m2",
        wanted[1],
        "counterexample-mg17-wanted",
    )
    scope = f"{FOR_EVERY_N}; {NO_CROWN_IN_WORDS}; {BY_FAIRNESS_IN_WORDS}; {within(*results)}"
    return Evidence(shows, scope, because, figures)


@claim(
    "MG18",
    "[MG] §1",
    "The algorithm that blocks its sender until the acknowledgement can deadlock; this one does not.",
    "proved",
    reading="the blocking algorithm accepts no message while it waits (`rendezvous`). That it can deadlock is shown by "
    "a run, that Fig. 8 does not is proved",
)
def mg18(quick: bool) -> Evidence:
    blocking, programmed = searched("rendezvous", 2, 2), ran("rendezvous", "mg-fig4a")
    ours = [searched("murty-garg", n, m) for n, m in free_bounds(quick)]
    ours_programmed = ran("murty-garg", "mg-fig4a")
    deadlock = broken_by(blocking, "delivers-all")
    fails = (
        deadlock is None
        or programmed.completes != "never"
        or ours_programmed.completes != "always"
        or not all(holds(result, "never-blocks", "delivers-all") for result in ours)
        or not is_proved("murty-garg", "live")
    )
    because = (
        f"blocking: a deadlock after {length(deadlock)} actions of 2 processes, so of any larger number, and no run of "
        "Fig. 4(a)'s program ends. Fig. 8: z3 shows it live for every n, of the stages of a message, "
        f"{refinement_scope('murty-garg')}; all runs of that program end, and nothing is left undelivered in "
        f"{states(*ours)}"
    )
    of_ours = f"{BY_FAIRNESS_IN_WORDS}; besides, {within(*ours, ours_programmed)}"
    scope = f"Fig. 8: {FOR_EVERY_N}; {of_ours}; blocking: {within(blocking)}"
    return Evidence(not fails, scope, because, drawn("the deadlock of the blocking algorithm", deadlock))


# -- costs -------------------------------------------------------------------------------------------------------------


@claim(
    "MG19",
    "[MG] §6",
    "A message costs 1.5 control messages.",
    "measured",
    reading="on the average, where as many go to bigger as to smaller processes",
)
def mg19(quick: bool) -> Evidence:
    n, m = (3, 3) if quick else (3, 4)
    costs = fig_8_variants.costs(n, m)
    exact = bool(costs) and all(cost.control == 2 * cost.up + cost.down for cost in costs)
    each = sorted({cost.control / m for cost in costs})
    even = [cost.control / m for cost in fig_8_variants.costs(n, 2) if cost.up == cost.down for m in [2]]
    fails = not exact or even != [1.5] or (each[0], each[-1]) != (1.0, 2.0)
    traffic = {
        name: simulations.simulated(
            "murty-garg", 4, 0.02, 6 if quick else 20, messages=300 if quick else 600, workload=name
        )
        for name in ("uniform", "downward", "upward")
    }
    uniform = traffic["uniform"]["control"]
    fails |= abs(uniform.mean - 1.5) > uniform.error
    fails |= any(
        abs(traffic[name]["control"].mean - exactly) > 1e-9 for name, exactly in (("downward", 1), ("upward", 2))
    )
    because = (
        f"1.5 where as many go up as down; {each[0]:g} if all go to smaller processes (an acknowledgement), "
        f"{each[-1]:g} if all go to bigger ones (a request too): always 2 for each up and 1 for each down. Under "
        f"uniform traffic {uniform} (95% confidence), or {traffic['uniform']['bytes']} bytes where a message has 100 "
        "and a header 20, since a request carries the message"
    )
    scope = (
        f"every run to its end, {n} processes, {m} messages, unordered channel; 4 processes: "
        f"{simulations.describe(list(traffic.values()))}"
    )
    return Evidence(not fails, scope, because)


@claim(
    "MG20",
    "[MG] §6",
    "Packets that take at most t, the priority rule delays a message by less than 2t, the receive condition an "
    "acknowledgement by at most nt.",
    {
        "the receive condition withholds an acknowledgement for at most nt": "refuted",
        "for at most 2(n − 2) t, and the priority rule delays by at most 2t": "proved",
    },
    reading="n processes; the priority rule alone, without the wait until the bigger process is active; the receive "
    "condition from the receive to its acknowledgement, while other messages are in flight. What is true: at most 2t, "
    "and at most 2(n − 2) t, which is more than nt from five processes on",
)
def mg20(quick: bool) -> Evidence:
    t = delays.T
    slowest = delays.slowest(5, 4)
    less = [delays.slowest(5, 3), *(delays.slowest(n, m) for n in (2, 3, 4) for m in range(1, 5))]
    longest = [delays.longest(n, m) for n, m in ([(3, 3)] if quick else [(3, 4), (4, 3)])]
    tight = all(each.withheld == delays.bound(each.n) for each in longest)
    asked = fig_8_variants.timed("P1: send m to P2\nP2: receive", {"m": 0}, {}, t)
    priority = asked.when("P1", "receive message", "m") - asked.when("P1", "send", "m")
    if slowest is None:
        return Evidence(False, ANY_NUMBER, "none of five processes and four messages is withheld for more than nt")
    exceeds = slowest.withheld == slowest.by_z3 > 5 * t and less == [None] * len(less)
    repaired = delays.bound_is_proved() and tight and priority == 2 * t
    random = simulations.simulated("murty-garg", 5, 0.1, 6 if quick else 20, latency="constant")
    repaired &= random.most("withheld_most") <= 2 * (5 - 2)
    shows = (exceeds, repaired)
    because = (
        f"with n = 5 an acknowledgement is withheld for {slowest.withheld / t:g} t, more than 5 t: each process of the "
        "chain may have sent just before the next message came, so that each adds a message and an acknowledgement; z3 "
        "shows 2(n − 2) t for every n by that induction, and finds the run: of four messages, none of three or of "
        "fewer processes. The bound is reached, and not exceeded, in all runs of Fig. 8 in "
        f"{sum(each.states for each in longest):,} states of the system and of time. The priority rule adds a request "
        f"and the way back, {priority / t:g} t if both take t. In random runs of five processes "
        f"({simulations.describe([random])}, constant latencies, load 0.1) it is withheld for {random['withheld']} t "
        f"on the average, at most {random.most('withheld_most'):.2f} t"
    )
    summary = ", ".join(f"({each.n}, {each.messages})" for each in longest)
    scope = (
        f"{ANY_NUMBER}, where an acknowledgement waits for the open send alone; Fig. 8's own code: every run up to "
        f"(processes, messages) {summary}"
    )
    title = "P4 may acknowledge m1 only when the chain m2, m3, m4 is acknowledged"
    return Evidence(shows, scope, because, drawn(title, slowest.run.run, "counterexample-mg20"))


@claim(
    "MG21",
    "[MG] §6",
    "The algorithm is more concurrent than the blocking one, whose every run satisfies both conditions.",
    "measured",
    reading="the send and receive conditions, with the send where its packet goes out; the priority rule it does not "
    "satisfy. More concurrent: in its runs, not in the computations that can come about; measured by the delay added "
    "where the blocking one does not get stuck. That both conditions hold is checked",
)
def mg21(quick: bool) -> Evidence:
    m = 3 if quick else 4
    blocking = monitored(MonitoredBlocking, 3, m)
    ours = searched("murty-garg", 3, m)
    passive = {"a-send-waits-for-an-acknowledgement", "an-acknowledgement-is-withheld"}
    goes_on = passive <= ours.exploration.reached
    generated = [realize(Check(name, 3, 3)).equals for name in ("rendezvous", "murty-garg")]
    blocks = broken_by(searched("rendezvous", 3, m), "never-blocks") is not None
    fails = not holds(blocking, "SC", "RC") or not goes_on or not blocks or "PR" not in blocking.violations
    because = (
        f"both conditions hold at every receive in {states(blocking)} of the blocking algorithm; where it "
        "waits, Fig. 8 takes in messages and requests, and it finishes where the other deadlocks. Both can generate "
        f"every {generated[0]} computation, so in these there is no difference"
    )
    fails |= generated != ["synchronous", "synchronous"]
    runs, messages = (6, 300) if quick else (20, 600)
    stuck = [
        simulations.simulated(name, 6, 0.05, runs, messages=messages).stuck for name in ("rendezvous", "murty-garg")
    ]
    served, up = (
        [
            simulations.simulated(name, 6, 0.2, runs, messages=messages, workload=workload)
            for name in ("murty-garg", "rendezvous")
        ]
        for workload in ("client-server", "upward")
    )
    fails |= stuck != [runs, 0] or not all(each.kept for each in (*served, *up))
    fails |= not simulations.surely_below(simulations.more(served[0], served[1], "added"), 0)
    fails |= not simulations.surely_above(simulations.more(up[0], up[1], "added"), 0)
    because += (
        f". Six processes, uniform traffic: the blocking algorithm got stuck in {stuck[0]} of {runs} runs, Fig. 8 in "
        f"{stuck[1]}. Clients of one server, where nothing gets stuck: a message is delayed by {served[0]['added']} "
        f"mean latencies against {served[1]['added']}, and {served[0]['throughput']} messages are delivered at a "
        f"process in a mean latency against {served[1]['throughput']}. But the biggest process sends one after the "
        f"other whatever it sends or receives: where all send to bigger processes, {up[0]['added']} against "
        f"{up[1]['added']}"
    )
    times = simulations.describe([*served, *up])
    scope = f"{within(ours)}; computations: 3 processes, 3 messages; times: {times}, load 0.2"
    return Evidence(not fails, scope, because)
