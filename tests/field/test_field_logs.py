"""The collections of traces in the field report: the command of each row, with its converter, on a small stand-in."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_line_runner import Crownless
from field_rows import FIELD, LogRow, log_rows

STAND_INS = Path(__file__).parents[1] / "thorough" / "field" / "stand_ins" / "logs"
ROOT = Path(__file__).parents[2]
LINES = 60
ROWS = {row.folder: row for row in log_rows()}

#: For each run of the stand-in: its messages, and the first letters of the verdicts on the orders that are decided.
EXPECTED = {
    "akka-broadcast": {"": "3 kkkkvvvn"},
    "blueprint-govector": {"": "2 kuuuuuuu"},
    "concuerror": {"three-1": "3 kkvvvvvn", "three-2": "1 kkkkkkkn"},
    "epfl-broadcast": {"": "3 kv"},
    "epfl-fifo": {"": "2 vv"},
    "etcd-raft": {"": "2 kvvvvvvn"},
    "lamport-clocks": {"sim1": "1 kuuuuuuu"},
    "otlp-async-trace-doctor": {
        "normal": "1 kkkkkkkn",
        "batch-incomplete": "1 kuuuuuuu",
        "broken-context": "0 nuuuuuuu",
        "cross-environment": "0 nuuuuuuu",
        "unresolved-link": "0 nuuuuuuu",
        "rabbitmq-destination-shape": "1 kkkkkkkn",
        "orphan-producer": "0 nuuuuuuu",
    },
    "shiviz-chord": {"": "2 kuuuuuvu"},
    "shiviz-simpledb": {"": "4 kuuvvvvu"},
    "shiviz-voldemort": {"": "1 kuuuuuuu"},
    "simgrid-mpi": {"": "2 kvvvvvvn"},
    "tla-ewd998-simulation": {"two actions": "4 kvvvvvvn"},
    "tla-ewd998-trace": {"": "3 kkkkkkkn"},
}


def answer(crownless: Crownless, folder: Path, row: LogRow, convert: str = "") -> Any:
    """What the row's command, with more arguments of the converter, says of the stand-in, as JSON."""
    checkout = shlex.quote(str(STAND_INS / row.folder))
    *converter, classify = row.command.replace("{checkout}", checkout).split(" | ")
    program, *arguments = shlex.split(classify)
    assert program == "crownless"
    if converter:
        script, files = converter[0].removeprefix("python3 ").split(" ", 1)
        run = f"{shlex.quote(sys.executable)} {script} {convert} {files}"
        done = subprocess.run(["bash", "-c", run], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        (folder / "log").write_text(done.stdout)
        assert arguments.pop() == "-"
        arguments.append(str(folder / "log"))
    return crownless(*arguments, "--json").json


def test_each_row_has_a_stand_in() -> None:
    assert set(EXPECTED) == set(ROWS)


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.folder)
def test_the_command_of_a_row_classifies_its_stand_in(crownless: Crownless, tmp_path: Path, row: LogRow) -> None:
    said = answer(crownless, tmp_path, row)
    found = {
        one["run"] or (Path(one["file"]).stem if row.folder.startswith("otlp") else ""): f"{one['messages']} "
        + "".join(order["verdict"][0] for order in one["orders"].values())
        for one in said.get("classifications", [said])
    }
    assert found == EXPECTED[row.folder]


def test_a_row_is_complete() -> None:
    for row in ROWS.values():
        assert re.fullmatch("[0-9a-f]{40}", row.commit), row.folder
        assert all([row.files, row.records, row.verdict, row.unknown, row.needs]), row.folder
        assert bool(row.convert) == ("convert.py" in row.command), row.folder
        assert all(option in row.command for option in row.options.split()), row.folder
        if row.convert:
            converter = FIELD / "logs" / row.folder / row.convert
            assert len(converter.read_text("utf-8").splitlines()) < LINES, row.folder


@pytest.mark.parametrize(
    ("dependencies", "verdict"),
    # 3 broadcasts after it delivers a message of 1, which 5 delivers later.
    [("", "violated"), ("1: 3: 5:", "kept"), ("1:3 3:1 5:", "violated")],
)
def test_of_localized_causal_broadcast_only_the_dependencies_count(
    crownless: Crownless, tmp_path: Path, dependencies: str, verdict: str
) -> None:
    said = answer(crownless, tmp_path, ROWS["epfl-broadcast"], dependencies)
    assert said["orders"]["causal"]["verdict"] == verdict


def test_a_message_that_its_clock_does_not_name_is_rejected(tmp_path: Path) -> None:
    late = (
        '[I] [1] [x] [akka://Broadcast/user/a] {"a":1} Sending m to b\n'
        '[I] [1] [x] [akka://Broadcast/user/a] {"a":2} Sending n to b\n'
        '[I] [1] [x] [akka://Broadcast/user/b] {"a":2, "b":1} Received n from a\n'
        '[I] [1] [x] [akka://Broadcast/user/b] {"a":2, "b":2} Received m from a\n'
    )
    (tmp_path / "log").write_text(late)
    converter = FIELD / "logs" / "akka-broadcast" / "convert.py"
    done = subprocess.run([sys.executable, converter, tmp_path / "log"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "b, event 2: the message comes late" in done.stderr
