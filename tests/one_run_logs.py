"""Logs of one run as data frames of Spark, and what is found of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from crownless.pipeline.logs.rows import plain_lines

pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")
from spark_session import spark  # noqa: F401

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def _without_compiling(spark: SparkSession) -> Iterator[None]:  # noqa: F811
    """Spark compiles each query, which takes longer than the few rows here."""
    settings = {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
    }
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name, earlier in before.items():
        spark.conf.set(name, str(earlier))


def event(process: str, index: int, kind: str, message: str | None = None, peer: Any = None, **more: Any) -> str:
    fields = {"run": "r", "process": process, "index": index, "kind": kind, "message": message, "peer": peer, **more}
    return json.dumps({name: value for name, value in fields.items() if value is not None})


def log(*lines: str, first: int = 0) -> list[str]:
    """Lines such as "P1: x>P2 y> ? -" as events: sends, delivers, an event that is missing, an internal one."""
    events = []
    for line in lines:
        process, does = line.split(": ")
        for index, what in enumerate(does.split(), start=first):
            message, sends, receiver = what.partition(">")
            if what == "-":
                events.append(event(process, index, "internal"))
            elif sends:
                events.append(
                    event(process, index, "send", message, receiver.split("+") if "+" in receiver else receiver)
                )
            elif what != "?":
                name, _, sender = message.partition("<")
                events.append(event(process, index, "deliver", name, sender or None))
    return events


def frame(spark: SparkSession, lines: Sequence[str]) -> DataFrame:  # noqa: F811
    """The lines as plain rows, in one partition."""
    return plain_lines(spark.createDataFrame([(line,) for line in lines], "value string").coalesce(1))


OVERTAKEN = log("P1: x>P2 y>P2", "P2: y x")
