"""What the tests of `test_on_disk.py` in several tiers share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from crownless.model_check.on_disk import tasks


@pytest.fixture
def found(tmp_path: Path) -> tasks.FoundRows:
    """Rows found for two owners, written to a file."""
    rows = [np.arange(3 * n, dtype=np.int32).reshape(n, 3) for n in (3, 2)]
    asleep = [np.arange(n, dtype=np.uint32) for n in (3, 2)]
    return tasks.write_found(tmp_path, rows, asleep)
