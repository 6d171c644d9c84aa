"""What the tests of `test_conform_random.py` in several tiers share."""

from __future__ import annotations

from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples" / "nodes"
