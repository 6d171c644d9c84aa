"""The command that prints costs, and the page of them that `benchmarks/cost_page.py` writes."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner
from cost_experiments import WIDE

from crownless.command_line.verbs.cost import cost
from crownless.model_check.simulation.figures import AVERAGED, Estimate
from crownless.model_check.simulation.latencies import ROUND_TRIP, output_wait
from crownless.pipeline.costs import sweep
from crownless.proofs.claims import costs

BENCHMARKS, DOCS = (Path(__file__).parents[2] / name for name in ("benchmarks", "docs"))


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
    assert "rst-column breaks causal order" in done.output


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
    assert all(line["broken"] == "0" for line in committed_figures())


def test_evidence_compares_the_same_messages() -> None:
    matrix, optimal, buffer = (costs.simulated(name, 3, 0.3, 3, messages=60) for name in ("rst", "optimal", "buffer"))
    same = matrix.more(optimal, "added")
    assert max(abs(same.mean), same.error) < 1e-9
    assert matrix.kept
    assert matrix.stuck == 0
    assert costs.surely_above(matrix.more(buffer, "numbers"), 0)
    assert not costs.surely_below(same, 0)
