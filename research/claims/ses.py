"""The claims of Schiper, Eggli & Sandoz [SES] on vector pairs; on time and failures: `vector_time`, `failures`."""

import re
from collections.abc import Collection

from crownless.impl.channels import channel_named
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.isis import Isis
from crownless.impl.protocols.ses import Ses
from crownless.impl.protocols.ses_delete import SesDelete
from crownless.impl.protocols.ses_multicast import SesMulticast
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.workloads import Free
from crownless.model_check.runs.runs import Run
from crownless.model_check.search.generating import computation_of, generate
from crownless.model_check.search.reachable import Reached
from crownless.research.theorems.evidence import Evidence, fact, found
from crownless.research.theorems.total_order import causal_follows_from_total
from crownless.research.variants import for_schiper_eggli_sandoz as variants
from crownless.spec import library
from crownless.spec.clocks import CLOCKS, readings
from crownless.spec.computation import Computation
from crownless.spec.enumeration import computations
from crownless.spec.orders import decide

from . import pairs
from .claim import ambiguity, claim, slip_of_print
from .failures import NOTHING_FOR_ONESELF, events, first_run, remembering
from .gathering import breaks, enumerated, explored, figure, keep, program, proved, ran, searched


@claim(
    "SES1",
    "[SES] §1, Fig. 1",
    "Times on messages do not order deliveries: in Fig. 1 the sends have ordered times and causal order is violated.",
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


def agree(c: Computation, updates: Collection[int]) -> bool:
    """True if the events of these messages have the same order on all lines."""
    seen = [tuple(event.message for event in line if event.message in updates) for line in c.lines]
    return len(set(seen)) == 1


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
    runs = generate(variants.TokenHolder(3), Free(3, m, sends="multicast"), channel_named("unordered"))
    with_token = [computation_of(form) for form in sorted(runs.forms, key=lambda form: (sum(map(len, form)), form))][1:]

    def writes_agree(c: Computation) -> bool:
        return agree(c, [m for m, message in enumerate(c.messages) if len(message.receivers) == 2])

    def agree_on(letters: str) -> bool:
        return agree(two, [m for m, message in enumerate(two.messages) if message.name[0] in letters])

    differ = next((c for c in with_token if not writes_agree(c) and not decide(c, "causal").kept), None)
    two = figure("ses-fig2-two-tokens")
    interleaved = decide(two, "causal").kept and agree_on("W") and agree_on("X") and not agree_on("WX")
    reached = all(ran(name, "ses-fig2-two-tokens").completes != "never" for name in ("isis", "ses-multicast"))
    fig_2 = all(_fig_2_in_two_orders(kind) is None for kind in (Isis, SesMulticast))
    return (
        enumerated(
            "with one token causal computations have one order of the writes",
            with_token,
            writes_agree,
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
    "SES19",
    "[SES] §1, §2",
    "Causal order is weaker than total order.",
    {
        "total: all events are in one total order that extends →, as in [Lam78], by which sites receive": "proved",
        "total: all sites see the messages in one order, whatever → is": "refuted",
    },
    reading="'weaker than total ordering' (§1, §2): whatever is in total order is in causal order, and not conversely. "
    "The two sites of §2's example differ in the other sense, too",
)
@ambiguity(
    "that all sites see one order does not imply causal order: all may see a message before one that it follows",
    "if every site receives messages in one total order of all events that extends →, causal order holds",
    "§1 names a total order of events, that of [Lam78]",
)
def ses19(quick: bool) -> list[Evidence]:
    two, n, m = figure("ses-fig2-two-tokens"), 3, 3 if quick else 4
    broadcasts = list(computations(3, 2, sends="broadcast"))
    backwards = next(
        c
        for c in broadcasts
        if not decide(c, "causal").kept
        and len(
            {tuple(e.message for e in line if e.kind == "receive") for line in c.lines if line[0].kind == "receive"}
        )
        == 1
    )
    return [
        causal_follows_from_total()
        & enumerated(
            "computations whose sites receive in one total order that extends → (mailbox order) are causally ordered",
            [*computations(n, m), *broadcasts],
            lambda c: decide(c, "causal").kept,
            where=lambda c: decide(c, "mailbox").kept,
            scope=f"every computation of {n} sites and {m} messages, or of 3 and 2 broadcasts",
        )
        & found("not conversely: two tokens; S3 and S4 see W1 and X1 in different orders", two)
        & fact(
            decide(two, "causal").kept and not decide(two, "mailbox").kept, "which is causal, and has no such order"
        ),
        found("P2 and P3 see one order, against that of the sends", backwards, "counterexample-ses19").refutes(),
    ]


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
    reading="as printed, in what the text calls a simplified idea: a request is acknowledged at once",
    kind="ambiguity",
    defense="the text announces a simplified idea, and does not say that a site acknowledges at once",
)
@slip_of_print(
    "after deleting M from BUFF_S, S' would not recognize the replica of M",
    "after deleting M from its own buffer, BUFF_S'",
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
            explored(variants.TheAskedSiteDeletesToo(2), Free(2, 2)),
            "delivers-once",
            "the asked site deletes too, and does not know the replica",
            "counterexample-ses4-asked",
        ),
    ]


@claim(
    "SES9",
    "[SES] §4.2.1, Lemma 2",
    "The time of every pair in a site's buffer is at most the site's own time.",
    "proved",
)
def ses9(quick: bool) -> Evidence:
    of_unicasts = pairs.lemma_2(Ses) & pairs.lemma_2(SesDelete) & proved("ses", "safe") & proved("ses-delete", "safe")
    return of_unicasts & pairs.lemma_2(SesMulticast) & proved("ses-multicast", "safe", scope=pairs.FOR_MULTICASTS)


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
    kind="ambiguity",
    defense="§4.2 bounds the buffer alone, and multicasts are described in one sentence",
)
def ses10(quick: bool) -> list[Evidence]:
    sites, multicasts = (3, 2) if quick else (4, 3)
    counted = explored(variants.CountsPairs(sites), Free(sites, 3))
    unicasts = (
        pairs.no_pair_for_itself(Ses)
        & pairs.older_pair_says_nothing_more()
        & pairs.lemma_2(Ses)
        & proved("ses", "safe", "live")
        & keep(counted)
        & fact(counted["a-pair-for-every-other"].verdict == "holds", "N − 1 pairs are reached, and no more")
    )
    four, *smaller = (pairs.count_pairs(variants.PairsBesides, n, m) for n, m in ((4, 2), (4, 1), (3, 3), (2, 3)))
    replacing = pairs.count_pairs(SesMulticast, 3, multicasts)
    title = "m2 to P2 carries the pairs of m1 for P2, P3 and P4, and its own for P3 and P4: five, where N is four"
    by_letter = "by the letter: 4 sites and 2 multicasts, 3 sites and 3, 2 sites and 3"
    return [
        found(title, four.too_many, "counterexample-ses10", by_letter).refutes()
        & fact(
            not any(each.too_many for each in smaller),
            "§1 (1) is not violated by one multicast at N = 4, nor by up to 3 at N = 3, where "
            f"{smaller[1].carried} pairs are N, though more than N − 1",
        ),
        unicasts
        & pairs.no_pair_for_itself(variants.PairsBesides)
        & pairs.lemma_2(SesMulticast)
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
    title = "without the protocol FIFO is violated there"
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
    kind="ambiguity",
)
def ses12(quick: bool) -> list[Evidence]:
    replaced = proved("ses-multicast", scope=pairs.FOR_MULTICASTS)
    no_pairs = explored(variants.EntersNoPairs(3), Free(3, 2, sends="multicast"))
    dropped = explored(variants.DropsPairsBesides(3), Free(3, 2, sends="multicast"))
    return [
        pairs.same_as_impl()
        & pairs.lemma_2(SesMulticast)
        & replaced
        & keep(explored(variants.PairsBesides(3), Free(3, 2 if quick else 3, sends="multicast")))
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
    return pairs.merged_pair_says_the_same() & proved("ses", "safe", "live")


@claim(
    "SES14",
    "[SES] §4.2.4",
    "A site may delete the pair of the site whose message it delivers, if the message's time has passed it: that "
    "keeps safety and liveness.",
    "proved",
    reading="compared with the buffer as merged; the message brings no pair for its own sender, so it is the same",
)
def ses14(quick: bool) -> Evidence:
    several = explored(variants.SesDeleteMulticast(3), Free(3, 2 if quick else 3, sends="multicast"))
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
    kind="ambiguity",
)
def ses15(quick: bool) -> list[Evidence]:
    on_arrival = explored(variants.LearnsTheTimeOnArrival(2), Free(2, 2))
    to_himself = explored(variants.SesToOneself(1), Free(1, 2, self_sends=True))
    title = "the other reading, the clock advances on arrival: m2 opens its own way"
    return [
        proved("ses", "safe"),
        breaks(on_arrival, "causal", title).refutes(),
        breaks(to_himself, "causal", "by messages to oneself causal order would break").refutes(),
    ]


def _fig_2_in_two_orders(kind: type[ProtocolMachine]) -> Run | None:
    """A run of Fig. 2 in which two sites see the writes in different orders, if there is one; messages are received in
    any order.
    """
    text = re.sub(r"receive W\d", "receive", library.path("ses-fig2").read_text(encoding="utf-8"))

    def two_orders(now: Reached) -> bool:
        lines = [tuple(message.name for _, message in events(now, p) if message.name[0] == "W") for p in range(3)]
        longest = max(lines, key=len)
        return any(line != longest[: len(line)] for line in lines)

    return first_run(remembering(kind, program(text)), two_orders)
