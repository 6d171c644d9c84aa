"""The first screen: rows beside their expected verdicts, tables that fit, and answers that do not wait."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from click import Context
from click.shell_completion import ShellComplete
from command_line_runner import Crownless

from crownless import command_line
from crownless.command_line.tables import Rows
from crownless.impl.channels import CHANNELS
from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.protocols.rst import Rst
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check import check as checking
from crownless.model_check.check.check import run_check
from crownless.model_check.check.suite import SuiteRow, rows
from crownless.model_check.search.engines import SymmetryCheck
from crownless.model_check.system.exploration import Exploration
from crownless.model_check.system.request import Check
from crownless.runtime import ending
from crownless.runtime.ending import INTERRUPTED, Limits
from crownless.spec.orders import ORDERS

Capture = pytest.CaptureFixture[str]


# -- expected verdicts -------------------------------------------------------------------------------------------------


def few(*protocols: str) -> list[SuiteRow]:
    """The first row of each of these protocols."""
    return [next(row for row in rows() if row.check.protocol == name) for name in protocols]


def suite_of(*protocols: str) -> Any:
    chosen = few(*protocols)
    return patch("crownless.command_line.commands.check.suite_rows", lambda: chosen)


def test_check_exits_0_where_every_row_is_as_expected_also_those_that_break(crownless: Crownless) -> None:
    with suite_of("unordered", "rst"):
        code, out, err = crownless("check")
    assert (code, err) == (0, "")
    assert re.search(r"^unordered +3×4, unordered +violates fifo 3, causal 3,? ", out, re.MULTILINE)
    assert re.search(r"^rst +3×4, unordered +holds +7,370 +\d+\.\d$", out, re.MULTILINE)
    assert out.endswith("\n2 checks: 1 holds, 1 violated, all as expected\n")


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


def test_a_row_that_no_longer_breaks_what_it_is_known_to_break_is_unexpected() -> None:
    row = SuiteRow(Check("rst"), frozenset({"causal"}))
    assert row.as_expected(run_check(Check("rst", 2, 2))) is False


def test_a_row_that_is_unknown_exits_3(crownless: Crownless) -> None:
    with suite_of("unordered", "rst"):
        code, out, _ = crownless("check", "--max-states", "600")
    assert code == 3
    assert "; not known to be as expected: rst\n" in out


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


class DeafP3(Unordered):
    """P3 delivers nothing, which two actions show; three show that FIFO order is violated."""

    symmetric = False

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return super().on_packet(i, state, packet) if i < 2 else [Step(state)]


class SlowP3(DeafP3):
    """P3 delivers nothing, and only after four steps of its own has it come to rest."""

    def initial(self, i: int) -> Any:
        return 0

    def on_packet(self, i: int, state: Any, packet: Packet) -> Sequence[Step]:
        return super().on_packet(i, state if i < 2 else 4, packet)

    def internal(self, i: int, state: int) -> Sequence[tuple[str, Step]]:
        return [("think", Step(state - 1))] if state else []


@pytest.mark.parametrize(
    ("kind", "options", "shown", "actions"),
    [
        (DeafP3, {"engine": "plain"}, {"delivers-all"}, 2),
        (DeafP3, {"engine": "native"}, {"delivers-all"}, 2),
        (SlowP3, {"engine": "native"}, {"fifo", "causal"}, 3),
    ],
)
def test_first_shows_the_shortest_violation_and_no_longer_one(
    kind: type[ProtocolMachine], options: dict[str, Any], shown: set[str], actions: int
) -> None:
    check = Check(kind, 3, 3)
    result = run_check(check, first=True, **options)
    assert {name: len(line.run or ()) for name, line in result.violations.items()} == dict.fromkeys(shown, actions)
    whole = run_check(check, **options)
    assert max(len(line.run or ()) for line in whole.violations.values()) > actions
    assert {whole[name].verdict for name in shown} == {"violated"}


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_a_long_search_reports_a_violation_before_its_end(engine: str) -> None:
    said: list[str] = []
    with patch.object(checking, "REPORTED_AFTER", -1.0):
        run_check(Check("unordered", 3, 5), engine=engine, on_violation=said.append)
    assert said == ["unordered: violated: fifo and causal; still searching… (--first ends at the first violation)"]


# -- which engine ------------------------------------------------------------------------------------------------------


def test_a_small_search_is_answered_by_the_plain_explorer_and_a_large_one_by_the_native_engine() -> None:
    small, large = run_check(Check("rst", 3, 3)), run_check(Check("buffer"))
    assert (small.engine.name, small.json()["engine"]) == ("plain", "plain")
    assert (large.engine.name, large.json()["engine"]) == ("native", "native")
    assert large.exploration.states == 60_982


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


def test_what_the_first_try_found_is_known_where_the_engine_comes_no_further() -> None:
    reported: list[str] = []
    nothing = SimpleNamespace(
        explore=lambda *_, **__: Exploration(stopped=INTERRUPTED), seconds_before=0.0, symmetry=SymmetryCheck()
    )
    with (
        patch("crownless.model_check.native.search.NativeSearch", return_value=nothing),
        patch.object(checking, "FIRST_TRY_STATES", 1_000),
    ):
        result = run_check(Check("unordered", 4, 5), on_violation=reported.append)
    assert reported == ["unordered: violated: fifo and causal; still searching… (--first ends at the first violation)"]
    assert (result.verdict, result.engine.name, result.exploration.states) == ("violated", "plain", 1_000)
    assert result.interrupted
    assert [len(line.run or ()) for line in result.violations.values()] == [3, 3]


# -- what fits ---------------------------------------------------------------------------------------------------------


NODES = Path(__file__).parents[2] / "examples" / "nodes" / "python" / "causal.py"
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


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("width", [80])
def test_no_line_of_a_table_or_a_scope_is_wider_than_the_terminal(
    crownless: Crownless, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.chdir(tmp_path)
    code, out, err = crownless(*command.split())
    assert code in (0, 1, 3), err
    assert [line for line in out.splitlines() if len(line) > width and not DRAWN.search(line)] == []


def test_a_cell_is_folded_and_not_cut_and_the_first_stays_whole(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    table = Rows("name", "text", "number", right=("number",))
    table.add_row("a-protocol-of-some-length", "words that are wrapped " + "x" * 30, "1,234")
    table.print()
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 60
    assert out.splitlines()[1].startswith("a-protocol-of-some-length  ")
    assert out.count("x") == 30 + 1, "one is of the heading"


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


@pytest.mark.parametrize("name", command_line.COMMANDS)
def test_help_begins_with_an_example_and_names_the_options_that_all_have(crownless: Crownless, name: str) -> None:
    code, out, _ = crownless(name, "--help")
    assert "--json" in out
    assert "--help-all" in out
    command = command_line.crownless.get_command(Context(command_line.crownless), name)
    assert command is not None
    everyday = out
    code, out, _ = crownless(name, "--help-all")
    options = {option for parameter in command.params for option in parameter.opts if option.startswith("-")}
    assert {option for option in options if option not in out} == set()
    left_out = {option for option in options if option not in everyday}
    assert bool(left_out) == (len(everyday) < len(out))
    assert code == 0
    assert out.index("Example") < out.index("Options:")
    expected = {"--json", "--ascii"} | ({"--quiet", "--max-seconds"} if name not in ("list", "new", "show") else set())
    assert {option for option in expected if option not in out} == set()


def test_list_shows_all_or_the_sections_that_are_named(crownless: Crownless) -> None:
    facts = crownless("list", "--json").json
    assert [row["name"] for row in facts["protocols"]] == list(PROTOCOLS)
    assert [row["name"] for row in facts["orders"]] == list(ORDERS)
    assert [row["name"] for row in facts["channels"]] == list(CHANNELS)
    assert "mf-fig8" in crownless("list").out
    assert set(crownless("list", "orders", "--json").json) == {"crownless", "orders"}
    shown = re.findall(r"^([a-z-]+) +(?:causal|fifo|sync|async)", crownless("list", "protocols").out, re.MULTILINE)
    assert shown == list(PROTOCOLS)
    refused = crownless("list", "protocol")
    assert (refused.code, "protocols" in refused.err) == (2, True)


def test_a_shell_completes_protocols_and_else_files() -> None:
    complete = ShellComplete(command_line.crownless, {}, "crownless", "_CROWNLESS_COMPLETE")
    for name in ("check", "realize", "prove", "cost"):
        found = complete.get_completions([name], "rst-")
        assert [item.value for item in found] == ["rst-before", "rst-sent-alone", "rst-column"]
    (file,) = complete.get_completions(["check"], "hub.p")
    assert file.type == "file"
    assert [item.value for item in complete.get_completions([], "cl")] == ["claims", "classify"]
