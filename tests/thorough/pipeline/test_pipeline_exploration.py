"""The search on Spark finds what the native engine finds, and goes on after its driver or a worker was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import patch

import pytest
from command_line_runner import Crownless
from in_order import bound
from native_engine_setup import REDUCED, Question, question, reported
from tiers import slow

from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check import check as checking
from crownless.model_check.check.check import run_check
from crownless.model_check.native.checkpoints import checkpoint_in, header_in
from crownless.model_check.on_disk import tasks
from crownless.model_check.search.engines import NATIVE_CHANNELS, engine_for
from crownless.model_check.system.exploration import Exploration
from crownless.model_check.system.request import Check, load_program
from crownless.pipeline import exploration
from crownless.pipeline.exploration import OnSpark
from crownless.runtime.ending import Limits
from crownless.runtime.errors import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: A session on which nothing runs: the driver does all that a task would do.
NOWHERE = cast(Any, SimpleNamespace(sparkContext=SimpleNamespace(master="local", defaultParallelism=3)))
ALL = 1 << 60


@pytest.fixture
def on_driver() -> Iterator[None]:
    with patch.object(exploration, "MAX_ROWS_ON_DRIVER", ALL):
        yield


def found_by(
    case: Question,
    spark: SparkSession = NOWHERE,
    partitions: int | None = 3,
    limits: Limits | None = None,
    checkpoint: Path | None = None,
    *,
    symmetry: bool = False,
    resume: bool = False,
) -> Exploration:
    """What the search on Spark finds, of protocols that are in no registry too."""
    engine = engine_for(case.check, engine="native", reductions=REDUCED if symmetry else ())
    made = nullcontext() if checkpoint is None else checkpoint_in(checkpoint, {}, "spark", resume=resume, every=0)
    with (
        made as saving,
        OnSpark(spark, partitions).search(case.check, engine, saving) as search,
    ):
        return search.explore(limits, checkpoint=saving)


# -- the same counts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", NATIVE_CHANNELS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_over_every_channel(protocol: str, channel: str, on_driver: None) -> None:
    n, m = {"unordered": (3, 2), "duplicating": (2, 2)}.get(channel, (2, 3))
    case = question(protocol, *bound(protocol, n, m, channel), channel)
    assert reported(found_by(case)) == reported(case.native())


#: The arguments of `question`, and whether symmetry reduces.
OTHERS: tuple[tuple[Mapping[str, Any], bool], ...] = (
    ({"protocol": "rst", "n": 3, "messages": 4}, True),
    ({"protocol": "buffer", "n": 3, "messages": 3}, True),
    ({"protocol": "unordered", "n": 3, "messages": 3, "orders": ("mailbox", "synchronous")}, False),
    ({"protocol": "kearns", "n": 3, "messages": 3, "channel": "fifo"}, False),
    ({"protocol": "rendezvous", "program": load_program("mf-program-3")}, False),
)


@pytest.mark.parametrize(("options", "symmetry"), OTHERS, ids=str)
@pytest.mark.parametrize("partitions", [1, 5])
def test_other_checks_and_symmetry(
    options: Mapping[str, Any], symmetry: bool, partitions: int, on_driver: None
) -> None:
    case = question(**options)
    found, expected = found_by(case, NOWHERE, partitions, symmetry=symmetry), case.native(symmetry=symmetry)
    assert reported(found) == reported(expected)
    assert (found.levels, found.acyclic) == (expected.levels, expected.acyclic)


@pytest.mark.parametrize(
    "options",
    [
        {"protocol": "rst", "n": 3, "messages": 4},
        slow({"protocol": "kearns", "n": 3, "messages": 2, "channel": "fifo"}),  # whose rows are all kept
        slow({"protocol": "unordered", "n": 2, "messages": 3}),  # which violates causal order
    ],
    ids=str,
)
def test_on_executors(options: Mapping[str, Any], spark: SparkSession) -> None:
    case = question(**options)
    with patch.object(exploration, "MAX_ROWS_ON_DRIVER", 8):
        assert reported(found_by(case, spark, 2)) == reported(case.native())


def test_small_rounds_and_outboxes_need_all_kinds_of_retries(on_driver: None) -> None:
    case = question("isis", 3, 3)
    with (
        patch.multiple(tasks, BLOCK=4, MISSES_TO_STOP_AT=3, STOP_AT_ONE_IN=4),
        patch("crownless.model_check.native.workers.OUTBOX_ROWS", 8),
    ):
        assert reported(found_by(case)) == reported(case.native())


def test_the_cause_of_a_failed_task_is_reported_in_one_line(spark: SparkSession) -> None:
    with (
        patch.object(exploration, "MAX_ROWS_ON_DRIVER", -1),
        patch.object(exploration, "merge", lambda _: os.kill(os.getpid(), signal.SIGKILL)),
        pytest.raises(BadInput) as refused,
    ):
        found_by(question("rst", 3, 3), spark, 2)
    assert str(refused.value).startswith("a task on Spark failed: Python worker exited unexpectedly (crashed)")
    assert "\n" not in str(refused.value)


# -- what is saved -----------------------------------------------------------------------------------------------------

#: A driver in a process of its own; the first attempt of each task is killed once it has written all its results, and
#: at level 5 the driver is.
DRIVER = """
import os, signal, sys
from pathlib import Path
from crownless.model_check.check.check import run_check
from crownless.model_check.system.request import Check
from crownless.pipeline import exploration
from crownless.pipeline.session import session

class DiesOnce:
    def __init__(self, do):
        self.do = do
    def __call__(self, task):
        answer = self.do(task)
        marker = Path(task.directory).parent / f"{task.owner}-{type(task).__name__}"
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

def progress(_, level):
    if level == 5:
        os.kill(os.getpid(), signal.SIGKILL)

on_spark = exploration.SearchOnSpark._on_spark
exploration.SearchOnSpark._on_spark = lambda self, do, tasks: on_spark(self, DiesOnce(do), tasks)
exploration.MAX_ROWS_ON_DRIVER = 100
on = exploration.OnSpark(session("local[2,4]"))
run_check(Check("rst", 3, 4), progress=progress, engine="spark", elsewhere=on, checkpoint=Path(sys.argv[1]))
"""


def test_a_search_goes_on_after_tasks_and_the_driver_were_killed(tmp_path: Path) -> None:
    directory = tmp_path / "saved"
    # A driver of its own is to have its own session.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_GATEWAY")}
    command = [sys.executable, "-c", DRIVER, str(directory)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300, env=environment)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert len(list(tmp_path.glob("*-*Task"))) == 4
    assert header_in(directory, "spark")["search"]["level"] == 5
    with patch.object(exploration, "MAX_ROWS_ON_DRIVER", ALL):
        result = run_check(Check("rst", 3, 4), engine="spark", elsewhere=OnSpark(NOWHERE), resume=directory)
    assert reported(result.exploration) == reported(question("rst", 3, 4).native())
    assert not directory.exists()


@pytest.mark.parametrize("protocol", ["rst", "kearns"])
def test_a_search_in_parts_finds_what_one_search_finds(protocol: str, tmp_path: Path, on_driver: None) -> None:
    case = question(protocol, 3, 3, "fifo")
    whole = case.native()
    directory = tmp_path / "saved"
    assert found_by(case, limits=Limits(states=whole.states // 3), checkpoint=directory).stopped
    assert found_by(case, limits=Limits(states=whole.states * 2 // 3), checkpoint=directory, resume=True).stopped
    assert len(list(directory.iterdir())) < 30  # files of earlier levels are removed
    found = found_by(case, partitions=5, checkpoint=directory, resume=True)
    assert reported(found) == reported(whole)
    assert found.levels == whole.levels


def test_damaged_or_missing_rows_are_refused(tmp_path: Path, on_driver: None) -> None:
    case, directory = question("rst", 3, 3), tmp_path / "saved"
    found_by(case, limits=Limits(states=100), checkpoint=directory)
    part = max(directory.glob("level-*.npz"), key=lambda path: path.stat().st_size)
    whole = part.read_bytes()
    part.write_bytes(whole.replace(whole[-600:-590], b"0123456789"))
    for _ in range(2):
        with pytest.raises(BadInput, match=f"{part.name}: damaged or missing; start anew"):
            found_by(case, checkpoint=directory, resume=True)
        part.unlink(missing_ok=True)


# -- the command line --------------------------------------------------------------------------------------------------


def facts(out: str) -> dict[str, Any]:
    (found,) = json.loads(out)["checks"]
    return {key: value for key, value in found.items() if key not in ("seconds", "engine", "scope", "workers")}


@pytest.mark.parametrize("options", ["unordered -n 3 -m 3", "buffer --program mf-program-3"])
def test_the_command_line_prints_the_same(options: str, crownless: Crownless, spark: SparkSession) -> None:
    with patch.object(exploration, "MAX_ROWS_ON_DRIVER", 200), patch.object(checking, "FEW_STATES", 10):
        there = crownless("check", *options.split(), "--engine", "spark", "--json")
    here = crownless("check", *options.split(), "--engine", "native", "--json")
    assert (there[0], there[2]) == (here[0], "")
    assert facts(there[1]) == facts(here[1])


def test_a_saved_search_is_of_its_engine(crownless: Crownless, spark: SparkSession, tmp_path: Path) -> None:
    check, stop = ["check", "rst", "-n", "3", "-m", "4"], ["--max-states", "500"]
    for engine, other, hint in (
        (["--engine", "spark"], [], "add --engine spark"),
        ([], ["--engine", "spark"], "leave out --engine spark"),
    ):
        directory = str(tmp_path / f"saved-{len(engine)}")
        code, _, err = crownless(*check, *stop, *engine, "--checkpoint", directory)
        go_on = " ".join(["crownless check", *engine, "--resume", directory])
        assert (code, err) == (3, f"crownless: saved in {directory}; resume with: {go_on}\n")
        message = f"crownless: --resume {directory}: saved by another engine; {hint}\n"
        assert crownless("check", *other, "--resume", directory) == (2, "", message)
        code, out, err = crownless("check", *engine, "--resume", directory, "--json")
        assert (code, err) == (0, "")
        assert facts(out) == facts(crownless(*check, "--engine", "native", "--json")[1])
        assert not Path(directory).exists()


def test_unsupported_requests_are_refused(crownless: Crownless) -> None:
    assert crownless("check", "ses-rollback", "--engine", "spark", "--crash", "P1") == (
        2,
        "",
        (
            "crownless: ses-rollback: --engine spark: the native engine does not support agreement of survivors; "
            "leave that out\n"
        ),
    )
    assert crownless("check", "rst", "--master", "local") == (
        2,
        "",
        "crownless: --master requires --engine spark; leave it out, or add --engine spark\n",
    )
    with pytest.raises(BadInput, match="use a session other than Spark Connect"):
        found_by(question("rst", 3, 3), cast(Any, SimpleNamespace()))
    cluster = cast(Any, SimpleNamespace(sparkContext=SimpleNamespace(master="spark://there", defaultParallelism=3)))
    with pytest.raises(BadInput, match="needs a directory that all executors share"):
        found_by(question("rst", 3, 3), cluster)
