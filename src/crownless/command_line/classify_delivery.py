"""The output of `crownless classify --complete`: the properties of delivery, and what violates them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from crownless.model_check.classified_runs import ClassifiedRuns
from crownless.spec.printable import printable, printable_line, printable_name, some

from .output import print_line
from .tables import Rows

if TYPE_CHECKING:
    from crownless.model_check.logs.complete import Delivery

#: Of more violations of a property only the first ones are printed.
VIOLATIONS_UP_TO = 20


def print_delivery(delivery: Delivery) -> None:
    """Each property with its verdict, and below it what violates it."""
    for name, found in delivery.json().items():
        print_line(f"{name}: {found['verdict']}")
        violations = delivery.of(name)
        for one in violations[:VIOLATIONS_UP_TO]:
            print_line(f"  {printable_line(one.text)}")
        if len(violations) > VIOLATIONS_UP_TO:
            print_line(f"  and {some(len(violations) - VIOLATIONS_UP_TO, 'violation')} more; --json has them all")


def first_violations(parts: Sequence[ClassifiedRuns]) -> dict[str, tuple[int, int]]:
    """Of each property that is violated the first run that violates it: in which part, and its number there."""
    found: dict[str, tuple[int, int]] = {}
    for part, number, delivery in _deliveries(parts):
        for name in delivery.violated:
            found.setdefault(name, (part, number))
    return found


def print_delivery_summary(parts: Sequence[ClassifiedRuns]) -> None:
    """How many of many runs have and violate each property, and the first that violates it."""
    from crownless.model_check.logs.complete import PROPERTIES

    violated, count = Counter[str](), 0
    for _, _, delivery in _deliveries(parts):
        violated.update(delivery.violated)
        count += 1
    firsts = first_violations(parts)
    rows = Rows("property", "first that violates it", "holds", "violated", right=("holds", "violated"))
    for name in PROPERTIES:
        where = ""
        if name in firsts:
            part, number = firsts[name]
            subject = parts[part].classification(number).subject
            where = f"{printable(subject.file)}, run {printable_name(str(subject.run))}"
        rows.add_row(name, where, f"{count - violated[name]:,}", f"{violated[name]:,}")
    rows.print()


def _deliveries(parts: Sequence[ClassifiedRuns]) -> Iterator[tuple[int, int, Delivery]]:
    for number, part in enumerate(parts):
        for run in range(len(part)):
            delivery = part.delivery(run)
            if delivery is not None:
                yield number, run, delivery
