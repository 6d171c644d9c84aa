"""The cost of a protocol: its machine, run under a clock.

A discrete-event simulation of the machines in `impl/`: an agenda of timed events, a channel with latency, and
applications that hand over messages at random times (`traffic.py`). The unit of time is the mean latency of the
channel. A simulation is a pure function of its `Experiment`, the seed included.

The order of events. Events due at the same time happen in the order in which they were put on the agenda. After each
event a process acts, without time passing, until it can do no more; each time it does the first possible of these:

1. receives the packet that has waited longest among those that its protocol accepts;
2. takes its protocol's own steps (a buffer posts);
3. requests a message from its protocol, if its application is ready;
4. submits its application's oldest waiting message, if the protocol takes it (a blocked sender does not).

If a step has several outcomes one is drawn, uniformly. An application is ready for a delivery at any time. Over a FIFO
channel a packet arrives no sooner than those before it on its link. A process's packets leave one after the other, if
its line has a `bandwidth`.

The random numbers of the applications, of the messages' latencies and of all other packets' latencies are independent.
So protocols are compared on the same messages with the same latencies, if traffic is open.

The cost of a packet counts with the message that it is about, whenever it is transmitted: with the message that it
carries; an acknowledgement with the oldest unacknowledged message from there; any other packet (an extra
message) with the message whose send or delivery transmitted it, or else with the one handed over last. So each packet
counts once, and figures per message cover exactly the measured messages.

The monitors of the explorer check each delivery: has the run kept the promised order?
"""

import math
import random
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from statistics import fmean
from typing import Any, NamedTuple

from crownless.impl.protocol import Packet, ProtocolMachine, Step, promised_orders
from crownless.model_check.system.machine_calls import MAX_INTERNAL, MachineCalls, without_end
from crownless.model_check.system.monitors import Observation
from crownless.model_check.system.properties import monitors_of
from crownless.runtime.ending import look
from crownless.spec.computation import Message

from .encoding import HEADER, size_of
from .experiment import Experiment, machine_for
from .latencies import latency_named
from .traffic import Applications, Intent, traffic_named

#: The first messages handed over are not measured, since the system fills; nor the last, since it empties.
WARM_UP, COOL_DOWN = 0.2, 0.1
#: The number of events between two checks whether to end.
EVENTS_A_LOOK = 1_024


class Sent(NamedTuple):
    """Counts of transmitted packets."""

    about: int  #: the number of the message with which it counts
    control: bool  #: beyond the one packet that a message needs to one receiver
    numbers: int
    fixed: int
    varint: int


@dataclass(slots=True)
class Copy:
    """A message on its way to one of its receivers; times in mean latencies."""

    number: int
    handed: float
    latency: float
    transmitted: float | None = None
    arrived: float | None = None
    taken: float | None = None
    delivered: float | None = None


@dataclass(slots=True)
class Waiting:
    """A packet that has reached its destination and is not received yet."""

    packet: Packet
    #: The number of changes of the process when the packet was last tried.
    checked_at: int = -1


@dataclass(frozen=True)
class Measured:
    """The results of a simulation, averages per message and receiver. Times are in mean latencies, of the messages
    between warm-up and cool-down; None where there were none.
    """

    #: From handing over to delivery.
    delay: float | None
    #: The same without the time that the channel itself took over the message's first packet.
    added: float | None
    #: Part of it: before the first packet with the message leaves (a blocked sender, an output buffer, a line in use);
    before: float | None
    #: from its arrival until it is received (the hold-back queue);
    room: float | None
    #: from then to the delivery (an input buffer; a request that goes back).
    after: float | None
    #: From taking a message in to the acknowledgement, for protocols that have them.
    withheld: float | None
    withheld_most: float | None
    #: Packets in addition to the one that a message needs.
    control: float
    #: Numbers in stamps.
    numbers: float
    #: Bytes that the protocol adds: stamps, control packets with their headers, messages that travel again.
    bytes: float
    bytes_varint: float
    #: Deliveries per process in one mean latency.
    throughput: float
    #: `added` in the later half of the messages minus that in the earlier half: far from 0 if the load is too high.
    drift: float | None
    #: Messages never delivered although every packet has arrived: the run is stuck.
    undelivered: int
    #: True if the run kept the promised order and delivered each message once.
    kept: bool


def simulate(experiment: Experiment) -> Measured:
    """Simulates the protocol; raises `BadInput` if it cannot be simulated."""
    return simulate_machine(machine_for(experiment), experiment)


def simulate_machine(machine: ProtocolMachine, experiment: Experiment) -> Measured:
    """The same for any machine, even of an unregistered protocol; the protocol's name is ignored."""
    return Simulation(machine, experiment).run()


class Simulation:
    """One run; see the module docstring."""

    def __init__(self, machine: ProtocolMachine, experiment: Experiment) -> None:
        n, seed = machine.n, experiment.seed
        self.machine = machine
        self.experiment = experiment
        self.n = n
        traffic = traffic_named(experiment.workload)
        as_one = traffic.broadcasts and machine.sends == "broadcast"
        self.applications = Applications(traffic, n, experiment.load, seed, as_one=as_one)
        self.latency = latency_named(experiment.latency).links(n, random.Random(f"{seed} links"))
        self.of_messages = random.Random(f"{seed} messages")
        self.of_others = random.Random(f"{seed} other packets")
        self.choices = random.Random(f"{seed} choices")
        self.fifo = (experiment.channel or machine.needs_channel) == "fifo"
        self.calls = MachineCalls(machine, self._has, in_order=self.fifo)
        orders = promised_orders(type(machine))
        self.promised = {*orders, "delivers-once"}
        self.monitors = monitors_of(machine, orders)
        self.monitor_states: list[Any] = [monitor.initial() for monitor in self.monitors]
        self.kept = True

        self.now = 0.0
        self.events = 0
        self._numbers = count()
        self.agenda: list[tuple[float, int, Callable[[Any], None], Any]] = []
        self.states = [self.calls.initial(i) for i in range(n)]
        self.changes = [0] * n
        self.rooms: list[list[Waiting]] = [[] for _ in range(n)]
        self.handed: list[deque[Message]] = [deque() for _ in range(n)]
        self.line_free = [0.0] * n
        self.last_arrival: dict[tuple[int, int], float] = {}

        total = experiment.messages
        #: The numbers of the messages that are measured.
        self.measured = range(math.floor(WARM_UP * total), math.ceil((1 - COOL_DOWN) * total))
        self.messages = 0
        self.copies: dict[tuple[str, int], Copy] = {}
        self.sent: list[Sent] = []
        #: (process, process that waits) → when messages were received that are not acknowledged yet.
        self.unacknowledged: dict[tuple[int, int], deque[tuple[int, float]]] = {}
        self.withheld: list[tuple[int, float]] = []

    # -- the agenda ----------------------------------------------------------------------------------------------------

    def run(self) -> Measured:
        for intent in self.applications.start():
            self._at(self.now + intent.after, self._hand_over, intent)
        while self.agenda:
            self.now, _, happen, what = heappop(self.agenda)
            if not self.events % EVENTS_A_LOOK:
                look()
            self.events += 1
            happen(what)
        return self._measured()

    def _at(self, time: float, happen: Callable[[Any], None], what: Any) -> None:
        heappush(self.agenda, (time, next(self._numbers), happen, what))

    def _hand_over(self, intent: Intent) -> None:
        """An application has a message, unless there have been enough."""
        if self.messages == self.experiment.messages:
            return
        i = intent.sender
        message = Message(str(self.messages), i, intent.receivers)
        for q in message.receivers:
            latency = self.latency(self.of_messages, i, q)
            self.copies[message.name, q] = Copy(self.messages, self.now, latency)
        self.messages += 1
        self.handed[i].append(message)
        self._observe("hand", i, message)
        for following in self.applications.handed_over(intent):
            self._at(self.now + following.after, self._hand_over, following)
        self._go_on(i)

    def _reach(self, packet: Packet) -> None:
        """A packet reaches its destination."""
        self.rooms[packet.destination].append(Waiting(packet))
        if packet.message is not None and packet.destination in packet.message.receivers:
            self._copy(packet).arrived = self.now
        self._go_on(packet.destination)

    def _has(self, message: Message) -> bool:
        """True if an application has handed over this message."""
        return any((message.name, q) in self.copies for q in message.receivers)

    # -- what a process does -------------------------------------------------------------------------------------------

    def _go_on(self, i: int) -> None:
        while self._take_in(i) or self._own_steps(i) or self._receive(i) or self._submit(i):
            pass

    def _take_in(self, i: int) -> bool:
        for place, waiting in enumerate(self.rooms[i]):
            packet = waiting.packet
            if waiting.checked_at != self.changes[i]:
                waiting.checked_at = self.changes[i]
                if self.calls.deliverable(i, self.states[i], packet):
                    del self.rooms[i][place]
                    self._taken(i, packet)
                    self._apply(i, self._chosen(self.calls.on_packet(i, self.states[i], packet)))
                    return True
        return False

    def _taken(self, i: int, packet: Packet) -> None:
        if packet.message is None:
            return
        copy = self._copy(packet)
        if i in packet.message.receivers:
            copy.taken = self.now
        if packet.kind == "message":
            self.unacknowledged.setdefault((i, packet.source), deque()).append((copy.number, self.now))

    def _own_steps(self, i: int) -> bool:
        """Takes its own steps, one after the other, until a packet can be received or there are no more."""
        first, taken = self.states[i], 0
        while steps := self.calls.internal(i, self.states[i]):
            self._apply(i, self._chosen([step for _, step in steps]))
            taken += 1
            if taken >= MAX_INTERNAL:
                raise without_end(self.machine, i, steps[0][0], first, self.states[i])
            if self._take_in(i):
                break
        return taken > 0

    def _receive(self, i: int) -> bool:
        steps = self.calls.receive(i, self.states[i], None)
        if steps:
            self._apply(i, self._chosen(steps))
        return bool(steps)

    def _submit(self, i: int) -> bool:
        steps = self.calls.send(i, self.states[i], self.handed[i][0]) if self.handed[i] else ()
        if steps:
            self.handed[i].popleft()
            self._apply(i, self._chosen(steps))
        return bool(steps)

    def _chosen(self, steps: Sequence[Step]) -> Step:
        return steps[0] if len(steps) == 1 else self.choices.choice(steps)

    def _apply(self, i: int, step: Step) -> None:
        self.states[i] = step.state
        self.changes[i] += 1
        for event in step.events:
            self._observe(event.kind, i, event.message)
            if event.kind == "deliver":
                self._deliver(i, event.message)
        because = int(step.events[-1].message.name) if step.events else self.messages - 1
        for packet in step.packets:
            self._transmit(packet, because)

    def _deliver(self, i: int, message: Message) -> None:
        copy = self.copies.get((message.name, i))
        if copy is None or copy.delivered is not None:
            return  # not owed: the monitors have reported it
        copy.delivered = self.now
        for intent in self.applications.delivered(message, i):
            self._at(self.now + intent.after, self._hand_over, intent)

    def _transmit(self, packet: Packet, because: int) -> None:
        """`because`: the number of the message that made the process transmit, if the packet itself is about none."""
        i, j = packet.source, packet.destination
        size = size_of(packet, self.n)
        latency, control, payload = None, True, self.experiment.payload
        copy = self._copy(packet) if packet.message is not None else None
        if copy is not None and copy.transmitted is None and j in packet.message.receivers:
            latency, control = copy.latency, False
        if latency is None:
            latency = self.latency(self.of_others, i, j)
        leaves = self.now
        own = HEADER + (payload if copy is not None else 0)
        more = payload * size.carried
        if self.experiment.bandwidth:
            leaves = max(self.now, self.line_free[i]) + (own + size.fixed + more) / self.experiment.bandwidth
            self.line_free[i] = leaves
        arrives = leaves + latency
        if self.fifo:
            arrives = self.last_arrival[i, j] = max(arrives, self.last_arrival.get((i, j), 0.0))
        if copy is not None and not control:
            copy.transmitted, copy.latency = leaves, arrives - leaves
        more += own if control else 0
        about = because if copy is None else copy.number
        if packet.kind == "ack" and self.unacknowledged.get((i, j)):
            about, since = self.unacknowledged[i, j].popleft()
            self.withheld.append((about, self.now - since))
        self.sent.append(Sent(about, control, size.numbers, size.fixed + more, size.varint + more))
        self._at(arrives, self._reach, packet)

    def _copy(self, packet: Packet) -> Copy:
        """The copy that a packet is about, on the way to its receiver, on the way back from it, or, by way of a third
        process, on the way to the first.
        """
        message = packet.message
        assert message is not None
        ends = [process for process in (packet.destination, packet.source) if process in message.receivers]
        return self.copies[message.name, (*ends, *message.receivers)[0]]

    def _observe(self, kind: Any, process: int, message: Message) -> None:
        for k, monitor in enumerate(self.monitors):
            code = monitor.encode(Observation(kind, process, message))
            if code is not None:
                self.monitor_states[k], broken = monitor.observe(self.monitor_states[k], code)
                self.kept &= self.promised.isdisjoint(broken)

    # -- what is measured ----------------------------------------------------------------------------------------------

    def _measured(self) -> Measured:
        measured = self.measured
        counted = [copy for copy in self.copies.values() if copy.number in measured]
        done = [copy for copy in counted if copy.delivered is not None]
        start = min((copy.handed for copy in counted), default=0.0)
        end = max((copy.handed for copy in counted), default=0.0)
        added = [_added(copy) for copy in done]
        half = bisect_left([copy.number for copy in done], (measured.start + measured.stop) // 2)
        withheld = [wait for number, wait in self.withheld if number in measured]
        span = (end - start) * self.n or 1.0
        sent = [each for each in self.sent if each.about in measured]
        share = len(counted) or 1
        delivered = sum(start <= copy.delivered < end for copy in self.copies.values() if copy.delivered is not None)
        return Measured(
            delay=_mean(_or(copy.delivered, 0.0) - copy.handed for copy in done),
            added=_mean(added),
            before=_mean(_or(copy.transmitted, copy.handed) - copy.handed for copy in done),
            room=_mean(_or(copy.taken, 0.0) - copy.arrived for copy in done if copy.arrived is not None),
            after=_mean(_after(copy) for copy in done),
            withheld=_mean(withheld),
            withheld_most=max(withheld, default=None),
            control=sum(each.control for each in sent) / share,
            numbers=sum(each.numbers for each in sent) / share,
            bytes=sum(each.fixed for each in sent) / share,
            bytes_varint=sum(each.varint for each in sent) / share,
            throughput=delivered / span,
            drift=fmean(added[half:]) - fmean(added[:half]) if added[:half] and added[half:] else None,
            undelivered=sum(copy.delivered is None for copy in self.copies.values()),
            kept=self.kept,
        )


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return fmean(known) if known else None


def _added(copy: Copy) -> float:
    """The delay over the channel's own."""
    assert copy.delivered is not None
    return copy.delivered - copy.handed - copy.latency


def _after(copy: Copy) -> float:
    """From receipt to delivery; negative if another packet brought the message before its own."""
    return 0.0 if copy.delivered is None or copy.taken is None else copy.delivered - copy.taken


def _or(time: float | None, otherwise: float) -> float:
    return otherwise if time is None else time
