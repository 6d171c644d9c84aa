"""The buffer protocol realizes causal order, for every n and any number of messages ([MF] §3.3).

Why it works: an output buffer posts a message only when the previous one has reached the input buffer of its receiver.
So when a message is posted, everything that happened before its send has reached its destination: its own sender's
earlier messages, since they were acknowledged; and the messages its sender had delivered, with all that happened before
them, since each was itself posted. An input buffer passes messages on in order of arrival.

Self-sends are admitted here.
"""

from collections.abc import Mapping

from crownless.impl.protocol import AppEvent
from crownless.impl.protocols.buffer import Buffer, State
from crownless.proofs.induction.any_run import CAUSAL_PAST
from crownless.proofs.induction.quantified import for_all
from crownless.proofs.induction.queue_abstraction import (
    Abstraction,
    AbstractState,
    Fixed,
    Invariants,
    MachineView,
    OptionField,
    PacketKind,
    Part,
    QueueField,
    StageEvent,
    Truth,
    can,
    fifo_preservation_claims,
    parts,
)
from crownless.proofs.induction.queues import Given, QueueProof


class Buffers(Abstraction):
    """[MF] §3.2: a message is sent, posted, got, and delivered; and, once it is got, acknowledged."""

    changing = {
        **parts("message", "truth", "sent", "posted", "got", "acknowledged", "delivered"),
        **parts("process", "truth", "waits"),
        **parts("process", "message", "awaits"),
        "knows": Part(("process", "message"), "truth"),
    }
    lasting = {
        **parts("message", "process", "sender", "receiver"),
        "precedes": Part(("message", "message"), "truth"),
        **parts("message", "number", "sent_at", "got_at"),
    }

    def events(self) -> list[StageEvent]:
        return [self.sending(), self.posting(), self.getting(), self.acknowledging(), self.delivering()]

    def sending(self) -> StageEvent:
        """PROCESS, send: the output buffer of i inserts m."""
        now, i, m, l = self.before, self.i, self.m, self.logic
        return StageEvent(
            "send",
            {"i sends m, for the first time": l.both(self.sender(m) == i, l.no(now.sent(m)))},
            now.then(
                **self.now_also("sent", m),
                knows=lambda p, x: l.either(now.knows(p, x), l.both(p == i, x == m)),
            ),
            {
                **self.at_this_time("sent_at", m),
                "precedes": Fixed(lambda x, y: y == m, lambda x, y: now.knows(i, x)),
            },
            lambda: [AppEvent("send", m)],
        )

    def posting(self) -> StageEvent:
        """OUTPUT BUFFER, posting: m is the oldest in the buffer, and no acknowledgement is awaited."""
        now, i, m, l = self.before, self.i, self.m, self.logic
        given = {
            "m is the oldest in i's output buffer": self.first_out(),
            "i awaits no acknowledgement": l.no(now.waits(i)),
        }
        after = now.then(
            **self.now_also("posted", m),
            **self.now_also("waits", i),
            awaits=lambda p: l.choose(p == i, m, now.awaits(p)),
        )
        return StageEvent("post", given, after)

    def getting(self) -> StageEvent:
        """INPUT BUFFER, getting a message: enqueue it and send an acknowledgement."""
        now, i, m, l = self.before, self.i, self.m, self.logic
        given = {"m is in flight to i": l.both(self.receiver(m) == i, now.posted(m), l.no(now.got(m)))}
        return StageEvent("get", given, now.then(**self.now_also("got", m)), self.at_this_time("got_at", m))

    def acknowledging(self) -> StageEvent:
        """OUTPUT BUFFER, acknowledge: that of m comes to i."""
        now, i, m, l = self.before, self.i, self.m, self.logic
        comes = l.both(self.sender(m) == i, now.got(m), l.no(now.acknowledged(m)))
        after = now.then(**self.now_also("acknowledged", m), waits=lambda p: l.both(now.waits(p), p != i))
        return StageEvent("acknowledge", {"m's acknowledgement is in flight to i": comes}, after)

    def delivering(self) -> StageEvent:
        """INPUT BUFFER, deliver request: the oldest is delivered."""
        now, i, m, l = self.before, self.i, self.m, self.logic

        none_older = l.messages(lambda x: l.no(l.both(self.in_input(now, i, x), self.got_at(x) < self.got_at(m))))
        return StageEvent(
            "deliver",
            {"m is the oldest in i's input buffer": l.both(self.in_input(now, i, m), none_older)},
            now.then(
                **self.now_also("delivered", m),
                knows=lambda p, x: l.either(now.knows(p, x), l.both(p == i, l.either(x == m, self.precedes(x, m)))),
            ),
            happens=lambda: [AppEvent("deliver", m)],
        )

    def first_out(self) -> Truth:
        """True if m is the oldest in i's output buffer."""
        now, i, m, l = self.before, self.i, self.m, self.logic
        none_older = l.messages(lambda x: l.no(l.both(self.in_output(now, i, x), self.sent_at(x) < self.sent_at(m))))
        return l.both(self.in_output(now, i, m), none_older)

    def past_delivered(self) -> Truth:
        """All messages sent to i causally before m are delivered."""
        now, l = self.before, self.logic
        return l.messages(
            lambda x: l.implies(l.both(self.precedes(x, self.m), self.receiver(x) == self.i), now.delivered(x))
        )

    def in_output(self, now: AbstractState, i: object, x: object) -> Truth:
        return self.logic.both(self.sender(x) == i, now.sent(x), self.logic.no(now.posted(x)))

    def in_input(self, now: AbstractState, i: object, x: object) -> Truth:
        return self.logic.both(self.receiver(x) == i, now.got(x), self.logic.no(now.delivered(x)))


INVARIANTS: Invariants = for_all(
    {
        "one stage follows the other": lambda run, now, l, x: l.both(
            l.implies(now.delivered(x), now.got(x)),
            l.implies(now.acknowledged(x), now.got(x)),
            l.implies(now.got(x), l.both(now.posted(x), run.got_at(x) < now.clock)),
            l.implies(now.posted(x), now.sent(x)),
            l.implies(now.sent(x), run.sent_at(x) < now.clock),
        ),
        "what is known is sent": lambda run, now, l: l.both(
            l.processes(lambda p: l.messages(lambda x: l.implies(now.knows(p, x), now.sent(x)))),
            l.messages(lambda x, m: l.implies(l.both(now.sent(m), run.precedes(x, m)), now.sent(x)), of=2),
        ),
        "what is not acknowledged is awaited": lambda run, now, l, x: l.implies(
            l.both(now.posted(x), l.no(now.acknowledged(x))),
            l.both(now.waits(run.sender(x)), now.awaits(run.sender(x)) == x),
        ),
        "what is awaited is posted": lambda run, now, l, p: l.implies(
            now.waits(p),
            l.both(
                now.posted(now.awaits(p)),
                l.no(now.acknowledged(now.awaits(p))),
                run.sender(now.awaits(p)) == p,
            ),
        ),
        "messages are sent one after the other": lambda run, now, l, x, y: l.implies(
            l.both(now.sent(x), now.sent(y), run.sent_at(x) == run.sent_at(y)), x == y
        ),
        "messages are got one after the other": lambda run, now, l, x, y: l.implies(
            l.both(now.got(x), now.got(y), run.got_at(x) == run.got_at(y)), x == y
        ),
        "an output buffer is first in, first out": lambda run, now, l, x, y: l.implies(
            l.both(now.posted(y), now.sent(x), run.sender(x) == run.sender(y), run.sent_at(x) < run.sent_at(y)),
            now.posted(x),
        ),
        "of others' messages only what has been got is known": lambda run, now, l, p, x: l.implies(
            now.knows(p, x), l.either(run.sender(x) == p, now.got(x))
        ),
        "what happened before was sent by the sender, or has been got": lambda run, now, l, x, m: l.implies(
            l.both(now.sent(m), run.precedes(x, m)),
            l.either(now.got(x), l.both(run.sender(x) == run.sender(m), run.sent_at(x) < run.sent_at(m))),
        ),
        "when a message is posted what happened before has been got": lambda run, now, l, x, m: l.implies(
            l.both(now.posted(m), run.precedes(x, m)), now.got(x)
        ),
        "what happened before is got before": lambda run, now, l, x, m: l.implies(
            l.both(now.got(m), run.precedes(x, m)), run.got_at(x) < run.got_at(m)
        ),
    }
)


def _safe(run: Buffers) -> Given:
    return {"safe": (run.delivering().given, run.past_delivered())}


def _live(run: Buffers) -> Given:
    """The head of each queue can proceed, or what it waits for can; and no message overtakes one that waits in a queue,
    so each message has finitely many before it.
    """
    now, i, m, l = run.before, run.i, run.m, run.logic
    awaited = {"i awaits m's acknowledgement": l.both(now.waits(i), now.awaits(i) == m)}
    in_flight = l.both(now.posted(m), l.no(now.got(m)))
    first_in = l.messages(lambda x: l.no(l.both(run.in_input(now, i, x), run.got_at(x) < run.got_at(m))))
    return {
        "the oldest in an output buffer can be posted, or an acknowledgement is awaited": (
            {"m is the oldest in i's output buffer": run.first_out()},
            l.either(can(run, "post"), now.waits(i)),
        ),
        "what is awaited is in flight, or its acknowledgement can come": (
            awaited,
            l.either(in_flight, can(run, "acknowledge")),
        ),
        "what is in flight can be got": (
            {"m is in flight to i": l.both(run.receiver(m) == i, in_flight)},
            can(run, "get"),
        ),
        "the oldest in an input buffer can be delivered": (
            {"m is the oldest in i's input buffer": l.both(run.in_input(now, i, m), first_in)},
            can(run, "deliver"),
        ),
        **fifo_preservation_claims(run, "an output buffer", run.in_output, run.sent_at),
        **fifo_preservation_claims(run, "an input buffer", run.in_input, run.got_at),
    }


def _eventful(run: Buffers) -> Mapping[str, Truth]:
    """m is delivered after another message was sent to i."""
    before = run.logic.both(run.precedes(run.w, run.m), run.receiver(run.w) == run.i)
    return {**run.delivering().given, "something was sent to i before m": before}


VIEW = MachineView(
    State,
    {
        "output": QueueField(lambda run, now, i, x: run.in_output(now, i, x), lambda run, x: run.sent_at(x)),
        "awaits": OptionField(lambda run, now, i: now.waits(i), lambda run, now, i: run.receiver(now.awaits(i))),
        "input": QueueField(lambda run, now, i, x: run.in_input(now, i, x), lambda run, x: run.got_at(x)),
    },
    {
        "message": PacketKind(
            lambda run, now, x: run.logic.both(now.posted(x), run.logic.no(now.got(x))),
            lambda run, x: run.sender(x),
            lambda run, x: run.receiver(x),
        ),
        "ack": PacketKind(
            lambda run, now, x: run.logic.both(now.got(x), run.logic.no(now.acknowledged(x))),
            lambda run, x: run.receiver(x),
            lambda run, x: run.sender(x),
            carries=False,
        ),
    },
    fresh=lambda run, now, x: run.logic.no(now.sent(x)),
    on_send=("send",),
    on_internal=("post",),
    on_packet={"message": ("get",), "ack": ("acknowledge",)},
    on_receive=("deliver",),
)

BUFFER = QueueProof(
    Buffer,
    Buffers,
    INVARIANTS,
    follows={
        "safe": ("a message is delivered after all that was sent to its receiver causally before it", _safe),
        "live": (
            "the head of each queue proceeds, or what it waits for does; so each message is eventually delivered",
            _live,
        ),
    },
    eventful=_eventful,
    view=VIEW,
    assumed=(
        "each message is sent once, to one process, perhaps to its sender; nothing is lost or duplicated",
        "packets may take any time and overtake others",
        CAUSAL_PAST,
        "live: whatever stays enabled is eventually done, and applications keep requesting messages",
    ),
    self_sends=True,
)
