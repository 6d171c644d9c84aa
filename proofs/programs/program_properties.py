"""The properties of a program as formulas on its runs: the formula of a run that violates, or reaches, each."""

from itertools import combinations, pairwise, permutations
from typing import Any

import z3

from crownless.spec.computation import Message

from .symbolic_entries import Condition, all_hold, any_holds, implied, negated
from .symbolic_run import Slot, SymbolicRun


def at_end(run: SymbolicRun) -> Condition:
    """Every process is at the end of its program."""
    return all_hold(run.happens.values())


def at_rest(run: SymbolicRun) -> Condition:
    """No action is enabled: no process is at a send, or at a receive for which a packet may be received."""
    conditions = []
    for slot in run.slots:
        stands = run.stands(*slot)
        more = (
            True
            if run.sends(slot)
            else any_holds(
                all_hold((run.sent(c), negated(run.taken(c)), run.may_arrive(c, slot.place))) for c in run.takes[slot]
            )
        )
        conditions.append(implied(negated(more), by=stands))
    return all_hold(conditions)


def refuses(run: SymbolicRun) -> Condition:
    """A packet has arrived and is not deliverable yet."""
    return any_holds(
        all_hold((run.stands(c.destination, k), run.sent(c), negated(run.taken(c)), negated(run.deliverable(c, k))))
        for c in run.copies
        for k in range(len(run.lines[c.destination]) + 1)
    )


def delivers_again(run: SymbolicRun) -> Condition:
    """A spurious delivery: to a process that is no receiver of the message, or a repeated one."""
    return any_holds(
        takes if slot.process not in c.message.receivers else all_hold((takes, run.delivered(c.message, *slot)))
        for slot, some in run.takes.items()
        for c, takes in some.items()
    )


def overtakes(run: SymbolicRun, at: frozenset[int] | None, *, same_sender: bool = False) -> Condition:
    """A delivery violates causal order (FIFO: with a message of the same sender), at one of these processes or any: a
    message to the same process, sent causally before, is not delivered yet.
    """
    overtakings = []
    for slot, some in run.takes.items():
        q = slot.process
        if at is not None and q not in at:
            continue
        for c, takes in some.items():
            if q not in c.message.receivers:
                continue
            earlier = any_holds(
                all_hold((run.carried[c].past[run.number[x]], negated(run.delivered(x, q, slot.place))))
                for x in run.program.all_messages
                if x != c.message and q in x.receivers and (x.sender == c.message.sender or not same_sender)
            )
            overtakings.append(all_hold((takes, negated(run.delivered(c.message, *slot)), earlier)))
    return any_holds(overtakings)


def crown(run: SymbolicRun) -> Condition:
    """No completion is synchronous: messages drawn as points form a cycle, each before the next on some line.

    A message sent and not delivered will come after everything on its receiver's line.
    """

    def comes_before(x: Message, y: Message) -> Condition:
        ways = []
        for p, line in enumerate(run.lines):
            length = len(line)
            for a, b in combinations(range(length), 2):
                ways.append(all_hold((_has_event(run, x, Slot(p, a)), _has_event(run, y, Slot(p, b)))))
            if p in y.receivers:
                there = any_holds(_has_event(run, x, Slot(p, a)) for a in range(length))
                to_come = all_hold((run.happens[run.sent_in[y]], negated(run.delivered(y, p))))
                ways.append(all_hold((there, to_come)))
        return any_holds(ways)

    return _cycle({(x, y): comes_before(x, y) for x, y in permutations(run.program.all_messages, 2)})


def cycle_of_sends(run: SymbolicRun) -> Condition:
    """No linearization has one queue per receiver: events form a cycle, where sends to one process are also in the
    order in which it receives them, those not received last.
    """
    before: dict[tuple[Slot, Slot], list[Condition]] = {}

    def comes_before(a: Slot, b: Slot, condition: Condition) -> None:
        before.setdefault((a, b), []).append(all_hold((run.happens[a], run.happens[b], condition)))

    for a, b in pairwise(run.slots):
        if a.process == b.process:
            comes_before(a, b, True)
    for slot, some in run.takes.items():
        for c, takes in some.items():
            comes_before(c.sent_in, slot, takes)
    for x, y in permutations(run.program.all_messages, 2):
        for q in set(x.receivers) & set(y.receivers):
            places = range(len(run.lines[q]))
            received_so = [
                all_hold((_receives(run, x, Slot(q, a)), _receives(run, y, Slot(q, b))))
                for a, b in combinations(places, 2)
            ]
            never = all_hold((run.delivered(x, q), negated(run.delivered(y, q))))
            comes_before(run.sent_in[x], run.sent_in[y], any_holds([*received_so, never]))
    return _cycle({pair: any_holds(conditions) for pair, conditions in before.items()})


def _receives(run: SymbolicRun, message: Message, slot: Slot) -> Condition:
    if slot.process not in message.receivers:
        return False
    return any_holds(takes for c, takes in run.takes.get(slot, {}).items() if c.message == message)


def _has_event(run: SymbolicRun, message: Message, slot: Slot) -> Condition:
    return run.happens[slot] if run.sent_in[message] == slot else _receives(run, message, slot)


def _cycle(before: dict[tuple[Any, Any], Condition]) -> Condition:
    """True if there is a cycle: some things each have another of them before them."""
    inside = {thing: z3.FreshBool("inside") for pair in before for thing in pair}
    to: dict[Any, list[Condition]] = {thing: [] for thing in inside}
    for (x, y), condition in before.items():
        to[y].append(all_hold((inside[x], condition)))
    return all_hold(
        [any_holds(inside.values()), *(implied(any_holds(to[thing]), by=there) for thing, there in inside.items())]
    )
