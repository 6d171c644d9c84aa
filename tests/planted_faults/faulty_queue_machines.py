"""Machines with a fault that needs a longer queue, a later message, or one process; for `prove`.

Each overrides a piece of its protocol. What is short and has no name of its own is a lambda.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from overrides import changed

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.protocols import buffer, murty_garg
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.protocols.extra_messages import ExtraMessages
from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.spec.computation import Message


class Fault(NamedTuple):
    """A planted fault."""

    protocol: str
    machine: type[ProtocolMachine]


FAULTS: list[Fault] = []
_PROTOCOLS: dict[str, type[ProtocolMachine]] = {
    "buffer": Buffer, "murty-garg": MurtyGarg, "extra-messages": ExtraMessages,
}  # fmt: skip


def plant(protocol: str, name: str, **does: Any) -> Any:
    machine: Any = type(name, (_PROTOCOLS[protocol],), {"__module__": __name__, **does})
    FAULTS.append(Fault(protocol, machine))
    return machine


# -- buffers: longer queues --------------------------------------------------------------------------------------------


def delivers_newest_of_sender(self: Any, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
    """If a message of one process is requested, it gives the newest of that process; the search requests none so."""
    mine = [m for m in state.input if m.sender == sender]
    if sender is None or not mine:
        return Buffer.receive(self, i, state, None) if sender is None else []
    first = state._replace(input=(mine[-1], *[m for m in state.input if m != mine[-1]]))
    return Buffer.receive(self, i, first, None)


def delivers_second(self: Any, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
    """Of two or more, written without asking how many there are."""
    if not state.input:
        return []
    first, *rest = state.input
    if not rest:
        return Buffer.receive(self, i, state, sender)
    second, *others = rest
    return Buffer.receive(self, i, state._replace(input=(second, first, *others)), sender)


ClearsItsOutputAtFour = plant("buffer", "ClearsItsOutputAtFour", insert=lambda self, state, message: (
    state._replace(output=()) if len(state.output) == 3 else Buffer.insert(self, state, message)
))  # fmt: skip
DeliversTheNewestOfASender = plant("buffer", "DeliversTheNewestOfASender", receive=delivers_newest_of_sender)
plant("buffer", "RefusesRequestsOfASender", receive=lambda self, i, state, sender: (
    Buffer.receive(self, i, state, sender) if sender is None else []
))  # fmt: skip
plant("buffer", "DeliversTheSecond", receive=delivers_second)

# -- buffers: one message, one process ---------------------------------------------------------------------------------

plant("buffer", "PutsTheFourthMessageInFront", get=lambda self, state, message: (
    state._replace(input=(message, *state.input)) if message.name.endswith("#4") else Buffer.get(self, state, message)
))  # fmt: skip
plant("buffer", "TheLastProcessDoesNotWait", internal=lambda self, i, state: Buffer.internal(
    self, i, state._replace(awaits=None) if i == self.n - 1 else state
))  # fmt: skip

# -- buffers: without a word of length ---------------------------------------------------------------------------------


class SwapsTheThirdAndTheFourth(Buffer):
    """Three are unpacked one by one: no length is used, and the third is still treated differently."""

    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        steps = super().receive(i, state, sender)
        if not state.input:
            return steps
        _, *rest = state.input
        if not rest:
            return steps
        second, *more = rest
        if not more:
            return steps
        third, *others = more
        if not others:
            return steps
        fourth, *last = others
        return [step._replace(state=state._replace(input=(second, fourth, third, *last))) for step in steps]


class AtTheThird(Buffer):
    """Unpacks the first three; a comprehension or a name of its own does something to the others."""

    def others(self, message: Message, others: Any) -> Any:
        raise NotImplementedError

    def get(self, state: buffer.State, message: Message) -> buffer.State:
        after = super().get(state, message)
        if not state.input:
            return after
        first, *rest = state.input
        if not rest:
            return after
        second, *more = rest
        if not more:
            return after
        third, *others = more
        return state._replace(input=(first, second, third, *self.others(message, others), message))


class WritesOverTheFourth(AtTheThird):
    """A comprehension reads a variable that stands for something else afterwards."""

    def others(self, message: Message, others: Any) -> Any:
        keeps = False
        written = [each if keeps else message for each in others]
        keeps = True
        return written


class LosesTheOthers(AtTheThird):
    """A function has the name of one to which the code of a proof is redirected."""

    def others(self, message: Message, others: Any) -> Any:
        def __display(make: None, *parts: None) -> tuple[Message, ...]:
            return tuple(others)

        return (*others[1:],)


plant("buffer", "ForgetsTheRestWhenItDelivers", receive=lambda self, i, state, sender: changed(
    Buffer.receive(self, i, state, sender), lambda after: after._replace(input=())
))  # fmt: skip
FAULTS += [Fault("buffer", kind) for kind in (SwapsTheThirdAndTheFourth, WritesOverTheFourth, LosesTheOthers)]

# -- Murty & Garg ------------------------------------------------------------------------------------------------------


class AcknowledgesOnlyTheOldest(MurtyGarg):
    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        if not state.acks:
            return super().acknowledged(i, state)
        oldest, *rest = state.acks
        step = super().acknowledged(i, state._replace(acks=(oldest,)))
        return step._replace(state=step.state._replace(acks=tuple(rest)))


class SendsOnWhileItOwes(MurtyGarg):
    """Goes on with the next message and keeps the acknowledgements that it owes."""

    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        if not state.messages:
            return super().acknowledged(i, state)
        step = super().acknowledged(i, state._replace(acks=()))
        return step._replace(state=step.state._replace(acks=state.acks))


def acknowledges_at_once(self: Any, i: int, state: murty_garg.State, j: int, message: Message) -> Step:
    return Step(state, [Packet(i, j, "ack")], [self.commit(i, message)])


#: Of several that are owed; that many are first owed at five processes.
AcknowledgesTwoAtMost = plant("murty-garg", "AcknowledgesTwoAtMost", acknowledged=lambda self, i, state: (
    MurtyGarg.acknowledged(self, i, state._replace(acks=state.acks[:2]))
))  # fmt: skip
#: The smallest process is never passive, so this is no fault, but it looks at an index.
plant("murty-garg", "TheFirstAcknowledgesWhilePassive", commit_and_acknowledge=lambda self, i, state, j, message: (
    acknowledges_at_once(self, i, state, j, message)
    if i == 0
    else MurtyGarg.commit_and_acknowledge(self, i, state, j, message)
))  # fmt: skip
plant("murty-garg", "OnePairIsRankedTheOtherWay", must_request=lambda self, i, j: j < i if {i, j} == {1, 2} else i < j)
FAULTS += [Fault("murty-garg", kind) for kind in (AcknowledgesOnlyTheOldest, SendsOnWhileItOwes)]

# -- extra messages ----------------------------------------------------------------------------------------------------

KIND = "{0.__class__.__name__}"


def encodes(name: str, entries: Any) -> Any:
    """Encodes what this makes of the machine, the matrix and its entries."""
    return plant("extra-messages", name, made=entries, entries=lambda self, matrix: (
        self.made(matrix, ExtraMessages.entries(self, matrix))
    ))  # fmt: skip


EncodesNothingBeyondThree = encodes(
    "EncodesNothingBeyondThree", lambda self, matrix, some: tuple((k, l, min(value, 3)) for k, l, value in some)
)
encodes("ReadsTheTypeOfAnEntryInAText", lambda self, matrix, some: tuple(
    entry for entry in some if not (KIND.format(entry[2]) == "int" and entry[2] > 4)
))  # fmt: skip
encodes("EncodesNothingOfFive", lambda self, matrix, some: () if self.n == 5 else some)
encodes("EncodesEqualEntriesOnce", lambda self, matrix, some: (  # says nothing of numbers, and compares them
    some if len({value for _, _, value in some}) == len(some) else some[:1]
))  # fmt: skip
encodes("ForgetsTheLastOfManyEntries", lambda self, matrix, some: some[:5])
plant("extra-messages", "TheLastProcessSendsAnEmptyColumn", column=lambda self, state, j: (
    ExtraMessages.column(self, state, j)[:1] if j == self.n - 1 else ExtraMessages.column(self, state, j)
))  # fmt: skip
plant("extra-messages", "ClearsThreeEntriesWithoutSending", clearings=lambda self, i, state: [
    (after, () if any(sum(1 for row in state.matrix if row[j]) >= 3 for j in range(self.n)) else packets)
    for after, packets in ExtraMessages.clearings(self, i, state)
])  # fmt: skip
plant("extra-messages", "DeliversTheFourthOfAChannelAtOnce", deliverable=lambda self, i, state, packet: (
    (packet.message is not None and packet.message.name.endswith("#4"))
    or ExtraMessages.deliverable(self, i, state, packet)
))  # fmt: skip
