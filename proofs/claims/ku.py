"""The claims of Kuper [Kup] on the matrix protocol of Raynal, Schiper & Toueg."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import chain, combinations, permutations, product
from typing import NamedTuple

import z3

from crownless.impl.protocol import Packet
from crownless.impl.rst import Rst, State
from crownless.impl.workloads import Free, Program, Workload
from crownless.model_check.check_result import CheckResult
from crownless.model_check.reachable import reachable, shortest_run_to
from crownless.model_check.request import load_program
from crownless.model_check.runs import Run
from crownless.proofs import deliv_is_redundant
from crownless.proofs.branch_free import for_every_n
from crownless.proofs.proving import SHOWN, ProofReport, prove
from crownless.proofs.rst import Counts, by_counts
from crownless.proofs.terms import Terms
from crownless.proofs.theorem import Claim, theorem
from crownless.spec.computation import Message

from .claim import Evidence, claim, drawn
from .evidence import (
    BY_FAIRNESS_IN_WORDS,
    all_proved,
    broken_by,
    explored,
    holds,
    is_proved,
    length,
    live,
    proof_of,
    ran,
    safe,
    searched,
    states,
    system_of,
    within,
)
from .matrix_evidence import (
    CHANGES,
    ONE_MORE,
    SAME_GUARDS,
    Broadcasting,
    BroadcastingAndCountingAll,
    BroadcastingBefore,
    IncrementsBefore,
    Linked,
    TellsWhatMayBeRelayed,
    changed,
    check_changes,
    guards,
    program,
    scripted_run,
)

TO_ANOTHER = "nobody sends to himself, which the text does not say, though it speaks of what everybody else sends"


# -- the run -----------------------------------------------------------------------------------------------------------


class Shows(NamedTuple):
    """One action as the text shows it: the matrix on the message, and what the process has after it."""

    process: int
    action: str
    message: str
    carried: tuple[tuple[int, ...], ...]
    sent: tuple[tuple[int, ...], ...]
    deliv: tuple[int, ...]


NOBODY_SENT = ((0, 0, 0), (0, 0, 0), (0, 0, 0))
M1 = ((0, 0, 1), (0, 0, 0), (0, 0, 0))
#: Bob's matrix before he merges what came with m2.
M2 = ((0, 1, 0), (0, 0, 0), (0, 0, 0))
M1_AND_M2 = ((0, 1, 1), (0, 0, 0), (0, 0, 0))
ALL_THREE = ((0, 1, 1), (0, 0, 1), (0, 0, 0))
#: Carol receives m3 before m1, and it waits in her hold-back queue (Kuper's *mail room*).
THE_RUN = (
    Shows(0, "send", "m1", NOBODY_SENT, M1, (0, 0, 0)),
    Shows(0, "send", "m2", M1, M1_AND_M2, (0, 0, 0)),
    Shows(1, "deliver", "m2", M1, M1_AND_M2, (1, 0, 0)),
    Shows(1, "send", "m3", M1_AND_M2, ALL_THREE, (1, 0, 0)),
    Shows(2, "receive", "m3", M1_AND_M2, NOBODY_SENT, (0, 0, 0)),
    Shows(2, "deliver", "m1", NOBODY_SENT, M1, (1, 0, 0)),
    Shows(2, "deliver", "m3", M1_AND_M2, ALL_THREE, (1, 1, 0)),
)
AT_THE_END = (State(M1_AND_M2, (0, 0, 0)), State(ALL_THREE, (1, 0, 0)), State(ALL_THREE, (1, 1, 0)))


@claim(
    "KU1",
    "[Kup] Getting started to After delivering a message",
    "Action by action, the run of Alice, Bob and Carol has every SENT and DELIV as the text gives them.",
    "checked",
    reading="the drawings are lost, and some of their captions name the wrong message or process: by the prose. "
    "Shown over FIFO channels, where the arrival of a message that has to wait is an action of its own",
)
def ku1(quick: bool) -> Evidence:
    script = load_program("kuper-program")
    run, steps = scripted_run(system_of(Rst(3), Program(script), channel="fifo"), [shows[:3] for shows in THE_RUN])
    as_shown = [(shows.carried, State(shows.sent, shows.deliv)) for shows in THE_RUN]
    ends = {tuple(now.locals) for now in reachable(system_of(Rst(3), Program(script))) if not now.moves}
    machine = Rst(3)
    checks = (
        [(*(packet.stamp for packet in each.packets), each.local) for each in steps] == as_shown,
        ends == {AT_THE_END},
        machine.after_delivering(1, machine.initial(1), 0, NOBODY_SENT).sent == M2,
        holds(ran("rst", "kuper-program")),
    )
    because = (
        f"{len(THE_RUN)} actions with the matrices and vectors shown, m3 refused until m1 is delivered; "
        f"every interleaving ends with the same ones ({states(ran('rst', 'kuper-program'))})"
    )
    shown = drawn("m3 reaches Carol first, and waits for m1", run)
    return Evidence(all(checks), within(ran("rst", "kuper-program")), because, shown)


# -- safe and live -----------------------------------------------------------------------------------------------------


@claim(
    "KU2",
    "[Kup] Getting started",
    "The matrix protocol keeps causal order whatever gets lost, and delivers everything if nothing does.",
    "proved",
    reading=f"{TO_ANOTHER}; with such messages it is still safe, and not live. Under loss it is not live in that "
    "what did arrive waits for ever for what is lost",
)
def ku2(quick: bool) -> Evidence:
    lossy = searched("rst", 3, 3 if quick else 4, channel="lossy")
    waits = _waits_for_a_lost_message()
    to_oneself = searched("rst", 2, 3, self_sends=True)
    stuck = broken_by(to_oneself, "delivers-all")
    fails = not is_proved("rst", "safe", "live") or not holds(lossy, "fifo", "causal") or waits is None
    fails = (
        fails or broken_by(lossy, "delivers-all") is None or not holds(to_oneself, "fifo", "causal") or stuck is None
    )
    shown = drawn("a message that arrived waits for ever for one that is lost", waits)
    shown += drawn("with messages to oneself: the second waits for ever", stuck)
    because = (
        f"z3 shows {len(proof_of('rst').claims)} claims, safety also under loss; lossy channel: no order is broken in "
        f"{states(lossy)}, and after {length(waits)} actions a message waits for ever"
    )
    return Evidence(
        not fails,
        f"any number of processes and messages, none to its sender; {BY_FAIRNESS_IN_WORDS}",
        because,
        shown,
    )


@cache
def _waits_for_a_lost_message() -> Run | None:
    """A shortest run over a lossy channel after which a packet is there, and none will ever be accepted."""
    system = system_of(Rst(2), Free(2, 2), channel="lossy")
    return shortest_run_to(system, lambda now: bool(system.refused(now.state)) and not now.may("deliver"))


@claim(
    "KU3",
    "[Kup] footnote 1",
    "Causal broadcast, given messages to one process each, delivers in causal order, but not all.",
    "checked",
)
def ku3(quick: bool) -> Evidence:
    result = searched("cbcast", 3, 4 if quick else 5, sends="unicast")
    smaller = searched("cbcast", 2, 5, sends="unicast")
    waits = broken_by(result, "delivers-all")
    fails = not holds(result, "fifo", "causal") or waits is None
    shown = drawn("the second message waits for one that is for another process", waits)
    two = "not so with two processes" if holds(smaller) else "so already with two processes"
    because = (
        f"fifo and causal order kept in {states(result)}; a message waits for ever after {length(waits)} actions, {two}"
    )
    return Evidence(not fails, within(result), because, shown)


# -- DELIV -------------------------------------------------------------------------------------------------------------


@claim(
    "KU4",
    "[Kup] Question: Is DELIV redundant?",
    "What a process has delivered from each, its own column of SENT shows at any moment: DELIV is not needed.",
    "proved",
    reading=f"{TO_ANOTHER}; one message to oneself is enough for the two to differ",
)
def ku4(quick: bool) -> Evidence:
    claims = deliv_is_redundant.claims()
    fails = not all_proved(claims) or not is_proved("rst-sent-alone")
    to_oneself = searched("rst", 2, 3, self_sends=True)
    without = searched("rst-sent-alone", 2, 3, self_sends=True)
    shown = drawn(
        "with messages to oneself: DELIV and the column differ", broken_by(to_oneself, "deliv-equals-sent-column")
    )
    shown += drawn("with messages to oneself, without DELIV: not even FIFO", broken_by(without, "fifo"))
    because = (
        f"z3 shows {len(claims)} claims, of the protocol's own steps over any channel, and "
        f"{len(proof_of('rst-sent-alone').claims)} "
        f"of the protocol without DELIV; with messages to oneself the equality fails and that protocol breaks "
        f"{', '.join(name for name in ('fifo', 'causal') if broken_by(without, name)) or 'nothing'}"
    )
    return Evidence(
        not fails,
        f"any number of processes and messages, none to its sender; {BY_FAIRNESS_IN_WORDS}",
        because,
        shown,
    )


# -- one column --------------------------------------------------------------------------------------------------------


@claim(
    "KU5",
    "[Kup] Bob's fateful message to Carol",
    "Of the matrix on a message the guard reads one column; were it sent alone, causal order would break.",
    "checked",
    reading="the column is the receiver's; FIFO order is kept all the same",
)
def ku5(quick: bool) -> Evidence:
    result = searched("rst-column", 3, 3 if quick else 4)
    over_fifo = searched("rst-column", 3, 3, channel="fifo")
    found = broken_by(result, "causal")
    smaller = [searched("rst-column", 2, 4 if quick else 5), searched("rst-column", 3, 2)]
    fails = not theorem(*_one_column_is_checked()) or found is None or broken_by(over_fifo, "causal") is None
    fails = fails or not holds(result, "fifo") or not all(holds(each) for each in smaller)
    shown = drawn("P2 does not pass on what it received", found)
    because = (
        f"z3: the guard is the same for any two matrices with the same column; causal order breaks after "
        f"{length(found)} actions, also over FIFO channels; not with two processes or two messages"
    )
    return Evidence(not fails, f"the guard: any n; {within(result, over_fifo, *smaller)}", because, shown)


def _one_column_is_checked() -> Claim:
    terms = Terms()
    machine = for_every_n(Rst, terms)
    i, j, k = (terms.any_process(name) for name in "ijk")
    state = State(terms.any_matrix("sent"), terms.any_vector("deliv"))
    one, other = terms.any_matrix("one"), terms.any_matrix("other")

    def deliverable(stamp: object) -> object:
        return machine.deliverable(i, state, Packet(j, i, "message", Message("m", j, (i,)), stamp))

    same_column = z3.ForAll([k], one[k][i] == other[k][i])
    return Claim(
        "one column is checked", {"the columns are the same": same_column}, deliverable(one) == deliverable(other)
    )


@claim(
    "KU6",
    "[Kup] Bob's fateful message to Carol",
    "A message need not carry to its receiver what that one can never pass on.",
    "checked",
    reading="who may ever send to whom is known to all; entry (k, l) goes to j only if a path leads from j to l",
)
def ku6(quick: bool) -> Evidence:
    n, m = (3, 3) if quick else (3, 4)
    bad, thinner, looked_at = [], 0, 0
    sets = _link_sets_up_to_names(n) if quick else _link_sets(n)
    for links in sets:
        beside = guards(TellsWhatMayBeRelayed(n, links), Rst(n), Linked(n, m, links))
        looked_at += beside.states
        thinned = explored(TellsWhatMayBeRelayed(n, links), Linked(n, m, links))
        if not beside.found <= SAME_GUARDS or not holds(thinned):
            bad.append(links)
        thinner += len(TellsWhatMayBeRelayed(n, links).reaches) < n * n
    # P2 is taken to send nothing, and does: what it received is then too little.
    wrong = explored(TellsWhatMayBeRelayed(3, frozenset({(0, 1), (0, 2), (2, 0), (2, 1)})), Free(3, 3))
    fails = bool(bad) or not thinner or "causal" not in wrong.violations
    which = f"all {len(sets)} sets of links between {n} processes{', up to names' * quick}"
    because = (
        f"over {which}, {thinner} of which let something be left "
        f"out, the same guard in {looked_at:,} states, safe and live; causal order breaks if one that is taken to send "
        "nothing does send"
    )
    run = broken_by(wrong, "causal")
    shown = drawn("P2 was taken to send nothing", run)
    scope = f"{n} processes, up to {m} messages, every interleaving"
    return Evidence(not fails, scope, because, shown)


def _link_sets_up_to_names(n: int) -> list[frozenset[tuple[int, int]]]:
    """One of each that differ only in which process is which."""
    seen: set[frozenset[tuple[int, int]]] = set()
    kept = []
    for links in _link_sets(n):
        if links not in seen:
            kept.append(links)
            seen |= {frozenset((image[p], image[q]) for p, q in links) for image in permutations(range(n))}
    return kept


@cache
def _link_sets(n: int) -> list[frozenset[tuple[int, int]]]:
    """Every set of links between processes but the empty one."""
    links = [(p, q) for p, q in product(range(n), repeat=2) if p != q]
    return [frozenset(some) for some in chain.from_iterable(combinations(links, r) for r in range(1, len(links) + 1))]


# -- increment before sending ------------------------------------------------------------------------------------------


@claim(
    "KU7",
    "[Kup] Discussion",
    "If SENT is incremented before it is attached, and the guard and the updates follow suit, nothing else changes.",
    "proved",
    reading="'one more' replaces ≥ for the sender, since beside it nothing is ever delivered; nobody sends to himself",
)
def ku7(quick: bool) -> Evidence:
    forms = [prove_with_deliv(), proof_of("rst-before"), proof_of("rst")]
    fails = any(form.outcome(shown) != "proved" for form in forms for shown in SHOWN)
    beside = guards(Rst(3), IncrementsBefore(3), Free(3, 3 if quick else 5))
    both = check_changes(3, 3, "attach SENT after the increment")
    first_two = check_changes(3, 3, "attach SENT after the increment", ONE_MORE)
    fails = fails or beside.found != SAME_GUARDS or not holds(first_two)
    fails = fails or "delivers-something" in both.exploration.reached
    because = (
        f"z3 shows of both forms, with DELIV and without, that they deliver exactly when causal order allows it "
        f"({sum(len(form.claims) for form in forms)} claims); beside rst the same guard in {beside.states:,} states; "
        "the increment may as well stay, as the maximum then does nothing more"
    )
    scope = f"any number of processes and messages, none to its sender; {BY_FAIRNESS_IN_WORDS}"
    return Evidence(not fails, scope, because)


@cache
def prove_with_deliv() -> ProofReport:
    """The proof of the form that the text has in mind, which keeps DELIV."""
    counts = Counts(
        lambda now, p, k, l: now.local(p).sent[k][l],
        lambda now, p, k: now.local(p).deliv[k],
        lambda run, m, k, l: run.stamp(m)[k][l] - z3.If(z3.And(k == run.sender(m), l == run.receiver(m)), 1, 0),
    )
    return prove("rst-before with DELIV", by_counts(IncrementsBefore, counts))


# -- broadcasts --------------------------------------------------------------------------------------------------------


@claim(
    "KU8",
    "[Kup] Bob's fateful message to Carol",
    "After broadcasts alone, all of them delivered, everybody has the same SENT; after unicasts perhaps not.",
    {
        "by the printed updates": "refuted",
        "if who delivers a broadcast counts it for all of its receivers": "checked",
        "if the increments come before the sending": "checked",
    },
    reading="by the printed updates a receiver learns of its own copy, and not of all others, whether a broadcast is "
    "one message or one unicast after another. They agree if who delivers a broadcast counts it for all of its "
    "receivers, or if the increments come before the sending",
)
def ku8(quick: bool) -> Evidence:
    m = 3 if quick else 4
    printed = _disagreement(Broadcasting(3), Free(3, m, sends="broadcast"))
    unicasts = _disagreement(Rst(3), Free(3, m))
    two = _disagreement(Rst(2), Free(2, m + 1))
    repaired = [
        _disagreement(kind(n), Free(n, broadcasts, sends="broadcast"))
        for kind in (BroadcastingAndCountingAll, BroadcastingBefore)
        for n, broadcasts in ((2, m), (3, m), (4, 1 if quick else 2))
    ]
    one_by_one = _disagreement(Rst(3), program("P1: send a to P2; send b to P3\nP2: receive\nP3: receive"))
    kept = [
        explored(kind(3), Free(3, m, sends="broadcast")) for kind in (BroadcastingAndCountingAll, BroadcastingBefore)
    ]
    fails = unicasts is None or two is not None or any(repaired) or not all(map(holds, kept))
    fails = fails or one_by_one is None
    because = (
        f"as printed they differ after one broadcast ({length(printed)} actions), with unicasts after "
        f"{length(unicasts)}; repaired they agree wherever nothing is in flight, causal order kept "
        f"in {states(*kept)}"
    )
    title = "one broadcast by the printed rules: P2 never counts the copy to P3"
    shown = drawn(title, printed, "counterexample-ku8")
    shown += drawn("one unicast: P3 knows nothing of it", unicasts, "counterexample-ku8-unicast")
    scope = f"up to 3 processes and {m} broadcasts, 4 processes and {1 if quick else 2}; every interleaving"
    return Evidence((printed is not None, not fails, not fails), scope, because, shown)


def _disagreement(machine: Rst, workload: Workload) -> Run | None:
    """A shortest run after which nothing is in flight, and not all have the same SENT."""
    return shortest_run_to(
        system_of(machine, workload), lambda now: not now.in_flight and len({local.sent for local in now.locals}) > 1
    )


# -- the pieces --------------------------------------------------------------------------------------------------------


@claim(
    "KU9",
    "[Kup] Discussion",
    "The pieces have to match: whether a change of one breaks order, liveness or nothing rests with the others.",
    {
        "the pieces have to match up": "checked",
        "after delivering: 'we have to' increment SENT_i[j, i], since the sender increments after sending": "refuted",
    },
    reading="one piece changed at a time, then every two; 'nothing' means safe, live, and the guard of rst in every "
    "state. What the text says of the second increment of SENT, in the list after delivering, is judged beside it",
)
def ku9(quick: bool) -> Evidence:
    found = {name: check_changes(3, 3, name) for name in CHANGES}
    effects = Counter(change.effect for change in CHANGES.values())
    saves = sorted(name for name, change in CHANGES.items() if change.effect == "saves")
    m = 3 if quick else 5
    same = {
        name: holds(check_changes(3, m, name))
        and guards(changed(3, name), Rst(3), Free(3, 3 if quick else m - 1)).found == SAME_GUARDS
        for name in filter(_is_harmless, CHANGES)
    }
    mends, break_ = _pairs()
    spoilt = check_changes(3, 3, "read the own column of SENT", "no second increment of SENT")
    shows = all(_effect(each) == CHANGES[name].effect.replace("saves", "harmless") for name, each in found.items())
    shows = shows and all(same.values()) and bool(break_) and bool(spoilt.violations)
    shows = shows and frozenset({"attach SENT after the increment", ONE_MORE}) in mends
    because = (
        f"of {len(found)} changes {effects['unsafe']} break order, {effects['not live']} liveness, "
        f"{effects['neither']} both, {effects['harmless'] + len(saves)} nothing, {len(saves)} of which save work "
        f"({'; '.join(saves)}); "
        f"two changes together: right though each is wrong: {_describe(mends)}; wrong though each is right: "
        f"{_describe(break_)}. Without the second increment of SENT nothing breaks, and the guard is the same"
    )
    shown = drawn("no maximum: breaks causal", broken_by(found["no maximum"], "causal"))
    for name in ("attach SENT after the increment", "check every column"):
        shown += drawn(f"{name}: breaks delivers-all", broken_by(found[name], "delivers-all"))
    broken = {name: each.run for name, each in spoilt.violations.items() if each.run is not None}
    worst = min(broken, key=lambda name: len(broken[name].actions), default="")
    shown += drawn(f"neither DELIV nor the second increment: breaks {worst}", broken.get(worst))
    scope = f"3 processes, up to 3 messages, what is harmless up to {m}; every interleaving, unordered channel"
    needless = same["no second increment of SENT"] and bool(spoilt.violations)
    return Evidence((shows, needless), scope, because, shown)


def _effect(result: CheckResult) -> str:
    if safe(result):
        return "harmless" if live(result) else "not live"
    return "unsafe" if live(result) else "neither"


def _is_harmless(name: str) -> bool:
    return CHANGES[name].effect in ("harmless", "saves")


@cache
def _pairs() -> tuple[set[frozenset[str]], set[frozenset[str]]]:
    """Two changes that are right together and wrong alone, each of them; and those the other way round."""
    mends, break_ = set[frozenset[str]](), set[frozenset[str]]()
    for pair in combinations(CHANGES, 2):
        one_piece = len({CHANGES[name].piece for name in pair}) == 1
        right = {_is_harmless(name) for name in pair}
        if one_piece or len(right) == 2:
            continue
        broken = any(check_changes(n, m, *pair).violations for n, m in ((2, 2), (3, 3)))
        if {broken} == right:
            (break_ if broken else mends).add(frozenset(pair))
    return mends, break_


def _describe(pairs: set[frozenset[str]]) -> str:
    return "; ".join(sorted(" + ".join(sorted(pair)) for pair in pairs))
