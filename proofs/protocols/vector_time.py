"""Vector time determines what happened before, in any run of any number of sites ([SES] §4.1).

A run is one event after another: a local event, the sending of a message to some sites, or its delivery at one of
them. No protocol restricts deliveries. The clock is the code of `impl.protocols.ses`, run on terms: `after_event` for
local events and sends, `time_after` for deliveries.

Proved by induction on the run:

- *in full* (§4.1): one of two events happened before the other iff its time is at most the other's;
- *by one entry* (Lemma 1): the entry of the first event's own site is enough;
- *late* (Proposition 2): a message arrives where the time is at least its own iff a message that was sent causally
  after it is already delivered there, which is a violation of causal order.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import z3

from crownless.impl.protocols.ses import Ses
from crownless.proofs.induction.any_run import CAUSAL_PAST
from crownless.proofs.induction.quantified import for_all, induction
from crownless.proofs.induction.theorem import Claim, never
from crownless.proofs.language.branch_free import for_every_n
from crownless.proofs.language.ground import three
from crownless.proofs.language.terms import Term, Terms, for_all_of

ASSUMED = (
    "each event happens once, at one site; a message is sent to other sites, and delivered to each at most once",
    "a message may take any time, overtake others, and be lost; it is delivered whenever it arrives",
    CAUSAL_PAST,
)


@dataclass(frozen=True)
class SymbolicState:
    """Everything that changes in a run; each part maps its arguments to a term."""

    time: Callable[[Term], Term]  #: site → its vector time
    happened: Callable[[Term], Term]  #: event → True if it has happened
    knows: Callable[[Term, Term], Term]  #: site, event → True if it is in the causal past of the site
    delivered: Callable[[Term, Term], Term]  #: send event, site → True if the message is delivered there
    via: Callable[[Term, Term], Term]  #: site, event → a message delivered there by which it knows of the event


class Event(NamedTuple):
    """A possible next event: its hypotheses, and the state after it."""

    name: str
    given: Mapping[str, Term]
    after: SymbolicState


class VectorTimeRun:
    """An arbitrary state of a run; the event `e` happens next at the site `i`, and may be the delivery of `m`."""

    def __init__(self, clock: type[Ses] = Ses, *, terms: Terms | None = None, event: Term = None) -> None:
        """Any number of sites and events, unless finite sorts are given."""
        self.terms = terms = Terms() if terms is None else terms
        self.clock = for_every_n(clock, terms)
        self.event = z3.DeclareSort("Event") if event is None else event
        site, truth = terms.process, z3.BoolSort()
        self.i = terms.any_process("i")
        self.e, self.m = z3.Const("e", self.event), z3.Const("m", self.event)
        self.site = z3.Function("site", self.event, site)
        self.vector = z3.Function("vector", self.event, z3.ArraySort(site, z3.IntSort()))
        #: True if the first event happened before the second.
        self.precedes = z3.Function("precedes", self.event, self.event, truth)
        #: True if this event is the sending of a message to that site.
        self.to = z3.Function("to", self.event, site, truth)
        self.before = SymbolicState(
            z3.Function("time", site, z3.ArraySort(site, z3.IntSort())),
            z3.Function("happened", self.event, truth),
            z3.Function("knows", site, self.event, truth),
            z3.Function("delivered", self.event, site, truth),
            z3.Function("via", site, self.event, self.event),
        )

    def messages(self, holds: Callable[..., Term], *, of: int = 1) -> Term:
        """For all events, which may be sends of messages, or all pairs of them."""
        return for_all_of(self.event, holds, of)

    def processes(self, holds: Callable[..., Term], *, of: int = 1) -> Term:
        """For all sites, or all pairs of them."""
        return for_all_of(self.terms.process, holds, of)

    @property
    def start(self) -> SymbolicState:
        no = z3.BoolVal(False)
        return replace(
            self.before,
            time=lambda p: self.clock.initial(p).time,
            happened=lambda x: no,
            knows=lambda p, x: no,
            delivered=lambda x, p: no,
        )

    def events(self) -> list[Event]:
        return [self.happening(), self.delivering()]

    def happening(self) -> Event:
        """A local event at i, or the sending of a message to some other sites."""
        now, i = self.before, self.i
        time = self.clock.after_event(i, now.time(i))
        given = {"the message is to other sites": z3.Not(self.to(self.e, i))}
        return self._step("a local event or a send", given, time, lambda x: now.knows(i, x))

    def delivering(self) -> Event:
        """The message m is delivered at i."""
        now, i, m = self.before, self.i, self.m
        time = self.clock.time_after(i, now.time(i), self.vector(m))
        step = self._step(
            "a delivery",
            {"m is in flight to i": self.in_flight, "a delivery sends nothing": self._sends_nothing(self.e)},
            time,
            lambda x: z3.Or(now.knows(i, x), x == m, self.precedes(x, m)),
        )
        after = replace(
            step.after,
            delivered=lambda x, p: z3.Or(now.delivered(x, p), z3.And(x == m, p == i)),
            via=lambda p, x: z3.If(z3.And(p == i, z3.Not(now.knows(i, x))), m, now.via(p, x)),
        )
        return step._replace(after=after)

    @property
    def in_flight(self) -> Term:
        """The message m is sent to i and not delivered there."""
        now = self.before
        return z3.And(now.happened(self.m), self.to(self.m, self.i), z3.Not(now.delivered(self.m, self.i)))

    @property
    def is_stale(self) -> Term:
        """VT(m) ≤ VT(i), entry by entry."""
        return self.not_later(self.vector(self.m), self.before.time(self.i))

    def _sends_nothing(self, x: Term) -> Term:
        return self.processes(lambda p: z3.Not(self.to(x, p)))

    def not_later(self, one: Term, other: Term) -> Term:
        return self.processes(lambda k: one[k] <= other[k])

    def _step(self, name: str, given: Mapping[str, Term], time: Term, past: Callable[[Term], Term]) -> Event:
        now, i, e = self.before, self.i, self.e
        said = {
            "e happens at i, for the first time": z3.And(self.site(e) == i, z3.Not(now.happened(e))),
            "e has the time just after it": self.processes(lambda k: self.vector(e)[k] == time[k]),
            "before e happened its causal past": self.messages(lambda x: self.precedes(x, e) == past(x)),
        }
        after = replace(
            now,
            time=lambda p: z3.If(p == i, time, now.time(p)),
            happened=lambda x: z3.Or(now.happened(x), x == e),
            knows=lambda p, x: z3.Or(now.knows(p, x), z3.And(p == i, z3.Or(x == e, past(x)))),
        )
        return Event(name, {**given, **said}, after)


Invariant = Callable[[VectorTimeRun, SymbolicState], Term]


def _own_entry(run: VectorTimeRun, x: Term, time: Term) -> Term:
    """True if the entry of x's own site is at least that of x."""
    return run.vector(x)[run.site(x)] <= time[run.site(x)]


INVARIANTS: Mapping[str, Invariant] = for_all(
    {
        "what is known or delivered has happened": (
            lambda run, now, p, x: z3.Implies(now.knows(p, x), now.happened(x)),
            lambda run, now, x, y: z3.Implies(z3.And(now.happened(y), run.precedes(x, y)), now.happened(x)),
            lambda run, now, p, x: z3.Implies(now.delivered(x, p), now.happened(x)),
        ),
        "nobody is ahead of a site's own time": (
            lambda run, now, p, k: now.time(p)[k] <= now.time(k)[k],
            lambda run, now, x, k: z3.Implies(now.happened(x), run.vector(x)[k] <= now.time(k)[k]),
        ),
        "time determines what is known": lambda run, now, p, x: z3.Implies(
            now.happened(x), now.knows(p, x) == _own_entry(run, x, now.time(p))
        ),
        "time determines what happened before": lambda run, now, x, y: z3.Implies(
            z3.And(now.happened(x), now.happened(y), x != y),
            run.precedes(x, y) == _own_entry(run, x, run.vector(y)),
        ),
        "what is known is not later": (
            lambda run, now, p, k, x: z3.Implies(now.knows(p, x), run.vector(x)[k] <= now.time(p)[k]),
            lambda run, now, x, y, k: z3.Implies(
                z3.And(now.happened(y), run.precedes(x, y)), run.vector(x)[k] <= run.vector(y)[k]
            ),
        ),
        "what is delivered is known": lambda run, now, p, x: z3.Implies(now.delivered(x, p), now.knows(p, x)),
        "a site knows of others' events by messages delivered to it": lambda run, now, p, x: z3.Implies(
            z3.And(now.knows(p, x), run.site(x) != p),
            z3.And(
                now.delivered(now.via(p, x), p),
                z3.Or(x == now.via(p, x), run.precedes(x, now.via(p, x))),
            ),
        ),
        "no message is to its sender": lambda run, now, x: z3.Implies(now.happened(x), z3.Not(run.to(x, run.site(x)))),
    }
)


def kept_claims(clock: type[Ses] = Ses) -> list[Claim]:
    """The invariants hold at the start, and each event keeps each of them."""
    run = VectorTimeRun(clock)
    now = _now(run)
    return [
        claim
        for name, holds in INVARIANTS.items()
        for claim in induction(run, name, lambda moment, holds=holds: holds(run, moment), now)  # type: ignore[misc]
    ]


def two_event_claims() -> list[Claim]:
    """§4.1: E1 → E2 iff VT(E1) ≤ VT(E2). Lemma 1: E1 → E2 if VT(E1)[i] ≤ VT(E2)[i], where E1 is an event of S_i."""
    run = VectorTimeRun()
    e, f = run.e, run.m
    both = z3.And(run.before.happened(e), run.before.happened(f))
    given = {**_now(run), "both have happened": both, "they are two": e != f}
    return [
        Claim("in full", given, run.precedes(e, f) == run.not_later(run.vector(e), run.vector(f))),
        Claim("Lemma 1", given, z3.Implies(_own_entry(run, e, run.vector(f)), run.precedes(e, f))),
    ]


def late_claims() -> list[Claim]:
    """Proposition 2, in the state in which m arrives."""
    run = VectorTimeRun()
    i, m = run.i, run.m
    given = {**_now(run), "m is in flight to i": run.in_flight}

    def overtook(x: Term) -> Term:
        return z3.And(run.before.delivered(x, i), run.precedes(m, x))

    return [
        Claim("a message that is late was overtaken", given, z3.Implies(run.is_stale, overtook(run.before.via(i, m)))),
        Claim(
            "a message that was overtaken is late", given, run.messages(lambda x: z3.Implies(overtook(x), run.is_stale))
        ),
    ]


def remark_2() -> Claim:
    """§4.2.5: where a time has the entry of an event elsewhere, that message is delivered, or one sent after it."""
    run = VectorTimeRun()
    p, x, now = run.i, run.e, run.before
    given = {**_now(run), "x happened, elsewhere": z3.And(now.happened(x), run.site(x) != p)}
    message = now.via(p, x)
    learnt = z3.And(now.delivered(message, p), z3.Or(message == x, run.precedes(x, message)))
    return Claim("Remark 2", given, z3.Implies(_own_entry(run, x, now.time(p)), learnt))


def claims() -> list[Claim]:
    """All claims to put to z3."""
    return [*kept_claims(), *two_event_claims(), *late_claims()]


def vacuity() -> list[Claim]:
    """Among three sites and three events, with the invariants, no event of either kind can happen, no two events are
    ordered, none are concurrent, and no message is late: each to be refuted.
    """
    site, event = three("Site", "S1 S2 S3"), three("Event", "x y z")
    run = VectorTimeRun(terms=Terms(site.sort), event=event.sort)
    things = {event.sort: event.all, site.sort: site.all}
    happened = z3.And(run.before.happened(run.e), run.before.happened(run.m), run.e != run.m)
    cases: dict[str, Mapping[str, Term]] = {
        **{f"{step.name}: never": step.given for step in run.events()},
        "never ordered": {"": z3.And(happened, run.precedes(run.e, run.m))},
        "never concurrent": {
            "": z3.And(happened, z3.Not(run.precedes(run.e, run.m)), z3.Not(run.precedes(run.m, run.e)))
        },
        "never late": {"": z3.And(run.in_flight, run.is_stale)},
    }
    return never(_now(run), cases, things)


def _now(run: VectorTimeRun) -> dict[str, Term]:
    return {name: holds(run, run.before) for name, holds in INVARIANTS.items()}
