"""The claims of [MG] §2 and §3: orders, crowns, and what no protocol can do."""

from __future__ import annotations

from itertools import pairwise, permutations, product

from crownless.impl.murty_garg import MurtyGarg
from crownless.impl.registry import PROTOCOLS
from crownless.spec.computation import Computation
from crownless.spec.crowns import crowns, smallest_crown
from crownless.spec.orders import decide

from .claims import Evidence, Text, unless
from .evidence import figure, up_to
from .fig_8_variants import AcknowledgesAtOnce, SendsAtOnce, first_run_that_breaks
from .impossibility_cases import crossing, lockstep, placed_afterwards, ring, ring_cut_short
from .murty_garg_shared import bound_of, computations_up_to, shown

TEXT = Text()


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
    cases = {first: crossing(first) for first in product(("send", "receive"), repeat=2)}
    alike = [c for (p, q), c in cases.items() if p == q and c is not None]
    synchronous = [c for c in cases.values() if c is not None and decide(c, "synchronous").kept]
    symmetric = {name: kind for name, kind in PROTOCOLS.items() if kind.symmetric}
    runs = {name: lockstep(kind(2)) for name, kind in symmetric.items()}
    ends = [c for run in runs.values() for c in run.ends]
    ranked = lockstep(MurtyGarg(2))
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
    cases = {first: ring(first) for first in product(("send", "receive"), repeat=3)}
    all_receive_first = cases["receive", "receive", "receive"]
    late = [ring_cut_short(p) for p in range(3)]
    own_run = figure("mg-fig4b")
    run = first_run_that_breaks("synchronous", AcknowledgesAtOnce, 3, 3)
    placed, in_time = placed_afterwards(3, 3 if quick else 4)
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
    both_sent = crossing(("send", "send"))
    own_run = figure("mg-fig4b")
    run = first_run_that_breaks("synchronous", SendsAtOnce, 2, 2)
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
