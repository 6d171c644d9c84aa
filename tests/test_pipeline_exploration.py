"""The search on Spark finds what the native engine finds, and goes on after its driver or a worker was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from unittest.mock import patch

import pytest
from broken_protocols import BROKEN
from in_order import bound
from native_engine_setup import Question, question, reported
from spark_session import spark  # noqa: F401

from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check import run_check
from crownless.model_check.engines import NATIVE_CHANNELS, engine_for
from crownless.model_check.exploration import Exploration
from crownless.model_check.native.saved_directories import MANIFEST
from crownless.model_check.request import Check, load_program
from crownless.pipeline.exploration import blocks, levels
from crownless.pipeline.exploration import search as exploration
from crownless.pipeline.exploration.published import Published, Replica
from crownless.pipeline.exploration.search import LevelsOnSpark, OnSpark
from crownless.runtime.ending import Limits
from crownless.spec.errors import BadInput

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
    spark: SparkSession = NOWHERE,  # noqa: F811
    partitions: int | None = 3,
    reductions: Sequence[str] = (),
    limits: Limits | None = None,
    checkpoint: Path | None = None,
    resume: Path | None = None,
) -> Exploration:
    """What the search on Spark finds, of protocols that are in no registry too."""
    on = OnSpark(spark, partitions)
    engine = engine_for(case.check, engine="native", reductions=reductions)
    with (
        on.saving(case.check, engine, checkpoint, resume) as saving,
        on.search(case.check, engine, case.all_monitors(), case.properties(), saving) as search,
    ):
        found = search.explore(limits)
        if saving is not None and not found.stopped:
            saving.remove()
        return found


# -- the same counts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channel", NATIVE_CHANNELS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_over_every_channel(protocol: str, channel: str, on_driver: None) -> None:
    n, m = {"unordered": (3, 3), "duplicating": (2, 2)}.get(channel, (2, 3))
    case = question(protocol, *bound(protocol, n, m, channel), channel)
    assert reported(found_by(case)) == reported(case.native())


#: The arguments of `question`, and reductions.
OTHERS: tuple[tuple[Mapping[str, Any], Sequence[str]], ...] = (
    ({"protocol": "rst", "n": 3, "messages": 4}, ("symmetry",)),
    ({"protocol": "rst", "n": 3, "messages": 4}, ("order",)),
    ({"protocol": "buffer", "n": 3, "messages": 3}, ("symmetry", "order")),
    ({"protocol": "unordered", "n": 3, "messages": 3, "orders": ("mailbox", "n-n")}, ()),
    ({"protocol": "murty-garg", "n": 3, "messages": 3, "orders": ("synchronous",)}, ()),
    ({"protocol": "unordered", "n": 3, "messages": 2, "clocks": ("lamport-times", "vector-times")}, ()),
    ({"protocol": "isis", "n": 3, "messages": 2, "sends": "broadcast"}, ()),
    ({"protocol": "unordered", "n": 2, "messages": 2, "self_sends": True, "channel": "fifo"}, ()),
    ({"protocol": "kearns", "n": 3, "messages": 3, "channel": "fifo"}, ()),
)


@pytest.mark.parametrize(("facts", "reductions"), OTHERS, ids=str)
def test_other_questions_and_reductions(facts: Mapping[str, Any], reductions: Sequence[str], on_driver: None) -> None:
    case = question(**facts)
    found, expected = found_by(case, reductions=reductions), case.native(reductions=reductions)
    assert reported(found) == reported(expected)
    assert (found.levels, found.acyclic) == (expected.levels, expected.acyclic)


@pytest.mark.parametrize("program", ["mf-fig1", "mf-program-1-selective", "mf-program-3"])
@pytest.mark.parametrize("protocol", ["rst", "buffer", "rendezvous"])
def test_programs_and_where_they_block(protocol: str, program: str, on_driver: None) -> None:
    case = question(protocol, program=load_program(program))
    assert reported(found_by(case)) == reported(case.native())


#: A broken protocol of each file.
FAULTS = {row.machine.__module__: (row.machine, row.catches[0]) for row in BROKEN if row.catches[0].setup.crash is None}


@pytest.mark.parametrize("module", FAULTS)
def test_what_breaks_and_how_soon(module: str, on_driver: None) -> None:
    machine, catch = FAULTS[module]
    setup = catch.setup
    sizes = min(catch.processes, 3), min(catch.messages, 3)
    case = question(machine, *sizes, setup.channel, sends=setup.sends, parameters=setup.parameters)
    assert reported(found_by(case)) == reported(case.native())


@pytest.mark.parametrize(
    "facts",
    [
        {"protocol": "rst", "n": 3, "messages": 4},
        {"protocol": "kearns", "n": 3, "messages": 2, "channel": "fifo"},  # whose rows are all kept
        {"protocol": "unordered", "n": 2, "messages": 3},  # which breaks causal order
        {"protocol": "buffer", "program": load_program("mf-program-3")},
    ],
    ids=str,
)
def test_on_executors(facts: Mapping[str, Any], spark: SparkSession) -> None:  # noqa: F811
    case = question(**facts)
    with patch.object(exploration, "MAX_ROWS_ON_DRIVER", 8):
        assert reported(found_by(case, spark, 2)) == reported(case.native())


@pytest.mark.slow
@pytest.mark.parametrize(
    "facts",
    [
        {"protocol": "rst", "n": 3, "messages": 6},
        {"protocol": "isis", "n": 3, "messages": 4},
        {"protocol": "buffer", "n": 3, "messages": 4},
        {"protocol": "kearns", "n": 3, "messages": 4, "channel": "fifo"},
        {"protocol": "murty-garg", "n": 3, "messages": 4, "orders": ("synchronous",)},
        {"protocol": "unordered", "n": 3, "messages": 4, "orders": ("mailbox", "n-n")},
    ],
    ids=str,
)
def test_on_executors_at_larger_bounds(facts: Mapping[str, Any], spark: SparkSession) -> None:  # noqa: F811
    case = question(**facts)
    with patch.object(exploration, "MAX_ROWS_ON_DRIVER", 1 << 10):
        assert reported(found_by(case, spark, 4)) == reported(case.native())


def test_without_more_ado(spark: SparkSession) -> None:  # noqa: F811
    seen: list[int] = []
    checked = run_check(
        Check("rst", 3, 5), progress=lambda _, level: seen.append(level), engine="spark", elsewhere=OnSpark()
    )
    assert reported(checked.exploration) == reported(question("rst", 3, 5).native())
    assert sorted(set(seen)) == list(range(11))
    assert spark.sparkContext.statusTracker().getActiveJobsIds() == []


def test_small_rounds_and_shares_need_all_kinds_of_retries() -> None:
    case = question("isis", 3, 3)
    with (
        patch.object(exploration, "MAX_ROWS_ON_DRIVER", ALL),
        patch.multiple(levels, BLOCK=4, MISSES_TO_STOP_AT=3, STOP_AT_ONE_IN=4),
        patch("crownless.model_check.native.workers.OUTBOX_ROWS", 8),
    ):
        assert reported(found_by(case)) == reported(case.native())


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_counts_do_not_depend_on_partitions(partitions: int, on_driver: None) -> None:
    case = question("ses", 3, 4)
    assert reported(found_by(case, partitions=partitions)) == reported(case.native())


def test_limits(on_driver: None) -> None:
    found = found_by(question("rst", 3, 4), limits=Limits(states=500))
    assert found.stopped == "500 states are reached"
    assert 500 < found.states < 7370


# -- attempts that are run twice, or die -------------------------------------------------------------------------------


def twice(levels_on_spark: LevelsOnSpark, do: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
    """Each task by two attempts, of which now one and now the other is heard; later a third dies as it writes."""
    attempts = [[do(task) for task in tasks] for _ in range(2)]
    with patch.object(levels, "append", dying_append):
        for task in tasks:
            with suppress(EOFError):  # of a task that finds nothing there is nothing to write
                do(task)
    return [attempts[k % 2][k] for k in range(len(tasks))]


def dying_append(file: Any, *_: Any) -> Any:
    file.write(b"not a row")
    raise EOFError


def in_this_process(stack: ExitStack) -> None:
    """Tasks are sent off, but run here."""
    stack.enter_context(patch.object(exploration, "MAX_ROWS_ON_DRIVER", -1))
    stack.enter_context(patch.object(LevelsOnSpark, "_on_spark", twice))


def test_attempts_run_twice_count_once() -> None:
    case = question("rst", 3, 3)
    with ExitStack() as stack:
        in_this_process(stack)
        assert reported(found_by(case)) == reported(case.native())


def test_that_test_can_fail() -> None:
    """If all attempts wrote to one file, one that dies would take from another what it found."""
    with ExitStack() as stack:
        in_this_process(stack)
        stack.enter_context(patch.object(blocks, "uuid", SimpleNamespace(uuid4=lambda: SimpleNamespace(hex="0" * 32))))
        try:
            found = found_by(question("rst", 3, 3))
        except (ValueError, IndexError, FileExistsError):
            return
        assert found.states != 983


def test_an_executor_with_other_tables_says_so(tmp_path: Path) -> None:
    search = question("rst", 3, 3).search()
    published = Published(tmp_path, "x", search.tables, search.monitor_states)
    first = published.publish()
    assert Replica().follow(tmp_path, first).facts == published.view().facts
    path = next(tmp_path.glob("tables-x-1.npz"))
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(ValueError, match="not those of the driver at version 1"):
        Replica().follow(tmp_path, first)


def test_a_difference_in_an_earlier_version_is_noticed_in_every_later_one(tmp_path: Path) -> None:
    search = question("rst", 3, 3).search()
    published = Published(tmp_path, "x", search.tables, search.monitor_states)
    published.publish()
    published._known = {name: column[:0] for name, column in published._known.items()}  # as if all had changed
    second = published.publish()
    assert second.number == 2
    assert Replica().follow(tmp_path, second).facts == published.view().facts
    path = tmp_path / "tables-x-1.npz"
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(ValueError, match="not those of the driver at version 2"):
        Replica().follow(tmp_path, second)


@pytest.mark.parametrize(
    ("task", "why"),
    [
        (lambda _: 1 // 0, "ZeroDivisionError: "),
        (lambda _: os.kill(os.getpid(), signal.SIGKILL), "Python worker exited unexpectedly (crashed)"),
    ],
)
def test_the_cause_of_a_failed_task_is_reported_in_one_line(
    task: Callable[[Any], Any],
    why: str,
    spark: SparkSession,  # noqa: F811
) -> None:
    with (
        patch.object(exploration, "MAX_ROWS_ON_DRIVER", -1),
        patch.object(exploration, "merge_on_executor", task),
        pytest.raises(BadInput) as refused,
    ):
        found_by(question("rst", 3, 3), spark, 2)
    assert str(refused.value).startswith(f"a task on Spark failed: {why}")
    assert "\n" not in str(refused.value)


def test_a_session_that_cannot_submit_tasks_is_refused() -> None:
    with pytest.raises(BadInput, match="not of Spark Connect"):
        found_by(question("rst", 3, 3), cast(Any, SimpleNamespace()))


# -- what is saved -----------------------------------------------------------------------------------------------------

#: A driver in a process of its own, which ends itself by SIGKILL; its arguments are the directory, the moment and the
#: level.
DRIVER = """
import os, signal, sys
from pathlib import Path
from types import SimpleNamespace
from crownless.model_check.check import run_check
from crownless.model_check.request import Check
from crownless.pipeline.exploration import search as exploration
from crownless.pipeline.exploration.search import LevelsOnSpark, OnSpark
from crownless.pipeline.session import session

directory, moment, level = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
search = None

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def remember(self):
    global search
    search = self.search
    began(self)

began, LevelsOnSpark.began = LevelsOnSpark.began, remember

if moment == "as the manifest is written":
    def replace(self, target):
        if search.level == level:
            self.write_bytes(self.read_bytes()[:500])
            die()
        return rename(self, target)
    rename, Path.replace = Path.replace, replace
elif moment == "before anything is dropped":
    def drop(*_):
        if search.level == level:
            die()
    exploration.drop = drop
else:
    def take_account(self, answers):
        if self.search.level == level:
            die()
        return account(self, answers)
    account, LevelsOnSpark._take_account = LevelsOnSpark._take_account, take_account

spark = SimpleNamespace(sparkContext=SimpleNamespace(master="local", defaultParallelism=2))
exploration.MAX_ROWS_ON_DRIVER = 1 << 60
if moment == "in a round on Spark":
    class DiesOnce:
        '''The first attempt of each task is killed once it has written all that it found.'''
        def __init__(self, do):
            self.do = do
        def __call__(self, task):
            answer = self.do(task)
            marker = Path(task.directory).parent / f"{task.owner}-{type(task).__name__}"
            if not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return answer
    on_spark = LevelsOnSpark._on_spark
    LevelsOnSpark._on_spark = lambda self, do, tasks: on_spark(self, DiesOnce(do), tasks)
    exploration.MAX_ROWS_ON_DRIVER = 200
    spark = session("local[2,4]")
run_check(Check("rst", 3, 4), engine="spark", elsewhere=OnSpark(spark), checkpoint=directory)
"""


def without_session() -> dict[str, str]:
    """The environment, but for where the session of the tests listens: a driver of its own is to have its own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_GATEWAY")}


def killed(directory: Path, moment: str, level: int) -> None:
    command = [sys.executable, "-c", DRIVER, str(directory), moment, str(level)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300, env=without_session())
    assert ended.returncode == -signal.SIGKILL, ended.stderr


@pytest.mark.parametrize(
    ("moment", "level", "saved"),
    [
        ("as the manifest is written", 5, 4),
        ("before anything is dropped", 5, 5),
        ("in a round", 5, 5),
        ("in a round on Spark", 5, 5),
    ],
)
def test_a_killed_search_goes_on(
    moment: str,
    level: int,
    saved: int,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    directory = tmp_path / "saved"
    killed(directory, moment, level)
    assert json.loads((directory / MANIFEST).read_text("utf-8"))["facts"]["level"] == saved
    there = moment.endswith("on Spark")
    # Each kind of task had its first attempt killed, of each owner.
    assert len(list(tmp_path.glob("*-*Task"))) == 4 * there
    case = question("rst", 3, 4)
    with patch.object(exploration, "MAX_ROWS_ON_DRIVER", 200 if there else ALL):
        found = found_by(case, request.getfixturevalue("spark") if there else NOWHERE, resume=directory)
    assert reported(found) == reported(case.native())
    assert not directory.exists()


#: A cluster of two executors, each a process of its own, which runs slow tasks twice at once. The first task that comes
#: to its end kills its executor.
CLUSTER = """
import json, os, sys
from pathlib import Path
import psutil
from crownless.model_check.check import run_check
from crownless.model_check.request import Check
from crownless.pipeline.exploration import search as exploration
from crownless.pipeline.exploration.search import LevelsOnSpark, OnSpark
from crownless.pipeline.session import session

directory = Path(sys.argv[1])

class KillsItsExecutorOnce:
    def __init__(self, do):
        self.do = do
    def __call__(self, task):
        answer = self.do(task)
        try:
            os.close(os.open(Path(task.directory).parent / "killed", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return answer
        next(process for process in psutil.Process().parents() if process.name() == "java").kill()

on_spark = LevelsOnSpark._on_spark
LevelsOnSpark._on_spark = lambda self, do, tasks: on_spark(self, KillsItsExecutorOnce(do), tasks)
exploration.MAX_ROWS_ON_DRIVER = 500
settings = {"interval": "10ms", "multiplier": "1.01", "quantile": "0.1", "minTaskRuntime": "1ms"}
speculation = {f"spark_speculation_{name}": value for name, value in settings.items()}
spark = session("local-cluster[2,1,1024]", spark_speculation="true", spark_executor_memory="512m", **speculation)
found = run_check(Check("rst", 3, 5), engine="spark", elsewhere=OnSpark(spark), checkpoint=directory).exploration
print(json.dumps([found.states, found.transitions, found.terminal_states, found.nodes, found.depth]))
spark.stop()
"""


@pytest.mark.slow
def test_a_search_on_a_cluster_outlives_an_executor(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CLUSTER, str(tmp_path / "saved")],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=600,
        env=without_session(),
    )
    assert (tmp_path / "killed").exists()
    found = question("rst", 3, 5).native()
    counts = [found.states, found.transitions, found.terminal_states, found.nodes, found.depth]
    assert json.loads(done.stdout.splitlines()[-1]) == counts


@pytest.fixture
def saved(tmp_path: Path, on_driver: None) -> Path:
    """A search of `rst -n 3 -m 3` that ended early."""
    found = found_by(question("rst", 3, 3), limits=Limits(states=100), checkpoint=tmp_path / "saved")
    assert found.stopped
    return tmp_path / "saved"


@pytest.mark.parametrize("protocol", ["rst", "kearns", "ses-rollback"])
def test_a_search_in_parts_finds_what_one_search_finds(protocol: str, tmp_path: Path, on_driver: None) -> None:
    case = question(protocol, 3, 3, "fifo")
    whole = case.native()
    directory = tmp_path / "saved"
    assert found_by(case, limits=Limits(states=whole.states // 3), checkpoint=directory).stopped
    first = json.loads((directory / MANIFEST).read_text("utf-8"))["facts"]["level"]
    assert found_by(case, limits=Limits(states=whole.states * 2 // 3), resume=directory).stopped
    assert json.loads((directory / MANIFEST).read_text("utf-8"))["facts"]["level"] > first
    found = found_by(case, partitions=5, resume=directory)
    assert reported(found) == reported(whole)
    assert (found.levels, directory.exists()) == (whole.levels, False)


def test_the_directory_holds_what_the_manifest_names_and_no_more(saved: Path) -> None:
    manifest = json.loads((saved / MANIFEST).read_text("utf-8"))
    found_by(question("rst", 3, 3), limits=Limits(states=1), resume=saved)
    rows = {path.name for path in saved.iterdir() if path.name.startswith(("level-", "log-"))}
    assert rows >= set(manifest["files"])


def flip(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 4
    path.write_bytes(content)


def named(directory: Path, start: str) -> Path:
    files: dict[str, str] = json.loads((directory / MANIFEST).read_text("utf-8"))["files"]
    return directory / next(name for name in files if name.startswith(start))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a missing manifest": (lambda d: (d / MANIFEST).unlink(), "no checkpoint there"),
    "an empty manifest": (lambda d: (d / MANIFEST).write_text(""), "manifest.json: damaged"),
    "a manifest cut short": (lambda d: os.truncate(d / MANIFEST, 700), "manifest.json: damaged"),
    "a manifest of something else": (lambda d: (d / MANIFEST).write_text("[1]"), "manifest.json: damaged"),
    "another count": (
        lambda d: (d / MANIFEST).write_text((d / MANIFEST).read_text().replace('"states": ', '"states": 1')),
        "manifest.json: damaged",
    ),
    "another format": (
        lambda d: (d / MANIFEST).write_text((d / MANIFEST).read_text().replace("levels 3", "levels 0")),
        "written by another version (crownless 0.1.0, crownless levels 0)",
    ),
    "a flipped bit in the rows": (lambda d: flip(named(d, "level-"), 3), "damaged or missing"),
    "a flipped bit in the log": (lambda d: flip(named(d, "log-"), -3), "damaged or missing"),
    "missing rows": (lambda d: named(d, "level-").unlink(), "damaged or missing"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_refused_in_a_line(damage: str, saved: Path) -> None:
    do, why = DAMAGES[damage]
    do(saved)
    before = sorted(path.name for path in saved.iterdir())
    with pytest.raises(BadInput) as refused:
        found_by(question("rst", 3, 3), resume=saved)
    said = str(refused.value)
    assert said.startswith(f"--resume {saved}: ")
    assert why in said
    assert "\n" not in said
    assert [name for name in sorted(path.name for path in saved.iterdir()) if name not in before] == []


def test_another_check_is_refused(saved: Path) -> None:
    with pytest.raises(BadInput, match=r"is of another check: messages 3, not 4"):
        found_by(question("rst", 3, 4), resume=saved)


def test_other_code_is_refused(saved: Path) -> None:
    machine = type(question("rst", 3, 3).check.machine)
    with (
        patch.object(machine, "send", lambda *_: []),
        pytest.raises(BadInput, match="the protocol's code is not what it was then"),
    ):
        found_by(question("rst", 3, 3), resume=saved)


def test_a_directory_in_use_is_refused(saved: Path, tmp_path: Path) -> None:
    case = question("rst", 3, 3)
    engine = engine_for(case.check, engine="native")
    with (
        OnSpark(NOWHERE).saving(case.check, engine, None, saved),
        pytest.raises(BadInput, match="another search is saving there"),
    ):
        found_by(case, resume=saved)
    with pytest.raises(BadInput, match="holds a checkpoint already"):
        found_by(case, checkpoint=saved)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").touch()
    with pytest.raises(BadInput, match=r"holds other files, such as mine\.txt"):
        found_by(case, checkpoint=tmp_path / "other")


def test_on_a_cluster_a_directory_must_be_named() -> None:
    cluster = cast(Any, SimpleNamespace(sparkContext=SimpleNamespace(master="spark://there", defaultParallelism=3)))
    with pytest.raises(BadInput, match="needs a directory that all executors share"):
        found_by(question("rst", 3, 3), cluster)
