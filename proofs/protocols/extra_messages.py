"""The extra-message protocol realizes causal order, for every n, whenever extra messages are sent ([SA]).

The proof runs the protocol's own updates and guard: `after_sending`, `after_delivering`, `after_extra`, `satisfied`. It
leaves out what `impl` adds in plain Python: matrices as tuples of their non-zero entries, and the choice of when to
send an extra message, and to whom. Here any process may send one at any time; so the result holds for every threshold,
even a changing one, and without one. An extra message is a message like any other, except that it carries one column,
and nothing is learnt from it.

Why it works: for every message that a process knows and that is not delivered, its matrix still has an entry that comes
after it: the message itself, or one to the same receiver before which it was sent (*a matrix covers what is known*).
Clearing a column keeps this, since the message just sent comes after all that its sender knows. So the guard, which
waits for the entries, waits for everything before them. It waits for nothing else since each
entry is a message before. That message may be an extra one, for which a protocol without extra messages does not wait.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import z3

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.protocols.extra_messages import ExtraMessages, State
from crownless.proofs.induction.any_run import AnyRun, Event, SymbolicState, chosen
from crownless.proofs.induction.causal_order import OF_CHANNELS, CausalOrder
from crownless.proofs.induction.proved_properties import OF_CAUSAL_ORDER, WAITS
from crownless.proofs.induction.quantified import for_all
from crownless.proofs.language.terms import Term
from crownless.spec.computation import Message


class OneMessagePerStep(ExtraMessages):
    """The protocol with one message per step and plain matrices."""

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:
        packet = Packet(i, message.receiver, "message", message, state.matrix)
        return [Step(self.after_sending(i, state, message.receiver), [packet], [AppEvent("send", message)])]

    def matrix_of(self, entries: Any) -> Value:
        return entries

    def clearings(self, i: int, state: State) -> Sequence[tuple[State, Sequence[Packet]]]:
        return [(state, ())]


@dataclass(frozen=True)
class Covered(SymbolicState):
    """A state, with the entries that cover what is known."""

    #: Process, message → the row of the entry of its matrix, in the receiver's column, that covers it.
    cover: Callable[[Term, Term], Term]


class WithExtraMessages(AnyRun):
    """A run in which some messages are extra ones."""

    before: Covered

    def __init__(self, protocol: type[ProtocolMachine], **sorts: Any) -> None:
        super().__init__(type(protocol.__name__, (OneMessagePerStep, protocol), {}), **sorts)
        process, message = self.terms.process, self.message
        self.extra = z3.Function("extra", message, z3.BoolSort())
        #: The covers (`Covered.cover`) of its sender when it was sent.
        self.cover = z3.Function("cover-of", message, message, process)
        self.before = Covered(**vars(self.before), cover=z3.Function("cover", process, message, process))

    def events(self, takes: Callable[[Term, Term], Term] | None = None) -> list[Event]:
        return [*self._sendings(), *self._deliverings()]

    def _sendings(self) -> list[Event]:
        before, i, m, j = self.before, self.i, self.m, self.receiver(self.m)
        sending = self.sending()
        covers = {"m has the covers of i": self.messages(lambda x: self.cover(m, x) == before.cover(i, x))}
        ops = self.machine.ops
        column = ops.matrix(lambda k, l: before.local(i).matrix[k][l] * ops.one_if(l == j))
        after = _covered(
            sending.after, lambda p, x: z3.If(z3.And(p == i, self.receiver(x) == j), i, before.cover(p, x))
        )
        extra = {"m is an extra message": self.extra(m), "m carries what i attaches": self.stamp(m) == column}
        return [
            Event("sending", {**sending.given, **covers, "m is no extra message": z3.Not(self.extra(m))}, after, True),
            Event("sending an extra message", {**sending.given, **covers, **extra}, after, True),
        ]

    def _deliverings(self) -> list[Event]:
        before, i, m = self.before, self.i, self.m
        delivering = self.delivering()
        given = delivering.given
        after = _covered(
            delivering.after,
            lambda p, x: z3.If(z3.And(p == i, z3.Not(before.knows(i, x))), self.cover(m, x), before.cover(p, x)),
        )
        counted = self.machine.after_extra(before.local(i), self.sender(m))
        after_extra = replace(
            before,
            local=lambda p: chosen(p == i, counted, before.local(p)),
            delivered=delivering.after.delivered,
            knows=lambda p, x: z3.Or(before.knows(p, x), z3.And(p == i, x == m)),
        )
        return [
            Event("delivering", {**given, "m is no extra message": z3.Not(self.extra(m))}, after),
            Event("delivering an extra message", {**given, "m is an extra message": self.extra(m)}, after_extra),
        ]


def _covered(moment: SymbolicState, cover: Callable[[Term, Term], Term]) -> Covered:
    return Covered(**{**vars(moment), "cover": cover})


def _covers(run: AnyRun, matrix: Term, row: Term, x: Term) -> Term:
    """True if the entry of that row is a message to x's receiver: x, or one that x was sent before."""
    entry = matrix[row][run.receiver(x)]
    counted = run.numbered(row, run.receiver(x), entry)
    return z3.And(entry >= 1, z3.Or(x == counted, run.precedes(x, counted)))


def _one_channel(run: AnyRun, x: Term, y: Term) -> Term:
    return z3.And(run.sender(x) == run.sender(y), run.receiver(x) == run.receiver(y))


def _previous(run: AnyRun, m: Term) -> Term:
    """The previous message on m's channel."""
    return run.numbered(run.sender(m), run.receiver(m), run.number(m) - 1)


def _is_before(run: AnyRun, now: SymbolicState, x: Term, m: Term) -> Term:
    """True if x is the previous message on m's channel, and was sent before m."""
    return z3.And(now.sent(x), _one_channel(run, x, m), run.number(x) == run.number(m) - 1, run.precedes(x, m))


INVARIANTS: dict[str, Callable[[Any, Any], Term]] = {
    **OF_CHANNELS,
    **for_all(
        {
            "a matrix counts no more than there are": lambda run, now, p, k, l: z3.And(
                now.local(p).matrix[k][l] >= 0, now.local(p).matrix[k][l] <= now.count(k, l)
            ),
            "a sender counts what it sent": lambda run, now, p, l: z3.Implies(
                p != l, now.local(p).matrix[p][l] == now.count(p, l)
            ),
            "no stamp counts more than there are": lambda run, now, m, k, l: z3.Implies(
                now.sent(m), z3.And(run.stamp(m)[k][l] >= 0, run.stamp(m)[k][l] <= now.count(k, l))
            ),
            "a sender knows what it sent": lambda run, now, x: z3.Implies(now.sent(x), now.knows(run.sender(x), x)),
            "what happened before is known to the sender": lambda run, now, x, m: z3.Implies(
                z3.And(now.sent(m), run.precedes(x, m)), now.knows(run.sender(m), x)
            ),
            "a channel's messages are sent in order": lambda run, now, x, y: z3.Implies(
                z3.And(now.sent(x), now.sent(y), _one_channel(run, x, y), run.number(x) < run.number(y)),
                run.precedes(x, y),
            ),
            "the one before on a channel happened before": lambda run, now, m: z3.Implies(
                z3.And(now.sent(m), run.number(m) >= 2), _is_before(run, now, _previous(run, m), m)
            ),
            "before a later one of a channel happened no less": lambda run, now, x, y, z: z3.Implies(
                z3.And(
                    now.sent(y),
                    now.sent(z),
                    _one_channel(run, y, z),
                    run.number(y) <= run.number(z),
                    run.precedes(x, y),
                ),
                run.precedes(x, z),
            ),
            "a matrix covers what is known": lambda run, now, p, x: z3.Implies(
                now.knows(p, x), z3.Or(now.delivered(x), _covers(run, now.local(p).matrix, now.cover(p, x), x))
            ),
            "a stamp covers what happened before": lambda run, now, x, m: z3.Implies(
                z3.And(
                    now.sent(m),
                    run.precedes(x, m),
                    z3.Or(z3.Not(run.extra(m)), run.receiver(x) == run.receiver(m)),
                ),
                z3.Or(now.delivered(x), _covers(run, run.stamp(m), run.cover(m, x), x)),
            ),
            "entries are known": lambda run, now, p, k, l: z3.Implies(
                now.local(p).matrix[k][l] >= 1, now.knows(p, run.numbered(k, l, now.local(p).matrix[k][l]))
            ),
            "a stamp's entries happened before": lambda run, now, m, k, l: z3.Implies(
                z3.And(now.sent(m), run.stamp(m)[k][l] >= 1),
                run.precedes(run.numbered(k, l, run.stamp(m)[k][l]), m),
            ),
            "DELIV counts what is delivered": lambda run, now, x: z3.Implies(
                now.sent(x), now.delivered(x) == (run.number(x) <= now.local(run.receiver(x)).deliv[run.sender(x)])
            ),
            "DELIV counts no more than there are": lambda run, now, p, k: z3.And(
                now.local(p).deliv[k] >= 0, now.local(p).deliv[k] <= now.count(k, p)
            ),
            "a process knows of messages to itself by delivering them": lambda run, now, x: z3.Implies(
                now.sent(x), now.knows(run.receiver(x), x) == now.delivered(x)
            ),
            "deliveries are in causal order": lambda run, now, x, z: z3.Implies(
                z3.And(now.delivered(z), run.precedes(x, z), run.receiver(x) == run.receiver(z)), now.delivered(x)
            ),
        }
    ),
}

_OF_CHANNELS = (
    "what is known or delivered is sent",
    "a channel's messages are numbered from one",
    "each number is that of one message",
    "there is a message of each number",
    "a channel's messages are sent in order",
)
SAFE_BY = (
    "what is known or delivered is sent",
    "there is a message of each number",
    "no stamp counts more than there are",
    "a stamp covers what happened before",
    "DELIV counts what is delivered",
    "deliveries are in causal order",
)
WAITS_BY = (
    "there is a message of each number",
    "no stamp counts more than there are",
    "a stamp's entries happened before",
    "DELIV counts what is delivered",
    "DELIV counts no more than there are",
)
KEPT_BY = {
    "a sender counts what it sent": (
        "what is known or delivered is sent",
        "a channel's messages are numbered from one",
        "there is a message of each number",
        "no stamp counts more than there are",
    ),
    "entries are known": (
        "what is known or delivered is sent",
        "a stamp's entries happened before",
        "DELIV counts what is delivered",
        "DELIV counts no more than there are",
        "a process knows of messages to itself by delivering them",
    ),
    "DELIV counts what is delivered": (
        *_OF_CHANNELS,
        "the one before on a channel happened before",
        "DELIV counts no more than there are",
    ),
    "a matrix covers what is known": (
        *_OF_CHANNELS,
        "a matrix counts no more than there are",
        "no stamp counts more than there are",
        "before a later one of a channel happened no less",
        "a stamp covers what happened before",
        "a process knows of messages to itself by delivering them",
    ),
}
EXTRA_MESSAGES = CausalOrder(
    ExtraMessages,
    INVARIANTS,
    SAFE_BY,
    WAITS_BY,
    lambda run, k: run.numbered(k, run.i, run.stamp(run.m)[k][run.i]),
    KEPT_BY,
    world=WithExtraMessages,
    safe_helps=True,
    of="its updates",
    shown={
        **OF_CAUSAL_ORDER,
        WAITS: OF_CAUSAL_ORDER[WAITS]._replace(
            means="a message that has arrived, of the application or an extra one, waits only while another, of either "
            "kind, that was sent causally before it to the same receiver is not delivered",
            follows="a message of the application may wait for an extra message: a protocol that sends none can "
            "deliver it sooner (claim SA16)",
        ),
    },
    remark="of its updates and its guard; extra messages may be sent at any time, so that every threshold is covered",
)
