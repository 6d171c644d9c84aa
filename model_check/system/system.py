"""A protocol, a workload and a channel, composed into one transition system, with monitors beside it.

A global state is ``(local state of each process …, flight, position of the workload)``, all interned to small
integers but for the flight, which is a tuple of packet numbers. Local transitions are tabulated as they are first
needed: the protocol's Python runs once per *local* state and input, and the global search is lookups ("interned local
machines"). Properties of local states are likewise evaluated once per local state.

The actions of a global state:

- `send`: an application hands a message to its protocol (and, for most protocols, sends it);
- `deliver`: a packet is received, which delivers its message; or the application takes one from its protocol's buffer;
- `receive …`: any other packet is received. Over a FIFO channel also: a packet that is not deliverable yet goes to the
  hold-back queue;
- the protocol's own internal steps, by their names, and `lose` and `duplicate` of a faulty channel;
- if a process may crash: `crash`, after which it takes no more steps, and `lose` of any of its packets in flight, as
  if it had died before a retransmission; and `agree`, if the protocol lets the survivors confer: their agreement
  reaches each of them before anything else happens.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from crownless.impl.channels import Channel, Flight, Place
from crownless.impl.protocol import COPIES, Packet, ProtocolMachine, Step, Transition, name_of_arrival
from crownless.impl.workloads import Workload
from crownless.spec.computation import Message

from .machine_calls import MachineCalls
from .monitors import DeliveryMonitor, Monitor, Observation
from .rules import Exercised
from .values import Interner

#: Local state numbers, then the flight, then the position number.
State = tuple[Any, ...]
#: One monitor state per monitor.
MonitorState = tuple[Any, ...]


class Action(NamedTuple):
    """An action: one step of a run, and its message or packet.

    `process` is where it happens (for a fault of the channel: the packet's destination, and `by_channel` is true).
    """

    process: int
    name: str
    message: Message | None
    packet: Packet | None
    by_channel: bool = False


class Crashed:
    """The local state of a process that has crashed: equal to no state of a protocol, which may be any tuple."""


CRASHED = Crashed()

#: The kind of packet by which a survivor learns the agreement.
AGREED = "agreed"


class LocalStep(NamedTuple):
    """A tabulated outcome of one input at one process."""

    action: Action
    local: int
    packets: tuple[int, ...] = ()
    observations: tuple[Observation, ...] = ()
    delivered: tuple[Message, ...] = ()
    #: The observations of the monitors: (number of the monitor, its `observe`, encoded observation), in order.
    codes: tuple[tuple[int, Callable[[Any, Any], tuple[Any, tuple[str, ...]]], Any], ...] = ()
    #: The rules that it is the first step to exercise.
    exercises: tuple[str, ...] = ()
    #: The messages that it transmits, also where no room is left for their packets, or delivers.
    messages: frozenset[Message] = frozenset()
    #: Where the packet of its action was before; with it, the packet's content tells which of those in flight it is.
    place: Place = "link"
    #: Its number among the different outcomes of its action, from 1, in the machine's order; 0 if there is only one.
    outcome: int = 0

    @property
    def hands_over(self) -> bool:
        """True if the application submits a message in this step."""
        return bool(self.observations) and self.observations[0].kind == "hand"


#: One enabled action of a global state, and its successor. A plain tuple: a search makes millions of them.
Move = tuple[LocalStep, State]


class System:
    """The transition system; states are opaque tuples, read through its methods."""

    def __init__(
        self,
        machine: ProtocolMachine,
        workload: Workload,
        channel: type[Channel],
        monitors: Sequence[Monitor],
        may_crash: int | None = None,
    ) -> None:
        self.machine = machine
        self.calls = MachineCalls(machine, workload.has, in_order=channel.keeps_order)
        self.workload = workload
        self.monitors = tuple(monitors)
        self.n = machine.n
        self._locals = Interner()
        self._packets = Interner()
        self._destinations: list[int] = []
        self._positions = Interner()
        self.channel = channel(self._link)
        self._faulty = channel.faults is not Channel.faults
        #: The most equal packets in flight; None: any number, since nothing is retransmitted.
        self._most_copies = machine.setting(COPIES) if machine.timers else None
        self._app_selects = not workload.takes_anything
        self.may_crash = may_crash
        self._crashed = self._locals.number(CRASHED)
        self._agreed: set[int] = set()
        #: The processes known to accept a send, in some state.
        self.senders: set[int] = set()
        #: The rules exercised so far.
        self.exercised = Exercised(self.calls)
        base, own = ProtocolMachine, type(machine)
        takes_own_steps = own.internal is not base.internal or own.receive is not base.receive
        self._with_own_steps = range(self.n if takes_own_steps else 0)
        self._messages = Interner()
        # The tables of local transitions, each entry made when it is first needed.
        self._pending_sends_at = cache(self._made_pending_sends)
        self._accepting = cache(self._made_accepting)
        self._send = cache(self._made_send)
        self._arrive = cache(self._made_arrival)
        self._arrive_from = cache(self._made_arrival_from)
        self._own_steps_when = cache(self._made_own_steps)
        self._of_channel = cache(self._made_step_of_channel)

    # -- states and moves ----------------------------------------------------------------------------------------------

    def initial(self) -> State:
        """The initial state of every machine, nothing in flight, nothing yet done."""
        states = (self._number_of_local(i, self.calls.initial(i)) for i in range(self.n))
        return (*states, self.channel.empty(), self._positions.number(self.workload.start()))

    def moves(self, state: State) -> list[Move]:
        """Every enabled action of a state, one move for each of its outcomes, in a fixed order."""
        n = self.n
        flight, position = state[n], state[n + 1]
        moves: list[Move] = []
        crashed = self.may_crash is not None and state[self.may_crash] == self._crashed
        if crashed and self._agreed:
            self._learn(moves, state)
            if moves:
                return moves
        for process, message, after in self._pending_sends_at(position):
            for step in self._send(process, state[process], message):
                self._add(moves, state, process, step, flight, after)
        for process in self._with_own_steps:
            for step in self._own_steps(process, state[process], position):
                self._add(moves, state, process, step, flight, position)
        for packet, taken, waiting, behind, place in self.channel.arrivals(flight):
            process = self._destinations[packet]
            steps = self._arrive_from(place, state[process], packet)
            taken_in = False
            if steps is not None and not (behind and self._accepts_any(state[process], behind)):
                for step in steps:
                    taken_in |= self._add(moves, state, process, step, taken, position)
            if waiting is not None and not taken_in:
                moves.append((self._of_channel("receive", packet, place), (*state[:n], waiting, position)))
        if crashed:
            self._agree(moves, state)
        if self._faulty:
            moves += self.faults(state)
        if self.may_crash is not None:
            self._crash(moves, state, self.may_crash, crashed)
        return moves

    def faults(self, state: State) -> list[Move]:
        """The moves that are faults of the channel."""
        *local, flight, position = state
        faults = self.channel.faults(flight)
        return [
            (self._of_channel(name, packet, place), (*local, after, position)) for name, packet, after, place in faults
        ]

    def move(
        self, state: State, action: Action, outcome: Step, flight: Flight, position: Any, place: Place = "link"
    ) -> Move:
        """The move for an outcome of one input, for callers that give inputs to the machine themselves. `flight` and
        `position` are given without what the action consumes; `place` is that of the packet it consumes.
        """
        handed = []
        if action.name == "send" and action.message is not None:
            handed.append(Observation("hand", action.process, action.message))
        (step,) = self._tabulate(action.process, state[action.process], [(action, outcome)], handed)
        moves: list[Move] = []
        step = step._replace(place=place)
        self._add(moves, state, action.process, step, flight, self._positions.number(position))
        return moves[0]

    def _crash(self, moves: list[Move], state: State, process: int, crashed: bool) -> None:
        """The crash itself, or the losses of packets that it causes."""
        n = self.n
        if not crashed:
            step = LocalStep(Action(process, "crash", None, None, by_channel=True), -1)
            moves.append((step, (*state[:process], self._crashed, *state[process + 1 :])))
            return
        for packet, flight, place in self.channel.losses(state[n]):
            if self._packets.values[packet].source == process:
                moves.append((self._of_channel("lose", packet, place), (*state[:n], flight, state[n + 1])))

    def _agree(self, moves: list[Move], state: State) -> None:
        """The move in which survivors confer, if the protocol lets them and they see a reason to."""
        if type(self.machine).agree is ProtocolMachine.agree or self.may_crash is None:
            return
        survivors = {i: self._locals.values[state[i]] for i in range(self.n) if i != self.may_crash}
        agreed = self.calls.agree(survivors, self.may_crash)
        if agreed is None:
            return
        packets = tuple(self.number_of_packet(Packet(i, i, AGREED, None, agreed)) for i in survivors)
        self._agreed.update(packets)
        step = LocalStep(Action(min(survivors), "agree", None, None), -1, packets)
        moves.append((step, (*state[: self.n], self.channel.put(state[self.n], packets), state[self.n + 1])))

    def _learn(self, moves: list[Move], state: State) -> None:
        """The moves by which survivors learn the agreement, one after the other."""
        flight, position = state[self.n], state[self.n + 1]
        for packet, taken, _, _, place in self.channel.arrivals(flight):
            if packet in self._agreed:
                process = self._destinations[packet]
                for step in self._arrive_from(place, state[process], packet) or ():
                    self._add(moves, state, process, step, taken, position)
                return

    def _add(
        self, moves: list[Move], state: State, process: int, step: LocalStep, flight: Flight, position: int
    ) -> bool:
        """Adds the move for this step, unless it delivers a message that the application does not want now, or is a
        timer whose packets find no room.
        """
        if step.delivered and self._app_selects:
            then = self._accepting(position, process, step.delivered)
            if then is None:
                return False
            position = then
        if self._most_copies is not None and step.packets:
            packets = self._with_room(flight, step.packets, self._most_copies)
            if len(packets) < len(step.packets) and step.action.name in self.machine.timers:
                return False
            step = step._replace(packets=packets)
        if step.exercises:
            self.exercised.reached.update(step.exercises)
        if step.packets:
            flight = self.channel.put(flight, step.packets)
        moves.append((step, (*state[:process], step.local, *state[process + 1 : self.n], flight, position)))
        return True

    def _with_room(self, flight: Flight, packets: tuple[int, ...], most: int) -> tuple[int, ...]:
        """The packets with fewer than `most` equal ones in flight; the others are lost at once."""
        in_flight = Counter(packet for packet, _ in self.channel.contents(flight))
        found_room = []
        for packet in packets:
            if in_flight[packet] < most:
                in_flight[packet] += 1
                found_room.append(packet)
        return tuple(found_room)

    def may_end(self, moves: Sequence[Move]) -> bool:
        """True if a run may end in a state with these moves: all are faults of the channel or optional sends."""
        # Sends come first in the list and faults last, so that the last move usually decides.
        return all(self._optional(step) for step, _ in moves) if not moves or self._optional(moves[-1][0]) else False

    def _optional(self, step: LocalStep) -> bool:
        return step.action.by_channel or (self.workload.takes_anything and step.hands_over)

    @property
    def judged_senders(self) -> set[int]:
        """The processes that must not be blocked: those known to send in some state, or all if none is."""
        return self.senders or set(range(self.n))

    def blocked(self, state: State, moves: Sequence[Move]) -> set[int]:
        """In the free workload the processes that may send more, and whose protocol accepts no message now."""
        if not self.workload.takes_anything:
            return set()
        crashed = self.crashed(state)
        pending = {process for process, *_ in self._pending_sends_at(state[self.n + 1]) if process != crashed}
        return pending.difference(step.action.process for step, _ in moves if step.hands_over)

    def crashed(self, state: State) -> int | None:
        """The crashed process, if there is one."""
        return self.may_crash if self.may_crash is not None and state[self.may_crash] == self._crashed else None

    def finished(self, state: State) -> bool:
        """True if every application has done all that it wanted; a crashed one wants nothing more."""
        return self.workload.finished(self.position(state), self.crashed(state))

    def position(self, state: State) -> Any:
        """The position of the workload."""
        return self._positions.values[state[self.n + 1]]

    def local_states(self, state: State) -> list[Any]:
        """The protocol's own state at each process."""
        return [self._locals.values[number] for number in state[: self.n]]

    def local_state(self, number: int) -> Any:
        """The local state of that number, as used in global states."""
        return self._locals.values[number]

    def state_after(self, step: LocalStep) -> Any:
        """The local state of the process after its step; None if the action is not a step of a process."""
        return None if step.local < 0 or step.action.by_channel else self._locals.values[step.local]

    def in_flight(self, state: State) -> list[Packet]:
        """The packets in flight or in a hold-back queue, one entry for each way in which it can arrive."""
        return [self._packets.values[packet] for packet, *_ in self.channel.arrivals(state[self.n])]

    def flight(self, state: State) -> list[tuple[Packet, bool]]:
        """Every packet in flight, in order for each link; and whether it is in the hold-back queue, or a copy."""
        return [(self._packets.values[packet], mark) for packet, mark in self.channel.contents(state[self.n])]

    def refused(self, state: State) -> list[Packet]:
        """Packets that could reach their destination and are not deliverable yet."""
        packets = []
        for number, *_ in self.channel.arrivals(state[self.n]):
            packet = self._packets.values[number]
            if self._arrive(state[packet.destination], number) is None:
                packets.append(packet)
        return packets

    # -- monitor states ------------------------------------------------------------------------------------------------

    def initial_monitor_state(self) -> MonitorState:
        return tuple(monitor.initial() for monitor in self.monitors)

    def evaluate(self, monitor_state: MonitorState, step: LocalStep) -> tuple[MonitorState, tuple[str, ...]]:
        """The monitor state after the events of a step, and the properties that it violated."""
        if not step.codes:
            return monitor_state, ()
        violated: tuple[str, ...] = ()
        after = list(monitor_state)
        for k, observe, code in step.codes:
            after[k], names = observe(after[k], code)
            if names:
                violated += names
        return tuple(after), violated

    def undelivered(self, monitor_state: MonitorState, state: State | None = None) -> list[tuple[Message, int]]:
        """The pairs (message, receiver) handed to the protocol and not delivered.

        Given the state at the end of a run: only deliveries that are owed. Those from or to a crashed process are not,
        nor those that a completed application never requested.
        """
        copies = self._deliveries.undelivered(monitor_state[0])
        if state is None:
            return copies
        crashed, position = self.crashed(state), self.position(state)
        return [
            (message, q)
            for message, q in copies
            if crashed not in (message.sender, q) and self.workload.ready_to_receive(position, q)
        ]

    def unsent(self, monitor_state: MonitorState, crashed: int | None = None) -> list[str]:
        """The names of the messages handed to the protocol whose send event has not happened, likewise."""
        return [message.name for message in self._deliveries.unsent(monitor_state[0]) if message.sender != crashed]

    @property
    def _deliveries(self) -> DeliveryMonitor:
        deliveries = self.monitors[0]
        assert isinstance(deliveries, DeliveryMonitor), "the first monitor is that of deliveries"
        return deliveries

    def transmitted(self, step: LocalStep) -> list[Packet]:
        """The packets that a step puts on the channel."""
        return [self._packets.values[packet] for packet in step.packets]

    def number_of_packet(self, packet: Packet) -> int:
        """The number of a packet in flights: the same for equal packets."""
        number = self._packets.number(packet, self.calls.key_of_packet(packet))
        if number == len(self._destinations):
            self._destinations.append(packet.destination)
        return number

    # -- tables of local transitions -----------------------------------------------------------------------------------

    def _number_of_local(self, process: int, state: Any) -> int:
        return self._locals.number(state, (process, self.calls.key(state)))

    def _link(self, packet: int) -> int:
        source, destination, *_ = self._packets.values[packet]
        return int(source * self.n + destination)

    def _made_pending_sends(self, position: int) -> tuple[tuple[int, int, int], ...]:
        """(process, message number, position afterwards) for every message that may be handed over."""
        return tuple(
            (pending.process, self._messages.number(pending.message), self._positions.number(pending.after))
            for pending in self.workload.pending_sends(self._positions.values[position])
        )

    def _made_accepting(self, position: int, process: int, delivered: tuple[Message, ...]) -> int | None:
        """The position once the application has taken these deliveries; None if it does not want them now."""
        value = self._positions.values[position]
        for message in delivered:
            value = self.workload.delivered(value, process, message)
            if value is None:
                return None
        return self._positions.number(value)

    def _made_send(self, process: int, local: int, number: int) -> tuple[LocalStep, ...]:
        if local == self._crashed:
            return ()
        message: Message = self._messages.values[number]
        state = self._locals.values[local]
        action = Action(process, "send", message, None)
        outcomes = [(action, step) for step in self.calls.send(process, state, message)]
        if outcomes:
            self.senders.add(process)
        else:
            self.exercised.add(Transition(process, state, "send", message))
        return self._tabulate(process, local, outcomes, [Observation("hand", process, message)])

    def _made_arrival(self, local: int, packet: int) -> tuple[LocalStep, ...] | None:
        """The outcomes of receiving the packet; None if it is not deliverable yet."""
        if local == self._crashed:
            return ()
        value: Packet = self._packets.values[packet]
        process, state = value.destination, self._locals.values[local]
        accepted = self.calls.deliverable(process, state, value)
        self.exercised.guard(process, state, value, accepted=accepted)
        if not accepted:
            return None
        outcomes = self.calls.on_packet(process, state, value)
        return self._tabulate(process, local, ((action_of_arrival(process, value, step), step) for step in outcomes))

    def _made_arrival_from(self, place: Place, local: int, packet: int) -> tuple[LocalStep, ...] | None:
        """The same outcomes, with the place where the packet was."""
        steps = self._arrive(local, packet)
        return steps if steps is None or place == "link" else tuple(step._replace(place=place) for step in steps)

    def _accepts_any(self, local: int, packets: Iterable[int]) -> bool:
        return any(self._arrive(local, packet) is not None for packet in packets)

    def _own_steps(self, process: int, local: int, position: int) -> tuple[LocalStep, ...]:
        """Internal steps, and steps in which the application takes a message from its protocol's buffer."""
        if local == self._crashed:
            return ()
        value = self._positions.values[position]
        ready_to_receive = self.workload.ready_to_receive(value, process)
        sender = self.workload.wanted_sender(value, process) if ready_to_receive else None
        return self._own_steps_when(process, local, ready_to_receive, sender)

    def _made_own_steps(
        self, process: int, local: int, ready_to_receive: bool, sender: int | None
    ) -> tuple[LocalStep, ...]:
        state = self._locals.values[local]
        internal = self.calls.internal_that_ends(process, state)
        outcomes = [(Action(process, name, None, None), step) for name, step in internal]
        if ready_to_receive:
            received = self.calls.receive(process, state, sender)
            if not received:
                self.exercised.add(Transition(process, state, "deliver"))
            for step in received:
                message = next((event.message for event in step.events if event.kind == "deliver"), None)
                outcomes.append((Action(process, "deliver", message, None), step))
        return self._tabulate(process, local, outcomes)

    def _tabulate(
        self, process: int, local: int, outcomes: Iterable[tuple[Action, Step]], before: Sequence[Observation] = ()
    ) -> tuple[LocalStep, ...]:
        steps = []
        for action, step in outcomes:
            delivered = tuple(event.message for event in step.events if event.kind == "deliver")
            transition = Transition(
                process, self._locals.values[local], action.name, action.message, action.packet, step
            )
            observations = (*before, *(Observation(event.kind, process, event.message) for event in step.events))
            steps.append(
                LocalStep(
                    action,
                    self._number_of_local(process, step.state),
                    tuple(self.number_of_packet(packet) for packet in step.packets),
                    observations,
                    delivered,
                    self._encode(observations),
                    tuple(self.exercised.by(transition)),
                    frozenset(packet.message for packet in step.packets if packet.message is not None).union(delivered),
                )
            )
        return _with_outcomes(steps)

    def _encode(
        self, observations: Sequence[Observation]
    ) -> tuple[tuple[int, Callable[[Any, Any], tuple[Any, tuple[str, ...]]], Any], ...]:
        return tuple(
            (k, monitor.observe, code)
            for k, monitor in enumerate(self.monitors)
            for code in monitor.encode_all(observations)
        )

    def _made_step_of_channel(self, name: str, packet: int, place: Place) -> LocalStep:
        """A fault of the channel; or, over a FIFO channel, `receive`: the packet goes to the hold-back queue."""
        value: Packet = self._packets.values[packet]
        action = Action(value.destination, name, value.message, value, by_channel=name != "receive")
        return LocalStep(action, -1, place=place)


def _with_outcomes(steps: Sequence[LocalStep]) -> tuple[LocalStep, ...]:
    """The outcomes of one input, each with its number among those of its action, if there are several."""
    outcomes: defaultdict[Hashable, dict[Hashable, int]] = defaultdict(dict)
    numbers = []
    for step in steps:  # the process and the packet are the same for all
        of_action = outcomes[step.action.name, step.action.message]
        numbers.append(of_action.setdefault((step.local, step.packets, step.observations), len(of_action) + 1))
    several = [len(outcomes[step.action.name, step.action.message]) > 1 for step in steps]
    return tuple(
        step._replace(outcome=number) if one_of_several else step
        for step, number, one_of_several in zip(steps, numbers, several, strict=True)
    )


def action_of_arrival(process: int, packet: Packet, step: Step) -> Action:
    """The action that receives a packet: `deliver`, if that delivers its message."""
    delivers = any(event == ("deliver", packet.message) for event in step.events)
    return Action(process, "deliver" if delivers else name_of_arrival(packet), packet.message, packet)
