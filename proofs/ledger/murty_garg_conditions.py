"""The claims of [MG] §4 and §5.1: the conditions, what implements them, and the proof of safety."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from typing import NamedTuple

from crownless.model_check.runs import Run
from crownless.spec.computation import Computation
from crownless.spec.orders import decide

from . import any_split, bundled
from . import monitored_machines as found
from . import smallest_synchronous as search
from .claims import Evidence, Text, repaired_if, unless
from .fig_8_variants import commits
from .murty_garg_shared import ANY_NUMBER, SILENCE, length, shown
from .splits import Split, answers_only, split_by_names, split_up_to

TEXT = Text()


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
    counts = [commits(n, m) for n, m in bounds]
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
    fails = not any_split.theorem_4_is_proved() or "SC" in watch.runs
    because = f"z3 shows it of the formulas; the condition holds at every receive of Fig. 8, in {watch.states:,} states"
    return Evidence(unless(fails, "proved"), f"{ANY_NUMBER}, each message acknowledged; Fig. 8: (3, 3)", because)


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
    repaired = any_split.theorem_5_is_proved() and not {"SC", "RC", "RC+"} & without.runs.keys()
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
    for split in split_up_to(*split_bounds(quick)):
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
    proved = any_split.lemma_2() == "proved" and any_split.lemma_2(distinct=False) == "refuted"
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
    fails = not any_split.lemma_3_is_proved() or splits.lemma_3 > 0 or not splits.with_conditions
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
    repaired = (
        any_split.crown_shrinks() and any_split.lemma_3_is_proved() and not counterexample.strong_receive_condition()
    )
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
        return split_by_names(bundled.computation("counterexample-mg13"))
    smallest = search.against_lemma_4()
    return None if smallest is None else split_by_names(smallest.computation)


def counterexample_to_theorem_6(quick: bool) -> Split | None:
    """Likewise."""
    if quick:
        return split_by_names(bundled.computation("counterexample-mg14"))
    smallest = search.against_theorem_6()
    return None if smallest is None else split_by_names(smallest.computation)


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
        and answers_only(counterexample)
        and not decide(counterexample.application, "synchronous").kept
    )
    shows = any_split.crown_shrinks() and any_split.lemma_3_is_proved() and any_split.strong_crowns_descend()
    of_fig_8 = any_split.theorem_5_is_proved() and not {"SC", "RC+", "PR"} & watch.runs.keys()
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
