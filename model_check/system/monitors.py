"""Monitors: the memory that a checker needs to evaluate a run, hidden from the protocol.

A monitor is a deterministic machine that reads the application events of a run and reports violated properties. Its
state, the *monitor state*, is kept beside the global state and never inside: two runs that reach one global state with
different monitor states are both followed. Monitor states are as small as the property allows, so that for a correct
protocol they usually follow from the global state and cost nothing.

`History` remembers everything and decides an order by the procedures of `spec`; the others are tested against it.
"""

from bisect import bisect
from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from crownless.impl.renaming import Renaming
from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation, Message
from crownless.spec.orders import decide

from .copies import Copies

MonitorState = Hashable
#: For each process its events, as (`send` or `receive`, message).
Lines = tuple[tuple[tuple[str, Message], ...], ...]
#: For each process the messages that it has delivered, in order.
Deliveries = tuple[tuple[Message, ...], ...]
#: The observation that undoes an event, in protocols that roll back, and the event.
UNDOES = {"unsend": "send", "undeliver": "receive", "orphan": "receive"}


class Observation(NamedTuple):
    """One observation at a process's application.

    `hand`: it handed a message to the protocol; `send` and `deliver`: the application events. Handing over and
    sending are usually one step, but a protocol may send later (Murty & Garg's commits), even after the delivery. The
    others undo an event (`impl.protocol.AppEvent`).
    """

    kind: Literal["hand", "send", "deliver", "unsend", "undeliver", "orphan"]
    process: int
    message: Message


class Monitor:
    """Base of all monitors; `watches` names the properties it can report as violated."""

    watches: tuple[str, ...]

    def initial(self) -> MonitorState:
        """The monitor state of the empty run."""
        raise NotImplementedError

    def encode(self, observation: Observation) -> Any:
        """The observation encoded for `observe`, once and for all; None if `observe` can skip it."""
        return observation

    def encode_all(self, observations: Iterable[Observation]) -> list[Any]:
        """The observations of one step encoded for `observe`, in order."""
        return [code for code in map(self.encode, observations) if code is not None]

    def observe(self, monitor_state: Any, code: Any) -> tuple[MonitorState, tuple[str, ...]]:
        """The monitor state after an (encoded) observation, and the properties that it violates."""
        raise NotImplementedError

    def renamed(self, monitor_state: Any, renaming: Renaming) -> MonitorState:
        """The monitor state of the same run with the processes renamed; only for runs of the free workload."""
        raise NotImplementedError


class DeliveryMonitor(Monitor):
    """The events owed to the application: the send event of each submitted message, and its delivery to each receiver.

    A send event must be owed, at the sender; a delivery must be owed; and, unless the protocol may deliver before the
    send event, that event must have happened, on which `FifoAndCausal` relies. Monitor state: the set of owed events,
    as bits; a send is like a copy to receiver -1.
    """

    watches = ("delivers-once",)

    def __init__(self, *, sends_before_delivery: bool = False) -> None:
        self.copies = Copies()
        #: A message to receiver -1 → the message whose send event it stands for.
        self._sends: dict[Message, Message] = {}
        self.sends_before_delivery = sends_before_delivery

    def initial(self) -> int:
        return 0

    def encode(self, observation: Observation) -> tuple[int, int, bool, int]:
        """(newly owed, no longer owed, whether those must have been owed, events that must no longer be owed)."""
        kind, process, message = observation
        send = self._send(message)
        if kind == "hand":
            return send | self.copies.all_of(message), 0, False, 0
        if kind == "send":
            return 0, send if process == message.sender else 0, True, 0
        if kind == "unsend":
            return 0, send | self.copies.all_of(message), False, 0
        if kind == "undeliver":
            return self.copies.of(message).get(process, 0), 0, False, 0
        if kind == "orphan":
            return 0, 0, False, 0
        return 0, self.copies.of(message).get(process, 0), True, send if self.sends_before_delivery else 0

    def _send(self, message: Message) -> int:
        """The bit of its send event."""
        sign = message._replace(receivers=(-1,))
        self._sends[sign] = message
        return self.copies.all_of(sign)

    def encode_all(self, observations: Iterable[Observation]) -> list[Any]:
        """Encodes handing over and sending in one step, the common case, as one code; otherwise as usual."""
        codes: list[tuple[int, int, bool, int]] = []
        for observation in observations:
            code = self.encode(observation)
            if codes and codes[-1][0] & code[1] and observation.kind == "send":
                codes[-1] = (codes[-1][0] & ~code[1], 0, False, 0)
            else:
                codes.append(code)
        return codes

    def observe(self, monitor_state: int, code: tuple[int, int, bool, int]) -> tuple[MonitorState, tuple[str, ...]]:
        handed, happened, must_be_owed, too_early = code
        if must_be_owed and (not monitor_state & happened or monitor_state & too_early):
            return monitor_state & ~happened, ("delivers-once",)
        return monitor_state & ~happened | handed, ()

    def renamed(self, monitor_state: int, renaming: Renaming) -> int:
        after = 0
        for message, receiver in self.copies.members(monitor_state):
            if receiver == -1:
                after |= self._send(renaming.message(self._sends[message]))
            else:
                after |= self.copies.of(renaming.message(message))[renaming.image[receiver]]
        return after

    def undelivered(self, monitor_state: int) -> list[tuple[Message, int]]:
        """The pairs (message, receiver) handed over and not delivered."""
        return [copy for copy in self.copies.members(monitor_state) if copy[1] != -1]

    def unsent(self, monitor_state: int) -> list[Message]:
        """The messages handed over whose send event has not happened."""
        return [message for message, receiver in self.copies.members(monitor_state) if receiver == -1]


class FifoAndCausal(Monitor):
    """FIFO and causal order, for protocols that deliver no message before its send event.

    A delivery to q breaks causal order iff an undelivered message to q is in the causal past of the message's send, and
    FIFO iff one from the same sender is. So only the undelivered part of each past need be remembered.

    Monitor state, a flat tuple of sets of copies as bits: the undelivered copies; for each process, those in its causal
    past; the messages with undelivered copies, each as all its copies, in order; and for each of these, in the same
    order, the undelivered copies in the causal past of its send.

    `at`: the processes whose deliveries are judged; None: all.
    """

    watches = ("fifo", "causal")

    def __init__(self, n: int, at: frozenset[int] | None = None) -> None:
        self.n = n
        self.copies = Copies()
        self.at = frozenset(range(n)) if at is None else at

    def initial(self) -> tuple[int, ...]:
        return (0,) * (1 + self.n)

    def encode(self, observation: Observation) -> tuple[int, int, int, int] | None:
        """(process, sender, all copies of the message, the copy delivered or 0 for a send)."""
        kind, process, message = observation
        if kind == "hand":
            return None
        copies = self.copies.of(message)
        if kind == "deliver" and process not in copies:
            return None  # not for this process: `DeliveryMonitor` reports it
        return process, message.sender, sum(copies.values()), copies[process] if kind == "deliver" else 0

    def observe(
        self, monitor_state: tuple[int, ...], code: tuple[int, int, int, int]
    ) -> tuple[MonitorState, tuple[str, ...]]:
        process, sender, copies, copy = code
        start = 1 + self.n
        open_messages = (len(monitor_state) - start) // 2
        messages, pasts = monitor_state[start : start + open_messages], monitor_state[start + open_messages :]
        if not copy:
            known = list(monitor_state[:start])
            past = known[1 + process]
            known[0] |= copies
            known[1 + process] |= copies
            place = bisect(messages, copies)
            messages = (*messages[:place], copies, *messages[place:])
            return (*known, *messages, *pasts[:place], past, *pasts[place:]), ()
        if not monitor_state[0] & copy:
            return monitor_state, ()  # `DeliveryMonitor` reports second deliveries
        place = messages.index(copies)
        past = pasts[place]
        overtaken = past & self.copies.to_receiver[process]
        violated: tuple[str, ...] = ()
        if overtaken and process in self.at:
            violated = ("fifo", "causal") if overtaken & self.copies.from_sender[sender] else ("causal",)
        undelivered = monitor_state[0] ^ copy
        known = [some & undelivered for some in monitor_state[:start]]
        known[1 + process] |= (past | copies) & undelivered
        if not copies & undelivered:
            messages = messages[:place] + messages[place + 1 :]
            pasts = pasts[:place] + pasts[place + 1 :]
        return (*known, *messages, *[some & undelivered for some in pasts]), violated

    def renamed(self, monitor_state: tuple[int, ...], renaming: Renaming) -> MonitorState:
        undelivered, *rest = [self.copies.renamed(some, renaming) for some in monitor_state]
        known, open_messages = rest[: self.n], rest[self.n :]
        half = len(open_messages) // 2
        # In order of the messages, by the numbers of their copies.
        in_order = sorted(zip(open_messages[:half], open_messages[half:], strict=True))
        messages, pasts = [message for message, _ in in_order], [past for _, past in in_order]
        return (undelivered, *renaming.vector(known), *messages, *pasts)


class TotalOrder(Monitor):
    """Total order, in the reading `pending`: what a process has yet to deliver comes after all that it has delivered.

    Monitor state: the messages handed over, and the deliveries of each process, in order; both without the first
    messages of the common order, once they are delivered everywhere.
    """

    watches = ("total",)

    def __init__(self, n: int) -> None:
        self.n = n

    def initial(self) -> MonitorState:
        return frozenset(), ((),) * self.n

    def encode(self, observation: Observation) -> Observation | None:
        return observation if observation.kind in ("hand", "deliver") else None

    def observe(self, monitor_state: Any, code: Observation) -> tuple[MonitorState, tuple[str, ...]]:
        kind, process, message = code
        known, lines = monitor_state
        if kind == "hand":
            return (known | {message}, lines), ()
        if message not in known or process not in message.receivers or message in lines[process]:
            return monitor_state, ()  # `DeliveryMonitor` reports it
        lines = (*lines[:process], (*lines[process], message), *lines[process + 1 :])
        while (first := _first_of_all(lines, pending=False)) is not None:
            known, lines = known - {first}, _without(first, lines)
        left = lines
        while (first := _first_of_all(left, pending=True)) is not None:
            left = _without(first, left)
        return (known, lines), ("total",) if any(left) else ()

    def renamed(self, monitor_state: Any, renaming: Renaming) -> MonitorState:
        known, lines = monitor_state
        return renaming.messages(known), tuple(renaming.vector([renaming.messages(line) for line in lines]))


def _first_of_all(lines: Deliveries, *, pending: bool) -> Message | None:
    """A message that comes next at all its receivers; if `pending`, also where nothing is left: it is yet to come."""
    heads = [line[0] for line in lines if line]
    at = {m: [lines[q][:1] for q in m.receivers] for m in heads}
    return next((m for m in heads if all(head == (m,) or (pending and not head) for head in at[m])), None)


def _without(first: Message, lines: Deliveries) -> Deliveries:
    return tuple(line[1:] if line[:1] == (first,) else line for line in lines)


class History(Monitor):
    """Any order, by remembering the whole computation and deciding it (reading `pending`) at every event.

    While a message is delivered but not yet sent there is no valid computation: it is judged once the send happened.
    """

    def __init__(self, n: int, order: str) -> None:
        self.n = n
        self.order = order
        self.watches = (order,)

    def initial(self) -> Lines:
        return ((),) * self.n

    def encode(self, observation: Observation) -> Observation | None:
        return None if observation.kind == "hand" else observation

    def observe(self, monitor_state: Any, code: Observation) -> tuple[MonitorState, tuple[str, ...]]:
        lines = lines_after(monitor_state, code)
        if lines is None:
            return monitor_state, ()  # `DeliveryMonitor` reports second deliveries
        if code.kind in UNDOES:
            return lines, ()  # the remaining computation is judged at the next event
        return lines, () if keeps(lines, self.order) else (self.order,)

    def renamed(self, monitor_state: Any, renaming: Renaming) -> MonitorState:
        lines = [tuple((kind, renaming.message(message)) for kind, message in line) for line in monitor_state]
        return tuple(renaming.vector(lines))


def lines_after(lines: Lines, observation: Observation) -> Lines | None:
    """The lines with one event added or undone; None if the event has happened before."""
    kind, process, message = observation
    if kind in UNDOES:
        line = tuple(event for event in lines[process] if event != (UNDOES[kind], message))
    else:
        event = ("send" if kind == "send" else "receive", message)
        if event in lines[process]:
            return None
        line = (*lines[process], event)
    return (*lines[:process], line, *lines[process + 1 :])


@lru_cache(maxsize=1 << 18)
def keeps(lines: Lines, order: str) -> bool:
    """True if this computation in progress can still keep the order.

    While a delivered message is unsent there is no computation to judge, and the result is true. A cycle of lines and
    messages is not a computation and keeps no order.
    """
    messages = {message for line in lines for _, message in line}
    sent = {message for line in lines for kind, message in line if kind == "send"}
    if len(sent) < len(messages):
        return True
    try:
        computation = Computation.of_message_lines(lines)
    except BadInput:
        return False
    return decide(computation, order, "pending").kept
