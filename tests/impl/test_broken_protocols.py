"""Every planted fault is caught by the property that names it; every variation that is none goes unnoticed."""

from __future__ import annotations

from collections import Counter

import broken_murty_garg
import broken_rst
import pytest
from broken_protocols import BROKEN_PROGRAMS, PLANTED, ROWS, TABLES
from catches import CATCHES, keeps_by_definition, original
from replay import check, violations

from crownless.impl.protocols.buffer import Buffer
from crownless.impl.protocols.buffer_pipelined import BufferPipelined
from crownless.impl.protocols.murty_garg import MurtyGarg
from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.registry import PROTOCOLS
from crownless.impl.variant import variant
from crownless.model_check.system.properties import default_orders, properties_of
from crownless.spec.orders import telling


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
