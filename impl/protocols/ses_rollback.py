"""The vector-pair protocol with recovery from a failure ([SES] §4.3): survivors agree on its time and roll back.

A site that waits for a message of the site S_i that broke down finds the number of the oldest event of S_i of which a
waiting message carries evidence, MIN(S). The least of these is N: "The failure must have occurred on site S_i after
event (N-1)". Every site whose VT(S)[i] is greater than N − 1 rewinds to its last state in which it is not.

Modelling choices, where the text says nothing:

- a site keeps a log of its events, so that it can rewind; and its own hold-back queue, since MIN(S) is about what waits
  there;
- agreement is reached at once, by all survivors together, at any time after the crash at which one of them has
  evidence; and again, if new evidence comes later. Nothing else happens until all have rewound;
- rewinding undoes sends and deliveries. A delivered message that does not depend on event N of S_i waits again; one
  that does, like any such message that waits or still arrives, is dropped: it was never sent, or its sender is given
  up;
- the applications do not send again what was undone.

Findings. Agreeing once is not enough: MIN(S) sees only what waits at S; a pair that a survivor still holds, or that is
in flight, may record an older message, and who knows of that one alone does not rewind and is never heard at S again
(3 sites, 5 messages). And the evidence may be false: a pair of a message that is only in flight or waits itself,
perhaps another site's that merely knows of an event of S_i, looks the same, and sites rewind for nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from crownless.impl.ops import Value
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step, Transition
from crownless.impl.renaming import Renaming
from crownless.spec.computation import Message

from . import ses
from .ses import Ses


class Event(NamedTuple):
    """A send, or the delivery of a packet's message; and the site's state before."""

    before: ses.State
    message: Message
    packet: Any  #: the Packet that brought it, or None


class Failure(NamedTuple):
    """The agreement of the survivors: the site that broke down, and N."""

    site: int
    event: int


class State(NamedTuple):
    site: ses.State
    waiting: frozenset[Packet]  #: messages that have arrived and are not delivered
    log: tuple[Event, ...]
    failure: Failure | None

    @property
    def buffer(self) -> Value:
        return self.site.buffer

    @property
    def time(self) -> Value:
        return self.site.time


class SesRollback(Ses):
    source = "[SES] §4.3"
    rolls_back = True
    bound = (3, 3)

    rules = {
        **Ses.rules,
        "a-waiting-message-may-not-be-delivered": lambda machine, t: (
            t.action == "deliver" and t.refused and bool(t.before.waiting)
        ),
        "a-site-rewinds": lambda machine, t: t.receives("agreed") and len(t.after.log) < len(t.before.log),
        "a-site-need-not-rewind": lambda machine, t: t.receives("agreed") and t.after.log == t.before.log,
        "a-send-is-undone": lambda machine, t: undoes(t, "unsend"),
        "a-delivery-is-undone": lambda machine, t: undoes(t, "undeliver"),
        "a-delivered-orphan-is-undone": lambda machine, t: undoes(t, "orphan"),
        "a-waiting-orphan-is-dropped": lambda machine, t: (
            t.receives("agreed") and not t.before.waiting <= t.after.waiting
        ),
        "an-arriving-orphan-is-dropped": lambda machine, t: (
            t.receives("message") and t.before.failure is not None and t.after == t.before
        ),
    }

    def initial(self, i: int) -> State:  # type: ignore[override]
        return State(super().initial(i), frozenset(), (), None)

    def send(self, i: int, state: State, message: Message) -> Sequence[Step]:  # type: ignore[override]
        (step,) = super().send(i, state.site, message)
        log = (*state.log, Event(state.site, message, None))
        return [step._replace(state=state._replace(site=step.state, log=log))]

    #: Arriving messages wait in the site's own hold-back queue.
    deliverable = ProtocolMachine.deliverable

    def on_packet(self, i: int, state: State, packet: Packet) -> Sequence[Step]:  # type: ignore[override]
        if packet.message is None:
            return [self.rewound(i, state, packet.stamp)]
        if state.failure is not None and depends(packet, state.failure):
            return [Step(state)]
        return [Step(state._replace(waiting=state.waiting | {packet}))]

    def receive(self, i: int, state: State, sender: int | None) -> Sequence[Step]:
        """Deliver a waiting message for which the protocol need not wait any more (§4.2.2)."""
        steps = []
        for packet in sorted(state.waiting):
            if sender in (None, packet.source) and super().deliverable(i, state.site, packet):
                (step,) = super().on_packet(i, state.site, packet)
                log = (*state.log, Event(state.site, packet.message, packet))
                steps.append(
                    step._replace(state=state._replace(site=step.state, waiting=state.waiting - {packet}, log=log))
                )
        return steps

    # -- failures ------------------------------------------------------------------------------------------------------

    def agree(self, states: Mapping[int, State], crashed: int) -> Failure | None:
        """N, the minimum of MIN(S) over all survivors S; None if none has evidence of anything undelivered."""
        minima = [self.minimum(i, state, crashed) for i, state in states.items()]
        known = [event for event in minima if event is not None]
        return Failure(crashed, min(known)) if known else None

    def minimum(self, i: int, state: State, crashed: int) -> int | None:
        """MIN(S): the least VT[i] > VT(S)[i] of the pairs (S, VT) that come with waiting messages (S_i crashed)."""
        pairs = [packet.stamp.buffer[i][crashed] for packet in state.waiting]
        return min((event for event in pairs if event > state.time[crashed]), default=None)

    def must_rewind(self, time: Value, failure: Failure) -> bool:
        """VT(S)[i] > N − 1."""
        return bool(time[failure.site] > failure.event - 1)

    def rewound(self, i: int, state: State, failure: Failure) -> Step:
        """Back to the last state that does not know of event N; waiting messages that depend on it are dropped."""
        site, log = state.site, list(state.log)
        waiting, undone = set(state.waiting), []
        while self.must_rewind(site.time, failure):
            site, message, packet = log.pop()
            if packet is None:
                undone.append(AppEvent("unsend", message))
            else:
                waiting.add(packet)
                undone.append(AppEvent("orphan" if depends(packet, failure) else "undeliver", message))
        left = frozenset(packet for packet in waiting if not depends(packet, failure))
        return Step(State(site, left, tuple(log), failure), (), undone)

    def delivered(self, t: Transition) -> Packet:
        packet: Packet = t.after.log[-1].packet
        return packet

    # -- renaming ------------------------------------------------------------------------------------------------------

    def renamed(self, state: State, renaming: Renaming) -> State:  # type: ignore[override]
        return State(
            super().renamed(state.site, renaming),
            frozenset([self.renamed_packet(packet, renaming) for packet in state.waiting]),
            tuple([self.renamed_event(event, renaming) for event in state.log]),
            None if state.failure is None else self.renamed_failure(state.failure, renaming),
        )

    def renamed_event(self, event: Event, renaming: Renaming) -> Event:
        before, message, packet = event
        return Event(
            super().renamed(before, renaming),
            renaming.message(message),
            None if packet is None else self.renamed_packet(packet, renaming),
        )

    def renamed_failure(self, failure: Failure, renaming: Renaming) -> Failure:
        return Failure(renaming.image[failure.site], failure.event)

    def renamed_stamp(self, kind: str, stamp: Any, renaming: Renaming) -> Any:
        """The agreement of the survivors comes as a packet too."""
        if isinstance(stamp, Failure):
            return self.renamed_failure(stamp, renaming)
        return super().renamed_stamp(kind, stamp, renaming)


def depends(packet: Packet, failure: Failure) -> bool:
    """True if the message depends on event N of the site that broke down, or on a later one."""
    return bool(packet.stamp.time[failure.site] >= failure.event)


def undoes(t: Transition, kind: str) -> bool:
    """True if the transition takes back an event in this way."""
    return t.step is not None and any(event.kind == kind for event in t.step.events)
