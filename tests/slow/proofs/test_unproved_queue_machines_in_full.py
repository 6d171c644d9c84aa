"""What takes long of the tests in `test_unproved_queue_machines.py`."""

from __future__ import annotations

import pytest
from queue_proofs import QUEUES

import crownless as cr
from crownless.research.knobs.combinations import class_with_knobs, combinations


@pytest.mark.parametrize("protocol", QUEUES)
def test_no_combination_of_knobs_is_proved_by_the_proof_of_its_base(protocol: str) -> None:
    kind = class_with_knobs(protocol)
    for combination in combinations(kind):
        if sum(map(bool, combination.places)) < 2:
            assert cr.prove(combination.protocol).proved == [], combination.name
