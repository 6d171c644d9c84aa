"""Any protocol through any channel, driven at random, and checked against the spec after every step.

The machine keeps its own book of what happened for the applications and consults the spec itself; the monitors, which a
check relies on, must say the same. Driven with a broken protocol it must find the fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any, ClassVar

import pytest
from broken_murty_garg import SendsWhilePassive
from broken_rst import DeliversWhatArrives
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from crownless.impl.buffer import Buffer
from crownless.impl.channels import CHANNELS, Channel
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.registry import PROTOCOLS
from crownless.impl.rst import Rst
from crownless.impl.variants import variant
from crownless.impl.workloads import Free, Program, Workload
from crownless.model_check.search.explorer import LocalProperties
from crownless.model_check.system.monitors import monitors_of
from crownless.model_check.system.system import Move, System
from crownless.spec import by_search, library, notation
from crownless.spec.computation import Computation, Message
from crownless.spec.errors import BadInput
from crownless.spec.orders import decide

MONITORED = ("fifo", "causal", "synchronous")

#: The channels over which the texts promise anything, by the channel they need: what arrives, arrives once.
ENOUGH = {"unordered": ("unordered", "fifo", "lossy"), "fifo": ("fifo",)}

#: Protocols that do not keep what they promise.
UNSAFE = ("rst-column", "isis-gc")

#: And one that does not deliver everything.
DEADLOCKS = ("rendezvous",)


class AnyProtocol(RuleBasedStateMachine):
    """A protocol and a channel, given by a subclass; how many processes and messages, and every step, are random."""

    protocol: ClassVar[type[ProtocolMachine]]
    channel: ClassVar[type[Channel]]
    #: Is the protocol expected to keep what it promises?
    safe: ClassVar[bool]
    #: Is the protocol expected to deliver everything?
    live: ClassVar[bool]
    #: A bundled program in place of the free workload.
    program: ClassVar[str | None]
    #: May the first process crash?
    crashes: ClassVar[bool]
    #: The actions taken in all runs of the machine, to see that it does things.
    taken: ClassVar[Counter[str]]

    system: System | None = None

    @initialize(n=st.integers(2, 4), messages=st.integers(1, 5), loses_all=st.booleans())
    def begin(self, n: int, messages: int, loses_all: bool) -> None:
        self.loses_all = loses_all
        workload: Workload
        if self.program is None:
            workload = Free(n, messages, sends=self.protocol.sends)
        else:
            workload = Program(notation.load(library.path(self.program)))
        n = len(workload.processes)
        machine = self.protocol(n)
        monitors = monitors_of(machine, MONITORED)
        self.at = machine.ordered_at
        self.system = System(machine, workload, self.channel, monitors, 0 if self.crashes else None)
        self.local_properties = LocalProperties(self.system)
        self.state, self.monitor_state = self.system.initial(), self.system.initial_monitor_state()
        self.enabled = self.system.moves(self.state)
        self.reported = set[str]()
        # Our own book:
        self.lines: list[list[tuple[str, Message]]] = [[] for _ in range(n)]
        self.handed = set[Message]()
        self.delivered = Counter[tuple[Message, int]]()
        self.too_early = self.sent_again = False

    # -- steps ---------------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.moves(is_send))
    @rule(pick=st.integers(0, 20))
    def an_application_sends(self, pick: int) -> None:
        self.take(is_send, pick)

    @precondition(lambda self: self.moves(is_arrival))
    @rule(pick=st.integers(0, 20))
    def a_packet_arrives(self, pick: int) -> None:
        self.take(is_arrival, pick)

    @precondition(lambda self: self.moves(is_own_step))
    @rule(pick=st.integers(0, 20))
    def a_protocol_or_an_application_takes_a_step_of_its_own(self, pick: int) -> None:
        self.take(is_own_step, pick)

    @precondition(lambda self: self.moves(is_fault))
    @rule(pick=st.integers(0, 20))
    def something_goes_wrong_on_the_channel(self, pick: int) -> None:
        self.take(is_fault, pick)

    @precondition(lambda self: not self.enabled)
    @rule()
    def it_is_at_its_end(self) -> None:
        pass

    def moves(self, which: Callable[[Move], bool]) -> list[Move]:
        return [move for move in self.enabled if which(move)]

    def take(self, which: Callable[[Move], bool], pick: int) -> None:
        assert self.system is not None
        moves = self.moves(which)
        step, self.state = moves[pick % len(moves)]
        self.enabled = self.system.moves(self.state)
        self.monitor_state, broken = self.system.evaluate(self.monitor_state, step)
        self.reported |= set(broken)
        self.taken[step.action.name] += 1
        for kind, process, message in step.observations:
            self.write_down(kind, process, message)
        if step.action.name == "crash" and self.loses_all:
            while self.moves(is_loss):
                self.take(is_loss, 0)

    def write_down(self, kind: str, process: int, message: Message) -> None:
        if kind == "hand":
            self.handed.add(message)
            return
        if kind in ("unsend", "undeliver", "orphan"):
            self.lines[process].remove(("send" if kind == "unsend" else "receive", message))
            if kind != "unsend":
                self.delivered[message, process] -= 1
            if kind == "unsend":
                self.handed.discard(message)
            return
        if kind == "deliver":
            self.delivered[message, process] += 1
            self.too_early |= message not in self.handed
        self.sent_again |= kind == "send" and ("send", message) in self.lines[process]
        event = ("send" if kind == "send" else "receive", message)
        if event not in self.lines[process]:
            self.lines[process].append(event)

    # -- what must hold after every step -------------------------------------------------------------------------------

    @invariant()
    def the_promised_order_is_kept(self) -> None:
        if self.safe and self.is_promised() and self.can_be_judged():
            assert self.keeps(self.protocol.promises), f"{self.protocol.promises} order is broken"

    @invariant()
    def the_monitors_report_a_break_exactly_if_the_spec_finds_one(self) -> None:
        wrong = self.too_early or self.sent_again or max(self.delivered.values(), default=0) > 1
        assert ("delivers-once" in self.reported) == wrong
        if not self.can_be_judged():
            return
        for order in MONITORED:
            assert (order in self.reported) == (not self.keeps(order)), order

    @invariant()
    def nothing_is_delivered_twice(self) -> None:
        assert not self.too_early
        if self.is_promised():
            assert max(self.delivered.values(), default=0) <= 1

    @invariant()
    def what_is_owed_is_what_was_submitted_and_not_delivered(self) -> None:
        assert self.system is not None
        if self.protocol.rolls_back and self.crashes:
            return  # what is owed after a rewind is the protocol's to say
        copies = {(message, q) for message in self.handed for q in message.receivers}
        assert set(self.system.undelivered(self.monitor_state)) == copies - set(self.delivered)

    @invariant()
    def local_invariants_hold(self) -> None:
        assert self.system is not None
        for process in range(self.system.n):
            if process == self.system.crashed(self.state):
                continue
            broken, _ = self.local_properties.of(process, self.state[process])
            assert not broken, f"at process {process}"

    def teardown(self) -> None:
        """Without further faults the run comes to its end, and over a reliable channel everything is delivered."""
        if self.system is None:
            return
        steps = 0
        while self.moves(is_no_fault):
            # Always the last is neither the order sent nor the order of the processes.
            self.take(is_no_fault, -1 if steps % 3 else 0)
            steps += 1
            assert steps < 1000, "it goes on for ever"
        self.the_promised_order_is_kept()
        self.the_monitors_report_a_break_exactly_if_the_spec_finds_one()
        self.nothing_is_delivered_twice()
        self.local_invariants_hold()
        if self.channel.reliable and self.live and self.system.crashed(self.state) is not None:
            assert not self.system.undelivered(self.monitor_state, self.state), (
                "a message between survivors is never delivered"
            )
        elif self.channel.reliable and self.live:
            assert self.system.finished(self.state), "a send never happens"
            assert not self.system.undelivered(self.monitor_state), "a message is never delivered"
            assert self.is_complete(), "a send event never happens"

    # -- our own book --------------------------------------------------------------------------------------------------

    def is_promised(self) -> bool:
        """Does the protocol promise anything over this channel?"""
        return self.channel in [CHANNELS[name] for name in ENOUGH[self.protocol.needs_channel]]

    def can_be_judged(self) -> bool:
        """Is all that is delivered also sent? Before that it is no computation."""
        events = set(chain.from_iterable(self.lines))
        return all(("send", message) in events for _, message in events)

    def is_complete(self) -> bool:
        return self.can_be_judged() and all(
            ("receive", message) in self.lines[q]
            for _, message in chain.from_iterable(self.lines)
            for q in message.receivers
        )

    def keeps(self, order: str) -> bool:
        try:
            computation = Computation.of_message_lines(self.lines)
        except BadInput:
            return False  # lines and messages in a circle are no computation
        if self.at is not None and order != "synchronous":
            return by_search.keeps(computation, order, pending=True, at=self.at)
        return decide(computation, order, "pending").kept


def is_fault(move: Move) -> bool:
    return move[0].action.by_channel


def is_loss(move: Move) -> bool:
    return move[0].action.name == "lose"


def is_no_fault(move: Move) -> bool:
    return not is_fault(move)


def is_send(move: Move) -> bool:
    return move[0].action.name == "send"


def is_arrival(move: Move) -> bool:
    return move[0].action.packet is not None and not is_fault(move)


def is_own_step(move: Move) -> bool:
    return not is_fault(move) and not is_send(move) and not is_arrival(move)


def drive(
    kind: type[ProtocolMachine],
    channel: str,
    *,
    examples: int,
    shrinks: bool,
    live: bool = True,
    safe: bool = True,
    crashes: bool = False,
    program: str | None = None,
) -> Counter[str]:
    """Runs the machine with this protocol and channel, always the same way; returns how often each action was taken."""
    taken = Counter[str]()
    facts: dict[str, Any] = {"protocol": kind, "channel": CHANNELS[channel], "taken": taken, "live": live, "safe": safe}
    facts |= {"crashes": crashes, "program": program}
    driven = type(f"{kind.__name__}Over{channel.capitalize()}", (AnyProtocol,), facts)
    run_state_machine_as_test(
        driven,
        settings=settings(
            max_examples=examples,
            stateful_step_count=30,
            derandomize=True,
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            # Nothing depends on how fast this machine is. And Hypothesis draws by the constants in whatever modules are
            # loaded, so that with other tests before this one it may draw more steps that are not possible.
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
            phases=(Phase.generate, Phase.shrink) if shrinks else (Phase.generate,),
        ),
    )
    return taken


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("channel", CHANNELS)
def test_any_protocol_over_any_channel_does_what_it_promises_and_is_judged_as_the_spec_judges_it(
    protocol: str, channel: str
) -> None:
    enough = (*ENOUGH[PROTOCOLS[protocol].needs_channel], "duplicating")
    live = protocol not in DEADLOCKS and channel in enough
    taken = drive(PROTOCOLS[protocol], channel, examples=20, shrinks=True, live=live, safe=protocol not in UNSAFE)
    assert taken["send"] > 20
    assert taken["deliver"] > 20
    assert (taken["lose"] > 0) == (channel == "lossy")
    assert (taken["duplicate"] > 0) == (channel == "duplicating")


@pytest.mark.parametrize("protocol", ["isis", "ses-rollback"])
def test_a_protocol_that_survives_a_crash_goes_on_in_order_and_delivers_what_the_survivors_send(protocol: str) -> None:
    taken = drive(PROTOCOLS[protocol], "unordered", examples=30, shrinks=True, crashes=True)
    taken += drive(PROTOCOLS[protocol], "unordered", examples=400, shrinks=True, crashes=True, program="ses-fig6")
    assert taken["crash"] > 20
    assert (taken["agree"] > 0) == (protocol == "ses-rollback")


def test_one_that_does_not_survive_a_crash_is_found_out() -> None:
    with pytest.raises(AssertionError, match="a message between survivors is never delivered"):
        drive(PROTOCOLS["buffer"], "unordered", examples=400, shrinks=False, crashes=True)


@pytest.mark.parametrize(("protocol", "program"), [("rst-column", "kuper-program"), ("kearns", None)])
def test_a_protocol_that_breaks_its_promise_is_found_out(protocol: str, program: str | None) -> None:
    kind: Any = type("Bold", (PROTOCOLS[protocol],), {"needs_channel": "unordered"})
    with pytest.raises(AssertionError, match="causal order is broken"):
        drive(kind, "unordered", examples=1500, shrinks=False, program=program)


def test_a_protocol_that_deadlocks_is_found_out() -> None:
    with pytest.raises(AssertionError, match="never"):
        drive(PROTOCOLS["rendezvous"], "unordered", examples=100, shrinks=False)


# -- the machine finds faults ------------------------------------------------------------------------------------------


WaitsTooLong = variant(
    Rst, deliverable=lambda self, i, state, packet: self.ops.every(lambda k: state.deliv[k] > packet.stamp[k][i])
)
CountsTwice = variant(
    Rst,
    after_delivering=lambda self, i, state, j, stamp: (
        after := Rst.after_delivering(self, i, state, j, stamp)
    )._replace(deliv=self.ops.incremented(after.deliv, j)),
)
DoesNotWait = variant(Buffer, may_post=lambda self, state: True)


@pytest.mark.parametrize(
    ("kind", "channel", "complaint"),
    [
        (DeliversWhatArrives, "unordered", "causal order is broken"),
        (DoesNotWait, "unordered", "causal order is broken"),
        (DoesNotWait, "lossy", "causal order is broken"),
        (SendsWhilePassive, "unordered", "synchronous order is broken"),
        (WaitsTooLong, "unordered", "a message is never delivered"),
        (CountsTwice, "fifo", "at process"),
    ],
)
def test_a_broken_protocol_is_found_out(kind: type[ProtocolMachine], channel: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        drive(kind, channel, examples=200, shrinks=False)
