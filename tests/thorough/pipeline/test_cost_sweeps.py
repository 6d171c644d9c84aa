"""Sweeps of simulations: estimates, tables that go on where they ended, the command, and the page of costs."""

from __future__ import annotations

import csv
import json
import math
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cost_experiments import WIDE, small

from crownless.research.claims import costs
from crownless.research.commands.cost import cost
from crownless.research.costs.experiment import Experiment, combinations, experiment_of, row_of
from crownless.research.costs.figures import (
    AVERAGED,
    Estimate,
    Point,
    estimate,
    points,
    probability_within,
    student,
)
from crownless.research.costs.latencies import ROUND_TRIP, output_wait
from crownless.research.costs.simulation import Measured, simulate
from crownless.research.costs.sweeping import COSTS, sweep
from crownless.research.costs.sweeps import read_table
from crownless.runtime.ending import Stopped
from crownless.runtime.errors import BadInput

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


def test_a_row_says_all_of_an_experiment() -> None:
    for experiment in small():
        assert experiment_of(row_of(experiment)) == experiment
    keys = {row_of(experiment)["key"] for experiment in small()}
    assert len(keys) == len(small())


def test_a_stopped_sweep_resumes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = sweep(small(2), out=tmp_path)
    (tmp_path / ".part-1.parquet.unfinished").write_bytes(b"killed here")
    reported: list[tuple[int, int]] = []
    monkeypatch.setattr("crownless.research.costs.sweeping.simulate", lambda experiment: pytest.fail("simulated again"))
    again = sweep(small(2), out=tmp_path, progress=lambda done, total: reported.append((done, total)))
    assert again == first
    assert reported == [(16 - 2, 14)]
    monkeypatch.undo()
    more = sweep(small(3), out=tmp_path)
    assert {row["key"] for row in first} < {row["key"] for row in more}
    assert len(read_table(COSTS, tmp_path)) == len(more)


def test_an_interrupted_sweep_writes_all_that_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Experiment] = []

    def interrupted(experiment: Experiment) -> Measured:
        if len(done) == 5:
            raise Stopped("interrupted")
        done.append(experiment)
        return simulate(experiment)

    reported: list[int] = []
    monkeypatch.setattr("crownless.research.costs.sweeping.simulate", interrupted)
    with pytest.raises(Stopped):
        sweep(small(2), out=tmp_path, progress=lambda done, total: reported.append(done))
    assert reported == [0, 1, 2, 3, 4, 5], "each finished simulation is reported"
    assert [experiment_of(row) for row in read_table(COSTS, tmp_path)] == done


def test_the_command_says_what_an_interrupt_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(experiment: Experiment) -> Measured:
        if experiment.seed == 2:
            raise Stopped("interrupted")
        return simulate(experiment)

    for more, expected in (
        (
            ["--out", str(tmp_path)],
            f"crownless: 2 of 4 simulations saved in {tmp_path}; the same command resumes there",
        ),
        ([], "crownless: 2 of 4 simulations done, none saved; --out FOLDER saves them"),
    ):
        monkeypatch.setattr("crownless.research.costs.sweeping.simulate", interrupted)
        options = ["rst", "--seeds", "4", "-m", "60"]
        assert expected in CliRunner().invoke(cost, [*options, *more]).output.splitlines()
        monkeypatch.undo()
    assert len(read_table(COSTS, tmp_path)) == 2
    assert CliRunner().invoke(cost, [*options, "--out", str(tmp_path)]).exit_code == 0
    assert len(read_table(COSTS, tmp_path)) == 4


def test_a_folder_that_is_not_a_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "part-1.parquet").write_bytes(b"nonsense")
    with pytest.raises(BadInput, match="not a table of costs"):
        sweep(small(1), out=tmp_path)


def test_points_have_the_means_of_their_rows() -> None:
    rows = sweep(small())
    found = points(rows)
    assert [point.repetitions for point in found] == [3] * 7
    assert points([*rows, *rows]) == found
    (matrix,) = (point for point in found if point["protocol"] == "rst" and point["load"] == 0.1)
    values = [row["added"] for row in rows if row["protocol"] == "rst" and row["load"] == 0.1]
    assert matrix["added"] == estimate(values)
    assert matrix.stuck == matrix.violated == 0
    json.dumps([point.json() for point in found])


def made(protocol: str = "rst", stuck: int = 0, **figures: tuple[float, ...]) -> Point:
    """An experiment of three runs with these figures, and zeros else."""
    row = row_of(Experiment(protocol))
    zeros = dict.fromkeys(AVERAGED, 0.0)
    rows = [
        {**row, **zeros, "key": str(k), "seed": k, "kept": True, "undelivered": int(k < stuck)}
        | {name: values[k] for name, values in figures.items()}
        for k in range(3)
    ]
    (point,) = points(rows)
    return point


def test_a_growing_delay_is_reported() -> None:
    growing = made(added=(10.0, 11.0, 12.0), drift=(5.0, 5.5, 6.0))
    assert growing.growing
    assert growing.json()["growing"]
    for drift in ((5.0, -1.0, 6.0), (0.5, 0.6, 0.7), (-5.0, -5.5, -6.0)):
        steady = made(added=(10.0, 11.0, 12.0), drift=drift)
        assert not steady.growing


def test_where_a_run_got_stuck_there_are_no_figures() -> None:
    point = made("rendezvous", stuck=1, added=(1.0, 2.0, 3.0))
    assert point.stuck == 1
    assert set(point.figures.values()) == {None}
    assert set(point.json()["figures"].values()) == {None}
    done = CliRunner().invoke(cost, ["rendezvous", "-n", "6", "--load", "0.3", "--seeds", "2", "-m", "200"], env=WIDE)
    assert done.output.splitlines()[-1].split() == ["rendezvous", *"–––––––", "stuck", "(2", "of", "2)"]


def test_one_run_alone_has_no_error() -> None:
    (point,) = points(sweep(combinations(("rst",), seeds=1, messages=60)))
    assert point.json()["figures"]["bytes"] == {"mean": 64, "error": None, "values": 1}


def test_the_command_marks_a_delay_that_grows() -> None:
    done = CliRunner().invoke(cost, ["buffer", "--load", "2", "--seeds", "3", "-m", "300"], env=WIDE)
    assert done.output.splitlines()[-1].endswith("delay growing")


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(BadInput, match="parameter 'k'"):
        combinations(("rst",), parameters=[{"k": 5}])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"protocol": "rts"}, "unknown protocol"),
        ({"protocol": "cbcast"}, "broadcasts"),
        ({"protocol": "ses-rollback"}, "crashes"),
        ({"workload": "unifrom"}, "unknown workload"),
        ({"latency": "normal"}, "unknown latency"),
        ({"channel": "lossy"}, "not simulated over a lossy channel"),
        ({"load": 0.0}, "load 0.0"),
        ({"load": math.inf}, "load inf"),
        ({"load": -1.0}, "load -1.0: not a number greater than 0; give one by --load, such as 0.1"),
        ({"payload": -1}, "payload -1: not a number 0 or greater; give one by --payload, such as 100"),
        ({"processes": 200}, "200 processes; give 2 to 128 by --processes"),
        ({"processes": 1}, "1 processes"),
        ({"messages": 1}, "1 messages"),
    ],
)
def test_invalid_settings_are_refused(change: dict[str, Any], expected: str) -> None:
    with pytest.raises(BadInput, match=expected):
        simulate(replace(Experiment("rst"), **change))


# -- the command and the page ------------------------------------------------------------------------------------------


BENCHMARKS, DOCS = (Path(__file__).parents[3] / name for name in ("benchmarks", "docs"))


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
    assert set(point["figures"]) == set(AVERAGED)


def test_the_command_exits_with_1_where_a_promise_is_broken() -> None:
    done = CliRunner().invoke(
        cost,
        ["rst-column", "-n", "3", "--load", "2", "--latency", "pareto", "-m", "1000", "--seeds", "3"],
        standalone_mode=False,
    )
    assert done.return_value == 1
    assert "rst-column violates causal order" in done.output


@pytest.mark.slow
def test_plots_and_figures_of_one_run_each_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    cost_page, cost_studies = import_module("cost_page"), import_module("cost_page_studies")
    rows = sweep(replace(each, messages=20) for each in cost_studies.of_the_page(1))
    cost_page.write_page(tmp_path, rows, 1)
    assert {file.name for file in tmp_path.iterdir()} == {file.name for file in (DOCS / "cost").iterdir()}
    with (tmp_path / "figures.csv").open(encoding="utf-8") as file:
        assert set(next(csv.reader(file))) <= committed_figures()[0].keys()


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
    assert waits >= 33
    assert within > 0.8 * waits
    assert control > 200


def committed_figures() -> list[dict[str, str]]:
    with (DOCS / "cost" / "figures.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_each_figure_of_the_page_is_one_of_the_table() -> None:
    known = {
        str(Estimate(float(line[name]), float(line[f"{name}_error"]), 0))
        for line in committed_figures()
        for name in AVERAGED
        if line[f"{name}_error"]
    }
    figures = re.findall(r"[\d.]+ ± [\d.]*\d", (DOCS / "costs.md").read_text("utf-8"))
    assert len(figures) > 15
    assert set(figures) <= known
    assert all(line["violated"] == "0" for line in committed_figures())


def test_evidence_compares_the_same_messages() -> None:
    matrix, optimal, buffer = (costs.simulated(name, 3, 0.3, 3, messages=60) for name in ("rst", "optimal", "buffer"))
    same = matrix.more(optimal, "added")
    assert max(abs(same.mean), same.error) < 1e-9
    assert matrix.kept
    assert matrix.stuck == 0
    assert costs.surely_above(matrix.more(buffer, "numbers"), 0)
    assert not costs.surely_below(same, 0)
