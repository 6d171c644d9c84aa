"""Verdicts as JUnit and SARIF have them, and runs as ITF traces, which are read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from command_line_runner import Crownless

import crownless as cr
from crownless.model_check.check.check_result import PropertyResult, Suite
from crownless.model_check.check.exports import itf, junit, sarif
from crownless.model_check.runs.runs import Run
from crownless.model_check.system.properties import Property
from crownless.spec.computation import Computation

CAUSAL = str(Path(__file__).parents[2] / "examples" / "nodes" / "python" / "causal.py")


def test_junit_has_a_suite_for_each_check_and_a_case_for_each_property(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    answer = crownless("check", "unordered", "rst", "-n", "2", "-m", "2", "--quiet", "--junit", str(file))
    assert answer.code == 1
    unordered, rst = ElementTree.parse(file).getroot()
    assert (unordered.get("name"), unordered.get("failures"), unordered.get("errors")) == ("unordered", "2", "0")
    assert (rst.get("name"), rst.get("failures"), rst.get("errors")) == ("rst", "0", "0")
    assert len(unordered) == int(unordered.get("tests", ""))
    failed = {case.get("name"): case.find("failure") for case in unordered if len(case)}
    assert list(failed) == ["fifo", "causal"]
    assert failed["fifo"] is not None
    assert "3. P2: deliver m2 from P1" in str(failed["fifo"].text)
    assert not [case.get("name") for case in rst if len(case)]


def test_what_is_unknown_is_an_error(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    assert crownless("check", "rst", "--max-states", "5", "--quiet", "--junit", str(file)).code == 3
    (suite,) = ElementTree.parse(file).getroot()
    assert int(suite.get("errors", "")) == sum(case.find("error") is not None for case in suite) > 0


def test_sarif_has_a_result_for_each_violation_and_names_the_users_file() -> None:
    found = sarif([cr.conform(f"{CAUSAL}:StampBeforeIncrement", 2, 2, orders=["fifo"]).suite()])
    assert found["version"] == "2.1.0"
    (run,) = found["runs"]
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("fifo", "error")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == CAUSAL
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["fifo"]


def read_again(run: Run, tmp_path: Path) -> Computation:
    file = tmp_path / "run.itf.json"
    file.write_text(json.dumps(itf(run, "")))
    (logged,) = cr.read_log(file)
    return logged.computation


@pytest.mark.parametrize(
    ("protocol", "order", "channel"), [("unordered", "causal", "fifo"), ("rst-column", "causal", None)]
)
def test_a_run_is_a_trace_that_breaks_the_same_order(
    protocol: str, order: str, channel: str | None, tmp_path: Path
) -> None:
    run = cr.check(protocol, 3, 3, orders=[order], channel=channel).violations[order].run
    assert run is not None
    verdicts = cr.classify(read_again(run, tmp_path))
    assert verdicts[order].outcome == "violated"
    assert verdicts["fifo"].outcome == "kept"


def test_a_broadcast_names_all_receivers(tmp_path: Path) -> None:
    run = cr.check("unordered", 3, 2, orders=["fifo"], sends="broadcast").violations["fifo"].run
    assert run is not None
    c = read_again(run, tmp_path)
    assert {len(message.receivers) for message in c.messages} == {2}
    assert cr.classify(c)["fifo"].outcome == "violated"


def test_without_a_violation_no_trace_is_written(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "run.itf.json"
    answer = crownless("check", "rst", "-n", "2", "-m", "2", "--itf", str(file))
    assert answer.code == 0
    assert f"{file} is not written: no required property is violated" in answer.err
    assert not file.exists()


def test_where_the_verdict_is_unknown_no_violation_was_found(crownless: Crownless, tmp_path: Path) -> None:
    files = {option: str(tmp_path / option) for option in ("--itf", "--svg", "--html")}
    arguments = [word for pair in files.items() for word in pair]
    answer = crownless("check", "rst", "--max-seconds", "0", *arguments)
    assert (answer.code, answer.err.count("is not written: no run was found that violates")) == (3, 3)


@pytest.mark.parametrize("option", ["--junit", "--sarif", "--itf"])
def test_a_file_that_cannot_be_written_is_refused(crownless: Crownless, option: str) -> None:
    answer = crownless("check", "unordered", "-n", "2", "-m", "2", "--quiet", option, "/nonexistent/file")
    assert (answer.code, f"{option} /nonexistent/file: no such folder" in answer.err) == (2, True)


def test_names_are_inert_in_every_form() -> None:
    hostile: list[Any] = ["<b>&amp;", "\x1b[31m", "a\x00b", "\ud800"]
    lines = [PropertyResult(Property(name, "always", name), "violated", note=name) for name in hostile]
    root = ElementTree.fromstring(junit([Suite(name, lines, 0.0) for name in hostile]))
    assert len(root) == len(hostile)
    assert root[0].get("name") == "<b>&amp;"
    json.dumps(sarif([Suite("x", lines, 0.0)])).encode()
