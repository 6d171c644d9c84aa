"""The claims of Schiper, Eggli & Sandoz [SES] on vector pairs."""

from __future__ import annotations

from itertools import islice

from crownless.impl.isis import Isis
from crownless.impl.protocol import Packet, ProtocolMachine
from crownless.impl.ses import Ses
from crownless.impl.ses_delete import SesDelete
from crownless.impl.ses_multicast import SesMulticast
from crownless.impl.ses_rollback import SesRollback
from crownless.impl.unordered import Unordered
from crownless.impl.variants.for_schiper_eggli_sandoz import (
    AgreesOnlyOnce,
    CountsPairs,
    DropsPairsBesides,
    EntersNoPairs,
    LearnsTheTimeOnArrival,
    PairsBesides,
    SesDeleteMulticast,
    SesToOneself,
    TheAskedSiteDeletesToo,
)
from crownless.impl.workloads import Free
from crownless.model_check.runs.runs import Run
from crownless.model_check.search.reachable import Reached
from crownless.proofs.induction.evidence import Evidence, fact, found, none_found
from crownless.spec import library
from crownless.spec.clocks import CLOCKS, LamportClock, VectorClock, readings, stale_messages
from crownless.spec.computation import Computation
from crownless.spec.enumeration import computations
from crownless.spec.orders import decide

from . import multicast_pairs as pairs
from . import vector_time as timed
from .claim import claim
from .evidence import breaks, ended, enumerated, explored, figure, keep, program, proved, ran, searched
from .vector_time import first_run, remembering

LAMPORT, VECTOR = LamportClock(), VectorClock()
NOTHING_FOR_ONESELF = "nobody sends to himself: the text has pairs for every other site"


@claim(
    "SES1",
    "[SES] §1, Fig. 1",
    "Times on messages do not order deliveries: in Fig. 1 the sends have ordered times and causal order is broken.",
    "checked",
    reading="the drawing is lost; recovered from §1 and §3",
)
def ses1(quick: bool) -> Evidence:
    c = figure("ses-fig1")
    names = {message.name: m for m, message in enumerate(c.messages)}
    first, second = (c.send_event[names[name]] for name in ("M1", "M2"))
    in_order = all(
        clock.is_stale(readings(c, clock)[first].time, readings(c, clock)[second].time) for clock in CLOCKS.values()
    )
    return (
        found("Fig. 1", c, scope="Fig. 1")
        & fact(in_order, "SEND(M1) has the smaller time by Lamport's and by vector clocks")
        & fact(not decide(c, "causal").kept, "S3 receives M2 first")
        & breaks(ran("unordered", "ses-program-1"), "causal", "and its program can run so")
    )


@claim(
    "SES2",
    "[SES] §2, Fig. 2",
    "Where the holder of one token writes to all others, causal order has all replicas apply the writes in one order; "
    "of two tokens with their data the writes may interleave differently at different replicas.",
    "checked",
    reading="a site applies its own write when it sends it; the token is a message under causal order, too",
)
def ses2(quick: bool) -> Evidence:
    m = 4 if quick else 5
    with_token = [c for messages in range(1, m + 1) for c in timed.token_computations(3, messages)]

    def agree(c: Computation, data: str = "W") -> bool:
        return len(set(timed.updates_seen(c, data))) == 1

    differ = next((c for c in with_token if not agree(c) and not decide(c, "causal").kept), None)
    two = figure("ses-fig2-two-tokens")
    interleaved = decide(two, "causal").kept and agree(two, "W") and agree(two, "X") and not agree(two, "WX")
    reached = all(ran(name, "ses-fig2-two-tokens").completes != "never" for name in ("isis", "ses-multicast"))
    fig_2 = all(_fig_2_in_two_orders(kind) is None for kind in (Isis, SesMulticast))
    return (
        enumerated(
            "with one token causal computations have one order of the writes",
            with_token,
            agree,
            where=lambda c: decide(c, "causal").kept,
            scope=f"one token: 3 sites, every computation of up to {m} messages",
            title="causal: two orders of the writes",
        )
        & found("one token, not causal: two orders of the writes", differ)
        & fact(fig_2, "both protocols keep Fig. 2 in one order", "Fig. 2 and its like for two tokens as programs")
        & found("without a protocol Fig. 2 has two orders", _fig_2_in_two_orders(Unordered))
        & found("two tokens: causal, and S3 and S4 see W1 and X1 in different orders", two)
        & fact(interleaved and reached, "both protocols generate it")
    )


@claim(
    "SES3",
    "[SES] §3",
    "The ISIS scheme, in which a message brings along all that its sender knows of, is causally ordered.",
    "checked",
    reading="a packet is taken in as a whole, its messages delivered in the order of emission",
)
def ses3(quick: bool) -> Evidence:
    n, m = (3, 3) if quick else (3, 4)
    results = [searched("isis", n, m), searched("isis", n, m, sends="multicast"), searched("isis", 4, m - 1)]
    return keep(results, "causal", "delivers-all", "delivers-once") & fact(True, "", "with multicasts, too")


@claim(
    "SES4",
    "[SES] §3",
    "A site may delete from its buffer what it has asked all others about, once all have acknowledged, if messages "
    "between two sites arrive in the order of emission; the asked site may not delete.",
    {
        "as printed, a request is acknowledged at once": "refuted",
        "acknowledged when its messages for the asked site are there": "checked",
    },
    reading="as printed, in what the text calls a simplified idea: a request is acknowledged at once. Repaired: a site "
    "acknowledges a request when it has received the messages of it that are for itself",
)
def ses4(quick: bool) -> list[Evidence]:
    once = {"rounds": (1, 0, 0)}
    printed = searched("isis-gc", 3, 3, parameters=once)
    fewer = [searched("isis-gc", 3, 2, parameters=once), searched("isis-gc", 2, 3)]
    repaired = [searched("isis-gc-waits", 3, 3, parameters=once), searched("isis-gc-waits", 2, 3)]
    if not quick:
        repaired += [
            searched("isis-gc-waits", 3, 4, parameters=once),
            searched("isis-gc-waits", 3, 2),
            searched("isis-gc-waits", 3, 3, parameters={"rounds": (1, 1, 0)}),
        ]
    deletes = all("a-message-is-deleted" in result.exploration.reached for result in repaired)
    title = "as printed: P1 deletes m1 before P3 has it, and what follows comes to P3 without it"
    return [
        breaks(printed, "causal", title, "counterexample-ses4").refutes() & keep(fewer),
        keep(repaired)
        & fact(deletes, "messages are deleted", "one site or more collect once")
        & breaks(
            searched("isis-gc-waits", 2, 2, channel="unordered"),
            "delivers-once",
            "repaired, where a packet is overtaken by the acknowledgement: delivered twice",
            "counterexample-ses4-overtaken",
        )
        & breaks(
            explored(TheAskedSiteDeletesToo(2), Free(2, 2)),
            "delivers-once",
            "the asked site deletes too, and does not know the replica",
            "counterexample-ses4-asked",
        ),
    ]


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
    smallest = timed.kept_and_late(LAMPORT, (c for n, m in bounds for c in computations(n, m)))
    fig_3 = figure("ses-fig3")
    worn = searched("ses", 3, 3, clocks=tuple(CLOCKS))
    return (
        enumerated(
            "some message is late where causal order is broken",
            timed.timed_computations(quick),
            lambda c: bool(stale_messages(c, LAMPORT)),
            where=lambda c: not decide(c, "causal").kept,
            scope=timed.TIMED[quick],
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
    return timed.vector_time_by_z3()


@claim(
    "SES7",
    "[SES] §4.1, Lemma 1",
    "An event of a site happened before any other event whose time has at least its entry for that site.",
    "proved",
    reading="E1 and E2 are two events, since nothing happens before itself; every event advances the clock (SES8)",
)
def ses7(quick: bool) -> Evidence:
    return timed.vector_time_by_z3()


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
    to_himself = timed.kept_and_late(VECTOR, computations(1, 1, self_sends=True))
    silent = timed.kept_and_late(timed.SendsDoNotTick(), computations(2, 1))
    without = searched("unordered", 3, 3, clocks=tuple(CLOCKS))
    return [
        timed.vector_time_by_z3()
        & keep(searched("ses", 3, 3, clocks=tuple(CLOCKS)), "causal", "vector-times")
        & breaks(without, "vector-times", "without a protocol a message arrives late"),
        found("if sends did not advance the clock: causal order is kept, and m1 is late", silent).refutes(),
        found("to oneself: causal order is kept, and m1 is late", to_himself).refutes(),
    ]


@claim(
    "SES9",
    "[SES] §4.2.1, Lemma 2",
    "The time of every pair in a site's buffer is at most the site's own time.",
    "proved",
)
def ses9(quick: bool) -> Evidence:
    of_unicasts = timed.lemma_2(Ses) & timed.lemma_2(SesDelete) & proved("ses", "safe") & proved("ses-delete", "safe")
    return of_unicasts & pairs.lemma_2_with_multicasts() & proved("ses-multicast", "safe", scope=pairs.FOR_MULTICASTS)


@claim(
    "SES10",
    "[SES] §1 (1), §4.2.1",
    "The information added to a message is at most N pairs; an ordering buffer has at most N − 1; of two pairs for one "
    "site the older may be discarded.",
    {
        "§1 (1), of what accompanies any message, a multicast too: at most N pairs": "refuted",
        "§4.2.1, of ORD_BUFF, the buffer that a site keeps: at most N − 1 pairs": "proved",
        "§4.2.2, of what accompanies a message: at most one pair for the site where it arrives": "checked",
        "§1 (1), where messages are to one site each: N − 1 pairs, too": "proved",
        (
            "§1 (1), where the older of two pairs for one site is discarded from what accompanies a multicast, too"
        ): "checked",
    },
    reading="§1 (1), and the abstract: the information added to messages is bounded by the number of sites, in the "
    "sense of §4.2, which counts pairs. A multicast adds the pairs of the other destinations to it (§4.2.1, end), and "
    "discarding is described of insertion in a site's own buffer alone. §4.2's and §4.2.1's N − 1 is of ORD_BUFF, the "
    "buffer of 'the site it is associated with', and §4.2.2's 'there is at most one' of the pairs for the site where a "
    "message arrives: neither is found to be broken. " + NOTHING_FOR_ONESELF[0].upper() + NOTHING_FOR_ONESELF[1:],
)
def ses10(quick: bool) -> list[Evidence]:
    sites, multicasts = (3, 2) if quick else (4, 3)
    counted = explored(CountsPairs(sites), Free(sites, 3))
    unicasts = (
        timed.no_pair_for_itself(Ses)
        & timed.older_pair_says_nothing_more(Ses)
        & timed.lemma_2(Ses)
        & proved("ses", "safe", "live")
        & keep(counted)
        & fact(counted["a-pair-for-every-other"].verdict == "holds", "N − 1 pairs are reached, and no more")
    )
    four, *smaller = (pairs.count_pairs(PairsBesides, n, m) for n, m in ((4, 2), (4, 1), (3, 3), (2, 3)))
    replacing = pairs.count_pairs(SesMulticast, 3, multicasts)
    title = "m2 to P2 carries the pairs of m1 for P2, P3 and P4, and its own for P3 and P4: five, where N is four"
    by_letter = "by the letter: 4 sites and 2 multicasts, 3 sites and 3, 2 sites and 3"
    return [
        found(title, four.too_many, "counterexample-ses10", by_letter).refutes()
        & fact(
            not any(each.too_many for each in smaller),
            "§1 (1) is not broken by one multicast at N = 4, nor by up to 3 at N = 3, where "
            f"{smaller[1].carried} pairs are N, though more than N − 1",
        ),
        unicasts
        & pairs.no_pair_for_itself()
        & pairs.lemma_2_with_multicasts()
        & fact(four.kept == 3 and all(each.kept <= 3 for each in smaller), "no buffer has more, by the letter, too"),
        fact(
            max(each.for_receiver for each in (four, *smaller)) == 1,
            "at most one pair that accompanies a message is for the site where it arrives",
            by_letter,
        ),
        unicasts,
        fact(
            replacing.carried == replacing.kept == 2 and pairs.same_as_impl().shows,
            "discarded with multicasts, too, the same messages are accepted and the same buffers left (z3); then N − 1 "
            f"pairs accompany a message at most, in {replacing.states:,} states",
            f"3 sites, {multicasts} multicasts",
        )
        & proved("ses-multicast", "safe", "live").beside(),
    ]


@claim("SES11", "[SES] §4.2.1", "The protocol needs no FIFO channel.", "proved")
def ses11(quick: bool) -> Evidence:
    results = [searched("ses", 3, 3 if quick else 4, channel="unordered"), searched("ses", 2, 4, channel="unordered")]
    title = "without the protocol FIFO is broken there"
    return proved("ses", "safe", "live") & keep(results) & breaks(searched("unordered", 3, 3), "fifo", title)


@claim(
    "SES12",
    "[SES] §4.2.1, end",
    "Where a message to several sites carries to each the pairs of the others, multicasts are causally ordered.",
    {
        "by the letter, besides the pairs of the sender's buffer": "proved",
        "in place of older pairs for the same sites, as impl has it": "proved",
        "the sender's own buffer gets no pair of a multicast, since of that the sentence says nothing": "refuted",
    },
    reading="those pairs go besides the sender's buffer, older ones for the same sites included (SES10); afterwards "
    "the sender's buffer gets the pair of every destination, by §4.2.1's rule for one",
)
def ses12(quick: bool) -> list[Evidence]:
    replaced = proved("ses-multicast", scope=pairs.FOR_MULTICASTS)
    no_pairs = explored(EntersNoPairs(3), Free(3, 2, sends="multicast"))
    dropped = explored(DropsPairsBesides(3), Free(3, 2, sends="multicast"))
    return [
        pairs.same_as_impl()
        & pairs.lemma_2_with_multicasts()
        & replaced
        & keep(explored(PairsBesides(3), Free(3, 2 if quick else 3, sends="multicast")))
        & breaks(dropped, "causal", "if sites did not merge those pairs, causal order would break"),
        replaced,
        breaks(no_pairs, "causal", "the sender's buffer gets no pair of a multicast: m2 overtakes m1").refutes(),
    ]


@claim(
    "SES13",
    "[SES] §4.2.2",
    "Two pairs for one site may be merged into one with the greater of every two entries.",
    "proved",
)
def ses13(quick: bool) -> Evidence:
    return timed.merged_pair_says_the_same(Ses) & proved("ses", "safe", "live")


@claim(
    "SES14",
    "[SES] §4.2.4",
    "A site may delete the pair of the site whose message it delivers, if the message's time has passed it: that "
    "keeps safety and liveness.",
    "proved",
    reading="compared with the buffer as merged; the message brings no pair for its own sender, so it is the same",
)
def ses14(quick: bool) -> Evidence:
    several = explored(SesDeleteMulticast(3), Free(3, 2 if quick else 3, sends="multicast"))
    deletes = searched("ses-delete", 3, 3).exploration.states != searched("ses", 3, 3).exploration.states
    return proved("ses-delete") & keep(several) & fact(deletes, "pairs are deleted")


@claim(
    "SES15",
    "[SES] §4.2.5, safety",
    "The vector-pair protocol delivers in causal order.",
    {
        "the clock advances on delivery, as the algorithm has it (§4.2.2)": "proved",
        "the clock advances on arrival, as §4.1 may be read": "refuted",
    },
    not_said={"messages to oneself, too": "refuted"},
    reading="the clock advances when a message is delivered (§4.2.2), not already when it arrives (as §4.1 may be "
    f"read); {NOTHING_FOR_ONESELF}",
)
def ses15(quick: bool) -> list[Evidence]:
    on_arrival = explored(LearnsTheTimeOnArrival(2), Free(2, 2))
    to_himself = explored(SesToOneself(1), Free(1, 2, self_sends=True))
    title = "the other reading, the clock advances on arrival: m2 opens its own way"
    return [
        proved("ses", "safe"),
        breaks(on_arrival, "causal", title).refutes(),
        breaks(to_himself, "causal", "by messages to oneself causal order would break").refutes(),
    ]


@claim(
    "SES16",
    "[SES] §4.2.5, liveness",
    "Without failures the vector-pair protocol delivers every message.",
    "proved",
    reading="what can be delivered for ever is delivered at last. The claim, not its printed proof, which takes the "
    "event that any missing entry numbers for the emission of a message to the waiting site",
)
def ses16(quick: bool) -> Evidence:
    n, m = (3, 3) if quick else (3, 4)

    def numbers(now: Reached, s: int, packet: Packet, sites: list[int]) -> list[bool]:
        return [timed.numbers_a_message_for(now, s, packet, i) for i in sites]

    any_entry = first_run(
        remembering(Ses, Free(3, 3)),
        lambda now: any(not all(numbers(now, s, packet, sites)) for sites, s, packet in timed.missing(now)),
    )
    no_entry = first_run(
        remembering(Ses, Free(n, m)),
        lambda now: any(not any(numbers(now, s, packet, sites)) for sites, s, packet in timed.missing(now)),
    )
    title = "m3 waits at P3 with a pair that counts P1's event, which is a message to P2"
    some_entry = f"the printed step holds of some entry of every message that waits, with {n} sites and {m} messages"
    return (
        proved("ses", "live")
        & found(title, any_entry, "counterexample-ses16")
        & none_found("a message waits, and no entry numbers a message for its site", no_entry, some_entry)
    )


#: Fig. 6, but that S3 goes on and another site hears from it.
FIG_6_AND_ON = """
S1: send M1 to S2; send M2 to S3
S2: receive; receive; receive; receive
S3: receive; send M3 to S2; send M4 to S2; send M5 to S4
S4: receive; send M6 to S2
"""


@claim(
    "SES17",
    "[SES] §4.3, Fig. 6",
    "If S1 dies and M1 is lost, nothing that S3 sends after M2, nor any site that then heard from it, ever reaches S2; "
    "under ISIS all of it does.",
    "checked",
    reading="of what is sent after the delivery of M2; what was sent before it still arrives",
)
def ses17(quick: bool) -> Evidence:
    bounds = [(3, 3)] if quick else [(3, 4), (4, 3)]
    vector_pairs = [searched("ses", n, m, crash="P1") for n, m in bounds]
    isis = [searched("isis", n, m, crash="P1") for n, m in bounds]
    isis.append(searched("isis", 3, 2 if quick else 3, crash="P1", sends="multicast"))
    fig_6 = program(FIG_6_AND_ON, "Fig. 6 with a fourth site")
    passed, whole = (ended(kind(4), fig_6, crash="S1") for kind in (Ses, Isis))
    stuck = first_run(remembering(Ses, fig_6, "S1"), _all_wait_for_m1)
    only_cut_off = passed.violations.keys() == {"delivers-all"} and all(
        result["delivers-all"].run is not None for result in vector_pairs
    )
    cut_off = proved("ses", "safe").saying(
        "z3: never, since what depends on a message waits for it, lost or not", "P1 may crash, and its packets be lost"
    )
    return (
        cut_off.beside()
        & keep(vector_pairs, "causal")
        & fact(only_cut_off, "something stays undelivered, in each of these checks")
        & found("M3 and M4 of S3, and M6 of S4, wait at S2 for M1, for ever", stuck)
        & keep([*isis, whole])
    )


#: Z, which waits for M1, may still be in flight when Q informs S3 of P; the number agreed on is then 3.
ONCE_MORE = """
S1: send M1 to S2; send M2 to S3; send P to S3; send Q to S3
S2: receive; receive
S3: receive; send Z to S2; receive; receive; receive; receive
"""


@claim(
    "SES18",
    "[SES] §4.3",
    "After the survivors have agreed on N, the first event of S1 of which a message is missing, and those who know of "
    "it have rewound, nobody is blocked and causal order holds.",
    {"as printed, they agree once": "refuted", "they agree again whenever a waiting message shows evidence": "checked"},
    reading="as printed they agree once. Repaired: they agree, and rewind, again whenever a waiting message shows "
    "evidence. Nothing else happens meanwhile; what depends on event N is dropped",
)
def ses18(quick: bool) -> list[Evidence]:
    once_more = program(ONCE_MORE, "agreeing once leaves a message blocked")
    once, again = (ended(kind(3), once_more, crash="S1") for kind in (AgreesOnlyOnce, SesRollback))
    at_rest = first_run(
        remembering(AgreesOnlyOnce, once_more, "S1"),
        timed.somebody_waits_for_ever,
        only={"agree": timed.is_at_rest},
    )
    results = [searched("ses-rollback", n, m, crash="P1") for n, m in ([(3, 3)] if quick else [(3, 4), (4, 2)])]
    texts = islice(timed.programs_of_five((1,)), 6, 9) if quick else timed.programs_of_five(range(5))
    alike = [program(text, "like that one") for text in texts]
    blocked = sum(bool(ended(AgreesOnlyOnce(3), each, crash="S1").violations) for each in alike)
    not_oldest = first_run(
        remembering(SesRollback, Free(2, 3), "P1"),
        lambda now: (
            now.may("agree") and timed.is_at_rest(now) and timed.agreed_event(now) != timed.oldest_undelivered(now)
        ),
        only={"agree": timed.never},
        then="agree",
    )
    late, needless = (
        first_run(
            remembering(SesRollback, Free(n, m), "P1"),
            lambda now, delivered=delivered: (  # type: ignore[misc]
                now.may("agree") and (not delivered or timed.all_of_the_first_is_delivered(now))
            ),
            only={"lose": timed.never, "agree": timed.never},
            then="agree",
        )
        for n, m, delivered in ((2, 2, False), (3, 3, True))
    )
    as_printed = (
        breaks(once, "delivers-all", "agreeing once leaves a message blocked")
        & found(
            "agreeing once: the number is 3, that of P; S3 keeps M2, and Z waits for M1",
            at_rest,
            "counterexample-ses18",
        )
        & keep(explored(AgreesOnlyOnce(3), Free(3, 2 if quick else 4), crash="P1"))
        & found(
            "m1 and m2 are lost, and the number is 2: the pair tells of the younger",
            not_oldest,
            "counterexample-ses18-number",
        )
        & found("sites rewind though nothing is lost", late)
        & found(
            "nothing is lost; m3 waits for m2 alone, and P2 undoes the delivery of m1",
            needless,
            "counterexample-ses18-needless",
        )
    )
    repaired = keep([*results, again, *(ended(SesRollback(3), each, crash="S1") for each in alike)])
    programs = f"{blocked} of {len(alike)} programs like that one in which agreeing once leaves a site blocked"
    return [as_printed.refutes(), repaired & fact(blocked > 0, programs)]


# -- helpers -----------------------------------------------------------------------------------------------------------


def _fig_2_in_two_orders(kind: type[ProtocolMachine]) -> Run | None:
    """A run of Fig. 2 in which two sites see the writes in two orders, if there is one; they take what comes."""
    text = library.path("ses-fig2").read_text(encoding="utf-8")
    for k in range(1, 5):
        text = text.replace(f"receive W{k}", "receive")
    return first_run(
        remembering(kind, program(text)), lambda now: not timed.one_order(timed.updates(now, p) for p in range(3))
    )


def _all_wait_for_m1(now: Reached) -> bool:
    """All is sent, S2 has nothing, and nothing can happen any more."""
    sent = {message.name for p in range(4) for kind, message in timed.events(now, p) if kind == "send"}
    return not now.moves and len(sent) == 6 and not timed.events(now, 1)
