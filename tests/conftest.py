"""What all tests have in common, and their three tiers, which are folders.

`pytest` runs those of `tests/`, and CI those of `tests/thorough/` after them. Nothing runs by itself what is in
`tests/slow/`, and cases elsewhere that are marked slow; all of that together is `pytest -m slow tests`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from command_line_runner import Crownless
    from pyspark.sql import SparkSession

# Started in the background of a shell, the tests would ignore Ctrl-C, and so would every process that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Workers of pytest-xdist are given a width, to which lines would be wrapped.
os.environ.pop("COLUMNS", None)

# No test depends on how fast the machine is.
settings.register_profile("any-speed", deadline=None)
settings.load_profile("any-speed")


@pytest.fixture
def crownless(capsys: pytest.CaptureFixture[str]) -> Crownless:
    """Runs `crownless` in this process."""
    from command_line_runner import Crownless

    return Crownless(capsys)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for all tests: on two processors of this machine, with four partitions a shuffle."""
    from crownless.pipeline.session import session

    started = session("local[2]", rows_in_java=False, spark_sql_shuffle_partitions="4")
    yield started
    started.stop()


@pytest.fixture(scope="session", autouse=True)
def only_the_end_is_reported() -> Iterator[None]:
    """However long a search or a call takes here, nothing is said of it before its end, unless a test asks for it."""
    from crownless.model_check.check import check

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(check, "REPORTED_AFTER", float("inf"))
        yield


THOROUGH, SLOW = (Path(__file__).parent / name for name in ("thorough", "slow"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The other tiers are left out where no path is named."""
    named = config.args_source is not pytest.Config.ArgsSource.TESTPATHS
    return True if collection_path in (THOROUGH, SLOW) and not named else None


@pytest.hookimpl(tryfirst=True)  # before pytest itself leaves out what is marked slow
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All that is in the folder is slow."""
    for item in items:
        if SLOW in item.path.parents:
            item.add_marker(pytest.mark.slow)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A line says why no page was tested in a browser, also where reasons of skipped tests are not shown."""
    from browser import MISSING

    if MISSING is not None:
        terminalreporter.write_line(f"No page was tested in a browser: {MISSING}.")
