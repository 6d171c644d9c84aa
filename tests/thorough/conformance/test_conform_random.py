"""The nodes of `examples/nodes`, tried by every schedule of a small bound, and by random runs beyond it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from command_line_runner import Crownless
from example_nodes import EXAMPLES
from relays import Relay

import crownless as cr
from crownless.oracle.conformance.conformance_request import DELIVERY
from crownless.oracle.conformance.conformance_result import Conformance
from crownless.runtime.errors import Undecided

CAUSAL = str(EXAMPLES / "python" / "causal.py")
#: What each wrong node of the examples breaks, and the actions of a run without steps that it does not need.
BREAKS = {
    "StampBeforeIncrement": ("causal", 3),
    "OnePass": ("delivers-all", 4),
    "BroadcastClocks": ("delivers-all", 4),
    "OverwritingMerge": ("causal", 7),
    "OwnColumn": ("causal", 9),
    "ClockAfterCallback": ("causal", 5),
}


def by_chance(node: Any, **options: Any) -> Any:
    return cr.conform_at_random(node, **{"processes": 4, "messages": 12, "runs": 100, **options})


@pytest.mark.parametrize("name", BREAKS)
def test_random_runs_catch_each_wrong_node(name: str) -> None:
    breaks, at_most = BREAKS[name]
    found = by_chance(f"{CAUSAL}:{name}", orders=["causal"])
    assert found.verdict == "violated"
    assert not found
    run = found[breaks].run
    assert run is not None
    assert len(run) <= at_most
    assert found.unconfirmed is None


def test_what_no_run_breaks_is_not_said_to_be_kept() -> None:
    found = by_chance(f"{CAUSAL}:Matrix", orders=["causal"])
    assert found
    assert found.verdict == "holds"
    assert found["causal"].verdict == "unknown"
    assert found["causal"].note == "no run of 100 violates it"
    assert found["synchronous"].verdict == "violated"
    assert "100 random runs" in found.scope


class Twice(Relay):
    def on_packet(self, source: int, packet: str) -> None:
        super().on_packet(source, packet)
        if packet == "1-2.2":
            self.deliver(packet)


class Fails(Relay):
    def on_packet(self, source: int, packet: str) -> None:
        if packet == "1-2.2":
            raise KeyError(packet)
        super().on_packet(source, packet)


class Answers(Relay):
    """Packets follow each other without end."""

    def on_packet(self, source: int, packet: str) -> None:
        self.transmit(source, packet)


@pytest.mark.parametrize(
    ("kind", "breaks", "said"),
    [
        (Twice, "delivers-once", " a second time"),
        (Fails, "node-fails", "KeyError"),
        (Answers, "floods", "packets are answered by packets without end"),
    ],
)
def test_a_failure_is_named(kind: type, breaks: str, said: str) -> None:
    found = by_chance(kind, runs=20, replies=0)
    assert next(iter(found.violations)) == breaks
    assert said in found[breaks].note
    assert found[breaks].run is not None


def test_runs_are_chosen_by_the_seed() -> None:
    def shown(seed: int) -> str:
        return str(by_chance(Relay, runs=3, seed=seed)["fifo"].run)

    assert shown(1) == shown(1)
    assert len({shown(seed) for seed in range(6)}) > 1


def test_messages_may_have_several_receivers() -> None:
    found = by_chance(Relay, sends="multicast", runs=30)
    assert found["fifo"].verdict == "violated"
    assert found["delivers-all"].verdict == "unknown"


def test_an_end_before_all_runs_were_made_is_unknown() -> None:
    found = by_chance(f"{CAUSAL}:Matrix", runs=10**6, max_seconds=0.5)
    assert found.verdict == "unknown"
    assert 0 < found.made < 10**6
    with pytest.raises(Undecided):
        bool(found)


def test_the_command_says_it_is_a_sample(crownless: Crownless) -> None:
    node = f"{CAUSAL}:Matrix"
    answer = crownless("conform", node, "-n", "4", "-m", "9", "--random", "20", "--order", "causal")
    assert answer.code == 0
    said = "keeps causal order and delivers everything in all of 20 random runs: a sample of all runs"
    assert said in " ".join(answer.out.split())
    facts = crownless("conform", node, "-n", "4", "-m", "9", "--random", "20", "--json").json
    assert (facts["verdict"], facts["runs"]) == ("not violated", 20)


# -- every schedule ----------------------------------------------------------------------------------------------------


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
#: The files of the nodes in other languages, the bug of each, and the commands that the language needs.
BUG_IN = {
    "matrix.c": "StampBeforeIncrement",
    "matrix.rs": "OwnColumn",
    "matrix.go": "OnePass",
    "matrix.js": "BroadcastClocks",
    "Matrix.java": "OverwritingMerge",
}
NEEDS = {
    "matrix.c": ["cc"],
    "matrix.rs": ["rustc"],
    "matrix.go": ["go"],
    "matrix.js": ["node"],
    "Matrix.java": ["javac", "java"],
}


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


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compiles the nodes of a file as its head comment says."""

    @cache
    def built(name: str) -> Programs:
        if missing := [needed for needed in NEEDS[name] if shutil.which(needed) is None]:
            pytest.skip(f"{missing[0]} is not installed")
        folder = tmp_path_factory.mktemp("nodes")
        file = shutil.copy(EXAMPLES / "matrix" / name, folder)
        compile_them, (right, wrong) = commands_in(Path(file).read_text("utf-8"))
        for command in compile_them:
            done = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        return Programs(folder, right.split(), wrong.split())

    return built


def asked_of_class(name: str, processes: int, messages: int) -> Conformance:
    return cr.conform(f"{CAUSAL}:{name}", processes, messages, orders=["causal"])


def asked_of_program(command: list[str], processes: int, messages: int, **given: Any) -> Conformance:
    return cr.conform(command, processes, messages, orders=["causal"], **given)


def assert_right(conformance: Conformance) -> None:
    assert conformance.verdict == "holds"
    assert conformance["causal"].verdict == conformance["delivers-all"].verdict == "holds"
    assert conformance.realization is not None
    assert conformance.realization.equals == "causal"


def assert_caught(caught: Caught, conformance: Conformance) -> None:
    """By a shortest run."""
    assert conformance.verdict == "violated"
    assert not conformance.failures
    assert [name for name in (*DELIVERY, "causal") if conformance[name].verdict == "violated"] == [caught.breaks]
    run = conformance[caught.breaks].run
    assert run is not None
    assert len(run.actions) == caught.actions


def test_the_right_class_keeps_causal_order() -> None:
    assert_right(asked_of_class("Matrix", 3, 3))


@pytest.mark.parametrize("bug", BUGS)
def test_a_wrong_class_is_caught_at_its_smallest_bound(bug: str) -> None:
    caught = BUGS[bug]
    for processes, messages in caught.smaller:
        assert asked_of_class(bug, processes, messages).verdict == "holds"
    assert_caught(caught, asked_of_class(bug, caught.processes, caught.messages))


@pytest.mark.parametrize("name", BUG_IN)
def test_the_right_program_keeps_causal_order(name: str, build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = build(name)
    monkeypatch.chdir(programs.folder)
    assert_right(asked_of_program(programs.right, 3, 3, replies=0))


@pytest.mark.parametrize("name", BUG_IN)
def test_a_wrong_program_is_caught_at_its_smallest_bound(
    name: str, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = build(name)
    monkeypatch.chdir(programs.folder)
    assert_caught(BUGS[BUG_IN[name]], asked_of_program(programs.wrong, *BUGS[BUG_IN[name]][:2]))


def test_a_class_is_caught_as_a_program_by_what_only_replies_from_inside_deliveries_show() -> None:
    command = [sys.executable, str(EXAMPLES / "python" / "adapter.py"), "causal.py:ClockAfterCallback"]
    assert_caught(BUGS["ClockAfterCallback"], asked_of_program(command, 3, 3))
