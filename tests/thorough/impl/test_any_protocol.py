"""Any protocol, driven at random over any channel over which it promises something, keeps what it promises.

Random walks, of more processes and messages than are explored, are judged by the monitors of a check; other random
runs by the spec itself. Driven with a broken protocol the walks find the fault.
"""

from __future__ import annotations

from typing import Any

import pytest
from broken_murty_garg import SendsWhilePassive
from broken_rst import AsksForMore, DeliversWhatArrives
from hypothesis import given, settings
from hypothesis import strategies as st

from crownless.impl.protocol import ProtocolMachine, promised_orders
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.registry import PROTOCOLS
from crownless.impl.variant import variant
from crownless.model_check.runs.run_diagrams import computation_of_run
from crownless.spec.orders import decide, kept_at
from crownless.testing import schedules, stateful

#: The channels over which the papers promise anything, by the channel they need: what arrives, arrives once.
ENOUGH = {"unordered": ("unordered", "fifo", "lossy", "lossy-fifo"), "fifo": ("fifo",)}
#: Protocols that do not keep what they promise.
UNSAFE = ("rst-column", "isis-gc")
#: And one that does not deliver everything.
DEADLOCKS = ("rendezvous",)

PROMISED = pytest.mark.parametrize(
    ("protocol", "channel"),
    [(name, channel) for name, kind in PROTOCOLS.items() for channel in ENOUGH[kind.needs_channel]],
)


def walk(kind: type[ProtocolMachine], channel: str, walks: int, **facts: Any) -> None:
    """Walks at random, and searches on with hypothesis; raises what fails."""
    case = stateful(kind, channel=channel, processes=(2, 4), messages=5, walks=walks, **facts).TestCase
    case.settings = settings(case.settings, max_examples=5, derandomize=True, database=None)
    case().runTest()


@PROMISED
def test_any_protocol_keeps_what_it_promises_and_delivers_everything(protocol: str, channel: str) -> None:
    order = {"orders": "asynchronous"} if protocol in UNSAFE else {}
    walk(PROTOCOLS[protocol], channel, 5, delivers_all=protocol not in DEADLOCKS, **order)


@PROMISED
@given(st.data())
def test_the_spec_says_that_any_run_keeps_what_is_promised(protocol: str, channel: str, data: st.DataObject) -> None:
    kind = PROTOCOLS[protocol]
    run = data.draw(schedules(kind, processes=(2, 4), messages=5, steps=40, channel=channel))
    happened = [event for action in run.actions for event in action.happened]
    if {message for _, message in happened} > {message for kind_, message in happened if kind_ == "send"}:
        return  # what is delivered and not yet sent is in no computation
    computation = computation_of_run(run)
    assert computation is not None, "a message is delivered twice"
    at = kind(len(run.processes)).ordered_at
    if protocol not in UNSAFE:
        [order] = promised_orders(kind)
        assert decide(computation, order, "pending").kept if at is None else kept_at(computation, order, at)


DoesNotWait = variant(Buffer, may_post=lambda self, state: True)


@pytest.mark.parametrize(
    ("kind", "channel", "complaint"),
    [
        (DeliversWhatArrives, "unordered", "causal: violated"),
        (DoesNotWait, "unordered", "causal: violated"),
        (DoesNotWait, "lossy", "causal: violated"),
        (PROTOCOLS["rst-column"], "unordered", "causal: violated"),
        (PROTOCOLS["kearns"], "unordered", "causal: violated"),
        (SendsWhilePassive, "unordered", "synchronous: violated"),
        (AsksForMore, "unordered", "never delivered"),
        (PROTOCOLS["rendezvous"], "unordered", "never delivered"),
    ],
)
def test_a_broken_protocol_is_found_out(kind: type[ProtocolMachine], channel: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        walk(kind, channel, 100)
