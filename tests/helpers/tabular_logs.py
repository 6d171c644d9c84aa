"""Logs of rows without an index, in each form of a table."""

from __future__ import annotations

from typing import Any

from log_files import event

TABULAR = (".jsonl", ".csv", ".parquet", ".arrow")


def verdicts(answer: Any) -> dict[str, str]:
    return {order: found["verdict"] for order, found in answer.json["orders"].items()}


STAMPED = [
    {**event("P1", 0, "send", "x", "P2"), "ts": 5, "seq": "a"},
    {**event("P2", 0, "deliver", "x"), "ts": 9, "seq": "b"},
    {**event("P1", 1, "send", "y", "P2"), "ts": 7, "seq": "c"},
]


GOOD = [
    event("P1", 0, "send", "x", "P2"),
    event("P1", 1, "send", "y", "P2"),
    event("P2", 0, "deliver", "x"),
    event("P2", 1, "deliver", "y"),
]
