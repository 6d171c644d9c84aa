"""A command overwrites none of the files that it reads, and no two outputs are one file."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line_runner import Capture, Crownless

OVERTAKEN = "P1: send x to P2; send y to P2\nP2: receive y; receive x\n"


@pytest.fixture
def crownless(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Crownless:
    monkeypatch.chdir(tmp_path)
    for name in ("over.txt", "mine.py", "runs.json"):
        Path(name).write_text(OVERTAKEN)
    Path("symlink").symlink_to("over.txt")
    Path("logs").mkdir()
    return Crownless(capsys)


OVERWRITES = "{} would overwrite its input {}; name another file"
SAME = "{} and {} are the same file; give each its own file"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("show over.txt --svg over.txt", OVERWRITES.format("--svg over.txt", "over.txt")),
        ("show --svg ./over.txt over.txt", OVERWRITES.format("--svg ./over.txt", "over.txt")),
        ("show over.txt --html symlink", OVERWRITES.format("--html symlink", "over.txt")),
        ("check mine.py:Mine --svg mine.py", OVERWRITES.format("--svg mine.py", "mine.py:Mine")),
        ("check rst --program over.txt --itf over.txt", OVERWRITES.format("--itf over.txt", "over.txt")),
        ("explore mine.py:Node --html mine.py", OVERWRITES.format("--html mine.py", "mine.py:Node")),
        ("conform --save mine.py -- python3 mine.py", OVERWRITES.format("--save mine.py", "mine.py")),
        ("classify logs --engine spark --out logs", OVERWRITES.format("--out logs", "logs")),
        ("list orders mine.py:Mine --svg mine.py", OVERWRITES.format("--svg mine.py", "mine.py:Mine")),
        ("show over.txt --svg k --html ./k", SAME.format("--svg k", "--html ./k")),
        ("check rst --junit k --sarif k", SAME.format("--junit k", "--sarif k")),
        ("check rst --checkpoint k --svg k", SAME.format("--checkpoint k", "--svg k")),
        ("show over.txt --svg -", "--svg cannot write to standard output; name a file"),
        ("vectors --out logs", "--out logs: Is a directory; name a file that can be written"),
        ("claims --html gone/k", "--html gone/k: no such folder; name a file that can be written"),
    ],
)
def test_an_output_that_cannot_be_written_or_is_an_input_is_refused_before_any_work(
    crownless: Crownless, arguments: str, line: str
) -> None:
    def contents() -> dict[str, str]:
        return {str(path): path.read_text() for path in Path().rglob("*") if path.is_file()}

    before = contents()
    answer = crownless(*arguments.split())
    assert (answer.code, answer.out, answer.err) == (2, "", f"crownless: {line}\n")
    assert contents() == before


@pytest.mark.parametrize("option", ["--svg", "--out"])
def test_an_output_has_a_name(crownless: Crownless, option: str) -> None:
    command = {"--svg": ["show", "over.txt"], "--out": ["classify", "over.txt"]}[option]
    assert crownless(*command, option, "").err == f"crownless: {option}: the name is empty; give a name\n"


def test_a_device_can_be_written_twice(crownless: Crownless) -> None:
    assert crownless("show", "over.txt", "--svg", "/dev/null", "--html", "/dev/null").code == 0


def test_a_file_that_is_written_again_keeps_its_link_and_permissions(crownless: Crownless) -> None:
    file, link = Path("fig8.svg"), Path("link.svg")
    file.write_text("an earlier picture")
    file.chmod(0o640)
    link.symlink_to(file)
    assert crownless("show", "mf-fig8", "--svg", "link.svg").code == 0
    assert link.is_symlink()
    assert file.read_text("utf-8").startswith("<svg")
    assert file.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in Path().glob(".fig8*")] == []
