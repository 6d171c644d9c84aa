"""Machines that a proof must not be fooled by: what is planted in each, and the most that `prove` may say of it.

Each does, in some run, what the terms of z3 do not show: it counts to four, keeps what is no term, tests its own
identity, or lies about what happened. `says` is "refused" (with a part of the line that says why), or outcomes;
`breaks` names what a run breaks, and at which processes and messages the explorer sees it. Without `breaks` the machine
is impure, which no search can be checked against, or it is right, and refused or not proved all the same.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

from crownless.impl.protocol import AppEvent, Packet, Parameter, ProtocolMachine, Step
from crownless.impl.protocols.cbcast import Cbcast
from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.rst import State as RstState
from crownless.impl.protocols.ses import State as SesState
from crownless.impl.protocols.ses_delete import SesDelete
from crownless.impl.protocols.ses_multicast import SesMulticast


class Planted(NamedTuple):
    machine: type[ProtocolMachine]
    #: "refused", or outcomes.
    says: str | dict[str, str]
    #: Part of the line of a refusal.
    because: str = ""
    #: Property, processes, messages.
    breaks: tuple[str, int, int] | None = None


_FIFO, _CAUSAL, _THIRD = ("fifo", 2, 2), ("causal", 3, 3), ("fifo", 2, 3)
_FOURTH, _MISSING = ("delivers-all", 5, 1), ("delivers-all", 2, 1)

TABLE: list[Planted] = []


def plant(
    name: str,
    base: type,
    because: str,
    breaks: tuple[str, int, int] | None = None,
    *,
    says: Any = "refused",
    **does: Any,
) -> type[ProtocolMachine]:
    """A row of the table: the protocol with these pieces overridden."""
    machine: Any = type(name, (base,), {"__module__": __name__, **does})
    TABLE.append(Planted(machine, says, because, breaks))
    return machine  # type: ignore[no-any-return]


# -- pieces of machines ------------------------------------------------------------------------------------------------


def lax(self: Any, i: Any, state: Any, packet: Any, factor: Any) -> Any:
    """The guard of `rst`, which asks for nothing where the factor is 0."""
    return self.ops.every(lambda k: state.deliv[k] >= packet.stamp[k][i] * factor)


def to_each(self: Any, i: Any, state: Any, message: Any, stamp: Any) -> Any:
    """A broadcast with this stamp."""
    packets = [Packet(i, j, "message", message, stamp) for j in message.receivers]
    return [Step(self.after_sending(i, state), packets, [AppEvent("send", message)])]


def raised(self: Any, i: Any, state: Any, by: Any) -> Any:
    """The stamp of a broadcast, greater by seven times that."""
    after = self.after_sending(i, state)
    return self.ops.vector(lambda k: after[k] + 7 * by)


def zeroes(message: Any) -> Any:
    """A zero for each receiver."""
    return [0 for _ in message.receivers]


def steps_with(steps: Any, packets: Any) -> Any:
    return [step._replace(packets=packets(step)) for step in steps]


# -- who else receives a message that is taken in ----------------------------------------------------------------------


def clears_those_listed(self: Any, i: Any, state: Any, packet: Any) -> Any:
    (step,) = SesMulticast.on_packet(self, i, state, packet)
    others = [j for j in packet.message.receivers]  # noqa: C416
    buffer = step.state.buffer
    kept = self.ops.matrix(lambda l, k: buffer[l][k] * (1 - self.ops.indicator(l, others)))
    return [step._replace(state=SesState(step.state.time, kept))]


def lax_for_first(self: Any, i: Any, state: Any, packet: Any) -> Any:
    first = packet.message.receivers[0]
    return self.ops.every(lambda k: packet.stamp.buffer[i][k] * self.ops.one_if(first != i) <= state.time[k])


plant("ListsTheReceivers", SesMulticast, "takes in", _CAUSAL, on_packet=clears_those_listed)
plant("AcceptsAsTheFirstReceiver", SesMulticast, "by place", _FIFO, deliverable=lax_for_first)

# -- the fourth receiver -----------------------------------------------------------------------------------------------


def sends_by_enumerate(self: Any, i: Any, state: Any, message: Any) -> Any:
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


class ComparesInADefault(Cbcast):
    def send(self, i: Any, state: Any, message: Any) -> Any:
        after, some = self.after_sending(i, state), zeroes(message)
        stamp = self.ops.vector(lambda k, are_four=some == [0, 0, 0, 0]: after[k] + 7 * are_four)  # type: ignore[misc]
        return to_each(self, i, state, message, stamp)


class CountsByTheNameOfAMethod(Cbcast):
    """A list has a method of the same name."""

    def count(self, some: Any) -> Any:
        return some

    def send(self, i: Any, state: Any, message: Any) -> Any:
        by = self.ops.one_if(zeroes(message).count(0) == 4)
        return to_each(self, i, state, message, raised(self, i, state, by))


class LeavesTheLastOut(Cbcast):
    def send(self, i: Any, state: Any, message: Any) -> Sequence[Step]:
        (step,) = super().send(i, state, message)
        *packets, _ = step.packets
        return [step._replace(packets=packets)]


def sends(because: str, name: str, send: Any) -> type[ProtocolMachine]:
    """A broadcast whose fourth copy is another one, or missing."""
    return plant(name, Cbcast, because, _FOURTH, send=send)


sends("slice", "SendsToThree", lambda self, i, state, message: steps_with(
    Cbcast.send(self, i, state, message), lambda step: step.packets[:3]
))  # fmt: skip
NumbersTheCopies = sends("enumerate", "NumbersTheCopies", sends_by_enumerate)
TABLE += [
    Planted(BreaksAfterThree, "refused", "for loop", _FOURTH),
    Planted(ShiftsInAComprehension, "refused", "comprehension", _FOURTH),
    Planted(ComparesInADefault, "refused", "compares lists", _FOURTH),
    Planted(CountsByTheNameOfAMethod, "refused", "list.count", _FOURTH),
    Planted(LeavesTheLastOut, "refused", "assigning it in parts", _MISSING),
]


# -- a machine that is not the same for terms --------------------------------------------------------------------------


def guard_with_slack(self: Any, i: Any, state: Any, packet: Any) -> Any:
    return self.ops.every(lambda k: state.deliv[k] + self.slack >= packet.stamp[k][i])


class IsLaxOnIntegers(Rst):
    deliverable = guard_with_slack

    def __init__(self, n: Any, ops: Any = None, parameters: Any = None) -> None:
        super().__init__(n, ops, parameters)
        self.slack = 1 if ops is None else 0


class LaxOnIntegers(type):
    def __call__(cls, n: Any, *given: Any) -> Any:
        made = super().__call__(n, *given)
        made.slack = 1 if isinstance(n, int) else 0
        return made


class IsMadeByAMetaclass(Rst, metaclass=LaxOnIntegers):
    slack = 0
    deliverable = guard_with_slack


plant(
    "ReadsWhatIsSet", Cbcast, "settings", parameters={"k": Parameter("entries", lambda n: 0, 0, "it counts")},
    send=lambda self, i, state, message: steps_with(
        Cbcast.send(self, i, state, message),
        lambda step: [*step.packets, *[packet for _ in self.settings for packet in step.packets]],
    ),
)  # fmt: skip
TABLE += [
    Planted(IsLaxOnIntegers, "refused", "defines __init__", _CAUSAL),
    Planted(IsMadeByAMetaclass, "refused", "metaclass", _CAUSAL),
]


# -- a named tuple that is made in a way of its own --------------------------------------------------------------------


class CountsOneMoreOnIntegers(RstState):
    @classmethod
    def _make(cls, values: Any) -> Any:  # type: ignore[override]
        sent, deliv = values
        return cls(sent, tuple(k + 1 for k in deliv) if isinstance(deliv, tuple) else deliv)


class Patched(NamedTuple):
    sent: Any
    deliv: Any


Patched._make = classmethod(vars(CountsOneMoreOnIntegers)["_make"].__func__)  # type: ignore[method-assign, assignment]


class MakesItsState(Rst):
    invariants: ClassVar[Any] = {}
    rules: ClassVar[Any] = {}
    #: What makes a state again after a delivery.
    kind: Any = RstState

    def initial(self, i: Any) -> Any:
        return self.kind(self.ops.matrix(lambda k, l: 0), self.ops.vector(lambda k: 0))

    def after_sending(self, i: Any, state: Any, j: Any) -> Any:
        return self.kind(self.ops.incremented(state.sent, i, j), state.deliv)

    def after_delivering(self, i: Any, state: Any, j: Any, stamp: Any) -> Any:
        sent = self.ops.maximum(self.ops.incremented(state.sent, j, i), stamp)
        after = self.kind(sent, self.ops.incremented(state.deliv, j))
        return after._replace(sent=sent)


plant("MakesItsStateAnew", MakesItsState, "not a named tuple", _CAUSAL, kind=CountsOneMoreOnIntegers)
plant("MakesItsStateByAPatch", MakesItsState, "not a named tuple", _CAUSAL, kind=Patched)


# -- a guard that gives no truth ---------------------------------------------------------------------------------------


plant(
    "GivesATuple", Rst, "gives no truth", _FIFO,
    deliverable=lambda self, i, state, packet: (Rst.deliverable(self, i, state, packet),),
)  # fmt: skip


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

    def on_packet(self, i: Any, state: Any, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        return [step._replace(state=Kept(step.state.sent, step.state.deliv, self.grown(state.more, packet)))]

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        return lax(self, i, state, packet, 1 - self.enough(state.more))

    def grown(self, more: Any, packet: Packet) -> Any:
        return (*more, 1)

    def enough(self, more: Any) -> Any:
        return more == (1,)


def keeps(name: str, because: str, nothing: Any, grown: Any, enough: Any, **more: Any) -> None:
    plant(name, Keeps, because, more.pop("breaks", _THIRD), nothing=nothing, grown=grown, enough=enough, **more)


plant("KeepsATupleThatGrows", Keeps, "", _THIRD)
_COUNTER: Any = (0, lambda self, more, packet: more + 1, lambda self, more: more == 1)
_WORD: Any = ("fresh", lambda self, more, packet: "used", lambda self, more: more == "used")
keeps("KeepsACounter", "of the type int", *_COUNTER)
keeps("DeclaresWhatChanges", "declared constant", *_WORD, constants=("more",))
_UNCHANGED: Any = ("fresh", lambda self, more, packet: more, lambda self, more: more == "used")
keeps(
    "DeclaresWhatIsConstant", "", *_UNCHANGED, breaks=None, constants=("more",),
    says={"safe": "proved", "live": "proved"},
)  # fmt: skip


# -- who, which, and how often -----------------------------------------------------------------------------------------

ONE = 1
SEEN: list[int] = []


class CatchesTheRefusal(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        try:
            return True if state.deliv[0] == 0 else super().deliverable(i, state, packet)
        except Exception:
            return super().deliverable(i, state, packet)


class CountsItsCalls(Rst):
    calls = 0

    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        self.calls = self.calls + 1
        return super().deliverable(i, state, packet)


class RemembersOutside(Rst):
    def deliverable(self, i: Any, state: Any, packet: Packet) -> Any:
        SEEN.append(1)
        return super().deliverable(i, state, packet)


def guards(name: str, because: str, guard: Any, breaks: Any = None) -> type[ProtocolMachine]:
    return plant(name, Rst, because, breaks, deliverable=guard, symmetric=False)


def trusts(name: str, because: str, asks: Any, breaks: Any = _FIFO) -> None:
    """It accepts anything where a number is 0 that it computes of the index and the packet."""
    plant(
        name, Rst, because, breaks, symmetric=False, asks=asks,
        deliverable=lambda self, i, state, packet: lax(self, i, state, packet, self.asks(i, packet)),
    )  # fmt: skip


TrustsP2ByBranch = guards(
    "TrustsP2ByBranch", "branch",
    lambda self, i, state, packet: True if i == 1 else Rst.deliverable(self, i, state, packet), _FIFO,
)  # fmt: skip
guards(
    "TrustsP2ByTable", "and/or",
    lambda self, i, state, packet: {1: True}.get(i) or Rst.deliverable(self, i, state, packet), _FIFO,
)  # fmt: skip
guards(
    "InvertsATruth", "~",  # ~True is -2, not False
    lambda self, i, state, packet: self.ops.every(lambda k: ~(state.deliv[k] < packet.stamp[k][i]) != 0), _FIFO,
)  # fmt: skip
guards("RaisesInTheGuard", "no_such_field", lambda self, i, state, packet: state.no_such_field)
guards("IsCached", "neither a method nor a constant", lru_cache(lambda self, i, state, packet: True))
guards("HasNoGuard", "not a method", None)
trusts("TrustsP2ByIdentity", "which object", lambda self, i, packet: i is not ONE)
trusts("TrustsP2ByNumber", "process", lambda self, i, packet: self.ops.one_if(i != 1))
#: `check` refuses it, too.
trusts("TrustsAName", "name of a message", lambda self, i, packet: 1 - (packet.message.name == "1→2#2"), None)
trusts("TrustsTheClock", "time", lambda self, i, packet: 1 - (time.time() > 1))
TABLE += [
    Planted(CatchesTheRefusal, "refused", "try", _FIFO),
    Planted(CountsItsCalls, "refused", "not a local name"),
    Planted(RemembersOutside, "refused", "SEEN"),
]


# -- events and packets ------------------------------------------------------------------------------------------------


class GivesAChoice(Rst):
    def on_packet(self, i: Any, state: Any, packet: Packet) -> Sequence[Step]:
        (step,) = super().on_packet(i, state, packet)
        return [step, step._replace(state=state)]


class DeletesTheWrongWay(SesDelete):
    """Deletes a pair that is later than the message's time: there is hardly one, and nothing goes wrong."""

    def after_delivering(self, i: Any, state: Any, j: Any, stamp: Any) -> SesState:
        time = self.time_after(i, state.time, stamp.time)
        merged = self.merged(i, state.buffer, stamp.buffer)
        obsolete = self.ops.every(lambda k: merged[j][k] >= stamp.time[k])
        return SesState(time, self.ops.matrix(lambda l, k: merged[l][k] * (1 - self.ops.one_if(l == j, obsolete))))


plant(
    "DropsPackets", Rst, "each of its receivers", _MISSING,
    send=lambda self, i, state, message: steps_with(Rst.send(self, i, state, message), lambda step: ()),
)  # fmt: skip
plant(
    "TransmitsAnotherKind", Rst, "not the message, from its sender",
    send=lambda self, i, state, message: steps_with(
        Rst.send(self, i, state, message), lambda step: [packet._replace(kind="other") for packet in step.packets]
    ),
)  # fmt: skip
plant(
    "DeliversTwice", Rst, "not the deliver", ("delivers-once", 2, 1),
    on_packet=lambda self, i, state, packet: [
        step._replace(events=[*step.events, *step.events]) for step in Rst.on_packet(self, i, state, packet)
    ],
)  # fmt: skip
plant("GivesNoSteps", Rst, "list of steps", on_packet=lambda self, i, state, packet: None)
plant(
    "ForgetsByItself", Rst, "beside sending and delivering",
    internal=lambda self, i, state: [("forget", Step(self.initial(i)))],
)  # fmt: skip
AcceptsAll = plant(
    "AcceptsAll", Rst, "", _FIFO, says={"safe": "refuted"}, deliverable=lambda self, i, state, packet: True
)
plant(
    "AcceptsNothing", Rst, "", _MISSING, says={"safe": "unknown", "live": "refuted"},
    deliverable=lambda self, i, state, packet: False,
)  # fmt: skip
TABLE += [
    Planted(GivesAChoice, "refused", "2 steps"),
    Planted(DeletesTheWrongWay, {"safe": "not proved", "live": "not proved"}),
]


# -- names and members that Python resolves otherwise ------------------------------------------------------------------


class OtherFields(NamedTuple):
    """A state whose fields, unpacked, are not those that were put in."""

    sent: Any
    deliv: Any

    def __iter__(self) -> Any:
        return iter((tuple.__getitem__(self, 0), tuple(9 for _ in tuple.__getitem__(self, 1))))


def unpacks_otherwise(self: Any, i: Any, state: Any, packet: Packet) -> Any:
    _, deliv = OtherFields(state.sent, state.deliv)
    return self.ops.every(lambda k: deliv[k] >= packet.stamp[k][i])


class TakesTheFirstList(Rst):
    """Its `list` is a parameter of one function and Python's own in another place."""

    def after_delivering(self, i: Any, state: Any, j: Any, stamp: Any) -> Any:
        first: Any = lambda list: list  # noqa: A006, E731
        kept = list(first(stamp))
        return Rst.after_delivering(self, i, state, j, kept)


guards("UnpacksOtherwise", "not a named tuple as Python makes them", unpacks_otherwise, _FIFO)
TABLE.append(Planted(TakesTheFirstList, "refused", "list is not Python's own here"))
