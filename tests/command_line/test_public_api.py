"""`import crownless as cr`: what the names of the package do, how answers look, and what commands import."""

from __future__ import annotations

import dataclasses
import json
import logging
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from inspect import getdoc, signature
from pathlib import Path
from typing import Any
from unittest.mock import patch

import networkx as nx
import pytest
from asymmetric_machines import LastAcceptsAll
from relays import Relay

import crownless as cr
from crownless.impl.protocols.buffer import Buffer
from crownless.impl.protocols.unordered import Unordered
from crownless.model_check.check import check as checking
from crownless.model_check.system.monitors import Monitor, Observation
from crownless.proofs.proving import proof_of
from crownless.spec.computation import Message
from crownless.spec.witnesses import Crown, Cycle, Link, Overtaking, Unreceived

SWAPPED = "P1: send x to P2; send y to P2\nP2: receive y; receive x"


class Hub(Unordered):
    """Sends at once and holds nothing back."""

    promises = "causal"


# -- the surface -------------------------------------------------------------------------------------------------------


def test_every_name_of_the_package_is_there_and_is_documented() -> None:
    names = [name for name in cr.__all__ if name != "Protocol"]
    assert set(names) >= {"check", "classify", "count", "draw", "parse", "prove", "read_log", "realize", "Recorder"}
    for name in names:
        assert getdoc(getattr(cr, name)), name
    assert set(dir(cr)) >= set(cr.__all__)
    with pytest.raises(AttributeError, match="no attribute 'chekc'"):
        cr.chekc  # noqa: B018


def test_the_surface_fits_one_screen() -> None:
    assert len(Path(str(cr.__file__)).read_text().splitlines()) <= 65


def test_importing_it_imports_nothing_that_takes_long() -> None:
    code = "import sys, crownless as cr; dir(cr); cr.Packet; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"z3", "numba", "numpy", "networkx", "pyspark", "pandas", "rich", "click"} & set(loaded)


def test_every_argument_of_check_is_one_of_the_documentation() -> None:
    text = getdoc(cr.check) or ""
    left_out = {"self", "protocol", "progress", "self_sends", "workers", "elsewhere", "program"}
    assert {name for name in signature(cr.check).parameters if name not in text} <= left_out


# -- computations ------------------------------------------------------------------------------------------------------


def test_a_text_is_classified_with_a_witness_for_each_order_broken() -> None:
    found = cr.classify(SWAPPED)
    assert found["fifo"].kept is False
    why = "fifo: violated, P2 receives y before x, which was sent earlier"
    assert str(found["fifo"]) == f"{why}\n  P1 sends x → P1 sends y"
    assert repr(found["fifo"]) == f"<{why}>"
    assert (found.strongest, found.kept) == (["asynchronous"], ["asynchronous"])
    assert list(cr.classify(SWAPPED, ["causal"])) == ["causal"]
    with pytest.raises(cr.BadInput, match="did you mean 'causal'"):
        cr.classify(SWAPPED, ["casual"])


def test_a_name_that_an_answer_lacks_is_answered_with_those_that_it_has() -> None:
    violated = cr.check("unordered", 2, 2)
    asked: dict[Callable[[], object], str] = {
        lambda: violated[
            "Causal"
        ]: f"unordered: no property 'Causal'; did you mean 'causal'? known: {', '.join(violated)}",
        lambda: cr.classify(SWAPPED, ["fifo"])["nope"]: "no order 'nope'; known: fifo",
        lambda: cr.classify(SWAPPED, ["fifo"])["causal"]: "'causal' was not requested; known: fifo",
    }
    for ask, said in asked.items():
        with pytest.raises(KeyError) as problem:
            ask()
        assert (type(problem.value), str(problem.value)) == (cr.NoSuchName, said)
        assert str(pickle.loads(pickle.dumps(problem.value))) == said
    assert violated.violations.get("nope") is None
    assert violated.violations == {name: violated[name] for name in ("fifo", "causal")}


def test_an_unknown_verdict_is_neither_true_nor_false() -> None:
    lines = ['{"process": "P2", "index": 0, "kind": "deliver", "message": "x"}']
    (run,) = cr.read_log(lines)
    verdict = cr.classify(run)["causal"]
    assert (verdict.kept, verdict.outcome) == (False, "unknown")
    with pytest.raises(
        cr.Undecided,
        match="causal: unknown, not violated by what is logged; P2 delivers x, whose send is not in the log",
    ):
        bool(verdict)


def test_a_computation_prints_as_a_drawing_and_represents_itself_in_a_line() -> None:
    c = cr.parse(SWAPPED)
    assert "●─x" in str(c)
    assert str(c) == cr.draw(c) == cr.draw(SWAPPED)
    assert repr(c) == "<P1: send x to P2; send y to P2 | P2: receive y; receive x>"
    assert len(repr(cr.parse("\n".join(f"P{n}: send m{n} to P1" for n in range(2, 30)) + "\nP1: ..."))) <= 102
    assert "*-x" in cr.draw(c, unicode=False)


# -- protocols ---------------------------------------------------------------------------------------------------------


def test_a_class_is_checked_and_its_shortest_run_shown() -> None:
    result = cr.check(Hub, 3, 3)
    assert not result.holds
    assert list(result.violations) == ["fifo", "causal"]
    run = result.violations["causal"].run
    assert run is not None
    assert len(run) == 3
    assert "P2: deliver m2 from P1" in str(run)
    assert repr(run) == "<P1: send m1 to P2; P1: send m2 to P2; P2: deliver m2 from P1>"
    assert repr(result) == "<Hub: violated, 545 states, violates fifo, causal>"
    assert str(result).count("╰─m2▶●") == 1  # one run, though it violates two orders
    assert result.json()["protocol"] == f"{__name__}:Hub"


def test_a_result_is_true_if_all_holds_and_has_no_truth_value_if_unknown() -> None:
    assert cr.check("rst", 2, 2)
    assert not cr.check(Hub, 2, 2)
    with pytest.raises(cr.Undecided, match=r"<rst: unknown, \d+ states> is neither true nor false"):
        bool(cr.check("rst", 3, 3, max_states=3))


def test_a_check_ends_with_its_first_violation_if_that_is_requested() -> None:
    found = cr.check("unordered", 3, 3, first=True)
    assert (found["fifo"].verdict, found["delivers-all"].verdict) == ("violated", "unknown")
    assert found.exploration.states < cr.check("unordered", 3, 3).exploration.states


def test_what_lasts_is_logged_and_nothing_is_printed(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    with patch.object(checking, "REPORTED_AFTER", 0.0), patch.object(checking, "FIRST_TRY_STATES", 50):
        cr.check("unordered", 3, 3)
    cr.check(LastAcceptsAll, 3, 2, engine="native")
    warned = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert {record.name for record in caplog.records} == {"crownless"}
    assert len(warned) == 2
    assert warned[0].startswith("unordered: violated: fifo and causal; still searching")
    assert warned[-1].startswith("Rst: declared symmetric, but P3 accepts")
    assert capsys.readouterr() == ("", "")


def test_a_machine_brings_its_number_of_processes_and_its_parameters() -> None:
    machine = Hub(2)
    assert cr.check(machine, messages=1).workload.processes == ("P1", "P2")
    with pytest.raises(cr.BadInput, match="a machine for 2 processes, not for 3"):
        cr.check(machine, 3, 1)
    with pytest.raises(cr.BadInput, match="a machine already has its parameters"):
        cr.check(machine, parameters={"k": 1})


def test_a_program_may_be_a_text_a_script_or_a_name() -> None:
    text = "P1: send x to P2\nP2: receive"
    assert cr.check(Hub, program=text).completes == "always"
    assert cr.check(Hub, program=text).scope.startswith("a program, 2 processes;")
    assert cr.check(Hub, program=cr.program(text, "hello")).scope.startswith("program hello, 2 processes;")
    assert cr.check("rendezvous", program="mf-fig1", max_states=100).check.program is not None


class FewDeliveries(Monitor):
    """At most two deliveries in all."""

    watches = ("few-deliveries",)

    def initial(self) -> int:
        return 0

    def observe(self, monitor_state: int, code: Observation) -> tuple[int, tuple[str, ...]]:
        delivered = monitor_state + (code.kind == "deliver")
        return delivered, ("few-deliveries",) if delivered > 2 else ()


@pytest.mark.parametrize("engine", ["plain", "native"])
def test_a_monitor_of_ones_own_is_a_further_property(engine: str) -> None:
    result = cr.check("rst", 2, 3, monitors=[FewDeliveries()], engine=engine)
    assert list(result.violations) == ["few-deliveries"]
    run = result.violations["few-deliveries"].run
    assert run is not None
    assert len(run) == 6
    assert cr.check("rst", 2, 2, monitors=[FewDeliveries()], engine=engine).holds


def test_states_are_given_nearest_first_with_what_is_in_flight() -> None:
    states = list(cr.states(Hub, 2, 1))
    assert [state.depth for state in states] == [0, 1, 1, 2, 2]
    assert [len(state.in_flight) for state in states] == [0, 1, 1, 0, 0]
    graph = cr.check(Hub, 2, 1).to_networkx()
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (5, 4)
    assert nx.is_directed_acyclic_graph(graph)


def test_tables_are_data_frames() -> None:
    assert list(cr.count(2, 2).to_pandas().columns) == ["order", "computations"]
    assert cr.check(Hub, 2, 2).to_pandas().set_index("property").verdict["fifo"] == "violated"
    assert cr.classify(SWAPPED).to_pandas().set_index("order").verdict["fifo"] == "violated"
    assert list(cr.parse(SWAPPED).to_pandas().message) == ["x", "y", "y", "x"]
    assert len(cr.realize(Hub, 2, 2).to_pandas()) == 7


def test_one_order_may_be_given_as_it_is() -> None:
    assert list(cr.classify("P1: send x to P2\nP2: receive x", "fifo")) == ["fifo"]
    assert list(cr.check("unordered", 2, 2, orders="fifo").violations) == ["fifo"]


# -- what commands import ----------------------------------------------------------------------------------------------


LARGE = (
    "crownless.pipeline",
    "crownless.proofs",
    "crownless.research",
    "networkx",
    "numba",
    "numpy",
    "pyarrow",
    "pyspark",
    "z3",
)

#: Runs a command, then prints which of the modules that are given are loaded.
RUN = """
import sys
from crownless.command_line import main
try:
    main(sys.argv[2:])
except SystemExit as ended:
    print(ended.code, [name for name in sys.argv[1].split(",") if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        "--help",
        "--version",
        "classify mf-fig5",
        "classify mf-fig4",
        "check rst -n 2 -m 3 --quiet",
        "count -n 2 -m 2",
        "show mf-fig5",
    ],
)
def test_a_verb_loads_no_large_library_that_it_does_not_use(arguments: str) -> None:
    command = [sys.executable, "-c", RUN, ",".join(LARGE), *arguments.split()]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.stderr.splitlines()[-1].split(maxsplit=1)[1] == "[]", ended.stderr


# -- the repr of every result is one short line ------------------------------------------------------------------------


#: The longest that `repr` may be.
LIMIT = 200
NASTY = "x\x1b[31m\n" + "y" * 300

CYCLIC = """
A: send a to B; send b to C; receive d
B: receive c; receive a; send d to A
C: send c to B; receive b
"""


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """A result of each public function, large ones among them."""
    computation = cr.parse("P1: " + "; ".join(f"send m{k} to P2" for k in range(40)) + "\nP2: ")
    recorder = cr.Recorder()
    recorder.send(NASTY, NASTY, to="P2")
    recorder.deliver("P2", NASTY)
    unusable = cr.Recorder()
    unusable.deliver("P2", "nobody sent it")
    checked = cr.check("unordered", 3, 3)
    *_, last = cr.states("rst", 2, 2)
    found = cr.conform(Relay, 2, 2, orders=["fifo"], replies=0)
    schedule = found.schedule("fifo")
    assert schedule is not None
    with_hole = cr.read_log(
        [
            '{"process": "P1", "kind": "send", "message": "x", "peer": "P2", "index": 0}',
            '{"process": "P2", "kind": "deliver", "message": "x", "index": 7}',
        ]
    )
    return {
        "parse": computation,
        "nasty": cr.classify(recorder.computation),
        "classify": cr.classify(CYCLIC),
        "program": cr.program("A: " + "; ".join(f"send m{k} to B" for k in range(40)) + "\nB: receive", name=NASTY),
        "read_log": with_hole,
        "recorder": recorder,
        "unusable": unusable,
        "check": checked,
        "runs": cr.check("rst", program=cr.program("A: " + "; ".join(f"send m{k} to B" for k in range(9)) + "\nB:")),
        "states": last,
        "realize": cr.realize("rst", 2, 2),
        "count": cr.count(2, 2),
        "conform": found,
        "replay": cr.replay(Relay, schedule.json()),
        "schedule": schedule,
        "prove": cr.prove("rst"),
        "queues": proof_of(Buffer),
        "witnesses": [Overtaking(0, 1, 2, tuple(range(200))), Crown(tuple(range(200)), ()), Unreceived(0, 1)],
        "cycle": Cycle(tuple(Link(f"{k}", NASTY, NASTY) for k in range(200))),
    }


#: Dictionaries of these modules are looked into.
MAPPINGS = ("builtins", "types")


def parts(value: Any, seen: set[int]) -> Iterator[Any]:
    """A result, and the results among its fields, however deep."""
    if id(value) in seen or isinstance(value, str | int | float | type | Message | None):
        return
    seen.add(id(value))
    if isinstance(value, Mapping) and type(value).__module__ in MAPPINGS:
        for each in value.values():
            yield from parts(each, seen)
    elif type(value) in (list, tuple, set, frozenset):
        for each in value:
            yield from parts(each, seen)
    elif type(value).__module__.startswith("crownless") and "__repr__" in vars(type(value)):
        yield value
        if dataclasses.is_dataclass(value):
            for each in dataclasses.fields(value):
                yield from parts(getattr(value, each.name), seen)


def is_short(text: str) -> bool:
    return len(text) < LIMIT and text.isprintable()


def test_the_repr_of_every_result_and_of_every_part_of_it_is_one_short_line(results: dict[str, Any]) -> None:
    seen: set[int] = set()
    found = [part for result in results.values() for part in parts(result, seen)]
    long = {type(part).__qualname__: repr(part)[:300] for part in found if not is_short(repr(part))}
    assert long == {}
    kinds = {type(part).__name__ for part in found}
    assert kinds >= {
        *("Computation", "Classification", "Verdict", "Script", "NamedComputation", "Recorder", "CheckResult"),
        *("PropertyResult", "Run", "Reached", "Realization", "Count", "ProofReport", "Obligation", "CausalOrder"),
        *("QueueProof", "Exploration", "ResolvedCheck", "Overtaking", "Crown", "Cycle", "Unreceived"),
    }


def test_str_says_or_draws_what_repr_leaves_out(results: dict[str, Any]) -> None:
    assert str(results["parse"]).count("m39 is never received") == 1
    assert str(results["program"]).count("send") == 40
    assert "P2: events 0 to 6 are missing" in str(results["read_log"][0])
    broken = results["check"]["fifo"]
    assert repr(broken) == "<fifo: violated, shown by a run of 3 actions>"
    assert str(broken).startswith("fifo: violated, shown by a run of 3 actions: two messages from one process to")
    assert "╮" in str(broken)
    assert repr(results["count"]).startswith("<2 processes, 2 messages: asynchronous 7, fifo 5, causal 5")
    assert "nobody sent it" in str(results["unusable"])
    assert str(results["recorder"]).isprintable() is False  # it is drawn, on several lines
    assert "\x1b" not in str(results["recorder"])
    proved = results["prove"]
    outcomes = "safe: proved, waits only for causes: proved, live: proved"
    assert repr(proved) == f"<rst: {outcomes}; {len(proved.claims)} claims>"
    assert all(put.claim.name in str(proved) for put in proved.claims)
    assert str(proved).splitlines()[0] == "rst, of its code; processes: any number; messages: any number"


def test_an_order_that_a_check_would_not_decide_is_refused() -> None:
    with pytest.raises(cr.BadInput, match="asynchronous: a violation of it also violates delivers-once"):
        cr.check("rst", 2, 2, orders=["asynchronous"])


def test_what_a_search_that_ended_early_found_is_json_too() -> None:
    found = cr.conform(Relay, 2, 2, replies=0)
    assert found.realization is not None
    cut = dataclasses.replace(found.realization.found, stopped="out of time")
    stopped = dataclasses.replace(found.realization, found=cut)
    shown = dataclasses.replace(found, searches=tuple(each._replace(realization=stopped) for each in found.searches))
    assert json.loads(json.dumps(shown.json()))["generates"]["decided"] is False


def test_only_seconds_are_rounded() -> None:
    found = cr.conform(Relay, 2, 1, replies=0)
    assert found.json()["repeats"]["excluded_probability"] == found.repeats.excluded
