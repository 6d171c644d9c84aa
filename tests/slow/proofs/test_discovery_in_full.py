"""What takes long of the tests in `test_discovery.py`."""

from __future__ import annotations

import pytest
from broken_matrix_variants import MergesNothing
from broken_rst import (
    AttachesOnlyTheColumn,
    ChecksOnlyTheSender,
    DeliversWhatArrives,
    IncrementsTheMirroredEntry,
    NeverMerges,
    ReplacesInsteadOfMerging,
)
from broken_ses import ChecksOnlyTheSendersEntry, NeverInsertsAPair, SendsOnlyThePairOfTheReceiver
from broken_ses import NeverMerges as NeverMergesPairs
from discovery_of_faults import nothing_follows

from crownless.impl.protocol import ProtocolMachine
from crownless.research.discovery.discovery import discover


@pytest.mark.parametrize(
    "machine",
    [
        *(DeliversWhatArrives, ChecksOnlyTheSender, AttachesOnlyTheColumn, NeverMerges, ReplacesInsteadOfMerging),
        *(IncrementsTheMirroredEntry, MergesNothing, NeverMergesPairs, SendsOnlyThePairOfTheReceiver),
        *(NeverInsertsAPair, ChecksOnlyTheSendersEntry),
    ],
    ids=lambda machine: machine.__name__,
)
def test_safety_follows_for_none_that_breaks(machine: type[ProtocolMachine]) -> None:
    assert nothing_follows(machine)


@pytest.mark.parametrize(
    ("protocol", "shown"),
    [
        ("rst-sent-alone", ("proved", "proved", "proved")),
        ("rst-before", ("proved", "proved", "proved")),
        ("ses", ("proved", "unknown", "unknown")),
        ("ses-delete", ("proved", "unknown", "unknown")),
        ("fifo-sequence", ("refuted", "unknown", "unknown")),
        ("rst-column", ("refuted", "unknown", "unknown")),
    ],
)
def test_how_far_it_goes_for_others(protocol: str, shown: tuple[str, str, str]) -> None:
    found = discover(protocol)
    assert (found.safe, found.waits_only_for_causes, found.live) == shown
    assert found.confirmed == (found.safe == "proved")
