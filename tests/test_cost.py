"""Simulations agree with theory and with the specification; sweeps are the same on Spark, and go on after a stop."""

from __future__ import annotations

import csv
import json
import math
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from spark_session import spark  # noqa: F401

from crownless.command_line.cost import cost
from crownless.impl.extra_messages import ExtraMessages
from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.registry import PROTOCOLS
from crownless.impl.rst import Rst
from crownless.model_check.simulation.encoding import HEADER, numbers_in, size_of, varint_bytes
from crownless.model_check.simulation.estimates import estimate, probability_within, student
from crownless.model_check.simulation.latencies import LATENCIES
from crownless.model_check.simulation.simulation import Experiment, Measured, Simulation, simulate, simulate_machine
from crownless.model_check.simulation.traffic import TRAFFIC
from crownless.pipeline.costs import figures as cost_figures
from crownless.pipeline.costs import findings as cost_findings
from crownless.pipeline.costs import studies as cost_studies
from crownless.pipeline.costs import table as cost_table
from crownless.pipeline.costs.rows import experiment_of, row_of
from crownless.pipeline.costs.sweeps import dealt, effort, sweep
from crownless.proofs.ledger import cost_evidence
from crownless.spec.computation import Computation, Event, Message
from crownless.spec.errors import BadInput
from crownless.spec.orders import decide

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    """A protocol that is held to an order which it does not keep."""
    return type("Promising", (PROTOCOLS[name],), {"promises": order})(n)  # type: ignore[no-any-return]


class Recorded(Simulation):
    """A simulation that keeps the lines of events."""

    def __init__(self, *asked: Any) -> None:
        super().__init__(*asked)
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
def test_a_run_that_breaks_the_order_is_told(name: str) -> None:
    runs = [
        simulate_machine(
            promising("causal", name, 3), Experiment(name, 3, load=2, latency="pareto", messages=600, seed=seed)
        )
        for seed in range(3)
    ]
    assert not all(run.kept for run in runs)


def test_a_message_delivered_twice_is_told() -> None:
    class Twice(Rst):
        def arrive(self, i: int, state: Any, packet: Packet) -> list[Step]:
            (step,) = super().arrive(i, state, packet)
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
    asked = Experiment(name, n, workload, 0.2, latency, messages=40, seed=seed, work=work, bandwidth=bandwidth)
    run = simulate(asked)
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
    assert cost_findings.output_wait(load, latency) == pytest.approx(load * squared / (2 * (1 - 2 * load)))


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


def test_blocking_senders_deadlock_and_it_is_told() -> None:
    assert simulate(Experiment("rendezvous", 6, load=0.3, messages=300)).undelivered > 0
    assert simulate(Experiment("murty-garg", 6, load=0.05, messages=300)).undelivered == 0


@pytest.mark.parametrize(("workload", "control"), [("downward", 1), ("upward", 2)])
def test_murty_and_garg_send_one_control_message_down_and_two_up(workload: str, control: int) -> None:
    run = Simulation(PROTOCOLS["murty-garg"](4), Experiment("murty-garg", 4, workload, 0.02, messages=100))
    run.run()
    assert sum(each.control for each in run.sent) == 100 * control


def test_all_optimal_protocols_make_messages_wait_alike() -> None:
    waits = {simulate(Experiment(name, load=1, messages=400)).added for name in ("rst", "ses", "optimal", "rst-before")}
    assert len(waits) == 1
    assert simulate(Experiment("extra-messages", load=1, messages=400, parameters={"k": 16})).added in waits
    assert simulate(Experiment("extra-messages", load=1, messages=400)).added not in waits


def test_clearing_one_way_costs_what_any_way_costs() -> None:
    asked = [Experiment("extra-messages", 4, load=1, messages=300, seed=seed) for seed in range(5)]
    one = estimate(simulate(each).control for each in asked)
    any_ = estimate(simulate_machine(ExtraMessages(4), each).control for each in asked)
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
    asked = Experiment("unordered", load=1, messages=400, work=0.5, channel="fifo")
    assert simulate_machine(promising("fifo", "unordered", 4), asked).kept
    assert not simulate_machine(promising("fifo", "unordered", 4), replace(asked, channel="unordered")).kept


def test_a_narrow_line_takes_time() -> None:
    wide = simulate(Experiment("unordered", latency="constant", messages=200))
    narrow = simulate(Experiment("unordered", latency="constant", messages=200, bandwidth=120.0, payload=100))
    assert wide.delay == pytest.approx(1)
    assert narrow.delay is not None
    assert narrow.delay >= 2 - 1e-9  # 20 + 100 bytes take a latency more


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


def test_a_sweep_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = sweep(small(2), out=tmp_path)
    (tmp_path / ".part-1.parquet.unfinished").write_bytes(b"killed here")
    told: list[tuple[int, int]] = []
    monkeypatch.setattr("crownless.pipeline.costs.sweeps.simulate", lambda asked: pytest.fail("simulated again"))
    again = sweep(small(2), out=tmp_path, progress=lambda done, total: told.append((done, total)))
    assert again == first
    assert told == [(16 - 2, 14)]
    monkeypatch.undo()
    more = sweep(small(3), out=tmp_path)
    assert {row["key"] for row in first} < {row["key"] for row in more}
    assert len(cost_table.read(tmp_path)) == len(more)


KILLED = """
import sys
from pathlib import Path
from crownless.pipeline.costs import studies, sweeps
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


def test_a_table_that_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "part-1.parquet").write_bytes(b"nonsense")
    with pytest.raises(BadInput, match="no Parquet file"):
        sweep(small(1), out=tmp_path)


def test_tasks_are_dealt_evenly_and_the_dearest_start_first() -> None:
    rows = [row_of(each) for each in cost_studies.of_the_page(1)]
    tasks = dealt(rows, 16)
    loads = [sum(map(effort, task)) for task in tasks]
    assert sorted(row["key"] for task in tasks for row in task) == sorted(row["key"] for row in rows)
    assert loads == sorted(loads, reverse=True)
    assert loads[0] < 1.1 * loads[-1]
    assert len(dealt(rows[:3], 16)) == 3


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


def mean_of(rows: Sequence[Any], protocol: str) -> float:
    values = [row["bytes"] for row in rows if row["protocol"] == protocol and row["load"] == 0.3]
    return float(sum(values) / len(values))


def test_a_parameter_that_nobody_has_is_told() -> None:
    with pytest.raises(BadInput, match="parameter 'k'"):
        cost_studies.combinations(("rst",), parameters=[{"k": 5}])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"protocol": "rts"}, "unknown protocol"),
        ({"protocol": "cbcast"}, "broadcasts"),
        ({"protocol": "ses-rollback"}, "crashes"),
        ({"workload": "unifrom"}, "unknown workload"),
        ({"latency": "normal"}, "unknown latency"),
        ({"channel": "lossy"}, "not delivered"),
        ({"load": 0.0}, "load 0.0"),
        ({"load": math.inf}, "load inf"),
        ({"work": -1.0}, "work"),
        ({"processes": 1}, "1 processes"),
        ({"messages": 1}, "1 messages"),
    ],
)
def test_what_makes_no_sense_is_told(change: dict[str, Any], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        simulate(replace(Experiment("rst"), **change))


# -- on Spark ----------------------------------------------------------------------------------------------------------


def test_spark_finds_the_same(spark: SparkSession, tmp_path: Path) -> None:  # noqa: F811
    plain = sweep(small(2))
    assert sweep(small(2), engine="spark", out=tmp_path) == plain
    assert sweep(small(2), out=tmp_path) == plain
    frame = cost_figures.figures(spark.createDataFrame(cost_table.arrow_table(plain)))
    found = {tuple(row[name] for name in (*cost_figures.ASKED_OF_ALL, "figure")): row for row in frame.collect()}
    for point in cost_figures.points(plain):
        asked = tuple(point.asked.values())
        assert found[*asked, "stuck"]["mean"] == found[*asked, "broken"]["mean"] == 0
        for name in cost_figures.AVERAGED:
            row, expected = found[*asked, name], point[name]
            if expected is None:
                assert row["values"] == 0
            else:
                assert row["values"] == expected.values
                assert row["mean"] == pytest.approx(expected.mean)
                assert row["error"] == pytest.approx(expected.error, abs=1e-9)


# -- the page and the command ------------------------------------------------------------------------------------------


def test_the_command_prints_a_table_and_its_json_has_every_figure() -> None:
    done = CliRunner().invoke(cost, ["rst", "buffer", "--seeds", "2", "-m", "60", "--load", "0.1", "--load", "0.2"])
    assert done.exit_code == 0, done.output
    assert [line.split()[:2] for line in done.output.splitlines()[2:]] == [
        ["rst", "0.1"], ["rst", "0.2"], ["buffer", "0.1"], ["buffer", "0.2"],
    ]  # fmt: skip
    done = CliRunner().invoke(cost, ["rst", "--seeds", "2", "-m", "60", "--json"])
    (point,) = json.loads(done.output)
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
