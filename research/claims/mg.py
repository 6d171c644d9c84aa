"""The claims of Murty & Garg [MG] on synchronous order, and its conditions; those on Fig. 8 are in `fig_8`."""

from collections.abc import Callable

from crownless.research.theorems import conditions
from crownless.research.theorems import smallest_synchronous as search
from crownless.research.theorems.evidence import Evidence, fact, found
from crownless.research.theorems.synchronous import strong_crowns, theorem_1, theorem_2, theorem_7
from crownless.runtime.printable import some
from crownless.spec.crowns import crowns, smallest_crown
from crownless.spec.enumeration import computations
from crownless.spec.orders import decide

from . import bundled
from . import monitored_machines as machines
from .claim import ambiguity, claim, error, slip_of_print
from .fig_8 import commits_go_downhill
from .gathering import breaks, enumerated, figure, keep, proved
from .monitored_machines import monitored
from .splits import Split, split_by_names, splits_up_to

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
@slip_of_print(
    "§2.1: each process P_i consists of the set ℰ of events, which §2.2 takes for all events of the computation",
    "P_i consists of a set of events of its own, and ℰ is their union",
)
def mg1(quick: bool) -> Evidence:
    return theorem_1()


@claim(
    "MG2",
    "[MG] §2.3, Theorem 2",
    "A computation is synchronous if and only if it has no crown.",
    "proved",
    reading="k ≥ 2; pairs with different indices are different messages",
)
@ambiguity(
    "the definition gives a crown no least size; with k = 1 every message is one",
    "a crown has two messages or more",
    "the printed chain begins with s0 → r1",
)
@slip_of_print(
    "the proof calls G acyclic; but as s_i → r_i, there is an edge from v_i to itself",
    "G is acyclic without these edges",
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
    kind="ambiguity",
    defense="§4.3 introduces acknowledgements as the control messages; only §6 counts the requests of Fig. 8",
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
    "[MG] §5.1, Lemma 1",
    "If e ↦ f, and not by one message, then e ≺ f, or e ≺ s1 and r1 → f for some message, or e ⇝ g → f.",
    {
        "by the letter, of ↦ as printed, Lemma 1 holds": "proved",
        "Lemma 1 of ↦ as §5 needs it, any chain of → that leaves e's process, if it does, by a message of ℰ": "refuted",
        "of that wider ↦ Lemma 1 holds with 'before or the same' for ≺ s1 and for r1 →": "checked",
    },
    reading="by the letter it only repeats the definition of ↦ in §4.2, which is too narrow (MG25)",
    kind="ambiguity",
    defense="by the letter it repeats the definition of ↦",
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
    of_chains = conditions.lemma_1_of_chains() & fact(left_out, "by chains Lemma 1 leaves out pairs")
    return [conditions.lemma_1(), of_chains, pairs]


@claim(
    "MG11",
    "[MG] §5.1, Lemma 2",
    "Under the send condition, s1 ↦ r2 implies r1 → r2 or s1 ≺ r2.",
    {"↦ as printed": "proved", "↦ as §5 needs it": "proved"},
    not_said={"of one message, as s1 ↦ r1": "refuted"},
    reading="↦ as printed, or as §5 needs it (MG25), which is wider",
)
def mg11(quick: bool) -> list[Evidence]:
    inclusion = conditions.maps_to_holds_what_is_printed()
    return [conditions.lemma_2() & inclusion, conditions.lemma_2(), conditions.lemma_2_of_one_message().refutes()]


@claim(
    "MG12",
    "[MG] §5.1, Lemma 3",
    "Under the send and receive conditions, a computation without a strong crown of size 2 has no crown of size 2.",
    {"↦ as printed": "proved", "↦ as §5 needs it": "proved"},
    reading="crowns by ↦ as printed, or as §5 needs it (MG25), which is wider; of two distinct messages (MG2)",
)
def mg12(quick: bool) -> list[Evidence]:
    return [conditions.lemma_3() & conditions.maps_to_holds_what_is_printed(), conditions.lemma_3()]


STRONG_RC = "what follows from r2 at another process follows from r1 too, wherever s1 ≺ r2"


@claim(
    "MG13",
    "[MG] §5.1, Lemma 4",
    "Under the send and receive conditions, a crown of size k implies a strong one of size k or less.",
    {
        "crowns by ↦ as printed": "refuted",
        "crowns by ↦ as §5 needs it (MG25)": "refuted",
        f"Lemma 4 holds under a condition stronger than RC: {STRONG_RC}": "proved",
    },
    reading="AC is RC; crowns of two or more distinct messages (MG2). The printed step takes s0 ≺ r1 and r1 → r2 for "
    "s0 ↦ r2, also where the chain from r1 starts with a control message",
    kind="error",
    defense="Fig. 8 has the stronger condition, and is synchronous all the same",
)
@slip_of_print("Lemma 4 and Theorem 6 speak of AC", "of RC")
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
    return split_by_names(figure(f"counterexample-{name}"))


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
        f"Theorem 6 holds under a condition stronger than RC: {STRONG_RC}; which Fig. 8 has, as {SILENCE}": "proved",
    },
    reading="AC is RC (MG13). Control messages as §3 and §4.3 have them are acknowledgements",
    kind="error",
    defense="Fig. 8 has the stronger condition",
)
@slip_of_print(
    "the proof has P(s_i) = P(r_{i+1 mod k}) for i in {0, 2, 3, …, k − 1}; without i = 1 its chain of processes breaks",
    "for i in {0, 1, 2, …, k − 1}",
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
    "received and acknowledged, as §4.3 has it",
)
@error("the proof rests on Lemma 4, which is false (MG13)", "the claim holds, by another proof, for every n")
@slip_of_print(
    "the proof numbers the crown's messages from 0 to k − 1, and then from 1 to k",
    "from 0 to k − 1 throughout, with i + 1 taken modulo k",
)
def mg15(quick: bool) -> Evidence:
    return theorem_7()
