"""Any protocol through any channel, driven at random, and checked against the spec after every step.

The driver keeps its own book of what happened for the applications and consults the spec itself; the monitors, which a
check relies on, must say the same. Driven with a broken protocol it must find the fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import chain
from random import Random
from typing import Any

import pytest
from broken_murty_garg import SendsWhilePassive
from broken_rst import DeliversWhatArrives

from crownless.impl.channels import CHANNELS
from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.protocols.rst import Rst
from crownless.impl.registry import PROTOCOLS
from crownless.impl.variants import variant
from crownless.impl.workloads import Free, Program, Workload
from crownless.model_check.search.explorer import LocalProperties
from crownless.model_check.system.monitors import monitors_of
from crownless.model_check.system.system import Move, System
from crownless.runtime.errors import BadInput
from crownless.spec import by_search, library, notation
from crownless.spec.computation import Computation, Message
from crownless.spec.orders import decide

MONITORED = ("fifo", "causal", "synchronous")
#: The channels over which the texts promise anything, by the channel they need: what arrives, arrives once.
ENOUGH = {"unordered": ("unordered", "fifo", "lossy", "lossy-fifo"), "fifo": ("fifo",)}
#: Protocols that do not keep what they promise.
UNSAFE = ("rst-column", "isis-gc")
#: And one that does not deliver everything.
DEADLOCKS = ("rendezvous",)
#: A copy makes it wait for what was delivered, which the explorer finds too.
WAITS_FOR_COPIES = ("optimal", "duplicating")
#: The steps of a run before it is led to its end.
STEPS = 30


class Run:
    """One run of a protocol over a channel, and our own book of it."""

    def __init__(
        self,
        kind: type[ProtocolMachine],
        channel: str,
        chance: Random,
        *,
        live: bool = True,
        safe: bool = True,
        crashes: bool = False,
        program: str | None = None,
    ) -> None:
        self.kind, self.chance, self.live = kind, chance, live
        self.channel = CHANNELS[channel]
        #: Does the protocol promise anything over this channel?
        self.promised = channel in ENOUGH[kind.needs_channel]
        self.safe = safe and self.promised
        self.rewinds = kind.rolls_back and crashes
        workload: Workload = Free(chance.randint(2, 4), chance.randint(1, 5), sends=kind.sends)
        if program is not None:
            workload = Program(notation.load(library.path(program)))
        machine = kind(len(workload.processes))
        self.at = machine.ordered_at
        self.system = System(machine, workload, self.channel, monitors_of(machine, MONITORED), 0 if crashes else None)
        self.local_properties = LocalProperties(self.system)
        self.state, self.monitor_state = self.system.initial(), self.system.initial_monitor_state()
        self.reported = set[str]()
        self.taken = Counter[str]()
        self.lines: list[list[tuple[str, Message]]] = [[] for _ in workload.processes]
        self.handed = set[Message]()
        self.delivered = Counter[tuple[Message, int]]()
        self.too_early = self.sent_again = False

    def go(self) -> Counter[str]:
        """Takes random steps, then all that can happen without a fault; returns how often each action was taken."""
        kinds = (is_fault, lambda move: move[0].action.name == "send", *(lambda move: not is_fault(move),) * 3)
        loses_all = self.chance.random() < 0.5
        for _ in range(STEPS):
            moves = self.system.moves(self.state)
            preferred = self.chance.choice(kinds)
            chosen = [move for move in moves if preferred(move)] or moves
            if not chosen:
                break
            move = self.chance.choice(chosen)
            self.take(move)
            if move[0].action.name == "crash" and loses_all:
                while lost := [move for move in self.system.moves(self.state) if move[0].action.name == "lose"]:
                    self.take(lost[0])
        for steps in range(1000):
            moves = [move for move in self.system.moves(self.state) if not is_fault(move)]
            if not moves:
                break
            # Always the last is neither the order sent nor the order of the processes.
            self.take(moves[-1 if steps % 3 else 0])
        else:
            raise AssertionError("it goes on for ever")
        self.check_end()
        return self.taken

    def take(self, move: Move) -> None:
        step, self.state = move
        self.monitor_state, broken = self.system.evaluate(self.monitor_state, step)
        self.reported |= set(broken)
        self.taken[step.action.name] += 1
        for kind, process, message in step.observations:
            self.write_down(kind, process, message)
        self.check()

    def write_down(self, kind: str, process: int, message: Message) -> None:
        if kind == "hand":
            self.handed.add(message)
            return
        event = ("send" if kind in ("send", "unsend") else "receive", message)
        if kind in ("unsend", "undeliver", "orphan"):
            self.lines[process].remove(event)
            if kind == "unsend":
                self.handed.discard(message)
            else:
                self.delivered[message, process] -= 1
            return
        if kind == "deliver":
            self.delivered[message, process] += 1
            self.too_early |= message not in self.handed
        self.sent_again |= kind == "send" and event in self.lines[process]
        if event not in self.lines[process]:
            self.lines[process].append(event)

    def check(self) -> None:
        """What must hold after every step."""
        twice = max(self.delivered.values(), default=0) > 1
        assert not self.too_early
        assert not (self.promised and twice)
        assert ("delivers-once" in self.reported) == (self.sent_again or twice)
        if self.can_be_judged():
            kept = {order: self.keeps(order) for order in {*MONITORED, self.kind.promises}}
            assert kept[self.kind.promises] or not self.safe, f"{self.kind.promises} order is broken"
            for order in MONITORED:
                assert (order in self.reported) == (not kept[order]), order
        if not self.rewinds:  # what is owed after a rewind is the protocol's to say
            copies = {(message, q) for message in self.handed for q in message.receivers}
            assert set(self.system.undelivered(self.monitor_state)) == copies - set(self.delivered)
        for process in range(self.system.n):
            if process != self.system.crashed(self.state):
                broken, _ = self.local_properties.of(process, self.state[process])
                assert not broken, f"at process {process}"

    def check_end(self) -> None:
        """Over a reliable channel everything is delivered in the end."""
        if not (self.channel.reliable and self.live):
            return
        if self.system.crashed(self.state) is not None:
            owed = self.system.undelivered(self.monitor_state, self.state)
            assert not owed, "a message between survivors is never delivered"
            return
        assert self.system.finished(self.state), "a send never happens"
        assert not self.system.undelivered(self.monitor_state), "a message is never delivered"
        assert self.can_be_judged(), "a send event never happens"

    def can_be_judged(self) -> bool:
        """Is all that is delivered also sent? Before that it is no computation."""
        events = set(chain.from_iterable(self.lines))
        return all(("send", message) in events for _, message in events)

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


def drive(kind: type[ProtocolMachine], channel: str, runs: int, **facts: Any) -> Counter[str]:
    """Random runs, always the same ones; returns how often each action was taken."""
    return sum((Run(kind, channel, Random(seed), **facts).go() for seed in range(runs)), Counter[str]())


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("channel", CHANNELS)
def test_any_protocol_over_any_channel_does_what_it_promises_and_is_judged_as_the_spec_judges_it(
    protocol: str, channel: str
) -> None:
    enough = (*ENOUGH[PROTOCOLS[protocol].needs_channel], "duplicating")
    live = protocol not in DEADLOCKS and channel in enough and (protocol, channel) != WAITS_FOR_COPIES
    taken = drive(PROTOCOLS[protocol], channel, 50, live=live, safe=protocol not in UNSAFE)
    assert taken["send"] > 20
    assert taken["deliver"] > 10
    assert (taken["lose"] > 0) == ("lossy" in channel)
    assert (taken["duplicate"] > 0) == ("duplicating" in channel)


@pytest.mark.parametrize("protocol", ["isis", "ses-rollback"])
def test_a_protocol_that_survives_a_crash_goes_on_in_order_and_delivers_what_the_survivors_send(protocol: str) -> None:
    taken = drive(PROTOCOLS[protocol], "unordered", 60, crashes=True)
    taken += drive(PROTOCOLS[protocol], "unordered", 300, crashes=True, program="ses-fig6")
    assert taken["crash"] > 20
    assert (taken["agree"] > 0) == (protocol == "ses-rollback")


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
Unordered: Callable[[str], Any] = lambda name: type("Bold", (PROTOCOLS[name],), {"needs_channel": "unordered"})  # noqa: E731


@pytest.mark.parametrize(
    ("kind", "channel", "facts", "complaint"),
    [
        (DeliversWhatArrives, "unordered", {}, "causal order is broken"),
        (DoesNotWait, "unordered", {}, "causal order is broken"),
        (DoesNotWait, "lossy", {}, "causal order is broken"),
        (Unordered("rst-column"), "unordered", {"program": "kuper-program"}, "causal order is broken"),
        (Unordered("kearns"), "unordered", {}, "causal order is broken"),
        (SendsWhilePassive, "unordered", {}, "synchronous order is broken"),
        (WaitsTooLong, "unordered", {}, "a message is never delivered"),
        (PROTOCOLS["rendezvous"], "unordered", {}, "never"),
        (PROTOCOLS["buffer"], "unordered", {"crashes": True}, "a message between survivors is never delivered"),
        (CountsTwice, "fifo", {}, "at process"),
    ],
)
def test_a_broken_protocol_is_found_out(
    kind: type[ProtocolMachine], channel: str, facts: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(AssertionError, match=complaint):
        drive(kind, channel, 1500, **facts)
