"""The claims of Murty & Garg [MG] on synchronous order."""

from __future__ import annotations

from collections.abc import Callable

from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.impl.variants.for_murty_garg import CommitsAtAcknowledgement, NeverAcknowledges, SendsWhenWanted
from crownless.impl.workloads import Free
from crownless.proofs.induction.evidence import Evidence, fact, found
from crownless.proofs.theorems import conditions
from crownless.proofs.theorems import smallest_synchronous as search
from crownless.proofs.theorems.synchronous import strong_crowns, theorem_1, theorem_2, theorem_7
from crownless.runtime.printable import some
from crownless.spec.crowns import crowns, smallest_crown
from crownless.spec.enumeration import computations
from crownless.spec.orders import decide

from . import bundled
from . import monitored_machines as machines
from .claim import claim
from .evidence import breaks, ends, enumerated, explored, figure, keep, proved, ran, searched
from .fig_8 import commits_go_downhill, first_run_that_breaks
from .monitored_machines import monitored
from .splits import Split, split_by_names, splits_up_to

CHANNELS = ("unordered", "fifo")

SILENCE = "a process whose send is not acknowledged transmits nothing, and → goes through messages and acknowledgements"
NONE_SMALLER = "none has fewer messages, control messages included, or as many among fewer processes"
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
    return theorem_1()


@claim(
    "MG2",
    "[MG] §2.3, Theorem 2",
    "A computation is synchronous if and only if it has no crown.",
    "proved",
    reading="k ≥ 2: the chain of the definition begins s0 → r1, and with one message there is no r1 (s0 → r0 would "
    "make every message a crown); pairs with different indices are different messages",
)
def mg2(quick: bool) -> Evidence:
    return theorem_2()


@claim("MG3", "[MG] §2.3", "Every strong crown is a crown; some crowns are not strong.", "proved")
def mg3(quick: bool) -> Evidence:
    smallest = next(
        c
        for m in range(2, 5)
        for n in range(2, 2 * m + 1)
        for c in computations(n, m)
        if {crown.messages for crown in crowns(c)} - {crown.messages for crown in crowns(c, strong=True)}
    )
    fig3a = figure("mg-fig3a")
    weak_only = smallest_crown(fig3a) is not None and smallest_crown(fig3a, strong=True) is None
    return (
        strong_crowns()
        & found("smallest computation with a crown that is not strong", smallest)
        & found("one that is causally ordered", fig3a)
        & fact(weak_only, "Fig. 3(a) has a crown, and no strong one")
    )


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
    return commits_go_downhill() & proved("murty-garg", "safe")


@claim("MG8", "[MG] §4.3.1, Theorem 4", "The send protocol implies the send condition.", "proved")
def mg8(quick: bool) -> Evidence:
    return conditions.theorem_4() & fact(True, "", "each message is acknowledged")


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
    "among them",
)
def mg9(quick: bool) -> list[Evidence]:
    formula = monitored(machines.MonitoredByTheLetter, 4, 4)
    smaller = [] if quick else [monitored(machines.MonitoredByTheLetter, n, m) for n, m in BELOW_FOUR_AND_FOUR]
    none_smaller = fact(True, "", LEFT_TO_THE_FULL_RUN) if quick else keep(smaller, "RC")
    asking = bundled.program_of(bundled.run("counterexample-mg9"))
    by_requests = "of requests none has fewer packets, or as many among fewer processes; of five, among 6 processes"
    without_requests = monitored(machines.MonitoredAcknowledgements, 3 if quick else 4, 3)
    return [
        found(
            "Fig. 8: s(m1) ≺ r(m3), and r(m3) → r(m1)",
            monitored(machines.MonitoredMurtyGarg, 4, 5, asking)["RC"].run,
            "counterexample-mg9",
        ).refutes()
        & _is_smallest(quick, search.none_smaller_against_theorem_5_by_requests, by_requests),
        breaks(
            formula,
            "RC",
            "SP and the formula of RP hold: s(m3) ≺ r(m2), and r(m2) → r(m3)",
            "counterexample-mg9-formula",
        ).refutes()
        & none_smaller,
        conditions.theorem_5() & keep(without_requests, "SC", "RC", "RC+"),
    ]


#: Processes and messages of every smaller system: fewer than four messages, or fewer than four processes.
BELOW_FOUR_AND_FOUR = [(2, 1), (4, 2), (6, 3), (3, 4)]


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
def mg10(quick: bool) -> list[Evidence]:
    splits = splits_up_to((2, 3), (3, 3))
    scope = "other readings: every computation of 2 or 3 processes and up to 3 messages, each part as control messages"
    pairs = enumerated(
        "with 'before or the same' the decomposition is ↦ exactly, pair by pair",
        [(split, e, f) for split in splits for e, f in split.own_pairs()],
        lambda at: at[0].chain_leads(*at[1:]) == at[0].maps_to(*at[1:]),
        scope=scope,
    )
    left_out = any(
        split.chain_leads(e, f) and not split.is_message(e, f) and not split.lemma_1_as_printed(e, f)
        for split in splits
        for e, f in split.own_pairs()
    )
    crownless = next((split.whole for split in splits if _is_crownless(split)), None)
    title = "not synchronous, and without a crown by →_ℰ or ↦ as §4.2 prints them"
    no_crown = found(title, crownless, "counterexample-mg10", scope).refutes()
    inclusion = conditions.maps_to_holds_what_is_printed()
    of_chains = conditions.lemma_1_of_chains() & fact(left_out, "by chains Lemma 1 leaves out pairs")
    return [conditions.lemma_1(), of_chains, pairs, no_crown, inclusion, no_crown]


def _is_crownless(split: Split) -> bool:
    """True if the application's part is not synchronous, and has no crown by either printed relation."""
    if decide(split.application, "synchronous").kept:
        return False
    return not any(map(split.crown_sizes, (split.maps_to_as_printed, split.leads_within_own_as_printed)))


@claim(
    "MG11",
    "[MG] §5.1, Lemma 2",
    "Under the send condition, s1 ↦ r2 implies r1 → r2 or s1 ≺ r2.",
    {"↦ as printed": "proved", "↦ as §5 needs it": "proved"},
    not_said={"of one message, as s1 ↦ r1": "refuted"},
    reading="↦ as printed, or as §5 needs it (MG10), which is wider",
)
def mg11(quick: bool) -> list[Evidence]:
    inclusion = conditions.maps_to_holds_what_is_printed()
    return [conditions.lemma_2() & inclusion, conditions.lemma_2(), conditions.lemma_2_of_one_message().refutes()]


@claim(
    "MG12",
    "[MG] §5.1, Lemma 3",
    "Under the send and receive conditions, who has no strong crown of size 2 has no crown of size 2.",
    {"↦ as printed": "proved", "↦ as §5 needs it": "proved"},
    reading="crowns by ↦ as printed, or as §5 needs it (MG10), which is wider; of two distinct messages (MG2)",
)
def mg12(quick: bool) -> list[Evidence]:
    return [conditions.lemma_3() & conditions.maps_to_holds_what_is_printed(), conditions.lemma_3()]


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
def mg13(quick: bool) -> list[Evidence]:
    split = _counterexample("mg13")
    no_strong = split.send_condition() and split.receive_condition() and split.ranked()
    no_strong &= not split.crown_sizes(split.precedes)
    title = "SC, RC and PR hold, c1 is a control message; a crown m1, m2, m3 by ↦, and no strong crown"
    broken = (
        found(title, split.whole, "counterexample-mg13")
        & _is_smallest(quick, search.none_smaller_against_lemma_4)
        & fact(no_strong, f"{_size_of(split)} have SC, RC, and PR, which the lemma does not ask for; no strong crown")
    )

    def has_crown(before: Callable[[int, int], bool], name: str) -> Evidence:
        sizes = split.crown_sizes(before)
        return (broken & fact(bool(sizes), f"crowns of sizes {sizes} by {name}")).refutes()

    lacks = fact(not split.strong_receive_condition(), "the counterexample lacks the stronger condition")
    return [
        has_crown(split.maps_to_as_printed, "↦ as printed"),
        has_crown(split.maps_to, "the wider ↦"),
        conditions.lemma_4() & conditions.maps_to_holds_what_is_printed() & lacks,
    ]


def _counterexample(name: str) -> Split:
    return split_by_names(bundled.computation(f"counterexample-{name}"))


def _size_of(split: Split) -> str:
    control = len(split.whole.messages) - len(split.own)
    return f"{len(split.whole.processes)} processes, {len(split.own)} messages and {some(control, 'control message')}"


def _is_smallest(quick: bool, none_smaller: Callable[[], bool], scope: str = NONE_SMALLER) -> Evidence:
    """No smaller one than the bundled counterexample exists; only the full run checks this."""
    return fact(True, "", LEFT_TO_THE_FULL_RUN) if quick else fact(none_smaller(), "", f"z3: {scope}")


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
def mg14(quick: bool) -> list[Evidence]:
    split = _counterexample("mg14")
    has_all = split.send_condition() and split.receive_condition() and split.ranked() and split.answers_only()
    watch = monitored(machines.MonitoredAcknowledgements, 3 if quick else 4, 3)
    title = "what the application sees of it: a crown"
    return [
        (
            found("SC, RC and PR hold, c1 acknowledges m3", split.whole, "counterexample-mg14")
            & _is_smallest(quick, search.none_smaller_against_theorem_6)
            & found(title, split.application, "counterexample-mg14-application")
            & fact(
                has_all and not decide(split.application, "synchronous").kept,
                f"{_size_of(split)}, an acknowledgement, have all three, and are not synchronous",
            )
        ).refutes(),
        conditions.theorem_6()
        & conditions.theorem_5()
        & keep(watch, "SC", "RC+", "PR")
        & fact(not split.strong_receive_condition(), "the counterexample lacks the stronger condition"),
    ]


@claim(
    "MG15",
    "[MG] §5.1, Theorem 7",
    "Whatever satisfies the send protocol and the receive protocol is synchronous.",
    "proved",
    reading="by their formulas alone, in any order and without priorities, so also by their words; every message is "
    "received and acknowledged, as §4.3 has it. The printed proof rests on Lemma 4, which is false as printed (MG13)",
)
def mg15(quick: bool) -> Evidence:
    return theorem_7()


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
def mg16(quick: bool) -> list[Evidence]:
    silent = explored(NeverAcknowledges(2), Free(2, 2), orders=("asynchronous",))
    title = "SP, RP and PR hold by their formulas, nothing is acknowledged, and P2 may not send again"
    return [proved("murty-garg", "live"), breaks(silent, "never-blocks", title).refutes()]


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
def mg17(quick: bool) -> list[Evidence]:
    m = 3 if quick else 4
    at_ack = first_run_that_breaks("synchronous", CommitsAtAcknowledgement, 3, 3)
    overtaken = first_run_that_breaks("fifo", SendsWhenWanted, 2, 2)
    over_fifo = first_run_that_breaks("causal", SendsWhenWanted, 3, 3, "fifo")
    any_order = [first_run_that_breaks("in-order", MurtyGarg, 3, 2, channel) for channel in CHANNELS]
    to_one = first_run_that_breaks("in-order-to-one", MurtyGarg, 2, 2)
    kept = first_run_that_breaks("in-order-to-one", MurtyGarg, 3, m, "fifo")
    return [
        proved("murty-garg", "safe", "live") & fact(True, "", NO_CROWN_IN_WORDS),
        found(
            "not synchronous, if sends are committed at the acknowledgement", at_ack, "counterexample-mg17-commit"
        ).refutes(),
        (
            found("not FIFO, if sends are where they are wanted", overtaken)
            & found(
                "over FIFO channels, not causally ordered, if sends are where they are wanted: P1 wants m1 before m2",
                over_fifo,
                "counterexample-mg17-wanted",
            )
        ).refutes(),
        (
            found("P2 wants m1 before m2, and sends m2 first", any_order[0], "counterexample-mg17")
            & found("over FIFO channels intents are overtaken, too", any_order[1])
            & found(
                "two sends to one receiver overtake each other; a send happens when the bigger process's copy is back",
                to_one,
                "counterexample-mg17-one-receiver",
            )
        ).refutes(),
        fact(
            kept is None,
            "intents to one receiver are not overtaken over FIFO channels",
            f"every interleaving of 3 processes, up to {m} messages, fifo channel",
        ),
    ]


@claim(
    "MG18",
    "[MG] §1",
    "The algorithm that blocks its sender until the acknowledgement can deadlock; this one does not.",
    "proved",
    reading="the blocking algorithm accepts no message while it waits (`rendezvous`). That it can deadlock is shown by "
    "a run, that Fig. 8 does not is proved",
)
def mg18(quick: bool) -> Evidence:
    return (
        breaks(searched("rendezvous", 2, 2), "delivers-all", "the deadlock of the blocking algorithm")
        & ends(ran("rendezvous", "mg-fig4a"), "never")
        & ends(ran("murty-garg", "mg-fig4a"), "always")
        & proved("murty-garg", "live")
    )
