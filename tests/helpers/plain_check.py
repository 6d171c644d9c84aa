"""A check by the plain explorer."""

from __future__ import annotations

from functools import partial

from crownless.model_check.check import check as checking

run_check = partial(checking.run_check, engine="plain")
