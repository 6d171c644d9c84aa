"""Machines whose code is wrong, each by one mistake that newcomers make; and what is to be said of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from crownless.impl.protocol import AppEvent, Packet, Parameter, ProtocolMachine, Step
from crownless.impl.renaming import Renaming
from crownless.impl.rst import Rst
from crownless.spec.computation import Message


class State(NamedTuple):
    sent: int
    seen: tuple[str, ...]


class Right(ProtocolMachine):
    """Nothing is wrong with it: it counts what it sends, and remembers what it has delivered."""

    promises = "asynchronous"

    def initial(self, i: int) -> Any:
        return State(0, ())

    def send(self, i: int, state: Any, message: Message) -> Any:
        packet = Packet(i, message.receiver, "message", message, state.sent)
        return [Step(state._replace(sent=state.sent + 1), [packet], [AppEvent("send", message)])]

    def on_packet(self, i: int, state: Any, packet: Packet) -> Any:
        assert packet.message is not None
        after = state._replace(seen=(*state.seen, packet.message.name))
        return [Step(after, (), [AppEvent("deliver", packet.message)])]


def renamed(self: Any, state: State, renaming: Renaming) -> State:
    return state


def wrong(name: str, **attributes: Any) -> type[ProtocolMachine]:
    """The right machine with other methods or facts."""
    return type(name, (Right,), {"__module__": __name__, **attributes})


def answers(method: str, answer: Callable[..., Any]) -> dict[str, Any]:
    """A method that makes something else of what the right one gives: answer(i, steps)."""
    right = getattr(Right, method)

    def call(self: Any, i: int, *arguments: Any) -> Any:
        return answer(i, *right(self, i, *arguments))

    def send(self: Any, i: int, state: Any, message: Any) -> Any:
        return call(self, i, state, message)

    def on_packet(self: Any, i: int, state: Any, packet: Any) -> Any:
        return call(self, i, state, packet)

    return {method: {"send": send, "on_packet": on_packet}[method]}


# -- exceptions --------------------------------------------------------------------------------------------------------


def look_up(known: dict[int, str], i: int) -> str:
    return known[i]


class FailsInAHelper(Right):
    def send(self, i: int, state: Any, message: Message) -> Any:
        look_up({0: "", 1: ""}, i)
        return super().send(i, state, message)


class FailsInArrive(Right):
    def on_packet(self, i: int, state: Any, packet: Packet) -> Any:
        state = state._replace(sent=-1)  # the message names the state that it was given
        return [Step(state.nothing)]


class FailsInAccepts(Right):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return packet.stamp[i] == 0


class FailsInInitial(Right):
    def initial(self, i: int) -> Any:
        raise LookupError("no state\n  for anybody")


class FailsInInternal(Right):
    def internal(self, i: int, state: Any) -> Any:
        return [("post", Step(state))][state.sent - 1 :] if 1 // (3 - len(state.seen) - i * 3) else []


class FailsInReceive(Right):
    def receive(self, i: int, state: Any, sender: int | None) -> Any:
        return [Step(state)] if sender + 1 else []  # type: ignore[operator]


class FailsInAnInvariant(Right):
    invariants = {"sends-little": lambda machine, i, state: 1 // (1 - state.sent) >= 0}


class FailsInAWitness(Right):
    witnesses = {"has-two": lambda machine, i, state: state.seen[1] != ""}


class FailsInARule(Right):
    rules = {"sends-first": lambda machine, step: step.before["sent"] == 0}


class InheritsAnInvariant(Rst):
    """Its states are of another shape than those that the invariants of `rst` are about."""

    symmetric = False

    def initial(self, i: int) -> Any:
        return (0,)

    def send(self, i: int, state: Any, message: Message) -> Any:
        return [Step(state, [Packet(i, message.receiver, "message", message)], [AppEvent("send", message)])]

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return True

    def on_packet(self, i: int, state: Any, packet: Packet) -> Any:
        return [Step(state, (), [AppEvent("deliver", packet.message)])]


class FailsInRenamed(Right):
    symmetric = True

    def on_packet(self, i: int, state: Any, packet: Packet) -> Any:
        assert packet.message is not None
        return [Step(state, (), [AppEvent("deliver", packet.message)])] if type(i) is int else []

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        return renaming.process(state)[0]  # type: ignore[index]


class HasNoRenamedStamp(Right):
    symmetric = True
    renamed = renamed

    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return type(i) is int


class EndsTheProcess(Right):
    def on_packet(self, i: int, state: Any, packet: Packet) -> Any:
        sys.exit(3)


class EndsInARecursion(Right):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return self.deliverable(i, state, packet)


def nested(often: int) -> Any:
    value: Any = ()
    for _ in range(often):
        value = (value,)
    return value


class NestsAtTheStart(Right):
    def initial(self, i: int) -> Any:
        return nested(10_000)


class NestsInAnArrival(Right):
    def on_packet(self, i: int, state: Any, packet: Packet) -> Any:
        return [Step(nested(10_000))]


class NestsInAStamp(Right):
    def send(self, i: int, state: Any, message: Message) -> Any:
        return [Step(state, [Packet(i, message.receiver, "message", message, nested(10_000))])]


class HasNoText(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


class FailsWithoutAText(Right):
    def on_packet(self, i: int, state: Any, packet: Packet) -> Any:
        raise HasNoText


# -- answers that are none ---------------------------------------------------------------------------------------------


class HasNoTruth:
    def __bool__(self) -> bool:
        raise TypeError("ask any() or all()")

    def __repr__(self) -> str:
        return "array([True, False])"


class GuardGivesAnArray(Right):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return HasNoTruth()


class GuardGivesAWord(Right):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return str(super().deliverable(i, state, packet))


class GuardGivesNothing(Right):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        packet.stamp == state.sent  # noqa: B015


class InvariantGivesNothing(Right):
    invariants = {"sends-little": lambda machine, i, state: None}  # type: ignore[dict-item, return-value]


class NamesNoStep(Right):
    def internal(self, i: int, state: Any) -> Any:
        return [Step(state)]


class GivesOneNamedStep(Right):
    def internal(self, i: int, state: Any) -> Any:
        return ("post", Step(state))


def names(name: str) -> dict[str, Any]:
    """An internal step of that name."""
    return {"internal": lambda self, i, state: [(name, Step(state))]}


NOT_SENT = Message("2→1#7", 1, (0,))


def changes(**changed: Any) -> Callable[..., Any]:
    """Makes a step with something else in it."""
    return lambda i, step: [step._replace(**changed)]


def readdresses(**changed: Any) -> Callable[..., Any]:
    """Makes a step whose packet has something else in it."""
    return lambda i, step: [step._replace(packets=[packet._replace(**changed) for packet in step.packets])]


ANSWERING = [
    *(
        wrong(f"NamesAStep{of}", **names(name))
        for of, name in {
            "AsASend": "send m1 to P2",
            "AsADelivery": " Deliver  m1 from P2",
            "AsAnArrival": "receive message",
            "AsALoss": "lose m1",
            "AsACopy": "duplicate m1",
            "AsACrash": "crash",
            "AsAnAgreement": "agree",
            "ByNothing": "",
            "ByBlanks": "  ",
            "InTwoLines": "post\nmine holds within the bound",
            "ByAnEscape": "post\x1b[2J",
        }.items()
    ),
    wrong("NamesAStepByANumber", **names(7)),  # type: ignore[arg-type]
    wrong("SendsAStep", **answers("send", lambda i, step: step)),
    wrong("SendsNothing", **answers("send", lambda i, step: None)),
    wrong("SendsAGenerator", **answers("send", lambda i, step: (each for each in [step]))),
    wrong("TakesInAState", **answers("on_packet", lambda i, step: [step.state])),
    wrong("SendsATuple", **answers("send", lambda i, step: [(step.state, step.packets)])),
    wrong("GivesOnePacket", **answers("send", lambda i, step: [step._replace(packets=step.packets[0])])),
    wrong("GivesNoPackets", **answers("on_packet", changes(packets=None))),
    wrong("SendsPairs", **answers("send", changes(packets=[(1, "x")]))),
    wrong("SendsANameAlone", **answers("send", readdresses(message="x"))),
    wrong("SaysOneEvent", **answers("send", lambda i, step: [step._replace(events=step.events[0])])),
    wrong("SaysNoEvents", **answers("on_packet", changes(events=None))),
    wrong("SaysAWord", **answers("on_packet", changes(events=["deliver"]))),
    wrong("SaysDelivered", **answers("on_packet", changes(events=[AppEvent("delivered", NOT_SENT)]))),  # type: ignore[arg-type]
    wrong("SendsToNobody", **answers("send", readdresses(destination=3))),
    wrong("SendsToSeveral", **answers("send", readdresses(destination=(0, 1)))),
    wrong("SendsFromNobody", **answers("send", readdresses(source=-1))),
    wrong("SendsAsP3", **answers("send", readdresses(source=2))),
    wrong("DeliversWhatIsNeverSent", **answers("on_packet", changes(events=[AppEvent("deliver", NOT_SENT)]))),
    wrong("DeliversAName", **answers("on_packet", changes(events=[AppEvent("deliver", "1→2#1")]))),  # type: ignore[arg-type]
    wrong("DeliversAList", **answers("on_packet", changes(events=[AppEvent("deliver", ["1→2#1"])]))),  # type: ignore[arg-type]
    wrong("KeepsAList", **answers("send", changes(state=[1]))),
    wrong("StampsAList", **answers("send", readdresses(stamp=[1]))),
    wrong("StartsWithAList", initial=lambda self, i: [i]),
]


@dataclass(unsafe_hash=True)
class Noted:
    sent: int = 0


class ChangesItsState(Right):
    def initial(self, i: int) -> Any:
        return Noted()

    def send(self, i: int, state: Any, message: Message) -> Any:
        state.sent += 1
        return [Step(state)]


class Unequal:
    sent = 0


class HasNoEquality(Right):
    def initial(self, i: int) -> Any:
        return Unequal()


ANSWERS = iter([True, False] * 10_000)


class AnswersTwice(Right):
    def deliverable(self, i: int, state: Any, packet: Packet) -> Any:
        return next(ANSWERS)


# -- steps without an end ----------------------------------------------------------------------------------------------


class Clock(NamedTuple):
    owner: int
    times: tuple[int, ...]


class Ticks(Right):
    """Its clock goes on, whatever happens."""

    def initial(self, i: int) -> Any:
        return Clock(i, (0, 0))

    def send(self, i: int, state: Any, message: Message) -> Any:
        return []

    def internal(self, i: int, state: Any) -> Any:
        return [("tick", Step(state._replace(times=(0, state.times[1] + 1))))]


class Beats(Right):
    """Sends a sign of life whenever it likes, and then listens for a while."""

    def internal(self, i: int, state: Any) -> Any:
        if state.sent < 0:
            return [("listen", Step(state._replace(sent=0)))]
        return [("beat", Step(state._replace(sent=-1), [Packet(i, (i + 1) % self.n, "beat")]))]


# -- what the class says of itself, and how it is made -----------------------------------------------------------------


class PromisesNothing(ProtocolMachine):
    def initial(self, i: int) -> Any:
        return ()

    send = Right.send
    on_packet = Right.on_packet


class HasNoArrive(ProtocolMachine):
    promises = "fifo"
    initial = Right.initial
    send = Right.send


class IsNoProtocol:
    promises = "fifo"


class TakesNoMessage(Right):
    def send(self, i: int, state: Any) -> Any:  # type: ignore[override]
        return []


class Yields(Right):
    def on_packet(self, i: int, state: Any, packet: Packet) -> Any:
        yield Step(state)


class IsMadeOtherwise(Right):
    def __init__(self, n: int, capacity: int) -> None:
        super().__init__(n)


class FailsWhenMade(Right):
    def __init__(self, n: Any, ops: Any = None, parameters: Any = None) -> None:
        self.leader = [0, 1][n]


class ForgetsItsBase(Right):
    def __init__(self, n: Any, ops: Any = None, parameters: Any = None) -> None:
        self.leader = 0


def too_many(n: int) -> int:
    return 4 // (n - 3)


class FailsInADefault(Right):
    parameters = {"k": Parameter("how many may wait", too_many, 1, "at least one must")}


DECLARING = [
    wrong("MisspellsItsPromise", promises="casual"),
    wrong("MisspellsItsChannel", needs_channel="lossless"),
    wrong("MisspellsItsSends", sends="unicasts"),
    wrong("SaysYes", symmetric="yes"),
    wrong("HasOneBound", bound=3),
    wrong("HasNoProcesses", bound=(0, 4)),
    wrong("ListsItsSource", source=["[MF]"]),
    wrong("NamesOneConstant", constants="capacity"),
    wrong("ParametersAreNumbers", parameters={"k": 4}),
    wrong("ParametersAreListed", parameters=["k"]),
    wrong("ADefaultIsANumber", parameters={"k": Parameter("how many may wait", 4, 1, "one must")}),  # type: ignore[arg-type]
    wrong("InvariantsAreListed", invariants=[len]),
    wrong("AnInvariantIsATruth", invariants={"sends-little": True}),
    wrong("AWitnessTakesAState", witnesses={"sends": lambda state: True}),
    wrong("ARuleTakesAState", rules={"sends": lambda machine, i, state: True}),
    wrong("IsNotRenamed", symmetric=True),
    wrong("ItsGuardIsATruth", deliverable=True),
    wrong("MisspellsItsGuard", deliverabel=lambda self, i, state, packet: True),
    wrong("MisspellsAFact", promise="causal"),
]

#: Every wrong machine of this file, by its name.
MACHINES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (*globals().copy().values(), *ANSWERING, *DECLARING)
    if isinstance(kind, type) and kind.__module__ == __name__ and issubclass(kind, ProtocolMachine | IsNoProtocol)
}
del MACHINES[Right.__name__]
