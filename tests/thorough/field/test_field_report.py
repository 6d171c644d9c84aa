"""The field report: its rows and its page agree, its script runs a row again, and each adapter runs on a stand-in."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from field_page import PAGE, PICTURES, page
from field_rows import FIELD, Row, log_rows, rows
from tiers import slow_where

STAND_INS = Path(__file__).parent / "stand_ins"
ADAPTER_LINES = 60


# -- rows and page -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.folder)
def test_a_row_says_what_its_last_run_found(row: Row) -> None:
    found = row.verdict
    assert found is not None
    assert (found["verdict"] == "violated") == (row.violation is not None)
    adapters = list(row.path.glob("adapter.*"))
    assert adapters
    assert all(len(adapter.read_text("utf-8").splitlines()) < ADAPTER_LINES for adapter in adapters)
    assert bool(row.built) == (row.run.split()[0] == "./node")
    assert len(row.promise.split()) <= 15
    if row.violation:
        wrong = row.violation.what
        assert "violated" in (found["orders"] | found["delivery"]).get(wrong, "violated")
        assert wrong in {**found["orders"], **found["delivery"]} or wrong in found["failures"]
        assert (row.path / row.violation.reproduce).exists()
        assert f"violates {wrong}" in (PICTURES / f"{row.folder}.svg").read_text("utf-8")
    else:
        assert found["orders"][row.order] == "kept"
        assert all(more["verdict"] in ("holds", "unknown") for more in found["larger"])


def test_the_page_is_that_of_the_rows() -> None:
    assert PAGE.read_text("utf-8") == page(rows(), log_rows())


# -- the script --------------------------------------------------------------------------------------------------------

THEIRS = "def hand_over(packets, packet):\n    packets.append(packet)\n"
ADAPTER = '''"""Drives hand_over."""
import os
import sys
sys.path.insert(0, os.environ["CHECKOUT"])
from theirs import hand_over

class Node:
    def __init__(self, process, processes, transmit, deliver):
        self.transmit, self.deliver, self.packets = transmit, deliver, []

    def on_send(self, to, message):
        self.transmit(to, message)

    def on_packet(self, source, packet):
        hand_over(self.packets, packet)
        self.deliver(self.packets.pop())
'''
ROW = """name = "theirs"
repository = "{repository}"
commit = "{commit}"
language = "Python"
what = "an inbox"
use = "library"
promise = "in order"
promise_at = "theirs.py:1"
order = "fifo"
options = "{options}"
processes = 2
messages = 2
run = "adapter.py:Node"
drives = "theirs.py: hand_over"
replaced = "nothing"
"""
VIOLATION = """[violation]
what = "fifo"
at = "theirs.py:2"
cause = "It keeps no order."
bug = "no buffering at all"
fix = "Number the messages."
fixed = ""
reproduce = "adapter.py"
shows = "nothing"
"""


def prepared(tmp_path: Path, options: str = "", violation: str = "", commit: str = "") -> Path:
    """The script in a folder of its own, with one row, whose repository is a local one."""
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "theirs.py").write_text(THEIRS)
    git = ["git", "-C", str(repository), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "Their code"]):
        subprocess.run([*git, *arguments], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    field = tmp_path / "examples" / "field"
    (field / "theirs").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    for script in FIELD.glob("*.py"):
        shutil.copy(script, field)
    (field / "theirs" / "adapter.py").write_text(ADAPTER)
    row = ROW.format(repository=repository, commit=commit or head, options=options)
    (field / "theirs" / "row.toml").write_text(row + violation)
    return tmp_path


def run_again(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = [sys.executable, "examples/field/field_report.py", *arguments]
    return subprocess.run(script, cwd=folder, capture_output=True, text=True)


def test_a_row_is_fetched_run_and_written_to_the_page(tmp_path: Path) -> None:
    folder = prepared(tmp_path, violation=VIOLATION)
    done = run_again(folder, "theirs")
    assert (done.returncode, done.stdout) == (
        0,
        "theirs: violates fifo, causal, mailbox, one-n, n-n, synchronous, as row.toml says\n",
    ), done.stderr
    found = json.loads((folder / "examples/field/theirs/verdict.json").read_text())
    assert (found["orders"]["fifo"], found["smallest"]) == ("violated", [2, 2])
    text = (folder / "docs" / "field_report.md").read_text()
    assert "**violates fifo**" in text
    assert "theirs.py#L2" in text
    assert (folder / "docs" / "field" / "theirs.svg").exists()


def test_what_keeps_its_promise_is_tried_with_one_process_and_one_message_more(tmp_path: Path) -> None:
    folder = prepared(tmp_path, options="--channel fifo")
    assert run_again(folder, "--larger").returncode == 0
    larger = json.loads((folder / "examples/field/theirs/verdict.json").read_text())["larger"]
    assert [(more["processes"], more["messages"], more["verdict"]) for more in larger] == [
        (3, 2, "holds"),
        (2, 3, "holds"),
    ]
    file = folder / "examples/field/theirs/verdict.json"
    earlier = json.loads(file.read_text())
    earlier["larger"] = larger = [{**more, "date": "2001-02-03"} for more in larger]
    file.write_text(json.dumps(earlier))
    run_again(folder)
    again = json.loads(file.read_text())
    assert (again["larger"], again["date"] > "2001-02-03") == (larger, True)
    assert "One more: 3 processes and 2 messages, 2001-02-03: kept" in (folder / "docs/field_report.md").read_text()


def test_a_verdict_that_is_not_that_of_the_row_is_noticed(tmp_path: Path) -> None:
    done = run_again(prepared(tmp_path))
    assert done.returncode == 1
    assert done.stdout.endswith("synchronous, which is not what row.toml says: it stays as it was\n")


def test_another_violation_than_that_of_the_row_is_noticed(tmp_path: Path) -> None:
    folder = prepared(tmp_path, violation=VIOLATION.replace('what = "fifo"', 'what = "delivers-all"'))
    done = run_again(folder)
    assert done.returncode == 1
    assert "which is not what row.toml says" in done.stdout
    assert {file.name for file in (folder / "examples/field/theirs").iterdir()} == {"adapter.py", "row.toml"}


def test_a_row_that_is_not_decided_is_not_kept(tmp_path: Path) -> None:
    done = run_again(prepared(tmp_path, options="--channel fifo --max-seconds 0"))
    assert (done.returncode, done.stdout) == (
        1,
        "theirs: unknown, which is not what row.toml says: it stays as it was\n",
    )


def test_a_row_whose_code_is_not_at_hand_stays_as_it_was(tmp_path: Path) -> None:
    folder = prepared(tmp_path, commit="0" * 40)
    done = run_again(folder)
    assert done.returncode == 0
    assert "theirs: stays as it was" in done.stderr
    assert not (folder / "examples/field/theirs/verdict.json").exists()
    assert run_again(folder, "theirs").returncode == 3


@pytest.mark.parametrize(
    ("row", "said"),
    [(ROW + 'colour = "red"\n', "nothing is called colour"), (ROW.replace('use = "library"\n', ""), "'use'")],
)
def test_a_row_that_lacks_something_is_one_line(tmp_path: Path, row: str, said: str) -> None:
    folder = prepared(tmp_path)
    (folder / "examples/field/theirs/row.toml").write_text(row)
    done = run_again(folder)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr


# -- adapters ----------------------------------------------------------------------------------------------------------


def stand_in(name: str) -> dict[str, Any]:
    return tomllib.loads((STAND_INS / name / "stand_in.toml").read_text("utf-8"))


NAMES = sorted(folder.parent.name for folder in STAND_INS.glob("*/stand_in.toml"))


def other_needs(name: str) -> tuple[str, ...]:
    """The programs that it needs besides Python, such as those of a language."""
    return tuple(sorted(set(stand_in(name).get("needs", [])) - {"python3"}))


#: For each set of needs the one stand-in that CI runs.
ONE_EACH = {other_needs(name): name for name in reversed(NAMES) if "slow" not in stand_in(name)}


def is_slow(name: str) -> bool:
    return "slow" in stand_in(name) or (other_needs(name) != () and name != ONE_EACH[other_needs(name)])


@pytest.mark.parametrize("name", slow_where(is_slow, NAMES))
def test_an_adapter_runs_on_a_stand_in(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = stand_in(name)
    for need in facts.get("needs", []):
        if need != "python3" and shutil.which(need) is None:
            pytest.skip(f"there is no {need} here")
    shutil.copytree(STAND_INS / name, tmp_path, dirs_exist_ok=True)
    for adapter in (FIELD / name).glob("adapter.*"):
        shutil.copy(adapter, tmp_path)
    places = {"out": tmp_path, "checkout": tmp_path}
    if build := facts.get("build"):
        subprocess.run(build.format(**places), shell=True, check=True, cwd=tmp_path, timeout=300)
    row = next(row for row in rows() if row.folder == name)
    node = [sys.executable if word == "python3" else word for word in shlex.split(facts["run"].format(**places))]
    bound = ["-n", str(facts["processes"]), "-m", str(facts["messages"])]
    separator = [] if ".py:" in node[0] else ["--"]
    options = [*bound, "--order", row.order, *shlex.split(row.options), "--quiet", *separator, *node]
    monkeypatch.setenv("CHECKOUT", str(tmp_path))
    done = subprocess.run([sys.executable, "-m", "crownless", "conform", *options], cwd=tmp_path, capture_output=True)
    assert done.returncode == (0 if facts["kept"] else 1), done.stdout.decode() + done.stderr.decode()


def test_every_adapter_has_a_stand_in() -> None:
    assert {row.folder for row in rows()} == set(NAMES)
