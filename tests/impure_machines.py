"""Machines that are no pure functions: they count, remember, change what they are given, or answer twice otherwise."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from copy import copy
from enum import Flag, auto
from functools import cache, cached_property, singledispatch
from itertools import count, cycle
from logging import getLogger
from operator import ge
from types import SimpleNamespace
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

SENT: set[str] = set()
LATEST: Any = None
BOARD = SimpleNamespace(sent=False)


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


@singledispatch
def note_by_type(value: Any) -> None:
    """Looks up by the type what to do, and remembers what it found."""


@note_by_type.register
def _(value: str) -> None:
    DISPATCHED.add(value)


DISPATCHED: set[str] = set()


class InADispatchedFunction(Strict):
    def note(self) -> Any:
        note_by_type("P3")

    @classmethod
    def forget(cls) -> None:
        DISPATCHED.clear()

    def is_strict(self) -> Any:
        return DISPATCHED


class InAModule(Strict):
    def note(self) -> Any:
        SENT.add("P3")

    @classmethod
    def forget(cls) -> None:
        SENT.clear()

    def is_strict(self) -> Any:
        return SENT


class RebindsAVariable(Strict):
    def note(self) -> Any:
        global LATEST
        LATEST = "P3"

    @classmethod
    def forget(cls) -> None:
        global LATEST
        LATEST = None

    def is_strict(self) -> Any:
        return LATEST


class MakesAVariable(Strict):
    def note(self) -> Any:
        global MADE
        MADE = "P3"  # type: ignore[name-defined]

    @classmethod
    def forget(cls) -> None:
        globals().pop("MADE", None)

    def is_strict(self) -> Any:
        return "MADE" in globals()


class InAnObject(Strict):
    def note(self) -> Any:
        BOARD.sent = True

    @classmethod
    def forget(cls) -> None:
        BOARD.sent = False

    def is_strict(self) -> Any:
        return BOARD.sent


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


class Helper:
    sent: list[str] = []

    @classmethod
    def note(cls) -> None:
        cls.sent[:] = ["P3"]


def note_at_the_helper() -> None:
    Helper.note()


class InAHelper(Strict):
    def note(self) -> Any:
        note_at_the_helper()

    @classmethod
    def forget(cls) -> None:
        Helper.sent.clear()

    def is_strict(self) -> Any:
        return Helper.sent


class AtAFunction(Strict):
    def note(self) -> Any:
        AtAFunction.is_strict.sent = True  # type: ignore[attr-defined]

    @classmethod
    def forget(cls) -> None:
        vars(cls.is_strict).clear()

    def is_strict(self) -> Any:
        return hasattr(AtAFunction.is_strict, "sent")


class InAnAttributeOfAFunction(Strict):
    def note(self) -> Any:
        note_at_the_helper.sent.add("P3")  # type: ignore[attr-defined]

    @classmethod
    def forget(cls) -> None:
        note_at_the_helper.sent.clear()  # type: ignore[attr-defined]

    def is_strict(self) -> Any:
        return note_at_the_helper.sent  # type: ignore[attr-defined]


note_at_the_helper.sent = set()  # type: ignore[attr-defined]


class InADefault(Strict):
    def note(self, sent: set[str] = set()) -> Any:  # noqa: B006
        sent.add("P3")

    @classmethod
    def forget(cls) -> None:
        cls.note.__defaults__[0].clear()  # type: ignore[index]

    def is_strict(self) -> Any:
        return (InADefault.note.__defaults__ or ((),))[0]


class InADefaultByName(Strict):
    def note(self, *, sent: list[str] = []) -> Any:  # noqa: B006
        sent[:] = ["P3"]

    @classmethod
    def forget(cls) -> None:
        (cls.note.__kwdefaults__ or {})["sent"].clear()

    def is_strict(self) -> Any:
        return (InADefaultByName.note.__kwdefaults__ or {})["sent"]


def in_a_closure() -> type[Strict]:
    sent = False

    class InAClosure(Strict):
        def note(self) -> Any:
            nonlocal sent
            sent = True

        @classmethod
        def forget(cls) -> None:
            nonlocal sent
            sent = False

        def is_strict(self) -> Any:
            return sent

    return InAClosure


def in_what_a_closure_has() -> type[Strict]:
    sent: deque[str] = deque(maxlen=1)

    class InWhatAClosureHas(Strict):
        def note(self) -> Any:
            sent.append("P3")

        @classmethod
        def forget(cls) -> None:
            sent.clear()

        def is_strict(self) -> Any:
            return sent

    return InWhatAClosureHas


class Listener:
    """Is called like a function, and remembers."""

    sent = False

    def __call__(self, *, note: bool) -> bool:
        self.sent |= note
        return self.sent


class InACallable(Strict):
    listener = Listener()

    def note(self) -> Any:
        self.listener(note=True)

    @classmethod
    def forget(cls) -> None:
        vars(cls.listener).clear()

    def is_strict(self) -> Any:
        return self.listener(note=False)


# What may change all the same: it shows nothing of the calls before, or no code of the machine names it.


class Kind(Flag):
    MESSAGE = auto()
    URGENT = auto()


@cache
def column(matrix: Any, i: int) -> tuple[int, ...]:
    return tuple([row[i] for row in matrix])


class Settings:
    @cached_property
    def kinds(self) -> dict[str, Kind]:
        return {"message": Kind.MESSAGE | Kind.URGENT}


SETTINGS = Settings()
LOG = getLogger("machines")


class Caches(Rst):
    """Its answers are computed once, by what Python has for that."""

    @cached_property
    def kinds(self) -> frozenset[str]:
        return frozenset(SETTINGS.kinds)

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        LOG.debug("called")
        note_by_type(state)
        copy(SETTINGS)
        return packet.kind in self.kinds and all(map(ge, state.deliv, column(packet.stamp, i)))


class Notes:
    """A state that can be looked up, since it is what it is, and be written to."""

    def __init__(self, lines: tuple[Any, ...] = ()) -> None:
        self.lines = list(lines)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Notes) and self.lines == other.lines

    def __hash__(self) -> int:
        return 1


class WritesToItsState(FifoAck):
    symmetric = False
    witnesses = {}

    def initial(self, i: int) -> Any:
        return Notes()

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        state.lines.append(message)
        return [Step(state, [Packet(i, message.receiver, "message", message)])]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return [Step(state)]


class WritesToThePacket(FifoAck):
    symmetric = False

    def send(self, i: int, state: Any, message: Message) -> Sequence[Step]:
        return [step._replace(packets=[p._replace(stamp=Notes()) for p in step.packets])
                for step in super().send(i, state, message)]  # fmt: skip

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        if packet.stamp is not None:
            packet.stamp.lines.append(i)
        return True


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
    Row(WritesToItsState, r"WritesToItsState\.send .*: at P\d it changes the state that it is given"),
    Row(WritesToThePacket, r"WritesToThePacket\.deliverable .*: at P\d it changes the packet that it is given"),
    Row(InAModule, r"InAModule\.send .*: at P3 it changes the variable SENT of the module impure_machines"),
    Row(RebindsAVariable, r"RebindsAVariable\.send .*: at P3 it changes the variable LATEST of the module impure"),
    Row(MakesAVariable, r"MakesAVariable\.send .*: at P3 it sets the variable MADE of the module impure_machines"),
    Row(InAnObject, r"InAnObject\.send .*: at P3 it changes the variable BOARD of the module impure_machines"),
    Row(InAMixin, r"InAMixin\.send .*: at P3 it changes Register\.sent"),
    Row(InADispatchedFunction, r"InADispatchedFunction\.send .*: at P3 it changes the variable DISPATCHED"),
    Row(InAHelper, r"InAHelper\.send .*: at P3 it changes Helper\.sent"),
    Row(AtAFunction, r"AtAFunction\.send .*: at P3 it sets AtAFunction\.is_strict\.sent"),
    Row(InAnAttributeOfAFunction, r"InAnAttributeOfAFunction\.send .*: at P3 it changes note_at_the_helper\.sent"),
    Row(InADefault, r"InADefault\.send .*: at P3 it changes the default of `sent` in InADefault\.note"),
    Row(InADefaultByName, r"InADefaultByName\.send .*: at P3 it changes the default of `sent` in InADefaultByName"),
    Row(in_a_closure(), r"InAClosure\.send .*: at P3 it changes the variable `sent` around in_a_closure\..*\.note"),
    Row(in_what_a_closure_has(), r"InWhatAClosureHas\.send .*: at P3 it changes the variable `sent` around .*\.note"),
    Row(InACallable, r"InACallable\.send .*: at P3 it sets InACallable\.listener\.sent"),
    Row(KeepsAList, r"KeepsAList\.initial \(.*\) at P1 gives a local state that cannot be .*unhashable type: 'list'"),
    Row(StampsAList, r"StampsAList\.send \(.*\) at P\d gives a packet that cannot be .*unhashable type: 'list'"),
)  # fmt: skip
