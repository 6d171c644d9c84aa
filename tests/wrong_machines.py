"""Machines whose code is wrong, each by one mistake that newcomers make; and what is to be said of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from crownless.impl.protocol import Happened, Packet, Parameter, ProtocolMachine, Step
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
        return [Step(state._replace(sent=state.sent + 1), [packet], [Happened("send", message)])]

    def arrive(self, i: int, state: Any, packet: Packet) -> Any:
        assert packet.message is not None
        after = state._replace(seen=(*state.seen, packet.message.name))
        return [Step(after, (), [Happened("deliver", packet.message)])]


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

    def arrive(self: Any, i: int, state: Any, packet: Any) -> Any:
        return call(self, i, state, packet)

    return {method: {"send": send, "arrive": arrive}[method]}


# -- exceptions --------------------------------------------------------------------------------------------------------


def look_up(known: dict[int, str], i: int) -> str:
    return known[i]


class FailsInAHelper(Right):
    def send(self, i: int, state: Any, message: Message) -> Any:
        look_up({0: "", 1: ""}, i)
        return super().send(i, state, message)


class FailsInArrive(Right):
    def arrive(self, i: int, state: Any, packet: Packet) -> Any:
        state = state._replace(sent=-1)  # what is told of is what it was given
        return [Step(state.nothing)]


class FailsInAccepts(Right):
    def accepts(self, i: int, state: Any, packet: Packet) -> Any:
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


class InheritsARule(Rst):
    """Its states are of another shape than those that the rules of `rst` are about."""

    symmetric = False

    def initial(self, i: int) -> Any:
        return (0,)

    def send(self, i: int, state: Any, message: Message) -> Any:
        return [Step(state, [Packet(i, message.receiver, "message", message)], [Happened("send", message)])]

    def accepts(self, i: int, state: Any, packet: Packet) -> Any:
        return True

    def arrive(self, i: int, state: Any, packet: Packet) -> Any:
        return [Step(state, (), [Happened("deliver", packet.message)])]  # type: ignore[arg-type]


class FailsInRenamed(Right):
    symmetric = True

    def arrive(self, i: int, state: Any, packet: Packet) -> Any:
        assert packet.message is not None
        return [Step(state, (), [Happened("deliver", packet.message)])] if type(i) is int else []

    def renamed(self, state: Any, renaming: Renaming) -> Any:
        return renaming.process(state)[0]  # type: ignore[index]


class HasNoRenamedStamp(Right):
    symmetric = True
    renamed = renamed

    def accepts(self, i: int, state: Any, packet: Packet) -> Any:
        return type(i) is int


class EndsTheProcess(Right):
    def arrive(self, i: int, state: Any, packet: Packet) -> Any:
        sys.exit(3)


class EndsInARecursion(Right):
    def accepts(self, i: int, state: Any, packet: Packet) -> Any:
        return self.accepts(i, state, packet)


@dataclass(frozen=True)
class Uncountable:
    sent: int
    seen: tuple[str, ...]

    def __hash__(self) -> int:
        raise ValueError("cannot be hashed")

    def __eq__(self, other: object) -> bool:
        return True


class FailsInAHash(Right):
    def initial(self, i: int) -> Any:
        return Uncountable(0, ())


# -- answers that are none ---------------------------------------------------------------------------------------------


class HasNoTruth:
    def __bool__(self) -> bool:
        raise TypeError("ask any() or all()")

    def __repr__(self) -> str:
        return "array([True, False])"


class GuardGivesAnArray(Right):
    def accepts(self, i: int, state: Any, packet: Packet) -> Any:
        return HasNoTruth()


class GuardGivesNothing(Right):
    def accepts(self, i: int, state: Any, packet: Packet) -> Any:
        packet.stamp == state.sent  # noqa: B015


class InvariantGivesNothing(Right):
    invariants = {"sends-little": lambda machine, i, state: None}


class NamesNoStep(Right):
    def internal(self, i: int, state: Any) -> Any:
        return [Step(state)]


class GivesOneNamedStep(Right):
    def internal(self, i: int, state: Any) -> Any:
        return ("post", Step(state))


NOT_SENT = Message("2→1#7", 1, (0,))

SENDS_STEP = wrong("SendsAStep", **answers("send", lambda i, step: step))
SENDS_NOTHING = wrong("SendsNothing", **answers("send", lambda i, step: None))
SENDS_A_GENERATOR = wrong("SendsAGenerator", **answers("send", lambda i, step: (each for each in [step])))
SENDS_A_STATE = wrong("SendsAState", **answers("arrive", lambda i, step: [step.state]))
SENDS_A_TUPLE = wrong("SendsATuple", **answers("send", lambda i, step: [tuple(step)]))
ONE_PACKET = wrong("GivesOnePacket", **answers("send", lambda i, step: [step._replace(packets=step.packets[0])]))
NO_PACKETS = wrong("GivesNoPackets", **answers("arrive", lambda i, step: [step._replace(packets=None)]))
NOT_PACKETS = wrong("SendsMessages", **answers("send", lambda i, step: [step._replace(packets=[(i, "x")])]))
NO_MESSAGE = wrong(
    "SendsANameAlone",
    **answers("send", lambda i, step: [step._replace(packets=[step.packets[0]._replace(message="x")])]),
)
NO_LIST = wrong("SaysOneEvent", **answers("send", lambda i, step: [step._replace(events=step.events[0])]))
NO_EVENT = wrong("SaysAWord", **answers("arrive", lambda i, step: [step._replace(events=["deliver"])]))
NO_KIND = wrong(
    "SaysDelivered",
    **answers("arrive", lambda i, step: [step._replace(events=[Happened("delivered", step.events[0].message)])]),
)  # type: ignore[arg-type]
NOBODY = wrong(
    "SendsToNobody",
    **answers("send", lambda i, step: [step._replace(packets=[step.packets[0]._replace(destination=3)])]),
)
SEVERAL = wrong(
    "SendsToSeveral",
    **answers("send", lambda i, step: [step._replace(packets=[step.packets[0]._replace(destination=(0, 1))])]),
)
FROM_NOBODY = wrong(
    "SendsFromNobody", **answers("send", lambda i, step: [step._replace(packets=[step.packets[0]._replace(source=-1)])])
)
FROM_ANOTHER = wrong(
    "SendsAsAnother",
    **answers("send", lambda i, step: [step._replace(packets=[step.packets[0]._replace(source=(i + 1) % 3)])]),
)
NEVER_SENT = wrong(
    "DeliversWhatIsNeverSent",
    **answers("arrive", lambda i, step: [step._replace(events=[Happened("deliver", NOT_SENT)])]),
)
A_NAME = wrong(
    "DeliversAName", **answers("arrive", lambda i, step: [step._replace(events=[Happened("deliver", "1→2#1")])])
)  # type: ignore[arg-type]
LISTED = wrong("KeepsAList", **answers("send", lambda i, step: [step._replace(state=[step.state])]))
LISTED_STAMP = wrong(
    "StampsAList", **answers("send", lambda i, step: [step._replace(packets=[step.packets[0]._replace(stamp=[i])])])
)
LISTED_AT_FIRST = wrong("StartsWithAList", initial=lambda self, i: [i])


class Mutates(Right):
    def initial(self, i: int) -> Any:
        return Noted()

    def send(self, i: int, state: Any, message: Message) -> Any:
        state.sent += 1
        return [Step(state)]


class Noted:
    def __init__(self) -> None:
        self.sent = 0

    def __repr__(self) -> str:
        return f"Noted({self.sent})"


ANSWERS = iter([True, False] * 10_000)


class AnswersTwice(Right):
    def accepts(self, i: int, state: Any, packet: Packet) -> Any:
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


class NeverAnswers(Right):
    """Its guard looks for something that is not there."""

    def accepts(self, i: int, state: Any, packet: Packet) -> Any:
        k = 0
        while k not in state.seen:
            k += 1
        return True


# -- what the class says of itself, and how it is made -----------------------------------------------------------------


class PromisesNothing(ProtocolMachine):
    def initial(self, i: int) -> Any:
        return ()

    send = Right.send
    arrive = Right.arrive


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
    def arrive(self, i: int, state: Any, packet: Packet) -> Any:
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


class Row(NamedTuple):
    """A machine, and the whole line that is said of it; lines of this file are all called N."""

    machine: type
    said: str


ROWS: Sequence[Row] = ()
