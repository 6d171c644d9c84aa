"""`show` and `explore` read every log that `classify` reads, by the same options, and one run of several."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line_runner import Crownless

LOGS = Path(__file__).parent.parent / "examples" / "logs"
RUNS = "day,process,index,kind,message,peer\n" + "".join(
    f"{day},A,0,send,x-{day},B\n{day},B,0,recv,x-{day},A\n" for day in ("fri", "mon", "sun", "tue", "wed")
)
AS_THEY_ARE = ("--column", "run=day", "--kind", "recv=deliver")


@pytest.fixture
def runs(tmp_path: Path) -> str:
    file = tmp_path / "runs.csv"
    file.write_text(RUNS)
    return str(file)


@pytest.mark.parametrize(
    "arguments",
    [
        "events.csv",
        "events.arrow",
        "events.parquet",
        "events.jsonl.gz",
        "events.otlp",
        "events.itf.json",
        r"events.shiviz --send send.(?<message>\S+).to.(?<to>\S+) --deliver receive.(?<message>\S+)",
        "other_names.tsv --column process=node --column index=seq --column message=msg_id --column peer=to_or_from",
    ],
)
def test_every_log_that_can_be_classified_can_be_shown_and_explored(
    crownless: Crownless, tmp_path: Path, arguments: str
) -> None:
    name, *options = arguments.split()
    file, page = str(LOGS / name), tmp_path / "page.html"
    assert crownless("classify", file, *options).code in (0, 1, 3)
    shown = crownless("show", file, *options)
    assert (shown.code, shown.err) == (0, "")
    assert "●" in shown.out
    several = re.findall(r"^run (.*)$", shown.out, re.MULTILINE)
    chosen = ["--run", several[0]] if several else []
    assert crownless("explore", file, *options, *chosen, "--html", str(page), "--quiet").code == 0
    assert page.exists()


def test_indented_spans_are_a_log_and_no_result_of_a_check(crownless: Crownless, tmp_path: Path) -> None:
    file = tmp_path / "spans.json"
    first, _, _ = (LOGS / "events.otlp").read_text("utf-8").partition("\n")
    file.write_text(json.dumps(json.loads(first), indent=2))
    assert crownless("show", str(file)).code == 0


def test_one_run_of_several_is_shown_and_explored(crownless: Crownless, runs: str, tmp_path: Path) -> None:
    shown = crownless("show", runs, *AS_THEY_ARE, "--run", "mon")
    assert (shown.code, shown.out.count("run "), "x-mon" in shown.out, "x-fri" in shown.out) == (0, 1, True, False)
    page = tmp_path / "page.html"
    assert crownless("explore", runs, *AS_THEY_ARE, "--run", "mon", "--html", str(page)).code == 0
    assert "mon: every linearization" in page.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            "explore {runs} --column run=day --kind recv=deliver --html {page}",
            "{runs}: it has 5 runs, and a page shows one; add --run NAME: it has fri, mon, sun and 2 more",
        ),
        (
            "show {runs} --column run=day --kind recv=deliver --run thu",
            "{runs}: there is no run 'thu' in it; it has fri, mon, sun and 2 more",
        ),
        ("show mf-fig8 --run mon", "mf-fig8: there is no run 'mon' in it; leave it out: this is one computation"),
        ("show mf-fig8 --kind recv=deliver", "mf-fig8: --kind does not go with a computation; leave it out"),
        ("show counterexample-mg17 --run mon", "--run: only of an event log; leave it out"),
        ("explore rst --run mon --html {page}", "--run: only of an event log; leave it out"),
        ("explore rst --column run=day --html {page}", "--column: only of an event log; leave it out"),
        ("explore --format csv --html {page} -- python3 node.py", "--format: only of an event log; leave it out"),
    ],
)
def test_an_option_of_logs_that_does_not_fit_is_refused(
    crownless: Crownless, runs: str, tmp_path: Path, arguments: str, line: str
) -> None:
    page = str(tmp_path / "page.html")
    answer = crownless(*arguments.format(runs=runs, page=page).split())
    assert (answer.code, answer.out, answer.err) == (2, "", f"crownless: {line.format(runs=runs)}\n")
