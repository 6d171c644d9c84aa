"""The claims of Kuper [Kup] on the matrix protocol of Raynal, Schiper & Toueg."""

from collections import Counter
from functools import cache
from itertools import combinations, product
from typing import NamedTuple

import z3

from crownless.impl.protocols.rst import Rst, State
from crownless.impl.workloads import Free, Program, Workload
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.runs.runs import Run
from crownless.model_check.search.reachable import reachable, shortest_run_to
from crownless.model_check.system.request import load_program
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.protocols.rst import Counts, by_counts
from crownless.proofs.proving import ProofReport, prove
from crownless.research.theorems import deliv_is_redundant
from crownless.research.theorems.evidence import Evidence, by_z3, fact, found, none_found, together
from crownless.research.variants import for_matrices as variants

from .claim import ambiguity, claim, slip_of_print
from .gathering import breaks, explored, in_some_state, keep, live, program, proved, ran, safe, searched, system_of
from .matrices import AnyStamp, check_changes, same_guard, scripted_run

TO_ANOTHER = "self-sends are excluded, which the text does not say, though it speaks of what everybody else sends"


# -- the run -----------------------------------------------------------------------------------------------------------


class Shows(NamedTuple):
    """One action as the text shows it: the matrix on the message, and the resulting state of the process."""

    process: int
    action: str
    message: str
    carried: tuple[tuple[int, ...], ...]
    sent: tuple[tuple[int, ...], ...]
    deliv: tuple[int, ...]


NOBODY_SENT = ((0, 0, 0), (0, 0, 0), (0, 0, 0))
M1 = ((0, 0, 1), (0, 0, 0), (0, 0, 0))
#: Bob's matrix before he merges the one attached to m2.
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
#: What speaks for its captions.
TWICE = "each caption stands there twice, and the second one is right"
AT_THE_END = (State(M1_AND_M2, (0, 0, 0)), State(ALL_THREE, (1, 0, 0)), State(ALL_THREE, (1, 1, 0)))


@claim(
    "KU1",
    "[Kup] Getting started to After delivering a message",
    "Action by action, the run of Alice, Bob and Carol has every SENT and DELIV as the text gives them.",
    "checked",
    reading="the drawings are lost, and some of their captions name the wrong message or process: by the prose. "
    "Shown over FIFO channels, where the arrival of a message that has to wait is an action of its own",
)
@slip_of_print(
    "a caption has P_3 wait to deliver m_1 until after it's delivered m_3, though it receives m_3 first",
    "P_3 waits to deliver m_3 until after it's delivered m_1",
    TWICE,
)
@slip_of_print("the same caption has the dashed arrow show what happens to m_1 at P_3", "to m_3", TWICE)
@slip_of_print("a caption has P_2 deliver m_1", "P_3 delivers m_1", TWICE)
@slip_of_print("a caption has P_2 deliver m_3", "P_3 delivers m_3", TWICE)
def ku1(quick: bool) -> Evidence:
    script = load_program("kuper-program")
    run, as_taken = scripted_run(system_of(Rst(3), Program(script), channel="fifo"), [shows[:3] for shows in THE_RUN])
    as_shown = [(shows.carried, State(shows.sent, shows.deliv)) for shows in THE_RUN]
    ends = {tuple(now.locals) for now in reachable(system_of(Rst(3), Program(script))) if not now.moves}
    merged = Rst(3).after_delivering(1, Rst(3).initial(1), 0, NOBODY_SENT).sent
    return (
        found("m3 reaches Carol first, and waits for m1", run)
        & fact(as_taken == as_shown, f"{len(THE_RUN)} actions with the matrices and vectors shown")
        & fact(ends == {AT_THE_END} and merged == M2, "every interleaving ends with the same ones")
        & keep(ran("rst", "kuper-program"))
    )


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
    to_oneself = searched("rst", 2, 3, self_sends=True)
    return (
        proved("rst", "safe", "live")
        & keep(lossy, "fifo", "causal")
        & breaks(lossy, "delivers-all", "over lossy channels not all is delivered")
        & in_some_state(
            "a message that arrived waits for ever for one that is lost",
            system_of(Rst(2), Free(2, 2), channel="lossy"),
            lambda now: bool(now.system.refused(now.state)) and not now.may("deliver"),
        )
        & keep(to_oneself, "fifo", "causal")
        & breaks(to_oneself, "delivers-all", "with messages to oneself: the second waits for ever")
    )


@claim(
    "KU3",
    "[Kup] footnote 1",
    "Causal broadcast, given messages to one process each, delivers in causal order, but not all.",
    "checked",
)
def ku3(quick: bool) -> Evidence:
    result = searched("cbcast", 3, 4 if quick else 5, sends="unicast")
    return (
        keep(result, "fifo", "causal")
        & breaks(result, "delivers-all", "the second message waits for one that is for another process")
        & keep(searched("cbcast", 2, 5, sends="unicast")).saying("not so with two processes")
    )


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
    because = f"{len(claims)} claims that DELIV is the own column of SENT, of the protocol's own steps over any channel"
    title = "with messages to oneself: DELIV and the column differ"
    to_oneself, without = (searched(name, 2, 3, self_sends=True) for name in ("rst", "rst-sent-alone"))
    return (
        by_z3(because, claims)
        & proved("rst-sent-alone")
        & breaks(to_oneself, "deliv-equals-sent-column", title)
        & breaks(without, "fifo", "with messages to oneself, without DELIV: not even FIFO")
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
    smaller = [searched("rst-column", 2, 4 if quick else 5), searched("rst-column", 3, 2)]
    because = "the guard is the same for any two matrices with the same column"
    return (
        by_z3(because, [_one_column_is_checked()], scope="the guard: any n").beside()
        & breaks(result, "causal", "P2 does not pass on what it received")
        & breaks(over_fifo, "causal", "so does it over FIFO channels")
        & keep(result, "fifo")
        & keep(smaller)
    )


def _one_column_is_checked() -> Claim:
    some = AnyStamp()
    same_column = some.every(lambda k: some.one[k][some.i] == some.other[k][some.i])
    same_guard = some.deliverable(some.one) == some.deliverable(some.other)
    return Claim("one column is checked", {"the columns are the same": same_column}, same_guard)


@claim(
    "KU6",
    "[Kup] Bob's fateful message to Carol",
    "A message need not carry to its receiver what that one can never pass on.",
    "checked",
    reading="who may ever send to whom is known to all; entry (k, l) goes to j only if a path leads from j to l",
)
def ku6(quick: bool) -> Evidence:
    n, m = (3, 3) if quick else (3, 4)
    sets = _link_sets(n, up_to=2 if quick else n * (n - 1))
    thinned = [(variants.TellsWhatMayBeRelayed(n, links), variants.Linked(n, m, links)) for links in sets]
    thinner = sum(len(machine.reaches) < n * n for machine, _ in thinned)
    # P2 is assumed to send nothing, but sends: what it received is then insufficient.
    wrong = explored(variants.TellsWhatMayBeRelayed(3, frozenset({(0, 1), (0, 2), (2, 0), (2, 1)})), Free(3, 3))
    which = f"{len(sets)} sets of links between {n} processes, {'up to two links' if quick else 'which are all'}"
    same = all(same_guard(machine, Rst(n), workload).shows for machine, workload in thinned)
    return (
        fact(same and thinner > 0, f"over {which}, {thinner} of which let something be left out, the same guard as rst")
        & keep([explored(*each) for each in thinned])
        & breaks(wrong, "causal", "P2 was taken to send nothing")
    )


@cache
def _link_sets(n: int, up_to: int) -> list[frozenset[tuple[int, int]]]:
    """Every non-empty set of that many links between processes."""
    links = [(p, q) for p, q in product(range(n), repeat=2) if p != q]
    return [frozenset(some) for r in range(1, up_to + 1) for some in combinations(links, r)]


# -- increment before sending ------------------------------------------------------------------------------------------


@claim(
    "KU7",
    "[Kup] Discussion",
    "If SENT is incremented before it is attached, and the guard and the updates follow suit, nothing else changes.",
    "proved",
    reading="'one more' replaces ≥ for the sender, since beside it nothing is ever delivered; self-sends are excluded",
)
@slip_of_print(
    "P_i would have to check SENT_j[j, i], which P_j may have incremented again since it sent m",
    "SENT_m[j, i], of the matrix attached to m",
)
def ku7(quick: bool) -> Evidence:
    first_two = check_changes(3, 3, "attach SENT after the increment", variants.ONE_MORE)
    same = fact(True, "each of them delivers exactly when causal order allows it")
    return proved(_with_deliv()) & proved("rst-before") & proved("rst") & keep(first_two) & same


@cache
def _with_deliv() -> ProofReport:
    """The proof for the form that the text has in mind, which keeps DELIV."""
    counts = Counts(
        lambda now, p, k, l: now.local(p).sent[k][l],
        lambda now, p, k: now.local(p).deliv[k],
        lambda run, m, k, l: run.stamp(m)[k][l] - z3.If(z3.And(k == run.sender(m), l == run.receiver(m)), 1, 0),
    )
    return prove("rst-before with DELIV", by_counts(variants.IncrementsBefore, counts))


# -- broadcasts --------------------------------------------------------------------------------------------------------


@claim(
    "KU8",
    "[Kup] Bob's fateful message to Carol",
    "After broadcasts alone, all of them delivered, everybody has the same SENT; after unicasts perhaps not.",
    {
        "by the printed updates: a receiver counts its own copy, and not the others": "refuted",
        "if each receiver counts a delivered broadcast for all its receivers": "checked",
        "if the increments come before the sending": "checked",
    },
    reading="by the printed updates a receiver learns of its own copy, and not of all others, whether a broadcast is "
    "one message or one unicast after another",
    kind="ambiguity",
    defense="it is a remark in parentheses on broadcasts, for which the text gives no updates",
)
def ku8(quick: bool) -> list[Evidence]:
    m = 3 if quick else 4
    one_by_one = program("P1: send a to P2; send b to P3\nP2: receive\nP3: receive")
    title = "one broadcast by the printed rules: P2 never counts the copy to P3"
    unicast = "one unicast: P3 knows nothing of it"
    printed = (
        found(title, _disagreement(variants.Broadcasting(3), Free(3, m, sends="broadcast")), "counterexample-ku8")
        & found(unicast, _disagreement(Rst(3), Free(3, m)), "counterexample-ku8-unicast")
        & found("one unicast after another", _disagreement(Rst(3), one_by_one))
        & none_found("two processes differ", _disagreement(Rst(2), Free(2, m + 1)), "two processes never differ")
    )
    bounds = ((2, m), (3, m), (4, 1 if quick else 2))

    def repaired(kind: type[Rst]) -> Evidence:
        agree = together(
            none_found(
                "they differ",
                _disagreement(kind(n), Free(n, broadcasts, sends="broadcast")),
                "repaired they agree wherever nothing is in flight",
                f"up to {n} processes and {broadcasts} broadcasts",
            )
            for n, broadcasts in bounds
        )
        return agree & keep(explored(kind(3), Free(3, m, sends="broadcast")))

    return [printed.refutes(), repaired(variants.BroadcastingAndCountingAll), repaired(variants.BroadcastingBefore)]


def _disagreement(machine: Rst, workload: Workload) -> Run | None:
    """A shortest run after which nothing is in flight and the SENT matrices differ."""
    return shortest_run_to(
        system_of(machine, workload), lambda now: not now.in_flight and len({local.sent for local in now.locals}) > 1
    )


# -- the pieces --------------------------------------------------------------------------------------------------------


@claim(
    "KU9",
    "[Kup] After delivering a message, Discussion",
    "The pieces have to match: whether a change of one breaks order, liveness or nothing rests with the others.",
    {
        "the pieces have to match up": "checked",
        "after delivering: 'we have to' increment SENT_i[j, i], since the sender increments after sending": "refuted",
    },
    reading="one piece changed at a time, then every two; 'nothing' means safe, live, and the guard of rst in every "
    "state",
)
@ambiguity(
    "'we have to' increment SENT_i[j, i] after delivering, if for causal delivery: without it the guard is the same",
    "that records the fact that m was sent; causal delivery needs it only if DELIV is dropped, too",
    "the sentence follows 'to record the fact that m was sent'",
)
def ku9(quick: bool) -> list[Evidence]:
    each = {name: check_changes(3, 3, name) for name in variants.CHANGES}
    effects = Counter(change.effect for change in variants.CHANGES.values())
    saves = sorted(name for name, change in variants.CHANGES.items() if change.effect == "saves")
    as_recorded = all(
        _effect(result) == variants.CHANGES[name].effect.replace("saves", "harmless") for name, result in each.items()
    )
    m = 3 if quick else 5
    harmless = {
        name: keep(check_changes(3, m, name))
        & same_guard(variants.changed(3, name), Rst(3), Free(3, 3 if quick else m - 1))
        for name in filter(_is_harmless, variants.CHANGES)
    }
    repair, break_ = _pairs()
    both_needed = frozenset({"attach SENT after the increment", variants.ONE_MORE}) in repair and bool(break_)
    spoilt = check_changes(3, 3, "read the own column of SENT", "no second increment of SENT")
    worst = min(spoilt.violations, key=lambda name: len(spoilt[name].run or ()), default="causal")
    pieces = (
        fact(
            as_recorded,
            f"of {len(each)} changes {effects['unsafe']} break order, {effects['not live']} liveness, "
            f"{effects['neither']} both, {effects['harmless'] + len(saves)} nothing, {len(saves)} of which save work "
            f"({', '.join(saves)})",
        )
        & together(harmless.values()).saying("those that break nothing are safe, live, and have the guard of rst")
        & fact(
            both_needed,
            f"two changes together, right though each is wrong: {_describe(repair)}; wrong though each is right: "
            f"{_describe(break_)}",
        )
        & breaks(each["no maximum"], "causal", "no maximum: breaks causal")
        & together(
            breaks(each[name], "delivers-all", f"{name}: breaks delivers-all")
            for name in ("attach SENT after the increment", "check every column")
        )
    )
    title = f"neither DELIV nor the second increment: breaks {worst}"
    needless = harmless["no second increment of SENT"].saying(
        "without the second increment of SENT nothing breaks, and the guard is the same"
    )
    spoils = breaks(spoilt, worst, title)
    return [pieces & spoils, (needless & spoils).refutes()]


def _effect(result: CheckResult) -> str:
    if safe(result):
        return "harmless" if live(result) else "not live"
    return "unsafe" if live(result) else "neither"


def _is_harmless(name: str) -> bool:
    return variants.CHANGES[name].effect in ("harmless", "saves")


@cache
def _pairs() -> tuple[set[frozenset[str]], set[frozenset[str]]]:
    """Two changes that are correct together and wrong alone, each on its own; and pairs for which it is the other way
    round.
    """
    repair, break_ = set[frozenset[str]](), set[frozenset[str]]()
    for pair in combinations(variants.CHANGES, 2):
        one_piece = len({variants.CHANGES[name].method for name in pair}) == 1
        right = {_is_harmless(name) for name in pair}
        if one_piece or len(right) == 2:
            continue
        broken = any(check_changes(n, m, *pair).violations for n, m in ((2, 2), (3, 3)))
        if {broken} == right:
            (break_ if broken else repair).add(frozenset(pair))
    return repair, break_


def _describe(pairs: set[frozenset[str]]) -> str:
    return ", ".join(sorted(" + ".join(sorted(pair)) for pair in pairs))
