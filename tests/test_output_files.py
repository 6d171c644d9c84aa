"""What a command writes is none of the files that it reads, and no two outputs are one file."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
from command_line_runner import Capture, Crownless

from crownless.command_line import VERBS
from crownless.command_line.file_options import InputFile, OutputFile

OVERTAKEN = "P1: send x to P2; send y to P2\nP2: receive y; receive x\n"
#: Files that commands would read here.
INPUTS = ("over.txt", "mine.py", "runs.json")


@pytest.fixture
def crownless(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Crownless:
    monkeypatch.chdir(tmp_path)
    for name in INPUTS:
        Path(name).write_text(OVERTAKEN)
    Path("symlink").symlink_to("over.txt")
    os.link("over.txt", "hardlink")
    Path("logs").mkdir()
    return Crownless(capsys)


def contents() -> dict[str, str]:
    return {str(path): path.read_text() for path in Path().rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("arguments", "output", "read"),
    [
        ("show over.txt --svg over.txt", "--svg over.txt", "over.txt"),
        ("show --svg ./over.txt over.txt", "--svg ./over.txt", "over.txt"),
        ("show over.txt --html symlink", "--html symlink", "over.txt"),
        ("show symlink --html hardlink", "--html hardlink", "symlink"),
        ("show logs/../over.txt --svg over.txt", "--svg over.txt", "logs/../over.txt"),
        ("check mine.py:Mine --svg mine.py", "--svg mine.py", "mine.py:Mine"),
        ("check mine:Mine --junit mine.py", "--junit mine.py", "mine:Mine"),
        ("check rst mine.py --dot mine.py", "--dot mine.py", "mine.py"),
        ("check rst --program over.txt --itf over.txt", "--itf over.txt", "over.txt"),
        ("check rst --program over.txt --sarif hardlink", "--sarif hardlink", "over.txt"),
        ("explore mine.py:Node --html mine.py", "--html mine.py", "mine.py:Node"),
        ("explore over.txt --html over.txt", "--html over.txt", "over.txt"),
        ("explore rst --program over.txt --html over.txt", "--html over.txt", "over.txt"),
        ("explore mine.py:Node --replay runs.json --html runs.json", "--html runs.json", "runs.json"),
        ("explore --html mine.py -- python3 mine.py", "--html mine.py", "mine.py"),
        ("conform mine.py:Node --save mine.py", "--save mine.py", "mine.py:Node"),
        ("conform mine.py:Node --replay runs.json --svg runs.json", "--svg runs.json", "runs.json"),
        ("conform --save mine.py -- python3 mine.py", "--save mine.py", "mine.py"),
        ("classify logs --engine spark --out logs", "--out logs", "logs"),
        ("list orders mine.py:Mine --svg mine.py", "--svg mine.py", "mine.py:Mine"),
    ],
)
def test_an_output_that_is_an_input_is_refused_and_nothing_is_written(
    crownless: Crownless, arguments: str, output: str, read: str
) -> None:
    before = contents()
    answer = crownless(*arguments.split())
    line = f"crownless: {output} would overwrite its input {read}; name another file\n"
    assert (answer.code, answer.out, answer.err) == (2, "", line)
    assert contents() == before


@pytest.mark.parametrize(
    ("arguments", "first", "second"),
    [
        ("show over.txt --svg k --html k", "--svg k", "--html k"),
        ("show over.txt --html k --svg ./k", "--html k", "--svg ./k"),
        ("check rst --svg new --dot dangling", "--svg new", "--dot dangling"),
        ("check rst --junit k --sarif k", "--junit k", "--sarif k"),
        ("check rst --checkpoint k --svg k", "--checkpoint k", "--svg k"),
        ("conform mine.py:Node --save k --itf k", "--save k", "--itf k"),
        ("cost rst --out k --page k", "--out k", "--page k"),
    ],
)
def test_two_outputs_in_one_file_are_refused_and_nothing_is_written(
    crownless: Crownless, arguments: str, first: str, second: str
) -> None:
    Path("dangling").symlink_to("new")
    before = contents()
    answer = crownless(*arguments.split())
    line = f"crownless: {first} and {second} are the same file; give each a file of its own\n"
    assert (answer.code, answer.out, answer.err) == (2, "", line)
    assert contents() == before


def test_a_file_from_which_standard_input_comes_is_an_input(tmp_path: Path) -> None:
    file = tmp_path / "over.txt"
    file.write_text(OVERTAKEN)
    command = [sys.executable, "-m", "crownless", "show", "-", "--svg", "over.txt"]
    with file.open() as opened:
        ended = subprocess.run(command, stdin=opened, cwd=tmp_path, capture_output=True, text=True, check=False)
    line = "crownless: --svg over.txt would overwrite its input standard input; name another file\n"
    assert (ended.returncode, ended.stderr, file.read_text()) == (2, line, OVERTAKEN)


def test_a_bundled_name_and_a_device_are_no_files_of_the_user(crownless: Crownless) -> None:
    assert crownless("show", "mf-fig8", "--svg", "mf-fig8").code == 0
    assert crownless("show", "over.txt", "--svg", os.devnull, "--html", os.devnull).code == 0
    Path("rst").write_text("")
    assert crownless("check", "rst", "-n", "2", "-m", "1", "--junit", "rst").code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        "show over.txt --svg",
        "show over.txt --html",
        "check rst --dot",
        "check rst --itf",
        "conform mine.py:Node --save",
        "explore rst --html",
        "claims --html",
        "vectors --out",
        "list orders --svg",
    ],
)
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("-", " -: this goes to a file, not to standard output; name a file"),
        ("", ": the name is empty; give a name"),
        ("logs", " logs: Is a directory; name a file that can be written"),
        ("gone/k", " gone/k: No such file or directory; name a file that can be written"),
        ("over.txt/k", " over.txt/k: Not a directory; name a file that can be written"),
    ],
)
def test_a_name_to_which_nothing_can_be_written_is_refused_before_any_work(
    crownless: Crownless, arguments: str, name: str, problem: str
) -> None:
    before = contents()
    answer = crownless(*arguments.split(), name)
    assert (answer.code, answer.err) == (2, f"crownless: {arguments.split()[-1]}{problem}\n")
    assert contents() == before


def test_a_folder_has_a_name_too(crownless: Crownless) -> None:
    assert crownless("classify", "over.txt", "--out", "").err == "crownless: --out: the name is empty; give a name\n"


@pytest.mark.parametrize("verb", VERBS)
def test_every_parameter_that_names_a_file_is_compared_with_the_others(verb: str) -> None:
    command = getattr(import_module(f"crownless.command_line.{VERBS[verb].module}"), VERBS[verb].name)
    context = click.Context(command)
    for one in command.params:
        if one.make_metavar(context).startswith("FILE") or one.name in ("run", "subject", "program", "replayed"):
            compares = isinstance(one.type, InputFile | OutputFile)
            # Of verbs that write no files the type does not matter.
            assert compares or not any(isinstance(other.type, OutputFile) for other in command.params), one.opts


def test_no_output_is_the_file_that_standard_output_goes_to(tmp_path: Path) -> None:
    file = tmp_path / "both"
    with file.open("w") as output:
        command = [sys.executable, "-m", "crownless", "show", "mf-fig8", "--json", "--svg", str(file)]
        done = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "is the file that standard output goes to; name another file" in done.stderr
    assert file.read_text() == ""


def test_an_earlier_file_is_whole_if_a_new_one_cannot_be_completed(tmp_path: Path) -> None:
    file = tmp_path / "fig8.svg"
    file.write_text("an earlier picture")
    command = f"ulimit -f 1; exec {sys.executable} -B -m crownless show mf-fig8 --svg {file}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--svg" in done.stderr
    assert file.read_text() == "an earlier picture"
    assert [each.name for each in tmp_path.iterdir()] == ["fig8.svg"]


def test_a_file_that_is_written_again_keeps_its_link_and_permissions(tmp_path: Path, capsys: Capture) -> None:
    file, link = tmp_path / "fig8.svg", tmp_path / "link.svg"
    file.write_text("an earlier picture")
    file.chmod(0o640)
    link.symlink_to(file)
    assert Crownless(capsys)("show", "mf-fig8", "--svg", str(link)).code == 0
    assert link.is_symlink()
    assert file.read_text("utf-8").startswith("<svg")
    assert file.stat().st_mode & 0o777 == 0o640
