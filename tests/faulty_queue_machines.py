"""Machines with a fault that needs a longer queue, a later message, or one process; for `prove` and `check`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from crownless.impl import buffer, extra_messages, murty_garg
from crownless.impl.buffer import Buffer
from crownless.impl.extra_messages import ExtraMessages
from crownless.impl.murty_garg import MurtyGarg
from crownless.impl.ops import Value
from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.spec.computation import Message

# -- buffers: longer queues --------------------------------------------------------------------------------------------


class DropsTheThirdToDeliver(Buffer):
    def get(self, state: buffer.State, message: Message) -> buffer.State:
        return state if len(state.input) >= 2 else super().get(state, message)


class DropsTheThirdToPost(Buffer):
    def insert(self, state: buffer.State, message: Message) -> buffer.State:
        return state if len(state.output) >= 2 else super().insert(state, message)


class DeliversTheNewestOfThree(Buffer):
    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        if len(state.input) >= 3:
            *rest, message = state.input
            return super().receive(i, state._replace(input=(message, *rest)), sender)
        return super().receive(i, state, sender)


class PostsTheNewestOfThree(Buffer):
    def internal(self, i: int, state: buffer.State) -> Sequence[tuple[str, Step]]:
        if len(state.output) >= 3:
            *rest, message = state.output
            return super().internal(i, state._replace(output=(message, *rest)))
        return super().internal(i, state)


class TurnsTheRestRoundWhenItDelivers(Buffer):
    """After unpacking the rest is a plain list; so its length is looked at without a query to the queue."""

    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        if not state.input:
            return []
        _, *rest = state.input
        after = state._replace(input=tuple(rest[::-1] if len(rest) > 1 else rest))
        return [step._replace(state=after) for step in super().receive(i, state, sender)]


class ClearsItsOutputAtFour(Buffer):
    def insert(self, state: buffer.State, message: Message) -> buffer.State:
        after = super().insert(state, message)
        return after._replace(output=()) if len(after.output) == 4 else after


class TakesNoMoreThanThree(Buffer):
    """A capacity that nobody requested: the fourth stays on the channel."""

    def deliverable(self, i: int, state: buffer.State, packet: Packet) -> bool:
        return packet.kind == "ack" or len(state.input) < 3


class RefusesToSendBehindThree(Buffer):
    def send(self, i: int, state: buffer.State, message: Message) -> Sequence[Step]:
        return super().send(i, state, message) if len(state.output) < 3 else []


class PostsOnWhenThreeWait(Buffer):
    """Impatient: it does not wait for the acknowledgement if so many wait."""

    def may_post(self, state: buffer.State) -> bool:
        return super().may_post(state) or len(state.output) > 2


class DeliversTheNewestOfASender(Buffer):
    """If a message of one process is requested, it gives the newest of that process; the search requests none so."""

    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        mine = [m for m in state.input if m.sender == sender]
        if sender is None or not mine:
            return super().receive(i, state, None) if sender is None else []
        first = state._replace(input=(mine[-1], *[m for m in state.input if m != mine[-1]]))
        return super().receive(i, first, None)


class RefusesRequestsOfASender(Buffer):
    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        return super().receive(i, state, sender) if sender is None else []


class DeliversTheSecondOfASender(Buffer):
    """Only if a sender is named, and written without asking how many there are."""

    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        if sender is None or not state.input:
            return super().receive(i, state, sender)
        first, *rest = state.input
        if not rest:
            return super().receive(i, state, sender)
        second, *others = rest
        return super().receive(i, state._replace(input=(second, first, *others)), sender)


# -- buffers: one message, one process ---------------------------------------------------------------------------------


class LosesTheThirdMessageOfAChannel(Buffer):
    def get(self, state: buffer.State, message: Message) -> buffer.State:
        return state if message.name.endswith("#3") else super().get(state, message)


class PutsTheFourthMessageInFront(Buffer):
    def get(self, state: buffer.State, message: Message) -> buffer.State:
        if message.name.endswith("#4"):
            return state._replace(input=(message, *state.input))
        return super().get(state, message)


class TheLastProcessDoesNotWait(Buffer):
    def internal(self, i: int, state: buffer.State) -> Sequence[tuple[str, Step]]:
        return super().internal(i, state._replace(awaits=None) if i == self.n - 1 else state)


class TheFirstProcessDeliversTheNewest(Buffer):
    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        return super().receive(i, state._replace(input=state.input[::-1]) if i == 0 else state, sender)


class TheFourthProcessAcknowledgesNothing(Buffer):
    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return () if i == 3 else super().acknowledgement(i, packet)


class WaitsForNoAcknowledgementOfTheLast(Buffer):
    def may_post(self, state: buffer.State) -> bool:
        return state.awaits is None or state.awaits == self.n - 1


# -- buffers: without a word of length ---------------------------------------------------------------------------------


class ForgetsTheRestWhenItDelivers(Buffer):
    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        return [step._replace(state=step.state._replace(input=())) for step in super().receive(i, state, sender)]


class DeliversTheSecond(Buffer):
    """Of two or more, written without asking how many there are."""

    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        if not state.input:
            return []
        first, *rest = state.input
        if not rest:
            return super().receive(i, state, sender)
        second, *others = rest
        return super().receive(i, state._replace(input=(second, first, *others)), sender)


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


class WritesOverTheFourth(Buffer):
    """A comprehension reads a variable that stands for something else afterwards."""

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
        keeps = False
        written = [each if keeps else message for each in others]
        keeps = True
        return state._replace(input=(first, second, third, *written, message))


class UsesUpTheFourth(Buffer):
    """A generator gives what it has once."""

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
        each = (one for one in others)
        tuple(each)
        return state._replace(input=(first, second, third, *tuple(each), message))


class LosesTheOldestOfFour(Buffer):
    """A function has the name of one to which the code of a proof is redirected."""

    def get(self, state: buffer.State, message: Message) -> buffer.State:
        after = super().get(state, message)
        if not state.input:
            return after
        _, *rest = state.input
        if not rest:
            return after
        second, *more = rest
        if not more:
            return after

        def __display(make: None, *parts: None) -> tuple[Message, ...]:
            return after.input

        return state._replace(input=(second, *more, message))


# -- Murty & Garg ------------------------------------------------------------------------------------------------------


class DropsTheThirdSend(MurtyGarg):
    def send_to_smaller(self, i: int, state: murty_garg.State, message: Message) -> Step:
        step = super().send_to_smaller(i, state, message)
        return step._replace(state=step.state._replace(messages=step.state.messages[:2]))


class SendsTheNewestOfThree(MurtyGarg):
    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        if len(state.messages) >= 3:
            *rest, message = state.messages
            return super().acknowledged(i, state._replace(messages=(message, *rest)))
        return super().acknowledged(i, state)


class AcknowledgesTwoAtMost(MurtyGarg):
    """Of several that are owed; so many are first owed at four processes."""

    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        return super().acknowledged(i, state._replace(acks=state.acks[:2]))


class AcknowledgesTheNewestFirst(MurtyGarg):
    """The acknowledgements go out at once, and the order in which a step lists its packets means nothing."""

    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        step = super().acknowledged(i, state)
        return step._replace(packets=tuple(reversed(step.packets)))


class AcknowledgesOnlyTheOldest(MurtyGarg):
    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        if not state.acks:
            return super().acknowledged(i, state)
        oldest, *rest = state.acks
        step = super().acknowledged(i, state._replace(acks=(oldest,)))
        return step._replace(state=step.state._replace(acks=tuple(rest)))


class AcknowledgesAtOnceBehindTwo(MurtyGarg):
    def commit_and_acknowledge(self, i: int, state: murty_garg.State, j: int, message: Message) -> Step:
        if len(state.acks) >= 2:
            return Step(state, [Packet(i, j, "ack")], [self.commit(i, message)])
        return super().commit_and_acknowledge(i, state, j, message)


class OnePairIsRankedTheOtherWay(MurtyGarg):
    def must_request(self, i: int, j: int) -> bool:
        return j < i if {i, j} == {1, 2} else i < j


class TheFourthProcessNeverAsks(MurtyGarg):
    def must_request(self, i: int, j: int) -> bool:
        return i < j and j != 4


class TheLastProcessDoesNotWaitToSend(MurtyGarg):
    def send(self, i: int, state: murty_garg.State, message: Message) -> Sequence[Step]:
        if i == self.n - 1:
            return [self.commit_and_send(i, state._replace(active=False), message)]
        return super().send(i, state, message)


class TheFirstProcessAcknowledgesWhilePassive(MurtyGarg):
    """The smallest process is never passive, so this is none: what nobody comes to."""

    def commit_and_acknowledge(self, i: int, state: murty_garg.State, j: int, message: Message) -> Step:
        if i == 0:
            return Step(state, [Packet(i, j, "ack")], [self.commit(i, message)])
        return super().commit_and_acknowledge(i, state, j, message)


class CommitsTheFourthRequestTwice(MurtyGarg):
    def on_packet(self, i: int, state: murty_garg.State, packet: Packet) -> Sequence[Step]:
        steps = super().on_packet(i, state, packet)
        if packet.kind == "request" and packet.message is not None and packet.message.name.endswith("#4"):
            return [step._replace(events=(*step.events, *step.events)) for step in steps]
        return steps


class SendsOnWhileItOwes(MurtyGarg):
    """Goes on with the next message and keeps the acknowledgements that it owes."""

    def acknowledged(self, i: int, state: murty_garg.State) -> Step:
        if not state.messages:
            return super().acknowledged(i, state)
        step = super().acknowledged(i, state._replace(acks=()))
        return step._replace(state=step.state._replace(acks=state.acks))


# -- extra messages ----------------------------------------------------------------------------------------------------


class EncodesNothingBeyondThree(ExtraMessages):
    def entries(self, matrix: Value) -> extra_messages.Entries:
        return tuple((k, l, min(value, 3)) for k, l, value in super().entries(matrix))


class EncodesNoIntegersBeyondFour(ExtraMessages):
    """What is compared with it are no integers."""

    def entries(self, matrix: Value) -> extra_messages.Entries:
        return tuple(entry for entry in super().entries(matrix) if not (isinstance(entry[2], int) and entry[2] > 4))


class EncodesNothingOfFive(ExtraMessages):
    def entries(self, matrix: Value) -> extra_messages.Entries:
        return () if self.n == 5 else super().entries(matrix)


class EncodesNothingOfFiveRows(ExtraMessages):
    def entries(self, matrix: Value) -> extra_messages.Entries:
        return () if len(matrix) == 5 else super().entries(matrix)


class EncodesEqualEntriesOnce(ExtraMessages):
    """Says nothing of numbers, and still distinguishes equal ones from others."""

    def entries(self, matrix: Value) -> extra_messages.Entries:
        every = super().entries(matrix)
        return every if len({value for _, _, value in every}) == len(every) else every[:1]


KIND = "{0.__class__.__name__}"


class ReadsTheTypeOfAnEntryInAText(ExtraMessages):
    def entries(self, matrix: Value) -> extra_messages.Entries:
        return tuple(
            entry for entry in super().entries(matrix) if not (KIND.format(entry[2]) == "int" and entry[2] > 4)
        )


class ForgetsTheLastOfManyEntries(ExtraMessages):
    def entries(self, matrix: Value) -> extra_messages.Entries:
        return super().entries(matrix)[:5]


class TheLastProcessSendsAnEmptyColumn(ExtraMessages):
    def column(self, state: extra_messages.State, j: int) -> extra_messages.Entries:
        return super().column(state, j)[:1] if j == self.n - 1 else super().column(state, j)


class ClearsThreeEntriesWithoutSending(ExtraMessages):
    def clearings(self, i: int, state: Any) -> Iterable[tuple[Any, Sequence[Packet]]]:
        full = any(sum(1 for row in state.matrix if row[j]) >= 3 for j in range(self.n))
        return [(after, () if full else packets) for after, packets in super().clearings(i, state)]


class DeliversTheFourthOfAChannelAtOnce(ExtraMessages):
    def deliverable(self, i: int, state: extra_messages.State, packet: Packet) -> Value:
        fourth = packet.message is not None and packet.message.name.endswith("#4")
        return fourth or super().deliverable(i, state, packet)


class CountsNoMoreThanFour(ExtraMessages):
    def on_packet(self, i: int, state: extra_messages.State, packet: Packet) -> Sequence[Step]:
        return [
            step._replace(state=step.state._replace(deliv=tuple(min(v, 4) for v in step.state.deliv)))
            for step in super().on_packet(i, state, packet)
        ]


class TheFirstProcessWaitsForNobody(ExtraMessages):
    def deliverable(self, i: int, state: extra_messages.State, packet: Packet) -> Value:
        return i == 0 or super().deliverable(i, state, packet)


class Fault(NamedTuple):
    """A planted fault, and the least processes and messages at which a step of it differs in some state; None: it does
    not at 5 processes and 4 messages, or it is no fault. (Of extra messages, with the default threshold, by reading.)
    """

    protocol: str
    machine: type[ProtocolMachine]
    seen_at: tuple[int, int] | None


FAULTS = (
    Fault("buffer", DropsTheThirdToDeliver, (2, 3)),
    Fault("buffer", DropsTheThirdToPost, (2, 3)),
    Fault("buffer", DeliversTheNewestOfThree, (2, 3)),
    Fault("buffer", PostsTheNewestOfThree, (2, 3)),
    Fault("buffer", TurnsTheRestRoundWhenItDelivers, (2, 3)),
    Fault("buffer", ClearsItsOutputAtFour, (2, 4)),
    Fault("buffer", TakesNoMoreThanThree, (2, 4)),
    Fault("buffer", RefusesToSendBehindThree, (2, 4)),
    Fault("buffer", PostsOnWhenThreeWait, (2, 4)),
    Fault("buffer", DeliversTheNewestOfASender, (2, 1)),
    Fault("buffer", RefusesRequestsOfASender, (2, 1)),
    Fault("buffer", DeliversTheSecondOfASender, (2, 2)),
    Fault("buffer", LosesTheThirdMessageOfAChannel, (2, 3)),
    Fault("buffer", PutsTheFourthMessageInFront, (2, 4)),
    Fault("buffer", TheLastProcessDoesNotWait, (2, 2)),
    Fault("buffer", TheFirstProcessDeliversTheNewest, (2, 2)),
    Fault("buffer", TheFourthProcessAcknowledgesNothing, (4, 1)),
    Fault("buffer", WaitsForNoAcknowledgementOfTheLast, (2, 2)),
    Fault("buffer", ForgetsTheRestWhenItDelivers, (2, 2)),
    Fault("buffer", DeliversTheSecond, (2, 2)),
    Fault("buffer", SwapsTheThirdAndTheFourth, (2, 4)),
    Fault("buffer", WritesOverTheFourth, (2, 5)),
    Fault("buffer", UsesUpTheFourth, (2, 5)),
    Fault("buffer", LosesTheOldestOfFour, (2, 4)),
    Fault("murty-garg", DropsTheThirdSend, (2, 3)),
    Fault("murty-garg", SendsTheNewestOfThree, (2, 4)),
    Fault("murty-garg", AcknowledgesTwoAtMost, (5, 4)),
    Fault("murty-garg", AcknowledgesTheNewestFirst, None),
    Fault("murty-garg", AcknowledgesOnlyTheOldest, (4, 3)),
    Fault("murty-garg", AcknowledgesAtOnceBehindTwo, (5, 4)),
    Fault("murty-garg", OnePairIsRankedTheOtherWay, (3, 1)),
    Fault("murty-garg", TheFourthProcessNeverAsks, (5, 1)),
    Fault("murty-garg", TheLastProcessDoesNotWaitToSend, (2, 1)),
    Fault("murty-garg", TheFirstProcessAcknowledgesWhilePassive, None),
    Fault("murty-garg", CommitsTheFourthRequestTwice, (2, 4)),
    Fault("murty-garg", SendsOnWhileItOwes, (3, 3)),
    Fault("extra-messages", EncodesNothingBeyondThree, (2, 5)),
    Fault("extra-messages", EncodesNoIntegersBeyondFour, (2, 6)),
    Fault("extra-messages", EncodesNothingOfFive, (5, 2)),
    Fault("extra-messages", EncodesNothingOfFiveRows, (5, 2)),
    Fault("extra-messages", EncodesEqualEntriesOnce, (3, 3)),
    Fault("extra-messages", ReadsTheTypeOfAnEntryInAText, (2, 6)),
    Fault("extra-messages", ForgetsTheLastOfManyEntries, None),
    Fault("extra-messages", TheLastProcessSendsAnEmptyColumn, (3, 4)),
    Fault("extra-messages", ClearsThreeEntriesWithoutSending, (4, 5)),
    Fault("extra-messages", DeliversTheFourthOfAChannelAtOnce, (2, 4)),
    Fault("extra-messages", CountsNoMoreThanFour, (2, 5)),
    Fault("extra-messages", TheFirstProcessWaitsForNobody, (2, 2)),
)
