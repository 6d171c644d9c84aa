"""The code base: imports run one way, every file says what it is for, the wheel holds every module."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Collection
from pathlib import Path

import networkx as nx
import pytest
from source_files import SOURCE, imports_of

from crownless.impl.registry import PROTOCOLS

ROOT = Path(__file__).parents[2]

#: Which of our packages each may import.
MAY_IMPORT = {
    package: {"runtime", *imported.split(), package}
    for package, imported in {
        "runtime": "",
        "spec": "",
        "drawing": "spec",
        "impl": "spec",
        "model_check": "spec drawing impl",
        "oracle": "spec drawing impl model_check",
        "proofs": "spec drawing impl model_check",
        "pipeline": "spec impl model_check oracle",
        "run_explorer": "spec drawing impl model_check oracle",
        "command_line": "spec drawing impl model_check oracle proofs pipeline run_explorer",
        "research": "spec drawing impl model_check oracle proofs pipeline run_explorer command_line api arguments",
    }.items()
}


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_run_one_way(package: str) -> None:
    files = sorted((SOURCE / package).glob("**/*.py"))
    assert files
    for file in files:
        assert imports_of(file, package) <= MAY_IMPORT[package], file.name


def imported_modules(file: Path, module: str, modules: Collection[str]) -> set[str]:
    """The modules among these that a module imports, by full names."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    found = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, (package if node.level else "", node.module)))
            named = {alias.name: f"{base}.{alias.name}" for alias in node.names}
            found |= {full if full in modules else base for full in named.values()}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & set(modules) - {module}


def imports_of_all() -> nx.DiGraph[str]:
    """Modules and what they import; but for the package itself, which names everything and which nothing imports."""
    files = {
        ".".join(("crownless", *file.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): file
        for folder in (SOURCE, *(SOURCE / package for package in MAY_IMPORT))
        for file in folder.glob("*.py" if folder == SOURCE else "**/*.py")
        if file != SOURCE / "__init__.py"
    }
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(files)
    for module, file in files.items():
        graph.add_edges_from((module, imported) for imported in imported_modules(file, module, files))
    return graph


def cycles(graph: nx.DiGraph[str]) -> list[list[str]]:
    return [sorted(cycle) for cycle in nx.strongly_connected_components(graph) if len(cycle) > 1]


def test_no_modules_and_no_folders_import_each_other() -> None:
    modules = imports_of_all()
    assert len(modules) > 300
    assert cycles(modules) == []
    folder = {
        module: module if (SOURCE / Path(*module.split(".")[1:])).is_dir() else module.rpartition(".")[0]
        for module in modules
    }
    folders: nx.DiGraph[str] = nx.DiGraph((folder[one], folder[other]) for one, other in modules.edges)
    folders.remove_edges_from(list(nx.selfloop_edges(folders)))
    assert cycles(folders) == []


def test_a_circle_of_modules_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text("from crownless.spec import orders\nfrom .notation import parse\n")
    names = {"crownless.spec.one", "crownless.spec.orders", "crownless.spec.notation"}
    assert imported_modules(file, "crownless.spec.one", names) == names - {"crownless.spec.one"}
    assert cycles(nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")])) == [["a", "b"]]


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


def purpose(file: Path) -> str:
    """The first paragraph of a file's docstring; empty if it has none."""
    return (ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").split("\n\n")[0]


def test_every_file_says_in_one_line_what_it_is_for() -> None:
    """A statement or a noun phrase that stands alone."""
    folders = [*(SOURCE / package for package in MAY_IMPORT), ROOT / "benchmarks"]
    files = [file for folder in folders for file in sorted(folder.glob("**/*.py"))]
    assert len(files) > 200
    for file in files:
        assert not wrong_with(purpose(file)), f"{file.relative_to(ROOT)}: {wrong_with(purpose(file))}"


#: Words that readers outside would not know; see docs/glossary.md for those that stand in their place.
PRIVATE_WORDS = re.compile(
    r"\b(ghosts?|house|mail room|referee|mend|told|tells?|asks?|asked|by chance|turned|shel(f|ves)|under way|nobody)\b",
    re.IGNORECASE,
)


def wrong_with(line: str) -> str | None:
    """Why a purpose is none, if it is not."""
    if not line:
        return "no docstring"
    if "\n" in line or len(line) > 117:
        return "longer than one line"
    if not line.endswith("."):
        return "no sentence"
    if "?" in line or re.match(r"(What|Which|Whether|How|Why|When|Who|Where)\b", line):
        return "a question"
    if found := PRIVATE_WORDS.search(line):
        return f"the private word '{found[0]}'"
    return None


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("", "no docstring"),
        ("One line\nand another.", "longer than one line"),
        ("Long " * 30 + ".", "longer than one line"),
        ("A file", "no sentence"),
        ("Is the space graded?", "no sentence"),
        ("Is it graded? A search for a rank.", "a question"),
        ("What a check finds.", "a question"),
        ("The ghosts of a search.", "the private word 'ghosts'"),
    ],
)
def test_a_docstring_that_says_no_purpose_is_noticed(line: str, problem: str) -> None:
    assert wrong_with(line) == problem


#: `file`: `name`, `name`; in a table of ARCHITECTURE.md.
NAMED = re.compile(
    r"`((?:spec|impl|model_check|oracle|proofs|pipeline|research|src|tests|docs)/[\w/]+\.\w+)`"
    r"(?:: ((?:`\w+`(?:, )?)+))?"
)


def test_what_the_architecture_names_is_there_and_it_stays_short() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    assert len(text.splitlines()) <= 130
    named = NAMED.findall(text)
    assert len(named) > 40
    for file, names in named:
        assert not missing(ROOT / file, re.findall(r"\w+", names)), f"{file}: {names}"
    for link in re.findall(r"\]\(([\w./]+)\)", text):
        assert (ROOT / link).exists(), link


def missing(file: Path, names: list[str]) -> list[str]:
    """Of the names those that the file does not define, or the file."""
    if not file.exists():
        return [file.name]
    text = file.read_text("utf-8")
    return [name for name in names if not re.search(rf"^ *(?:def|class) {name}\b", text, re.MULTILINE)]


#: A module of ours, or a name in one, between backticks.
DOTTED = re.compile(rf"`(?:crownless\.)?((?:{'|'.join(MAY_IMPORT)})\.[a-z_]\w*(?:\.\w+)*)[`(]")


def is_there(dotted: str) -> bool:
    """True if it names a module or package of ours, or something that a module defines."""
    parts = dotted.split(".")
    for k in range(len(parts), 0, -1):
        place = SOURCE.joinpath(*parts[:k])
        if (file := place.with_suffix(".py")).exists():
            return k == len(parts) or re.search(rf"\b{parts[k]}\b", file.read_text("utf-8")) is not None
        if place.is_dir():
            return k == len(parts)
    return False


def test_modules_that_docstrings_and_pages_name_are_there() -> None:
    files = [ROOT / name for name in subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split("\n")]
    texts = [file for file in files if file.suffix in (".py", ".md") and not file.is_symlink()]
    assert len(texts) > 400
    for file in texts:
        for named in DOTTED.findall(file.read_text("utf-8")):
            assert is_there(named), f"{file.relative_to(ROOT)}: {named}"


def test_a_module_that_is_not_there_is_noticed() -> None:
    assert is_there("spec.orders")
    assert is_there("spec.orders.decide")
    assert not is_there("spec.diagrams.text")
    assert not is_there("spec.orders.undecide")


def test_a_name_that_is_not_there_is_noticed() -> None:
    assert missing(ROOT / "spec" / "orders.py", ["decide", "undecide"]) == ["undecide"]
    assert missing(ROOT / "spec" / "nothing.py", []) == ["nothing.py"]


def asserts_in_machines(source: str) -> list[str]:
    """The methods with an assert of the classes that take a packet."""
    return [
        f"{kind.name}.{method.name}"
        for kind in ast.walk(ast.parse(source))
        if isinstance(kind, ast.ClassDef)
        for method in kind.body
        if isinstance(method, ast.FunctionDef) and any(isinstance(node, ast.Assert) for node in ast.walk(method))
    ]


def test_no_machine_has_an_assert() -> None:
    """Pytest rewrites those of a package that has a plugin, and proofs refuse what it makes of them."""
    assert asserts_in_machines("class Rst:\n    def on_packet(self):\n        assert self") == ["Rst.on_packet"]
    names = {kind.__module__.rsplit(".", 1)[1] for kind in PROTOCOLS.values()}
    assert not [
        found
        for name in names
        for found in asserts_in_machines((ROOT / "impl" / "protocols" / f"{name}.py").read_text("utf-8"))
    ]
