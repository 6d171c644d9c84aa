"""The claims of [SES] on its times, its example, Fig. 5, and the remarks and counts that its printed proof rests on."""

import re
from collections.abc import Iterator
from itertools import pairwise

from crownless.impl.protocol import Packet
from crownless.impl.protocols.ses import Ses
from crownless.impl.protocols.ses_rollback import SesRollback
from crownless.impl.workloads import Free
from crownless.model_check.search.reachable import Reached
from crownless.proofs.protocols import vector_time
from crownless.proofs.protocols.ses import SES
from crownless.research.theorems.evidence import Evidence, by_z3, fact, found
from crownless.research.theorems.waiting_messages import at_most_the_sum
from crownless.spec import library
from crownless.spec.computation import Message

from . import pairs
from .claim import ambiguity, claim, error
from .failures import NOTHING_FOR_ONESELF, events, first_run, missing, remembering
from .gathering import in_every_state, in_some_state, program, proved, system_of
from .programs import ARRIVALS
from .vector_time import vector_time_by_z3


@claim(
    "SES20",
    "[SES] §4.2",
    "The times in a site's buffer are not bounded: their entries grow with the number of events.",
    "proved",
    reading="of the algorithm as it is. That an algorithm to bound them 'is an open problem' is a question; the "
    "buffers of [MF] do without times (MF12)",
)
def ses20(quick: bool) -> Evidence:
    return pairs.entries_count_events()


#: Fig. 5 with S3 and S4 open for what comes.
FIG_5 = re.sub(r"receive M\d", "receive", library.path("ses-fig5").read_text(encoding="utf-8"))


@claim(
    "SES21",
    "[SES] §4.2.3, Fig. 5",
    "M3 and M5, whose sends are concurrent, are delivered to S4 in the order of arrival; M1, M4 and M6, each sent "
    "causally after the one before, are delivered to S3 in the order of emission.",
    {
        "of the messages of Fig. 5": "checked",
        "as a rule: messages whose sends are concurrent are delivered in the order of arrival": "refuted",
    },
    reading="'are concurrent, so messages M3 and M5 are delivered in the order of arrival' is said of the figure",
)
@ambiguity(
    "messages whose sends are concurrent need not be delivered in the order of arrival",
    "messages whose sends are concurrent are delivered in the order of arrival if neither waits for a third, as in "
    "Fig. 5; its drawing is lost, so the senders of M3 to M6 are ours",
)
def ses21(quick: bool) -> list[Evidence]:
    fig_5 = remembering(Ses, program(FIG_5, "Fig. 5, its receives open"))

    def in_order(now: Reached) -> bool:
        at_s3 = [message.name for _, message in events(now, 2)]
        return at_s3 == ["M1", "M4", "M6"][: len(at_s3)]

    def waiting_at(now: Reached, s: int) -> set[str]:
        waiting = [packet.message for packet in now.system.refused(now.state) if packet.destination == s]
        return {message.name for message in waiting if message is not None}

    return [
        fact(True, "", "every interleaving of Fig. 5 as a program, its receives open, unordered channel")
        & in_every_state(
            "S3 delivers M1, M4 and M6 in this order; M3 and M5 never wait at S4, so each is delivered as it arrives",
            fig_5,
            lambda now: in_order(now) and not waiting_at(now, 3),
            monitored=True,
        )
        & in_some_state("M4 and M6 have arrived before M1, and wait", fig_5, lambda now: len(waiting_at(now, 2)) == 2),
        in_some_state(
            "m2 arrives before m3 and waits for m1; m3 is delivered first",
            system_of(SesRollback(3), program("P1: send m1 to P2; send m2 to P2\nP2: receive\nP3: send m3 to P2")),
            lambda now: now.history == ("m2", "m3") and bool(now.locals[1].log),
            "counterexample-ses21",
            history=ARRIVALS,
        ).refutes(),
    ]


@claim(
    "SES22",
    "[SES] §4.2.5, Remark 1",
    "If M1 and M2 go to one site S, and E1, the event next after SEND(M1) in a maximal sequence to SEND(M2), is of "
    "M1's sender, then M2 is accompanied by a pair for S whose time is at least M1's.",
    {"while M1 is not delivered, as the remark supposes": "proved", "M1 delivered or not": "refuted"},
    reading="'we will suppose message M1 has not yet been delivered' is said where the case is left out that E1 is the "
    f"delivery of M1. A sequence may lead through S, which keeps no pair for itself; {NOTHING_FOR_ONESELF}",
)
@ambiguity(
    "once M1 is delivered, M2 may come without a pair for S, even if E1 is an event of M1's sender",
    "while M1 is not delivered, M2 comes with a pair for S whose time is at least M1's",
    "that M1 is not delivered is supposed in the remark, where the first case is left out",
)
def ses22(quick: bool) -> list[Evidence]:
    def without_pair(now: Reached) -> bool:
        return any(
            kind == then == "send"
            and packet.destination == sent.receiver
            and packet.stamp.buffer[sent.receiver][i] < number < packet.stamp.time[i]
            for i in range(3)
            for number, ((kind, sent), (then, _)) in enumerate(pairwise(events(now, i)), 1)
            for packet in now.in_flight
        )

    invariant = "a message has a pair for what happened before"
    run = first_run(remembering(Ses, Free(3, 4)), without_pair)
    title = "M1 is m1, M2 is m4: the way leads through P2, and m4 comes back to it without a pair"
    return [
        proved("ses", "safe")
        & fact(invariant in SES.safe_by, f"which rests on this: {invariant}, unless that is delivered"),
        found(title, run, "counterexample-ses22").refutes(),
    ]


@claim(
    "SES23",
    "[SES] §4.2.5, Remark 2",
    "A site other than M1's sender S_i has a time whose entry for S_i is at least that of M1 only if it has received a "
    "message M with SEND(M1) → SEND(M).",
    {
        "by the letter": "refuted",
        "M1 itself, or such a message, as §4.2.1 has it": "proved",
        "at a site that has not received M1, as the proof has it": "proved",
    },
    reading="S' is 'any other site' than S_i, so it may be the one to which M1 goes; no event happened before itself",
)
@ambiguity(
    "the site that receives M1 itself has such a time, and SEND(M1) did not happen before itself",
    "it has received M1, or a message M with SEND(M1) → SEND(M)",
    "the proof uses it of a site that has not received M1; and §4.2.1, to which the remark refers, has M1, too",
)
def ses23(quick: bool) -> list[Evidence]:
    of_m1 = in_some_state(
        "P2 has received m1 alone, and its time has m1's entry",
        system_of(Ses(2), Free(2, 1)),
        lambda now: now.locals[1].time[0] >= 1,
        "counterexample-ses23",
    )
    learnt = by_z3(
        "where a time has an event's entry at another site, the message of that event is received there, or one that "
        "was sent causally after it",
        [vector_time.remark_2()],
        scope="",
    )
    repaired = vector_time_by_z3() & learnt
    return [(fact(True, "", "2 sites, 1 message") & of_m1).refutes(), repaired, repaired]


@claim(
    "SES27",
    "[SES] §4.2.5, liveness",
    "The messages that must be delivered to S before a waiting message M are fewer than the sum of all positive "
    "VT[i] − VT(S)[i].",
    {"smaller than the sum": "refuted", "not more than the sum": "proved"},
    reading="(S, VT) is M's pair when it has arrived; before M must come what was sent to S causally before it",
)
@error(
    "a message that waits for one message alone waits for as many as the sum",
    "they are at most the sum; the proof needs only that they are finitely many",
)
def ses27(quick: bool) -> list[Evidence]:
    n, m = (3, 3) if quick else (3, 4)

    def counts(now: Reached) -> Iterator[tuple[int, int]]:
        """For each message that waits: how many undelivered ones were sent causally before it to S, and the sum."""
        for sites, s, packet in missing(now):
            yield (
                len(_missing_before(now, packet)),
                sum(packet.stamp.buffer[s][i] - now.locals[s].time[i] for i in sites),
            )

    too_many = first_run(remembering(Ses, Free(2, 2)), lambda now: any(owed >= most for owed, most in counts(now)))
    at_most = in_every_state(
        "no message waits for more messages than the sum",
        remembering(Ses, Free(n, m)),
        lambda now: all(owed <= most for owed, most in counts(now)),
        where=lambda now: any(counts(now)),
        monitored=True,
    )
    return [
        found("m2 must wait for m1; the sum is 1: (1,0) − (0,0)", too_many, "counterexample-ses27").refutes(),
        at_most_the_sum()
        & proved("ses", "safe")
        & at_most
        & fact(True, "", f"every interleaving of {n} sites and {m} messages, unordered channel"),
    ]


@claim(
    "SES28",
    "[SES] §5",
    "A pair (S, VT) on a message M indicates that at least one message preceding M must still be delivered to S.",
    {
        "each pair that M carries, also for the site where it arrives": "refuted",
        "a pair for the site S where M arrives, while VT < VT(S) is not true": "proved",
    },
    reading="a message is still to be delivered to S if it was sent to S causally before M, and S has not delivered it",
    kind="ambiguity",
    defense="the sentence before has the pair delay M until VT(S) has become greater",
)
def ses28(quick: bool) -> list[Evidence]:
    def pair_of_a_delivered_message(now: Reached) -> bool:
        """True if a message is in flight to S with a pair for S, and all that was sent to S before it is delivered."""
        return any(
            any(packet.stamp.buffer[packet.destination]) and not _missing_before(now, packet)
            for packet in now.in_flight
        )

    one_by_one = {"send": lambda now: not now.in_flight}
    run = first_run(remembering(Ses, Free(2, 2)), pair_of_a_delivered_message, only=one_by_one)
    return [
        found(
            "m2 carries the pair of m1 for P2, which had delivered m1 before m2 was sent", run, "counterexample-ses28"
        ).refutes(),
        proved("ses").saying(
            "z3: a message waits only while one that was sent to its site causally before it is missing",
            pairs.FOR_UNICASTS,
        ),
    ]


def _missing_before(now: Reached, packet: Packet) -> list[Message]:
    """The messages to the same site that were sent causally before this one and are not delivered."""
    s = packet.destination
    past = [event for i in range(now.system.n) for event in events(now, i)[: packet.stamp.time[i]]]
    before = [x for kind, x in past if kind == "send" and s in x.receivers and x != packet.message]
    return [x for x in before if ("receive", x) not in events(now, s)]
