"""The README, the table of protocols and the worked example of CONTRIBUTING.md print what the commands print."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from goldens import PROTOCOLS, Block, blocks, printed, protocol_table, table_shown, timeless
from worked_example import Run, with_the_example

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


# -- CONTRIBUTING.md ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    with with_the_example() as run:
        yield run


def test_the_example_prints_what_contributing_says(run: Run) -> None:
    shown = list(blocks("CONTRIBUTING.md"))
    assert len(shown) == 2
    for block in shown:
        assert timeless(run(block.arguments)) == timeless(block.output)


def test_the_example_is_listed_and_covered_by_every_verb_that_takes_a_protocol(run: Run) -> None:
    assert re.search(r"^hub +causal", run(("list", "protocols")), re.MULTILINE)
    checked = run(("check", "hub", "-m", "2", "--channel", "fifo"))
    assert checked.startswith("hub: 3 processes, up to 2 messages")
    assert re.search(r"^fifo +always +holds", checked, re.MULTILINE)
