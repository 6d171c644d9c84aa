"""`check` and `prove` never say more of a planted fault than is true; what they see of each is on file."""

from __future__ import annotations

import pytest
from planted_fault_findings import (
    PAGE,
    Finding,
    at_smallest,
    exploration_of,
    finding,
    page,
    read,
)
from planted_faults import FAULTS, Fault

from crownless.impl.registry import PROTOCOLS

FINDINGS = read()


def name_of(fault: Fault) -> str:
    return fault.machine.__name__


def test_every_fault_has_a_finding_and_every_finding_a_fault() -> None:
    assert list(FINDINGS) == [fault.key for fault in FAULTS]


def test_the_page_says_what_is_on_file() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(FINDINGS.values())


def test_every_protocol_has_a_fault_in_each_of_its_parts() -> None:
    assert {fault.protocol for fault in FAULTS} == set(PROTOCOLS)
    for fault in FAULTS:
        assert fault.part


@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_both_engines_find_the_same_of_a_fault(fault: Fault) -> None:
    n, m = at_smallest(fault)
    assert exploration_of(fault.machine, n, m, "native") == exploration_of(fault.machine, n, m, "plain")


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_both_engines_find_the_same_of_a_fault_at_the_default_bound(fault: Fault) -> None:
    assert exploration_of(fault.machine, None, None, "native") == exploration_of(fault.machine, None, None, "plain")


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_what_is_on_file_is_what_is_found(fault: Fault) -> None:
    assert finding(fault) == FINDINGS[fault.key]


@pytest.mark.parametrize("found", FINDINGS.values(), ids=lambda found: "-".join(found.key))
def test_nothing_is_proved_that_a_check_finds_violated(found: Finding) -> None:
    assert not found.proved_although_violated
