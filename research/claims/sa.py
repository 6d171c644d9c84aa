"""The claims of Sánchez & Álvarez [SA] on extra messages."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import z3

from crownless.impl.protocol import Packet, Setting
from crownless.impl.protocols.extra_messages import State as ExtraState
from crownless.impl.protocols.rst import Rst, State
from crownless.impl.workloads import Free
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.search.reachable import Reached
from crownless.proofs.induction.proved_properties import WAITS
from crownless.proofs.induction.theorem import Claim
from crownless.proofs.language.branch_free import for_every_n
from crownless.proofs.language.terms import Term
from crownless.proofs.protocols import extra_messages_constraints as constraints
from crownless.proofs.protocols.rst import RST
from crownless.research.theorems.evidence import Evidence, by_z3, each_alone, fact, found, lacking_each, together
from crownless.research.variants import for_matrices as variants

from .claim import claim, slip_of_print
from .failures import first_run, remembering, sends_in_past
from .gathering import (
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
from .matrices import AnyStamp, same_guard
from .thresholds import ANY_THRESHOLD, FOUR_ENTRIES, SEVEN_ENTRIES, extra, never, waits_for_an_extra_message

ANY_MATRIX = "any number of processes, any matrices and any DELIV"

# -- §3: matrices and constraints --------------------------------------------------------------------------------------


def _kept_by_each_step(name: str, invariant: Callable[[AnyStamp, State], Term]) -> list[Claim]:
    """An invariant of process i of the matrix protocol as §3 prints it, by its own code: initial and preserved."""
    some = AnyStamp()
    machine, i, j = for_every_n(variants.CountsOnce, some.terms), some.i, some.j
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
    reading="§3 has the receiver take the maximum and increment DELIV alone",
    kind="typo",
    defense="§3 retells [RST91], which has the increment",
)
def sa3(quick: bool) -> list[Evidence]:
    n, m = (3, 3) if quick else (3, 5)
    less = _kept_by_each_step(
        "the own column", lambda some, state: some.every(lambda k: state.sent[k][some.i] <= state.deliv[k])
    )
    return [
        in_some_state(
            "by the printed rules: P2's DELIV counts m1, and its own column does not",
            system_of(variants.CountsOnce(2), Free(2, 1)),
            lambda now: any(at.sent[k][i] != at.deliv[k] for i, at in enumerate(now.locals) for k in range(2)),
            "counterexample-sa3",
        ).refutes(),
        by_z3("the own column never exceeds DELIV", less, scope="≤: any number of processes, none to oneself")
        & same_guard(variants.ForgetsItsOwnColumn(n), Rst(n), Free(n, m))
        & keep(explored(variants.ForgetsItsOwnColumn(n), Free(n, m))),
        keep(searched("rst", n, m), "deliv-equals-sent-column"),
    ]


@claim(
    "SA18",
    "[SA] §3",
    "M_k[i, j] can be interpreted as the number of messages sent from P_i to P_j in the causal past of P_k.",
    {
        "by the updates as §3 prints them": "refuted",
        "if the receiver P_k increments M_k[i, k], too, as in [RST91]": "proved",
    },
    reading="of the algorithm of [RST91], as §3 retells it: its receiver takes the maximum and increments DELIV alone "
    "(SA3). The causal past of P_k: all that happened at P_k, and before",
    kind="typo",
    defense="§3 retells [RST91], which has the increment",
)
def sa18(quick: bool) -> list[Evidence]:
    n, m = (3, 3) if quick else (3, 4)

    def counts_its_past(now: Reached) -> bool:
        return all(
            local.sent[k][l] == sum((x.sender, x.receiver) == (k, l) for x in sends_in_past(now, p))
            for p, local in enumerate(now.locals)
            for k, l in product(range(now.system.n), repeat=2)
        )

    run = first_run(remembering(variants.CountsOnce, Free(2, 1)), lambda now: not counts_its_past(now))
    invariant = "SENT counts what is known"
    return [
        found("P2 has delivered m1, and M_2[1, 2] is 0", run, "counterexample-sa18").refutes(),
        proved("rst", "safe")
        & fact(invariant in RST.invariants, f"which rests on this: {invariant}, that is, the sends in the causal past")
        & in_every_state(
            "every matrix counts the sends in its process's past",
            remembering(Rst, Free(n, m)),
            counts_its_past,
            monitored=True,
        ),
    ]


def _consequence(
    because: str, claims_of: Callable[..., list[Claim]], refuted: Sequence[Sequence[Claim]] = ()
) -> Evidence:
    """z3 shows the claims, which rest on the proof of causal order, and has a state of three for each."""
    possible = each_alone(constraints.vacuity(claims_of))
    return by_z3(because, claims_of(), refuted=[*refuted, *possible], scope=ANY_THRESHOLD)


@cache
def clearing_is_safe() -> Evidence:
    """The remaining entry requires whatever the cleared ones required; this fails without that entry, or if messages
    did not wait for what they require.
    """
    return _consequence(
        "the constraints that a message or an extra message leaves imply those before it, at any moment of the run, "
        "since its delivery implies the constraints of column j",
        constraints.clearing_claims,
        [constraints.clearing_claims(kind) for kind in (variants.ClearsTheWholeColumn, variants.WaitsForNothing)],
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
    whole = explored(variants.ClearsTheWholeColumn(3, parameters={"k": never(3)}), Free(3, 3))
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
    past = fact(True, "what the protocol delivers has all its past delivered, which is when rst delivers")
    sooner = proved("extra-messages", "safe", scope=ANY_THRESHOLD) & proved("rst", WAITS) & past
    return [clearing_is_safe(), sooner & waits_for_an_extra_message()]


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
    """Lemma 2 for deliveries, and Lemma 3; without the maximum, or if messages did not wait for what they require, one
    or the other would fail.
    """
    kinds = (variants.ForgetsWhatItHad, variants.LearnsNothing, variants.WaitsForNothing)
    return _consequence(
        "the constraints after a delivery imply those before it, and those that the message carried, from then on",
        constraints.delivery_claims,
        [constraints.delivery_claims(kind) for kind in kinds],
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
    reading="extra messages may be sent at any time, so for every threshold; self-sends are excluded: FIFO would "
    "break, as the own column, which counts such messages, is kept at zero",
)
def sa10(quick: bool) -> Evidence:
    to_oneself = explored(variants.ToOneself(2, parameters={"k": 9}), Free(2, 3, self_sends=True))
    title = "messages to oneself: the third overtakes the second"
    return (
        proved("extra-messages", "safe", scope=ANY_THRESHOLD)
        & keep(_thresholds_that_differ(quick), "fifo", "causal", "delivers-once")
        & breaks(to_oneself, "fifo", title)
    )


@cache
def _thresholds_that_differ(quick: bool) -> list[CheckResult]:
    """In the free workload; and in programs, where the text's least threshold, n+1, takes effect."""
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
    return _consequence(
        "it follows from what the proof of extra-messages keeps, that DELIV counts what is delivered, and is refuted "
        "of DELIV_i[j]",
        lambda **sorts: [constraints.number_claim(**sorts)],
        [*lacking_each(number), [constraints.number_claim(by_receiver=False)]],
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


@claim(
    "SA17",
    "[SA] Theorem 6, proof",
    "If a message m cannot be delivered to P_i, a constraint n = M_m[k, i] on it is not met, and message n from P_k to "
    "P_i was sent before m.",
    "proved",
    reading="M_i[k, i] has no meaning where M_i is a set, so it is taken as the entry of the matrix on m; extra "
    "messages are sent before others by the order of their process, and nothing is learnt from one",
)
@slip_of_print(
    "n = M_i[k, i]; M_i is a set of messages in this proof, and elsewhere the matrix of P_i, whose own column is zero",
    "n = M_m[k, i], of the matrix on the message",
)
@slip_of_print("the proof takes a lower bound of the messages that cannot be delivered", "a minimal one")
def sa17(quick: bool) -> Evidence:
    return _consequence(
        "it follows from what the proof of extra-messages keeps, that a stamp's entries happened before",
        lambda **sorts: [constraints.unmet_claim(**sorts)],
    ) & proved("extra-messages", "safe", scope=ANY_THRESHOLD)
