"""The space-time diagram of a run: its packets, and how the protocol and the application handle them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from crownless.drawing.diagram import Diagram, Emphasis, Variable, Wait
from crownless.drawing.emphasis import emphasis_of
from crownless.model_check.system.local_variables import variables_of, with_changes
from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.orders import ORDERS, Verdict, decide

from .actions import ActionsOfRun, ShownAction, ShownPacket
from .packets import ARRIVES

#: Faults of the channel: no process acts.
FAULTS = ("lose", "duplicate")


def diagram_of_run(run: ActionsOfRun, title: str = "", breaks: str | None = None) -> Diagram:
    """The diagram of a run, with emphasis on the violation of the property of that name."""
    picture = _Picture(run)
    return picture.diagram(title, None if breaks is None else _emphasis(run, breaks, picture))


def computation_of_run(run: ActionsOfRun, *, first_deliveries: bool = False) -> Computation | None:
    """The computation that the application sees in a run; None if it is invalid, as when a message is delivered twice.
    `first_deliveries`: with only the first delivery of each message at a process.
    """
    number = {process: p for p, process in enumerate(run.processes)}
    receivers = {action.message: action.to for action in run.actions if action.to and action.message is not None}
    messages: dict[str, int] = {}
    sent: list[Message] = []
    for process, kind, name in _events(run):
        if kind == "send" and name not in messages:
            messages[name] = len(sent)
            to = sorted({number[q] for q in receivers.get(name, ())})
            sent.append(Message(name, number[process], tuple(to)))
    lines: list[list[Event]] = [[] for _ in run.processes]
    seen: set[tuple[str, str, str]] = set()
    for event in _events(run):
        process, kind, name = event
        if kind in ("send", "deliver") and not (first_deliveries and event in seen):
            seen.add(event)
            lines[number[process]].append(Event("send" if kind == "send" else "receive", messages.get(name, -1)))
    try:
        return Computation(run.processes, tuple(sent), tuple(map(tuple, lines)))
    except BadInput:
        return None


def violation_of(run: ActionsOfRun, order: str) -> Verdict | None:
    """The verdict on the computation that the application sees in a run that violates the order; None if it keeps it,
    as far as it is a computation. A message in flight may be received later, unless only its loss violates the order.
    """
    c = computation_of_run(run) or computation_of_run(run, first_deliveries=True)
    verdicts = [] if c is None else [decide(c, order, reading) for reading in ("pending", "lost")]
    return next((verdict for verdict in verdicts if verdict.shows_violation), None)


def _events(run: ActionsOfRun) -> list[tuple[str, str, str]]:
    """The application's events: process, kind, message."""
    return [(action.process, kind, message) for action in run.actions for kind, message in action.happened]


def _emphasis(run: ActionsOfRun, breaks: str, picture: _Picture) -> Emphasis | None:
    """The packets of the messages that violate a property."""
    if breaks in ORDERS:
        violation = violation_of(run, breaks)
        c = None if violation is None else violation.computation
        found = None if violation is None or c is None else emphasis_of(c, violation)
        if c is None or found is None:
            return None
        drawn = [(picture.drawn_event(c, e), picture.drawn_event(c, f)) for e, f in found.pairs]
        legs = {(c.messages[m].name, q) for m, q in found.legs or ()}
        return picture.emphasis(found.says, legs, ((e, f) for e, f in drawn if e != f), found.because)
    delivered = Counter((process, message) for process, kind, message in _events(run) if kind == "deliver")
    twice = [pair for pair, times in delivered.items() if times > 1]
    if breaks == "delivers-once" and twice:
        process, message = twice[0]
        return picture.emphasis(f"{process} delivers {message} twice", {(message, picture.number[process])})
    if breaks == "delivers-all":
        crashed = {action.process for action in run.actions if action.by_channel and action.action == "crash"}
        owed = {
            action.message: action.to
            for action in run.actions
            if action.to and action.message is not None and action.process not in crashed
        }
        missing = [
            (m, q) for m, receivers in owed.items() for q in receivers if not delivered[q, m] and q not in crashed
        ]
        if missing:
            says = ", ".join(f"{m} at {q}" for m, q in missing)
            return picture.emphasis(f"never delivered: {says}", {(m, picture.number[q]) for m, q in missing})
    return None


def variables_after(run: ActionsOfRun) -> list[tuple[Variable, ...]]:
    """The local variables of its process after each action, with the changes; empty if they are unknown."""
    if not run.initial_states:
        return []

    def called(message: Message) -> str:
        return run.names.get(message, message.name)

    now = {process: variables_of(one, called) for process, one in zip(run.processes, run.initial_states, strict=True)}
    shown: list[tuple[Variable, ...]] = []
    for action in run.actions:
        if action.state is None:  # the process does not change when a packet joins the hold-back queue
            arrives = action.action == ARRIVES and not action.by_channel
            shown.append(with_changes(now[action.process], now[action.process]) if arrives else ())
            continue
        after = variables_of(action.state, called)
        shown.append(with_changes(after, now[action.process]))
        now[action.process] = after
    return shown


@dataclass
class _Arrow:
    """A packet on its way: the drawn message that has it, whether it reached its destination, how many of its copies
    are on the link, and the places of its arrivals in the hold-back queue, where it still is.
    """

    packet: ShownPacket
    message: int
    received: bool = False
    on_link: int = 1
    queued: list[tuple[int, int]] = field(default_factory=list)


class _Picture:
    """The packets of a run as the messages of a computation."""

    def __init__(self, run: ActionsOfRun) -> None:
        self.run = run
        self.number = {process: p for p, process in enumerate(run.processes)}
        self.messages: list[Message] = []
        self.packets: list[ShownPacket] = []  # one of each of these messages
        self.lines: list[list[Event]] = [[] for _ in run.processes]
        self.drawn: list[tuple[int, int]] = []  # process, index on its line, in the order of the run
        self.remarks: dict[tuple[int, int], str] = {}
        self.first_of: list[tuple[int, int]] = []  # of each action
        #: By source, destination, and number there.
        self.arrows: dict[tuple[str, str, int], _Arrow] = {}
        self.copies: list[tuple[int, tuple[int, int]]] = []
        self.arrivals: list[tuple[str, tuple[int, int]]] = []
        #: Control packets that were in a hold-back queue: with the places of arrival and of receipt.
        self.taken: list[tuple[ShownPacket, tuple[int, int], tuple[int, int]]] = []
        self.crashed: set[int] = set()
        #: Where a fault of the channel is drawn, or an arrival at a process that has crashed.
        self.in_the_channel: list[tuple[int, int]] = []
        self.lost: set[tuple[int, int]] = set()
        #: Where the sends and first deliveries of each process are drawn, in their order.
        self.application: list[list[tuple[int, int]]] = [[] for _ in run.processes]
        self.happened: set[tuple[int, str, str]] = set()
        for action in run.actions:
            self._add(action)
        c = Computation(run.processes, tuple(self.messages), tuple(map(tuple, self.lines)))
        self.computation = c

    def packets_of(self, names: set[str]) -> frozenset[int]:
        """The drawn packets that carry these messages; for a message that none carries yet, packets that name it."""
        carried = {one.message for one in self.packets if not one.control}
        return frozenset(
            m
            for m, one in enumerate(self.packets)
            if one.message in names and (not one.control or one.message not in carried)
        )

    def emphasis(
        self,
        says: str,
        legs: set[tuple[str, int]],
        pairs: Iterable[tuple[int, int]] = (),
        because: tuple[str, ...] = (),
    ) -> Emphasis:
        """The emphasis on messages on their way to receivers."""
        packets = self.packets_of({name for name, _ in legs})
        shown = frozenset(
            (m, q)
            for m in packets
            for q in self.messages[m].receivers
            if self.packets[m].control or (self.packets[m].message, q) in legs
        )
        return Emphasis(says, packets, tuple(pairs), shown, because)

    def drawn_event(self, c: Computation, event: int) -> int:
        """The drawn event that has this application event."""
        p = c.process_of[event]
        return self._event_at(self.application[p][event - c.first_event[p]])

    def diagram(self, title: str, emphasis: Emphasis | None) -> Diagram:
        event, run = self._event_at, self.run
        actions = list(zip(run.actions, map(event, self.first_of), strict=True))
        undone = {message for _, kind, message in _events(run) if kind == "unsend"}
        return Diagram(
            self.computation,
            [event(place) for place in self.drawn],
            title=title,
            remarks={event(place): remark for place, remark in self.remarks.items() if remark},
            unreceived="is in flight to",
            lost=frozenset(self.lost),
            control=frozenset(m for m, one in enumerate(self.packets) if one.control),
            silent=frozenset(map(event, self.in_the_channel)),
            copies=tuple((m, event(place)) for m, place in self.copies),
            crashes=frozenset(e for action, e in actions if action.by_channel and action.action == "crash"),
            undone=self.packets_of(undone),
            waits=tuple(self._waits()),
            emphasis=emphasis,
            variables=self._variables(),
        )

    def _add(self, action: ShownAction) -> None:
        p = self.number[action.process]
        place = (p, len(self.lines[p]))
        self.first_of.append(place)
        arrived = self._arrive(action, place)
        if arrived is not None:
            self._event(p, Event("receive", arrived))
        for packets in _sends(action.transmits):
            self._send(p, packets)
        if len(self.lines[p]) == place[1]:
            self._event(p, Event("internal", None))
        sends = [(k, m) for k, (kind, m) in self._since(place) if kind == "send" and m is not None]
        sent = {self.packets[m].message: (p, k) for k, m in sends}
        for kind, message in action.happened:
            if kind in ("send", "deliver") and (p, kind, message) not in self.happened:
                self.happened.add((p, kind, message))
                self.application[p].append(sent.get(message, place) if kind == "send" else place)
        if action.by_channel and action.action == "crash":
            self.crashed.add(p)
        elif (action.by_channel and action.action in FAULTS) or (p in self.crashed and action.packet is not None):
            self.in_the_channel.append(place)
        plain = arrived is None and action.action == "send" and len(action.transmits) > 0
        remark = action.remark() if plain else action.deed() + action.remark()
        self.remarks[place] = remark.strip()

    def _send(self, p: int, packets: list[ShownPacket]) -> None:
        m = len(self.messages)
        receivers = sorted(self.number[packet.destination] for packet in packets)
        self._event(p, Event("send", m))
        self.messages.append(Message(packets[0].label, p, tuple(receivers)))
        self.packets.append(packets[0])
        self.arrows |= {_key(packet): _Arrow(packet, m) for packet in packets}

    def _arrive(self, action: ShownAction, place: tuple[int, int]) -> int | None:
        """The drawn packet whose arrow ends with this action, if one does."""
        arrow = None if action.packet is None else self.arrows.get(_key(action.packet))
        if arrow is None:
            return None
        if action.by_channel and action.action == "duplicate":
            arrow.on_link += 1
            return None
        waits = action.action == ARRIVES and not action.by_channel
        if arrow.queued and not waits and not action.by_channel:  # it was drawn when it arrived
            arrived = arrow.queued.pop(0)
            if arrow.packet.control:
                self.taken.append((arrow.packet, arrived, place))
            return None
        lost = (action.by_channel and action.action == "lose") or place[0] in self.crashed
        if waits and not lost:
            arrow.queued.append(place)
        arrow.on_link -= 1
        if lost and arrow.on_link > 0:  # another copy may still arrive
            return None
        if arrow.received:
            if not lost:
                self.copies.append((arrow.message, place))
                self._event(place[0], Event("internal", None))
            return None
        arrow.received = True
        if lost:
            self.lost.add((arrow.message, place[0]))
            return None
        if not arrow.packet.control:
            self.arrivals.append((arrow.packet.message or "", place))
        return arrow.message

    def _waits(self) -> list[Wait]:
        """The packet that arrives without being delivered in the same action."""
        deliveries: dict[tuple[int, str], int] = {}
        for place, action in zip(self.first_of, self.run.actions, strict=True):
            for kind, message in action.happened:
                if kind == "deliver":
                    deliveries.setdefault((place[0], message), self._event_at(place))
        waits = []
        for message, place in self.arrivals:
            arrival, delivery = self._event_at(place), deliveries.get((place[0], message))
            if delivery is None or delivery > arrival:
                waits.append(Wait(message, arrival, delivery))
        for arrow in self.arrows.values():
            if arrow.packet.control:
                waits += [Wait(arrow.packet.label, self._event_at(place), None) for place in arrow.queued]
        waits += [Wait(packet.label, self._event_at(place), self._event_at(end)) for packet, place, end in self.taken]
        return waits

    def _variables(self) -> Mapping[int, tuple[Variable, ...]]:
        """The local variables after each action, if known."""
        shown = zip(self.first_of, variables_after(self.run), strict=False)
        return {self._event_at(place): variables for place, variables in shown if variables}

    def _since(self, place: tuple[int, int]) -> Iterator[tuple[int, Event]]:
        """The events of a process from one on, each with its index."""
        p, first = place
        return ((k, event) for k, event in enumerate(self.lines[p]) if k >= first)

    def _event(self, p: int, event: Event) -> None:
        self.drawn.append((p, len(self.lines[p])))
        self.lines[p].append(event)

    def _event_at(self, place: tuple[int, int]) -> int:
        return self.computation.first_event[place[0]] + place[1]


def _sends(transmits: Iterable[ShownPacket]) -> list[list[ShownPacket]]:
    """The packets of an action as sends, each to several receivers if the packets look alike. Those of one link are in
    the order transmitted.
    """
    sends: list[list[ShownPacket]] = []
    for packet in transmits:
        after_its_link = [
            k + 1 for k, one in enumerate(sends) if any(each.destination == packet.destination for each in one)
        ]
        possible = sends[max(after_its_link, default=0) :]
        of_it = next((one for one in possible if _look(one[0]) == _look(packet)), None)
        if of_it is None:
            sends.append([packet])
        else:
            of_it.append(packet)
    return sends


def _look(packet: ShownPacket) -> tuple[str, str | None, int]:
    return packet.kind, packet.message, packet.alike


def _key(packet: ShownPacket) -> tuple[str, str, int]:
    return packet.source, packet.destination, packet.number
