"""What the tests of `test_explorer.py` in several tiers share."""

from __future__ import annotations

from functools import partial

from crownless.model_check.check import check as checking

run_check = partial(checking.run_check, engine="plain")
