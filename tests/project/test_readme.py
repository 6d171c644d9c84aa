"""The README, and the table of protocols, print what the commands print."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from goldens import PROTOCOLS, Block, blocks, printed, protocol_table, table_shown, timeless

ROOT = Path(__file__).parents[2]
BLOCKS = list(blocks("README.md"))


def test_the_readme_shows_commands() -> None:
    assert [block.arguments[0] for block in BLOCKS] == ["check", "classify"]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: " ".join(block.arguments))
def test_a_command_in_the_readme_prints_what_the_readme_says(block: Block) -> None:
    assert timeless(printed(block.arguments)) == timeless(block.output)


def test_the_table_of_protocols_is_the_registrys() -> None:
    assert table_shown(*PROTOCOLS) == protocol_table()


def test_the_python_of_the_readme_draws_the_shortest_run(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```\n", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    exec(compile(code, "README.md", "exec"), {})
    assert "deliver m3 from P3" in capsys.readouterr().out


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
