"""Logs of one long run, and what the spec says of each run of a log."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from log_files import SUFFIXES, Row, by_the_monitor, classified, rows_of, written  # noqa: F401
from log_rows import random_computation

from crownless.oracle.log_orders.classification import Classification, classify
from crownless.oracle.log_orders.classified import ClassifiedLog
from crownless.oracle.log_orders.classify_file import LogRequest, classify_file
from crownless.oracle.logs.event_logs import read_log
from crownless.oracle.logs.reader import named_run
from crownless.spec.orders import ORDERS, UnreceivedPolicy


def long_run(seed: int, steps: int, *, disorder: float, loss: float = 0.0) -> list[Row]:
    """The rows of a run of six processes and half as many messages."""
    c = random_computation(Random(seed), 6, steps // 2, disorder=disorder, loss=loss, several=0, at_once=0.5)
    return rows_of(c, run="long")


def log_of(name: str, reading: UnreceivedPolicy = "lost", **how: Any) -> ClassifiedLog:
    found = classify_file(LogRequest(name, tuple(ORDERS), reading, **how))
    assert isinstance(found, ClassifiedLog)
    return found


def by_spec(found: Sequence[Row], reading: UnreceivedPolicy) -> Iterator[Classification]:
    for logged in read_log(json.dumps(event) for event in found):
        yield classify(named_run("", logged), tuple(ORDERS), reading)
