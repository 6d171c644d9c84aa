"""The claims of Sánchez & Álvarez [SA] on extra messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import z3

from crownless.impl.extra_messages import ExtraMessages
from crownless.impl.extra_messages import State as ExtraState
from crownless.impl.protocol import Packet, Setting
from crownless.impl.rst import Rst, State
from crownless.impl.variants.for_matrices import (
    ClearsOnce,
    ClearsTheWholeColumn,
    CountsOnce,
    ForgetsItsOwnColumn,
    ForgetsWhatItHad,
    LearnsNothing,
    ToOneself,
    WaitsForNothing,
)
from crownless.impl.workloads import Free
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.runs.runs import Run
from crownless.model_check.search.reachable import Reached, reachable, shortest_run_to
from crownless.proofs.induction.evidence import (
    Evidence,
    by_z3,
    each_alone,
    fact,
    found,
    lacking_each,
    together,
)
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.branch_free import for_every_n
from crownless.proofs.language.terms import Term, Terms
from crownless.proofs.protocols import extra_messages_constraints as constraints
from crownless.proofs.theorems.bounded import none_smaller
from crownless.proofs.theorems.pigeonhole import clearing_goes_on
from crownless.proofs.theorems.smallest_clearing import Clearings
from crownless.spec.computation import Message

from . import bundled
from .claim import claim
from .evidence import (
    breaks,
    enumerated,
    explored,
    in_every_state,
    in_some_state,
    keep,
    program,
    proved,
    searched,
    system_of,
)
from .matrices import LockstepProduct, guards_in, same_guard

ANY_THRESHOLD = (
    "any number of processes and messages, none to oneself, extra messages at any time; that the machine sends them so "
    "is shown up to 4 processes"
)
ANY_MATRIX = "any number of processes, any matrices and any DELIV"

#: Where P1 has heard from both others its matrix has four entries, the least threshold that the text allows for n = 3.
FOUR_ENTRIES = """
P1: send a to P2; send b to P3; receive; receive; send c to P2
P2: send d to P3; send e to P1; receive; receive; receive
P3: send f to P2; send g to P1; receive; receive
"""

#: P1 learns of four messages at once, and then has seven entries.
SEVEN_ENTRIES = """
P1: send a to P3; send b to P4; send c to P2; receive
P2: send d to P3; send e to P4; receive h; receive j; send f to P1
P3: send g to P4; send h to P2
P4: send i to P3; send j to P2
"""


def never(n: int) -> int:
    """A threshold that no matrix of n processes comes to."""
    return (n - 1) ** 2 + 1


def extra(n: int, k: Setting) -> ExtraMessages:
    return ExtraMessages(n, parameters={"k": k})


# -- §3: matrices and constraints --------------------------------------------------------------------------------------


class AnyStamp:
    """A process i of any system, what it has delivered, and two matrices that a message may carry."""

    def __init__(self) -> None:
        self.terms = terms = Terms()
        self.i, self.j, self.deliv = terms.any_process("i"), terms.any_process("j"), terms.any_vector("deliv")
        self.one, self.other = terms.any_matrix("one"), terms.any_matrix("other")

    def deliverable(self, matrix: Term) -> Term:
        """The guard of the matrix protocol, by its own code."""
        packet = Packet(self.j, self.i, "message", Message("m", self.j, (self.i,)), matrix)
        state = State(self.terms.any_matrix("sent"), self.deliv)
        return for_every_n(Rst, self.terms).deliverable(self.i, state, packet)

    def constraints(self, matrix: Term, *, but_zeroes: bool = False) -> Term:
        """Every φ_kl of the matrix: if this is P_l, then DELIV[k] ≥ M[k, l]."""

        def constraint(k: Term, l: Term) -> Term:
            stated = z3.And(self.i == l, matrix[k][l] > 0) if but_zeroes else self.i == l
            return z3.Implies(stated, self.deliv[k] >= matrix[k][l])

        return self.every(constraint, 2)

    def every(self, holds_of: Any, of: int = 1) -> Term:
        some = [z3.FreshConst(self.terms.process, "p") for _ in range(of)]
        return z3.ForAll(some, holds_of(*some))


def _kept_by_each_step(name: str, invariant: Callable[[AnyStamp, State], Term]) -> list[Claim]:
    """An invariant of process i of the matrix protocol as §3 prints it, by its own code: at the start, and kept."""
    some = AnyStamp()
    machine, i, j = for_every_n(CountsOnce, some.terms), some.i, some.j
    before = State(some.terms.any_matrix("sent"), some.deliv)
    given = {"before": invariant(some, before)}
    sending, delivering = machine.after_sending(i, before, j), machine.after_delivering(i, before, j, some.one)
    accepted = {**given, "accepted": some.deliverable(some.one)}
    return [
        Claim(f"{name}: at the start", {}, invariant(some, machine.initial(i))),
        Claim(f"{name}: kept by sending", {**given, "to another": i != j}, invariant(some, sending)),
        Claim(f"{name}: kept by delivering", accepted, invariant(some, delivering)),
    ]


@claim(
    "SA1",
    "[SA] §3",
    "A message's constraints are all met where its receiver's column passes the check, and nowhere else.",
    "proved",
)
def sa1(quick: bool) -> Evidence:
    some = AnyStamp()
    guard, every_constraint = some.deliverable(some.one), some.constraints(some.one)
    constant = [Claim("the guard is constant", {}, value) for value in (guard, z3.Not(guard))]

    def same(case: tuple[Any, tuple[int, ...], int]) -> bool:
        matrix, deliv, i = case
        n = len(deliv)
        machine = extra(n, never(n))
        packet = Packet((i + 1) % n, i, "message", None, machine.entries(matrix))
        met = all(i != l or deliv[k] >= matrix[k][l] for k in range(n) for l in range(n))
        return bool(machine.deliverable(i, ExtraState(matrix, deliv), packet)) == met

    return by_z3(
        "the guard's own code is all of the constraints",
        [Claim("the same check", {}, guard == every_constraint)],
        refuted=each_alone(constant),
        scope=ANY_MATRIX,
    ) & enumerated(
        "the guard that reads tuples is the same",
        (
            (matrix, deliv, i)
            for n, entries in ((2, 3), (3, 2))
            for matrix in _matrices(n, entries)
            for deliv in product(range(entries), repeat=n)
            for i in range(n)
        ),
        same,
    )


@claim(
    "SA2",
    "[SA] §3",
    "A zero asks for nothing, so tuples for the other entries say all that the matrix says.",
    "proved",
)
def sa2(quick: bool) -> Evidence:
    some = AnyStamp()
    not_negative = some.every(lambda k: some.deliv[k] >= 0)
    stated = some.constraints(some.one, but_zeroes=True)
    zeroes = Claim("zeroes say nothing", {"DELIV ≥ 0": not_negative}, some.deliverable(some.one) == stated)
    kept = _kept_by_each_step("DELIV ≥ 0", lambda some, state: some.every(lambda k: state.deliv[k] >= 0))
    return by_z3(
        "without the zeroes the guard is the same, given DELIV ≥ 0, which every step keeps",
        [zeroes, *kept],
        refuted=lacking_each(zeroes),
        scope=ANY_MATRIX,
    ) & enumerated(
        "matrices come back from their tuples, one for each entry that is not zero",
        (matrix for n, entries in ((2, 4), (3, 2 if quick else 3)) for matrix in _matrices(n, entries)),
        _comes_back,
        scope="the tuples: up to 3 processes",
    )


def _comes_back(matrix: Any) -> bool:
    machine = extra(len(matrix), never(len(matrix)))
    tuples = machine.entries(matrix)
    entries = sum(value > 0 for row in matrix for value in row)
    return bool(machine.matrix_of(tuples) == matrix and len(tuples) == entries)


def _matrices(n: int, values: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    for flat in product(range(values), repeat=n * n):
        yield tuple(flat[n * k : n * k + n] for k in range(n))


@claim(
    "SA3",
    "[SA] §3",
    "A process's own column is its DELIV in the matrix protocol, and zeroes may stand in its place.",
    {
        "it is DELIV by the updates as §3 prints them": "refuted",
        "it is never more than DELIV, so that zeroes may stand there": "proved",
        "it is DELIV if the receiver increments SENT, as in [RST91]": "checked",
    },
    reading="§3 has the receiver take the maximum and increment DELIV alone: then the own column is less; it equals "
    "DELIV if the receiver increments SENT as well. What is needed, and holds in both, is that it is never more",
)
def sa3(quick: bool) -> list[Evidence]:
    n, m = (3, 3) if quick else (3, 5)
    less = _kept_by_each_step(
        "the own column", lambda some, state: some.every(lambda k: state.sent[k][some.i] <= state.deliv[k])
    )
    return [
        in_some_state(
            "by the printed rules: P2's DELIV counts m1, and its own column does not",
            system_of(CountsOnce(2), Free(2, 1)),
            lambda now: any(at.sent[k][i] != at.deliv[k] for i, at in enumerate(now.locals) for k in range(2)),
            "counterexample-sa3",
        ).refutes(),
        by_z3("the own column never exceeds DELIV", less, scope="≤: any number of processes, none to oneself")
        & same_guard(ForgetsItsOwnColumn(n), Rst(n), Free(n, m))
        & keep(explored(ForgetsItsOwnColumn(n), Free(n, m))),
        keep(searched("rst", n, m), "deliv-equals-sent-column"),
    ]


@cache
def clearing_is_safe() -> Evidence:
    """What is cleared is asked for by the entry that stays; not so without that entry, or if messages did not wait for
    what they ask.
    """
    variants = [constraints.clearing_claims(kind) for kind in (ClearsTheWholeColumn, WaitsForNothing)]
    return by_z3(
        "the constraints that a message or an extra message leaves imply those before it, at any moment of the run, "
        "since its delivery implies the constraints of column j",
        constraints.clearing_claims(),
        refuted=[*variants, *each_alone(constraints.vacuity(constraints.clearing_claims))],
        scope=ANY_THRESHOLD,
    )


@claim(
    "SA4",
    "[SA] §3",
    "Once a message to j is sent, its number is all that need be kept of column j.",
    "proved",
    reading="safely: the entry that stays asks for all that the column asked for, at any moment; so no message is "
    "delivered sooner than causal order allows, nor later, while no extra message is sent",
)
def sa4(quick: bool) -> Evidence:
    n, m = 3, 4 if quick else 5
    whole = explored(ClearsTheWholeColumn(3, parameters={"k": never(3)}), Free(3, 3))
    return (
        clearing_is_safe()
        & proved("extra-messages", scope=ANY_THRESHOLD)
        & keep(searched("extra-messages", n, m, parameters={"k": never(n)}))
        & same_guard(extra(3, never(3)), Rst(3), Free(3, 3)).saying("without extra messages the same guard as rst")
        & breaks(whole, "fifo", "without that entry: FIFO breaks")
    )


# -- §3: extra messages ------------------------------------------------------------------------------------------------


@claim(
    "SA5",
    "[SA] §3",
    "An extra message only strengthens the constraints: those after it imply those before it, in the causal future.",
    {"the constraints after an extra message imply those before it": "proved"},
    not_said={"what is delivered may be delivered by the matrix protocol": "proved"},
    reading="stronger, or the same. That so nothing is delivered sooner than without extra messages is shown beside "
    "it, of the matrix protocol, which sees the same messages",
)
def sa5(quick: bool) -> list[Evidence]:
    delayed = in_some_state(
        "a message waits for an extra message, and not for causal order",
        system_of(LockstepProduct(extra(3, 4), Rst(3)), program(FOUR_ENTRIES)),
        lambda now: (False, True) in guards_in(now),
    )
    past = fact(True, "what the protocol delivers has all its past delivered, which is when rst delivers")
    sooner = proved("extra-messages", "safe", scope=ANY_THRESHOLD) & proved("rst", "optimal") & past
    return [clearing_is_safe(), sooner & delayed]


class Largest(NamedTuple):
    """The most entries that any process keeps, and that any message carries; and whether an extra message was sent."""

    kept: int
    carried: int
    any_extra: bool
    states: int


@cache
def _largest(kind: Callable[..., ExtraMessages], n: int, k: int, what: int | str) -> Largest:
    """Over the free workload of that many messages, or over a program."""
    machine = kind(n, parameters={"k": k})
    system = system_of(machine, Free(n, what) if isinstance(what, int) else program(what))
    kept, carried, any_extra, count = 0, 0, False, 0
    seen: set[int] = set()
    for now in reachable(system):
        count += 1
        for number in set(now.state[:n]) - seen:
            seen.add(number)
            kept = max(kept, len(machine.entries(system.local_state(number).matrix)))
        for step, _ in now.moves:
            for packet in system.transmitted(step):
                carried = max(carried, len(packet.stamp))
                any_extra |= packet.message is None
    return Largest(kept, carried, any_extra, count)


#: Messages of the application, and deliveries among them, of the smallest run in which one extra message is not enough.
MESSAGES, DELIVERIES = 10, 5


@claim(
    "SA6",
    "[SA] §3",
    "A threshold k from n+1 to n² bounds the entries that a process keeps and that a message carries.",
    {
        "whenever there are k entries, it goes on until there are fewer": "checked",
        "k entries are allowed, and it acts above k": "checked",
        "one extra message is all that one event gives rise to": "refuted",
    },
    reading="a process goes on until it has fewer than k: it sends an extra message whenever it has too many, and "
    "clears by extra messages, in the plural. If the singular of the informal sentence, an extra message, is all that "
    "one event gives rise to, it is false at four processes. Counted after each event, extra messages included: before "
    "them a delivery may have left more. k ≥ n-1 is enough, and thresholds above (n-1)² never act",
)
def sa6(quick: bool) -> list[Evidence]:
    left = left_by_one()
    fullest = bundled.program_of(bundled.run("counterexample-sa6"))
    cases: list[tuple[int, int | str]] = [(3, 3 if quick else 5), (3, FOUR_ENTRIES), (4, fullest)]
    cases += [] if quick else [(4, 3), (4, SEVEN_ENTRIES)]
    fits, count, too_small = True, 0, set()
    for n, what in cases:
        for k in range(1, n * n + 1):
            largest = _largest(ExtraMessages, n, k, what)
            count += largest.states
            most = max(largest.kept, largest.carried)
            fits &= (k < n or most < k) and (k < n - 1 or most <= k) and (k <= (n - 1) ** 2 or not largest.any_extra)
            too_small |= {(n, k)} if most > k else set()
    acts = _largest(ExtraMessages, 3, 4, FOUR_ENTRIES).any_extra
    patterns = _full_patterns(3)
    goes_on = clearing_goes_on().beside() & enumerated(
        "so does the code with every pattern of three processes",
        patterns,
        lambda matrix: _goes_on(ExtraMessages, matrix),
    )
    bounded = goes_on & fact(
        fits and acts and too_small == {(3, 1), (4, 1), (4, 2)},
        f"for every k from 1 to n² in {count:,} states: fewer than k kept and carried for k ≥ n, at most k for k = "
        "n-1, more only for k < n-1",
        "; ".join(f"{n} processes, up to {what} messages" for n, what in cases if isinstance(what, int))
        + f"; {sum(isinstance(what, str) for _, what in cases)} programs; every interleaving",
    )
    three = max(_largest(ClearsOnce, 3, 4, what).kept for what in (cases[0][1], FOUR_ENTRIES))
    one_is_not_enough = any(not _goes_on(ClearsOnce, matrix) for matrix in patterns)
    smallest = (
        "that the bundled run is a smallest is left to the full run"
        if quick
        else "z3: none of four processes with up to nine messages and four deliveries; and three processes keep four "
        "entries at most"
    )
    return [
        bounded,
        bounded,
        found(
            "one extra message leaves P1 with six entries, where k is 5", left, "counterexample-sa6", smallest
        ).refutes()
        & fact(
            three <= 4 and one_is_not_enough and (quick or _none_smaller()), "of a program of ten messages at n=4, k=5"
        ),
    ]


def _full_patterns(n: int) -> list[tuple[tuple[int, ...], ...]]:
    """Every pattern of n entries or more in the matrix of the last process, whose own column is zero."""
    every = _matrices(n, 2)
    return [matrix for matrix in every if not any(row[n - 1] for row in matrix) and sum(map(sum, matrix)) >= n]


def _goes_on(kind: Callable[..., ExtraMessages], matrix: tuple[tuple[int, ...], ...]) -> bool:
    """True if, whatever it clears of this matrix with the least threshold, k = n, fewer than k entries are left, and
    one in each column that had any, after an extra message to each process whose column is less.
    """
    n = len(matrix)
    machine = kind(n, parameters={"k": n})
    for after, packets in machine.clearings(n - 1, ExtraState(matrix, (0,) * n)):
        columns = list(zip(zip(*matrix, strict=True), zip(*after.matrix, strict=True), strict=True))
        kept = all(any(old) == any(new) for old, new in columns)
        cleared = {j for j, (old, new) in enumerate(columns) if old != new}
        if len(machine.entries(after.matrix)) >= n or not kept or {each.destination for each in packets} != cleared:
            return False
    return True


@cache
def left_by_one() -> Run | None:
    """A shortest run of the bundled program after which one extra message has left more than k = 5 entries."""
    machine = ClearsOnce(4, parameters={"k": 5})
    return shortest_run_to(
        system_of(machine, program(bundled.program_of(bundled.run("counterexample-sa6")))),
        lambda now: any(len(machine.entries(local.matrix)) > 5 for local in now.locals),
    )


@cache
def _none_smaller() -> bool:
    """None with fewer messages and deliveries."""
    smaller = [(sends, receives) for sends in range(1, MESSAGES) for receives in range(1, min(sends + 1, DELIVERIES))]
    return none_smaller([Clearings(4, 5, MESSAGES, DELIVERIES)], (Clearings(4, 5, *size) for size in smaller))


# -- §4: safety --------------------------------------------------------------------------------------------------------


@claim("SA7", "[SA] Prop. 1", "A matrix that is nowhere less asks for no less.", "proved")
def sa7(quick: bool) -> Evidence:
    some = AnyStamp()
    one, other = some.deliverable(some.one), some.deliverable(some.other)
    greater = some.every(lambda k, l: some.one[k][l] >= some.other[k][l], 2)
    claim = Claim("Proposition 1", {"M1 ≥ M2": greater, "the constraints of M1 hold": one}, other)
    converse = Claim("its converse", {}, z3.Implies(z3.Implies(one, other), greater))
    return by_z3(
        "of the guard's own code, each hypothesis is needed, and the converse is refuted",
        [claim],
        refuted=[*lacking_each(claim), [converse]],
        scope=ANY_MATRIX,
    )


@cache
def delivery_strengthens() -> Evidence:
    """Lemma 2 for deliveries, and Lemma 3; with no maximum, or if messages did not wait for what they ask, the one or
    the other would fail.
    """
    kinds = (ForgetsWhatItHad, LearnsNothing, WaitsForNothing)
    return by_z3(
        "the constraints after a delivery imply those before it, and those that the message carried, from then on",
        constraints.delivery_claims(),
        refuted=[
            *(constraints.delivery_claims(kind) for kind in kinds),
            *each_alone(constraints.vacuity(constraints.delivery_claims)),
        ],
        scope=ANY_THRESHOLD,
    )


@claim(
    "SA8",
    "[SA] Lemma 2",
    "Whatever a process does, its new constraints ask for all that its old ones did.",
    "proved",
    reading="at every process, and at any moment of any run in which the event happens; with what other "
    "runs deliver it may fail",
)
def sa8(quick: bool) -> Evidence:
    return clearing_is_safe() & delivery_strengthens() & proved("extra-messages", "safe", scope=ANY_THRESHOLD)


@claim(
    "SA9",
    "[SA] Lemma 3",
    "A receiver's constraints imply those on the message it delivered, and these its sender's before the send.",
    "proved",
    reading="the first from the delivery on, as the text's subscript says; at earlier moments it fails. The matrix "
    "after the delivery is that after any extra messages it gives rise to",
)
def sa9(quick: bool) -> Evidence:
    carries = fact(True, "a message carries the matrix as it was, which the machine's tuples give back (SA2)")
    return delivery_strengthens() & proved("extra-messages", "safe", scope=ANY_THRESHOLD) & carries


@claim(
    "SA10",
    "[SA] Theorem 4",
    "The protocol with extra messages keeps causal order.",
    "proved",
    reading="extra messages may be sent at any time, so for every threshold; nobody sends to himself: FIFO would "
    "break, as the own column, which counts such messages, is kept at zero",
)
def sa10(quick: bool) -> Evidence:
    to_oneself = explored(ToOneself(2, parameters={"k": 9}), Free(2, 3, self_sends=True))
    title = "messages to oneself: the third overtakes the second"
    return (
        proved("extra-messages", "safe", scope=ANY_THRESHOLD)
        & keep(_thresholds_that_differ(quick), "fifo", "causal", "delivers-once")
        & breaks(to_oneself, "fifo", title)
    )


@cache
def _thresholds_that_differ(quick: bool) -> list[CheckResult]:
    """In the free workload; and in programs, where the text's least threshold, n+1, acts."""
    few: list[tuple[int, int, Setting]] = [(3, 4, (2, 4, 9)), (4, 3, (2, 3, 5, 16))]
    three: list[Setting] = [4, (3, 4, 5), (5, 4, 3)]
    results = [searched("extra-messages", n, m, parameters={"k": k}) for n, m, k in few]
    results += [] if quick else [searched("extra-messages", 3, 5, parameters={"k": k}) for k in (1, 2, 3, 4)]
    results += [explored(extra(3, k), program(FOUR_ENTRIES, "with four entries")) for k in three]
    return [*results, explored(extra(4, 5), program(SEVEN_ENTRIES, "with seven entries"))]


# -- §4: liveness ------------------------------------------------------------------------------------------------------


@claim(
    "SA11",
    "[SA] Prop. 5",
    "If DELIV_j[i] is less than n, message number n from P_i to P_j has not been delivered.",
    "proved",
    reading="extra messages are numbered and counted with the others; DELIV_j is the receiver's, as §3 has it (by "
    "DELIV_i[j], which counts the other way, it would be false after one message)",
)
def sa11(quick: bool) -> Evidence:
    number = constraints.number_claim()
    possible = constraints.vacuity(lambda **sorts: [constraints.number_claim(**sorts)])
    of_sender = constraints.number_claim(by_receiver=False)
    return by_z3(
        "it follows from what the proof of extra-messages keeps, that DELIV counts what is delivered, and is refuted "
        "of DELIV_i[j]",
        [number],
        refuted=[*lacking_each(number), [of_sender], *each_alone(possible)],
        scope=ANY_THRESHOLD,
    ) & proved("extra-messages", "safe", scope=ANY_THRESHOLD)


@claim("SA12", "[SA] Theorem 6", "Every message is delivered in the end, extra ones too.", "proved")
def sa12(quick: bool) -> Evidence:
    def extra_in_flight(now: Reached) -> bool:
        return any(packet.message is None for packet in now.in_flight)

    ends = together(
        in_every_state(
            "where a run may end with all delivered no extra message is in flight",
            system,
            lambda now: not extra_in_flight(now),
            where=lambda now: now.system.may_end(now.moves) and all(packet.message is None for packet in now.in_flight),
        )
        for system in (system_of(extra(3, 2), Free(3, 3)), system_of(extra(3, 4), program(FOUR_ENTRIES)))
    )
    return proved("extra-messages", "live", scope=ANY_THRESHOLD) & keep(_thresholds_that_differ(quick)) & ends
