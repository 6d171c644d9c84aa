"""Every planted fault is caught by the property that names it; every variation that is none goes unnoticed."""

from __future__ import annotations

from collections import Counter
from functools import cache

import broken_buffer
import broken_murty_garg
import broken_rst
import pytest
from broken_protocols import BROKEN, BROKEN_PROGRAMS, HARMLESS, PLANTED, ROWS, TABLES
from planted import Catch, Harmless, ProgramCatch
from replay import check, never_reached, violations

from crownless.impl.protocol import ProtocolMachine
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.protocols.buffer_pipelined import BufferPipelined
from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.registry import PROTOCOLS
from crownless.impl.variant import variant
from crownless.model_check.check.check_result import CheckResult
from crownless.model_check.system.properties import default_orders, properties_of
from crownless.runtime.ending import Limits
from crownless.runtime.errors import BadInput
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.orders import ORDERS, telling
from crownless.spec.orders import keeps as keeps_by_search


def enough(kind: type[ProtocolMachine]) -> Limits:
    """Some faults let buffers grow for ever, one of them with every state."""
    return Limits(states=2_000 if kind is broken_buffer.PostsTheSameAgain else 20_000)


CATCHES = [(row.machine, catch) for row in BROKEN for catch in row.catches]
SETUPS = {repr(catch.setup): catch.setup for _, catch in CATCHES}


def original(kind: type[ProtocolMachine]) -> type[ProtocolMachine]:
    """The protocol that this is a variation of."""
    return next(base for base in kind.__mro__ if base in PROTOCOLS.values())


def name_of(value: type[ProtocolMachine] | Catch | ProgramCatch | Harmless) -> str:
    """The name of a test's case."""
    if isinstance(value, Catch | ProgramCatch):
        return value.property
    return (value.machine if isinstance(value, Harmless) else value).__name__


@cache
def broken_at(kind: type[ProtocolMachine], n: int, m: int, setup: str) -> dict[str, int]:
    """The properties that break at this bound, with the actions of a shortest run; `setup`: its text."""
    return violations(check(kind, n, m, **SETUPS[setup]._asdict(), limits=enough(kind)))


# -- faults ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "catch"), CATCHES, ids=name_of)
def test_a_fault_is_caught_by_the_property_that_names_it_in_as_many_actions(
    kind: type[ProtocolMachine], catch: Catch
) -> None:
    """At that bound and at no smaller one, and the protocol itself keeps the property there."""
    name, n, m, actions, setup = catch
    result = check(kind, n, m, **setup._asdict(), limits=enough(kind))
    assert result.verdict == "violated"
    assert violations(result)[name] == actions
    assert name not in ORDERS or not keeps_by_definition(result, name)
    for smaller in ((n - 1, m), (n, m - 1)):
        if smaller[0] >= 2 and smaller[1] >= 1:
            assert name not in broken_at(kind, *smaller, repr(setup))  # type: ignore[arg-type]
    assert name not in broken_at(original(kind), n, m, repr(setup))  # type: ignore[arg-type]


def keeps_by_definition(result: CheckResult, order: str) -> bool:
    """Does the run shown for an order keep it after all? Sends to come are put at the end of their lines."""
    (run,) = [known.run for known in result.properties if known.property.name == order]
    assert run is not None
    number = {process: p for p, process in enumerate(run.processes)}
    messages = [
        Message(action.message or "", number[action.process], tuple(number[q] for q in action.to))
        for action in run.actions
        if action.action == "send"
    ]
    names = [message.name for message in messages]
    lines: list[list[Event]] = [[] for _ in run.processes]
    for action in run.actions:
        for kind, name in action.happened:
            event = Event("send" if kind == "send" else "receive", names.index(name))
            lines[number[action.process]].append(event)
    for m, message in enumerate(messages):
        if Event("send", m) not in lines[message.sender]:
            lines[message.sender].append(Event("send", m))
    try:
        c = Computation.of_lines(len(lines), messages, lines)
    except BadInput:
        return False  # a circle of lines and messages
    return keeps_by_search(c, order, pending=True)


@pytest.mark.parametrize(("kind", "catch"), BROKEN_PROGRAMS, ids=name_of)
def test_a_fault_that_only_a_program_shows_is_caught(kind: type[ProtocolMachine], catch: ProgramCatch) -> None:
    setup = catch.setup._asdict()
    assert violations(check(kind, program=catch.program, **setup))[catch.property] == catch.actions
    assert catch.property not in violations(check(original(kind), program=catch.program, **setup))


def test_one_acknowledgement_instead_of_all_needs_two_debts_at_once_and_so_four_processes() -> None:
    for n, m in ((3, 3), (3, 4), (4, 2)):
        assert violations(check(broken_murty_garg.SendsOneAcknowledgement, n, m)) == {}


@pytest.mark.parametrize("order", [order for order in telling(unicasts=True) if order != "asynchronous"])
def test_every_order_is_reported_as_violated_where_messages_are_delivered_as_they_arrive(order: str) -> None:
    result = check(broken_rst.DeliversWhatArrives, 2, 2, orders=(order,))
    assert violations(result) == {order: 2 if order == "synchronous" else 3}
    assert not keeps_by_definition(result, order)


# -- the tables are complete -------------------------------------------------------------------------------------------


def test_every_machine_is_in_a_table() -> None:
    machines = {
        value
        for table in TABLES
        for value in vars(table).values()
        if isinstance(value, type) and value.__module__ == table.__name__ and {*value.__mro__} & {*PROTOCOLS.values()}
    }
    assert machines == {row.machine for row in ROWS}


def test_every_protocol_has_faults_of_its_own() -> None:
    planted = Counter(original(kind) for kind in {row.machine for row in PLANTED})
    assert {kind for kind in PROTOCOLS.values() if not planted[kind]} == {Unordered}
    assert (planted[Rst], planted[Buffer], planted[MurtyGarg]) == (19, 20, 19)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_property_of_every_protocol_is_broken_by_some_fault(protocol: str) -> None:
    caught = {catch.property for _, catch in CATCHES} | {catch.property for _, catch in BROKEN_PROGRAMS}
    kind = PROTOCOLS[protocol]
    for program in (False, True):
        decided = properties_of(kind(3), default_orders(kind), program=program)
        missed = {known.name for known in decided if known.kind != "sometimes"} - caught
        assert not missed, "give `BROKEN` a machine that violates it"


@pytest.mark.parametrize(
    ("kind", "situation"),
    [
        (broken_rst.AsksForMore, "delivers-something"),
        (broken_rst.DeliversWhatArrives, "holds-back"),
        (broken_buffer.RefusesWhileItWaits, "a-message-waits-for-an-acknowledgement"),
        (broken_buffer.NeverEnqueues, "an-input-buffer-holds-two"),
        (broken_murty_garg.SendsWhilePassive, "a-send-waits-for-an-acknowledgement"),
        (broken_murty_garg.AcknowledgesWhilePassive, "an-acknowledgement-is-withheld"),
    ],
)
def test_a_machine_that_never_comes_into_a_situation_is_not_said_to_reach_it(
    kind: type[ProtocolMachine], situation: str
) -> None:
    assert situation in never_reached(check(kind, 3, 3))
    assert situation not in never_reached(check(original(kind), 3, 3))


# -- variations --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", HARMLESS, ids=name_of)
def test_a_harmless_variation_keeps_every_property(row: Harmless) -> None:
    result = check(row.machine, row.processes, row.messages, **row.setup._asdict())
    assert result.verdict == "holds"
    assert violations(result) == {}
    assert never_reached(result) == row.never_reaches
    assert result.exploration.states == row.states


@pytest.mark.parametrize(
    "kind",
    [
        broken_rst.MergesBeforeIncrementing,
        broken_rst.MergesAllButItsOwnColumn,
        broken_rst.ReadsItsColumnForDeliv,
        broken_rst.IncrementsBeforeSending,
        broken_murty_garg.ReversesTheRanks,
    ],
)
@pytest.mark.parametrize(("n", "m"), [(2, 3), (3, 3), (4, 2)])
def test_a_variation_that_is_the_protocol_in_other_words_has_its_counts(
    kind: type[ProtocolMachine], n: int, m: int
) -> None:
    found = [check(machine, n, m).exploration for machine in (kind, original(kind))]
    ours, its = ((one.states, one.transitions, one.depth, one.terminal_states) for one in found)
    assert ours == its


def test_posting_on_to_the_same_receiver_needs_a_transport_that_does_not_reorder() -> None:
    assert violations(check(BufferPipelined, 2, 2)) == {"fifo": 6, "causal": 6}
    assert violations(check(BufferPipelined, 3, 3, channel="fifo")) == {}


def test_a_send_that_never_happens_is_missed() -> None:
    """What a smaller process gets back it acknowledges, and forgets that it was its own."""
    uncommitted = variant(
        MurtyGarg,
        commit_and_acknowledge=lambda self, i, state, j, message: MurtyGarg.commit_and_acknowledge(
            self, i, state, j, message
        )._replace(events=[] if message.sender == i else [self.commit(i, message)]),
    )
    assert violations(check(uncommitted, 2, 1)) == {"never-blocks": 4}


def test_a_protocol_that_needs_further_sends_to_go_on_is_caught_whatever_the_bound() -> None:
    """The output buffer waits for a second message: an even number of them is delivered, an odd one is not."""
    pairs = variant(Buffer, may_post=lambda self, state: Buffer.may_post(self, state) and len(state.output) >= 2)
    for m in (1, 2, 3, 4):
        assert violations(check(pairs, 2, m)) == {"delivers-all": 1}
