"""What takes longer of the tests in `test_first_screen.py`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from unittest.mock import patch

import pytest
from command_line_runner import Crownless
from small_suite import suite_of
from tiers import slow_where

from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.unordered import Unordered
from crownless.model_check.check import check as checking
from crownless.model_check.check.check import run_check
from crownless.model_check.system.request import Check
from crownless.runtime import ending
from crownless.runtime.ending import Limits


def test_a_planted_fault_in_a_bundled_protocol_makes_its_row_unexpected(crownless: Crownless) -> None:
    with suite_of("unordered", "rst"), patch.object(Rst, "deliverable", Unordered.deliverable):
        code, out, _ = crownless("check")
        assert code == 1
        assert "; not as expected: rst\n" in out
        assert "expected to hold" in re.sub(r"\s+", " ", out)
        code, out, _ = crownless("check", "--json")
    assert code == 1
    facts = {check["protocol"]: check for check in json.loads(out)["checks"]}
    assert (facts["unordered"]["expected"], facts["unordered"]["as_expected"]) == (["causal", "fifo"], True)
    assert (facts["rst"]["expected"], facts["rst"]["as_expected"]) == ([], False)


# -- the first violation, and early reports ----------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["unordered", "rst-column", "rendezvous"])
def test_first_ends_with_the_level_of_a_shortest_violation_in_every_engine(protocol: str) -> None:
    whole = run_check(Check(protocol), engine="plain")
    least = min(len(line.run.actions) for line in whole.violations.values() if line.run is not None)
    found = [run_check(Check(protocol), first=True, engine=engine) for engine in ("plain", "native", None)]
    found.append(run_check(Check(protocol), first=True, workers=1))
    for result in found:
        assert result.verdict == "violated"
        assert min(len(line.run.actions) for line in result.violations.values() if line.run is not None) == least
        assert result.exploration.states == found[0].exploration.states < whole.exploration.states
        assert result.exploration.transitions == found[0].exploration.transitions
        assert "only the first violation was requested" in result.scope


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_a_long_search_reports_a_violation_before_its_end(engine: str) -> None:
    said: list[str] = []
    with patch.object(checking, "REPORTED_AFTER", -1.0):
        run_check(Check("unordered", 3, 5), engine=engine, on_violation=said.append)
    assert said == ["unordered: violated: fifo and causal; still searching… (--first ends at the first violation)"]


def test_with_little_memory_the_plain_explorer_goes_on() -> None:
    with patch.object(ending, "memory_in_use", return_value=0):
        little = run_check(Check("buffer"), Limits(memory=checking.NATIVE_NEEDS - 1))
        enough = run_check(Check("buffer"), Limits(memory=checking.NATIVE_NEEDS))
    assert (little.engine.name, little.verdict, enough.engine.name) == ("plain", "holds", "native")
    assert "plain explorer (the native engine needs 160 MiB)" in little.scope


def test_limits_that_are_given_end_a_first_try_and_the_search_after_it() -> None:
    few_states = run_check(Check("buffer"), Limits(states=500))
    assert (few_states.engine.name, few_states.exploration.stopped) == ("plain", "state limit of 500 reached")
    as_many = run_check(Check("buffer"), Limits(states=checking.FIRST_TRY_STATES))
    assert (as_many.engine.name, as_many.exploration.stopped) == (
        "plain",
        f"state limit of {checking.FIRST_TRY_STATES:,} reached",
    )
    more = run_check(Check("buffer"), Limits(states=checking.FIRST_TRY_STATES + 1))
    assert (more.engine.name, more.exploration.stopped) == (
        "native",
        f"state limit of {checking.FIRST_TRY_STATES + 1:,} reached",
    )
    with patch.object(checking, "FIRST_TRY_STATES", 5):
        grown = run_check(Check("rst", 2, 2))
    ended = run_check(Check("buffer"), Limits(seconds=0.0))
    assert (grown.engine.name, grown.verdict) == ("native", "holds")
    assert ended.exploration.stopped == "time limit of 0 s reached"


# -- what fits ---------------------------------------------------------------------------------------------------------


NODES = Path(__file__).parents[3] / "examples" / "nodes" / "python" / "causal.py"
DRAWN = re.compile(r"[┃┊╭╮╰╯●◀▶]")
COMMANDS = (
    "check unordered rst cbcast --quiet -n 3 -m 3",
    "check rst -n 3 -m 3 --channel lossy",
    "check extra-messages",
    "check unordered -n 3 -m 3 --channel fifo",
    "check ses --program ses-fig6 --crash S1",
    "classify kuper-alice-bob-carol.jsonl",
    "classify mf-fig8 --unreceived pending",
    "claims KU2 SES5",
    "claims MF2 --draw --quick",
    "cost rst ses buffer --seeds 2 -m 40 -n 3 -n 4 --bandwidth 100",
    f"conform {NODES}:ClockAfterCallback -n 3 -m 3",
    f"conform {NODES}:BroadcastClocks -n 3 -m 2 --order causal",
    "count -n 3 -m 3",
    "explore rst -n 2 -m 2 --html page.html",
    "list",
    "list protocols",
    "new mine.py",
    "prove rst",
    "prove rst --why",
    "prove rst-column --program kuper-program",
    "realize murty-garg -n 3 -m 3",
    "realize buffer-bounded -n 3 -m 2",
    "show mf-fig8",
    "show counterexample-mg14",
    "vectors -n 2 -m 1 --out vectors.jsonl",
)
#: The commands that take longest, left to `pytest -m slow`.
LONG = {"prove rst --why", "claims KU2 SES5", f"conform {NODES}:ClockAfterCallback -n 3 -m 3"}


@pytest.mark.parametrize("command", slow_where(LONG.__contains__, COMMANDS))
@pytest.mark.parametrize("width", [80])
def test_no_line_of_a_table_or_a_scope_is_wider_than_the_terminal(
    crownless: Crownless, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.chdir(tmp_path)
    code, out, err = crownless(*command.split())
    assert code in (0, 1, 3), err
    assert [line for line in out.splitlines() if len(line) > width and not DRAWN.search(line)] == []


@pytest.mark.parametrize(
    "command",
    [
        "check unordered -n 3 -m 3",
        "classify mf-fig8",
        "list",
        "show mf-fig8",
        "realize murty-garg -n 3 -m 2",
        "count -n 2 -m 2",
        "claims MF2 --quick --draw",
        "prove rst",
        "cost rst --seeds 2 -m 40",
    ],
)
def test_ascii_prints_nothing_else(crownless: Crownless, command: str) -> None:
    _, out, _ = crownless(*command.split(), "--ascii")
    assert out.isascii()


# -- what commands have in common --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("check rst -n 2 -m 1", "checks"),
        ("classify mf-fig8", "orders"),
        ("classify mf-fig8 mf-fig4", "classifications"),
        ("claims MF2 --quick", "claims"),
        ("cost rst --seeds 2 -m 40", "costs"),
        ("count -n 2 -m 2", "counts"),
        ("explore rst -n 2 -m 2", "space"),
        ("list protocols", "protocols"),
        ("new mine.py", "protocol"),
        ("prove rst", "proofs"),
        ("prove rst-column --program kuper-program", "programs"),
        ("realize rst -n 2 -m 2", "computations"),
        ("show mf-fig8", "computations"),
    ],
)
def test_json_is_one_object_with_the_version(
    crownless: Crownless, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, key: str
) -> None:
    monkeypatch.chdir(tmp_path)
    _, out, _ = crownless(*command.split(), "--json")
    facts = json.loads(out)
    assert next(iter(facts)) == "crownless"
    assert facts["crownless"] == version("crownless")
    assert facts[key]


@pytest.mark.parametrize(
    ("command", "key"), [("claims KU9", "claims"), ("prove rst", "proofs"), ("prove rst --discover", "discoveries")]
)
def test_json_is_one_object_also_where_nothing_is_known_yet(command: str, key: str) -> None:
    arguments = [sys.executable, "-m", "crownless", *command.split(), "--json", "--max-seconds", "0"]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False)
    facts = json.loads(ended.stdout)
    if "no results yet" in ended.stderr:
        assert facts == {"crownless": version("crownless"), "stopped": "time limit of 0 s reached"}
    if ended.returncode == 0:  # it came to its end before the clock was looked at
        assert not any("unknown" in fact.values() for fact in facts[key])
        return
    assert ended.returncode == 3
    assert "time limit of 0 s reached" in ended.stderr
