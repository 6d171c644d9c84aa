"""The proof obligations for causal order, for every n and any number of messages.

Given invariants, z3 shows three properties, one query per conjunct:

- *safe*: when m is delivered at i, all messages to i whose sends happened before m's are already delivered;
- *waits only for causes*: m, once it has arrived, waits only while one of those is missing;
- *live*: among the messages in flight, one without an earlier one in flight is accepted. So as long as any message is
  in flight one can be delivered, and under fair scheduling each eventually is: only finitely many were sent before.

The first two rest on an induction: the invariants hold at the start, and every step keeps each of them. The third rests
on the second, and on the absence of cycles in happened-before: a message is sent later than those before it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import z3

from crownless.impl.protocol import ProtocolMachine
from crownless.proofs.language.ground import Things, instances, three_of_each
from crownless.proofs.language.refusals import Refused
from crownless.proofs.language.terms import Term, Terms

from .any_run import ACCEPTED, ASSUMED, AnyRun, SymbolicState
from .proved_properties import LIVE, OF_CAUSAL_ORDER, SAFE, WAITS, ProvedProperty, in_words
from .quantified import for_all
from .theorem import Claim, never

#: Invariants by name, each a statement about a state of a run.
Invariants = Mapping[str, Callable[[AnyRun, SymbolicState], Term]]

#: Facts that hold for unicasts and multicasts alike: a message is unknown before it is sent.
KNOWN_IS_SENT: Invariants = for_all(
    {
        "what is known or delivered is sent": (
            lambda run, now, p, x: z3.Implies(now.knows(p, x), now.sent(x)),
            lambda run, now, x, m: z3.Implies(z3.And(now.sent(m), run.precedes(x, m)), now.sent(x)),
            lambda run, now, x: run.each_delivery(lambda *p: z3.Implies(now.delivered(x, *p), now.sent(x))),
        )
    }
)

#: Facts about messages and channels that hold for any protocol, by the assumptions about the environment.
OF_CHANNELS: Invariants = {
    **KNOWN_IS_SENT,
    **for_all(
        {
            "a channel's messages are numbered from one": (
                lambda run, now, k, l: now.count(k, l) >= 0,
                lambda run, now, x: z3.Implies(
                    now.sent(x),
                    z3.And(
                        run.number(x) >= 1,
                        run.number(x) <= now.count(run.sender(x), run.receiver(x)),
                        run.sender(x) != run.receiver(x),
                    ),
                ),
            ),
            "each number is that of one message": lambda run, now, x: z3.Implies(
                now.sent(x), run.numbered(run.sender(x), run.receiver(x), run.number(x)) == x
            ),
            "there is a message of each number": lambda run, now: run.all_numbered(now),
        }
    ),
}

PAST = "all sent to i before m is delivered"

#: The usual subject of a proof.
CODE = "its code"


@dataclass(frozen=True)
class CausalOrder:
    """A proof; each `…_by` names the invariants used, since z3 succeeds more easily with a few."""

    protocol: type[ProtocolMachine]
    invariants: Invariants
    safe_by: Sequence[str]
    waits_by: Sequence[str]
    #: The message that is missing if entry k of the guard does not hold.
    missing: Callable[[AnyRun, Term], Term]
    #: For an invariant, the others used to show that a delivery keeps it; all by default.
    kept_by: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: The receiver's values, m's values, and the entries (l, k) that m raises. None: no witnesses are needed.
    takes: Callable[[AnyRun, Term, Term], Term] | None = None
    #: The steps of a run, if not only the sending and the delivery of a message.
    world: type[AnyRun] = AnyRun
    #: True if safe delivery of m replaces the guard in the proof that its delivery keeps the invariants.
    safe_helps: bool = False
    #: True if the guard stays beside it.
    guard_helps: bool = False
    #: The subject of the proof: which part of the protocol's code, if not all of it.
    of: str = CODE
    remark: str = ""
    #: The assumptions about the environment.
    assumed: Sequence[str] = ASSUMED
    #: The order of which *safe* speaks.
    order: str = "causal"
    #: The properties shown.
    shown: Mapping[str, ProvedProperty] = field(default_factory=lambda: OF_CAUSAL_ORDER)

    def __repr__(self) -> str:
        return f"<proof of {self.protocol.__name__}>"

    def claims(self) -> dict[str, list[Claim]]:
        """The claims to put to z3, part by part; raises `Refused` if the proof does not apply to the protocol."""
        run = self.world(self.protocol)
        try:
            return self._claims(run)
        except Refused:
            raise
        except (TypeError, AttributeError, ValueError, z3.Z3Exception) as error:
            name = self.protocol.__name__
            raise Refused(f"{name}: its states or stamps differ from those in the invariants") from error

    def _claims(self, run: AnyRun) -> dict[str, list[Claim]]:
        return {
            "invariants": self._induction(run),
            SAFE: [Claim(SAFE, self._given(run, self.safe_by, delivered=True), run.past_delivered)],
            WAITS: self._waits(run),
            LIVE: _live(run),
        }

    def of_three(self) -> tuple[AnyRun, Things]:
        """A run of three processes and three messages, with the elements of each sort."""
        process, message, things = three_of_each()
        return self.world(self.protocol, terms=Terms(process), message=message), things

    def vacuity(self) -> list[Claim]:
        """No system of three processes and three messages has a state satisfying the invariants in which m is accepted
        with something sent to i before it, or any other event happens: each to be refuted.
        """
        run, things = self.of_three()
        x = z3.Const("before m", run.message)
        past = {"something was sent to i before m": z3.And(run.precedes(x, run.m), run.to(x, run.i))}
        happenings = {
            "vacuous": {**run.in_flight, ACCEPTED: run.accepted, **past},
            **{f"{event.name}: never": event.given for event in run.events()},
        }
        return never({name: holds(run, run.before) for name, holds in self.invariants.items()}, happenings, things)

    def _induction(self, run: AnyRun) -> list[Claim]:
        claims = [Claim(f"{name}: at the start", {}, holds(run, run.start)) for name, holds in self.invariants.items()]
        now = {name: holds(run, run.before) for name, holds in self.invariants.items()}
        takes = self.takes
        for event in run.events(None if takes is None else lambda l, k: takes(run, l, k)):
            for name, holds in self.invariants.items():
                used = now if event.sends else self.kept_by.get(name, now)
                given = {other: now[other] for other in (name, *used)} | dict(event.given)
                if self.safe_helps and not event.sends:
                    given[PAST] = run.past_delivered
                    if not self.guard_helps:
                        del given[ACCEPTED]
                claims.append(Claim(f"{name}: kept by {event.name}", given, holds(run, event.after)))
        return claims

    def _given(self, run: AnyRun, by: Iterable[str], *, delivered: bool) -> dict[str, Term]:
        now = {name: self.invariants[name](run, run.before) for name in by}
        return {**now, **run.in_flight, **({ACCEPTED: run.accepted} if delivered else {PAST: run.past_delivered})}

    def _waits(self, run: AnyRun) -> list[Claim]:
        """One claim for each part of the guard."""
        k = run.terms.any_process("k")
        senders = [k, run.sender(run.m)]
        messages, processes = [run.m, *[self.missing(run, p) for p in senders]], [run.i, *senders]
        numbers = [part for m in messages for part in m.children() if part.sort() == z3.IntSort()]
        things = {run.message: messages, run.terms.process: processes, z3.IntSort(): numbers}
        used = self._given(run, self.waits_by, delivered=False)
        given = {name: z3.And(instances(holds, things)) for name, holds in used.items()}
        parts = parts_of(run.accepted, k)
        return [
            Claim(f"{in_words(WAITS)}: part {number} of the guard", given, part) for number, part in enumerate(parts, 1)
        ]


def parts_of(guard: Term, k: Term) -> list[Term]:
    """The conjuncts of a guard; a statement about all processes is instantiated with an arbitrary k."""
    if z3.is_quantifier(guard):
        return [z3.substitute_vars(guard.body(), k)]
    return [part for each in guard.children() for part in parts_of(each, k)] if z3.is_and(guard) else [guard]


def _live(run: AnyRun) -> list[Claim]:
    """Let `time` number the sends in order: messages that happened before were sent earlier; the earliest message in
    flight has all its past delivered, so it is accepted if it waits for nothing else.
    """
    now, m = run.before, run.m
    time = z3.Function("time", run.message, z3.IntSort())
    clock = z3.Int("clock")

    def in_order(moment: SymbolicState, clock: Term) -> dict[str, Term]:
        return {
            "what is known is sent": run.processes(
                lambda p: run.messages(lambda x: z3.Implies(moment.knows(p, x), moment.sent(x)))
            ),
            "sends happened before now": run.messages(lambda x: z3.Implies(moment.sent(x), time(x) < clock)),
            "what happened before was sent, and earlier": run.messages(
                lambda x, y: z3.Implies(
                    z3.And(moment.sent(y), run.precedes(x, y)), z3.And(moment.sent(x), time(x) < time(y))
                ),
                of=2,
            ),
        }

    claims = [Claim(f"{name}: at the start", {}, holds) for name, holds in in_order(run.start, clock).items()]
    for event in run.events():
        given = {**in_order(now, clock), **event.given}
        if event.sends:
            given["m is sent now"] = time(m) == clock
        for name, holds in in_order(event.after, clock + 1 if event.sends else clock).items():
            claims.append(Claim(f"{name}: kept by {event.name}", given, holds))
    given = {**in_order(now, clock), **run.in_flight, "m is the earliest in flight": run.earliest(time)}
    claims.append(Claim("the earliest message has its past delivered", given, run.past_delivered))
    return claims
