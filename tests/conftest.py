"""Which tests the README's command runs: of files that take long a sample, as CI runs the rest too.

The rest is marked `thorough`; of some families of cases, which take longest together, a part is marked `full`, which CI
leaves out. Files and tests that are named on the command line are run whole.
"""

from __future__ import annotations

import os
import signal
from collections import defaultdict
from collections.abc import Iterator
from zlib import crc32

import pytest
from hypothesis import settings

# Started in the background of a shell, the tests would ignore Ctrl-C, and so would every process that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Workers of pytest-xdist are given a width, to which lines would be wrapped.
os.environ.pop("COLUMNS", None)

# No test depends on how fast the machine is.
settings.register_profile("any-speed", deadline=None)
settings.load_profile("any-speed")


@pytest.fixture(scope="session", autouse=True)
def only_the_end_is_reported() -> Iterator[None]:
    """However long a search or a call takes here, nothing is said of it before its end, unless a test asks for it."""
    from crownless.command_line import output
    from crownless.model_check import early, lasting_calls

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(early, "REPORTED_AFTER", float("inf"))
        patched.setattr(lasting_calls, "REPORTED_AFTER", float("inf"))
        patched.setattr(output, "PRINTED_AFTER", float("inf"))
        yield


#: Of these none is in the sample: in every process of the tests they start a Spark of their own.
NOT_IN_THE_SAMPLE = {
    "test_check_on_spark.py",
    "test_cost_on_spark.py",
    "test_pipeline_by_clocks.py",
    "test_pipeline_exploration.py",
    "test_pipeline_live.py",
    "test_pipeline_logs.py",
    "test_pipeline_one_run.py",
    "test_pipeline_one_run_parts.py",
    "test_spark_session.py",
}
#: Of the tests of a file one in so many is in the sample; of the files that are not here, all are. Odd numbers do not
#: keep step with the parameters.
ONE_IN = {
    "test_any_protocol.py": 61,
    "test_broken_protocols.py": 43,
    "test_checkpoints.py": 9,
    "test_classified_logs.py": 3,
    "test_classify_details.py": 3,
    "test_classify_files.py": 3,
    "test_classify_on_spark.py": 3,
    "test_code_base.py": 3,
    "test_command_line.py": 5,
    "test_command_line_bad_input.py": 5,
    "test_command_line_classify.py": 5,
    "test_complete_logs.py": 5,
    "test_conform.py": 3,
    "test_conform_examples.py": 8,
    "test_conform_hostile_nodes.py": 7,
    "test_conform_in_process.py": 5,
    "test_conform_maelstrom.py": 5,
    "test_conform_random.py": 5,
    "test_conform_sockets.py": 7,
    "test_conform_states.py": 5,
    "test_contributing.py": 2,
    "test_cost_bytes.py": 11,
    "test_cost_page.py": 11,
    "test_cost_simulation.py": 11,
    "test_cost_sweeps.py": 11,
    "test_crowns.py": 3,
    "test_declared_symmetry.py": 11,
    "test_delivery_disorder.py": 5,
    "test_diagram_page.py": 3,
    "test_discovery.py": 5,
    "test_discovery_of_stages.py": 3,
    "test_docs.py": 13,
    "test_endings.py": 17,
    "test_engines.py": 5,
    "test_explore.py": 3,
    "test_explorer.py": 7,
    "test_first_screen.py": 13,
    "test_fuzz.py": 31,
    "test_inclusions_of_orders.py": 11,
    "test_incomplete_computations.py": 11,
    "test_interrupts_of_proofs.py": 5,
    "test_large_runs.py": 3,
    "test_ledger.py": 31,
    "test_ledger_evidence.py": 13,
    "test_ledger_murty_garg.py": 29,
    "test_limits.py": 5,
    "test_log_formats.py": 5,
    "test_log_matching.py": 7,
    "test_log_monitor.py": 3,
    "test_machines_are_pure.py": 11,
    "test_monitors.py": 5,
    "test_native_checkpoints.py": 11,
    "test_native_engine.py": 31,
    "test_native_parts.py": 11,
    "test_native_rounds.py": 11,
    "test_ops_comparison.py": 5,
    "test_orders.py": 11,
    "test_orders_of_large_computations.py": 11,
    "test_pinned_explorations.py": 2,
    "test_plain_lines.py": 3,
    "test_planted_faults.py": 23,
    "test_printable.py": 2,
    "test_programs.py": 7,
    "test_proofs.py": 2,
    "test_proofs_of_causal_order.py": 47,
    "test_proofs_of_queues.py": 23,
    "test_proofs_read_crownless_names.py": 3,
    "test_reductions.py": 17,
    "test_renaming.py": 5,
    "test_replay.py": 11,
    "test_rules.py": 11,
    "test_run_explorer.py": 3,
    "test_run_explorer_files.py": 3,
    "test_run_explorer_pictures.py": 3,
    "test_run_explorer_states.py": 3,
    "test_second_derivations.py": 7,
    "test_second_solver.py": 5,
    "test_shortest.py": 2,
    "test_steps_of_queue_machines.py": 7,
    "test_story_earlier_realizations.py": 2,
    "test_story_mattern_fuenfrocken_footnotes.py": 5,
    "test_story_sanchez_alvarez.py": 5,
    "test_story_sanchez_alvarez_optimal.py": 5,
    "test_story_schiper_eggli_sandoz.py": 7,
    "test_story_schiper_eggli_sandoz_agreement.py": 7,
    "test_story_schiper_eggli_sandoz_failure.py": 7,
    "test_streaming_monitor.py": 7,
    "test_suite.py": 7,
    "test_symbolic_runs.py": 17,
    "test_testing.py": 5,
    "test_uncompiled_kernels.py": 5,
    "test_unsound_proof_machines.py": 3,
    "test_verdicts_on_orders.py": 11,
    "test_witnesses.py": 11,
    "test_wrong_machines.py": 5,
}

#: Nor of these, since each takes ten seconds or so, above all to compile what no other test needs.
LONG = {
    "TestNumberedKeepsFifoOrder",
    "test_one_run_is_judged_as_one_of_many_is",
    "test_symmetry_reduction_of_processes_that_differ_is_dropped",
    "test_a_fault_is_caught_by_the_property_that_names_it_in_as_many_actions[NumbersNothing-fifo]",
    "test_a_planted_fault_changes_the_verdict[SA5: waits for nothing]",
    "test_an_encoding_that_caps_what_it_counts_is_not_proved_of_the_machine",
    "test_a_killed_search_goes_on",
    "test_a_fault_within_the_bound_leaves_it_unknown_of_the_machine",
    "test_a_planted_fault_changes_the_verdict[MG7: z3 checks CommitsWhenItAsks]",
    "test_it_is_proved_for_every_n[buffer]",
    "test_an_impure_machine_is_refused_in_a_line_that_names_the_method[symmetry-AnotherStampEachTime]",
}

#: Of the thorough tests of these files CI runs one in so many, by their names; `pytest -m full` runs the others.
IN_CI_ONE_IN = {
    "test_any_protocol.py": 3,
    "test_broken_protocols.py": 3,
    "test_complete_logs.py": 2,
    "test_conform_maelstrom.py": 2,
    "test_conform_random.py": 2,
    "test_conform_sockets.py": 2,
    "test_conform_states.py": 2,
    "test_cost_bytes.py": 2,
    "test_cost_on_spark.py": 2,
    "test_cost_page.py": 2,
    "test_cost_simulation.py": 2,
    "test_cost_sweeps.py": 2,
    "test_declared_symmetry.py": 2,
    "test_explorer.py": 2,
    "test_inclusions_of_orders.py": 2,
    "test_incomplete_computations.py": 2,
    "test_ledger_evidence.py": 2,
    "test_machines_are_pure.py": 2,
    "test_native_engine.py": 3,
    "test_orders.py": 2,
    "test_orders_of_large_computations.py": 2,
    "test_pipeline_by_clocks.py": 3,
    "test_pipeline_exploration.py": 2,
    "test_pipeline_logs.py": 3,
    "test_pipeline_one_run.py": 3,
    "test_pipeline_one_run_parts.py": 3,
    "test_planted_faults.py": 2,
    "test_proofs_of_causal_order.py": 3,
    "test_reductions.py": 2,
    "test_renaming.py": 2,
    "test_rules.py": 2,
    "test_second_derivations.py": 2,
    "test_steps_of_queue_machines.py": 2,
    "test_symbolic_runs.py": 3,
    "test_verdicts_on_orders.py": 2,
    "test_witnesses.py": 2,
}


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
