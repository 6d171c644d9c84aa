"""The claims of [MG] §4.2 and §5.1: ↦, Lemmas 1 to 4, and Theorems 6 and 7."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from typing import NamedTuple

from crownless.spec.computation import Computation
from crownless.spec.orders import decide
from crownless.spec.printable import some

from . import any_split, bundled, crowns_of_any_size
from . import monitored_machines as found
from . import smallest_synchronous as search
from .claims import Evidence, Reading, Text, unless
from .evidence import holds, states
from .murty_garg_shared import ANY_NUMBER, LEFT_TO_THE_FULL_RUN, SILENCE, shown
from .murty_garg_theorem_7 import four_lemmas, theorem_7_is_proved
from .splits import Split, answers_only, split_by_names, split_up_to

TEXT = Text()


def split_bounds(quick: bool) -> list[tuple[int, int]]:
    return [(2, 4), (3, 3)] if quick else [(2, 5), (3, 4)]


def splits_told(quick: bool) -> str:
    """How far the computations with control messages reach, in words."""
    summary = ", ".join(f"({n}, {m})" for n, m in split_bounds(quick))
    return (
        f"every complete computation up to (processes, messages) {summary}, each part of the messages as control ones"
    )


class Splits(NamedTuple):
    """Findings on Lemmas 1 to 4 and Theorem 6, in every computation with control messages."""

    looked_at: int
    chains_differ: int  #: pairs where ↦ by chains is not what Lemma 1 says, repaired
    lemma_1: int  #: pairs that break Lemma 1 by the letter, ↦ as it is printed
    lemma_1_of_chains: int  #: pairs of ↦ by chains that Lemma 1 by the letter leaves out
    crownless: Computation | None  #: the application's part is not synchronous, and has no crown by ↦ or →_ℰ as printed
    outside: int  #: crowns by →_ℰ as printed, and none by ↦ as printed
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
    count = chains = lemma_1 = of_chains = outside = lemma_2 = pairs = lemma_3 = with_conditions = 0
    lemma_4 = theorem_6 = repaired = ranked = 0
    crownless: list[Computation] = []
    for split in split_up_to(*split_bounds(quick)):
        count += 1
        synchronous = decide(split.application, "synchronous").kept
        if len(split.whole.messages) <= FEW:
            found_of_it = against_lemma_1(split)
            chains, lemma_1, of_chains = chains + found_of_it[0], lemma_1 + found_of_it[1], of_chains + found_of_it[2]
            printed, within_own = map(split.crown_sizes, (split.maps_to_as_printed, split.leads_within_own_as_printed))
            outside += bool(set(within_own) - set(printed))
            crownless += [split.whole] * (not synchronous and not printed and not within_own)
        if not split.send_condition():
            continue
        applies, breaks = against_lemma_2(split)
        pairs, lemma_2 = pairs + applies, lemma_2 + breaks
        if split.strong_receive_condition() and split.ranked():
            ranked += 1
            repaired += not synchronous
        if not split.receive_condition():
            continue
        weak = split.crown_sizes(split.maps_to)
        if not weak:
            continue
        strong = split.crown_sizes(split.precedes)
        with_conditions += 1
        lemma_3 += 2 in weak and 2 not in strong
        lemma_4 += not strong or min(strong) > min(weak)
        theorem_6 += split.ranked() and not synchronous
    smallest = min(crownless, key=lambda c: (len(c.messages), len(c.processes)), default=None)
    return Splits(
        count,
        chains,
        lemma_1,
        of_chains,
        smallest,
        outside,
        lemma_2,
        pairs,
        lemma_3,
        with_conditions,
        lemma_4,
        theorem_6,
        repaired,
        ranked,
    )


#: Up to so many messages each pair of events is looked at.
FEW = 3


def against_lemma_1(split: Split) -> tuple[int, int, int]:
    """Numbers of pairs of events: those that ↦ by chains relates otherwise than `Split.maps_to`, those that break
    Lemma 1 by the letter, and those of ↦ by chains that it leaves out.
    """
    chains_differ = by_letter = of_chains = 0
    events = [event for m in split.own for event in (split.send[m], split.receive[m])]
    for e, f in permutations(events, 2):
        chain = split.chain_leads(e, f)
        chains_differ += chain != split.maps_to(e, f)
        left_out = not split.is_message(e, f) and not split.lemma_1_as_printed(e, f)
        by_letter += split.maps_to_as_printed(e, f) and left_out
        of_chains += chain and left_out
    return chains_differ, by_letter, of_chains


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
    "[MG] §4.2 and §5.1, Lemma 1",
    "If e ↦ f, and not by one message, then e ≺ f, or e ≺ s1 and r1 → f for some message, or e ⇝ g → f.",
    "proved",
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
    no_crown = unless(splits.crownless is None, "refuted")
    readings = [
        Reading("Lemma 1 by the letter, of ↦ as printed", unless(not by_letter, "proved")),
        Reading(
            "Lemma 1 of ↦ as §5 needs it, any chain of → that leaves e's process, if it does, by a message of ℰ",
            unless(not of_chains, "refuted"),
        ),
        Reading(
            "Lemma 1 of that ↦, with 'before or the same' for ≺ s1 and for r1 →",
            unless(splits.chains_differ > 0, "checked"),
        ),
        Reading("§4.2: a computation is synchronous if and only if it has no crown by →_ℰ as printed", no_crown),
        Reading(
            "§4.2, 'easy to see': who has a crown restricted to ℰ, by →_ℰ as printed, has one by ↦ as printed",
            unless(not inclusion, "proved"),
        ),
        Reading(
            "§4.2, 'easy to see', where a crown restricted to ℰ is one of the computation of ℰ alone, as the words "
            "beside →_ℰ have it ('the causality chain is formed by the events in ℰ')",
            no_crown,
        ),
    ]
    because = (
        "z3 shows the lemma by the letter without any knowledge of → and ≺: the definition of ↦ has the same cases. "
        f"The application's part of a computation of {smallest} is not synchronous, though it has no crown by →_ℰ or ↦ "
        "as printed. With 'before or the same' the decomposition is ↦ exactly, pair by pair, in "
        f"computations of up to {FEW} messages (of {splits.looked_at:,}); as printed it misses "
        f"{splits.lemma_1_of_chains:,} pairs there"
    )
    figures = shown(
        "not synchronous, and without a crown by →_ℰ or ↦ as §4.2 prints them", splits.crownless, "counterexample-mg10"
    )
    scope = f"the lemma: {ANY_NUMBER}; the other readings: {splits_told(quick)}"
    return Evidence(readings, scope, because, figures)


@TEXT.claim(
    "MG11",
    "[MG] §5.1, Lemma 2",
    "Under the send condition, s1 ↦ r2 implies r1 → r2 or s1 ≺ r2.",
    "proved",
    reading="↦ as printed, or as §5 needs it (MG10), which is wider",
)
def mg11(quick: bool) -> Evidence:
    splits = all_splits(quick)
    proved = any_split.lemma_2() == "proved" and splits.lemma_2 == 0 and splits.pairs > 0
    inclusion = any_split.maps_to_holds_what_is_printed()
    readings = [
        Reading("↦ as printed", unless(not proved or not inclusion, "proved")),
        Reading("↦ as §5 needs it", unless(not proved, "proved")),
        Reading(
            "of one message, as s1 ↦ r1",
            unless(any_split.lemma_2(distinct=False) != "refuted", "refuted"),
            said=False,
        ),
    ]
    because = f"z3 shows it, and has a model where the messages are one; no counterexample in {splits.pairs:,} pairs"
    return Evidence(readings, f"{ANY_NUMBER}; {splits_told(quick)}", because)


@TEXT.claim(
    "MG12",
    "[MG] §5.1, Lemma 3",
    "Under the send and receive conditions, who has no strong crown of size 2 has no crown of size 2.",
    "proved",
    reading="crowns by ↦ as printed, or as §5 needs it (MG10), which is wider; of two distinct messages (MG2)",
)
def mg12(quick: bool) -> Evidence:
    splits = all_splits(quick)
    proved = any_split.lemma_3_is_proved() and splits.lemma_3 == 0 and splits.with_conditions > 0
    inclusion = any_split.maps_to_holds_what_is_printed()
    readings = [
        Reading("↦ as printed", unless(not proved or not inclusion, "proved")),
        Reading("↦ as §5 needs it", unless(not proved, "proved")),
    ]
    because = (
        "z3 shows that every such crown is strong itself; no counterexample in "
        f"{splits.with_conditions:,} computations with both conditions and a crown"
    )
    return Evidence(readings, f"{ANY_NUMBER}; {splits_told(quick)}", because)


STRONG_RC = "what follows from r2 at another process follows from r1 too, wherever s1 ≺ r2"
GAP = (
    "the printed step takes s0 ≺ r1 and r1 → r2 for s0 ↦ r2, also where the chain from r1 starts with a control message"
)


@TEXT.claim(
    "MG13",
    "[MG] §5.1, Lemma 4",
    "Under the send and receive conditions, a crown of size k implies a strong one of size k or less.",
    "repaired",
    reading=f"AC, as printed, is RC; crowns of two or more distinct messages (MG2). False as printed: {GAP}",
)
def mg13(quick: bool) -> Evidence:
    splits, counterexample = all_splits(quick), counterexample_to_lemma_4(quick)
    if counterexample is None:
        return Evidence("open", splits_told(quick), "there is none of the size that is recorded, or there is a smaller")
    printed, chains = map(counterexample.crown_sizes, (counterexample.maps_to_as_printed, counterexample.maps_to))
    conditions = counterexample.send_condition() and counterexample.receive_condition() and counterexample.ranked()
    refuted = conditions and not counterexample.crown_sizes(counterexample.precedes) and not splits.lemma_4
    holds = crowns_of_any_size.lemma_4_is_proved() and any_split.maps_to_holds_what_is_printed()
    holds &= not counterexample.strong_receive_condition()
    readings = [
        Reading("crowns by ↦ as printed", unless(not refuted or not printed, "refuted")),
        Reading("crowns by ↦ as §5 needs it (MG10)", unless(not refuted or not chains, "refuted")),
        Reading(f"either, with more than RC: {STRONG_RC}", unless(not holds, "proved")),
    ]
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
    figures = shown(
        "SC, RC and PR hold, c1 is a control message; a crown m1, m2, m3 by ↦, and no strong crown",
        counterexample.whole,
        "counterexample-mg13",
    )
    return Evidence(readings, scope, because, figures)


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
    summary = f"{some(control, 'control message')}"
    return f"{len(split.whole.processes)} processes, {len(split.own)} messages and {summary}"


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
    reading="AC, as printed, is RC. Control messages as §3 and §4.3 have them are acknowledgements",
)
def mg14(quick: bool) -> Evidence:
    splits, counterexample = all_splits(quick), counterexample_to_theorem_6(quick)
    if counterexample is None:
        return Evidence("open", splits_told(quick), "there is none of the size that is recorded, or there is a smaller")
    watch = found.monitored(found.MonitoredAcknowledgements, 3 if quick else 4, 3)
    refuted = (
        counterexample.send_condition()
        and counterexample.receive_condition()
        and counterexample.ranked()
        and answers_only(counterexample)
        and not decide(counterexample.application, "synchronous").kept
        and not splits.theorem_6
    )
    shows = crowns_of_any_size.theorem_6_is_proved()
    of_fig_8 = any_split.theorem_5_is_proved() and holds(watch, "SC", "RC+", "PR")
    repaired = shows and of_fig_8 and not splits.repaired and splits.ranked > 0
    repaired &= not counterexample.strong_receive_condition()
    readings = [
        Reading("as printed, also where all control messages are acknowledgements", unless(not refuted, "refuted")),
        Reading(f"with more than RC: {STRONG_RC}; which Fig. 8 has, as {SILENCE}", unless(not repaired, "proved")),
    ]
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
    figures = shown("SC, RC and PR hold, c1 acknowledges m3", counterexample.whole, "counterexample-mg14")
    figures += shown(
        "what the application sees of it: a crown", counterexample.application, "counterexample-mg14-application"
    )
    return Evidence(readings, scope, because, figures)


@TEXT.claim(
    "MG15",
    "[MG] §5.1, Theorem 7",
    "Whatever satisfies the send protocol and the receive protocol is synchronous.",
    "proved",
    reading="by their formulas alone, in any order and without priorities, so also by their words; every message is "
    "received and acknowledged, as §4.3 has it. The printed proof rests on Lemma 4, which is false as printed (MG13)",
)
def mg15(quick: bool) -> Evidence:
    bounds = [(2, 4), (3, 3)] if quick else [(3, 4), (4, 3), (4, 4)]
    looked_at = [c for n, m in bounds for c in found.quiet_computations(found.ByTheLetter, n, m)]
    ranked_bound = (4, 3) if quick else (4, 5)
    ranked = found.quiet_computations(found.ByTheLetterWithRanks, *ranked_bound)
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
    return Evidence(unless(fails, "proved"), scope, because, shown("a crown", crown))
