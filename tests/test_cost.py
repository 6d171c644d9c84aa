"""Simulations agree with theory and with the specification; sweeps are the same on Spark, and go on after a stop."""

from __future__ import annotations

import csv
import json
import math
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from spark_session import spark  # noqa: F401

from crownless.command_line.cost import cost
from crownless.impl.extra_messages import ExtraMessages
from crownless.impl.protocol import AppEvent, Packet, ProtocolMachine, Step
from crownless.impl.registry import PROTOCOLS
from crownless.impl.rst import Rst
from crownless.model_check.simulation.encoding import HEADER, numbers_in, size_of, varint_bytes
from crownless.model_check.simulation.estimates import estimate, probability_within, student
from crownless.model_check.simulation.latencies import LATENCIES, ROUND_TRIP, output_wait
from crownless.model_check.simulation.simulation import Experiment, Measured, Simulation, simulate, simulate_machine
from crownless.model_check.simulation.studies import combinations as cost_studies
from crownless.model_check.simulation.studies import figures as cost_figures
from crownless.model_check.simulation.studies import findings as cost_findings
from crownless.model_check.simulation.studies.experiment_rows import experiment_of, row_of
from crownless.model_check.simulation.traffic import TRAFFIC, Applications
from crownless.pipeline.costs import figures_on_spark
from crownless.pipeline.costs import page as cost_page
from crownless.pipeline.costs import table as cost_table
from crownless.pipeline.costs.sweeps import balance_tasks, effort, sweep
from crownless.proofs.ledger import cost_evidence
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.errors import BadInput
from crownless.spec.orders import decide

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Columns enough for each row of a table to be one line.
WIDE = {"COLUMNS": "300"}

UNICAST = [
    name
    for name, kind in PROTOCOLS.items()
    if kind.sends != "broadcast" and not kind.rolls_back and name != "rst-column"
]


def mean(figure: str, runs: Sequence[Measured]) -> float:
    found = estimate(getattr(run, figure) for run in runs)
    assert found is not None
    return found.mean


def promising(order: str, name: str, n: int) -> ProtocolMachine:
    """A protocol that promises an order which it does not keep."""
    return type("Promising", (PROTOCOLS[name],), {"promises": order})(n)  # type: ignore[no-any-return]


class Recorded(Simulation):
    """A simulation that keeps the lines of events."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.lines: list[list[tuple[str, Message]]] = [[] for _ in range(self.n)]

    def _observe(self, kind: Any, process: int, message: Message) -> None:
        super()._observe(kind, process, message)
        if kind != "hand":
            self.lines[process].append(("send" if kind == "send" else "receive", message))

    def computation(self) -> Computation:
        messages = sorted({message for line in self.lines for _, message in line}, key=lambda each: int(each.name))
        number = {message: k for k, message in enumerate(messages)}
        lines = [[Event(kind, number[message]) for kind, message in line] for line in self.lines]  # type: ignore[arg-type]
        return Computation.of_lines(self.n, messages, lines)


# -- what is simulated -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UNICAST)
def test_every_run_has_a_computation_of_the_promised_order(name: str) -> None:
    kind = PROTOCOLS[name]
    workload = "client-server" if name == "rendezvous" else "uniform"
    for seed in range(2):
        run = Recorded(kind(4), Experiment(name, workload=workload, load=0.15, messages=120, seed=seed))
        measured = run.run()
        assert measured.undelivered == 0
        assert measured.kept
        if kind.ordered_at is None or name == "kearns":
            continue
        assert decide(run.computation(), kind.promises).kept


@pytest.mark.parametrize("name", ["rst-column", "unordered"])
def test_a_run_that_breaks_the_order_is_reported(name: str) -> None:
    runs = [
        simulate_machine(
            promising("causal", name, 3), Experiment(name, 3, load=2, latency="pareto", messages=600, seed=seed)
        )
        for seed in range(3)
    ]
    assert not all(run.kept for run in runs)


def test_a_message_delivered_twice_is_reported() -> None:
    class Twice(Rst):
        def on_packet(self, i: int, state: Any, packet: Packet) -> list[Step]:
            (step,) = super().on_packet(i, state, packet)
            return [step._replace(events=[*step.events, *step.events])]

    assert not simulate_machine(Twice(3), Experiment("rst", 3, messages=50)).kept


def test_a_simulation_is_a_function_of_its_experiment() -> None:
    one = Experiment("extra-messages", latency="lognormal", workload="bursts", messages=200, seed=7)
    assert simulate(one) == simulate(one)
    assert simulate(one) != simulate(replace(one, seed=8))


@given(
    name=st.sampled_from(UNICAST),
    workload=st.sampled_from(sorted(TRAFFIC)),
    latency=st.sampled_from(sorted(LATENCIES)),
    n=st.integers(2, 5),
    work=st.sampled_from([0.0, 0.3]),
    bandwidth=st.sampled_from([0.0, 1000.0]),
    seed=st.integers(0, 10**6),
)
def test_delays_add_up_and_nothing_is_lost(
    name: str, workload: str, latency: str, n: int, work: float, bandwidth: float, seed: int
) -> None:
    experiment = Experiment(name, n, workload, 0.2, latency, messages=40, seed=seed, work=work, bandwidth=bandwidth)
    run = simulate(experiment)
    assert run.kept
    assert run.undelivered == 0 or name == "rendezvous"
    if run.added is not None and run.before is not None and run.room is not None and run.after is not None:
        assert run.added == pytest.approx(run.before + run.room + run.after, abs=1e-9)
        assert run.before >= 0
        assert run.room >= -1e-9
        assert "isis" in name or run.after >= 0


def test_without_a_protocol_nothing_is_added() -> None:
    run = simulate(Experiment("unordered", messages=300))
    assert run.added == run.control == run.bytes == 0


def test_mean_latencies_are_1() -> None:
    for latency in LATENCIES:
        runs = [simulate(Experiment("unordered", 8, latency=latency, messages=500, seed=seed)) for seed in range(6)]
        assert mean("delay", runs) == pytest.approx(1, abs=0.1), latency


def test_the_load_is_what_processes_deliver() -> None:
    for workload in ("uniform", "bursts", "pairs", "broadcast"):
        runs = [simulate(Experiment("unordered", 4, workload, 0.5, messages=1500, seed=seed)) for seed in range(3)]
        assert mean("throughput", runs) == pytest.approx(0.5, rel=0.15), workload


@pytest.mark.parametrize(("latency", "squared"), [("constant", 4.0), ("exponential", 6.0)])
@pytest.mark.parametrize("load", [0.1, 0.25])
def test_an_output_buffer_is_the_queue_that_theory_says(latency: str, squared: float, load: float) -> None:
    runs = [simulate(Experiment("buffer", 4, "uniform", load, latency, messages=1500, seed=s)) for s in range(5)]
    found = estimate(run.before for run in runs)
    assert found is not None
    assert abs(found.mean - load * squared / (2 * (1 - 2 * load))) < 2 * found.error
    assert output_wait(load, latency) == pytest.approx(load * squared / (2 * (1 - 2 * load)))


def test_a_queue_never_emptied_in_time_drifts() -> None:
    calm, full = (simulate(Experiment("buffer", load=load, messages=1500)).drift for load in (0.05, 1.0))
    assert calm is not None
    assert full is not None
    assert abs(calm) < 0.5 < 10 < full


def test_a_sender_that_blocks_waits_for_a_round_trip() -> None:
    run = simulate(Experiment("rendezvous", 3, "client-server", 0.1, "constant", messages=300))
    assert run.committed is not None
    assert run.committed >= 2
    assert simulate(Experiment("rst", 3, "client-server", 0.1, "constant", messages=300)).committed == 0


def test_a_deadlock_of_blocking_senders_is_reported() -> None:
    assert simulate(Experiment("rendezvous", 6, load=0.3, messages=300)).undelivered > 0
    assert simulate(Experiment("murty-garg", 6, load=0.05, messages=300)).undelivered == 0


@pytest.mark.parametrize(("workload", "control"), [("downward", 1), ("upward", 2)])
def test_murty_and_garg_send_one_control_message_down_and_two_up(workload: str, control: int) -> None:
    run = Simulation(PROTOCOLS["murty-garg"](4), Experiment("murty-garg", 4, workload, 0.02, messages=100))
    run.run()
    assert sum(each.control for each in run.sent) == 100 * control


@pytest.mark.parametrize(
    ("name", "n", "workload", "load", "control"),
    [
        ("murty-garg", 4, "client-server", 0.02, 1.5),
        ("murty-garg", 6, "upward", 0.3, 2),
        ("murty-garg", 4, "downward", 0.1, 1),
        ("rendezvous", 4, "client-server", 0.1, 1),
        ("buffer", 6, "uniform", 0.45, 1),
        ("buffer", 6, "bursts", 0.05, 1),
        ("buffer-pipelined", 6, "pairs", 0.2, 1),
        ("fifo-ack", 4, "uniform", 0.2, 1),
    ],
)
def test_what_a_message_costs_is_exact_where_each_costs_the_same(
    name: str, n: int, workload: str, load: float, control: float
) -> None:
    for seed in range(2):
        run = simulate(Experiment(name, n, workload, load, messages=400, seed=seed))
        assert run.control == control
        assert run.bytes == control * HEADER + (control - 1) * 100 * (name == "murty-garg")


class Notifying(ProtocolMachine):
    """Every process transmits each submitted message at once, and after each delivery notifies P1 in a packet of its
    own.
    """

    promises = "asynchronous"

    def initial(self, i: int) -> int:
        return 0

    def send(self, i: int, state: int, message: Message) -> list[Step]:
        return [Step(state, [Packet(i, message.receiver, "message", message)], [AppEvent("send", message)])]

    def deliverable(self, i: int, state: int, packet: Packet) -> bool:
        return True

    def on_packet(self, i: int, state: int, packet: Packet) -> list[Step]:
        if packet.message is None:
            return [Step(state)]
        return [Step(state, [Packet(i, (i + 1) % self.n, "notice")], [AppEvent("deliver", packet.message)])]


def test_a_packet_without_a_message_counts_with_the_message_that_made_it() -> None:
    run = Simulation(Notifying(3), Experiment("notifying", 3, load=1, latency="pareto", messages=100))
    assert run.run().control == 1
    assert sorted(each.about for each in run.sent) == sorted([*range(100), *range(100)])


def test_an_acknowledgement_is_for_the_oldest_message_from_there() -> None:
    class OneLate(Notifying):
        """The second message from a process acknowledges the first, and so on."""

        def initial(self, i: int) -> tuple[int, ...]:  # type: ignore[override]
            return ()

        def on_packet(self, i: int, state: Any, packet: Packet) -> list[Step]:
            if packet.message is None:
                return [Step(state)]
            acknowledges = [Packet(i, packet.source, "ack")] if packet.source in state else []
            return [Step((*state, packet.source), acknowledges, [AppEvent("deliver", packet.message)])]

    run = Simulation(OneLate(2), Experiment("late", 2, load=0.1, latency="constant", messages=200))
    measured = run.run()
    assert sorted(each.about for each in run.sent if each.control) == sorted(
        number
        for q in range(2)
        for number in sorted(run.copies[name, q].number for name, at in run.copies if at == q)[:-1]
    )
    assert measured.withheld == pytest.approx(10, rel=0.25), "a process waits for the next message, at load 0.1"


def test_what_waits_on_the_average_is_what_comes_times_how_long_it_waits() -> None:
    """Little's law, where something waits in each of the three places."""
    for experiment in (
        Experiment("buffer", 4, load=0.3, messages=4000),
        Experiment("rst", 4, load=2, messages=4000),
        Experiment("buffer", 4, load=0.2, messages=4000, work=1.5),
    ):
        run = simulate(experiment)
        for length, most, wait in (
            (run.unsent, run.unsent_most, run.before),
            (run.waiting, run.waiting_most, run.room),
            (run.unread, run.unread_most, run.after),
        ):
            assert wait is not None
            assert length == pytest.approx(run.throughput * wait, rel=0.05, abs=0.002)
            assert most >= length
        assert max(run.unsent, run.waiting, run.unread) > 0.1


def test_the_first_and_the_last_messages_are_not_measured() -> None:
    """Four times what an output buffer can transmit: the k-th message of a process, of 1500, waits for 3k/2 latencies,
    and of every four messages three wait then.
    """
    run = simulate(Experiment("buffer", 4, load=2, latency="constant", messages=6000))
    assert run.before == pytest.approx((0.2 + 0.9) / 2 * 2250, rel=0.02)
    assert run.drift == pytest.approx(0.35 * 2250, rel=0.03)
    assert run.added_most is not None
    assert 0.9 * 2250 < run.added_most < 0.97 * 2250
    assert 0.9 * 1125 < run.unsent_most < 0.97 * 1125


def test_what_waits_already_when_measuring_starts_counts_with_the_most() -> None:
    run = Simulation(PROTOCOLS["buffer"](3), Experiment("buffer", 3, "downward", 0.01, messages=50))
    run.lengths[0][0] = 7  # of P1, which hands nothing over
    assert run.run().unsent_most == 7


def test_near_saturation_the_studys_runs_are_long_enough() -> None:
    messages = {
        point.load: point.messages
        for point in cost_studies.STUDIES["delay"](1)
        if (point.workload, point.protocol, point.latency) == ("uniform", "buffer", "constant")
    }
    assert list(messages) == list(cost_studies.LOADS)
    assert messages[0.1] == 1000
    assert messages[0.45] == pytest.approx(4 * messages[0.4], rel=0.01)
    runs = [
        simulate(Experiment("buffer", 6, load=0.4, latency="constant", messages=messages[0.4], seed=s))
        for s in (0, 1, 2)
    ]
    found = estimate(run.before for run in runs)
    assert found is not None
    assert abs(found.mean - 4.0) < found.error
    assert found.mean == pytest.approx(4.0, rel=0.1)


def test_all_outcomes_are_as_likely_also_where_the_application_is_busy() -> None:
    class Loses(Notifying):
        """Delivers a message, or does not."""

        def on_packet(self, i: int, state: int, packet: Packet) -> list[Step]:
            return [
                Step(state, (), [AppEvent("deliver", packet.message)] if kept and packet.message else ())
                for kept in (0, 1)
            ]

    run = simulate_machine(Loses(3), Experiment("loses", 3, load=0.5, messages=1000, work=1.0))
    assert run.undelivered == pytest.approx(500, abs=60)


def test_all_optimal_protocols_make_messages_wait_alike() -> None:
    waits = {simulate(Experiment(name, load=1, messages=400)).added for name in ("rst", "ses", "optimal", "rst-before")}
    assert len(waits) == 1
    assert simulate(Experiment("extra-messages", load=1, messages=400, parameters={"k": 16})).added in waits
    assert simulate(Experiment("extra-messages", load=1, messages=400)).added not in waits


def test_clearing_one_way_costs_what_any_way_costs() -> None:
    experiments = [Experiment("extra-messages", 4, load=1, messages=300, seed=seed) for seed in range(5)]
    one = estimate(simulate(each).control for each in experiments)
    any_ = estimate(simulate_machine(ExtraMessages(4), each).control for each in experiments)
    assert one is not None
    assert any_ is not None
    assert abs(one.mean - any_.mean) < one.error + any_.error


def test_an_application_that_takes_time_makes_messages_wait() -> None:
    for name in ("rst", "buffer"):
        busy = simulate(Experiment(name, work=1.0, messages=400))
        idle = simulate(Experiment(name, messages=400))
        assert busy.added is not None
        assert idle.added is not None
        assert busy.added > idle.added + 0.05
    assert busy.unread > idle.unread == 0


def test_over_fifo_channels_a_busy_application_does_not_let_messages_overtake() -> None:
    experiment = Experiment("unordered", load=1, messages=400, work=0.5, channel="fifo")
    assert simulate_machine(promising("fifo", "unordered", 4), experiment).kept
    assert not simulate_machine(promising("fifo", "unordered", 4), replace(experiment, channel="unordered")).kept


def test_a_narrow_line_takes_time() -> None:
    wide = simulate(Experiment("unordered", latency="constant", messages=200))
    narrow = simulate(Experiment("unordered", latency="constant", messages=200, bandwidth=120.0, payload=100))
    assert wide.delay == pytest.approx(1)
    assert narrow.delay is not None
    assert narrow.delay >= 2 - 1e-9  # 20 + 100 bytes take a latency more


def test_packets_leave_a_narrow_line_one_after_the_other() -> None:
    experiment = Experiment("unordered", 4, "bursts", 0.001, "constant", messages=200, bandwidth=120.0)
    assert simulate(experiment).before == pytest.approx((1 + 2 + 3 + 4 + 5) / 5, abs=0.05)


def test_each_link_has_a_mean_of_its_own_from_a_tenth_to_nearly_two() -> None:
    n = 24
    means = []
    for seed in range(4):
        draw = LATENCIES["links"].links(n, random.Random(seed))
        own = random.Random(f"{seed} packets")
        means += [sum(draw(own, i, j) for _ in range(100)) / 100 for i in range(n) for j in range(n)]
    assert fmean(means) == pytest.approx(1, abs=0.025)
    assert stdev(means) == pytest.approx(1.8 / math.sqrt(12), rel=0.06)


def test_a_client_thinks_for_a_random_time() -> None:
    clients = Applications(TRAFFIC["client-server"], 2, 0.1, seed=3)
    answer = Message("0", 0, (1,))
    times = [intent.after for _ in range(2000) for intent in clients.delivered(answer, 1)]
    assert fmean(times) == pytest.approx(10, rel=0.1)
    assert stdev(times) == pytest.approx(10, rel=0.1)


# -- bytes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "numbers"), [("fifo-sequence", 1), ("rst", 25), ("rst-column", 5), ("kearns", 5), ("ses", 30)]
)
def test_stamps_have_the_numbers_that_the_texts_say(name: str, numbers: int) -> None:
    run = simulate(Experiment(name, 5, messages=100))
    assert run.numbers == numbers
    assert run.bytes == 4 * numbers


def test_an_acknowledgement_is_a_header_and_a_request_carries_its_message() -> None:
    assert simulate(Experiment("buffer", messages=100, load=0.001)).bytes == pytest.approx(HEADER, abs=1)
    up = simulate(Experiment("murty-garg", workload="upward", messages=100, load=0.001))
    assert up.bytes == pytest.approx(HEADER + HEADER + 100, abs=3)


def test_the_encoding_counts_numbers_and_lengths() -> None:
    message = Message("300", 1, (2,))
    assert list(numbers_in(((1, 2), (3, 4)), 2)) == [1, 2, 3, 4]
    assert list(numbers_in(((0, 1, 7), (0, 2, 8)), 4)) == [2, 0, 1, 7, 0, 2, 8]
    assert list(numbers_in(frozenset({5}), 4)) == [1, 5]
    assert list(numbers_in((message,), 4)) == [1, 1, 300, 2]
    assert size_of(Packet(0, 1, "message", None, (127, 128, 16384)), 3) == (3, 12, 1 + 2 + 3, 0)
    assert size_of(Packet(0, 1, "packet", Message("1", 0, (1,)), (message,)), 3).carried == 1
    assert [varint_bytes(each) for each in (0, 127, 128, 16383, 16384)] == [1, 1, 2, 2, 3]


# -- estimates ---------------------------------------------------------------------------------------------------------


def test_students_t_is_that_of_the_tables() -> None:
    tables = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 30: 2.042, 100: 1.984}
    for freedom, t in tables.items():
        assert student(freedom) == pytest.approx(t, abs=5e-4)
        assert probability_within(student(freedom), freedom) == pytest.approx(0.95)


def test_an_estimate_says_how_far_it_goes() -> None:
    found = estimate([1.0, 2.0, 3.0, None])
    assert found is not None
    assert (found.mean, found.values) == (2, 3)
    assert found.error == pytest.approx(4.303 / math.sqrt(3), abs=1e-3)
    assert str(found) == "2.0 ± 2.5"
    assert str(estimate([3.0])) == "3"
    assert str(estimate([2.5, 2.5])) == "2.5"
    assert estimate([None]) is None


# -- sweeps ------------------------------------------------------------------------------------------------------------


def small(seeds: int = 3) -> list[Experiment]:
    some = cost_studies.combinations(("rst", "buffer", "extra-messages"), seeds=seeds, messages=60, loads=(0.1, 0.3))
    return some + cost_studies.combinations(
        ("extra-messages",), parameters=[{"k": (5, 16, 5, 16)}], seeds=seeds, messages=60
    )


def test_a_row_says_all_of_an_experiment() -> None:
    for experiment in small():
        assert experiment_of(row_of(experiment)) == experiment
    keys = {row_of(experiment)["key"] for experiment in small()}
    assert len(keys) == len(small())


def test_a_stopped_sweep_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = sweep(small(2), out=tmp_path)
    (tmp_path / ".part-1.parquet.unfinished").write_bytes(b"killed here")
    reported: list[tuple[int, int]] = []
    monkeypatch.setattr("crownless.pipeline.costs.sweeps.simulate", lambda experiment: pytest.fail("simulated again"))
    again = sweep(small(2), out=tmp_path, progress=lambda done, total: reported.append((done, total)))
    assert again == first
    assert reported == [(16 - 2, 14)]
    monkeypatch.undo()
    more = sweep(small(3), out=tmp_path)
    assert {row["key"] for row in first} < {row["key"] for row in more}
    assert len(cost_table.read(tmp_path)) == len(more)


KILLED = """
import sys
from pathlib import Path
from crownless.model_check.simulation.studies import combinations as studies
from crownless.pipeline.costs import sweeps
sweeps.ROWS_A_FILE = 2
sweeps.sweep(studies.combinations(("rst",), seeds=400, messages=500), out=Path(sys.argv[1]))
"""


def test_a_sweep_that_is_killed_loses_at_most_what_it_was_about(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)])
    while process.poll() is None and len(list(tmp_path.glob("*.parquet"))) < 3:
        time.sleep(0.02)
    process.kill()
    assert process.wait() < 0, "it was killed in the midst of its work"
    kept = cost_table.read(tmp_path)
    assert 6 <= len(kept) < 400
    experiments = cost_studies.combinations(("rst",), seeds=len(kept) + 2, messages=500)
    assert sweep(experiments, out=tmp_path) == sweep(experiments)


def test_an_interrupted_sweep_writes_all_that_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Experiment] = []

    def interrupted(experiment: Experiment) -> Measured:
        if len(done) == 5:
            raise KeyboardInterrupt
        done.append(experiment)
        return simulate(experiment)

    reported: list[int] = []
    monkeypatch.setattr("crownless.pipeline.costs.sweeps.simulate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sweep(small(2), out=tmp_path, progress=lambda done, total: reported.append(done))
    assert reported == [0, 1, 2, 3, 4, 5], "each finished simulation is reported"
    assert [experiment_of(row) for row in cost_table.read(tmp_path)] == done


def test_rows_do_not_wait_for_many_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1000))
    monkeypatch.setattr("crownless.pipeline.costs.sweeps.time.monotonic", lambda: float(next(clock)))
    kept: list[int] = []
    sweep(small(2), out=tmp_path, progress=lambda done, total: kept.append(len(cost_table.read(tmp_path))))
    assert all(done - kept[done] <= 3 for done in range(14))
    assert len(list(tmp_path.glob("*.parquet"))) < 14


def test_the_command_says_what_an_interrupt_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(experiment: Experiment) -> Measured:
        if experiment.seed == 2:
            raise KeyboardInterrupt
        return simulate(experiment)

    for more, expected in (
        (
            ["--out", str(tmp_path)],
            f"crownless: 2 of 4 simulations kept in {tmp_path}; the same command goes on from there",
        ),
        ([], "crownless: 2 of 4 simulations done, none kept; with --out FOLDER they are"),
    ):
        monkeypatch.setattr("crownless.pipeline.costs.sweeps.simulate", interrupted)
        options = ["rst", "--seeds", "4", "-m", "60"]
        assert expected in CliRunner().invoke(cost, [*options, *more]).output.splitlines()
        monkeypatch.undo()
    assert len(cost_table.read(tmp_path)) == 2
    assert CliRunner().invoke(cost, [*options, "--out", str(tmp_path)]).exit_code == 0
    assert len(cost_table.read(tmp_path)) == 4


def test_a_folder_that_is_not_a_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "part-1.parquet").write_bytes(b"nonsense")
    with pytest.raises(BadInput, match="not a Parquet file"):
        sweep(small(1), out=tmp_path)


@pytest.mark.parametrize("figure", [math.inf, math.nan, 1e308, -1e308])
def test_a_figure_that_no_simulation_measures_is_refused(figure: float, tmp_path: Path) -> None:
    sweep(small(2), out=tmp_path)
    file, *others = tmp_path.glob("*.parquet")
    rows = [row | {"delay": figure} for row in cost_table.read(tmp_path)]
    parquet.write_table(cost_table.arrow_table(rows), file)
    for other in others:
        other.unlink()
    with pytest.raises(BadInput, match="delay is"):
        sweep(small(2), out=tmp_path)


def test_a_column_whose_name_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    sweep(small(2), out=tmp_path)
    (file,) = tmp_path.glob("*.parquet")
    file.write_bytes(file.read_bytes().replace(b"withheld_most", b"withheld_mos\xec"))
    with pytest.raises(BadInput, match=r"unreadable values|not a table of costs|not a Parquet file"):
        sweep(small(2), out=tmp_path)


def test_tasks_are_balanced_and_the_most_expensive_start_first() -> None:
    rows = [row_of(each) for each in cost_studies.of_the_page(1)]
    tasks = balance_tasks(rows, 16)
    loads = [sum(map(effort, task)) for task in tasks]
    assert sorted(row["key"] for task in tasks for row in task) == sorted(row["key"] for row in rows)
    assert loads == sorted(loads, reverse=True)
    assert loads[0] < 1.1 * loads[-1]
    assert len(balance_tasks(rows[:3], 16)) == 3


def test_points_have_the_means_of_their_rows() -> None:
    rows = sweep(small())
    found = cost_figures.points(rows)
    assert [point.repetitions for point in found] == [3] * 7
    assert cost_figures.points([*rows, *rows]) == found
    matrix = cost_figures.one(found, protocol="rst", load=0.1)
    values = [row["added"] for row in rows if row["protocol"] == "rst" and row["load"] == 0.1]
    assert matrix["added"] == estimate(values)
    assert matrix.stuck == matrix.broken == 0
    shifted = cost_figures.difference(
        rows, "bytes", {"protocol": "rst", "load": 0.3}, {"protocol": "buffer", "load": 0.3}
    )
    assert shifted.mean == pytest.approx(mean_of(rows, "rst") - mean_of(rows, "buffer"))
    json.dumps([point.json() for point in found])


def made(protocol: str = "rst", stuck: int = 0, **figures: tuple[float, ...]) -> cost_figures.Point:
    """An experiment of three runs with these figures, and zeros else."""
    row = row_of(Experiment(protocol))
    zeros = dict.fromkeys(cost_figures.AVERAGED, 0.0)
    rows = [
        {**row, **zeros, "key": str(k), "seed": k, "kept": True, "undelivered": int(k < stuck)}
        | {name: values[k] for name, values in figures.items()}
        for k in range(3)
    ]
    (point,) = cost_figures.points(rows)
    return point


def test_a_growing_delay_is_reported() -> None:
    growing = made(added=(10.0, 11.0, 12.0), drift=(5.0, 5.5, 6.0))
    assert growing.growing
    assert cost_findings._growing(growing) == "11.0 ± 2.5 and growing"
    assert growing.json()["growing"]
    for drift in ((5.0, -1.0, 6.0), (0.5, 0.6, 0.7), (-5.0, -5.5, -6.0)):
        steady = made(added=(10.0, 11.0, 12.0), drift=drift)
        assert not steady.growing
        assert cost_findings._growing(steady) == "11.0 ± 2.5"


def test_where_a_run_got_stuck_there_are_no_figures(tmp_path: Path) -> None:
    point = made("rendezvous", stuck=1, added=(1.0, 2.0, 3.0))
    assert point.stuck == 1
    assert set(point.figures.values()) == {None}
    assert point.said("added") == "stuck (1 of 3)"
    assert set(point.json()["figures"].values()) == {None}
    cost_figures.write_csv([point, made(added=(1.0, 2.0, 3.0))], tmp_path / "figures.csv")
    with (tmp_path / "figures.csv").open(encoding="utf-8") as file:
        stuck, other = csv.DictReader(file)
    assert (stuck["stuck"], stuck["added"], stuck["added_error"], stuck["added_values"]) == ("1", "", "", "0")
    assert (other["stuck"], other["added"], other["added_values"]) == ("0", "2", "3")
    done = CliRunner().invoke(cost, ["rendezvous", "-n", "6", "--load", "0.3", "--seeds", "2", "-m", "200"], env=WIDE)
    assert done.output.splitlines()[-1].split() == ["rendezvous", *"–––––––", "stuck", "(2", "of", "2)"]


def test_one_run_alone_has_no_error(tmp_path: Path) -> None:
    (point,) = cost_figures.points(sweep(cost_studies.combinations(("rst",), seeds=1, messages=60)))
    assert point.json()["figures"]["bytes"] == {"mean": 64, "error": None, "values": 1}
    cost_figures.write_csv([point], tmp_path / "figures.csv")
    assert "inf" not in (tmp_path / "figures.csv").read_text("utf-8")


def test_the_command_marks_a_delay_that_grows() -> None:
    done = CliRunner().invoke(cost, ["buffer", "--load", "2", "--seeds", "3", "-m", "300"], env=WIDE)
    assert done.output.splitlines()[-1].endswith("delay growing")


def test_a_wait_longer_than_the_proved_bound_is_reported() -> None:
    experiments = [
        replace(each, messages=40) for each in cost_studies.STUDIES["withheld"](2) if each.processes in (3, 6)
    ]
    rows = sweep(experiments)
    assert "None is above the 2(n − 2) t that is proved" in cost_findings._withheld(rows)[0]
    for row in rows:
        if (row["processes"], row["latency"], row["seed"]) == (3, "constant", 1):
            row["withheld_most"] = 2.1
    assert "ABOVE the proved bound for [3]" in cost_findings._withheld(rows)[0]


def mean_of(rows: Sequence[Any], protocol: str) -> float:
    values = [row["bytes"] for row in rows if row["protocol"] == protocol and row["load"] == 0.3]
    return float(sum(values) / len(values))


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(BadInput, match="parameter 'k'"):
        cost_studies.combinations(("rst",), parameters=[{"k": 5}])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"protocol": "rts"}, "unknown protocol"),
        ({"protocol": "cbcast"}, "broadcasts"),
        ({"protocol": "ses-rollback"}, "crashes"),
        ({"workload": "unifrom"}, "unknown workload"),
        ({"latency": "normal"}, "unknown latency"),
        ({"channel": "lossy"}, "not delivered"),
        ({"load": 0.0}, "load 0.0"),
        ({"load": math.inf}, "load inf"),
        ({"load": -1.0}, "load -1.0: not a number greater than 0; give one by --load, such as 0.1"),
        ({"payload": -1}, "payload -1: not a number 0 or greater; give one by --payload, such as 100"),
        ({"processes": 200}, "200 processes; give 2 to 128 by --processes"),
        ({"work": -1.0}, "work"),
        ({"processes": 1}, "1 processes"),
        ({"messages": 1}, "1 messages"),
    ],
)
def test_invalid_settings_are_refused(change: dict[str, Any], expected: str) -> None:
    with pytest.raises(BadInput, match=expected):
        simulate(replace(Experiment("rst"), **change))


# -- on Spark ----------------------------------------------------------------------------------------------------------


def test_spark_finds_the_same(spark: SparkSession, tmp_path: Path) -> None:  # noqa: F811
    plain = sweep(small(2))
    reported: list[int] = []
    assert sweep(small(2), engine="spark", out=tmp_path, progress=lambda done, total: reported.append(done)) == plain
    assert reported == list(range(15))
    assert sweep(small(2), out=tmp_path) == plain
    frame = figures_on_spark.figures(spark.createDataFrame(cost_table.arrow_table(plain)))
    found = {tuple(row[name] for name in (*cost_figures.FIELDS_BUT_SEED, "figure")): row for row in frame.collect()}
    for point in cost_figures.points(plain):
        key = tuple(point.settings.values())
        assert found[*key, "stuck"]["mean"] == found[*key, "broken"]["mean"] == 0
        for name in cost_figures.AVERAGED:
            row, expected = found[*key, name], point[name]
            if expected is None:
                assert row["values"] == 0
            else:
                assert row["values"] == expected.values
                assert row["mean"] == pytest.approx(expected.mean)
                assert row["error"] == pytest.approx(expected.error, abs=1e-9)


def test_on_spark_too_there_are_no_figures_where_a_run_got_stuck(spark: SparkSession) -> None:  # noqa: F811
    experiments = cost_studies.combinations(("rendezvous",), processes=(6,), loads=(0.05,), seeds=4, messages=40)
    rows = sweep(experiments)
    (point,) = cost_figures.points(rows)
    assert 0 < point.stuck < 4
    frame = figures_on_spark.figures(spark.createDataFrame(cost_table.arrow_table(rows)))
    found = {row["figure"]: row for row in frame.collect()}
    assert found["stuck"]["mean"] == point.stuck / 4
    assert {found[name]["values"] for name in cost_figures.AVERAGED} == {0}


def test_a_sweep_on_spark_that_ends_early_keeps_what_is_done(spark: SparkSession, tmp_path: Path) -> None:  # noqa: F811
    first = sweep(small(1), engine="spark", out=tmp_path)
    with pytest.raises(RuntimeError, match="enough"):
        sweep(small(3), engine="spark", out=tmp_path, progress=gives_up_at(len(first) + 2))
    assert len(first) < len(cost_table.read(tmp_path)) < 3 * len(first)
    assert sweep(small(3), engine="spark", out=tmp_path) == sweep(small(3))


def gives_up_at(number: int) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        if done >= number:
            raise RuntimeError("enough")

    return progress


# -- the page and the command ------------------------------------------------------------------------------------------


def test_the_command_prints_a_table_and_its_json_has_every_figure() -> None:
    command = ["rst", "buffer", "--seeds", "2", "-m", "60", "--load", "0.1", "--load", "0.2"]
    named = [["rst", "0.1"], ["rst", "0.2"], ["buffer", "0.1"], ["buffer", "0.2"]]
    done = CliRunner(env=WIDE).invoke(cost, command)
    assert done.exit_code == 0, done.output
    assert [line.split()[:2] for line in done.output.splitlines()[2:]] == named
    folded = CliRunner(env={"COLUMNS": "80"}).invoke(cost, command).output
    # Below a row only what did not fit; a row begins with its protocol.
    assert [line.split()[:2] for line in folded.splitlines() if line.startswith(("rst", "buffer"))] == named
    assert sorted("".join(folded.split())) == sorted("".join(done.output.split())), "nothing is cut"
    done = CliRunner().invoke(cost, ["rst", "--seeds", "2", "-m", "60", "--json"])
    (point,) = json.loads(done.output)["costs"]
    assert point["protocol"] == "rst"
    assert set(point["figures"]) == set(cost_figures.AVERAGED)


def test_the_command_exits_with_1_where_a_promise_is_broken() -> None:
    done = CliRunner().invoke(
        cost,
        ["rst-column", "-n", "3", "--load", "2", "--latency", "pareto", "-m", "1000", "--seeds", "3"],
        standalone_mode=False,
    )
    assert done.return_value == 1
    assert "rst-column breaks causal order" in done.output


def test_a_page_of_one_run_each_is_written(tmp_path: Path) -> None:
    rows = sweep(replace(each, messages=30) for each in cost_studies.of_the_page(1))
    cost_page.write_page(tmp_path, rows, 1)
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "At none of the loads looked at does the delay surely exceed" in page
    assert {file.name for file in tmp_path.glob("*.png")} == {f"{name}.png" for name in cost_page.NOTES}
    assert all(f"<figcaption>{escape(note)}" in page for note in cost_page.NOTES.values())


def test_the_committed_page_keeps_to_what_is_known_exactly() -> None:
    """Theory for the output buffer, up to near its saturation; and what every message costs alike."""
    waits = control = 0
    within = 0
    for line in committed_figures():
        if line["growing"] != "0" or line["stuck"] != "0":
            continue
        open_ = line["workload"] == "uniform" and line["bandwidth"] == "0.0"
        if line["protocol"] == "buffer" and open_ and line["latency"] in ROUND_TRIP:
            off = abs(float(line["before"]) - output_wait(float(line["load"]), line["latency"]))
            assert off < 2 * float(line["before_error"]), line
            within += off <= float(line["before_error"])
            waits += 1
        exactly = {"buffer": 1.0, "buffer-pipelined": 1.0, "fifo-ack": 1.0, "rst": 0.0, "rendezvous": 1.0}
        exactly |= {"murty-garg": {"client-server": 1.5, "downward": 1.0, "upward": 2.0}.get(line["workload"], -1.0)}
        if exactly.get(line["protocol"], -1.0) >= 0:
            # Of a client's messages and their answers one more may be measured than of the others.
            most = 0.002 if (line["protocol"], line["workload"]) == ("murty-garg", "client-server") else 0
            assert abs(float(line["control"]) - exactly[line["protocol"]]) <= most, line
            control += 1
    assert waits >= 3 * len(cost_studies.LOADS)
    assert within > 0.8 * waits
    assert control > 200


def committed_figures() -> list[dict[str, str]]:
    with (Path(__file__).parent.parent / "docs" / "cost" / "figures.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_committed_page_answers_every_open_question() -> None:
    folder = Path(__file__).parent.parent / "docs" / "cost"
    page = (folder / "index.html").read_text("utf-8")
    for claim in ("MF24", "MG19", "MG20", "MG21", "SA13"):
        assert f"<h2>{claim}: " in page
    for name in ("delay", "bandwidth", "thresholds", "synchronous"):
        assert f'src="{name}.png"' in page
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / f"{name}.svg").read_text("utf-8")
    assert "Every run kept the order that its protocol promises" in page
    with (folder / "figures.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert all(line["broken"] == "0" for line in lines)
    assert sum(file.stat().st_size for file in folder.iterdir()) < 2_000_000


def test_evidence_compares_the_same_messages() -> None:
    matrix = cost_evidence.simulated("rst", 3, 0.3, 3, messages=60)
    optimal = cost_evidence.simulated("optimal", 3, 0.3, 3, messages=60)
    same = cost_evidence.more(matrix, optimal, "added")
    assert max(abs(same.mean), same.error) < 1e-9
    assert matrix.kept
    assert matrix.stuck == 0
    assert cost_evidence.surely_above(
        cost_evidence.more(matrix, cost_evidence.simulated("buffer", 3, 0.3, 3, messages=60), "numbers"), 0
    )
    assert not cost_evidence.surely_below(same, 0)
