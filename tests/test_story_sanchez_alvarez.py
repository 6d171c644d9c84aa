"""[SA], replayed on the machines: what its §3 says of constraints and matrices, its claims, and what it leaves open."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from broken_extra_messages import (
    FOUR_ENTRIES,
    AllowsK,
    ChecksAllButTheSender,
    ExtraMessagesNeverWait,
    KeepsItsOwnColumn,
    KeepsTheColumn,
)
from broken_rst import NeverCountsTheDeliveredAsSent
from hypothesis import given
from hypothesis import strategies as st
from replay import over

from crownless.impl import extra_messages, rst
from crownless.impl.channels import Unordered
from crownless.impl.extra_messages import ExtraMessages
from crownless.impl.protocol import Packet, ProtocolMachine, Setting
from crownless.impl.rst import Rst
from crownless.impl.workloads import Free, Program
from crownless.model_check.search.generating import Form, generate
from crownless.model_check.search.reachable import reachable
from crownless.model_check.system.system import System
from crownless.proofs.claims.matrices import LockstepProduct, guards_in
from crownless.spec import notation

#: A k that no matrix of three or four processes reaches.
NEVER = 100


def everything(machine: ProtocolMachine, m: int) -> System:
    """Any process may send to any other, m messages in all."""
    return over(machine, Free(machine.n, m))


def running(machine: ProtocolMachine, program: str) -> System:
    return over(machine, Program(notation.parse(program)))


# -- §3: the matrix and the set of constraints -------------------------------------------------------------------------


def beside_rst(n: int, k: Setting, kind: type[ExtraMessages] = ExtraMessages) -> LockstepProduct:
    """The protocol, and with it the matrix protocol, which sees the same user messages and decides nothing."""
    return LockstepProduct(kind(n, parameters={"k": k}), Rst(n))


def guards(system: System) -> set[tuple[bool, bool]]:
    """Of every user message in flight: whether it would be delivered, and whether the matrix protocol would do so."""
    return set[tuple[bool, bool]]().union(*map(guards_in, reachable(system)))


@pytest.mark.parametrize(("n", "m"), [(3, 4), (4, 3)])
def test_clearing_columns_changes_no_verdict_the_sparse_stamp_is_the_full_matrix(n: int, m: int) -> None:
    assert guards(everything(beside_rst(n, NEVER), m)) == {(True, True), (False, False)}


@st.composite
def matrices(draw: st.DrawFn) -> tuple[tuple[int, ...], ...]:
    n = draw(st.integers(1, 5))
    row = st.lists(st.integers(0, 3), min_size=n, max_size=n).map(tuple)
    return tuple(draw(st.lists(row, min_size=n, max_size=n)))


@given(matrices())
def test_the_tuples_lose_nothing_and_carry_no_zero(matrix: tuple[tuple[int, ...], ...]) -> None:
    machine = ExtraMessages(len(matrix))
    entries = machine.entries(matrix)
    assert machine.matrix_of(entries) == matrix
    assert all(value > 0 for _, _, value in entries)
    assert len(entries) == sum(value > 0 for row in matrix for value in row)


@given(matrices(), st.data())
def test_the_set_of_constraints_is_satisfied_where_the_column_is_covered(
    matrix: tuple[tuple[int, ...], ...], data: st.DataObject
) -> None:
    n = len(matrix)
    i = data.draw(st.integers(0, n - 1))
    deliv = tuple(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    machine = ExtraMessages(n)
    entries = machine.entries(matrix)
    constraints = [deliv[k] >= value for k, l, value in entries if l == i]
    state = extra_messages.State(matrix, deliv)
    packet = Packet(0, i, "message", None, entries)
    assert machine.deliverable(i, state, packet) == all(constraints)
    assert machine.deliverable(i, state, packet) == Rst(n).deliverable(
        i, rst.State(matrix, deliv), packet._replace(stamp=matrix)
    )


@pytest.mark.parametrize(
    "machine", [NeverCountsTheDeliveredAsSent(3), KeepsItsOwnColumn(3, parameters={"k": NEVER})], ids=["rst", "sparse"]
)
def test_what_the_own_column_asks_for_is_always_delivered_already(machine: ProtocolMachine) -> None:
    system = everything(machine, 4)
    behind = 0
    for now in reachable(system):
        for i, local in enumerate(now.locals):
            matrix = local.sent if isinstance(local, rst.State) else local.matrix
            assert all(row[i] <= delivered for row, delivered in zip(matrix, local.deliv, strict=True))
            behind += any(row[i] < delivered for row, delivered in zip(matrix, local.deliv, strict=True))
    assert behind


# -- §3: extra messages ------------------------------------------------------------------------------------------------


def test_extra_messages_only_strengthen_the_constraints() -> None:
    for system in (everything(beside_rst(3, 2), 4), running(beside_rst(3, 4), FOUR_ENTRIES)):
        assert guards(system) == {(True, True), (False, False), (False, True)}
    assert (True, False) in guards(running(beside_rst(3, 4, ExtraMessagesNeverWait), FOUR_ENTRIES))


@pytest.mark.parametrize(("n", "m", "k"), [(3, 3, 1), (3, 3, 2), (3, 4, 3)])
def test_with_fewer_messages_or_a_greater_k_nothing_is_delayed(n: int, m: int, k: int) -> None:
    assert guards(everything(beside_rst(n, k), m)) == {(True, True), (False, False)}


def generated(machine: ProtocolMachine, m: int) -> frozenset[Form]:
    return generate(machine, Free(machine.n, m), Unordered).forms


@pytest.mark.parametrize(
    ("n", "m", "ks", "count"),
    [
        (3, 4, (2, 3), 2460),
        (4, 3, (2,), 1815),
        pytest.param(3, 5, (1, 2, 3, 4), 19890, marks=pytest.mark.slow),
    ],
)
def test_the_stronger_constraints_delay_deliveries_and_exclude_no_computation(
    n: int, m: int, ks: tuple[int, ...], count: int
) -> None:
    # An extra message waits only for what later messages to the same process wait for as well: it may always be fast.
    causal = generated(Rst(n), m)
    assert len(causal) == count
    for k in ks:
        assert generated(ExtraMessages(n, parameters={"k": k}), m) == causal


def test_two_readings_of_the_threshold_differ_by_one() -> None:
    assert [largest(running(kind(3), FOUR_ENTRIES)) for kind in (ExtraMessages, AllowsK)] == [
        Largest(kept=3, carried=3, extra=2),
        Largest(kept=4, carried=4, extra=0),
    ]
    assert largest(running(AllowsK(3, parameters={"k": 3}), FOUR_ENTRIES)).kept == 3


class Largest(NamedTuple):
    """The most entries that any process keeps, any user message carries, any extra message carries."""

    kept: int
    carried: int
    extra: int


def largest(system: System) -> Largest:
    """In all reachable states."""
    machine = system.machine
    assert isinstance(machine, ExtraMessages)
    kept, carried, extra = [0], [0], [0]
    known: set[int] = set()
    for now in reachable(system):
        for number in set(now.state[: system.n]) - known:
            known.add(number)
            kept.append(len(machine.entries(system.local_state(number).matrix)))
        for step, _ in now.moves:
            for packet in system.transmitted(step):
                (carried if packet.message else extra).append(len(packet.stamp))
    return Largest(max(kept), max(carried), max(extra))


# -- §4 ----------------------------------------------------------------------------------------------------------------


def wrongly_numbered(machine: ExtraMessages, system: System) -> set[str]:
    """The kinds of packets of which one, number x from P_i to P_j, is taken in where DELIV_j[i] does not become x."""
    found = set()
    for now in reachable(system):
        for step, _ in now.moves:
            packet = step.action.packet
            if packet is not None:
                i, j = packet.source, packet.destination
                number = machine.matrix_of(packet.stamp)[i][j] + 1
                if system.local_state(step.local).deliv[i] != number:
                    found.add(packet.kind)
    return found


@pytest.mark.parametrize("k", [2, 3, NEVER])
def test_proposition_5_the_nth_message_is_the_nth_delivered_extra_messages_counted(k: int) -> None:
    machine = ExtraMessages(3, parameters={"k": k})
    assert wrongly_numbered(machine, everything(machine, 4)) == set()


def test_proposition_5_falls_with_the_constraints_about_the_senders_own_messages() -> None:
    machine = ChecksAllButTheSender(2)
    assert wrongly_numbered(machine, everything(machine, 2)) == {"message"}


def test_what_a_user_message_clears_need_not_be_passed_on() -> None:
    program = "P1: send a to P3; send b to P2\nP2: receive; send c to P3; send d to P1\nP3: receive; receive"
    assert largest(running(ExtraMessages(3), program)) == Largest(kept=2, carried=1, extra=0)
    assert largest(running(KeepsTheColumn(3), program)) == Largest(kept=3, carried=2, extra=0)
