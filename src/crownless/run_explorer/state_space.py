"""The states and moves of a check as data, for the run explorer: the moves of each state, and what they violate.

A node is a global state with the monitor states beside it, so that each step of a run has one effect on the orders.
Nodes are numbered as they are reached; 0 is the initial one. Everything else is in tables, to which nodes refer by
number.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from crownless.impl.protocol import Packet
from crownless.model_check.search.explorer import live_properties_violated
from crownless.model_check.search.reachable import reachable
from crownless.model_check.system.local_variables import variables_of
from crownless.model_check.system.named_numbers import comparisons
from crownless.model_check.system.properties import (
    DELIVERS_ALL,
    NEVER_BLOCKS,
    NOTHING_DELIVERED,
    OF_DELIVERIES,
    default_orders,
    not_promised,
)
from crownless.model_check.system.request import ResolvedCheck
from crownless.model_check.system.system import LocalStep, MonitorState, State, System
from crownless.oracle.conformance.node_machine import pending_in
from crownless.runtime.ending import Limits, look, stoppable
from crownless.runtime.printable import printable
from crownless.spec.computation import Message
from crownless.spec.orders import ORDERS

#: The numbers of nodes and of moves that fit on a page.
NODES, MOVES = 40_000, 300_000
#: The number of nodes between two reports of progress.
EVERY = 500
#: The number of states in which processes that may send are sought.
SENDERS_AMONG = 2_000
#: A node that is not on the page.
BEYOND = -1


class Table:
    """Values numbered as they come, each as data."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, key: Any, row: Callable[[], Any]) -> int:
        """The number of the value with that key, whose data are `row`."""
        known = self._numbers.get(key)
        if known is None:
            data = row()
            known = self._numbers[key] = len(self.rows)
            self.rows.append(data)
        return known


class Names(NamedTuple):
    """The page's names of processes, and of messages that a program names; and the scope in words. `undecided`: why a
    log shows of no run that it keeps a property. `uncertain`: the orders that are violated only by an order of events
    that the log does not show; the page shows no violation of these.
    """

    processes: Sequence[str]
    messages: Mapping[str, str]
    scope: str
    undecided: Callable[[str], str | None] = lambda name: None
    uncertain: Collection[str] = ()


class StateSpace:
    """A part of the states and moves of a check. The page reads `as_data`. `names`: by default those of the check's
    workload. `requested`: the orders that a user names, which count as promised.
    `unpromised`: the properties that are not promised, by default as the class of the protocol says. `undecided`: why
    it is unknown whether all runs keep a property, although none of those searched so far violates it.
    """

    def __init__(
        self,
        check: ResolvedCheck,
        names: Names | None = None,
        requested: Sequence[str] = (),
        *,
        unpromised: Collection[str] | None = None,
        undecided: Callable[[str], str | None] | None = None,
    ) -> None:
        self.check = check
        self.requested = requested
        self._unpromised = unpromised
        #: False for nodes and computations: there is no protocol class to check.
        self.is_of_a_protocol = names is None and type(check.machine).shows_variables
        scope = "; ".join(filter(None, (*check.bounds, check.machine.not_tried)))
        self.names = names or Names(check.workload.processes, {}, scope)
        self._undecided = undecided or self.names.undecided
        self._is_recorded = names is not None
        self.system: System = check.system()
        shown = (DELIVERS_ALL.name, *([] if names else [NEVER_BLOCKS.name]))
        self.properties = [known for known in check.properties if known.kind == "always" or known.name in shown]
        #: The places of the properties whose violations are shown.
        self._place = {
            known.name: k for k, known in enumerate(self.properties) if known.name not in self.names.uncertain
        }
        self._tables = {name: Table() for name in ("effects", "messages", "packets", "steps", "locals")}
        self._effect(())
        self._guards: dict[str, list[str]] = {}
        self._pending: dict[str, str] = {}
        self._keys: list[tuple[Any, ...]] = []  # of each step, by which moves are sorted
        self._nodes: list[tuple[State, MonitorState]] = []
        self._numbers: dict[tuple[State, MonitorState], int] = {}
        self._node(self.system.initial(), self.system.initial_monitor_state())
        if NEVER_BLOCKS.name in self._place:
            self._learn_senders()

    def _learn_senders(self) -> None:
        """Finds the processes that send in one of the nearest states: others are not blocked at the end of a run."""
        for number, _ in enumerate(reachable(self.system)):
            if len(self.system.senders) == self.system.n or number == SENDERS_AMONG:
                return

    def as_data(
        self,
        nodes: int = NODES,
        limits: Limits | None = None,
        progress: Callable[[int], None] | None = None,
        *,
        start: Sequence[int] = (),
        serves_more: bool = False,
    ) -> dict[str, Any]:
        """The tables, and this many nodes: the nearest to the start, and those of the run of the choices `start`.

        For each node: its moves, each as three numbers (a step, the node after it, and the set of properties that it
        violates, in the table `effects`); and, if a run may end there, the properties violated by ending. `states`: the
        number of global states of the nodes. `stopped`: why there are fewer nodes, if a limit or a signal ended the
        search. `serves_more`: moves may lead to absent nodes, which `more` has. `undecided`: by property why it is
        unknown although no run violates it; `undecided_in_run`: the same of each single run; `pending`: by local state
        the timer, thread or task that the node has pending there.
        """
        check = self.check
        moves: list[list[int]] = []
        ends: dict[str, int] = {}
        #: The places of the nodes on the page.
        places: dict[int, int] = {}

        def add(node: int) -> int:
            flat, violated = self.moves(node)
            if violated:
                ends[str(len(moves))] = violated
            places[node] = len(moves)
            moves.append(flat)
            return len(flat) // 3

        with stoppable(limits) as part:
            in_all = 0
            while len(moves) < min(len(self._nodes), nodes) and in_all < MOVES:
                look()
                in_all += add(len(moves))
                if progress is not None and not len(moves) % EVERY:
                    progress(len(moves))
        for node in () if serves_more else self.nodes_of(start):
            if node not in places:
                add(node)
        beyond = len(self._nodes) > len(moves)
        if beyond and not serves_more:
            moves = [[places.get(x, BEYOND) if k % 3 == 1 else x for k, x in enumerate(flat)] for flat in moves]
        initial = self._nodes[0][0]
        return {
            "protocol": printable(check.protocol),
            "check": check.json() if self.is_of_a_protocol else None,
            "promised": self.promised,
            "scope": printable(self.names.scope),
            "channel": check.channel_name,
            "keeps_order": self.system.channel.keeps_order,
            "processes": [printable(name) for name in self.names.processes],
            "states": len({self._nodes[node][0] for node in places}),
            "properties": [[printable(known.name), printable(known.meaning)] for known in self.properties],
            "initial": [self._local(p, initial[p]) for p in range(self.system.n)],
            "moves": moves,
            "ends": ends,
            "beyond": beyond,
            "stopped": part.reason,
            **{name: table.rows for name, table in self._tables.items()},
            "guards": self._guards,
            "pending": self._pending,
            "undecided": self._reasons(self.undecided),
            "undecided_in_run": self._reasons(self.names.undecided),
        }

    def more(self, node: int, known: Mapping[str, int]) -> dict[str, Any]:
        """The moves of one more node, the properties violated by a run that ends there, and the rows of each table
        after the known ones. Raises `IndexError` if there is no such node.
        """
        if not 0 <= node < len(self._nodes):
            raise IndexError(node)
        moves, ends = self.moves(node)
        further = {name: table.rows[max(known.get(name, 0), 0) :] for name, table in self._tables.items()}
        by_name: dict[str, dict[str, Any]] = {"guards": self._guards, "pending": self._pending}
        added = {name: dict(list(rows.items())[max(known.get(name, 0), 0) :]) for name, rows in by_name.items()}
        return {"moves": moves, "ends": ends, **further, **added}

    @property
    def step_rows(self) -> list[list[Any]]:
        """The table of steps; see `_step`."""
        return self._tables["steps"].rows

    @property
    def message_rows(self) -> list[str]:
        """The table of messages: their names, if a program gives them names."""
        return self._tables["messages"].rows

    def moves(self, node: int) -> tuple[list[int], int]:
        """The moves of a known node, and the properties violated by ending there. Its successors become known."""
        state, monitor_state = self._nodes[node]
        moves, machine = self._moves(state), self.system.machine
        flat: list[int] = []
        for step, target in moves:
            after, violated = self.system.evaluate(monitor_state, step)
            local = self.system.state_after(step)
            invariants = {} if local is None else machine.invariants
            false = [name for name, holds in invariants.items() if not holds(machine, step.action.process, local)]
            effect = self._effect({*violated, *false})
            flat += (self._step(step), self._node(target, after), effect)
        self._explain(state)
        ends = self.system.may_end(moves) and pending_in(self.system.local_states(state)) is None
        return flat, self._effect(live_properties_violated(self.system, state, monitor_state, moves) if ends else ())

    def violated_by(self, effect: int) -> list[str]:
        """The properties in a row of the table `effects`."""
        return [self.properties[k].name for k in self._tables["effects"].rows[effect]]

    def step(self, node: int, choice: int) -> LocalStep:
        """The step of a move of a node."""
        return self._moves(self._nodes[node][0])[choice][0]

    def choice_of(self, node: int, step: LocalStep) -> int:
        """The number of the move of a node that takes a step."""
        return [_facts(known) for known, _ in self._moves(self._nodes[node][0])].index(_facts(step))

    def undecided(self, name: str) -> str | None:
        """Why it is unknown whether all runs keep a property, although none of those searched so far violates it."""
        reason = self._undecided(name)
        if reason is None and name in OF_DELIVERIES and not (self._is_recorded or self._delivers_something):
            return NOTHING_DELIVERED
        return reason

    @property
    def _delivers_something(self) -> bool:
        """True if one of the steps known so far delivers a message."""
        return any(kind == "deliver" for row in self.step_rows for kind, _ in row[6])

    @property
    def promised(self) -> list[str]:
        """The properties that the protocol must satisfy, without orders that are only of interest."""
        kind = type(self.system.machine)
        unpromised = self._unpromised
        if unpromised is None:
            unpromised = not_promised(kind).union(ORDERS.keys() - default_orders(kind)).difference(self.requested)
        return [known.name for known in self.properties if known.name not in unpromised]

    def nodes_of(self, choices: Sequence[int]) -> list[int]:
        """The nodes of a run, from the initial one on."""
        nodes = [0]
        for choice in choices:
            nodes.append(self.moves(nodes[-1])[0][3 * choice + 1])
        return nodes

    def holds_back(self, node: int, *, alone: bool) -> bool:
        """True if a packet could arrive there and is not deliverable yet; `alone`: the only one on its link."""
        state = self._nodes[node][0]
        links = Counter((packet.source, packet.destination) for packet in self.system.in_flight(state))
        held = self.system.refused(state)
        return any(not alone or links[packet.source, packet.destination] == 1 for packet in held)

    def delivers_everything(self, node: int) -> bool:
        """True if no more messages can be sent there, and all are delivered."""
        state, monitor_state = self._nodes[node]
        sends = any(step.hands_over for step, _ in self.system.moves(state))
        return not sends and not self.system.undelivered(monitor_state, state)

    def _reasons(self, undecided: Callable[[str], str | None]) -> dict[str, str]:
        reasons = {known.name: undecided(known.name) for known in self.properties}
        return {printable(name): printable(reason) for name, reason in reasons.items() if reason is not None}

    def _moves(self, state: State) -> list[tuple[LocalStep, State]]:
        """The moves of a state, in an order independent of earlier visits: choices mean the same in every space of one
        check, and in addresses.
        """
        return sorted(self.system.moves(state), key=lambda move: self._keys[self._step(move[0])])

    def _node(self, state: State, monitor_state: MonitorState) -> int:
        """The number of a node, which may be a new one."""
        number = self._numbers.setdefault((state, monitor_state), len(self._nodes))
        if number == len(self._nodes):
            self._nodes.append((state, monitor_state))
        return number

    def _effect(self, violated: Iterable[str]) -> int:
        """The set of these properties that the page has, as numbers."""
        places = tuple(sorted(self._place[name] for name in violated if name in self._place))
        return self._tables["effects"].number(places, lambda: list(places))

    def _explain(self, state: State) -> None:
        """Why the guard holds back each packet."""
        for packet in self.system.refused(state):
            q = packet.destination
            key = f"{self._local(q, state[q])},{self._packet(packet)}"
            if key not in self._guards:
                said = comparisons(
                    self.system.machine, q, self.system.local_state(state[q]), packet, self.names.processes
                )
                self._guards[key] = [printable(line) for line in said]

    # -- tables --------------------------------------------------------------------------------------------------------

    def _step(self, step: LocalStep) -> int:
        """Process, action, message, packet, receivers, packets transmitted, events, by the channel, local state after,
        where the packet was, number of the outcome.

        -1 stands for no message, packet or local state.
        """
        return self._tables["steps"].number(_facts(step), lambda: self._data_of_step(step))

    def _data_of_step(self, step: LocalStep) -> list[Any]:
        action = step.action
        receivers: Sequence[int] = ()
        if action.name == "send" and action.message is not None:
            receivers = action.message.receivers
        own = self.system.state_after(step) is not None
        self._keys.append(self._key(step))
        return [
            action.process,
            printable(action.name),
            -1 if action.message is None else self._message(action.message),
            -1 if action.packet is None else self._packet(action.packet),
            list(receivers),
            [self._packet(packet) for packet in self.system.transmitted(step)],
            [[kind, self._message(message)] for kind, _, message in step.observations if kind != "hand"],
            int(action.by_channel),
            self._local(action.process, step.local) if own else -1,
            step.place,
            step.outcome,
        ]

    def _key(self, step: LocalStep) -> tuple[Any, ...]:
        """A step as values that sort alike in every space."""

        def packet_key(packet: Packet | None) -> tuple[Any, ...]:
            if packet is None:
                return ()
            return packet.source, packet.destination, packet.kind, _in_text(packet.message), _in_text(packet.stamp)

        action = step.action
        return (
            action.by_channel,
            action.process,
            action.name,
            _in_text(action.message),
            packet_key(action.packet),
            _in_text(self.system.state_after(step)),
            [packet_key(packet) for packet in self.system.transmitted(step)],
            [(kind, _in_text(message)) for kind, _, message in step.observations],
            step.place,
            step.outcome,
        )

    def _message(self, message: Message) -> int:
        """The message's name, if a program gives it one."""
        free = self.check.workload.takes_anything
        name = self.names.messages.get(message.name, message.name)
        return self._tables["messages"].number(message, lambda: "" if free else printable(name))

    def _packet(self, packet: Packet) -> int:
        """Kind, message, source, destination, and 1 if it carries no message."""
        return self._tables["packets"].number(
            self.system.number_of_packet(packet),
            lambda: [
                printable(packet.kind),
                -1 if packet.message is None else self._message(packet.message),
                packet.source,
                packet.destination,
                int(self.system.machine.is_control(packet)),
            ],
        )

    def _local(self, process: int, number: int) -> int:
        """The variables of a local state, each as its name and its rows. Messages in it are `\\x00` and a number."""

        def data() -> list[Any]:
            if not self.system.machine.shows_variables:
                return []
            variables = variables_of(self.system.local_state(number), lambda message: f"\0{self._message(message)}\0")
            return [[printable(each.name), [[_shown(cell) for cell in row] for row in each.rows]] for each in variables]

        row = self._tables["locals"].number((process, number), data)
        pending = pending_in([self.system.local_state(number)])
        if pending is not None:
            self._pending[str(row)] = printable(pending)
        return row


def _facts(step: LocalStep) -> tuple[Any, ...]:
    """What makes it another step of its state."""
    return (*step[:4], step.place, step.outcome)


def _in_text(value: Any) -> str:
    """A value in words, the same for equal values."""
    if isinstance(value, Message):
        return f"{value.sender} {value.receivers} {value.name}"
    return "; ".join(map(str, variables_of(value, _in_text)))


def _shown(cell: str) -> str:
    """The text of a cell, with placeholders for the names of messages."""
    return "\0".join(printable(part) for part in cell.split("\0"))
