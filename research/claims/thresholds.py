"""The claims of [SA] on size: a threshold bounds the number of entries kept and carried."""

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import NamedTuple

from crownless.impl.protocol import Setting
from crownless.impl.protocols.extra_messages import ExtraMessages
from crownless.impl.protocols.extra_messages import State as ExtraState
from crownless.impl.protocols.rst import Rst
from crownless.impl.workloads import Free
from crownless.model_check.runs.runs import Run
from crownless.model_check.search.reachable import reachable, shortest_run_to
from crownless.research.theorems.bounded import none_smaller
from crownless.research.theorems.evidence import Evidence, fact, found
from crownless.research.theorems.few_entries import fewer_than_the_threshold
from crownless.research.theorems.smallest_clearing import Clearings
from crownless.research.variants.for_matrices import ClearsOnce

from . import bundled
from .claim import claim
from .gathering import enumerated, in_some_state, program, proved, system_of
from .matrices import LockstepProduct, guards_in, same_guard

ANY_THRESHOLD = (
    "any number of processes and messages, none to oneself, extra messages at any time; that the machine sends them so "
    "is shown up to 4 processes"
)
#: When P1 has heard from both others, its matrix has four entries, the text's k = n + 1, and one column is cleared.
#: Four messages in the free workload show the same, with k = 2 or 3 and in many more states.
FOUR_ENTRIES = """
P1: send a to P2; send b to P3; receive; receive; send c to P2
P2: send d to P3; send e to P1; receive; receive; receive
P3: send f to P2; send g to P1; receive; receive
"""

#: P1 learns of four messages at once, and then has seven entries: to have fewer than five it clears two columns.
SEVEN_ENTRIES = """
P1: send a to P3; send b to P4; send c to P2; receive
P2: send d to P3; send e to P4; receive h; receive j; send f to P1
P3: send g to P4; send h to P2
P4: send i to P3; send j to P2
"""


def never(n: int) -> int:
    """A threshold that no matrix of n processes reaches."""
    return (n - 1) ** 2 + 1


def extra(n: int, k: Setting) -> ExtraMessages:
    return ExtraMessages(n, parameters={"k": k})


class Largest(NamedTuple):
    """The most entries that any process keeps and that any message carries; and whether an extra message was sent."""

    kept: int
    carried: int
    any_extra: bool
    states: int


@cache
def _largest(kind: Callable[..., ExtraMessages], n: int, k: int, what: int | str) -> Largest:
    """Over the free workload with that many messages, or over a program."""
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


#: Messages of the application, and deliveries among them, in the smallest run where one extra message is not enough.
MESSAGES, DELIVERIES = 10, 5


@claim(
    "SA6",
    "[SA] §3",
    "A threshold k from n+1 to n² bounds the entries that a process keeps and that a message carries.",
    {
        "whenever there are k entries, it goes on until there are fewer": "proved",
        "k entries are allowed, and it acts above k": "proved",
        "one extra message is all that one event gives rise to": "refuted",
    },
    reading="a process goes on until it has fewer than k: it sends an extra message whenever it has too many, and "
    "clears by extra messages, in the plural. If the singular of the informal sentence, an extra message, is all that "
    "one event gives rise to, it is false at four processes. Counted after each event, extra messages included: before "
    "them a delivery may have left more. k ≥ n-1 is enough, and thresholds above (n-1)² never act",
    kind="ambiguity",
)
def sa6(quick: bool) -> list[Evidence]:
    left, patterns = left_by_one(), _full_patterns(3)
    bounded = _bounded(quick)
    three = max(_largest(ClearsOnce, 3, 4, what).kept for what in (_cases(quick)[0][1], FOUR_ENTRIES))
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


@claim(
    "SA14",
    "[SA] Abstract",
    "Messages have a size of O(k), for a constant k with n < k ≤ n².",
    {
        "a message carries fewer than k matrix entries": "proved",
        "counted in bits: an entry counts messages, without bound": "refuted",
    },
    reading="in entries, as Θ(n²) is of the matrix protocol (§1). A constant k serves one n, as k > n",
    kind="ambiguity",
    defense="the sizes that the text compares, Θ(n²) and n, are numbers of entries",
)
def sa14(quick: bool) -> list[Evidence]:
    m = 4 if quick else 6
    text = f"P1: {'; '.join(f'send m{k} to P2' for k in range(m))}\nP2: {'; '.join(['receive'] * m)}"
    grows = in_some_state(
        f"the last of {m} messages from P1 to P2 has one entry, {m - 1}",
        system_of(extra(2, 3), program(text)),
        lambda now: any(packet.stamp == ((0, 1, m - 1),) for packet in now.in_flight),
    )
    counts = proved("extra-messages", "safe", scope=ANY_THRESHOLD).saying(
        "z3: a sender's own entry is the number of messages that it sent, which has no bound"
    )
    return [_bounded(quick), (grows & counts).refutes()]


@claim(
    "SA15",
    "[SA] Abstract",
    "With extra messages the matrices can be coded even in linear space.",
    "proved",
    reading="in entries, as Θ(n²) is; by the least threshold, k = n + 1",
)
def sa15(quick: bool) -> Evidence:
    cases = _cases(quick)
    found = [(n, _largest(ExtraMessages, n, n + 1, what)) for n, what in cases]
    few = all(max(largest.kept, largest.carried) <= n for n, largest in found)
    return fewer_than_the_threshold() & fact(
        few, "at most n entries are kept and carried for k = n + 1", _clears_so(cases)
    )


@claim(
    "SA16",
    "[SA] Abstract",
    "A message may wait for an extra message although causal order lets it be delivered.",
    "checked",
    reading="not without extra messages: the guard is then that of the matrix protocol",
)
def sa16(quick: bool) -> Evidence:
    without = same_guard(extra(3, never(3)), Rst(3), Free(3, 3))
    return waits_for_an_extra_message() & without.saying(
        "without extra messages the same guard as rst",
        "one program; without extra messages every interleaving of 3 processes, up to 3 messages",
    )


@cache
def waits_for_an_extra_message() -> Evidence:
    """A run of the program with four entries."""
    return in_some_state(
        "with k = 4, P2 refuses c, which causal order allows, until the extra message arrives that P1 sends with the "
        "delivery of g",
        system_of(LockstepProduct(extra(3, 4), Rst(3)), program(FOUR_ENTRIES)),
        lambda now: (False, True) in guards_in(now),
    )


def _cases(quick: bool) -> list[tuple[int, int | str]]:
    """Numbers of processes, each with the number of messages in the free workload, or a program."""
    fullest = bundled.program_of(bundled.run("counterexample-sa6"))
    cases: list[tuple[int, int | str]] = [(3, 3 if quick else 5), (3, FOUR_ENTRIES), (4, fullest)]
    return cases if quick else [*cases, (4, 3), (4, SEVEN_ENTRIES)]


@cache
def _bounded(quick: bool) -> Evidence:
    """For every threshold that bounds them at all, the entries that a process keeps and a message carries."""
    cases = _cases(quick)
    fits, count, too_small = True, 0, set()
    for n, what in cases:
        for k in range(1, n * n + 1):
            largest = _largest(ExtraMessages, n, k, what)
            count += largest.states
            most = max(largest.kept, largest.carried)
            fits &= (k < n or most < k) and (k < n - 1 or most <= k) and (k <= (n - 1) ** 2 or not largest.any_extra)
            too_small |= {(n, k)} if most > k else set()
    acts = _largest(ExtraMessages, 3, 4, FOUR_ENTRIES).any_extra
    return (
        fewer_than_the_threshold()
        & enumerated(
            "of n entries or more two are in one of the n - 1 columns, and clearing goes on until there are fewer: "
            "every pattern of three processes",
            _full_patterns(3),
            lambda matrix: _goes_on(ExtraMessages, matrix),
        )
        & fact(
            fits and acts and too_small == {(3, 1), (4, 1), (4, 2)},
            f"for every k from 1 to n² in {count:,} states: fewer than k kept and carried for k ≥ n, at most k for k = "
            "n-1, more only for k < n-1",
            _clears_so(cases),
        )
    )


def _clears_so(cases: list[tuple[int, int | str]]) -> str:
    """How far the machine, whose choice of columns z3 does not read, is shown to clear as the proof has it."""
    free = "; ".join(f"{n} processes, up to {what} messages" for n, what in cases if isinstance(what, int))
    programs = sum(isinstance(what, str) for _, what in cases)
    return f"that the machine clears so is shown up to a bound: {free}; {programs} programs; every interleaving"


def _full_patterns(n: int) -> list[tuple[tuple[int, ...], ...]]:
    """Every pattern of at least n entries in the matrix of the last process, whose own column is zero."""
    rows = [(*row, 0) for row in product(range(2), repeat=n - 1)]
    return [matrix for matrix in product(rows, repeat=n) if sum(map(sum, matrix)) >= n]


def _goes_on(kind: Callable[..., ExtraMessages], matrix: tuple[tuple[int, ...], ...]) -> bool:
    """True if, whatever it clears of this matrix with the least threshold, k = n, fewer than k entries remain, with one
    in each column that had any, after an extra message to each process whose column is cleared.
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
    """A shortest run of the bundled program after which one extra message leaves more than k = 5 entries."""
    machine = ClearsOnce(4, parameters={"k": 5})
    return shortest_run_to(
        system_of(machine, program(bundled.program_of(bundled.run("counterexample-sa6")))),
        lambda now: any(len(machine.entries(local.matrix)) > 5 for local in now.locals),
    )


@cache
def _none_smaller() -> bool:
    """No such run has fewer messages and deliveries."""
    smaller = [(sends, receives) for sends in range(1, MESSAGES) for receives in range(1, min(sends + 1, DELIVERIES))]
    return none_smaller([Clearings(4, 5, MESSAGES, DELIVERIES)], (Clearings(4, 5, *size) for size in smaller))
