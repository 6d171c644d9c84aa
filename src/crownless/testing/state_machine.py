"""A Hypothesis state machine that drives a user's class through random schedules and checks its order."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import count
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from crownless import arguments
from crownless.impl.channels import Channel, channel_named
from crownless.impl.protocol import ProtocolMachine, promised_orders
from crownless.impl.protocol_validation import WrongMachine, check_class
from crownless.model_check.runs.runs import run_of, wrong_event
from crownless.model_check.runs.stepwise import StepwiseRun
from crownless.model_check.system.properties import DELIVERS_ALL, DELIVERS_ONCE, NOTHING_DELIVERED, not_promised
from crownless.model_check.system.request import MAX_MESSAGES, MAX_PROCESSES, Check, ResolvedCheck
from crownless.model_check.system.system import Action, System
from crownless.oracle.conformance.answers import Answers
from crownless.oracle.conformance.conformance_request import DELIVERY, Request, sends_of
from crownless.oracle.conformance.in_process import InProcess, promises_of
from crownless.oracle.conformance.network import Move, Network, WrongNode, root_of
from crownless.oracle.conformance.node_machine import check_of_walks
from crownless.oracle.conformance.walks import (
    MAX_STEPS,
    WALKS,
    Walkable,
    Walks,
    goes_on_for_ever,
    never_delivered,
    without_middle,
)
from crownless.runtime.errors import BadInput, Undecided
from crownless.runtime.printable import listed, printable, some, with_article
from crownless.spec.enumeration import Sends, known_sends
from crownless.spec.orders import ORDERS, chosen, refuse_where_all_keep


def stateful(
    subject: type,
    *,
    orders: Sequence[str] = (),
    channel: str | type[Channel] | None = None,
    sends: Sends | None = None,
    processes: tuple[int, int] = (2, 3),
    messages: int = 5,
    delivers_all: bool = True,
    walks: int = WALKS,
) -> type[RuleBasedStateMachine]:
    """A state machine whose `TestCase` is a test: `TestMine = stateful(MyNode, orders="causal").TestCase`.

    `subject`: a class of nodes, as for `crownless conform` (`oracle.conformance.in_process`), or a protocol
    (`cr.Protocol`). `orders`: one to keep, or several; default: the one promised, else causal order for nodes. `sends`:
    `unicast`, `multicast`, `broadcast`, or `broadcast-to-all`: senders deliver their own messages, too; default: what
    the class says by its attribute `sends`, or else unicast. `channel`: a name, or a class; default: the one a protocol
    needs. `processes`: their minimum and maximum number; `messages`: the maximum number of sends. `delivers_all`: over
    a channel that loses nothing, or if the protocol has timers, every message must be delivered once nothing more can
    happen, unless its `promises` leave that out.

    The test first makes random walks, from few processes and messages to many, `walks` of each size: 0 for none. It
    fails with the shortest failing walk of the smallest size, without unnecessary steps. Then hypothesis searches for
    schedules that walks seldom take, and shrinks a failure. If nothing fails, but a node has a timer pending, which is
    not driven, or no message was ever delivered, the test raises `Undecided`. Inputs are given one at a time, when the
    node is idle: races between its own tasks are not tried. Raises `BadInput` for invalid arguments.
    """
    if not isinstance(subject, type):
        raise BadInput(f"{_named(subject)} cannot be driven: it is not a class", hint="give the class, not an object")
    least, most = _bounds(processes)
    messages = arguments.whole_number("messages", messages, most=MAX_MESSAGES)
    walks = arguments.whole_number("walks", walks, least=0)
    requested = chosen(arguments.names("orders", orders)) if orders else ()
    if sends is not None:
        known_sends(sends)
    if issubclass(subject, ProtocolMachine):
        check_class(subject)
        promised, needed = promised_orders(subject), subject.needs_channel
        delivers_all &= DELIVERS_ALL.name not in not_promised(subject)
        driven: Callable[..., _Nodes | _Protocol] = partial(_Protocol, subject, {}, sends=sends)
    elif all(callable(getattr(subject, method, None)) for method in ("on_send", "on_packet")):
        promises = promises_of(subject) or ("causal", *DELIVERY)
        promised, needed = tuple(name for name in ORDERS if name in promises) or ("asynchronous",), "unordered"
        delivers_all &= DELIVERS_ALL.name in promises
        sends = sends or sends_of(subject)
        refuse_where_all_keep(requested or promised[-1:], unicasts=sends == "unicast")
        driven = partial(_Nodes, subject, {}, sends=sends, delivers_once=DELIVERS_ONCE.name in promises)
    else:
        hint = "give it on_send and on_packet, or derive it from crownless.Protocol"
        raise BadInput(f"{subject.__name__} cannot be driven", hint=hint)
    orders = requested or promised
    held_to = orders[-1]
    kind = _channel(needed if channel is None else channel)
    retransmits = bool(issubclass(subject, ProtocolMachine) and subject.timers)
    facts: dict[str, Any] = {
        "order": held_to,
        "must_deliver": delivers_all and (kind.reliable or retransmits),
        "retransmits": retransmits,
        "least": least,
        "most": most,
        "new": partial(driven, messages=messages, channel=kind, orders=orders),
        "seen": Seen(),
        "__doc__": f"{subject.__name__} is checked against {listed(orders)} order.",
    }
    name = f"{subject.__name__}Keeps{held_to.capitalize().replace('-', '')}"
    machine: type[_Driven] = type(name, (_Driven,), facts)
    new = partial(driven, channel=kind, orders=orders)

    def runTest(self: Any) -> None:  # noqa: N802 (unittest's name)
        sizes = ((n, m) for m in range(1, messages + 1) for n in range(least, most + 1))
        seen = machine.seen = Seen()
        each = Walks(lambda n, m: new(processes=n, messages=m), held_to, facts["must_deliver"], retransmits=retransmits)
        found = each.shortest_failure(sizes, walks, seen.note)
        if found is not None:
            failure, made = found
            text = f"{failure.problem}\n{failure.story}\n(the shortest of {some(made, 'random walk')})"
            raise AssertionError(text) from root_of(failure.error)
        by_hypothesis.runTest(self)
        if (undecided := seen.undecided) is not None:
            raise Undecided(f"{subject.__name__}: unknown: {undecided}")

    by_hypothesis = machine.TestCase
    test_case: Any = type(machine.__name__, (by_hypothesis,), {"runTest": runTest, "__doc__": machine.__doc__})
    machine.TestCase = test_case
    return machine


class Seen:
    """Facts about all runs so far that decide nothing by themselves, but without which a passing test claims too much.

    `pending`: the first timer, thread or task that a node left pending; `delivers`: whether a message was delivered.
    """

    def __init__(self) -> None:
        self.pending: str | None = None
        self.delivers = False

    def note(self, driven: "Walkable") -> None:
        """Adds the facts of one run."""
        self.pending = self.pending or driven.pending
        self.delivers |= driven.delivers

    @property
    def undecided(self) -> str | None:
        """Why runs without a failure do not decide the test; None if they do."""
        return self.pending or (None if self.delivers else NOTHING_DELIVERED)


def _bounds(processes: Any) -> tuple[int, int]:
    """The least and the greatest number of processes."""
    if not isinstance(processes, tuple | list) or len(processes) != 2:
        hint = "such as processes=(2, 3): at least 2, at most 3"
        raise BadInput(f"`processes` {printable(repr(processes))}: not two numbers", hint=hint)
    least, most = (
        arguments.whole_number(f"processes[{k}]", number, least=2, most=MAX_PROCESSES)
        for k, number in enumerate(processes)
    )
    if most < least:
        raise BadInput(f"`processes` ({least}, {most}): the least is more than the most", hint="give the smaller first")
    return least, most


def _channel(given: Any) -> type[Channel]:
    if isinstance(given, type) and issubclass(given, Channel):
        return given
    return channel_named(given)


def _named(subject: Any) -> str:
    return printable(repr(subject)) if isinstance(subject, str) else with_article(type(subject).__name__)


class _Driven(RuleBasedStateMachine):
    """See `stateful`."""

    order: ClassVar[str]
    must_deliver: ClassVar[bool]
    retransmits: ClassVar[bool]
    least: ClassVar[int]
    most: ClassVar[int]
    new: ClassVar[Any]
    seen: ClassVar[Seen]

    subject: "_Nodes | _Protocol | None" = None
    #: The moves possible next.
    moves: Sequence[Move] = ()
    #: True after a failure: hypothesis tears a machine down in any case.
    failed = False

    @initialize(pick=st.integers(0, 40))
    def begin(self, pick: int) -> None:
        """So many processes."""
        self.failed = True
        self.subject = type(self).new(processes=self.least + pick % (self.most - self.least + 1))
        self.failed = False
        self.moves = self.subject.moves()

    @precondition(lambda self: self.those("send"))
    @rule(pick=st.integers(0, 40))
    def an_application_sends(self, pick: int) -> None:
        """One of the applications submits a message."""
        self.take("send", pick)

    @precondition(lambda self: self.those("step"))
    @rule(pick=st.integers(0, 40))
    def a_packet_is_received(self, pick: int) -> None:
        """A packet is received, or a process takes a step of its own."""
        self.take("step", pick)

    @precondition(lambda self: self.those("fault"))
    @rule(pick=st.integers(0, 40))
    def the_channel_fails(self, pick: int) -> None:
        """The channel loses or duplicates a packet."""
        self.take("fault", pick)

    @precondition(lambda self: self.subject is not None and not self.moves)
    @rule()
    def nothing_more_can_happen(self) -> None:
        """Judges the end of the run."""

    def those(self, kind: str) -> list[Move]:
        """The moves of this kind."""
        return [move for move in self.moves if move.kind == kind]

    def take(self, kind: str, pick: int) -> None:
        """Makes one of the moves of this kind."""
        assert self.subject is not None
        moves = self.those(kind)
        self.failed = True
        try:
            moves[pick % len(moves)].happen()
            self.moves = self.subject.moves()
        except (WrongNode, WrongMachine) as error:
            raise AssertionError(f"{error}\n{self.subject.story()}") from root_of(error)
        self.failed = False

    @invariant()
    def the_order_is_kept(self) -> None:
        """The deliveries so far can still become a computation that keeps the order."""
        if self.subject is not None:
            violated = self.subject.violation(self.order)
            self.failed |= violated is not None
            if violated is not None:
                raise AssertionError(f"{violated}\n{self.subject.story()}")

    def teardown(self) -> None:
        """Without further sends and faults all is delivered."""
        if self.subject is None or self.failed:
            return
        for steps in count():
            if not self.those("step"):
                break
            # Neither always the first nor always the last, which could be the order sent; and each timer at times.
            self.take("step", -1 if steps % 3 else steps // 3 if self.retransmits else 0)
            self.the_order_is_kept()
            if steps >= MAX_STEPS:
                if self.retransmits and not (self.must_deliver and self.subject.owed):
                    break
                said = goes_on_for_ever(self.subject.owed)
                raise AssertionError(f"{said}\n{without_middle(self.subject.story())}")
        self.seen.note(self.subject)
        if not (self.must_deliver and self.subject.owed):
            return
        if self.subject.pending is not None:
            raise Undecided(f"{type(self).__name__}: unknown: {self.subject.pending}")
        raise AssertionError(f"{never_delivered(self.subject.owed)}\n{self.subject.story()}")


class _Nodes(Network):
    """Nodes, driven. `checks`: those made so far, by processes and messages."""

    def __init__(
        self,
        subject: type,
        checks: dict[tuple[int, int], ResolvedCheck],
        *,
        sends: Sends,
        delivers_once: bool,
        processes: int,
        messages: int,
        channel: type[Channel],
        orders: tuple[str, ...],
    ) -> None:
        if (processes, messages) not in checks:
            answers = Answers(InProcess(subject, processes, sends=sends))
            request = Request(processes, messages, sends=sends, replies=0)
            checks[processes, messages] = check_of_walks(answers, request, channel)
        super().__init__(checks[processes, messages].system(), delivers_once=delivers_once)
        self.orders = orders

    def violation(self, order: str) -> str | None:
        """How the events so far violate one of the orders; None if all can still be kept."""
        return next(filter(None, map(super().violation, self.orders)), None)


class _Protocol(StepwiseRun):
    """A protocol, driven: the moves, the monitors and the properties of the very check that `cr.check` makes.

    `systems`: those made so far, by processes and messages, with the names of the properties.
    """

    def __init__(
        self,
        subject: type[ProtocolMachine],
        systems: dict[tuple[int, int], tuple[System, frozenset[str]]],
        *,
        sends: Sends | None,
        processes: int,
        messages: int,
        channel: type[Channel],
        orders: tuple[str, ...],
    ) -> None:
        if (processes, messages) not in systems:
            check = Check(subject, processes, messages, channel=channel, orders=orders, sends=sends).resolve()
            judged = frozenset(known.name for known in check.properties if known.promised)
            systems[processes, messages] = check.system(), judged
        system, self._properties = systems[processes, messages]
        super().__init__(system)

    def moves(self) -> list[Move]:
        """All that may happen next."""
        return [
            Move(
                "fault" if step.action.by_channel else "send" if step.hands_over else "step",
                _like(step.action),
                partial(self.take, step, target),
            )
            for step, target in self.system.moves(self.state)
        ]

    @property
    def pending(self) -> None:
        """A protocol's timers are steps of its own."""

    @property
    def delivers(self) -> bool:
        """True if a message was delivered."""
        return any(kind == "deliver" for step in self.steps for kind, *_ in step.observations)

    @property
    def progress(self) -> int:
        """A number that changes when the order may have been violated."""
        return len(self.steps)

    def violation(self, order: str) -> str | None:
        """The properties that the run so far violates; None if there are none."""
        violated = [name for name in dict.fromkeys(self.violated) if name in self._properties]
        why = f", {wrong_event(self.run)}" if DELIVERS_ONCE.name in violated else ""
        return f"{', '.join(violated)}: violated{why}" if violated else None

    @property
    def owed(self) -> set[tuple[str, str]]:
        """The submitted messages that are not delivered."""
        names, processes = self.run.names, self.system.workload.processes
        return {(names[m], processes[q]) for m, q in self.system.undelivered(self.monitor_state, self.state)}

    def story(self) -> str:
        """All that has happened, drawn and in words; of a run that goes on for ever, the loop last."""
        begin, end = self._loop() if len(self.steps) > MAX_STEPS else (len(self.steps), len(self.steps))
        run = run_of(self.system, self.steps[:begin], loop=self.steps[begin:end])
        return "\n".join(["", str(run), *run.why(*self.violated)])

    def _loop(self) -> tuple[int, int]:
        """The steps of the first loop, from one on and up to another, in which all is done that is still done later."""
        later = len(self.steps) // 2
        begin = min(map(self.visited.index, self.visited[later:]))
        left = {_like(step.action) for step in self.steps[later:] if not step.action.by_channel}
        for end, step in enumerate(self.steps[begin:], begin + 1):
            left.discard(_like(step.action))
            if not left and self.visited[end] == self.visited[begin]:
                return begin, end
        return len(self.steps), len(self.steps)


def _like(action: Action) -> Hashable:
    """What actions have in common that are alike: all but which message and which packet it is."""
    message, packet = action.message, action.packet
    ends = None if message is None else (message.sender, message.receivers)
    return action.process, action.name, ends, None if packet is None else (packet.source, packet.kind)
