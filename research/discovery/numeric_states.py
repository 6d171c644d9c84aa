"""States of a few processes and messages in plain numbers, with their history variables.

Here the protocol takes its steps on ints. Candidate invariants are evaluated in the states of simulated runs, and in
the states with which z3 shows that a step does not keep them; the latter need not be reachable.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from crownless.impl.protocol import Packet, ProtocolMachine
from crownless.spec.computation import Message

Truths = tuple[bool, ...]
Numbers = tuple[int, ...]


@dataclass(frozen=True)
class NumericState:
    """Processes and messages are numbered from 0. The fixed attributes of a message not yet sent are arbitrary."""

    local: tuple[Any, ...]  #: by process
    sender: Numbers  #: by message, like all fields below
    receiver: Numbers
    number: Numbers  #: on its channel, from 1
    is_its_number: Truths  #: True if this message has its number on its channel
    stamp: tuple[Any, ...]
    precedes: tuple[
        Truths, ...
    ]  #: by message and message: True if the send of the first happens before that of the second
    sent: Truths
    delivered: Truths
    knows: tuple[Truths, ...]  #: by process and message
    count: tuple[Numbers, ...]  #: by sender and receiver

    @property
    def n(self) -> int:
        return len(self.local)

    def packet(self, m: int) -> Packet:
        sender, receiver = self.sender[m], self.receiver[m]
        return Packet(sender, receiver, "message", Message("m", sender, (receiver,)), self.stamp[m])

    @property
    def overtakes(self) -> bool:
        """True if a message is delivered but one to the same receiver whose send happened before is not."""
        messages = range(len(self.sender))
        return any(
            self.delivered[m]
            and self.precedes[x][m]
            and self.receiver[x] == self.receiver[m]
            and self.sent[x]
            and not self.delivered[x]
            for x in messages
            for m in messages
        )

    def in_flight(self, m: int) -> bool:
        return self.sent[m] and not self.delivered[m]


def nothing_happened(machine: ProtocolMachine, like: NumericState) -> NumericState:
    """The start, with the fixed attributes of this state's messages."""
    n, no = like.n, (False,) * len(like.sender)
    local = tuple(machine.initial(i) for i in range(n))
    return replace(like, local=local, sent=no, delivered=no, knows=(no,) * n, count=((0,) * n,) * n)


def sent(machine: ProtocolMachine, now: NumericState, m: int) -> NumericState:
    """The sender of m sends it; the fixed attributes of m are given."""
    i, j = now.sender[m], now.receiver[m]
    (step,) = machine.send(i, now.local[i], Message("m", i, (j,)))
    return replace(
        now,
        local=_with(now.local, i, step.state),
        sent=_with(now.sent, m, True),
        knows=_with(now.knows, i, _with(now.knows[i], m, True)),
        count=_with(now.count, i, _with(now.count[i], j, now.count[i][j] + 1)),
    )


def delivered(machine: ProtocolMachine, now: NumericState, m: int) -> NumericState:
    """The receiver of m delivers it."""
    i = now.receiver[m]
    (step,) = machine.on_packet(i, now.local[i], now.packet(m))
    learnt = tuple(known or x == m or now.precedes[x][m] for x, known in enumerate(now.knows[i]))
    return replace(
        now,
        local=_with(now.local, i, step.state),
        delivered=_with(now.delivered, m, True),
        knows=_with(now.knows, i, learnt),
    )


def simulated(protocol: type[ProtocolMachine], n: int, messages: int, random: Random) -> Iterator[NumericState]:
    """Every state of a random run; the last one has one unsent message."""
    machine = protocol(n)
    k = messages + 1
    (step,) = machine.send(0, machine.initial(0), Message("m", 0, (1,)))
    of_each, no = (0,) * k, (False,) * k
    stamps = (step.packets[0].stamp,) * k
    blank = NumericState((None,) * n, of_each, of_each, of_each, (True,) * k, stamps, (no,) * k, no, no, (), ())
    now = nothing_happened(machine, blank)
    yield _with_anything(machine, now, random)
    for _ in range(2 * messages):
        acceptable = [
            m
            for m in range(k)
            if now.in_flight(m) and machine.deliverable(now.receiver[m], now.local[now.receiver[m]], now.packet(m))
        ]
        more = sum(now.sent) < messages
        if not acceptable and not more:
            break
        if acceptable and (not more or random.random() < 0.5):
            now = delivered(machine, now, random.choice(acceptable))
        else:
            i, j = random.sample(range(n), 2)
            now = sent(machine, _about_to_send(machine, now, sum(now.sent), i, j), sum(now.sent))
        yield _with_anything(machine, now, random)


def _about_to_send(machine: ProtocolMachine, now: NumericState, m: int, i: int, j: int) -> NumericState:
    """m is the message that i sends to j now."""
    (step,) = machine.send(i, now.local[i], Message("m", i, (j,)))
    return replace(
        now,
        sender=_with(now.sender, m, i),
        receiver=_with(now.receiver, m, j),
        number=_with(now.number, m, now.count[i][j] + 1),
        stamp=_with(now.stamp, m, step.packets[0].stamp),
        precedes=tuple(_with(row, m, now.knows[i][x]) for x, row in enumerate(now.precedes)),
    )


def _with_anything(machine: ProtocolMachine, now: NumericState, random: Random) -> NumericState:
    """The attributes of unsent messages become arbitrary, to refute every candidate about them that is not needed."""
    messages = range(len(now.sender))
    unsent = [m for m in messages if not now.sent[m]]
    for m in unsent:
        sender, receiver = random.randrange(now.n), random.randrange(now.n)
        now = replace(
            now,
            sender=_with(now.sender, m, sender),
            receiver=_with(now.receiver, m, receiver),
            number=_with(now.number, m, random.randrange(-1, 4)),
            is_its_number=_with(now.is_its_number, m, random.random() < 0.5),
            stamp=_with(now.stamp, m, random.choice([now.stamp[x] for x in messages])),
        )
    some = [[random.random() < 0.5 for _ in messages] for _ in messages]
    precedes = tuple(
        tuple(some[x][m] if m in unsent else held for m, held in enumerate(row)) for x, row in enumerate(now.precedes)
    )
    return replace(now, precedes=precedes)


def _with(values: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*values[:place], value, *values[place + 1 :])
