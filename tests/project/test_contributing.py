"""The worked example of CONTRIBUTING.md: a new protocol by one file and one registry line."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from goldens import blocks, timeless
from worked_example import Run, with_the_example


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with with_the_example() as run:
        yield run


def test_the_example_prints_what_contributing_says(run: Run) -> None:
    shown = list(blocks("CONTRIBUTING.md"))
    assert len(shown) == 2
    for block in shown:
        assert timeless(run(block.arguments)) == timeless(block.output)


def test_the_example_is_listed_and_covered_by_every_verb_that_takes_a_protocol(run: Run) -> None:
    assert re.search(r"^hub +causal", run(("list", "protocols")), re.MULTILINE)
    checked = run(("check", "hub", "-m", "2", "--channel", "fifo"))
    assert checked.startswith("hub: 3 processes, up to 2 messages")
    assert re.search(r"^fifo +always +holds", checked, re.MULTILINE)
