"""The algorithm of Murty & Garg keeps synchronous order, for every n and any number of messages ([MG] Fig. 8).

Why it works: draw each message as a point at the time when its acknowledgement is transmitted; if a process transmits
several at once, in the order in which it received the messages. Between sending and being acknowledged a process is
passive: it sends nothing, and acknowledges what it receives later. So the messages that it has sent or received are
acknowledged in that order (*a line's messages are acknowledged in order*). Messages not yet acknowledged come last,
those to smaller processes first: a process that owes an acknowledgement is itself passive, and waits for a smaller one.
So points are ordered without a cycle, each process's line is in their order, and there is no crown.

Priorities are needed for unacknowledged messages, and for liveness: the least passive process waits for an active one.
The order of acknowledged messages needs only the send condition and the receive condition.

The text's own proof, by Lemma 4 and Theorem 6, fails as printed (MG13, MG14 in the ledger); this is a different one.
"""

from collections.abc import Mapping
from typing import Any

from crownless.impl.protocol import AppEvent
from crownless.impl.protocols.murty_garg import MurtyGarg, State
from crownless.proofs.induction.quantified import for_all
from crownless.proofs.induction.queue_abstraction import (
    Abstraction,
    AbstractState,
    Fixed,
    FlagField,
    Invariants,
    MachineView,
    PacketKind,
    QueueField,
    StageEvent,
    Truth,
    can,
    fifo_preservation_claims,
    fixed_by,
    parts,
)
from crownless.proofs.induction.queues import Given, QueueProof
from crownless.spec.computation import Message


class Priorities(Abstraction):
    """[MG] Fig. 8: a message is wanted by its sender, taken up by the bigger of its two processes, transmitted,
    received by the smaller one, acknowledged, and the acknowledgement received.
    """

    changing = {
        **parts("message", "truth", "wanted", "taken", "out", "received", "acknowledged", "done"),
        **parts("process", "truth", "passive"),
        **parts("process", "message", "awaits"),
    }
    lasting = {
        **parts("process", "number", "rank"),
        **parts("message", "process", "sender", "receiver"),
        **parts("message", "number", "taken_at", "out_at", "received_at", "acknowledged_at"),
    }

    def bigger(self, x: Any) -> Any:
        return self.logic.choose(
            self.rank(self.sender(x)) > self.rank(self.receiver(x)), self.sender(x), self.receiver(x)
        )

    def smaller(self, x: Any) -> Any:
        return self.logic.choose(
            self.rank(self.sender(x)) > self.rank(self.receiver(x)), self.receiver(x), self.sender(x)
        )

    def events(self) -> list[StageEvent]:
        return [
            self.asking(),
            self.taking(passive=False),
            self.taking(passive=True),
            self.receiving(passive=False),
            self.receiving(passive=True),
            self.going_on(),
            self.going_on_with_the_next(),
        ]

    # -- the boxes of Fig. 8 -------------------------------------------------------------------------------------------

    def asking(self) -> StageEvent:
        """SendIntent to a bigger process: m is requested (PR)."""
        now, i, m, l = self.before, self.i, self.m, self.logic
        given = {
            "i wants to send m": l.both(self.sender(m) == i, l.no(now.wanted(m))),
            "to a bigger process": l.both(self.rank(self.receiver(m)) > self.rank(i)),
        }
        return StageEvent("ask", given, now.then(**self.now_also("wanted", m)))

    def taking(self, *, passive: bool) -> StageEvent:
        """SendIntent to a smaller process, or a request from one: commit and send if active, else wait (SP)."""
        now, i, m, l = self.before, self.i, self.m, self.logic
        mine = l.both(self.sender(m) == i, l.no(now.wanted(m)), self.rank(self.receiver(m)) < self.rank(i))
        asked = l.both(self.receiver(m) == i, now.wanted(m), self.rank(self.sender(m)) < self.rank(i))
        given = {
            "i wants to send m, or is asked to": l.both(l.no(now.taken(m)), l.either(mine, asked)),
            **self.is_passive(passive),
        }
        taken = now.then(**self.now_also("wanted", m), **self.now_also("taken", m))
        fixes = self.at_this_time("taken_at", m)
        if passive:
            return StageEvent("queue", given, taken, fixes)
        return StageEvent(
            "send", given, self.put_out(taken, m), {**fixes, **self.at_this_time("out_at", m)}, lambda: [self.commit(m)]
        )

    def receiving(self, *, passive: bool) -> StageEvent:
        """Receive from a bigger process: commit; acknowledge if active, else queue (RP)."""
        now, i, m, l = self.before, self.i, self.m, self.logic
        given = {
            "m is in flight to i": l.both(self.smaller(m) == i, now.out(m), l.no(now.received(m))),
            **self.is_passive(passive),
        }
        after, fixes = now.then(**self.now_also("received", m)), self.at_this_time("received_at", m)
        if passive:
            return StageEvent("receive while passive", given, after, fixes, lambda: [self.commit(m)])
        after = after.also(**self.now_also("acknowledged", m))
        fixes |= self.at_this_time("acknowledged_at", m)
        return StageEvent("receive", given, after, fixes, lambda: [self.commit(m)])

    def going_on(self) -> StageEvent:
        """Receive of an acknowledgement, nothing to send: active again; the queued acknowledgements are transmitted."""
        now, i, l = self.before, self.i, self.logic
        given = {**self.comes_back(), "nothing waits to be sent": l.messages(lambda x: l.no(self.waits(now, i, x)))}
        after = self.acknowledging().also(passive=lambda p: l.both(now.passive(p), p != i))
        return StageEvent("go on", given, after, self.acknowledged_now())

    def going_on_with_the_next(self) -> StageEvent:
        """Receive of an acknowledgement: the queued ones are transmitted, and then the oldest message that waits."""
        now, i, w, l = self.before, self.i, self.w, self.logic
        oldest = l.messages(lambda x: l.no(l.both(self.waits(now, i, x), self.taken_at(x) < self.taken_at(w))))
        given = {**self.comes_back(), "w is the oldest that waits to be sent": l.both(self.waits(now, i, w), oldest)}
        after = self.put_out(self.acknowledging(), w)
        fixes = {**self.acknowledged_now(), **self.at_this_time("out_at", w)}
        return StageEvent("go on with the next", given, after, fixes, lambda: [self.commit(w)])

    # -- their parts ---------------------------------------------------------------------------------------------------

    def waits(self, now: AbstractState, i: Any, x: Any) -> Truth:
        """True if it is in the message queue of i."""
        return self.logic.both(now.taken(x), self.logic.no(now.out(x)), self.bigger(x) == i)

    def owes(self, now: AbstractState, i: Any, x: Any) -> Truth:
        """True if its acknowledgement is in the queue of i."""
        return self.logic.both(now.received(x), self.logic.no(now.acknowledged(x)), self.smaller(x) == i)

    def is_passive(self, passive: bool) -> dict[str, Truth]:
        now, i = self.before, self.i
        return {"i is passive": now.passive(i)} if passive else {"i is active": self.logic.no(now.passive(i))}

    def comes_back(self) -> dict[str, Truth]:
        now, i, m, l = self.before, self.i, self.m, self.logic
        return {
            "m's acknowledgement is in flight to i": l.both(self.bigger(m) == i, now.acknowledged(m), l.no(now.done(m)))
        }

    def acknowledging(self) -> AbstractState:
        now, i, m, l = self.before, self.i, self.m, self.logic
        return now.then(
            **self.now_also("done", m),
            acknowledged=lambda x: l.either(now.acknowledged(x), self.owes(now, i, x)),
        )

    def acknowledged_now(self) -> dict[str, Fixed]:
        now, i = self.before, self.i
        return {"acknowledged_at": Fixed(lambda x: self.owes(now, i, x), lambda x: now.clock)}

    def put_out(self, then: AbstractState, x: Any) -> AbstractState:
        """In the same step, i commits and sends x, and is passive."""
        i, l = self.i, self.logic
        return then.also(
            out=lambda y: l.either(then.out(y), y == x),
            passive=lambda p: l.either(then.passive(p), p == i),
            awaits=lambda p: l.choose(p == i, x, then.awaits(p)),
        )

    def commit(self, x: Message) -> AppEvent:
        return AppEvent(self.logic.choose(self.sender(x) == self.i, "send", "deliver"), x)

    # -- lines and points ----------------------------------------------------------------------------------------------

    def committed(self, now: AbstractState, p: Any, x: Any) -> Truth:
        """True if it is on the line of p: p has sent or received it."""
        l = self.logic
        return l.either(l.both(self.bigger(x) == p, now.out(x)), l.both(self.smaller(x) == p, now.received(x)))

    def committed_at(self, p: Any, x: Any) -> Any:
        return self.logic.choose(self.bigger(x) == p, self.out_at(x), self.received_at(x))

    def follows(self, now: AbstractState, p: Any, x: Any, y: Any) -> Truth:
        """True if y is after x on the line of p."""
        return self.logic.both(
            self.committed(now, p, x), self.committed(now, p, y), self.committed_at(p, x) < self.committed_at(p, y)
        )

    def sooner(self, x: Any, y: Any) -> Truth:
        """True if the acknowledgement of x is transmitted before that of y."""
        l = self.logic
        same = l.both(self.acknowledged_at(x) == self.acknowledged_at(y), self.received_at(x) < self.received_at(y))
        return l.either(self.acknowledged_at(x) < self.acknowledged_at(y), same)

    def point(self, now: AbstractState, x: Any, y: Any) -> Truth:
        """True if the point of x is before that of y."""
        l = self.logic
        one, other = now.acknowledged(x), now.acknowledged(y)
        lower, equal = (
            self.rank(self.smaller(x)) < self.rank(self.smaller(y)),
            self.smaller(x) == self.smaller(y),
        )
        received = l.both(now.received(x), l.either(l.no(now.received(y)), self.received_at(x) < self.received_at(y)))
        return l.either(
            l.both(one, l.no(other)),
            l.both(one, other, self.sooner(x, y)),
            l.both(l.no(one), l.no(other), l.either(lower, l.both(equal, received))),
        )


RANKS: Invariants = for_all(
    {"processes are ranked": lambda run, now, l, p, q: l.implies(run.rank(p) == run.rank(q), p == q)}
)
INVARIANTS: Invariants = for_all(
    {
        "one stage follows the other": lambda run, now, l, x: l.both(
            l.implies(now.done(x), now.acknowledged(x)),
            l.implies(
                now.acknowledged(x),
                l.both(
                    now.received(x), run.received_at(x) <= run.acknowledged_at(x), run.acknowledged_at(x) < now.clock
                ),
            ),
            l.implies(
                now.received(x), l.both(now.out(x), run.out_at(x) < run.received_at(x), run.received_at(x) < now.clock)
            ),
            l.implies(now.out(x), l.both(now.taken(x), run.out_at(x) < now.clock)),
            l.implies(now.taken(x), run.rank(run.smaller(x)) < run.rank(run.bigger(x))),
        ),
        "what is taken up is wanted, and was taken up before now": lambda run, now, l, x: l.implies(
            now.taken(x), l.both(now.wanted(x), run.taken_at(x) < now.clock)
        ),
        "messages are taken up one after the other": lambda run, now, l, x, y: l.implies(
            l.both(now.taken(x), now.taken(y), run.taken_at(x) == run.taken_at(y)), x == y
        ),
        "events on a line are one after the other": lambda run, now, l, p, x, y: l.implies(
            l.both(
                run.committed(now, p, x), run.committed(now, p, y), run.committed_at(p, x) == run.committed_at(p, y)
            ),
            x == y,
        ),
        "what is asked for is for a bigger process": lambda run, now, l, x: l.implies(
            l.both(now.wanted(x), l.no(now.taken(x))), run.rank(run.receiver(x)) > run.rank(run.sender(x))
        ),
        "who waits for an acknowledgement is passive": lambda run, now, l, x: l.implies(
            l.both(now.out(x), l.no(now.done(x))), l.both(now.passive(run.bigger(x)), now.awaits(run.bigger(x)) == x)
        ),
        "who is passive waits for one": lambda run, now, l, p: l.implies(
            now.passive(p),
            l.both(now.out(now.awaits(p)), l.no(now.done(now.awaits(p))), run.bigger(now.awaits(p)) == p),
        ),
        "who owes an acknowledgement is passive": lambda run, now, l, x: l.implies(
            l.both(now.received(x), l.no(now.acknowledged(x))), now.passive(run.smaller(x))
        ),
        "while something waits to be sent its process is passive": lambda run, now, l, x: l.implies(
            l.both(now.taken(x), l.no(now.out(x))), now.passive(run.bigger(x))
        ),
        "what came before is acknowledged when a process sends": lambda run, now, l, p, x: l.implies(
            l.both(now.passive(p), run.committed(now, p, x), run.committed_at(p, x) < run.out_at(now.awaits(p))),
            l.both(now.acknowledged(x), run.acknowledged_at(x) <= run.out_at(now.awaits(p))),
        ),
        "a line's messages are acknowledged in order": lambda run, now, l, p, x, y: l.implies(
            l.both(run.follows(now, p, x, y), now.acknowledged(y)), l.both(now.acknowledged(x), run.sooner(x, y))
        ),
    }
)


def _safe(run: Priorities) -> Given:
    """Every line is in the order of the points, which is acyclic."""
    now, l = run.before, run.logic

    def in_order(p: Any, x: Any, y: Any) -> Truth:
        return l.implies(run.follows(now, p, x, y), run.point(now, x, y))

    def transitive(x: Any, y: Any, z: Any) -> Truth:
        return l.implies(l.both(run.point(now, x, y), run.point(now, y, z)), run.point(now, x, z))

    return {
        "each line is in the order of the points": (
            {},
            l.processes(lambda p: l.messages(lambda x, y: in_order(p, x, y), of=2)),
        ),
        "no point is before itself": ({}, l.messages(lambda x: l.no(run.point(now, x, x)))),
        "what is before what is before is before": ({}, l.messages(transitive, of=3)),
    }


def _live(run: Priorities) -> Given:
    """Whatever waits for no process can proceed; the least passive process is not passive for long, and by induction on
    size neither is any other; and no message overtakes one that waits to be sent.
    """
    now, i, m, w, l = run.before, run.i, run.m, run.w, run.logic
    awaits = {"i awaits m's acknowledgement": l.both(now.passive(i), now.awaits(i) == m)}
    least = l.processes(lambda p: l.implies(now.passive(p), run.rank(i) <= run.rank(p)))
    in_flight, comes = l.both(now.out(m), l.no(now.received(m))), l.both(now.acknowledged(m), l.no(now.done(m)))
    owed = l.both(now.passive(run.smaller(m)), run.rank(run.smaller(m)) < run.rank(i), run.owes(now, run.smaller(m), m))
    going_on, with_next = run.going_on(), run.going_on_with_the_next()
    queued = l.messages(lambda x: l.no(l.both(run.waits(now, i, x), run.taken_at(x) < run.taken_at(w))))
    next_one = l.either(
        l.messages(lambda x: l.no(run.waits(now, i, x))), l.both(run.waits(now, i, w), queued)
    )  # a non-empty queue has an oldest message
    return {
        "a request can be taken up": (
            {"m is asked of i": l.both(run.receiver(m) == i, now.wanted(m), l.no(now.taken(m)))},
            can(run, "send", "queue"),
        ),
        "what is in flight can be received": (
            {"m is in flight to i": l.both(run.smaller(m) == i, in_flight)},
            can(run, "receive", "receive while passive"),
        ),
        "an acknowledgement can come": (
            {"m's acknowledgement is in flight to i": l.both(run.bigger(m) == i, comes), "w is next": next_one},
            can(run, "go on", "go on with the next"),
        ),
        "a passive process waits for a smaller one, or for what is in flight": (
            awaits,
            l.either(in_flight, comes, owed),
        ),
        "the least passive process waits for what is in flight": (
            {**awaits, "no smaller one is passive": least},
            l.either(in_flight, comes),
        ),
        **{
            f"{event.name}: all that was owed is acknowledged": (
                event.given,
                l.messages(lambda x, event=event: l.no(run.owes(event.after, i, x))),
            )
            for event in (going_on, with_next)
        },
        "where nobody is passive nothing waits": (
            {"nobody is passive": l.processes(lambda p: l.no(now.passive(p)))},
            l.both(l.no(run.waits(now, i, m)), l.no(run.owes(now, i, m)), l.implies(now.out(m), now.done(m))),
        ),
        "the one ahead goes": (
            {**with_next.given, **fixed_by(run, with_next)},
            l.both(
                l.no(run.waits(with_next.after, i, w)),
                l.messages(
                    lambda x: l.implies(l.both(run.waits(now, i, x), x != w), run.taken_at(w) < run.taken_at(x))
                ),
            ),
        ),
        **fifo_preservation_claims(run, "the queue of messages", run.waits, run.taken_at),
    }


def _eventful(run: Priorities) -> Mapping[str, Truth]:
    """i goes on with w while it owes an acknowledgement."""
    owes = run.logic.no(run.logic.messages(lambda x: run.logic.no(run.owes(run.before, run.i, x))))
    return {**run.going_on_with_the_next().given, "i owes an acknowledgement": owes}


VIEW = MachineView(
    State,
    {
        "active": FlagField(lambda run, now, i: run.logic.no(now.passive(i))),
        "messages": QueueField(lambda run, now, i, x: run.waits(now, i, x), lambda run, x: run.taken_at(x)),
        "acks": QueueField(
            lambda run, now, i, x: run.owes(now, i, x), lambda run, x: run.received_at(x), lambda run, x: run.bigger(x)
        ),
    },
    {
        "request": PacketKind(
            lambda run, now, x: run.logic.both(now.wanted(x), run.logic.no(now.taken(x))),
            lambda run, x: run.smaller(x),
            lambda run, x: run.bigger(x),
        ),
        "message": PacketKind(
            lambda run, now, x: run.logic.both(now.out(x), run.logic.no(now.received(x))),
            lambda run, x: run.bigger(x),
            lambda run, x: run.smaller(x),
        ),
        "ack": PacketKind(
            lambda run, now, x: run.logic.both(now.acknowledged(x), run.logic.no(now.done(x))),
            lambda run, x: run.smaller(x),
            lambda run, x: run.bigger(x),
            carries=False,
        ),
    },
    fresh=lambda run, now, x: run.logic.no(now.wanted(x)),
    on_send=("ask", "send", "queue"),
    on_packet={
        "request": ("send", "queue"),
        "message": ("receive", "receive while passive"),
        "ack": ("go on", "go on with the next"),
    },
)

MURTY_GARG = QueueProof(
    MurtyGarg,
    Priorities,
    INVARIANTS,
    follows={
        "safe": ("every message can be drawn as a point, so that each process's line is in the order of points", _safe),
        "live": ("the least passive process proceeds; by induction on size, so does each", _live),
    },
    eventful=_eventful,
    view=VIEW,
    axioms=RANKS,
    order="synchronous",
    assumed=(
        "each message is wanted once, and goes to one process that is not its sender; nothing is lost or duplicated",
        "packets may take any time and overtake others",
        "no two processes have one rank, and below each there are finitely many",
        "live: whatever stays enabled is eventually done",
    ),
)
