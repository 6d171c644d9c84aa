"""Any run of a protocol that forgets entries, where a later message to the same receiver stands for an earlier one.

The history has one more variable: for each process and message, the sender of the message that stands for it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import z3

from crownless.proofs.language.terms import Term

from .any_run import AnyRun, Event, SymbolicState


@dataclass(frozen=True)
class CoveredState(SymbolicState):
    """A state with one more history variable."""

    #: Process p, message x → k: for p, the last message from k to the receiver of x is x itself or a later one.
    cover: Callable[[Term, Term], Term]


class CoveringRun(AnyRun):
    """A run in which a sent message stands for all that its sender knows and that goes to the same receiver."""

    before: CoveredState

    def _declare(self) -> None:
        super()._declare()
        process, message = self.terms.process, self.message
        #: Message m, message x → the cover of x at the sender of m when m was sent.
        self.cover_of = z3.Function("cover-of", message, message, process)
        self.before = CoveredState(**vars(self.before), cover=z3.Function("cover", process, message, process))

    def sending(self) -> Event:
        i, m, before, event = self.i, self.m, self.before, super().sending()
        carried = self.messages(lambda x: self.cover_of(m, x) == before.cover(i, x))

        def cover(p: Term, x: Term) -> Term:
            return z3.If(z3.And(p == i, self.to(x, self.receiver(m))), i, before.cover(p, x))

        after = CoveredState(**{**vars(event.after), "cover": cover})
        return event._replace(given={**event.given, "m has the covers of i": carried}, after=after)

    def delivering(self, takes: Callable[[Term, Term], Term] | None = None) -> Event:
        i, m, before, event = self.i, self.m, self.before, super().delivering(takes)

        def cover(p: Term, x: Term) -> Term:
            return z3.If(z3.And(p == i, z3.Not(before.knows(i, x))), self.cover_of(m, x), before.cover(p, x))

        return event._replace(after=CoveredState(**{**vars(event.after), "cover": cover}))
