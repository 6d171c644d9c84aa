"""A fault of each protocol is caught by the property that names it; the thorough tests have more."""

from __future__ import annotations

import pytest
from catches import CATCHES
from replay import check, violations

#: The first fault of each module with a small bound that shows it.
FIRST = {kind.__module__: (kind, catch) for kind, catch in reversed(CATCHES) if catch.processes * catch.messages <= 6}


@pytest.mark.parametrize("module", FIRST)
def test_it_is_caught_in_as_many_actions(module: str) -> None:
    kind, catch = FIRST[module]
    result = check(kind, catch.processes, catch.messages, **catch.setup._asdict())
    assert violations(result)[catch.property] == catch.actions
