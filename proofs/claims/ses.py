"""The claims of Schiper, Eggli & Sandoz [SES] on vector pairs."""

from __future__ import annotations

from itertools import islice

from crownless.impl.isis import Isis
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.ses import Ses
from crownless.impl.ses_delete import SesDelete
from crownless.impl.ses_multicast import SesMulticast
from crownless.impl.ses_rollback import SesRollback
from crownless.impl.unordered import Unordered
from crownless.impl.workloads import Free, Program
from crownless.model_check.check_result import CheckResult
from crownless.model_check.reachable import Reached
from crownless.spec import library, notation
from crownless.spec.clocks import CLOCKS, LamportClock, VectorClock, readings, stale_messages
from crownless.spec.computation import Computation
from crownless.spec.enumeration import computations
from crownless.spec.orders import decide

from . import multicast_pairs as pairs
from . import proof_evidence as put_to_z3
from . import vector_time_evidence as timed
from .claim import Evidence, claim, drawn
from .evidence import (
    BY_FAIRNESS_IN_WORDS,
    all_proved,
    broken_by,
    explored,
    figure,
    holds,
    is_proved,
    length,
    proof_of,
    ran,
    searched,
    states,
    within,
)

LAMPORT, VECTOR = LamportClock(), VectorClock()
FOR_EVERY_N = "any number of sites and messages, any channel; unicasts, none to oneself"
ANY_RUN_OF_CLOCKS = (
    "any number of sites and events: local ones, sends to any set of other sites, deliveries in any order whatever"
)
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
    program = ran("unordered", "ses-program-1")
    first, second = (c.send_event[m] for m in (_number(c, "M1"), _number(c, "M2")))
    in_order = all(
        clock.is_stale(readings(c, clock)[first].time, readings(c, clock)[second].time) for clock in CLOCKS.values()
    )
    fails = decide(c, "causal").kept or not in_order or broken_by(program, "causal") is None
    because = "SEND(M1) has the smaller time by Lamport's and by vector clocks, and S3 receives M2 first"
    return Evidence(not fails, "Fig. 1; " + within(program), because, drawn("Fig. 1", c))


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
    kept, differ, failing, smallest = 0, 0, None, None
    for messages in range(1, m + 1):
        for c in timed.token_computations(3, messages):
            agree = len(set(timed.updates_seen(c))) == 1
            if decide(c, "causal").kept:
                kept += 1
                failing = failing if agree else failing or c
            elif not agree:
                differ += 1
                smallest = smallest or c
    scope = (
        f"one token: 3 sites, every computation of up to {m} messages; Fig. 2 and its like for two tokens as programs"
    )
    two = figure("ses-fig2-two-tokens")
    each = all(len(set(timed.updates_seen(two, data))) == 1 for data in "WX")
    interleaved = decide(two, "causal").kept and each and len(set(timed.updates_seen(two, "WX"))) > 1
    reached = all(ran(name, "ses-fig2-two-tokens").completes != "never" for name in ("isis", "ses-multicast"))
    fig_2 = all(_fig_2_in_two_orders(kind) is None for kind in (Isis, SesMulticast))
    unordered = _fig_2_in_two_orders(Unordered)
    fails = failing is not None or None in (smallest, unordered) or not (kept and interleaved and reached and fig_2)
    because = (
        f"one order in all {kept} causal computations with a token; {differ:,} that are not causal have two; "
        "two tokens: a causal computation with two interleavings, which both protocols generate"
    )
    shown = drawn("causal: two orders of the writes", failing)
    shown += drawn("one token, not causal: two orders of the writes", smallest)
    shown += drawn("two tokens: causal, and S3 and S4 see W1 and X1 in different orders", two)
    return Evidence(not fails, scope, because, shown)


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
    fails = not all(holds(result, "causal", "delivers-all", "delivers-once") for result in results)
    because = f"causal order is kept, and all is delivered, once, in {states(*results)}"
    return Evidence(not fails, within(*results) + "; with multicasts, too, at 3 processes", because)


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
def ses4(quick: bool) -> Evidence:
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
    run = broken_by(printed, "causal")
    overtaking = broken_by(searched("isis-gc-waits", 2, 2, channel="unordered"), "delivers-once")
    again = broken_by(explored(timed.TheAskedSiteDeletesToo(2), Free(2, 2)), "delivers-once")
    deletes = all("a-message-is-deleted" in result.exploration.reached for result in repaired)
    fails = not (all(map(holds, [*fewer, *repaired])) and deletes and overtaking and again)
    because = (
        f"as printed causal order breaks in {length(run)} actions: a site forgets a message that its receiver has "
        f"not got; if acknowledgements wait for that, all holds in {states(*repaired)}; without the order of emission "
        f"({length(overtaking)} actions), or if the asked site deletes ({length(again)} actions), "
        "a message is delivered twice"
    )
    title = "as printed: P1 deletes m1 before P3 has it, and what follows comes to P3 without it"
    shown = drawn(title, run, "counterexample-ses4")
    title = "repaired, where a packet is overtaken by the acknowledgement: delivered twice"
    shown += drawn(title, overtaking, "counterexample-ses4-overtaken")
    shown += drawn("the asked site deletes too, and does not know the replica", again, "counterexample-ses4-asked")
    scope = within(printed, *repaired) + "; one site or more collect once"
    return Evidence((run is not None, not fails), scope, because, shown)


@claim(
    "SES5",
    "[SES] §4.1, Proposition 1, Fig. 3",
    "By Lamport's clocks some message arrives with a smaller time than its receiver's if causal order is broken, and "
    "also in some computations in which it is kept.",
    "checked",
    reading="of messages that do arrive; every send, delivery and local event advances the clock",
)
def ses5(quick: bool) -> Evidence:
    late = timed.late_by(LAMPORT, quick)
    smallest = timed.first_kept_and_late_by(LAMPORT)
    fig_3 = figure("ses-fig3")
    worn = searched("ses", 3, 3, clocks=tuple(CLOCKS))
    converse_fails = smallest is not None and decide(fig_3, "causal").kept and bool(stale_messages(fig_3, LAMPORT))
    protocol = holds(worn, "causal") and broken_by(worn, "lamport-times") is not None
    fails = late.broken_and_not_late is not None or not (late.broken and converse_fails and protocol)
    because = (
        f"in all {late.broken:,} computations that break causal order some message is late, and in "
        f"{late.kept_and_late:,} of the {late.kept:,} that keep it"
    )
    shown = drawn("causal order is broken, and no message late", late.broken_and_not_late)
    shown += drawn("Fig. 3, with the fewest messages: causal, and a message arrives late", smallest)
    return Evidence(not fails, timed.TIMED[quick], because, shown)


@claim(
    "SES6",
    "[SES] §4.1",
    "Of two different events one happened before the other iff its vector time is at most the other's.",
    "proved",
    reading="sends, deliveries and local events all advance the clock (SES8); what the text writes < is ≤ in every "
    "entry. E1 and E2 are two events: an event's time is at most its own",
)
def ses6(quick: bool) -> Evidence:
    compared = timed.compare_times(quick)
    shows = compared.not_in_full is None and 0 < compared.before < compared.pairs and put_to_z3.vector_time_is_proved()
    because = (
        f"z3, by induction on the run, of the clock's own code ({put_to_z3.VECTOR_TIME_CLAIMS} claims, with SES7 and "
        f"SES8); so of all {compared.pairs:,} pairs of events, {compared.before:,} of them ordered, "
        f"of {timed.TIMED[quick]}"
    )
    return Evidence(shows, ANY_RUN_OF_CLOCKS, because, drawn("it is not so here", compared.not_in_full))


@claim(
    "SES7",
    "[SES] §4.1, Lemma 1",
    "An event of a site happened before any other event whose time has at least its entry for that site.",
    "proved",
    reading="E1 and E2 are two events, since nothing happens before itself; every event advances the clock (SES8)",
)
def ses7(quick: bool) -> Evidence:
    compared = timed.compare_times(quick)
    counting_sends = next((c for c in computations(2, 1) if not timed.entry_tells(c, timed.CountsSends())), None)
    shows = compared.not_by_entry is None and compared.before > 0 and counting_sends is not None
    shows = shows and put_to_z3.vector_time_is_proved()
    because = (
        f"z3, by induction on the run, of the clock's own code; so of all {compared.pairs:,} pairs of events of "
        f"{timed.TIMED[quick]}; if deliveries did not advance the clock one message would be enough to break it"
    )
    return Evidence(shows, ANY_RUN_OF_CLOCKS, because, drawn("it is not so here", compared.not_by_entry))


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
def ses8(quick: bool) -> Evidence:
    late = timed.late_by(VECTOR, quick)
    exception = late.broken_and_not_late or late.first_kept_and_late
    worn = searched("ses", 3, 3, clocks=tuple(CLOCKS))
    without = searched("unordered", 3, 3, clocks=tuple(CLOCKS))
    protocols = holds(worn, "causal", "vector-times") and broken_by(without, "vector-times") is not None
    to_himself = timed.kept_and_late(VECTOR, computations(1, 1, self_sends=True))
    silent = timed.kept_and_late(timed.SendsDoNotTick(), computations(2, 1))
    fails = exception is not None or not (late.broken and late.kept and protocols) or None in (to_himself, silent)
    verdict = not fails and put_to_z3.vector_time_is_proved()
    shows = (verdict, silent is not None, to_himself is not None)
    because = (
        "z3, by induction on the run, of the clock's own code: a message is late where it arrives iff one that was "
        f"sent causally after it is delivered there already. So of {timed.TIMED[quick]}: late in all {late.broken:,} "
        f"that break causal order and in none of the {late.kept:,} that keep it. If sends did not advance the clock "
        "one message would be late with nothing broken; so is one message to oneself"
    )
    shown = drawn("it is not so here", exception)
    shown += drawn("if sends did not advance the clock: causal order is kept, and m1 is late", silent)
    shown += drawn("to oneself: causal order is kept, and m1 is late", to_himself)
    return Evidence(shows, ANY_RUN_OF_CLOCKS, because, shown)


@claim(
    "SES9",
    "[SES] §4.2.1, Lemma 2",
    "The time of every pair in a site's buffer is at most the site's own time.",
    "proved",
)
def ses9(quick: bool) -> Evidence:
    result = searched("ses-multicast", 3, 3, sends="multicast")
    follows = all(timed.lemma_2(kind) for kind in (Ses, SesDelete))
    fails = not (follows and is_proved("ses", "safe") and is_proved("ses-delete", "safe"))
    fails |= not holds(result, "pairs-are-of-the-past")
    fails |= not (is_proved("ses-multicast", "safe") and all_proved(pairs.lemma_2_with_multicasts()))
    because = (
        "z3 shows that it follows from what the proofs of ses, ses-delete and ses-multicast keep by induction: a "
        f"pair's entries are those of messages that the site knows; with multicasts it also holds in {states(result)}"
    )
    return Evidence(not fails, FOR_EVERY_N.replace("unicasts", "unicasts or multicasts"), because)


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
def ses10(quick: bool) -> Evidence:
    sites = 3 if quick else 4
    counted = explored(timed.CountsPairs(sites), Free(sites, 3))
    tight = holds(counted) and counted["a-pair-for-every-other"].verdict == "holds"
    steps = timed.no_pair_for_itself(Ses) and timed.older_pair_says_nothing_more(Ses) and timed.lemma_2(Ses)
    unicasts = steps and is_proved("ses", "safe", "live") and tight
    four, *smaller = (pairs.count_pairs(pairs.PairsBesides, n, m) for n, m in ((4, 2), (4, 1), (3, 3), (2, 3)))
    smallest = four.too_many is not None and not any(each.too_many for each in smaller)
    kept = unicasts and all_proved([*pairs.no_pair_for_itself(), *pairs.lemma_2_with_multicasts()])
    kept &= four.kept == 3 and all(each.kept <= 3 for each in smaller)
    multicasts = 2 if quick else 3
    replacing = pairs.count_pairs(SesMulticast, 3, multicasts)
    discarded = replacing.carried == replacing.kept == 2
    discarded &= all_proved(pairs.same_as_impl()) and is_proved("ses-multicast", "safe", "live")
    shows = (smallest, kept, max(each.for_receiver for each in (four, *smaller)) == 1, unicasts, discarded)
    because = (
        f"§1 (1) is broken: by the letter {four.carried} pairs accompany a multicast at N = 4, two for each of two "
        f"sites ({length(four.too_many)} actions). It is not broken by one multicast at N = 4, nor by up to "
        f"3 at N = 3, where {smaller[1].carried} pairs are N, though more than N − 1. §4.2.1 is not broken, z3: "
        "no site has a pair for itself, whatever accompanies messages, and it merges two pairs for one site. Nor is "
        "§4.2.2, up to these bounds. With unicasts, "
        "z3: by Lemma 2 the older pair asks for nothing that the new one does not; ses discards it, and is safe and "
        f"live; N − 1 pairs are reached, and no more, in {states(counted)}. z3: discarded with multicasts, too, the "
        "same messages are accepted and the same buffers left; then N − 1 pairs accompany a message at most, in "
        f"{replacing.states:,} states"
    )
    title = "m2 to P2 carries the pairs of m1 for P2, P3 and P4, and its own for P3 and P4: five, where N is four"
    shown = drawn(title, four.too_many, "counterexample-ses10")
    scope = (
        "§1 (1) by the letter, and §4.2.2: 4 sites and 2 multicasts, 3 sites and 3, 2 sites and 3; ORD_BUFF: "
        f"{FOR_EVERY_N.replace('unicasts', 'unicasts or multicasts')}; discarded: 3 sites, {multicasts} multicasts; "
        f"{BY_FAIRNESS_IN_WORDS}"
    )
    return Evidence(shows, scope, because, shown)


@claim("SES11", "[SES] §4.2.1", "The protocol needs no FIFO channel.", "proved")
def ses11(quick: bool) -> Evidence:
    results = [searched("ses", 3, 3 if quick else 4, channel="unordered"), searched("ses", 2, 4, channel="unordered")]
    overtaken = searched("unordered", 3, 3)
    fails = not (is_proved("ses", "safe", "live") and all(map(holds, results))) or holds(overtaken, "fifo")
    because = (
        "z3 shows it safe and live where any packet may overtake any other; and every interleaving over such a channel "
        f"keeps FIFO and causal order, in {states(*results)}"
    )
    return Evidence(not fails, f"{FOR_EVERY_N}; {BY_FAIRNESS_IN_WORDS}", because)


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
def ses12(quick: bool) -> Evidence:
    bounds = [(3, 3), (4, 2)] if quick else [(3, 4), (4, 3)]
    results = [searched("ses-multicast", n, m, sends="multicast") for n, m in bounds]
    by_letter = explored(pairs.PairsBesides(3), Free(3, 2 if quick else 3, sends="multicast"))
    no_pairs = explored(pairs.EntersNoPairs(3), Free(3, 2, sends="multicast"))
    replaced = is_proved("ses-multicast") and all(map(holds, results))
    same = all_proved([*pairs.same_as_impl(), *pairs.lemma_2_with_multicasts()])
    dropped = explored(pairs.DropsPairsBesides(3), Free(3, 2, sends="multicast"))
    besides = holds(by_letter) and same and "causal" in dropped.violations and replaced
    shows = (besides, replaced, "causal" in no_pairs.violations)
    because = (
        "z3: for every n, by Lemma 2, pairs besides older ones make for the same guard and leave the same buffers as "
        "pairs in their place; and it shows that protocol safe, optimal and live, of its own code, for messages to any "
        f"set of others. By the letter nothing breaks in {states(by_letter)}, in their place in "
        f"{states(*results)}. If sites did not merge those pairs, or the sender's buffer got none, causal order would "
        f"break in {length(broken_by(dropped, 'causal'))} and {length(broken_by(no_pairs, 'causal'))} actions"
    )
    run = broken_by(no_pairs, "causal")
    shown = drawn("the sender's buffer gets no pair of a multicast: m2 overtakes m1", run)
    scope = f"{FOR_EVERY_N.replace('unicasts', 'multicasts')}; {BY_FAIRNESS_IN_WORDS}"
    return Evidence(shows, scope, because, shown)


@claim(
    "SES13",
    "[SES] §4.2.2",
    "Two pairs for one site may be merged into one with the greater of every two entries.",
    "proved",
)
def ses13(quick: bool) -> Evidence:
    fails = not (timed.merged_pair_says_the_same(Ses) and is_proved("ses", "safe", "live"))
    because = "z3: a time has passed the merged pair iff it has passed both; and ses, which merges, is safe and live"
    return Evidence(not fails, f"{FOR_EVERY_N}; {BY_FAIRNESS_IN_WORDS}", because)


@claim(
    "SES14",
    "[SES] §4.2.4",
    "A site may delete the pair of the site whose message it delivers, if the message's time has passed it: that "
    "keeps safety and liveness.",
    "proved",
    reading="compared with the buffer as merged; the message brings no pair for its own sender, so it is the same",
)
def ses14(quick: bool) -> Evidence:
    multicasts = 2 if quick else 3
    several = explored(timed.SesDeleteMulticast(3), Free(3, multicasts, sends="multicast"))
    deletes = searched("ses-delete", 3, 3).exploration.states != searched("ses", 3, 3).exploration.states
    fails = not is_proved("ses-delete") or not holds(several) or not deletes
    because = (
        "z3 shows ses-delete safe, optimal and live, of the protocol's own code; with multicasts, too, nothing breaks "
        f"in {states(several)}"
    )
    scope = f"{FOR_EVERY_N}; {BY_FAIRNESS_IN_WORDS}; multicasts: 3 sites, up to {multicasts} messages"
    return Evidence(not fails, scope, because)


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
def ses15(quick: bool) -> Evidence:
    on_arrival = broken_by(explored(timed.LearnsTheTimeOnArrival(2), Free(2, 2)), "causal")
    to_himself = broken_by(explored(timed.SesToOneself(1), Free(1, 2, self_sends=True)), "causal")
    fails = not is_proved("ses", "safe") or on_arrival is None or to_himself is None
    because = (
        f"z3 shows {len(proof_of('ses').claims)} claims, of the protocol's own code; if the clock advanced on arrival, "
        f"causal order would break in {length(on_arrival)} actions, and by messages to oneself in "
        f"{length(to_himself)}"
    )
    shown = drawn("the other reading, the clock advances on arrival: m2 opens its own way", on_arrival)
    verdict = not fails
    return Evidence((verdict, on_arrival is not None, to_himself is not None), FOR_EVERY_N, because, shown)


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
    any_entry = timed.first_run(
        timed.remembering(Ses, Free(3, 3)),
        lambda now: any(
            not timed.numbers_a_message_for(now, s, packet, i) for sites, s, packet in timed.missing(now) for i in sites
        ),
    )
    no_entry = timed.first_run(
        timed.remembering(Ses, Free(n, m)),
        lambda now: any(
            not any(timed.numbers_a_message_for(now, s, packet, i) for i in sites)
            for sites, s, packet in timed.missing(now)
        ),
    )
    fails = not is_proved("ses", "live") or no_entry is not None
    because = (
        "z3 shows that of the messages in flight the one sent first is accepted, so that each is delivered in turn"
    )
    if any_entry is not None:
        because += (
            f"; a step of the printed proof fails in {any_entry.length} actions, and holds of some entry of every "
            f"message that waits, with {n} sites and {m} messages"
        )
    title = "m3 waits at P3 with a pair that counts P1's event, which is a message to P2"
    shown = drawn(title, any_entry and any_entry.run, "counterexample-ses16")
    scope = f"{FOR_EVERY_N}; fair scheduling, nothing is lost; {BY_FAIRNESS_IN_WORDS}"
    return Evidence(not fails, scope, because, shown)


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
    pairs = [searched("ses", n, m, crash="P1") for n, m in bounds]
    isis = [searched("isis", n, m, crash="P1") for n, m in bounds]
    isis.append(searched("isis", 3, 2 if quick else 3, crash="P1", sends="multicast"))
    program = Program(notation.parse(FIG_6_AND_ON))
    stuck = timed.first_run(timed.remembering(Ses, program, "S1"), _all_wait_for_m1)
    passed, whole = (timed.ended(kind(4), program, crash="S1") for kind in (Ses, Isis))
    cut_off = all(holds(result, "causal") and broken_by(result, "delivers-all") for result in pairs)
    fails = not (cut_off and is_proved("ses", "safe") and all(map(holds, isis)))
    fails |= stuck is None or passed.violations.keys() != {"delivers-all"} or not holds(whole)
    runs = [run for result in pairs if (run := broken_by(result, "delivers-all")) is not None]
    shortest = min(runs, key=lambda run: len(run.actions), default=None)
    because = (
        "never, since z3 shows that what depends on a message waits for it, lost or not; something stays undelivered "
        f"in {length(shortest)} actions; under ISIS all that survivors owe each other is delivered, in {states(*isis)}"
    )
    shown = drawn("M3 and M4 of S3, and M6 of S4, wait at S2 for M1, for ever", stuck and stuck.run)
    scope = _crashing(*pairs, *isis) + "; ISIS with multicasts, too; Fig. 6 with a fourth site"
    return Evidence(not fails, scope, because, shown)


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
def ses18(quick: bool) -> Evidence:
    program = Program(notation.parse(ONCE_MORE))
    once, again = (timed.ended(kind(3), program, crash="S1") for kind in (timed.AgreesOnlyOnce, SesRollback))
    at_rest = timed.first_run(
        timed.remembering(timed.AgreesOnlyOnce, program, "S1"),
        timed.somebody_waits_for_ever,
        only={"agree": timed.is_at_rest},
    )
    few = 2 if quick else 4
    fewer = explored(timed.AgreesOnlyOnce(3), Free(3, few), crash="P1")
    results = [searched("ses-rollback", n, m, crash="P1") for n, m in ([(3, 3)] if quick else [(3, 4), (4, 2)])]
    texts = islice(timed.programs_of_five((1,)), 6, 9) if quick else timed.programs_of_five(range(5))
    alike = [Program(notation.parse(text)) for text in texts]
    blocked = sum(bool(timed.ended(timed.AgreesOnlyOnce(3), each, crash="S1").violations) for each in alike)
    mended = all(holds(timed.ended(SesRollback(3), each, crash="S1")) for each in alike)
    not_oldest = timed.first_run(
        timed.remembering(SesRollback, Free(2, 3), "P1"),
        lambda now: (
            now.may("agree") and timed.is_at_rest(now) and timed.agreed_event(now) != timed.oldest_undelivered(now)
        ),
        only={"agree": timed.never},
        then="agree",
    )
    late, needless = (
        timed.first_run(
            timed.remembering(SesRollback, Free(n, m), "P1"),
            lambda now, delivered=delivered: (  # type: ignore[misc]
                now.may("agree") and (not delivered or timed.all_of_the_first_is_delivered(now))
            ),
            only={"lose": timed.never, "agree": timed.never},
            then="agree",
        )
        for n, m, delivered in ((2, 2, False), (3, 3, True))
    )
    scope = _crashing(*results) + f"; agreeing once: up to {few} messages, and programs with 5"
    blocks = broken_by(once, "delivers-all")
    fails = not (holds(fewer) and holds(again)) or not all(map(holds, results)) or not (blocked and mended)
    fails |= None in (at_rest, not_oldest, late, needless)
    because = (
        f"agreeing once leaves a message blocked ({length(blocks)} actions, 5 messages), even if they do "
        f"so when all that is not lost has come ({_steps(at_rest)}); the number is not that of the oldest lost message "
        f"({_steps(not_oldest)}), and sites rewind though nothing is lost "
        f"({_steps(late)}), even though all of S1 is delivered ({_steps(needless)}); agreeing again whenever there is "
        f"evidence leaves nobody blocked and keeps causal order, in {states(*results)}, and in {len(alike)} programs "
        f"like that one, in {blocked} of which agreeing once leaves somebody blocked"
    )
    title = "agreeing once: the number is 3, that of P; S3 keeps M2, and Z waits for M1"
    shown = drawn(title, at_rest and at_rest.run, "counterexample-ses18")
    title = "m1 and m2 are lost, and the number is 2: the pair tells of the younger"
    shown += drawn(title, not_oldest and not_oldest.run, "counterexample-ses18-number")
    title = "nothing is lost; m3 waits for m2 alone, and P2 undoes the delivery of m1"
    shown += drawn(title, needless and needless.run, "counterexample-ses18-needless")
    return Evidence((blocks is not None, not fails), scope, because, shown)


# -- helpers -----------------------------------------------------------------------------------------------------------


def _number(c: Computation, name: str) -> int:
    return next(m for m, message in enumerate(c.messages) if message.name == name)


def _fig_2_in_two_orders(kind: type[ProtocolMachine]) -> timed.Found | None:
    """A run of Fig. 2 in which two sites see the writes in two orders, if there is one; they take what comes."""
    text = library.path("ses-fig2").read_text(encoding="utf-8")
    for k in range(1, 5):
        text = text.replace(f"receive W{k}", "receive")
    system = timed.remembering(kind, Program(notation.parse(text)))
    return timed.first_run(system, lambda now: not timed.one_order(timed.updates(now, p) for p in range(3)))


def _all_wait_for_m1(now: Reached) -> bool:
    """All is sent, S2 has nothing, and nothing can happen any more."""
    sent = {message.name for p in range(4) for kind, message in timed.events(now, p) if kind == "send"}
    return not now.moves and len(sent) == 6 and not timed.events(now, 1)


def _crashing(*results: CheckResult) -> str:
    return within(*results) + "; P1 may crash at any time, and what it has in flight be lost"


def _steps(found: timed.Found | None) -> str:
    return "never" if found is None else f"{found.length} actions"
