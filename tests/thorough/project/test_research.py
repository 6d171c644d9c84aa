"""Research stands beside the core: nothing in the core imports it, and without it the core is whole."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from source_files import SOURCE, imports_of

from crownless import command_line
from crownless.runtime import research_parts


def test_nothing_imports_research() -> None:
    """But the package itself, for type checkers: `cr.knobs`."""
    core = [folder for folder in SOURCE.iterdir() if folder.is_dir() and folder.name != "research"]
    files = [*SOURCE.glob("*.py"), *(file for folder in core for file in folder.rglob("*.py"))]
    assert len(files) > 200
    importing = {file for file in files if "research" in imports_of(file, file.parent.name)}
    assert importing == {SOURCE / "__init__.py"}


def test_every_part_that_the_table_names_is_there() -> None:
    places = [flag.answers for flags in research_parts._FLAGS.values() for flag in flags]
    for place in [*places, *research_parts._SECTIONS.values(), research_parts._IN_BRACKETS]:
        assert callable(research_parts.part(place))
    for name in research_parts.commands():
        assert command_line.crownless.get_command(None, name) is not None  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def core_alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package `crownless`, as it is without research."""
    folder = tmp_path_factory.mktemp("core")
    (folder / "crownless").mkdir()
    for entry in SOURCE.iterdir():
        if entry.name not in ("research", "__pycache__"):
            (folder / "crownless" / entry.name).symlink_to(entry.resolve())
    return folder


@pytest.mark.parametrize(
    ("arguments", "code", "said", "unsaid"),
    [
        ("--help", 0, "check", "claims"),
        ("list", 0, "rendezvous", "counterexamples"),
        ("list orders", 0, "causal", ""),
        ("check rst -n 2 -m 2", 0, "causal", ""),
        ("prove cbcast", 0, "proved", ""),
        ("prove --help-all", 0, "--program", "--discover"),
        ("show mf-fig8", 0, "P1", ""),
        ("claims", 2, "unknown", ""),
        ("knobs rst", 2, "unknown", ""),
        ("show counterexample-mg13", 2, "counterexample-mg13", ""),
    ],
)
def test_without_research_the_core_is_whole(
    core_alone: Path, arguments: str, code: int, said: str, unsaid: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "crownless", *arguments.split()],
        env=os.environ | {"PYTHONPATH": str(core_alone), "COLUMNS": "100"},
        cwd=core_alone,
        capture_output=True,
        text=True,
        check=False,
    )
    text = done.stdout + done.stderr
    assert (done.returncode, said in text) == (code, True), text
    assert not unsaid or unsaid not in text


def test_without_research_its_names_are_unknown(core_alone: Path) -> None:
    code = "from crownless import *; import crownless; print('knobs' in dir(crownless), check('rst', 2, 1).holds)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(core_alone)},
        cwd=core_alone,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False True\n"


def test_a_combination_of_choices_needs_research(core_alone: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "crownless", "check", "rst[guard: nothing]"],
        env=os.environ | {"PYTHONPATH": str(core_alone)},
        cwd=core_alone,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "crownless.research, which is not installed" in done.stderr
