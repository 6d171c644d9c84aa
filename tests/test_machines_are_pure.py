"""Protocol machines are pure: immutable states, no hidden inputs, and no ranks."""

from __future__ import annotations

import ast
import inspect
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from itertools import permutations
from typing import Any, NamedTuple

import pytest
from in_order import bound, key

from crownless.impl import rst
from crownless.impl.ops import Integers
from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.registry import PROTOCOLS
from crownless.impl.renaming import Renaming
from crownless.impl.rst import Rst
from crownless.impl.workloads import Free
from crownless.model_check.values import refused_part
from crownless.spec.computation import Message
from crownless.spec.enumeration import Sends

#: Local states, what is in flight (in one fixed order), how many messages each channel has carried.
Global = tuple[tuple[Any, ...], tuple[Packet, ...], tuple[int, ...]]

#: An input: the method of the machine, and the arguments.
Input = tuple[str, tuple[Any, ...]]


def moves(machine: ProtocolMachine, free: Free, state: Global) -> Iterator[tuple[Input, Step, Global]]:
    """Every input that the machine may get, over an unordered channel, with its outcomes."""
    local, flight, position = state

    def after(i: int, step: Step, rest: tuple[Packet, ...], then: tuple[int, ...]) -> Global:
        return (*local[:i], step.state, *local[i + 1 :]), in_one_order((*rest, *step.packets)), then

    for i, message, then in free.pending_sends(position):
        for step in machine.send(i, local[i], message):
            yield ("send", (i, local[i], message)), step, after(i, step, flight, then)
    for i in range(machine.n):
        for _, step in machine.internal(i, local[i]):
            yield ("internal", (i, local[i])), step, after(i, step, flight, position)
        for step in machine.receive(i, local[i], None):
            yield ("receive", (i, local[i], None)), step, after(i, step, flight, position)
    for packet in dict.fromkeys(flight):
        i = packet.destination
        rest = tuple(x for place, x in enumerate(flight) if place != flight.index(packet))
        if machine.deliverable(i, local[i], packet):
            for step in machine.on_packet(i, local[i], packet):
                yield ("on_packet", (i, local[i], packet)), step, after(i, step, rest, position)


def in_one_order(packets: Iterable[Packet]) -> tuple[Packet, ...]:
    return tuple(sorted(packets, key=key))


def reachable(
    machine: ProtocolMachine, free: Free, at_most: int | None = None
) -> dict[Global, list[tuple[Input, Step, Global]]]:
    """Every reachable state, the nearest first, and what may happen there; or the first of them."""
    initial: Global = (tuple(machine.initial(i) for i in range(machine.n)), (), free.start())
    space: dict[Global, list[tuple[Input, Step, Global]]] = {}
    queue = deque([initial])
    while queue and len(space) != at_most:
        state = queue.popleft()
        if state not in space:
            space[state] = list(moves(machine, free, state))
            queue += [target for _, _, target in space[state]]
    return space


def workload(kind: type[ProtocolMachine], n: int, messages: int) -> Free:
    return Free(
        n, messages, self_sends=kind.admits_self_sends, sends="multicast" if kind.admits_multicast else "unicast"
    )


def name_of(kind: type[ProtocolMachine]) -> str:
    return next(name for name, known in PROTOCOLS.items() if known is kind)


protocols = pytest.mark.parametrize("kind", PROTOCOLS.values(), ids=PROTOCOLS)


@protocols
@pytest.mark.parametrize(("n", "messages"), [(2, 3), (3, 2)])
def test_local_states_and_packets_are_immutable_and_hashable(
    kind: type[ProtocolMachine], n: int, messages: int
) -> None:
    n, messages = bound(name_of(kind), n, messages)
    space = reachable(kind(n), workload(kind, n, messages))
    assert len(space) > 20
    for local, flight, _ in space:
        for value in (*local, *flight):
            hash(value)
            assert refused_part(value, "value") is None


@protocols
def test_the_same_input_gives_the_same_outcome_also_at_another_machine(kind: type[ProtocolMachine]) -> None:
    """Nothing is remembered from the inputs before, and no input is changed."""
    n, messages = bound(name_of(kind), 3, 2)
    machine = kind(n)
    space = reachable(machine, workload(kind, n, messages))
    facts = vars(machine).copy()
    fresh = kind(n)
    for state in reversed(list(space)):
        for (name, arguments), _, _ in space[state]:
            outcomes = [step for known, step, _ in space[state] if known == (name, arguments)]
            again = [step if isinstance(step, Step) else step[1] for step in getattr(fresh, name)(*arguments)]
            assert list(dict.fromkeys(map(_frozen, again))) == list(dict.fromkeys(map(_frozen, outcomes)))
    assert list(reachable(fresh, workload(kind, n, messages))) == list(space)
    assert vars(machine) == facts


def _frozen(step: Step) -> tuple[Any, ...]:
    return step.state, tuple(step.packets), tuple(step.events)


@protocols
def test_the_processes_start_in_states_that_can_be_computed_again(kind: type[ProtocolMachine]) -> None:
    assert [kind(3).initial(i) for i in range(3)] == [kind(3).initial(i) for i in range(3)]


@protocols
def test_no_machine_imports_clocks_chance_threads_or_the_system(kind: type[ProtocolMachine]) -> None:
    allowed = {"__future__", "collections", "typing", "dataclasses", "functools", "itertools", "enum", "crownless"}
    module = sys.modules[kind.__module__]
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            assert name.split(".")[0] in allowed, f"{module.__name__} imports {name}"
            assert not name.startswith("crownless.") or name.startswith("crownless.spec")


@protocols
def test_no_machine_uses_what_differs_from_run_to_run(kind: type[ProtocolMachine]) -> None:
    nodes = list(ast.walk(ast.parse(inspect.getsource(sys.modules[kind.__module__]))))
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"id", "hash", "open", "input", "print", "globals", "exec", "eval", "__import__"}
    assert not any(isinstance(node, ast.Global | ast.Nonlocal) for node in nodes)


def test_the_integers_do_what_their_names_say() -> None:
    ops = Integers(3)
    assert ops.vector(lambda k: k * k) == (0, 1, 4)
    assert ops.matrix(lambda k, l: 10 * k + l) == ((0, 1, 2), (10, 11, 12), (20, 21, 22))
    assert ops.every(lambda k: k < 3)
    assert not ops.every(lambda k: k < 2)
    assert ops.maximum(2, 1) == ops.maximum(1, 2) == 2
    assert ops.maximum((1, 5, 0), (2, 4, 0)) == (2, 5, 0)
    assert ops.maximum(((1, 5), (0, 3)), ((2, 4), (0, 4))) == ((2, 5), (0, 4))
    assert ops.incremented((1, 5, 0), 1) == (1, 6, 0)
    assert ops.incremented(((1, 5, 0), (0, 3, 2), (7, 8, 9)), 2, 0) == ((1, 5, 0), (0, 3, 2), (8, 8, 9))
    assert ops.maximum(2, 5) == ops.maximum(5, 2) == 5
    assert [ops.one_if(True), ops.one_if(True, False), ops.one_if(), ops.one_if(True, True)] == [1, 0, 1, 1]


# -- symmetry ----------------------------------------------------------------------------------------------------------


def all_renamings(n: int) -> list[Renaming]:
    return [Renaming(image) for image in permutations(range(n))]


def renamed_state(machine: ProtocolMachine, state: Global, free: Free, renaming: Renaming) -> Global:
    local, flight, position = state
    places = {channel: place for place, channel in enumerate(free.channels)}
    counts = [0] * len(position)
    for (sender, receivers), count in zip(free.channels, position, strict=True):
        counts[places[renaming.image[sender], tuple(sorted(renaming.processes(receivers)))]] = count
    return (
        renaming.vector(tuple(machine.renamed(one, renaming) for one in local)),
        in_one_order(machine.renamed_packet(packet, renaming) for packet in flight),
        tuple(counts),
    )


def is_symmetric(kind: type[ProtocolMachine], free: Free) -> bool:
    """Does every renaming of the processes map reachable states to reachable ones, and what may happen to what may?"""
    machine = kind(len(free.processes))
    space = reachable(machine, free)
    successors = {state: {target for _, _, target in happenings} for state, happenings in space.items()}
    for renaming in all_renamings(machine.n):
        for state, targets in successors.items():
            renamed = renamed_state(machine, state, free, renaming)
            if successors.get(renamed) != {renamed_state(machine, target, free, renaming) for target in targets}:
                return False
    return True


class Query(NamedTuple):
    """A query to one machine: an input, taken or refused, or whether the protocol's predicates hold."""

    name: str
    process: int
    #: The local state; for `agree` those of all processes.
    state: Any
    argument: Message | Packet | int | None = None


def queries_in(machine: ProtocolMachine, free: Free, state: Global) -> Iterator[Query]:
    """All queries to the machine in a state, over an unordered channel."""
    local, flight, position = state
    for i, message, _ in free.pending_sends(position):
        yield Query("send", i, local[i], message)
    for packet in flight:
        yield Query("on_packet", packet.destination, local[packet.destination], packet)
    for i in range(machine.n):
        yield Query("internal", i, local[i])
        yield Query("judged", i, local[i])
        for sender in (None, *range(machine.n)):
            yield Query("receive", i, local[i], sender)


def queries_after_a_crash(machine: ProtocolMachine, free: Free, state: Global) -> Iterator[Query]:
    """What the survivors agree on, and all queries to them once each has learned of it."""
    local, flight, position = state
    for crashed in range(machine.n if machine.rolls_back else 0):
        yield Query("agree", crashed, local)
        agreed = machine.agree(survivors(local, crashed), crashed)
        if agreed is not None:
            notices = [Packet(i, i, "agreed", None, agreed) for i in survivors(local, crashed)]
            yield from (Query("on_packet", packet.destination, local[packet.destination], packet) for packet in notices)
            after = list(local)
            for packet in notices:
                (step,) = machine.on_packet(packet.destination, local[packet.destination], packet)
                after[packet.destination] = step.state
            yield from queries_in(machine, free, (tuple(after), flight, position))


def survivors(local: tuple[Any, ...], crashed: int) -> dict[int, Any]:
    return {i: state for i, state in enumerate(local) if i != crashed}


def answer(machine: ProtocolMachine, query: Query) -> Any:
    name, i, state, argument = query
    if name == "judged":
        predicates = {**machine.invariants, **machine.witnesses}
        return {called: bool(holds(machine, i, state)) for called, holds in predicates.items()}
    if name == "agree":
        return machine.agree(survivors(state, i), i)
    if name == "internal":
        return Counter((called, tidy(step)) for called, step in machine.internal(i, state))
    if name == "on_packet" and not machine.deliverable(i, state, argument):  # type: ignore[arg-type]
        return "refused"
    return Counter(map(tidy, getattr(machine, name)(i, state, argument)))


#: An outcome: next state, packets in the order of each link, events.
Outcome = tuple[Any, tuple[Packet, ...], tuple[Any, ...]]


def tidy(step: Step) -> Outcome:
    """An outcome but for the order of what travels on different links, which makes no difference."""
    return step.state, tuple(sorted(step.packets, key=lambda packet: packet[:2])), tuple(step.events)


def renamed_query(machine: ProtocolMachine, query: Query, renaming: Renaming) -> Query:
    name, i, state, argument = query
    if name == "agree":
        state = renaming.vector(tuple(machine.renamed(one, renaming) for one in state))
    else:
        state = machine.renamed(state, renaming)
    if isinstance(argument, Packet):
        argument = machine.renamed_packet(argument, renaming)
    elif isinstance(argument, Message):
        argument = renaming.message(argument)
    else:
        argument = renaming.process(argument)
    return Query(name, renaming.image[i], state, argument)


def renamed_answer(machine: ProtocolMachine, name: str, answered: Any, renaming: Renaming) -> Any:
    def outcome(known: Outcome) -> Outcome:
        state, packets, events = known
        return tidy(
            Step(
                machine.renamed(state, renaming),
                [machine.renamed_packet(packet, renaming) for packet in packets],
                [event._replace(message=renaming.message(event.message)) for event in events],
            )
        )

    if name == "judged" or answered in (None, "refused"):
        return answered
    if name == "agree":
        return machine.renamed_stamp("agreed", answered, renaming)
    if name == "internal":
        return Counter({(called, outcome(known)): count for (called, known), count in answered.items()})
    return Counter({outcome(known): count for known, count in answered.items()})


def asymmetry(machine: ProtocolMachine, queries: Iterable[Query]) -> str | None:
    """What is otherwise once the processes are renamed: how one starts, what it answers, whom the promise is about."""
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
    return None if machine.ordered_at is None else f"the deliveries at {set(machine.ordered_at)} are ordered"


def all_queries(machine: ProtocolMachine, free: Free, at_most: int | None = None) -> dict[Query, None]:
    """Each once, of every reachable state or of the first of them."""
    queries = (queries_in, queries_after_a_crash)
    space = reachable(machine, free, at_most)
    return dict.fromkeys(q for state in space for source in queries for q in source(machine, free, state))


#: Garbage collection makes too many states at the usual bound: requests travel between all sites.
SMALLER = {"isis-gc": [(3, 1), (2, 2)], "isis-gc-waits": [(3, 1), (2, 2)]}

#: Protocols whose processes are not alike: by priorities, and by a server.
RANKED = {"murty-garg", "kearns"}


def frees(protocol: str, bounds: list[tuple[int, int]]) -> list[Free]:
    """The workloads over which a protocol is tried: messages to several processes, or to oneself, where its text has
    them.
    """
    kind = PROTOCOLS[protocol]
    sends: Sends = "multicast" if kind.admits_multicast else "unicast"
    alone = [Free(n, m, self_sends=True) for n, m in bounds if kind.admits_self_sends]
    return [Free(n, m, sends=sends) for n, m in bounds] + alone


SYMMETRIC = pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name not in RANKED])


def test_the_protocols_say_whether_they_rank_processes() -> None:
    assert {name for name, kind in PROTOCOLS.items() if not kind.symmetric} == RANKED


@SYMMETRIC
def test_renaming_the_processes_changes_nothing(protocol: str) -> None:
    for free in frees(protocol, SMALLER.get(protocol, [(3, 2)])):
        assert is_symmetric(PROTOCOLS[protocol], free)


@SYMMETRIC
def test_what_renamed_processes_do_is_what_the_processes_do_renamed(protocol: str) -> None:
    """Outcome for outcome, which is more: tables of what one process does serve all of them."""
    for free in frees(protocol, [*SMALLER.get(protocol, [(3, 2)]), (2, 3 if protocol not in SMALLER else 2)]):
        machine = PROTOCOLS[protocol](len(free.processes))
        assert asymmetry(machine, all_queries(machine, free)) is None


@SYMMETRIC
def test_renaming_there_and_back_leaves_every_value_as_it_is(protocol: str) -> None:
    for free in frees(protocol, SMALLER.get(protocol, [(3, 2)])):
        machine = PROTOCOLS[protocol](len(free.processes))
        space = reachable(machine, free)
        for there in all_renamings(machine.n):
            back = Renaming(there.inverse)
            for value in {value for local, _, _ in space for value in local}:
                assert machine.renamed(machine.renamed(value, there), back) == value
            for packet in {packet for _, flight, _ in space for packet in flight}:
                assert machine.renamed_packet(machine.renamed_packet(packet, there), back) == packet


def test_a_crash_changes_nothing_of_that() -> None:
    """With three messages, so that survivors have something to rewind."""
    machine, free = PROTOCOLS["ses-rollback"](3), Free(3, 3)
    queries = dict.fromkeys(
        query for state in reachable(machine, free) for query in queries_after_a_crash(machine, free, state)
    )
    arrivals = [query for query in queries if query.name == "on_packet"]
    undone = {event.kind for arrival in arrivals for _, _, events in answer(machine, arrival) for event in events}
    assert undone == {"unsend", "orphan"}
    assert asymmetry(machine, queries) is None


@pytest.mark.parametrize("protocol", sorted(RANKED))
def test_a_protocol_that_ranks_its_processes_is_caught(protocol: str) -> None:
    machine, free = PROTOCOLS[protocol](3), Free(3, 2)
    assert not is_symmetric(PROTOCOLS[protocol], free)
    assert str(asymmetry(machine, all_queries(machine, free))).startswith("Query")


class PrefersTheFirst(Rst):
    """Lets messages of the first process through at once."""

    def deliverable(self, i: int, state: rst.State, packet: Packet) -> bool:
        return bool(packet.source == 0 or super().deliverable(i, state, packet))


class StartsWithMore(Rst):
    """The first process starts with a message of the second delivered that nobody sent."""

    def initial(self, i: int) -> rst.State:
        return super().initial(i)._replace(deliv=self.ops.vector(lambda k: self.ops.one_if(i == 0, k == 1)))


@pytest.mark.parametrize("kind", [PrefersTheFirst, StartsWithMore])
def test_a_protocol_that_favours_a_process_is_caught(kind: type[Rst]) -> None:
    machine, free = kind(3), Free(3, 2)
    assert not is_symmetric(kind, free)
    assert asymmetry(machine, all_queries(machine, free)) is not None
