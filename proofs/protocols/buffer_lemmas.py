"""The lemmas of [MF] §3.3, for any number of processes and messages, on the abstraction of the buffer protocol.

The abstraction is that of `buffer` with two more history variables: the times of a message's post and delivery. "x ≺ y"
is read as: in every run in which y happens, x happens earlier. That is the meaning of ≺ for events of a computation,
all of whose interleavings are runs.
"""

from collections.abc import Mapping
from dataclasses import replace

from crownless.proofs.induction.quantified import for_all
from crownless.proofs.induction.queue_abstraction import AbstractState, Invariants, StageEvent, Truth, parts
from crownless.proofs.induction.queues import Given, QueueProof

from .buffer import BUFFER, Buffers


class BuffersInTime(Buffers):
    """The abstraction with the times of posts and deliveries."""

    lasting = {**Buffers.lasting, **parts("message", "number", "posted_at", "delivered_at")}

    def posting(self) -> StageEvent:
        return self._timed(super().posting(), "posted_at")

    def delivering(self) -> StageEvent:
        return self._timed(super().delivering(), "delivered_at")

    def _timed(self, event: StageEvent, name: str) -> StageEvent:
        return event._replace(fixes={**event.fixes, **self.at_this_time(name, self.m)})


def _of_one_sender(run: BuffersInTime, x: object, y: object) -> Truth:
    return run.sender(x) == run.sender(y)


def _got_before(run: BuffersInTime, now: AbstractState, x: object, y: object) -> Truth:
    return run.logic.both(now.got(x), run.got_at(x) < run.got_at(y))


IN_TIME: Invariants = {
    **BUFFER.invariants,
    **for_all(
        {
            "posts and deliveries are of the past": lambda run, now, l, x: l.both(
                l.implies(now.posted(x), run.posted_at(x) < now.clock),
                l.implies(now.delivered(x), run.delivered_at(x) < now.clock),
            ),
            "a later post follows the acknowledgement of the one before": lambda run, now, l, x, y: l.implies(
                l.both(now.posted(x), now.posted(y), _of_one_sender(run, x, y), run.posted_at(x) < run.posted_at(y)),
                l.both(now.acknowledged(x), run.got_at(x) < run.posted_at(y)),
            ),
            "messages are posted in the order sent": lambda run, now, l, x, y: l.implies(
                l.both(now.posted(y), now.sent(x), _of_one_sender(run, x, y), run.sent_at(x) < run.sent_at(y)),
                l.both(now.posted(x), run.posted_at(x) < run.posted_at(y)),
            ),
            "a message is got after it is posted": lambda run, now, l, x: l.implies(
                now.got(x), run.posted_at(x) < run.got_at(x)
            ),
            "messages are delivered in the order got": lambda run, now, l, x, y: l.implies(
                l.both(now.delivered(y), now.got(x), run.receiver(x) == run.receiver(y), run.got_at(x) < run.got_at(y)),
                l.both(now.delivered(x), run.delivered_at(x) < run.delivered_at(y)),
            ),
        }
    ),
}


def _lemma_2(run: BuffersInTime) -> Given:
    now, l, x, y = run.before, run.logic, run.m, run.w
    posts = l.both(now.posted(x), now.posted(y), _of_one_sender(run, x, y), run.posted_at(x) < run.posted_at(y))
    given = {"one output buffer posts x before y": posts, "y is got": now.got(y)}
    return {"Lemma 2": (given, _got_before(run, now, x, y))}


def _lemma_3(run: BuffersInTime) -> Given:
    now, l, x, y = run.before, run.logic, run.m, run.w
    sends = l.both(now.sent(x), now.sent(y), _of_one_sender(run, x, y), run.sent_at(x) < run.sent_at(y))
    given = {"one process sends x before y": sends, "y is got": now.got(y)}
    return {"Lemma 3": (given, _got_before(run, now, x, y))}


def _lemma_4(run: BuffersInTime) -> Given:
    now, l, x, y = run.before, run.logic, run.m, run.w
    gets = l.both(now.got(x), now.got(y), run.receiver(x) == run.receiver(y), run.got_at(x) < run.got_at(y))
    received = l.both(now.delivered(x), run.delivered_at(x) < run.delivered_at(y))
    return {"Lemma 4": ({"one input buffer gets x before y": gets, "y is received": now.delivered(y)}, received)}


def _eventful(run: BuffersInTime) -> Mapping[str, Truth]:
    """Each lemma is about two messages: one process has sent both to one process, and the second is received."""
    now, l, x, y = run.before, run.logic, run.m, run.w
    two = l.both(_of_one_sender(run, x, y), run.receiver(x) == run.receiver(y), run.sent_at(x) < run.sent_at(y))
    return {"two messages on one channel are received": l.both(two, now.sent(x), now.delivered(y))}


def in_time(abstraction: type[BuffersInTime] = BuffersInTime) -> QueueProof:
    """The proof of the lemmas, for this abstraction or a variant."""
    follows = {
        "Lemma 2": ("what one output buffer posts first is got first", _lemma_2),
        "Lemma 3": ("what one process sends first is got first", _lemma_3),
        "Lemma 4": ("what one input buffer gets first is received first", _lemma_4),
    }
    return replace(BUFFER, abstraction=abstraction, invariants=IN_TIME, follows=follows, eventful=_eventful, kept_by={})
