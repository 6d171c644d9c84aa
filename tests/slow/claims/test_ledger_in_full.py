"""What takes long of the tests in `test_ledger.py`."""

from __future__ import annotations

from each_claim import each_claim

from crownless.research.claims.claim import Entry
from crownless.research.claims.ledger import recompute


@each_claim
def test_a_claim_has_the_verdict_that_is_recorded_in_the_full_run_too(entry: Entry) -> None:
    """And the full run, which looks for smaller counterexamples, finds those that are bundled."""
    (finding,) = recompute([entry])
    assert (finding.judged, finding.unlike_bundled) == (entry.judged, [])
