"""The bundled machines keep the contract without being watched: they are pure, of allowed values, and rank no process.

Engines trust them (`machine_calls`); what an engine would check of anybody's machine is checked of them here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest
from in_order import all_renamings, bound

from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.protocols.extra_messages import ExtraMessages
from crownless.impl.protocols.extra_messages import State as CrowdedState
from crownless.impl.protocols.free_message import FreeMessage
from crownless.impl.protocols.rst import Rst
from crownless.impl.registry import PROTOCOLS
from crownless.impl.renaming import Renaming
from crownless.impl.variants import variant
from crownless.model_check.check.request import Check
from crownless.model_check.search.reachable import reachable
from crownless.model_check.system.system import CRASHED
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
    #: The local state; for `agree` those of the survivors.
    state: Any
    argument: Message | Packet | int | None = None


def queries(kind: type[ProtocolMachine], n: int, messages: int, crash: str | None = None) -> dict[Query, None]:
    """All queries to the machine in any reachable state, each once; over an unordered channel, with messages to several
    processes or to oneself where its text has them.
    """
    sends: Sends = "multicast" if kind.admits_multicast else "unicast"
    check = Check(
        kind, n, messages, channel="unordered", sends=sends, self_sends=kind.admits_self_sends, crash=crash
    ).resolve()
    system = check.system()
    every = dict.fromkeys(
        query
        for reached in reachable(system)
        for query in _queries_in(check.machine, reached.locals, system.in_flight(reached.state), crash is not None)
    )
    pending = check.workload.pending_sends(check.workload.start())
    states = {(query.process, query.state): None for query in every if query.name == "internal"}
    return every | dict.fromkeys(Query("send", i, state, m) for i, state in states for j, m, _ in pending if i == j)


def _queries_in(machine: ProtocolMachine, local: Any, flight: Iterable[Packet], crash: bool) -> Iterator[Query]:
    alive = {i: state for i, state in enumerate(local) if state is not CRASHED}
    for packet in flight:
        if packet.destination in alive:
            yield Query("on_packet", packet.destination, alive[packet.destination], packet)
    for i, state in alive.items():
        yield Query("internal", i, state)
        yield Query("judged", i, state)
        for sender in (None, *range(machine.n)):
            yield Query("receive", i, state, sender)
    if crash and len(alive) < machine.n:
        (crashed,) = {*range(machine.n)} - alive.keys()
        yield Query("agree", crashed, tuple(alive.items()))


def answer(machine: ProtocolMachine, query: Query) -> Any:
    name, i, state, argument = query
    if name == "judged":
        predicates = {**machine.invariants, **machine.witnesses}
        return {called: bool(holds(machine, i, state)) for called, holds in predicates.items()}
    if name == "agree":
        return machine.agree(dict(state), i)
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


def renamed_query(machine: ProtocolMachine, query: Query, renaming: Renaming) -> Query:
    name, i, state, argument = query
    if name == "agree":
        state = tuple(sorted((renaming.image[j], machine.renamed(one, renaming)) for j, one in state))
    else:
        state = machine.renamed(state, renaming)
    if isinstance(argument, Packet):
        argument = machine.renamed_packet(argument, renaming)
    else:
        argument = renaming.message(argument) if isinstance(argument, Message) else renaming.process(argument)
    return Query(name, renaming.image[i], state, argument)


def renamed_answer(machine: ProtocolMachine, name: str, answered: Any, renaming: Renaming) -> Any:
    def outcome(known: Outcome) -> Outcome:
        state, packets, events = known
        packets = tuple(machine.renamed_packet(packet, renaming) for packet in packets)
        events = tuple(event._replace(message=renaming.message(event.message)) for event in events)
        return tidy(Step(machine.renamed(state, renaming), packets, events))

    if name == "judged" or answered in (None, "refused"):
        return answered
    if name == "agree":
        return machine.renamed_stamp("agreed", answered, renaming)
    if name == "internal":
        return Counter({(called, outcome(known)): count for (called, known), count in answered.items()})
    return Counter({outcome(known): count for known, count in answered.items()})


def asymmetry(machine: ProtocolMachine, queries: Iterable[Query]) -> str | None:
    """The first difference once the processes are renamed: in how one starts, or in what it answers."""
    renamings = all_renamings(machine.n)
    for renaming in renamings:
        for i in range(machine.n):
            if machine.renamed(machine.initial(i), renaming) != machine.initial(renaming.image[i]):
                return f"the start of process {i}, {renaming}"
    for query in queries:
        known = answer(machine, query)
        for renaming in renamings:
            renamed = renamed_query(machine, query, renaming)
            if answer(machine, renamed) != renamed_answer(machine, query.name, known, renaming):
                return f"{query}, {renaming}"
            if renamed_query(machine, renamed, Renaming(renaming.inverse)) != query:
                return f"{query} there and back, {renaming}"
    return None


@cache
def queries_of(protocol: str) -> dict[Query, None]:
    return queries(PROTOCOLS[protocol], *bound(protocol, 3, 2))


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


# -- symmetry ----------------------------------------------------------------------------------------------------------


def test_the_protocols_say_whether_they_rank_processes() -> None:
    assert {name for name, kind in PROTOCOLS.items() if not kind.symmetric} == RANKED


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name not in RANKED])
def test_renamed_processes_do_the_same_renamed(protocol: str) -> None:
    """Outcome for outcome: tables of one process serve all."""
    machine = PROTOCOLS[protocol](bound(protocol, 3, 2)[0])
    assert asymmetry(machine, queries_of(protocol)) is None


def test_a_crash_changes_nothing_of_that() -> None:
    every = queries(PROTOCOLS["ses-rollback"], 3, 2, crash="P3")
    assert "agree" in {query.name for query in every}
    assert asymmetry(PROTOCOLS["ses-rollback"](3), every) is None


def test_several_extra_messages_at_once_treat_all_alike() -> None:
    """Two columns are too full: the next send of P1 to P2 takes two extra messages, which needs four processes."""
    crowded = CrowdedState(((0, 0, 1, 1), (0, 0, 1, 1), (0, 0, 0, 1), (0, 0, 1, 0)), (0, 0, 0, 0))
    query = Query("send", 0, crowded, FreeMessage(0, (1,), 1))
    assert [len(step.packets) for step in ExtraMessages(4).send(0, crowded, FreeMessage(0, (1,), 1))] == [3]
    assert asymmetry(ExtraMessages(4), [query]) is None


@pytest.mark.parametrize("protocol", sorted(RANKED))
def test_a_protocol_that_ranks_its_processes_is_caught(protocol: str) -> None:
    assert str(asymmetry(PROTOCOLS[protocol](3), queries_of(protocol))).startswith("Query")


def test_a_protocol_that_favours_a_process_is_caught() -> None:
    prefers = variant(
        Rst, deliverable=lambda self, i, s, packet: packet.source == 0 or Rst.deliverable(self, i, s, packet)
    )
    assert asymmetry(prefers(3), queries(prefers, 3, 2)) is not None
