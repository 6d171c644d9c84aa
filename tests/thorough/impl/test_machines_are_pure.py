"""The bundled machines keep the contract without being watched: they are pure, of allowed values, and rank no process.

Engines trust them (`machine_calls`); what an engine would check of anybody's machine is checked of them here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from in_order import all_renamings, bound

from crownless.impl.free_message import FreeMessage
from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.protocols.extra_messages import ExtraMessages
from crownless.impl.protocols.extra_messages import State as CrowdedState
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.search.reachable import reachable
from crownless.model_check.system import message_names
from crownless.model_check.system.message_names import Sample
from crownless.model_check.system.request import Check
from crownless.model_check.system.values import key_of
from crownless.spec.computation import Message
from crownless.spec.enumeration import Sends

PROTOCOL = pytest.mark.parametrize("protocol", PROTOCOLS)
#: Protocols whose processes are not alike: by priorities, and by a server.
RANKED = {"murty-garg", "kearns"}


class Query(NamedTuple):
    """A query to one machine: an input, or whether the protocol's predicates hold."""

    name: str
    process: int
    state: Any
    argument: Message | Packet | int | None = None


@cache
def queries_of(protocol: str) -> dict[Query, None]:
    """All queries to the machine in any reachable state, each once; over an unordered channel, with messages to several
    processes or to oneself where its text has them.
    """
    kind = PROTOCOLS[protocol]
    sends: Sends = "multicast" if kind.admits_multicast else "unicast"
    check = Check(
        kind, *bound(protocol, 3, 2), channel="unordered", sends=sends, self_sends=kind.admits_self_sends
    ).resolve()
    system = check.system()
    every = dict.fromkeys(
        query
        for reached in reachable(system)
        for query in _queries_in(check.machine, reached.locals, system.in_flight(reached.state))
    )
    pending = check.workload.pending_sends(check.workload.start())
    states = {(query.process, query.state): None for query in every if query.name == "internal"}
    return every | dict.fromkeys(Query("send", i, state, m) for i, state in states for j, m, _ in pending if i == j)


def _queries_in(machine: ProtocolMachine, local: Any, flight: Iterable[Packet]) -> Iterator[Query]:
    for packet in flight:
        yield Query("on_packet", packet.destination, local[packet.destination], packet)
    for i, state in enumerate(local):
        yield Query("internal", i, state)
        yield Query("judged", i, state)
        for sender in (None, *range(machine.n)):
            yield Query("receive", i, state, sender)


def answer(machine: ProtocolMachine, query: Query) -> Any:
    name, i, state, argument = query
    if name == "judged":
        predicates = {**machine.invariants, **machine.witnesses}
        return {called: bool(holds(machine, i, state)) for called, holds in predicates.items()}
    if name == "internal":
        return Counter((called, tidy(step)) for called, step in machine.internal(i, state))
    if name == "on_packet" and not machine.deliverable(i, state, argument):  # type: ignore[arg-type]
        return "refused"
    return Counter(map(tidy, getattr(machine, name)(i, state, argument)))


#: An outcome: next state, packets in the order of each link, events.
Outcome = tuple[Any, tuple[Packet, ...], tuple[Any, ...]]


def tidy(step: Step) -> Outcome:
    """An outcome but for the order of packets on different links, which makes no difference."""
    return step.state, tuple(sorted(step.packets, key=lambda packet: packet[:2])), tuple(step.events)


@PROTOCOL
def test_values_keep_the_contract_and_equal_ones_are_the_same(protocol: str) -> None:
    every = queries_of(protocol)
    assert len(every) > 20
    values = {query.state for query in every} | {query.argument for query in every}
    keys = {key_of(value) for value in values}
    assert len(keys) == len(values)


@PROTOCOL
def test_the_same_input_gives_the_same_outcome_also_at_another_machine(protocol: str) -> None:
    """Nothing is remembered from the inputs before, and no input is changed."""
    every = queries_of(protocol)
    n = bound(protocol, 3, 2)[0]
    one, other = PROTOCOLS[protocol](n), PROTOCOLS[protocol](n)
    facts = vars(one).copy()
    answers = {query: answer(one, query) for query in every}
    assert {query: answer(other, query) for query in reversed(every)} == answers
    assert {query: answer(one, query) for query in every} == answers
    assert vars(one) == facts


@PROTOCOL
def test_outcomes_do_not_depend_on_the_names_of_messages(protocol: str) -> None:
    kind = PROTOCOLS[protocol]
    machine = kind(bound(protocol, 3, 2)[0])
    sample = Sample(in_order=kind.needs_channel != "unordered")
    with patch.object(message_names, "FIRST_EXAMINED", 1 << 40), patch.object(message_names, "FIRST_REPEATED", 1 << 40):
        for name, i, state, argument in queries_of(protocol):
            if name in message_names.METHODS:
                given = (i, state) if name == "internal" else (i, state, argument)
                accepted = name != "on_packet" or machine.deliverable(*given)
                method = getattr(machine, name if accepted else "deliverable")
                sample.compare(name, method, given, method(*given))


# -- symmetry, which the native engine compares where it relies on it (`test_declared_symmetry.py`) --------------------


def test_the_protocols_say_whether_they_rank_processes() -> None:
    assert {name for name, kind in PROTOCOLS.items() if not kind.symmetric} == RANKED


def test_several_extra_messages_at_once_treat_all_alike() -> None:
    """Two columns are too full: the next send of P1 to P2 takes two extra messages, which needs four processes."""
    machine, message = ExtraMessages(4), FreeMessage(0, (1,), 1)
    crowded = CrowdedState(((0, 0, 1, 1), (0, 0, 1, 1), (0, 0, 0, 1), (0, 0, 1, 0)), (0, 0, 0, 0))
    (step,) = machine.send(0, crowded, message)
    assert len(step.packets) == 3
    for renaming in all_renamings(4):
        packets = [machine.renamed_packet(packet, renaming) for packet in step.packets]
        expected = tidy(Step(machine.renamed(step.state, renaming), packets))
        state = machine.renamed(crowded, renaming)
        (renamed,) = machine.send(renaming.image[0], state, renaming.message(message))
        assert tidy(renamed._replace(events=())) == expected
