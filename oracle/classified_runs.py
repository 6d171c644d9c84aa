"""Verdicts on several runs or computations, as reports read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from crownless.spec.orders import Outcome

from .classification import Classification

if TYPE_CHECKING:
    from crownless.oracle.log_orders.complete import Delivery


class ClassifiedRuns(Protocol):
    """The verdicts on several runs or computations; `classification` has those on one in full."""

    def __len__(self) -> int: ...

    def classification(self, number: int, /) -> Classification: ...

    def outcome(self, number: int, order: str, /) -> Outcome:
        """The verdict on one of them in a word."""

    def counts(self, order: str, /) -> Mapping[str, int]:
        """How many keep the order, break it, or leave it unknown, by the name of the outcome."""

    def first_broken(self, order: str, /) -> int | None:
        """The first that breaks the order."""

    def delivery(self, number: int, /) -> Delivery | None:
        """How one of them delivers its messages, if it is of a complete log."""


class Classifications(list[Classification]):
    """Verdicts on several runs or computations, all of them in full."""

    def classification(self, number: int, /) -> Classification:
        return self[number]

    def outcome(self, number: int, order: str, /) -> Outcome:
        """The verdict on one of them in a word."""
        return self[number][order].outcome

    def counts(self, order: str, /) -> Mapping[str, int]:
        """How many keep the order, break it, or leave it unknown, by the name of the outcome."""
        return Counter(one[order].outcome for one in self)

    def first_broken(self, order: str, /) -> int | None:
        """The first that breaks the order."""
        return next((number for number, one in enumerate(self) if one[order].outcome == "broken"), None)

    def delivery(self, number: int, /) -> Delivery | None:
        """How one of them delivers its messages, if it is of a complete log."""
        return self[number].subject.delivery
