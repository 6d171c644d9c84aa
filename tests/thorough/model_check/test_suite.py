"""What `crownless check` finds of every protocol when nothing is named: verdicts, exact counts, shortest violations."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from crownless.command_line.commands.check_overview import where
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check.check import run_check
from crownless.model_check.check.suite import own_checks, rows
from crownless.model_check.system.request import Check


class Row(NamedTuple):
    """`violated`: property → the actions of a shortest run that violates it."""

    protocol: str
    where: str
    states: int
    transitions: int
    depth: int
    terminal: int
    violated: dict[str, int]


ROWS = (
    Row("unordered", "3×4, unordered", 2561, 8064, 8, 126, {"fifo": 3, "causal": 3}),
    Row("fifo-sequence", "3×4, unordered", 1820, 5460, 8, 126, {}),
    Row("fifo-ack", "3×4, unordered", 3010, 7560, 12, 126, {}),
    Row("rendezvous", "3×4, unordered", 2828, 5754, 12, 245, {"delivers-all": 2, "never-blocks": 2}),
    Row("rendezvous", "mf-fig1, unordered", 4, 4, 2, 1, {"completes": 2}),
    Row("isis", "3×3, unordered", 1400, 2436, 6, 278, {}),
    Row("isis", "3×3, unordered, P1 may crash", 3174, 6604, 7, 628, {}),
    Row("isis-gc", "3×2, fifo, rounds=1", 83866, 273072, 19, 105, {}),
    Row("isis-gc", "ses-program-1, fifo, rounds=0,1,0", 88, 186, 11, 4, {"causal": 10}),
    Row("isis-gc", "3×2, unordered, rounds=1", 77092, 304698, 19, 147, {"fifo": 8, "causal": 8, "delivers-once": 9}),
    Row("isis-gc-waits", "3×2, fifo, rounds=1", 88906, 291888, 20, 105, {}),
    Row("isis-gc-waits", "ses-program-1, fifo, rounds=0,1,0", 100, 208, 12, 3, {}),
    Row("isis-gc-waits", "3×2, unordered, rounds=1", 64204, 243894, 19, 141, {"delivers-once": 9}),
    Row("cbcast", "3×4, broadcasts, unordered", 6638, 19005, 12, 15, {}),
    Row("cbcast", "3×4, unordered", 3545, 7578, 8, 693, {"delivers-all": 3}),
    Row("kearns", "3×4, fifo, orders at P1, server=1", 4044, 10406, 8, 228, {}),
    Row("kearns", "3×4, unordered, orders at P1, server=1", 5375, 14838, 8, 228, {"fifo": 3, "causal": 3}),
    Row("rst", "3×4, unordered", 7370, 16722, 8, 519, {}),
    Row("rst", "2×3, self-sends, unordered", 399, 680, 6, 62, {"deliv-equals-sent-column": 1, "delivers-all": 3}),
    Row("rst-before", "3×4, unordered", 7370, 16722, 8, 519, {}),
    Row("rst-before", "2×3, self-sends, unordered", 166, 254, 6, 48, {"causal": 5, "delivers-all": 1}),
    Row("rst-sent-alone", "3×4, unordered", 7370, 16722, 8, 519, {}),
    Row("rst-sent-alone", "2×3, self-sends, unordered", 439, 820, 6, 40, {"fifo": 3, "causal": 3}),
    Row("rst-column", "3×4, unordered", 1820, 5460, 8, 126, {"causal": 5}),
    Row("ses", "3×4, unordered", 9761, 19332, 8, 1362, {}),
    Row("ses", "3×4, unordered, P1 may crash", 24400, 54851, 9, 4243, {"delivers-all": 6}),
    Row("ses-delete", "3×4, unordered", 9920, 19428, 8, 1455, {}),
    Row("ses-multicast", "3×3, multicasts, unordered", 8652, 17598, 9, 948, {}),
    Row("ses-rollback", "3×3, unordered", 3244, 6660, 9, 278, {}),
    Row("ses-rollback", "rewinding, unordered, P1 may crash", 5859, 18966, 25, 80, {}),
    Row("ses-rollback", "3×3, unordered, P1 may crash", 6957, 16210, 11, 704, {}),
    Row("buffer", "3×4, unordered", 60982, 219012, 20, 126, {}),
    Row("buffer", "2×3, self-sends, unordered", 2145, 5660, 15, 20, {}),
    Row("buffer", "mf-fig1, unordered", 45, 88, 10, 1, {}),
    Row("buffer-pipelined", "3×4, fifo", 87787, 315102, 20, 126, {}),
    Row("buffer-pipelined", "3×4, unordered", 134755, 485946, 20, 126, {"fifo": 6, "causal": 6}),
    Row("buffer-bounded", "3×4, unordered, output=1, input=1", 37789, 132504, 20, 126, {}),
    Row("buffer-bounded", "mf-footnote-2, unordered, output=1, input=1", 100, 220, 14, 1, {"completes": 14}),
    Row("murty-garg", "3×4, unordered", 19934, 52265, 16, 126, {}),
    Row("murty-garg", "4×3, unordered", 16550, 40388, 12, 364, {}),
    Row("extra-messages", "3×4, unordered, k=4", 3860, 9906, 8, 279, {}),
    Row("extra-messages", "3×6, unordered, k=4", 110122, 351348, 13, 2275, {}),
    Row("extra-messages", "several-extra-messages, unordered, k=5", 150, 365, 15, 5, {}),
    Row("extra-messages", "3×4, unordered, k=3", 3899, 9966, 10, 279, {}),
    Row("optimal", "3×4, unordered", 9206, 18858, 8, 1131, {}),
)

EXTRA = {"an-extra-message-is-sent", "an-extra-message-waits", "an-extra-message-is-received"}
SEVERAL = "several-extra-messages-are-sent-in-one-step"
IN_A_FAILURE = {
    "a-site-rewinds",
    "a-site-need-not-rewind",
    "a-send-is-undone",
    "a-delivery-is-undone",
    "a-delivered-orphan-is-undone",
    "a-waiting-orphan-is-dropped",
    "an-arriving-orphan-is-dropped",
}
WITH_A_LATER_ONE = {
    "a-packet-delivers-several",
    "a-message-comes-with-a-later-one",
    "a-message-comes-with-that-of-another",
}
PAIRS = {"a-carried-pair-is-greater", "a-local-pair-is-greater"}

#: Situations that a row does not come into; every other that a protocol names, it does. Where no message is delivered,
#: what is unknown of deliveries too.
NOT_REACHED = {
    ("rendezvous", "mf-fig1, unordered"): {
        "delivers-once",
        "synchronous",
        "can-complete",
        "delivers-something",
        "a-send-is-blocked",
        "an-acknowledgement-ends-the-wait",
    },
    ("rst-before", "2×3, self-sends, unordered"): {"waits-for-a-message-of-another"},
    ("rst-sent-alone", "2×3, self-sends, unordered"): {"waits-for-a-message-of-another"},
    ("isis-gc", "3×2, fifo, rounds=1"): WITH_A_LATER_ONE,
    ("isis-gc-waits", "3×2, fifo, rounds=1"): WITH_A_LATER_ONE,
    ("isis-gc", "3×2, unordered, rounds=1"): {"a-message-comes-with-that-of-another"},
    ("isis-gc-waits", "3×2, unordered, rounds=1"): {"a-message-comes-with-that-of-another"},
    ("isis-gc", "ses-program-1, fifo, rounds=0,1,0"): {"a-noted-message-is-left-out"},
    ("isis-gc-waits", "ses-program-1, fifo, rounds=0,1,0"): {
        "a-noted-message-is-left-out",
        "a-request-names-a-message-deleted-here",
    },
    ("ses-rollback", "3×3, unordered"): PAIRS | IN_A_FAILURE,
    ("ses-rollback", "3×3, unordered, P1 may crash"): PAIRS | {"a-delivery-is-undone"},
    ("buffer", "mf-fig1, unordered"): {
        "a-message-waits-for-an-acknowledgement",
        "an-input-buffer-holds-two",
        "an-acknowledgement-lets-the-next-message-be-posted",
        "a-message-is-taken-in-behind-another",
    },
    ("buffer-bounded", "mf-footnote-2, unordered, output=1, input=1"): {
        "delivers-once",
        "fifo",
        "causal",
        "can-complete",
        "delivers-something",
        "releases",
        "an-application-waits-for-a-message",
    },
    ("murty-garg", "3×4, unordered"): {"several-withheld-acknowledgements-are-sent"},
    ("extra-messages", "3×4, unordered, k=4"): EXTRA | {SEVERAL},
    ("extra-messages", "3×6, unordered, k=4"): {SEVERAL},
    ("extra-messages", "several-extra-messages, unordered, k=5"): {
        "releases",
        "a-column-is-replaced-on-sending",
        "an-extra-message-is-received",
    },
    ("extra-messages", "3×4, unordered, k=3"): {SEVERAL},
}


CHECKS = [row.check for row in rows()]


def test_every_protocol_has_a_row_and_one_without_the_channel_it_needs() -> None:
    rows = [(row.protocol, row.where) for row in ROWS]
    assert [name for name, _ in dict(rows).items()] == list(PROTOCOLS)
    for name, kind in PROTOCOLS.items():
        if kind.needs_channel == "fifo":
            assert any(protocol == name and "unordered" in where for protocol, where in rows)
            assert any(row.violated for row in ROWS if row.protocol == name and "unordered" in row.where)


def test_the_suite_expects_of_each_row_what_it_is_pinned_to_break() -> None:
    assert [row.breaks for row in rows()] == [row.violated.keys() for row in ROWS]


@pytest.mark.parametrize(
    ("row", "check"), list(zip(ROWS, CHECKS, strict=True)), ids=[f"{row.protocol}: {row.where}" for row in ROWS]
)
def test_a_row_has_the_counts_and_shortest_violations_pinned(row: Row, check: Check) -> None:
    result = run_check(check, engine=None if check.crash else "native")
    found = result.exploration
    violated = {
        line.property.name: len(line.run.actions)
        for line in result.properties
        if line.verdict == "violated" and line.run is not None
    }
    assert (check.protocol, where(result.check)) == (row.protocol, row.where)
    assert (found.states, found.transitions, found.depth, found.terminal_states) == row[2:6]
    assert violated == row.violated
    missed = {line.property.name for line in result.properties if line.verdict == "unknown"}
    assert missed == NOT_REACHED.get((row.protocol, row.where), set())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_checked_of_a_protocol_by_default_exercises_every_rule(protocol: str) -> None:
    rows = [row for row, check in zip(ROWS, CHECKS, strict=True) if check in own_checks(protocol)]
    assert [row.protocol for row in rows] == [protocol] * len(own_checks(protocol))
    assert set.intersection(*(NOT_REACHED.get((row.protocol, row.where), set()) for row in rows)) == set()


def test_every_protocol_but_the_one_without_rules_names_some() -> None:
    assert {name for name, kind in PROTOCOLS.items() if not kind.rules} == {"unordered"}
    assert all(not kind.rules.keys() & kind.witnesses.keys() for kind in PROTOCOLS.values())
