"""Witnesses of violated orders: the smallest part of a computation that shows the violation, in words and as JSON.

Each has a `headline` and `details`, lines that can be checked one by one against the computation. Messages and events
are given by their numbers in the witness's computation.
"""

from dataclasses import dataclass, field
from typing import Any

from crownless.runtime.printable import in_brackets

from .computation import Computation


@dataclass(frozen=True)
class Overtaking:
    """`second` is received, and not after `first`, though `first` was sent before it.

    `chain` leads from the send event of `first` to that of `second`, each event before the next. `receiver` is where
    the two are received in the wrong order (or where only `second` is).
    """

    first: int
    second: int
    receiver: int
    chain: tuple[int, ...]

    def __repr__(self) -> str:
        return f"<overtaking: message {self.second} overtakes message {self.first} at process {self.receiver}>"

    def headline(self, c: Computation) -> str:
        first, second = c.messages[self.first].name, c.messages[self.second].name
        before = self.receiver in c.receive_events[self.first]
        what = f"{second} before {first}" if before else f"{second} and not {first}"
        return f"{c.processes[self.receiver]} receives {what}, which was sent earlier"

    def details(self, c: Computation) -> list[str]:
        return [" → ".join(c.say(e) for e in self.chain)]

    def json(self, c: Computation) -> dict[str, Any]:
        return {
            "kind": "overtaking",
            "first": c.messages[self.first].name,
            "second": c.messages[self.second].name,
            "receiver": c.processes[self.receiver],
            "first_received": self.receiver in c.receive_events[self.first],
            "chain": [event_json(c, e) for e in self.chain],
        }


@dataclass(frozen=True)
class Crown:
    """A crown ([CMT96]; [MG] §2.3): messages with send 0 → receive 1, send 1 → receive 2, …, send k-1 → receive 0.

    It has at least two distinct messages. `links` holds the events: (send of a message, receive of the next one).
    """

    messages: tuple[int, ...]
    links: tuple[tuple[int, int], ...]

    def __repr__(self) -> str:
        return in_brackets(f"crown of size {self.size}: messages {', '.join(map(str, self.messages))}")

    @property
    def size(self) -> int:
        return len(self.messages)

    def headline(self, c: Computation) -> str:
        return f"crown of size {self.size}"

    def details(self, c: Computation) -> list[str]:
        return [f"{c.say(send)} → {c.say(receive)}" for send, receive in self.links]

    def json(self, c: Computation) -> dict[str, Any]:
        return {
            "kind": "crown",
            "messages": [c.messages[m].name for m in self.messages],
            "links": [[event_json(c, send), event_json(c, receive)] for send, receive in self.links],
        }


@dataclass(frozen=True)
class Link:
    """Event `before` (in words) must come before event `after` in every suitable linearization; `because` says why."""

    before: str
    after: str
    because: str

    def __repr__(self) -> str:
        return in_brackets(f"{self.before} → {self.after}: {self.because}")


@dataclass(frozen=True)
class Cycle:
    """A cycle of events, each of which would have to precede the next: no linearization exists.

    `derived` holds constraints on which the cycle rests and that do not follow directly from the computation. `events`
    are the computation's events on the cycle; in place of a receive still to come, the send of its message. `lacks`:
    what does not exist, in words.
    """

    links: tuple[Link, ...]
    derived: tuple[Link, ...] = ()
    events: frozenset[int] = field(default=frozenset(), compare=False)
    lacks: str = field(default="linearization", compare=False)

    def __repr__(self) -> str:
        return in_brackets(f"cycle of {len(self.links)} events: {', '.join(link.before for link in self.links)}")

    def headline(self, c: Computation) -> str:
        return f"no {self.lacks} exists: these constraints form a cycle"

    def details(self, c: Computation) -> list[str]:
        def say(link: Link) -> str:
            return f"{link.before} → {link.after}: {link.because}"

        return [say(link) for link in self.links] + [f"where {say(link)}" for link in self.derived]

    def json(self, c: Computation) -> dict[str, Any]:
        def links(some: tuple[Link, ...]) -> list[dict[str, str]]:
            return [{"before": x.before, "after": x.after, "because": x.because} for x in some]

        return {"kind": "cycle", "cycle": links(self.links), "derived": links(self.derived)}


@dataclass(frozen=True)
class Unreceived:
    """The message is never received, and the order has no place for such messages."""

    message: int
    receiver: int

    def headline(self, c: Computation) -> str:
        return f"{c.messages[self.message].name} is never received by {c.processes[self.receiver]}"

    def details(self, c: Computation) -> list[str]:
        return []

    def json(self, c: Computation) -> dict[str, Any]:
        return {
            "kind": "unreceived",
            "message": c.messages[self.message].name,
            "receiver": c.processes[self.receiver],
        }


Witness = Overtaking | Crown | Cycle | Unreceived


def messages_of(witness: Witness, c: Computation) -> set[int] | None:
    """The messages that show the violation; None of a cycle, whose events are in words."""
    if isinstance(witness, Overtaking):
        on_chain = (c.events[e].message for e in witness.chain)
        return {witness.first, witness.second} | {m for m in on_chain if m is not None}
    if isinstance(witness, Crown):
        return {*witness.messages}
    return {witness.message} if isinstance(witness, Unreceived) else None


def say(witness: Witness, c: Computation) -> str:
    """A witness in one line."""
    details = "; ".join(witness.details(c))
    return witness.headline(c) + (f": {details}" if details else "")


def event_json(c: Computation, e: int) -> dict[str, Any]:
    """An event as the command line prints it."""
    event = c.events[e]
    return {
        "process": c.processes[c.process_of[e]],
        "event": event.kind,
        "message": None if event.message is None else c.messages[event.message].name,
    }
