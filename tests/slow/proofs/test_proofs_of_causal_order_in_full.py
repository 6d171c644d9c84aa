"""What takes long of the tests in `test_proofs_of_causal_order.py`."""

from __future__ import annotations

import pytest
from causal_order_proofs import CAUSAL, needed_by

#: What z3 finds by itself, and the second solver does not.
FOR_CVC5 = {"extra-messages": {"the one before on a channel happened before"}}


@pytest.mark.parametrize("protocol", CAUSAL)
def test_every_invariant_is_of_use(protocol: str) -> None:
    proof = CAUSAL[protocol]
    used = {hypothesis for hypotheses in needed_by(protocol).values() for hypothesis in hypotheses}
    assert proof.invariants.keys() - used == FOR_CVC5.get(protocol, set())
