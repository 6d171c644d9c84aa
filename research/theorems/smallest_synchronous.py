"""No counterexample to [MG]'s conditions for synchronous order is smaller than the bundled ones, by z3.

A computation is smaller if it has fewer messages, control messages included; then, if it has fewer processes. m
messages have 2m ends, so up to a number of messages the search is exhaustive. Where only fewer processes are searched,
the number of messages is stated.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

import z3

from crownless.proofs.language.terms import Term

from .bounded import Bounded, none_smaller


class Size(NamedTuple):
    """The size of a computation; the order is that of sizes."""

    messages: int
    processes: int


def sizes_below(size: Size) -> list[Size]:
    """The sizes that cover every smaller one: with idle processes, n processes also cover fewer."""
    fewer = [Size(m, 2 * m) for m in range(1, size.messages)]
    return [*fewer, Size(size.messages, size.processes - 1)]


#: The size of the counterexamples to Lemma 4 and Theorem 6.
SMALLEST = Size(5, 4)
#: Packets of a run of Fig. 8, and the processes among which five were searched: five packets could be between ten
#: processes, which takes z3 longer.
FIG_8, FIVE_AMONG = Size(6, 4), 6


class Conditions(Bounded):
    """Any computation with control messages; `sc`, `rc`, … restrict it to those with [MG]'s conditions."""

    def __init__(self, n: int, m: int) -> None:
        super().__init__(n, m)
        #: s1 ≺ r2, and r1 → r2.
        self.send_then_receive = self.sent_before_received("send then receive", self.same_line)
        self.receive_leads = self.received_before_received("receive leads", self.leads)

    def require_send_condition(self) -> None:
        for (a, c), leads in self.receive_leads.items():
            if a < c:
                self.add(z3.Implies(z3.And(self.both_own(a, c), self.same_line[a, c]), leads))

    def break_of_receive_condition(self) -> Term:
        """s1 ≺ r2 and r2 → r1, for some two application messages."""
        return z3.Or(
            [
                z3.And(self.both_own(a, c), before, self.receive_leads[c, a])
                for (a, c), before in self.send_then_receive.items()
            ]
        )

    def require_receive_condition(self) -> None:
        self.add(z3.Not(self.break_of_receive_condition()))

    def require_priority_rule(self) -> None:
        """The application's messages go to smaller processes."""
        for (a, b), goes in self.goes.items():
            self.add(z3.Implies(z3.And(self.own[a], goes), self.to_smaller[a, b]))

    def require_own_crown(self) -> None:
        """The application's messages alone have a crown."""
        linked = {(a, b): z3.Or(same, z3.And(self.goes[a, b], self.own[a])) for (a, b), same in self.same_line.items()}
        self.require_cycle(self.sent_before_received("own crown", self.chains("own", linked)))

    def acknowledgements(self) -> dict[tuple[int, int], Term]:
        """For the places of two sends: the second sends the acknowledgement of the first one's message.

        It is a control message from the receiver back to the sender, after the message was received; at most one.
        """
        acks = {(a, c): z3.Bool(f"acknowledged {a} {c}") for a, c in self.goes}
        for (a, c), ack in acks.items():
            came = z3.Or([z3.And(self.goes[a, r], self.same_line[r, c]) for r in range(a + 1, c)])
            back = z3.Or([z3.And(self.goes[c, d], self.same_line[a, d]) for d in self.places[c + 1 :]])
            self.add(z3.Implies(ack, z3.And(self.own[a], self.sends[c], z3.Not(self.own[c]), came, back)))
        for e in self.places:
            answers, answered = [acks[a, e] for a in range(e)], [acks[e, c] for c in self.places[e + 1 :]]
            self.add(*(z3.AtMost(*few, 1) for few in (answers, answered) if few))
        return acks

    def maps_to_as_printed(self) -> dict[tuple[int, int], Term]:
        """s1 ↦ r2 for two messages, as `Split.maps_to_as_printed`."""
        found = {}
        for a, c in self.two_messages():
            ways = [
                z3.And(self.own[l], self.same_line[a, l], self.receive_leads[l, c])
                for l in self.places[a + 1 :]
                if l != c
            ]
            found[a, c] = self.named(f"maps to {a} {c}", z3.Or(self.send_then_receive[a, c], *ways))
        return found


def breaks_lemma_4(n: int, m: int, size: int, *, ranked: bool) -> Conditions:
    """SC, RC (ranked: and PR), a closed walk by ↦ as printed of that size, hence a crown of at most that size, and no
    strong crown of at most that size.
    """
    some = Conditions(n, m)
    some.require_send_condition()
    some.require_receive_condition()
    if ranked:
        some.require_priority_rule()
    some.add(some.closed_walk("crown", some.maps_to_as_printed(), size))
    for fewer in range(2, size + 1):
        some.add(z3.Not(some.closed_walk(f"strong {size}", some.send_then_receive, fewer)))
    return some


def breaks_theorem_6(n: int, m: int) -> Conditions:
    """SC, RC and PR, control messages of any kind, and the application's computation has a crown."""
    some = Conditions(n, m)
    some.require_send_condition()
    some.require_receive_condition()
    some.require_priority_rule()
    some.require_own_crown()
    return some


def breaks_rc_as_fig_8_may(n: int, m: int) -> Conditions:
    """RC is violated by packets as [MG] Fig. 8 allows: a message packet goes from a bigger to a smaller process, and a
    control message is an acknowledgement or a request.

    The conditions are necessary: z3 finds candidates for runs of Fig. 8, which are confirmed by running them.
    """
    some = Conditions(n, m)
    some.require_priority_rule()
    acks = some.acknowledgements()
    requests = {}
    passive = {}
    for e in some.places:
        requests[e] = z3.And(some.sends[e], z3.Not(some.own[e]), z3.Not(z3.Or([acks[a, e] for a in range(e)])))
        waits = []
        for a in range(e):
            over = [z3.And(acks[a, c], some.goes[c, d]) for c, d in some.goes if a < c and d < e]
            waits.append(z3.And(some.own[a], some.same_line[a, e], z3.Not(z3.Or(over))))
        passive[e] = z3.Or(waits)
        # SP and RP: a passive process transmits only requests.
        some.add(z3.Implies(z3.And(some.sends[e], passive[e]), requests[e]))
    for (a, f), goes in some.goes.items():
        asked = z3.And(goes, requests[a])
        some.add(z3.Implies(asked, z3.Not(some.to_smaller[a, f])))
        for g in some.places[f + 1 :]:
            # An active process that gets a request sends the message as its next event.
            between = [some.same_line[f, h] for h in range(f + 1, g)]
            is_next = z3.And(some.same_line[f, g], z3.Not(z3.Or(between)))
            back = z3.Or([z3.And(some.goes[g, h], some.same_line[a, h]) for h in some.places[g + 1 :]])
            some.add(z3.Implies(z3.And(asked, z3.Not(passive[f]), is_next), z3.And(some.own[g], back)))
    some.add(some.break_of_receive_condition())
    return some


def _each_size(search: Callable[[int, int], Bounded], sizes: Iterable[Size]) -> Iterator[Bounded]:
    return (search(size.processes, size.messages) for size in sizes)


@cache
def none_smaller_against_lemma_4() -> bool:
    """For control messages of any kind, even without PR."""

    def crowns(sizes: Iterable[Size], *, ranked: bool) -> Iterator[Bounded]:
        return (breaks_lemma_4(n, m, k, ranked=ranked) for m, n in sizes for k in range(2, m + 1))

    return none_smaller(crowns([SMALLEST], ranked=True), crowns(sizes_below(SMALLEST), ranked=False))


@cache
def none_smaller_against_theorem_6() -> bool:
    """For control messages of any kind."""
    return none_smaller(*(_each_size(breaks_theorem_6, sizes) for sizes in ([SMALLEST], sizes_below(SMALLEST))))


@cache
def none_smaller_against_theorem_5_by_requests() -> bool:
    """For the packets of runs of Fig. 8: none with as many among three processes, or five among `FIVE_AMONG`."""
    smaller = [*(Size(m, 2 * m) for m in range(1, 5)), Size(5, FIVE_AMONG), Size(6, 3)]
    return none_smaller(*(_each_size(breaks_rc_as_fig_8_may, sizes) for sizes in ([FIG_8], smaller)))
