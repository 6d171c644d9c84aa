"""The first screen: rows beside their expected verdicts, tables that fit, and answers that do not wait."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from click import Context
from click.shell_completion import ShellComplete
from command_line_runner import Crownless
from small_suite import suite_of

from crownless import command_line
from crownless.command_line.tables import Rows
from crownless.impl.channels import CHANNELS
from crownless.impl.protocol import Packet, ProtocolMachine, Step
from crownless.impl.protocols.unordered import Unordered
from crownless.impl.registry import PROTOCOLS
from crownless.model_check.check import check as checking
from crownless.model_check.check.check import run_check
from crownless.model_check.check.suite import SuiteRow
from crownless.model_check.search.engines import SymmetryCheck
from crownless.model_check.system.exploration import Exploration
from crownless.model_check.system.request import Check
from crownless.runtime.ending import INTERRUPTED
from crownless.spec.orders import ORDERS

Capture = pytest.CaptureFixture[str]


def test_check_exits_0_where_every_row_is_as_expected_also_those_that_break(crownless: Crownless) -> None:
    with suite_of("unordered", "rst"):
        code, out, err = crownless("check")
    assert (code, err) == (0, "")
    assert re.search(r"^unordered +3×4, unordered +violates fifo 3, causal 3,? ", out, re.MULTILINE)
    assert re.search(r"^rst +3×4, unordered +holds +7,370 +\d+\.\d$", out, re.MULTILINE)
    assert out.endswith("\n2 checks: 1 holds, 1 violated, all as expected\n")


def test_a_row_that_no_longer_breaks_what_it_is_known_to_break_is_unexpected() -> None:
    row = SuiteRow(Check("rst"), frozenset({"causal"}))
    assert row.as_expected(run_check(Check("rst", 2, 2))) is False


def test_a_row_that_is_unknown_exits_3(crownless: Crownless) -> None:
    with suite_of("unordered", "rst"):
        code, out, _ = crownless("check", "--max-states", "600")
    assert code == 3
    assert "; not known to be as expected: rst\n" in out


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


# -- which engine ------------------------------------------------------------------------------------------------------


def test_a_small_search_is_answered_by_the_plain_explorer_and_a_large_one_by_the_native_engine() -> None:
    small, large = run_check(Check("rst", 3, 3)), run_check(Check("buffer"))
    assert (small.engine.name, small.json()["engine"]) == ("plain", "plain")
    assert (large.engine.name, large.json()["engine"]) == ("native", "native")
    assert large.exploration.states == 60_982


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
