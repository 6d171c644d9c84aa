"""What takes long of the tests in `test_theorems.py`."""

from __future__ import annotations

import pytest

from crownless.research.theorems import smallest_synchronous as search
from crownless.research.theorems.smallest_clearing import Clearings


def test_theorem_6_has_no_exception_among_three() -> None:
    assert not search.breaks_theorem_6(3, 6).exists()


@pytest.mark.parametrize(("messages", "deliveries"), [(10, 1), (10, 2), (10, 3), (10, 4), (9, 5)])
def test_ten_messages_with_fewer_deliveries_and_nine_with_as_many_are_not_enough(
    messages: int, deliveries: int
) -> None:
    assert not Clearings(4, 5, messages, deliveries).exists()
