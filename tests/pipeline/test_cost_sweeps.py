"""Sweeps of simulations: estimates, tables that go on where they ended, and what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cost_experiments import WIDE, small

from crownless.command_line.verbs.cost import cost
from crownless.model_check.simulation.experiment import Experiment, combinations, experiment_of, row_of
from crownless.model_check.simulation.figures import AVERAGED, Point, estimate, points, probability_within, student
from crownless.model_check.simulation.simulation import Measured, simulate
from crownless.pipeline.costs import read_table, sweep
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
    monkeypatch.setattr("crownless.pipeline.costs.simulate", lambda experiment: pytest.fail("simulated again"))
    again = sweep(small(2), out=tmp_path, progress=lambda done, total: reported.append((done, total)))
    assert again == first
    assert reported == [(16 - 2, 14)]
    monkeypatch.undo()
    more = sweep(small(3), out=tmp_path)
    assert {row["key"] for row in first} < {row["key"] for row in more}
    assert len(read_table(tmp_path)) == len(more)


def test_an_interrupted_sweep_writes_all_that_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Experiment] = []

    def interrupted(experiment: Experiment) -> Measured:
        if len(done) == 5:
            raise Stopped("interrupted")
        done.append(experiment)
        return simulate(experiment)

    reported: list[int] = []
    monkeypatch.setattr("crownless.pipeline.costs.simulate", interrupted)
    with pytest.raises(Stopped):
        sweep(small(2), out=tmp_path, progress=lambda done, total: reported.append(done))
    assert reported == [0, 1, 2, 3, 4, 5], "each finished simulation is reported"
    assert [experiment_of(row) for row in read_table(tmp_path)] == done


def test_the_command_says_what_an_interrupt_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(experiment: Experiment) -> Measured:
        if experiment.seed == 2:
            raise Stopped("interrupted")
        return simulate(experiment)

    for more, expected in (
        (
            ["--out", str(tmp_path)],
            f"crownless: 2 of 4 simulations kept in {tmp_path}; the same command goes on from there",
        ),
        ([], "crownless: 2 of 4 simulations done, none kept; with --out FOLDER they are"),
    ):
        monkeypatch.setattr("crownless.pipeline.costs.simulate", interrupted)
        options = ["rst", "--seeds", "4", "-m", "60"]
        assert expected in CliRunner().invoke(cost, [*options, *more]).output.splitlines()
        monkeypatch.undo()
    assert len(read_table(tmp_path)) == 2
    assert CliRunner().invoke(cost, [*options, "--out", str(tmp_path)]).exit_code == 0
    assert len(read_table(tmp_path)) == 4


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
    assert matrix.stuck == matrix.broken == 0
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
