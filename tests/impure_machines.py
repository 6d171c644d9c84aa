"""Machines that are no pure functions: they count, remember, change what they are given, or answer twice otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from itertools import count, cycle
from operator import ge
from typing import Any, NamedTuple

from crownless.impl import buffer, isis
from crownless.impl.buffer import Buffer
from crownless.impl.fifo_ack import FifoAck
from crownless.impl.isis import Isis
from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.impl.rst import Rst
from crownless.impl.ses import Ses
from crownless.spec.computation import Message


class CountsOnSelf(Rst):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        self.calls = getattr(self, "calls", 0) + 1
        return super().deliverable(i, state, packet)


class CountsOnItsClass(Rst):
    calls = 0

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        type(self).calls += 1
        return super().send(i, state, message)


class RemembersInAList(Rst):
    heard: list[int] = []

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        self.heard.append(packet.source)
        return super().on_packet(i, state, packet)


class CachesOnSelf(Ses):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.cache: dict[Any, Any] = {}

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return self.cache.setdefault((i, state, packet), super().deliverable(i, state, packet))


ANSWERS = cycle([True, False])
NUMBERS = count()


class AcceptsInTurns(Rst):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return next(ANSWERS)


class AcceptsInTurnsAtTheLast(Ses):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return next(ANSWERS) if i == self.n - 1 else super().deliverable(i, state, packet)


class SendsInTurns(Buffer):
    def send(self, i: int, state: buffer.State, message: Message) -> Sequence[Step]:
        return super().send(i, state, message) if next(ANSWERS) else []


class AnotherStateEachTime(FifoAck):
    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return [step._replace(state=(next(NUMBERS), *step.state)) for step in super().on_packet(i, state, packet)]


class AnotherStampEachTime(Rst):
    def stamp(self, state: Any) -> Any:
        return (next(NUMBERS), state.sent)


class NamesStepsAnew(Buffer):
    def internal(self, i: int, state: buffer.State) -> Sequence[tuple[str, Step]]:
        return [(f"post {next(NUMBERS)}", step) for _, step in super().internal(i, state)]


class TwiceOrOnce(Buffer):
    def receive(self, i: int, state: buffer.State, sender: int | None) -> Sequence[Step]:
        return [*super().receive(i, state, sender)] * (1 + next(ANSWERS))


class StartsAnew(FifoAck):
    def initial(self, i: int) -> Any:
        return type(super().initial(i))(next(NUMBERS))


class EventsInTurns(Isis):
    def on_packet(self, i: int, state: isis.State, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        return [step if next(ANSWERS) else step._replace(events=())]


class InvariantInTurns(Isis):
    invariants = {"in-turns": lambda machine, i, state: next(ANSWERS)}


class WitnessInTurns(Isis):
    witnesses = {"in-turns": lambda machine, i, state: next(ANSWERS)}


class RenamesInTurns(Isis):
    def renamed(self, state: isis.State, renaming: Renaming) -> isis.State:
        return super().renamed(state, renaming) if next(ANSWERS) else state


# What remembers once and for all that P3 has sent: a second call changes nothing more.


class Strict(Rst):
    """Guards nothing before P3 has sent."""

    symmetric = False

    def is_strict(self) -> Any:
        raise NotImplementedError

    def note(self) -> Any:
        raise NotImplementedError

    @classmethod
    def forget(cls) -> None:
        """Makes it as it was at first, for the next search."""
        raise NotImplementedError

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        if i == 2:
            self.note()
        return super().send(i, state, message)

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return not self.is_strict() or super().deliverable(i, state, packet)


class Register:
    sent: set[str] = set()


class InAMixin(Strict, Register):
    def note(self) -> Any:
        self.sent.add("P3")

    @classmethod
    def forget(cls) -> None:
        cls.sent.clear()

    def is_strict(self) -> Any:
        return self.sent


# What may change all the same: it is computed from the arguments alone.


@cache
def column(matrix: Any, i: int) -> tuple[int, ...]:
    return tuple([row[i] for row in matrix])


class Caches(Rst):
    """Its answers are computed once, by what Python has for that."""

    @cached_property
    def kinds(self) -> frozenset[str]:
        return frozenset({"message"})

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return packet.kind in self.kinds and all(map(ge, state.deliv, column(packet.stamp, i)))


class KeepsAList(FifoAck):
    """Its local states cannot be looked up."""

    symmetric = False
    witnesses = {}

    def initial(self, i: int) -> Any:
        return [None]


class StampsAList(FifoAck):
    """Its packets cannot be looked up."""

    symmetric = False

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return [step._replace(packets=[p._replace(stamp=[i]) for p in step.packets])
                for step in super().send(i, state, message)]  # fmt: skip


class Row(NamedTuple):
    """A machine, and the message that it gets."""

    machine: type[ProtocolMachine]
    said: str
    #: Is it seen by the native engine alone, which renames states?
    by_renaming: bool = False


#: Every machine of this file but `Caches`.
IMPURE = (
    Row(CountsOnSelf, r"CountsOnSelf\.deliverable is not a pure function: at P\d it sets self\.calls"),
    Row(CountsOnItsClass, r"CountsOnItsClass\.send is not a pure function: at P\d it changes CountsOnItsClass\.calls"),
    Row(RemembersInAList, r"RemembersInAList\.on_packet .*: at P\d it changes RemembersInAList\.heard"),
    Row(CachesOnSelf, r"CachesOnSelf\.deliverable is not a pure function: at P\d it changes self\.cache"),
    Row(AcceptsInTurns, r"AcceptsInTurns\.deliverable .*: at P\d it first said \w+ and then \w+ for the same state"),
    Row(AcceptsInTurnsAtTheLast, r"AcceptsInTurnsAtTheLast\.deliverable .*: at P3 it first said"),
    Row(SendsInTurns, r"SendsInTurns\.send .* it first gave \d steps? and then \d for the same state and message"),
    Row(AnotherStateEachTime, r"AnotherStateEachTime\.on_packet .* it first gave one state and then another"),
    Row(AnotherStampEachTime, r"AnotherStampEachTime\.send .* it first gave some packets and then others"),
    Row(NamesStepsAnew, r"NamesStepsAnew\.internal .* it first named a step 'post \d+' and then"),
    Row(TwiceOrOnce, r"TwiceOrOnce\.receive .* it first gave \d steps? and then \d for the same state and sender"),
    Row(StartsAnew, r"StartsAnew\.initial is not a pure function: at P1 it first gave one value and then another"),
    Row(EventsInTurns, r"EventsInTurns\.on_packet .* it first gave some application events and then others"),
    Row(InvariantInTurns, r"invariant 'in-turns' of InvariantInTurns is not a pure function: at P1 it first said"),
    Row(WitnessInTurns, r"witness 'in-turns' of WitnessInTurns is not a pure function: at P1 it first said"),
    Row(RenamesInTurns, r"RenamesInTurns\.renamed is not a pure function: it first gave one value", by_renaming=True),
    Row(InAMixin, r"InAMixin\.send .*: at P3 it changes Register\.sent"),
    Row(KeepsAList, r"KeepsAList\.initial \(.*\) at P1 gives a local state where state is a list"),
    Row(StampsAList, r"StampsAList\.send \(.*\) at P\d gives a packet where stamp is a list"),
)  # fmt: skip
