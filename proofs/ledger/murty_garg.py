"""The claims of Murty & Garg [MG] on synchronous order.

Their computations have control messages beside the application's; `synchronous_evidence` holds what is made for that.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise, permutations, product
from typing import NamedTuple

from crownless.impl.murty_garg import MurtyGarg
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.asking import Check
from crownless.model_check.realizing import realize
from crownless.model_check.runs import Run
from crownless.spec.computation import Computation
from crownless.spec.crowns import crowns, smallest_crown
from crownless.spec.orders import decide

from . import bundled
from . import cost_evidence as simulations
from . import smallest_delay as delays
from . import smallest_synchronous as search
from . import synchronous_evidence as found
from .claims import Evidence, Shown, Text, repaired_if, unless
from .evidence import (
    BY_FAIRNESS_IN_WORDS,
    broken_by,
    figure,
    held_against,
    holds,
    is_proved,
    ran,
    searched,
    states,
    up_to,
    within,
)
from .synchronous_evidence import Split

FOR_EVERY_N = (
    "any number of processes and messages, any reliable channel; of the stages of a message, of which each step "
    "of the machine is shown to be one"
)
TEXT = Text()

ANY_NUMBER = "any number of processes and messages"


def bound_of(quick: bool) -> tuple[int, int]:
    """Processes and messages of the computations that are enumerated."""
    return (3, 3) if quick else (3, 4)


def computations_up_to(n: int, m: int) -> str:
    return f"every complete computation of up to {n} processes and {m} messages, none to oneself"


def shown(title: str, what: Run | Computation | None, bundled: str | None = None) -> tuple[Shown, ...]:
    return () if what is None else (Shown(title, what, bundled),)


# -- computations and crowns -------------------------------------------------------------------------------------------


@TEXT.claim(
    "MG1", "[MG] §2.2, Theorem 1", "Synchronous computations are causally ordered, and these are FIFO.", "checked"
)
def mg1(quick: bool) -> Evidence:
    n, m = bound_of(quick)
    kept = dict.fromkeys(("synchronous", "causal", "fifo"), 0)
    for c in up_to(n, m):
        holds_of_it = {
            "synchronous": has_timestamps(c),
            "causal": not any(overtakes(c, a, b, causally=True) for a, b in permutations(range(len(c.messages)), 2)),
            "fifo": not any(overtakes(c, a, b, causally=False) for a, b in permutations(range(len(c.messages)), 2)),
        }
        if any(holds_of_it[order] != decide(c, order).kept for order in kept):
            return Evidence("refuted", computations_up_to(n, m), "definition and graph disagree", shown("on this", c))
        if list(holds_of_it.values()) != sorted(holds_of_it.values()):
            return Evidence("refuted", computations_up_to(n, m), "one is outside", shown("outside the chain", c))
        kept = {order: kept[order] + holds_of_it[order] for order in kept}
    because = " ⊆ ".join(f"{count:,} {order}" for order, count in kept.items())
    return Evidence("checked", computations_up_to(n, m), f"{because}, each by its definition here and by graph")


def overtakes(c: Computation, first: int, second: int, *, causally: bool) -> bool:
    """Is the second received before the first at one process, though sent after it (FIFO: at one process too)?"""
    s1, s2 = c.send_event[first], c.send_event[second]
    received = [c.receive_events[m][c.messages[m].receiver] for m in (first, second)]
    at_one_process = c.messages[first].receiver == c.messages[second].receiver
    sent_later = c.happened_before(s1, s2) and (causally or c.process_of[s1] == c.process_of[s2])
    return sent_later and at_one_process and received[1] < received[0]


def has_timestamps(c: Computation) -> bool:
    """SYNC: are there numbers for the messages that grow along every line? Distinct ones, then, in some order."""
    lines = [[event.message for event in line if event.message is not None] for line in c.lines]
    in_line = {pair for line in lines for pair in pairwise(line)}
    return any(all(times[a] < times[b] for a, b in in_line) for times in permutations(range(len(c.messages))))


@TEXT.claim(
    "MG2",
    "[MG] §2.3, Theorem 2",
    "A computation is synchronous if and only if it has no crown.",
    "checked",
    reading="a crown has two or more messages, all distinct, as those drawn have; by the letter of the definition one "
    "message alone is a crown (its send leads to its receive), and no computation with a message were without one",
)
def mg2(quick: bool) -> Evidence:
    n, m = bound_of(quick)
    synchronous, looked_at = 0, 0
    for c in up_to(n, m):
        looked_at += 1
        synchronous += has_timestamps(c)
        if has_timestamps(c) != (next(crowns(c), None) is None):
            return Evidence("refuted", computations_up_to(n, m), "found one", shown("timestamps and crowns differ", c))
    by_the_letter = sum(
        any(c.happened_before(s, r) for s, rs in zip(c.send_event, c.receive_events, strict=True) for r in rs.values())
        for c in up_to(n, m)
        if has_timestamps(c)
    )
    because = (
        f"of {looked_at:,} computations the {synchronous:,} with timestamps that grow along every line are those "
        f"without crowns; with crowns of one message {by_the_letter:,} of these would have one"
    )
    return Evidence("checked", computations_up_to(n, m), because)


@TEXT.claim("MG3", "[MG] §2.3", "Every strong crown is a crown; some crowns are not strong.", "checked")
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
        f"all {strong_ones:,} strong crowns are crowns; {len(weak_ones):,} computations have one that is not strong"
    )
    witnesses = shown("smallest computation with a crown that is not strong", least) + shown(
        "one that is causally ordered", fig3a
    )
    return Evidence(unless(fails or not drawn, "checked"), computations_up_to(n, m), because, witnesses)


# -- impossibilities ---------------------------------------------------------------------------------------------------

DECIDES_ONLINE = (
    "decisions rest on what happened before, through control messages too, and are made as things happen: a commit "
    "does not choose its place among earlier events afterwards"
)


@TEXT.claim(
    "MG4",
    "[MG] §3, Theorem 3, part 1",
    "No protocol that treats the processes alike realises synchronous order.",
    "checked",
    reading="realises: keeps the order, and delivers what is sent; alike: each step has its mirror image, and nothing "
    "is left to chance, or chance decides alike",
)
def mg4(quick: bool) -> Evidence:
    cases = {first: found.crossing(first) for first in product(("send", "receive"), repeat=2)}
    alike = [c for (p, q), c in cases.items() if p == q and c is not None]
    synchronous = [c for c in cases.values() if c is not None and decide(c, "synchronous").kept]
    symmetric = {name: kind for name, kind in PROTOCOLS.items() if kind.symmetric}
    runs = {name: found.lockstep(kind(2)) for name, kind in symmetric.items()}
    ends = [c for run in runs.values() for c in run.ends]
    ranked = found.lockstep(MurtyGarg(2))
    fails = (
        any(decide(c, "synchronous").kept for c in alike)
        or len(synchronous) != 2
        or not all(run.alike and run.ends for run in runs.values())
        or any(decide(c, "synchronous").kept and c.messages for c in ends)
        or ranked.alike
    )
    blocked = sum(any(not c.messages for c in run.ends) for run in runs.values())
    because = (
        "steps with mirror images keep two processes that both send alike; of the computations of two crossing "
        f"messages {len(synchronous)} are synchronous, and none of these is its own mirror image. In lockstep "
        f"{len(runs)} symmetric protocols stay alike: {len(runs) - blocked} end in the crown, {blocked} in a "
        "deadlock; Fig. 8 does not stay alike"
    )
    return Evidence(
        unless(fails, "checked"),
        "its cases and this project's protocols computed; any such protocol by an argument that is not machine-checked",
        because,
        shown(
            "the only computation of two crossing messages that is its own mirror image", alike[0] if alike else None
        ),
    )


@TEXT.claim(
    "MG5",
    "[MG] §3, Theorem 3",
    "No protocol that is done with each receive in bounded time realises synchronous order.",
    "checked",
    reading="printed as part 3 of the theorem, proved as part 2; there are three processes or more; only the two ends "
    "of a message exchange packets for it; a receive begins with the first of these that comes, so that to ask first "
    f"is no way out; {DECIDES_ONLINE}. (The printed argument also takes it that a send with an "
    "empty past cannot be put off, which Fig. 8 does: not used here.) If the place of a send could be told afterwards, "
    "as §4.1 may be read, it would be false: the receiver's clock would do",
)
def mg5(quick: bool) -> Evidence:
    cases = {first: found.ring(first) for first in product(("send", "receive"), repeat=3)}
    all_receive_first = cases["receive", "receive", "receive"]
    late = [found.ring_cut_short(p) for p in range(3)]
    own_run = figure("mg-fig4b")
    run = found.first_run_that_breaks("synchronous", found.AcknowledgesAtOnce, 3, 3)
    placed, in_time = found.placed_afterwards(3, 3 if quick else 4)
    afterwards = in_time and all(decide(c, "synchronous").kept for c in placed) and len(placed) > 200
    fails = (
        all_receive_first is not None
        or any(decide(c, "synchronous").kept for c in late)
        or decide(own_run, "synchronous").kept
        or run is None
        or not afterwards
    )
    because = (
        "three processes send around a ring and take in what comes: each may put its send before the receive or after. "
        f"That all put it after is no computation; who puts it before ({len(late)} cases) cannot tell this from a run "
        "where its message is late and the other's next one overtakes it, a crown; so is the text's own run. Fig. 8, "
        f"if it acknowledged at once, breaks the order too. Places told afterwards: {len(placed):,} computations, all "
        "synchronous"
    )
    figures = shown("a process that sends first, and its message late", late[0]) + shown("the text's own run", own_run)
    return Evidence(
        unless(fails, "checked"),
        "its cases computed, and two protocols at 3 processes; any such protocol by an argument not machine-checked",
        because,
        figures + shown("Fig. 8 with acknowledgements at once", run),
    )


@TEXT.claim(
    "MG6",
    "[MG] §3, Theorem 3",
    "No protocol that is done with each send in bounded time realises synchronous order.",
    "checked",
    reading=f"printed as part 2 of the theorem, proved as part 3; {DECIDES_ONLINE}",
)
def mg6(quick: bool) -> Evidence:
    both_sent = found.crossing(("send", "send"))
    own_run = figure("mg-fig4b")
    run = found.first_run_that_breaks("synchronous", found.SendsAtOnce, 2, 2)
    first_sends = all(line[0].kind == "send" for line in own_run.lines[:3])
    fails = (
        both_sent is None
        or decide(both_sent, "synchronous").kept
        or decide(own_run, "synchronous").kept
        or not first_sends
        or run is None
    )
    because = (
        "two processes send to each other, and packets take longer than a send may: both are done with before "
        "anything arrives, and the only computation that is left is a crown, however receives are delayed. The "
        "text's own run, of four processes, is not synchronous either; Fig. 8, were it to send at once, breaks the "
        "order with 2 messages"
    )
    figures = shown("all that can come of two sends that are done with", both_sent)
    return Evidence(
        unless(fails, "checked"),
        "its one case computed; any such protocol of two processes or more by an argument not machine-checked",
        because,
        figures + shown("Fig. 8 with sends at once", run),
    )


# -- the conditions, and what implements them --------------------------------------------------------------------------


@TEXT.claim(
    "MG7",
    "[MG] §4.2.1",
    "Under the priority rule every message is committed as one from a bigger to a smaller process.",
    "checked",
    reading="of the packets with which the two processes commit it; what the application asked for may go either way",
)
def mg7(quick: bool) -> Evidence:
    bounds = [(3, 3)] if quick else [(3, 4), (4, 3)]
    counts = [found.commits(n, m) for n, m in bounds]
    fails = any(wrong or not count for count, wrong in counts)
    told = ", ".join(f"{n} processes and {m} messages" for n, m in bounds)
    because = (
        f"all {sum(count for count, _ in counts):,} commits are made where a message is sent to, or received from, a "
        "smaller or bigger process respectively"
    )
    return Evidence(unless(fails, "checked"), f"every step in every state of Fig. 8, up to {told}", because)


@TEXT.claim("MG8", "[MG] §4.3.1, Theorem 4", "The send protocol implies the send condition.", "proved")
def mg8(quick: bool) -> Evidence:
    watch = found.watched(found.WatchedMurtyGarg, 3, 3)
    fails = not found.theorem_4_is_proved() or "SC" in watch.runs
    because = f"z3 shows it of the formulas; the condition holds at every receive of Fig. 8, in {watch.states:,} states"
    return Evidence(unless(fails, "proved"), f"{ANY_NUMBER}, each message acknowledged; Fig. 8: (3, 3)", because)


SILENCE = "a process whose send is not acknowledged transmits nothing, and → goes through messages and acknowledgements"


@TEXT.claim(
    "MG9",
    "[MG] §4.3.2, Theorem 5",
    "Given the send protocol, the receive protocol implies the receive condition.",
    "repaired",
    reading=f"false of the formula of RP, and false of Fig. 8 too, if → goes through requests; true if {SILENCE}",
)
def mg9(quick: bool) -> Evidence:
    by_formula = found.watched(found.WatchedByTheLetter, 4, 4)
    request = breaks_rc_by_asking(quick)
    without = found.watched(found.WatchedAcknowledgements, 3 if quick else 4, 3)
    formula = by_formula.runs.get("RC")
    smaller = [] if quick else [found.watched(found.WatchedByTheLetter, n, m) for n, m in BELOW_FOUR_AND_FOUR]
    repaired = found.theorem_5_is_proved() and not {"SC", "RC", "RC+"} & without.runs.keys()
    as_small = formula is not None and request is not None and not any("RC" in each.runs for each in smaller)
    verdict = repaired_if(as_small, repaired)
    because = (
        "as printed: the formula lets a passive process acknowledge what it received before its send "
        f"({length(formula)} actions of 4 processes and 4 messages); Fig. 8 sends requests while passive "
        f"({length(request)} actions). z3 shows the condition where {SILENCE}, of "
        f"any number of either; so does Fig. 8 without its requests, in {without.states:,} states"
    )
    figures = shown("SP and the formula of RP hold: s(m3) ≺ r(m2), and r(m2) → r(m3)", formula, "counterexample-mg9")
    figures += shown("Fig. 8: s(m1) ≺ r(m3), and r(m3) → r(m1)", request, "counterexample-mg9-request")
    smallest = (
        LEFT_TO_THE_FULL_RUN
        if quick
        else (
            "by the formula none has fewer messages, or as many among fewer processes; by requests none has fewer "
            f"packets (of five, among up to {search.FIVE_AMONG} processes), or as many among fewer processes"
        )
    )
    return Evidence(verdict, f"{ANY_NUMBER}; {smallest}", because, figures)


#: Processes and messages of every smaller system: with fewer messages than four, or not among four processes.
BELOW_FOUR_AND_FOUR = ((2, 1), (4, 2), (6, 3), (3, 4))
LEFT_TO_THE_FULL_RUN = "the bundled counterexample is verified; that none is smaller is left to the full run"


def breaks_rc_by_asking(quick: bool) -> Run | None:
    """A shortest run of Fig. 8 that breaks RC, of the smallest program that z3 finds; if quick, of the bundled one."""
    if quick:
        program = bundled.program_of(bundled.run("counterexample-mg9-request"))
    else:
        packets = search.against_theorem_5_by_requests()
        if packets is None:
            return None
        program = search.program_of_fig_8(packets.computation)
    return found.watched(found.WatchedMurtyGarg, 4, 5, program).runs.get("RC")


def length(run: Run | None) -> str:
    return "none" if run is None else str(len(run.actions))


# -- the proof of safety -----------------------------------------------------------------------------------------------


def split_bounds(quick: bool) -> list[tuple[int, int]]:
    return [(2, 4), (3, 3)] if quick else [(2, 5), (3, 4)]


def splits_told(quick: bool) -> str:
    """How far the computations with control messages reach, in words."""
    told = ", ".join(f"({n}, {m})" for n, m in split_bounds(quick))
    return f"every complete computation up to (processes, messages) {told}, each part of the messages as control ones"


class Splits(NamedTuple):
    """What was found of Lemmas 1 to 4 and Theorem 6, in every computation with control messages."""

    looked_at: int
    chains_differ: int  #: pairs where ↦ by chains is not what Lemma 1 says, mended
    lemma_1: Computation | None  #: not as Lemma 1 has it by the letter
    printed: Computation | None  #: not synchronous, and without a crown by ↦ as it is printed
    lemma_2: int  #: pairs that break Lemma 2
    pairs: int  #: pairs to which it applies
    lemma_3: int
    with_conditions: int  #: computations with SC, RC and a crown
    lemma_4: int
    theorem_6: int
    repaired: int  #: with SC, RC⁺ and PR, and not synchronous
    ranked: int  #: with SC, RC⁺ and PR


@cache
def all_splits(quick: bool) -> Splits:
    count = chains = lemma_2 = pairs = lemma_3 = with_conditions = lemma_4 = theorem_6 = repaired = ranked = 0
    lemma_1: Computation | None = None
    printed: Computation | None = None
    for split in found.split_up_to(*split_bounds(quick)):
        count += 1
        if len(split.whole.messages) <= 3:
            differ, by_letter = against_lemma_1(split)
            chains += differ
            lemma_1 = lemma_1 or by_letter
        synchronous = decide(split.application, "synchronous").kept
        if printed is None and not synchronous and not has_crown_as_printed(split):
            printed = split.whole
        if not split.send_condition():
            continue
        applies, breaks = against_lemma_2(split)
        pairs, lemma_2 = pairs + applies, lemma_2 + breaks
        if split.strong_receive_condition() and split.ranked():
            ranked += 1
            repaired += not synchronous
        if not split.receive_condition():
            continue
        weak = split.crown_sizes(strong=False)
        if not weak:
            continue
        strong = split.crown_sizes(strong=True)
        with_conditions += 1
        lemma_3 += 2 in weak and 2 not in strong
        lemma_4 += not strong or min(strong) > min(weak)
        theorem_6 += split.ranked() and not synchronous
    return Splits(
        count, chains, lemma_1, printed, lemma_2, pairs, lemma_3, with_conditions, lemma_4, theorem_6, repaired, ranked
    )


def against_lemma_1(split: Split) -> tuple[int, Computation | None]:
    """How many pairs ↦, by chains of events, relates otherwise than `Split.maps_to`; and a pair not as printed."""
    differ, by_letter = 0, None
    events = [event for m in split.own for event in (split.send[m], split.receive[m])]
    for e, f in permutations(events, 2):
        chain = split.chain_leads(e, f)
        differ += chain != split.maps_to(e, f)
        of_one = any((e, f) == (split.send[m], split.receive[m]) for m in split.own)
        if chain and not of_one and not split.lemma_1_as_printed(e, f):
            by_letter = split.whole
    return differ, by_letter


def has_crown_as_printed(split: Split) -> bool:
    return bool(split.crown_sizes(strong=False, as_printed=True))


def against_lemma_2(split: Split) -> tuple[int, int]:
    """To how many pairs of messages Lemma 2 applies, and how many break it."""
    applies = [(a, b) for a, b in split.pairs() if split.maps_to(split.send[a], split.receive[b])]
    breaks = [
        (a, b)
        for a, b in applies
        if not split.leads(split.receive[a], split.receive[b]) and not split.precedes(split.send[a], split.receive[b])
    ]
    return len(applies), len(breaks)


@TEXT.claim(
    "MG10",
    "[MG] §5.1, Lemma 1",
    "If e ↦ f, and not by one message, then e ≺ f, or e ≺ s1 and r1 → f for some message, or e ⇝ g → f.",
    "repaired",
    reading="↦ is a chain of → that leaves e's process, if it does, by a message of the application: by the letter of "
    "its definition a chain could neither start with e's own message nor end with f's, and two messages that "
    "overtake each other would be no crown. Then the lemma needs the same mending: 'before or the same' for ≺ s1 "
    "and for r1 →",
)
def mg10(quick: bool) -> Evidence:
    splits = all_splits(quick)
    verdict = repaired_if(bool(splits.lemma_1), not splits.chains_differ)
    because = (
        "mended, the decomposition is ↦ exactly, pair by pair, in computations of up to 3 messages (of "
        f"{splits.looked_at:,}); as printed it misses a chain whose last message is f's own"
    )
    figures = shown(
        "e ↦ f by f's own message, which the printed lemma leaves out", splits.lemma_1, "counterexample-mg10"
    )
    figures += shown(
        "not synchronous, and without a crown by ↦ as it is printed", splits.printed, "counterexample-mg10-crown"
    )
    return Evidence(verdict, splits_told(quick), because, figures)


@TEXT.claim(
    "MG11",
    "[MG] §5.1, Lemma 2",
    "Under the send condition, s1 ↦ r2 implies r1 → r2 or s1 ≺ r2.",
    "proved",
    reading="of two messages: of one alone it is false, as s1 ↦ r1. ↦ as in MG10",
)
def mg11(quick: bool) -> Evidence:
    splits = all_splits(quick)
    proved = found.lemma_2() == "proved" and found.lemma_2(distinct=False) == "refuted"
    fails = not proved or splits.lemma_2 > 0 or not splits.pairs
    because = f"z3 shows it, and has a model where the messages are one; no counterexample in {splits.pairs:,} pairs"
    return Evidence(unless(fails, "proved"), f"{ANY_NUMBER}; {splits_told(quick)}", because)


@TEXT.claim(
    "MG12",
    "[MG] §5.1, Lemma 3",
    "Under the send and receive conditions, who has no strong crown of size 2 has no crown of size 2.",
    "proved",
    reading="crowns by ↦, as in MG10",
)
def mg12(quick: bool) -> Evidence:
    splits = all_splits(quick)
    fails = not found.lemma_3_is_proved() or splits.lemma_3 > 0 or not splits.with_conditions
    because = (
        "z3 shows that every such crown is strong itself; no counterexample in "
        f"{splits.with_conditions:,} computations with both conditions and a crown"
    )
    return Evidence(unless(fails, "proved"), f"{ANY_NUMBER}; {splits_told(quick)}", because)


STRONG_RC = "what follows from r2 at another process follows from r1 too, wherever s1 ≺ r2"
GAP = (
    "the printed step takes s0 ≺ r1 and r1 → r2 for s0 ↦ r2, also where the chain from r1 starts with a control message"
)


@TEXT.claim(
    "MG13",
    "[MG] §5.1, Lemma 4",
    "Under the send and receive conditions, a crown of size k implies a strong one of size k or less.",
    "repaired",
    reading=f"AC, as printed, is RC; ↦ as in MG10. False as printed: {GAP}. It holds with more than RC: {STRONG_RC}",
)
def mg13(quick: bool) -> Evidence:
    splits, counterexample = all_splits(quick), counterexample_to_lemma_4(quick)
    if counterexample is None:
        return Evidence("open", splits_told(quick), "there is none of the size that is recorded, or there is a smaller")
    weak = counterexample.crown_sizes(strong=False)
    refuted = (
        counterexample.send_condition()
        and counterexample.receive_condition()
        and bool(weak)
        and not counterexample.crown_sizes(strong=True)
    )
    repaired = found.crown_shrinks() and found.lemma_3_is_proved() and not counterexample.strong_receive_condition()
    verdict = repaired_if(refuted and not splits.lemma_4, repaired)
    because = (
        f"a computation of {size_of(counterexample)} has crowns of sizes {weak} and no strong one; by "
        f"enumeration {splits.lemma_4 or 'none'} among {splits.with_conditions:,} others. With the stronger "
        "condition z3 shows the step from any crown that is not strong to a smaller one. What the application sees of "
        "this one is synchronous all the same. One of five messages, whose control message is an acknowledgement and "
        "which the application sees not to be synchronous, is that of MG14"
    )
    scope = f"{ANY_NUMBER} for each step, whose repetition is argued; {splits_told(quick)}; {none_smaller(quick)}"
    figures = shown(
        "SC and RC hold, c1 is a control message; no strong crown", counterexample.whole, "counterexample-mg13"
    )
    return Evidence(verdict, scope, because, figures)


def counterexample_to_lemma_4(quick: bool) -> Split | None:
    """The smallest, as z3 finds it; if quick, the bundled one."""
    if quick:
        return found.split_by_names(bundled.computation("counterexample-mg13"))
    smallest = search.against_lemma_4()
    return None if smallest is None else found.split_by_names(smallest.computation)


def counterexample_to_theorem_6(quick: bool) -> Split | None:
    """Likewise."""
    if quick:
        return found.split_by_names(bundled.computation("counterexample-mg14"))
    smallest = search.against_theorem_6()
    return None if smallest is None else found.split_by_names(smallest.computation)


def size_of(split: Split) -> str:
    control = len(split.whole.messages) - len(split.own)
    told = f"{control} control message{'s' * (control != 1)}"
    return f"{len(split.whole.processes)} processes, {len(split.own)} messages and {told}"


def none_smaller(quick: bool) -> str:
    """How far z3 has looked for a smaller one, in words."""
    return (
        LEFT_TO_THE_FULL_RUN
        if quick
        else ("z3: none has fewer messages, control messages included, or as many among fewer processes")
    )


@TEXT.claim(
    "MG14",
    "[MG] §5.1, Theorem 6",
    "Whatever satisfies the send condition, the receive condition and the priority rule is synchronous.",
    "repaired",
    reading="AC, as printed, is RC. False as printed, also where control messages are acknowledgements, as §3 and §4.3 "
    f"have them. It holds with more than RC: {STRONG_RC}; and this holds of Fig. 8: {SILENCE}",
)
def mg14(quick: bool) -> Evidence:
    splits, counterexample = all_splits(quick), counterexample_to_theorem_6(quick)
    if counterexample is None:
        return Evidence("open", splits_told(quick), "there is none of the size that is recorded, or there is a smaller")
    watch = found.watched(found.WatchedAcknowledgements, 3 if quick else 4, 3)
    refuted = (
        counterexample.send_condition()
        and counterexample.receive_condition()
        and counterexample.ranked()
        and found.answers_only(counterexample)
        and not decide(counterexample.application, "synchronous").kept
    )
    shows = found.crown_shrinks() and found.lemma_3_is_proved() and found.strong_crowns_descend()
    of_fig_8 = found.theorem_5_is_proved() and not {"SC", "RC+", "PR"} & watch.runs.keys()
    repaired = shows and of_fig_8 and not splits.repaired and splits.ranked > 0
    repaired &= not counterexample.strong_receive_condition()
    verdict = repaired_if(refuted and not splits.theorem_6, repaired)
    because = (
        f"a computation of {size_of(counterexample)}, an acknowledgement, has all three and is not synchronous; it has "
        f"no strong crown. By enumeration {splits.theorem_6 or 'none'} smaller. With "
        "the stronger condition z3 shows each step of the proof, and none of "
        f"{splits.ranked:,} computations breaks it; Fig. 8 has it in all {watch.states:,} states"
    )
    scope = f"{ANY_NUMBER} for each step, whose repetition is argued; {splits_told(quick)}; {none_smaller(quick)}"
    figures = shown("SC, RC and PR hold, c1 acknowledges m3", counterexample.whole, "counterexample-mg14")
    figures += shown(
        "what the application sees of it: a crown", counterexample.application, "counterexample-mg14-application"
    )
    return Evidence(verdict, scope, because, figures)


@TEXT.claim(
    "MG15",
    "[MG] §5.1, Theorem 7",
    "Whatever satisfies the send protocol and the receive protocol is synchronous.",
    "checked",
    reading="by their formulas alone, in any order and without priorities; of computations in which every message is "
    "received and acknowledged: without priorities others never come to their end. The printed proof rests on Lemma 4",
)
def mg15(quick: bool) -> Evidence:
    bounds = [(2, 4), (3, 3)] if quick else [(3, 4), (4, 3), (4, 4)]
    looked_at = [c for n, m in bounds for c in found.quiet_computations(found.ByTheLetter, n, m)]
    ranked_bound = (4, 3) if quick else (4, 5)
    ranked = found.quiet_computations(found.ByTheLetterWithRanks, *ranked_bound)
    crown = next((c for c in [*looked_at, *ranked] if not decide(c, "synchronous").kept), None)
    vacuous = len(looked_at) < 200 or len(ranked) < 200
    because = (
        f"none of {len(looked_at):,} computations without priorities, and {len(ranked):,} with them, of systems that "
        "are held to the two formulas and to nothing else, has a crown"
    )
    told = ", ".join(map(str, [*bounds, ranked_bound]))
    scope = f"every run of such systems, (processes, messages) up to {told}, the last with priorities"
    return Evidence(unless(crown is not None or vacuous, "checked"), scope, because, shown("a crown", crown))


# -- the algorithm -----------------------------------------------------------------------------------------------------


@TEXT.claim(
    "MG16",
    "[MG] §5.2, Theorem 8",
    "Every process that wants to send a message is able to in the end.",
    "proved",
    reading="applications take what comes; one that waits to receive could withhold acknowledgements for ever",
)
def mg16(quick: bool) -> Evidence:
    results = [searched("murty-garg", n, m, channel=channel) for n, m in free_bounds(quick) for channel in CHANNELS]
    explored = all(holds(result, "never-blocks", "delivers-all") for result in results)
    fails = not (explored and is_proved("murty-garg", "live"))
    smallest_is_active = all_states_have_the_smallest_active(3, 3)
    because = (
        "z3: a passive process waits for what is under way, or for a smaller passive one, which on going on "
        f"acknowledges all that it owes; shown of the stages of a message, {held_against('murty-garg')}. Every send "
        f"happens and every message is delivered, in {states(*results)}; the smallest process, on which the "
        "induction rests, is active in all"
    )
    return Evidence(
        unless(fails or not smallest_is_active, "proved"), f"{FOR_EVERY_N}; {BY_FAIRNESS_IN_WORDS}", because
    )


CHANNELS = ("unordered", "fifo")


def free_bounds(quick: bool) -> list[tuple[int, int]]:
    return [(3, 4), (4, 3)] if quick else [(3, 5), (4, 4)]


def all_states_have_the_smallest_active(n: int, m: int) -> bool:
    system = found.system_of(MurtyGarg, n, m)
    return all(system.local_states(state)[0].active for state in found.states_of(system))


@TEXT.claim(
    "MG17",
    "[MG] §4.1, Fig. 8",
    "The algorithm is safe and live; a send may also be committed at its acknowledgement; and a process's sends "
    "keep the order in which it wanted them.",
    "repaired",
    reading="the third box, printed for an acknowledgement <ack, i, j> at i, is for one from j. Safe and live it is. "
    "To commit at the acknowledgement breaks it (§4.1: 'as if', of either end). The text is silent on the order of "
    "intents: it is kept to one receiver over FIFO channels, and not otherwise",
)
def mg17(quick: bool) -> Evidence:
    results = [searched("murty-garg", n, m, channel=channel) for n, m in free_bounds(quick) for channel in CHANNELS]
    good = all(holds(result) for result in results) and is_proved("murty-garg", "safe", "live")
    at_ack = found.first_run_that_breaks("synchronous", found.CommitsAtAcknowledgement, 3, 3)
    any_order = [found.first_run_that_breaks("in-order", MurtyGarg, 3, 2, channel) for channel in CHANNELS]
    to_one = found.first_run_that_breaks("in-order-to-one", MurtyGarg, 2, 2)
    fifo = found.first_run_that_breaks("in-order-to-one", MurtyGarg, 3, 3 if quick else 4, "fifo")
    repaired = good and fifo is None
    broken = at_ack is not None and None not in any_order and to_one is not None
    verdict = repaired_if(broken, repaired)
    because = (
        "z3 shows it safe and live for every n, of the stages of a message; it keeps synchronous order and delivers "
        f"everything in {states(*results)}; intents are overtaken after {length(any_order[0])} actions, over FIFO "
        f"channels after {length(any_order[1])}, to one receiver after {length(to_one)}, to one receiver over FIFO "
        f"channels never; commits at acknowledgements break the order after {length(at_ack)} actions of 3 messages"
    )
    figures = shown("P2 wants m1 before m2, and sends m2 first", any_order[0], "counterexample-mg17")
    figures += shown(
        "two sends to one receiver overtake each other; a send happens when the bigger process's copy is back",
        to_one,
        "counterexample-mg17-one-receiver",
    )
    figures += shown(
        "not synchronous, if sends are committed at the acknowledgement", at_ack, "counterexample-mg17-commit"
    )
    scope = f"safe and live: {ANY_NUMBER}, of an abstraction; {within(*results)}"
    return Evidence(verdict, scope, because, figures)


@TEXT.claim(
    "MG18",
    "[MG] §1",
    "The algorithm that blocks its sender until the acknowledgement can deadlock; this one does not.",
    "checked",
    reading="the blocking algorithm accepts no message while it waits (`rendezvous`)",
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
    )
    because = (
        f"blocking: a deadlock after {length(deadlock)} actions, and no run of Fig. 4(a)'s program ends; Fig. 8: all "
        f"do, and nothing is left undelivered in {states(*ours)}"
    )
    scope = within(blocking, *ours, ours_programmed)
    return Evidence(unless(fails, "checked"), scope, because, shown("the deadlock of the blocking algorithm", deadlock))


# -- costs -------------------------------------------------------------------------------------------------------------


@TEXT.claim(
    "MG19",
    "[MG] §6",
    "A message costs 1.5 control messages.",
    "measured",
    reading="on the average, where as many go to bigger as to smaller processes",
)
def mg19(quick: bool) -> Evidence:
    n, m = (3, 3) if quick else (3, 4)
    costs = found.costs(n, m)
    exact = bool(costs) and all(cost.control == 2 * cost.up + cost.down for cost in costs)
    each = sorted({cost.control / m for cost in costs})
    even = [cost.control / m for cost in found.costs(n, 2) if cost.up == cost.down for m in [2]]
    fails = not exact or even != [1.5] or (each[0], each[-1]) != (1.0, 2.0)
    traffic = {
        name: simulations.simulated("murty-garg", 4, 0.02, 6 if quick else 20, workload=name)
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
        f"{simulations.told(list(traffic.values()))}"
    )
    return Evidence(unless(fails, "measured"), scope, because)


@TEXT.claim(
    "MG20",
    "[MG] §6",
    "Packets that take at most t, the priority rule delays a message by less than 2t, the receive condition an "
    "acknowledgement by at most nt.",
    "repaired",
    reading="n processes; the priority rule alone, without the wait until the bigger process is active; the receive "
    "condition from the receive to its acknowledgement, while other messages are under way. What is true: at most 2t, "
    "and at most 2(n − 2) t, which is more than nt from five processes on",
)
def mg20(quick: bool) -> Evidence:
    t = delays.T
    slowest = delays.slowest(5, 4)
    less = [delays.slowest(5, 3), *(delays.slowest(n, m) for n in (2, 3, 4) for m in range(1, 5))]
    longest = [delays.longest(n, m) for n, m in ([(3, 3)] if quick else [(3, 4), (4, 3)])]
    tight = all(each.withheld == delays.bound(each.n) for each in longest)
    asked = found.timed("P1: send m to P2\nP2: receive", {"m": 0}, {}, t)
    priority = asked.when("P1", "receive message", "m") - asked.when("P1", "send", "m")
    if slowest is None:
        return Evidence("open", ANY_NUMBER, "none of five processes and four messages is withheld for more than nt")
    exceeds = slowest.withheld == slowest.by_z3 > 5 * t and less == [None] * len(less)
    repaired = delays.bound_is_proved() and tight and priority == 2 * t
    random = simulations.simulated("murty-garg", 5, 0.1, 6 if quick else 20, latency="constant")
    repaired &= random.most("withheld_most") <= 2 * (5 - 2)
    verdict = repaired_if(exceeds, repaired)
    because = (
        f"with n = 5 an acknowledgement is withheld for {slowest.withheld / t:g} t, more than 5 t: each process of the "
        "chain may have sent just before the next message came, so that each adds a message and an acknowledgement; z3 "
        "shows 2(n − 2) t for every n by that induction, and finds the run: of four messages, none of three or of "
        "fewer processes. The bound is reached, and not exceeded, in all runs of Fig. 8 in "
        f"{sum(each.states for each in longest):,} states of the system and of time. The priority rule adds a request "
        f"and the way back, {priority / t:g} t if both take t. In random runs of five processes "
        f"({simulations.told([random])}, constant latencies, load 0.1) it is withheld for {random['withheld']} t on "
        f"the average, at most {random.most('withheld_most'):.2f} t"
    )
    told = ", ".join(f"({each.n}, {each.messages})" for each in longest)
    scope = (
        f"{ANY_NUMBER}, where an acknowledgement waits for the open send alone; Fig. 8's own code: every run up to "
        f"(processes, messages) {told}"
    )
    title = "P4 may acknowledge m1 only when the chain m2, m3, m4 is acknowledged"
    return Evidence(verdict, scope, because, shown(title, slowest.run.run, "counterexample-mg20"))


@TEXT.claim(
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
    blocking = found.watched(found.WatchedBlocking, 3, m)
    ours = searched("murty-garg", 3, m)
    passive = {"a-send-waits-for-an-acknowledgement", "an-acknowledgement-is-withheld"}
    goes_on = passive <= ours.exploration.reached
    generated = [realize(Check(name, 3, 3)).equals for name in ("rendezvous", "murty-garg")]
    blocks = broken_by(searched("rendezvous", 3, m), "never-blocks") is not None
    fails = bool({"SC", "RC"} & blocking.runs.keys()) or not goes_on or not blocks or "PR" not in blocking.runs
    because = (
        f"both conditions hold at every receive in {blocking.states:,} states of the blocking algorithm; where it "
        "waits, Fig. 8 takes in messages and requests, and it finishes where the other deadlocks. Both can generate "
        f"every {generated[0]} computation, so in these there is no difference"
    )
    fails |= generated != ["synchronous", "synchronous"]
    runs = 6 if quick else 20
    stuck = [simulations.simulated(name, 6, 0.05, runs).stuck for name in ("rendezvous", "murty-garg")]
    served, up = (
        [simulations.simulated(name, 6, 0.2, runs, workload=workload) for name in ("murty-garg", "rendezvous")]
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
    scope = (
        f"{within(ours)}; computations: 3 processes, 3 messages; times: {simulations.told([*served, *up])}, load 0.2"
    )
    return Evidence(unless(fails, "measured"), scope, because)
