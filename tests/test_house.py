"""The house: imports run one way, the wheel holds every module."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "crownless"

#: Which of our packages each may import.
MAY_IMPORT = {
    "spec": {"spec"},
    "impl": {"spec", "impl"},
    "model_check": {"spec", "impl", "model_check"},
    "proofs": {"spec", "impl", "model_check", "proofs"},
    "pipeline": {"spec", "impl", "model_check", "proofs", "pipeline"},
    "command_line": {"spec", "impl", "model_check", "proofs", "pipeline", "command_line"},
}


def imports_of(file: Path, package: str) -> set[str]:
    """The packages of ours that a module imports, relative imports resolved."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            found.add(package)
        elif isinstance(node, ast.ImportFrom) and node.level > 1:
            found.add("a relative import that leaves the package")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("crownless."):
            found.add((node.module or "").split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "crownless":
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.name.split(".")[1] for alias in node.names if alias.name.startswith("crownless."))
    return found


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_run_one_way(package: str) -> None:
    files = sorted((SOURCE / package).glob("**/*.py"))
    assert files
    for file in files:
        assert imports_of(file, package) <= MAY_IMPORT[package], file.name


def test_the_check_of_imports_can_fail(tmp_path: Path) -> None:
    file = tmp_path / "bad.py"
    file.write_text("from crownless.model_check import explorer\nfrom ..impl import rst\n")
    assert imports_of(file, "spec") == {"model_check", "a relative import that leaves the package"}


def test_the_wheel_holds_every_module_and_figure(tmp_path: Path) -> None:
    # In a copy: setuptools leaves a folder behind from which old modules would creep into the next wheel.
    copy = tmp_path / "copy"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(".*", "build", "*.egg-info"))
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(copy)]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    wanted = {"crownless/py.typed", "crownless/__init__.py", "crownless/__main__.py"}
    for package in MAY_IMPORT:
        for file in (SOURCE / package).glob("**/*"):
            if file.suffix in (".py", ".txt", ".json", ".jsonl"):
                wanted.add(f"crownless/{file.relative_to(SOURCE)}")
    assert wanted <= held


def test_ci_checks_the_code_and_builds_the_site() -> None:
    """Once, in `.ci/run`, and not in each worker of the tests."""
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    for command in (
        "ruff check .",
        "ruff format --check .",
        "'mypy'",
        "mypy tests benchmarks",
        "mkdocs build --strict",
    ):
        assert command in script


def test_every_file_of_the_packages_is_in_the_manifest() -> None:
    manifest = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    for package in ("spec", "impl", "model_check", "proofs", "pipeline"):
        for file in (ROOT / package).glob("*.py"):
            assert file.name == "__init__.py" or f"`{file.name}`" in manifest, f"{package}/{file.name}"
