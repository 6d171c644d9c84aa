"""Both engines find the same of every planted fault, and nothing is proved that a run denies; see the page."""

from __future__ import annotations

import pytest
from fault_operators import LAST_PROCESS, arrives_as, changed_steps, components, drops_last_packet, subclass
from fault_searches import check_of, of_the_right_machine, searches_of
from fault_strikes import OtherStep, compared, other_steps, strikes_in
from planted_fault_findings import exploration_of, finding, read, small_bound, violations
from planted_fault_page import PAGE, REASONS, page, reasons_for
from planted_faults import Fault, candidates, faults, key_of

from crownless.impl.cbcast import Cbcast
from crownless.impl.fifo_ack import FifoAck
from crownless.impl.protocol import Packet
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.request import Check

FAULTS = faults()

#: Some faults let states grow for ever.
ENOUGH = 5_000

#: Components that no step changes: the text keeps no record of what a site has deleted.
CONSTANT = {("isis-gc", "deleted")}


slow = pytest.mark.slow


def name_of(fault: Fault) -> str:
    return fault.machine.__name__


def test_every_protocol_has_a_fault_in_each_of_its_parts() -> None:
    for protocol, kind in PROTOCOLS.items():
        parts = {fault.part for fault in FAULTS if fault.protocol == protocol}
        assert parts >= {"guard", "packets", "events", "step", "index"}
        changing = [
            name for name in components(kind) if name not in kind.constants and (protocol, name) not in CONSTANT
        ]
        assert parts >= {f"state: {name}" for name in changing}


def test_every_fault_has_a_finding() -> None:
    assert list(read()) == [key_of(fault) for fault in FAULTS]


def test_the_page_says_what_is_on_file() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read().values())


def test_nothing_is_proved_that_a_run_denies() -> None:
    for found in read().values():
        assert not found.proved_although_violated, found.key


def test_what_no_check_sees_says_how_far_was_looked_and_why() -> None:
    for found in read().values():
        seen = bool(found.default or found.seen_at)
        assert found.strikes_in, found.key
        assert seen != bool(found.unseen_at), found.key
        assert len(reasons_for(found.key)) == (found.where == "unnoticed"), found.key


def test_every_reason_is_that_of_a_fault() -> None:
    given = [reason for found in read().values() for reason in reasons_for(found.key)]
    assert all(reason in given for reason in REASONS)


def test_a_machine_that_makes_every_step_as_the_right_one_is_no_fault() -> None:
    """What a broadcast does on arrival depends on its vector alone: who sent it makes no difference there."""

    def from_neighbour(machine: Cbcast, i: int, packet: Packet) -> Packet:
        return packet._replace(source=(packet.source + 1) % machine.n)

    assert strikes_in("cbcast", arrives_as(Cbcast, "takes the sender for its neighbour", from_neighbour)) is None
    assert strikes_in("fifo-ack", arrives_as(FifoAck, "takes the sender for its neighbour", from_neighbour)) == "(2, 2)"


def test_a_machine_is_compared_step_by_step() -> None:
    silent = changed_steps(FifoAck, "on_packet", "on_packet drops its last packet", drops_last_packet)
    small = Check("fifo-ack", 2, 2)
    assert check_of(compared(FifoAck, [subclass(FifoAck, "is another class", {})]), small).verdict == "holds"
    with pytest.raises(OtherStep):
        check_of(compared(FifoAck, [silent]), small)


def test_what_the_protocol_itself_breaks_is_no_sign_of_a_fault() -> None:
    right = of_the_right_machine("rendezvous", None)
    assert violations(right) == "delivers-all 2; never-blocks 2"
    assert violations(right, right) == ""


def test_a_program_shows_that_the_last_process_acknowledges_nothing() -> None:
    """In the free workload the other process goes on sending in its stead."""
    change = drops_last_packet
    silent = changed_steps(FifoAck, "on_packet", "on_packet drops its last packet", change, LAST_PROCESS)
    name = "one-way-12"
    (number,) = [number for number, search in enumerate(searches_of("fifo-ack")) if search.name == name]
    assert not violations(check_of(silent, Check("fifo-ack")), of_the_right_machine("fifo-ack", None))
    program = searches_of("fifo-ack")[number].check
    assert violations(check_of(silent, program), of_the_right_machine("fifo-ack", number)) == "completes 2"


@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_both_engines_find_the_same_of_a_fault(fault: Fault) -> None:
    bound = small_bound(fault)
    assert exploration_of(fault.machine, bound, "native", ENOUGH) == exploration_of(
        fault.machine, bound, "plain", ENOUGH
    )


@slow
@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_both_engines_find_the_same_of_a_fault_at_the_default_bound(fault: Fault) -> None:
    assert exploration_of(fault.machine, None, "native") == exploration_of(fault.machine, None, "plain")


@slow
@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_what_is_on_file_is_what_is_found(fault: Fault) -> None:
    assert finding(fault) == read()[key_of(fault)]


@slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_left_out_makes_every_step_as_the_right_machine(protocol: str) -> None:
    left_out = [fault.machine for fault in candidates() if fault.protocol == protocol and fault not in FAULTS]
    assert not other_steps(protocol, left_out)
