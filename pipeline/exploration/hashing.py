"""Hashes of many rows at once, equal to those of `row_set_kernels.insert`; compiled by Numba."""

from __future__ import annotations

from typing import Any

from crownless.model_check.native.compiled import compiled
from crownless.model_check.native.kernels import Layout, hash_of


@compiled
def hashes_of(rows: Any, layout: Layout, hashes: Any) -> None:
    """Fills `hashes` with the hash of each row, its monitor state excepted."""
    for k in range(rows.shape[0]):
        hashes[k] = hash_of(rows[k], layout)
