"""The nodes of `examples/nodes`: the right ones keep causal order, each wrong one is caught at its smallest bound."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from crownless.oracle.conformance.conformance_request import DELIVERY, Request
from crownless.oracle.conformance.conformance_result import Conformance
from crownless.oracle.conformance.conforming import conform
from crownless.oracle.conformance.in_process import InProcess
from crownless.oracle.conformance.node import Implementation
from crownless.oracle.conformance.out_of_process import OutOfProcess

NODES = Path(__file__).parent.parent / "examples" / "nodes"


class Caught(NamedTuple):
    """The smallest bound at which a bug shows, the property that it breaks, and the actions of a shortest run."""

    processes: int
    messages: int
    breaks: str
    actions: int

    @property
    def smaller(self) -> list[tuple[int, int]]:
        """The next smaller bounds."""
        fewer = [(self.processes, self.messages - 1), (self.processes - 1, self.messages)]
        return [bound for bound in fewer if bound[0] > 1]


#: Of each bug, by the class in Python that has it. The other languages have one each.
BUGS = {
    "StampBeforeIncrement": Caught(2, 2, "causal", 3),
    "OnePass": Caught(2, 2, "delivers-all", 4),
    "BroadcastClocks": Caught(3, 2, "delivers-all", 4),
    "OverwritingMerge": Caught(2, 3, "causal", 5),
    "OwnColumn": Caught(3, 3, "causal", 5),
    "ClockAfterCallback": Caught(3, 3, "causal", 5),
}
BUG_IN = {
    "c": "StampBeforeIncrement",
    "rust": "OwnColumn",
    "go": "OnePass",
    "javascript": "BroadcastClocks",
    "java": "OverwritingMerge",
}
#: The commands that each language needs.
NEEDS = {"c": ["cc"], "rust": ["rustc"], "go": ["go"], "javascript": ["node"], "java": ["javac", "java"]}
COMMENTS = ("#", "//", "/*", '"""')


class Programs(NamedTuple):
    """The commands of the right node and of the wrong one, and the folder where they are run."""

    folder: Path
    right: list[str]
    wrong: list[str]


Build = Callable[[str], Programs]


def commands_in(text: str) -> tuple[list[str], list[str]]:
    """Of a head comment the commands that compile, and those of the nodes that are checked."""
    lines = [line.strip(" \t/!*") for line in text.splitlines()]
    compile_them = [line for line in lines if re.match(r"(cc|rustc|go build|javac) ", line)]
    checked = "crownless conform --order causal -- "
    return compile_them, [line.removeprefix(checked) for line in lines if line.startswith(checked)]


def skip_without_compiler(language: str) -> None:
    for needed in NEEDS[language]:
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed")


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compiles the nodes of a language as the head comment says."""

    @cache
    def built(language: str) -> Programs:
        skip_without_compiler(language)
        folder = tmp_path_factory.mktemp("nodes") / language
        shutil.copytree(NODES / language, folder)
        (file,) = folder.glob("[Mm]atrix.*")
        compile_them, (right, wrong) = commands_in(file.read_text("utf-8"))
        for command in compile_them:
            done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        return Programs(folder, right.split(), wrong.split())

    return built


@cache
def causal() -> ModuleType:
    spec = spec_from_file_location("causal", NODES / "python" / "causal.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def asked(implementation: Implementation, processes: int, messages: int) -> Conformance:
    return conform(implementation, Request(processes, messages, orders=("causal",)))


def asked_of_class(name: str, processes: int, messages: int) -> Conformance:
    return asked(InProcess(getattr(causal(), name), processes), processes, messages)


def asked_of_program(command: list[str], processes: int, messages: int) -> Conformance:
    with closing(OutOfProcess(command, processes)) as implementation:
        return asked(implementation, processes, messages)


def through_the_adapter(name: str) -> list[str]:
    return [sys.executable, str(NODES / "python" / "adapter.py"), f"causal.py:{name}"]


def assert_right(conformance: Conformance) -> None:
    assert conformance.verdict == "holds"
    assert conformance["causal"].verdict == conformance["delivers-all"].verdict == "holds"
    assert conformance.generates_exactly == "causal"


def assert_caught(bug: str, ask: Callable[[int, int], Conformance]) -> None:
    """At the smallest bound, by a shortest run, and at no smaller one."""
    caught = BUGS[bug]
    for processes, messages in caught.smaller:
        assert ask(processes, messages).verdict == "holds"
    conformance = ask(caught.processes, caught.messages)
    assert conformance.verdict == "violated"
    assert not conformance.failures
    assert [name for name in (*DELIVERY, "causal") if conformance[name].verdict == "violated"] == [caught.breaks]
    run = conformance[caught.breaks].run
    assert run is not None
    assert len(run.actions) == caught.actions


def test_every_language_has_a_bug_and_an_adapter() -> None:
    folders = {folder.name for folder in NODES.iterdir()} - {"maelstrom", "udp"}  # which need no adapter
    assert folders == {"python", *BUG_IN} == {"python", *NEEDS}
    assert len(set(BUG_IN.values())) == len(BUG_IN)
    for folder in folders:
        (adapter,) = (NODES / folder).glob("[Aa]dapter.*")
        assert len(lines_of_code(adapter.read_text("utf-8"))) < 40, adapter


def lines_of_code(text: str) -> list[str]:
    """The lines of a program that are neither empty nor a comment."""
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith(COMMENTS)]


def test_lines_of_code_are_counted() -> None:
    assert lines_of_code("// a comment\n\n\tx = 1 // one\n/* another */\n}\n") == ["\tx = 1 // one", "}"]


def test_without_its_compiler_a_language_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pytest.skip.Exception, match=r"^javac is not installed$"):
        skip_without_compiler("java")


def test_a_wrong_class_is_not_right_nor_a_right_one_caught() -> None:
    with pytest.raises(AssertionError):
        assert_right(asked_of_class("StampBeforeIncrement", 3, 3))
    with pytest.raises(AssertionError):
        assert_caught("StampBeforeIncrement", lambda *bound: asked_of_class("Matrix", *bound))
    with pytest.raises(AssertionError):  # it is caught at a smaller bound
        assert_caught("OverwritingMerge", lambda *bound: asked_of_class("StampBeforeIncrement", *bound))


def test_the_right_class_keeps_causal_order() -> None:
    assert_right(asked_of_class("Matrix", 3, 3))


@pytest.mark.parametrize("bug", BUGS)
def test_a_wrong_class_is_caught_at_its_smallest_bound(bug: str) -> None:
    assert_caught(bug, lambda *bound: asked_of_class(bug, *bound))


@pytest.mark.parametrize("language", BUG_IN)
def test_the_right_program_keeps_causal_order(language: str, build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = build(language)
    monkeypatch.chdir(programs.folder)
    assert_right(asked_of_program(programs.right, 3, 3))


@pytest.mark.parametrize("language", BUG_IN)
def test_a_wrong_program_is_caught_at_its_smallest_bound(
    language: str, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = build(language)
    monkeypatch.chdir(programs.folder)
    assert_caught(BUG_IN[language], lambda *bound: asked_of_program(programs.wrong, *bound))


def test_the_right_class_is_right_as_a_program() -> None:
    assert_right(asked_of_program(through_the_adapter("Matrix"), 3, 3))


def test_a_wrong_class_is_caught_as_a_program() -> None:
    """It is that which only replies from inside deliveries show."""
    command = through_the_adapter("ClockAfterCallback")
    assert_caught("ClockAfterCallback", lambda *bound: asked_of_program(command, *bound))


@pytest.mark.thorough
@pytest.mark.parametrize(("options", "verdict"), [([], "holds"), (["--wrong"], "violated")])
def test_a_program_that_owns_its_socket_is_driven_through_an_adapter(options: list[str], verdict: str) -> None:
    command = [sys.executable, str(NODES / "udp" / "adapter.py"), *options]
    with closing(OutOfProcess(command, 2)) as implementation:
        found = conform(implementation, Request(2, 2, orders=("fifo",)))
    assert found.failures == []
    assert found.verdict == verdict


def test_the_examples_are_short() -> None:
    for file in [*(NODES / "maelstrom").iterdir(), *(NODES / "udp").glob("*.py")]:
        assert len(file.read_text("utf-8").splitlines()) < 60, file
