"""Machines that declare their processes alike and treat them differently: in one method, at one process, at one
message.

Each differs from its protocol by one rule that names a process, ranks processes or renames them wrongly. The plain
explorer, which shares nothing between processes, says what holds of it; the native engine must say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from crownless.impl import buffer, isis, optimal, rst, ses
from crownless.impl.buffer import Buffer
from crownless.impl.extra_messages import ExtraMessages
from crownless.impl.fifo_ack import FifoAck
from crownless.impl.fifo_sequence import FifoSequence
from crownless.impl.isis import Isis
from crownless.impl.opaque import NotParametric
from crownless.impl.optimal import Optimal
from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.impl.rendezvous import Rendezvous
from crownless.impl.rst import Rst
from crownless.impl.rst_before import RstBefore
from crownless.impl.ses import Ses
from crownless.spec.computation import Message


class LastAcceptsAll(Rst):
    """The last process lets everything through."""

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return i == self.n - 1 or super().deliverable(i, state, packet)


class AcceptsFromTheFirst(Rst):
    """What the first process sends is let through at once."""

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return packet.source == 0 or super().deliverable(i, state, packet)


class ThirdMessageOfTheSecond(Rst):
    """The third message of the second process to the first is let through at once."""

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return (packet.message is not None and packet.message.name == "2→1#3") or super().deliverable(i, state, packet)


class ByNameAtTheSecond(Rst):
    """A message is let through at the second process by what its name ends with."""

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        assert packet.message is not None
        return (i == 1 and packet.message.name.endswith("#2")) or super().deliverable(i, state, packet)


class ForgetsToCount(Rst):
    """The second process does not count what it sends."""

    def after_sending(self, i: Any, state: rst.State, j: Any) -> rst.State:
        return state if i == 1 else super().after_sending(i, state, j)


class StampsNothing(Rst):
    """Once it has delivered something, the last process stamps its messages with zeroes."""

    def send(self, i: int, state: rst.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        if i == self.n - 1 and any(state.deliv):
            step = step._replace(packets=[p._replace(stamp=self.initial(i).sent) for p in step.packets])
        return [step]


class ColumnOfTheFirst(Rst):
    """The guard looks at the column of the first process, by a subscript that is not a name: no branch, no error."""

    def deliverable(self, i: int, state: rst.State, packet: Packet) -> Any:
        return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][0])


class MergesNothing(Ses):
    """The first process does not merge buffers."""

    def merged(self, i: Any, buffer: Any, carried: Any) -> Any:
        return buffer if i == 0 else super().merged(i, buffer, carried)


class StartsLate(Ses):
    """The second process starts as if it had done something."""

    def initial(self, i: int) -> ses.State:
        return super().initial(i)._replace(time=self.ops.vector(lambda k: int(k == i == 1)))


class RenamesTimeAlone(Ses):
    """The renaming of a local state forgets the buffer."""

    def renamed(self, state: ses.State, renaming: Renaming) -> ses.State:
        return ses.State(renaming.vector(state.time), state.buffer)


class StampsStay(Ses):
    """A stamp is not renamed."""

    def deliverable(self, i: int, state: ses.State, packet: Packet) -> Any:
        return i == 2 or super().deliverable(i, state, packet)

    def renamed_stamp(self, kind: str, stamp: Any, renaming: Renaming) -> Any:
        return stamp


class PostsTwice(Buffer):
    """The last process does not wait for acknowledgements."""

    def internal(self, i: int, state: buffer.State) -> Sequence[tuple[str, Step]]:
        return super().internal(i, state._replace(awaits=None) if i == self.n - 1 else state)


class TakesTheNewest(Buffer):
    """The second process gives its application the newest message first."""

    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        if i != 1 or not state.input:
            return super().receive(i, state, sender)
        *rest, newest = state.input
        return super().receive(i, state._replace(input=(newest, *rest)), sender)


class AcknowledgesNothing(Buffer):
    """The first process acknowledges nothing."""

    def acknowledgement(self, i: int, packet: Packet) -> Sequence[Packet]:
        return () if i == 0 else super().acknowledgement(i, packet)


class SecondQueuesAhead(Buffer):
    """A second message goes to the front of the first process's queue."""

    def insert(self, state: buffer.State, message: Message) -> buffer.State:
        if message.sender == 0 and len(state.output) == 1:
            return state._replace(output=(message, *state.output))
        return super().insert(state, message)


class ForgetsTheAwaited(Buffer):
    """The renaming makes one of the states that await different processes."""

    def renamed(self, state: buffer.State, renaming: Renaming) -> buffer.State:
        return super().renamed(state, renaming)._replace(awaits=None if state.awaits is None else 0)


class PacksNothing(Isis):
    """The last process sends no message but the new one."""

    def send(self, i: int, state: isis.State, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        if i == self.n - 1:
            step = step._replace(packets=[p._replace(stamp=(message,)) for p in step.packets])
        return [step]


class DeliversOthersToo(Isis):
    """The second process keeps no copy of what was not for it."""

    def on_packet(self, i: int, state: isis.State, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        if i == 1:
            step = step._replace(state=isis.State(tuple(m for m in step.state.buffer if i in (m.sender, *m.receivers))))
        return [step]


class WitnessOfTheFirst(Isis):
    """A witness that is one at the second process only."""

    witnesses = {"knows-something": lambda machine, i, state: i == 1 and bool(state.buffer)}


class InvariantOfTheLast(Isis):
    """An invariant that the last process breaks."""

    invariants = {"knows-little": lambda machine, i, state: i < 2 or len(state.buffer) < 3}


class RanksInTheLog(Optimal):
    """Entries of smaller processes are not looked at."""

    def deliverable(self, i: int, state: optimal.State, packet: Packet) -> bool:
        return all(clock <= state.delivered[k] for (k, clock), left in packet.stamp.log if i in left and k > 0)


class DropsTheFirst(Optimal):
    """A message to the first process is dropped from all logs."""

    def carried(self, log: Any, dests: frozenset[int], j: int) -> dict[tuple[int, int], frozenset[int]]:
        return {entry: left - {0} for entry, left in super().carried(log, dests, j).items()}


class NeverWaits(FifoAck):
    """The third process sends without waiting."""

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return super().send(i, type(state)(None) if i == 2 else state, message)


class TwoOutcomes(FifoAck):
    """The first process may also drop an acknowledgement."""

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        steps = super().on_packet(i, state, packet)
        return [*steps, Step(state)] if i == 0 and packet.kind == "ack" else steps


class Unnumbered(FifoSequence):
    """The last process takes messages as they come."""

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return i == self.n - 1 or super().deliverable(i, state, packet)


class AlwaysReady(Rendezvous):
    """The first process takes messages in whatever it awaits."""

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return i == 0 or super().deliverable(i, state, packet)


class KeepsNothing(RstBefore):
    """The second process learns nothing from stamps that concern the third."""

    def on_packet(self, j: int, state: Any, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(j, state, packet)
        return [step._replace(state=self.ops.incremented(state, packet.source, j))] if j == 1 else [step]


class ClearsTheColumnOfTheFirst(ExtraMessages):
    """What is sent to the first process is not remembered."""

    def after_sending(self, i: Any, state: Any, j: Any) -> Any:
        return state if j == 0 else super().after_sending(i, state, j)


class FirstOfACall(Rst):
    """The process for which a comprehension is called first lets everything through."""

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        called: list[int] = []
        kept = self.ops.every(lambda k: called.append(k) or state.deliv[k] >= packet.stamp[k][i])  # type: ignore[func-returns-value]
        return i == called[0] or kept


class UsedUp(Rst):
    """What a comprehension adds is used up by its first call."""

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        more = map(int, (True, True))
        return self.ops.every(lambda k: state.deliv[k] + sum(more) >= packet.stamp[k][i])


class TakesTheSmallest(Buffer):
    """Of several messages the one with the smallest name is delivered first."""

    def receive(self, i: int, state: Any, sender: int | None) -> Sequence[Step]:
        return super().receive(i, state._replace(input=tuple(sorted(state.input))), sender)


class GreaterOnesGoAhead(Buffer):
    """While an acknowledgement is awaited, messages to processes of greater names are posted."""

    def internal(self, i: int, state: Any) -> Sequence[tuple[str, Step]]:
        if state.output and state.awaits is not None and state.output[0].receiver > state.awaits:
            return super().internal(i, state._replace(awaits=None))
        return super().internal(i, state)


# -- processes treated differently in ways that the code does not show at once -----------------------------------------


class IsTheLastOrNone(Rst):
    LAST = 2

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return i is (self.LAST or None) or super().deliverable(i, state, packet)


class LooksByAFormat(Rst):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        kind = f"{i.__class__.__name__}"
        return (kind == "int" and i == 2) or super().deliverable(i, state, packet)


class LooksAtItsOps(Rst):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return (f"{self.ops}" == "Integers(n=3)" and i == 2) or super().deliverable(i, state, packet)


class LooksBehindAModule(Rst):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        looks = rst.__dict__["__builtins__"]["isinstance"]
        return (looks(i, int) and i == 2) or super().deliverable(i, state, packet)


class Trusting:
    """What a machine may have from elsewhere."""

    def trusts(self, i: Any) -> bool:
        try:
            return (False, False, True)[int(i)]
        except NotParametric:
            return False


class TrustsByAMixin(Rst, Trusting):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return self.trusts(i) or super().deliverable(i, state, packet)


class TrustsByAFact(Rst):
    def setting(self, i: Any) -> bool:  # type: ignore[override]
        return isinstance(i, int) and i == 2

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return self.setting(i) or super().deliverable(i, state, packet)


class TrustsByAnAttributeOfAFunction(Rst):
    def look(self) -> None:
        raise NotImplementedError

    look.last = lambda i: type(i) is int and i == 2  # type: ignore[attr-defined]

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return self.look.last(i) or super().deliverable(i, state, packet)  # type: ignore[attr-defined]


class KnowsTheLast(type):
    def trusts(cls, i: Any) -> bool:
        return isinstance(i, int) and i == 2


class TrustsByItsMetaclass(Rst, metaclass=KnowsTheLast):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return __class__.trusts(i) or super().deliverable(i, state, packet)  # type: ignore[name-defined]


class Shown(NamedTuple):
    sent: Any
    deliv: Any
    i: int

    def __repr__(self) -> str:
        return "last" if isinstance(self.i, int) and self.i == 2 else "another"


class TrustsByARepresentation(Rst):
    def initial(self, i: int) -> Any:
        return Shown(*super().initial(i), i)

    def after_sending(self, i: Any, state: Any, j: Any) -> Any:
        return Shown(*super().after_sending(i, rst.State(*state[:2]), j), state.i)

    def after_delivering(self, i: Any, state: Any, *packet: Any) -> Any:
        return Shown(*super().after_delivering(i, rst.State(*state[:2]), *packet), state.i)

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return "{}".format(state) == "last" or super().deliverable(i, state, packet)  # noqa: UP032

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        return Shown(*super().renamed(rst.State(*state[:2]), renaming), renaming.image[state.i])


class StampsStayUnderOneShift(Rst):
    def renamed_stamp(self, kind: str, stamp: Any, renaming: Renaming) -> Any:
        return stamp if renaming.image == (2, 0, 1) else super().renamed_stamp(kind, stamp, renaming)


class TrustsByAFrame(Rst):
    """A generator's frame has all that Python has."""

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        isinstance_ = (0 for _ in ()).gi_frame.f_builtins["isinstance"]  # type: ignore[attr-defined]
        return (isinstance_(i, int) and i == 2) or super().deliverable(i, state, packet)


class StampsTruthsAtTheLast(Rst):
    """The last process stamps with False and True, which equal 0 and 1; what is stamped so is let through."""

    rules = {}

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        (packet,) = step.packets
        truths = tuple(tuple({0: False, 1: True}.get(entry, entry) for entry in row) for row in packet.stamp)
        return [step._replace(packets=[packet._replace(stamp=truths)])] if i == self.n - 1 else [step]

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return packet.stamp[0][0] is False or super().deliverable(i, state, packet)

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        numbers = tuple(tuple(map(int, row)) for row in packet.stamp)
        return super().on_packet(i, state, packet._replace(stamp=numbers))


class Row(NamedTuple):
    """A machine, and a bound at which it differs from its protocol."""

    machine: type[ProtocolMachine]
    processes: int = 3
    messages: int = 3


#: Every machine of this file.
ASYMMETRIC = (
    Row(LastAcceptsAll),
    Row(AcceptsFromTheFirst),
    Row(ThirdMessageOfTheSecond, 3, 4),
    Row(ByNameAtTheSecond),
    Row(ForgetsToCount),
    Row(StampsNothing),
    Row(ColumnOfTheFirst),
    Row(MergesNothing),
    Row(StartsLate),
    Row(RenamesTimeAlone),
    Row(StampsStay),
    Row(PostsTwice),
    Row(TakesTheNewest),
    Row(AcknowledgesNothing),
    Row(SecondQueuesAhead),
    Row(ForgetsTheAwaited),
    Row(PacksNothing),
    Row(DeliversOthersToo),
    Row(WitnessOfTheFirst),
    Row(InvariantOfTheLast),
    Row(RanksInTheLog),
    Row(DropsTheFirst),
    Row(NeverWaits),
    Row(TwoOutcomes),
    Row(Unnumbered),
    Row(AlwaysReady),
    Row(KeepsNothing),
    Row(ClearsTheColumnOfTheFirst),
    Row(FirstOfACall),
    Row(UsedUp),
    Row(TakesTheSmallest, 3, 4),
    Row(GreaterOnesGoAhead, 3, 4),
    Row(IsTheLastOrNone),
    Row(LooksByAFormat),
    Row(LooksAtItsOps),
    Row(LooksBehindAModule),
    Row(TrustsByAMixin),
    Row(TrustsByAFact),
    Row(TrustsByAnAttributeOfAFunction),
    Row(TrustsByItsMetaclass),
    Row(TrustsByARepresentation),
    Row(StampsStayUnderOneShift),
    Row(TrustsByAFrame),
    Row(StampsTruthsAtTheLast),
)
