"""An order is one row: one that is added to the table, without a monitor, works in every command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import one_more_order
import pyarrow as pa
import pytest
from one_more_order import NAME, SMALL_UP_TO

from crownless.oracle.log_orders import whole_runs
from crownless.spec.enumeration import computations

ONLY = ("--order", NAME, "--json")


def written(path: Path, messages: int, overtaken: int) -> str:
    """A log of one link, whose first message is overtaken by so many others."""
    delivered = [*range(1, overtaken + 1), 0, *range(overtaken + 1, messages)]
    rows = [{"process": "P1", "index": k, "kind": "send", "message": f"m{k}", "peer": "P2"} for k in range(messages)]
    rows += [
        {"process": "P2", "index": k, "kind": "deliver", "message": f"m{m}", "peer": "P1"}
        for k, m in enumerate(delivered)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return str(path)


def answers(*asked: list[str]) -> list[Any]:
    """What a process that has the row says: each exit code and output."""
    child = [sys.executable, one_more_order.__file__, json.dumps(asked)]
    return list(json.loads(subprocess.run(child, capture_output=True, check=True, text=True).stdout))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], str]:
    folder, sizes = tmp_path_factory.mktemp("logs"), {"small": 3, "large": SMALL_UP_TO}
    return {(size, k): written(folder / f"{size}{k}.jsonl", n, k) for size, n in sizes.items() for k in (1, 2)}


def test_it_is_judged_in_logs_of_every_size(logs: dict[tuple[str, int], str]) -> None:
    cases = [(size, how) for size in ("small", "large") for how in ([], ["--one-run"])]
    asked = [["classify", *how, logs[size, k], *ONLY] for size, how in cases for k in (1, 2)]
    for (code, out), k in zip(answers(*asked), [1, 2] * len(cases), strict=True):
        found = json.loads(out)["orders"][NAME]
        assert (code, found["verdict"]) == [(0, "kept"), (1, "violated")][k - 1]
        assert k == 1 or (found["witness"]["first"], found["witness"]["second"]) == ("m0", "m2")


def test_it_is_one_of_all_orders_in_logs_on_spark_and_in_files_of_verdicts(
    logs: dict[tuple[str, int], str], tmp_path: Path
) -> None:
    (code, out), of_large, of_small = answers(
        ["classify", logs["large", 2], "--json", "--out", str(tmp_path / "out")],
        ["spark", logs["large", 2]],
        ["spark", logs["small", 1]],
    )
    assert code == 1
    orders = json.loads(out)["orders"]
    assert [name for name, found in orders.items() if found["verdict"] == "kept"] == ["asynchronous"]
    assert orders["total"]["verdict"] == "nothing"
    assert (orders[NAME]["verdict"], list(orders)[-1]) == ("violated", NAME)
    assert of_large[NAME] == ["violated", None]
    assert (of_small["fifo"], of_small[NAME]) == (["violated", None], ["kept", None])
    assert {verdict for verdict, _ in of_large.values()} == {"kept", "violated", "nothing"}


def test_it_is_counted_listed_checked_and_compared() -> None:
    count, listed, violated, held, realized = answers(
        ["count", "-n", "2", "-m", "3", "--json"],
        ["list", "orders", "--json"],
        ["check", "unordered", "-n", "2", "-m", "3", *ONLY],
        ["check", "fifo-sequence", "-n", "2", "-m", "3", *ONLY],
        ["realize", "fifo-sequence", "-n", "2", "-m", "3", "--json"],
    )
    kept = sum(one_more_order.definition(c, pending=False) for c in computations(2, 3))
    assert (count[0], json.loads(count[1])["counts"][NAME], kept) == (0, 30, 30)
    assert NAME in [row["name"] for row in json.loads(listed[1])["orders"]]
    assert (violated[0], held[0]) == (1, 0)
    (check,) = json.loads(violated[1])["checks"]
    (line,) = [known for known in check["properties"] if known["name"] == NAME]
    assert (line["verdict"], len(line["run"])) == ("violated", 5)
    facts = json.loads(realized[1])
    assert (facts["equals"], facts["orders"][NAME]) == ("fifo", {"computations": 30, "generated": 14})
    assert NAME in facts["contained_in"]
    assert NAME not in facts["contains"]


def test_the_procedure_agrees_with_the_definition() -> None:
    for c in computations(3, 3, complete=False):
        for pending in (False, True):
            broken = one_more_order.procedure(c, pending=pending) is not None
            assert broken != one_more_order.definition(c, pending=pending)


def test_a_run_too_large_to_be_held_is_unknown_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_runs, "EVENTS_UP_TO", 3)
    run = whole_runs.WholeRun("log", "lost")
    for _ in range(2):
        run.add(pa.table({"process": ["P1", "P2"]}))
    verdict = run.verdict("fifo")
    assert (verdict.outcome, verdict.kept) == ("unknown", False)
    assert verdict.because == "not decided: it has no monitor, and a run of more than 3 events is not held whole"
