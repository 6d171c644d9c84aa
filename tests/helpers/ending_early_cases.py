"""What the tests of `test_ending_early.py` in several tiers share."""

from __future__ import annotations

#: Seconds; they only bound how long a failing test takes.
LONG = 120
