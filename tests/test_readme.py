"""The README does what it says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from goldens import Block, blocks, printed, protocol_table, table_shown, timeless

from crownless.model_check.event_logs import read_log
from crownless.spec.notation import parse, to_computation

ROOT = Path(__file__).parent.parent
BLOCKS = list(blocks("README.md"))


def test_the_readme_shows_commands() -> None:
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: " ".join(block.arguments))
def test_a_command_in_the_readme_prints_what_the_readme_says(block: Block) -> None:
    assert timeless(printed(block.arguments)) == timeless(block.output)


def test_the_table_of_protocols_is_the_registrys() -> None:
    assert table_shown() == protocol_table()


def test_what_the_readme_shows_of_computations_and_logs_can_be_read() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    section = text[text.index("## Writing your own") : text.index("## Where to go next")]
    computation, log = re.findall(r"^```\n(.*?)^```\n", section, re.DOTALL | re.MULTILINE)
    assert len(to_computation(parse(computation)).messages) == 3
    (run,) = read_log(log.splitlines())
    assert (run.run, run.computation.complete, run.holes) == ("a", True, ())


def test_ci_calls_the_test_command_of_the_readme() -> None:
    commands = [
        line[2:] for line in (ROOT / "README.md").read_text("utf-8").splitlines() if line.startswith("$ python3")
    ]
    assert len(commands) == 2
    (tests,) = (command for command in commands if "pytest" in command)
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    pattern = next(line for line in script.splitlines() if line.startswith("command=")).removeprefix("command=$(")
    found = subprocess.run(pattern.removesuffix(")"), shell=True, cwd=ROOT, check=True, capture_output=True, text=True)
    assert found.stdout.strip() == tests
