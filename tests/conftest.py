"""Which tests the README's command runs: of files that take long a sample, as CI runs the rest too.

The rest is marked `thorough`; of some families of cases, which take longest together, a part is marked `full`, which CI
leaves out. Files and tests that are named on the command line are run whole.
"""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING
from zlib import crc32

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


def _by_file(names: dict[int, str]) -> dict[str, int]:
    """file → number, of numbers that many files share."""
    return {f"test_{name}.py": number for number, some in names.items() for name in some.split()}


#: Of these none is in the sample: in every process of the tests they start a Spark of their own.
NOT_IN_THE_SAMPLE = _by_file(
    {
        0: """
            pipeline_exploration pipeline_live pipeline_logs spark_session
        """
    }
)
#: Of the tests of a file one in so many is in the sample; of the files that are not here, all are. Odd numbers do not
#: keep step with the parameters.
ONE_IN = _by_file(
    {
        3: """
            classified_logs classify_details code_base conform crowns diagram_page
            explore large_runs log_monitor printable proofs proofs_read_crownless_names run_explorer
            run_explorer_files run_explorer_pictures run_explorer_states shortest story_mattern_fuenfrocken
            unsound_proof_machines
        """,
        7: """
            command_line command_line_bad_input complete_logs conform_in_process
            conform_maelstrom conform_random delivery_disorder discovery engines explorer log_formats
            log_matching monitors ops_comparison pinned_explorations programs renaming story_sanchez_alvarez
            story_schiper_eggli_sandoz
            streaming_monitor suite testing uncompiled_kernels wrong_machines
        """,
        11: """
            checkpoints cost_simulation cost_sweeps declared_symmetry
            inclusions_of_orders incomplete_computations machines_are_pure native_parts native_rounds orders
            orders_of_large_computations proofs_of_queues rules verdicts_on_orders witnesses
        """,
        23: """
            any_protocol docs endings first_screen ledger_evidence reductions symbolic_runs
        """,
        61: """
            broken_protocols fuzz ledger native_engine proofs_of_causal_order
        """,
    }
)

#: Nor of these, since each takes ten seconds or so, above all to compile what no other test needs.
LONG = {
    "test_the_example_is_listed_and_covered_by_every_verb_that_takes_a_protocol",
    "test_every_run_has_the_verdicts_of_the_spec",
    "test_a_program_ends_in_the_failure_that_it_is",
    "test_a_fault_is_caught_by_the_property_that_names_it_in_as_many_actions[NumbersNothing-fifo]",
    "test_a_planted_fault_changes_the_verdict[SA5: waits for nothing]",
    "test_a_planted_fault_changes_the_verdict[MG7: z3 checks CommitsWhenItAsks]",
    "test_it_is_proved_for_every_n[buffer]",
}

#: Of the thorough tests of these files CI runs one in so many, by their names; `pytest -m full` runs the others.
IN_CI_ONE_IN = _by_file(
    {
        2: """
            complete_logs conform_maelstrom conform_random cost_simulation
            cost_sweeps declared_symmetry explorer inclusions_of_orders incomplete_computations ledger_evidence
            machines_are_pure orders orders_of_large_computations pinned_explorations pipeline_exploration
            reductions renaming rules verdicts_on_orders witnesses
        """,
        3: """
            pipeline_logs
        """,
        6: """
            broken_protocols native_engine proofs_of_causal_order symbolic_runs
        """,
    }
)


@pytest.hookimpl(tryfirst=True)  # before pytest itself leaves out what the markers say
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    seen: dict[str, int] = defaultdict(int)
    for item in items:
        if item.get_closest_marker("slow"):
            continue
        file = item.path.name
        names = {item.name, item.name.split("[")[0], item.parent.name if item.parent else ""}
        left_out = file in NOT_IN_THE_SAMPLE or LONG & names
        if left_out or seen[file] % ONE_IN.get(file, 1):
            left_to_ci = crc32(item.nodeid.encode()) % IN_CI_ONE_IN.get(file, 1) == 0
            item.add_marker(pytest.mark.thorough if left_to_ci else pytest.mark.full)
        seen[file] += 1


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A line says why no page was tested in a browser, also where reasons of skipped tests are not shown."""
    from browser import MISSING

    if MISSING is not None:
        terminalreporter.write_line(f"No page was tested in a browser: {MISSING}.")
