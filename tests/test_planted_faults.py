"""`check` and `prove` never say more of a planted fault than is true; what they see of each is on file."""

from __future__ import annotations

import pytest
from fault_operators import components
from planted_fault_findings import PAGE, Finding, exploration_of, finding, key_of, page, read, small_bound
from planted_faults import FAULTS, Fault

from crownless.impl.registry import PROTOCOLS

FINDINGS = read()

#: Components of local states that nothing changes, with two processes and two messages.
UNCHANGED: set[str] = set()


def name_of(fault: Fault) -> str:
    return fault.machine.__name__


def test_every_fault_has_a_finding_and_every_finding_a_fault() -> None:
    assert list(FINDINGS) == [key_of(fault) for fault in FAULTS]


def test_the_page_says_what_is_on_file() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(FINDINGS.values())


def test_every_protocol_has_a_fault_in_each_of_its_parts() -> None:
    for protocol, kind in PROTOCOLS.items():
        parts = {fault.part for fault in FAULTS if fault.protocol == protocol}
        assert parts >= {f"state: {field}" for field in components(kind) if protocol != "rst-sent-alone"} - UNCHANGED
        assert parts >= {"guard", "packets", "events", "step", "index"}


@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_both_engines_find_the_same_of_a_fault(fault: Fault) -> None:
    bound = small_bound(fault)
    assert exploration_of(fault.machine, bound, "native") == exploration_of(fault.machine, bound, "plain")


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_both_engines_find_the_same_of_a_fault_at_the_default_bound(fault: Fault) -> None:
    assert exploration_of(fault.machine, None, "native") == exploration_of(fault.machine, None, "plain")


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_what_is_on_file_is_what_is_found(fault: Fault) -> None:
    assert finding(fault) == FINDINGS[key_of(fault)]


@pytest.mark.parametrize("found", FINDINGS.values(), ids=lambda found: "-".join(found.key))
def test_nothing_is_proved_that_a_check_finds_violated(found: Finding) -> None:
    assert not found.proved_although_violated
