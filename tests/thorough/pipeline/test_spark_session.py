"""The session of Spark: used unchanged, and never half started; a sweep of simulations on it."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from cost_experiments import small

from crownless.research.costs import sweeping as costs
from crownless.research.costs import sweeps

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

pytest.importorskip("pyspark")


from crownless.pipeline.session import root_cause, session
from crownless.runtime.errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ARROW = "spark.sql.execution.arrow.pyspark.enabled"


def test_the_current_session_is_used_unchanged_in_any_thread(spark: SparkSession) -> None:
    before = str(spark.conf.get(ARROW))
    spark.conf.set(ARROW, "false")
    try:
        with ThreadPoolExecutor(1) as other:
            assert other.submit(session).result().sparkContext is spark.sparkContext
        assert session("local[2]").sparkContext is spark.sparkContext
        assert spark.conf.get(ARROW) == "false"
    finally:
        spark.conf.set(ARROW, before)


def test_a_session_on_another_master_is_not_used(spark: SparkSession) -> None:
    with pytest.raises(BadInput, match=r"--master local\[7\]: a session already runs on local\[2\]"):
        session("local[7]")


@pytest.mark.parametrize(
    ("master", "message"),
    [
        ("nonsense", "Spark does not start on nonsense: Could not parse Master URL: 'nonsense'; name a master"),
        ("yarn", "--master yarn: the cluster's address is not configured; set HADOOP_CONF_DIR"),
    ],
)
def test_an_invalid_master_is_refused_in_one_line(master: str, message: str) -> None:
    hidden = ("PYSPARK_GATEWAY", "HADOOP_CONF_DIR", "YARN_CONF_DIR")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    command = [sys.executable, "-m", "crownless", "check", "rst", "-m", "3", "--engine", "spark", "--master", master]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (ended.returncode, ended.stdout) == (2, "")
    (line,) = (line for line in ended.stderr.splitlines() if "compil" not in line)
    assert line.startswith(f"crownless: {message}")


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("An error\n: org.apache.spark.SparkException: Asked to run locally with 0 threads\n at x", "Asked to run"),
        ("Traceback\n  File\nValueError: no\nat java", "ValueError: no"),
        ("nothing else", "nothing else"),
        ("", "RuntimeError"),
    ],
)
def test_the_root_cause_of_an_error(text: str, last: str) -> None:
    assert root_cause(RuntimeError(text)).startswith(last)


def test_on_this_machine_all_ports_are_bound_to_loopback_and_require_a_secret(spark: SparkSession) -> None:
    assert spark.range(100).repartition(3).count() == 100
    assert spark.conf.get("spark.authenticate") == "true"
    me = psutil.Process()
    listening = [
        (process.name(), connection.laddr.ip)
        for process in (me, *me.children(recursive=True))
        for connection in process.net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert {address.removeprefix("::ffff:") for _, address in listening} == {"127.0.0.1"}, listening
    assert any(name == "java" for name, _ in listening)


def test_the_handler_of_interrupts_is_unchanged() -> None:
    """Spark has a handler of its own for it."""
    script = """
import signal
from crownless.pipeline.session import session
before = signal.getsignal(signal.SIGINT)
session("local[1]")
assert signal.getsignal(signal.SIGINT) is before
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_GATEWAY")}
    assert subprocess.run([sys.executable, "-c", script], check=False, env=environment).returncode == 0


# -- a sweep of simulations --------------------------------------------------------------------------------------------


def test_spark_finds_the_same(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = costs.sweep(small(2))
    reported: list[int] = []
    monkeypatch.setattr(sweeps, "ROWS_A_JOB", 4)  # so that there are two jobs
    assert costs.sweep(small(2), engine="spark", out=tmp_path, progress=lambda n, _: reported.append(n)) == plain
    assert reported == list(range(15))
    assert costs.sweep(small(2), out=tmp_path) == plain
