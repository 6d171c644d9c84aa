"""Machines that a proof must not be fooled by: what is planted in each, and the most that `prove` may say of it.

Each does, in some run, what the terms of z3 do not show: it counts to four, keeps what is no term, tests its own
identity, or lies about what happened. `says` is "refused" (with a part of the line that says why), or an outcome;
`breaks` names what a run breaks, and at which processes and messages the explorer sees it. Without `breaks` the machine
is impure, which no search can be checked against, or it is right, and refused or not proved all the same.
"""

from __future__ import annotations

import itertools
import operator
import random
import time
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, ClassVar, NamedTuple

from crownless.impl.cbcast import Cbcast
from crownless.impl.ops import Integers
from crownless.impl.protocol import AppEvent, Packet, Parameter, ProtocolMachine, Step
from crownless.impl.rst import Rst
from crownless.impl.rst import State as RstState
from crownless.impl.ses import State as SesState
from crownless.impl.ses_delete import SesDelete
from crownless.impl.ses_multicast import SesMulticast
from crownless.spec import by_graph, printable


class Planted(NamedTuple):
    machine: type[ProtocolMachine]
    planted: str
    #: "refused", or an outcome of `safe` and `live`.
    says: str | dict[str, str]
    #: Part of the line of a refusal.
    because: str = ""
    #: Property, processes, messages.
    breaks: tuple[str, int, int] | None = None


# -- who else receives a message that is taken in ----------------------------------------------------------------------


class ClearsThePairsOfAllReceivers(SesMulticast):
    def on_packet(self, i: Any, state: Any, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        buffer = step.state.buffer
        for j in packet.message.receivers:
            buffer = self.ops.matrix(lambda l, k, buffer=buffer, j=j: buffer[l][k] * self.ops.one_if(l != j))  # type: ignore[misc]
        return [step._replace(state=SesState(step.state.time, buffer))]


class ListsTheReceivers(SesMulticast):
    """Clears a row for each, in a comprehension."""

    def on_packet(self, i: Any, state: Any, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        others = [j for j in packet.message.receivers]  # noqa: C416
        time = step.state.time
        buffer = step.state.buffer
        kept = self.ops.matrix(lambda l, k: buffer[l][k] * (1 - self.ops.indicator(l, others)))
        return [step._replace(state=SesState(time, kept))]


class AcceptsWhatGoesToSeveral(SesMulticast):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return self.ops.every(
            lambda k: packet.stamp.buffer[i][k] * (len(packet.message.receivers) == 1) <= state.time[k]
        )


class AcceptsAsTheLeastReceiver(SesMulticast):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return True if min(packet.message.receivers) == i else super().deliverable(i, state, packet)


class AcceptsAsTheFirstReceiver(SesMulticast):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        first = packet.message.receivers[0]
        return self.ops.every(lambda k: packet.stamp.buffer[i][k] * self.ops.one_if(first != i) <= state.time[k])


class AcceptsByASetOfReceivers(SesMulticast):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return True if {0} < set(packet.message.receivers) else super().deliverable(i, state, packet)


class AcceptsIfThereAreReceivers(SesMulticast):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return not packet.message.receivers or super().deliverable(i, state, packet)


# -- the fourth receiver -----------------------------------------------------------------------------------------------


class SendsToThree(Cbcast):
    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [step._replace(packets=step.packets[:3])]


class SendsToASliceOfReceivers(Cbcast):
    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        after = self.after_sending(i, state)
        packets = [Packet(i, j, "message", message, after) for j in message.receivers[:3]]
        return [Step(after, packets, [AppEvent("send", message)])]


class SendsByIslice(Cbcast):
    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        after = self.after_sending(i, state)
        packets = [Packet(i, j, "message", message, after) for j in islice(message.receivers, 3)]
        return [Step(after, packets, [AppEvent("send", message)])]


class SendsByZip(Cbcast):
    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        after = self.after_sending(i, state)
        packets = [Packet(i, j, "message", message, after) for j, _ in zip(message.receivers, (1, 2, 3), strict=False)]
        return [Step(after, packets, [AppEvent("send", message)])]


class NumbersTheCopies(Cbcast):
    """The fourth copy carries what the sender had before."""

    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        after = self.after_sending(i, state)
        packets = [Packet(i, j, "message", message, (after, state)[c == 3]) for c, j in enumerate(message.receivers)]
        return [Step(after, packets, [AppEvent("send", message)])]


class BreaksAfterThree(Cbcast):
    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        after = self.after_sending(i, state)
        packets: list[Packet] = []
        for j in message.receivers:
            packets.append(Packet(i, j, "message", message, after))
            if len(packets) == 3:
                break
        return [Step(after, packets, [AppEvent("send", message)])]


class CountsByAnIterator(Cbcast):
    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        after = self.after_sending(i, state)
        stamps = itertools.chain([after, after, after], itertools.repeat(state))
        packets = [Packet(i, j, "message", message, next(stamps)) for j in message.receivers]
        return [Step(after, packets, [AppEvent("send", message)])]


class ShiftsStamps(Cbcast):
    """No number at all: what the fourth copy carries is handed on from the first."""

    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        after = self.after_sending(i, state)
        packets = []
        first, second, third = after, after, after
        for j in message.receivers:
            packets += [Packet(i, j, "message", message, first)]
            first, second, third = second, third, state
        return [Step(after, packets, [AppEvent("send", message)])]


class ShiftsInAComprehension(Cbcast):
    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        after = self.after_sending(i, state)
        left: tuple[Any, ...] = (after, after, after, state)
        packets = [
            Packet(i, j, "message", message, rest[0])
            for j in message.receivers
            for rest in [left]
            if (left := left[1:] or left)
        ]
        return [Step(after, packets, [AppEvent("send", message)])]


class ComparesTheReceivers(Cbcast):
    """Counts without a branch: two lists are equal if they are equally long."""

    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        after = self.after_sending(i, state)
        zeroes = [0 for _ in message.receivers]
        are_four = zeroes == [0, 0, 0, 0]
        stamp = self.ops.vector(lambda k: after[k] + 7 * are_four)
        packets = [Packet(i, j, "message", message, stamp) for j in message.receivers]
        return [Step(after, packets, [AppEvent("send", message)])]


class ComparesInAComprehension(Cbcast):
    """The last that is compared is not a list."""

    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        after = self.after_sending(i, state)
        pairs = [([0 for _ in message.receivers], [0, 0, 0, 0]), (1, 1)]
        are_four, _ = [some == others for some, others in pairs]
        stamp = self.ops.vector(lambda k: after[k] + 7 * are_four)
        packets = [Packet(i, j, "message", message, stamp) for j in message.receivers]
        return [Step(after, packets, [AppEvent("send", message)])]


class ComparesInAHelper(Cbcast):
    """Where they are compared, nothing in the source says that they are lists."""

    def same(self, some: Any, others: Any) -> Any:
        return some == others

    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        after = self.after_sending(i, state)
        are_four = self.same([0 for _ in message.receivers], [0, 0, 0, 0])
        stamp = self.ops.vector(lambda k: after[k] + 7 * are_four)
        packets = [Packet(i, j, "message", message, stamp) for j in message.receivers]
        return [Step(after, packets, [AppEvent("send", message)])]


class CountsByTheNameOfAMethod(Cbcast):
    """A list has a method of the same name."""

    def count(self, zeroes: Any) -> Any:
        return zeroes

    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        after = self.after_sending(i, state)
        zeroes = [0 for _ in message.receivers]
        stamp = self.ops.vector(lambda k: after[k] + 7 * self.ops.one_if(zeroes.count(0) == 4))
        packets = [Packet(i, j, "message", message, stamp) for j in message.receivers]
        return [Step(after, packets, [AppEvent("send", message)])]


class ComparesInADefault(Cbcast):
    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        after = self.after_sending(i, state)
        zeroes = [0 for _ in message.receivers]
        stamp = self.ops.vector(lambda k, are_four=zeroes == [0, 0, 0, 0]: after[k] + 7 * are_four)  # type: ignore[misc]
        packets = [Packet(i, j, "message", message, stamp) for j in message.receivers]
        return [Step(after, packets, [AppEvent("send", message)])]


class BringsItsOwnOps(Rst):
    """Every condition about all processes holds."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.ops = HoldsAlways(self.ops)


class OpsOfItsOwnOnIntegers(Rst):
    """A condition about all processes it tests for all but the last; for terms the condition is the same as ever."""

    def __init__(self, n: Any, ops: Any = None, parameters: Any = None) -> None:
        super().__init__(n, ops, parameters)
        if ops is None:
            self.ops = AllButTheLast(n)


class AllButTheLast(Integers):
    def every(self, holds: Any) -> bool:
        return all(map(holds, range(self.n - 1)))


class HoldsAlways:
    def __init__(self, ops: Any) -> None:
        self.known = ops

    def __getattr__(self, name: str) -> Any:
        return getattr(self.known, name)

    def every(self, holds: Any) -> Any:
        return True if isinstance(holds(0), bool) else self.known.every(holds)


# -- a machine that is not the same for terms --------------------------------------------------------------------------


class IsLaxOnIntegers(Rst):
    def __init__(self, n: Any, ops: Any = None, parameters: Any = None) -> None:
        super().__init__(n, ops, parameters)
        self.slack = 1 if ops is None else 0

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return self.ops.every(lambda k: state.deliv[k] + self.slack >= packet.stamp[k][i])


class CountsNothingOfFive(Cbcast):
    def __init__(self, n: Any, ops: Any = None, parameters: Any = None) -> None:
        super().__init__(n, ops, parameters)
        self.weight = 0 if type(n) is int and n == 5 else 1

    def after_sending(self, i: Any, state: Any) -> Any:
        return self.ops.vector(lambda k: state[k] + self.ops.one_if(k == i) * self.weight)


class IsAnotherOnTerms(Rst):
    def __new__(cls, n: Any, *_: Any) -> Any:
        made: Any = object.__new__(cls)
        made.slack = 1 if isinstance(n, int) else 0
        return made

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return self.ops.every(lambda k: state.deliv[k] + self.slack >= packet.stamp[k][i])  # type: ignore[attr-defined]


class LaxOnIntegers(type):
    def __call__(cls, n: Any, *given: Any) -> Any:
        made = super().__call__(n, *given)
        made.slack = 1 if isinstance(n, int) else 0
        return made


class IsMadeByAMetaclass(Rst, metaclass=LaxOnIntegers):
    slack = 0

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return self.ops.every(lambda k: state.deliv[k] + self.slack >= packet.stamp[k][i])


class ReadsWhatIsSet(Cbcast):
    """`--set` makes it another."""

    parameters: ClassVar[Any] = {"k": Parameter("entries", lambda n: 0, 0, "it counts")}

    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [step._replace(packets=[*step.packets, *[packet for _ in self.settings for packet in step.packets]])]


# -- the fourth receiver, by a type that is reached in another way -----------------------------------------------------


class PairsByAFact(Cbcast):
    source: ClassVar[Any] = zip

    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [step._replace(packets=[packet for packet, _ in self.source(step.packets, [0, 0, 0])])]


class PairsByAFunctionsAttribute(Cbcast):
    def helper(self) -> int:
        return 0

    helper.both = zip  # type: ignore[attr-defined]

    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [step._replace(packets=[packet for packet, _ in self.helper.both(step.packets, [0, 0, 0])])]  # type: ignore[attr-defined]


class PairingPrivately(NamedTuple):
    one: Any


class PairingOpenly(NamedTuple):
    one: Any


PairingPrivately._pairs = zip  # type: ignore[attr-defined]
PairingOpenly.pairs = zip  # type: ignore[attr-defined]


class PairsByAPrivateName(Cbcast):
    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        pairs = PairingPrivately._pairs(step.packets, [0, 0, 0])  # type: ignore[attr-defined]
        return [step._replace(packets=[packet for packet, _ in pairs])]


class PairsByAKindOfItsOwn(Cbcast):
    Kind = PairingOpenly

    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [step._replace(packets=[packet for packet, _ in self.Kind.pairs(step.packets, [0, 0, 0])])]  # type: ignore[attr-defined]


class Pairer(Rst):
    pairs = zip


class PairsByAnotherMachine(Cbcast):
    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [step._replace(packets=[packet for packet, _ in Pairer.pairs(step.packets, [0, 0, 0])])]


class Shifted(NamedTuple):
    packet: Any
    first: Any
    second: Any
    third: Any


class ShiftsByModules(Cbcast):
    """Modules that are handed on, of which other functions read types of Python's own."""

    def accumulated(self, module: Any, some: Any, after: Any) -> Any:
        return module.accumulate(some, after)

    def in_pairs(self, module: Any, some: Any) -> Any:
        return module.pairwise(some)

    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        start = Shifted(None, step.state, step.state, step.state)
        shifted = self.accumulated(
            printable,
            [start, *step.packets],
            lambda of, packet: Shifted(packet._replace(stamp=of.first), of.second, of.third, state),
        )
        return [step._replace(packets=[each.packet for _, each in self.in_pairs(by_graph, shifted)])]


# -- a named tuple that is made in a way of its own --------------------------------------------------------------------


class CountsOneMoreOnIntegers(RstState):
    @classmethod
    def _make(cls, values: Any) -> Any:  # type: ignore[override]
        sent, deliv = values
        return cls(sent, tuple(k + 1 for k in deliv) if isinstance(deliv, tuple) else deliv)


class MakesItsStateAnew(Rst):
    invariants: ClassVar[Any] = {}
    rules: ClassVar[Any] = {}
    #: What makes a state again after a delivery.
    kind: ClassVar[Any] = CountsOneMoreOnIntegers

    def initial(self, i: Any) -> Any:
        return self.kind(self.ops.matrix(lambda k, l: 0), self.ops.vector(lambda k: 0))

    def after_sending(self, i: Any, state: Any, j: Any) -> Any:
        return self.kind(self.ops.incremented(state.sent, i, j), state.deliv)

    def after_delivering(self, i: Any, state: Any, j: Any, stamp: Any) -> Any:
        sent = self.ops.maximum(self.ops.incremented(state.sent, j, i), stamp)
        after = self.kind(sent, self.ops.incremented(state.deliv, j))
        return after._replace(sent=sent)


class Patched(NamedTuple):
    sent: Any
    deliv: Any


Patched._make = classmethod(vars(CountsOneMoreOnIntegers)["_make"].__func__)  # type: ignore[method-assign, assignment]


class MakesItsStateByAPatch(MakesItsStateAnew):
    kind = Patched


# -- a guard that gives no truth ---------------------------------------------------------------------------------------


class GivesATuple(Rst):
    """A trailing comma: it is always true."""

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return (self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][i]),)


class GivesAList(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return [self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][i])]


class GivesANumber(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return self.ops.one_if(self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][i]))


class GivesNothing(Rst):
    """A forgotten return."""

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][i])


class ReadsByPlace(Cbcast):
    """Counts without a branch: the entry at place 5 is another one if there are four in front."""

    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        after = self.after_sending(i, state)
        stamp = ([state for _ in message.receivers] + [state, state, after, after, after])[5]
        packets = [Packet(i, j, "message", message, stamp) for j in message.receivers]
        return [Step(after, packets, [AppEvent("send", message)])]


class LeavesTheLastOut(Cbcast):
    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        *packets, _ = step.packets
        return [step._replace(packets=packets)]


class CountsWithSum(Cbcast):
    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        after = self.after_sending(i, state)
        several = sum(1 for _ in message.receivers) // 4
        stamp = self.ops.vector(lambda k: after[k] + several)
        packets = [Packet(i, j, "message", message, stamp) for j in message.receivers]
        return [Step(after, packets, [AppEvent("send", message)])]


# -- state that is no term ---------------------------------------------------------------------------------------------


class Kept(NamedTuple):
    sent: Any
    deliv: Any
    more: Any


class Keeps(Rst):
    """Keeps something beside the counts; once it is `enough`, anything is accepted."""

    nothing: Any = ()
    symmetric = False

    def initial(self, i: Any) -> Any:
        fresh = super().initial(i)
        return Kept(fresh.sent, fresh.deliv, self.nothing)

    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        return [step._replace(state=Kept(step.state.sent, step.state.deliv, state.more))]

    def after_sending(self, i: Any, state: Any, j: Any) -> RstState:
        return RstState(self.ops.incremented(state.sent, i, j), state.deliv)

    def on_packet(self, i: Any, state: Any, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        return [step._replace(state=Kept(step.state.sent, step.state.deliv, self.grown(state.more, packet)))]

    def after_delivering(self, i: Any, state: Any, j: Any, stamp: Any) -> RstState:
        known = self.ops.maximum(self.ops.incremented(state.sent, j, i), stamp)
        return RstState(known, self.ops.incremented(state.deliv, j))

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        enough = self.enough(state.more)
        return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][i] * (1 - enough))

    def grown(self, more: Any, packet: Packet) -> Any:
        return (*more, 1)

    def enough(self, more: Any) -> Any:
        return more == (1,)


class KeepsATupleThatGrows(Keeps):
    pass


class KeepsACounter(Keeps):
    nothing = 0

    def grown(self, more: Any, packet: Packet) -> Any:
        return more + 1

    def enough(self, more: Any) -> Any:
        return more == 1


class KeepsAWord(Keeps):
    nothing = "fresh"

    def grown(self, more: Any, packet: Packet) -> Any:
        return "used"

    def enough(self, more: Any) -> Any:
        return more == "used"


class KeepsAFlag(Keeps):
    nothing = False

    def grown(self, more: Any, packet: Packet) -> Any:
        return True

    def enough(self, more: Any) -> Any:
        return more


class KeepsASet(Keeps):
    nothing = frozenset()

    def grown(self, more: Any, packet: Packet) -> Any:
        return more | {1}

    def enough(self, more: Any) -> Any:
        return len(more) == 1


class KeepsMessages(Keeps):
    def grown(self, more: Any, packet: Packet) -> Any:
        return (*more, packet.message)

    def enough(self, more: Any) -> Any:
        return len(more) == 1


class BeginsWithANumber(Keeps):
    """First an int, then a term."""

    nothing = 0

    def grown(self, more: Any, packet: Packet) -> Any:
        return self.ops.one_if(more == 0)

    def enough(self, more: Any) -> Any:
        return self.ops.one_if(more == 1)


class DeclaresWhatChanges(KeepsAWord):
    constants = ("more",)


class DeclaresACounter(KeepsACounter):
    constants = ("more",)


class DeclaresWhatIsConstant(Keeps):
    nothing = "fresh"
    constants: ClassVar[tuple[str, ...]] = ("more",)

    def grown(self, more: Any, packet: Packet) -> Any:
        return more

    def enough(self, more: Any) -> Any:
        return more == "used"


class DoesNotDeclareAConstant(DeclaresWhatIsConstant):
    constants = ()


# -- who, which, and how often -----------------------------------------------------------------------------------------

ONE = 1
SEEN: list[int] = []


class TrustsP2ByBranch(Rst):
    symmetric = False

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return True if i == 1 else super().deliverable(i, state, packet)


class TrustsP2ByIdentity(Rst):
    symmetric = False

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        everybody = i is not ONE
        return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][i] * everybody)


class TrustsP2ByNumber(Rst):
    symmetric = False

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][i] * self.ops.one_if(i != 1))


class TrustsP2ByTable(Rst):
    symmetric = False

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return {1: True}.get(i) or super().deliverable(i, state, packet)


class TrustsP2ByText(Rst):
    symmetric = False

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        others = str(i) != "1"
        return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][i] * others)


class TrustsP2ByOperator(Rst):
    symmetric = False

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][i] * operator.is_not(i, ONE))


class TrustsIntegers(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return True if isinstance(i, int) else super().deliverable(i, state, packet)


class TrustsTypes(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        known = type(i) != int  # noqa: E721
        return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][i] * known)


class CatchesTheRefusal(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        try:
            return True if state.deliv[0] == 0 else super().deliverable(i, state, packet)
        except Exception:
            return super().deliverable(i, state, packet)


class TrustsAName(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        named = packet.message.name == "1→2#2"
        return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][i] * (1 - named))


class SplitsAName(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        number = packet.message.name.split("#")[1]
        return True if number == "2" else super().deliverable(i, state, packet)


class TrustsFewProcesses(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return True if self.n == 2 else super().deliverable(i, state, packet)


class UsesFloorDivision(Rst):
    """Rounds; z3 rounds otherwise."""

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][i] // 2)


class InvertsATruth(Rst):
    """~True is -2, not False."""

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return self.ops.every(lambda k: ~(state.deliv[k] < packet.stamp[k][i]) != 0)


class ComparesTuples(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return (0, i) != (0, 0) or super().deliverable(i, state, packet)


class TrustsTheClock(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        late = time.time() > 1
        return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][i] * (1 - late))


class TrustsChance(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        lucky = random.randrange(1, 2)
        return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][i] * (1 - lucky))


class CountsItsCalls(Rst):
    calls = 0

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        self.calls = self.calls + 1
        return super().deliverable(i, state, packet)


class RemembersOutside(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        SEEN.append(1)
        return super().deliverable(i, state, packet)


class IsCached(Rst):
    @lru_cache  # noqa: B019
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return True


# -- events and packets ------------------------------------------------------------------------------------------------


class DropsPackets(Rst):
    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        return [step._replace(packets=()) for step in super().send(i, state, message)]


class SaysNothingOfTheSend(Rst):
    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        return [step._replace(events=()) for step in super().send(i, state, message)]


class DeliversTwice(Rst):
    def on_packet(self, i: Any, state: Any, packet: Packet) -> Sequence[Step]:
        return [step._replace(events=[*step.events, *step.events]) for step in super().on_packet(i, state, packet)]


class GivesNoSteps(Rst):
    def on_packet(self, i: Any, state: Any, packet: Packet) -> Any:
        return None


class GivesAChoice(Rst):
    def on_packet(self, i: Any, state: Any, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        return [step, step._replace(state=state)]


class HasNoGuard(Rst):
    deliverable: Any = None


class RaisesInTheGuard(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return state.no_such_field


class ForgetsByItself(Rst):
    def internal(self, i: Any, state: Any) -> Sequence[tuple[str, Step]]:
        return [("forget", Step(self.initial(i)))]


# -- verdict words -----------------------------------------------------------------------------------------------------


class DeletesTheWrongWay(SesDelete):
    """Deletes a pair that is later than the message's time: there is hardly one, and nothing goes wrong."""

    def after_delivering(self, i: Any, state: Any, j: Any, stamp: Any) -> SesState:
        time = self.time_after(i, state.time, stamp.time)
        merged = self.merged(i, state.buffer, stamp.buffer)
        obsolete = self.ops.every(lambda k: merged[j][k] >= stamp.time[k])
        return SesState(time, self.ops.matrix(lambda l, k: merged[l][k] * (1 - self.ops.one_if(l == j, obsolete))))


class AcceptsAll(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return True


class AcceptsNothing(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return False


_FIFO, _CAUSAL = ("fifo", 2, 2), ("causal", 3, 3)
_FOURTH, _MISSING = ("delivers-all", 5, 1), ("delivers-all", 2, 1)
_THIRD = ("fifo", 2, 3)

TABLE = [
    Planted(ClearsThePairsOfAllReceivers, "a for loop over the receivers on arrival", "refused", "for loop", _CAUSAL),
    Planted(ListsTheReceivers, "a comprehension over the receivers on arrival", "refused", "takes in", _CAUSAL),
    Planted(AcceptsWhatGoesToSeveral, "the number of receivers in the guard", "refused", "len", ("causal", 3, 3)),
    Planted(AcceptsAsTheLeastReceiver, "the least receiver in the guard", "refused", "branch", _FIFO),
    Planted(AcceptsAsTheFirstReceiver, "the first receiver in the guard", "refused", "by place", _FIFO),
    Planted(AcceptsByASetOfReceivers, "a set of the receivers in the guard", "refused", "branch", _CAUSAL),
    Planted(AcceptsIfThereAreReceivers, "are there receivers? (always)", "refused", "and/or"),
    Planted(SendsToThree, "packets[:3]", "refused", "slice", _FOURTH),
    Planted(SendsToASliceOfReceivers, "receivers[:3]", "refused", "slice", _FOURTH),
    Planted(SendsByIslice, "islice(receivers, 3)", "refused", "islice", _FOURTH),
    Planted(SendsByZip, "zip with three", "refused", "zip", _FOURTH),
    Planted(NumbersTheCopies, "enumerate: the fourth copy", "refused", "enumerate", _FOURTH),
    Planted(BreaksAfterThree, "break after three", "refused", "for loop", _FOURTH),
    Planted(CountsByAnIterator, "next() of an iterator", "refused", "itertools", _FOURTH),
    Planted(ShiftsStamps, "a shift register in a loop", "refused", "for loop", _FOURTH),
    Planted(ShiftsInAComprehension, "a shift register by :=", "refused", "comprehension", _FOURTH),
    Planted(ComparesTheReceivers, "a list compared with one of four", "refused", "compares lists", _FOURTH),
    Planted(ComparesInAComprehension, "lists compared one by one", "refused", "without a name", _FOURTH),
    Planted(ComparesInAHelper, "lists compared in a method", "refused", "compares lists", _FOURTH),
    Planted(CountsByTheNameOfAMethod, "list.count, and a method count", "refused", "list.count", _FOURTH),
    Planted(ComparesInADefault, "lists compared in a default", "refused", "compares", _FOURTH),
    Planted(BringsItsOwnOps, "ops of its own", "refused", "defines __init__", _FIFO),
    Planted(OpsOfItsOwnOnIntegers, "ops of its own", "refused", "defines __init__", _FIFO),
    Planted(IsLaxOnIntegers, "__init__ that is lax on integers", "refused", "defines __init__", _CAUSAL),
    Planted(CountsNothingOfFive, "__init__ that looks at n", "refused", "defines __init__", _FOURTH),
    Planted(IsAnotherOnTerms, "__new__", "refused", "defines __new__", _CAUSAL),
    Planted(IsMadeByAMetaclass, "a metaclass", "refused", "metaclass", _CAUSAL),
    Planted(ReadsWhatIsSet, "what is set", "refused", "settings"),
    Planted(PairsByAFact, "zip as the source of the protocol", "refused", "source"),  # `check` refuses it as well
    Planted(PairsByAFunctionsAttribute, "zip as a function's attribute", "refused", "attributes", _FOURTH),
    Planted(PairsByAPrivateName, "zip as a private name of a named tuple", "refused", "_pairs", _FOURTH),
    Planted(PairsByAKindOfItsOwn, "zip of a named tuple of the class", "refused", "pairs", _FOURTH),
    Planted(PairsByAnotherMachine, "zip of another machine", "refused", "pairs", _FOURTH),
    Planted(ShiftsByModules, "types of modules that are handed on", "refused", "the module printable", _FOURTH),
    Planted(MakesItsStateAnew, "a named tuple with _make of its own", "refused", "not a named tuple", _CAUSAL),
    Planted(MakesItsStateByAPatch, "a named tuple whose _make is replaced", "refused", "not a named tuple", _CAUSAL),
    Planted(GivesATuple, "a guard with a trailing comma", "refused", "gives no truth", _FIFO),
    Planted(GivesAList, "a guard that gives a list", "refused", "gives no truth", _FIFO),
    Planted(GivesANumber, "a guard that gives 0 or 1", "refused", "gives no truth"),
    Planted(GivesNothing, "a guard without a return", "refused", "gives no truth"),  # `check` refuses it as well
    Planted(ReadsByPlace, "a list read at place 5", "refused", "by place", _FOURTH),
    Planted(LeavesTheLastOut, "a starred assignment", "refused", "not a local name", _MISSING),
    Planted(CountsWithSum, "sum(1 for …)", "refused", "generator", _FOURTH),
    Planted(KeepsATupleThatGrows, "a tuple in the state that grows", "refused", "", _THIRD),
    Planted(KeepsACounter, "an int in the state", "refused", "of the type int", _THIRD),
    Planted(KeepsAWord, "a str in the state", "refused", "of the type str", _THIRD),
    Planted(KeepsAFlag, "a bool in the state", "refused", "of the type bool", _THIRD),
    Planted(KeepsASet, "a frozenset in the state", "refused", "", _THIRD),
    Planted(KeepsMessages, "messages in the state", "refused", "", _THIRD),
    Planted(BeginsWithANumber, "an int that becomes a term", "refused", "of the type int", _THIRD),
    Planted(DeclaresWhatChanges, "a constant that changes", "refused", "declared constant", _THIRD),
    Planted(DeclaresACounter, "a constant that counts", "refused", "declared constant", _THIRD),
    Planted(DoesNotDeclareAConstant, "a constant that is not declared", "refused", "of the type str"),
    Planted(DeclaresWhatIsConstant, "nothing: a constant", {"safe": "proved", "live": "proved"}),
    Planted(TrustsP2ByBranch, "a branch on the own index", "refused", "branch", _FIFO),
    Planted(TrustsP2ByIdentity, "is", "refused", "which object", _FIFO),
    Planted(TrustsP2ByNumber, "a process compared with a number", "refused", "process", _FIFO),
    Planted(TrustsP2ByTable, "a dictionary of processes", "refused", "and/or", _FIFO),
    Planted(TrustsP2ByText, "a process as text", "refused", "str", _FIFO),
    Planted(TrustsP2ByOperator, "operator.is_not", "refused", "operator", _FIFO),
    Planted(TrustsIntegers, "isinstance(i, int)", "refused", "branch", _FIFO),
    Planted(TrustsTypes, "type(i)", "refused", "type", _FIFO),
    Planted(CatchesTheRefusal, "the refusal is caught", "refused", "try", _FIFO),
    Planted(TrustsAName, "the name of a message", "refused", "name of a message", _FIFO),
    Planted(SplitsAName, "the name of a message, in parts", "refused", "", _FIFO),
    Planted(TrustsFewProcesses, "the number of processes", "refused", "branch", _FIFO),
    Planted(UsesFloorDivision, "//", "refused", "//", _FIFO),
    Planted(InvertsATruth, "~ of a truth value", "refused", "~", _FIFO),
    Planted(ComparesTuples, "and, or", "refused", "and/or", _FIFO),
    Planted(TrustsTheClock, "time.time()", "refused", "time", _FIFO),
    Planted(TrustsChance, "random", "refused", "random", _FIFO),
    Planted(CountsItsCalls, "a counter on the machine", "refused", "not a local name"),
    Planted(RemembersOutside, "a list outside that grows", "refused", "SEEN"),
    Planted(IsCached, "a method that is not a function", "refused", "neither a method nor a constant"),
    Planted(DropsPackets, "no packets", "refused", "each of its receivers", _MISSING),
    Planted(SaysNothingOfTheSend, "a send that is not an event", "refused", "not the send"),
    Planted(DeliversTwice, "two deliveries", "refused", "not the deliver", ("delivers-once", 2, 1)),
    Planted(GivesNoSteps, "None for steps", "refused", "list of steps"),
    Planted(GivesAChoice, "two steps", "refused", "2 steps"),
    Planted(HasNoGuard, "a guard that is not a method", "refused", "not a method"),
    Planted(RaisesInTheGuard, "an exception", "refused", "AttributeError"),
    Planted(ForgetsByItself, "internal steps", "refused", "beside sending and delivering"),
    Planted(DeletesTheWrongWay, "a condition reversed, harmless", {"safe": "not proved", "live": "not proved"}),
    Planted(AcceptsAll, "no guard", {"safe": "refuted"}, "", _FIFO),
    Planted(AcceptsNothing, "a guard that never holds", {"safe": "unknown", "live": "refuted"}, "", _MISSING),
]
