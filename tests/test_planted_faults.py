"""Both engines find the same of every planted fault, and nothing is proved that a run denies; see the page."""

from __future__ import annotations

import pytest
from fault_operators import components
from planted_fault_findings import PAGE, exploration_of, finding, key_of, page, read, small_bound
from planted_faults import FAULTS, Fault

from crownless.impl.registry import PROTOCOLS

#: Some faults let states grow for ever.
ENOUGH = 5_000


def name_of(fault: Fault) -> str:
    return fault.machine.__name__


def test_every_protocol_has_a_fault_in_each_of_its_parts() -> None:
    for protocol, kind in PROTOCOLS.items():
        parts = {fault.part for fault in FAULTS if fault.protocol == protocol}
        assert parts >= {"guard", "packets", "events", "step", "index"}
        assert len([part for part in parts if part.startswith("state: ")]) >= min(1, len(components(kind)))


def test_every_fault_has_a_finding() -> None:
    assert list(read()) == [key_of(fault) for fault in FAULTS]


def test_the_page_says_what_is_on_file() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(read().values())


def test_nothing_is_proved_that_a_run_denies() -> None:
    for found in read().values():
        assert not found.proved_although_violated, found.key


def test_what_no_check_sees_says_up_to_which_bound() -> None:
    for found in read().values():
        assert found.default or found.seen_at or found.unseen_at, found.key


@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_both_engines_find_the_same_of_a_fault(fault: Fault) -> None:
    bound = small_bound(fault)
    assert exploration_of(fault.machine, bound, "native", ENOUGH) == exploration_of(
        fault.machine, bound, "plain", ENOUGH
    )


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_both_engines_find_the_same_of_a_fault_at_the_default_bound(fault: Fault) -> None:
    assert exploration_of(fault.machine, None, "native") == exploration_of(fault.machine, None, "plain")


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=name_of)
def test_what_is_on_file_is_what_is_found(fault: Fault) -> None:
    assert finding(fault) == read()[key_of(fault)]
