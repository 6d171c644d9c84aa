"""A test of each claim of the ledger."""

from __future__ import annotations

import pytest

from crownless.research.claims.ledger import CLAIMS

each_claim = pytest.mark.parametrize("entry", CLAIMS.values(), ids=lambda entry: entry.id)
