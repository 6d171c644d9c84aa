"""The claims of Sánchez & Álvarez [SA] on extra messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import z3

from crownless.impl.channels import Unordered
from crownless.impl.extra_messages import ExtraMessages
from crownless.impl.extra_messages import State as ExtraState
from crownless.impl.protocol import Packet, ProtocolMachine, Setting
from crownless.impl.rst import Rst, State
from crownless.impl.workloads import Free, Workload
from crownless.model_check.check_result import CheckResult
from crownless.model_check.generating import Clock, generate
from crownless.model_check.reachable import reachable, shortest_run_to
from crownless.model_check.runs import Run
from crownless.proofs.branch_free import for_every_n
from crownless.proofs.terms import Term, Terms
from crownless.proofs.theorem import Claim, theorem, without_each
from crownless.spec.computation import Message

from . import bundled
from . import cost_evidence as simulations
from . import proof_evidence as put_to_z3
from .claim import Evidence, claim, drawn
from .evidence import (
    BY_FAIRNESS_IN_WORDS,
    all_proved,
    broken_by,
    explored,
    holds,
    is_proved,
    length,
    safe,
    searched,
    states,
    system_of,
)
from .matrix_evidence import (
    SAME_GUARDS,
    AttachesOneColumn,
    ClearsOnce,
    ClearsTheWholeColumn,
    CountsOnce,
    ExtraMessagesNeverWait,
    ForgetsItsOwnColumn,
    LockstepProduct,
    Numbered,
    Times,
    ToOneself,
    guards,
    guards_in,
    program,
)
from .pigeonhole import clearing_goes_on
from .smallest_clearing import Clearings

OF_UPDATES = "of the updates and the guard; the machine, with tuples and thresholds, is compared up to a bound"
ANY_THRESHOLD = (
    "any number of processes and messages, none to oneself, extra messages at any time; that the machine sends them so "
    "is shown up to 4 processes"
)

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


class AnyStamp(NamedTuple):
    """A process i of any system, what it has delivered, and two matrices that a message may carry."""

    terms: Terms
    i: Term
    deliv: Term
    one: Term
    other: Term

    @classmethod
    def make(cls) -> AnyStamp:
        terms = Terms()
        one, other = terms.any_matrix("one"), terms.any_matrix("other")
        return cls(terms, terms.any_process("i"), terms.any_vector("deliv"), one, other)

    def deliverable(self, matrix: Term) -> Term:
        """The guard of the matrix protocol, by its own code."""
        machine, j = for_every_n(Rst, self.terms), self.terms.any_process("j")
        packet = Packet(j, self.i, "message", Message("m", j, (self.i,)), matrix)
        return machine.deliverable(self.i, State(self.terms.any_matrix("sent"), self.deliv), packet)

    def constraints(self, matrix: Term, *, but_zeroes: bool = False) -> Term:
        """Every φ_kl of the matrix: if this is P_l, then DELIV[k] ≥ M[k, l]."""
        k, l = z3.FreshConst(self.terms.process, "k"), z3.FreshConst(self.terms.process, "l")
        stated = z3.And(self.i == l, matrix[k][l] > 0) if but_zeroes else self.i == l
        return z3.ForAll([k, l], z3.Implies(stated, self.deliv[k] >= matrix[k][l]))

    def every(self, holds_of: Any, of: int) -> Term:
        some = [z3.FreshConst(self.terms.process, "p") for _ in range(of)]
        return z3.ForAll(some, holds_of(*some))


@claim(
    "SA1",
    "[SA] §3",
    "A message's constraints are all met where its receiver's column passes the check, and nowhere else.",
    "proved",
)
def sa1(quick: bool) -> Evidence:
    any_stamp = AnyStamp.make()
    deliverable, constraints = any_stamp.deliverable(any_stamp.one), any_stamp.constraints(any_stamp.one)
    shown = theorem("the same check", {}, deliverable == constraints)
    neither_always_nor_never = all(
        theorem("constant", {}, guard).outcome == "refuted" for guard in (deliverable, z3.Not(deliverable))
    )
    differ, cases = 0, 0
    for n, entries in ((2, 3), (3, 2)):
        for matrix, deliv in product(_matrices(n, entries), product(range(entries), repeat=n)):
            for i in range(n):
                cases += 1
                machine = extra(n, never(n))
                packet = Packet((i + 1) % n, i, "message", None, machine.entries(matrix))
                every = all(i != l or deliv[k] >= matrix[k][l] for k in range(n) for l in range(n))
                differ += machine.deliverable(i, ExtraState(matrix, deliv), packet) != every
    fails = not shown or not neither_always_nor_never or bool(differ)
    because = f"z3, of the guard's own code; the guard that reads tuples is the same in {cases:,} cases"
    return Evidence(not fails, "any number of processes, any matrix and any DELIV", because)


@claim(
    "SA2",
    "[SA] §3",
    "A zero asks for nothing, so tuples for the other entries say all that the matrix says.",
    "proved",
)
def sa2(quick: bool) -> Evidence:
    any_stamp = AnyStamp.make()
    not_negative = any_stamp.every(lambda k: any_stamp.deliv[k] >= 0, 1)
    stated = any_stamp.constraints(any_stamp.one, but_zeroes=True)
    claim = Claim("zeroes say nothing", {"DELIV ≥ 0": not_negative}, any_stamp.deliverable(any_stamp.one) == stated)
    lost, cases = 0, 0
    for n, entries in ((2, 4), (3, 2 if quick else 3)):
        machine = extra(n, never(n))
        for matrix in _matrices(n, entries):
            cases += 1
            tuples = machine.entries(matrix)
            lost += machine.matrix_of(tuples) != matrix or len(tuples) != sum(
                value > 0 for row in matrix for value in row
            )
    needed = not any(without_each(*claim).values())
    fails = not theorem(*claim) or not all_proved(_deliv_is_not_negative()) or not needed or bool(lost)
    because = (
        "z3: without the zeroes the guard is the same, given DELIV ≥ 0, which every step keeps; "
        f"{cases:,} matrices come back from their tuples"
    )
    return Evidence(not fails, "any number of processes; the tuples: up to 3", because)


def _matrices(n: int, values: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    for flat in product(range(values), repeat=n * n):
        yield tuple(flat[n * k : n * k + n] for k in range(n))


class OwnStep(NamedTuple):
    """A process i of the matrix protocol as §3 prints it, before and after a step of its own, by its own code."""

    any_stamp: AnyStamp
    j: Term
    before: State
    deliverable: Term
    sending: State
    delivering: State

    @classmethod
    def make(cls) -> OwnStep:
        some = AnyStamp.make()
        machine, i, j = for_every_n(CountsOnce, some.terms), some.i, some.terms.any_process("j")
        before = State(some.terms.any_matrix("sent"), some.deliv)
        return cls(
            some,
            j,
            before,
            some.deliverable(some.one),
            machine.after_sending(i, before, j),
            machine.after_delivering(i, before, j, some.one),
        )


def _deliv_is_not_negative() -> list[Claim]:
    step = OwnStep.make()
    some = step.any_stamp

    def of(state: State) -> Term:
        return some.every(lambda k: state.deliv[k] >= 0, 1)

    start = for_every_n(CountsOnce, some.terms).initial(some.i)
    kept = [Claim("kept", {"DELIV ≥ 0": of(step.before)}, of(after)) for after in (step.sending, step.delivering)]
    return [Claim("at the start", {}, of(start)), *kept]


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
def sa3(quick: bool) -> Evidence:
    n, m = (3, 3) if quick else (3, 5)
    count = more = 0
    for now in reachable(system_of(CountsOnce(n), Free(n, m))):
        count += 1
        for i, local in enumerate(now.locals):
            more += any(local.sent[k][i] > local.deliv[k] for k in range(n))
    differing = shortest_run_to(
        system_of(CountsOnce(2), Free(2, 1)),
        lambda now: any(local.sent[k][i] != local.deliv[k] for i, local in enumerate(now.locals) for k in range(2)),
    )
    beside = guards(ForgetsItsOwnColumn(n), Rst(n), Free(n, m))
    zeroed = explored(ForgetsItsOwnColumn(n), Free(n, m))
    fails = bool(more) or not all_proved(_own_column_asks_for_nothing()) or beside.found != SAME_GUARDS
    fails = fails or not holds(zeroed) or not holds(searched("rst", n, m), "deliv-equals-sent-column")
    because = (
        f"as printed they differ after {length(differing)} actions; z3: the own column never exceeds DELIV, any n "
        f"(nor in {count:,} states); kept at zero, the same guard as rst in {beside.states:,} states, safe and live"
    )
    title = "by the printed rules: P2's DELIV counts m1, and its own column does not"
    shown = drawn(title, differing, "counterexample-sa3")
    scope = f"≤: any n; at zero: {n} processes, up to {m} messages, every interleaving; nobody sends to himself"
    return Evidence((differing is not None, not fails, not fails), scope, because, shown)


def _own_column_asks_for_nothing() -> list[Claim]:
    """For all k: M_i[k, i] ≤ DELIV_i[k]; at the start, and kept by every step of i."""
    step = OwnStep.make()
    some = step.any_stamp

    def of(state: State) -> Term:
        return some.every(lambda k: state.sent[k][some.i] <= state.deliv[k], 1)

    start = for_every_n(CountsOnce, some.terms).initial(some.i)
    return [
        Claim("at the start", {}, of(start)),
        Claim("kept by sending", {"before": of(step.before), "to another": some.i != step.j}, of(step.sending)),
        Claim("kept by delivering", {"before": of(step.before), "accepted": step.deliverable}, of(step.delivering)),
    ]


@claim(
    "SA4",
    "[SA] §3",
    "Once a message to j is sent, its number is all that need be kept of column j.",
    "proved",
    reading="safely: the entry that stays asks for all that the column asked for, at any moment; so no message is "
    "delivered sooner than causal order allows, nor later, while no extra message is sent",
)
def sa4(quick: bool) -> Evidence:
    bounds = ((3, 4), (4, 3)) if quick else ((3, 5), (4, 4))
    results = [searched("extra-messages", n, m, parameters={"k": never(n)}) for n, m in bounds]
    besides = [guards(extra(n, never(n)), Rst(n), Free(n, m)) for n, m in ((3, 3), (4, 2) if quick else (4, 3))]
    whole = explored(ClearsTheWholeColumn(3, parameters={"k": never(3)}), Free(3, 3))
    fails = any(beside.found != SAME_GUARDS for beside in besides) or not all(holds(each) for each in results)
    run = broken_by(whole, "fifo")
    fails = fails or run is None
    shown = drawn("without that entry: FIFO breaks", run)
    because = (
        "z3: the delivery of m implies the constraints of column j at every later moment, by the text's own reason; "
        "and the protocol that clears columns is safe, optimal and live. "
        f"Safe and live in {states(*results)}; the same guard as rst in {sum(each.states for each in besides):,}; "
        f"without the entry of the message FIFO breaks after {length(run)} actions"
    )
    fails = fails or not put_to_z3.clearing_is_safe() or not is_proved("extra-messages")
    scope = f"{ANY_THRESHOLD}; likewise without extra messages; {OF_UPDATES}; {BY_FAIRNESS_IN_WORDS}"
    return Evidence(not fails, scope, because, shown)


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
def sa5(quick: bool) -> Evidence:
    cases: list[tuple[int, int, Workload]] = [(3, 2, Free(3, 4)), (3, 4, program(FOUR_ENTRIES))]
    if not quick:
        cases += [(3, 3, Free(3, 5)), (4, 5, program(SEVEN_ENTRIES))]
    besides = [guards(extra(n, k), Rst(n), workload) for n, k, workload in cases]
    delayed = _delayed()
    heedless = guards(ExtraMessagesNeverWait(3), Rst(3), program(FOUR_ENTRIES))
    fails = any((True, False) in each.found for each in besides) or delayed is None
    fails = fails or not all((False, True) in each.found for each in besides[:2]) or (True, False) not in heedless.found
    excluded = frozenset() if quick else _forms(Rst(3)) ^ _forms(extra(3, 2))
    stronger = put_to_z3.clearing_is_safe()
    fails = fails or bool(excluded) or not (is_proved("extra-messages", "safe") and is_proved("rst", "optimal"))
    because = (
        "z3: the constraints that an extra message leaves imply those before it, at any moment of the run; and what "
        "the protocol delivers has all its past delivered, which is when rst delivers. "
        f"In {sum(each.states for each in besides):,} states nothing is delivered that rst would hold back; some "
        f"messages wait that rst would deliver{'' if quick else '; no computation of four messages is excluded (k=2)'}"
    )
    shown = drawn("a message waits for an extra message, and not for causal order", delayed)
    summary = "; ".join(f"{n} processes, k={k}, {_describe(workload)}" for n, k, workload in cases)
    shows = (stronger, not fails)
    scope = f"{ANY_THRESHOLD}; {OF_UPDATES}: every interleaving: {summary}"
    return Evidence(shows, scope, because, shown)


@cache
def _delayed() -> Run | None:
    system = system_of(LockstepProduct(extra(3, 4), Rst(3)), program(FOUR_ENTRIES))
    return shortest_run_to(system, lambda now: (False, True) in guards_in(now))


def _forms(machine: ProtocolMachine) -> frozenset[Any]:
    """Every computation of up to four messages that it generates."""
    return generate(machine, Free(machine.n, 4), Unordered, Clock()).forms


def _describe(workload: Workload) -> str:
    if isinstance(workload, Free):
        return f"up to {workload.messages} messages"
    return f"a program of {workload.messages} messages"


def _workload(n: int, what: int | str) -> Workload:
    """The free workload of that many messages, or a program."""
    return Free(n, what) if isinstance(what, int) else program(what)


class Largest(NamedTuple):
    """The most entries that any process keeps, and that any message carries; and whether an extra message was sent."""

    kept: int
    carried: int
    any_extra: bool
    states: int


@cache
def _largest(kind: Callable[..., ExtraMessages], n: int, k: int, what: int | str) -> Largest:
    """Over the free workload of so many messages, or over a program."""
    machine = kind(n, parameters={"k": k})
    system = system_of(machine, _workload(n, what))
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
def sa6(quick: bool) -> Evidence:
    left = left_by_one()
    if left is None:
        return Evidence(False, "as below", "one extra message at a time keeps it in the bundled program")
    fullest = bundled.program_of(left)
    cases: list[tuple[int, int | str]] = [(3, 3 if quick else 5), (3, FOUR_ENTRIES), (4, fullest)]
    cases += [] if quick else [(4, 3), (4, SEVEN_ENTRIES)]
    fails, count = False, 0
    too_small = []
    for n, what in cases:
        for k in range(1, n * n + 1):
            largest = _largest(ExtraMessages, n, k, what)
            count += largest.states
            most = max(largest.kept, largest.carried)
            fails |= (k >= n and most >= k) or (k >= n - 1 and most > k) or (k > (n - 1) ** 2 and largest.any_extra)
            too_small += [(n, k)] * (most > k)
    acts = all(_largest(ExtraMessages, n, (n - 1) ** 2, what).any_extra for n, what in ((3, FOUR_ENTRIES),))
    fails |= {(3, 1), (4, 1), (4, 2)} != set(too_small) or not acts
    # A matrix that is not in any run, too: n entries outside the own column leave a column that can be cleared.
    stuck = [matrix for matrix in _full_patterns(3) if not _goes_on(ExtraMessages, matrix)]
    fails |= bool(stuck) or not any(not _goes_on(ClearsOnce, matrix) for matrix in _full_patterns(3))
    fails |= not clearing_goes_on()
    once = _largest(ClearsOnce, 4, 5, fullest)
    three = max(_largest(ClearsOnce, 3, 4, what).kept for what in (cases[0][1], FOUR_ENTRIES))
    fails |= three > 4 or once.kept <= 5 or not (quick or smallest_left_by_one())
    because = (
        "z3, for any n: of n entries or more, own column empty, two are in one column, and clearing it leaves one "
        "there, and fewer in all; so does the code with every pattern of three processes; "
        f"for every k from 1 to n² in {count:,} states: fewer than k kept and carried for k ≥ n, at most k for k = "
        f"n-1, more only for k < n-1. One extra message at a time leaves {once.kept} entries at n=4, k=5, of a program "
        "of ten messages"
    )
    shown = drawn("one extra message leaves P1 with six entries, where k is 5", left, "counterexample-sa6")
    free = "; ".join(f"{n} processes, up to {what} messages" for n, what in cases if isinstance(what, int))
    smallest = (
        "that the bundled run is a smallest is left to the full run"
        if quick
        else "z3: none of four processes with up to nine messages and four deliveries; and three processes keep four "
        "entries at most"
    )
    programs = sum(isinstance(what, str) for _, what in cases)
    scope = (
        f"{free}; {programs} programs; every interleaving; that clearing can go on until fewer than n entries are "
        f"left: any number of processes (z3, of the update); {smallest}"
    )
    verdict = not fails
    return Evidence((verdict, verdict, once.kept > 5), scope, because, shown)


def _full_patterns(n: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every pattern of n entries or more in the matrix of the last process, whose own column is zero."""
    for matrix in _matrices(n, 2):
        if not any(row[n - 1] for row in matrix) and sum(map(sum, matrix)) >= n:
            yield matrix


def _goes_on(kind: Callable[..., ExtraMessages], matrix: tuple[tuple[int, ...], ...]) -> bool:
    """True if, whatever it clears of this matrix with the least threshold, k = n, fewer than k entries are left, and
    one in each column that had any, after an extra message to each process whose column is less.
    """
    n = len(matrix)
    machine = kind(n, parameters={"k": n})
    before = ExtraState(matrix, (0,) * n)
    for after, extra in machine.clearings(n - 1, before):
        columns = [(_column(matrix, j), _column(after.matrix, j)) for j in range(n)]
        notified = {packet.destination for packet in extra}
        kept = all(any(old) == any(new) for old, new in columns)
        cleared = {j for j, (old, new) in enumerate(columns) if old != new}
        if len(machine.entries(after.matrix)) >= n or not kept or notified != cleared:
            return False
    return True


def _column(matrix: Sequence[Sequence[int]], j: int) -> list[int]:
    return [row[j] for row in matrix]


@cache
def left_by_one() -> Run | None:
    """A shortest run of the bundled program after which one extra message has left more than k = 5 entries."""
    return _left_too_full(bundled.program_of(bundled.run("counterexample-sa6")))


def _left_too_full(text: str) -> Run | None:
    machine = ClearsOnce(4, parameters={"k": 5})
    return shortest_run_to(
        system_of(machine, program(text)),
        lambda now: any(len(machine.entries(local.matrix)) > 5 for local in now.locals),
    )


#: Messages of the application, and deliveries among them, of the smallest run in which one is not enough.
MESSAGES, DELIVERIES = 10, 5


@cache
def smallest_left_by_one() -> bool:
    """z3 finds a run of that size, which the protocol's code can take, and none with fewer messages and deliveries."""
    found = Clearings(4, 5, MESSAGES, DELIVERIES).program()
    smaller = [
        Clearings(4, 5, messages, deliveries).program()
        for messages in range(1, MESSAGES)
        for deliveries in range(1, min(messages + 1, DELIVERIES))
    ]
    return found is not None and _left_too_full(found) is not None and smaller == [None] * len(smaller)


# -- §4: safety --------------------------------------------------------------------------------------------------------


@claim("SA7", "[SA] Prop. 1", "A matrix that is nowhere less asks for no less.", "proved")
def sa7(quick: bool) -> Evidence:
    some = AnyStamp.make()
    greater = some.every(lambda k, l: some.one[k][l] >= some.other[k][l], 2)
    given = {"M1 ≥ M2": greater, "the constraints of M1 hold": some.deliverable(some.one)}
    claim = Claim("Proposition 1", given, some.deliverable(some.other))
    converse = Claim(
        "its converse", {}, z3.Implies(z3.Implies(some.deliverable(some.one), some.deliverable(some.other)), greater)
    )
    fails = not theorem(*claim) or any(without_each(*claim).values())
    because = (
        "z3, of the guard's own code; each hypothesis is needed, and the converse is " + theorem(*converse).outcome
    )
    return Evidence(not fails, "any number of processes, any matrices and any DELIV", because)


class Implied(NamedTuple):
    """Of a lemma about constraints: how many events were looked at, and for how many it fails; in how many states."""

    cases: int
    fail: int
    #: Events for which it would fail, could the constraints be met by what is delivered in any run whatever.
    fail_alone: int
    states: int


@cache
def _lemma_2(kind: Callable[..., ExtraMessages], n: int, k: Setting, what: int | str) -> Implied:
    """New constraints imply the old ones of the process that takes a step, at any moment of any run with that step."""
    times = _times(kind, n, k, what)
    cases = fail = fail_alone = 0
    for now in times.all:
        for step, target in now.moves:
            old = now.locals[step.action.process].matrix
            new = times.system.local_state(step.local).matrix
            cases += 1
            fail += not times.implies(new, old, times.always(now.state, target))
            fail_alone += not times.implies(new, old, times.in_any_run)
    return Implied(cases, fail, fail_alone, len(times.all))


@cache
def _times(kind: Callable[..., ExtraMessages], n: int, k: Setting, what: int | str) -> Times:
    return Times(system_of(kind(n, parameters={"k": k}), _workload(n, what)))


def _cases(quick: bool) -> list[tuple[int, Setting, int | str]]:
    """(processes, threshold, messages or program)"""
    few: list[tuple[int, Setting, int | str]] = [(3, 2, 3), (3, 4, FOUR_ENTRIES)]
    return few if quick else [*few, (3, 2, 4), (3, 3, 4), (3, 2, 5), (4, 2, 3), (4, 5, SEVEN_ENTRIES)]


def _scope(cases: Sequence[tuple[int, Setting, int | str]]) -> str:
    summary = (
        f"{n} processes, k={k}, {f'up to {what} messages' if isinstance(what, int) else 'a program'}"
        for n, k, what in cases
    )
    return f"every interleaving: {'; '.join(summary)}"


@claim(
    "SA8",
    "[SA] Lemma 2",
    "Whatever a process does, its new constraints ask for all that its old ones did.",
    "proved",
    reading="at every process, and at any moment of any run in which the event happens; with what other "
    "runs deliver it may fail",
)
def sa8(quick: bool) -> Evidence:
    cases = _cases(quick)
    found = [_lemma_2(ExtraMessages, *case) for case in cases]
    broken = _lemma_2(ExtraMessagesNeverWait, 3, 4, FOUR_ENTRIES)
    fails = any(each.fail for each in found) or not broken.fail or not any(each.fail_alone for each in found)
    fails = fails or not (put_to_z3.clearing_is_safe() and put_to_z3.delivery_strengthens())
    fails = fails or not is_proved("extra-messages", "safe")
    because = (
        "z3, for an event that sends or delivers, a message of the application or an extra one; and the machine: "
        f"{sum(each.cases for each in found):,} events in {sum(each.states for each in found):,} states; "
        f"if extra messages did not wait it would fail for {broken.fail} of {broken.cases:,}"
    )
    return Evidence(not fails, f"{ANY_THRESHOLD}; {OF_UPDATES}: {_scope(cases)}", because)


class Lemma3(NamedTuple):
    sends: int
    deliveries: int
    #: The message carries what held before it was sent; what holds after its delivery implies it, later on.
    sent_fails: int
    delivered_fails: int
    #: The same, were it said of all moments.
    without_subscript_fails: int


@cache
def _lemma_3(kind: Callable[..., ExtraMessages], n: int, k: Setting, what: int | str) -> Lemma3:
    times = _times(kind, n, k, what)
    machine, system = times.machine, times.system
    counts = [0] * 5
    for now in times.all:
        for step, target in now.moves:
            after = system.local_state(step.local).matrix
            for packet in system.transmitted(step):
                if packet.message is not None:
                    counts[0] += 1
                    before = now.locals[step.action.process].matrix
                    carried = machine.matrix_of(packet.stamp)
                    counts[2] += not times.implies(carried, before, times.always(now.state, target))
            if step.delivered and step.action.packet is not None:
                counts[1] += 1
                carried = machine.matrix_of(step.action.packet.stamp)
                counts[3] += not times.implies(after, carried, times.after[target])
                counts[4] += not times.implies(after, carried, times.always(now.state, target))
    return Lemma3(*counts)


@claim(
    "SA9",
    "[SA] Lemma 3",
    "A receiver's constraints imply those on the message it delivered, and these its sender's before the send.",
    "proved",
    reading="the first from the delivery on, as the text's subscript says; at earlier moments it fails. The matrix "
    "after the delivery is that after any extra messages it gives rise to",
)
def sa9(quick: bool) -> Evidence:
    cases = _cases(quick)
    found = [_lemma_3(ExtraMessages, *case) for case in cases]
    fails = any(each.sent_fails or each.delivered_fails for each in found)
    fails = fails or not all(each.sends and each.deliveries for each in found)
    earlier = sum(each.without_subscript_fails for each in found)
    column_alone = _lemma_3(AttachesOneColumn, 3, never(3), 3).sent_fails
    fails = fails or not earlier or not column_alone
    fails = fails or not put_to_z3.delivery_strengthens() or not is_proved("extra-messages", "safe")
    because = (
        "z3, of the updates: those after a delivery imply those that the message carried, from then on; and it carries "
        "the matrix as it was, which the machine's tuples give back: "
        f"{sum(each.sends for each in found):,} sends, {sum(each.deliveries for each in found):,} deliveries; "
        f"at moments before the delivery the first implication fails for {earlier:,}; were one column alone attached, "
        f"the second would fail for {column_alone:,} sends"
    )
    return Evidence(not fails, f"{ANY_THRESHOLD}; {OF_UPDATES}: {_scope(cases)}", because)


@claim(
    "SA10",
    "[SA] Theorem 4",
    "The protocol with extra messages keeps causal order.",
    "proved",
    reading="extra messages may be sent at any time, so for every threshold; nobody sends to himself: FIFO would "
    "break, as the own column, which counts such messages, is kept at zero",
)
def sa10(quick: bool) -> Evidence:
    results, programs = _free_checks(quick), _program_checks()
    fails = not all(holds(each, "fifo", "causal") for each in results) or not all(map(safe, programs))
    fails = fails or not is_proved("extra-messages", "safe")
    to_oneself = explored(ToOneself(2, parameters={"k": 9}), Free(2, 3, self_sends=True))
    run = broken_by(to_oneself, "fifo")
    shown = drawn("messages to oneself: the third overtakes the second", run)
    because = (
        f"z3 shows it of the updates and the guard; causal order kept in {states(*results)} of the free workload and "
        f"{sum(each.exploration.states for each in programs):,} of two programs, where k=n+1 acts; messages to oneself "
        f"break {', '.join(sorted(to_oneself.violations.keys() & {'fifo', 'causal'})) or 'nothing'}"
    )
    return Evidence(not fails, f"{ANY_THRESHOLD}; besides, {_thresholds(results)}", because, shown)


def _free_checks(quick: bool) -> list[CheckResult]:
    bounds: list[tuple[int, int, Setting]] = [(3, 4, k) for k in (1, 2, 3, 4, (2, 4, 9))] + [
        (4, 3, k) for k in (2, (2, 3, 5, 16))
    ]
    if not quick:
        bounds += [(3, 5, k) for k in (1, 2, 3, 4)] + [(4, 4, k) for k in (2, 3)]
    return [searched("extra-messages", n, m, parameters={"k": k}) for n, m, k in bounds]


@cache
def _program_checks() -> list[CheckResult]:
    """Where the text's least threshold, n+1, acts; and where each process has its own."""
    three: list[Setting] = [4, (3, 4, 5), (5, 4, 3)]
    found = [explored(extra(3, k), program(FOUR_ENTRIES)) for k in three]
    return [*found, explored(extra(4, 5), program(SEVEN_ENTRIES))]


def _thresholds(results: Sequence[CheckResult]) -> str:
    bounds: dict[tuple[int, int], list[str]] = {}
    for each in results:
        k = each.machine.settings["k"]
        thresholds = "/".join(map(str, k)) if isinstance(k, tuple) else str(k)
        bounds.setdefault((each.machine.n, each.workload.messages), []).append(thresholds)
    summary = "; ".join(f"{n} processes, up to {m} messages, k={', '.join(ks)}" for (n, m), ks in bounds.items())
    return f"every interleaving: {summary}; two programs"


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
    cases = _cases(quick)
    delivered = wrong = count = 0
    for n, k, what in cases:
        system = system_of(Numbered(extra(n, k)), _workload(n, what))
        for now in reachable(system):
            count += 1
            for step, _ in now.moves:
                packet = step.action.packet
                if packet is not None:
                    delivered += 1
                    wrong += system.local_state(step.local).decides.deliv[packet.source] != packet.stamp[1]
    because = (
        "z3: it follows from what the proof of extra-messages keeps, that DELIV counts what is delivered, and is "
        f"refuted of DELIV_i[j]; and each of {delivered:,} deliveries in {count:,} states makes DELIV the number of "
        "its message"
    )
    fails = bool(wrong) or not delivered or not put_to_z3.number_tells_delivery()
    fails = fails or not is_proved("extra-messages", "safe")
    return Evidence(not fails, f"{ANY_THRESHOLD}; {OF_UPDATES}: {_scope(cases)}", because)


@claim("SA12", "[SA] Theorem 6", "Every message is delivered in the end, extra ones too.", "proved")
def sa12(quick: bool) -> Evidence:
    results, programs = _free_checks(quick), _program_checks()
    fails = not all(map(holds, [*results, *programs]))
    fails = fails or not is_proved("extra-messages", "live")
    ends = left = 0
    for n, k, what in _cases(quick):
        times = _times(ExtraMessages, n, k, what)
        for now in times.all:
            kinds = {packet.message is None for packet, _ in times.system.flight(now.state)}
            if times.system.may_end(now.moves) and False not in kinds:
                ends += 1
                left += True in kinds
    because = (
        "z3 shows that of the messages in flight, extra ones too, the one sent first is accepted; everything "
        f"delivered and nobody blocked in {states(*results)} of the free workload and "
        f"{sum(each.exploration.states for each in programs):,} of two programs; in {ends:,} states where a run may "
        f"end with all delivered {left or 'no'} extra message is in flight"
    )
    scope = f"{ANY_THRESHOLD}; {BY_FAIRNESS_IN_WORDS}; besides, {_thresholds(results)}"
    return Evidence(not fails and not left and ends > 0, scope, because)


# -- §5: what it costs -------------------------------------------------------------------------------------------------


@claim(
    "SA13",
    "[SA] §5",
    "Asked: how many extra messages, how large beside the optimal algorithm, thresholds that differ, time lost.",
    "measured",
    reading="that each process may have its own threshold is also checked: safe and live (SA10, SA12). A number takes "
    "four bytes: n² numbers a matrix, three a tuple, in the optimal algorithm (sender, clock) and destinations; a "
    "list or "
    "set one more. An extra message is a packet of its own, with a header of 20 bytes. Time lost: beyond what the "
    "optimal algorithm makes the same messages wait. Load: messages that a process hands over in a mean latency",
)
def sa13(quick: bool) -> Evidence:
    n, runs, messages = 6, 4 if quick else 12, 150 if quick else 600
    thresholds: dict[str, Setting] = {
        "k=n+1": n + 1,
        "k=2n": 2 * n,
        "k=n+1 at half, none at the others": (n + 1, never(n)) * (n // 2),
        "no extra messages": never(n),
    }
    ours = {
        label: simulations.simulated("extra-messages", n, 0.3, runs, messages=messages, k=k)
        for label, k in thresholds.items()
    }
    optimal, matrix = (simulations.simulated(name, n, 0.3, runs, messages=messages) for name in ("optimal", "rst"))
    lost = {label: simulations.more(each, optimal, "added") for label, each in ours.items()}
    larger = {
        size: simulations.simulated("extra-messages", size, 0.3, runs, messages=messages)["control"] for size in (4, 8)
    }
    least, none = ours["k=n+1"], "no extra messages"
    every = [*ours.values(), optimal, matrix]
    # Causal order itself makes a message wait alike, whatever carries the information; only extra messages add to that.
    same_waits = all(
        abs(run.added - other.added) < 1e-9
        for some in (ours[none], matrix)
        for run, other in zip(some.runs, optimal.runs, strict=True)
        if run.added is not None and other.added is not None
    )
    fails = not same_waits or not all(each.kept for each in every)
    fails |= ours[none].most("control") > 0 or not simulations.surely_above(least["control"], 1)
    fails |= not simulations.surely_above(simulations.more(least, optimal, "bytes"), 0)
    fails |= not simulations.surely_above(lost["k=n+1"], 0)
    fails |= not larger[4].mean < least["control"].mean < larger[8].mean
    figures = "; ".join(
        f"{label}: {each['control']} extra messages, {each['bytes']} bytes, {lost[label]} lost"
        for label, each in ours.items()
    )
    because = (
        f"a message of the application costs, mean with 95% confidence, {n} processes: {figures} mean latencies. The "
        f"optimal algorithm takes {optimal['bytes']} bytes, a matrix {matrix['bytes'].mean:g}. With more processes "
        f"there are more extra messages: {larger[4]} with 4, {larger[8]} with 8 (k=n+1)"
    )
    scope = f"uniform traffic, load 0.3, exponential latencies: {simulations.describe(every)}; crownless cost has more"
    return Evidence(not fails, scope, because)
